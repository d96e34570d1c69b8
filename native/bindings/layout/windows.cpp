// The sum of windows of a dimension, each at its place: what unfold()'s gradient is.
#include "bindings/kernel.h"

namespace rushlight {
namespace {

struct Windows {
  Py_ssize_t outer, count, inner, size, length, step;
};

// out (outer, length, inner) += windows (outer, count, inner, size), of `parts` numbers each.
template <class T, int kParts>
void add_windows(const T* in, const Windows& w, Py_ssize_t begin, Py_ssize_t end, T* out) {
  const Py_ssize_t row = w.inner * kParts;
  for (Py_ssize_t o = begin; o < end; o++)
    for (Py_ssize_t at = 0; at < w.count * w.inner; at++) {
      const T* from = in + (o * w.count * w.inner + at) * w.size * kParts;
      T* to = out + (o * w.length + at / w.inner * w.step) * row + at % w.inner * kParts;
      if (w.inner == 1) {
        for (Py_ssize_t k = 0; k < w.size * kParts; k++) to[k] += from[k];
      } else {
        for (Py_ssize_t k = 0; k < w.size; k++)
          for (int p = 0; p < kParts; p++) to[k * row + p] += from[k * kParts + p];
      }
    }
}

Ref unfold_backward(const TensorInfo& a, const Shape& shape, Py_ssize_t dimension, Py_ssize_t size, Py_ssize_t step) {
  if (!a.is_float_or_half() && !is_complex(a.dtype)) return {};
  // A number has no dimension, and one window; of several numbers the dimension is behind theirs.
  const bool alone = !shape.n || dimension == shape.n;
  const int dim = alone ? shape.n : normal_dim(dimension, shape.n);
  if (dim < 0 || a.ndim != shape.n + 1) return {};
  Windows w{1, alone ? 1 : a.shape[dim], 1, a.shape[a.ndim - 1], alone ? 1 : shape.at[dim], step};
  for (int i = 0; i < shape.n; i++) {
    if (i != dim && a.shape[i] != shape.at[i]) return {};
    if (i < dim) w.outer *= shape.at[i];
    if (i > dim) w.inner *= shape.at[i];
  }
  if (w.size != size || size < 0 || step < 1 || (w.count && (w.count - 1 > (w.length - size) / step || size > w.length))) return {};
  const DType type = computed_in(a.dtype);
  Ref out = zeros_ref(type, shape.n, shape.at, device_of(a));
  if (!has_memory(out) || !a.size()) return rounded(std::move(out), a.dtype);
  const Ref in = contiguous_as(a.tensor, type);
  const char* from = data_of(in);
  char* to = data_of(out);
  {
    const Unlocked unlocked(as_tensor(in)->nbytes() > kReleaseGilBytes, in, out);
    parallel_by(w.outer, w.count * w.inner * size, [&](Py_ssize_t begin, Py_ssize_t end) {
      const auto add = [&]<class T>(const T* x, T* y) {
        if (is_complex(type)) add_windows<T, 2>(x, w, begin, end, y);
        else add_windows<T, 1>(x, w, begin, end, y);
      };
      by_type(type == DType::C64 ? DType::F32 : type, add, from, to);
    });
  }
  return rounded(std::move(out), a.dtype);
}

const KernelRows kRows = {
    kernel<unfold_backward, "unfold_backward(input, shape, dimension, size, step)">(),
};

}  // namespace
}  // namespace rushlight
