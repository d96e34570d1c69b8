"""vmap: rules of ops that take positions, and of ops that write over a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Op, Tensor
from ..ops.elementwise.selection import _copied, _overwrite, fill, masked_fill
from ..ops.elementwise.selection import _where as where
from ..ops.indexing.index_select import (
    _index_fill_number,
    _index_fill_tensor,
    index_add,
    index_copy,
    index_select,
)
from ..ops.layers.padding import constant_pad_nd
from ..ops.layout.joining import cat
from ..ops.layout.rearrange import _block_diag as block_diag
from ..ops.making.creation import zeros_like
from ..ops.reduction.extremes import _has as has
from ..ops.reduction.extremes import _put_along
from ..ops.reduction.extremes import take_entries as take_along
from ..ops.reduction.sorting import _isin as isin
from ..ops.reduction.sorting import _searchsorted as searchsorted
from .batching import batched, batching, inner, normal, padded, pointwise, trailing

if TYPE_CHECKING:
    from .batch import BatchLevel

__all__: list[str] = []

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


@batching(take_along, _put_along)
def _take_along(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    values = list(args)
    put = "shape" in op.params
    at = op.params.index("dim")
    n = len(args[2]) if put else args[0].ndim
    if n == 0:
        # A number has one place: there it is.
        return level.wrap(batched(args[0], level).clone())
    values[0], values[1] = batched(args[0], level), batched(args[1], level)
    if put:
        values[2] = (level.size, *args[2])
    values[at] = normal(args[at], n) + 1
    return level.wrap(_call(op, values))


@batching(searchsorted)
def _searchsorted(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    values, x = args[0], args[1]
    if values.ndim == 1 and inner(values, level) is None and inner(args[5], level) is None:
        return level.wrap(_call(op, [values, inner(x, level), *args[2:]]))
    number = x.ndim == 0
    rest = [args[2], args[3], args[4], None if args[5] is None else batched(args[5], level)]
    v, found = batched(values, level), batched(x, level)
    if number:
        found = found.unsqueeze(1)
    elif values.ndim == 1 and x.ndim > 1:
        found = found.reshape(level.size, -1)
    out = _call(op, [v.contiguous(), found.contiguous(), *rest])
    return level.wrap(out.reshape(level.size, *x.shape))


@batching(isin)
def _isin(op: Op, args: Sequence[Any], level: BatchLevel) -> Any:
    elements, wanted, invert = args
    found = (elements.unsqueeze(-1) == wanted.reshape(-1)).any(-1)
    return ~found if invert else found


# ---- written over


@batching(fill, _overwrite, _copied)
def _written_over(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, value = args[0], args[1]
    if not isinstance(value, Tensor):
        return trailing(op, args, level)
    v = inner(value, level)
    if v is None:
        return level.wrap(_call(op, [batched(x, level), *args[1:]]))
    return level.wrap(
        padded(v, value.ndim, x.ndim).to(x.dtype).expand(level.size, *x.shape).clone()
    )


@batching(block_diag)
def _block_diag(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    blocks = [b.reshape(1, -1) if b.ndim < 2 else b for b in args[0]]
    width = sum(b.shape[1] for b in blocks)
    rows, start = [], 0
    for b in blocks:
        rows.append(constant_pad_nd(b, (start, width - start - b.shape[1])))
        start += b.shape[1]
    return cat(rows, 0)


@batching(has)
def _has(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, value, dim, keepdim, nan = args
    dims = range(x.ndim) if dim is None or dim == () else (dim,) if isinstance(dim, int) else dim
    if not x.ndim:
        rows = batched(x, level).unsqueeze(1)
        return level.wrap(_call(op, [rows, batched(value, level), (1,), False, nan]).squeeze(1))
    moved = tuple(normal(d, x.ndim) + 1 for d in dims)
    return level.wrap(_call(op, [batched(x, level), batched(value, level), moved, keepdim, nan]))


@batching(masked_fill)
def _masked_fill(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, mask, value = args
    if isinstance(value, Tensor) and inner(value, level) is not None and not value.ndim:
        return where(mask, value.to(x.dtype), x)
    return pointwise(op, args, level)
