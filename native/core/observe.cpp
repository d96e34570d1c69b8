// Reports to anomaly mode and the profiler (src/rushlight/autograd/anomaly_mode.py, profiler.py). Nothing here runs on the plain
// path: callers test `observed()` first. What a report itself computes is not reported.
#include <time.h>

#include "core/core.h"

namespace rushlight {

std::atomic<uint32_t> observing{0};

int64_t clock_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

namespace {

class Reporting {
 public:
  Reporting() { tls.reporting = true; }
  ~Reporting() { tls.reporting = false; }
  Reporting(const Reporting&) = delete;
  Reporting& operator=(const Reporting&) = delete;
};

}  // namespace

PyObject* report_start(Op* op) {
  if (!(observing & kSelective) || tls.reporting) Py_RETURN_NONE;
  Reporting on;
  PyObject* f = callbacks.op_starts.get();
  return f ? PyObject_CallOneArg(f, as_object(op)) : nullptr;
}

PyObject* report_call(Op* op, PyObject* const* slots, PyObject* result, int64_t start) {
  if (!result || tls.reporting) return result;
  Ref owned(result);
  const int64_t stop = clock_ns();
  Reporting on;
  PyObject* f = callbacks.op_ran.get();
  Ref arguments(f ? PyTuple_New(op->n_params) : nullptr);
  if (!arguments) return nullptr;
  for (int i = 0; i < op->n_params; ++i) PyTuple_SET_ITEM(arguments.get(), i, Py_NewRef(slots[i] ? slots[i] : Py_None));
  Ref done(PyObject_CallFunction(f, "OOOLL", as_object(op), arguments.get(), result, static_cast<long long>(start),
                                 static_cast<long long>(stop)));
  if (done && (observing & kSelective)) {
    f = callbacks.op_ends.get();
    done = Ref(f ? PyObject_CallFunction(f, "OOO", as_object(op), arguments.get(), result) : nullptr);
  }
  return done ? owned.release() : nullptr;
}

int report_made(Node* node) {
  if (tls.reporting || !(observing & kAnomaly)) return 0;
  Reporting on;
  PyObject* f = callbacks.node_made.get();
  Ref done(f ? PyObject_CallOneArg(f, as_object(node)) : nullptr);
  return done ? 0 : -1;
}

int report_ran(Node* node, PyObject* const* gradients, int done, int64_t start) {
  if (tls.reporting) return done;
  const int64_t stop = clock_ns();
  Reporting on;
  if (done < 0) {
    if (!(observing & kAnomaly)) return done;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject* f = callbacks.node_failed.get();
    Ref told(f ? PyObject_CallOneArg(f, as_object(node)) : nullptr);
    if (told) {
      PyErr_Restore(type, value, traceback);
    } else {  // a warning turned into an error
      Py_XDECREF(type);
      Py_XDECREF(value);
      Py_XDECREF(traceback);
    }
    return done;
  }
  PyObject* f = callbacks.node_ran.get();
  Ref tuple(f ? PyTuple_New(node->n_edges) : nullptr);
  if (!tuple) return -1;
  for (int i = 0; i < node->n_edges; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(gradients[i] ? gradients[i] : Py_None));
  Ref told(
      PyObject_CallFunction(f, "OOLL", as_object(node), tuple.get(), static_cast<long long>(start), static_cast<long long>(stop)));
  return told ? done : -1;
}

}  // namespace rushlight
