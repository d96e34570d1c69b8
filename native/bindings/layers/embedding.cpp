// Rows of a table by number, the sums of rows by number, and the largest elements of bags of rows.
//
// The functions answer NotImplemented to anything that is not in order: the Python side then finds out what to say. Sums go over the
// rows in order, for a block of columns at a time: blocks are what threads share out, so that they change no rounding. Halves are
// summed in float32.
#include "bindings/kernel.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "kernels/indexing.h"

namespace rushlight {
namespace {

constexpr Py_ssize_t kColumns = 32;

// Row numbers as contiguous int64, where they are not on meta.
struct RowNumbers : TensorInfo {
  static constexpr Text kType = "Tensor";
  bool read(const Argument& a) {
    if (!read_tensor(a.object, *this) || (dtype != DType::I64 && dtype != DType::I32)) return false;
    if (is_meta(*this)) return true;
    owner = contiguous_as(tensor, DType::I64);
    TensorInfo::operator=(info_of(owner));
    return true;
  }
  Ref owner;
};

// Numbers of rows in [0, n), each read once, because another thread may write it after the check. What is made of a wrong one is
// thrown away.
struct Numbers {
  const volatile int64_t* values;
  Py_ssize_t n;
  std::atomic<bool> inside{true};

  Numbers(const TensorInfo& index, Py_ssize_t n) : values(reinterpret_cast<const int64_t*>(index.data)), n(n) {}
  // -1 for a wrong one.
  Py_ssize_t at(Py_ssize_t i) {
    const int64_t k = values[i];
    if (static_cast<uint64_t>(k) < static_cast<uint64_t>(n)) return static_cast<Py_ssize_t>(k);
    inside.store(false, std::memory_order_relaxed);
    return -1;
  }
};

Ref embedding(const TensorInfo& weight, const RowNumbers& index, Py_ssize_t /* padding */) {
  if (weight.ndim != 2) return {};
  const DType dtype = weight.dtype;
  const Py_ssize_t item = item_size(dtype), n = weight.shape[0], columns = weight.shape[1], stride = weight.strides[0];
  if (columns > 1 && weight.strides[1] != item) return {};
  check_room(index.ndim);
  Py_ssize_t shape[kMaxDims];
  std::copy(index.shape, index.shape + index.ndim, shape);
  shape[index.ndim] = columns;
  Ref out = new_ref(dtype, index.ndim + 1, shape, device_of(weight, index));
  if (!has_memory(out)) return out;
  const Py_ssize_t rows = index.size();
  const size_t bytes = static_cast<size_t>(columns * item);
  Numbers numbers(index, n);
  const char* from = weight.data;
  char* to = data_of(out);
  {
    Unlocked unlocked(rows * columns * item > kReleaseGilBytes, weight, index, out);
    parallel_by(rows, columns, [&](ptrdiff_t begin, ptrdiff_t end) {
      for (ptrdiff_t i = begin; i < end; i++) {
        const Py_ssize_t k = numbers.at(i);
        if (k >= 0) std::memcpy(to + i * static_cast<ptrdiff_t>(bytes), from + k * stride, bytes);
      }
    });
  }
  return numbers.inside.load() ? std::move(out) : Ref();
}

// The sum of the rows of g of each number below n; row `padding` gets nothing.
Ref embedding_backward(const TensorInfo& g, const RowNumbers& index, Py_ssize_t padding, Py_ssize_t n) {
  if (!g.is_float_or_half() || g.ndim < 1 || n < 0) return {};
  if (index.ndim + 1 != g.ndim || !same_sizes(index.ndim, index.shape, g.shape)) return {};
  const DeviceType device = device_of(g, index);
  const DType wanted = g.dtype, type = computed_in(wanted);
  const Py_ssize_t columns = g.shape[g.ndim - 1], rows = index.size(), shape[2] = {n, columns};
  if (device == DeviceType::Meta) return new_ref(wanted, 2, shape, device);
  Ref gc = contiguous_as(g.tensor, type), out = zeros_ref(type, 2, shape, device);
  Numbers numbers(index, n);
  const char* from = data_of(gc);
  char* to = data_of(out);
  {
    Unlocked unlocked(rows * columns * item_size(type) > kReleaseGilBytes, gc, index, out);
    const auto add = [&]<class T>(const T* g_rows, T* sums) {
      parallel_by((columns + kColumns - 1) / kColumns, rows * kColumns, [&](ptrdiff_t begin, ptrdiff_t end) {
        const Py_ssize_t low = begin * kColumns, high = std::min(end * kColumns, columns);
        for (Py_ssize_t i = 0; i < rows; i++) {
          const Py_ssize_t k = numbers.at(i);
          if (k < 0 || k == padding) continue;
          const T* a = g_rows + i * columns;
          T* b = sums + k * columns;
          for (Py_ssize_t j = low; j < high; j++) b[j] += a[j];
        }
      });
    };
    by_type(type, add, from, to);
  }
  if (!numbers.inside.load()) return {};
  return rounded(std::move(out), wanted);
}

// Bags of row numbers: bag b has those from offsets[b] on, up to where the next one begins.
struct Bags {
  Py_ssize_t rows, columns, stride, many, total;  // of the table; bags, and row numbers in all of them
  const int64_t* offsets;
  Ref offsets_owner, table;
  Py_ssize_t begin(Py_ssize_t b) const { return offsets[b]; }
  Py_ssize_t end(Py_ssize_t b) const { return b + 1 < many ? offsets[b + 1] : total; }

  bool read(TensorInfo& weight, const RowNumbers& index, const RowNumbers& starts) {
    if (!weight.is_float_or_half() || weight.ndim != 2 || index.ndim != 1 || starts.ndim != 1 || is_meta(weight, index, starts))
      return false;
    const Py_ssize_t item = item_size(weight.dtype);
    if ((weight.shape[1] > 1 && weight.strides[1] != item) || !weight.tensor->is_aligned()) {
      table = owned(contiguous_copy(weight.tensor));
      weight = info_of(table);
    }
    rows = weight.shape[0], columns = weight.shape[1], stride = weight.strides[0] / item;
    offsets_owner = owned(contiguous_copy(starts.tensor));
    offsets = data_of<int64_t>(offsets_owner), many = starts.size(), total = index.size();
    for (Py_ssize_t b = 0; b < many; b++)
      if (begin(b) < 0 || begin(b) > end(b) || end(b) > total) return false;
    return many ? offsets[0] == 0 : total == 0;
  }
  // The row numbers of a bag that count.
  Py_ssize_t count(Numbers& numbers, Py_ssize_t b, Py_ssize_t padding) const {
    if (padding < 0) return end(b) - begin(b);
    Py_ssize_t n = 0;
    for (Py_ssize_t i = begin(b); i < end(b); i++) n += numbers.at(i) != padding;
    return n;
  }
};

bool fits(const TensorInfo& scale, const TensorInfo& weight, const RowNumbers& index) {
  return !scale.tensor || (scale.dtype == weight.dtype && scale.ndim == 1 && scale.shape[0] == index.size());
}

constexpr int kTogether = 64;  // rows of a bag that are added at a time

// The table in another type or with rows that begin on lines of the cache.
Ref laid_table(TensorInfo& weight, DType type, Bags& b) {
  const Py_ssize_t item = item_size(type), line = 64 / item;
  b.stride = (b.columns + line - 1) / line * line;
  const Py_ssize_t strides[2] = {b.stride * item, item};
  Ref table = owned(new_strided(type, 2, weight.shape, strides, DeviceType::Cpu));
  copy_values(table, weight.tensor);
  weight = info_of(table);
  return table;
}

// The sum (mean) of the rows of each bag, times the scale where there is one. The table is laid out anew where bags have many times
// its rows, of halves where they have more; else halves are widened row by row.
Ref embedding_bag(TensorInfo& weight, const RowNumbers& index, const RowNumbers& offsets, const TensorOrNone& scale, bool mean,
                  Py_ssize_t padding) {
  Bags b;
  if (!fits(scale, weight, index) || !b.read(weight, index, offsets)) return {};
  const Py_ssize_t shape[2] = {b.many, b.columns};
  const DType own = weight.dtype, type = computed_in(own);
  Ref table;
  if (b.total / (type == own ? 8 : 1) >= b.rows && (type != own || b.columns > 16)) table = laid_table(weight, type, b);
  const bool half = type != weight.dtype;
  Ref out = zeros_ref(type, 2, shape, DeviceType::Cpu), by;
  if (scale.tensor) by = contiguous_as(scale.tensor, type);
  Numbers numbers(index, b.rows);
  const ptrdiff_t item = item_size(weight.dtype);
  const char *from = weight.data, *factors = by ? data_of(by) : nullptr;
  char* to = data_of(out);
  {
    Unlocked unlocked(b.total * b.columns * 4 > kReleaseGilBytes, weight, index, by, out);
    const auto run = [&]<class T>(const T* f, T* made) {
      parallel_by(b.many, b.total / (b.many + 1) * b.columns, [&](ptrdiff_t first, ptrdiff_t last) {
        for (ptrdiff_t bag = first; bag < last; bag++) {
          T* const sums = made + bag * b.columns;
          const void* rows[kTogether];
          T scales[kTogether];
          std::vector<T> wide(static_cast<size_t>(half ? kTogether * b.columns : 0));
          int n = 0;
          for (Py_ssize_t i = b.begin(bag), end = b.end(bag); i < end;) {
            const char* const table = from;
            const Py_ssize_t step = b.stride * item, left_out = padding;
            for (const Py_ssize_t stop = std::min(end, i + kTogether); i < stop; i++) {
              const Py_ssize_t k = numbers.at(i);
              if (k < 0 || k == left_out) continue;
              if (f) scales[n] = f[i];
              rows[n++] = table + k * step;
            }
            for (int r = 0; half && r < n; r++) {
              T* const row = wide.data() + r * b.columns;
              kernels().convert_adjacent(weight.dtype, rows[r], type, row, b.columns);
              rows[r] = row;
            }
            dense_kernels().add_rows(type, rows, f ? scales : nullptr, std::exchange(n, 0), b.columns, sums);
          }
          const T count = static_cast<T>(mean ? b.count(numbers, bag, padding) : 0);
          if (count > 1)
            for (Py_ssize_t j = 0; j < b.columns; j++) sums[j] /= count;
        }
      });
    };
    by_type(type, run, factors, to);
  }
  return numbers.inside.load() ? rounded(std::move(out), own) : Ref();
}

// The gradients of the table and of the scale; of halves rounded once.
Gradients embedding_bag_backward(const TensorInfo& g, TensorInfo& weight, const RowNumbers& index, const RowNumbers& offsets,
                                 const TensorOrNone& scale, bool mean, Py_ssize_t padding, const Needs<2>& needs) {
  Bags b;
  if (!b.read(weight, index, offsets) || !fits(scale, weight, index) || is_meta(g)) return {};
  if (g.dtype != weight.dtype || g.ndim != 2 || g.shape[0] != b.many || g.shape[1] != b.columns) return {};
  const DType own = weight.dtype, type = computed_in(own);
  Ref gc = contiguous_as(g.tensor, type), table, by, to_weight, to_scale;
  if (scale.tensor) by = contiguous_as(scale.tensor, type);
  if (needs[0]) to_weight = zeros_ref(type, 2, weight.shape, DeviceType::Cpu);
  if (needs[1]) to_scale = zeros_ref(type, 1, &b.total, DeviceType::Cpu);
  if (needs[1] && type != own) table = laid_table(weight, type, b);
  Numbers numbers(index, b.rows);
  const char *from = weight.data, *factors = by ? data_of(by) : nullptr, *given = data_of(gc);
  char *table_grad = to_weight ? data_of(to_weight) : nullptr, *scale_grad = to_scale ? data_of(to_scale) : nullptr;
  {
    Unlocked unlocked(b.total * b.columns * 4 > kReleaseGilBytes, weight, index, by, gc, to_weight, to_scale);
    const auto run = [&]<class T>(const T* table, const T* f, const T* grads, T* sums, T* dots) {
      std::vector<T> shares(static_cast<size_t>(b.many), T(1));
      for (Py_ssize_t bag = 0; mean && bag < b.many; bag++)
        shares[bag] = T(1) / static_cast<T>(std::max<Py_ssize_t>(b.count(numbers, bag, padding), 1));
      const auto each = [&](const auto& f_of) {
        for (Py_ssize_t bag = 0; bag < b.many; bag++)
          for (Py_ssize_t i = b.begin(bag); i < b.end(bag); i++) {
            const Py_ssize_t k = numbers.at(i);
            if (k >= 0 && k != padding) f_of(bag, i, k);
          }
      };
      if (dots)
        each([&](Py_ssize_t bag, Py_ssize_t i, Py_ssize_t k) {
          const T *a = grads + bag * b.columns, *r = table + k * b.stride;
          T sum = 0;
          for (Py_ssize_t j = 0; j < b.columns; j++) sum += a[j] * r[j];
          dots[i] = sum * shares[bag];
        });
      if (!sums) return;
      parallel_by((b.columns + kColumns - 1) / kColumns, b.total * kColumns, [&](ptrdiff_t begin, ptrdiff_t end) {
        const Py_ssize_t low = begin * kColumns, high = std::min(end * kColumns, b.columns);
        each([&](Py_ssize_t bag, Py_ssize_t i, Py_ssize_t k) {
          const T* a = grads + bag * b.columns;
          T* const sum = sums + k * b.columns;
          const T factor = f ? shares[bag] * f[i] : shares[bag];
          for (Py_ssize_t j = low; j < high; j++) sum[j] += a[j] * factor;
        });
      });
    };
    by_type(type, run, from, factors, given, table_grad, scale_grad);
  }
  if (!numbers.inside.load()) return {};
  if (to_weight) to_weight = rounded(std::move(to_weight), own);
  if (to_scale) to_scale = rounded(std::move(to_scale), own);
  return gradients_of({&to_weight, &to_scale});
}

// Whether bags are in order: a kernel takes their offsets and row numbers of a table of n rows.
Bool bags_in_order(const RowNumbers& index, const RowNumbers& offsets, Py_ssize_t n) {
  if (is_meta(index, offsets) || index.ndim != 1 || offsets.ndim != 1) return {};
  const int64_t *starts = reinterpret_cast<const int64_t*>(offsets.data), *values = reinterpret_cast<const int64_t*>(index.data);
  const Py_ssize_t many = offsets.size(), total = index.size();
  bool good = many ? starts[0] == 0 && starts[many - 1] <= total : total == 0;
  for (Py_ssize_t b = 1; b < many; b++) good = good && starts[b - 1] <= starts[b];
  return Ref(PyBool_FromLong(good && all_in_range(values, total, n)));
}

// (n, columns): the row with the largest element of each column in each bag, -1 in an empty one.
Ref largest_in_bags(const TensorInfo& rows, const RowNumbers& bags, const TensorInfo& kept, Py_ssize_t n) {
  if (!rows.is_float_or_half() || rows.ndim != 2 || is_meta(rows)) return {};
  if (kept.dtype != DType::Bool || kept.size() != rows.shape[0] || bags.size() != rows.shape[0]) return {};
  const DType type = computed_in(rows.dtype);
  const Py_ssize_t columns = rows.shape[1], many = rows.shape[0], shape[2] = {n, columns};
  Ref values = contiguous_as(rows.tensor, type), flags = contiguous(kept.tensor);
  Ref top = new_ref(type, 2, shape, DeviceType::Cpu);
  Ref best = new_ref(DType::I64, 2, shape, DeviceType::Cpu);
  Numbers numbers(bags, n);
  const char* from = data_of(values);
  const uint8_t* counts = data_of<const uint8_t>(flags);
  char* largest = data_of(top);
  int64_t* places = data_of<int64_t>(best);
  {
    Unlocked unlocked(many * columns * item_size(type) > kReleaseGilBytes, values, bags, flags, top, best);
    std::fill_n(places, n * columns, int64_t{-1});
    const auto look = [&]<class T>(const T* x, T* tops) {
      for (Py_ssize_t i = 0; i < many && columns; i++) {
        const Py_ssize_t k = numbers.at(i);
        if (k < 0 || !counts[i]) continue;
        const T* row = x + i * columns;
        T* t = tops + k * columns;
        int64_t* p = places + k * columns;
        const bool first = p[0] < 0;
        for (Py_ssize_t j = 0; j < columns; j++) {
          const bool wins = first || row[j] > t[j];
          t[j] = wins ? row[j] : t[j];
          p[j] = wins ? i : p[j];
        }
      }
    };
    by_type(type, look, from, largest);
  }
  return numbers.inside.load() ? std::move(best) : Ref();
}

const KernelRows rows{
    long_kernel<embedding, "embedding(weight, indices, padding_idx): the rows that the indices name">(),
    long_kernel<embedding_backward, "embedding_backward(g, indices, padding_idx, n): the sums of rows by number">(),
    long_kernel<embedding_bag, "embedding_bag(weight, indices, offsets, scale, mean, padding_idx): the sums of bags of rows">(
        Border::Refuses),
    long_kernel<embedding_bag_backward, "embedding_bag_backward(g, weight, indices, offsets, scale, mean, padding_idx, needs)">(),
    long_kernel<bags_in_order, "bags_in_order(indices, offsets, n): of a table of n rows">(),
    long_kernel<largest_in_bags, "largest_in_bags(rows, bags, kept, n): the row with the largest element, column by column">(),
};

}  // namespace

}  // namespace rushlight
