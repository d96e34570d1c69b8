"""Elements at the places of an index: reading, writing and adding there; masks.

Values for one place are written in the order of the index, whatever runs first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

from .... import _core
from ...._base.dtypes import bool as bool_type
from ...._base.dtypes import int32, int64
from ...._base.late import late
from ...._core import Tensor, kernels
from ...._devices.launch import (
    Ints,
    Tensors,
    Written,
    code,
    empty,
    layout,
    made,
    rows,
    start,
    takes,
    told,
)
from ...._devices.there import numbers_of, there
from ...layers import pooling
from ...layout.shape import common_shape
from ...layout.there.rearranging import copied, duplicate, filled, movable, wide, zeros
from ...table.arrays import cell
from .. import index_select as index_select_ops
from .. import scatter as scatter_ops
from .. import segments, subscript
from .. import take as take_ops

_N = numbers_of("indexing.cl")
_FILE = "indexing.cl"
MODES = {
    "set": _N.SET,
    "sum": _N.ADD,
    "mean": _N.ADD,
    "prod": _N.MULTIPLY,
    "amax": _N.LARGEST,
    "amin": _N.SMALLEST,
}
_FEW = 512  # work items that are too few to go along a long index
INTEGERS = (int64, int32)
NONE = -(1 << 62)  # an index that is meant to be outside
_views = _core.kernels


def _index(index: Tensor, like: Tensor) -> Tensor | None:
    """Contiguous 64-bit indices on the device of `like`; None where they are no indices."""
    if not isinstance(index, Tensor) or index.dtype not in INTEGERS:
        return None
    if index._accelerator != like._accelerator:
        device: Any = like._accelerator
        index = _core.copy_to(index, device)
    return rows(index, int64)


def _take(
    x: Tensor, index: Tensor, out: Tensor, x_rest: Ints, index_steps: Ints, dims: Ints
) -> Tensor:
    """Fill `out`: x_rest are strides of x and index_steps those of the index, along the result's
    dimensions; `dims` the dimensions of x that the index counts through."""
    sizes, along = [x.shape[d] for d in dims], [x.stride(d) for d in dims]
    shape, to = list(out.shape), list(out.stride())
    together = 16 // x.element_size()  # neighbours that are one element of 16 bytes
    if shape and (x_rest[-1], index_steps[-1], to[-1]) == (1, 0, 1):
        even = *x_rest[:-1], *along, *to[:-1], shape[-1], x.storage_offset(), out.storage_offset()
        together = 1 if any(n % together for n in even) else together
        shape[-1] //= together
        x_rest, to[-1] = (*x_rest[:-1], together), together
    else:
        together = 1
    layouts = (
        layout(x, shape, x_rest),
        layout(index, shape, index_steps),
        layout(out, shape, to),
        layout(x, sizes, along),
    )
    if None in layouts:
        return NotImplemented
    if out.numel():
        items = out.numel() // together
        given = prod(sizes), x.element_size() * together, items
        start(_FILE, "take", items, index, x, index, out, *layouts, *given, *told(x, "index"))
    return out


def _land(
    x: Tensor,
    index: Tensor,
    values: Tensor,
    mode: int,
    rest: Ints,
    steps: Sequence[Any],
    along: Sequence[Any],
    dims: Ints,
    left_out: int = -1,
) -> Tensor:
    """Write x. rest: the sizes that are not indexed; steps: the strides of x, the index and the
    values there; along: the sizes of the index, with its strides and those of the values; dims: the
    dimensions of x that the index counts through."""
    sizes, index_along, values_along = along
    size = prod([x.shape[d] for d in dims])
    layouts = (
        layout(x, rest, steps[0]),
        layout(index, rest, steps[1]),
        layout(values, rest, steps[2]),
        layout(values, sizes, values_along),
        layout(x, [x.shape[d] for d in dims], [x.stride(d) for d in dims]),
    )
    if None in layouts:
        return NotImplemented
    items, length = prod(rest), prod(sizes)
    if not items or not length or not size:
        return x
    x_rest, index_rest, values_rest, walk, places = layouts
    step = index_along[-1] if index_along else 1
    how = code(x), x.element_size(), mode
    like = index if mode == _N.SET else x
    if items >= _FEW or length <= _FEW or index.numel() >= 2**31:
        given = x, index, values, x_rest, index_rest, values_rest, walk, places
        numbers = step * 8, length, size, left_out, *how, items
        start(_FILE, "land", items, like, *given, *numbers, *told(x, "index"))
        return x
    grouped = int(index.numel() != length)
    inner = step if grouped else 1
    heads = (items if grouped else 1) * size
    first = filled(empty((heads,), x, int32), -1)
    after = empty((index.numel(),), x, int32)
    chained = size, left_out, length, inner, index.numel(), *told(x, "index")
    start(_FILE, "chain", index.numel(), index, index, first, after, *chained)
    start(_FILE, "order", heads, index, first, after, heads)
    listed = x, first, after, values, x_rest, values_rest, walk, places
    numbers = grouped, length, inner, size, *how, items * size
    start(_FILE, "land_lists", items * size, like, *listed, *numbers)
    return x


def _adds(x: Tensor, mode: int) -> bool:
    """Whether kernels write x in this way."""
    return mode == _N.SET or takes(x)


def _apart(values: Tensor, x: Tensor) -> Tensor:
    """The values, in other memory than x's."""
    if values.untyped_storage().data_ptr() != x.untyped_storage().data_ptr():
        return values
    return copied(empty(values.shape, values), values)


# ---- along one dimension


def is_dim(dim: int, ndim: int) -> bool:
    """Whether a tensor of `ndim` dimensions has that one; without any it counts as having one."""
    return type(dim) is int and -max(ndim, 1) <= dim < max(ndim, 1)


def flat(x: Tensor) -> Tensor:
    """With one dimension where there is none."""
    return x if x.dim() else _views.view(x, (1,))


@there(kernels.gather)
def gather(x: Any, dim: int, index: Any, sparse_grad: bool = False) -> Tensor:
    if sparse_grad and x.requires_grad and _core.is_grad_enabled():
        late.sparse_refusal("gather", x)
    if not movable(x):
        return NotImplemented
    if not index.numel():
        return empty(index.shape, x) if is_dim(dim, x.dim()) else NotImplemented
    index = _index(index, x)
    if index is None:
        return NotImplemented
    if not (x.dim() and index.dim()):
        fits = max(x.dim(), index.dim()) < 2
        found = gather(flat(x), dim, flat(index)) if fits else NotImplemented
        return found if found is NotImplemented else _views.view(found, tuple(index.shape))
    out = made("gather", x, dim, index)
    if not isinstance(out, Tensor):
        return out
    dim %= x.dim()
    x_rest = [0 if d == dim else x.stride(d) for d in range(x.dim())]
    return _take(x, index, out, x_rest, index.stride(), (dim,))


def scattered(x: Any, dim: int, index: Any, src: Tensor, mode: int) -> Written:
    """Write x; None where it is written."""
    if not movable(x, src) or not _adds(x, mode):
        return NotImplemented
    if not index.numel():
        same = src.dtype is x.dtype and is_dim(dim, x.dim())
        return None if same else NotImplemented
    index = _index(index, x)
    if index is None:
        return NotImplemented
    if not (x.dim() and index.dim()) and max(x.dim(), index.dim()) < 2:
        return scattered(flat(x), dim, flat(index), src, mode)
    said = made("scatter", x, dim, index, src, mode)
    if said is NotImplemented:
        return said
    dim, src = dim % x.dim(), _apart(src, x)
    others = [d for d in range(x.dim()) if d != dim]
    strides = src.stride() if src.dim() else [0] * x.dim()
    steps = [[s[d] for d in others] for s in (x.stride(), index.stride(), strides)]
    along = [index.shape[dim]], [index.stride(dim)], [strides[dim]]
    rest = [index.shape[d] for d in others]
    if len(others) and (index.numel() != prod(rest) * index.shape[dim]):
        return NotImplemented
    done = _land(x, index, src, mode, rest, steps, along, (dim,))
    return None if done is not NotImplemented else done


def _of_copy(write: Any, x: Tensor, *args: Any) -> Tensor:
    if not movable(x):
        return NotImplemented
    out = duplicate(x)
    return out if write(out, *args) is None else NotImplemented


there(kernels.scatter_set)(partial(scattered, mode=_N.SET))
there(kernels.scatter_add)(partial(scattered, mode=_N.ADD))
there(scatter_ops._scatter)(partial(_of_copy, partial(scattered, mode=_N.SET)))
there(scatter_ops.scatter_add)(partial(_of_copy, partial(scattered, mode=_N.ADD)))


@there(kernels.scatter)
def scatter(x: Any, dim: int, index: Any, src: Any, mode: int) -> Any:
    return scattered(x, dim, index, src, mode) if _N.SET <= mode <= _N.SMALLEST else NotImplemented


@there(kernels.gather_backward, takes="real, index: any")
def gather_backward(g: Tensor, dim: int, index: Tensor, shape: Ints) -> Tensor:
    out = zeros(shape, g)
    return out if scattered(out, dim, index, g, _N.ADD) is None else NotImplemented


def element(value: float, like: Tensor) -> Tensor:
    """A number as a tensor without dimensions, in the dtype of another."""

    if like.element_size() > 8:
        return NotImplemented
    bits = cell(value, like.dtype.numpy).tobytes()
    return filled(empty((), like), int.from_bytes(bits, "little", signed=True))


@there(scatter_ops._scatter_value, writes=True)
def _scatter_value_(x: Tensor, dim: int, index: Tensor, value: float) -> Written:
    if not movable(x):
        return NotImplemented
    number = element(value, x)
    return number if number is NotImplemented else scattered(x, dim, index, number, _N.SET)


@there(scatter_ops._scatter_value)
def _scatter_value(x: Tensor, dim: int, index: Tensor, value: float) -> Tensor:
    if not movable(x):
        return NotImplemented
    out = duplicate(x)
    return out if _scatter_value_(out, dim, index, value) is None else NotImplemented


@there(scatter_ops._scatter_zero)
def _scatter_zero(x: Tensor, dim: int, index: Tensor) -> Tensor:
    return _scatter_value(x, dim, index, 0)


@there(kernels.put_along)
def _put_along(g: Tensor, index: Tensor, shape: Ints, dim: int, keepdim: bool, add: bool) -> Tensor:
    if not movable(g) or not _adds(g, int(add)):
        return NotImplemented
    if not shape:
        return duplicate(g)
    if not keepdim:
        g, index = _views.unsqueeze(g, dim), _views.unsqueeze(index, dim)
    out = zeros(shape, g, wide(g) if add else None)
    if scattered(out, dim, index, rows(g, out.dtype), _N.ADD if add else _N.SET) is not None:
        return NotImplemented
    return rows(out, g.dtype)


@there(kernels.take_along)
def _take_along(x: Tensor, index: Tensor, dim: int, keepdim: bool, add: bool) -> Tensor:
    if not movable(x):
        return NotImplemented
    if not x.dim():
        return duplicate(x)
    if keepdim:
        return gather(x, dim, index)
    found = gather(x, dim, _views.unsqueeze(index, dim))
    return _views.select(found, dim, 0) if isinstance(found, Tensor) else found


# ---- at places of several dimensions


def _split(x: Tensor, dims: Ints, at: int) -> tuple[list[int], list[int]]:
    """The indexed dimensions, and those that are left."""
    indexed = [d % x.dim() for d in dims]
    return indexed, [d for d in range(x.dim()) if d not in indexed]


@there(kernels.index_get)
def index_get(x: Any, index: Any, dims: Ints, at: int) -> Tensor:
    if not movable(x):
        return NotImplemented
    index = _index(index, x)
    out = NotImplemented if index is None else made("index_get", x, index, dims, at)
    if not isinstance(out, Tensor):
        return out
    indexed, left = _split(x, dims, at)
    strides = [x.stride(d) for d in left]
    x_rest = [*strides[:at], *([0] * index.dim()), *strides[at:]]
    steps = [*([0] * at), *index.stride(), *([0] * (len(left) - at))]
    return _take(x, index, out, x_rest, steps, indexed)


def landed(
    x: Any, index: Any, dims: Ints, at: int, values: Tensor, mode: int, left_out: int = -1
) -> Written:
    """Write x at the places; None where it is written."""
    if not movable(x, values) or not _adds(x, mode):
        return NotImplemented
    index = _index(index, x)
    if index is None:
        return NotImplemented
    made("index_put", x, index, dims, at, values, mode == _N.ADD)
    indexed, left = _split(x, dims, at)
    rest = [x.shape[d] for d in left]
    shape = (*rest[:at], *index.shape, *rest[at:])
    values = _views.expand(_apart(values, x), shape)
    strides, n = values.stride(), index.dim()
    steps = [x.stride(d) for d in left], [0] * len(left), [*strides[:at], *strides[at + n :]]
    along = list(index.shape), [1], strides[at : at + n]
    done = _land(x, index, values, mode, rest, steps, along, indexed, left_out)
    return None if done is not NotImplemented else done


@there(kernels.index_put)
def index_put(
    x: Tensor, index: Tensor, dims: Ints, at: int, values: Tensor, accumulate: bool
) -> Written:
    return landed(x, index, dims, at, values, _N.ADD if accumulate else _N.SET)


@there(kernels.index_backward, takes="real, index: any")
def index_backward(g: Tensor, index: Tensor, dims: Ints, at: int, shape: Ints) -> Tensor:
    out = zeros(shape, g)
    return out if landed(out, index, dims, at, g, _N.ADD) is None else NotImplemented


@there(subscript.index_zero)
def _index_zero(x: Tensor, index: Tensor, dims: Ints, at: int) -> Tensor:
    if not movable(x):
        return NotImplemented
    out = duplicate(x)
    done = landed(out, index, dims, at, zeros((), x), _N.SET)
    return out if done is None else NotImplemented


@there(kernels.linear_index)
def linear_index(sizes: Ints, tensors: Sequence[Tensor], counts: Ints, check: bool) -> Tensor:
    like = next((t for t in tensors if t._accelerator is not None), None)
    indices = [] if like is None else [x for t in tensors if (x := _index(t, like)) is not None]
    if not indices or len(indices) < len(tensors):
        return NotImplemented
    out = made("linear_index", sizes, indices, counts, check)
    if not isinstance(out, Tensor) or not out.numel():
        return out
    for i, (size, index) in enumerate(zip(sizes, indices, strict=True)):
        seen = _views.expand(index, tuple(out.shape))
        places = layout(seen)
        if places is None:
            return NotImplemented
        given = index, out, places, size, int(not i), out.numel(), *told(out, "index")
        start(_FILE, "count_on", out.numel(), out, *given)
    return out


@there(kernels.index_select)
def index_select(x: Tensor, dim: int, index: Tensor) -> Tensor:
    if not movable(x) or index.dim() > 1 or not is_dim(dim, x.dim()):
        return NotImplemented
    if not x.dim():
        return duplicate(x) if index.numel() == 1 and index.dtype in INTEGERS else NotImplemented
    index = flat(index)
    return index_get(x, index, (dim % x.dim(),), dim % x.dim())


@there(kernels.index_add, takes="real, index: any")
def index_add(x: Any, dim: int, index: Any, source: Tensor, alpha: float) -> Written:
    if index.dtype not in INTEGERS:
        return NotImplemented
    index = _index(index, x)
    if index.dim() > 1 or x.dim() != source.dim():
        return NotImplemented
    x, index, source = flat(x), flat(index), flat(source)
    if made("index_add", x, dim, index, source, 1) is NotImplemented:
        return NotImplemented
    if alpha != 1:
        source = source * element(alpha, source)
    return landed(x, index, (dim % x.dim(),), dim % x.dim(), source, _N.ADD)


def _write_slices(x: Tensor, dim: int, index: Tensor, values: Tensor) -> Written:
    if not movable(x, values) or not is_dim(dim, x.dim()):
        return NotImplemented
    if not isinstance(index, Tensor) or index.dtype is not int64 or index.dim() > 1:
        return NotImplemented
    x, index = flat(x), flat(index)
    dim %= x.dim()
    return landed(x, index, (dim,), dim, values, _N.SET)


@there(kernels.index_copy)
@there(index_select_ops.index_copy, writes=True)
def index_copy_(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Written:
    if not movable(x, source) or source.dtype is not x.dtype or not isinstance(index, Tensor):
        return NotImplemented
    if not is_dim(dim, x.dim()):
        return NotImplemented
    x = flat(x)
    want = [index.numel() if d == dim % x.dim() else n for d, n in enumerate(x.shape)]
    fits = list(source.shape) == want if source.dim() else index.numel() == 1
    return _write_slices(x, dim, index, source) if fits else NotImplemented


@there(index_select_ops.index_copy)
def index_copy(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    if not movable(x):
        return NotImplemented
    out = duplicate(x)
    return out if index_copy_(out, dim, index, source) is None else NotImplemented


@there(kernels.index_fill)
@there(index_select_ops._index_fill_number, writes=True)
def _index_fill_number_(x: Tensor, dim: int, index: Tensor, value: float) -> Written:
    if not movable(x) or (isinstance(value, complex) and not x.dtype.is_complex):
        return NotImplemented
    number = element(value, x)
    return number if number is NotImplemented else _write_slices(x, dim, index, number)


@there(index_select_ops._index_fill_tensor, takes="real, index: any", writes=True)
def _index_fill_tensor_(x: Tensor, dim: int, index: Tensor, value: Tensor) -> Written:
    if value.dim():
        return NotImplemented
    return _write_slices(x, dim, index, rows(value, x.dtype))


there(index_select_ops._index_fill_number)(partial(_of_copy, _index_fill_number_))
there(index_select_ops._index_fill_tensor, takes="real, args: any")(
    partial(_of_copy, _index_fill_tensor_)
)


# ---- rows of a table


@there(kernels.embedding)
def embedding(weight: Tensor, indices: Tensor, padding: Any) -> Tensor:
    if not movable(weight) or weight.dim() != 2:
        return NotImplemented
    return index_get(weight, indices, (0,), 0)


@there(kernels.embedding_backward, takes="float, indices: any")
def embedding_backward(g: Tensor, indices: Tensor, padding: Any, n: int) -> Tensor:
    if tuple(g.shape[:-1]) != tuple(indices.shape):
        return NotImplemented
    out = zeros((n, g.shape[-1]), g, wide(g))
    left_out = -1 if padding is None else padding
    done = landed(out, indices, (0,), 0, rows(g, out.dtype), _N.ADD, left_out)
    return rows(out, g.dtype) if done is None else NotImplemented


# ---- all elements as one row


@there(take_ops.take, kernels.take)
def take(x: Tensor, index: Tensor) -> Tensor:
    if not movable(x) or index.dtype is not int64 or (index.numel() and not x.numel()):
        return NotImplemented
    return index_get(flat(x), index, tuple(range(max(x.dim(), 1))), 0)


@there(take_ops._take_backward)
def _take_backward(g: Tensor, index: Tensor, shape: Ints) -> Tensor:
    sizes = tuple(shape) or (1,)
    found = index_backward(g, index, tuple(range(len(sizes))), 0, sizes)
    return _views.view(found, tuple(shape)) if isinstance(found, Tensor) else found


@there(take_ops.put, writes=True)
def put_(x: Tensor, index: Tensor, source: Tensor, accumulate: bool) -> Written:
    if not movable(x, source) or index.dtype is not int64 or x.dtype is not source.dtype:
        return NotImplemented
    if index.numel() != source.numel() or (index.numel() and not x.numel()):
        return NotImplemented
    values, dims = _views.view(rows(source), (source.numel(),)), range(max(x.dim(), 1))
    places = _views.reshape(rows(index), (index.numel(),))
    return landed(flat(x), places, tuple(dims), 0, values, _N.ADD if accumulate else _N.SET)


there(take_ops.put)(partial(_of_copy, put_))


# ---- masks


def _filled_places(x: Tensor) -> Tensor:
    """Where elements are not zero, counted row by row. The host waits for how many there are."""
    n = x.numel()
    if not n:
        return empty((0,), x, int64)
    chunks = -(-n // _N.CHUNK)
    x, counts = rows(x), empty((chunks + 1,), x, int64)
    given = code(x), x.element_size(), n
    start(_FILE, "count_filled", chunks, counts, x, counts, *given)
    start(_FILE, "add_up", 1, counts, counts, chunks)
    total = int(_core.copy_to(_views.select(counts, 0, chunks), -1).item())
    out = empty((total,), x, int64)
    if total:
        start(_FILE, "list_filled", chunks, counts, x, counts, out, *given)
    return out


def _column(places: Tensor, shape: Ints, d: int, out: Tensor, first: int = 0) -> None:
    """The numbers in a dimension of places counted row by row, from `first` of `out` on."""
    if places.numel():
        given = prod(shape[d + 1 :]), shape[d], first, places.numel()
        start(_FILE, "number_in", places.numel(), places, places, out, *given)


@there(kernels.nonzero, takes="real")
def nonzero(x: Any) -> Tensor:
    places, shape = _filled_places(x), tuple(x.shape)
    sizes, strides = (places.numel(), len(shape)), (1, places.numel())
    out = _core.empty_accelerated(x._accelerator, sizes, int64.code, strides)
    for d in range(len(shape)):
        _column(places, shape, d, out, d * places.numel())
    return out


@there(segments.nonzero_static, takes="real")
def nonzero_static(x: Tensor, size: int, fill_value: int) -> Tensor:
    if size < 0:
        return NotImplemented
    out = filled(empty((size, x.dim()), x, int64), fill_value)
    if size and x.dim():
        found = nonzero(x)
        n = min(size, found.shape[0])
        copied(_views.slice(out, 0, 0, n, 1), _views.slice(found, 0, 0, n, 1))
    return out


@there(kernels.nonzero_columns, takes="real")
def _nonzero_columns(x: Tensor) -> Tensors:
    shape = tuple(x.shape) or (1,)
    places = _filled_places(x)
    found = tuple([empty((places.numel(),), x, int64) for _ in shape])
    for d, out in enumerate(found):
        _column(places, shape, d, out)
    return found


def _mask(mask: Tensor, shape: Ints) -> Tensor | None:
    """The places where a mask holds that is spread to a shape."""
    return _filled_places(_views.expand(mask, tuple(shape)))


@there(kernels.masked_select)
def masked_select(x: Tensor, mask: Any) -> Tensor:
    if not movable(x, mask) or mask.dtype is not bool_type:
        return NotImplemented
    shape = common_shape([mask.shape, x.shape]) or (1,)
    seen = _views.expand(x, shape)
    return index_get(seen, _mask(mask, shape), tuple(range(len(shape))), 0)


@there(kernels.masked_select_backward)
def _masked_select_backward(g: Any, mask: Any, shape: Ints) -> Tensor:
    if not movable(g, mask) or mask.dtype is not bool_type:
        return NotImplemented
    shape = common_shape([mask.shape, shape])
    out = zeros(shape, g)
    sizes = shape or (1,)
    dims = tuple(range(len(sizes)))
    done = landed(flat(out), _mask(mask, sizes), dims, 0, g, _N.SET)
    return out if done is None else NotImplemented


@there(take_ops.masked_scatter, writes=True)
def masked_scatter_(x: Tensor, mask: Tensor, source: Tensor) -> Written:
    if not movable(x, mask, source) or mask.dtype is not bool_type or source.dtype is not x.dtype:
        return NotImplemented
    if common_shape([mask.shape, x.shape]) != tuple(x.shape):
        return NotImplemented
    seen = flat(x)
    places: Any = _mask(mask, seen.shape)
    n = places.numel()
    if source.numel() < n:
        return NotImplemented
    values = _views.slice(_views.view(rows(source), (source.numel(),)), 0, 0, n, 1)
    return landed(seen, places, tuple(range(seen.dim())), 0, values, _N.SET)


@there(take_ops.masked_scatter, kernels.masked_scatter)
def masked_scatter(x: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    if not movable(x, mask):
        return NotImplemented
    out = empty(common_shape([mask.shape, x.shape]), x)
    copied(out, x)
    return out if masked_scatter_(out, mask, source) is None else NotImplemented


# ---- planes of pooling


def _planes(x: Tensor, n: int) -> Tensor:
    """x with a row for each plane of its last n dimensions."""
    size = prod(x.shape[-n:])
    return _views.view(rows(x), (prod(x.shape[:-n]), size))


@there(pooling._pool_gather)
def _pool_gather(x: Tensor, indices: Tensor, n: int) -> Tensor:
    if not movable(x, indices):
        return NotImplemented
    found = gather(_planes(x, n), 1, _planes(indices, n))
    return _views.view(found, tuple(indices.shape)) if isinstance(found, Tensor) else found


@there(pooling._pool_unpool)
def _pool_unpool(x: Tensor, indices: Tensor, shape: Ints, n: int) -> Tensor:
    if not movable(x, indices):
        return NotImplemented
    out = zeros(shape, x)
    done = scattered(_planes(out, n), 1, _planes(indices, n), _planes(x, n), _N.SET)
    return out if done is None else NotImplemented
