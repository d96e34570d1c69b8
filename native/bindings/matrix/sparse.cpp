// Sparse tensors: products with dense matrices, their places in order, and their dense form. `first` and `second` are where each
// row's values begin and the columns of the values; without a second, `first` has a row of coordinates for each sparse dimension.
// Values of other types than float32 and float64, and places outside of the tensor, have no kernel: the caller says what is wrong.
#include "bindings/kernel.h"
#include "kernels/sparse.h"

#include <algorithm>
#include <atomic>
#include <exception>

namespace rushlight {
namespace {

bool is_real(const TensorInfo& a) { return a.dtype == DType::F32 || a.dtype == DType::F64; }
bool is_release(Py_ssize_t work) { return work * 8 > kReleaseGilBytes; }

// The places of a matrix, in memory that the kernels read.
struct Held {
  Entries at{};
  Ref first, second;
  bool read(const TensorInfo& a, const TensorOrNone& b, Py_ssize_t rows, Py_ssize_t columns) {
    if (rows < 0 || columns < 0 || is_meta(a, b)) return false;
    at.compressed = b.tensor;
    at.n_rows = rows, at.n_columns = columns;
    at.wide = !at.compressed || a.dtype != DType::I32 || b.dtype != DType::I32;
    if (at.compressed ? a.ndim != 1 || b.ndim != 1 || a.shape[0] != rows + 1 : a.ndim != 2 || a.shape[0] != 2) return false;
    first = contiguous_as(a.tensor, at.wide ? DType::I64 : DType::I32);
    if (at.compressed) second = contiguous_as(b.tensor, at.wide ? DType::I64 : DType::I32);
    at.n = at.compressed ? b.shape[0] : a.shape[1];
    at.rows = data_of(first);
    at.columns = at.compressed ? data_of(second) : data_of(first) + at.n * 8;
    return true;
  }
};

Ref product(const TensorInfo& first, const TensorOrNone& second, const TensorInfo& values, const TensorInfo& dense, Py_ssize_t rows,
            Py_ssize_t columns, bool transposed) {
  Held held;
  if (!is_real(values) || dense.dtype != values.dtype || is_meta(values, dense) || dense.ndim < 1 || dense.ndim > 2) return {};
  if (!held.read(first, second, rows, columns) || values.ndim != 1 || values.shape[0] != held.at.n) return {};
  if (dense.shape[0] != (transposed ? rows : columns)) return {};
  const Ref v = contiguous(values.tensor), x = contiguous(dense.tensor);
  const Py_ssize_t k = dense.ndim == 2 ? dense.shape[1] : 1, shape[2] = {transposed ? columns : rows, k};
  Ref out = zeros_ref(values.dtype, dense.ndim, shape, DeviceType::Cpu);
  std::atomic<bool> inside{true};
  const Py_ssize_t work = held.at.n * k;
  {
    Unlocked unlocked(is_release(work), held.first, held.second, v, x, out);
    const Py_ssize_t parted = parted_by_rows(held.at, transposed) ? rows : k;
    parallel(parted, kThreadElements * parted / (work + 1) + 16, [&](ptrdiff_t begin, ptrdiff_t end) {
      if (!add_product(values.dtype, held.at, transposed, data_of(v), data_of(x), k, data_of(out), begin, end)) inside = false;
    });
  }
  return inside ? std::move(out) : Ref();
}

Ref dots(const TensorInfo& first, const TensorOrNone& second, const TensorInfo& x, const TensorInfo& y) {
  Held held;
  if (!is_real(x) || x.dtype != y.dtype || is_meta(x, y) || x.ndim != 2 || y.ndim != 2 || x.shape[1] != y.shape[1]) return {};
  if (!held.read(first, second, x.shape[0], y.shape[0])) return {};
  const Ref a = contiguous(x.tensor), b = contiguous(y.tensor);
  const Py_ssize_t k = x.shape[1];
  Ref out = new_ref(x.dtype, 1, &held.at.n, DeviceType::Cpu);
  Unlocked unlocked(is_release(held.at.n * k), held.first, held.second, a, b, out);
  return dot_products(x.dtype, held.at, data_of(a), data_of(b), k, data_of(out)) ? std::move(out) : Ref();
}

// How many elements of the sparse dimensions come before each value.
bool read_keys(const TensorInfo& first, const TensorOrNone& second, const Shape& sizes, Ref& keys, Ref& places) {
  Py_ssize_t all = 1;
  for (int d = 0; d < sizes.n; d++)
    if (__builtin_mul_overflow(all, sizes.at[d], &all)) return false;
  if (second.tensor) {
    Held held;
    if (sizes.n != 2 || !held.read(first, second, sizes.at[0], sizes.at[1])) return false;
    keys = new_ref(DType::I64, 1, &held.at.n, DeviceType::Cpu);
    return keys_of(held.at, data_of<int64_t>(keys));
  }
  if (is_meta(first) || first.ndim != 2 || first.shape[0] != sizes.n) return false;
  const Py_ssize_t n = first.shape[1];
  places = contiguous_as(first.tensor, DType::I64);
  keys = zeros_ref(DType::I64, 1, &n, DeviceType::Cpu);
  int64_t* to = data_of<int64_t>(keys);
  bool inside = true;
  for (int d = 0; d < sizes.n; d++) {
    const int64_t* at = data_of<int64_t>(places) + d * n;
    for (Py_ssize_t i = 0; i < n; i++) {
      const int64_t index = at[i];
      inside &= static_cast<uint64_t>(index) < static_cast<uint64_t>(sizes.at[d]);
      to[i] = static_cast<int64_t>(static_cast<uint64_t>(to[i]) * static_cast<uint64_t>(sizes.at[d]) +
                                   static_cast<uint64_t>(index));
    }
  }
  return inside;
}

// Whether there is a value for each of the n places.
bool is_each(const TensorInfo& values, const Ref& keys) {
  return is_real(values) && !is_meta(values) && values.ndim >= 1 && values.shape[0] == as_tensor(keys)->numel();
}
Py_ssize_t width_of(const TensorInfo& values) {
  Py_ssize_t width = 1;
  for (int d = 1; d < values.ndim; d++) width *= values.shape[d];
  return width;
}

// Where in ascending numbers of rows each of the rows begins, and the last one ends.
Ref begins(const int64_t* row, Py_ssize_t n, Py_ssize_t count) {
  const Py_ssize_t size = count + 1;
  Ref out = new_ref(DType::I64, 1, &size, DeviceType::Cpu);
  int64_t *to = data_of<int64_t>(out), next = 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    if (row[i] < next - 1 || row[i] < 0 || row[i] >= count) return {};
    while (next <= row[i]) to[next++] = i;
  }
  while (next < size) to[next++] = n;
  return out;
}

Ref starts_of(const TensorInfo& rows, Py_ssize_t count) {
  if (rows.ndim != 1 || is_meta(rows) || count < 0) return {};
  const Ref held = contiguous_as(rows.tensor, DType::I64);
  return begins(data_of<int64_t>(held), rows.shape[0], count);
}

// Of two coalesced matrices.
Pair multiply_both(const TensorInfo& a_indices, const TensorInfo& a_values, const TensorInfo& b_indices, const TensorInfo& b_values,
                   Py_ssize_t rows, Py_ssize_t inner, Py_ssize_t columns) {
  constexpr Py_ssize_t kMost = 1 << 24;  // a row of sums is held, and a number for each row
  if (!is_real(a_values) || a_values.dtype != b_values.dtype || std::max({rows, inner, columns}) > kMost) return {};
  Held a, b;
  if (!a.read(a_indices, {}, rows, inner) || !b.read(b_indices, {}, inner, columns)) return {};
  if (a_values.ndim != 1 || a_values.shape[0] != a.at.n || b_values.ndim != 1 || b_values.shape[0] != b.at.n) return {};
  const Ref v = contiguous(a_values.tensor), w = contiguous(b_values.tensor);
  Ref starts[2];
  Held* both[2] = {&a, &b};
  for (int i = 0; i < 2; i++) {
    Entries& at = both[i]->at;
    starts[i] = begins(static_cast<const int64_t*>(at.rows), at.n, at.n_rows);
    if (!starts[i]) return {};
    at.rows = data_of(starts[i]);
    at.compressed = true;
  }
  SparseProduct found;
  try {
    Unlocked unlocked(is_release(a.at.n + b.at.n), a.first, b.first, starts[0], starts[1], v, w);
    if (!multiply(a_values.dtype, a.at, data_of(v), b.at, data_of(w), found)) return {};
  } catch (const std::exception&) {
    return no_memory();
  }
  const Py_ssize_t count = static_cast<Py_ssize_t>(found.rows.size()), shape[2] = {2, count};
  Ref indices = new_ref(DType::I64, 2, shape, DeviceType::Cpu), values = new_ref(a_values.dtype, 1, &count, DeviceType::Cpu);
  std::copy(found.rows.begin(), found.rows.end(), data_of<int64_t>(indices));
  std::copy(found.columns.begin(), found.columns.end(), data_of<int64_t>(indices) + count);
  std::copy(found.values.begin(), found.values.end(), data_of(values));
  return tuple_of(indices, values);
}

Ref dense_of(const TensorInfo& first, const TensorOrNone& second, const TensorInfo& values, const Shape& sizes) {
  Ref keys, places;
  if (!read_keys(first, second, sizes, keys, places) || !is_each(values, keys)) return {};
  if (sizes.n + values.ndim - 1 > kMaxDims) return {};
  Py_ssize_t shape[2 * kMaxDims];
  std::copy_n(sizes.at, sizes.n, shape);
  std::copy(values.shape + 1, values.shape + values.ndim, shape + sizes.n);
  const Ref v = contiguous(values.tensor);
  Ref out = zeros_ref(values.dtype, sizes.n + values.ndim - 1, shape, DeviceType::Cpu);
  const Py_ssize_t width = width_of(values);
  Unlocked unlocked(is_release(values.size()), v, out, keys);
  add_at_keys(values.dtype, data_of<int64_t>(keys), values.shape[0], data_of(v), width, data_of(out));
  return out;
}

Pair coalesce(const TensorInfo& indices, const TensorInfo& values, const Shape& sizes) {
  Ref keys, places;
  if (!read_keys(indices, {}, sizes, keys, places) || !is_each(values, keys)) return {};
  const int64_t* key = data_of<int64_t>(keys);
  const Py_ssize_t n = values.shape[0];
  Py_ssize_t rising = std::min<Py_ssize_t>(n, 1);
  while (rising < n && key[rising - 1] < key[rising]) rising++;
  if (rising == n) return tuple_of(Ref::borrow(as_object(indices.tensor)), Ref::borrow(as_object(values.tensor)));
  const Workspace memory(2.0 * static_cast<double>(sizeof(Keyed)) * static_cast<double>(n));
  if (!memory.p) return no_memory();
  Keyed* sorted = reinterpret_cast<Keyed*>(memory.p);
  {
    Unlocked unlocked(is_release(n), keys, places);
    for (Py_ssize_t i = 0; i < n; i++) sorted[i] = {key[i], i};
    sort_keys(sorted, sorted + n, n);
  }
  Py_ssize_t count = 1;
  for (Py_ssize_t i = 1; i < n; i++) count += sorted[i].key != sorted[i - 1].key;

  Py_ssize_t shape[kMaxDims];
  std::copy_n(values.shape, values.ndim, shape);
  shape[0] = count;
  const Py_ssize_t at_shape[2] = {sizes.n, count};
  Ref at = new_ref(DType::I64, 2, at_shape, DeviceType::Cpu), sums = new_ref(values.dtype, values.ndim, shape, DeviceType::Cpu);
  const Ref v = contiguous(values.tensor);
  int64_t* to = data_of<int64_t>(at);
  for (int d = 0; d < sizes.n; d++) {
    const int64_t* from = data_of<int64_t>(places) + d * n;
    for (Py_ssize_t i = 0; i < n; i++)
      if (!i || sorted[i].key != sorted[i - 1].key) *to++ = from[sorted[i].place];
  }
  add_equal(values.dtype, sorted, n, data_of(v), width_of(values), data_of(sums));
  return tuple_of(at, sums);
}

// The other way: the number of the row of each value.
Ref rows_of(const TensorInfo& starts, Py_ssize_t n) {
  if (starts.ndim != 1 || starts.shape[0] < 1 || is_meta(starts)) return {};
  const Ref held = contiguous_as(starts.tensor, DType::I64);
  const int64_t* start = data_of<int64_t>(held);
  const Py_ssize_t count = starts.shape[0] - 1;
  for (Py_ssize_t row = 0; row < count; row++)
    if (start[row] > start[row + 1]) return {};
  if (start[0] != 0 || start[count] != n) return {};
  Ref out = new_ref(DType::I64, 1, &n, DeviceType::Cpu);
  for (Py_ssize_t row = 0; row < count; row++)
    std::fill(data_of<int64_t>(out) + start[row], data_of<int64_t>(out) + start[row + 1], row);
  return out;
}

// The size as a torch.Size, where these are the indices and values of a tensor in coordinates of that size.
Object size_of(const TensorInfo& indices, const TensorInfo& values, Given<"tuple[int, ...]"> size) {
  const auto is_plain = [](const TensorInfo& a) { return !(a.tensor->flags & kNotPlain); };
  if (!PyTuple_Check(size.object) || !is_plain(indices) || !is_plain(values) || indices.dtype != DType::I64) return {};
  const Py_ssize_t n = PyTuple_GET_SIZE(size.object);
  if (indices.ndim != 2 || values.tensor->ndim() < 1 || n > kMaxDims || indices.shape[1] != values.shape[0]) return {};
  if (n != indices.shape[0] + values.ndim - 1) return {};
  Py_ssize_t sizes[kMaxDims];
  for (int i = 0; i < n; i++) {
    PyObject* item = PyTuple_GET_ITEM(size.object, i);
    if (!PyLong_Check(item)) return {};
    sizes[i] = PyLong_AsSsize_t(item);
    if (sizes[i] < 0) {
      PyErr_Clear();
      return {};
    }
  }
  if (!std::equal(values.shape + 1, values.shape + values.ndim, sizes + indices.shape[0])) return {};
  return Ref(shape_tuple(static_cast<int>(n), sizes));
}

const KernelRows rows{
    layout_kernel<size_of, "sparse_size(indices, values, size): it as a Size, where the tensors are on the CPU and fit">(),
    kernel<product,
           "sparse_product(first, second, values, dense, rows, columns, transposed): a sparse matrix, or the transposed "
           "one, times a dense matrix or vector">(),
    kernel<multiply_both,
           "sparse_multiply(a_indices, a_values, b_indices, b_values, rows, inner, columns): the indices and values of "
           "the product of two coalesced matrices">(),
    kernel<dots, "sparse_dots(first, second, x, y): of x @ y.T the elements at the places">(),
    kernel<dense_of, "sparse_to_dense(first, second, values, sizes): the dense tensor">(),
    kernel<coalesce, "sparse_coalesce(indices, values, sizes): each place once and in order, with the sum of its values">(),
    kernel<starts_of, "sparse_starts(rows, count): where in ascending rows each begins, and the last ends">(),
    kernel<rows_of, "sparse_rows(starts, n): the row of each of n values">(),
};

}  // namespace
}  // namespace rushlight
