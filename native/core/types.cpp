// Element types, shapes and versions, and the objects that the Python side registers with the core.
#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "core/core.h"

namespace rushlight {

Registry registry;
constinit thread_local ThreadState tls;
std::atomic<bool> modes_used{false};

// ---------------------------------------------------------------- element types

namespace {

struct TypeFact {
  const char* scalar;
  const char* c;
};

// In the order of DType.
constexpr TypeFact kTypes[] = {
    {"Bool", "bool"},
    {"Byte", "unsigned char"},
    {"Char", "signed char"},
    {"Short", "short"},
    {"Int", "int"},
    {"Long", "long int"},
    {"Half", "c10::Half"},
    {"BFloat16", "c10::BFloat16"},
    {"Float", "float"},
    {"Double", "double"},
    {"ComplexFloat", "c10::complex<float>"},
    {"ComplexDouble", "c10::complex<double>"},
    {"UInt16", "uint16_t"},
    {"UInt32", "uint32_t"},
    {"UInt64", "uint64_t"},
    {"Float8_e4m3fn", "c10::Float8_e4m3fn"},
    {"Float8_e4m3fnuz", "c10::Float8_e4m3fnuz"},
    {"Float8_e5m2", "c10::Float8_e5m2"},
    {"Float8_e5m2fnuz", "c10::Float8_e5m2fnuz"},
    {"Float8_e8m0fnu", "c10::Float8_e8m0fnu"},
    {"ComplexHalf", "c10::complex<c10::Half>"},
};

}  // namespace

bool is_floating(DType t) { return (t >= DType::F16 && t <= DType::F64) || is_float8(t); }
bool is_complex(DType t) { return t == DType::C64 || t == DType::C128 || t == DType::C32; }
Category category_of(DType t) {
  if (t == DType::Bool) return Category::Bool;
  if (is_complex(t)) return Category::Complex;
  return is_floating(t) ? Category::Floating : Category::Integer;
}
const char* scalar_name(DType t) { return kTypes[static_cast<int>(t)].scalar; }
const char* c_name(DType t) { return kTypes[static_cast<int>(t)].c; }

PyObject* dtype_object(DType dtype) {
  PyObject* o = dtype < DType::Count ? registry.dtypes[static_cast<int>(dtype)] : nullptr;
  if (!o) PyErr_SetString(PyExc_RuntimeError, "rushlight: element types are not registered yet");
  return o;
}

DType dtype_from(PyObject* o) {
  for (int i = 0; i < static_cast<int>(DType::Count); ++i) {
    if (registry.dtypes[i] == o) return static_cast<DType>(i);
  }
  // A type that is known by name only says so itself.
  const Ref said(PyObject_GetAttrString(o, "code"));
  if (said || PyErr_ExceptionMatches(PyExc_AttributeError)) {
    PyErr_Format(PyExc_TypeError, "expected a torch.dtype, got %s", Py_TYPE(o)->tp_name);
  }
  return DType::Count;
}

namespace {

PyObject* new_shape(int ndim, const Py_ssize_t* dims) {
  PyTypeObject* type = registry.size_type ? reinterpret_cast<PyTypeObject*>(registry.size_type) : &PyTuple_Type;
  Py_ssize_t kept[kMaxDims];
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

// Shapes that were asked for lately. A program has few, and asks for them again and again: for `x.shape`, and for what a rule reads.
// Guarded by the GIL: without, a shape that all threads count references of would cost more than a new one.
struct KnownShape {
  static constexpr int kDims = 4;
  PyObject* shape;  // strong, or nullptr
  int ndim;
  Py_ssize_t dims[kDims];
};
KnownShape known_shapes[16];

}  // namespace

PyObject* shape_tuple(int ndim, const Py_ssize_t* dims) {
#ifndef Py_GIL_DISABLED
  if (ndim <= KnownShape::kDims && registry.size_type) {
    size_t place = static_cast<size_t>(ndim);
    for (int i = 0; i < ndim; ++i) place = place * 31 + static_cast<size_t>(dims[i]);
    KnownShape& known = known_shapes[(place ^ place >> 4) % 16];
    if (known.shape && known.ndim == ndim && std::equal(dims, dims + ndim, known.dims)) return Py_NewRef(known.shape);
    KnownShape made{nullptr, ndim, {}};
    std::copy_n(dims, ndim, made.dims);  // before the allocation, which may change what they belong to
    made.shape = new_shape(ndim, made.dims);
    if (!made.shape) return nullptr;
    PyObject* shape = Py_NewRef(made.shape);
    std::swap(known, made);
    Py_XDECREF(made.shape);
    return shape;
  }
#endif
  return new_shape(ndim, dims);
}

namespace {

// x[key] of sizes: a slice of a Size is a Size.
PyObject* lengths_subscript(PyObject* self, PyObject* key) {
  Ref found(PyTuple_Type.tp_as_mapping->mp_subscript(self, key));
  if (!found || !PySlice_Check(key) || !registry.size_type) return found.release();
  PyTypeObject* type = reinterpret_cast<PyTypeObject*>(registry.size_type);
  const Py_ssize_t n = PyTuple_GET_SIZE(found.get());
  PyObject* size = type->tp_alloc(type, n);
  for (Py_ssize_t i = 0; size && i < n; ++i) PyTuple_SET_ITEM(size, i, Py_NewRef(PyTuple_GET_ITEM(found.get(), i)));
  return size;
}

// Sizes and a tuple, in either order, joined.
PyObject* lengths_add(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a)) Py_RETURN_NOTIMPLEMENTED;
  if (!PyTuple_Check(b)) {  // another's __radd__ goes before the tuple's sum, and is asked here for what it answers
    const PyNumberMethods* theirs = Py_TYPE(b)->tp_as_number;
    PyObject* found = theirs && theirs->nb_add ? theirs->nb_add(a, b) : Py_NewRef(Py_NotImplemented);
    if (found != Py_NotImplemented) return found;
    Py_DECREF(found);
    return PyErr_Format(PyExc_TypeError, "can only concatenate tuple (not %s) to torch.Size", Py_TYPE(b)->tp_name);
  }
  const Py_ssize_t n = PyTuple_GET_SIZE(a), more = PyTuple_GET_SIZE(b);
  bool ints = true;
  for (Py_ssize_t i = 0; i < n; ++i) ints &= PyLong_CheckExact(PyTuple_GET_ITEM(a, i));
  for (Py_ssize_t i = 0; i < more; ++i) ints &= PyLong_CheckExact(PyTuple_GET_ITEM(b, i));
  if (!ints) {
    const Ref joined(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
    return joined ? PyObject_CallOneArg(registry.size_type, joined.get()) : nullptr;
  }
  PyTypeObject* type = reinterpret_cast<PyTypeObject*>(registry.size_type);
  PyObject* size = type->tp_alloc(type, n + more);
  for (Py_ssize_t i = 0; size && i < n; ++i) PyTuple_SET_ITEM(size, i, Py_NewRef(PyTuple_GET_ITEM(a, i)));
  for (Py_ssize_t i = 0; size && i < more; ++i) PyTuple_SET_ITEM(size, n + i, Py_NewRef(PyTuple_GET_ITEM(b, i)));
  return size;
}

}  // namespace

int init_lengths(PyObject* module) {
  static PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>("The base of Size.")},
                                {Py_mp_subscript, slot_of<lengths_subscript>()},
                                {Py_nb_add, slot_of<lengths_add>()},
                                {0, nullptr}};
  static PyType_Spec spec = {"rushlight._core.Lengths", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  const Ref type(PyType_FromSpecWithBases(&spec, reinterpret_cast<PyObject*>(&PyTuple_Type)));
  return type ? PyModule_AddObjectRef(module, "Lengths", type.get()) : -1;
}

namespace {
PyObject* const kName = PyUnicode_InternFromString("_name");
}

int rank_of_format(PyObject* format) {
  const Ref name(PyObject_GetAttr(format, kName));
  if (!name) return -1;
  const auto is = [&](const char* text) {
    return PyUnicode_Check(name.get()) && !PyUnicode_CompareWithASCIIString(name.get(), text);
  };
  return is("channels_last") ? 4 : is("channels_last_3d") ? 5 : 0;
}

std::string sizes_text(const Py_ssize_t* values, int n) {
  std::string text = "[";
  for (int i = 0; i < n; ++i) {
    if (i) text += ", ";
    text += std::to_string(values[i]);
  }
  return text + "]";
}

int refuse_shape(const Tensor* out, int ndim, const Py_ssize_t* dims) {
  raise_shape(sizes_text(out->sizes(), out->ndim()).c_str(), sizes_text(dims, ndim).c_str());
  return -1;
}

int refuse_cast(DType result, DType out) {
  raise_cast(scalar_name(result), scalar_name(out));
  return -1;
}

PyObject* shape_of(const Tensor* t) { return shape_tuple(t->ndim(), t->sizes()); }

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

void forget_cut(Tensor* t) {
  if (t->flags & kCut) forget_site(&t->cut);
  t->flags &= ~(kCut | kCutReason);
}

void inherit_cut(Tensor* t, const Tensor* from) {
  // Data has no history by nature, so what else ended one says more.
  if (t == from || !(from->flags & kCut) || (t->flags & kCut && cut_of(t) != Cut::FromData)) return;
  set_cut(t, cut_of(from), from->cut);
}

}  // namespace rushlight
