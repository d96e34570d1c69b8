// The facts of the graph that rushlight.explain reads: a node's edges, saved values and call site.
// Reading changes nothing: no node is unfolded, no hook is run, no view's history is renewed.
#include "core/saved.h"
#include "core/storage.h"

#include <vector>

namespace rushlight {

namespace {

// Of a write through a view: the write's own node (see Note [CopySlices]), as long as it is there.
Node* inner_of(const Node* n) {
  if (n->kind != Node::Rewrite || n->saved[0].kind != Saved::Inner || !n->saved[0].value) return nullptr;
  return reinterpret_cast<Node*>(n->saved[0].value.peek());
}

// The parameter behind each edge of an op's node. A list has an edge for each tensor: the number of
// edges without the other parameters' is the length of the list.
std::vector<PyObject*> arguments_of(const Node* n) {
  std::vector<PyObject*> names;
  if (n->kind == Node::OfOp && n->op) {
    const Op* op = n->op;
    const int list_length = n->n_edges - (static_cast<int>(op->backward.edges.size()) - 1);
    for (uint8_t p : op->backward.edges) names.insert(names.end(), p == op->list_param ? list_length : 1, op->params[p].name);
  } else if (const Node* inner = inner_of(n)) {
    names = arguments_of(inner);
    if (n->n_edges > inner->n_edges && inner->op) names.insert(names.begin(), inner->op->params[0].name);
  }
  return names;
}

// (node or None, output number, name of the parameter or None) for each edge.
PyObject* edges_of(const Node* n) {
  Ref result(PyTuple_New(n->n_edges));
  if (!result) return nullptr;
  std::vector<PyObject*> names = arguments_of(n);
  names.resize(n->n_edges, Py_None);
  for (int e = 0; e < n->n_edges; ++e) {
    const Edge& edge = n->edges[e];
    PyObject* item = Py_BuildValue("(OIO)", edge.node ? as_object(edge.node) : Py_None, edge.node ? edge.nr : 0u, names[e]);
    if (!item) return nullptr;
    PyTuple_SET_ITEM(result.get(), e, item);
  }
  return result.release();
}

// (what, value, state) for each saved value that is there; a write through a view has those of its own node. what: the parameter's name, "out", "out1" ..., or "" of a Function's;
// state: "" as it was saved, "changed" (written in place since), "packed" (the value is what a pack hook gave).
PyObject* saved_of(const Node* n) {
  if (n->kind == Node::Rewrite) {
    const Node* inner = inner_of(n);
    return inner ? saved_of(inner) : PyTuple_New(0);
  }
  Ref result(PyList_New(0));
  if (!result) return nullptr;
  for (int i = n->kind == Node::Captured ? 1 : 0; i < n->n_saved; ++i) {
    const Saved& s = n->saved[i];
    if (s.kind == Saved::Nothing || !s.value) continue;
    std::string what;
    if (n->kind == Node::OfOp && n->op && i < static_cast<int>(n->op->backward.saves.size())) {
      const Source& source = n->op->backward.saves[i].source;
      if (source.kind == Source::ArgShape || source.kind == Source::ArgDtype) continue;
      if (source.kind == Source::Out) {
        what = source.index ? "out" + std::to_string(source.index) : "out";
      } else {
        const char* name = PyUnicode_AsUTF8(n->op->params[source.index].name);
        if (!name) return nullptr;
        what = name;
      }
    }
    Ref value = s.value.own();
    const char* state = "";
    if (s.kind == Saved::Packed) {
      value = Ref::borrow(PyTuple_GET_ITEM(value.get(), 0));
      state = "packed";
    } else if (s.kind != Saved::Object && version_of(as_tensor(value.get())) != s.expected) {
      state = "changed";
    }
    Ref item(Py_BuildValue("(sOs)", what.c_str(), value.get(), state));
    if (!item || PyList_Append(result.get(), item.get()) < 0) return nullptr;
  }
  return PyList_AsTuple(result.get());
}

PyObject* place_of(const Site& site) {
  if (!site.code) Py_RETURN_NONE;
  return Py_BuildValue("(OiO)", site.code->co_filename, line_of(site), site.code->co_qualname);
}

// node_facts(node): (edges, saved values, call site, where it was freed, whether it was, of a write through a view its own node).
PyObject* node_facts(PyObject*, PyObject* o) {
  if (!is_node(o)) {
    PyErr_Format(PyExc_TypeError, "node_facts() takes a node of the graph, not %s", Py_TYPE(o)->tp_name);
    return nullptr;
  }
  const Node* n = reinterpret_cast<Node*>(o);
  Ref edges(edges_of(n)), saved(saved_of(n)), made(place_of(n->made)), freed(place_of(n->freed));
  if (!edges || !saved || !made || !freed) return nullptr;
  Node* inner = inner_of(n);
  return Py_BuildValue("(OOOOOO)", edges.get(), saved.get(), made.get(), freed.get(), n->released ? Py_True : Py_False,
                       inner ? as_object(inner) : Py_None);
}

// site_of(node): (code, offset of the instruction) of the call that made the node, or None.
PyObject* site_of(PyObject*, PyObject* o) {
  const Node* n = is_node(o) ? reinterpret_cast<Node*>(o) : nullptr;
  if (!n || !n->made.code) Py_RETURN_NONE;
  return Py_BuildValue("(Oi)", n->made.code, n->made.at);
}

// maker_of(tensor): (node, output number), as gradient_edge() gives it, or None; but nothing is made for the answer: a leaf that no
// graph uses has none, nor has a view whose root was written since its history was right.
PyObject* maker_of(PyObject*, PyObject* o) {
  if (!is_tensor(o)) Py_RETURN_NONE;
  const Tensor* t = as_tensor(o);
  if (t->grad_fn && t->base && version_of(as_tensor(o)) != t->history_version) Py_RETURN_NONE;
  Node* node = t->grad_fn ? t->grad_fn.peek() : t->accumulator;
  if (!node) Py_RETURN_NONE;
  return Py_BuildValue("(OI)", as_object(node), t->grad_fn ? t->output_nr : 0u);
}

// memory_of(tensor): (address, bytes) of the whole storage, and the tensor's view of the storage:
// (dtype, conjugated or negated, offset, sizes, strides). None without elements or memory.
PyObject* memory_of(PyObject*, PyObject* o) {
  if (!is_tensor(o)) Py_RETURN_NONE;
  Tensor* t = as_tensor(o);
  if (t->flags & (kWrapped | kMeta) || !t->numel() || !t->storage_ || !t->storage_->data) Py_RETURN_NONE;
  const Ref numbers(PyTuple_New(3 + 2 * t->ndim()));
  if (!numbers) return nullptr;
  const auto put = [&](int at, Py_ssize_t value) {
    PyObject* number = PyLong_FromSsize_t(value);
    if (number) PyTuple_SET_ITEM(numbers.get(), at, number);
    return number != nullptr;
  };
  bool done = put(0, static_cast<Py_ssize_t>(t->dtype)) && put(1, t->flags & kLazy) && put(2, t->offset_);
  for (int d = 0; done && d < t->ndim(); ++d) done = put(3 + d, t->sizes()[d]) && put(3 + t->ndim() + d, t->strides()[d]);
  if (!done) return nullptr;
  return Py_BuildValue("(KnO)", reinterpret_cast<unsigned long long>(t->storage_->data),
                       static_cast<Py_ssize_t>(t->storage_->nbytes), numbers.get());
}

// cut_place(tensor): the call site where its history was cut, or None.
PyObject* cut_place(PyObject*, PyObject* o) {
  if (!is_tensor(o) || !(as_tensor(o)->flags & kCut)) Py_RETURN_NONE;
  return place_of(as_tensor(o)->cut);
}

// last_number(): the number of the youngest node that there ever was, -1 before the first; nodes made from now on have greater ones.
PyObject* last_number(PyObject*, PyObject*) { return PyLong_FromLongLong(static_cast<long long>(next_number(0))); }

}  // namespace

PyMethodDef kFactFunctions[] = {
    {"node_facts", method_of<node_facts>(), METH_O, "The edges, saved values and call sites of a node."},
    {"site_of", method_of<site_of>(), METH_O, "The instruction of the program that made a node."},
    {"maker_of", method_of<maker_of>(), METH_O, "The node that a tensor is a result of."},
    {"memory_of", method_of<memory_of>(), METH_O, "The memory behind a tensor."},
    {"cut_place", method_of<cut_place>(), METH_O, "Where a tensor's history was cut."},
    {"last_number", method_of<last_number>(), METH_NOARGS, "The number of the youngest node."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace rushlight
