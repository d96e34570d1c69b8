// Elementary functions of double, written so that a loop over them vectorises (see math_float.h), and the functions
// that float evaluates through double.
//
// Errors are at most 2.2 units in the last place, of most functions 1.6; the *_core functions are accurate only to what rounding
// to float needs. Special functions are those of special.h.
//
// Compiled once per instruction set: everything here is local to the file that includes it.
#pragma once
#include <math.h>

#include <cstdint>

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define RUSHLIGHT_FMA 1  // a fused multiply-add is one instruction here
#endif

namespace rushlight::RUSHLIGHT_ISA {
namespace {
namespace math {

constexpr double kHuge = 1.7976931348623157e+308;
constexpr double kInf = __builtin_huge_val();
constexpr double kNan = __builtin_nan("");
constexpr uint64_t kSign = uint64_t{1} << 63;
constexpr double kPi = 3.141592653589793;

inline uint64_t bits(double x) { return __builtin_bit_cast(uint64_t, x); }
inline double from_bits(uint64_t u) { return __builtin_bit_cast(double, u); }
inline double fabs(double x) { return from_bits(bits(x) & ~kSign); }
inline double copysign(double x, double sign) { return from_bits((bits(x) & ~kSign) | (bits(sign) & kSign)); }

inline double floor(double x) { return ::floor(x); }
inline double ceil(double x) { return ::ceil(x); }
inline double trunc(double x) { return ::trunc(x); }
inline double rint(double x) { return ::nearbyint(x); }  // half to even: the rounding mode is never changed
inline double sqrt(double x) { return ::sqrt(x); }

inline double madd(double a, double b, double c) {
#ifdef RUSHLIGHT_FMA
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

// c[0] + c[1] x + ...; by recursion, as a loop inside the loop over elements would keep that from vectorising.
template <int I = 0, int N>
inline double polynomial(double x, const double (&c)[N]) {
  if constexpr (I == N - 1) {
    return c[I];
  } else {
    return madd(polynomial<I + 1>(x, c), x, c[I]);
  }
}

// e^x = 2^k p: x = k ln 2 + r, |r| <= ln 2 / 2, in two parts since the last digits of r count. Adding kRound rounds
// to an integer, which then stands in the low bits.
constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52
struct ExpParts {
  uint64_t k;  // in the low bits: k modulo 2^51
  double high, low;
};
inline ExpParts split_exp(double x) {
  const double shifted = madd(x, 1.4426950408889634, kRound);
  const double k = shifted - kRound;
  return {bits(shifted), madd(k, -0.6931471803691238, x), k * -1.9082149292705877e-10};  // the first is exact
}
// (e^r - 1 - r) / r^2
inline double exp_rest(double r) {
  constexpr double c[] = {0.5,
                          0.1666666666666667,
                          0.041666666666666644,
                          0.008333333333326084,
                          0.0013888888888896598,
                          0.0001984126987500228,
                          2.48015873012031e-05,
                          2.755725517000089e-06,
                          2.755729381409872e-07,
                          2.5105312729622103e-08,
                          2.0908611194200546e-09};
  return polynomial(r, c);
}
inline double exp_of(const ExpParts& s) {
  const double r = s.high + s.low;
  const double first = 1.0 + s.high;
  const double lost = (1.0 - first) + s.high + s.low;
  return first + madd(r * r, exp_rest(r), lost);
}

inline double power_of_two(uint64_t k) { return from_bits((k + 1023) << 52); }

// p * 2^k in two steps, so that results below the normal range round once and those above overflow.
inline double scale(double p, uint64_t k) {
  const uint64_t half = k >> 1;
  return p * power_of_two(half) * power_of_two(k - half);
}

#ifdef RUSHLIGHT_FMA
// The same with fewer instructions, where a fused multiply-add keeps the digits of r: e^x = p 2^(biased - Bias), of which `biased`
// stands in the low 12 bits.
struct ExpValue {
  uint64_t biased;
  double p;
};
template <int Bias>
inline ExpValue exp_value(double x) {
  constexpr double kRoundBiased = kRound + Bias;
  const double shifted = madd(x, 1.4426950408889634, kRoundBiased);
  const double k = shifted - kRoundBiased;
  const double r = madd(k, -1.9082149292705877e-10, madd(k, -0.6931471803691238, x));
  return {bits(shifted), 1.0 + madd(r * r, exp_rest(r), r)};
}
inline double exp(double x) {
  const ExpValue v = exp_value<2046>(x);
  const uint64_t half = v.biased >> 1;
  const double r = v.p * from_bits(half << 52) * from_bits((v.biased - half) << 52);  // in two steps, as in `scale`
  return x < -746.0 ? 0.0 : (x > 710.0 ? kInf : r);
}
// e^x for x <= 0.
inline double exp_down(double x) {
  const ExpValue v = exp_value<1023 + 64>(x);
  return x < -746.0 ? 0.0 : v.p * from_bits(v.biased << 52) * 0x1p-64;
}
#else
inline double exp(double x) {
  x = x < -746.0 ? -746.0 : x;
  x = x > 710.0 ? 710.0 : x;
  const ExpParts s = split_exp(x);
  return scale(exp_of(s), s.k);
}
inline double exp_down(double x) { return exp(x); }
#endif

inline double exp2(double x) {
  constexpr double c[] = {0.6931471805599453,     0.24022650695910072,    0.055504108664821625,   0.00961812910762848,
                          0.001333355814640647,   0.00015403530393370734, 1.5252733841556773e-05, 1.3215486808705563e-06,
                          1.0178057087733941e-07, 7.0548973041554995e-09, 4.4558179083360645e-10, 2.5729324177362305e-11};
  x = x < -1076.0 ? -1076.0 : x;
  x = x > 1025.0 ? 1025.0 : x;
  const double shifted = x + kRound;
  const double r = x - (shifted - kRound);
  return scale(madd(r, polynomial(r, c), 1.0), bits(shifted));
}

inline double half_expm1(const ExpParts& s) {
  const double r = s.high + s.low;
  const double half = power_of_two(s.k - 1);  // 2^(k-1): 2^k itself may overflow
  const double first = madd(half, s.high, half - 0.5);  // half (e^x - 1) = (half - 1/2) + half r + half r^2 q
  const double lost = madd(half, s.high, (half - 0.5) - first);
  return first + madd(half, madd(r * r, exp_rest(r), s.low), lost);
}
inline double expm1(double x) {
  const double value = fabs(x) < 1e-17 ? x : 2.0 * half_expm1(split_exp(x));
  return x < -50.0 ? -1.0 : (x > 710.0 ? kInf : value);
}

// x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2).
struct Scaled {
  double e, f;
};
inline Scaled split_scale(double x) {
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  const bool small = x < 2.2250738585072014e-308;
  const uint64_t u = bits(small ? x * 18014398509481984.0 : x) + (0x3ff0000000000000 - kSqrtHalf);
  const double e = from_bits((u >> 52) | 0x4330000000000000) - (4503599627370496.0 + 1023.0) - (small ? 54.0 : 0.0);
  return {e, from_bits((u & 0xfffffffffffff) + kSqrtHalf) - 1.0};
}
// log(x) = e ln 2 + log1p(f); log1p(f) = f - (square - correction).
struct LogParts {
  double e, f, square, correction;
};
inline LogParts split_log(double x) {
  constexpr double c[] = {0.666666666666667,   0.3999999999989819,  0.28571428626570206, 0.2222221103781659,
                          0.18182896183483085, 0.15331487235865734, 0.14619343453512615};
  const auto [e, f] = split_scale(x);
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double square = 0.5 * f * f;
  return {e, f, square, s * (square + z * polynomial(z, c))};
}
// The logarithm where x > 0 and finite is `r`.
inline double with_log_specials(double x, double r) {
  const double special = x == 0.0 ? -kInf : (x < 0.0 ? kNan : x);  // else inf or NaN: itself
  return (x > 0.0) & (x <= kHuge) ? r : special;
}
inline double log(double x) {
  const LogParts s = split_log(x);
  const double low = s.correction + s.e * 1.9082149292705877e-10;
  return with_log_specials(x, s.e * 0.6931471803691238 - ((s.square - low) - s.f));
}
inline double log2(double x) {
  const LogParts s = split_log(x);
  return with_log_specials(x, madd(s.f - (s.square - s.correction), 1.4426950408889634, s.e));
}

// Through a product of which the first factors are short, so that powers of ten have whole logarithms.
inline double log10(double x) {
  constexpr double kHigh = 0.4342944622039795, kLow = 1.9699272335463627e-08;  // 1 / log(10)
  const LogParts s = split_log(x);
  const double high = from_bits(bits(s.f - s.square) & ~uint64_t{0xffffffff});
  const double low = ((s.f - high) - s.square) + s.correction;
  const double whole = s.e * 0.3010299955494702, part = high * kHigh, sum = whole + part;
  const double lost = (whole - sum) + part;
  const double rest = madd(s.e, 1.1451100898021838e-10, madd(low + high, kLow, madd(low, kHigh, lost)));
  return with_log_specials(x, sum + rest);
}

// The logarithm of the rounded 1 + x, corrected by what rounding lost.
inline double log1p(double x) {
  const double u = 1.0 + x;
  const double lost = x - (u - 1.0);
  const double r = log(u);
  const double corrected = (u > 0.0) & (u <= kHuge) ? r + lost / u : r;
  return fabs(x) < 5e-17 ? x : corrected;
}

// log(1 + e) for 0 <= e <= 1: twice the area tangent of s = e / (2 + e).
inline double log1p_unit(double e) {
  constexpr double c[] = {0.3333333333333333, 0.20000000000007292, 0.1428571428355438,  0.11111111358713932, 0.09090894718066428,
                          0.0769278503247935, 0.06657072104826929, 0.06000536404799805, 0.04400369243052285, 0.08082022806009813};
  const double s = e / (2.0 + e);
  const double z = s * s;
  return 2.0 * madd(s * z, polynomial(z, c), s);
}

inline double tanh(double x) {
  const double a = fabs(x);
  const double t = expm1(2.0 * (a > 20.0 ? 20.0 : a));
  return copysign(t / (t + 2.0), x);
}

inline double sigmoid(double x) {
  const double e = exp_down(-fabs(x));
  const double q = e / (1.0 + e);
  const double numerator = x >= 0.0 ? 1.0 : e;
  return madd(-numerator, q, numerator);  // numerator / (1 + e), with the error of that sum times q only
}

// sin and cos: x = k pi/2 + r + r_low, the product with pi/2 in three parts of which two are exact for |k| < 2^20.
constexpr double kTrigLimit = 1048576.0;
struct Quadrant {
  uint64_t number;
  double s, s_low, c, c_low;  // sine and cosine of r, and what their rounding lost
};
inline Quadrant quadrant_of(double x) {
  constexpr double sc[] = {-0.16666666666666666,   0.008333333333330948,   -0.00019841269836756774,
                           2.7557316101617874e-06, -2.505113165023518e-08, 1.5918115263265974e-10};
  constexpr double cc[] = {0.041666666666666664,    -0.0013888888888887398, 2.480158729876456e-05,
                           -2.7557317271145144e-07, 2.087614614655861e-09,  -1.1382623647474604e-11};
  const double shifted = madd(x, 0.6366197723675814, kRound);
  const double k = shifted - kRound;
  const double first = x - k * 1.5707963267341256;
  const double second = first - k * 6.077100506303966e-11;
  const double tail = k * 2.0222662487959506e-21 - ((first - second) - k * 6.077100506303966e-11);
  const double r = second - tail;
  const double low = (second - r) - tail;
  const double z = r * r;
  const double s_rest = r * z * polynomial(z, sc) + low, s = r + s_rest;
  const double h = 1.0 - 0.5 * z;
  const double c_rest = ((1.0 - h) - 0.5 * z) + (z * z * polynomial(z, cc) - r * low), c = h + c_rest;
  return {bits(shifted), s, (r - s) + s_rest, c, (h - c) + c_rest};
}
inline double sin_quadrant(double x, uint64_t quadrant) {
  const Quadrant p = quadrant_of(x);
  const uint64_t q = p.number + quadrant;
  return from_bits(bits((q & 1) != 0 ? p.c : p.s) ^ ((q & 2) << 62));
}
inline double sin(double x) { return fabs(x) < 1e-8 ? x : sin_quadrant(x, 0); }
inline double cos(double x) { return sin_quadrant(x, 1); }
inline double tan(double x) {
  const Quadrant p = quadrant_of(x);
  const bool odd = (p.number & 1) != 0;
  const double top = odd ? -p.c : p.s, top_low = odd ? -p.c_low : p.s_low;
  const double bottom = odd ? p.s : p.c, bottom_low = odd ? p.s_low : p.c_low;
  const double q = top / bottom;
  const double corrected = q + (madd(-q, bottom, top) + (top_low - q * bottom_low)) / bottom;
  return fabs(x) < 1e-8 ? x : corrected;
}

inline double sinh(double x) {
  const double a = fabs(x);
  const ExpParts s = split_exp(a > 712.0 ? 712.0 : a);
  const double half = half_expm1(s);
  const double r = a > 40.0 ? scale(exp_of(s), s.k - 1) : half + half / (2.0 * half + 1.0);
  return copysign(a < 1e-8 ? a : r, x);
}
inline double cosh(double x) {
  const double a = fabs(x);
  const ExpParts s = split_exp(a > 712.0 ? 712.0 : a);
  const double half = scale(exp_of(s), s.k - 1);
  return half + 0.25 / half;
}
constexpr double kLog2 = 0.6931471805599453;
inline double asinh(double x) {
  const double a = fabs(x);
  const bool big = a > 1e17;
  const double r = log1p(big ? a : a + a * a / (1.0 + sqrt(a * a + 1.0)));
  return copysign(big ? r + kLog2 : r, x);
}
inline double acosh(double x) {
  const double t = x - 1.0;
  const bool big = t > 1e17;
  const double r = log1p(big ? t : t + sqrt(t * (t + 2.0)));
  return t < 0.0 ? kNan : (big ? r + kLog2 : r);
}
inline double atanh(double x) {
  const double a = fabs(x);
  return a > 1.0 ? kNan : copysign(0.5 * log1p(2.0 * a + 2.0 * a * a / (1.0 - a)), x);
}

// asin(y) = y + y z A(z), z = y^2, for y = a where a <= 1/2 and y = sqrt((1 - a) / 2) beyond.
struct Arc {
  double y, rest;
};
inline Arc arc_of(double a) {
  constexpr double c[] = {0.1666666666666665,    0.07500000000020765,  0.04464285710342364,   0.03038194736709884,
                          0.022372047631734844,  0.017355259955944623, 0.013929652900662799,  0.011875494394093739,
                          0.0078029494259423985, 0.016035514493949316, -0.010749050572091341, 0.0281692182229999};
  const bool outer = a > 0.5;
  const double z = outer ? 0.5 * (1.0 - a) : a * a;
  const double y = outer ? sqrt(z) : a;
  return {y, y * z * polynomial(z, c)};
}
constexpr double kPiLow = 1.2246467991473532e-16;  // pi - kPi
inline double asin(double x) {
  const double a = fabs(x);
  const Arc arc = arc_of(a);
  const double outer = kPi / 2 - (2.0 * arc.y + (2.0 * arc.rest - kPiLow / 2));
  return copysign(a > 0.5 ? outer : arc.y + arc.rest, x);
}
inline double acos(double x) {
  const double a = fabs(x);
  const Arc arc = arc_of(a);
  const double outer = x < 0.0 ? kPi - (2.0 * arc.y + (2.0 * arc.rest - kPiLow)) : 2.0 * (arc.y + arc.rest);
  return a > 0.5 ? outer : kPi / 2 - (x + (copysign(arc.rest, x) - kPiLow / 2));
}

// The angle of (x, y): the smaller of |x|, |y| over the larger, once more reduced to [0, tan(pi / 8)],
// where atan(q) = q + q z A(z), z = q^2.
template <int N>
inline double angle_of(double y, double x, const double (&c)[N]) {
  const double ay = fabs(y), ax = fabs(x);
  const bool swap = ay > ax;
  const double low = swap ? ax : ay, high = swap ? ay : ax;
  const bool upper = low >= 0.4142135623730951 * high;
  const double top = upper ? low - high : low, bottom = upper ? low + high : high;
  const double q = ax == ay ? 0.0 : top / bottom;  // equal infinities too
  const double z = q * q;
  double angle = madd(q * z, polynomial(z, c), q);
  angle = upper ? (angle + kPiLow / 4) + kPi / 4 : angle;
  angle = low == 0.0 ? 0.0 : angle;  // (0, 0) too
  angle = swap ? kPi / 2 - (angle - kPiLow / 2) : angle;
  angle = (bits(x) & kSign) != 0 ? kPi - (angle - kPiLow) : angle;
  return copysign(ax + ay != ax + ay ? kNan : angle, y);
}
inline double atan2(double y, double x) {
  constexpr double c[] = {-0.3333333333333333,  0.1999999999999552,  -0.14285714284666542, 0.1111111101525628,
                          -0.09090904578120673, 0.07692183190752824, -0.06664511446366914, 0.058581489040924695,
                          -0.05085449692794118, 0.03923165700118427, -0.019176885543608236};
  return angle_of(y, x, c);
}
inline double atan(double x) { return atan2(x, 1.0); }

inline double hypot(double x, double y) {
  const double a = fabs(x), b = fabs(y), most = a > b ? a : b;
  const bool large = most > 0x1p500, small = most < 0x1p-500;
  const double to = large ? 0x1p-600 : (small ? 0x1p600 : 1.0), back = large ? 0x1p600 : (small ? 0x1p-600 : 1.0);
  const double r = sqrt(madd(a * to, a * to, (b * to) * (b * to))) * back;
  return (a == kInf) | (b == kInf) ? kInf : r;
}

// --- for float: relative error well below 2^-24, not the last bit of a double; arguments are floats ---

// e^a = 2^k (even + odd), e^-a = (even - odd) / 2^k: of both signs of r, by one polynomial each.
struct Exponentials {
  double even, odd, up, down;
};
inline Exponentials split_exponentials(double a) {
  constexpr double even[] = {1.0, 0.5, 0.041666666666666664, 0.001388888888888889, 2.48015873015873e-05};
  constexpr double odd[] = {1.0, 0.16666666666666666, 0.008333333333333333, 0.0001984126984126984, 2.7557319223985893e-06};
  a = a > 200.0 ? 200.0 : a;  // beyond: inf as a float
  const double shifted = madd(a, 1.4426950408889634, kRound);
  const double r = madd(shifted - kRound, -0.6931471805599453, a), z = r * r;
  const uint64_t k = bits(shifted);
  return {polynomial(z, even), r * polynomial(z, odd), power_of_two(k), power_of_two(-k)};
}
inline double sinh_core(double x) {
  const Exponentials e = split_exponentials(fabs(x));  // where a is small, up - down is 0, and all digits are those of `odd`
  return copysign(0.5 * madd(e.up - e.down, e.even, (e.up + e.down) * e.odd), x);
}
inline double cosh_core(double x) {
  const Exponentials e = split_exponentials(fabs(x));
  return 0.5 * madd(e.up + e.down, e.even, (e.up - e.down) * e.odd);
}
// Half the logarithm of (1 + a) / (1 - a), with 1 - a = 2^e m, by s = (1 + a - m) / (1 + a + m), which is a where e is 0.
inline double atanh_core(double x) {
  constexpr double c[] = {0.3333333333032977,  0.20000002285770552, 0.14285433787620264,
                          0.11123618589841605, 0.08841658845264246, 0.09920371597204405};
  const double a = fabs(x);
  const auto [e, f] = split_scale(1.0 - a);
  const bool upper = a > 0.5;
  const double m = upper ? 2.0 + 2.0 * f : 1.0 + f;
  const double s = (a < 0.29 ? a + a : 1.0 + a - m) / (1.0 + a + m);
  const double z = s * s;
  const double r = madd(upper ? 1.0 - e : -e, 0.34657359027997264, madd(s * z, polynomial(z, c), s));
  return copysign(a < 1.0 ? r : (a == 1.0 ? kInf : kNan), x);
}

// asin(y) = y + y z A(z), z = y^2, for y = a where a <= 1/2 and y = sqrt((1 - a) / 2) beyond.
inline double asin_reduced(double a) {
  constexpr double c[] = {0.16666666686085643,  0.07499992404401838,  0.04464766388813485, 0.030269138728589183,
                          0.023611817008891752, 0.010574415516912909, 0.030974540371355073};
  const double near = a * a, far = 0.5 * (1.0 - a);  // near < far just where a < 1/2; both exact, a being a float
  const double z = near < far ? near : far;
  return sqrt(z) * madd(z, polynomial(z, c), 1.0);
}
inline double asin_core(double x) {
  const double a = fabs(x), r = asin_reduced(a);
  return copysign(a > 0.5 ? kPi / 2 - 2.0 * r : r, x);
}
inline double acos_core(double x) {
  const double a = fabs(x), r = asin_reduced(a);
  const double outer = x < 0.0 ? kPi - 2.0 * r : 2.0 * r;
  return a > 0.5 ? outer : kPi / 2 - copysign(r, x);
}

inline double atan2_core(double y, double x) {
  constexpr double c[] = {-0.33333333279206956, 0.19999977242158135,  -0.14284150302070778,
                          0.11071348499196115,  -0.08624552940250581, 0.05047820620035853};
  return angle_of(y, x, c);
}

// erfc(a) = e^(-a^2) P(t) / (1 + 2 a), t = (a - 2) / (a + 2), for 0 <= a <= 11; beyond that it is 0 as a float.
inline double erfc_core(double x) {
  constexpr double c[] = {1.2769783816332898,     -0.09276382568828287,   -0.16603040892885038,   0.16405123483815703,
                          -0.05421975076242475,   -0.008033314001124862,  0.008720692294601942,   0.0012663983660592267,
                          -0.0014503265209471728, -0.0004366233039405461, 0.00019884016793328627, 0.0001189608359776039,
                          -5.877832372935734e-06, -1.1281075245113587e-05};
  double a = fabs(x);
  a = a > 11.0 ? 11.0 : a;
  const double t = (a - 2.0) / (a + 2.0);
  const double r = exp(-a * a) * polynomial(t, c) / (1.0 + 2.0 * a);
  return x < 0.0 ? 2.0 - r : r;
}

// The binary logarithm of a >= 0 to a relative 4e-12, and 2^x to 2e-9, of any x; over and under the range of floats it is that of
// the ends.
inline double log2_core(double a) {
  constexpr double c[] = {2.8853900817900966, 0.9617966733263651, 0.5770835881194849, 0.4116725177744796, 0.3407340373776601};
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  const uint64_t u = bits(a) + (0x3ff0000000000000 - kSqrtHalf);
  const double e = from_bits((u >> 52) | 0x4330000000000000) - (4503599627370496.0 + 1023.0);
  const double f = from_bits((u & 0xfffffffffffff) + kSqrtHalf) - 1.0;
  const double s = f / (2.0 + f);
  const double r = madd(s, polynomial(s * s, c), e);
  return a == 0.0 ? -kInf : (a <= kHuge ? r : a);
}
inline double exp2_core(double x) {
  constexpr double c[] = {0.6931472028677713,   0.2402264791286765,    0.05550332441103341,
                          0.009618437352345091, 0.0013398887109018001, 0.00015353393760426416};
  x = x < -200.0 ? -200.0 : x;
  x = x > 200.0 ? 200.0 : x;
  const double shifted = x + kRound;
  const double r = x - (shifted - kRound);
  return madd(r, polynomial(r, c), 1.0) * power_of_two(bits(shifted));
}

// x^y, where r is |x|^y. y == 0 and x == 1 give 1 whatever the other is, as C's pow.
inline double signed_power(double x, double y, double r) {
  const double a = fabs(x);
  const bool whole = floor(y) == y;
  const bool odd = whole & (floor(0.5 * y) * 2.0 != y);
  const double sign_bits = from_bits(odd ? bits(r) | (bits(x) & kSign) : bits(r));
  double result = (x < 0.0) & (a <= kHuge) & !whole ? kNan : sign_bits;
  result = (a == 1.0) & (fabs(y) == kInf) ? 1.0 : result;
  return (y == 0.0) | (x == 1.0) ? 1.0 : result;
}
// Through 2^(y log2 |x|): its relative error, below 1e-8, is below that of rounding to a float.
inline double pow_core(double x, double y) { return signed_power(x, y, exp2_core(y * log2_core(fabs(x)))); }

#ifdef RUSHLIGHT_FMA
// A number as a sum of two.
struct Two {
  double high, low;
};
inline Two sum_of(double a, double b) {  // |a| >= |b|, or a is 0
  const double high = a + b;
  return {high, (a - high) + b};
}
inline Two product_of(double a, double b) {
  const double high = a * b;
  return {high, madd(a, b, -high)};
}
// log(a) to a relative 2^-64: with a = 2^e m and s = (m - 1) / (m + 1), log(m) = s (2 + s^2 (2/3 + s^2 (2/5 + ...))).
inline Two log_of_two(double a) {
  constexpr double c[] = {0.4,
                          0.2857142857142857,
                          0.2222222222222222,
                          0.18181818181818182,
                          0.15384615384615385,
                          0.13333333333333333,
                          0.11764705882352941,
                          0.10526315789473684,
                          0.09523809523809523,
                          0.08695652173913043};
  const auto [e, f] = split_scale(a);
  const double below = 2.0 + f;
  const double rest = f - (below - 2.0);  // exact
  const double s = f / below, s_rest = madd(-s, rest, madd(-s, below, f)) / below;
  Two t = product_of(s, s);
  t.low = madd(2.0 * s, s_rest, t.low);
  const Two third = sum_of(0.6666666666666666, t.high * polynomial(t.high, c));
  Two w = product_of(t.high, third.high);
  w.low += madd(t.high, third.low + 3.700743415417188e-17, t.low * third.high);
  Two v = sum_of(2.0, w.high);
  v.low += w.low;
  Two l = product_of(s, v.high);
  l.low += madd(s, v.low, s_rest * v.high);
  const Two r = sum_of(e * 0.6931471803691238, l.high);
  return {r.high, r.low + madd(e, 1.9082149292705877e-10, l.low)};
}
// x^y = e^(y log |x|), within 0.83 units in the last place.
inline double pow(double x, double y) {
  const double a = fabs(x);
  const Two l = log_of_two(a);
  const double high = y * l.high, low = madd(y, l.low, madd(y, l.high, -high));
  double power = high < -746.0 ? -746.0 : high;
  power = power > 710.0 ? 710.0 : power;
  ExpParts parts = split_exp(power);
  parts.low += power == high ? low : 0.0;
  double r = scale(exp_of(parts), parts.k);
  const double end = (a < 1.0) == (y < 0.0) ? kInf : 0.0;  // of 0, of infinity, and with an infinite y
  r = (a == 0.0) | (a > kHuge) | (fabs(y) > kHuge) ? end : r;
  return signed_power(x, y, (x != x) | (y != y) ? kNan : r);
}
#else
inline double pow(double x, double y) { return ::pow(x, y); }
#endif

// inverse_erf to a relative 1e-8: polynomials in w = -log(1 - x^2), beyond w = 5 in its root (up to that of the last float
// below 1).
inline double inverse_erf_start(double x) {
  constexpr double c[] = {1.501409351110792,      0.24664028942745514,     -0.004177320040540122,   -0.0012527485028416625,
                          0.00021825772396383324, -4.9596917942159974e-06, -3.4234142742219917e-06, 4.6541741050233154e-07,
                          1.598430613388877e-08,  -8.739010702831317e-09,  4.671932509046839e-10};
  constexpr double d[] = {2.832976798456619,       1.0016752718685291,     0.00944554934952663,     -0.00764365217406242,
                          0.005684698954453551,    -0.0035601113117075117, 0.001487094778498953,    -0.00014456512190694904,
                          -0.00029431040055676836, 0.0002005565875429747,  -2.8168474807591317e-05, -2.4526314901493382e-05,
                          9.161577242877544e-06};
  const double w = -0.6931471805599453 * log2_core(1.0 - x * x);
  const double near = polynomial(w - 2.5, c);
  const double far = polynomial(sqrt(w) - 3.0, d);
  const double r = x * (w < 5.0 ? near : far);
  return fabs(x) < 1.0 ? r : (fabs(x) == 1.0 ? x * kInf : kNan);
}

// --- special functions ---

using W = double;
constexpr double INFINITE = kInf, NOT_A_NUMBER = kNan;
#ifndef RUSHLIGHT_FMA
#define RUSHLIGHT_NO_FMA 1
#endif
#define FUNCTION inline
#include "kernels/isa/elementwise/special.h"

inline double erf(double x) { return erf_of(x); }
inline double erfc(double x) { return erfc_of(x); }
inline double inverse_erf(double x) { return erf_inverse(x); }
inline double normal_density(double a) { return 0.3989422804014327 * exp(-0.5 * (a * a)); }
inline double normal_below(double a) { return 0.5 * erfc(a * -0.7071067811865476); }

// --- the C library's ---

inline double fmod(double x, double y) { return ::fmod(x, y); }
inline double nextafter(double x, double y) {
  const double next = x == 0 ? copysign(from_bits(uint64_t{1}), y)
                             : from_bits(bits(x) + ((x < y) == (x > 0) ? uint64_t{1} : ~uint64_t{0}));
  const double r = x == y ? y : next;
  return (x != x) | (y != y) ? x + y : r;
}

inline bool trig_fits(double x) { return fabs(x) <= kTrigLimit; }
inline bool tan_fits(double x) { return fabs(x) <= kTrigLimit; }
inline double sin_far(double x) { return ::sin(x); }
inline double cos_far(double x) { return ::cos(x); }
inline double tan_far(double x) { return ::tan(x); }

}  // namespace math
}  // namespace
}  // namespace rushlight::RUSHLIGHT_ISA
