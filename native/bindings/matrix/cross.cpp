// The vector product.
#include "bindings/kernel.h"

namespace rushlight {
namespace {

template <class T>
void cross_of(const T* a, const T* b, T* out, Py_ssize_t outer, Py_ssize_t inner) {
  for (Py_ssize_t o = 0; o < outer; ++o, a += 3 * inner, b += 3 * inner, out += 3 * inner) {
    for (Py_ssize_t i = 0; i < inner; ++i) {
      const T x = a[i], y = a[inner + i], z = a[2 * inner + i], u = b[i], v = b[inner + i], w = b[2 * inner + i];
      out[i] = y * w - z * v;
      out[inner + i] = z * u - x * w;
      out[2 * inner + i] = x * v - y * u;
    }
  }
}

Ref cross(const TensorInfo& a, const TensorInfo& b, Py_ssize_t along) {
  if (is_accelerated(a, b) || is_meta(a, b) || !a.is_float() || b.dtype != a.dtype || a.ndim != b.ndim || !a.ndim) return {};
  if (!same_sizes(a.ndim, a.shape, b.shape) || along < -a.ndim || along >= a.ndim) return {};
  const Py_ssize_t dim = along < 0 ? along + a.ndim : along;
  if (a.shape[dim] != 3) return {};
  Layout l(a.tensor);
  const Ref left = contiguous(a.tensor), right = contiguous(b.tensor);
  Ref result = new_ref(as_tensor(left)->dtype, l.ndim, l.shape, DeviceType::Cpu);
  Py_ssize_t outer = 1, inner = 1;
  for (int i = 0; i < dim; ++i) outer *= l.shape[i];
  for (int i = static_cast<int>(dim) + 1; i < l.ndim; ++i) inner *= l.shape[i];
  if (!same_shape(as_tensor(left), as_tensor(result)) || !same_shape(as_tensor(right), as_tensor(result))) return {};
  const DType dtype = as_tensor(result)->dtype;
  const char *x = data_of(left), *y = data_of(right);
  char* out = data_of(result);
  Unlocked unlocked(as_tensor(result)->nbytes() > kReleaseGilBytes, left, right, result);
  dtype == DType::F32 ? cross_of(elements<float>(x), elements<float>(y), elements<float>(out), outer, inner)
                      : cross_of(elements<double>(x), elements<double>(y), elements<double>(out), outer, inner);
  return result;
}

const KernelRows rows{
    layout_kernel<cross, "cross(a, b, dim)">(),
};

}  // namespace

}  // namespace rushlight
