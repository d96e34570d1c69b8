// The functions of rushlight._core over tensors, for the Python of this library: a tensor made from an array, from sizes or from
// another tensor, and facts that no public attribute gives.
#include <algorithm>

#include "core/accelerator.h"
#include "core/accelerator_repeats.h"
#include "core/layout.h"
#include "core/lazy.h"
#include "core/tensor.h"

namespace rushlight {

namespace {

int check_can_require_grad(DType dtype) {
  if (is_differentiable(dtype)) return 0;
  PyErr_SetString(PyExc_RuntimeError, "Only Tensors of floating point and complex dtype can require gradients");
  return -1;
}

}  // namespace

Tensor* tensor_argument(PyObject* o) {
  if (is_tensor(o)) return as_tensor(o);
  PyErr_SetString(PyExc_TypeError, "expected a Tensor");
  return nullptr;
}

int check_subclass(PyObject* cls) {
  if (!PyType_Check(cls)) {
    PyErr_Format(PyExc_TypeError, "cls must be a type (got %s)", Py_TYPE(cls)->tp_name);
    return -1;
  }
  if (!PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), TensorType)) {
    PyErr_Format(PyExc_TypeError,
                 "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your class "
                 "inherits from Tensor. This one is %R.",
                 cls);
    return -1;
  }
  return 0;
}

PyObject* as_subclass(PyObject* tensor, PyTypeObject* cls) {
  Op* alias = callbacks.alias.op();
  Ref made(alias ? call_op(alias, tensor) : nullptr);
  if (!made || cls == TensorType) return made.release();
  Tensor* from = as_tensor(made.get());
  Tensor* t = allocate_tensor(cls);
  if (!t) return nullptr;
  if (take_layout(t, from) < 0) {
    Py_DECREF(t);
    return nullptr;
  }
  t->grad_fn.init(from->grad_fn.own().release());
  t->output_nr = from->output_nr;
  t->flags = from->flags & ~(kCut | kCutReason);
  inherit_cut(t, from);
  hold(from->version);
  t->version = from->version;
  t->history_version = from->history_version;
  t->made_in = from->made_in;
  Py_XINCREF(from->base);
  t->base = from->base;
  t->wrapped.init(from->wrapped.own().release());
  return as_object(t);
}

namespace {

PyObject* wrapped(Tensor* (*make)(PyObject*), PyObject* const* args, Py_ssize_t n) {
  if (n < 1 || n > 2 || !is_array(args[0])) {
    PyErr_SetString(PyExc_TypeError, "wrap(array, requires_grad=False): array must be a numpy.ndarray");
    return nullptr;
  }
  Tensor* t = make(Py_NewRef(args[0]));
  if (t && n == 2 && PyObject_IsTrue(args[1])) {
    if (check_can_require_grad(t->dtype) < 0) {
      Py_DECREF(t);
      return nullptr;
    }
    t->flags |= kRequiresGrad;
  }
  return as_object(t);
}

// wrap(array, requires_grad=False): a new leaf on an ndarray's memory.
PyObject* wrap(PyObject*, PyObject* const* args, Py_ssize_t n) { return wrapped(tensor_of, args, n); }
// A leaf with memory that nobody wrote, or none; strides in elements, or row-major.
PyObject* empty_there(DeviceType device, PyObject* args) {
  PyObject *sizes, *steps = Py_None;
  int code, wants = 0;
  if (!PyArg_ParseTuple(args, "O!i|Op", &PyTuple_Type, &sizes, &code, &steps, &wants)) return nullptr;
  const int ndim = static_cast<int>(std::min<Py_ssize_t>(PyTuple_GET_SIZE(sizes), kMaxDims + 1));
  if (code < 0 || code >= static_cast<int>(DType::Count) ||
      (steps != Py_None && (!PyTuple_Check(steps) || PyTuple_GET_SIZE(steps) != ndim))) {
    PyErr_SetString(PyExc_TypeError, "empty_meta(sizes, dtype code, strides=None, requires_grad=False)");
    return nullptr;
  }
  const DType dtype = static_cast<DType>(code);
  if (ndim > kMaxDims) return as_object(new_tensor(dtype, ndim, nullptr, device));
  Py_ssize_t shape[kMaxDims], strides[kMaxDims];
  for (int i = 0; i < ndim; ++i) {
    shape[i] = size_argument(PyTuple_GET_ITEM(sizes, i));
    strides[i] = steps == Py_None ? 0 : size_argument(PyTuple_GET_ITEM(steps, i));
    if (PyErr_Occurred()) return nullptr;
    if (shape[i] < 0 || strides[i] < 0) {
      PyErr_SetString(PyExc_ValueError, "empty_meta(): sizes and strides are not negative");
      return nullptr;
    }
    if (__builtin_mul_overflow(strides[i], item_size(dtype), &strides[i])) {
      PyErr_SetString(PyExc_RuntimeError, "Storage size calculation overflowed: a stride has more bytes than 64 bits can count");
      return nullptr;
    }
  }
  if (wants && check_can_require_grad(dtype) < 0) return nullptr;
  Tensor* t = steps == Py_None ? new_tensor(dtype, ndim, shape, device) : new_strided(dtype, ndim, shape, strides, device);
  if (t && wants) t->flags |= kRequiresGrad;
  return as_object(t);
}

// empty_meta(sizes, dtype code, strides=None, requires_grad=False)
PyObject* empty_meta(PyObject*, PyObject* args) { return empty_there(DeviceType::Meta, args); }

// empty_accelerated(number, sizes, ...)
PyObject* empty_accelerated(PyObject*, PyObject* args) {
  const long number = PyTuple_GET_SIZE(args) ? PyLong_AsLong(PyTuple_GET_ITEM(args, 0)) : 0;
  if (PyErr_Occurred()) return nullptr;
  if (number < 0 || number >= kMostAccelerators || !devices::facts_of(static_cast<int>(number))) {
    PyErr_SetString(PyExc_ValueError, "empty_accelerated(): no such device");
    return nullptr;
  }
  const Ref rest(PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args)));
  PyObject* made = rest ? empty_there(accelerator_at(static_cast<int>(number)), rest.get()) : nullptr;
  repeats::note_made(made);
  return made;
}

// cast(tensor, dtype code): its values as another type, in memory of their own, without a history.
PyObject* cast_function(PyObject*, PyObject* args) {
  PyObject* o;
  int code;
  if (!PyArg_ParseTuple(args, "O!i", TensorType, &o, &code)) return nullptr;
  if (code < 0 || code >= static_cast<int>(DType::Count)) {
    PyErr_SetString(PyExc_ValueError, "cast(tensor, dtype code)");
    return nullptr;
  }
  return as_object(cast(as_tensor(o), static_cast<DType>(code)));
}

// like_strides(tensor): the strides, in elements, of a new tensor like this one; None where they are row-major.
PyObject* like_strides_of(PyObject*, PyObject* o) {
  if (!is_tensor(o)) {
    PyErr_SetString(PyExc_TypeError, "like_strides(tensor)");
    return nullptr;
  }
  const Tensor* t = as_tensor(o);
  Py_ssize_t strides[kMaxDims], rows[kMaxDims], numel;
  like_strides(t, 1, strides);
  contiguous_strides(t->ndim(), t->sizes(), 1, rows, &numel);
  if (same_sizes(t->ndim(), strides, rows)) Py_RETURN_NONE;
  return shape_tuple(t->ndim(), strides);
}

// is_channels_last(tensor): whether the elements are dense in this order.
// suggests_channels_last(tensor): whether the strides are in this order, and results follow.
PyObject* is_channels_last_function(PyObject*, PyObject* o) {
  return PyBool_FromLong(is_tensor(o) && is_channels_last(as_tensor(o)));
}
PyObject* suggests_channels_last_function(PyObject*, PyObject* o) {
  return PyBool_FromLong(is_tensor(o) && suggests_channels_last(as_tensor(o)));
}

// wrap_data(array, requires_grad=False): the same around data of the program's own; a gradient that ends there can say so.
PyObject* wrap_data(PyObject*, PyObject* const* args, Py_ssize_t n) {
  PyObject* t = wrapped(tensor_of_data, args, n);
  if (t && !(as_tensor(t)->flags & kRequiresGrad)) cut_here(as_tensor(t), Cut::FromData);
  return t;
}

PyObject* is_array_function(PyObject*, PyObject* o) { return PyBool_FromLong(is_array(o)); }

// wrap_plain(array): the same of one plain array; NotImplemented for any other call.
PyObject* wrap_plain(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  Tensor* t = n == 1 && !kwnames ? tensor_of_plain(args[0]) : nullptr;
  if (!t && PyErr_Occurred()) return nullptr;
  if (!t) Py_RETURN_NOTIMPLEMENTED;
  cut_here(t, Cut::FromData);
  return as_object(t);
}

// make_subclass(cls, tensor, requires_grad): an instance of a Tensor subclass that shares the storage.
PyObject* make_subclass(PyObject*, PyObject* args) {
  PyObject *cls, *source;
  int wants = 0;
  if (!PyArg_ParseTuple(args, "OO|p", &cls, &source, &wants)) return nullptr;
  if (check_subclass(cls) < 0) return nullptr;
  if (!is_tensor(source)) {
    return PyErr_Format(PyExc_TypeError, "_make_subclass(): argument 'data' (position 2) must be Tensor, not %s",
                        Py_TYPE(source)->tp_name);
  }
  Tensor* from = as_tensor(source);
  if (wants && check_can_require_grad(from->dtype) < 0) return nullptr;
  Tensor* t = allocate_tensor(reinterpret_cast<PyTypeObject*>(cls));
  if (!t) return nullptr;
  VersionCounter* v = shared_version(from);
  if (!v || take_layout(t, from) < 0) {
    Py_DECREF(t);
    return nullptr;
  }
  hold(v);
  t->version = v;
  // A subclass's instance of a wrapped tensor is wrapped as well.
  t->flags = (from->flags & (kInference | kNotPlain)) | (wants ? kRequiresGrad : 0u);
  t->wrapped.init(from->wrapped.own().release());
  t->made_in = from->made_in;
  return as_object(t);
}

// wrap_view(array, source): a tensor of `array` that shares `source`'s version counter and base.
PyObject* wrap_view_function(PyObject*, PyObject* args) {
  PyObject *array, *source;
  if (!PyArg_ParseTuple(args, "OO", &array, &source)) return nullptr;
  if (!(is_array(array) || is_tensor(array)) || !is_tensor(source)) {
    PyErr_SetString(PyExc_TypeError, "wrap_view(array, source): an ndarray and a Tensor");
    return nullptr;
  }
  return as_object(become_view(is_tensor(array) ? new_alias(as_tensor(array)) : tensor_of(Py_NewRef(array)), as_tensor(source)));
}

// to_write(tensor): an array to write new values into, which write_values(tensor, array) puts where the tensor shows them: its own
// array, or a copy for a lazy tensor and for one on an accelerator.
PyObject* to_write(PyObject*, PyObject* o) {
  if (!is_tensor(o)) {
    PyErr_SetString(PyExc_TypeError, "to_write(tensor)");
    return nullptr;
  }
  if (as_tensor(o)->flags & kWrapped) return ask_levels(asked::array, o);
  const Owned<Tensor> values(values_of(as_tensor(o)));
  if (!values || !(values->flags & kAccelerator)) return values ? array_of(values.get()) : nullptr;
  const Owned<Tensor> here(copy_to(values.get(), DeviceType::Cpu));
  return here ? array_of(here.get()) : nullptr;
}

PyObject* write_values(PyObject*, PyObject* args) {
  PyObject *o, *array;
  if (!PyArg_ParseTuple(args, "OO", &o, &array)) return nullptr;
  const bool given = is_tensor(array) && !(as_tensor(array)->flags & kWrapped);
  if (!is_tensor(o) || !(given || is_array(array))) {
    PyErr_SetString(PyExc_TypeError, "write_values(tensor, array): the values are an array or a plain tensor");
    return nullptr;
  }
  if (as_tensor(o)->array_ == array) Py_RETURN_NONE;
  const Owned<Tensor> values(given ? values_of(as_tensor(array)) : tensor_of(Py_NewRef(array)));
  if (!values || put_values(as_tensor(o), values.get()) < 0) return nullptr;
  Py_RETURN_NONE;
}

// arguments_of(tuple): what a custom Function asks of its arguments, and no class of theirs is told of: which are tensors, which
// require grad, and the tensors with the shape and the dtype of each.
PyObject* arguments_of(PyObject*, PyObject* args) {
  if (!PyTuple_Check(args)) {
    PyErr_SetString(PyExc_TypeError, "arguments_of(tuple)");
    return nullptr;
  }
  const Py_ssize_t n = PyTuple_GET_SIZE(args);
  Ref are(PyTuple_New(n)), need(PyTuple_New(n)), tensors(PyList_New(0)), kinds(PyList_New(0));
  if (!are || !need || !tensors || !kinds) return nullptr;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* o = PyTuple_GET_ITEM(args, i);
    const bool tensor = is_tensor(o);
    PyTuple_SET_ITEM(are.get(), i, PyBool_FromLong(tensor));
    PyTuple_SET_ITEM(need.get(), i, tensor ? get_requires_grad(o, nullptr) : Py_NewRef(Py_False));
    if (!tensor) continue;
    const Ref shape(shape_of(as_tensor(o))), dtype(Py_XNewRef(dtype_object(as_tensor(o)->dtype)));
    const Ref kind(shape && dtype ? PyTuple_Pack(2, shape.get(), dtype.get()) : nullptr);
    if (!kind || PyList_Append(tensors.get(), o) < 0 || PyList_Append(kinds.get(), kind.get()) < 0) return nullptr;
  }
  return PyTuple_Pack(4, are.get(), need.get(), tensors.get(), kinds.get());
}

PyObject* bump_versions(PyObject*, PyObject* list) {
  const Ref items(PySequence_Tuple(list));
  if (!items) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    PyObject* o = PyTuple_GET_ITEM(items.get(), i);
    if (!is_tensor(o)) {
      PyErr_SetString(PyExc_TypeError, "bump_versions(list of tensors)");
      return nullptr;
    }
    if (bump_version(as_tensor(o)) < 0) return nullptr;
  }
  Py_RETURN_NONE;
}

// An AccumulateGrad goes where the content of its leaf does.
void follow_content(Tensor* t, Tensor* from) {
  if (t->dims_ == from->dims_inline_) t->dims_ = t->dims_inline_;
  if (t->accumulator) t->accumulator->variable = t;
}

// All that two tensors are but their counts, their classes and who refers to them weakly.
PyObject* swap_contents(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 2 || !is_tensor(args[0]) || !is_tensor(args[1])) {
    PyErr_SetString(PyExc_TypeError, "swap_contents(tensor, tensor)");
    return nullptr;
  }
  Tensor *a = as_tensor(args[0]), *b = as_tensor(args[1]);
  if (a == b) Py_RETURN_NONE;
  constexpr size_t first = offsetof(Tensor, dict), end = offsetof(Tensor, weakrefs);
  char *in_a = reinterpret_cast<char*>(a) + first, *in_b = reinterpret_cast<char*>(b) + first;
  std::swap_ranges(in_a, in_a + (end - first), in_b);
  follow_content(a, b);
  follow_content(b, a);
  note_metadata();
  // An AccumulateGrad held the one leaf before and holds the other now.
  if (a->accumulator) Py_INCREF(a);
  if (b->accumulator) Py_INCREF(b);
  if (a->accumulator) Py_DECREF(b);
  if (b->accumulator) Py_DECREF(a);
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef kTensorFunctions[] = {
    {"wrap", method_of<wrap>(), METH_FASTCALL, "A leaf tensor around an ndarray."},
    {"empty_meta", method_of<empty_meta>(), METH_VARARGS, "A leaf tensor without memory."},
    {"empty_accelerated", method_of<empty_accelerated>(), METH_VARARGS, "A leaf tensor on an accelerator."},
    {"cast", method_of<cast_function>(), METH_VARARGS, "The values as another type."},
    {"like_strides", method_of<like_strides_of>(), METH_O, "The strides of a new tensor like another; None: row-major."},
    {"is_channels_last", method_of<is_channels_last_function>(), METH_O, "Whether the elements lie with the channels last."},
    {"suggests_channels_last", method_of<suggests_channels_last_function>(), METH_O, "Whether the strides tell that."},
    {"wrap_plain", method_of<wrap_plain>(), METH_FASTCALL | METH_KEYWORDS, "The same of one plain array; else NotImplemented."},
    {"is_array", method_of<is_array_function>(), METH_O, "Whether an object is a numpy.ndarray; imports nothing."},
    {"summary", method_of<summary_of>(), METH_FASTCALL, "The elements that a summary shows, in one list."},
    {"to_list", method_of<to_list>(), METH_O, "The elements in nested lists; NotImplemented for a tensor that is not plain."},
    {"wrap_data", method_of<wrap_data>(), METH_FASTCALL, "A leaf tensor around data of the program's own."},
    {"wrap_view", method_of<wrap_view_function>(), METH_VARARGS, "A tensor that shares another's version counter and base."},
    {"make_subclass", method_of<make_subclass>(), METH_VARARGS, "An instance of a Tensor subclass that shares the storage."},
    {"arguments_of", method_of<arguments_of>(), METH_O, "What a custom Function asks of its arguments."},
    {"bump_versions", method_of<bump_versions>(), METH_O, "Counts one in-place write of each tensor."},
    {"swap_contents", method_of<swap_contents>(), METH_FASTCALL, "Swaps all that two tensors are, but their classes."},
    {"to_write", method_of<to_write>(), METH_O, "An array for the new values of a tensor."},
    {"write_values", method_of<write_values>(), METH_VARARGS, "Puts values where a tensor shows them."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace rushlight
