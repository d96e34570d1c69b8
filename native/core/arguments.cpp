// Reading a call's arguments: positions and keywords go to an op's slots, plain arguments are checked, and what is wrong
// with any of them is said in torch's words.
#include "core/op.h"

#include <cstring>
#include <string>

namespace rushlight {

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

constexpr const char* kCheckNames[] = {"", "int", "tuple of ints", "bool", "torch.dtype", "Number", "str"};

bool is_integer(PyObject* o) {
  if (PyLong_Check(o)) return !PyBool_Check(o);
  if (is_tensor(o)) return PyArray_SIZE(as_tensor(o)->array) == 1 && !is_differentiable(as_tensor(o)->dtype);
  return PyIndex_Check(o);
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
    case Param::Scalar: return o == Py_None || is_python_scalar(o) || (is_tensor(o) && !PyArray_NDIM(as_tensor(o)->array));
    case Param::Text: return PyUnicode_Check(o);
  }
  return true;
}

}  // namespace

int check_width(PyObject* o) {
  if (!PyLong_CheckExact(o)) return 0;
  int overflow;
  PyLong_AsLongLongAndOverflow(o, &overflow);
  if (!overflow) return 0;
  PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long: an integer argument does not fit in 64 bits");
  return -1;
}

int bind(Op* op, PyObject* const* args, Py_ssize_t n, PyObject* kwnames, PyObject** slots, PyObject** out, Bound* owned) {
  for (int i = 0; i < op->n_params; ++i) slots[i] = nullptr;
  if (op->has_var_args) {
    const int at = op->n_positional - 1;
    if (n > at) {
      PyObject* first = args[at];
      if (n == at + 1 && (PyTuple_Check(first) || PyList_Check(first))) {
        slots[at] = first;
      } else {
        owned->var_args = Ref(PyTuple_New(n - at));
        if (!owned->var_args) return -1;
        for (Py_ssize_t i = at; i < n; ++i) PyTuple_SET_ITEM(owned->var_args.get(), i - at, Py_NewRef(args[i]));
        slots[at] = owned->var_args.get();
      }
    }
    for (Py_ssize_t i = 0; i < n && i < at; ++i) slots[i] = args[i];
  } else {
    if (n > op->n_positional) {
      PyErr_Format(PyExc_TypeError, "%s() takes %d positional argument%s but %zd were given", public_name(op).c_str(), op->n_positional,
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
        PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", public_name(op).c_str(), keyword);
        return -1;
      }
      if (slots[i]) {
        PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", public_name(op).c_str(), keyword);
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
    PyErr_Format(PyExc_TypeError, "%s() missing %d required positional arguments: %s", public_name(op).c_str(), n_missing, missing.c_str());
    return -1;
  }
  // What is looked at and then read must not change in between, which a list can: hooks run, and other threads.
  if (op->list_param >= 0 && PyList_Check(slots[op->list_param])) {
    owned->tensors = Ref(PyList_AsTuple(slots[op->list_param]));
    if (!(slots[op->list_param] = owned->tensors.get())) return -1;
  }
  for (const auto& [i, check] : op->checks) {
    PyObject* o = slots[i];
    if (o == op->params[i].fallback) continue;
    if ((check == Param::Int || check == Param::Ints) && check_width(o) < 0) return -1;
    if (fits(o, check)) continue;
    PyErr_Format(PyExc_TypeError, "%s(): argument '%U' (position %d) must be %s, not %s", public_name(op).c_str(), op->params[i].name, i + 1,
                 kCheckNames[check], Py_TYPE(o)->tp_name);
    return -1;
  }
  return 0;
}

std::string public_name(Op* op) {
  const char* own = op_name(op);
  if (own[0] != '_' || !op->node_type) return own;
  std::string name;
  const char* dot = strrchr(op->node_type->tp_name, '.');
  const char* node = dot ? dot + 1 : op->node_type->tp_name;
  const char* end = strstr(node, "Backward");
  if (!end) return own;
  for (const char* c = node; c < end; ++c) {
    if (*c >= 'A' && *c <= 'Z' && c > node) name += '_';
    name += *c >= 'A' && *c <= 'Z' ? static_cast<char>(*c - 'A' + 'a') : *c;
  }
  return name;
}

void explain(PyObject* function, bool method, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  // Whatever went wrong, torch would have looked at the types of the arguments first.
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return;
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

}  // namespace rushlight
