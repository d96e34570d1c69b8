// Eigenvalues and singular values without a library. Reflections take a matrix to two diagonals or
// one below the diagonal, and rotations with shifts make what is off the diagonal, or off blocks of
// two, small enough to be left out.
#include <initializer_list>
#include <utility>

#include "kernels/lapack_own.h"
#include "kernels/lapack_parts.h"

namespace rushlight::lapack::own {
namespace {

constexpr ptrdiff_t kTries = 60;  // for each value: two or three are usual

template <class R>
constexpr R kEpsilon = std::numeric_limits<R>::epsilon() / 2;

// Multiplies by a power of two, after which the largest element is about 1, and gives what takes
// values back.
template <class T>
Real<T> scale(ptrdiff_t n, T* a) {
  using R = Real<T>;
  R most = 0;
  for (ptrdiff_t i = 0; i < n; i++) most = std::max({most, std::abs(std::real(a[i])), std::abs(std::imag(a[i]))});
  if (!(most > 0) || !std::isfinite(most)) return 1;
  const int exponent = std::clamp(std::ilogb(most), std::numeric_limits<R>::min_exponent, std::numeric_limits<R>::max_exponent - 2);
  const R by = std::ldexp(R(1), -exponent);
  for (ptrdiff_t i = 0; i < n; i++) a[i] *= by;
  return std::ldexp(R(1), exponent);
}

// ---- rotations

template <class R>
struct Rotation {
  R c, s;
};
// The rotation that takes (f, g) to (r, 0).
template <class R>
Rotation<R> rotation(R f, R g, R& r) {
  if (g == 0) return r = f, Rotation<R>{1, 0};
  r = std::hypot(f, g);
  return {f / r, g / r};
}
// Rotations of neighbouring columns, one after the other: of j and j + 1 for all j in [from, to),
// rising or falling. Some rows at a time, which stay in a cache.
template <class T>
void rotate(ptrdiff_t rows, T* a, const Rotation<Real<T>>* by, ptrdiff_t from, ptrdiff_t to, bool rising) {
  constexpr ptrdiff_t kRows = 64;
  for (ptrdiff_t first = 0; a && first < rows; first += kRows) {
    const ptrdiff_t some = std::min(kRows, rows - first);
    for (ptrdiff_t s = from; s < to; s++) {
      const ptrdiff_t j = rising ? s : from + to - 1 - s;
      const auto [c, sine] = by[j];
      T *x = a + j * rows + first, *y = x + rows;
      for (ptrdiff_t i = 0; i < some; i++) {
        const T held = x[i];
        x[i] = c * held + sine * y[i];
        y[i] = c * y[i] - sine * held;
      }
    }
  }
}
// Puts values in order, and the columns that belong to them.
template <class T>
void sort(ptrdiff_t n, Real<T>* values, bool rising, std::initializer_list<std::pair<T*, ptrdiff_t>> columns) {
  for (ptrdiff_t j = 0; j + 1 < n; j++) {
    const ptrdiff_t at = (rising ? std::min_element(values + j, values + n) : std::max_element(values + j, values + n)) - values;
    if (at == j) continue;
    std::swap(values[j], values[at]);
    for (const auto& [a, rows] : columns)
      if (a) std::swap_ranges(a + j * rows, a + (j + 1) * rows, a + at * rows);
  }
}

// ---- symmetric matrices

// a = q @ t @ q.H by the lower triangle: t has the diagonal d and e beside it, the reflections of q
// lie below.
template <class T>
void to_tridiagonal(ptrdiff_t n, Matrix<T> a, Real<T>* d, Real<T>* e, T* tau, T* w) {
  for (ptrdiff_t k = 0; k < n; k++) {
    d[k] = std::real(a(k, k));
    if (k + 1 == n) return;
    const ptrdiff_t m = n - k - 1;
    T* v = &a(k + 1, k);
    tau[k] = reflection(m, v[0], v + 1);
    e[k] = std::real(v[0]);
    v[0] = 1;
    std::fill_n(w, m, T(0));
    for (ptrdiff_t j = 0; j < m; j++) {  // w = a @ v, of a triangle
      const T* below = &a(k + 1 + j, k + 1 + j);
      w[j] += std::real(below[0]) * v[j] + inner(m - j - 1, below + 1, v + j + 1);
      add(m - j - 1, v[j], below + 1, w + j + 1);
    }
    for (ptrdiff_t j = 0; j < m; j++) w[j] = product(tau[k], w[j]);
    add(m, product(T(-0.5), product(tau[k], inner(m, w, v))), v, w);
    for (ptrdiff_t j = 0; j < m; j++) {
      T* below = &a(k + 1 + j, k + 1 + j);
      const T by_w = -conjugate(w[j]), by_v = -conjugate(v[j]);
      for (ptrdiff_t i = 0; i < m - j; i++) below[i] += product(v[j + i], by_w) + product(w[j + i], by_v);
    }
    v[0] = e[k];
  }
}

// The diagonal becomes the eigenvalues, by implicit shifts; z, which may be null: columns that are
// rotated along.
template <class T>
bool diagonalise(ptrdiff_t n, Real<T>* d, Real<T>* e, T* z, Rotation<Real<T>>* turns) {
  using R = Real<T>;
  constexpr R least = std::numeric_limits<R>::min();
  ptrdiff_t tries = 0;
  for (ptrdiff_t l = 0; l < n;) {
    ptrdiff_t m = l;
    while (m + 1 < n && std::abs(e[m]) > kEpsilon<R> * (std::abs(d[m]) + std::abs(d[m + 1])) + least) m++;
    if (m == l) {
      l++;
      continue;
    }
    if (tries++ >= kTries * n) return false;
    R p = (d[l + 1] - d[l]) / (2 * e[l]), r = std::hypot(p, R(1));
    R g = d[m] - d[l] + e[l] / (p + std::copysign(r, p)), f = 0, s = 1, c = 1;
    p = 0;
    ptrdiff_t i = m - 1;
    for (; i >= l; i--) {
      f = s * e[i];
      const R b = c * e[i];
      const Rotation<R> turn = rotation(g, f, r);
      if (i + 1 < m) e[i + 1] = r;
      if (r == 0) break;
      c = turn.c, s = turn.s;
      turns[i] = {c, -s};
      g = d[i + 1] - p;
      const R t = (d[i] - g) * s + 2 * c * b;
      p = s * t;
      d[i + 1] = g + p;
      g = c * t - b;
    }
    rotate(n, z, turns, i + 1, m, false);
    if (i >= l) {  // a rotation of nothing: the matrix falls apart here
      d[i + 1] -= p;
    } else {
      d[l] -= p;
      e[l] = g;
    }
    e[m] = m + 1 < n ? R(0) : e[m];
  }
  return true;
}

// ---- singular values

// a (n x n) = q @ b @ p.H: b has the diagonal d and e above it; the reflections of q stay in a,
// those of p go to `right` (n - 1).
template <class T>
void to_bidiagonal(ptrdiff_t n, Matrix<T> a, Real<T>* d, Real<T>* e, T* tau, Matrix<T> right, T* right_tau, T* w) {
  for (ptrdiff_t k = 0; k < n; k++) {
    T* v = &a(k, k);
    tau[k] = reflection(n - k, v[0], v + 1);
    d[k] = std::real(v[0]);
    v[0] = 1;
    reflect_columns(n - k, n - k - 1, conjugate(tau[k]), v, v + a.column, a.column);
    const ptrdiff_t m = n - k - 1;
    if (!m) continue;
    T* u = &right(k, k);  // the row's adjoint
    for (ptrdiff_t j = 0; j < m; j++) u[j] = conjugate(a(k, k + 1 + j));
    right_tau[k] = reflection(m, u[0], u + 1);
    e[k] = std::real(u[0]);
    u[0] = 1;
    std::fill_n(w, m, T(0));
    for (ptrdiff_t j = 0; j < m; j++) add(m, u[j], &a(k + 1, k + 1 + j), w);
    for (ptrdiff_t j = 0; j < m; j++) add(m, -product(right_tau[k], conjugate(u[j])), w, &a(k + 1, k + 1 + j));
  }
}

// The smaller singular value of ((first, above), (0, second)).
template <class R>
R smaller_value(R first, R above, R second) {
  const R least = std::min(std::abs(first), std::abs(second)), most = std::max(std::abs(first), std::abs(second));
  const R sum = std::hypot(most + least, above) + std::hypot(most - least, above);
  return sum == 0 ? 0 : 2 * least * (most / sum);
}
// The diagonal becomes the singular values, in any order and with any sign; u, v: columns that are
// rotated along.
template <class T>
bool diagonalise(ptrdiff_t n, Real<T>* d, Real<T>* e, T* u, T* v, Rotation<Real<T>>* left, Rotation<Real<T>>* right) {
  using R = Real<T>;
  constexpr R least = std::numeric_limits<R>::min();
  R norm = 0;
  for (ptrdiff_t i = 0; i < n; i++) norm = std::max({norm, std::abs(d[i]), i + 1 < n ? std::abs(e[i]) : R(0)});
  ptrdiff_t tries = 0, all = 0;
  for (ptrdiff_t hi = n - 1; hi > 0;) {
    const auto small = [&](ptrdiff_t i) {
      return std::abs(e[i]) <= kEpsilon<R> * (tries < kTries / 2 ? std::abs(d[i]) + std::abs(d[i + 1]) : norm) + least;
    };
    if (small(hi - 1)) {
      e[--hi] = 0, tries = 0;
      continue;
    }
    if (tries++ > kTries || all++ > kTries * n) return false;
    ptrdiff_t lo = hi - 1;  // a zero on the diagonal is the first of its block
    while (lo > 0 && d[lo] != 0 && !small(lo - 1)) lo--;
    if (lo > 0 && d[lo] != 0) e[lo - 1] = 0;
    R shift = d[lo] == 0 ? R(0) : smaller_value(d[hi - 1], e[hi - 1], d[hi]), r;
    if (d[lo] != 0 && (shift / d[lo]) * (shift / d[lo]) < kEpsilon<R>) shift = 0;
    R f = shift == 0 ? d[lo] : (std::abs(d[lo]) - shift) * (std::copysign(R(1), d[lo]) + shift / d[lo]), g = e[lo];
    for (ptrdiff_t i = lo; i < hi; i++) {
      const auto [c, s] = right[i] = rotation(f, g, r);
      if (i > lo) e[i - 1] = r;
      f = c * d[i] + s * e[i];
      e[i] = c * e[i] - s * d[i];
      g = s * d[i + 1];
      d[i + 1] *= c;
      const auto [c2, s2] = left[i] = rotation(f, g, d[i]);
      f = c2 * e[i] + s2 * d[i + 1];
      d[i + 1] = c2 * d[i + 1] - s2 * e[i];
      if (i + 1 < hi) g = s2 * e[i + 1], e[i + 1] *= c2;
    }
    e[hi - 1] = f;
    rotate(n, u, left, lo, hi, true);
    rotate(n, v, right, lo, hi, true);
  }
  return true;
}

// a (n x n, used up) = u @ diag(s) @ v.H; u and v both null, or n x n.
template <class T>
bool svd_of_square(ptrdiff_t n, T* a, T* u, Real<T>* s, T* v) {
  using R = Real<T>;
  const Workspace<T> right(n * n), tau(3 * n);
  const Workspace<R> e(n);
  const Workspace<Rotation<R>> turns(2 * n);
  if (!right.p || !tau.p || !e.p || !turns.p) return false;
  const R by = scale(n * n, a);
  to_bidiagonal(n, columns_of<T>(a, n), s, e.p, tau.p, columns_of<T>(right.p, n), tau.p + n, tau.p + 2 * n);
  if (u) {
    std::copy_n(a, n * n, u);
    std::fill_n(v, n * n, T(0));
    v[0] = 1;
    const ptrdiff_t m = n - 1;  // p leaves the first column alone
    for (ptrdiff_t j = 0; j < m; j++) std::copy_n(right.p + j * n, m, right.p + j * m);
    if (!reflect_identity(kElement<T>, 1, n, n, n, u, tau.p) ||
        (m && !reflect_identity(kElement<T>, 1, m, m, m, right.p, tau.p + n)))
      return false;
    for (ptrdiff_t j = 0; j < m; j++) std::copy_n(right.p + j * m, m, v + (j + 1) * n + 1);
  }
  if (!diagonalise(n, s, e.p, u, v, turns.p, turns.p + n)) return false;
  for (ptrdiff_t j = 0; j < n; j++) {
    if (std::signbit(s[j]))
      for (ptrdiff_t i = 0; v && i < n; i++) v[j * n + i] = -v[j * n + i];
    s[j] = std::abs(s[j]) * by;
  }
  sort<T>(n, s, false, {{u, n}, {v, n}});
  return true;
}
// a (m x n, m no less than n; used up); u with m or n columns, or null with v.
template <class T>
bool svd_of_tall(ptrdiff_t m, ptrdiff_t n, T* a, bool full, T* u, Real<T>* s, T* v) {
  if (m == n) return svd_of_square(n, a, u, s, v);
  const Workspace<T> tau(n), triangle(n * n), left(u ? n * n : 1);
  if (!tau.p || !triangle.p || !left.p || !qr(kElement<T>, 1, m, n, a, tau.p)) return false;
  for (ptrdiff_t j = 0; j < n; j++)
    for (ptrdiff_t i = 0; i < n; i++) triangle.p[j * n + i] = i <= j ? a[j * m + i] : T(0);
  if (!svd_of_square(n, triangle.p, u ? left.p : nullptr, s, v)) return false;
  if (!u) return true;
  const ptrdiff_t columns = full ? m : n;
  for (ptrdiff_t j = 0; j < columns; j++)
    for (ptrdiff_t i = 0; i < m; i++) u[j * m + i] = j < n ? (i < n ? left.p[j * n + i] : T(0)) : T(i == j ? 1 : 0);
  return reflect(kElement<T>, 1, m, columns, n, a, tau.p, true, false, u);
}
template <class T>
void adjoint(ptrdiff_t m, ptrdiff_t n, const T* a, T* out) {
  for (ptrdiff_t i = 0; i < m; i++)
    for (ptrdiff_t j = 0; j < n; j++) out[i * n + j] = conjugate(a[j * m + i]);
}

}  // namespace

bool eigh(DType dtype, ptrdiff_t count, ptrdiff_t n, void* a, bool upper, bool vectors, void* values) {
  return typed(dtype, [&]<class T>(T) {
    using R = Real<T>;
    const Workspace<T> tau(2 * n), q(vectors ? n * n : 1);
    const Workspace<R> e(n);
    const Workspace<Rotation<R>> turns(n);
    if (!tau.p || !q.p || !e.p || !turns.p) return false;
    Matrix<T> at = columns_of<T>(a, n);
    R* to = static_cast<R*>(values);
    for (ptrdiff_t s = 0; s < count; s++, at.at += n * n, to += n) {
      for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t i = 0; i < j; i++) (upper ? at(j, i) : at(i, j)) = conjugate(upper ? at(i, j) : at(j, i));
      const R by = scale(n * n, at.at);
      to_tridiagonal(n, at, to, e.p, tau.p, tau.p + n);
      if (vectors) {
        const ptrdiff_t m = n - 1;  // q leaves the first column alone
        for (ptrdiff_t j = 0; j < m; j++) std::copy_n(&at(1, j), m, q.p + j * m);
        if (m && !reflect_identity(dtype, 1, m, m, m, q.p, tau.p)) return false;
        std::fill_n(at.at, n * n, T(0));
        at(0, 0) = 1;
        for (ptrdiff_t j = 0; j < m; j++) std::copy_n(q.p + j * m, m, &at(1, j + 1));
      }
      if (!diagonalise(n, to, e.p, vectors ? at.at : nullptr, turns.p)) return false;
      for (ptrdiff_t j = 0; j < n; j++) to[j] *= by;
      sort<T>(n, to, true, {{vectors ? at.at : nullptr, n}});
    }
    return true;
  });
}

bool svd(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, void* a, bool full, void* u, void* s, void* vh) {
  return typed(dtype, [&]<class T>(T) {
    const ptrdiff_t k = std::min(m, n), columns = full ? m : k, rows = full ? n : k;
    const bool tall = m >= n;
    T *at = static_cast<T*>(a), *left = static_cast<T*>(u), *right = static_cast<T*>(vh);
    Real<T>* to = static_cast<Real<T>*>(s);
    // Of a wide matrix the adjoint is taken: a.H = v @ diag(s) @ u.H.
    const Workspace<T> turned(tall ? 1 : m * n), first(u && !tall ? rows * n : 1), second(u ? k * k : 1);
    if (!turned.p || !first.p || !second.p) return false;
    for (ptrdiff_t i = 0; i < count; i++, at += m * n, to += k) {
      if (!tall) adjoint(m, n, at, turned.p);
      T *its_left = !u ? nullptr : tall ? left : first.p, *its_right = u ? second.p : nullptr;
      if (!svd_of_tall(std::max(m, n), k, tall ? at : turned.p, full, its_left, to, its_right)) return false;
      if (!u) continue;
      if (tall) adjoint(k, k, its_right, right);
      else adjoint(n, rows, its_left, right), std::copy_n(its_right, k * k, left);
      left += m * columns, right += rows * n;
    }
    return true;
  });
}

// ---- eigenvalues of any matrix

namespace {

// A matrix on its way to a triangle, or to blocks of two on the diagonal where it is real, and the
// columns z with z @ a @ z.H what it was. Rows and columns outside of [lo, hi) are those of a
// triangle from the beginning.
template <class T>
struct Schur {
  using R = Real<T>;
  using C = std::complex<R>;
  ptrdiff_t n, lo, hi;
  Matrix<T> a, z;  // z.at is null where no vectors are asked for
  C* values;
  R* scales;  // of rows, and from n on where rows went
  T* w;  // n
  R norm = 0;

  void exchange(ptrdiff_t from, ptrdiff_t to) {
    scales[n + to] = static_cast<R>(from);
    if (from == to) return;
    std::swap_ranges(&a(0, from), &a(0, from) + n, &a(0, to));
    for (ptrdiff_t j = 0; j < n; j++) std::swap(a(from, j), a(to, j));
  }
  // Rows with nothing beside the diagonal go to the end, such columns to the start.
  void isolate() {
    lo = 0, hi = n;
    const auto alone = [&](ptrdiff_t k, bool row) {
      for (ptrdiff_t i = lo; i < hi; i++)
        if (i != k && (row ? a(k, i) : a(i, k)) != T(0)) return false;
      return true;
    };
    for (ptrdiff_t k = hi; k-- > 0 && hi > 1;)
      if (alone(k, true)) exchange(k, --hi), k = hi;
    for (ptrdiff_t k = lo; k < hi && hi - lo > 1; k++)
      if (alone(k, false)) exchange(k, lo), k = lo++;
  }
  // Powers of two that make rows as long as columns.
  void balance() {
    std::fill_n(scales, n, R(1));
    isolate();
    for (int again = 1, rounds = 0; again && rounds < 100; rounds++) {
      again = 0;
      for (ptrdiff_t k = lo; k < hi; k++) {
        R row = 0;
        for (ptrdiff_t j = lo; j < hi; j++) row += std::norm(a(k, j));
        row = std::sqrt(row);
        const R column = length(hi - lo, &a(lo, k));
        if (row == 0 || column == 0 || !std::isfinite(row + column)) continue;
        const int power = static_cast<int>(std::lround(std::log2(row / column) / 2));
        const R by = std::ldexp(R(1), power);
        if (column * by + row / by >= R(0.95) * (column + row) || !std::isfinite(scales[k] * by) || scales[k] * by == 0) continue;
        scales[k] *= by, again = 1;
        for (ptrdiff_t j = 0; j < n; j++) a(k, j) /= by;
        for (ptrdiff_t i = 0; i < n; i++) a(i, k) *= by;
      }
    }
  }

  // a = h.H @ a @ h for the reflection 1 - tau v v.H of rows [k, k + m), over columns from `first`
  // on and rows before `last`.
  void reflect_both(ptrdiff_t k, ptrdiff_t m, T tau, const T* v, ptrdiff_t first, ptrdiff_t last) {
    const ptrdiff_t end = z.at ? n : hi;
    if (first < end) reflect_columns(m, end - first, conjugate(tau), v, &a(k, first), a.column);
    const auto right = [&](Matrix<T> x, ptrdiff_t from, ptrdiff_t rows) {
      std::fill_n(w, rows, T(0));
      for (ptrdiff_t j = 0; j < m; j++) add(rows, v[j], &x(from, k + j), w);
      for (ptrdiff_t j = 0; j < m; j++) add(rows, -product(tau, conjugate(v[j])), w, &x(from, k + j));
    };
    const ptrdiff_t from = z.at ? 0 : lo;
    right(a, from, last - from);
    if (z.at) right(z, 0, n);
  }
  void to_hessenberg(T* v) {
    for (ptrdiff_t k = lo; k + 2 < hi; k++) {
      const ptrdiff_t m = hi - k - 1;
      const T tau = reflection(m, a(k + 1, k), &a(k + 1, k) + 1);
      std::copy_n(&a(k + 1, k), m, v);
      std::fill_n(&a(k + 1, k) + 1, m - 1, T(0));
      v[0] = 1;
      if (tau != T(0)) reflect_both(k + 1, m, tau, v, k + 1, hi);
    }
  }

  bool small(ptrdiff_t k) const {
    const R beside = size_of(a(k - 1, k - 1)) + size_of(a(k, k));
    return size_of(a(k, k - 1)) <= kEpsilon<R> * (beside == 0 ? norm : beside) + std::numeric_limits<R>::min();
  }
  // A step with two shifts on rows [l, m], three or more: the bulge that it makes below the
  // diagonal is chased out.
  void step(ptrdiff_t l, ptrdiff_t m, bool unusual) {
    T last = a(m, m), before = a(m - 1, m - 1), off = product(a(m, m - 1), a(m - 1, m));
    if (unusual) {
      const R by = size_of(a(m, m - 1)) + size_of(a(m - 1, m - 2));
      last = before = a(m, m) + R(0.75) * by, off = R(-0.4375) * by * by;
    }
    const T first = a(l, l), r = last - first, s = before - first;
    T v[3] = {(product(r, s) - off) / a(l + 1, l) + a(l, l + 1), a(l + 1, l + 1) - first - r - s, a(l + 2, l + 1)};
    for (ptrdiff_t k = l; k < m; k++) {
      const ptrdiff_t rows = std::min<ptrdiff_t>(3, m - k + 1);
      if (k > l) std::copy_n(&a(k, k - 1), rows, v);
      const T tau = reflection(rows, v[0], v + 1);
      if (k > l) a(k, k - 1) = v[0], std::fill_n(&a(k, k - 1) + 1, rows - 1, T(0));
      v[0] = 1;
      reflect_both(k, rows, tau, v, k, std::min(k + 4, m + 1));
    }
  }
  // Takes apart the block of rows k and k + 1 where its eigenvalues are of T.
  void split(ptrdiff_t k) {
    T &first = a(k, k), &second = a(k + 1, k + 1), &low = a(k + 1, k);
    const T half = (first - second) / R(2), inside = product(half, half) + product(a(k, k + 1), low);
    if constexpr (!kComplex<T>) {
      if (inside < 0) {
        const R middle = second + half, part = std::sqrt(-inside);
        values[k] = C(middle, part), values[k + 1] = C(middle, -part);
        return;
      }
    }
    T root = std::sqrt(inside);
    if (std::real(product(conjugate(half), root)) < 0) root = -root;
    T v[2] = {half + root, low};  // an eigenvector, which a reflection takes to the first axis
    const T tau = reflection(2, v[0], v + 1);
    v[0] = 1;
    reflect_both(k, 2, tau, v, k, k + 2);
    low = 0;
    values[k] = first, values[k + 1] = second;
  }
  bool find_values() {
    for (ptrdiff_t j = 0; j < n; j++)
      for (ptrdiff_t i = 0; i <= std::min(j + 1, n - 1); i++) norm = std::max(norm, size_of(a(i, j)));
    for (ptrdiff_t k = 0; k < n; k++)
      if (k < lo || k >= hi) values[k] = a(k, k);
    ptrdiff_t tries = 0, all = 0;
    for (ptrdiff_t m = hi - 1; m >= lo;) {
      ptrdiff_t l = m;
      while (l > lo && !small(l)) l--;
      if (l > lo) a(l, l - 1) = 0;
      if (l + 1 >= m) {
        l == m ? void(values[m] = a(m, m)) : split(l);
        m = l - 1, tries = 0;
      } else if (tries++ > kTries || all++ > kTries * n) {
        return false;
      } else {
        step(l, m, tries % 10 == 0);
      }
    }
    return true;
  }

  // x, of k + 1 elements, so that (a - value) @ x = 0, and x is not 0: from below, on a triangle
  // with blocks of two.
  void solve_vector(ptrdiff_t k, C value, C* x) const {
    const R least = std::max(kEpsilon<R> * norm, std::numeric_limits<R>::min()), limit = std::sqrt(std::numeric_limits<R>::max());
    const auto is_block = [&](ptrdiff_t j) { return !kComplex<T> && j > 0 && a(j, j - 1) != T(0); };
    const auto subtract = [&](ptrdiff_t j, ptrdiff_t rows) {
      for (ptrdiff_t i = 0; i < rows; i++) x[i] -= product(C(a(i, j)), x[j]);
    };
    const auto bound = [&](ptrdiff_t j) {
      if (size_of(x[j]) <= limit) return;
      const R by = 1 / size_of(x[j]);
      for (ptrdiff_t i = 0; i <= k; i++) x[i] *= by;
    };
    std::fill_n(x, k + 1, C(0));
    x[k] = 1;
    ptrdiff_t j = k - 1;
    if (is_block(k)) {  // a(k, j) x[j] + (a(k, k) - value) = 0
      x[j] = (value - C(a(k, k))) / C(a(k, j));
      subtract(k, j), subtract(j, j), j--;
    } else {
      subtract(k, k);
    }
    for (; j >= 0; j--) {
      if (is_block(j)) {
        C first = C(a(j - 1, j - 1)) - value, second = C(a(j, j)) - value;
        const C high = C(a(j - 1, j)), low = C(a(j, j - 1));
        C of_block = product(first, second) - product(high, low);
        if (size_of(of_block) < least * (size_of(high) + size_of(low))) of_block = least * (size_of(high) + size_of(low));
        const C upper = x[j - 1], lower = x[j];
        x[j - 1] = (product(upper, second) - product(lower, high)) / of_block;
        x[j] = (product(lower, first) - product(upper, low)) / of_block;
        bound(j), bound(j - 1);
        subtract(j, j - 1), subtract(j - 1, j - 1), j--;
      } else {
        C pivot = C(a(j, j)) - value;
        if (size_of(pivot) < least) pivot = least;
        x[j] /= pivot;
        bound(j);
        subtract(j, j);
      }
    }
  }
  // To the rows that the matrix had before `balance`, to length 1, with the largest element real.
  void finish_vector(C value, C* x) const {
    for (ptrdiff_t i = 0; i < n; i++) x[i] *= scales[i];
    const auto back = [&](ptrdiff_t k) { std::swap(x[k], x[static_cast<ptrdiff_t>(scales[n + k])]); };
    for (ptrdiff_t k = lo; k-- > 0;) back(k);
    for (ptrdiff_t k = hi; k < n; k++) back(k);
    const R size = length(n, x);
    ptrdiff_t most = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
      x[i] /= size;
      if (std::norm(x[i]) > std::norm(x[most])) most = i;
    }
    if (!kComplex<T> && value.imag() == 0) return;
    const C by = std::conj(x[most]) / std::abs(x[most]);
    for (ptrdiff_t i = 0; i < n; i++) x[i] = product(x[i], by);
    x[most] = x[most].real();
  }
  bool find_vectors(C* vectors) const {
    const Workspace<C> found(n * n), columns(kComplex<T> ? 1 : n * n);
    if (!found.p || !columns.p) return false;
    std::fill_n(found.p, n * n, C(0));
    for (ptrdiff_t i = 0; !kComplex<T> && i < n * n; i++) columns.p[i] = z.at[i];
    const Matrix<C> left = columns_of<C>(kComplex<T> ? static_cast<void*>(z.at) : columns.p, n);
    for (ptrdiff_t k = 0; k < n; k++)
      if (kComplex<T> || values[k].imag() <= 0) solve_vector(k, values[k], found.p + k * n);
    multiply(n, n, n, left, columns_of<C>(found.p, n), columns_of<C>(vectors, n), false);
    for (ptrdiff_t k = 0; k < n; k++) {
      if (!kComplex<T> && values[k].imag() > 0) continue;
      C* x = vectors + k * n;
      finish_vector(values[k], x);
      for (ptrdiff_t i = 0; !kComplex<T> && values[k].imag() < 0 && i < n; i++) x[i - n] = std::conj(x[i]);
    }
    return true;
  }
};

}  // namespace

bool eig(DType dtype, ptrdiff_t count, ptrdiff_t n, void* a, void* values, void* vectors) {
  return typed(dtype, [&]<class T>(T) {
    using R = Real<T>;
    using C = std::complex<R>;
    const Workspace<T> z(vectors ? n * n : 1), w(2 * n);
    const Workspace<R> scales(2 * n);
    if (!z.p || !w.p || !scales.p) return false;
    Matrix<T> at = columns_of<T>(a, n);
    C *to = static_cast<C*>(values), *to_vectors = static_cast<C*>(vectors);
    for (ptrdiff_t i = 0; i < count; i++, at.at += n * n, to += n, to_vectors += vectors ? n * n : 0) {
      const R by = scale(n * n, at.at);
      const Matrix<T> columns{vectors ? z.p : nullptr, 1, n};
      for (ptrdiff_t j = 0; vectors && j < n * n; j++) z.p[j] = j % (n + 1) == 0 ? 1 : 0;
      Schur<T> found{n, 0, n, at, columns, to, scales.p, w.p};
      found.balance();
      found.to_hessenberg(w.p + n);
      if (!found.find_values() || (vectors && !found.find_vectors(to_vectors))) return false;
      for (ptrdiff_t j = 0; j < n; j++) to[j] *= by;
    }
    return true;
  });
}

}  // namespace rushlight::lapack::own
