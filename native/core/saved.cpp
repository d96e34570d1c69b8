// The values that a node keeps for its rule (Node::saved): saving and unpacking them, saved-tensor hooks, the check that
// nobody wrote to them in between, and what a program sees of them (`_saved_*`, `_raw_saved_*`, a Function's own).
#include "core/saved.h"

#include "core/layout.h"

#include <cstring>
#include <string>

namespace rushlight {

namespace {

// Note [Packed values]: under saved-tensor hooks a slot holds (packed object, unpack hook, node, output number, requires_grad):
// what unpack needs to give the tensor its place in the graph back. `node` is the maker, or a leaf's AccumulateGrad; it is None
// for a result of the node that saves, which must not refer to itself. An unpacked leaf keeps the
// AccumulateGrad alive as a hidden grad_fn (see get_grad_fn): gradients flow to the leaf itself.
// `later`: hooks set after saving get the value without a place in the graph.
int pack(Node* saver, Saved* slot, Tensor* t, PyObject* hooks, bool is_output, bool later = false) {
  const Ref held = Ref::borrow(hooks);  // a pack hook may leave the context that they belong to
  Edge e{nullptr, 0};
  if (!is_output && gradient_edge(t, &e) < 0) return -1;
  Ref node(as_object(e.node));
  VersionCounter* v = shared_version(t);
  if (!v) return -1;
  // The hook gets an argument itself; of an unfinished result an alias in the graph.
  Owned<Tensor> shown = Owned<Tensor>::borrow(t);
  if (is_output || later) {
    shown = Owned<Tensor>(new_alias(t));
    if (!shown) return -1;
    shown->flags |= t->flags & kLazy;
    hold(v);
    shown->version = v;
  }
  if (is_output && !later) {
    shown->grad_fn.set(Owned<Node>::borrow(saver).release());
    shown->output_nr = slot->output_nr;
  }
  const uint32_t before = v->value;
  Ref packed;
  {
    GradMode off(false);
    PyObject* outer = std::exchange(tls.packing, hooks);
    packed = Ref(PyObject_CallOneArg(PyTuple_GET_ITEM(hooks, 0), as_object(shown.get())));
    tls.packing = outer;
  }
  if (is_output && !later) shown->grad_fn.clear();  // a packed result that refers to the node keeping it would be a cycle
  if (!packed) return -1;
  if (v->value != before) {
    PyErr_SetString(PyExc_RuntimeError,
                    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
                    "modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you "
                    "need to perform in-place operations on the input to a pack hook.");
    return -1;
  }
  PyObject* kept = Py_BuildValue("(OOOII)", packed.get(), PyTuple_GET_ITEM(hooks, 1), e.node ? as_object(e.node) : Py_None,
                                 is_output ? static_cast<unsigned>(slot->output_nr) : e.nr, is_output ? 1u : 0u);
  if (!kept) return -1;
  slot->kind = Saved::Packed;
  slot->value.set(kept);
  return 0;
}

PyObject* unpack_packed(Node* node, const Saved* slot, bool for_graph) {
  PyObject *packed, *hook, *maker;
  unsigned nr, is_output;
  const Ref kept = slot->value.own();  // the hook may free what this node saved
  if (!PyArg_ParseTuple(kept.get(), "OOOII", &packed, &hook, &maker, &nr, &is_output)) return nullptr;
  Ref value;
  {
    GradMode off(false);
    value = Ref(PyObject_CallOneArg(hook, packed));
  }
  if (!value) return nullptr;
  if (!is_tensor(value.get())) {
    return PyErr_Format(PyExc_TypeError, "Output of saved tensor unpack_hook expected to be a Tensor but got result of type %s",
                        Py_TYPE(value.get())->tp_name);
  }
  Tensor* source = as_tensor(value.get());
  Node* origin = is_output ? (for_graph ? node : nullptr) : maker == Py_None ? nullptr : reinterpret_cast<Node*>(maker);
  if (!is_output && !origin && !requires_grad(source)) return value.release();
  if (origin && origin->kind == Node::Accumulate && origin->variable == source) return value.release();
  Tensor* t = new_alias(source);
  if (!t) return nullptr;
  VersionCounter* v = shared_version(source);
  if (!v) {
    Py_DECREF(t);
    return nullptr;
  }
  hold(v);
  t->version = v;
  t->flags |= source->flags & kLazy;
  t->grad_fn.set(Owned<Node>::borrow(origin).release());
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
  if (pack(node, &fresh, as_tensor(value.get()), hooks, slot->kind == Saved::Output, true) < 0) return -1;
  const Ref old = slot->value.own();
  slot->value.clear();
  *slot = fresh;
  return 0;
}

int save_input(Saved* slot, PyObject* value) {
  if (is_tensor(value)) {
    Tensor* t = as_tensor(value);
    if ((t->flags & kInference) && grad_enabled() && !tls.inference) {
      PyErr_SetString(PyExc_RuntimeError,
                      "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
                      "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use "
                      "it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.");
      return -1;
    }
    if (PyObject* hooks = saved_hooks()) return pack(nullptr, slot, t, hooks, false);
    slot->kind = Saved::Input;
    slot->expected = version_of(t);
    slot->had_node = static_cast<bool>(t->grad_fn);
  } else {
    slot->kind = Saved::Object;
  }
  slot->value.init(Py_NewRef(value));
  return 0;
}

int save_output(Node* node, Saved* slot, Tensor* out, int nr) {
  slot->output_nr = static_cast<uint32_t>(nr) & kMaxCount;
  if (PyObject* hooks = saved_hooks()) return pack(node, slot, out, hooks, true);
  VersionCounter* v = shared_version(out);
  if (!v) return -1;
  slot->expected = v->value;
  Tensor* memory = new_alias(out);
  if (!memory) return -1;
  hold(v);
  memory->version = v;
  memory->flags |= out->flags & kLazy;
  slot->value.init(as_object(memory));
  slot->kind = Saved::Output;
  return 0;
}

namespace {

const char* kFreed =
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). "
    "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if "
    "you need to backward through the graph a second time or if you need to access saved tensors after calling backward.";

std::string type_text(Tensor* a, DType dtype) {
  const bool by_device = is_complex(dtype) || dtype == DType::BF16;
  const std::string name = by_device ? std::string("CPU") + scalar_name(dtype) + "Type"
                                     : std::string("torch.") + scalar_name(dtype) + "Tensor";
  return "[" + name + " " + sizes_text(a->sizes(), a->ndim()) + "]";
}

std::string class_name(const Node* n) {
  const std::string name = Py_TYPE(n)->tp_name;
  return name.substr(name.rfind('.') + 1);
}

// The node's name as torch's in-place error has it: without "Backward0".
}  // namespace

std::string short_name(const Node* n) {
  std::string name = full_name(n);
  const size_t at = name.rfind("Backward");
  if (at == std::string::npos || name.back() == 's') return name;
  name.erase(at, 8);
  if (name.size() == at + 1 && name[at] == '0') name.pop_back();
  return name;
}

namespace {

// The lines that an error about a value saved by `node` shows: where it was saved, and the write that came first after it.
std::string lines_of_change(const Node* node, const VersionCounter* version, uint32_t expected) {
  const uint32_t now = version->value;
  const bool first_known = now - expected <= VersionCounter::kKept;
  const std::string saved = site_text(node->made);
  const std::string changed = site_text(version->writes[(first_known ? expected + 1 : now) % VersionCounter::kKept]);
  std::string text;
  if (!saved.empty()) text += "\n  It was saved for the gradient of this line, by " + class_name(node) + ":\n" + saved;
  if (!changed.empty()) {
    text += (text.empty() ? "\n  " : "  ") +
            std::string(first_known ? "and changed in place here:\n" : "and last changed in place here:\n") + changed;
  }
  if (text.empty()) return text;
  return text +
         "  Write a new tensor there (x = x + 1 in place of x += 1), save a copy (x.clone()), or, where the change is an "
         "optimizer's step, call backward() before it.";
}

void raise_modified(const Node* node, VersionCounter* version, Tensor* array, DType dtype, uint32_t expected, const Node* made_by,
                    uint32_t nr) {
  const uint32_t now = version->value;
  hold(version);
  std::string text = "one of the variables needed for gradient computation has been modified by an inplace operation: " +
                     type_text(array, dtype);
  if (made_by) text += ", which is output " + std::to_string(nr) + " of " + short_name(made_by) + ",";
  text += " is at version " + std::to_string(now) + "; expected version " + std::to_string(expected) +
          (observing & kAnomaly
               ? " instead. Hint: the backtrace further above shows the operation that failed to compute its gradient. The "
                 "variable in question was changed in there or anywhere later. Good luck!"
               : " instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
                 "torch.autograd.set_detect_anomaly(True, check_nan=False).");
  text += lines_of_change(node, version, expected);
  drop(version);
  PyErr_SetString(PyExc_RuntimeError, text.c_str());
}

// Raises the error for freed values of `node`: names the backward that freed, and gives advice;
// other advice if the same line asks again (a loop that carries a graph along).
void raise_freed(const Node* node) {
  std::string text = kFreed;
  const std::string first = site_text(node->freed), made = site_text(node->made);
  if (!first.empty()) text += "\n  They were freed by the backward called here:\n" + first;
  if (!made.empty())
    text += (first.empty() ? "\n  " : "  ") + std::string("and belong to ") + class_name(node) + ", recorded here:\n" + made;
  if (!first.empty()) {
    text += same_line(node->freed, tls.backward)
                ? "  The same line asks for them again: something of the last round is used in this one. Compute it anew in each "
                  "round, or detach() what is carried over."
                : "  Where both lines need the graph, add the losses and call backward() once, or give the first one "
                  "retain_graph=True.";
  }
  PyErr_SetString(PyExc_RuntimeError, text.c_str());
}

}  // namespace

PyObject* unpack(Node* node, const Saved* slot, bool for_graph) {
  if (slot->kind == Saved::Object && slot->value) return slot->value.own().release();
  if (node->released) {
    raise_freed(node);
    return nullptr;
  }
  switch (slot->kind) {
    case Saved::Nothing:
    case Saved::Object: return Py_NewRef(Py_None);
    case Saved::Input: {
      // In torch's order: a view's stale history, then a cut history, then a changed value.
      // Bringing a view's history up to date may run code that frees what this node saved.
      Ref value = slot->value.own();
      const uint32_t expected = slot->expected;
      Tensor* t = as_tensor(value.get());
      Node* made_by;
      if (current_grad_fn(t, &made_by) < 0) return nullptr;
      if (slot->had_node && !made_by && node->kind != Node::Function) {
        PyErr_SetString(PyExc_RuntimeError,
                        "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_()."
                        "This is not supported, please use out-of-place `.detach()` instead");
        return nullptr;
      }
      if (version_of(t) != expected) {
        if (!made_by && slot->had_node) made_by = node;  // torch names the node that asks where a Function's input was cut off
        raise_modified(node, t->version, t, t->dtype, expected, made_by, t->output_nr);
        return nullptr;
      }
      return value.release();
    }
    case Saved::Output: {
      const Ref memory = slot->value.own();
      Tensor* kept = as_tensor(memory.get());
      if (version_of(kept) != slot->expected) {
        raise_modified(node, kept->version, kept, kept->dtype, slot->expected, node, slot->output_nr);
        return nullptr;
      }
      const uint32_t nr = slot->output_nr;
      if (!for_graph) return Py_NewRef(memory.get());
      Tensor* t = new_alias(kept);
      if (!t) return nullptr;
      hold(kept->version);
      t->version = kept->version;
      t->flags |= kept->flags & kLazy;
      if (is_differentiable(t->dtype)) {
        t->grad_fn.set(Owned<Node>::borrow(node).release());
        t->output_nr = nr;
      }
      return as_object(t);
    }
    case Saved::Packed: return unpack_packed(node, slot, for_graph);
    case Saved::Inner: return slot->value.own().release();
  }
  return nullptr;
}

void release_after_backward(Node* node, Site backward) {
  const bool before = node->released;
  release_saved(node);
  if (node->released && !before) keep_site(&node->freed, backward);
}

void release_saved(Node* node) {
  for (int i = 0; i < node->n_saved; ++i) {
    Saved& s = node->saved[i];
    // Numbers and shapes cost nothing to keep: a node that has only those can be run again.
    if (s.kind == Saved::Nothing || s.kind == Saved::Object) continue;
    node->released = true;
    s.kind = Saved::Nothing;
    s.value.clear();
  }
}

// ---------------------------------------------------------------- what a program sees

namespace {

bool saved_slot(Node* n, long i, Saved** slot) {
  if (i < 0 || i >= n->n_saved) {
    PyErr_SetString(PyExc_IndexError, "the node has no such saved value");
    return false;
  }
  *slot = &n->saved[i];
  return true;
}

std::string name_in_op(Op* op, const Op::Backward::Save& save) {
  const Source& source = save.source;
  if (source.kind == Source::Out) {
    Ref fields(op->result.type ? PyObject_GetAttrString(op->result.type, "_fields") : nullptr);
    PyErr_Clear();
    if (fields && PyTuple_Check(fields.get()) && source.index < PyTuple_GET_SIZE(fields.get())) {
      const char* field = PyUnicode_AsUTF8(PyTuple_GET_ITEM(fields.get(), source.index));
      return field ? field : "";
    }
    return source.index ? "result" + std::to_string(source.index) : "result";
  }
  if (source.kind != Source::Arg && source.kind != Source::ArgShape) return "";
  std::string name = PyUnicode_AsUTF8(op->params[source.index].name);
  if (name == "input") name = "self";
  return source.kind == Source::ArgShape ? name + "_sym_sizes" : name;
}

// Saved values whose names in torch's nodes differ from the names in our ops.
constexpr struct {
  const char *ours, *torchs, *nodes;
} kTorchsNames[] = {
    {"other", "mat2", " MmBackward0 "},
    {"result", "inverse", " LinalgInvExBackward0 "},
    {"self", "input", " ConvolutionBackward0 NativeBatchNormBackward0 NativeGroupNormBackward0 NativeLayerNormBackward0 "},
    {"result1", "indices",
     " MaxBackward0 MinBackward0 MedianBackward1 NanmedianBackward1 ModeBackward0 KthvalueBackward0 TopkBackward0 CummaxBackward0 "
     "CumminBackward0 "},
};

}  // namespace

std::string full_name(const Node* n) {
  const std::string name = class_name(n);
  const bool by_class = name == "AccumulateGrad" || name == "CopySlices" || name == "CopyBackwards" || name == "Error";
  return by_class ? "torch::autograd::" + name : name;
}

std::string saved_name(const Node* n, const Op::Backward::Save& save) {
  const std::string name = name_in_op(n->op, save);
  for (const auto& row : kTorchsNames) {
    if (name == row.ours && strstr(row.nodes, (" " + std::string(class_name(n)) + " ").c_str())) return row.torchs;
  }
  return name;
}

bool saves_tensor(const Node* n, int at) {
  const Op::Backward::Save& save = n->op->backward.saves[at];
  if (save.source.kind == Source::Out) return true;
  if (save.source.kind != Source::Arg || n->op->params[save.source.index].kind > Param::TensorList) return false;
  const PyObject* value = n->saved[at].kind == Saved::Object ? n->saved[at].value.peek() : nullptr;
  return !value || !is_python_scalar(const_cast<PyObject*>(value)) || saved_name(n, save) == "other";
}

PyObject* saved_value(Node* n, int at) {
  Ref value(unpack(n, &n->saved[at], true));
  if (!value) return nullptr;
  const Source& source = n->op->backward.saves[at].source;
  if (source.kind == Source::ArgShape && PyTuple_Check(value.get())) return PySequence_Tuple(value.get());
  // A number as second operand is shown as torch's is: a tensor without dimensions.
  const bool number = PyFloat_Check(value.get()) || PyLong_Check(value.get()) || PyComplex_Check(value.get());
  if (!number || saved_name(n, n->op->backward.saves[at]) != "other") return value.release();
  PyObject* f = callbacks.as_tensor.get();
  return f ? PyObject_CallOneArg(f, value.get()) : nullptr;
}

int saved_index(const Node* n, const char* name) {
  if (!n->op) return -1;
  for (size_t i = 0; i < n->op->backward.saves.size() && i < static_cast<size_t>(n->n_saved); ++i) {
    if (saved_name(n, n->op->backward.saves[i]) == name) return static_cast<int>(i);
  }
  return -1;
}

PyObject* node_save(PyObject* self, PyObject* args) {
  Node* n = reinterpret_cast<Node*>(self);
  PyObject *tensors, *numbers;
  if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &tensors, &PyTuple_Type, &numbers)) return nullptr;
  const Py_ssize_t count = PyTuple_GET_SIZE(tensors);
  if (check_count_of_node(count) < 0) return nullptr;
  if (n->n_saved || n->saved != n->saved_inline || PyTuple_GET_SIZE(numbers) != count) {
    PyErr_SetString(PyExc_RuntimeError, "the saved values of a node are set once");
    return nullptr;
  }
  if (count > 3 && !(n->saved = static_cast<Saved*>(PyMem_Calloc(count, sizeof(Saved))))) {
    n->saved = n->saved_inline;
    return PyErr_NoMemory();
  }
  n->n_saved = static_cast<int>(count);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* o = PyTuple_GET_ITEM(tensors, i);
    if (o == Py_None) continue;
    const long nr = PyLong_AsLong(PyTuple_GET_ITEM(numbers, i));
    if (nr == -1 && PyErr_Occurred()) return nullptr;
    const bool output = nr >= 0 && is_tensor(o);
    if ((output ? save_output(n, &n->saved[i], as_tensor(o), static_cast<int>(nr)) : save_input(&n->saved[i], o)) < 0)
      return nullptr;
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

PyObject* node_packed(PyObject* self, PyObject* index) {
  const long i = PyLong_AsLong(index);
  Saved* slot;
  if ((i == -1 && PyErr_Occurred()) || !saved_slot(reinterpret_cast<Node*>(self), i, &slot)) return nullptr;
  if (slot->kind != Saved::Packed) Py_RETURN_NONE;
  const Ref kept = slot->value.own();
  return PyTuple_GetSlice(kept.get(), 0, 2);
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
    PyErr_SetString(PyExc_RuntimeError,
                    "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are "
                    "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through "
                    "the graph a second time or if you need to access saved variables after calling backward.");
    return nullptr;
  }
  if (pack_saved(n, slot, hooks) < 0) return nullptr;
  Py_RETURN_NONE;
}

PyObject* node_release(PyObject* self, PyObject*) {
  release_after_backward(reinterpret_cast<Node*>(self), tls.backward);
  Py_RETURN_NONE;
}

// ---------------------------------------------------------------- the hooks in force on a thread

namespace {

// push_saved_hooks(pack, unpack): what values saved on this thread go through from now on.
PyObject* push_saved_hooks(PyObject*, PyObject* args) {
  PyObject *pack, *unpack;
  if (!PyArg_ParseTuple(args, "OO", &pack, &unpack)) return nullptr;
  if (!PyCallable_Check(pack) || !PyCallable_Check(unpack)) {
    return PyErr_Format(
        PyExc_TypeError,
        "_push_saved_tensors_default_hooks(): incompatible function arguments. The following argument types are supported:\n"
        "    1. (arg0: collections.abc.Callable, arg1: collections.abc.Callable) -> None\n\nInvoked with: %R, %R",
        pack, unpack);
  }
  PyObject* inner = PyTuple_Pack(3, pack, unpack, tls.saved_hooks ? tls.saved_hooks : Py_None);
  if (!inner) return nullptr;
  Py_XDECREF(std::exchange(tls.saved_hooks, inner));
  modes_used.store(true, std::memory_order_relaxed);
  Py_RETURN_NONE;
}

// pop_saved_hooks(*ignored): also an `__exit__`.
PyObject* pop_saved_hooks(PyObject*, PyObject* const*, Py_ssize_t) {
  if (!tls.saved_hooks) {
    PyErr_SetString(PyExc_RuntimeError,
                    "no saved_tensors_hooks are in force on this thread. They were left before, or were entered by a hook or a "
                    "custom Function during a backward, which puts back what was in force when it began.");
    return nullptr;
  }
  PyObject* outer = PyTuple_GET_ITEM(tls.saved_hooks, 2);
  Py_DECREF(std::exchange(tls.saved_hooks, outer == Py_None ? nullptr : Py_NewRef(outer)));
  Py_RETURN_NONE;
}

PyObject* has_saved_hooks(PyObject*, PyObject*) { return PyBool_FromLong(tls.saved_hooks != nullptr); }

}  // namespace

PyMethodDef kSavedMethods[] = {
    {"push_saved_hooks", method_of<push_saved_hooks>(), METH_VARARGS, "What values saved on this thread go through from now on."},
    {"pop_saved_hooks", method_of<pop_saved_hooks>(), METH_FASTCALL, "Back to the hooks that were in force before."},
    {"has_saved_hooks", method_of<has_saved_hooks>(), METH_NOARGS, "Whether values saved on this thread go through hooks."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace rushlight
