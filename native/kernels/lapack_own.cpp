// Systems of equations, factors and reflections without a library. A matrix is halved until it is
// small: between the halves there are products, which gemm computes.
#include "kernels/lapack_own.h"

#include <utility>

#include "kernels/lapack_parts.h"

namespace rushlight::lapack::own {
namespace {

constexpr ptrdiff_t kSmall = 8;   // columns that are taken one by one
constexpr ptrdiff_t kBlock = 32;  // reflections that are applied at once

// ---- triangles

struct Half {
  bool upper, unit, conjugated;
};
// b (n x k) = the solution of op(a) @ x = b. room: n * n.
template <class T>
void divide(Half half, ptrdiff_t n, ptrdiff_t k, Matrix<T> a, Matrix<T> b, T* room) {
  const auto element = [&](ptrdiff_t i, ptrdiff_t j) { return half.conjugated ? conjugate(a(i, j)) : a(i, j); };
  if (n > kSmall) {
    const ptrdiff_t h = n / 2, first = half.upper ? h : 0, second = h - first, solved = half.upper ? n - h : h;
    divide(half, solved, k, a.from(first, first), b.from(first, 0), room);
    subtract(n - solved, k, solved, a.from(second, first), half.conjugated, b.from(first, 0), b.from(second, 0), room);
    return divide(half, n - solved, k, a.from(second, second), b.from(second, 0), room);
  }
  for (ptrdiff_t c = 0; c < k; c++)
    for (ptrdiff_t s = 0; s < n; s++) {
      const ptrdiff_t i = half.upper ? n - 1 - s : s;
      T x = b(i, c);
      for (ptrdiff_t j = half.upper ? i + 1 : 0; j < (half.upper ? n : i); j++) x -= product(element(i, j), b(j, c));
      b(i, c) = half.unit ? x : x / element(i, i);
    }
}

// ---- LU

template <class T>
void exchange_rows(ptrdiff_t columns, Matrix<T> a, ptrdiff_t steps, const int* pivots, bool forth) {
  for (ptrdiff_t j = 0; j < columns; j++)
    for (ptrdiff_t s = 0; s < steps; s++) {
      const ptrdiff_t i = forth ? s : steps - 1 - s;
      std::swap(a(i, j), a(pivots[i] - 1, j));
    }
}
template <class T>
int lu_of_few(ptrdiff_t m, ptrdiff_t n, Matrix<T> a, int* pivots) {
  int info = 0;
  for (ptrdiff_t k = 0; k < std::min(m, n); k++) {
    ptrdiff_t p = k;
    for (ptrdiff_t i = k + 1; i < m; i++)
      if (size_of(a(i, k)) > size_of(a(p, k))) p = i;
    pivots[k] = static_cast<int>(p + 1);
    for (ptrdiff_t j = 0; j < n && p != k; j++) std::swap(a(k, j), a(p, j));
    const T pivot = a(k, k), by = pivot == T(0) ? T(0) : T(1) / pivot;
    if (pivot == T(0)) {
      if (!info) info = static_cast<int>(k + 1);
      continue;
    }
    const bool fits = std::isfinite(size_of(by));
    T* below = &a(k, k) + 1;
    for (ptrdiff_t i = 0; i < m - k - 1; i++) below[i] = fits ? product(below[i], by) : below[i] / pivot;
    for (ptrdiff_t j = k + 1; j < n; j++) add(m - k - 1, -a(k, j), below, &a(k, j) + 1);
  }
  return info;
}
template <class T>
int factor(ptrdiff_t m, ptrdiff_t n, Matrix<T> a, int* pivots, T* room) {
  const ptrdiff_t least = std::min(m, n), h = least / 2;
  if (least <= kSmall) return lu_of_few(m, n, a, pivots);
  const int info = factor(m, h, a, pivots, room);
  exchange_rows(n - h, a.from(0, h), h, pivots, true);
  divide({false, true, false}, h, n - h, a, a.from(0, h), room);
  subtract(m - h, n - h, h, a.from(h, 0), false, a.from(0, h), a.from(h, h), room);
  const int below = factor(m - h, n - h, a.from(h, h), pivots + h, room);
  exchange_rows(h, a.from(h, 0), least - h, pivots + h, true);
  for (ptrdiff_t i = h; i < least; i++) pivots[i] += static_cast<int>(h);
  return info ? info : below ? below + static_cast<int>(h) : 0;
}

// ---- Cholesky

// The lower triangle becomes the factor; the upper one is used up.
template <class T>
int factor_positive(ptrdiff_t n, Matrix<T> a, T* room) {
  if (n <= kSmall) {
    for (ptrdiff_t j = 0; j < n; j++) {
      Real<T> pivot = std::real(a(j, j));
      for (ptrdiff_t p = 0; p < j; p++) pivot -= std::norm(a(j, p));
      if (!(pivot > 0)) return static_cast<int>(j + 1);
      a(j, j) = pivot = std::sqrt(pivot);
      for (ptrdiff_t i = j + 1; i < n; i++) {
        for (ptrdiff_t p = 0; p < j; p++) a(i, j) -= product(a(i, p), conjugate(a(j, p)));
        a(i, j) /= pivot;
      }
    }
    return 0;
  }
  const ptrdiff_t h = n / 2;
  if (const int info = factor_positive(h, a, room)) return info;
  const Matrix<T> below = a.from(h, 0);
  divide({false, false, true}, h, n - h, a, below.turned(), room);
  subtract(n - h, n - h, h, below, true, below.turned(), a.from(h, h).turned(), room);
  const int info = factor_positive(n - h, a.from(h, h), room);
  return info ? info + static_cast<int>(h) : 0;
}
template <class T>
void copy_lower(ptrdiff_t n, Matrix<T> from, Matrix<T> to) {
  for (ptrdiff_t j = 0; j < n; j++)
    for (ptrdiff_t i = j; i < n; i++) to(i, j) = from(i, j);
}

// ---- reflections

// op of the product of b reflections, in columns of m rows below a diagonal of 1, on c: from the
// left, of n columns, or from the right, of n rows. All are 1 - v t v.H with an upper triangle t.
// room: of room_for(m, n).
ptrdiff_t room_for(ptrdiff_t m, ptrdiff_t n) { return kBlock * (2 * m + 2 * n + 2 * kBlock); }
template <class T>
void turn(ptrdiff_t m, ptrdiff_t b, Matrix<T> from, const T* tau, bool left, bool adjoint, ptrdiff_t n, Matrix<T> c, T* room) {
  if (!m || !n) return;
  const Matrix<T> v{room, 1, m}, conjugated{kComplex<T> ? room + m * b : room, 1, m};
  T* behind = room + 2 * m * b;
  const Matrix<T> t{behind, 1, b}, by{behind + b * b, 1, b};
  const Matrix<T> sums = left ? Matrix<T>{behind + 2 * b * b, 1, b} : Matrix<T>{behind + 2 * b * b, 1, n};
  const Matrix<T> turned{sums.at + b * n, 1, sums.column};
  for (ptrdiff_t j = 0; j < b; j++)
    for (ptrdiff_t i = 0; i < m; i++) {
      v(i, j) = i < j ? T(0) : i == j ? T(1) : from(i, j);
      if constexpr (kComplex<T>) conjugated(i, j) = std::conj(v(i, j));
    }
  multiply(b, b, m, conjugated.turned(), v, by, false);
  for (ptrdiff_t j = 0; j < b; j++)
    for (ptrdiff_t i = 0; i < b; i++) {
      T sum = 0;
      for (ptrdiff_t s = i; s < j; s++) sum += product(t(i, s), by(s, j));
      t(i, j) = i > j ? T(0) : i == j ? tau[j] : -product(tau[j], sum);
    }
  for (ptrdiff_t j = 0; j < b; j++)
    for (ptrdiff_t i = 0; i < b; i++) by(i, j) = adjoint ? -conjugate(t(j, i)) : -t(i, j);
  if (left) {
    multiply(b, n, m, conjugated.turned(), c, sums, false);
    multiply(b, n, b, by, sums, turned, false);
    multiply(m, n, b, v, turned, c, true);
  } else {
    multiply(n, b, m, c, v, sums, false);
    multiply(n, b, b, sums, by, turned, false);
    multiply(n, m, b, turned, conjugated.turned(), c, true);
  }
}
// op of k of them, of m rows, as qr leaves them.
template <class T>
void turn_all(ptrdiff_t m, ptrdiff_t k, Matrix<T> a, const T* tau, bool left, bool adjoint, ptrdiff_t n, Matrix<T> c, T* room) {
  const ptrdiff_t blocks = (k + kBlock - 1) / kBlock;
  for (ptrdiff_t s = 0; s < blocks; s++) {
    const ptrdiff_t i = (left == adjoint ? s : blocks - 1 - s) * kBlock;
    turn(m - i, std::min(kBlock, k - i), a.from(i, i), tau + i, left, adjoint, n, left ? c.from(i, 0) : c.from(0, i), room);
  }
}
// Makes column j of a the next reflection, and applies it to `columns` more.
template <class T>
void reflect_next(ptrdiff_t m, ptrdiff_t j, ptrdiff_t columns, Matrix<T> a, T* tau) {
  T &diagonal = a(j, j), *v = &diagonal;
  *tau = reflection(m - j, diagonal, v + 1);
  const T beta = std::exchange(diagonal, T(1));
  reflect_columns(m - j, columns, conjugate(*tau), v, v + a.column, a.column);
  diagonal = beta;
}
template <class T>
void factor_orthogonal(ptrdiff_t m, ptrdiff_t n, Matrix<T> a, T* tau, T* room) {
  const ptrdiff_t k = std::min(m, n);
  for (ptrdiff_t i = 0; i < k; i += kBlock) {
    const ptrdiff_t end = std::min(i + kBlock, k);
    for (ptrdiff_t j = i; j < end; j++) reflect_next(m, j, end - j - 1, a, tau + j);
    turn(m - i, end - i, a.from(i, i), tau + i, true, true, n - end, a.from(i, end), room);
  }
}

}  // namespace

bool lu(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, void* a, int* pivots, int* info) {
  return typed(dtype, [&]<class T>(T) {
    const Workspace<T> room(m * n);
    if (!room.p) return false;
    Matrix<T> at = columns_of<T>(a, m);
    for (ptrdiff_t i = 0; i < count; i++, at.at += m * n, pivots += std::min(m, n)) info[i] = factor(m, n, at, pivots, room.p);
    return true;
  });
}

bool lu_solve(DType dtype, ptrdiff_t count, ptrdiff_t n, ptrdiff_t k, const void* a, const int* pivots, char how, void* b) {
  return typed(dtype, [&]<class T>(T) {
    const Workspace<T> room(n * n);
    if (!room.p) return false;
    const bool plain = how == 'N', conjugated = how == 'C';
    Matrix<T> at = columns_of<T>(a, n), to = columns_of<T>(b, n);
    for (ptrdiff_t i = 0; i < count; i++, at.at += n * n, pivots += n, to.at += n * k) {
      if (plain) exchange_rows(k, to, n, pivots, true);
      divide({false, plain, conjugated}, n, k, plain ? at : at.turned(), to, room.p);
      divide({true, !plain, conjugated}, n, k, plain ? at : at.turned(), to, room.p);
      if (!plain) exchange_rows(k, to, n, pivots, false);
    }
    return true;
  });
}

bool cholesky(DType dtype, ptrdiff_t count, ptrdiff_t n, void* a, bool upper, int* info) {
  return typed(dtype, [&]<class T>(T) {
    const Workspace<T> full(n * n), room(n * n);
    if (!full.p || !room.p) return false;
    std::fill_n(full.p, n * n, T(0));
    for (ptrdiff_t i = 0; i < count; i++) {
      const Matrix<T> all = columns_of<T>(a, n).from(0, i * n), to = columns_of<T>(full.p, n);
      // The upper triangle, turned round, is the lower one of the conjugated matrix.
      const Matrix<T> half = upper ? all.turned() : all;
      copy_lower(n, half, to);
      info[i] = factor_positive(n, to, room.p);
      copy_lower(n, to, half);
    }
    return true;
  });
}

bool cholesky_inverse(DType dtype, ptrdiff_t count, ptrdiff_t n, void* a, bool upper, int* info) {
  return typed(dtype, [&]<class T>(T) {
    const Workspace<T> inverse(n * n), turned(n * n), room(n * n);
    if (!inverse.p || !turned.p || !room.p) return false;
    for (ptrdiff_t i = 0; i < count; i++) {
      const Matrix<T> all = columns_of<T>(a, n).from(0, i * n), half = upper ? all.turned() : all;
      const Matrix<T> x = columns_of<T>(inverse.p, n), to = columns_of<T>(turned.p, n);
      info[i] = 0;
      for (ptrdiff_t j = n; j-- > 0;)
        if (half(j, j) == T(0)) info[i] = static_cast<int>(j + 1);
      if (info[i]) continue;
      for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t r = 0; r < n; r++) x(r, j) = r == j ? 1 : 0;
      divide({false, false, false}, n, n, half, x, room.p);
      for (ptrdiff_t j = 0; j < n * n; j++) room.p[j] = conjugate(inverse.p[j]);
      multiply(n, n, n, columns_of<T>(room.p, n).turned(), x, to, false);  // inverse.H @ inverse
      copy_lower(n, to, half);
    }
    return true;
  });
}

bool solve_triangle(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t k, const void* a, ptrdiff_t a_step, Triangle triangle,
                    bool left, void* b) {
  return typed(dtype, [&]<class T>(T) {
    const ptrdiff_t n = left ? m : k;
    const Workspace<T> room(n * n);
    if (!room.p) return false;
    // x @ op(a) = b is op(a).T @ x.T = b.T.
    const bool turned = (triangle.how == 'N') != left;
    const Half half{triangle.upper != turned, triangle.unit, triangle.how == 'C'};
    Matrix<T> at = columns_of<T>(a, n), to = columns_of<T>(b, m);
    for (ptrdiff_t i = 0; i < count; i++, at.at += a_step, to.at += m * k)
      divide(half, n, left ? k : m, turned ? at.turned() : at, left ? to : to.turned(), room.p);
    return true;
  });
}

bool qr(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, void* a, void* tau) {
  return typed(dtype, [&]<class T>(T) {
    const Workspace<T> room(room_for(m, n));
    if (!room.p) return false;
    Matrix<T> at = columns_of<T>(a, m);
    T* factors = static_cast<T*>(tau);
    for (ptrdiff_t i = 0; i < count; i++, at.at += m * n, factors += std::min(m, n)) factor_orthogonal(m, n, at, factors, room.p);
    return true;
  });
}

bool reflect_identity(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, void* a, const void* tau) {
  return typed(dtype, [&]<class T>(T) {
    const Workspace<T> held(m * k), room(room_for(m, n));
    if (!held.p || !room.p) return false;
    Matrix<T> at = columns_of<T>(a, m), from = columns_of<T>(held.p, m);
    const T* factors = static_cast<const T*>(tau);
    for (ptrdiff_t s = 0; s < count; s++, at.at += m * n, factors += k) {
      std::copy_n(at.at, m * k, held.p);
      for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t i = 0; i < m; i++) at(i, j) = i == j ? 1 : 0;
      for (ptrdiff_t i = k ? (k - 1) / kBlock * kBlock : -1; i >= 0; i -= kBlock)
        turn(m - i, std::min(kBlock, k - i), from.from(i, i), factors + i, true, false, n - i, at.from(i, i), room.p);
    }
    return true;
  });
}

bool reflect(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const void* a, const void* tau, bool left,
             bool adjoint, void* b) {
  return typed(dtype, [&]<class T>(T) {
    const ptrdiff_t rows = left ? m : n, others = left ? n : m;
    const Workspace<T> room(room_for(rows, others));
    if (!room.p) return false;
    Matrix<T> at = columns_of<T>(a, rows), to = columns_of<T>(b, m);
    const T* factors = static_cast<const T*>(tau);
    for (ptrdiff_t i = 0; i < count; i++, at.at += rows * k, factors += k, to.at += m * n)
      turn_all(rows, k, at, factors, left, adjoint, others, to, room.p);
    return true;
  });
}

// ---- least squares

namespace {

// a = q r with the columns in the order of `order`: the next is the longest of what is left of
// them.
template <class T>
void factor_in_order(ptrdiff_t m, ptrdiff_t n, Matrix<T> a, T* tau, int* order) {
  for (ptrdiff_t j = 0; j < n; j++) order[j] = static_cast<int>(j);
  for (ptrdiff_t j = 0; j < std::min(m, n); j++) {
    ptrdiff_t longest = j;
    Real<T> most = -1;
    for (ptrdiff_t c = j; c < n; c++)
      if (const Real<T> size = length(m - j, &a(j, c)); size > most) most = size, longest = c;
    std::swap(order[j], order[longest]);
    if (longest != j) std::swap_ranges(&a(0, j), &a(0, j) + m, &a(0, longest));
    reflect_next(m, j, n - j - 1, a, tau + j);
  }
}

// How many columns of the triangle are to be taken: those of the largest corner whose singular
// values are no further apart than rcond.
template <class T>
bool rank_of(ptrdiff_t n, Matrix<T> r, Real<T> rcond, ptrdiff_t& rank) {
  const Workspace<T> corner(n * n);
  const Workspace<Real<T>> values(n);
  if (!corner.p || !values.p) return false;
  for (ptrdiff_t low = 0, high = n, k = n; low < high; k = (low + high + 1) / 2) {
    for (ptrdiff_t j = 0; j < k; j++)
      for (ptrdiff_t i = 0; i < k; i++) corner.p[j * k + i] = i <= j ? r(i, j) : T(0);
    if (!svd(kElement<T>, 1, k, k, corner.p, false, nullptr, values.p, nullptr)) return false;
    values.p[0] * rcond <= values.p[k - 1] && values.p[0] > 0 ? low = k : high = k - 1;
    rank = low;
  }
  return true;
}

// b = the shortest solution of r @ x = b for the first m rows of r, of n columns and full rank: r.H
// = q l.H, x = q @ (l \ b).
template <class T>
bool shortest(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, Matrix<T> r, Matrix<T> b) {
  const Workspace<T> held(n * m), tau(m), room(room_for(n, std::max(m, k))), square(m * m);
  if (!held.p || !tau.p || !room.p || !square.p) return false;
  const Matrix<T> a = columns_of<T>(held.p, n);
  for (ptrdiff_t j = 0; j < m; j++)
    for (ptrdiff_t i = 0; i < n; i++) a(i, j) = conjugate(r(j, i));
  factor_orthogonal(n, m, a, tau.p, room.p);
  for (ptrdiff_t j = 0; j < m; j++)
    if (a(j, j) == T(0)) return false;
  divide({false, false, true}, m, k, a.turned(), b, square.p);
  for (ptrdiff_t j = 0; j < k; j++)
    for (ptrdiff_t i = m; i < n; i++) b(i, j) = 0;
  turn_all(n, m, a, tau.p, true, false, k, b, room.p);
  return true;
}

// By the columns' lengths (gelsy).
template <class T>
bool by_order(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, Matrix<T> a, Matrix<T> b, Real<T> rcond, int64_t* found) {
  const ptrdiff_t least = std::min(m, n);
  const Workspace<T> tau(least), room(std::max(room_for(m, k), n * n)), column(n);
  const Workspace<int> order(n);
  if (!tau.p || !room.p || !column.p || !order.p) return false;
  factor_in_order(m, n, a, tau.p, order.p);
  ptrdiff_t rank = 0;
  if (!rank_of(least, a, rcond, rank)) return false;
  turn_all(m, least, a, tau.p, true, true, k, b, room.p);
  for (ptrdiff_t j = 0; j < n; j++)  // zeros below the diagonal
    for (ptrdiff_t i = j + 1; i < least; i++) a(i, j) = 0;
  if (rank == n) divide({true, false, false}, n, k, a, b, room.p);
  else if (!shortest(rank, n, k, a, b)) return false;
  for (ptrdiff_t c = 0; c < k; c++) {
    for (ptrdiff_t j = 0; j < n; j++) column.p[order.p[j]] = b(j, c);
    std::copy_n(column.p, n, &b(0, c));
  }
  if (found) *found = rank;
  return true;
}

// By singular values (gelsd, gelss): b is b, or what reflections have left of it, and a has no more
// rows than columns.
template <class T>
bool by_values(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, T* a, Matrix<T> b, Real<T> rcond, Real<T>* s, int64_t* found) {
  const Workspace<T> u(m * m), vh(m * n), parts(m * k);
  if (!u.p || !vh.p || !parts.p || !svd(kElement<T>, 1, m, n, a, false, u.p, s, vh.p)) return false;
  const Real<T> bound = std::max((rcond < 0 ? std::numeric_limits<Real<T>>::epsilon() : rcond) * s[0],
                                 std::numeric_limits<Real<T>>::min());
  const ptrdiff_t rank = std::count_if(s, s + m, [&](Real<T> value) { return value > bound; });
  for (ptrdiff_t i = 0; i < m * m; i++) u.p[i] = conjugate(u.p[i]);
  for (ptrdiff_t i = 0; i < m * n; i++) vh.p[i] = conjugate(vh.p[i]);
  const Matrix<T> x = columns_of<T>(parts.p, m);
  multiply(m, k, m, columns_of<T>(u.p, m).turned(), b, x, false);
  for (ptrdiff_t j = 0; j < k; j++)
    for (ptrdiff_t i = 0; i < m; i++) x(i, j) = i < rank ? x(i, j) / s[i] : T(0);
  multiply(n, k, m, columns_of<T>(vh.p, m).turned(), x, b, false);
  if (found) *found = rank;
  return true;
}

}  // namespace

bool least_squares(DType dtype, char driver, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, void* a, void* b, double rcond, void* s,
                   int64_t* rank) {
  return typed(dtype, [&]<class T>(T) {
    const Matrix<T> at = columns_of<T>(a, m), to = columns_of<T>(b, std::max(m, n));
    const Real<T> bound = static_cast<Real<T>>(rcond);
    Real<T>* values = static_cast<Real<T>*>(s);
    if (driver == 'y') return by_order(m, n, k, at, to, bound, rank);
    if (m <= n && driver) return by_values(m, n, k, at.at, to, bound, values, rank);
    if (m < n) return shortest(m, n, k, at, to);
    const Workspace<T> tau(n), room(std::max(room_for(m, std::max(n, k)), n * n));
    if (!tau.p || !room.p) return false;
    factor_orthogonal(m, n, at, tau.p, room.p);
    turn_all(m, n, at, tau.p, true, true, k, to, room.p);
    if (!driver) {
      for (ptrdiff_t j = 0; j < n; j++)
        if (at(j, j) == T(0)) return false;
      return divide({true, false, false}, n, k, at, to, room.p), true;
    }
    for (ptrdiff_t j = 0; j < n; j++)
      for (ptrdiff_t i = 0; i < n; i++) room.p[j * n + i] = i <= j ? at(i, j) : T(0);
    return by_values(n, n, k, room.p, to, bound, values, rank);
  });
}

// ---- Bunch's and Kaufman's factors

namespace {

// The part of a symmetric matrix across the diagonal.
template <class T>
T across(bool hermitian, T a) {
  return hermitian ? conjugate(a) : a;
}
// The pivot of column k: one row to be exchanged with k, or with k + 1 for a block of two.
struct Pivot {
  ptrdiff_t row, size;
};
template <class T>
Pivot pivot_of(ptrdiff_t n, ptrdiff_t k, Matrix<T> a) {
  using R = Real<T>;
  const R alpha = (1 + std::sqrt(R(17))) / 8, own = size_of(a(k, k));
  R most = 0, across_most = 0;
  ptrdiff_t row = k;
  for (ptrdiff_t i = k + 1; i < n; i++)
    if (size_of(a(i, k)) > most) most = size_of(a(i, k)), row = i;
  if (own >= alpha * most || std::isnan(own)) return {k, 1};
  for (ptrdiff_t j = k; j < row; j++) across_most = std::max(across_most, size_of(a(row, j)));
  for (ptrdiff_t i = row + 1; i < n; i++) across_most = std::max(across_most, size_of(a(i, row)));
  if (own >= alpha * most * (most / across_most)) return {k, 1};
  return {row, size_of(a(row, row)) >= alpha * across_most ? 1 : 2};
}
template <class T>
void exchange_symmetric(ptrdiff_t n, ptrdiff_t k, Pivot pivot, bool hermitian, Matrix<T> a) {
  const ptrdiff_t from = k + pivot.size - 1, to = pivot.row;
  if (from == to) return;
  for (ptrdiff_t i = to + 1; i < n; i++) std::swap(a(i, from), a(i, to));
  for (ptrdiff_t j = from + 1; j < to; j++) {
    const T held = a(j, from);
    a(j, from) = across(hermitian, a(to, j)), a(to, j) = across(hermitian, held);
  }
  a(to, from) = across(hermitian, a(to, from));
  std::swap(a(from, from), a(to, to));
  if (pivot.size == 2) std::swap(a(k + 1, k), a(to, k));
}
// The solution (x, y) of the block of two at k: block @ (x, y) = (x, y), or where `turned` of
// block.T.
template <class T>
void divide_by_block(ptrdiff_t k, bool hermitian, bool turned, Matrix<T> a, T& x, T& y) {
  const Real<T> by = std::abs(a(k + 1, k));
  const T first = a(k, k) / by, second = a(k + 1, k + 1) / by, low = a(k + 1, k) / by, high = across(hermitian, low);
  const T scaled = (product(first, second) - product(low, high)) * by;
  const T found = (product(x, second) - product(y, turned ? low : high)) / scaled;
  y = (product(y, first) - product(x, turned ? high : low)) / scaled;
  x = found;
}
template <class T>
int factor_symmetric(ptrdiff_t n, bool hermitian, Matrix<T> a, int* pivots) {
  int info = 0;
  for (ptrdiff_t k = 0, size = 1; k < n; k += size) {
    if (hermitian) a(k, k) = std::real(a(k, k));
    const Pivot pivot = pivot_of(n, k, a);
    size = pivot.size;
    for (ptrdiff_t i = 0; i < size; i++) pivots[k + i] = static_cast<int>(size == 1 ? pivot.row + 1 : -pivot.row - 1);
    exchange_symmetric(n, k, pivot, hermitian, a);
    for (ptrdiff_t i = k; hermitian && i < n; i++) a(i, i) = std::real(a(i, i));
    T *x = &a(0, k), *y = x + a.column;
    if (size == 1 && !(size_of(x[k]) > 0)) {  // nan, too
      if (!info) info = static_cast<int>(k + 1);
      continue;
    }
    for (ptrdiff_t j = k + size; j < n; j++) {  // the rows above j are divided already
      T first = x[j], second = size == 2 ? y[j] : T(0);
      if (size == 1) first /= x[k];
      else divide_by_block(k, hermitian, true, a, first, second);
      add(n - j, -across(hermitian, first), x + j, &a(j, j));
      if (size == 2) add(n - j, -across(hermitian, second), y + j, &a(j, j));
      if (hermitian) a(j, j) = std::real(a(j, j));
      x[j] = first;
      if (size == 2) y[j] = second;
    }
  }
  return info;
}
template <class T>
void solve_symmetric(ptrdiff_t n, bool hermitian, Matrix<T> a, const int* pivots, T* b) {
  ptrdiff_t k = 0;
  for (ptrdiff_t size = 1; k < n; k += size) {
    size = pivots[k] > 0 ? 1 : 2;
    std::swap(b[k + size - 1], b[std::abs(pivots[k]) - 1]);
    for (ptrdiff_t i = k; i < k + size; i++) add(n - k - size, -b[i], &a(0, i) + k + size, b + k + size);
    if (size == 1) b[k] /= a(k, k);
    else divide_by_block(k, hermitian, false, a, b[k], b[k + 1]);
  }
  while (k > 0) {
    const ptrdiff_t size = pivots[k - 1] > 0 ? 1 : 2, end = k;
    for (ptrdiff_t i = k -= size; i < end; i++) {
      T sum = 0;
      for (ptrdiff_t r = end; r < n; r++) sum += product(across(hermitian, a(r, i)), b[r]);
      b[i] -= sum;
    }
    std::swap(b[end - 1], b[std::abs(pivots[k]) - 1]);
  }
}

}  // namespace

bool ldl(DType dtype, ptrdiff_t count, ptrdiff_t n, bool hermitian, void* a, int* pivots, int* info) {
  return typed(dtype, [&]<class T>(T) {
    Matrix<T> at = columns_of<T>(a, n);
    for (ptrdiff_t i = 0; i < count; i++, at.at += n * n, pivots += n) info[i] = factor_symmetric(n, hermitian, at, pivots);
    return true;
  });
}

bool ldl_solve(DType dtype, ptrdiff_t count, ptrdiff_t n, ptrdiff_t k, bool hermitian, const void* a, const int* pivots, void* b) {
  return typed(dtype, [&]<class T>(T) {
    Matrix<T> at = columns_of<T>(a, n);
    T* to = static_cast<T*>(b);
    for (ptrdiff_t i = 0; i < count; i++, at.at += n * n, pivots += n)
      for (ptrdiff_t j = 0; j < k; j++, to += n) solve_symmetric(n, hermitian, at, pivots, to);
    return true;
  });
}

}  // namespace rushlight::lapack::own
