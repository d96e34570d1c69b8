// How the gradients of a recorded call are computed. An Op offers up to three paths, tried in this order:
//   1. the fused kernel (`backward`): one call for all gradients;
//   2. a traced program: a pointwise partial times the incoming gradient, in one pass of the block machine;
//   3. the rule itself, a Python function of tensors.
// When a graph of the backward is wanted, or a tensor is wrapped, only the third is taken: it is made of ops, so it records.
#include "core/accelerator.h"
#include "core/layout.h"
#include "core/lazy.h"
#include "core/override.h"

#include <algorithm>
#include <string>

namespace rushlight {

int compile_rules(Op* op) {
  if (op->backward.compiled) return 0;
  // Said to be done when it is: another thread that comes meanwhile traces as well, and what is set twice stays as it was.
  const OverridesOf quiet(Overrides::None);
  if (op->kind == Op::Pointwise) {
    const Unreported own_work;
    PyObject* f = callbacks.compile.get();
    if (!f || !Ref(PyObject_CallOneArg(f, as_object(op)))) return -1;
  }
  op->backward.compiled = true;
  return 0;
}

namespace {

// Whether a gradient is wanted on edge i: it leads on, and not only to what this backward leaves out.
bool is_wanted(const Node* node, int i, uint64_t left_out) { return node->edges[i].node && (i >= 64 || !(left_out >> i & 1)); }

// 0 where no gradient is wanted, else the dimensions of the edge's tensor plus 1.
long dimensions_of(const Node* node, int i, uint64_t left_out) {
  if (!is_wanted(node, i, left_out)) return 0;
  const Edge& e = node->edges[i];
  if (e.node->kind == Node::Accumulate) return e.node->variable ? e.node->variable->ndim() + 1 : 1;
  return e.nr < static_cast<uint32_t>(e.node->n_outputs) ? e.node->metas[e.nr].ndim + 1 : 1;
}

// One argument of a rule: a new reference.
PyObject* source_value(Node* node, const Source& s, PyObject* const* grads, bool for_graph, uint64_t left_out) {
  switch (s.kind) {
    case Source::Grad: return Py_NewRef(grads[s.index] ? grads[s.index] : Py_None);
    case Source::Grads: {
      PyObject* tuple = PyTuple_New(node->n_outputs);
      if (!tuple) return nullptr;
      for (int i = 0; i < node->n_outputs; ++i) PyTuple_SET_ITEM(tuple, i, Py_NewRef(grads[i] ? grads[i] : Py_None));
      return tuple;
    }
    case Source::Needs: {
      PyObject* tuple = PyTuple_New(node->n_edges);
      if (!tuple) return nullptr;
      for (int i = 0; i < node->n_edges; ++i) PyTuple_SET_ITEM(tuple, i, PyLong_FromLong(dimensions_of(node, i, left_out)));
      return tuple;
    }
    default: break;
  }
  if (s.slot < 0) {
    PyErr_SetString(PyExc_SystemError, "rushlight: a rule reads a value that was not saved");
    return nullptr;
  }
  return unpack(node, &node->saved[s.slot], for_graph);
}

// A rule is code of the library: it runs as PyTorch's do, whatever class its tensors have.
PyObject* call_rule(PyObject* function, PyObject* const* args, size_t n) {
  const OverridesOf quiet(Overrides::None);
  return PyObject_Vectorcall(function, args, n, nullptr);
}

bool is_plain_value(PyObject* o) { return !is_tensor(o) || !(as_tensor(o)->flags & kWrapped); }

// Whether the incoming gradients have the shapes of the node's results: a hook, or a call of the node, may give others. False with an
// exception.
bool incoming_fits(Node* node, PyObject* const* grads) {
  for (int i = 0; i < node->n_outputs; ++i) {
    if (!grads[i] || !is_tensor(grads[i])) continue;
    const Tensor* g = as_tensor(grads[i]);
    const OutputMeta& m = node->metas[i];
    if (g->ndim() == m.ndim && std::equal(m.dims(), m.dims() + m.ndim, g->sizes())) continue;
    PyErr_Format(
        PyExc_RuntimeError,
        "Function %s returned an invalid gradient at index %d - got %s but expected shape compatible with %s: a gradient of "
        "another shape came in, from a hook or a call",
        (short_name(node) + "Backward0").c_str(), i, sizes_text(g->sizes(), g->ndim()).c_str(),
        sizes_text(m.dims(), m.ndim).c_str());
    return false;
  }
  return true;
}

// 1 done, 0 not for these arguments, -1 exception.
int run_fused(Node* node, PyObject* const* grads, uint64_t left_out, PyObject** grads_in) {
  Op* op = node->op;
  const size_t n = op->backward.fused_sources.size();
  bool given = grads[0];  // a kernel that reads the gradients of several results needs one of them
  for (const Source& s : op->backward.fused_sources) given |= s.kind == Source::Grad && grads[s.index];
  if (!given) return 0;
  const bool native = is_kernel(op->backward.fused);
  bool meta = false, accelerated = false;
  Ref owned[kMaxParams];
  PyObject* args[kMaxParams];
  for (size_t i = 0; i < n; ++i) {
    PyObject* value = source_value(node, op->backward.fused_sources[i], grads, false, left_out);
    if (!value) return -1;
    if (!is_plain_value(value)) {
      Py_DECREF(value);
      return 0;
    }
    owned[i] = Ref(plain_tensor(value));
    if (!(args[i] = owned[i].get())) return -1;
    meta |= is_tensor(args[i]) && as_tensor(args[i])->flags & kElsewhere;
    accelerated |= is_tensor(args[i]) && as_tensor(args[i])->flags & kAccelerator;
  }
  if (native && accelerated && !has_kernels_there(op->backward.fused)) return 0;
  if (!native) {
    if (meta) return 0;  // the rules are ops, which know the layouts of their results
    for (size_t i = 0; i < n; ++i) {
      if (is_tensor(args[i])) owned[i] = Ref(array_to_read(as_tensor(args[i])));
      if (!(args[i] = owned[i].get())) return -1;
    }
  }
  Ref result(PyObject_Vectorcall(op->backward.fused, args, n, nullptr));
  if (!result) {
    if (!native) reword_memory_error();
    return -1;
  }
  if (result.get() == Py_NotImplemented) return 0;
  note_way(native ? kFused : kFusedNumpy);
  PyObject* single[] = {result.get()};
  PyObject* const* items = single;
  Py_ssize_t count = 1;
  if (PyTuple_Check(result.get())) {
    items = &PyTuple_GET_ITEM(result.get(), 0);
    count = PyTuple_GET_SIZE(result.get());
  }
  if (count != node->n_edges) {
    if (!incoming_fits(node, grads)) return -1;
    PyErr_Format(PyExc_SystemError, "rushlight: the fused backward of %U gave %zd gradients for %d edges", op->name, count,
                 node->n_edges);
    return -1;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (items[i] == Py_None || !is_wanted(node, static_cast<int>(i), left_out)) continue;
    grads_in[i] = as_object(result_tensor(Py_NewRef(items[i])));
    if (!grads_in[i]) return -1;
  }
  return 1;
}

// Whether a gradient is a plain tensor that only the engine has, so that it may be written in place.
bool owned_alone(PyObject* o) {
  if (Py_REFCNT(o) != 1 || Py_TYPE(o) != TensorType) return false;
  const Tensor* t = as_tensor(o);
  return owns_memory(t) && !overlaps_itself(t) && t->is_writeable() && !t->version && !t->base && !requires_grad(t);
}

// The same protocol for one traced program. `spare`: nobody needs the incoming gradient any more, so the new one may take its memory.
int run_traced(Node* node, const Rule& rule, PyObject* const* grads, bool spare, PyObject** grad_in) {
  Tensor* g = as_tensor(grads[0]);
  if (!is_floating(g->dtype)) return 0;
  const size_t n = rule.program_sources.size();
  Ref owned[kMaxParams];
  PyObject* operands[kMaxParams];
  for (size_t i = 0; i < n; ++i) {
    owned[i] = Ref(plain_tensor(source_value(node, rule.program_sources[i], grads, false, 0)));
    operands[i] = owned[i].get();
    if (!operands[i]) return -1;
    if (is_tensor(operands[i])) {
      Tensor* t = as_tensor(operands[i]);
      if ((t->flags & kWrapped) || is_complex(t->dtype) || t->dtype == DType::U64 || !t->is_aligned()) return 0;
    } else if (!PyFloat_Check(operands[i]) && !PyLong_Check(operands[i])) {
      return 0;
    }
  }
  *grad_in = as_object(
      run_pointwise_program(*rule.program, operands, static_cast<int>(n), g->dtype, spare ? g : nullptr, g->device()));
  note_way(kTraced);
  return *grad_in ? 1 : -1;
}

int find_gradients(Node* node, PyObject* const* grads, bool create_graph, uint64_t left_out, PyObject** grads_in) {
  Op* op = node->op;
  bool leads_on = false;
  for (int i = 0; i < node->n_edges; ++i) leads_on |= node->edges[i].node != nullptr;
  if (!leads_on) {  // recorded for a view made under no_grad, which no gradient flows to
    for (int i = 0; i < node->n_saved; ++i) {
      Ref value(unpack(node, &node->saved[i], false));
      if (!value) return -1;
    }
    return 0;
  }
  if (compile_rules(op) < 0) return -1;
  if (node->released && node->n_saved) {
    // Said before anything is computed, whichever value would have been missed first.
    for (int i = 0; i < node->n_saved; ++i) {
      Ref value(unpack(node, &node->saved[i], false));
      if (!value) return -1;
    }
  }
  bool plain = !create_graph;
  for (int i = 0; i < node->n_outputs && plain; ++i) plain = !grads[i] || is_plain_value(grads[i]);
  if (op->backward.fused && plain) {
    const int done = run_fused(node, grads, left_out, grads_in);
    if (done) return done < 0 ? -1 : 0;
  }
  // Where each parameter's edges begin.
  int first_edge[kMaxParams];
  int list_length = node->n_edges - (static_cast<int>(op->backward.edges.size()) - 1);
  int e = 0;
  for (uint8_t p : op->backward.edges) {
    first_edge[p] = e;
    e += p == op->list_param ? list_length : 1;
  }
  const auto gives_wanted = [&](const Rule& rule) {
    for (uint8_t p : rule.params) {
      const int n = p == op->list_param ? list_length : 1;
      for (int k = 0; k < n; ++k) {
        if (is_wanted(node, first_edge[p] + k, left_out)) return true;
      }
    }
    return false;
  };
  const Rule* last = nullptr;
  for (const Rule& rule : op->backward.rules) {
    if (gives_wanted(rule)) last = &rule;
  }
  const bool lone = plain && node->n_outputs == 1 && !node->hooks && grads[0] && owned_alone(grads[0]);
  for (const Rule& rule : op->backward.rules) {
    if (!gives_wanted(rule)) continue;
    if (plain && grads[0]) {
      if (rule.identity) {
        note_way(kPassedOn);
        grads_in[first_edge[rule.params[0]]] = Py_NewRef(grads[0]);
        continue;
      }
      if (rule.program) {
        const int done = run_traced(node, rule, grads, lone && &rule == last && owned_alone(grads[0]),
                                    &grads_in[first_edge[rule.params[0]]]);
        if (done < 0) return -1;
        if (done) continue;
      }
    }
    Ref owned[kMaxParams];
    PyObject* args[kMaxParams];
    const size_t n = rule.sources.size();
    for (size_t i = 0; i < n; ++i) {
      owned[i] = Ref(source_value(node, rule.sources[i], grads, create_graph, left_out));
      if (!(args[i] = owned[i].get())) return -1;
    }
    note_way(kRule);
    Ref result(call_rule(rule.function, args, n));
    if (!result) return -1;
    if (rule.params.size() == 1 && rule.params[0] != op->list_param) {
      if (result.get() != Py_None) grads_in[first_edge[rule.params[0]]] = result.release();
      continue;
    }
    if (!PyTuple_Check(result.get()) && !PyList_Check(result.get())) {
      PyErr_Format(PyExc_TypeError, "rushlight: the rule of %U must give a tuple of gradients", op->name);
      return -1;
    }
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(result.get());
    const bool list = rule.params[0] == op->list_param;
    if (count != (list ? list_length : static_cast<Py_ssize_t>(rule.params.size()))) {
      if (!incoming_fits(node, grads)) return -1;
      PyErr_Format(PyExc_TypeError, "rushlight: the rule of %U gave %zd gradients", op->name, count);
      return -1;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(result.get(), i);
      const int at = list ? first_edge[rule.params[0]] + static_cast<int>(i) : first_edge[rule.params[i]];
      if (item != Py_None) grads_in[at] = Py_NewRef(item);
    }
  }
  return 0;
}

// Lays the gradients of the arguments that decide about the format out in it. -1 with an exception.
int keep_format(Node* node, PyObject** grads_in) {
  Op* op = node->op;
  for (int e = 0; e < node->n_edges; ++e) {
    PyObject* g = grads_in[e];
    if (!g || !(op->result.keeps.params >> op->backward.edges[e] & 1) || (as_tensor(g)->flags & (kWrapped | kLazy))) continue;
    Tensor* t = as_tensor(g);
    Py_ssize_t strides[kMaxDims], numel;
    if (node->channels_last && (t->ndim() == 4 || t->ndim() == 5)) {
      channels_last_strides(t->ndim(), t->sizes(), t->item(), strides);
    } else if (t->is_contiguous()) {
      continue;
    } else {
      contiguous_strides(t->ndim(), t->sizes(), t->item(), strides, &numel);
    }
    if (same_sizes(t->ndim(), t->strides(), strides)) continue;
    if (!owned_alone(g)) {
      Tensor* copy = dense_copy(t);
      if (!copy) return -1;
      Py_SETREF(grads_in[e], as_object(copy));
    }
    grads_in[e] = as_object(relaid(as_tensor(grads_in[e]), strides));
    if (!grads_in[e]) return -1;
  }
  return 0;
}

}  // namespace

int run_rules(Node* node, PyObject* const* grads, bool create_graph, uint64_t left_out, PyObject** grads_in) {
  if (find_gradients(node, grads, create_graph, left_out, grads_in) < 0) return -1;
  return node->op->result.keeps.rule == Keeps::FormatAndBack && !create_graph ? keep_format(node, grads_in) : 0;
}

namespace {

// The backward that a custom Function's program gave.
int run_function(Node* n, PyObject* const* grads, PyObject** grads_in) {
  note_way(kFunction);
  Ref in(PyTuple_New(n->n_outputs));
  if (!in) return -1;
  for (int i = 0; i < n->n_outputs; ++i) PyTuple_SET_ITEM(in.get(), i, Py_NewRef(grads[i] ? grads[i] : Py_None));
  Ref result(PyObject_CallMethod(as_object(n), "_run_backward", "(O)", in.get()));
  if (!result) return -1;
  if (!PyTuple_Check(result.get()) || PyTuple_GET_SIZE(result.get()) != n->n_edges) {
    PyErr_SetString(PyExc_SystemError, "rushlight: a Function node gave a wrong number of gradients");
    return -1;
  }
  for (int i = 0; i < n->n_edges; ++i) {
    PyObject* item = PyTuple_GET_ITEM(result.get(), i);
    if (item != Py_None) grads_in[i] = Py_NewRef(item);
  }
  return 0;
}

}  // namespace

int run_node(Node* node, PyObject* const* grads, bool create_graph, uint64_t left_out, PyObject** grads_in) {
  switch (node->kind) {
    case Node::Function: return run_function(node, grads, grads_in);
    case Node::Rewrite: return run_rewrite(node, grads, create_graph, grads_in);
    case Node::Captured: return run_captured(node, grads, create_graph, grads_in);
    default: return run_rules(node, grads, create_graph, left_out, grads_in);
  }
}

// ---------------------------------------------------------------- sums and fitting

PyObject* add_gradients(PyObject* a, PyObject* b, bool create_graph) {
  Ref left(a), right(b);
  Op* add = callbacks.add.op();
  if (!add) return nullptr;
  Tensor* x = as_tensor(a);
  Tensor* y = as_tensor(b);
  if (create_graph || (x->flags | y->flags) & kNotPlain) return call_op(add, a, b);
  Tensor* target = nullptr;
  if (x->dtype == y->dtype && same_shape(x, y)) {
    if (owned_alone(a)) target = x;
    else if (owned_alone(b)) target = y;
  }
  PyObject* slots[kMaxParams] = {a, b};
  if (!target) return call_op(add, a, b);
  for (int i = 2; i < add->n_params; ++i) slots[i] = add->params[i].fallback;
  Ref sum(as_object(pointwise_forward(add, slots, target)));
  if (!sum) return nullptr;
  return target == x ? left.release() : right.release();
}

PyObject* fit_gradient(PyObject* g, DType dtype, int ndim, const Py_ssize_t* dims, bool create_graph) {
  Tensor* t = as_tensor(g);
  const int have = t->ndim();
  const Py_ssize_t* sizes = t->sizes();
  bool same = have == ndim;
  for (int i = 0; same && i < ndim; ++i) same = sizes[i] == dims[i];
  if (same && t->dtype == dtype) return g;
  Ref current(g);
  GradMode mode(create_graph);
  if (!same) {
    Ref shape(shape_tuple(ndim, dims));
    PyObject* f = shape ? callbacks.sum_to.get() : nullptr;
    if (!f) return nullptr;
    PyObject* args[] = {current.get(), shape.get()};
    current = Ref(call_rule(f, args, 2));
    if (!current) return nullptr;
  }
  if (as_tensor(current.get())->dtype != dtype) {
    PyObject* f = callbacks.fit_dtype.get();
    PyObject* wanted = f ? dtype_object(dtype) : nullptr;
    if (!wanted) return nullptr;
    PyObject* args[] = {current.get(), wanted};
    current = Ref(call_rule(f, args, 2));
  }
  return current.release();
}

}  // namespace rushlight
