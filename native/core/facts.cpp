// What rushlight.explain reads of the graph: a node's edges, saved values and call site as they are. Nothing is unfolded, no hook is
// run and nothing is brought up to date, so that looking changes nothing.
#include "core/saved.h"

namespace rushlight {

namespace {

// (node or None, output number, name of the parameter or None) for each edge. A list of tensors has one edge each, so what is left
// over for the one parameter that is a list is its length.
PyObject* edges_of(const Node* n) {
  Ref result(PyTuple_New(n->n_edges));
  if (!result) return nullptr;
  int e = 0;
  const auto add = [&](PyObject* name) {
    const Edge& edge = n->edges[e];
    PyObject* item = Py_BuildValue("(OIO)", edge.node ? as_object(edge.node) : Py_None, edge.node ? edge.nr : 0u, name);
    if (!item) return false;
    PyTuple_SET_ITEM(result.get(), e++, item);
    return true;
  };
  if (n->kind == Node::OfOp && n->op) {
    const Op* op = n->op;
    const int list_length = n->n_edges - (static_cast<int>(op->backward.edges.size()) - 1);
    for (uint8_t p : op->backward.edges) {
      for (int k = p == op->list_param ? list_length : 1; k > 0; --k) {
        if (e < n->n_edges && !add(op->params[p].name)) return nullptr;
      }
    }
  }
  while (e < n->n_edges) {
    if (!add(Py_None)) return nullptr;
  }
  return result.release();
}

// (what, value, state) for each saved value that is there. what: the parameter's name, "out", "out1" ..., or "" of a Function's;
// state: "" as it was saved, "changed" (written in place since), "packed" (the value is what a pack hook gave).
PyObject* saved_of(const Node* n) {
  Ref result(PyList_New(0));
  if (!result) return nullptr;
  for (int i = 0; i < n->n_saved; ++i) {
    const Saved& s = n->saved[i];
    if (s.kind == Saved::Nothing || s.kind == Saved::Inner || !s.value) continue;
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

// node_facts(node): (edges, saved values, call site, where it was freed, whether it was).
PyObject* node_facts(PyObject*, PyObject* o) {
  if (!is_node(o)) {
    PyErr_Format(PyExc_TypeError, "node_facts() takes a node of the graph, not %s", Py_TYPE(o)->tp_name);
    return nullptr;
  }
  const Node* n = reinterpret_cast<Node*>(o);
  Ref edges(edges_of(n)), saved(saved_of(n)), made(place_of(n->made)), freed(place_of(n->freed));
  if (!edges || !saved || !made || !freed) return nullptr;
  return Py_BuildValue("(OOOOO)", edges.get(), saved.get(), made.get(), freed.get(), n->released ? Py_True : Py_False);
}

// cut_place(tensor): the call site where its history was cut, or None.
PyObject* cut_place(PyObject*, PyObject* o) {
  if (!is_tensor(o) || !(as_tensor(o)->flags & kCut)) Py_RETURN_NONE;
  return place_of(as_tensor(o)->cut);
}

// last_number(): the number of the youngest node that there ever was; nodes made from now on have greater ones.
PyObject* last_number(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(next_number(0)); }

}  // namespace

PyMethodDef kFactFunctions[] = {
    {"node_facts", method_of<node_facts>(), METH_O, "The edges, saved values and call sites of a node."},
    {"cut_place", method_of<cut_place>(), METH_O, "Where a tensor's history was cut."},
    {"last_number", method_of<last_number>(), METH_NOARGS, "The number of the youngest node."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace rushlight
