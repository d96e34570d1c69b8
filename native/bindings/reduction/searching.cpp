// Distinct elements, places in sorted rows, and counts of values.
#include <atomic>
#include <cmath>
#include <limits>

#include "bindings/kernel.h"
#include "kernels/copy.h"
#include "kernels/sorting.h"

namespace rushlight {
namespace {

// ---------------------------------------------------------------- distinct elements

// The layout with one of the dimensions put in another place.
Layout with_dim_at(const Layout& l, int dim, int at) {
  Layout rest = l, out = l;
  rest.remove(dim);
  for (int i = 0, next = 0; i < l.ndim; i++) {
    out.shape[i] = i == at ? l.shape[dim] : rest.shape[next];
    out.strides[i] = i == at ? l.strides[dim] : rest.strides[next++];
  }
  return out;
}

// (elements, or slices along a dimension, the number of each element's, how many of each), the last two empty where they are not asked
// for. Slices are put before the other dimensions.
Triple distinct_elements(const TensorInfo& given, Any along, bool consecutive, bool numbered, bool counted) {
  if (!has_keys(given.dtype) || is_meta(given)) return {};
  const bool all = along.object == Py_None;
  const int dim = all ? 0 : dim_argument(along.object, given.ndim);
  if (dim < 0) return {};
  Layout order(given.tensor);
  if (!all && given.ndim) {
    for (int i = 0; i < given.ndim; i++)
      if (i != dim && given.shape[i] == 0)
        return fail(PyExc_RuntimeError,
                    "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied. The shape is %s, dim %d.",
                    shape_text(given).c_str(), dim);
    order = with_dim_at(order, dim, 0);
  }
  const Ref moved = make_view(given, order), held = contiguous(as_tensor(moved));
  const TensorInfo a = info_of(held);
  const Py_ssize_t n = all ? a.size() : a.ndim ? a.shape[0] : 1, width = n && !all ? a.size() / n : 1, item = a.tensor->item();
  if (n > kLongestLine && item < 8) return fail(PyExc_RuntimeError, "unique(): more than 2**32 elements of fewer than 8 bytes");
  const Py_ssize_t none = 0;
  const bool as_given = all && numbered;
  const Ref inverse = new_ref(DType::I64, as_given ? given.ndim : 1,
                              as_given   ? given.shape
                              : numbered ? &n
                                         : &none,
                              DeviceType::Cpu);
  const Workspace room(8.0 * static_cast<double>(counted ? 2 * n : n) + 16);
  if (!room.p) return no_memory();
  int64_t *firsts = reinterpret_cast<int64_t*>(room.p), *many = counted ? firsts + n : nullptr;
  int64_t* numbers = numbered ? data_of<int64_t>(inverse) : nullptr;
  Py_ssize_t found;
  {
    Unlocked unlocked(a.size() * item > kReleaseGilBytes / 8, a, inverse);
    found = distinct(a.dtype, a.data, n, width, !consecutive, firsts, many, numbers);
  }
  if (found < 0) return no_memory();
  const Ref counts = new_ref(DType::I64, 1, counted ? &found : &none, DeviceType::Cpu);
  if (counted) std::copy_n(many, found, data_of<int64_t>(counts));
  Layout l(a.tensor);  // as the slices are taken: one behind the other
  if (all) {
    l = Layout(&found, 1);
    l.strides[0] = item;
  } else if (a.ndim) {
    l.shape[0] = found;
    l.strides[0] = width * item;
    l = with_dim_at(l, 0, dim);
  }
  const Ref values = owned(new_strided(a.dtype, l.ndim, l.shape, l.strides));
  if (width == 1) {
    const Lines row{a.data, n, item, 1, 0};
    move_chosen(a.dtype, row, firsts, found, {data_of(values), nullptr, item, 0, 0, 0});
  }
  for (Py_ssize_t i = 0; i < found && width > 1; i++)
    memcpy(data_of(values) + i * width * item, a.data + firsts[i] * width * item, static_cast<size_t>(width * item));
  return tuple_of(values, inverse, counts);
}

// ---------------------------------------------------------------- places in sorted rows

// NotImplemented to anything that is not in order, or not contiguous: the Python side finds out what to say.
Ref search_rows(const TensorInfo& bounds, const TensorInfo& values, bool right, Any side, bool narrow, const TensorOrNone& sorter) {
  if (side.object != Py_None) {
    if (!PyUnicode_Check(side.object)) return {};
    const bool after = !PyUnicode_CompareWithASCIIString(side, "right");
    if (!after && (right || PyUnicode_CompareWithASCIIString(side, "left"))) return {};
    right = after;
  }
  if (bounds.dtype != values.dtype || bounds.dtype == DType::Bool || !has_keys(bounds.dtype)) return {};
  if (!bounds.ndim || !bounds.contiguous() || !values.contiguous() || (!values.ndim && bounds.ndim > 1)) return {};
  if (bounds.ndim > 1 && (values.ndim != bounds.ndim || !same_sizes(bounds.ndim - 1, bounds.shape, values.shape))) return {};
  if (sorter.tensor && (sorter.dtype != DType::I64 || !sorter.contiguous() || !same_shape(sorter.tensor, bounds.tensor))) return {};
  const Py_ssize_t n = bounds.shape[bounds.ndim - 1];
  const Ref out = new_ref(narrow ? DType::I32 : DType::I64, values.ndim, values.shape, device_of(bounds, values, sorter));
  if (!has_memory(out)) return Ref::borrow(out.get());
  const int64_t* order = reinterpret_cast<const int64_t*>(sorter.data);
  if (order)
    for (Py_ssize_t i = 0; i < sorter.size(); i++)
      if (order[i] < 0 || order[i] >= n) return {};
  const Py_ssize_t each = bounds.ndim > 1 ? values.shape[values.ndim - 1] : values.size();
  if (!values.size()) return Ref::borrow(out.get());
  const Py_ssize_t lines = values.size() / each, part = lines > 1 ? each : std::max<Py_ssize_t>(kThreadElements, n);
  const Py_ssize_t parts = lines > 1 ? lines : (each + part - 1) / part, item = bounds.tensor->item(), wide = narrow ? 4 : 8;
  char* to = data_of(out);
  std::atomic<bool> done{true};
  {
    Unlocked unlocked(values.size() * item > kReleaseGilBytes / 8, bounds, values, sorter, out);
    parallel_by(parts, part, [&](ptrdiff_t begin, ptrdiff_t end) {
      for (ptrdiff_t i = begin; i < end; i++) {
        const Py_ssize_t row = lines > 1 ? i * n : 0, first = i * part, count = std::min(part, values.size() - first);
        if (!search(bounds.dtype, bounds.data + row * item, order ? order + row : nullptr, n, values.data + first * item, count,
                    right, narrow, to + first * wide))
          done.store(false, std::memory_order_relaxed);
      }
    });
  }
  return done.load() ? Ref::borrow(out.get()) : no_memory();
}

// Both in a type that holds the values of both.
DType common_type(DType a, DType b) {
  if (a == b) return a;
  const auto whole = [](DType t) { return t <= DType::I64 || t == DType::U16 || t == DType::U32; };
  return whole(a) && whole(b) ? DType::I64 : DType::F64;
}

Ref is_among(const TensorInfo& elements, const TensorInfo& tests, bool invert) {
  const DType type = common_type(elements.dtype, tests.dtype);
  const Ref out = new_ref(DType::Bool, elements.ndim, elements.shape, device_of(elements, tests));
  if (!has_memory(out)) return Ref::borrow(out.get());
  const Ref values = contiguous_as(elements.tensor, type), row = contiguous_as(tests.tensor, type);
  const Py_ssize_t n = as_tensor(row)->numel(), count = as_tensor(values)->numel(), item = item_size(type);
  const char *from = data_of(row), *data = data_of(values);
  char* to = data_of(out);
  std::atomic<bool> done{true};
  {
    Unlocked unlocked((n + count) * item > kReleaseGilBytes / 8, values, row, out);
    parallel(count, std::max(kThreadElements, 8 * n), [&](ptrdiff_t begin, ptrdiff_t end) {
      if (!among(type, from, n, data + begin * item, end - begin, invert, to + begin)) done.store(false, std::memory_order_relaxed);
    });
  }
  return done.load() ? Ref::borrow(out.get()) : no_memory();
}

// ---------------------------------------------------------------- counts

// Counts of numbers from 0 to `size` - 1: in several tables where they are short, as a count waits for the one before at its place.
struct Tally {
  explicit Tally(Py_ssize_t size) : size(size), tables(size <= 4096 ? 4 : 1), room(8.0 * static_cast<double>(size) * tables) {
    at = reinterpret_cast<int64_t*>(room.p);
    if (at) std::fill_n(at, size * tables, 0);
  }
  // Numbers outside are left out.
  template <class Number>
  void add(const Number* numbers, Py_ssize_t n) {
    const uint64_t end = static_cast<uint64_t>(size);
    const Py_ssize_t next = tables > 1 ? size : 0;
    const auto count = [&](Py_ssize_t i, int64_t* table) {
      const uint64_t k = static_cast<uint64_t>(numbers[i]);
      if (k < end) table[k]++;
    };
    Py_ssize_t i = 0;
    for (; i + 4 <= n; i += 4)
      for (Py_ssize_t t = 0; t < 4; t++) count(i + t, at + t * next);
    for (; i < n; i++) count(i, at);
  }
  template <class T>
  void sums(T* to) const {
    for (Py_ssize_t k = 0; k < size; k++) {
      int64_t sum = 0;
      for (Py_ssize_t t = 0; t < tables; t++) sum += at[t * size + k];
      to[k] = static_cast<T>(sum);
    }
  }
  Py_ssize_t size, tables;
  Workspace<> room;
  int64_t* at;
};

// Counts of values in bins of one width, from `low` to `high`; each step is rounded to T. False where there is something to refuse.
template <class T>
bool count_even(DType type, const T* x, Py_ssize_t n, T low, T high, Tally& counts) {
  if (low == high && n) {
    high = low = x[0];
    int nan = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
      low = x[i] < low ? x[i] : low;
      high = x[i] > high ? x[i] : high;
      nan |= x[i] != x[i];
    }
    if (nan) return false;
  }
  if (!std::isfinite(low) || !std::isfinite(high)) return false;
  if (low == high) low = static_cast<T>(low - 1), high = static_cast<T>(high + 1);
  T many = static_cast<T>(counts.size), last = static_cast<T>(counts.size - 1);
  round_to(type, &low, 1), round_to(type, &high, 1), round_to(type, &many, 1);
  T range = high - low;
  round_to(type, &range, 1);
  constexpr Py_ssize_t kBlock = 256;
  int32_t numbers[kBlock];
  T way[kBlock];
  for (Py_ssize_t i = 0; i < n; i += kBlock) {
    const Py_ssize_t m = std::min(kBlock, n - i);
    for (Py_ssize_t j = 0; j < m; j++) way[j] = x[i + j] - low;
    round_to(type, way, m);
    for (Py_ssize_t j = 0; j < m; j++) way[j] *= many;
    round_to(type, way, m);
    for (Py_ssize_t j = 0; j < m; j++) way[j] /= range;
    round_to(type, way, m);
    for (Py_ssize_t j = 0; j < m; j++) {
      const T v = x[i + j];
      numbers[j] = v >= low && v <= high ? static_cast<int32_t>(way[j] < last ? way[j] : last) : -1;
    }
    counts.add(numbers, m);
  }
  return true;
}

// NotImplemented to anything that is not in order, as the two that follow.
Ref histc(const TensorInfo& a, Py_ssize_t bins, double low, double high) {
  if (!a.is_float_or_half() || is_meta(a) || bins <= 0 || bins > (1 << 24) || low > high) return {};
  const DType type = computed_in(a.dtype);
  const Ref held = contiguous_as(a.tensor, type);
  Ref out = new_ref(type, 1, &bins, DeviceType::Cpu);
  Tally counts(bins);
  if (!counts.at) return no_memory();
  const Py_ssize_t n = a.size();
  const auto count = [&]<class T>(T* to, const T* x) {
    Unlocked unlocked(n > kReleaseGilBytes / 8, held, out);
    if (!count_even(a.dtype, x, n, static_cast<T>(low), static_cast<T>(high), counts)) return false;
    counts.sums(to);
    return true;
  };
  return by_type(type, count, data_of(out), data_of<const char>(held)) ? rounded(std::move(out), a.dtype) : Ref();
}

Ref count_numbers(const TensorInfo& a, const TensorOrNone& weights, Py_ssize_t least) {
  const bool whole = a.dtype != DType::Bool && (a.dtype <= DType::I64 || (a.dtype >= DType::U16 && a.dtype <= DType::U64));
  if (!whole || a.ndim != 1 || least < 0 || is_meta(a)) return {};
  if (weights.tensor && (weights.ndim != 1 || weights.shape[0] != a.shape[0] || is_complex(weights.dtype))) return {};
  const Ref held = contiguous_as(a.tensor, DType::I64);
  const Ref by = weights.tensor ? contiguous_as(weights.tensor, DType::F64) : Ref();
  const Py_ssize_t n = a.size();
  const int64_t* numbers = data_of<int64_t>(held);
  int64_t bits = 0, most[] = {least - 1, -1, -1, -1};  // side by side: each maximum waits for another
  for (Py_ssize_t i = 0; i < n; i++) {
    bits |= numbers[i];
    most[i & 3] = std::max(most[i & 3], numbers[i]);
  }
  if (bits < 0) return {};
  const int64_t largest = *std::max_element(most, most + 4);
  if (largest >= PY_SSIZE_T_MAX) return {};
  const Py_ssize_t size = static_cast<Py_ssize_t>(largest) + 1;
  Ref out = zeros_ref(by ? DType::F64 : DType::I64, 1, &size, DeviceType::Cpu);
  double* sums = data_of<double>(out);
  if (!by) {
    Tally counts(size);
    if (!counts.at) return no_memory();
    Unlocked unlocked(n > kReleaseGilBytes / 8, held, out);
    counts.add(numbers, n);
    counts.sums(reinterpret_cast<int64_t*>(sums));
    return out;
  }
  const double* w = data_of<double>(by);
  Unlocked unlocked(n > kReleaseGilBytes / 8, held, by, out);
  for (Py_ssize_t i = 0; i < n; i++) {
    const volatile int64_t& number = numbers[i];  // read once: another thread may write it after the check
    const uint64_t k = static_cast<uint64_t>(number);
    if (k < static_cast<uint64_t>(size)) sums[k] += w[i];
  }
  return out;
}

Ref bincount(const TensorInfo& a, const TensorOrNone& weights, Py_ssize_t least) {
  Ref counts = count_numbers(a, weights, least);
  return weights.dtype == DType::F32 ? rounded(std::move(counts), DType::F32) : std::move(counts);
}

// How many rows of x, a matrix, fall into each bin of the grid between the edges of every column; the last edge belongs to the last
// bin. With weights, one a row, their sums.
Ref bin_counts(const TensorInfo& x, Given<"Sequence[Tensor]"> list, const TensorOrNone& weights) {
  if (!x.is_float() || x.ndim != 2 || !PySequence_Check(list)) return {};
  const Ref edges = held_items(list, "bin_counts(): the edges must be a sequence of tensors");
  const Py_ssize_t columns = x.shape[1], rows = x.shape[0];
  if (!edges || PyTuple_GET_SIZE(edges.get()) != columns || columns > kMaxDims) return {};
  const Ref by_held = weights.tensor ? contiguous_as(weights.tensor, DType::F64) : Ref();
  if (by_held && as_tensor(by_held)->numel() != rows) return {};
  Py_ssize_t shape[kMaxDims];
  for (Py_ssize_t d = 0; d < columns; d++) {
    if (!is_tensor(PyTuple_GET_ITEM(edges.get(), d))) return {};
    const Tensor* e = item_of(edges, d);
    if (e->ndim() != 1 || e->numel() < 2 || e->dtype != x.dtype) return {};
    shape[d] = e->numel() - 1;
  }
  Ref out = zeros_ref(DType::F64, static_cast<int>(columns), shape, DeviceType::Cpu);
  const Workspace room(8.0 * static_cast<double>(rows + 1));
  if (!room.p) return no_memory();
  int64_t* at = reinterpret_cast<int64_t*>(room.p);
  std::fill_n(at, rows, 0);
  for (Py_ssize_t d = 0; d < columns; d++) {
    const Ref held = contiguous(item_of(edges, d));
    const Py_ssize_t bins = shape[d];
    const auto place = [&]<class T>(const T* edge) {
      Unlocked unlocked(rows > kReleaseGilBytes / 8, x, held);
      const T low = edge[0], high = edge[bins], scale = static_cast<T>(bins) / (high - low);
      for (Py_ssize_t i = 0; i < rows; i++) {
        const T v = *reinterpret_cast<const T*>(x.data + i * x.strides[0] + d * x.strides[1]);
        if (at[i] < 0 || !(v >= low && v <= high)) {
          at[i] = -1;
          continue;
        }
        // Edges at equal distances are found by a division, all but their rounding; others by halving.
        const T guess = (v - low) * scale;
        Py_ssize_t k = guess < static_cast<T>(bins) ? static_cast<Py_ssize_t>(guess) : bins - 1;
        if (k && v < edge[k]) k--;
        else if (k + 1 < bins && v >= edge[k + 1]) k++;
        if (!(v >= edge[k] && v < edge[k + 1]))
          k = std::min<Py_ssize_t>(std::upper_bound(edge + 1, edge + bins, v) - edge - 1, bins - 1);
        at[i] = at[i] * bins + k;
      }
    };
    if (x.dtype == DType::F32) place(data_of<const float>(held));
    else place(data_of<const double>(held));
  }
  const double* by = by_held ? data_of<double>(by_held) : nullptr;
  double* to = data_of<double>(out);
  for (Py_ssize_t i = 0; i < rows; i++)
    if (at[i] >= 0) to[at[i]] += by ? by[i] : 1;
  return rounded(std::move(out), x.dtype);
}

const KernelRows rows{
    long_kernel<distinct_elements, "distinct(a, dim, consecutive, inverse=True, counts=True): (elements, inverse, counts)">(
        Border::Refuses),
    long_kernel<search_rows, "searchsorted(bounds, values, right, side, int32, sorter=None)">(),
    long_kernel<is_among, "isin(elements, among, invert)">(),
    long_kernel<histc, "histc(a, bins, min, max)">(Border::Refuses),
    long_kernel<bincount, "bincount(a, weights=None, minlength=0)">(),
    long_kernel<bin_counts, "bin_counts(x, edges, weights=None): rows of x in the bins of a grid">(),
};

}  // namespace
}  // namespace rushlight
