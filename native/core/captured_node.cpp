// The node of a captured call that gives back tensors with a graph: its backward is the second part
// of the program (Note [Two parts], capture.h). Where that cannot be replayed, the call is made
// once more with history (_capture/node.py).
//
// The first value that the node saves is what the call was: (program, args, kwargs, inputs, start,
// places, compare). `start`: what the run writes and draws from, as it was; `places`: see
// places_of; `compare`: what checks a replay, or None. Then come the tensors that the second part
// reads: arguments, tensors that guards hold, results, and memory that the first part wrote.
#include "core/layout.h"
#include "core/program.h"

namespace rushlight {

namespace {

enum Call_ : Py_ssize_t { kProgram, kArgs, kKwargs, kInputs, kStart, kPlaces, kCompare };

Tensor* item_of(PyObject* tuple, size_t i) { return as_tensor(PyTuple_GET_ITEM(tuple, static_cast<Py_ssize_t>(i))); }

// Bytes that are others when one of the tensors was written, or shows other memory.
PyObject* places_of(const std::vector<PyObject*>& kept, PyObject* inputs) {
  const size_t n = kept.size(), n_inputs = static_cast<size_t>(PyTuple_GET_SIZE(inputs));
  Ref bytes(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>((n + n_inputs) * 2 * sizeof(uintptr_t))));
  if (!bytes) return nullptr;
  auto* to = reinterpret_cast<uintptr_t*>(PyBytes_AS_STRING(bytes.get()));
  for (size_t i = 0; i < n + n_inputs; ++i) {
    const Tensor* t = i < n ? as_tensor(kept[i]) : item_of(inputs, i - n);
    *to++ = version_of(t);
    *to++ = reinterpret_cast<uintptr_t>(t->data());
  }
  return bytes.release();
}

int save_all(const Body& body, Node* node, PyObject* call, PyObject* outputs, PyObject* saved) {
  const TwoParts& two = body.two;
  Saved* slot = node->saved;
  if (save_input(slot++, call) < 0) return -1;
  for (const int i : two.reads_inputs) {
    if (save_input(slot++, as_object(item_of(PyTuple_GET_ITEM(call, kInputs), static_cast<size_t>(i)))) < 0) return -1;
  }
  for (PyObject* t : two.reads) {
    if (save_input(slot++, t) < 0) return -1;
  }
  for (const int i : two.reads_outputs) {
    if (save_output(node, slot++, item_of(outputs, static_cast<size_t>(i)), i) < 0) return -1;
  }
  for (size_t i = 0; i < body.saved.size(); ++i) {
    if (save_input(slot++, as_object(item_of(saved, i))) < 0) return -1;
  }
  return 0;
}

// How gradients arrive, against the captured run: of the same results in the same layouts; in
// others, which may add up in another order; of other results.
enum class Arrival { Same, Relaid, Other };

const Tensor* was(const Body& body, size_t k) {
  const int memory = body.two.incoming[k];
  return memory < 0 ? nullptr : body.memories[static_cast<size_t>(memory)].as;
}

bool arrives_as(const Tensor* g, const Tensor* was) {
  return !was || (!(g->flags & kNotPlain) && g->dtype == was->dtype && g->ndim() == was->ndim() && g->is_aligned() &&
                  same_sizes(2 * g->ndim(), g->sizes(), was->sizes()));
}

Arrival arrival_of(const Body& body, PyObject* const* grads) {
  Arrival way = Arrival::Same;
  size_t k = 0;
  for (size_t i = 0; i < body.two.ends.size(); ++i) {
    if (body.two.ends[i] != (grads[i] != nullptr) || (grads[i] && as_tensor(grads[i])->flags & kWrapped)) return Arrival::Other;
    if (body.two.ends[i] && !arrives_as(as_tensor(grads[i]), was(body, k++))) way = Arrival::Relaid;
  }
  return way;
}

// A gradient in the layout that the captured one had.
PyObject* relaid_as(const Tensor* g, const Tensor* was) {
  Storage* memory = new_storage(static_cast<Py_ssize_t>(was->storage()->nbytes));
  if (!memory) return nullptr;
  Owned<Tensor> made(new_on_storage(memory, was->dtype, was->ndim(), was->sizes(), was->strides(), was->offset()));
  return made && copy_into(made.get(), g) == 0 ? as_object(made.release()) : nullptr;
}

// The second part: a tuple of gradients, or NotImplemented.
PyObject* replayed(const Body& body, PyObject* call, PyObject* const* grads, const std::vector<Ref>& saved) {
  const TwoParts& two = body.two;
  std::vector<PyObject*> args;
  std::vector<Ref> made;
  PyObject* inputs = PyTuple_GET_ITEM(call, kInputs);
  for (size_t i = 0; i < body.n_inputs; ++i) args.push_back(as_object(item_of(inputs, i)));
  for (size_t i = 0; i < two.reads_inputs.size(); ++i) args[static_cast<size_t>(two.reads_inputs[i])] = saved[i].get();
  size_t k = 0;
  for (size_t i = 0; i < two.ends.size(); ++i) {
    if (!two.ends[i]) continue;
    args.push_back(grads[i]);
    const Tensor* as = was(body, k++);
    if (arrives_as(as_tensor(grads[i]), as)) continue;
    made.emplace_back(relaid_as(as_tensor(grads[i]), as));
    if (!(args.back() = made.back().get())) return nullptr;
  }
  for (size_t i = saved.size() - body.saved.size(); i < saved.size(); ++i) args.push_back(saved[i].get());
  return replay_second(PyTuple_GET_ITEM(call, kProgram), args.data(), static_cast<Py_ssize_t>(args.size()));
}

PyObject* list_of(PyObject* const* grads, int n) {
  PyObject* list = PyList_New(n);
  for (int i = 0; list && i < n; ++i) PyList_SET_ITEM(list, i, Py_NewRef(grads[i] ? grads[i] : Py_None));
  return list;
}

}  // namespace

int run_captured(Node* node, PyObject* const* grads, bool create_graph, PyObject** grads_in) {
  const Ref call = node->saved[0].value.own();
  const auto item = [&call](Py_ssize_t i) { return PyTuple_GET_ITEM(call.get(), i); };
  const Body& body = *reinterpret_cast<Captured*>(item(kProgram))->body;
  const TwoParts& two = body.two;
  std::vector<Ref> saved;
  for (int i = 1; i < node->n_saved; ++i) {
    saved.emplace_back(unpack(node, &node->saved[i], false));
    if (!saved.back()) return -1;
  }
  const Arrival way = create_graph ? Arrival::Other : arrival_of(body, grads);
  const Ref incoming(list_of(grads, node->n_outputs));
  Ref made(way == Arrival::Same ? replayed(body, call.get(), grads, saved) : Py_NewRef(Py_NotImplemented));
  if (!made || !incoming) return -1;
  bool is_replay = made.get() != Py_NotImplemented;
  if (!is_replay) {
    // NotImplemented where something has changed, and only layouts differ.
    made = Ref(PyObject_CallMethod(two.graph, "gradients", "OOO", call.get(), incoming.get(),
                                   way == Arrival::Relaid ? Py_True : Py_False));
    is_replay = made && made.get() == Py_NotImplemented;
    if (is_replay) made = Ref(replayed(body, call.get(), grads, saved));
    if (!made) return -1;
  } else if (item(kCompare) != Py_None) {
    const Ref told(PyObject_CallFunctionObjArgs(item(kCompare), incoming.get(), made.get(), nullptr));
    if (!told) return -1;
  }
  if (!PyTuple_Check(made.get()) || (!is_replay && PyTuple_GET_SIZE(made.get()) != node->n_edges)) {
    PyErr_SetString(PyExc_SystemError, "rushlight: a captured call gave a wrong number of gradients");
    return -1;
  }
  Py_ssize_t at = 0;
  for (int i = 0; i < node->n_edges; ++i) {
    if (is_replay && !two.leaves[static_cast<size_t>(i)].given) continue;
    PyObject* g = PyTuple_GET_ITEM(made.get(), at++);
    if (g != Py_None) grads_in[i] = Py_NewRef(g);
  }
  return 0;
}

PyObject* add_node(PyObject* program, PyObject* call, PyObject* outputs, PyObject* saved) {
  const Body& body = *reinterpret_cast<Captured*>(program)->body;
  const TwoParts& two = body.two;
  PyTypeObject* type = node_type("CompiledFunctionBackward");
  if (!type) return nullptr;
  const size_t n_saved = 1 + two.reads_inputs.size() + two.reads.size() + two.reads_outputs.size() + body.saved.size();
  const Owned<Node> node(new_node(type, Node::Captured, static_cast<Py_ssize_t>(two.leaves.size()),
                                  static_cast<Py_ssize_t>(n_saved), static_cast<Py_ssize_t>(body.n_first)));
  if (!node || save_all(body, node.get(), call, outputs, saved) < 0) return nullptr;
  for (size_t i = 0; i < two.leaves.size(); ++i) {
    const TwoParts::Leaf& leaf = two.leaves[i];
    Tensor* t = leaf.tensor ? as_tensor(leaf.tensor) : item_of(PyTuple_GET_ITEM(call, kInputs), static_cast<size_t>(leaf.input));
    if (gradient_edge(t, &node.get()->edges[i]) < 0) return nullptr;
  }
  for (size_t i = 0; i < body.n_first; ++i) {
    Tensor* t = item_of(outputs, i);
    if (set_output_meta(node.get(), static_cast<int>(i), t) < 0) return nullptr;
    if (!two.shown[i]) continue;
    t->output_nr = static_cast<uint32_t>(i);
    t->grad_fn.set(Owned<Node>::borrow(node.get()).release());
  }
  return Py_NewRef(outputs);
}

PyObject* call_with_node(PyObject* program, PyObject* inputs, PyObject* args, PyObject* kwargs) {
  const Body& body = *reinterpret_cast<Captured*>(program)->body;
  if (!body.two.graph) Py_RETURN_NOTIMPLEMENTED;
  const Ref start(body.two.starts ? PyObject_CallMethod(body.two.graph, "start", nullptr) : Py_NewRef(Py_None));
  const Ref places(places_of(body.two.kept, inputs));
  if (!start || !places) return nullptr;
  Ref made(replay_first(program, PySequence_Fast_ITEMS(inputs), PyTuple_GET_SIZE(inputs)));
  if (!made || made.get() == Py_NotImplemented) return made.release();
  const Ref call(PyTuple_Pack(7, program, args, kwargs, inputs, start.get(), places.get(), Py_None));
  return call ? add_node(program, call.get(), PyTuple_GET_ITEM(made.get(), 0), PyTuple_GET_ITEM(made.get(), 1)) : nullptr;
}

namespace {

bool is_of_tensors(PyObject* o, size_t n) {
  bool fits = PyTuple_Check(o) && static_cast<size_t>(PyTuple_GET_SIZE(o)) == n;
  for (size_t i = 0; fits && i < n; ++i) fits = is_tensor(PyTuple_GET_ITEM(o, static_cast<Py_ssize_t>(i)));
  return fits;
}

// A program in two parts that was told of its node.
const Body* with_two_parts(PyObject* self) {
  const Body* body = reinterpret_cast<Captured*>(self)->body;
  return body && body->two.graph ? body : nullptr;
}

}  // namespace

// places(inputs): bytes that are others when something that the call reads was written, or shows
// other memory.
PyObject* captured_places(PyObject* self, PyObject* inputs) {
  const Body* body = with_two_parts(self);
  if (!body || !is_of_tensors(inputs, body->n_inputs)) return PyErr_Format(PyExc_TypeError, "places(inputs)");
  return places_of(body->two.kept, inputs);
}

// node(call, outputs, saved): the outputs, with the node of the call.
PyObject* captured_node(PyObject* self, PyObject* args) {
  PyObject *call, *outputs, *saved;
  if (!PyArg_ParseTuple(args, "O!OO", &PyTuple_Type, &call, &outputs, &saved)) return nullptr;
  const Body* body = with_two_parts(self);
  if (!body || PyTuple_GET_SIZE(call) != 7 || PyTuple_GET_ITEM(call, kProgram) != self ||
      !is_of_tensors(PyTuple_GET_ITEM(call, kInputs), body->n_inputs) || !is_of_tensors(outputs, body->n_first) ||
      !is_of_tensors(saved, body->saved.size())) {
    return PyErr_Format(PyExc_TypeError, "node(call, outputs, saved)");
  }
  return add_node(self, call, outputs, saved);
}

// take(graph, leaves, given, shown, ends, kept, starts): a run in two parts is told what the node
// needs to know: what computes gradients otherwise; whose gradients they are (numbers of arguments,
// tensors that guards hold), and which of them the second part gives; which outputs have a graph,
// and whose gradients the second part takes; what the run reads and does not write; whether it
// writes. Whether that, or whether it draws.
PyObject* captured_take(PyObject* self, PyObject* args) {
  PyObject *graph, *leaves, *given, *shown, *ends, *kept;
  int writes;
  if (!PyArg_ParseTuple(args, "OO!O!O!O!O!p", &graph, &PyList_Type, &leaves, &PyList_Type, &given, &PyList_Type, &shown,
                        &PyList_Type, &ends, &PyTuple_Type, &kept, &writes)) {
    return nullptr;
  }
  Body& body = *reinterpret_cast<Captured*>(self)->body;
  TwoParts& two = body.two;
  const auto has = [](PyObject* list, size_t n) { return static_cast<size_t>(PyList_GET_SIZE(list)) == n; };
  if (body.split < 0 || two.graph || !has(given, static_cast<size_t>(PyList_GET_SIZE(leaves))) || !has(shown, body.n_first) ||
      !has(ends, body.n_first) || !is_of_tensors(kept, static_cast<size_t>(PyTuple_GET_SIZE(kept)))) {
    return PyErr_Format(PyExc_TypeError, "take: of a run in two parts, once");
  }
  two.graph = Py_NewRef(graph);
  two.starts = writes || body.draws;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(leaves); ++i) {
    PyObject* o = PyList_GET_ITEM(leaves, i);
    const bool is_given = PyList_GET_ITEM(given, i) == Py_True;
    const size_t input = is_tensor(o) ? 0 : PyLong_AsSize_t(o);
    if (!is_tensor(o) && input >= body.n_inputs) {
      return PyErr_Occurred() ? nullptr : PyErr_Format(PyExc_IndexError, "take: there is no such argument");
    }
    two.leaves.push_back({static_cast<int>(input), is_tensor(o) ? Py_NewRef(o) : nullptr, is_given});
  }
  for (size_t i = 0; i < body.n_first; ++i) {
    two.shown.push_back(PyList_GET_ITEM(shown, static_cast<Py_ssize_t>(i)) == Py_True);
    two.ends.push_back(PyList_GET_ITEM(ends, static_cast<Py_ssize_t>(i)) == Py_True);
    const Operand& shows = body.operands[static_cast<size_t>(body.outputs[i].operand)];
    if (body.memories[static_cast<size_t>(shows.memory)].saved) two.reads_outputs.push_back(static_cast<int>(i));
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kept); ++i) two.kept.push_back(Py_NewRef(PyTuple_GET_ITEM(kept, i)));
  two.incoming.assign(body.n_incoming, -1);
  for (size_t i = 0; i < body.memories.size(); ++i) {
    const Memory& m = body.memories[i];
    if (m.origin != Memory::Input || m.last < body.split) continue;
    const size_t number = static_cast<size_t>(m.number);
    if (number < body.n_inputs) two.reads_inputs.push_back(m.number);
    else two.incoming[number - body.n_inputs] = static_cast<int>(i);
  }
  return PyBool_FromLong(two.starts);
}

}  // namespace rushlight
