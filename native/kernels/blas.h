// The BLAS library (OpenBLAS as the package scipy-openblas32 ships it), for products on instruction sets where it is faster
// than our own (gemm.cpp). The first product for the library opens the path of set_blas_library;
// the library keeps to a single thread.
#pragma once
#include <string>

#include "kernels/dense.h"

namespace rushlight {

// Names the shared library; it is opened later. An empty path: none.
void set_blas_library(const std::string& path);
// Opens it if that has not been tried; whether it is there.
bool blas_available();
// A function of the library, which is there, by the name under which it is exported; null without. For lapack.cpp.
void* blas_symbol(const char* name);

// c (m x n, rows of ldc elements) = alpha * a @ b + beta * c for operands that is_gemm_operand allows; the library is there.
void call_blas(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha, const MatrixView& a, const MatrixView& b,
               double beta, void* c, ptrdiff_t ldc);

}  // namespace rushlight
