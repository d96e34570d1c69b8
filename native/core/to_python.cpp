// A tensor as what Python code wants in its place: a number, a truth value, an index, an ndarray.
#include <cstring>

#include "core/capture.h"
#include "core/accelerator.h"
#include "core/layout.h"
#include "core/lazy.h"
#include "core/override.h"
#include "core/tensor.h"
#include "kernels/copy.h"

namespace rushlight {

namespace {

template <class T>
T at(const char* p) {
  T value;
  memcpy(&value, p, sizeof value);
  return value;
}

// The element at p as a number.
PyObject* number_at(DType dtype, const char* p) {
  switch (dtype) {
    case DType::Bool: return PyBool_FromLong(*p != 0);
    case DType::U8: return PyLong_FromLong(at<uint8_t>(p));
    case DType::I8: return PyLong_FromLong(at<int8_t>(p));
    case DType::I16: return PyLong_FromLong(at<int16_t>(p));
    case DType::I32: return PyLong_FromLong(at<int32_t>(p));
    case DType::I64: return PyLong_FromLongLong(at<int64_t>(p));
    case DType::U16: return PyLong_FromLong(at<uint16_t>(p));
    case DType::U32: return PyLong_FromUnsignedLong(at<uint32_t>(p));
    case DType::U64: return PyLong_FromUnsignedLongLong(at<uint64_t>(p));
    case DType::F32: return PyFloat_FromDouble(at<float>(p));
    case DType::F64: return PyFloat_FromDouble(at<double>(p));
    case DType::C64: return PyComplex_FromDoubles(at<float>(p), at<float>(p + 4));
    case DType::C128: return PyComplex_FromDoubles(at<double>(p), at<double>(p + 8));
    default: break;
  }
  const Py_ssize_t none[1] = {};
  float wide[2];
  const bool pair = dtype == DType::C32;
  copy_strided(pair ? DType::C64 : DType::F32, reinterpret_cast<char*>(wide), none, dtype, p, none, 0, none);
  return pair ? PyComplex_FromDoubles(wide[0], wide[1]) : PyFloat_FromDouble(wide[0]);
}

// The tensor's values in memory here.
Owned<Tensor> values_here(Tensor* t) {
  const Owned<Tensor> here(is_accelerator(t->device()) ? copy_to(t, DeviceType::Cpu) : as_tensor(Py_NewRef(as_object(t))));
  if (!here) return {};
  here->flags |= t->flags & kLazy;
  return Owned<Tensor>(values_of(here.get()));
}

PyObject* scalar_of(Tensor* shown) {
  if (shown->numel() != 1) {
    PyErr_Format(PyExc_RuntimeError, "a Tensor with %zd elements cannot be converted to Scalar", shown->numel());
    return nullptr;
  }
  if (shown->device() == DeviceType::Meta) {
    PyErr_SetString(PyExc_RuntimeError, "Tensor.item() cannot be called on meta tensors");
    return nullptr;
  }
  const Owned<Tensor> t(values_here(shown));
  if (t && recording() && !record_truth(t.get()))
    end_capture("reads a value of a tensor (item(), a branch on it, a number made of it; detach() keeps it a tensor)");
  return t ? number_at(t->dtype, t->data()) : nullptr;
}

// An array over the same memory for programs, which may set shape and flags: the tensor's own array
// is another. The program knows the address from now on.
PyObject* exported(Tensor* t) {
  if (t->flags & kElsewhere) {
    PyErr_Format(PyExc_TypeError,
                 "can't convert %s device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
                 device_name(t->device()));
    return nullptr;
  }
  t->storage()->flags |= Storage::kFixed;
  return new_array_of(t);
}

// `type`: what a complex number that is not real is no value of.
PyObject* as_number(PyObject* self, PyObject* (*convert)(PyObject*), const char* type) {
  Tensor* t = as_tensor(self);
  if (t->numel() != 1) {
    PyErr_SetString(PyExc_ValueError, "only one element tensors can be converted to Python scalars");
    return nullptr;
  }
  if (requires_grad(t) && grad_enabled()) {
    if (warn_program("Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                     "Consider using tensor.detach() first.") < 0) {
      return nullptr;
    }
  }
  Ref value(method_item(self, nullptr));
  if (value && PyComplex_Check(value.get())) {
    const Py_complex z = PyComplex_AsCComplex(value.get());
    if (z.imag != 0) {
      PyErr_Format(PyExc_RuntimeError,
                   "value cannot be converted to type %s without overflow: it is %R. Take .real or abs() of it.", type,
                   value.get());
      return nullptr;
    }
    value = Ref(PyFloat_FromDouble(z.real));
  }
  return value ? convert(value.get()) : nullptr;
}

}  // namespace

PyObject* method_item(PyObject* self, PyObject*) {
  const int wrapped = is_wrapped(as_tensor(self));
  if (wrapped < 0) return nullptr;
  if (wrapped) return ask_levels(asked::item, self);
  return scalar_of(as_tensor(self));
}

Tensor* memory_of(PyObject* self, Ref* keep) {
  const int wrapped = is_wrapped(as_tensor(self));
  if (wrapped < 0) return nullptr;
  if (!wrapped) return as_tensor(self);
  *keep = Ref(ask_levels(asked::memory, self));
  return *keep ? as_tensor(keep->get()) : nullptr;
}

PyObject* method_numpy(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"force", nullptr};
  int force = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$p:numpy", const_cast<char**>(names), &force)) return nullptr;
  Ref held;
  Tensor* t = memory_of(self, &held);
  if (!t) return nullptr;
  if (!force && requires_grad(t) && grad_enabled()) {
    PyErr_SetString(PyExc_RuntimeError, "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
    return nullptr;
  }
  if (!force && t->flags & kLazy) {
    const bool conj = t->flags & kConjBit;
    PyErr_Format(PyExc_RuntimeError, "Can't call numpy() on Tensor that has %s bit set. Use tensor.resolve_%s().numpy() instead.",
                 conj ? "conjugate" : "negative", conj ? "conj" : "neg");
    return nullptr;
  }
  if ((t->dtype == DType::BF16 || stored_only(t->dtype)) && !force) {
    PyErr_Format(PyExc_TypeError, "Got unsupported ScalarType %s", scalar_name(t->dtype));
    return nullptr;
  }
  const Owned<Tensor> values(values_of(t));
  if (!values || !force || !is_accelerator(values->device())) return values ? exported(values.get()) : nullptr;
  const Owned<Tensor> here(copy_to(values.get(), DeviceType::Cpu));
  return here ? exported(here.get()) : nullptr;
}

PyObject* method_array(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"dtype", "copy", nullptr};
  PyObject* dtype = Py_None;
  PyObject* copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", const_cast<char**>(names), &dtype, &copy)) return nullptr;
  Ref none(PyTuple_New(0));
  if (!none) return nullptr;
  Ref array(method_numpy(self, none.get(), nullptr));
  if (!array || (dtype == Py_None && copy != Py_True)) return array.release();
  if (dtype == Py_None) return PyObject_CallMethod(array.get(), "copy", nullptr);
  Ref kw(Py_BuildValue("{s:O}", "copy", copy == Py_True ? Py_True : Py_False));
  Ref method(PyObject_GetAttrString(array.get(), "astype"));
  Ref arguments(PyTuple_Pack(1, dtype));
  if (!kw || !method || !arguments) return nullptr;
  return PyObject_Call(method.get(), arguments.get(), kw.get());
}

namespace {

int tensor_bool(PyObject* self) {
  Tensor* t = as_tensor(self);
  const int wrapped = is_wrapped(t);
  if (wrapped < 0) return -1;
  if (wrapped) {
    Ref r(ask_levels(asked::truth, self));
    return r ? PyObject_IsTrue(r.get()) : -1;
  }
  const Py_ssize_t n = t->numel();
  if (n != 1) {
    PyErr_SetString(PyExc_RuntimeError, n ? "Boolean value of Tensor with more than one value is ambiguous"
                                          : "Boolean value of Tensor with no values is ambiguous");
    return -1;
  }
  Ref value(scalar_of(t));
  return value ? PyObject_IsTrue(value.get()) : -1;
}

PyObject* tensor_float(PyObject* self) { return as_number(self, PyNumber_Float, "double"); }
PyObject* tensor_int(PyObject* self) { return as_number(self, PyNumber_Long, "int64_t"); }
PyObject* tensor_index(PyObject* self) {
  Tensor* t = as_tensor(self);
  if (is_differentiable(t->dtype) || t->numel() != 1) {
    PyErr_SetString(PyExc_TypeError, "only integer tensors of a single element can be converted to an index");
    return nullptr;
  }
  Ref value(method_item(self, nullptr));
  return value ? PyNumber_Long(value.get()) : nullptr;
}

}  // namespace

void add_conversion_slots(std::vector<PyType_Slot>* slots) {
  const PyType_Slot own[] = {
      {Py_nb_bool, slot_of<gated_truth<"__bool__", tensor_bool>>()},
      {Py_nb_float, slot_of<gated_unary<"__float__", tensor_float>>()},
      {Py_nb_int, slot_of<gated_unary<"__int__", tensor_int>>()},
      {Py_nb_index, slot_of<gated_unary<"__index__", tensor_index>>()},
  };
  slots->insert(slots->end(), std::begin(own), std::end(own));
}

namespace {

template <class F>
PyObject* nested(const Layout& l, int dim, const char* p, const F& object) {
  if (dim == l.ndim) return object(p);
  const Py_ssize_t n = l.shape[dim];
  Ref list(PyList_New(n));
  for (Py_ssize_t i = 0; list && i < n; ++i, p += l.strides[dim]) {
    PyObject* item = nested(l, dim + 1, p, object);
    if (!item) return nullptr;
    PyList_SET_ITEM(list.get(), i, item);
  }
  return list.release();
}

// Appends the elements that a summary shows; false with an exception.
bool append_shown(const Layout& l, int dim, const char* p, Py_ssize_t edge, DType dtype, PyObject* list) {
  if (dim == l.ndim) {
    const Ref number(number_at(dtype, p));
    return number && PyList_Append(list, number.get()) == 0;
  }
  const Py_ssize_t n = l.shape[dim];
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (edge >= 0 && i == edge && n > 2 * edge) i = n - edge;
    if (i < n && !append_shown(l, dim + 1, p + i * l.strides[dim], edge, dtype, list)) return false;
  }
  return true;
}

}  // namespace

PyObject* to_list(PyObject*, PyObject* o) {
  if (!is_tensor(o) || as_tensor(o)->flags & kNotPlain) Py_RETURN_NOTIMPLEMENTED;
  ends_capture("reads the values of a tensor (tolist())");
  const Layout l(as_tensor(o));
  Pinned pinned;
  pinned.take(as_tensor(o)->storage());
  const char* p = as_tensor(o)->data();
  const DType dtype = as_tensor(o)->dtype;
  if (dtype == DType::F32) return nested(l, 0, p, [](const char* at_) { return PyFloat_FromDouble(at<float>(at_)); });
  return nested(l, 0, p, [dtype](const char* at_) { return number_at(dtype, at_); });
}

// summary(tensor, edge): in one list the elements that a summary shows, of each dimension longer than 2 * edge that many from either
// end; all where edge is negative.
PyObject* summary_of(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 2 || !is_tensor(args[0])) {
    PyErr_SetString(PyExc_TypeError, "summary(tensor, edge): a tensor and an int");
    return nullptr;
  }
  const Py_ssize_t edge = PyNumber_AsSsize_t(args[1], nullptr);
  if (edge == -1 && PyErr_Occurred()) return nullptr;
  ends_capture("reads the values of a tensor");
  Ref held;
  Tensor* memory = memory_of(args[0], &held);
  const Owned<Tensor> t(memory ? values_here(memory) : Owned<Tensor>());
  Ref list(t ? PyList_New(0) : nullptr);
  if (!list) return nullptr;
  const Layout l(t.get());
  Pinned pinned;
  pinned.take(t->storage());
  return append_shown(l, 0, t->data(), edge, t->dtype, list.get()) ? list.release() : nullptr;
}

}  // namespace rushlight
