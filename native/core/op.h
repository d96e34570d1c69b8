// Op: op.cpp (a call), out.cpp (a call with out=), arguments.cpp (reading arguments), make_op.cpp
// (the type, and how ops are made), public.cpp (an op under the name that programs see).
#pragma once
#include <cstring>
#include <string>

#include "core/core.h"

namespace rushlight {

// The interned string of a text. Python 3.13 interns a string in place and counts its references
// anew, without a lock: other threads may have it.
inline PyObject* interned(PyObject* string) {
  const char* text = PyUnicode_AsUTF8(string);
  return text ? PyUnicode_InternFromString(text) : nullptr;
}

inline const char* op_name(Op* op) { return PyUnicode_AsUTF8(op->name); }

// The objects at one of `op->tensor_params` in a call: the argument itself, or the elements of a
// list. `bind` has made a tuple of a program's list, so that the elements stay.
struct Items {
  PyObject* const* first;
  Py_ssize_t n;
  PyObject* const* begin() const { return first; }
  PyObject* const* end() const { return first + n; }
};
inline Items items_at(Op* op, PyObject* const* slots, int i) {
  return i == op->list_param ? Items{PySequence_Fast_ITEMS(slots[i]), PySequence_Fast_GET_SIZE(slots[i])} : Items{&slots[i], 1};
}
// Whether tensors may stand in a list, or all arguments be the items of one.
inline bool takes_lists(Op* op) { return op->list_param >= 0 || (op->has_var_args && op->n_positional == 1); }
// Calls f(tensor, parameter) for the tensors among the arguments of a call, until one returns false. Whether none did.
template <typename F>
inline bool for_each_tensor(Op* op, PyObject* const* slots, const F& f) {
  for (uint8_t i : op->tensor_params) {
    if (!slots[i]) continue;
    for (PyObject* o : items_at(op, slots, i)) {
      if (is_tensor(o) && !f(as_tensor(o), i)) return false;
    }
  }
  return true;
}

// The name that programs know; of a private overload (`_clamp`) the node's (`ClampBackward0`).
std::string public_name(Op* op);

// Stands for a tensor while a partial is traced.
inline bool is_symbol(PyObject* o) {
  return registry.symbol_type && PyType_IsSubtype(Py_TYPE(o), reinterpret_cast<PyTypeObject*>(registry.symbol_type));
}

// ---- arguments.cpp ----
// Objects that reading the arguments made: the tuple of variable arguments, the tuple of a list of
// tensors, and a list of the objects taken instead of arguments.
struct Bound {
  Ref var_args, tensors, instead;
};
// Fills `slots` from a call's arguments.
int bind(Op* op, PyObject* const* args, Py_ssize_t n, PyObject* kwnames, PyObject** slots, PyObject** out, Bound* owned);
// The place of the parameter that a keyword means, by NumPy's name too, among `count` of them; -1 where there is none.
template <typename NameOf>
int find_name(PyObject* keyword, int count, const NameOf& name_of) {
  constexpr const char* kAliases[][2] = {{"self", "input"}, {"axis", "dim"},         {"keepdims", "keepdim"},
                                         {"axes", "dims"},  {"x1", "input"},         {"x2", "other"},
                                         {"x", "input"},    {"indices", "sections"}, {"tensor_indices_or_sections", "sections"}};
  for (int i = 0; i < count; ++i) {
    if (name_of(i) == keyword) return i;
  }
  const char* text = PyUnicode_AsUTF8(keyword);
  if (!text) return -1;
  for (int i = 0; i < count; ++i) {
    if (!strcmp(PyUnicode_AsUTF8(name_of(i)), text)) return i;
  }
  for (const auto& alias : kAliases) {
    if (strcmp(alias[0], text)) continue;
    for (int i = 0; i < count; ++i) {
      const char* name = PyUnicode_AsUTF8(name_of(i));
      if (!strcmp(name, alias[1]) || (!strcmp(alias[1], "dims") && !strcmp(name, "dim"))) return i;
    }
  }
  return -1;
}
// Asks what a function takes, unless that is known. -1 with an exception.
int learn_takes(PyObject* function, Takes* takes);
void forget_takes(Takes* takes);
// Whether a function takes a value in the place of a parameter. A tensor or a NumPy value that stands for a number is replaced by
// that number, a Python type by the element type it stands for; what replaces it is kept in `bound`. -1 with an exception.
int conform(PyObject* function, const Takes::Row& row, PyObject** value, Bound* bound);
// Of the element `at` of sizes: `item` is no int; nullptr: it has more than 64 bits.
void raise_unpack(const char* function, const char* argument, Py_ssize_t at, PyObject* item);
void raise_unpack(PyObject* function, PyObject* name, Py_ssize_t at, PyObject* item);
// 0 where an op takes a type that is stored only; else -1 with an exception.
int check_stored(Op* op, DType type);
// -1 with an exception where tensors of 8 bits a float, which have type `common`, meet others.
int check_float8(PyObject* const* operands, int n, DType common);
void raise_misfit(PyObject* function, PyObject* name, int index, uint16_t kinds, PyObject* value);
// A failed call: made again where it has a form that torch had before; else nullptr, and where an argument has a type that the
// function does not take, the error says so in torch's words, with the name and the position that the program used
// (ops/table/arguments.py). Any other error stays as it is.
PyObject* explain(PyObject* function, bool method, PyObject* const* args, Py_ssize_t n, PyObject* kwnames);

// ---- op.cpp ----
// A call as a program writes it, in-place variants and out= included.
PyObject* bind_and_call(Op* op, PyObject* const* args, Py_ssize_t n, PyObject* kwnames);
extern const vectorcallfunc kOpVectorcall;  // what an Op's own call runs
// call_op(op, slots): the call that the levels were asked to answer, with other arguments.
PyObject* call_bound(PyObject*, PyObject* const* args, Py_ssize_t n);

// ---- out.cpp ----
PyObject* call_with_out(Op* op, PyObject* const* slots, PyObject* out);

// ---- public.cpp ----
// make_public(function, method, asks=0, native=None, remembers=False): see Public.
PyObject* make_public(PyObject*, PyObject* args);
PyObject* make_overridable(PyObject*, PyObject* args);
int init_public(PyObject* module);

}  // namespace rushlight
