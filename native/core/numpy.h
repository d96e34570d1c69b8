// The border to NumPy: the only header with its C API. A tensor is shown to NumPy as an ndarray over the same memory, which a pin keeps
// in place (storage.h); an ndarray becomes a tensor on the same memory or storage.
#pragma once
#include "core/layout.h"

#define PY_ARRAY_UNIQUE_SYMBOL rushlight_ARRAY_API
#ifndef RUSHLIGHT_IMPORT_ARRAY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

namespace rushlight {

inline PyArrayObject* as_array(PyObject* o) { return reinterpret_cast<PyArrayObject*>(o); }

// The element type of a NumPy array, or DType::Count where no tensor has it (big-endian, objects, strings, ...).
DType dtype_of(PyArrayObject* array);
// The NumPy descriptor of an element type: a borrowed reference, or nullptr with an exception set.
PyArray_Descr* descr_of(DType dtype);

}  // namespace rushlight
