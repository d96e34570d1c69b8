// Guards: whether Python state is as it was when a run was captured.
// src/rushlight/_capture/state.py finds out which state that is.
//
// Note [Two speeds]: most that guards compare is a word that has to be as it was: a dict's version,
// an object's class, what is in a cell. `check` goes through these words in one pass, and compares
// what a word stands for only where the word differs. Python 3.11 gives each dict a version of its
// own; from 3.14 on a watcher counts a dict's changes here. A class has a version in every Python,
// which covers its bases. Where values are as they were the new version is taken: a script's
// globals change all the time. What tensors are is compared when `changes` (core.h) says that some
// tensor changed.
//
// Note [What is borrowed]: `rows` is a tuple of tuples, which Python cannot change, and owns all
// objects named here. All pointers and the addresses of words are borrowed from it: they are in
// objects, not in what objects may allocate anew. A word that is no version is the address of an
// object that `rows` owns, so no other object can come to have it. Comparisons run no Python code:
// only values of the core's and Python's own immutable types are looked into, all others are
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
constexpr int kRows = 13;
constexpr size_t kAtOnce = 8;  // words
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

// Whether a dict's version tells of every change. Python 3.12 and 3.13 do not tell of attributes
// whose values lie in the object.
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
// to be there. `loaded`: keys whose values are compared by type alone, or not at all (`any`).
bool has_items(PyObject* dict, PyObject* expected, PyObject* names, bool look_up, PyObject* loaded, bool any = false) {
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
    if (!(any && type_only) && !same(value, wanted, type_only)) return false;
  }
  return !PyDict_Next(expected, &wanted_at, &wanted_key, &wanted);
}

// ---------------------------------------------------------------- rows

PyObject* at(PyObject* row, int i) { return PyTuple_GET_ITEM(row, i); }
PyTypeObject* as_type(PyObject* o) { return reinterpret_cast<PyTypeObject*>(o); }

bool dict_holds(PyObject* row) { return has_items(at(row, 0), at(row, 1), at(row, 2), at(row, 3) == Py_True, at(row, 4)); }

// A class, its bases, and the dicts of these. It has a version again afterwards.
bool class_holds(PyObject* row) {
  PyTypeObject* type = as_type(at(row, 0));
  const PyObject* dicts = at(row, 2);
  bool holds = type->tp_mro == at(row, 1);
  for (Py_ssize_t i = 0; holds && i < PyTuple_GET_SIZE(dicts); ++i) {
    PyObject* of = PyTuple_GET_ITEM(dicts, i);
    const Ref dict(dict_of_class(as_type(at(of, 0))));
    holds = dict && has_items(dict.get(), at(of, 1), at(of, 2), false, Py_None);
  }
  return holds && class_version(type);
}

bool instance_holds(PyObject* row) {
  PyObject *o = at(row, 0), *expected = at(row, 2);
  PyObject** dict = expected == Py_None ? nullptr : _PyObject_GetDictPtr(o);
  return as_object(Py_TYPE(o)) == at(row, 1) && (!dict || *dict == expected);
}

bool list_holds(PyObject* row) {
  const ItemsOf items(at(row, 0)), expected(at(row, 1));
  const Py_ssize_t n = expected.size();
  if (items.size() != n) return false;
  if (!std::memcmp(items.all(), expected.all(), static_cast<size_t>(n) * sizeof(PyObject*))) return true;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!same(items[i], expected[i])) return false;
  }
  return true;
}

bool cell_holds(PyObject* row) {
  PyObject* now = PyCell_GET(at(row, 0));
  return same(now ? now : absent(), at(row, 1));
}

// Of a set or an OrderedDict, whose order no version tells.
bool iterable_holds(PyObject* row) {
  PyObject* o = at(row, 0);  // a subclass may iterate in its own way, which is a program's code
  const Ref iterator(PyAnySet_Check(o) ? PySet_Type.tp_iter(o) : PyODict_Check(o) ? PyODict_Type.tp_iter(o) : PyObject_GetIter(o));
  const Py_ssize_t n = PyTuple_GET_SIZE(at(row, 1));
  for (Py_ssize_t i = 0; iterator && i <= n; ++i) {
    const Ref item(PyIter_Next(iterator.get()));
    if (!item && PyErr_Occurred()) break;
    if (i == n || !item) return i == n && !item;
    if (!same(item.get(), PyTuple_GET_ITEM(at(row, 1), i))) return false;
  }
  PyErr_Clear();
  return false;
}

// Fields of a function: code, defaults, keyword defaults, name, qualified name, module, doc,
// attributes.
constexpr int kFields = 8;
PyObject** field_of(PyObject* function, int i) {
  auto* f = reinterpret_cast<PyFunctionObject*>(function);
  PyObject** const fields[kFields] = {&f->func_code,     &f->func_defaults, &f->func_kwdefaults, &f->func_name,
                                      &f->func_qualname, &f->func_module,   &f->func_doc,        &f->func_dict};
  return fields[i];
}
bool function_holds(PyObject* row) {
  for (int i = 0; i < kFields; ++i) {
    PyObject* now = *field_of(at(row, 0), i);
    if (!same(now ? now : Py_None, at(at(row, 1), i))) return false;
  }
  return true;
}

bool slot_holds(PyObject* row) {
  PyObject *descriptor = at(row, 0), *object = at(row, 1);
  const Ref now(Py_TYPE(descriptor)->tp_descr_get(descriptor, object, as_object(Py_TYPE(object))));
  if (!now) PyErr_Clear();
  return same(now ? now.get() : absent(), at(row, 2));
}

bool never(PyObject*) { return false; }  // compared as a word alone

// In the order of state.py's rows, in which tensors, inputs and the rest follow.
using Holds = bool (*)(PyObject* row);
constexpr Holds kHolds[] = {dict_holds, class_holds,    instance_holds, list_holds,
                            cell_holds, iterable_holds, function_holds, slot_holds};
constexpr int kKinds = std::size(kHolds);

// ---------------------------------------------------------------- tensors

// All of a tensor that may decide what is called, but its values. Compared word by word without a
// branch: most of the time of a check is spent here.
struct Meta {
  static constexpr uint32_t kFlags = ~(kCut | kCutReason);  // why it has no history matters to errors alone
  const void *type, *hooks, *attributes, *storage, *memory, *leaf_hooks;
  Py_ssize_t offset;
  uint64_t form, place;  // dimensions, element type, flags; device, and whether it may be written
  uint8_t has;  // history, a root, one that wants a gradient
  uint32_t dims_at = 0;  // sizes and strides in the pool
  static uint64_t form_of(const Tensor* t) {
    uint64_t form;
    static_assert(offsetof(Tensor, flags) == offsetof(Tensor, ndim_) + 4, "dimensions, alignment, type and flags in one word");
    memcpy(&form, &t->ndim_, sizeof form);
    return form & (static_cast<uint64_t>(kFlags) << 32 | 0xFFFFFFFF);
  }
  static uint64_t place_of(const Storage* s) { return static_cast<uint64_t>(s->device) << 8 | (s->flags & Storage::kReadOnly); }
  static uint8_t has_of(const Tensor* t) {
    return static_cast<uint8_t>(static_cast<bool>(t->grad_fn) | (t->base ? 2 | requires_grad(t) << 2 : 0));
  }
  Meta() = default;
  explicit Meta(const Tensor* t)
      : type(Py_TYPE(t)),
        hooks(t->hooks.peek()),
        attributes(t->dict),
        storage(t->storage()),
        memory(t->storage()->data),
        leaf_hooks(t->accumulator ? t->accumulator->hooks.peek() : nullptr),
        offset(t->offset()),
        form(form_of(t)),
        place(place_of(t->storage())),
        has(has_of(t)) {}
  enum Asked : unsigned { Offset = 1, Place = 2 };  // what is compared beside the rest; a place has an offset
  bool is(const Meta& m, unsigned asked) const {  // sizes and strides apart
    const auto differ = [](const void* a, const void* b) {
      return reinterpret_cast<uintptr_t>(a) ^ reinterpret_cast<uintptr_t>(b);
    };
    uint64_t d = differ(type, m.type) | differ(hooks, m.hooks) | differ(attributes, m.attributes) |
                 differ(leaf_hooks, m.leaf_hooks);
    d |= (form ^ m.form) | (place ^ m.place) | (has ^ m.has);
    if (asked & Place) d |= differ(storage, m.storage) | differ(memory, m.memory);
    if (asked) d |= static_cast<uint64_t>(offset ^ m.offset);
    return !d;
  }
};

// The tensors with which an input shares memory: the first earlier input, and the first that is the
// same tensor; the first reached tensor, and the reached tensor that is the input itself.
struct Relation {
  int shares = -1, repeats = -1, shows = -1;
  const Tensor* itself = nullptr;
  bool operator==(const Relation&) const = default;
};

struct TensorRecord {
  Tensor* tensor = nullptr;  // of an input: nullptr
  Meta meta;
  int grad = -1;  // which of the gradients is its own
  Relation relation = {};  // of an input
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
  if (tls.modes && !tls.modes->empty())
    return "is called in a mode (autocast, a TorchFunctionMode) that was entered outside: enter it inside";
  if (tls.overrides != Overrides::All) return "is called while __torch_function__ is disabled";
  if (tls.saved_hooks) return "is called while hooks on saved tensors are in force";
  if (tls.transform || tls.derivative) return "is run by a transform (vmap, grad, jvp)";
  if (tls.task >= 0) return "is run by a backward";
  if (observed_closely() || watching_writes) return "is observed (anomaly mode, the profiler, the trace)";
  return nullptr;
}

// ---------------------------------------------------------------- the object

// The tensors of a call so far, and its lists and dicts.
struct Found {
  PyObject* tuple;  // of as many as are expected
  Py_ssize_t n = 0;
  std::vector<PyObject*> containers;
};

// A word that has to be as it was: a pointer, or a version (of 32-bit words its low half).
struct Word {
  const uintptr_t* at;
  uintptr_t is;
};
struct Row {
  Holds holds;
  PyObject* row;
  bool renews = false;  // the word is a version, and a new one may stand for the same
};

struct Records {
  std::vector<Word> words;
  std::vector<Row> of_words, others;  // the rows of the words; rows that no word tells of
  std::vector<PyObject*> dicts;  // whose versions are asked for
  std::vector<std::pair<const Tensor*, const PyTypeObject*>> bare;  // tensors without attributes, and their classes
  std::vector<TensorRecord> tensors, inputs;
  std::vector<Meta> gradients;
  std::vector<Py_ssize_t> pool;
  std::vector<std::pair<const void*, int>> memories;  // of `tensors`, sorted
  std::vector<PyObject*> containers;  // lists and dicts that are reached, sorted
  PyObject* tree = nullptr;
  unsigned asked = 0;  // Meta::Offset, where the offset of an input is compared
  bool with_gradients = false;  // whether gradients are
  Settings settings;
  unsigned long thread = 0;  // where the state is a thread's own, else 0
  // The `changes` at which tensors were compared last. Gradients that a program may have are
  // compared each time; those that only a replay of this run made since (`replayed`) are as after a
  // replay before (`after`), which was found to hold (`own`).
  uint64_t metadata = 0, gradients_at = 0, after = 0;
  bool own = false;
  size_t reached_gradients = 0;  // of `gradients`

  bool add(int kind, PyObject* row);
  void add_word(const void* at, const void* is, bool (*holds)(PyObject*), PyObject* row);
  void add_tensor(PyObject* tensor, std::vector<TensorRecord>* to);
  bool is(const Tensor* t, const Meta& m, unsigned what) const {
    const Meta now(t);
    return now.is(m, what) && std::equal(t->sizes(), t->sizes() + 2 * t->ndim(), pool.data() + m.dims_at);
  }
  bool fits(const Tensor* t, const TensorRecord& r, unsigned more) const {
    return is(t, r.meta, asked | more) && (!with_gradients || gradient_fits(t, r));
  }
  bool gradient_fits(const Tensor* t, const TensorRecord& r) const {
    const Tensor* g = t->grad.peek();
    return g ? r.grad >= 0 && is(g, gradients[r.grad], 0) : r.grad < 0;
  }
  bool holds(bool anew);
  bool words_hold(bool anew);
  bool tensors_hold();
  bool matches(PyObject* tree, PyObject* value, Found* found) const;
  Relation relation_of(PyObject* const* inputs, size_t i) const;
};

struct Guards {
  PyObject_HEAD PyObject* rows;
  Records* records;
};
Guards* as_guards(PyObject* o) { return reinterpret_cast<Guards*>(o); }

bool Records::words_hold(bool anew) {
  for (size_t from = 0; from < words.size(); from += kAtOnce) {
    uintptr_t differ = anew;
    for (size_t i = 0; i < kAtOnce; ++i) differ |= *words[from + i].at ^ words[from + i].is;
    for (size_t i = from; differ && i < from + kAtOnce; ++i) {
      const uintptr_t now = *words[i].at;
      if (now == words[i].is && (!anew || of_words[i].holds == never)) continue;
      if (!of_words[i].holds(of_words[i].row)) return false;
      if (of_words[i].renews) words[i].is = of_words[i].holds == class_holds ? *words[i].at : now;
    }
  }
  uintptr_t differ = 0;
  for (const auto& [t, type] : bare) {
    differ |= reinterpret_cast<uintptr_t>(Py_TYPE(t)) ^ reinterpret_cast<uintptr_t>(type);
    differ |= reinterpret_cast<uintptr_t>(t->dict);
  }
  return !differ && std::all_of(others.begin(), others.end(), [](const Row& r) { return r.holds(r.row); });
}

bool Records::tensors_hold() {
  const uint64_t now = changes.metadata, now_gradients = changes.gradients;
  const bool changed = now != metadata;
  if (!changed && (now_gradients == gradients_at || !with_gradients)) return true;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (changed && i + kAhead < tensors.size()) {
      const char* next = reinterpret_cast<const char*>(tensors[i + kAhead].tensor);
      for (int line = 0; line < 4; ++line) __builtin_prefetch(next + 64 * line);
      __builtin_prefetch(tensors[i + kAhead / 2].tensor->storage());
    }
    const TensorRecord& r = tensors[i];
    if (!(changed ? fits(r.tensor, r, Meta::Place) : gradient_fits(r.tensor, r))) return false;
  }
  metadata = now;
  if (with_gradients) gradients_at = reached_gradients ? 0 : now_gradients, own |= now_gradients == after;
  return true;
}

bool Records::holds(bool anew) {
  if (in_the_way() || !(rushlight::settings() == settings)) return false;
  if (thread && thread != PyThread_get_thread_ident()) return false;
  if (anew) metadata = 0;
  return words_hold(anew) && tensors_hold();
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

Relation Records::relation_of(PyObject* const* given, size_t i) const {
  Relation found;
  const Tensor* t = as_tensor(given[i]);
  for (size_t j = 0; j < i && found.repeats < 0; ++j) {
    if (found.shares < 0 && as_tensor(given[j])->storage() == t->storage()) found.shares = static_cast<int>(j);
    if (given[j] == given[i]) found.repeats = static_cast<int>(j);
  }
  auto m = std::lower_bound(memories.begin(), memories.end(), std::pair<const void*, int>(t->storage(), 0));
  for (; m != memories.end() && m->first == t->storage(); ++m) {
    if (found.shows < 0) found.shows = m->second;
    if (tensors[m->second].tensor == t) found.itself = t;
  }
  return found;
}

// ---------------------------------------------------------------- made of rows

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

// `is`: what is at the address, an object that the row owns or nullptr; or nothing of the kind,
// where it is no more.
void Records::add_word(const void* at, const void* is, bool (*holds)(PyObject*), PyObject* row) {
  words.push_back({static_cast<const uintptr_t*>(at), reinterpret_cast<uintptr_t>(is)});
  of_words.push_back({holds, row});
}

void Records::add_tensor(PyObject* o, std::vector<TensorRecord>* to) {
  const auto take = [this](const Tensor* t) {
    Meta m(t);
    m.dims_at = static_cast<uint32_t>(pool.size());
    pool.insert(pool.end(), t->sizes(), t->sizes() + 2 * t->ndim());
    return m;
  };
  TensorRecord& r = to->emplace_back();
  r.tensor = to == &tensors ? as_tensor(o) : nullptr;
  r.meta = take(as_tensor(o));
  const Tensor* g = with_gradients ? as_tensor(o)->grad.peek() : nullptr;
  if (!g) return;
  r.grad = static_cast<int>(gradients.size());
  gradients.push_back(take(g));
}

bool Records::add(int kind, PyObject* row) {
  PyObject *a, *b, *c, *d, *e;
  if (kind < kKinds ? !PyTuple_Check(row) : !is_tensor(row)) return PyErr_SetString(PyExc_TypeError, "Guards: a row"), false;
  switch (kind) {
    case 0: {
      if (!PyArg_ParseTuple(row, "O!O!OOO", &PyDict_Type, &a, &PyDict_Type, &b, &c, &d, &e) || !is_names(c) || !is_names(e))
        return false;
      containers.push_back(a);
      if (!kVersionsTell) return others.push_back({dict_holds, row}), true;
      dicts.reserve(dicts.size() + 1);  // what is watched must be noted
      const uint64_t* version = version_at(a);
      if (!version) return false;
      dicts.push_back(a);
      words.push_back({reinterpret_cast<const uintptr_t*>(version), static_cast<uintptr_t>(*version)});
      of_words.push_back({dict_holds, row, true});
      return true;
    }
    case 1: {
      if (!PyArg_ParseTuple(row, "O!O!O!", &PyType_Type, &a, &PyTuple_Type, &b, &PyTuple_Type, &c)) return false;
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(c); ++i) {
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(c, i), "O!O!O", &PyType_Type, &d, &PyDict_Type, &d, &e) || !is_names(e))
          return false;
      }
      static_assert(offsetof(PyTypeObject, tp_finalize) == offsetof(PyTypeObject, tp_version_tag) + sizeof(uintptr_t),
                    "what is beside a version never changes");
      const unsigned version = class_version(as_type(a));
      if (!version) return others.push_back({never, row}), true;
      words.push_back({reinterpret_cast<const uintptr_t*>(&as_type(a)->tp_version_tag), 0});
      words.back().is = *words.back().at;
      of_words.push_back({class_holds, row, true});
      return true;
    }
    case 2:
      if (!PyArg_ParseTuple(row, "OO!O", &a, &PyType_Type, &b, &c)) return false;
      add_word(&a->ob_type, b, instance_holds, row);
      if (PyObject** dict = c == Py_None ? nullptr : _PyObject_GetDictPtr(a)) add_word(dict, c, instance_holds, row);
      return true;
    case 3:
      if (!PyArg_ParseTuple(row, "O!O!", &PyList_Type, &a, &PyTuple_Type, &b)) return false;
      containers.push_back(a);
      return others.push_back({list_holds, row}), true;
    case 4:
      if (!PyArg_ParseTuple(row, "O!O", &PyCell_Type, &a, &b)) return false;
      return add_word(&reinterpret_cast<PyCellObject*>(a)->ob_ref, b == absent() ? nullptr : b, cell_holds, row), true;
    case 5:
      if (!PyArg_ParseTuple(row, "OO!", &a, &PyTuple_Type, &b)) return false;
      return others.push_back({iterable_holds, row}), true;
    case 6:
      if (!PyArg_ParseTuple(row, "O!(OOOOOOOO)", &PyFunction_Type, &a, &b, &b, &b, &b, &b, &b, &b, &b)) return false;
      for (int i = 0; i < kFields; ++i) {
        PyObject *is = at(at(row, 1), i), **now = field_of(a, i);
        add_word(now, is == Py_None && !*now ? nullptr : is, function_holds, row);
      }
      return true;
    case 7:
      if (!PyArg_ParseTuple(row, "O!OO", &PyMemberDescr_Type, &a, &b, &c)) return false;
      return others.push_back({slot_holds, row}), true;
    case 8:
      if (as_tensor(row)->dict) {
        add_word(&row->ob_type, Py_TYPE(row), never, row);
        add_word(&as_tensor(row)->dict, as_tensor(row)->dict, never, row);
      } else {
        bare.emplace_back(as_tensor(row), Py_TYPE(row));
      }
      return add_tensor(row, &tensors), true;
    default: return add_tensor(row, &inputs), true;
  }
}

int fill(Records* to, PyObject* rows, PyObject* inputs) {
  to->asked = at(rows, 10) == Py_True ? Meta::Offset : 0;
  to->with_gradients = at(rows, 12) == Py_True;
  to->thread = at(rows, 11) == Py_True ? PyThread_get_thread_ident() : 0;
  to->tree = at(rows, 9);
  if (!PyTuple_Check(to->tree) || PyTuple_GET_SIZE(to->tree) != 2 || !is_tree(at(to->tree, 0)) || !is_tree(at(to->tree, 1))) {
    return PyErr_SetString(PyExc_TypeError, "Guards: a pair of trees"), -1;
  }
  for (int kind = 0; kind < 10; ++kind) {
    PyObject* all = kind < 9 ? at(rows, kind) : inputs;
    if (!PyTuple_Check(all)) return PyErr_SetString(PyExc_TypeError, "Guards: tuples of rows"), -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all); ++i) {
      if (!to->add(kind, PyTuple_GET_ITEM(all, i))) return -1;
    }
    if (kind == 8) to->reached_gradients = to->gradients.size();
  }
  static const uintptr_t nothing = 0;
  while (to->words.size() % kAtOnce) to->add_word(&nothing, nullptr, never, nullptr);
  for (size_t i = 0; i < to->tensors.size(); ++i) to->memories.emplace_back(to->tensors[i].tensor->storage(), static_cast<int>(i));
  std::sort(to->memories.begin(), to->memories.end());
  std::sort(to->containers.begin(), to->containers.end());
  for (size_t i = 0; i < to->inputs.size(); ++i) to->inputs[i].relation = to->relation_of(PySequence_Fast_ITEMS(inputs), i);
  to->settings = settings();
  return 0;
}

void empty(Guards* self) {
  if (self->records) {
    for (PyObject* d : self->records->dicts) release_version(d);
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

// The input tensors of a call whose arguments are like the captured ones', or None.
PyObject* found_inputs(Guards* self, PyObject* args, PyObject* kwargs) {
  Records* r = self->records;
  if (!r) Py_RETURN_NONE;
  Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(r->inputs.size())));  // may collect, so it is made first
  if (!tuple) return nullptr;
  Found found{tuple.get(), 0, {}};
  bool fits = r == self->records && r->matches(PyTuple_GET_ITEM(r->tree, 0), args, &found) &&
              r->matches(PyTuple_GET_ITEM(r->tree, 1), kwargs, &found) && found.n == PyTuple_GET_SIZE(tuple.get());
  for (size_t i = 0; fits && i < r->inputs.size(); ++i) {
    const Tensor* input = as_tensor(PyTuple_GET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i)));
    fits = r->fits(input, r->inputs[i], 0) && r->relation_of(PySequence_Fast_ITEMS(tuple.get()), i) == r->inputs[i].relation;
  }
  return fits ? tuple.release() : Py_NewRef(Py_None);
}

PyObject* match(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  return n == 2 ? matched_inputs(self, args[0], args[1]) : PyErr_Format(PyExc_TypeError, "match(args, kwargs)");
}

// match_again(args, kwargs): the same in a backward of the call, whatever gradients there are by
// now.
PyObject* match_again(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  Records* r = as_guards(self)->records;
  if (!r) Py_RETURN_NONE;
  const bool gradients = std::exchange(r->with_gradients, false);
  const uint64_t metadata = r->metadata;  // what gradients are counts there, too
  const int64_t task = std::exchange(tls.task, -1);
  PyObject* found = match(self, args, n);
  tls.task = task;
  if (r == as_guards(self)->records) r->with_gradients = gradients, r->metadata = metadata;
  return found;
}

// changed(args, kwargs): the kind and the number of the first row that does not hold, gradients and
// `loaded` numbers apart; kind 8 a tensor, 9 the arguments, -1 a setting. None where all holds.
PyObject* changed(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  Records* r = as_guards(self)->records;
  if (!r || n != 2) return PyErr_Format(PyExc_TypeError, "changed(args, kwargs)");
  const bool gradients = std::exchange(r->with_gradients, false);
  const Ref inputs(found_inputs(as_guards(self), args[0], args[1]));
  if (!inputs) return nullptr;
  if (r != as_guards(self)->records) Py_RETURN_NONE;
  r->with_gradients = gradients;
  if (in_the_way() || !(settings() == r->settings)) return Py_BuildValue("ii", -1, 0);
  for (int kind = 0; kind < kKinds; ++kind) {
    PyObject* rows = at(as_guards(self)->rows, kind);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rows); ++i) {
      PyObject* row = PyTuple_GET_ITEM(rows, i);
      const bool holds = kind ? kHolds[kind](row)
                              : has_items(at(row, 0), at(row, 1), at(row, 2), at(row, 3) == Py_True, at(row, 4), true);
      if (!holds) return Py_BuildValue("in", kind, i);
    }
  }
  for (size_t i = 0; i < r->tensors.size(); ++i) {
    if (!r->is(r->tensors[i].tensor, r->tensors[i].meta, Meta::Place))
      return Py_BuildValue("in", kKinds, static_cast<Py_ssize_t>(i));
  }
  bool same = inputs.get() != Py_None;
  for (size_t i = 0; same && i < r->inputs.size(); ++i) {
    same = r->is(as_tensor(PyTuple_GET_ITEM(inputs.get(), static_cast<Py_ssize_t>(i))), r->inputs[i].meta, Meta::Place);
  }
  return same ? Py_NewRef(Py_None) : Py_BuildValue("ii", kKinds + 1, 0);
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

void replayed(PyObject* guards, uint64_t before, size_t set, size_t made) {
  Records* r = as_guards(guards)->records;
  if (!r) return;
  const uint64_t now = changes.gradients;
  r->after = now == before + set && made == r->reached_gradients ? now : 0;
  if (r->after && r->own) r->gradients_at = now;
}

PyObject* matched_inputs(PyObject* guards, PyObject* args, PyObject* kwargs) {
  if (Py_TYPE(guards) != GuardsType) return PyErr_Format(PyExc_TypeError, "Guards, args, kwargs");
  Ref inputs(found_inputs(as_guards(guards), args, kwargs));
  if (!inputs || inputs.get() == Py_None) return inputs.release();
  return as_guards(guards)->records->holds(false) ? inputs.release() : Py_NewRef(Py_None);
}

int init_state(PyObject* module) {
#if PY_VERSION_HEX >= 0x030E0000
  watcher = PyDict_AddWatcher(note_change);
  if (watcher < 0) return -1;
#endif
  static PyMethodDef kMethods[] = {
      {"check", method_of<check>(), METH_NOARGS, "Whether all is as it was."},
      {"refresh", method_of<refresh>(), METH_NOARGS, "The same, with every value compared, whatever the versions say."},
      {"changed", method_of<changed>(), METH_FASTCALL,
       "What a run that began with a call changed: kind and number of a row, or None."},
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
