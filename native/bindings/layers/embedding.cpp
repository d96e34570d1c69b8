// Rows of a table by number, the sums of rows by number, and the largest elements of bags of rows.
//
// The functions answer NotImplemented to anything that is not in order: the Python side then finds out what to say. Sums go over the
// rows in order, for a block of columns at a time: blocks are what threads share out, so that they change no rounding. Halves are
// summed in float32.
#include "bindings/kernel.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace rushlight {
namespace {

constexpr Py_ssize_t kGrain = 1 << 15;
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
    parallel(rows, kGrain / (columns + 1) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
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
      parallel((columns + kColumns - 1) / kColumns, kGrain / (rows * kColumns + 1) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
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
    long_kernel<largest_in_bags, "largest_in_bags(rows, bags, kept, n): the row with the largest element, column by column">(),
};

}  // namespace

}  // namespace rushlight
