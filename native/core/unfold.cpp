// Nodes that stand for several of PyTorch's. A matrix product with more than two dimensions is one call here, and one node; a
// program that walks the graph expects the reshapes and transposes around it. They are made when somebody looks: the op's
// `unfold` (Python) runs the call again in steps, and the node becomes the last of these. From then on they are what a backward
// runs, so hooks on them work.
#include "core/saved.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace rushlight {

namespace {

// A call's arguments for `unfold`: values and shapes if kept, and whether a gradient is wanted.
struct Known {
  Ref values, shapes, wants;
};

// 1 known, 0 not to be had (freed, changed since, or with hooks that looking would run), -1 exception.
int find_out(Node* n, Known* known) {
  Op* op = n->op;
  known->values = Ref(PyTuple_New(op->n_params));
  known->shapes = Ref(PyTuple_New(op->n_params));
  known->wants = Ref(PyTuple_New(op->n_params));
  if (!known->values || !known->shapes || !known->wants) return -1;
  for (int p = 0; p < op->n_params; ++p) {
    PyTuple_SET_ITEM(known->values.get(), p, Py_NewRef(Py_None));
    PyTuple_SET_ITEM(known->shapes.get(), p, Py_NewRef(Py_None));
    PyTuple_SET_ITEM(known->wants.get(), p, Py_NewRef(Py_False));
  }
  for (size_t e = 0; e < op->backward.edges.size(); ++e) {
    if (n->edges[e].node) PyTuple_SetItem(known->wants.get(), op->backward.edges[e], Py_NewRef(Py_True));
  }
  for (size_t i = 0; i < op->backward.saves.size(); ++i) {
    const Source& source = op->backward.saves[i].source;
    const Saved& slot = n->saved[i];
    if (slot.kind == Saved::Packed) return 0;
    if (source.kind == Source::ArgShape && slot.kind == Saved::Object) {
      PyTuple_SetItem(known->shapes.get(), source.index, slot.value.own().release());
    } else if (source.kind == Source::Arg && slot.kind == Saved::Input) {
      PyObject* value = unpack(n, &slot, false);
      if (!value) {
        PyErr_Clear();
        return 0;
      }
      PyTuple_SetItem(known->values.get(), source.index, value);
    }
  }
  return 1;
}

// A stand-in that a new node keeps gives way to the tensor that it stands for, whose history is the true one.
void keep_real(Node* made, PyObject* stand_ins, PyObject* values) {
  for (int i = 0; i < made->n_saved; ++i) {
    Saved& slot = made->saved[i];
    if (slot.kind != Saved::Input) continue;
    for (Py_ssize_t p = 0; p < PyTuple_GET_SIZE(stand_ins); ++p) {
      PyObject* real = PyTuple_GET_ITEM(values, p);
      if (slot.value.peek() != PyTuple_GET_ITEM(stand_ins, p) || !is_tensor(real)) continue;
      slot.had_node = static_cast<bool>(as_tensor(real)->grad_fn);
      slot.value.set(Py_NewRef(real));
      break;
    }
  }
}

// The stand-ins' leaves give way to where the node's own gradients go; what is new is as old as the node.
int connect(Node* n, Node* last, PyObject* stand_ins, PyObject* values) {
  Op* op = n->op;
  std::vector<Node*> made{last};
  for (size_t i = 0; i < made.size(); ++i) {
    Node* x = made[i];
    keep_real(x, stand_ins, values);
    for (int e = 0; e < x->n_edges; ++e) {
      Node* next = x->edges[e].node;
      if (!next) continue;
      if (next->kind != Node::Accumulate) {
        if (std::find(made.begin(), made.end(), next) == made.end()) made.push_back(next);
        continue;
      }
      for (size_t own = 0; own < op->backward.edges.size(); ++own) {
        PyObject* stand_in = PyTuple_GET_ITEM(stand_ins, op->backward.edges[own]);
        if (!is_tensor(stand_in) || as_tensor(stand_in)->accumulator != next) continue;
        x->edges[e] = n->edges[own];
        Py_XINCREF(as_object(x->edges[e].node));
        Py_DECREF(as_object(next));
        break;
      }
    }
  }
  if (static_cast<int>(made.size()) > kUnfoldedNodes) {
    PyErr_SetString(PyExc_SystemError, "rushlight: a call was unfolded into more nodes than it has numbers for");
    return -1;
  }
  std::sort(made.begin(), made.end(), [](const Node* a, const Node* b) { return a->seq > b->seq; });
  for (size_t i = 0; i < made.size(); ++i) {
    made[i]->seq = n->seq - i;
    keep_site(&made[i]->made, n->made);
    if (n->released) release_after_backward(made[i], n->freed);
  }
  return 0;
}

// Gives `n` what `m` does, and the other way round.
void exchange(Node* n, Node* m) {
  const bool inline_edges[] = {n->edges == n->edges_inline, m->edges == m->edges_inline};
  const bool inline_saved[] = {n->saved == n->saved_inline, m->saved == m->saved_inline};
  PyTypeObject* type = Py_TYPE(n);
  Py_SET_TYPE(as_object(n), Py_TYPE(m));
  Py_SET_TYPE(as_object(m), type);
  std::swap(n->op, m->op);
  std::swap(n->n_edges, m->n_edges);
  std::swap(n->n_saved, m->n_saved);
  std::swap(n->edges, m->edges);
  std::swap(n->saved, m->saved);
  std::swap(n->edges_inline, m->edges_inline);
  std::swap(n->saved_inline, m->saved_inline);
  if (inline_edges[0]) m->edges = m->edges_inline;
  if (inline_edges[1]) n->edges = n->edges_inline;
  if (inline_saved[0]) m->saved = m->saved_inline;
  if (inline_saved[1]) n->saved = n->saved_inline;
}

}  // namespace

int unfold(Node* n) {
  if (n->kind != Node::OfOp || !n->op || !n->op->backward.unfold || backward_running() || observing & ~(kTrace | kRecords))
    return 0;
  Known known;
  const int found = find_out(n, &known);
  if (found <= 0) return found;
  Ref shape(shape_tuple(n->metas[0].ndim, n->metas[0].dims()));
  if (!shape) return -1;
  Ref made;
  {
    GradMode on(true);
    const Unreported own_work;
    const bool inference = std::exchange(tls.inference, false);
    PyObject* hooks = std::exchange(tls.saved_hooks, nullptr);
    PyObject* args[] = {shape.get(), dtype_object(n->metas[0].dtype), known.values.get(), known.shapes.get(), known.wants.get()};
    made = Ref(PyObject_Vectorcall(n->op->backward.unfold, args, 5, nullptr));
    tls.inference = inference;
    tls.saved_hooks = hooks;
  }
  if (!made || made.get() == Py_None) return made ? 0 : -1;
  PyObject *result, *stand_ins;
  if (!PyArg_ParseTuple(made.get(), "OO!", &result, &PyTuple_Type, &stand_ins)) return -1;
  if (!is_tensor(result) || PyTuple_GET_SIZE(stand_ins) != n->op->n_params) {
    PyErr_SetString(PyExc_SystemError, "rushlight: unfolding gives a tensor and one stand-in for each parameter");
    return -1;
  }
  const Owned<Node> last = as_tensor(result)->grad_fn.own();
  // A backward or another look may have come in between.
  if (!last || last->kind != Node::OfOp || !n->op->backward.unfold || backward_running()) return 0;
  if (connect(n, last.get(), stand_ins, known.values.get()) < 0) return -1;
  exchange(n, last.get());
  return 0;
}

}  // namespace rushlight
