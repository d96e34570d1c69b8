// Node: one recorded call, the edges its gradients leave by, and the values its rule needs. Also AccumulateGrad, the node of a
// leaf, and what a program sees of the graph (`next_functions`, `_saved_*`, `metadata`).
//
// Note [Destruction]: dropping the last node of a chain drops the next, and so on for a million. `node_dealloc` therefore
// queues nodes that die while another one is being taken apart, and takes them apart in a loop.
#include "core/core.h"

#include <structmember.h>

#include <cstring>
#include <string>
#include <vector>

namespace rushlight {

PyTypeObject* NodeType = nullptr;
PyTypeObject* AccumulateGradType = nullptr;

namespace {

// Node numbers order the engine's work. They come from one counter so that graphs built by several threads order too.
std::atomic<uint64_t> sequence{0};

}  // namespace

Node* new_node(PyTypeObject* type, Node::Kind kind, int n_edges, int n_saved, int n_outputs) {
  Node* n;
  if (kind == Node::Function) {
    n = reinterpret_cast<Node*>(type->tp_alloc(type, 0));
    if (!n) return nullptr;
  } else {
    n = PyObject_GC_New(Node, type);
    if (!n) return nullptr;
    // Field by field, and of the inline arrays only what is used: clearing the whole struct costs more than the rest.
    n->op = nullptr;
    n->released = false;
    for (int i = 0; i < n_edges && i < 2; ++i) n->edges_inline[i] = Edge{nullptr, 0};
    for (int i = 0; i < n_saved && i < 3; ++i) n->saved_inline[i] = Saved{};
    n->meta_inline[0].ndim = 0;
    n->meta_inline[0].dims_heap = nullptr;
    n->variable = nullptr;
    n->hooks = n->metadata = n->dict = n->weakrefs = nullptr;
    n->state = BackwardState{};
  }
  n->kind = kind;
  n->seq = sequence.fetch_add(1, std::memory_order_relaxed);
  n->edges = n->edges_inline;
  n->saved = n->saved_inline;
  n->metas = &n->meta_inline[0];
  n->n_edges = static_cast<uint16_t>(n_edges);
  n->n_saved = static_cast<uint16_t>(n_saved);
  n->n_outputs = static_cast<uint16_t>(n_outputs);
  bool ok = true;
  if (n_edges > 2) {
    n->edges = static_cast<Edge*>(PyMem_Calloc(n_edges, sizeof(Edge)));
    ok = ok && n->edges;
  }
  if (n_saved > 3) {
    n->saved = static_cast<Saved*>(PyMem_Calloc(n_saved, sizeof(Saved)));
    ok = ok && n->saved;
  }
  if (n_outputs > 1) {
    n->metas = static_cast<OutputMeta*>(PyMem_Calloc(n_outputs, sizeof(OutputMeta)));
    ok = ok && n->metas;
  }
  if (!ok) {
    if (!n->edges) n->edges = n->edges_inline, n->n_edges = 0;
    if (!n->saved) n->saved = n->saved_inline, n->n_saved = 0;
    if (!n->metas) n->metas = &n->meta_inline[0], n->n_outputs = 1;
    Py_DECREF(n);
    PyErr_NoMemory();
    return nullptr;
  }
  if (kind != Node::Function) PyObject_GC_Track(n);
  return n;
}

int set_output_meta(Node* node, int nr, const Tensor* t) {
  OutputMeta& m = node->metas[nr];
  const int ndim = PyArray_NDIM(t->array);
  const npy_intp* dims = PyArray_DIMS(t->array);
  m.dtype = t->dtype;
  npy_intp* to = m.dims_inline;
  if (ndim > OutputMeta::kInline) {
    to = static_cast<npy_intp*>(PyMem_Malloc(ndim * sizeof(npy_intp)));
    if (!to) {
      PyErr_NoMemory();
      return -1;
    }
    PyMem_Free(m.dims_heap);
    m.dims_heap = to;
  }
  for (int i = 0; i < ndim; ++i) to[i] = dims[i];
  m.ndim = static_cast<int8_t>(ndim);
  return 0;
}

// ---------------------------------------------------------------- saved values

namespace {

// Note [Packed values]: under saved-tensor hooks a slot holds (packed object, unpack hook, node, output number, requires_grad):
// what unpack needs to give the tensor its place in the graph back. `node` is the maker, or a leaf's AccumulateGrad; it is None
// for a result of the node that saves, which must not refer to itself.
int pack(Saved* slot, Tensor* t, PyObject* hooks, bool is_output) {
  Edge e{nullptr, 0};
  if (!is_output && gradient_edge(t, &e) < 0) return -1;
  Ref node(as_object(e.node));
  Py_INCREF(t->array);
  Tensor* detached = wrap_array(t->array, t->dtype);
  if (!detached) return -1;
  Ref argument(as_object(detached));
  VersionCounter* v = shared_version(t);
  if (!v) return -1;
  hold(v);
  detached->version = v;
  const uint32_t before = v->value;
  Ref packed;
  {
    // Hooks that save while they pack would pack again: they run without hooks.
    PyObject* outer = tls.saved_hooks;
    tls.saved_hooks = nullptr;
    packed = Ref(PyObject_CallOneArg(PyTuple_GET_ITEM(hooks, 0), argument.get()));
    tls.saved_hooks = outer;
  }
  if (!packed) return -1;
  if (v->value != before) {
    PyErr_SetString(PyExc_RuntimeError,
                    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
                    "modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you "
                    "need to perform in-place operations on the input to a pack hook.");
    return -1;
  }
  slot->value = Py_BuildValue("(OOOII)", packed.get(), PyTuple_GET_ITEM(hooks, 1), e.node ? as_object(e.node) : Py_None,
                              is_output ? slot->output_nr : e.nr, is_output ? 1u : 0u);
  if (!slot->value) return -1;
  slot->kind = Saved::Packed;
  return 0;
}

PyObject* unpack_packed(Node* node, const Saved* slot, bool for_graph) {
  PyObject *packed, *hook, *maker;
  unsigned nr, is_output;
  if (!PyArg_ParseTuple(slot->value, "OOOII", &packed, &hook, &maker, &nr, &is_output)) return nullptr;
  Ref value;
  {
    GradMode off(false);
    value = Ref(PyObject_CallOneArg(hook, packed));
  }
  if (!value) return nullptr;
  if (!is_tensor(value.get())) {
    PyErr_Format(PyExc_TypeError, "Output of saved tensor unpack_hook expected to be a Tensor but got result of type %s",
                 Py_TYPE(value.get())->tp_name);
    return nullptr;
  }
  Tensor* source = as_tensor(value.get());
  Py_INCREF(source->array);
  Tensor* t = wrap_array(source->array, source->dtype);
  if (!t) return nullptr;
  VersionCounter* v = shared_version(source);
  if (!v) {
    Py_DECREF(t);
    return nullptr;
  }
  hold(v);
  t->version = v;
  Node* origin = is_output ? (for_graph ? node : nullptr) : maker == Py_None ? nullptr : reinterpret_cast<Node*>(maker);
  if (origin && origin->kind == Node::Accumulate && origin->variable == source) {
    Py_DECREF(t);
    return value.release();
  }
  Py_XINCREF(origin);
  t->grad_fn = origin;
  t->output_nr = nr;
  return as_object(t);
}

}  // namespace

int pack_saved(Node* node, Saved* slot, PyObject* hooks) {
  if (slot->kind != Saved::Input && slot->kind != Saved::Output) {
    PyErr_SetString(PyExc_RuntimeError, slot->kind == Saved::Packed
                                            ? "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: "
                                              "only one pair of hooks is allowed at a time."
                                            : "Calling register_hooks on a saved tensor with value None is forbidden");
    return -1;
  }
  Ref value(unpack(node, slot, false));
  if (!value) return -1;
  Saved fresh{};
  fresh.output_nr = slot->output_nr;
  if (pack(&fresh, as_tensor(value.get()), hooks, slot->kind == Saved::Output) < 0) return -1;
  Py_XDECREF(slot->value);
  drop(slot->version);
  *slot = fresh;
  return 0;
}

int save_input(Saved* slot, PyObject* value) {
  Py_INCREF(value);
  slot->value = value;
  if (is_tensor(value)) {
    Tensor* t = as_tensor(value);
    if ((t->flags & kInference) && grad_enabled() && !tls.inference) {
      slot->kind = Saved::Object;
      PyErr_SetString(PyExc_RuntimeError,
                      "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
                      "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use "
                      "it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.");
      return -1;
    }
    if (tls.saved_hooks) {
      slot->value = nullptr;
      Py_DECREF(value);
      return pack(slot, t, tls.saved_hooks, false);
    }
    slot->kind = Saved::Input;
    slot->expected = version_of(t);
    slot->had_node = t->grad_fn != nullptr;
  } else {
    slot->kind = Saved::Object;
  }
  return 0;
}

int save_output(Saved* slot, Tensor* out, int nr) {
  slot->output_nr = static_cast<uint8_t>(nr);
  if (tls.saved_hooks) return pack(slot, out, tls.saved_hooks, true);
  VersionCounter* v = shared_version(out);
  if (!v) return -1;
  hold(v);
  slot->version = v;
  slot->expected = v->value;
  Py_INCREF(out->array);
  slot->value = as_object(out->array);
  slot->kind = Saved::Output;
  return 0;
}

namespace {

const char* kFreed =
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). "
    "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if "
    "you need to backward through the graph a second time or if you need to access saved tensors after calling backward.";

std::string type_text(PyArrayObject* a, DType dtype) {
  std::string text = std::string("[torch.") + scalar_name(dtype) + "Tensor [";
  for (int i = 0; i < PyArray_NDIM(a); ++i) {
    if (i) text += ", ";
    text += std::to_string(PyArray_DIM(a, i));
  }
  return text + "]]";
}

// The node's name as torch's in-place error has it: without "Backward0".
std::string short_name(const Node* n) {
  std::string name = Py_TYPE(n)->tp_name;
  const size_t dot = name.rfind('.');
  if (dot != std::string::npos) name = name.substr(dot + 1);
  const size_t at = name.rfind("Backward");
  return at == std::string::npos ? name : name.substr(0, at);
}

void raise_modified(PyArrayObject* array, DType dtype, uint32_t now, uint32_t expected, const Node* made_by, uint32_t nr) {
  std::string text = "one of the variables needed for gradient computation has been modified by an inplace operation: " +
                     type_text(array, dtype);
  if (made_by) text += ", which is output " + std::to_string(nr) + " of " + short_name(made_by) + ",";
  text += " is at version " + std::to_string(now) + "; expected version " + std::to_string(expected) +
          (observing & kAnomaly
               ? " instead. Hint: the backtrace further above shows the operation that failed to compute its gradient. The "
                 "variable in question was changed in there or anywhere later. Good luck!"
               : " instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
                 "torch.autograd.set_detect_anomaly(True, check_nan=False).");
  PyErr_SetString(PyExc_RuntimeError, text.c_str());
}

}  // namespace

PyObject* unpack(Node* node, const Saved* slot, bool for_graph) {
  if (slot->kind == Saved::Object && slot->value) return Py_NewRef(slot->value);
  if (node->released) {
    PyErr_SetString(PyExc_RuntimeError, kFreed);
    return nullptr;
  }
  switch (slot->kind) {
    case Saved::Nothing:
    case Saved::Object: return Py_NewRef(Py_None);
    case Saved::Input: {
      Tensor* t = as_tensor(slot->value);
      const uint32_t now = version_of(t);
      if (now != slot->expected) {
        raise_modified(t->array, t->dtype, now, slot->expected, t->grad_fn, t->output_nr);
        return nullptr;
      }
      if (slot->had_node && !t->grad_fn) {
        PyErr_SetString(PyExc_RuntimeError,
                        "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_()."
                        "This is not supported, please use out-of-place `.detach()` instead");
        return nullptr;
      }
      return Py_NewRef(slot->value);
    }
    case Saved::Output: {
      const uint32_t now = slot->version->value;
      if (now != slot->expected) {
        raise_modified(as_array(slot->value), dtype_of(as_array(slot->value)), now, slot->expected, node, slot->output_nr);
        return nullptr;
      }
      Py_INCREF(slot->value);
      Tensor* t = wrap_array(as_array(slot->value));
      if (!t) return nullptr;
      hold(slot->version);
      t->version = slot->version;
      if (for_graph) {
        Py_INCREF(node);
        t->grad_fn = node;
        t->output_nr = slot->output_nr;
      }
      return as_object(t);
    }
    case Saved::Packed: return unpack_packed(node, slot, for_graph);
  }
  return nullptr;
}

void release_saved(Node* node) {
  for (int i = 0; i < node->n_saved; ++i) {
    Saved& s = node->saved[i];
    // Numbers and shapes cost nothing to keep: a node that has only those can be run again.
    if (s.kind == Saved::Nothing || s.kind == Saved::Object) continue;
    node->released = true;
    s.kind = Saved::Nothing;
    Py_CLEAR(s.value);
    drop(s.version);
    s.version = nullptr;
  }
}

// ---------------------------------------------------------------- life cycle

namespace {

int node_traverse(PyObject* self, visitproc visit, void* arg) {
  Node* n = reinterpret_cast<Node*>(self);
  Py_VISIT(Py_TYPE(self));
  for (int i = 0; i < n->n_edges; ++i) Py_VISIT(n->edges[i].node);
  for (int i = 0; i < n->n_saved; ++i) Py_VISIT(n->saved[i].value);
  Py_VISIT(n->variable);
  Py_VISIT(n->hooks);
  Py_VISIT(n->metadata);
  Py_VISIT(n->dict);
  return 0;
}

void forget_variable(Node* n) {
  if (n->variable && n->variable->accumulator == n) n->variable->accumulator = nullptr;
  Tensor* v = n->variable;
  n->variable = nullptr;
  Py_XDECREF(v);
}

int node_clear(PyObject* self) {
  Node* n = reinterpret_cast<Node*>(self);
  for (int i = 0; i < n->n_edges; ++i) Py_CLEAR(n->edges[i].node);
  release_saved(n);
  for (int i = 0; i < n->n_saved; ++i) Py_CLEAR(n->saved[i].value);
  forget_variable(n);
  Py_CLEAR(n->hooks);
  Py_CLEAR(n->metadata);
  Py_CLEAR(n->dict);
  return 0;
}

void destroy(Node* n) {
  PyTypeObject* type = Py_TYPE(n);
  node_clear(as_object(n));
  if (n->edges != n->edges_inline) PyMem_Free(n->edges);
  if (n->saved != n->saved_inline) PyMem_Free(n->saved);
  for (int i = 0; i < n->n_outputs; ++i) PyMem_Free(n->metas[i].dims_heap);
  if (n->metas != &n->meta_inline[0]) PyMem_Free(n->metas);
  Py_XDECREF(n->op);
  type->tp_free(n);
  Py_DECREF(type);
}

// Nodes waiting to be taken apart. The list is threaded through `grad` of their state, which a dead node does not use.
struct Dying {
  Node* first = nullptr;
};
thread_local Dying* dying = nullptr;

void node_dealloc(PyObject* self) {
  Node* n = reinterpret_cast<Node*>(self);
  PyObject_GC_UnTrack(self);
  if (n->weakrefs) PyObject_ClearWeakRefs(self);
  if (dying) {
    n->state.grad = as_object(dying->first);
    dying->first = n;
    return;
  }
  Dying queue;
  dying = &queue;
  destroy(n);
  while (Node* next = queue.first) {
    queue.first = reinterpret_cast<Node*>(next->state.grad);
    destroy(next);
  }
  dying = nullptr;
}

// ---------------------------------------------------------------- what a program sees

PyObject* get_next_functions(PyObject* self, void*) {
  Node* n = reinterpret_cast<Node*>(self);
  Ref result(PyTuple_New(n->n_edges));
  if (!result) return nullptr;
  for (int i = 0; i < n->n_edges; ++i) {
    PyObject* node = n->edges[i].node ? as_object(n->edges[i].node) : Py_None;
    PyObject* pair = Py_BuildValue("(OI)", node, n->edges[i].node ? n->edges[i].nr : 0u);
    if (!pair) return nullptr;
    PyTuple_SET_ITEM(result.get(), i, pair);
  }
  return result.release();
}

PyObject* get_metadata(PyObject* self, void*) {
  Node* n = reinterpret_cast<Node*>(self);
  if (!n->metadata && !(n->metadata = PyDict_New())) return nullptr;
  return Py_NewRef(n->metadata);
}

PyObject* get_hooks(PyObject* self, void*) {
  Node* n = reinterpret_cast<Node*>(self);
  return Py_NewRef(n->hooks ? n->hooks : Py_None);
}

int set_hooks(PyObject* self, PyObject* value, void*) {
  Node* n = reinterpret_cast<Node*>(self);
  if (value == Py_None) value = nullptr;
  Py_XINCREF(value);
  Py_XSETREF(n->hooks, value);
  return 0;
}

// ((shape, dtype), ...) of the outputs; the Python side dresses it as torch's _input_metadata.
PyObject* get_output_metas(PyObject* self, void*) {
  Node* n = reinterpret_cast<Node*>(self);
  if (n->kind == Node::Accumulate) {
    if (!n->variable) return PyTuple_New(0);
    PyArrayObject* a = n->variable->array;
    Ref shape(shape_tuple(PyArray_NDIM(a), PyArray_DIMS(a)));
    return shape ? Py_BuildValue("((OO))", shape.get(), dtype_object(n->variable->dtype)) : nullptr;
  }
  Ref result(PyTuple_New(n->n_outputs));
  if (!result) return nullptr;
  for (int i = 0; i < n->n_outputs; ++i) {
    Ref shape(shape_tuple(n->metas[i].ndim, n->metas[i].dims()));
    if (!shape) return nullptr;
    PyObject* pair = Py_BuildValue("(OO)", shape.get(), dtype_object(n->metas[i].dtype));
    if (!pair) return nullptr;
    PyTuple_SET_ITEM(result.get(), i, pair);
  }
  return result.release();
}

PyObject* get_op(PyObject* self, void*) {
  Node* n = reinterpret_cast<Node*>(self);
  return Py_NewRef(n->op ? as_object(n->op) : Py_None);
}

PyObject* node_name(PyObject* self, PyObject*) {
  std::string name = Py_TYPE(self)->tp_name;
  const size_t dot = name.rfind('.');
  if (dot != std::string::npos) name = name.substr(dot + 1);
  if (name == "AccumulateGrad") name = "torch::autograd::AccumulateGrad";
  return PyUnicode_FromString(name.c_str());
}

PyObject* node_sequence_nr(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(reinterpret_cast<Node*>(self)->seq);
}

PyObject* node_set_sequence_nr(PyObject* self, PyObject* value) {
  const unsigned long long seq = PyLong_AsUnsignedLongLong(value);
  if (PyErr_Occurred()) return nullptr;
  reinterpret_cast<Node*>(self)->seq = seq;
  Py_RETURN_NONE;
}

// The name torch gives a saved argument: `input` is `self` there and the result `result`.
bool saved_name_matches(Op* op, const Op::Save& save, const char* wanted) {
  if (save.source.kind == Source::Out) return !strcmp(wanted, "result");
  const char* name = PyUnicode_AsUTF8(op->params[save.source.index].name);
  if (save.source.kind == Source::ArgShape) return std::string(wanted) == std::string(name) + "_sym_sizes";
  if (save.source.kind != Source::Arg) return false;
  if (!strcmp(name, "input")) name = "self";
  return !strcmp(wanted, name);
}

PyObject* node_getattro(PyObject* self, PyObject* name) {
  Node* n = reinterpret_cast<Node*>(self);
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) return nullptr;
  if (n->op && !strncmp(text, "_saved_", 7)) {
    for (size_t i = 0; i < n->op->saves.size() && i < n->n_saved; ++i) {
      if (saved_name_matches(n->op, n->op->saves[i], text + 7)) return unpack(n, &n->saved[i], true);
    }
  }
  if (n->op && !strncmp(text, "_raw_saved_", 11)) {
    for (size_t i = 0; i < n->op->saves.size() && i < n->n_saved; ++i) {
      if (!saved_name_matches(n->op, n->op->saves[i], text + 11)) continue;
      PyObject* f = callback("raw_saved");
      return f ? PyObject_CallFunction(f, "On", self, static_cast<Py_ssize_t>(i)) : nullptr;
    }
  }
  if (n->kind == Node::Accumulate && !strcmp(text, "variable")) {
    return Py_NewRef(n->variable ? as_object(n->variable) : Py_None);
  }
  return PyObject_GenericGetAttr(self, name);
}

PyObject* node_dir(PyObject* self, PyObject*) {
  Node* n = reinterpret_cast<Node*>(self);
  Ref names(PyObject_CallMethod(as_object(Py_TYPE(self)), "mro", nullptr));
  Ref type_dir(PyObject_Dir(as_object(Py_TYPE(self))));
  if (!names || !type_dir) return nullptr;
  if (n->op) {
    for (const auto& save : n->op->saves) {
      std::string text = "_saved_";
      if (save.source.kind == Source::Out) {
        text += "result";
      } else {
        const char* name = PyUnicode_AsUTF8(n->op->params[save.source.index].name);
        text += !strcmp(name, "input") ? "self" : name;
        if (save.source.kind == Source::ArgShape) text += "_sym_sizes";
      }
      Ref entry(PyUnicode_FromString(text.c_str()));
      if (!entry || PyList_Append(type_dir.get(), entry.get()) < 0) return nullptr;
    }
  }
  return type_dir.release();
}

PyObject* node_call(PyObject* self, PyObject* args, PyObject*) {
  PyObject* f = callback("call_node");
  if (!f) return nullptr;
  PyObject* call[] = {self, args};
  return PyObject_Vectorcall(f, call, 2, nullptr);
}

// set_edges(tensors): the edges of a Function node, one per input (None where it is no tensor).
PyObject* node_set_edges(PyObject* self, PyObject* tensors) {
  Node* n = reinterpret_cast<Node*>(self);
  Ref items(PySequence_Fast(tensors, "set_edges(sequence)"));
  if (!items) return nullptr;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.get());
  if (n->n_edges || n->edges != n->edges_inline || count > UINT16_MAX) {
    PyErr_SetString(PyExc_RuntimeError, "the edges of a node are set once");
    return nullptr;
  }
  if (count > 2 && !(n->edges = static_cast<Edge*>(PyMem_Calloc(count, sizeof(Edge))))) {
    n->edges = n->edges_inline;
    return PyErr_NoMemory();
  }
  n->n_edges = static_cast<uint16_t>(count);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* o = PySequence_Fast_GET_ITEM(items.get(), i);
    if (is_tensor(o) && gradient_edge(as_tensor(o), &n->edges[i]) < 0) return nullptr;
  }
  Py_RETURN_NONE;
}

// attach(tensors, outputs): makes tensors the outputs of this node, in order; None where an output is not differentiable. The
// shapes are those of `outputs`, which has all of them.
PyObject* node_attach(PyObject* self, PyObject* args) {
  Node* n = reinterpret_cast<Node*>(self);
  PyObject *tensors, *outputs;
  if (!PyArg_ParseTuple(args, "OO", &tensors, &outputs)) return nullptr;
  Ref items(PySequence_Fast(tensors, "attach(sequence, sequence)")), all(PySequence_Fast(outputs, "attach(sequence, sequence)"));
  if (!items || !all) return nullptr;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.get());
  if (n->metas != &n->meta_inline[0] || count > UINT16_MAX || PySequence_Fast_GET_SIZE(all.get()) != count) {
    PyErr_SetString(PyExc_RuntimeError, "the outputs of a node are set once");
    return nullptr;
  }
  if (count > 1) {
    n->metas = static_cast<OutputMeta*>(PyMem_Calloc(count, sizeof(OutputMeta)));
    if (!n->metas) {
      n->metas = &n->meta_inline[0];
      return PyErr_NoMemory();
    }
  }
  n->n_outputs = static_cast<uint16_t>(count);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* output = PySequence_Fast_GET_ITEM(all.get(), i);
    if (is_tensor(output) && set_output_meta(n, static_cast<int>(i), as_tensor(output)) < 0) return nullptr;
    PyObject* o = PySequence_Fast_GET_ITEM(items.get(), i);
    if (!is_tensor(o) || !is_differentiable(as_tensor(o)->dtype)) continue;
    Tensor* t = as_tensor(o);
    Py_INCREF(n);
    Node* old = t->grad_fn;
    t->grad_fn = n;
    Py_XDECREF(old);
    t->output_nr = static_cast<uint32_t>(i);
    t->flags &= ~kRequiresGrad;
    if (t->base) t->history_version = version_of(t);
  }
  Py_RETURN_NONE;
}

// save(tensors, numbers): keeps values for a Function's backward. A number >= 0 says the tensor is that output of this node: it
// is then kept without its history, which would be a cycle.
PyObject* node_save(PyObject* self, PyObject* args) {
  Node* n = reinterpret_cast<Node*>(self);
  PyObject *tensors, *numbers;
  if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &tensors, &PyTuple_Type, &numbers)) return nullptr;
  const Py_ssize_t count = PyTuple_GET_SIZE(tensors);
  if (n->n_saved || n->saved != n->saved_inline || count > UINT16_MAX || PyTuple_GET_SIZE(numbers) != count) {
    PyErr_SetString(PyExc_RuntimeError, "the saved values of a node are set once");
    return nullptr;
  }
  if (count > 3 && !(n->saved = static_cast<Saved*>(PyMem_Calloc(count, sizeof(Saved))))) {
    n->saved = n->saved_inline;
    return PyErr_NoMemory();
  }
  n->n_saved = static_cast<uint16_t>(count);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* o = PyTuple_GET_ITEM(tensors, i);
    if (o == Py_None) continue;
    const long nr = PyLong_AsLong(PyTuple_GET_ITEM(numbers, i));
    if (nr == -1 && PyErr_Occurred()) return nullptr;
    const bool output = nr >= 0 && is_tensor(o);
    if ((output ? save_output(&n->saved[i], as_tensor(o), static_cast<int>(nr)) : save_input(&n->saved[i], o)) < 0) return nullptr;
  }
  Py_RETURN_NONE;
}

PyObject* node_unpack_saved(PyObject* self, PyObject*) {
  Node* n = reinterpret_cast<Node*>(self);
  Ref tuple(PyTuple_New(n->n_saved));
  if (!tuple) return nullptr;
  for (int i = 0; i < n->n_saved; ++i) {
    PyObject* value = unpack(n, &n->saved[i], true);
    if (!value) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), i, value);
  }
  return tuple.release();
}

// saved_index(name): which slot `_saved_<name>` and `_raw_saved_<name>` mean; -1 for none.
PyObject* node_saved_index(PyObject* self, PyObject* name) {
  Node* n = reinterpret_cast<Node*>(self);
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) return nullptr;
  if (n->op) {
    for (size_t i = 0; i < n->op->saves.size() && i < n->n_saved; ++i) {
      if (saved_name_matches(n->op, n->op->saves[i], text)) return PyLong_FromSize_t(i);
    }
  }
  return PyLong_FromLong(-1);
}

bool saved_slot(Node* n, long i, Saved** slot) {
  if (i < 0 || i >= n->n_saved) {
    PyErr_SetString(PyExc_IndexError, "the node has no such saved value");
    return false;
  }
  *slot = &n->saved[i];
  return true;
}

PyObject* node_unpack_one(PyObject* self, PyObject* index) {
  Node* n = reinterpret_cast<Node*>(self);
  const long i = PyLong_AsLong(index);
  Saved* slot;
  if ((i == -1 && PyErr_Occurred()) || !saved_slot(n, i, &slot)) return nullptr;
  return unpack(n, slot, true);
}

PyObject* node_pack_one(PyObject* self, PyObject* args) {
  Node* n = reinterpret_cast<Node*>(self);
  long i;
  PyObject* hooks;
  Saved* slot;
  if (!PyArg_ParseTuple(args, "lO!", &i, &PyTuple_Type, &hooks) || !saved_slot(n, i, &slot)) return nullptr;
  if (PyTuple_GET_SIZE(hooks) != 2) {
    PyErr_SetString(PyExc_TypeError, "hooks are a (pack, unpack) pair");
    return nullptr;
  }
  if (n->released) {
    PyErr_SetString(PyExc_RuntimeError, kFreed);
    return nullptr;
  }
  if (pack_saved(n, slot, hooks) < 0) return nullptr;
  Py_RETURN_NONE;
}

PyObject* node_release(PyObject* self, PyObject*) {
  release_saved(reinterpret_cast<Node*>(self));
  Py_RETURN_NONE;
}

PyObject* node_new(PyTypeObject* type, PyObject*, PyObject*) {
  if (type == NodeType || type == AccumulateGradType || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
    PyErr_Format(PyExc_TypeError, "cannot create '%s' instances", type->tp_name);
    return nullptr;
  }
  return as_object(new_node(type, Node::Function, 0, 0, 1));
}

int node_init(PyObject*, PyObject*, PyObject*) { return 0; }

PyGetSetDef kGetSet[] = {
    {"next_functions", get_next_functions, nullptr, "((node, output number), ...): where the gradients go.", nullptr},
    {"metadata", get_metadata, nullptr, "A dictionary for the program's own use.", nullptr},
    {"_hooks", get_hooks, set_hooks, "The hooks object, or None.", nullptr},
    {"_output_metas", get_output_metas, nullptr, "((shape, dtype), ...) of the outputs.", nullptr},
    {"_op", get_op, nullptr, "The table entry this is a call of, or None.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef kMethods[] = {
    {"name", node_name, METH_NOARGS, "The node's name."},
    {"_sequence_nr", node_sequence_nr, METH_NOARGS, "The node's place in the order of creation."},
    {"_set_sequence_nr", node_set_sequence_nr, METH_O, "Changes the node's place in the engine's order."},
    {"_set_edges", node_set_edges, METH_O, "Sets where gradients go (Function nodes)."},
    {"_attach", node_attach, METH_VARARGS, "Makes tensors the outputs of this node (Function nodes)."},
    {"_save", node_save, METH_VARARGS, "Keeps values for backward (Function nodes)."},
    {"_unpack_saved", node_unpack_saved, METH_NOARGS, "The values kept for backward (Function nodes)."},
    {"_saved_index", node_saved_index, METH_O, "Which saved value a name means."},
    {"_unpack_one", node_unpack_one, METH_O, "One saved value."},
    {"_pack_one", node_pack_one, METH_VARARGS, "Runs (pack, unpack) hooks over one saved value."},
    {"_release", node_release, METH_NOARGS, "Frees the saved values."},
    {"__dir__", node_dir, METH_NOARGS, "Attribute names, saved values included."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef kFunctionMembers[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(Node, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Node, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

template <typename F>
void* slot(F f) {
  return reinterpret_cast<void*>(f);
}

PyObject* node_types = nullptr;  // name -> class

}  // namespace

// Messages and reprs of the interpreter name a type by `tp_name`; torch's have no module there.
void drop_module_from_name(PyTypeObject* type) {
  if (const char* dot = strrchr(type->tp_name, '.')) type->tp_name = dot + 1;
}

PyTypeObject* node_type(const char* name) {
  PyObject* found = PyDict_GetItemString(node_types, name);
  if (found) return reinterpret_cast<PyTypeObject*>(found);
  // As torch's: a class of `builtins` with the default object repr. Made by hand because thousands of instances a second
  // need the plain allocator, not the one of Python-level subclasses.
  // Given by hand: a class without a dealloc of its own gets the one of Python-level subclasses, which is slower.
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(node_dealloc)}, {0, nullptr}};
  PyType_Spec spec = {name, sizeof(Node), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};  // collected as its base is
  Ref bases(PyTuple_Pack(1, as_object(NodeType)));
  if (!bases) return nullptr;
  // The spec's name is kept by the type before 3.12: it must outlive it.
  const std::string full = std::string("builtins.") + name;
  char* kept = static_cast<char*>(PyMem_Malloc(full.size() + 1));
  if (!kept) {
    PyErr_NoMemory();
    return nullptr;
  }
  strcpy(kept, full.c_str());
  spec.name = kept;
  Ref type(PyType_FromSpecWithBases(&spec, bases.get()));
  if (!type) return nullptr;
  drop_module_from_name(reinterpret_cast<PyTypeObject*>(type.get()));
  if (PyDict_SetItemString(node_types, name, type.get()) < 0) return nullptr;
  return reinterpret_cast<PyTypeObject*>(type.get());  // the dictionary keeps it
}

// ---------------------------------------------------------------- edges

int gradient_edge(Tensor* t, Edge* edge) {
  Node* fn;
  if (current_grad_fn(t, &fn) < 0) return -1;
  if (fn) {
    Py_INCREF(fn);
    edge->node = fn;
    edge->nr = t->output_nr;
    return 0;
  }
  edge->nr = 0;
  // Not requires_grad(t): a view made under no_grad says that it wants a gradient but none flows to it.
  if (!(t->flags & kRequiresGrad) || !is_differentiable(t->dtype)) {
    edge->node = nullptr;
    return 0;
  }
  if (t->accumulator) {
    Py_INCREF(t->accumulator);
    edge->node = t->accumulator;
    return 0;
  }
  Node* a = new_node(AccumulateGradType, Node::Accumulate, 0, 0, 1);
  if (!a) return -1;
  a->seq = UINT64_MAX;
  Py_INCREF(t);
  a->variable = t;
  t->accumulator = a;
  edge->node = a;
  return 0;
}

int init_node(PyObject* module) {
  node_types = PyDict_New();
  if (!node_types) return -1;
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("A node of the backward graph.")},
      {Py_tp_dealloc, slot(node_dealloc)},
      {Py_tp_traverse, slot(node_traverse)},
      {Py_tp_clear, slot(node_clear)},
      {Py_tp_getattro, slot(node_getattro)},
      {Py_tp_call, slot(node_call)},
      {Py_tp_getset, kGetSet},
      {Py_tp_methods, kMethods},
      {0, nullptr},
  };
  static PyType_Spec spec = {"torch.autograd.graph.Node", sizeof(Node), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  NodeType = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!NodeType) return -1;
  AccumulateGradType = node_type("AccumulateGrad");
  if (!AccumulateGradType) return -1;
  // What custom Functions derive from: instances have attributes and can be referred to weakly.
  static PyType_Slot function_slots[] = {
      {Py_tp_doc, const_cast<char*>("The node, and ctx, of a custom Function.")},
      {Py_tp_new, slot(node_new)},
      {Py_tp_init, slot(node_init)},
      {Py_tp_members, kFunctionMembers},
      {0, nullptr},
  };
  static PyType_Spec function_spec = {"torch.autograd.function.FunctionNode", sizeof(Node), 0,
                                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, function_slots};
  Ref bases(PyTuple_Pack(1, as_object(NodeType)));
  Ref function(bases ? PyType_FromSpecWithBases(&function_spec, bases.get()) : nullptr);
  if (!function) return -1;
  if (PyModule_AddObjectRef(module, "FunctionNode", function.get()) < 0) return -1;
  if (PyModule_AddObjectRef(module, "AccumulateGrad", as_object(AccumulateGradType)) < 0) return -1;
  return PyModule_AddObjectRef(module, "Node", as_object(NodeType));
}

}  // namespace rushlight
