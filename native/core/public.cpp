// Public: the object that Tensor holds for a function, and a namespace for a plain Python function. Attribute: the object that Tensor
// holds for a property. A program's `__torch_function__` is given these objects.
#include "core/layout.h"
#include "core/op.h"

#include "core/override.h"
#include "core/record.h"
#include "core/remembered.h"

#include <structmember.h>

#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace rushlight {

namespace {

// The same call under a second name, which its errors count arguments by. Every attribute is the function's.
struct Public {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* target;  // an Op or a Python function
  PyObject* native;  // nullptr, or what is asked before the function, with the arguments as given; NotImplemented: the function
  RememberedCalls* remembered;  // nullptr, or the calls of a Python function that ends in remember()
  bool method;
  Asks asks;
  Takes takes;  // of a Python function
};

PyTypeObject* PublicType = nullptr;

PyObject* public_of_op(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  Public* p = reinterpret_cast<Public*>(self);
  Op* op = reinterpret_cast<Op*>(p->target);
  const Py_ssize_t n = PyVectorcall_NARGS(nargsf), at = op->n_positional - 1;
  const bool lists = takes_lists(op);
  PyObject* result;
  if (may_override(args, n, kwnames, lists) && overridden(self, Asks::All, args, n, kwnames, lists, &result)) return result;
  result = nullptr;
  const bool sizes = !p->method && op->has_var_args && at;
  if (sizes && n > at + 1) {
    PyErr_Format(PyExc_TypeError, "%s() takes %zd positional arguments but %zd were given", public_name(op).c_str(), at + 1, n);
  } else if (sizes && n > at && !is_list(args[at])) {
    raise_misfit(p->target, op->params[at].name, static_cast<int>(at), Takes::kInts,
                 args[at]);  // dims one by one: of a method only
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
      if (PyLong_CheckExact(args[i])) {
        int overflow;
        PyLong_AsLongLongAndOverflow(args[i], &overflow);
        if (!overflow) continue;
        raise_unpack(function, row.name, i - at, nullptr);
        return -1;
      }
      // As torch reads all but the first, a bool is a size of 1 or 0; and an array of one whole number is that.
      const bool truth = i > at && PyBool_Check(args[i]);
      if (truth || is_array(args[i])) {
        const Ref number(truth ? PyNumber_Long(args[i]) : PyNumber_Index(args[i]));
        if (!number && !truth && PyErr_ExceptionMatches(PyExc_TypeError)) {
          PyErr_Clear();
          if (i > at) raise_unpack(function, row.name, i - at, args[i]);
          else conform_at(function, {row.name, static_cast<int>(i), Takes::kInt}, i, n);  // raises
          return -1;
        }
        if (!bound.instead) bound.instead = Ref(PyList_New(0));
        if (!number || !bound.instead || PyList_Append(bound.instead.get(), number.get()) < 0) return -1;
        set(i, n, number.get());
        continue;
      }
      if (i > at && !PyIndex_Check(args[i])) {
        raise_unpack(function, row.name, i - at, args[i]);
        return -1;
      }
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

// A call of a Python function past its gate: of one that does not ask classes, nothing inside asks either.
template <vectorcallfunc run>
PyObject* after_gate(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  const Py_ssize_t n = PyVectorcall_NARGS(nargsf);
  if (!may_override(args, n, kwnames, true)) return run(self, args, nargsf, kwnames);
  const Asks asks = reinterpret_cast<Public*>(self)->asks;
  PyObject* result;
  if (overridden(self, asks, args, n, kwnames, true, &result)) return result;
  if (asks == Asks::All) return run(self, args, nargsf, kwnames);
  const OverridesOf quiet(Overrides::None);
  return run(self, args, nargsf, kwnames);
}

PyObject* run_plain(Public* p, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  if (!p->takes.known && learn_takes(p->target, &p->takes) < 0) return nullptr;
  Call call{args, nargsf, kwnames, {}, {}, {}};
  if (call.read(p->target, p->takes, p->method) < 0) return nullptr;
  return PyObject_Vectorcall(p->target, call.args, call.nargsf, call.kwnames);
}

PyObject* run_remembered(Public* p, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  const Py_ssize_t n = PyVectorcall_NARGS(nargsf);
  const CallKey key(args, n, kwnames);
  if (key.n) {
    PyObject* result = p->remembered->call(key, args);
    if (result || PyErr_Occurred()) return result;
  }
  Remembering said;
  PyObject* result = run_plain(p, args, nargsf, kwnames);
  if (result) said.keep(*p->remembered, key, args, n, kwnames, result);
  return result;
}

// A call that the core may make itself, as factories, is an op of the records.
PyObject* run_explained(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  Public* p = reinterpret_cast<Public*>(self);
  std::optional<Record> run;
  if (observed() && p->native && observing & kRecords)
    run.emplace().begin(SpotKind::Op, self, program_site(), args, PyVectorcall_NARGS(nargsf));
  if (p->native) {
    PyObject* made = PyObject_Vectorcall(p->native, args, nargsf, kwnames);
    if (made != Py_NotImplemented) return made;
    Py_DECREF(made);
  }
  PyObject* result = p->remembered ? run_remembered(p, args, nargsf, kwnames) : run_plain(p, args, nargsf, kwnames);
  return result ? result : explain(p->target, p->method, args, PyVectorcall_NARGS(nargsf), kwnames);
}

PyObject* run_as_it_is(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  return PyObject_Vectorcall(reinterpret_cast<Public*>(self)->target, args, nargsf, kwnames);
}

PyObject* public_of(PyObject* target, vectorcallfunc call, bool method, Asks asks, PyObject* native = nullptr,
                    bool remembers = false) {
  Public* p = PyObject_GC_New(Public, PublicType);
  if (!p) return nullptr;
  p->target = Py_NewRef(target);
  p->native = Py_XNewRef(native);
  p->remembered = remembers ? new RememberedCalls() : nullptr;
  p->vectorcall = call;
  p->method = method;
  p->asks = asks;
  new (&p->takes) Takes();
  PyObject_GC_Track(p);
  return as_object(p);
}

void public_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  PyTypeObject* type = Py_TYPE(self);
  Public* p = reinterpret_cast<Public*>(self);
  Py_CLEAR(p->target);
  Py_CLEAR(p->native);
  delete p->remembered;
  forget_takes(&p->takes);
  p->takes.~Takes();
  type->tp_free(self);
  Py_DECREF(type);
}

int public_traverse(PyObject* self, visitproc visit, void* arg) {
  const Public* p = reinterpret_cast<Public*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(p->target);
  return p->remembered ? p->remembered->visit(visit, arg) : 0;
}

PyObject* public_getattr(PyObject* self, PyObject* name) {
  PyObject* target = reinterpret_cast<Public*>(self)->target;
  if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0) return Py_NewRef(target);
  if (PyUnicode_CompareWithASCIIString(name, "_method") == 0) return PyBool_FromLong(reinterpret_cast<Public*>(self)->method);
  // Made when asked for: ops/table/documentation.py.
  for (const char* made : {"__doc__", "__signature__", "__annotations__"}) {
    if (PyUnicode_CompareWithASCIIString(name, made) == 0) return PyObject_GenericGetAttr(self, name);
  }
  if (PyUnicode_CompareWithASCIIString(name, "_asks") == 0)
    return PyLong_FromLong(static_cast<long>(reinterpret_cast<Public*>(self)->asks));
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

// A property of Tensor.
struct Attribute {
  PyObject_HEAD PyObject *name, *get, *set, *remove, *doc;  // set, remove: nullptr where that is refused
};

PyTypeObject* AttributeType = nullptr;

Attribute* as_attribute(PyObject* o) { return reinterpret_cast<Attribute*>(o); }

PyObject* attribute_get(PyObject* self, PyObject* instance, PyObject*) {
  if (!instance) return Py_NewRef(self);
  PyObject* result;
  if (!is_plain(instance) && attribute_overridden(instance, self, "__get__", nullptr, &result)) return result;
  return PyObject_CallOneArg(as_attribute(self)->get, instance);
}

int attribute_set(PyObject* self, PyObject* instance, PyObject* value) {
  PyObject* result;
  PyObject* how = value ? as_attribute(self)->set : as_attribute(self)->remove;
  if (!how) {
    PyErr_Format(PyExc_AttributeError, "attribute '%U' of 'torch._C.TensorBase' objects is not writable", as_attribute(self)->name);
    return -1;
  }
  if (is_plain(instance) || !attribute_overridden(instance, self, value ? "__set__" : "__delete__", value, &result)) {
    PyObject* args[] = {instance, value};
    result = PyObject_Vectorcall(how, args, value ? 2 : 1, nullptr);
  }
  Py_XDECREF(result);
  return result ? 0 : -1;
}

PyObject* attribute_repr(PyObject* self) {
  return PyUnicode_FromFormat("<attribute '%U' of 'torch._C.TensorBase' objects>", as_attribute(self)->name);
}

PyObject* attribute_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *name, *get, *set, *remove, *doc;
  if (!PyArg_ParseTuple(args, "UOOOO", &name, &get, &set, &remove, &doc)) return nullptr;
  Attribute* a = as_attribute(type->tp_alloc(type, 0));
  if (!a) return nullptr;
  a->name = Py_NewRef(name);
  a->get = Py_NewRef(get);
  a->set = set == Py_None ? nullptr : Py_NewRef(set);
  a->remove = remove == Py_None ? nullptr : Py_NewRef(remove);
  a->doc = Py_NewRef(doc);
  return as_object(a);
}

int attribute_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_attribute(self)->get);
  Py_VISIT(as_attribute(self)->set);
  Py_VISIT(as_attribute(self)->remove);
  Py_VISIT(as_attribute(self)->doc);
  return 0;
}

void attribute_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  PyTypeObject* type = Py_TYPE(self);
  Attribute* a = as_attribute(self);
  Py_CLEAR(a->name);
  Py_CLEAR(a->get);
  Py_CLEAR(a->set);
  Py_CLEAR(a->remove);
  Py_CLEAR(a->doc);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMemberDef kAttributeMembers[] = {
    {"__name__", T_OBJECT, offsetof(Attribute, name), READONLY, nullptr},
    {"__doc__", T_OBJECT, offsetof(Attribute, doc), 0, nullptr},
    {"fget", T_OBJECT, offsetof(Attribute, get), READONLY, nullptr},
    {"fset", T_OBJECT, offsetof(Attribute, set), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

}  // namespace

namespace {

bool read_asks(int number, Asks* asks) {
  if (number < 0 || number > static_cast<int>(Asks::Nobody)) {
    PyErr_SetString(PyExc_ValueError, "asks is 0 (all), 1 (modes) or 2 (nobody)");
    return false;
  }
  *asks = static_cast<Asks>(number);
  return true;
}

}  // namespace

PyObject* make_public(PyObject*, PyObject* args) {
  PyObject *target, *native = Py_None;
  int method, number = 0, remembers = 0;
  Asks asks;
  if (!PyArg_ParseTuple(args, "Op|iOp", &target, &method, &number, &native, &remembers) || !read_asks(number, &asks))
    return nullptr;
  return public_of(target, Py_TYPE(target) == OpType ? guarded<public_of_op> : guarded<after_gate<run_explained>>, method != 0,
                   asks, native == Py_None ? nullptr : native, remembers != 0);
}

// overridable(function, asks=0): a function whose errors are its own, with a gate.
PyObject* make_overridable(PyObject*, PyObject* args) {
  PyObject* target;
  int number = 0;
  Asks asks;
  if (!PyArg_ParseTuple(args, "O|i", &target, &number) || !read_asks(number, &asks)) return nullptr;
  return public_of(target, guarded<after_gate<run_as_it_is>>, false, asks);
}

int init_public(PyObject* module) {
  static PyType_Slot public_slots[] = {
      {Py_tp_doc, const_cast<char*>("A function of the table as programs see it.")},
      {Py_tp_dealloc, slot_of<public_dealloc>()},
      {Py_tp_traverse, slot_of<public_traverse>()},
      {Py_tp_repr, slot_of<public_repr>()},
      {Py_tp_call, slot_of<PyVectorcall_Call>()},
      {Py_tp_getattro, slot_of<public_getattr>()},
      {Py_tp_setattro, slot_of<public_setattr>()},
      {Py_tp_descr_get, slot_of<public_descr_get>()},
      {Py_tp_members, kPublicMembers},
      {0, nullptr},
  };
  static PyType_Spec public_spec = {"rushlight._core.Public", sizeof(Public), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                        Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                    public_slots};
  PublicType = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &public_spec, nullptr));
  if (!PublicType) return -1;
  static PyType_Slot attribute_slots[] = {
      {Py_tp_new, slot_of<attribute_new>()},
      {Py_tp_dealloc, slot_of<attribute_dealloc>()},
      {Py_tp_traverse, slot_of<attribute_traverse>()},
      {Py_tp_repr, slot_of<attribute_repr>()},
      {Py_tp_descr_get, slot_of<attribute_get>()},
      {Py_tp_descr_set, slot_of<attribute_set>()},
      {Py_tp_members, kAttributeMembers},
      {0, nullptr},
  };
  static PyType_Spec attribute_spec = {"rushlight._core.Attribute", sizeof(Attribute), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                                       attribute_slots};
  AttributeType = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &attribute_spec, nullptr));
  if (!AttributeType || PyModule_AddObjectRef(module, "Attribute", as_object(AttributeType)) < 0) return -1;
  return PyModule_AddObjectRef(module, "Public", as_object(PublicType));
}

}  // namespace rushlight
