// Stacks of small matrices, a matrix in each lane of a register: every step of an algorithm is one of all lanes, and where they
// decide differently, as of a pivot, a lane takes the one value or the other. Matrices lie column by column, and may be read and
// written by other strides; lanes behind the last matrix repeat it.
//
// What squares elements leaves matrices alone whose squares would leave the range, and those on which an iteration does not end:
// `done` says which were computed.
#include "kernels/small.h"

#include "kernels/isa/dense_impl.h"
#include "kernels/isa/matrix/tile.h"

#ifdef RUSHLIGHT_VECTOR_EXTENSION
#include <algorithm>
#include <limits>

namespace rushlight::RUSHLIGHT_ISA {
namespace {

constexpr int kMost = static_cast<int>(kSmallMatrix);
constexpr int kSweeps = 12;  // of Jacobi's rotations: half as many are usual

template <class T>
using Lanes = typename Vec<T>::Raw;
template <class T>
constexpr int kLanes = Vec<T>::N;

template <class T>
RUSHLIGHT_INLINE Lanes<T> all(T x) {
  return Vec<T>::all(x).v;
}
// a * b + c
template <class T>
RUSHLIGHT_INLINE Lanes<T> add(Lanes<T> a, Lanes<T> b, Lanes<T> c) {
  return fma(Vec<T>{a}, Vec<T>{b}, Vec<T>{c}).v;
}
template <class T>
RUSHLIGHT_INLINE Lanes<T> root(Lanes<T> x) {
  T values[kLanes<T>];
  std::memcpy(values, &x, sizeof x);
  for (int i = 0; i < kLanes<T>; i++) values[i] = square_root(values[i]);
  std::memcpy(&x, values, sizeof x);
  return x;
}
template <class L>
RUSHLIGHT_INLINE L size_of(L x) {
  return x < 0 ? -x : x;
}
template <class L>
RUSHLIGHT_INLINE L larger(L a, L b) {
  return a > b ? a : b;
}
template <class T, class M>
RUSHLIGHT_INLINE bool any(M mask) {
  bool found = false;
  for (int i = 0; i < kLanes<T>; i++) found |= mask[i] != 0;
  return found;
}

// A matrix in each lane, and one more beside it where there is a right side: element (i, j) at x[j * rows + i].
template <class T>
struct Block {
  int rows, columns;
  alignas(64) Lanes<T> x[2 * kMost * kMost];
  RUSHLIGHT_INLINE Lanes<T>& at(int i, int j) { return x[j * rows + i]; }
};
// Where matrices lie, in elements.
template <class T>
struct Places {
  T* data;
  ptrdiff_t step, row, column;
};

// Into the columns behind the `before` that are there.
template <class T>
RUSHLIGHT_SHARED void read(const Places<T>& from, ptrdiff_t count, int rows, int columns, Block<T>& to, int before = 0) {
  to.rows = rows, to.columns = before + columns;
  T* x = reinterpret_cast<T*>(to.x + before * rows);
  const int n = rows * columns;
  int whole = 0;  // elements that squares of registers have moved
#ifdef RUSHLIGHT_SHUFFLES
  if (from.row == 1 && from.column == rows) {
    Vec<T> square[kLanes<T>];
    for (; whole + kLanes<T> <= n; whole += kLanes<T>) {
      for (ptrdiff_t lane = 0; lane < kLanes<T>; lane++)
        square[lane] = Vec<T>::load(from.data + smaller(lane, count - 1) * from.step + whole);
      transpose_square(square);
      for (int i = 0; i < kLanes<T>; i++) square[i].store(x + (whole + i) * kLanes<T>);
    }
    if (whole == n) return;
  }
#endif
  for (ptrdiff_t lane = 0; lane < kLanes<T>; lane++) {
    const T* source = from.data + smaller(lane, count - 1) * from.step;
    if (whole) {
      for (int e = whole; e < n; e++) x[e * kLanes<T> + lane] = source[e];
      continue;
    }
    for (int j = 0; j < columns; j++)
      for (int i = 0; i < rows; i++) x[(j * rows + i) * kLanes<T> + lane] = source[i * from.row + j * from.column];
  }
}
// Some columns of the matrix of a lane.
template <class T>
RUSHLIGHT_INLINE void write(const Block<T>& from, ptrdiff_t lane, const Places<T>& to, int before = 0) {
  const T* x = reinterpret_cast<const T*>(from.x + before * from.rows) + lane;
  T* target = to.data + lane * to.step;
  for (int j = 0; j < from.columns - before; j++)
    for (int i = 0; i < from.rows; i++) target[i * to.row + j * to.column] = x[(j * from.rows + i) * kLanes<T>];
}
template <class T>
RUSHLIGHT_SHARED void write_all(const Block<T>& from, ptrdiff_t count, const Places<T>& to, int before = 0) {
  ptrdiff_t lane = 0;
#ifdef RUSHLIGHT_SHUFFLES
  const int n = from.rows * (from.columns - before);
  if (count == kLanes<T> && to.row == 1 && to.column == from.rows && n % kLanes<T> == 0) {
    const T* x = reinterpret_cast<const T*>(from.x + before * from.rows);
    Vec<T> square[kLanes<T>];
    for (int e = 0; e < n; e += kLanes<T>) {
      for (int i = 0; i < kLanes<T>; i++) square[i] = Vec<T>::load(x + (e + i) * kLanes<T>);
      transpose_square(square);
      for (int i = 0; i < kLanes<T>; i++) square[i].store(to.data + i * to.step + e);
    }
    return;
  }
#endif
  for (; lane < count; lane++) write(from, lane, to, before);
}
// f(first, count) over groups of as many matrices as there are lanes.
template <class T, class F>
RUSHLIGHT_INLINE void in_lanes(ptrdiff_t count, const F& f) {
  for (ptrdiff_t i = 0; i < count; i += kLanes<T>) f(i, smaller(kLanes<T>, count - i));
}
template <class T>
RUSHLIGHT_INLINE Places<T> columns_at(const void* data, ptrdiff_t first, ptrdiff_t rows, ptrdiff_t columns) {
  return {static_cast<T*>(const_cast<void*>(data)) + first * rows * columns, rows * columns, 1, rows};
}

// ---- LU and Cholesky

template <class T>
RUSHLIGHT_SHARED void lu_in_lanes(Block<T>& a, int least, Lanes<T>* pivots, Lanes<T>& info) {
  const int m = a.rows, n = a.columns;
  info = all<T>(0);
  for (int k = 0; k < least; k++) {
    Lanes<T> best = size_of(a.at(k, k)), p = all<T>(static_cast<T>(k));
    for (int i = k + 1; i < m; i++) {
      const Lanes<T> x = size_of(a.at(i, k));
      p = x > best ? all<T>(static_cast<T>(i)) : p;
      best = larger(x, best);
    }
    pivots[k] = p;
    for (int j = 0; j < n; j++) {
      const Lanes<T> top = a.at(k, j);
      Lanes<T> chosen = top;
      for (int i = k + 1; i < m; i++) {
        const Lanes<T> x = a.at(i, j);
        const auto here = p == static_cast<T>(i);
        chosen = here ? x : chosen;
        a.at(i, j) = here ? top : x;
      }
      a.at(k, j) = chosen;
    }
    const Lanes<T> pivot = a.at(k, k);
    info = ((pivot == 0) & (info == 0)) ? all<T>(static_cast<T>(k + 1)) : info;
    for (int i = k + 1; i < m; i++) a.at(i, k) = pivot == 0 ? a.at(i, k) : a.at(i, k) / pivot;
    for (int j = k + 1; j < n; j++) {
      const Lanes<T> f = -a.at(k, j);
      for (int i = k + 1; i < m; i++) a.at(i, j) = add<T>(a.at(i, k), f, a.at(i, j));
    }
  }
}
void small_lu(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, void* a, int* pivots, int* info) {
  float_or_double(dtype, [&]<class T>() {
    const ptrdiff_t least = smaller(m, n);
    in_lanes<T>(count, [&](ptrdiff_t first, ptrdiff_t lanes) {
      Block<T> block;
      Lanes<T> p[kMost], failed;
      const Places<T> places = columns_at<T>(a, first, m, n);
      read(places, lanes, static_cast<int>(m), static_cast<int>(n), block);
      lu_in_lanes(block, static_cast<int>(least), p, failed);
      write_all(block, lanes, places);
      for (ptrdiff_t lane = 0; lane < lanes; lane++) {
        info[first + lane] = static_cast<int>(failed[lane]);
        for (ptrdiff_t k = 0; k < least; k++) pivots[(first + lane) * least + k] = static_cast<int>(p[k][lane]) + 1;
      }
    });
  });
}

template <class T>
RUSHLIGHT_SHARED void cholesky_in_lanes(Block<T>& a, Lanes<T>& info) {
  const int n = a.rows;
  info = all<T>(0);
  for (int j = 0; j < n; j++) {
    for (int p = 0; p < j; p++) {
      const Lanes<T> f = -a.at(j, p);
      for (int i = j; i < n; i++) a.at(i, j) = add<T>(a.at(i, p), f, a.at(i, j));
    }
    const Lanes<T> d = a.at(j, j);
    info = (~(d > 0) & (info == 0)) ? all<T>(static_cast<T>(j + 1)) : info;
    const Lanes<T> r = root<T>(d);
    a.at(j, j) = r;
    for (int i = j + 1; i < n; i++) a.at(i, j) = a.at(i, j) / r;
  }
}
void small_cholesky(DType dtype, ptrdiff_t count, ptrdiff_t n, void* a, bool upper, int* info) {
  float_or_double(dtype, [&]<class T>() {
    in_lanes<T>(count, [&](ptrdiff_t first, ptrdiff_t lanes) {
      Block<T> block;
      Lanes<T> failed;
      Places<T> places = columns_at<T>(a, first, n, n);
      if (upper) std::swap(places.row, places.column);
      read(places, lanes, static_cast<int>(n), static_cast<int>(n), block);
      cholesky_in_lanes(block, failed);
      write_all(block, lanes, places);
      for (ptrdiff_t lane = 0; lane < lanes; lane++) info[first + lane] = static_cast<int>(failed[lane]);
    });
  });
}

// The right side: the columns of b from `first` on.
template <class T>
RUSHLIGHT_SHARED void solve_in_lanes(Block<T>& a, bool upper, bool unit, Block<T>& b, int first = 0) {
  const int n = a.rows;
  for (int s = 0; s < n; s++) {
    const int i = upper ? n - 1 - s : s;
    for (int c = first; c < b.columns; c++) {
      Lanes<T> x = b.at(i, c);
      if (!unit) b.at(i, c) = x = x / a.at(i, i);
      for (int r = upper ? 0 : i + 1; r < (upper ? i : n); r++) b.at(r, c) = add<T>(-a.at(r, i), x, b.at(r, c));
    }
  }
}
// Elimination takes the right side along: what remains is to solve with U.
void small_solve(DType dtype, ptrdiff_t count, ptrdiff_t n, ptrdiff_t k, const void* a, void* b, int* info) {
  float_or_double(dtype, [&]<class T>() {
    const int size = static_cast<int>(n);
    in_lanes<T>(count, [&](ptrdiff_t first, ptrdiff_t lanes) {
      Block<T> block;
      Lanes<T> p[kMost], failed;
      const Places<T> right = columns_at<T>(b, first, n, k);
      read(columns_at<T>(a, first, n, n), lanes, size, size, block);
      read(right, lanes, size, static_cast<int>(k), block, size);
      lu_in_lanes(block, size, p, failed);
      solve_in_lanes(block, true, false, block, size);
      write_all(block, lanes, right, size);
      for (ptrdiff_t lane = 0; lane < lanes; lane++) info[first + lane] = static_cast<int>(failed[lane]);
    });
  });
}
void small_triangle(DType dtype, ptrdiff_t count, ptrdiff_t n, ptrdiff_t k, const void* a, const SmallSteps& a_steps,
                    SmallTriangle how, void* b, const SmallSteps& b_steps) {
  float_or_double(dtype, [&]<class T>() {
    const int size = static_cast<int>(n);
    in_lanes<T>(count, [&](ptrdiff_t first, ptrdiff_t lanes) {
      Block<T> triangle, turned, right;
      const T* from = static_cast<const T*>(a) + first * a_steps.matrix;
      read<T>({const_cast<T*>(from), a_steps.matrix, a_steps.row, a_steps.column}, lanes, size, size, triangle);
      if (how.again == Again::Cholesky)
        read<T>({const_cast<T*>(from), a_steps.matrix, a_steps.column, a_steps.row}, lanes, size, size, turned);
      for (ptrdiff_t c = 0; c < k; c += kMost) {
        const Places<T> places{static_cast<T*>(b) + first * b_steps.matrix + c * b_steps.column, b_steps.matrix, b_steps.row,
                               b_steps.column};
        read(places, lanes, size, static_cast<int>(smaller(kMost, k - c)), right);
        solve_in_lanes(triangle, how.upper, how.unit, right);
        if (how.again != Again::No)
          solve_in_lanes(how.again == Again::Lu ? triangle : turned, !how.upper, how.unit != (how.again == Again::Lu), right);
        write_all(right, lanes, places);
      }
    });
  });
}

// ---- QR

// Sums of squares outside are not to be trusted.
template <class T>
RUSHLIGHT_INLINE auto out_of_range(Lanes<T> squares) {
  constexpr T kLeast = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon() / std::numeric_limits<T>::epsilon();
  return ~((squares > kLeast) & (squares < 1 / kLeast));
}

template <class T>
RUSHLIGHT_SHARED void qr_in_lanes(Block<T>& a, Lanes<T>* tau, Lanes<T>& bad) {
  const int m = a.rows, n = a.columns;
  bad = all<T>(0);
  for (int k = 0; k < std::min(m, n); k++) {
    const Lanes<T> head = a.at(k, k);
    Lanes<T> squares = all<T>(0), largest = all<T>(0);
    for (int i = k + 1; i < m; i++) {
      squares = add<T>(a.at(i, k), a.at(i, k), squares);
      largest = larger(size_of(a.at(i, k)), largest);
    }
    const auto plain = largest == 0;  // no reflection
    const Lanes<T> total = add<T>(head, head, squares);
    bad = (~plain & (out_of_range<T>(squares) | out_of_range<T>(total))) | (head != head) ? all<T>(1) : bad;
    const Lanes<T> length = root<T>(total), beta = plain ? head : head < 0 ? length : -length;
    const Lanes<T> t = plain ? all<T>(0) : (beta - head) / beta, under = plain ? all<T>(1) : head - beta;
    tau[k] = t;
    a.at(k, k) = beta;
    for (int i = k + 1; i < m; i++) a.at(i, k) = a.at(i, k) / under;
    for (int j = k + 1; j < n; j++) {
      Lanes<T> w = a.at(k, j);
      for (int i = k + 1; i < m; i++) w = add<T>(a.at(i, k), a.at(i, j), w);
      w = -w * t;
      a.at(k, j) += w;
      for (int i = k + 1; i < m; i++) a.at(i, j) = add<T>(a.at(i, k), w, a.at(i, j));
    }
  }
}
void small_qr(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, void* a, void* tau, bool* done) {
  float_or_double(dtype, [&]<class T>() {
    const ptrdiff_t least = smaller(m, n);
    in_lanes<T>(count, [&](ptrdiff_t first, ptrdiff_t lanes) {
      Block<T> block;
      Lanes<T> factors[kMost], bad;
      const Places<T> places = columns_at<T>(a, first, m, n);
      read(places, lanes, static_cast<int>(m), static_cast<int>(n), block);
      qr_in_lanes(block, factors, bad);
      for (ptrdiff_t lane = 0; lane < lanes; lane++) {
        if (!(done[first + lane] = bad[lane] == 0)) continue;
        write(block, lane, places);
        for (ptrdiff_t k = 0; k < least; k++) static_cast<T*>(tau)[(first + lane) * least + k] = factors[k][lane];
      }
    });
  });
}

template <class T>
RUSHLIGHT_SHARED void reflect_in_lanes(Block<T>& a, int k, const Lanes<T>* tau) {
  const int m = a.rows, n = a.columns;
  for (int j = k; j < n; j++)
    for (int i = 0; i < m; i++) a.at(i, j) = all<T>(i == j);
  for (int c = k; c-- > 0;) {
    for (int j = c + 1; j < n; j++) {
      Lanes<T> w = a.at(c, j);
      for (int i = c + 1; i < m; i++) w = add<T>(a.at(i, c), a.at(i, j), w);
      w = -w * tau[c];
      a.at(c, j) += w;
      for (int i = c + 1; i < m; i++) a.at(i, j) = add<T>(a.at(i, c), w, a.at(i, j));
    }
    for (int i = c + 1; i < m; i++) a.at(i, c) = -tau[c] * a.at(i, c);
    a.at(c, c) = 1 - tau[c];
    for (int i = 0; i < c; i++) a.at(i, c) = all<T>(0);
  }
}
void small_reflections(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, void* a, const void* tau) {
  float_or_double(dtype, [&]<class T>() {
    in_lanes<T>(count, [&](ptrdiff_t first, ptrdiff_t lanes) {
      Block<T> block, factors;
      const Places<T> places = columns_at<T>(a, first, m, n);
      read(places, lanes, static_cast<int>(m), static_cast<int>(n), block);
      read(columns_at<T>(tau, first, k, 1), lanes, static_cast<int>(k), 1, factors);
      reflect_in_lanes(block, static_cast<int>(k), factors.x);
      write_all(block, lanes, places);
    });
  });
}

// ---- Jacobi's rotations

// x, y = c x - s y, s x + c y
template <class T>
RUSHLIGHT_INLINE void rotate(Lanes<T>& x, Lanes<T>& y, Lanes<T> c, Lanes<T> s) {
  const Lanes<T> before = x;
  x = add<T>(c, before, -s * y);
  y = add<T>(s, before, c * y);
}
// The rotation that makes `off` of a symmetric [[p, off], [off, q]] vanish; none where `keep`.
template <class T, class M>
RUSHLIGHT_INLINE void angle(Lanes<T> p, Lanes<T> q, Lanes<T> off, M keep, Lanes<T>& t, Lanes<T>& c, Lanes<T>& s) {
  const Lanes<T> tangent = (q - p) / (off + off), size = size_of(tangent);
  // The square of a large tangent is not taken.
  const Lanes<T> under = size > all<T>(static_cast<T>(1e15)) ? size + size : size + root<T>(add<T>(size, size, all<T>(1)));
  t = keep ? all<T>(0) : (tangent < 0 ? all<T>(-1) : all<T>(1)) / under;
  c = 1 / root<T>(add<T>(t, t, all<T>(1)));
  s = t * c;
}

// Eigenvalues on the diagonal; v null, or the identity, which becomes the eigenvectors.
template <class T>
RUSHLIGHT_SHARED void eigh_in_lanes(Block<T>& a, Block<T>* v, Lanes<T>& bad) {
  const int n = a.rows;
  Lanes<T> squares = all<T>(0);
  for (int i = 0; i < n * n; i++) squares = add<T>(a.x[i], a.x[i], squares);
  bad = (out_of_range<T>(squares) & (squares != 0)) ? all<T>(1) : all<T>(0);
  for (int j = 0; j < n; j++)  // all of whose squares vanish
    for (int i = 0; i < n; i++) bad = (squares == 0) & (a.at(i, j) != 0) ? all<T>(1) : bad;
  const Lanes<T> bound = root<T>(squares) * (std::numeric_limits<T>::epsilon() / 4);
  for (int sweep = 0; sweep < kSweeps; sweep++) {
    auto moved = squares != squares;
    for (int p = 0; p < n; p++) {
      for (int q = p + 1; q < n; q++) {
        const Lanes<T> off = a.at(q, p);
        const auto keep = ~(size_of(off) > bound);
        moved |= ~keep;
        if (!any<T>(~keep)) continue;
        Lanes<T> t, c, s;
        angle<T>(a.at(p, p), a.at(q, q), off, keep, t, c, s);
        const Lanes<T> step = t * off;
        const Lanes<T> first = a.at(p, p) - step, second = a.at(q, q) + step, rest = keep ? off : all<T>(0);
        for (int i = 0; i < n; i++) {
          rotate<T>(a.at(i, p), a.at(i, q), c, s);
          a.at(p, i) = a.at(i, p);
          a.at(q, i) = a.at(i, q);
          if (v) rotate<T>(v->at(i, p), v->at(i, q), c, s);
        }
        a.at(p, p) = first, a.at(q, q) = second;
        a.at(p, q) = a.at(q, p) = rest;
      }
    }
    if (!any<T>(moved & (bad == 0))) return;
  }
  bad = all<T>(1);  // whichever
}

// The places of values in order.
template <class T>
RUSHLIGHT_INLINE void sorted(int n, const T* values, bool falling, int* order) {
  for (int i = 0; i < n; i++) {
    int at = i;
    for (; at > 0 && (falling ? values[order[at - 1]] < values[i] : values[order[at - 1]] > values[i]); at--)
      order[at] = order[at - 1];
    order[at] = i;
  }
}

template <class T>
void identity(Block<T>& v, int n) {
  v.rows = v.columns = n;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) v.at(i, j) = all<T>(i == j);
}

void small_eigh(DType dtype, ptrdiff_t count, ptrdiff_t size, void* a, bool upper, bool vectors, void* values, bool* done) {
  float_or_double(dtype, [&]<class T>() {
    const int n = static_cast<int>(size);
    in_lanes<T>(count, [&](ptrdiff_t first, ptrdiff_t lanes) {
      Block<T> block, v;
      Lanes<T> bad;
      const Places<T> places = columns_at<T>(a, first, n, n);
      read(places, lanes, n, n, block);
      for (int j = 0; j < n; j++)
        for (int i = j + 1; i < n; i++) (upper ? block.at(i, j) : block.at(j, i)) = upper ? block.at(j, i) : block.at(i, j);
      identity(v, n);
      eigh_in_lanes(block, vectors ? &v : nullptr, bad);
      for (ptrdiff_t lane = 0; lane < lanes; lane++) {
        if (!(done[first + lane] = bad[lane] == 0)) continue;
        T found[kMost];
        int order[kMost];
        for (int i = 0; i < n; i++) found[i] = block.at(i, i)[lane];
        sorted(n, found, false, order);
        for (int j = 0; j < n; j++) {
          static_cast<T*>(values)[(first + lane) * n + j] = found[order[j]];
          for (int i = 0; vectors && i < n; i++) places.data[lane * places.step + j * n + i] = v.at(i, order[j])[lane];
        }
      }
    });
  });
}

// The columns of w become orthogonal; v null, or the identity, which becomes the right singular vectors.
template <class T>
RUSHLIGHT_SHARED void svd_in_lanes(Block<T>& w, Block<T>* v, Lanes<T>* values, Lanes<T>& bad) {
  const int m = w.rows, n = w.columns;
  const T bound = std::numeric_limits<T>::epsilon() * std::numeric_limits<T>::epsilon() * static_cast<T>(m);
  bad = all<T>(0);
  bool moving = true;
  for (int sweep = 0; sweep < kSweeps && moving; sweep++) {
    moving = false;
    for (int p = 0; p < n; p++) {
      for (int q = p + 1; q < n; q++) {
        Lanes<T> x = all<T>(0), y = all<T>(0), off = all<T>(0);
        for (int i = 0; i < m; i++) {
          x = add<T>(w.at(i, p), w.at(i, p), x);
          y = add<T>(w.at(i, q), w.at(i, q), y);
          off = add<T>(w.at(i, p), w.at(i, q), off);
        }
        const auto keep = ~(off * off > x * y * bound);
        if (!any<T>(~keep)) continue;
        moving = true;
        Lanes<T> t, c, s;
        angle<T>(x, y, off, keep, t, c, s);
        for (int i = 0; i < m; i++) rotate<T>(w.at(i, p), w.at(i, q), c, s);
        for (int i = 0; v && i < n; i++) rotate<T>(v->at(i, p), v->at(i, q), c, s);
      }
    }
  }
  if (moving) bad = all<T>(1);
  for (int j = 0; j < n; j++) {
    Lanes<T> squares = all<T>(0);
    for (int i = 0; i < m; i++) squares = add<T>(w.at(i, j), w.at(i, j), squares);
    bad = out_of_range<T>(squares * squares) ? all<T>(1) : bad;
    values[j] = root<T>(squares);
    for (int i = 0; v && i < m; i++) w.at(i, j) = w.at(i, j) / values[j];
  }
}
void small_svd(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, void* a, void* u, void* s, void* vh, bool* done) {
  float_or_double(dtype, [&]<class T>() {
    const bool wide = m < n;  // then it is the transpose's
    const int rows = static_cast<int>(wide ? n : m), k = static_cast<int>(wide ? m : n);
    in_lanes<T>(count, [&](ptrdiff_t first, ptrdiff_t lanes) {
      Block<T> w, v;
      Lanes<T> values[kMost], bad;
      Places<T> from = columns_at<T>(a, first, m, n);
      if (wide) std::swap(from.row, from.column);
      read(from, lanes, rows, k, w);
      identity(v, k);
      svd_in_lanes(w, u ? &v : nullptr, values, bad);
      for (ptrdiff_t lane = 0; lane < lanes; lane++) {
        const ptrdiff_t at = first + lane;
        if (!(done[at] = bad[lane] == 0)) continue;
        T found[kMost];
        int order[kMost];
        for (int j = 0; j < k; j++) found[j] = values[j][lane];
        sorted(k, found, true, order);
        for (int j = 0; j < k; j++) {
          static_cast<T*>(s)[at * k + j] = found[order[j]];
          if (!u) continue;
          T *left = static_cast<T*>(u) + at * m * k, *right = static_cast<T*>(vh) + at * k * n;
          for (int i = 0; i < rows; i++) (wide ? right[i * k + j] : left[j * rows + i]) = w.at(i, order[j])[lane];
          for (int i = 0; i < k; i++) (wide ? left[j * k + i] : right[i * k + j]) = v.at(i, order[j])[lane];
        }
      }
    });
  });
}

}  // namespace

void fill_small(DenseKernels& table) {
  static constexpr SmallKernels kernels{sizeof(Lanes<float>), small_lu,   small_solve, small_cholesky, small_triangle, small_qr,
                                        small_reflections,    small_eigh, small_svd};
  table.small = &kernels;
}

}  // namespace rushlight::RUSHLIGHT_ISA
#else
namespace rushlight::RUSHLIGHT_ISA {
void fill_small(DenseKernels&) {}
}  // namespace rushlight::RUSHLIGHT_ISA
#endif
