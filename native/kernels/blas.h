// Products of matrices: the BLAS library for large ones, small_gemm (dense.h) for small ones or where there is no BLAS.
//
// The library (OpenBLAS as the package scipy-openblas32 ships it) is opened at the first product that needs it, from
// the path that set_blas_library named, and kept to one thread: large products are cut into panels over our own pool.
#pragma once
#include <string>

#include "kernels/dense.h"

namespace rushlight {

// Names the shared library; it is opened later. An empty path: none.
void set_blas_library(const std::string& path);
// Opens it if that has not been tried; whether it is there.
bool blas_available();

// A matrix operand for gemm: element (i, j) at data[i * row + j * column]. One of row and column must be 1 (dimensions
// of size 1 excepted) and the other at least the length of what it strides over: see is_gemm_operand.
bool is_gemm_operand(ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t row, ptrdiff_t column);

// c (m x n, contiguous rows of n) = alpha * a (m x k) @ b (k x n) + (bias in every row, or beta * c). F32 or F64.
// `bias` (n elements) goes with alpha 1 and beta 0 only. Uses the thread pool if `parallel`. `ldc`: how many elements the
// rows of c are apart; other than n with alpha 1, no bias and beta 0 or 1 only.
void gemm(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha, const MatrixView& a, const MatrixView& b,
          const void* bias, double beta, void* c, bool parallel, ptrdiff_t ldc);
inline void gemm(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha, const MatrixView& a, const MatrixView& b,
                 const void* bias, double beta, void* c, bool parallel) {
  gemm(dtype, m, n, k, alpha, a, b, bias, beta, c, parallel, n);
}

}  // namespace rushlight
