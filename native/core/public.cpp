// Public: what Tensor (and, of plain Python functions, a namespace) holds of a function of the table.
#include "core/op.h"

#include <structmember.h>

namespace rushlight {

namespace {

// The same call under a second name, which its errors count arguments by. Every attribute is the function's.
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

PyObject* public_of_function(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
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
