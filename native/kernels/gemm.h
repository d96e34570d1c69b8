// Products of matrices.
#pragma once
#include "kernels/dense.h"

namespace rushlight {

// A matrix operand for gemm: element (i, j) at data[i * row + j * column]. One of row and column must be 1 (dimensions
// of size 1 excepted) and the other at least the length of what it strides over: see is_gemm_operand.
bool is_gemm_operand(ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t row, ptrdiff_t column);

// c (m x n, contiguous rows of n) = alpha * a (m x k) @ b (k x n) + (bias in every row, or beta * c). F32, F64; or F16, BF16,
// where c and the bias are F32. `bias` (n elements) goes with alpha 1 and beta 0 only. Uses the thread pool if `parallel`; our own
// products (own_gemm) have the same bits on any number of threads. `ldc`: how many elements the rows of c are apart; other than n with alpha 1, no bias and beta
// 0 or 1 only.
void gemm(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha, const MatrixView& a, const MatrixView& b,
          const void* bias, double beta, void* c, bool parallel, ptrdiff_t ldc);
inline void gemm(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha, const MatrixView& a, const MatrixView& b,
                 const void* bias, double beta, void* c, bool parallel) {
  gemm(dtype, m, n, k, alpha, a, b, bias, beta, c, parallel, n);
}

}  // namespace rushlight
