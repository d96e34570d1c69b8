// Pointwise programs as data: one kernel for each type that is computed in interprets all of them.
//
// A work item does BLOCK neighbouring elements, one instruction over all of them at a time. The instructions are those of
// native/kernels/isa/ops.def by name; the host defines OP_<name> as the number. Strides are in bytes.
// BLOCK, REGISTERS, INPUTS and SCALAR, the type of an input that is a number, are the core's.
#ifndef __CUDACC__
#pragma OPENCL FP_CONTRACT OFF  // so that a program gives the same bits interpreted and compiled
#endif

typedef struct {
  int n_inputs, n_constants, n_instructions, result, out_type, ndim;
  int types[INPUTS];
  i64 count;
  i64 sizes[DIMS];
  i64 out_strides[DIMS];
  i64 strides[INPUTS][DIMS];
  i64 places[INPUTS];
  i64 out_place;
  i64 scalars[INPUTS];  // the bits of a T
} Call;

#ifdef REAL
FUNCTION T truth(int x) { return (T)(x ? 1 : 0); }
FUNCTION T clamped(T a, T low, T high) {
  T r = a < low ? low : a;
  r = r > high ? high : r;
  r = low != low ? low : r;
  return high != high ? high : r;
}
FUNCTION T sigmoid(T a) {
  const T e = exp(-fabs(a));
  return a >= 0 ? 1 / (1 + e) : e / (1 + e);
}
FUNCTION T log_sigmoid(T a) { return (a < 0 ? a : (T)0) - log1p(exp(-fabs(a))); }
FUNCTION T gelu(T a) { return a * (T)0.5 * erfc(a * (T)-0.70710678118654752); }
FUNCTION T gelu_slope(T a) {
  return (T)0.5 * erfc(a * (T)-0.70710678118654752) + a * ((T)0.3989422804014327 * exp((T)-0.5 * (a * a)));
}
FUNCTION T gelu_gate(T a) { return sigmoid(a * ((T)1.5957691216057308 + (T)0.07135481627260025 * (a * a))); }
FUNCTION T gelu_tanh_slope(T a) {
  const T s = gelu_gate(a);
  return s + a * (s * (1 - s)) * ((T)1.5957691216057308 + (T)0.21406444881780073 * (a * a));
}
FUNCTION T silu_slope(T a) {
  const T s = sigmoid(a);
  return s * (1 + a * (1 - s));
}
FUNCTION T mish(T a) {
  const T e = exp(-fabs(a)), n = a >= 0 ? 1 + 2 * e : e * (e + 2);
  return a * (n / (n + (a >= 0 ? 2 * e * e : (T)2)));
}
FUNCTION T mish_slope(T a) {
  const T e = exp(-fabs(a)), n = a >= 0 ? 1 + 2 * e : e * (e + 2), d = n + (a >= 0 ? 2 * e * e : (T)2), t = n / d;
  return t + a * ((a >= 0 ? (T)1 : e) / (1 + e)) * ((d - n) * (1 + t) / d);
}
FUNCTION T log_add_exp(T a, T b) {
  return a == b && isinf(a) ? a : (a > b ? a : b) + log1p(exp(-fabs(a - b)));
}
FUNCTION T log_add_exp2(T a, T b) {
  return a == b && isinf(a) ? a : (a > b ? a : b) + log1p(exp2(-fabs(a - b))) * (T)1.4426950408889634;
}
FUNCTION T remainder_of(T a, T b) {
  const T r = fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
FUNCTION T floor_divided(T a, T b) {
  if (b == 0) return a / b;
  const T r = fmod(a, b);
  T quotient = (a - r) / b;
  if (r != 0 && (b < 0) != (r < 0)) quotient -= 1;
  if (quotient == 0) return copysign((T)0, a / b);
  const T whole = floor(quotient);
  return quotient - whole > (T)0.5 ? whole + 1 : whole;
}
// After Giles, "Approximating the erfinv function" (2010), and two steps of Newton's method.
FUNCTION T inverse_erf(T a) {
  if (fabs(a) >= 1) return fabs(a) == 1 ? copysign((T)INFINITE, a) : (T)NOT_A_NUMBER;
  const T w = -log((1 - a) * (1 + a));
  T x;
  if (w < 5) {
    const T v = w - (T)2.5;
    x = (T)1.50140941 + v * ((T)0.246640727 + v * ((T)-0.00417768164 + v * ((T)-0.00125372503 + v * ((T)0.000218580870 +
        v * ((T)-4.39150654e-06 + v * ((T)-3.5233877e-06 + v * ((T)3.43273939e-07 + v * (T)2.81022636e-08)))))));
  } else {
    const T v = sqrt(w) - 3;
    x = (T)2.83297682 + v * ((T)1.00167406 + v * ((T)0.00943887047 + v * ((T)-0.0076224613 + v * ((T)0.00573950773 +
        v * ((T)-0.00367342844 + v * ((T)0.00134934322 + v * ((T)0.000100950558 + v * (T)-0.000200214257)))))));
  }
  // Near 1 the logarithms of 1 - erf are compared, which keep their digits.
  const T away = 1 - fabs(a);
  if (w >= 5) {
    for (int i = 0; i < 4; ++i) {
      const T rest = erfc(x);
      x += log(rest / away) * rest / ((T)1.1283791670955126 * exp(-x * x));
    }
    return copysign(x, a);
  }
  x *= a;
  for (int i = 0; i < 2 && x == x; ++i) x -= (erf(x) - a) / ((T)1.1283791670955126 * exp(-x * x));
  return x;
}
// By the recurrence up to 10, then Stirling's series; for numbers below 0 by the reflection.
FUNCTION T digamma_of(T a) {
  if (a == 0) return copysign((T)INFINITE, -a);
  T r = 0;
  if (a < 0) {
    if (a == floor(a)) return (T)NOT_A_NUMBER;
    const T rest = a - trunc(a);
    r = (T)-3.14159265358979324 / tan((T)3.14159265358979324 * rest);
    a = 1 - a;
  }
  for (; a < 10; a += 1) r -= 1 / a;
  if (a == 10) return r + (T)2.25175258906672110764743456134;
  const T z = 1 / (a * a);
  const T series = z * ((T)8.33333333333333333e-2 - z * ((T)8.33333333333333333e-3 - z * ((T)3.96825396825396825e-3 -
      z * ((T)4.16666666666666667e-3 - z * ((T)7.57575757575757576e-3 - z * ((T)2.10927960927960928e-2 -
      z * (T)8.33333333333333333e-2))))));
  return r + log(a) - (T)0.5 / a - series;
}
#else
FUNCTION T truth(int x) { return x ? 1 : 0; }
FUNCTION T clamped(T a, T low, T high) {
  const T r = a < low ? low : a;
  return r > high ? high : r;
}
FUNCTION T power(T a, T b) {
  if (b < 0) return a == 1 ? 1 : (a == -1 ? ((b & 1) != 0 ? -1 : 1) : 0);
  u64 result = 1, square = (u64)a;
  for (u64 left = (u64)b; left != 0; left >>= 1) {
    if (left & 1) result *= square;
    square *= square;
  }
  return (T)result;
}
FUNCTION T truncated_divide(T a, T b) { return b == 0 ? 0 : (b == -1 ? (T)(-(u64)a) : a / b); }
FUNCTION T remains(T a, T b) { return b == 0 || b == -1 ? 0 : a % b; }
FUNCTION T remainder_of(T a, T b) {
  const T r = remains(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
FUNCTION T floor_divided(T a, T b) {
  if (b == 0) return 0;
  if (b == -1) return (T)(-(u64)a);
  const T quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
#endif

#define POINTWISE_PARAMETERS                                                                                           \
  Call call, GLOBAL const int *code, GLOBAL const T *constants, GLOBAL u8 *out, GLOBAL const u8 *in0,                  \
      GLOBAL const u8 *in1, GLOBAL const u8 *in2, GLOBAL const u8 *in3, GLOBAL const u8 *in4, GLOBAL const u8 *in5,    \
      GLOBAL const u8 *in6, GLOBAL const u8 *in7
#define SCALAR_OF(call, k) (*(const T *)&call.scalars[k])

// ---- the interpreter

// One instruction over a block. An op that the host has no number for is not among a program's.
#define STEP(name, result)                        \
  case OP_##name:                                 \
    for (int i = 0; i < BLOCK; ++i) {             \
      const T a = A[i], b = B[i], c = C[i];       \
      (void)a, (void)b, (void)c;                  \
      D[i] = (T)(result);                         \
    }                                             \
    break;

KERNEL pointwise(POINTWISE_PARAMETERS) {
  const i64 first = ITEM * BLOCK;
  if (first >= call.count) return;
  const int filled = call.count - first < BLOCK ? (int)(call.count - first) : BLOCK;
  T r[REGISTERS][BLOCK];
  i64 targets[BLOCK];
  for (int i = 0; i < filled; ++i) {
    i64 left = first + i, places[INPUTS];
    i64 target = call.out_place;
    for (int k = 0; k < INPUTS; ++k) places[k] = call.places[k];
    for (int d = call.ndim - 1; d >= 0; --d) {
      const i64 next = quotient(left, call.sizes[d]), at = left - next * call.sizes[d];
      left = next;
      target += at * call.out_strides[d];
      for (int k = 0; k < call.n_inputs; ++k) places[k] += at * call.strides[k][d];
    }
    targets[i] = target;
#define READ(k)                                                                                    \
  if (k < call.n_inputs)                                                                           \
    r[k][i] = call.types[k] == SCALAR ? SCALAR_OF(call, k) : load(in##k, places[k], call.types[k]);
    READ(0) READ(1) READ(2) READ(3) READ(4) READ(5) READ(6) READ(7)
  }
  for (int k = 0; k < call.n_constants; ++k) {
    for (int i = 0; i < BLOCK; ++i) r[call.n_inputs + k][i] = constants[k];
  }
  for (int k = 0; k < call.n_instructions; ++k) {
    const T *A = r[code[5 * k + 2]], *B = r[code[5 * k + 3]], *C = r[code[5 * k + 4]];
    T *D = r[code[5 * k + 1]];
    switch (code[5 * k]) {
      STEP(muladd, a * b + c)
      STEP(clamp, clamped(a, b, c))
      STEP(where, a != 0 ? b : c)
      STEP(where_above, a > 0 ? b : c)
      STEP(outside, truth(a <= b || a >= c))
      STEP(eq, truth(a == b))
      STEP(ne, truth(a != b))
      STEP(lt, truth(a < b))
      STEP(le, truth(a <= b))
      STEP(gt, truth(a > b))
      STEP(ge, truth(a >= b))
      STEP(logical_not, truth(a == 0))
      STEP(logical_and, truth(a != 0 && b != 0))
      STEP(logical_or, truth(a != 0 || b != 0))
      STEP(logical_xor, truth((a != 0) != (b != 0)))
      STEP(sign, truth(a > 0) - truth(a < 0))
      STEP(relu, a < 0 ? 0 : a)
      STEP(maximum, a != a ? a : (a >= b ? a : b))
      STEP(minimum, a != a ? a : (a <= b ? a : b))
      STEP(remainder, remainder_of(a, b))
      STEP(floor_divide, floor_divided(a, b))
#ifdef REAL
      STEP(add, a + b)
      STEP(sub, a - b)
      STEP(mul, a * b)
      STEP(neg, -a)
      STEP(abs, fabs(a))
      STEP(square, a * a)
      STEP(div, a / b)
      STEP(reciprocal, 1 / a)
      STEP(sqrt, sqrt(a))
      STEP(rsqrt, 1 / sqrt(a))
      STEP(exp, exp(a))
      STEP(exp2, exp2(a))
      STEP(expm1, expm1(a))
      STEP(log, log(a))
      STEP(log2, log2(a))
      STEP(log10, log10(a))
      STEP(log1p, log1p(a))
      STEP(logaddexp, log_add_exp(a, b))
      STEP(logaddexp2, log_add_exp2(a, b))
      STEP(xlogy, b != b ? b : (a == 0 ? (T)0 : a * log(b)))
      STEP(pow, pow(a, b))
      STEP(ldexp, a * exp2(b))
      STEP(sin, sin(a))
      STEP(cos, cos(a))
      STEP(tan, tan(a))
      STEP(asin, asin(a))
      STEP(acos, acos(a))
      STEP(atan, atan(a))
      STEP(atan2, atan2(a, b))
      STEP(hypot, hypot(a, b))
      STEP(sinh, sinh(a))
      STEP(cosh, cosh(a))
      STEP(tanh, tanh(a))
      STEP(asinh, asinh(a))
      STEP(acosh, acosh(a))
      STEP(atanh, atanh(a))
      STEP(sigmoid, sigmoid(a))
      STEP(erf, erf(a))
      STEP(erfc, erfc(a))
      STEP(erfinv, inverse_erf(a))
      STEP(lgamma, lgamma(a))
      STEP(digamma, digamma_of(a))
      STEP(gelu, gelu(a))
      STEP(gelu_slope, gelu_slope(a))
      STEP(gelu_tanh, a * gelu_gate(a))
      STEP(gelu_tanh_slope, gelu_tanh_slope(a))
      STEP(silu, a * sigmoid(a))
      STEP(silu_slope, silu_slope(a))
      STEP(mish, mish(a))
      STEP(mish_slope, mish_slope(a))
      STEP(softplus, a * b > c ? a : -log_sigmoid(-a * b) / b)
      STEP(softplus_slope, a * b > c ? (T)1 : sigmoid(a * b))
      STEP(logsigmoid, log_sigmoid(a))
      STEP(logsigmoid_slope, sigmoid(-a))
      STEP(hardswish, a * clamped(a + 3, 0, 6) / 6)
      STEP(hardswish_slope, a <= -3 ? (T)0 : (a < 3 ? a / 3 + (T)0.5 : (T)1))
      STEP(fmax, b != b ? a : (a >= b ? a : b))
      STEP(fmin, b != b ? a : (a <= b ? a : b))
      STEP(heaviside, a == 0 ? b : truth(a > 0))
      STEP(copysign, copysign(a, b))
      STEP(nextafter, nextafter(a, b))
      STEP(floor, floor(a))
      STEP(ceil, ceil(a))
      STEP(round, rint(a))
      STEP(trunc, trunc(a))
      STEP(frac, a - trunc(a))
      STEP(trunc_divide, trunc(a / b))
      STEP(fmod, fmod(a, b))
      STEP(isnan, truth(a != a))
      STEP(isinf, truth(fabs(a) == (T)INFINITE))
      STEP(isfinite, truth(fabs(a) < (T)INFINITE))
      STEP(signbit, truth(copysign((T)1, a) < 0))
#else
      STEP(add, (u64)a + (u64)b)
      STEP(sub, (u64)a - (u64)b)
      STEP(mul, (u64)a * (u64)b)
      STEP(neg, -(u64)a)
      STEP(abs, a < 0 ? -(u64)a : (u64)a)
      STEP(square, (u64)a * (u64)a)
      STEP(pow, power(a, b))
      STEP(trunc_divide, truncated_divide(a, b))
      STEP(fmod, remains(a, b))
      STEP(bitwise_and, a & b)
      STEP(bitwise_or, a | b)
      STEP(bitwise_xor, a ^ b)
      STEP(bitwise_not, ~a)
      STEP(left_shift, (u64)b < 64 ? (T)((u64)a << (b & 63)) : 0)
      STEP(right_shift, a >> ((u64)b < 64 ? b & 63 : 63))
#endif
    }
  }
  for (int i = 0; i < filled; ++i) store(out, targets[i], call.out_type, r[call.result][i]);
}
