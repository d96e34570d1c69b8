// The engine: walks a graph backwards. Read in one sitting.
//
// 1. `visit` finds every node the roots reach and counts, for each, the gradients still to come
//    (`pending`).
// 2. The loop takes the ready node with the highest number (leaves, numbered highest, at once),
//    runs the rule, fits each gradient to the edge, and adds the gradient to the next node's. A node
//    is ready when nothing is pending.
// 3. Saved values are freed node by node unless the graph is retained.
//
// Note [Claiming a graph]: `pending` and the gathered gradients live in the nodes themselves (BackwardState), which costs no
// lookup. One backward at a time may use them; one that starts while another runs (from a hook, or another thread) keeps its
// state in a table of its own instead.
#include <algorithm>
#include <queue>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/engine.h"

namespace rushlight {

namespace {

std::atomic<uint64_t> next_task{1};
std::atomic<uint64_t> claimed_by{0};
std::atomic<int> n_running{0};

struct Capture {
  Node* node;
  uint32_t nr;
};

struct ByNumber {
  bool operator()(const Node* a, const Node* b) const { return a->seq < b->seq; }
};

thread_local std::vector<Ref>* final_callbacks = nullptr;
class Backward;
thread_local Backward* running = nullptr;

class Backward {
 public:
  Backward(bool retain, bool create_graph) : id_(next_task++), retain_(retain), create_graph_(create_graph) {
    count(n_running, 1);
    uint64_t nobody = 0;
    inline_state_ = claimed_by.compare_exchange_strong(nobody, id_);
    saved_task_ = tls.task;
    called_before_ = tls.backward;
    tls.backward = called_ = program_site();
    saved_callbacks_ = final_callbacks;
    outer_ = running;
    running = this;
    tls.task = static_cast<int64_t>(id_);
    final_callbacks = &callbacks_;
  }

  ~Backward() {
    for (Node* n : visited_) {
      BackwardState& s = state(n);
      Py_CLEAR(s.grad);
      if (s.grads) {
        for (int i = 0; i < n->n_outputs; ++i) Py_XDECREF(s.grads[i]);
        PyMem_Free(s.grads);
        s.grads = nullptr;
      }
      if (inline_state_) s.task = 0;
    }
    for (Capture& c : captures_) Py_XDECREF(c.node);
    for (Node* r : roots_) Py_XDECREF(r);
    tls.task = saved_task_;
    tls.backward = called_before_;
    final_callbacks = saved_callbacks_;
    running = outer_;
    if (inline_state_) claimed_by = 0;
    count(n_running, -1);
  }

  // Takes over the node's reference.
  void capture(Edge e) {
    captures_.push_back({e.node, e.nr});
    captured_.emplace_back();
  }

  // Takes over both references. The gradient gets the root's element type.
  int add_root(Edge e, PyObject* gradient) {
    roots_.push_back(e.node);
    root_edges_.push_back(e);
    root_gradients_.emplace_back(fit_to_edge(e.node, static_cast<int>(e.nr), e, gradient, create_graph_));
    return root_gradients_.back() ? 0 : -1;
  }

  // At the inputs gradients are captured; or nodes are run, which fills `.grad`; or the walk ends
  // before the hooks, whatever else is behind.
  enum AtInputs : uint8_t { Take, Accumulate, End };

  int run(bool restricted, AtInputs at_inputs) {
    return run_nested([=, this] {
      running = this;  // of this thread, which may not be the caller's
      final_callbacks = &callbacks_;
      return walk(restricted, at_inputs);
    });
  }

  int walk(bool restricted, AtInputs at_inputs) {
    restricted_ = restricted;
    at_inputs_ = at_inputs;
    visit();
    for (size_t i = 0; i < roots_.size(); ++i) {
      PyObject* g = fit_to_edge(nullptr, static_cast<int>(i), root_edges_[i], root_gradients_[i].release(), create_graph_);
      if (!g || add(roots_[i], root_edges_[i].nr, g) < 0) return -1;
    }
    for (Node* r : roots_) {
      BackwardState& s = state(r);
      if (s.pending == 0) {
        s.pending = -1;  // a root that is given twice starts once
        ready_.push(r);
      }
    }
    GradMode mode(create_graph_);
    Modes modes;
    while (!ready_.empty()) {
      Node* n = ready_.top();
      ready_.pop();
      PyObject* before = tls.current_node;
      tls.current_node = as_object(n);
      const int done = step(n);
      tls.current_node = before;
      modes.restore();
      if (done < 0) return -1;
      if ((++steps_ & 1023) == 0 && PyErr_CheckSignals() < 0) return -1;
    }
    for (size_t i = 0; i < callbacks_.size(); ++i) {
      Ref done(PyObject_CallNoArgs(callbacks_[i].get()));
      if (!done) return -1;
    }
    return 0;
  }

  bool restricted() const { return restricted_; }

  // Whether this backward reaches the node and gives it gradients.
  bool will_run(Node* n) {
    if (!inline_state_ && !table_.count(n)) return false;
    const BackwardState& s = state(n);
    return s.task == id_ && (!restricted_ || s.needed || s.captured);
  }

  PyObject* take_captured() {
    PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(captured_.size()));
    if (!tuple) return nullptr;
    for (size_t i = 0; i < captured_.size(); ++i) {
      PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), captured_[i] ? captured_[i].release() : Py_NewRef(Py_None));
    }
    return tuple;
  }

 private:
  BackwardState& state(Node* n) { return inline_state_ ? n->state : table_[n]; }

  bool claim(Node* n) {
    BackwardState& s = state(n);
    if (s.task == id_) return false;
    s = BackwardState{id_, 0, nullptr, nullptr, false, false};
    visited_.push_back(n);
    return true;
  }

  int edges_of(Node* n) { return at_inputs_ == End && state(n).captured ? 0 : n->n_edges; }

  void visit() {
    std::vector<Node*> stack;
    for (Capture& c : captures_) {
      if (at_inputs_ != End || !c.node) continue;
      claim(c.node);
      state(c.node).captured = true;
    }
    for (Node* r : roots_) {
      if (claim(r)) stack.push_back(r);
    }
    while (!stack.empty()) {
      Node* n = stack.back();
      stack.pop_back();
      for (int i = 0; i < edges_of(n); ++i) {
        Node* next = n->edges[i].node;
        if (!next) continue;
        if (claim(next)) stack.push_back(next);
        ++state(next).pending;
      }
    }
    if (!restricted_) return;
    for (Capture& c : captures_) {
      if (!c.node || state(c.node).task != id_) continue;
      (at_inputs_ == Accumulate ? state(c.node).needed : state(c.node).captured) = true;
    }
    // `order` has a node before the nodes of its edges, and is settled from the end. Numbers do not
    // give this order: an older node may cause a view's history to be made.
    std::vector<Node*> order;
    order.reserve(visited_.size());
    for (Node* r : roots_) {
      BackwardState& s = state(r);
      if (s.pending) continue;
      s.pending = -1;  // a root that is given twice counts once
      order.push_back(r);
    }
    for (size_t k = 0; k < order.size(); ++k) {
      Node* n = order[k];
      for (int i = 0; i < edges_of(n); ++i) {
        Node* next = n->edges[i].node;
        if (next && --state(next).pending == 0) order.push_back(next);
      }
    }
    for (size_t k = order.size(); k-- > 0;) {
      Node* n = order[k];
      BackwardState& s = state(n);
      s.pending = 0;
      for (int i = 0; i < edges_of(n) && !s.needed; ++i) {
        Node* next = n->edges[i].node;
        if (next) s.needed = state(next).needed || state(next).captured;
      }
    }
    for (Node* n : visited_) {
      if (!state(n).needed) continue;
      for (int i = 0; i < n->n_edges; ++i) {
        if (n->edges[i].node) ++state(n->edges[i].node).pending;
      }
    }
  }

  // Adds a gradient to what `n` has for output `nr`. Takes over `g`.
  int add(Node* n, uint32_t nr, PyObject* g) {
    BackwardState& s = state(n);
    PyObject** place = &s.grad;
    if (n->n_outputs > 1) {
      if (!s.grads) {
        s.grads = static_cast<PyObject**>(PyMem_Calloc(n->n_outputs, sizeof(PyObject*)));
        if (!s.grads) {
          Py_DECREF(g);
          PyErr_NoMemory();
          return -1;
        }
      }
      place = &s.grads[nr];
    }
    if (*place) {
      PyObject* have = *place;
      *place = nullptr;
      g = add_gradients(have, g, create_graph_);
      if (!g) return -1;
    }
    *place = g;
    return 0;
  }

  int step(Node* n) {
    if (!observed()) return step(n, UnobservedNode());
    if (!observed_closely()) {
      Record run;
      run.begin(n, state(n).grads ? state(n).grads : &state(n).grad, n->n_outputs ? n->n_outputs : 1);
      return step(n, UnobservedNode());
    }
    ObservedNode told(n);
    return told.end(step(n, told));
  }

  template <class Told>
  int step(Node* n, Told&& told) {
    BackwardState& s = state(n);
    PyObject* single = nullptr;
    PyObject** grads = &single;
    const int n_outputs = n->n_outputs ? n->n_outputs : 1;
    std::vector<PyObject*> several;
    if (n->n_outputs > 1) {
      several.assign(n_outputs, nullptr);
      grads = several.data();
      if (s.grads) std::swap_ranges(several.begin(), several.end(), s.grads);
    } else {
      single = s.grad;
      s.grad = nullptr;
    }
    int done = told.begin(grads, n_outputs);
    if (done == 0) done = run_with_hooks(n, s.needed, s.captured, grads, n_outputs, told);
    for (int i = 0; i < n_outputs; ++i) Py_XDECREF(grads[i]);
    return done;
  }

  void take(Node* n, PyObject* const* grads) {
    for (size_t i = 0; i < captures_.size(); ++i) {
      if (captures_[i].node == n) captured_[i] = Ref::borrow(grads[captures_[i].nr]);
    }
  }

  template <class Told>
  int run_with_hooks(Node* n, bool needed, bool captured, PyObject** grads, int n_outputs, Told& told) {
    if (captured && at_inputs_ == End) {
      take(n, grads);
      return 0;
    }
    // Hooks may remove hooks, and themselves.
    const Ref leaf_hooks = n->kind == Node::Accumulate && n->variable ? n->variable->hooks.own() : Ref();
    if (leaf_hooks) {
      note_way(kHooks);
      Ref changed(
          PyObject_CallMethod(leaf_hooks.get(), "leaf_before", "OO", as_object(n->variable), grads[0] ? grads[0] : Py_None));
      if (!changed) return -1;
      PyObject* old = grads[0];
      grads[0] = changed.get() == Py_None ? nullptr : changed.release();
      Py_XDECREF(old);
    }
    if (n->hooks && replace(grads, n_outputs, n, "tensors_before") < 0) return -1;
    if (captured) {
      note_way(kCaptured);
      take(n, grads);
    }
    if (restricted_ && !needed) return 0;
    if (n->hooks && replace(grads, n_outputs, n, "node_before") < 0) return -1;
    if (n->kind == Node::Accumulate) {
      told.run();
      return told.ran(nullptr, accumulate(n, leaf_hooks.get(), grads));
    }

    PyObject* few[8] = {};
    std::vector<PyObject*> many;
    PyObject** outgoing = few;
    if (n->n_edges > 8) {
      many.assign(n->n_edges, nullptr);
      outgoing = many.data();
    }
    int done = 0;
    bool any = false;
    for (int i = 0; i < n_outputs; ++i) any |= grads[i] != nullptr;
    if (any || n->kind == Node::Function) {
      told.run();
      done = told.ran(outgoing, run_node(n, grads, create_graph_, left_out(n), outgoing));
    }
    if (done == 0 && n->hooks) done = after_hooks(n, grads, n_outputs, outgoing);
    if (done == 0 && !retain_) release_node(n);
    if (n_outputs == 1) Py_CLEAR(grads[0]);  // so that what was passed on may be owned alone
    for (int i = 0; i < n->n_edges; ++i) {
      if (done == 0) done = deliver(n, i, outgoing[i]);
      else Py_XDECREF(outgoing[i]);
    }
    return done;
  }

  // A bit for each of the first 64 edges that lead to nothing a restricted backward was asked for.
  uint64_t left_out(Node* n) {
    uint64_t bits = 0;
    for (int i = 0; restricted_ && i < n->n_edges && i < 64; ++i) {
      if (!n->edges[i].node) continue;
      const BackwardState& s = state(n->edges[i].node);
      if (!s.needed && !s.captured) bits |= uint64_t{1} << i;
    }
    return bits;
  }

  void release_node(Node* n) {
    if (n->kind != Node::Function) {
      release_after_backward(n, called_);
      return;
    }
    Ref done(PyObject_CallMethod(as_object(n), "_release_saved", nullptr));
    if (!done) PyErr_WriteUnraisable(as_object(n));
  }

  // Takes over `g`.
  int deliver(Node* n, int i, PyObject* g) {
    const Edge& e = n->edges[i];
    if (!e.node) {
      Py_XDECREF(g);
      return 0;
    }
    BackwardState& s = state(e.node);
    if (restricted_ && !s.needed && !s.captured) {
      Py_XDECREF(g);
      --s.pending;
      return 0;
    }
    if (g) {
      g = fit_to_edge(n, i, e, g, create_graph_);
      if (!g || add(e.node, e.nr, g) < 0) return -1;
    }
    if (--s.pending == 0) ready_.push(e.node);
    return 0;
  }

  // Lets the node's hooks change the incoming gradients.
  int replace(PyObject** grads, int n_outputs, Node* n, const char* method) {
    note_way(kHooks);
    Ref list(PyList_New(n_outputs));
    if (!list) return -1;
    for (int i = 0; i < n_outputs; ++i) PyList_SET_ITEM(list.get(), i, Py_NewRef(grads[i] ? grads[i] : Py_None));
    const Ref hooks = n->hooks.own();
    Ref result(PyObject_CallMethod(hooks.get(), method, "OO", as_object(n), list.get()));
    if (!result) return -1;
    if (!PyList_Check(result.get()) || PyList_GET_SIZE(result.get()) != n_outputs) {
      PyErr_SetString(PyExc_SystemError, "rushlight: hooks gave a wrong number of gradients");
      return -1;
    }
    for (int i = 0; i < n_outputs; ++i) {
      PyObject* item = PyList_GET_ITEM(result.get(), i);
      PyObject* old = grads[i];
      grads[i] = item == Py_None ? nullptr : Py_NewRef(item);
      Py_XDECREF(old);
    }
    return 0;
  }

  int after_hooks(Node* n, PyObject** grads, int n_outputs, PyObject** outgoing) {
    note_way(kHooks);
    Ref in(PyTuple_New(n->n_edges)), out(PyTuple_New(n_outputs));
    if (!in || !out) return -1;
    for (int i = 0; i < n->n_edges; ++i) PyTuple_SET_ITEM(in.get(), i, Py_NewRef(outgoing[i] ? outgoing[i] : Py_None));
    for (int i = 0; i < n_outputs; ++i) PyTuple_SET_ITEM(out.get(), i, Py_NewRef(grads[i] ? grads[i] : Py_None));
    const Ref hooks = n->hooks.own();
    if (!hooks) return 0;
    Ref result(PyObject_CallMethod(hooks.get(), "node_after", "OOO", as_object(n), in.get(), out.get()));
    if (!result) return -1;
    if (!PyTuple_Check(result.get()) || PyTuple_GET_SIZE(result.get()) != n->n_edges) {
      PyErr_SetString(PyExc_SystemError, "rushlight: hooks gave a wrong number of gradients");
      return -1;
    }
    for (int i = 0; i < n->n_edges; ++i) {
      PyObject* item = PyTuple_GET_ITEM(result.get(), i);
      PyObject* old = outgoing[i];
      outgoing[i] = item == Py_None ? nullptr : Py_NewRef(item);
      Py_XDECREF(old);
    }
    return 0;
  }

  // Without a gradient too the hooks that come after are called, as torch's are.
  int accumulate(Node* n, PyObject* leaf_hooks, PyObject** grads) {
    Tensor* v = n->variable;
    if (!v) return 0;
    Owned<Tensor> held = Owned<Tensor>::borrow(v);
    Ref incoming;
    if (PyObject* g = std::exchange(grads[0], nullptr)) {
      Ref owned(g);
      Node* made_by;
      if (current_grad_fn(v, &made_by) < 0) return -1;
      if (made_by) {
        PyErr_SetString(PyExc_RuntimeError,
                        "leaf variable has been moved into the graph interior. It was used as a leaf here, and written in place "
                        "by a recorded operation afterwards: use a clone of it in one of the two places.");
        return -1;
      }
      if (n->hooks) incoming = Ref::borrow(g);
      // A leaf that wants no gradient any more gets none.
      if (requires_grad(v) && add_to_leaf(v, owned.release(), incoming ? 2 : 1, create_graph_) < 0) return -1;
    }
    if (leaf_hooks) {
      Ref done(PyObject_CallMethod(leaf_hooks, "leaf_after", "O", as_object(v)));
      if (!done) return -1;
    }
    if (n->hooks) {
      PyObject* out[] = {incoming.get()};
      PyObject* none[1] = {};
      if (after_hooks(n, out, 1, none) < 0) return -1;
    }
    return 0;
  }

  const uint64_t id_;
  const bool retain_, create_graph_;
  bool inline_state_, restricted_ = false;
  AtInputs at_inputs_ = Take;
  int64_t saved_task_;
  Site called_, called_before_;
  std::vector<Ref>* saved_callbacks_;
  Backward* outer_;
  uint64_t steps_ = 0;
  std::vector<Node*> roots_, visited_;
  std::vector<Edge> root_edges_;
  std::vector<Ref> root_gradients_;
  std::vector<Capture> captures_;
  std::vector<Ref> captured_;
  std::vector<Ref> callbacks_;
  std::priority_queue<Node*, std::vector<Node*>, ByNumber> ready_;
  std::unordered_map<Node*, BackwardState> table_;
};

// A root or an input: a tensor, or a (node, output number) pair. The edge's node is a new reference (nullptr: wants none).
int read_edge(PyObject* o, Edge* e) {
  if (is_tensor(o)) return gradient_edge(as_tensor(o), e);
  PyObject* node;
  if (!PyTuple_Check(o) || PyTuple_GET_SIZE(o) < 2 || !is_node(node = PyTuple_GET_ITEM(o, 0))) {
    PyErr_SetString(PyExc_TypeError, "expected a Tensor or a GradientEdge");
    return -1;
  }
  const long nr = PyLong_AsLong(PyTuple_GET_ITEM(o, 1));
  if (nr == -1 && PyErr_Occurred()) return -1;
  Node* n = reinterpret_cast<Node*>(node);
  if (nr < 0 || nr >= std::max<long>(n->n_outputs, 1)) {
    PyErr_SetString(PyExc_IndexError, "the node has no such output");
    return -1;
  }
  Py_INCREF(node);
  *e = Edge{n, static_cast<uint32_t>(nr)};
  return 0;
}

// Whether a tuple holds a tensor that stands for others in a transform: they have no history of their own.
bool any_transformed(PyObject* tuple) {
  if (!PyTuple_Check(tuple)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    PyObject* o = PyTuple_GET_ITEM(tuple, i);
    if (is_tensor(o) && (as_tensor(o)->flags & kWrapped)) return true;
  }
  return false;
}

// reaches_others(roots, inputs): whether the graph of the roots leads to a leaf that is none of the inputs.
PyObject* reaches_others(PyObject*, PyObject* args) {
  PyObject *roots, *inputs;
  if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &roots, &PyTuple_Type, &inputs)) return nullptr;
  std::vector<Ref> held;  // a leaf that is in no graph has nobody else who keeps its node
  std::unordered_set<Node*> seen;
  std::vector<Node*> stack;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); ++i) {
    PyObject* o = PyTuple_GET_ITEM(inputs, i);
    if (!is_tensor(o)) continue;
    Edge e{nullptr, 0};
    if (gradient_edge(as_tensor(o), &e) < 0) return nullptr;
    held.emplace_back(as_object(e.node));
    if (e.node) seen.insert(e.node);
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(roots); ++i) {
    PyObject* o = PyTuple_GET_ITEM(roots, i);
    if (!is_tensor(o)) continue;
    Edge e{nullptr, 0};
    if (gradient_edge(as_tensor(o), &e) < 0) return nullptr;
    held.emplace_back(as_object(e.node));
    if (!e.node || !seen.insert(e.node).second) continue;
    if (e.node->kind == Node::Accumulate) Py_RETURN_TRUE;
    stack.push_back(e.node);
  }
  while (!stack.empty()) {
    Node* n = stack.back();
    stack.pop_back();
    for (int i = 0; i < n->n_edges; ++i) {
      Node* next = n->edges[i].node;
      if (!next || !seen.insert(next).second) continue;
      if (next->kind == Node::Accumulate) Py_RETURN_TRUE;
      stack.push_back(next);
    }
  }
  Py_RETURN_FALSE;
}

// run_backward(roots, gradients, retain, create_graph, inputs or None, at_inputs=0) -> None, or a tuple of the inputs'
// gradients. `at_inputs`, a Backward::AtInputs: 1, only what the inputs are reached by is walked, and `.grad` filled, as `backward`
// does; 2, the walk ends there.
PyObject* run_backward(PyObject*, PyObject* const* args, Py_ssize_t n_args) {
  if (n_args < 5 || n_args > 6 || !PyTuple_Check(args[0]) || !PyTuple_Check(args[1])) {
    PyErr_SetString(PyExc_TypeError, "run_backward(roots, gradients, retain, create_graph, inputs, at_inputs=0)");
    return nullptr;
  }
  PyObject *roots = args[0], *gradients = args[1], *inputs = args[4];
  if (any_transformed(roots) || any_transformed(inputs)) {
    return ask_levels(asked::backward, roots, args[1], args[2], args[3], inputs, n_args == 6 ? args[5] : Py_False);
  }
  const int retain = PyObject_IsTrue(args[2]), create_graph = PyObject_IsTrue(args[3]);
  const long at_inputs = n_args == 6 ? PyLong_AsLong(args[5]) : 0;
  if (retain < 0 || create_graph < 0 || (at_inputs == -1 && PyErr_Occurred())) return nullptr;
  const auto at = static_cast<Backward::AtInputs>(at_inputs);
  Backward task(retain, create_graph);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(roots); ++i) {
    PyObject* root = PyTuple_GET_ITEM(roots, i);
    Edge e{nullptr, 0};
    if (read_edge(root, &e) < 0) return nullptr;
    if (!e.node) {
      PyObject* f = callbacks.no_grad_root.get();
      if (f) Py_XDECREF(PyObject_CallFunction(f, "nO", i, root));
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "rushlight: no_grad_root must raise");
      return nullptr;
    }
    PyObject* g = i < PyTuple_GET_SIZE(gradients) ? PyTuple_GET_ITEM(gradients, i) : Py_None;
    g = g == Py_None ? implicit_gradient(root, e) : Py_NewRef(g);
    if (!g) {
      Py_DECREF(e.node);
      return nullptr;
    }
    if (task.add_root(e, g) < 0) return nullptr;
  }
  const bool restricted = inputs != Py_None;
  if (restricted) {
    if (!PyTuple_Check(inputs)) {
      PyErr_SetString(PyExc_TypeError, "inputs must be a tuple or None");
      return nullptr;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); ++i) {
      Edge e{nullptr, 0};
      if (read_edge(PyTuple_GET_ITEM(inputs, i), &e) < 0) return nullptr;
      if (!e.node && at != Backward::End) {
        PyObject* f = callbacks.no_grad_input.get();
        if (f) Py_XDECREF(PyObject_CallFunction(f, "nO", i, PyTuple_GET_ITEM(inputs, i)));
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "rushlight: no_grad_input must raise");
        return nullptr;
      }
      task.capture(e);
    }
  }
  if (task.run(restricted, at) < 0) return nullptr;
  if (!restricted || at == Backward::Accumulate) Py_RETURN_NONE;
  return task.take_captured();
}

}  // namespace

bool backward_running() { return n_running.load(std::memory_order_relaxed) != 0; }

namespace {

PyObject* queue_callback(PyObject*, PyObject* f) {
  if (!final_callbacks) {
    PyErr_SetString(PyExc_RuntimeError, "Final callbacks can only be installed during backward pass.");
    return nullptr;
  }
  final_callbacks->push_back(Ref::borrow(f));
  Py_RETURN_NONE;
}

PyObject* will_run(PyObject*, PyObject* o) {
  if (!is_node(o)) {
    PyErr_SetString(PyExc_TypeError, "expected a node");
    return nullptr;
  }
  return PyBool_FromLong(running && running->will_run(reinterpret_cast<Node*>(o)));
}

PyObject* restricted(PyObject*, PyObject*) { return PyBool_FromLong(running && running->restricted()); }

PyObject* current_task(PyObject*, PyObject*) { return PyLong_FromLongLong(tls.task); }
PyObject* current_node(PyObject*, PyObject*) { return Py_NewRef(tls.current_node ? tls.current_node : Py_None); }

// node_gradients(node, grads, create_graph): one node's rule by hand, as `node(grad)` does.
PyObject* node_gradients(PyObject*, PyObject* args) {
  PyObject *o, *grads;
  int create_graph;
  if (!PyArg_ParseTuple(args, "OO!p", &o, &PyTuple_Type, &grads, &create_graph)) return nullptr;
  if (!is_node(o) || reinterpret_cast<Node*>(o)->kind == Node::Accumulate) {
    PyErr_SetString(PyExc_TypeError, "expected the node of an op");
    return nullptr;
  }
  Node* n = reinterpret_cast<Node*>(o);
  if (PyTuple_GET_SIZE(grads) != n->n_outputs) {
    PyErr_Format(PyExc_TypeError, "expected %d arguments, got %zd instead", n->n_outputs, PyTuple_GET_SIZE(grads));
    return nullptr;
  }
  std::vector<PyObject*> in(n->n_outputs), out(std::max<int>(n->n_edges, 1), nullptr);
  for (int i = 0; i < n->n_outputs; ++i) {
    PyObject* g = PyTuple_GET_ITEM(grads, i);
    in[i] = g == Py_None ? nullptr : g;
  }
  GradMode mode(create_graph);
  const int done = run_node(n, in.data(), create_graph, 0, out.data());
  PyObject* result = done < 0 ? nullptr : PyTuple_New(n->n_edges);
  for (int i = 0; i < n->n_edges; ++i) {
    if (result) PyTuple_SET_ITEM(result, i, out[i] ? out[i] : Py_NewRef(Py_None));
    else Py_XDECREF(out[i]);
  }
  return result;
}

}  // namespace

PyMethodDef kEngineMethods[] = {
    {"run_backward", method_of<run_backward>(), METH_FASTCALL, "Walks the graph backwards from the roots."},
    {"reaches_others", method_of<reaches_others>(), METH_VARARGS,
     "Whether the roots' graph leads to a leaf that is none of the inputs."},
    {"queue_callback", method_of<queue_callback>(), METH_O, "Calls a function when the running backward ends."},
    {"will_run", method_of<will_run>(), METH_O, "Whether the running backward reaches a node."},
    {"restricted", method_of<restricted>(), METH_NOARGS, "Whether the running backward computes some gradients only."},
    {"current_task", method_of<current_task>(), METH_NOARGS, "The number of the running backward, or -1."},
    {"current_node", method_of<current_node>(), METH_NOARGS, "The node that is being run, or None."},
    {"node_gradients", method_of<node_gradients>(), METH_VARARGS, "Runs one node's rule."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace rushlight
