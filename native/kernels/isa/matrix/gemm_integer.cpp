// Products of I32 and I64, modulo 2^32 and 2^64: four rows of a by a panel of two registers, the panels as thin_gemm's.
#include "kernels/isa/matrix/tile.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

constexpr ptrdiff_t kDepth = 256;
constexpr int kRows = 4;

template <class T, int MR>
void integer_tile(const TileTask<T>& t) {
  using V = Vec<T>;
  constexpr ptrdiff_t N = V::N;
  V sums[MR][2];
  for (int i = 0; i < MR; i++) sums[i][0] = sums[i][1] = V::all(0);
  const T *a = t.a, *b = t.b;
  for (ptrdiff_t k = 0; k < t.depth; k++, a += t.a_column, b += t.ldb) {
    const V b0 = V::load(b), b1 = V::load(b + N);
#pragma GCC unroll 4
    for (int i = 0; i < MR; i++) {
      const V x = V::all(a[i * t.a_row]);
      sums[i][0] = sums[i][0] + x * b0;
      sums[i][1] = sums[i][1] + x * b1;
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < MR; i++)
#pragma GCC unroll 2
    for (int j = 0; j < 2; j++) {
      T* c = t.c + i * t.ldc + j * N;
      const ptrdiff_t some = t.width - j * N;
      if (some > 0) store_some(t.accumulate ? load_some(c, some) + sums[i][j] : sums[i][j], c, some);
    }
}

template <class T>
void integer_gemm_of(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const T* a, ptrdiff_t a_row, ptrdiff_t a_column, const T* b,
                     ptrdiff_t b_row, ptrdiff_t b_column, bool accumulate, T* c, ptrdiff_t ldc) {
  constexpr ptrdiff_t kWidth = 2 * Vec<T>::N;
  const bool adjacent = a_column == 1 && b_row == 1;
  if (n == 1 && (m == 1 || adjacent)) {  // rows against a row
    for (ptrdiff_t i = 0; i < m; i++, a += a_row) {
      T sum = accumulate ? c[i * ldc] : T(0);
      for (ptrdiff_t p = 0; adjacent && p < k; p++) sum += a[p] * b[p];
      for (ptrdiff_t p = 0; !adjacent && p < k; p++) sum += a[p * a_column] * b[p * b_row];
      c[i * ldc] = sum;
    }
    return;
  }
  alignas(64) T panel[kDepth * kWidth];
  for (ptrdiff_t j = 0; j < n; j += kWidth) {
    const ptrdiff_t width = smaller(kWidth, n - j);
    ptrdiff_t p = 0;
    do {  // once even when k is 0
      const ptrdiff_t depth = smaller(kDepth, k - p);
      TileTask<T> task{
          depth, a + p * a_column, a_row, a_column, b + p * b_row + j * b_column, b_row, nullptr, accumulate || p > 0, c + j, ldc,
          width};
      if (b_column != 1 || width != kWidth) {
        pack_panel(task.b, b_row, b_column, depth, width, kWidth, panel);
        task.b = panel;
        task.ldb = kWidth;
      }
      for (ptrdiff_t i = 0; i < m;) {
        const int rows = m - i < kRows ? 1 : kRows;
        rows == 1 ? integer_tile<T, 1>(task) : integer_tile<T, kRows>(task);
        task.a += rows * a_row;
        task.c += rows * ldc;
        i += rows;
      }
      p += depth;
    } while (p < k);
  }
}

void integer_gemm(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const MatrixView& a, const MatrixView& b, bool accumulate,
                  void* c, ptrdiff_t ldc) {
  const auto run = [&]<class T>(T* to) {
    integer_gemm_of<T>(m, n, k, static_cast<const T*>(a.data), a.row, a.column, static_cast<const T*>(b.data), b.row, b.column,
                       accumulate, to, ldc);
  };
  if (dtype == DType::I32) run(static_cast<uint32_t*>(c));
  else run(static_cast<uint64_t*>(c));
}

}  // namespace

void fill_gemm_integer(DenseKernels& table) { table.integer_gemm = integer_gemm; }

}  // namespace rushlight::RUSHLIGHT_ISA
