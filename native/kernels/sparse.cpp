// The loops of sparse.h.
#include "kernels/sparse.h"

#include "kernels/dense.h"

#include <algorithm>
#include <type_traits>

namespace rushlight {

namespace {

template <class T>
const T* as(const void* p) {
  return static_cast<const T*>(p);
}
bool within(int64_t i, ptrdiff_t n) { return static_cast<uint64_t>(i) < static_cast<uint64_t>(n); }

// f(first value, behind the last, row) of values of one row that follow each other: of those values; of a compressed matrix, of those
// rows. False where f is, or where a row is outside of the matrix.
template <class I, class F>
bool walk_runs(const Entries& at, ptrdiff_t begin, ptrdiff_t end, const F& f) {
  const I* rows = as<I>(at.rows);
  if (!at.compressed) {
    for (ptrdiff_t i = begin, last; i < end; i = last) {
      const int64_t row = rows[i];
      for (last = i + 1; last < end && rows[last] == row;) last++;
      if (!within(row, at.n_rows) || !f(i, last, row)) return false;
    }
    return true;
  }
  if (rows[0] != 0 || rows[at.n_rows] != at.n) return false;
  for (ptrdiff_t row = begin; row < end; row++) {
    const int64_t first = rows[row], last = rows[row + 1];
    if (first < 0 || last < first || last > at.n || !f(first, last, row)) return false;
  }
  return true;
}
// f(value, row, column) of each.
template <class I, class F>
bool walk(const Entries& at, ptrdiff_t begin, ptrdiff_t end, const F& f) {
  const I* columns = as<I>(at.columns);
  return walk_runs<I>(at, begin, end, [&](ptrdiff_t first, ptrdiff_t last, int64_t row) {
    for (ptrdiff_t i = first; i < last; i++) {
      const int64_t column = columns[i];
      if (!within(column, at.n_columns)) return false;
      f(i, row, column);
    }
    return true;
  });
}
template <class F>
bool walk_all(const Entries& at, const F& f) {
  const ptrdiff_t end = at.compressed ? at.n_rows : at.n;
  return at.wide ? walk<int64_t>(at, 0, end, f) : walk<int32_t>(at, 0, end, f);
}

template <class F>
auto by_type(DType dtype, const F& f) {
  return dtype == DType::F32 ? f(float()) : f(double());
}

template <class T>
void add_multiple(T v, const T* __restrict x, T* __restrict out, ptrdiff_t k) {
  for (ptrdiff_t j = 0; j < k; j++) out[j] += v * x[j];
}

// out += the product, of `count` of the k columns; values of one row are taken together.
template <class I, class T>
bool add_runs(const Entries& at, ptrdiff_t begin, ptrdiff_t end, const T* v, const T* x, ptrdiff_t k, ptrdiff_t count, T* out) {
  constexpr ptrdiff_t kMany = 64;
  const I* columns = as<I>(at.columns);
  const auto add_rows = dense_kernels().add_rows;
  return walk_runs<I>(at, begin, end, [=, &at](ptrdiff_t first, ptrdiff_t last, int64_t row) {
    if (k == 1) {
      T sum = 0;
      for (ptrdiff_t i = first; i < last; i++) {
        if (!within(columns[i], at.n_columns)) return false;
        sum += v[i] * x[columns[i]];
      }
      out[row] += sum;
      return true;
    }
    const void* from[kMany];
    for (ptrdiff_t many; first < last; first += many) {
      many = std::min(last - first, kMany);
      for (ptrdiff_t i = 0; i < many; i++) {
        if (!within(columns[first + i], at.n_columns)) return false;
        from[i] = x + columns[first + i] * k;
      }
      add_rows(std::is_same_v<T, float> ? DType::F32 : DType::F64, from, v + first, many, count, out + row * k);
    }
    return true;
  });
}

}  // namespace

bool add_product(DType dtype, const Entries& at, bool transposed, const char* values, const char* dense, ptrdiff_t k, char* out,
                 ptrdiff_t begin, ptrdiff_t end) {
  return by_type(dtype, [&]<class T>(T) {
    const T *v = as<T>(values), *x = as<T>(dense);
    T* to = reinterpret_cast<T*>(out);
    const bool by_rows = parted_by_rows(at, transposed);
    const ptrdiff_t first = by_rows ? 0 : begin, count = by_rows ? k : end - begin;
    if (transposed) {
      return walk_all(at, [&](ptrdiff_t i, int64_t row, int64_t column) {
        add_multiple(v[i], x + row * k + first, to + column * k + first, count);
      });
    }
    const ptrdiff_t from = by_rows ? begin : 0, until = by_rows ? end : at.compressed ? at.n_rows : at.n;
    return at.wide ? add_runs<int64_t>(at, from, until, v, x + first, k, count, to + first)
                   : add_runs<int32_t>(at, from, until, v, x + first, k, count, to + first);
  });
}

bool dot_products(DType dtype, const Entries& at, const char* x, const char* y, ptrdiff_t k, char* out) {
  return by_type(dtype, [&]<class T>(T) {
    T* to = reinterpret_cast<T*>(out);
    return walk_all(at, [&](ptrdiff_t i, int64_t row, int64_t column) {
      const T *a = as<T>(x) + row * k, *b = as<T>(y) + column * k;
      T sums[8] = {};
      ptrdiff_t j = 0;
      for (; j + 8 <= k; j += 8)
        for (ptrdiff_t lane = 0; lane < 8; lane++) sums[lane] += a[j + lane] * b[j + lane];
      for (; j < k; j++) sums[0] += a[j] * b[j];
      to[i] = ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
    });
  });
}

bool multiply(DType dtype, const Entries& a, const char* a_values, const Entries& b, const char* b_values, SparseProduct& out) {
  return by_type(dtype, [&]<class T>(T) {
    const auto size = static_cast<size_t>(b.n_columns);
    std::vector<T> sums(size);
    std::vector<int64_t> row_of(size, -1), met;  // of each column the last row that met it; the columns that this row met
    int64_t last = -1;
    const auto finish = [&] {
      std::sort(met.begin(), met.end());
      for (const int64_t column : met) {
        const char* sum = reinterpret_cast<const char*>(&sums[static_cast<size_t>(column)]);
        out.values.insert(out.values.end(), sum, sum + sizeof(T));
      }
      out.rows.insert(out.rows.end(), met.size(), last);
      out.columns.insert(out.columns.end(), met.begin(), met.end());
      met.clear();
    };
    bool inside = true;
    inside &= walk_all(a, [&](ptrdiff_t i, int64_t row, int64_t inner) {
      if (row != last) finish(), last = row;
      const T v = as<T>(a_values)[i];
      inside &= walk<int64_t>(b, inner, inner + 1, [&](ptrdiff_t k, int64_t, int64_t column) {
        const auto at = static_cast<size_t>(column);
        const T term = v * as<T>(b_values)[k];
        if (row_of[at] == row) {
          sums[at] += term;
        } else {
          sums[at] = term, row_of[at] = row;
          met.push_back(column);
        }
      });
    });
    finish();
    return inside;
  });
}

bool keys_of(const Entries& at, int64_t* keys) {
  return walk_all(at, [&](ptrdiff_t i, int64_t row, int64_t column) { keys[i] = row * at.n_columns + column; });
}

void add_at_keys(DType dtype, const int64_t* keys, ptrdiff_t n, const char* values, ptrdiff_t width, char* out) {
  by_type(dtype, [&]<class T>(T) {
    const T* v = as<T>(values);
    for (ptrdiff_t i = 0; i < n; i++)
      for (ptrdiff_t j = 0; j < width; j++) reinterpret_cast<T*>(out)[keys[i] * width + j] += v[i * width + j];
  });
}

void sort_keys(Keyed* keys, Keyed* spare, ptrdiff_t n) {
  constexpr int kMostBits = 11;
  const int bits = n < 1024 ? 6 : kMostBits;  // a table of counts should be no longer than what is counted
  uint64_t most = 0;
  for (ptrdiff_t i = 0; i < n; i++) most |= static_cast<uint64_t>(keys[i].key);
  Keyed *from = keys, *to = spare;
  for (int shift = 0; shift < 64 && most >> shift; shift += bits) {
    const auto digit = [&](const Keyed& k) { return static_cast<uint64_t>(k.key) >> shift & ((1u << bits) - 1); };
    ptrdiff_t starts[(1 << kMostBits) + 1] = {};
    for (ptrdiff_t i = 0; i < n; i++) starts[digit(from[i]) + 1]++;
    for (int d = 0; d < 1 << bits; d++) starts[d + 1] += starts[d];
    for (ptrdiff_t i = 0; i < n; i++) to[starts[digit(from[i])]++] = from[i];
    std::swap(from, to);
  }
  if (from != keys) std::copy_n(from, n, keys);
}

ptrdiff_t add_equal(DType dtype, const Keyed* keys, ptrdiff_t n, const char* values, ptrdiff_t width, char* out) {
  return by_type(dtype, [&]<class T>(T) {
    ptrdiff_t found = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
      const bool again = i && keys[i].key == keys[i - 1].key;
      found += !again;
      const T* from = as<T>(values) + keys[i].place * width;
      T* to = reinterpret_cast<T*>(out) + (found - 1) * width;
      for (ptrdiff_t j = 0; j < width; j++) to[j] = again ? to[j] + from[j] : from[j];
    }
    return found;
  });
}

}  // namespace rushlight
