// The pointwise operations: one struct each, and their list at the end.
//
// To add an op: write a struct with its `name`, its `arity` and an `apply` for the element types it has (Real: float
// and double; Integer: int64_t; Number: all three), derive it from what evaluating it costs, and name it in AllOps.
// Its number is its place in that list; nothing else refers to it.
//
// apply must not branch where the op is to vectorise, never traps, and wraps integers. An op with a `fits` member is
// evaluated by apply where fits(x) holds for a whole stretch of elements, and elsewhere by apply_far where it does not.
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

// What evaluating an element costs, in units of an addition: how loops are built (loops.h) and work is split.
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

// --- arithmetic ---

struct Add : Cheap {
  static constexpr char name[] = "add";
  static constexpr int arity = 2;
  template <Real T>
  static T apply(T a, T b) {
    return a + b;
  }
  static int64_t apply(int64_t a, int64_t b) { return wrap(unsign(a) + unsign(b)); }
};
struct Sub : Cheap {
  static constexpr char name[] = "sub";
  static constexpr int arity = 2;
  template <Real T>
  static T apply(T a, T b) {
    return a - b;
  }
  static int64_t apply(int64_t a, int64_t b) { return wrap(unsign(a) - unsign(b)); }
};
struct Mul : Cheap {
  static constexpr char name[] = "mul";
  static constexpr int arity = 2;
  template <Real T>
  static T apply(T a, T b) {
    return a * b;
  }
  static int64_t apply(int64_t a, int64_t b) { return wrap(unsign(a) * unsign(b)); }
};
struct Div : Cheap {
  static constexpr char name[] = "div";
  static constexpr int arity = 2;
  template <Real T>
  static T apply(T a, T b) {
    return a / b;
  }
};
struct MulAdd : Cheap {  // two roundings
  static constexpr char name[] = "muladd";
  static constexpr int arity = 3;
  template <Number T>
  static T apply(T a, T b, T c) {
    return Add::apply(Mul::apply(a, b), c);
  }
};
struct Neg : Cheap {
  static constexpr char name[] = "neg";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return -a;
  }
  static int64_t apply(int64_t a) { return wrap(-unsign(a)); }
};
struct Abs : Cheap {
  static constexpr char name[] = "abs";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::abs(a);
  }
  static int64_t apply(int64_t a) { return a < 0 ? wrap(-unsign(a)) : a; }
};
struct Sign : Cheap {
  static constexpr char name[] = "sign";
  static constexpr int arity = 1;
  template <Number T>
  static T apply(T a) {
    return truth<T>(a > T(0)) - truth<T>(a < T(0));
  }
};
struct Square : Cheap {
  static constexpr char name[] = "square";
  static constexpr int arity = 1;
  template <Number T>
  static T apply(T a) {
    return Mul::apply(a, a);
  }
};
struct Reciprocal : Cheap {
  static constexpr char name[] = "reciprocal";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return T(1) / a;
  }
};
struct Sqrt : Cheap {
  static constexpr char name[] = "sqrt";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::sqrt(a);
  }
};
struct Rsqrt : Cheap {
  static constexpr char name[] = "rsqrt";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return T(1) / math::sqrt(a);
  }
};

// --- exponentials and logarithms ---

struct Exp : Vector {
  static constexpr char name[] = "exp";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::exp(a);
  }
};
struct Exp2 : Vector {
  static constexpr char name[] = "exp2";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::exp2(a);
  }
};
struct Expm1 : Vector {
  static constexpr char name[] = "expm1";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::expm1(a);
  }
};
struct Log : Vector {
  static constexpr char name[] = "log";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::log(a);
  }
};
struct Log2 : Vector {
  static constexpr char name[] = "log2";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::log2(a);
  }
};
struct Log10 : FloatVector {
  static constexpr char name[] = "log10";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::log10(a);
  }
};
struct Log1p : Vector {
  static constexpr char name[] = "log1p";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::log1p(a);
  }
};
struct Softplus : Vector {
  static constexpr char name[] = "softplus";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return (a > T(0) ? a : T(0)) + math::log1p(math::exp(-math::abs(a)));
  }
};
struct LogAddExp : Vector {
  static constexpr char name[] = "logaddexp";
  static constexpr int arity = 2;
  template <Real T>
  static T apply(T a, T b) {
    const T r = (a > b ? a : b) + math::log1p(math::exp(-math::abs(a - b)));
    return (a == b) & (math::abs(a) == T(math::kInf)) ? a : r;
  }
};
struct LogAddExp2 : Vector {
  static constexpr char name[] = "logaddexp2";
  static constexpr int arity = 2;
  template <Real T>
  static T apply(T a, T b) {
    const T r = (a > b ? a : b) + math::log1p(math::exp2(-math::abs(a - b))) * T(1.4426950408889634);
    return (a == b) & (math::abs(a) == T(math::kInf)) ? a : r;
  }
};
struct XLogY : Vector {
  static constexpr char name[] = "xlogy";
  static constexpr int arity = 2;
  template <Real T>
  static T apply(T a, T b) {
    const T r = a * math::log(b);
    return is_nan(b) ? b : (a == T(0) ? T(0) : r);
  }
};
struct Pow : FloatVector {
  static constexpr char name[] = "pow";
  static constexpr int arity = 2;
  template <Real T>
  static T apply(T a, T b) {
    return math::pow(a, b);
  }
  static int64_t apply(int64_t a, int64_t b) {
    if (b < 0) return a == 1 ? 1 : (a == -1 ? ((b & 1) != 0 ? -1 : 1) : 0);
    uint64_t result = 1, power = unsign(a);
    for (uint64_t left = unsign(b); left != 0; left >>= 1) {
      if ((left & 1) != 0) result *= power;
      power *= power;
    }
    return wrap(result);
  }
};
struct Ldexp : Vector {  // b need not be whole
  static constexpr char name[] = "ldexp";
  static constexpr int arity = 2;
  template <Real T>
  static T apply(T a, T b) {
    return a * math::exp2(b);
  }
};

// --- trigonometric and hyperbolic functions ---

struct Sin : Vector {
  static constexpr char name[] = "sin";
  static constexpr int arity = 1;
  template <Real T>
  static bool fits(T a) {
    return math::trig_fits(a);
  }
  template <Real T>
  static T apply(T a) {
    return math::sin(a);
  }
  template <Real T>
  static T apply_far(T a) {
    return math::sin_far(a);
  }
};
struct Cos : Vector {
  static constexpr char name[] = "cos";
  static constexpr int arity = 1;
  template <Real T>
  static bool fits(T a) {
    return math::trig_fits(a);
  }
  template <Real T>
  static T apply(T a) {
    return math::cos(a);
  }
  template <Real T>
  static T apply_far(T a) {
    return math::cos_far(a);
  }
};
struct Tan : FloatVector {
  static constexpr char name[] = "tan";
  static constexpr int arity = 1;
  template <Real T>
  static bool fits(T a) {
    return math::trig_fits(a);
  }
  template <Real T>
  static T apply(T a) {
    return math::tan(a);
  }
  template <Real T>
  static T apply_far(T a) {
    return math::tan_far(a);
  }
};
struct Asin : FloatVector {
  static constexpr char name[] = "asin";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::asin(a);
  }
};
struct Acos : FloatVector {
  static constexpr char name[] = "acos";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::acos(a);
  }
};
struct Atan : FloatVector {
  static constexpr char name[] = "atan";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::atan(a);
  }
};
struct Atan2 : FloatVector {
  static constexpr char name[] = "atan2";
  static constexpr int arity = 2;
  template <Real T>
  static T apply(T a, T b) {
    return math::atan2(a, b);
  }
};
struct Hypot : FloatVector {
  static constexpr char name[] = "hypot";
  static constexpr int arity = 2;
  template <Real T>
  static T apply(T a, T b) {
    return math::hypot(a, b);
  }
};
struct Sinh : FloatVector {
  static constexpr char name[] = "sinh";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::sinh(a);
  }
};
struct Cosh : FloatVector {
  static constexpr char name[] = "cosh";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::cosh(a);
  }
};
struct Tanh : Vector {
  static constexpr char name[] = "tanh";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::tanh(a);
  }
};
struct Asinh : FloatVector {
  static constexpr char name[] = "asinh";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::asinh(a);
  }
};
struct Acosh : FloatVector {
  static constexpr char name[] = "acosh";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::acosh(a);
  }
};
struct Atanh : FloatVector {
  static constexpr char name[] = "atanh";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::atanh(a);
  }
};

// --- special functions ---

struct Sigmoid : Vector {
  static constexpr char name[] = "sigmoid";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::sigmoid(a);
  }
};
struct Erf : FloatVector {
  static constexpr char name[] = "erf";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::erf(a);
  }
};
struct Erfc : FloatVector {
  static constexpr char name[] = "erfc";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::erfc(a);
  }
};
struct Erfinv : FloatVector {
  static constexpr char name[] = "erfinv";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::erfinv(a);
  }
};
struct Lgamma : Library {
  static constexpr char name[] = "lgamma";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::lgamma(a);
  }
};
struct Digamma : Library {
  static constexpr char name[] = "digamma";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::digamma(a);
  }
};

// --- limits; of two equal operands the first; NaN wins except in fmax and fmin ---

struct Relu : Cheap {
  static constexpr char name[] = "relu";
  static constexpr int arity = 1;
  template <Number T>
  static T apply(T a) {
    return a < T(0) ? T(0) : a;
  }
};
struct Maximum : Cheap {
  static constexpr char name[] = "maximum";
  static constexpr int arity = 2;
  template <Number T>
  static T apply(T a, T b) {
    return is_nan(a) ? a : (a >= b ? a : b);
  }
};
struct Minimum : Cheap {
  static constexpr char name[] = "minimum";
  static constexpr int arity = 2;
  template <Number T>
  static T apply(T a, T b) {
    return is_nan(a) ? a : (a <= b ? a : b);
  }
};
struct Fmax : Cheap {
  static constexpr char name[] = "fmax";
  static constexpr int arity = 2;
  template <Real T>
  static T apply(T a, T b) {
    return is_nan(b) ? a : (a >= b ? a : b);
  }
};
struct Fmin : Cheap {
  static constexpr char name[] = "fmin";
  static constexpr int arity = 2;
  template <Real T>
  static T apply(T a, T b) {
    return is_nan(b) ? a : (a <= b ? a : b);
  }
};
struct Clamp : Cheap {  // where the limits cross, the upper one
  static constexpr char name[] = "clamp";
  static constexpr int arity = 3;
  template <Number T>
  static T apply(T a, T low, T high) {
    T r = a < low ? low : a;
    r = r > high ? high : r;
    r = is_nan(low) ? low : r;
    return is_nan(high) ? high : r;
  }
};
struct Where : Cheap {
  static constexpr char name[] = "where";
  static constexpr int arity = 3;
  template <Number T>
  static T apply(T a, T b, T c) {
    return a != T(0) ? b : c;
  }
};
struct Heaviside : Cheap {
  static constexpr char name[] = "heaviside";
  static constexpr int arity = 2;
  template <Real T>
  static T apply(T a, T b) {
    return a == T(0) ? b : truth<T>(a > T(0));
  }
};
struct CopySign : Cheap {
  static constexpr char name[] = "copysign";
  static constexpr int arity = 2;
  template <Real T>
  static T apply(T a, T b) {
    return math::copysign(a, b);
  }
};
struct NextAfter : Library {
  static constexpr char name[] = "nextafter";
  static constexpr int arity = 2;
  template <Real T>
  static T apply(T a, T b) {
    return math::nextafter(a, b);
  }
};

// --- rounding and remainders; dividing an integer by zero gives 0 (callers refuse it first) ---

struct Floor : Cheap {
  static constexpr char name[] = "floor";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::floor(a);
  }
};
struct Ceil : Cheap {
  static constexpr char name[] = "ceil";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::ceil(a);
  }
};
struct Round : Cheap {  // half to even
  static constexpr char name[] = "round";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::round(a);
  }
};
struct Trunc : Cheap {
  static constexpr char name[] = "trunc";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return math::trunc(a);
  }
};
struct Frac : Cheap {
  static constexpr char name[] = "frac";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return a - math::trunc(a);
  }
};
struct TruncDivide : Library {
  static constexpr char name[] = "trunc_divide";
  static constexpr int arity = 2;
  template <Real T>
  static T apply(T a, T b) {
    return math::trunc(a / b);
  }
  static int64_t apply(int64_t a, int64_t b) {
    if (b == 0) return 0;
    return b == -1 ? Neg::apply(a) : a / b;
  }
};
struct Fmod : Library {  // the sign of a
  static constexpr char name[] = "fmod";
  static constexpr int arity = 2;
  template <Real T>
  static T apply(T a, T b) {
    return math::fmod(a, b);
  }
  static int64_t apply(int64_t a, int64_t b) { return (b == 0) | (b == -1) ? 0 : a % b; }
};
struct Remainder : Library {  // the sign of b
  static constexpr char name[] = "remainder";
  static constexpr int arity = 2;
  template <Number T>
  static T apply(T a, T b) {
    const T r = Fmod::apply(a, b);
    return (r != T(0)) & ((r < T(0)) != (b < T(0))) ? r + b : r;
  }
};
struct FloorDivide : Library {
  static constexpr char name[] = "floor_divide";
  static constexpr int arity = 2;
  template <Real T>
  static T apply(T a, T b) {
    if (b == T(0)) return a / b;
    const T r = math::fmod(a, b);  // from the exact remainder: floor(a / b) may round up to the next whole number
    T quotient = (a - r) / b;
    if (r != T(0) && (b < T(0)) != (r < T(0))) quotient -= T(1);
    if (quotient == T(0)) return math::copysign(T(0), a / b);
    const T whole = math::floor(quotient);
    return quotient - whole > T(0.5) ? whole + T(1) : whole;
  }
  static int64_t apply(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return Neg::apply(a);
    const int64_t quotient = a / b;
    return (a % b != 0) & ((a < 0) != (b < 0)) ? quotient - 1 : quotient;
  }
};

// --- comparisons, predicates and logic: 1 or 0 ---

struct Eq : Cheap {
  static constexpr char name[] = "eq";
  static constexpr int arity = 2;
  template <Number T>
  static T apply(T a, T b) {
    return truth<T>(a == b);
  }
};
struct Ne : Cheap {
  static constexpr char name[] = "ne";
  static constexpr int arity = 2;
  template <Number T>
  static T apply(T a, T b) {
    return truth<T>(a != b);
  }
};
struct Lt : Cheap {
  static constexpr char name[] = "lt";
  static constexpr int arity = 2;
  template <Number T>
  static T apply(T a, T b) {
    return truth<T>(a < b);
  }
};
struct Le : Cheap {
  static constexpr char name[] = "le";
  static constexpr int arity = 2;
  template <Number T>
  static T apply(T a, T b) {
    return truth<T>(a <= b);
  }
};
struct Gt : Cheap {
  static constexpr char name[] = "gt";
  static constexpr int arity = 2;
  template <Number T>
  static T apply(T a, T b) {
    return truth<T>(a > b);
  }
};
struct Ge : Cheap {
  static constexpr char name[] = "ge";
  static constexpr int arity = 2;
  template <Number T>
  static T apply(T a, T b) {
    return truth<T>(a >= b);
  }
};
struct IsNan : Cheap {
  static constexpr char name[] = "isnan";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return truth<T>(is_nan(a));
  }
};
struct IsInf : Cheap {
  static constexpr char name[] = "isinf";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return truth<T>(math::abs(a) == T(math::kInf));
  }
};
struct IsFinite : Cheap {
  static constexpr char name[] = "isfinite";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return truth<T>(math::abs(a) < T(math::kInf));
  }
};
struct SignBit : Cheap {
  static constexpr char name[] = "signbit";
  static constexpr int arity = 1;
  template <Real T>
  static T apply(T a) {
    return truth<T>(math::copysign(T(1), a) < T(0));
  }
};
struct LogicalNot : Cheap {
  static constexpr char name[] = "logical_not";
  static constexpr int arity = 1;
  template <Number T>
  static T apply(T a) {
    return truth<T>(a == T(0));
  }
};
struct LogicalAnd : Cheap {
  static constexpr char name[] = "logical_and";
  static constexpr int arity = 2;
  template <Number T>
  static T apply(T a, T b) {
    return truth<T>((a != T(0)) & (b != T(0)));
  }
};
struct LogicalOr : Cheap {
  static constexpr char name[] = "logical_or";
  static constexpr int arity = 2;
  template <Number T>
  static T apply(T a, T b) {
    return truth<T>((a != T(0)) | (b != T(0)));
  }
};
struct LogicalXor : Cheap {
  static constexpr char name[] = "logical_xor";
  static constexpr int arity = 2;
  template <Number T>
  static T apply(T a, T b) {
    return truth<T>((a != T(0)) != (b != T(0)));
  }
};

// --- bits ---

struct BitwiseAnd : Cheap {
  static constexpr char name[] = "bitwise_and";
  static constexpr int arity = 2;
  static int64_t apply(int64_t a, int64_t b) { return a & b; }
};
struct BitwiseOr : Cheap {
  static constexpr char name[] = "bitwise_or";
  static constexpr int arity = 2;
  static int64_t apply(int64_t a, int64_t b) { return a | b; }
};
struct BitwiseXor : Cheap {
  static constexpr char name[] = "bitwise_xor";
  static constexpr int arity = 2;
  static int64_t apply(int64_t a, int64_t b) { return a ^ b; }
};
struct BitwiseNot : Cheap {
  static constexpr char name[] = "bitwise_not";
  static constexpr int arity = 1;
  static int64_t apply(int64_t a) { return ~a; }
};
struct LeftShift : Cheap {  // by a negative count or 64 and more: 0
  static constexpr char name[] = "left_shift";
  static constexpr int arity = 2;
  static int64_t apply(int64_t a, int64_t b) { return unsign(b) < 64 ? wrap(unsign(a) << (b & 63)) : 0; }
};
struct RightShift : Cheap {  // by a negative count or 64 and more: all sign
  static constexpr char name[] = "right_shift";
  static constexpr int arity = 2;
  static int64_t apply(int64_t a, int64_t b) { return a >> (unsign(b) < 64 ? b & 63 : 63); }
};

template <class... Op>
struct OpList {
  static constexpr int size = sizeof...(Op);
};

using AllOps = OpList<Add, Sub, Mul, Div, MulAdd, Neg, Abs, Sign, Square, Reciprocal, Sqrt, Rsqrt,                            //
                      Exp, Exp2, Expm1, Log, Log2, Log10, Log1p, Softplus, LogAddExp, LogAddExp2, XLogY, Pow, Ldexp,          //
                      Sin, Cos, Tan, Asin, Acos, Atan, Atan2, Hypot, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh,                   //
                      Sigmoid, Erf, Erfc, Erfinv, Lgamma, Digamma,                                                            //
                      Relu, Maximum, Minimum, Fmax, Fmin, Clamp, Where, Heaviside, CopySign, NextAfter,                       //
                      Floor, Ceil, Round, Trunc, Frac, TruncDivide, Fmod, Remainder, FloorDivide,                             //
                      Eq, Ne, Lt, Le, Gt, Ge, IsNan, IsInf, IsFinite, SignBit, LogicalNot, LogicalAnd, LogicalOr, LogicalXor, //
                      BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot, LeftShift, RightShift>;

}  // namespace
}  // namespace rushlight::RUSHLIGHT_ISA
