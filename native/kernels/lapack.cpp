// LAPACK's routines, found in the BLAS library by their names, and calls of them.
#include "kernels/lapack.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <mutex>
#include <string>
#include <type_traits>

#include "kernels/blas.h"
#include "kernels/lapack_own.h"
#include "kernels/lapack_parts.h"
#include "kernels/small.h"

namespace rushlight::lapack {
namespace {

enum Routine {
  Getrf,
  Getrs,
  Potrf,
  Potri,
  Trsm,
  Geqrf,
  Orgqr,
  Ormqr,
  Syevd,
  Geev,
  Gesdd,
  Gels,
  Gelsy,
  Gelsd,
  Gelss,
  Sytrf,
  Hetrf,
  Sytrs,
  Hetrs,
  Larft,
  Larfb,
  kRoutines
};
struct Name {
  const char *real, *complex;
};
constexpr Name kNames[kRoutines] = {
    {"getrf", "getrf"}, {"getrs", "getrs"}, {"potrf", "potrf"}, {"potri", "potri"}, {"trsm", "trsm"},   {"geqrf", "geqrf"},
    {"orgqr", "ungqr"}, {"ormqr", "unmqr"}, {"syevd", "heevd"}, {"geev", "geev"},   {"gesdd", "gesdd"}, {"gels", "gels"},
    {"gelsy", "gelsy"}, {"gelsd", "gelsd"}, {"gelss", "gelss"}, {"sytrf", "sytrf"}, {"sytrf", "hetrf"}, {"sytrs", "sytrs"},
    {"sytrs", "hetrs"}, {"larft", "larft"}, {"larfb", "larfb"}};

// The routines of all four types, or none of them.
struct Library {
  std::array<void*, kRoutines> at[4] = {};
  bool found = true;
  Library() {
    for (int type = 0; type < 4; type++) {
      for (int i = 0; i < kRoutines; i++) {
        const std::string name = std::string("scipy_") + "sdcz"[type] + (type < 2 ? kNames[i].real : kNames[i].complex) + "_";
        found = (at[type][i] = blas_symbol(name.c_str())) && found;
      }
    }
  }
};

template <class T>
constexpr int kType = (sizeof(Real<T>) == 8) + 2 * kComplex<T>;

const Library* library() {
  if (!blas_available()) return nullptr;
  static const Library opened;
  return opened.found ? &opened : nullptr;
}

// Calls a routine: all that Fortran takes are pointers, and behind them the lengths of texts.
template <class T, class... A>
void call(Routine routine, A... arguments) {
  reinterpret_cast<void (*)(A...)>(library()->at[kType<T>][routine])(arguments...);
}
constexpr size_t kText = 1;

// What a routine asks for, as an int; 0 where that is too much. A float may be rounded down.
template <class T>
int asked(T size) {
  const double n = static_cast<double>(std::real(size)) * (1 + 2 * static_cast<double>(std::numeric_limits<Real<T>>::epsilon()));
  return n < std::numeric_limits<int>::max() - 1 ? static_cast<int>(n) + 1 : 0;
}

const SmallKernels& small() { return *dense_kernels().small; }
// Whether matrices may go into the lanes of registers; and whether they do: one takes as long as all lanes.
bool is_small(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n) {
  const ptrdiff_t most = std::max(m, n);
  if ((dtype != DType::F32 && dtype != DType::F64) || most > kSmallMatrix || !dense_kernels().small) return false;
  const ptrdiff_t lanes = small().bytes / kItemSize[static_cast<int>(dtype)];
  return most <= kSmallMatrix / 2 || (lanes >= 8 && 2 * count >= lanes);
}
bool in_lanes(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n) {
  return is_small(dtype, count, m, n) && (count >= 4 || std::max(m, n) <= 8 || !library());
}
// small(first, count, done) for at most kAtOnce matrices at a time, and each(i) for those that it left alone.
constexpr ptrdiff_t kAtOnce = 32;
template <class Small, class Each>
bool by_lanes(ptrdiff_t count, const Small& small, const Each& each) {
  for (ptrdiff_t first = 0; first < count; first += kAtOnce) {
    bool done[kAtOnce];
    const ptrdiff_t some = std::min(kAtOnce, count - first);
    small(first, some, done);
    for (ptrdiff_t i = 0; i < some; i++)
      if (!done[i] && !each(first + i)) return false;
  }
  return true;
}
void* shifted(void* data, ptrdiff_t bytes) { return data ? static_cast<char*>(data) + bytes : nullptr; }

// The exchanges of rows that LU made, in matrices of k columns; or what takes them back.
void exchange(DType dtype, ptrdiff_t count, ptrdiff_t n, ptrdiff_t k, const int* pivots, bool forth, void* b) {
  typed(dtype, [&]<class T>(T) {
    T* x = static_cast<T*>(b);
    for (ptrdiff_t i = 0; i < count; i++, pivots += n) {
      for (ptrdiff_t c = 0; c < k; c++, x += n) {
        if (forth) {
          for (ptrdiff_t r = 0; r < n; r++) std::swap(x[r], x[pivots[r] - 1]);
        } else {
          for (ptrdiff_t r = n; r-- > 0;) std::swap(x[r], x[pivots[r] - 1]);
        }
      }
    }
  });
}

// ---- small matrices of complex numbers, without the library, whose calls cost more than they compute

constexpr ptrdiff_t kOwn = 8;
bool is_own(DType dtype, ptrdiff_t m, ptrdiff_t n) { return is_pair(dtype) && std::max(m, n) <= kOwn; }
// f with `count` matrices of `size` elements, one after the other, and the number of each.
template <class F>
void each_own(DType dtype, ptrdiff_t count, ptrdiff_t size, void* a, const F& f) {
  const auto run = [&]<class T>(T* x) {
    for (ptrdiff_t i = 0; i < count; i++) f(x + i * size, i);
  };
  dtype == DType::C64 ? run(static_cast<std::complex<float>*>(a)) : run(static_cast<std::complex<double>*>(a));
}
// After Smith, as in pointwise_complex.cpp.
template <class R>
std::complex<R> reciprocal(std::complex<R> a) {
  const bool wide = std::abs(a.real()) >= std::abs(a.imag());
  const R most = wide ? a.real() : a.imag(), least = wide ? a.imag() : a.real(), ratio = least / most,
          by = 1 / (most + least * ratio);
  return wide ? std::complex<R>(by, -ratio * by) : std::complex<R>(ratio * by, -by);
}
template <class R>
bool is_finite(std::complex<R> a) {
  return std::isfinite(a.real()) && std::isfinite(a.imag());
}

// f with the size of square matrices, a constant where it is one of the usual.
template <class F>
void with_size(ptrdiff_t n, const F& f) {
  if (n == 2) return f(std::integral_constant<ptrdiff_t, 2>());
  if (n == 3) return f(std::integral_constant<ptrdiff_t, 3>());
  if (n == 4) return f(std::integral_constant<ptrdiff_t, 4>());
  f(n);
}

template <class Size, class R>
void own_lu(Size m, Size n, std::complex<R>* a, int* pivots, int* info) {
  *info = 0;
  for (ptrdiff_t k = 0; k < std::min<ptrdiff_t>(m, n); k++) {
    const auto size = [&](ptrdiff_t i) { return std::abs(a[k * m + i].real()) + std::abs(a[k * m + i].imag()); };
    ptrdiff_t p = k;
    for (ptrdiff_t i = k + 1; i < m; i++)
      if (size(i) > size(p)) p = i;
    pivots[k] = static_cast<int>(p + 1);
    for (ptrdiff_t j = 0; j < n && p != k; j++) std::swap(a[j * m + k], a[j * m + p]);
    const std::complex<R> pivot = a[k * m + k];
    if (pivot == R(0)) {
      if (!*info) *info = static_cast<int>(k + 1);
      continue;
    }
    const std::complex<R> by = reciprocal(pivot);
    const bool fits = is_finite(by);
    for (ptrdiff_t i = k + 1; i < m; i++) a[k * m + i] = fits ? product(a[k * m + i], by) : a[k * m + i] / pivot;
    for (ptrdiff_t j = k + 1; j < n; j++)
      for (ptrdiff_t i = k + 1; i < m; i++) a[j * m + i] -= product(a[k * m + i], a[j * m + k]);
  }
}

// Of one triangle of op(a), `upper` or not: of LU's factors L has the diagonal of 1, and where it is the upper one, op turns a round.
template <bool upper, bool unit, class Size, class R>
void own_triangle(Size n, ptrdiff_t k, const std::complex<R>* a, char how, std::complex<R>* b) {
  const ptrdiff_t row = upper == unit ? n : 1, column = upper == unit ? 1 : n;
  const R sign = how == 'C' ? -1 : 1;
  const auto at = [&](ptrdiff_t i, ptrdiff_t j) {
    const std::complex<R> x = a[i * row + j * column];
    return std::complex<R>(x.real(), sign * x.imag());
  };
  std::complex<R> by[kOwn];
  bool fit = true;
  for (ptrdiff_t i = 0; i < n && !unit; i++) fit = is_finite(by[i] = reciprocal(at(i, i))) && fit;
  for (ptrdiff_t c = 0; c < k; c++, b += n)
    for (ptrdiff_t s = 0; s < n; s++) {
      const ptrdiff_t i = upper ? n - 1 - s : s;
      std::complex<R> x = b[i];
      for (ptrdiff_t j = upper ? i + 1 : 0; j < (upper ? n : i); j++) x -= product(at(i, j), b[j]);
      b[i] = unit ? x : fit ? product(x, by[i]) : x / at(i, i);
    }
}

template <class R>
void own_cholesky(ptrdiff_t n, std::complex<R>* a, bool upper, int* info) {
  const auto at = [&](ptrdiff_t i, ptrdiff_t j) { return upper ? std::conj(a[i * n + j]) : a[j * n + i]; };
  for (ptrdiff_t j = 0; j < n; j++) {
    R pivot = a[j * n + j].real();
    for (ptrdiff_t p = 0; p < j; p++) pivot -= std::norm(at(j, p));
    *info = pivot > 0 ? 0 : static_cast<int>(j + 1);
    a[j * n + j] = pivot = *info ? pivot : std::sqrt(pivot);
    if (*info) return;
    for (ptrdiff_t i = j + 1; i < n; i++) {
      std::complex<R> x = at(i, j);
      for (ptrdiff_t p = 0; p < j; p++) x -= product(at(i, p), std::conj(at(j, p)));
      x /= pivot;
      (upper ? a[i * n + j] : a[j * n + i]) = upper ? std::conj(x) : x;
    }
  }
}

}  // namespace

ptrdiff_t matrices_at_once(DType dtype, ptrdiff_t m, ptrdiff_t n) {
  return is_small(dtype, kAtOnce, m, n) || is_own(dtype, m, n) ? kAtOnce : 1;
}

bool lu(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, void* a, int* pivots, int* info) {
  if (in_lanes(dtype, count, m, n)) return small().lu(dtype, count, m, n, a, pivots, info), true;
  if (is_own(dtype, m, n)) {
    each_own(dtype, count, m * n, a, [&](auto* x, ptrdiff_t i) {
      if (m == n) with_size(n, [&](auto size) { own_lu(size, size, x, pivots + i * n, info + i); });
      else own_lu(m, n, x, pivots + i * std::min(m, n), info + i);
    });
    return true;
  }
  if (!library()) return own::lu(dtype, count, m, n, a, pivots, info);
  return typed(dtype, [&]<class T>(T) {
    const int rows = static_cast<int>(m), columns = static_cast<int>(n), leading = std::max(rows, 1);
    T* at = static_cast<T*>(a);
    for (ptrdiff_t i = 0; i < count; i++, at += m * n, pivots += std::min(m, n))
      call<T>(Getrf, &rows, &columns, at, &leading, pivots, info + i);
    return true;
  });
}

bool lu_solve(DType dtype, ptrdiff_t count, ptrdiff_t n, ptrdiff_t k, const void* a, const int* pivots, char how, void* b) {
  if (in_lanes(dtype, count, n, n)) {
    const bool plain = how == 'N';
    if (plain) exchange(dtype, count, n, k, pivots, true, b);
    small().triangle(dtype, count, n, k, a, {n * n, plain ? 1 : n, plain ? n : 1}, {false, plain, Again::Lu}, b, {n * k, 1, n});
    if (!plain) exchange(dtype, count, n, k, pivots, false, b);
    return true;
  }
  if (is_own(dtype, n, n)) {
    const bool plain = how == 'N';
    if (plain) exchange(dtype, count, n, k, pivots, true, b);
    each_own(dtype, count, n * k, b, [&]<class T>(T* x, ptrdiff_t i) {
      const T* factors = static_cast<const T*>(a) + i * n * n;
      with_size(n, [&](auto size) {
        if (plain) own_triangle<false, true>(size, k, factors, how, x), own_triangle<true, false>(size, k, factors, how, x);
        else own_triangle<false, false>(size, k, factors, how, x), own_triangle<true, true>(size, k, factors, how, x);
      });
    });
    if (!plain) exchange(dtype, count, n, k, pivots, false, b);
    return true;
  }
  if (!library()) return own::lu_solve(dtype, count, n, k, a, pivots, how, b);
  return typed(dtype, [&]<class T>(T) {
    const int size = static_cast<int>(n), columns = static_cast<int>(k), leading = std::max(size, 1);
    int info = 0;
    const T* at = static_cast<const T*>(a);
    T* to = static_cast<T*>(b);
    for (ptrdiff_t i = 0; i < count; i++, at += n * n, pivots += n, to += n * k)
      call<T>(Getrs, &how, &size, &columns, at, &leading, pivots, to, &leading, &info, kText);
    return info == 0;
  });
}

bool solve(DType dtype, ptrdiff_t count, ptrdiff_t n, ptrdiff_t k, void* a, int* pivots, int* info, void* b) {
  if (in_lanes(dtype, count, n, n) && k <= kSmallMatrix) return small().solve(dtype, count, n, k, a, b, info), true;
  return lu(dtype, count, n, n, a, pivots, info) && lu_solve(dtype, count, n, k, a, pivots, 'N', b);
}

bool cholesky(DType dtype, ptrdiff_t count, ptrdiff_t n, void* a, bool upper, int* info) {
  if (in_lanes(dtype, count, n, n)) return small().cholesky(dtype, count, n, a, upper, info), true;
  if (is_own(dtype, n, n)) {
    each_own(dtype, count, n * n, a, [&](auto* x, ptrdiff_t i) { own_cholesky(n, x, upper, info + i); });
    return true;
  }
  if (!library()) return own::cholesky(dtype, count, n, a, upper, info);
  return typed(dtype, [&]<class T>(T) {
    const int size = static_cast<int>(n), leading = std::max(size, 1);
    const char part = upper ? 'U' : 'L';
    T* at = static_cast<T*>(a);
    for (ptrdiff_t i = 0; i < count; i++, at += n * n) call<T>(Potrf, &part, &size, at, &leading, info + i, kText);
    return true;
  });
}

bool cholesky_inverse(DType dtype, ptrdiff_t count, ptrdiff_t n, void* a, bool upper, int* info) {
  if (!library()) return own::cholesky_inverse(dtype, count, n, a, upper, info);
  return typed(dtype, [&]<class T>(T) {
    const int size = static_cast<int>(n), leading = std::max(size, 1);
    const char part = upper ? 'U' : 'L';
    T* at = static_cast<T*>(a);
    for (ptrdiff_t i = 0; i < count; i++, at += n * n) call<T>(Potri, &part, &size, at, &leading, info + i, kText);
    return true;
  });
}

bool solve_triangle(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t k, const void* a, ptrdiff_t a_step, Triangle triangle,
                    bool left, void* b) {
  const ptrdiff_t n = left ? m : k, other = left ? k : m;
  if (in_lanes(dtype, count, n, n)) {
    // x @ op(a) = b is op(a).T @ x.T = b.T.
    const bool turned = (triangle.how == 'N') != left;
    small().triangle(dtype, count, n, other, a, {a_step, turned ? n : 1, turned ? 1 : n},
                     {triangle.upper != turned, triangle.unit, Again::No}, b, {m * k, left ? 1 : m, left ? m : 1});
    return true;
  }
  if (!library()) return own::solve_triangle(dtype, count, m, k, a, a_step, triangle, left, b);
  return typed(dtype, [&]<class T>(T) {
    const int rows = static_cast<int>(m), columns = static_cast<int>(k), leading = std::max(rows, 1),
              a_leading = std::max(left ? rows : columns, 1);
    const char side = left ? 'L' : 'R', part = triangle.upper ? 'U' : 'L', diagonal = triangle.unit ? 'U' : 'N';
    const T one = 1;
    const T* at = static_cast<const T*>(a);
    T* to = static_cast<T*>(b);
    for (ptrdiff_t i = 0; i < count; i++, at += a_step, to += m * k)
      call<T>(Trsm, &side, &part, &triangle.how, &diagonal, &rows, &columns, &one, at, &a_leading, to, &leading, kText, kText,
              kText, kText);
    return true;
  });
}

namespace {

// Householder's reflections, a block of columns at a time: the library's own routines take single ones up to 128.
constexpr int kBlock = 32;
template <class T>
struct Reflections {
  int m, leading;
  T *at, *tau, *room;  // room: for some columns, (kBlock + columns) * kBlock
  static ptrdiff_t room_for(ptrdiff_t columns) { return (kBlock + std::max<ptrdiff_t>(columns, kBlock)) * kBlock; }
  T* corner(int i, int j) const { return at + static_cast<ptrdiff_t>(j) * leading + i; }

  // The `b` from `first` on, or their adjoint, over the columns [from, to).
  void turn(char how, int first, int b, int from, int to) const {
    const char side = 'L', forward = 'F', by_columns = 'C';
    const int rows = m - first, columns = to - from, block = kBlock;
    if (columns <= 0) return;
    T *v = corner(first, first), *rest = room + kBlock * kBlock;
    call<T>(Larft, &forward, &by_columns, &rows, &b, v, &leading, tau + first, room, &block, kText, kText);
    call<T>(Larfb, &side, &how, &forward, &by_columns, &rows, &columns, &b, v, &leading, room, &block, corner(first, from),
            &leading, rest, &columns, kText, kText, kText, kText);
  }
  void factor(int n) const {
    for (int i = 0, info = 0; i < std::min(m, n); i += kBlock) {
      const int rows = m - i, b = std::min({kBlock, rows, n - i}), size = kBlock * kBlock;
      call<T>(Geqrf, &rows, &b, corner(i, i), &leading, tau + i, room, &size, &info);
      turn(kComplex<T> ? 'C' : 'T', i, b, i + b, n);
    }
  }
  // The first n columns of the product of k of them.
  void form(int n, int k) const {
    for (int i = k ? (k - 1) / kBlock * kBlock : 0, end = n, info = 0; i >= 0; end = i, i -= kBlock) {
      const int b = std::min(kBlock, k - i), rows = m - i, columns = end - i, size = static_cast<int>(room_for(n));
      turn('N', i, b, end, n);
      call<T>(Orgqr, &rows, &columns, &b, corner(i, i), &leading, tau + i, room, &size, &info);
      for (int j = i; j < end; j++) std::fill_n(corner(0, j), i, T());
    }
  }
};

// As qr, by the library alone.
bool qr_by_library(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, void* a, void* tau) {
  if (!library()) return own::qr(dtype, count, m, n, a, tau);
  return typed(dtype, [&]<class T>(T) {
    const Workspace<T> room(Reflections<T>::room_for(n));
    if (!room.p) return false;
    const int rows = static_cast<int>(m);
    for (ptrdiff_t i = 0; i < count; i++)
      Reflections<T>{rows, std::max(rows, 1), static_cast<T*>(a) + i * m * n, static_cast<T*>(tau) + i * std::min(m, n), room.p}
          .factor(static_cast<int>(n));
    return true;
  });
}

}  // namespace

bool cholesky_solve(DType dtype, ptrdiff_t count, ptrdiff_t n, ptrdiff_t k, const void* a, bool upper, void* b) {
  if (in_lanes(dtype, count, n, n)) {
    small().triangle(dtype, count, n, k, a, {n * n, upper ? n : 1, upper ? 1 : n}, {false, false, Again::Cholesky}, b,
                     {n * k, 1, n});
    return true;
  }
  const char adjoint = dtype == DType::F32 || dtype == DType::F64 ? 'T' : 'C';
  const Triangle first{upper, upper ? adjoint : 'N', false}, second{upper, upper ? 'N' : adjoint, false};
  return solve_triangle(dtype, count, n, k, a, n * n, first, true, b) &&
         solve_triangle(dtype, count, n, k, a, n * n, second, true, b);
}

bool qr(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, void* a, void* tau) {
  if (!is_small(dtype, count, m, n)) return qr_by_library(dtype, count, m, n, a, tau);
  const ptrdiff_t item = kItemSize[static_cast<int>(dtype)], step = m * n * item, tau_step = std::min(m, n) * item;
  return by_lanes(
      count,
      [&](ptrdiff_t i, ptrdiff_t some, bool* done) {
        small().qr(dtype, some, m, n, shifted(a, i * step), shifted(tau, i * tau_step), done);
      },
      [&](ptrdiff_t i) { return qr_by_library(dtype, 1, m, n, shifted(a, i * step), shifted(tau, i * tau_step)); });
}

bool reflect_identity(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, void* a, const void* tau) {
  if (is_small(dtype, count, m, n)) return small().reflections(dtype, count, m, n, k, a, tau), true;
  if (!library()) return own::reflect_identity(dtype, count, m, n, k, a, tau);
  return typed(dtype, [&]<class T>(T) {
    const Workspace<T> room(Reflections<T>::room_for(n));
    if (!room.p) return false;
    const int rows = static_cast<int>(m);
    T* factors = static_cast<T*>(const_cast<void*>(tau));  // only read
    for (ptrdiff_t i = 0; i < count; i++)
      Reflections<T>{rows, std::max(rows, 1), static_cast<T*>(a) + i * m * n, factors + i * k, room.p}.form(static_cast<int>(n),
                                                                                                            static_cast<int>(k));
    return true;
  });
}

bool reflect(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const void* a, const void* tau, bool left,
             bool adjoint, void* b) {
  if (!library()) return own::reflect(dtype, count, m, n, k, a, tau, left, adjoint, b);
  return typed(dtype, [&]<class T>(T) {
    const ptrdiff_t length = left ? m : n;  // of a reflection
    const int rows = static_cast<int>(m), columns = static_cast<int>(n), reflections = static_cast<int>(k),
              a_leading = std::max(static_cast<int>(length), 1), leading = std::max(rows, 1), query = -1;
    const char side = left ? 'L' : 'R', how = !adjoint ? 'N' : kComplex<T> ? 'C' : 'T';
    int info = 0;
    T wanted = 0;
    const T *at = static_cast<const T*>(a), *factor = static_cast<const T*>(tau);
    T* to = static_cast<T*>(b);
    call<T>(Ormqr, &side, &how, &rows, &columns, &reflections, at, &a_leading, factor, to, &leading, &wanted, &query, &info, kText,
            kText);
    const int size = asked(wanted);
    Workspace<T> work(size);
    if (!size || !work.p) return false;
    for (ptrdiff_t i = 0; i < count; i++, at += length * k, factor += k, to += m * n)
      call<T>(Ormqr, &side, &how, &rows, &columns, &reflections, at, &a_leading, factor, to, &leading, work.p, &size, &info, kText,
              kText);
    return info == 0;
  });
}

namespace {

bool eigh_by_library(DType dtype, ptrdiff_t count, ptrdiff_t n, void* a, bool upper, bool vectors, void* values) {
  if (!library()) return own::eigh(dtype, count, n, a, upper, vectors, values);
  return typed(dtype, [&]<class T>(T) {
    using R = Real<T>;
    const int size = static_cast<int>(n), leading = std::max(size, 1), query = -1;
    const char job = vectors ? 'V' : 'N', part = upper ? 'U' : 'L';
    T* at = static_cast<T*>(a);
    R* to = static_cast<R*>(values);
    int info = 0;
    const auto run = [&](T* work, const int* n_work, R* reals, const int* n_reals, int* ints, const int* n_ints) {
      if constexpr (kComplex<T>)
        call<T>(Syevd, &job, &part, &size, at, &leading, to, work, n_work, reals, n_reals, ints, n_ints, &info, kText, kText);
      else call<T>(Syevd, &job, &part, &size, at, &leading, to, work, n_work, ints, n_ints, &info, kText, kText);
    };
    T wanted = 0;
    R wanted_reals = 0;
    int n_ints = 0;
    run(&wanted, &query, &wanted_reals, &query, &n_ints, &query);
    const int n_work = asked(wanted), n_reals = asked(wanted_reals);
    Workspace<T> work(n_work);
    Workspace<R> reals(n_reals);
    Workspace<int> ints(n_ints);
    if (info || !n_work || !n_reals || !work.p || !reals.p || !ints.p) return false;
    for (ptrdiff_t i = 0; i < count && !info; i++, at += n * n, to += n) run(work.p, &n_work, reals.p, &n_reals, ints.p, &n_ints);
    return info == 0;
  });
}

}  // namespace

bool eigh(DType dtype, ptrdiff_t count, ptrdiff_t n, void* a, bool upper, bool vectors, void* values) {
  if (!in_lanes(dtype, count, n, n)) return eigh_by_library(dtype, count, n, a, upper, vectors, values);
  const ptrdiff_t item = kItemSize[static_cast<int>(dtype)];
  return by_lanes(
      count,
      [&](ptrdiff_t i, ptrdiff_t some, bool* done) {
        small().eigh(dtype, some, n, shifted(a, i * n * n * item), upper, vectors, shifted(values, i * n * item), done);
      },
      [&](ptrdiff_t i) {
        return eigh_by_library(dtype, 1, n, shifted(a, i * n * n * item), upper, vectors, shifted(values, i * n * item));
      });
}

bool eig(DType dtype, ptrdiff_t count, ptrdiff_t n, void* a, void* values, void* vectors) {
  if (!library()) return own::eig(dtype, count, n, a, values, vectors);
  return typed(dtype, [&]<class T>(T) {
    using R = Real<T>;
    using C = std::complex<R>;
    const int size = static_cast<int>(n), leading = std::max(size, 1), one = 1, query = -1;
    const char none = 'N', job = vectors ? 'V' : 'N';
    T* at = static_cast<T*>(a);
    C *to = static_cast<C*>(values), *columns = static_cast<C*>(vectors);
    Workspace<R> reals(2 * n);  // the eigenvalues' parts of a real matrix; the work of a complex one
    Workspace<T> found(vectors && !kComplex<T> ? n * n : 1);
    if (!reals.p || !found.p) return false;
    int info = 0;
    const auto run = [&](T* work, const int* n_work) {
      T unused;
      if constexpr (kComplex<T>)
        call<T>(Geev, &none, &job, &size, at, &leading, to, &unused, &one, vectors ? columns : &unused, &leading, work, n_work,
                reals.p, &info, kText, kText);
      else
        call<T>(Geev, &none, &job, &size, at, &leading, reals.p, reals.p + n, &unused, &one, found.p, &leading, work, n_work, &info,
                kText, kText);
    };
    T wanted = 0;
    run(&wanted, &query);
    const int n_work = asked(wanted);
    Workspace<T> work(n_work);
    if (info || !n_work || !work.p) return false;
    for (ptrdiff_t i = 0; i < count; i++, at += n * n, to += n, columns += vectors ? n * n : 0) {
      run(work.p, &n_work);
      if (info) return false;
      if constexpr (!kComplex<T>) {
        for (ptrdiff_t j = 0; j < n; j++) to[j] = C(reals.p[j], reals.p[n + j]);
        for (ptrdiff_t j = 0; vectors && j < n; j++) {
          const T* x = found.p + j * n;
          if (to[j].imag() == 0) {
            std::copy_n(x, n, columns + j * n);
          } else {  // two columns are the parts of a pair of eigenvectors
            for (ptrdiff_t r = 0; r < n; r++) columns[j * n + r] = C(x[r], x[n + r]), columns[(j + 1) * n + r] = C(x[r], -x[n + r]);
            j++;
          }
        }
      }
    }
    return true;
  });
}

namespace {

bool svd_by_library(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, void* a, bool full, void* u, void* s, void* vh) {
  if (!library()) return own::svd(dtype, count, m, n, a, full, u, s, vh);
  return typed(dtype, [&]<class T>(T) {
    using R = Real<T>;
    const ptrdiff_t k = std::min(m, n), most = std::max(m, n), u_columns = full ? m : k, v_rows = full ? n : k;
    const int rows = static_cast<int>(m), columns = static_cast<int>(n), leading = std::max(rows, 1),
              v_leading = std::max(static_cast<int>(v_rows), 1), query = -1;
    const char job = !u ? 'N' : full ? 'A' : 'S';
    T *at = static_cast<T*>(a), *left = static_cast<T*>(u), *right = static_cast<T*>(vh), unused[1];
    R* to = static_cast<R*>(s);
    const double n_reals = !kComplex<T> ? 1 : !u ? 7. * k : std::max(5. * k * k + 7 * k, 2. * most * k + 2. * k * k + k);
    Workspace<int> ints(8 * k);
    Workspace<R> reals(static_cast<ptrdiff_t>(n_reals));
    if (!ints.p || !reals.p) return false;
    int info = 0;
    const auto run = [&](T* work, const int* n_work) {
      T *l = u ? left : unused, *r = u ? right : unused;
      if constexpr (kComplex<T>)
        call<T>(Gesdd, &job, &rows, &columns, at, &leading, to, l, &leading, r, &v_leading, work, n_work, reals.p, ints.p, &info,
                kText);
      else call<T>(Gesdd, &job, &rows, &columns, at, &leading, to, l, &leading, r, &v_leading, work, n_work, ints.p, &info, kText);
    };
    T wanted = 0;
    run(&wanted, &query);
    const int n_work = asked(wanted);
    Workspace<T> work(n_work);
    if (info || !n_work || !work.p) return false;
    for (ptrdiff_t i = 0; i < count && !info; i++) {
      run(work.p, &n_work);
      at += m * n, to += k;
      if (u) left += m * u_columns, right += v_rows * n;
    }
    return info == 0;
  });
}

}  // namespace

bool svd(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, void* a, bool full, void* u, void* s, void* vh) {
  if (!in_lanes(dtype, count, m, n) || (u && full && m != n)) return svd_by_library(dtype, count, m, n, a, full, u, s, vh);
  const ptrdiff_t item = kItemSize[static_cast<int>(dtype)], k = std::min(m, n);
  const auto at = [&](ptrdiff_t i, auto f) {
    return f(shifted(a, i * m * n * item), shifted(u, i * m * k * item), shifted(s, i * k * item), shifted(vh, i * k * n * item));
  };
  return by_lanes(
      count,
      [&](ptrdiff_t i, ptrdiff_t some, bool* done) {
        at(i, [&](void* x, void* l, void* v, void* r) { small().svd(dtype, some, m, n, x, l, v, r, done); });
      },
      [&](ptrdiff_t i) {
        return at(i, [&](void* x, void* l, void* v, void* r) { return svd_by_library(dtype, 1, m, n, x, false, l, v, r); });
      });
}

namespace {

// Least squares of a matrix that surely has full rank, by reflections without an order of the columns. False where it may not have,
// and nothing is changed.
template <class T>
bool by_reflections(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const T* a, T* b, Real<T> rcond) {
  const ptrdiff_t wanted = Reflections<T>::room_for(n + k);
  if (wanted > std::numeric_limits<int>::max()) return false;
  const Workspace<T> factored(m * n), inverse(n * n), tau(n), room(wanted);
  if (!factored.p || !inverse.p || !tau.p || !room.p) return false;
  const int rows = static_cast<int>(m), columns = static_cast<int>(n), right = static_cast<int>(k), size = static_cast<int>(wanted);
  std::copy_n(a, m * n, factored.p);
  Reflections<T>{rows, rows, factored.p, tau.p, room.p}.factor(columns);
  const char left = 'L', upper = 'U', plain = 'N', adjoint = kComplex<T> ? 'C' : 'T';
  const T one = 1;
  const auto solve = [&](const int* wide, T* x, const int* leading) {
    call<T>(Trsm, &left, &upper, &plain, &plain, &columns, wide, &one, factored.p, &rows, x, leading, kText, kText, kText, kText);
  };
  double norm = 0, inverse_norm = 0;  // Frobenius's: their product is no less than the ratio of the singular values
  std::fill_n(inverse.p, n * n, T());
  for (ptrdiff_t j = 0; j < n; j++) {
    inverse.p[j * n + j] = 1;
    for (ptrdiff_t i = 0; i <= j; i++) norm += static_cast<double>(std::norm(factored.p[j * m + i]));
  }
  solve(&columns, inverse.p, &columns);
  for (ptrdiff_t i = 0; i < n * n; i++) inverse_norm += static_cast<double>(std::norm(inverse.p[i]));
  const double least = std::max<double>(rcond, 8 * std::numeric_limits<Real<T>>::epsilon());
  if (!(std::sqrt(norm) * std::sqrt(inverse_norm) * least < 0.5)) return false;
  int info = 0;
  call<T>(Ormqr, &left, &adjoint, &rows, &right, &columns, factored.p, &rows, tau.p, b, &rows, room.p, &size, &info, kText, kText);
  solve(&right, b, &rows);
  return info == 0;
}

}  // namespace

bool least_squares(DType dtype, char driver, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, void* a, void* b, double rcond, void* s,
                   int64_t* rank) {
  if (!library()) return own::least_squares(dtype, driver, m, n, k, a, b, rcond, s, rank);
  return typed(dtype, [&]<class T>(T) {
    using R = Real<T>;
    const ptrdiff_t least = std::min(m, n);
    const int rows = static_cast<int>(m), columns = static_cast<int>(n), right = static_cast<int>(k), leading = std::max(rows, 1),
              b_leading = static_cast<int>(std::max({m, n, ptrdiff_t(1)})), query = -1;
    const R bound = static_cast<R>(rcond);
    const char plain = 'N';
    T *at = static_cast<T*>(a), *to = static_cast<T*>(b);
    R* values = static_cast<R*>(s);
    int info = 0, found = 0;
    if (driver == 'y' && n && m >= n && by_reflections(m, n, k, at, to, bound)) {
      if (rank) *rank = n;
      return true;
    }
    Workspace<int> pivots(n);
    if (!pivots.p) return false;
    std::fill_n(pivots.p, n, 0);
    const auto run = [&](T* work, const int* n_work, R* reals, int* ints) {
      const auto ranked = [&](Routine routine, auto... more) {
        call<T>(routine, &rows, &columns, &right, at, &leading, to, &b_leading, values, &bound, &found, work, n_work, more...,
                &info);
      };
      if (driver == 0) {
        call<T>(Gels, &plain, &rows, &columns, &right, at, &leading, to, &b_leading, work, n_work, &info, kText);
      } else if (driver == 'y') {
        if constexpr (kComplex<T>)
          call<T>(Gelsy, &rows, &columns, &right, at, &leading, to, &b_leading, pivots.p, &bound, &found, work, n_work, reals,
                  &info);
        else call<T>(Gelsy, &rows, &columns, &right, at, &leading, to, &b_leading, pivots.p, &bound, &found, work, n_work, &info);
      } else if (driver == 'd') {
        if constexpr (kComplex<T>) ranked(Gelsd, reals, ints);
        else ranked(Gelsd, ints);
      } else {
        if constexpr (kComplex<T>) ranked(Gelss, reals);
        else ranked(Gelss);
      }
    };
    T wanted = 0;
    R wanted_reals = 0;
    int wanted_ints = 1;
    run(&wanted, &query, &wanted_reals, &wanted_ints);
    const int n_work = asked(wanted), n_ints = driver == 'd' ? wanted_ints : 1;
    const int n_reals = driver == 'd' ? asked(wanted_reals) : asked(static_cast<R>(std::max(2. * n, 5. * least)));
    Workspace<T> work(n_work);
    Workspace<R> reals(n_reals);
    Workspace<int> ints(n_ints);
    if (info || !n_work || !n_reals || !work.p || !reals.p || !ints.p) return false;
    run(work.p, &n_work, reals.p, ints.p);
    if (rank) *rank = found;
    return info == 0;
  });
}

bool ldl(DType dtype, ptrdiff_t count, ptrdiff_t n, bool hermitian, void* a, int* pivots, int* info) {
  if (!library()) return own::ldl(dtype, count, n, hermitian, a, pivots, info);
  return typed(dtype, [&]<class T>(T) {
    const Routine routine = hermitian ? Hetrf : Sytrf;
    const int size = static_cast<int>(n), leading = std::max(size, 1), query = -1;
    const char part = 'L';
    T* at = static_cast<T*>(a);
    T wanted = 0;
    int first = 0;
    call<T>(routine, &part, &size, at, &leading, pivots, &wanted, &query, &first, kText);
    const int n_work = asked(wanted);
    Workspace<T> work(n_work);
    if (!n_work || !work.p) return false;
    for (ptrdiff_t i = 0; i < count; i++, at += n * n, pivots += n)
      call<T>(routine, &part, &size, at, &leading, pivots, work.p, &n_work, info + i, kText);
    return true;
  });
}

bool ldl_solve(DType dtype, ptrdiff_t count, ptrdiff_t n, ptrdiff_t k, bool hermitian, const void* a, const int* pivots, void* b) {
  if (!library()) return own::ldl_solve(dtype, count, n, k, hermitian, a, pivots, b);
  return typed(dtype, [&]<class T>(T) {
    const int size = static_cast<int>(n), columns = static_cast<int>(k), leading = std::max(size, 1);
    const char part = 'L';
    int info = 0;
    const T* at = static_cast<const T*>(a);
    T* to = static_cast<T*>(b);
    for (ptrdiff_t i = 0; i < count; i++, at += n * n, pivots += n, to += n * k)
      call<T>(hermitian ? Hetrs : Sytrs, &part, &size, &columns, at, &leading, pivots, to, &leading, &info, kText);
    return info == 0;
  });
}

}  // namespace rushlight::lapack
