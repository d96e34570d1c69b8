// Views of tensors under torch's rules for sizes and strides, and the gradients that views have. Views of another shape are in
// reshape.cpp.
//
// A view shares the storage: `make_view` (bindings.h) is the one place where one is made. A gradient of a view is either a view of the incoming
// one (`spread`) or zeros with it written at the view's place (`*_backward`).
#include "bindings/kernel.h"

#include <algorithm>
#include <string>
#include <vector>

namespace rushlight {

namespace {

Ref transpose(const TensorInfo& a, Dim d0, Dim d1) {
  Layout l(a.tensor);
  if (a.ndim) {
    std::swap(l.shape[d0], l.shape[d1]);
    std::swap(l.strides[d0], l.strides[d1]);
  }
  return make_view(a, l);
}

Ref alias(const TensorInfo& a) { return make_view(a, Layout(a.tensor)); }

Ref t(const TensorInfo& a) {
  if (a.ndim > 2) return fail(PyExc_RuntimeError, "t() expects a tensor with <= 2 dimensions, but self is %dD", a.ndim);
  Layout l(a.tensor);
  if (a.ndim == 2) {
    std::swap(l.shape[0], l.shape[1]);
    std::swap(l.strides[0], l.strides[1]);
  }
  return make_view(a, l);
}

// Reads a permutation of the dimensions of `a`; false with an exception set.
bool permutation(const TensorInfo& a, const Sizes& dims, int* order) {
  if (dims.n != a.ndim) {
    return fail(PyExc_RuntimeError,
                "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
                "ordering of dimensions i.e. input.dim() = %d is not equal to len(dims) = %d",
                a.ndim, dims.n);
  }
  uint64_t seen = 0;
  for (int i = 0; i < dims.n; ++i) {
    order[i] = normal_dim(dims.at[i], a.ndim);
    if (order[i] < 0) return false;
    if (seen >> order[i] & 1) return fail(PyExc_RuntimeError, "permute(): duplicate dims are not allowed.");
    seen |= uint64_t{1} << order[i];
  }
  return true;
}

// Inverse: the permutation that undoes dims.
template <bool Inverse>
Ref permute(const TensorInfo& a, const Sizes& dims) {
  int order[kMaxDims];
  if (!permutation(a, dims, order)) return {};
  Layout l;
  l.ndim = a.ndim;
  for (int i = 0; i < a.ndim; ++i) {
    const int to = Inverse ? order[i] : i, from = Inverse ? i : order[i];
    l.shape[to] = a.shape[from];
    l.strides[to] = a.strides[from];
  }
  return make_view(a, l);
}

Ref unsqueeze(const TensorInfo& a, DimOf<1> dim) {
  check_room(a.ndim);
  const Py_ssize_t stride = dim < a.ndim ? times(a.strides[dim], a.shape[dim]) : a.tensor->item();
  Layout l;
  for (int i = 0; i < dim; ++i) l.add(a.shape[i], a.strides[i]);
  l.add(1, stride);
  for (int i = dim; i < a.ndim; ++i) l.add(a.shape[i], a.strides[i]);
  return make_view(a, l);
}

// Dimensions of size 1 go, all or those named.
Ref squeeze(const TensorInfo& a, Dims dims) {
  Layout l;
  for (int i = 0; i < a.ndim; ++i) {
    if (a.shape[i] != 1 || !(dims.mask >> i & 1)) l.add(a.shape[i], a.strides[i]);
  }
  return make_view(a, l);
}

// A size of -1 stays as it is.
Ref expand(const TensorInfo& a, const Sizes& size, bool /* implicit */) {
  Layout l(size.at, size.n);
  const int lead = l.ndim - a.ndim;
  if (lead < 0) {
    return fail(PyExc_RuntimeError,
                "expand(torch.%sTensor{%s}, size=%s): the number of sizes provided (%d) must be greater or equal to the number of "
                "dimensions in the tensor (%d)",
                scalar_name(a.dtype), shape_text(a).c_str(), sizes_text(l.shape, l.ndim).c_str(), l.ndim, a.ndim);
  }
  for (int i = l.ndim - 1; i >= 0; --i) {
    const Py_ssize_t wanted = l.shape[i];
    if (i < lead) {
      if (wanted < 0)
        return fail(PyExc_RuntimeError,
                    "The expanded size of the tensor (%zd) isn't allowed in a leading, non-existing dimension %d", wanted, i);
      // As if the missing dimensions had size 1; where the new size is 1 too, the stride is that of a contiguous tensor.
      const Py_ssize_t stride = i + 1 < l.ndim ? times(l.strides[i + 1], l.shape[i + 1]) : a.tensor->item();
      l.strides[i] = wanted == 1 ? stride : 0;
      continue;
    }
    const Py_ssize_t own = a.shape[i - lead], stride = a.strides[i - lead];
    l.strides[i] = stride;
    if (wanted == -1 || wanted == own) {
      l.shape[i] = own;
      continue;
    }
    if (own != 1 || wanted < 0) {
      return fail(PyExc_RuntimeError,
                  "The expanded size of the tensor (%zd) must match the existing size (%zd) at non-singleton dimension %d.  "
                  "Target sizes: %s.  Tensor sizes: %s",
                  wanted, own, i, sizes_text(size.at, size.n).c_str(), shape_text(a).c_str());
    }
    l.strides[i] = 0;
  }
  return make_view(a, l);
}

// Takes entry `index` of dimension `dim`, which goes. False with an exception set where there is no such entry.
bool selected(Layout& l, int dim, Py_ssize_t index) {
  if (l.ndim == 0) return fail(PyExc_IndexError, "select() cannot be applied to a 0-dim tensor.");
  const Py_ssize_t size = l.shape[dim];
  if (index < -size || index >= size)
    return fail(PyExc_IndexError, "select(): index %zd out of range for tensor of size %s at dimension %d", index,
                sizes_text(l.shape, l.ndim).c_str(), dim);
  l.offset += (index < 0 ? index + size : index) * l.strides[dim];
  l.remove(dim);
  return true;
}

Ref select(const TensorInfo& a, Dim dim, Py_ssize_t index) {
  Layout l(a.tensor);
  return selected(l, dim, index) ? make_view(a, l) : Ref();
}

// Where a slice begins or ends: far out of range means the end of the range, also beyond a machine word.
struct Bound {
  static constexpr Text kType = "int | None";
  bool read(const Argument& a) {
    given = a.object != Py_None;
    return !given || (at = PyNumber_AsSsize_t(a.object, nullptr)) != -1 || !PyErr_Occurred();
  }
  bool given;
  Py_ssize_t at;
};

// Narrows dimension `dim` to [start, end) in steps, clamped as Python's slices; false with an exception set.
bool sliced(Layout& l, int dim, Bound start, Bound end, Py_ssize_t step) {
  if (l.ndim == 0) return fail(PyExc_RuntimeError, "slice() cannot be applied to a 0-dim tensor.");
  const Py_ssize_t size = l.shape[dim];
  Py_ssize_t first = start.given ? start.at : 0, last = end.given ? end.at : size;
  if (step <= 0) return fail(PyExc_RuntimeError, "slice step must be positive");
  if (first < 0) first += size;
  if (last < 0) last += size;
  first = std::clamp<Py_ssize_t>(first, 0, size);
  last = std::clamp<Py_ssize_t>(last, first, size);
  l.offset += first * l.strides[dim];
  l.shape[dim] = (last - first) / step + ((last - first) % step != 0);
  l.strides[dim] = times(l.strides[dim], step);
  return true;
}

Ref slice(const TensorInfo& a, Dim dim, Bound start, Bound end, std::optional<Py_ssize_t> step) {
  Layout l(a.tensor);
  return sliced(l, dim, start, end, step.value_or(1)) ? make_view(a, l) : Ref();
}

bool take_diagonal(Layout& l, Py_ssize_t offset, Py_ssize_t dim1, Py_ssize_t dim2) {
  const int d1 = normal_dim(dim1, l.ndim), d2 = d1 < 0 ? -1 : normal_dim(dim2, l.ndim);
  if (d2 < 0) return false;
  if (d1 == d2) return fail(PyExc_RuntimeError, "diagonal dimensions cannot be identical %zd, %zd", dim1, dim2);
  const Py_ssize_t rows = l.shape[d1], columns = l.shape[d2], stride = l.strides[d1] + l.strides[d2];
  const Py_ssize_t size = std::max<Py_ssize_t>(offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns),
                                               0);
  if (size) l.offset += offset >= 0 ? offset * l.strides[d2] : -offset * l.strides[d1];
  l.remove(std::max(d1, d2));
  l.remove(std::min(d1, d2));
  l.add(size, stride);
  return true;
}

Ref diagonal(const TensorInfo& a, Py_ssize_t offset, Py_ssize_t dim1, Py_ssize_t dim2) {
  Layout l(a.tensor);
  return take_diagonal(l, offset, dim1, dim2) ? make_view(a, l) : Ref();
}

// Windows along a dimension, as a new last dimension.
Ref unfold(const TensorInfo& a, Dim dim, Py_ssize_t size, Py_ssize_t step) {
  const Py_ssize_t longest = a.ndim ? a.shape[dim] : 1;
  const Py_ssize_t stride = a.ndim ? a.strides[dim] : a.tensor->item();
  if (size < 0) return fail(PyExc_RuntimeError, "size is %zd but must be >= 0", size);
  if (size > longest)
    return fail(PyExc_RuntimeError, "maximum size for tensor at dimension %d is %zd but size is %zd", int{dim}, longest, size);
  if (step <= 0) return fail(PyExc_RuntimeError, "step is %zd but must be > 0", step);
  check_room(a.ndim);
  Layout l(a.tensor);
  if (a.ndim) {
    l.shape[dim] = (longest - size) / step + 1;
    l.strides[dim] = times(stride, step);
  }
  l.add(size, stride);
  return make_view(a, l);
}

Int storage_offset(const TensorInfo& a) { return Ref(PyLong_FromSsize_t(a.tensor->offset() / a.tensor->item())); }

// Any view of the storage; strides and offset in elements, from the tensor's first one.
Ref strided(const TensorInfo& a, const Sizes& size, const Sizes& stride, Py_ssize_t offset, bool /* implicit */) {
  const Py_ssize_t *strides = stride.at, n_strides = stride.n;
  Layout l(size.at, size.n);
  if (n_strides != l.ndim) return fail(PyExc_RuntimeError, "mismatch in length of strides and shape");
  const Py_ssize_t item = a.tensor->item(), far = PY_SSIZE_T_MAX / 128 / item;
  Py_ssize_t reach = 0;
  bool empty = false, overflow = false;
  for (int i = 0; i < l.ndim; ++i) {
    if (strides[i] < 0)
      return fail(PyExc_RuntimeError,
                  "as_strided: Negative strides are not supported at the moment, got strides: " + sizes_text(strides, n_strides));
    if (l.shape[i] < 0)
      return fail(PyExc_RuntimeError, "Trying to create tensor with negative dimension %zd: %s", l.shape[i],
                  sizes_text(l.shape, l.ndim).c_str());
    empty |= l.shape[i] == 0;
    if (l.shape[i] > 1 && strides[i] > far / l.shape[i]) overflow = true;
    else if (l.shape[i] > 1) reach += strides[i] * (l.shape[i] - 1);
    l.strides[i] = times(strides[i], item);
  }
  if (overflow || offset > far || offset < -far)
    return fail(PyExc_RuntimeError, "Storage size calculation overflowed with sizes=" + sizes_text(l.shape, l.ndim) +
                                        " and strides=" + sizes_text(strides, n_strides));
  const Py_ssize_t before = a.tensor->offset() / item, bytes = static_cast<Py_ssize_t>(a.tensor->storage()->nbytes);
  const Py_ssize_t first = before + offset;
  const Py_ssize_t needed = empty ? 0 : a.tensor->offset() + (offset + reach + 1) * item;
  if (first < 0) return fail(PyExc_RuntimeError, "Tensor: invalid storage offset %zd", first);
  if (needed > bytes)
    return fail(PyExc_RuntimeError,
                "setStorage: sizes %s, strides %s, storage offset %zd, and itemsize %zd requiring a storage size of %zd are out of "
                "bounds for storage of size %zd",
                sizes_text(l.shape, l.ndim).c_str(), sizes_text(strides, n_strides).c_str(), first, item, needed, bytes);
  l.offset = offset * item;
  return make_view(a, l);
}

// The pieces, in order.
Tensors split(TensorInfo& a, Given<"int | Sequence[int]"> size, Any along) {
  const bool equal = PyIndex_Check(size);
  if (a.ndim == 0)
    return fail(PyExc_RuntimeError, "%s expects at least a 1-dimensional tensor", equal ? "split" : "split_with_sizes");
  Py_ssize_t each = 0;
  if (equal && !index_argument(size, each)) return {};
  if (each < 0) return fail(PyExc_RuntimeError, "split expects split_size be non-negative, but got split_size=%zd", each);
  const int dim = dim_argument(along, a.ndim);
  if (dim < 0) return {};
  const Py_ssize_t total = a.shape[dim];
  Py_ssize_t count;
  Ref sizes_given;
  std::vector<Py_ssize_t> sizes_read;
  if (equal) {
    if (each == 0 && total)
      return fail(PyExc_RuntimeError, "split_size can only be 0 if dimension size is 0, but got dimension size of %zd", total);
    count = each && total ? (total - 1) / each + 1 : 1;
  } else {
    if (!is_list(size))
      return fail(PyExc_TypeError, "split(): argument 'split_sizes' (position 1) must be tuple of ints, not %s",
                  Py_TYPE(size.object)->tp_name);
    if (!(sizes_given = held_items(size, ""))) return {};
    count = PyTuple_GET_SIZE(sizes_given.get());
    Py_ssize_t sum = 0;
    bool negative = false, wide = false;
    for (Py_ssize_t i = 0; i < count; ++i) {
      Py_ssize_t one;
      if (!index_argument(PyTuple_GET_ITEM(sizes_given.get(), i), one)) return {};
      sizes_read.push_back(one);
      negative |= one < 0;
      wide |= __builtin_add_overflow(sum, one, &sum);
    }
    const auto given = [&] { return sizes_text(sizes_read.data(), static_cast<int>(count)); };
    if (negative)
      return fail(PyExc_RuntimeError,
                  "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=" + given());
    if (wide || sum != total)
      return fail(PyExc_RuntimeError,
                  "split_with_sizes expects split_sizes to sum exactly to %zd (input tensor's size at dimension %d), but got "
                  "split_sizes=%s",
                  total, dim, given().c_str());
  }
  Ref pieces = owned(PyTuple_New(count));
  look_again(a, dim, total);
  Layout l(a.tensor);
  Py_ssize_t at = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    l.shape[dim] = equal ? std::min(each, total - at) : sizes_read[i];
    l.offset = at * l.strides[dim];
    at += l.shape[dim];
    PyTuple_SET_ITEM(pieces.get(), i, make_view(a, l).release());
  }
  return pieces;
}

// The slices along dim, without it.
Tensors unbind(TensorInfo& a, Any along) {
  if (a.ndim == 0) return fail(PyExc_IndexError, "Dimension specified as 0 but tensor has no dimensions");
  const int dim = dim_argument(along, a.ndim);
  if (dim < 0) return {};
  const Py_ssize_t count = a.shape[dim];
  Ref pieces = owned(PyTuple_New(count));
  look_again(a, dim, count);
  Layout l(a.tensor);
  const Py_ssize_t step = l.strides[dim];
  l.remove(dim);
  for (Py_ssize_t i = 0; i < count; ++i) {
    l.offset = i * step;
    PyTuple_SET_ITEM(pieces.get(), i, make_view(a, l).release());
  }
  return pieces;
}

// ---- gradients of views

// Zeros of the given shape with `g` written where `place` finds the view in them.
template <class Place>
Ref scattered(const TensorInfo& g, const Sizes& shape, const Place& place) {
  Layout l(shape.at, shape.n);
  Ref zeros = zeros_ref(g.dtype, l.ndim, l.shape, device_of(g));
  const TensorInfo z = info_of(zeros);
  std::copy(z.strides, z.strides + z.ndim, l.strides);
  if (!place(l)) return {};
  copy_values(make_view(z, l), g.tensor);
  return zeros;
}

Ref select_backward(const TensorInfo& g, const Shape& shape, Py_ssize_t dim, Py_ssize_t index) {
  return scattered(g, shape, [&](Layout& l) {
    const int d = normal_dim(dim, l.ndim);
    return d >= 0 && selected(l, d, index);
  });
}

Ref slice_backward(const TensorInfo& g, const Shape& shape, Py_ssize_t dim, Bound start, Bound end,
                   std::optional<Py_ssize_t> step) {
  return scattered(g, shape, [&](Layout& l) {
    const int d = normal_dim(dim, l.ndim);
    return d >= 0 && sliced(l, d, start, end, step.value_or(1));
  });
}

Ref diagonal_backward(const TensorInfo& g, const Shape& shape, Py_ssize_t offset, Py_ssize_t dim1, Py_ssize_t dim2) {
  return scattered(g, shape, [&](Layout& l) { return take_diagonal(l, offset, dim1, dim2); });
}

// ---- a part replaced

// A copy of x with `src` written where `place` finds the view in it. No kernel where src has another shape or type.
template <class Place>
Ref replaced(const TensorInfo& x, const TensorInfo& src, const Place& place) {
  if (src.dtype != x.dtype || is_meta(x, src)) return {};
  Ref out = owned(dense_copy(x.tensor));
  Layout l(as_tensor(out));
  if (!place(l) || src.ndim != l.ndim || !same_sizes(l.ndim, src.shape, l.shape)) return {};
  copy_values(make_view(info_of(out), l), src.tensor);
  return out;
}

Ref select_scatter(const TensorInfo& x, const TensorInfo& src, Dim dim, Py_ssize_t index) {
  return replaced(x, src, [&](Layout& l) { return selected(l, dim, index); });
}

Ref slice_scatter(const TensorInfo& x, const TensorInfo& src, Dim dim, Bound start, Bound end, Py_ssize_t step) {
  return replaced(x, src, [&](Layout& l) { return l.ndim && sliced(l, dim, start, end, step); });
}

Ref diagonal_scatter(const TensorInfo& x, const TensorInfo& src, Py_ssize_t offset, Py_ssize_t dim1, Py_ssize_t dim2) {
  return replaced(x, src, [&](Layout& l) { return take_diagonal(l, offset, dim1, dim2); });
}

// `g`, the gradient of a reduction over `dim` (None or (): all), as a view of the shape that was reduced.
Ref spread_over(const TensorInfo& g, const Sizes& shape, PyObject* dim, bool keep, Py_ssize_t* reduced) {
  Layout l(shape.at, shape.n);
  uint64_t mask;
  if (!dims_argument(dim, l.ndim, mask)) return {};
  if (!mask) mask = l.ndim >= 64 ? ~uint64_t{0} : (uint64_t{1} << l.ndim) - 1;
  int from = 0;
  Py_ssize_t count = 1;
  for (int i = 0; i < l.ndim; ++i) {
    const bool gone = mask >> i & 1;
    const bool there = !gone || keep;
    if (there && (from >= g.ndim || g.shape[from] != (gone ? 1 : l.shape[i])))
      return fail(PyExc_RuntimeError, "spread: " + shape_text(g) + " is no reduction of " + sizes_text(l.shape, l.ndim));
    l.strides[i] = gone ? 0 : g.strides[from];
    if (gone) count *= l.shape[i];
    from += there;
  }
  if (from != g.ndim)
    return fail(PyExc_RuntimeError, "spread: " + shape_text(g) + " is no reduction of " + sizes_text(l.shape, l.ndim));
  if (reduced) *reduced = count;
  return make_view(g, l);
}

Ref spread(const TensorInfo& g, const Shape& shape, SomeDims dim, bool keepdim) {
  return spread_over(g, shape, dim, keepdim, nullptr);
}

// spread(g / how many elements each mean has)
Ref mean_backward(const TensorInfo& g, const Shape& shape, SomeDims dim, bool keepdim) {
  if (!g.is_float()) return {};
  const Ref part = owned(contiguous_copy(g.tensor));
  Py_ssize_t count;
  Ref result = spread_over(info_of(part), shape, dim, keepdim, &count);
  if (result) each_value(part, [count](auto x) { return x / static_cast<decltype(x)>(count); });
  return result;
}

const KernelRows rows{
    layout_kernel<transpose, "transpose(a, dim0, dim1)">(),
    layout_kernel<alias, "alias(a)">(),
    layout_kernel<t, "t(a)">(),
    layout_kernel<permute<false>, "permute(a, dims)">(),
    layout_kernel<permute<true>, "permute_back(g, dims): undoes permute">(),
    layout_kernel<unsqueeze, "unsqueeze(a, dim)">(),
    layout_kernel<squeeze, "squeeze(a, dim=None)">(),
    layout_kernel<expand, "expand(a, size, implicit=False)">(),
    layout_kernel<select, "select(a, dim, index)">(),
    layout_kernel<slice, "slice(a, dim, start, end, step)">(),
    layout_kernel<diagonal, "diagonal(a, offset, dim1, dim2)">(),
    layout_kernel<unfold, "unfold(a, dim, size, step)">(),
    layout_kernel<storage_offset, "storage_offset(a): in elements">(),
    layout_kernel<strided, "strided(a, size, stride, offset, implicit=False): in elements from a's first">(),
    layout_kernel<split, "split(a, size_or_sizes, dim)">(),
    layout_kernel<unbind, "unbind(a, dim)">(),
    kernel<select_backward, "select_backward(g, shape, dim, index)">(),
    kernel<slice_backward, "slice_backward(g, shape, dim, start, end, step)">(),
    kernel<diagonal_backward, "diagonal_backward(g, shape, offset, dim1, dim2)">(),
    long_kernel<select_scatter, "select_scatter(x, src, dim, index)">(),
    long_kernel<slice_scatter, "slice_scatter(x, src, dim, start, end, step)">(),
    long_kernel<diagonal_scatter, "diagonal_scatter(x, src, offset, dim1, dim2)">(),
    layout_kernel<spread, "spread(g, shape, dim, keepdim): the gradient of a sum">(),
    kernel<mean_backward, "mean_backward(g, shape, dim, keepdim)">(),
};

}  // namespace

}  // namespace rushlight
