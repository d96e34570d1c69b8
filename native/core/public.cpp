// Public: what Tensor (and, of plain Python functions, a namespace) holds of a function of the table.
#include "core/op.h"

#include <structmember.h>

#include <new>
#include <utility>
#include <vector>

namespace rushlight {

namespace {

// The same call under a second name, which its errors count arguments by. Every attribute is the function's.
struct Public {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject* target;  // an Op or a Python function
  bool method;
  Takes takes;       // of a Python function
};

PyTypeObject* PublicType = nullptr;

bool is_list(PyObject* o) { return PyTuple_Check(o) || PyList_Check(o); }

PyObject* public_of_op(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  Public* p = reinterpret_cast<Public*>(self);
  Op* op = reinterpret_cast<Op*>(p->target);
  const Py_ssize_t n = PyVectorcall_NARGS(nargsf), at = op->n_positional - 1;
  PyObject* result = nullptr;
  if (!p->method && op->has_var_args && n > at && !is_list(args[at])) {
    raise_misfit(p->target, op->params[at].name, static_cast<int>(at), Takes::kInts, args[at]);  // dims one by one: of a method only
  } else {
    result = bind_and_call(op, args, n, kwnames);
  }
  return result ? result : explain(p->target, p->method, args, n, kwnames);
}

// A call of a Python function, with the arguments as it takes them.
struct Call {
  PyObject* const* args;
  size_t nargsf;
  PyObject* kwnames;
  std::vector<PyObject*> changed;
  Bound bound;
  Ref names;

  void set(Py_ssize_t i, Py_ssize_t n, PyObject* value) {
    if (changed.empty()) {
      changed.assign(args, args + n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0));
      args = changed.data();
      nargsf = static_cast<size_t>(n);
    }
    changed[i] = value;
  }

  int conform_at(PyObject* function, const Takes::Row& row, Py_ssize_t i, Py_ssize_t n) {
    PyObject* value = args[i];
    if (conform(function, row, &value, &bound) < 0) return -1;
    if (value != args[i]) set(i, n, value);
    return 0;
  }

  // NumPy's name of a parameter becomes torch's.
  int rename(Py_ssize_t k, PyObject* name) {
    Ref renamed(PyTuple_New(PyTuple_GET_SIZE(kwnames)));
    if (!renamed) return -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); ++i) {
      PyTuple_SET_ITEM(renamed.get(), i, Py_NewRef(i == k ? name : PyTuple_GET_ITEM(kwnames, i)));
    }
    names = std::move(renamed);
    kwnames = names.get();
    return 0;
  }

  // The sizes of f(2, 3) or f((2, 3)); a function of a tensor takes them in a list, its method either way.
  int read_rest(PyObject* function, const Takes& takes, bool method, Py_ssize_t n) {
    const Takes::Row& row = takes.rows[takes.rest];
    const Py_ssize_t at = takes.positional;
    if (n == at + 1 && (is_list(args[at]) || (at && !method))) return conform_at(function, row, at, n);
    for (Py_ssize_t i = at; i < n; ++i) {
      if (PyLong_CheckExact(args[i])) continue;
      if (conform_at(function, {row.name, static_cast<int>(i), Takes::kInt}, i, n) < 0) return -1;
    }
    return 0;
  }

  // -1 with an exception.
  int read(PyObject* function, const Takes& takes, bool method) {
    const Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if (takes.rest >= 0 && n > takes.positional && read_rest(function, takes, method, n) < 0) return -1;
    for (Py_ssize_t i = 0; i < n && i < takes.positional; ++i) {
      if (takes.rows[i].kinds && conform_at(function, takes.rows[i], i, n) < 0) return -1;
    }
    for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k) {
      const int i = find_name(PyTuple_GET_ITEM(kwnames, k), static_cast<int>(takes.rows.size()),
                              [&](int r) { return takes.rows[r].name; });
      if (i < 0) {
        if (PyErr_Occurred()) return -1;
        continue;
      }
      const Takes::Row& row = takes.rows[i];
      if (row.name != PyTuple_GET_ITEM(kwnames, k) && rename(k, row.name) < 0) return -1;
      if (row.kinds && conform_at(function, row, n + k, n) < 0) return -1;
    }
    return 0;
  }
};

PyObject* public_of_function(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  Public* p = reinterpret_cast<Public*>(self);
  if (!p->takes.known && learn_takes(p->target, &p->takes) < 0) return nullptr;
  Call call{args, nargsf, kwnames, {}, {}, {}};
  PyObject* result = nullptr;
  if (call.read(p->target, p->takes, p->method) == 0) result = PyObject_Vectorcall(p->target, call.args, call.nargsf, call.kwnames);
  return result ? result : explain(p->target, p->method, args, PyVectorcall_NARGS(nargsf), kwnames);
}

void public_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  PyTypeObject* type = Py_TYPE(self);
  Public* p = reinterpret_cast<Public*>(self);
  Py_CLEAR(p->target);
  forget_takes(&p->takes);
  p->takes.~Takes();
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
  // A method of tensors only: `class Net: act = torch.tanh` keeps the function, as with torch's built-in ones.
  if (!instance || !is_tensor(instance)) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}

PyMemberDef kPublicMembers[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Public, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

}  // namespace

PyObject* make_public(PyObject*, PyObject* args) {
  PyObject* target;
  int method;
  if (!PyArg_ParseTuple(args, "Op", &target, &method)) return nullptr;
  Public* p = PyObject_GC_New(Public, PublicType);
  if (!p) return nullptr;
  p->target = Py_NewRef(target);
  p->method = method != 0;
  new (&p->takes) Takes();
  p->vectorcall = Py_TYPE(target) == OpType ? public_of_op : public_of_function;
  PyObject_GC_Track(p);
  return as_object(p);
}

int init_public(PyObject* module) {
  const auto slot = [](auto f) { return reinterpret_cast<void*>(f); };
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
