// In-place forms, and what they do to history. Every check comes before the write.
//
// Note [Writing through a view]: a view keeps its root (`base`). After `view.op_(...)` the root's history is rewritten with one
// node, root' = view_scatter(root, view', geometry) (torch's CopySlices), and each view's own grad_fn is remade on demand as
// "a strided view of root'" when its `history_version` is not the counter's any more.
#include "core/core.h"

#include <string>

namespace rushlight {

namespace {

// The view's place inside its root: sizes, strides and offset in elements; and the root's own strides, None where it is
// contiguous (gradients of the root may lie in memory otherwise).
struct Geometry {
  Ref size, stride, offset, layout;
};

int geometry_of(Tensor* view, Geometry* g) {
  PyArrayObject* a = view->array;
  const npy_intp item = PyArray_ITEMSIZE(a);
  const int ndim = PyArray_NDIM(a);
  npy_intp strides[NPY_MAXDIMS];
  for (int i = 0; i < ndim; ++i) strides[i] = PyArray_STRIDE(a, i) / item;
  g->size = Ref(shape_tuple(ndim, PyArray_DIMS(a)));
  g->stride = Ref(shape_tuple(ndim, strides));
  g->offset = Ref(PyLong_FromSsize_t((PyArray_BYTES(a) - PyArray_BYTES(view->base->array)) / item));
  PyArrayObject* root = view->base->array;
  if (PyArray_IS_C_CONTIGUOUS(root)) {
    g->layout = Ref::borrow(Py_None);
  } else {
    for (int i = 0; i < PyArray_NDIM(root); ++i) strides[i] = PyArray_STRIDE(root, i) / item;
    g->layout = Ref(shape_tuple(PyArray_NDIM(root), strides));
  }
  return g->size && g->stride && g->offset && g->layout ? 0 : -1;
}

// Makes `view`'s grad_fn a strided view of its root as that is now.
int remake_grad_fn(Tensor* view) {
  Op* op = op_callback("strided_view");
  Geometry g;
  if (!op || geometry_of(view, &g) < 0) return -1;
  PyObject* slots[] = {as_object(view->base), g.size.get(), g.stride.get(), g.offset.get(), g.layout.get()};
  Node* node = make_op_node(op, slots, nullptr, 1);
  if (!node) return -1;
  if (set_output_meta(node, 0, view) < 0) {
    Py_DECREF(node);
    return -1;
  }
  Node* old = view->grad_fn;
  view->grad_fn = node;
  view->output_nr = 0;
  Py_XDECREF(old);
  return 0;
}

std::string made_by(Tensor* t) {
  if (!t->grad_fn) return "View";
  std::string name = Py_TYPE(t->grad_fn)->tp_name;
  const size_t dot = name.rfind('.');
  if (dot != std::string::npos) name = name.substr(dot + 1);
  const size_t at = name.rfind("Backward");
  return at == std::string::npos ? name : name.substr(0, at);
}

// Why a view that was not made in the ordinary way cannot get a new history: it is being written itself, or (indirect) its base
// or another view of that was.
void refuse_view(Tensor* t, bool indirect) {
  const std::string done = indirect ? "its base or another view of its base has been" : "is being";
  const std::string output = "Output " + std::to_string(t->output_nr) + " of " + made_by(t);
  const bool inference = t->flags & kInferenceView;
  std::string text;
  if ((t->flags & (kNoGradView | kInferenceView)) || !t->grad_fn) {
    text = (t->grad_fn ? output + " is a view of a view which was created in " : std::string("A view was created in ")) +
           (inference ? "inference" : "no_grad") + " mode and " + done + " modified inplace" +
           (inference ? " in normal mode." : " with grad mode enabled.");
  } else {
    text = output + " is a view and " + done + " modified inplace.";
  }
  if (t->flags & kMultiView) {
    text += " This view is the output of a function that returns multiple views. Such functions do not allow the output views "
            "to be modified inplace. You should replace the inplace operation by an out-of-place one.";
  } else if (t->flags & kFunctionView) {
    text += " This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic "
            "to handle view+inplace would override the custom backward associated with the custom Function, leading to "
            "incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function.";
  } else {
    text += std::string(" Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by "
                        "moving both the view and the inplace either both inside the ") +
            (inference ? "inference_mode" : "no_grad") +
            " block (if you don't want the inplace to be tracked) or both outside (if you want the inplace to be tracked).";
  }
  PyErr_SetString(PyExc_RuntimeError, text.c_str());
}

bool overlaps_itself(PyArrayObject* a) {
  if (PyArray_SIZE(a) == 0) return false;
  for (int i = 0; i < PyArray_NDIM(a); ++i) {
    if (PyArray_DIM(a, i) > 1 && PyArray_STRIDE(a, i) == 0) return true;
  }
  return false;
}

void bounds(PyArrayObject* a, const char** low, const char** high) {
  const char* l = PyArray_BYTES(a);
  const char* h = l;
  for (int i = 0; i < PyArray_NDIM(a); ++i) {
    if (PyArray_DIM(a, i) == 0) break;
    const npy_intp reach = PyArray_STRIDE(a, i) * (PyArray_DIM(a, i) - 1);
    (reach < 0 ? l : h) += reach;
  }
  *low = l;
  *high = h + PyArray_ITEMSIZE(a);
}

// Whether reading `a` element by element while `out` is written could read a changed value.
bool overlaps(PyArrayObject* a, PyArrayObject* out) {
  const char *al, *ah, *ol, *oh;
  bounds(a, &al, &ah);
  bounds(out, &ol, &oh);
  if (ah <= ol || oh <= al) return false;
  if (PyArray_BYTES(a) != PyArray_BYTES(out) || PyArray_NDIM(a) != PyArray_NDIM(out)) return true;
  if (PyArray_ITEMSIZE(a) != PyArray_ITEMSIZE(out)) return true;
  for (int i = 0; i < PyArray_NDIM(a); ++i) {
    if (PyArray_DIM(a, i) != PyArray_DIM(out, i)) return true;
    if (PyArray_DIM(a, i) > 1 && PyArray_STRIDE(a, i) != PyArray_STRIDE(out, i)) return true;
  }
  return false;
}

// torch refuses what it can tell at a glance: two dense blocks that share some memory but are not element for element the same.
bool is_dense(PyArrayObject* a) {
  if (PyArray_IS_C_CONTIGUOUS(a) || PyArray_IS_F_CONTIGUOUS(a)) return true;
  const char *low, *high;
  bounds(a, &low, &high);
  return high - low == PyArray_NBYTES(a) && !overlaps_itself(a);
}

bool overlaps_partly(PyArrayObject* a, PyArrayObject* out) {
  if (PyArray_SIZE(a) == 0 || a == out) return false;
  return is_dense(a) && is_dense(out) && overlaps(a, out);
}

int refuse_overlap(PyObject* const* operands, int n, PyArrayObject* out) {
  for (int i = 0; i < n; ++i) {
    if (!operands[i] || !is_tensor(operands[i]) || !overlaps_partly(as_tensor(operands[i])->array, out)) continue;
    PyErr_SetString(PyExc_RuntimeError,
                    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                    "memory location. Please clone() the tensor before performing the operation.");
    return -1;
  }
  return 0;
}

std::string sizes(int ndim, const npy_intp* dims) {
  std::string text = "[";
  for (int i = 0; i < ndim; ++i) {
    if (i) text += ", ";
    text += std::to_string(dims[i]);
  }
  return text + "]";
}

int write_pointwise(Op* op, PyObject* const* slots, Tensor* self) {
  PyObject* operands[kMaxParams];
  int n = 0;
  for (uint8_t i = 0; i < op->program_arity; ++i) {
    if (op->params[i].kind == Param::TensorArg || op->params[i].kind == Param::Operand) operands[n++] = slots[i];
  }
  PyArrayObject* a = self->array;
  if (refuse_overlap(operands, n, a) < 0) return -1;
  int ndim;
  npy_intp dims[NPY_MAXDIMS];
  if (broadcast_shape(operands, n, &ndim, dims) < 0) return -1;
  if (ndim != PyArray_NDIM(a) || !PyArray_CompareLists(dims, PyArray_DIMS(a), ndim)) {
    PyErr_Format(PyExc_RuntimeError, "output with shape %s doesn't match the broadcast shape %s",
                 sizes(PyArray_NDIM(a), PyArray_DIMS(a)).c_str(), sizes(ndim, dims).c_str());
    return -1;
  }
  DType result = result_type_of(operands, n);
  if (op->result == ResultType::Float && !is_differentiable(result)) result = registry.default_dtype;
  if (op->result == ResultType::Bool) result = DType::Bool;
  if (!can_cast(result, self->dtype)) {
    PyErr_Format(PyExc_RuntimeError, "result type %s can't be cast to the desired output type %s", scalar_name(result),
                 scalar_name(self->dtype));
    return -1;
  }
  bool copy_first = !PyArray_ISALIGNED(a);
  for (int i = 0; i < n; ++i) {
    if (is_tensor(operands[i])) copy_first |= overlaps(as_tensor(operands[i])->array, a);
  }
  if (!copy_first) {
    Ref done(as_object(pointwise_forward(op, slots, a)));
    return done ? 0 : -1;
  }
  Ref value(as_object(pointwise_forward(op, slots, nullptr)));
  return value ? PyArray_CopyInto(a, as_array(value.get())) : -1;
}

int write_general(Op* op, PyObject* const* slots, Tensor* self) {
  if (refuse_overlap(slots + 1, op->n_params - 1, self->array) < 0) return -1;
  if (op->writer) {
    Ref done(run_on_arrays(op, op->writer, slots));
    if (!done) return -1;
    if (done.get() != Py_NotImplemented) return 0;
  }
  Ref value(run_forward(op, slots));
  if (!value) return -1;
  Ref array(PyArray_FROM_O(value.get()));
  if (!array) return -1;
  PyArrayObject* from = as_array(array.get());
  if (!PyArray_SAMESHAPE(from, self->array)) {
    PyErr_Format(PyExc_RuntimeError, "output with shape %s doesn't match the broadcast shape %s",
                 sizes(PyArray_NDIM(self->array), PyArray_DIMS(self->array)).c_str(),
                 sizes(PyArray_NDIM(from), PyArray_DIMS(from)).c_str());
    return -1;
  }
  const DType result = dtype_of(from);
  if (result != DType::Count && !can_cast(result, self->dtype)) {
    PyErr_Format(PyExc_RuntimeError, "result type %s can't be cast to the desired output type %s", scalar_name(result),
                 scalar_name(self->dtype));
    return -1;
  }
  return PyArray_CopyInto(self->array, from);
}

// A tensor that retains its gradient goes on doing so for its new value.
int move_retained(Tensor* self, PyObject* old_node, uint32_t old_nr) {
  PyObject* f = callback("move_retained");
  if (!f) return -1;
  Ref done(PyObject_CallFunction(f, "OOI", as_object(self), old_node ? old_node : Py_None, old_nr));
  return done ? 0 : -1;
}

// `self` as it was: a copy of the values with the history they had, for rules that need the overwritten argument.
Tensor* keep_original(Tensor* self) {
  Tensor* t = wrap_array(as_array(PyArray_NewCopy(self->array, NPY_KEEPORDER)));
  if (!t) return nullptr;
  Node* fn;
  if (current_grad_fn(self, &fn) < 0) {
    Py_DECREF(t);
    return nullptr;
  }
  Py_XINCREF(fn);
  t->grad_fn = fn;
  t->output_nr = self->output_nr;
  return t;
}

// Whether a recorded write may change the history of `self`.
int check_history(Tensor* self) {
  if (self->base) {
    if (self->flags & kSpecialView) {
      refuse_view(self, false);
      return -1;
    }
    if (!self->base->grad_fn && requires_grad(self)) {
      PyErr_SetString(PyExc_RuntimeError, "a view of a leaf Variable that requires grad is being used in an in-place operation.");
      return -1;
    }
  } else if (!self->grad_fn && (self->flags & kRequiresGrad)) {
    PyErr_SetString(PyExc_RuntimeError, "a leaf Variable that requires grad is being used in an in-place operation.");
    return -1;
  }
  return 0;
}

}  // namespace

int refresh_grad_fn(Tensor* t, Node** grad_fn) {
  const uint32_t now = version_of(t);
  // A view without history of a root that wants no gradient is looked at again each time: the root may come to want one.
  if (now != t->history_version && (t->grad_fn || requires_grad(t->base)) && is_differentiable(t->dtype)) {
    if (t->flags & kSpecialView) {
      *grad_fn = t->grad_fn;
      if (!grad_enabled()) return 0;
      refuse_view(t, true);
      return -1;
    }
    if (remake_grad_fn(t) < 0) return -1;
    t->history_version = now;
  }
  *grad_fn = t->grad_fn;
  return 0;
}

std::atomic<bool> watching_writes{false};

namespace {

// Whether writing an element twice gives the same, so that memory which overlaps itself is no harm.
bool writes_one_value(PyObject* name) {
  return name && (!PyUnicode_CompareWithASCIIString(name, "fill_") || !PyUnicode_CompareWithASCIIString(name, "zero_") ||
                  !PyUnicode_CompareWithASCIIString(name, "masked_fill_"));
}

// `name`: of the op that writes, or nullptr.
int check_write(Tensor* self, bool recording, PyObject* name) {
  if ((self->flags & kInference) && !tls.inference) {
    PyErr_SetString(PyExc_RuntimeError,
                    "Inplace update to inference tensor outside InferenceMode is not allowed."
                    "You can make a clone to get a normal tensor before doing inplace update."
                    "See https://github.com/pytorch/rfcs/pull/17 for more details.");
    return -1;
  }
  if (recording && check_history(self) < 0) return -1;
  if (overlaps_itself(self->array) && !writes_one_value(name)) {
    PyErr_SetString(PyExc_RuntimeError,
                    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
                    "Please clone() the tensor before performing the operation.");
    return -1;
  }
  if (!PyArray_ISWRITEABLE(self->array)) {
    PyErr_SetString(PyExc_RuntimeError, "cannot write in place: the memory of this tensor is read-only. Please clone() it first.");
    return -1;
  }
  if (watching_writes) {
    PyObject* f = callback("before_write");
    Ref done(f ? PyObject_CallOneArg(f, as_object(self)) : nullptr);
    if (!done) return -1;
  }
  return 0;
}

}  // namespace

int check_in_place(Tensor* self, bool recording) { return check_write(self, recording, nullptr); }

int rebase_history(Tensor* self, Node* node, uint32_t nr) {
  Ref before = Ref::borrow(as_object(self->grad_fn));
  const uint32_t before_nr = self->output_nr;
  Py_INCREF(node);
  Node* old = self->grad_fn;
  self->grad_fn = node;
  self->output_nr = nr;
  self->history_version = version_of(self);
  self->flags &= ~kRequiresGrad;
  Py_XDECREF(old);
  Tensor* base = self->base;
  if (!base) return self->flags & kRetainsGrad ? move_retained(self, before.get(), before_nr) : 0;
  Op* op = op_callback("view_scatter");
  Geometry g;
  if (!op || geometry_of(self, &g) < 0) return -1;
  PyObject* slots[] = {as_object(base), as_object(self), g.size.get(), g.stride.get(), g.offset.get(), g.layout.get()};
  Node* scatter = make_op_node(op, slots, nullptr, 1);
  if (!scatter) return -1;
  if (set_output_meta(scatter, 0, base) < 0) {
    Py_DECREF(scatter);
    return -1;
  }
  old = base->grad_fn;
  base->grad_fn = scatter;
  base->output_nr = 0;
  base->flags &= ~kRequiresGrad;
  Py_XDECREF(old);
  if (remake_grad_fn(self) < 0) return -1;
  return self->flags & kRetainsGrad ? move_retained(self, before.get(), before_nr) : 0;
}

namespace {

PyObject* write_unobserved(Op* op, PyObject** slots) {
  Op* real = choose_variant(op->base, slots);
  if (!real) return nullptr;
  if (real == op) real = op->base;  // reached through `inplace=True`
  if (!is_tensor(slots[0])) {
    PyErr_Format(PyExc_TypeError, "%U(): argument 'self' (position 1) must be Tensor, not %s", op->name,
                 Py_TYPE(slots[0])->tp_name);
    return nullptr;
  }
  Tensor* self = as_tensor(slots[0]);
  uint32_t flags;
  bool wants_grad, symbolic;
  if (look_at_arguments(real, slots, &flags, &wants_grad, &symbolic) < 0) return nullptr;
  if (flags & kWatched) {
    PyObject* f = callback("watched_in_place");
    Ref tuple(f ? PyTuple_New(op->n_params) : nullptr);
    if (!tuple) return nullptr;
    for (int i = 0; i < op->n_params; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(slots[i]));
    PyObject* args[] = {as_object(op), tuple.get()};
    PyObject* r = PyObject_Vectorcall(f, args, 2, nullptr);
    if (r != Py_NotImplemented) return r;
    Py_DECREF(r);
  }
  const bool recording = wants_grad && grad_enabled() && is_differentiable(self->dtype) && real->differentiable;
  if (check_write(self, recording, op->name) < 0) return nullptr;
  Ref node;
  if (recording) {
    bool needs_original = false;
    for (const Op::Save& save : real->saves) needs_original |= save.source.kind == Source::Arg && save.source.index == 0;
    Ref original;
    PyObject* bound[kMaxParams];
    for (int i = 0; i < op->n_params; ++i) bound[i] = slots[i];
    if (needs_original) {
      // A node saves the argument as it was; its edge is still that of `self`.
      original = Ref(as_object(keep_original(self)));
      if (!original) return nullptr;
      bound[0] = original.get();
    }
    node = Ref(as_object(make_op_node(real, bound, nullptr, 1, op->node_type)));
    if (!node) return nullptr;
  }
  const int written = real->kind == Op::Pointwise ? write_pointwise(real, slots, self) : write_general(real, slots, self);
  if (written < 0 || bump_version(self) < 0) return nullptr;
  if ((wants_grad || (flags & kCut)) && !node && !requires_grad(self)) note_cut(real, slots, self, wants_grad);
  if (node) {
    Node* n = reinterpret_cast<Node*>(node.get());
    for (size_t i = 0; i < real->saves.size(); ++i) {
      if (real->saves[i].source.kind == Source::Out && n->n_edges && save_output(n, &n->saved[i], self, 0) < 0) return nullptr;
    }
    if (set_output_meta(n, 0, self) < 0 || rebase_history(self, n, 0) < 0) return nullptr;
  }
  return Py_NewRef(slots[0]);
}

}  // namespace

PyObject* run_in_place(Op* op, PyObject** slots) {
  if (!observed()) return write_unobserved(op, slots);
  Ref known(report_start(op));
  if (!known) return nullptr;
  const int64_t start = clock_ns();
  return report_call(op, slots, write_unobserved(op, slots), start);
}

}  // namespace rushlight
