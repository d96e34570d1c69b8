"""vmap: rules of views, joins and rearrangements; their dimensions are one further behind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import _core
from ..._core import Op, Tensor
from ..._levels.batching import all_batched, batched, batching, inner, padded, wrap_all
from ..._levels.batching_dims import DIMS, shifted_dim
from ..indexing.scatter import _gather_backward
from ..layers.padding import constant_pad_nd
from ..making.copies import alias
from ..making.creation import zeros
from .joining import cat, stack, unbind
from .rearrange import _block_diag as block_diag
from .rearrange import repeat, roll
from .shape import _reshape_alias, _squeeze_dims, expand, sum_to, unsafe_view, unsqueeze, view
from .shape import _squeeze as squeeze
from .slices import (
    _select_backward,
    diagonal,
    diagonal_backward,
    select,
    slice_backward,
    unfold_backward,
)
from .strided import (
    _Place,
    _squeeze_in_place,
    _strided_backward,
    _strided_gather,
    _strided_scatter,
    _strided_zeroed,
    _t_in_place,
    _unsqueeze_in_place,
    strided_view,
)
from .strided import _set_away as set_away
from .transposes import _permute_back, permute, t

if TYPE_CHECKING:
    from ..._levels.batch import BatchLevel

__all__: list[str] = []

_call = _core.call_op


@batching(_gather_backward, slice_backward, _select_backward, unfold_backward)
def _into_zeros(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    """Ops that write into zeros of a shape: their dimensions are those of the shape."""
    values = all_batched(args, level)
    n = len(args[op.params.index("shape")])
    for i, name in enumerate(op.params):
        if name in DIMS:
            values[i] = shifted_dim(args[i], n)
        elif name == "shape":
            values[i] = (level.size, *args[i])
    return wrap_all(_call(op, values), level)


@batching(select, unbind)
def _select(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor | tuple[Tensor, ...]:
    at = op.params.index("dim")
    n = args[0].ndim
    values = [inner(args[0], level), *args[1:]]
    if n == 0:
        return _call(op, [zeros(()), *args[1:]])  # raises
    values[at] = shifted_dim(args[at], n)
    return wrap_all(_call(op, values), level)


@batching(diagonal, diagonal_backward)
def _diagonal(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    values = list(args)
    values[0] = inner(args[0], level)
    n = args[0].ndim
    if "shape" in op.params:
        at = op.params.index("shape")
        n, values[at] = len(args[at]), (level.size, *args[at])
    for name in ("dim1", "dim2"):
        at = op.params.index(name)
        values[at] = shifted_dim(args[at], n)
    return wrap_all(_call(op, values), level)


@batching(unsqueeze, _unsqueeze_in_place)
def _unsqueeze(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    n = args[0].ndim + 1
    return wrap_all(_call(op, [inner(args[0], level), shifted_dim(args[1], n)]), level)


@batching(squeeze, _squeeze_in_place)
def _squeeze(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    dims = tuple(i + 1 for i, n in enumerate(args[0].shape) if n == 1)
    return wrap_all(_squeeze_dims(inner(args[0], level), dims), level)


@batching(set_away)
def _set_away(op: Op, args: Sequence[Any], level: BatchLevel) -> Any:
    values = [batched(t, level) for t in args[:2]]
    return wrap_all(_call(op, [*values, (level.size, *args[2])]), level)


@batching(t, _t_in_place)
def _t(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    value, n = inner(args[0], level), args[0].ndim
    if n > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {n}D")
    return wrap_all(value.transpose(1, 2) if n == 2 else alias(value), level)


@batching(permute, _permute_back)
def _permute(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, dims = args
    if len(dims) != x.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {x.ndim} is not "
            f"equal to len(dims) = {len(dims)}"
        )
    return wrap_all(
        _call(op, [inner(x, level), (0, *(shifted_dim(d, x.ndim) for d in dims))]), level
    )


@batching(view, unsafe_view, _reshape_alias)
def _view(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, size = args
    value = inner(x, level)
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    if len(size) == 1 and not isinstance(size[0], int):
        return wrap_all(_call(op, [value, size]), level)  # another dtype
    return wrap_all(_call(op, [value, (level.size, *_sizes(x, size))]), level)


def _sizes(x: Tensor, size: Sequence[int]) -> tuple[int, ...]:
    """The sizes with -1 worked out; torch's error where they do not fit."""
    known = 1
    unknown = -1
    for i, n in enumerate(size):
        if n == -1:
            if unknown >= 0:
                raise RuntimeError("only one dimension can be inferred")
            unknown = i
        else:
            known *= n
    total = math.prod(x.shape)
    fits = known == total if unknown < 0 else known and total % known == 0
    if not fits:
        raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {total}")
    if unknown < 0:
        return tuple(size)
    return (*size[:unknown], total // known, *size[unknown + 1 :])


@batching(expand)
def _expand(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, size = args[0], args[1]
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = size[0]
    value = padded(inner(x, level), x.ndim, len(size))
    return wrap_all(_call(op, [value, (level.size, *size), *args[2:]]), level)


@batching(sum_to)
def _sum_to(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, shape = args
    value, more = inner(x, level), x.ndim - len(shape)
    if more > 0:
        value = value.sum(tuple(range(1, more + 1)))
    return wrap_all(_call(op, [value, (level.size, *shape)]), level)


@batching(repeat)
def _repeat(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, times = args
    if len(times) == 1 and isinstance(times[0], (tuple, list)):
        times = times[0]
    value = padded(inner(x, level), x.ndim, len(times))
    return wrap_all(_call(op, [value, (1, *times)]), level)


@batching(roll)
def _roll(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, shifts, dims = args
    value = inner(x, level)
    if dims is None or dims == ():
        flat = value.reshape(level.size, math.prod(x.shape))
        return wrap_all(_call(op, [flat, shifts, 1]).reshape(value.shape), level)
    one = isinstance(dims, int)
    moved = shifted_dim(dims, x.ndim) if one else tuple(shifted_dim(d, x.ndim) for d in dims)
    return wrap_all(_call(op, [value, shifts, moved]), level)


@batching(cat)
def _cat(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    tensors, dim = args
    # torch lets old empty tensors of one dimension be joined with anything.
    kept = [t for t in tensors if t.shape != (0,)] or list(tensors)
    n = kept[0].ndim
    return wrap_all(_call(op, [[batched(t, level) for t in kept], shifted_dim(dim, n)]), level)


@batching(stack)
def _stack(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    tensors, dim = args
    moved = shifted_dim(dim, tensors[0].ndim + 1)
    return wrap_all(_call(op, [[batched(t, level) for t in tensors], moved]), level)


@batching(block_diag)
def _block_diag(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    blocks = [b.reshape(1, -1) if b.ndim < 2 else b for b in args[0]]
    width = sum(b.shape[1] for b in blocks)
    rows, start = [], 0
    for b in blocks:
        rows.append(constant_pad_nd(b, (start, width - start - b.shape[1])))
        start += b.shape[1]
    return cat(rows, 0)


# ---- strides


@batching(strided_view, _strided_backward, _strided_gather, _strided_zeroed, _strided_scatter)
def _strided(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    """Elements one after another, each in the layout that the op counts in."""
    at = {name: i for i, name in enumerate(op.params)}
    size, stride, offset, layout = (
        args[at[name]] for name in ("size", "stride", "storage_offset", "layout")
    )
    if len(size) != len(stride):
        raise RuntimeError(
            "Tensor.as_strided(size, stride, ...): size and stride must have the same length! Got "
            f"size {list(size)} and stride {list(stride)}"
        )
    shape = args[at["shape"]] if "shape" in at else args[0].shape
    place = _Place(shape, size, stride, offset, layout)
    values = all_batched(args, level)
    step = values[0].stride(0) if op is strided_view else place.total
    if "shape" in at:
        values[at["shape"]] = (level.size, *shape)
    values[at["size"]], values[at["stride"]] = (level.size, *size), (step, *stride)
    values[at["layout"]] = (step, *place.layout)
    return level.wrap(_call(op, values))
