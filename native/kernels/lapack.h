// Factorisations of matrices and what is solved with them: LAPACK of the BLAS library (blas.h), and for stacks of small
// real matrices kernels of our own, which take a matrix in each lane of a register (isa/matrix/small.cpp).
//
// All are over `count` matrices of F32, F64, C64 or C128, column by column, one behind the other, on one thread. Sizes are those of
// the first matrix of a stack and fit_lapack. False: there is no library and the matrices are not small, there was no memory, or an
// iteration did not end; what was written is then worth nothing.
#pragma once
#include <complex>

#include "kernels/kernels.h"

namespace rushlight::lapack {

// f(T()) for the element type.
template <class F>
auto typed(DType dtype, const F& f) {
  switch (dtype) {
    case DType::F32: return f(float());
    case DType::F64: return f(double());
    case DType::C64: return f(std::complex<float>());
    default: return f(std::complex<double>());
  }
}

// Whether LAPACK's integers count the elements of a column, and of a matrix for its work.
inline bool fits_lapack(ptrdiff_t m, ptrdiff_t n) {
  constexpr int64_t kLimit = 0x7fffffff;
  return m < kLimit && n < kLimit && (m == 0 || n <= 16 * kLimit / m);
}
// How many matrices to take at a time: those of a few registers where they are small.
ptrdiff_t matrices_at_once(DType dtype, ptrdiff_t m, ptrdiff_t n);

// pivots: min(m, n) for each matrix, from 1. info: 0, or the number of the first zero pivot.
bool lu(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, void* a, int* pivots, int* info);
// b (n x k) = the solution of op(a) @ x = b, from what lu gave; how: 'N', 'T' or 'C'.
bool lu_solve(DType dtype, ptrdiff_t count, ptrdiff_t n, ptrdiff_t k, const void* a, const int* pivots, char how, void* b);
// b = the solution of a @ x = b. a, pivots and info are as lu leaves them, or used up.
bool solve(DType dtype, ptrdiff_t count, ptrdiff_t n, ptrdiff_t k, void* a, int* pivots, int* info, void* b);
// The lower (upper) triangle becomes the factor, the other is left. info: 0, or the order of the first minor that is not positive.
bool cholesky(DType dtype, ptrdiff_t count, ptrdiff_t n, void* a, bool upper, int* info);
// The triangle of a factor becomes that of the inverse of the product.
bool cholesky_inverse(DType dtype, ptrdiff_t count, ptrdiff_t n, void* a, bool upper, int* info);

// A triangular matrix, as it is or op(a) of it, 'N', 'T' or 'C'.
struct Triangle {
  bool upper;
  char how;
  bool unit;
};
// b (m x k) = the solution of op(a) @ x = b, or of x @ op(a) = b where not `left`. a_step: elements between the matrices of a.
bool solve_triangle(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t k, const void* a, ptrdiff_t a_step, Triangle triangle,
                    bool left, void* b);

// b = the solution of a @ x = b of the factor of a.
bool cholesky_solve(DType dtype, ptrdiff_t count, ptrdiff_t n, ptrdiff_t k, const void* a, bool upper, void* b);

// R above, reflections below the diagonal, as geqrf has them; tau: min(m, n) for each matrix.
bool qr(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, void* a, void* tau);
// The first n columns of the product of k reflections, in their place.
bool reflect_identity(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, void* a, const void* tau);
// b (m x n) = op(H) @ b or b @ op(H), of the product of k reflections, which lie in matrices of k columns.
bool reflect(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const void* a, const void* tau, bool left,
             bool adjoint, void* b);

// The eigenvalues of symmetric (Hermitian) matrices, rising; with `vectors` a becomes the eigenvectors, else it is used up.
bool eigh(DType dtype, ptrdiff_t count, ptrdiff_t n, void* a, bool upper, bool vectors, void* values);
// Complex eigenvalues, and where `vectors` is not null the eigenvectors. a is used up.
bool eig(DType dtype, ptrdiff_t count, ptrdiff_t n, void* a, void* values, void* vectors);
// a = u @ diag(s) @ vh; u and vh both null, or m x m and n x n where `full`, else with min(m, n) columns (rows). a is used up.
bool svd(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, void* a, bool full, void* u, void* s, void* vh);

// Least squares by 'y', 'd', 's' or 0 for gelsy, gelsd, gelss and gels: b (max(m, n) x k) becomes the solution and below it what is
// left. rank: not of gels. s: of 'd' and 's', min(m, n). False, too, where gels finds no full rank.
bool least_squares(DType dtype, char driver, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, void* a, void* b, double rcond, void* s,
                   int64_t* rank);

// a = L D L.T (L.H where hermitian) of the lower triangle; info: 0, or the number of the first zero of D.
bool ldl(DType dtype, ptrdiff_t count, ptrdiff_t n, bool hermitian, void* a, int* pivots, int* info);
bool ldl_solve(DType dtype, ptrdiff_t count, ptrdiff_t n, ptrdiff_t k, bool hermitian, const void* a, const int* pivots, void* b);

}  // namespace rushlight::lapack
