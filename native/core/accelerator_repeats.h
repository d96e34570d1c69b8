// Calls of accelerators' kernels that are made again: what Python's function started at the first
// call is started at the next without Python, where both calls have arguments of the same types,
// layouts and numbers.
#pragma once
#include <string>
#include <vector>

#include "core/accelerator.h"
#include "core/tensor.h"

namespace rushlight::repeats {

// A call, as far as launches depend on that; empty: the call is not one to be kept.
struct Key {
  std::string bytes;
  std::vector<Tensor*> tensors;  // of the arguments, also in lists
  std::vector<Ref> held;  // what is in lists, which Python may change meanwhile
};
Key key_of(const There& there, PyObject* const* args, Py_ssize_t n, bool writes);

// Whether such a call was kept; then it is made: a new reference, nullptr with an exception.
bool again(Key& key, PyObject** result);

// While it lives, what this thread starts is noted for `key`; nested ones are part of the
// outermost.
class Watch {
 public:
  explicit Watch(const Key& key);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  // Keeps the call whose result this is, or compares with what was kept. False with an exception.
  bool keep(const There& there, PyObject* const* args, Py_ssize_t n, bool writes, PyObject* result);

 private:
  const Key* key_;  // nullptr: nothing is watched
};

// Notes of a watched function.
void note_launch(int kernel, Py_ssize_t items, Py_ssize_t group, PyObject* arguments);
// A call of one of the core's functions, which queued something so many times (devices::queued).
void note_call(PyCFunction function, PyObject* arguments, uint64_t times);
void note_made(PyObject* made);  // tensors without values, also in tuples and lists
void note_report(const Tensor* memory, const std::string& what);
void note_unlike();  // what is done now is not done at the next call

extern PyMethodDef kFunctions[];

}  // namespace rushlight::repeats
