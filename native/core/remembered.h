// A plain function of the table checks the sizes, types and values of its arguments and ends in one
// call of an op. That call is remembered: with arguments alike, it is made at once.
#pragma once
#include <memory>
#include <vector>

#include "core/core.h"

namespace rushlight {

// All that the call may depend on: type and sizes of a tensor and whether a gradient is wanted,
// values of other arguments. Empty where there is more to know, as of a tensor that is no plain one.
struct CallKey {
  static constexpr size_t kMost = 64;
  uint64_t words[kMost];
  size_t n = 0;
  explicit CallKey(PyObject* const* args, Py_ssize_t count, PyObject* kwnames);

 private:
  bool put(uint64_t word);
  bool put(PyObject* value, int depth);
};

class RememberedCalls {
 public:
  // The result; nullptr without an exception where no such call is known.
  PyObject* call(const CallKey& key, PyObject* const* args) const;
  int visit(visitproc visit, void* arg) const;

 private:
  friend class Remembering;
  struct Entry {
    std::vector<uint64_t> key;
    std::vector<int8_t> from;  // for each value: its place among the arguments of the call, or -1
    Ref op, values, texts;
    Py_ssize_t pick;  // which of several results; -1: all of them
  };
  static constexpr size_t kSlots = 256;
  std::unique_ptr<Entry>& slot(const CallKey& key) const;
  mutable std::unique_ptr<Entry> slots_[kSlots];
};

// While a function runs: what it says with remember().
class Remembering {
 public:
  Remembering();
  ~Remembering();
  Remembering(const Remembering&) = delete;
  Remembering& operator=(const Remembering&) = delete;
  // Remembers what was said, if that call gave `result`.
  void keep(RememberedCalls& calls, const CallKey& key, PyObject* const* args, Py_ssize_t n, PyObject* kwnames, PyObject* result);
  void note(PyObject* const* args, Py_ssize_t n, PyObject* result);

 private:
  Remembering* outer_;
  Ref op_, values_, result_;
};

// remember(op, *args): calls the op, as the last thing that a function does.
PyObject* remember(PyObject*, PyObject* const* args, Py_ssize_t n);

}  // namespace rushlight
