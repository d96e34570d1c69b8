// In-place variants, and how they change history. Every check comes before the write.
//
// Note [Writing through a view]: a view keeps its root (`base`). After `view.op_(...)` the root's history is rewritten with one
// node (see Note [CopySlices]), and each view's own grad_fn is remade on demand as "a strided view of the root" when its
// `history_version` is not the counter's any more.
#include "core/layout.h"
#include "core/lazy.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/op.h"

namespace rushlight {

namespace {

// The view's place inside its root: sizes, strides and offset in elements; and `layout`, the root's
// strides, None where the root is contiguous (gradients of the root may lie otherwise). Where
// either the view or the root is complex, all of these count real numbers, and `mixed` names the
// complex tensor. Bits of kLazy that differ are toggled: `before` on the root, `after` on the view.
struct Geometry {
  Ref size, stride, offset, layout;
  const char* mixed;
  uint32_t before, after;
  bool whole;  // a view of everything, in the same order
};

// `origin`: the address of the root's first element. `last`: the bits to toggle last, if possible.
int geometry_of(Tensor* view, Geometry* g, const char* origin, uint32_t last = 0) {
  const Owned<Tensor> held[] = {Owned<Tensor>(new_alias(view)), Owned<Tensor>(new_alias(view->base))};
  const Tensor *a = held[0].get(), *root = held[1].get();
  if (!a || !root) return -1;
  const bool complex_view = is_complex(view->dtype), complex_root = is_complex(view->base->dtype);
  g->mixed = complex_view == complex_root ? nullptr : complex_view ? "view" : "root";
  g->after = g->mixed ? (last & kNegBit) | (view->flags & kConjBit) : last;  // real numbers have no conjugates
  g->before = ((view->flags ^ view->base->flags) & kLazy) ^ g->after;
  g->whole = !g->mixed && a->data() == origin && same_shape(a, root) && same_sizes(a->ndim(), a->strides(), root->strides());
  Py_ssize_t item = a->item();
  if (g->mixed && complex_view) item /= 2;
  const int ndim = a->ndim();
  Py_ssize_t strides[kMaxDims];
  for (int i = 0; i < ndim; ++i) strides[i] = a->stride(i) / item;
  g->size = Ref(shape_tuple(ndim, a->sizes()));
  g->stride = Ref(shape_tuple(ndim, strides));
  g->offset = Ref(PyLong_FromSsize_t(a->numel() ? (a->data() - origin) / item : 0));
  if (root->is_contiguous()) {
    g->layout = Ref::borrow(Py_None);
  } else {
    for (int i = 0; i < root->ndim(); ++i) strides[i] = root->stride(i) / item;
    g->layout = Ref(shape_tuple(root->ndim(), strides));
  }
  return g->size && g->stride && g->offset && g->layout ? 0 : -1;
}

// A tensor that is made by the recorded op or, where complex and real meet, by the Python function for that
// (ops/layout/strided.py), of one or two tensors and a place.
PyObject* place_op(const Callback& plain_op, const Callback& mixed_op, const char* mixed, PyObject* a, PyObject* b,
                   PyObject* const* place) {
  PyObject* slots[kMaxParams];
  int n = 0;
  slots[n++] = a;
  if (b) slots[n++] = b;
  for (int i = 0; i < 4; ++i) slots[n++] = place[i];
  if (!mixed) {
    Op* op = plain_op.op();
    return op ? call_op(op, slots) : nullptr;
  }
  PyObject* f = mixed_op.get();
  Ref which(f ? PyUnicode_FromString(mixed) : nullptr);
  if (!which) return nullptr;
  slots[n++] = which.get();
  return PyObject_Vectorcall(f, slots, n, nullptr);
}

// The view of `whole`, a tensor that lies in memory as the root does. As in torch's graph, a complex root is first made real, and a
// negative is taken after that.
PyObject* show(const Geometry& g, PyObject* whole) {
  PyObject* place[] = {g.size.get(), g.stride.get(), g.offset.get(), g.layout.get()};
  const bool of_parts = g.mixed && !strcmp(g.mixed, "root") && g.before & kNegBit;
  Ref seen(changed_over(Py_NewRef(whole), of_parts ? g.before & ~kNegBit : g.before));
  if (seen && !g.whole) {
    seen = Ref(place_op(callbacks.strided_view, callbacks.mixed_strided_view, of_parts ? "negative root" : g.mixed, seen.get(),
                        nullptr, place));
  }
  return seen ? changed_over(seen.release(), g.after) : nullptr;
}

// A tensor that retains its gradient goes on doing so under its new node.
int move_retained(Tensor* self, PyObject* old_node, uint32_t old_nr) {
  if (!(self->flags & kRetainsGrad)) return 0;
  PyObject* f = callbacks.move_retained.get();
  if (!f) return -1;
  Ref done(PyObject_CallFunction(f, "OOI", as_object(self), old_node ? old_node : Py_None, old_nr));
  return done ? 0 : -1;
}

// Makes `view`'s grad_fn a view of the root's present history.
int remake_grad_fn(Tensor* view) {
  Geometry g;
  const uint32_t last = (view->flags >> kLazyLast) & kLazy;
  if (geometry_of(view, &g, view->base->data(), last) < 0) return -1;
  g.whole &= last != 0;  // else a slice of everything came after the conjugate
  Node* node;
  if (g.mixed || g.before || g.after) {
    GradMode on(true);
    Ref seen(show(g, as_object(view->base)));
    if (!seen) return -1;
    node = as_tensor(seen.get())->grad_fn.own().release();
  } else {
    Op* op = callbacks.strided_view.op();
    if (!op) return -1;
    PyObject* slots[] = {as_object(view->base), g.size.get(), g.stride.get(), g.offset.get(), g.layout.get()};
    node = make_op_node(op, slots, nullptr, 1);
    if (!node) return -1;
    if (set_output_meta(node, 0, view) < 0) {
      Py_DECREF(node);
      return -1;
    }
  }
  return set_history(view, node, 0);
}

// Note [CopySlices]: the node of a write through a view, seen from the root. The node holds the
// write's own node (`inner`) and has the edges of `inner`, but the edge to the view before the
// write leads to the root before the write. Backwards the view's part of the gradient is replaced
// by the gradient that `inner` gives for the view. A freed CopySlices cannot be run again.
Node* make_rewrite(Tensor* view, Node* inner, int edge) {
  PyTypeObject* type = node_type("CopySlices");
  Geometry g;
  if (!type || geometry_of(view, &g, view->base->data()) < 0) return nullptr;
  const int more = edge < 0;  // the write does not depend on the view's old values; the rest of the root still does
  Node* n = new_node(type, Node::Rewrite, inner->n_edges + more, 2, 1);
  if (!n) return nullptr;
  Ref owner(as_object(n));
  n->op = nullptr;
  n->saved[0].value.init(Py_NewRef(as_object(inner)));
  n->saved[0].kind = Saved::Inner;
  n->saved[0].expected = static_cast<uint32_t>(more ? 0 : edge);
  n->saved[1].kind = Saved::Object;
  n->saved[1].value.init(
      Py_BuildValue("(OOOOziII)", g.size.get(), g.stride.get(), g.offset.get(), g.layout.get(), g.mixed, more, g.before, g.after));
  if (!n->saved[1].value || set_output_meta(n, 0, view->base) < 0) return nullptr;
  for (int i = 0; i < inner->n_edges; ++i) {
    if (i == edge) continue;
    n->edges[i + more] = inner->edges[i];
    Py_XINCREF(inner->edges[i].node);
  }
  if (gradient_edge(view->base, &n->edges[more ? 0 : edge]) < 0) return nullptr;
  if (observed_closely() && report_made(n) < 0) return nullptr;
  return reinterpret_cast<Node*>(owner.release());
}

std::string made_by(Tensor* t) { return t->grad_fn ? short_name(t->grad_fn.peek()) : "View"; }

// The error for a view of a special kind, which cannot get a new history: the view is being
// written, or (indirect) the base or another view of the base was.
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
    text +=
        " This view is the output of a function that returns multiple views. Such functions do not allow the output views "
        "to be modified inplace. You should replace the inplace operation by an out-of-place one.";
  } else if (t->flags & kFunctionView) {
    text +=
        " This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic "
        "to handle view+inplace would override the custom backward associated with the custom Function, leading to "
        "incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function.";
  } else {
    text += std::string(
                " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by "
                "moving both the view and the inplace either both inside the ") +
            (inference ? "inference_mode" : "no_grad") +
            " block (if you don't want the inplace to be tracked) or both outside (if you want the inplace to be tracked).";
  }
  PyErr_SetString(PyExc_RuntimeError, text.c_str());
}

int refuse_twice() {
  PyErr_SetString(PyExc_RuntimeError,
                  "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
                  "Please clone() the tensor before performing the operation.");
  return -1;
}

// Whether two tensors have storages of their own where addresses do not tell: on a device without memory.
bool is_elsewhere(const Tensor* a, const Tensor* b) { return (a->flags | b->flags) & kElsewhere && a->storage() != b->storage(); }

// Whether reading `a` element by element while `out` is written could read a changed value.
bool overlaps(const Tensor* a, const Tensor* out) {
  if (is_elsewhere(a, out)) return false;
  const char *al, *ah, *ol, *oh;
  extent(a, &al, &ah);
  extent(out, &ol, &oh);
  if (ah <= ol || oh <= al) return false;
  if (a->data() != out->data() || a->ndim() != out->ndim()) return true;
  if (a->item() != out->item()) return true;
  for (int i = 0; i < a->ndim(); ++i) {
    if (a->size(i) != out->size(i)) return true;
    if (a->size(i) > 1 && a->stride(i) != out->stride(i)) return true;
  }
  return false;
}

enum class Sharing { Nothing, Some, All };

// As in torch, only dense blocks are compared: shared memory, or the same element for element.
Sharing sharing(Tensor* t, Tensor* out) {
  const Tensor *a = t, *b = out;
  if (t == out) return Sharing::All;
  if (a->numel() == 0 || b->numel() == 0 || is_elsewhere(a, b) || !is_dense(a) || !is_dense(b)) return Sharing::Nothing;
  const char *a0 = a->data(), *b0 = b->data();
  const char *a1 = a0 + a->nbytes(), *b1 = b0 + b->nbytes();
  if (a1 <= b0 || b1 <= a0) return Sharing::Nothing;
  if (a0 != b0 || a1 != b1 || a->ndim() != b->ndim()) return Sharing::Some;
  return same_sizes(a->ndim(), a->strides(), b->strides()) ? Sharing::All : Sharing::Some;
}

bool same_data(PyObject* o, Tensor* self) {
  if (!is_tensor(o)) return false;
  const Tensor *a = as_tensor(o), *b = self;
  return a->data() == b->data() && !is_elsewhere(a, b) && as_tensor(o)->dtype == self->dtype &&
         !((as_tensor(o)->flags ^ self->flags) & kLazy) && same_shape(a, b) && same_sizes(a->ndim(), a->strides(), b->strides());
}

// Whether an argument shares memory with `out` in a way that the op refuses. `written`: the parameter that is `out` itself in an
// in-place variant, or -1. Lazy arguments do not count, as their values are computed first, except by copy_.
bool shares(Op* op, PyObject* const* slots, Tensor* out, int written) {
  if (op->in_place.overlap & kArgumentsMay) return false;
  const bool never = op->in_place.overlap & kArgumentsNever;
  return !for_each_tensor(op, slots, [=](Tensor* t, int i) {
    if (i == written || ((t->flags | out->flags) & kLazy && !(op->in_place.overlap & kCopiesSame))) return true;
    const Sharing found = sharing(t, out);
    return found == Sharing::Nothing || (found == Sharing::All && !never);
  });
}

int write_pointwise(Op* op, PyObject* const* slots, Tensor* self) {
  PyObject* operands[kMaxParams];
  int n = 0;
  for (uint8_t i = 0; i < op->loop.arity; ++i) {
    if (op->params[i].kind == Param::TensorArg || op->params[i].kind == Param::Operand) operands[n++] = slots[i];
  }
  int ndim;
  Py_ssize_t dims[kMaxDims];
  if (broadcast_shape(operands, n, &ndim, dims) < 0) return -1;
  if (check_out_shape(self, ndim, dims) < 0) return -1;
  DType result = common_type_of(op, operands, n);
  if (op->promotion.result == ResultType::Float && !is_differentiable(result)) result = registry.default_dtype;
  if (op->promotion.result == ResultType::Bool) result = DType::Bool;
  if (!can_cast(result, self->dtype)) return refuse_cast(result, self->dtype);
  bool copy_first = !self->is_aligned();
  for (int i = 0; i < n; ++i) {
    if (is_tensor(operands[i])) copy_first |= overlaps(as_tensor(operands[i]), self);
  }
  const Owned<Tensor> value(pointwise_forward(op, slots, copy_first ? nullptr : self));
  return !value ? -1 : copy_first ? copy_into(self, value.get()) : 0;
}

// Writes `from` to a tensor of the same shape; only once where both repeat the same elements.
int copy_seen(Tensor* to, const Tensor* from) {
  Layout target(to), source(from);
  bool any = false;
  for (int i = 0; i < to->ndim(); ++i) {
    if (to->size(i) <= 1 || to->stride(i) || from->stride(i)) continue;
    target.shape[i] = source.shape[i] = 1;
    any = true;
  }
  if (!any) return copy_into(to, from);
  const Owned<Tensor> once(new_view(to, target)), seen(once ? new_view(from, source) : nullptr);
  return seen ? copy_into(once.get(), seen.get()) : -1;
}

int write_general(Op* op, PyObject* const* slots, Tensor* self) {
  if (op->in_place.overlap & kSaidLate && (overlaps_itself(self) || shares(op, slots, self, 0))) {
    Ref value(run_forward(op, slots));
    if (!value) return -1;
    return overlaps_itself(self) ? refuse_twice() : refuse_overlap(op, slots, self, 0);
  }
  if (op->in_place.write && !(self->flags & kMeta && !is_kernel(op->in_place.write))) {
    Ref done(run_definition(op, op->in_place.write, slots));
    if (!done) return -1;
    if (done.get() != Py_NotImplemented) return 0;
  }
  Ref value(run_forward(op, slots));
  if (!value) return -1;
  const Owned<Tensor> from(result_tensor(value.release()));
  if (!from || check_out_shape(self, from->ndim(), from->sizes()) < 0) return -1;
  if (!can_cast(from->dtype, self->dtype)) return refuse_cast(from->dtype, self->dtype);
  return copy_seen(self, from.get());
}

int write(Op* op, PyObject* const* slots, Tensor* self) {
  return op->kind == Op::Pointwise ? write_pointwise(op, slots, self) : write_general(op, slots, self);
}

// The same for a lazy tensor: the op runs on values, which are then put into memory.
int write_lazy(Op* op, PyObject* const* slots, Tensor* self) {
  PlainSlots plain;
  PyObject** values = plain.of(op, slots);
  if (!values) return -1;
  Tensor* written = as_tensor(values[0]);
  if (write(op, values, written) < 0) return -1;
  return written == self ? 0 : put_values(self, written);
}

// A copy of the old `self`, values and history, for rules that need the overwritten argument.
Tensor* keep_original(Tensor* self) {
  const Owned<Tensor> values(values_of(self));
  Tensor* t = values ? dense_copy(values.get()) : nullptr;
  if (!t) return nullptr;
  Node* fn;
  if (current_grad_fn(self, &fn) < 0) {
    Py_DECREF(t);
    return nullptr;
  }
  t->grad_fn.set(Owned<Node>::borrow(fn).release());
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

PyObject* shown(PyObject*, PyObject* args) {
  PyObject *view, *whole;
  Py_ssize_t origin;
  if (!PyArg_ParseTuple(args, "OOn", &view, &whole, &origin)) return nullptr;
  if (!is_tensor(view) || !is_tensor(whole) || !as_tensor(view)->base) {
    PyErr_SetString(PyExc_TypeError, "shown(view, whole, origin)");
    return nullptr;
  }
  Geometry g;
  if (geometry_of(as_tensor(view), &g, reinterpret_cast<const char*>(origin)) < 0) return nullptr;
  g.whole = false;
  return show(g, whole);
}

int set_history(Tensor* t, Node* node, uint32_t nr) {
  Owned<Node> old = t->grad_fn.own();
  const uint32_t old_nr = t->output_nr;
  t->grad_fn.set(node);
  t->output_nr = nr;
  t->flags &= ~kRequiresGrad;
  note_metadata();
  t->hooks.clear();  // the hooks of the leaf before the write
  return move_retained(t, as_object(old.get()), old_nr);
}

int refresh_grad_fn(Tensor* t, Node** grad_fn) {
  const uint32_t now = version_of(t);
  // A view without history of a root that wants no gradient is looked at again each time: the root may come to want one.
  if (now != t->history_version && (t->grad_fn || requires_grad(t->base)) && is_differentiable(t->dtype)) {
    if (t->flags & kSpecialView) {
      refuse_view(t, true);
      return -1;
    }
    const uint32_t before = t->history_version;
    t->history_version = now;  // set first: moving a retained gradient asks for grad_fn
    if (remake_grad_fn(t) < 0) {
      t->history_version = before;
      return -1;
    }
  }
  *grad_fn = t->grad_fn.peek();
  return 0;
}

std::atomic<bool> watching_writes{false};

int refuse_overlap(Op* op, PyObject* const* slots, Tensor* out, int written) {
  if (!shares(op, slots, out, written)) return 0;
  PyErr_SetString(PyExc_RuntimeError,
                  "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
                  "location. Please clone() the tensor before performing the operation.");
  return -1;
}

int check_place(Tensor* self, bool recording) {
  if ((self->flags & kInference) && !self->version && !tls.inference) {
    PyErr_SetString(PyExc_RuntimeError,
                    "Inplace update to inference tensor outside InferenceMode is not allowed."
                    "You can make a clone to get a normal tensor before doing inplace update."
                    "See https://github.com/pytorch/rfcs/pull/17 for more details.");
    return -1;
  }
  return recording ? check_history(self) : 0;
}

namespace {

// Whether the memory of `self` may be written. `may_overlap`: elements may be shown twice.
int check_memory(Tensor* self, bool may_overlap) {
  if (!may_overlap && overlaps_itself(self)) return refuse_twice();
  if (!self->is_writeable()) {
    PyErr_SetString(PyExc_RuntimeError, "cannot write in place: the memory of this tensor is read-only. Please clone() it first.");
    return -1;
  }
  if (watching_writes) {
    PyObject* f = callbacks.before_write.get();
    Ref done(f ? PyObject_CallOneArg(f, as_object(self)) : nullptr);
    if (!done) return -1;
  }
  return 0;
}

}  // namespace

int check_dirty(Tensor* self) {
  if (!self->grad_fn && requires_grad(self)) {
    PyErr_SetString(PyExc_RuntimeError, "a leaf Variable that requires grad has been used in an in-place operation.");
    return -1;
  }
  return check_history(self);
}

int check_in_place(Tensor* self, bool recording) { return check_place(self, recording) < 0 ? -1 : check_memory(self, false); }

int rebase_history(Tensor* self, Node* node, uint32_t nr, int edge) {
  Tensor* base = self->base;
  if (!base) {
    self->history_version = version_of(self);
    return set_history(self, reinterpret_cast<Node*>(Py_NewRef(as_object(node))), nr);
  }
  Node* rewrite = make_rewrite(self, node, edge);
  if (!rewrite || set_history(base, rewrite, 0) < 0) return -1;
  self->history_version = version_of(self);
  return remake_grad_fn(self);
}

int run_rewrite(Node* n, PyObject* const* grads, bool create_graph, PyObject** grads_in) {
  note_way(kCopySlices);
  Ref kept(unpack(n, &n->saved[0], false));
  if (!kept) return -1;
  Node* inner = reinterpret_cast<Node*>(kept.get());
  PyObject* place[4];
  const char* mixed;
  int more;
  unsigned before, after;
  Ref where = n->saved[1].value.own();
  if (!PyArg_ParseTuple(where.get(), "OOOOziII", &place[0], &place[1], &place[2], &place[3], &mixed, &more, &before, &after)) {
    return -1;
  }
  const int edge = more ? -1 : static_cast<int>(n->saved[0].expected);
  const Ref whole(changed_over(Py_NewRef(grads[0]), before));
  Ref part(whole ? place_op(callbacks.strided_gather, callbacks.mixed_strided_gather, mixed, whole.get(), nullptr, place)
                 : nullptr);
  if (part) part = Ref(changed_over(part.release(), after));
  if (!part) return -1;
  PyObject* incoming[] = {part.get()};
  const int done = run_node(inner, incoming, create_graph, 0, grads_in + more);
  if (done < 0) return -1;
  Ref given;
  if (edge >= 0) {
    given = Ref(grads_in[edge]);
    grads_in[edge] = nullptr;
  }
  if (!given) {
    PyObject* zeros = callbacks.zeros_like.get();
    given = Ref(zeros ? PyObject_CallOneArg(zeros, part.get()) : nullptr);
    if (!given) return -1;
  } else if (!is_tensor(given.get())) {
    PyErr_Format(PyExc_RuntimeError, "expected Variable or None (got %s)", Py_TYPE(given.get())->tp_name);
    return -1;
  }
  // A gradient from a custom Function may have another type, or a shape that is still to be summed.
  const OutputMeta& m = inner->metas[0];
  if (as_tensor(given.get())->ndim() >= m.ndim) {
    given = Ref(fit_gradient(given.release(), m.dtype, m.ndim, m.dims(), create_graph));
    if (!given) return -1;
  }
  given = Ref(changed_over(given.release(), after));
  if (given)
    given = Ref(place_op(callbacks.strided_scatter, callbacks.mixed_strided_scatter, mixed, whole.get(), given.get(), place));
  if (!given) return -1;
  grads_in[more ? 0 : edge] = changed_over(given.release(), before);
  return grads_in[more ? 0 : edge] ? 0 : -1;
}

namespace {

// Which edge of an op's node leads to its first argument; -1 where none does.
int edge_of_first(Op* op) {
  for (size_t i = 0; i < op->backward.edges.size(); ++i) {
    if (op->backward.edges[i] == 0) return static_cast<int>(i);
  }
  return -1;
}

PyObject* write_unobserved(Op* op, PyObject** slots) {
  Op* real = choose_variant(op->in_place.base, slots);
  if (!real) return nullptr;
  if (real == op) real = op->in_place.base;  // reached through `inplace=True`
  if (!op->variants.empty()) {  // the form's own: the same values, another gradient
    Op* own = choose_variant(op, slots);
    if (!own) return nullptr;
    if (own != op) real = own;
  }
  if (!is_tensor(slots[0])) {
    PyErr_Format(PyExc_TypeError, "%U(): argument 'self' (position 1) must be Tensor, not %s", op->name,
                 Py_TYPE(slots[0])->tp_name);
    return nullptr;
  }
  Tensor* self = as_tensor(slots[0]);
  uint32_t flags;
  bool wants_grad, symbolic;
  if (look_at_arguments(real, slots, &flags, &wants_grad, &symbolic) < 0) return nullptr;
  if (flags & kWrapped) {
    note_path(Path::Level);
    Ref tuple(PyTuple_New(op->n_params));
    if (!tuple) return nullptr;
    for (int i = 0; i < op->n_params; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(slots[i]));
    PyObject* r = ask_levels(asked::in_place, as_object(op), tuple.get());
    if (r != Py_NotImplemented) return r;
    Py_DECREF(r);
  }
  const bool copies = real->in_place.overlap & kCopiesSame;  // copy_ goes between devices
  if (flags & kElsewhere && !copies && check_devices(real, slots, self) < 0) return nullptr;
  if (tls.derivative) {
    int last = op->n_params - 1;
    while (last > 1 && slots[last] == Py_None) --last;
    if (check_captured(self, as_object(op), last > 0 ? slots[last] : nullptr) < 0) return nullptr;
  }
  const bool recording = wants_grad && grad_enabled() && is_differentiable(self->dtype) && real->backward.differentiable;
  if (check_place(self, recording) < 0) return nullptr;
  Ref node;
  if (recording) {
    bool needs_original = false;
    for (const Op::Backward::Save& save : real->backward.saves)
      needs_original |= save.source.kind == Source::Arg && save.source.index == 0;
    Ref original;
    PyObject* bound[kMaxParams];
    for (int i = 0; i < op->n_params; ++i) bound[i] = slots[i];
    if (needs_original) {
      // A node saves the argument as it was; its edge is still that of `self`.
      original = Ref(as_object(keep_original(self)));
      if (!original) return nullptr;
      bound[0] = original.get();
    }
    node = Ref(as_object(make_op_node(real, bound, nullptr, 1, op->backward.node_type)));
    if (!node) return nullptr;
  }
  const bool same = real->in_place.overlap & kCopiesSame && same_data(slots[1], self);
  if (!same && !(real->in_place.overlap & kSaidLate) && refuse_overlap(real, slots, self, 0) < 0) return nullptr;
  if (check_memory(self, same || (real->in_place.overlap & (kSelfMay | kSaidLate) && !(self->flags & kLazy))) < 0) return nullptr;
  if (PyObject* text = real->in_place.expanded; text && overlaps_itself(self) && warn_program(PyUnicode_AsUTF8(text)) < 0)
    return nullptr;
  const int written = flags & kLazy ? write_lazy(real, slots, self) : write(real, slots, self);
  if (written < 0 || bump_version(self) < 0) return nullptr;
  if ((wants_grad || (flags & kCut)) && !node && !requires_grad(self)) note_cut(real, slots, self, wants_grad);
  if (node) {
    Node* n = reinterpret_cast<Node*>(node.get());
    for (size_t i = 0; i < real->backward.saves.size(); ++i) {
      if (real->backward.saves[i].source.kind == Source::Out && n->n_edges && save_output(n, &n->saved[i], self, 0) < 0)
        return nullptr;
    }
    if (set_output_meta(n, 0, self) < 0 || rebase_history(self, n, 0, edge_of_first(real)) < 0) return nullptr;
  }
  return Py_NewRef(slots[0]);
}

}  // namespace

PyObject* run_in_place(Op* op, PyObject** slots) {
  if (!observed()) return write_unobserved(op, slots);
  ObservedCall call(op, slots);
  return call.begin() ? call.end(write_unobserved(op, slots)) : nullptr;
}

}  // namespace rushlight
