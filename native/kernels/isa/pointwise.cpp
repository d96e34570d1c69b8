// The pointwise machine: runs a straight-line program over strided operands, block by block.
//
// Read from the end: run_view brings the call into a Plan (few dimensions, largest strides of out first) and splits it over
// threads; run_range runs elements [begin, end) of the flattened iteration. Registers hold a block of elements each. An
// input whose block lies in memory as the registers would hold it is read in place, and the last instruction writes
// straight to out where out allows it; everything else goes through an arena on the stack that fits the first-level cache.
#include "kernels/isa/pointwise.h"

#include <string.h>

#include "kernels/isa/ops.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

constexpr int kMaxDims = 64;
constexpr int kMaxRegisters = 32;
constexpr int kMaxOperands = kMaxRegisters + 1;  // the inputs, then out
constexpr ptrdiff_t kArenaBytes = 24 * 1024;
constexpr ptrdiff_t kMaxBlock = 1024;
constexpr ptrdiff_t kLine = 64;                  // bytes; registers start on cache lines
constexpr ptrdiff_t kRowBlocks = 64;             // rows at least this long are never joined into one block
constexpr ptrdiff_t kParallelWork = 1 << 17;     // additions or their like; less is not worth waking threads for
constexpr ptrdiff_t kSmall = 4096;               // elements; never split

struct Operand {
  char* data;
  DType dtype;
  bool native;     // dtype is the compute type
  bool contiguous; // element i is at data + i * item size, over the whole iteration
  bool single;     // one element throughout
  const ptrdiff_t* strides;
};

struct Plan {
  const ProgramView* program;
  const BlockOp* ops;
  DType compute;
  ptrdiff_t size;  // of an element of the compute type
  int n_operands;
  Operand operands[kMaxOperands];
  int ndim;
  const ptrdiff_t* shape;
};

const BlockOp* block_ops(DType compute) {
  return compute == DType::F32 ? float_ops() : (compute == DType::F64 ? double_ops() : int_ops());
}

bool is_contiguous(const ptrdiff_t* strides, ptrdiff_t item, int ndim, const ptrdiff_t* shape) {
  for (int d = ndim - 1; d >= 0; --d) {
    if (shape[d] == 1) continue;
    if (strides[d] != item) return false;
    item *= shape[d];
  }
  return true;
}

bool is_single(const ptrdiff_t* strides, int ndim, const ptrdiff_t* shape) {
  for (int d = 0; d < ndim; ++d) {
    if (shape[d] != 1 && strides[d] != 0) return false;
  }
  return true;
}

// --- one range of elements ---

template <class T>
void fill(void* out, T value, ptrdiff_t n) {
  T* to = static_cast<T*>(out);
  for (ptrdiff_t i = 0; i < n; ++i) to[i] = value;
}

void fill_constant(const Plan& plan, int index, void* out, ptrdiff_t n) {
  if (plan.compute == DType::F32) return fill(out, static_cast<float>(plan.program->constants[index]), n);
  if (plan.compute == DType::F64) return fill(out, plan.program->constants[index], n);
  fill(out, plan.program->int_constants[index], n);
}

// Calls visit(address, stride, done, count) for each stretch along the last dimension of elements
// [begin, begin + n) of an operand.
template <class Visit>
void walk(const Plan& plan, const Operand& operand, ptrdiff_t begin, ptrdiff_t n, Visit visit) {
  const int last = plan.ndim - 1;
  const ptrdiff_t stride = operand.strides[last];
  ptrdiff_t index[kMaxDims];
  char* row = operand.data;  // where the current row of the last dimension starts
  ptrdiff_t rest = begin;
  for (int d = last; d >= 0; --d) {
    index[d] = d == 0 ? rest : rest % plan.shape[d];
    rest = d == 0 ? 0 : rest / plan.shape[d];
    if (d != last) row += index[d] * operand.strides[d];
  }
  ptrdiff_t at = index[last];
  for (ptrdiff_t done = 0; done < n; at = 0) {
    const ptrdiff_t left = plan.shape[last] - at;
    const ptrdiff_t count = left < n - done ? left : n - done;
    visit(row + at * stride, stride, done, count);
    done += count;
    for (int d = last - 1; d >= 0; --d) {  // the next row
      row += operand.strides[d];
      if (++index[d] < plan.shape[d]) break;
      row -= index[d] * operand.strides[d];
      index[d] = 0;
    }
  }
}

// Where element `begin` of an operand is.
char* address(const Plan& plan, const Operand& operand, ptrdiff_t begin) {
  char* at = operand.data;
  for (int d = plan.ndim - 1; d > 0; --d) {
    at += begin % plan.shape[d] * operand.strides[d];
    begin /= plan.shape[d];
  }
  return at + begin * operand.strides[0];
}

void run_range(const Plan& plan, ptrdiff_t begin, ptrdiff_t end) {
  const ProgramView& program = *plan.program;
  const Operand& out = plan.operands[program.n_inputs];
  const int last = plan.ndim - 1;
  const ptrdiff_t row = plan.shape[last];
  const bool by_rows = plan.ndim > 1 && row >= kRowBlocks;  // then a block is part of one row

  // How each input reaches its register.
  enum class Source : uint8_t { Place, Row, Gather, Fixed };
  Source sources[kMaxRegisters];
  void* registers[kMaxRegisters];
  int slots = 0;  // registers that live in the arena
  int slot_of[kMaxRegisters];
  for (int i = 0; i < program.n_inputs; ++i) {
    const Operand& input = plan.operands[i];
    if (input.single) {
      sources[i] = Source::Fixed;
    } else if (input.native && input.contiguous) {
      sources[i] = Source::Place;
      continue;
    } else if (input.native && by_rows && input.strides[last] == plan.size) {
      sources[i] = Source::Row;
      continue;
    } else {
      sources[i] = Source::Gather;
    }
    slot_of[i] = slots++;
  }
  const int first_temporary = program.n_inputs + program.n_constants;
  for (int i = 0; i < program.n_constants; ++i) slot_of[program.n_inputs + i] = slots++;
  int n_registers = first_temporary;
  for (int i = 0; i < program.n_instrs; ++i) {
    if (program.code[i].dst >= n_registers) n_registers = program.code[i].dst + 1;
  }
  for (int i = first_temporary; i < n_registers; ++i) slot_of[i] = slots++;

  // The last instruction may write to out itself; an earlier one may not, as out may be an input still to be read.
  const bool computed = program.n_instrs > 0 && program.code[program.n_instrs - 1].dst == program.result;
  const bool out_by_row = out.native && !out.contiguous && by_rows && out.strides[last] == plan.size;
  const bool direct = computed && ((out.native && out.contiguous) || out_by_row);

  alignas(kLine) char arena[kArenaBytes + kMaxRegisters * kLine];
  ptrdiff_t block = end - begin;
  if (slots > 0) {
    const ptrdiff_t fitting = kArenaBytes / (slots * plan.size) & -16;
    const ptrdiff_t limit = fitting < kMaxBlock ? fitting : kMaxBlock;
    if (block > limit) block = limit;
    const ptrdiff_t slot_bytes = (block * plan.size + kLine - 1) & -kLine;
    for (int i = 0; i < n_registers; ++i) {
      if (i >= program.n_inputs || sources[i] == Source::Fixed || sources[i] == Source::Gather) {
        registers[i] = arena + slot_of[i] * slot_bytes;
      }
    }
    for (int i = 0; i < program.n_inputs; ++i) {
      if (sources[i] != Source::Fixed) continue;
      load_function(plan.operands[i].dtype, plan.compute)(plan.operands[i].data, 0, registers[i], block);
    }
    for (int i = 0; i < program.n_constants; ++i) fill_constant(plan, i, registers[program.n_inputs + i], block);
  }

  for (ptrdiff_t at = begin; at < end;) {
    ptrdiff_t n = end - at < block ? end - at : block;
    if (by_rows) {
      const ptrdiff_t left = row - at % row;
      if (left < n) n = left;
    }
    for (int i = 0; i < program.n_inputs; ++i) {
      const Operand& input = plan.operands[i];
      if (sources[i] == Source::Place) {
        registers[i] = input.data + at * plan.size;
      } else if (sources[i] == Source::Row) {
        registers[i] = address(plan, input, at);
      } else if (sources[i] == Source::Gather) {
        const LoadFn load = load_function(input.dtype, plan.compute);
        if (input.contiguous) {
          const ptrdiff_t item = item_size(input.dtype);
          load(input.data + at * item, item, registers[i], n);
        } else {
          char* to = static_cast<char*>(registers[i]);
          walk(plan, input, at, n, [&](const char* from, ptrdiff_t stride, ptrdiff_t done, ptrdiff_t count) {
            load(from, stride, to + done * plan.size, count);
          });
        }
      }
    }
    const int plain = program.n_instrs - (direct ? 1 : 0);
    for (int i = 0; i < plain; ++i) {
      const Instr& step = program.code[i];
      plan.ops[step.op].fn(registers[step.a], registers[step.b], registers[step.c], registers[step.dst], n);
    }
    if (direct) {
      const Instr& step = program.code[plain];
      void* to = out_by_row ? address(plan, out, at) : out.data + at * plan.size;
      plan.ops[step.op].fn(registers[step.a], registers[step.b], registers[step.c], to, n);
    } else {
      const StoreFn store = store_function(plan.compute, out.dtype);
      const char* from = static_cast<const char*>(registers[program.result]);
      if (out.contiguous) {
        const ptrdiff_t item = item_size(out.dtype);
        store(from, out.data + at * item, item, n);
      } else {
        walk(plan, out, at, n, [&](char* to, ptrdiff_t stride, ptrdiff_t done, ptrdiff_t count) {
          store(from + done * plan.size, to, stride, count);
        });
      }
    }
    at += n;
  }
}

// --- the call ---

// Brings the iteration into fewer dimensions: drops those of size 1, orders them by the stride of out, joins those that
// are adjacent in every operand. `strides` is room for kMaxOperands rows of kMaxDims.
struct Dims {
  ptrdiff_t shape[kMaxDims];
  ptrdiff_t strides[kMaxOperands][kMaxDims];
};

ptrdiff_t magnitude(ptrdiff_t x) { return x < 0 ? -x : x; }

void simplify(Plan& plan, Dims& dims) {
  const int n_operands = plan.n_operands;
  const ptrdiff_t* out_strides = plan.operands[n_operands - 1].strides;
  int order[kMaxDims];
  int ndim = 0;
  for (int d = 0; d < plan.ndim; ++d) {
    if (plan.shape[d] == 1) continue;
    int place = ndim++;
    for (; place > 0 && magnitude(out_strides[order[place - 1]]) < magnitude(out_strides[d]); --place) {
      order[place] = order[place - 1];
    }
    order[place] = d;
  }
  int joined = 0;
  for (int i = 0; i < ndim; ++i) {
    const int d = order[i];
    bool adjacent = joined > 0;
    for (int k = 0; adjacent && k < n_operands; ++k) {
      adjacent = dims.strides[k][joined - 1] == plan.operands[k].strides[d] * plan.shape[d];
    }
    if (adjacent) {
      dims.shape[joined - 1] *= plan.shape[d];
    } else {
      dims.shape[joined++] = plan.shape[d];
    }
    for (int k = 0; k < n_operands; ++k) dims.strides[k][joined - 1] = plan.operands[k].strides[d];
  }
  if (joined == 0) {  // a single element
    joined = 1;
    dims.shape[0] = 1;
    for (int k = 0; k < n_operands; ++k) dims.strides[k][0] = 0;
  }
  plan.ndim = joined;
  plan.shape = dims.shape;
  for (int k = 0; k < n_operands; ++k) {
    Operand& operand = plan.operands[k];
    operand.strides = dims.strides[k];
    operand.contiguous = is_contiguous(operand.strides, item_size(operand.dtype), joined, plan.shape);
    operand.single = is_single(operand.strides, joined, plan.shape) && k != n_operands - 1;
  }
}

void run_split(const Plan& plan, ptrdiff_t n) {
  ptrdiff_t cost = 1;
  for (int i = 0; i < plan.program->n_instrs; ++i) cost += plan.ops[plan.program->code[i].op].cost;
  if (n * cost < kParallelWork) return run_range(plan, 0, n);
  parallel_for(
      n, kParallelWork / 2 / cost + 1,
      [](void* context, ptrdiff_t begin, ptrdiff_t end) { run_range(*static_cast<const Plan*>(context), begin, end); },
      const_cast<Plan*>(&plan));
}

// The frequent case, one op on small whole arrays of the compute type, without a Plan. False if this is not it.
bool run_small(const ProgramView& program, DType compute, const Strided* inputs, const Strided& out, int ndim,
               const ptrdiff_t* shape, ptrdiff_t n) {
  const ptrdiff_t item = item_size(compute);
  const Instr& step = program.code[0];
  const int n_inputs = program.n_inputs;
  if (step.dst != program.result || out.dtype != compute || !is_contiguous(out.strides, item, ndim, shape)) return false;
  for (int i = 0; i < n_inputs; ++i) {
    if (inputs[i].dtype != compute || !is_contiguous(inputs[i].strides, item, ndim, shape)) return false;
  }
  if (n_inputs == 0) return false;
  const auto input = [&](int r) { return inputs[r < n_inputs ? r : 0].data; };  // registers an op does not read may be any
  block_ops(compute)[step.op].fn(input(step.a), input(step.b), input(step.c), out.data, n);
  return true;
}

void run_view(const ProgramView& program, DType compute, const Strided* inputs, const Strided& out, int ndim,
              const ptrdiff_t* shape) {
  ptrdiff_t n = 1;
  for (int d = 0; d < ndim; ++d) n *= shape[d];
  if (n == 0) return;
  if (program.n_instrs == 1 && program.n_constants == 0 && n < kSmall &&
      run_small(program, compute, inputs, out, ndim, shape, n)) {
    return;
  }

  Plan plan;
  plan.program = &program;
  plan.ops = block_ops(compute);
  plan.compute = compute;
  plan.size = item_size(compute);
  plan.n_operands = program.n_inputs + 1;
  bool flat = true;  // every operand is contiguous or a single element
  for (int k = 0; k < plan.n_operands; ++k) {
    const Strided& from = k < program.n_inputs ? inputs[k] : out;
    Operand& operand = plan.operands[k];
    operand.data = from.data;
    operand.dtype = from.dtype;
    operand.native = from.dtype == compute;
    operand.strides = from.strides;
    operand.contiguous = is_contiguous(from.strides, item_size(from.dtype), ndim, shape);
    operand.single = !operand.contiguous && k < program.n_inputs && is_single(from.strides, ndim, shape);
    flat = flat && (operand.contiguous || operand.single);
  }
  if (flat) {
    plan.ndim = 1;
    plan.shape = &n;
    return run_split(plan, n);
  }
  plan.ndim = ndim;
  plan.shape = shape;
  Dims dims;
  simplify(plan, dims);
  run_split(plan, n);
}

// --- the table ---

struct OpInfo {
  const char* name;
  int arity;
};
struct OpInfos {
  OpInfo of[AllOps::size];
};
template <class... Op>
constexpr OpInfos op_infos(OpList<Op...>) {
  return {{OpInfo{Op::name, Op::arity}...}};
}
constexpr OpInfos kOps = op_infos(AllOps{});

int opcode(const char* name) {
  for (int op = 0; op < AllOps::size; ++op) {
    if (strcmp(kOps.of[op].name, name) == 0) return op;
  }
  return -1;
}
const char* opcode_name(int op) { return kOps.of[op].name; }
int opcode_arity(int op) { return kOps.of[op].arity; }
BlockFn block(int op, DType compute) { return block_ops(compute)[op].fn; }

#define RUSHLIGHT_TEXT_OF(x) #x
#define RUSHLIGHT_TEXT(x) RUSHLIGHT_TEXT_OF(x)
constexpr Kernels kTable = {RUSHLIGHT_TEXT(RUSHLIGHT_ISA), opcode, opcode_name, opcode_arity, block, nullptr, run_view};

}  // namespace

const Kernels& table() { return kTable; }

}  // namespace rushlight::RUSHLIGHT_ISA
