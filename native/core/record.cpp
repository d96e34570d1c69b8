// See record.h. Python's lock, or the turn, guards all that is here; the stacks are of their threads.
#include "core/record.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/core.h"
#include "core/guard.h"
#include "core/layout.h"
#include "memory/allocator.h"

namespace rushlight {
namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr size_t kRecent = 1 << 16;    // nodes whose makers are known: a graph of more has no arrows for its oldest
constexpr size_t kMostSpots = 1 << 18;  // what is new after so many is counted to the spot around

// A place in the tree of calls: the same thing, run from the same line inside of the same spot. Strong references.
struct Spot {
  uint32_t parent;
  SpotKind kind;
  PyObject* what;
  Site site;
  uint32_t maker;  // of a node: the spot of the call that made it
  int64_t runs = 0, ns = 0, bytes = 0, most = 0;
  uint32_t paths = 0, ways = 0;
};

struct Key {
  uint32_t parent, maker;
  const void *what, *code;
  int32_t at;
  bool operator==(const Key& o) const {
    return parent == o.parent && maker == o.maker && what == o.what && code == o.code && at == o.at;
  }
};
struct KeyHash {
  size_t operator()(const Key& k) const {
    size_t h = 0;
    for (size_t part : {size_t{k.parent}, size_t{k.maker}, reinterpret_cast<size_t>(k.what), reinterpret_cast<size_t>(k.code),
                        static_cast<size_t>(k.at)})
      h = (h ^ part) * 0x9E3779B97F4A7C15u, h ^= h >> 29;
    return h;
  }
};

// As Python unpacks it: "=IIqqqqqq".
struct Run {
  uint32_t spot, text;  // text: of the arguments, or kNone
  int64_t start, stop, bytes, number, allocated, depth;
};
static_assert(sizeof(Run) == 56);

struct Frame {
  uint32_t spot, text = kNone;
  int64_t start, bytes;
  uint64_t number, last;
};

struct Records {
  std::vector<Spot> spots;
  std::unordered_map<Key, uint32_t, KeyHash> known;
  std::vector<Run> runs;
  std::vector<std::string> texts;
  std::unordered_map<std::string, uint32_t> text_numbers;
  std::vector<std::pair<uint64_t, uint32_t>> makers;
  size_t most_runs = 0;
  bool arguments = false;
  int64_t peak = 0;
  uint32_t peak_at = 0;
};
Records records;
uint64_t epoch = 0;  // each start and stop is a new one

struct OfThread {
  uint64_t epoch = 0;
  uint32_t root = kNone;
  std::vector<Frame> frames;
};
thread_local OfThread here;

int64_t allocated() { return static_cast<int64_t>(memory::stats().allocated); }

uint32_t spot_of(uint32_t parent, SpotKind kind, PyObject* what, Site site, uint32_t maker) {
  const auto [found, made] = records.known.try_emplace(Key{parent, maker, what, site.code, site.at},
                                                       static_cast<uint32_t>(records.spots.size()));
  if (!made) return found->second;
  if (records.spots.size() >= kMostSpots && kind != SpotKind::Thread) {
    records.known.erase(found);
    return parent;
  }
  Py_XINCREF(site.code);
  records.spots.push_back({parent, kind, Py_NewRef(what), site, maker});
  return found->second;
}

OfThread& on_this_thread() {
  if (here.epoch != epoch) {
    here.epoch = epoch;
    here.frames.clear();
    Ref ident(PyLong_FromUnsignedLong(PyThread_get_thread_ident()));
    if (!ident) PyErr_Clear();
    here.root = spot_of(kNone, SpotKind::Thread, ident ? ident.get() : Py_None, Site{nullptr, 0}, kNone);
  }
  return here;
}

std::string text_of(PyObject* const* values, Py_ssize_t n) {
  std::string text;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!values[i] || !is_tensor(values[i])) continue;
    const Tensor* t = as_tensor(values[i]);
    text += text.empty() ? "[" : ", [";
    for (int d = 0; d < t->ndim(); ++d) text += (d ? ", " : "") + std::to_string(t->sizes()[d]);
    text += "]";
  }
  return text;
}

}  // namespace

size_t record_begin(PyObject* what, SpotKind kind, Site site, uint64_t number) {
  OfThread& mine = on_this_thread();
  uint32_t maker = kNone;
  if (kind == SpotKind::Node && number != UINT64_MAX && !records.makers.empty()) {
    const auto& [made, by] = records.makers[number % kRecent];
    if (made == number) maker = by;
  }
  const uint32_t parent = mine.frames.empty() ? mine.root : mine.frames.back().spot;
  const uint32_t spot = spot_of(parent, kind, what, site, maker);
  mine.frames.push_back({spot, kNone, 0, allocated(), number, next_number(0)});
  mine.frames.back().start = clock_ns();
  return mine.frames.size();
}

void record_arguments(PyObject* const* values, Py_ssize_t n) {
  if (!records.arguments || records.runs.size() >= records.most_runs || here.epoch != epoch) return;
  std::string text = text_of(values, n);
  const auto [found, made] = records.text_numbers.try_emplace(text, static_cast<uint32_t>(records.texts.size()));
  if (made) records.texts.push_back(std::move(text));
  here.frames.back().text = found->second;
}

void record_end(size_t depth, Noted noted) {
  const int64_t stop = clock_ns();
  if (here.epoch != epoch || !(observing & kRecords)) return;
  while (!here.frames.empty() && here.frames.size() >= depth) {
    const Frame f = here.frames.back();
    here.frames.pop_back();
    Spot& s = records.spots[f.spot];
    const int64_t now = allocated(), bytes = now - f.bytes;
    uint64_t number = f.number;
    if (s.kind == SpotKind::Op || s.kind == SpotKind::Work) {
      const uint64_t last = next_number(0);  // of the nodes that the call made, the youngest may have several behind it
      if (last != f.last) number = last;
      for (uint64_t n = last; n != f.last && last - n < 64; --n)
        if (records.makers[n % kRecent].first != n) records.makers[n % kRecent] = {n, f.spot};
    }
    ++s.runs;
    s.ns += stop - f.start;
    s.bytes += bytes;
    if (now > s.most) s.most = now;
    if (now > records.peak) records.peak = now, records.peak_at = f.spot;
    s.paths |= 1u << static_cast<int>(noted.path);
    s.ways |= noted.ways;
    if (records.runs.size() < records.most_runs)
      records.runs.push_back(
          {f.spot, f.text, f.start, stop, bytes, static_cast<int64_t>(number), now, static_cast<int64_t>(here.frames.size())});
    noted = {};
  }
}

namespace {

void forget() {
  Records old;
  std::swap(old, records);
  ++epoch;
  for (const Spot& s : old.spots) {
    Py_DECREF(s.what);
    Py_XDECREF(s.site.code);
  }
}

// record_start(most_runs, arguments): from now on. Records that are being taken go on, and keep as much as either wants.
PyObject* record_start(PyObject*, PyObject* args) {
  Py_ssize_t most;
  int arguments;
  if (!PyArg_ParseTuple(args, "np", &most, &arguments)) return nullptr;
  const bool on = observing & kRecords;
  if (!on) forget();
  records.most_runs = std::max(records.most_runs, static_cast<size_t>(most));
  records.arguments |= arguments != 0;
  if (on) Py_RETURN_NONE;
  records.makers.assign(kRecent, {UINT64_MAX, kNone});
  observing |= kRecords;
  on_this_thread();
  Py_RETURN_NONE;
}

PyObject* tuple_of_spot(const Spot& s) {
  const Ref file(s.site.code ? Py_NewRef(s.site.code->co_filename) : Py_NewRef(Py_None));
  return Py_BuildValue("(iiOOiiLLLLII)", static_cast<int>(s.parent), static_cast<int>(s.kind), s.what, file.get(),
                       s.site.code ? line_of(s.site) : 0, static_cast<int>(s.maker), static_cast<long long>(s.runs),
                       static_cast<long long>(s.ns), static_cast<long long>(s.bytes), static_cast<long long>(s.most), s.paths,
                       s.ways);
}

// record_stop(end): so far, and no more with `end`: (spots, the runs as bytes, texts of arguments, (most bytes at a time, the spot after which)).
PyObject* record_stop(PyObject*, PyObject* end) {
  if (end == Py_True) {
    if (here.epoch == epoch) record_end(1, {});
    observing &= ~kRecords;
  }
  Ref spots(PyList_New(0)), texts(PyList_New(0));
  for (const Spot& s : records.spots) {
    const Ref one(spots ? tuple_of_spot(s) : nullptr);
    if (!one || PyList_Append(spots.get(), one.get()) < 0) return nullptr;
  }
  for (const std::string& text : records.texts) {
    const Ref one(texts ? PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())) : nullptr);
    if (!one || PyList_Append(texts.get(), one.get()) < 0) return nullptr;
  }
  const Ref runs(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(records.runs.data()),
                                           static_cast<Py_ssize_t>(records.runs.size() * sizeof(Run))));
  if (!spots || !texts || !runs) return nullptr;
  PyObject* all = Py_BuildValue("(OOO(Li))", spots.get(), runs.get(), texts.get(), static_cast<long long>(records.peak),
                                static_cast<int>(records.peak_at));
  if (end == Py_True) forget();
  return all;
}

// record_enter(what): a range that Python code runs begins. The depth for record_leave; 0 where nothing is recorded.
PyObject* record_enter(PyObject*, PyObject* what) {
  if (!(observing & kRecords) || tls.reporting) return PyLong_FromLong(0);
  Ref held = Ref::borrow(what);
  if (PyUnicode_CheckExact(what)) {
    PyObject* text = held.release();
    PyUnicode_InternInPlace(&text);
    held = Ref(text);
  }
  return PyLong_FromSize_t(record_begin(held.get(), SpotKind::Range, program_site()));
}

PyObject* record_leave(PyObject*, PyObject* depth) {
  const size_t n = PyLong_AsSize_t(depth);
  if (n == static_cast<size_t>(-1) && PyErr_Occurred()) return nullptr;
  if (n) record_end(n, {});
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef kRecordFunctions[] = {
    {"record_start", method_of<record_start>(), METH_VARARGS, "Takes records from now on."},
    {"record_stop", method_of<record_stop>(), METH_O, "The records so far."},
    {"record_enter", method_of<record_enter>(), METH_O, "A range of the records begins."},
    {"record_leave", method_of<record_leave>(), METH_O, "A range of the records ends."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace rushlight
