// What stands in the place of the GIL where Python has none (docs/design/0008). With a GIL nothing of this is there.
//
// Note [The turn]: one thread at a time runs code of the core; it has the turn. Every way into the core takes the turn (guard.h).
// The turn is a critical section of Python's, so it is given up wherever a thread waits or lets go of Python, as a GIL would be,
// and taken again after that. A call of a Python object gives it up as well: a hook may wait for another thread.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace rushlight {

#ifdef Py_GIL_DISABLED

extern PyObject* turn;  // whose lock it is
int make_turn();        // -1 with an exception

class TakeTurn {
 public:
  TakeTurn() {
    if (!section()) {
      PyCriticalSection_Begin(&section_, turn);
      taken_ = true;
    }
  }
  ~TakeTurn() {
    if (taken_) PyCriticalSection_End(&section_);
  }
  TakeTurn(const TakeTurn&) = delete;
  TakeTurn& operator=(const TakeTurn&) = delete;

  // The critical section by which this thread has the turn; nullptr where it has not, or where another section is younger: that
  // one alone would be taken again after a wait. The two lowest bits tell a suspended section, and one of two locks.
  static PyCriticalSection* section() {
    const uintptr_t youngest = PyThreadState_GetUnchecked()->critical_section;
    auto* s = reinterpret_cast<PyCriticalSection*>(youngest);
    return youngest && !(youngest & 3) && s->_cs_mutex == &turn->ob_mutex ? s : nullptr;
  }

 private:
  PyCriticalSection section_;
  bool taken_ = false;
};

class LeaveTurn {
 public:
  LeaveTurn() : section_(TakeTurn::section()) {
    if (section_) PyCriticalSection_End(section_);
  }
  ~LeaveTurn() {
    if (section_) PyCriticalSection_Begin(section_, turn);
  }
  LeaveTurn(const LeaveTurn&) = delete;
  LeaveTurn& operator=(const LeaveTurn&) = delete;

 private:
  PyCriticalSection* section_;
};

// Objects, which hide Python's functions of the same names in all of this namespace; functions would stand beside them.
#define RUSHLIGHT_LEAVING(function)                   \
  inline constexpr auto function = [](auto... args) { \
    const LeaveTurn left;                             \
    return ::function(args...);                       \
  };
RUSHLIGHT_LEAVING(PyObject_Call)
RUSHLIGHT_LEAVING(PyObject_CallFunction)
RUSHLIGHT_LEAVING(PyObject_CallFunctionObjArgs)
RUSHLIGHT_LEAVING(PyObject_CallMethod)
RUSHLIGHT_LEAVING(PyObject_CallNoArgs)
RUSHLIGHT_LEAVING(PyObject_CallOneArg)
RUSHLIGHT_LEAVING(PyObject_Vectorcall)
RUSHLIGHT_LEAVING(PyObject_VectorcallMethod)
#undef RUSHLIGHT_LEAVING

// An object that a weak pointer of the core may refer to: called by its maker, before anybody else has it.
inline void allow_weak(PyObject* o) {
#if PY_VERSION_HEX >= 0x030E0000
  PyUnstable_EnableTryIncRef(o);
#else
  _Py_atomic_store_ssize_relaxed(&o->ob_ref_shared, o->ob_ref_shared | _Py_REF_MAYBE_WEAKREF);
#endif
}

// Whether a reference was added, behind a weak pointer: not to an object that is being destroyed.
inline bool try_hold(PyObject* o) {
#if PY_VERSION_HEX >= 0x030E0000
  return PyUnstable_TryIncRef(o);
#else
  if (_Py_IsOwnedByCurrentThread(o)) {
    Py_INCREF(o);
    return true;
  }
  Py_ssize_t shared = _Py_atomic_load_ssize_relaxed(&o->ob_ref_shared);
  while (shared && shared != _Py_REF_MERGED) {
    if (_Py_atomic_compare_exchange_ssize(&o->ob_ref_shared, &shared, shared + (Py_ssize_t{1} << _Py_REF_SHARED_SHIFT)))
      return true;
  }
  return false;
#endif
}

#else

class TakeTurn {
 public:
  TakeTurn() {}  // NOLINT: so that nobody is told of an unused one
};
inline int make_turn() { return 0; }
inline void allow_weak(PyObject*) {}
inline bool try_hold(PyObject* o) {
  if (Py_REFCNT(o) <= 0) return false;
  Py_INCREF(o);
  return true;
}

#endif

}  // namespace rushlight
