// Numeric kernels: loops over raw pointers. Nothing here knows Python.
//
// Read first: `DType` (what an element is), `Program` (what the pointwise machine runs),
// `Kernels` (the table of entry points). The same sources are compiled once per instruction set
// (see CMakeLists.txt), each into its own namespace RUSHLIGHT_ISA; `kernels()` returns the table
// of the best set this processor has, chosen once at load.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace rushlight {

enum class DType : uint8_t {
  Bool,
  U8,
  I8,
  I16,
  I32,
  I64,
  F16,
  BF16,
  F32,
  F64,
  C64,
  C128,
  U16,
  U32,
  U64,
  F8E4M3FN,
  F8E4M3FNUZ,
  F8E5M2,
  F8E5M2FNUZ,
  F8E8M0FNU,
  C32,  // stored and converted; few ops compute with them
  Count
};

constexpr ptrdiff_t kItemSize[] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16, 2, 4, 8, 1, 1, 1, 1, 1, 4};
static_assert(sizeof(kItemSize) / sizeof(ptrdiff_t) == static_cast<size_t>(DType::Count));
inline ptrdiff_t item_size(DType t) { return kItemSize[static_cast<int>(t)]; }
inline bool is_half(DType t) { return t == DType::F16 || t == DType::BF16; }
// Halves are computed in float, and the result is rounded once.
inline DType computed_in(DType t) { return is_half(t) ? DType::F32 : t; }
inline bool is_float8(DType t) { return t >= DType::F8E4M3FN && t <= DType::F8E8M0FNU; }
// The complex types that kernels compute with.
inline bool is_pair(DType t) { return t == DType::C64 || t == DType::C128; }
// The type of its two parts; a real type itself.
inline DType part_of(DType t) { return t == DType::C64 ? DType::F32 : (t == DType::C128 ? DType::F64 : t); }
inline bool stored_only(DType t) { return t >= DType::F8E4M3FN && t < DType::Count; }

// The bits of a float or a double.
template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

// One step of a pointwise program: registers[dst] = op(registers[a], registers[b], registers[c]).
// Unary ops read a; binary a, b; ternary (where: a ? b : c; clamp: a, lo b, hi c) all three.
struct Instr {
  uint16_t op;
  uint8_t dst, a, b, c;
};

// A straight-line pointwise program. Registers: [0, n_inputs) hold the inputs, the next constants.size() the
// constants, the rest temporaries. At most 32 registers. `result` is the register to store.
struct Program {
  int n_inputs = 0;
  int n_registers = 0;
  int result = 0;
  std::vector<double> constants;
  std::vector<int64_t> int_constants;  // the same constants, exact, for DType::I64 compute
  std::vector<Instr> code;
  mutable uint64_t number = 0;  // where accelerators keep what they made of it (core/accelerator_programs.cpp)
};

// The same program as plain pointers: what crosses into the files compiled per instruction set, which keep clear of the
// standard containers (an inline function of theirs compiled for a newer processor could be linked in for all).
struct ProgramView {
  int n_inputs, n_constants, n_instrs, result;
  const double* constants;
  const int64_t* int_constants;
  const Instr* code;
};

// A strided operand; `strides` are in bytes, one per dimension of the iteration shape (0 where broadcast).
struct Strided {
  char* data;
  DType dtype;
  const ptrdiff_t* strides;
};

// Function over n contiguous elements, all of the compute type (F32: float, F64: double, I64: int64_t, C64 and C128: pairs).
// Comparisons and predicates write 0/1 of the compute type. out may equal a, b or c (element-aligned aliasing only).
using BlockFn = void (*)(const void* a, const void* b, const void* c, void* out, ptrdiff_t n);

// How a program went over its operands: a block function in one call; block by block over whole arrays and single elements; or along
// strides.
enum class Traversal : uint8_t { Block, Flat, Strided };

// The rows of isa/elementwise/ops.def, by number.
struct Instruction {
  const char* name;
  int arity;
  bool complex;  // whether accelerators compute it of complex numbers, too
};
const std::vector<Instruction>& instructions();
int opcode(const char* name);  // the number of "mul", "exp", ...; -1 where there is none

// Those of cost Series, over n contiguous elements (series.cpp); out may be a or b.
void run_series(int op, const double* a, const double* b, double* out, ptrdiff_t n);

struct Kernels {
  const char* isa;

  // --- pointwise.cpp ---
  // The block function of an op for a compute type; nullptr where the op is not defined for it.
  BlockFn (*block)(int op, DType compute);
  // Runs a program over `shape`; every input is loaded as the compute type (Bool loads as 0/1), the result is
  // converted to out.dtype on store (to Bool: x != 0; to integers: C conversion, wrapping for I64 compute; F16/BF16:
  // round to nearest even). A half as compute type: in float, each step rounded to it. Complex compute types load every type but C32, and store
  // complex types and Bool; others load no complex type. out must not partially overlap an input; it may
  // be exactly an input. Splits over threads (parallel_for) when large.
  Traversal (*run_program)(const Program& program, DType compute, const Strided* inputs, const Strided& out, int ndim,
                           const ptrdiff_t* shape);
  // n adjacent elements of one type to another; false for pairs of types that have no loop here.
  bool (*convert_adjacent)(DType from, const void* in, DType to, void* out, ptrdiff_t n);
  // run_program from plain pointers.
  Traversal (*run_view)(const ProgramView& program, DType compute, const Strided* inputs, const Strided& out, int ndim,
                        const ptrdiff_t* shape);
  // n elements of 1, 2, 4 or 8 bytes, 2 or -1 elements apart.
  void (*pick)(ptrdiff_t item, ptrdiff_t step, const char* in, char* out, ptrdiff_t n);
};

const Kernels& kernels();

// The thread pool (threads.cpp): calls fn(context, begin, end) over [0, n) in chunks of at least `grain`, on the
// calling thread and up to set_num_threads() - 1 workers. Started on first use; safe after fork; one caller at a time
// (a second concurrent or nested caller runs its range alone). No OpenMP.
void parallel_for(ptrdiff_t n, ptrdiff_t grain, void (*fn)(void* context, ptrdiff_t begin, ptrdiff_t end), void* context);
// The same of f(begin, end).
template <class F>
void parallel(ptrdiff_t n, ptrdiff_t grain, const F& f) {
  parallel_for(
      n, grain, [](void* context, ptrdiff_t begin, ptrdiff_t end) { (*static_cast<const F*>(context))(begin, end); },
      const_cast<F*>(&f));
}
// The same where each of n takes the time of so many elements, at some nanoseconds an element.
constexpr ptrdiff_t kThreadElements = 1 << 13;  // what is worth a thread
template <class F>
void parallel_by(ptrdiff_t n, ptrdiff_t each, const F& f) {
  parallel(n, kThreadElements / (each + 1) + 1, f);
}
void set_num_threads(int n);
int get_num_threads();

}  // namespace rushlight
