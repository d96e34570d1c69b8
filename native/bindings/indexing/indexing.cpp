// Indexing over tensors. `index` is int64 and may be negative; every index is checked before anything is written.
//
// An indexed place is (index, dims, at): the dimensions `dims` of the tensor are replaced by the index's shape, put
// before the remaining dimension number `at`. With several dims the index counts through them row by row (see
// linear_index).
#include "bindings/kernel.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/alerts.h"
#include "kernels/indexing.h"

namespace rushlight {

namespace {

Failed out_of_bounds(int64_t index, int64_t dim, int64_t size) {
  return fail(PyExc_IndexError, "index %lld is out of bounds for dimension %lld with size %lld", static_cast<long long>(index),
              static_cast<long long>(dim), static_cast<long long>(size));
}

// A tensor, where anything else is an error.
struct Array : TensorInfo {
  static constexpr Text kType = "Tensor";
  bool read(const Argument& a) {
    return read_tensor(a.object, *this) ||
           fail(PyExc_TypeError, "%s() expects a tensor, not %s", a.kernel, Py_TYPE(a.object)->tp_name);
  }
};

bool is_index(const TensorInfo& a) { return a.dtype == DType::I64 || a.dtype == DType::I32; }
// The same of an index: contiguous, of int64.
struct Index : Array {
  bool read(const Argument& a) {
    if (!Array::read(a)) return false;
    if (!is_index(*this)) return fail(PyExc_TypeError, "%s(): the index must be int64", a.kernel);
    settle();
    return true;
  }
  void settle() {
    owner = contiguous_as(tensor, DType::I64);
    TensorInfo::operator=(info_of(owner));
  }
  Ref owner;
};

// A tensor without dimensions, seen as a row of one.
void as_row(TensorInfo& a) { a.ndim = std::max(a.ndim, 1); }

// Aligned memory that the kernels can read; strides may be anything.
Ref aligned(const TensorInfo& a) { return a.tensor->is_aligned() ? Ref::borrow(as_object(a.tensor)) : contiguous(a.tensor); }

// Drops dimensions of size 1 and joins neighbours that form a single run of memory.
int joined(int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides, ptrdiff_t* to_shape, ptrdiff_t* to_strides) {
  int n = 0;
  for (int i = 0; i < ndim; i++) {
    if (shape[i] == 1) continue;
    if (n && to_strides[n - 1] == strides[i] * shape[i]) {
      to_shape[n - 1] *= shape[i];
      to_strides[n - 1] = strides[i];
    } else {
      to_shape[n] = shape[i];
      to_strides[n++] = strides[i];
    }
  }
  return n;
}

// An index and the tensor it goes into.
struct Indexed {
  Places places;
  std::unique_ptr<ptrdiff_t[]> many;
  ptrdiff_t few[32];
  int ndim = 0;                     // of the values
  Py_ssize_t shape[2 * kMaxDims];  // of the values
  Py_ssize_t total = 1;
};

// Reads dims and at, works out the values' shape, checks the index where it has a value. `shape`, `strides`: of the tensor.
bool read_places(const TensorInfo& x, const TensorInfo& index, PyObject* dims_object, Py_ssize_t at, Indexed& in) {
  const int ndim = x.ndim;
  const Py_ssize_t *shape = x.shape, *strides = x.strides;
  if (!PyTuple_Check(dims_object) || PyTuple_GET_SIZE(dims_object) == 0)
    return fail(PyExc_TypeError, "dims must be a tuple of at least one dimension");
  const int k = static_cast<int>(PyTuple_GET_SIZE(dims_object));
  int dims[kMaxDims];
  bool taken[kMaxDims] = {};
  Py_ssize_t size = 1;
  for (int i = 0; i < k; i++) {
    if (i >= ndim) return fail(PyExc_IndexError, "more dims than dimensions");
    if ((dims[i] = dim_argument(PyTuple_GET_ITEM(dims_object, i), ndim)) < 0) return false;
    if (taken[dims[i]]) return fail(PyExc_ValueError, "dims must differ");
    taken[dims[i]] = true;
    size *= shape[dims[i]];
  }
  if (at < 0 || at > ndim - k) return fail(PyExc_IndexError, "at is out of range");
  Py_ssize_t rest_shape[kMaxDims], rest_strides[kMaxDims];
  int rest = 0;
  for (int i = 0; i < ndim; i++) {
    if (taken[i]) continue;
    rest_shape[rest] = shape[i];
    rest_strides[rest++] = strides[i];
  }
  if (rest + index.ndim > kMaxDims) {
    return fail(PyExc_RuntimeError, "the result of this index would have %d dimensions; a tensor has at most %d", rest + index.ndim,
                kMaxDims);
  }
  for (int i = 0; i < at; i++) in.shape[in.ndim++] = rest_shape[i];
  for (int i = 0; i < index.ndim; i++) in.shape[in.ndim++] = index.shape[i];
  for (int i = static_cast<int>(at); i < rest; i++) in.shape[in.ndim++] = rest_shape[i];
  for (int i = 0; i < in.ndim; i++) in.total *= in.shape[i];
  Places& p = in.places;
  p.n_outer = joined(static_cast<int>(at), rest_shape, rest_strides, p.outer_shape, p.outer_strides);
  p.n_inner = joined(rest - static_cast<int>(at), rest_shape + at, rest_strides + at, p.inner_shape, p.inner_strides);
  p.n = index.size();
  if (p.n && size == 0) return fail(PyExc_IndexError, "index is out of bounds for dimension with size 0");
  if (in.total == 0) {
    p.n = 0;
    return true;
  }
  if (is_meta(index)) return true;
  ptrdiff_t* offsets = in.few;
  if (p.n > 32) {
    in.many.reset(new (std::nothrow) ptrdiff_t[p.n]);
    if (!(offsets = in.many.get())) return no_memory();
  }
  const int64_t* values = reinterpret_cast<const int64_t*>(index.data);
  // Dimensions that follow each other in memory are as good as one.
  bool single = true;
  for (int i = 0; i + 1 < k; i++) single &= strides[dims[i]] == strides[dims[i + 1]] * shape[dims[i + 1]];
  const Py_ssize_t step = strides[dims[k - 1]];
  for (ptrdiff_t i = 0; i < p.n; i++) {
    int64_t v = values[i];
    if (v < -size || v >= size) return out_of_bounds(v, 0, size);
    if (v < 0) v += size;
    if (single) {
      offsets[i] = v * step;
      continue;
    }
    ptrdiff_t offset = 0;
    for (int d = k - 1; d >= 0; d--) {
      offset += v % shape[dims[d]] * strides[dims[d]];
      v /= shape[dims[d]];
    }
    offsets[i] = offset;
  }
  p.offsets = offsets;
  return true;
}

// The values that an index gives, in torch's order: the dimensions of x that are left in the order that they have there.
Ref in_order_of(const TensorInfo& x, PyObject* dims, int at, Ref out) {
  const Tensor* t = as_tensor(out);
  uint64_t indexed;
  if (x.tensor->is_contiguous()) return out;
  if (!dims_argument(dims, x.ndim, indexed)) return {};
  const int places = t->ndim() - (x.ndim - __builtin_popcountll(indexed));
  Py_ssize_t rest[kMaxDims], own[kMaxDims], strides[kMaxDims];
  for (int i = 0, d = 0; i < t->ndim(); ++i) {
    const bool place = i >= at && i < at + places;
    while (!place && indexed >> d & 1) ++d;
    rest[i] = place ? 0 : x.strides[d++];
    own[i] = place ? t->stride(i) : 0;
  }
  const Py_ssize_t* layouts[] = {rest, own};
  dense_strides(t->ndim(), t->sizes(), layouts, 2, t->item(), strides);
  return owned(relaid(as_tensor(out.release()), strides));
}

using GivenDims = Given<"tuple[int, ...]">;

Ref index_get(Array& x, const Index& index, GivenDims dims, Py_ssize_t at) {
  Ref x_owner = aligned(x);
  x.TensorInfo::operator=(info_of(x_owner));
  Indexed in;
  if (!read_places(x, index, dims, at, in)) return {};
  const DeviceType device = device_of(x, index);
  Ref out = new_ref(x.dtype, in.ndim, in.shape, device);
  if (device != DeviceType::Meta) {
    char* to = data_of(out);
    Unlocked unlocked(in.total * item_size(x.dtype) > kReleaseGilBytes, x, out);
    if (in.places.n_outer || in.total <= kThreadElements) {
      take_places(x.dtype, x.data, in.places, to);
    } else {
      const Py_ssize_t each = in.places.n ? in.total / in.places.n : 1;
      parallel_by(in.places.n, each, [&](ptrdiff_t begin, ptrdiff_t end) {
        Places part = in.places;
        part.offsets += begin;
        part.n = end - begin;
        take_places(x.dtype, x.data, part, to + begin * each * item_size(x.dtype));
      });
    }
  }
  return in_order_of(x, dims, static_cast<int>(at), std::move(out));
}

bool share_memory(const TensorInfo& a, const TensorInfo& b) {
  if (a.size() == 0 || b.size() == 0) return false;
  const char *a_low, *a_high, *b_low, *b_high;
  extent(a.tensor, &a_low, &a_high);
  extent(b.tensor, &b_low, &b_high);
  return a_low < b_high && b_low < a_high;
}

// Values of the places' shape: `one` element for all, or contiguous. They never share memory with `x`.
Ref values_for(const TensorInfo& values, const TensorInfo& x, const Indexed& in, bool& one) {
  one = values.size() == 1;
  bool fits = values.ndim <= in.ndim;
  for (int i = 1; i <= values.ndim && fits; i++) {
    const Py_ssize_t have = values.shape[values.ndim - i];
    fits = have == 1 || have == in.shape[in.ndim - i];
  }
  if (!fits)
    return fail(PyExc_RuntimeError, "shape mismatch: value tensor of shape %s cannot be broadcast to indexing result of shape %s",
                sizes_text(values.shape, values.ndim).c_str(), sizes_text(in.shape, in.ndim).c_str());
  Ref owner = contiguous(values.tensor);
  if (in.total == 0) return owner;
  if (!one && values.size() != in.total) {
    Ref full = new_ref(values.dtype, in.ndim, in.shape, device_of(values));
    copy_values(full, as_tensor(owner));
    return full;
  }
  if (as_tensor(owner) == values.tensor && share_memory(x, values)) return owned(contiguous_copy(values.tensor));
  return owner;
}

// Values at the places; false where there is no kernel.
bool land_values(const TensorInfo& x, const Indexed& in, Land how, const Ref& values, bool one) {
  const char* data = data_of(values);
  Unlocked unlocked(in.total * item_size(x.dtype) > kReleaseGilBytes, x, values);
  const Places& all = in.places;
  if (in.total <= kThreadElements || !(all.n_outer || all.n_inner)) return land_places(x.dtype, how, x.data, all, data, one);
  // Parts in which no value lands on the places of another part.
  const bool outer = all.n_outer;
  const Py_ssize_t n = outer ? all.outer_shape[0] : all.inner_shape[0], step = outer ? all.outer_strides[0] : all.inner_strides[0];
  const Py_ssize_t inner = in.total / all.n, each = in.total / n;
  std::atomic<bool> known{true};
  parallel_by(n, each, [&](ptrdiff_t begin, ptrdiff_t end) {
    Places part = all;
    (outer ? part.outer_shape : part.inner_shape)[0] = end - begin;
    if (!outer) part.pitch = inner;
    const ptrdiff_t first = one ? 0 : begin * (outer ? each : inner / n) * item_size(x.dtype);
    if (!land_places(x.dtype, how, x.data + begin * step, part, data + first, one)) known = false;
  });
  return known;
}

Nothing land_at(const Array& x, const Index& index, GivenDims dims, Py_ssize_t at, const Array& values, Land how) {
  if (!x.tensor->is_aligned()) return {};
  if (!x.tensor->is_writeable()) return fail(PyExc_ValueError, "the written array is read-only");
  Indexed in;
  if (!read_places(x, index, dims, at, in)) return {};
  Pinned pin;
  if (in.total * item_size(x.dtype) > kReleaseGilBytes) pin.take(x.tensor->storage());  // values may be repeated without the GIL
  bool one;
  Ref from = values_for(values, x, in, one);
  if (!from) return {};
  if (values.dtype != x.dtype)
    return fail(PyExc_RuntimeError,
                "Index put requires the source and destination dtypes match, got %s for the destination and %s for "
                "the source.",
                scalar_name(x.dtype), scalar_name(values.dtype));
  if (in.total == 0 || is_meta(x, index, values)) return none();
  return land_values(x, in, how, from, one) ? none() : Nothing();
}

Nothing index_put(const Array& x, const Index& index, GivenDims dims, Py_ssize_t at, const Array& values, bool accumulate) {
  return land_at(x, index, dims, at, values, accumulate ? Land::Add : Land::Set);
}

// Writes x.
Nothing index_zero(const Array& x, const Index& index, GivenDims dims, Py_ssize_t at) {
  const Ref zero = zeros_ref(x.dtype, 0, nullptr, device_of(x));
  return land_at(x, index, dims, at, {info_of(zero)}, Land::Set);
}

// Zeros of `shape` with the elements of g added at the places.
Ref index_backward(const Array& g, const Index& index, GivenDims dims, Py_ssize_t at, const Shape& shape) {
  const DeviceType device = device_of(g, index);
  if (is_half(g.dtype) && device != DeviceType::Meta) {  // in float, rounded once
    const Ref wide = contiguous_as(g.tensor, DType::F32);
    return rounded(index_backward({info_of(wide)}, index, dims, at, shape), g.dtype);
  }
  Ref out = zeros_ref(g.dtype, shape.n, shape.at, device);
  const TensorInfo x = info_of(out);
  Indexed in;
  if (!read_places(x, index, dims, at, in)) return {};
  bool one;
  Ref from = values_for(g, x, in, one);
  if (!from) return {};
  if (in.total == 0 || device == DeviceType::Meta) return out;
  return land_values(x, in, Land::Add, from, one) ? std::move(out) : Ref();
}

// The index tensors, broadcast together, as one index that counts through the sizes row by row. counts: how many dimensions each
// stands for, which only the messages need. Without check any index is taken: where the result has no elements, torch looks at none.
Ref linear(GivenDims sizes_given, Given<"list[Tensor]"> list, GivenDims counts_given, bool check) {
  if (!PyTuple_Check(sizes_given) || !PyList_Check(list) || !PyTuple_Check(counts_given) ||
      PyTuple_GET_SIZE(sizes_given.object) != PyList_GET_SIZE(list.object) ||
      PyTuple_GET_SIZE(sizes_given.object) != PyTuple_GET_SIZE(counts_given.object))
    return fail(PyExc_TypeError, "linear_index(tuple of sizes, list of as many tensors, tuple of as many counts, check)");
  const Py_ssize_t k = PyTuple_GET_SIZE(sizes_given.object);
  std::vector<Index> tensors(k);
  std::vector<int64_t> sizes(k), counts(k);
  std::string shapes;
  int ndim = 0;
  DeviceType device = DeviceType::Cpu;
  for (Py_ssize_t i = 0; i < k; i++) {
    sizes[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(sizes_given.object, i));
    counts[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(counts_given.object, i));
    if (PyErr_Occurred() || !tensors[i].read({PyList_GET_ITEM(list.object, i), "linear_index", "tensors", nullptr})) return {};
    if (tensors[i].ndim > ndim) ndim = tensors[i].ndim;
    if (is_meta(tensors[i])) device = DeviceType::Meta;
    for (int64_t c = 0; c < counts[i]; c++) {
      shapes += (shapes.empty() ? "" : ", ") + sizes_text(tensors[i].shape, tensors[i].ndim);
    }
  }
  Py_ssize_t shape[kMaxDims];
  Py_ssize_t total = 1;
  for (int d = 0; d < ndim; d++) {
    Py_ssize_t size = 1;
    for (const TensorInfo& a : tensors) {
      const int own = d - (ndim - a.ndim);
      if (own < 0 || a.shape[own] == 1) continue;
      if (size != 1 && size != a.shape[own])
        return fail(PyExc_IndexError, "shape mismatch: indexing tensors could not be broadcast together with shapes %s",
                    shapes.c_str());
      size = a.shape[own];
    }
    shape[d] = size;
    total *= size;
  }
  Ref out = zeros_ref(DType::I64, ndim, shape, device);
  if (!out || !total) return out;
  for (Py_ssize_t i = 0; i < k; i++) {
    if (sizes[i] == 0) return fail(PyExc_IndexError, "index is out of bounds for dimension with size 0");
  }
  if (!check || device == DeviceType::Meta) return out;
  int64_t* to = data_of<int64_t>(out);
  int64_t first = 0;
  for (Py_ssize_t j = 0; j < k; first += counts[j++]) {
    const TensorInfo& a = tensors[j];
    const int64_t size = sizes[j];
    const int64_t* values = reinterpret_cast<const int64_t*>(a.data);
    Py_ssize_t at[kMaxDims] = {}, steps[kMaxDims] = {};
    for (int d = 0; d < a.ndim; d++) steps[ndim - a.ndim + d] = a.shape[d] == 1 ? 0 : a.strides[d] / 8;
    Py_ssize_t offset = 0;
    for (Py_ssize_t i = 0; i < total; i++) {
      const int64_t v = values[offset];
      if (v < -size || v >= size) return out_of_bounds(v, first, size);
      to[i] = to[i] * size + (v < 0 ? v + size : v);
      for (int d = ndim - 1; d >= 0; d--) {
        offset += steps[d];
        if (++at[d] < shape[d]) break;
        offset -= steps[d] * shape[d];
        at[d] = 0;
      }
    }
  }
  return out;
}

}  // namespace

constexpr Text kLinearIndex("linear_index(sizes, tensors, counts, check): several indices as one");
extern const HostFunction linear_index = over_devices<over_aliases<Call<linear, kLinearIndex>::call>>;

namespace {

// ---------------------------------------------------------------- gather and scatter

// These have one answer to everything that is not in order, NotImplemented: the Python side then finds out what to say.

bool in_range(const TensorInfo& index, Py_ssize_t size) {
  return all_in_range(reinterpret_cast<const int64_t*>(index.data), index.size(), size);
}

// Calls f(a part of the picks, the first of its slices) on threads, for parts that are slices of the first dimension.
template <class F>
void each_slice(const Picks& picks, const F& f) {
  Py_ssize_t slice = 1;
  for (int d = 1; d < picks.ndim; d++) slice *= picks.shape[d];
  if (picks.shape[0] * slice <= kThreadElements) return f(picks, 0);
  parallel(picks.shape[0], kThreadElements / (slice + 1) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
    ptrdiff_t shape[kMaxDims];
    std::copy(picks.shape, picks.shape + picks.ndim, shape);
    shape[0] = end - begin;
    Picks part = picks;
    part.shape = shape;
    part.index += begin * slice;
    f(part, begin);
  });
}

// x, dim, index of gather and scatter; `src` may be without a tensor.
struct Scattering {
  TensorInfo x, src;
  Index index;
  int dim = 0;

  // Whether all is in order; else with an exception or without. Whether the indices are in range is seen here where there is a src,
  // before x is written, unless `late`.
  bool read(const TensorInfo& into, int along, const TensorInfo& places, const TensorInfo& from, bool late = false) {
    x = into, src = from, dim = along;
    index.TensorInfo::operator=(places);
    if (!is_index(index) || !x.tensor->is_aligned()) return false;
    index.settle();
    as_row(x), as_row(index);
    if (x.ndim != index.ndim) return false;
    for (int i = 0; i < x.ndim; i++) {
      if (i != dim && index.shape[i] > x.shape[i]) return false;
    }
    if (!src.tensor) return true;
    if (src.dtype != x.dtype || !src.tensor->is_aligned() || (src.ndim && src.ndim != x.ndim)) return false;
    for (int i = 0; i < src.ndim; i++) {
      if (index.shape[i] > src.shape[i]) return false;
    }
    return late || is_meta(index) || in_range(index, x.shape[dim]);
  }
};

// Whether all indices are in range: else there is something in `out` only for those that are.
bool pick_into(const TensorInfo& x, const Picks& picks, const TensorInfo& out, const TensorInfo& index) {
  const ptrdiff_t item = item_size(x.dtype), x_step = picks.dim ? picks.x_strides[0] : 0;
  std::atomic<bool> inside{true};
  Unlocked unlocked(index.size() * item > kReleaseGilBytes, x, index, out);
  each_slice(picks, [&](const Picks& part, ptrdiff_t first) {
    if (!gather(x.dtype, x.data + first * x_step, part, out.data + first * picks.value_strides[0]))
      inside.store(false, std::memory_order_relaxed);
  });
  return inside.load();
}

Ref gather_function(const TensorInfo& x, Dim dim, const TensorInfo& index, bool /* sparse_grad */) {
  Scattering s;
  if (!s.read(x, dim, index, {})) return {};
  Ref out = new_ref(s.x.dtype, s.index.tensor->ndim(), s.index.tensor->sizes(), device_of(s.x, s.index));
  if (!has_memory(out)) return out;
  TensorInfo to = info_of(out);
  as_row(to);
  const Picks picks{s.x.ndim,         s.dim,       s.index.shape, reinterpret_cast<const int64_t*>(s.index.data),
                    s.x.shape[s.dim], s.x.strides, to.strides};
  return pick_into(s.x, picks, to, s.index) ? std::move(out) : Ref();
}

Nothing land(const TensorInfo& x, int dim, const TensorInfo& index, const TensorInfo& src, Land how, bool late = false) {
  Scattering s;
  if (!s.read(x, dim, index, src, late) || !x.tensor->is_writeable()) return {};
  if (is_meta(s.x, s.index, s.src)) return none();
  if (is_half(x.dtype) && (how == Land::Add || how == Land::Mul)) {  // in float, rounded once
    const Ref wide = contiguous_as(x.tensor, DType::F32), values = contiguous_as(src.tensor, DType::F32);
    if (!land(info_of(wide), dim, index, info_of(values), how, late)) return {};
    copy_values(Ref::borrow(as_object(x.tensor)), as_tensor(wide));
    return none();
  }
  Ref src_owner;
  if (share_memory(s.x, s.src)) {
    src_owner = owned(contiguous_copy(s.src.tensor));
    s.src = info_of(src_owner);
  }
  const Py_ssize_t still[kMaxDims] = {};  // a number without dimensions lands everywhere
  const Picks picks{s.x.ndim,
                    s.dim,
                    s.index.shape,
                    reinterpret_cast<const int64_t*>(s.index.data),
                    s.x.shape[s.dim],
                    s.x.strides,
                    s.src.ndim ? s.src.strides : still};
  bool done;
  {
    Unlocked unlocked(s.index.size() * item_size(s.x.dtype) > kReleaseGilBytes, s.x, s.index, s.src);
    // Slices of x lie apart, unless they are what the index is about.
    if (s.dim == 0 || s.index.size() == 0 || !s.x.tensor->is_contiguous()) {
      done = scatter(s.x.dtype, how, s.x.data, picks, s.src.data);
    } else {
      std::atomic<bool> landed{true};
      each_slice(picks, [&](const Picks& part, ptrdiff_t first) {
        if (!scatter(s.x.dtype, how, s.x.data + first * s.x.strides[0], part, s.src.data + first * picks.value_strides[0]))
          landed.store(false, std::memory_order_relaxed);
      });
      done = landed.load();
    }
  }
  return done ? none() : Nothing();
}

// Zeros with g added where gather reads.
Ref gather_backward(const TensorInfo& g, Py_ssize_t dim, const TensorInfo& index, const Shape& shape) {
  Ref out = zeros_ref(g.dtype, shape.n, shape.at, device_of(g));
  const int along = out ? normal_dim(dim, shape.n) : -1;
  return along >= 0 && land(info_of(out), along, index, g, Land::Add, true) ? std::move(out) : Ref();
}

// Whether a tensor without dimensions is in order as src: a number that lands everywhere is not given by one.
bool covers(const TensorInfo& src, const TensorInfo& index) { return src.ndim || (index.ndim <= 1 && index.size() <= 1); }

template <Land kHow>
Nothing scatter_function(const TensorInfo& x, Dim dim, const TensorInfo& index, const TensorInfo& src) {
  return covers(src, index) ? land(x, dim, index, src, kHow) : Nothing();
}

// The same of a copy, which nobody sees where an index is out of range.
template <Land kHow>
Ref scatter_copy(const TensorInfo& x, Dim dim, const TensorInfo& index, const TensorInfo& src) {
  if (!covers(src, index)) return {};
  Ref out = owned(contiguous_copy(x.tensor));
  return land(info_of(out), dim, index, src, kHow, true) ? std::move(out) : Ref();
}

// src is broadcast to the index's shape.
Nothing scatter_mode(const TensorInfo& x, Dim dim, const TensorInfo& index, const TensorInfo& src, Py_ssize_t mode) {
  if (mode < 0 || mode >= static_cast<Py_ssize_t>(Land::Count)) return {};
  return land(x, dim, index, src, static_cast<Land>(mode));
}

// ---------------------------------------------------------------- whole slices of one dimension

// Slices are named by int64 vectors of indices >= 0.
bool is_slices(const TensorInfo& x, int dim, const TensorInfo& given, Index& index) {
  index.TensorInfo::operator=(given);
  if (!is_index(index) || index.ndim > 1) return false;
  index.settle();
  as_row(index);
  return is_meta(index) || in_range(index, x.ndim ? x.shape[dim] : 1);
}
// (dim,)
Ref only(int dim) { return owned(Py_BuildValue("(i)", dim)); }

Ref index_select(const TensorInfo& x, Dim dim, const TensorInfo& index) {
  Index slices;
  if (!x.ndim || !is_slices(x, dim, index, slices)) return {};
  Array from{x};
  return index_get(from, slices, {only(dim).get()}, dim);
}

// Slices of x, and of a source that has one for each.
struct Slices {
  Array x, source;
  Index index;
  int dim = 0;

  bool read(const TensorInfo& into, int along, const TensorInfo& places, const TensorInfo& from) {
    x.TensorInfo::operator=(into), source.TensorInfo::operator=(from), dim = along;
    if (source.dtype != x.dtype || !is_slices(x, dim, places, index)) return false;
    as_row(x), as_row(source);
    if (source.ndim != x.ndim) return false;
    for (int i = 0; i < x.ndim; i++) {
      if (source.shape[i] != (i == dim ? index.shape[0] : x.shape[i])) return false;
    }
    return true;
  }
  Nothing land(Land how) const { return land_at(x, index, {only(dim).get()}, dim, source, how); }
  Nothing fill(const TensorInfo& one) const { return land_at(x, index, {only(dim).get()}, dim, {one}, Land::Set); }
};

// Writes x.
Nothing index_add(const TensorInfo& x, Dim dim, const TensorInfo& index, const TensorInfo& source, Any alpha) {
  Slices s;
  if (x.ndim != source.ndim || !s.read(x, dim, index, source)) return {};
  Ref scaled;
  double factor = 1;
  if (!PyLong_CheckExact(alpha) || PyLong_AsLong(alpha) != 1) {
    PyErr_Clear();
    if (!x.is_float() || is_meta(source) || PyComplex_Check(alpha.object)) return {};
    if (!double_argument(alpha, factor)) return PyErr_Clear(), Nothing();
    scaled = owned(contiguous_copy(source.tensor));
    each_value(scaled, [factor](auto v) { return v * static_cast<decltype(v)>(factor); });
    s.source.TensorInfo::operator=(info_of(scaled));
    as_row(s.source);
  }
  return s.land(Land::Add);
}

// Writes x.
Nothing index_copy(const TensorInfo& x, Dim dim, const TensorInfo& index, const TensorInfo& source) {
  Slices s;
  return index.dtype == DType::I64 && s.read(x, dim, index, source) ? s.land(Land::Set) : Nothing();
}

// Whether every index names an element of a dimension, from its front or from its end.
bool names_elements(const TensorInfo& index, Py_ssize_t size) {
  const uint64_t* values = reinterpret_cast<const uint64_t*>(index.data);
  const uint64_t end = static_cast<uint64_t>(size);
  uint64_t signs = 0;  // as in all_in_range
  for (Py_ssize_t i = 0, n = index.size(); i < n; i++) signs |= (values[i] + end) | (end - 1 - values[i]);
  return !(signs >> 63);
}

bool is_whole(DType type) { return category_of(type) < Category::Floating; }

// A number as a tensor of a type; empty where there is no kernel for it, or the type cannot hold it. Floats lose their fraction
// where the type is of integers.
Ref number_as(DType dtype, PyObject* value) {
  if (is_pair(dtype)) {
    if (!PyComplex_Check(value) && !PyFloat_Check(value) && !PyLong_Check(value)) return {};
    const Py_complex z = PyComplex_AsCComplex(value);
    if (PyErr_Occurred()) return PyErr_Clear(), Ref();
    if (!holds(dtype, z.real) || !holds(dtype, z.imag)) return {};
    Ref one = new_ref(DType::C128, 0, nullptr, DeviceType::Cpu);
    data_of<double>(one)[0] = z.real, data_of<double>(one)[1] = z.imag;
    return rounded(std::move(one), dtype);
  }
  if (is_whole(dtype) && PyLong_Check(value)) {
    const int64_t number = PyLong_AsLongLong(value);
    if (number == -1 && PyErr_Occurred()) return PyErr_Clear(), Ref();
    if (!holds(dtype, number)) return {};
    Ref one = new_ref(DType::I64, 0, nullptr, DeviceType::Cpu);
    *data_of<int64_t>(one) = number;
    return rounded(std::move(one), dtype);
  }
  double number;
  if (stored_only(dtype) || PyComplex_Check(value)) return {};
  if (!double_argument(value, number)) return PyErr_Clear(), Ref();
  if (!holds(dtype, number)) return {};
  Ref one = new_ref(DType::F64, 0, nullptr, DeviceType::Cpu);
  *data_of<double>(one) = number;
  return rounded(std::move(one), dtype);
}

// Writes x. The value is a number or a tensor without dimensions.
Nothing index_fill(const TensorInfo& x, Dim dim, const TensorInfo& given, Any value) {
  Index index;
  index.TensorInfo::operator=(given);
  if (index.dtype != DType::I64 || index.ndim > 1 || is_meta(x, given)) return {};
  index.settle();
  as_row(index);
  Array into{x};
  as_row(into);
  if (!names_elements(index, into.shape[dim])) return {};
  Ref one = is_tensor(value.object) ? Ref() : number_as(x.dtype, value);
  if (!one) return {};
  return land_at(into, index, {only(dim).get()}, dim, {info_of(one)}, Land::Set);
}

Ref take(const TensorInfo& x, const TensorInfo& given) {
  if (given.dtype != DType::I64 || is_meta(x, given)) return {};
  Index index;
  index.TensorInfo::operator=(given);
  index.settle();
  Ref flat = contiguous(x.tensor);
  if (x.tensor->is_aligned()) {
    Ref out = new_ref(x.dtype, index.tensor->ndim(), index.tensor->sizes(), device_of(x));
    const ptrdiff_t n = index.size(), size = x.size(), item = item_size(x.dtype);
    const Workspace room(static_cast<double>(n) * 8 + 1);
    if (!room.p) return no_memory();
    const int64_t* given_at = reinterpret_cast<const int64_t*>(index.data);
    int64_t* at = reinterpret_cast<int64_t*>(room.p);
    for (ptrdiff_t i = 0; i < n; i++) at[i] = given_at[i] + (given_at[i] < 0 ? size : 0);
    if (pick_into(info_of(flat), {1, 0, &n, at, size, &item, &item}, info_of(out), index)) return out;
  }
  if (!names_elements(index, x.size())) return {};
  Layout row;
  row.add(x.size(), item_size(x.dtype));
  Ref view = make_view(info_of(flat), row);
  Array from{info_of(view)};
  return index_get(from, index, {only(0).get()}, 0);
}

// All of x as one row by its dimensions, (0, 1, ...), those of an index and of values as rows of memory.
struct InRow {
  Array x, values;
  Index index;
  Ref dims, owner;
  Py_ssize_t n = 0;

  bool read(const TensorInfo& into, const TensorInfo& places, const TensorInfo& from) {
    if (places.dtype != DType::I64 || from.dtype != into.dtype || places.size() != from.size() || is_meta(into, places, from))
      return false;
    x.TensorInfo::operator=(into), index.TensorInfo::operator=(places);
    index.settle();
    if (!names_elements(index, into.size())) return false;
    as_row(x);
    dims = owned(PyTuple_New(x.ndim));
    for (int d = 0; d < x.ndim; d++) PyTuple_SET_ITEM(dims.get(), d, owned(PyLong_FromLong(d)).release());
    owner = contiguous(from.tensor);
    values.TensorInfo::operator=(info_of(owner));
    n = index.size();
    index.ndim = values.ndim = 1;
    index.shape = values.shape = &n;
    return true;
  }
  Nothing land(Land how) const { return land_at(x, index, {dims.get()}, 0, values, how); }
};

// Writes x.
Nothing put(const TensorInfo& x, const TensorInfo& index, const TensorInfo& source, bool accumulate) {
  InRow row;
  if ((!accumulate && alerts_nondeterministic.load(std::memory_order_relaxed)) || !row.read(x, index, source)) return {};
  return row.land(accumulate ? Land::Add : Land::Set);
}

// Zeros with g added where take reads.
Ref take_backward(const TensorInfo& g, const TensorInfo& index, const Shape& shape) {
  const Ref held = is_half(g.dtype) ? contiguous_as(g.tensor, DType::F32) : Ref::borrow(as_object(g.tensor));  // rounded once
  const TensorInfo wide = info_of(held);
  Ref out = zeros_ref(wide.dtype, shape.n, shape.at, device_of(g));
  InRow row;
  return row.read(info_of(out), index, wide) && row.land(Land::Add) ? rounded(std::move(out), g.dtype) : Ref();
}

// x with the elements of the source, in order, where a mask of its shape holds.
Ref masked_scatter(const TensorInfo& x, const TensorInfo& mask, const TensorInfo& source) {
  if (mask.dtype != DType::Bool || source.dtype != x.dtype || !same_shape(x.tensor, mask.tensor) || is_meta(x, mask, source))
    return {};
  Ref out = owned(contiguous_copy(x.tensor)), where = owned(contiguous_copy(mask.tensor)), from = contiguous(source.tensor);
  const uint8_t* holds = data_of<uint8_t>(where);
  char* to = data_of(out);
  const char* values = data_of(from);
  const Py_ssize_t n = as_tensor(out)->numel(), many = as_tensor(from)->numel();
  if (std::count_if(holds, holds + n, [](uint8_t b) { return b != 0; }) > many) return {};
  Unlocked unlocked(as_tensor(out)->nbytes() > kReleaseGilBytes, out, where, from);
  scatter_masked(x.dtype, to, holds, n, values, many);
  return out;
}

// Writes x.
Nothing scatter_value(const TensorInfo& x, Dim dim, const TensorInfo& index, Any value) {
  const Ref one = is_meta(x) ? Ref() : number_as(x.dtype, value);
  return one ? land(x, dim, index, info_of(one), Land::Set) : Nothing();
}

// Writes x.
Nothing scatter_zero(const TensorInfo& x, Dim dim, const TensorInfo& index) {
  const Ref zero = zeros_ref(x.dtype, 0, nullptr, device_of(x));
  return land(x, dim, index, info_of(zero), Land::Set);
}

// ---- reductions

template <class T>
T mean_of(T sum, T count) {
  return sum / count;
}
// Rounded down.
int64_t mean_of(int64_t sum, int64_t count) {
  if (count == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(sum));
  return sum / count - (sum % count != 0 && (sum < 0) != (count < 0));
}
template <class T>
void divide_by(T* x, const int64_t* counts, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner) {
  for (Py_ssize_t o = 0; o < outer; o++)
    for (Py_ssize_t i = 0; i < n; i++, x += inner) {
      const T count = counts[i] ? static_cast<T>(counts[i]) : T(1);
      for (Py_ssize_t j = 0; j < inner; j++) x[j] = mean_of(x[j], count);
    }
}

// What becomes of the values at a place, by its name.
template <Text kMax, Text kMin>
struct ReductionTo : OneOf<"sum", "mean", "prod", kMax, kMin> {
  Land how = Land::Set;
  bool mean = false;

  bool read(const Argument& a) {
    constexpr Land kLands[] = {Land::Add, Land::Add, Land::Mul, Land::Max, Land::Min};
    if (!OneOf<"sum", "mean", "prod", kMax, kMin>::read(a)) return false;
    how = kLands[this->at], mean = this->at == 1;
    return true;
  }
  // Whether there is a kernel for it. Complex numbers have no order.
  bool takes(const TensorInfo& x) const {
    if (is_pair(x.dtype)) return how == Land::Add || how == Land::Mul;
    return x.is_float_or_half() || (is_whole(x.dtype) && !(mean && (x.dtype == DType::Bool || x.dtype == DType::U64)));
  }
  // The value that changes none.
  Ref neutral(DType dtype) const {
    if (!is_whole(dtype)) {
      const double infinity = HUGE_VAL;
      const double value = how == Land::Mul ? 1 : how == Land::Max ? -infinity : how == Land::Min ? infinity : 0;
      return number_as(dtype, owned(PyFloat_FromDouble(value)).get());
    }
    const bool natural = dtype == DType::Bool || dtype == DType::U8 || dtype >= DType::U16;
    const uint64_t most = dtype == DType::Bool ? 1 : ~uint64_t{0} >> (64 - 8 * item_size(dtype) + !natural);
    Ref one = new_ref(DType::I64, 0, nullptr, DeviceType::Cpu);
    *data_of<uint64_t>(one) = how == Land::Mul ? 1 : how == Land::Min ? most : how == Land::Max && !natural ? ~most : 0;
    return rounded(std::move(one), dtype);
  }
  // Where a mean is asked for: divides x by how many values each element is the sum of. There is a count for all elements, or for
  // those of each slice of a dimension (`inner` elements, one after the other). `land` adds one at the places. Integers are counted in
  // their own type.
  template <class F>
  Nothing divided(const TensorInfo& x, const Py_ssize_t* shape, int ndim, Py_ssize_t inner, bool include_self,
                  const F& land) const {
    if (!mean) return none();
    const bool whole = is_whole(x.dtype);
    const DType counted = whole ? x.dtype : DType::I64, type = whole ? DType::I64 : computed_in(x.dtype);
    Ref one = new_ref(DType::I64, 0, nullptr, DeviceType::Cpu), counts = zeros_ref(counted, ndim, shape, DeviceType::Cpu);
    *data_of<int64_t>(one) = 1;
    one = rounded(std::move(one), counted);
    if (include_self) copy_values(counts, as_tensor(one));
    if (!land(info_of(counts), info_of(one))) return {};
    counts = rounded(std::move(counts), DType::I64);
    const Ref own = contiguous_as(x.tensor, type);
    const int64_t* many = data_of<int64_t>(counts);
    const Py_ssize_t n = as_tensor(counts)->numel(), parts = is_pair(x.dtype) ? 2 : 1,
                     outer = n && inner ? as_tensor(own)->numel() / n / inner : 0;
    const auto divide = [&](auto* to) { divide_by(to, many, outer, n, inner * parts); };
    if (whole) divide(data_of<int64_t>(own));
    else by_type(part_of(type), divide, data_of(own));
    if (as_tensor(own) != x.tensor) copy_values(Ref::borrow(as_object(x.tensor)), as_tensor(own));
    return none();
  }
};

using Reduction = ReductionTo<"amax", "amin">;

// Writes x.
Nothing scatter_reduce(const TensorInfo& x, Dim dim, const TensorInfo& index, const TensorInfo& src, Reduction reduce,
                       bool include_self) {
  Scattering s;
  if (!reduce.takes(x) || !x.tensor->is_writeable() || is_meta(x, index, src) || !covers(src, index) || !s.read(x, dim, index, src))
    return {};
  if (!include_self && !land(x, dim, s.index, info_of(reduce.neutral(x.dtype)), Land::Set, true)) return {};
  if (!land(x, dim, s.index, src, reduce.how, true)) return {};
  return reduce.divided(x, x.shape, x.ndim, 1, include_self, [&](const TensorInfo& counts, const TensorInfo& one) {
    return land(counts, dim, s.index, one, Land::Add, true);
  });
}

// Writes x.
Nothing index_reduce(const TensorInfo& x, Dim dim, const TensorInfo& index, const TensorInfo& source, Reduction reduce,
                     bool include_self) {
  Slices s;
  if (!reduce.takes(x) || is_meta(x, index, source) || (reduce.how == Land::Add && !reduce.mean)) return {};
  if (x.dtype == DType::Bool && !include_self) return {};
  if (x.ndim != source.ndim || !s.read(x, dim, index, source)) return {};
  if (!include_self && !s.fill(info_of(reduce.neutral(x.dtype)))) return {};
  if (!s.land(reduce.how)) return {};
  Py_ssize_t inner = 1;
  for (int d = dim + 1; d < x.ndim; d++) inner *= x.shape[d];
  return reduce.divided(x, s.x.shape + dim, 1, inner, include_self, [&](const TensorInfo& counts, const TensorInfo& one) {
    return land_at({counts}, s.index, {only(0).get()}, 0, {one}, Land::Add);
  });
}

Ref one_hot(const TensorInfo& given, Py_ssize_t classes) {
  if (given.dtype != DType::I64 || is_meta(given) || !given.size() || classes < -1 || given.ndim >= kMaxDims) return {};
  Index index;
  index.TensorInfo::operator=(given);
  index.settle();
  const int64_t* values = reinterpret_cast<const int64_t*>(index.data);
  const Py_ssize_t n = index.size();
  if (classes == -1) {
    const int64_t most = std::max<int64_t>(*std::max_element(values, values + n), 0);
    if (__builtin_add_overflow(most, 1, &classes)) return {};
  }
  if (!in_range(index, classes)) return {};
  Py_ssize_t shape[kMaxDims];
  std::copy_n(index.shape, index.ndim, shape);
  shape[index.ndim] = classes;
  Ref out = zeros_ref(DType::I64, index.ndim + 1, shape, DeviceType::Cpu);
  int64_t* to = data_of<int64_t>(out);
  for (Py_ssize_t i = 0; i < n; i++) {
    const int64_t k = static_cast<const volatile int64_t*>(values)[i];
    if (static_cast<uint64_t>(k) < static_cast<uint64_t>(classes)) to[i * classes + k] = 1;
  }
  return out;
}

// Reductions of segments of the middle of a contiguous (outer, n, inner): rows of `count` lengths, which are not negative.
template <class T>
void reduce_segments(const T* x, const int64_t* lengths, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner, Py_ssize_t count,
                     Land how, bool mean, T start, T empty, T* out) {
  for (Py_ssize_t o = 0; o < outer; o++, x += n * inner)
    for (Py_ssize_t s = 0, at = 0; s < count; s++, out += inner) {
      const int64_t length = lengths[o * count + s];
      std::fill_n(out, inner, mean && !length ? empty : start);
      for (const int64_t end = at + length; at < end; at++) {
        const T* row = x + at * inner;
        for (Py_ssize_t i = 0; i < inner; i++) {
          const T a = out[i], b = row[i];
          out[i] = how == Land::Add                ? a + b
                   : how == Land::Mul              ? a * b
                   : a != a || b != b              ? a + b
                   : (how == Land::Max) == (a < b) ? b
                                                   : a;
        }
      }
      for (Py_ssize_t i = 0; mean && length && i < inner; i++) out[i] /= static_cast<T>(length);
    }
}

Ref segment_reduce(const TensorInfo& x, const TensorInfo& lengths, const ReductionTo<"max", "min">& reduce, Dim axis,
                   std::optional<double> initial) {
  if (!x.is_float() || lengths.dtype != DType::I64 || lengths.ndim != axis + 1 || is_meta(x, lengths)) return {};
  const bool mean = reduce.mean;
  const Land how = reduce.how;
  Py_ssize_t outer = 1, inner = 1, shape[kMaxDims];
  std::copy_n(x.shape, x.ndim, shape);
  for (int d = 0; d < x.ndim; d++) {
    if (d < axis && lengths.shape[d] != x.shape[d]) return {};
    if (d != axis) (d < axis ? outer : inner) *= x.shape[d];
  }
  const Py_ssize_t count = shape[axis] = lengths.shape[axis], n = x.shape[axis];
  Ref in = contiguous(x.tensor), own = owned(contiguous_copy(lengths.tensor)),
      out = new_ref(x.dtype, x.ndim, shape, DeviceType::Cpu);
  const int64_t* sizes = data_of<int64_t>(own);
  for (Py_ssize_t o = 0; o < outer; o++) {
    int64_t sum = 0;
    for (Py_ssize_t s = 0; s < count; s++) {
      if (sizes[o * count + s] < 0 || sizes[o * count + s] > n) return {};
      sum += sizes[o * count + s];
    }
    if (sum > n) return {};
  }
  const double neutral = how == Land::Add ? 0 : how == Land::Mul ? 1 : how == Land::Max ? -HUGE_VAL : HUGE_VAL;
  const double start = initial.value_or(neutral), empty = initial ? *initial : __builtin_nan("");
  const char* from = data_of(in);
  char* to = data_of(out);
  Unlocked unlocked(as_tensor(in)->nbytes() > kReleaseGilBytes, in, own, out);
  const auto run = [&]<class T>(const T* a, T* made) {
    reduce_segments(a, sizes, outer, n, inner, count, how, mean, static_cast<T>(start), static_cast<T>(empty), made);
  };
  by_type(as_tensor(in)->dtype, run, from, to);
  return out;
}

Bool any_negative(const TensorInfo& index) {
  if (index.dtype != DType::I64 || index.tensor->flags & kNotPlain || !index.contiguous()) return {};
  const int64_t* at = reinterpret_cast<const int64_t*>(index.data);
  const Py_ssize_t n = index.size();
  int64_t signs = 0;
  {
    const Unlocked unlocked(n * 8 > kReleaseGilBytes, index);
    for (Py_ssize_t i = 0; i < n; i++) signs |= at[i];
  }
  return Ref(PyBool_FromLong(signs < 0));
}

const KernelRows rows{
    layout_kernel<any_negative, "any_negative(index)">(Border::Reads),
    long_kernel<index_copy, "index_copy(x, dim, index, source): writes x">(),
    long_kernel<index_reduce, "index_reduce(x, dim, index, source, reduce, include_self): writes x">(),
    long_kernel<index_zero, "index_zero(x, index, dims, at): writes x, zero at the places">(),
    long_kernel<put, "put(x, index, source, accumulate): writes x, seen as one row">(),
    long_kernel<take_backward, "take_backward(g, index, shape): zeros with g added where take reads">(),
    long_kernel<scatter_value, "scatter_value(x, dim, index, value): writes x; the value is a number">(),
    long_kernel<scatter_zero, "scatter_zero(x, dim, index): writes x">(),
    long_kernel<index_fill, "index_fill(x, dim, index, value): writes x; the value is a number">(),
    long_kernel<take, "take(x, index): of x as one row">(),
    long_kernel<masked_scatter, "masked_scatter(x, mask, source): x with the elements of the source where the mask holds">(
        Border::Refuses),
    long_kernel<scatter_reduce, "scatter_reduce(x, dim, index, src, reduce, include_self): writes x">(),
    long_kernel<one_hot, "one_hot(index, classes): 1 at the place that each index names">(),
    long_kernel<segment_reduce, "segment_reduce(x, lengths, reduce, axis, initial): of segments of a dimension">(),
    long_kernel<index_get, "index_get(x, index, dims, at): the elements at the places, a new tensor">(),
    long_kernel<index_put, "index_put(x, index, dims, at, values, accumulate): writes x at the places">(),
    long_kernel<index_backward, "index_backward(g, index, dims, at, shape): zeros with g added at the places">(),
    long_kernel<linear, kLinearIndex>(),
    long_kernel<gather_function, "gather(x, dim, index, sparse_grad=False)">(),
    long_kernel<gather_backward, "gather_backward(g, dim, index, shape): zeros with g added where gather reads">(),
    long_kernel<scatter_function<Land::Set>, "scatter_set(x, dim, index, src): writes x">(),
    long_kernel<scatter_function<Land::Add>, "scatter_add(x, dim, index, src): writes x">(),
    long_kernel<scatter_copy<Land::Set>, "scatter_set_copy(x, dim, index, src): scatter_set of a copy">(),
    long_kernel<scatter_copy<Land::Add>, "scatter_add_copy(x, dim, index, src): scatter_add of a copy">(),
    long_kernel<scatter_mode, "scatter(x, dim, index, src, mode): writes x; mode 0 set, 1 add, 2 mul, 3 max, 4 min">(),
    long_kernel<index_select, "index_select(x, dim, index)">(),
    long_kernel<index_add, "index_add(x, dim, index, source, alpha): writes x">(),
};

}  // namespace

}  // namespace rushlight
