// Two-dimensional convolution and its two gradients: patches of an image (im2col) times the weights.
//
// Each image of a batch is one task of the thread pool; the products inside then stay on one thread. A single image
// leaves the threads to the product. The patch buffer belongs to the task.
#include "bindings/conv.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "kernels/gemm.h"
#include "bindings/winograd.h"

namespace rushlight {
namespace {

// args: stride, padding, dilation, groups. Shapes: x (batch, channels, h, w), w (out, channels / groups, kh, kw).
bool read_geometry(const Py_ssize_t* x, const Py_ssize_t* w, PyObject* const* args, Geometry& g) {
  Py_ssize_t stride[2], padding[2], dilation[2];
  if (!ints_argument(args[0], "stride", 2, stride) || !ints_argument(args[1], "padding", 2, padding) ||
      !ints_argument(args[2], "dilation", 2, dilation) || !ints_argument(args[3], "groups", 1, &g.groups))
    return false;
  const auto fail = [](const char* text) {
    PyErr_SetString(PyExc_RuntimeError, text);
    return false;
  };
  if (g.groups <= 0) return fail("non-positive groups is not supported");
  for (int i = 0; i < 2; i++) {
    if (stride[i] <= 0) return fail("non-positive stride is not supported");
    if (padding[i] < 0) return fail("negative padding is not supported");
    if (dilation[i] <= 0) return fail("dilation should be greater than zero");
    if (w[2 + i] <= 0) return fail("the kernel has no elements");
  }
  g.batch = x[0];
  g.in_channels = x[1];
  g.out_channels = w[0];
  if (g.out_channels < g.groups || g.out_channels % g.groups) {
    PyErr_Format(PyExc_RuntimeError,
                 "Given groups=%zd, expected weight to be divisible by %zd at dimension 0, but got "
                 "weight of size [%zd, %zd, %zd, %zd] instead",
                 g.groups, g.groups, w[0], w[1], w[2], w[3]);
    return false;
  }
  if (w[1] * g.groups != g.in_channels) {
    PyErr_Format(PyExc_RuntimeError,
                 "Given groups=%zd, weight of size [%zd, %zd, %zd, %zd], expected input[%zd, %zd, %zd, "
                 "%zd] to have %zd channels, but got %zd channels instead",
                 g.groups, w[0], w[1], w[2], w[3], x[0], x[1], x[2], x[3], w[1] * g.groups, x[1]);
    return false;
  }
  Py_ssize_t out[2];
  for (int i = 0; i < 2; i++) {
    constexpr Py_ssize_t kLimit = Py_ssize_t{1} << 31;
    if (x[2 + i] >= kLimit || padding[i] >= kLimit || dilation[i] >= kLimit || stride[i] >= kLimit || w[2 + i] >= kLimit)
      return fail("convolution sizes are too large");
    const Py_ssize_t span = dilation[i] * (w[2 + i] - 1) + 1;
    if (x[2 + i] + 2 * padding[i] < span) {
      PyErr_Format(PyExc_RuntimeError,
                   "Calculated padded input size per channel: (%zd x %zd). Kernel size: (%zd x %zd). "
                   "Kernel size can't be greater than actual input size",
                   x[2] + 2 * padding[0], x[3] + 2 * padding[1], dilation[0] * (w[2] - 1) + 1, dilation[1] * (w[3] - 1) + 1);
      return false;
    }
    out[i] = (x[2 + i] + 2 * padding[i] - span) / stride[i] + 1;
  }
  g.window = {x[2], x[3], out[0], out[1], w[2], w[3], stride[0], stride[1], padding[0], padding[1], dilation[0], dilation[1]};
  return true;
}

struct Buffer {
  explicit Buffer(Py_ssize_t bytes) : p(std::malloc(static_cast<size_t>(bytes + kSlackBytes))) {}
  ~Buffer() { std::free(p); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* p;
};

// Patches are laid out for some rows of the output at a time, so that they stay in the cache until they are multiplied.
constexpr Py_ssize_t kBandBytes = 1 << 21;

// The patches of a band of one group's channels, and those channels with their padding; nothing for pointwise convolutions.
struct Patches {
  Patches(const Geometry& g, ptrdiff_t item)
      : rows(rows_of(g, item)),
        columns(g.pointwise() ? 0 : g.patch() * rows * g.window.out_w * item),
        padded(g.pointwise() ? 0 : g.in_channels / g.groups * g.padded_plane() * item) {}
  explicit operator bool() const { return columns.p && padded.p; }
  static Py_ssize_t rows_of(const Geometry& g, ptrdiff_t item) {
    if (g.pointwise()) return g.window.out_h;
    const Py_ssize_t row = g.patch() * g.window.out_w * item;
    return std::min<Py_ssize_t>(g.window.out_h, std::max<Py_ssize_t>(1, kBandBytes / row));
  }
  // Calls f(band, its first place, how many places it has).
  template <class F>
  void for_bands(const Geometry& g, const F& f) const {
    for (Py_ssize_t row = 0; row < g.window.out_h; row += rows) {
      const Band band{row, std::min<Py_ssize_t>(row + rows, g.window.out_h)};
      f(band, row * g.window.out_w, (band.to - row) * g.window.out_w);
    }
  }
  Py_ssize_t rows;
  Buffer columns, padded;
};

// Runs f(image) for every image, false if memory ran out in one of them.
template <class F>
bool for_images(Py_ssize_t batch, bool one_by_one, const F& f) {
  std::atomic<bool> failed{false};
  const auto run = [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t i = begin; i < end; i++)
      if (!f(i)) failed.store(true, std::memory_order_relaxed);
  };
  if (one_by_one) run(0, batch);
  else parallel(batch, 1, run);
  return !failed.load();
}

constexpr Py_ssize_t kParallelWork = 1 << 18;
// A group of few outputs is summed in registers, kernel position by kernel position: a product would read each patch
// element for few multiplications.
constexpr Py_ssize_t kDirectOutputs = 8;

// Adds bias[c] to every element of plane c.
template <class T>
void add_channel_bias(T* out, const T* bias, Py_ssize_t channels, Py_ssize_t places) {
  for (Py_ssize_t c = 0; c < channels; c++, out += places)
    for (Py_ssize_t i = 0; i < places; i++) out[i] += bias[c];
}

PyObject* no_memory_or(bool worked, Ref result) { return worked ? result.release() : PyErr_NoMemory(); }

// (x, w, bias or None, stride, padding, dilation, groups)
PyObject* conv2d(PyObject*, PyObject* const* args, Py_ssize_t count) {
  TensorInfo x, w, bias;
  Geometry g;
  if (!check_count("conv2d", count, 7, 7)) return nullptr;
  const bool has_bias = args[2] != Py_None;
  if (!read_tensor(args[0], x) || !read_tensor(args[1], w) || (has_bias && !read_tensor(args[2], bias))) return not_implemented();
  if (!x.is_float() || w.dtype != x.dtype || (has_bias && bias.dtype != x.dtype) || x.ndim != 4 || w.ndim != 4)
    return not_implemented();
  if (!read_geometry(x.shape, w.shape, args + 3, g)) return nullptr;
  if (has_bias && (bias.ndim != 1 || bias.shape[0] != g.out_channels)) {
    PyErr_Format(PyExc_RuntimeError,
                 "Given weight of size [%zd, %zd, %zd, %zd], expected bias to be 1-dimensional with %zd "
                 "elements, but got bias of %zd elements instead",
                 w.shape[0], w.shape[1], w.shape[2], w.shape[3], w.shape[0], bias.size());
    return nullptr;
  }
  if (winograd_pays(g) && !is_meta(x, w, bias)) return winograd_forward(x, w, bias, g);
  const Py_ssize_t shape[4] = {g.batch, g.out_channels, g.window.out_h, g.window.out_w};
  Ref xc = contiguous(x.tensor), wc = xc ? contiguous(w.tensor) : Ref();
  Ref bc = wc && has_bias ? contiguous(bias.tensor) : Ref();
  if (!xc || !wc || (has_bias && !bc)) return nullptr;
  const DeviceType device = device_of(x, w, bias);
  Ref result = new_ref(x.dtype, 4, shape, device);
  if (!result) return nullptr;
  if (device == DeviceType::Meta || as_tensor(result)->numel() == 0) return result.release();
  const DType type = x.dtype;
  const ptrdiff_t item = item_size(type);
  const Py_ssize_t patch = g.patch(), places = g.places(), per_group = g.out_channels / g.groups;
  const char* xp = data_of(xc);
  const char* wp = data_of(wc);
  const char* bp = has_bias ? data_of(bc) : nullptr;
  char* out = data_of(result);
  const Py_ssize_t work = g.out_channels * patch * places;
  const bool one_by_one = g.batch == 1 || g.batch * work < kParallelWork;
  const bool direct = !g.pointwise() && g.window.stride_w == 1 && per_group <= kDirectOutputs &&
                      g.window.out_w >= dense_kernels().direct_width(type);
  bool worked;
  {
    Unlocked unlocked(true, {as_tensor(xc), as_tensor(wc), as_tensor(bc), as_tensor(result)});
    worked = for_images(g.batch, one_by_one, [&](Py_ssize_t image) {
      const char* in = xp + image * g.in_channels * g.in_plane() * item;
      char* to = out + image * g.out_channels * places * item;
      Patches buffers(g, item);
      if (!buffers) return false;
      for (Py_ssize_t group = 0; group < g.groups; group++) {
        const char* planes = in + group * (g.in_channels / g.groups) * g.in_plane() * item;
        const char* kernels = wp + group * per_group * patch * item;
        char* made = to + group * per_group * places * item;
        const Py_ssize_t channels = g.in_channels / g.groups;
        if (!g.pointwise()) dense_kernels().pad(type, planes, channels, g.window, buffers.padded.p);
        if (direct) {
          const Py_ssize_t grain = one_by_one && work >= kParallelWork ? std::max<Py_ssize_t>(1, g.window.out_h / 16)
                                                                       : g.window.out_h;
          parallel(g.window.out_h, grain, [&](ptrdiff_t from, ptrdiff_t to_row) {
            dense_kernels().convolve_rows(type, buffers.padded.p, channels, g.window, {from, to_row}, kernels, per_group, made);
          });
          continue;
        }
        buffers.for_bands(g, [&](Band band, Py_ssize_t at, Py_ssize_t n) {
          const void* patches = planes;
          if (!g.pointwise()) {
            dense_kernels().im2col(type, buffers.padded.p, channels, g.window, band, buffers.columns.p);
            patches = buffers.columns.p;
          }
          gemm(type, per_group, n, patch, 1.0, {kernels, patch, 1}, {patches, n, 1}, nullptr, 0.0, made + at * item,
               one_by_one && g.batch == 1, places);
        });
      }
      if (bp && type == DType::F32)
        add_channel_bias(reinterpret_cast<float*>(to), reinterpret_cast<const float*>(bp), g.out_channels, places);
      else if (bp) add_channel_bias(reinterpret_cast<double*>(to), reinterpret_cast<const double*>(bp), g.out_channels, places);
      return true;
    });
  }
  return no_memory_or(worked, static_cast<Ref&&>(result));
}

bool check_gradient(const TensorInfo& grad, const Geometry& g) {
  if (grad.shape[0] == g.batch && grad.shape[1] == g.out_channels && grad.shape[2] == g.window.out_h &&
      grad.shape[3] == g.window.out_w)
    return true;
  PyErr_Format(PyExc_RuntimeError, "expected a gradient of size [%zd, %zd, %zd, %zd], got [%zd, %zd, %zd, %zd]", g.batch,
               g.out_channels, g.window.out_h, g.window.out_w, grad.shape[0], grad.shape[1], grad.shape[2], grad.shape[3]);
  return false;
}

bool shape4(PyObject* object, Py_ssize_t* shape) {
  int ndim;
  Py_ssize_t sizes[kMaxDims];
  if (!shape_argument(object, sizes, ndim)) return false;
  if (ndim != 4) {
    PyErr_Format(PyExc_ValueError, "expected a shape of 4 sizes, got %d", ndim);
    return false;
  }
  std::memcpy(shape, sizes, 4 * sizeof(Py_ssize_t));
  return true;
}

// (g, w, x_shape, stride, padding, dilation, groups) -> the gradient of the input
PyObject* conv2d_grad_input(PyObject*, PyObject* const* args, Py_ssize_t count) {
  TensorInfo grad, w;
  Geometry g;
  Py_ssize_t shape[4];
  if (!check_count("conv2d_grad_input", count, 7, 7)) return nullptr;
  if (!read_tensor(args[0], grad) || !read_tensor(args[1], w)) return not_implemented();
  if (!grad.is_float() || w.dtype != grad.dtype || grad.ndim != 4 || w.ndim != 4) return not_implemented();
  if (!shape4(args[2], shape) || !read_geometry(shape, w.shape, args + 3, g) || !check_gradient(grad, g)) return nullptr;
  if (winograd_pays(g) && !is_meta(grad, w)) return winograd_grad_input(grad, w, g);
  Ref gc = contiguous(grad.tensor), wc = gc ? contiguous(w.tensor) : Ref();
  const DeviceType device = device_of(grad, w);
  Ref result = wc ? zeros_ref(grad.dtype, 4, shape, device) : Ref();
  if (!result) return nullptr;
  if (device == DeviceType::Meta || as_tensor(result)->numel() == 0) return result.release();
  const DType type = grad.dtype;
  const ptrdiff_t item = item_size(type);
  const Py_ssize_t patch = g.patch(), places = g.places(), per_group = g.out_channels / g.groups;
  const char* gp = data_of(gc);
  const char* wp = data_of(wc);
  char* out = data_of(result);
  const bool one_by_one = g.batch == 1 || g.batch * g.out_channels * patch * places < kParallelWork;
  bool worked;
  {
    Unlocked unlocked(true, {as_tensor(gc), as_tensor(wc), as_tensor(result)});
    worked = for_images(g.batch, one_by_one, [&](Py_ssize_t image) {
      Patches buffers(g, item);
      if (!buffers) return false;
      for (Py_ssize_t group = 0; group < g.groups; group++) {
        const char* from = gp + (image * g.out_channels + group * per_group) * places * item;
        char* to = out + (image * g.in_channels + group * (g.in_channels / g.groups)) * g.in_plane() * item;
        const char* kernels = wp + group * per_group * patch * item;
        const Py_ssize_t channels = g.in_channels / g.groups;
        if (!g.pointwise()) std::memset(buffers.padded.p, 0, static_cast<size_t>(channels * g.padded_plane() * item));
        buffers.for_bands(g, [&](Band band, Py_ssize_t at, Py_ssize_t n) {
          gemm(type, patch, n, per_group, 1.0, {kernels, 1, patch}, {from + at * item, places, 1}, nullptr, 0.0,
               g.pointwise() ? to : buffers.columns.p, one_by_one && g.batch == 1);
          if (!g.pointwise()) dense_kernels().col2im(type, buffers.columns.p, channels, g.window, band, buffers.padded.p);
        });
        if (!g.pointwise()) dense_kernels().unpad(type, buffers.padded.p, channels, g.window, to);
      }
      return true;
    });
  }
  return no_memory_or(worked, static_cast<Ref&&>(result));
}

// (g, x, w_shape, stride, padding, dilation, groups) -> the gradient of the weight
PyObject* conv2d_grad_weight(PyObject*, PyObject* const* args, Py_ssize_t count) {
  TensorInfo grad, x;
  Geometry g;
  Py_ssize_t shape[4];
  if (!check_count("conv2d_grad_weight", count, 7, 7)) return nullptr;
  if (!read_tensor(args[0], grad) || !read_tensor(args[1], x)) return not_implemented();
  if (!grad.is_float() || x.dtype != grad.dtype || grad.ndim != 4 || x.ndim != 4) return not_implemented();
  if (!shape4(args[2], shape) || !read_geometry(x.shape, shape, args + 3, g) || !check_gradient(grad, g)) return nullptr;
  if (winograd_pays(g) && !is_meta(grad, x)) return winograd_grad_weight(grad, x, g);
  Ref gc = contiguous(grad.tensor), xc = gc ? contiguous(x.tensor) : Ref();
  const DeviceType device = device_of(grad, x);
  Ref result = xc ? zeros_ref(grad.dtype, 4, shape, device) : Ref();
  if (!result || device == DeviceType::Meta) return result.release();
  const Py_ssize_t patch = g.patch(), places = g.places(), per_group = g.out_channels / g.groups;
  const Py_ssize_t size = as_tensor(result)->numel();
  if (size == 0 || g.batch * places == 0) return result.release();
  const DType type = grad.dtype;
  const ptrdiff_t item = item_size(type);
  const char* gp = data_of(gc);
  const char* xp = data_of(xc);
  char* out = data_of(result);
  // Images are summed in a fixed number of parts, whatever the threads, so that the rounding is always the same.
  const Py_ssize_t parts = g.batch < 4 || g.batch * size * places < kParallelWork ? 1 : 4;
  bool worked;
  {
    Unlocked unlocked(true, {as_tensor(gc), as_tensor(xc), as_tensor(result)});
    Buffer sums((parts - 1) * size * item);
    if (!sums.p) worked = false;
    else {
      if (parts > 1) std::memset(sums.p, 0, static_cast<size_t>((parts - 1) * size * item));
      worked = for_images(parts, parts == 1, [&](Py_ssize_t part) {
        Patches buffers(g, item);
        if (!buffers) return false;
        char* sum = part == 0 ? out : static_cast<char*>(sums.p) + (part - 1) * size * item;
        for (Py_ssize_t image = part * g.batch / parts; image < (part + 1) * g.batch / parts; image++)
          for (Py_ssize_t group = 0; group < g.groups; group++) {
            const char* planes = xp + (image * g.in_channels + group * (g.in_channels / g.groups)) * g.in_plane() * item;
            const char* from = gp + (image * g.out_channels + group * per_group) * places * item;
            const Py_ssize_t channels = g.in_channels / g.groups;
            if (!g.pointwise()) dense_kernels().pad(type, planes, channels, g.window, buffers.padded.p);
            buffers.for_bands(g, [&](Band band, Py_ssize_t at, Py_ssize_t n) {
              const void* patches = planes;
              if (!g.pointwise()) {
                dense_kernels().im2col(type, buffers.padded.p, channels, g.window, band, buffers.columns.p);
                patches = buffers.columns.p;
              }
              gemm(type, per_group, patch, n, 1.0, {from + at * item, places, 1}, {patches, 1, n}, nullptr, 1.0,
                   sum + group * per_group * patch * item, false);
            });
          }
        return true;
      });
      for (Py_ssize_t part = 1; worked && part < parts; part++) {
        const char* more = static_cast<char*>(sums.p) + (part - 1) * size * item;
        for (Py_ssize_t i = 0; i < size; i++)
          if (type == DType::F32) reinterpret_cast<float*>(out)[i] += reinterpret_cast<const float*>(more)[i];
          else reinterpret_cast<double*>(out)[i] += reinterpret_cast<const double*>(more)[i];
      }
    }
  }
  return no_memory_or(worked, static_cast<Ref&&>(result));
}

}  // namespace

PyMethodDef kConvMethods[] = {
    long_kernel<conv2d>("conv2d", "conv2d(x, w, bias_or_None, stride, padding, dilation, groups)"),
    long_kernel<conv2d_grad_input>("conv2d_grad_input", "conv2d_grad_input(g, w, x_shape, stride, padding, dilation, groups)"),
    long_kernel<conv2d_grad_weight>("conv2d_grad_weight", "conv2d_grad_weight(g, x, w_shape, stride, padding, dilation, groups)"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace rushlight
