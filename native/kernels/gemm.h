// Products of matrices.
#pragma once
#include "kernels/dense.h"

namespace rushlight {

// Whether the rows or the columns of a matrix are adjacent elements, and the others do not overlap: what a BLAS library takes, and
// what is read fast here.
bool is_gemm_operand(ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t row, ptrdiff_t column);

// The element types of gemm: F32, F64, F16, BF16, C64, C128, I32, I64.
bool has_products(DType dtype);

// c (m x n, contiguous rows of n) = alpha * a (m x k) @ b (k x n) + (bias in every row, or beta * c). Element (i, j) of an operand is
// at data[i * row + j * column]. Of F16 and BF16, c and the bias are F32. `bias` (n elements) goes with alpha 1 and beta 0 only;
// integers, which are multiplied modulo what they hold, with alpha 1 and beta 0 or 1. Uses the thread pool if `parallel`; our own
// products (own_gemm) have the same bits on any number of threads. `ldc`: how many elements the rows of c are apart; other than n
// with alpha 1, no bias and beta 0 or 1 only.
void gemm(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha, const MatrixView& a, const MatrixView& b,
          const void* bias, double beta, void* c, bool parallel, ptrdiff_t ldc);
inline void gemm(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha, const MatrixView& a, const MatrixView& b,
                 const void* bias, double beta, void* c, bool parallel) {
  gemm(dtype, m, n, k, alpha, a, b, bias, beta, c, parallel, n);
}

// Whether gemm has the same bits however b lies.
bool is_made_of_tiles(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k);
// Whether gemm adds c to finished sums, with the bits of a sum afterwards, and faster.
bool adds_finished_sums(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k);

}  // namespace rushlight
