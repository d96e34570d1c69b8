// What the files about Op share: op.cpp (a call), arguments.cpp (reading its arguments), make_op.cpp (the type, and how
// ops are made), public.cpp (an op under the name that programs see).
#pragma once
#include <string>

#include "core/core.h"

namespace rushlight {

inline const char* op_name(Op* op) { return PyUnicode_AsUTF8(op->name); }

// The name that programs know: of a private overload (`_clamp`) that of its node (`ClampBackward0`), as torch writes it.
std::string public_name(Op* op);

// Stands for a tensor while a partial is traced.
inline bool is_symbol(PyObject* o) {
  return registry.symbol_type && PyType_IsSubtype(Py_TYPE(o), reinterpret_cast<PyTypeObject*>(registry.symbol_type));
}

// ---- arguments.cpp ----
// What binding made: the tuple of variable arguments, and that of a list of tensors.
struct Bound {
  Ref var_args, tensors;
};
// Fills `slots` from a call's arguments.
int bind(Op* op, PyObject* const* args, Py_ssize_t n, PyObject* kwnames, PyObject** slots, PyObject** out, Bound* owned);
// -1 with torch's exception for an integer that 64 bits do not hold.
int check_width(PyObject* o);
// After a failed call: where an argument has a type that the function does not take, the error says so in torch's words, with
// the name and the position that the program used (ops/_arguments.py). Any other error stays as it is.
void explain(PyObject* function, bool method, PyObject* const* args, Py_ssize_t n, PyObject* kwnames);

// ---- op.cpp ----
// A call as a program writes it, in-place forms and out= included.
PyObject* bind_and_call(Op* op, PyObject* const* args, Py_ssize_t n, PyObject* kwnames);
PyObject* op_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames);
// call_op(op, slots): the call that watched_call was told of, with other arguments.
PyObject* call_bound(PyObject*, PyObject* const* args, Py_ssize_t n);

// ---- public.cpp ----
// make_public(function, method, asks=0): see Public.
PyObject* make_public(PyObject*, PyObject* args);
PyObject* make_overridable(PyObject*, PyObject* args);
PyObject* changed_public(PyObject*, PyObject* args);
int init_public(PyObject* module);

}  // namespace rushlight
