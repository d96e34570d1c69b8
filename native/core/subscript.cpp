// x[key] and x[key] = value for the keys of every day: ints, slices, None, Ellipsis and tuples of them, and one int64 tensor.
// All other keys, and everything that is rare about these, are left to src/rushlight/ops/indexing.py, which says the same in
// Python (callbacks "getitem" and "setitem").
//
// A view is recorded as torch does: one node a step (select, slice, unsqueeze), in the order of the key; x[...] is an alias.
#include "core/core.h"

namespace rushlight {

namespace {

struct Subscript {
  Op *select, *slice, *unsqueeze, *alias, *index, *fill_, *copy_;
  PyObject *first_dim, *zero;  // the tuple (0,) and 0
};
Subscript ops = {};

enum class Outcome { Error, Done, Rare };

// The view so far. While nothing is recorded, only shape and place change; the tensor is made at the end.
class Walk {
 public:
  Walk(Tensor* source, bool recording) : source_(source), recording_(recording) {
    PyArrayObject* a = source->array;
    ndim_ = PyArray_NDIM(a);
    data_ = PyArray_BYTES(a);
    for (int i = 0; i < ndim_; ++i) {
      dims_[i] = PyArray_DIM(a, i);
      strides_[i] = PyArray_STRIDE(a, i);
    }
  }

  int ndim() const { return ndim_; }
  bool changed() const { return changed_; }

  // `place`: the position in the key, which torch's message names.
  Outcome select(int dim, Py_ssize_t index, Py_ssize_t place) {
    if (dim >= ndim_) return dimension_error(dim);
    const npy_intp size = dims_[dim];
    if (index < -size || index >= size) {
      PyErr_Format(PyExc_IndexError, "index %zd is out of bounds for dimension %zd with size %zd", index, place, size);
      return Outcome::Error;
    }
    if (index < 0) index += size;
    data_ += index * strides_[dim];
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
    const npy_intp size = dims_[dim];
    if (skip_full && start == 0 && stop >= size && by == 1) return Outcome::Done;
    if (start < 0) start += size;
    if (stop < 0) stop += size;
    start = start < 0 ? 0 : start > size ? size : start;
    stop = stop < start ? start : stop > size ? size : stop;
    const npy_intp count = stop > start ? (stop - start - 1) / by + 1 : 0;
    data_ += start * strides_[dim];
    dims_[dim] = count;
    // A stride that nothing follows need not fit.
    if (count > 1 || by < 1 << 24) strides_[dim] *= by;
    const Py_ssize_t arguments[] = {dim, start, stop, by};
    return step(ops.slice, arguments, 4);
  }

  Outcome unsqueeze(int dim) {
    if (dim > ndim_) return dimension_error(dim);
    if (ndim_ == NPY_MAXDIMS) return Outcome::Rare;
    const npy_intp stride = dim < ndim_ ? dims_[dim] * strides_[dim] : PyArray_ITEMSIZE(source_->array);
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

  // The view: a new reference.
  PyObject* finish() {
    if (current_) return current_.release();
    return as_object(wrap_view(array(), source_));
  }

 private:
  Outcome dimension_error(int dim) {
    const int n = ndim_ > 0 ? ndim_ : 1;
    PyErr_Format(PyExc_IndexError, "Dimension out of range (expected to be in range of [%d, %d], but got %d)", -n, n - 1, dim);
    return Outcome::Error;
  }

  PyArrayObject* array() {
    PyArrayObject* a = source_->array;
    PyArray_Descr* descr = PyArray_DESCR(a);
    Py_INCREF(descr);
    PyArrayObject* view = as_array(PyArray_NewFromDescr(&PyArray_Type, descr, ndim_, dims_, strides_, data_,
                                                        PyArray_FLAGS(a) & NPY_ARRAY_WRITEABLE, nullptr));
    if (!view) return nullptr;
    Py_INCREF(a);
    if (PyArray_SetBaseObject(view, as_object(a)) < 0) {
      Py_DECREF(view);
      return nullptr;
    }
    return view;
  }

  Outcome step(Op* op, const Py_ssize_t* arguments, int n) {
    changed_ = true;
    if (!recording_) return Outcome::Done;
    Tensor* before = current_ ? as_tensor(current_.get()) : source_;
    Ref view(as_object(wrap_view(array(), before)));
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
  bool recording_;
  bool changed_ = false;
  int ndim_;
  char* data_;
  Ref current_;
  npy_intp dims_[NPY_MAXDIMS], strides_[NPY_MAXDIMS];
};

bool is_int(PyObject* o) { return PyLong_Check(o) && !PyBool_Check(o); }

Outcome read_int(PyObject* o, Py_ssize_t* value) {
  *value = PyLong_AsSsize_t(o);
  if (*value == -1 && PyErr_Occurred()) {
    PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
    return Outcome::Error;
  }
  return Outcome::Done;
}

Outcome walk_tuple(Walk* walk, PyObject* key) {
  const Py_ssize_t n = PyTuple_GET_SIZE(key);
  int specified = 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* o = PyTuple_GET_ITEM(key, i);
    if (is_int(o) || PySlice_Check(o)) ++specified;
    else if (o != Py_None && o != Py_Ellipsis) return Outcome::Rare;
  }
  const int ndim = walk->ndim();
  if (specified > ndim) {
    PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d", ndim);
    return Outcome::Error;
  }
  int dim = 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* o = PyTuple_GET_ITEM(key, i);
    Outcome done;
    if (PySlice_Check(o)) {
      done = walk->slice(dim++, o, true);
    } else if (o == Py_Ellipsis) {
      dim += ndim - specified;
      continue;
    } else if (o == Py_None) {
      done = walk->unsqueeze(dim++);
    } else {
      Py_ssize_t index;
      done = read_int(o, &index);
      if (done == Outcome::Done) done = walk->select(dim, index, i);
    }
    if (done != Outcome::Done) return done;
  }
  return Outcome::Done;
}

// Follows a key. x[:] is a view of its own when read, x itself when written.
Outcome walk_key(Walk* walk, PyObject* key, bool writing) {
  if (is_int(key)) {
    Py_ssize_t index;
    if (read_int(key, &index) != Outcome::Done) return Outcome::Error;
    if (walk->ndim() == 0) {
      PyErr_SetString(PyExc_IndexError,
                      "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
                      "0-dim tensor to a number");
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
  if (PyTuple_CheckExact(key)) return walk_tuple(walk, key);
  if (key == Py_None) return walk->unsqueeze(0);
  if (key == Py_Ellipsis) return Outcome::Done;
  return Outcome::Rare;
}

int wants_recording(Tensor* self, bool* recording) {
  Node* node;
  if (current_grad_fn(self, &node) < 0) return -1;
  *recording = grad_enabled() && requires_grad(self);
  return 0;
}

PyObject* leave_to(const char* name, PyObject* self, PyObject* key, PyObject* value) {
  PyObject* f = callback(name);
  if (!f) return nullptr;
  PyObject* args[] = {self, key, value};
  return PyObject_Vectorcall(f, args, value ? 3 : 2, nullptr);
}

// Whether `value` can be written to `target` as it is: broadcast, but with no more dimensions.
bool broadcasts_into(PyArrayObject* value, PyArrayObject* target) {
  const int n = PyArray_NDIM(value), more = PyArray_NDIM(target) - n;
  if (more < 0) return false;
  for (int i = 0; i < n; ++i) {
    const npy_intp size = PyArray_DIM(value, i);
    if (size != 1 && size != PyArray_DIM(target, i + more)) return false;
  }
  return true;
}

// set_subscript(select, slice, unsqueeze, alias, index, fill_, copy_): the ops that subscripts are made of.
PyObject* set_subscript(PyObject*, PyObject* const* args, Py_ssize_t n) {
  Op** const targets[] = {&ops.select, &ops.slice, &ops.unsqueeze, &ops.alias, &ops.index, &ops.fill_, &ops.copy_};
  if (n != 7) {
    PyErr_SetString(PyExc_TypeError, "set_subscript() takes seven ops");
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

}  // namespace

PyObject* tensor_subscript(PyObject* self, PyObject* key) {
  Tensor* t = as_tensor(self);
  if ((t->flags & kWatched) || !ops.select) return leave_to("getitem", self, key, nullptr);
  if (Py_TYPE(key) == TensorType) {
    Tensor* index = as_tensor(key);
    if (index->dtype != DType::I64 || PyArray_NDIM(index->array) == 0 || PyArray_NDIM(t->array) == 0 ||
        (index->flags & kWatched)) {
      return leave_to("getitem", self, key, nullptr);
    }
    PyObject* slots[kMaxParams] = {self, key, ops.first_dim, ops.zero};
    return call_op(ops.index, slots);
  }
  bool recording;
  if (wants_recording(t, &recording) < 0) return nullptr;
  Walk walk(t, recording);
  Outcome done = walk_key(&walk, key, false);
  if (done == Outcome::Done && !walk.changed()) done = walk.alias();
  if (done == Outcome::Done) return walk.finish();
  return done == Outcome::Error ? nullptr : leave_to("getitem", self, key, nullptr);
}

int tensor_assign(PyObject* self, PyObject* key, PyObject* value) {
  if (!value) {
    PyErr_SetString(PyExc_TypeError, "Tensor does not support deleting items");
    return -1;
  }
  Tensor* t = as_tensor(self);
  bool number = PyFloat_Check(value) || PyLong_Check(value);
  if (number && PyLong_Check(value)) {
    int overflow;
    PyLong_AsLongLongAndOverflow(value, &overflow);
    number = !overflow;
  }
  if (!(t->flags & kWatched) && ops.select && (number || Py_TYPE(value) == TensorType)) {
    bool recording;
    if (wants_recording(t, &recording) < 0) return -1;
    Walk walk(t, recording);
    const Outcome done = walk_key(&walk, key, true);
    if (done == Outcome::Error) return -1;
    // A number written to all of x is rare: torch records it as a tensor. So are halves: what is too large becomes inf.
    if (done == Outcome::Done && !(number && (!walk.changed() || item_size(t->dtype) == 2))) {
      Ref target(walk.changed() ? walk.finish() : Py_NewRef(self));
      if (!target) return -1;
      PyArrayObject* place = as_tensor(target.get())->array;
      bool fill = number;
      if (!number) {
        PyArrayObject* from = as_tensor(value)->array;
        if (!broadcasts_into(from, place)) {
          Ref rare(leave_to("setitem", self, key, value));
          return rare ? 0 : -1;
        }
        fill = PyArray_NDIM(from) == 0 && PyArray_NDIM(place) != 0;
      }
      Ref written(call_op(fill ? ops.fill_ : ops.copy_, target.get(), value));
      return written ? 0 : -1;
    }
  }
  Ref rare(leave_to("setitem", self, key, value));
  return rare ? 0 : -1;
}

PyMethodDef kSubscriptMethods[] = {
    {"set_subscript", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)(void)>(set_subscript)), METH_FASTCALL,
     "The ops that subscripts are made of."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace rushlight
