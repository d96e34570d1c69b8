// The arithmetic of ops.def that takes more than a line, for every device: C++, and the OpenCL C
// and CUDA C of kernel texts, compile this text for a type T, which is REAL or else i64. Complex
// numbers have an arithmetic of their own (complex.cl).
//
// The text needs FUNCTION, i64, u64, INFINITE, and for a REAL T the functions of C and some more:
// sigmoid, inverse_erf, normal_below and normal_density (of the normal distribution), exp_down
// (exp of numbers <= 0), log1p_unit (log1p of numbers from 0 to 1), and those of special.h and series.h.
//
// A function must not branch where it is to vectorise, never traps, and wraps integers.
#define TRUTH(condition) ((condition) ? (T)1 : (T)0)
#define OWN(name) name

FUNCTION bool is_true(T a) { return a != 0; }
FUNCTION bool is_same(T a, T b) { return a == b; }

#ifdef REAL
#define ROUNDED(function) function(a)
FUNCTION T add(T a, T b) { return a + b; }
FUNCTION T sub(T a, T b) { return a - b; }
FUNCTION T mul(T a, T b) { return a * b; }
FUNCTION T over(T a, T b) { return a / b; }
FUNCTION T one_over(T a) { return 1 / a; }
FUNCTION T negative(T a) { return -a; }
FUNCTION T magnitude(T a) { return fabs(a); }
FUNCTION T power(T a, T b) { return pow(a, b); }
FUNCTION T whole_quotient(T a, T b) { return trunc(a / b); }
FUNCTION T rest_after(T a, T b) { return fmod(a, b); }

FUNCTION bool is_minus(T a) { return copysign((T)1, a) < 0; }
FUNCTION bool is_nan(T a) { return a != a; }
FUNCTION bool is_infinite(T a) { return fabs(a) == (T)INFINITE; }
FUNCTION bool is_finite(T a) { return fabs(a) < (T)INFINITE; }
#else
#define ROUNDED(function) a
FUNCTION T add(T a, T b) { return (T)((u64)a + (u64)b); }
FUNCTION T sub(T a, T b) { return (T)((u64)a - (u64)b); }
FUNCTION T mul(T a, T b) { return (T)((u64)a * (u64)b); }
FUNCTION T negative(T a) { return (T)(-(u64)a); }
FUNCTION T magnitude(T a) { return a < 0 ? (T)(-(u64)a) : a; }
FUNCTION T power(T a, T b) {
  if (b < 0) return a == 1 ? 1 : (a == -1 ? ((b & 1) != 0 ? -1 : 1) : 0);
  u64 result = 1, square = (u64)a;
  for (u64 left = (u64)b; left != 0; left >>= 1) {
    if ((left & 1) != 0) result *= square;
    square *= square;
  }
  return (T)result;
}
FUNCTION T whole_quotient(T a, T b) { return b == 0 ? 0 : (b == -1 ? negative(a) : a / b); }
FUNCTION T rest_after(T a, T b) { return (b == 0) | (b == -1) ? 0 : a % b; }

FUNCTION bool is_minus(T a) { return a < 0; }
FUNCTION bool is_nan(T a) { return (void)a, false; }
#endif

FUNCTION T sign_of(T a) { return TRUTH(a > 0) - TRUTH(a < 0); }
FUNCTION T clamped(T a, T low, T high) {
  T r = a < low ? low : a;
  r = r > high ? high : r;
  r = is_nan(low) ? low : r;
  return is_nan(high) ? high : r;
}
// What is left of dividing by b with the sign of b, from what has that of the dividend.
FUNCTION T signed_as(T r, T b) { return (r != 0) & ((r < 0) != (b < 0)) ? r + b : r; }
FUNCTION T remainder_of(T a, T b) { return signed_as(rest_after(a, b), b); }

#ifdef REAL
// From the exact remainder: floor(a / b) may round up to the next whole number.
FUNCTION T floor_from(T a, T b, T r) {
  const T quotient = (a - r) / b - TRUTH((r != 0) & ((b < 0) != (r < 0)));
  const T whole = floor(quotient);
  return quotient == 0 ? copysign((T)0, a / b) : (quotient - whole > (T)0.5 ? whole + 1 : whole);
}
FUNCTION T floor_quotient(T a, T b) { return b == 0 ? a / b : floor_from(a, b, fmod(a, b)); }
FUNCTION T between(T a, T b, T weight) { return fabs(weight) < (T)0.5 ? a + weight * (b - a) : b - (b - a) * (1 - weight); }

FUNCTION T log_add_exp(T a, T b) {
  const T r = (a > b ? a : b) + log1p_unit(exp_down(-fabs(a - b)));
  return (a == b) & is_infinite(a) ? a : r;
}
FUNCTION T log_add_exp2(T a, T b) {
  const T r = (a > b ? a : b) + log1p_unit(exp_down(-fabs(a - b) * (T)0.6931471805599453)) * (T)1.4426950408889634;
  return (a == b) & is_infinite(a) ? a : r;
}
FUNCTION T times_log(T a, T b) {
  const T r = a * log(b);
  return is_nan(b) ? b : (a == 0 ? (T)0 : r);
}

FUNCTION T nan_replaced(T a, T by, T other) { return is_nan(a) ? by : other; }
FUNCTION T ends_replaced(T a, T above, T below) {
  const T r = a == (T)INFINITE ? above : a;
  return a == -(T)INFINITE ? below : r;
}
FUNCTION T shrunk(T a, T by) {
  const T r = a > by ? a - by : a * 0;
  return a < -by ? a + by : r;
}

FUNCTION T log_sigmoid(T a) { return (a < 0 ? a : (T)0) - log1p_unit(exp_down(-fabs(a))); }

// The approximation of the normal distribution's function by tanh: (1 + tanh(u)) / 2 is the sigmoid of 2 u.
FUNCTION T gelu_tanh_gate(T a) { return sigmoid(a * ((T)1.5957691216057308 + (T)0.07135481627260025 * (a * a))); }
FUNCTION T gelu_tanh_slope(T a) {
  const T s = gelu_tanh_gate(a);
  return s + a * (s * (1 - s)) * ((T)1.5957691216057308 + (T)0.21406444881780073 * (a * a));
}

FUNCTION T silu_slope(T a) {
  const T s = sigmoid(a);
  return s * (1 + a * (1 - s));
}

// tanh(softplus(a)) = n / d with e = e^-|a|, which does not overflow.
FUNCTION T mish_n(T a, T e) { return a >= 0 ? 1 + 2 * e : e * (e + 2); }
FUNCTION T mish_d(T a, T e) { return mish_n(a, e) + (a >= 0 ? 2 * e * e : (T)2); }
FUNCTION T mish(T a) {
  const T e = exp_down(-fabs(a));
  return a * (mish_n(a, e) / mish_d(a, e));
}
FUNCTION T mish_slope(T a) {
  const T e = exp_down(-fabs(a)), n = mish_n(a, e), d = mish_d(a, e), t = n / d;
  return t + a * ((a >= 0 ? (T)1 : e) / (1 + e)) * ((d - n) * (1 + t) / d);
}
#else
FUNCTION T floor_quotient(T a, T b) {
  if (b == 0) return 0;
  if (b == -1) return negative(a);
  const T quotient = a / b;
  return (a % b != 0) & ((a < 0) != (b < 0)) ? quotient - 1 : quotient;
}
FUNCTION u64 common_divisor(T a, T b) {
  u64 x = (u64)magnitude(a), y = (u64)magnitude(b);
  while (y != 0) {
    const u64 rest = x % y;
    x = y;
    y = rest;
  }
  return x;
}
FUNCTION T common_multiple(T a, T b) {
  const u64 divisor = common_divisor(a, b);
  return divisor == 0 ? 0 : (T)((u64)magnitude(a) / divisor * (u64)magnitude(b));
}
#endif

// A row of ops.def in a text for one T: nothing where the row is of other types.
#define Any(...) __VA_ARGS__
#define Number(...) __VA_ARGS__
#ifdef REAL
#define Real(...) __VA_ARGS__
#define Field(...) __VA_ARGS__
#define Integer(...)
#else
#define Real(...)
#define Field(...)
#define Integer(...) __VA_ARGS__
#endif
