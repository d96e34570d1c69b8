// Guards: whether Python state is as it was when a run was captured.
// src/rushlight/_capture/state.py finds out which state that is.
//
// Note [Two speeds]: `check` compares versions first. Python 3.11 gives each dict a version of its
// own; from 3.12 on a watcher counts a dict's changes here. A class has a version in every Python,
// which covers its bases. Where a version differs, the values that matter are compared, and the new
// version is taken: a script's globals change all the time.
//
// Note [What is borrowed]: `rows` is a tuple of tuples, which Python cannot change, and owns all
// objects named here. Every pointer of a record is borrowed from it. Comparisons run no Python
// code: only values of the core's and Python's own immutable types are looked into, all others are
// compared by identity.
#include "core/state.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "core/alerts.h"
#include "core/core.h"
#include "core/layout.h"
#include "core/override.h"
#include "core/tensor.h"

namespace rushlight {
namespace {

PyTypeObject* GuardsType = nullptr;  // also stands for "there is no such value" in rows
PyObject* const kType = PyUnicode_InternFromString("type");
PyObject* const kIndex = PyUnicode_InternFromString("index");
constexpr int kDeepest = 32;
constexpr int kRows = 14;
constexpr size_t kAhead = 8;  // of the tensor that is compared, others are fetched

PyObject* absent() { return as_object(GuardsType); }

// ---------------------------------------------------------------- values

bool same_number(double a, double b) { return !memcmp(&a, &b, sizeof a) || (a != a && b != b); }

// Whether code that reads the one cannot tell it from the other: the same object, or equal simple
// values of one type. `type_only`: whether numbers have the same type and are zero or not alike.
bool same(PyObject* a, PyObject* b, bool type_only = false, int depth = 0) {
  if (a == b) return true;
  PyTypeObject* type = Py_TYPE(a);
  if (type != Py_TYPE(b)) return false;
  if (type == &PyFloat_Type) {
    const double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
    return type_only ? (x == 0) == (y == 0) && (x != x) == (y != y) : same_number(x, y);
  }
  if (type == &PyLong_Type) {
    if (type_only) return PyObject_IsTrue(a) == PyObject_IsTrue(b);
    return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
  }
  if (type == &PyUnicode_Type || type == &PyBytes_Type) return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
  if (type == &PyComplex_Type) {
    const Py_complex x = PyComplex_AsCComplex(a), y = PyComplex_AsCComplex(b);
    return same_number(x.real, y.real) && same_number(x.imag, y.imag);
  }
  if (type == &PyTuple_Type || as_object(type) == registry.size_type) {
    const Py_ssize_t n = PyTuple_GET_SIZE(a);
    if (n != PyTuple_GET_SIZE(b) || depth == kDeepest) return false;
    for (Py_ssize_t i = 0; i < n; ++i) {
      if (!same(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i), type_only, depth + 1)) return false;
    }
    return true;
  }
  if (as_object(type) == registry.device_type) {
    for (PyObject* name : {kType, kIndex}) {
      const Ref x(PyObject_GenericGetAttr(a, name)), y(PyObject_GenericGetAttr(b, name));
      if (!x || !y || !same(x.get(), y.get())) return PyErr_Clear(), false;
    }
    return true;
  }
  return false;
}

// ---------------------------------------------------------------- dicts

// Whether a dict's version tells of every change. Python 3.12 and 3.13 do not tell of attributes whose values lie in the object.
constexpr bool kVersionsTell = PY_VERSION_HEX < 0x030C0000 || PY_VERSION_HEX >= 0x030E0000;

#if PY_VERSION_HEX >= 0x030E0000
// How often each watched dict was changed, and how many guards watch it. Guards own the dicts that
// they watch.
struct Watched {
  uint64_t changes = 0;
  int guards = 0;
};
std::unordered_map<PyObject*, Watched> watched;
int watcher = -1;

int note_change(PyDict_WatchEvent, PyObject* dict, PyObject*, PyObject*) {
  const TakeTurn here;
  if (const auto found = watched.find(dict); found != watched.end()) ++found->second.changes;
  return 0;
}
const uint64_t* version_at(PyObject* dict) {
  if (PyDict_Watch(watcher, dict) < 0) return nullptr;
  Watched& w = watched[dict];
  ++w.guards;
  return &w.changes;  // elements of an unordered_map stay where they are
}
void release_version(PyObject* dict) {
  const auto found = watched.find(dict);
  if (found == watched.end() || --found->second.guards) return;
  watched.erase(found);
  if (PyDict_Unwatch(watcher, dict) < 0) PyErr_Clear();
}
#elif PY_VERSION_HEX >= 0x030C0000
const uint64_t* version_at(PyObject*) {
  static const uint64_t none = 0;
  return &none;
}
void release_version(PyObject*) {}
#else
const uint64_t* version_at(PyObject* dict) { return &reinterpret_cast<PyDictObject*>(dict)->ma_version_tag; }
void release_version(PyObject*) {}
#endif
#if PY_VERSION_HEX >= 0x030C0000
unsigned class_version(PyTypeObject* type) { return PyUnstable_Type_AssignVersionTag(type) ? type->tp_version_tag : 0; }
PyObject* dict_of_class(PyTypeObject* type) { return PyType_GetDict(type); }
#else
unsigned class_version(PyTypeObject* type) {
  _PyType_Lookup(type, kIndex);  // makes it valid
  return PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG) ? type->tp_version_tag : 0;
}
PyObject* dict_of_class(PyTypeObject* type) { return Py_XNewRef(type->tp_dict); }
#endif

// Whether a dict has the expected items, in their order. `names`: a set of those that matter, or
// None. `look_up`: only the expected ones matter, in any order, and some of them are expected not
// to be there. `loaded`: keys whose values are compared by type alone.
bool has_items(PyObject* dict, PyObject* expected, PyObject* names, bool look_up, PyObject* loaded) {
  PyObject *key, *value, *wanted, *wanted_key;
  Py_ssize_t at = 0, wanted_at = 0;
  if (look_up) {
    while (PyDict_Next(expected, &wanted_at, &key, &wanted)) {
      const Ref found = found_in(dict, key);
      if (!found && PyErr_Occurred()) return PyErr_Clear(), false;
      if (!same(found ? found.get() : absent(), wanted)) return false;
    }
    return true;
  }
  while (PyDict_Next(dict, &at, &key, &value)) {
    if (names != Py_None) {
      if (!PyUnicode_Check(key)) continue;
      if (!PyUnicode_CheckExact(key)) return false;  // its comparisons may be a program's
      if (!PySet_Contains(names, key)) continue;
    }
    if (!PyDict_Next(expected, &wanted_at, &wanted_key, &wanted) || !same(key, wanted_key)) return false;
    const bool type_only = loaded != Py_None && PyUnicode_CheckExact(key) && PySet_Contains(loaded, key);
    if (!same(value, wanted, type_only)) return false;
  }
  return !PyDict_Next(expected, &wanted_at, &wanted_key, &wanted);
}

struct DictRecord {
  const uint64_t* version;
  uint64_t seen;
  PyObject *dict, *expected, *names, *loaded;
  bool look_up;

  bool holds(bool anew) {
    const uint64_t now = *version;
    if (kVersionsTell && now == seen && !anew) return true;
    if (!has_items(dict, expected, names, look_up, loaded)) return false;
    seen = now;
    return true;
  }
};

// ---------------------------------------------------------------- other objects

struct TypeRecord {
  PyTypeObject* type;
  unsigned seen;
  PyObject* mro;
};
struct ClassRecord {
  PyTypeObject* type;
  PyObject *expected, *names;
};
struct InstanceRecord {
  PyObject* object;
  PyTypeObject* type;
  PyObject **dict_at, *dict;
};
struct FunctionRecord {
  PyFunctionObject* function;
  PyObject* fields;  // code, defaults, keyword defaults, name, qualified name, module, doc, attributes

  bool holds() const {
    PyFunctionObject* f = function;
    PyObject* const now[] = {f->func_code,     f->func_defaults, f->func_kwdefaults, f->func_name,
                             f->func_qualname, f->func_module,   f->func_doc};
    for (int i = 0; i < 7; ++i) {
      if (!same(now[i] ? now[i] : Py_None, PyTuple_GET_ITEM(fields, i))) return false;
    }
    PyObject* dict = PyTuple_GET_ITEM(fields, 7);
    return f->func_dict == dict || (dict == Py_None && (!f->func_dict || !PyDict_GET_SIZE(f->func_dict)));
  }
};
struct Pair {  // a list, a set or a cell, and what it has
  PyObject *object, *expected;
};
struct SlotRecord {
  PyObject *descriptor, *object, *expected;

  bool holds() const {
    const Ref now(Py_TYPE(descriptor)->tp_descr_get(descriptor, object, as_object(Py_TYPE(object))));
    if (!now) PyErr_Clear();
    return same(now ? now.get() : absent(), expected);
  }
};

bool list_holds(const Pair& record) {
  const ItemsOf items(record.object);
  const Py_ssize_t n = PyTuple_GET_SIZE(record.expected);
  if (items.size() != n) return false;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!same(items[i], PyTuple_GET_ITEM(record.expected, i))) return false;
  }
  return true;
}

// Of a set or an OrderedDict, whose order no version tells.
bool iterable_holds(const Pair& record) {
  PyObject* o = record.object;  // a subclass may iterate in its own way, which is a program's code
  const Ref iterator(PyAnySet_Check(o) ? PySet_Type.tp_iter(o) : PyODict_Check(o) ? PyODict_Type.tp_iter(o) : PyObject_GetIter(o));
  const Py_ssize_t n = PyTuple_GET_SIZE(record.expected);
  for (Py_ssize_t i = 0; iterator && i <= n; ++i) {
    const Ref item(PyIter_Next(iterator.get()));
    if (!item && PyErr_Occurred()) break;
    if (i == n || !item) return i == n && !item;
    if (!same(item.get(), PyTuple_GET_ITEM(record.expected, i))) return false;
  }
  PyErr_Clear();
  return false;
}

// ---------------------------------------------------------------- tensors

// All of a tensor that may decide what is called, but its values. Compared word by word without a
// branch: most of the time of a check is spent here.
struct Meta {
  static constexpr uint32_t kFlags = ~(kCut | kCutReason);  // why it has no history matters to errors alone
  const void *type, *hooks, *attributes, *storage, *memory, *leaf_hooks;
  Py_ssize_t offset;
  uint64_t form, place;  // dimensions, element type, flags; device, and whether it may be written
  uint64_t placed, offset_is;  // all bits where storage and memory, or the offset, are compared
  uint32_t dims_at;  // sizes and strides in the pool
  uint8_t dims, has, has_is;  // history, a gradient, a root that wants one; which of these are compared

  static uint64_t form_of(const Tensor* t) {
    uint64_t form;
    static_assert(offsetof(Tensor, flags) == offsetof(Tensor, ndim_) + 4, "dimensions, alignment, type and flags in one word");
    memcpy(&form, &t->ndim_, sizeof form);
    return form & (static_cast<uint64_t>(kFlags) << 32 | 0xFFFFFFFF);
  }
  static uint64_t place_of(const Storage* s) { return static_cast<uint64_t>(s->device) << 8 | (s->flags & Storage::kReadOnly); }
  static uint8_t has_of(const Tensor* t) {
    return static_cast<uint8_t>(static_cast<bool>(t->grad_fn) | static_cast<bool>(t->grad) << 1 |
                                (t->base ? 4 | requires_grad(t) << 3 : 0));
  }
  static const void* leaf_hooks_of(const Tensor* t) { return t->accumulator ? t->accumulator->hooks.peek() : nullptr; }
  void take(const Tensor* t, std::vector<Py_ssize_t>* pool, bool reached, bool offsets, bool gradients) {
    type = Py_TYPE(t), hooks = t->hooks.peek(), attributes = t->dict, leaf_hooks = leaf_hooks_of(t);
    storage = t->storage(), memory = t->storage()->data, offset = t->offset();
    form = form_of(t), place = place_of(t->storage()), has = has_of(t), has_is = gradients ? 15 : 13;
    placed = reached ? ~uint64_t{0} : 0, offset_is = reached || offsets ? ~uint64_t{0} : 0;
    dims = t->ndim_, dims_at = static_cast<uint32_t>(pool->size());
    pool->insert(pool->end(), t->sizes(), t->sizes() + 2 * t->ndim());
  }
  bool is(const Meta& m, const Py_ssize_t* pool, const Py_ssize_t* its) const {  // gradients apart
    return type == m.type && hooks == m.hooks && attributes == m.attributes && storage == m.storage && memory == m.memory &&
           leaf_hooks == m.leaf_hooks && offset == m.offset && form == m.form && place == m.place && !((has ^ m.has) & 13) &&
           std::equal(pool + dims_at, pool + dims_at + 2 * dims, its + m.dims_at);
  }
  bool fits(const Tensor* t, const Py_ssize_t* pool) const {
    const auto differ = [](const void* a, const void* b) {
      return reinterpret_cast<uintptr_t>(a) ^ reinterpret_cast<uintptr_t>(b);
    };
    uint64_t d = differ(Py_TYPE(t), type) | differ(t->hooks.peek(), hooks) | differ(t->dict, attributes);
    d |= (differ(t->storage(), storage) | differ(t->storage()->data, memory)) & placed;
    d |= static_cast<uint64_t>(t->offset() ^ offset) & offset_is;
    d |= (form_of(t) ^ form) | (place_of(t->storage()) ^ place) | static_cast<uint64_t>((has_of(t) ^ has) & has_is) |
         differ(leaf_hooks_of(t), leaf_hooks);
    if (d) return false;
    const Py_ssize_t *now = t->sizes(), *then = pool + dims_at;
    for (int i = 2 * t->ndim(); i--;) d |= static_cast<uint64_t>(now[i] ^ then[i]);
    return !d;
  }
};

struct TensorRecord {
  Tensor* tensor;  // of an input: nullptr, or the tensor that is reached otherwise, too
  Meta meta;
  int grad = -1;  // which of the gradients is its own
  // Of an input: the first input before it of the same memory, and that is the same tensor; the
  // first reached tensor of its memory.
  int shares = -1, repeats = -1, shows = -1;
};

// ---------------------------------------------------------------- modes

// Settings of the thread and of the process. With levels, hooks, modes or observers in force
// nothing holds.
struct Settings {
  bool grad, inference, alerts, on_cpu;
  DType type;
  int threads;
  bool operator==(const Settings&) const = default;
};
Settings settings() {
  return {tls.grad_enabled, tls.inference,          alerts_nondeterministic.load(std::memory_order_relaxed),
          on_cpu,           registry.default_dtype, get_num_threads()};
}
const char* in_the_way() {
  if (!plain.tensor) return "a mode (autocast, a TorchFunctionMode) was entered outside: enter it inside";
  if (tls.overrides != Overrides::All) return "__torch_function__ is disabled";
  if (tls.saved_hooks) return "hooks on saved tensors are in force";
  if (tls.transform || tls.derivative) return "a transform (vmap, grad, jvp) runs it";
  if (tls.task >= 0) return "a backward runs it";
  if (observed() || watching_writes) return "the calls are observed (anomaly mode, the profiler, the trace)";
  return nullptr;
}

// ---------------------------------------------------------------- the object

// The tensors of a call so far, and its lists and dicts.
struct Found {
  PyObject* tuple;  // of as many as are expected
  Py_ssize_t n = 0;
  std::vector<PyObject*> containers;
};

struct Records {
  std::vector<DictRecord> dicts;
  std::vector<TypeRecord> types;
  std::vector<ClassRecord> classes;
  std::vector<InstanceRecord> instances;
  std::vector<Pair> lists, cells, iterables;
  std::vector<FunctionRecord> functions;
  std::vector<SlotRecord> slots;
  std::vector<TensorRecord> tensors, inputs;
  std::vector<Meta> gradients;
  std::vector<Py_ssize_t> pool;
  std::vector<std::pair<const void*, int>> memories;  // of `tensors`, sorted
  std::vector<PyObject*> containers;  // lists and dicts that are reached, sorted
  PyObject* tree = nullptr;
  bool offsets = false, with_gradients = false;  // whether an input's offset and gradients are compared
  Settings settings;
  unsigned long thread = 0;  // where the state is a thread's own, else 0

  bool fits(const Tensor* t, const TensorRecord& r) const {
    return r.meta.fits(t, pool.data()) && (r.grad < 0 || gradients[r.grad].fits(t->grad.peek(), pool.data()));
  }
  bool holds(bool anew);
  bool classes_hold(bool anew);
  bool matches(PyObject* tree, PyObject* value, Found* found) const;
  int relate(std::vector<TensorRecord>* to, PyObject* const* found);
};

struct Guards {
  PyObject_HEAD PyObject* rows;
  Records* records;
};
Guards* as_guards(PyObject* o) { return reinterpret_cast<Guards*>(o); }

bool Records::classes_hold(bool anew) {
  bool differs = anew;
  for (const TypeRecord& t : types) differs |= !t.seen || t.type->tp_version_tag != t.seen;
  if (!differs) return true;
  for (const TypeRecord& t : types) {
    if (t.type->tp_mro != t.mro) return false;
  }
  for (const ClassRecord& c : classes) {
    const Ref dict(dict_of_class(c.type));
    if (!dict || !has_items(dict.get(), c.expected, c.names, false, Py_None)) return false;
  }
  for (TypeRecord& t : types) {
    if (!(t.seen = class_version(t.type))) return false;
  }
  return true;
}

bool Records::holds(bool anew) {
  if (in_the_way() || !(rushlight::settings() == settings)) return false;
  if (thread && thread != PyThread_get_thread_ident()) return false;
  for (const InstanceRecord& i : instances) {
    if (Py_TYPE(i.object) != i.type || (i.dict_at && *i.dict_at != i.dict)) return false;
  }
  for (DictRecord& d : dicts) {
    if (!d.holds(anew)) return false;
  }
  if (!classes_hold(anew)) return false;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (i + kAhead < tensors.size()) {
      const char* next = reinterpret_cast<const char*>(tensors[i + kAhead].tensor);
      for (int line = 0; line < 4; ++line) __builtin_prefetch(next + 64 * line);
      __builtin_prefetch(tensors[i + kAhead / 2].tensor->storage());
    }
    if (!fits(tensors[i].tensor, tensors[i])) return false;
  }
  for (const Pair& c : cells) {
    PyObject* now = PyCell_GET(c.object);
    if (!same(now ? now : absent(), c.expected)) return false;
  }
  return std::all_of(lists.begin(), lists.end(), list_holds) && std::all_of(iterables.begin(), iterables.end(), iterable_holds) &&
         std::all_of(functions.begin(), functions.end(), [](const FunctionRecord& f) { return f.holds(); }) &&
         std::all_of(slots.begin(), slots.end(), [](const SlotRecord& s) { return s.holds(); });
}

// A tree is the number of an input; or ("", value), a leaf; or (kind, type, keys, trees): "t" a
// tuple, "l" a list, "d" a dict, "k" the dict of the keywords, "o" an object, by its attributes.
bool Records::matches(PyObject* part, PyObject* value, Found* found) const {
  if (PyLong_CheckExact(part)) {
    if (!is_tensor(value) || found->n == PyTuple_GET_SIZE(found->tuple)) return false;
    PyTuple_SET_ITEM(found->tuple, found->n++, Py_NewRef(value));
    return true;
  }
  const char kind = PyUnicode_GET_LENGTH(PyTuple_GET_ITEM(part, 0)) ? *PyUnicode_AsUTF8(PyTuple_GET_ITEM(part, 0)) : 0;
  if (!kind) return same(value, PyTuple_GET_ITEM(part, 1));
  if (as_object(Py_TYPE(value)) != PyTuple_GET_ITEM(part, 1)) return false;
  PyObject* trees = PyTuple_GET_ITEM(part, 3);
  const Py_ssize_t n = PyTuple_GET_SIZE(trees);
  if (kind != 't' && kind != 'k') {
    if (std::binary_search(containers.begin(), containers.end(), value)) return false;
    if (std::find(found->containers.begin(), found->containers.end(), value) != found->containers.end()) return false;
    found->containers.push_back(value);
  }
  if (kind == 't' || kind == 'l') {
    if (PySequence_Fast_GET_SIZE(value) != n) return false;
    for (Py_ssize_t i = 0; i < n; ++i) {
      if (!matches(PyTuple_GET_ITEM(trees, i), PySequence_Fast_GET_ITEM(value, i), found)) return false;
    }
    return true;
  }
  Ref attributes;
  if (kind == 'o') {
    attributes = Ref(PyObject_GenericGetDict(value, nullptr));
    if (!attributes) return PyErr_Clear(), false;
    if (!PyDict_CheckExact(attributes.get())) return false;
    value = attributes.get();
  }
  if (PyDict_GET_SIZE(value) != n) return false;
  PyObject *key, *item, *keys = PyTuple_GET_ITEM(part, 2);
  Py_ssize_t at = 0;
  for (Py_ssize_t i = 0; PyDict_Next(value, &at, &key, &item); ++i) {
    if (!same(key, PyTuple_GET_ITEM(keys, i)) || !matches(PyTuple_GET_ITEM(trees, i), item, found)) return false;
  }
  return true;
}

// Which inputs share memory, with each other and with what is reached: noted in `to`, the records
// of the inputs; or compared with what was noted, where `to` is nullptr. Whether that is so; notes
// always are.
int Records::relate(std::vector<TensorRecord>* to, PyObject* const* found) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor* t = as_tensor(found[i]);
    int shares = -1, repeats = -1, shows = -1;
    for (size_t j = 0; j < i && repeats < 0; ++j) {
      if (shares < 0 && as_tensor(found[j])->storage() == t->storage()) shares = static_cast<int>(j);
      if (found[j] == found[i]) repeats = static_cast<int>(j);
    }
    const auto at = std::lower_bound(memories.begin(), memories.end(), std::pair<const void*, int>(t->storage(), 0));
    Tensor* itself = nullptr;
    if (at != memories.end() && at->first == t->storage()) {
      shows = at->second;
      for (auto m = at; m != memories.end() && m->first == t->storage(); ++m) {
        if (tensors[m->second].tensor == t) itself = tensors[m->second].tensor;
      }
    }
    if (to) {
      TensorRecord& r = (*to)[i];
      r.shares = shares, r.repeats = repeats, r.shows = shows, r.tensor = itself;
    } else {
      const TensorRecord& r = inputs[i];
      if (r.shares != shares || r.repeats != repeats || r.shows != shows || r.tensor != itself) return 0;
    }
  }
  return 1;
}

// ---------------------------------------------------------------- made of rows

template <class... To>
bool parse(PyObject* row, const char* format, To... to) {
  if (PyTuple_Check(row)) return PyArg_ParseTuple(row, format, to...);
  return PyErr_SetString(PyExc_TypeError, "Guards: a tuple"), false;
}

bool is_names(PyObject* o) {
  return o == Py_None || PyFrozenSet_CheckExact(o) || (PyErr_SetString(PyExc_TypeError, "Guards: a frozenset"), false);
}

// Whether `matches` can follow a tree.
bool is_tree(PyObject* part, int depth = 0) {
  if (PyLong_CheckExact(part)) return true;
  const char* kind;
  PyObject *type, *keys, *trees;
  if (!PyTuple_CheckExact(part) || depth == 4 * kDeepest) return false;
  if (PyTuple_GET_SIZE(part) == 2) {
    PyObject* first = PyTuple_GET_ITEM(part, 0);
    return PyUnicode_CheckExact(first) && !PyUnicode_GET_LENGTH(first);
  }
  if (!PyArg_ParseTuple(part, "sO!O!O!", &kind, &PyType_Type, &type, &PyTuple_Type, &keys, &PyTuple_Type, &trees)) {
    return PyErr_Clear(), false;
  }
  const auto is_below = [type](PyTypeObject& of) { return PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), &of); };
  const bool fits = *kind == 't'   ? is_below(PyTuple_Type)
                    : *kind == 'l' ? is_below(PyList_Type)
                                   : PyTuple_GET_SIZE(keys) == PyTuple_GET_SIZE(trees) &&
                                         (*kind == 'o' || ((*kind == 'd' || *kind == 'k') && is_below(PyDict_Type)));
  for (Py_ssize_t i = 0; fits && i < PyTuple_GET_SIZE(trees); ++i) {
    if (!is_tree(PyTuple_GET_ITEM(trees, i), depth + 1)) return false;
  }
  return fits;
}

bool add_dict(Records* to, PyObject* row) {
  DictRecord d{};
  int look_up;
  if (!parse(row, "O!O!OpO", &PyDict_Type, &d.dict, &PyDict_Type, &d.expected, &d.names, &look_up, &d.loaded)) return false;
  if (!is_names(d.names) || !is_names(d.loaded)) return false;
  d.look_up = look_up;
  to->dicts.reserve(to->dicts.size() + 1);  // what is watched must be noted
  if (!(d.version = version_at(d.dict))) return false;
  d.seen = *d.version;
  to->dicts.push_back(d);
  return true;
}

bool add_type(Records* to, PyObject* row) {
  TypeRecord t{};
  if (!parse(row, "O!O!", &PyType_Type, &t.type, &PyTuple_Type, &t.mro)) return false;
  t.seen = class_version(t.type);
  to->types.push_back(t);
  return true;
}

bool add_class(Records* to, PyObject* row) {
  ClassRecord c{};
  if (!parse(row, "O!O!O", &PyType_Type, &c.type, &PyDict_Type, &c.expected, &c.names) || !is_names(c.names)) return false;
  to->classes.push_back(c);
  return true;
}

bool add_instance(Records* to, PyObject* row) {
  InstanceRecord i{};
  if (!parse(row, "OO!O", &i.object, &PyType_Type, &i.type, &i.dict)) return false;
  i.dict_at = i.dict == Py_None ? nullptr : _PyObject_GetDictPtr(i.object);
  to->instances.push_back(i);
  return true;
}

bool add_function(Records* to, PyObject* row) {
  FunctionRecord f{};
  if (!parse(row, "O!O!", &PyFunction_Type, &f.function, &PyTuple_Type, &f.fields)) return false;
  if (PyTuple_GET_SIZE(f.fields) != 8) return PyErr_SetString(PyExc_TypeError, "Guards: eight fields"), false;
  to->functions.push_back(f);
  return true;
}

bool add_slot(Records* to, PyObject* row) {
  SlotRecord s{};
  if (!parse(row, "O!OO", &PyMemberDescr_Type, &s.descriptor, &s.object, &s.expected)) return false;
  to->slots.push_back(s);
  return true;
}

template <std::vector<Pair> Records::* of, PyTypeObject* type>
bool add_pair(Records* to, PyObject* row) {
  Pair p{};
  if (!parse(row, "O!O", type, &p.object, &p.expected)) return false;
  if (type != &PyCell_Type && !PyTuple_CheckExact(p.expected)) return PyErr_SetString(PyExc_TypeError, "Guards: a tuple"), false;
  (to->*of).push_back(p);
  return true;
}

template <std::vector<TensorRecord> Records::* of, bool reached>
bool add_tensor(Records* to, PyObject* row) {
  if (!is_tensor(row)) return PyErr_SetString(PyExc_TypeError, "Guards: a tensor"), false;
  TensorRecord t{};
  t.tensor = reached ? as_tensor(row) : nullptr;
  t.meta.take(as_tensor(row), &to->pool, reached, to->offsets, to->with_gradients);
  if (const Tensor* g = to->with_gradients ? as_tensor(row)->grad.peek() : nullptr) {
    t.grad = static_cast<int>(to->gradients.size());
    to->gradients.emplace_back().take(g, &to->pool, false, false, false);
  }
  (to->*of).push_back(t);
  return true;
}

int fill(Records* to, PyObject* rows, PyObject* inputs) {
  const auto row = [rows](int i) { return PyTuple_GET_ITEM(rows, i); };
  to->offsets = row(11) == Py_True, to->with_gradients = row(13) == Py_True;
  to->thread = row(12) == Py_True ? PyThread_get_thread_ident() : 0;
  to->tree = row(10);
  if (!PyTuple_Check(to->tree) || PyTuple_GET_SIZE(to->tree) != 2 || !is_tree(PyTuple_GET_ITEM(to->tree, 0)) ||
      !is_tree(PyTuple_GET_ITEM(to->tree, 1))) {
    return PyErr_SetString(PyExc_TypeError, "Guards: a pair of trees"), -1;
  }
  using Add = bool (*)(Records*, PyObject*);
  const Add adds[] = {add_dict,
                      add_type,
                      add_class,
                      add_instance,
                      add_pair<&Records::lists, &PyList_Type>,
                      add_pair<&Records::cells, &PyCell_Type>,
                      add_pair<&Records::iterables, &PyBaseObject_Type>,
                      add_function,
                      add_slot,
                      add_tensor<&Records::tensors, true>,
                      add_tensor<&Records::inputs, false>};
  for (int kind = 0; kind < 11; ++kind) {
    PyObject* all = kind < 10 ? row(kind) : inputs;
    if (!PyTuple_Check(all)) return PyErr_SetString(PyExc_TypeError, "Guards: tuples of rows"), -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all); ++i) {
      if (!adds[kind](to, PyTuple_GET_ITEM(all, i))) return -1;
    }
  }
  for (size_t i = 0; i < to->tensors.size(); ++i) to->memories.emplace_back(to->tensors[i].tensor->storage(), static_cast<int>(i));
  std::sort(to->memories.begin(), to->memories.end());
  for (const DictRecord& d : to->dicts) to->containers.push_back(d.dict);
  for (const Pair& l : to->lists) to->containers.push_back(l.object);
  std::sort(to->containers.begin(), to->containers.end());
  to->relate(&to->inputs, PySequence_Fast_ITEMS(inputs));
  to->settings = settings();
  return 0;
}

void empty(Guards* self) {
  if (self->records) {
    for (const DictRecord& d : self->records->dicts) release_version(d.dict);
  }
  delete std::exchange(self->records, nullptr);
  Py_CLEAR(self->rows);
}

// Guards(rows, inputs): state.py says what each row has. The inputs are looked at, and not kept.
PyObject* guards_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *rows, *inputs;
  if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &rows, &PyTuple_Type, &inputs)) return nullptr;
  if (PyTuple_GET_SIZE(rows) != kRows) return PyErr_Format(PyExc_TypeError, "Guards: %d rows", kRows);
  Ref self(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  Guards* g = as_guards(self.get());
  g->rows = Py_NewRef(rows);
  g->records = new Records;
  if (fill(g->records, rows, inputs) < 0) return nullptr;
  return self.release();
}

void guards_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  empty(as_guards(self));
  type->tp_free(self);
  Py_DECREF(type);
}

int guards_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_guards(self)->rows);
  return 0;
}

int guards_clear(PyObject* self) {
  empty(as_guards(self));
  return 0;
}

PyObject* check(PyObject* self, PyObject*) {
  Records* r = as_guards(self)->records;
  return PyBool_FromLong(r && r->holds(false));
}

PyObject* refresh(PyObject* self, PyObject*) {
  Records* r = as_guards(self)->records;
  return PyBool_FromLong(r && r->holds(true));
}

// altered(later): the number of the first tensor or input, counted on, whose metadata is another in
// guards made later; -1 where a setting is; None.
PyObject* altered(PyObject* self, PyObject* later) {
  const Records* a = as_guards(self)->records;
  const Records* b = Py_TYPE(later) == GuardsType ? as_guards(later)->records : nullptr;
  if (!a || !b) return PyErr_Format(PyExc_TypeError, "altered(guards)");
  if (!(a->settings == b->settings)) return PyLong_FromLong(-1);
  std::unordered_map<const Tensor*, const Meta*> found;
  for (const TensorRecord& t : b->tensors) found[t.tensor] = &t.meta;
  const size_t n = a->tensors.size();
  for (size_t i = 0; i < n + a->inputs.size(); ++i) {
    const TensorRecord& t = i < n ? a->tensors[i] : a->inputs[i - n];
    const Meta* then = i < n ? found[t.tensor] : i - n < b->inputs.size() ? &b->inputs[i - n].meta : nullptr;
    if (then && !t.meta.is(*then, a->pool.data(), b->pool.data())) return PyLong_FromSize_t(i);
  }
  Py_RETURN_NONE;
}

PyObject* match(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  return n == 2 ? matched_inputs(self, args[0], args[1]) : PyErr_Format(PyExc_TypeError, "match(args, kwargs)");
}

// match_again(args, kwargs): the same in a backward of the call, whatever gradients there are by now.
PyObject* match_again(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  Records* r = as_guards(self)->records;
  if (!r) Py_RETURN_NONE;
  std::vector<TensorRecord> tensors = r->tensors, inputs = r->inputs;
  for (std::vector<TensorRecord>* records : {&r->tensors, &r->inputs}) {
    for (TensorRecord& t : *records) t.grad = -1, t.meta.has_is &= 13;
  }
  const int64_t task = std::exchange(tls.task, -1);
  PyObject* found = match(self, args, n);
  tls.task = task;
  if (r == as_guards(self)->records) r->tensors.swap(tensors), r->inputs.swap(inputs);
  return found;
}

PyObject* same_values(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 2) return PyErr_Format(PyExc_TypeError, "same(a, b)");
  return PyBool_FromLong(same(args[0], args[1]));
}

// made_by_python(cls): whether a class statement made the class, so that all state of its instances
// is in attributes.
PyObject* made_by_python(PyObject*, PyObject* cls) {
  if (!PyType_Check(cls) || !registry.device_type) Py_RETURN_FALSE;
  const auto* known = reinterpret_cast<PyTypeObject*>(registry.device_type);
  return PyBool_FromLong(reinterpret_cast<PyTypeObject*>(cls)->tp_dealloc == known->tp_dealloc);
}

// parts(tensor): its dict of attributes, its hooks, and those of the node that accumulates its
// gradient; None where there are none.
PyObject* parts(PyObject*, PyObject* o) {
  const Tensor* t = tensor_argument(o);
  if (!t) return nullptr;
  const auto given = [](PyObject* p) { return p ? p : Py_None; };
  return PyTuple_Pack(3, given(t->dict), given(t->hooks.peek()), given(t->accumulator ? t->accumulator->hooks.peek() : nullptr));
}

PyObject* obstacle(PyObject*, PyObject*) {
  const char* what = in_the_way();
  return what ? PyUnicode_FromString(what) : Py_NewRef(Py_None);
}

}  // namespace

bool same_value(PyObject* a, PyObject* b) { return same(a, b); }

PyObject* matched_inputs(PyObject* guards, PyObject* args, PyObject* kwargs) {
  if (Py_TYPE(guards) != GuardsType) return PyErr_Format(PyExc_TypeError, "Guards, args, kwargs");
  Records* r = as_guards(guards)->records;
  if (!r) Py_RETURN_NONE;
  Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(r->inputs.size())));  // may collect, so it is made first
  if (!tuple) return nullptr;
  Found found{tuple.get(), 0, {}};
  const auto item = [&](Py_ssize_t i) { return PyTuple_GET_ITEM(tuple.get(), i); };
  bool fits = r == as_guards(guards)->records && r->matches(PyTuple_GET_ITEM(r->tree, 0), args, &found) &&
              r->matches(PyTuple_GET_ITEM(r->tree, 1), kwargs, &found) && found.n == PyTuple_GET_SIZE(tuple.get());
  for (Py_ssize_t i = 0; fits && i < found.n; ++i) fits = r->fits(as_tensor(item(i)), r->inputs[i]);
  fits = fits && r->relate(nullptr, PySequence_Fast_ITEMS(tuple.get())) && r->holds(false);
  return fits ? tuple.release() : Py_NewRef(Py_None);
}

int init_state(PyObject* module) {
#if PY_VERSION_HEX >= 0x030E0000
  watcher = PyDict_AddWatcher(note_change);
  if (watcher < 0) return -1;
#endif
  static PyMethodDef kMethods[] = {
      {"check", method_of<check>(), METH_NOARGS, "Whether all is as it was."},
      {"refresh", method_of<refresh>(), METH_NOARGS, "The same, with every value compared, whatever the versions say."},
      {"altered", method_of<altered>(), METH_O, "The first tensor whose metadata is another in guards made later."},
      {"match", method_of<match>(), METH_FASTCALL, "The input tensors of a call that is like the captured one, or None."},
      {"match_again", method_of<match_again>(), METH_FASTCALL, "The same in a backward of the call, whatever gradients there are."},
      {"same", method_of<same_values>(), METH_FASTCALL | METH_STATIC, "Whether code cannot tell two values apart."},
      {"made_by_python", method_of<made_by_python>(), METH_O | METH_STATIC, "Whether a class statement made a class."},
      {"parts", method_of<parts>(), METH_O | METH_STATIC, "The attributes and the hooks of a tensor."},
      {"obstacle", method_of<obstacle>(), METH_NOARGS | METH_STATIC, "The mode in force under which nothing is captured, or None."},
      {nullptr, nullptr, 0, nullptr},
  };
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("Whether the Python state that a run could have read is as it was.")},
      {Py_tp_new, slot_of<guards_new>()},
      {Py_tp_dealloc, slot_of<guards_dealloc>()},
      {Py_tp_traverse, slot_of<guards_traverse>()},
      {Py_tp_clear, slot_of<guards_clear>()},
      {Py_tp_methods, kMethods},
      {0, nullptr},
  };
  PyType_Spec spec = {"rushlight._core.Guards", sizeof(Guards), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
  GuardsType = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
  return GuardsType ? PyModule_AddObjectRef(module, "Guards", as_object(GuardsType)) : -1;
}

}  // namespace rushlight
