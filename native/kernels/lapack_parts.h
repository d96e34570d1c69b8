// The parts of which factorisations without a library are made (lapack_own.cpp,
// lapack_spectra.cpp): sums along columns, products of blocks by gemm, Householder's reflections.
// All matrices lie column by column.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "kernels/gemm.h"
#include "kernels/workspace.h"

namespace rushlight::lapack {

template <class T>
constexpr bool kComplex = !std::is_floating_point_v<T>;
template <class T>
struct RealOf {
  using type = T;
};
template <class R>
struct RealOf<std::complex<R>> {
  using type = R;
};
template <class T>
using Real = typename RealOf<T>::type;
template <class T>
constexpr DType kElement = sizeof(Real<T>) == 8 ? (kComplex<T> ? DType::C128 : DType::F64)
                                                : (kComplex<T> ? DType::C64 : DType::F32);

// The plain product: that of the standard looks again where it is NaN.
template <class T>
T product(T a, T b) {
  if constexpr (kComplex<T>) return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  else return a * b;
}
template <class T>
T conjugate(T a) {
  if constexpr (kComplex<T>) return std::conj(a);
  else return a;
}
// The size by which LAPACK compares elements.
template <class T>
Real<T> size_of(T a) {
  return std::abs(std::real(a)) + std::abs(std::imag(a));
}

// ---- columns

// y += by * x
template <class T>
void add(ptrdiff_t n, T by, const T* x, T* y) {
  for (ptrdiff_t i = 0; i < n; i++) y[i] += product(by, x[i]);
}
// The sum of conj(x) * y, in several sums that go into a register.
template <class T>
T inner(ptrdiff_t n, const T* x, const T* y) {
  constexpr ptrdiff_t kSums = 8;
  T sums[kSums] = {}, rest = 0;
  ptrdiff_t i = 0;
  for (; i + kSums <= n; i += kSums)
    for (ptrdiff_t s = 0; s < kSums; s++) sums[s] += product(conjugate(x[i + s]), y[i + s]);
  for (; i < n; i++) rest += product(conjugate(x[i]), y[i]);
  for (T sum : sums) rest += sum;
  return rest;
}
// The root of the sum of squares, which itself may be too large or too small for the type.
template <class T>
Real<T> length(ptrdiff_t n, const T* x) {
  using R = Real<T>;
  using Limits = std::numeric_limits<R>;
  const R sum = std::real(inner(n, x, x));
  if ((sum > Limits::min() / (Limits::epsilon() * Limits::epsilon()) && sum < Limits::max() / 4) || std::isnan(sum))
    return std::sqrt(sum);
  R most = 0, scaled = 0;
  for (ptrdiff_t i = 0; i < n; i++) most = std::max({most, std::abs(std::real(x[i])), std::abs(std::imag(x[i]))});
  if (most == 0 || !std::isfinite(most)) return most;
  for (ptrdiff_t i = 0; i < n; i++) scaled += std::norm(x[i] / most);
  return most * std::sqrt(scaled);
}

// ---- blocks

template <class T>
struct Matrix {
  T* at;
  ptrdiff_t row, column;
  T& operator()(ptrdiff_t i, ptrdiff_t j) const { return at[i * row + j * column]; }
  Matrix from(ptrdiff_t i, ptrdiff_t j) const { return {at + i * row + j * column, row, column}; }
  Matrix turned() const { return {at, column, row}; }
  MatrixView view() const { return {at, row, column}; }
};

template <class T>
Matrix<T> columns_of(const void* a, ptrdiff_t rows) {
  return {static_cast<T*>(const_cast<void*>(a)), 1, std::max<ptrdiff_t>(rows, 1)};  // only read
}

// c = a @ b, or where `adds` c += a @ b. The rows or the columns of c are adjacent.
template <class T>
void multiply(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, Matrix<T> a, Matrix<T> b, Matrix<T> c, bool adds) {
  if (c.column != 1) return multiply(n, m, k, b.turned(), a.turned(), c.turned(), adds);
  gemm(kElement<T>, m, n, k, 1, a.view(), b.view(), nullptr, adds, c.at, false, c.row);
}
// c -= op(a) @ b. room: k * min(m, n).
template <class T>
void subtract(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, Matrix<T> a, bool conjugated, Matrix<T> b, Matrix<T> c, T* room) {
  const bool left = m <= n || (kComplex<T> && conjugated);
  const ptrdiff_t rows = left ? m : k, columns = left ? k : n;
  const Matrix<T> from = left ? a : b, packed{room, 1, rows};
  for (ptrdiff_t j = 0; j < columns; j++)
    for (ptrdiff_t i = 0; i < rows; i++) packed(i, j) = left && conjugated ? -conjugate(from(i, j)) : -from(i, j);
  left ? multiply(m, n, k, packed, b, c, true) : multiply(m, n, k, a, packed, c, true);
}

// ---- reflections

// The reflection 1 - tau v v.H whose adjoint takes (first, x) to (beta, 0), with a real beta: beta
// goes to `first`, v without its first element, which is 1, to x; n: elements of both.
template <class T>
T reflection(ptrdiff_t n, T& first, T* x) {
  using R = Real<T>;
  const R rest = length(n - 1, x);
  if (rest == 0 && std::imag(first) == 0) return 0;
  const R beta = -std::copysign(std::hypot(std::abs(first), rest), std::real(first));
  if (constexpr R tiny = std::numeric_limits<R>::min() / std::numeric_limits<R>::epsilon(); std::abs(beta) < tiny) {
    for (ptrdiff_t i = 0; i < n - 1; i++) x[i] *= 1 / tiny;  // exact
    first *= 1 / tiny;
    const T tau = reflection(n, first, x);
    return first *= tiny, tau;
  }
  const T tau = (beta - first) / beta, by = T(1) / (first - beta);
  for (ptrdiff_t i = 0; i < n - 1; i++) x[i] = product(x[i], by);
  first = beta;
  return tau;
}
// c -= tau * v (v.H c) for `columns` columns of n elements.
template <class T>
void reflect_columns(ptrdiff_t n, ptrdiff_t columns, T tau, const T* v, T* c, ptrdiff_t leading) {
  for (ptrdiff_t j = 0; j < columns; j++, c += leading) add(n, -product(tau, inner(n, v, c)), v, c);
}

}  // namespace rushlight::lapack
