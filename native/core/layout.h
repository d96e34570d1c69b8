// Tensors as memory and layout: making plain ones, views of them and copies. A plain tensor has no history and shares no version; what
// is recorded of it comes later (op.cpp). The accessors are Tensor's own (core.h). Strides are in bytes, as kernels take them.
#pragma once
#include <algorithm>

#include "core/core.h"

namespace rushlight {

// ---- a layout under construction
struct Layout {
  int ndim = 0;
  Py_ssize_t offset = 0;  // from the base's first element to the view's first element
  Py_ssize_t shape[kMaxDims], strides[kMaxDims];

  Layout() = default;
  explicit Layout(const Tensor* t);
  Layout(const Py_ssize_t* sizes, int n) : ndim(n) { std::copy_n(sizes, n, shape); }  // no strides
  void add(Py_ssize_t size, Py_ssize_t stride) {
    shape[ndim] = size;
    strides[ndim++] = stride;
  }
  void remove(int dim);
};

// A stride, taken in such steps. Of what is too long for a number one element is left, and no step is ever taken.
inline Py_ssize_t times(Py_ssize_t stride, Py_ssize_t step) {
  Py_ssize_t product;
  return __builtin_mul_overflow(stride, step, &product) ? 0 : product;
}
// Row-major strides, torch's for sizes of 0 too. False where the elements do not fit into memory that can be addressed.
bool contiguous_strides(int ndim, const Py_ssize_t* sizes, Py_ssize_t item, Py_ssize_t* strides, Py_ssize_t* numel);
bool same_sizes(int n, const Py_ssize_t* a, const Py_ssize_t* b);
inline bool same_shape(const Tensor* a, const Tensor* b) {
  return a->ndim() == b->ndim() && same_sizes(a->ndim(), a->sizes(), b->sizes());
}
// Dense strides in the order of other layouts: the first layout that orders two dimensions decides.
// A stride of 0 gives no order; dimensions without an order stay as in the shape.
void dense_strides(int ndim, const Py_ssize_t* sizes, const Py_ssize_t* const* layouts, int n, Py_ssize_t item,
                   Py_ssize_t* strides);
// Strides of a new tensor like `model`: the model's if dense, else dense in the same order.
void like_strides(const Tensor* model, Py_ssize_t item, Py_ssize_t* strides);
// Strides of a new result of an element-wise function of the tensors, in torch's words: all row-major, all channels last, all of the
// same dense strides, or in the order of theirs. `numbers`: there are operands that are no tensors.
void result_strides(int ndim, const Py_ssize_t* sizes, const Tensor* const* operands, int n, bool numbers, Py_ssize_t item,
                    Py_ssize_t* strides);
// Whether the elements fill their memory with the channels last, strides of single entries apart.
bool is_channels_last(const Tensor* t);
// How many dimensions a memory format is for: 0 for any. -1 with an exception.
int rank_of_format(PyObject* format);
// Whether the strides tell that the channels are the last dimension in memory: torch's suggest_memory_format. Of images and volumes
// (4 and 5 dimensions) alone.
bool suggests_channels_last(const Tensor* t);
void channels_last_strides(int ndim, const Py_ssize_t* sizes, Py_ssize_t item, Py_ssize_t* strides);
// The bytes that are reached from the first element: [low, high).
void extent(const Tensor* t, const char** low, const char** high);
// Whether the elements fill one block of memory, each place once, whatever the order of the dimensions.
bool is_dense(const Tensor* t);
// Whether two tensors of one shape and type, aligned and without gaps, have their elements in the same order in memory.
bool lie_alike(const Tensor* a, const Tensor* b);
// Whether nobody else has the memory of `t`: no other tensor, no array that a program made or keeps.
bool owns_memory(const Tensor* t);
// Whether it shows a place twice, as an expanded tensor does.
bool overlaps_itself(const Tensor* t);

// ---- dimensions; torch's exceptions
// For a dim that a tensor of so many dimensions does not have; -1.
int refuse_dim(int64_t dim, int ndim);
// A dim of a tensor of ndim dimensions (at least 1) made non-negative, -1 with IndexError set if it is out of range.
int normal_dim(int64_t dim, int ndim);
// An int of Python's; -1 with ValueError where 64 bits do not hold it.
int64_t int_argument(PyObject* object);
// An int as a size, a stride or a place; -1 with an exception. In WebAssembly these have 32 bits,
// and a larger one is more than the memory.
Py_ssize_t size_argument(PyObject* object);
// An int as such a dim; -1 with an exception set.
int dim_argument(PyObject* object, int ndim);
// Whether a tensor can have so many dimensions; false with an exception set.
bool check_ndim(Py_ssize_t ndim, PyObject* type = PyExc_RuntimeError);

// ---- tensors; a new reference, nullptr with torch's exception
Tensor* new_tensor(DType dtype, int ndim, const Py_ssize_t* sizes);  // contiguous, uninitialised
Tensor* new_tensor(DType dtype, int ndim, const Py_ssize_t* sizes, DeviceType device);
Tensor* new_zeros(DType dtype, int ndim, const Py_ssize_t* sizes);
// Uninitialised, of the shape of `model`, with `like_strides`.
Tensor* new_like(const Tensor* model, DType dtype);
// Uninitialised, with strides of any order that fill one block.
Tensor* new_strided(DType dtype, int ndim, const Py_ssize_t* sizes, const Py_ssize_t* strides, DeviceType device = DeviceType::Cpu);
// Of the memory of `t` (of another element type, too), `offset` bytes after its first element.
Tensor* new_view(const Tensor* t, int ndim, const Py_ssize_t* sizes, const Py_ssize_t* strides, Py_ssize_t offset);
Tensor* new_view(const Tensor* t, DType dtype, int ndim, const Py_ssize_t* sizes, const Py_ssize_t* strides, Py_ssize_t offset);
inline Tensor* new_view(const Tensor* t, const Layout& l) { return new_view(t, l.ndim, l.shape, l.strides, l.offset); }
Tensor* new_alias(const Tensor* t);  // the same memory and layout
// Any place in a storage, whose reference is taken over, also on failure.
Tensor* new_on_storage(Storage* storage, DType dtype, int ndim, const Py_ssize_t* sizes, const Py_ssize_t* strides,
                       Py_ssize_t offset);

// The tensor itself where it has that type, else a converted copy with its order of strides; torch's conversions.
Tensor* cast(Tensor* t, DType to);
// A copy: in row-major order, or with the order of the strides.
Tensor* contiguous_copy(const Tensor* t);
Tensor* dense_copy(const Tensor* t);
// The values of a tensor that nobody else has, with such dense strides: the tensor itself where its elements lie so. Takes over `t`.
Tensor* relaid(Tensor* t, const Py_ssize_t* strides);
// A kernel or a copy of more bytes lets other threads run (bindings.h, "Layouts under way").
constexpr Py_ssize_t kReleaseGilBytes = 1 << 18;
// Writes `from`, broadcast and converted, to the elements of `to`. -1 with an exception.
int copy_into(Tensor* to, const Tensor* from);

// ---- of a tensor that exists (layout.cpp is alone with these)
Tensor* allocate_tensor(PyTypeObject* type);  // without memory
void init_layout(Tensor* t);
void drop_layout(Tensor* t);
// Gives a tensor another place in memory. Takes over `storage`, also on failure. -1 with an exception.
int set_layout(Tensor* t, Storage* storage, DType dtype, int ndim, const Py_ssize_t* sizes, const Py_ssize_t* strides,
               Py_ssize_t offset);
int take_layout(Tensor* t, const Tensor* from);
// Torch's strides for the sizes of 1 of a new, contiguous tensor: NumPy leaves them free.
void restride(Tensor* t);

// ---- NumPy's side (numpy.cpp); no other file knows its arrays
bool is_array(PyObject* o);
// The ndarray that a tensor keeps over its memory: a new reference, nullptr with an exception.
PyObject* array_of(Tensor* t);
PyObject* array_to_read(Tensor* t);  // the same, or bools of the bytes 0 and 1 where those in memory are others
PyObject* new_array_of(Tensor* t);  // another array, free for a program's changes
PyObject* stand_in_array(const Tensor* t);  // what NumPy code sees of a tensor without memory here: its shape and type, and zeros
PyObject* read_only_array_of(Tensor* t);
// An object that keeps the block of a storage where it is.
PyObject* new_pin(Storage* s);
// A plain tensor on an ndarray's memory; takes over `array`, also on failure. nullptr with torch's TypeError for other element types.
Tensor* tensor_of(PyObject* array);
Tensor* tensor_of_data(PyObject* array);  // of an array that a program gave
// The same of a program's object, where nothing is to be said of the array; else nullptr without an exception.
Tensor* tensor_of_plain(PyObject* o);
// The elements in nested lists; NotImplemented for a tensor that is not plain. (to_python.cpp)
PyObject* to_list(PyObject*, PyObject* tensor);
PyObject* summary_of(PyObject*, PyObject* const* args, Py_ssize_t n);  // the elements of a summary, in one list
// The same of what a NumPy definition returned: an array, a NumPy scalar, a number, or a tensor already.
Tensor* result_tensor(PyObject* value);
// A Python object as NumPy reads it, of an element type.
Tensor* tensor_from_any(PyObject* o, DType dtype);
PyObject* descr_object(DType dtype);  // borrowed
bool is_kernel(PyObject* function);  // of rushlight._core.kernels: over tensors
void set_kernels_module(PyObject* module);
bool is_numpy_scalar(PyObject* o);
bool is_numpy_bool(PyObject* o);
bool is_numpy_float(PyObject* o);
bool is_numpy_complex(PyObject* o);
bool is_numpy_integer(PyObject* o);
bool is_numpy_number(PyObject* o);
bool is_array_type(PyTypeObject* t);
int init_numpy(PyObject* module);
// Makes the exception that NumPy raises for want of memory torch's RuntimeError; any other stays.
void reword_memory_error();

}  // namespace rushlight
