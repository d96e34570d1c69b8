// The functions of lapack.h without the library, for matrices of any size: lapack_own.cpp, and
// lapack_spectra.cpp for eigenvalues and singular values. False: there was no memory, an iteration
// did not end, or gels found no full rank.
#pragma once
#include "kernels/lapack.h"

namespace rushlight::lapack::own {

bool lu(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, void* a, int* pivots, int* info);
bool lu_solve(DType dtype, ptrdiff_t count, ptrdiff_t n, ptrdiff_t k, const void* a, const int* pivots, char how, void* b);
bool cholesky(DType dtype, ptrdiff_t count, ptrdiff_t n, void* a, bool upper, int* info);
bool cholesky_inverse(DType dtype, ptrdiff_t count, ptrdiff_t n, void* a, bool upper, int* info);
bool solve_triangle(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t k, const void* a, ptrdiff_t a_step, Triangle triangle,
                    bool left, void* b);
bool qr(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, void* a, void* tau);
bool reflect_identity(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, void* a, const void* tau);
bool reflect(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const void* a, const void* tau, bool left,
             bool adjoint, void* b);
bool eigh(DType dtype, ptrdiff_t count, ptrdiff_t n, void* a, bool upper, bool vectors, void* values);
bool eig(DType dtype, ptrdiff_t count, ptrdiff_t n, void* a, void* values, void* vectors);
bool svd(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, void* a, bool full, void* u, void* s, void* vh);
bool least_squares(DType dtype, char driver, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, void* a, void* b, double rcond, void* s,
                   int64_t* rank);
bool ldl(DType dtype, ptrdiff_t count, ptrdiff_t n, bool hermitian, void* a, int* pivots, int* info);
bool ldl_solve(DType dtype, ptrdiff_t count, ptrdiff_t n, ptrdiff_t k, bool hermitian, const void* a, const int* pivots, void* b);

}  // namespace rushlight::lapack::own
