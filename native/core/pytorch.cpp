// PyTorch in the same process; see the note in pytorch.h. Nothing here needs PyTorch, or looks for it: its types are told by name.
#include "core/pytorch.h"

#include <cstring>

#include "core/callbacks.h"
#include "core/core.h"

namespace rushlight {

namespace {

constexpr const char* kTensorBase = "torch._C.TensorBase";
constexpr int kDepth = 8;  // of lists in lists

bool begins(const char* text, const char* with) { return !strncmp(text, with, strlen(with)); }

// Whether a type is compiled and PyTorch's, with a module in the name. This library's types with
// such names are heap types.
bool is_compiled(PyTypeObject* type) { return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) && begins(type->tp_name, "torch."); }

// Whether a module's name is torch or that of a module in torch. This library's modules keep their own names.
bool names_torch(PyObject* name) {
  const char* text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (!text) PyErr_Clear();
  return text && (!strcmp(text, "torch") || begins(text, "torch."));
}

Ref named(PyObject* dict, const char* name) {
  const Ref key(PyUnicode_FromString(name));
  Ref found = key ? found_in(dict, key.get()) : Ref();
  PyErr_Clear();
  return found;
}

// Whether PyTorch's compiled module has the function in a class of its functions; they have neither a module nor a class.
bool is_variable_function(PyObject* func) {
  PyObject* modules = PyImport_GetModuleDict();
  const Ref compiled = modules ? named(modules, "torch._C") : Ref();
  const Ref functions(compiled ? PyObject_GetAttrString(compiled.get(), "_VariableFunctions") : nullptr);
  const Ref name(functions ? PyObject_GetAttrString(func, "__name__") : nullptr);
  const Ref found(name ? PyObject_GetAttr(functions.get(), name.get()) : nullptr);
  PyErr_Clear();
  return found.get() == func;
}

using Take = PyObject* (*)(PyObject*);

// `o` with `take` applied to the objects in lists, tuples and dicts; `o` itself if unchanged.
PyObject* taken(PyObject* o, Take take, int depth) {
  if (PyDict_CheckExact(o) && depth) {
    Ref copy(PyDict_Copy(o)), keys(copy ? PyDict_Keys(copy.get()) : nullptr);
    bool changed = false;
    for (Py_ssize_t i = 0; keys && i < PyList_GET_SIZE(keys.get()); ++i) {
      PyObject* key = PyList_GET_ITEM(keys.get(), i);
      const Ref before = Ref::borrow(PyDict_GetItemWithError(copy.get(), key));
      const Ref now(before ? taken(before.get(), take, depth - 1) : nullptr);
      if (!now || PyDict_SetItem(copy.get(), key, now.get()) < 0) return nullptr;
      changed |= now.get() != before.get();
    }
    return !keys ? nullptr : changed ? copy.release() : Py_NewRef(o);
  }
  if ((PyTuple_CheckExact(o) || PyList_CheckExact(o)) && depth) {
    Ref items(PySequence_List(o));
    bool changed = false;
    for (Py_ssize_t i = 0; items && i < PyList_GET_SIZE(items.get()); ++i) {
      const Ref before = Ref::borrow(PyList_GET_ITEM(items.get(), i));
      PyObject* now = taken(before.get(), take, depth - 1);
      if (!now) return nullptr;
      changed |= now != before.get();
      PyList_SetItem(items.get(), i, now);
    }
    if (!items || !changed) return items ? Py_NewRef(o) : nullptr;
    return PyTuple_Check(o) ? PyList_AsTuple(items.get()) : items.release();
  }
  return take(o);
}

PyObject* call_taking(PyObject* func, PyObject* args, PyObject* kwargs, Take take) {
  const Ref given(taken(args, take, kDepth));
  const Ref named(given && kwargs ? taken(kwargs, take, kDepth) : nullptr);
  return given && (named || !kwargs) ? PyObject_Call(func, given.get(), named.get()) : nullptr;
}

PyObject* to_ours(PyObject* o) {
  if (!is_pytorchs_tensor(Py_TYPE(o))) return Py_NewRef(o);
  PyObject* f = callbacks.take_pytorchs.get();
  return f ? PyObject_CallOneArg(f, o) : nullptr;
}

PyObject* to_pytorchs(PyObject* o) {
  if (!is_tensor(o)) return Py_NewRef(o);
  PyObject* modules = PyImport_GetModuleDict();  // whose function it is has been imported
  const Ref torch = modules ? named(modules, "torch") : Ref();
  if (!torch && !PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "PyTorch is no longer in sys.modules");
  return torch ? PyObject_CallMethod(torch.get(), "from_dlpack", "O", o) : nullptr;
}

}  // namespace

bool is_pytorchs_tensor(PyTypeObject* type) {
  PyObject* mro = type->tp_mro;
  for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); ++i) {
    if (!strcmp(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i))->tp_name, kTensorBase)) return true;
  }
  return false;
}

bool is_pytorchs_function(PyObject* func) {
  if (PyFunction_Check(func)) {
    PyObject* globals = PyFunction_GET_GLOBALS(func);
    return globals && names_torch(named(globals, "__name__").get());
  }
  if (Py_TYPE(func) == &PyMethodDescr_Type || Py_TYPE(func) == &PyWrapperDescr_Type) {
    return is_compiled(PyDescr_TYPE(func));
  }
  if (!strcmp(Py_TYPE(func)->tp_name, "method-wrapper")) {  // the __get__ of an attribute; its type is private from Python 3.13 on
    const Ref attribute(PyObject_GetAttrString(func, "__self__"));
    if (!attribute) PyErr_Clear();
    return attribute && Py_TYPE(attribute.get()) == &PyGetSetDescr_Type && is_compiled(PyDescr_TYPE(attribute.get()));
  }
  if (!PyCFunction_Check(func)) return false;
  PyObject* self = PyCFunction_GET_SELF(func);
  if (!self) return is_variable_function(func);
  const char* module = PyModule_Check(self) ? PyModule_GetName(self) : nullptr;
  if (!module) PyErr_Clear();
  return module && begins(module, "torch._C");
}

std::string class_name(PyObject* o) {
  const std::string name = Py_TYPE(o)->tp_name;
  return is_compiled(Py_TYPE(o)) || is_pytorchs_tensor(Py_TYPE(o)) ? name + " of PyTorch" : name;
}

PyObject* call_with_ours(PyObject* func, PyObject* args, PyObject* kwargs) { return call_taking(func, args, kwargs, to_ours); }

PyObject* call_of_pytorchs(PyObject* func, PyObject* args, PyObject* kwargs) {
  const Ref name(PyObject_GetAttrString(func, "__name__"));
  if (!name) PyErr_Clear();
  const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : "a function";
  if (!text) return nullptr;
  const size_t n = strlen(text);
  if (n > 1 && text[n - 1] == '_' && text[n - 2] != '_') return call_taking(func, args, kwargs, to_pytorchs);
  PyErr_Format(PyExc_TypeError,
               "%s() of PyTorch was given a tensor of rushlight. PyTorch's torch.from_dlpack(t) is a tensor of PyTorch on the same "
               "memory.",
               text);
  return nullptr;
}

}  // namespace rushlight
