// Capture: what a run computes is recorded as a list of steps below autograd, and replayed without
// Python (docs/design/0022).
//
// Note [Memory, not tensors]: a step is known by the memory that it reads and writes. While a run
// is recorded, every storage that it makes gets a number (a Memory), and an argument of a step is a
// place in one (an Operand). A program has memory of its own for all of them, and tensors over that
// memory, made once: a replay calls the same kernels with the same tensors, and a storage that a
// kernel asks for is the one at the same place of the record. So views are no steps, nothing is
// allocated, and nothing is freed.
//
// Note [Unknown]: what was not seen to be written is not read. A step that reads memory which no
// recorded step wrote, or which no part of the guarded state holds, ends the capture. So does every
// value of a tensor that reaches Python.
//
// Note [Two parts]: where a run gives back tensors whose graph is there, the recorder goes on while
// the engine walks this graph. The steps of the second part are a program for the node that stands
// for the call; memory that both parts use is saved by the node.
#pragma once
#include "core/core.h"

namespace rushlight {

// What a kernel does with memory. Looks: it may show memory of its arguments; Computes: in new
// memory; Writes: into its arguments; Fills: into its first tensor, without reading that; Asks: it
// answers Python from layouts alone, or makes memory without contents; Reads: its answer is no
// tensor, and a matter of values; Refuses: it computes in new memory, where it takes the values. So
// does what takes tensors of whole numbers, or draws by a tensor.
enum class Border : uint8_t { Looks, Computes, Writes, Fills, Asks, Reads, Refuses };
using KernelFunction = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject* kwnames);
struct KernelFacts {
  const char* name;
  Border border;
  bool draws = false;  // random numbers
  KernelFunction plain = nullptr;  // the same of tensors that are on the CPU, small and no ndarrays
};

inline bool recording() { return __builtin_expect(tls.capture == Capturing::Records, 0); }

// ---- what the core tells the recorder, where `recording()`
// `kwnames`: of the last arguments, or nullptr.
PyObject* record_kernel(const KernelFacts& kernel, KernelFunction f, PyObject* self, PyObject* const* args, Py_ssize_t n,
                        PyObject* kwnames = nullptr);
// A running kernel tells that run(fixed, addresses) does its work: `fixed` is copied, an address is
// of a tensor's memory. The last is of a new tensor, which the call fills. A kernel that told so of
// all its new tensors is replayed by these calls alone. `adds` adds the same to the last, with the
// bits of a sum afterwards. False: the call refuses the values, and has done nothing.
using Told = bool (*)(const void* fixed, char* const* addresses);
struct Address {
  const Tensor* tensor;  // nullptr: no address
  const void* data;
};
// A form in which the kernel reads its second address, of so many bytes: make(fixed, {address, form}) makes it, and run takes it where
// its own `fixed` is `with`.
template <class T, class F>
struct Form {
  Told make = nullptr;
  F fixed{};
  T with{};
  size_t size = 0;
};
struct Telling {
  Told run, adds;
  const void* fixed;
  size_t bytes;
  Told make;
  const void *form, *with;
  size_t form_bytes, size;
};
void record_told(const Telling& t, std::initializer_list<Address> addresses);
inline bool telling() { return __builtin_expect(tls.capture == Capturing::Within, 0); }
template <class T, class F = char>
void tell(Told run, const T& fixed, std::initializer_list<Address> addresses, Told adds = nullptr, const Form<T, F>& form = {}) {
  if (telling())
    record_told({run, adds, &fixed, sizeof fixed, form.make, &form.fixed, &form.with, sizeof(F), form.size}, addresses);
}
void record_machine(const Program& program, DType compute, PyObject* const* operands, int n, Tensor* out);
// `numbers`: a second operand of so many equal elements, where `b` is none.
void record_block(BlockFn block, Tensor* a, Tensor* b, const void* numbers, Tensor* out);
void record_copy(Tensor* to, const Tensor* from);
void record_fill(Tensor* to, char byte);
bool record_truth(Tensor* t);  // of a value that Python reads: replays go on where it is the same. Whether they can
void record_constant(Tensor* made);  // written from Python's values, which are the same in each replay
void record_storage(Storage* made);
void forget_storage(Storage* freed);
// The run cannot be replayed: the recorder keeps the first reason and its line. `why` is a part of
// a sentence after "it ".
void end_capture(const char* why);
inline void ends_capture(const char* why) {
  if (recording()) end_capture(why);
}

// What runs in this scope is part of a step that was recorded.
class WithinStep {
 public:
  WithinStep() : before_(tls.capture) {
    if (before_ == Capturing::Records) tls.capture = Capturing::Within;
  }
  ~WithinStep() { tls.capture = before_; }
  WithinStep(const WithinStep&) = delete;
  WithinStep& operator=(const WithinStep&) = delete;

 private:
  Capturing before_;
};

// The storage that a replayed kernel gets; nullptr where it asks for another than it asked for
// before.
Storage* replayed_storage(size_t nbytes);

int init_capture(PyObject* module);

}  // namespace rushlight
