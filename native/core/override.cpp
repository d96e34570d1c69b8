// `__torch_function__` and its modes: who takes a call over, in which order they are asked, and what Tensor's own
// `__torch_function__` does. The gates that lead here are in override.h.
#include "core/override.h"

#include "core/layout.h"
#include "core/pytorch.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor.h"

namespace rushlight {

Plain plain = {nullptr, nullptr};

namespace {

PyObject* torch_function = nullptr;  // interned "__torch_function__"
PyObject* of_tensor = nullptr;       // what TensorType has under that name
PyObject* of_tensor_bound = nullptr;  // and what Tensor.__torch_function__ is
PyObject* of_parameter = nullptr;    // _disabled_torch_function_impl
PyTypeObject* parameter_type = nullptr;
int modes_entered = 0;  // on all threads

// A class whose handler says once what answers calls of a function whose arguments have these types, on the CPU, and is not asked
// again: (function or attribute, type, ...) -> what answers, None: the attribute itself.
PyTypeObject* known_type = nullptr;
PyObject* known_answers = nullptr;

void choose_plain() { plain = modes_entered ? Plain{nullptr, nullptr} : Plain{TensorType, parameter_type}; }

// The attribute `__torch_function__` of a class.
enum class Handler { None, Tensors, Own };

Handler handler_of(PyTypeObject* type) {
#if PY_VERSION_HEX < 0x030D0000
  PyObject* found = _PyType_Lookup(type, torch_function);  // borrowed: nothing runs here
  if (found == of_tensor) return Handler::Tensors;
  return found && found != of_parameter ? Handler::Own : Handler::None;
#else
  PyObject* found;  // a metaclass may run
  if (PyObject_GetOptionalAttr(as_object(type), torch_function, &found) < 0) PyErr_Clear();
  const Ref owned(found);
  if (!found || found == of_parameter) return Handler::None;
  const bool tensors = PyCFunction_Check(found) && PyCFunction_GET_SELF(found) == as_object(type) &&
                       PyCFunction_GET_FUNCTION(found) == PyCFunction_GET_FUNCTION(of_tensor_bound);
  return tensors ? Handler::Tensors : Handler::Own;
#endif
}

// Whether a plain object has __torch_function__ in its dict, or by __getattr__, which runs here.
bool has_of_its_own(PyObject* o) {
  if (is_tensor(o) || PyType_Check(o)) return false;
  PyObject* found;
#if PY_VERSION_HEX < 0x030D0000
  if (_PyObject_LookupAttr(o, torch_function, &found) < 0) PyErr_Clear();
#else
  if (PyObject_GetOptionalAttr(o, torch_function, &found) < 0) PyErr_Clear();
#endif
  return Ref(found).get() != nullptr && found != of_parameter;
}

// Types that have none, so that the everyday ones are not looked up.
bool is_basic(PyTypeObject* t) {
  for (const PyTypeObject* basic : {&PyLong_Type, &PyFloat_Type, &PyBool_Type, &PyUnicode_Type, &PyTuple_Type, &PyList_Type,
                                    &PySlice_Type, &PyDict_Type, &PyComplex_Type, &PyEllipsis_Type, &PyFunction_Type}) {
    if (t == basic) return true;
  }
  return t == Py_TYPE(Py_None) || is_array_type(t) || as_object(t) == registry.size_type ||
         (registry.dtypes[0] && t == Py_TYPE(registry.dtypes[0]));
}

// Enters and leaves modes of this thread; the objects are owned.
bool modes_active() { return tls.modes && !tls.modes->empty() && tls.overrides != Overrides::None; }

void push_mode(PyObject* owned) {
  if (!tls.modes) tls.modes = new std::vector<PyObject*>;
  tls.modes->push_back(owned);
  if (modes_entered++ == 0) choose_plain();
}

PyObject* pop_mode() {
  PyObject* mode = tls.modes->back();
  tls.modes->pop_back();
  if (--modes_entered == 0) choose_plain();
  return mode;
}

// The mode entered last, which is not entered while its handler runs.
class Stashed {
 public:
  Stashed() : mode_(pop_mode()) {}
  ~Stashed() { push_mode(mode_); }
  Stashed(const Stashed&) = delete;
  Stashed& operator=(const Stashed&) = delete;
  PyObject* mode() const { return mode_; }

 private:
  PyObject* mode_;
};

Overrides no_more_than(Overrides most) { return tls.overrides > most ? tls.overrides : most; }

std::string text_of(PyObject* o) {
  Ref text(PyObject_Repr(o));
  const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (!utf8) PyErr_Clear();
  return utf8 ? utf8 : "?";
}

// ---------------------------------------------------------------- Tensor.__torch_function__

// A result with every tensor in it an instance of `cls`. Takes over `result`.
PyObject* convert(PyObject* result, PyTypeObject* cls) {
  Ref owned(result);
  if (!result || cls == TensorType) return owned.release();
  if (is_tensor(result)) return PyType_IsSubtype(Py_TYPE(result), cls) ? owned.release() : as_subclass(result, cls);
  if (!PyTuple_Check(result) && !PyList_Check(result)) return owned.release();
  Ref before(PySequence_Tuple(result));  // a list may change meanwhile
  const Py_ssize_t n = before ? PyTuple_GET_SIZE(before.get()) : 0;
  Ref items(before ? PyTuple_New(n) : nullptr);
  if (!items) return nullptr;
  bool changed = false;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PyTuple_GET_ITEM(before.get(), i);
    PyObject* converted = convert(Py_NewRef(item), cls);
    if (!converted) return nullptr;
    changed |= converted != item;
    PyTuple_SET_ITEM(items.get(), i, converted);
  }
  if (!changed) return owned.release();
  return PyTuple_CheckExact(result) ? items.release() : PyObject_CallOneArg(as_object(Py_TYPE(result)), items.get());
}

// Whether a function gives a tensor that stands somewhere, and which is not to be wrapped anew each time: x.grad is x.grad.
int hands_out(PyObject* func) {
  static PyObject* functions = nullptr;
  if (!functions) {
    Ref set(PySet_New(nullptr));
    for (const char* name : {"grad", "_grad", "_base"}) {
      Ref attribute(set ? PyObject_GetAttrString(as_object(TensorType), name) : nullptr);
      Ref get(attribute ? PyObject_GetAttrString(attribute.get(), "__get__") : nullptr);
      if (!get || PySet_Add(set.get(), get.get()) < 0) return -1;
    }
    functions = set.release();
  }
  return PySet_Contains(functions, func);
}

PyObject* run_as(PyTypeObject* cls, PyObject* func, PyObject* types, PyObject* args, PyObject* kwargs) {
  Ref known(PySequence_Tuple(types));
  if (!known) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(known.get()); ++i) {
    const int is = PyObject_IsSubclass(as_object(cls), PyTuple_GET_ITEM(known.get(), i));
    if (is < 0) return nullptr;
    if (!is) Py_RETURN_NOTIMPLEMENTED;
  }
  if (is_pytorchs_function(func)) return call_of_pytorchs(func, args, kwargs);
  const OverridesOf scope(no_more_than(Overrides::Modes));
  Ref result(PyObject_Call(func, args, kwargs));
  if (!result || !is_tensor(result.get())) return convert(result.release(), cls);
  const int as_it_is = hands_out(func);
  if (as_it_is < 0) return nullptr;
  return as_it_is ? result.release() : convert(result.release(), cls);
}

// (func, types, args=(), kwargs=None) of a call. -1 with an exception.
int read_call(const char* format, PyObject* given, PyObject* named, PyObject** func, PyObject** types, Ref* args,
              PyObject** kwargs) {
  static const char* names[] = {"func", "types", "args", "kwargs", nullptr};
  PyObject *positional = nullptr, *keywords = Py_None;
  if (!PyArg_ParseTupleAndKeywords(given, named, format, const_cast<char**>(names), func, types, &positional, &keywords)) return -1;
  *args = Ref(positional ? PySequence_Tuple(positional) : PyTuple_New(0));
  if (!*args) return -1;
  if (keywords != Py_None && !PyDict_Check(keywords)) {
    PyErr_Format(PyExc_TypeError, "kwargs must be a dict or None, got %s", Py_TYPE(keywords)->tp_name);
    return -1;
  }
  *kwargs = keywords == Py_None ? nullptr : keywords;
  return 0;
}

// ---------------------------------------------------------------- asking

// Arguments as PyTorch's function of the same name hands them on: with defaults by name, where PyTorch writes the function in
// Python. Found when the first handler is to be called.
class Handed {
 public:
  // Puts them in the place of a call's; false with an exception.
  bool as_by_pytorch(PyObject* func, PyObject** args, PyObject** kwargs) {
    PyObject* as_is = callbacks.handed_as_is.get();  // functions of which it has been learnt
    if (std::exchange(known_, true) || PyDict_Contains(as_is, func) > 0) return true;
    PyErr_Clear();  // of a function without a hash
    const OverridesOf scope(Overrides::None);
    PyObject* call[] = {func, *args, *kwargs ? *kwargs : Py_None};
    both_ = Ref(PyObject_Vectorcall(callbacks.handed_on.get(), call, 3, nullptr));
    if (both_.get() == Py_False) return PyDict_SetItem(as_is, func, Py_None) == 0;
    return both_ && (both_.get() == Py_None || PyArg_ParseTuple(both_.get(), "O!O!", &PyTuple_Type, args, &PyDict_Type, kwargs));
  }

 private:
  bool known_ = false;
  Ref both_;
};

class Takers {
 public:
  explicit Takers(Asks asks, bool count_plain = false) : count_plain_(count_plain) {
    if (tls.skip_override) {
      tls.skip_override = false;
      return;
    }
    mode_ = asks != Asks::Nobody && modes_active();
    subclasses_ = asks == Asks::All && tls.overrides == Overrides::All;
  }

  void look_at(PyObject* o) {
    PyTypeObject* type = Py_TYPE(o);
    if (!subclasses_ || type == parameter_type || is_basic(type)) return;
    Ref owned = Ref::borrow(o);
    if (type == TensorType ? !count_plain_ : handler_of(type) == Handler::None && !has_of_its_own(o)) return;
    if (!is_tensor(o) && is_pytorchs_tensor(type)) {
      pytorchs_ = true;
      return;
    }
    size_t at = takers_.size();
    for (size_t i = takers_.size(); i-- > 0;) {
      PyTypeObject* other = Py_TYPE(takers_[i].get());
      if (other == type) return;
      if (PyType_IsSubtype(type, other)) at = i;
    }
    takers_.insert(takers_.begin() + static_cast<std::ptrdiff_t>(at), std::move(owned));
  }

  void look_in(PyObject* o) {
    look_at(o);
    if (!subclasses_ || (!PyTuple_Check(o) && !PyList_Check(o))) return;
    const ItemsOf items(o);
    for (Py_ssize_t i = 0; i < items.size(); ++i) look_at(items[i]);
  }

  void look_at_all(PyObject* const* args, Py_ssize_t n, bool deep) {
    for (Py_ssize_t i = 0; i < n; ++i) deep ? look_in(args[i]) : look_at(args[i]);
  }

  // The known answerer; empty where somebody is to be asked.
  Ref known(PyObject* func, PyObject* args) const {
    if (mode_ || pytorchs_ || takers_.size() != 1 || Py_TYPE(takers_[0].get()) != known_type) return {};
    const Py_ssize_t n = PyTuple_GET_SIZE(args);
    Ref key(PyTuple_New(n + 1));
    if (!key) return {};
    PyTuple_SET_ITEM(key.get(), 0, Py_NewRef(func));
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* arg = PyTuple_GET_ITEM(args, i);
      if (is_tensor(arg) && as_tensor(arg)->flags & kElsewhere) return {};
      PyTuple_SET_ITEM(key.get(), i + 1, Py_NewRef(as_object(Py_TYPE(arg))));
    }
    Ref found = found_in(known_answers, key.get());
    if (!found) PyErr_Clear();  // a function without a hash
    return found;
  }

  bool any() const { return mode_ || pytorchs_ || !takers_.empty(); }

  // Asks the mode, then the classes. `kwargs` may be nullptr. NotImplemented where all refuse.
  PyObject* ask(PyObject* func, PyObject* args, PyObject* kwargs) const {
    if (pytorchs_) return call_with_ours(func, args, kwargs);
    if (const Ref found = kwargs ? Ref() : known(func, args)) return PyObject_Call(found.get(), args, nullptr);
    Handed handed;
    Ref types(PyTuple_New(static_cast<Py_ssize_t>(takers_.size())));
    if (!types) return nullptr;
    for (size_t i = 0; i < takers_.size(); ++i) {
      PyTuple_SET_ITEM(types.get(), static_cast<Py_ssize_t>(i), Py_NewRef(as_object(Py_TYPE(takers_[i].get()))));
    }
    if (mode_ && modes_active()) {
      const Stashed top;
      Ref handler(PyObject_GetAttr(top.mode(), torch_function));
      if (!handler || !handed.as_by_pytorch(func, &args, &kwargs)) return nullptr;
      Ref result(call(handler.get(), func, types.get(), args, kwargs));
      if (!result || result.get() != Py_NotImplemented) return result.release();
    }
    for (size_t i = 0; i < takers_.size(); ++i) {
      PyObject *taker = takers_[i].get(), *type = PyTuple_GET_ITEM(types.get(), static_cast<Py_ssize_t>(i));
      Ref result;
      if (handler_of(reinterpret_cast<PyTypeObject*>(type)) == Handler::Tensors) {
        result = Ref(run_as(reinterpret_cast<PyTypeObject*>(type), func, types.get(), args, kwargs));
      } else {
        Ref handler(PyObject_GetAttr(taker, torch_function));
        if (!handler || warn_of_plain_method(handler.get(), taker) < 0) return nullptr;
        if (!handed.as_by_pytorch(func, &args, &kwargs)) return nullptr;
        result = Ref(call(handler.get(), func, types.get(), args, kwargs));
      }
      if (!result || result.get() != Py_NotImplemented) return result.release();
    }
    Py_RETURN_NOTIMPLEMENTED;
  }

  // The same; an exception where all refuse.
  PyObject* answer(PyObject* func, PyObject* args, PyObject* kwargs) const {
    Ref result(ask(func, args, kwargs));
    if (!result || result.get() != Py_NotImplemented) return result.release();
    std::string text = "Multiple dispatch failed for '" + name_of(func) +
                       "'; all __torch_function__ handlers returned NotImplemented:\n\n";
    if (const Ref mode = mode_asked(); mode) text += "  - mode object " + text_of(mode.get()) + "\n";
    for (const Ref& taker : takers_) text += "  - tensor subclass " + text_of_class(taker.get()) + "\n";
    text +=
        "\nOne of them must give a result. What it does not change it can leave to super().__torch_function__(func, types, "
        "args, kwargs) in a subclass of Tensor, or to func(*args, **kwargs) with plain tensors.";
    PyErr_SetString(PyExc_TypeError, text.c_str());
    return nullptr;
  }

  // The error of handle_torch_function where all refuse, with the types that were asked.
  void refuse(PyObject* func) const {
    std::string types;
    for (const Ref& taker : takers_) types += (types.empty() ? "" : ", ") + text_of_class(taker.get());
    const Ref mode = mode_asked();
    PyErr_Format(PyExc_TypeError, "no implementation found for '%s' on types that implement __torch_function__: [%s]%s",
                 name_of(func).c_str(), types.c_str(), mode ? (" nor in mode " + text_of(mode.get())).c_str() : "");
  }

 private:
  Ref mode_asked() const { return mode_ && modes_active() ? Ref::borrow(tls.modes->back()) : Ref(); }

  static std::string text_of_class(PyObject* taker) { return text_of(Ref::borrow(as_object(Py_TYPE(taker))).get()); }

  static PyObject* call(PyObject* handler, PyObject* func, PyObject* types, PyObject* args, PyObject* kwargs) {
    PyObject* given[] = {nullptr, func, types, args, kwargs};
    return PyObject_Vectorcall(handler, given + 1, (kwargs ? 4 : 3) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  }

  static int warn_of_plain_method(PyObject* handler, PyObject* taker) {
    if (!PyMethod_Check(handler) || PyMethod_GET_SELF(handler) != taker) return 0;
    return warn_program(
        "Defining your `__torch_function__` as a plain method is deprecated and will be an error in future, please "
        "define it as a classmethod.");
  }

  // As programs know the function: torch.Tensor.add.
  static std::string name_of(PyObject* func) {
    Ref module(PyImport_ImportModule("rushlight.overrides"));
    Ref name(module ? PyObject_CallMethod(module.get(), "resolve_name", "O", func) : nullptr);
    if (name && name.get() == Py_None) {  // a function of the program
      Ref home(PyObject_GetAttrString(func, "__module__")), own(home ? PyObject_GetAttrString(func, "__name__") : nullptr);
      name = Ref(own ? PyUnicode_FromFormat("%S.%S", home.get(), own.get()) : nullptr);
    }
    const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
    PyErr_Clear();
    return text ? text : text_of(func);
  }

  const bool count_plain_;
  bool mode_ = false, subclasses_ = false, pytorchs_ = false;
  std::vector<Ref> takers_;
};

Ref member(const char* name) { return Ref(PyObject_GetAttrString(as_object(TensorType), name)); }

}  // namespace

bool overridden(PyObject* func, Asks asks, PyObject* const* args, Py_ssize_t n, PyObject* kwnames, bool deep, PyObject** result) {
  const Py_ssize_t n_named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  Takers takers(asks);
  takers.look_at_all(args, n + n_named, deep);
  if (!takers.any()) return false;
  *result = nullptr;
  Ref given(PyTuple_New(n)), named;
  if (!given) return true;
  for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(given.get(), i, Py_NewRef(args[i]));
  if (n_named) {
    named = Ref(PyDict_New());
    if (!named) return true;
    for (Py_ssize_t i = 0; i < n_named; ++i) {
      if (PyDict_SetItem(named.get(), PyTuple_GET_ITEM(kwnames, i), args[n + i]) < 0) return true;
    }
  }
  *result = takers.answer(func, given.get(), named.get());
  return true;
}

bool method_overridden(const char* name, PyObject* self, PyObject* args, PyObject* kwargs, PyObject** result) {
  Takers takers(Asks::All);
  takers.look_at(self);
  takers.look_at_all(&PyTuple_GET_ITEM(args, 0), PyTuple_GET_SIZE(args), false);
  PyObject *key, *value;
  for (Py_ssize_t at = 0; kwargs && PyDict_Next(kwargs, &at, &key, &value);) takers.look_at(value);
  if (!takers.any()) return false;
  const Ref func = member(name);
  const Py_ssize_t n = PyTuple_GET_SIZE(args);
  Ref all(func ? PyTuple_New(n + 1) : nullptr);
  *result = nullptr;
  if (!all) return true;
  PyTuple_SET_ITEM(all.get(), 0, Py_NewRef(self));
  for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(all.get(), i + 1, Py_NewRef(PyTuple_GET_ITEM(args, i)));
  *result = takers.answer(func.get(), all.get(), kwargs && PyDict_GET_SIZE(kwargs) ? kwargs : nullptr);
  return true;
}

bool packed(PyObject* const* args, Py_ssize_t n, PyObject* kwnames, Ref* tuple, Ref* dict) {
  *tuple = Ref(PyTuple_New(n));
  *dict = Ref(PyDict_New());
  if (!*tuple || !*dict) return false;
  for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(tuple->get(), i, Py_NewRef(args[i]));
  for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k) {
    if (PyDict_SetItem(dict->get(), PyTuple_GET_ITEM(kwnames, k), args[n + k]) < 0) return false;
  }
  return true;
}

bool slot_overridden(const char* name, PyObject* a, PyObject* b, bool operation, PyObject** result) {
  Takers takers(Asks::All);
  takers.look_at(a);
  if (b) takers.look_at(b);
  if (!takers.any()) return false;
  const Ref func = member(name);
  const Ref args(!func ? nullptr : b ? PyTuple_Pack(2, a, b) : PyTuple_Pack(1, a));
  *result = !args       ? nullptr
            : operation ? takers.ask(func.get(), args.get(), nullptr)
                        : takers.answer(func.get(), args.get(), nullptr);
  return true;
}

bool subscript_overridden(PyObject* self, PyObject* key, PyObject* value, PyObject** result) {
  Takers takers(Asks::All);
  takers.look_at(self);
  takers.look_in(key);
  if (value) takers.look_at(value);
  if (!takers.any()) return false;
  const Ref func = member(value ? "__setitem__" : "__getitem__");
  const Ref args(!func ? nullptr : value ? PyTuple_Pack(3, self, key, value) : PyTuple_Pack(2, self, key));
  *result = args ? takers.answer(func.get(), args.get(), nullptr) : nullptr;
  return true;
}

bool attribute_overridden(PyObject* self, PyObject* attribute, const char* how, PyObject* value, PyObject** result) {
  Takers takers(Asks::All);
  takers.look_at(self);
  if (!takers.any()) return false;
  *result = nullptr;
  const Ref args(value ? PyTuple_Pack(2, self, value) : PyTuple_Pack(1, self));
  if (!args) return true;
  if (const Ref found = !strcmp(how, "__get__") ? takers.known(attribute, args.get()) : Ref()) {
    if (found.get() == Py_None) return false;
    *result = PyObject_CallOneArg(found.get(), self);
    return true;
  }
  const Ref func(PyObject_GetAttrString(attribute, how));
  *result = func ? takers.answer(func.get(), args.get(), nullptr) : nullptr;
  return true;
}

bool attribute_overridden(PyObject* self, const char* name, const char* how, PyObject* value, PyObject** result) {
  const Ref attribute = member(name);
  *result = nullptr;
  return !attribute || attribute_overridden(self, attribute.get(), how, value, result);
}

PyObject* default_torch_function(PyObject* cls, PyObject* args, PyObject* kwargs) {
  PyObject *func, *types, *named;
  Ref given;
  if (read_call("OO|OO:__torch_function__", args, kwargs, &func, &types, &given, &named) < 0) return nullptr;
  return run_as(reinterpret_cast<PyTypeObject*>(cls), func, types, given.get(), named);
}

int register_parameter(PyObject* type) {
  if (!PyType_Check(type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), TensorType)) {
    PyErr_SetString(PyExc_TypeError, "register(parameter=): a subclass of Tensor");
    return -1;
  }
  Py_INCREF(type);
  Py_XSETREF(parameter_type, reinterpret_cast<PyTypeObject*>(type));
  choose_plain();
  return 0;
}

// ---------------------------------------------------------------- for torch.overrides and torch._C

namespace {

// _disabled_torch_function_impl(func, types, args=(), kwargs=None): the call as it is, whatever classes its arguments have.
PyObject* disabled_torch_function(PyObject*, PyObject* given, PyObject* named) {
  PyObject *func, *types, *kwargs;
  Ref args;
  if (read_call("OO|OO:_disabled_torch_function_impl", given, named, &func, &types, &args, &kwargs) < 0) return nullptr;
  if (is_pytorchs_function(func)) return call_of_pytorchs(func, args.get(), kwargs);
  const OverridesOf scope(no_more_than(Overrides::Modes));
  return PyObject_Call(func, args.get(), kwargs);
}

// skip_one_hop(func, types, args=(), kwargs=None): the call past its own gate; calls inside are asked about as ever.
PyObject* skip_one_hop(PyObject*, PyObject* given, PyObject* named) {
  PyObject *func, *types, *kwargs;
  Ref args;
  if (read_call("OO|OO:_skip_one_hop_torch_function", given, named, &func, &types, &args, &kwargs) < 0) return nullptr;
  tls.skip_override = true;
  PyObject* result = PyObject_Call(func, args.get(), kwargs);
  tls.skip_override = false;
  return result;
}

PyObject* has_torch_function_variadic(PyObject*, PyObject* const* args, Py_ssize_t n) {
  Takers takers(Asks::All);
  takers.look_at_all(args, n, false);
  return PyBool_FromLong(n && takers.any());  // of nothing, not even a mode is asked
}

PyObject* has_torch_function(PyObject* module, PyObject* relevant) {
  const Ref given(PySequence_Fast(relevant, "expected a sequence"));
  if (!given) return nullptr;
  const ItemsOf items(given.get());
  return has_torch_function_variadic(module, items.all(), items.size());
}

PyObject* has_torch_function_unary(PyObject* module, PyObject* o) { return has_torch_function_variadic(module, &o, 1); }

// handle_torch_function(public_api, relevant_args, args, kwargs)
PyObject* handle_torch_function(PyObject*, PyObject* given) {
  PyObject *func, *relevant, *args, *kwargs;
  if (!PyArg_ParseTuple(given, "OOO!O!", &func, &relevant, &PyTuple_Type, &args, &PyDict_Type, &kwargs)) return nullptr;
  Ref items(PySequence_Tuple(relevant));
  if (!items) return nullptr;
  Takers takers(Asks::All, true);
  takers.look_at_all(&PyTuple_GET_ITEM(items.get(), 0), PyTuple_GET_SIZE(items.get()), false);
  Ref result(takers.ask(func, args, kwargs));
  if (!result || result.get() != Py_NotImplemented) return result.release();
  takers.refuse(func);
  return nullptr;
}

// set_overrides(0: all, 1: modes only, 2: nobody takes calls over on this thread); gives what it was.
PyObject* set_overrides(PyObject*, PyObject* number) {
  const long wanted = PyLong_AsLong(number);
  if (wanted == -1 && PyErr_Occurred()) return nullptr;
  if (wanted < 0 || wanted > 2) {
    PyErr_SetString(PyExc_ValueError, "set_overrides(0, 1 or 2)");
    return nullptr;
  }
  const long before = static_cast<long>(tls.overrides);
  tls.overrides = static_cast<Overrides>(wanted);
  return PyLong_FromLong(before);
}

// know_answers(type, answers): see `known_answers`.
PyObject* know_answers(PyObject*, PyObject* args) {
  PyObject *type, *answers;
  if (!PyArg_ParseTuple(args, "O!O!", &PyType_Type, &type, &PyDict_Type, &answers)) return nullptr;
  Py_INCREF(type);
  Py_XSETREF(known_type, reinterpret_cast<PyTypeObject*>(type));
  Py_XSETREF(known_answers, Py_NewRef(answers));
  Py_RETURN_NONE;
}

PyObject* get_overrides(PyObject*, PyObject*) { return PyLong_FromLong(static_cast<long>(tls.overrides)); }

PyObject* enter_mode(PyObject*, PyObject* mode) {
  push_mode(Py_NewRef(mode));
  Py_RETURN_NONE;
}

PyObject* leave_mode(PyObject*, PyObject*) {
  if (!tls.modes || tls.modes->empty()) {
    PyErr_SetString(PyExc_RuntimeError, "trying to pop from empty mode stack");
    return nullptr;
  }
  return pop_mode();
}

// A mode's `__enter__` and `__exit__`.
PyObject* begin_mode(PyObject*, PyObject* mode) {
  push_mode(Py_NewRef(mode));
  return Py_NewRef(mode);
}
PyObject* end_mode(PyObject*, PyObject* const*, Py_ssize_t) {
  if (!Ref(leave_mode(nullptr, nullptr))) return nullptr;
  Py_RETURN_NONE;
}

// The modes entered on this thread, the oldest first.
PyObject* entered_modes(PyObject*, PyObject*) {
  PyObject* list = PyList_New(0);
  for (size_t i = 0; list && tls.modes && i < tls.modes->size(); ++i) {
    if (PyList_Append(list, (*tls.modes)[i]) < 0) Py_CLEAR(list);
  }
  return list;
}

PyMethodDef kFunctions[] = {
    {"_disabled_torch_function_impl", method_of<disabled_torch_function>(), METH_VARARGS | METH_KEYWORDS,
     "The `__torch_function__` of a class that takes nothing over."},
    {"skip_one_hop", method_of<skip_one_hop>(), METH_VARARGS | METH_KEYWORDS, "A call past its own gate."},
    {"has_torch_function", method_of<has_torch_function>(), METH_O,
     "Whether one of several arguments, or a mode, takes calls over."},
    {"has_torch_function_unary", method_of<has_torch_function_unary>(), METH_O,
     "Whether an argument, or a mode, takes calls over."},
    {"has_torch_function_variadic", method_of<has_torch_function_variadic>(), METH_FASTCALL,
     "Whether one of the arguments, or a mode, takes calls over."},
    {"handle_torch_function", method_of<handle_torch_function>(), METH_VARARGS, "Asks the mode and the classes of the arguments."},
    {"set_overrides", method_of<set_overrides>(), METH_O, "Who takes calls over on this thread; returns what it was."},
    {"get_overrides", method_of<get_overrides>(), METH_NOARGS, "Who takes calls over on this thread."},
    {"know_answers", method_of<know_answers>(), METH_VARARGS, "What answers calls with a class, by the types of their arguments."},
    {"begin_mode", method_of<begin_mode>(), METH_O, "Enters a mode on this thread, and gives it back."},
    {"end_mode", method_of<end_mode>(), METH_FASTCALL, "Leaves the mode that was entered last on this thread."},
    {"enter_mode", method_of<enter_mode>(), METH_O, "Enters a mode on this thread."},
    {"leave_mode", method_of<leave_mode>(), METH_NOARGS, "Leaves the mode entered last; returns it."},
    {"entered_modes", method_of<entered_modes>(), METH_NOARGS, "The modes entered on this thread, the oldest first."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int init_override(PyObject* module) {
  torch_function = PyUnicode_InternFromString("__torch_function__");
  if (!torch_function || PyModule_AddFunctions(module, kFunctions) < 0) return -1;
  of_tensor = Py_XNewRef(PyDict_GetItem(TensorType->tp_dict, torch_function));
  of_tensor_bound = PyObject_GetAttr(as_object(TensorType), torch_function);
  of_parameter = PyObject_GetAttrString(module, "_disabled_torch_function_impl");
  choose_plain();
  return of_tensor && of_tensor_bound && of_parameter ? 0 : -1;
}

}  // namespace rushlight
