// Scans along rows of contiguous elements: what each step has depends on the one before.
#pragma once
#include <complex>

#include "kernels/kernels.h"

namespace rushlight {

// The middle dimension of a contiguous (outer, n, inner) is scanned, of the first `width` of the inner one. Of I32, I64, U64, F32 and F64: the largest or smallest so far and
// its latest place; a NaN wins.
bool extremes_so_far(bool largest, DType dtype, const char* in, ptrdiff_t outer, ptrdiff_t n, ptrdiff_t inner, ptrdiff_t width,
                     char* values, int64_t* places);

// The logarithms of 1 + a and of the sum of two numbers' exponentials, of parts of float or double.
template <class T>
std::complex<T> log1p(std::complex<T> a);
template <class T>
std::complex<T> log_add_exp(std::complex<T> a, std::complex<T> b);

// Running products of complex numbers, of parts of float or double.
template <class T>
void complex_products(const T* x, ptrdiff_t outer, ptrdiff_t n, ptrdiff_t inner, ptrdiff_t width, T* out);

// Of float or double, `rows` rows of n. The gradient of a running product: grad[i] is the product before i times the sum, over j from
// i on, of g[j] and the elements between i and j.
template <class T>
void cumprod_backward(const T* g, const T* x, ptrdiff_t rows, ptrdiff_t n, T* grad);
template <class T>
void logcumsumexp(const T* x, ptrdiff_t rows, ptrdiff_t n, T* out);
template <class T>
void complex_logcumsumexp(const T* x, ptrdiff_t rows, ptrdiff_t n, T* out);
template <class T>
void logcumsumexp_backward(const T* g, const T* x, const T* out, ptrdiff_t rows, ptrdiff_t n, T* grad);

}  // namespace rushlight
