// Who is told of calls, of nodes made and of rules run: anomaly mode, the profiler, selective checkpoints and the trace. One word
// that is 0 on the plain path is tested where each of those happens; the reports go to Python callbacks (observe.cpp).
#pragma once
#include <atomic>

#include "core/python.h"
#include "core/site.h"

namespace rushlight {

enum class SpotKind : uint8_t;
struct Node;
struct Op;

// A selective checkpoint (kSelective) is asked before each call, too, and may give the result that the call had before. The trace
// (kTrace) is told of the start of each call and node as well, so that it can show which of them ran inside of which.
enum Observed : uint32_t { kAnomaly = 1, kSelective = 2, kTrace = 4, kRecords = 8 };
extern std::atomic<uint32_t> observing;
inline bool observed() { return __builtin_expect(observing.load(std::memory_order_relaxed) != 0, 0); }
// Somebody besides the records (record.h) is told: these need no other course of the program.
inline bool observed_closely() { return __builtin_expect((observing.load(std::memory_order_relaxed) & ~kRecords) != 0, 0); }
int64_t clock_ns();

// How the result of a call was computed, and how the gradients of a node were (bits, as a node may have several rules). Each is
// noted where that is decided, whether anybody is told or not: a store costs less than a test.
enum class Path : uint8_t {
  None,
  Block,
  Machine,
  Strided,
  Kernel,
  Numpy,
  Fallback,
  StandIns,
  View,
  InPlace,
  Out,
  Composite,
  Level,
  Kept
};
enum Way : uint16_t {
  kFused = 1,
  kFusedNumpy = 2,
  kTraced = 4,
  kPassedOn = 8,
  kRule = 16,
  kFunction = 32,
  kCopySlices = 64,
  kStored = 128,  // of a leaf: the gradient became its .grad, was copied to it, or added
  kCopied = 256,
  kAdded = 512,
  kCaptured = 1024,  // it was asked for by `grad`
  kHooks = 2048
};

struct Noted {
  Path path = Path::None;
  uint16_t ways = 0;
};

// Nothing is reported in this scope, which is the library's own work.
class Unreported {
 public:
  Unreported();
  ~Unreported();
  Unreported(const Unreported&) = delete;
  Unreported& operator=(const Unreported&) = delete;

 private:
  bool before_;
};

// A run in the records, from `begin` to the end of the scope or to `end`. Notes inside are kept apart from notes outside.
class Record {
 public:
  Record();
  ~Record();
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;
  void begin(Op* op, PyObject* const* slots);
  void begin(const char* work, PyObject* const* values, Py_ssize_t n);
  void begin(Node* node, PyObject* const* gradients, int n);
  void begin(SpotKind kind, const void* what, Site site, PyObject* const* values, Py_ssize_t n, uint64_t number = UINT64_MAX);
  int64_t leave_open();  // its start; 0 where nothing is recorded
  void end();

 private:
  size_t depth_ = 0;
  Noted around_;
};

// A call or node with a line in the trace.
class Observation : protected Record {
 public:
  Observation() = default;
  ~Observation();
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

 protected:
  bool begin(PyObject* what, PyObject* const* values, Py_ssize_t n, Site site);  // false with an exception
  bool begin(Op* op, PyObject* const* slots, PyObject* out);
  void run();                                                                    // what is timed begins now
  bool ran(PyObject* values, int64_t stop);  // and has ended: with `values`, or nullptr and an exception, which stays
  bool end();                                // true unless an exception is set

  Ref line_;  // what the callback "trace_starts" gave
  bool shown_ = false;
  int64_t start_ = 0, reported_ = 0;
};

// A call that somebody is told of.
class ObservedCall : Observation {
 public:
  ObservedCall(Op* op, PyObject* const* slots) : op_(op), slots_(slots) {}
  bool begin();  // false with an exception
  // nullptr, or an ndarray or a tuple of them that are to be used in the place of what the forward would give.
  PyObject* known() const { return known_.get(); }
  PyObject* end(PyObject* result);  // takes over `result` and gives it back, or nullptr with an exception

 private:
  Op* op_;
  PyObject* const* slots_;
  Ref known_;
};

// Work with a line in the trace like an op's; also a call with out=, around the call without.
class ObservedWork : Observation {
 public:
  template <class... Values>
  bool begin(const char* name, Values... values) {  // false with an exception
    PyObject* given[] = {values...};
    return begin_with(name, given, sizeof...(values));
  }
  bool begin(Op* op, PyObject* const* slots, PyObject* out);
  PyObject* end(PyObject* result);  // takes over `result` and gives it back, or nullptr with an exception

 private:
  bool begin_with(const char* name, PyObject* const* values, Py_ssize_t n);
};

// A node that a backward runs while nobody observes: every report does nothing.
struct UnobservedNode {
  static int begin(PyObject* const*, int) { return 0; }
  static void run() {}
  static int ran(PyObject* const*, int done) { return done; }
};
class ObservedNode : Observation {
 public:
  explicit ObservedNode(Node* node) : node_(node) {}
  int begin(PyObject* const* gradients, int n);  // that come in; -1 with an exception
  using Observation::run;
  int ran(PyObject* const* gradients, int done);  // one an edge; gives `done`, or -1
  int end(int done);

 private:
  Node* node_;
};

int report_made(Node* node);  // "node_made"

}  // namespace rushlight
