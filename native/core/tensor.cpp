// The Tensor type: construction, life cycle, properties and the conversions a program meets on every line. Everything that is
// an op (arithmetic, views, reductions) is attached from Python: the number slots here only find the Op and call it.
#include <cstring>
#include <string>

#include "core/core.h"

#include <structmember.h>

namespace rushlight {

PyTypeObject* TensorType = nullptr;
Registry registry;
thread_local ThreadState tls;

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
  return as_array(PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, nullptr, nullptr, 0, nullptr));
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
  PyObject* tuple = type->tp_alloc(type, ndim);
  if (!tuple) return nullptr;
  for (int i = 0; i < ndim; ++i) {
    PyObject* n = PyLong_FromSsize_t(dims[i]);
    if (!n) {
      Py_DECREF(tuple);
      return nullptr;
    }
    PyTuple_SET_ITEM(tuple, i, n);
  }
  return tuple;
}

// ---------------------------------------------------------------- versions

void hold(VersionCounter* v) {
  if (v) v->references.fetch_add(1, std::memory_order_relaxed);
}

void drop(VersionCounter* v) {
  if (v && v->references.fetch_sub(1, std::memory_order_acq_rel) == 1) PyMem_RawFree(v);
}

VersionCounter* shared_version(Tensor* t) {
  if (!t->version) {
    void* memory = PyMem_RawMalloc(sizeof(VersionCounter));
    if (!memory) {
      PyErr_NoMemory();
      return nullptr;
    }
    t->version = new (memory) VersionCounter{{1}, {0}};
  }
  return t->version;
}

uint32_t version_of(const Tensor* t) { return t->version ? t->version->value.load(std::memory_order_relaxed) : 0; }

int bump_version(Tensor* t) {
  if (t->flags & kInference) return 0;
  VersionCounter* v = shared_version(t);
  if (!v) return -1;
  v->value.fetch_add(1, std::memory_order_relaxed);
  return 0;
}

// ---------------------------------------------------------------- life cycle

namespace {

void clear_fields(Tensor* t) {
  t->array = nullptr;
  t->grad_fn = nullptr;
  t->grad = nullptr;
  t->output_nr = 0;
  t->flags = 0;
  t->dtype = DType::Count;
  t->history_version = 0;
  t->version = nullptr;
  t->accumulator = nullptr;
  t->base = nullptr;
  t->hooks = nullptr;
  t->grad_dtype = nullptr;
  t->watched = nullptr;
  t->dict = nullptr;
  t->weakrefs = nullptr;
}

Tensor* allocate(PyTypeObject* type) {
  Tensor* t;
  if (type == TensorType) {
    t = PyObject_GC_New(Tensor, type);
    if (!t) return nullptr;
    clear_fields(t);
    PyObject_GC_Track(t);
  } else {
    t = reinterpret_cast<Tensor*>(type->tp_alloc(type, 0));  // zeroed and tracked
    if (!t) return nullptr;
    t->dtype = DType::Count;
  }
  return t;
}

int tensor_traverse(PyObject* self, visitproc visit, void* arg) {
  Tensor* t = as_tensor(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(t->grad_fn);
  Py_VISIT(t->grad);
  Py_VISIT(t->base);
  Py_VISIT(t->hooks);
  Py_VISIT(t->watched);
  Py_VISIT(t->dict);
  return 0;
}

int tensor_clear(PyObject* self) {
  Tensor* t = as_tensor(self);
  Py_CLEAR(t->grad_fn);
  Py_CLEAR(t->grad);
  Py_CLEAR(t->base);
  Py_CLEAR(t->hooks);
  Py_CLEAR(t->watched);
  Py_CLEAR(t->dict);
  return 0;
}

void tensor_dealloc(PyObject* self) {
  Tensor* t = as_tensor(self);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (t->weakrefs) PyObject_ClearWeakRefs(self);
  if (t->accumulator) {
    // Never the last word: an AccumulateGrad holds its leaf, so this only guards a half-made one.
    t->accumulator->variable = nullptr;
    t->accumulator = nullptr;
  }
  Py_CLEAR(t->grad_fn);
  if (t->grad) Py_CLEAR(t->grad);
  if (t->base) Py_CLEAR(t->base);
  if (t->hooks) Py_CLEAR(t->hooks);
  if (t->watched) Py_CLEAR(t->watched);
  if (t->grad_dtype) Py_CLEAR(t->grad_dtype);
  if (t->dict) Py_CLEAR(t->dict);
  Py_CLEAR(t->array);
  drop(t->version);
  type->tp_free(self);
  Py_DECREF(type);
}

// The tensor type's own `__init__`: arguments were read by `__new__`, so any are accepted here.
int tensor_init(PyObject*, PyObject*, PyObject*) { return 0; }

PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* make = callback("tensor_new");
  if (!make) return nullptr;
  const Py_ssize_t n = PyTuple_GET_SIZE(args);
  Ref all(PyTuple_New(n + 1));
  if (!all) return nullptr;
  PyTuple_SET_ITEM(all.get(), 0, Py_NewRef(as_object(type)));
  for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(all.get(), i + 1, Py_NewRef(PyTuple_GET_ITEM(args, i)));
  return PyObject_Call(make, all.get(), kwargs);
}

}  // namespace

Tensor* wrap_array(PyArrayObject* array, DType dtype) {
  if (!array) return nullptr;
  Tensor* t = allocate(TensorType);
  if (!t) {
    Py_DECREF(array);
    return nullptr;
  }
  t->array = array;
  t->dtype = dtype;
  if (tls.inference) t->flags |= kInference;
  return t;
}

Tensor* wrap_array(PyArrayObject* array) {
  if (!array) return nullptr;
  DType dtype = dtype_of(array);
  if (dtype == DType::Count) {
    PyErr_Format(PyExc_TypeError, "can't convert np.ndarray of type %R.", as_object(PyArray_DESCR(array)->typeobj));
    Py_DECREF(array);
    return nullptr;
  }
  return wrap_array(array, dtype);
}

Tensor* wrap_view(PyArrayObject* array, Tensor* source) {
  VersionCounter* v = shared_version(source);
  if (!v) {
    Py_XDECREF(array);
    return nullptr;
  }
  Tensor* t = wrap_array(array);
  if (!t) return nullptr;
  hold(v);
  t->version = v;
  t->history_version = v->value;
  Tensor* root = source->base ? source->base : source;
  Py_INCREF(root);
  t->base = root;
  t->flags = (t->flags & ~kInference) | (source->flags & (kInference | kNoGradView | kFunctionView | kInferenceView));
  if (!grad_enabled()) t->flags |= kNoGradView;
  if (tls.inference && !(source->flags & kInference)) t->flags |= kInferenceView;
  return t;
}

// ---------------------------------------------------------------- properties

namespace {

PyObject* get_array(PyObject* self, void*) { return Py_NewRef(as_object(as_tensor(self)->array)); }

// Replaces the storage: for code that loads or resizes a tensor from outside (`resize_`, `.data = `).
int set_array(PyObject* self, PyObject* value, void*) {
  if (!value || !PyArray_Check(value)) {
    PyErr_SetString(PyExc_TypeError, "_array must be a numpy.ndarray");
    return -1;
  }
  DType dtype = dtype_of(as_array(value));
  if (dtype == DType::Count) {
    PyErr_SetString(PyExc_TypeError, "_array has an element type that no tensor has");
    return -1;
  }
  Tensor* t = as_tensor(self);
  PyArrayObject* old = t->array;
  t->array = as_array(Py_NewRef(value));
  t->dtype = dtype;
  Py_XDECREF(old);
  return 0;
}

PyObject* get_shape(PyObject* self, void*) {
  PyArrayObject* a = as_tensor(self)->array;
  return shape_tuple(PyArray_NDIM(a), PyArray_DIMS(a));
}

PyObject* get_dtype(PyObject* self, void*) { return Py_XNewRef(dtype_object(as_tensor(self)->dtype)); }
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLong(PyArray_NDIM(as_tensor(self)->array)); }

PyObject* get_grad_fn(PyObject* self, void*) {
  Node* node;
  if (current_grad_fn(as_tensor(self), &node) < 0) return nullptr;
  return Py_NewRef(node ? as_object(node) : Py_None);
}

PyObject* get_requires_grad(PyObject* self, void*) {
  Tensor* t = as_tensor(self);
  return PyBool_FromLong(requires_grad(t) && is_differentiable(t->dtype));
}

int change_requires_grad(Tensor* t, bool on, bool by_method) {
  Node* node;
  if (current_grad_fn(t, &node) < 0) return -1;
  if (node) {
    if (on && by_method) return 0;
    if (on) {
      PyErr_SetString(PyExc_RuntimeError, "you can only change requires_grad flags of leaf variables.");
    } else {
      PyErr_SetString(PyExc_RuntimeError,
                      "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
                      "subgraph that doesn't require differentiation use var_no_grad = var.detach().");
    }
    return -1;
  }
  if (on && !is_differentiable(t->dtype)) {
    PyErr_Format(PyExc_RuntimeError,
                 "only Tensors of floating point dtype can require gradients; this one is %s. Convert it first, for example "
                 "with .float()",
                 c_name(t->dtype));
    return -1;
  }
  if (on && (t->flags & kInference) && !tls.inference) {
    PyErr_SetString(PyExc_RuntimeError, "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
    return -1;
  }
  t->flags = on ? (t->flags | kRequiresGrad) : (t->flags & ~kRequiresGrad);
  return 0;
}

int set_requires_grad(PyObject* self, PyObject* value, void*) {
  if (!value) {
    PyErr_SetString(PyExc_AttributeError, "attribute 'requires_grad' cannot be deleted");
    return -1;
  }
  if (!PyBool_Check(value)) {
    PyErr_SetString(PyExc_RuntimeError, "requires_grad must be a bool");
    return -1;
  }
  return change_requires_grad(as_tensor(self), value == Py_True, false);
}

PyObject* get_is_leaf(PyObject* self, void*) {
  Node* node;
  if (current_grad_fn(as_tensor(self), &node) < 0) return nullptr;
  return PyBool_FromLong(node == nullptr);
}

PyObject* get_grad(PyObject* self, void*) {
  Tensor* t = as_tensor(self);
  if (!t->grad && t->grad_fn && !(t->flags & kRetainsGrad)) {
    if (PyErr_WarnEx(PyExc_UserWarning,
                     "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
                     "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
                     "Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure "
                     "you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information.",
                     1) < 0) {
      return nullptr;
    }
  }
  return Py_NewRef(t->grad ? t->grad : Py_None);
}

std::string dims_text(PyArrayObject* a) {
  std::string text = "[";
  for (int i = 0; i < PyArray_NDIM(a); ++i) {
    if (i) text += ", ";
    text += std::to_string(PyArray_DIM(a, i));
  }
  return text + "]";
}

int set_grad(PyObject* self, PyObject* value, void*) {
  Tensor* t = as_tensor(self);
  if (!value || value == Py_None) {
    Py_CLEAR(t->grad);
    return 0;
  }
  if (!is_tensor(value)) {
    PyErr_Format(PyExc_TypeError, "assigned grad expected to be a Tensor or None but got grad of type %s",
                 Py_TYPE(value)->tp_name);
    return -1;
  }
  if (value == self) {
    PyErr_SetString(PyExc_RuntimeError, "can't assign Variable as its own grad");
    return -1;
  }
  Tensor* g = as_tensor(value);
  DType wanted = t->dtype;
  if (t->grad_dtype && t->grad_dtype != Py_None) {
    Ref code(PyObject_GetAttrString(t->grad_dtype, "code"));
    if (!code) return -1;
    wanted = static_cast<DType>(PyLong_AsLong(code.get()));
  }
  if (g->dtype != wanted && t->grad_dtype != Py_None) {
    PyErr_Format(PyExc_RuntimeError,
                 "attempting to assign a gradient with dtype '%s' to a tensor with grad_dtype '%s'. The gradient must match the "
                 "tensor's grad_dtype (defaults to the tensor's dtype). You can set the tensor's grad_dtype attribute with a "
                 "specific dtype, or None to allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and "
                 "its gradient may break downstream systems that assume they match.",
                 c_name(g->dtype), scalar_name(wanted));
    return -1;
  }
  const int ndim = PyArray_NDIM(t->array);
  if (PyArray_NDIM(g->array) != ndim ||
      !PyArray_CompareLists(PyArray_DIMS(g->array), PyArray_DIMS(t->array), ndim)) {
    PyErr_Format(PyExc_RuntimeError,
                 "attempting to assign a gradient of size '%s' to a tensor of size '%s'. Please ensure that the gradient and the "
                 "tensor are the same size",
                 dims_text(g->array).c_str(), dims_text(t->array).c_str());
    return -1;
  }
  Py_INCREF(value);
  Py_XSETREF(t->grad, value);
  return 0;
}

PyObject* get_grad_dtype(PyObject* self, void*) {
  Tensor* t = as_tensor(self);
  if (t->grad_dtype) return Py_NewRef(t->grad_dtype);
  return Py_XNewRef(dtype_object(t->dtype));
}

int set_grad_dtype(PyObject* self, PyObject* value, void*) {
  Tensor* t = as_tensor(self);
  if (t->grad_fn) {
    PyErr_SetString(PyExc_RuntimeError, "grad_dtype can only be set on leaf tensors.");
    return -1;
  }
  if (value && value != Py_None && t->grad) {
    DType have = as_tensor(t->grad)->dtype;
    if (dtype_object(have) != value) {
      Ref code(PyObject_GetAttrString(value, "code"));
      if (!code) return -1;
      PyErr_Format(PyExc_RuntimeError,
                   "Cannot set grad_dtype to '%s' because there is already a gradient with dtype '%s'. Please clear the gradient "
                   "(.grad = None) before changing grad_dtype, or ensure the new grad_dtype matches the existing gradient's "
                   "dtype.",
                   scalar_name(static_cast<DType>(PyLong_AsLong(code.get()))), c_name(have));
      return -1;
    }
  }
  Py_XINCREF(value);
  Py_XSETREF(t->grad_dtype, value);
  return 0;
}

Tensor* alias(Tensor* t, bool share_version) {
  VersionCounter* v = nullptr;
  if (share_version && !(v = shared_version(t))) return nullptr;
  Py_INCREF(t->array);
  Tensor* r = wrap_array(t->array, t->dtype);
  if (!r) return nullptr;
  hold(v);
  r->version = v;
  r->flags = t->flags & kInference;
  return r;
}

PyObject* get_data(PyObject* self, void*) { return as_object(alias(as_tensor(self), false)); }

int set_data(PyObject* self, PyObject* value, void*) {
  Tensor* t = as_tensor(self);
  if (!value || !is_tensor(value)) {
    PyErr_Format(PyExc_TypeError, "Variable data has to be a tensor, but got %s", value ? Py_TYPE(value)->tp_name : "nothing");
    return -1;
  }
  Tensor* v = as_tensor(value);
  if (requires_grad(t) && !is_differentiable(v->dtype)) {
    PyErr_SetString(PyExc_RuntimeError, "data set to a tensor that requires gradients must be floating point or complex dtype");
    return -1;
  }
  Py_INCREF(v->array);
  PyArrayObject* old = t->array;
  t->array = v->array;
  t->dtype = v->dtype;
  Py_XDECREF(old);
  return 0;
}

PyObject* get_output_nr(PyObject* self, void*) { return PyLong_FromUnsignedLong(as_tensor(self)->output_nr); }
PyObject* get_flag(PyObject* self, void* flag) {
  return PyBool_FromLong((as_tensor(self)->flags & reinterpret_cast<uintptr_t>(flag)) != 0);
}

PyObject* get_version(PyObject* self, void*) {
  Tensor* t = as_tensor(self);
  if (t->flags & kInference) {
    PyErr_SetString(PyExc_RuntimeError, "Inference tensors do not track version counter.");
    return nullptr;
  }
  return PyLong_FromUnsignedLong(version_of(t));
}

PyObject* get_base(PyObject* self, void*) {
  Tensor* t = as_tensor(self);
  return Py_NewRef(t->base ? as_object(t->base) : Py_None);
}

PyObject* get_hooks(PyObject* self, void*) {
  Tensor* t = as_tensor(self);
  PyObject* hooks = t->hooks;
  return Py_NewRef(hooks ? hooks : Py_None);
}

int set_hooks(PyObject* self, PyObject* value, void*) {
  Tensor* t = as_tensor(self);
  if (value == Py_None) value = nullptr;
  Py_XINCREF(value);
  Py_XSETREF(t->hooks, value);
  return 0;
}

PyObject* get_watched(PyObject* self, void*) {
  Tensor* t = as_tensor(self);
  return Py_NewRef(t->watched ? t->watched : Py_None);
}

// What a transform or forward-mode attached, as (flag, object); (0, None) removes it.
int set_watched(PyObject* self, PyObject* value, void*) {
  Tensor* t = as_tensor(self);
  unsigned flag;
  PyObject* object;
  if (!value || !PyArg_ParseTuple(value, "IO", &flag, &object)) return -1;
  t->flags = (t->flags & ~(kTangent | kTransformed)) | (flag & (kTangent | kTransformed));
  if (object == Py_None) object = nullptr;
  Py_XINCREF(object);
  Py_XSETREF(t->watched, object);
  return 0;
}

PyGetSetDef kGetSet[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"_array", get_array, set_array, "The numpy.ndarray that holds the values (no copy).", nullptr},
    {"shape", get_shape, nullptr, "The sizes of all dimensions, a torch.Size.", nullptr},
    {"dtype", get_dtype, nullptr, "The element type.", nullptr},
    {"ndim", get_ndim, nullptr, "The number of dimensions.", nullptr},
    {"grad_fn", get_grad_fn, nullptr, "The node that made this tensor; None for leaves.", nullptr},
    {"requires_grad", get_requires_grad, set_requires_grad, "Whether gradients flow to this tensor.", nullptr},
    {"is_leaf", get_is_leaf, nullptr, "Whether no recorded op made this tensor.", nullptr},
    {"grad", get_grad, set_grad, "The accumulated gradient, or None.", nullptr},
    {"_grad", get_grad, set_grad, "The accumulated gradient, or None.", nullptr},
    {"grad_dtype", get_grad_dtype, set_grad_dtype, "The dtype .grad must have; None allows any.", nullptr},
    {"data", get_data, set_data, "The same storage without history and with a version counter of its own.", nullptr},
    {"output_nr", get_output_nr, nullptr, "Which output of grad_fn this is.", nullptr},
    {"retains_grad", get_flag, nullptr, "Whether a non-leaf keeps its gradient.", reinterpret_cast<void*>(kRetainsGrad)},
    {"_version", get_version, nullptr, "How often the storage was written in place.", nullptr},
    {"_base", get_base, nullptr, "Of a view: the tensor it is a view of.", nullptr},
    {"_hooks", get_hooks, set_hooks, "A leaf's hooks object.", nullptr},
    {"_watched", get_watched, set_watched, "What a transform or forward-mode attached.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

// ---------------------------------------------------------------- methods

PyObject* method_detach(PyObject* self, PyObject*) {
  Tensor* t = as_tensor(self);
  if (t->flags & kWatched) {
    PyObject* f = callback("watched_detach");
    return f ? PyObject_CallOneArg(f, self) : nullptr;
  }
  return as_object(alias(t, true));
}

PyObject* method_requires_grad_(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"requires_grad", nullptr};
  int on = 1;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p:requires_grad_", const_cast<char**>(names), &on)) return nullptr;
  if (change_requires_grad(as_tensor(self), on, true) < 0) return nullptr;
  return Py_NewRef(self);
}

int normalize_dim(PyObject* object, int ndim, Py_ssize_t* dim) {
  const Py_ssize_t d = PyNumber_AsSsize_t(object, PyExc_IndexError);
  if (d == -1 && PyErr_Occurred()) return -1;
  const Py_ssize_t n = ndim > 0 ? ndim : 1;
  if (d < -n || d >= n) {
    PyErr_Format(PyExc_IndexError, "Dimension out of range (expected to be in range of [%zd, %zd], but got %zd)", -n, n - 1, d);
    return -1;
  }
  *dim = d < 0 ? d + n : d;
  return 0;
}

// size() and stride(): the whole tuple, or one dimension's.
PyObject* one_or_all(PyObject* args, PyObject* kwargs, const char* format, int ndim, const npy_intp* values, bool as_size) {
  static const char* names[] = {"dim", nullptr};
  PyObject* dim = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, format, const_cast<char**>(names), &dim)) return nullptr;
  if (dim == Py_None) {
    Ref size(shape_tuple(ndim, values));
    if (!size || as_size) return size.release();
    return PySequence_Tuple(size.get());
  }
  Py_ssize_t d;
  if (normalize_dim(dim, ndim, &d) < 0) return nullptr;
  if (ndim == 0) {
    PyErr_SetString(PyExc_IndexError, "dimension specified as 0 but tensor has no dimensions");
    return nullptr;
  }
  return PyLong_FromSsize_t(values[d]);
}

PyObject* method_size(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyArrayObject* a = as_tensor(self)->array;
  return one_or_all(args, kwargs, "|O:size", PyArray_NDIM(a), PyArray_DIMS(a), true);
}

PyObject* method_stride(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyArrayObject* a = as_tensor(self)->array;
  npy_intp strides[NPY_MAXDIMS];
  const npy_intp item = PyArray_ITEMSIZE(a);
  const int ndim = PyArray_NDIM(a);
  if (PyArray_IS_C_CONTIGUOUS(a)) {
    // NumPy leaves the strides of dimensions of size 0 and 1 free; torch has a rule for them.
    npy_intp step = 1;
    for (int i = ndim - 1; i >= 0; --i) {
      strides[i] = step;
      step *= PyArray_DIM(a, i) > 1 ? PyArray_DIM(a, i) : 1;
    }
  } else {
    for (int i = 0; i < ndim; ++i) strides[i] = PyArray_STRIDE(a, i) / item;
  }
  return one_or_all(args, kwargs, "|O:stride", ndim, strides, false);
}

PyObject* method_dim(PyObject* self, PyObject*) { return get_ndim(self, nullptr); }
PyObject* method_numel(PyObject* self, PyObject*) { return PyLong_FromSsize_t(PyArray_SIZE(as_tensor(self)->array)); }
PyObject* method_element_size(PyObject* self, PyObject*) {
  return PyLong_FromSsize_t(PyArray_ITEMSIZE(as_tensor(self)->array));
}
PyObject* method_data_ptr(PyObject* self, PyObject*) { return PyLong_FromVoidPtr(PyArray_DATA(as_tensor(self)->array)); }
PyObject* method_is_view(PyObject* self, PyObject*) { return PyBool_FromLong(as_tensor(self)->base != nullptr); }
PyObject* method_is_inference(PyObject* self, PyObject*) { return PyBool_FromLong(as_tensor(self)->flags & kInference); }

PyObject* scalar_of(Tensor* t) {
  PyArrayObject* a = t->array;
  const npy_intp n = PyArray_SIZE(a);
  if (n != 1) {
    PyErr_Format(PyExc_RuntimeError, "a Tensor with %zd elements cannot be converted to Scalar", n);
    return nullptr;
  }
  if (PyArray_ISALIGNED(a)) {
    const void* p = PyArray_DATA(a);
    switch (t->dtype) {
      case DType::F32: return PyFloat_FromDouble(*static_cast<const float*>(p));
      case DType::F64: return PyFloat_FromDouble(*static_cast<const double*>(p));
      case DType::I64: return PyLong_FromLongLong(*static_cast<const int64_t*>(p));
      case DType::Bool: return PyBool_FromLong(*static_cast<const uint8_t*>(p) != 0);
      default: break;
    }
  }
  if (t->dtype == DType::BF16) {
    uint16_t bits;
    memcpy(&bits, PyArray_DATA(a), 2);
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float value;
    memcpy(&value, &wide, 4);
    return PyFloat_FromDouble(value);
  }
  return PyObject_CallMethod(as_object(a), "item", nullptr);
}

PyObject* method_item(PyObject* self, PyObject*) {
  if (as_tensor(self)->flags & kWatched) {
    PyObject* f = callback("watched_item");
    return f ? PyObject_CallOneArg(f, self) : nullptr;
  }
  return scalar_of(as_tensor(self));
}

PyObject* method_numpy(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"force", nullptr};
  int force = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$p:numpy", const_cast<char**>(names), &force)) return nullptr;
  Tensor* t = as_tensor(self);
  if (!force && requires_grad(t) && grad_enabled()) {
    PyErr_SetString(PyExc_RuntimeError,
                    "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
    return nullptr;
  }
  if (t->dtype == DType::BF16 && !force) {
    PyErr_SetString(PyExc_TypeError, "Got unsupported ScalarType BFloat16");
    return nullptr;
  }
  return Py_NewRef(as_object(t->array));
}

PyObject* method_array(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"dtype", "copy", nullptr};
  PyObject* dtype = Py_None;
  PyObject* copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", const_cast<char**>(names), &dtype, &copy)) return nullptr;
  Ref none(PyTuple_New(0));
  if (!none) return nullptr;
  Ref array(method_numpy(self, none.get(), nullptr));
  if (!array || (dtype == Py_None && copy != Py_True)) return array.release();
  if (dtype == Py_None) return PyObject_CallMethod(array.get(), "copy", nullptr);
  Ref kw(Py_BuildValue("{s:O}", "copy", copy == Py_True ? Py_True : Py_False));
  Ref method(PyObject_GetAttrString(array.get(), "astype"));
  Ref arguments(PyTuple_Pack(1, dtype));
  if (!kw || !method || !arguments) return nullptr;
  return PyObject_Call(method.get(), arguments.get(), kw.get());
}

PyObject* method_bump(PyObject* self, PyObject*) {
  if (bump_version(as_tensor(self)) < 0) return nullptr;
  Py_RETURN_NONE;
}

// Cuts the tensor off its history, in place.
PyObject* method_cut(PyObject* self, PyObject*) {
  Tensor* t = as_tensor(self);
  Py_CLEAR(t->grad_fn);
  t->output_nr = 0;
  t->flags &= ~(kRequiresGrad | kRetainsGrad);
  Py_RETURN_NONE;
}

PyObject* method_set_flag(PyObject* self, PyObject* args) {
  unsigned flag;
  int on;
  if (!PyArg_ParseTuple(args, "Ip", &flag, &on)) return nullptr;
  Tensor* t = as_tensor(self);
  t->flags = on ? (t->flags | flag) : (t->flags & ~flag);
  Py_RETURN_NONE;
}

PyObject* method_get_flags(PyObject* self, PyObject*) { return PyLong_FromUnsignedLong(as_tensor(self)->flags); }

PyCFunction keywords(PyCFunctionWithKeywords f) { return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)(void)>(f)); }

PyMethodDef kMethods[] = {
    {"detach", method_detach, METH_NOARGS, "The same storage without history; the version counter is shared."},
    {"requires_grad_", keywords(method_requires_grad_), METH_VARARGS | METH_KEYWORDS, "Sets requires_grad; returns the tensor."},
    {"size", keywords(method_size), METH_VARARGS | METH_KEYWORDS, "The shape, or the size of one dimension."},
    {"stride", keywords(method_stride), METH_VARARGS | METH_KEYWORDS, "Strides in elements, all or one."},
    {"dim", method_dim, METH_NOARGS, "The number of dimensions."},
    {"ndimension", method_dim, METH_NOARGS, "The number of dimensions."},
    {"numel", method_numel, METH_NOARGS, "The number of elements."},
    {"nelement", method_numel, METH_NOARGS, "The number of elements."},
    {"element_size", method_element_size, METH_NOARGS, "Bytes an element."},
    {"data_ptr", method_data_ptr, METH_NOARGS, "The address of the first element."},
    {"_is_view", method_is_view, METH_NOARGS, "Whether this is a differentiable view of another tensor."},
    {"is_inference", method_is_inference, METH_NOARGS, "Whether this was made in inference mode."},
    {"item", method_item, METH_NOARGS, "The value of a tensor of one element as a Python number."},
    {"numpy", keywords(method_numpy), METH_VARARGS | METH_KEYWORDS, "The values as a numpy.ndarray that shares memory."},
    {"__array__", keywords(method_array), METH_VARARGS | METH_KEYWORDS, "For numpy.asarray."},
    {"_bump_version", method_bump, METH_NOARGS, "Counts one in-place write."},
    {"_cut", method_cut, METH_NOARGS, "Drops the history, in place."},
    {"_set_flag", method_set_flag, METH_VARARGS, "Sets or clears a bit of the core's flags."},
    {"_flags", method_get_flags, METH_NOARGS, "The core's flags."},
    {nullptr, nullptr, 0, nullptr},
};

// ---------------------------------------------------------------- slots

int tensor_bool(PyObject* self) {
  Tensor* t = as_tensor(self);
  if (t->flags & kWatched) {
    PyObject* f = callback("watched_bool");
    Ref r(f ? PyObject_CallOneArg(f, self) : nullptr);
    return r ? PyObject_IsTrue(r.get()) : -1;
  }
  const npy_intp n = PyArray_SIZE(t->array);
  if (n != 1) {
    PyErr_SetString(PyExc_RuntimeError, n ? "Boolean value of Tensor with more than one value is ambiguous"
                                          : "Boolean value of Tensor with no values is ambiguous");
    return -1;
  }
  Ref value(scalar_of(t));
  return value ? PyObject_IsTrue(value.get()) : -1;
}

PyObject* as_number(PyObject* self, PyObject* (*convert)(PyObject*)) {
  Tensor* t = as_tensor(self);
  if (PyArray_SIZE(t->array) != 1) {
    PyErr_SetString(PyExc_ValueError, "only one element tensors can be converted to Python scalars");
    return nullptr;
  }
  if (requires_grad(t) && grad_enabled()) {
    if (PyErr_WarnEx(PyExc_UserWarning,
                     "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                     "Consider using tensor.detach() first.",
                     1) < 0) {
      return nullptr;
    }
  }
  Ref value(method_item(self, nullptr));
  return value ? convert(value.get()) : nullptr;
}

PyObject* tensor_float(PyObject* self) { return as_number(self, PyNumber_Float); }
PyObject* tensor_int(PyObject* self) { return as_number(self, PyNumber_Long); }
PyObject* tensor_index(PyObject* self) {
  Tensor* t = as_tensor(self);
  if (is_differentiable(t->dtype) || PyArray_SIZE(t->array) != 1) {
    PyErr_SetString(PyExc_TypeError, "only integer tensors of a single element can be converted to an index");
    return nullptr;
  }
  Ref value(method_item(self, nullptr));
  return value ? PyNumber_Long(value.get()) : nullptr;
}

Py_ssize_t tensor_length(PyObject* self) {
  PyArrayObject* a = as_tensor(self)->array;
  if (PyArray_NDIM(a) == 0) {
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
  }
  return PyArray_DIM(a, 0);
}

PyObject* call_callback(const char* name, PyObject* a, PyObject* b = nullptr, PyObject* c = nullptr) {
  PyObject* f = callback(name);
  if (!f) return nullptr;
  PyObject* args[] = {a, b, c};
  return PyObject_Vectorcall(f, args, c ? 3 : b ? 2 : 1, nullptr);
}

PyObject* tensor_item_at(PyObject* self, Py_ssize_t i) {
  Ref key(PyLong_FromSsize_t(i));
  return key ? tensor_subscript(self, key.get()) : nullptr;
}

PyObject* tensor_iter(PyObject* self) { return call_callback("iter", self); }
PyObject* tensor_repr(PyObject* self) { return call_callback("repr", self); }

// Identity: the address without its always-zero low bits.
Py_hash_t tensor_hash(PyObject* self) {
  const auto hash = static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(self) >> 4);
  return hash == -1 ? -2 : hash;
}

enum Operator : int {
  kAdd, kRAdd, kSub, kRSub, kMul, kRMul, kDiv, kRDiv, kFloorDiv, kRFloorDiv, kMod, kRMod, kPow, kRPow, kMatMul, kRMatMul,
  kAnd, kRAnd, kOr, kROr, kXor, kRXor, kLShift, kRLShift, kRShift, kRRShift, kNeg, kPos, kAbs, kInvert,
  kLt, kLe, kEq, kNe, kGt, kGe,
  kIAdd, kISub, kIMul, kIDiv, kIFloorDiv, kIMod, kIPow, kIAnd, kIOr, kIXor, kILShift, kIRShift, kOperators
};
constexpr const char* kOperatorNames[] = {
    "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv", "mod", "rmod", "pow", "rpow",
    "matmul", "rmatmul", "and", "rand", "or", "ror", "xor", "rxor", "lshift", "rlshift", "rshift", "rrshift", "neg", "pos",
    "abs", "invert", "lt", "le", "eq", "ne", "gt", "ge", "iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow",
    "iand", "ior", "ixor", "ilshift", "irshift"};
PyObject* operators[kOperators] = {};

PyObject* apply(PyObject* f, PyObject* a, PyObject* b) {
  if (Py_TYPE(f) == OpType) return call_op(reinterpret_cast<Op*>(f), a, b);
  PyObject* args[] = {a, b};
  return PyObject_Vectorcall(f, args, b ? 2 : 1, nullptr);
}

bool is_operand(PyObject* o) { return is_tensor(o) || is_python_scalar(o); }

template <int kForward, int kReflected>
PyObject* binary(PyObject* a, PyObject* b) {
  PyObject* f;
  if (is_tensor(a)) {
    f = operators[kForward];
    if (!f || !is_operand(b)) Py_RETURN_NOTIMPLEMENTED;
    return apply(f, a, b);
  }
  f = operators[kReflected];
  if (!f || !is_operand(a)) Py_RETURN_NOTIMPLEMENTED;
  return apply(f, b, a);
}

template <int kWhich>
PyObject* in_place(PyObject* a, PyObject* b) {
  PyObject* f = operators[kWhich];
  if (!f || !is_operand(b)) Py_RETURN_NOTIMPLEMENTED;
  return apply(f, a, b);
}

template <int kWhich>
PyObject* unary(PyObject* a) {
  if (!operators[kWhich]) {
    PyErr_Format(PyExc_TypeError, "bad operand type for unary %s: 'Tensor'", kOperatorNames[kWhich]);
    return nullptr;
  }
  return apply(operators[kWhich], a, nullptr);
}

PyObject* ternary_pow(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary<kPow, kRPow>(a, b);
}
PyObject* in_place_pow(PyObject* a, PyObject* b, PyObject*) { return in_place<kIPow>(a, b); }

PyObject* compare(PyObject* a, PyObject* b, int how) {
  static constexpr int which[] = {kLt, kLe, kEq, kNe, kGt, kGe};
  PyObject* f = operators[which[how]];
  if (!f || !is_operand(b)) Py_RETURN_NOTIMPLEMENTED;
  return apply(f, a, b);
}

template <typename F>
void* slot(F f) {
  return reinterpret_cast<void*>(f);
}

PyMemberDef kMembers[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(Tensor, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Tensor, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

}  // namespace

// set_operator(name, callable): what `a + b` and its kind call.
PyObject* set_operator(PyObject*, PyObject* args) {
  const char* name;
  PyObject* f;
  if (!PyArg_ParseTuple(args, "sO", &name, &f)) return nullptr;
  for (int i = 0; i < kOperators; ++i) {
    if (!strcmp(name, kOperatorNames[i])) {
      Py_INCREF(f);
      Py_XSETREF(operators[i], f);
      Py_RETURN_NONE;
    }
  }
  PyErr_Format(PyExc_ValueError, "no operator '%s'", name);
  return nullptr;
}

// wrap(array, requires_grad=False): a new leaf around an ndarray.
PyObject* wrap(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n < 1 || n > 2 || !PyArray_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError, "wrap(array, requires_grad=False): array must be a numpy.ndarray");
    return nullptr;
  }
  Py_INCREF(args[0]);
  Tensor* t = wrap_array(as_array(args[0]));
  if (t && n == 2 && PyObject_IsTrue(args[1])) {
    if (!is_differentiable(t->dtype)) {
      Py_DECREF(t);
      PyErr_SetString(PyExc_RuntimeError, "Only Tensors of floating point and complex dtype can require gradients");
      return nullptr;
    }
    t->flags |= kRequiresGrad;
  }
  return as_object(t);
}

// make_subclass(cls, tensor, requires_grad): an instance of a Tensor subclass that shares the storage.
PyObject* make_subclass(PyObject*, PyObject* args) {
  PyObject *cls, *source;
  int wants = 0;
  if (!PyArg_ParseTuple(args, "OO|p", &cls, &source, &wants)) return nullptr;
  if (!PyType_Check(cls) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), TensorType) || !is_tensor(source)) {
    PyErr_SetString(PyExc_TypeError, "make_subclass(cls, tensor, requires_grad): cls must be a subclass of Tensor");
    return nullptr;
  }
  Tensor* from = as_tensor(source);
  if (wants && !is_differentiable(from->dtype)) {
    PyErr_SetString(PyExc_RuntimeError, "Only Tensors of floating point and complex dtype can require gradients");
    return nullptr;
  }
  VersionCounter* v = shared_version(from);
  if (!v) return nullptr;
  Tensor* t = allocate(reinterpret_cast<PyTypeObject*>(cls));
  if (!t) return nullptr;
  Py_INCREF(from->array);
  t->array = from->array;
  t->dtype = from->dtype;
  hold(v);
  t->version = v;
  t->flags = (from->flags & kInference) | (wants ? kRequiresGrad : 0u);
  return as_object(t);
}

// wrap_view(array, source): a tensor of `array` that shares `source`'s version counter and base.
PyObject* wrap_view_function(PyObject*, PyObject* args) {
  PyObject *array, *source;
  if (!PyArg_ParseTuple(args, "OO", &array, &source)) return nullptr;
  if (!PyArray_Check(array) || !is_tensor(source)) {
    PyErr_SetString(PyExc_TypeError, "wrap_view(array, source): an ndarray and a Tensor");
    return nullptr;
  }
  Py_INCREF(array);
  return as_object(wrap_view(as_array(array), as_tensor(source)));
}

PyObject* bump_versions(PyObject*, PyObject* list) {
  Ref items(PySequence_Fast(list, "bump_versions(list of tensors)"));
  if (!items) return nullptr;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* o = PySequence_Fast_GET_ITEM(items.get(), i);
    if (!is_tensor(o)) {
      PyErr_SetString(PyExc_TypeError, "bump_versions(list of tensors)");
      return nullptr;
    }
    if (bump_version(as_tensor(o)) < 0) return nullptr;
  }
  Py_RETURN_NONE;
}

int init_tensor(PyObject* module) {
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("A multi-dimensional array that can record how it was computed.")},
      {Py_tp_new, slot(tensor_new)},
      {Py_tp_init, slot(tensor_init)},
      {Py_tp_dealloc, slot(tensor_dealloc)},
      {Py_tp_traverse, slot(tensor_traverse)},
      {Py_tp_clear, slot(tensor_clear)},
      {Py_tp_getset, kGetSet},
      {Py_tp_methods, kMethods},
      {Py_tp_members, kMembers},
      {Py_tp_hash, slot(tensor_hash)},
      {Py_tp_repr, slot(tensor_repr)},
      {Py_tp_iter, slot(tensor_iter)},
      {Py_tp_richcompare, slot(compare)},
      {Py_mp_subscript, slot(tensor_subscript)},
      {Py_mp_ass_subscript, slot(tensor_assign)},
      {Py_mp_length, slot(tensor_length)},
      {Py_sq_length, slot(tensor_length)},
      {Py_sq_item, slot(tensor_item_at)},
      {Py_nb_bool, slot(tensor_bool)},
      {Py_nb_float, slot(tensor_float)},
      {Py_nb_int, slot(tensor_int)},
      {Py_nb_index, slot(tensor_index)},
      {Py_nb_add, slot(binary<kAdd, kRAdd>)},
      {Py_nb_subtract, slot(binary<kSub, kRSub>)},
      {Py_nb_multiply, slot(binary<kMul, kRMul>)},
      {Py_nb_true_divide, slot(binary<kDiv, kRDiv>)},
      {Py_nb_floor_divide, slot(binary<kFloorDiv, kRFloorDiv>)},
      {Py_nb_remainder, slot(binary<kMod, kRMod>)},
      {Py_nb_power, slot(ternary_pow)},
      {Py_nb_matrix_multiply, slot(binary<kMatMul, kRMatMul>)},
      {Py_nb_and, slot(binary<kAnd, kRAnd>)},
      {Py_nb_or, slot(binary<kOr, kROr>)},
      {Py_nb_xor, slot(binary<kXor, kRXor>)},
      {Py_nb_lshift, slot(binary<kLShift, kRLShift>)},
      {Py_nb_rshift, slot(binary<kRShift, kRRShift>)},
      {Py_nb_negative, slot(unary<kNeg>)},
      {Py_nb_positive, slot(unary<kPos>)},
      {Py_nb_absolute, slot(unary<kAbs>)},
      {Py_nb_invert, slot(unary<kInvert>)},
      {Py_nb_inplace_add, slot(in_place<kIAdd>)},
      {Py_nb_inplace_subtract, slot(in_place<kISub>)},
      {Py_nb_inplace_multiply, slot(in_place<kIMul>)},
      {Py_nb_inplace_true_divide, slot(in_place<kIDiv>)},
      {Py_nb_inplace_floor_divide, slot(in_place<kIFloorDiv>)},
      {Py_nb_inplace_remainder, slot(in_place<kIMod>)},
      {Py_nb_inplace_power, slot(in_place_pow)},
      {Py_nb_inplace_and, slot(in_place<kIAnd>)},
      {Py_nb_inplace_or, slot(in_place<kIOr>)},
      {Py_nb_inplace_xor, slot(in_place<kIXor>)},
      {Py_nb_inplace_lshift, slot(in_place<kILShift>)},
      {Py_nb_inplace_rshift, slot(in_place<kIRShift>)},
      {0, nullptr},
  };
  static PyType_Spec spec = {"torch.Tensor", sizeof(Tensor), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  TensorType = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
  if (!TensorType) return -1;
  drop_module_from_name(TensorType);
  return PyModule_AddObjectRef(module, "Tensor", as_object(TensorType));
}

}  // namespace rushlight
