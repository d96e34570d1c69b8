// NumPy at the border: tensors as ndarrays, ndarrays as tensors, and kernels over ndarrays. Nothing else in native/ uses its C API.
#define RUSHLIGHT_IMPORT_ARRAY
#include "core/capture.h"
#include "core/numpy.h"

#include <cstring>
#include <iterator>
#include <vector>

#include "bindings/bindings.h"

namespace rushlight {

// ---------------------------------------------------------------- NumPy, once somebody asks for it

namespace {

PyObject* const kNumpys = PyUnicode_InternFromString("numpy._core._multiarray_umath");

// Whether NumPy is here, whoever imported it. Before that no object is an array or a number of NumPy's.
bool has_numpy() {
  if (PyArray_API) return true;
  PyObject* modules = PyImport_GetModuleDict();
  if (!modules || !kNumpys || !PyDict_Contains(modules, kNumpys)) return false;
  if (_import_array() == 0) return true;
  PyErr_Clear();  // in the middle of its own import
  return false;
}

// Imports NumPy. False with an exception where it is not installed.
bool need_numpy() {
  if (PyArray_API || _import_array() == 0) return true;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  const Ref outside(PyImport_ImportModule("rushlight._base.outside")),
      numpy(outside ? PyObject_GetAttrString(outside.get(), "np") : nullptr),
      array(numpy ? PyObject_GetAttrString(numpy.get(), "ndarray") : nullptr);  // which says what is missing
  if (PyErr_Occurred()) {
    for (PyObject* held : {type, value, traceback}) Py_XDECREF(held);
  } else {
    PyErr_Restore(type, value, traceback);
  }
  return false;
}

}  // namespace

// ---------------------------------------------------------------- element types

namespace {

// In the order of DType. Some have no number of NumPy's own: see outside_type.
constexpr int kNumbers[] = {NPY_BOOL,
                            NPY_UINT8,
                            NPY_INT8,
                            NPY_INT16,
                            NPY_INT32,
                            NPY_INT64,
                            NPY_FLOAT16,
                            -1,
                            NPY_FLOAT32,
                            NPY_FLOAT64,
                            NPY_COMPLEX64,
                            NPY_COMPLEX128,
                            NPY_UINT16,
                            NPY_UINT32,
                            NPY_UINT64,
                            -1,
                            -1,
                            -1,
                            -1,
                            -1,
                            -1};
static_assert(std::size(kNumbers) == static_cast<size_t>(DType::Count));

// The element types whose arrays NumPy knows from ml_dtypes, with the names they have there; and complex32, a pair of halves.
struct Outside {
  DType type;
  const char* name;
  std::atomic<int> number{-1};  // NumPy's, once an array or a tensor has been seen
};
Outside outside_types[] = {{DType::BF16, "ml_dtypes.bfloat16"},
                           {DType::F8E4M3FN, "ml_dtypes.float8_e4m3fn"},
                           {DType::F8E4M3FNUZ, "ml_dtypes.float8_e4m3fnuz"},
                           {DType::F8E5M2, "ml_dtypes.float8_e5m2"},
                           {DType::F8E5M2FNUZ, "ml_dtypes.float8_e5m2fnuz"},
                           {DType::F8E8M0FNU, "ml_dtypes.float8_e8m0fnu"}};

DType outside_type(PyArray_Descr* descr) {
  for (Outside& each : outside_types) {
    if (each.number >= 0 && descr->type_num == each.number) return each.type;
    if (each.number < 0 && descr->type_num >= NPY_USERDEF && descr->typeobj && !strcmp(descr->typeobj->tp_name, each.name)) {
      each.number = descr->type_num;
      return each.type;
    }
  }
  return DType::Count;
}

// Whether a dtype is the pair of halves for complex32: our own object, or an equal object.
bool is_half_complex(PyArray_Descr* descr) {
  if (descr->type_num != NPY_VOID || PyDataType_ELSIZE(descr) != 4 || !PyDataType_HASFIELDS(descr)) return false;
  PyArray_Descr* own = descr_of(DType::C32);
  if (!own) PyErr_Clear();
  return own && (own == descr || PyArray_EquivTypes(own, descr));
}

}  // namespace

DType dtype_of(PyArrayObject* array) {
  PyArray_Descr* descr = PyArray_DESCR(array);
  switch (descr->type_num) {
    case NPY_FLOAT32: return PyDataType_ISNOTSWAPPED(descr) ? DType::F32 : DType::Count;
    case NPY_FLOAT64: return PyDataType_ISNOTSWAPPED(descr) ? DType::F64 : DType::Count;
    case NPY_BOOL: return DType::Bool;
  }
  if (descr->type_num >= NPY_USERDEF) return outside_type(descr);
  if (descr->type_num == NPY_VOID) return is_half_complex(descr) ? DType::C32 : DType::Count;
  if (!PyDataType_ISNOTSWAPPED(descr)) return DType::Count;
  // Compared by kind and size: on some platforms `long` and `long long` are two numbers of one size.
  const int size = static_cast<int>(PyDataType_ELSIZE(descr));
  switch (descr->kind) {
    case 'i': return size == 8 ? DType::I64 : size == 4 ? DType::I32 : size == 2 ? DType::I16 : DType::I8;
    case 'u': return size == 8 ? DType::U64 : size == 4 ? DType::U32 : size == 2 ? DType::U16 : DType::U8;
    case 'f': return size == 2 ? DType::F16 : DType::Count;
    case 'c': return size == 8 ? DType::C64 : size == 16 ? DType::C128 : DType::Count;
  }
  return DType::Count;
}

PyArray_Descr* descr_of(DType dtype) {
  // Built-in descriptors are immortal singletons; the extra reference of DescrFromType is given back.
  static PyArray_Descr* cache[static_cast<int>(DType::Count)] = {};
  PyArray_Descr*& descr = cache[static_cast<int>(dtype)];
  if (descr) return descr;
  if (!need_numpy()) return nullptr;
  if (kNumbers[static_cast<int>(dtype)] < 0) {
    PyObject* object = dtype_object(dtype);
    if (!object) return nullptr;
    Ref numpy(PyObject_GetAttrString(object, "numpy"));
    if (!numpy) return nullptr;
    for (Outside& each : outside_types) {
      if (each.type == dtype) each.number = reinterpret_cast<PyArray_Descr*>(numpy.get())->type_num;
    }
    descr = reinterpret_cast<PyArray_Descr*>(numpy.release());
    return descr;
  }
  descr = PyArray_DescrFromType(kNumbers[static_cast<int>(dtype)]);
  return descr;
}

PyObject* descr_object(DType dtype) { return as_object(descr_of(dtype)); }

bool is_array(PyObject* o) { return has_numpy() && PyArray_Check(o); }
bool is_array_type(PyTypeObject* t) { return has_numpy() && t == &PyArray_Type; }
bool is_numpy_scalar(PyObject* o) { return has_numpy() && PyArray_CheckScalar(o); }
bool is_numpy_bool(PyObject* o) { return has_numpy() && PyArray_IsScalar(o, Bool); }
bool is_numpy_float(PyObject* o) { return has_numpy() && PyArray_IsScalar(o, Floating); }
bool is_numpy_complex(PyObject* o) { return has_numpy() && PyArray_IsScalar(o, ComplexFloating); }
bool is_numpy_integer(PyObject* o) { return has_numpy() && PyArray_IsScalar(o, Integer); }
bool is_numpy_number(PyObject* o) { return has_numpy() && PyArray_IsScalar(o, Number); }

// ---------------------------------------------------------------- pins

namespace {

// The base of an ndarray that shows a storage: keeps the block where it is.
struct Pin {
  PyObject_HEAD Storage* storage;
};

PyTypeObject* PinType = nullptr;

void pin_dealloc(PyObject* self) {
  Storage* s = reinterpret_cast<Pin*>(self)->storage;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
  if (count(s->pins, -1) == 1 && s->retired) unpin_last(s);
  drop(s);
}

bool is_pin(PyObject* o) { return o && Py_TYPE(o) == PinType; }

}  // namespace

PyObject* new_pin(Storage* s) {
  ends_capture("gives the memory of a tensor away");
  Pin* pin = PyObject_New(Pin, PinType);
  if (!pin) return nullptr;
  pin->storage = hold(s);
  count(s->pins, 1);
  return as_object(pin);
}

int init_numpy(PyObject* module) {
  PyType_Slot slots[] = {{Py_tp_dealloc, slot_of<pin_dealloc>()},
                         {Py_tp_doc, const_cast<char*>("Keeps the memory of a tensor that an ndarray shows.")},
                         {0, nullptr}};
  PyType_Spec spec = {"rushlight._core.Pin", sizeof(Pin), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  PinType = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
  return PinType ? 0 : -1;
}

// ---------------------------------------------------------------- tensors as arrays

namespace {

// An array for a tensor on meta: the same shape and type, and one zero for all elements.
PyObject* stand_in(const Tensor* t, PyArray_Descr* descr) {
  static const char zero[16] = {};
  const Py_ssize_t strides[kMaxDims] = {};
  Py_INCREF(descr);
  return PyArray_NewFromDescr(&PyArray_Type, descr, t->ndim(), t->sizes(), strides, const_cast<char*>(zero), 0, nullptr);
}

}  // namespace

PyObject* stand_in_array(const Tensor* t) {
  PyArray_Descr* descr = descr_of(t->dtype);
  return descr ? stand_in(t, descr) : nullptr;
}

PyObject* new_array_of(Tensor* t) {
  ends_capture("gives a tensor to NumPy");
  PyArray_Descr* descr = descr_of(t->dtype);
  if (!descr) return nullptr;
  if (t->device() == DeviceType::Meta) return stand_in(t, descr);
  if (is_accelerator(t->device())) {
    PyErr_Format(PyExc_TypeError,
                 "can't convert %s device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
                 device_name(t->device()));
    return nullptr;
  }
  Ref pin(new_pin(t->storage()));
  if (!pin) return nullptr;
  static char nothing[16];
  char* data = t->storage()->data ? t->data() : nothing;
  Py_INCREF(descr);
  Ref array(PyArray_NewFromDescr(&PyArray_Type, descr, t->ndim(), t->sizes(), t->strides(), data,
                                 t->is_writeable() ? NPY_ARRAY_WRITEABLE : 0, nullptr));
  if (!array || PyArray_SetBaseObject(as_array(array.get()), pin.release()) < 0) return nullptr;
  return array.release();
}

PyObject* array_of(Tensor* t) {
  ends_capture("gives a tensor to NumPy");
  if (t->flags & kMeta) return new_array_of(t);
  // A storage that was resized has its block somewhere else.
  if (t->array_ && (PyArray_BYTES(as_array(t->array_)) == t->data() || t->numel() == 0)) return Py_NewRef(t->array_);
  PyObject* array = new_array_of(t);
  if (!array) return nullptr;
  PyObject* before = t->array_;
  t->array_ = Py_NewRef(array);
  Py_XDECREF(before);
  return array;
}

namespace {

// Whether a byte between a tensor's first and its last is neither 0 nor 1.
bool has_other_bytes(const Tensor* t) {
  Py_ssize_t low = 0, high = 0;
  for (int i = 0; i < t->ndim(); ++i) {
    if (!t->size(i)) return false;
    const Py_ssize_t reach = (t->size(i) - 1) * t->stride(i);
    (reach < 0 ? low : high) += reach;
  }
  const char* data = t->data();
  uint8_t bits = 0;
  for (Py_ssize_t i = low; i <= high; ++i) bits |= static_cast<uint8_t>(data[i]);
  return bits > 1;
}

}  // namespace

PyObject* array_to_read(Tensor* t) {
  if (t->dtype != DType::Bool || t->device() != DeviceType::Cpu || !has_other_bytes(t)) return array_of(t);
  const Owned<Tensor> bytes(cast(t, DType::U8));
  const Owned<Tensor> truth(
      bytes ? new_on_storage(hold(bytes->storage()), DType::Bool, bytes->ndim(), bytes->sizes(), bytes->strides(), bytes->offset_)
            : nullptr);
  return truth ? array_of(truth.get()) : nullptr;
}

PyObject* read_only_array_of(Tensor* t) {
  PyObject* array = new_array_of(t);
  if (array) PyArray_CLEARFLAGS(as_array(array), NPY_ARRAY_WRITEABLE);
  return array;
}

bool owns_memory(const Tensor* t) {
  const Storage* s = t->storage();
  const Py_ssize_t references = s->references.load(std::memory_order_relaxed);
  if (!t->array_) return references == 1 && !(s->flags & Storage::kForeign);
  PyArrayObject* array = as_array(t->array_);
  PyObject* base = PyArray_BASE(array);
  if (s->flags & Storage::kForeign) {  // a result of NumPy's that nobody else has
    return references == 1 && s->owner == t->array_ && Py_REFCNT(t->array_) == 2 && !base &&
           PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA);
  }
  return references == 2 && Py_REFCNT(t->array_) == 1 && is_pin(base) && reinterpret_cast<Pin*>(base)->storage == s &&
         Py_REFCNT(base) == 1;
}

// ---------------------------------------------------------------- arrays as tensors

namespace {

// The storage that an array shows (a new reference), and where its first element lies in that. An array of the program's own is a
// storage by itself, as in torch, whatever else shows its memory.
Storage* storage_of(PyArrayObject* array, bool of_program, Py_ssize_t* offset) {
  PyArrayObject* root = array;
  PyObject* base = of_program ? nullptr : PyArray_BASE(root);
  while (base && PyArray_Check(base)) {
    root = as_array(base);
    base = PyArray_BASE(root);
  }
  if (is_pin(base)) {
    Storage* s = reinterpret_cast<Pin*>(base)->storage;
    const char* at = PyArray_BYTES(array);
    if (!s->data || PyArray_SIZE(array) == 0) {
      *offset = 0;
      return hold(s);
    }
    if (at >= s->data && at < s->data + s->nbytes) {
      *offset = at - s->data;
      return hold(s);
    }
    root = array;  // it shows a block that the storage no longer has
  }
  const char *low = PyArray_BYTES(root), *high = low;
  if (PyArray_SIZE(root)) {
    for (int i = 0; i < PyArray_NDIM(root); ++i) {
      const npy_intp reach = PyArray_STRIDE(root, i) * (PyArray_DIM(root, i) - 1);
      (reach < 0 ? low : high) += reach;
    }
    high += PyArray_ITEMSIZE(root);
  }
  const char* at = PyArray_BYTES(array);
  if (PyArray_SIZE(array) == 0) at = low;
  *offset = at - low;
  const bool writeable = PyArray_ISWRITEABLE(root) != 0;
  Storage* s = foreign_storage(const_cast<char*>(low), static_cast<size_t>(high - low), writeable, Py_NewRef(as_object(array)));
  if (s && writeable && PyArray_CHKFLAGS(root, NPY_ARRAY_OWNDATA)) s->flags |= Storage::kPrivate;
  return s;
}

}  // namespace

namespace {

Tensor* made_of(PyObject* object, bool of_program) {
  if (!object) return nullptr;
  const Ref owner(object);
  PyArrayObject* array = as_array(object);
  const DType dtype = dtype_of(array);
  if (dtype == DType::Count) {
    PyErr_Format(PyExc_TypeError, "can't convert np.ndarray of type %R.", as_object(PyArray_DESCR(array)->typeobj));
    return nullptr;
  }
  Py_ssize_t offset, strides[kMaxDims], numel;
  Storage* storage = storage_of(array, of_program, &offset);
  if (!storage) return nullptr;
  const int ndim = PyArray_NDIM(array);
  const npy_intp* sizes = PyArray_DIMS(array);
  if (PyArray_SIZE(array) == 0) contiguous_strides(ndim, sizes, item_size(dtype), strides, &numel);
  else std::copy(PyArray_STRIDES(array), PyArray_STRIDES(array) + ndim, strides);
  Tensor* t = new_on_storage(storage, dtype, ndim, sizes, strides, offset);
  if (t && PyArray_CheckExact(object) && storage->flags & Storage::kForeign) t->array_ = Py_NewRef(object);
  return t;
}

}  // namespace

Tensor* tensor_of(PyObject* array) { return made_of(array, false); }
Tensor* tensor_of_data(PyObject* array) { return made_of(array, true); }

Tensor* tensor_of_plain(PyObject* o) {
  constexpr int kPlain = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED;
  if (!has_numpy() || !PyArray_CheckExact(o) || !PyArray_CHKFLAGS(as_array(o), kPlain) || PyArray_ISBYTESWAPPED(as_array(o)) ||
      dtype_of(as_array(o)) == DType::Count)
    return nullptr;
  return tensor_of_data(PyArray_View(as_array(o), nullptr, &PyArray_Type));
}

Tensor* result_tensor(PyObject* value) {
  if (!value || is_tensor(value)) return as_tensor(value);
  if (is_array(value)) return tensor_of(value);
  const Ref owned(value);
  return need_numpy() ? tensor_of(PyArray_FROM_O(value)) : nullptr;
}

Tensor* tensor_from_any(PyObject* o, DType dtype) {
  const auto number = [dtype](DType type, const void* value) -> Tensor* {
    const Owned<Tensor> t(new_tensor(type, 0, nullptr));
    if (t) std::memcpy(t->data(), value, static_cast<size_t>(item_size(type)));
    return t ? cast(t.get(), dtype) : nullptr;
  };
  if (PyFloat_CheckExact(o)) return number(DType::F64, &reinterpret_cast<PyFloatObject*>(o)->ob_fval);
  if (PyComplex_CheckExact(o)) return number(DType::C128, &reinterpret_cast<PyComplexObject*>(o)->cval);
  const bool truth = o == Py_True;
  if (PyBool_Check(o)) return number(DType::Bool, &truth);
  int overflow;
  const int64_t whole = PyLong_CheckExact(o) ? PyLong_AsLongLongAndOverflow(o, &overflow) : 0;
  if (PyLong_CheckExact(o) && !overflow) return number(DType::I64, &whole);
  if (!need_numpy()) return nullptr;
  const Owned<Tensor> t(tensor_of(PyArray_FromAny(o, nullptr, 0, 0, 0, nullptr)));
  return t ? cast(t.get(), dtype) : nullptr;
}

void reword_memory_error() {
  if (!PyErr_ExceptionMatches(PyExc_MemoryError) && !PyErr_ExceptionMatches(PyExc_ValueError)) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyObject* f = callbacks.beyond_memory.get();
  Ref said(f ? PyObject_CallOneArg(f, value) : nullptr);
  if (!said || said.get() == Py_None) {
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return;
  }
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(said.get())), said.get());
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
}

// ---------------------------------------------------------------- kernels over arrays

namespace {

PyObject* kernels_module = nullptr;

// Of the types that most arguments have.
bool is_everyday(PyObject* o) {
  return Py_TYPE(o) == TensorType || PyLong_CheckExact(o) || o == Py_None || PyFloat_CheckExact(o) || PyBool_Check(o);
}

bool list_has_arrays(PyObject* list) {
  const ItemsOf items(list);
  for (Py_ssize_t i = 0; i < items.size(); ++i) {
    if (!is_everyday(items[i]) && is_array(items[i])) return true;
  }
  return false;
}

// A tensor in the place of an array that tensors can show, a list with such in the place of a list; else the object itself.
PyObject* as_argument(PyObject* o) {
  if (is_array(o)) {
    if (dtype_of(as_array(o)) == DType::Count) return Py_NewRef(o);
    return as_object(tensor_of(Py_NewRef(o)));
  }
  if (!is_list(o) || !list_has_arrays(o)) return Py_NewRef(o);
  const Ref items(PySequence_Tuple(o));
  if (!items) return nullptr;
  const Py_ssize_t n = PyTuple_GET_SIZE(items.get());
  Ref made(PyList_New(n));
  for (Py_ssize_t i = 0; made && i < n; ++i) {
    PyObject* item = as_argument(PyTuple_GET_ITEM(items.get(), i));
    if (!item) return nullptr;
    PyList_SET_ITEM(made.get(), i, item);
  }
  return made && PyTuple_Check(o) ? PyList_AsTuple(made.get()) : made.release();
}

// Arrays in the place of the tensors that a kernel returned. Takes over `o`.
PyObject* as_result(PyObject* o) {
  if (!o) return nullptr;
  if (is_tensor(o)) {
    const Ref tensor(o);
    return array_of(as_tensor(o));
  }
  if (!is_list(o)) return o;
  const Ref list(o);
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  Ref made(PyTuple_New(n));
  for (Py_ssize_t i = 0; made && i < n; ++i) {
    PyObject* item = as_result(Py_NewRef(PySequence_Fast_GET_ITEM(o, i)));
    if (!item) return nullptr;
    PyTuple_SET_ITEM(made.get(), i, item);
  }
  return made && PyList_Check(o) ? PySequence_List(made.get()) : made.release();
}

}  // namespace

void set_kernels_module(PyObject* module) { kernels_module = Py_NewRef(module); }
bool is_kernel(PyObject* function) { return PyCFunction_Check(function) && PyCFunction_GET_SELF(function) == kernels_module; }

bool has_arrays(PyObject* const* args, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* o = args[i];
    if (!is_everyday(o) && (is_list(o) ? list_has_arrays(o) : is_array(o))) return true;
  }
  return false;
}

PyObject* through_arrays(FastFunction f, PyObject* self, PyObject* const* args, Py_ssize_t n) {
  constexpr Py_ssize_t kMost = 32;
  if (n > kMost) {
    PyErr_SetString(PyExc_TypeError, "a kernel takes at most 32 arguments");
    return nullptr;
  }
  Ref held[kMost];
  PyObject* given[kMost];
  for (Py_ssize_t i = 0; i < n; ++i) {
    held[i] = Ref(as_argument(args[i]));
    if (!(given[i] = held[i].get())) return nullptr;
  }
  Ref result(f(self, given, n));
  if (!result) return nullptr;
  // A kernel may have put results into a list that it was given.
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!PyList_Check(args[i]) || given[i] == args[i]) continue;
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(args[i]) && k < PyList_GET_SIZE(given[i]); ++k) {
      PyObject* item = PyList_GET_ITEM(given[i], k);
      if (PyList_GET_ITEM(args[i], k) != Py_None || !is_tensor(item)) continue;
      PyObject* array = array_of(as_tensor(item));
      if (!array || PyList_SetItem(args[i], k, array) < 0) return nullptr;
    }
  }
  return as_result(result.release());
}

}  // namespace rushlight
