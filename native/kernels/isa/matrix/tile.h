// The tile of registers that every product of matrices here is made of, and how its operands are packed.
//
// A tile is up to kTileRows rows of c by a panel of kTileVecs registers; it stays in registers while k runs. Per step of k
// it loads the registers of the panel once and one element of a for each row. Its operands:
//
//   panel   b[k][0..width), rows `ldb` elements apart, whole registers of it may be read: zeros up to kTileWidth
//   strip   a packed strip of r rows is a[k * r + i]; one that is not packed a[i * a_row + k * a_column]
//
// In plain words: for i, j: c[i][j] = start + sum over k of a[i][k] * b[k][j], where start is c, the bias or 0.
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

// The operands of one tile. Sums start from `bias` (a row), from c (`accumulate`), or from 0.
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
