"""vmap: rules of ops that go by places: in memory (strides), where a mask holds, in one long row.

A place that is another for each element is brought to a place in the whole batch: offsets and
indices are moved by the element's number times the size of an element. What is counted that way
is checked first, as an index too large would otherwise reach into the next element.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import _core
from ..._base.size import Size
from ..._core import Op, Tensor
from ..._levels.batching import batched, batching, inner, normal, padded
from ..._levels.structure import plain_parts
from ..elementwise.selection import _where as where
from ..elementwise.selection import masked_fill
from ..layout.shape import broadcast_shapes
from ..making.creation import arange, zeros, zeros_like
from .index_select import (
    _index_fill_number,
    _index_fill_tensor,
    index_add,
    index_copy,
    index_reduce,
    index_select,
)
from .subscript import _index_put, index_backward, index_zero
from .subscript import index_op as subscript
from .take import _masked_select_backward as masked_select_backward
from .take import _nonzero_columns, _nonzero_rows, masked_scatter, masked_select, put, take
from .take import _take_backward as take_backward

if TYPE_CHECKING:
    from ..._levels.batch import BatchLevel

__all__: list[str] = ["dynamic", "first_rows"]

_call = _core.call_op


# ---- indices


@batching(index_select)
def _index_select(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, dim, index = args
    if inner(index, level) is None and x.ndim:
        return level.wrap(_call(op, [inner(x, level), normal(dim, x.ndim) + 1, index]))
    if not x.ndim:
        return x.clone()
    dim = normal(dim, x.ndim)
    return x.gather(dim, _index_along(index, x, dim))


def _index_along(index: Tensor, x: Tensor, dim: int) -> Tensor:
    """A row of positions along `dim` as `gather` wants it."""
    index = index.reshape(-1)
    n = index.shape[0]
    row = index.reshape((1,) * dim + (n,) + (1,) * (x.ndim - dim - 1))
    return row.expand((*x.shape[:dim], n, *x.shape[dim + 1 :]))


@batching(index_add, index_copy, _index_fill_tensor, _index_fill_number)
def _index_write(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, dim, index = args[:3]
    if op is _index_fill_tensor and (
        inner(args[3], level) is not None or inner(index, level) is not None
    ):
        # A place that the index names twice is filled once.
        named = _index_fill_number(zeros_like(x), dim, index, 1) != 0
        return masked_fill(x, named, args[3])
    if inner(index, level) is None and x.ndim:
        values = list(args)
        values[0], values[1] = batched(x, level), normal(dim, x.ndim) + 1
        if op is not _index_fill_tensor and isinstance(args[3], Tensor):
            values[3] = batched(args[3], level)
        return level.wrap(_call(op, values))
    if not x.ndim:
        one = [a.reshape(1) if isinstance(a, Tensor) else a for a in args]
        return _index_write(op, one, level).squeeze(0)
    dim = normal(dim, x.ndim)
    where = _index_along(index, x, dim)
    if op is _index_fill_number:
        return x.scatter(dim, where, args[3])
    source = args[3]
    if op is index_add:
        return x.scatter_add(dim, where, source if args[4] == 1 else source * args[4])
    return x.scatter(dim, where, source)


def first_rows(index: Tensor, n: int, level: BatchLevel, what: str = "self") -> Tensor:
    """Places below n in one element, as places in all elements one after another; of a batched
    index with the batch in front."""
    for part in plain_parts(index):
        if not part._on_meta and part.numel():
            low, high = map(int, part.aminmax())
            if not (-n <= low and high < n):
                raise IndexError(
                    f"index out of range in {what}: indices run from {low} to {high}, of {n}"
                )
    index = where(index < 0, index + n, index)
    return index + (arange(level.size, device=index.device) * n).reshape(
        -1, *(1,) * (index.ndim - 1)
    )


# ---- an index tensor for some dimensions joined


@batching(subscript, index_zero, index_backward, _index_put)
def _index(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, index, dims, at = args[:4]
    values = list(args)
    back, put = op is index_backward, op is _index_put
    values[0], values[2] = batched(x, level), tuple(d + 1 for d in dims)
    shape = args[4] if back else x.shape
    if back:
        values[4] = (level.size, *shape)
    n = index.ndim
    if put:
        v = args[4]
        want = n + x.ndim - len(dims)
        if inner(v, level) is not None:
            values[4] = padded(inner(v, level), v.ndim, want)
    if inner(index, level) is None:
        values[3] = at + 1
        return level.wrap(_call(op, values))
    # The batch is one of the joined dimensions: the index's own dimensions then come first.
    here, there = tuple(range(at + 1, at + 1 + n)), tuple(range(1, 1 + n))
    values[1] = first_rows(inner(index, level), math.prod(shape[d] for d in dims), level)
    values[2], values[3] = (0, *values[2]), 0
    if back:
        values[0] = values[0].movedim(here, there)
    elif put:
        v = values[4]
        if inner(args[4], level) is None:
            v = v.reshape((1,) * (want + 1 - v.ndim) + v.shape)
        values[4] = v.movedim(here, there)
    out = _call(op, values)
    return level.wrap(out.movedim(there, here) if op is subscript else out)


# ---- the tensor as one row


@batching(take)
def _take(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    flat, index = args[0].reshape(-1), args[1]
    return flat.gather(0, _in_row(index, flat.shape[0])).reshape(index.shape)


def _in_row(index: Tensor, n: int) -> Tensor:
    return where(index < 0, index + n, index).reshape(-1)


@batching(take_backward)
def _take_backward(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    g, index, shape = args
    n = math.prod(shape)
    flat = zeros(n, dtype=g.dtype, device=g.device)
    return flat.scatter_add(0, _in_row(index, n), g.reshape(-1)).reshape(shape)


@batching(put)
def _put(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, index, source, accumulate = args
    if index.numel() != source.numel():
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.numel()}, index.numel() = {index.numel()}"
        )
    flat = x.reshape(-1)
    write = flat.scatter_add if accumulate else flat.scatter
    return write(0, _in_row(index, flat.shape[0]), source.reshape(-1)).reshape(x.shape)


# ---- where a mask holds


def dynamic(aten: str) -> Any:
    """An op whose result is as large as values say."""

    def refuse(op: Op, args: Sequence[Any], level: BatchLevel) -> Any:
        raise RuntimeError(
            "vmap: We do not support batching operators that can output dynamic shape. Attempted "
            f"to vmap over aten::{aten}. How large its result is depends on the values, which "
            "differ from element to element."
        )

    return refuse


batching(_nonzero_rows)(dynamic("nonzero"))


batching(_nonzero_columns)(dynamic("nonzero_numpy"))


def _one_mask(mask: Tensor, level: BatchLevel) -> None:
    if inner(mask, level) is not None:
        raise RuntimeError(
            "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot "
            "support this because for each batch this would return a differently shaped Tensor. "
            "Please use torch.where(mask, self, 0) or compute with the mask as a factor."
        )


@batching(masked_select)
def _masked_select(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, mask = args
    _one_mask(mask, level)
    value = inner(x, level)
    if x.ndim < mask.ndim:
        value = value.reshape(level.size, *(1,) * (mask.ndim - x.ndim), *x.shape)
    # Row by row: all that is selected of one element, then of the next.
    out = _call(op, [value, mask.expand(level.size, *_common(x, mask))])
    n = out.shape[0] // level.size if level.size else 0
    return level.wrap(out.reshape(level.size, n))


def _common(x: Tensor, mask: Tensor) -> Size:
    return broadcast_shapes(tuple(x.shape), tuple(mask.shape))


@batching(masked_select_backward)
def _masked_select_backward(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    g, mask, shape = args
    _one_mask(mask, level)
    whole = broadcast_shapes(tuple(shape), tuple(mask.shape))
    out = _call(
        op, [inner(g, level).reshape(-1), mask.expand(level.size, *whole), (level.size, *whole)]
    )
    return level.wrap(out)


@batching(masked_scatter)
def _masked_scatter(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, mask, source = args
    shape = _common(x, mask)
    mask = mask.expand(shape)
    # The k-th element where the mask holds takes the k-th of the source.
    at = (mask.reshape(-1).cumsum(0) - 1).clamp(min=0)
    row = source.reshape(-1)
    if not row.shape[0]:
        row = zeros(1, dtype=row.dtype, device=row.device)
    taken = at.masked_fill(~mask.reshape(-1), 0)
    return where(mask, row.gather(0, taken).reshape(shape), x)


# ---- others


@batching(index_reduce)
def _index_reduce(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, dim, index, source, reduce, include_self = args
    if not x.ndim:
        out = _index_reduce(
            op,
            [x.unsqueeze(0), 0, index.reshape(1), source.reshape(1), reduce, include_self],
            level,
        )
        return out.squeeze(0)
    dim = normal(dim, x.ndim)
    if inner(index, level) is None:
        tensors = [batched(x, level), dim + 1, index, batched(source, level)]
        return level.wrap(_call(op, [*tensors, reduce, include_self]))
    where = index.reshape([-1 if d == dim else 1 for d in range(x.ndim)]).expand(source.shape)
    return x.scatter_reduce(dim, where, source, reduce, include_self=bool(include_self))
