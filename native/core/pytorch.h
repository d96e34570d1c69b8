// PyTorch in the same process: its tensors among the arguments of this library's functions, and the other way round.
//
// Note [Two libraries]: PyTorch's tensors have a `__torch_function__` that would send a call of this library back to itself for
// ever, and so have this library's in a call of PyTorch's. The gates (override.h) ask here before they ask such a class. A call
// of this library's takes PyTorch's tensors by DLPack, on the same memory; so does a call of PyTorch's that writes in place. Any
// other call of PyTorch's is refused: `a + b` with PyTorch's on the left then comes to this library's operator.
#pragma once
#include "core/python.h"

namespace rushlight {

// Whether a type, which is none of this library's, is that of a tensor of PyTorch.
bool is_pytorchs_tensor(PyTypeObject* type);
// Whether a function that `__torch_function__` is asked about is one of PyTorch's.
bool is_pytorchs_function(PyObject* func);

// The name of an object's class in an error; of PyTorch's, whose names are the same, with whose it is.
std::string class_name(PyObject* o);

// func(*args, **kwargs) with this library's tensors in the place of PyTorch's, also in lists, tuples and dicts.
PyObject* call_with_ours(PyObject* func, PyObject* args, PyObject* kwargs);
// The same of a function of PyTorch's: with its tensors where it writes in place, else a TypeError.
PyObject* call_of_pytorchs(PyObject* func, PyObject* args, PyObject* kwargs);

}  // namespace rushlight
