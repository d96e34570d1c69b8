// Views of tensors under torch's rules for sizes and strides, and the gradients that views have. Views of another shape are in
// reshape.cpp.
//
// A view shares the storage: `make_view` (bindings.h) is the one place where one is made. A gradient of a view is either a view of the incoming
// one (`spread`) or zeros with it written at the view's place (`*_backward`).
#include "bindings/bindings.h"

#include <algorithm>
#include <string>
#include <vector>

namespace rushlight {

namespace {

// (tensor, dim0, dim1)
PyObject* transpose(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo a;
  if (!first_tensor("transpose", args, n, 3, 3, a)) return no_tensor();
  const int d0 = dim_argument(args[1], a.ndim);
  const int d1 = d0 < 0 ? -1 : dim_argument(args[2], a.ndim);
  if (d1 < 0) return nullptr;
  Layout l(a.tensor);
  if (a.ndim) {
    std::swap(l.shape[d0], l.shape[d1]);
    std::swap(l.strides[d0], l.strides[d1]);
  }
  return make_view(a, l);
}

// (tensor)
PyObject* t(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo a;
  if (!first_tensor("t", args, n, 1, 1, a)) return no_tensor();
  if (a.ndim > 2) {
    PyErr_Format(PyExc_RuntimeError, "t() expects a tensor with <= 2 dimensions, but self is %dD", a.ndim);
    return nullptr;
  }
  Layout l(a.tensor);
  if (a.ndim == 2) {
    std::swap(l.shape[0], l.shape[1]);
    std::swap(l.strides[0], l.strides[1]);
  }
  return make_view(a, l);
}

// Reads a permutation of the dimensions of `a`; false with an exception set.
bool permutation(const TensorInfo& a, PyObject* o, int* order) {
  Py_ssize_t given[kMaxDims];
  int count;
  if (!sizes_argument("permute", "dims", o, given, count)) return false;
  if (count != a.ndim) {
    PyErr_Format(PyExc_RuntimeError,
                 "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
                 "ordering of dimensions i.e. input.dim() = %d is not equal to len(dims) = %d",
                 a.ndim, count);
    return false;
  }
  uint64_t seen = 0;
  for (int i = 0; i < count; ++i) {
    order[i] = normal_dim(given[i], a.ndim);
    if (order[i] < 0) return false;
    if (seen >> order[i] & 1) return fail(PyExc_RuntimeError, "permute(): duplicate dims are not allowed.");
    seen |= uint64_t{1} << order[i];
  }
  return true;
}

// (tensor, dims); inverse: the permutation that undoes dims
template <bool Inverse>
PyObject* permute(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo a;
  int order[kMaxDims];
  if (!first_tensor("permute", args, n, 2, 2, a)) return no_tensor();
  if (!permutation(a, args[1], order)) return nullptr;
  Layout l;
  l.ndim = a.ndim;
  for (int i = 0; i < a.ndim; ++i) {
    const int to = Inverse ? order[i] : i, from = Inverse ? i : order[i];
    l.shape[to] = a.shape[from];
    l.strides[to] = a.strides[from];
  }
  return make_view(a, l);
}

// (tensor, dim)
PyObject* unsqueeze(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo a;
  if (!first_tensor("unsqueeze", args, n, 2, 2, a)) return no_tensor();
  const int dim = dim_argument(args[1], a.ndim + 1);
  if (dim < 0) return nullptr;
  if (!check_room(a.ndim)) return nullptr;
  const Py_ssize_t stride = dim < a.ndim ? times(a.strides[dim], a.shape[dim]) : a.tensor->item();
  Layout l;
  for (int i = 0; i < dim; ++i) l.add(a.shape[i], a.strides[i]);
  l.add(1, stride);
  for (int i = dim; i < a.ndim; ++i) l.add(a.shape[i], a.strides[i]);
  return make_view(a, l);
}

// (tensor, dim = None): dimensions of size 1 go, all or those named
PyObject* squeeze(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo a;
  uint64_t mask;
  if (!first_tensor("squeeze", args, n, 1, 2, a)) return no_tensor();
  if (!dims_argument(n > 1 ? args[1] : Py_None, a.ndim, mask)) return nullptr;
  Layout l;
  for (int i = 0; i < a.ndim; ++i) {
    if (a.shape[i] != 1 || !(mask >> i & 1)) l.add(a.shape[i], a.strides[i]);
  }
  return make_view(a, l);
}

// (tensor, sizes, implicit = False): -1 keeps a size
PyObject* expand(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo a;
  Layout l;
  if (!first_tensor("expand", args, n, 2, 3, a)) return no_tensor();
  if (!sizes_argument("expand", "size", args[1], l.shape, l.ndim)) return nullptr;
  const int lead = l.ndim - a.ndim;
  if (lead < 0) {
    return fail(PyExc_RuntimeError,
                std::string("expand(torch.") + scalar_name(a.dtype) + "Tensor{" + shape_text(a) +
                    "}, size=" + sizes_text(l.shape, l.ndim) + "): the number of sizes provided (" + std::to_string(l.ndim) +
                    ") must be greater or equal to the number of dimensions in the tensor (" + std::to_string(a.ndim) + ")");
  }
  for (int i = l.ndim - 1; i >= 0; --i) {
    const Py_ssize_t wanted = l.shape[i];
    if (i < lead) {
      if (wanted < 0) {
        return fail(PyExc_RuntimeError, "The expanded size of the tensor (" + std::to_string(wanted) +
                                            ") isn't allowed in a leading, non-existing dimension " + std::to_string(i));
      }
      // As if the missing dimensions had size 1; where the new size is 1 too, the stride is that of a contiguous tensor.
      const Py_ssize_t stride = i + 1 < l.ndim ? times(l.strides[i + 1], l.shape[i + 1]) : a.tensor->item();
      l.strides[i] = wanted == 1 ? stride : 0;
      continue;
    }
    const Py_ssize_t size = a.shape[i - lead], stride = a.strides[i - lead];
    l.strides[i] = stride;
    if (wanted == -1 || wanted == size) {
      l.shape[i] = size;
      continue;
    }
    if (size != 1 || wanted < 0) {
      Py_ssize_t target[kMaxDims];
      int count;
      ints_of(args[1], target, count);
      return fail(PyExc_RuntimeError, "The expanded size of the tensor (" + std::to_string(wanted) +
                                          ") must match the existing size (" + std::to_string(size) +
                                          ") at non-singleton dimension " + std::to_string(i) +
                                          ".  Target sizes: " + sizes_text(target, count) + ".  Tensor sizes: " + shape_text(a));
    }
    l.strides[i] = 0;
  }
  return make_view(a, l);
}

// Takes entry `index` of dimension `dim`, which goes. False with an exception set where there is no such entry.
bool selected(Layout& l, int dim, Py_ssize_t index) {
  if (l.ndim == 0) return fail(PyExc_IndexError, "select() cannot be applied to a 0-dim tensor.");
  const Py_ssize_t size = l.shape[dim];
  if (index < -size || index >= size) {
    PyErr_SetString(PyExc_IndexError, ("select(): index " + std::to_string(index) + " out of range for tensor of size " +
                                       sizes_text(l.shape, l.ndim) + " at dimension " + std::to_string(dim))
                                          .c_str());
    return false;
  }
  l.offset += (index < 0 ? index + size : index) * l.strides[dim];
  l.remove(dim);
  return true;
}

// (tensor, dim, index)
PyObject* select(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo a;
  Py_ssize_t index;
  if (!first_tensor("select", args, n, 3, 3, a)) return no_tensor();
  const int dim = dim_argument(args[1], a.ndim);
  if (dim < 0 || !index_argument(args[2], index)) return nullptr;
  Layout l(a.tensor);
  return selected(l, dim, index) ? make_view(a, l) : nullptr;
}

// Narrows dimension `dim` to [start, end) in steps, clamped as Python's slices; false with an exception set.
bool sliced(Layout& l, int dim, PyObject* start, PyObject* end, PyObject* step_object) {
  if (l.ndim == 0) return fail(PyExc_RuntimeError, "slice() cannot be applied to a 0-dim tensor.");
  const Py_ssize_t size = l.shape[dim];
  Py_ssize_t first = 0, last = size, step = 1;
  // Far out of range means the end of the range, also beyond a machine word.
  if (start != Py_None && (first = PyNumber_AsSsize_t(start, nullptr)) == -1 && PyErr_Occurred()) return false;
  if (end != Py_None && (last = PyNumber_AsSsize_t(end, nullptr)) == -1 && PyErr_Occurred()) return false;
  if (step_object != Py_None && !index_argument(step_object, step)) return false;
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

// (tensor, dim, start, end, step)
PyObject* slice(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo a;
  if (!first_tensor("slice", args, n, 5, 5, a)) return no_tensor();
  const int dim = dim_argument(args[1], a.ndim);
  if (dim < 0) return nullptr;
  Layout l(a.tensor);
  return sliced(l, dim, args[2], args[3], args[4]) ? make_view(a, l) : nullptr;
}

bool take_diagonal(Layout& l, PyObject* const* args) {
  Py_ssize_t offset;
  if (!index_argument(args[0], offset)) return false;
  const int d1 = dim_argument(args[1], l.ndim);
  const int d2 = d1 < 0 ? -1 : dim_argument(args[2], l.ndim);
  if (d2 < 0) return false;
  if (d1 == d2) {
    PyErr_Format(PyExc_RuntimeError, "diagonal dimensions cannot be identical %zd, %zd", PyNumber_AsSsize_t(args[1], nullptr),
                 PyNumber_AsSsize_t(args[2], nullptr));
    return false;
  }
  const Py_ssize_t rows = l.shape[d1], columns = l.shape[d2], stride = l.strides[d1] + l.strides[d2];
  const Py_ssize_t size = std::max<Py_ssize_t>(offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns),
                                               0);
  if (size) l.offset += offset >= 0 ? offset * l.strides[d2] : -offset * l.strides[d1];
  l.remove(std::max(d1, d2));
  l.remove(std::min(d1, d2));
  l.add(size, stride);
  return true;
}

// (tensor, offset, dim1, dim2)
PyObject* diagonal(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo a;
  if (!first_tensor("diagonal", args, n, 4, 4, a)) return no_tensor();
  Layout l(a.tensor);
  return take_diagonal(l, args + 1) ? make_view(a, l) : nullptr;
}

// (tensor, dimension, size, step): windows along a dimension, as a new last dimension
PyObject* unfold(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo a;
  Py_ssize_t size, step;
  if (!first_tensor("unfold", args, n, 4, 4, a)) return no_tensor();
  const int dim = dim_argument(args[1], a.ndim);
  if (dim < 0 || !index_argument(args[2], size) || !index_argument(args[3], step)) return nullptr;
  const Py_ssize_t longest = a.ndim ? a.shape[dim] : 1;
  const Py_ssize_t stride = a.ndim ? a.strides[dim] : a.tensor->item();
  if (size < 0) return fail(PyExc_RuntimeError, "size is " + std::to_string(size) + " but must be >= 0");
  if (size > longest) {
    return fail(PyExc_RuntimeError, "maximum size for tensor at dimension " + std::to_string(dim) + " is " +
                                        std::to_string(longest) + " but size is " + std::to_string(size));
  }
  if (step <= 0) return fail(PyExc_RuntimeError, "step is " + std::to_string(step) + " but must be > 0");
  if (!check_room(a.ndim)) return nullptr;
  Layout l(a.tensor);
  if (a.ndim) {
    l.shape[dim] = (longest - size) / step + 1;
    l.strides[dim] = times(stride, step);
  }
  l.add(size, stride);
  return make_view(a, l);
}

// (tensor) -> how many elements of its storage come before the first
PyObject* storage_offset(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo a;
  if (!first_tensor("storage_offset", args, n, 1, 1, a)) return no_tensor();
  return PyLong_FromSsize_t(a.tensor->offset() / a.tensor->item());
}

// (tensor, sizes, strides, offset): any view of the storage; strides and offset in elements, from the tensor's first one
PyObject* strided(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo a;
  Layout l;
  Py_ssize_t strides[kMaxDims], offset;
  int n_strides;
  if (!first_tensor("as_strided", args, n, 4, 5, a)) return no_tensor();
  if (!sizes_argument("as_strided", "size", args[1], l.shape, l.ndim) ||
      !sizes_argument("as_strided", "stride", args[2], strides, n_strides) || !index_argument(args[3], offset)) {
    return nullptr;
  }
  if (n_strides != l.ndim) return fail(PyExc_RuntimeError, "mismatch in length of strides and shape");
  const Py_ssize_t item = a.tensor->item(), far = PY_SSIZE_T_MAX / 128 / item;
  Py_ssize_t reach = 0;
  bool empty = false, overflow = false;
  for (int i = 0; i < l.ndim; ++i) {
    if (strides[i] < 0) {
      return fail(PyExc_RuntimeError,
                  "as_strided: Negative strides are not supported at the moment, got strides: " + sizes_text(strides, n_strides));
    }
    if (l.shape[i] < 0) {
      return fail(PyExc_RuntimeError, "Trying to create tensor with negative dimension " + std::to_string(l.shape[i]) + ": " +
                                          sizes_text(l.shape, l.ndim));
    }
    empty |= l.shape[i] == 0;
    if (l.shape[i] > 1 && strides[i] > far / l.shape[i]) overflow = true;
    else if (l.shape[i] > 1) reach += strides[i] * (l.shape[i] - 1);
    l.strides[i] = times(strides[i], item);
  }
  if (overflow || offset > far || offset < -far) {
    return fail(PyExc_RuntimeError, "Storage size calculation overflowed with sizes=" + sizes_text(l.shape, l.ndim) +
                                        " and strides=" + sizes_text(strides, n_strides));
  }
  const Py_ssize_t before = a.tensor->offset() / item, size = static_cast<Py_ssize_t>(a.tensor->storage()->nbytes);
  const Py_ssize_t first = before + offset;
  const Py_ssize_t needed = empty ? 0 : a.tensor->offset() + (offset + reach + 1) * item;
  if (first < 0) return fail(PyExc_RuntimeError, "Tensor: invalid storage offset " + std::to_string(first));
  if (needed > size) {
    return fail(PyExc_RuntimeError, "setStorage: sizes " + sizes_text(l.shape, l.ndim) + ", strides " +
                                        sizes_text(strides, n_strides) + ", storage offset " + std::to_string(first) +
                                        ", and itemsize " + std::to_string(item) + " requiring a storage size of " +
                                        std::to_string(needed) + " are out of bounds for storage of size " + std::to_string(size));
  }
  l.offset = offset * item;
  return make_view(a, l);
}

// (tensor, split_size or sizes, dim) -> the pieces, in order
PyObject* split(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo a;
  if (!first_tensor("split", args, n, 3, 3, a)) return no_tensor();
  const bool equal = PyIndex_Check(args[1]);
  if (a.ndim == 0) {
    return fail(PyExc_RuntimeError, std::string(equal ? "split" : "split_with_sizes") + " expects at least a 1-dimensional tensor");
  }
  Py_ssize_t each = 0;
  if (equal) {
    if (!index_argument(args[1], each)) return nullptr;
    if (each < 0) {
      return fail(PyExc_RuntimeError, "split expects split_size be non-negative, but got split_size=" + std::to_string(each));
    }
  }
  const int dim = dim_argument(args[2], a.ndim);
  if (dim < 0) return nullptr;
  const Py_ssize_t total = a.shape[dim];
  Py_ssize_t count;
  Ref sizes_given;
  std::vector<Py_ssize_t> sizes_read;
  if (equal) {
    if (each == 0 && total) {
      return fail(PyExc_RuntimeError,
                  "split_size can only be 0 if dimension size is 0, but got dimension size of " + std::to_string(total));
    }
    count = each && total ? (total - 1) / each + 1 : 1;
  } else {
    if (!PyTuple_Check(args[1]) && !PyList_Check(args[1])) {
      PyErr_Format(PyExc_TypeError, "split(): argument 'split_sizes' (position 1) must be tuple of ints, not %s",
                   Py_TYPE(args[1])->tp_name);
      return nullptr;
    }
    if (!(sizes_given = held_items(args[1], ""))) return nullptr;
    count = PyTuple_GET_SIZE(sizes_given.get());
    Py_ssize_t sum = 0;
    bool negative = false, wide = false;
    for (Py_ssize_t i = 0; i < count; ++i) {
      Py_ssize_t size;
      if (!index_argument(PyTuple_GET_ITEM(sizes_given.get(), i), size)) return nullptr;
      sizes_read.push_back(size);
      negative |= size < 0;
      wide |= __builtin_add_overflow(sum, size, &sum);
    }
    if (negative) {
      return fail(PyExc_RuntimeError, "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=" +
                                          sizes_text(sizes_read.data(), static_cast<int>(count)));
    }
    if (wide || sum != total) {
      return fail(PyExc_RuntimeError, "split_with_sizes expects split_sizes to sum exactly to " + std::to_string(total) +
                                          " (input tensor's size at dimension " + std::to_string(dim) +
                                          "), but got split_sizes=" + sizes_text(sizes_read.data(), static_cast<int>(count)));
    }
  }
  Ref pieces(PyTuple_New(count));
  if (!pieces || !look_again(a, dim, total)) return nullptr;
  Layout l(a.tensor);
  Py_ssize_t at = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Py_ssize_t size = equal ? std::min(each, total - at) : sizes_read[i];
    l.shape[dim] = size;
    l.offset = at * l.strides[dim];
    PyObject* piece = make_view(a, l);
    if (!piece) return nullptr;
    PyTuple_SET_ITEM(pieces.get(), i, piece);
    at += size;
  }
  return pieces.release();
}

// (tensor, dim) -> the slices along dim, without it
PyObject* unbind(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo a;
  if (!first_tensor("unbind", args, n, 2, 2, a)) return no_tensor();
  if (a.ndim == 0) return fail(PyExc_IndexError, "Dimension specified as 0 but tensor has no dimensions");
  const int dim = dim_argument(args[1], a.ndim);
  if (dim < 0) return nullptr;
  const Py_ssize_t count = a.shape[dim];
  Ref pieces(PyTuple_New(count));
  if (!pieces || !look_again(a, dim, count)) return nullptr;
  Layout l(a.tensor);
  const Py_ssize_t step = l.strides[dim];
  l.remove(dim);
  for (Py_ssize_t i = 0; i < count; ++i) {
    l.offset = i * step;
    PyObject* piece = make_view(a, l);
    if (!piece) return nullptr;
    PyTuple_SET_ITEM(pieces.get(), i, piece);
  }
  return pieces.release();
}

// ---- gradients of views

// Zeros of the given shape with `g` written where `place` finds the view in them.
template <class Place>
PyObject* scattered(const TensorInfo& g, PyObject* shape, const Place& place) {
  Layout l;
  if (!sizes_argument("backward", "shape", shape, l.shape, l.ndim)) return nullptr;
  Ref zeros = zeros_ref(g.dtype, l.ndim, l.shape, device_of(g));
  if (!zeros) return nullptr;
  const TensorInfo z = info_of(as_tensor(zeros));
  std::copy(z.strides, z.strides + z.ndim, l.strides);
  if (!place(l)) return nullptr;
  Ref target(make_view(z, l));
  if (!target || copy_into(as_tensor(target), g.tensor) < 0) return nullptr;
  return zeros.release();
}

// (g, shape, dim, index)
PyObject* select_backward(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo g;
  if (!first_tensor("select_backward", args, n, 4, 4, g)) return no_tensor();
  return scattered(g, args[1], [args](Layout& l) {
    Py_ssize_t index;
    const int dim = dim_argument(args[2], l.ndim);
    return dim >= 0 && index_argument(args[3], index) && selected(l, dim, index);
  });
}

// (g, shape, dim, start, end, step)
PyObject* slice_backward(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo g;
  if (!first_tensor("slice_backward", args, n, 6, 6, g)) return no_tensor();
  return scattered(g, args[1], [args](Layout& l) {
    const int dim = dim_argument(args[2], l.ndim);
    return dim >= 0 && sliced(l, dim, args[3], args[4], args[5]);
  });
}

// (g, shape, offset, dim1, dim2)
PyObject* diagonal_backward(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo g;
  if (!first_tensor("diagonal_backward", args, n, 5, 5, g)) return no_tensor();
  return scattered(g, args[1], [args](Layout& l) { return take_diagonal(l, args + 2); });
}

// `g`, the gradient of a reduction over `dim` (None or (): all), as a view of the shape that was reduced.
PyObject* spread_over(const TensorInfo& g, PyObject* shape, PyObject* dim, PyObject* keepdim, Py_ssize_t* reduced) {
  Layout l;
  uint64_t mask;
  bool keep;
  if (!sizes_argument("spread", "shape", shape, l.shape, l.ndim) || !dims_argument(dim, l.ndim, mask) ||
      !bool_argument(keepdim, keep)) {
    return nullptr;
  }
  if (!mask) mask = l.ndim >= 64 ? ~uint64_t{0} : (uint64_t{1} << l.ndim) - 1;
  int from = 0;
  Py_ssize_t count = 1;
  for (int i = 0; i < l.ndim; ++i) {
    const bool gone = mask >> i & 1;
    const bool there = !gone || keep;
    if (there && (from >= g.ndim || g.shape[from] != (gone ? 1 : l.shape[i]))) {
      return fail(PyExc_RuntimeError, "spread: " + shape_text(g) + " is no reduction of " + sizes_text(l.shape, l.ndim));
    }
    l.strides[i] = gone ? 0 : g.strides[from];
    if (gone) count *= l.shape[i];
    from += there;
  }
  if (from != g.ndim)
    return fail(PyExc_RuntimeError, "spread: " + shape_text(g) + " is no reduction of " + sizes_text(l.shape, l.ndim));
  if (reduced) *reduced = count;
  return make_view(g, l);
}

// (g, shape, dim, keepdim)
PyObject* spread(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo g;
  if (!first_tensor("spread", args, n, 4, 4, g)) return no_tensor();
  return spread_over(g, args[1], args[2], args[3], nullptr);
}

// (g, shape, dim, keepdim): spread(g / how many elements each mean has)
PyObject* mean_backward(PyObject*, PyObject* const* args, Py_ssize_t n) {
  TensorInfo g;
  if (!first_tensor("mean_backward", args, n, 4, 4, g)) return no_tensor();
  if (!g.is_float()) return not_implemented();
  Ref part(as_object(contiguous_copy(g.tensor)));
  if (!part) return nullptr;
  Py_ssize_t count;
  Ref result(spread_over(info_of(as_tensor(part)), args[1], args[2], args[3], &count));
  if (!result || is_meta(info_of(as_tensor(part)))) return result.release();
  const Py_ssize_t size = as_tensor(part)->numel();
  if (as_tensor(part)->dtype == DType::F32) {
    float* p = data_of<float>(part);
    for (Py_ssize_t i = 0; i < size; ++i) p[i] /= static_cast<float>(count);
  } else {
    double* p = data_of<double>(part);
    for (Py_ssize_t i = 0; i < size; ++i) p[i] /= static_cast<double>(count);
  }
  return result.release();
}

}  // namespace

PyMethodDef kViewMethods[] = {
    layout_kernel<transpose>("transpose", "transpose(a, dim0, dim1)"),
    layout_kernel<t>("t", "t(a)"),
    layout_kernel<permute<false>>("permute", "permute(a, dims)"),
    layout_kernel<permute<true>>("permute_back", "permute_back(g, dims): undoes permute"),
    layout_kernel<unsqueeze>("unsqueeze", "unsqueeze(a, dim)"),
    layout_kernel<squeeze>("squeeze", "squeeze(a, dim=None)"),
    layout_kernel<expand>("expand", "expand(a, sizes)"),
    layout_kernel<select>("select", "select(a, dim, index)"),
    layout_kernel<slice>("slice", "slice(a, dim, start, end, step)"),
    layout_kernel<diagonal>("diagonal", "diagonal(a, offset, dim1, dim2)"),
    layout_kernel<unfold>("unfold", "unfold(a, dim, size, step)"),
    layout_kernel<storage_offset>("storage_offset", "storage_offset(a), in elements"),
    layout_kernel<strided>("strided", "strided(a, sizes, strides, offset): in elements from a's first"),
    layout_kernel<split>("split", "split(a, size_or_sizes, dim)"),
    layout_kernel<unbind>("unbind", "unbind(a, dim)"),
    kernel<select_backward>("select_backward", "select_backward(g, shape, dim, index)"),
    kernel<slice_backward>("slice_backward", "slice_backward(g, shape, dim, start, end, step)"),
    kernel<diagonal_backward>("diagonal_backward", "diagonal_backward(g, shape, offset, dim1, dim2)"),
    layout_kernel<spread>("spread", "spread(g, shape, dim, keepdim): the gradient of a sum"),
    kernel<mean_backward>("mean_backward", "mean_backward(g, shape, dim, keepdim)"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace rushlight
