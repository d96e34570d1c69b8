// Python.h, included the one right way by every file that handles Python objects. NumPy's C API is numpy.h's.
#pragma once
#include <atomic>
#include <string>

#include "core/locks.h"
#include "kernels/kernels.h"

namespace rushlight {

// Note [Ownership across calls]: whenever Python code may run or the GIL may be dropped, another thread, a hook or a destructor
// may replace what a field of a Tensor or Node refers to. A pointer read from such a field is therefore good until the next such
// place only, and what is needed beyond it is held by an `Owned`. Arguments of a call are owned by its caller throughout.
// docs/design/0008 has the whole rule.

// A strong reference with scope: dropped at the end of it.
template <class T>
class Owned {
 public:
  Owned() = default;
  explicit Owned(T* owned) : p_(owned) {}
  Owned(Owned&& o) noexcept : p_(o.release()) {}
  Owned& operator=(Owned&& o) noexcept {
    T* old = p_;
    p_ = o.release();
    Py_XDECREF(reinterpret_cast<PyObject*>(old));
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { Py_XDECREF(reinterpret_cast<PyObject*>(p_)); }
  static Owned borrow(T* p) {
    Py_XINCREF(reinterpret_cast<PyObject*>(p));
    return Owned(p);
  }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T* release() {
    T* p = p_;
    p_ = nullptr;
    return p;
  }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  T* p_ = nullptr;
};
using Ref = Owned<PyObject>;

// dict[key]; empty where there is none, with an exception where the look-up failed.
inline Ref found_in(PyObject* dict, PyObject* key) {
#if PY_VERSION_HEX >= 0x030D0000
  PyObject* found;
  PyDict_GetItemRef(dict, key, &found);
  return Ref(found);
#else
  return Ref::borrow(PyDict_GetItemWithError(dict, key));
#endif
}

// What a list or a tuple of the program holds, to be looked at before anything else runs. Without the GIL another thread may
// change a list at any time: then this is a copy.
class ItemsOf {
 public:
#ifdef Py_GIL_DISABLED
  explicit ItemsOf(PyObject* o) : kept_(o && PyList_Check(o) ? PyList_AsTuple(o) : Py_XNewRef(o)), o_(kept_.get()) {
    if (!o_) PyErr_Clear();
  }
#else
  explicit ItemsOf(PyObject* o) : o_(o) {}
#endif
  Py_ssize_t size() const { return o_ ? PySequence_Fast_GET_SIZE(o_) : 0; }
  PyObject* operator[](Py_ssize_t i) const { return PySequence_Fast_GET_ITEM(o_, i); }
  PyObject* const* all() const { return o_ ? PySequence_Fast_ITEMS(o_) : nullptr; }

 private:
#ifdef Py_GIL_DISABLED
  Ref kept_;
#endif
  PyObject* o_;
};

// Up to N strong references with scope, for the objects of a call, added one by one.
template <int N>
class Held {
 public:
  Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    while (n_) Py_DECREF(at_[--n_]);
  }
  PyObject* take(PyObject* owned) { return at_[n_++] = owned; }
  PyObject* borrow(PyObject* p) { return take(Py_NewRef(p)); }

 private:
  int n_ = 0;
  PyObject* at_[N];
};

// A reference that an object holds and that others may replace (see the note): own() to use it, peek() to look at it before
// anything else runs. Part of structs that Python allocates, so there is no constructor: init() sets it first, clear() drops it.
template <class T = PyObject>
class Field {
 public:
  void init(T* owned = nullptr) { p_ = owned; }
  Owned<T> own() const { return Owned<T>::borrow(p_); }
  T* peek() const { return p_; }
  explicit operator bool() const { return p_ != nullptr; }
  // Takes over `owned`. The old object is dropped last, as dropping may run Python code.
  void set(T* owned) {
    T* old = p_;
    p_ = owned;
    Py_XDECREF(reinterpret_cast<PyObject*>(old));
  }
  void clear() {
    if (p_) set(nullptr);
  }

 private:
  T* p_;
};

// Adds to a counter that is touched with the GIL held, or in the turn, only; gives what it was. A locked instruction costs as much
// as a tenth of a small op. Without the GIL some are touched by the kernels too.
template <typename T>
T count(std::atomic<T>& counter, T more) {
#ifdef Py_GIL_DISABLED
  return counter.fetch_add(more, std::memory_order_acq_rel);
#else
  const T before = counter.load(std::memory_order_relaxed);
  counter.store(before + more, std::memory_order_relaxed);
  return before;
#endif
}

// Lets other Python threads run while a long kernel does. Whatever the kernel reads and writes must be held from before: by the
// caller, as arguments are, or by an Owned that is older than this.
class ReleaseGil {
 public:
  explicit ReleaseGil(bool release) : state_(release ? PyEval_SaveThread() : nullptr) {}
  ~ReleaseGil() {
    if (state_) PyEval_RestoreThread(state_);
  }
  ReleaseGil(const ReleaseGil&) = delete;
  ReleaseGil& operator=(const ReleaseGil&) = delete;

 private:
  PyThreadState* state_;
};

constexpr int kMaxDims = 64;

inline bool is_list(PyObject* o) { return PyList_Check(o) || PyTuple_Check(o); }

std::string sizes_text(const Py_ssize_t* values, int n);  // "[2, 3]"
// Torch's sentences about a result and the tensor it is written to. `advice` follows them.
inline void raise_shape(const char* out, const char* result, const char* advice = "") {
  PyErr_Format(PyExc_RuntimeError, "output with shape %s doesn't match the broadcast shape %s%s", out, result, advice);
}
inline void raise_cast(const char* result, const char* out, const char* advice = "") {
  PyErr_Format(PyExc_RuntimeError, "result type %s can't be cast to the desired output type %s%s", result, out, advice);
}

}  // namespace rushlight
