// Backwards that run in each other, from hooks and custom Functions, many deep: every so many go on in a thread of their own, so
// that neither the interpreter's recursion limit nor the stack of one thread ends them.
//
// The thread that called waits; what is its own (modes, context variables, the Python side's thread-local state) is carried over.
#include <system_error>
#include <thread>

#include "core/core.h"

#ifndef _WIN32
#include <pthread.h>
#endif

namespace rushlight {

namespace {

constexpr int kOnOneThread = 60;                 // torch's number
constexpr int kAtMost = 5000;                    // a graph that runs itself again would never end
constexpr size_t kStackSize = size_t{16} << 20;  // reserved, not used up

struct Errand {
  const std::function<int()>& work;
  ThreadState state;
  PyObject *context, *python_state;  // borrowed
  int done = -1;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
};

void run(Errand& errand) {
  const TakeTurn here;
  tls = errand.state;
  Py_XINCREF(tls.saved_hooks);
  tls.nested_here = 0;
  if (PyContext_Enter(errand.context) == 0) {
    PyObject* restore = callbacks.set_thread_state.get();
    Ref ready(restore ? PyObject_CallOneArg(restore, errand.python_state) : nullptr);
    try {
      if (ready) errand.done = errand.work();
    } catch (...) {
      raise_caught();
    }
    if (errand.done < 0) PyErr_Fetch(&errand.type, &errand.value, &errand.traceback);
    if (PyContext_Exit(errand.context) < 0) PyErr_Clear();
  } else {
    PyErr_Fetch(&errand.type, &errand.value, &errand.traceback);
  }
  Py_CLEAR(tls.saved_hooks);
}

void* run_errand(void* argument) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  run(*static_cast<Errand*>(argument));
  PyGILState_Release(gil);
  return nullptr;
}

// Whether a thread could be started; waits for its end.
bool on_a_thread(Errand* errand) {
  ReleaseGil waiting(true);
#ifdef _WIN32
  try {
    std::thread(run_errand, errand).join();
  } catch (const std::system_error&) {
    return false;
  }
#else
  pthread_attr_t attributes;
  pthread_t thread;
  if (pthread_attr_init(&attributes)) return false;
  const bool started = pthread_attr_setstacksize(&attributes, kStackSize) == 0 &&
                       pthread_create(&thread, &attributes, run_errand, errand) == 0;
  pthread_attr_destroy(&attributes);
  if (!started) return false;
  pthread_join(thread, nullptr);
#endif
  return true;
}

int too_deep(int depth) {
  PyErr_Format(PyExc_RecursionError,
               "maximum recursion depth exceeded: %d backwards run in each other. Does a hook or a custom Function call backward() "
               "on the graph that it belongs to?",
               depth);
  return -1;
}

struct Deeper {
  Deeper() { ++tls.nested, ++tls.nested_here; }
  ~Deeper() { --tls.nested, --tls.nested_here; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
};

int on_fresh_thread(const std::function<int()>& work) {
  PyObject* save = callbacks.thread_state.get();
  Ref python_state(save ? PyObject_CallNoArgs(save) : nullptr);
  Ref context(python_state ? PyContext_CopyCurrent() : nullptr);
  if (!context) return -1;
  Errand errand{work, tls, context.get(), python_state.get()};
  if (!on_a_thread(&errand)) return too_deep(tls.nested);
  if (errand.type) PyErr_Restore(errand.type, errand.value, errand.traceback);
  return errand.done;
}

}  // namespace

int run_nested(const std::function<int()>& work) {
  if (tls.nested >= kAtMost) return too_deep(tls.nested);
  const Deeper now;
  return tls.nested_here > kOnOneThread ? on_fresh_thread(work) : work();
}

}  // namespace rushlight
