// The Tensor type: construction, life cycle, and the members about its storage. leaf.cpp has the
// members about the gradient, to_python.cpp the conversions to Python values. Python attaches the
// ops (arithmetic, views, reductions); the slots of operators.cpp only call the Op.
#include <cstring>

#include "core/capture.h"
#include "core/accelerator.h"
#include "core/layout.h"
#include "core/lazy.h"
#include "core/override.h"
#include "core/pytorch.h"
#include "core/tensor.h"

#include <structmember.h>

namespace rushlight {

PyTypeObject* TensorType = nullptr;
constinit Changes changes;

// ---------------------------------------------------------------- life cycle

namespace {

void clear_fields(Tensor* t) {
  init_layout(t);
  t->grad_fn.init();
  t->grad.init();
  t->output_nr = 0;
  t->flags = 0;
  t->dtype = DType::Count;
  t->history_version = 0;
  t->version = nullptr;
  t->accumulator = nullptr;
  t->base = nullptr;
  t->hooks.init();
  t->grad_dtype.init();
  t->wrapped.init();
  t->made_in = 0;
  t->dict = nullptr;
  t->weakrefs = nullptr;
}

// Memory of tensors that are gone, for the next ones. A new tensor must not run the collector: kernels hold sizes and addresses of
// their arguments while they make results, and a finalizer might change those. (Later versions of Python collect between two
// instructions of a program only.)
#if defined(Py_GIL_DISABLED) || defined(RUSHLIGHT_SANITIZED)
constexpr int kSpare = 0;
#else
constexpr int kSpare = 256;
#endif
PyObject* spare[kSpare + 1];
int spare_count = 0;

Tensor* new_object() {
  if (kSpare && spare_count) return as_tensor(PyObject_Init(spare[--spare_count], TensorType));
#if PY_VERSION_HEX < 0x030C0000
  const int collecting = PyGC_Disable();
  Tensor* t = PyObject_GC_New(Tensor, TensorType);
  if (collecting) PyGC_Enable();
  return t;
#else
  return PyObject_GC_New(Tensor, TensorType);
#endif
}

void free_object(PyObject* self, PyTypeObject* type) {
  if (type == TensorType && spare_count < kSpare) spare[spare_count++] = self;
  else type->tp_free(self);
}

}  // namespace

Tensor* allocate_tensor(PyTypeObject* type) {
  Tensor* t;
  if (type == TensorType) {
    t = new_object();
    if (!t) return nullptr;
    clear_fields(t);
    if (modes_used.load(std::memory_order_relaxed)) {
      if (tls.inference) t->flags |= kInference;
      t->made_in = tls.transform;
    }
    PyObject_GC_Track(t);
  } else {
    t = reinterpret_cast<Tensor*>(type->tp_alloc(type, 0));  // zeroed and tracked
    if (!t) return nullptr;
    init_layout(t);
    t->dtype = DType::Count;
  }
  return t;
}

namespace {

int tensor_traverse(PyObject* self, visitproc visit, void* arg) {
  Tensor* t = as_tensor(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(t->grad_fn.peek());
  Py_VISIT(t->grad.peek());
  Py_VISIT(t->base);
  Py_VISIT(t->hooks.peek());
  Py_VISIT(t->wrapped.peek());
  Py_VISIT(t->dict);
  return 0;
}

int tensor_clear(PyObject* self) {
  Tensor* t = as_tensor(self);
  t->grad_fn.clear();
  t->grad.clear();
  Py_CLEAR(t->base);
  t->hooks.clear();
  t->wrapped.clear();
  Py_CLEAR(t->dict);
  return 0;
}

// Gradients whose tensor is being taken apart. A gradient may have a gradient of its own, and that another, a million deep: they
// wait here while the first is dropped, and are dropped in a loop.
thread_local std::vector<Ref>* dropping = nullptr;

void drop_gradient(Tensor* grad) {
  Ref owned(as_object(grad));
  if (dropping) {
    dropping->push_back(std::move(owned));
    return;
  }
  std::vector<Ref> waiting;
  dropping = &waiting;
  owned = Ref();
  while (!waiting.empty()) {
    owned = std::move(waiting.back());
    waiting.pop_back();
    owned = Ref();
  }
  dropping = nullptr;
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
  t->grad_fn.clear();
  if (t->grad) {
    Tensor* grad = t->grad.peek();
    t->grad.init();
    drop_gradient(grad);
  }
  if (t->base) Py_CLEAR(t->base);
  t->hooks.clear();
  t->wrapped.clear();
  t->grad_dtype.clear();
  if (t->dict) Py_CLEAR(t->dict);
  drop_layout(t);
  drop(t->version);
  if (t->flags & kCut) forget_site(&t->cut);
  free_object(self, type);
  Py_DECREF(type);
}

// The tensor type's own `__init__`: arguments were read by `__new__`, so any are accepted here.
int tensor_init(PyObject*, PyObject*, PyObject*) { return 0; }

PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* make = callbacks.tensor_new.get();
  if (!make) return nullptr;
  const OverridesOf quiet(Overrides::None);
  const Py_ssize_t n = PyTuple_GET_SIZE(args);
  Ref all(PyTuple_New(n + 1));
  if (!all) return nullptr;
  PyTuple_SET_ITEM(all.get(), 0, Py_NewRef(as_object(type)));
  for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(all.get(), i + 1, Py_NewRef(PyTuple_GET_ITEM(args, i)));
  return PyObject_Call(make, all.get(), kwargs);
}

}  // namespace

Tensor* become_view(Tensor* t, Tensor* source) {
  if (!t) return nullptr;
  note_path(Path::View);
  if (source->flags & kInference) {
    // Nothing is known of inference tensors that could be kept right.
    t->flags |= kInference | (source->flags & kLazy);
    hold(source->version);
    t->version = source->version;
    t->made_in = source->made_in;
    return t;
  }
  VersionCounter* v = shared_version(source);
  if (!v) {
    Py_DECREF(t);
    return nullptr;
  }
  hold(v);
  t->version = v;
  t->history_version = v->value;
  t->made_in = source->made_in;
  Tensor* root = source->base ? source->base : source;
  Py_INCREF(root);
  t->base = root;
  // At most one bit says how a view was made. An ordinary view of a special one is special in the same way.
  t->flags = (t->flags & ~kInference) | (source->flags & kLazy);
  if (tls.inference || source->flags & kInferenceView) t->flags |= kInferenceView;
  else if (!grad_enabled()) t->flags |= kNoGradView;
  else t->flags |= source->flags & kSpecialView;
  return t;
}

// ---------------------------------------------------------------- properties

namespace {

// A tensor that stands for others in a transform has no memory of its own: its level is asked. Where a conjugate or negative was put
// off, the array is a read-only copy, as a write to it would be lost.
PyObject* get_array(PyObject* self, void*) {
  Tensor* t = as_tensor(self);
  const int wrapped = is_wrapped(t);
  if (wrapped < 0) return nullptr;
  if (wrapped) return ask_levels(asked::array, self);
  if (!(t->flags & kLazy)) return array_of(t);
  const Owned<Tensor> values(values_of(t));
  return values ? read_only_array_of(values.get()) : nullptr;
}

// An array of the values, to read: the tensor's own memory, or a copy of what is on an accelerator.
PyObject* get_host_array(PyObject* self, void* closure) {
  Tensor* t = as_tensor(self);
  if (!(t->flags & kAccelerator) || t->flags & kWrapped) return get_array(self, closure);
  const Owned<Tensor> values(values_of(t));
  const Owned<Tensor> here(values ? copy_to(values.get(), DeviceType::Cpu) : nullptr);
  return here ? array_of(here.get()) : nullptr;
}

// The array as it is, for the transforms themselves: of a batch, its first element stands for the shape and the type.
// On an accelerator an array that tells the shape and the type.
PyObject* get_seen(PyObject* self, void*) {
  Tensor* t = as_tensor(self);
  return t->flags & kAccelerator ? stand_in_array(t) : array_of(t);
}

PyTypeObject* form_type = nullptr;

// The shape and the element type, of whatever has taken the tensor's calls over.
PyObject* get_form(PyObject* self, void*) {
  const Tensor* t = as_tensor(self);
  Ref form(PyStructSequence_New(form_type)), shape(shape_of(t)), ndim(PyLong_FromLong(t->ndim())),
      size(PyLong_FromSsize_t(t->numel())), dtype(Py_XNewRef(dtype_object(t->dtype)));
  if (!form || !shape || !ndim || !size || !dtype) return nullptr;
  int i = 0;
  for (Ref* each : {&shape, &ndim, &size, &dtype}) PyStructSequence_SetItem(form.get(), i++, each->release());
  return form.release();
}

int make_form_type() {
  PyStructSequence_Field fields[] = {{"shape", "the sizes of all dimensions"},
                                     {"ndim", "how many dimensions"},
                                     {"size", "how many elements"},
                                     {"dtype", "the element type"},
                                     {nullptr, nullptr}};
  PyStructSequence_Desc form = {"rushlight._core.Form", "The shape and the element type of a tensor.", fields, 4};
  form_type = PyStructSequence_NewType(&form);
  return form_type ? 0 : -1;
}

// Replaces the storage: for code that loads or resizes a tensor from outside (`resize_`, `.data = `).
int set_array(PyObject* self, PyObject* value, void*) {
  if (value && is_tensor(value)) return take_layout(as_tensor(self), as_tensor(value));
  if (!value || !is_array(value)) {
    PyErr_SetString(PyExc_TypeError, "_array must be a numpy.ndarray, or the tensor whose memory and layout to take");
    return -1;
  }
  const Owned<Tensor> memory(tensor_of(Py_NewRef(value)));
  return memory ? take_layout(as_tensor(self), memory.get()) : -1;
}

PyObject* get_is_meta(PyObject* self, void*) { return PyBool_FromLong((as_tensor(self)->flags & kMeta) != 0); }
PyObject* get_accelerator(PyObject* self, void*) {
  if (!(as_tensor(self)->flags & kAccelerator)) Py_RETURN_NONE;
  return PyLong_FromLong(accelerator_number(as_tensor(self)->device()));
}
PyObject* get_contiguous(PyObject* self, void*) { return PyBool_FromLong(as_tensor(self)->is_contiguous()); }
PyObject* get_offset(PyObject* self, void*) { return PyLong_FromSsize_t(as_tensor(self)->offset() / as_tensor(self)->item()); }

PyObject* get_shape(PyObject* self, void*) { return shape_of(as_tensor(self)); }

PyObject* get_dtype(PyObject* self, void*) { return Py_XNewRef(dtype_object(as_tensor(self)->dtype)); }
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLong(as_tensor(self)->ndim()); }

// Refuses to assign to a read-only attribute, with the class name that torch's own message has.
int refuse_assignment(PyObject*, PyObject*, void* name) {
  PyErr_Format(PyExc_AttributeError, "attribute '%s' of 'torch._C.TensorBase' objects is not writable",
               static_cast<const char*>(name));
  return -1;
}

Tensor* alias(Tensor* t, bool share_version) {
  VersionCounter* v = nullptr;
  // As torch: an inference tensor counts no writes, but what is detached from one outside of the mode does.
  const bool inference = t->flags & kInference;
  if (share_version && !inference && !(v = shared_version(t))) return nullptr;
  Tensor* r = new_alias(t);
  if (!r) return nullptr;
  hold(v);
  r->version = v;
  r->made_in = t->made_in;
  r->flags = t->flags & (kInference | kLazy | kElsewhere);
  if (inference && !tls.inference && !shared_version(r)) {
    Py_DECREF(r);
    return nullptr;
  }
  if (requires_grad(t)) cut_here(r, Cut::Detached);
  else if (t->flags & kCut) inherit_cut(r, t);
  return r;
}

PyObject* get_data(PyObject* self, void*) {
  Tensor* t = as_tensor(self);
  const int wrapped = is_wrapped(t);
  if (wrapped < 0) return nullptr;
  if (wrapped) return ask_levels(asked::data, self);
  return as_object(alias(t, false));
}

int set_data(PyObject* self, PyObject* value, void*) {
  Tensor* t = as_tensor(self);
  if (!value) {
    PyErr_SetString(PyExc_RuntimeError, "Deleting tensor data is not allowed. Delete tensor instead!");
    return -1;
  }
  if (!is_tensor(value)) {
    PyErr_Format(PyExc_TypeError, "Variable data has to be a tensor, but got %s", class_name(value).c_str());
    return -1;
  }
  Tensor* v = as_tensor(value);
  const int wrapped[] = {is_wrapped(t), is_wrapped(v)};
  if (wrapped[0] < 0 || wrapped[1] < 0) return -1;
  if (wrapped[0] || wrapped[1]) {
    Ref done(ask_levels(asked::set_data, self, value));
    return done ? 0 : -1;
  }
  const bool moved = t->device() != v->device();
  if ((t->flags ^ v->flags) & kMeta) {
    PyErr_Format(PyExc_RuntimeError,
                 "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type. One of "
                 "them is on the device %s, the other on %s.",
                 device_name(t->device()), device_name(v->device()));
    return -1;
  }
  if (requires_grad(t) && !is_differentiable(v->dtype)) {
    PyErr_SetString(PyExc_RuntimeError, "data set to a tensor that requires gradients must be floating point or complex dtype");
    return -1;
  }
  if (moved || t->dtype != v->dtype) t->accumulator = nullptr;  // gradients of the old type are none of the new tensor's
  t->flags = (t->flags & ~kLazy) | (v->flags & kLazy);
  return take_layout(t, v);
}

PyObject* get_output_nr(PyObject* self, void*) { return PyLong_FromUnsignedLong(as_tensor(self)->output_nr); }
PyObject* get_retains_grad(PyObject* self, void*) { return PyBool_FromLong((as_tensor(self)->flags & kRetainsGrad) != 0); }

PyObject* get_version(PyObject* self, void*) {
  Tensor* t = as_tensor(self);
  if (t->flags & kWrapped) return ask_levels(asked::version, self);
  if (t->flags & kInference && !t->version) {
    PyErr_SetString(PyExc_RuntimeError, "Inference tensors do not track version counter.");
    return nullptr;
  }
  ends_capture("reads a tensor's version");
  return PyLong_FromUnsignedLong(version_of(t));
}

PyObject* get_base(PyObject* self, void*) {
  Tensor* t = as_tensor(self);
  return Py_NewRef(t->base ? as_object(t->base) : Py_None);
}

PyObject* get_hooks(PyObject* self, void*) {
  PyObject* hooks = as_tensor(self)->hooks.peek();
  return Py_NewRef(hooks ? hooks : Py_None);
}

int set_hooks(PyObject* self, PyObject* value, void*) {
  note_metadata();
  as_tensor(self)->hooks.set(value == Py_None ? nullptr : Py_XNewRef(value));
  return 0;
}

PyObject* get_wrapped(PyObject* self, void*) {
  Tensor* t = as_tensor(self);
  if (is_wrapped(t) < 0) return nullptr;
  return Py_NewRef(t->wrapped ? t->wrapped.peek() : Py_None);
}

PyObject* get_attached(PyObject* self, void*) {
  Tensor* t = as_tensor(self);
  return Py_NewRef(t->wrapped ? t->wrapped.peek() : Py_None);
}

// Attaches the (flag, object) of a transform or of forward mode; (0, None) removes it.
int set_wrapped(PyObject* self, PyObject* value, void*) {
  Tensor* t = as_tensor(self);
  unsigned flag;
  PyObject* object;
  if (!value || !PyTuple_Check(value)) {
    PyErr_SetString(PyExc_TypeError, "_wrapped is set to a pair (flag, object), and not deleted");
    return -1;
  }
  if (!PyArg_ParseTuple(value, "IO", &flag, &object)) return -1;
  t->flags = (t->flags & ~kWrapped) | (flag & kWrapped);
  note_metadata();
  t->wrapped.set(object == Py_None ? nullptr : Py_NewRef(object));
  return 0;
}

PyGetSetDef kGetSet[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"_array", guarded<get_array>, guarded<set_array>, "The numpy.ndarray that holds the values (no copy).", nullptr},
    {"_host_array", guarded<get_host_array>, nullptr,
     "A numpy.ndarray of the values, to read; a copy of what is on an accelerator.", nullptr},
    {"_on_meta", guarded<get_is_meta>, nullptr, "Whether it has a shape but no elements.", nullptr},
    {"_accelerator", guarded<get_accelerator>, nullptr, "The number of the accelerator that it is on, or None.", nullptr},
    {"_contiguous", guarded<get_contiguous>, nullptr, "Whether the elements lie in row-major order, without gaps.", nullptr},
    {"_offset", guarded<get_offset>, nullptr, "How many elements of the storage come before the first.", nullptr},
    {"_form", guarded<get_form>, nullptr, "Its shape and element type.", nullptr},
    {"_seen", guarded<get_seen>, nullptr, "The array behind a tensor, whatever a transform attached.", nullptr},
    {"shape", guarded<gated_get<"shape", get_shape>>, guarded<refuse_assignment>, "The sizes of all dimensions, a torch.Size.",
     const_cast<char*>("shape")},
    {"dtype", guarded<gated_get<"dtype", get_dtype>>, guarded<refuse_assignment>, "The element type.", const_cast<char*>("dtype")},
    {"ndim", guarded<gated_get<"ndim", get_ndim>>, guarded<refuse_assignment>, "The number of dimensions.",
     const_cast<char*>("ndim")},
    {"grad_fn", guarded<gated_get<"grad_fn", get_grad_fn>>, guarded<refuse_assignment>,
     "The node that made this tensor; None for leaves.", const_cast<char*>("grad_fn")},
    {"requires_grad", guarded<gated_get<"requires_grad", get_requires_grad>>,
     guarded<gated_set<"requires_grad", set_requires_grad>>, "Whether gradients flow to this tensor.", nullptr},
    {"is_leaf", guarded<gated_get<"is_leaf", get_is_leaf>>, guarded<refuse_assignment>, "Whether no recorded op made this tensor.",
     const_cast<char*>("is_leaf")},
    {"grad", guarded<gated_get<"grad", get_grad>>, guarded<gated_set<"grad", set_grad>>, "The accumulated gradient, or None.",
     nullptr},
    {"_grad", guarded<get_grad>, guarded<set_grad>, "The accumulated gradient, or None.", nullptr},
    {"grad_dtype", guarded<gated_get<"grad_dtype", get_grad_dtype>>, guarded<gated_set<"grad_dtype", set_grad_dtype>>,
     "The dtype .grad must have; None allows any.", nullptr},
    {"data", guarded<gated_get<"data", get_data>>, guarded<gated_set<"data", set_data>>,
     "The same storage without history and with a version counter of its own.", nullptr},
    {"output_nr", guarded<gated_get<"output_nr", get_output_nr>>, guarded<refuse_assignment>, "Which output of grad_fn this is.",
     const_cast<char*>("output_nr")},
    {"retains_grad", guarded<gated_get<"retains_grad", get_retains_grad>>, guarded<refuse_assignment>,
     "Whether a non-leaf keeps its gradient.", const_cast<char*>("retains_grad")},
    {"_version", guarded<gated_get<"_version", get_version>>, guarded<refuse_assignment>,
     "How often the storage was written in place.", const_cast<char*>("_version")},
    {"_base", guarded<gated_get<"_base", get_base>>, guarded<refuse_assignment>, "Of a view: the tensor it is a view of.",
     const_cast<char*>("_base")},
    {"_hooks", guarded<get_hooks>, guarded<set_hooks>, "A leaf's hooks object.", nullptr},
    {"_wrapped", guarded<get_wrapped>, guarded<set_wrapped>, "What a transform or forward-mode attached.", nullptr},
    {"_attached", guarded<get_attached>, nullptr, "The same, of a view that was not told of its root's yet: None.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

// ---------------------------------------------------------------- methods

PyObject* detached(PyObject* self) {
  Tensor* t = as_tensor(self);
  const int wrapped = is_wrapped(t);
  if (wrapped < 0) return nullptr;
  if (wrapped) return ask_levels(asked::detach, self);
  note_path(Path::View);
  return as_object(alias(t, true));
}

PyObject* method_detach(PyObject* self, PyObject*) {
  if (!observed()) return detached(self);
  ObservedWork work;
  return work.begin("detach", self) ? work.end(detached(self)) : nullptr;
}

// size() and stride(): the whole tuple, or one dimension's.
PyObject* one_or_all(PyObject* const* args, Py_ssize_t n, PyObject* kwnames, const char* format, int ndim, const Py_ssize_t* values,
                     bool as_size) {
  static const char* names[] = {"dim", nullptr};
  PyObject* dim = n == 1 ? args[0] : Py_None;
  const char* function = strchr(format, ':') + 1;
  if (n > 1) return PyErr_Format(PyExc_TypeError, "%s() takes from 0 to 1 positional arguments but %zd were given", function, n);
  Ref tuple, dict;
  if (kwnames && (!packed(args, n, kwnames, &tuple, &dict) ||
                  !PyArg_ParseTupleAndKeywords(tuple.get(), dict.get(), format, const_cast<char**>(names), &dim)))
    return nullptr;
  if (dim == Py_None) {
    if (as_size) return shape_tuple(ndim, values);
    tuple = Ref(PyTuple_New(ndim));
    for (int i = 0; tuple && i < ndim; ++i) {
      PyObject* value = PyLong_FromSsize_t(values[i]);
      if (!value) return nullptr;
      PyTuple_SET_ITEM(tuple.get(), i, value);
    }
    return tuple.release();
  }
  if (!PyIndex_Check(dim)) {
    return PyErr_Format(PyExc_TypeError, "%s(): argument 'dim'%s must be int, not %s", function, n ? " (position 1)" : "",
                        Py_TYPE(dim)->tp_name);
  }
  const int d = dim_argument(dim, ndim);
  if (d < 0) return nullptr;
  if (ndim == 0) {
    PyErr_SetString(PyExc_IndexError, "Dimension specified as 0 but tensor has no dimensions");
    return nullptr;
  }
  return PyLong_FromSsize_t(values[d]);
}

PyObject* method_size(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  const Layout l(as_tensor(self));  // reading `dim` may run code that gives the tensor another one
  return one_or_all(args, n, kwnames, "|O:size", l.ndim, l.shape, true);
}

PyObject* method_stride(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  Layout l(as_tensor(self));
  const Py_ssize_t item = as_tensor(self)->item();
  for (int i = 0; i < l.ndim; ++i) l.strides[i] /= item;
  return one_or_all(args, n, kwnames, "|O:stride", l.ndim, l.strides, false);
}

PyObject* method_is_contiguous(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  const Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  if (n) {
    return PyErr_Format(PyExc_TypeError, "is_contiguous() takes 0 positional arguments but %zd %s given", n,
                        n > 1 ? "were" : "was");
  }
  for (Py_ssize_t k = 0; k < named; ++k) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    if (PyUnicode_CompareWithASCIIString(name, "memory_format"))
      return PyErr_Format(PyExc_TypeError, "is_contiguous() got an unexpected keyword argument '%U'", name);
  }
  const int rank = named ? rank_of_format(args[0]) : 0;
  if (rank < 0) {
    return PyErr_Format(PyExc_TypeError, "is_contiguous(): argument 'memory_format' must be torch.memory_format, not %s",
                        Py_TYPE(args[0])->tp_name);
  }
  const Tensor* t = as_tensor(self);
  return PyBool_FromLong(rank ? t->ndim() == rank && is_channels_last(t) : t->is_contiguous());
}

PyObject* method_storage_offset(PyObject* self, PyObject*) { return get_offset(self, nullptr); }
PyObject* method_dim(PyObject* self, PyObject*) { return get_ndim(self, nullptr); }
PyObject* method_numel(PyObject* self, PyObject*) { return PyLong_FromSsize_t(as_tensor(self)->numel()); }
PyObject* method_element_size(PyObject* self, PyObject*) { return PyLong_FromSsize_t(as_tensor(self)->item()); }
PyObject* method_data_ptr(PyObject* self, PyObject*) {
  Ref held;
  const Tensor* t = memory_of(self, &held);
  if (!t) return nullptr;
  ends_capture("reads a tensor's address");
  return PyLong_FromVoidPtr(t->numel() && t->storage()->data ? t->data() : nullptr);
}
PyObject* method_is_view(PyObject* self, PyObject*) {
  return PyBool_FromLong(as_tensor(self)->base && !(as_tensor(self)->flags & kInference));
}
PyObject* method_is_inference(PyObject* self, PyObject*) { return PyBool_FromLong(as_tensor(self)->flags & kInference); }

PyObject* method_bump(PyObject* self, PyObject*) {
  if (bump_version(as_tensor(self)) < 0) return nullptr;
  Py_RETURN_NONE;
}

// Cuts the tensor off its history, in place.
PyObject* method_cut(PyObject* self, PyObject*) {
  Tensor* t = as_tensor(self);
  if (requires_grad(t)) cut_here(t, Cut::Detached);
  t->output_nr = 0;
  t->flags &= ~(kRequiresGrad | kRetainsGrad);
  note_metadata();
  t->grad_fn.clear();
  Py_RETURN_NONE;
}

// Later calls are recorded with a new AccumulateGrad of this leaf.
PyObject* method_forget_accumulator(PyObject* self, PyObject*) {
  as_tensor(self)->accumulator = nullptr;
  note_metadata();
  Py_RETURN_NONE;
}

PyObject* method_set_flag(PyObject* self, PyObject* args) {
  unsigned flag;
  int on;
  if (!PyArg_ParseTuple(args, "Ip", &flag, &on)) return nullptr;
  Tensor* t = as_tensor(self);
  t->flags = on ? (t->flags | flag) : (t->flags & ~flag);
  note_metadata();
  Py_RETURN_NONE;
}

PyObject* method_get_flags(PyObject* self, PyObject*) { return PyLong_FromUnsignedLong(as_tensor(self)->flags); }

PyObject* method_as_subclass(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"cls", nullptr};
  PyObject* cls = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:as_subclass", const_cast<char**>(names), &cls)) return nullptr;
  if (!cls) {
    PyErr_SetString(PyExc_TypeError, "as_subclass() missing 1 required positional arguments: \"cls\"");
    return nullptr;
  }
  return check_subclass(cls) < 0 ? nullptr : as_subclass(self, reinterpret_cast<PyTypeObject*>(cls));
}

constexpr const char* kAsSubclass =
    "The same tensor as an instance of a subclass, with its history.\n\n"
    ">>> class Image(torch.Tensor):\n...     pass\n"
    ">>> type(torch.zeros(2, 2).as_subclass(Image)).__name__\n'Image'";

PyMethodDef kMethods[] = {
    {"detach", method_of<gated<"detach", method_detach>>(), METH_NOARGS,
     "The same storage without history; the version counter is shared."},
    {"requires_grad_", method_of<gated_keywords<"requires_grad_", method_requires_grad_>>(), METH_VARARGS | METH_KEYWORDS,
     "Sets requires_grad; returns the tensor."},
    {"size", method_of<gated_fast<"size", method_size>>(), METH_FASTCALL | METH_KEYWORDS,
     "The shape, or the size of one dimension."},
    {"is_contiguous", method_of<gated_fast<"is_contiguous", method_is_contiguous>>(), METH_FASTCALL | METH_KEYWORDS,
     "Whether the elements lie in memory in the order of the shape (or of a memory format).\n\n"
     ">>> x = torch.zeros(2, 3)\n>>> x.is_contiguous(), x.T.is_contiguous()\n(True, False)"},
    {"storage_offset", method_of<gated<"storage_offset", method_storage_offset>>(), METH_NOARGS,
     "How many elements of the storage come before the first.\n\n>>> torch.arange(5)[2:].storage_offset()\n2"},
    {"stride", method_of<gated_fast<"stride", method_stride>>(), METH_FASTCALL | METH_KEYWORDS, "Strides in elements, all or one."},
    {"dim", method_of<gated<"dim", method_dim>>(), METH_NOARGS, "The number of dimensions."},
    {"ndimension", method_of<gated<"ndimension", method_dim>>(), METH_NOARGS, "The number of dimensions."},
    {"numel", method_of<gated<"numel", method_numel>>(), METH_NOARGS, "The number of elements."},
    {"nelement", method_of<gated<"numel", method_numel>>(), METH_NOARGS, "The number of elements."},
    {"element_size", method_of<gated<"element_size", method_element_size>>(), METH_NOARGS, "Bytes an element."},
    {"data_ptr", method_of<gated<"data_ptr", method_data_ptr>>(), METH_NOARGS, "The address of the first element."},
    {"_is_view", method_of<gated<"_is_view", method_is_view>>(), METH_NOARGS,
     "Whether this is a differentiable view of another tensor."},
    {"is_inference", method_of<gated<"is_inference", method_is_inference>>(), METH_NOARGS,
     "Whether this was made in inference mode."},
    {"item", method_of<gated<"item", method_item>>(), METH_NOARGS, "The value of a tensor of one element as a Python number."},
    {"numpy", method_of<gated_keywords<"numpy", method_numpy>>(), METH_VARARGS | METH_KEYWORDS,
     "The values as a numpy.ndarray that shares memory."},
    {"__array__", method_of<gated_keywords<"__array__", method_array>>(), METH_VARARGS | METH_KEYWORDS, "For numpy.asarray."},
    {"as_subclass", method_of<method_as_subclass>(), METH_VARARGS | METH_KEYWORDS, kAsSubclass},
    {"__torch_function__", method_of<default_torch_function>(), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "What becomes of a call with instances of a subclass: the call itself, with results of that class."},
    {"_bump_version", method_of<method_bump>(), METH_NOARGS, "Counts one in-place write."},
    {"_cut", method_of<method_cut>(), METH_NOARGS, "Drops the history, in place."},
    {"_forget_accumulator", method_of<method_forget_accumulator>(), METH_NOARGS, "Parts a leaf from what was recorded of it."},
    {"_set_flag", method_of<method_set_flag>(), METH_VARARGS, "Sets or clears a bit of the core's flags."},
    {"_flags", method_of<method_get_flags>(), METH_NOARGS, "The core's flags."},
    {nullptr, nullptr, 0, nullptr},
};

// ---------------------------------------------------------------- slots

Py_ssize_t tensor_length(PyObject* self) {
  Tensor* a = as_tensor(self);
  if (a->ndim() == 0) {
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
  }
  return a->size(0);
}

PyObject* call_callback(const Callback& callback, PyObject* a, PyObject* b = nullptr, PyObject* c = nullptr) {
  PyObject* f = callback.get();
  if (!f) return nullptr;
  PyObject* args[] = {a, b, c};
  return PyObject_Vectorcall(f, args, c ? 3 : b ? 2 : 1, nullptr);
}

PyObject* tensor_iter(PyObject* self) { return call_callback(callbacks.iter, self); }
PyObject* tensor_repr(PyObject* self) { return call_callback(callbacks.repr, self); }

// As in torch: what id() gives, which is never -1.
Py_hash_t tensor_hash(PyObject* self) { return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(self)); }

PyMemberDef kMembers[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(Tensor, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Tensor, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

// An attribute that a tensor has not is said with what PyTorch has; in C, because a class with a Python __getattr__ makes each look-up
// of a method twice as dear.
PyObject* tensor_getattro(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError) || !callbacks.missing_attribute.is_registered()) return found;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);  // before the look-up, which takes a pending error for its own
  // The attribute exists, and its getter failed; or it is one of those that NumPy asks every object for.
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) PyErr_Clear();
  if (_PyType_Lookup(Py_TYPE(self), name) || (text && !strncmp(text, "__array_", 8))) {
    PyErr_Restore(type, value, traceback);
    return nullptr;
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  return PyObject_CallFunctionObjArgs(callbacks.missing_attribute.get(), self, name, nullptr);
}

}  // namespace

int init_tensor(PyObject* module) {
  if (make_form_type() < 0) return -1;
  std::vector<PyType_Slot> slots = {
      {Py_tp_doc, const_cast<char*>("A multi-dimensional array that can record how it was computed.")},
      {Py_tp_new, slot_of<tensor_new>()},
      {Py_tp_init, slot_of<tensor_init>()},
      {Py_tp_dealloc, slot_of<tensor_dealloc>()},
      {Py_tp_traverse, slot_of<tensor_traverse>()},
      {Py_tp_clear, slot_of<tensor_clear>()},
      {Py_tp_getset, kGetSet},
      {Py_tp_methods, kMethods},
      {Py_tp_members, kMembers},
      {Py_tp_getattro, slot_of<tensor_getattro>()},
      {Py_tp_hash, slot_of<tensor_hash>()},
      {Py_tp_repr, slot_of<gated_unary<"__repr__", tensor_repr>>()},
      {Py_tp_iter, slot_of<tensor_iter>()},
      {Py_mp_subscript, slot_of<tensor_subscript>()},
      {Py_mp_ass_subscript, slot_of<tensor_assign>()},
      {Py_mp_length, slot_of<gated_length<"__len__", tensor_length>>()},
  };
  add_conversion_slots(&slots);
  add_operator_slots(&slots);
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"torch.Tensor", sizeof(Tensor), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                      slots.data()};
  TensorType = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
  if (!TensorType) return -1;
  drop_module_from_name(TensorType);
  return PyModule_AddObjectRef(module, "Tensor", as_object(TensorType));
}

}  // namespace rushlight
