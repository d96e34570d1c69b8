// Products of a replay: sums that they add themselves to, and forms that several of them read (Notes
// [Sums] and [Forms], program.h).
#include <algorithm>
#include <numeric>

#include "core/program.h"

namespace rushlight {

namespace {

class Sums {
 public:
  explicit Sums(Body* body) : body_(*body), is_(body->memories.size()) { std::iota(is_.begin(), is_.end(), 0); }

  void join() {
    bool any = false;
    for (size_t i = 0; i < body_.steps.size(); ++i) {
      const Step& step = body_.steps[i];
      if (!is_sum(step)) continue;
      const DType type = body_.operands[static_cast<size_t>(step.args[2].operand)].dtype;
      const int a = whole(step, 0), b = whole(step, 1), out = whole(step, 2);
      any |= join(static_cast<int>(i), b, a, out, type);  // of two NaNs the second is the sum
    }
    if (!any) return;
    for (Operand& o : body_.operands) o.memory = now(o.memory);
    for (Step& step : body_.steps) {
      for (int& m : step.makes) m = now(m);
      for (ToldCall& call : step.told) {
        for (ToldCall::Place& p : call.places) p.memory = p.memory < 0 ? -1 : now(p.memory);
      }
    }
  }

 private:
  // The memory in whose place another is.
  int now(int memory) {
    int& is = is_[static_cast<size_t>(memory)];
    return is == memory ? memory : is = now(is);
  }
  Memory& at(int memory) { return body_.memories[static_cast<size_t>(memory)]; }

  bool is_sum(const Step& step) const {
    if (step.args.size() != 3) return false;
    if (step.kind == Step::Block) return step.block == add_[0] || step.block == add_[1];
    const bool one = step.kind == Step::Machine && step.program->code.size() == 1 && step.program->code[0].op == opcode_;
    return one && step.compute == body_.operands[static_cast<size_t>(step.args[2].operand)].dtype;
  }

  // The memory that an argument of a sum shows from end to end, as the result shows its own; or -1.
  int whole(const Step& step, size_t k) {
    if (step.args[k].operand < 0) return -1;
    const Operand &o = body_.operands[static_cast<size_t>(step.args[k].operand)],
                  &out = body_.operands[static_cast<size_t>(step.args[2].operand)];
    const int memory = now(o.memory);
    Py_ssize_t bytes = item_size(o.dtype);
    for (int d = 0; d < o.ndim; ++d) bytes *= o.dims[d];
    const bool all = o.offset == 0 && at(memory).nbytes == static_cast<size_t>(bytes) && o.dims == out.dims && o.dtype == out.dtype;
    return all && at(memory).contents.empty() ? memory : -1;
  }

  bool is_own(int memory) { return at(memory).origin == Memory::Made && !at(memory).fresh && !at(memory).saved; }

  // Step i writes the sum of `product` and `start`, of which nothing else is read, into `out`: the
  // product is added to `start`, in the memory of `out`.
  bool join(int i, int product, int start, int out, DType type) {
    if (product < 0 || start < 0 || out < 0 || product == start || product == out) return false;
    if (at(product).last != i || !is_own(product)) return false;
    const bool moves = start != out;
    if (moves && (at(out).first != i || at(out).origin != Memory::Made || at(start).last != i || !is_own(start))) return false;
    const int first = at(product).first;
    std::vector<ToldCall>& told = body_.steps[static_cast<size_t>(first)].told;
    const auto call = std::find_if(told.begin(), told.end(), [&](const ToldCall& c) {
      return c.adds && !c.moved && c.dtype == type && now(c.places.back().memory) == product;
    });
    if (call == told.end()) return false;
    std::vector<int> reads;
    for (auto p = call->places.begin(); p + 1 != call->places.end(); ++p) {
      if (p->memory >= 0) reads.push_back(now(p->memory));
    }
    const auto is_read = [&](int m) { return std::find(reads.begin(), reads.end(), m) != reads.end(); };
    bool fits = !is_read(start) && !is_read(product);
    for (int k = first + 1; k < i && fits; ++k) {
      const Step& between = body_.steps[static_cast<size_t>(k)];
      each_memory(body_, between, [&](int memory, bool written) {
        const int m = now(memory);
        fits &= m != product && !((written || between.has_effects) && is_read(m));
      });
    }
    if (!fits) return false;
    for (const int m : reads) at(m).last = std::max(at(m).last, i);
    ToldCall added = *call;
    call->moved = true;
    added.run = std::exchange(added.adds, nullptr);
    added.places.back().memory = out;
    body_.steps[static_cast<size_t>(i)].told.push_back(std::move(added));
    at(product).first = -1;
    is_[static_cast<size_t>(product)] = out;
    if (!moves) return true;
    at(out).first = std::exchange(at(start).first, -1);
    at(out).first_write = at(start).first_write;
    is_[static_cast<size_t>(start)] = out;
    return true;
  }

  Body& body_;
  std::vector<int> is_;
  const int opcode_ = opcode("add");
  const BlockFn add_[2] = {kernels().block(opcode_, DType::F32), kernels().block(opcode_, DType::F64)};
};

// Forms that were told of, while nothing writes what they are made of.
class Forms {
 public:
  explicit Forms(Body* body) : body_(*body) {}

  void share() {
    for (size_t i = 0; i < body_.steps.size(); ++i) {
      Step& step = body_.steps[i];
      if (static_cast<int>(i) == body_.split) forms_.clear();
      for (size_t k = 0; k < step.told.size(); ++k) {
        if (step.told[k].form.make && !step.told[k].moved) use(i, k);
      }
      if (forms_.empty()) continue;
      each_memory(body_, step, [&](int memory, bool written) {
        if (written || step.has_effects) std::erase_if(forms_, [&](const Form& f) { return f.of.memory == memory; });
      });
    }
    for (auto& [step, call] : makers_) {
      std::vector<ToldCall>& told = body_.steps[step].told;
      told.insert(told.begin(), std::move(call));
    }
  }

 private:
  struct Form {
    size_t step, call;  // the first that uses it
    ToldCall::Place of;
    int memory;  // of the form, or -1: the first use is the only one
  };

  void use(size_t step, size_t k) {
    const ToldCall& call = body_.steps[step].told[k];
    const auto same = std::find_if(forms_.begin(), forms_.end(), [&](const Form& f) {
      const ToldCall& first = body_.steps[f.step].told[f.call];
      return f.of.memory == call.places[1].memory && f.of.offset == call.places[1].offset && first.form.make == call.form.make &&
             first.form.fixed == call.form.fixed;
    });
    if (same == forms_.end()) return forms_.push_back({step, k, call.places[1], -1});
    if (same->memory < 0) {
      Memory made;
      made.first = made.first_write = static_cast<int>(same->step);
      made.nbytes = call.form.size;
      made.written = made.changed = true;
      same->memory = static_cast<int>(body_.memories.size());
      body_.memories.push_back(std::move(made));
      makers_.emplace_back(same->step,
                           ToldCall{call.form.make, nullptr, call.dtype, call.form.fixed, {same->of, {same->memory, 0}}});
      read(same->step, same->call, same->memory);
    }
    read(step, k, same->memory);
  }

  void read(size_t step, size_t k, int form) {
    ToldCall& call = body_.steps[step].told[k];
    call.fixed = call.form.with;
    call.places[1] = {form, 0};
    Memory& m = body_.memories[static_cast<size_t>(form)];
    m.last = m.last_read = static_cast<int>(step);
  }

  Body& body_;
  std::vector<Form> forms_;
  std::vector<std::pair<size_t, ToldCall>> makers_;  // by the step before whose work they come
};

}  // namespace

void share_forms(Body* body) { Forms(body).share(); }
void join_sums(Body* body) { Sums(body).join(); }

}  // namespace rushlight
