// The functions of lapack.h without the library, for matrices of any size: lapack_own.cpp, and
// lapack_spectra.cpp for eigenvalues and singular values. False: there was no memory, an iteration
// did not end, or gels found no full rank.
#pragma once
#include "kernels/lapack.h"

namespace rushlight::lapack::own {

decltype(lapack::lu) lu;
decltype(lapack::lu_solve) lu_solve;
decltype(lapack::cholesky) cholesky;
decltype(lapack::cholesky_inverse) cholesky_inverse;
decltype(lapack::solve_triangle) solve_triangle;
decltype(lapack::qr) qr;
decltype(lapack::reflect_identity) reflect_identity;
decltype(lapack::reflect) reflect;
decltype(lapack::eigh) eigh;
decltype(lapack::eig) eig;
decltype(lapack::svd) svd;
decltype(lapack::least_squares) least_squares;
decltype(lapack::ldl) ldl;
decltype(lapack::ldl_solve) ldl_solve;

}  // namespace rushlight::lapack::own
