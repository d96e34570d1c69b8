// Vec<T>: as many elements of type T as one register of the instruction set being compiled holds.
//
// For loops that the compiler does not vectorise by itself because floating-point addition must keep its order
// (reductions, products of matrices), and for exp over a register. Built on the vector extension of GCC and Clang;
// elsewhere a plain array, which the compiler may vectorise. Everything here is forced inline: an inline function left
// out of line would be merged by the linker with the copy of another instruction set. RUSHLIGHT_SHARED keeps a longer
// function one piece of code, which compilers would copy into its callers and, where it calls itself, into itself.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#if defined(__FMA__) || defined(__AVX512F__)
#include <immintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__GNUC__) || defined(__clang__)
#define RUSHLIGHT_INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define RUSHLIGHT_SHARED __attribute__((noinline))
#else
#define RUSHLIGHT_SHARED __attribute__((noinline, noclone))
#endif
#define RUSHLIGHT_VECTOR_EXTENSION 1
#else
#define RUSHLIGHT_INLINE __forceinline
#define RUSHLIGHT_SHARED __declspec(noinline)
#endif

namespace rushlight::RUSHLIGHT_ISA {

#if defined(__AVX512F__)
inline constexpr int kVecBytes = 64;
#elif defined(__AVX__)
inline constexpr int kVecBytes = 32;
#else
inline constexpr int kVecBytes = 16;
#endif

template <class T>
struct Vec {
  static constexpr int N = kVecBytes / static_cast<int>(sizeof(T));
#ifdef RUSHLIGHT_VECTOR_EXTENSION
  typedef T Raw __attribute__((vector_size(kVecBytes)));
  Raw v;
#else
  T v[N];
#endif
  static RUSHLIGHT_INLINE Vec load(const T* p) {
    Vec r;
    std::memcpy(&r.v, p, kVecBytes);
    return r;
  }
  RUSHLIGHT_INLINE void store(T* p) const { std::memcpy(p, &v, kVecBytes); }
  // Past the caches, to a place aligned as the register: for results larger than they are, whose lines would otherwise be
  // read before they are written. streamed() ends a run of these.
  RUSHLIGHT_INLINE void stream(T* p) const {
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(p), (__m512i)v);
#elif defined(__FMA__)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(p), (__m256i)v);
#else
    store(p);
#endif
  }
  static RUSHLIGHT_INLINE Vec all(T x) {
    Vec r;
#ifdef RUSHLIGHT_VECTOR_EXTENSION
    r.v = x - Raw{};
#else
    for (int i = 0; i < N; i++) r.v[i] = x;
#endif
    return r;
  }
};

RUSHLIGHT_INLINE void streamed() {
#if defined(__FMA__)
  _mm_sfence();
#endif
}

#ifdef RUSHLIGHT_VECTOR_EXTENSION
template <class T>
RUSHLIGHT_INLINE Vec<T> operator+(Vec<T> a, Vec<T> b) {
  return {a.v + b.v};
}
template <class T>
RUSHLIGHT_INLINE Vec<T> operator-(Vec<T> a, Vec<T> b) {
  return {a.v - b.v};
}
template <class T>
RUSHLIGHT_INLINE Vec<T> operator*(Vec<T> a, Vec<T> b) {
  return {a.v * b.v};
}
template <class T>
RUSHLIGHT_INLINE Vec<T> operator/(Vec<T> a, Vec<T> b) {
  return {a.v / b.v};
}
// a where a > b or a is NaN, else b: so a NaN on either side wins.
template <class T>
RUSHLIGHT_INLINE Vec<T> maximum(Vec<T> a, Vec<T> b) {
  return {((a.v > b.v) | (a.v != a.v)) ? a.v : b.v};
}
template <class T>
RUSHLIGHT_INLINE Vec<T> minimum(Vec<T> a, Vec<T> b) {
  return {((a.v < b.v) | (a.v != a.v)) ? a.v : b.v};
}
// a, or b where a is NaN.
template <class T>
RUSHLIGHT_INLINE Vec<T> number_or(Vec<T> a, Vec<T> b) {
  return {(a.v == a.v) ? a.v : b.v};
}
#else
#define RUSHLIGHT_LANES(name, expression)                    \
  template <class T>                                         \
  RUSHLIGHT_INLINE Vec<T> name(Vec<T> a, Vec<T> b) {         \
    Vec<T> r;                                                \
    for (int i = 0; i < Vec<T>::N; i++) r.v[i] = expression; \
    return r;                                                \
  }
RUSHLIGHT_LANES(operator+, a.v[i] + b.v[i])
RUSHLIGHT_LANES(operator-, a.v[i] - b.v[i])
RUSHLIGHT_LANES(operator*, a.v[i] * b.v[i])
RUSHLIGHT_LANES(operator/, a.v[i] / b.v[i])
RUSHLIGHT_LANES(maximum, (a.v[i] > b.v[i]) || (a.v[i] != a.v[i]) ? a.v[i] : b.v[i])
RUSHLIGHT_LANES(minimum, (a.v[i] < b.v[i]) || (a.v[i] != a.v[i]) ? a.v[i] : b.v[i])
RUSHLIGHT_LANES(number_or, a.v[i] == a.v[i] ? a.v[i] : b.v[i])
#undef RUSHLIGHT_LANES
#endif

template <class T>
RUSHLIGHT_INLINE T maximum(T a, T b) {
  return (a > b) || (a != a) ? a : b;
}
template <class T>
RUSHLIGHT_INLINE T number_or(T a, T b) {
  return a == a ? a : b;
}
template <class T>
RUSHLIGHT_INLINE T minimum(T a, T b) {
  return (a < b) || (a != a) ? a : b;
}

// a * b + c, in one rounding where the instruction set has it.
RUSHLIGHT_INLINE Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) {
#if defined(__AVX512F__)
  return {(Vec<float>::Raw)_mm512_fmadd_ps((__m512)a.v, (__m512)b.v, (__m512)c.v)};
#elif defined(__FMA__)
  return {(Vec<float>::Raw)_mm256_fmadd_ps((__m256)a.v, (__m256)b.v, (__m256)c.v)};
#elif defined(__ARM_NEON) && defined(__aarch64__)
  return {(Vec<float>::Raw)vfmaq_f32((float32x4_t)c.v, (float32x4_t)a.v, (float32x4_t)b.v)};
#else
  return a * b + c;
#endif
}
RUSHLIGHT_INLINE Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) {
#if defined(__AVX512F__)
  return {(Vec<double>::Raw)_mm512_fmadd_pd((__m512d)a.v, (__m512d)b.v, (__m512d)c.v)};
#elif defined(__FMA__)
  return {(Vec<double>::Raw)_mm256_fmadd_pd((__m256d)a.v, (__m256d)b.v, (__m256d)c.v)};
#elif defined(__ARM_NEON) && defined(__aarch64__)
  return {(Vec<double>::Raw)vfmaq_f64((float64x2_t)c.v, (float64x2_t)a.v, (float64x2_t)b.v)};
#else
  return a * b + c;
#endif
}

// The same of one number, rounded as the lanes of a register are.
template <class T>
RUSHLIGHT_INLINE T multiply_add(T a, T b, T c) {
#if defined(__FMA__) || (defined(__ARM_NEON) && defined(__aarch64__))
  if constexpr (sizeof(T) == sizeof(float)) return __builtin_fmaf(a, b, c);
  else return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

#ifdef RUSHLIGHT_VECTOR_EXTENSION
// x forced into [low, high]; NaN stays. (The minimum and maximum instructions return their second operand for a NaN.)
RUSHLIGHT_INLINE Vec<float> clamp(Vec<float> x, float low, float high) {
  using V = Vec<float>;
#if defined(__AVX512F__)
  const __m512 a = _mm512_maskz_max_ps((__mmask16)-1, _mm512_set1_ps(low), (__m512)x.v);
  return {(V::Raw)_mm512_maskz_min_ps((__mmask16)-1, _mm512_set1_ps(high), a)};
#elif defined(__FMA__)
  return {(V::Raw)_mm256_min_ps(_mm256_set1_ps(high), _mm256_max_ps(_mm256_set1_ps(low), (__m256)x.v))};
#else
  const V a = V::all(low), b = V::all(high);
  x.v = x.v < a.v ? a.v : x.v;
  return {x.v > b.v ? b.v : x.v};
#endif
}
RUSHLIGHT_INLINE Vec<double> clamp(Vec<double> x, double low, double high) {
  using V = Vec<double>;
  const V a = V::all(low), b = V::all(high);
  x.v = x.v < a.v ? a.v : x.v;
  return {x.v > b.v ? b.v : x.v};
}
#endif

#if defined(RUSHLIGHT_VECTOR_EXTENSION) && defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define RUSHLIGHT_SHUFFLES 1
template <class T, int W, int... I>
RUSHLIGHT_INLINE Vec<T> turned(Vec<T> a, std::integer_sequence<int, I...>) {
  return {__builtin_shufflevector(a.v, a.v, ((I + W) % Vec<T>::N)...)};
}
template <int W, class T, class F>
RUSHLIGHT_INLINE T fold_lanes(Vec<T> a, F combine) {
  if constexpr (W == 0) return a.v[0];
  else return fold_lanes<W / 2>(combine(a, turned<T, W>(a, std::make_integer_sequence<int, Vec<T>::N>{})), combine);
}
// Every second of 2 N - 1 elements: the even ones of the first register, the odd ones of the last.
template <class T, int... I>
RUSHLIGHT_INLINE Vec<T> every_second(const T* p, std::integer_sequence<int, I...>) {
  constexpr int N = Vec<T>::N;
  const Vec<T> a = Vec<T>::load(p), b = Vec<T>::load(p + N - 1);
  return {__builtin_shufflevector(a.v, b.v, (I < N / 2 ? 2 * I : 2 * I + 1)...)};
}
template <class T>
RUSHLIGHT_INLINE Vec<T> every_second(const T* p) {
  return every_second(p, std::make_integer_sequence<int, Vec<T>::N>{});
}
#endif
#endif

// Combines the lanes pairwise, the first half with the second: combine(a, b) over registers and scalars.
template <class T, class F>
RUSHLIGHT_INLINE T horizontal(Vec<T> a, F combine) {
#ifdef RUSHLIGHT_SHUFFLES
  return fold_lanes<Vec<T>::N / 2>(a, combine);
#else
  T lanes[Vec<T>::N];
  a.store(lanes);
  for (int w = Vec<T>::N / 2; w > 0; w /= 2)
    for (int i = 0; i < w; i++) lanes[i] = combine(lanes[i], lanes[i + w]);
  return lanes[0];
#endif
}
template <class T>
RUSHLIGHT_INLINE T horizontal_sum(Vec<T> a) {
  return horizontal(a, [](auto x, auto y) { return x + y; });
}

// e^x over a register, <= 1 ULP or so; NaN stays, overflow gives inf, underflow goes through the subnormals to 0.
// x = n ln2 + r with |r| <= ln2 / 2; e^r by its Taylor series (coefficients fitted for float), times
// 2^n in two steps. Lanes that become 0 take no part in these: a product below all numbers takes a
// hundred cycles.
RUSHLIGHT_INLINE Vec<float> exp(Vec<float> x) {
  using V = Vec<float>;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer kept in the low bits
#ifdef RUSHLIGHT_VECTOR_EXTENSION
  const V c = clamp(x, -104.0f, 89.0f);
  const V shifted = fma(c, V::all(1.44269504f), V::all(kRound));
  const V n = shifted - V::all(kRound);
  V r = fma(n, V::all(-0.693145752f), c);
  r = fma(n, V::all(-1.42860677e-6f), r);
  V p = V::all(1.98759113e-4f);
  p = fma(p, r, V::all(1.39819994e-3f));
  p = fma(p, r, V::all(8.33345205e-3f));
  p = fma(p, r, V::all(4.16657962e-2f));
  p = fma(p, r, V::all(1.66666657e-1f));
  p = fma(p, r, V::all(5.0e-1f));
  p = fma(p, r, V::all(1.0f));
  p = fma(p, r, V::all(1.0f));
#if defined(__AVX512F__)
  const __mmask16 some = _mm512_cmp_ps_mask((__m512)x.v, _mm512_set1_ps(-104.0f), _CMP_NLE_UQ);
  return {(V::Raw)_mm512_maskz_scalef_ps(some, (__m512)p.v, (__m512)n.v)};
#else
  typedef int32_t I __attribute__((vector_size(kVecBytes)));
  const I ni = (I)shifted.v - (I)V::all(kRound).v;
  const I half = ni >> 1;
  V a, b;
  a.v = (V::Raw)(((half + 127) << 23) & ~(I)(x.v <= V::all(-104.0f).v));
  b.v = (V::Raw)((ni - half + 127) << 23);
  return p * a * b;
#endif
#else
  for (int i = 0; i < V::N; i++) x.v[i] = ::expf(x.v[i]);
  return x;
#endif
}

RUSHLIGHT_INLINE Vec<double> exp(Vec<double> x) {
  using V = Vec<double>;
#ifdef RUSHLIGHT_VECTOR_EXTENSION
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52
  const V c = clamp(x, -746.0, 710.0);
  const V shifted = fma(c, V::all(1.4426950408889634), V::all(kRound));
  const V n = shifted - V::all(kRound);
  V r = fma(n, V::all(-0.693147180369123816490), c);
  r = fma(n, V::all(-1.90821492927058770002e-10), r);
  V p = V::all(1.0 / 6227020800.0);
  p = fma(p, r, V::all(1.0 / 479001600.0));
  p = fma(p, r, V::all(1.0 / 39916800.0));
  p = fma(p, r, V::all(1.0 / 3628800.0));
  p = fma(p, r, V::all(1.0 / 362880.0));
  p = fma(p, r, V::all(1.0 / 40320.0));
  p = fma(p, r, V::all(1.0 / 5040.0));
  p = fma(p, r, V::all(1.0 / 720.0));
  p = fma(p, r, V::all(1.0 / 120.0));
  p = fma(p, r, V::all(1.0 / 24.0));
  p = fma(p, r, V::all(1.0 / 6.0));
  p = fma(p, r, V::all(0.5));
  p = fma(p * r, r, r) + V::all(1.0);
#if defined(__AVX512F__)
  const __mmask8 some = _mm512_cmp_pd_mask((__m512d)x.v, _mm512_set1_pd(-746.0), _CMP_NLE_UQ);
  return {(V::Raw)_mm512_maskz_scalef_pd(some, (__m512d)p.v, (__m512d)n.v)};
#else
  typedef int64_t I __attribute__((vector_size(kVecBytes)));
  const I ni = (I)shifted.v - (I)V::all(kRound).v;
  // 64-bit arithmetic shift right is missing below AVX-512: bias to positive, shift, bias back.
  const I half = (I)(((ni + 4096) >> 1) - 2048);
  V a, b;
  a.v = (V::Raw)(((half + 1023) << 52) & ~(I)(x.v <= V::all(-746.0).v));
  b.v = (V::Raw)((ni - half + 1023) << 52);
  return p * a * b;
#endif
#else
  for (int i = 0; i < V::N; i++) x.v[i] = ::exp(x.v[i]);
  return x;
#endif
}

}  // namespace rushlight::RUSHLIGHT_ISA
