// The Python objects that the core calls: each is declared here, and filled by src/rushlight/_callbacks.py through
// `_core.register(callbacks={...})`, which refuses any other name, or by `find` when it is first wanted: ops, whose rooms are read
// then. `_core.check_registered(those that are found)` names those that are missing.
#pragma once
#include "core/python.h"

namespace rushlight {

struct Op;

// clang-format off
#define RUSHLIGHT_CALLBACKS(X)                                                                                       \
  X(find)                                                                                                            \
  /* ops, called as such */                                                                                          \
  X(add) X(alias) X(conj_view) X(neg_view) X(to_copy) X(strided_view) X(strided_gather) X(strided_scatter)                      \
  X(permute) X(view) X(reshape_alias) X(unsafe_view) X(contiguous_copy) X(slice) X(select) X(view_as_real) X(expand) X(unsqueeze) X(cat) X(sum) X(sub) X(logical_xor) \
  /* functions of ops/ */                                                                                            \
  X(mixed_strided_view) X(mixed_strided_gather) X(mixed_strided_scatter) X(clone) X(zeros_like) X(sum_to)            \
  X(fit_dtype) X(fitted_number) X(warn) X(warn_once) X(write_out) X(as_tensor) X(take_pytorchs) X(beyond_memory) X(on_stand_ins)           \
  X(load_kernels_there) X(copy_there) X(put_off_there) X(interpreter) X(specialised) X(OutOfMemoryError)             \
  X(getitem) X(setitem) X(spread_to) X(iter) X(trace_call) X(explain) X(takes) X(compile) X(AcceleratorError)        \
  /* types of arguments */                                                                                           \
  X(Generator) X(contiguous_format) X(device) X(layout) X(memory_format) X(resolve_device)                                                \
  /* members of Tensor and Node */                                                                                   \
  X(repr) X(handed_on) X(handed_as_is) X(tensor_new) X(call_node) X(raw_saved) X(move_retained) X(before_write)      \
  X(missing_attribute)                                                                                               \
  /* the engine */                                                                                                   \
  X(no_grad_root) X(no_grad_input) X(copy_gradient) X(thread_state) X(set_thread_state)                              \
  /* function transforms and forward mode */                                                                         \
  X(wrapped)                                                                                                         \
  /* anomaly mode, the profiler, selective checkpoints and the trace; see observe.cpp */                             \
  X(op_starts) X(op_ran) X(op_ends) X(node_made) X(node_ran) X(node_failed) X(trace_starts) X(trace_ran) X(trace_ends)
// clang-format on

class Callback {
 public:
  constexpr explicit Callback(const char* name) : name_(name) {}
  const char* name() const { return name_; }
  bool is_registered() const { return p_ != nullptr; }
  // Borrowed, and good for ever: what is registered stays. nullptr with an exception where nothing is, or where it is not found.
  PyObject* get() const { return p_ ? p_ : found(); }
  Op* op() const;  // the same of one that must be an Op
  int set(PyObject* p);  // -1 with an exception where something else is registered

 private:
  PyObject* found() const;
  const char* name_;
  mutable PyObject* p_ = nullptr;
};

struct Callbacks {
#define X(name) Callback name{#name};
  RUSHLIGHT_CALLBACKS(X)
#undef X
};
extern constinit Callbacks callbacks;

int warn_program(const char* text, bool once = false);    // a UserWarning at the program's line; -1 where it is an error
int register_callbacks(PyObject* dict);                     // -1 with an exception
PyObject* check_registered(PyObject* module, PyObject* late);  // None, or raises and names what is neither here nor among these

}  // namespace rushlight
