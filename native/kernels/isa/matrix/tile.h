// The tile of registers that every product of matrices here is made of, and how its operands are packed.
//
// A tile is up to kTileRows rows of c by a panel of kTileVecs registers; it stays in registers while k runs. Per step of k
// it loads the registers of the panel once and one element of a for each row. Its operands:
//
//   panel   b[k][0..width), rows `ldb` elements apart, whole registers of it may be read: zeros up to kTileWidth
//   strip   a packed strip of r rows is a[k * r + i]; one that is not packed a[i * a_row + k * a_column]
//
// In plain words: for i, j: c[i][j] = start + sum over k of a[i][k] * b[k][j], where start is c, the bias or 0. It is added at the
// end: a long sum that is made of tiles is a sum of short sums, whose roundings are few.
#pragma once
#include <utility>

#include "kernels/isa/dense_impl.h"

namespace rushlight::RUSHLIGHT_ISA {

#if defined(__AVX512F__)
inline constexpr int kTileRows = 14, kTileVecs = 2;  // of 32 registers: 28 sums, 2 of the panel, 1 of a
#elif defined(__ARM_NEON) && defined(__aarch64__)
inline constexpr int kTileRows = 8, kTileVecs = 3;  // of 32: 24, 3 and 1
#else
inline constexpr int kTileRows = 6, kTileVecs = 2;  // of 16: 12, 2 and 1
#endif
template <class T>
inline constexpr ptrdiff_t kTileWidth = kTileVecs * Vec<T>::N;

// The first n elements of a register, zeros behind them; n is positive and may be more than there are.
template <class T>
RUSHLIGHT_INLINE Vec<T> load_some(const T* p, ptrdiff_t n) {
  if (n >= Vec<T>::N) return Vec<T>::load(p);
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) return {(typename Vec<T>::Raw)_mm512_maskz_loadu_epi32(static_cast<__mmask16>((1u << n) - 1), p)};
  else return {(typename Vec<T>::Raw)_mm512_maskz_loadu_epi64(static_cast<__mmask8>((1u << n) - 1), p)};
#else
  T some[Vec<T>::N] = {};
  for (ptrdiff_t i = 0; i < n; i++) some[i] = p[i];
  return Vec<T>::load(some);
#endif
}
template <class T>
RUSHLIGHT_INLINE void store_some(Vec<T> v, T* p, ptrdiff_t n) {
  if (n >= Vec<T>::N) return v.store(p);
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) _mm512_mask_storeu_epi32(p, static_cast<__mmask16>((1u << n) - 1), (__m512i)v.v);
  else _mm512_mask_storeu_epi64(p, static_cast<__mmask8>((1u << n) - 1), (__m512i)v.v);
#else
  T some[Vec<T>::N];
  v.store(some);
  for (ptrdiff_t i = 0; i < n; i++) p[i] = some[i];
#endif
}

// --- a row with a row, and a row with a matrix ---

template <class T>
RUSHLIGHT_INLINE T dot(const T* x, const T* y, ptrdiff_t n) {
  using V = Vec<T>;
  V a = V::all(0), b = a, c = a, d = a;
  ptrdiff_t i = 0;
  for (; i + 4 * V::N <= n; i += 4 * V::N) {
    a = fma(V::load(x + i), V::load(y + i), a);
    b = fma(V::load(x + i + V::N), V::load(y + i + V::N), b);
    c = fma(V::load(x + i + 2 * V::N), V::load(y + i + 2 * V::N), c);
    d = fma(V::load(x + i + 3 * V::N), V::load(y + i + 3 * V::N), d);
  }
  for (; i + V::N <= n; i += V::N) a = fma(V::load(x + i), V::load(y + i), a);
  T sum = horizontal_sum((a + b) + (c + d));
  for (; i < n; i++) sum += x[i] * y[i];
  return sum;
}

// out[i] = the same for four rows of x, so that y is read once for them.
template <class T>
RUSHLIGHT_INLINE void four_dots(const T* x, ptrdiff_t row, const T* y, ptrdiff_t n, T (&out)[4]) {
  using V = Vec<T>;
  V sums[4][2];
  for (int r = 0; r < 4; r++) sums[r][0] = sums[r][1] = V::all(0);
  ptrdiff_t i = 0;
  for (; i + 2 * V::N <= n; i += 2 * V::N) {
    const V y0 = V::load(y + i), y1 = V::load(y + i + V::N);
#pragma GCC unroll 4
    for (int r = 0; r < 4; r++) {
      sums[r][0] = fma(V::load(x + r * row + i), y0, sums[r][0]);
      sums[r][1] = fma(V::load(x + r * row + i + V::N), y1, sums[r][1]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < 4; r++) {
    out[r] = horizontal_sum(sums[r][0] + sums[r][1]);
    for (ptrdiff_t p = i; p < n; p++) out[r] += x[r * row + p] * y[p];
  }
}

// c (n) += a (k) @ b (k x n): eight rows of b at a time, so that c is read and written once for the sum of them.
template <class T>
RUSHLIGHT_INLINE void combine_rows(ptrdiff_t n, ptrdiff_t k, const T* a, ptrdiff_t a_column, const T* b, ptrdiff_t b_row, T* c) {
  using V = Vec<T>;
  constexpr int kRows = 8;
  for (ptrdiff_t p = 0; p < k; p += kRows, b += kRows * b_row) {
    const int rows = static_cast<int>(smaller(kRows, k - p));
    V factors[kRows];
    for (int i = 0; i < rows; i++) factors[i] = V::all(a[(p + i) * a_column]);
    ptrdiff_t j = 0;
    if (rows == kRows)
      for (; j + V::N <= n; j += V::N) {
        V sum = factors[0] * V::load(b + j);
#pragma GCC unroll 8
        for (int i = 1; i < kRows; i++) sum = fma(factors[i], V::load(b + i * b_row + j), sum);
        (V::load(c + j) + sum).store(c + j);
      }
    for (; j < n; j++) {
      T sum = a[p * a_column] * b[j];
      for (int i = 1; i < rows; i++) sum = multiply_add(a[(p + i) * a_column], b[i * b_row + j], sum);
      c[j] += sum;
    }
  }
}

// --- transposing a square of registers, by log2 N rounds of interleaving the first half of them with the second ---

#ifdef RUSHLIGHT_SHUFFLES
template <class T, int Start, int... I>
RUSHLIGHT_INLINE Vec<T> interleave(Vec<T> a, Vec<T> b, std::integer_sequence<int, I...>) {
  return {__builtin_shufflevector(a.v, b.v, (Start + I / 2 + (I % 2) * Vec<T>::N)...)};
}

template <class T>
RUSHLIGHT_INLINE void transpose_square(Vec<T> (&rows)[Vec<T>::N]) {
  constexpr int N = Vec<T>::N;
  using Lanes = std::make_integer_sequence<int, N>;
  for (int w = 1; w < N; w *= 2) {
    Vec<T> next[N];
#pragma GCC unroll 16
    for (int i = 0; i < N / 2; i++) {
      next[2 * i] = interleave<T, 0>(rows[i], rows[i + N / 2], Lanes{});
      next[2 * i + 1] = interleave<T, N / 2>(rows[i], rows[i + N / 2], Lanes{});
    }
#pragma GCC unroll 16
    for (int i = 0; i < N; i++) rows[i] = next[i];
  }
}
#endif

// panel[k][j] = b(k, j) = b[k * row + j * column] for `width` columns, zeros up to `padded` columns (whole registers).
template <class T>
void pack_panel(const T* b, ptrdiff_t row, ptrdiff_t column, ptrdiff_t depth, ptrdiff_t width, ptrdiff_t padded, T* panel);

// Packs `rows` rows of a, at most kTileRows, into a strip: strip[k * rows + i] = a[i * a_row + k * a_column].
template <class T>
void pack_strip(int rows, ptrdiff_t depth, const T* a, ptrdiff_t a_row, ptrdiff_t a_column, T* strip);

// The operands of one tile. To its sums `bias` (a row) is added, or c (`accumulate`), or nothing.
template <class T>
struct TileTask {
  ptrdiff_t depth;
  const T* a;
  ptrdiff_t a_row, a_column;  // of a strip that is not packed
  const T* b;
  ptrdiff_t ldb;
  const T* bias;
  bool accumulate;
  T* c;
  ptrdiff_t ldc;
  ptrdiff_t width;  // columns of c that are written: from 1 to NV registers full
};

template <class T>
using TileFunction = void (*)(const TileTask<T>&);

// The tile of 1 to kTileRows rows and of 1 or kTileVecs registers; `packed`: of a strip that is. T: float, double.
template <class T>
TileFunction<T> tile_of(int rows, int vecs, bool packed);

// Into how many strips m rows are cut, and how high the highest is: as equal as can be, 32 = 11 + 11 + 10.
struct Strips {
  ptrdiff_t count;
  RUSHLIGHT_INLINE explicit Strips(ptrdiff_t m) : count((m + kTileRows - 1) / kTileRows), m_(m) {}
  RUSHLIGHT_INLINE ptrdiff_t begin(ptrdiff_t s) const { return s * (m_ / count) + smaller(s, m_ % count); }
  RUSHLIGHT_INLINE int rows(ptrdiff_t s) const { return static_cast<int>(m_ / count + (s < m_ % count)); }

 private:
  ptrdiff_t m_;
};

}  // namespace rushlight::RUSHLIGHT_ISA
