// Factorisations and solutions of stacks of matrices over tensors.
//
// The last two dimensions are a matrix, the others a stack. LAPACK knows matrices column by column:
// so are the results, and of the arguments copies are made. A kernel answers NotImplemented for
// arguments that do not fit, and where a matrix is singular, not positive, or not finite: the
// definition (ops/matrix) has the words of the error. Of empty matrices there are results.
#include "bindings/kernel.h"

#include <atomic>
#include <cmath>
#include <complex>
#include <limits>

#include "kernels/lapack.h"
#include "kernels/lapack_own.h"

namespace rushlight {
namespace {

constexpr double kParallelWork = 1 << 15;  // operations that are worth a thread
constexpr double kReleaseWork = 1 << 16;  // and from which other Python threads may run

bool is_matrix_type(DType t) { return t == DType::F32 || t == DType::F64 || is_pair(t); }
DType real_of(DType t) { return t == DType::C64 ? DType::F32 : t == DType::C128 ? DType::F64 : t; }
DType complex_of(DType t) { return t == DType::F32 ? DType::C64 : t == DType::F64 ? DType::C128 : t; }

// The stack's dimensions, of all arguments together.
struct Lead {
  int n = 0;
  Py_ssize_t shape[kMaxDims], count = 1;
};
// An argument's matrices, or vectors, `own` dimensions each.
struct Matrices {
  const char* data = nullptr;
  DType dtype;
  Py_ssize_t rows = 1, columns = 1;
  ptrdiff_t row = 0, column = 0, steps[kMaxDims];  // in bytes

  // The matrix at a place of the stack.
  const char* at(const Lead& lead, Py_ssize_t i) const {
    const char* p = data;
    for (int d = lead.n - 1; d >= 0; d--) {
      p += i % lead.shape[d] * steps[d];
      i /= lead.shape[d];
    }
    return p;
  }
};
struct Operand : Matrices {
  Ref owner;
};
Operand operand(const TensorInfo& a, int own) {
  Operand g;
  g.owner = a.tensor->is_aligned() ? Ref::borrow(as_object(a.tensor)) : contiguous(a.tensor);
  const TensorInfo t = info_of(g.owner);
  g.data = t.data;
  g.dtype = t.dtype;
  g.rows = t.shape[t.ndim - own];
  g.row = t.strides[t.ndim - own];
  if (own == 2) g.columns = t.shape[t.ndim - 1], g.column = t.strides[t.ndim - 1];
  return g;
}
// Broadcasts the leading dimensions of the arguments; false where they do not fit.
bool lead_of(Lead& lead, std::initializer_list<std::pair<const TensorInfo*, Operand*>> all, std::initializer_list<int> own) {
  const int* o = own.begin();
  for (const auto& [t, g] : all) lead.n = std::max(lead.n, t->ndim - *o++);
  for (int d = 0; d < lead.n; d++) {
    Py_ssize_t size = 1;
    o = own.begin();
    for (const auto& [t, g] : all) {
      const int at = d - (lead.n - (t->ndim - *o++));
      const Py_ssize_t mine = at < 0 ? 1 : t->shape[at];
      if (mine != 1 && size != 1 && mine != size) return false;
      if (mine != 1) size = mine;
      const TensorInfo seen = info_of(g->owner);
      g->steps[d] = at < 0 || mine == 1 ? 0 : seen.strides[at];
    }
    lead.count = times(lead.count, lead.shape[d] = size);
  }
  return true;
}
void turn(Matrices& g) {
  std::swap(g.rows, g.columns);
  std::swap(g.row, g.column);
}
struct One {
  Lead lead;
  Operand a;
};
// A stack of matrices of its own; false where LAPACK has no code for it.
bool read_one(const TensorInfo& t, One& one, bool square) {
  if (!is_matrix_type(t.dtype) || t.ndim < 2) return false;
  one.a = operand(t, 2);
  if ((square && one.a.rows != one.a.columns) || !lapack::fits_lapack(one.a.rows, one.a.columns)) return false;
  return lead_of(one.lead, {{&t, &one.a}}, {2});
}

// ---- results
// Matrices column by column.
Ref matrices_ref(DType dtype, const Lead& lead, Py_ssize_t m, Py_ssize_t n, DeviceType device) {
  check_room(lead.n + 1);
  Py_ssize_t shape[kMaxDims + 2], strides[kMaxDims + 2], numel;
  std::copy_n(lead.shape, lead.n, shape);
  shape[lead.n] = m, shape[lead.n + 1] = n;
  const Py_ssize_t item = item_size(dtype);
  if (!contiguous_strides(lead.n + 2, shape, item, strides, &numel)) return new_ref(dtype, lead.n + 2, shape, device);  // its error
  strides[lead.n] = item;
  strides[lead.n + 1] = item * std::max<Py_ssize_t>(m, 1);
  return owned(new_strided(dtype, lead.n + 2, shape, strides, device));
}
Ref vectors_ref(DType dtype, const Lead& lead, Py_ssize_t n, DeviceType device) {
  Py_ssize_t shape[kMaxDims + 1];
  std::copy_n(lead.shape, lead.n, shape);
  shape[lead.n] = n;
  return new_ref(dtype, lead.n + 1, shape, device);
}
Ref numbers_ref(DType dtype, const Lead& lead, DeviceType device) { return new_ref(dtype, lead.n, lead.shape, device); }

// ---- memory
// Copies a matrix into adjacent columns, `leading` elements apart.
template <class T>
void copy_columns(const char* from, ptrdiff_t row, ptrdiff_t column, ptrdiff_t m, ptrdiff_t n, T* to, ptrdiff_t leading) {
  constexpr ptrdiff_t kBlock = 16;
  if (row == sizeof(T)) {
    for (ptrdiff_t j = 0; j < n; j++) std::copy_n(reinterpret_cast<const T*>(from + j * column), m, to + j * leading);
    return;
  }
  for (ptrdiff_t begin = 0; begin < n; begin += kBlock) {
    const ptrdiff_t end = std::min(begin + kBlock, n);
    for (ptrdiff_t i = 0; i < m; i++) {
      const char* source = from + i * row + begin * column;
      for (ptrdiff_t j = begin; j < end; j++, source += column) to[j * leading + i] = *reinterpret_cast<const T*>(source);
    }
  }
}
void load(const Matrices& g, const char* from, char* to, ptrdiff_t leading = 0) {
  if (!leading) leading = g.rows;
  const bool dense = g.column == item_size(g.dtype) && g.row == g.columns * g.column;
  if ((g.dtype == DType::F32 || g.dtype == DType::F64) && dense && leading == g.rows && g.rows >= 16 && g.columns >= 16)
    return dense_kernels().transpose(g.dtype, from, g.rows, g.columns, to);
  lapack::typed(g.dtype,
                [&]<class T>(T) { copy_columns(from, g.row, g.column, g.rows, g.columns, reinterpret_cast<T*>(to), leading); });
}
bool all_finite(DType dtype, const char* data, ptrdiff_t n) {
  const bool wide = dtype == DType::F64 || dtype == DType::C128;
  if (is_complex(dtype)) n *= 2;
  const auto test = [n]<class R>(const R* x) {
    R sum = 0;
    for (ptrdiff_t i = 0; i < n; i++) sum += x[i] * 0;
    return sum == 0;
  };
  return wide ? test(reinterpret_cast<const double*>(data)) : test(reinterpret_cast<const float*>(data));
}
bool has_nan(DType dtype, const char* data, ptrdiff_t n) {
  return lapack::typed(dtype, [&]<class T>(T) {
    const T* x = reinterpret_cast<const T*>(data);
    return std::any_of(x, x + n, [](T each) { return std::isnan(std::real(each)) || std::isnan(std::imag(each)); });
  });
}
void fill_nan(DType dtype, char* data, ptrdiff_t n) {
  lapack::typed(dtype, [&]<class T>(T) { std::fill_n(reinterpret_cast<T*>(data), n, std::numeric_limits<double>::quiet_NaN()); });
}
// Zeros on one side of the diagonals of `count` matrices of `rows` x `columns`.
void clear_triangle(DType dtype, char* data, ptrdiff_t count, ptrdiff_t rows, ptrdiff_t columns, bool lower) {
  const ptrdiff_t item = item_size(dtype);
  for (; count > 0; count--) {
    for (ptrdiff_t j = 0; j < columns; j++, data += rows * item) {
      const ptrdiff_t above = std::min(j, rows), below = std::min(j + 1, rows);
      if (lower) std::fill(data + below * item, data + rows * item, 0);
      else std::fill_n(data, above * item, 0);
    }
  }
}

void fill_identity(DType dtype, ptrdiff_t count, ptrdiff_t n, char* data) {
  lapack::typed(dtype, [&]<class T>(T) {
    T* x = reinterpret_cast<T*>(data);
    std::fill_n(x, count * n * n, T(0));
    for (ptrdiff_t i = 0; i < count * n; i++, x += n) x[i % n] = 1;
  });
}

// f(first, count), a group of matrices at a time, until one of them answers false; over threads where each has enough to do.
template <class F>
bool in_groups(Py_ssize_t count, ptrdiff_t group, double work, const F& f) {
  std::atomic<bool> fine{true};
  const ptrdiff_t groups = (count + group - 1) / group;
  const double grain = kParallelWork / (work * static_cast<double>(group) + 1) + 1;
  parallel(groups, static_cast<ptrdiff_t>(std::min(grain, 1e15)), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t g = begin; g < end && fine.load(std::memory_order_relaxed); g++)
      if (!f(g * group, std::min<ptrdiff_t>(group, count - g * group))) fine.store(false, std::memory_order_relaxed);
  });
  return fine.load();
}
double cube(ptrdiff_t m, ptrdiff_t n) {
  const double a = static_cast<double>(std::min(m, n)), b = static_cast<double>(std::max(m, n));
  return a * a * b + 16;
}
bool release(const Lead& lead, double work) { return work * static_cast<double>(lead.count) > kReleaseWork; }
bool no_zero(const int* info, ptrdiff_t n) {
  return std::all_of(info, info + n, [](int i) { return i == 0; });
}

// ---- LU

struct Factored {
  Ref lu, pivots, info;
};
// False: no kernel. On meta there are results without values.
bool factor(const TensorInfo& a, Factored& out, One& one) {
  if (!read_one(a, one, false)) return false;
  const Py_ssize_t m = one.a.rows, n = one.a.columns, least = std::min(m, n);
  const DeviceType device = device_of(a);
  out = {matrices_ref(a.dtype, one.lead, m, n, device), vectors_ref(DType::I32, one.lead, least, device),
         numbers_ref(DType::I32, one.lead, device)};
  if (device == DeviceType::Meta) return true;
  char* to = data_of(out.lu);
  int *pivots = data_of<int>(out.pivots), *info = data_of<int>(out.info);
  if (!least) return std::fill_n(info, one.lead.count, 0), true;
  const double work = cube(m, n);
  const ptrdiff_t step = m * n * item_size(a.dtype);
  const Unlocked unlocked(release(one.lead, work), one.a.owner, out.lu, out.pivots, out.info);
  return in_groups(one.lead.count, lapack::matrices_at_once(a.dtype, m, n), work, [&](ptrdiff_t i, ptrdiff_t count) {
    for (ptrdiff_t k = i; k < i + count; k++) load(one.a, one.a.at(one.lead, k), to + k * step);
    return lapack::lu(a.dtype, count, m, n, to + i * step, pivots + i * least, info + i);
  });
}
bool regular(const Factored& f) { return !has_memory(f.info) || no_zero(data_of<int>(f.info), as_tensor(f.info)->numel()); }

Pair lu_factor(const TensorInfo& a) {
  Factored f;
  One one;
  return factor(a, f, one) ? Pair(tuple_of(f.lu, f.pivots)) : Pair();
}
Triple lu_factor_ex(const TensorInfo& a, bool pivot, bool check_errors) {
  Factored f;
  One one;
  return pivot && factor(a, f, one) && (!check_errors || regular(f)) ? Triple(tuple_of(f.lu, f.pivots, f.info)) : Triple();
}
Pair lu_factor_regular(const TensorInfo& a, bool pivot) {
  Factored f;
  One one;
  return pivot && factor(a, f, one) && regular(f) ? Pair(tuple_of(f.lu, f.pivots)) : Pair();
}

// L and U from one matrix, row by row, as PyTorch has them: the columns of their transposes.
Pair lu_unpack(const TensorInfo& a) {
  if (is_half(a.dtype) && !is_accelerated(a)) {
    const Ref wide = contiguous_as(a.tensor, DType::F32);
    return rounded_items(lu_unpack(info_of(wide)), a.dtype);
  }
  One one;
  if (!read_one(a, one, false)) return {};
  const Py_ssize_t m = one.a.rows, n = one.a.columns, k = std::min(m, n);
  Py_ssize_t shape[kMaxDims];
  std::copy_n(a.shape, a.ndim, shape);
  shape[a.ndim - 1] = k;
  Ref lower = new_ref(a.dtype, a.ndim, shape, device_of(a));
  shape[a.ndim - 2] = k, shape[a.ndim - 1] = n;
  Ref upper = new_ref(a.dtype, a.ndim, shape, device_of(a));
  if (!has_memory(lower)) return tuple_of(lower, upper);
  char *l = data_of(lower), *u = data_of(upper);
  {
    const double work = static_cast<double>(m) * n;
    const Unlocked unlocked(release(one.lead, work), one.a.owner, lower, upper);
    Matrices left = one.a, top = one.a;
    left.columns = k, top.rows = k;
    turn(left), turn(top);
    const ptrdiff_t item = item_size(a.dtype);
    in_groups(one.lead.count, 1, work, [&](ptrdiff_t i, ptrdiff_t) {
      const char* from = one.a.at(one.lead, i);
      char *to_l = l + i * m * k * item, *to_u = u + i * k * n * item;
      load(left, from, to_l);
      load(top, from, to_u);
      clear_triangle(a.dtype, to_l, 1, k, m, true);
      clear_triangle(a.dtype, to_u, 1, n, k, false);
      lapack::typed(a.dtype, [&]<class T>(T) {
        for (ptrdiff_t j = 0; j < k; j++) reinterpret_cast<T*>(to_l)[j * k + j] = 1;
      });
      return true;
    });
  }
  return tuple_of(lower, upper);
}

// The same of A, given its factors.
Pair lu_parts(const TensorInfo& a, const TensorInfo& factors, const TensorInfo&) {
  return a.dtype == factors.dtype ? lu_unpack(factors) : Pair();
}

// The number, from 1, of the first 0 on the diagonal.
Ref lu_info(const TensorInfo& a) {
  One one;
  if (!read_one(a, one, false)) return {};
  Ref info = numbers_ref(DType::I32, one.lead, device_of(a));
  if (!has_memory(info)) return info;
  int* to = data_of<int>(info);
  lapack::typed(a.dtype, [&]<class T>(T) {
    for (Py_ssize_t i = 0; i < one.lead.count; i++) {
      const char* from = one.a.at(one.lead, i);
      to[i] = 0;
      for (Py_ssize_t j = std::min(one.a.rows, one.a.columns); j-- > 0;)
        if (*reinterpret_cast<const T*>(from + j * (one.a.row + one.a.column)) == T(0)) to[i] = static_cast<int>(j + 1);
    }
  });
  return info;
}

// The order of m rows that exchanges make; false for a pivot that is no row.
bool row_order(const int* pivots, Py_ssize_t n, Py_ssize_t m, int* order) {
  for (int i = 0; i < m; i++) order[i] = i;
  for (Py_ssize_t i = 0; i < n; i++) {
    if (pivots[i] < 1 || pivots[i] > m) return false;
    std::swap(order[i], order[pivots[i] - 1]);
  }
  return true;
}

// The matrices P of A = P @ L @ U, of booleans.
Ref pivot_matrix(const TensorInfo& pivots, Py_ssize_t m) {
  if (pivots.dtype != DType::I32 || pivots.ndim < 1 || m < 0 || m >= 0x7fffffff) return {};
  const Py_ssize_t n = pivots.shape[pivots.ndim - 1];
  if (n > m) return {};
  check_room(pivots.ndim);
  const Ref owner = contiguous(pivots.tensor);
  Py_ssize_t shape[kMaxDims + 1], count = 1;
  for (int d = 0; d < pivots.ndim - 1; d++) count *= shape[d] = pivots.shape[d];
  shape[pivots.ndim - 1] = shape[pivots.ndim] = m;
  Ref out = zeros_ref(DType::Bool, pivots.ndim + 1, shape, device_of(pivots));
  if (!has_memory(out)) return out;
  Workspace order(static_cast<double>(m) * sizeof(int));
  if (!order.p) return no_memory();
  char* to = data_of(out);
  int* rows = reinterpret_cast<int*>(order.p);
  const int* from = data_of<const int>(owner);
  for (Py_ssize_t i = 0; i < count; i++, to += m * m, from += n) {
    if (!row_order(from, n, m, rows)) return {};
    for (Py_ssize_t j = 0; j < m; j++) to[rows[j] * m + j] = 1;
  }
  return out;
}

// ---- solutions

// B's columns: the arguments of an equation A @ X = B, with B turned round where it is X @ A = B.
struct Equation {
  Lead lead;
  Operand a, b;
  bool vector = false;
};
bool read_equation(const TensorInfo& a, const TensorInfo& b, bool left, bool vectors, Equation& e) {
  if (!is_matrix_type(a.dtype) || b.dtype != a.dtype || a.ndim < 2 || b.ndim < 1) return false;
  if (vectors) e.vector = b.ndim == 1 || (b.ndim == a.ndim - 1 && same_sizes(b.ndim, b.shape, a.shape));
  if (e.vector ? !left : b.ndim < 2) return false;
  e.a = operand(a, 2);
  e.b = operand(b, e.vector ? 1 : 2);
  const Py_ssize_t n = e.a.rows;
  if (e.a.columns != n || (left ? e.b.rows : e.b.columns) != n) return false;
  if (!lapack::fits_lapack(n, n) || !lapack::fits_lapack(e.b.rows, e.b.columns)) return false;
  return lead_of(e.lead, {{&a, &e.a}, {&b, &e.b}}, {2, e.vector ? 1 : 2});
}
Ref solution_ref(const Equation& e, DeviceType device) {
  if (e.vector) return vectors_ref(e.b.dtype, e.lead, e.b.rows, device);
  return matrices_ref(e.b.dtype, e.lead, e.b.rows, e.b.columns, device);
}

// The solution, and info; nothing where a matrix is singular. X @ A = B is A.T @ X.T = B.T.
Ref solved(const TensorInfo& a, const TensorInfo& b, bool left, Ref* info) {
  Equation e;
  if (!read_equation(a, b, left, true, e)) return {};
  const DeviceType device = device_of(a, b);
  const Py_ssize_t n = e.a.rows;
  if (!left) turn(e.a), turn(e.b);
  const Py_ssize_t k = e.b.columns;
  Lead own;  // of A
  own.n = a.ndim - 2;
  std::copy_n(a.shape, own.n, own.shape);
  if (info) *info = zeros_ref(DType::I32, own.n, own.shape, device);
  if (!left) turn(e.b);
  Ref out = solution_ref(e, device);
  if (!left) turn(e.b);
  if (!has_memory(out) || !as_tensor(out)->numel()) return out;
  char* to = data_of(out);
  const ptrdiff_t item = item_size(a.dtype);
  const ptrdiff_t group = std::min<ptrdiff_t>(
      lapack::matrices_at_once(a.dtype, n, std::max<ptrdiff_t>(n, std::min<ptrdiff_t>(k, n))), e.lead.count);
  const double work = cube(n, n) + static_cast<double>(n) * n * k;
  bool fine;
  {
    const Unlocked unlocked(release(e.lead, work), e.a.owner, e.b.owner, out);
    fine = in_groups(e.lead.count, group, work, [&](ptrdiff_t i, ptrdiff_t count) {
      const double sizes = static_cast<double>(count) *
                           ((static_cast<double>(n) + (left ? 0 : k)) * n * item + (n + 1) * sizeof(int));
      const Workspace room(sizes + 64);
      if (!room.p) return false;
      char* factors = room.p;
      char* right = left ? to + i * n * k * item : factors + count * n * n * item;
      int* pivots = reinterpret_cast<int*>(factors + count * n * (n + (left ? 0 : k)) * item);
      int* failed = pivots + count * n;
      for (ptrdiff_t j = 0; j < count; j++) {
        load(e.a, e.a.at(e.lead, i + j), factors + j * n * n * item);
        load(e.b, e.b.at(e.lead, i + j), right + j * n * k * item);
      }
      if (!lapack::solve(a.dtype, count, n, k, factors, pivots, failed, right) || !no_zero(failed, count)) return false;
      Matrices x = e.b;  // turned round: k columns of n
      x.rows = k, x.columns = n, x.row = n * item, x.column = item;
      for (ptrdiff_t j = 0; j < count && !left; j++) load(x, right + j * n * k * item, to + (i + j) * n * k * item);
      return true;
    });
  }
  return fine ? std::move(out) : Ref();
}
Ref solve(const TensorInfo& a, const TensorInfo& b, bool left) { return solved(a, b, left, nullptr); }
Pair solve_ex(const TensorInfo& a, const TensorInfo& b, bool left, bool) {
  Ref info, x = solved(a, b, left, &info);
  return x ? Pair(tuple_of(x, info)) : Pair();
}

Ref inverted(const TensorInfo& a, Ref* info) {
  One one;
  if (!read_one(a, one, true)) return {};
  const DeviceType device = device_of(a);
  const Py_ssize_t n = one.a.rows;
  Ref out = matrices_ref(a.dtype, one.lead, n, n, device);
  if (info) *info = zeros_ref(DType::I32, one.lead.n, one.lead.shape, device);
  if (!has_memory(out) || !as_tensor(out)->numel()) return out;
  char* to = data_of(out);
  const ptrdiff_t item = item_size(a.dtype), step = n * n * item;
  const double work = 3 * cube(n, n);
  bool fine;
  {
    const Unlocked unlocked(release(one.lead, work), one.a.owner, out);
    const ptrdiff_t group = std::min<ptrdiff_t>(lapack::matrices_at_once(a.dtype, n, n), one.lead.count);
    fine = in_groups(one.lead.count, group, work, [&](ptrdiff_t i, ptrdiff_t count) {
      const Workspace room(static_cast<double>(count) * (static_cast<double>(step) + (n + 1) * sizeof(int)) + 64);
      if (!room.p) return false;
      int *pivots = reinterpret_cast<int*>(room.p + count * step), *failed = pivots + count * n;
      for (ptrdiff_t j = 0; j < count; j++) load(one.a, one.a.at(one.lead, i + j), room.p + j * step);
      fill_identity(a.dtype, count, n, to + i * step);
      return lapack::solve(a.dtype, count, n, n, room.p, pivots, failed, to + i * step) && no_zero(failed, count);
    });
  }
  return fine ? std::move(out) : Ref();
}
Ref inverse(const TensorInfo& a) { return inverted(a, nullptr); }
Pair inverse_ex(const TensorInfo& a, bool) {
  Ref info, x = inverted(a, &info);
  return x ? Pair(tuple_of(x, info)) : Pair();
}

// The sign and the logarithm of the absolute value of determinants; or, in `det` alone, these themselves.
bool determinants(const TensorInfo& a, Ref& det, Ref* logs) {
  One one;
  if (!read_one(a, one, true)) return false;
  const DeviceType device = device_of(a);
  const Py_ssize_t n = one.a.rows;
  det = numbers_ref(a.dtype, one.lead, device);
  if (logs) *logs = numbers_ref(real_of(a.dtype), one.lead, device);
  if (!has_memory(det)) return true;
  char *to = data_of(det), *to_logs = logs ? data_of(*logs) : nullptr;
  const ptrdiff_t item = item_size(a.dtype), step = n * n * item;
  const double work = cube(n, n);
  const Unlocked unlocked(release(one.lead, work), one.a.owner, det, logs ? as_tensor(*logs) : nullptr);
  const ptrdiff_t group = std::max<ptrdiff_t>(std::min<ptrdiff_t>(lapack::matrices_at_once(a.dtype, n, n), one.lead.count), 1);
  return in_groups(one.lead.count, group, work, [&](ptrdiff_t i, ptrdiff_t count) {
    const Workspace room(static_cast<double>(count) * (static_cast<double>(step) + (n + 1) * sizeof(int)) + 64);
    if (!room.p) return false;
    int *pivots = reinterpret_cast<int*>(room.p + count * step), *failed = pivots + count * n;
    for (ptrdiff_t j = 0; j < count; j++) load(one.a, one.a.at(one.lead, i + j), room.p + j * step);
    if (n && !lapack::lu(a.dtype, count, n, n, room.p, pivots, failed)) return false;
    lapack::typed(a.dtype, [&]<class T>(T) {
      using R = decltype(std::abs(T()));
      for (ptrdiff_t j = 0; j < count; j++) {
        const T* x = reinterpret_cast<const T*>(room.p + j * step);
        T product = 1;
        R log = 0;
        for (ptrdiff_t d = 0; d < n; d++) {
          T pivot = x[d * n + d];
          if (pivots[j * n + d] != d + 1) product = -product;
          if (logs) {
            const R size = std::abs(pivot);
            log += std::log(size);
            if constexpr (std::is_floating_point_v<T>) pivot = static_cast<T>((pivot > 0) - (pivot < 0));
            else if (size != 0) pivot /= size;
          }
          product *= pivot;
        }
        if (logs) {
          if (std::isnan(log) && !is_complex(a.dtype)) product = 0;
          reinterpret_cast<R*>(to_logs)[i + j] = log;
        }
        reinterpret_cast<T*>(to)[i + j] = product;
      }
    });
    return true;
  });
}
Ref det(const TensorInfo& a) {
  Ref out;
  return determinants(a, out, nullptr) ? std::move(out) : Ref();
}
Pair slogdet(const TensorInfo& a) {
  Ref sign, log;
  return determinants(a, sign, &log) ? Pair(tuple_of(sign, log)) : Pair();
}

// Of a real A and complex B, too, as copies of the common type.
Ref solve_triangular(const TensorInfo& a, const TensorInfo& b, bool upper, bool left, bool unit) {
  Equation e;
  if (!read_equation(a, b, left, false, e)) return {};
  Ref out = solution_ref(e, device_of(a, b));
  if (!has_memory(out) || !as_tensor(out)->numel()) return out;
  char* to = data_of(out);
  const Py_ssize_t n = e.a.rows, m = e.b.rows, k = e.b.columns;
  const ptrdiff_t item = item_size(a.dtype);
  const double work = static_cast<double>(m) * k * n + 16;
  // Rows of A that are adjacent are the columns of its transpose.
  const bool by_rows = e.a.column == item && e.a.row != item;
  if (by_rows) turn(e.a);
  const lapack::Triangle triangle{upper != by_rows, by_rows ? 'T' : 'N', unit};
  const bool whole = e.a.row == item && e.a.column == n * item;  // read where it lies
  bool fine;
  {
    const Unlocked unlocked(release(e.lead, work), e.a.owner, e.b.owner, out);
    const ptrdiff_t group = std::min<ptrdiff_t>(lapack::matrices_at_once(a.dtype, n, n), e.lead.count);
    fine = in_groups(e.lead.count, group, work, [&](ptrdiff_t i, ptrdiff_t count) {
      for (ptrdiff_t j = 0; j < count; j++) load(e.b, e.b.at(e.lead, i + j), to + (i + j) * m * k * item);
      if (count == 1 && whole)
        return lapack::solve_triangle(a.dtype, 1, m, k, e.a.at(e.lead, i), 0, triangle, left, to + i * m * k * item);
      const Workspace room(static_cast<double>(count) * static_cast<double>(n * n * item));
      if (!room.p) return false;
      for (ptrdiff_t j = 0; j < count; j++) load(e.a, e.a.at(e.lead, i + j), room.p + j * n * n * item);
      return lapack::solve_triangle(a.dtype, count, m, k, room.p, n * n, triangle, left, to + i * m * k * item);
    });
  }
  return fine ? std::move(out) : Ref();
}

// ---- reading LU's result

// op(A) @ X = B or X @ op(A) = B of the factors of A: the latter is op(A).T @ X.T = B.T, and X lies row by row.
Ref lu_solve(const TensorInfo& lu, const TensorInfo& pivots, const TensorInfo& b, bool left, bool adjoint) {
  Equation e;
  if (!read_equation(lu, b, left, false, e) || pivots.dtype != DType::I32 || pivots.ndim != lu.ndim - 1 ||
      !same_sizes(pivots.ndim, pivots.shape, lu.shape))
    return {};
  Operand p = operand(pivots, 1);
  Lead lead;
  if (!lead_of(lead, {{&lu, &e.a}, {&b, &e.b}, {&pivots, &p}}, {2, 2, 1})) return {};
  const DeviceType device = device_of(lu, pivots, b);
  const Py_ssize_t n = e.a.rows, m = e.b.rows, k = e.b.columns;
  Py_ssize_t shape[kMaxDims + 2];
  std::copy_n(lead.shape, lead.n, shape);
  shape[lead.n] = m, shape[lead.n + 1] = k;
  Ref out = left ? solution_ref(e, device) : new_ref(lu.dtype, lead.n + 2, shape, device);
  if (!has_memory(out) || !as_tensor(out)->numel()) return out;
  const ptrdiff_t item = item_size(lu.dtype);
  const bool conjugate = is_complex(lu.dtype);
  char* to = data_of(out);
  const double work = static_cast<double>(n) * m * k * 2 + 16;
  if (!left) turn(e.b);
  const Py_ssize_t columns = left ? k : m;
  bool fine;
  {
    const Unlocked unlocked(release(lead, work), e.a.owner, e.b.owner, p.owner, out);
    const ptrdiff_t group = std::min<ptrdiff_t>(lapack::matrices_at_once(lu.dtype, n, n), lead.count);
    fine = in_groups(lead.count, group, work, [&](ptrdiff_t i, ptrdiff_t count) {
      const Workspace room(static_cast<double>(count) * n * (static_cast<double>(n) * item + sizeof(int)));
      if (!room.p) return false;
      char* right = to + i * m * k * item;
      int* exchanged = reinterpret_cast<int*>(room.p + count * n * n * item);
      for (ptrdiff_t j = 0; j < count; j++) {
        load(e.a, e.a.at(lead, i + j), room.p + j * n * n * item);
        load(e.b, e.b.at(lead, i + j), right + j * n * columns * item);
        const char* from = p.at(lead, i + j);
        for (ptrdiff_t d = 0; d < n; d++) {
          const int pivot = exchanged[j * n + d] = *reinterpret_cast<const int*>(from + d * p.row);
          if (pivot < 1 || pivot > n) return false;
        }
      }
      // X @ A.H = B is conj(A) @ X.T = B.T: conjugated on both sides.
      const bool both = conjugate && adjoint && !left;
      const auto conjugated = [&](char* x) {
        if (both)
          lapack::typed(lu.dtype, [&]<class T>(T) {
            if constexpr (!std::is_floating_point_v<T>)
              for (T *at = reinterpret_cast<T*>(x), *end = at + count * n * columns; at < end; at++) *at = std::conj(*at);
          });
      };
      conjugated(right);
      const char how = left == adjoint ? (left && conjugate ? 'C' : 'T') : 'N';
      if (!lapack::lu_solve(lu.dtype, count, n, columns, room.p, exchanged, how, right)) return false;
      conjugated(right);
      return true;
    });
  }
  return fine ? std::move(out) : Ref();
}

// ---- Cholesky

// The columns of the factor up to the first that fails, and the elements of a itself behind them.
template <class T>
void part_of_factor(T* a, ptrdiff_t n) {
  for (ptrdiff_t j = 0; j < n; j++) {
    auto pivot = std::real(a[j * n + j]);
    for (ptrdiff_t p = 0; p < j; p++) pivot -= std::norm(a[p * n + j]);
    a[j * n + j] = pivot;
    if (!(pivot > 0)) return;
    pivot = std::sqrt(pivot);
    a[j * n + j] = pivot;
    for (ptrdiff_t i = j + 1; i < n; i++) {
      T x = a[j * n + i];
      for (ptrdiff_t p = 0; p < j; p++) {
        if constexpr (std::is_floating_point_v<T>) x -= a[p * n + i] * a[p * n + j];
        else x -= a[p * n + i] * std::conj(a[p * n + j]);
      }
      a[j * n + i] = x / pivot;
    }
  }
}

// A matrix becomes its conjugate transpose.
template <class T>
void adjoin(T* a, ptrdiff_t n) {
  const auto conjugate = [](T x) {
    if constexpr (std::is_floating_point_v<T>) return x;
    else return std::conj(x);
  };
  for (ptrdiff_t j = 0; j < n; j++) {
    for (ptrdiff_t i = 0; i <= j; i++) {
      const T held = conjugate(a[j * n + i]);
      a[j * n + i] = conjugate(a[i * n + j]), a[i * n + j] = held;
    }
  }
}

// `info`: where a matrix is not positive; without, that is nothing.
Ref factored_cholesky(const TensorInfo& a, bool upper, Ref* info) {
  One one;
  if (!read_one(a, one, true)) return {};
  const DeviceType device = device_of(a);
  const Py_ssize_t n = one.a.rows;
  Ref out = matrices_ref(a.dtype, one.lead, n, n, device);
  Ref unasked;
  Ref& found = info ? *info : unasked;
  found = zeros_ref(DType::I32, one.lead.n, one.lead.shape, device);
  if (!has_memory(out) || !as_tensor(out)->numel()) return out;
  char* to = data_of(out);
  int* failed = data_of<int>(found);
  const ptrdiff_t step = n * n * item_size(a.dtype);
  const double work = cube(n, n) / 3;
  bool fine;
  {
    const Unlocked unlocked(release(one.lead, work), one.a.owner, out, found);
    fine = in_groups(one.lead.count, lapack::matrices_at_once(a.dtype, n, n), work, [&](ptrdiff_t i, ptrdiff_t count) {
      for (ptrdiff_t k = i; k < i + count; k++) load(one.a, one.a.at(one.lead, k), to + k * step);
      if (!lapack::cholesky(a.dtype, count, n, to + i * step, upper, failed + i)) return false;
      for (ptrdiff_t k = i; k < i + count; k++) {
        // What LAPACK lets pass: nan, and infinities before the last row.
        lapack::typed(a.dtype, [&]<class T>(T) {
          const T* x = reinterpret_cast<const T*>(to + k * step);
          for (ptrdiff_t d = 0; d < n && !failed[k]; d++) {
            const auto pivot = std::real(x[d * n + d]);
            if (std::isnan(pivot) || (std::isinf(pivot) && d + 1 < n))
              failed[k] = static_cast<int>(std::isnan(pivot) ? d + 1 : d + 2);
          }
        });
        if (!failed[k]) continue;
        if (!info) return false;
        load(one.a, one.a.at(one.lead, k), to + k * step);
        lapack::typed(a.dtype, [&]<class T>(T) {
          T* x = reinterpret_cast<T*>(to + k * step);
          if (upper) adjoin(x, n);
          part_of_factor(x, n);
          if (upper) adjoin(x, n);
        });
      }
      clear_triangle(a.dtype, to + i * step, count, n, n, upper);
      return true;
    });
  }
  return fine ? std::move(out) : Ref();
}
Ref cholesky(const TensorInfo& a, bool upper) { return factored_cholesky(a, upper, nullptr); }
Pair cholesky_ex(const TensorInfo& a, bool upper, bool check_errors) {
  Ref info, out = factored_cholesky(a, upper, &info);
  const bool fine = out && (!check_errors || !has_memory(info) || no_zero(data_of<int>(info), as_tensor(info)->numel()));
  return fine ? Pair(tuple_of(out, info)) : Pair();
}

// A @ X = B of the factor of A.
Ref cholesky_solve(const TensorInfo& b, const TensorInfo& a, bool upper) {
  Equation e;
  if (!read_equation(a, b, true, false, e)) return {};
  Ref out = solution_ref(e, device_of(a, b));
  if (!has_memory(out) || !as_tensor(out)->numel()) return out;
  char* to = data_of(out);
  const Py_ssize_t n = e.a.rows, k = e.b.columns;
  const ptrdiff_t item = item_size(a.dtype);
  const double work = 2. * n * k * n + 16;
  bool fine;
  {
    const Unlocked unlocked(release(e.lead, work), e.a.owner, e.b.owner, out);
    const ptrdiff_t group = std::min<ptrdiff_t>(lapack::matrices_at_once(a.dtype, n, n), e.lead.count);
    fine = in_groups(e.lead.count, group, work, [&](ptrdiff_t i, ptrdiff_t count) {
      const Workspace room(static_cast<double>(count) * static_cast<double>(n * n * item));
      if (!room.p) return false;
      for (ptrdiff_t j = 0; j < count; j++) {
        load(e.a, e.a.at(e.lead, i + j), room.p + j * n * n * item);
        load(e.b, e.b.at(e.lead, i + j), to + (i + j) * n * k * item);
      }
      return lapack::cholesky_solve(a.dtype, count, n, k, room.p, upper, to + i * n * k * item);
    });
  }
  return fine ? std::move(out) : Ref();
}

Ref cholesky_inverse(const TensorInfo& a, bool upper) {
  One one;
  if (!read_one(a, one, true)) return {};
  const Py_ssize_t n = one.a.rows;
  Ref out = matrices_ref(a.dtype, one.lead, n, n, device_of(a));
  if (!has_memory(out) || !as_tensor(out)->numel()) return out;
  char* to = data_of(out);
  const ptrdiff_t step = n * n * item_size(a.dtype);
  const double work = cube(n, n);
  constexpr Py_ssize_t kSolved = 300;  // up to here, measured, two solutions take less time than potri
  if (is_complex(a.dtype) || n <= kSolved) {  // of complex factors LAPACK reads a real diagonal
    const Unlocked unlocked(release(one.lead, work), one.a.owner, out);
    const bool done = in_groups(one.lead.count, lapack::matrices_at_once(a.dtype, n, n), work, [&](ptrdiff_t i, ptrdiff_t count) {
      const Workspace room(static_cast<double>(count) * static_cast<double>(step));
      if (!room.p) return false;
      for (ptrdiff_t j = 0; j < count; j++) load(one.a, one.a.at(one.lead, i + j), room.p + j * step);
      fill_identity(a.dtype, count, n, to + i * step);
      return lapack::cholesky_solve(a.dtype, count, n, n, room.p, upper, to + i * step);
    });
    return done ? std::move(out) : Ref();
  }
  bool fine;
  {
    const Unlocked unlocked(release(one.lead, work), one.a.owner, out);
    fine = in_groups(one.lead.count, 1, work, [&](ptrdiff_t i, ptrdiff_t) {
      int info = 0;
      load(one.a, one.a.at(one.lead, i), to + i * step);
      if (!lapack::cholesky_inverse(a.dtype, 1, n, to + i * step, upper, &info) || info) return false;
      lapack::typed(a.dtype, [&]<class T>(T) {  // the other triangle
        T* x = reinterpret_cast<T*>(to + i * step);
        for (ptrdiff_t j = 0; j < n; j++) {
          for (ptrdiff_t r = j + 1; r < n; r++) {
            T &low = x[j * n + r], &high = x[r * n + j];
            if constexpr (std::is_floating_point_v<T>) (upper ? low : high) = upper ? high : low;
            else (upper ? low : high) = std::conj(upper ? high : low);
          }
        }
      });
      return true;
    });
  }
  return fine ? std::move(out) : Ref();
}

// ---- QR and reflections

Pair geqrf(const TensorInfo& a) {
  One one;
  if (!read_one(a, one, false)) return {};
  const Py_ssize_t m = one.a.rows, n = one.a.columns, k = std::min(m, n);
  Ref out = matrices_ref(a.dtype, one.lead, m, n, device_of(a)), tau = vectors_ref(a.dtype, one.lead, k, device_of(a));
  if (!has_memory(out) || !as_tensor(out)->numel()) return tuple_of(out, tau);
  char *to = data_of(out), *factors = data_of(tau);
  const ptrdiff_t item = item_size(a.dtype), step = m * n * item;
  const double work = 2 * cube(m, n);
  bool fine;
  {
    const Unlocked unlocked(release(one.lead, work), one.a.owner, out, tau);
    fine = in_groups(one.lead.count, lapack::matrices_at_once(a.dtype, m, n), work, [&](ptrdiff_t i, ptrdiff_t count) {
      for (ptrdiff_t j = i; j < i + count; j++) load(one.a, one.a.at(one.lead, j), to + j * step);
      return lapack::qr(a.dtype, count, m, n, to + i * step, factors + i * k * item);
    });
  }
  return fine ? Pair(tuple_of(out, tau)) : Pair();
}

Pair qr(const TensorInfo& a, const OneOf<"reduced", "complete", "r">& how) {
  enum Mode { Reduced, Complete, OnlyR };
  One one;
  if (!read_one(a, one, false)) return {};
  const Mode mode = static_cast<Mode>(how.at);
  const DeviceType device = device_of(a);
  const Py_ssize_t m = one.a.rows, n = one.a.columns, k = std::min(m, n), none = 0;
  const Py_ssize_t columns = mode == Complete ? m : k, rows = mode == Complete ? m : k;
  Ref q = mode == OnlyR ? new_ref(a.dtype, 1, &none, device) : matrices_ref(a.dtype, one.lead, m, columns, device);
  Ref r = matrices_ref(a.dtype, one.lead, rows, n, device);
  if (!has_memory(r)) return tuple_of(q, r);
  if (!a.size()) {
    if (mode == Complete) fill_identity(a.dtype, one.lead.count, m, data_of(q));
    return tuple_of(q, r);
  }
  char *to_q = data_of(q), *to_r = data_of(r);
  const ptrdiff_t item = item_size(a.dtype);
  const double work = 4 * cube(m, n);
  bool fine;
  {
    const Unlocked unlocked(release(one.lead, work), one.a.owner, q, r);
    fine = in_groups(one.lead.count, lapack::matrices_at_once(a.dtype, m, n), work, [&](ptrdiff_t i, ptrdiff_t count) {
      const Workspace room(static_cast<double>(count) * static_cast<double>(m * n + k) * item);
      if (!room.p) return false;
      char *x = room.p, *tau = x + count * m * n * item;
      for (ptrdiff_t j = 0; j < count; j++) load(one.a, one.a.at(one.lead, i + j), x + j * m * n * item);
      if (!lapack::qr(a.dtype, count, m, n, x, tau)) return false;
      char *upper = to_r + i * rows * n * item, *left = to_q + i * m * columns * item;
      for (ptrdiff_t j = 0; j < count * n; j++) std::copy_n(x + j * m * item, rows * item, upper + j * rows * item);
      clear_triangle(a.dtype, upper, count, rows, n, true);
      if (mode == OnlyR) return true;
      for (ptrdiff_t j = 0; j < count; j++) std::copy_n(x + j * m * n * item, m * k * item, left + j * m * columns * item);
      return lapack::reflect_identity(a.dtype, count, m, columns, k, left, tau);
    });
  }
  return fine ? Pair(tuple_of(q, r)) : Pair();
}

Ref householder_product(const TensorInfo& a, const TensorInfo& tau) {
  One one;
  if (!read_one(a, one, false) || tau.dtype != a.dtype || tau.ndim != a.ndim - 1 || !same_sizes(a.ndim - 2, a.shape, tau.shape))
    return {};
  const Py_ssize_t m = one.a.rows, n = one.a.columns, k = tau.shape[tau.ndim - 1];
  if (m < n || k > n) return {};
  const Ref factors = contiguous(tau.tensor);
  Ref out = matrices_ref(a.dtype, one.lead, m, n, device_of(a, tau));
  if (!has_memory(out) || !a.size()) return out;
  char* to = data_of(out);
  const char* from = data_of(factors);
  const ptrdiff_t item = item_size(a.dtype), step = m * n * item;
  const double work = 4 * cube(m, n);
  bool fine;
  {
    const Unlocked unlocked(release(one.lead, work), one.a.owner, factors, out);
    fine = in_groups(one.lead.count, lapack::matrices_at_once(a.dtype, m, n), work, [&](ptrdiff_t i, ptrdiff_t count) {
      for (ptrdiff_t j = i; j < i + count; j++) load(one.a, one.a.at(one.lead, j), to + j * step);
      if (!k) return lapack::own::reflect_identity(a.dtype, count, m, n, 0, to + i * step, nullptr);
      return lapack::reflect_identity(a.dtype, count, m, n, k, to + i * step, from + i * k * item);
    });
  }
  return fine ? std::move(out) : Ref();
}

Ref ormqr(const TensorInfo& a, const TensorInfo& tau, const TensorInfo& c, bool left, bool transpose) {
  One one, other;
  if (!read_one(a, one, false) || !read_one(c, other, false) || tau.dtype != a.dtype || c.dtype != a.dtype || c.ndim != a.ndim ||
      tau.ndim != a.ndim - 1 || !same_sizes(a.ndim - 2, a.shape, tau.shape) || !same_sizes(a.ndim - 2, a.shape, c.shape))
    return {};
  const Py_ssize_t m = other.a.rows, n = other.a.columns, length = left ? m : n, k = tau.shape[tau.ndim - 1];
  if (one.a.rows != length || k != std::min(length, one.a.columns)) return {};
  const Ref factors = contiguous(tau.tensor);
  Ref out = matrices_ref(a.dtype, one.lead, m, n, device_of(a, tau, c));
  if (!has_memory(out) || !c.size()) return out;
  char* to = data_of(out);
  const char* from = data_of(factors);
  const ptrdiff_t item = item_size(a.dtype);
  one.a.columns = k;
  const double work = 4. * m * n * k + 16;
  bool fine;
  {
    const Unlocked unlocked(release(one.lead, work), one.a.owner, other.a.owner, factors, out);
    const ptrdiff_t step = m * n * item, held = length * k * item;
    const ptrdiff_t group = std::clamp<ptrdiff_t>((1 << 15) / (held + 1), 1, 64);
    fine = in_groups(one.lead.count, group, work, [&](ptrdiff_t i, ptrdiff_t count) {
      const Workspace room(static_cast<double>(count) * static_cast<double>(held));
      if (!room.p) return false;
      for (ptrdiff_t j = 0; j < count; j++) {
        load(one.a, one.a.at(one.lead, i + j), room.p + j * held);
        load(other.a, other.a.at(one.lead, i + j), to + (i + j) * step);
      }
      return !k || lapack::reflect(a.dtype, count, m, n, k, room.p, from + i * k * item, left, transpose, to + i * step);
    });
  }
  return fine ? std::move(out) : Ref();
}

// ---- eigenvalues and singular values

// Either triangle, by its letter.
struct Half {
  static constexpr Text kType = "str";
  bool read(const Argument& a) {
    if (!PyUnicode_Check(a.object) || PyUnicode_GET_LENGTH(a.object) != 1) return false;
    const Py_UCS4 letter = PyUnicode_READ_CHAR(a.object, 0) | 0x20;
    upper = letter == 'u';
    return upper || letter == 'l';
  }
  bool upper;
};

// The vectors are made where `vectors` is not null.
Ref eigen_symmetric(const TensorInfo& a, bool upper, Ref* vectors) {
  One one;
  if (!read_one(a, one, true)) return {};
  const Py_ssize_t n = one.a.rows;
  const DeviceType device = device_of(a);
  Ref values = vectors_ref(real_of(a.dtype), one.lead, n, device);
  if (vectors) *vectors = matrices_ref(a.dtype, one.lead, n, n, device);
  if (!has_memory(values) || !a.size()) return values;
  char *to = data_of(values), *to_vectors = vectors ? data_of(*vectors) : nullptr;
  const ptrdiff_t step = n * n * item_size(a.dtype), real = item_size(real_of(a.dtype));
  const double work = 8 * cube(n, n);
  bool fine;
  {
    const Unlocked unlocked(release(one.lead, work), one.a.owner, values, vectors ? as_tensor(*vectors) : nullptr);
    fine = in_groups(one.lead.count, lapack::matrices_at_once(a.dtype, n, n), work, [&](ptrdiff_t i, ptrdiff_t count) {
      const Workspace room(vectors ? 0 : static_cast<double>(count) * static_cast<double>(step));
      char* x = vectors ? to_vectors + i * step : room.p;
      if (!x) return false;
      for (ptrdiff_t j = 0; j < count; j++) load(one.a, one.a.at(one.lead, i + j), x + j * step);
      clear_triangle(a.dtype, x, count, n, n, upper);  // what is not read need not be finite
      return all_finite(a.dtype, x, count * n * n) && lapack::eigh(a.dtype, count, n, x, upper, vectors, to + i * n * real);
    });
  }
  return fine ? std::move(values) : Ref();
}
Pair eigh(const TensorInfo& a, const Half& half) {
  Ref vectors, values = eigen_symmetric(a, half.upper, &vectors);
  return values ? Pair(tuple_of(values, vectors)) : Pair();
}
Ref eigvalsh(const TensorInfo& a, const Half& half) { return eigen_symmetric(a, half.upper, nullptr); }

Ref eigen(const TensorInfo& a, Ref* vectors) {
  One one;
  if (!read_one(a, one, true)) return {};
  const Py_ssize_t n = one.a.rows;
  const DeviceType device = device_of(a);
  const DType type = complex_of(a.dtype);
  Ref values = vectors_ref(type, one.lead, n, device);
  if (vectors) *vectors = matrices_ref(type, one.lead, n, n, device);
  if (!has_memory(values) || !a.size()) return values;
  char *to = data_of(values), *to_vectors = vectors ? data_of(*vectors) : nullptr;
  const ptrdiff_t step = n * n * item_size(a.dtype), item = item_size(type);
  const double work = 30 * cube(n, n);
  bool fine;
  {
    const Unlocked unlocked(release(one.lead, work), one.a.owner, values, vectors ? as_tensor(*vectors) : nullptr);
    fine = in_groups(one.lead.count, 1, work, [&](ptrdiff_t i, ptrdiff_t) {
      const Workspace room(static_cast<double>(step));
      if (!room.p) return false;
      load(one.a, one.a.at(one.lead, i), room.p);
      return all_finite(a.dtype, room.p, n * n) &&
             lapack::eig(a.dtype, 1, n, room.p, to + i * n * item, vectors ? to_vectors + i * n * n * item : nullptr);
    });
  }
  return fine ? std::move(values) : Ref();
}
Pair eig(const TensorInfo& a) {
  Ref vectors, values = eigen(a, &vectors);
  return values ? Pair(tuple_of(values, vectors)) : Pair();
}
Ref eigvals(const TensorInfo& a) { return eigen(a, nullptr); }

// Matrices with nan have no values; those with infinities, on which LAPACK may never end, have nan.
Ref singular(const TensorInfo& a, bool full, Ref* u, Ref* vh) {
  One one;
  if (!read_one(a, one, false)) return {};
  const Py_ssize_t m = one.a.rows, n = one.a.columns, k = std::min(m, n), columns = full ? m : k, rows = full ? n : k;
  const DeviceType device = device_of(a);
  Ref values = vectors_ref(real_of(a.dtype), one.lead, k, device);
  if (u) *u = matrices_ref(a.dtype, one.lead, m, columns, device), *vh = matrices_ref(a.dtype, one.lead, rows, n, device);
  if (!has_memory(values)) return values;
  char *to = data_of(values), *left = u ? data_of(*u) : nullptr, *right = u ? data_of(*vh) : nullptr;
  if (!a.size()) {
    if (u && full) fill_identity(a.dtype, one.lead.count, m, left), fill_identity(a.dtype, one.lead.count, n, right);
    return values;
  }
  const ptrdiff_t item = item_size(a.dtype), step = m * n * item, real = item_size(real_of(a.dtype));
  const double work = 20 * cube(m, n);
  bool fine;
  {
    const Unlocked unlocked(release(one.lead, work), one.a.owner, values, u ? as_tensor(*u) : nullptr,
                            u ? as_tensor(*vh) : nullptr);
    fine = in_groups(one.lead.count, lapack::matrices_at_once(a.dtype, m, n), work, [&](ptrdiff_t i, ptrdiff_t count) {
      const Workspace room(static_cast<double>(count) * static_cast<double>(step));
      if (!room.p) return false;
      for (ptrdiff_t j = 0; j < count; j++) load(one.a, one.a.at(one.lead, i + j), room.p + j * step);
      const bool finite = all_finite(a.dtype, room.p, count * m * n);
      if (!finite && has_nan(a.dtype, room.p, count * m * n)) return false;
      for (ptrdiff_t j = 0; j < count && !finite; j++)
        if (!all_finite(a.dtype, room.p + j * step, m * n)) std::fill_n(room.p + j * step, step, 0);
      char *us = u ? left + i * m * columns * item : nullptr, *vhs = u ? right + i * rows * n * item : nullptr;
      if (!lapack::svd(a.dtype, count, m, n, room.p, full, us, to + i * k * real, vhs)) return false;
      for (ptrdiff_t j = 0; j < count && !finite; j++) {
        load(one.a, one.a.at(one.lead, i + j), room.p);
        if (all_finite(a.dtype, room.p, m * n)) continue;
        fill_nan(real_of(a.dtype), to + (i + j) * k * real, k);
        if (u) fill_nan(a.dtype, us + j * m * columns * item, m * columns), fill_nan(a.dtype, vhs + j * rows * n * item, rows * n);
      }
      return true;
    });
  }
  return fine ? std::move(values) : Ref();
}
Triple svd(const TensorInfo& a, bool full_matrices) {
  Ref u, vh, s = singular(a, full_matrices, &u, &vh);
  return s ? Triple(tuple_of(u, s, vh)) : Triple();
}
Ref svdvals(const TensorInfo& a) { return singular(a, false, nullptr, nullptr); }

// ---- least squares

using Driver = OneOf<"gels", "gelsy", "gelsd", "gelss">;

Result<"tuple[Tensor, Tensor, Tensor, Tensor]"> lstsq(const TensorInfo& a, const TensorInfo& b, const std::optional<double>& rcond,
                                                      const Driver& driver) {
  if (!is_matrix_type(a.dtype) || b.dtype != a.dtype || a.ndim < 2 || b.ndim < 2 || !a.size() || !b.size()) return {};
  Operand x = operand(a, 2), y = operand(b, 2);
  Lead lead;
  if (x.rows != y.rows || !lapack::fits_lapack(x.rows, x.columns) || !lapack::fits_lapack(std::max(x.rows, x.columns), y.columns) ||
      !lead_of(lead, {{&a, &x}, {&b, &y}}, {2, 2}))
    return {};
  const DeviceType device = device_of(a, b);
  if (device == DeviceType::Meta) return {};  // the shapes depend on values
  const Py_ssize_t m = x.rows, n = x.columns, k = y.columns, least = std::min(m, n), most = std::max(m, n), none = 0;
  const char which = "\0yds"[driver.at];
  const bool valued = which == 'd' || which == 's';
  const DType real = real_of(a.dtype);
  const auto nothing = [&](DType dtype) { return new_ref(dtype, 1, &none, device); };
  Ref solution = matrices_ref(a.dtype, lead, n, k, device);
  Ref left = m > n && which != 'y' ? vectors_ref(real, lead, k, device) : nothing(real);
  Ref ranks = which ? numbers_ref(DType::I64, lead, device) : nothing(DType::I64);
  Ref values = valued ? vectors_ref(real, lead, least, device) : nothing(real);
  char *to = data_of(solution), *to_left = data_of(left), *to_values = data_of(values);
  int64_t* to_ranks = data_of<int64_t>(ranks);
  const bool sums = as_tensor(left)->numel() > 0;
  const ptrdiff_t item = item_size(a.dtype), real_item = item_size(real);
  const double epsilon = real == DType::F32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
  const double bound = rcond.value_or(epsilon * static_cast<double>(most)), work = 8 * cube(m, n);
  bool fine;
  {
    const Unlocked unlocked(release(lead, work), x.owner, y.owner, solution, left, ranks, values);
    fine = in_groups(lead.count, 1, work, [&](ptrdiff_t i, ptrdiff_t) {
      const Workspace room((static_cast<double>(m) * n + static_cast<double>(most) * k) * item);
      if (!room.p) return false;
      char* right = room.p + m * n * item;
      std::fill_n(right, most * k * item, 0);
      load(x, x.at(lead, i), room.p);
      load(y, y.at(lead, i), right, most);
      if (!all_finite(a.dtype, room.p, m * n + most * k)) return false;
      if (!lapack::least_squares(a.dtype, which, m, n, k, room.p, right, bound,
                                 valued ? to_values + i * least * real_item : nullptr, which ? to_ranks + i : nullptr))
        return false;
      for (ptrdiff_t j = 0; j < k; j++) std::copy_n(right + j * most * item, n * item, to + (i * k + j) * n * item);
      if (!sums) return true;
      lapack::typed(a.dtype, [&]<class T>(T) {
        using R = decltype(std::abs(T()));
        for (ptrdiff_t j = 0; j < k; j++) {
          R sum = 0;
          for (ptrdiff_t r = n; r < m; r++) sum += std::norm(reinterpret_cast<const T*>(right)[j * most + r]);
          reinterpret_cast<R*>(to_left)[i * k + j] = sum;
        }
      });
      return true;
    });
  }
  if (!fine) return {};
  // What remains is known where all matrices have full rank.
  if (sums && which && !std::all_of(to_ranks, to_ranks + lead.count, [n](int64_t r) { return r == n; })) left = nothing(real);
  return tuple_of(solution, left, ranks, values);
}

// ---- LDL

Triple ldl_factor_ex(const TensorInfo& a, bool hermitian, bool check_errors) {
  One one;
  if (!read_one(a, one, true)) return {};
  const Py_ssize_t n = one.a.rows;
  const DeviceType device = device_of(a);
  Ref out = matrices_ref(a.dtype, one.lead, n, n, device), pivots = vectors_ref(DType::I32, one.lead, n, device),
      info = numbers_ref(DType::I32, one.lead, device);
  if (!has_memory(out)) return tuple_of(out, pivots, info);
  char* to = data_of(out);
  int *exchanges = data_of<int>(pivots), *failed = data_of<int>(info);
  std::fill_n(failed, one.lead.count, 0);
  if (!a.size()) return tuple_of(out, pivots, info);
  const ptrdiff_t item = item_size(a.dtype), step = n * n * item;
  const double work = cube(n, n) / 3;
  bool fine;
  {
    const Unlocked unlocked(release(one.lead, work), one.a.owner, out, pivots, info);
    fine = in_groups(one.lead.count, 1, work, [&](ptrdiff_t i, ptrdiff_t) {
      load(one.a, one.a.at(one.lead, i), to + i * step);
      clear_triangle(a.dtype, to + i * step, 1, n, n, false);
      // The library's search for a pivot is not made for nan.
      const auto ldl = all_finite(a.dtype, to + i * step, n * n) ? lapack::ldl : lapack::own::ldl;
      return ldl(a.dtype, 1, n, hermitian && is_complex(a.dtype), to + i * step, exchanges + i * n, failed + i);
    });
  }
  if (!fine || (check_errors && !no_zero(failed, one.lead.count))) return {};
  return tuple_of(out, pivots, info);
}
Pair ldl_factor(const TensorInfo& a, bool hermitian) {
  const Ref found = ldl_factor_ex(a, hermitian, true);
  return found ? Pair(owned(PyTuple_GetSlice(found.get(), 0, 2))) : Pair();
}

// Whether pivots are those of rows, and those of blocks come in pairs.
bool are_blocks(const int* pivots, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; i++) {
    const int p = pivots[i];
    if (p == 0 || p > n || p < -n) return false;
    if (p < 0 && (++i == n || pivots[i] >= 0 || pivots[i] < -n)) return false;
  }
  return true;
}
Ref ldl_solve(const TensorInfo& a, const TensorInfo& pivots, const TensorInfo& b, bool hermitian) {
  Equation e;
  if (!read_equation(a, b, true, false, e) || pivots.dtype != DType::I32 || pivots.ndim != a.ndim - 1 ||
      !same_sizes(pivots.ndim, pivots.shape, a.shape))
    return {};
  const Ref rows = contiguous(pivots.tensor);
  const TensorInfo exchanges = info_of(rows);
  Operand p = operand(exchanges, 1);
  Lead lead;
  if (!lead_of(lead, {{&a, &e.a}, {&b, &e.b}, {&exchanges, &p}}, {2, 2, 1})) return {};
  Ref out = solution_ref(e, device_of(a, pivots, b));
  if (!has_memory(out)) return out;
  if (!as_tensor(out)->numel()) return out;
  const Py_ssize_t n = e.a.rows, k = e.b.columns;
  char* to = data_of(out);
  const ptrdiff_t item = item_size(a.dtype);
  const double work = 2. * n * n * k + 16;
  bool fine;
  {
    const Unlocked unlocked(release(lead, work), e.a.owner, e.b.owner, p.owner, out);
    fine = in_groups(lead.count, 1, work, [&](ptrdiff_t i, ptrdiff_t) {
      const int* steps = reinterpret_cast<const int*>(p.at(lead, i));
      const Workspace room(static_cast<double>(n) * n * item);
      if (!room.p || !are_blocks(steps, n)) return false;
      load(e.a, e.a.at(lead, i), room.p);
      load(e.b, e.b.at(lead, i), to + i * n * k * item);
      return lapack::ldl_solve(a.dtype, 1, n, k, hermitian && is_complex(a.dtype), room.p, steps, to + i * n * k * item);
    });
  }
  return fine ? std::move(out) : Ref();
}

const KernelRows rows{
    long_kernel<lu_factor, "lu_factor(a): (LU, pivots)">(Border::Refuses),
    long_kernel<lu_factor_ex, "lu_factor_ex(a, pivot, check_errors): (LU, pivots, info)">(Border::Refuses),
    long_kernel<lu_factor_regular, "lu_factor_regular(a, pivot): (LU, pivots) without a zero pivot">(Border::Refuses),
    long_kernel<lu_unpack, "lu_unpack(lu): (L, U)">(Border::Refuses),
    long_kernel<lu_parts, "lu_parts(a, lu, pivots): (L, U)">(Border::Refuses),
    long_kernel<lu_info, "lu_info(lu): the number of the first zero pivot, or 0">(Border::Refuses),
    long_kernel<pivot_matrix, "pivot_matrix(pivots, m): the permutations of m rows">(Border::Refuses),
    long_kernel<lu_solve, "lu_solve(lu, pivots, b, left, adjoint)">(Border::Refuses),
    long_kernel<solve, "solve(a, b, left)">(Border::Refuses),
    long_kernel<solve_ex, "solve_ex(a, b, left, check_errors): (x, info)">(Border::Refuses),
    long_kernel<inverse, "inverse(a)">(Border::Refuses),
    long_kernel<inverse_ex, "inverse_ex(a, check_errors): (inverse, info)">(Border::Refuses),
    long_kernel<det, "det(a)">(Border::Refuses),
    long_kernel<slogdet, "slogdet(a): (sign, logabsdet)">(Border::Refuses),
    long_kernel<solve_triangular, "solve_triangular(a, b, upper, left, unitriangular)">(Border::Refuses),
    long_kernel<cholesky, "cholesky(a, upper)">(Border::Refuses),
    long_kernel<cholesky_ex, "cholesky_ex(a, upper, check_errors): (L, info)">(Border::Refuses),
    long_kernel<cholesky_solve, "cholesky_solve(b, factor, upper)">(Border::Refuses),
    long_kernel<cholesky_inverse, "cholesky_inverse(factor, upper)">(Border::Refuses),
    long_kernel<geqrf, "geqrf(a): (a, tau)">(Border::Refuses),
    long_kernel<qr, "qr(a, mode): (Q, R)">(Border::Refuses),
    long_kernel<householder_product, "householder_product(a, tau)">(Border::Refuses),
    long_kernel<ormqr, "ormqr(a, tau, c, left, transpose)">(Border::Refuses),
    long_kernel<eigh, "eigh(a, uplo): (values, vectors)">(Border::Refuses),
    long_kernel<eigvalsh, "eigvalsh(a, uplo)">(Border::Refuses),
    long_kernel<eig, "eig(a): (values, vectors)">(Border::Refuses),
    long_kernel<eigvals, "eigvals(a)">(Border::Refuses),
    long_kernel<svd, "svd(a, full_matrices): (U, S, Vh)">(Border::Refuses),
    long_kernel<svdvals, "svdvals(a)">(Border::Refuses),
    long_kernel<lstsq, "lstsq(a, b, rcond, driver): (solution, residuals, rank, singular_values)">(Border::Refuses),
    long_kernel<ldl_factor_ex, "ldl_factor_ex(a, hermitian, check_errors): (LD, pivots, info)">(Border::Refuses),
    long_kernel<ldl_factor, "ldl_factor(a, hermitian): (LD, pivots)">(Border::Refuses),
    long_kernel<ldl_solve, "ldl_solve(ld, pivots, b, hermitian)">(Border::Refuses),
};

}  // namespace
}  // namespace rushlight
