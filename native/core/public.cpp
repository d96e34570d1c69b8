// Public: what Tensor (and, of plain Python functions, a namespace) holds of a function. Attribute: what Tensor holds of a
// property. Both are what a program's `__torch_function__` is told of.
#include "core/op.h"

#include "core/override.h"

#include <structmember.h>

namespace rushlight {

namespace {

// The same call under a second name, which its errors count arguments by. Every attribute is the function's.
struct Public {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject* target;  // an Op or a Python function
  bool method;
  Asks asks;
};

PyTypeObject* PublicType = nullptr;

PyObject* public_of_op(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  PyObject* target = reinterpret_cast<Public*>(self)->target;
  const Py_ssize_t n = PyVectorcall_NARGS(nargsf);
  const bool lists = reinterpret_cast<Op*>(target)->list_param >= 0;
  PyObject* result;
  if (may_override(args, n, kwnames, lists) && overridden(self, Asks::All, args, n, kwnames, lists, &result)) return result;
  result = bind_and_call(reinterpret_cast<Op*>(target), args, n, kwnames);
  if (!result) explain(target, true, args, n, kwnames);
  return result;
}

// Whether argument `i` of a Python function is a number that becomes an element, which may be wider than a size.
bool takes_element(PyObject* function, Py_ssize_t i) {
  static const char* const kElements[] = {"value", "fill_value", "src", "other", "min", "max"};
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Ref code(PyObject_GetAttrString(function, "__code__"));
  Ref names(code ? PyObject_GetAttrString(code.get(), "co_varnames") : nullptr);
  PyErr_Clear();
  PyErr_Restore(type, value, traceback);
  if (!names || i >= PyTuple_GET_SIZE(names.get())) return false;
  for (const char* name : kElements) {
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names.get(), i), name) == 0) return true;
  }
  return false;
}

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

PyObject* run_explained(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  Public* p = reinterpret_cast<Public*>(self);
  const Py_ssize_t n = PyVectorcall_NARGS(nargsf);
  if (n > 1 && is_tensor(args[0])) {
    // Sizes and counts beyond all memory: Python code would set out to make them.
    for (Py_ssize_t i = 1; i < n; ++i) {
      if (check_width(args[i]) == 0) continue;
      if (!takes_element(p->target, i)) return nullptr;
      PyErr_Clear();
    }
  }
  PyObject* result = PyObject_Vectorcall(p->target, args, nargsf, kwnames);
  if (!result) explain(p->target, p->method, args, n, kwnames);
  return result;
}

PyObject* run_as_it_is(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  return PyObject_Vectorcall(reinterpret_cast<Public*>(self)->target, args, nargsf, kwnames);
}

PyObject* public_of(PyObject* target, vectorcallfunc call, bool method, Asks asks) {
  Public* p = PyObject_GC_New(Public, PublicType);
  if (!p) return nullptr;
  p->target = Py_NewRef(target);
  p->vectorcall = call;
  p->method = method;
  p->asks = asks;
  PyObject_GC_Track(p);
  return as_object(p);
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
  if (PyUnicode_CompareWithASCIIString(name, "_asks") == 0) return PyLong_FromLong(static_cast<long>(reinterpret_cast<Public*>(self)->asks));
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
  PyObject_HEAD
  PyObject *name, *get, *set, *doc;  // set: nullptr where it is read only
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
  PyObject* set = as_attribute(self)->set;
  if (!set || !value) {
    PyErr_Format(PyExc_AttributeError, "attribute '%U' of 'torch._C.TensorBase' objects is not writable", as_attribute(self)->name);
    return -1;
  }
  if (is_plain(instance) || !attribute_overridden(instance, self, "__set__", value, &result)) {
    PyObject* args[] = {instance, value};
    result = PyObject_Vectorcall(set, args, 2, nullptr);
  }
  Py_XDECREF(result);
  return result ? 0 : -1;
}

PyObject* attribute_repr(PyObject* self) {
  return PyUnicode_FromFormat("<attribute '%U' of 'torch._C.TensorBase' objects>", as_attribute(self)->name);
}

PyObject* attribute_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *name, *get, *set, *doc;
  if (!PyArg_ParseTuple(args, "UOOO", &name, &get, &set, &doc)) return nullptr;
  Attribute* a = as_attribute(type->tp_alloc(type, 0));
  if (!a) return nullptr;
  a->name = Py_NewRef(name);
  a->get = Py_NewRef(get);
  a->set = set == Py_None ? nullptr : Py_NewRef(set);
  a->doc = Py_NewRef(doc);
  return as_object(a);
}

int attribute_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_attribute(self)->get);
  Py_VISIT(as_attribute(self)->set);
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
  PyObject* target;
  int method, number = 0;
  Asks asks;
  if (!PyArg_ParseTuple(args, "Op|i", &target, &method, &number) || !read_asks(number, &asks)) return nullptr;
  return public_of(target, Py_TYPE(target) == OpType ? public_of_op : after_gate<run_explained>, method != 0, asks);
}

// overridable(function, asks=0): a function whose errors are its own, with a gate.
PyObject* make_overridable(PyObject*, PyObject* args) {
  PyObject* target;
  int number = 0;
  Asks asks;
  if (!PyArg_ParseTuple(args, "O|i", &target, &number) || !read_asks(number, &asks)) return nullptr;
  return public_of(target, after_gate<run_as_it_is>, false, asks);
}

// changed_public(public, function): the same Public of another function.
PyObject* changed_public(PyObject*, PyObject* args) {
  PyObject *public_, *function;
  if (!PyArg_ParseTuple(args, "O!O", PublicType, &public_, &function)) return nullptr;
  const Public* p = reinterpret_cast<Public*>(public_);
  return public_of(function, p->vectorcall == public_of_op ? after_gate<run_explained> : p->vectorcall, p->method, p->asks);
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
  static PyType_Slot attribute_slots[] = {
      {Py_tp_new, slot(attribute_new)},
      {Py_tp_dealloc, slot(attribute_dealloc)},
      {Py_tp_traverse, slot(attribute_traverse)},
      {Py_tp_repr, slot(attribute_repr)},
      {Py_tp_descr_get, slot(attribute_get)},
      {Py_tp_descr_set, slot(attribute_set)},
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
