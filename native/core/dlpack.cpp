// DLPack (https://dmlc.github.io/dlpack): tensors handed to other libraries, and taken from them, without a copy. The structs are the
// public layout of the protocol, 1.0 ("dltensor_versioned") and what came before ("dltensor").
//
// An exported tensor pins its storage until the consumer calls the deleter, on whatever thread that is; an imported one keeps the
// producer's struct, and calls its deleter when nobody shows the memory any more.
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "core/layout.h"
#include "core/guard.h"
#include "core/lazy.h"
#include "core/untyped_storage.h"

namespace rushlight {

namespace {

struct DLDevice {
  int32_t type;
  int32_t id;
};
struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements, or nullptr: row-major
  uint64_t byte_offset;
};

struct Unversioned {
  static constexpr const char *kName = "dltensor", *kUsed = "used_dltensor";
  DLTensor tensor;
  void* context;
  void (*deleter)(Unversioned*);
};
struct Versioned {
  static constexpr const char *kName = "dltensor_versioned", *kUsed = "used_dltensor_versioned";
  static constexpr uint32_t kMajor = 1, kMinor = 0;
  static constexpr uint64_t kReadOnly = 1, kCopied = 2;
  uint32_t major, minor;
  void* context;
  void (*deleter)(Versioned*);
  uint64_t flags;
  DLTensor tensor;
};

enum Code : uint8_t { kInt, kUInt, kFloat, kOpaque, kBfloat, kComplex, kBool, kFloat8 };  // kFloat8: the first of its family
constexpr int32_t kCpu = 1, kCudaHost = 3;

constexpr DLDataType kTypes[] = {  // in the order of DType
    {kBool, 8, 1},       {kUInt, 8, 1},       {kInt, 8, 1},     {kInt, 16, 1},       {kInt, 32, 1},       {kInt, 64, 1},
    {kFloat, 16, 1},     {kBfloat, 16, 1},    {kFloat, 32, 1},  {kFloat, 64, 1},     {kComplex, 64, 1},   {kComplex, 128, 1},
    {kUInt, 16, 1},      {kUInt, 32, 1},      {kUInt, 64, 1},   {kFloat8 + 3, 8, 1}, {kFloat8 + 4, 8, 1}, {kFloat8 + 5, 8, 1},
    {kFloat8 + 6, 8, 1}, {kFloat8 + 7, 8, 1}, {kComplex, 32, 1}};
static_assert(std::size(kTypes) == static_cast<size_t>(DType::Count));

// ---------------------------------------------------------------- export

template <class Managed>
struct Exported {
  Managed managed;  // first: the consumer knows its address only
  PyObject* pin;
  int64_t dims[2 * kMaxDims];
};

template <class Managed>
void release(Managed* managed) {
  auto* exported = reinterpret_cast<Exported<Managed>*>(managed);
  if (Py_IsInitialized()) {
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(exported->pin);
    PyGILState_Release(state);
  }
  delete exported;
}

// Of a capsule that nobody consumed.
template <class Managed>
void drop_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, Managed::kName)) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Managed::kName));
  managed->deleter(managed);
}

template <class Managed>
PyObject* export_tensor(const Tensor* t, uint64_t flags) {
  auto* exported = new (std::nothrow) Exported<Managed>{};
  PyObject* pin = exported ? new_pin(t->storage()) : PyErr_NoMemory();
  if (!pin) {
    delete exported;
    return nullptr;
  }
  exported->pin = pin;
  int64_t* strides = exported->dims + t->ndim();
  for (int i = 0; i < t->ndim(); ++i) {
    exported->dims[i] = t->size(i);
    strides[i] = t->stride(i) / t->item();
  }
  Managed& managed = exported->managed;
  char* data = t->numel() ? t->data() : nullptr;
  managed.tensor = {data, {kCpu, 0}, t->ndim(), kTypes[static_cast<int>(t->dtype)], exported->dims, strides, 0};
  managed.deleter = release<Managed>;
  if constexpr (std::is_same_v<Managed, Versioned>) {
    managed.major = Versioned::kMajor;
    managed.minor = Versioned::kMinor;
    managed.flags = flags;
  }
  PyObject* capsule = PyCapsule_New(&managed, Managed::kName, drop_capsule<Managed>);
  if (!capsule) release(&managed);
  return capsule;
}

// to_dlpack(tensor, versioned, copied): a capsule of its memory. `copied`: it is a copy that nobody else has.
PyObject* to_dlpack(PyObject*, PyObject* args) {
  PyObject* o;
  int versioned, copied;
  if (!PyArg_ParseTuple(args, "O!pp", TensorType, &o, &versioned, &copied)) return nullptr;
  if (as_tensor(o)->device() != DeviceType::Cpu) {
    PyErr_Format(PyExc_BufferError, "Cannot pack tensors on %s", device_name(as_tensor(o)->device()));
    return nullptr;
  }
  const Owned<Tensor> t(values_of(as_tensor(o)));
  if (!t) return nullptr;
  if (versioned) {
    return export_tensor<Versioned>(t.get(), (t->is_writeable() ? 0 : Versioned::kReadOnly) | (copied ? Versioned::kCopied : 0));
  }
  if (!t->is_writeable()) {
    PyErr_SetString(PyExc_BufferError,
                    "Can't export read-only memory to a library that knows DLPack before version 1 only. Export tensor.clone().");
    return nullptr;
  }
  return export_tensor<Unversioned>(t.get(), 0);
}

// ---------------------------------------------------------------- import

// The owner of imported memory is a capsule of this name: as short-lived as the memory is shown.
constexpr const char* kImported = "rushlight.imported_dltensor";

template <class Managed>
void drop_imported(PyObject* capsule) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, kImported));
  if (!managed->deleter) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  managed->deleter(managed);
  PyErr_Restore(type, value, traceback);
}

// A tensor's layout as a producer describes it. `high`: the bytes that it reaches. False with an exception.
bool read_tensor(const DLTensor& from, DType* dtype, Layout* l, Py_ssize_t* high) {
  if (from.device.type != kCpu && from.device.type != kCudaHost) {
    PyErr_Format(PyExc_BufferError, "Unsupported device_type: %d. Only memory of the CPU can be shared here.", from.device.type);
    return false;
  }
  *dtype = DType::Count;
  for (int i = 0; i < static_cast<int>(DType::Count); ++i) {
    if (!memcmp(&kTypes[i], &from.dtype, sizeof from.dtype)) *dtype = static_cast<DType>(i);
  }
  if (*dtype == DType::Count) {
    PyErr_Format(PyExc_BufferError, "Unsupported element type of a DLPack tensor: code %d, %d bits, %d lanes", from.dtype.code,
                 from.dtype.bits, from.dtype.lanes);
    return false;
  }
  if (!check_ndim(from.ndim, PyExc_BufferError)) return false;
  if (from.ndim && !from.shape) {
    PyErr_SetString(PyExc_BufferError, "a DLPack tensor with dimensions has no sizes");
    return false;
  }
  const Py_ssize_t item = item_size(*dtype);
  l->ndim = from.ndim;
  bool fits = true;
  for (int i = 0; i < from.ndim; ++i) {
    l->shape[i] = from.shape[i];
    fits &= from.shape[i] >= 0;
  }
  Py_ssize_t numel = 0;
  fits = fits && contiguous_strides(l->ndim, l->shape, item, l->strides, &numel);
  *high = fits && numel ? item : 0;
  for (int i = 0; fits && from.strides && i < from.ndim; ++i) {
    fits = !__builtin_mul_overflow(from.strides[i], item, &l->strides[i]) && (numel == 0 || l->shape[i] < 2 || l->strides[i] >= 0);
  }
  for (int i = 0; fits && numel && i < from.ndim; ++i) {
    Py_ssize_t far;
    if (l->shape[i] < 2) continue;
    fits = !__builtin_mul_overflow(l->strides[i], l->shape[i] - 1, &far) && !__builtin_add_overflow(*high, far, high);
  }
  if (fits) return true;
  Py_ssize_t strides[kMaxDims] = {};
  for (int i = 0; i < from.ndim; ++i) strides[i] = from.strides ? from.strides[i] : 0;
  PyErr_Format(PyExc_RuntimeError, "Storage size calculation overflowed with sizes=%s and strides=%s",
               sizes_text(l->shape, l->ndim).c_str(), sizes_text(strides, l->ndim).c_str());
  return false;
}

template <class Managed>
PyObject* import_capsule(PyObject* capsule) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Managed::kName));
  if (!managed) return nullptr;
  bool writeable = true;
  if constexpr (std::is_same_v<Managed, Versioned>) {
    if (managed->major > Versioned::kMajor) {
      PyErr_Format(PyExc_BufferError, "Unsupported DLPack version %u.%u: at most %u is known here", managed->major, managed->minor,
                   Versioned::kMajor);
      return nullptr;
    }
    writeable = !(managed->flags & Versioned::kReadOnly);
  }
  DType dtype;
  Layout l;
  Py_ssize_t high;
  if (!read_tensor(managed->tensor, &dtype, &l, &high)) return nullptr;
  char* data = static_cast<char*>(managed->tensor.data) + managed->tensor.byte_offset;
  if (high && !managed->tensor.data) {
    PyErr_SetString(PyExc_BufferError, "a DLPack tensor with elements has no memory");
    return nullptr;
  }
  PyObject* owner = PyCapsule_New(managed, kImported, drop_imported<Managed>);
  if (!owner) return nullptr;
  // From here on its memory is ours, whatever fails.
  if (PyCapsule_SetName(capsule, Managed::kUsed) < 0) {
    PyCapsule_SetDestructor(owner, nullptr);
    Py_DECREF(owner);
    return nullptr;
  }
  Storage* s = foreign_storage(data, static_cast<size_t>(high), writeable, owner);
  return s ? as_object(new_on_storage(s, dtype, l.ndim, l.shape, l.strides, 0)) : nullptr;
}

// from_dlpack(capsule): a tensor of a producer's memory.
PyObject* from_dlpack(PyObject*, PyObject* o) {
  if (PyCapsule_IsValid(o, Versioned::kName)) return import_capsule<Versioned>(o);
  if (PyCapsule_IsValid(o, Unversioned::kName)) return import_capsule<Unversioned>(o);
  PyErr_SetString(
      PyExc_RuntimeError,
      "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might have "
      "already constructed a tensor from it once.");
  return nullptr;
}

}  // namespace

PyMethodDef kDlpackFunctions[] = {
    {"to_dlpack", method_of<to_dlpack>(), METH_VARARGS, "A DLPack capsule of a tensor's memory."},
    {"from_dlpack", method_of<from_dlpack>(), METH_O, "A tensor of the memory that a DLPack capsule describes."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace rushlight
