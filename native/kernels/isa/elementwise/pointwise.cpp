// The pointwise machine: runs a straight-line program over strided operands, block by block.
//
// Read from the end: run_view brings the call into a Plan (few dimensions, largest strides of out first) and splits
// it over threads; run_range runs elements [begin, end) of the flattened iteration, run_block the program on one
// block. Registers hold a block of elements each. An input whose block lies in memory as the registers would hold it
// is read in place, and the last instruction writes straight to out where out allows it; everything else goes through
// an arena on the stack that fits the first-level cache.
#include "kernels/isa/elementwise/pointwise.h"
#include "kernels/isa/vec.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

constexpr int kMaxDims = 64;
constexpr int kMaxRegisters = 32;
constexpr int kMaxOperands = kMaxRegisters + 1;  // the inputs, then out
constexpr ptrdiff_t kArenaBytes = 24 * 1024;
constexpr ptrdiff_t kMaxBlock = 1024;
constexpr ptrdiff_t kLine = 64;                  // bytes; registers start on cache lines
constexpr ptrdiff_t kRowBlocks = 64;             // rows at least this long are never joined into one block
constexpr ptrdiff_t kRowBytes = 256;             // of one instruction: where they have so many bytes
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
  DType rounds;     // the halves to which each step is rounded, or Count
  ptrdiff_t size;  // of an element of the compute type
  int n_operands;
  Operand operands[kMaxOperands];
  int ndim;
  const ptrdiff_t* shape;
};

ptrdiff_t magnitude(ptrdiff_t x) { return x < 0 ? -x : x; }

const BlockOp* block_ops(DType compute) {
  switch (compute) {
    case DType::F32: return float_ops();
    case DType::F64: return double_ops();
    case DType::C64: return complex_float_ops();
    case DType::C128: return complex_double_ops();
    default: return int_ops();
  }
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
  const double value = plan.program->constants[index];
  switch (plan.compute) {
    case DType::F32: return fill(out, static_cast<float>(value), n);
    case DType::F64: return fill(out, value, n);
    case DType::C64: return fill(out, Complex<float>{static_cast<float>(value), 0}, n);
    case DType::C128: return fill(out, Complex<double>{value, 0}, n);
    default: return fill(out, plan.program->int_constants[index], n);
  }
}

// Calls visit(address, done, count, rows) for elements [begin, begin + n) of an operand: stretches of `count` along the
// last dimension, and so many of them along the last but one. `done` elements were visited before.
template <class Visit>
void walk(const Plan& plan, const Operand& operand, ptrdiff_t begin, ptrdiff_t n, Visit visit) {
  const int last = plan.ndim - 1;
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
    ptrdiff_t rows = 1;
    if (last > 0 && count == plan.shape[last]) {
      const ptrdiff_t below = plan.shape[last - 1] - index[last - 1], whole = (n - done) / count;
      rows = below < whole ? below : whole;
    }
    visit(row + at * operand.strides[last], done, count, rows);
    done += count * rows;
    for (int d = last - 1; d >= 0; --d, rows = 1) {  // the next row
      row += rows * operand.strides[d];
      index[d] += rows;
      if (index[d] < plan.shape[d]) break;
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

// So many rows of `count` times one element each, `stride` bytes from one to the next. Writes up to a line more.
template <class T>
void spread(LoadFn load, const char* from, ptrdiff_t stride, T* to, ptrdiff_t count, ptrdiff_t rows) {
  alignas(kLine) T elements[64];
  for (ptrdiff_t r = 0; r < rows; ++r, to += count) {
    if (r % 64 == 0) load(from + r * stride, stride, elements, rows - r < 64 ? rows - r : 64);
    const Vec<T> all = Vec<T>::all(elements[r % 64]);
    for (ptrdiff_t i = 0; i < count; i += Vec<T>::N) all.store(to + i);
  }
}

// Elements [begin, begin + n) of an input, into a register that has room for a line more.
void gather(const Plan& plan, const Operand& input, ptrdiff_t begin, ptrdiff_t n, void* to) {
  const LoadFn load = load_function(input.dtype, plan.compute);
  const ptrdiff_t stride = input.strides[plan.ndim - 1], outer = plan.ndim > 1 ? input.strides[plan.ndim - 2] : 0;
  walk(plan, input, begin, n, [&](const char* from, ptrdiff_t done, ptrdiff_t count, ptrdiff_t rows) {
    char* at = static_cast<char*>(to) + done * plan.size;
    if (stride == 0 && rows > 1 && plan.size <= 8) {
      if (plan.size == 4) spread(load, from, outer, reinterpret_cast<float*>(at), count, rows);
      else spread(load, from, outer, reinterpret_cast<double*>(at), count, rows);
      return;
    }
    for (ptrdiff_t r = 0; r < rows; ++r) load(from + r * outer, stride, at + r * count * plan.size, count);
  });
}

// How an input reaches its register, and where its elements are.
enum class Source : uint8_t {
  Place,   // contiguous, of the compute type: read where it is
  Row,     // the same within a row only
  Gather,  // loaded into the arena block by block
  Cycle,   // a short row, the same everywhere: loaded once, over and over
  Fixed,   // a single element
  Column,  // a single element of each row, of the compute type
  Tile,    // loaded by run_tiles
};

// The registers of one thread. Rows at least kRowBlocks long are never joined: then a block is part of one row.
struct Frame {
  uint32_t singles;  // registers of one element, for steps that take single elements
  Source sources[kMaxRegisters];
  void* registers[kMaxRegisters];
  ptrdiff_t block;   // elements a register holds
  bool by_rows;
  bool direct;       // the last instruction writes to out itself
  bool many_rows;    // one instruction reads and writes rows where they lie: run_block takes several
  bool out_by_row;
  char* rows[kMaxOperands];  // where the current row of each operand starts, with by_rows
  alignas(kLine) char arena[kArenaBytes + 2 * kMaxRegisters * kLine];
};

Source source_of(const Plan& plan, const Operand& input, bool by_rows) {
  if (input.single) return Source::Fixed;
  if (input.native && input.contiguous) return Source::Place;
  if (by_rows) {
    const ptrdiff_t stride = input.strides[plan.ndim - 1];
    return !input.native ? Source::Gather : stride == plan.size ? Source::Row : stride == 0 ? Source::Column : Source::Gather;
  }
  for (int d = 0; d < plan.ndim - 1; ++d) {
    if (input.strides[d] != 0) return Source::Gather;
  }
  return plan.ndim > 1 ? Source::Cycle : Source::Gather;
}

// Which of a step's operands are of the registers in `singles`: bit 0 is a.
int singles_of(const Instr& step, int arity, uint32_t singles) {
  const uint32_t a = singles >> step.a & 1, b = singles >> step.b & 1, c = singles >> step.c & 1;
  return static_cast<int>((a | b << 1 | c << 2) & ((1u << arity) - 1));
}

// Less the registers in `singles` that some step reads whole.
uint32_t readable_singles(const Plan& plan, uint32_t singles) {
  const ProgramView& program = *plan.program;
  for (int i = 0; i < program.n_instrs; ++i) {
    const Instr& step = program.code[i];
    const BlockOp& op = plan.ops[step.op];
    const int held = singles_of(step, op.arity, singles);
    if (held == 0 || (op.beside != nullptr && op.beside[held] != nullptr)) continue;
    singles &= ~((held & 1u) << step.a | (held >> 1 & 1u) << step.b | (held >> 2 & 1u) << step.c);
  }
  return singles & ~(1u << program.result);
}

// Lays out the registers for blocks of at most `limit` elements and fills those that do not change.
void prepare(const Plan& plan, ptrdiff_t limit, Frame& frame) {
  const ProgramView& program = *plan.program;
  const Operand& out = plan.operands[program.n_inputs];
  const int n_leaves = program.n_inputs + program.n_constants;
  int n_registers = n_leaves;
  for (int i = 0; i < program.n_instrs; ++i) {
    if (program.code[i].dst >= n_registers) n_registers = program.code[i].dst + 1;
  }
  uint32_t singles = 0;
  ptrdiff_t cycles = 0;
  for (int i = 0; i < n_leaves; ++i) {
    const Operand& input = plan.operands[i];
    if (i < program.n_inputs) frame.sources[i] = source_of(plan, input, frame.by_rows);
    if (i >= program.n_inputs || frame.sources[i] == Source::Column || frame.sources[i] == Source::Fixed) singles |= 1u << i;
  }
  frame.singles = singles = readable_singles(plan, singles);
  uint32_t in_place = 0;  // registers that are read or written where the operands are
  int slots = n_registers;
  for (int i = 0; i < n_leaves; ++i) {
    const bool single = (singles >> i & 1) != 0;
    slots -= single ? 1 : 0;
    if (i >= program.n_inputs) continue;
    Source& source = frame.sources[i];
    if (!single && source == Source::Column) source = Source::Gather;
    cycles += source == Source::Cycle ? 1 : 0;
    if (source != Source::Place && source != Source::Row && source != Source::Column) continue;
    in_place |= 1u << i;
    slots -= single ? 0 : 1;
  }

  // An earlier instruction than the last may not write to out, as out may be an input still to be read.
  const bool computed = program.n_instrs > 0 && program.code[program.n_instrs - 1].dst == program.result;
  frame.out_by_row = out.native && !out.contiguous && frame.by_rows && out.strides[plan.ndim - 1] == plan.size;
  frame.direct = computed && plan.rounds == DType::Count && ((out.native && out.contiguous) || frame.out_by_row);
  const bool one_step = frame.direct && program.n_instrs == 1;
  if (one_step) {
    in_place |= 1u << program.result;
    --slots;
  }
  frame.many_rows = frame.by_rows && one_step && slots == 0;

  frame.block = limit;
  const ptrdiff_t row = cycles != 0 ? plan.shape[plan.ndim - 1] : 0;
  if (slots != 0) {
    const ptrdiff_t fitting = (kArenaBytes - cycles * row * plan.size) / (slots * plan.size) & -16;
    if (frame.block > fitting) frame.block = fitting;
    if (frame.block > kMaxBlock) frame.block = kMaxBlock;
  }
  char* slot = frame.arena;
  for (int i = 0; i < n_registers; ++i) {
    if ((in_place >> i & 1) != 0) continue;
    frame.registers[i] = slot;
    const Source source = i < program.n_inputs ? frame.sources[i] : Source::Place;
    const ptrdiff_t n = (singles >> i & 1) != 0 ? 1 : frame.block + (source == Source::Cycle ? row : 0);
    if (source == Source::Fixed) load_function(plan.operands[i].dtype, plan.compute)(plan.operands[i].data, 0, slot, n);
    else if (source == Source::Cycle) gather(plan, plan.operands[i], 0, n, frame.rows[i] = slot);
    else if (i >= program.n_inputs && i < n_leaves) fill_constant(plan, i - program.n_inputs, slot, n);
    slot += (n * plan.size + 2 * kLine - 1) & -kLine;
  }
}

// Moves to a row, which is so many after the current one; 0 where there is none yet.
void to_row(const Plan& plan, Frame& frame, ptrdiff_t row, ptrdiff_t after) {
  const int outer = plan.ndim - 2;
  const bool near = after != 0 && (outer == 0 || row % plan.shape[outer] >= after);
  for (int k = 0; k < plan.n_operands; ++k) {
    const Operand& operand = plan.operands[k];
    frame.rows[k] = near ? frame.rows[k] + after * operand.strides[outer] : address(plan, operand, row * plan.shape[outer + 1]);
  }
}

enum OpNumber : int {
#define OP(name, ...) name,
#include "kernels/isa/elementwise/ops.def"
};

// Whether the result of a step is one of its operands or a whole number that is no larger.
bool is_exact(int op) {
  return op == op_where || op == op_where_nan || op == op_floor || op == op_trunc || (op >= op_eq && op <= op_ge) ||
         op == op_isnan || op == op_fmod || op == op_copysign || (op >= op_logical_not && op <= op_logical_xor);
}

// Elements of a register rounded to halves.
void round_to(DType half, void* block, ptrdiff_t n) {
  alignas(kLine) char halves[2 * kMaxBlock];
  store_function(DType::F32, half)(block, halves, 2, n);
  load_function(half, DType::F32)(halves, 2, block, n);
}

// Computes elements [at, at + n). Where blocks are by rows, they are those from `column` on of the current row, and with
// `rows` above 1, whole ones, of so many rows.
void run_block(const Plan& plan, Frame& frame, ptrdiff_t at, ptrdiff_t column, ptrdiff_t n, ptrdiff_t rows = 1) {
  const ProgramView& program = *plan.program;
  const int last = plan.ndim - 1;
  void** const registers = frame.registers;
  for (int i = 0; i < program.n_inputs; ++i) {
    const Operand& input = plan.operands[i];
    switch (frame.sources[i]) {
      case Source::Place: registers[i] = input.data + at * plan.size; break;
      case Source::Row: registers[i] = frame.rows[i] + column * plan.size; break;
      case Source::Column: registers[i] = frame.rows[i]; break;
      case Source::Cycle: registers[i] = frame.rows[i] + at % plan.shape[last] * plan.size; break;
      case Source::Gather:
        if (input.contiguous || frame.by_rows) {
          const ptrdiff_t stride = input.contiguous ? item_size(input.dtype) : input.strides[last];
          const char* from = input.contiguous ? input.data + at * stride : frame.rows[i] + column * stride;
          load_function(input.dtype, plan.compute)(from, stride, registers[i], n);
        } else {
          gather(plan, input, at, n, registers[i]);
        }
        break;
      case Source::Fixed:
      case Source::Tile: break;
    }
  }
  const Operand& out = plan.operands[program.n_inputs];
  const auto function = [&](const Instr& step) {
    const BlockOp& op = plan.ops[step.op];
    const int held = op.beside != nullptr ? singles_of(step, op.arity, frame.singles) : 0;
    return held != 0 ? op.beside[held] : op.fn;
  };
  const int plain = program.n_instrs - (frame.direct ? 1 : 0);
  for (int i = 0; i < plain; ++i) {
    const Instr& step = program.code[i];
    function(step)(registers[step.a], registers[step.b], registers[step.c], registers[step.dst], n);
    if (plan.rounds != DType::Count && !is_exact(step.op)) round_to(plan.rounds, registers[step.dst], n);
  }
  if (frame.direct) {
    const Instr& step = program.code[plain];
    const BlockFn fn = function(step);
    char* at_registers[] = {static_cast<char*>(registers[step.a]), static_cast<char*>(registers[step.b]),
                            static_cast<char*>(registers[step.c])};
    char* to = frame.out_by_row ? frame.rows[program.n_inputs] + column * plan.size : out.data + at * plan.size;
    const auto stride = [&](int k) { return rows > 1 && k < program.n_inputs ? plan.operands[k].strides[last - 1] : 0; };
    const ptrdiff_t a = stride(step.a), b = stride(step.b), c = stride(step.c), next = rows > 1 ? out.strides[last - 1] : 0;
    for (ptrdiff_t r = 0; r < rows; ++r) {
      fn(at_registers[0] + r * a, at_registers[1] + r * b, at_registers[2] + r * c, to + r * next, n);
    }
    return;
  }
  const StoreFn store = store_function(plan.compute, out.dtype);
  const char* from = static_cast<const char*>(registers[program.result]);
  if (out.contiguous) {
    const ptrdiff_t item = item_size(out.dtype);
    store(from, out.data + at * item, item, n);
  } else {
    const ptrdiff_t stride = out.strides[last], outer = last > 0 ? out.strides[last - 1] : 0;
    walk(plan, out, at, n, [&](char* to, ptrdiff_t done, ptrdiff_t count, ptrdiff_t rows) {
      for (ptrdiff_t r = 0; r < rows; ++r) store(from + (done + r * count) * plan.size, to + r * outer, stride, count);
    });
  }
}

void run_range(const Plan& plan, ptrdiff_t begin, ptrdiff_t end) {
  const ptrdiff_t row = plan.shape[plan.ndim - 1];
  Frame frame;
  const bool one_step = plan.program->n_instrs == 1;
  frame.by_rows = plan.ndim > 1 && (row >= kRowBlocks || (one_step && row * plan.size >= kRowBytes));
  prepare(plan, end - begin, frame);
  ptrdiff_t number = 0, column = 0, length = end - begin;  // where blocks are not by rows, all is one
  if (frame.by_rows) {
    number = begin / row;
    column = begin % row;
    length = row;
    to_row(plan, frame, number, 0);
  }
  for (ptrdiff_t at = begin, rows; at < end;) {
    ptrdiff_t n = end - at < frame.block ? end - at : frame.block;
    if (length - column < n) n = length - column;
    rows = 1;
    if (frame.many_rows && n == row) {
      const ptrdiff_t height = plan.shape[plan.ndim - 2], below = height - number % height, whole = (end - at) / row;
      rows = below < whole ? below : whole;
    }
    run_block(plan, frame, at, column, n, rows);
    at += n * rows;
    column += n;
    if (column < length || at == end) continue;
    to_row(plan, frame, number += rows, rows);
    column = 0;
  }
}

// --- transposed inputs ---

// An input whose elements are adjacent along the last but one dimension is loaded in tiles of tile_rows x
// kTileColumns, so that its cache lines are read whole, and several in a row.
constexpr ptrdiff_t kTileBytes = 16 * 1024, kTileColumns = 64;
constexpr ptrdiff_t kMaxTileRows = kTileBytes / kTileColumns / 4;
constexpr ptrdiff_t kMinTileRows = 16;
constexpr int kMaxTiled = 2;

ptrdiff_t tile_rows(const Plan& plan) { return kTileBytes / kTileColumns / plan.size; }

bool wants_tile(const Plan& plan, const Operand& input) {
  const ptrdiff_t item = item_size(input.dtype);
  return !input.contiguous && !input.single && input.strides[plan.ndim - 2] == item &&
         magnitude(input.strides[plan.ndim - 1]) >= kLine;
}

// The number of inputs to load in tiles; 0 where tiles do not serve.
int count_tiled(const Plan& plan) {
  if (plan.ndim < 2 || plan.shape[plan.ndim - 1] < kRowBlocks || plan.shape[plan.ndim - 2] < kMinTileRows) return 0;
  int tiled = 0;
  for (int i = 0; i < plan.program->n_inputs; ++i) tiled += wants_tile(plan, plan.operands[i]) ? 1 : 0;
  return tiled <= kMaxTiled ? tiled : 0;
}

template <class T>
void load_tile(LoadFn load, const char* from, ptrdiff_t item, ptrdiff_t column_stride, T* tile, ptrdiff_t rows, ptrdiff_t columns) {
  T line[kMaxTileRows];
  for (ptrdiff_t c = 0; c < columns; ++c) {
    load(from + c * column_stride, item, line, rows);
    for (ptrdiff_t r = 0; r < rows; ++r) tile[r * kTileColumns + c] = line[r];
  }
}

// Computes the groups of tile_rows rows [begin, end); groups do not reach across the third last dimension.
void run_tiles(const Plan& plan, ptrdiff_t begin, ptrdiff_t end) {
  const int n_inputs = plan.program->n_inputs;
  const ptrdiff_t row = plan.shape[plan.ndim - 1], n_rows = plan.shape[plan.ndim - 2];
  const ptrdiff_t height = tile_rows(plan), groups = (n_rows + height - 1) / height;
  Frame frame;
  frame.by_rows = true;
  prepare(plan, kTileColumns, frame);
  const ptrdiff_t width = frame.block;
  alignas(kLine) char tiles[kMaxTiled][kTileBytes];
  int tiled[kMaxTiled] = {};
  int n_tiled = 0;
  for (int i = 0; i < n_inputs; ++i) {
    if (!wants_tile(plan, plan.operands[i])) continue;
    frame.sources[i] = Source::Tile;
    tiled[n_tiled++] = i;
  }
  for (ptrdiff_t group = begin; group < end; ++group) {
    const ptrdiff_t first_row = group / groups * n_rows + group % groups * height;
    const ptrdiff_t left = n_rows - group % groups * height;
    const ptrdiff_t rows = left < height ? left : height;
    for (ptrdiff_t column = 0; column < row; column += width) {
      const ptrdiff_t columns = row - column < width ? row - column : width;
      for (int t = 0; t < n_tiled; ++t) {
        const Operand& input = plan.operands[tiled[t]];
        const LoadFn load = load_function(input.dtype, plan.compute);
        const char* from = address(plan, input, first_row * row + column);
        const ptrdiff_t item = item_size(input.dtype), stride = input.strides[plan.ndim - 1];
        if (plan.size == 4) {
          load_tile(load, from, item, stride, reinterpret_cast<float*>(tiles[t]), rows, columns);
        } else if (plan.size == 16) {
          load_tile(load, from, item, stride, reinterpret_cast<Complex<double>*>(tiles[t]), rows, columns);
        } else {
          load_tile(load, from, item, stride, reinterpret_cast<uint64_t*>(tiles[t]), rows, columns);
        }
      }
      for (ptrdiff_t r = 0; r < rows; ++r) {
        for (int t = 0; t < n_tiled; ++t) frame.registers[tiled[t]] = tiles[t] + r * kTileColumns * plan.size;
        to_row(plan, frame, first_row + r, r == 0 ? 0 : 1);
        run_block(plan, frame, (first_row + r) * row + column, column, columns);
      }
    }
  }
}

// --- the call ---

// Brings the iteration into fewer dimensions: drops those of size 1, orders them by the stride of out, joins those that
// are adjacent in every operand. `strides` is room for kMaxOperands rows of kMaxDims.
struct Dims {
  ptrdiff_t shape[kMaxDims];
  ptrdiff_t strides[kMaxOperands][kMaxDims];
};

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

template <void (*run)(const Plan&, ptrdiff_t, ptrdiff_t)>
void run_on_threads(const Plan& plan, ptrdiff_t n, ptrdiff_t cost) {
  if (n * cost < kParallelWork) return run(plan, 0, n);
  parallel(n, kParallelWork / 2 / cost + 1, [&](ptrdiff_t begin, ptrdiff_t end) { run(plan, begin, end); });
}

void run_split(const Plan& plan, ptrdiff_t n) {
  ptrdiff_t cost = 1;
  for (int i = 0; i < plan.program->n_instrs; ++i) cost += plan.ops[plan.program->code[i].op].cost;
  if (count_tiled(plan) == 0) return run_on_threads<run_range>(plan, n, cost);
  const ptrdiff_t rows = plan.shape[plan.ndim - 2];
  const ptrdiff_t height = tile_rows(plan), groups = (rows + height - 1) / height;
  run_on_threads<run_tiles>(plan, n / (rows * plan.shape[plan.ndim - 1]) * groups, cost * height * plan.shape[plan.ndim - 1]);
}

// The frequent case, one op on small whole arrays of the compute type, without a Plan. False if this is not it.
bool run_small(const ProgramView& program, DType compute, const Strided* inputs, const Strided& out, int ndim,
               const ptrdiff_t* shape, ptrdiff_t n) {
  const ptrdiff_t item = item_size(compute);
  const Instr& step = program.code[0];
  const int n_inputs = program.n_inputs;
  if (n_inputs == 0 || step.dst != program.result) return false;
  if (out.dtype != compute || !is_contiguous(out.strides, item, ndim, shape)) return false;
  for (int i = 0; i < n_inputs; ++i) {
    if (inputs[i].dtype != compute || !is_contiguous(inputs[i].strides, item, ndim, shape)) return false;
  }
  // A register that the op does not read may be any.
  const auto input = [&](int r) { return inputs[r < n_inputs ? r : 0].data; };
  block_ops(compute)[step.op].fn(input(step.a), input(step.b), input(step.c), out.data, n);
  return true;
}

// --- bools and small integers as they are, not as int64; signs of halves ---

// The two operands of one op, of which one may be a single element, throughout.
struct Narrow {
  int op;
  DType dtype;
  const char *a, *b;
  bool single_a, single_b;
  char* out;
};

// An element that is computed with in U.
template <class U>
U element(const Strided& operand) {
  return operand.dtype == DType::I64 ? static_cast<U>(*reinterpret_cast<const int64_t*>(operand.data))
                                     : *reinterpret_cast<const U*>(operand.data);
}

template <class U, class F>
bool each_narrow(const Narrow& call, ptrdiff_t begin, ptrdiff_t end, F f) {
  const U *a = reinterpret_cast<const U*>(call.a), *b = reinterpret_cast<const U*>(call.b);
  U* out = reinterpret_cast<U*>(call.out);
  if (call.single_b) {
    const U y = *b;
    RUSHLIGHT_INDEPENDENT
    for (ptrdiff_t i = begin; i < end; ++i) out[i] = static_cast<U>(f(a[i], y));
  } else if (call.single_a) {
    const U x = *a;
    RUSHLIGHT_INDEPENDENT
    for (ptrdiff_t i = begin; i < end; ++i) out[i] = static_cast<U>(f(x, b[i]));
  } else {
    RUSHLIGHT_INDEPENDENT
    for (ptrdiff_t i = begin; i < end; ++i) out[i] = static_cast<U>(f(a[i], b[i]));
  }
  return true;
}

// False for another op. Unsigned, as integers wrap.
template <class U>
bool run_integers(const Narrow& call, ptrdiff_t begin, ptrdiff_t end) {
  const auto each = [&](auto f) { return each_narrow<U>(call, begin, end, f); };
  switch (call.op) {
    case op_add: return each([](uint32_t x, uint32_t y) { return x + y; });
    case op_sub: return each([](uint32_t x, uint32_t y) { return x - y; });
    case op_mul: return each([](uint32_t x, uint32_t y) { return x * y; });
    case op_bitwise_and: return each([](uint32_t x, uint32_t y) { return x & y; });
    case op_bitwise_or: return each([](uint32_t x, uint32_t y) { return x | y; });
    case op_bitwise_xor: return each([](uint32_t x, uint32_t y) { return x ^ y; });
    default: return false;
  }
}

// A byte of 0 is false, any other true.
bool run_bools(const Narrow& call, ptrdiff_t begin, ptrdiff_t end) {
  const auto each = [&](auto f) {
    return each_narrow<uint8_t>(call, begin, end, [f](uint8_t x, uint8_t y) { return f(x != 0, y != 0); });
  };
  switch (call.op) {
    case op_logical_not: return each([](bool x, bool) { return !x; });
    case op_sign: return each([](bool x, bool) { return x; });
    case op_lt: return each([](bool x, bool y) { return !x & y; });
    case op_le: return each([](bool x, bool y) { return !x | y; });
    case op_gt: return each([](bool x, bool y) { return x & !y; });
    case op_ge: return each([](bool x, bool y) { return x | !y; });
    case op_logical_and:
    case op_bitwise_and:
    case op_minimum:
    case op_fmin:
    case op_mul: return each([](bool x, bool y) { return x & y; });
    case op_logical_or:
    case op_bitwise_or:
    case op_maximum:
    case op_fmax:
    case op_heaviside:  // 1 of a true, else the value
    case op_add: return each([](bool x, bool y) { return x | y; });
    case op_logical_xor:
    case op_bitwise_xor:
    case op_ne: return each([](bool x, bool y) { return x != y; });
    case op_eq: return each([](bool x, bool y) { return x == y; });
    default: return false;
  }
}

// Halves of which only the sign changes.
bool run_signs(const Narrow& call, ptrdiff_t begin, ptrdiff_t end) {
  const auto each = [&](auto f) { return each_narrow<uint16_t>(call, begin, end, f); };
  switch (call.op) {
    case op_neg: return each([](uint16_t x, uint16_t) { return x ^ 0x8000; });
    case op_abs: return each([](uint16_t x, uint16_t) { return x & 0x7fff; });
    case op_copysign: return each([](uint16_t x, uint16_t y) { return (x & 0x7fff) | (y & 0x8000); });
    default: return false;
  }
}

bool run_narrow(const Narrow& call, ptrdiff_t begin, ptrdiff_t end) {
  switch (item_size(call.dtype)) {
    case 2: return is_half(call.dtype) && run_signs(call, begin, end);
    case 1: return call.dtype == DType::Bool ? run_bools(call, begin, end) : run_integers<uint8_t>(call, begin, end);
    case 4: return run_integers<uint32_t>(call, begin, end);
    default: return false;
  }
}

// One op on whole arrays of one narrow type, or on one and an element. False if this is not it.
bool try_narrow(const ProgramView& program, const Strided* inputs, const Strided& out, int ndim, const ptrdiff_t* shape,
                ptrdiff_t n) {
  const Instr& step = program.code[0];
  const ptrdiff_t item = item_size(out.dtype);
  if (item == 8 || program.n_inputs > 2 || step.dst != program.result || !is_contiguous(out.strides, item, ndim, shape))
    return false;
  uint32_t elements[2];
  const char* data[2] = {};
  bool single[2] = {};
  for (int i = 0; i < program.n_inputs; ++i) {
    data[i] = inputs[i].data;
    if (inputs[i].dtype == out.dtype && is_contiguous(inputs[i].strides, item, ndim, shape)) continue;
    if ((inputs[i].dtype != out.dtype && inputs[i].dtype != DType::I64) || out.dtype == DType::Bool || is_half(out.dtype))
      return false;
    if (!is_single(inputs[i].strides, ndim, shape)) return false;
    if (item == 1) *reinterpret_cast<uint8_t*>(&elements[i]) = element<uint8_t>(inputs[i]);
    else if (item == 4) elements[i] = element<uint32_t>(inputs[i]);
    data[i] = reinterpret_cast<const char*>(&elements[i]);
    single[i] = true;
  }
  const int a = step.a < program.n_inputs ? step.a : 0, b = step.b < program.n_inputs ? step.b : 0;
  Narrow call{step.op, out.dtype, data[a], data[b], single[a] && a != b, single[b], out.data};
  if ((single[a] && single[b]) || !run_narrow(call, 0, 0)) return false;
  if (n < 8 * kParallelWork) return run_narrow(call, 0, n);
  parallel(n, kParallelWork, [&](ptrdiff_t begin, ptrdiff_t end) { run_narrow(call, begin, end); });
  return true;
}

// The same by rows, of operands that are in order.
bool try_narrow_rows(const Plan& plan) {
  const int last = plan.ndim - 1, result = plan.n_operands - 1;
  const ptrdiff_t n = plan.shape[last], rows = last ? plan.shape[0] : 1;
  if (last > 1 || (last && n < 32)) return false;
  for (ptrdiff_t row = 0; row < rows; ++row) {
    Strided operands[3];
    for (int k = 0; k <= result && k < 3; ++k) {
      const Operand& from = plan.operands[k];
      operands[k] = {from.data + (last ? row * from.strides[0] : 0), from.dtype, from.strides + last};
    }
    if (result > 2 || !try_narrow(*plan.program, operands, operands[result], 1, &n, n)) return false;
  }
  return true;
}

// A program of no steps over whole arrays, of which one is of the compute type: a conversion. False if this is not it.
bool run_conversion(const ProgramView& program, DType compute, const Strided* inputs, const Strided& out, int ndim,
                    const ptrdiff_t* shape, ptrdiff_t n) {
  const Strided& in = inputs[program.result];
  const ptrdiff_t from = item_size(in.dtype), to = item_size(out.dtype);
  if (program.n_inputs != 1 || !is_contiguous(in.strides, from, ndim, shape) || !is_contiguous(out.strides, to, ndim, shape))
    return false;
  if (out.dtype == compute) load_function(in.dtype, compute)(in.data, from, out.data, n);
  else if (in.dtype == compute) store_function(compute, out.dtype)(in.data, out.data, to, n);
  else return false;
  return true;
}

// Whether `out` fills its memory in another order of the dimensions, and all inputs lie as it does.
bool lies_alike(const ProgramView& program, const Strided* inputs, const Strided& out, int ndim, const ptrdiff_t* shape,
                ptrdiff_t n) {
  const ptrdiff_t item = item_size(out.dtype);
  ptrdiff_t filled = 1;
  for (int found = 0; filled < n && found >= 0;) {
    found = -1;
    for (int d = 0; d < ndim && found < 0; ++d)
      if (shape[d] != 1 && out.strides[d] == filled * item) found = d;
    if (found >= 0) filled *= shape[found];
  }
  bool alike = filled == n;
  for (int i = 0; alike && i < program.n_inputs; ++i) {
    for (int d = 0; d < ndim; ++d)
      alike = alike && (shape[d] == 1 || inputs[i].strides[d] * item == out.strides[d] * item_size(inputs[i].dtype));
  }
  return alike;
}

Traversal run_view(const ProgramView& program, DType given, const Strided* inputs, const Strided& out, int ndim,
                   const ptrdiff_t* shape) {
  const DType compute = computed_in(given);
  ptrdiff_t n = 1;
  for (int d = 0; d < ndim; ++d) n *= shape[d];
  if (n == 0) return Traversal::Block;
  if (ndim > 1 && !is_contiguous(out.strides, item_size(out.dtype), ndim, shape) &&
      lies_alike(program, inputs, out, ndim, shape, n)) {
    Strided flat[kMaxOperands];
    ptrdiff_t steps[kMaxOperands];
    for (int k = 0; k <= program.n_inputs; ++k) {
      flat[k] = k < program.n_inputs ? inputs[k] : out;
      steps[k] = item_size(flat[k].dtype);
      flat[k].strides = &steps[k];
    }
    return run_view(program, given, flat, flat[program.n_inputs], 1, &n);
  }
  if (program.n_instrs == 0 && n <= kSmall && run_conversion(program, compute, inputs, out, ndim, shape, n))
    return Traversal::Block;
  if (program.n_instrs == 1 && program.n_constants == 0 && n < kSmall && run_small(program, compute, inputs, out, ndim, shape, n)) {
    return Traversal::Block;
  }

  const bool may_be_narrow = program.n_instrs == 1 && program.n_constants == 0 && program.n_inputs &&
                             (compute == DType::I64 || is_half(out.dtype));
  if (may_be_narrow && try_narrow(program, inputs, out, ndim, shape, n)) return Traversal::Flat;

  Plan plan;
  plan.program = &program;
  plan.ops = block_ops(compute);
  plan.compute = compute;
  plan.rounds = given == compute ? DType::Count : given;
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
    run_split(plan, n);
    return Traversal::Flat;
  }
  plan.ndim = ndim;
  plan.shape = shape;
  Dims dims;
  simplify(plan, dims);
  if (may_be_narrow && try_narrow_rows(plan)) return Traversal::Strided;
  run_split(plan, n);
  return Traversal::Strided;
}

// --- the table ---

BlockFn block(int op, DType compute) { return block_ops(compute)[op].fn; }

#define RUSHLIGHT_TEXT_OF(x) #x
#define RUSHLIGHT_TEXT(x) RUSHLIGHT_TEXT_OF(x)
constexpr Kernels kTable = {RUSHLIGHT_TEXT(RUSHLIGHT_ISA), block, nullptr, convert_adjacent, run_view, pick};

}  // namespace

const Kernels& table() { return kTable; }

}  // namespace rushlight::RUSHLIGHT_ISA
