// See record.h. Python's lock, or the turn, guards all of this; stacks belong to their threads.
#include "core/record.h"

#include <structmember.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>
#if defined(__x86_64__) && defined(__GNUC__)
#include <x86intrin.h>
#endif
#ifdef __linux__
#include <sys/mman.h>
#endif

#include "core/core.h"
#include "core/guard.h"
#include "core/layout.h"
#include "memory/allocator.h"

namespace rushlight {
namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr size_t kRecent = 1 << 15;     // nodes whose makers are known
constexpr size_t kMostSpots = 1 << 18;  // more are not told from the spot around

// The clock: ticks of the processor, which become nanoseconds when the records are read.
int64_t ticks() {
#if defined(__x86_64__) && defined(__GNUC__)
  return static_cast<int64_t>(__rdtsc());
#elif defined(__aarch64__) && defined(__GNUC__)
  int64_t now;
  asm volatile("mrs %0, cntvct_el0" : "=r"(now));
  return now;
#else
  return clock_ns();
#endif
}

// By how the two clocks have run since the records began.
struct Clock {
  int64_t first_tick = ticks(), first_ns = clock_ns();
  double ns_a_tick = 1;

  void measure() {
    const int64_t passed = ticks() - first_tick;
    if (passed > 0) ns_a_tick = static_cast<double>(clock_ns() - first_ns) / static_cast<double>(passed);
  }
  int64_t length(int64_t n) const { return static_cast<int64_t>(static_cast<double>(n) * ns_a_tick); }
  int64_t moment(int64_t n) const { return first_ns + length(n - first_tick); }
};

// A place in the tree of calls: the same thing, run from the same line inside of the same spot. The
// references to the thing and to the code of the line are strong.
struct Spot {
  uint32_t parent;
  SpotKind kind;
  const void* what;  // an object of Python's; of work, a name
  Site site;
  uint32_t maker;                        // of a node: the spot of the call that made it
  uint32_t first = kNone, next = kNone;  // guesses: of the spot that runs first inside, or next
  uint32_t shapes = kNone;               // of the arguments of the last run
  uint32_t paths = 0, ways = 0;
  int64_t runs = 0, ticks = 0, bytes = 0, most = 0;

  bool is(const void* which, Site from, uint32_t by) const {
    return what == which && site.code == from.code && site.at == from.at && maker == by;
  }
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

// As Python unpacks it: "=IIqqqqq".
struct Run {
  uint32_t spot, shapes;
  int64_t start, stop, bytes, number, allocated;
};
static_assert(sizeof(Run) == 48);

// The first runs, in pieces of the size of a large page, each of which the system gives at once.
class Runs {
 public:
  size_t size() const { return size_; }
  void add(const Run& run) {
    if (size_ % kPiece == 0) grow();
    pieces_.back().get()[size_++ % kPiece] = run;
  }
  void copy_to(Run* all) const {
    for (size_t at = 0; at < size_; at += kPiece)
      std::memcpy(all + at, pieces_[at / kPiece].get(), std::min(kPiece, size_ - at) * sizeof(Run));
  }

 private:
  static constexpr size_t kLargePage = 1 << 21, kPiece = kLargePage / sizeof(Run);
  struct Freed {
    void operator()(Run* piece) const { ::operator delete(piece, std::align_val_t{kLargePage}); }
  };

  void grow() {
    pieces_.emplace_back(static_cast<Run*>(::operator new(kLargePage, std::align_val_t{kLargePage})));
#ifdef MADV_HUGEPAGE
    madvise(pieces_.back().get(), kLargePage, MADV_HUGEPAGE);
#endif
  }

  std::vector<std::unique_ptr<Run, Freed>> pieces_;
  size_t size_ = 0;
};

// A run that has not ended.
struct Frame {
  uint32_t spot, before = kNone;  // before: the last spot that ran in it
  uint32_t shapes = kNone;
  int64_t start = 0, bytes = 0;  // 0: of a thread
  uint64_t number = UINT64_MAX, last = 0;
};

struct Stack {
  std::vector<Frame> frames;  // first, that of the thread
};

struct Records {
  std::vector<Spot> spots;
  std::unordered_map<Key, uint32_t, KeyHash> known;
  std::vector<std::unique_ptr<Stack>> stacks;
  Runs runs;
  std::vector<std::vector<int64_t>> shapes;
  // The low bits of a node's number, and the spot of the call that made the node.
  std::vector<std::pair<uint32_t, uint32_t>> makers;
  size_t most_runs = 0;
  bool arguments = false;
  Ref current_thread;
  Clock clock;
  int64_t peak = 0;
  uint32_t peak_at = 0;
};
Records& records = *new Records;  // never freed: threads may outlast all else

// The stack of this thread in the records of an epoch; each start and stop begins a new epoch.
uint64_t epoch = 0;
struct Here {
  uint64_t epoch = 0;
  Stack* stack = nullptr;
};
#ifdef __GLIBC__
__attribute__((tls_model("initial-exec")))
#endif
constinit thread_local Here here;

int64_t allocated() { return static_cast<int64_t>(memory::in_use_now()); }

PyObject* object(const Spot& s) { return static_cast<PyObject*>(const_cast<void*>(s.what)); }

// kNone where there are too many.
uint32_t spot_of(uint32_t parent, SpotKind kind, const void* what, Site site, uint32_t maker) {
  const Key key{parent, maker, what, site.code, site.at};
  if (const auto found = records.known.find(key); found != records.known.end()) return found->second;
  if (records.spots.size() >= kMostSpots && kind != SpotKind::Thread) return kNone;
  const auto made = static_cast<uint32_t>(records.spots.size());
  records.spots.push_back({parent, kind, what, site, maker});
  records.known.emplace(key, made);
  if (kind != SpotKind::Work) Py_INCREF(object(records.spots.back()));
  Py_XINCREF(site.code);
  return made;
}

[[gnu::noinline]] void begin_on_this_thread() {
  const Unreported quiet;
  Ref thread(records.current_thread ? PyObject_CallNoArgs(records.current_thread.get()) : nullptr);
  if (!thread) PyErr_Clear();
  auto stack = std::make_unique<Stack>();
  stack->frames.reserve(64);
  stack->frames.push_back({spot_of(kNone, SpotKind::Thread, thread ? thread.get() : Py_None, Site{nullptr, 0}, kNone)});
  here = {epoch, stack.get()};
  records.stacks.push_back(std::move(stack));
}

Stack& on_this_thread() {
  if (here.epoch != epoch) begin_on_this_thread();
  return *here.stack;
}

// The spot inside of the innermost run. Mostly spots follow in the order of the time before.
uint32_t spot_inside(Frame* around, SpotKind kind, const void* what, Site site, uint32_t maker) {
  const uint32_t before = around->before;
  const uint32_t guess = before == kNone ? records.spots[around->spot].first : records.spots[before].next;
  if (guess != kNone && records.spots[guess].is(what, site, maker)) return around->before = guess;
  const uint32_t spot = spot_of(around->spot, kind, what, site, maker);  // may move the spots
  if (spot == kNone) return kNone;
  (before == kNone ? records.spots[around->spot].first : records.spots[before].next) = spot;
  return around->before = spot;
}

uint32_t maker_of(uint64_t number) {
  const auto& [end, spot] = records.makers[number % kRecent];
  return number != UINT64_MAX && end == static_cast<uint32_t>(number) ? spot : kNone;
}

// The nodes that a call made have the numbers that were given meanwhile, but for calls inside.
void note_makers(uint32_t spot, uint64_t from, uint64_t to) {
  for (uint64_t n = to; n != from && to - n < 64; --n) {
    auto& made = records.makers[n % kRecent];
    if (made.first != static_cast<uint32_t>(n)) made = {static_cast<uint32_t>(n), spot};
  }
}

// Whether the tensors among the arguments have these shapes: of each the number of dimensions, and
// the sizes.
bool have_shapes(PyObject* const* values, Py_ssize_t n, const std::vector<int64_t>& shapes) {
  const int64_t *at = shapes.data(), *const end = at + shapes.size();
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!values[i] || values[i] == Py_None || !is_tensor(values[i])) continue;
    const Tensor* t = as_tensor(values[i]);
    if (at == end || *at != t->ndim() || !std::equal(at + 1, at + 1 + *at, t->sizes())) return false;
    at += 1 + *at;
  }
  return at == end;
}

// The shapes of the tensors among the arguments; mostly those of the spot's last run.
uint32_t shapes_of(Spot* s, PyObject* const* values, Py_ssize_t n) {
  if (s->shapes != kNone && have_shapes(values, n, records.shapes[s->shapes])) return s->shapes;
  int64_t found[64];
  size_t size = 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!values[i] || !is_tensor(values[i])) continue;
    const Tensor* t = as_tensor(values[i]);
    if (size + 1 + static_cast<size_t>(t->ndim()) > std::size(found)) break;
    found[size++] = t->ndim();
    for (int d = 0; d < t->ndim(); ++d) found[size++] = t->sizes()[d];
  }
  records.shapes.emplace_back(found, found + size);
  return s->shapes = static_cast<uint32_t>(records.shapes.size() - 1);
}

// Ends the runs of a thread from a depth on.
void close(Stack* stack, size_t depth, int64_t stop, Noted noted) {
  while (stack->frames.size() > depth) {
    const Frame f = stack->frames.back();
    stack->frames.pop_back();
    Spot& s = records.spots[f.spot];
    uint64_t number = f.number;
    if (s.kind == SpotKind::Op || s.kind == SpotKind::Work) {
      const uint64_t last = next_number(0);
      if (last != f.last) note_makers(f.spot, f.last, number = last);
    }
    const int64_t now = allocated(), bytes = now - f.bytes;
    ++s.runs;
    s.ticks += stop - f.start;
    s.bytes += bytes;
    s.most = std::max(s.most, now);
    if (now > records.peak) records.peak = now, records.peak_at = f.spot;
    if (stack->frames.size() == depth) {
      s.paths |= 1u << static_cast<int>(noted.path);
      s.ways |= noted.ways;
    }
    if (records.runs.size() < records.most_runs)
      records.runs.add({f.spot, f.shapes, f.start, stop, bytes, static_cast<int64_t>(number), now});
  }
}

}  // namespace

// ---------------------------------------------------------------- runs

Record::Record() : around_(std::exchange(tls.noted, Noted{})) {}

Record::~Record() {
  end();
  tls.noted = around_;
}

void Record::begin(SpotKind kind, const void* what, Site site, PyObject* const* values, Py_ssize_t n, uint64_t number) {
  if (tls.reporting) return;
  Stack& mine = on_this_thread();
  const uint32_t maker = kind == SpotKind::Node ? maker_of(number) : kNone;
  Frame frame{spot_inside(&mine.frames.back(), kind, what, site, maker)};
  if (frame.spot == kNone) return;
  if (records.arguments && records.runs.size() < records.most_runs) frame.shapes = shapes_of(&records.spots[frame.spot], values, n);
  frame.bytes = allocated();
  frame.number = number;
  frame.last = next_number(0);
  depth_ = mine.frames.size();
  mine.frames.push_back(frame);
  mine.frames.back().start = ticks();
}

int64_t Record::leave_open() { return std::exchange(depth_, 0) ? here.stack->frames.back().start : 0; }

void Record::end() {
  if (!depth_) return;
  const int64_t stop = ticks();
  if (here.epoch == epoch) close(here.stack, depth_, stop, tls.noted);
  depth_ = 0;
}

void Record::begin(Op* op, PyObject* const* slots) { begin(SpotKind::Op, op, program_site(), slots, op->n_params); }

void Record::begin(const char* work, PyObject* const* values, Py_ssize_t n) {
  begin(SpotKind::Work, work, program_site(), values, n);
}

void Record::begin(Node* node, PyObject* const* gradients, int n) {
  begin(SpotKind::Node, Py_TYPE(as_object(node)), node->made.code ? node->made : tls.backward, gradients, n, node->seq);
}

namespace {

// ---------------------------------------------------------------- ranges

// A function whose calls are ranges: of the first argument, or of the answer of `named` about the
// first argument. Its attributes are those of the function.
struct Ranged {
  PyObject ob_base;
  vectorcallfunc call;
  PyObject *plain, *named;
};
PyTypeObject* ranged_type;

Ranged* as_ranged(PyObject* o) { return reinterpret_cast<Ranged*>(o); }

PyObject* call_ranged(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  const Ref plain = Ref::borrow(as_ranged(self)->plain), named = Ref::borrow(as_ranged(self)->named);
  Record run;
  if (observing & kRecords && PyVectorcall_NARGS(nargsf)) {
    const Ref what(named.get() == Py_None ? Py_NewRef(args[0]) : PyObject_CallOneArg(named.get(), args[0]));
    if (!what) return nullptr;
    run.begin(SpotKind::Range, what.get(), program_site(), nullptr, 0);
  }
  return PyObject_Vectorcall(plain.get(), args, nargsf, kwnames);
}

void dealloc_ranged(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_DECREF(as_ranged(self)->plain);
  Py_DECREF(as_ranged(self)->named);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* bind_ranged(PyObject* self, PyObject* to, PyObject*) {
  return to && to != Py_None ? PyMethod_New(self, to) : Py_NewRef(self);
}

PyObject* attribute_of_ranged(PyObject* self, PyObject* name) { return PyObject_GetAttr(as_ranged(self)->plain, name); }

// record_ranged(function, named): see Ranged.
PyObject* record_ranged(PyObject*, PyObject* args) {
  PyObject *plain, *named;
  if (!PyArg_ParseTuple(args, "OO", &plain, &named)) return nullptr;
  PyObject* made = ranged_type->tp_alloc(ranged_type, 0);
  if (!made) return nullptr;
  as_ranged(made)->call = guarded<call_ranged>;
  as_ranged(made)->plain = Py_NewRef(plain);
  as_ranged(made)->named = Py_NewRef(named);
  return made;
}

// record_enter(what): a range that Python code runs begins. Gives the start, for record_leave; 0
// where nothing is recorded.
PyObject* record_enter(PyObject*, PyObject* what) {
  if (!(observing & kRecords)) return PyLong_FromLong(0);
  Ref held = Ref::borrow(what);
  if (PyUnicode_CheckExact(what)) {
    PyObject* text = held.release();
    PyUnicode_InternInPlace(&text);
    held = Ref(text);
  }
  Record run;
  run.begin(SpotKind::Range, held.get(), program_site(), nullptr, 0);
  return PyLong_FromLongLong(run.leave_open());
}

// record_leave(start): the range of this thread that began then ends, and all runs inside.
PyObject* record_leave(PyObject*, PyObject* of) {
  const long long start = PyLong_AsLongLong(of);
  if (start == -1 && PyErr_Occurred()) return nullptr;
  if (start == 0 || here.epoch != epoch) Py_RETURN_NONE;
  const std::vector<Frame>& frames = here.stack->frames;
  for (size_t depth = frames.size(); depth-- > 1;) {
    if (frames[depth].start != start) continue;
    close(here.stack, depth, ticks(), {});
    break;
  }
  Py_RETURN_NONE;
}

// ---------------------------------------------------------------- start and stop

void forget() {
  Records old;
  std::swap(old, records);
  ++epoch;
  for (const Spot& s : old.spots) {
    if (s.kind != SpotKind::Work) Py_DECREF(object(s));
    Py_XDECREF(s.site.code);
  }
}

// record_start(most_runs, arguments, current_thread): from now on. Records that are being taken go
// on, and keep as much as either wants. current_thread: gives an object for a thread.
PyObject* record_start(PyObject*, PyObject* args) {
  Py_ssize_t most;
  int arguments;
  PyObject* current_thread;
  if (!PyArg_ParseTuple(args, "npO", &most, &arguments, &current_thread)) return nullptr;
  const bool on = observing & kRecords;
  if (!on) forget();
  records.most_runs = std::max(records.most_runs, static_cast<size_t>(most));
  records.arguments |= arguments != 0;
  if (on) Py_RETURN_NONE;
  records.current_thread = Ref::borrow(current_thread);
  records.makers.assign(kRecent, {kNone, kNone});
  on_this_thread();
  observing |= kRecords;
  Py_RETURN_NONE;
}

PyObject* tuple_of_spot(const Spot& s) {
  const auto number = [](int64_t n) { return static_cast<long long>(n); };
  const Ref what(s.kind == SpotKind::Work ? PyUnicode_FromString(static_cast<const char*>(s.what)) : Py_NewRef(object(s)));
  const Ref file(s.site.code ? Py_NewRef(s.site.code->co_filename) : Py_NewRef(Py_None));
  if (!what) return nullptr;
  return Py_BuildValue("(iiOOiiLLLLII)", static_cast<int>(s.parent), static_cast<int>(s.kind), what.get(), file.get(),
                       s.site.code ? line_of(s.site) : 0, static_cast<int>(s.maker), number(s.runs),
                       number(records.clock.length(s.ticks)), number(s.bytes), number(s.most), s.paths, s.ways);
}

PyObject* text_of_shapes(const std::vector<int64_t>& shapes) {
  std::string text;
  for (size_t at = 0; at < shapes.size();) {
    const auto end = at + static_cast<size_t>(shapes[at]);
    text += at ? ", [" : "[";
    for (bool first = true; at++ < end; first = false) text += (first ? "" : ", ") + std::to_string(shapes[at]);
    text += "]";
  }
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

template <typename Each, typename Made>
PyObject* list_of(const std::vector<Each>& all, Made made) {
  Ref list(PyList_New(0));
  for (size_t i = 0; list && i < all.size(); ++i) {
    const Each each = all[i];  // Python may run here, and add to the list
    const Ref one(made(each));
    if (!one || PyList_Append(list.get(), one.get()) < 0) return nullptr;
  }
  return list.release();
}

PyObject* bytes_of_runs() {
  PyObject* bytes = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(records.runs.size() * sizeof(Run)));
  if (!bytes) return nullptr;
  Run* all = reinterpret_cast<Run*>(PyBytes_AS_STRING(bytes));
  records.runs.copy_to(all);
  for (size_t i = 0; i < records.runs.size(); ++i) {
    all[i].start = records.clock.moment(all[i].start);
    all[i].stop = records.clock.moment(all[i].stop);
  }
  return bytes;
}

// record_stop(end): the records so far, and the last with `end`: (spots, the runs as bytes, the
// texts of shapes, (the most bytes at a time, the spot after which)).
PyObject* record_stop(PyObject*, PyObject* end) {
  records.clock.measure();
  if (end == Py_True) {
    if (here.epoch == epoch) close(here.stack, 1, ticks(), {});
    observing &= ~kRecords;
  }
  const Ref spots(list_of(records.spots, tuple_of_spot)), texts(list_of(records.shapes, text_of_shapes));
  const Ref runs(bytes_of_runs());
  if (!spots || !texts || !runs) return nullptr;
  PyObject* all = Py_BuildValue("(OOO(Li))", spots.get(), runs.get(), texts.get(), static_cast<long long>(records.peak),
                                static_cast<int>(records.peak_at));
  if (end == Py_True) forget();
  return all;
}

}  // namespace

PyMethodDef kRecordFunctions[] = {
    {"record_start", method_of<record_start>(), METH_VARARGS, "Takes records from now on."},
    {"record_stop", method_of<record_stop>(), METH_O, "The records so far."},
    {"record_enter", method_of<record_enter>(), METH_O, "A range of the records begins."},
    {"record_leave", method_of<record_leave>(), METH_O, "A range of the records ends."},
    {"record_ranged", method_of<record_ranged>(), METH_VARARGS, "A function whose calls are ranges of the records."},
    {nullptr, nullptr, 0, nullptr},
};

int init_records() {
  static PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Ranged, call), READONLY, nullptr},
                                  {nullptr, 0, 0, 0, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_call, slot_of<PyVectorcall_Call>()},
      {Py_tp_descr_get, slot_of<bind_ranged>()},
      {Py_tp_getattro, slot_of<attribute_of_ranged>()},
      {Py_tp_dealloc, slot_of<dealloc_ranged>()},
      {Py_tp_members, members},
      {0, nullptr},
  };
  static PyType_Spec spec = {
      "rushlight._core.Ranged", sizeof(Ranged), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  ranged_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return ranged_type ? 0 : -1;
}

}  // namespace rushlight
