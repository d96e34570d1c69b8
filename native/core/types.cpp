// What the core knows about element types, shapes and versions, and the objects that the Python side registers with it.
#include <cstring>
#include <new>

#include "core/core.h"

namespace rushlight {

Registry registry;
constinit thread_local ThreadState tls;
std::atomic<bool> modes_used{false};

// ---------------------------------------------------------------- element types

namespace {

struct TypeFact {
  int numpy;
  const char* scalar;
  const char* c;
};

// In the order of DType. BF16 has no NumPy number of its own: see bfloat16_number().
constexpr TypeFact kTypes[] = {
    {NPY_BOOL, "Bool", "bool"},
    {NPY_UINT8, "Byte", "unsigned char"},
    {NPY_INT8, "Char", "signed char"},
    {NPY_INT16, "Short", "short"},
    {NPY_INT32, "Int", "int"},
    {NPY_INT64, "Long", "long int"},
    {NPY_FLOAT16, "Half", "c10::Half"},
    {-1, "BFloat16", "c10::BFloat16"},
    {NPY_FLOAT32, "Float", "float"},
    {NPY_FLOAT64, "Double", "double"},
    {NPY_COMPLEX64, "ComplexFloat", "c10::complex<float>"},
    {NPY_COMPLEX128, "ComplexDouble", "c10::complex<double>"},
    {NPY_UINT16, "UInt16", "uint16_t"},
    {NPY_UINT32, "UInt32", "uint32_t"},
    {NPY_UINT64, "UInt64", "uint64_t"},
};

std::atomic<int> bfloat16_type_number{-1};

}  // namespace

void set_bfloat16_number(int number) { bfloat16_type_number = number; }

DType dtype_of(PyArrayObject* array) {
  PyArray_Descr* descr = PyArray_DESCR(array);
  switch (descr->type_num) {
    case NPY_FLOAT32: return PyDataType_ISNOTSWAPPED(descr) ? DType::F32 : DType::Count;
    case NPY_FLOAT64: return PyDataType_ISNOTSWAPPED(descr) ? DType::F64 : DType::Count;
    case NPY_BOOL: return DType::Bool;
  }
  if (!PyDataType_ISNOTSWAPPED(descr)) return DType::Count;
  // Compared by kind and size: on some platforms `long` and `long long` are two numbers of one size.
  const int size = static_cast<int>(PyDataType_ELSIZE(descr));
  switch (descr->kind) {
    case 'i': return size == 8 ? DType::I64 : size == 4 ? DType::I32 : size == 2 ? DType::I16 : DType::I8;
    case 'u': return size == 8 ? DType::U64 : size == 4 ? DType::U32 : size == 2 ? DType::U16 : DType::U8;
    case 'f': return size == 2 ? DType::F16 : DType::Count;
    case 'c': return size == 8 ? DType::C64 : size == 16 ? DType::C128 : DType::Count;
  }
  if (bfloat16_type_number >= 0 && descr->type_num == bfloat16_type_number) return DType::BF16;
  if (descr->kind == 'V' && size == 2 && descr->typeobj && !strcmp(descr->typeobj->tp_name, "ml_dtypes.bfloat16")) {
    bfloat16_type_number = descr->type_num;
    return DType::BF16;
  }
  return DType::Count;
}

PyArray_Descr* descr_of(DType dtype) {
  // Built-in descriptors are immortal singletons; the extra reference of DescrFromType is given back.
  static PyArray_Descr* cache[static_cast<int>(DType::Count)] = {};
  PyArray_Descr*& descr = cache[static_cast<int>(dtype)];
  if (descr) return descr;
  if (dtype == DType::BF16) {
    PyObject* object = dtype_object(DType::BF16);
    if (!object) return nullptr;
    Ref numpy(PyObject_GetAttrString(object, "numpy"));
    if (!numpy) return nullptr;
    bfloat16_type_number = reinterpret_cast<PyArray_Descr*>(numpy.get())->type_num;
    descr = reinterpret_cast<PyArray_Descr*>(numpy.release());
    return descr;
  }
  descr = PyArray_DescrFromType(kTypes[static_cast<int>(dtype)].numpy);
  return descr;
}

PyArrayObject* new_array(DType dtype, int ndim, const npy_intp* shape) {
  PyArray_Descr* descr = descr_of(dtype);
  if (!descr) return nullptr;
  Py_INCREF(descr);
  PyArrayObject* array = as_array(PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, nullptr, nullptr, 0, nullptr));
  if (!array) reword_memory_error();
  return array;
}

void reword_memory_error() {
  if (!PyErr_ExceptionMatches(PyExc_MemoryError) && !PyErr_ExceptionMatches(PyExc_ValueError)) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyObject* f = callback("beyond_memory");
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

bool is_floating(DType t) { return t >= DType::F16 && t <= DType::F64; }
bool is_complex(DType t) { return t == DType::C64 || t == DType::C128; }
const char* scalar_name(DType t) { return kTypes[static_cast<int>(t)].scalar; }
const char* c_name(DType t) { return kTypes[static_cast<int>(t)].c; }

PyObject* dtype_object(DType dtype) {
  PyObject* o = dtype < DType::Count ? registry.dtypes[static_cast<int>(dtype)] : nullptr;
  if (!o) PyErr_SetString(PyExc_RuntimeError, "rushlight: element types are not registered yet");
  return o;
}

PyObject* callback(const char* name) {
  PyObject* f = registry.callbacks ? PyDict_GetItemString(registry.callbacks, name) : nullptr;
  if (!f) PyErr_Format(PyExc_RuntimeError, "rushlight: callback '%s' is not registered", name);
  return f;
}

PyObject* shape_tuple(int ndim, const npy_intp* dims) {
  PyTypeObject* type = registry.size_type ? reinterpret_cast<PyTypeObject*>(registry.size_type) : &PyTuple_Type;
  npy_intp kept[NPY_MAXDIMS];
  for (int i = 0; i < ndim; ++i) kept[i] = dims[i];
  PyObject* tuple = type->tp_alloc(type, ndim);  // may collect garbage, and so run code that changes what dims belong to
  if (!tuple) return nullptr;
  for (int i = 0; i < ndim; ++i) {
    PyObject* n = PyLong_FromSsize_t(kept[i]);
    if (!n) {
      Py_DECREF(tuple);
      return nullptr;
    }
    PyTuple_SET_ITEM(tuple, i, n);
  }
  return tuple;
}

std::string sizes_text(const npy_intp* values, int n) {
  std::string text = "[";
  for (int i = 0; i < n; ++i) {
    if (i) text += ", ";
    text += std::to_string(values[i]);
  }
  return text + "]";
}

PyObject* shape_of(const Tensor* t) { return shape_tuple(PyArray_NDIM(t->array), PyArray_DIMS(t->array)); }

// ---------------------------------------------------------------- versions

void hold(VersionCounter* v) {
  if (v) count(v->references, 1);
}

void drop(VersionCounter* v) {
  if (!v || count(v->references, -1) != 1) return;
  for (Site& write : v->writes) forget_site(&write);
  PyMem_RawFree(v);
}

VersionCounter* shared_version(Tensor* t) {
  if (!t->version) {
    void* memory = PyMem_RawMalloc(sizeof(VersionCounter));
    if (!memory) {
      PyErr_NoMemory();
      return nullptr;
    }
    t->version = new (memory) VersionCounter{{1}, {0}, {}};
  }
  return t->version;
}

uint32_t version_of(const Tensor* t) { return t->version ? t->version->value.load(std::memory_order_relaxed) : 0; }

int bump_version(Tensor* t) {
  if (t->flags & kInference && !t->version) return 0;
  VersionCounter* v = shared_version(t);
  if (!v) return -1;
  const uint32_t now = count(v->value, 1u) + 1;
  note_site(&v->writes[now % VersionCounter::kKept]);
  return 0;
}

// ---------------------------------------------------------------- cut histories

namespace {

void set_cut(Tensor* t, Cut why, Site site) {
  if (!(t->flags & kCut)) t->cut = Site{nullptr, 0};
  t->flags = (t->flags & ~kCutReason) | kCut | static_cast<uint32_t>(why) << 12;
  keep_site(&t->cut, site);
}

}  // namespace

void cut_here(Tensor* t, Cut why) { set_cut(t, why, program_site()); }

void inherit_cut(Tensor* t, const Tensor* from) {
  // Data has no history by nature, so what else ended one says more.
  if (t == from || !(from->flags & kCut) || (t->flags & kCut && cut_of(t) != Cut::FromData)) return;
  set_cut(t, cut_of(from), from->cut);
}

}  // namespace rushlight
