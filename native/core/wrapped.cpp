// Wrapped tensors, which stand for others while a transform runs: the calls between the core and src/rushlight/_levels/.
//
// Note [Coming to stand for others]: a plain tensor that a dual is written into becomes a dual itself. Its place in the graph
// then goes to a tensor inside (`split`) and comes back when the transform ends (`rejoin`). Older
// views follow when used: calls look at the root's flags too, and `settle` shares the attachment.
#include "core/layout.h"
#include "core/op.h"
#include "core/tensor.h"

namespace rushlight {

namespace asked {
#define X(name) PyObject* const name = PyUnicode_InternFromString(#name);
RUSHLIGHT_ASKED(X)
#undef X
}  // namespace asked

int settle(Tensor* t) {
  Ref done(ask_levels(asked::settle, as_object(t)));
  if (!done) return -1;
  return (t->flags & kWrapped) != 0;
}

int refuse_captured(Tensor* t, PyObject* written, PyObject* value) {
  Ref done(ask_levels(asked::refuse_captured, as_object(t), written, value ? value : Py_None));
  return done ? 0 : -1;
}

namespace {

// The first of a batch; without values where the batch is empty.
Tensor* first_of(const Tensor* batch) {
  Layout l(batch);
  const bool empty = !l.shape[0];
  l.remove(0);
  return empty ? new_tensor(batch->dtype, l.ndim, l.shape, batch->device()) : new_view(batch, l);
}

// wrapper(value, flag, object, first=False): a tensor with the memory of `value` (or of its first element, as of a batch), with
// `object`, which a transform attaches, and with the requires_grad of `value`.
PyObject* wrapper(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n < 3 || n > 4 || !is_tensor(args[0]) || (n == 4 && as_tensor(args[0])->ndim() == 0)) {
    PyErr_SetString(PyExc_TypeError, "wrapper(value, flag, object, first=False)");
    return nullptr;
  }
  const long flag = PyLong_AsLong(args[1]);
  if (flag == -1 && PyErr_Occurred()) return nullptr;
  Tensor* value = as_tensor(args[0]);
  Tensor* t = n == 4 && args[3] == Py_True ? first_of(value) : new_alias(value);
  if (!t) return nullptr;
  t->flags |= (static_cast<uint32_t>(flag) & kWrapped) | (value->flags & kLazy);
  if (requires_grad(value)) t->flags |= kRequiresGrad;
  t->wrapped.set(Py_NewRef(args[2]));
  return as_object(t);
}

// stand_for(cls, element, shape, flag, object): an instance of a Tensor subclass of that shape, whose
// places are all the one element of `element`; `object` is attached.
PyObject* stand_for(PyObject*, PyObject* args) {
  PyObject *cls, *element, *shape, *object;
  unsigned flag;
  if (!PyArg_ParseTuple(args, "OO!O!IO", &cls, TensorType, &element, &PyTuple_Type, &shape, &flag, &object)) return nullptr;
  if (check_subclass(cls) < 0) return nullptr;
  const Py_ssize_t n = PyTuple_GET_SIZE(shape), strides[kMaxDims] = {};
  Py_ssize_t sizes[kMaxDims];
  if (!check_ndim(n)) return nullptr;
  for (Py_ssize_t i = 0; i < n; ++i) {
    sizes[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
    if (sizes[i] == -1 && PyErr_ExceptionMatches(PyExc_OverflowError)) {
      raise_unpack("sparse_coo_tensor", "size", static_cast<int>(i), nullptr);
      return nullptr;
    }
    if (sizes[i] < 0) return PyErr_Format(PyExc_RuntimeError, "numel: integer multiplication overflow");
  }
  const Tensor* from = as_tensor(element);
  Ref made(as_object(allocate_tensor(reinterpret_cast<PyTypeObject*>(cls))));
  Tensor* t = as_tensor(made.get());
  if (!t || set_layout(t, hold(from->storage_), from->dtype, static_cast<int>(n), sizes, strides, from->offset()) < 0)
    return nullptr;
  t->flags |= (flag & kWrapped) | (tls.inference ? kInference : 0u);
  t->made_in = tls.transform;
  t->wrapped.init(Py_NewRef(object));
  return made.release();
}

// split(t): a tensor that takes the memory, versions, history and attachment of t, which is no
// view, and the place of t from now on; t keeps the history for `rejoin`.
PyObject* split(PyObject*, PyObject* o) {
  Tensor* t = tensor_argument(o);
  Edge edge{nullptr, 0};
  if (!t || gradient_edge(t, &edge) < 0) return nullptr;
  Ref node(as_object(edge.node));
  const bool counted = !(t->flags & kInference);
  if (counted && !shared_version(t)) return nullptr;
  Tensor* inside = new_alias(t);
  if (!inside) return nullptr;
  inside->flags = t->flags & (kInference | kNotPlain);
  if (t->flags & kWrapped) inside->flags |= t->flags & kRequiresGrad;
  if (counted) {
    hold(t->version);
    inside->version = t->version;
  }
  inside->grad_fn.set(reinterpret_cast<Node*>(node.release()));
  inside->output_nr = edge.nr;
  inside->made_in = t->made_in;
  inside->wrapped.set(t->wrapped.own().release());
  return as_object(inside);
}

// rejoin(t, inside): t gets back the parts that `split` gave to `inside`, with all later changes.
PyObject* rejoin(PyObject*, PyObject* const* args, Py_ssize_t n) {
  Tensor* t = n == 2 ? tensor_argument(args[0]) : nullptr;
  Tensor* inside = t ? tensor_argument(args[1]) : nullptr;
  if (!inside) return nullptr;
  if (take_layout(t, inside) < 0) return nullptr;
  t->flags = (t->flags & ~kNotPlain) | (inside->flags & (kNotPlain | kSpecialView));
  t->wrapped.set(inside->wrapped.own().release());
  if (!t->version && inside->version) {  // t was made as what stands for others: it shares the versions and the root from now on
    hold(inside->version);
    t->version = inside->version;
    t->history_version = inside->history_version;
    if (inside->base && !t->base) t->base = reinterpret_cast<Tensor*>(Py_NewRef(as_object(inside->base)));
  }
  Node* made_by;
  if (current_grad_fn(inside, &made_by) < 0) return nullptr;
  Owned<Node> node = Owned<Node>::borrow(made_by);
  note_metadata();
  if (t->wrapped) {
    t->flags = (t->flags & ~kRequiresGrad) | (inside->flags & kRequiresGrad);
  } else if (!node) {
    t->flags &= ~kRequiresGrad;
    t->grad_fn.clear();
  } else if (node.get() != t->grad_fn.peek() && node.get()->kind != Node::Accumulate) {
    if (set_history(t, node.release(), inside->output_nr) < 0) return nullptr;
  }
  Py_RETURN_NONE;
}

// set_transforms(number, differentiates): begins a transform; gives the state for reset_transforms.
PyObject* set_transforms(PyObject*, PyObject* args) {
  unsigned number;
  int differentiates;
  if (!PyArg_ParseTuple(args, "Ip", &number, &differentiates)) return nullptr;
  PyObject* before = Py_BuildValue("(II)", tls.transform, tls.derivative);
  tls.transform = number;
  if (differentiates) tls.derivative = number;
  modes_used.store(true, std::memory_order_relaxed);
  return before;
}

PyObject* reset_transforms(PyObject*, PyObject* args) {
  unsigned transform, derivative;
  if (!PyArg_ParseTuple(args, "II", &transform, &derivative)) return nullptr;
  tls.transform = transform;
  tls.derivative = derivative;
  Py_RETURN_NONE;
}

// renew_history(view): the view's history is made anew, as a part of the root: as_strided may reach
// beyond the view before, and a write that reads the view first would lose that gradient.
PyObject* renew_history(PyObject*, PyObject* o) {
  Tensor* t = tensor_argument(o);
  if (!t) return nullptr;
  if (t->base && t->grad_fn && !(t->flags & kSpecialView)) t->history_version = version_of(t) - 1;
  Py_RETURN_NONE;
}

// give(t): t belongs to the running transforms, like arguments of a transformed function. Gives t.
PyObject* give(PyObject*, PyObject* o) {
  Tensor* t = tensor_argument(o);
  if (!t) return nullptr;
  t->made_in = tls.transform;
  return Py_NewRef(o);
}

PyObject* made_in(PyObject*, PyObject* o) {
  Tensor* t = tensor_argument(o);
  return t ? PyLong_FromUnsignedLong(t->made_in) : nullptr;
}

// check_captured(t, written, value): raises where a transformed function was not given t and writes
// t. `written`: the in-place op, or PyTorch's name; `value`: the last argument.
PyObject* check_captured_function(PyObject*, PyObject* const* args, Py_ssize_t n) {
  Tensor* t = n == 3 ? tensor_argument(args[0]) : nullptr;
  if (!t || check_captured(t, args[1], args[2]) < 0) return nullptr;
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef kWrappedFunctions[] = {
    {"wrapper", method_of<wrapper>(), METH_FASTCALL, "A tensor that stands for another in a transform or forward-mode."},
    {"split", method_of<split>(), METH_O, "A tensor that takes the place of another in the graph."},
    {"rejoin", method_of<rejoin>(), METH_FASTCALL, "Gives a tensor that was split its place in the graph back."},
    {"set_transforms", method_of<set_transforms>(), METH_VARARGS, "A transform begins in this thread."},
    {"reset_transforms", method_of<reset_transforms>(), METH_VARARGS, "The transform that began last has ended."},
    {"renew_history", method_of<renew_history>(), METH_O, "Lets the history of a view be made anew."},
    {"give", method_of<give>(), METH_O, "Lets a tensor belong to the transforms that run now."},
    {"stand_for", method_of<stand_for>(), METH_VARARGS, "An instance of a Tensor subclass, without values, with an attachment."},
    {"made_in", method_of<made_in>(), METH_O, "The number of the youngest transform that ran when a tensor was made."},
    {"check_captured", method_of<check_captured_function>(), METH_FASTCALL,
     "Raises where a transformed function may not write a tensor."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace rushlight
