// Calls that a class with `__torch_function__` or an entered TorchFunctionMode may take over, and the gates that ask them.
//
// Note [Taking over a call]: every public function, method, operator and attribute begins with a gate. A gate compares types by
// pointer (`plain`), so an everyday call pays two or three instructions; any other type goes on to
// `Takers`, which finds the handlers of the classes, and asks in torch's order. The library's own
// code behind a gate asks nobody, or runs under `OverridesOf(None)`. See docs/design/0010.
#pragma once
#include "core/core.h"

namespace rushlight {

// The types whose instances take nothing over, compared by pointer. Both are nullptr while any thread has a mode entered, which
// sends every call on to `Takers`.
struct Plain {
  PyTypeObject *tensor, *parameter;
};
extern Plain plain;

inline bool is_plain(PyObject* o) { return Py_TYPE(o) == plain.tensor || Py_TYPE(o) == plain.parameter; }

// Whether an argument needs a closer look. Lists and tuples do where their elements count (`deep`).
inline bool may_override(PyObject* const* args, Py_ssize_t n, bool deep) {
  const Plain now = plain;
  if (!now.tensor) return true;
  for (Py_ssize_t i = 0; i < n; ++i) {
    const PyTypeObject* t = Py_TYPE(args[i]);
    if (t == now.tensor || t == now.parameter || t == &PyLong_Type || t == &PyFloat_Type || args[i] == Py_None) continue;
    if (t == &PyBool_Type || t == &PyUnicode_Type || (!deep && (t == &PyTuple_Type || t == &PyList_Type))) continue;
    return true;
  }
  return false;
}
inline bool may_override(PyObject* const* args, Py_ssize_t n, PyObject* kwnames, bool deep) {
  return may_override(args, kwnames ? n + PyTuple_GET_SIZE(kwnames) : n, deep);
}

// An operand of an operator that takes nothing over.
inline bool is_plain_operand(PyObject* o) {
  return is_plain(o) || ((Py_TYPE(o) == &PyFloat_Type || Py_TYPE(o) == &PyLong_Type) && plain.tensor);
}

// Who is asked about calls of a function: all, only modes (it has no tensors to go by), or nobody.
enum class Asks : uint8_t { All, Modes, Nobody };

// The slow part of the gates: whether the call was taken over, with the answer in `*result`
// (nullptr with an exception). `kwnames` as in a vectorcall.
bool overridden(PyObject* func, Asks asks, PyObject* const* args, Py_ssize_t n, PyObject* kwnames, bool deep, PyObject** result);
// Of the member `name` of Tensor, called with `args` (self first) and a dict or nullptr.
bool member_overridden(const char* name, PyObject* args, PyObject* kwargs, PyObject** result);
// Of a slot of one or two operands. `operation`: where all refuse, the result is NotImplemented.
bool slot_overridden(const char* name, PyObject* a, PyObject* b, bool operation, PyObject** result);
// Of x[key] and, with a value, x[key] = value: the elements of a tuple or list count as well.
bool subscript_overridden(PyObject* self, PyObject* key, PyObject* value, PyObject** result);
// Of the attribute `name`: `how` is __get__, __set__ or __delete__.
bool attribute_overridden(PyObject* self, const char* name, const char* how, PyObject* value, PyObject** result);
bool attribute_overridden(PyObject* self, PyObject* attribute, const char* how, PyObject* value, PyObject** result);

// Who may take calls over in this scope; None where the library runs code of its own.
class OverridesOf {
 public:
  explicit OverridesOf(Overrides now) : before_(tls.overrides) { tls.overrides = now; }
  ~OverridesOf() { tls.overrides = before_; }
  OverridesOf(const OverridesOf&) = delete;
  OverridesOf& operator=(const OverridesOf&) = delete;

 private:
  Overrides before_;
};

// Tensor.__torch_function__.
PyObject* default_torch_function(PyObject* cls, PyObject* args, PyObject* kwargs);
// Gives Parameter a __torch_function__ that takes nothing over.
int register_parameter(PyObject* type);
int init_override(PyObject* module);

// ---- gates of what is in the type itself ----

// A name as a template's argument.
template <size_t N>
struct Name {
  constexpr Name(const char (&text)[N]) {
    for (size_t i = 0; i < N; ++i) value[i] = text[i];
  }
  char value[N];
};

template <Name name, PyObject* (*get)(PyObject*, void*)>
PyObject* gated_get(PyObject* self, void* closure) {
  PyObject* result;
  if (!is_plain(self) && attribute_overridden(self, name.value, "__get__", nullptr, &result)) return result;
  return get(self, closure);
}

template <Name name, int (*set)(PyObject*, PyObject*, void*)>
int gated_set(PyObject* self, PyObject* value, void* closure) {
  PyObject* result;
  if (!is_plain(self) && attribute_overridden(self, name.value, value ? "__set__" : "__delete__", value, &result)) {
    Py_XDECREF(result);
    return result ? 0 : -1;
  }
  return set(self, value, closure);
}

// A method without arguments.
template <Name name, PyObject* (*method)(PyObject*, PyObject*)>
PyObject* gated(PyObject* self, PyObject* none) {
  PyObject* result;
  if (!is_plain(self) && slot_overridden(name.value, self, nullptr, false, &result)) return result;
  return method(self, none);
}

bool method_overridden(const char* name, PyObject* self, PyObject* args, PyObject* kwargs, PyObject** result);

template <Name name, PyObject* (*method)(PyObject*, PyObject*, PyObject*)>
PyObject* gated_keywords(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* result;
  if (!is_plain(self) && method_overridden(name.value, self, args, kwargs, &result)) return result;
  return method(self, args, kwargs);
}

// The arguments of a vectorcall as a tuple and a dict. False with an exception.
bool packed(PyObject* const* args, Py_ssize_t n, PyObject* kwnames, Ref* tuple, Ref* dict);

// The same of a vectorcall.
template <Name name, PyObject* (*method)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*)>
PyObject* gated_fast(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  if (!is_plain(self)) {
    Ref tuple, dict;
    PyObject* result;
    if (!packed(args, n, kwnames, &tuple, &dict)) return nullptr;
    if (method_overridden(name.value, self, tuple.get(), dict.get(), &result)) return result;
  }
  return method(self, args, n, kwnames);
}

template <Name name, PyObject* (*slot)(PyObject*)>
PyObject* gated_unary(PyObject* self) {
  PyObject* result;
  if (!is_plain(self) && slot_overridden(name.value, self, nullptr, false, &result)) return result;
  return slot(self);
}

template <Name name, int (*slot)(PyObject*)>
int gated_truth(PyObject* self) {
  PyObject* result;
  if (!is_plain(self) && slot_overridden(name.value, self, nullptr, false, &result)) {
    const Ref owned(result);
    return owned ? PyObject_IsTrue(result) : -1;
  }
  return slot(self);
}

template <Name name, Py_ssize_t (*slot)(PyObject*)>
Py_ssize_t gated_length(PyObject* self) {
  PyObject* result;
  if (!is_plain(self) && slot_overridden(name.value, self, nullptr, false, &result)) {
    const Ref owned(result);
    return owned ? PyNumber_AsSsize_t(result, PyExc_OverflowError) : -1;
  }
  return slot(self);
}

}  // namespace rushlight
