// Reductions of tensors over any dimensions.
//
// The dimensions are merged where memory allows, then reduced one merged dimension at a time, innermost first: as rows
// where the reduced dimension holds adjacent elements, as columns where the last kept dimension does. Other layouts are
// copied.
#include "bindings/kernel.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

namespace rushlight {
namespace {

struct Axis {
  Py_ssize_t size, stride;
  bool reduced;
};

struct Axes {
  Axis at[kMaxDims];
  int count = 0;
};

constexpr Py_ssize_t kChunk = 1 << 16;  // elements of a long row that one partial result covers, whatever the threads

// Merges neighbours of the same kind that walk memory as one; drops dimensions of size 1.
Axes merge(const Axis* axes, int count) {
  Axes out;
  for (int i = 0; i < count; i++) {
    if (axes[i].size == 1) continue;
    if (out.count) {
      Axis& last = out.at[out.count - 1];
      if (last.reduced == axes[i].reduced && last.stride == axes[i].size * axes[i].stride) {
        last.size *= axes[i].size;
        last.stride = axes[i].stride;
        continue;
      }
    }
    out.at[out.count++] = axes[i];
  }
  return out;
}

// Calls f(data, rows, stride, first) for runs of consecutive positions [begin, end) over `outer`: `rows` of them, each
// `stride` bytes after the one before, numbered from `first`.
template <class F>
void for_runs(const Axes& outer, const char* data, Py_ssize_t begin, Py_ssize_t end, F f) {
  if (outer.count == 0) {
    if (begin < end) f(data, Py_ssize_t{1}, Py_ssize_t{0}, Py_ssize_t{0});
    return;
  }
  const Axis& last = outer.at[outer.count - 1];
  for (Py_ssize_t i = begin; i < end;) {
    Py_ssize_t rest = i / last.size;
    const Py_ssize_t column = i % last.size;
    const Py_ssize_t rows = last.size - column < end - i ? last.size - column : end - i;
    const char* p = data + column * last.stride;
    for (int d = outer.count - 2; d >= 0; d--) {
      p += rest % outer.at[d].size * outer.at[d].stride;
      rest /= outer.at[d].size;
    }
    f(p, rows, last.stride, i);
    i += rows;
  }
}

Reduce next_stage(Reduce op) { return op == Reduce::SumSquares || op == Reduce::NanSum ? Reduce::Sum : op; }

struct Scratch {
  void* p = nullptr;
  ~Scratch() { std::free(p); }
};

// Columns: out[j] = the reduction of column j over n rows, `row_stride` bytes apart, of `inner` adjacent elements. Large ones are
// cut into parts of kPartRows rows and kPartColumns columns, whose results are reduced in turn: parts, and with them the order
// of additions, depend on the sizes alone, and each part is read as memory lies. Narrow contiguous rows are taken several as
// one, so that registers are full. Bytes are read once; what the parts write is a sixty-fourth of that.
constexpr Py_ssize_t kPartRows = 64, kPartColumns = 4096;
constexpr Py_ssize_t kNarrow = 64;  // elements

void reduce_columns(Reduce op, DType dtype, const char* in, Py_ssize_t n, ptrdiff_t row_stride, Py_ssize_t inner, char* out) {
  const Reducer kernel = dense_kernels().reducer(op, dtype);
  const ptrdiff_t item = item_size(dtype), result_item = item_size(kernel.result);
  if (2 * inner <= kNarrow && row_stride == inner * item && n >= 4 * kNarrow) {
    const Py_ssize_t joined = kNarrow / inner, groups = n / joined, rest = n - groups * joined;
    alignas(64) char results[(kNarrow + kNarrow / 2) * 2 * sizeof(double)];
    reduce_columns(op, dtype, in, groups, joined * row_stride, joined * inner, results);
    if (rest) kernel.columns(in + groups * joined * row_stride, rest, row_stride, inner, results + joined * inner * result_item);
    dense_kernels().reducer(next_stage(op), kernel.result).columns(results, joined + (rest != 0), inner * result_item, inner, out);
    return;
  }
  Scratch scratch;
  const Py_ssize_t parts = (n + kPartRows - 1) / kPartRows;
  if (parts > 1 && n * inner >= 2 * kChunk) scratch.p = std::malloc(static_cast<size_t>(parts * inner * result_item));
  const Py_ssize_t width = scratch.p ? kPartColumns : 512;
  const Py_ssize_t tiles = (inner + width - 1) / width, height = scratch.p ? kPartRows : n;
  char* results = scratch.p ? static_cast<char*>(scratch.p) : out;
  parallel((scratch.p ? parts : 1) * tiles, kChunk / (height * (inner < width ? inner : width)) + 1,
           [&](ptrdiff_t begin, ptrdiff_t end) {
             for (ptrdiff_t i = begin; i < end; i++) {
               const Py_ssize_t row = i / tiles * height, column = i % tiles * width;
               kernel.columns(in + row * row_stride + column * item, n - row < height ? n - row : height, row_stride,
                              inner - column < width ? inner - column : width,
                              results + (i / tiles * inner + column) * result_item);
             }
           });
  if (scratch.p) reduce_columns(next_stage(op), kernel.result, results, parts, inner * result_item, inner, out);
}

enum class Outcome { Done, NeedsCopy, NoMemory };

// Reduces into `out` (C-contiguous over the kept axes). All sizes are positive.
Outcome reduce_axes(Reduce op, DType dtype, const char* data, const Axis* axes, int count, char* out) {
  const ptrdiff_t item = item_size(dtype);
  Axes merged = merge(axes, count);
  int reduced = 0, row = -1, column = -1, last_kept = -1;
  for (int i = 0; i < merged.count; i++) {
    if (merged.at[i].reduced) {
      reduced++;
      column = i;
      if (merged.at[i].stride == item) row = i;
    } else {
      last_kept = i;
    }
  }
  if (reduced == 0) {  // every reduced dimension has size 1: the reduction of one element each
    merged.at[merged.count] = {1, item, true};
    row = merged.count++;
    reduced = 1;
  }
  const Reducer kernel = dense_kernels().reducer(op, dtype);
  const bool by_rows = row >= 0;
  if (!by_rows && (last_kept < 0 || merged.at[last_kept].stride != item)) return Outcome::NeedsCopy;
  const int taken = by_rows ? row : column;
  const Py_ssize_t n = merged.at[taken].size, step = merged.at[taken].stride;
  const Py_ssize_t inner = by_rows ? 1 : merged.at[last_kept].size;
  Axes outer;
  Py_ssize_t positions = 1;
  for (int i = 0; i < merged.count; i++)
    if (i != taken && (by_rows || i != last_kept)) {
      outer.at[outer.count++] = merged.at[i];
      positions *= merged.at[i].size;
    }
  const ptrdiff_t result_item = item_size(kernel.result);

  Scratch scratch;
  char* target = out;
  if (reduced > 1) {
    scratch.p = std::malloc(static_cast<size_t>(positions * inner * result_item));
    if (!scratch.p) return Outcome::NoMemory;
    target = static_cast<char*>(scratch.p);
  }
  if (by_rows && positions == 1 && n >= 2 * kChunk) {
    const Py_ssize_t chunks = (n + kChunk - 1) / kChunk;
    Scratch partial;
    partial.p = std::malloc(static_cast<size_t>(chunks * result_item));
    if (!partial.p) return Outcome::NoMemory;
    char* parts = static_cast<char*>(partial.p);
    parallel(chunks, 2, [&](ptrdiff_t begin, ptrdiff_t end) {
      for (ptrdiff_t i = begin; i < end; i++)
        kernel.rows(data + i * kChunk * item, 1, 0, i == chunks - 1 ? n - i * kChunk : kChunk, parts + i * result_item);
    });
    dense_kernels().reducer(next_stage(op), kernel.result).rows(parts, 1, 0, chunks, target);
  } else if (by_rows) {
    const Py_ssize_t grain = (kChunk + n - 1) / n;
    parallel(positions, grain, [&](ptrdiff_t begin, ptrdiff_t end) {
      for_runs(outer, data, begin, end, [&](const char* p, Py_ssize_t rows, Py_ssize_t stride, Py_ssize_t first) {
        kernel.rows(p, rows, stride, n, target + first * result_item);
      });
    });
  } else if (positions == 1) {
    reduce_columns(op, dtype, data, n, step, inner, target);
  } else {
    parallel(positions, kChunk / (n * inner) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
      for_runs(outer, data, begin, end, [&](const char* p, Py_ssize_t rows, Py_ssize_t stride, Py_ssize_t first) {
        for (Py_ssize_t i = 0; i < rows; i++)
          reduce_columns(op, dtype, p + i * stride, n, step, inner, target + (first + i) * inner * result_item);
      });
    });
  }
  if (reduced == 1) return Outcome::Done;

  // The rest, over the contiguous intermediate result.
  Axis rest[kMaxDims];
  Py_ssize_t stride = result_item;
  const int kept_inner = by_rows ? 0 : 1;
  if (kept_inner) {
    rest[outer.count] = {inner, stride, false};
    stride *= inner;
  }
  for (int i = outer.count - 1; i >= 0; i--) {
    rest[i] = {outer.at[i].size, stride, outer.at[i].reduced};
    stride *= outer.at[i].size;
  }
  return reduce_axes(next_stage(op), kernel.result, target, rest, outer.count + kept_inner, out);
}

// The shape after reducing the dimensions of mask.
int reduced_shape(const TensorInfo& a, uint64_t mask, bool keepdim, Py_ssize_t* shape) {
  int n = 0;
  for (int i = 0; i < a.ndim; i++) {
    if (!(mask >> i & 1)) shape[n++] = a.shape[i];
    else if (keepdim) shape[n++] = 1;
  }
  return n;
}

Py_ssize_t reduced_count(const TensorInfo& a, uint64_t mask) {
  Py_ssize_t n = 1;
  for (int i = 0; i < a.ndim; i++)
    if (mask >> i & 1) n *= a.shape[i];
  return n;
}

void fill_empty(Reduce op, DType result, char* out, Py_ssize_t n) {
  const bool one = op == Reduce::Prod || op == Reduce::All;
  for (Py_ssize_t i = 0; i < n; i++) switch (result) {
      case DType::F32: reinterpret_cast<float*>(out)[i] = one; break;
      case DType::F64: reinterpret_cast<double*>(out)[i] = one; break;
      case DType::I64: reinterpret_cast<int64_t*>(out)[i] = one; break;
      case DType::C64:
      case DType::C128: std::memset(out + i * item_size(result), 0, item_size(result)); break;  // sums
      default: out[i] = one; break;
    }
}

// Rows of adjacent halves, widened piece by piece: some rows, or a part of one.
void reduce_halves(Reduce op, DType dtype, const char* in, Py_ssize_t rows, Py_ssize_t n, char* out, char* partial) {
  constexpr Py_ssize_t kPiece = 4096;
  const Py_ssize_t pieces = (n + kPiece - 1) / kPiece, together = std::max<Py_ssize_t>(kPiece / n, 1);
  const Reducer kernel = dense_kernels().reducer(op, DType::F32);
  const ptrdiff_t result_item = item_size(kernel.result);
  char* results = pieces > 1 ? partial : out;
  parallel(rows * pieces, kChunk / std::min(n, kPiece) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
    alignas(64) float wide[kPiece];
    for (ptrdiff_t i = begin, many; i < end; i += many) {
      const Py_ssize_t first = i % pieces * kPiece, count = std::min(n - first, kPiece);
      many = std::min<ptrdiff_t>(together, end - i);
      kernels().convert_adjacent(dtype, in + (i / pieces * n + first) * 2, DType::F32, wide, many * count);
      kernel.rows(reinterpret_cast<const char*>(wide), many, count * 4, count, results + i * result_item);
    }
  });
  if (pieces > 1) dense_kernels().reducer(next_stage(op), kernel.result).rows(results, rows, pieces * result_item, pieces, out);
}

// Whether the dimensions of mask are the last ones.
bool are_last(uint64_t mask, int ndim) {
  bool kept = false, last = true;
  for (int i = ndim - 1; i >= 0; i--) {
    kept |= !(mask >> i & 1);
    last &= !kept || !(mask >> i & 1);
  }
  return last;
}

// The reduction as a new tensor, that of halves in float; an empty Ref with no exception where there is no kernel.
Ref reduce(Reduce op, const TensorInfo& a, uint64_t mask, bool keepdim) {
  const bool half = is_half(a.dtype) && !is_meta(a);
  const Py_ssize_t length = half ? reduced_count(a, mask) : 0;
  const bool by_halves = length && a.size() && a.contiguous() && are_last(mask, a.ndim);
  if (half && !by_halves) return reduce(op, info_of(converted(Ref::borrow(as_object(a.tensor)), DType::F32)), mask, keepdim);
  const Reducer kernel = dense_kernels().reducer(op, computed_in(a.dtype));
  if (!kernel.rows) return Ref();
  Py_ssize_t shape[kMaxDims];
  const int ndim = reduced_shape(a, mask, keepdim, shape);
  if (a.size() == 0 && (op == Reduce::Max || op == Reduce::Min)) {
    const char* name = op == Reduce::Max ? "amax" : "amin";
    const Py_ssize_t full = a.ndim >= 64 ? 0 : (Py_ssize_t{1} << a.ndim) - 1;
    if (static_cast<Py_ssize_t>(mask) == full)
      return fail(PyExc_RuntimeError,
                  "%s(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
                  "the 'dim' argument.",
                  name);
    for (int i = 0; i < a.ndim; i++)
      if ((mask >> i & 1) && a.shape[i] == 0)
        return fail(PyExc_IndexError, "%s(): Expected reduction dim %d to have non-zero size.", name, i);
  }
  Ref result = new_ref(kernel.result, ndim, shape, device_of(a));
  if (!has_memory(result)) return result;
  char* out = data_of(result);
  if (by_halves) {
    const Workspace partial(static_cast<double>(a.size() / length) * static_cast<double>(length / 4096 + 1) * 8);
    if (!partial.p) return no_memory();
    Unlocked unlocked(a.size() * 2 > kReleaseGilBytes, a, result);
    reduce_halves(op, a.dtype, a.data, a.size() / length, length, out, partial.p);
    return result;
  }
  const auto adjacent = [&a] { return a.contiguous() || (a.tensor->is_aligned() && is_dense(a.tensor)); };
  if (ndim == 0 && a.size() > 0 && a.size() < 2 * kChunk && adjacent()) {  // one short row: nothing to plan
    const Py_ssize_t n = a.size();
    Unlocked unlocked(n * item_size(a.dtype) > kReleaseGilBytes, a, result);
    kernel.rows(a.data, 1, 0, n, out);
    return result;
  }
  if (a.size() == 0) {
    fill_empty(op, kernel.result, out, as_tensor(result)->numel());
    return result;
  }
  Axis axes[kMaxDims];
  bool aligned = a.tensor->is_aligned();
  Outcome outcome = Outcome::NeedsCopy;
  if (aligned) {
    for (int i = 0; i < a.ndim; i++) axes[i] = {a.shape[i], a.strides[i], (mask >> i & 1) != 0};
    Unlocked unlocked(a.size() * item_size(a.dtype) > kReleaseGilBytes, a, result);
    outcome = reduce_axes(op, a.dtype, a.data, axes, a.ndim, out);
  }
  if (outcome == Outcome::NeedsCopy) {
    Ref copy = owned(contiguous_copy(a.tensor));
    const TensorInfo c = info_of(copy);
    for (int i = 0; i < c.ndim; i++) axes[i] = {c.shape[i], c.strides[i], (mask >> i & 1) != 0};
    Unlocked unlocked(c.size() * item_size(c.dtype) > kReleaseGilBytes, c, result);
    outcome = reduce_axes(op, c.dtype, c.data, axes, c.ndim, out);
  }
  return outcome == Outcome::NoMemory ? no_memory() : std::move(result);
}

uint64_t all_dims(int ndim) { return ndim >= 64 ? ~uint64_t{0} : (uint64_t{1} << ndim) - 1; }

// A result that was computed in float, as a half where the argument was one.
Ref as_given(Ref result, const TensorInfo& a) {
  const bool rounds = is_half(a.dtype) && result && as_tensor(result)->dtype == DType::F32;
  return rounds ? rounded(std::move(result), a.dtype) : std::move(result);
}

// The sum in the type of the argument, of integers in int64.
Ref sum_of(const TensorInfo& a, uint64_t mask, bool keepdim) { return as_given(reduce(Reduce::Sum, a, mask, keepdim), a); }

Ref product_of_pairs(const TensorInfo& a, uint64_t mask, bool keepdim);

template <Reduce op>
Ref reduction(const TensorInfo& a, Dims dims, bool keepdim, OnlyNone /* dtype */) {
  if ((op == Reduce::Max || op == Reduce::Min) && !dims.given && !a.size()) return {};  // max() of nothing has its own error
  const bool all = !dims.mask && op != Reduce::Any && op != Reduce::All;  // dim=() means every dimension
  const uint64_t mask = all ? all_dims(a.ndim) : dims.mask;
  if (op == Reduce::Sum) return sum_of(a, mask, keepdim);
  if (op == Reduce::Prod && is_pair(a.dtype)) return product_of_pairs(a, mask, keepdim);
  constexpr bool truth = op == Reduce::Any || op == Reduce::All;
  if (truth && is_pair(a.dtype) && !is_accelerated(a)) {
    const Ref whether = owned(cast(a.tensor, DType::Bool));
    return reduce(op, info_of(whether), mask, keepdim);
  }
  Ref result = as_given(reduce(op, a, mask, keepdim), a);
  return result && truth && a.dtype == DType::U8 ? converted(result, DType::U8) : std::move(result);
}

// A reduction of halves: of their values as float, and its result rounded once.
template <auto F>
struct HalvesToo;
template <class... P, Ref (*F)(const TensorInfo&, P...)>
struct HalvesToo<F> {
  static Ref call(const TensorInfo& a, P... more) {
    if (!is_half(a.dtype) || is_meta(a)) return F(a, more...);
    const Ref wide = converted(Ref::borrow(as_object(a.tensor)), DType::F32);
    Ref result = F(info_of(wide), more...);
    return result && as_tensor(result)->dtype == DType::F32 ? contiguous_as(as_tensor(result), a.dtype) : std::move(result);
  }
};

Ref mean(const TensorInfo& a, Dims dims, bool keepdim, OnlyNone /* dtype */) {
  if (!a.is_float_or_half() && !is_pair(a.dtype)) return {};
  const uint64_t mask = dims.mask ? dims.mask : all_dims(a.ndim);
  const double count = static_cast<double>(reduced_count(a, mask));
  Ref result = reduce(Reduce::Sum, a, mask, keepdim);
  each_value(result, [count](auto x) { return x / static_cast<decltype(x)>(count); });
  return as_given(std::move(result), a);
}

// Of one dimension, or of all elements.
struct DimOrNone : Dims {
  static constexpr Text kType = "int | None";
  bool read(const Argument& a) {
    given = a.object != Py_None;
    if (!given || PyIndex_Check(a.object)) return Dims::read(a);
    return fail(PyExc_TypeError, "%s(): dim must be an int or None", a.kernel);
  }
  bool given;
};

// The least and the greatest of the elements.
Pair aminmax(const TensorInfo& a, DimOrNone dims, bool keepdim) {
  if (is_accelerated(a) || !a.size()) return {};
  const Ref in = converted(Ref::borrow(as_object(a.tensor)), computed_in(a.dtype));
  const TensorInfo wide = info_of(in);
  const Ref least = as_given(reduce(Reduce::Min, wide, dims.mask, keepdim), a);
  return least ? tuple_of(least, as_given(reduce(Reduce::Max, wide, dims.mask, keepdim), a)) : Ref();
}

Ref count_nonzero(const TensorInfo& a, Dims dims) {
  const Ref truth = converted(Ref::borrow(as_object(a.tensor)), DType::Bool);
  return reduce(Reduce::Sum, info_of(truth), dims.mask ? dims.mask : all_dims(a.ndim), false);
}

// The sum of a matrix's diagonal.
Ref trace(const TensorInfo& a) {
  if (is_accelerated(a) || a.ndim != 2 || a.dtype == DType::Bool) return {};
  Layout diagonal;
  diagonal.add(std::min(a.shape[0], a.shape[1]), a.strides[0] + a.strides[1]);
  const Ref view = make_view(a, diagonal);
  return as_given(reduce(Reduce::Sum, info_of(view), 1, false), a);
}

Ref nansum(const TensorInfo& a, const Dims& dims, bool keepdim, OnlyNone dtype) {
  return is_accelerated(a) ? Ref() : reduction<Reduce::NanSum>(a, dims, keepdim, dtype);
}

Ref norm2(const TensorInfo& a, Dims dims, bool keepdim, OnlyNone /* dtype */) {
  if (!a.is_float()) return {};
  Ref result = reduce(Reduce::SumSquares, a, dims.mask, keepdim);
  bool overflow = false;
  each_value(result, [&overflow](auto x) {
    overflow |= std::isinf(x);
    return std::sqrt(x);
  });
  if (!overflow) return result;
  // Once more, of what a power of two makes smaller.
  const Ref in = contiguous(a.tensor), small = owned(new_like(as_tensor(in), a.dtype));
  by_type(
      a.dtype,
      [&]<class T>(T* x, const T* given) {
        const T by = std::ldexp(T(1), -std::numeric_limits<T>::max_exponent * 5 / 8);
        for (Py_ssize_t i = as_tensor(small)->numel(); i-- > 0;) x[i] = given[i] * by;
      },
      data_of(small), data_of(in));
  const Ref again = reduce(Reduce::SumSquares, info_of(small), dims.mask, keepdim);
  by_type(
      a.dtype,
      [&]<class T>(T* x, const T* sums) {
        const T by = std::ldexp(T(1), std::numeric_limits<T>::max_exponent * 5 / 8);
        for (Py_ssize_t i = as_tensor(result)->numel(); i-- > 0;)
          if (std::isinf(x[i])) x[i] = std::sqrt(sums[i]) * by;
      },
      data_of(result), data_of(again));
  return result;
}

// |x| or, for a power that is given, its power, of contiguous elements.
void sizes_of(DType dtype, const char* in, Py_ssize_t n, double power, char* out) {
  static const int abs = opcode("abs"), pow = opcode("pow");
  constexpr Py_ssize_t kPiece = 1024;
  const ptrdiff_t item = item_size(dtype);
  parallel((n + kPiece - 1) / kPiece, kChunk / kPiece, [&](ptrdiff_t begin, ptrdiff_t end) {
    alignas(64) double exponents[kPiece];
    by_type(dtype, [&](auto* e) { std::fill_n(e, kPiece, power); }, reinterpret_cast<char*>(exponents));
    for (ptrdiff_t i = begin * kPiece; i < std::min(n, end * kPiece); i += kPiece) {
      const Py_ssize_t count = std::min(n - i, kPiece);
      kernels().block(abs, dtype)(in + i * item, nullptr, nullptr, out + i * item, count);
      if (power != 0) kernels().block(pow, dtype)(out + i * item, exponents, nullptr, out + i * item, count);
    }
  });
}

// The absolute values of complex numbers.
Ref sizes_of_pairs(const TensorInfo& a) {
  const DType real = a.dtype == DType::C64 ? DType::F32 : DType::F64;
  const Ref in = contiguous(a.tensor);
  Ref out = owned(new_like(as_tensor(in), real));
  by_type(
      real,
      [&]<class T>(T* to, const T* from) {
        for (Py_ssize_t i = as_tensor(out)->numel(); i-- > 0;) to[i] = std::hypot(from[2 * i], from[2 * i + 1]);
      },
      data_of(out), data_of(in));
  return out;
}

// (the sum of |x|^ord)^(1 / ord); of infinite order the extreme.
Ref vector_norm(const TensorInfo& a, double ord, Dims dims, bool keepdim, OnlyNone none) {
  if (is_accelerated(a) || is_meta(a) || std::isnan(ord)) return {};
  if (is_complex(a.dtype)) {
    const Ref sizes = sizes_of_pairs(a);
    return vector_norm(info_of(sizes), ord, dims, keepdim, none);
  }
  if (ord == 0 && a.is_float_or_half()) {
    const Ref truth = converted(Ref::borrow(as_object(a.tensor)), DType::Bool);
    const Ref count = reduce(Reduce::Sum, info_of(truth), dims.mask ? dims.mask : all_dims(a.ndim), keepdim);
    return contiguous_as(as_tensor(count), a.dtype);
  }
  if (!a.is_float_or_half() || (!a.size() && (ord < 0 || std::isinf(ord)))) return {};
  if (!dims.mask) dims.mask = all_dims(a.ndim);
  const DType type = computed_in(a.dtype);
  const bool as_it_lies = ord == 2 || (is_dense(a.tensor) && a.tensor->is_aligned());
  const Ref in = as_it_lies ? converted(Ref::borrow(as_object(a.tensor)), type) : contiguous_as(a.tensor, type);
  if (ord == 2) return as_given(norm2(info_of(in), dims, keepdim, none), a);
  const bool extreme = std::isinf(ord), power = !extreme && ord != 1;
  const TensorInfo wide = info_of(in);
  const Ref sizes = owned(new_like(wide.tensor, type));
  {
    const char* data = data_of(in);
    char* out = data_of(sizes);
    const Py_ssize_t n = as_tensor(sizes)->numel();
    Unlocked unlocked(n * item_size(type) > kReleaseGilBytes, in, sizes);
    sizes_of(type, data, n, power ? ord : 0, out);
  }
  Ref result = reduce(!extreme ? Reduce::Sum : ord > 0 ? Reduce::Max : Reduce::Min, info_of(sizes), dims.mask, keepdim);
  if (power) each_value(result, [ord](auto x) { return std::pow(x, static_cast<decltype(x)>(1 / ord)); });
  return as_given(std::move(result), a);
}

// The tensor with the dimensions of mask moved behind the others, contiguous: rows of the elements to reduce.
Ref as_rows(const TensorInfo& a, uint64_t mask, Py_ssize_t& rows, Py_ssize_t& n) {
  int order[kMaxDims];
  int at = 0;
  for (int i = 0; i < a.ndim; i++)
    if (!(mask >> i & 1)) order[at++] = i;
  for (int i = 0; i < a.ndim; i++)
    if (mask >> i & 1) order[at++] = i;
  n = reduced_count(a, mask);
  rows = 1;
  bool moved = false;
  for (int i = 0; i < a.ndim; i++) {
    if (!(mask >> i & 1)) rows *= a.shape[i];
    moved |= order[i] != i;
  }
  if (!moved) return contiguous(a.tensor);
  Layout l;
  for (int i = 0; i < a.ndim; i++) l.add(a.shape[order[i]], a.strides[order[i]]);
  Ref transposed = owned(new_view(a.tensor, l));
  return contiguous(as_tensor(transposed));
}

// A new tensor of `type` without the dimensions of mask: run(first row, rows, bytes from one to the next, elements of each, out)
// computes a part of it.
template <class Run>
Ref over_rows(const TensorInfo& a, uint64_t mask, bool keepdim, DType type, const Run& run) {
  Py_ssize_t shape[kMaxDims], rows, length;
  const int ndim = reduced_shape(a, mask, keepdim, shape);
  const Ref in = as_rows(a, mask, rows, length);
  Ref result = new_ref(type, ndim, shape, device_of(a));
  if (!has_memory(result)) return result;
  const char* data = data_of(in);
  char* out = data_of(result);
  const ptrdiff_t item = item_size(type), stride = length * item_size(a.dtype);
  Unlocked unlocked(rows * stride > kReleaseGilBytes, in, result);
  parallel(rows, kChunk / (length + 1) + 1,
           [&](ptrdiff_t begin, ptrdiff_t end) { run(data + begin * stride, end - begin, stride, length, out + begin * item); });
  return result;
}

// The pieces of kChunk elements of a long row: f(piece, its first byte, how many), over threads.
template <class F>
void each_piece(const char* row, Py_ssize_t length, ptrdiff_t item, const F& f) {
  parallel((length + kChunk - 1) / kChunk, 1, [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t i = begin; i < end; i++) f(i, row + i * kChunk * item, std::min(kChunk, length - i * kChunk));
  });
}

// The sum of the squared distances from the mean of a long row, from the pieces and their means.
template <class T>
double squares_of_pieces(DType dtype, const char* row, Py_ssize_t length) {
  const size_t pieces = static_cast<size_t>((length + kChunk - 1) / kChunk);
  std::vector<T> mean(pieces), within(pieces);
  each_piece(row, length, sizeof(T), [&](ptrdiff_t i, const char* piece, Py_ssize_t n) {
    dense_kernels().variance_rows(dtype, piece, 1, 0, n, 1, &within[i], &mean[i]);
  });
  double middle = 0, squares = 0;
  const auto size = [&](size_t i) { return static_cast<double>(i + 1 < pieces ? kChunk : length - (pieces - 1) * kChunk); };
  for (size_t i = 0; i < pieces; i++) middle += mean[i] * size(i) / static_cast<double>(length);
  for (size_t i = 0; i < pieces; i++) squares += within[i] + size(i) * (mean[i] - middle) * (mean[i] - middle);
  return squares;
}

Ref var(const TensorInfo& a, Dims dims, double correction, bool keepdim) {
  if (is_pair(a.dtype) && !is_accelerated(a) && !is_meta(a)) {
    const DType real = part_of(a.dtype);
    const auto of_part = [&](Py_ssize_t offset) {
      const Ref part = owned(new_view(a.tensor, real, a.tensor->ndim(), a.shape, a.strides, offset));
      return var(info_of(part), dims, correction, keepdim);
    };
    Ref sum = of_part(0);
    const Ref other = of_part(item_size(real));
    by_type(
        real,
        [&](auto* to, const auto* from) {
          for (Py_ssize_t i = as_tensor(sum)->numel(); i-- > 0;) to[i] += from[i];
        },
        data_of(sum), static_cast<const char*>(data_of(other)));
    return sum;
  }
  if (!a.is_float()) return {};
  const auto run = [&](const char* row, Py_ssize_t rows, ptrdiff_t stride, Py_ssize_t length, char* out) {
    const double divisor = std::max(static_cast<double>(length) - correction, 0.0);
    if (rows == 1 && length >= 2 * kChunk)
      return by_type(
          a.dtype, [&]<class T>(T* to) { *to = static_cast<T>(squares_of_pieces<T>(a.dtype, row, length) / divisor); }, out);
    dense_kernels().variance_rows(a.dtype, row, rows, stride, length, divisor, out, nullptr);
  };
  return over_rows(a, dims.mask, keepdim, a.dtype, run);
}

// The variance, or its root.
template <bool kRoot>
Ref variance(const TensorInfo& a, Dims dims, double correction, bool keepdim) {
  Ref result = var(a, dims, correction, keepdim);
  if (kRoot) each_value(result, [](auto x) { return std::sqrt(x); });
  return result;
}

// And the mean.
template <bool kRoot>
Pair variance_mean(const TensorInfo& a, Dims dims, double correction, bool keepdim) {
  const Ref result = HalvesToo<variance<kRoot>>::call(a, dims, correction, keepdim);
  return result ? tuple_of(result, mean(a, dims, keepdim, {})) : Ref();
}

template <bool Largest>
Ref argument(const TensorInfo& a, DimOrNone dims, bool keepdim) {
  const char* name = Largest ? "argmax" : "argmin";
  const auto kernel = dense_kernels().arg_rows(Largest, a.dtype);
  if (!kernel) return {};
  if (reduced_count(a, dims.mask) == 0) {
    if (dims.given)
      return fail(PyExc_IndexError, "%s(): Expected reduction dim %d to have non-zero size.", name, __builtin_ctzll(dims.mask));
    return fail(PyExc_IndexError, "%s(): Expected reduction dim to be specified for input.numel() == 0.", name);
  }
  const auto run = [&](const char* row, Py_ssize_t rows, ptrdiff_t stride, Py_ssize_t length, char* out) {
    int64_t* to = reinterpret_cast<int64_t*>(out);
    if (rows > 1 || length < 2 * kChunk) return kernel(row, rows, stride, length, to);
    const ptrdiff_t item = item_size(a.dtype), pieces = (length + kChunk - 1) / kChunk;
    std::vector<int64_t> at(static_cast<size_t>(pieces));
    std::vector<char> best(static_cast<size_t>(pieces * item));
    each_piece(row, length, item, [&](ptrdiff_t i, const char* piece, Py_ssize_t n) {
      kernel(piece, 1, 0, n, &at[i]);
      std::memcpy(&best[i * item], piece + at[i] * item, item);
    });
    kernel(best.data(), 1, 0, pieces, to);
    *to = *to * kChunk + at[*to];
  };
  return over_rows(a, dims.mask, keepdim, DType::I64, run);
}

template <bool Largest>
Ref place(const TensorInfo& a, DimOrNone dims, bool keepdim) {
  return a.dtype == DType::Bool ? Ref() : HalvesToo<argument<Largest>>::call(a, dims, keepdim);
}

// The extremes along a dimension, and where they stand.
template <bool Largest>
Pair extreme_and_place(const TensorInfo& a, DimOrNone dim, bool keepdim) {
  if (!dim.given || !a.size()) return {};
  const Ref at = HalvesToo<argument<Largest>>::call(a, dim, keepdim);
  return at ? tuple_of(reduction<Largest ? Reduce::Max : Reduce::Min>(a, dim, keepdim, {}), at) : Ref();
}

// The exclusive or of all elements' 64 bits: of the double, or of the integer, that has the value.
Ref hash_tensor(const TensorInfo& a, Dims dims, bool keepdim, Py_ssize_t mode) {
  if (is_accelerated(a) || is_meta(a) || mode != 0 || !a.size() || is_complex(a.dtype) || stored_only(a.dtype)) return {};
  const auto run = [&a](const char* row, Py_ssize_t rows, ptrdiff_t stride, Py_ssize_t length, char* out) {
    constexpr Py_ssize_t kPiece = 1024;
    alignas(64) uint64_t bits[kPiece];
    for (Py_ssize_t r = 0; r < rows; r++, row += stride) {
      uint64_t found = 0;
      for (Py_ssize_t i = 0; i < length; i += kPiece) {
        const Py_ssize_t count = std::min(length - i, kPiece);
        kernels().convert_adjacent(a.dtype, row + i * item_size(a.dtype), a.is_float_or_half() ? DType::F64 : DType::I64, bits,
                                   count);
        found = std::accumulate(bits, bits + count, found, std::bit_xor<>());
      }
      reinterpret_cast<uint64_t*>(out)[r] = found;
    }
  };
  return over_rows(a, dims.mask ? dims.mask : all_dims(a.ndim), keepdim, DType::U64, run);
}

// g times the product of the other elements, of n elements `step` apart, and so for the elements beside them: of those before and
// those after. Where all products are 0 no element is infinite, and what follows a product of 0 gets 0.
constexpr int kBeside = 16;
template <class T, class Count>
void others_of(const T* in, Py_ssize_t n, Py_ssize_t step, Count beside, bool zero, const T* g, T* out) {
  T product[kBeside];
  const auto ended = [&] { return zero && std::all_of(product, product + beside, [](T p) { return p == 0; }); };
  std::fill_n(product, kBeside, T(1));
  Py_ssize_t reached = 0, i = n;
  for (; reached < n && !ended(); reached++)
    for (Py_ssize_t j = 0; j < beside; j++) {
      out[reached * step + j] = product[j];
      product[j] *= in[reached * step + j];
    }
  std::fill_n(product, kBeside, T(1));
  for (; i > reached && !ended(); i--)
    for (Py_ssize_t j = 0; j < beside; j++) {
      out[(i - 1) * step + j] = g[j] * 0;
      product[j] *= in[(i - 1) * step + j];
    }
  for (; i > 0 && i <= reached && !ended(); i--)
    for (Py_ssize_t j = 0; j < beside; j++) {
      T& made = out[(i - 1) * step + j];
      made = g[j] * (made * product[j]);
      product[j] *= in[(i - 1) * step + j];
    }
  while (i-- > 0)
    for (Py_ssize_t j = 0; j < beside; j++) out[i * step + j] = g[j] * 0;
}

// The product of complex numbers: of pieces of a row, and of halves of what is left; of short rows side by side.
Ref product_of_pairs(const TensorInfo& a, uint64_t mask, bool keepdim) {
  static const int mul = opcode("mul");
  constexpr Py_ssize_t kPiece = 512, kShort = 64;
  const BlockFn multiply = kernels().block(mul, a.dtype);
  const ptrdiff_t item = item_size(a.dtype);
  const auto run = [=](const char* in, Py_ssize_t rows, ptrdiff_t stride, Py_ssize_t length, char* out) {
    alignas(64) char product[kPiece * 16], factors[kPiece * 16];
    for (Py_ssize_t r = 0; r < rows && length < kShort; r += kPiece) {
      const Py_ssize_t beside = std::min(kPiece, rows - r);
      char* const to = out + r * item;
      by_type(
          part_of(a.dtype),
          [&](auto* x) {
            for (Py_ssize_t i = 0; i < 2 * beside; i++) x[i] = i % 2 == 0;
          },
          to);
      for (Py_ssize_t i = 0; i < length; i++) {
        for (Py_ssize_t j = 0; j < beside; j++) std::memcpy((i ? factors : to) + j * item, in + (r + j) * stride + i * item, item);
        if (i) multiply(to, factors, nullptr, to, beside);
      }
    }
    for (Py_ssize_t r = 0; r < rows && length >= kShort; r++, in += stride, out += item) {
      Py_ssize_t n = std::min(kPiece, length / 2);
      multiply(in, in + n * item, nullptr, product, n);
      for (Py_ssize_t i = 2 * n; i < length; i += n) multiply(product, in + i * item, nullptr, product, std::min(n, length - i));
      for (; n > 1; n -= n / 2) multiply(product, product + (n - n / 2) * item, nullptr, product, n / 2);
      std::memcpy(out, product, item);
    }
  };
  return over_rows(a, mask, keepdim, a.dtype, run);
}

// The gradient of n x inner elements: each is divided out of its product, where that is right.
template <class T>
void prod_backward_of(const T* in, Py_ssize_t n, Py_ssize_t inner, const T* g, const T* total, T* out) {
  for (Py_ssize_t first = 0; first < inner; first += kBeside) {
    const Py_ssize_t beside = std::min<Py_ssize_t>(kBeside, inner - first);
    bool divisible[kBeside], all = true, zero = true;
    for (Py_ssize_t j = 0; j < beside; j++) {
      divisible[j] = total[first + j] != 0;
      for (Py_ssize_t i = 0; i < n && !std::isfinite(total[first + j]); i++) divisible[j] &= !std::isinf(in[i * inner + first + j]);
      all &= divisible[j];
      zero &= total[first + j] == 0;
    }
    if (!all && inner == 1) others_of(in, n, 1, std::integral_constant<Py_ssize_t, 1>(), zero, g, out);
    else if (!all) others_of(in + first, n, inner, beside, zero, g + first, out + first);
    if (zero) continue;
    for (Py_ssize_t i = 0; i < n; i++)
      for (Py_ssize_t j = 0; j < beside; j++) {
        const Py_ssize_t at = i * inner + first + j;
        if (divisible[j]) out[at] = g[first + j] * (total[first + j] / in[at]);
      }
  }
}

void conjugate(const Ref& numbers) {
  const Py_ssize_t n = as_tensor(numbers)->numel();
  const auto run = [n](auto* x) {
    for (Py_ssize_t i = 0; i < n; i++) x[2 * i + 1] = -x[2 * i + 1];
  };
  by_type(part_of(as_tensor(numbers)->dtype), run, data_of(numbers));
}

// Of complex numbers, where all products are finite and none is 0: the conjugate of conj(g) total / x.
Ref pairs_backward(const TensorInfo& a, const TensorInfo& g, const TensorInfo& total, Py_ssize_t outer, Py_ssize_t n,
                   Py_ssize_t inner) {
  static const int mul = opcode("mul"), div = opcode("div");
  constexpr Py_ssize_t kPiece = 512;
  const Ref in = contiguous(a.tensor), slopes = owned(contiguous_copy(g.tensor)), totals = contiguous(total.tensor);
  const auto divisible = [&](const auto* x) {
    for (Py_ssize_t i = 0; i < 2 * outer * inner; i += 2)
      if (!std::isfinite(x[i]) || !std::isfinite(x[i + 1]) || (x[i] == 0 && x[i + 1] == 0)) return false;
    return true;
  };
  if (!by_type(part_of(a.dtype), divisible, data_of(totals))) return {};
  Ref result = new_ref(a.dtype, a.ndim, a.shape, DeviceType::Cpu);
  const ptrdiff_t item = item_size(a.dtype);
  const BlockFn divide = kernels().block(div, a.dtype);
  char *x = data_of(in), *slope = data_of(slopes), *out = data_of(result);
  conjugate(slopes);
  kernels().block(mul, a.dtype)(slope, data_of(totals), nullptr, slope, outer * inner);
  alignas(64) char same[kPiece * 16];
  for (Py_ssize_t o = 0; o < outer; o++, slope += inner * item) {
    for (Py_ssize_t i = 0; inner == 1 && i < std::min(n, kPiece); i++) std::memcpy(same + i * item, slope, item);
    const Py_ssize_t step = inner == 1 ? kPiece : 1;
    for (Py_ssize_t i = 0; i < n; i += step) {
      const Py_ssize_t count = inner == 1 ? std::min(kPiece, n - i) : inner;
      divide(inner == 1 ? same : slope, x, nullptr, out, count);
      x += count * item, out += count * item;
    }
  }
  conjugate(result);
  return result;
}

Ref prod_backward(const TensorInfo& a, const TensorInfo& g, const TensorInfo& total, DimOrNone dim, bool /* keepdim */) {
  if ((!a.is_float_or_half() && !is_pair(a.dtype)) || g.dtype != a.dtype || total.dtype != a.dtype || is_meta(a, g, total))
    return {};
  const DType type = computed_in(a.dtype);
  Py_ssize_t outer = 1, inner = 1;
  const Py_ssize_t n = reduced_count(a, dim.mask);
  const int at = dim.given && a.ndim ? __builtin_ctzll(dim.mask) : 0;
  for (int i = 0; dim.given && i < a.ndim; i++) (i < at ? outer : inner) *= i == at ? 1 : a.shape[i];
  if (g.size() != outer * inner || total.size() != outer * inner) return {};
  if (is_pair(a.dtype)) return pairs_backward(a, g, total, outer, n, inner);
  const Ref in = contiguous_as(a.tensor, type), slopes = contiguous_as(g.tensor, type), totals = contiguous_as(total.tensor, type);
  Ref result = new_ref(type, a.ndim, a.shape, DeviceType::Cpu);
  const auto run = [&]<class T>(const T* x, const T* slope, const T* product, T* out) {
    parallel(outer, kChunk / (n * inner + 1) + 1, [=](ptrdiff_t begin, ptrdiff_t end) {
      for (ptrdiff_t o = begin; o < end; o++)
        prod_backward_of(x + o * n * inner, n, inner, slope + o * inner, product + o * inner, out + o * n * inner);
    });
  };
  const char *x = data_of(in), *slope = data_of(slopes), *product = data_of(totals);
  char* out = data_of(result);
  {
    Unlocked unlocked(a.size() * item_size(type) > kReleaseGilBytes, in, slopes, totals, result);
    by_type(type, run, x, slope, product, out);
  }
  return rounded(std::move(result), a.dtype);
}

// The log of the sum of exponentials.
Ref logsumexp(const TensorInfo& a, Dims dims, bool keepdim, OnlyNone /* dtype */) {
  if (!is_differentiable(a.dtype) && !is_meta(a)) {
    const Ref real = contiguous_as(a.tensor, registry.default_dtype);
    return logsumexp(info_of(real), dims, keepdim, {});
  }
  if (!a.is_float()) return {};
  const auto run = [&a](const char* row, Py_ssize_t rows, ptrdiff_t stride, Py_ssize_t length, char* out) {
    dense_kernels().logsumexp_rows(a.dtype, row, rows, stride, length, out);
  };
  return over_rows(a, dims.mask, keepdim, a.dtype, run);
}

// The tensor summed over the dimensions that broadcasting `shape` to its own shape repeated; the tensor itself if there are none.
Ref sum_to(const TensorInfo& a, const Shape& to) {
  const auto& [shape, ndim] = static_cast<const Sizes&>(to);
  uint64_t mask = 0;
  const int lead = a.ndim - ndim;
  bool fits = lead >= 0;
  for (int i = 0; fits && i < a.ndim; i++) {
    if (i < lead) mask |= uint64_t{1} << i;
    else if (a.shape[i] != shape[i - lead]) {
      fits = shape[i - lead] == 1;
      mask |= uint64_t{1} << i;
    }
  }
  if (!fits) return fail(PyExc_RuntimeError, "sum_to: the shape does not broadcast to the shape of the array");
  if (!mask) return Ref::borrow(as_object(a.tensor));
  const bool whole = !is_differentiable(a.dtype);  // whose sums have another type
  if (whole && is_accelerated(a)) return {};
  const bool only_lead = lead >= 64 || !(mask >> lead);
  Py_ssize_t n = 1;
  for (int i = 0; i < ndim; i++) n *= shape[i];
  if (only_lead && a.is_float() && a.contiguous() && n > 1 && a.size() > n && a.tensor->nbytes() <= kReleaseGilBytes &&
      !is_meta(a) && !is_accelerated(a)) {
    Ref row = new_ref(a.dtype, ndim, shape, DeviceType::Cpu);
    sum_rows(Ref::borrow(as_object(a.tensor)), a.size() / n, n, row);
    return row;
  }
  Ref sum = sum_of(a, mask, !only_lead);
  if (sum && whole) sum = rounded(std::move(sum), a.dtype);
  if (!sum || lead == 0 || only_lead) return sum;
  Layout l(as_tensor(sum));  // less the leading dimensions, of size 1
  for (int i = 0; i < lead; i++) l.remove(0);
  return make_view(info_of(sum), l);
}

const KernelRows rows{
    long_kernel<reduction<Reduce::Sum>, "sum(a, dims=None, keepdim=False, dtype=None)">(),
    long_kernel<reduction<Reduce::Prod>, "prod(a, dims=None, keepdim=False, dtype=None)">(),
    long_kernel<reduction<Reduce::Max>, "amax(a, dims=None, keepdim=False, dtype=None): a NaN wins">(),
    long_kernel<reduction<Reduce::Min>, "amin(a, dims=None, keepdim=False, dtype=None): a NaN wins">(),
    long_kernel<reduction<Reduce::Any>, "any(a, dims=None, keepdim=False, dtype=None)">(),
    long_kernel<reduction<Reduce::All>, "all(a, dims=None, keepdim=False, dtype=None)">(),
    long_kernel<mean, "mean(a, dims=None, keepdim=False, dtype=None)">(),
    layout_kernel<nansum, "nansum(a, dims=None, keepdim=False, dtype=None)">(),
    layout_kernel<trace, "trace(a)">(),
    layout_kernel<aminmax, "aminmax(a, dim=None, keepdim=False)">(),
    long_kernel<count_nonzero, "count_nonzero(a, dims=None)">(),
    long_kernel<norm2, "norm2(a, dims=None, keepdim=False, dtype=None): the Euclidean norm">(Border::Refuses),
    layout_kernel<vector_norm, "vector_norm(a, ord, dims, keepdim, dtype=None)">(Border::Refuses),
    long_kernel<HalvesToo<var>::call, "var(a, dims=None, correction=1, keepdim=False)">(),
    long_kernel<HalvesToo<variance<true>>::call, "std(a, dims=None, correction=1, keepdim=False)">(),
    long_kernel<variance_mean<false>, "var_mean(a, dims=None, correction=1, keepdim=False)">(),
    long_kernel<variance_mean<true>, "std_mean(a, dims=None, correction=1, keepdim=False)">(),
    layout_kernel<hash_tensor, "hash_tensor(a, dims, keepdim, mode)">(),
    long_kernel<prod_backward, "prod_backward(a, g, total, dim, keepdim)">(),
    long_kernel<extreme_and_place<true>, "max_dim(a, dim, keepdim=False): (values, indices)">(),
    long_kernel<extreme_and_place<false>, "min_dim(a, dim, keepdim=False): (values, indices)">(),
    long_kernel<place<true>, "argmax(a, dim=None, keepdim=False): the first index; a NaN wins">(),
    long_kernel<place<false>, "argmin(a, dim=None, keepdim=False): the first index; a NaN wins">(),
    long_kernel<HalvesToo<logsumexp>::call, "logsumexp(a, dims=None, keepdim=False, dtype=None)">(),
    long_kernel<sum_to, "sum_to(a, shape): undoes broadcasting from shape to a.shape by summing">(),
};

}  // namespace

namespace {

struct RowSum {
  DType type;
  Py_ssize_t m, n;
};
bool run_row_sum(const void* fixed, char* const* at) {
  const auto& [type, m, n] = *static_cast<const RowSum*>(fixed);
  if (m == 0) fill_empty(Reduce::Sum, type, at[1], n);
  else if (n) reduce_columns(Reduce::Sum, type, at[0], m, n * item_size(type), n, at[1]);
  return true;
}

}  // namespace

void sum_rows(const Ref& rows, Py_ssize_t m, Py_ssize_t n, const Ref& out) {
  const RowSum sum{as_tensor(out)->dtype, m, n};
  char* const at[] = {data_of(rows), data_of(out)};
  if (m * n <= kChunk) tell(run_row_sum, sum, {{as_tensor(rows), at[0]}, {as_tensor(out), at[1]}});
  run_row_sum(&sum, at);
}

}  // namespace rushlight
