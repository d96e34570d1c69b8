// The pointwise operations as types, one for each line of ops.def, and the list of them all.
//
// To add an op: add a line to ops.def. Its number is its place there; nothing else refers to it.
//
// An op must not branch where it is to vectorise, never traps, and wraps integers. It has an `apply` for the element types that
// its line names. One of UNARY_NEAR is evaluated by `apply` where `fits` holds for a whole stretch of elements; elsewhere an element
// that does not fit is evaluated by `apply_far`.
//
// Compiled once per instruction set: everything here is local to the file that includes it.
#pragma once
#include "kernels/isa/math_float.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

template <class T>
concept Integer = sizeof(T) == 8 && static_cast<T>(0.5) == T(0);
template <class T>
concept Real = !Integer<T>;
template <class T>
concept Number = true;

// The cost of an element, in additions: decides how loops are built (loops.h) and work is split.
constexpr int kCheap = 1, kVector = 8, kLibrary = 32;
struct Cheap {
  template <class T>
  static constexpr int cost = kCheap;
};
struct Vector {  // many instructions, but vectorised
  template <class T>
  static constexpr int cost = kVector;
};
struct FloatVector {  // vectorised for float; the C library's for double
  template <class T>
  static constexpr int cost = sizeof(T) == 4 ? kVector : kLibrary;
};
struct Library {
  template <class T>
  static constexpr int cost = kLibrary;
};

// Integer arithmetic that wraps.
inline uint64_t unsign(int64_t x) { return static_cast<uint64_t>(x); }
inline int64_t wrap(uint64_t x) { return static_cast<int64_t>(x); }

template <Number T>
inline bool is_nan(T x) {
  return x != x;
}
template <Number T>
inline T truth(bool x) {
  return x ? T(1) : T(0);
}

// Operations of more than a line, or other ones for integers.
namespace arith {

template <Real T>
inline T add(T a, T b) {
  return a + b;
}
inline int64_t add(int64_t a, int64_t b) { return wrap(unsign(a) + unsign(b)); }

template <Real T>
inline T sub(T a, T b) {
  return a - b;
}
inline int64_t sub(int64_t a, int64_t b) { return wrap(unsign(a) - unsign(b)); }

template <Real T>
inline T mul(T a, T b) {
  return a * b;
}
inline int64_t mul(int64_t a, int64_t b) { return wrap(unsign(a) * unsign(b)); }

template <Real T>
inline T neg(T a) {
  return -a;
}
inline int64_t neg(int64_t a) { return wrap(-unsign(a)); }

template <Real T>
inline T abs(T a) {
  return math::abs(a);
}
inline int64_t abs(int64_t a) { return a < 0 ? wrap(-unsign(a)) : a; }

template <Real T>
inline T pow(T a, T b) {
  return math::pow(a, b);
}
inline int64_t pow(int64_t a, int64_t b) {
  if (b < 0) return a == 1 ? 1 : (a == -1 ? ((b & 1) != 0 ? -1 : 1) : 0);
  uint64_t result = 1, power = unsign(a);
  for (uint64_t left = unsign(b); left != 0; left >>= 1) {
    if ((left & 1) != 0) result *= power;
    power *= power;
  }
  return wrap(result);
}

template <Real T>
inline T logaddexp(T a, T b) {
  const T r = (a > b ? a : b) + math::log1p(math::exp(-math::abs(a - b)));
  return (a == b) & (math::abs(a) == T(math::kInf)) ? a : r;
}
template <Real T>
inline T logaddexp2(T a, T b) {
  const T r = (a > b ? a : b) + math::log1p(math::exp2(-math::abs(a - b))) * T(1.4426950408889634);
  return (a == b) & (math::abs(a) == T(math::kInf)) ? a : r;
}

// -log(1 + e^-a)
template <Real T>
inline T log_sigmoid(T a) {
  return (a < T(0) ? a : T(0)) - math::log1p_unit(math::exp_down(-math::abs(a)));
}

// a times the normal distribution function, and the derivative of that. In float by the tail's ratio to the density, so that
// one exponential serves both and what is left of negative numbers keeps its digits; an infinity times 0 is NaN, as in the formula.
inline float gelu(float a) {
  const float x = math::abs(a), tail = math::normal_density(x) * math::mills(x);
  return a * (a >= 0.0f ? 1.0f - tail : tail);
}
inline float gelu_slope(float a) {
  const float x = math::abs(a), w = math::normal_density(x) * (math::mills(x) - x);
  return a >= 0.0f ? 1.0f - w : w;
}
inline double gelu(double a) { return a * 0.5 * (1.0 + math::erf(a * 0.7071067811865476)); }
inline double gelu_slope(double a) {
  return 0.5 * (1.0 + math::erf(a * 0.7071067811865476)) + a * (0.3989422804014327 * math::exp(-0.5 * (a * a)));
}

// The approximation by tanh: (1 + tanh(u)) / 2 is the sigmoid of 2 u.
template <Real T>
inline T gelu_tanh_gate(T a) {
  return math::sigmoid(a * (T(1.5957691216057308) + T(0.07135481627260025) * (a * a)));
}
template <Real T>
inline T gelu_tanh(T a) {
  return a * gelu_tanh_gate(a);
}
template <Real T>
inline T gelu_tanh_slope(T a) {
  const T s = gelu_tanh_gate(a);
  return s + a * (s * (T(1) - s)) * (T(1.5957691216057308) + T(0.21406444881780073) * (a * a));
}

template <Real T>
inline T silu(T a) {
  return a * math::sigmoid(a);
}
template <Real T>
inline T silu_slope(T a) {
  const T s = math::sigmoid(a);
  return s * (T(1) + a * (T(1) - s));
}

// tanh(softplus(a)) = n / d with e = e^-|a|, which does not overflow.
template <Real T>
struct MishGate {
  T e, n, d;
};
template <Real T>
inline MishGate<T> mish_gate(T a) {
  const bool up = a >= T(0);
  const T e = math::exp_down(-math::abs(a));
  const T n = up ? T(1) + T(2) * e : e * (e + T(2));
  return {e, n, n + (up ? T(2) * e * e : T(2))};
}
template <Real T>
inline T mish(T a) {
  const MishGate<T> g = mish_gate(a);
  return a * (g.n / g.d);
}
template <Real T>
inline T mish_slope(T a) {
  const MishGate<T> g = mish_gate(a);
  const T t = g.n / g.d;
  return t + a * ((a >= T(0) ? T(1) : g.e) / (T(1) + g.e)) * ((g.d - g.n) * (T(1) + t) / g.d);
}

template <Real T>
inline T xlogy(T a, T b) {
  const T r = a * math::log(b);
  return is_nan(b) ? b : (a == T(0) ? T(0) : r);
}

template <Number T>
inline T clamp(T a, T low, T high) {
  T r = a < low ? low : a;
  r = r > high ? high : r;
  r = is_nan(low) ? low : r;
  return is_nan(high) ? high : r;
}

template <Real T>
inline T trunc_divide(T a, T b) {
  return math::trunc(a / b);
}
inline int64_t trunc_divide(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? neg(a) : a / b;
}

template <Real T>
inline T fmod(T a, T b) {
  return math::fmod(a, b);
}
inline int64_t fmod(int64_t a, int64_t b) { return (b == 0) | (b == -1) ? 0 : a % b; }

template <Number T>
inline T remainder(T a, T b) {
  const T r = fmod(a, b);
  return (r != T(0)) & ((r < T(0)) != (b < T(0))) ? r + b : r;
}

template <Real T>
inline T floor_divide(T a, T b) {
  if (b == T(0)) return a / b;
  const T r = math::fmod(a, b);  // from the exact remainder: floor(a / b) may round up to the next whole number
  T quotient = (a - r) / b;
  if (r != T(0) && (b < T(0)) != (r < T(0))) quotient -= T(1);
  if (quotient == T(0)) return math::copysign(T(0), a / b);
  const T whole = math::floor(quotient);
  return quotient - whole > T(0.5) ? whole + T(1) : whole;
}
inline int64_t floor_divide(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return neg(a);
  const int64_t quotient = a / b;
  return (a % b != 0) & ((a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

}  // namespace arith

#define RUSHLIGHT_POINTWISE(op, count, cost, types, parameters, result) \
  struct op##_op : cost {                                               \
    static constexpr char name[] = #op;                                 \
    static constexpr int arity = count;                                 \
    template <types T>                                                  \
    static T apply parameters {                                         \
      return result;                                                    \
    }                                                                   \
  };
#define UNARY(op, cost, types, result) RUSHLIGHT_POINTWISE(op, 1, cost, types, (T a), result)
#define BINARY(op, cost, types, result) RUSHLIGHT_POINTWISE(op, 2, cost, types, (T a, T b), result)
#define TERNARY(op, cost, types, result) RUSHLIGHT_POINTWISE(op, 3, cost, types, (T a, T b, T c), result)
#define UNARY_NEAR(op, cost, condition, near, far) \
  struct op##_op : cost {                          \
    static constexpr char name[] = #op;            \
    static constexpr int arity = 1;                \
    template <Real T>                              \
    static bool fits(T a) {                        \
      return condition;                            \
    }                                              \
    template <Real T>                              \
    static T apply(T a) {                          \
      return near;                                 \
    }                                              \
    template <Real T>                              \
    static T apply_far(T a) {                      \
      return far;                                  \
    }                                              \
  };
#include "kernels/isa/ops.def"
#undef UNARY
#undef BINARY
#undef TERNARY
#undef UNARY_NEAR
#undef RUSHLIGHT_POINTWISE

template <class... Op>
struct OpList {
  static constexpr int size = sizeof...(Op);
};
template <class None, class... Op>
OpList<Op...> without_first(OpList<None, Op...>);

// Each line of ops.def gives ", its_op".
#define UNARY(op, ...) , op##_op
#define BINARY(op, ...) , op##_op
#define TERNARY(op, ...) , op##_op
#define UNARY_NEAR(op, ...) , op##_op
using AllOps = decltype(without_first(OpList<void
#include "kernels/isa/ops.def"
                                             >{}));
#undef UNARY
#undef BINARY
#undef TERNARY
#undef UNARY_NEAR

}  // namespace
}  // namespace rushlight::RUSHLIGHT_ISA
