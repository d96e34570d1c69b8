// The methods of Node over its saved values; node.cpp puts them in the type. Saving and unpacking as the core does them
// are declared in core.h.
#pragma once
#include "core/core.h"

namespace rushlight {

// Which slot `_saved_<name>` and `_raw_saved_<name>` mean; -1 for none.
int saved_index(const Node* n, const char* name);

// save(tensors, numbers): keeps values for a Function's backward. A number >= 0 says the tensor is that output of this node: it
// is then kept without its history, which would be a cycle.
PyObject* node_save(PyObject* self, PyObject* args);
PyObject* node_unpack_saved(PyObject* self, PyObject*);
PyObject* node_saved_index(PyObject* self, PyObject* name);
PyObject* node_unpack_one(PyObject* self, PyObject* index);
PyObject* node_pack_one(PyObject* self, PyObject* args);
PyObject* node_release(PyObject* self, PyObject*);

}  // namespace rushlight
