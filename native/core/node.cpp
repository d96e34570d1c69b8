// Node: one recorded call and the edges its gradients leave by; the values its rule needs are in saved.cpp. Also
// AccumulateGrad, the node of a leaf, and what a program sees of the graph (`next_functions`, `metadata`).
//
// Note [Destruction]: dropping the last node of a chain drops the next, and so on for a million. `node_dealloc` therefore
// queues nodes that die while another one is being taken apart, and takes them apart in a loop.
#include "core/saved.h"

#include <structmember.h>

#include <algorithm>
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

uint64_t next_number(uint64_t taken) { return count(sequence, taken) + taken - 1; }

int check_count_of_node(Py_ssize_t count) {
  if (count <= kMaxCount) return 0;
  PyErr_Format(PyExc_RuntimeError, "a recorded operation has at most %zd inputs, outputs and saved values, got %zd", kMaxCount,
               count);
  return -1;
}

Node* new_node(PyTypeObject* type, Node::Kind kind, Py_ssize_t n_edges, Py_ssize_t n_saved, Py_ssize_t n_outputs) {
  if (check_count_of_node(std::max({n_edges, n_saved, n_outputs})) < 0) return nullptr;
  Node* n;
  if (kind == Node::Function) {
    n = reinterpret_cast<Node*>(type->tp_alloc(type, 0));
    if (!n) return nullptr;
  } else {
    n = PyObject_GC_New(Node, type);
    if (!n) return nullptr;
    // Field by field, and of the inline arrays only what is used: clearing the whole struct costs more than the rest.
    n->op = nullptr;
    n->released = n->channels_last = false;
    for (int i = 0; i < n_edges && i < 2; ++i) n->edges_inline[i] = Edge{nullptr, 0};
    for (int i = 0; i < n_saved && i < 3; ++i) n->saved_inline[i] = Saved{};
    n->meta_inline[0].ndim = 0;
    n->meta_inline[0].dtype = DType{};  // a pack hook may ask before these are known
    n->meta_inline[0].device = DeviceType{};
    n->meta_inline[0].dims_heap = nullptr;
    n->variable = nullptr;
    set_site(&n->made, nullptr, 0);
    set_site(&n->freed, nullptr, 0);
    n->hooks.init();
    n->metadata.init();
    n->dict = n->weakrefs = nullptr;
    n->state = BackwardState{};
  }
  n->kind = kind;
  n->seq = kind == Node::Accumulate ? UINT64_MAX : next_number(1);
  n->edges = n->edges_inline;
  n->saved = n->saved_inline;
  n->metas = &n->meta_inline[0];
  n->n_edges = static_cast<int>(n_edges);
  n->n_saved = static_cast<int>(n_saved);
  n->n_outputs = static_cast<int>(n_outputs);
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
  if (kind != Node::Accumulate) note_site(&n->made);
  if (kind != Node::Function) PyObject_GC_Track(n);
  return n;
}

int set_output_meta(Node* node, int nr, const Tensor* t) {
  OutputMeta& m = node->metas[nr];
  const int ndim = t->ndim();
  const Py_ssize_t* dims = t->sizes();
  m.dtype = t->dtype;
  m.device = t->device();
  Py_ssize_t* to = m.dims_inline;
  if (ndim > OutputMeta::kInline) {
    to = static_cast<Py_ssize_t*>(PyMem_Malloc(ndim * sizeof(Py_ssize_t)));
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

// ---------------------------------------------------------------- life cycle

namespace {

int node_traverse(PyObject* self, visitproc visit, void* arg) {
  Node* n = reinterpret_cast<Node*>(self);
  Py_VISIT(Py_TYPE(self));
  for (int i = 0; i < n->n_edges; ++i) Py_VISIT(n->edges[i].node);
  for (int i = 0; i < n->n_saved; ++i) Py_VISIT(n->saved[i].value.peek());
  Py_VISIT(n->variable);
  Py_VISIT(n->hooks.peek());
  Py_VISIT(n->metadata.peek());
  Py_VISIT(n->dict);
  return 0;
}

void forget_variable(Node* n) {
  if (n->variable && n->variable->accumulator == n) {
    n->variable->accumulator = nullptr;
    if (n->hooks) note_metadata();
  }
  Tensor* v = n->variable;
  n->variable = nullptr;
  Py_XDECREF(v);
}

int node_clear(PyObject* self) {
  Node* n = reinterpret_cast<Node*>(self);
  for (int i = 0; i < n->n_edges; ++i) Py_CLEAR(n->edges[i].node);
  release_saved(n);
  for (int i = 0; i < n->n_saved; ++i) n->saved[i].value.clear();
  forget_variable(n);
  n->hooks.clear();
  n->metadata.clear();
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
  forget_site(&n->made);
  forget_site(&n->freed);
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
  if (unfold(n) < 0) return nullptr;
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

int refuse_assignment(PyObject* self, PyObject*, void* name) {
  PyErr_Format(PyExc_AttributeError, "attribute '%s' of '%s' objects is not writable", static_cast<const char*>(name),
               Py_TYPE(self)->tp_name);
  return -1;
}

PyObject* get_metadata(PyObject* self, void*) {
  Node* n = reinterpret_cast<Node*>(self);
  if (!n->metadata) {
    Ref made(PyDict_New());
    if (!made) return nullptr;
    if (!n->metadata) n->metadata.set(made.release());  // a collection may have run what asks, too
  }
  return n->metadata.own().release();
}

PyObject* get_hooks(PyObject* self, void*) {
  Node* n = reinterpret_cast<Node*>(self);
  return Py_NewRef(n->hooks ? n->hooks.peek() : Py_None);
}

int set_hooks(PyObject* self, PyObject* value, void*) {
  Node* n = reinterpret_cast<Node*>(self);
  note_metadata();
  n->hooks.set(value == Py_None ? nullptr : Py_XNewRef(value));
  return 0;
}

// ((shape, dtype, name of the device), ...) of the outputs; the Python side dresses it as torch's _input_metadata.
PyObject* get_output_metas(PyObject* self, void*) {
  Node* n = reinterpret_cast<Node*>(self);
  if (n->kind == Node::Accumulate) {
    if (!n->variable) return PyTuple_New(0);
    Ref shape(shape_of(n->variable));
    const Tensor* v = n->variable;
    return shape ? Py_BuildValue("((OOs))", shape.get(), dtype_object(v->dtype), device_name(v->device())) : nullptr;
  }
  Ref result(PyTuple_New(n->n_outputs));
  if (!result) return nullptr;
  for (int i = 0; i < n->n_outputs; ++i) {
    Ref shape(shape_tuple(n->metas[i].ndim, n->metas[i].dims()));
    if (!shape) return nullptr;
    const OutputMeta& m = n->metas[i];
    PyObject* meta = Py_BuildValue("(OOs)", shape.get(), dtype_object(m.dtype), device_name(m.device));
    if (!meta) return nullptr;
    PyTuple_SET_ITEM(result.get(), i, meta);
  }
  return result.release();
}

PyObject* get_op(PyObject* self, void*) {
  Node* n = reinterpret_cast<Node*>(self);
  return Py_NewRef(n->op ? as_object(n->op) : Py_None);
}

PyObject* node_name(PyObject* self, PyObject*) { return PyUnicode_FromString(full_name(reinterpret_cast<Node*>(self)).c_str()); }

PyObject* node_sequence_nr(PyObject* self, PyObject*) { return PyLong_FromUnsignedLongLong(reinterpret_cast<Node*>(self)->seq); }

PyObject* node_set_sequence_nr(PyObject* self, PyObject* value) {
  const unsigned long long seq = PyLong_AsUnsignedLongLong(value);
  if (PyErr_Occurred()) return nullptr;
  reinterpret_cast<Node*>(self)->seq = seq;
  Py_RETURN_NONE;
}

PyObject* node_getattro(PyObject* self, PyObject* name) {
  Node* n = reinterpret_cast<Node*>(self);
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) return nullptr;
  int at;
  if ((!strncmp(text, "_saved_", 7) || !strncmp(text, "_raw_saved_", 11)) && unfold(n) < 0) return nullptr;
  if (!strncmp(text, "_saved_", 7) && (at = saved_index(n, text + 7)) >= 0) return saved_value(n, at);
  if (!strncmp(text, "_raw_saved_", 11) && (at = saved_index(n, text + 11)) >= 0 && saves_tensor(n, at)) {
    PyObject* f = callbacks.raw_saved.get();
    return f ? PyObject_CallFunction(f, "Oi", self, at) : nullptr;
  }
  if (n->kind == Node::Accumulate && !strcmp(text, "variable")) {
    return Py_NewRef(n->variable ? as_object(n->variable) : Py_None);
  }
  return PyObject_GenericGetAttr(self, name);
}

// Whether only this library reads an attribute, so that programs need not see it.
bool is_own(std::string_view name) {
  for (const std::string_view own :
       {"_accessed",      "_attach",       "_checked", "_hooks",        "_in_jvp",     "_input_kinds", "_is_tensor",
        "_no_gradients",  "_no_tensors",   "_op",      "_output_metas", "_pack_one",   "_packed",      "_release",
        "_release_saved", "_run_backward", "_save",    "_set_edges",    "_unpack_one", "_unpack_saved"}) {
    if (name == own) return true;
  }
  return false;
}

PyObject* node_dir(PyObject* self, PyObject*) {
  Node* n = reinterpret_cast<Node*>(self);
  Ref names(PyObject_CallMethod(as_object(Py_TYPE(self)), "mro", nullptr));
  Ref type_dir(PyObject_Dir(as_object(Py_TYPE(self))));
  if (!names || !type_dir || unfold(n) < 0) return nullptr;
  for (Py_ssize_t i = PyList_GET_SIZE(type_dir.get()); i-- > 0;) {
    const char* name = PyUnicode_AsUTF8(PyList_GET_ITEM(type_dir.get(), i));
    if (!name || (is_own(name) && PyList_SetSlice(type_dir.get(), i, i + 1, nullptr) < 0)) return nullptr;
  }
  if (n->op) {
    for (int i = 0; i < n->n_saved && i < static_cast<int>(n->op->backward.saves.size()); ++i) {
      const std::string name = saved_name(n, n->op->backward.saves[i]);
      for (const char* prefix : {"_saved_", "_raw_saved_"}) {
        if (name.empty() || (prefix[1] == 'r' && !saves_tensor(n, i))) continue;
        Ref entry(PyUnicode_FromString((prefix + name).c_str()));
        if (!entry || PyList_Append(type_dir.get(), entry.get()) < 0) return nullptr;
      }
    }
  } else if (n->kind == Node::Accumulate) {
    Ref entry(PyUnicode_FromString("variable"));
    if (!entry || PyList_Append(type_dir.get(), entry.get()) < 0) return nullptr;
  }
  return type_dir.release();
}

PyObject* node_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  if (kwargs && PyDict_GET_SIZE(kwargs)) {
    PyErr_SetString(PyExc_TypeError, "keyword arguments are not supported");
    return nullptr;
  }
  PyObject* f = callbacks.call_node.get();
  if (!f) return nullptr;
  PyObject* call[] = {self, args};
  return PyObject_Vectorcall(f, call, 2, nullptr);
}

// set_edges(tensors): the edges of a Function node, one per input (None where it is no tensor).
PyObject* node_set_edges(PyObject* self, PyObject* tensors) {
  Node* n = reinterpret_cast<Node*>(self);
  // A tuple, since bringing a history up to date may run code that changes a list.
  Ref items(PySequence_Tuple(tensors));
  if (!items) return nullptr;
  const Py_ssize_t count = PyTuple_GET_SIZE(items.get());
  if (check_count_of_node(count) < 0) return nullptr;
  if (n->n_edges || n->edges != n->edges_inline) {
    PyErr_SetString(PyExc_RuntimeError, "the edges of a node are set once");
    return nullptr;
  }
  if (count > 2 && !(n->edges = static_cast<Edge*>(PyMem_Calloc(count, sizeof(Edge))))) {
    n->edges = n->edges_inline;
    return PyErr_NoMemory();
  }
  n->n_edges = static_cast<int>(count);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* o = PyTuple_GET_ITEM(items.get(), i);
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
  Ref items(PySequence_Tuple(tensors)), all(PySequence_Tuple(outputs));
  if (!items || !all) return nullptr;
  const Py_ssize_t count = PyTuple_GET_SIZE(items.get());
  if (check_count_of_node(count) < 0) return nullptr;
  if (n->metas != &n->meta_inline[0] || PyTuple_GET_SIZE(all.get()) != count) {
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
  n->n_outputs = static_cast<int>(count);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* output = PyTuple_GET_ITEM(all.get(), i);
    if (is_tensor(output) && set_output_meta(n, static_cast<int>(i), as_tensor(output)) < 0) return nullptr;
    PyObject* o = PyTuple_GET_ITEM(items.get(), i);
    if (!is_tensor(o) || !is_differentiable(as_tensor(o)->dtype)) continue;
    Tensor* t = as_tensor(o);
    t->output_nr = static_cast<uint32_t>(i);
    t->flags &= ~kRequiresGrad;
    if (t->base) t->history_version = version_of(t);
    note_metadata();
    t->grad_fn.set(Owned<Node>::borrow(n).release());
  }
  Py_RETURN_NONE;
}

PyObject* node_new(PyTypeObject* type, PyObject*, PyObject*) {
  if (type == NodeType || type == AccumulateGradType || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
    return PyErr_Format(PyExc_TypeError, "cannot create '%s' instances", type->tp_name);
  }
  return as_object(new_node(type, Node::Function, 0, 0, 1));
}

int node_init(PyObject*, PyObject*, PyObject*) { return 0; }

PyGetSetDef kGetSet[] = {
    {"next_functions", guarded<get_next_functions>, guarded<refuse_assignment>,
     "((node, output number), ...): where the gradients go.", const_cast<char*>("next_functions")},
    {"metadata", guarded<get_metadata>, guarded<refuse_assignment>, "A dictionary for the program's own use.",
     const_cast<char*>("metadata")},
    {"_hooks", guarded<get_hooks>, guarded<set_hooks>, "The hooks object, or None.", nullptr},
    {"_output_metas", guarded<get_output_metas>, nullptr, "((shape, dtype, name of the device), ...) of the outputs.", nullptr},
    {"_op", guarded<get_op>, nullptr, "The table entry this is a call of, or None.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef kMethods[] = {
    {"name", method_of<node_name>(), METH_NOARGS, "The node's name."},
    {"_sequence_nr", method_of<node_sequence_nr>(), METH_NOARGS, "The node's place in the order of creation."},
    {"_set_sequence_nr", method_of<node_set_sequence_nr>(), METH_O, "Changes the node's place in the engine's order."},
    {"_set_edges", method_of<node_set_edges>(), METH_O, "Sets where gradients go (Function nodes)."},
    {"_attach", method_of<node_attach>(), METH_VARARGS, "Makes tensors the outputs of this node (Function nodes)."},
    {"_save", method_of<node_save>(), METH_VARARGS, "Keeps values for backward (Function nodes)."},
    {"_unpack_saved", method_of<node_unpack_saved>(), METH_NOARGS, "The values kept for backward (Function nodes)."},
    {"_unpack_one", method_of<node_unpack_one>(), METH_O, "One saved value."},
    {"_pack_one", method_of<node_pack_one>(), METH_VARARGS, "Runs (pack, unpack) hooks over one saved value."},
    {"_packed", method_of<node_packed>(), METH_O, "(packed object, unpack hook) of one saved value, or None."},
    {"_release", method_of<node_release>(), METH_NOARGS, "Frees the saved values."},
    {"__dir__", method_of<node_dir>(), METH_NOARGS, "Attribute names, saved values included."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef kFunctionMembers[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(Node, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Node, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyObject* node_types = nullptr;  // name -> class

}  // namespace

// Messages and reprs of the interpreter name a type by `tp_name`; torch's have no module there.
void drop_module_from_name(PyTypeObject* type) {
  if (const char* dot = strrchr(type->tp_name, '.')) type->tp_name = dot + 1;
}

PyTypeObject* node_type(const char* name) {
  const Ref key(PyUnicode_FromString(name));
  if (!key) return nullptr;
  Ref found = found_in(node_types, key.get());
  if (found || PyErr_Occurred()) return reinterpret_cast<PyTypeObject*>(found.get());  // the dictionary keeps it
  // As torch's: a class of `builtins` with the default object repr. Made by hand because thousands of instances a second
  // need the plain allocator, not the one of Python-level subclasses.
  // Given by hand: a class without a dealloc of its own gets the one of Python-level subclasses, which is slower.
  static PyType_Slot slots[] = {{Py_tp_dealloc, slot_of<node_dealloc>()}, {0, nullptr}};
  PyType_Spec spec = {name, sizeof(Node), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      slots};  // collected as its base is
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
  // Another thread may have made the class meanwhile.
  return reinterpret_cast<PyTypeObject*>(PyDict_SetDefault(node_types, key.get(), type.get()));
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
  if (t->accumulator && try_hold(as_object(t->accumulator))) {
    edge->node = t->accumulator;
    return 0;
  }
  Node* a = new_node(AccumulateGradType, Node::Accumulate, 0, 0, 1);
  if (!a) return -1;
  allow_weak(as_object(a));
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
      {Py_tp_dealloc, slot_of<node_dealloc>()},
      {Py_tp_traverse, slot_of<node_traverse>()},
      {Py_tp_clear, slot_of<node_clear>()},
      {Py_tp_getattro, slot_of<node_getattro>()},
      {Py_tp_call, slot_of<node_call>()},
      {Py_tp_getset, kGetSet},
      {Py_tp_methods, kMethods},
      {0, nullptr},
  };
  static PyType_Spec spec = {"torch._C.Node", sizeof(Node), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             slots};
  NodeType = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!NodeType) return -1;
  AccumulateGradType = node_type("AccumulateGrad");
  if (!AccumulateGradType) return -1;
  // The base class of custom Functions: instances have attributes and can be referred to weakly.
  static PyType_Slot function_slots[] = {
      {Py_tp_doc, const_cast<char*>("The node, and ctx, of a custom Function.")},
      {Py_tp_new, slot_of<node_new>()},
      {Py_tp_init, slot_of<node_init>()},
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
