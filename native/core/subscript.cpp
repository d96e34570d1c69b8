// x[key] and x[key] = value for the keys of every day: ints, slices, None, Ellipsis, int64 and bool tensors, lists of
// ints, and tuples of those. All other keys, and everything that is rare about these, are left to
// src/rushlight/ops/indexing/subscript.py, which says the same in Python (callbacks "getitem" and "setitem").
//
// A view is recorded as torch does: one node a step (select, slice, unsqueeze), in the order of the key; x[...] is an
// alias. Tensors and lists become one index tensor and one op, as the head of that file says.
#include "core/capture.h"
#include "core/accelerator.h"
#include "core/layout.h"
#include "core/override.h"

#include <cfloat>
#include <cmath>
#include <complex>
#include <cstring>

namespace rushlight {

// bindings/indexing/indexing.cpp: several index arrays as one.
extern const HostFunction linear_index;

namespace {

struct Subscript {
  Op *select, *slice, *unsqueeze, *alias, *index, *index_put_, *fill_, *copy_;
  PyObject *first_dim, *zero;  // the tuple (0,) and 0
};
Subscript ops = {};

enum class Outcome { Error, Done, Rare };

// A tensor or list of the key: the first of the dimensions it indexes, how many, and the index, owned.
struct Entry {
  int dim, count;
  Ref index;  // Tensor: int64, or a mask
};
constexpr int kMaxEntries = 8;

// Arguments of the index ops.
struct Place {
  Ref index, dims, at;
};

// The view so far. While nothing is recorded, only shape and place change; the tensor is made at the end.
class Walk {
 public:
  // The storage is held: an index's __index__ may give the tensor another one.
  Walk(Tensor* source, bool recording) : source_(source), recording_(recording) {
    storage_ = hold(source->storage());
    dtype_ = source->dtype;
    ndim_ = source->ndim();
    offset_ = source->offset();
    for (int i = 0; i < ndim_; ++i) {
      dims_[i] = source->size(i);
      strides_[i] = source->stride(i);
    }
  }
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;
  ~Walk() { drop(storage_); }

  int ndim() const { return ndim_; }
  Py_ssize_t size(int dim) const { return dims_[dim]; }
  bool changed() const { return changed_; }

  // `place`: the position in the key, which torch's message names.
  Outcome select(int dim, int64_t at, Py_ssize_t place) {
    if (dim >= ndim_) return dimension_error(dim);
    const Py_ssize_t size = dims_[dim];
    if (at < -size || at >= size) {
      PyErr_Format(PyExc_IndexError, "index %lld is out of bounds for dimension %zd with size %zd", static_cast<long long>(at),
                   place, size);
      return Outcome::Error;
    }
    const Py_ssize_t index = static_cast<Py_ssize_t>(at < 0 ? at + size : at);
    offset_ += index * strides_[dim];
    --ndim_;
    for (int i = dim; i < ndim_; ++i) {
      dims_[i] = dims_[i + 1];
      strides_[i] = strides_[i + 1];
    }
    const Py_ssize_t arguments[] = {dim, index};
    return step(ops.select, arguments, 2);
  }

  Outcome slice(int dim, PyObject* key, bool skip_full) {
    Py_ssize_t start, stop, by;
    if (PySlice_Unpack(key, &start, &stop, &by) < 0) return Outcome::Error;
    if (by < 0) {
      PyErr_SetString(PyExc_ValueError, "step must be greater than zero");
      return Outcome::Error;
    }
    if (dim >= ndim_) return dimension_error(dim);
    const Py_ssize_t size = dims_[dim];
    if (skip_full && start == 0 && stop >= size && by == 1) return Outcome::Done;
    if (start < 0) start += size;
    if (stop < 0) stop += size;
    start = start < 0 ? 0 : start > size ? size : start;
    stop = stop < start ? start : stop > size ? size : stop;
    const Py_ssize_t count = stop > start ? (stop - start - 1) / by + 1 : 0;
    offset_ += start * strides_[dim];
    dims_[dim] = count;
    // A stride that nothing follows need not fit.
    if (count > 1 || by < 1 << 24) strides_[dim] *= by;
    const Py_ssize_t arguments[] = {dim, start, stop, by};
    return step(ops.slice, arguments, 4);
  }

  Outcome unsqueeze(int dim) {
    if (dim > ndim_) return dimension_error(dim);
    if (ndim_ == kMaxDims) return Outcome::Rare;
    const Py_ssize_t stride = dim < ndim_ ? dims_[dim] * strides_[dim] : item_size(dtype_);
    for (int i = ndim_; i > dim; --i) {
      dims_[i] = dims_[i - 1];
      strides_[i] = strides_[i - 1];
    }
    dims_[dim] = 1;
    strides_[dim] = stride;
    ++ndim_;
    const Py_ssize_t arguments[] = {dim};
    return step(ops.unsqueeze, arguments, 1);
  }

  Outcome alias() { return step(ops.alias, nullptr, 0); }

  bool add_entry(int dim, int count, Ref index) {
    if (n_entries_ == kMaxEntries) return false;
    entries_[n_entries_++] = Entry{dim, count, std::move(index)};
    return true;
  }
  bool has_entries() const { return n_entries_ > 0; }
  bool is_mask() const { return n_entries_ == 1 && as_tensor(entries_[0].index.get())->dtype == DType::Bool; }
  Outcome place(Place* place);

  // Writes a number into every element of a view that nobody watches. Rare where the type has reasons to refuse it.
  Outcome fill(PyObject* number, DType dtype);

  // The view: a new reference.
  PyObject* finish() {
    if (current_) return current_.release();
    Tensor* view = become_view(shown(), source_);
    if (view && (source_->flags & kCut)) inherit_cut(view, source_);
    return as_object(view);
  }

 private:
  Outcome dimension_error(int dim) {
    refuse_dim(dim, ndim_);
    return Outcome::Error;
  }

  Tensor* shown() { return new_on_storage(hold(storage_), dtype_, ndim_, dims_, strides_, offset_); }

  Outcome step(Op* op, const Py_ssize_t* arguments, int n) {
    changed_ = true;
    if (!recording_) return Outcome::Done;
    Tensor* before = current_ ? as_tensor(current_.get()) : source_;
    Ref view(as_object(become_view(shown(), before)));
    if (!view) return Outcome::Error;
    Ref numbers[4];
    PyObject* slots[kMaxParams] = {as_object(before)};
    for (int i = 0; i < n; ++i) {
      numbers[i] = Ref(PyLong_FromSsize_t(arguments[i]));
      if (!(slots[i + 1] = numbers[i].get())) return Outcome::Error;
    }
    Tensor* out = as_tensor(view.get());
    if (record(op, slots, &out, 1) < 0) return Outcome::Error;
    current_ = std::move(view);
    return Outcome::Done;
  }

  Tensor* source_;
  Storage* storage_;
  DType dtype_;
  bool recording_;
  bool changed_ = false;
  int ndim_;
  Py_ssize_t offset_;
  Ref current_;
  Py_ssize_t dims_[kMaxDims], strides_[kMaxDims];
  int n_entries_ = 0;
  Entry entries_[kMaxEntries];
};

// The positions of the true elements, row by row.
PyObject* mask_positions(Tensor* mask) {
  ends_capture("looks for the true elements of a mask (torch.where keeps the shape)");
  Ref owner(mask->is_contiguous() ? Py_NewRef(as_object(mask)) : as_object(contiguous_copy(mask)));
  if (!owner) return nullptr;
  const uint8_t* bits = reinterpret_cast<const uint8_t*>(as_tensor(owner.get())->data());
  const Py_ssize_t n = mask->numel();
  Py_ssize_t count = 0;
  for (Py_ssize_t i = 0; i < n; ++i) count += bits[i] != 0;
  Tensor* found = new_tensor(DType::I64, 1, &count);
  if (!found) return nullptr;
  int64_t* to = reinterpret_cast<int64_t*>(found->data());
  int64_t* const end = to + count;
  for (Py_ssize_t i = 0; to != end; ++i) {
    *to = i;
    to += bits[i] != 0;
  }
  return as_object(found);
}

Outcome Walk::place(Place* place) {
  Ref indices(PyList_New(n_entries_)), sizes(PyTuple_New(n_entries_)), counts(PyTuple_New(n_entries_));
  if (!indices || !sizes || !counts) return Outcome::Error;
  int n_dims = 0, dims[kMaxDims];
  for (int e = 0; e < n_entries_; ++e) {
    Entry& entry = entries_[e];
    Tensor* t = as_tensor(entry.index.get());
    Py_ssize_t size = 1;
    for (int i = 0; i < entry.count; ++i) {
      dims[n_dims++] = entry.dim + i;
      size *= dims_[entry.dim + i];
    }
    if (t->dtype == DType::Bool) {
      for (int i = 0; i < entry.count; ++i) {
        if (t->size(i) != dims_[entry.dim + i]) return Outcome::Rare;
      }
      entry.index = Ref(mask_positions(t));
      if (!entry.index) return Outcome::Error;
    }
    PyObject* size_object = PyLong_FromSsize_t(size);
    PyObject* count = PyLong_FromLong(entry.count);
    PyList_SET_ITEM(indices.get(), e, Py_NewRef(entry.index.get()));
    PyTuple_SET_ITEM(sizes.get(), e, size_object);
    PyTuple_SET_ITEM(counts.get(), e, count);
    if (!size_object || !count) return Outcome::Error;
  }
  if (n_entries_ == 1) {
    place->index = std::move(entries_[0].index);
  } else {
    bool empty = false;
    for (int d = 0; d < ndim_; ++d) {
      bool indexed = false;
      for (int i = 0; i < n_dims; ++i) indexed |= dims[i] == d;
      empty |= !indexed && dims_[d] == 0;
    }
    PyObject* args[] = {sizes.get(), indices.get(), counts.get(), empty ? Py_False : Py_True};
    Ref combined(linear_index(nullptr, args, 4));
    if (!combined) return Outcome::Error;
    place->index = std::move(combined);
  }
  place->dims = Ref(PyTuple_New(n_dims));
  if (!place->dims) return Outcome::Error;
  for (int i = 0; i < n_dims; ++i) {
    PyObject* d = PyLong_FromLong(dims[i]);
    if (!d) return Outcome::Error;
    PyTuple_SET_ITEM(place->dims.get(), i, d);
  }
  const bool adjacent = dims[n_dims - 1] - dims[0] == n_dims - 1;
  place->at = Ref(PyLong_FromLong(adjacent ? dims[0] : 0));
  return place->at ? Outcome::Done : Outcome::Error;
}

template <class T>
void fill_strided(char* data, int ndim, const Py_ssize_t* dims, const Py_ssize_t* strides, T value) {
  if (ndim == 0) {
    *reinterpret_cast<T*>(data) = value;
    return;
  }
  const Py_ssize_t n = dims[0], stride = strides[0];
  if (ndim == 1) {
    for (Py_ssize_t i = 0; i < n; ++i) *reinterpret_cast<T*>(data + i * stride) = value;
    return;
  }
  for (Py_ssize_t i = 0; i < n; ++i) fill_strided(data + i * stride, ndim - 1, dims + 1, strides + 1, value);
}

union Cell {
  uint8_t truth;
  float f32;
  double f64;
  int64_t i64;
  float c64[2];
  double c128[2];
};

// A Python number as an element of the everyday types; false where it does not fit, or the type is another one.
bool read_cell(PyObject* number, DType dtype, Cell* cell) {
  const bool integer = PyLong_Check(number);
  int overflow;
  const int64_t whole = integer ? PyLong_AsLongLongAndOverflow(number, &overflow) : 0;
  const double value = integer ? static_cast<double>(whole) : PyFloat_AS_DOUBLE(number);
  switch (dtype) {
    case DType::F64: cell->f64 = value; return true;
    case DType::F32: cell->f32 = static_cast<float>(value); return !std::isfinite(value) || std::fabs(value) <= FLT_MAX;
    case DType::C64:
      cell->c64[0] = static_cast<float>(value);
      cell->c64[1] = 0;
      return !std::isfinite(value) || std::fabs(value) <= FLT_MAX;
    case DType::C128:
      cell->c128[0] = value;
      cell->c128[1] = 0;
      return true;
    case DType::Bool: cell->truth = value != 0; return true;
    case DType::I64: cell->i64 = whole; return integer;
    default: return false;
  }
}

Outcome Walk::fill(PyObject* number, DType dtype) {
  if (source_->flags & (kInference | kInferenceView | kLazy)) return Outcome::Rare;
  if (storage_->flags & Storage::kForeign && !(source_->is_aligned() && source_->is_writeable())) return Outcome::Rare;
  if (storage_->device != DeviceType::Cpu || tls.capture != Capturing::Off) return Outcome::Rare;
  for (int i = 0; i < ndim_; ++i) {
    if (dims_[i] > 1 && strides_[i] == 0) return Outcome::Rare;
  }
  Cell cell;
  if (!read_cell(number, dtype, &cell)) return Outcome::Rare;
  char* data = storage_->data + offset_;
  switch (item_size(dtype)) {
    case 1: fill_strided(data, ndim_, dims_, strides_, cell.truth); break;
    case 4: fill_strided(data, ndim_, dims_, strides_, cell.f32); break;
    case 16: fill_strided(data, ndim_, dims_, strides_, std::complex<double>(cell.c128[0], cell.c128[1])); break;
    default: fill_strided(data, ndim_, dims_, strides_, cell.i64); break;
  }
  return bump_version(source_) < 0 ? Outcome::Error : Outcome::Done;
}

bool is_int(PyObject* o) { return PyLong_Check(o) && !PyBool_Check(o); }

Outcome read_int(PyObject* o, int64_t* value) {
  *value = PyLong_AsLongLong(o);
  if (*value == -1 && PyErr_Occurred()) {
    PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
    return Outcome::Error;
  }
  return Outcome::Done;
}

PyObject* const kCopy = PyUnicode_InternFromString("copy_");

// A list of ints as an int64 tensor: a new reference; nullptr without an exception where it is anything else.
PyObject* list_index(PyObject* list) {
  const ItemsOf items(list);
  Py_ssize_t n = items.size();
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!PyLong_CheckExact(items[i])) return nullptr;
  }
  Ref index(as_object(new_tensor(DType::I64, 1, &n)));
  if (!index) return nullptr;
  int64_t* to = reinterpret_cast<int64_t*>(as_tensor(index.get())->data());
  for (Py_ssize_t i = 0; i < n; ++i) {
    int overflow;
    to[i] = PyLong_AsLongLongAndOverflow(items[i], &overflow);
    if (overflow) return nullptr;
  }
  if (recording()) record_constant(as_tensor(index.get()));
  return index.release();
}

// Whether a tensor can be an entry here, or (without dimensions) an int.
bool is_plain_index(PyObject* o) {
  if (Py_TYPE(o) != TensorType) return false;
  Tensor* t = as_tensor(o);
  if (wrapped_bits(t) || t->flags & kLazy || (t->flags & kElsewhere && (t->ndim() == 0 || t->dtype == DType::Bool))) {
    return false;
  }
  return t->dtype == DType::I64 || (t->dtype == DType::Bool && t->ndim() > 0);
}

Outcome walk_tuple(Walk* walk, PyObject* const* items, Py_ssize_t n) {
  int specified = 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* o = items[i];
    if (is_int(o) || PySlice_Check(o)) {
      ++specified;
    } else if (is_plain_index(o)) {
      Tensor* t = as_tensor(o);
      specified += t->dtype == DType::Bool ? t->ndim() : 1;
    } else if (PyList_CheckExact(o)) {
      ++specified;
    } else if (o != Py_None && o != Py_Ellipsis) {
      return Outcome::Rare;
    }
  }
  const int ndim = walk->ndim();
  if (specified > ndim) {
    PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d", ndim);
    return Outcome::Error;
  }
  int dim = 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* o = items[i];
    Outcome done = Outcome::Done;
    if (PySlice_Check(o)) {
      done = walk->slice(dim++, o, true);
    } else if (o == Py_Ellipsis) {
      dim += ndim - specified;
    } else if (o == Py_None) {
      done = walk->unsqueeze(dim++);
    } else if (is_int(o)) {
      int64_t index;
      done = read_int(o, &index);
      if (done == Outcome::Done) done = walk->select(dim, index, i);
    } else if (PyList_CheckExact(o)) {
      Ref index(list_index(o));
      if (!index || dim >= walk->ndim() || !walk->add_entry(dim++, 1, std::move(index))) {
        return PyErr_Occurred() ? Outcome::Error : Outcome::Rare;
      }
    } else {
      Tensor* a = as_tensor(o);
      if (a->ndim() == 0) {
        ends_capture("selects by a tensor's value");
        int64_t value;
        memcpy(&value, a->data(), sizeof value);
        done = walk->select(dim, value, i);
      } else {
        const int count = as_tensor(o)->dtype == DType::Bool ? a->ndim() : 1;
        if (dim + count > walk->ndim() || !walk->add_entry(dim, count, Ref::borrow(o))) return Outcome::Rare;
        dim += count;
      }
    }
    if (done != Outcome::Done) return done;
  }
  return Outcome::Done;
}

// Follows a key. x[:] is a view of its own when read, x itself when written.
Outcome walk_key(Walk* walk, PyObject* key, bool writing) {
  if (is_int(key)) {
    int64_t index;
    if (read_int(key, &index) != Outcome::Done) return Outcome::Error;
    if (walk->ndim() == 0 && index != 0) {
      PyErr_Format(PyExc_IndexError, "index %lld is out of bounds for dimension 0 with size 0", static_cast<long long>(index));
      return Outcome::Error;
    }
    if (walk->ndim() == 0) {
      PyErr_SetString(PyExc_IndexError,
                      "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                      "convert a 0-dim tensor to a number");
      return Outcome::Error;
    }
    return walk->select(0, index, 0);
  }
  if (PySlice_Check(key)) {
    if (walk->ndim() == 0) {
      PyErr_SetString(PyExc_IndexError, "slice() cannot be applied to a 0-dim tensor.");
      return Outcome::Error;
    }
    return walk->slice(0, key, writing);
  }
  if (PyTuple_CheckExact(key)) return walk_tuple(walk, &PyTuple_GET_ITEM(key, 0), PyTuple_GET_SIZE(key));
  if (key == Py_None) return walk->unsqueeze(0);
  if (key == Py_Ellipsis) return Outcome::Done;
  return walk_tuple(walk, &key, 1);
}

// Whether the memory of two tensors may have bytes in common.
bool may_share_memory(const Tensor* a, const Tensor* b) {
  const char *al, *ah, *bl, *bh;
  extent(a, &al, &ah);
  extent(b, &bl, &bh);
  return al < bh && bl < ah;
}

int wants_recording(Tensor* self, bool* recording) {
  *recording = grad_enabled() && requires_grad(self) && !(self->flags & kInference);
  return 0;
}

PyObject* leave_to(const Callback& callback, PyObject* self, PyObject* key, PyObject* value) {
  note_path(Path::Composite);
  PyObject* result;
  // Keys and values of other classes are rare ones; of another `self`, all were asked at once.
  if (is_plain(self) && subscript_overridden(self, key, value, &result)) return result;
  PyObject* f = callback.get();
  if (!f) return nullptr;
  PyObject* args[] = {self, key, value};
  return PyObject_Vectorcall(f, args, value ? 3 : 2, nullptr);
}

// A Python number as a tensor without dimensions.
Outcome number_tensor(PyObject* value, DType dtype, DeviceType device, Ref* tensor) {
  Cell cell;
  if (!read_cell(value, dtype, &cell)) return Outcome::Rare;
  const bool there = is_accelerator(device);
  Tensor* t = new_tensor(dtype, 0, nullptr, there ? DeviceType::Cpu : device);
  if (!t) return Outcome::Error;
  *tensor = Ref(as_object(t));
  if (t->device() == DeviceType::Cpu) memcpy(t->data(), &cell, item_size(dtype));
  if (recording()) record_constant(t);
  if (there) *tensor = Ref(as_object(copy_to(t, device)));
  if (!*tensor) return Outcome::Error;
  return Outcome::Done;
}

// x[key] = value where the key has tensors.
Outcome assign_places(Tensor* self, Walk* walk, PyObject* value) {
  Ref number;
  if (!is_tensor(value)) {
    const Outcome read = number_tensor(value, self->dtype, self->device(), &number);
    if (read != Outcome::Done) return read;
    value = number.get();
  }
  Tensor* t = as_tensor(value);
  if (t->dtype != self->dtype || (t->ndim() && t->size(0) == 1)) return Outcome::Rare;
  Ref apart;
  if (walk->is_mask() && t->numel() == 1 && may_share_memory(t, self)) {
    // Under a mask one value is read before it is written; elsewhere, a value in the written memory is refused.
    PyObject* clone = callbacks.clone.get();
    apart = Ref(clone ? PyObject_CallOneArg(clone, value) : nullptr);
    if (!(value = apart.get())) return Outcome::Error;
  }
  Place place;
  const Outcome done = walk->place(&place);
  if (done != Outcome::Done) return done;
  Ref target(walk->changed() ? walk->finish() : Py_NewRef(as_object(self)));
  if (!target) return Outcome::Error;
  PyObject* slots[kMaxParams] = {target.get(), place.index.get(), place.dims.get(), place.at.get(), value, Py_False};
  Ref written(run_in_place(ops.index_put_, slots));
  return written ? Outcome::Done : Outcome::Error;
}

// set_subscript(select, slice, unsqueeze, alias, index, index_put_, fill_, copy_): the ops that subscripts are made of.
PyObject* set_subscript(PyObject*, PyObject* const* args, Py_ssize_t n) {
  Op** const targets[] = {&ops.select, &ops.slice, &ops.unsqueeze, &ops.alias, &ops.index, &ops.index_put_, &ops.fill_, &ops.copy_};
  if (n != 8) {
    PyErr_SetString(PyExc_TypeError, "set_subscript() takes eight ops");
    return nullptr;
  }
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (Py_TYPE(args[i]) != OpType) {
      PyErr_SetString(PyExc_TypeError, "expected an Op");
      return nullptr;
    }
  }
  if (!ops.zero) {
    ops.zero = PyLong_FromLong(0);
    ops.first_dim = ops.zero ? PyTuple_Pack(1, ops.zero) : nullptr;
    if (!ops.first_dim) {
      Py_CLEAR(ops.zero);
      return nullptr;
    }
  }
  for (Py_ssize_t i = 0; i < n; ++i) {
    Op* old = *targets[i];
    *targets[i] = reinterpret_cast<Op*>(Py_NewRef(args[i]));
    Py_XDECREF(old);
  }
  Py_RETURN_NONE;
}

PyObject* get_subscript(PyObject* self, PyObject* key) {
  Tensor* t = as_tensor(self);
  if (!ops.select && !callbacks.getitem.get()) return nullptr;  // the first subscript reads the file that has the ops
  if (wrapped_bits(t)) return leave_to(callbacks.getitem, self, key, nullptr);
  if (Py_TYPE(key) == TensorType) {
    Tensor* index = as_tensor(key);
    if (index->dtype == DType::I64 && index->ndim() && t->ndim() && !wrapped_bits(index) && !(index->flags & kLazy)) {
      PyObject* slots[kMaxParams] = {self, key, ops.first_dim, ops.zero};
      note_path(Path::Composite);
      return call_op(ops.index, slots);
    }
  }
  bool recording;
  if (wants_recording(t, &recording) < 0) return nullptr;
  Walk walk(t, recording);
  Outcome done = walk_key(&walk, key, false);
  if (done == Outcome::Done && walk.has_entries()) {
    Place place;
    done = walk.place(&place);
    if (done == Outcome::Done) {
      Ref view(walk.changed() ? walk.finish() : Py_NewRef(self));
      PyObject* slots[kMaxParams] = {view.get(), place.index.get(), place.dims.get(), place.at.get()};
      note_path(Path::Composite);
      return view ? call_op(ops.index, slots) : nullptr;
    }
  } else if (done == Outcome::Done) {
    if (!walk.changed()) done = walk.alias();
    if (done == Outcome::Done) return walk.finish();
  }
  return done == Outcome::Error ? nullptr : leave_to(callbacks.getitem, self, key, nullptr);
}

int assign_subscript(PyObject* self, PyObject* key, PyObject* value) {
  Tensor* t = as_tensor(self);
  if (!ops.select && !callbacks.getitem.get()) return -1;
  bool number = PyFloat_Check(value) || PyLong_Check(value);
  if (number && PyLong_Check(value)) {
    int overflow;
    PyLong_AsLongLongAndOverflow(value, &overflow);
    number = !overflow;
  }
  if (!wrapped_bits(t) && (number || Py_TYPE(value) == TensorType)) {
    bool recording;
    if (wants_recording(t, &recording) < 0) return -1;
    Walk walk(t, recording);
    Outcome done = walk_key(&walk, key, true);
    if (tls.derivative && done == Outcome::Done && !walk.has_entries()) {
      if (!kCopy || check_captured(t, kCopy, nullptr) < 0) return -1;
    }
    if (done == Outcome::Done && walk.has_entries()) {
      done = assign_places(t, &walk, value);
      note_path(Path::Composite);
      if (done == Outcome::Done) return 0;
    } else if (done == Outcome::Done && number && !recording) {
      done = walk.fill(value, t->dtype);
      note_path(Path::Kernel);
      if (done == Outcome::Done) return 0;
      if (done == Outcome::Rare) done = Outcome::Done;
    }
    if (done == Outcome::Error) return -1;
    // A number written to all of x is rare. So are halves: what is too large becomes inf.
    if (done == Outcome::Done && !(number && (!walk.changed() || item_size(t->dtype) == 2))) {
      Ref recorded;  // a number, as torch records it: as a tensor
      if (number && recording && number_tensor(value, t->dtype, t->device(), &recorded) == Outcome::Error) return -1;
      if (recorded) value = recorded.get();
      Ref target(walk.changed() ? walk.finish() : Py_NewRef(self));
      if (!target) return -1;
      Tensor* place = as_tensor(target.get());
      bool fill = number;
      Ref source = Ref::borrow(value);
      if (!number) {
        Tensor* from = as_tensor(value);
        fill = from->ndim() == 0 && place->ndim() != 0;
        if (!fill && !same_shape(from, place)) {
          PyObject* spread = callbacks.spread_to.get();
          PyObject* args[] = {value, target.get()};
          source = Ref(spread ? PyObject_Vectorcall(spread, args, 2, nullptr) : nullptr);
          if (!source) return -1;
        }
      } else if (check_in_place(as_tensor(target.get()), recording) < 0) {
        return -1;  // as torch: a number is a copied tensor here, so memory that overlaps itself is refused
      }
      note_path(Path::Composite);
      Ref written(call_op(fill ? ops.fill_ : ops.copy_, target.get(), source.get()));
      return written ? 0 : -1;
    }
    if (done == Outcome::Done && number && !walk.changed() && check_in_place(t, recording) < 0) return -1;
  }
  Ref rare(leave_to(callbacks.setitem, self, key, value));
  return rare ? 0 : -1;
}

}  // namespace

PyObject* tensor_subscript(PyObject* self, PyObject* key) {
  PyObject* taken;
  if (!is_plain(self) && subscript_overridden(self, key, nullptr, &taken)) return taken;
  if (!observed()) return get_subscript(self, key);
  ObservedWork work;
  return work.begin("getitem", self, key) ? work.end(get_subscript(self, key)) : nullptr;
}

int tensor_assign(PyObject* self, PyObject* key, PyObject* value) {
  if (!value) {
    PyErr_SetString(PyExc_TypeError, "Tensor does not support deleting items");
    return -1;
  }
  PyObject* taken;
  if (!is_plain(self) && subscript_overridden(self, key, value, &taken)) {
    Py_XDECREF(taken);
    return taken ? 0 : -1;
  }
  if (!observed()) return assign_subscript(self, key, value);
  ObservedWork work;
  if (!work.begin("setitem", self, key, value)) return -1;
  const Ref done(work.end(assign_subscript(self, key, value) < 0 ? nullptr : Py_NewRef(Py_None)));
  return done ? 0 : -1;
}

PyMethodDef kSubscriptMethods[] = {
    {"set_subscript", method_of<set_subscript>(), METH_FASTCALL, "The ops that subscripts are made of."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace rushlight
