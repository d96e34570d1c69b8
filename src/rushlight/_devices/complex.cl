// Functions of complex numbers, element by element; operands may be real numbers, too. They are those rows of ops.def that are of
// complex numbers, by their numbers there, and those of the enum.
#ifndef __CUDACC__
#pragma OPENCL FP_CONTRACT OFF  // the imaginary part of z * conj(z) is 0
#endif

#ifdef REAL
#define IS_NUMBER -1  // the type of an operand that is a number
#define PI ((T)3.14159265358979323846)
#define LOG_2 ((T)0.69314718055994530942)
#define LOG_10 ((T)2.30258509299404568402)

enum Instruction {
#define OP(name, ...) NUMBER_##name,
#include "ops.def"
};
enum {
  COPY = 256, CONJ, CONJ_NEG, JOIN, JOIN_SUMS, JOIN_CONJ, POLAR, SUB_SCALED, ADD_PRODUCT, ADD_QUOTIENT, ADD_PRODUCTS,
  ANGLE, ANGLE_OF_REAL, CUBE, SINC, ISREAL
};

#include "pairs.cl"

typedef struct {
  Layout places;
  i64 type;
  T re, im;  // of a number
} Operand;

FUNCTION Z element(GLOBAL const u8 *p, i64 at, i64 type) {
  GLOBAL const u8 *q = p + at;
  switch (type) {
    case TYPE_COMPLEX64: return z_of((T)((GLOBAL const float *)q)[0], (T)((GLOBAL const float *)q)[1]);
#ifdef WIDE
    case TYPE_COMPLEX128: return z_of((T)((GLOBAL const double *)q)[0], (T)((GLOBAL const double *)q)[1]);
#endif
    case TYPE_COMPLEX32: return z_of((T)from_half(((GLOBAL const u16 *)q)[0]), (T)from_half(((GLOBAL const u16 *)q)[1]));
    default: return z_of(load(p, at, (int)type), 0);
  }
}

// One dimension needs no division.
FUNCTION i64 place_in(const Layout *l, i64 index) { return l->ndim > 1 ? place_of(l, index) : index * l->strides[0]; }

FUNCTION Z read(GLOBAL const u8 *p, i64 at, const Operand *o, i64 index) {
  return o->type == IS_NUMBER ? z_of(o->re, o->im) : element(p, at + place_in(&o->places, index), o->type);
}

FUNCTION void write(GLOBAL u8 *p, i64 at, i64 type, Z value) {
  GLOBAL u8 *q = p + at;
  switch (type) {
    case TYPE_COMPLEX64:
      ((GLOBAL float *)q)[0] = (float)value.re;
      ((GLOBAL float *)q)[1] = (float)value.im;
      return;
#ifdef WIDE
    case TYPE_COMPLEX128:
      ((GLOBAL double *)q)[0] = (double)value.re;
      ((GLOBAL double *)q)[1] = (double)value.im;
      return;
#endif
    case TYPE_COMPLEX32:
      ((GLOBAL u16 *)q)[0] = to_half((float)value.re);
      ((GLOBAL u16 *)q)[1] = to_half((float)value.im);
      return;
    case TYPE_BOOL: *q = value.re != 0 || value.im != 0; return;
    default: store(p, at, (int)type, value.re);
  }
}

FUNCTION T size_of(Z a) {
  const T square = a.re * a.re + a.im * a.im;
  return square > (T)1e-30 && square < (T)1e30 ? sqrt(square) : hypot(a.re, a.im);
}

FUNCTION Z negative(Z a) { return z_of(-a.re, -a.im); }
FUNCTION Z turned(Z a) { return z_of(-a.im, a.re); }      // i a
FUNCTION Z turned_back(Z a) { return z_of(a.im, -a.re); }  // -i a
FUNCTION Z scaled(Z a, T factor) { return z_of(a.re * factor, a.im * factor); }

// After Smith, "Algorithm 116: Complex division" (1962).
FUNCTION Z over(Z a, Z b) {
  const T re = fabs(b.re), im = fabs(b.im);
  if (re == 0 && im == 0) return z_of(a.re / re, a.im / re);
  if (re >= im) {
    const T ratio = b.im / b.re, scale = 1 / (b.re + b.im * ratio);
    return z_of((a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale);
  }
  const T ratio = b.re / b.im, scale = 1 / (b.im + b.re * ratio);
  return z_of((a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale);
}

FUNCTION Z one_over(Z a) { return over(z_of(1, 0), a); }

FUNCTION Z z_sqrt(Z a) {
  if (a.re == 0 && a.im == 0) return z_of(0, a.im);
  if (isinf(a.im)) return z_of(fabs(a.im), a.im);
  const int large = fabs(a.re) > (T)1e37 || fabs(a.im) > (T)1e37;
  const T re = large ? a.re * (T)0.25 : a.re, im = large ? a.im * (T)0.25 : a.im;
  const T part = sqrt((fabs(re) + hypot(re, im)) * (T)0.5), other = fabs(im) / (2 * part), back = large ? 2 : 1;
  return re < 0 ? z_of(other * back, copysign(part, im) * back) : z_of(part * back, copysign(other, im) * back);
}

FUNCTION Z z_exp(Z a) {
  const T size = exp(a.re);
  if (a.im == 0) return z_of(size, a.im);
  if (size == 0 && !isfinite(a.im)) return z_of(0, 0);
  return z_of(size * cos(a.im), size * sin(a.im));
}

// Near the unit circle the size says little about its logarithm.
FUNCTION Z z_log(Z a) {
  const T re = fabs(a.re), im = fabs(a.im), most = re > im ? re : im, least = re > im ? im : re, size = hypot(re, im);
  const int near = size > (T)0.5 && size < 2;
  return z_of(near ? (T)0.5 * log1p((most - 1) * (most + 1) + least * least) : log(size), atan2(a.im, a.re));
}

FUNCTION Z power(Z a, Z b) {
  if (b.re == 0 && b.im == 0) return z_of(1, 0);
  if (a.re == 0 && a.im == 0) return b.re > 0 ? z_of(0, 0) : z_of(NOT_A_NUMBER, NOT_A_NUMBER);
  if (b.im == 0 && b.re == floor(b.re) && fabs(b.re) < 100) {
    Z result = z_of(1, 0), square = a;
    for (int left = (int)fabs(b.re); left; left >>= 1) {
      if (left & 1) result = mul(result, square);
      square = mul(square, square);
    }
    return b.re < 0 ? one_over(result) : result;
  }
  return z_exp(mul(b, z_log(a)));
}

FUNCTION Z z_sinh(Z a) { return z_of(sinh(a.re) * cos(a.im), cosh(a.re) * sin(a.im)); }
FUNCTION Z z_cosh(Z a) { return z_of(cosh(a.re) * cos(a.im), sinh(a.re) * sin(a.im)); }
FUNCTION Z z_sin(Z a) { return turned_back(z_sinh(turned(a))); }

// This and the inverse functions after Kahan, "Branch cuts for complex elementary functions" (1987).
FUNCTION Z z_tanh(Z a) {
  if (isinf(a.re) && !isfinite(a.im)) return z_of(copysign((T)1, a.re), 0);
  if (fabs(a.re) > 22) return z_of(copysign((T)1, a.re), 4 * sin(a.im) * cos(a.im) * exp(-2 * fabs(a.re)));
  const T t = tan(a.im), beta = 1 + t * t, s = sinh(a.re), rho = sqrt(1 + s * s);
  if (isinf(t)) return z_of(rho / s, 1 / t);
  return z_of(beta * rho * s / (1 + beta * s * s), t / (1 + beta * s * s));
}

FUNCTION bool is_infinite(Z a) { return isinf(a.re) || isinf(a.im); }

FUNCTION Z z_asin(Z a) {
  if (is_infinite(a)) return z_of(atan2(a.re, fabs(a.im)), copysign((T)INFINITE, a.im));
  const Z below = z_sqrt(z_of(1 - a.re, -a.im)), above = z_sqrt(z_of(1 + a.re, a.im));
  return z_of(atan2(a.re, below.re * above.re - below.im * above.im), asinh(below.re * above.im - below.im * above.re));
}

FUNCTION Z z_acos(Z a) {
  if (is_infinite(a)) return z_of(atan2(fabs(a.im), a.re), copysign((T)INFINITE, -a.im));
  const Z below = z_sqrt(z_of(1 - a.re, -a.im)), above = z_sqrt(z_of(1 + a.re, a.im));
  return z_of(2 * atan2(below.re, above.re), asinh(above.re * below.im - above.im * below.re));
}

FUNCTION Z z_acosh(Z a) {
  if (is_infinite(a)) return z_of(INFINITE, atan2(a.im, a.re));
  const Z below = z_sqrt(z_of(a.re - 1, a.im)), above = z_sqrt(z_of(a.re + 1, a.im));
  return z_of(asinh(below.re * above.re + below.im * above.im), 2 * atan2(below.im, above.re));
}

FUNCTION Z z_atanh(Z a) {
  if (is_infinite(a)) return z_of(copysign((T)0, a.re), copysign(PI / 2, a.im));
  const T re = fabs(a.re), away = 1 - re, square = a.im * a.im;
  const T size = (T)0.25 * log1p(4 * re / (away * away + square));
  return z_of(copysign(size, a.re), (T)0.5 * atan2(2 * a.im, away * (1 + re) - square));
}

FUNCTION Z z_cos(Z a) { return z_cosh(turned(a)); }
FUNCTION Z z_tan(Z a) { return turned_back(z_tanh(turned(a))); }
FUNCTION Z z_atan(Z a) { return turned_back(z_atanh(turned(a))); }
FUNCTION Z z_asinh(Z a) { return turned(z_asin(turned_back(a))); }
FUNCTION Z z_exp2(Z a) { return a.im == 0 ? z_of(exp2(a.re), a.im) : z_exp(scaled(a, LOG_2)); }
FUNCTION Z z_expm1(Z a) {
  const T half_sine = sin(a.im * (T)0.5);
  return z_of(expm1(a.re) * cos(a.im) - 2 * half_sine * half_sine, exp(a.re) * sin(a.im));
}
FUNCTION Z z_log2(Z a) { return scaled(z_log(a), 1 / LOG_2); }
FUNCTION Z z_log10(Z a) { return scaled(z_log(a), 1 / LOG_10); }
FUNCTION Z z_log1p(Z a) {
  const T beyond = a.re * (2 + a.re) + a.im * a.im;  // |1 + a|^2 - 1
  if (fabs(beyond) < (T)0.5) return z_of((T)0.5 * log1p(beyond), atan2(a.im, a.re + 1));
  return z_log(z_of(a.re + 1, a.im));
}
FUNCTION Z log_add_exp(Z a, Z b) {
  const int first = a.re >= b.re;
  return add(first ? a : b, z_log(add(z_of(1, 0), z_exp(first ? sub(b, a) : sub(a, b)))));
}

FUNCTION Z sigmoid(Z a) { return one_over(add(z_of(1, 0), z_exp(negative(a)))); }
FUNCTION Z magnitude(Z a) { return z_of(size_of(a), 0); }
FUNCTION Z sign_of(Z a) {
  const T size = size_of(a);
  return size == 0 ? z_of(0, 0) : over(a, z_of(size, 0));
}
FUNCTION Z between(Z a, Z b, Z weight) {
  const Z way = sub(b, a);
  return size_of(weight) < (T)0.5 ? add(a, mul(weight, way)) : sub(b, mul(way, sub(z_of(1, 0), weight)));
}
FUNCTION T part_replaced(T a, T above, T below) { return isinf(a) ? (a > 0 ? above : below) : a; }
FUNCTION Z ends_replaced(Z a, Z above, Z below) {
  return z_of(part_replaced(a.re, above.re, below.re), part_replaced(a.im, above.re, below.re));
}
FUNCTION Z nan_replaced(Z a, Z by, Z other) { return z_of(isnan(a.re) ? by.re : other.re, isnan(a.im) ? by.re : other.im); }
FUNCTION bool is_true(Z a) { return a.re != 0 || a.im != 0; }
FUNCTION bool is_same(Z a, Z b) { return a.re == b.re && a.im == b.im; }
FUNCTION bool is_nan(Z a) { return isnan(a.re) || isnan(a.im); }
FUNCTION bool is_finite(Z a) { return isfinite(a.re) && isfinite(a.im); }
#define TRUTH(condition) z_of((condition) ? 1 : 0, 0)
#define OWN(name) z_##name

#define Any(...) __VA_ARGS__
#define Field(...) __VA_ARGS__
#define Number(...)
#define Real(...)
#define Integer(...)

FUNCTION Z value_of(i64 what, Z a, Z b, Z c, Z d) {
  switch (what) {
#define OP(name, arity, cost, types, result) types(case NUMBER_##name: return result;)
#include "ops.def"
    case CONJ: return z_of(a.re, -a.im);
    case CONJ_NEG: return z_of(-a.re, a.im);
    case JOIN: return z_of(a.re, b.re);
    case JOIN_SUMS: return z_of(a.re - b.re, c.re + d.re);
    case JOIN_CONJ: return z_of(a.re + b.re, d.re - c.re);
    case POLAR: return z_of(a.re * cos(b.re), a.re * sin(b.re));
    case SUB_SCALED: return sub(a, mul(b, c));
    case ADD_PRODUCT: return add(a, mul(d, mul(b, c)));
    case ADD_QUOTIENT: return add(a, mul(d, over(b, c)));
    case ADD_PRODUCTS: return add(mul(a, b), mul(c, d));
    case ANGLE: return z_of(atan2(a.im, a.re), 0);
    case ANGLE_OF_REAL: return z_of(isnan(a.re) ? a.re : (a.re < 0 ? PI : (T)0), 0);
    case CUBE: return mul(mul(a, a), a);
    case SINC: {
      const Z angle = scaled(a, PI);
      return is_true(a) ? over(z_sin(angle), angle) : z_of(1, 0);
    }
    case ISREAL: return TRUTH(a.im == 0);
    default: return a;
  }
}

KERNEL elementwise(BUFFER(a), BUFFER(b), BUFFER(c), BUFFER(d), BUFFER(out), Operand of_a, Operand of_b, Operand of_c, Operand of_d,
                   Layout out_places, i64 out_type, i64 what, i64 items) {
  if (ITEM >= items) return;
  const Z x = read(a, a_at, &of_a, ITEM), y = read(b, b_at, &of_b, ITEM);
  const Z v = read(c, c_at, &of_c, ITEM), w = read(d, d_at, &of_d, ITEM);
  write(out, out_at + place_in(&out_places, ITEM), out_type, value_of(what, x, y, v, w));
}
#endif
