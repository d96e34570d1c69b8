// The pointwise operations as types, one for each line of ops.def, for the type COMPUTED, which a
// file names before it includes this; T in the texts.
//
// To add an op: add a line to ops.def. An op has an `apply` where the line is of T. One of UNARY_NEAR
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
struct FloatVector {  // vectorised for float; the C library's for double
  static constexpr int cost = sizeof(T) == 4 ? kVector : kLibrary;
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

#define OP(name, count, cost, types, result)                                                  \
  struct name : cost {                                                                        \
    static constexpr int arity = count;                                                       \
    types(static T apply(T a, [[maybe_unused]] T b, [[maybe_unused]] T c) { return result; }) \
  };
#define OP_NEAR(name, cost, types, condition, near, far) \
  struct name : cost {                                   \
    static constexpr int arity = 1;                      \
    types(static bool fits(T a) { return condition; });  \
    types(static T apply(T a, T, T) { return near; });   \
    types(static T apply_far(T a) { return far; });      \
  };
#define OP_PARTS(name, cost, types, condition, near, reach, all, far)       \
  struct name : cost {                                                      \
    static constexpr int arity = 1;                                         \
    types(static bool in_part([[maybe_unused]] T a) { return condition; }); \
    types(static T apply_near([[maybe_unused]] T a) { return near; });      \
    types(static bool fits([[maybe_unused]] T a) { return reach; });        \
    types(static T apply([[maybe_unused]] T a, T, T) { return all; });      \
    types(static T apply_far([[maybe_unused]] T a) { return far; });        \
  };
#include "kernels/isa/elementwise/ops.def"
#undef OP_NEAR
#undef OP_PARTS

}  // namespace math
}  // namespace
}  // namespace rushlight::RUSHLIGHT_ISA
