// Large steps that compute element by element, run strip by strip (Note [Strips], program.h).
#include <algorithm>
#include <array>
#include <cstring>

#include "core/layout.h"
#include "core/program.h"

namespace rushlight {

namespace {

constexpr Py_ssize_t kStrip = 1024;       // elements, of arrays that the second cache holds
constexpr Py_ssize_t kOwn = 48 << 10;     // bytes on the stack for what only the strips use
constexpr Py_ssize_t kLongStrip = 2048;   // of larger ones
constexpr Py_ssize_t kCached = 1 << 15;   // elements of an array that the second cache holds, with others
constexpr size_t kFar = 32;               // so many other steps between two of a group of larger ones

Py_ssize_t numel_of(const Operand& o) {
  Py_ssize_t n = 1;
  for (int d = 0; d < o.ndim; ++d) n *= o.dims[d];
  return n;
}

// From one element to the next: the item size, or 0 where all are one. -1 for other layouts.
Py_ssize_t advance_of(const Operand& o, Py_ssize_t numel) {
  const Py_ssize_t *sizes = o.dims.data(), *strides = sizes + o.ndim, n = numel_of(o);
  Py_ssize_t step = item_size(o.dtype);
  bool rows = n == numel, one = true;
  for (int d = o.ndim - 1; d >= 0; --d) {
    if (sizes[d] == 1) continue;
    rows &= strides[d] == step;
    one &= strides[d] == 0;
    step *= sizes[d];
  }
  return rows ? item_size(o.dtype) : (one ? 0 : -1);
}

// The elements of a step that can run in strips, else 0.
Py_ssize_t size_in_strips(const Body& body, const Step& step) {
  if (step.kind != Step::Machine && step.kind != Step::Block && step.kind != Step::Fill) return 0;
  const Operand& out = body.operands[static_cast<size_t>(step.args.back().operand)];
  const Py_ssize_t numel = numel_of(out);
  if (numel <= kStrip || advance_of(out, numel) <= 0 || body.memories[static_cast<size_t>(out.memory)].origin != Memory::Made)
    return 0;
  if (!step.numbers.empty() || !step.told.empty() || (step.kind == Step::Fill && step.size != numel * item_size(out.dtype)))
    return 0;
  for (size_t k = 0; k + 1 < step.args.size(); ++k) {
    const Value& v = step.args[k];
    if (v.is_list) return 0;
    if (v.operand >= 0 && advance_of(body.operands[static_cast<size_t>(v.operand)], numel) < 0) return 0;
    const bool number = v.operand < 0 && (PyFloat_CheckExact(v.object) || PyLong_CheckExact(v.object));
    if (v.operand < 0 && (!number || (step.compute != DType::F32 && step.compute != DType::F64))) return 0;
    if (number && PyFloat_AsDouble(v.object) == -1 && PyErr_Occurred()) return PyErr_Clear(), 0;
  }
  return numel;
}

// A group while it is found, and the steps between its own: some go before it, others
// go after.
class Group {
 public:
  Group(const Body& body, Py_ssize_t numel) : body_(body), numel_(numel), uses_(body.memories.size()) {}

  // Adds a step that can run in strips; false where it needs what comes after, or memory in another
  // way than the others.
  bool join(size_t i) {
    bool fits = true;
    each_operand(body_.steps[i], [&](int operand, bool written) {
      const Operand& o = body_.operands[static_cast<size_t>(operand)];
      const Use& u = uses_[static_cast<size_t>(o.memory)];
      fits &= !u.written_after && !(written && u.read_after);
      const bool alike = u.offset == o.offset && u.advance == advance_of(o, numel_);
      if (u.read || u.written) fits &= !(written || u.written) || (alike && !u.mixed);
    });
    if (!fits) return false;
    each_operand(body_.steps[i], [&](int operand, bool written) {
      const Operand& o = body_.operands[static_cast<size_t>(operand)];
      Use& u = uses_[static_cast<size_t>(o.memory)];
      const Py_ssize_t advance = advance_of(o, numel_);
      u.mixed |= (u.read || u.written) && (u.offset != o.offset || u.advance != advance);
      u.offset = o.offset, u.advance = advance;
      (written ? u.written : u.read) = true;
    });
    steps.push_back(i);
    return true;
  }

  void pass(size_t i) {
    bool free = true;
    const auto look = [&](int memory, bool written) {
      const Use& u = uses_[static_cast<size_t>(memory)];
      free &= !u.written && !u.written_after && !(written && (u.read || u.read_after));
    };
    each_memory(body_, body_.steps[i], look);
    (free ? before : after).push_back(i);
    if (free) return;
    each_memory(body_, body_.steps[i], [&](int memory, bool written) {
      Use& u = uses_[static_cast<size_t>(memory)];
      (written ? u.written_after : u.read_after) = true;
    });
  }

  // Whether nothing may move across a step.
  bool is_border(size_t i) const {
    const Step& step = body_.steps[i];
    bool border = step.kind == Step::Check || (step.kind == Step::Number && !step.ahead) || step.has_effects;
    each_memory(body_, step, [&](int memory, bool written) {
      border |= written && body_.memories[static_cast<size_t>(memory)].origin != Memory::Made;
    });
    return border;
  }

  std::vector<size_t> steps, before, after;

 private:
  struct Use {
    Py_ssize_t offset = 0, advance = 0;
    bool read = false, written = false, mixed = false;  // by the group
    bool read_after = false, written_after = false;
  };
  const Body& body_;
  const Py_ssize_t numel_;
  std::vector<Use> uses_;
};

// Each memory of the group's own has room for a strip, as long as it is used. `others`: memories
// that the steps between use.
void give_rooms(Body* body, const Group& group, const std::vector<bool>& others, Strips* strips) {
  const int first = static_cast<int>(group.steps.front()), last = static_cast<int>(group.steps.back());
  struct Room {
    Py_ssize_t item, at;
    int until;
  };
  std::vector<Room> rooms;
  Py_ssize_t bytes = 0;
  std::vector<std::vector<int>> used(body->memories.size());
  for (int k = 0; k < strips->count; ++k)
    each_operand(body->steps[group.steps[static_cast<size_t>(k)]],
                 [&](int o, bool) { used[static_cast<size_t>(body->operands[static_cast<size_t>(o)].memory)].push_back(k); });
  strips->own.assign(body->memories.size(), -1);
  for (size_t i = 0; i < body->memories.size(); ++i) {
    const Memory& m = body->memories[i];
    strips->ends.push_back(m.origin == Memory::Made && !m.fresh && !m.saved && m.last <= last && !others[i]);
  }
  for (int k = 0; k < strips->count; ++k) {
    const Step& step = body->steps[group.steps[static_cast<size_t>(k)]];
    const Operand& out = body->operands[static_cast<size_t>(step.args.back().operand)];
    const size_t number = static_cast<size_t>(out.memory);
    Memory& m = body->memories[number];
    if (m.first < first || m.last > last || m.fresh || m.saved || others[number] || !m.contents.empty() || strips->own[number] >= 0)
      continue;
    const Py_ssize_t item = item_size(out.dtype);
    auto room = std::find_if(rooms.begin(), rooms.end(), [&](const Room& r) { return r.item == item && r.until < k; });
    if (room == rooms.end()) {
      if (bytes + item * strips->size > kOwn) continue;
      room = rooms.insert(rooms.end(), {item, bytes, 0});
      bytes += item * strips->size;
    }
    room->until = used[number].back();
    strips->own[number] = room->at;
    m.in_strips = true;
  }
  strips->own_bytes = bytes;
}

// Puts the steps of a group beside each other. Memories that are used meanwhile are used from the
// first step to the last; memories that only the group uses have no place in the program.
void arrange(Body* body, const Group& group, Py_ssize_t numel) {
  const int first = static_cast<int>(group.steps.front()), last = static_cast<int>(group.steps.back());
  std::vector<size_t> order;
  for (const std::vector<size_t>* part : {&group.before, &group.steps, &group.after})
    for (const size_t i : *part)
      if (static_cast<int>(i) <= last) order.push_back(i);
  std::vector<bool> others(body->memories.size());
  for (const std::vector<size_t>* part : {&group.before, &group.after}) {
    for (const size_t i : *part) {
      if (static_cast<int>(i) > last) continue;
      each_memory(*body, body->steps[i], [&](int memory, bool) { others[static_cast<size_t>(memory)] = true; });
    }
  }
  auto strips = std::make_unique<Strips>();
  strips->numel = numel;
  strips->size = numel > kCached ? kLongStrip : kStrip;
  strips->count = static_cast<int>(group.steps.size());
  give_rooms(body, group, others, strips.get());
  for (Memory& m : body->memories) {
    if (m.first >= first && m.first <= last) m.first = first;
    if (m.last >= first && m.last <= last) m.last = last;
  }
  std::vector<Step> moved;
  for (const size_t i : order) moved.push_back(std::move(body->steps[i]));
  std::move(moved.begin(), moved.end(), body->steps.begin() + first);
  const auto inside = [&](size_t i) { return static_cast<int>(i) <= last; };
  const size_t at = static_cast<size_t>(first) +
                    static_cast<size_t>(std::count_if(group.before.begin(), group.before.end(), inside));
  body->steps[at].strips = std::move(strips);
}

}  // namespace

void find_strips(Body* body) {
  const size_t n = body->steps.size();
  for (size_t i = 0; i < n; ++i) {
    if (const Strips* made = body->steps[i].strips.get()) {
      i += static_cast<size_t>(made->count) - 1;
      continue;
    }
    const Py_ssize_t numel = size_in_strips(*body, body->steps[i]);
    if (!numel) continue;
    const size_t far = numel > kCached ? kFar : 1;
    Group group(*body, numel);
    group.join(i);
    const size_t end = body->split >= 0 && i < static_cast<size_t>(body->split) ? static_cast<size_t>(body->split) : n;
    for (size_t k = i + 1; k < end && k <= group.steps.back() + far && !body->steps[k].strips && !group.is_border(k); ++k) {
      if (size_in_strips(*body, body->steps[k]) != numel || !group.join(k)) group.pass(k);
    }
    if (group.steps.size() < 2) continue;
    arrange(body, group, numel);
    --i;  // what is between the steps of a group may be one, too
  }
}

namespace {

// The lane like this one, which is added where there is none.
uint32_t lane_like(const Body& body, Strips* strips, Strips::Lane lane) {
  const auto place = [&](int operand) { return &body.operands[static_cast<size_t>(operand)]; };
  const auto same = std::find_if(strips->lanes.begin(), strips->lanes.end(), [&](const Strips::Lane& l) {
    const bool there = l.operand == lane.operand ||
                       (l.operand >= 0 && lane.operand >= 0 && place(l.operand)->memory == place(lane.operand)->memory &&
                        place(l.operand)->offset == place(lane.operand)->offset);
    return there && l.dtype == lane.dtype && l.advance == lane.advance && (l.own == lane.own || lane.is_one()) &&
           l.numbers == lane.numbers;
  });
  const auto at = static_cast<uint32_t>(same - strips->lanes.begin());
  if (at == strips->lanes.size()) strips->lanes.push_back(std::move(lane));
  return at;
}

Strips::Lane lane_of(DType type, double v, Py_ssize_t size) {
  Strips::Lane lane{-1, type, 0, -1, {}};
  const float narrow = static_cast<float>(v);
  const char* from = type == DType::F32 ? reinterpret_cast<const char*>(&narrow) : reinterpret_cast<const char*>(&v);
  for (Py_ssize_t i = 0; i < size; ++i) lane.numbers.insert(lane.numbers.end(), from, from + item_size(type));
  return lane;
}

// Makes a machine's instructions calls, where its arguments, of the lanes `given`, are of its type;
// false where it stays a machine.
bool add_calls(const Body& body, const Step& step, const std::vector<uint32_t>& given, Strips* strips) {
  const Program& program = *step.program;
  const size_t n = given.size() - 1, leaves = n + program.constants.size();
  const Py_ssize_t bytes = strips->size * item_size(step.compute);
  bool fits = (step.compute == DType::F32 || step.compute == DType::F64) && !program.code.empty() &&
              program.code.back().dst == program.result;
  Py_ssize_t own = strips->own_bytes;
  for (const uint32_t i : given) {
    const Strips::Lane& lane = strips->lanes[i];
    fits &= lane.dtype == step.compute && (!lane.is_one() || lane.own >= 0);
  }
  std::array<uint32_t, 256> lane_of_register{};  // 0: none
  for (const Instr& i : program.code) {
    fits = fits && i.dst >= leaves && kernels().block(i.op, step.compute);
    if (!std::exchange(lane_of_register[i.dst], 1)) own += bytes;
  }
  if (!fits || own > kOwn) return false;
  lane_of_register.fill(0);
  own = strips->own_bytes;
  for (size_t i = 0; i < leaves; ++i)
    lane_of_register[i] = i < n ? given[i] : lane_like(body, strips, lane_of(step.compute, program.constants[i - n], strips->size));
  for (const Instr& i : program.code) {
    const uint32_t a = lane_of_register[i.a], b = lane_of_register[i.b], c = lane_of_register[i.c];
    uint32_t& to = lane_of_register[i.dst];
    if (&i == &program.code.back()) to = given[n];
    else if (!to) to = lane_like(body, strips, {-1, step.compute, 0, std::exchange(own, own + bytes), {}});
    strips->calls.push_back({kernels().block(i.op, step.compute), nullptr, {a, b, c, to}, {}});
  }
  return true;
}

// Leaves calls out: repeated ones, and products that are only added to something, for which there
// is an instruction with the bits of the two.
class Fewer {
 public:
  Fewer(const Body& body, Strips* strips) : body_(body), strips_(*strips), calls_(strips->calls) {}

  void leave_out() {
    const auto is_step = [](const Strips::Call& c) { return !c.block; };
    if (std::any_of(calls_.begin(), calls_.end(), is_step)) return;
    for (size_t j = 1; j < calls_.size(); ++j) {
      if (is_known(j) || is_added(j)) --j;
    }
  }

 private:
  const Strips::Lane& lane(uint32_t i) const { return strips_.lanes[i]; }
  // Whether two lanes may share memory that is written.
  bool meet(uint32_t i, uint32_t k) const {
    if (i == k) return true;
    const Strips::Lane &a = lane(i), &b = lane(k);
    if (a.own >= 0 && b.own >= 0)
      return a.own < b.own + strips_.size * item_size(b.dtype) && b.own < a.own + strips_.size * item_size(a.dtype);
    return a.own < 0 && b.own < 0 && a.operand >= 0 && b.operand >= 0 && memory(a) == memory(b);
  }
  size_t memory(const Strips::Lane& l) const { return static_cast<size_t>(body_.operands[static_cast<size_t>(l.operand)].memory); }
  bool reads(size_t call, uint32_t i) const {
    return std::any_of(calls_[call].lanes, calls_[call].lanes + 3, [&](uint32_t l) { return meet(l, i); });
  }
  bool writes(size_t call, uint32_t i) const { return meet(calls_[call].lanes[3], i); }
  // Whether what call j, or an earlier one, wrote there is not read after it.
  bool ends(size_t j, uint32_t i) const {
    for (size_t k = j + 1; k < calls_.size(); ++k) {
      if (reads(k, i)) return false;
      if (calls_[k].lanes[3] == i) return true;
    }
    const Strips::Lane& l = lane(i);
    return l.numbers.empty() && !l.is_one() && (l.own >= 0 || (l.operand >= 0 && strips_.ends[memory(l)]));
  }
  DType type_of(size_t call) const { return lane(calls_[call].lanes[3]).dtype; }
  bool is_op(size_t call, const char* name) const { return calls_[call].block == kernels().block(opcode(name), type_of(call)); }

  // Call j adds what an earlier one has multiplied, and no other reads. It comes second, as of two NaNs the second is the sum.
  bool is_added(size_t j) {
    const uint32_t other = calls_[j].lanes[0], product = calls_[j].lanes[1], out = calls_[j].lanes[3];
    if ((type_of(j) != DType::F32 && type_of(j) != DType::F64) || !is_op(j, "add") || meet(product, other)) return false;
    if (out != product && (meet(out, product) || !ends(j, product))) return false;
    size_t i = j;
    while (i-- > 0 && !writes(i, product)) {
      if (reads(i, product)) return false;
    }
    if (i > j || calls_[i].lanes[3] != product || lane(product).dtype != type_of(j) || !is_op(i, "mul")) return false;
    const auto [a, b, none, to] = calls_[i].lanes;
    for (size_t k = i + 1; k < j; ++k) {
      if (writes(k, a) || writes(k, b)) return false;
    }
    if ((a != product && meet(a, product)) || (b != product && meet(b, product))) return false;
    calls_[j] = {kernels().block(opcode("muladd"), type_of(j)), nullptr, {a, b, other, out}, {}};
    calls_.erase(calls_.begin() + static_cast<ptrdiff_t>(i));
    return true;
  }

  // Call j computes what an earlier one has computed.
  bool is_known(size_t j) {
    const uint32_t out = calls_[j].lanes[3];
    for (size_t i = j; i-- > 0;) {
      const uint32_t known = calls_[i].lanes[3];
      const bool same = calls_[i].block == calls_[j].block && std::equal(calls_[i].lanes, calls_[i].lanes + 3, calls_[j].lanes);
      if (same && !reads(i, known)) return lane(known).dtype == lane(out).dtype && is_replaced(j, i);
      if (reads(j, known)) return false;
    }
    return false;
  }
  bool is_replaced(size_t j, size_t i) {
    const uint32_t known = calls_[i].lanes[3], out = calls_[j].lanes[3];
    for (size_t k = i + 1; k < j; ++k) {
      if (writes(k, known)) return false;
    }
    if (meet(known, out)) return false;
    bool stands = true;
    size_t end = j + 1;
    for (; end < calls_.size(); ++end) {
      for (const uint32_t* l = calls_[end].lanes; l != calls_[end].lanes + 3; ++l) {
        if (meet(*l, out) && (*l != out || !stands)) return false;
      }
      stands &= !writes(end, known);
      if (writes(end, out)) break;
    }
    if (end < calls_.size() ? calls_[end].lanes[3] != out : !ends(calls_.size(), out)) return false;
    for (size_t k = j + 1; k < calls_.size() && k <= end; ++k) std::replace(calls_[k].lanes, calls_[k].lanes + 3, out, known);
    calls_.erase(calls_.begin() + static_cast<ptrdiff_t>(j));
    return true;
  }

  const Body& body_;
  const Strips& strips_;
  std::vector<Strips::Call>& calls_;
};

}  // namespace

void bind_strips(Body* body, size_t first) {
  Strips& strips = *body->steps[first].strips;
  strips.lanes.emplace_back();  // of what is not there
  std::vector<std::vector<uint32_t>> given(static_cast<size_t>(strips.count));
  for (size_t k = 0; k < given.size(); ++k) {
    const Step& step = body->steps[first + k];
    for (const Value& v : step.args) {
      if (v.operand < 0) {
        given[k].push_back(lane_like(*body, &strips, lane_of(step.compute, PyFloat_AsDouble(v.object), strips.size)));
        continue;
      }
      const Operand& o = body->operands[static_cast<size_t>(v.operand)];
      const Py_ssize_t own = strips.own[static_cast<size_t>(o.memory)];
      given[k].push_back(lane_like(*body, &strips, {v.operand, o.dtype, advance_of(o, strips.numel), own, {}}));
    }
  }
  for (Strips::Lane& lane : strips.lanes) {
    const Py_ssize_t bytes = strips.size * item_size(lane.dtype);
    if (lane.is_one() && strips.own_bytes + bytes <= kOwn) lane.own = std::exchange(strips.own_bytes, strips.own_bytes + bytes);
  }
  for (size_t k = 0; k < given.size(); ++k) {
    const Step& step = body->steps[first + k];
    if (step.kind == Step::Block)
      strips.calls.push_back({step.block, nullptr, {given[k][0], given[k].size() > 2 ? given[k][1] : 0, 0, given[k].back()}, {}});
    else if (step.kind != Step::Machine || !add_calls(*body, step, given[k], &strips))
      strips.calls.push_back({nullptr, &step, {}, std::move(given[k])});
  }
  Fewer(*body, &strips).leave_out();
}

void run_strips(const Strips& strips, char* const* at) {
  const auto run = [&](ptrdiff_t begin, ptrdiff_t end) {
    alignas(64) char own[kOwn];
    std::vector<char*> places(strips.lanes.size());
    for (size_t i = 0; i < places.size(); ++i) {
      const Strips::Lane& lane = strips.lanes[i];
      if (!lane.is_one() || lane.own < 0) continue;
      for (Py_ssize_t k = 0, item = item_size(lane.dtype); k < strips.size; ++k)
        std::memcpy(own + lane.own + k * item, at[i], item);
    }
    for (ptrdiff_t from = begin * strips.size; from < std::min(end * strips.size, strips.numel); from += strips.size) {
      const ptrdiff_t n = std::min(strips.size, strips.numel - from);
      for (size_t i = 0; i < places.size(); ++i) {
        const Strips::Lane& lane = strips.lanes[i];
        places[i] = lane.own >= 0 ? own + lane.own : at[i] + from * lane.advance;
      }
      for (const Strips::Call& call : strips.calls) {
        if (call.block) {
          call.block(places[call.lanes[0]], places[call.lanes[1]], places[call.lanes[2]], places[call.lanes[3]], n);
          continue;
        }
        const size_t count = call.given.size();
        Strided operands[kMaxParams + 1];
        for (size_t i = 0; i < count; ++i) {
          const Strips::Lane& lane = strips.lanes[call.given[i]];
          operands[i] = {places[call.given[i]], lane.dtype, &lane.advance};
        }
        const Strided& out = operands[count - 1];
        if (call.step->kind == Step::Machine) kernels().run_program(*call.step->program, call.step->compute, operands, out, 1, &n);
        else std::memset(out.data, call.step->byte, static_cast<size_t>(n * *out.strides));
      }
    }
  };
  const ReleaseGil release(strips.numel > kReleaseSize);
  parallel((strips.numel + strips.size - 1) / strips.size, 8, run);
}

}  // namespace rushlight
