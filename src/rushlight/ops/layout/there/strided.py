"""Views of sizes and strides: their gradients, and tensors with such a part overwritten.

As in ops/layout/strided.py, on a flat buffer in the layout of the tensor. Where a view shows an
element twice, its places are numbered, and values land there in order.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from .... import _core
from ...._base.dtypes import int64
from ...._core import Tensor
from ...._devices.launch import Ints, empty, rows, takes
from ...._devices.there import there
from ...indexing.there.indexing import MODES, index_get, landed
from ...making.there.filling import steps
from .. import strided
from ..strided import _overlapping, _Place
from .rearranging import alike, copied, duplicate, movable, wide, zeros

_views = _core.kernels


def _place(shape: Any, size: Any, stride: Any, offset: int, layout: Any) -> Any:
    return _Place(shape, size, stride, offset, layout)


def _numbers(place: Any, like: Tensor) -> Tensor:
    """The places of a buffer, numbered."""
    numbers = empty((place.total,), like, int64)
    steps(numbers, 0, 1)
    return numbers


def _written(buffer: Tensor, seen: Any, place: Any, values: Tensor, mode: str) -> bool:
    """Write values where `seen` (a method of the place) shows the buffer. Whether it was done."""
    part = seen(buffer)
    if mode == "set" and not _overlapping(part.shape, part.stride()):
        copied(part, values)
        return True
    where = duplicate(seen(_numbers(place, buffer)))
    values = _views.expand(values, tuple(part.shape))
    return landed(buffer, where, (0,), 0, values, MODES[mode]) is None


def _shares(x: Tensor, place: Any) -> Tensor:
    """x, its elements divided by how often the layout shows each."""
    if not takes(x) or not x.dtype.is_floating_point:
        return NotImplemented
    kind = wide(x)
    counts, ones = zeros((place.total,), x, kind), zeros((), x, kind) + 1
    where = duplicate(place.whole(_numbers(place, x)))
    if landed(counts, where, (0,), 0, _views.expand(ones, tuple(x.shape)), MODES["sum"]):
        return NotImplemented
    return rows(rows(x, kind) / index_get(counts, where, (0,), 0), x.dtype)


@there(strided._strided_backward, _views.strided_backward)
def _strided_backward(
    g: Tensor, shape: Ints, size: Ints, stride: Ints, offset: int, layout: Ints | None = None
) -> Tensor:
    if not movable(g):
        return NotImplemented
    place = _place(shape, size, stride, offset, layout)
    buffer = zeros((place.total,), g, wide(g))
    mode = "sum" if _overlapping(size, stride) else "set"
    if not _written(buffer, place.part, place, g if mode == "set" else rows(g, wide(g)), mode):
        return NotImplemented
    if layout is None or not _overlapping(shape, layout):
        return alike(place.whole(buffer), g.dtype)
    found = _shares(duplicate(place.whole(buffer)), place)
    return found if found is NotImplemented else rows(found, g.dtype)


@there(strided._strided_gather, _views.strided_gather)
def _strided_gather(
    g: Tensor, size: Ints, stride: Ints, offset: int, layout: Ints | None = None
) -> Tensor:
    if not movable(g):
        return NotImplemented
    place = _place(tuple(g.shape), size, stride, offset, layout)
    twice = layout is not None and _overlapping(g.shape, layout)
    if twice and (g := _shares(g, place)) is NotImplemented:
        return NotImplemented
    buffer = zeros((place.total,), g)
    if not _written(buffer, place.whole, place, g, "sum" if twice else "set"):
        return NotImplemented
    return duplicate(place.part(buffer))


def _with_part(
    x: Tensor, src: Tensor, size: Ints, stride: Ints, offset: int, layout: Ints | None = None
) -> Tensor:
    if not movable(x, src) or x.dtype is not src.dtype:
        return NotImplemented
    place = _place(tuple(x.shape), size, stride, offset, layout)
    buffer = zeros((place.total,), x)
    copied(place.whole(buffer), x)
    if not _written(buffer, place.part, place, src, "set"):
        return NotImplemented
    return duplicate(place.whole(buffer))


there(strided._strided_scatter)(partial(_with_part))


@there(strided._strided_zeroed, _views.strided_zeroed)
def _strided_zeroed(
    x: Tensor, size: Ints, stride: Ints, offset: int, layout: Ints | None = None
) -> Tensor:
    if not movable(x):
        return NotImplemented
    return _with_part(x, zeros((), x), size, stride, offset, layout)


@there(_views.strided_scatter_backward)
def _strided_scatter_backward(g: Tensor, *place: Any) -> Any:
    found = _strided_zeroed(g, *place), _strided_gather(g, *place)
    return NotImplemented if any(f is NotImplemented for f in found) else found
