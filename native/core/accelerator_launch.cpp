// The functions that `_kernels` calls for every launch: layouts, numbers, results and the launch itself.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/accelerator.h"
#include "core/accelerator_given.h"
#include "core/accelerator_repeats.h"
#include "core/guard.h"
#include "core/layout.h"
#include "core/tensor.h"

namespace rushlight {

namespace {

// launch(kernel, items, group, arguments)
PyObject* launch(PyObject*, PyObject* const* args, Py_ssize_t n_args) {
  if (n_args != 4 || !PyTuple_Check(args[3])) {
    PyErr_SetString(PyExc_TypeError, "accelerator_launch(kernel, items, group, arguments)");
    return nullptr;
  }
  const int kernel = static_cast<int>(PyLong_AsLong(args[0]));
  const Py_ssize_t items = PyLong_AsSsize_t(args[1]), group = PyLong_AsSsize_t(args[2]);
  Given given;
  if (PyErr_Occurred() || !given.read(args[3])) return nullptr;
  repeats::note_launch(kernel, items, group, args[3]);
  devices::launch(kernel, static_cast<size_t>(items), static_cast<size_t>(group), given.arguments);
  Py_RETURN_NONE;
}

// takes(*values): whether all are tensors on one accelerator, of element types that kernels read.
PyObject* takes(PyObject*, PyObject* const* args, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!is_tensor(args[i])) Py_RETURN_FALSE;
    const Tensor* t = as_tensor(args[i]);
    if (!(t->flags & kAccelerator) || t->dtype > DType::F64 || t->device() != as_tensor(args[0])->device()) Py_RETURN_FALSE;
  }
  return PyBool_FromLong(n > 0);
}

// Up to kMaxDims integers of a sequence; -1 with an exception.
int integers_of(PyObject* o, int64_t* values) {
  const Ref items(PySequence_Tuple(o));
  if (!items) return -1;
  const Py_ssize_t n = PyTuple_GET_SIZE(items.get());
  if (n > kMaxDims) {
    PyErr_SetString(PyExc_ValueError, "layout(): too many dimensions");
    return -1;
  }
  for (Py_ssize_t i = 0; i < n; ++i) {
    values[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(items.get(), i));
    if (values[i] == -1 && PyErr_Occurred()) return -1;
  }
  return static_cast<int>(n);
}

// layout(tensor, sizes=None, strides=None): see `layout` of _launch.py.
PyObject* layout(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n < 1 || n > 3 || !is_tensor(args[0])) {
    PyErr_SetString(PyExc_TypeError, "accelerator_layout(tensor, sizes=None, strides=None)");
    return nullptr;
  }
  const Tensor* t = as_tensor(args[0]);
  int64_t sizes[kMaxDims], strides[kMaxDims];
  int ndim = t->ndim(), n_strides = ndim;
  const int64_t item = t->item();
  if (n > 1 && args[1] != Py_None) {
    if ((ndim = integers_of(args[1], sizes)) < 0) return nullptr;
  } else {
    std::copy_n(t->sizes(), ndim, sizes);
  }
  if (n > 2 && args[2] != Py_None) {
    if ((n_strides = integers_of(args[2], strides)) < 0) return nullptr;
    for (int d = 0; d < n_strides; ++d) strides[d] *= item;
  } else {
    std::copy_n(t->strides(), n_strides, strides);
  }
  if (ndim != n_strides) {
    PyErr_SetString(PyExc_ValueError, "layout(): a size has one stride");
    return nullptr;
  }
  shared::Layout made{};
  for (int d = 0; d < ndim; ++d) {
    if (sizes[d] == 1) continue;
    const bool joined = made.ndim && made.strides[made.ndim - 1] == strides[d] * sizes[d];
    if (!joined && made.ndim == shared::DIMS) Py_RETURN_NONE;
    if (!joined) made.sizes[made.ndim++] = 1;
    made.sizes[made.ndim - 1] *= sizes[d];
    made.strides[made.ndim - 1] = strides[d];
  }
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(&made), sizeof made);
}

// number(value, tensor): its bytes in the type that elements of the tensor are computed in.
PyObject* number(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 2 || !is_tensor(args[1])) {
    PyErr_SetString(PyExc_TypeError, "accelerator_number(value, tensor)");
    return nullptr;
  }
  const auto bytes = [](auto value) { return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(&value), sizeof value); };
  const DType dtype = as_tensor(args[1])->dtype;
  if (!is_floating(dtype)) {
    const Ref whole(PyNumber_Long(args[0]));
    const int64_t value = whole ? PyLong_AsLongLong(whole.get()) : -1;
    return value == -1 && PyErr_Occurred() ? nullptr : bytes(value);
  }
  const double value = PyFloat_AsDouble(args[0]);
  if (value == -1 && PyErr_Occurred()) return nullptr;
  return dtype == DType::F64 ? bytes(value) : bytes(static_cast<float>(value));
}

// spans(tensor): strides in elements; a dimension of size 1 has 0, since it may be spread.
PyObject* spans(PyObject*, PyObject* o) {
  if (!is_tensor(o)) {
    PyErr_SetString(PyExc_TypeError, "accelerator_spans(tensor)");
    return nullptr;
  }
  const Tensor* t = as_tensor(o);
  Ref made(PyTuple_New(t->ndim()));
  for (int d = 0; made && d < t->ndim(); ++d) {
    PyObject* stride = PyLong_FromSsize_t(t->size(d) == 1 ? 0 : t->stride(d) / t->item());
    if (!stride) return nullptr;
    PyTuple_SET_ITEM(made.get(), d, stride);
  }
  return made.release();
}

// empty(sizes, like, code): contiguous, on the device of `like`; code: of the dtype.
PyObject* empty(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 3 || !is_tensor(args[1])) {
    PyErr_SetString(PyExc_TypeError, "accelerator_empty(sizes, like, code)");
    return nullptr;
  }
  int64_t sizes[kMaxDims];
  const int ndim = integers_of(args[0], sizes);
  const long code = ndim < 0 ? -1 : PyLong_AsLong(args[2]);
  if (PyErr_Occurred()) return nullptr;
  if (code < 0 || code >= static_cast<long>(DType::Count) || std::any_of(sizes, sizes + ndim, [](int64_t s) { return s < 0; })) {
    PyErr_SetString(PyExc_ValueError, "accelerator_empty(): a size is negative, or there is no such dtype");
    return nullptr;
  }
  Py_ssize_t shape[kMaxDims];
  std::copy_n(sizes, ndim, shape);
  PyObject* made = as_object(new_tensor(static_cast<DType>(code), ndim, shape, as_tensor(args[1])->device()));
  repeats::note_made(made);
  return made;
}

// Each tensor as one of the same layout on another device, also in lists and tuples; what is none as it is.
PyObject* moved(PyObject* o, DeviceType device) {
  if (is_tensor(o)) {
    const Tensor* t = as_tensor(o);
    return as_object(new_strided(t->dtype, t->ndim(), t->sizes(), t->strides(), device));
  }
  if (!PyTuple_CheckExact(o) && !PyList_CheckExact(o)) return Py_NewRef(o);
  const Ref items(PySequence_Tuple(o));
  const Py_ssize_t n = items ? PyTuple_GET_SIZE(items.get()) : 0;
  Ref made(items ? PyTuple_New(n) : nullptr);
  for (Py_ssize_t i = 0; made && i < n; ++i) {
    PyObject* item = moved(PyTuple_GET_ITEM(items.get(), i), device);
    if (!item) return nullptr;
    PyTuple_SET_ITEM(made.get(), i, item);
  }
  return made && PyList_CheckExact(o) ? PySequence_List(made.get()) : made.release();
}

// The device of the first tensor, also in lists; Cpu where there is none.
DeviceType first_device(PyObject* const* args, Py_ssize_t n) {
  DeviceType found = DeviceType::Cpu;
  for (Py_ssize_t i = 0; i < n && found == DeviceType::Cpu; ++i) {
    if (is_tensor(args[i])) {
      found = as_tensor(args[i])->device();
    } else if (PyList_CheckExact(args[i]) || PyTuple_CheckExact(args[i])) {
      found = first_device(PySequence_Fast_ITEMS(args[i]), PySequence_Fast_GET_SIZE(args[i]));
    }
  }
  return found;
}

// made(function, *arguments): see `made` of _launch.py.
PyObject* make_results(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const DeviceType device = n > 1 ? first_device(args + 1, n - 1) : DeviceType::Cpu;
  if (!is_accelerator(device)) {
    PyErr_SetString(PyExc_TypeError, "accelerator_made(function, *arguments): no tensor is on an accelerator");
    return nullptr;
  }
  std::vector<Ref> held;
  std::vector<PyObject*> given;
  held.reserve(static_cast<size_t>(n));
  given.reserve(static_cast<size_t>(n));
  for (Py_ssize_t i = 1; i < n; ++i) {
    held.emplace_back(moved(args[i], DeviceType::Meta));
    if (!held.back()) return nullptr;
    given.push_back(held.back().get());
  }
  const Ref result(PyObject_Vectorcall(args[0], given.data(), given.size(), nullptr));
  PyObject* made = result ? moved(result.get(), device) : nullptr;
  repeats::note_made(made);
  return made;
}

}  // namespace

PyMethodDef kAcceleratorLaunchFunctions[] = {
    {"accelerator_launch", method_of<launch>(), METH_FASTCALL, "Queues a kernel."},
    {"accelerator_takes", method_of<takes>(), METH_FASTCALL, "Whether all are tensors on one accelerator that kernels read."},
    {"accelerator_layout", method_of<layout>(), METH_FASTCALL, "A Layout for a kernel; None of too many dimensions."},
    {"accelerator_number", method_of<number>(), METH_FASTCALL, "A number in the type that a tensor is computed in."},
    {"accelerator_spans", method_of<spans>(), METH_O, "Strides in elements, 0 where the size is 1."},
    {"accelerator_empty", method_of<empty>(), METH_FASTCALL, "A contiguous tensor on the device of another."},
    {"accelerator_made", method_of<make_results>(), METH_FASTCALL, "What a kernel of the CPU would give, without its values."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rushlight
