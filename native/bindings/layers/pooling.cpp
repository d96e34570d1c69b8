// Maximum and average pooling over the last one to three dimensions, by windows of one size or by the wanted number of windows, and
// their gradients. Halves are computed in float32, integers in int64.
#include "bindings/kernel.h"

#include <algorithm>
#include <atomic>
#include <vector>

namespace rushlight {
namespace {

constexpr PoolAxis kNoAxis = {1, 1, 1, 1, 0, 1};

// The sizes of a window, or how many there are: it has `n` dimensions, one to three.
struct Extent : IntOrInts {
  bool read(const Argument& a) {
    object = a.object;
    const Py_ssize_t count = PyTuple_Check(object) ? PyTuple_GET_SIZE(object) : PyLong_Check(object) ? PyLong_AsSsize_t(object) : 0;
    n = static_cast<int>(count);
    if (count >= 1 && count <= 3) return true;
    return !PyErr_Occurred() && fail(PyExc_TypeError, "a window has one to three dimensions");
  }
  int n;
};

// Whether a tensor can be pooled over its last n dimensions; `integers`: also of integers.
bool poolable(const TensorInfo& x, int n, bool integers = false) {
  return (x.is_float_or_half() || (integers && category_of(x.dtype) == Category::Integer && x.dtype != DType::U64)) && x.ndim >= n;
}
DType pooled_in(DType type) { return category_of(type) == Category::Integer ? DType::I64 : computed_in(type); }

Py_ssize_t volumes_of(const Py_ssize_t* shape, int ndim, int n) {
  Py_ssize_t count = 1;
  for (int i = 0; i < ndim - n; i++) count *= shape[i];
  return count;
}

// The number of window positions along a dimension.
Py_ssize_t pooled_size(const PoolAxis& a, bool ceil_mode) {
  const Py_ssize_t span = a.in + 2 * a.pad - a.dilation * (a.kernel - 1) - 1 + (ceil_mode ? a.stride - 1 : 0);
  Py_ssize_t out = (span >= 0 ? span / a.stride : -((-span + a.stride - 1) / a.stride)) + 1;
  // The last window must start inside the input or its left padding.
  if (ceil_mode && (out - 1) * a.stride >= a.in + a.pad) out--;
  return out;
}

bool read_axis(PoolAxis& a) {
  if (a.kernel <= 0) return fail(PyExc_RuntimeError, "kernel size should be greater than zero");
  if (a.stride <= 0) return fail(PyExc_RuntimeError, "stride should not be zero");
  if (a.dilation <= 0) return fail(PyExc_RuntimeError, "dilation should be greater than zero");
  if (a.stride > kMostAlong && a.pad <= kMostAlong && a.pad >= 0) a.stride = a.in + 2 * a.pad + 1;  // past the end, as any other
  if (a.kernel > kMostAlong || a.stride > kMostAlong || a.dilation > kMostAlong || a.in > kMostAlong || a.pad > kMostAlong)
    return fail(PyExc_RuntimeError, "pooling sizes are too large");
  if (a.pad < 0) return fail(PyExc_RuntimeError, "pad must be non-negative, but got pad: %zd", a.pad);
  if (a.pad > ((a.kernel - 1) * a.dilation + 1) / 2)
    return fail(PyExc_RuntimeError,
                "pad should be at most half of effective kernel size, but got pad=%zd, "
                "kernel_size=%zd and dilation=%zd",
                a.pad, a.kernel, a.dilation);
  return true;
}

// The window over the last n of the sizes; an empty stride is the kernel's size.
bool read_window(const Py_ssize_t* shape, int ndim, const Extent& extent, PyObject* steps, PyObject* pads, PyObject* dilations,
                 bool ceil_mode, PoolWindow& window) {
  const int n = extent.n;
  Py_ssize_t kernel[3], stride[3], padding[3], dilation[3] = {1, 1, 1};
  if (!ints_argument(extent, "kernel_size", n, kernel)) return false;
  const bool no_stride = steps == Py_None || (PyTuple_Check(steps) && PyTuple_GET_SIZE(steps) == 0);
  if (no_stride) std::copy(kernel, kernel + n, stride);
  else if (!ints_argument(steps, "stride", n, stride)) return false;
  if (!ints_argument(pads, "padding", n, padding) || (dilations && !ints_argument(dilations, "dilation", n, dilation)))
    return false;
  window = {kNoAxis, kNoAxis, kNoAxis};
  PoolAxis* const axes[] = {&window.d, &window.h, &window.w};
  const Py_ssize_t* in = shape + ndim - n;
  for (int i = 0; i < n; i++) {
    PoolAxis& a = *axes[3 - n + i];
    a = {in[i], 0, kernel[i], stride[i], padding[i], dilation[i]};
    if (!read_axis(a)) return false;
    if (a.in == 0) return fail(PyExc_RuntimeError, "Expected a tensor with optional 0 dim batch size for input");
    a.out = pooled_size(a, ceil_mode);
    if (a.out < 1)
      return fail(PyExc_RuntimeError, "Given input size: %s. Calculated output size: %zd in dimension %d. Output size is too small",
                  sizes_text(in, n).c_str(), a.out, i);
  }
  return true;
}

// How many volumes are worth a thread, where each has so many elements of windows: counted as a double, because windows may be far
// larger than volumes.
Py_ssize_t grain(double work) { return static_cast<Py_ssize_t>(kThreadElements / std::max(work, 1.0)) + 1; }
Py_ssize_t grain(const PoolWindow& w) {
  return grain(static_cast<double>(w.positions()) * static_cast<double>(w.d.kernel) * static_cast<double>(w.h.kernel) *
               static_cast<double>(w.w.kernel));
}

// The sizes with the last n replaced.
void pooled_shape(const Py_ssize_t* shape, int ndim, int n, const Py_ssize_t (&out)[3], Py_ssize_t* to) {
  for (int i = 0; i < ndim; i++) to[i] = i < ndim - n ? shape[i] : out[3 - (ndim - i)];
}

// Maxima, and their places if these are asked for: run(input, volumes [begin, end), out, indices) computes a part.
template <class F>
Ref maxima(const TensorInfo& x, int n, const Py_ssize_t (&sizes)[3], Py_ssize_t volume, Py_ssize_t positions, Py_ssize_t grain,
           bool both, const F& run) {
  Py_ssize_t shape[kMaxDims];
  pooled_shape(x.shape, x.ndim, n, sizes, shape);
  const DeviceType device = device_of(x);
  const Py_ssize_t volumes = volumes_of(x.shape, x.ndim, n);
  const bool computed = device != DeviceType::Meta && volumes * positions > 0;
  const DType wanted = x.dtype, type = computed ? pooled_in(wanted) : wanted;
  const int ndim = x.ndim;
  Ref out = new_ref(type, ndim, shape, device), indices;
  if (both) indices = new_ref(DType::I64, ndim, shape, device);
  if (!computed) return both ? tuple_of(out, indices) : std::move(out);
  Ref in = contiguous_as(x.tensor, type);
  const ptrdiff_t item = item_size(type);
  const char* from = data_of(in);
  char* to = data_of(out);
  int64_t* places = both ? data_of<int64_t>(indices) : nullptr;
  {
    Unlocked unlocked(volumes * volume * item > kReleaseGilBytes, in, out, indices);
    parallel(volumes, grain, [&](ptrdiff_t begin, ptrdiff_t end) {
      run(type, from + begin * volume * item, end - begin, to + begin * positions * item,
          both ? places + begin * positions : nullptr);
    });
  }
  out = rounded(std::move(out), wanted);
  return both ? tuple_of(out, indices) : std::move(out);
}

// Of windows of one size.
Ref maxima(const TensorInfo& x, int n, const PoolWindow& w, bool both) {
  return maxima(x, n, {w.d.out, w.h.out, w.w.out}, w.volume(), w.positions(), grain(w), both,
                [&](DType type, const char* from, Py_ssize_t volumes, char* out, int64_t* indices) {
                  dense_kernels().max_pool(type, from, volumes, w, out, indices);
                });
}

// (out, indices into the flat volume), or out alone.
template <bool kBoth>
std::conditional_t<kBoth, Pair, Ref> max_pool(const TensorInfo& x, Extent kernel, Any stride, IntOrInts padding, IntOrInts dilation,
                                              bool ceil_mode) {
  const int n = kernel.n;
  PoolWindow w;
  if (!poolable(x, n, true) || !read_window(x.shape, x.ndim, kernel, stride, padding, dilation, ceil_mode, w)) return {};
  return maxima(x, n, w, kBoth);
}

// The gradient of the input.
Ref max_pool_backward(const TensorInfo& g, const TensorInfo& indices, const Shape& x_shape, Extent kernel) {
  const int n = kernel.n, ndim = x_shape.n;
  const Py_ssize_t* shape = x_shape.at;
  if (!poolable(g, n) || indices.dtype != DType::I64) return {};
  bool fits = ndim == g.ndim && same_shape(g.tensor, indices.tensor);
  for (int i = 0; fits && i + n < ndim; i++) fits = shape[i] == g.shape[i];
  if (!fits) return fail(PyExc_ValueError, "max_pool_backward(): the shapes of gradient, indices and input do not fit");
  const DeviceType device = device_of(g, indices);
  if (device == DeviceType::Meta) return new_ref(g.dtype, ndim, shape, device);
  const DType wanted = g.dtype, type = computed_in(wanted);
  const Py_ssize_t volumes = volumes_of(shape, ndim, n), ends = ndim - n;
  Py_ssize_t positions = 1, volume = 1;
  for (Py_ssize_t i = ends; i < ndim; i++) positions *= g.shape[i], volume *= shape[i];
  Ref gc = contiguous_as(g.tensor, type), ic = contiguous(indices.tensor);
  Ref out = new_ref(type, ndim, shape, device);
  const ptrdiff_t item = item_size(type);
  const char* grad = data_of(gc);
  const int64_t* at = data_of<int64_t>(ic);
  char* to = data_of(out);
  std::atomic<bool> inside{true};
  {
    Unlocked unlocked(as_tensor(out)->nbytes() > kReleaseGilBytes, gc, ic, out);
    parallel(volumes, grain(static_cast<double>(volume + positions)), [&](ptrdiff_t begin, ptrdiff_t end) {
      if (!dense_kernels().max_pool_backward(type, grad + begin * positions * item, at + begin * positions, end - begin, positions,
                                             volume, to + begin * volume * item))
        inside.store(false, std::memory_order_relaxed);
    });
  }
  if (inside.load()) return rounded(std::move(out), wanted);
  return fail(PyExc_IndexError, "max_pool_backward(): an index is outside its volume");
}

// The windows along one dimension, as tables; a few of them need no memory of their own.
struct CutAxis {
  static constexpr ptrdiff_t kFew = 16;
  ptrdiff_t few[2 * kFew], *from, *to;
  double few_counts[kFew], *counts;
  std::vector<ptrdiff_t> many;
  std::vector<double> many_counts;
  Cuts cuts{};

  CutAxis() = default;
  CutAxis(const CutAxis&) = delete;  // tables within
  CutAxis& operator=(const CutAxis&) = delete;

  void size(ptrdiff_t in, ptrdiff_t out) {
    if (out > kFew) many.resize(static_cast<size_t>(2 * out)), many_counts.resize(static_cast<size_t>(out));
    from = out > kFew ? many.data() : few;
    to = from + out;
    counts = out > kFew ? many_counts.data() : few_counts;
    cuts = {in, out, from, to, counts, 1, 1, 0, 0, 0};
  }
  void set(ptrdiff_t i, ptrdiff_t start, ptrdiff_t end, ptrdiff_t counted) {
    from[i] = start;
    to[i] = end;
    counts[i] = static_cast<double>(counted);
  }
  // Windows of one size. `include_pad`: they count the padding, as far as it goes.
  void by_window(const PoolAxis& a, bool include_pad) {
    size(a.in, a.out);
    for (ptrdiff_t i = 0; i < a.out; i++) {
      const ptrdiff_t start = i * a.stride - a.pad, end = std::min(start + a.kernel, a.in + a.pad);
      const ptrdiff_t low = std::max<ptrdiff_t>(start, 0), high = std::min(end, a.in);
      set(i, low, high, include_pad ? end - start : std::max<ptrdiff_t>(high - low, 0));
    }
    cuts.kernel = a.kernel;
    cuts.stride = a.stride;
    cuts.pad = a.pad;
    cuts.even_from = std::min((a.pad + a.stride - 1) / a.stride, a.out);
    const ptrdiff_t room = a.in + a.pad - a.kernel;
    cuts.even_to = room < 0 ? 0 : std::min(room / a.stride + 1, a.out);
  }
  // As many windows as wanted, none of them empty: neighbours may share an element.
  void by_number(ptrdiff_t in, ptrdiff_t out) {
    size(in, out);
    for (ptrdiff_t i = 0; i < out; i++) {
      // in * i in parts, which cannot overflow
      const ptrdiff_t start = in / out * i + in % out * i / out, last = i + 1;
      const ptrdiff_t end = in / out * last + (in % out * last + out - 1) / out;
      set(i, start, end, end - start);
    }
    if (out && in % out == 0) {
      cuts.kernel = cuts.stride = in / out;
      cuts.even_to = out;
    }
  }
};

struct CutAxes {
  CutAxis d, h, w;
  CutVolume volume(ptrdiff_t divisor) const { return {d.cuts, h.cuts, w.cuts, divisor}; }
};

// Means and their gradients: `backward` from g of the sizes of windows to those of the input.
Ref means(const TensorInfo& from, const Py_ssize_t* shape, bool backward, int n, const CutAxes& axes, Py_ssize_t divisor) {
  const CutVolume cuts = axes.volume(divisor);
  const DType wanted = from.dtype, type = computed_in(wanted);
  const int ndim = from.ndim;
  const Py_ssize_t volumes = volumes_of(shape, ndim, n);
  Ref in = contiguous_as(from.tensor, type), out = new_ref(type, ndim, shape, DeviceType::Cpu);
  const ptrdiff_t item = item_size(type), many = cuts.volume(), few = cuts.positions();
  const char* source = data_of(in);
  char* to = data_of(out);
  {
    Unlocked unlocked(volumes * std::max(many, few) * item > kReleaseGilBytes, in, out);
    parallel(volumes, grain(static_cast<double>(many + few) * 2), [&](ptrdiff_t begin, ptrdiff_t end) {
      if (backward)
        dense_kernels().mean_cuts_backward(type, source + begin * few * item, end - begin, cuts, to + begin * many * item);
      else dense_kernels().mean_cuts(type, source + begin * many * item, end - begin, cuts, to + begin * few * item);
    });
  }
  return rounded(std::move(out), wanted);
}

// How an average is taken.
struct Average {
  PoolWindow window;
  bool include_pad;
  Py_ssize_t divisor;
  bool read(const Py_ssize_t* shape, int ndim, const Extent& kernel, PyObject* stride, PyObject* padding, bool ceil_mode,
            std::optional<Py_ssize_t> divisor_override) {
    if (!read_window(shape, ndim, kernel, stride, padding, nullptr, ceil_mode, window)) return false;
    if (divisor_override == 0) return fail(PyExc_RuntimeError, "divisor must be not zero");
    divisor = divisor_override.value_or(0);
    return true;
  }
  void cut(CutAxes& axes) const {
    axes.d.by_window(window.d, include_pad);
    axes.h.by_window(window.h, include_pad);
    axes.w.by_window(window.w, include_pad);
  }
};

bool no_elements(const Py_ssize_t* shape, int ndim) { return std::find(shape, shape + ndim, 0) != shape + ndim; }

Ref avg_pool(const TensorInfo& x, Extent kernel, Any stride, IntOrInts padding, bool ceil_mode, bool include_pad,
             std::optional<Py_ssize_t> divisor) {
  const int n = kernel.n;
  Average a{{}, include_pad, 0};
  if (!poolable(x, n, x.dtype == DType::I64) || !a.read(x.shape, x.ndim, kernel, stride, padding, ceil_mode, divisor)) return {};
  Py_ssize_t shape[kMaxDims];
  pooled_shape(x.shape, x.ndim, n, {a.window.d.out, a.window.h.out, a.window.w.out}, shape);
  if (is_meta(x) || no_elements(shape, x.ndim)) return new_ref(x.dtype, x.ndim, shape, device_of(x));
  CutAxes axes;
  a.cut(axes);
  return means(x, shape, false, n, axes, a.divisor);
}

Ref avg_pool_backward(const TensorInfo& g, const Shape& x_shape, Extent kernel, Any stride, IntOrInts padding, bool ceil_mode,
                      bool include_pad, std::optional<Py_ssize_t> divisor) {
  const int n = kernel.n, ndim = x_shape.n;
  const Py_ssize_t* shape = x_shape.at;
  Average a{{}, include_pad, 0};
  Py_ssize_t expected[kMaxDims];
  if (!poolable(g, n)) return {};
  if (ndim == g.ndim) {
    if (!a.read(shape, ndim, kernel, stride, padding, ceil_mode, divisor)) return {};
    pooled_shape(shape, ndim, n, {a.window.d.out, a.window.h.out, a.window.w.out}, expected);
  }
  if (ndim != g.ndim || !same_sizes(ndim, expected, g.shape))
    return fail(PyExc_ValueError, "avg_pool_backward(): the shapes of gradient and input do not fit");
  if (is_meta(g) || no_elements(shape, ndim)) return new_ref(g.dtype, ndim, shape, device_of(g));
  CutAxes axes;
  a.cut(axes);
  return means(g, shape, true, n, axes, a.divisor);
}

// The sizes of an adaptive pool, at least 0, as the last of three.
struct OutputSizes : Extent {
  bool read(const Argument& a) {
    if (!Extent::read(a) || !ints_argument(object, "output_size", n, sizes + 3 - n)) return false;
    for (Py_ssize_t size : sizes) {
      if (size < 0 || size > kMostAlong) return fail(PyExc_RuntimeError, "pooling sizes are out of range");
    }
    return true;
  }
  Py_ssize_t sizes[3] = {1, 1, 1};
};

void cut_by_number(const Py_ssize_t* in, int n, const Py_ssize_t (&out)[3], CutAxes& axes) {
  CutAxis* const all[] = {&axes.d, &axes.h, &axes.w};
  for (int i = 0; i < 3; i++) all[i]->by_number(i < 3 - n ? 1 : in[i - (3 - n)], out[i]);
}

Failed no_windows() { return fail(PyExc_RuntimeError, "adaptive pooling: there are no elements to pool"); }

Ref adaptive_avg_pool(const TensorInfo& x, const OutputSizes& output_size) {
  const int n = output_size.n;
  const auto& sizes = output_size.sizes;
  Py_ssize_t shape[kMaxDims];
  if (!poolable(x, n)) return {};
  pooled_shape(x.shape, x.ndim, n, sizes, shape);
  if (no_elements(x.shape, x.ndim) && !no_elements(shape, x.ndim)) return no_windows();
  if (is_meta(x) || no_elements(shape, x.ndim)) return new_ref(x.dtype, x.ndim, shape, device_of(x));
  CutAxes axes;
  cut_by_number(x.shape + x.ndim - n, n, sizes, axes);
  return means(x, shape, false, n, axes, 0);
}

Ref adaptive_avg_pool_backward(const TensorInfo& g, const OutputSizes& input_size) {
  const int n = input_size.n;
  const auto& sizes = input_size.sizes;
  Py_ssize_t windows[3] = {1, 1, 1}, shape[kMaxDims];
  if (!poolable(g, n)) return {};
  pooled_shape(g.shape, g.ndim, n, sizes, shape);
  if (is_meta(g) || no_elements(shape, g.ndim)) return new_ref(g.dtype, g.ndim, shape, device_of(g));
  if (no_elements(g.shape, g.ndim)) return zeros_ref(g.dtype, g.ndim, shape, device_of(g));
  std::copy(g.shape + g.ndim - n, g.shape + g.ndim, windows + 3 - n);
  CutAxes axes;
  cut_by_number(sizes + 3 - n, n, windows, axes);
  return means(g, shape, true, n, axes, 0);
}

template <bool kBoth>
std::conditional_t<kBoth, Pair, Ref> adaptive_max_pool(const TensorInfo& x, const OutputSizes& output_size) {
  const int n = output_size.n;
  const auto& sizes = output_size.sizes;
  if (!poolable(x, n)) return {};
  const Py_ssize_t* in = x.shape + x.ndim - n;
  if (no_elements(in, n) && !no_elements(sizes, 3)) return no_windows();
  PoolWindow w = {kNoAxis, kNoAxis, kNoAxis};
  PoolAxis* const all[] = {&w.d, &w.h, &w.w};
  bool even = true;
  for (int i = 3 - n; i < 3; i++) {
    const Py_ssize_t size = in[i - (3 - n)], part = sizes[i] ? size / sizes[i] : 0;
    even = even && (!sizes[i] || size % sizes[i] == 0);
    *all[i] = {size, sizes[i], part, part, 0, 1};
  }
  if (even) return maxima(x, n, w, kBoth);
  CutAxes axes;
  cut_by_number(in, n, sizes, axes);
  const CutVolume cuts = axes.volume(0);
  return maxima(x, n, sizes, cuts.volume(), cuts.positions(), grain(static_cast<double>(cuts.volume()) * 2), kBoth,
                [&](DType type, const char* from, Py_ssize_t volumes, char* out, int64_t* indices) {
                  dense_kernels().max_cuts(type, from, volumes, cuts, out, indices);
                });
}

const KernelRows rows{
    long_kernel<max_pool<false>, "max_pool_values(x, kernel, stride, padding, dilation, ceil_mode)">(),
    long_kernel<max_pool<true>, "max_pool(x, kernel, stride, padding, dilation, ceil_mode)">(),
    long_kernel<max_pool_backward, "max_pool_backward(g, indices, x_shape, kernel): of the kernel, the number of dimensions">(),
    long_kernel<avg_pool, "avg_pool(x, kernel, stride, padding, ceil_mode, count_include_pad, divisor)">(),
    long_kernel<avg_pool_backward,
                "avg_pool_backward(g, x_shape, kernel, stride, padding, ceil_mode, count_include_pad, divisor)">(),
    long_kernel<adaptive_avg_pool, "adaptive_avg_pool(x, output_size)">(),
    long_kernel<adaptive_avg_pool_backward, "adaptive_avg_pool_backward(g, input_size)">(),
    long_kernel<adaptive_max_pool<false>, "adaptive_max_pool_values(x, output_size)">(),
    long_kernel<adaptive_max_pool<true>, "adaptive_max_pool(x, output_size)">(),
};

}  // namespace

}  // namespace rushlight
