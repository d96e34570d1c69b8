// Functions that are calls of other ops, whose arguments are worked out here: a statement names one of these by `composed`
// (ops/table/kinds.py). The ops make the views and their nodes, and answer for tensors that stand for others, as after a program's call.
#include <cstdlib>
#include <memory>

#include "bindings/kernel.h"
#include "core/callbacks.h"
#include "core/op.h"

namespace rushlight {
namespace {

PyObject* slot(PyObject* o) { return o; }
PyObject* slot(const Ref& r) { return r.get(); }
PyObject* slot(const TensorInfo& a) { return as_object(a.tensor); }

// A call of an op as the library's own Python makes it. It may run a program's code: what an argument's layout says must be read
// before.
template <class... A>
Ref called(const Callback& callback, const A&... args) {
  PyObject* op = callback.get();
  PyObject* slots[] = {nullptr, slot(args)...};
  return owned(op ? PyObject_Vectorcall(op, slots + 1, sizeof...(A) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr) : nullptr);
}

Ref number(Py_ssize_t n) { return owned(PyLong_FromSsize_t(n)); }
Ref sizes_ref(const Py_ssize_t* sizes, int n) {
  Ref tuple = owned(PyTuple_New(n));
  for (int i = 0; i < n; ++i) PyTuple_SET_ITEM(tuple.get(), i, number(sizes[i]).release());
  return tuple;
}

// ---- another order

// Dimensions of `a`, each named once.
bool different_dims(const TensorInfo& a, const Sizes& given, const char* what, uint64_t& mask) {
  mask = 0;
  for (int i = 0; i < given.n; ++i) {
    const uint64_t bit = uint64_t{1} << normal_dim(given.at[i], a.ndim);
    if (mask & bit)
      return fail(PyExc_RuntimeError,
                  std::string("movedim: repeated dim in `") + what + "` (" + sizes_text(given.at, given.n) + ")");
    mask |= bit;
  }
  return true;
}

Ref movedim(const TensorInfo& a, const Sizes& source, const Sizes& destination) {
  if (source.n != destination.n)
    return fail(PyExc_RuntimeError, "movedim: Invalid source or destination dims: source (" + sizes_text(source.at, source.n) +
                                        " dims) should contain the same number of dims as destination (" +
                                        sizes_text(destination.at, destination.n) + " dims)");
  for (const Sizes* dims : {&source, &destination}) {
    for (int i = 0; i < dims->n; ++i) {
      if (normal_dim(dims->at[i], a.ndim) < 0) return {};
    }
  }
  uint64_t from, to;
  if (!different_dims(a, source, "source", from) || !different_dims(a, destination, "destination", to)) return {};
  if (a.ndim == 0) return called(callbacks.alias, a);
  Py_ssize_t order[kMaxDims];
  for (int i = 0; i < source.n; ++i) order[normal_dim(destination.at[i], a.ndim)] = normal_dim(source.at[i], a.ndim);
  for (int i = 0, rest = 0; i < a.ndim; ++i) {
    if (to >> i & 1) continue;
    while (from >> rest & 1) ++rest;
    order[i] = rest++;
  }
  return called(callbacks.permute, a, sizes_ref(order, a.ndim));
}

// ---- another place

PyObject* const kMemoryFormat = PyUnicode_InternFromString("memory_format");

Ref contiguous_in(const TensorInfo& a, Any format) {
  const bool plain = format == callbacks.contiguous_format.get();
  const int rank = plain ? 0 : rank_of_format(format);
  if (rank < 0) return {};
  if (rank ? a.ndim == rank && is_channels_last(a.tensor) : a.tensor->is_contiguous()) return Ref::borrow(as_object(a.tensor));
  if (rank && a.ndim != rank)
    return fail(PyExc_RuntimeError, "required rank %d tensor to use channels_last%s format. This one has %d dimensions.", rank,
                rank == 5 ? "_3d" : "", a.ndim);
  if (!rank && !plain) return fail(PyExc_RuntimeError, "preserve memory format is unsupported by the contiguous operator");
  if (!rank) return called(callbacks.contiguous_copy, a);
  PyObject* slots[] = {as_object(a.tensor), format};
  const Ref names = tuple_of(Ref::borrow(kMemoryFormat));
  PyObject* clone = callbacks.clone.get();
  return owned(clone ? PyObject_Vectorcall(clone, slots, 1, names.get()) : nullptr);
}

// ---- another shape

Ref reshape(const TensorInfo& seen, const Sizes& shape) {
  const Ref given = sizes_ref(shape.at, shape.n);
  const TensorInfo a = info_of(seen.tensor);
  if (a.tensor->is_contiguous()) return called(callbacks.view, a, given);
  Layout l(shape.at, shape.n);
  if (!infer_size(l.shape, l.ndim, a.size())) return {};
  if (view_strides(a, l)) return called(callbacks.reshape_alias, a, given);
  return called(callbacks.unsafe_view, called(callbacks.contiguous_copy, a), given);
}

Ref flatten(const TensorInfo& a, Dim first, Dim last) {
  if (first > last) return fail(PyExc_RuntimeError, "flatten() has invalid args: start_dim cannot come after end_dim");
  if (a.ndim && first == last) return Ref::borrow(as_object(a.tensor));
  Sizes shape;
  shape.n = 0;
  Py_ssize_t size = 1;
  for (int i = 0; i < a.ndim; ++i) {
    if (i < first || i > last) shape.at[shape.n++] = a.shape[i];
    else size *= a.shape[i];
    if (i == last) shape.at[shape.n++] = size;
  }
  if (!a.ndim) shape.at[shape.n++] = 1;
  return reshape(a, shape);
}

Ref ravel(const TensorInfo& a) {
  const Py_ssize_t all = a.size();
  const Ref rows = a.tensor->is_contiguous() ? Ref::borrow(as_object(a.tensor)) : called(callbacks.contiguous_copy, a);
  return called(callbacks.view, rows, sizes_ref(&all, 1));
}

Ref unflatten(const TensorInfo& a, Dim dim, const Sizes& sizes) {
  if (!a.ndim) return fail(PyExc_IndexError, "Dimension specified as 0 but tensor has no dimensions");
  if (!sizes.n) return fail(PyExc_RuntimeError, "unflatten: sizes must be non-empty");
  const Py_ssize_t size = a.shape[dim];
  Py_ssize_t known = 1, shape[2 * kMaxDims];
  int unknown = 0, n = 0;
  bool wide = false;
  for (int i = 0; i < sizes.n; ++i) {
    if (sizes.at[i] == -1) ++unknown;
    else wide |= __builtin_mul_overflow(known, sizes.at[i], &known);
  }
  const bool fits = !wide && (unknown ? unknown == 1 && known && size % known == 0 : known == size);
  if (!fits && unknown > 1)
    return fail(PyExc_RuntimeError, "unflatten got an unexpected error:\nonly one dimension can be inferred");
  if (!fits)
    return fail(PyExc_RuntimeError, "unflatten: Provided sizes " + sizes_text(sizes.at, sizes.n) +
                                        " don't multiply up to the size of dim " + std::to_string(dim) + " (" +
                                        std::to_string(size) + ") in the input tensor");
  for (int i = 0; i < dim; ++i) shape[n++] = a.shape[i];
  for (int i = 0; i < sizes.n; ++i) shape[n++] = sizes.at[i] == -1 ? size / known : sizes.at[i];
  for (int i = dim + 1; i < a.ndim; ++i) shape[n++] = a.shape[i];
  return called(callbacks.view, a, sizes_ref(shape, n));
}

// ---- complex numbers

Ref part(const TensorInfo& a, bool negative, Py_ssize_t which) {
  const bool conjugate = a.tensor->flags & kConjBit;
  Ref pairs = conjugate ? called(callbacks.view_as_real, called(callbacks.conj_view, a)) : called(callbacks.view_as_real, a);
  if (conjugate && negative) pairs = called(callbacks.neg_view, pairs);
  return called(callbacks.select, pairs, number(-1), number(which));
}

Ref real(const TensorInfo& a) { return is_complex(a.dtype) ? part(a, false, 0) : Ref::borrow(as_object(a.tensor)); }

Ref imag(const TensorInfo& a) {
  if (!is_complex(a.dtype)) return fail(PyExc_RuntimeError, "imag is not implemented for tensors with non-complex dtypes.");
  return part(a, true, 1);
}

// The tensor itself, or a copy where a bit says that its values were put off.
template <uint32_t kBit>
Ref resolved(const TensorInfo& a) {
  if (!(a.tensor->flags & kBit)) return Ref::borrow(as_object(a.tensor));
  return called(callbacks.clone, a);
}

// ---- parts

// Where `count` pieces of a dimension end, whose sizes differ by at most one.
struct Even {
  Py_ssize_t size, count;
  Py_ssize_t operator[](Py_ssize_t i) const { return (i + 1) * (size / count) + std::min(i + 1, size % count); }
};

template <class Ends>
Tensors cut(const TensorInfo& a, int dim, Py_ssize_t count, const Ends& ends) {
  Ref pieces = owned(PyTuple_New(count));
  const Ref along = number(dim), step = number(1);
  Ref start = number(0);
  for (Py_ssize_t i = 0; i < count; ++i) {
    Ref end = number(ends[i]);
    PyTuple_SET_ITEM(pieces.get(), i, called(callbacks.slice, a, along, start, end, step).release());
    start = std::move(end);
  }
  return pieces;
}

// torch's error where there is no memory for so many tensors; without setting out to make them.
bool room_for(Py_ssize_t count) {
  if (count >> 20 == 0) return true;
  const std::unique_ptr<void, decltype(&std::free)> room(
      count > PY_SSIZE_T_MAX / 256 ? nullptr : std::malloc(static_cast<size_t>(count) * 256), &std::free);
  return room || fail(PyExc_RuntimeError, "std::bad_alloc. There is no room for " + std::to_string(count) + " tensors in memory.");
}

Tensors split_at(const TensorInfo& a, PyObject* cuts, int dim) {
  const Py_ssize_t size = a.shape[dim];
  if (!is_list(cuts)) {
    Py_ssize_t count;
    if (PyBool_Check(cuts)) return fail(PyExc_TypeError, "a number of sections is no bool");
    if (!index_argument(cuts, count)) return {};
    if (count <= 0) return fail(PyExc_RuntimeError, "number of sections must be larger than 0, got %zd", count);
    if (!room_for(count)) return {};
    return cut(a, dim, count, Even{size, count});
  }
  const Ref items = held_items(cuts, "");
  std::vector<Py_ssize_t> ends;
  for (Py_ssize_t i = 0; items && i < PyTuple_GET_SIZE(items.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(items.get(), i);
    if (i && !PyIndex_Check(item)) return raise_unpack("tensor_split", "indices", i, item), Tensors();
    if (!index_argument(item, ends.emplace_back())) return {};
  }
  if (!items) return {};
  ends.push_back(size);
  return cut(a, dim, static_cast<Py_ssize_t>(ends.size()), ends);
}

Tensors tensor_split(const TensorInfo& a, Any cuts, Any along) {
  if (!a.ndim)
    return fail(PyExc_RuntimeError, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
  const int dim = dim_argument(along, a.ndim);
  if (dim < 0) return {};
  if (!is_tensor(cuts)) return split_at(a, cuts, dim);
  const TensorInfo places = info_of(as_tensor(cuts.object));
  if (places.dtype != DType::I64)
    return fail(PyExc_RuntimeError, "tensor_split expected tensor_indices_or_sections to have dtype of long, but got %s",
                scalar_name(places.dtype));
  if (places.ndim > 1)
    return fail(PyExc_RuntimeError,
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got a "
                "tensor with %d dims",
                places.ndim);
  const Ref numbers = owned(PyObject_CallMethod(cuts, "tolist", nullptr));
  return split_at(a, numbers.get(), dim);
}

// hsplit, vsplit and dsplit.
template <Text kName, int kLeast>
Tensors split_evenly(const TensorInfo& a, Any cuts) {
  if (a.ndim < kLeast)
    return fail(PyExc_RuntimeError, "torch.%s requires a tensor with at least %d dimension, but got a tensor with %d dimensions!",
                kName.chars, kLeast, a.ndim);
  const int dim = kLeast == 1 ? a.ndim > 1 : kLeast == 2 ? 0 : 2;
  Py_ssize_t count;
  if (!is_list(cuts)) {
    if (!index_argument(cuts, count)) return {};
    if (count == 0 || (count != -1 && a.shape[dim] % count))
      return fail(PyExc_RuntimeError,
                  "torch.%s attempted to split along dimension %d, but the size of the dimension %zd is not divisible by the "
                  "split_size %zd!",
                  kName.chars, dim, a.shape[dim], count);
  }
  return split_at(a, cuts, dim);
}

// ---- joined

// With at least so many dimensions.
Ref at_least(const TensorInfo& a, Py_ssize_t ndim) {
  const Py_ssize_t ones[] = {1, 1, 1};
  if (a.ndim == 0) return called(callbacks.view, a, sizes_ref(ones, static_cast<int>(ndim)));
  Ref made = Ref::borrow(as_object(a.tensor));
  if (ndim >= 2 && a.ndim == 1) made = called(callbacks.unsqueeze, made, number(0));
  return ndim == 3 && a.ndim < 3 ? called(callbacks.unsqueeze, made, number(-1)) : std::move(made);
}

// hstack, vstack and dstack: at least so many dimensions each, joined along the last of these; vstack along the first.
template <Text kName, int kLeast>
Ref stacked(Given<"Sequence[Tensor]"> tensors) {
  const Py_ssize_t count = PyTuple_GET_SIZE(tensors.object);
  if (!count) return fail(PyExc_RuntimeError, "%s expects a non-empty TensorList", kName.chars);
  Ref pieces = owned(PyTuple_New(count));
  const auto piece = [&](Py_ssize_t i) { return info_of(as_tensor(PyTuple_GET_ITEM(tensors.object, i))); };
  const int dim = kLeast == 1 ? piece(0).ndim > 1 : kLeast == 3 ? 2 : 0;
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(pieces.get(), i, at_least(piece(i), kLeast).release());
  return called(callbacks.cat, pieces, number(dim));
}

Ref column_stack(Given<"Sequence[Tensor]"> tensors) {
  const Py_ssize_t count = PyTuple_GET_SIZE(tensors.object);
  if (!count) return fail(PyExc_RuntimeError, "column_stack expects a non-empty TensorList");
  Ref pieces = owned(PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    const TensorInfo a = info_of(as_tensor(PyTuple_GET_ITEM(tensors.object, i)));
    const Py_ssize_t column[] = {a.size(), 1};
    Ref piece = a.ndim < 2 ? called(callbacks.view, a, sizes_ref(column, 2)) : Ref::borrow(as_object(a.tensor));
    PyTuple_SET_ITEM(pieces.get(), i, piece.release());
  }
  return called(callbacks.cat, pieces, number(1));
}

// Each entry of a dimension so many times in a row.
Ref repeat_each(const TensorInfo& a, Py_ssize_t count, Dim dim) {
  Layout wide(a.tensor), whole(a.tensor);
  whole.shape[dim] = times(whole.shape[dim], count);  // where that is too much for 64 bits, there is no memory for the copy
  check_room(a.ndim);
  wide.ndim = 0;
  for (int i = 0; i < whole.ndim; ++i) {
    wide.add(a.shape[i], 0);
    if (i == dim) wide.add(count, 0);
  }
  const Ref seen = called(callbacks.expand, called(callbacks.unsqueeze, a, number(dim + 1)), sizes_ref(wide.shape, wide.ndim));
  return called(callbacks.view, called(callbacks.contiguous_copy, seen), sizes_ref(whole.shape, whole.ndim));
}

// Vectors as grids, each expanded along the others' dimensions.
Tensors meshgrid(Given<"Sequence[Tensor]"> given, Any indexing) {
  const Ref tensors = held_items(given, "meshgrid expects tensors");
  if (!tensors) return {};
  const int count = static_cast<int>(PyTuple_GET_SIZE(tensors.get()));
  if (!count) return fail(PyExc_RuntimeError, "meshgrid expects a non-empty TensorList");
  const auto item = [&](int i) { return PyTuple_GET_ITEM(tensors.get(), i); };
  for (int i = 0; i < count; ++i) {
    if (!is_tensor(item(i)))
      return fail(PyExc_TypeError, "expected Tensor as element %d in argument 0, but got %s", i, Py_TYPE(item(i))->tp_name);
  }
  const Tensor* first = as_tensor(item(0));
  for (int i = 1; i < count; ++i) {
    if (as_tensor(item(i))->device() != first->device())
      return fail(PyExc_RuntimeError, "meshgrid expects all tensors to have the same device");
  }
  for (int i = 0; i < count; ++i) {
    if (as_tensor(item(i))->ndim() <= 1) continue;
    PyErr_Format(PyExc_RuntimeError, "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: %S", item(i));
    return {};
  }
  for (int i = 1; i < count; ++i) {
    if (as_tensor(item(i))->dtype != first->dtype)
      return fail(PyExc_RuntimeError, "meshgrid expects all tensors to have the same dtype");
  }
  if (indexing.object == Py_None &&
      warn_program("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.") < 0)
    return {};
  const auto is = [&](const char* text) { return PyUnicode_Check(indexing) && !PyUnicode_CompareWithASCIIString(indexing, text); };
  if (indexing.object != Py_None && !is("ij") && !is("xy")) {
    PyErr_Format(PyExc_RuntimeError, "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: %S", indexing.object);
    return {};
  }
  check_room(count - 1);
  Py_ssize_t shape[kMaxDims];
  const auto place = [&](int i) { return is("xy") && count > 1 && i < 2 ? 1 - i : i; };  // of a vector among the dimensions
  for (int i = 0; i < count; ++i) shape[place(i)] = as_tensor(item(i))->numel();
  const Ref whole = sizes_ref(shape, count);
  Ref grids = owned(PyTuple_New(count));
  for (int i = 0; i < count; ++i) {
    Py_ssize_t sizes[kMaxDims];
    std::fill_n(sizes, count, 1);
    sizes[place(i)] = shape[place(i)];
    const Ref seen = called(callbacks.view, Ref::borrow(item(i)), sizes_ref(sizes, count));
    PyTuple_SET_ITEM(grids.get(), i, called(callbacks.expand, seen, whole).release());
  }
  return grids;
}

// ---- computed

Ref sum_to_size(const TensorInfo& a, const Sizes& shape) {
  const int lead = a.ndim - shape.n;
  Py_ssize_t dims[kMaxDims];
  int n = 0;
  bool fits = lead >= 0;
  for (int i = 0; i < a.ndim && fits; ++i) {
    const Py_ssize_t size = i < lead ? 1 : shape.at[i - lead];
    fits = i < lead || size == 1 || size == a.shape[i];
    if (i < lead || size != a.shape[i]) dims[n++] = i;
  }
  if (!fits)
    return fail(PyExc_RuntimeError,
                "size {" + sizes_text(shape.at, shape.n) + "} is not expandable to size {" + shape_text(a) + "}.");
  if (!shape.n) return called(callbacks.sum, a);  // of one number too: integers become int64
  if (!n) return Ref::borrow(as_object(a.tensor));
  Ref total = called(callbacks.sum, a, sizes_ref(dims, n), Py_True);
  return lead ? called(callbacks.view, total, sizes_ref(shape.at, shape.n)) : std::move(total);
}

// Whether the other sizes of what is put before or after are those of `a`.
bool continues(const TensorInfo& a, const TensorOrNone& more, int dim) {
  if (!more.tensor) return true;
  if (more.ndim != a.ndim) return fail(PyExc_RuntimeError, "diff expects prepend or append to be the same dimension as input");
  for (int i = 0; i < a.ndim; ++i) {
    if (i != dim && more.shape[i] != a.shape[i])
      return fail(PyExc_RuntimeError,
                  "diff expects the shape of tensor to prepend or append to match that of input except along the differencing "
                  "dimension; input.size(%d) = %zd, but got tensor.size(%d) = %zd",
                  i, a.shape[i], i, more.shape[i]);
  }
  return true;
}

Ref diff(const TensorInfo& a, Py_ssize_t n, Any along, const TensorOrNone& before, const TensorOrNone& after) {
  if (!a.ndim) return fail(PyExc_RuntimeError, "diff expects input to be at least one-dimensional");
  if (n < 0) return fail(PyExc_RuntimeError, "order must be non-negative but got %zd", n);
  const int dim = dim_argument(along, a.ndim);
  if (dim < 0 || !continues(a, before, dim) || !continues(a, after, dim)) return {};
  Ref x = Ref::borrow(as_object(a.tensor));
  if (n == 0) {  // as PyTorch: nothing is put before or after then
    const Ref zeros = called(callbacks.zeros_like, a);
    return owned(PyObject_CallMethod(zeros.get(), "copy_", "O", x.get()));
  }
  const Ref d = number(dim), one = number(1), none = number(0);
  if (before.tensor || after.tensor) {
    Ref parts = before.tensor ? tuple_of(Ref::borrow(as_object(before.tensor)), x) : tuple_of(x);
    if (after.tensor) parts = owned(PySequence_Concat(parts.get(), tuple_of(Ref::borrow(as_object(after.tensor))).get()));
    x = called(callbacks.cat, parts, d);
  }
  Py_ssize_t size = as_tensor(x)->size(dim);
  for (n = std::min(n, size); n > 0; --n, --size) {  // then nothing is left
    const Ref end = number(size), low_end = number(size - 1);
    const Ref high = called(callbacks.slice, x, d, one, end, one), low = called(callbacks.slice, x, d, none, low_end, one);
    x = called(as_tensor(x)->dtype == DType::Bool ? callbacks.logical_xor : callbacks.sub, high, low);
  }
  return x;
}

const KernelRows rows{
    layout_kernel<contiguous_in, "contiguous(a, memory_format)">(),
    layout_kernel<movedim, "movedim(a, source, destination)">(),
    layout_kernel<reshape, "composed_reshape(a, shape)">(),
    layout_kernel<flatten, "flatten(a, start_dim, end_dim)">(),
    layout_kernel<ravel, "ravel(a)">(),
    layout_kernel<unflatten, "unflatten(a, dim, sizes)">(),
    layout_kernel<real, "real(a)">(),
    layout_kernel<imag, "imag(a)">(),
    layout_kernel<resolved<kConjBit>, "resolve_conj(a)">(),
    layout_kernel<resolved<kNegBit>, "resolve_neg(a)">(),
    layout_kernel<at_least, "at_least(a, ndim)">(),
    layout_kernel<stacked<"hstack", 1>, "hstack(tensors)">(),
    layout_kernel<stacked<"vstack", 2>, "vstack(tensors)">(),
    layout_kernel<stacked<"row_stack", 2>, "row_stack(tensors)">(),
    layout_kernel<stacked<"dstack", 3>, "dstack(tensors)">(),
    layout_kernel<column_stack, "column_stack(tensors)">(),
    layout_kernel<meshgrid, "meshgrid(tensors, indexing=None)">(),
    layout_kernel<repeat_each, "repeat_each(a, count, dim)">(),
    layout_kernel<sum_to_size, "sum_to_size(a, shape)">(),
    layout_kernel<diff, "diff(a, n, dim, prepend=None, append=None)">(),
    layout_kernel<tensor_split, "tensor_split(a, sections, dim)">(),
    layout_kernel<split_evenly<"hsplit", 1>, "hsplit(a, sections)">(),
    layout_kernel<split_evenly<"vsplit", 2>, "vsplit(a, sections)">(),
    layout_kernel<split_evenly<"dsplit", 3>, "dsplit(a, sections)">(),
};

}  // namespace
}  // namespace rushlight
