// Programs that replay a recorded run: their memory, and the loop over their steps. See capture.h.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "core/layout.h"
#include "core/program.h"
#include "core/state.h"
#include "kernels/random.h"

namespace rushlight {

PyTypeObject* CapturedType;

namespace {

constexpr size_t kLine = 64;  // bytes; every memory of the arena begins at a cache line
size_t in_lines(size_t nbytes) { return (std::max<size_t>(nbytes, 1) + kLine - 1) / kLine * kLine; }

bool in_arena(const Memory& m) { return m.origin == Memory::Made && !m.fresh && !m.saved && !m.in_strips && m.first >= 0; }

// Gives the memories places in the arena; those that are used at different times share them. The
// largest come first, each at the lowest place that is free as long as it is used. The bytes of
// all.
size_t plan(std::vector<Memory>* memories, std::vector<size_t>* places) {
  std::vector<int> order, placed;
  for (size_t i = 0; i < memories->size(); ++i) {
    if (in_arena((*memories)[i])) order.push_back(static_cast<int>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return (*memories)[a].nbytes > (*memories)[b].nbytes; });
  size_t total = 0;
  std::vector<std::pair<size_t, size_t>> taken;
  for (int i : order) {
    const Memory& m = (*memories)[i];
    taken.clear();
    for (int k : placed) {
      const Memory& other = (*memories)[k];
      if (other.first <= m.last && m.first <= other.last) taken.emplace_back((*places)[k], (*places)[k] + in_lines(other.nbytes));
    }
    std::sort(taken.begin(), taken.end());
    size_t at = 0;
    for (const auto& [from, to] : taken) {
      if (at + in_lines(m.nbytes) <= from) break;
      at = std::max(at, to);
    }
    (*places)[i] = at;
    placed.push_back(i);
    total = std::max(total, at + in_lines(m.nbytes));
  }
  return total;
}

PyObject* given_of(const Body& body, const Value& v) {
  if (v.operand >= 0) return Py_NewRef(body.operands[v.operand].tensor);
  if (!v.is_list) return Py_NewRef(v.object);
  const Py_ssize_t n = static_cast<Py_ssize_t>(v.items.size());
  Ref list(v.is_tuple ? PyTuple_New(n) : PyList_New(n));
  for (Py_ssize_t i = 0; list && i < n; ++i) {
    PyObject* item = given_of(body, v.items[i]);
    if (!item) return nullptr;
    if (v.is_tuple) PyTuple_SET_ITEM(list.get(), i, item);
    else PyList_SET_ITEM(list.get(), i, item);
  }
  return list.release();
}

Tensor* given_at(const Step& step, size_t i) { return as_tensor(step.given[i]); }

constexpr Py_ssize_t kSmall = 1024;   // elements, of a machine that runs by calls
constexpr Py_ssize_t kParts = 4;      // the same, part by part
constexpr Py_ssize_t kLeastRow = 16;  // elements of a row that is there for all

// Whether a tensor, of sizes that broadcast to those of `out`, has the last of these and is
// contiguous.
bool is_row_of(const Tensor* a, const Tensor* out) {
  const int shift = out->ndim() - a->ndim();
  int d = a->ndim() - 1;
  while (d >= 0 && a->size(d) == out->size(d + shift)) --d;
  while (d >= 0 && a->size(d) == 1) --d;
  return d < 0 && a->is_contiguous();
}
bool run_rows(const void* fixed, char* const* at) {
  const BoundMachine::Rows& r = *static_cast<const BoundMachine::Rows*>(fixed);
  for (Py_ssize_t i = 0; i < r.count; ++i)
    r.block(at[0] + i * r.steps[0], at[1] + i * r.steps[1], at[2] + i * r.steps[2], at[3] + i * r.steps[3], r.elements);
  return true;
}

// Makes a machine's instructions calls, where all operands are whole. `wide`: the size of an
// element.
void bind_calls(Body* body, const Step& step, Py_ssize_t numel, BoundMachine* made) {
  const Program& program = *step.program;
  const size_t n = step.given.size() - 1, wide = static_cast<size_t>(item_size(step.compute));
  const size_t registers = static_cast<size_t>(std::max(program.n_registers, program.n_inputs));
  if (numel > (made->row ? kSmall : kParts * kSmall) || program.code.empty() || program.code.back().dst != program.result) return;
  for (const Instr& i : program.code) {
    if (i.dst >= registers || i.dst < n + program.constants.size() || !kernels().block(i.op, step.compute)) return;
  }
  made->registers.resize(registers);
  const auto repeat = [&](size_t r, double v) {
    const float narrow = static_cast<float>(v);
    uint64_t bits;
    std::memcpy(&bits, &v, sizeof bits);
    std::vector<char>& all = body->repeated[{step.compute, bits}];
    const char* from = step.compute == DType::F32 ? reinterpret_cast<const char*>(&narrow) : reinterpret_cast<const char*>(&v);
    while (all.size() < wide * kSmall) all.insert(all.end(), from, from + wide);
    made->registers[r] = all.data();
  };
  for (size_t i = 0; i < n; ++i) {
    if (!is_tensor(step.given[i])) repeat(i, PyFloat_AsDouble(step.given[i]));
  }
  for (size_t i = 0; i < program.constants.size(); ++i) repeat(n + i, program.constants[i]);
  for (const Instr& i : program.code) {
    if (&i != &program.code.back()) {
      if (body->registers.size() <= i.dst) body->registers.resize(i.dst + 1);
      body->registers[i.dst].resize(sizeof(double) * kSmall);
      made->registers[i.dst] = body->registers[i.dst].data();
    }
    made->calls.push_back(kernels().block(i.op, step.compute));
  }
}

// A machine's step in which only addresses change, where it is small enough to run with the GIL.
std::unique_ptr<BoundMachine> bound(Body* body, const Step& step) {
  const size_t n = step.given.size() - 1;
  const Tensor* out = given_at(step, n);
  const int ndim = out->ndim();
  if (out->numel() > kReleaseSize || step.compute == DType::I64 || is_complex(step.compute) || is_half(step.compute))
    return nullptr;
  auto made = std::make_unique<BoundMachine>();
  made->strides.resize(n);
  made->is_row.resize(n);
  made->numbers.reserve(n);
  bool whole = out->is_contiguous() && out->dtype == step.compute && out->numel();
  for (size_t i = 0; i < n; ++i) {
    made->strides[i].assign(static_cast<size_t>(ndim), 0);
    PyObject* o = step.given[i];
    if (is_tensor(o)) {
      const Tensor* a = as_tensor(o);
      const int shift = ndim - a->ndim();
      for (int d = 0; d < a->ndim(); ++d) {
        if (shift < 0 || (a->size(d) != 1 && a->size(d) != out->size(d + shift))) return nullptr;
        made->strides[i][static_cast<size_t>(d + shift)] = a->size(d) == 1 ? 0 : a->stride(d);
      }
      made->operands.push_back(Strided{nullptr, a->dtype, made->strides[i].data()});
      whole &= a->dtype == step.compute && a->is_contiguous() && a->is_aligned();
      if (a->numel() == out->numel()) continue;
      whole &= is_row_of(a, out) && a->numel() >= kLeastRow && (!made->row || made->row == a->numel());
      made->is_row[i] = true;
      made->row = a->numel();
    } else if (PyFloat_CheckExact(o) || PyLong_CheckExact(o)) {
      const double v = PyFloat_AsDouble(o);
      if (v == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return nullptr;
      }
      double& number = made->numbers.emplace_back(v);
      if (step.compute == DType::F32) *reinterpret_cast<float*>(&number) = static_cast<float>(v);
      made->operands.push_back(Strided{reinterpret_cast<char*>(&number), step.compute, made->strides[i].data()});
    } else {
      return nullptr;
    }
  }
  if (whole) bind_calls(body, step, out->numel(), made.get());
  return made;
}

// Makes the calls of a program of its steps.
class Calls {
 public:
  explicit Calls(Body* body) : body_(*body) {}

  void make() {
    const size_t split = body_.split < 0 ? body_.steps.size() : static_cast<size_t>(body_.split);
    for (size_t i = 0; i < body_.steps.size(); ++i) {
      const Step& step = body_.steps[i];
      if (i == split) body_.split_call = body_.calls.size();
      if (step.kind == Step::Number && step.ahead) continue;
      if (step.strips) {
        lanes(i, *step.strips);
        i += static_cast<size_t>(step.strips->count) - 1;
      } else if (!step.told.empty()) {
        for (const ToldCall& call : step.told) told(i, call);
      } else if (step.kind == Step::Block) {
        block(i, step.block, step.size);
        operand(step.args[0]);
        if (step.args.size() > 2) operand(step.args[1]);
        else fixed(step.numbers.empty() ? nullptr : step.numbers.data());
        fixed(nullptr);
        operand(step.args.back());
      } else if (step.bound && !step.bound->calls.empty()) {
        const Py_ssize_t numel = given_at(step, step.args.size() - 1)->numel();
        for (Py_ssize_t from = 0; from < numel; from += kSmall) {
          for (size_t k = 0; k < step.program->code.size(); ++k) instruction(i, k, from, std::min(kSmall, numel - from));
        }
      } else {
        body_.calls.push_back({Call::AStep, i});
      }
    }
    if (split == body_.steps.size()) body_.split_call = body_.calls.size();
  }

 private:
  void fixed(const void* at) { body_.addresses.push_back(static_cast<char*>(const_cast<void*>(at))); }
  void address(int memory, Py_ssize_t offset) {
    Memory& m = body_.memories[static_cast<size_t>(memory)];
    if (in_arena(m)) return fixed(m.storage->data + offset);
    m.places.emplace_back(body_.addresses.size(), offset);
    fixed(nullptr);
  }
  void operand(int number, Py_ssize_t offset = 0) {
    const Operand& o = body_.operands[static_cast<size_t>(number)];
    address(o.memory, o.offset + offset);
  }
  void operand(const Value& v, Py_ssize_t offset = 0) { operand(v.operand, offset); }
  void block(size_t step, BlockFn block, Py_ssize_t n) {
    body_.calls.push_back({Call::Block, step, body_.addresses.size(), n, block});
  }

  void lanes(size_t i, const Strips& strips) {
    body_.calls.push_back({Call::Strips, i, body_.addresses.size()});
    for (const Strips::Lane& lane : strips.lanes) {
      if (lane.operand >= 0 && (lane.own < 0 || lane.is_one())) operand(lane.operand);
      else fixed(lane.numbers.data());
    }
  }

  void told(size_t i, const ToldCall& call) {
    if (call.moved) return;
    body_.calls.push_back({Call::Told, i, body_.addresses.size(), 0, nullptr, call.run, call.fixed.data()});
    for (const ToldCall::Place& p : call.places) p.memory < 0 ? fixed(nullptr) : address(p.memory, p.offset);
  }

  // Instruction k of a machine, for `numel` elements.
  void instruction(size_t i, size_t k, Py_ssize_t from, Py_ssize_t numel) {
    const Step& step = body_.steps[i];
    BoundMachine& b = *step.bound;
    const Instr& code = step.program->code[k];
    const Py_ssize_t offset = from * item_size(step.compute);
    const auto is_row = [&](size_t r) { return r < b.is_row.size() && b.is_row[r]; };
    const auto place = [&](size_t r) {
      if (b.registers[r] || r + 1 >= step.args.size()) fixed(b.registers[r]);
      else operand(step.args[r], offset);
    };
    if (is_row(code.a) || is_row(code.b) || is_row(code.c)) {
      const Py_ssize_t bytes = b.row * item_size(step.compute);
      const auto step_of = [&](size_t r) { return is_row(r) ? 0 : bytes; };
      b.rows.push_back(std::make_unique<BoundMachine::Rows>(
          BoundMachine::Rows{b.calls[k], numel / b.row, b.row, {step_of(code.a), step_of(code.b), step_of(code.c), bytes}}));
      body_.calls.push_back({Call::Told, i, body_.addresses.size(), 0, nullptr, run_rows, b.rows.back().get()});
    } else {
      block(i, b.calls[k], numel);
    }
    for (const size_t r : {code.a, code.b, code.c}) place(r);
    if (k + 1 == step.program->code.size()) operand(step.args.back(), offset);
    else place(code.dst);
  }

  Body& body_;
};

}  // namespace

int finish(Body* body) {
  for (const Memory& m : body->memories) body->made += m.origin == Memory::Made && m.first >= 0 ? m.nbytes : 0;
  join_sums(body);
  share_forms(body);
  find_strips(body);
  std::vector<size_t> places(body->memories.size());
  const Py_ssize_t total = static_cast<Py_ssize_t>(plan(&body->memories, &places));
  body->planned = static_cast<size_t>(total);
  Tensor* arena = new_tensor(DType::U8, 1, &total);
  if (!(body->arena = as_object(arena))) return -1;
  for (size_t i = 0; i < body->memories.size(); ++i) {
    Memory& m = body->memories[i];
    if (m.origin == Memory::There || m.first < 0) continue;
    char* data = in_arena(m) ? arena->data() + places[i] : nullptr;
    if (!(m.storage = foreign_storage(data, m.nbytes, true, Py_NewRef(body->arena)))) return -1;
  }
  for (Operand& o : body->operands) {
    Tensor* t = new_on_storage(hold(body->memories[o.memory].storage), o.dtype, o.ndim, o.dims.data(), o.dims.data() + o.ndim,
                               o.offset);
    if (!(o.tensor = as_object(t))) return -1;
    t->flags |= o.flags;
  }
  for (Step& step : body->steps) {
    for (const Value& v : step.args) {
      PyObject* o = given_of(*body, v);
      if (!o) return -1;
      step.given.push_back(o);
    }
    for (int m : step.makes) step.storages.push_back(body->memories[m].storage);
    if (step.kind == Step::Machine && step.told.empty()) step.bound = bound(body, step);
  }
  for (size_t i = 0; i < body->steps.size(); ++i) {
    if (body->steps[i].strips) bind_strips(body, i);
  }
  for (size_t i = 0; i < body->memories.size(); ++i) {
    Memory& m = body->memories[i];
    const bool other = m.origin != Memory::Made || m.fresh || m.saved || !m.contents.empty();
    if (!m.as && (m.first < 0 || !other)) continue;
    m.slot = static_cast<int>(body->others.size());
    body->others.push_back(static_cast<int>(i));
  }
  bind_numbers(body);
  Calls(body).make();
  return 0;
}

Storage* replayed_storage(size_t nbytes) {
  Planned* planned = tls.planned;
  if (!planned || planned->next == planned->end || (*planned->next)->nbytes != nbytes) return nullptr;
  return hold(*planned->next++);
}

namespace {

int run_machine_step(const Step& step) {
  const size_t n = step.given.size() - 1;
  const Tensor* out = given_at(step, n);
  if (!step.bound) {
    const Ref done(
        as_object(run_program_into(*step.program, step.compute, step.given.data(), static_cast<int>(n), given_at(step, n))));
    return done ? 0 : -1;
  }
  BoundMachine& b = *step.bound;
  for (size_t i = 0; i < n; ++i) {
    if (is_tensor(step.given[i])) b.operands[i].data = given_at(step, i)->data();
  }
  kernels().run_program(*step.program, step.compute, b.operands.data(), Strided{out->data(), out->dtype, out->strides()},
                        out->ndim(), out->sizes());
  return 0;
}

// As run_step, of a step that refuses the values. `done`: without an exception of its own.
int refused(const Step& step, bool done) {
  if (step.restarts) {  // an eager call says what is wrong with the values, or goes another way
    PyErr_Clear();
    return 1;
  }
  if (!done) return -1;
  PyErr_Format(PyExc_RuntimeError, "torch.compile: in a captured call, %s refused the values that it was given here:\n%s",
               step.name, site_text(step.site).c_str());
  return -1;
}

// As run_step.
int run_kernel_step(const Step& step) {
  Planned planned{step.storages.data(), step.storages.data() + step.storages.size()};
  tls.planned = &planned;
  const Ref done(step.function(step.self, step.given.data(), step.count, step.kwnames));
  tls.planned = nullptr;
  if (done && done.get() != Py_NotImplemented && planned.next == planned.end) {
    bool same = !step.answer || same_value(done.get(), step.answer);
    each_result(done.get(), [&](size_t i, Py_ssize_t elements) { same &= i < step.results.size() && step.results[i] == elements; });
    if (same) return 0;
  }
  return refused(step, static_cast<bool>(done));
}

// -1 with an exception; 1 where a value is another than it was.
int run_step(Step& step) {
  switch (step.kind) {
    case Step::Kernel: return run_kernel_step(step);
    case Step::Machine: return run_machine_step(step);
    case Step::Block: return 0;  // a call
    case Step::Copy: return copy_into(given_at(step, 1), given_at(step, 0));
    case Step::Check: return std::memcmp(given_at(step, 0)->data(), step.numbers.data(), step.numbers.size()) ? 1 : 0;
    case Step::Number: return run_number(step);
    case Step::Fill: std::memset(given_at(step, 0)->data(), step.byte, static_cast<size_t>(step.size)); return 0;
  }
  return 0;
}

bool same_layout(const Tensor* a, const Tensor* b) {
  return a->dtype == b->dtype && a->ndim() == b->ndim() && a->is_aligned() == b->is_aligned() &&
         same_sizes(2 * a->ndim(), a->sizes(), b->sizes());
}

// Whether a tensor may take the place of an argument, or of a gradient, of the captured run.
bool fits(const Tensor* t, const Tensor* was, bool has_graph) {
  constexpr uint32_t kSame = ~static_cast<uint32_t>(kCut | kCutReason | kSpecialView);
  return Py_TYPE(t) == TensorType && (t->flags & kSame) == (was->flags & kSame) && same_layout(t, was) &&
         static_cast<bool>(t->grad_fn) == has_graph && !t->hooks && (has_graph || !(t->base && requires_grad(t)));
}

class Replaying {
 public:
  explicit Replaying(Body* body) : body_(body), grad_(tls.grad_enabled) {
    body->busy = true;
    tls.grad_enabled = false;
    tls.capture = Capturing::Replays;
  }
  ~Replaying() {
    tls.capture = Capturing::Off;
    tls.grad_enabled = grad_;
    body_->busy = false;
  }
  Replaying(const Replaying&) = delete;
  Replaying& operator=(const Replaying&) = delete;

 private:
  Body* body_;
  bool grad_;
};

}  // namespace

namespace {

// What is run of a program: all, or one of two parts (Note [Two parts]).
struct Part {
  enum Kind : uint8_t { Whole, First, Second } kind;
  int begin, end;        // steps
  size_t from, to;       // outputs
  size_t n_given;        // arguments without saved memories
  size_t from_call, to_call;
};

Part part_of(const Body& body, Part::Kind kind) {
  const int n = static_cast<int>(body.steps.size());
  const size_t all = body.outputs.size(), calls = body.calls.size();
  if (kind == Part::First) return {kind, 0, body.split, 0, body.n_first, body.n_inputs, 0, body.split_call};
  if (kind == Part::Second)
    return {kind, body.split, n, body.n_first, all, body.n_inputs + body.n_incoming, body.split_call, calls};
  return {kind, 0, n, 0, all, body.n_inputs, 0, calls};
}

bool is_used(const Memory& m, const Part& part) {
  if (m.first < 0) return false;
  if (part.kind == Part::First) return m.first < part.end;
  return part.kind == Part::Whole || m.last >= part.begin;
}

// Whether the arguments, the gradients of leaves and the numbers are like those of the captured
// run; -1 with an exception.
int are_alike(Body& body, PyObject* const* args, const Part& part) {
  for (const int i : body.others) {
    const Memory& m = body.memories[static_cast<size_t>(i)];
    if (!m.as || (m.origin == Memory::Gradient && m.first < 0)) continue;
    if (m.origin == Memory::Input && static_cast<size_t>(m.number) >= part.n_given) continue;
    PyObject* o = m.origin == Memory::Input ? args[m.number] : as_object(as_tensor(body.leaves[m.number])->grad.peek());
    if (!o || !is_tensor(o)) return 0;
    // Of a run in two parts, guards say the rest.
    if (part.kind == Part::Whole ? !fits(as_tensor(o), m.as, m.has_graph) : !same_layout(as_tensor(o), m.as)) return 0;
  }
  if (part.kind == Part::Second) return 1;
  for (const Fixed& f : body.fixed) {
    PyObject* value = PyDict_GetItemWithError(f.dict, f.key);
    if (!value || !same_value(value, f.value)) return PyErr_Occurred() ? -1 : 0;
  }
  for (const Load& l : body.loads) {
    PyObject* value = PyDict_GetItemWithError(l.dict, l.key);
    if (value && l.item >= 0)
      value = PyTuple_CheckExact(value) && l.item < PyTuple_GET_SIZE(value) ? PyTuple_GET_ITEM(value, l.item) : nullptr;
    if (!value || !PyFloat_CheckExact(value)) return PyErr_Occurred() ? -1 : 0;
    Py_DECREF(std::exchange(body.steps[l.step].given[l.arg], Py_NewRef(value)));
  }
  for (Step* step : body.ahead) {
    if (run_number(*step)) return 0;
  }
  for (size_t i = 0; i < part.n_given; ++i) {
    const Storage* s = as_tensor(args[i])->storage();
    for (size_t k = 0; k < i; ++k) {
      if (as_tensor(args[k])->storage() == s) return 0;
    }
    for (const int k : body.others) {
      const Memory& m = body.memories[static_cast<size_t>(k)];
      if (m.origin == Memory::Gradient && m.first >= 0 && as_tensor(body.leaves[m.number])->grad.peek()->storage() == s) return 0;
    }
  }
  return 1;
}

// A program that runs: the storages that it holds, by memory. All are pinned, as steps may run
// without the GIL.
class Run {
 public:
  Run(Body& body, PyObject* const* args, const Part& part) : body_(body), args_(args), part_(part), storages_(body.others.size()) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Gives every memory its address. False with an exception.
  bool bind() {
    for (const int i : body_.others) {
      Memory& m = body_.memories[static_cast<size_t>(i)];
      if (!is_used(m, part_)) continue;
      if (m.origin == Memory::There) held(m).take(m.storage);
      if (m.origin == Memory::Input) show(i, as_tensor(args_[m.number]), m.as->offset());
      if (m.origin == Memory::Gradient) show(i, as_tensor(body_.leaves[m.number])->grad.peek(), m.as->offset());
      if (m.saved && part_.kind == Part::Second) continue;
      if (m.fresh || m.saved) {
        Storage* made = new_storage(m.nbytes);
        if (!made) return false;
        held(m).take(made);
        drop(made);
        m.storage->data = made->data;
      }
      if (!m.contents.empty()) std::memcpy(m.storage->data, m.contents.data(), m.contents.size());
    }
    if (part_.kind == Part::Second) {
      for (size_t k = 0; k < body_.saved.size(); ++k) show(body_.saved[k], as_tensor(args_[part_.n_given + k]), 0);
    }
    for (const int i : body_.others) {
      Memory& m = body_.memories[static_cast<size_t>(i)];
      if (!is_used(m, part_) || m.storage->data == m.bound) continue;
      m.bound = m.storage->data;
      for (const auto& [at, offset] : m.places) body_.addresses[at] = m.bound + offset;
    }
    return true;
  }

  // Of an argument, or of a gradient as the run began.
  const Storage* given(const Memory& m) const { return storages_[static_cast<size_t>(m.slot)].storage(); }

  PyObject* outputs() {
    Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(part_.to - part_.from)));
    for (size_t i = part_.from; tuple && i < part_.to; ++i) {
      PyObject* o = output(body_.outputs[i]);
      if (!o) return nullptr;
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i - part_.from), o);
    }
    return tuple.release();
  }

  // What the second part needs of the first: tensors of bytes.
  PyObject* saved() {
    Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(body_.saved.size())));
    for (size_t k = 0; tuple && k < body_.saved.size(); ++k) {
      Storage* s = held(body_.memories[static_cast<size_t>(body_.saved[k])]).storage();
      const Py_ssize_t n = static_cast<Py_ssize_t>(s->nbytes), step = 1;
      Tensor* t = new_on_storage(hold(s), DType::U8, 1, &n, &step, 0);
      if (!t) return nullptr;
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(k), as_object(t));
    }
    return tuple.release();
  }

  // What else is there after the run: gradients of leaves, counts of writes. False with an
  // exception.
  bool leave(PyObject* outputs) {
    if (part_.kind == Part::Second) return true;
    for (const Result& g : body_.gradients) {
      Tensor* grad = g.operand < 0  ? nullptr
                     : g.output < 0 ? made_at(g.operand)
                                    : as_tensor(Py_NewRef(PyTuple_GET_ITEM(outputs, g.output)));
      if (g.operand >= 0 && !grad) return false;
      note_gradient();
      if (grad) as_tensor(body_.leaves[g.leaf])->grad.set(grad);
      else as_tensor(body_.leaves[g.leaf])->grad.clear();
    }
    count_writes();
    return !PyErr_Occurred();
  }

  void count_writes() {
    for (const auto& [tensor, by] : body_.versions) {
      for (uint32_t k = 0; k < by; ++k) bump_version(as_tensor(tensor));
    }
    for (const auto& [number, by] : body_.input_versions) {
      for (uint32_t k = 0; k < by; ++k) bump_version(as_tensor(args_[number]));
    }
  }

 private:
  Pinned& held(const Memory& m) { return storages_[static_cast<size_t>(m.slot)]; }

  void show(int memory, const Tensor* t, Py_ssize_t offset) {
    const Memory& m = body_.memories[static_cast<size_t>(memory)];
    held(m).take(t->storage());
    m.storage->data = t->data() - offset;
  }

  Tensor* made_at(int operand) {
    const Operand& o = body_.operands[operand];
    return new_on_storage(hold(held(body_.memories[static_cast<size_t>(o.memory)]).storage()), o.dtype, o.ndim, o.dims.data(),
                          o.dims.data() + o.ndim, o.offset);
  }

  PyObject* output(const Output& o) {
    if (o.kind == Output::Argument) return Py_NewRef(args_[o.number]);
    if (o.kind == Output::Kept) return Py_NewRef(o.object);
    if (o.kind == Output::View) return as_object(view(o));
    Tensor* t = made_at(o.operand);
    const Tensor* was = as_tensor(o.object);
    if (!t) return nullptr;
    t->flags |= was->flags & kLazy;
    inherit_cut(t, was);
    if (part_.kind == Part::Whole) {
      t->output_nr = was->output_nr;
      t->grad_fn.set(was->grad_fn.own().release());
    }
    return as_object(t);
  }

  Tensor* view(const Output& o) {
    Tensor* source = as_tensor(o.number < 0 ? o.object : args_[o.number]);
    const Operand& at = body_.operands[o.operand];
    const Tensor* as = body_.memories[at.memory].as;
    const Py_ssize_t offset = as ? at.offset - as->offset() + source->offset() : at.offset;
    Owned<Tensor> t(new_on_storage(hold(source->storage()), at.dtype, at.ndim, at.dims.data(), at.dims.data() + at.ndim, offset));
    if (!t) return nullptr;
    t->flags |= at.flags;
    if (o.is_view) return become_view(t.release(), source);
    VersionCounter* v = shared_version(source);
    if (!v) return nullptr;
    hold(v);
    t->version = v;
    return t.release();
  }

  Body& body_;
  PyObject* const* args_;
  const Part part_;
  std::vector<Pinned> storages_;
};

// All that a run writes and draws before its last comparison, as it was at the start.
class Start {
 public:
  Start(const Body& body, const Run& run) {
    if (body.last_check < 0) return;
    for (int i : body.put_back) {
      const Memory& m = body.memories[static_cast<size_t>(i)];
      const Storage* s = m.origin == Memory::There ? m.storage : run.given(m);
      if (!s) continue;  // of a part that does not use it
      memories_.emplace_back(s->data, std::vector<char>(s->data, s->data + s->nbytes));
    }
    for (PyObject* o : body.generators) {
      Generator* g = state_of(o);
      if (g) states_.emplace_back(g, *g);
    }
  }
  void put_back() {
    for (auto& [data, bytes] : memories_) std::copy(bytes.begin(), bytes.end(), data);  // of which some are empty
    for (auto& [g, state] : states_) *g = state;
  }

 private:
  static Generator* state_of(PyObject* o) {
    const Ref state(PyCapsule_CheckExact(o) ? Py_NewRef(o) : PyObject_GetAttrString(o, "_state"));
    if (state && PyCapsule_CheckExact(state.get()))
      return static_cast<Generator*>(PyCapsule_GetPointer(state.get(), PyCapsule_GetName(state.get())));
    PyErr_Clear();
    return nullptr;
  }

  std::vector<std::pair<char*, std::vector<char>>> memories_;
  std::vector<std::pair<Generator*, Generator>> states_;
};

// NotImplemented where this cannot be a replay of the captured run.
PyObject* run_part(PyObject* self, PyObject* const* args, Py_ssize_t n, Part::Kind kind) {
  Body& body = *reinterpret_cast<Captured*>(self)->body;
  const Part part = part_of(body, kind);
  const size_t n_saved = kind == Part::Second ? body.saved.size() : 0;
  if (body.busy || tls.capture != Capturing::Off || (observed_closely() && kind != Part::Second) ||
      (body.split < 0) != (kind == Part::Whole))
    Py_RETURN_NOTIMPLEMENTED;
  if (static_cast<size_t>(n) != part.n_given + n_saved) Py_RETURN_NOTIMPLEMENTED;
  const int alike = are_alike(body, args, part);
  if (alike <= 0) return alike < 0 ? nullptr : Py_NewRef(Py_NotImplemented);
  Run run(body, args, part);
  if (!run.bind()) return nullptr;
  Start start(body, run);
  int stopped;
  {
    const Replaying replaying(&body);
    stopped = 0;
    for (size_t i = part.from_call; i < part.to_call && !stopped; ++i) {
      const Call& call = body.calls[i];
      char* const* at = body.addresses.data() + call.at;
      switch (call.kind) {
        case Call::AStep: stopped = run_step(body.steps[call.step]); break;
        case Call::Strips: run_strips(*body.steps[call.step].strips, at); break;
        case Call::Block: call.block(at[0], at[1], at[2], at[3], call.n); break;
        case Call::Told: stopped = call.told(call.fixed, at) ? 0 : refused(body.steps[call.step], true); break;
      }
    }
  }
  if (stopped > 0) start.put_back();
  if (stopped < 0) run.count_writes();  // too many rather than too few
  if (stopped) return stopped < 0 ? nullptr : Py_NewRef(Py_NotImplemented);
  Ref outputs(run.outputs());
  if (!outputs || !run.leave(outputs.get())) return nullptr;
  ++body.replays;
  if (kind != Part::First) return outputs.release();
  const Ref saved(run.saved());
  return saved ? PyTuple_Pack(2, outputs.get(), saved.get()) : nullptr;
}

PyObject* replay(PyObject* self, PyObject* const* args, Py_ssize_t n) { return run_part(self, args, n, Part::Whole); }
// call(guards, made, args, kwargs): match and replay. `made`: of the outputs, the number of the
// result; None: all are the result; or what makes it of them.
PyObject* call(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  if (n != 4) return PyErr_Format(PyExc_TypeError, "call(guards, made, args, kwargs)");
  const Ref inputs(matched_inputs(args[0], args[2], args[3]));
  if (!inputs || inputs.get() == Py_None) return inputs ? Py_NewRef(Py_NotImplemented) : nullptr;
  const Body* body = reinterpret_cast<Captured*>(self)->body;
  const bool is_whole = body->split < 0;
  const uint64_t before = changes.gradients;
  Ref outputs(is_whole ? run_part(self, PySequence_Fast_ITEMS(inputs.get()), PyTuple_GET_SIZE(inputs.get()), Part::Whole)
                       : call_with_node(self, inputs.get(), args[2], args[3]));
  if (is_whole && outputs && outputs.get() != Py_NotImplemented)
    replayed(args[0], before, body->gradients.size(), body->n_own_gradients);
  if (!outputs || outputs.get() == Py_NotImplemented || args[1] == Py_None) return outputs.release();
  if (!PyLong_CheckExact(args[1])) return PyObject_CallOneArg(args[1], outputs.get());
  return PySequence_GetItem(outputs.get(), PyLong_AsSsize_t(args[1]));
}

}  // namespace

PyObject* replay_first(PyObject* self, PyObject* const* args, Py_ssize_t n) { return run_part(self, args, n, Part::First); }
PyObject* replay_second(PyObject* self, PyObject* const* args, Py_ssize_t n) { return run_part(self, args, n, Part::Second); }

// ---------------------------------------------------------------- the object

namespace {

void clear_value(Value* v) {
  Py_CLEAR(v->object);
  for (Value& item : v->items) clear_value(&item);
}

template <class F>
int visit_value(const Value& v, const F& f) {
  int r = v.object ? f(v.object) : 0;
  for (size_t i = 0; !r && i < v.items.size(); ++i) r = visit_value(v.items[i], f);
  return r;
}

int captured_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Body* body = reinterpret_cast<Captured*>(self)->body;
  if (!body) return 0;
  const auto f = [&](PyObject* o) { return visit(o, arg); };
  for (const Step& step : body->steps) {
    for (const Value& v : step.args) {
      if (const int r = visit_value(v, f)) return r;
    }
  }
  for (const Output& o : body->outputs) Py_VISIT(o.object);
  for (PyObject* leaf : body->leaves) Py_VISIT(leaf);
  Py_VISIT(body->two.graph);
  for (const TwoParts::Leaf& leaf : body->two.leaves) Py_VISIT(leaf.tensor);
  for (const auto* tensors : {&body->two.reads, &body->two.kept}) {
    for (PyObject* o : *tensors) Py_VISIT(o);
  }
  for (PyObject* o : body->generators) Py_VISIT(o);
  for (const auto& [tensor, by] : body->versions) Py_VISIT(tensor);
  for (const Load& l : body->loads) {
    Py_VISIT(l.dict);
    Py_VISIT(l.key);
  }
  for (const Fixed& x : body->fixed) {
    Py_VISIT(x.dict);
    Py_VISIT(x.key);
    Py_VISIT(x.value);
  }
  return 0;
}

int captured_clear(PyObject* self) {
  Body* body = std::exchange(reinterpret_cast<Captured*>(self)->body, nullptr);
  if (body) clear_body(body);
  delete body;
  return 0;
}

void captured_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  captured_clear(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

// load(dict, key, item, number): what the run read there is read anew in each replay. How many
// arguments it is.
PyObject* load(PyObject* self, PyObject* args) {
  PyObject *dict, *key, *number;
  Py_ssize_t item;
  if (!PyArg_ParseTuple(args, "O!OnO", &PyDict_Type, &dict, &key, &item, &number)) return nullptr;
  Body& body = *reinterpret_cast<Captured*>(self)->body;
  long count = 0;
  for (const Step& step : body.steps) {
    for (const Value& v : step.args) {
      if (is_inside(v, number)) return PyLong_FromLong(0);
    }
  }
  for (size_t i = 0; i < body.steps.size(); ++i) {
    const Step& step = body.steps[i];
    for (size_t k = 0; k < step.given.size(); ++k) {
      if (step.given[k] != number) continue;
      body.loads.push_back({Py_NewRef(dict), Py_NewRef(key), item, static_cast<int>(i), static_cast<int>(k)});
      ++count;
    }
  }
  return PyLong_FromLong(count);
}

// fix(dict, key, value): a replay needs dict[key] to be the same.
PyObject* fix(PyObject* self, PyObject* args) {
  PyObject *dict, *key, *value;
  if (!PyArg_ParseTuple(args, "O!OO", &PyDict_Type, &dict, &key, &value)) return nullptr;
  reinterpret_cast<Captured*>(self)->body->fixed.push_back({Py_NewRef(dict), Py_NewRef(key), Py_NewRef(value)});
  Py_RETURN_NONE;
}

PyObject* replays(PyObject* self, PyObject*) { return PyLong_FromSize_t(reinterpret_cast<Captured*>(self)->body->replays); }

// describe(): of each step (name, line as text, how many steps that begin with it run as strips),
// the bytes planned, the bytes without a plan.
PyObject* describe(PyObject* self, PyObject*) {
  const Body& body = *reinterpret_cast<Captured*>(self)->body;
  Ref steps(PyList_New(0));
  for (const Step& step : body.steps) {
    std::string name = step.name;
    const char* before = ": ";
    const auto add = [&](size_t op) { name.append(std::exchange(before, ", ")).append(instructions()[op].name); };
    for (const Instr& i : step.kind == Step::Machine ? step.program->code : std::vector<Instr>()) add(i.op);
    for (size_t op = 0; step.kind == Step::Block && op < instructions().size(); ++op) {
      const auto is = [&](DType type) { return kernels().block(static_cast<int>(op), type) == step.block; };
      if (is(DType::F32) || is(DType::F64)) add(op);
    }
    Ref line(Py_BuildValue("(ssi)", name.c_str(), site_text(step.site).c_str(), step.strips ? step.strips->count : 0));
    if (!steps || !line || PyList_Append(steps.get(), line.get()) < 0) return nullptr;
  }
  return Py_BuildValue("(Onn)", steps.get(), static_cast<Py_ssize_t>(body.planned), static_cast<Py_ssize_t>(body.made));
}

}  // namespace

void clear_body(Body* body) {
  for (Step& step : body->steps) {
    for (PyObject*& o : step.given) Py_CLEAR(o);
    for (Value& v : step.args) clear_value(&v);
    Py_CLEAR(step.kwnames);
    Py_CLEAR(step.answer);
    forget_site(&step.site);
  }
  for (Operand& o : body->operands) Py_CLEAR(o.tensor);
  for (Memory& m : body->memories) {
    Py_CLEAR(m.as);
    drop(std::exchange(m.storage, nullptr));
  }
  for (Output& o : body->outputs) Py_CLEAR(o.object);
  for (PyObject*& leaf : body->leaves) Py_CLEAR(leaf);
  Py_CLEAR(body->two.graph);
  for (TwoParts::Leaf& leaf : body->two.leaves) Py_CLEAR(leaf.tensor);
  for (auto* tensors : {&body->two.reads, &body->two.kept}) {
    for (PyObject*& o : *tensors) Py_CLEAR(o);
  }
  for (PyObject*& o : body->generators) Py_CLEAR(o);
  for (auto& version : body->versions) Py_CLEAR(version.first);
  for (Load& l : body->loads) {
    Py_CLEAR(l.dict);
    Py_CLEAR(l.key);
  }
  for (Fixed& x : body->fixed) {
    Py_CLEAR(x.dict);
    Py_CLEAR(x.key);
    Py_CLEAR(x.value);
  }
  Py_CLEAR(body->arena);
}

int init_capture_type(PyObject* module);
int init_capture_type(PyObject* module) {
  static PyMethodDef methods[] = {
      {"replay", method_of<replay>(), METH_FASTCALL, "Runs the steps on other arguments: a tuple of outputs, or NotImplemented."},
      {"call", method_of<call>(), METH_FASTCALL, "Replays a call that is like the captured one: its result, or NotImplemented."},
      {"first", method_of<replay_first>(), METH_FASTCALL, "The first of two parts: its outputs, and what the second needs."},
      {"take", method_of<captured_take>(), METH_VARARGS, "A run in two parts is told what its node needs to know."},
      {"node", method_of<captured_node>(), METH_VARARGS, "The outputs of a first part, with the node of the call."},
      {"places", method_of<captured_places>(), METH_O, "Bytes that are others when what a call read was written."},
      {"load", method_of<load>(), METH_VARARGS, "A number of a dict is read anew in each replay: how many arguments it is."},
      {"fix", method_of<fix>(), METH_VARARGS, "A replay needs a value of a dict to be the same."},
      {"replays", method_of<replays>(), METH_NOARGS, "How many replays came to their end."},
      {"describe", method_of<describe>(), METH_NOARGS, "The steps, the bytes planned, and the bytes without a plan."},
      {nullptr, nullptr, 0, nullptr}};
  PyType_Slot slots[] = {{Py_tp_dealloc, slot_of<captured_dealloc>()},
                         {Py_tp_traverse, slot_of<captured_traverse>()},
                         {Py_tp_clear, slot_of<captured_clear>()},
                         {Py_tp_methods, methods},
                         {Py_tp_doc, const_cast<char*>("A recorded run, which can be replayed.")},
                         {0, nullptr}};
  PyType_Spec spec = {"rushlight._core.Captured", sizeof(Captured), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  CapturedType = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
  return CapturedType && PyModule_AddObjectRef(module, "Captured", as_object(CapturedType)) == 0 ? 0 : -1;
}

}  // namespace rushlight
