// Indexing over tensors. `index` is int64 and may be negative; every index is checked before anything is written.
//
// An indexed place is (index, dims, at): the dimensions `dims` of the tensor are replaced by the index's shape, put
// before the remaining dimension number `at`. With several dims the index counts through them row by row (see
// linear_index).
#include "bindings/bindings.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "kernels/indexing.h"

namespace rushlight {

namespace {

constexpr Py_ssize_t kGrain = 1 << 14;  // elements of an index that are worth a thread

PyObject* out_of_bounds(long long index, Py_ssize_t dim, Py_ssize_t size) {
  PyErr_Format(PyExc_IndexError, "index %lld is out of bounds for dimension %zd with size %zd", index, static_cast<Py_ssize_t>(dim),
               static_cast<Py_ssize_t>(size));
  return nullptr;
}

// A tensor argument; with int64 indices made contiguous.
bool tensor_argument(PyObject* object, const char* function, TensorInfo& out) {
  if (read_tensor(object, out)) return true;
  PyErr_Format(PyExc_TypeError, "%s() expects a tensor, not %s", function, Py_TYPE(object)->tp_name);
  return false;
}

bool index_argument(PyObject* object, const char* function, Ref& owner, TensorInfo& out) {
  if (!tensor_argument(object, function, out)) return false;
  if (out.dtype != DType::I64 && out.dtype != DType::I32) {
    PyErr_Format(PyExc_TypeError, "%s(): the index must be int64", function);
    return false;
  }
  owner = out.dtype == DType::I64 ? contiguous(out.tensor) : contiguous_as(out.tensor, DType::I64);
  if (!owner) return false;
  out = info_of(as_tensor(owner));
  return true;
}

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
bool read_places(int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides, const TensorInfo& index, PyObject* dims_object,
                 PyObject* at_object, Indexed& in) {
  if (!PyTuple_Check(dims_object) || PyTuple_GET_SIZE(dims_object) == 0) {
    PyErr_SetString(PyExc_TypeError, "dims must be a tuple of at least one dimension");
    return false;
  }
  const int k = static_cast<int>(PyTuple_GET_SIZE(dims_object));
  int dims[kMaxDims];
  bool taken[kMaxDims] = {};
  Py_ssize_t size = 1;
  for (int i = 0; i < k; i++) {
    if (i >= ndim || (dims[i] = dim_argument(PyTuple_GET_ITEM(dims_object, i), ndim)) < 0) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_IndexError, "more dims than dimensions");
      return false;
    }
    if (taken[dims[i]]) {
      PyErr_SetString(PyExc_ValueError, "dims must differ");
      return false;
    }
    taken[dims[i]] = true;
    size *= shape[dims[i]];
  }
  const Py_ssize_t at = PyNumber_AsSsize_t(at_object, PyExc_IndexError);
  if (at == -1 && PyErr_Occurred()) return false;
  if (at < 0 || at > ndim - k) {
    PyErr_SetString(PyExc_IndexError, "at is out of range");
    return false;
  }
  Py_ssize_t rest_shape[kMaxDims], rest_strides[kMaxDims];
  int rest = 0;
  for (int i = 0; i < ndim; i++) {
    if (taken[i]) continue;
    rest_shape[rest] = shape[i];
    rest_strides[rest++] = strides[i];
  }
  if (rest + index.ndim > kMaxDims) {
    PyErr_Format(PyExc_RuntimeError, "the result of this index would have %d dimensions; a tensor has at most %d",
                 rest + index.ndim, kMaxDims);
    return false;
  }
  for (int i = 0; i < at; i++) in.shape[in.ndim++] = rest_shape[i];
  for (int i = 0; i < index.ndim; i++) in.shape[in.ndim++] = index.shape[i];
  for (int i = static_cast<int>(at); i < rest; i++) in.shape[in.ndim++] = rest_shape[i];
  for (int i = 0; i < in.ndim; i++) in.total *= in.shape[i];
  Places& p = in.places;
  p.n_outer = joined(static_cast<int>(at), rest_shape, rest_strides, p.outer_shape, p.outer_strides);
  p.n_inner = joined(rest - static_cast<int>(at), rest_shape + at, rest_strides + at, p.inner_shape, p.inner_strides);
  p.n = index.size();
  if (p.n && size == 0) {
    PyErr_SetString(PyExc_IndexError, "index is out of bounds for dimension with size 0");
    return false;
  }
  if (in.total == 0) {
    p.n = 0;
    return true;
  }
  if (is_meta(index)) return true;
  ptrdiff_t* offsets = in.few;
  if (p.n > 32) {
    in.many.reset(new (std::nothrow) ptrdiff_t[p.n]);
    if (!(offsets = in.many.get())) {
      PyErr_NoMemory();
      return false;
    }
  }
  const int64_t* values = reinterpret_cast<const int64_t*>(index.data);
  // Dimensions that follow each other in memory are as good as one.
  bool single = true;
  for (int i = 0; i + 1 < k; i++) single &= strides[dims[i]] == strides[dims[i + 1]] * shape[dims[i + 1]];
  const Py_ssize_t step = strides[dims[k - 1]];
  for (ptrdiff_t i = 0; i < p.n; i++) {
    int64_t v = values[i];
    if (v < -size || v >= size) {
      out_of_bounds(v, 0, size);
      return false;
    }
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
PyObject* in_order_of(const TensorInfo& x, PyObject* dims, PyObject* at_object, Ref out) {
  const Tensor* t = as_tensor(out);
  uint64_t indexed;
  if (x.tensor->is_contiguous()) return out.release();
  if (!dims_argument(dims, x.ndim, indexed)) return nullptr;
  const int places = t->ndim() - (x.ndim - __builtin_popcountll(indexed)), at = static_cast<int>(PyLong_AsLong(at_object));
  Py_ssize_t rest[kMaxDims], own[kMaxDims], strides[kMaxDims];
  for (int i = 0, d = 0; i < t->ndim(); ++i) {
    const bool place = i >= at && i < at + places;
    while (!place && indexed >> d & 1) ++d;
    rest[i] = place ? 0 : x.strides[d++];
    own[i] = place ? t->stride(i) : 0;
  }
  const Py_ssize_t* layouts[] = {rest, own};
  dense_strides(t->ndim(), t->sizes(), layouts, 2, t->item(), strides);
  return as_object(relaid(as_tensor(out.release()), strides));
}

// index_get(x, index, dims, at)
PyObject* index_get(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (!check_count("index_get", n, 4, 4)) return nullptr;
  TensorInfo x, index;
  Ref index_owner;
  if (!tensor_argument(args[0], "index_get", x) || !index_argument(args[1], "index_get", index_owner, index)) {
    return nullptr;
  }
  Ref x_owner = aligned(x);
  if (!x_owner) return nullptr;
  x = info_of(as_tensor(x_owner));
  Indexed in;
  if (!read_places(x.ndim, x.shape, x.strides, index, args[2], args[3], in)) return nullptr;
  const DeviceType device = device_of(x, index);
  Ref out = new_ref(x.dtype, in.ndim, in.shape, device);
  if (!out) return nullptr;
  if (device != DeviceType::Meta) {
    char* to = data_of(out);
    Unlocked unlocked(in.total * item_size(x.dtype) > kReleaseGilBytes, {x.tensor, as_tensor(out)});
    if (in.places.n_outer || in.total <= kGrain) {
      take_places(x.dtype, x.data, in.places, to);
    } else {
      const Py_ssize_t each = in.places.n ? in.total / in.places.n : 1;
      parallel(in.places.n, kGrain / (each + 1) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
        Places part = in.places;
        part.offsets += begin;
        part.n = end - begin;
        take_places(x.dtype, x.data, part, to + begin * each * item_size(x.dtype));
      });
    }
  }
  return in_order_of(x, args[2], args[3], std::move(out));
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
  if (!fits) {
    PyErr_Format(PyExc_RuntimeError, "shape mismatch: value tensor of shape %s cannot be broadcast to indexing result of shape %s",
                 sizes_text(values.shape, values.ndim).c_str(), sizes_text(in.shape, in.ndim).c_str());
    return Ref();
  }
  Ref owner = contiguous(values.tensor);
  if (!owner || in.total == 0) return owner;
  if (!one && values.size() != in.total) {
    Ref full = new_ref(values.dtype, in.ndim, in.shape, device_of(values));
    if (!full || copy_into(as_tensor(full), as_tensor(owner)) < 0) return Ref();
    return full;
  }
  if (as_tensor(owner) == values.tensor && share_memory(x, values)) return Ref(as_object(contiguous_copy(values.tensor)));
  return owner;
}

// index_put(x, index, dims, at, values, accumulate): writes x.
PyObject* index_put(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (!check_count("index_put", n, 6, 6)) return nullptr;
  TensorInfo x, index, values;
  Ref index_owner;
  bool accumulate;
  if (!tensor_argument(args[0], "index_put", x) || !index_argument(args[1], "index_put", index_owner, index) ||
      !tensor_argument(args[4], "index_put", values) || !bool_argument(args[5], accumulate)) {
    return nullptr;
  }
  if (!x.tensor->is_aligned()) return not_implemented();
  if (!x.tensor->is_writeable()) return fail(PyExc_ValueError, "the written array is read-only");
  Indexed in;
  if (!read_places(x.ndim, x.shape, x.strides, index, args[2], args[3], in)) return nullptr;
  Pinned pin;
  if (in.total * item_size(x.dtype) > kReleaseGilBytes) pin.take(x.tensor->storage());  // values may be repeated without the GIL
  bool one;
  Ref from = values_for(values, x, in, one);
  if (!from) return nullptr;
  if (values.dtype != x.dtype) {
    PyErr_Format(PyExc_RuntimeError,
                 "Index put requires the source and destination dtypes match, got %s for the destination and %s for "
                 "the source.",
                 scalar_name(x.dtype), scalar_name(values.dtype));
    return nullptr;
  }
  if (in.total == 0 || is_meta(x, index, values)) return none();
  const char* data = data_of(from);
  bool done;
  {
    Unlocked unlocked(in.total * item_size(x.dtype) > kReleaseGilBytes, {x.tensor, as_tensor(from)});
    done = land_places(x.dtype, accumulate ? Land::Add : Land::Set, x.data, in.places, data, one);
  }
  return done ? none() : not_implemented();
}

// Zeros of `shape` with the elements of g added at the places.
PyObject* index_backward(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (!check_count("index_backward", n, 5, 5)) return nullptr;
  TensorInfo g, index;
  Ref index_owner;
  int ndim;
  Py_ssize_t shape[kMaxDims];
  if (!tensor_argument(args[0], "index_backward", g) || !index_argument(args[1], "index_backward", index_owner, index) ||
      !shape_argument(args[4], shape, ndim)) {
    return nullptr;
  }
  const DeviceType device = device_of(g, index);
  Ref out = zeros_ref(g.dtype, ndim, shape, device);
  if (!out) return nullptr;
  TensorInfo x = info_of(as_tensor(out));
  Indexed in;
  if (!read_places(x.ndim, x.shape, x.strides, index, args[2], args[3], in)) return nullptr;
  bool one;
  Ref from = values_for(g, x, in, one);
  if (!from) return nullptr;
  if (in.total == 0 || device == DeviceType::Meta) return out.release();
  const char* data = data_of(from);
  bool done;
  {
    Unlocked unlocked(in.total * item_size(x.dtype) > kReleaseGilBytes, {x.tensor, as_tensor(from)});
    done = land_places(x.dtype, Land::Add, x.data, in.places, data, one);
  }
  return done ? out.release() : not_implemented();
}

// linear_index(sizes, tensors, counts, check): the index tensors, broadcast together, as one index that counts through the
// sizes row by row. counts: how many dimensions each stands for, which only the messages need. Without check any index
// is taken: where the result has no elements, torch looks at none.
PyObject* linear(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (!check_count("linear_index", n, 4, 4)) return nullptr;
  if (!PyTuple_Check(args[0]) || !PyList_Check(args[1]) || !PyTuple_Check(args[2]) ||
      PyTuple_GET_SIZE(args[0]) != PyList_GET_SIZE(args[1]) || PyTuple_GET_SIZE(args[0]) != PyTuple_GET_SIZE(args[2])) {
    PyErr_SetString(PyExc_TypeError, "linear_index(tuple of sizes, list of as many tensors, tuple of as many counts, check)");
    return nullptr;
  }
  const Py_ssize_t k = PyTuple_GET_SIZE(args[0]);
  bool check;
  if (!bool_argument(args[3], check)) return nullptr;
  std::vector<Ref> owners(k);
  std::vector<TensorInfo> tensors(k);
  std::vector<int64_t> sizes(k), counts(k);
  std::string shapes;
  int ndim = 0;
  DeviceType device = DeviceType::Cpu;
  for (Py_ssize_t i = 0; i < k; i++) {
    sizes[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(args[0], i));
    counts[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(args[2], i));
    if (PyErr_Occurred() || !index_argument(PyList_GET_ITEM(args[1], i), "linear_index", owners[i], tensors[i])) {
      return nullptr;
    }
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
      if (size != 1 && size != a.shape[own]) {
        PyErr_Format(PyExc_IndexError, "shape mismatch: indexing tensors could not be broadcast together with shapes %s",
                     shapes.c_str());
        return nullptr;
      }
      size = a.shape[own];
    }
    shape[d] = size;
    total *= size;
  }
  Ref out = zeros_ref(DType::I64, ndim, shape, device);
  if (!out || !total) return out.release();
  for (Py_ssize_t i = 0; i < k; i++) {
    if (sizes[i] == 0) {
      PyErr_SetString(PyExc_IndexError, "index is out of bounds for dimension with size 0");
      return nullptr;
    }
  }
  if (!check || device == DeviceType::Meta) return out.release();
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
  return out.release();
}

}  // namespace

extern const HostFunction linear_index = over_devices<over_aliases<linear>>;

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
  if (picks.shape[0] * slice <= kGrain) return f(picks, 0);
  parallel(picks.shape[0], kGrain / (slice + 1) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
    ptrdiff_t shape[kMaxDims];
    std::copy(picks.shape, picks.shape + picks.ndim, shape);
    shape[0] = end - begin;
    Picks part = picks;
    part.shape = shape;
    part.index += begin * slice;
    f(part, begin);
  });
}

// x, dim, index of gather and scatter; `src` may be null.
struct Scattering {
  TensorInfo x, index, src;
  Ref index_owner;
  int dim = 0;

  // 1 in order, 0 not, -1 exception. Whether the indices are in range is seen here where there is a src, before x is written.
  int read(PyObject* x_object, PyObject* dim_object, PyObject* index_object, PyObject* src_object) {
    if (!read_tensor(x_object, x) || !read_tensor(index_object, index) || !PyLong_Check(dim_object)) return 0;
    if (index.dtype != DType::I64 && index.dtype != DType::I32) return 0;
    if (x.ndim == 0 || x.ndim != index.ndim || !x.tensor->is_aligned()) return 0;
    const long d = PyLong_AsLong(dim_object);
    if (d == -1 && PyErr_Occurred()) return -1;
    if (d < -x.ndim || d >= x.ndim) {
      PyErr_Clear();
      return 0;
    }
    dim = static_cast<int>(d < 0 ? d + x.ndim : d);
    for (int i = 0; i < x.ndim; i++) {
      if (i != dim && index.shape[i] > x.shape[i]) return 0;
    }
    if (src_object) {
      if (!read_tensor(src_object, src) || src.dtype != x.dtype || !src.tensor->is_aligned()) return 0;
      if (src.ndim && src.ndim != x.ndim) return 0;
      for (int i = 0; i < src.ndim; i++) {
        if (index.shape[i] > src.shape[i]) return 0;
      }
    }
    if (!index_argument(index_object, "scatter", index_owner, index)) return -1;
    return !src_object || is_meta(index) || in_range(index, x.shape[dim]) ? 1 : 0;
  }
};

// gather(x, dim, index, sparse_grad)
PyObject* gather_function(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (!check_count("gather", n, 3, 4)) return nullptr;
  Scattering s;
  const int ready = s.read(args[0], args[1], args[2], nullptr);
  if (ready <= 0) return ready ? nullptr : not_implemented();
  const DeviceType device = device_of(s.x, s.index);
  Ref out = new_ref(s.x.dtype, s.index.ndim, s.index.shape, device);
  if (!out || device == DeviceType::Meta) return out.release();
  const TensorInfo to = info_of(as_tensor(out));
  const Picks picks{s.x.ndim,         s.dim,       s.index.shape, reinterpret_cast<const int64_t*>(s.index.data),
                    s.x.shape[s.dim], s.x.strides, to.strides};
  std::atomic<bool> inside{true};
  {
    Unlocked unlocked(s.index.size() * item_size(s.x.dtype) > kReleaseGilBytes, {s.x.tensor, s.index.tensor, to.tensor});
    each_slice(picks, [&](const Picks& part, ptrdiff_t first) {
      if (!gather(s.x.dtype, s.x.data + (s.dim ? first * s.x.strides[0] : 0), part, to.data + first * to.strides[0]))
        inside.store(false, std::memory_order_relaxed);
    });
  }
  return inside.load() ? out.release() : not_implemented();
}

PyObject* land(PyObject* const* args, Land how) {
  Scattering s;
  const int ready = s.read(args[0], args[1], args[2], args[3]);
  if (ready <= 0) return ready ? nullptr : not_implemented();
  if (!s.x.tensor->is_writeable()) return not_implemented();
  if (is_meta(s.x, s.index, s.src)) return none();
  Ref src_owner = Ref::borrow(args[3]);
  if (share_memory(s.x, s.src)) {
    src_owner = Ref(as_object(contiguous_copy(s.src.tensor)));
    if (!src_owner) return nullptr;
    s.src = info_of(as_tensor(src_owner));
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
    Unlocked unlocked(s.index.size() * item_size(s.x.dtype) > kReleaseGilBytes, {s.x.tensor, s.index.tensor, s.src.tensor});
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
  return done ? none() : not_implemented();
}

// gather_backward(g, dim, index, shape): zeros with g added where gather reads.
PyObject* gather_backward(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo g;
  int ndim;
  Py_ssize_t shape[kMaxDims];
  if (!first_tensor("gather_backward", args, n, 4, 4, g)) return no_tensor();
  if (!shape_argument(args[3], shape, ndim)) return nullptr;
  Ref out = zeros_ref(g.dtype, ndim, shape, device_of(g));
  if (!out) return nullptr;
  PyObject* given[] = {out.get(), args[1], args[2], args[0]};
  Ref landed(land(given, Land::Add));
  return landed.get() == Py_None ? out.release() : landed.release();
}

// scatter_set(x, dim, index, src), scatter_add: write x.
template <Land kHow>
PyObject* scatter_function(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return check_count("scatter", n, 4, 4) ? land(args, kHow) : nullptr;
}

// scatter(x, dim, index, src, mode): writes x; src broadcast to the index's shape.
PyObject* scatter_mode(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (!check_count("scatter", n, 5, 5)) return nullptr;
  const long mode = PyLong_AsLong(args[4]);
  if (mode == -1 && PyErr_Occurred()) return nullptr;
  if (mode < 0 || mode >= static_cast<long>(Land::Count)) return not_implemented();
  return land(args, static_cast<Land>(mode));
}

// ---------------------------------------------------------------- whole slices of one dimension

// 1 in order, 0 not, -1 exception. Slices are named by int64 vectors of indices >= 0.
int read_slices(PyObject* x_object, PyObject* dim_object, PyObject* index_object, TensorInfo& x, TensorInfo& index,
                Ref& index_owner, int& dim) {
  if (!read_tensor(x_object, x) || !read_tensor(index_object, index) || !PyLong_Check(dim_object)) return 0;
  if ((index.dtype != DType::I64 && index.dtype != DType::I32) || index.ndim != 1 || x.ndim == 0) return 0;
  const long d = PyLong_AsLong(dim_object);
  if (d == -1 && PyErr_Occurred()) return -1;
  if (d < -x.ndim || d >= x.ndim) {
    PyErr_Clear();
    return 0;
  }
  dim = static_cast<int>(d < 0 ? d + x.ndim : d);
  if (!index_argument(index_object, "index", index_owner, index)) return -1;
  return is_meta(index) || in_range(index, x.shape[dim]) ? 1 : 0;
}

// Calls index_get, index_put, ... on (dim,), dim.
PyObject* with_dim(FastFunction f, PyObject* first, PyObject* index, int dim, PyObject* fourth, PyObject* fifth, Py_ssize_t n) {
  Ref at(PyLong_FromLong(dim));
  Ref dims(at ? PyTuple_Pack(1, at.get()) : nullptr);
  if (!dims) return nullptr;
  PyObject* args[] = {first, index, dims.get(), at.get(), fourth, fifth};
  return f(nullptr, args, n);
}

// index_select(x, dim, index)
PyObject* index_select(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (!check_count("index_select", n, 3, 3)) return nullptr;
  TensorInfo x, index;
  Ref index_owner;
  int dim;
  const int ready = read_slices(args[0], args[1], args[2], x, index, index_owner, dim);
  if (ready <= 0) return ready ? nullptr : not_implemented();
  return with_dim(index_get, args[0], index_owner.get(), dim, nullptr, nullptr, 4);
}

// index_add(x, dim, index, source, alpha): writes x.
PyObject* index_add(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (!check_count("index_add", n, 5, 5)) return nullptr;
  TensorInfo x, index, source;
  Ref index_owner;
  int dim;
  const int ready = read_slices(args[0], args[1], args[2], x, index, index_owner, dim);
  if (ready < 0) return nullptr;
  if (!ready || !read_tensor(args[3], source) || source.dtype != x.dtype || source.ndim != x.ndim || !PyLong_CheckExact(args[4]) ||
      PyLong_AsLong(args[4]) != 1) {
    PyErr_Clear();
    return not_implemented();
  }
  for (int i = 0; i < x.ndim; i++) {
    if (source.shape[i] != (i == dim ? index.shape[0] : x.shape[i])) return not_implemented();
  }
  return with_dim(index_put, args[0], index_owner.get(), dim, args[3], Py_True, 6);
}

}  // namespace

PyMethodDef kIndexingMethods[] = {
    long_kernel<index_get>("index_get", "(x, index, dims, at): the elements at the places, a new tensor."),
    long_kernel<index_put>("index_put", "(x, index, dims, at, values, accumulate): writes x at the places."),
    long_kernel<index_backward>("index_backward", "(g, index, dims, at, shape): zeros with g added at the places."),
    long_kernel<linear>("linear_index", "(sizes, tensors, counts, check): several indices as one."),
    long_kernel<gather_function>("gather", "(x, dim, index, sparse_grad)"),
    long_kernel<gather_backward>("gather_backward", "(g, dim, index, shape): zeros with g added where gather reads."),
    long_kernel<scatter_function<Land::Set>>("scatter_set", "(x, dim, index, src): writes x; src may be one number."),
    long_kernel<scatter_function<Land::Add>>("scatter_add", "(x, dim, index, src): writes x; src may be one number."),
    long_kernel<scatter_mode>("scatter", "(x, dim, index, src, mode): writes x; mode 0 set, 1 add, 2 mul, 3 max, 4 min."),
    long_kernel<index_select>("index_select", "(x, dim, index)"),
    long_kernel<index_add>("index_add", "(x, dim, index, source, alpha): writes x."),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace rushlight
