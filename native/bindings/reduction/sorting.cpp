// Sorting, selecting and searching along a dimension. Lines are read where they are, whatever their strides.
#include "kernels/sorting.h"

#include <atomic>

#include "bindings/kernel.h"
#include "kernels/indexing.h"

namespace rushlight {
namespace {

// What a line shares with its neighbours: a dimension of all tensors that are walked over, strides in bytes.
struct Across {
  Py_ssize_t size, strides[3];
};

// Calls f(line, lines, offset of each tensor, step to the next line in each tensor) for blocks of lines of `dim`, on threads. False
// where one of the calls is false.
template <int kTensors, class F>
bool each_block_of_lines(const TensorInfo& a, int dim, const Py_ssize_t* const (&strides)[kTensors], const F& f) {
  Across across[kMaxDims];
  int count = 0;
  for (int i = 0; i < a.ndim; i++) {
    if (i == dim || a.shape[i] == 1) continue;
    Across next{a.shape[i], {}};
    bool joins = count > 0;
    for (int t = 0; t < kTensors; t++) {
      next.strides[t] = strides[t][i];
      joins = joins && across[count - 1].strides[t] == a.shape[i] * strides[t][i];
    }
    if (joins) next.size *= across[--count].size;
    across[count++] = next;
  }
  // Lines are taken together along the dimension whose elements lie nearest to each other.
  Across beside{1, {}};
  int nearest = count - 1;
  for (int i = 0; i < count; i++)
    if (across[i].strides[0] < across[nearest].strides[0]) nearest = i;
  if (count) {
    beside = across[nearest];
    std::copy(across + nearest + 1, across + count, across + nearest);
    count--;
  }
  const Py_ssize_t n = a.ndim ? a.shape[dim] : 1;
  const bool adjacent = !a.ndim || strides[0][dim] <= beside.strides[0];
  const Py_ssize_t together = std::clamp<Py_ssize_t>((adjacent ? 1024 : 32768) / (n + 1), 1, 64);
  const Py_ssize_t blocks = (beside.size + together - 1) / together;
  Py_ssize_t total = blocks;
  for (int i = 0; i < count; i++) total *= across[i].size;
  std::atomic<bool> done{true};
  parallel_by(total, n * together, [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t at = begin; at < end; at++) {
      Py_ssize_t rest = at / blocks, offsets[kTensors];
      const Py_ssize_t first = at % blocks * together;
      for (int t = 0; t < kTensors; t++) offsets[t] = first * beside.strides[t];
      for (int d = count - 1; d >= 0; d--) {
        for (int t = 0; t < kTensors; t++) offsets[t] += rest % across[d].size * across[d].strides[t];
        rest /= across[d].size;
      }
      if (!f(std::min(together, beside.size - first), offsets, beside.strides)) done.store(false, std::memory_order_relaxed);
    }
  });
  return done.load();
}

Py_ssize_t length_of(const TensorInfo& a, int dim) { return a.ndim ? a.shape[dim] : 1; }

// Aligned memory that can be read at any strides.
Ref readable(const TensorInfo& a) { return a.tensor->is_aligned() ? Ref::borrow(as_object(a.tensor)) : contiguous(a.tensor); }

Failed no_zero_size(const char* name, int dim) {
  return fail(PyExc_IndexError, "%s(): Expected reduction dim %d to have non-zero size.", name, dim);
}

// (values, indices) of what is chosen along a dimension: `m` elements of each line. `like`: with the strides of the argument.
Pair chosen(const TensorInfo& given, int dim, Choice choice, Py_ssize_t k, Py_ssize_t m, bool descending, bool keepdim, bool like) {
  if (length_of(given, dim) > kLongestLine && given.tensor->item() < 8) {
    const Ref wide = contiguous_as(given.tensor, is_half(given.dtype) || given.dtype == DType::F32 ? DType::F64 : DType::I64);
    const Pair found = chosen(info_of(wide), dim, choice, k, m, descending, keepdim, like);
    return tuple_of(converted(Ref::borrow(as_object(item_of(found, 0))), given.dtype), Ref::borrow(as_object(item_of(found, 1))));
  }
  const Ref held = readable(given);
  const TensorInfo a = info_of(held);
  Py_ssize_t kept[kMaxDims], shape[kMaxDims], steps[2][kMaxDims], own[2][kMaxDims], numel;
  int ndim = 0;
  std::copy_n(a.shape, a.ndim, kept);
  if (a.ndim) kept[dim] = m;
  for (int i = 0; i < a.ndim; i++)
    if (i != dim || keepdim) shape[ndim++] = kept[i];
  const Py_ssize_t items[] = {a.tensor->item(), 8};
  for (int t = 0; t < 2; t++) {
    contiguous_strides(a.ndim, kept, items[t], steps[t], &numel);
    if (like) like_strides(a.tensor, items[t], steps[t]);
    for (int i = 0, at = 0; i < a.ndim; i++)
      if (i != dim || keepdim) own[t][at++] = steps[t][i];
  }
  const Ref values = owned(new_strided(a.dtype, ndim, shape, own[0], device_of(a)));
  const Ref indices = owned(new_strided(DType::I64, ndim, shape, own[1], device_of(a)));
  if (has_memory(values) && as_tensor(values)->numel()) {
    char *to = data_of(values), *places_to = data_of(indices);
    const Py_ssize_t n = length_of(a, dim), step = a.ndim ? a.strides[dim] : 0;
    const Py_ssize_t out_step = a.ndim ? steps[0][dim] : 0, index_step = a.ndim ? steps[1][dim] : 0;
    bool done;
    {
      Unlocked unlocked(a.size() * a.tensor->item() > kReleaseGilBytes, a, values, indices);
      done = each_block_of_lines<3>(
          a, dim, {a.strides, steps[0], steps[1]}, [&](Py_ssize_t count, const Py_ssize_t* offsets, const Py_ssize_t* next) {
            int64_t few[256];
            const Workspace many(count * m > 256 ? static_cast<double>(count) * static_cast<double>(m) * 8 : 1);
            if (!many.p) return false;
            int64_t* places = count * m > 256 ? reinterpret_cast<int64_t*>(many.p) : few;
            const Lines lines{a.data + offsets[0], n, step, count, next[0]};
            if (!choose(a.dtype, choice, k, descending, lines, places)) return false;
            move_chosen(a.dtype, lines, places, m,
                        {to + offsets[1], places_to + offsets[2], out_step, next[1], index_step, next[2]});
            return true;
          });
    }
    if (!done) return no_memory();
  }
  return tuple_of(values, indices);
}

Failed not_implemented(const char* kernel, DType dtype) {
  return fail(PyExc_NotImplementedError, "\"%s\" not implemented for '%s'", kernel, scalar_name(dtype));
}

// ---------------------------------------------------------------- sorting and selecting

Pair sort(const TensorInfo& a, Dim dim, bool descending, Any /* stable: it always is */) {
  if (is_complex(a.dtype)) return fail(PyExc_RuntimeError, " Sort does not support complex dtypes on CPU");
  const Py_ssize_t n = length_of(a, dim);
  return chosen(a, dim, Choice::First, n, n, descending, true, true);
}

// The k of topk, which PyTorch refuses in words of its own.
struct Count {
  static constexpr Text kType = "int";
  bool read(const Argument& a) {
    if (PyIndex_Check(a.object)) return index_argument(a.object, n);
    return fail(PyExc_TypeError, "%s(): argument 'k' (position 1) must be int, not %s", a.kernel, Py_TYPE(a.object)->tp_name);
  }
  Py_ssize_t n;
};

Pair topk(const TensorInfo& a, Count given, Dim dim, bool largest, bool /* sorted: they always are */) {
  if (a.dtype == DType::Bool) return fail(PyExc_RuntimeError, "topk does not support bool dtypes on CPU");
  if (is_complex(a.dtype)) return fail(PyExc_RuntimeError, " topk does not support complex dtypes on CPU");
  const Py_ssize_t n = length_of(a, dim);
  Py_ssize_t k = given.n;
  if (k < 0 || k > n)
    return fail(PyExc_RuntimeError, "selected index k out of range. k is %zd; the dimension has %zd entries.", k, n);
  if (!a.ndim) k = 1;  // as PyTorch
  return chosen(a, dim, Choice::First, k, k, largest, true, false);
}

Pair kthvalue(const TensorInfo& a, Py_ssize_t k, Dim dim, bool keepdim) {
  if (a.dtype == DType::Bool || is_complex(a.dtype)) return not_implemented("kthvalue_cpu", a.dtype);
  const Py_ssize_t n = length_of(a, dim);
  if (n == 0) return no_zero_size("kthvalue", dim);
  if (k < 1 || k > n) return fail(PyExc_RuntimeError, "kthvalue(): selected number k out of range for dimension %d", dim.at);
  return chosen(a, dim, Choice::Kth, k - 1, 1, false, keepdim, false);
}

Pair mode(const TensorInfo& a, Dim dim, bool keepdim) {
  if (is_complex(a.dtype)) return not_implemented("mode_cpu", a.dtype);
  if (length_of(a, dim) == 0) return no_zero_size("mode", dim);
  return chosen(a, dim, Choice::Mode, 0, 1, false, keepdim, false);
}

template <bool kSkipNan>
Pair median(const TensorInfo& a, Dim dim, bool keepdim) {
  if (a.dtype == DType::Bool || is_complex(a.dtype)) return not_implemented("median_out", a.dtype);
  if (length_of(a, dim) == 0) return no_zero_size(kSkipNan ? "nanmedian" : "median", dim);
  return chosen(a, dim, kSkipNan ? Choice::NanMedian : Choice::Median, 0, 1, false, keepdim, false);
}

// NotImplemented where there are no elements.
template <bool kSkipNan>
Ref median_of_all(const TensorInfo& a) {
  if (a.dtype == DType::Bool || is_complex(a.dtype)) return not_implemented("median_cpu", a.dtype);
  if (!a.size()) return {};
  const Ref row = contiguous(a.tensor);
  const Py_ssize_t n = a.size();
  Layout flat(&n, 1);
  flat.strides[0] = a.tensor->item();
  const Ref line = make_view(info_of(row), flat);
  const Pair found = chosen(info_of(line), 0, kSkipNan ? Choice::NanMedian : Choice::Median, 0, 1, false, false, false);
  return found ? Ref::borrow(as_object(item_of(found, 0))) : Ref();
}

// ---------------------------------------------------------------- elements at the places of a dimension

// How a tensor without the dimension `dim` is seen with it.
struct Seen {
  ptrdiff_t shape[kMaxDims], strides[kMaxDims];
  int ndim = 0;
  Seen(const TensorInfo& a, int dim, bool keepdim) {
    for (int i = 0; i < a.ndim; i++) {
      if (i == dim && !keepdim) add(1, 0);
      add(a.shape[i], a.strides[i]);
    }
    if (dim == a.ndim && !keepdim) add(1, 0);
  }
  void add(ptrdiff_t size, ptrdiff_t stride) { shape[ndim] = size, strides[ndim++] = stride; }
};

// Calls f(part of the picks, offset in x, offset in the values) on threads.
template <class F>
void each_part(const Picks& picks, const F& f) {
  Py_ssize_t slice = 1;
  for (int d = 1; d < picks.ndim; d++) slice *= picks.shape[d];
  if (picks.dim == 0 || picks.shape[0] * slice <= kThreadElements) return f(picks, 0, 0);
  parallel(picks.shape[0], kThreadElements / (slice + 1) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
    ptrdiff_t shape[kMaxDims];
    std::copy_n(picks.shape, picks.ndim, shape);
    shape[0] = end - begin;
    Picks part = picks;
    part.shape = shape;
    part.index += begin * slice;
    f(part, begin * picks.x_strides[0], begin * picks.value_strides[0]);
  });
}

Ref take_along(const TensorInfo& given, const TensorInfo& places, Dim dim, bool keepdim, bool /* add */) {
  if (places.dtype != DType::I64) return {};
  if (!given.ndim) return owned(contiguous_copy(given.tensor));
  const Ref held = readable(given), index_held = contiguous(places.tensor);
  const TensorInfo a = info_of(held), index = info_of(index_held);
  Ref out = new_ref(a.dtype, index.ndim, index.shape, device_of(a, index));
  if (!has_memory(out) || !index.size()) return out;
  const Seen seen(index, dim, keepdim), to(info_of(out), dim, keepdim);
  if (seen.ndim != a.ndim) return {};
  for (int i = 0; i < a.ndim; i++)
    if (i != dim && seen.shape[i] != a.shape[i]) return {};
  const Picks picks{a.ndim, dim, seen.shape, data_of<int64_t>(index_held), a.shape[dim], a.strides, to.strides};
  char* values = data_of(out);
  std::atomic<bool> inside{true};
  Unlocked unlocked(index.size() * a.tensor->item() > kReleaseGilBytes, a, index, out);
  each_part(picks, [&](const Picks& part, ptrdiff_t from, ptrdiff_t at) {
    if (!gather(a.dtype, a.data + from, part, values + at)) inside.store(false, std::memory_order_relaxed);
  });
  return inside.load() ? std::move(out) : Ref();
}

// Zeros of a shape, with the values at their places; `add` where places may repeat.
Ref put_along(const TensorInfo& given, const TensorInfo& places, const Shape& shape, Py_ssize_t at, bool keepdim, bool add) {
  if (places.dtype != DType::I64) return {};
  if (!shape.n) return owned(contiguous_copy(given.tensor));
  const int dim = normal_dim(at, shape.n);
  if (dim < 0) return {};
  const Ref held = add && is_half(given.dtype) ? contiguous_as(given.tensor, DType::F32) : readable(given);
  const Ref index_held = contiguous(places.tensor);
  const TensorInfo g = info_of(held), index = info_of(index_held);
  Ref out = zeros_ref(g.dtype, shape.n, shape.at, device_of(g, index));
  if (!has_memory(out) || !index.size()) return rounded(std::move(out), given.dtype);
  const TensorInfo x = info_of(out);
  const Seen seen(index, dim, keepdim), from(g, dim, keepdim);
  if (seen.ndim != x.ndim || from.ndim != x.ndim || !std::equal(seen.shape, seen.shape + seen.ndim, from.shape)) return {};
  for (int i = 0; i < x.ndim; i++)
    if (i != dim && seen.shape[i] != x.shape[i]) return {};
  const Picks picks{x.ndim, dim, seen.shape, data_of<int64_t>(index_held), x.shape[dim], x.strides, from.strides};
  {
    Unlocked unlocked(index.size() * g.tensor->item() > kReleaseGilBytes, g, index, out);
    each_part(picks, [&](const Picks& part, ptrdiff_t to, ptrdiff_t values) {
      scatter(g.dtype, add ? Land::Add : Land::Set, x.data + to, part, g.data + values);
    });
  }
  return rounded(std::move(out), given.dtype);
}

const KernelRows rows{
    long_kernel<sort, "sort(a, dim, descending=False, stable=None): in order, NaN as the largest, and the indices">(),
    long_kernel<topk, "topk(a, k, dim, largest=True, sorted=True)">(),
    long_kernel<kthvalue, "kthvalue(a, k, dim, keepdim=False)">(),
    long_kernel<mode, "mode(a, dim, keepdim=False): the smallest of the most frequent, and its last index">(),
    long_kernel<median<false>, "median(a, dim, keepdim=False): the lower one; a NaN wins">(),
    long_kernel<median<true>, "nanmedian(a, dim, keepdim=False)">(),
    long_kernel<median_of_all<false>, "median_of_all(a)">(),
    long_kernel<median_of_all<true>, "nanmedian_of_all(a)">(),
    long_kernel<take_along, "take_along(a, index, dim, keepdim, add=False): the elements at the places of a dimension">(),
    long_kernel<put_along, "put_along(g, index, shape, dim, keepdim, add): zeros with g at the places of a dimension">(),
};

}  // namespace
}  // namespace rushlight
