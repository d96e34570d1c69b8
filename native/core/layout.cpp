#include "core/capture.h"
#include "core/layout.h"

#include "core/accelerator.h"
#include "core/callbacks.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/copy.h"

namespace rushlight {

// ---------------------------------------------------------------- layouts

Layout::Layout(const Tensor* t) : ndim(t->ndim()) {
  std::copy(t->sizes(), t->sizes() + ndim, shape);
  std::copy(t->strides(), t->strides() + ndim, strides);
}

void Layout::remove(int dim) {
  std::copy(shape + dim + 1, shape + ndim, shape + dim);
  std::copy(strides + dim + 1, strides + ndim, strides + dim);
  --ndim;
}

bool same_sizes(int n, const Py_ssize_t* a, const Py_ssize_t* b) { return std::equal(a, a + n, b); }

bool contiguous_strides(int ndim, const Py_ssize_t* sizes, Py_ssize_t item, Py_ssize_t* strides, Py_ssize_t* numel) {
  Py_ssize_t step = item;
  bool empty = false, fits = true;
  for (int i = ndim - 1; i >= 0; --i) {
    strides[i] = step;
    empty |= sizes[i] == 0;
    fits &= !__builtin_mul_overflow(step, std::max<Py_ssize_t>(sizes[i], 1), &step);
  }
  *numel = empty ? 0 : step / item;
  return fits || empty;
}

void dense_strides(int ndim, const Py_ssize_t* sizes, const Py_ssize_t* const* layouts, int n, Py_ssize_t item,
                   Py_ssize_t* strides) {
  // Above 0 where dimension `a` lies outside `b`, below 0 where it lies inside, 0 where nothing tells.
  const auto compare = [&](int a, int b) {
    for (int i = 0; i < n; ++i) {
      const Py_ssize_t s = layouts[i][a], t = layouts[i][b];
      if (s == 0 || t == 0) continue;
      if (s != t) return s < t ? -1 : 1;
      if (sizes[a] > sizes[b]) return 1;
    }
    return 0;
  };
  int order[kMaxDims];  // fastest first
  for (int i = 0; i < ndim; ++i) order[i] = ndim - 1 - i;
  bool moved = false;
  for (int i = 1; i < ndim; ++i) {
    int at = i;
    for (int below = i - 1; below >= 0; --below) {
      const int how = compare(order[below], order[at]);
      if (how < 0) break;
      if (how == 0) continue;
      std::swap(order[below], order[at]);
      at = below;
      moved = true;
    }
  }
  Py_ssize_t step = item;
  for (int i = 0; i < ndim; ++i) {
    strides[order[i]] = step;
    // As in torch, where a size is 0 what lies outside of it has a stride of 0, but not in the order of the shape.
    step = times(step, moved ? sizes[order[i]] : std::max<Py_ssize_t>(sizes[order[i]], 1));
  }
}

namespace {

void reach(int ndim, const Py_ssize_t* sizes, const Py_ssize_t* strides, Py_ssize_t* low, Py_ssize_t* high) {
  *low = *high = 0;
  for (int i = 0; i < ndim; ++i) {
    const Py_ssize_t r = sizes[i] > 0 ? strides[i] * (sizes[i] - 1) : 0;
    (r < 0 ? *low : *high) += r;
  }
}

bool is_row_major(int ndim, const Py_ssize_t* sizes, const Py_ssize_t* strides, Py_ssize_t item, Py_ssize_t numel) {
  if (numel == 0) return true;
  Py_ssize_t step = item;
  for (int i = ndim - 1; i >= 0; --i) {
    if (sizes[i] == 1) continue;
    if (strides[i] != step) return false;
    step *= sizes[i];
  }
  return true;
}

}  // namespace

void extent(const Tensor* t, const char** low, const char** high) {
  Py_ssize_t l, h;
  reach(t->ndim(), t->sizes(), t->strides(), &l, &h);
  *low = t->data() + l;
  *high = t->data() + h + (t->numel() ? t->item() : 0);
}

bool is_dense(const Tensor* t) {
  if (t->is_contiguous()) return true;
  int order[kMaxDims], n = 0;
  for (int i = 0; i < t->ndim(); ++i) {
    if (t->size(i) > 1) order[n++] = i;
  }
  std::sort(order, order + n, [t](int i, int k) { return t->stride(i) < t->stride(k); });
  Py_ssize_t step = t->item();
  for (int i = 0; i < n; ++i) {
    if (t->stride(order[i]) != step) return false;
    step *= t->size(order[i]);
  }
  return true;
}

bool lie_alike(const Tensor* a, const Tensor* b) {
  for (int i = 0; i < a->ndim(); ++i) {
    if (a->size(i) > 1 && a->stride(i) != b->stride(i)) return false;
  }
  return a->is_aligned() && b->is_aligned() && is_dense(a);
}

void like_strides(const Tensor* model, Py_ssize_t item, Py_ssize_t* strides) {
  const Py_ssize_t* own = model->strides();
  if (!is_dense(model)) return dense_strides(model->ndim(), model->sizes(), &own, 1, item, strides);
  for (int i = 0; i < model->ndim(); ++i) strides[i] = times(own[i] / model->item(), item);
}

namespace {

// The dimensions of channels-last memory, fastest first.
constexpr int kImage[] = {1, 3, 2, 0}, kVolume[] = {1, 4, 3, 2, 0};
inline const int* channels_last_order(int ndim) { return ndim == 4 ? kImage : ndim == 5 ? kVolume : nullptr; }

}  // namespace

bool is_channels_last(const Tensor* t) {
  const int* order = channels_last_order(t->ndim());
  if (!order) return false;
  Py_ssize_t step = t->item();
  for (int i = 0; i < t->ndim(); ++i) {
    const int d = order[i];
    if (t->size(d) == 1) continue;
    if (t->stride(d) != step) return false;
    step = times(step, t->size(d));
  }
  return true;
}

bool suggests_channels_last(const Tensor* t) {
  const int* order = channels_last_order(t->ndim());
  if (!order || t->stride(1) == 0) return false;
  Py_ssize_t least = 0;
  for (int i = 0; i < t->ndim(); ++i) {
    const int d = order[i];
    if (t->size(d) == 0 || t->stride(d) < least) return false;
    if (d == 0 && least == t->stride(1)) return false;  // of one place an image: nothing tells, and row-major is meant
    least = times(t->stride(d), std::max<Py_ssize_t>(t->size(d), 1));
  }
  return true;
}

void channels_last_strides(int ndim, const Py_ssize_t* sizes, Py_ssize_t item, Py_ssize_t* strides) {
  const int* order = channels_last_order(ndim);
  Py_ssize_t step = item;
  for (int i = 0; i < ndim; ++i) {
    strides[order[i]] = step;
    step = times(step, sizes[order[i]]);  // 0 outside of a size of 0, as in torch
  }
}

void result_strides(int ndim, const Py_ssize_t* sizes, const Tensor* const* operands, int n, bool numbers, Py_ssize_t item,
                    Py_ssize_t* strides) {
  bool one_shape = !numbers || ndim == 0, row_major = true, channels_last = true, one_layout = true;
  for (int i = 0; i < n && one_shape; ++i) {
    const Tensor* t = operands[i];
    one_shape = t->ndim() == ndim && same_sizes(ndim, t->sizes(), sizes);
    if (!one_shape) break;
    row_major &= t->is_contiguous();
    channels_last &= ndim == 4 && is_channels_last(t);
    one_layout &= is_dense(t);
    for (int d = 0; d < ndim && one_layout; ++d) {
      one_layout = t->stride(d) / t->item() == operands[0]->stride(d) / operands[0]->item();
    }
  }
  Py_ssize_t numel;
  if (one_shape) {
    if (row_major) return void(contiguous_strides(ndim, sizes, item, strides, &numel));
    if (channels_last) return channels_last_strides(ndim, sizes, item, strides);
    if (one_layout) return like_strides(operands[0], item, strides);
  }
  Py_ssize_t broadcast[kMaxParams][kMaxDims];
  const Py_ssize_t* layouts[kMaxParams];
  for (int i = 0; i < n; ++i) {
    const Tensor* t = operands[i];
    const int shift = ndim - t->ndim();
    std::fill_n(broadcast[i], shift, 0);
    for (int d = shift; d < ndim; ++d) broadcast[i][d] = t->size(d - shift) == sizes[d] ? t->stride(d - shift) : 0;
    layouts[i] = broadcast[i];
  }
  dense_strides(ndim, sizes, layouts, n, item, strides);
}

bool overlaps_itself(const Tensor* t) {
  if (t->numel() == 0) return false;
  for (int i = 0; i < t->ndim(); ++i) {
    if (t->size(i) > 1 && t->stride(i) == 0) return true;
  }
  return false;
}

// ---------------------------------------------------------------- of a tensor that exists

namespace {

// Replaced sizes and strides that a kernel may still be reading, in front of those that replaced them. Kept until the tensor goes.
struct DimsBlock {
  DimsBlock* before;
  Py_ssize_t room;
};

DimsBlock* block_of(Py_ssize_t* dims) { return reinterpret_cast<DimsBlock*>(dims) - 1; }

Py_ssize_t* new_dims(int ndim, DimsBlock* before) {
  void* memory = PyMem_RawMalloc(sizeof(DimsBlock) + sizeof(Py_ssize_t) * 2 * static_cast<size_t>(ndim));
  if (!memory) {
    PyErr_NoMemory();
    return nullptr;
  }
  DimsBlock* block = static_cast<DimsBlock*>(memory);
  block->before = before;
  block->room = ndim;
  return reinterpret_cast<Py_ssize_t*>(block + 1);
}

void free_dims(DimsBlock* block) {
  while (block) {
    DimsBlock* before = block->before;
    PyMem_RawFree(block);
    block = before;
  }
}

bool is_inline(const Tensor* t) { return t->dims_ == t->dims_inline_; }

// Room for the layout of a new tensor.
inline bool place_dims(Tensor* t, int ndim) {
  t->ndim_ = static_cast<uint8_t>(ndim);
  if (ndim <= Tensor::kInlineDims) return true;
  Py_ssize_t* dims = new_dims(ndim, nullptr);
  if (dims) t->dims_ = dims;
  return dims != nullptr;
}

// Only somebody else's memory can lie across its elements' natural places.
bool lies_aligned(const Tensor* t) {
  if (!(t->storage_->flags & Storage::kForeign)) return true;
  const Py_ssize_t item = is_complex(t->dtype) ? t->item() / 2 : t->item();
  uintptr_t bits = reinterpret_cast<uintptr_t>(t->data());
  for (int i = 0; i < t->ndim(); ++i) {
    if (t->size(i) > 1) bits |= static_cast<uintptr_t>(t->stride(i));
  }
  return bits % static_cast<uintptr_t>(item) == 0;
}

// How many elements there are. -1 with torch's exception where they cannot be counted, as an expanded tensor's may.
Py_ssize_t count_elements(int ndim, const Py_ssize_t* sizes) {
  Py_ssize_t numel = 1;
  bool fits = true, empty = false;
  for (int i = 0; i < ndim; ++i) {
    empty |= sizes[i] == 0;
    fits &= !__builtin_mul_overflow(numel, sizes[i], &numel);
  }
  if (empty) return 0;
  if (fits) return numel;
  PyErr_Format(PyExc_RuntimeError, "numel: integer multiplication overflow. The sizes are %s.", sizes_text(sizes, ndim).c_str());
  return -1;
}

inline uint32_t elsewhere_flag(DeviceType device) {
  return device == DeviceType::Cpu ? 0u : device == DeviceType::Meta ? kMeta : kAccelerator;
}

// Sets the members that follow from storage, element type, sizes and strides.
inline void derive(Tensor* t, Py_ssize_t numel) {
  t->numel_ = numel;
  t->contiguous_ = is_row_major(t->ndim(), t->sizes(), t->strides(), t->item(), numel);
  t->aligned_ = lies_aligned(t);
  t->flags = (t->flags & ~kElsewhere) | elsewhere_flag(t->device());
}

}  // namespace

void init_layout(Tensor* t) {
  t->storage_ = nullptr;
  t->offset_ = 0;
  t->numel_ = 0;
  t->dims_ = t->dims_inline_;
  t->array_ = nullptr;
  t->ndim_ = 0;
  t->contiguous_ = t->aligned_ = true;
}

void drop_layout(Tensor* t) {
  if (t->dims_ && !is_inline(t)) free_dims(block_of(t->dims_));
  t->dims_ = t->dims_inline_;
  t->ndim_ = 0;
  Storage* storage = std::exchange(t->storage_, nullptr);
  if (t->array_) Py_CLEAR(t->array_);
  drop(storage);
}

int set_layout(Tensor* t, Storage* storage, DType dtype, int ndim, const Py_ssize_t* sizes, const Py_ssize_t* strides,
               Py_ssize_t offset) {
  const Py_ssize_t numel = count_elements(ndim, sizes);
  if (numel < 0) {
    drop(storage);
    return -1;
  }
  const bool same = ndim == t->ndim_ && same_sizes(ndim, sizes, t->sizes()) && same_sizes(ndim, strides, t->strides());
  if (!same) {
    // A kernel that runs without the GIL holds a pin, and reads sizes and strides.
    const bool read = t->storage_ && t->storage_->pins.load(std::memory_order_relaxed) != 0;
    const int room = is_inline(t) ? Tensor::kInlineDims : static_cast<int>(block_of(t->dims_)->room);
    if (read || ndim > room) {
      Py_ssize_t* dims = new_dims(ndim, is_inline(t) ? nullptr : block_of(t->dims_));
      if (!dims) {
        drop(storage);
        return -1;
      }
      std::copy(sizes, sizes + ndim, dims);
      std::copy(strides, strides + ndim, dims + ndim);
      t->dims_ = dims;
    } else {
      Py_ssize_t kept[2 * kMaxDims];  // they may be the tensor's own
      std::copy(sizes, sizes + ndim, kept);
      std::copy(strides, strides + ndim, kept + ndim);
      std::copy(kept, kept + 2 * ndim, t->dims_);
    }
    t->ndim_ = static_cast<uint8_t>(ndim);
  }
  t->dtype = dtype;
  t->offset_ = offset;
  Storage* before = std::exchange(t->storage_, storage);
  derive(t, numel);
  if (!before) return 0;  // a new tensor
  note_metadata();
  Py_CLEAR(t->array_);
  drop(before);
  return 0;
}

int take_layout(Tensor* t, const Tensor* from) {
  return set_layout(t, hold(from->storage_), from->dtype, from->ndim(), from->sizes(), from->strides(), from->offset());
}

void restride(Tensor* t) {
  Py_ssize_t numel;
  if (t->contiguous_) contiguous_strides(t->ndim_, t->dims_, t->item(), t->dims_ + t->ndim_, &numel);
}

// ---------------------------------------------------------------- new tensors

namespace {

// A tensor that has a storage and no layout yet. Takes over `storage`, which may be nullptr, also on failure.
inline Tensor* new_on(Storage* storage) {
  if (!storage) return nullptr;
  Tensor* t = allocate_tensor(TensorType);
  if (t) t->storage_ = storage;
  else drop(storage);
  return t;
}

// Takes over `storage`.
Tensor* made(Storage* storage, DType dtype, int ndim, const Py_ssize_t* sizes, const Py_ssize_t* strides, Py_ssize_t offset) {
  const Py_ssize_t numel = count_elements(ndim, sizes);
  if (numel < 0) {
    drop(storage);
    return nullptr;
  }
  Tensor* t = new_on(storage);
  if (!t) return nullptr;
  if (!place_dims(t, ndim)) {
    t->ndim_ = 0;
    Py_DECREF(t);
    return nullptr;
  }
  std::copy(sizes, sizes + ndim, t->dims_);
  std::copy(strides, strides + ndim, t->dims_ + ndim);
  t->dtype = dtype;
  t->offset_ = offset;
  derive(t, numel);
  return t;
}

void raise_too_large(int ndim, const Py_ssize_t* sizes) {
  if (std::find(sizes, sizes + ndim, 0) != sizes + ndim) {
    PyErr_SetString(PyExc_RuntimeError, "Stride calculation overflowed");
    return;
  }
  PyErr_Format(PyExc_RuntimeError, "Storage size calculation overflowed with sizes=%s", sizes_text(sizes, ndim).c_str());
}

}  // namespace

int refuse_dim(int64_t dim, int ndim) {
  const Py_ssize_t n = ndim > 0 ? ndim : 1;
  PyErr_Format(PyExc_IndexError, "Dimension out of range (expected to be in range of [%zd, %zd], but got %lld)", -n, n - 1,
               static_cast<long long>(dim));
  return -1;
}

int normal_dim(int64_t dim, int ndim) {
  const Py_ssize_t n = ndim > 0 ? ndim : 1;
  if (dim < -n || dim >= n) return refuse_dim(dim, ndim);
  return static_cast<int>(dim < 0 ? dim + n : dim);
}

int64_t int_argument(PyObject* object) {
  if constexpr (sizeof(Py_ssize_t) == sizeof(int64_t)) return PyNumber_AsSsize_t(object, PyExc_ValueError);
  const Ref index(PyNumber_Index(object));
  int overflow = 0;
  const int64_t value = index ? PyLong_AsLongLongAndOverflow(index.get(), &overflow) : -1;
  if (overflow) PyErr_SetString(PyExc_ValueError, "cannot fit 'int' into an integer of 64 bits");
  return value;
}

Py_ssize_t size_argument(PyObject* object) {
  const int64_t value = int_argument(object);
  const Py_ssize_t size = static_cast<Py_ssize_t>(value);
  if (size == value) return size;
  PyErr_Format(
      PyExc_RuntimeError,
      "DefaultCPUAllocator: can't allocate memory: %lld is too large for a size or a place in memory, which have 32 bits here",
      static_cast<long long>(value));
  return -1;
}

int dim_argument(PyObject* object, int ndim) {
  const int64_t dim = int_argument(object);
  if (dim == -1 && PyErr_Occurred()) return -1;
  return normal_dim(dim, ndim);
}

bool check_ndim(Py_ssize_t ndim, PyObject* type) {
  if (ndim >= 0 && ndim <= kMaxDims) return true;
  PyErr_Format(type, "a tensor has at most %d dimensions, got %zd", kMaxDims, ndim);
  return false;
}

namespace {

// nullptr with an exception, also where the device has not the type.
Storage* new_memory(DType dtype, size_t nbytes, DeviceType device) {
  return is_accelerator(device) && !has_type(device, dtype) ? nullptr : new_storage(nbytes, device);
}

}  // namespace

Tensor* new_tensor(DType dtype, int ndim, const Py_ssize_t* sizes, DeviceType device) {
  const Py_ssize_t item = item_size(dtype);
  if (ndim <= Tensor::kInlineDims) {  // the everyday case: one pass, into the tensor itself
    Py_ssize_t step = item, strides[Tensor::kInlineDims];
    bool fits = true;
    for (int i = ndim - 1; i >= 0; --i) {
      strides[i] = step;
      fits &= !__builtin_mul_overflow(step, sizes[i], &step) && sizes[i] > 0;
    }
    if (fits) {
      Tensor* t = new_on(new_memory(dtype, static_cast<size_t>(step), device));
      if (!t) return nullptr;
      t->ndim_ = static_cast<uint8_t>(ndim);
      t->dtype = dtype;
      t->numel_ = step / item;
      t->flags |= elsewhere_flag(device);
      for (int i = 0; i < ndim; ++i) {
        t->dims_inline_[i] = sizes[i];
        t->dims_inline_[ndim + i] = strides[i];
      }
      return t;
    }
  }
  if (!check_ndim(ndim)) return nullptr;
  Py_ssize_t strides[kMaxDims], numel;
  if (!contiguous_strides(ndim, sizes, item, strides, &numel)) {
    raise_too_large(ndim, sizes);
    return nullptr;
  }
  return made(new_memory(dtype, static_cast<size_t>(numel * item), device), dtype, ndim, sizes, strides, 0);
}

Tensor* new_tensor(DType dtype, int ndim, const Py_ssize_t* sizes) { return new_tensor(dtype, ndim, sizes, DeviceType::Cpu); }

Tensor* new_zeros(DType dtype, int ndim, const Py_ssize_t* sizes) {
  Tensor* t = new_tensor(dtype, ndim, sizes);
  if (t && recording()) record_fill(t, 0);
  if (t) std::memset(t->data(), 0, static_cast<size_t>(t->nbytes()));
  return t;
}

Tensor* new_strided(DType dtype, int ndim, const Py_ssize_t* sizes, const Py_ssize_t* strides, DeviceType device) {
  Py_ssize_t low, high, numel, unused[kMaxDims];
  if (!contiguous_strides(ndim, sizes, item_size(dtype), unused, &numel)) {
    raise_too_large(ndim, sizes);
    return nullptr;
  }
  reach(ndim, sizes, strides, &low, &high);
  const size_t bytes = numel ? static_cast<size_t>(high - low + item_size(dtype)) : 0;
  return made(new_memory(dtype, bytes, device), dtype, ndim, sizes, strides, -low);
}

Tensor* new_like(const Tensor* model, DType dtype) {
  Py_ssize_t strides[kMaxDims];
  like_strides(model, item_size(dtype), strides);
  if (!model->is_contiguous()) return new_strided(dtype, model->ndim(), model->sizes(), strides, model->device());
  Tensor* t = new_tensor(dtype, model->ndim(), model->sizes(), model->device());
  if (t) std::copy_n(strides, t->ndim_, t->dims_ + t->ndim_);
  return t;
}

Tensor* new_view(const Tensor* t, DType dtype, int ndim, const Py_ssize_t* sizes, const Py_ssize_t* strides, Py_ssize_t offset) {
  return made(hold(t->storage_), dtype, ndim, sizes, strides, t->offset_ + offset);
}

Tensor* new_view(const Tensor* t, int ndim, const Py_ssize_t* sizes, const Py_ssize_t* strides, Py_ssize_t offset) {
  return new_view(t, t->dtype, ndim, sizes, strides, offset);
}

Tensor* new_alias(const Tensor* t) { return new_view(t, t->dtype, t->ndim(), t->sizes(), t->strides(), 0); }

Tensor* new_on_storage(Storage* storage, DType dtype, int ndim, const Py_ssize_t* sizes, const Py_ssize_t* strides,
                       Py_ssize_t offset) {
  return made(storage, dtype, ndim, sizes, strides, offset);
}

// ---------------------------------------------------------------- copies

namespace {

// Whether two layouts of the same shape are the same place, or apart.
enum class Meeting { Apart, Same, Mixed };

Meeting meeting(const Tensor* a, const Tensor* b) {
  const char *al, *ah, *bl, *bh;
  extent(a, &al, &ah);
  extent(b, &bl, &bh);
  if (ah <= bl || bh <= al) return Meeting::Apart;
  if (a->data() != b->data() || a->dtype != b->dtype || !same_shape(a, b)) return Meeting::Mixed;
  for (int i = 0; i < a->ndim(); ++i) {
    if (a->size(i) > 1 && a->stride(i) != b->stride(i)) return Meeting::Mixed;
  }
  return Meeting::Same;
}

constexpr char kHalfLost[] = "Casting complex values to real discards the imaginary part";

}  // namespace

int copy_into(Tensor* to, const Tensor* from) {
  if (to->dtype != from->dtype && is_complex(from->dtype) && !is_complex(to->dtype) && to->dtype != DType::Bool && to->numel() &&
      to->device() == DeviceType::Cpu && from->device() == DeviceType::Cpu && warn_program(kHalfLost, true) < 0) {
    return -1;
  }
  Py_ssize_t strides[kMaxDims];
  const int shift = to->ndim() - from->ndim();
  bool fits = true;
  for (int i = 0; i < from->ndim(); ++i) {
    const int at = i + shift;
    if (at < 0) {
      fits &= from->size(i) == 1;
      continue;
    }
    fits &= from->size(i) == 1 || from->size(i) == to->size(at);
    strides[at] = from->size(i) == 1 ? 0 : from->stride(i);
  }
  for (int i = 0; i < shift; ++i) strides[i] = 0;
  if (!fits) return refuse_shape(to, from->ndim(), from->sizes());
  if (to->numel() == 0 || to->device() == DeviceType::Meta) return 0;
  if (from->device() == DeviceType::Meta) {
    PyErr_SetString(PyExc_NotImplementedError, "Cannot copy out of meta tensor; no data!");
    return -1;
  }
  const bool on_accelerator = is_accelerator(to->device()) || is_accelerator(from->device());
  if (on_accelerator && to->storage() != from->storage()) return copy_across(to, from);
  const Meeting met = meeting(to, from);
  if (met == Meeting::Same) return 0;
  if (met == Meeting::Mixed) {
    const Owned<Tensor> apart(contiguous_copy(from));
    return apart ? copy_into(to, apart.get()) : -1;
  }
  if (on_accelerator) return copy_across(to, from);
  if (recording()) record_copy(to, from);
  if (to->nbytes() <= kReleaseGilBytes) {
    copy_strided(to->dtype, to->data(), to->strides(), from->dtype, from->data(), strides, to->ndim(), to->sizes());
    return 0;
  }
  const Layout place(to);
  const DType to_type = to->dtype, from_type = from->dtype;
  char *target = to->data(), *source = from->data();
  Pinned pins[2];
  pins[0].take(to->storage());
  pins[1].take(from->storage());
  const ReleaseGil release(true);
  copy_strided(to_type, target, place.strides, from_type, source, strides, place.ndim, place.shape);
  return 0;
}

namespace {

Tensor* copied(Owned<Tensor> to, const Tensor* from) { return to && copy_into(to.get(), from) == 0 ? to.release() : nullptr; }

}  // namespace

Tensor* contiguous_copy(const Tensor* t) {
  return copied(Owned<Tensor>(new_tensor(t->dtype, t->ndim(), t->sizes(), t->device())), t);
}
Tensor* dense_copy(const Tensor* t) { return copied(Owned<Tensor>(new_like(t, t->dtype)), t); }

Tensor* relaid(Tensor* t, const Py_ssize_t* strides) {
  bool same = true;  // but for dimensions of one entry
  for (int i = 0; i < t->ndim() && same && t->numel(); ++i) same = t->size(i) == 1 || t->stride(i) == strides[i];
  if (same) {
    if (same_sizes(t->ndim(), strides, t->strides())) return t;
    std::copy_n(strides, t->ndim_, t->dims_ + t->ndim_);
    Py_CLEAR(t->array_);  // which has the strides from before
    return t;
  }
  const Owned<Tensor> from(t);
  return copied(Owned<Tensor>(new_strided(t->dtype, t->ndim(), t->sizes(), strides, t->device())), t);
}

Tensor* cast(Tensor* t, DType to) {
  if (t->dtype == to) return as_tensor(Py_NewRef(as_object(t)));
  return copied(Owned<Tensor>(new_like(t, to)), t);
}

}  // namespace rushlight
