// Uniforms from draws, and pairs of normals from uniforms (Box-Muller) over float, sixteen at a time.
//
// PyTorch's vector code evaluates the logarithm, sine and cosine here with the polynomials of the Cephes library and
// fused multiply-adds; a seeded program prints the same numbers only if these do the same, operation for operation. So
// the order of the operations below is part of the result. Where the instruction set has no fused multiply-add, one is
// made in double: the product of two floats is exact there.
#include "kernels/isa/dense_impl.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

constexpr int kPairs = 8;

RUSHLIGHT_INLINE float fused(float a, float b, float c) {
#if defined(__FMA__) || (defined(__ARM_FEATURE_FMA) && defined(__GNUC__))
  return __builtin_fmaf(a, b, c);
#else
  return static_cast<float>(static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c));
#endif
}

RUSHLIGHT_INLINE int32_t bits_of(float x) {
  int32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}
RUSHLIGHT_INLINE float float_of(int32_t bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}

// ln x for x in (0, 1]: x = 2^e m with m in [sqrt(1/2), sqrt(2)), a polynomial of degree 8 in m - 1.
RUSHLIGHT_INLINE float log_of(float x) {
  const int32_t bits = bits_of(x);
  const float half = float_of((bits & 0x7fffff) | 0x3f000000);
  const bool low = half < 0.707106781186547524f;
  const float e = static_cast<float>((bits >> 23) - 126) - (low ? 1.0f : 0.0f);
  const float m = half - 1.0f + (low ? half : 0.0f);
  const float square = m * m;
  float y = 7.0376836292e-2f;
  y = fused(y, m, -1.1514610310e-1f);
  y = fused(y, m, 1.1676998740e-1f);
  y = fused(y, m, -1.2420140846e-1f);
  y = fused(y, m, 1.4249322787e-1f);
  y = fused(y, m, -1.6668057665e-1f);
  y = fused(y, m, 2.0000714765e-1f);
  y = fused(y, m, -2.4999993993e-1f);
  y = fused(y, m, 3.3333331174e-1f);
  y = fused(y * m, square, e * -2.12194440e-4f);
  return fused(e, 0.693359375f, m + (y - square * 0.5f));
}

// Sixteen: data[j] and data[j + 8] are the uniforms of one pair, and receive its normals.
RUSHLIGHT_INLINE void sixteen(float* data, float mean, float std) {
  for (int j = 0; j < kPairs; j++) {
    const float radius = square_root(-2.0f * log_of(1.0f - data[j]));
    float x = 6.28318530717958647692f * data[j + kPairs];
    // Reduce to [-pi/4, pi/4] around the nearest even multiple of pi/4, pi/4 in three parts.
    const int32_t octant = (static_cast<int32_t>(x * 1.27323954473516f) + 1) & ~1;
    const float y = static_cast<float>(octant);
    x = fused(y, -0.78515625f, x);
    x = fused(y, -2.4187564849853515625e-4f, x);
    x = fused(y, -3.77489497744594108e-8f, x);
    const float z = x * x;
    float c = fused(fused(2.443315711809948e-5f, z, -1.388731625493765e-3f), z, 4.166664568298827e-2f);
    c = fused(c * z, z, -(z * 0.5f)) + 1.0f;
    float s = fused(fused(-1.9515295891e-4f, z, 8.3321608736e-3f), z, -1.6666654611e-1f);
    s = fused(s * z, x, x);
    const bool swap = octant & 2;
    const float sine = swap ? c : s, cosine = swap ? s : c;
    const float first = radius * ((octant - 2) & 4 ? cosine : -cosine);
    const float second = radius * (octant & 4 ? -sine : sine);
    data[j] = fused(first, std, mean);
    data[j + kPairs] = fused(second, std, mean);
  }
}

void normals(float* data, ptrdiff_t sixteens, float mean, float std) {
  for (ptrdiff_t i = 0; i < sixteens; i++) sixteen(data + 2 * kPairs * i, mean, std);
}

void uniforms(const uint32_t* draws, float* out, ptrdiff_t n, float low, float width) {
  for (ptrdiff_t i = 0; i < n; i++)
    out[i] = fused(static_cast<float>(static_cast<int32_t>(draws[i] & 0xffffffu)) * 0x1p-24f, width, low);
}

}  // namespace

void fill_normals(DenseKernels& table) {
  table.normals = normals;
  table.uniforms = uniforms;
}

}  // namespace rushlight::RUSHLIGHT_ISA
