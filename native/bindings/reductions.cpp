// Reductions of tensors over any dimensions.
//
// The dimensions are merged where memory allows, then reduced one merged dimension at a time, innermost first: as rows
// where the reduced dimension holds adjacent elements, as columns where the last kept dimension does. Other layouts are
// copied.
#include "bindings/bindings.h"

#include <cmath>
#include <cstdlib>

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

Reduce next_stage(Reduce op) { return op == Reduce::SumSquares ? Reduce::Sum : op; }

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
    alignas(64) char results[(kNarrow + kNarrow / 2) * sizeof(int64_t)];
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
      default: out[i] = one; break;
    }
}

// The reduction as a new tensor; an empty Ref with no exception where there is no kernel.
Ref reduce(Reduce op, const TensorInfo& a, uint64_t mask, bool keepdim) {
  const Reducer kernel = dense_kernels().reducer(op, a.dtype);
  if (!kernel.rows) return Ref();
  Py_ssize_t shape[kMaxDims];
  const int ndim = reduced_shape(a, mask, keepdim, shape);
  if (a.size() == 0 && (op == Reduce::Max || op == Reduce::Min)) {
    const char* name = op == Reduce::Max ? "amax" : "amin";
    const Py_ssize_t full = a.ndim >= 64 ? 0 : (Py_ssize_t{1} << a.ndim) - 1;
    if (static_cast<Py_ssize_t>(mask) == full) {
      PyErr_Format(PyExc_RuntimeError,
                   "%s(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
                   "the 'dim' argument.",
                   name);
      return Ref();
    }
    for (int i = 0; i < a.ndim; i++)
      if ((mask >> i & 1) && a.shape[i] == 0) {
        PyErr_Format(PyExc_IndexError, "%s(): Expected reduction dim %d to have non-zero size.", name, i);
        return Ref();
      }
  }
  const DeviceType device = device_of(a);
  Ref result = new_ref(kernel.result, ndim, shape, device);
  if (!result || device == DeviceType::Meta) return result;
  char* out = data_of(result);
  if (a.contiguous() && ndim == 0 && a.size() > 0 && a.size() < 2 * kChunk) {  // one short row: nothing to plan
    const Py_ssize_t n = a.size();
    Unlocked unlocked(n * item_size(a.dtype) > kReleaseGilBytes, {a.tensor, as_tensor(result)});
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
    Unlocked unlocked(a.size() * item_size(a.dtype) > kReleaseGilBytes, {a.tensor, as_tensor(result)});
    outcome = reduce_axes(op, a.dtype, a.data, axes, a.ndim, out);
  }
  if (outcome == Outcome::NeedsCopy) {
    Ref copy(as_object(contiguous_copy(a.tensor)));
    if (!copy) return Ref();
    const TensorInfo c = info_of(as_tensor(copy));
    for (int i = 0; i < c.ndim; i++) axes[i] = {c.shape[i], c.strides[i], (mask >> i & 1) != 0};
    Unlocked unlocked(c.size() * item_size(c.dtype) > kReleaseGilBytes, {c.tensor, as_tensor(result)});
    outcome = reduce_axes(op, c.dtype, c.data, axes, c.ndim, out);
  }
  if (outcome == Outcome::NoMemory) {
    PyErr_NoMemory();
    return Ref();
  }
  return result;
}

uint64_t all_dims(int ndim) { return ndim >= 64 ? ~uint64_t{0} : (uint64_t{1} << ndim) - 1; }

PyObject* finish(Ref result) {
  if (!result && !PyErr_Occurred()) return not_implemented();
  return result.release();
}

// (tensor, dims = None, keepdim = False, dtype = None): the reference implementation serves any other dtype
bool parse(const char* name, PyObject* const* args, Py_ssize_t n, TensorInfo& a, uint64_t& mask, bool& keepdim, bool& known) {
  known = check_count(name, n, 1, 4);
  if (!known || !read_tensor(args[0], a) || (n > 3 && args[3] != Py_None)) return false;
  keepdim = false;
  known = dims_argument(n > 1 ? args[1] : Py_None, a.ndim, mask) && (n < 3 || bool_argument(args[2], keepdim));
  return known;
}

template <Reduce op>
PyObject* reduction(PyObject*, PyObject* const* args, Py_ssize_t n) {
  static constexpr const char* kNames[] = {"sum", "prod", "amax", "amin", "norm2", "any", "all"};
  TensorInfo a;
  uint64_t mask;
  bool keepdim, known;
  if (!parse(kNames[static_cast<int>(op)], args, n, a, mask, keepdim, known)) return known ? not_implemented() : nullptr;
  if (!mask && op != Reduce::Any && op != Reduce::All) mask = all_dims(a.ndim);  // dim=() means every dimension
  return finish(n == 1 && !a.size() && (op == Reduce::Max || op == Reduce::Min) ? Ref() : reduce(op, a, mask, keepdim));
}

// A reduction of halves: of their values as float, and its result rounded once.
template <FastFunction F>
PyObject* of_halves_too(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  TensorInfo a;
  if (n < 1 || n > 4 || !read_tensor(args[0], a) || !is_half(a.dtype) || is_meta(a)) return F(self, args, n);
  const Ref wide = contiguous_as(a.tensor, DType::F32);
  if (!wide) return nullptr;
  PyObject* again[4] = {wide.get()};
  for (Py_ssize_t i = 1; i < n; i++) again[i] = args[i];
  Ref result(F(self, again, n));
  if (!result || !is_tensor(result.get()) || as_tensor(result)->dtype != DType::F32) return result.release();
  return contiguous_as(as_tensor(result), a.dtype).release();
}

template <class F>
void each_value(const Ref& tensor, F f) {
  if (is_meta(info_of(as_tensor(tensor)))) return;
  const Py_ssize_t n = as_tensor(tensor)->numel();
  if (as_tensor(tensor)->dtype == DType::F32) {
    float* p = data_of<float>(tensor);
    for (Py_ssize_t i = 0; i < n; i++) p[i] = f(p[i]);
  } else {
    double* p = data_of<double>(tensor);
    for (Py_ssize_t i = 0; i < n; i++) p[i] = f(p[i]);
  }
}

PyObject* mean(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo a;
  uint64_t mask;
  bool keepdim, known;
  if (!parse("mean", args, n, a, mask, keepdim, known)) return known ? not_implemented() : nullptr;
  if (!mask) mask = all_dims(a.ndim);
  if (!a.is_float()) return not_implemented();
  const double count = static_cast<double>(reduced_count(a, mask));
  Ref result = reduce(Reduce::Sum, a, mask, keepdim);
  if (!result) return nullptr;
  each_value(result, [count](auto x) { return x / static_cast<decltype(x)>(count); });
  return result.release();
}

PyObject* norm2(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo a;
  uint64_t mask;
  bool keepdim, known;
  if (!parse("norm2", args, n, a, mask, keepdim, known)) return known ? not_implemented() : nullptr;
  if (!a.is_float()) return not_implemented();
  Ref result = reduce(Reduce::SumSquares, a, mask, keepdim);
  if (!result) return nullptr;
  bool overflow = false;
  each_value(result, [&overflow](auto x) {
    overflow |= std::isinf(x);
    return std::sqrt(x);
  });
  return overflow ? not_implemented() : result.release();  // the definition scales what is large
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
  Ref transposed(as_object(new_view(a.tensor, l)));
  return transposed ? contiguous(as_tensor(transposed)) : Ref();
}

// (tensor, dims, correction, keepdim) -> the variance
PyObject* var(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo a;
  uint64_t mask;
  bool keepdim = false;
  double correction = 1;
  if (!check_count("var", n, 1, 4)) return nullptr;
  if (!read_tensor(args[0], a) || !a.is_float()) return not_implemented();
  if (!dims_argument(n > 1 ? args[1] : Py_None, a.ndim, mask) || (n > 2 && !double_argument(args[2], correction)) ||
      (n > 3 && !bool_argument(args[3], keepdim)))
    return nullptr;
  Py_ssize_t shape[kMaxDims], rows, length;
  const int ndim = reduced_shape(a, mask, keepdim, shape);
  Ref in = as_rows(a, mask, rows, length);
  const DeviceType device = device_of(a);
  Ref result = in ? new_ref(a.dtype, ndim, shape, device) : Ref();
  if (!result || device == DeviceType::Meta) return result.release();
  const char* data = data_of(in);
  char* out = data_of(result);
  const ptrdiff_t item = item_size(a.dtype), stride = length * item;
  const double divisor = static_cast<double>(length) - correction;
  Unlocked unlocked(rows * stride > kReleaseGilBytes, {as_tensor(in), as_tensor(result)});
  parallel(rows, kChunk / (length + 1) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
    dense_kernels().variance_rows(a.dtype, data + begin * stride, end - begin, stride, length, divisor > 0 ? divisor : 0,
                                  out + begin * item, nullptr);
  });
  return result.release();
}

template <bool Largest>
PyObject* argument(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const char* name = Largest ? "argmax" : "argmin";
  TensorInfo a;
  uint64_t mask;
  bool keepdim = false;
  if (!check_count(name, n, 1, 3)) return nullptr;
  if (!read_tensor(args[0], a)) return not_implemented();
  const auto kernel = dense_kernels().arg_rows(Largest, a.dtype);
  if (!kernel) return not_implemented();
  if (n > 1 && args[1] != Py_None && !PyIndex_Check(args[1])) {
    PyErr_Format(PyExc_TypeError, "%s(): dim must be an int or None", name);
    return nullptr;
  }
  if (!dims_argument(n > 1 ? args[1] : Py_None, a.ndim, mask) || (n > 2 && !bool_argument(args[2], keepdim))) return nullptr;
  Py_ssize_t shape[kMaxDims], rows, length;
  const int ndim = reduced_shape(a, mask, keepdim, shape);
  if (reduced_count(a, mask) == 0 && (n < 2 || args[1] == Py_None)) {
    PyErr_Format(PyExc_IndexError, "%s(): Expected reduction dim to be specified for input.numel() == 0.", name);
    return nullptr;
  }
  if (reduced_count(a, mask) == 0) {
    PyErr_Format(PyExc_IndexError, "%s(): Expected reduction dim %zd to have non-zero size.", name,
                 PyNumber_AsSsize_t(args[1], nullptr));
    return nullptr;
  }
  Ref in = as_rows(a, mask, rows, length);
  const DeviceType device = device_of(a);
  Ref result = in ? new_ref(DType::I64, ndim, shape, device) : Ref();
  if (!result || device == DeviceType::Meta) return result.release();
  const char* data = data_of(in);
  int64_t* out = data_of<int64_t>(result);
  const ptrdiff_t stride = length * item_size(a.dtype);
  Unlocked unlocked(rows * stride > kReleaseGilBytes, {as_tensor(in), as_tensor(result)});
  parallel(rows, kChunk / length + 1,
           [&](ptrdiff_t begin, ptrdiff_t end) { kernel(data + begin * stride, end - begin, stride, length, out + begin); });
  return result.release();
}

// (tensor, dims, keepdim) -> log of the sum of exponentials
PyObject* logsumexp(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo a;
  uint64_t mask;
  bool keepdim, known;
  if (!parse("logsumexp", args, n, a, mask, keepdim, known)) return known ? not_implemented() : nullptr;
  if (!a.is_float()) return not_implemented();
  Py_ssize_t shape[kMaxDims], rows, length;
  const int ndim = reduced_shape(a, mask, keepdim, shape);
  Ref in = as_rows(a, mask, rows, length);
  const DeviceType device = device_of(a);
  Ref result = in ? new_ref(a.dtype, ndim, shape, device) : Ref();
  if (!result || device == DeviceType::Meta) return result.release();
  const char* data = data_of(in);
  char* out = data_of(result);
  const ptrdiff_t item = item_size(a.dtype), stride = length * item;
  Unlocked unlocked(rows * stride > kReleaseGilBytes, {as_tensor(in), as_tensor(result)});
  parallel(rows, kChunk / (length + 1) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
    dense_kernels().logsumexp_rows(a.dtype, data + begin * stride, end - begin, stride, length, out + begin * item);
  });
  return result.release();
}

template <bool Product>
PyObject* cumulative(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo a;
  if (!check_count(Product ? "cumprod" : "cumsum", n, 2, 2)) return nullptr;
  if (!read_tensor(args[0], a)) return not_implemented();
  const bool integer = a.dtype == DType::Bool || a.dtype == DType::U8 || (a.dtype >= DType::I8 && a.dtype <= DType::I64);
  if (!a.is_float() && !integer) return not_implemented();
  const int dim = dim_argument(args[1], a.ndim);
  if (dim < 0) return nullptr;
  const DType type = integer ? DType::I64 : a.dtype;
  Ref in = contiguous_as(a.tensor, type);
  const DeviceType device = device_of(a);
  Ref result = in ? new_ref(type, a.ndim, a.shape, device) : Ref();
  if (!result || device == DeviceType::Meta) return result.release();
  Py_ssize_t outer = 1, inner = 1;
  for (int i = 0; i < dim; i++) outer *= a.shape[i];
  for (int i = dim + 1; i < a.ndim; i++) inner *= a.shape[i];
  const Py_ssize_t length = a.ndim ? a.shape[dim] : 1;
  if (as_tensor(result)->numel() == 0) return result.release();
  const char* data = data_of(in);
  char* out = data_of(result);
  const ptrdiff_t step = length * inner * item_size(type);
  Unlocked unlocked(outer * step > kReleaseGilBytes, {as_tensor(in), as_tensor(result)});
  parallel(outer, kChunk / (length * inner) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
    dense_kernels().cumulate(Product, type, data + begin * step, end - begin, length, inner, out + begin * step);
  });
  return result.release();
}

// (tensor, shape) -> the tensor summed over what broadcasting `shape` to its own shape repeated; the tensor itself if
// nothing.
PyObject* sum_to(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo a;
  Py_ssize_t shape[kMaxDims];
  int ndim;
  if (!check_count("sum_to", n, 2, 2)) return nullptr;
  if (!read_tensor(args[0], a)) return not_implemented();
  if (!shape_argument(args[1], shape, ndim)) return nullptr;
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
  if (!fits) {
    PyErr_SetString(PyExc_RuntimeError, "sum_to: the shape does not broadcast to the shape of the array");
    return nullptr;
  }
  if (!mask) return Py_NewRef(args[0]);
  if (!a.is_float()) return not_implemented();  // a gradient keeps its element type; sums of integers do not
  const bool only_lead = lead >= 64 || !(mask >> lead);
  Ref sum = reduce(Reduce::Sum, a, mask, !only_lead);
  if (!sum || lead == 0 || only_lead) return sum.release();
  Layout l(as_tensor(sum));  // less the leading dimensions, of size 1
  for (int i = 0; i < lead; i++) l.remove(0);
  return as_object(new_view(as_tensor(sum), l));
}

}  // namespace

void sum_rows(DType dtype, const char* data, Py_ssize_t m, Py_ssize_t n, char* out) {
  if (n == 0) return;
  if (m == 0) return fill_empty(Reduce::Sum, dtype, out, n);
  reduce_columns(Reduce::Sum, dtype, data, m, n * item_size(dtype), n, out);
}

PyMethodDef kReductionMethods[] = {
    long_kernel<of_halves_too<reduction<Reduce::Sum>>>("sum", "sum(a, dims=None, keepdim=False)"),
    long_kernel<of_halves_too<reduction<Reduce::Prod>>>("prod", "prod(a, dims=None, keepdim=False)"),
    long_kernel<of_halves_too<reduction<Reduce::Max>>>("amax", "amax(a, dims=None, keepdim=False): a NaN wins"),
    long_kernel<of_halves_too<reduction<Reduce::Min>>>("amin", "amin(a, dims=None, keepdim=False): a NaN wins"),
    long_kernel<reduction<Reduce::Any>>("any", "any(a, dims=None, keepdim=False)"),
    long_kernel<reduction<Reduce::All>>("all", "all(a, dims=None, keepdim=False)"),
    long_kernel<of_halves_too<mean>>("mean", "mean(a, dims=None, keepdim=False)"),
    long_kernel<norm2>("norm2", "norm2(a, dims=None, keepdim=False): the Euclidean norm"),
    long_kernel<of_halves_too<var>>("var", "var(a, dims=None, correction=1, keepdim=False)"),
    long_kernel<of_halves_too<argument<true>>>("argmax", "argmax(a, dim=None, keepdim=False): the first index; a NaN wins"),
    long_kernel<of_halves_too<argument<false>>>("argmin", "argmin(a, dim=None, keepdim=False): the first index; a NaN wins"),
    long_kernel<logsumexp>("logsumexp", "logsumexp(a, dims=None, keepdim=False)"),
    long_kernel<cumulative<false>>("cumsum", "cumsum(a, dim)"),
    long_kernel<cumulative<true>>("cumprod", "cumprod(a, dim)"),
    long_kernel<sum_to>("sum_to", "sum_to(a, shape): undoes broadcasting from shape to a.shape by summing"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace rushlight
