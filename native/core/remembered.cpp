#include "core/remembered.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "core/op.h"
#include "core/override.h"

namespace rushlight {

namespace {

enum Tag : uint64_t { kTensorTag = 1, kNoneTag, kBoolTag, kIntTag, kFloatTag, kTextTag, kTupleTag, kListTag, kNameTag };
constexpr uint64_t tagged(Tag tag, uint64_t value = 0) { return tag | value << 8; }
uint64_t word_of(PyObject* o) { return reinterpret_cast<uintptr_t>(o); }

constexpr Py_ssize_t kMostArgs = 16;

thread_local Remembering* remembering = nullptr;

}  // namespace

bool CallKey::put(uint64_t word) {
  if (n == kMost) return false;
  words[n++] = word;
  return true;
}

bool CallKey::put(PyObject* value, int depth) {
  if (is_plain(value)) {
    Tensor* t = as_tensor(value);
    if (t->flags & kNotPlain) return false;
    const bool wants_gradient = grad_enabled() && requires_grad(t);
    const auto shape = static_cast<uint64_t>(wants_gradient) << 16 | static_cast<uint64_t>(t->dtype) << 8 |
                       static_cast<uint64_t>(t->ndim());
    bool fits = put(tagged(kTensorTag, shape));
    for (int i = 0; fits && i < t->ndim(); i++) fits = put(static_cast<uint64_t>(t->size(i)));
    return fits;
  }
  if (value == Py_None) return put(tagged(kNoneTag));
  if (PyBool_Check(value)) return put(tagged(kBoolTag, value == Py_True));
  if (PyLong_CheckExact(value)) {
    int overflow;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return !overflow && put(tagged(kIntTag)) && put(static_cast<uint64_t>(number));
  }
  if (PyFloat_CheckExact(value)) return put(tagged(kFloatTag)) && put(std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(value)));
  if (PyUnicode_CheckExact(value)) return put(tagged(kTextTag)) && put(word_of(value));
  const bool tuple = PyTuple_CheckExact(value);
  if (depth || (!tuple && !PyList_CheckExact(value))) return false;
  const ItemsOf items(value);
  const Py_ssize_t count = items.size();
  bool fits = put(tagged(tuple ? kTupleTag : kListTag, static_cast<uint64_t>(count)));
  for (Py_ssize_t i = 0; fits && i < count; i++) fits = !is_tensor(items[i]) && put(items[i], depth + 1);
  return fits;
}

CallKey::CallKey(PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  const Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  bool fits = count + named <= kMostArgs;
  for (Py_ssize_t i = 0; fits && i < count + named; i++) {
    if (i >= count) fits = put(tagged(kNameTag)) && put(word_of(PyTuple_GET_ITEM(kwnames, i - count)));
    fits = fits && put(args[i], 0);
  }
  if (!fits) n = 0;
}

std::unique_ptr<RememberedCalls::Entry>& RememberedCalls::slot(const CallKey& key) const {
  uint64_t hash = key.n;
  for (size_t i = 0; i < key.n; i++) hash = (hash ^ key.words[i]) * 0x9E3779B97F4A7C15;
  return slots_[hash >> 56];
}

PyObject* RememberedCalls::call(const CallKey& key, PyObject* const* args) const {
  const Entry* e = slot(key).get();
  if (!e || e->key.size() != key.n || std::memcmp(e->key.data(), key.words, key.n * sizeof(uint64_t))) return nullptr;
  // The call may run a program's code, and the entry be replaced.
  const Ref op = Ref::borrow(e->op.get()), values = Ref::borrow(e->values.get());
  const Py_ssize_t n = PyTuple_GET_SIZE(values.get()), pick = e->pick;
  PyObject* given[kMostArgs];
  for (Py_ssize_t i = 0; i < n; i++) {
    const int from = e->from[static_cast<size_t>(i)];
    given[i] = from < 0 ? PyTuple_GET_ITEM(values.get(), i) : args[from];
  }
  PyObject* result = bind_and_call(reinterpret_cast<Op*>(op.get()), given, n, nullptr);
  if (!result || pick < 0) return result;
  const Ref all(result);
  return Py_NewRef(PyTuple_GET_ITEM(all.get(), pick));
}

int RememberedCalls::visit(visitproc visit, void* arg) const {
  for (const auto& e : slots_) {
    if (!e) continue;
    Py_VISIT(e->op.get());
    Py_VISIT(e->values.get());
  }
  return 0;
}

Remembering::Remembering() : outer_(std::exchange(remembering, this)) {}
Remembering::~Remembering() { remembering = outer_; }

void Remembering::note(PyObject* const* args, Py_ssize_t n, PyObject* result) {
  op_ = Ref::borrow(args[0]);
  values_ = Ref(PyTuple_New(n - 1));
  for (Py_ssize_t i = 1; values_ && i < n; i++) PyTuple_SET_ITEM(values_.get(), i - 1, Py_NewRef(args[i]));
  if (!values_) PyErr_Clear();
  result_ = Ref::borrow(result);
}

void Remembering::keep(RememberedCalls& calls, const CallKey& key, PyObject* const* args, Py_ssize_t n, PyObject* kwnames,
                       PyObject* result) {
  if (!key.n || !values_ || PyTuple_GET_SIZE(values_.get()) > kMostArgs) return;
  auto e = std::make_unique<RememberedCalls::Entry>();
  e->pick = -1;
  if (result_.get() != result) {
    if (!PyTuple_Check(result_.get())) return;
    PyObject* const* items = PySequence_Fast_ITEMS(result_.get());
    e->pick = std::find(items, items + PyTuple_GET_SIZE(result_.get()), result) - items;
    if (e->pick == PyTuple_GET_SIZE(result_.get())) return;
  }
  const Py_ssize_t all = n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(values_.get()); i++) {
    PyObject* value = PyTuple_GET_ITEM(values_.get(), i);
    int8_t from = -1;
    if (is_tensor(value)) {
      // One given twice may be two the next time.
      if (std::count(args, args + all, value) != 1) return;
      from = static_cast<int8_t>(std::find(args, args + all, value) - args);
    }
    e->from.push_back(from);
  }
  Ref values(PyTuple_New(PyTuple_GET_SIZE(values_.get()))), texts(PyList_New(0));
  if (!values || !texts) return PyErr_Clear();
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(values_.get()); i++) {
    PyObject* value = e->from[static_cast<size_t>(i)] < 0 ? PyTuple_GET_ITEM(values_.get(), i) : Py_None;
    PyTuple_SET_ITEM(values.get(), i, Py_NewRef(value));
  }
  // The key has the places of texts: they must stay.
  const auto hold = [&](PyObject* o) { return !PyUnicode_CheckExact(o) || PyList_Append(texts.get(), o) == 0; };
  for (Py_ssize_t i = 0; i < all; i++) {
    const ItemsOf items(PyTuple_CheckExact(args[i]) || PyList_CheckExact(args[i]) ? args[i] : nullptr);
    for (Py_ssize_t k = 0; k < items.size(); k++) {
      if (!hold(items[k])) return PyErr_Clear();
    }
    if (!hold(args[i]) || (i >= n && !hold(PyTuple_GET_ITEM(kwnames, i - n)))) return PyErr_Clear();
  }
  e->key.assign(key.words, key.words + key.n);
  e->op = std::move(op_);
  e->values = std::move(values);
  e->texts = std::move(texts);
  calls.slot(key).swap(e);  // what stood there goes when all is in place
}

PyObject* remember(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n < 1 || Py_TYPE(args[0]) != OpType) {
    PyErr_SetString(PyExc_TypeError, "remember(op, *args)");
    return nullptr;
  }
  Remembering* mine = std::exchange(remembering, nullptr);
  PyObject* result = PyObject_Vectorcall(args[0], args + 1, static_cast<size_t>(n - 1), nullptr);
  remembering = mine;
  if (mine && result) mine->note(args, n, result);
  return result;
}

}  // namespace rushlight
