// The objects that Python registers for the core to call; see callbacks.h.
#include "core/callbacks.h"

#include <cstring>

#include "core/core.h"

namespace rushlight {

constinit Callbacks callbacks;

namespace {

constexpr Callback Callbacks::* kAll[] = {
#define X(name) &Callbacks::name,
    RUSHLIGHT_CALLBACKS(X)
#undef X
};

}  // namespace

PyObject* Callback::found() const {
  if (!callbacks.find.is_registered()) return PyErr_Format(PyExc_RuntimeError, "rushlight: callback '%s' is not registered", name_);
  Ref made(PyObject_CallFunction(callbacks.find.p_, "s", name_));
  if (!made) return nullptr;
  if (!p_) p_ = made.release();  // another thread may have been quicker
  return p_;
}

Op* Callback::op() const {
  PyObject* o = get();
  if (o && Py_TYPE(o) != OpType) {
    PyErr_Format(PyExc_RuntimeError, "rushlight: callback '%s' must be an Op", name_);
    return nullptr;
  }
  return reinterpret_cast<Op*>(o);
}

int Callback::set(PyObject* p) {
  if (p_ && p_ != p) {
    PyErr_Format(PyExc_RuntimeError, "rushlight: callback '%s' is registered already", name_);
    return -1;
  }
  if (!p_) p_ = Py_NewRef(p);
  return 0;
}

int warn_program(const char* text, bool once) {
  PyObject* function = (once ? callbacks.warn_once : callbacks.warn).get();
  return function && Ref(PyObject_CallFunction(function, "s", text)) ? 0 : -1;
}

int register_callbacks(PyObject* dict) {
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
    const char* text = PyUnicode_AsUTF8(key);
    if (!text) return -1;
    Callback* found = nullptr;
    for (const auto member : kAll) {
      if (!strcmp((callbacks.*member).name(), text)) found = &(callbacks.*member);
    }
    if (!found) {
      PyErr_Format(PyExc_TypeError, "register() does not know the callback '%U'; native/core/callbacks.h lists them", key);
      return -1;
    }
    if (found->set(value) < 0) return -1;
  }
  return 0;
}

PyObject* check_registered(PyObject*, PyObject* late) {
  std::string missing;
  for (const auto member : kAll) {
    const Callback& c = callbacks.*member;
    const Ref name(PyUnicode_FromString(c.name()));
    const int listed = name ? PySequence_Contains(late, name.get()) : -1;
    if (listed < 0) return nullptr;
    if (!listed && !c.is_registered()) missing += (missing.empty() ? "" : ", ") + std::string(c.name());
  }
  if (missing.empty()) Py_RETURN_NONE;
  PyErr_Format(PyExc_RuntimeError, "rushlight: these callbacks are not registered: %s", missing.c_str());
  return nullptr;
}

}  // namespace rushlight
