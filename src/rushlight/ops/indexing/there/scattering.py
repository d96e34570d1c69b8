"""Reductions of what an index puts in one place, and of segments of a dimension.

Both start from numbers that are there, and let the elements land on them in order (_indexing.py).
"""

from __future__ import annotations

from math import prod
from typing import Any

from .... import _core
from ...._base.dtypes import bool as bool_type
from ...._base.dtypes import int64
from ...._base.outside import np
from ...._core import Tensor
from ...._devices.launch import Written, code, empty, rows, start
from ...._devices.there import there
from ...layout.there.rearranging import copied, duplicate, filled, wide
from .. import index_select, scatter
from .. import segments as segments_ops
from ..scatter import _start as number
from ..segments import _UFUNCS
from .indexing import INTEGERS, MODES, NONE, element, flat, is_dim, landed, scattered

_views = _core.kernels
_TAKES = "real, index: any"


def _start(reduce: str, x: Tensor) -> Tensor:
    """The number that a place begins with when its own element does not count."""

    return element(number(reduce, x.dtype.numpy), x)


def _reduced(
    x: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool
) -> Tensor:
    """A copy of x, reduced with src at the places of the index."""
    if reduce not in MODES or reduce == "set":
        return NotImplemented
    if reduce == "mean" and x.dtype is bool_type:
        return NotImplemented
    out, done = duplicate(x), None
    if not include_self and index.numel():
        done = scattered(flat(out), dim, index, _start(reduce, x), MODES["set"])
    if done is not None or scattered(flat(out), dim, index, src, MODES[reduce]) is not None:
        return NotImplemented
    if reduce != "mean" or not index.numel():
        return out
    counts = filled(empty(x.shape, x, int64), int(bool(include_self)))
    scattered(flat(counts), dim, index, element(1, counts), MODES["sum"])
    if out.numel():
        start("indexing.cl", "divide", out.numel(), out, out, counts, code(out), out.numel())
    return out


there(scatter.scatter_reduce, takes=_TAKES)(_reduced)


@there(_core.kernels.scatter_reduce, takes=_TAKES)
@there(scatter.scatter_reduce, takes=_TAKES, writes=True)
def scatter_reduce_(x: Tensor, dim: int, index: Tensor, *args: Any) -> Written:
    return _into(x, _reduced(x, dim, index, *args))


def _into(x: Tensor, found: Any) -> Written:
    """Write what was found; None where it is written."""
    if found is not NotImplemented:
        copied(x, found)
        found = None
    return found


@there(index_select.index_reduce, takes="real, index: any")
def index_reduce(
    x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool
) -> Tensor:
    if index.dtype not in INTEGERS:
        return NotImplemented
    if reduce == "sum" or index.dim() > 1 or x.dim() != source.dim() or not is_dim(dim, x.dim()):
        return NotImplemented
    if x.dtype is bool_type and not include_self:
        return NotImplemented
    seen, source = flat(x), flat(source)
    dim %= seen.dim()
    want = [index.numel() if d == dim else n for d, n in enumerate(seen.shape)]
    if list(source.shape) != want:
        return NotImplemented
    sizes = [-1 if d == dim else 1 for d in range(seen.dim())]
    spread = _views.expand(_views.reshape(index, tuple(sizes)), tuple(source.shape))
    found = _reduced(seen, dim, spread, source, reduce, include_self)
    return found if found is NotImplemented else _views.view(found, tuple(x.shape))


@there(index_select.index_reduce, takes="real, index: any", writes=True)
def index_reduce_(x: Tensor, dim: int, index: Tensor, *args: Any) -> Written:
    return _into(x, index_reduce(x, dim, index, *args))


# ---- segments


@there(segments_ops.segment_op, takes="float")
def segment_reduce(
    data: Tensor, lengths: Any, reduce: str, axis: int, initial: float | None
) -> Tensor:

    if not data.numel():
        return NotImplemented
    lead, size, tail = data.shape[:axis], data.shape[axis], data.shape[axis + 1 :]
    counts = lengths.reshape(prod(lead), -1)
    segments = counts.shape[1]
    first = _UFUNCS[reduce][1] if initial is None else initial
    dtype = wide(data)
    out = empty((prod(lead) * segments, *tail), data, dtype)
    if not out.numel():
        return _views.view(rows(out, data.dtype), (*lead, segments, *tail))
    _core.copy_values(out, _core.wrap(np.asarray(first, dtype.numpy)))
    # The segment of each place of the axis; what is behind the last one belongs to none.
    owners = np.full((prod(lead), size), NONE)
    for row, (own, some) in enumerate(zip(owners, counts, strict=True)):
        own[: some.sum()] = np.repeat(np.arange(segments) + row * segments, some)
    there: Any = data._accelerator
    index = _core.copy_to(_core.wrap(owners.reshape(-1)), there)
    values = _views.view(rows(data, dtype), (owners.size, *tail))
    mode = MODES[{"max": "amax", "min": "amin"}.get(reduce, reduce)]
    if landed(out, index, (0,), 0, values, mode) is not None:
        return NotImplemented
    if reduce == "mean":
        each = counts.reshape(-1, *(1 for _ in tail)).astype(dtype.numpy)
        sizes = _core.copy_to(_core.wrap(each), there)
        empty_one = float("nan") if initial is None else initial
        out = (out / sizes.clamp(min=1)).masked_fill_(sizes == 0, empty_one)
    return _views.view(rows(out, data.dtype), (*lead, segments, *tail))
