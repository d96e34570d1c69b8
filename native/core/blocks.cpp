// The two ends of a `with` block that sets a mode. A KeyboardInterrupt may come between any two instructions of a Python method: of
// `__enter__` after the mode is on, when `__exit__` is not called, and of `__exit__` before the
// mode is off. So the ends are C functions, or C functions call the ends and restore the mode.
#include "core/blocks.h"

#include <cstddef>

#include "structmember.h"

namespace rushlight {

namespace {

// A method whose function is called whole: where it ends by what is no Exception, an interrupt, `undo` is called for the same
// object, and a beginning gets this thread's modes back that it had before.
struct Whole {
  PyObject_HEAD PyObject* function;
  PyObject* undo;
  bool begins;
  vectorcallfunc vectorcall;
};

PyTypeObject* whole_type = nullptr;
PyObject *on_name = nullptr, *prev_name = nullptr;  // interned "_on", "prev"

PyObject* whole_call(PyObject* o, PyObject* const* args, size_t nargsf, PyObject* names) {
  const Whole* self = reinterpret_cast<Whole*>(o);
  const bool grad_enabled = tls.grad_enabled, inference = tls.inference;
  const uint32_t transform = tls.transform, derivative = tls.derivative;
  const Overrides overrides = tls.overrides;
  Ref hooks(self->begins ? Py_XNewRef(tls.saved_hooks) : nullptr);
  const Ref function(Py_NewRef(self->function)), undo(Py_NewRef(self->undo));
  const bool begins = self->begins;
  PyObject* result = PyObject_Vectorcall(function.get(), args, nargsf, names);
  if (result || PyErr_ExceptionMatches(PyExc_Exception) || PyVectorcall_NARGS(nargsf) == 0) return result;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  if (!Ref(PyObject_CallOneArg(undo.get(), args[0]))) PyErr_Clear();
  if (begins) {
    tls.grad_enabled = grad_enabled;
    tls.inference = inference;
    tls.transform = transform;
    tls.derivative = derivative;
    tls.overrides = overrides;
    Py_XDECREF(std::exchange(tls.saved_hooks, hooks.release()));
  }
  PyErr_Restore(type, value, trace);
  return nullptr;
}

PyObject* whole_bound(PyObject* self, PyObject* o, PyObject*) {
  return o && o != Py_None ? PyMethod_New(self, o) : Py_NewRef(self);
}

int whole_traverse(PyObject* o, visitproc visit, void* arg) {
  Whole* self = reinterpret_cast<Whole*>(o);
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(self->function);
  Py_VISIT(self->undo);
  return 0;
}

int whole_clear(PyObject* o) {
  Whole* self = reinterpret_cast<Whole*>(o);
  Py_CLEAR(self->function);
  Py_CLEAR(self->undo);
  return 0;
}

void whole_dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  PyObject_GC_UnTrack(o);
  whole_clear(o);
  type->tp_free(o);
  Py_DECREF(type);
}

PyObject* made(PyObject* function, PyObject* undo, bool begins) {
  Whole* self = reinterpret_cast<Whole*>(whole_type->tp_alloc(whole_type, 0));
  if (!self) return nullptr;
  self->function = Py_NewRef(function);
  self->undo = Py_NewRef(undo);
  self->begins = begins;
  self->vectorcall = whole_call;
  return reinterpret_cast<PyObject*>(self);
}

// beginning(function, undo): an `__enter__`. ending(function): an `__exit__`, called again where an interrupt ended it.
PyObject* beginning(PyObject*, PyObject* args) {
  PyObject *function, *undo;
  return PyArg_ParseTuple(args, "OO", &function, &undo) ? made(function, undo, true) : nullptr;
}
PyObject* ending(PyObject*, PyObject* function) { return made(function, function, false); }

// c_method(function): a C function as a method of a class.
PyObject* c_method(PyObject*, PyObject* function) { return PyInstanceMethod_New(function); }

// begin_grad(block): sets what the block's class says, and keeps in `prev` what it was. end_grad(block, *exc) sets that again.
PyObject* begin_grad(PyObject*, PyObject* block) {
  const Ref on(PyObject_GetAttr(block, on_name));
  const int value = on ? PyObject_IsTrue(on.get()) : -1;
  if (value < 0 || PyObject_SetAttr(block, prev_name, tls.grad_enabled ? Py_True : Py_False) < 0) return nullptr;
  tls.grad_enabled = value;
  Py_RETURN_NONE;
}
PyObject* end_grad(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count == 0) return PyErr_Format(PyExc_TypeError, "end_grad(block, *exception)");
  const Ref prev(PyObject_GetAttr(args[0], prev_name));
  const int value = prev ? PyObject_IsTrue(prev.get()) : -1;
  if (value < 0) return nullptr;
  tls.grad_enabled = value;
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef kBlockFunctions[] = {
    {"beginning", method_of<beginning>(), METH_VARARGS, "An `__enter__` that leaves no mode on where it is interrupted."},
    {"ending", method_of<ending>(), METH_O, "An `__exit__` that leaves no mode on where it is interrupted."},
    {"c_method", method_of<c_method>(), METH_O, "A C function as a method."},
    {"begin_grad", method_of<begin_grad>(), METH_O, "The `__enter__` of no_grad and enable_grad."},
    {"end_grad", method_of<end_grad>(), METH_FASTCALL, "Their `__exit__`."},
    {nullptr, nullptr, 0, nullptr},
};

namespace {

PyMemberDef kMembers[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Whole, vectorcall), READONLY, nullptr},
    {"__wrapped__", T_OBJECT, offsetof(Whole, function), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kSlots[] = {
    {Py_tp_call, slot_of<PyVectorcall_Call>()},
    {Py_tp_descr_get, slot_of<whole_bound>()},
    {Py_tp_traverse, slot_of<whole_traverse>()},
    {Py_tp_clear, slot_of<whole_clear>()},
    {Py_tp_dealloc, slot_of<whole_dealloc>()},
    {Py_tp_members, kMembers},
    {0, nullptr},
};

PyType_Spec kSpec = {"rushlight._core.Whole", sizeof(Whole), 0,
                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                     kSlots};

}  // namespace

int init_blocks() {
  whole_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&kSpec));
  on_name = PyUnicode_InternFromString("_on");
  prev_name = PyUnicode_InternFromString("prev");
  return whole_type && on_name && prev_name ? 0 : -1;
}

}  // namespace rushlight
