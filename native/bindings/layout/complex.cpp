// Complex numbers of two real tensors, and views between complex numbers and pairs of real ones.
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
  const bool alike = real.ndim == ndim && same_sizes(ndim, real.shape, shape);
  Ref made = alike ? owned(new_like(real.tensor, type)) : new_ref(type, ndim, shape, device_of(real, imag));
  if (!has_memory(made)) return made;
  const auto whole = [&](const TensorInfo& a) {
    bool as_made = a.ndim == ndim && same_sizes(ndim, a.shape, shape) && a.tensor->is_aligned();
    for (int d = 0; as_made && d < ndim; ++d) as_made = shape[d] == 1 || 2 * a.strides[d] == as_tensor(made)->stride(d);
    return as_made;
  };
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

Ref view_as_real(const TensorInfo& a) {
  DType real = DType::Count;
  for (DType t : {DType::F16, DType::F32, DType::F64}) real = complex_of(t) == a.dtype ? t : real;
  if (real == DType::Count) return fail(PyExc_RuntimeError, "view_as_real is only supported for complex tensors");
  check_room(a.ndim);
  Layout l(a.tensor);
  l.add(2, item_size(real));
  return owned(new_view(a.tensor, real, l.ndim, l.shape, l.strides, 0));
}

Ref view_as_complex(const TensorInfo& a) {
  const DType type = complex_of(a.dtype);
  if (type == DType::Count)
    return fail(PyExc_RuntimeError,
                "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: %s",
                scalar_name(a.dtype));
  const int last = a.ndim - 1;
  if (last < 0) return fail(PyExc_RuntimeError, "Input tensor must have one or more dimensions");
  if (a.shape[last] != 2) return fail(PyExc_RuntimeError, "Tensor must have a last dimension of size 2");
  const Py_ssize_t item = a.tensor->item();
  if (a.strides[last] != item) return fail(PyExc_RuntimeError, "Tensor must have a last dimension with stride 1");
  if (std::any_of(a.strides, a.strides + last, [item](Py_ssize_t s) { return s % (2 * item); }))
    return fail(PyExc_RuntimeError, "Tensor must have a stride divisible by 2 for all but last dimension");
  if (a.tensor->offset() % (2 * item)) return fail(PyExc_RuntimeError, "Tensor must have a storage_offset divisible by 2");
  return owned(new_view(a.tensor, type, last, a.shape, a.strides, 0));
}

const KernelRows rows{
    layout_kernel<view_as_real, "view_as_real(a)">(),
    layout_kernel<view_as_complex, "view_as_complex(a)">(),
    layout_kernel<complex_parts, "complex_parts(real, imag)">(),
};

}  // namespace

}  // namespace rushlight
