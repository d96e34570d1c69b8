// Reading a call's arguments: positions and keywords go to an op's slots, plain arguments are checked, and errors about
// them are in torch's words.
#include "core/layout.h"
#include "core/pytorch.h"
#include "core/op.h"
#include "core/tensor.h"

#include <cstring>
#include <string>
#include <utility>

namespace rushlight {

namespace {

// Of kinds, the first word that torch uses in "argument must be ...".
const char* word_of(uint16_t kinds) {
  constexpr std::pair<Takes::Kind, const char*> kWords[] = {{Takes::kTensor, "Tensor"},
                                                            {Takes::kTensors, "tuple of Tensors"},
                                                            {Takes::kInt, "int"},
                                                            {Takes::kInts, "tuple of ints"},
                                                            {Takes::kFloat, "float"},
                                                            {Takes::kNumber, "Number"},
                                                            {Takes::kBool, "bool"},
                                                            {Takes::kType, "torch.dtype"},
                                                            {Takes::kText, "str"},
                                                            {Takes::kGenerator, "torch.Generator"},
                                                            {Takes::kLayout, "torch.layout"},
                                                            {Takes::kDevice, "torch.device"},
                                                            {Takes::kMemoryFormat, "torch.memory_format"}};
  for (const auto& [kind, word] : kWords) {
    if (kinds & kind) return word;
  }
  return "None";
}

// As its errors have it.
std::string name_of(PyObject* function) {
  if (Py_TYPE(function) == OpType) return public_name(reinterpret_cast<Op*>(function));
  Ref name(PyObject_GetAttrString(function, "__name__"));
  const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
  if (text) return text;
  PyErr_Clear();
  return "function";
}

enum Fit { kMisfit, kFits, kReplaced, kRaised };

// Takes over `value`.
Fit replaced(PyObject* value, Ref* instead) {
  *instead = Ref(value);
  return value ? kReplaced : kRaised;
}

// An integer is within 64 bits, for a number the unsigned ones too; a size is what torch says of neither.
Fit fit_integer(PyObject* o, uint16_t kinds, Ref* instead) {
  if (!(kinds & (Takes::kInt | Takes::kNumber | Takes::kFloat))) return kMisfit;
  int overflow;
  PyLong_AsLongLongAndOverflow(o, &overflow);
  if (!overflow) return kFits;
  if (kinds & Takes::kFloat) return replaced(PyNumber_Float(o), instead);
  if (kinds & Takes::kNumber) {
    if (PyLong_AsUnsignedLongLong(o) != static_cast<unsigned long long>(-1) || !PyErr_Occurred()) return kFits;
    return kRaised;
  }
  PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long: an integer argument does not fit in 64 bits");
  return kRaised;
}

// A tensor of one element in the place of a number.
Fit fit_element(PyObject* o, uint16_t kinds, Ref* instead) {
  Tensor* t = as_tensor(o);
  const bool scalar = t->ndim() == 0;
  if (t->numel() != 1 || requires_grad(t)) return kMisfit;
  const bool differentiable = is_differentiable(t->dtype);
  const bool wanted = (scalar && (kinds & (Takes::kNumber | Takes::kFloat))) ||
                      (scalar && (kinds & Takes::kInt) && !differentiable && t->dtype != DType::Bool) ||
                      ((kinds & Takes::kInts) && (kinds & Takes::kInt) && !differentiable);
  if (!wanted) return kMisfit;
  if (t->flags & kNotPlain) return kFits;
  Ref item(method_item(o, nullptr));
  if (!item) return kRaised;
  if (kinds & Takes::kNumber) return replaced(item.release(), instead);
  if (!(kinds & Takes::kFloat)) return replaced(PyNumber_Index(item.get()), instead);
  if (PyComplex_Check(item.get())) {
    if (PyComplex_ImagAsDouble(item.get()) != 0) {
      PyErr_SetString(PyExc_RuntimeError, "value cannot be converted to type double without overflow: it is a complex number");
      return kRaised;
    }
    return replaced(PyFloat_FromDouble(PyComplex_RealAsDouble(item.get())), instead);
  }
  return replaced(PyNumber_Float(item.get()), instead);
}

}  // namespace

void raise_unpack(const char* function, const char* argument, Py_ssize_t at, PyObject* item) {
  PyErr_Format(PyExc_TypeError, "%s(): argument '%s' failed to unpack the object at pos %zd with error \"%s%s\"", function,
               argument, at + 1, item ? "type must be tuple of ints,but got " : "Overflow when unpacking long long",
               item ? Py_TYPE(item)->tp_name : "");
}

void raise_unpack(PyObject* function, PyObject* name, Py_ssize_t at, PyObject* item) {
  raise_unpack(name_of(function).c_str(), PyUnicode_AsUTF8(name), at, item);
}

namespace {

// A list or tuple of ints. The first decides whether it is one. A list is read once: asking its items for their values may change it.
Fit fit_ints(PyObject* given, PyObject* function, PyObject* name, Ref* instead) {
  Ref o = PyTuple_Check(given) ? Ref::borrow(given) : Ref(PyList_AsTuple(given));
  if (!o) return kRaised;
  const Py_ssize_t n = PyTuple_GET_SIZE(o.get());
  bool plain = true;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PyTuple_GET_ITEM(o.get(), i);
    if (is_symbol(item)) return kFits;
    int overflow = 0;
    if (PyLong_CheckExact(item)) PyLong_AsLongLongAndOverflow(item, &overflow);
    if (PyLong_CheckExact(item) && !overflow) continue;
    if (i == 0 && (PyBool_Check(item) || is_numpy_bool(item) || !PyIndex_Check(item))) return kMisfit;
    if (overflow || !PyIndex_Check(item)) {
      raise_unpack(function, name, i, overflow ? nullptr : item);
      return kRaised;
    }
    plain = false;
  }
  if (plain) return o.get() == given ? kFits : replaced(o.release(), instead);
  Ref ints(PyTuple_New(n));
  for (Py_ssize_t i = 0; ints && i < n; ++i) {
    PyObject* index = PyNumber_Index(PyTuple_GET_ITEM(o.get(), i));
    if (!index) return kRaised;
    PyTuple_SET_ITEM(ints.get(), i, index);
  }
  return replaced(ints.release(), instead);
}

Fit fit_type(PyObject* o, Ref* instead) {
  constexpr std::pair<PyTypeObject*, DType> kTypes[] = {
      {&PyFloat_Type, DType::F64}, {&PyLong_Type, DType::I64}, {&PyBool_Type, DType::Bool}, {&PyComplex_Type, DType::C128}};
  if (registry.dtypes[0] && Py_TYPE(o) == Py_TYPE(registry.dtypes[0])) return kFits;
  for (const auto& [type, dtype] : kTypes) {
    if (o == as_object(type)) return replaced(Py_XNewRef(dtype_object(dtype)), instead);
  }
  return kMisfit;
}

// The other kinds are instances of a class of their own.
Fit fit_class(PyObject* o, uint16_t kinds) {
  constexpr std::pair<Takes::Kind, Callback Callbacks::*> kClasses[] = {{Takes::kGenerator, &Callbacks::Generator},
                                                                        {Takes::kLayout, &Callbacks::layout},
                                                                        {Takes::kDevice, &Callbacks::device},
                                                                        {Takes::kMemoryFormat, &Callbacks::memory_format}};
  for (const auto& [kind, wanted] : kClasses) {
    if (!(kinds & kind)) continue;
    PyObject* type = (callbacks.*wanted).get();
    const int is = type ? PyObject_IsInstance(o, type) : -1;
    if (is) return is < 0 ? kRaised : kFits;
  }
  return kMisfit;
}

Fit fit(PyObject* o, PyObject* function, const Takes::Row& row, Ref* instead) {
  const uint16_t kinds = row.kinds;
  if (o == Py_None) return kinds & Takes::kNone ? kFits : kMisfit;
  if (PyBool_Check(o)) {
    if (kinds & (Takes::kBool | Takes::kNumber)) return kFits;
    return kinds & Takes::kFloat ? replaced(PyNumber_Float(o), instead) : kMisfit;
  }
  if (PyLong_Check(o)) return kinds & Takes::kDevice ? kFits : fit_integer(o, kinds, instead);
  if (PyFloat_Check(o)) return kinds & (Takes::kNumber | Takes::kFloat) ? kFits : kMisfit;
  if (is_tensor(o)) return kinds & Takes::kTensor ? kFits : fit_element(o, kinds, instead);
  if (PyTuple_Check(o) || PyList_Check(o)) {
    if (kinds & Takes::kInts) {
      const Fit ints = fit_ints(o, function, row.name, instead);
      if (ints != kMisfit) return ints;
    }
    return kinds & Takes::kTensors ? kFits : kMisfit;
  }
  if (is_symbol(o)) return kFits;
  if (PyUnicode_Check(o)) return kinds & (Takes::kText | Takes::kDevice) ? kFits : kMisfit;
  if (PyComplex_Check(o)) return kinds & Takes::kNumber ? kFits : kMisfit;
  if (is_numpy_integer(o)) {
    if (!(kinds & (Takes::kInt | Takes::kNumber | Takes::kFloat))) return kMisfit;
    return replaced(kinds & (Takes::kInt | Takes::kNumber) ? PyNumber_Index(o) : PyNumber_Float(o), instead);
  }
  if (is_numpy_float(o) || is_numpy_bool(o)) {  // as torch reads NumPy's booleans
    return kinds & (Takes::kNumber | Takes::kFloat) ? replaced(PyNumber_Float(o), instead) : kMisfit;
  }
  if (is_numpy_complex(o)) return kinds & Takes::kNumber ? replaced(scalar_object(o), instead) : kMisfit;
  if (!(kinds & Takes::kType)) return fit_class(o, kinds);
  const Fit type = fit_type(o, instead);
  return type == kMisfit ? fit_class(o, kinds) : type;
}

}  // namespace

void forget_takes(Takes* takes) {
  for (Takes::Row& row : takes->rows) Py_DECREF(row.name);
  takes->rows.clear();
}

int learn_takes(PyObject* function, Takes* takes) {
  if (takes->known) return 0;
  PyObject* f = callbacks.takes.get();
  Ref said(f ? PyObject_CallOneArg(f, function) : nullptr);
  if (!said) return -1;
  PyObject* rows;
  int positional, rest;
  if (!PyArg_ParseTuple(said.get(), "O!ii", &PyTuple_Type, &rows, &positional, &rest)) return -1;
  if (takes->known) return 0;  // another thread has asked, too
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rows); ++i) {
    PyObject* name;
    int index, kinds;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(rows, i), "Uii", &name, &index, &kinds) || !(name = interned(name))) {
      forget_takes(takes);
      return -1;
    }
    takes->rows.push_back({name, index, static_cast<uint16_t>(kinds)});
  }
  takes->positional = positional;
  takes->rest = rest;
  takes->known = true;
  return 0;
}

void raise_misfit(PyObject* function, PyObject* name, int index, uint16_t kinds, PyObject* value) {
  PyErr_Format(PyExc_TypeError, "%s(): argument '%U' (position %d) must be %s, not %s", name_of(function).c_str(), name, index + 1,
               word_of(kinds), class_name(value).c_str());
}

int conform(PyObject* function, const Takes::Row& row, PyObject** value, Bound* bound) {
  Ref instead;
  switch (fit(*value, function, row, &instead)) {
    case kFits: return 0;
    case kRaised: return -1;
    case kMisfit: raise_misfit(function, row.name, row.index, row.kinds, *value); return -1;
    case kReplaced: break;
  }
  if (!bound->instead) bound->instead = Ref(PyList_New(0));
  if (!bound->instead || PyList_Append(bound->instead.get(), instead.get()) < 0) return -1;
  *value = instead.get();
  return 0;
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
    if (!n && !at && !slots[0]) slots[0] = (owned->var_args = Ref(PyTuple_New(0))).get();
  } else {
    if (n > op->n_positional) {
      PyErr_Format(PyExc_TypeError, "%s() takes %d positional argument%s but %zd were given", public_name(op).c_str(),
                   op->n_positional, op->n_positional == 1 ? "" : "s", n);
      return -1;
    }
    for (Py_ssize_t i = 0; i < n; ++i) slots[i] = args[i];
  }
  if (kwnames) {
    const Py_ssize_t nk = PyTuple_GET_SIZE(kwnames);
    for (Py_ssize_t k = 0; k < nk; ++k) {
      PyObject* keyword = PyTuple_GET_ITEM(kwnames, k);
      PyObject* value = args[n + k];
      const int i = find_name(keyword, op->n_params, [&](int p) { return op->params[p].name; });
      if (i < 0) {
        if (PyErr_Occurred()) return -1;
        if (op->result.takes_out && PyUnicode_CompareWithASCIIString(keyword, "out") == 0) {
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
    PyErr_Format(PyExc_TypeError, "%s() missing %d required positional arguments: %s", public_name(op).c_str(), n_missing,
                 missing.c_str());
    return -1;
  }
  // A tuple, as hooks and other threads could change a list between the checks and the call.
  if (op->list_param >= 0 && PyList_Check(slots[op->list_param])) {
    owned->tensors = Ref(PyList_AsTuple(slots[op->list_param]));
    if (!(slots[op->list_param] = owned->tensors.get())) return -1;
  }
  if (!op->takes.known && learn_takes(as_object(op), &op->takes) < 0) return -1;
  for (const Takes::Row& row : op->takes.rows) {
    if (slots[row.index] == op->params[row.index].fallback) continue;
    if (conform(as_object(op), row, &slots[row.index], owned) < 0) return -1;
  }
  return 0;
}

std::string public_name(Op* op) {
  const char* own = op_name(op);
  if (own[0] != '_' || !op->backward.node_type) return own;
  std::string name;
  const char* dot = strrchr(op->backward.node_type->tp_name, '.');
  const char* node = dot ? dot + 1 : op->backward.node_type->tp_name;
  const char* end = strstr(node, "Backward");
  if (!end) return own;
  for (const char* c = node; c < end; ++c) {
    if (*c >= 'A' && *c <= 'Z' && c > node) name += '_';
    name += *c >= 'A' && *c <= 'Z' ? static_cast<char>(*c - 'A' + 'a') : *c;
  }
  return name;
}

PyObject* explain(PyObject* function, bool method, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  // Whatever went wrong, torch would have looked at the types of the arguments first.
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return nullptr;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject* f = callbacks.explain.get();
  Ref said(f ? value ? PyObject_Str(value) : PyUnicode_FromString("") : nullptr);
  Ref given(said ? PyTuple_New(n) : nullptr);
  Ref named(given ? PyDict_New() : nullptr);
  bool ready = given && named;
  for (Py_ssize_t i = 0; ready && i < n; ++i) PyTuple_SET_ITEM(given.get(), i, Py_NewRef(args[i]));
  const Py_ssize_t n_named = ready && kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  for (Py_ssize_t i = 0; ready && i < n_named; ++i) {
    ready = PyDict_SetItem(named.get(), PyTuple_GET_ITEM(kwnames, i), args[n + i]) == 0;
  }
  Ref answer;
  if (ready) {
    PyObject* arguments[] = {function, method ? Py_True : Py_False, given.get(), named.get(), said.get()};
    answer = Ref(PyObject_Vectorcall(f, arguments, 5, nullptr));
  }
  if (!answer || answer.get() == Py_None) {
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    reword_memory_error();
    return nullptr;
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  if (PyTuple_Check(answer.get()) && PyTuple_GET_SIZE(answer.get()) == 2) {  // the arguments, in the order of today
    return PyObject_Call(function, PyTuple_GET_ITEM(answer.get(), 0), PyTuple_GET_ITEM(answer.get(), 1));
  }
  PyErr_SetObject(PyExc_TypeError, answer.get());
  return nullptr;
}

}  // namespace rushlight
