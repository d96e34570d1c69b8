// UntypedStorage, and tensors placed in one by hand (`set_`, `resize_`). A storage knows its Python
// object, so that `t.untyped_storage() is t.untyped_storage()`; the pointer is weak, and a storage
// outlives its object. src/rushlight/storage.py attaches text, pickling, conversions.
#include "core/capture.h"
#include "core/untyped_storage.h"
#include "core/guard.h"

#include <structmember.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/accelerator.h"
#include "core/layout.h"
#include "memory/allocator.h"

namespace rushlight {

namespace {

struct UntypedStorage {
  PyObject_HEAD Storage* storage;  // strong
  PyObject* dict;
  PyObject* weakrefs;
};

PyTypeObject* UntypedStorageType = nullptr;

UntypedStorage* as_untyped(PyObject* o) { return reinterpret_cast<UntypedStorage*>(o); }
Storage* storage_in(PyObject* o) { return as_untyped(o)->storage; }
bool is_untyped(PyObject* o) { return PyObject_TypeCheck(o, UntypedStorageType); }

// Takes over `s`, also on failure.
PyObject* new_object(PyTypeObject* type, Storage* s) {
  if (!s) return nullptr;
  PyObject* o = type->tp_alloc(type, 0);  // zeroed and tracked
  if (!o) {
    drop(s);
    return nullptr;
  }
  allow_weak(o);
  as_untyped(o)->storage = s;
  s->object = o;
  return o;
}

// The Python object of a storage, a new reference; a new object where the old object is in its
// deallocation (weak references are told before the object lets go of the storage).
PyObject* object_of(Storage* s) {
  if (s->object && try_hold(s->object)) return s->object;
  return new_object(UntypedStorageType, hold(s));
}

void untyped_dealloc(PyObject* self) {
  UntypedStorage* u = as_untyped(self);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (u->storage && u->storage->object == self) u->storage->object = nullptr;
  if (u->weakrefs) PyObject_ClearWeakRefs(self);
  Py_CLEAR(u->dict);
  drop(std::exchange(u->storage, nullptr));
  type->tp_free(self);
  Py_DECREF(type);
}

int untyped_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_untyped(self)->dict);
  return 0;
}

int untyped_clear(PyObject* self) {
  Py_CLEAR(as_untyped(self)->dict);
  return 0;
}

// ---------------------------------------------------------------- bytes

int check_bytes(const Storage* s, bool write) {
  ends_capture("reads or writes the bytes of a storage");
  if (s->device != DeviceType::Cpu) {
    PyErr_Format(PyExc_NotImplementedError, "Not available for '%s' device type", device_name(s->device));
    return -1;
  }
  if (write && s->flags & Storage::kReadOnly) {
    PyErr_SetString(PyExc_RuntimeError, "cannot write in place: the memory of this storage is read-only. Please clone() it first.");
    return -1;
  }
  return 0;
}

// A size in bytes, of an int. -1 with torch's exception.
Py_ssize_t read_nbytes(PyObject* o) {
  const Py_ssize_t n = size_argument(o);
  if (n == -1 && PyErr_Occurred()) return -1;
  if (n < 0) {
    PyErr_Format(PyExc_RuntimeError,
                 "[enforce fail at alloc_cpu.cpp:98] ((ptrdiff_t)nbytes) >= 0. alloc_cpu() seems to have been called with negative "
                 "number: %zu",
                 static_cast<size_t>(n));
    return -1;
  }
  return n;
}

// The low eight bits of an int.
int read_byte(PyObject* o, char* value) {
  const unsigned long long bits = PyLong_AsUnsignedLongLongMask(o);
  if (bits == static_cast<unsigned long long>(-1) && PyErr_Occurred()) return -1;
  *value = static_cast<char>(bits);
  return 0;
}

Storage* storage_of_bytes(PyObject* sequence) {
  const Ref items(PySequence_Tuple(sequence));
  if (!items) return nullptr;
  const Py_ssize_t n = PyTuple_GET_SIZE(items.get());
  Storage* s = new_storage(static_cast<size_t>(n));
  for (Py_ssize_t i = 0; s && i < n; ++i) {
    PyObject* item = PyTuple_GET_ITEM(items.get(), i);
    if (PyLong_Check(item) && read_byte(item, s->data + i) == 0) continue;
    if (!PyErr_Occurred()) {
      PyErr_Format(PyExc_RuntimeError,
                   "torch.UntypedStorage(): tried to construct a storage from a sequence (%s), but one of the items was of type %s "
                   "instead of int",
                   Py_TYPE(sequence)->tp_name, Py_TYPE(item)->tp_name);
    }
    drop(s);
    return nullptr;
  }
  return s;
}

// None is the CPU, whatever the default device is.
int read_device(PyObject* device, DeviceType* type) {
  *type = DeviceType::Cpu;
  if (device == Py_None) return 0;
  PyObject* resolve = callbacks.resolve_device.get();
  const Ref found(resolve ? PyObject_CallOneArg(resolve, device) : nullptr);
  const Ref kind(found ? PyObject_GetAttrString(found.get(), "type") : nullptr);
  if (!kind) return -1;
  if (!PyUnicode_CompareWithASCIIString(kind.get(), device_name(DeviceType::Meta))) {
    *type = DeviceType::Meta;
  } else if (PyUnicode_CompareWithASCIIString(kind.get(), device_name(DeviceType::Cpu))) {
    const Ref index(PyObject_GetAttrString(found.get(), "_accelerator"));
    const long number = index ? PyLong_AsLong(index.get()) : -1;
    if (number == -1 && PyErr_Occurred()) return -1;
    if (number < 0 || number >= kMostAccelerators || !devices::facts_of(static_cast<int>(number))) {
      PyErr_Format(PyExc_RuntimeError, "torch.UntypedStorage(): there is no device %U:%ld", kind.get(), number);
      return -1;
    }
    *type = accelerator_at(static_cast<int>(number));
  }
  return 0;
}

void refuse_arguments(PyObject* args, PyObject* kwargs) {
  std::string given;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i)
    given += std::string(given.empty() ? "" : ", ") + Py_TYPE(PyTuple_GET_ITEM(args, i))->tp_name;
  PyObject *key, *value;
  for (Py_ssize_t at = 0; kwargs && PyDict_Next(kwargs, &at, &key, &value);) {
    const char* name = PyUnicode_AsUTF8(key);
    if (!name) return;
    given += std::string(given.empty() ? "" : ", ") + name + "=" + Py_TYPE(value)->tp_name;
  }
  PyErr_Clear();
  PyErr_Format(PyExc_TypeError,
               "torch.UntypedStorage() received an invalid combination of arguments - got (%s), but expected one of:\n"
               " * (*, int allocator = None, torch.device device = None)\n"
               " * (int size, *, int allocator = None, torch.device device = None)\n"
               " * (object sequence, *, int allocator = None, torch.device device = None)\n",
               given.c_str());
}

PyObject* untyped_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"", "allocator", "device", nullptr};
  PyObject *what = nullptr, *allocator = Py_None, *device = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$OO:UntypedStorage", const_cast<char**>(names), &what, &allocator, &device)) {
    refuse_arguments(args, kwargs);
    return nullptr;
  }
  DeviceType place;
  if (read_device(device, &place) < 0) return nullptr;
  if (!what) return new_object(type, new_storage(0, place));
  if (PyIndex_Check(what)) {
    const Py_ssize_t n = read_nbytes(what);
    return n < 0 ? nullptr : new_object(type, new_storage(static_cast<size_t>(n), place));
  }
  if (!PySequence_Check(what) && !is_untyped(what)) {
    refuse_arguments(args, kwargs);
    return nullptr;
  }
  Storage* filled = storage_of_bytes(what);
  if (!filled || place != DeviceType::Meta) return new_object(type, filled);
  const size_t nbytes = filled->nbytes;
  drop(filled);
  return new_object(type, new_storage(nbytes, place));
}

// Arguments were read by `__new__`.
int untyped_init(PyObject*, PyObject*, PyObject*) { return 0; }

Py_ssize_t untyped_length(PyObject* self) { return static_cast<Py_ssize_t>(storage_in(self)->nbytes); }

// Reads a subscript: one byte or a range of them. 1 for a slice, 0 for a number, -1 with an exception (`other` for the wrong type).
int read_key(PyObject* self, PyObject* key, PyObject* other, Py_ssize_t* start, Py_ssize_t* length) {
  const Py_ssize_t size = untyped_length(self);
  if (PySlice_Check(key)) {
    Py_ssize_t stop, step;
    if (PySlice_Unpack(key, start, &stop, &step) < 0) return -1;
    *length = PySlice_AdjustIndices(untyped_length(self), start, &stop, step);
    if (step == 1) return 1;
    PyErr_Format(PyExc_RuntimeError, "Trying to slice with a step of %zd, but only a step of 1 is supported", step);
    return -1;
  }
  if (!PyLong_Check(key)) {
    PyErr_Format(other, "can't index a torch.UntypedStorage with %s", Py_TYPE(key)->tp_name);
    return -1;
  }
  const Py_ssize_t at = PyLong_AsSsize_t(key);
  if (at == -1 && PyErr_Occurred()) {
    PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
    return -1;
  }
  *start = at < 0 ? at + size : at;
  *length = 1;
  if (*start >= 0 && *start < size) return 0;
  if (other == PyExc_TypeError) PyErr_Format(PyExc_IndexError, "index %zd out of range for storage of size %zd", at, size);
  else PyErr_Format(PyExc_RuntimeError, "out of bounds. Index %zd, of %zd bytes.", at, size);
  return -1;
}

PyObject* untyped_subscript(PyObject* self, PyObject* key) {
  Storage* s = storage_in(self);
  Py_ssize_t start, length;
  if (check_bytes(s, false) < 0) return nullptr;
  const int slice = read_key(self, key, PyExc_TypeError, &start, &length);
  if (slice < 0) return nullptr;
  if (!slice) return PyLong_FromLong(static_cast<unsigned char>(s->data[start]));
  PyObject* pin = new_pin(s);
  if (!pin) return nullptr;
  return new_object(UntypedStorageType,
                    foreign_storage(s->data + start, static_cast<size_t>(length), !(s->flags & Storage::kReadOnly), pin));
}

int untyped_assign(PyObject* self, PyObject* key, PyObject* value) {
  if (!value) {
    PyErr_SetString(PyExc_TypeError, "'torch.storage.UntypedStorage' object doesn't support item deletion");
    return -1;
  }
  Storage* s = storage_in(self);
  Py_ssize_t start, length;
  char byte;
  if (check_bytes(s, true) < 0) return -1;
  if (!PyLong_Check(value)) {
    PyErr_Format(PyExc_RuntimeError, "can only set storage content with a int types, but got %s instead", Py_TYPE(value)->tp_name);
    return -1;
  }
  if (read_byte(value, &byte) < 0 || read_key(self, key, PyExc_RuntimeError, &start, &length) < 0) return -1;
  if (length) std::memset(s->data + start, byte, static_cast<size_t>(length));
  return 0;
}

// ---------------------------------------------------------------- methods

PyObject* untyped_nbytes(PyObject* self, PyObject*) { return PyLong_FromSize_t(storage_in(self)->nbytes); }

PyObject* untyped_data_ptr(PyObject* self, PyObject*) {
  ends_capture("reads a storage's address");
  const Storage* s = storage_in(self);
  return PyLong_FromVoidPtr(s->nbytes ? s->data : nullptr);
}

PyObject* untyped_resizable(PyObject* self, PyObject*) { return PyBool_FromLong(storage_in(self)->is_resizable()); }

PyObject* untyped_resize(PyObject* self, PyObject* size) {
  if (!PyIndex_Check(size)) {
    return PyErr_Format(PyExc_RuntimeError, "resize_ expects an int, but got %s", Py_TYPE(size)->tp_name);
  }
  const Py_ssize_t n = size_argument(size);
  if (n == -1 && PyErr_Occurred()) return nullptr;
  Storage* s = storage_in(self);
  if (!s->is_resizable()) {
    PyErr_SetString(PyExc_RuntimeError, "Trying to resize storage that is not resizable");
    return nullptr;
  }
  const Py_ssize_t nbytes = read_nbytes(size);
  return nbytes < 0 || resize_storage(s, static_cast<size_t>(nbytes)) < 0 ? nullptr : Py_NewRef(self);
}

PyObject* untyped_fill(PyObject* self, PyObject* value) {
  ends_capture("writes the bytes of a storage");
  Storage* s = storage_in(self);
  char byte;
  if (!PyLong_Check(value)) {
    return PyErr_Format(PyExc_RuntimeError, "fill_ expects int, but got %s", Py_TYPE(value)->tp_name);
  }
  if (read_byte(value, &byte) < 0) return nullptr;
  if (s->device == DeviceType::Cpu) {
    if (check_bytes(s, true) < 0) return nullptr;
    if (s->nbytes) std::memset(s->data, byte, s->nbytes);
  } else if (is_accelerator(s->device) && s->nbytes) {
    const std::string bytes(s->nbytes, byte);
    devices::write(*block_of(s), 0, bytes.data(), bytes.size());
  }
  return Py_NewRef(self);
}

// The bytes of a storage to another of its size, one of them on an accelerator.
void copy_bytes_across(Storage* to, Storage* from) {
  const devices::Block* there[] = {is_accelerator(to->device) ? block_of(to) : nullptr,
                                   is_accelerator(from->device) ? block_of(from) : nullptr};
  const size_t n = to->nbytes;
  if (there[0] && there[1] && to->device == from->device) {
    devices::copy(*there[1], 0, *there[0], 0, n);
  } else if (there[0] && there[1]) {
    std::string bytes(n, 0);
    devices::read(*there[1], 0, bytes.data(), n);
    devices::write(*there[0], 0, bytes.data(), n);
  } else if (there[0]) {
    devices::write(*there[0], 0, from->data, n);
  } else {
    devices::read(*there[1], 0, to->data, n);
  }
}

PyObject* untyped_copy(PyObject* self, PyObject* args, PyObject* kwargs) {
  ends_capture("writes the bytes of a storage");
  static const char* names[] = {"src", "non_blocking", nullptr};
  PyObject *src, *non_blocking;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:copy_", const_cast<char**>(names), &src, &non_blocking)) return nullptr;
  if (!is_untyped(src)) {
    return PyErr_Format(PyExc_TypeError, "copy_(): argument 'src' (position 1) must be torch.Storage, not %s",
                        Py_TYPE(src)->tp_name);
  }
  Storage *to = storage_in(self), *from = storage_in(src);
  if (to->nbytes != from->nbytes) {
    return PyErr_Format(PyExc_RuntimeError, "size does not match, self was %zu bytes but src was %zu bytes", to->nbytes,
                        from->nbytes);
  }
  if (to->device == DeviceType::Meta) return Py_NewRef(self);
  if (from->device == DeviceType::Meta) {
    PyErr_SetString(PyExc_NotImplementedError, "Cannot copy out of meta tensor; no data!");
    return nullptr;
  }
  if (to->device == DeviceType::Cpu && check_bytes(to, true) < 0) return nullptr;
  if (to == from || !to->nbytes) return Py_NewRef(self);
  if (is_accelerator(to->device) || is_accelerator(from->device)) copy_bytes_across(to, from);
  else std::memmove(to->data, from->data, to->nbytes);
  return Py_NewRef(self);
}

// _move(buffer[, nbytes]): the bytes go to the memory of an object with a writeable buffer, which
// the storage keeps. The storage then has nbytes bytes: further bytes are the buffer's.
PyObject* untyped_move(PyObject* self, PyObject* args) {
  Storage* s = storage_in(self);
  PyObject* buffer;
  Py_ssize_t nbytes = static_cast<Py_ssize_t>(s->nbytes);
  if (!PyArg_ParseTuple(args, "O|n", &buffer, &nbytes)) return nullptr;
  Ref view(PyMemoryView_FromObject(buffer));
  if (!view) return nullptr;
  const Py_buffer* memory = PyMemoryView_GET_BUFFER(view.get());
  const bool fits = nbytes >= static_cast<Py_ssize_t>(s->nbytes) && nbytes <= memory->len;
  if (s->device != DeviceType::Cpu || memory->readonly || !PyBuffer_IsContiguous(memory, 'C') || !fits) {
    PyErr_SetString(PyExc_ValueError, "_move(): a storage with memory goes to a writeable buffer that is large enough");
    return nullptr;
  }
  char* data = static_cast<char*>(memory->buf);
  if (move_storage(s, data, static_cast<size_t>(memory->len), view.release()) < 0) return nullptr;
  s->nbytes = static_cast<size_t>(nbytes);
  Py_RETURN_NONE;
}

// The object that keeps foreign memory alive; for a memoryview, the object behind the view.
PyObject* get_owner(PyObject* self, void*) {
  PyObject* owner = storage_in(self)->owner;
  if (owner && PyMemoryView_Check(owner)) owner = PyMemoryView_GET_BUFFER(owner)->obj;
  return Py_NewRef(owner ? owner : Py_None);
}

PyObject* untyped_tolist(PyObject* self, PyObject*) {
  const Storage* s = storage_in(self);
  if (check_bytes(s, false) < 0) return nullptr;
  const Ref bytes(PyBytes_FromStringAndSize(s->data, static_cast<Py_ssize_t>(s->nbytes)));
  return bytes ? PySequence_List(bytes.get()) : nullptr;
}

PyObject* untyped_fresh(PyObject*, PyObject*) { return new_object(UntypedStorageType, new_storage(0)); }
PyObject* untyped_element_size(PyObject*, PyObject*) { return PyLong_FromLong(1); }
PyObject* get_cdata(PyObject* self, void*) { return PyLong_FromVoidPtr(storage_in(self)); }
PyObject* get_is_meta(PyObject* self, void*) { return PyBool_FromLong(storage_in(self)->device == DeviceType::Meta); }

PyObject* get_accelerator(PyObject* self, void*) {
  const DeviceType device = storage_in(self)->device;
  if (!is_accelerator(device)) Py_RETURN_NONE;
  return PyLong_FromLong(accelerator_number(device));
}

PyGetSetDef kGetSet[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"_cdata", guarded<get_cdata>, nullptr, "A number that no other storage has while this one lives.", nullptr},
    {"_owner", guarded<get_owner>, nullptr, "Whose memory it is; None where it is the storage's own.", nullptr},
    {"_is_meta", guarded<get_is_meta>, nullptr, "Whether it has a size, but no memory.", nullptr},
    {"_accelerator", guarded<get_accelerator>, nullptr, "The number of the accelerator whose memory it is; else None.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef kMethods[] = {
    {"nbytes", method_of<untyped_nbytes>(), METH_NOARGS, "How many bytes it has."},
    {"size", method_of<untyped_nbytes>(), METH_NOARGS, "How many bytes it has."},
    {"data_ptr", method_of<untyped_data_ptr>(), METH_NOARGS, "The address of its first byte; 0 of none."},
    {"resizable", method_of<untyped_resizable>(), METH_NOARGS,
     "Whether resize_ is allowed: not of memory that NumPy knows of, or that is NumPy's."},
    {"resize_", method_of<untyped_resize>(), METH_O,
     "Another size. New bytes are not set; tensors keep their shapes, and their memory with a smaller one."},
    {"fill_", method_of<untyped_fill>(), METH_O, "Set every byte."},
    {"copy_", method_of<untyped_copy>(), METH_VARARGS | METH_KEYWORDS, "Take over the bytes of another storage of the same size."},
    {"_move", method_of<untyped_move>(), METH_VARARGS, "The bytes go to the memory of a buffer."},
    {"tolist", method_of<untyped_tolist>(), METH_NOARGS, "The bytes as a list of ints."},
    {"new", method_of<untyped_fresh>(), METH_NOARGS, "An empty storage."},
    {"element_size", method_of<untyped_element_size>(), METH_NOARGS, "1: its elements are bytes."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef kMembers[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(UntypedStorage, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(UntypedStorage, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

// ---------------------------------------------------------------- tensors placed in a storage

int read_numbers(PyObject* sequence, Py_ssize_t* numbers, int* n) {
  const Ref items(PySequence_Tuple(sequence));
  if (!items) return -1;
  if (!check_ndim(PyTuple_GET_SIZE(items.get()))) return -1;
  *n = static_cast<int>(PyTuple_GET_SIZE(items.get()));
  for (int i = 0; i < *n; ++i) {
    numbers[i] = size_argument(PyTuple_GET_ITEM(items.get(), i));
    if (numbers[i] == -1 && PyErr_Occurred()) return -1;
  }
  return 0;
}

// A layout that was asked for in elements, and how many bytes its storage must have. `strides` None: row-major. -1 with torch's
// exception.
int read_layout(Py_ssize_t item, PyObject* sizes, PyObject* strides, Py_ssize_t first, Layout* l, size_t* needed) {
  Py_ssize_t steps[kMaxDims], numel = 1, reach = 0;
  if (read_numbers(sizes, l->shape, &l->ndim) < 0) return -1;
  bool empty = false, fits = true;
  for (int i = 0; i < l->ndim; ++i) {
    empty |= l->shape[i] == 0;
    fits &= l->shape[i] >= 0 && !__builtin_mul_overflow(numel, l->shape[i] ? l->shape[i] : 1, &numel);
  }
  if (!fits && empty) {
    PyErr_SetString(PyExc_RuntimeError, "Stride calculation overflowed");
    return -1;
  }
  if (!fits) {
    PyErr_Format(PyExc_RuntimeError, "numel: integer multiplication overflow. The sizes are %s.",
                 sizes_text(l->shape, l->ndim).c_str());
    return -1;
  }
  if (first < 0) {
    PyErr_Format(PyExc_RuntimeError, "Tensor: invalid storage offset %zd", first);
    return -1;
  }
  if (strides == Py_None) {
    fits = contiguous_strides(l->ndim, l->shape, item, l->strides, &numel);
    for (int i = 0; i < l->ndim; ++i) steps[i] = l->strides[i] / item;
  } else {
    int n;
    if (read_numbers(strides, steps, &n) < 0) return -1;
    if (n != l->ndim) {
      PyErr_Format(PyExc_RuntimeError, "unequal size length (%d) and stride length (%d)", l->ndim, n);
      return -1;
    }
  }
  for (int i = 0; i < l->ndim; ++i) {
    Py_ssize_t far = 0;
    l->strides[i] = times(steps[i], item);
    if (l->shape[i] > 1)
      fits &= steps[i] >= 0 && !__builtin_mul_overflow(steps[i], l->shape[i] - 1, &far) &&
              !__builtin_add_overflow(reach, far, &reach);
  }
  fits &= !__builtin_add_overflow(reach, first, &reach) && reach < PY_SSIZE_T_MAX / item - 1;
  if (!fits && !empty) {
    const std::string with = strides == Py_None ? "" : " and strides=" + sizes_text(steps, l->ndim);
    PyErr_Format(PyExc_RuntimeError, "Storage size calculation overflowed with sizes=%s%s", sizes_text(l->shape, l->ndim).c_str(),
                 with.c_str());
    return -1;
  }
  l->offset = times(first, item);
  *needed = empty ? 0 : static_cast<size_t>((reach + 1) * item);
  return 0;
}

// storage_of(tensor): what stands for its memory.
PyObject* storage_of_function(PyObject*, PyObject* o) {
  if (!is_tensor(o)) {
    PyErr_SetString(PyExc_TypeError, "storage_of(tensor)");
    return nullptr;
  }
  return object_of(as_tensor(o)->storage());
}

// Says of a tensor's memory that it is pinned.
PyObject* pin(PyObject*, PyObject* o) {
  if (!is_tensor(o)) {
    PyErr_SetString(PyExc_TypeError, "pin(tensor)");
    return nullptr;
  }
  as_tensor(o)->storage()->flags |= Storage::kPinned;
  return Py_NewRef(o);
}

// is_pinned(tensor or storage)
PyObject* is_pinned(PyObject*, PyObject* o) {
  if (!is_tensor(o) && !PyObject_TypeCheck(o, UntypedStorageType)) {
    PyErr_SetString(PyExc_TypeError, "is_pinned(tensor or storage)");
    return nullptr;
  }
  const Storage* s = is_tensor(o) ? as_tensor(o)->storage() : storage_in(o);
  return PyBool_FromLong(s && s->flags & Storage::kPinned);
}

// place(storage, dtype, sizes, strides, offset): a tensor at a place inside the storage.
PyObject* place(PyObject*, PyObject* args) {
  PyObject *storage, *dtype, *sizes, *strides;
  Py_ssize_t first;
  if (!PyArg_ParseTuple(args, "O!OOOn", UntypedStorageType, &storage, &dtype, &sizes, &strides, &first)) return nullptr;
  const DType type = dtype_from(dtype);
  Layout l;
  size_t needed;
  if (type == DType::Count || read_layout(item_size(type), sizes, strides, first, &l, &needed) < 0) return nullptr;
  Storage* s = storage_in(storage);
  if (needed > s->nbytes) {
    return PyErr_Format(
        PyExc_RuntimeError,
        "setStorage: sizes %s, storage offset %zd, and itemsize %zd requiring a storage size of %zu are out of bounds for "
        "storage of size %zu",
        sizes_text(l.shape, l.ndim).c_str(), first, item_size(type), needed, s->nbytes);
  }
  return as_object(new_on_storage(hold(s), type, l.ndim, l.shape, l.strides, l.offset));
}

// take_place(tensor, storage, sizes, strides, offset): moves a tensor there; a storage that is too small grows.
PyObject* take_place(PyObject*, PyObject* args) {
  PyObject *o, *storage, *sizes, *strides;
  Py_ssize_t first;
  if (!PyArg_ParseTuple(args, "O!O!OOn", TensorType, &o, UntypedStorageType, &storage, &sizes, &strides, &first)) return nullptr;
  Tensor* t = as_tensor(o);
  Storage* s = storage_in(storage);
  if (s->device != t->device()) {
    PyErr_Format(PyExc_RuntimeError,
                 "Attempted to set the storage of a tensor on device \"%s\" to a storage on different device \"%s\".  This is no "
                 "longer allowed; the devices must match.",
                 device_name(t->device()), device_name(s->device));
    return nullptr;
  }
  Layout l;
  size_t needed;
  if (read_layout(t->item(), sizes, strides, first, &l, &needed) < 0) return nullptr;
  if (needed > s->nbytes && resize_storage(s, needed) < 0) return nullptr;
  if (set_layout(t, hold(s), t->dtype, l.ndim, l.shape, l.strides, l.offset) < 0) return nullptr;
  Py_RETURN_NONE;
}

// ---------------------------------------------------------------- the allocator

PyObject* memory_stats(PyObject*, PyObject*) {
  const memory::Stats s = memory::stats();
  return Py_BuildValue("(nnn)", static_cast<Py_ssize_t>(s.allocated), static_cast<Py_ssize_t>(s.reserved),
                       static_cast<Py_ssize_t>(s.peak));
}

PyObject* memory_reset_peak(PyObject*, PyObject*) {
  memory::reset_peak();
  Py_RETURN_NONE;
}

PyObject* memory_empty_cache(PyObject*, PyObject*) {
  memory::empty_cache();
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef kStorageFunctions[] = {
    {"storage_of", method_of<storage_of_function>(), METH_O, "What stands for the memory of a tensor."},
    {"pin", method_of<pin>(), METH_O, "Says of a tensor's memory that it is pinned; the tensor."},
    {"is_pinned", method_of<is_pinned>(), METH_O, "Whether the memory of a tensor, or a storage, is pinned."},
    {"place", method_of<place>(), METH_VARARGS, "A tensor at a place of a storage."},
    {"take_place", method_of<take_place>(), METH_VARARGS, "Moves a tensor to a place of a storage."},
    {"memory_stats", method_of<memory_stats>(), METH_NOARGS, "Bytes in use, in use or kept, and the most in use."},
    {"memory_reset_peak", method_of<memory_reset_peak>(), METH_NOARGS, "Counts the most in use from now on."},
    {"memory_empty_cache", method_of<memory_empty_cache>(), METH_NOARGS, "Gives memory that is kept to the system."},
    {nullptr, nullptr, 0, nullptr},
};

int init_untyped_storage(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("The memory of tensors, as bytes.")},
      {Py_tp_new, slot_of<untyped_new>()},
      {Py_tp_init, slot_of<untyped_init>()},
      {Py_tp_dealloc, slot_of<untyped_dealloc>()},
      {Py_tp_traverse, slot_of<untyped_traverse>()},
      {Py_tp_clear, slot_of<untyped_clear>()},
      {Py_tp_getset, kGetSet},
      {Py_tp_methods, kMethods},
      {Py_tp_members, kMembers},
      {Py_mp_length, slot_of<untyped_length>()},
      {Py_mp_subscript, slot_of<untyped_subscript>()},
      {Py_mp_ass_subscript, slot_of<untyped_assign>()},
      {0, nullptr},
  };
  PyType_Spec spec = {"torch.storage.UntypedStorage", sizeof(UntypedStorage), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  UntypedStorageType = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
  return UntypedStorageType ? PyModule_AddObjectRef(module, "UntypedStorage", as_object(UntypedStorageType)) : -1;
}

}  // namespace rushlight
