// The module rushlight._core.kernels, and what its bindings share: reading arguments, contiguous copies.
#include "bindings/bindings.h"

#include <cstring>

namespace rushlight {

bool check_count(const char* function, Py_ssize_t given, Py_ssize_t low, Py_ssize_t high) {
  if (given >= low && given <= high) return true;
  if (low == high)
    PyErr_Format(PyExc_TypeError, "%s() takes %zd positional arguments, got %zd", function, low, given);
  else
    PyErr_Format(PyExc_TypeError, "%s() takes %zd to %zd positional arguments, got %zd", function, low, high, given);
  return false;
}

Ref contiguous_as(PyArrayObject* array, DType dtype) {
  PyArray_Descr* descr = descr_of(dtype);
  if (!descr) return Ref();
  Py_INCREF(descr);
  return Ref(PyArray_FromArray(array, descr, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_FORCECAST |
                                                 NPY_ARRAY_ENSUREARRAY));
}

Ref new_zeros(DType dtype, int ndim, const npy_intp* shape) {
  Ref result = new_ref(dtype, ndim, shape);
  if (result) std::memset(PyArray_DATA(array_of(result)), 0, static_cast<size_t>(PyArray_NBYTES(array_of(result))));
  return result;
}

Ref held_items(PyObject* object, const char* otherwise) {
  if (PyTuple_Check(object)) return Ref::borrow(object);
  if (PyList_Check(object)) return Ref(PyList_AsTuple(object));
  Ref items(PySequence_Fast(object, otherwise));
  return Ref(items ? PySequence_Tuple(items.get()) : nullptr);
}

int normal_dim(Py_ssize_t dim, int ndim) {
  const Py_ssize_t n = ndim > 0 ? ndim : 1;
  if (dim < -n || dim >= n) {
    PyErr_Format(PyExc_IndexError, "Dimension out of range (expected to be in range of [%zd, %zd], but got %zd)", -n,
                 n - 1, dim);
    return -1;
  }
  return static_cast<int>(dim < 0 ? dim + n : dim);
}

int dim_argument(PyObject* object, int ndim) {
  const Py_ssize_t dim = PyNumber_AsSsize_t(object, PyExc_IndexError);
  if (dim == -1 && PyErr_Occurred()) return -1;
  return normal_dim(dim, ndim);
}

bool dims_argument(PyObject* object, int ndim, uint64_t& mask) {
  const uint64_t all = ndim >= 64 ? ~uint64_t{0} : (uint64_t{1} << ndim) - 1;
  if (object == Py_None) {
    mask = all;
    return true;
  }
  mask = 0;
  if (PyIndex_Check(object)) {
    const int dim = dim_argument(object, ndim);
    if (dim < 0) return false;
    mask = (uint64_t{1} << dim) & all;
    return true;
  }
  Ref items = held_items(object, "dim must be an int, a sequence of ints or None");
  if (!items) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); i++) {
    const int dim = dim_argument(PyTuple_GET_ITEM(items.get(), i), ndim);
    if (dim < 0) return false;
    const uint64_t bit = uint64_t{1} << dim;
    if (mask & bit) {
      PyErr_Format(PyExc_RuntimeError, "dim %d appears multiple times in the list of dims", dim);
      return false;
    }
    mask |= bit;
  }
  mask &= all;
  return true;
}

bool ints_argument(PyObject* object, const char* name, int n, npy_intp* out) {
  if (PyIndex_Check(object)) {
    const Py_ssize_t value = PyNumber_AsSsize_t(object, PyExc_OverflowError);
    if (value == -1 && PyErr_Occurred()) return false;
    for (int i = 0; i < n; i++) out[i] = value;
    return true;
  }
  Ref items = held_items(object, "expected an int or a sequence of ints");
  if (!items) return false;
  const Py_ssize_t length = PyTuple_GET_SIZE(items.get());
  if (length != n && length != 1) {
    PyErr_Format(PyExc_RuntimeError, "%s must have %d elements, got %zd", name, n, length);
    return false;
  }
  for (int i = 0; i < n; i++) {
    out[i] = PyNumber_AsSsize_t(PyTuple_GET_ITEM(items.get(), length == 1 ? 0 : i), PyExc_OverflowError);
    if (out[i] == -1 && PyErr_Occurred()) return false;
  }
  return true;
}

bool shape_argument(PyObject* object, npy_intp* shape, int& ndim) {
  if (PyIndex_Check(object)) {
    ndim = 1;
    if (!ints_argument(object, "size", 1, shape)) return false;
  } else {
    Ref items = held_items(object, "size must be a sequence of ints");
    if (!items) return false;
    const Py_ssize_t length = PyTuple_GET_SIZE(items.get());
    if (length > NPY_MAXDIMS) {
      PyErr_Format(PyExc_RuntimeError, "a tensor has at most %d dimensions, got %zd", NPY_MAXDIMS, length);
      return false;
    }
    ndim = static_cast<int>(length);
    for (int i = 0; i < ndim; i++) {
      shape[i] = PyNumber_AsSsize_t(PyTuple_GET_ITEM(items.get(), i), PyExc_OverflowError);
      if (shape[i] == -1 && PyErr_Occurred()) return false;
    }
  }
  for (int i = 0; i < ndim; i++)
    if (shape[i] < 0) {
      PyErr_Format(PyExc_RuntimeError, "Trying to create tensor with negative dimension %zd", shape[i]);
      return false;
    }
  return true;
}

bool double_argument(PyObject* object, double& out) {
  out = PyFloat_AsDouble(object);
  return out != -1.0 || !PyErr_Occurred();
}

bool bool_argument(PyObject* object, bool& out) {
  const int truth = PyObject_IsTrue(object);
  out = truth > 0;
  return truth >= 0;
}

PyObject* fail(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  return nullptr;
}

PyObject* make_kernels_module() {
  static PyModuleDef definition = {
      PyModuleDef_HEAD_INIT,
      "rushlight._core.kernels",
      "Compiled kernels over NumPy arrays. A function returns NotImplemented where it has no "
      "kernel for its arguments.",
      -1,
      nullptr,
      nullptr,
      nullptr,
      nullptr,
      nullptr};
  PyMethodDef* const kTables[] = {kReductionMethods, kSoftmaxMethods, kLossMethods,      kNormMethods,   kMatmulMethods,
                                  kConvMethods,      kPoolMethods,    kOptimizerMethods, kRandomMethods, kViewMethods,
                                  kJoinMethods,      kIndexingMethods};
  Ref module(PyModule_Create(&definition));
  if (!module) return nullptr;
  for (PyMethodDef* table : kTables)
    if (PyModule_AddFunctions(module.get(), table) < 0) return nullptr;
  if (PyModule_AddStringConstant(module.get(), "isa", dense_kernels().isa) < 0) return nullptr;
  return module.release();
}

}  // namespace rushlight
