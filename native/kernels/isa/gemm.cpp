// Small products of matrices: tiles of registers over a panel of columns.
//
// The columns of c are taken in panels of two registers. The panel of b is used where it lies when its rows are
// adjacent elements; otherwise (b transposed, or the last narrow panel) it is copied into a buffer on the stack, padded
// with zeros. No blocking for the caches: see blas.h for large products.
#include "kernels/isa/tile.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

constexpr ptrdiff_t kDepth = 256;  // k is cut into slices of this many, so that the panel buffer is bounded

template <class T>
void panel_rows(int vecs, ptrdiff_t m, TileTask<T> task) {
  const Strips strips(m);
  for (ptrdiff_t s = 0; s < strips.count; s++) {
    const int rows = strips.rows(s);
    tile_of<T>(rows, vecs, false)(task);
    task.a += rows * task.a_row;
    task.c += rows * task.ldc;
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
  alignas(64) T buffer[kDepth * kTileVecs * N];
  for (ptrdiff_t j = 0; j < n; j += kTileVecs * N) {
    const ptrdiff_t width = smaller(kTileVecs * N, n - j);
    const ptrdiff_t padded = width > N ? kTileVecs * N : N;
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
      panel_rows<T>(width > N ? kTileVecs : 1, m,
                    {depth, a + p * a_column, a_row, a_column, panel, ldb, panel_bias, accumulate || p > 0, c + j, ldc, width});
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
