// Copies that put arrays together: cat and stack, their gradients, and clone.
#include "bindings/bindings.h"

#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace rushlight {
namespace {

constexpr Py_ssize_t kFew = 16;

// A list of arrays, seen from C++ without an allocation where they are few.
class Arrays {
 public:
  // 1 read, 0 something else is among them.
  int read(PyObject* list) {
    if (!PyList_Check(list) && !PyTuple_Check(list)) return 0;
    count = PySequence_Fast_GET_SIZE(list);
    if (count > kFew) {
      heap_.reset(new (std::nothrow) Array[static_cast<size_t>(count)]);
      if (!heap_) return 0;
      at = heap_.get();
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (!as_array(PySequence_Fast_GET_ITEM(list, i), at[i])) return 0;
    }
    return 1;
  }
  Array& operator[](Py_ssize_t i) { return at[i]; }
  Py_ssize_t count = 0;

 private:
  Array few_[kFew];
  std::unique_ptr<Array[]> heap_;
  Array* at = few_;
};

bool same_dtype(Arrays& arrays) {
  for (Py_ssize_t i = 1; i < arrays.count; ++i) {
    if (arrays[i].dtype != arrays[0].dtype) return false;
  }
  return true;
}

// Writes the arrays one after the other along `dim` of `result`; in a stack each is one entry of it.
bool join(Arrays& arrays, const Array& result, int dim, bool stack) {
  const ptrdiff_t item = PyArray_ITEMSIZE(result.array);
  npy_intp outer = 1, inner = item;
  for (int i = 0; i < dim; ++i) outer *= result.shape[i];
  for (int i = dim + 1; i < result.ndim; ++i) inner *= result.shape[i];
  const npy_intp row = result.shape[dim] * inner;
  npy_intp at = 0;
  for (Py_ssize_t k = 0; k < arrays.count; ++k) {
    const Array& a = arrays[k];
    const npy_intp length = stack ? inner : a.ndim == result.ndim ? a.shape[dim] * inner : 0;
    if (length == 0 || outer == 0) continue;
    char* to = result.data + at;
    if (PyArray_IS_C_CONTIGUOUS(a.array)) {
      ReleaseGil release(outer * length > kReleaseGilBytes);
      for (npy_intp i = 0; i < outer; ++i) std::memcpy(to + i * row, a.data + i * length, static_cast<size_t>(length));
    } else {
      // NumPy copies what lies otherwise in memory, into a view of the piece's place.
      npy_intp strides[NPY_MAXDIMS];
      for (int i = 0; i < a.ndim; ++i) strides[i] = result.strides[stack && i >= dim ? i + 1 : i];
      PyArray_Descr* descr = PyArray_DESCR(result.array);
      Py_INCREF(descr);
      Ref place(PyArray_NewFromDescr(&PyArray_Type, descr, a.ndim, a.shape, strides, to, NPY_ARRAY_WRITEABLE, nullptr));
      if (!place || PyArray_CopyInto(array_of(place), a.array) < 0) return false;
    }
    at += length;
  }
  return true;
}

// (list of arrays, dim). Empty vectors are skipped whatever the others' dimensions.
PyObject* cat(PyObject*, PyObject* const* args, Py_ssize_t n) {
  Arrays arrays;
  if (!check_count("cat", n, 2, 2)) return nullptr;
  if (!arrays.read(args[0])) return not_implemented();
  if (arrays.count == 0) return fail(PyExc_ValueError, "torch.cat(): expected a non-empty list of Tensors");
  Py_ssize_t first = -1;
  for (Py_ssize_t i = 0; i < arrays.count; ++i) {
    const Array& a = arrays[i];
    if (a.ndim == 0) {
      PyErr_Format(PyExc_RuntimeError, "zero-dimensional tensor (at position %zd) cannot be concatenated", i);
      return nullptr;
    }
    if (first < 0 && !(a.ndim == 1 && a.shape[0] == 0)) first = i;
  }
  const Array& model = arrays[first < 0 ? 0 : first];
  // Empty vectors are left out, whatever the dimension; where there is nothing else, so is the dimension.
  const int dim = first < 0 ? 0 : dim_argument(args[1], model.ndim);
  if (dim < 0) return nullptr;
  npy_intp shape[NPY_MAXDIMS];
  std::memcpy(shape, model.shape, sizeof(npy_intp) * static_cast<size_t>(model.ndim));
  shape[dim] = 0;
  for (Py_ssize_t i = 0; i < arrays.count; ++i) {
    const Array& a = arrays[i];
    if (a.ndim == 1 && a.shape[0] == 0) continue;
    if (a.ndim != model.ndim) {
      PyErr_Format(PyExc_RuntimeError, "Tensors must have same number of dimensions: got %d and %d", model.ndim, a.ndim);
      return nullptr;
    }
    for (int d = 0; d < model.ndim; ++d) {
      if (d == dim || a.shape[d] == model.shape[d]) continue;
      PyErr_Format(PyExc_RuntimeError,
                   "Sizes of tensors must match except in dimension %d. Expected size %zd but got size %zd for tensor number "
                   "%zd in the list.",
                   dim, model.shape[d], a.shape[d], i);
      return nullptr;
    }
    shape[dim] += a.shape[dim];
  }
  if (!same_dtype(arrays)) return not_implemented();
  Ref result = new_ref(model.dtype, model.ndim, shape);
  if (!result || !join(arrays, view_of(array_of(result)), dim, false)) return nullptr;
  return result.release();
}

// (list of arrays, dim): a new dimension, one entry an array
PyObject* stack(PyObject*, PyObject* const* args, Py_ssize_t n) {
  Arrays arrays;
  if (!check_count("stack", n, 2, 2)) return nullptr;
  if (!arrays.read(args[0])) return not_implemented();
  if (arrays.count == 0) return fail(PyExc_RuntimeError, "stack expects a non-empty TensorList");
  const Array& model = arrays[0];
  const int dim = dim_argument(args[1], model.ndim + 1);
  if (dim < 0) return nullptr;
  for (Py_ssize_t i = 1; i < arrays.count; ++i) {
    const Array& a = arrays[i];
    if (a.ndim == model.ndim && PyArray_CompareLists(a.shape, model.shape, a.ndim)) continue;
    return fail(PyExc_RuntimeError, "stack expects each tensor to be equal size, but got " + sizes_text(model.shape, model.ndim) +
                                        " at entry 0 and " + sizes_text(a.shape, a.ndim) + " at entry " + std::to_string(i));
  }
  if (!same_dtype(arrays)) return not_implemented();
  if (model.ndim == NPY_MAXDIMS) return fail(PyExc_RuntimeError, "a tensor has at most 64 dimensions");
  npy_intp shape[NPY_MAXDIMS];
  for (int i = 0, d = 0; i <= model.ndim; ++i) shape[i] = i == dim ? arrays.count : model.shape[d++];
  Ref result = new_ref(model.dtype, model.ndim + 1, shape);
  if (!result || !join(arrays, view_of(array_of(result)), dim, true)) return nullptr;
  return result.release();
}

// (g, dim, shapes) -> each joined array's piece of g, as views
PyObject* cat_backward(PyObject*, PyObject* const* args, Py_ssize_t n) {
  Array g;
  if (!check_count("cat_backward", n, 3, 3) || !as_array(args[0], g) || !PyTuple_Check(args[2])) {
    return PyErr_Occurred() ? nullptr : not_implemented();
  }
  const int dim = dim_argument(args[1], g.ndim);
  if (dim < 0) return nullptr;
  const Py_ssize_t count = PyTuple_GET_SIZE(args[2]);
  Ref pieces(PyTuple_New(count));
  if (!pieces) return nullptr;
  npy_intp shape[NPY_MAXDIMS], at = 0;
  std::memcpy(shape, g.shape, sizeof(npy_intp) * static_cast<size_t>(g.ndim));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* sizes = PyTuple_GET_ITEM(args[2], i);
    const bool skipped = PyTuple_GET_SIZE(sizes) != g.ndim;  // an empty vector among matrices
    const npy_intp size = skipped ? 0 : PyLong_AsSsize_t(PyTuple_GET_ITEM(sizes, dim));
    PyObject* piece;
    if (skipped) {
      piece = reinterpret_cast<PyObject*>(new_array(g.dtype, 1, &size));
    } else {
      shape[dim] = size;
      PyArray_Descr* descr = PyArray_DESCR(g.array);
      Py_INCREF(descr);
      piece = PyArray_NewFromDescr(&PyArray_Type, descr, g.ndim, shape, g.strides, g.data + at * g.strides[dim],
                                   PyArray_FLAGS(g.array) & NPY_ARRAY_WRITEABLE, nullptr);
      if (piece) Py_INCREF(g.array);
      if (piece && PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(piece), reinterpret_cast<PyObject*>(g.array)) < 0)
        Py_CLEAR(piece);
    }
    if (!piece) return nullptr;
    PyTuple_SET_ITEM(pieces.get(), i, piece);
    at += size;
  }
  return pieces.release();
}

// The dense strides that keep the order of an array's own, where some are 0: those dimensions stay where the shape has them.
void dense_strides(const Array& a, npy_intp* strides) {
  int order[NPY_MAXDIMS];  // fastest first
  for (int i = 0; i < a.ndim; ++i) order[i] = a.ndim - 1 - i;
  for (int i = 1; i < a.ndim; ++i) {
    int at = i;
    for (int below = i - 1; below >= 0; --below) {
      const npy_intp s = a.strides[order[below]], t = a.strides[order[at]];
      if (s == 0 || t == 0) continue;
      if (s < t) break;
      if (s > t || a.shape[order[below]] > a.shape[order[at]]) {
        std::swap(order[below], order[at]);
        at = below;
      }
    }
  }
  npy_intp step = PyArray_ITEMSIZE(a.array);
  for (int i = 0; i < a.ndim; ++i) {
    strides[order[i]] = step;
    step *= a.shape[order[i]];
  }
}

// (array, memory_format = None): a copy with the order of strides kept
PyObject* clone(PyObject*, PyObject* const* args, Py_ssize_t n) {
  Array a;
  if (!first_array("clone", args, n, 1, 2, a)) return no_array();
  if (n > 1 && args[1] != Py_None) return not_implemented();
  bool repeats = false;
  for (int i = 0; i < a.ndim; ++i) repeats |= a.strides[i] == 0 && a.shape[i] > 1;
  if (!repeats || a.size() == 0) return PyArray_NewCopy(a.array, NPY_KEEPORDER);
  npy_intp strides[NPY_MAXDIMS];
  dense_strides(a, strides);
  // Only its strides are looked at: NumPy orders the new array as they are.
  PyArray_Descr* descr = PyArray_DESCR(a.array);
  Py_INCREF(descr);
  Ref model(PyArray_NewFromDescr(&PyArray_Type, descr, a.ndim, a.shape, strides, a.data, 0, nullptr));
  Ref copy(model ? PyArray_NewLikeArray(array_of(model), NPY_KEEPORDER, nullptr, 0) : nullptr);
  if (!copy || PyArray_CopyInto(array_of(copy), a.array) < 0) return nullptr;
  return copy.release();
}

}  // namespace

PyMethodDef kJoinMethods[] = {
    fast_method("cat", cat, "cat(arrays, dim)"),
    fast_method("stack", stack, "stack(arrays, dim)"),
    fast_method("cat_backward", cat_backward, "cat_backward(g, dim, shapes): the pieces, as views"),
    fast_method("clone", clone, "clone(a): a copy that keeps the order of strides"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace rushlight
