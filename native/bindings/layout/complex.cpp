// Complex numbers of two real tensors.
#include "bindings/kernel.h"

namespace rushlight {
namespace {

DType complex_of(DType t) {
  return t == DType::F32 ? DType::C64 : t == DType::F64 ? DType::C128 : t == DType::F16 ? DType::C32 : DType::Count;
}

template <class T>
void interleave(const char* a, const char* b, char* out, Py_ssize_t n) {
  const T *real = reinterpret_cast<const T*>(a), *imag = reinterpret_cast<const T*>(b);
  T* to = reinterpret_cast<T*>(out);
  parallel(n, 1 << 16, [=](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t i = begin; i < end; ++i) {
      to[2 * i] = real[i];
      to[2 * i + 1] = imag[i];
    }
  });
}

Ref complex_parts(const TensorInfo& real, const TensorInfo& imag) {
  const DType type = complex_of(real.dtype);
  if (type == DType::Count || imag.dtype != real.dtype || is_accelerated(real, imag)) return {};
  PyObject* operands[] = {as_object(real.tensor), as_object(imag.tensor)};
  int ndim;
  Py_ssize_t shape[kMaxDims];
  if (broadcast_shape(operands, 2, &ndim, shape) < 0) return {};
  Ref made = new_ref(type, ndim, shape, device_of(real, imag));
  if (!has_memory(made)) return made;
  const auto whole = [&](const TensorInfo& a) { return a.contiguous() && a.size() == as_tensor(made)->numel(); };
  if (real.is_float() && whole(real) && whole(imag)) {
    char* out = data_of(made);
    const Py_ssize_t n = as_tensor(made)->numel();
    Unlocked unlocked(2 * n * item_size(real.dtype) > kReleaseGilBytes, real, imag, made);
    real.dtype == DType::F32 ? interleave<float>(real.data, imag.data, out, n) : interleave<double>(real.data, imag.data, out, n);
    return made;
  }
  Py_ssize_t offset = 0;
  for (const TensorInfo* part : {&real, &imag}) {
    const Ref view = owned(new_view(as_tensor(made), part->dtype, ndim, shape, as_tensor(made)->strides(), offset));
    copy_values(view, part->tensor);
    offset += item_size(part->dtype);
  }
  return made;
}

const KernelRows rows{
    layout_kernel<complex_parts, "complex_parts(real, imag)">(),
};

}  // namespace

}  // namespace rushlight
