// Kernels as Python functions over NumPy arrays. One file a family; each offers one table of methods, named in
// `kTables` of bindings.cpp, and all land in the module rushlight._core.kernels.
//
// A binding checks what a kernel cannot survive (element type, contiguity, index range), allocates the result, releases
// the GIL above kReleaseGilBytes and calls the kernel. It returns NotImplemented where it has no kernel for such
// arguments: the caller then takes the portable definition. All arguments are positional.
#pragma once
#include <string>

#include "core/python.h"
#include "kernels/dense.h"

namespace rushlight {

constexpr npy_intp kReleaseGilBytes = 1 << 18;

extern PyMethodDef kReductionMethods[];  // reductions.cpp: sum, mean, amax, argmax, var, cumsum, sum_to, ...
extern PyMethodDef kSoftmaxMethods[];    // softmax.cpp: softmax, log_softmax, logsumexp
extern PyMethodDef kLossMethods[];       // losses.cpp: cross_entropy, nll_loss, mse_loss and their gradients
extern PyMethodDef kNormMethods[];       // norm.cpp: layer_norm and its gradient
extern PyMethodDef kMatmulMethods[];     // matmul.cpp: gemm, batched gemm, linear and its gradients
extern PyMethodDef kConvMethods[];       // conv.cpp: convolution
extern PyMethodDef kPoolMethods[];       // pooling.cpp: maximum and average pooling
extern PyMethodDef kOptimizerMethods[];  // optimizers.cpp: sgd, adam, norms of lists
extern PyMethodDef kViewMethods[];       // views.cpp: view, transpose, expand, select, ... and their gradients
extern PyMethodDef kJoinMethods[];       // joins.cpp: cat, stack, clone
extern PyMethodDef kRandomMethods[];     // random.cpp: the Mersenne Twister generator and its samplers
extern PyMethodDef kIndexingMethods[];   // indexing.cpp: get, put and add by index, gather, scatter

// The module of all of them; a new reference, nullptr with an exception set on failure.
PyObject* make_kernels_module();

// --- what the bindings share (bindings.cpp) ---

using FastFunction = PyObject* (*)(PyObject* self, PyObject* const* args, Py_ssize_t n);
inline PyMethodDef fast_method(const char* name, FastFunction f, const char* doc) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)), METH_FASTCALL, doc};
}

// Whether `given` arguments lie in [low, high]; sets TypeError otherwise.
bool check_count(const char* function, Py_ssize_t given, Py_ssize_t low, Py_ssize_t high);

// An ndarray seen from C++. `array` is borrowed.
struct Array {
  PyArrayObject* array = nullptr;
  DType dtype = DType::Count;
  int ndim = 0;
  const npy_intp* shape = nullptr;
  const npy_intp* strides = nullptr;
  char* data = nullptr;
  npy_intp size() const { return PyArray_SIZE(array); }
  bool is_float() const { return dtype == DType::F32 || dtype == DType::F64; }
  bool contiguous() const { return PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISALIGNED(array); }
};

inline Array view_of(PyArrayObject* a) {
  return {a, dtype_of(a), PyArray_NDIM(a), PyArray_DIMS(a), PyArray_STRIDES(a), PyArray_BYTES(a)};
}
// False where the object is no ndarray of an element type that tensors have. No exception.
inline bool as_array(PyObject* object, Array& out) {
  if (!PyArray_Check(object)) return false;
  out = view_of(reinterpret_cast<PyArrayObject*>(object));
  return out.dtype != DType::Count;
}
// The array itself, or a C-contiguous aligned copy, of the given element type; a new reference.
Ref contiguous_as(PyArrayObject* array, DType dtype);
inline Ref contiguous(PyArrayObject* array) {
  if (PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISALIGNED(array))
    return Ref::borrow(reinterpret_cast<PyObject*>(array));
  return contiguous_as(array, dtype_of(array));
}
inline PyArrayObject* array_of(const Ref& r) { return reinterpret_cast<PyArrayObject*>(r.get()); }
inline Ref new_ref(DType dtype, int ndim, const npy_intp* shape) {
  return Ref(reinterpret_cast<PyObject*>(new_array(dtype, ndim, shape)));
}
// A C-contiguous array of zeros.
Ref new_zeros(DType dtype, int ndim, const npy_intp* shape);

// The items of a list or tuple (or another sequence): a tuple, because reading one of them as an int may run a program's
// code, which may change a list. TypeError with that text for anything else.
Ref held_items(PyObject* object, const char* otherwise);

// A dim of a tensor of ndim dimensions (at least 1) made non-negative, -1 with IndexError set if it is out of range.
int normal_dim(Py_ssize_t dim, int ndim);
// A Python int as a normalised dim; -1 with an exception set.
int dim_argument(PyObject* object, int ndim);
// A bit for every dimension named by None (all of them), an int or a sequence of ints. False with an exception set.
bool dims_argument(PyObject* object, int ndim, uint64_t& mask);
// A sequence of ints (or one int, for each) as exactly n of them; false with an exception set.
bool ints_argument(PyObject* object, const char* name, int n, npy_intp* out);
// A sequence of at most NPY_MAXDIMS sizes >= 0; false with an exception set.
bool shape_argument(PyObject* object, npy_intp* shape, int& ndim);
bool double_argument(PyObject* object, double& out);
bool bool_argument(PyObject* object, bool& out);

// parallel_for over a lambda f(begin, end).
template <class F>
void parallel(ptrdiff_t n, ptrdiff_t grain, const F& f) {
  parallel_for(
      n, grain,
      [](void* context, ptrdiff_t begin, ptrdiff_t end) { (*static_cast<const F*>(context))(begin, end); },
      const_cast<F*>(&f));
}

// The call's first argument as an array, in a call of low to high arguments; where false, return no_array().
inline bool first_array(const char* name, PyObject* const* args, Py_ssize_t n, Py_ssize_t low, Py_ssize_t high,
                        Array& out) {
  return check_count(name, n, low, high) && as_array(args[0], out);
}
inline PyObject* no_array() { return PyErr_Occurred() ? nullptr : Py_NewRef(Py_NotImplemented); }
// Sets the exception; nullptr.
PyObject* fail(PyObject* type, const std::string& message);

inline PyObject* not_implemented() { return Py_NewRef(Py_NotImplemented); }
inline PyObject* none() { return Py_NewRef(Py_None); }

}  // namespace rushlight
