// softmax and log_softmax along a dimension, and their gradients.
#include "bindings/bindings.h"

namespace rushlight {
namespace {

constexpr Py_ssize_t kGrain = 1 << 15;

struct Blocks {
  Py_ssize_t outer = 1, n = 1, inner = 1;
};

Blocks blocks_of(const TensorInfo& a, int dim) {
  Blocks b;
  for (int i = 0; i < dim; i++) b.outer *= a.shape[i];
  for (int i = dim + 1; i < a.ndim; i++) b.inner *= a.shape[i];
  if (a.ndim) b.n = a.shape[dim];
  return b;
}

// Halves are taken some rows at a time as float, in buffers in the first-level cache.
constexpr Py_ssize_t kBuffer = 4096;

template <bool Log>
PyObject* softmax(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  TensorInfo a;
  if (!check_count(Log ? "log_softmax" : "softmax", n, 2, 3)) return nullptr;
  if (!read_tensor(args[0], a) || (n > 2 && args[2] != Py_None)) return not_implemented();
  const int dim = dim_argument(args[1], a.ndim);
  if (dim < 0) return nullptr;
  const Blocks b = blocks_of(a, dim);
  const bool half = is_half(a.dtype);
  if (half && b.n * b.inner > kBuffer) {
    const Ref wide = contiguous_as(a.tensor, DType::F32);
    PyObject* const again[] = {wide.get(), args[1]};
    const Ref result(wide ? softmax<Log>(self, again, 2) : nullptr);
    return result ? contiguous_as(as_tensor(result), a.dtype).release() : nullptr;
  }
  if (!half && !a.is_float()) return not_implemented();
  Ref in = contiguous(a.tensor);
  const DeviceType device = device_of(a);
  Ref result = in ? new_ref(a.dtype, a.ndim, a.shape, device) : Ref();
  if (!result) return nullptr;
  const Py_ssize_t size = as_tensor(result)->numel();
  if (device == DeviceType::Meta || size == 0) return result.release();
  const ptrdiff_t step = b.n * b.inner * item_size(a.dtype);
  const char* x = data_of(in);
  char* y = data_of(result);
  if (half) {
    Unlocked unlocked(size * item_size(a.dtype) > kReleaseGilBytes, {as_tensor(in), as_tensor(result)});
    parallel(b.outer, kGrain / (b.n * b.inner) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
      alignas(64) float buffer[kBuffer];
      const ptrdiff_t most = kBuffer / (b.n * b.inner);
      for (ptrdiff_t i = begin; i < end; i += most) {
        const ptrdiff_t count = end - i < most ? end - i : most;
        kernels().convert_adjacent(a.dtype, x + i * step, DType::F32, buffer, count * b.n * b.inner);
        dense_kernels().softmax(Log, DType::F32, buffer, count, b.n, b.inner, false, buffer);
        kernels().convert_adjacent(DType::F32, buffer, a.dtype, y + i * step, count * b.n * b.inner);
      }
    });
    return result.release();
  }
  if (size <= kGrain) {
    dense_kernels().softmax(Log, a.dtype, x, b.outer, b.n, b.inner, false, y);
    return result.release();
  }
  Unlocked unlocked(size * item_size(a.dtype) > kReleaseGilBytes, {as_tensor(in), as_tensor(result)});
  const bool large = size * item_size(a.dtype) >= kLargeResult;
  parallel(b.outer, kGrain / (b.n * b.inner) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
    dense_kernels().softmax(Log, a.dtype, x + begin * step, end - begin, b.n, b.inner, large, y + begin * step);
  });
  return result.release();
}

template <bool Log>
PyObject* softmax_backward(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  TensorInfo g, y;
  const char* name = Log ? "log_softmax_backward" : "softmax_backward";
  if (!check_count(name, n, 3, 3)) return nullptr;
  if (!read_tensor(args[0], g) || !read_tensor(args[1], y) || g.dtype != y.dtype) return not_implemented();
  const int dim = dim_argument(args[2], y.ndim);
  if (dim < 0) return nullptr;
  const Blocks b = blocks_of(y, dim);
  const bool half = is_half(y.dtype) && b.n * b.inner <= kBuffer;
  if (is_half(y.dtype) && !half) {  // rounded once, not at every step of the rule
    Ref gw = contiguous_as(g.tensor, DType::F32), yw = gw ? contiguous_as(y.tensor, DType::F32) : Ref();
    if (!yw) return nullptr;
    PyObject* const wide[] = {gw.get(), yw.get(), args[2]};
    const Ref result(softmax_backward<Log>(self, wide, n));
    return result ? contiguous_as(as_tensor(result), y.dtype).release() : nullptr;
  }
  if (!half && !y.is_float()) return not_implemented();
  if (!same_shape(g.tensor, y.tensor)) {
    PyErr_Format(PyExc_ValueError, "%s(): the gradient and the output differ in shape", name);
    return nullptr;
  }
  Ref gc = contiguous(g.tensor), yc = gc ? contiguous(y.tensor) : Ref();
  const DeviceType device = device_of(g, y);
  Ref result = yc ? new_ref(y.dtype, y.ndim, y.shape, device) : Ref();
  if (!result) return nullptr;
  const Py_ssize_t size = as_tensor(result)->numel();
  if (device == DeviceType::Meta || size == 0) return result.release();
  const ptrdiff_t step = b.n * b.inner * item_size(y.dtype);
  const char* gp = data_of(gc);
  const char* yp = data_of(yc);
  char* out = data_of(result);
  Unlocked unlocked(size * item_size(y.dtype) > kReleaseGilBytes, {as_tensor(gc), as_tensor(yc), as_tensor(result)});
  if (half) {
    parallel(b.outer, kGrain / (b.n * b.inner) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
      alignas(64) float wide_g[kBuffer], wide_y[kBuffer];
      const ptrdiff_t most = kBuffer / (b.n * b.inner);
      for (ptrdiff_t i = begin; i < end; i += most) {
        const ptrdiff_t count = end - i < most ? end - i : most, elements = count * b.n * b.inner;
        kernels().convert_adjacent(y.dtype, gp + i * step, DType::F32, wide_g, elements);
        kernels().convert_adjacent(y.dtype, yp + i * step, DType::F32, wide_y, elements);
        dense_kernels().softmax_backward(Log, DType::F32, wide_g, wide_y, count, b.n, b.inner, wide_g);
        kernels().convert_adjacent(DType::F32, wide_g, y.dtype, out + i * step, elements);
      }
    });
    return result.release();
  }
  parallel(b.outer, kGrain / (b.n * b.inner) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
    const ptrdiff_t at = begin * step;
    dense_kernels().softmax_backward(Log, y.dtype, gp + at, yp + at, end - begin, b.n, b.inner, out + at);
  });
  return result.release();
}

}  // namespace

PyMethodDef kSoftmaxMethods[] = {
    long_kernel<softmax<false>>("softmax", "softmax(a, dim, dtype=None)"),
    long_kernel<softmax<true>>("log_softmax", "log_softmax(a, dim, dtype=None)"),
    long_kernel<softmax_backward<false>>("softmax_backward", "softmax_backward(g, y, dim): y is the softmax"),
    long_kernel<softmax_backward<true>>("log_softmax_backward", "log_softmax_backward(g, y, dim): y is the log_softmax"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace rushlight
