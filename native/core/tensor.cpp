// The Tensor type: construction, life cycle, properties and the conversions a program meets on every line. Everything that is
// an op (arithmetic, views, reductions) is attached from Python: the number slots here only find the Op and call it.
#include <cstring>
#include <string>

#include "core/core.h"

#include <structmember.h>

namespace rushlight {

PyTypeObject* TensorType = nullptr;

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
  // How a view was made is said by one bit at most; an ordinary view of a special one is special in the same way.
  t->flags = (t->flags & ~kInference) | (source->flags & kInference);
  if (tls.inference && !(source->flags & kInference)) t->flags |= kInferenceView;
  else if (!grad_enabled()) t->flags |= kNoGradView;
  else t->flags |= source->flags & kSpecialView;
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

// What assigning to a read-only attribute says, with the class name that torch's own message has.
int refuse_assignment(PyObject*, PyObject*, void* name) {
  PyErr_Format(PyExc_AttributeError, "attribute '%s' of 'torch._C.TensorBase' objects is not writable", static_cast<const char*>(name));
  return -1;
}

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
  if (t->flags & (kTangent | kTransformed)) {
    PyObject* f = callback("watched_requires_grad");
    PyObject* args[] = {as_object(t), on ? Py_True : Py_False};
    Ref done(f ? PyObject_Vectorcall(f, args, 2, nullptr) : nullptr);
    if (!done) return -1;
  }
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
                 "only Tensors of floating point %sdtype can require gradients; this one is %s. Convert it first, for example "
                 "with .float()",
                 by_method ? "" : "and complex ", c_name(t->dtype));
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
    {"grad_fn", get_grad_fn, refuse_assignment, "The node that made this tensor; None for leaves.", const_cast<char*>("grad_fn")},
    {"requires_grad", get_requires_grad, set_requires_grad, "Whether gradients flow to this tensor.", nullptr},
    {"is_leaf", get_is_leaf, refuse_assignment, "Whether no recorded op made this tensor.", const_cast<char*>("is_leaf")},
    {"grad", get_grad, set_grad, "The accumulated gradient, or None.", nullptr},
    {"_grad", get_grad, set_grad, "The accumulated gradient, or None.", nullptr},
    {"grad_dtype", get_grad_dtype, set_grad_dtype, "The dtype .grad must have; None allows any.", nullptr},
    {"data", get_data, set_data, "The same storage without history and with a version counter of its own.", nullptr},
    {"output_nr", get_output_nr, refuse_assignment, "Which output of grad_fn this is.", const_cast<char*>("output_nr")},
    {"retains_grad", get_flag, nullptr, "Whether a non-leaf keeps its gradient.", reinterpret_cast<void*>(kRetainsGrad)},
    {"_version", get_version, refuse_assignment, "How often the storage was written in place.", const_cast<char*>("_version")},
    {"_base", get_base, refuse_assignment, "Of a view: the tensor it is a view of.", const_cast<char*>("_base")},
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
  if (!PyIndex_Check(dim)) {
    PyErr_Format(PyExc_TypeError, "%s(): argument 'dim' (position 1) must be int, not %s", strchr(format, ':') + 1,
                 Py_TYPE(dim)->tp_name);
    return nullptr;
  }
  Py_ssize_t d;
  if (normalize_dim(dim, ndim, &d) < 0) return nullptr;
  if (ndim == 0) {
    PyErr_SetString(PyExc_IndexError, "Dimension specified as 0 but tensor has no dimensions");
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
  if (PyArray_SIZE(a) == 0) {
    // NumPy leaves the strides of empty arrays free; torch has a rule for them.
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
  Ref memory;
  if (as_tensor(self)->flags & (kTangent | kTransformed)) {
    PyObject* f = callback("watched_memory");
    memory = Ref(f ? PyObject_CallOneArg(f, self) : nullptr);
    if (!(self = memory.get())) return nullptr;
  }
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
  std::vector<PyType_Slot> slots = {
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
      {Py_mp_subscript, slot(tensor_subscript)},
      {Py_mp_ass_subscript, slot(tensor_assign)},
      {Py_mp_length, slot(tensor_length)},
      {Py_sq_length, slot(tensor_length)},
      {Py_sq_item, slot(tensor_item_at)},
      {Py_nb_bool, slot(tensor_bool)},
      {Py_nb_float, slot(tensor_float)},
      {Py_nb_int, slot(tensor_int)},
      {Py_nb_index, slot(tensor_index)},
  };
  add_operator_slots(&slots);
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"torch.Tensor", sizeof(Tensor), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots.data()};
  TensorType = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
  if (!TensorType) return -1;
  drop_module_from_name(TensorType);
  return PyModule_AddObjectRef(module, "Tensor", as_object(TensorType));
}

}  // namespace rushlight
