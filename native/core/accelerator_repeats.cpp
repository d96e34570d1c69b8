// How a call is kept: its launches with, for each argument, where that comes from: a tensor of the
// call, one that was made, or a value.
#include "core/accelerator_repeats.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "core/guard.h"
#include "core/layout.h"

namespace rushlight::repeats {

namespace {

constexpr size_t kMostKept = 1 << 14, kMostTensors = 64;
constexpr int kTries = 4;
constexpr int64_t kEven = 64;  // multiples by which kernels are chosen

// An argument of a launch, or a result.
struct Value {
  enum Kind : char { Given, Made, View, Constant, Number, Real, Bytes, None, Report, Tuple } kind;
  int64_t number = 0;  // which tensor of those; a number, or its bits
  int64_t offset = 0;  // in bytes, from the tensor's first element
  std::string bytes{};  // or what is reported
  std::vector<Value> items{};
};

// Or a call of one of the core's functions, with its arguments as a tuple.
struct Launch {
  int kernel;
  Py_ssize_t items, group;
  std::vector<Value> arguments;
  PyCFunction function = nullptr;
};

struct Shape {
  DType dtype;
  DeviceType device;
  std::vector<Py_ssize_t> sizes, strides;
};

struct Kept {
  bool refused = true;  // such calls do more than launches
  int tries = 1;  // at the first, a function may make what it keeps
  std::vector<Shape> made, views;  // views: of those made
  std::vector<Launch> launches;
  std::vector<std::pair<Ref, Ref>> switches;  // what the function asked, and the answers
  Value result{};
};

template <class T>
void put(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// All that is kept in one string, to be compared.
void put_value(std::string& to, const Value& v) {
  put(to, v.kind);
  put(to, v.number);
  put(to, v.offset);
  put(to, v.bytes.size());
  to += v.bytes;
  put(to, v.items.size());
  for (const Value& item : v.items) put_value(to, item);
}

std::string text_of(const Kept& k) {
  std::string text;
  put(text, k.refused);
  for (const auto* shapes : {&k.made, &k.views}) {
    for (const Shape& s : *shapes) {
      put(text, s.dtype);
      for (const auto* dims : {&s.sizes, &s.strides}) {
        for (Py_ssize_t d : *dims) put(text, d);
      }
    }
  }
  for (const Launch& l : k.launches) {
    put(text, l.kernel);
    put(text, l.items);
    put(text, l.group);
    put(text, l.function);
    for (const Value& v : l.arguments) put_value(text, v);
  }
  put_value(text, k.result);
  return text;
}

using AllKept = std::unordered_map<std::string, std::shared_ptr<const Kept>>;

struct All {
  std::mutex lock;  // not held while Python runs
  AllKept kept;
  std::map<std::string, uint64_t> made;  // how many are kept, by the op's name
  std::vector<Ref> constants;
};
All& all() {
  static All* const made = new All;
  return *made;
}
std::atomic<bool> keeps{true}, compares{false};

struct Watched {
  const Key* key;
  Kept found;
  std::vector<Ref> made;
  std::vector<bool> used;  // of those: in a launch
  const Tensor* report;  // the memory of the last, and what it is of
  std::string reported;
  uint64_t queued, noted = 0;
  bool alike = true;
};
thread_local Watched* watched = nullptr;

Shape shape_of_tensor(const Tensor* t) {
  return {t->dtype, t->device(), {t->sizes(), t->sizes() + t->ndim()}, {t->strides(), t->strides() + t->ndim()}};
}

// Where a tensor's memory comes from; kind None where that is not known.
Value place_of(const Tensor* t) {
  const Storage* s = t->storage();
  for (size_t i = 0; i < watched->made.size(); ++i) {
    const Tensor* one = as_tensor(watched->made[i].get());
    if (one->storage() != s) continue;
    watched->used[i] = true;
    return {Value::Made, static_cast<int64_t>(i), t->offset() - one->offset(), {}, {}};
  }
  for (size_t i = 0; i < watched->key->tensors.size(); ++i) {
    const Tensor* one = watched->key->tensors[i];
    if (one->storage() == s) return {Value::Given, static_cast<int64_t>(i), t->offset() - one->offset(), {}, {}};
  }
  const std::lock_guard<std::mutex> guard(all().lock);
  const auto& constants = all().constants;
  for (size_t i = 0; i < constants.size(); ++i) {
    const Tensor* one = as_tensor(constants[i].get());
    if (one->storage() == s) return {Value::Constant, static_cast<int64_t>(i), t->offset() - one->offset(), {}, {}};
  }
  return {Value::None};
}

const Tensor* constant_of(const Value& v) {
  const std::lock_guard<std::mutex> guard(all().lock);
  return as_tensor(all().constants[static_cast<size_t>(v.number)].get());
}

bool put_key(Key& key, PyObject* o) {
  std::string& to = key.bytes;
  if (is_tensor(o)) {
    Tensor* t = as_tensor(o);
    if (!(t->flags & kAccelerator) || wrapped_bits(t) || (t->flags & (kWrapped | kLazy)) || key.tensors.size() == kMostTensors)
      return false;
    to += 'T';
    to += static_cast<char>(t->dtype);
    to += static_cast<char>(t->device());
    to += static_cast<char>(t->ndim());
    to.append(reinterpret_cast<const char*>(t->sizes()), sizeof(Py_ssize_t) * 2 * static_cast<size_t>(t->ndim()));
    to += static_cast<char>(t->offset() % kEven);
    for (size_t i = 0; i < key.tensors.size(); ++i) {
      if (key.tensors[i]->storage() != t->storage()) continue;
      to += static_cast<char>(i);
      put(to, t->offset() - key.tensors[i]->offset());
      break;
    }
    key.tensors.push_back(t);
    return true;
  }
  if (o == Py_None || o == Py_True || o == Py_False) {
    to += o == Py_None ? 'n' : o == Py_True ? 'y' : 'f';
  } else if (PyLong_CheckExact(o)) {
    int overflow = 0;
    to += 'i';
    put(to, PyLong_AsLongLongAndOverflow(o, &overflow));
    return !overflow;
  } else if (PyFloat_CheckExact(o)) {
    to += 'd';
    put(to, PyFloat_AS_DOUBLE(o));
  } else if (PyUnicode_CheckExact(o)) {
    Py_ssize_t length = 0;
    const char* text = PyUnicode_AsUTF8AndSize(o, &length);
    if (!text) PyErr_Clear();
    to += 's';
    put(to, length);
    to.append(text ? text : "", static_cast<size_t>(text ? length : 0));
    return text != nullptr;
  } else if (PyTuple_Check(o) || PyList_CheckExact(o)) {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    to += PyTuple_Check(o) ? 't' : 'l';
    put(to, n);
    for (Py_ssize_t i = 0; i < n; ++i) {
      if (PyList_CheckExact(o)) key.held.push_back(Ref::borrow(PySequence_Fast_GET_ITEM(o, i)));
      if (!put_key(key, PySequence_Fast_GET_ITEM(o, i))) return false;
    }
  } else if (Py_TYPE(o) == Py_TYPE(dtype_object(DType::F32))) {
    to += 'p';
    put(to, o);
  } else {
    return false;
  }
  return true;
}

// A result, or an argument of a core's function; false where it cannot be made again.
bool read_object(PyObject* o, Value& to, bool result) {
  if (o == Py_None) {
    to.kind = Value::None;
    return true;
  }
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {  // where a list is read, a tuple is as well
    to.kind = Value::Tuple;
    to.items.resize(static_cast<size_t>(PySequence_Fast_GET_SIZE(o)));
    for (size_t i = 0; i < to.items.size(); ++i) {
      if (!read_object(PySequence_Fast_GET_ITEM(o, static_cast<Py_ssize_t>(i)), to.items[i], result)) return false;
    }
    return true;
  }
  if (result && PyBool_Check(o)) return false;
  if (PyLong_Check(o)) {
    int overflow = 0;
    to = {Value::Number, PyLong_AsLongLongAndOverflow(o, &overflow), 0, {}, {}};
    return !overflow;
  }
  if (PyFloat_CheckExact(o)) {
    const double value = PyFloat_AS_DOUBLE(o);
    to.kind = Value::Real;
    std::memcpy(&to.number, &value, sizeof value);
    return true;
  }
  if (PyBytes_CheckExact(o)) {
    to = {Value::Bytes, 0, 0, std::string(PyBytes_AS_STRING(o), static_cast<size_t>(PyBytes_GET_SIZE(o))), {}};
    return true;
  }
  const auto same = [o](const auto& one) { return reinterpret_cast<const void*>(one) == o; };
  const auto& given = watched->key->tensors;
  if (const auto found = std::find_if(given.begin(), given.end(), same); found != given.end()) {
    to = {Value::Given, found - given.begin(), 0, {}, {}};
    return true;
  }
  const auto& made = watched->made;
  const auto found = std::find_if(made.begin(), made.end(), [o](const Ref& one) { return one.get() == o; });
  if (found != made.end()) {
    if (!result) watched->used[static_cast<size_t>(found - made.begin())] = true;
    to = {Value::Made, found - made.begin(), 0, {}, {}};
    return true;
  }
  if (!result || !is_tensor(o) || (as_tensor(o)->flags & (kWrapped | kLazy))) return false;
  const std::vector<bool> used = watched->used;
  to = place_of(as_tensor(o));
  if (to.kind != Value::Made) return false;
  to.kind = Value::View;
  watched->used = used;
  to.items = {{Value::Number, static_cast<int64_t>(watched->found.views.size())}};
  watched->found.views.push_back(shape_of_tensor(as_tensor(o)));
  return true;
}

// Whether each tensor of a result went to a launch: else something computed it that nobody noted.
bool computed(const Value& v) {
  if (v.kind == Value::Made || v.kind == Value::View) {
    const size_t i = static_cast<size_t>(v.number);
    return watched->used[i] || !as_tensor(watched->made[i].get())->numel();
  }
  return v.kind != Value::Tuple || std::all_of(v.items.begin(), v.items.end(), computed);
}

// Whether the function would get the same answers. False with an exception, too.
bool answered_alike(const Kept& kept) {
  for (const auto& [asked, answer] : kept.switches) {
    const Ref now(PyObject_CallNoArgs(asked.get()));
    if (!now || PyObject_RichCompareBool(now.get(), answer.get(), Py_EQ) != 1) return false;
  }
  return true;
}

PyObject* object_of(const Kept& kept, const Value& v, const Key& key, const std::vector<Ref>& made) {
  switch (v.kind) {
    case Value::View: {
      const Shape& s = kept.views[static_cast<size_t>(v.items[0].number)];
      const Tensor* of = as_tensor(made[static_cast<size_t>(v.number)].get());
      return as_object(new_view(of, s.dtype, static_cast<int>(s.sizes.size()), s.sizes.data(), s.strides.data(), v.offset));
    }
    case Value::Number: return PyLong_FromLongLong(v.number);
    case Value::Real: {
      double value;
      std::memcpy(&value, &v.number, sizeof value);
      return PyFloat_FromDouble(value);
    }
    case Value::Bytes: return PyBytes_FromStringAndSize(v.bytes.data(), static_cast<Py_ssize_t>(v.bytes.size()));
    case Value::Given: return Py_NewRef(as_object(key.tensors[static_cast<size_t>(v.number)]));
    case Value::Made: return Py_NewRef(made[static_cast<size_t>(v.number)].get());
    case Value::Tuple: {
      Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(v.items.size())));
      for (size_t i = 0; tuple && i < v.items.size(); ++i) {
        PyObject* item = object_of(kept, v.items[i], key, made);
        if (!item) return nullptr;
        PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), item);
      }
      return tuple.release();
    }
    default: return Py_NewRef(Py_None);
  }
}

// Starts the launches of a call. False with an exception, or without where a library refuses what it computed before.
bool start(const Kept& kept, const Key& key, const std::vector<Ref>& made) {
  std::vector<devices::Argument> arguments;
  std::vector<int64_t> numbers;
  for (const Launch& l : kept.launches) {
    if (l.function) {
      const Ref given(object_of(kept, l.arguments[0], key, made));
      const Ref answer(given ? l.function(nullptr, given.get()) : nullptr);
      if (!answer || (PyUnicode_Check(answer.get()) && PyUnicode_GET_LENGTH(answer.get()))) return false;
      continue;
    }
    arguments.clear();
    numbers.clear();
    arguments.reserve(3 * l.arguments.size());
    numbers.reserve(2 * l.arguments.size());
    const auto number = [&](int64_t value) {
      numbers.push_back(value);
      arguments.push_back({sizeof(int64_t), &numbers.back()});
    };
    const auto memory = [&](const Tensor* t, int64_t offset) {
      const devices::Block* block = block_of(t->storage());
      arguments.push_back({sizeof(void*), block->memory ? &block->memory : nullptr});
      number(t->offset() + offset);
    };
    for (const Value& v : l.arguments) {
      switch (v.kind) {
        case Value::Given: memory(key.tensors[static_cast<size_t>(v.number)], v.offset); break;
        case Value::Made: memory(as_tensor(made[static_cast<size_t>(v.number)].get()), v.offset); break;
        case Value::Constant: memory(constant_of(v), v.offset); break;
        case Value::Number: number(v.number); break;
        case Value::Bytes: arguments.push_back({v.bytes.size(), v.bytes.data()}); break;
        case Value::Report: {
          const Tensor* to;
          int64_t call;
          if (!begin_report(static_cast<DeviceType>(v.number), v.bytes, &to, &call)) return false;
          memory(to, 0);
          number(call);
          break;
        }
        default: arguments.push_back({sizeof(void*), nullptr}); number(0);
      }
    }
    devices::launch(l.kernel, static_cast<size_t>(l.items), static_cast<size_t>(l.group), arguments);
  }
  return true;
}

}  // namespace

Key key_of(const There& there, PyObject* const* args, Py_ssize_t n, bool writes) {
  Key key;
  if (watched || !keeps.load(std::memory_order_relaxed)) return key;
  key.bytes.reserve(256);
  key.tensors.reserve(8);
  put(key.bytes, &there);
  key.bytes += static_cast<char>(writes);
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (put_key(key, args[i])) continue;
    key.bytes.clear();
    break;
  }
  if (key.tensors.empty()) key.bytes.clear();
  return key;
}

bool again(Key& key, PyObject** result) {
  if (key.bytes.empty() || compares.load(std::memory_order_relaxed)) return false;
  std::shared_ptr<const Kept> kept;
  {
    const std::lock_guard<std::mutex> guard(all().lock);
    const auto found = all().kept.find(key.bytes);
    if (found == all().kept.end()) return false;
    kept = found->second;
    if (kept->refused) {
      if (kept->tries >= kTries) key.bytes.clear();
      return false;
    }
  }
  if (!answered_alike(*kept)) {
    *result = nullptr;
    return PyErr_Occurred() != nullptr;
  }
  std::vector<Ref> made;
  made.reserve(kept->made.size());
  for (const Shape& s : kept->made) {
    made.emplace_back(
        as_object(new_strided(s.dtype, static_cast<int>(s.sizes.size()), s.sizes.data(), s.strides.data(), s.device)));
    if (!made.back()) return *result = nullptr, true;
  }
  const bool started = start(*kept, key, made);
  *result = started ? object_of(*kept, kept->result, key, made) : nullptr;
  return started || PyErr_Occurred();
}

Watch::Watch(const Key& key) : key_(nullptr) {
  if (key.bytes.empty() || watched) return;
  key_ = &key;
  watched = new Watched{key_, {}, {}, {}, nullptr, {}, devices::queued()};
}

Watch::~Watch() {
  if (!key_) return;
  delete watched;
  watched = nullptr;
}

bool Watch::keep(const There& there, PyObject* const* args, Py_ssize_t n, bool writes, PyObject* result) {
  if (!key_) return true;
  Watched& w = *watched;
  const bool all_noted = w.alike && devices::queued() - w.queued == w.noted;
  w.found.refused = !all_noted || PyList_CheckExact(result) || !read_object(result, w.found.result, true) ||
                    !computed(w.found.result);
  watched = nullptr;
  const Key after = key_of(there, args, n, writes);  // a function may change a list
  watched = &w;
  if (after.bytes != key_->bytes) w.found.refused = true;
  AllKept dropped;  // without the lock: Python may run
  std::shared_ptr<const Kept> before;
  {
    const std::lock_guard<std::mutex> guard(all().lock);
    if (all().kept.size() >= kMostKept) dropped.swap(all().kept);
    std::shared_ptr<const Kept>& place = all().kept[key_->bytes];
    before = place;
    if (before) w.found.tries += before->tries;
    if (!w.found.refused) all().made[there.name] += 1;
    place = std::make_shared<const Kept>(std::move(w.found));
    if (!compares.load(std::memory_order_relaxed) || !before || before->refused || text_of(*before) == text_of(*place)) return true;
  }
  PyErr_Format(PyExc_SystemError, "%s: a call like one before started something else", there.name);
  return false;
}

void note_launch(int kernel, Py_ssize_t items, Py_ssize_t group, PyObject* given) {
  if (!watched || !watched->alike) return;
  Launch l{kernel, items, group, {}};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given); ++i) {
    PyObject* o = PyTuple_GET_ITEM(given, i);
    if (is_tensor(o)) {
      const Tensor* t = as_tensor(o);
      if (t == watched->report) {
        l.arguments.push_back({Value::Report, static_cast<int64_t>(t->device()), 0, watched->reported, {}});
        ++i;  // and the call's number
        continue;
      }
      l.arguments.push_back(place_of(t));
      if (l.arguments.back().kind == Value::None) return note_unlike();
    } else if (PyLong_Check(o)) {
      l.arguments.push_back({Value::Number, PyLong_AsLongLong(o), 0, {}, {}});
    } else if (o == Py_None) {
      l.arguments.push_back({Value::None});
    } else {
      const Ref view(PyMemoryView_FromObject(o));
      if (!view) return PyErr_Clear(), note_unlike();
      const Py_buffer* bytes = PyMemoryView_GET_BUFFER(view.get());
      l.arguments.push_back(
          {Value::Bytes, 0, 0, std::string(static_cast<const char*>(bytes->buf), static_cast<size_t>(bytes->len)), {}});
    }
  }
  watched->found.launches.push_back(std::move(l));
  watched->noted += items > 0;
}

void note_call(PyCFunction function, PyObject* arguments, uint64_t times) {
  if (!watched || !watched->alike) return;
  Launch l{-1, 0, 0, {{Value::None}}, function};
  if (!read_object(arguments, l.arguments[0], false)) return note_unlike();
  watched->found.launches.push_back(std::move(l));
  watched->noted += times;
}

void note_made(PyObject* made) {
  if (!watched || !made) return;
  if (PyTuple_CheckExact(made) || PyList_CheckExact(made)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(made); ++i) note_made(PySequence_Fast_GET_ITEM(made, i));
    return;
  }
  if (!is_tensor(made)) return;
  watched->found.made.push_back(shape_of_tensor(as_tensor(made)));
  watched->made.push_back(Ref::borrow(made));
  watched->used.push_back(false);
}

void note_report(const Tensor* memory, const std::string& what) {
  if (!watched) return;
  watched->report = memory;
  watched->reported = what;
}

void note_unlike() {
  if (watched) watched->alike = false;
}

namespace {

PyObject* unlike(PyObject*, PyObject*) {
  note_unlike();
  Py_RETURN_NONE;
}

// asked(function): the answer of a function on which the launches of this call depend: a switch of
// the program.
PyObject* asked(PyObject*, PyObject* function) {
  Ref answer(PyObject_CallNoArgs(function));
  if (answer && watched) watched->found.switches.emplace_back(Ref::borrow(function), Ref::borrow(answer.get()));
  return answer.release();
}

PyObject* keep_constant(PyObject*, PyObject* tensor) {
  if (!is_tensor(tensor)) return PyErr_Format(PyExc_TypeError, "accelerator_constant(tensor)");
  const std::lock_guard<std::mutex> guard(all().lock);
  all().constants.push_back(Ref::borrow(tensor));
  return Py_NewRef(tensor);
}

PyObject* forget(PyObject*, PyObject*) {
  AllKept dropped;  // without the lock: Python may run
  const std::lock_guard<std::mutex> guard(all().lock);
  dropped.swap(all().kept);
  all().made.clear();
  Py_RETURN_NONE;
}

template <std::atomic<bool>* of>
PyObject* switched(PyObject*, PyObject* on) {
  const int truth = PyObject_IsTrue(on);
  return truth < 0 ? nullptr : PyBool_FromLong(of->exchange(truth != 0));
}

PyObject* list_kept(PyObject*, PyObject*) {
  std::unique_lock<std::mutex> guard(all().lock);
  const auto made = all().made;
  guard.unlock();
  Ref found(PyDict_New());
  for (const auto& [name, count] : made) {
    const Ref number(PyLong_FromUnsignedLongLong(count));
    if (!found || !number || PyDict_SetItemString(found.get(), name.c_str(), number.get()) < 0) return nullptr;
  }
  return found.release();
}

}  // namespace

PyMethodDef kFunctions[] = {
    {"accelerator_unlike", method_of<unlike>(), METH_NOARGS, "The call that is computed does something else the next time."},
    {"accelerator_asked", method_of<asked>(), METH_O, "The answer of a function on which the launches of this call depend."},
    {"accelerator_constant", method_of<keep_constant>(), METH_O, "A tensor that calls share: kept for ever, and never written."},
    {"accelerator_forget_calls", method_of<forget>(), METH_NOARGS,
     "Calls are not made as before: what functions of the table depend on has changed."},
    {"accelerator_keep_calls", method_of<switched<&keeps>>(), METH_O, "Whether calls like one before need no Python; what it was."},
    {"accelerator_compare_calls", method_of<switched<&compares>>(), METH_O,
     "Whether such calls are computed by Python nevertheless and compared; what it was."},
    {"accelerator_kept_calls", method_of<list_kept>(), METH_NOARGS, "How many calls of each op are kept."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rushlight::repeats
