// softmax and log_softmax along a dimension, and their gradients.
#include "bindings/kernel.h"

namespace rushlight {
namespace {

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

struct Rows {
  DType type;
  Blocks blocks;
};
template <bool Log>
bool run_softmax(const void* fixed, char* const* at) {
  const auto& [type, b] = *static_cast<const Rows*>(fixed);
  dense_kernels().softmax(Log, type, at[0], b.outer, b.n, b.inner, false, at[1]);
  return true;
}
template <bool Log>
bool run_softmax_backward(const void* fixed, char* const* at) {
  const auto& [type, b] = *static_cast<const Rows*>(fixed);
  dense_kernels().softmax_backward(Log, type, at[0], at[1], b.outer, b.n, b.inner, at[2]);
  return true;
}

template <bool Log>
Ref softmax(const TensorInfo& a, Dim dim, OnlyNone) {
  const Blocks b = blocks_of(a, dim);
  const bool half = is_half(a.dtype);
  if (half && b.n * b.inner > kBuffer) {
    const Ref wide = contiguous_as(a.tensor, DType::F32), result = softmax<Log>(info_of(wide), dim, {});
    return result ? contiguous_as(as_tensor(result), a.dtype) : Ref();
  }
  if (!half && !a.is_float()) return {};
  Ref in = contiguous(a.tensor);
  Ref result = new_ref(a.dtype, a.ndim, a.shape, device_of(a));
  const Py_ssize_t size = as_tensor(result)->numel();
  if (!has_memory(result) || size == 0) return result;
  const ptrdiff_t step = b.n * b.inner * item_size(a.dtype);
  const char* x = data_of(in);
  char* y = data_of(result);
  if (half) {
    Unlocked unlocked(size * item_size(a.dtype) > kReleaseGilBytes, in, result);
    parallel_by(b.outer, b.n * b.inner, [&](ptrdiff_t begin, ptrdiff_t end) {
      alignas(64) float buffer[kBuffer];
      const ptrdiff_t most = kBuffer / (b.n * b.inner);
      for (ptrdiff_t i = begin; i < end; i += most) {
        const ptrdiff_t count = end - i < most ? end - i : most;
        kernels().convert_adjacent(a.dtype, x + i * step, DType::F32, buffer, count * b.n * b.inner);
        dense_kernels().softmax(Log, DType::F32, buffer, count, b.n, b.inner, false, buffer);
        kernels().convert_adjacent(DType::F32, buffer, a.dtype, y + i * step, count * b.n * b.inner);
      }
    });
    return result;
  }
  if (size <= kThreadElements) {
    tell(run_softmax<Log>, Rows{a.dtype, b}, {{as_tensor(in), x}, {as_tensor(result), y}});
    dense_kernels().softmax(Log, a.dtype, x, b.outer, b.n, b.inner, false, y);
    return result;
  }
  Unlocked unlocked(size * item_size(a.dtype) > kReleaseGilBytes, in, result);
  const bool large = size * item_size(a.dtype) >= kLargeResult;
  parallel_by(b.outer, b.n * b.inner, [&](ptrdiff_t begin, ptrdiff_t end) {
    dense_kernels().softmax(Log, a.dtype, x + begin * step, end - begin, b.n, b.inner, large, y + begin * step);
  });
  return result;
}

template <bool Log>
Ref softmax_backward(const TensorInfo& g, const TensorInfo& y, Dim dim) {
  if (g.dtype != y.dtype) return {};
  const Blocks b = blocks_of(y, dim);
  const bool half = is_half(y.dtype) && b.n * b.inner <= kBuffer;
  if (is_half(y.dtype) && !half) {  // rounded once, not at every step of the rule
    Ref gw = contiguous_as(g.tensor, DType::F32), yw = contiguous_as(y.tensor, DType::F32);
    const Ref result = softmax_backward<Log>(info_of(gw), info_of(yw), dim);
    return result ? contiguous_as(as_tensor(result), y.dtype) : Ref();
  }
  if (!half && !y.is_float()) return {};
  if (!same_shape(g.tensor, y.tensor))
    return fail(PyExc_ValueError, "%ssoftmax_backward(): the gradient and the output differ in shape", Log ? "log_" : "");
  Ref gc = contiguous(g.tensor), yc = contiguous(y.tensor);
  Ref result = new_ref(y.dtype, y.ndim, y.shape, device_of(g, y));
  const Py_ssize_t size = as_tensor(result)->numel();
  if (!has_memory(result) || size == 0) return result;
  const ptrdiff_t step = b.n * b.inner * item_size(y.dtype);
  const char* gp = data_of(gc);
  const char* yp = data_of(yc);
  char* out = data_of(result);
  Unlocked unlocked(size * item_size(y.dtype) > kReleaseGilBytes, gc, yc, result);
  if (half) {
    parallel_by(b.outer, b.n * b.inner, [&](ptrdiff_t begin, ptrdiff_t end) {
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
    return result;
  }
  if (size <= kThreadElements) {
    tell(run_softmax_backward<Log>, Rows{y.dtype, b}, {{as_tensor(gc), gp}, {as_tensor(yc), yp}, {as_tensor(result), out}});
  }
  parallel_by(b.outer, b.n * b.inner, [&](ptrdiff_t begin, ptrdiff_t end) {
    const ptrdiff_t at = begin * step;
    dense_kernels().softmax_backward(Log, y.dtype, gp + at, yp + at, end - begin, b.n, b.inner, out + at);
  });
  return result;
}

const KernelRows rows{
    long_kernel<softmax<false>, "softmax(a, dim, dtype=None)">(),
    long_kernel<softmax<true>, "log_softmax(a, dim, dtype=None)">(),
    long_kernel<softmax_backward<false>, "softmax_backward(g, y, dim): y is the softmax">(),
    long_kernel<softmax_backward<true>, "log_softmax_backward(g, y, dim): y is the log_softmax">(),
};

}  // namespace
}  // namespace rushlight
