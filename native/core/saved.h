// The methods of Node over its saved values; node.cpp puts them in the type. Saving and unpacking as the core does them
// are declared in core.h.
#pragma once
#include <string>

#include "core/core.h"

namespace rushlight {

// The answer of `node.name()`: the class, except for a few nodes that torch names by the C++ class.
std::string full_name(const Node* n);
// The name torch gives a saved value, without "_saved_": `input` is `self` there and the result `result`, or one of several by
// its field or number. Empty: it has none.
std::string saved_name(const Node* n, const Op::Backward::Save& save);
// Which slot `_saved_<name>` and `_raw_saved_<name>` mean; -1 for none.
int saved_index(const Node* n, const char* name);
// Whether a value is a tensor for torch, and has a `_raw_saved_` name too.
bool saves_tensor(const Node* n, int at);
// The value of `_saved_<name>`: a new reference.
PyObject* saved_value(Node* n, int at);

// save(tensors, numbers): keeps values for a Function's backward. A number >= 0: the tensor is this
// output of the node, and is kept without history, which would be a cycle.
PyObject* node_save(PyObject* self, PyObject* args);
PyObject* node_unpack_saved(PyObject* self, PyObject*);
PyObject* node_unpack_one(PyObject* self, PyObject* index);
PyObject* node_pack_one(PyObject* self, PyObject* args);
// packed(index): (packed object, unpack hook) of a value that went through hooks, else None.
PyObject* node_packed(PyObject* self, PyObject* index);
PyObject* node_release(PyObject* self, PyObject*);

}  // namespace rushlight
