// Python.h and NumPy's C API, included the one right way by every file that handles Python objects.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define PY_ARRAY_UNIQUE_SYMBOL rushlight_ARRAY_API
#ifndef RUSHLIGHT_IMPORT_ARRAY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <atomic>

#include "kernels/kernels.h"

namespace rushlight {

// A strong reference with scope: dropped at the end of it.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : p_(owned) {}
  Ref(Ref&& o) noexcept : p_(o.release()) {}
  Ref& operator=(Ref&& o) noexcept {
    PyObject* old = p_;
    p_ = o.release();
    Py_XDECREF(old);
    return *this;
  }
  Ref(const Ref&) = delete;
  Ref& operator=(const Ref&) = delete;
  ~Ref() { Py_XDECREF(p_); }
  static Ref borrow(PyObject* p) {
    Py_XINCREF(p);
    return Ref(p);
  }
  PyObject* get() const { return p_; }
  PyObject* release() {
    PyObject* p = p_;
    p_ = nullptr;
    return p;
  }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  PyObject* p_ = nullptr;
};

// Adds to a counter that is touched with the GIL held only; gives what it was. A locked instruction costs as much as a tenth of a
// small op, and is needed where there is no GIL.
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

// Lets other Python threads run while a long kernel does.
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

// The element type of a NumPy array, or DType::Count where no tensor has it (big-endian, objects, strings, ...).
DType dtype_of(PyArrayObject* array);
// The NumPy descriptor of an element type: a borrowed reference, or nullptr with an exception set.
PyArray_Descr* descr_of(DType dtype);
// Makes the exception that NumPy raises for want of memory torch's RuntimeError; any other stays.
void reword_memory_error();
// A new C-contiguous, uninitialised array; nullptr with an exception set on failure.
PyArrayObject* new_array(DType dtype, int ndim, const npy_intp* shape);

}  // namespace rushlight
