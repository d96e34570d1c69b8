// Distances of the rows of two matrices (or batches of them), of all pairs of rows of one, and their gradients.
//
// Where `by_products`, the root of squares comes out of |x|^2 + |y|^2 - 2xy, a product of matrices. What this loses for points that
// are close to each other is computed again, from their differences.
#include "bindings/kernel.h"

#include <algorithm>
#include <cmath>

#include "kernels/gemm.h"

namespace rushlight {
namespace {

constexpr double kClose = 1.0 / 16;  // points whose squared distance is this part of their squares, or less

Norm norm_of(double p) {
  return p == 0 ? Norm::Count : p == 1 ? Norm::Sum : p == 2 ? Norm::Root : std::isinf(p) ? Norm::Most : Norm::Power;
}

// Of two matrices of `n` columns.
struct Points {
  DType dtype;
  Norm norm;
  double p;
  Py_ssize_t rows, columns, n;  // columns: of the result, the rows of the second
  ptrdiff_t row() const { return n * item_size(dtype); }
  ptrdiff_t line() const { return columns * item_size(dtype); }
  Py_ssize_t grain() const { return kThreadElements / (columns * (n + 1) + 1) + 1; }
};

template <class T>
T square_of(const T* x, Py_ssize_t n) {
  T sums[8] = {}, rest = 0;
  Py_ssize_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; k++) sums[k] += x[i + k] * x[i + k];
  for (; i < n; i++) rest += x[i] * x[i];
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7])) + rest;
}

// The squares of all rows of x, then those of y.
template <class T>
void squares_of(const Points& s, const T* x, const T* y, T* squares) {
  for (Py_ssize_t i = 0; i < s.rows; i++) squares[i] = square_of(x + i * s.n, s.n);
  for (Py_ssize_t j = 0; j < s.columns; j++) squares[s.rows + j] = square_of(y + j * s.n, s.n);
}

template <class T>
void distances_by_products(const Points& s, const T* x, const T* y, T* squares, T* out) {
  squares_of(s, x, y, squares);
  gemm(s.dtype, s.rows, s.columns, s.n, 1, {x, s.n, 1}, {y, 1, s.n}, nullptr, 0, out, true);
  parallel(s.rows, s.grain(), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t i = begin; i < end; i++) {
      T* const line = out + i * s.columns;
      const T of_x = squares[i];
      const T* of_y = squares + s.rows;
      bool close = false;
      for (Py_ssize_t j = 0; j < s.columns; j++) {
        const T both = of_x + of_y[j], square = both - 2 * line[j];
        const bool near = !(square > both * T(kClose));  // or no number
        close |= near;
        line[j] = near ? T(-1) : std::sqrt(square);
      }
      for (Py_ssize_t j = 0; close && j < s.columns; j++)
        if (line[j] < 0) dense_kernels().distances(s.dtype, s.norm, s.p, x + i * s.n, y + j * s.n, 1, s.n, line + j);
    }
  });
}

bool readable(const TensorInfo& x, const TensorInfo& y, double p) {
  return x.is_float() && y.dtype == x.dtype && x.ndim >= 2 && y.ndim >= 2 && x.shape[x.ndim - 1] == y.shape[y.ndim - 1] && p >= 0;
}

// x and y, contiguous and with the same sizes before the last two; `shape` is the result's.
struct Batch {
  Ref x, y;
  Py_ssize_t count = 1, shape[kMaxDims];
  int ndim;
  Points points;
  bool fits = true;

  Batch(const TensorInfo& a, const TensorInfo& b, double p) : ndim(std::max(a.ndim, b.ndim)) {
    points = {a.dtype, norm_of(p), p, a.shape[a.ndim - 2], b.shape[b.ndim - 2], a.shape[a.ndim - 1]};
    shape[ndim - 2] = points.rows, shape[ndim - 1] = points.columns;
    for (int d = 0; d + 2 < ndim; d++) {
      const Py_ssize_t of_a = size_of(a, d), of_b = size_of(b, d);
      fits = fits && (of_a == of_b || of_a == 1 || of_b == 1);
      shape[d] = of_a == 1 ? of_b : of_a;
      count *= shape[d];
    }
    if (fits) x = broadcast(a), y = broadcast(b);
  }
  Py_ssize_t size_of(const TensorInfo& a, int d) const { return d < ndim - a.ndim ? 1 : a.shape[d - (ndim - a.ndim)]; }
  Layout layout(const TensorInfo& a) const {
    Layout l;
    for (int d = 0; d < ndim; d++) {
      const int own = d - (ndim - a.ndim);
      if (d + 2 < ndim) l.add(shape[d], own < 0 || a.shape[own] == 1 ? 0 : a.strides[own]);
      else l.add(a.shape[own], a.strides[own]);
    }
    return l;
  }
  Ref broadcast(const TensorInfo& a) const {
    if (a.ndim == ndim && same_sizes(ndim - 2, a.shape, shape)) return contiguous(a.tensor);
    Ref view = make_view(a, layout(a));
    return contiguous(as_tensor(view));
  }
};

Ref cdist(const TensorInfo& x, const TensorInfo& y, double p, bool by_products) {
  if (!readable(x, y, p)) return {};
  Batch b(x, y, p);
  if (!b.fits) return {};
  const Points& s = b.points;
  Ref out = new_ref(x.dtype, b.ndim, b.shape, device_of(x, y));
  if (!has_memory(out) || !as_tensor(out)->numel()) return out;
  const char *xs = data_of(b.x), *ys = data_of(b.y);
  char* to = data_of(out);
  const Workspace squares(by_products ? static_cast<double>((s.rows + s.columns) * item_size(s.dtype)) : 0);
  if (!squares.p) return no_memory();
  Unlocked unlocked(as_tensor(out)->nbytes() * (s.n + 1) > kReleaseGilBytes, b.x, b.y, out);
  if (by_products && p == 2 && s.n) {
    for (Py_ssize_t i = 0; i < b.count; i++)
      by_type(
          s.dtype, [&](const auto* u, const auto* v, auto* w, auto* made) { distances_by_products(s, u, v, w, made); },
          xs + i * s.rows * s.row(), ys + i * s.columns * s.row(), squares.p, to + i * s.rows * s.line());
    return out;
  }
  parallel(b.count * s.rows, s.grain(), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t i = begin; i < end; i++)
      dense_kernels().distances(s.dtype, s.norm, p, xs + i * s.row(), ys + i / s.rows * s.columns * s.row(), s.columns, s.n,
                                to + i * s.line());
  });
  return out;
}

// weights = g / distance, 0 for close points, whose gradients are added from their differences; the rest is
// to_x = sum(weights) * x - weights @ y, and likewise for y.
template <class T>
void gradient_by_products(const Points& s, const T* x, const T* y, const T* g, const T* distance, T* squares, T* weights, T* to_x,
                          T* to_y) {
  squares_of(s, x, y, squares);
  const auto minus = [&](const T* from, Py_ssize_t rows, Py_ssize_t inner, const MatrixView& w, const T* other, T* to) {
    for (Py_ssize_t i = 0; i < rows; i++) {
      T sum = 0;
      const T* line = static_cast<const T*>(w.data) + i * w.row;
      for (Py_ssize_t j = 0; j < inner; j++) sum += line[j * w.column];
      for (Py_ssize_t k = 0; k < s.n; k++) to[i * s.n + k] = from[i * s.n + k] * sum;
    }
    gemm(s.dtype, rows, s.n, inner, -1, w, {other, s.n, 1}, nullptr, 1, to, true);
  };
  const auto is_close = [&](Py_ssize_t i, Py_ssize_t j) {
    const T d = distance[i * s.columns + j];
    return !(d * d > (squares[i] + squares[s.rows + j]) * T(kClose));
  };
  bool close = false;
  for (Py_ssize_t i = 0; i < s.rows; i++)
    for (Py_ssize_t j = 0; j < s.columns; j++) {
      const Py_ssize_t at = i * s.columns + j;
      const bool near = is_close(i, j);
      close |= near;
      weights[at] = near ? T(0) : g[at] / distance[at];
    }
  if (to_x) minus(x, s.rows, s.columns, {weights, s.columns, 1}, y, to_x);
  if (to_y) minus(y, s.columns, s.rows, {weights, 1, s.columns}, x, to_y);
  for (Py_ssize_t i = 0; close && i < s.rows; i++)
    for (Py_ssize_t j = 0; j < s.columns; j++)
      if (is_close(i, j))
        dense_kernels().distance_gradient(s.dtype, s.norm, s.p, x + i * s.n, y + j * s.n, 1, s.n, g + i * s.columns + j,
                                          distance + i * s.columns + j, to_x ? to_x + i * s.n : nullptr,
                                          to_y ? to_y + j * s.n : nullptr);
}

Gradients cdist_backward(const TensorInfo& g, const TensorInfo& x, const TensorInfo& y, const TensorInfo& out, double p,
                         bool by_products, const Needs<2>& needs) {
  if (!readable(x, y, p)) return {};
  if (g.dtype != x.dtype || out.dtype != x.dtype || !same_shape(g.tensor, out.tensor)) return {};
  Batch b(x, y, p);
  const Points& s = b.points;
  if (!b.fits || g.ndim != b.ndim || !same_sizes(b.ndim, b.shape, g.shape)) return {};
  const DeviceType device = device_of(g, x, y, out);
  Ref gx, gy;
  if (needs[0]) gx = zeros_ref(x.dtype, b.ndim, as_tensor(b.x)->sizes(), device);
  if (needs[1]) gy = zeros_ref(y.dtype, b.ndim, as_tensor(b.y)->sizes(), device);
  if (device == DeviceType::Meta || !g.size() || !s.n) return gradients_of({&gx, &gy});
  Ref gc = contiguous(g.tensor), oc = contiguous(out.tensor);
  const char *xs = data_of(b.x), *ys = data_of(b.y), *gs = data_of(gc), *ds = data_of(oc);
  char *to_x = gx ? data_of(gx) : nullptr, *to_y = gy ? data_of(gy) : nullptr;
  const bool products = by_products && p == 2;
  const auto item = static_cast<double>(item_size(s.dtype));
  const Workspace squares(products ? static_cast<double>(s.rows + s.columns) * item : 0);
  const Workspace weights(products ? static_cast<double>(s.rows) * static_cast<double>(s.columns) * item : 0);
  if (!squares.p || !weights.p) return no_memory();
  {
    Unlocked unlocked(as_tensor(gc)->nbytes() * (s.n + 1) > kReleaseGilBytes, b.x, b.y, gc, oc, gx, gy);
    parallel(
        b.count, products ? b.count : kThreadElements / (s.rows * s.columns * s.n + 1) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
          for (ptrdiff_t i = begin; i < end; i++) {
            const char *of_x = xs + i * s.rows * s.row(), *of_y = ys + i * s.columns * s.row();
            const char *of_g = gs + i * s.rows * s.line(), *of_d = ds + i * s.rows * s.line();
            char* const at_x = to_x ? to_x + i * s.rows * s.row() : nullptr;
            char* const at_y = to_y ? to_y + i * s.columns * s.row() : nullptr;
            if (products) {
              const auto run = [&](const auto* u, const auto* v, const auto* w, const auto* d, auto* q, auto* r, auto* a, auto* c) {
                gradient_by_products(s, u, v, w, d, q, r, a, c);
              };
              by_type(s.dtype, run, of_x, of_y, of_g, of_d, squares.p, weights.p, at_x, at_y);
              continue;
            }
            for (Py_ssize_t r = 0; r < s.rows; r++)
              dense_kernels().distance_gradient(s.dtype, s.norm, p, of_x + r * s.row(), of_y, s.columns, s.n, of_g + r * s.line(),
                                                of_d + r * s.line(), at_x ? at_x + r * s.row() : nullptr, at_y);
          }
        });
  }
  return gradients_of({&gx, &gy});
}

// ---- of all pairs of rows of one matrix: (0, 1), (0, 2), ...

Py_ssize_t pairs_before(Py_ssize_t row, Py_ssize_t rows) { return row * (2 * rows - row - 1) / 2; }

Ref pdist(const TensorInfo& x, double p) {
  if (!x.is_float() || x.ndim != 2 || !(p >= 0)) return {};
  const Py_ssize_t rows = x.shape[0], n = x.shape[1], count = rows > 1 ? pairs_before(rows, rows) : 0;
  const DType dtype = x.dtype;
  Ref xc = contiguous(x.tensor), out = new_ref(dtype, 1, &count, device_of(x));
  if (!has_memory(out) || !count) return out;
  const ptrdiff_t item = item_size(dtype);
  const char* from = data_of(xc);
  char* to = data_of(out);
  Unlocked unlocked(count * (n + 1) * item > kReleaseGilBytes, xc, out);
  parallel_by(rows - 1, rows * (n + 1), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t r = begin; r < end; r++)
      dense_kernels().distances(dtype, norm_of(p), p, from + r * n * item, from + (r + 1) * n * item, rows - 1 - r, n,
                                to + pairs_before(r, rows) * item);
  });
  return out;
}

Ref pdist_backward(const TensorInfo& g, const TensorInfo& x, const TensorInfo& out, double p) {
  if (!x.is_float() || x.ndim != 2 || !(p >= 0) || g.dtype != x.dtype || out.dtype != x.dtype) return {};
  const Py_ssize_t rows = x.shape[0], n = x.shape[1];
  if (g.ndim != 1 || !same_shape(g.tensor, out.tensor) || g.size() != (rows > 1 ? pairs_before(rows, rows) : 0)) return {};
  const DType dtype = x.dtype;
  Ref made = zeros_ref(dtype, 2, x.shape, device_of(g, x, out));
  if (!has_memory(made)) return made;
  Ref gc = contiguous(g.tensor), xc = contiguous(x.tensor), oc = contiguous(out.tensor);
  const ptrdiff_t item = item_size(dtype);
  const char *gs = data_of(gc), *xs = data_of(xc), *ds = data_of(oc);
  char* to = data_of(made);
  Unlocked unlocked(g.size() * (n + 1) * item > kReleaseGilBytes, gc, xc, oc, made);
  for (Py_ssize_t r = 0; r + 1 < rows; r++) {
    const ptrdiff_t at = pairs_before(r, rows) * item, row = r * n * item, next = row + n * item;
    dense_kernels().distance_gradient(dtype, norm_of(p), p, xs + row, xs + next, rows - 1 - r, n, gs + at, ds + at, to + row,
                                      to + next);
  }
  return made;
}

const KernelRows rows{
    long_kernel<cdist, "cdist(x1, x2, p, by_products)">(),
    long_kernel<cdist_backward, "cdist_backward(g, x1, x2, out, p, by_products, needs): gradients of the batch's sizes">(),
    long_kernel<pdist, "pdist(x, p): of all pairs of rows">(),
    long_kernel<pdist_backward, "pdist_backward(g, x, out, p)">(),
};

}  // namespace

}  // namespace rushlight
