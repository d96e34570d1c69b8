// Op: one entry of the op table and the function a program calls. Reads arguments, runs the forward, wraps the result and, when a
// gradient is wanted, records a Node. The rules' side (what a Node does backwards) is in rules.cpp.
//
// Ops are made in Python (src/rushlight/ops/_op.py) from one statement each; `make_op` below only copies that statement into
// the struct. A call costs: one pass over the arguments, one test for anything unusual, the forward, one allocation for the
// Tensor and one for the Node.
#include "core/core.h"

#include <structmember.h>

#include <cstring>
#include <memory>
#include <new>
#include <string>

namespace rushlight {

PyTypeObject* OpType = nullptr;

namespace {

constexpr const char* kAliases[][2] = {{"self", "input"}, {"axis", "dim"}, {"keepdims", "keepdim"}, {"axes", "dims"},
                                       {"x1", "input"}, {"x2", "other"}, {"x", "input"}};

int find_param(Op* op, PyObject* keyword) {
  for (int i = 0; i < op->n_params; ++i) {
    if (op->params[i].name == keyword) return i;
  }
  const char* text = PyUnicode_AsUTF8(keyword);
  if (!text) return -1;
  for (int i = 0; i < op->n_params; ++i) {
    if (!strcmp(PyUnicode_AsUTF8(op->params[i].name), text)) return i;
  }
  for (const auto& alias : kAliases) {
    if (strcmp(alias[0], text)) continue;
    for (int i = 0; i < op->n_params; ++i) {
      const char* name = PyUnicode_AsUTF8(op->params[i].name);
      if (!strcmp(name, alias[1]) || (!strcmp(alias[1], "dims") && !strcmp(name, "dim"))) return i;
    }
  }
  return -1;
}

const char* op_name(Op* op) { return PyUnicode_AsUTF8(op->name); }

// Names what is wrong with an argument, as torch does, then what would be right.
void raise_argument(Op* op, int i, PyObject* got) {
  const char* name = PyUnicode_AsUTF8(op->params[i].name);
  if (op->params[i].kind == Param::TensorList) {
    PyErr_Format(PyExc_TypeError, "%s(): argument '%s' (position %d) must be tuple of Tensors, not %s", op_name(op), name, i + 1,
                 Py_TYPE(got)->tp_name);
    return;
  }
  PyErr_Format(PyExc_TypeError, "%s(): argument '%s' (position %d) must be Tensor, not %s", op_name(op), name, i + 1,
               Py_TYPE(got)->tp_name);
}

bool is_symbol(PyObject* o) {
  return registry.symbol_type && PyType_IsSubtype(Py_TYPE(o), reinterpret_cast<PyTypeObject*>(registry.symbol_type));
}

PyObject* slots_tuple(Op* op, PyObject* const* slots) {
  PyObject* tuple = PyTuple_New(op->n_params);
  if (!tuple) return nullptr;
  for (int i = 0; i < op->n_params; ++i) PyTuple_SET_ITEM(tuple, i, Py_NewRef(slots[i] ? slots[i] : Py_None));
  return tuple;
}

PyObject* call_with_slots(const char* name, Op* op, PyObject* const* slots) {
  PyObject* f = callback(name);
  Ref tuple(f ? slots_tuple(op, slots) : nullptr);
  if (!tuple) return nullptr;
  PyObject* args[] = {as_object(op), tuple.get()};
  return PyObject_Vectorcall(f, args, 2, nullptr);
}

// What the argument check found out about all tensors of a call.
struct Seen {
  uint32_t flags = 0;
  bool wants_grad = false;
  bool symbolic = false;
  bool stale = false;  // a view whose storage was written since its history was made
};

void look_at(Tensor* t, Seen* seen) {
  seen->flags |= t->flags;
  seen->wants_grad |= requires_grad(t);
  if (t->base) seen->stale |= t->history_version != version_of(t);
}

// What is wrong with the history of an argument is said before the call computes anything.
int refresh_arguments(Op* op, PyObject* const* slots) {
  for (uint8_t i : op->tensor_params) {
    PyObject* const* items = &slots[i];
    Py_ssize_t n = 1;
    if (i == op->list_param) {
      items = PySequence_Fast_ITEMS(slots[i]);
      n = PySequence_Fast_GET_SIZE(slots[i]);
    }
    for (Py_ssize_t k = 0; k < n; ++k) {
      Node* node;
      if (is_tensor(items[k]) && as_tensor(items[k])->base && refresh_grad_fn(as_tensor(items[k]), &node) < 0) return -1;
    }
  }
  return 0;
}

int look_at_all(Op* op, PyObject* const* slots, Seen* seen) {
  for (uint8_t i : op->tensor_params) {
    PyObject* o = slots[i];
    if (Py_TYPE(o) == TensorType || is_tensor(o)) {
      if (i == op->list_param) {
        raise_argument(op, i, o);
        return -1;
      }
      look_at(as_tensor(o), seen);
      continue;
    }
    switch (op->params[i].kind) {
      case Param::Operand:
        if (is_python_scalar(o)) continue;
        break;
      case Param::OptionalTensor:
        if (o == Py_None) continue;
        break;
      case Param::TensorList: {
        if (!PyTuple_Check(o) && !PyList_Check(o)) break;
        const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
        for (Py_ssize_t k = 0; k < n; ++k) {
          PyObject* item = PySequence_Fast_GET_ITEM(o, k);
          if (!is_tensor(item)) {
            PyErr_Format(PyExc_TypeError, "expected Tensor as element %zd in argument %d, but got %s", k, i,
                         Py_TYPE(item)->tp_name);
            return -1;
          }
          look_at(as_tensor(item), seen);
        }
        continue;
      }
      default: break;
    }
    if (is_symbol(o)) {
      seen->symbolic = true;
      continue;
    }
    for (uint8_t k : op->tensor_params) {
      if (slots[k] && is_symbol(slots[k])) {
        seen->symbolic = true;
        return 0;
      }
    }
    raise_argument(op, i, o);
    return -1;
  }
  return 0;
}

}  // namespace

int look_at_arguments(Op* op, PyObject* const* slots, uint32_t* flags, bool* wants_grad, bool* symbolic) {
  Seen seen;
  if (look_at_all(op, slots, &seen) < 0) return -1;
  *flags = seen.flags;
  *wants_grad = seen.wants_grad;
  *symbolic = seen.symbolic;
  return 0;
}

Op* op_callback(const char* name) {
  PyObject* o = callback(name);
  if (o && Py_TYPE(o) != OpType) {
    PyErr_Format(PyExc_RuntimeError, "rushlight: callback '%s' must be an Op", name);
    return nullptr;
  }
  return reinterpret_cast<Op*>(o);
}

PyObject* run_on_arrays(Op* op, PyObject* function, PyObject* const* slots) {
  PyObject* arguments[kMaxParams + 1];
  PyObject** args = arguments + 1;
  Ref lists[2];
  int n_lists = 0;
  for (int i = 0; i < op->n_params; ++i) {
    PyObject* o = slots[i];
    if (is_tensor(o)) {
      args[i] = as_object(as_tensor(o)->array);
    } else if (op->params[i].kind == Param::TensorList && n_lists < 2) {
      const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
      Ref list(PyList_New(n));
      if (!list) return nullptr;
      for (Py_ssize_t k = 0; k < n; ++k) {
        PyList_SET_ITEM(list.get(), k, Py_NewRef(as_object(as_tensor(PySequence_Fast_GET_ITEM(o, k))->array)));
      }
      args[i] = list.get();
      lists[n_lists++] = std::move(list);
    } else {
      args[i] = o;
    }
  }
  return PyObject_Vectorcall(function, args, op->n_params | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
}

// The result of anything but a pointwise op: an ndarray, or a tuple of them.
PyObject* run_forward(Op* op, PyObject* const* slots) {
  PyObject* result = run_on_arrays(op, op->forward, slots);
  if (result == Py_NotImplemented && op->portable) {
    Py_DECREF(result);
    result = run_on_arrays(op, op->portable, slots);
  }
  return result;
}

namespace {

// NumPy hands out scalars for 0-d results; tensors hold arrays. Takes over `o`.
PyArrayObject* to_array(PyObject* o) {
  if (!o || PyArray_CheckExact(o)) return as_array(o);
  Ref owned(o);
  return as_array(PyArray_FROM_O(o));
}

// Takes over `o`.
Tensor* wrap_result(Op* op, PyObject* const* slots, PyObject* o) {
  PyArrayObject* array = to_array(o);
  if (!array) return nullptr;
  if (op->view) {
    PyObject* source = slots[op->tensor_params[0]];
    if (as_object(array) == as_object(as_tensor(source)->array)) {
      PyArrayObject* view = as_array(PyArray_View(array, nullptr, nullptr));
      Py_DECREF(array);
      if (!(array = view)) return nullptr;
    }
    Tensor* t = wrap_view(array, as_tensor(source));
    if (t && op->multi_view && grad_enabled()) t->flags = (t->flags & ~kSpecialView) | kMultiView;
    return t;
  }
  bool shared = PyArray_BASE(array) != nullptr;
  for (uint8_t i : op->tensor_params) {
    shared |= slots[i] && is_tensor(slots[i]) && as_object(as_tensor(slots[i])->array) == as_object(array);
  }
  if (shared && !op->lends) {
    // An op that is no view owns its result.
    PyArrayObject* copy = as_array(PyArray_NewCopy(array, NPY_KEEPORDER));
    Py_DECREF(array);
    if (!(array = copy)) return nullptr;
  }
  return wrap_array(array);
}

PyObject* wrap_tuple(Op* op, PyObject* const* slots, PyObject* results, bool recording) {
  Ref owned(results);
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(results);
  Ref tuple(PyTuple_New(n));
  if (!tuple) return nullptr;
  bool any = false;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(results, i);
    if (item == Py_None) {
      PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(Py_None));
      continue;
    }
    Tensor* t = wrap_result(op, slots, Py_NewRef(item));
    if (!t) return nullptr;
    any |= is_differentiable(t->dtype);
    PyTuple_SET_ITEM(tuple.get(), i, as_object(t));
  }
  if (recording && any && n > 0) {
    if (record(op, slots, reinterpret_cast<Tensor**>(&PyTuple_GET_ITEM(tuple.get(), 0)), static_cast<int>(n)) < 0) return nullptr;
  }
  if (op->result_type) return PyObject_CallOneArg(op->result_type, tuple.get());
  return tuple.release();
}

PyObject* call_composite(Op* op, PyObject* const* slots) {
  PyObject* arguments[kMaxParams + 1];
  for (int i = 0; i < op->n_params; ++i) arguments[i + 1] = slots[i];
  return PyObject_Vectorcall(op->forward, arguments + 1, op->n_params | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
}

constexpr const char* kCheckNames[] = {"", "int", "tuple of ints", "bool", "torch.dtype", "Number", "str"};

bool is_integer(PyObject* o) { return PyLong_Check(o) ? !PyBool_Check(o) : PyIndex_Check(o); }

// -1 with torch's exception for an integer that 64 bits do not hold.
int check_width(PyObject* o) {
  if (!PyLong_CheckExact(o)) return 0;
  int overflow;
  PyLong_AsLongLongAndOverflow(o, &overflow);
  if (!overflow) return 0;
  PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long: an integer argument does not fit in 64 bits");
  return -1;
}

// Whether a plain argument has a type that its parameter takes. None is left to the op.
bool fits(PyObject* o, Param::Check check) {
  if (is_symbol(o)) return true;
  switch (check) {
    case Param::Anything: return true;
    case Param::Int: return o == Py_None || is_integer(o);
    case Param::Ints: {
      if (o == Py_None || is_integer(o)) return true;
      if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
        if (!PyIndex_Check(PySequence_Fast_GET_ITEM(o, i))) return false;
      }
      return true;
    }
    case Param::Bool: return PyBool_Check(o) || PyArray_IsScalar(o, Bool);
    case Param::Type: return o == Py_None || PyType_Check(o) || (registry.dtypes[0] && Py_TYPE(o) == Py_TYPE(registry.dtypes[0]));
    case Param::Scalar: return o == Py_None || is_python_scalar(o) || is_tensor(o);
    case Param::Text: return PyUnicode_Check(o);
  }
  return true;
}

// Fills `slots` from a call's arguments. Lists made on the way (variable arguments) are put in `owned`.
int bind(Op* op, PyObject* const* args, Py_ssize_t n, PyObject* kwnames, PyObject** slots, PyObject** out, Ref* owned) {
  for (int i = 0; i < op->n_params; ++i) slots[i] = nullptr;
  if (op->has_var_args) {
    const int at = op->n_positional - 1;
    if (n > at) {
      PyObject* first = args[at];
      if (n == at + 1 && (PyTuple_Check(first) || PyList_Check(first))) {
        slots[at] = first;
      } else {
        *owned = Ref(PyTuple_New(n - at));
        if (!*owned) return -1;
        for (Py_ssize_t i = at; i < n; ++i) PyTuple_SET_ITEM(owned->get(), i - at, Py_NewRef(args[i]));
        slots[at] = owned->get();
      }
    }
    for (Py_ssize_t i = 0; i < n && i < at; ++i) slots[i] = args[i];
  } else {
    if (n > op->n_positional) {
      PyErr_Format(PyExc_TypeError, "%s() takes %d positional argument%s but %zd were given", op_name(op), op->n_positional,
                   op->n_positional == 1 ? "" : "s", n);
      return -1;
    }
    for (Py_ssize_t i = 0; i < n; ++i) slots[i] = args[i];
  }
  if (kwnames) {
    const Py_ssize_t nk = PyTuple_GET_SIZE(kwnames);
    for (Py_ssize_t k = 0; k < nk; ++k) {
      PyObject* keyword = PyTuple_GET_ITEM(kwnames, k);
      PyObject* value = args[n + k];
      const int i = find_param(op, keyword);
      if (i < 0) {
        if (PyErr_Occurred()) return -1;
        if (op->takes_out && PyUnicode_CompareWithASCIIString(keyword, "out") == 0) {
          *out = value == Py_None ? nullptr : value;
          continue;
        }
        PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", op_name(op), keyword);
        return -1;
      }
      if (slots[i]) {
        PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", op_name(op), keyword);
        return -1;
      }
      slots[i] = value;
    }
  }
  std::string missing;
  int n_missing = 0;
  for (int i = 0; i < op->n_params; ++i) {
    if (slots[i]) continue;
    slots[i] = op->params[i].fallback;
    if (!slots[i]) {
      if (n_missing++) missing += ", ";
      missing += std::string("\"") + PyUnicode_AsUTF8(op->params[i].name) + "\"";
    }
  }
  if (n_missing) {
    PyErr_Format(PyExc_TypeError, "%s() missing %d required positional arguments: %s", op_name(op), n_missing, missing.c_str());
    return -1;
  }
  for (const auto& [i, check] : op->checks) {
    PyObject* o = slots[i];
    if (o == op->params[i].fallback) continue;
    if ((check == Param::Int || check == Param::Ints) && check_width(o) < 0) return -1;
    if (fits(o, check)) continue;
    PyErr_Format(PyExc_TypeError, "%s(): argument '%U' (position %d) must be %s, not %s", op_name(op), op->params[i].name, i + 1,
                 kCheckNames[check], Py_TYPE(o)->tp_name);
    return -1;
  }
  return 0;
}

// After a failed call: where an argument has a type that the function does not take, the error says so in torch's words, with
// the name and the position that the program used (ops/_arguments.py). Any other error stays as it is.
void explain(PyObject* function, bool method, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  const bool variable = Py_TYPE(function) == OpType && reinterpret_cast<Op*>(function)->has_var_args;
  if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_AttributeError) &&
      !(variable && PyErr_ExceptionMatches(PyExc_RuntimeError))) {
    return;
  }
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject* f = callback("explain");
  Ref said(f ? value ? PyObject_Str(value) : PyUnicode_FromString("") : nullptr);
  Ref given(said ? PyTuple_New(n) : nullptr);
  Ref named(given ? PyDict_New() : nullptr);
  bool ready = given && named;
  for (Py_ssize_t i = 0; ready && i < n; ++i) PyTuple_SET_ITEM(given.get(), i, Py_NewRef(args[i]));
  const Py_ssize_t n_named = ready && kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  for (Py_ssize_t i = 0; ready && i < n_named; ++i) {
    ready = PyDict_SetItem(named.get(), PyTuple_GET_ITEM(kwnames, i), args[n + i]) == 0;
  }
  Ref text;
  if (ready) {
    PyObject* arguments[] = {function, method ? Py_True : Py_False, given.get(), named.get(), said.get()};
    text = Ref(PyObject_Vectorcall(f, arguments, 5, nullptr));
  }
  if (!text || text.get() == Py_None) {
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return;
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  PyErr_SetObject(PyExc_TypeError, text.get());
}

PyObject* call_with_out(Op* op, PyObject* const* slots, PyObject* out) {
  Seen seen;
  if (op->kind == Op::Pointwise && !is_tensor(out)) {
    PyErr_Format(PyExc_TypeError, "%s(): argument 'out' must be Tensor, not %s", op_name(op), Py_TYPE(out)->tp_name);
    return nullptr;
  }
  if (look_at_all(op, slots, &seen) < 0) return nullptr;
  const uint32_t flags = seen.flags | (is_tensor(out) ? as_tensor(out)->flags : 0);
  if (flags & kTangent) {
    PyErr_Format(PyExc_NotImplementedError,
                 "Trying to use forward AD with %s_out that does not support it because it is an out= function", op_name(op));
    return nullptr;
  }
  if (flags & kTransformed) {
    PyErr_Format(PyExc_RuntimeError, "Batching rule not implemented for aten::%s.out. We could not generate a fallback.",
                 op_name(op));
    return nullptr;
  }
  if (op->differentiable && grad_enabled() && (seen.wants_grad || (is_tensor(out) && requires_grad(as_tensor(out))))) {
    PyErr_Format(PyExc_RuntimeError,
                 "%s(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
                 "requires grad.",
                 op_name(op));
    return nullptr;
  }
  Ref result;
  {
    GradMode off(false);
    result = Ref(call_op(op, slots));
  }
  PyObject* f = result ? callback("finish_out") : nullptr;
  if (!f) return nullptr;
  PyObject* args[] = {out, result.get(), op->name};
  return PyObject_Vectorcall(f, args, 3, nullptr);
}

PyObject* bind_and_call(Op* op, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  PyObject* slots[kMaxParams];
  PyObject* out = nullptr;
  Ref owned;
  if (bind(op, args, n, kwnames, slots, &out, &owned) < 0) return nullptr;
  if (op->in_place) return run_in_place(op, slots);
  if (out) return call_with_out(op, slots, out);
  return call_op(op, slots);
}

PyObject* op_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  Op* op = reinterpret_cast<Op*>(self);
  const Py_ssize_t n = PyVectorcall_NARGS(nargsf);
  PyObject* result = bind_and_call(op, args, n, kwnames);
  if (!result) explain(self, op->in_place, args, n, kwnames);
  return result;
}

// What Tensor (and, of plain Python functions, a namespace) holds of a function of the table: the same call under a second
// name, which its errors count arguments by. Every attribute is the function's.
struct Public {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject* target;  // an Op or a Python function
  bool method;
};

PyTypeObject* PublicType = nullptr;

PyObject* public_of_op(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  PyObject* target = reinterpret_cast<Public*>(self)->target;
  const Py_ssize_t n = PyVectorcall_NARGS(nargsf);
  PyObject* result = bind_and_call(reinterpret_cast<Op*>(target), args, n, kwnames);
  if (!result) explain(target, true, args, n, kwnames);
  return result;
}

PyObject* public_of_function(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  Public* p = reinterpret_cast<Public*>(self);
  const Py_ssize_t n = PyVectorcall_NARGS(nargsf);
  if (n > 1 && is_tensor(args[0])) {
    // Sizes and counts beyond all memory: Python code would set out to make them.
    for (Py_ssize_t i = 1; i < n; ++i) {
      if (check_width(args[i]) < 0) return nullptr;
    }
  }
  PyObject* result = PyObject_Vectorcall(p->target, args, nargsf, kwnames);
  if (!result) explain(p->target, p->method, args, n, kwnames);
  return result;
}

void public_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  PyTypeObject* type = Py_TYPE(self);
  Py_CLEAR(reinterpret_cast<Public*>(self)->target);
  type->tp_free(self);
  Py_DECREF(type);
}

int public_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<Public*>(self)->target);
  return 0;
}

PyObject* public_getattr(PyObject* self, PyObject* name) {
  PyObject* target = reinterpret_cast<Public*>(self)->target;
  if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0) return Py_NewRef(target);
  return PyObject_GetAttr(target, name);
}

int public_setattr(PyObject* self, PyObject* name, PyObject* value) {
  return PyObject_SetAttr(reinterpret_cast<Public*>(self)->target, name, value);
}

PyObject* public_repr(PyObject* self) { return PyObject_Repr(reinterpret_cast<Public*>(self)->target); }

PyObject* public_descr_get(PyObject* self, PyObject* instance, PyObject*) {
  if (!instance || instance == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}

PyMemberDef kPublicMembers[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Public, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

}  // namespace

Op* choose_variant(Op* op, PyObject* const* slots) {
  for (size_t i = 0; i < op->variants.size();) {
    const Variant& v = op->variants[i];
    PyObject* o = slots[v.param];
    bool taken;
    switch (v.when) {
      case Variant::Scalar: taken = !is_tensor(o) && !is_symbol(o); break;
      case Variant::Given: taken = o != op->params[v.param].fallback; break;
      default: {
        const int equal = Py_TYPE(o) == Py_TYPE(v.value) ? PyObject_RichCompareBool(o, v.value, Py_EQ) : 0;
        if (equal < 0) return nullptr;
        taken = equal;
      }
    }
    if (taken) {
      op = v.op;
      i = 0;
    } else {
      ++i;
    }
  }
  return op;
}

namespace {

PyObject* call_unobserved(Op* op, PyObject* const* slots) {
  if (!op->variants.empty()) {
    if (!(op = choose_variant(op, slots))) return nullptr;
    if (op->in_place) {  // `inplace=True`
      PyObject* bound[kMaxParams];
      for (int i = 0; i < op->n_params; ++i) bound[i] = slots[i];
      return run_in_place(op, bound);
    }
  }
  Seen seen;
  if (op->kind == Op::Composite) return call_composite(op, slots);
  if (look_at_all(op, slots, &seen) < 0) return nullptr;
  if (seen.symbolic) return call_with_slots("trace_call", op, slots);
  if (seen.flags & kWatched) {
    PyObject* r = call_with_slots("watched_call", op, slots);
    if (r != Py_NotImplemented) return r;
    Py_DECREF(r);
  }
  const bool recording = seen.wants_grad && grad_enabled() && op->differentiable;
  if (recording && seen.stale && refresh_arguments(op, slots) < 0) return nullptr;
  Tensor* out;
  if (op->kind == Op::Pointwise) {
    out = wrap_array(pointwise_forward(op, slots, nullptr));
  } else {
    PyObject* result = run_forward(op, slots);
    if (!result) return nullptr;
    if (PyTuple_Check(result) || PyList_Check(result)) return wrap_tuple(op, slots, result, recording);
    out = wrap_result(op, slots, result);
  }
  if (!out) return nullptr;
  if (recording && is_differentiable(out->dtype) && record(op, slots, &out, 1) < 0) {
    Py_DECREF(out);
    return nullptr;
  }
  return as_object(out);
}

}  // namespace

PyObject* call_op(Op* op, PyObject* const* slots) {
  if (!observed()) return call_unobserved(op, slots);
  const int64_t start = clock_ns();
  return report_call(op, slots, call_unobserved(op, slots), start);
}

PyObject* call_op(Op* op, PyObject* a, PyObject* b) {
  PyObject* slots[kMaxParams];
  slots[0] = a;
  int given = 1;
  if (b) slots[given++] = b;
  for (int i = given; i < op->n_params; ++i) slots[i] = op->params[i].fallback;
  if (op->n_params < given || (op->n_params > given && !slots[given])) {
    PyErr_Format(PyExc_TypeError, "%s() cannot be an operator", op_name(op));
    return nullptr;
  }
  return op->in_place ? run_in_place(op, slots) : call_op(op, slots);
}

// ---------------------------------------------------------------- recording

Node* make_op_node(Op* op, PyObject* const* slots, Tensor** outputs, int n_outputs, PyTypeObject* type) {
  int n_edges = 0;
  for (uint8_t p : op->edge_params) {
    n_edges += p == op->list_param ? static_cast<int>(PySequence_Fast_GET_SIZE(slots[p])) : 1;
  }
  if (!type) type = op->node_type;
  for (const Op::NodeName& n : op->node_types) {
    if (PyArray_NDIM(as_tensor(slots[0])->array) == n.ndim_a && PyArray_NDIM(as_tensor(slots[1])->array) == n.ndim_b) type = n.type;
  }
  Node* node = new_node(type, Node::OfOp, n_edges, static_cast<int>(op->saves.size()), n_outputs);
  if (!node) return nullptr;
  Py_INCREF(op);
  node->op = op;
  Ref owner(as_object(node));
  uint32_t wanting = 0;
  int e = 0;
  for (uint8_t p : op->edge_params) {
    PyObject* o = slots[p];
    if (p == op->list_param) {
      const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
      for (Py_ssize_t k = 0; k < n; ++k, ++e) {
        if (gradient_edge(as_tensor(PySequence_Fast_GET_ITEM(o, k)), &node->edges[e]) < 0) return nullptr;
        if (node->edges[e].node) wanting |= 1u << p;
      }
      continue;
    }
    if (is_tensor(o)) {
      if (gradient_edge(as_tensor(o), &node->edges[e]) < 0) return nullptr;
      if (node->edges[e].node) wanting |= 1u << p;
    }
    ++e;
  }
  for (size_t i = 0; i < op->saves.size(); ++i) {
    const Op::Save& save = op->saves[i];
    if (!(save.wanted_by & wanting)) continue;
    Saved* slot = &node->saved[i];
    PyObject* o = slots[save.source.index];
    switch (save.source.kind) {
      case Source::Arg:
        if (o == Py_None) break;
        if (save_input(slot, o) < 0) return nullptr;
        break;
      case Source::ArgShape:
      case Source::ArgDtype: {
        const bool shape = save.source.kind == Source::ArgShape;
        PyObject* value = nullptr;
        if (is_tensor(o)) {
          PyArrayObject* a = as_tensor(o)->array;
          value = shape ? shape_tuple(PyArray_NDIM(a), PyArray_DIMS(a)) : Py_XNewRef(dtype_object(as_tensor(o)->dtype));
        } else if (PyList_Check(o) || PyTuple_Check(o)) {
          const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
          value = PyTuple_New(n);
          for (Py_ssize_t k = 0; value && k < n; ++k) {
            Tensor* t = as_tensor(PySequence_Fast_GET_ITEM(o, k));
            PyObject* item = shape ? shape_tuple(PyArray_NDIM(t->array), PyArray_DIMS(t->array)) : Py_XNewRef(dtype_object(t->dtype));
            if (!item) Py_CLEAR(value);
            else PyTuple_SET_ITEM(value, k, item);
          }
        } else {
          value = Py_NewRef(Py_None);
        }
        if (!value) return nullptr;
        slot->value = value;
        slot->kind = Saved::Object;
        break;
      }
      case Source::Out:
        if (outputs && save_output(slot, outputs[save.source.index], save.source.index) < 0) return nullptr;
        break;
      default: break;
    }
  }
  if (observed() && report_made(node) < 0) return nullptr;
  return reinterpret_cast<Node*>(owner.release());
}

int record(Op* op, PyObject* const* slots, Tensor** outputs, int n_outputs) {
  Node* node = make_op_node(op, slots, outputs, n_outputs);
  if (!node) return -1;
  Ref owner(as_object(node));
  for (int i = 0; i < n_outputs; ++i) {
    Tensor* t = outputs[i];
    if (as_object(t) == Py_None) continue;
    if (set_output_meta(node, i, t) < 0) return -1;
    if (!is_differentiable(t->dtype) || (i && op->first_only)) continue;
    Py_INCREF(node);
    t->grad_fn = node;
    t->output_nr = static_cast<uint32_t>(i);
  }
  return 0;
}

// ---------------------------------------------------------------- the Op type

namespace {

void op_dealloc(PyObject* self) {
  Op* op = reinterpret_cast<Op*>(self);
  PyObject_GC_UnTrack(self);
  PyTypeObject* type = Py_TYPE(self);
  for (Param& p : op->params) {
    Py_XDECREF(p.name);
    Py_XDECREF(p.fallback);
  }
  for (Rule& r : op->rules) {
    Py_XDECREF(r.function);
    delete r.program;
  }
  for (Variant& v : op->variants) {
    Py_XDECREF(v.op);
    Py_XDECREF(v.value);
  }
  for (Refusal& r : op->argument_refusals) Py_XDECREF(r.why);
  delete op->program;
  Py_XDECREF(op->name);
  Py_XDECREF(op->forward);
  Py_XDECREF(op->portable);
  Py_XDECREF(op->writer);
  Py_XDECREF(op->compiler);
  Py_XDECREF(op->backward);
  Py_XDECREF(op->refusals);
  Py_XDECREF(op->zero_dim_text);
  Py_XDECREF(op->dict);
  Py_XDECREF(op->node_type);
  Py_XDECREF(op->result_type);
  Py_XDECREF(op->base);
  op->params.~vector();
  op->tensor_params.~vector();
  op->checks.~vector();
  op->variants.~vector();
  op->argument_refusals.~vector();
  op->rules.~vector();
  op->rule_of.~vector();
  op->edge_params.~vector();
  op->backward_sources.~vector();
  op->saves.~vector();
  op->node_types.~vector();
  type->tp_free(self);
  Py_DECREF(type);
}

int op_traverse(PyObject* self, visitproc visit, void* arg) {
  Op* op = reinterpret_cast<Op*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(op->forward);
  Py_VISIT(op->portable);
  Py_VISIT(op->writer);
  Py_VISIT(op->compiler);
  Py_VISIT(op->backward);
  Py_VISIT(op->dict);
  Py_VISIT(op->base);
  for (Rule& r : op->rules) Py_VISIT(r.function);
  for (Variant& v : op->variants) Py_VISIT(v.op);
  return 0;
}

PyObject* op_repr(PyObject* self) {
  return PyUnicode_FromFormat("<built-in method %U of type object>", reinterpret_cast<Op*>(self)->name);
}

PyObject* op_descr_get(PyObject* self, PyObject* instance, PyObject*) {
  if (!instance || instance == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}

PyObject* op_get_name(PyObject* self, void*) { return Py_NewRef(reinterpret_cast<Op*>(self)->name); }
PyObject* op_get_kind(PyObject* self, void*) { return PyLong_FromLong(reinterpret_cast<Op*>(self)->kind); }
PyObject* op_get_forward(PyObject* self, void*) {
  PyObject* f = reinterpret_cast<Op*>(self)->forward;
  return Py_NewRef(f ? f : Py_None);
}
PyObject* op_get_base(PyObject* self, void*) {
  Op* base = reinterpret_cast<Op*>(self)->base;
  return Py_NewRef(base ? as_object(base) : Py_None);
}
PyObject* op_get_params(PyObject* self, void*) {
  Op* op = reinterpret_cast<Op*>(self);
  Ref tuple(PyTuple_New(op->n_params));
  if (!tuple) return nullptr;
  for (int i = 0; i < op->n_params; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(op->params[i].name));
  return tuple.release();
}
PyObject* op_get_differentiable(PyObject* self, void*) { return PyBool_FromLong(reinterpret_cast<Op*>(self)->differentiable); }

PyGetSetDef kOpGetSet[] = {
    {"__name__", op_get_name, nullptr, "The op's name.", nullptr},
    {"__qualname__", op_get_name, nullptr, "The op's name.", nullptr},
    {"kind", op_get_kind, nullptr, "The kind of its derivative.", nullptr},
    {"forward", op_get_forward, nullptr, "What computes the values, on ndarrays.", nullptr},
    {"base", op_get_base, nullptr, "Of an in-place form: the op it is the form of.", nullptr},
    {"params", op_get_params, nullptr, "The parameters' names.", nullptr},
    {"differentiable", op_get_differentiable, nullptr, "Whether calls are recorded.", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef kOpMembers[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(Op, dict), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Op, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyObject* field(PyObject* spec, const char* name) { return PyDict_GetItemString(spec, name); }

bool flag_of(PyObject* spec, const char* name) {
  PyObject* o = field(spec, name);
  return o && PyObject_IsTrue(o) == 1;
}

long number_of(PyObject* spec, const char* name, long otherwise) {
  PyObject* o = field(spec, name);
  return o && o != Py_None ? PyLong_AsLong(o) : otherwise;
}

PyObject* callable_of(PyObject* spec, const char* name) {
  PyObject* o = field(spec, name);
  return o && o != Py_None ? Py_NewRef(o) : nullptr;
}

int read_sources(PyObject* list, std::vector<Source>* sources) {
  const Py_ssize_t n = PyList_Check(list) || PyTuple_Check(list) ? PySequence_Fast_GET_SIZE(list) : -1;
  if (n < 0) {
    PyErr_SetString(PyExc_TypeError, "sources must be a list");
    return -1;
  }
  for (Py_ssize_t i = 0; i < n; ++i) {
    int kind, index;
    if (!PyArg_ParseTuple(PySequence_Fast_GET_ITEM(list, i), "ii", &kind, &index)) return -1;
    sources->push_back(Source{static_cast<Source::Kind>(kind), static_cast<uint8_t>(index), -1});
  }
  return 0;
}

// Finds (or adds) the place in Node::saved that a source is kept in.
void place(Op* op, Source* s, uint32_t wanted_by) {
  if (s->kind == Source::Grad || s->kind == Source::Grads || s->kind == Source::Needs || s->kind == Source::Outs) return;
  for (size_t i = 0; i < op->saves.size(); ++i) {
    Source& have = op->saves[i].source;
    if (have.kind == s->kind && have.index == s->index) {
      op->saves[i].wanted_by |= wanted_by;
      s->slot = static_cast<int8_t>(i);
      return;
    }
  }
  s->slot = static_cast<int8_t>(op->saves.size());
  op->saves.push_back({*s, wanted_by});
}

bool is_kept(Op* op, const Source& s) {
  for (const Op::Save& save : op->saves) {
    if (save.source.kind == s.kind && save.source.index == s.index) return true;
  }
  return false;
}

Program* read_program(PyObject* spec) {
  int n_inputs, result;
  PyObject *constants, *code;
  if (!PyArg_ParseTuple(spec, "iO!O!i", &n_inputs, &PyList_Type, &constants, &PyList_Type, &code, &result)) return nullptr;
  auto program = std::make_unique<Program>();
  int overflow;
  program->n_inputs = n_inputs;
  program->result = result;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(constants); ++i) {
    PyObject* c = PyList_GET_ITEM(constants, i);
    const double value = PyFloat_AsDouble(c);
    if (value == -1 && PyErr_Occurred()) return nullptr;
    program->constants.push_back(value);
    program->int_constants.push_back(PyLong_Check(c) ? PyLong_AsLongLongAndOverflow(c, &overflow) : static_cast<int64_t>(0));
  }
  int top = n_inputs + static_cast<int>(program->constants.size());
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(code); ++i) {
    const char* name;
    int dst, a, b, c;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(code, i), "siiii", &name, &dst, &a, &b, &c)) return nullptr;
    const int op = kernels().opcode(name);
    if (op < 0 || dst < 0 || dst > 31 || a < 0 || a > 31 || b < 0 || b > 31 || c < 0 || c > 31) {
      PyErr_Format(PyExc_ValueError, "no pointwise kernel '%s', or more than 32 registers", name);
      return nullptr;
    }
    program->code.push_back(Instr{static_cast<uint16_t>(op), static_cast<uint8_t>(dst), static_cast<uint8_t>(a),
                                  static_cast<uint8_t>(b), static_cast<uint8_t>(c)});
    if (dst + 1 > top) top = dst + 1;
  }
  if (top > 32) {
    PyErr_SetString(PyExc_ValueError, "a pointwise program has at most 32 registers");
    return nullptr;
  }
  program->n_registers = top;
  return program.release();
}

// The keys of a dict of refusals, one bit each.
uint16_t types_of(PyObject* refusals) {
  PyObject *key, *value;
  uint16_t types = 0;
  for (Py_ssize_t at = 0; PyDict_Next(refusals, &at, &key, &value);) types = static_cast<uint16_t>(types | 1u << PyLong_AsLong(key));
  return types;
}

int fill_op(Op* op, PyObject* spec) {
  op->name = PyUnicode_InternFromString(PyUnicode_AsUTF8(field(spec, "name")));
  op->kind = static_cast<Op::Kind>(number_of(spec, "kind", 0));
  op->forward = callable_of(spec, "forward");
  op->portable = callable_of(spec, "portable");
  op->writer = callable_of(spec, "write");
  op->compiler = callable_of(spec, "compiler");
  op->result_type = callable_of(spec, "result_type");
  op->view = flag_of(spec, "view");
  op->lends = flag_of(spec, "lends");
  op->multi_view = flag_of(spec, "multi_view");
  op->first_only = flag_of(spec, "first_only");
  op->takes_out = flag_of(spec, "takes_out");
  op->result = static_cast<ResultType>(number_of(spec, "result", 0));
  op->n_positional = static_cast<int>(number_of(spec, "n_positional", 0));
  op->program_arity = static_cast<uint8_t>(number_of(spec, "arity", 0));
  op->portable_for = static_cast<uint16_t>(number_of(spec, "portable_for", 0));
  PyObject* refusals = field(spec, "refusals");
  if (refusals && refusals != Py_None) {
    op->refusals = Py_NewRef(refusals);
    op->refused = types_of(refusals);
  }
  op->one_type = flag_of(spec, "one_type");
  op->numbers_fit = flag_of(spec, "numbers_fit");
  if (PyObject* zero_dim = field(spec, "zero_dim"); zero_dim && zero_dim != Py_None) {
    int param;
    PyObject* text;
    if (!PyArg_ParseTuple(zero_dim, "iU", &param, &text)) return -1;
    op->zero_dim_param = static_cast<int8_t>(param);
    op->zero_dim_text = Py_NewRef(text);
  }
  PyObject* of_arguments = field(spec, "argument_refusals");
  for (Py_ssize_t i = 0; of_arguments && of_arguments != Py_None && i < PyList_GET_SIZE(of_arguments); ++i) {
    int param;
    PyObject* why;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(of_arguments, i), "iO!", &param, &PyDict_Type, &why)) return -1;
    op->argument_refusals.push_back(Refusal{param < 0 ? kAnyParam : static_cast<uint8_t>(param), types_of(why), Py_NewRef(why)});
  }
  PyObject* params = field(spec, "params");
  op->n_params = static_cast<int>(PyList_GET_SIZE(params));
  if (op->n_params > kMaxParams) {
    PyErr_Format(PyExc_ValueError, "%s: more than %d parameters", op_name(op), kMaxParams);
    return -1;
  }
  op->list_param = -1;
  for (int i = 0; i < op->n_params; ++i) {
    PyObject *name, *fallback = nullptr;
    int kind;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(params, i), "Ui|O", &name, &kind, &fallback)) return -1;
    Py_INCREF(name);
    PyUnicode_InternInPlace(&name);
    Py_XINCREF(fallback);
    op->params.push_back(Param{name, fallback, static_cast<Param::Kind>(kind)});
    if (kind <= Param::TensorList) op->tensor_params.push_back(static_cast<uint8_t>(i));
    if (kind == Param::TensorList) op->list_param = i;
    if (kind == Param::VarArgs) op->has_var_args = true;
  }
  PyObject* checks = field(spec, "checks");
  for (Py_ssize_t i = 0; checks && i < PyList_GET_SIZE(checks); ++i) {
    int param, check;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(checks, i), "ii", &param, &check)) return -1;
    op->checks.emplace_back(static_cast<uint8_t>(param), static_cast<Param::Check>(check));
  }
  op->rule_of.assign(op->n_params, -1);
  PyObject* rules = field(spec, "rules");
  for (Py_ssize_t r = 0; rules && r < PyList_GET_SIZE(rules); ++r) {
    PyObject *function, *sources, *indices;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(rules, r), "OOO!", &function, &sources, &PyList_Type, &indices)) return -1;
    op->rules.emplace_back();
    Rule& rule = op->rules.back();
    rule.function = Py_NewRef(function);
    if (read_sources(sources, &rule.sources) < 0) return -1;
    uint32_t wanted_by = 0;
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(indices); ++k) {
      const long p = PyLong_AsLong(PyList_GET_ITEM(indices, k));
      if (p < 0 || p >= op->n_params) {
        PyErr_SetString(PyExc_ValueError, "a rule names a parameter that does not exist");
        return -1;
      }
      rule.params.push_back(static_cast<uint8_t>(p));
      op->rule_of[p] = static_cast<int8_t>(r);
      wanted_by |= 1u << p;
    }
    for (Source& s : rule.sources) place(op, &s, wanted_by);
  }
  if (PyObject* order = field(spec, "edges"); order && order != Py_None) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(order); ++i) {
      op->edge_params.push_back(static_cast<uint8_t>(PyLong_AsLong(PyList_GET_ITEM(order, i))));
    }
  } else {
    for (int p = 0; p < op->n_params; ++p) {
      if (op->rule_of[p] >= 0) op->edge_params.push_back(static_cast<uint8_t>(p));
    }
  }
  op->differentiable = !op->rules.empty();
  PyObject* fused = field(spec, "backward");
  if (fused && fused != Py_None) {
    PyObject *function, *sources;
    if (!PyArg_ParseTuple(fused, "OO", &function, &sources)) return -1;
    if (read_sources(sources, &op->backward_sources) < 0) return -1;
    uint32_t all = 0;
    for (uint8_t p : op->edge_params) all |= 1u << p;
    // What a rule already keeps is kept when that rule needs it; the kernel gets None otherwise.
    for (Source& s : op->backward_sources) place(op, &s, is_kept(op, s) ? 0 : all);
    op->backward = Py_NewRef(function);
  }
  PyObject* node = field(spec, "node");
  if (node && node != Py_None) {
    op->node_type = node_type(PyUnicode_AsUTF8(node));
    if (!op->node_type) return -1;
    Py_INCREF(op->node_type);
  }
  if (PyObject* nodes = field(spec, "nodes"); nodes && nodes != Py_None) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(nodes); ++i) {
      int a, b;
      const char* name;
      if (!PyArg_ParseTuple(PyList_GET_ITEM(nodes, i), "iis", &a, &b, &name)) return -1;
      PyTypeObject* type = node_type(name);
      if (!type) return -1;
      op->node_types.push_back({static_cast<int8_t>(a), static_cast<int8_t>(b), type});
    }
  }
  op->opcode = -1;
  PyObject* kernel = field(spec, "kernel");
  if (kernel && kernel != Py_None) {
    op->opcode = kernels().opcode(PyUnicode_AsUTF8(kernel));
    if (op->opcode >= 0) {
      const int arity = kernels().opcode_arity(op->opcode);
      if (arity != op->program_arity) {
        PyErr_Format(PyExc_ValueError, "%s: kernel '%U' reads %d arguments, the op passes %d", op_name(op), kernel, arity,
                     op->program_arity);
        return -1;
      }
      op->program = new Program();
      op->program->n_inputs = arity;
      op->program->n_registers = arity + 1;
      op->program->result = arity;
      op->program->code.push_back(Instr{static_cast<uint16_t>(op->opcode), static_cast<uint8_t>(arity), 0,
                                        static_cast<uint8_t>(arity > 1 ? 1 : 0), static_cast<uint8_t>(arity > 2 ? 2 : 0)});
      op->block_f32 = kernels().block(op->opcode, DType::F32);
      op->block_f64 = kernels().block(op->opcode, DType::F64);
    }
  }
  return 0;
}

Op* allocate_op() {
  Op* op = PyObject_GC_New(Op, OpType);
  if (!op) return nullptr;
  memset(reinterpret_cast<char*>(op) + sizeof(PyObject), 0, sizeof(Op) - sizeof(PyObject));
  new (&op->params) std::vector<Param>();
  new (&op->tensor_params) std::vector<uint8_t>();
  new (&op->checks) std::vector<std::pair<uint8_t, Param::Check>>();
  new (&op->variants) std::vector<Variant>();
  new (&op->argument_refusals) std::vector<Refusal>();
  new (&op->rules) std::vector<Rule>();
  new (&op->rule_of) std::vector<int8_t>();
  new (&op->edge_params) std::vector<uint8_t>();
  new (&op->backward_sources) std::vector<Source>();
  new (&op->saves) std::vector<Op::Save>();
  new (&op->node_types) std::vector<Op::NodeName>();
  op->vectorcall = op_vectorcall;
  op->list_param = -1;
  op->zero_dim_param = -1;
  op->opcode = -1;
  PyObject_GC_Track(op);
  return op;
}

// make_op(spec): an Op from the fields of a table statement.
PyObject* make_op(PyObject*, PyObject* spec) {
  if (!PyDict_Check(spec)) {
    PyErr_SetString(PyExc_TypeError, "make_op(dict)");
    return nullptr;
  }
  Op* op = allocate_op();
  if (!op) return nullptr;
  if (fill_op(op, spec) < 0) {
    Py_DECREF(op);
    return nullptr;
  }
  return as_object(op);
}

bool check_op(PyObject* o) {
  if (Py_TYPE(o) == OpType) return true;
  PyErr_SetString(PyExc_TypeError, "expected an Op");
  return false;
}

// make_in_place(op, name[, node]): the form that writes its first argument; its node's class where that is another.
PyObject* make_in_place(PyObject*, PyObject* args) {
  PyObject *o, *name;
  const char* node = nullptr;
  if (!PyArg_ParseTuple(args, "OU|s", &o, &name, &node) || !check_op(o)) return nullptr;
  PyTypeObject* type = node ? node_type(node) : nullptr;
  if (node && !type) return nullptr;
  Op* base = reinterpret_cast<Op*>(o);
  Op* op = allocate_op();
  if (!op) return nullptr;
  Py_INCREF(name);
  op->name = name;
  op->kind = base->kind;
  op->node_type = reinterpret_cast<PyTypeObject*>(Py_XNewRef(reinterpret_cast<PyObject*>(type)));
  op->in_place = true;
  op->base = reinterpret_cast<Op*>(Py_NewRef(o));
  op->n_params = base->n_params;
  op->n_positional = base->n_positional;
  op->has_var_args = base->has_var_args;
  op->differentiable = base->differentiable;
  op->tensor_params = base->tensor_params;
  op->checks = base->checks;
  for (const Param& p : base->params) {
    Py_INCREF(p.name);
    Py_XINCREF(p.fallback);
    op->params.push_back(p);
  }
  return as_object(op);
}

// make_public(function, method): see Public.
PyObject* make_public(PyObject*, PyObject* args) {
  PyObject* target;
  int method;
  if (!PyArg_ParseTuple(args, "Op", &target, &method)) return nullptr;
  Public* p = PyObject_GC_New(Public, PublicType);
  if (!p) return nullptr;
  p->target = Py_NewRef(target);
  p->method = method != 0;
  p->vectorcall = Py_TYPE(target) == OpType ? public_of_op : public_of_function;
  PyObject_GC_Track(p);
  return as_object(p);
}

// add_variant(op, param index, when, other op[, value]): which op takes over for such an argument.
PyObject* add_variant(PyObject*, PyObject* args) {
  PyObject *o, *other, *value = nullptr;
  int param, when;
  if (!PyArg_ParseTuple(args, "OiiO|O", &o, &param, &when, &other, &value) || !check_op(o) || !check_op(other)) return nullptr;
  Op* op = reinterpret_cast<Op*>(o);
  if (param < 0 || param >= op->n_params || reinterpret_cast<Op*>(other)->n_params != op->n_params) {
    PyErr_SetString(PyExc_ValueError, "a variant has the parameters of its op");
    return nullptr;
  }
  Py_INCREF(other);
  Py_XINCREF(value);
  op->variants.push_back(
      Variant{static_cast<uint8_t>(param), static_cast<Variant::When>(when), value, reinterpret_cast<Op*>(other)});
  Py_RETURN_NONE;
}

// set_program(op, program): the traced forward of a composed pointwise op.
PyObject* set_program(PyObject*, PyObject* args) {
  PyObject *o, *spec;
  if (!PyArg_ParseTuple(args, "OO", &o, &spec) || !check_op(o)) return nullptr;
  Program* program = read_program(spec);
  if (!program) return nullptr;
  Op* op = reinterpret_cast<Op*>(o);
  delete op->program;
  op->program = program;
  Py_RETURN_NONE;
}

// set_rule_program(op, rule, identity, program or None, sources): a partial once traced.
PyObject* set_rule_program(PyObject*, PyObject* args) {
  PyObject *o, *spec, *sources;
  int r, identity;
  if (!PyArg_ParseTuple(args, "OipOO", &o, &r, &identity, &spec, &sources) || !check_op(o)) return nullptr;
  Op* op = reinterpret_cast<Op*>(o);
  if (r < 0 || r >= static_cast<int>(op->rules.size())) {
    PyErr_SetString(PyExc_IndexError, "no such rule");
    return nullptr;
  }
  Rule& rule = op->rules[r];
  rule.identity = identity != 0;
  if (spec != Py_None) {
    std::vector<Source> list;
    if (read_sources(sources, &list) < 0) return nullptr;
    for (Source& s : list) {
      const size_t before = op->saves.size();
      place(op, &s, 0);
      if (op->saves.size() != before) {
        PyErr_SetString(PyExc_ValueError, "a traced partial reads a value that its rule does not name");
        return nullptr;
      }
    }
    Program* program = read_program(spec);
    if (!program) return nullptr;
    if (program->n_inputs != static_cast<int>(list.size())) {
      delete program;
      PyErr_SetString(PyExc_ValueError, "a program has one source an input");
      return nullptr;
    }
    delete rule.program;
    rule.program = program;
    rule.program_sources = list;
  }
  Py_RETURN_NONE;
}

// kernel_arity(name)
PyObject* opcode_arity(PyObject*, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) return nullptr;
  const int op = kernels().opcode(text);
  return PyLong_FromLong(op < 0 ? -1 : kernels().opcode_arity(op));
}

// call_op(op, slots): the call that watched_call was told of, with other arguments.
PyObject* call_bound(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 2 || Py_TYPE(args[0]) != OpType || !PySequence_Check(args[1])) {
    PyErr_SetString(PyExc_TypeError, "call_op(op, slots)");
    return nullptr;
  }
  Op* op = reinterpret_cast<Op*>(args[0]);
  Ref list(PySequence_Fast(args[1], "slots must be a sequence"));
  if (!list) return nullptr;
  if (PySequence_Fast_GET_SIZE(list.get()) != op->n_params) {
    PyErr_SetString(PyExc_TypeError, "call_op() takes one argument for each parameter");
    return nullptr;
  }
  PyObject* slots[kMaxParams];
  for (int i = 0; i < op->n_params; ++i) slots[i] = PySequence_Fast_GET_ITEM(list.get(), i);
  return op->in_place ? run_in_place(op, slots) : call_op(op, slots);
}

template <typename F>
void* slot(F f) {
  return reinterpret_cast<void*>(f);
}

}  // namespace

PyMethodDef kOpFunctions[] = {
    {"make_op", make_op, METH_O, "An Op from the fields of a table statement."},
    {"make_in_place", make_in_place, METH_VARARGS, "The form of an op that writes its first argument."},
    {"make_public", make_public, METH_VARARGS, "A function of the table as programs see it."},
    {"add_variant", add_variant, METH_VARARGS, "Which op takes over for a kind of argument."},
    {"set_program", set_program, METH_VARARGS, "The traced forward of a composed pointwise op."},
    {"set_rule_program", set_rule_program, METH_VARARGS, "A traced partial."},
    {"kernel_arity", opcode_arity, METH_O, "How many arguments a pointwise kernel reads; -1 where there is none."},
    {"call_op", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)(void)>(call_bound)), METH_FASTCALL,
     "Calls an op with one argument for each of its parameters."},
    {nullptr, nullptr, 0, nullptr},
};

int init_op(PyObject* module) {
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("One entry of the op table, and the function itself.")},
      {Py_tp_dealloc, slot(op_dealloc)},
      {Py_tp_traverse, slot(op_traverse)},
      {Py_tp_repr, slot(op_repr)},
      {Py_tp_call, slot(PyVectorcall_Call)},
      {Py_tp_descr_get, slot(op_descr_get)},
      {Py_tp_getset, kOpGetSet},
      {Py_tp_members, kOpMembers},
      {0, nullptr},
  };
  static PyType_Spec spec = {"rushlight._core.Op", sizeof(Op), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                                 Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             slots};
  OpType = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
  if (!OpType || PyModule_AddObjectRef(module, "Op", as_object(OpType)) < 0) return -1;
  static PyType_Slot public_slots[] = {
      {Py_tp_doc, const_cast<char*>("A function of the table as programs see it.")},
      {Py_tp_dealloc, slot(public_dealloc)},
      {Py_tp_traverse, slot(public_traverse)},
      {Py_tp_repr, slot(public_repr)},
      {Py_tp_call, slot(PyVectorcall_Call)},
      {Py_tp_getattro, slot(public_getattr)},
      {Py_tp_setattro, slot(public_setattr)},
      {Py_tp_descr_get, slot(public_descr_get)},
      {Py_tp_members, kPublicMembers},
      {0, nullptr},
  };
  static PyType_Spec public_spec = {"rushlight._core.Public", sizeof(Public), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                        Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                    public_slots};
  PublicType = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &public_spec, nullptr));
  if (!PublicType) return -1;
  return PyModule_AddObjectRef(module, "Public", as_object(PublicType));
}

}  // namespace rushlight
