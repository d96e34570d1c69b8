// Scans along a dimension, of contiguous elements.
#include "kernels/scans.h"

#include <utility>

#include "bindings/kernel.h"

namespace rushlight {
namespace {

constexpr Py_ssize_t kChunk = 1 << 16;  // elements that are worth a thread

bool is_whole(DType t) { return t <= DType::I64 || (t >= DType::U16 && t <= DType::U64); }

// A tensor as (outer, n, inner).
struct Middle {
  Middle(const TensorInfo& a, int dim) {
    for (int i = 0; i < dim; i++) outer *= a.shape[i];
    for (int i = dim + 1; i < a.ndim; i++) inner *= a.shape[i];
    if (a.ndim) n = a.shape[dim];
  }
  Py_ssize_t outer = 1, n = 1, inner = 1;
  Py_ssize_t size() const { return outer * n * inner; }
  // Calls f(first element, how many of the outer dimension, how many of the inner one) for parts of the outer dimension, or of the
  // inner one where that is longer, on threads.
  template <class F>
  void share(const F& f) const {
    const bool columns = inner > outer;
    parallel(columns ? inner : outer, kChunk / (n * std::min(inner, outer)) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
      columns ? f(begin, outer, end - begin) : f(begin * n * inner, end - begin, inner);
    });
  }
};

// Sums of complex numbers are those of their parts.
template <bool kProduct, bool kReverse>
Ref cumulative(const TensorInfo& a, Dim dim, OnlyNone /* dtype */) {
  const bool complex = is_pair(a.dtype);
  if (!a.is_float_or_half() && !is_whole(a.dtype) && !complex) return {};
  const DType type = is_whole(a.dtype) ? DType::I64 : computed_in(a.dtype);
  const Ref in = contiguous_as(a.tensor, type);
  Ref out = new_ref(type, a.ndim, a.shape, device_of(a));
  Middle middle(a, dim);
  if (has_memory(out) && middle.size()) {
    const DType part = type == DType::C64 ? DType::F32 : type == DType::C128 ? DType::F64 : type;
    if (complex && !kProduct) middle.inner *= 2;
    const Py_ssize_t item = item_size(complex && kProduct ? type : part), n = middle.n, inner = middle.inner;
    const char* data = data_of(in);
    char* to = data_of(out);
    Unlocked unlocked(middle.size() * item > kReleaseGilBytes, in, out);
    middle.share([&](ptrdiff_t first, ptrdiff_t outer, ptrdiff_t width) {
      const char* from = data + first * item;
      if (complex && kProduct) {
        by_type(part, [&](const auto* x, auto* y) { complex_products(x, outer, n, inner, width, y); }, from, to + first * item);
        return;
      }
      dense_kernels().cumulate(kProduct, part, from, outer, n, inner, width, kReverse, to + first * item);
    });
  }
  return is_half(a.dtype) ? rounded(std::move(out), a.dtype) : std::move(out);
}

Ref cumsum_backward(const TensorInfo& g, Dim dim) { return cumulative<false, true>(g, dim, {}); }

// A dimension, in the words of PyTorch's cummax where there is none.
struct LineDim : Dim {
  bool read(const Argument& a) {
    const Py_ssize_t given = a.first->ndim ? 0 : PyNumber_AsSsize_t(a.object, nullptr);
    if (given == -1 && PyErr_Occurred()) return false;
    if (given == 0 || given == -1) return Dim::read(a);
    return fail(PyExc_IndexError, "%s(): Expected reduction dim -1 or 0 for scalar but got %zd", a.kernel, given);
  }
};

// (values, indices). Integers of 32 bits and halves are computed in a wider type.
template <bool kLargest>
Pair extreme(const TensorInfo& a, LineDim dim) {
  const bool narrow = is_whole(a.dtype) && a.dtype != DType::I64 && a.dtype != DType::U64;
  const DType type = a.dtype == DType::U32 ? DType::I64 : narrow ? DType::I32 : computed_in(a.dtype);
  if (!a.is_float_or_half() && !is_whole(a.dtype)) return {};
  const Ref in = contiguous_as(a.tensor, type), places = new_ref(DType::I64, a.ndim, a.shape, device_of(a));
  Ref values = new_ref(type, a.ndim, a.shape, device_of(a));
  const Middle middle(a, dim);
  if (has_memory(values) && middle.size()) {
    const Py_ssize_t item = item_size(type);
    const char* data = data_of(in);
    char* to = data_of(values);
    int64_t* indices = data_of<int64_t>(places);
    Unlocked unlocked(middle.size() * item > kReleaseGilBytes, in, values, places);
    middle.share([&](ptrdiff_t first, ptrdiff_t outer, ptrdiff_t width) {
      extremes_so_far(kLargest, type, data + first * item, outer, middle.n, middle.inner, width, to + first * item,
                      indices + first);
    });
  }
  const Ref own = rounded(std::move(values), a.dtype);
  return tuple_of(own, places);
}

// Calls run(rows, row length, tensors' memory, result's memory) with rows along the dimension, in computed_in() the first one's type.
// The result has the first one's shape and type.
template <size_t kTensors, class Run>
Ref over_lines(const TensorInfo (&tensors)[kTensors], int dim, const Run& run) {
  const TensorInfo& a = tensors[0];
  const DType type = computed_in(a.dtype);
  Layout l(a.tensor);
  if (a.ndim) std::swap(l.shape[dim], l.shape[a.ndim - 1]);
  Ref out = new_ref(type, a.ndim, l.shape, device_of(a));
  if (has_memory(out) && a.size()) {
    const Py_ssize_t n = a.ndim ? a.shape[dim] : 1, rows = a.size() / n;
    Ref held[kTensors];
    const char* data[kTensors];
    for (size_t t = 0; t < kTensors; t++) {
      Layout turned(tensors[t].tensor);
      if (a.ndim) {
        std::swap(turned.shape[dim], turned.shape[a.ndim - 1]);
        std::swap(turned.strides[dim], turned.strides[a.ndim - 1]);
      }
      const Ref view = make_view(tensors[t], turned);
      held[t] = contiguous_as(as_tensor(view), type);
      data[t] = data_of(held[t]);
    }
    char* to = data_of(out);
    const Py_ssize_t step = n * item_size(type);
    Unlocked unlocked(rows * step > kReleaseGilBytes / 8, held[0], held[kTensors - 1], held[kTensors / 2], out);
    parallel(rows, kChunk / 8 / n + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
      const char* from[kTensors];
      for (size_t t = 0; t < kTensors; t++) from[t] = data[t] + begin * step;
      run(type, end - begin, n, from, to + begin * step);
    });
  }
  Layout back(as_tensor(out));
  if (a.ndim) {
    std::swap(back.shape[dim], back.shape[a.ndim - 1]);
    std::swap(back.strides[dim], back.strides[a.ndim - 1]);
  }
  const Ref turned = make_view(info_of(out), back);
  return rounded(dim == a.ndim - 1 || !a.ndim ? std::move(out) : contiguous(as_tensor(turned)), a.dtype);
}

Ref cumprod_gradient(const TensorInfo& g, const TensorInfo& x, Dim dim) {
  if (!g.is_float_or_half() || x.dtype != g.dtype || !same_shape(g.tensor, x.tensor)) return {};
  return over_lines<2>({g, x}, dim, [](DType type, ptrdiff_t rows, ptrdiff_t n, const char* const* from, char* to) {
    by_type(
        type, [&]<class T>(T* grad, const T* gs, const T* xs) { cumprod_backward(gs, xs, rows, n, grad); }, to, from[0], from[1]);
  });
}

Ref logcumsumexp_of(const TensorInfo& a, Dim dim) {
  const bool complex = is_pair(a.dtype);
  if (!complex && !a.is_float_or_half()) return {};
  return over_lines<1>({a}, dim, [complex](DType type, ptrdiff_t rows, ptrdiff_t n, const char* const* from, char* to) {
    const auto run = [&]<class T>(T* out, const T* x) {
      complex ? complex_logcumsumexp(x, rows, n, out) : logcumsumexp(x, rows, n, out);
    };
    by_type(part_of(type), run, to, from[0]);
  });
}

Ref logcumsumexp_gradient(const TensorInfo& g, const TensorInfo& x, const TensorInfo& out, Dim dim) {
  if (!g.ndim || !g.is_float_or_half() || x.dtype != g.dtype || out.dtype != g.dtype) return {};
  if (!same_shape(g.tensor, x.tensor) || !same_shape(g.tensor, out.tensor)) return {};
  return over_lines<3>({g, x, out}, dim, [](DType type, ptrdiff_t rows, ptrdiff_t n, const char* const* from, char* to) {
    by_type(
        type, [&]<class T>(T* grad, const T* gs, const T* xs, const T* ys) { logcumsumexp_backward(gs, xs, ys, rows, n, grad); },
        to, from[0], from[1], from[2]);
  });
}

const KernelRows rows{
    long_kernel<cumulative<false, false>, "cumsum(a, dim, dtype=None)">(),
    long_kernel<cumulative<true, false>, "cumprod(a, dim, dtype=None)">(),
    long_kernel<cumsum_backward, "cumsum_backward(g, dim): the cumulative sum from the end on">(),
    long_kernel<cumprod_gradient, "cumprod_backward(g, a, dim)">(),
    long_kernel<extreme<true>, "cummax(a, dim): the largest so far, and its latest index; a NaN wins">(),
    long_kernel<extreme<false>, "cummin(a, dim): the smallest so far, and its latest index; a NaN wins">(),
    long_kernel<logcumsumexp_of, "logcumsumexp(a, dim)">(),
    long_kernel<logcumsumexp_gradient, "logcumsumexp_backward(g, a, out, dim)">(),
};

}  // namespace
}  // namespace rushlight
