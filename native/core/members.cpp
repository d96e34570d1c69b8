// Attributes of nn.Module: parameters, buffers and children are found without a call of Module.__getattr__.
//
// Python looks at the class and at the instance's __dict__; then it calls the class's __getattr__, which looks into the three dicts
// of members. That call costs as much as a small op, and a training step reads dozens of members. So a class whose __getattr__ is
// Module's own gets `member_getattro`, which does the same in C, as its tp_getattro. Python takes it off again by itself: it computes
// that slot anew for each subclass, and for a class and all below it when __getattr__ or __getattribute__ is put on it or its bases.
// So one that a program writes is always called.
#include "core/core.h"

namespace rushlight {
namespace {

PyObject* kGetattr = PyUnicode_InternFromString("__getattr__");
PyObject* kGetattribute = PyUnicode_InternFromString("__getattribute__");
PyObject* const kRegistries[] = {PyUnicode_InternFromString("_parameters"), PyUnicode_InternFromString("_buffers"),
                                 PyUnicode_InternFromString("_modules")};

// The instance's own attribute: from __dict__ or a registry of members. A new reference; nullptr
// without an error where there is none, or where a registry is a subclass of dict.
PyObject* own_attribute(PyObject* self, PyObject* name) {
  Ref attributes(PyObject_GenericGetDict(self, nullptr));
  if (!attributes) return nullptr;
  Ref found = found_in(attributes.get(), name);
  for (PyObject* registry : kRegistries) {
    if (found || PyErr_Occurred()) break;
    const Ref members = found_in(attributes.get(), registry);
    if (!members || !PyDict_CheckExact(members.get())) break;
    if (PyDict_GET_SIZE(members.get())) found = found_in(members.get(), name);
  }
  return found.release();
}

// What the class or a base has of that name.
Ref of_class(PyTypeObject* type, PyObject* name) {
#ifdef Py_GIL_DISABLED
  return Ref(_PyType_LookupRef(type, name));
#else
  return Ref::borrow(_PyType_Lookup(type, name));
#endif
}

PyObject* member_getattro(PyObject* self, PyObject* name) {
  PyTypeObject* type = Py_TYPE(self);
  if (!of_class(type, name)) {
    PyObject* found = own_attribute(self, name);
    if (found || PyErr_Occurred()) return found;
  }
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyErr_Clear();  // before the look-up, which takes a pending error for its own
  const Ref getattr = of_class(type, kGetattr);
  return PyObject_CallFunctionObjArgs(getattr.get(), self, name, nullptr);
}

}  // namespace

// find_members(cls, getattr): looks members up in C for instances of a class whose __getattr__ is the function `getattr`.
PyObject* find_members(PyObject*, PyObject* args) {
  PyObject *cls, *getattr;
  if (!PyArg_ParseTuple(args, "O!O", &PyType_Type, &cls, &getattr)) return nullptr;
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  if (type->tp_getattro != member_getattro && PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && PyFunction_Check(getattr) &&
      of_class(type, kGetattr).get() == getattr &&
      of_class(type, kGetattribute).get() == of_class(&PyBaseObject_Type, kGetattribute).get()) {
    type->tp_getattro = member_getattro;
    PyType_Modified(type);
  }
  Py_RETURN_NONE;
}

}  // namespace rushlight
