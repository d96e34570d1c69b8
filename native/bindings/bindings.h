// Shared by the kernels of Python: tensors as they see them, results, memory and threads. kernel.h makes functions Python's.
//
// A kernel checks what it cannot survive (element type, contiguity, index range), allocates the result, releases the GIL
// above kReleaseGilBytes and computes. Its results are plain tensors, without history. Tensors of the device meta have no
// memory: they get results of the right shape, of that device.
//
// Note [Layouts under way]: another thread may give a tensor other memory or another layout (`.data = ...`, `resize_`)
// wherever the GIL is dropped: by Unlocked, and by a copy of more than kReleaseGilBytes. An
// Unlocked kernel reads only pinned memory, the sizes and strides of this memory, and own
// variables. A kernel that makes copies first and then looks at an argument again is a long_kernel:
// if a tensor is large, the kernel gets aliases of all tensors, with pins on the memory.
#pragma once
#include <algorithm>
#include <initializer_list>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "core/accelerator.h"
#include "core/capture.h"
#include "core/layout.h"
#include "kernels/workspace.h"

namespace rushlight {

// The module of all kernels; a new reference, nullptr with an exception set on failure.
PyObject* make_kernels_module();

// --- what the bindings share (bindings.cpp) ---

using FastFunction = PyObject* (*)(PyObject* self, PyObject* const* args, Py_ssize_t n);

// Python code may still have ndarrays: they become tensors at the border, and tensors among the results ndarrays
// (core/numpy.cpp). Lists and tuples of them, too.
bool has_arrays(PyObject* const* args, Py_ssize_t n);
PyObject* through_arrays(FastFunction f, PyObject* self, PyObject* const* args, Py_ssize_t n);
template <FastFunction F>
PyObject* uncaptured(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* = nullptr) {
  return has_arrays(args, n) ? through_arrays(F, self, args, n) : F(self, args, n);
}
template <FastFunction F>
PyObject* plain_call(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* = nullptr) {
  return F(self, args, n);
}
bool has_large(PyObject* const* args, Py_ssize_t n);
template <FastFunction F>
inline KernelFacts facts_of_kernel = {};
template <FastFunction F>
PyObject* over_arrays(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  if (!recording()) return uncaptured<F>(self, args, n);
  const KernelFacts& facts = facts_of_kernel<F>;
  const bool plain = facts.plain && !has_arrays(args, n) && !has_accelerated(args, n) && !has_large(args, n);
  return record_kernel(facts, plain ? facts.plain : uncaptured<F>, self, args, n);
}

// Tensors on an accelerator have no memory that a kernel can read: the call is computed there, or by way of the host. A kernel that
// only looks at layouts, or leaves the rest to copies, is a layout_kernel and gets them as they are.
template <FastFunction F>
inline There there_of_kernel = {};
template <FastFunction F>
PyObject* over_devices(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  return has_accelerated(args, n) ? kernel_on_accelerator(there_of_kernel<F>, F, self, args, n) : F(self, args, n);
}

// Whether a copy of one of the tensors, or of those in a list, may let other threads run; the call with aliases of them
// all (see the note), where the argument itself may be the result.
bool has_large(PyObject* const* args, Py_ssize_t n);
PyObject* through_aliases(FastFunction f, PyObject* self, PyObject* const* args, Py_ssize_t n);
template <FastFunction F>
PyObject* over_aliases(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  return has_large(args, n) ? through_aliases(F, self, args, n) : F(self, args, n);
}

// A tensor seen from C++. `tensor` is borrowed.
struct TensorInfo {
  Tensor* tensor = nullptr;
  DType dtype = DType::Count;
  int ndim = 0;
  const Py_ssize_t* shape = nullptr;
  const Py_ssize_t* strides = nullptr;
  char* data = nullptr;
  Py_ssize_t size() const { return tensor->numel(); }
  bool is_float() const { return dtype == DType::F32 || dtype == DType::F64; }
  bool is_float_or_half() const { return is_float() || is_half(dtype); }
  bool contiguous() const { return tensor->is_contiguous() && tensor->is_aligned(); }
};

// A tensor without dimensions shows those of one element: a kernel that was given dimension 0 or -1 of it may ask for its size.
inline TensorInfo info_of(Tensor* t) {
  static constexpr Py_ssize_t kOne = 1;
  const int ndim = t->ndim();
  return {t, t->dtype, ndim, ndim ? t->sizes() : &kOne, ndim ? t->strides() : &kOne, t->data()};
}
inline TensorInfo info_of(const Ref& r) { return info_of(as_tensor(r.get())); }
// False where the object is no tensor. No exception.
inline bool read_tensor(PyObject* object, TensorInfo& out) {
  if (!is_tensor(object)) return false;
  out = info_of(as_tensor(object));
  return true;
}
inline Tensor* as_tensor(const Ref& r) { return as_tensor(r.get()); }
template <class T = char>
T* data_of(const Ref& r) {
  return reinterpret_cast<T*>(as_tensor(r)->data());
}

// Looks at a tensor again, after something that may have run a program's code (an allocation of the collector's, a
// converter); its dimension `dim` must have the same size.
void look_again(TensorInfo& a, int dim, Py_ssize_t size);

// Where the result of such arguments is: on meta, where nothing is computed, as soon as one of them is; of a layout_kernel on an
// accelerator. An TensorInfo that was not given counts for nothing.
template <class... A>
DeviceType device_of(const A&... tensors) {
  return std::max({(tensors.tensor ? tensors.tensor->device() : DeviceType::Cpu)...});
}
template <class... A>
bool is_meta(const A&... tensors) {
  return device_of(tensors...) == DeviceType::Meta;
}
// Where a layout_kernel leaves the call to a kernel that the op has on accelerators.
template <class... A>
bool is_accelerated(const A&... tensors) {
  return is_accelerator(device_of(tensors...));
}

// A kernel ends with this where Python has an exception: what takes memory never comes back without it. kernel.h catches it.
struct Raised {};
[[noreturn, gnu::cold]] void raised();
inline Ref owned(PyObject* made) { return made ? Ref(made) : (raised(), Ref()); }
inline Ref owned(Tensor* made) { return owned(as_object(made)); }

// An item of the tuple that a kernel made.
inline Tensor* item_of(const Ref& tuple, Py_ssize_t i) { return as_tensor(PyTuple_GET_ITEM(tuple.get(), i)); }

// The tensor itself, or a C-contiguous aligned copy, of the given element type.
Ref contiguous_as(Tensor* tensor, DType dtype);
inline Ref contiguous(Tensor* tensor) {
  if (tensor->is_contiguous() && tensor->is_aligned()) return Ref::borrow(as_object(tensor));
  return owned(contiguous_copy(tensor));
}
inline Ref converted(const Ref& tensor, DType dtype) { return owned(cast(as_tensor(tensor), dtype)); }
// A result that was computed in computed_in(dtype), rounded to `dtype`.
inline Ref rounded(Ref result, DType dtype) {
  return !result || as_tensor(result)->dtype == dtype ? std::move(result) : converted(result, dtype);
}
// A tuple of such results, of which some may be None; an empty Ref of an empty one.
Ref rounded_items(const Ref& tuple, DType dtype);
inline void copy_values(const Ref& to, const Tensor* from) {
  if (copy_into(as_tensor(to), from) < 0) raised();
}
inline Ref new_ref(DType dtype, int ndim, const Py_ssize_t* shape, DeviceType device) {
  return owned(new_tensor(dtype, ndim, shape, device));
}
Ref zeros_ref(DType dtype, int ndim, const Py_ssize_t* shape, DeviceType device);

// Lets other Python threads run while a kernel does, and pins what it reads and writes: the pins go when the GIL is back.
// The tensors must be held from before; those that are not there are left out.
class Unlocked {
 public:
  template <class... T>
  explicit Unlocked(bool release, const T&... tensors) {
    static_assert(sizeof...(T) <= kMost);
    if (!release) return;
    (pin(tensors), ...);
    state_ = PyEval_SaveThread();
  }
  ~Unlocked() {
    if (!state_) return;
    PyEval_RestoreThread(state_);
    while (count_) pins_[--count_].~Pinned();
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  [[gnu::noinline]] void pin(const Tensor* t) {
    if (t) (new (&pins_[count_++]) Pinned)->take(t->storage());
  }
  void pin(const Ref& r) { pin(as_tensor(r)); }
  void pin(const TensorInfo& a) { pin(a.tensor); }
  static constexpr int kMost = 20;
  union {
    Pinned pins_[kMost];  // made one by one, and only where the GIL is released
  };
  int count_ = 0;
  PyThreadState* state_ = nullptr;
};

// The items of a list or tuple (or another sequence): a tuple, because reading one of them as an int may run a program's
// code, which may change a list. TypeError with that text for anything else.
Ref held_items(PyObject* object, const char* otherwise);

// A bit for every dimension named by None (all of them), an int or a sequence of ints. False with an exception set.
bool dims_argument(PyObject* object, int ndim, uint64_t& mask);
// A sequence of ints (or one int, for each) as exactly n of them; false with an exception set.
// Sizes of windows and images are below this, so that sums and doubles of theirs fit, and so do
// products where numbers have 64 bits.
constexpr Py_ssize_t kMostAlong = sizeof(Py_ssize_t) == 8 ? PY_SSIZE_T_MAX >> 32 : PY_SSIZE_T_MAX >> 3;
bool ints_argument(PyObject* object, const char* name, int n, Py_ssize_t* out);
// A sequence of at most kMaxDims sizes >= 0; false with an exception set.
bool shape_argument(PyObject* object, Py_ssize_t* shape, int& ndim);
bool index_argument(PyObject* object, Py_ssize_t& out);
// A sequence of ints, or one int, of any values. False with torch's TypeError for an int of more than 64 bits; for anything
// else, too, where `refuses`.
bool sizes_argument(const char* function, const char* argument, PyObject* object, Py_ssize_t* out, int& n, bool refuses = true);
bool double_argument(PyObject* object, double& out);
// Reads a rule's `Needs`, of n edges: 0 for no gradient, else the dimensions of the tensor plus 1.
bool needs_argument(PyObject* object, int n, int* needs);
bool bool_argument(PyObject* object, bool& out);

// Whether there is a result with memory, which is then to be computed.
inline bool has_memory(const Ref& made) { return made && as_tensor(made)->device() != DeviceType::Meta; }

inline Ref make_view(const TensorInfo& a, const Layout& l) { return owned(new_view(a.tensor, l)); }
inline std::string shape_text(const TensorInfo& a) { return sizes_text(a.shape, a.ndim); }
// Replaces a -1 among the sizes by what is missing to `count` elements; false with torch's error where that cannot be.
bool infer_size(Py_ssize_t* sizes, int n, Py_ssize_t count);
// Fills in the strides that show `a` in l.shape (of as many elements). False where no strides do.
bool view_strides(const TensorInfo& a, Layout& l);

// Whether a number is in the range of a type: of integers, where its fraction is lost; of others, which all hold what is not finite.
bool holds(DType dtype, int64_t number);
bool holds(DType dtype, double number);

// Calls f with memory as elements of a type, float or double.
template <class T, class P>
auto elements(P* bytes) {
  return reinterpret_cast<std::conditional_t<std::is_const_v<P>, const T, T>*>(bytes);
}
template <class F, class... P>
auto by_type(DType dtype, const F& f, P*... bytes) {
  return dtype == DType::F32 ? f(elements<float>(bytes)...) : f(elements<double>(bytes)...);
}
// Replaces each element x of a new tensor of F32 or F64, or each part of complex ones, by f(x).
template <class F>
void each_value(const Ref& made, const F& f) {
  if (!has_memory(made)) return;
  const DType part = part_of(as_tensor(made)->dtype);
  const auto replace = [&]<class T>(T* x) { std::transform(x, x + as_tensor(made)->nbytes() / item_size(part), x, f); };
  by_type(part, replace, data_of(made));
}

// out (n elements) = the sum of m rows of a contiguous tensor of F32 or F64. Over threads where large, in an order that depends on
// the sizes alone. (reductions.cpp)
// It is the only work of a kernel that makes `out` (core/capture.h, `tell`).
void sum_rows(const Ref& rows, Py_ssize_t m, Py_ssize_t n, const Ref& out);

// Sets an exception. Converts to every way to say that there is no result.
struct Failed {
  template <class T>
  operator T() const {
    return T();
  }
};
Failed fail(PyObject* type, const char* format, ...);
Failed fail(PyObject* type, const std::string& message);
inline Failed no_memory() { return PyErr_NoMemory(), Failed(); }
// One more dimension than `ndim` must be possible.
void check_room(int ndim);

}  // namespace rushlight
