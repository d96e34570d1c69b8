// The recorder of a run: see capture.h.
#include "core/capture.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/layout.h"
#include "core/program.h"

namespace rushlight {

struct Recorder {
  Body body;
  std::unordered_map<const Storage*, int> memory_of;
  std::map<std::vector<Py_ssize_t>, int> operand_of;
  std::vector<int>* makes = nullptr;  // of the kernel that runs
  std::vector<ToldCall>* told = nullptr;
  std::vector<Ref> given_gradients;   // of the inputs as the run began
  std::vector<Ref> incoming;          // of the second part
  bool ended = false;                 // whether the outputs are noted
  bool has_effects = false;           // whether something was written that was there before, or drawn
  size_t kept = 0;                    // memories that the region of a checkpoint must not write: the first ones
  std::unordered_map<PyObject*, int> numbers;  // that the run computed: their steps
  bool allowed = false;               // whether the next value that Python reads is given back, and no more
  std::string trouble;
  Site where = {nullptr, 0};
  std::vector<Ref> inputs, there, gradients;  // gradients: those of `there` as the run began
  std::vector<uint32_t> versions;             // of `there`, then of the inputs
};

namespace {

Recorder& r() { return *tls.recorder; }
int now() { return static_cast<int>(r().body.steps.size()); }

void add_memory(Storage* s, Memory::Origin origin, int number = -1, const Tensor* as = nullptr) {
  Memory m;
  m.origin = origin;
  m.number = number;
  m.has_graph = as && as->grad_fn;
  if (as && (m.as = new_alias(as))) m.as->flags = as->flags & ~static_cast<uint32_t>(kCut | kCutReason);
  m.nbytes = s->nbytes;
  m.written = origin != Memory::Made;
  if (origin == Memory::There) m.storage = hold(s);
  r().memory_of[s] = static_cast<int>(r().body.memories.size());
  r().body.memories.push_back(std::move(m));
}

// The number of a tensor's memory; -1 where the capture ends.
int memory_number(const Tensor* t) {
  if (t->device() != DeviceType::Cpu) {
    end_capture("computes on another device than the CPU");
    return -1;
  }
  const auto found = r().memory_of.find(t->storage());
  if (found != r().memory_of.end()) return found->second;
  if (t->storage()->flags & Storage::kConstant) {
    add_memory(t->storage(), Memory::There);
    return static_cast<int>(r().body.memories.size()) - 1;
  }
  end_capture("uses a tensor that neither the arguments nor anything that it reads by name hold");
  return -1;
}

void note_write(Memory& m) {
  if (static_cast<size_t>(&m - r().body.memories.data()) < r().kept)
    end_capture("writes in a checkpoint what was there before it, which eager calls do twice");
  m.changed = true;
  if (m.first_write < 0) m.first_write = now();
  r().has_effects |= m.origin != Memory::Made;
}

int operand_of(const Tensor* t, bool writes) {
  const int number = memory_number(t);
  if (number < 0) return -1;
  Memory& m = r().body.memories[number];
  if (writes && r().body.split >= 0 && m.origin == Memory::Made && m.first >= 0 && m.first < r().body.split) {
    end_capture("writes in its backward what its forward has made");
    return -1;
  }
  if (writes) m.written = true;
  if (writes) note_write(m);
  if (!m.written) {
    end_capture("reads memory that no recorded call has written");
    return -1;
  }
  if (m.first < 0) m.first = now();
  m.last = now();
  if (!r().ended) m.last_read = now();
  Operand made{number, t->dtype, t->flags & kLazy, t->offset(), t->ndim(), {}};
  made.dims.assign(t->sizes(), t->sizes() + 2 * t->ndim());
  std::vector<Py_ssize_t> key = {number, static_cast<Py_ssize_t>(t->dtype), static_cast<Py_ssize_t>(made.flags), made.offset,
                                 made.ndim};
  key.insert(key.end(), made.dims.begin(), made.dims.end());
  const auto [at, is_new] = r().operand_of.emplace(std::move(key), static_cast<int>(r().body.operands.size()));
  if (is_new) r().body.operands.push_back(std::move(made));
  return at->second;
}

Value value_of(PyObject* o, bool writes = false) {
  Value v;
  if (is_tensor(o)) {
    v.operand = operand_of(as_tensor(o), false);
    if (writes && v.operand >= 0) note_write(r().body.memories[r().body.operands[v.operand].memory]);
  } else if (is_list(o)) {
    v.is_list = true;
    v.is_tuple = PyTuple_Check(o);
    const ItemsOf items(o);
    bool plain = true;
    for (Py_ssize_t i = 0; i < items.size(); ++i) {
      v.items.push_back(value_of(items[i], writes));
      plain &= v.items.back().operand < 0 && !v.items.back().is_list;
    }
    if (plain && v.is_tuple) {  // as it is: a Size stays one
      for (Value& item : v.items) Py_CLEAR(item.object);
      v = Value();
      v.object = Py_NewRef(o);
    }
  } else {
    v.object = Py_NewRef(o);
  }
  return v;
}

void add_step(Step step) {
  step.site = Site{nullptr, 0};
  note_site(&step.site);
  r().body.steps.push_back(std::move(step));
}

Step new_step(Step::Kind kind, const char* name) {
  Step step;
  step.kind = kind;
  step.name = name;
  step.restarts = !r().has_effects;
  return step;
}

PyTypeObject* number_type = nullptr;  // of numbers that note what is done with them

// The generator that draws where a call names none.
PyObject* usual_generator = nullptr;

// A call draws: from the generators among its arguments, or their states, or else from the usual
// one.
void note_draw(PyObject* const* args, Py_ssize_t n) {
  Body& body = r().body;
  r().has_effects = body.draws = true;
  const auto add = [&body](PyObject* o) {
    if (std::find(body.generators.begin(), body.generators.end(), o) == body.generators.end())
      body.generators.push_back(Py_NewRef(o));
  };
  bool named = false;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!PyCapsule_CheckExact(args[i]) && !(usual_generator && Py_TYPE(args[i]) == Py_TYPE(usual_generator))) continue;
    add(args[i]);
    named = true;
  }
  if (!named && usual_generator) add(usual_generator);
}

// Whether an answer can be compared with a later one.
bool is_plain(PyObject* o) {
  if (o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o)) return true;
  bool plain = PyTuple_CheckExact(o);
  for (Py_ssize_t i = 0; plain && i < PyTuple_GET_SIZE(o); ++i) plain = is_plain(PyTuple_GET_ITEM(o, i));
  return plain;
}

Value written(const Tensor* t) {
  Value v;
  v.operand = operand_of(t, true);
  return v;
}
Value read(const Tensor* t) {
  Value v;
  v.operand = operand_of(t, false);
  return v;
}

}  // namespace

void end_capture(const char* why) {
  if (!r().trouble.empty()) return;
  r().trouble = why;
  note_site(&r().where);
  tls.capture = Capturing::Off;  // what follows is of no use
}

void record_storage(Storage* made) {
  if (r().makes) r().makes->push_back(static_cast<int>(r().body.memories.size()));
  if (made->device == DeviceType::Cpu) add_memory(made, Memory::Made);
}

void forget_storage(Storage* freed) {
  if (tls.capture == Capturing::Replays || !tls.recorder) return;
  const auto found = r().memory_of.find(freed);
  if (found == r().memory_of.end()) return;
  r().body.memories[found->second].alive = false;
  r().memory_of.erase(found);
}

void record_told(const Telling& t, std::initializer_list<Address> addresses) {
  if (!r().told) return;
  const auto copied = [](const void* p, size_t n) {
    return std::vector<char>(static_cast<const char*>(p), static_cast<const char*>(p) + n);
  };
  ToldCall call{t.run, t.adds, (addresses.end() - 1)->tensor->dtype, copied(t.fixed, t.bytes), {}};
  if (t.make) call.form = {t.make, copied(t.form, t.form_bytes), copied(t.with, t.bytes), t.size};
  for (const Address& a : addresses) {
    if (!a.tensor) {
      call.places.push_back({-1, 0});
      continue;
    }
    const auto found = r().memory_of.find(a.tensor->storage());
    if (found == r().memory_of.end()) return;
    call.places.push_back({found->second, static_cast<const char*>(a.data) - a.tensor->storage()->data});
  }
  r().told->push_back(std::move(call));
}

namespace {

// The calls that were told stand for the kernel where each of its new memories is told of once.
void keep_what_is_told(Step* step) {
  bool all = step->told.size() == step->makes.size();
  for (const int m : step->makes) {
    const auto fills = [m](const ToldCall& call) { return call.places.back().memory == m; };
    all &= std::count_if(step->told.begin(), step->told.end(), fills) == 1;
  }
  if (!all) step->told.clear();
}

}  // namespace

namespace {

// Whether a kernel looks at values before it computes: it takes numbers of places, or weights of
// what it draws.
bool looks_at_values(const KernelFacts& kernel, PyObject* const* args, Py_ssize_t n) {
  if (kernel.border == Border::Reads || kernel.border == Border::Refuses) return true;
  if (kernel.border != Border::Computes && kernel.border != Border::Writes) return false;
  if (r().body.split >= 0 && r().has_effects) return false;
  const auto looked_at = [&kernel](PyObject* o) {
    return is_tensor(o) && (kernel.draws || category_of(as_tensor(o)->dtype) == Category::Integer);
  };
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (looked_at(args[i])) return true;
    if (!is_list(args[i])) continue;
    const ItemsOf items(args[i]);
    for (Py_ssize_t k = 0; k < items.size(); ++k) {
      if (looked_at(items[k])) return true;
    }
  }
  return false;
}

}  // namespace

PyObject* record_kernel(const KernelFacts& kernel, KernelFunction f, PyObject* self, PyObject* const* args, Py_ssize_t n,
                        PyObject* kwnames) {
  Step step = new_step(Step::Kernel, kernel.name);
  PyObject* result;
  {
    r().makes = &step.makes;
    r().told = &step.told;
    const WithinStep inside;
    result = f(self, args, n, kwnames);
    r().makes = nullptr;
    r().told = nullptr;
  }
  if (!result) end_capture("raises an exception, and catches it");
  keep_what_is_told(&step);
  if (!result || kernel.border == Border::Asks) return result;
  const bool reads = kernel.border == Border::Reads,
             compares = looks_at_values(kernel, args, kwnames ? n + PyTuple_GET_SIZE(kwnames) : n);
  const bool done = result != Py_NotImplemented;
  if (compares && ((r().body.split >= 0 && r().has_effects) || !done || (reads && !is_plain(result))))
    end_capture("asks for values of a tensor");
  if (!done || !recording()) return result;
  if (compares && r().body.split < 0) r().body.last_check = now();
  if (reads) step.answer = Py_NewRef(result);
  if (kernel.border == Border::Looks && step.makes.empty()) return result;  // it shows memory
  if (kernel.draws) note_draw(args, kwnames ? n + PyTuple_GET_SIZE(kwnames) : n);
  each_result(result, [&](size_t, Py_ssize_t elements) { step.results.push_back(elements); });
  step.function = f;
  step.self = self;
  step.has_effects = kernel.draws || kernel.border == Border::Writes || kernel.border == Border::Fills;
  step.count = n;
  step.kwnames = Py_XNewRef(kwnames);
  if (kwnames) n += PyTuple_GET_SIZE(kwnames);
  bool fills = kernel.border == Border::Fills;  // the first tensor
  for (Py_ssize_t i = 0; i < n && recording(); ++i) {
    const bool filled = fills && is_tensor(args[i]);
    step.args.push_back(filled ? written(as_tensor(args[i])) : value_of(args[i], kernel.border == Border::Writes));
    fills &= !filled;
  }
  for (int m : step.makes) {
    Memory& made = r().body.memories[m];
    made.written = true;
    made.first = made.last = now();
  }
  if (recording()) add_step(std::move(step));
  return result;
}

void record_machine(const Program& program, DType compute, PyObject* const* operands, int n, Tensor* out) {
  Step step = new_step(Step::Machine, "pointwise");
  step.program = &program;
  step.compute = compute;
  for (int i = 0; i < n && recording(); ++i) step.args.push_back(value_of(operands[i]));
  if (recording()) step.args.push_back(written(out));
  if (recording()) add_step(std::move(step));
}

void record_block(BlockFn block, Tensor* a, Tensor* b, const void* numbers, Tensor* out) {
  Step step = new_step(Step::Block, "pointwise");
  step.block = block;
  step.size = a->numel();
  step.args.push_back(read(a));
  if (b && recording()) step.args.push_back(read(b));
  const char* bytes = static_cast<const char*>(numbers);
  if (numbers) step.numbers.assign(bytes, bytes + out->nbytes());
  if (recording()) step.args.push_back(written(out));
  if (recording()) add_step(std::move(step));
}

void record_copy(Tensor* to, const Tensor* from) {
  Step step = new_step(Step::Copy, "copy");
  step.args.push_back(read(from));
  if (recording()) step.args.push_back(written(to));
  if (recording()) add_step(std::move(step));
}

void record_fill(Tensor* to, char byte) {
  Step step = new_step(Step::Fill, "fill");
  step.byte = byte;
  step.size = to->nbytes();
  step.args.push_back(written(to));
  if (recording()) add_step(std::move(step));
}

// Whether a tensor was made of Python's numbers, and nothing has written it.
bool is_constant(const Tensor* t) {
  const auto found = r().memory_of.find(t->storage());
  if (found == r().memory_of.end()) return false;
  const Memory& m = r().body.memories[static_cast<size_t>(found->second)];
  return m.origin == Memory::Made && !m.contents.empty() && !m.changed;
}

bool record_truth(Tensor* t) {
  if (std::exchange(r().allowed, false) || is_constant(t)) return true;
  if ((r().body.split >= 0 && r().has_effects) || t->numel() != 1 || category_of(t->dtype) > Category::Integer || t->flags & kLazy)
    return false;
  Step step = new_step(Step::Check, "compare");
  step.args.push_back(read(t));
  step.numbers.assign(t->data(), t->data() + t->item());
  if (!recording()) return false;
  if (r().body.split < 0) r().body.last_check = now();
  add_step(std::move(step));
  return true;
}

void record_constant(Tensor* made) {
  if (!r().memory_of.count(made->storage())) add_memory(made->storage(), Memory::Made);  // somebody else's memory
  const int number = memory_number(made);
  if (number < 0) return;
  Memory& m = r().body.memories[number];
  m.written = true;
  m.first = 0;
  m.last = std::max(m.last, 0);
  const char* bytes = made->storage()->data;
  m.contents.assign(bytes, bytes + m.nbytes);
  m.changed = false;
}

// ---------------------------------------------------------------- the run

namespace {

// Whether a backward from here would use values of this run: all that a replay could give is the
// graph of the captured one.
bool is_graph_there(const Tensor* t) {
  std::vector<const Node*> left = {t->grad_fn.peek()};
  std::unordered_set<const Node*> seen = {nullptr};
  while (!left.empty()) {
    const Node* node = left.back();
    left.pop_back();
    if (!seen.insert(node).second || node->released || node->kind == Node::Accumulate) continue;
    if (node->kind != Node::OfOp) return true;
    for (int i = 0; i < node->n_saved; ++i) {
      if (node->saved[i].kind != Saved::Nothing && node->saved[i].kind != Saved::Object) return true;
    }
    for (int i = 0; i < node->n_edges; ++i) left.push_back(node->edges[i].node);
  }
  return false;
}

// The memory that nothing but the graph of an output holds: leaves of the run, and their gradients;
// of a run in two parts what its nodes saved, too.
void note_held(const Tensor* t, std::unordered_set<const Storage*>* held) {
  std::vector<const Node*> left = {t->grad_fn.peek()};
  std::unordered_set<const Node*> seen = {nullptr};
  while (!left.empty()) {
    const Node* node = left.back();
    left.pop_back();
    if (!seen.insert(node).second) continue;
    for (int i = 0; i < node->n_edges; ++i) left.push_back(node->edges[i].node);
    for (int i = 0; i < node->n_saved && r().body.split >= 0; ++i) {
      const Saved& s = node->saved[i];
      if (s.kind == Saved::Input || s.kind == Saved::Output) held->insert(as_tensor(s.value.peek())->storage());
    }
    const Tensor* leaf = node->variable;
    if (node->kind != Node::Accumulate || !leaf || Py_REFCNT(leaf) != 1) continue;
    const Tensor* grad = leaf->grad.peek();
    if (leaf->storage()->references == 1) held->insert(leaf->storage());
    if (grad && Py_REFCNT(grad) == 1 && grad->storage()->references == 1) held->insert(grad->storage());
  }
}

void end_recording() {
  tls.capture = Capturing::Off;
  delete std::exchange(tls.recorder, nullptr);
}

bool is_of_tensors(PyObject* tuple) {
  if (!PyTuple_Check(tuple)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    if (!is_tensor(PyTuple_GET_ITEM(tuple, i))) return false;
  }
  return true;
}

// capture_begin(inputs, there): whatever runs on this thread is recorded from here on. `there`: the
// tensors that guards hold.
PyObject* begin(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 2 || !is_of_tensors(args[0]) || !is_of_tensors(args[1])) {
    PyErr_SetString(PyExc_TypeError, "capture_begin(inputs, there): two tuples of tensors");
    return nullptr;
  }
  if (tls.recorder || tls.capture != Capturing::Off) {
    PyErr_SetString(PyExc_RuntimeError, "a run is captured already on this thread");
    return nullptr;
  }
  tls.recorder = new Recorder;
  const auto look = [](PyObject* tuple, std::vector<Ref>* kept) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
      kept->push_back(Ref::borrow(PyTuple_GET_ITEM(tuple, i)));
      r().versions.push_back(version_of(as_tensor(kept->back().get())));
    }
  };
  look(args[1], &r().there);
  look(args[0], &r().inputs);
  int leaf = 0;
  for (const Ref& o : r().there) {
    Tensor* t = as_tensor(o.get());
    if (!r().memory_of.count(t->storage())) add_memory(t->storage(), Memory::There);
    r().gradients.push_back(Ref(as_object(t->grad.own().release())));
  }
  for (const Ref& o : r().gradients) {
    const int number = leaf++;
    if (!o || r().memory_of.count(as_tensor(o.get())->storage())) continue;
    add_memory(as_tensor(o.get())->storage(), Memory::Gradient, number, as_tensor(o.get()));
  }
  int input = 0;
  for (const Ref& o : r().inputs) {
    const Tensor* t = as_tensor(o.get());
    if (r().memory_of.count(t->storage())) r().trouble = "is given the same memory twice, or memory that it reads by another name";
    else if (Py_TYPE(t) != TensorType || t->hooks || t->flags & (kWrapped | kElsewhere))
      r().trouble = "has an argument with hooks, or of another class or device";
    else add_memory(t->storage(), Memory::Input, input++, t);
    r().given_gradients.push_back(Ref(as_object(t->grad.own().release())));
  }
  if (r().trouble.empty()) tls.capture = Capturing::Records;
  Py_RETURN_NONE;
}

constexpr char kGraphThere[] = "gives back a tensor whose graph is still there";

const char* note_outputs(PyObject* outputs) {
  Body& body = r().body;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); ++i) {
    PyObject* o = PyTuple_GET_ITEM(outputs, i);
    Tensor* t = as_tensor(o);
    const auto same = [o](const Ref& held) { return held.get() == o; };
    const bool first_part = body.split >= 0 && i < static_cast<Py_ssize_t>(body.n_first);
    const auto input = std::find_if(r().inputs.begin(), r().inputs.end(), same);
    if (first_part && (input != r().inputs.end() || std::any_of(r().there.begin(), r().there.end(), same)))
      return "gives back what was there before, with a graph";
    if (input != r().inputs.end()) {
      body.outputs.push_back({Output::Argument, -1, static_cast<int>(input - r().inputs.begin()), nullptr});
      continue;
    }
    if (std::any_of(r().there.begin(), r().there.end(), same)) {
      body.outputs.push_back({Output::Kept, -1, -1, Py_NewRef(o)});
      continue;
    }
    if (!first_part && is_graph_there(t)) return kGraphThere;
    if (t->flags & (kRequiresGrad | kWrapped | kInference)) return "gives back a tensor with settings of its own";
    if (Py_TYPE(o) != TensorType || t->dict) return "gives back a tensor of another class, or with attributes";
    const int number = memory_number(t);
    if (number < 0) return "";
    Memory& m = body.memories[number];
    if (first_part && m.origin != Memory::Made) return "gives back a view of what was there before, with a graph";
    if (first_part && m.fresh) return "gives back tensors that share memory, with a graph";
    if (m.origin != Memory::Made) {
      Output view{Output::View, -1, m.origin == Memory::Input ? m.number : -1, nullptr, t->base != nullptr};
      const auto shown = [t](const Ref& held) { return as_tensor(held.get())->storage() == t->storage(); };
      const auto source = std::find_if(r().there.begin(), r().there.end(), shown);
      if (requires_grad(t) || m.origin == Memory::Gradient || (view.number < 0 && source == r().there.end()))
        return "gives back a view of a tensor that wants a gradient, or of a gradient";
      view.operand = operand_of(t, false);
      view.object = view.number < 0 ? source->get() : nullptr;
      Py_XINCREF(view.object);
      body.outputs.push_back(view);
      continue;
    }
    m.fresh = true;
    body.outputs.push_back({Output::New, operand_of(t, false), -1, Py_NewRef(o)});
  }
  return nullptr;
}

// Notes the gradients that the run leaves. Why that cannot be replayed, or nullptr.
const char* note_gradients(PyObject* outputs) {
  Body& body = r().body;
  std::vector<int> given;  // memories of gradients
  for (size_t i = 0; i < r().there.size(); ++i) {
    Tensor* leaf = as_tensor(r().there[i].get());
    const Tensor* grad = leaf->grad.peek();
    if (as_object(const_cast<Tensor*>(grad)) == r().gradients[i].get()) continue;
    Result result{static_cast<int>(body.leaves.size()), -1};
    if (grad) {
      if (grad->grad_fn || Py_TYPE(grad) != TensorType || grad->dict || grad->flags & (kWrapped | kInference | kRequiresGrad))
        return "leaves a gradient that has a graph";
      const int number = memory_number(grad);
      if (number < 0) return "";
      Memory& m = body.memories[number];
      if (m.origin != Memory::Made) return "sets .grad to a tensor that was there before";
      if (std::find(given.begin(), given.end(), number) != given.end()) return "leaves gradients that share memory";
      given.push_back(number);
      m.fresh = true;
      result.operand = operand_of(grad, false);
      for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(outputs); ++k) {
        if (as_tensor(PyTuple_GET_ITEM(outputs, k)) == grad) result.output = static_cast<int>(k);
      }
    }
    body.leaves.push_back(Py_NewRef(r().there[i].get()));
    body.gradients.push_back(result);
    body.n_own_gradients += grad && result.output < 0;
  }
  for (size_t i = 0; i < r().inputs.size(); ++i) {
    if (as_object(as_tensor(r().inputs[i].get())->grad.peek()) != r().given_gradients[i].get())
      return "sets the .grad of an argument";
  }
  return nullptr;
}

// Why a run cannot be replayed that keeps a tensor beyond its results, or nullptr.
const char* what_is_kept(PyObject* outputs) {
  std::unordered_set<const Storage*> held;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); ++i) note_held(as_tensor(PyTuple_GET_ITEM(outputs, i)), &held);
  for (const auto& [storage, number] : r().memory_of) {
    const Memory& m = r().body.memories[number];
    if (m.origin == Memory::Made && m.alive && !m.fresh && !held.count(storage)) return "keeps a tensor beyond its end";
  }
  return nullptr;
}

void note_versions() {
  std::vector<const VersionCounter*> seen;
  for (size_t i = 0; i < r().versions.size(); ++i) {
    const bool is_input = i >= r().there.size();
    PyObject* o = is_input ? r().inputs[i - r().there.size()].get() : r().there[i].get();
    const Tensor* t = as_tensor(o);
    const uint32_t by = version_of(t) - r().versions[i];
    if (!by || std::find(seen.begin(), seen.end(), t->version) != seen.end()) continue;
    seen.push_back(t->version);
    if (is_input) r().body.input_versions.push_back({static_cast<int>(i - r().there.size()), by});
    else r().body.versions.push_back({Py_NewRef(o), by});
  }
}

// Writes ones into the memory of a new tensor, unrecorded.
void fill_ones(Tensor* t) {
  const float one = 1, none = 0;
  const double wide[] = {1, 0};
  const float pair[] = {one, none};
  const uint16_t half = t->dtype == DType::F16 ? 0x3c00 : 0x3f80;
  const void* element = t->dtype == DType::F64 || t->dtype == DType::C128 ? static_cast<const void*>(wide)
                        : t->item() == 2                                  ? static_cast<const void*>(&half)
                                                                          : static_cast<const void*>(pair);
  for (Py_ssize_t i = 0; i < static_cast<Py_ssize_t>(t->storage()->nbytes) / t->item(); ++i)
    std::memcpy(t->storage()->data + i * t->item(), element, static_cast<size_t>(t->item()));
}

PyObject* has_graph(PyObject*, PyObject* o) { return PyBool_FromLong(is_tensor(o) && is_graph_there(as_tensor(o))); }

// Whether the run did what a call that is made once more would do twice: it set gradients, or drew
// from another generator.
const char* what_is_done_once() {
  const auto set = [](const std::vector<Ref>& of, const std::vector<Ref>& before) {
    for (size_t i = 0; i < of.size(); ++i) {
      if (as_object(as_tensor(of[i].get())->grad.peek()) != before[i].get()) return true;
    }
    return false;
  };
  const std::vector<Memory>& memories = r().body.memories;
  const auto written = [](const Memory& m) { return m.origin == Memory::Gradient && m.changed; };
  if (set(r().there, r().gradients) || set(r().inputs, r().given_gradients) ||
      std::any_of(memories.begin(), memories.end(), written))
    return "sets gradients, and gives back a graph";
  const Ref usual(usual_generator ? PyObject_GetAttrString(usual_generator, "_state") : nullptr);
  PyErr_Clear();
  for (PyObject* o : r().body.generators) {
    if (o != usual_generator && o != usual.get()) return "draws from a generator of its own, and gives back a graph";
  }
  return nullptr;
}

// capture_second(outputs, incoming): the second part begins, which is given gradients of outputs.
// `incoming`: new tensors.
PyObject* second(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 2 || !is_of_tensors(args[0]) || !is_of_tensors(args[1]) || !tls.recorder) {
    PyErr_SetString(PyExc_TypeError, "capture_second(outputs, incoming): two tuples of tensors, while a run is captured");
    return nullptr;
  }
  if (const char* why = what_is_done_once()) ends_capture(why);
  Body& body = r().body;
  body.split = now();
  r().has_effects = false;
  body.n_first = static_cast<size_t>(PyTuple_GET_SIZE(args[0]));
  body.n_incoming = static_cast<size_t>(PyTuple_GET_SIZE(args[1]));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[1]); ++i) {
    Tensor* t = as_tensor(PyTuple_GET_ITEM(args[1], i));
    r().incoming.push_back(Ref::borrow(as_object(t)));
    fill_ones(t);
    r().memory_of.erase(t->storage());
    add_memory(t->storage(), Memory::Input, static_cast<int>(r().inputs.size() + static_cast<size_t>(i)), t);
  }
  Py_RETURN_NONE;
}

// Why the run cannot be replayed, as far as only its end tells, or nullptr.
const char* last_reason(PyObject* outputs) {
  const char* why = note_outputs(outputs);
  if (!why) why = note_gradients(outputs);
  if (!why) why = what_is_kept(outputs);
  note_versions();
  const auto is_written = [](const Memory& m) {
    return m.origin == Memory::Input && static_cast<size_t>(m.number) >= r().inputs.size() && m.changed;
  };
  const std::vector<Memory>& memories = r().body.memories;
  if (!why && r().body.split >= 0) {
    if (!r().body.input_versions.empty()) why = "writes an argument, and gives back a tensor with a graph";
    else if (std::any_of(memories.begin(), memories.end(), is_written)) why = "writes a gradient that its backward is given";
  }
  return why ? why : settle_numbers(&r().body, number_type);
}

// Notes what the first part makes and the second reads, and which tensors the second reads that were there before.
void settle_parts() {
  Body& body = r().body;
  if (body.split < 0) return;
  for (size_t i = 0; i < body.memories.size(); ++i) {
    Memory& m = body.memories[i];
    const bool crosses = m.origin == Memory::Made && m.first >= 0 && m.first < body.split && m.last >= body.split;
    if (!crosses || (!m.contents.empty() && !m.changed)) continue;
    // An output is given away after the last step: it is saved where the second part reads it.
    if (m.fresh && m.last_read < body.split) continue;
    m.saved = true;
    body.saved.push_back(static_cast<int>(i));
  }
  for (const Ref& o : r().there) {
    const auto found = r().memory_of.find(as_tensor(o.get())->storage());
    if (found == r().memory_of.end()) continue;
    const Memory& m = body.memories[static_cast<size_t>(found->second)];
    if (m.origin == Memory::There && m.last >= body.split) body.two.reads.push_back(Py_NewRef(o.get()));
  }
}

// capture_end(outputs): a Captured, or where the run cannot be replayed (why, line as text, or
// None).
PyObject* end(PyObject*, PyObject* outputs) {
  if (!tls.recorder) {
    PyErr_SetString(PyExc_RuntimeError, "no run is captured on this thread");
    return nullptr;
  }
  if (!is_of_tensors(outputs)) {
    end_recording();
    PyErr_SetString(PyExc_TypeError, "capture_end(outputs): a tuple of tensors");
    return nullptr;
  }
  r().ended = true;
  if (r().trouble.empty()) {
    const char* why = last_reason(outputs);
    if (why && r().trouble.empty()) r().trouble = why;
  }
  if (!r().trouble.empty()) {
    const std::string site = site_text(r().where);
    PyObject* said = Py_BuildValue("(ss)", r().trouble.c_str(), site.c_str());
    forget_site(&r().where);
    clear_body(&r().body);
    end_recording();
    return said;
  }
  for (Memory& m : r().body.memories) {
    if (m.origin != Memory::Gradient || m.first < 0) continue;
    r().body.leaves.push_back(Py_NewRef(r().there[m.number].get()));
    m.number = static_cast<int>(r().body.leaves.size()) - 1;
  }
  r().body.n_inputs = r().inputs.size();
  for (int i = 0; i <= r().body.last_check; ++i) r().body.steps[static_cast<size_t>(i)].restarts = true;
  for (size_t i = 0; i < r().body.memories.size(); ++i) {
    const Memory& m = r().body.memories[i];
    if (m.origin != Memory::Made && m.first_write >= 0 && m.first_write <= r().body.last_check)
      r().body.put_back.push_back(static_cast<int>(i));
  }
  settle_parts();
  tls.capture = Capturing::Off;
  Captured* made = PyObject_GC_New(Captured, CapturedType);
  if (!made) return nullptr;
  made->body = new Body(std::move(r().body));
  end_recording();
  if (finish(made->body) < 0) {
    Py_DECREF(made);
    return nullptr;
  }
  PyObject_GC_Track(made);
  return as_object(made);
}

// capture_stop(): forgets a run that ended with an exception.
PyObject* stop(PyObject*, PyObject*) {
  if (tls.recorder) {
    forget_site(&r().where);
    clear_body(&r().body);
    end_recording();
  }
  Py_RETURN_NONE;
}

// keep_constant(tensor): the tensor, whose elements never change.
PyObject* keep_constant(PyObject*, PyObject* o) {
  if (!is_tensor(o)) {
    PyErr_SetString(PyExc_TypeError, "keep_constant(tensor)");
    return nullptr;
  }
  as_tensor(o)->storage()->flags |= Storage::kConstant;
  return Py_NewRef(o);
}

// made_of_numbers(tensor): the tensor, whose elements are Python's numbers.
PyObject* made_of_numbers(PyObject*, PyObject* o) {
  if (recording() && is_tensor(o)) record_constant(as_tensor(o));
  return Py_NewRef(o);
}

// capture_allow(): the next value of a tensor that Python reads is given back by the run, and
// nothing else is done with it.
PyObject* allow(PyObject*, PyObject*) {
  if (recording()) r().allowed = true;
  Py_RETURN_NONE;
}

// capture_region(kept): the run must not write the first memories, all for -1. The number before.
PyObject* region(PyObject*, PyObject* o) {
  const Py_ssize_t kept = PyLong_AsSsize_t(o);
  if (PyErr_Occurred()) return nullptr;
  if (!tls.recorder) return PyLong_FromLong(0);
  return PyLong_FromSize_t(std::exchange(r().kept, kept < 0 ? r().body.memories.size() : static_cast<size_t>(kept)));
}

// capture_generator(generator): what draws where a call names none.
PyObject* generator(PyObject*, PyObject* o) {
  Py_XSETREF(usual_generator, Py_NewRef(o));
  Py_RETURN_NONE;
}

PyObject* capturing(PyObject*, PyObject*) { return PyBool_FromLong(tls.recorder != nullptr); }

// capture_number(made, function, ...): a number or a truth that the run made by function(...).
PyObject* number(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n < 3) return PyErr_Format(PyExc_TypeError, "capture_number(made, function, ...)");
  if (!recording()) Py_RETURN_NONE;
  Step step = new_step(Step::Number, "number");
  step.compares = PyBool_Check(args[0]);
  step.ahead = true;
  for (Py_ssize_t i = 1; i < n; ++i) {
    const auto from = r().numbers.find(args[i]);
    step.ahead &= !is_tensor(args[i]) && (from == r().numbers.end() || r().body.steps[static_cast<size_t>(from->second)].ahead);
    step.args.push_back(value_of(args[i]));
  }
  if (!step.ahead && r().body.split >= 0) end_capture("computes with the value of a tensor in its backward");
  if (!recording()) Py_RETURN_NONE;
  step.answer = Py_NewRef(args[0]);
  if (!step.compares) r().numbers[args[0]] = now();
  if (step.compares && !step.ahead) r().body.last_check = now();
  add_step(std::move(step));
  Py_RETURN_NONE;
}

// capture_used(number): something else was done with a number that the run computed. Whether it is
// one.
PyObject* used(PyObject*, PyObject* o) {
  if (!recording()) Py_RETURN_TRUE;
  const auto found = r().numbers.find(o);
  if (found == r().numbers.end()) Py_RETURN_FALSE;
  Step& step = r().body.steps[static_cast<size_t>(found->second)];
  step.compares = true;
  if (!step.ahead) end_capture("computes with the value of a tensor in Python");
  Py_RETURN_TRUE;
}

PyObject* computed_number = nullptr;

// capture_numbers(class, computed): of numbers that note each use, and `compute` while a run is recorded.
PyObject* numbers(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 2 || !PyType_Check(args[0])) return PyErr_Format(PyExc_TypeError, "capture_numbers(class, computed)");
  Py_XSETREF(number_type, reinterpret_cast<PyTypeObject*>(Py_NewRef(args[0])));
  Py_XSETREF(computed_number, Py_NewRef(args[1]));
  Py_RETURN_NONE;
}

// compute(function, ...): what a function of numbers makes, and makes again in replays.
PyObject* compute(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n < 1) return PyErr_Format(PyExc_TypeError, "compute(function, ...)");
  if (recording() && computed_number) return PyObject_Vectorcall(computed_number, args, static_cast<size_t>(n), nullptr);
  return PyObject_Vectorcall(args[0], args + 1, static_cast<size_t>(n - 1), nullptr);
}

PyObject* read_method = nullptr;

// read_number(tensor): item(), which is read again in each replay.
PyObject* read_number(PyObject*, PyObject* o) {
  static PyObject* const kItem = PyUnicode_InternFromString("item");
  if (!recording() || !number_type || !is_tensor(o)) return PyObject_CallMethodNoArgs(o, kItem);
  Ref made;
  {
    const WithinStep inside;
    made = Ref(PyObject_CallMethodNoArgs(o, kItem));
    if (made && is_constant(as_tensor(o))) return made.release();
    if (made && PyFloat_CheckExact(made.get())) made = Ref(PyObject_CallOneArg(as_object(number_type), made.get()));
  }
  if (!made) return nullptr;
  if (Py_TYPE(made.get()) != number_type) return PyObject_CallMethodNoArgs(o, kItem);
  PyObject* const args[] = {made.get(), read_method, o};
  const Ref done(number(nullptr, args, 3));
  return done ? made.release() : nullptr;
}

PyObject* steps(PyObject*, PyObject*) { return PyLong_FromLong(recording() ? now() : 0); }

PyObject* captures(PyObject*, PyObject*) { return PyBool_FromLong(recording()); }

// capture_writes(): the tensors that guards hold which the run may have written.
PyObject* writes(PyObject*, PyObject*) {
  Ref list(PyList_New(0));
  for (size_t i = 0; list && tls.recorder && i < r().there.size(); ++i) {
    const Tensor* t = as_tensor(r().there[i].get());
    const auto found = r().memory_of.find(t->storage());
    const bool changed = found != r().memory_of.end() && r().body.memories[static_cast<size_t>(found->second)].changed;
    if (!changed && version_of(t) == r().versions[i]) continue;
    if (PyList_Append(list.get(), r().there[i].get()) < 0) return nullptr;
  }
  return list.release();
}

PyObject* version(PyObject*, PyObject* o) { return PyLong_FromUnsignedLong(is_tensor(o) ? version_of(as_tensor(o)) : 0); }

PyMethodDef kFunctions[] = {
    {"capture_writes", method_of<writes>(), METH_NOARGS, "The tensors that guards hold which the run may have written."},
    {"version_of", method_of<version>(), METH_O, "How often a tensor's storage was written; nothing is said of it to a recorder."},
    {"capture_number", method_of<number>(), METH_FASTCALL, "A number or a truth that the run computed, and how."},
    {"capture_used", method_of<used>(), METH_O, "Something else was done with a number: whether the run computed it."},
    {"capture_numbers", method_of<numbers>(), METH_FASTCALL, "Takes the class of numbers that note what is done with them."},
    {"compute", method_of<compute>(), METH_FASTCALL, "What a function of numbers makes, and makes again in replays."},
    {"read_number", method_of<read_number>(), METH_O, "item(), which is read again in each replay."},
    {"capture_steps", method_of<steps>(), METH_NOARGS, "How many steps are recorded so far."},
    {"captures", method_of<captures>(), METH_NOARGS, "Whether a run of this thread is recorded, and nothing has ended that."},
    {"capture_allow", method_of<allow>(), METH_NOARGS, "The next value of a tensor that Python reads is only given back."},
    {"capture_region", method_of<region>(), METH_O, "A region begins that must not write what is there, or ends."},
    {"capture_generator", method_of<generator>(), METH_O, "Names the generator that draws where a call names none."},
    {"capturing", method_of<capturing>(), METH_NOARGS, "Whether a run of this thread is being recorded."},
    {"made_of_numbers", method_of<made_of_numbers>(), METH_O, "The tensor, whose elements were written from Python's numbers."},
    {"keep_constant", method_of<keep_constant>(), METH_O, "The tensor, marked as of the library: its elements never change."},
    {"capture_begin", method_of<begin>(), METH_FASTCALL, "Records what runs on this thread from here on."},
    {"has_graph", method_of<has_graph>(), METH_O, "Whether a backward from a tensor would use values that it saved."},
    {"capture_second", method_of<second>(), METH_FASTCALL, "What runs from here on is the backward of the run."},
    {"capture_end", method_of<end>(), METH_O, "The recorded run as a Captured, or (why, line) where it cannot be replayed."},
    {"capture_stop", method_of<stop>(), METH_NOARGS, "Forgets a run that ended with an exception."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int init_capture_type(PyObject* module);

int init_capture(PyObject* module) {
  if (PyModule_AddFunctions(module, kFunctions) < 0) return -1;
  read_method = PyObject_GetAttrString(module, "read_number");
  return read_method ? init_capture_type(module) : -1;
}

}  // namespace rushlight
