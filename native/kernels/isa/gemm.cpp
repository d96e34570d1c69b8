// Small products of matrices: tiles of registers over a panel of columns.
//
// The columns of c are taken in panels of two registers. The panel of b is used where it lies when its rows are
// adjacent elements; otherwise (b transposed, or the last narrow panel) it is copied into a buffer on the stack, padded
// with zeros. A tile of up to six rows of c then stays in registers while k runs. No blocking for the caches: see
// blas.h for large products.
#include <utility>

#include "kernels/isa/dense_impl.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

constexpr int kPanelVecs = 2;
constexpr ptrdiff_t kDepth = 256;  // k is cut into slices of this many, so that the panel buffer is bounded

// --- transposing a square of registers, by log2 N rounds of interleaving the first half of them with the second ---

#if defined(RUSHLIGHT_VECTOR_EXTENSION) && defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define RUSHLIGHT_TRANSPOSES 1
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
#endif

// panel[k][j] = b(k, j) for `width` columns, zeros up to `padded` columns.
template <class T>
void pack_panel(const T* b, ptrdiff_t row, ptrdiff_t column, ptrdiff_t depth, ptrdiff_t width, ptrdiff_t padded, T* panel) {
  ptrdiff_t done = 0;  // columns packed in whole squares, for rows [0, square_depth)
  ptrdiff_t square_depth = 0;
#ifdef RUSHLIGHT_TRANSPOSES
  constexpr int N = Vec<T>::N;
  if (row == 1) {
    square_depth = depth / N * N;
    for (; done + N <= width; done += N)
      for (ptrdiff_t k = 0; k < square_depth; k += N) {
        Vec<T> rows[N];
        for (int i = 0; i < N; i++) rows[i] = Vec<T>::load(b + (done + i) * column + k);
        transpose_square(rows);
        for (int i = 0; i < N; i++) rows[i].store(panel + (k + i) * padded + done);
      }
  }
#endif
  for (ptrdiff_t k = 0; k < depth; k++) {
    T* to = panel + k * padded;
    for (ptrdiff_t j = k < square_depth ? done : 0; j < width; j++) to[j] = b[k * row + j * column];
    for (ptrdiff_t j = width; j < padded; j++) to[j] = 0;
  }
}

// MR rows of NV registers of c. `start`: what the sums start from (a bias row, or null for c itself or zero).
template <class T, int MR, int NV>
void tile(ptrdiff_t depth, const T* a, ptrdiff_t a_row, ptrdiff_t a_column, const T* b, ptrdiff_t ldb, const T* bias,
          bool accumulate, T* c, ptrdiff_t ldc, ptrdiff_t width) {
  using V = Vec<T>;
  V acc[MR][NV];
  const bool whole = width == NV * V::N;
  T edge[NV * V::N];
  if (accumulate && whole) {
#pragma GCC unroll 8
    for (int i = 0; i < MR; i++)
#pragma GCC unroll 2
      for (int j = 0; j < NV; j++) acc[i][j] = V::load(c + i * ldc + j * V::N);
  } else if (accumulate) {
#pragma GCC unroll 8
    for (int i = 0; i < MR; i++) {
      for (ptrdiff_t j = 0; j < NV * V::N; j++) edge[j] = j < width ? c[i * ldc + j] : T(0);
#pragma GCC unroll 2
      for (int j = 0; j < NV; j++) acc[i][j] = V::load(edge + j * V::N);
    }
  } else {
    V start[NV];
    for (ptrdiff_t j = 0; bias && j < NV * V::N; j++) edge[j] = j < width ? bias[j] : T(0);
#pragma GCC unroll 2
    for (int j = 0; j < NV; j++) start[j] = bias ? V::load(edge + j * V::N) : V::all(0);
#pragma GCC unroll 8
    for (int i = 0; i < MR; i++)
#pragma GCC unroll 2
      for (int j = 0; j < NV; j++) acc[i][j] = start[j];
  }
  for (ptrdiff_t k = 0; k < depth; k++, b += ldb, a += a_column) {
    V bk[NV];
#pragma GCC unroll 2
    for (int j = 0; j < NV; j++) bk[j] = V::load(b + j * V::N);
#pragma GCC unroll 8
    for (int i = 0; i < MR; i++) {
      const V x = V::all(a[i * a_row]);
#pragma GCC unroll 2
      for (int j = 0; j < NV; j++) acc[i][j] = fma(x, bk[j], acc[i][j]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < MR; i++) {
    if (whole) {
#pragma GCC unroll 2
      for (int j = 0; j < NV; j++) acc[i][j].store(c + i * ldc + j * V::N);
    } else {
#pragma GCC unroll 2
      for (int j = 0; j < NV; j++) acc[i][j].store(edge + j * V::N);
      for (ptrdiff_t j = 0; j < width; j++) c[i * ldc + j] = edge[j];
    }
  }
}

template <class T, int NV>
void panel_rows(ptrdiff_t m, ptrdiff_t depth, const T* a, ptrdiff_t a_row, ptrdiff_t a_column, const T* b, ptrdiff_t ldb,
                const T* bias, bool accumulate, T* c, ptrdiff_t ldc, ptrdiff_t width) {
  ptrdiff_t i = 0;
  for (; i + 6 <= m; i += 6)
    tile<T, 6, NV>(depth, a + i * a_row, a_row, a_column, b, ldb, bias, accumulate, c + i * ldc, ldc, width);
  a += i * a_row;
  c += i * ldc;
  switch (m - i) {
    case 5: return tile<T, 5, NV>(depth, a, a_row, a_column, b, ldb, bias, accumulate, c, ldc, width);
    case 4: return tile<T, 4, NV>(depth, a, a_row, a_column, b, ldb, bias, accumulate, c, ldc, width);
    case 3: return tile<T, 3, NV>(depth, a, a_row, a_column, b, ldb, bias, accumulate, c, ldc, width);
    case 2: return tile<T, 2, NV>(depth, a, a_row, a_column, b, ldb, bias, accumulate, c, ldc, width);
    case 1: return tile<T, 1, NV>(depth, a, a_row, a_column, b, ldb, bias, accumulate, c, ldc, width);
    default: return;
  }
}

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

template <class T>
void small_gemm_of(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const T* a, ptrdiff_t a_row, ptrdiff_t a_column, const T* b,
                   ptrdiff_t b_row, ptrdiff_t b_column, const T* bias, bool accumulate, T* c, ptrdiff_t ldc) {
  constexpr ptrdiff_t N = Vec<T>::N;
  // Rows against rows, few of one side: packing b would cost more than it saves.
  if ((m <= 2 || n <= 2) && b_row == 1 && a_column == 1 && k >= N) {
    for (ptrdiff_t i = 0; i < m; i++)
      for (ptrdiff_t j = 0; j < n; j++) {
        const T start = accumulate ? c[i * ldc + j] : bias ? bias[j] : T(0);
        c[i * ldc + j] = start + dot(a + i * a_row, b + j * b_column, k);
      }
    return;
  }
  alignas(64) T buffer[kDepth * kPanelVecs * N];
  for (ptrdiff_t j = 0; j < n; j += kPanelVecs * N) {
    const ptrdiff_t width = smaller(kPanelVecs * N, n - j);
    const ptrdiff_t padded = width > N ? kPanelVecs * N : N;
    const T* panel_bias = bias ? bias + j : nullptr;
    ptrdiff_t p = 0;
    do {  // once even when k is 0: c is then the bias, or 0
      const ptrdiff_t depth = smaller(kDepth, k - p);
      const T* panel = b + p * b_row + j * b_column;
      ptrdiff_t ldb = b_row;
      if (b_column != 1 || width != padded) {
        pack_panel(panel, b_row, b_column, depth, width, padded, buffer);
        panel = buffer;
        ldb = padded;
      }
      const auto rows = width > N ? panel_rows<T, kPanelVecs> : panel_rows<T, 1>;
      rows(m, depth, a + p * a_column, a_row, a_column, panel, ldb, panel_bias, accumulate || p > 0, c + j, ldc, width);
      p += depth;
    } while (p < k);
  }
}

void small_gemm(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const MatrixView& a, const MatrixView& b, const void* bias,
                bool accumulate, void* c, ptrdiff_t ldc) {
  float_or_double(dtype, [&]<class T>() {
    small_gemm_of<T>(m, n, k, static_cast<const T*>(a.data), a.row, a.column, static_cast<const T*>(b.data), b.row, b.column,
                     static_cast<const T*>(bias), accumulate, static_cast<T*>(c), ldc);
  });
}

}  // namespace

void fill_gemm(DenseKernels& table) { table.small_gemm = small_gemm; }

}  // namespace rushlight::RUSHLIGHT_ISA
