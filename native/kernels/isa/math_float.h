// Elementary functions of float, written so that a loop over them vectorises: no branches, no tables, no library calls.
//
// Each follows the usual pattern: reduce the argument, evaluate a polynomial fitted to the remaining interval, rebuild;
// special values come out of selections at the end. Errors are at most 1.7 units in the last place. A function whose
// float-only evaluation would lose digits computes in double (math_double.h) and rounds once.
//
// Compiled once per instruction set: everything here is local to the file that includes it.
#pragma once
#include "kernels/isa/math_double.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {
namespace math {

constexpr float kHugeF = 3.40282347e+38f;
constexpr float kInfF = __builtin_huge_valf();
constexpr float kNanF = __builtin_nanf("");
constexpr uint32_t kSignF = 0x80000000u;

inline uint32_t bits(float x) { return __builtin_bit_cast(uint32_t, x); }
inline float from_bits(uint32_t u) { return __builtin_bit_cast(float, u); }
inline float fabs(float x) { return from_bits(bits(x) & ~kSignF); }
inline float copysign(float x, float sign) { return from_bits((bits(x) & ~kSignF) | (bits(sign) & kSignF)); }

inline float madd(float a, float b, float c) {
#ifdef RUSHLIGHT_FMA
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

// c[0] + c[1] x + ...; by recursion, as a loop inside the loop over elements would keep that from vectorising.
template <int I = 0, int N>
inline float polynomial(float x, const float (&c)[N]) {
  if constexpr (I == N - 1) {
    return c[I];
  } else {
    return madd(polynomial<I + 1>(x, c), x, c[I]);
  }
}

// e^x = 2^k p: x = k ln 2 + r, |r| <= ln 2 / 2, in two parts since the last digits of r count. Adding kRoundF rounds
// to an integer, which then stands in the low bits.
constexpr float kRoundF = 12582912.0f;  // 1.5 * 2^23
struct ExpPartsF {
  uint32_t k;  // in the low bits: k modulo 512
  float high, low;
};
inline ExpPartsF split_exp(float x) {
  const float shifted = madd(x, 1.44269504f, kRoundF);
  const float k = shifted - kRoundF;
  return {bits(shifted), madd(k, -0.693359375f, x), k * 2.12194440e-4f};  // the first is exact
}
// (e^r - 1 - r) / r^2
inline float exp_rest(float r) {
  constexpr float c[] = {0.5f, 0.166665763f, 0.0416665524f, 0.00836323295f, 0.00139262504f};
  return polynomial(r, c);
}
inline float exp_of(const ExpPartsF& s) {
  const float r = s.high + s.low;
  const float first = 1.0f + s.high;
  const float lost = (1.0f - first) + s.high + s.low;
  return first + madd(r * r, exp_rest(r), lost);
}

inline float power_of_two(uint32_t k) { return from_bits((k + 127) << 23); }

// p * 2^k in two steps, so that results below the normal range round once and those above overflow.
inline float scale(float p, uint32_t k) {
  const uint32_t half = k >> 1;
  return p * power_of_two(half) * power_of_two(k - half);
}

#ifdef RUSHLIGHT_FMA
// The same with fewer instructions, where a fused multiply-add keeps the digits of r: e^x = p 2^(biased - 254), of which `biased`
// stands in the low 9 bits.
struct ExpValueF {
  uint32_t biased;
  float p;
};
inline ExpValueF exp_value(float x) {
  constexpr float kRoundBiasedF = kRoundF + 254.0f;
  const float shifted = madd(x, 1.44269504f, kRoundBiasedF);
  const float k = shifted - kRoundBiasedF;
  const float r = madd(k, 2.12194440e-4f, madd(k, -0.693359375f, x));
  return {bits(shifted), 1.0f + madd(r * r, exp_rest(r), r)};
}
inline float scaled(const ExpValueF& v) {  // in two steps
  const uint32_t half = v.biased >> 1;
  return v.p * from_bits(half << 23) * from_bits((v.biased - half) << 23);
}
inline float scaled_once(const ExpValueF& v) { return v.p * from_bits((v.biased - 127) << 23); }
#else
inline ExpPartsF exp_value(float x) { return split_exp(x); }
inline float scaled(const ExpPartsF& s) { return scale(exp_of(s), s.k); }
inline float scaled_once(const ExpPartsF& s) { return exp_of(s) * power_of_two(s.k); }
#endif

// e^x for x in [-87, 88]: results in the normal range only.
inline float exp_normal(float x) { return scaled_once(exp_value(x)); }

inline float exp(float x) {
  const ExpPartsF s = split_exp(x);
  const float r = scale(exp_of(s), s.k);
  return x < -104.0f ? 0.0f : (x > 89.0f ? kInfF : r);
}

// e^x for x <= 0.
inline float exp_down(float x) { return x < -104.0f ? 0.0f : scaled(exp_value(x)); }
// The same, where results below the normal range are 0.
inline float exp_flushed(float x) { return x < -88.0f ? 0.0f : scaled_once(exp_value(x)); }

inline float exp2(float x) {
  constexpr float c[] = {0.693147182f, 0.240226507f, 0.0555035695f, 0.00961808302f, 0.00133908633f, 0.000154531634f};
  const float shifted = x + kRoundF;
  const float r = x - (shifted - kRoundF);
  const float power = scale(madd(r, polynomial(r, c), 1.0f), bits(shifted));
  return x < -151.0f ? 0.0f : (x > 129.0f ? kInfF : power);
}

inline float expm1(float x) {
  const ExpPartsF s = split_exp(x);
  const float r = s.high + s.low;
  const float half = power_of_two(s.k - 1);  // 2^(k-1): 2^k itself may overflow
  const float first = madd(half, s.high, half - 0.5f);  // half (e^x - 1) = (half - 1/2) + half r + half r^2 q
  const float lost = madd(half, s.high, (half - 0.5f) - first);
  const float rest = madd(half, madd(r * r, exp_rest(r), s.low), lost);
  const float value = fabs(x) < 2e-8f ? x : 2.0f * (first + rest);
  return x < -30.0f ? -1.0f : (x > 89.0f ? kInfF : value);
}

inline float log(float x) {
  constexpr float c[] = {0.333333313f,  -0.24999997f, 0.200007156f,  -0.166678026f, 0.142490581f,
                         -0.124256872f, 0.116854198f, -0.114797339f, 0.0697161183f};
  constexpr uint32_t kSqrtHalf = 0x3f3504f3u;
  const bool small = x < 1.17549435e-38f;
  const float y = small ? x * 8388608.0f : x;
  const uint32_t u = bits(y) - kSqrtHalf;  // y = 2^e m, sqrt(1/2) <= m < sqrt(2)
  const float e = static_cast<float>(static_cast<int32_t>(u) >> 23) - (small ? 23.0f : 0.0f);
  const float f = from_bits((u & 0x7fffffu) + kSqrtHalf) - 1.0f;
  const float z = f * f;
  float r = madd(f * z, polynomial(f, c), e * -2.12194440e-4f);
  r = madd(z, -0.5f, r) + f;
  r = madd(e, 0.693359375f, r);
  const float special = x == 0.0f ? -kInfF : (x < 0.0f ? kNanF : x);  // else inf or NaN: itself
  return (x > 0.0f) & (x <= kHugeF) ? r : special;
}

// The logarithm of the rounded 1 + x, corrected by what rounding lost.
inline float log1p(float x) {
  const float u = 1.0f + x;
  const float lost = x - (u - 1.0f);
  const float r = log(u);
  const float corrected = (u > 0.0f) & (u <= kHugeF) ? r + lost / u : r;
  return fabs(x) < 2e-8f ? x : corrected;
}

inline float tanh(float x) {
  constexpr float c[] = {-0.333333343f, 0.133333102f, -0.0539607033f, 0.0217809398f, -0.00838426407f, 0.00233955053f};
  const float a = fabs(x);
  const float z = a * a;
  const float small = madd(a * z, polynomial(z, c), a);
  const float large = 1.0f - 2.0f / (exp_normal(2.0f * (a > 10.0f ? 10.0f : a)) + 1.0f);
  return copysign(a < 0.61f ? small : large, x);
}

inline float sigmoid(float x) {
  const float e = exp_down(-fabs(x));
  const float q = e / (1.0f + e);
  const float numerator = x >= 0.0f ? 1.0f : e;
  return madd(-numerator, q, numerator);  // numerator / (1 + e), with the error of that sum times q only
}

// log(1 + e) for 0 <= e <= 1: twice the area tangent of s = e / (2 + e).
inline float log1p_unit(float e) {
  constexpr float c[] = {0.333332062f, 0.200108692f, 0.139992878f, 0.140134677f};
  const float s = e / (2.0f + e);
  const float z = s * s;
  return 2.0f * madd(s * z, polynomial(z, c), s);
}

// The upper tail of the normal distribution over its density, for a >= 0: a polynomial of t = 1 / (1 + 0.3 a), times t.
inline float mills(float a) {
  constexpr float c[] = {0.299822122f,  0.303369254f, 0.24613930f,   0.336564392f,
                         -0.161760032f, 0.546944737f, -0.411364079f, 0.0935985371f};
  const float t = 1.0f / madd(a, 0.3f, 1.0f);
  return t * polynomial(t, c);
}
inline float normal_density(float a) { return 0.398942280f * exp_flushed(-0.5f * (a * a)); }
// The normal distribution's function, by the ratio of the tail to the density: small results keep
// their digits, and a program that takes the density, too, computes one exponential.
inline float normal_below(float a) {
  const float x = fabs(a), tail = normal_density(x) * mills(x);
  return a >= 0.0f ? 1.0f - tail : tail;
}

inline float erf(float x) {
  constexpr float c[] = {0.128379226f,   -0.376126289f,  0.112835526f,
                         -0.0268451404f, 0.00513974065f, -0.000696232601f};  // erf(a) / a - 1, in a^2
  constexpr float d[] = {-0.000216702319f, 1.12977183f,      0.632705688f,    0.109138899f,     -0.0257965736f,
                         0.0044923625f,    -0.000522886927f, 3.32797899e-05f, -3.81464389e-07f, -5.35601785e-08f};
  // -log(erfc(a))
  const float a = fabs(x);
  const float b = a > 4.0f ? 4.0f : a;
  const float small = madd(a, polynomial(a * a, c), a);
  const float large = 1.0f - exp_normal(-polynomial(b, d));
  return copysign(a < 0.7f ? small : large, x);
}

// sin and cos in double: x = k pi + r (cos: (k + 1/2) pi + r), so that nearby multiples of pi keep their digits.
constexpr float kTrigLimitF = 1048576.0f;  // beyond it k pi is no longer exact enough: the library's function

inline float sine_of(double x, double k, uint64_t sign) {
  constexpr double c[] = {-0.1666666666387985, 0.008333332768529359, -0.0001984108650700057, 2.753645944364609e-06,
                          -2.408009508712208e-08};
  const double r = madd(k, -1.2154201013012384e-10, madd(k, -3.1415926534682512, x));
  const double z = r * r;
  const double s = r * madd(z, polynomial(z, c), 1.0);
  return static_cast<float>(from_bits(bits(s) ^ (sign << 63)));
}
inline float sin_wide(float x_) {
  const double x = x_;
  const double shifted = madd(x, 0.3183098861837907, kRound);
  return sine_of(x, shifted - kRound, bits(shifted));
}
inline float cos_wide(float x_) {
  const double x = x_;
  const double shifted = madd(x, 0.3183098861837907, -0.5) + kRound;
  return sine_of(x, (shifted - kRound) + 0.5, ~bits(shifted));
}

// sin and cos in float: x = k pi/2 + r, with pi/2 in three parts. With a fused multiply-add the
// first subtraction is exact: a small difference of multiples of 2^-23. `low` has the third part
// and the second's rounding error, if r is not small. Errors are below 1 ulp. Else in double.
#ifdef RUSHLIGHT_FMA
constexpr float kNearLimitF = 65536.0f;
inline float sin_quadrant(float x, uint32_t quadrant) {
  constexpr float sc[] = {-0.166666552f, 0.00833218917f, -0.000195181899f};
  constexpr float cc[] = {-0.5f, 0.0416666456f, -0.00138873013f, 2.44306684e-05f};
  const float shifted = madd(x, 0.636619772f, kRoundF);
  const float k = shifted - kRoundF;
  const float first = madd(k, -1.57079637f, x);
  const float r = madd(k, 4.37113883e-8f, first);
  const float lost = madd(k, 4.37113883e-8f, first - r);
  const float low = madd(k, 1.71512489e-15f, fabs(r) > 0.0078125f ? lost : 0.0f);
  const float z = r * r;
  const float s = r + madd(r * z, polynomial(z, sc), low);
  const float c = 1.0f + madd(z, polynomial(z, cc), -r * low);
  const uint32_t q = bits(shifted) + quadrant;
  return from_bits(bits((q & 1) != 0 ? c : s) ^ ((q & 2) << 30));
}
inline float sin(float x) { return x == 0.0f ? x : sin_quadrant(x, 0); }
inline float cos(float x) { return sin_quadrant(x, 1); }
#else
constexpr float kNearLimitF = kTrigLimitF;
inline float sin(float x) { return sin_wide(x); }
inline float cos(float x) { return cos_wide(x); }
#endif
inline float tan(float x_) {
  const double x = x_;
  constexpr double sc[] = {-0.16666666663854168, 0.008333331874273714, -0.000198400864995936, 2.7249895230611676e-06};
  constexpr double cc[] = {0.041666664658901405, -0.0013888302919113633, 2.4547916853691016e-05};
  const double shifted = madd(x, 0.6366197723675814, kRound);
  const double k = shifted - kRound;
  const double r = madd(k, -6.077100506506192e-11, madd(k, -1.5707963267341256, x));
  const double z = r * r;
  const double s = r * madd(z, polynomial(z, sc), 1.0);
  const double c = madd(z * z, polynomial(z, cc), madd(z, -0.5, 1.0));
  const bool odd = (bits(shifted) & 1) != 0;
  return static_cast<float>((odd ? -c : s) / (odd ? s : c));
}

// --- those that compute in double and round once ---

inline double log2_wide(float x) { return x < 0 ? kNan : log2_core(x); }
inline float log2(float x) { return static_cast<float>(log2_wide(x)); }
inline float log10(float x) { return static_cast<float>(log2_wide(x) * 0.3010299956639812); }
inline float sinh(float x) { return static_cast<float>(sinh_core(x)); }
inline float cosh(float x) { return static_cast<float>(cosh_core(x)); }
inline float asinh(float x) { return static_cast<float>(asinh(static_cast<double>(x))); }
inline float acosh(float x) { return static_cast<float>(acosh(static_cast<double>(x))); }
inline float atanh(float x) { return static_cast<float>(atanh_core(x)); }
inline float asin(float x) { return static_cast<float>(asin_core(x)); }
inline float acos(float x) { return static_cast<float>(acos_core(x)); }
inline float atan(float x) { return static_cast<float>(atan2_core(x, 1.0)); }
inline float atan2(float y, float x) { return static_cast<float>(atan2_core(y, x)); }
inline float erfc(float x) { return static_cast<float>(erfc_core(x)); }
inline float inverse_erf(float x) { return static_cast<float>(inverse_erf_start(x)); }
inline float hypot(float x, float y) {
  const double dx = x, dy = y;
  const float r = static_cast<float>(sqrt(dx * dx + dy * dy));
  return (fabs(x) == kInfF) | (fabs(y) == kInfF) ? kInfF : r;
}
inline float pow(float x, float y) { return static_cast<float>(pow_core(x, y)); }

// --- the C library's ---

inline float fmod(float x, float y) { return ::fmodf(x, y); }
inline float nextafter(float x, float y) {
  const float next = x == 0 ? copysign(from_bits(uint32_t{1}), y)
                            : from_bits(bits(x) + ((x < y) == (x > 0) ? uint32_t{1} : ~uint32_t{0}));
  const float r = x == y ? y : next;
  return (x != x) | (y != y) ? x + y : r;
}
inline float floor(float x) { return ::floorf(x); }
inline float ceil(float x) { return ::ceilf(x); }
inline float trunc(float x) { return ::truncf(x); }
inline float rint(float x) { return ::nearbyintf(x); }
inline float sqrt(float x) { return ::sqrtf(x); }

// Beyond the range of the argument reduction.
inline bool trig_fits(float x) { return fabs(x) <= kNearLimitF; }
inline bool tan_fits(float x) { return fabs(x) <= kTrigLimitF; }
inline float sin_far(float x) { return fabs(x) <= kTrigLimitF ? sin_wide(x) : ::sinf(x); }
inline float cos_far(float x) { return fabs(x) <= kTrigLimitF ? cos_wide(x) : ::cosf(x); }
inline float tan_far(float x) { return ::tanf(x); }

}  // namespace math
}  // namespace
}  // namespace rushlight::RUSHLIGHT_ISA
