// Getters, setters and methods of Tensor that tensor.cpp puts in the type and other files hold.
#pragma once
#include "core/core.h"

namespace rushlight {

// ---- tensor_functions.cpp ----
int check_subclass(PyObject* cls);  // -1 with an exception where it is no class of tensors
// The same tensor as an instance of `cls`, which may be Tensor: an alias in the graph. nullptr with an exception.
PyObject* as_subclass(PyObject* tensor, PyTypeObject* cls);

// An argument as a tensor; nullptr with an exception where it is none.
Tensor* tensor_argument(PyObject* o);

// ---- leaf.cpp ----
PyObject* get_grad_fn(PyObject* self, void*);
PyObject* get_is_leaf(PyObject* self, void*);
PyObject* get_requires_grad(PyObject* self, void*);
int set_requires_grad(PyObject* self, PyObject* value, void*);
PyObject* method_requires_grad_(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* get_grad(PyObject* self, void*);
int set_grad(PyObject* self, PyObject* value, void*);
PyObject* get_grad_dtype(PyObject* self, void*);
int set_grad_dtype(PyObject* self, PyObject* value, void*);

// ---- to_python.cpp ----
PyObject* method_item(PyObject* self, PyObject*);
PyObject* method_numpy(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* method_array(PyObject* self, PyObject* args, PyObject* kwargs);
// The tensor whose memory may leave the library in the place of `self`, which `keep` then holds; nullptr with an exception.
Tensor* memory_of(PyObject* self, Ref* keep);
void add_conversion_slots(std::vector<PyType_Slot>* slots);

}  // namespace rushlight
