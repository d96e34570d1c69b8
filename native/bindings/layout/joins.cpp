// Copies that put tensors together: cat and stack, their gradients; and of one tensor: clone, to_copy.
#include "bindings/kernel.h"

#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace rushlight {
namespace {

constexpr Py_ssize_t kFew = 16;
constexpr Py_ssize_t kShort = 64;  // bytes
constexpr Py_ssize_t kPiece = 1 << 18;  // bytes that are worth a thread

// A list of tensors, seen from C++ without an allocation where they are few.
class TensorInfos {
 public:
  static constexpr Text kType = "Sequence[Tensor]";
  bool read(const Argument& a) {
    if (!is_list(a.object)) return false;
    count = PySequence_Fast_GET_SIZE(a.object);
    if (count > kFew) {
      heap_.reset(new (std::nothrow) TensorInfo[static_cast<size_t>(count)]);
      if (!heap_) return false;
      at = heap_.get();
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (!read_tensor(PySequence_Fast_GET_ITEM(a.object, i), at[i])) return false;
    }
    return true;
  }
  TensorInfo& operator[](Py_ssize_t i) { return at[i]; }
  bool same_dtype() const {
    for (Py_ssize_t i = 1; i < count; ++i) {
      if (at[i].dtype != at[0].dtype) return false;
    }
    return true;
  }
  // Tensors of several types are converted to their common one; false where that is left to Python.
  bool have_one_type() {
    if (same_dtype()) return true;
    DType common = at[0].dtype;
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (stored_only(at[i].dtype) || is_accelerated(at[i])) return false;
      common = promote(common, at[i].dtype);
    }
    for (Py_ssize_t i = 0; i < count; ++i) held_.push_back(Ref::borrow(as_object(at[i].tensor)));
    for (Ref& one : held_) one = owned(cast(as_tensor(one), common));
    for (Py_ssize_t i = 0; i < count; ++i) at[i] = info_of(held_[static_cast<size_t>(i)]);
    return true;
  }
  DeviceType device() const {
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (is_meta(at[i])) return DeviceType::Meta;
    }
    return DeviceType::Cpu;
  }
  Py_ssize_t count = 0;

 private:
  std::vector<Ref> held_;  // what was converted
  TensorInfo few_[kFew];
  std::unique_ptr<TensorInfo[]> heap_;
  TensorInfo* at = few_;
};

// The memory of a result, which has the channels last where all the tensors suggest that. torch joins the entries of a stack along the
// dimension that they come before, and takes that apart.
Ref joined(TensorInfos& tensors, int ndim, const Py_ssize_t* shape, int dim, bool stack) {
  const int inner = stack ? ndim - 1 : ndim;
  bool channels_last = dim < inner;
  for (Py_ssize_t i = 0; i < tensors.count && channels_last; ++i) {
    channels_last = tensors[i].ndim == inner && suggests_channels_last(tensors[i].tensor);
  }
  const DType dtype = tensors[0].dtype;
  const DeviceType device = tensors.device();
  if (!channels_last) return new_ref(dtype, ndim, shape, device);
  Layout whole, apart;
  for (int i = 0; i < inner; ++i) whole.add(stack ? tensors[0].shape[i] * (i == dim ? shape[dim] : 1) : shape[i], 0);
  channels_last_strides(inner, whole.shape, item_size(dtype), whole.strides);
  Ref result = owned(new_strided(dtype, inner, whole.shape, whole.strides, device));
  if (!stack) return result;
  for (int i = 0; i < ndim; ++i) apart.add(shape[i], 0);
  view_strides(info_of(result), apart);
  return owned(new_view(as_tensor(result), apart));
}

// The rows of several tensors that lie in memory row by row, in turns: what is written is written in order.
void join_rows(TensorInfos& tensors, char* to, Py_ssize_t outer, Py_ssize_t total) {
  struct Piece {
    const char* from;
    Py_ssize_t length;
  } pieces[kFew];
  Py_ssize_t count = 0;
  for (Py_ssize_t k = 0; k < tensors.count; ++k) {
    const TensorInfo& a = tensors[k];
    const Py_ssize_t length = a.size() * a.tensor->item() / outer;
    if (length) pieces[count++] = {a.data, length};
  }
  for (const char* end = to + total; to < end;) {
    for (Py_ssize_t k = 0; k < count; ++k) {
      Piece& p = pieces[k];
      if (p.length == 4) std::memcpy(to, p.from, 4);
      else if (p.length == 8) std::memcpy(to, p.from, 8);
      else std::memcpy(to, p.from, static_cast<size_t>(p.length));
      to += p.length;
      p.from += p.length;
    }
  }
}

// Writes the tensors one after the other along `dim` of `result`; in a stack each is one entry of it.
void join(TensorInfos& tensors, const TensorInfo& result, int dim, bool stack) {
  const ptrdiff_t item = result.tensor->item();
  Py_ssize_t outer = 1, inner = item;
  for (int i = 0; i < dim; ++i) outer *= result.shape[i];
  for (int i = dim + 1; i < result.ndim; ++i) inner *= result.shape[i];
  const Py_ssize_t row = result.shape[dim] * inner;
  Py_ssize_t at = 0, first = 0;
  const bool rows = result.tensor->is_contiguous();
  bool all_rows = rows && outer > 1 && row >= kShort && tensors.count <= kFew && outer * row <= kReleaseGilBytes;
  for (Py_ssize_t k = 0; k < tensors.count && all_rows; ++k) all_rows = tensors[k].tensor->is_contiguous();
  if (all_rows) return join_rows(tensors, result.data, outer, outer * row);
  for (Py_ssize_t k = 0; k < tensors.count; ++k) {
    const TensorInfo& a = tensors[k];
    const Py_ssize_t length = stack ? inner : a.ndim == result.ndim ? a.shape[dim] * inner : 0;
    if (length == 0 || outer == 0) continue;
    if (rows && a.tensor->is_contiguous() && (length >= kShort || outer == 1)) {
      char* to = result.data + at;
      const char* from = a.data;
      Unlocked unlocked(outer * length > kReleaseGilBytes, a, result);
      const bool whole = outer == 1;
      parallel(whole ? length : outer, whole ? kPiece : kPiece / length + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
        if (whole) std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
        for (Py_ssize_t i = begin; i < end && !whole; ++i)
          std::memcpy(to + i * row, from + i * length, static_cast<size_t>(length));
      });
    } else {
      // A tensor that lies in memory otherwise, or in short pieces, is copied into a view of the piece's place.
      Py_ssize_t strides[kMaxDims];
      for (int i = 0; i < a.ndim; ++i) strides[i] = result.strides[stack && i >= dim ? i + 1 : i];
      copy_values(owned(new_view(result.tensor, a.ndim, a.shape, strides, first * result.strides[dim])), a.tensor);
    }
    at += length;
    first += stack ? 1 : a.shape[dim];
  }
}

// Empty vectors are skipped whatever the others' dimensions.
Ref cat(TensorInfos& tensors, Any along) {
  if (tensors.count == 0) return fail(PyExc_ValueError, "torch.cat(): expected a non-empty list of Tensors");
  Py_ssize_t first = -1;
  for (Py_ssize_t i = 0; i < tensors.count; ++i) {
    const TensorInfo& a = tensors[i];
    if (a.ndim == 0) return fail(PyExc_RuntimeError, "zero-dimensional tensor (at position %zd) cannot be concatenated", i);
    if (first < 0 && !(a.ndim == 1 && a.shape[0] == 0)) first = i;
  }
  const TensorInfo& model = tensors[first < 0 ? 0 : first];
  // Empty vectors are left out, whatever the dimension; where there is nothing else, so is the dimension.
  const int dim = first < 0 ? 0 : dim_argument(along, model.ndim);
  if (dim < 0) return {};
  Py_ssize_t shape[kMaxDims];
  std::memcpy(shape, model.shape, sizeof(Py_ssize_t) * static_cast<size_t>(model.ndim));
  shape[dim] = 0;
  for (Py_ssize_t i = 0; i < tensors.count; ++i) {
    const TensorInfo& a = tensors[i];
    if (a.ndim == 1 && a.shape[0] == 0) continue;
    if (a.ndim != model.ndim)
      return fail(PyExc_RuntimeError, "Tensors must have same number of dimensions: got %d and %d", model.ndim, a.ndim);
    for (int d = 0; d < model.ndim; ++d) {
      if (d == dim || a.shape[d] == model.shape[d]) continue;
      return fail(PyExc_RuntimeError,
                  "Sizes of tensors must match except in dimension %d. Expected size %zd but got size %zd for tensor number "
                  "%zd in the list.",
                  dim, model.shape[d], a.shape[d], i);
    }
    shape[dim] += a.shape[dim];
  }
  if (!tensors.have_one_type()) return {};
  Ref result = joined(tensors, model.ndim, shape, dim, false);
  if (has_memory(result)) join(tensors, info_of(result), dim, false);
  return result;
}

// A new dimension, one entry a tensor.
Ref stack(TensorInfos& tensors, Any along) {
  if (tensors.count == 0) return fail(PyExc_RuntimeError, "stack expects a non-empty TensorList");
  const TensorInfo& model = tensors[0];
  const int dim = dim_argument(along, model.ndim + 1);
  if (dim < 0) return {};
  for (Py_ssize_t i = 1; i < tensors.count; ++i) {
    const TensorInfo& a = tensors[i];
    if (a.ndim == model.ndim && same_sizes(a.ndim, a.shape, model.shape)) continue;
    return fail(PyExc_RuntimeError, "stack expects each tensor to be equal size, but got " + sizes_text(model.shape, model.ndim) +
                                        " at entry 0 and " + sizes_text(a.shape, a.ndim) + " at entry " + std::to_string(i));
  }
  if (!tensors.have_one_type()) return {};
  check_room(model.ndim);
  Py_ssize_t shape[kMaxDims];
  for (int i = 0, d = 0; i <= model.ndim; ++i) shape[i] = i == dim ? tensors.count : model.shape[d++];
  Ref result = joined(tensors, model.ndim + 1, shape, dim, true);
  if (has_memory(result)) join(tensors, info_of(result), dim, true);
  return result;
}

// Matrices, rows and numbers of one type along the diagonal of a matrix of zeros.
Ref block_diag(TensorInfos& tensors) {
  Py_ssize_t shape[2] = {};
  std::vector<Py_ssize_t> sizes;  // of each block: another thread may give a tensor others during a copy
  for (Py_ssize_t i = 0; i < tensors.count; ++i) {
    if (tensors[i].ndim > 2 || is_accelerated(tensors[i])) return {};
    for (int d : {0, 1}) {
      const TensorInfo& a = tensors[i];
      sizes.push_back(a.ndim < 2 - d ? 1 : a.shape[a.ndim - 2 + d]);
      if (__builtin_add_overflow(shape[d], sizes.back(), &shape[d])) return {};
    }
  }
  if (!tensors.count || !tensors.same_dtype()) return {};
  Ref result = zeros_ref(tensors[0].dtype, 2, shape, tensors.device());
  if (!has_memory(result)) return result;
  Py_ssize_t offset = 0;
  for (Py_ssize_t i = 0; i < tensors.count; ++i) {
    const Py_ssize_t *block = &sizes[static_cast<size_t>(2 * i)], *strides = as_tensor(result)->strides();
    if (block[0] && block[1]) copy_values(owned(new_view(as_tensor(result), 2, block, strides, offset)), tensors[i].tensor);
    offset += block[0] * strides[0] + block[1] * strides[1];
  }
  return result;
}

// Each joined tensor's piece of g, as views. A gradient that a hook made smaller is left to the rule.
Tensors cat_backward(TensorInfo& g, Dim dim, Given<"tuple[Sequence[int], ...]"> shapes) {
  if (!PyTuple_Check(shapes)) return {};
  const Py_ssize_t count = PyTuple_GET_SIZE(shapes.object);
  const Py_ssize_t total = g.ndim ? g.shape[dim] : 0;
  Py_ssize_t used = 0;
  Ref pieces = owned(PyTuple_New(count));
  look_again(g, dim, total);
  Layout l(g.tensor);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* sizes = PyTuple_GET_ITEM(shapes.object, i);
    const bool skipped = PyTuple_GET_SIZE(sizes) != g.ndim;  // an empty vector among matrices
    const Py_ssize_t size = skipped ? 0 : PyLong_AsSsize_t(PyTuple_GET_ITEM(sizes, dim));
    if (size > total - used) return {};
    used += size;
    l.shape[dim] = size;
    Ref piece = skipped ? new_ref(g.dtype, 1, &size, device_of(g)) : make_view(g, l);
    PyTuple_SET_ITEM(pieces.get(), i, piece.release());
    l.offset += size * l.strides[dim];
  }
  return pieces;
}

// A copy with the order of strides kept.
Ref clone(const TensorInfo& a, OnlyNone /* memory_format */) { return owned(dense_copy(a.tensor)); }

// A copy of another element type, which keeps the order of strides.
Ref to_copy(const TensorInfo& a, Given<"_dtype"> dtype) {
  for (int i = 0; i < static_cast<int>(DType::Count); ++i) {
    if (dtype.object == registry.dtypes[i]) return owned(cast(a.tensor, static_cast<DType>(i)));
  }
  return {};
}

const KernelRows rows{
    long_kernel<cat, "cat(tensors, dim)">(),
    long_kernel<stack, "stack(tensors, dim)">(),
    layout_kernel<block_diag, "block_diag(tensors)">(),
    layout_kernel<cat_backward, "cat_backward(g, dim, shapes)">(),
    layout_kernel<clone, "clone(a, memory_format=None)">(),
    layout_kernel<to_copy, "to_copy(a, dtype)">(),
};

}  // namespace

}  // namespace rushlight
