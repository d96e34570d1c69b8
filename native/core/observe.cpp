// Reports to anomaly mode, the profiler, selective checkpoints and the trace (src/rushlight/autograd/anomaly_mode.py, profiler.py,
// utils/_selective.py, _trace_calls.py). Nothing here runs on the plain path: callers test `observed()` first. What a report itself
// computes is not reported, and the time that it takes is no part of the times in the trace.
#include <time.h>

#include "core/core.h"
#include "core/override.h"
#include "core/record.h"

namespace rushlight {

std::atomic<uint32_t> observing{0};

int64_t clock_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

Unreported::Unreported() : before_(tls.reporting) { tls.reporting = true; }
Unreported::~Unreported() { tls.reporting = before_; }

namespace {

class Reporting : Unreported {
 public:
  Reporting() : start_(clock_ns()) {}
  ~Reporting() { tls.reported += clock_ns() - start_; }

 private:
  int64_t start_;
};

PyObject* tuple_of(PyObject* const* values, Py_ssize_t n) {
  PyObject* tuple = PyTuple_New(n);
  for (Py_ssize_t i = 0; tuple && i < n; ++i) PyTuple_SET_ITEM(tuple, i, Py_NewRef(values[i] ? values[i] : Py_None));
  return tuple;
}

// An exception that is on its way stays, whatever a report raises.
class Kept {
 public:
  Kept() { PyErr_Fetch(&type_, &value_, &traceback_); }
  ~Kept() {
    if (type_) PyErr_Restore(type_, value_, traceback_);
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  PyObject* type() const { return type_ ? type_ : Py_None; }

 private:
  PyObject *type_, *value_, *traceback_;
};

bool traced() { return observing & kTrace && !tls.reporting; }

}  // namespace

// ---------------------------------------------------------------- lines of the trace

Observation::~Observation() {
  if (line_) end();  // left early
}

bool Observation::begin(PyObject* what, PyObject* const* values, Py_ssize_t n, Site site) {
  if (!traced()) return true;
  const Reporting on;
  const OverridesOf quiet(Overrides::None);
  PyObject* f = callbacks.trace_starts.get();
  Ref given(f ? tuple_of(values, n) : nullptr);
  Ref place(site.code ? Py_BuildValue("(Oi)", site.code->co_filename, line_of(site)) : Py_NewRef(Py_None));
  if (given && place) line_ = Ref(PyObject_CallFunctionObjArgs(f, what, given.get(), place.get(), nullptr));
  return static_cast<bool>(line_);
}

bool Observation::begin(Op* op, PyObject* const* slots, PyObject* out) {
  if (observing & kRecords) Record::begin(op, slots);
  if (!traced()) return true;
  PyObject* given[kMaxParams + 1];  // without what has its default
  for (int i = 0; i < op->n_params; ++i) given[i] = slots[i] == op->params[i].fallback ? nullptr : slots[i];
  given[op->n_params] = out;
  return begin(as_object(op), given, op->n_params + (out != nullptr), program_site());
}

void Observation::run() {
  if (!observed_closely()) return;  // records have clocks of their own
  reported_ = tls.reported;
  start_ = clock_ns();
}

bool Observation::ran(PyObject* values, int64_t stop) {
  if (!line_) return true;
  const long long took = start_ ? stop - start_ - (tls.reported - reported_) : 0;
  const Kept error;
  const Reporting on;
  const OverridesOf quiet(Overrides::None);
  shown_ = true;
  PyObject* f = callbacks.trace_ran.get();
  return f && Ref(PyObject_CallFunction(f, "OOOL", line_.get(), values ? values : Py_None, error.type(), took));
}

bool Observation::end() {
  Record::end();
  if (!line_) return true;
  if (!shown_) ran(nullptr, clock_ns());
  const Ref line = std::move(line_);
  const Kept error;
  const Reporting on;
  PyObject* f = callbacks.trace_ends.get();
  return f && Ref(PyObject_CallFunction(f, "Oii", line.get(), static_cast<int>(tls.noted.path), static_cast<int>(tls.noted.ways)));
}

// ---------------------------------------------------------------- calls

bool ObservedCall::begin() {
  if (!Observation::begin(op_, slots_, nullptr)) return false;
  if (observing & kSelective && !tls.reporting) {
    const Reporting on;
    PyObject* f = callbacks.op_starts.get();
    known_ = Ref(f ? PyObject_CallOneArg(f, as_object(op_)) : nullptr);
    if (!known_) return false;
    if (known_.get() == Py_None) known_ = Ref();
  }
  run();
  return true;
}

PyObject* ObservedCall::end(PyObject* result) {
  const int64_t stop = observed_closely() ? clock_ns() : 0;
  Ref owned(result);
  if (!ran(result, stop) || !Observation::end()) return nullptr;
  if (!result || tls.reporting || !(observing & ~(kTrace | kRecords))) return owned.release();
  const Reporting on;
  PyObject* f = callbacks.op_ran.get();
  Ref arguments(f ? tuple_of(slots_, op_->n_params) : nullptr);
  if (!arguments) return nullptr;
  Ref done(PyObject_CallFunction(f, "OOOLL", as_object(op_), arguments.get(), result, static_cast<long long>(start_),
                                 static_cast<long long>(stop)));
  if (done && (observing & kSelective)) {
    f = callbacks.op_ends.get();
    done = Ref(f ? PyObject_CallFunction(f, "OOO", as_object(op_), arguments.get(), result) : nullptr);
  }
  return done ? owned.release() : nullptr;
}

bool ObservedWork::begin_with(const char* name, PyObject* const* values, Py_ssize_t n) {
  if (observing & kRecords) Record::begin(name, values, n);
  if (!observed_closely()) return true;
  const Ref text(PyUnicode_FromString(name));
  if (!text || !Observation::begin(text.get(), values, n, program_site())) return false;
  run();
  return true;
}

bool ObservedWork::begin(Op* op, PyObject* const* slots, PyObject* out) {
  if (!Observation::begin(op, slots, out)) return false;
  run();
  return true;
}

PyObject* ObservedWork::end(PyObject* result) {
  Ref owned(result);
  return ran(result, observed_closely() ? clock_ns() : 0) && Observation::end() ? owned.release() : nullptr;
}

// ---------------------------------------------------------------- nodes

int report_made(Node* node) {
  if (tls.reporting || !(observing & kAnomaly)) return 0;
  const Reporting on;
  PyObject* f = callbacks.node_made.get();
  Ref done(f ? PyObject_CallOneArg(f, as_object(node)) : nullptr);
  return done ? 0 : -1;
}

int ObservedNode::begin(PyObject* const* gradients, int n) {
  if (observing & kRecords) Record::begin(node_, gradients, n);
  return Observation::begin(as_object(node_), gradients, n, node_->made.code ? node_->made : tls.backward) ? 0 : -1;
}

int ObservedNode::ran(PyObject* const* gradients, int done) {
  if (!observed_closely()) return done;
  const int64_t stop = clock_ns();
  Ref tuple(done < 0 ? nullptr : tuple_of(gradients, gradients ? node_->n_edges : 0));
  if (done == 0 && !tuple) return -1;
  if (!Observation::ran(tuple.get(), stop)) return -1;
  if (tls.reporting) return done;
  const Reporting on;
  if (done < 0) {
    if (!(observing & kAnomaly)) return done;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject* f = callbacks.node_failed.get();
    Ref told(f ? PyObject_CallOneArg(f, as_object(node_)) : nullptr);
    if (told) {
      PyErr_Restore(type, value, traceback);
    } else {  // a warning turned into an error
      Py_XDECREF(type);
      Py_XDECREF(value);
      Py_XDECREF(traceback);
    }
    return done;
  }
  if (!(observing & ~(kTrace | kRecords))) return done;
  PyObject* f = callbacks.node_ran.get();
  Ref told(f ? PyObject_CallFunction(f, "OOLL", as_object(node_), tuple.get(), static_cast<long long>(start_),
                                     static_cast<long long>(stop))
             : nullptr);
  return told ? done : -1;
}

int ObservedNode::end(int done) { return Observation::end() ? done : -1; }

}  // namespace rushlight
