// The pointwise operations as types, one for each line of ops.def, for the type COMPUTED, which a
// file names before it includes this; T in the texts.
//
// To add an op: add a line to ops.def. An op has an `apply` where the line is of T. One of ..._NEAR
// is evaluated by `apply` where `fits` holds for a whole stretch of elements; elsewhere an element
// that does not fit is evaluated by `apply_far`.
//
// Compiled once per instruction set: everything here is local to the file that includes it.
#pragma once
#include "kernels/isa/math_float.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

using T = COMPUTED;

// The cost of an element, in additions: decides how loops are built (loops.h) and work is split.
constexpr int kCheap = 1, kVector = 8, kLibrary = 32, kSeries = 128;
struct Cheap {
  static constexpr int cost = kCheap;
};
struct Vector {  // many instructions, but vectorised
  static constexpr int cost = kVector;
};
struct Library {
  static constexpr int cost = kLibrary;
};
struct Wide {  // a vector loop in double; of floats, through it
  static constexpr int cost = kVector;
};
struct Series {  // kernels/series.cpp
  static constexpr int cost = kSeries;
};

namespace math {

using i64 = int64_t;
using u64 = uint64_t;
#define CLEAR_OF_CALLERS
#include "kernels/isa/elementwise/series.h"
#include "kernels/isa/elementwise/arithmetic.h"

// Remainders where a quotient is small: exact, since a fused multiply-add rounds once, and since integers below 2^51 are doubles. A
// quotient that was rounded up to a whole number leaves a negative rest.
inline bool rest_fits(T a, T b) {
#ifdef REAL
#ifdef RUSHLIGHT_FMA
  constexpr T kMost = sizeof(T) == 4 ? T(0x1p22) : T(0x1p51);
  return (fabs(a) < fabs(b) * kMost) & (fabs(b) < T(INFINITE));
#else
  return (void)a, (void)b, false;
#endif
#else
  constexpr u64 kMost = u64{1} << 51;
  return (static_cast<u64>(a) + kMost < 2 * kMost) & (static_cast<u64>(b) + kMost < 2 * kMost) & (b != 0);
#endif
}
#ifdef REAL
inline T rest_near(T a, T b) {
  const T x = fabs(a), y = fabs(b), r = madd(-trunc(x / y), y, x);
  return copysign(r < 0 ? r + y : r, a);
}
inline T floor_near(T a, T b) { return floor_from(a, b, rest_near(a, b)); }
#else
inline T whole_near(T a, T b) { return static_cast<T>(static_cast<double>(a) / (b == 0 ? 1.0 : static_cast<double>(b))); }
inline T rest_near(T a, T b) { return a - whole_near(a, b) * b; }
inline T floor_near(T a, T b) {
  const T q = whole_near(a, b), r = a - q * b;
  return q - TRUTH((r != 0) & ((r < 0) != (b < 0)));
}
#endif

#define OP(name, count, cost, types, result)                                                  \
  struct name : cost {                                                                        \
    static constexpr int arity = count;                                                       \
    types(static T apply(T a, [[maybe_unused]] T b, [[maybe_unused]] T c) { return result; }) \
  };
#define OP_NEAR(name, count, cost, types, condition, near, far)               \
  struct name : cost {                                                        \
    static constexpr int arity = count;                                       \
    types(static bool fits(T a, [[maybe_unused]] T b) { return condition; }); \
    types(static T apply(T a, [[maybe_unused]] T b, T) { return near; });     \
    types(static T apply_far(T a, [[maybe_unused]] T b) { return far; });     \
  };
#define OP_PARTS(name, cost, types, condition, near, reach, all, far)       \
  struct name : cost {                                                      \
    static constexpr int arity = 1;                                         \
    types(static bool in_part([[maybe_unused]] T a) { return condition; }); \
    types(static T apply_near([[maybe_unused]] T a) { return near; });      \
    types(static bool fits([[maybe_unused]] T a, T) { return reach; });     \
    types(static T apply([[maybe_unused]] T a, T, T) { return all; });      \
    types(static T apply_far([[maybe_unused]] T a, T) { return far; });     \
  };
#include "kernels/isa/elementwise/ops.def"
#undef OP_NEAR
#undef OP_PARTS

}  // namespace math
}  // namespace
}  // namespace rushlight::RUSHLIGHT_ISA
