"""Scans along a dimension, sorted orders, and what is chosen by them."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

from ...._base import dtypes
from ...._core import Tensor, kernels
from ...._devices.launch import Tensors, code, computed, empty, rows, start
from ...._devices.there import numbers_of, there
from ...indexing.there.indexing import index_get

_N = numbers_of("scans.cl")
_SPAN = 512  # elements of a part of a long row
_ITEMS = 4096  # rows enough for a work item each
_RUN = 16  # elements that a work item sorts by itself


def _dimension(dim: int, a: Tensor) -> int | None:
    """The dimension meant; None where it is none."""
    ndim = max(a.dim(), 1)
    return dim % ndim if type(dim) is int and -ndim <= dim < ndim else None


def _row(a: Tensor, d: int) -> tuple[int, int, int]:
    """(how many rows lie along a dimension, how long they are, how far apart their elements)."""
    if not a.dim():
        return 1, 1, 1
    length, inner = a.shape[d], prod(a.shape[d + 1 :])
    return prod(a.shape[:d]) * inner, length, inner


def _scan(a: Tensor, dim: int, how: int) -> Tensor:
    d = _dimension(dim, a)
    if d is None:
        return NotImplemented
    dtype = a.dtype if a.dtype.is_floating_point else dtypes.int64
    out = empty(a.shape, a, dtype)
    if out.numel():
        _scanned(rows(a), out, *_row(a, d), how)
    return out


def _scanned(x: Tensor, out: Tensor, count: int, length: int, inner: int, how: int) -> None:
    parts = (length + _SPAN - 1) // _SPAN if count < _ITEMS else 1

    def run(to: Tensor, carry: Any, parts: int, stage: int) -> None:
        span = (length + parts - 1) // parts
        sizes = (code(x), code(to), count, length, inner, span, parts)
        start("scans.cl", "scan", count * parts, x, x, to, carry, *sizes, how, stage)

    if parts == 1:
        return run(out, out, 1, _N.WHOLE)
    parts = -(-length // -(-length // parts))  # none of them empty
    totals = empty((count, parts), x, computed(x.dtype))
    carry = empty((count, parts), totals)
    run(totals, totals, parts, _N.TOTALS)
    _scanned(totals, carry, count, parts, 1, how)
    run(out, carry, parts, _N.PARTS)


def _cumulated(how: int, a: Tensor, dim: int, dtype: dtypes.dtype | None = None) -> Tensor:
    if dtype is None:
        return _scan(a, dim, how)
    if dtype.code > dtypes.float64.code or dtype is dtypes.bool:
        return NotImplemented
    found = _scan(rows(a, dtype), dim, how)
    return found if found is NotImplemented else rows(found, dtype)


cumsum = there(kernels.cumsum, takes="real")(partial(_cumulated, _N.SCAN_SUM))
there(kernels.cumprod, takes="real")(partial(_cumulated, _N.SCAN_PROD))


@there(kernels.logcumsumexp, takes="float")
def logcumsumexp(a: Tensor, dim: int) -> Tensor:
    return _scan(a, dim, _N.SCAN_LOG_SUM)


def _extreme_so_far(a: Tensor, dim: int, how: int) -> Tensors:
    d = _dimension(dim, a)
    if d is None:
        return NotImplemented
    out, index = empty(a.shape, a), empty(a.shape, a, dtypes.int64)
    if out.numel():
        count, length, inner = _row(a, d)
        sizes = (code(a), count, length, inner, how)
        start("scans.cl", "scan_extreme", count, a, rows(a), out, index, *sizes)
    return out, index


there(kernels.cummax, takes="real")(partial(_extreme_so_far, how=_N.SCAN_MAX))
there(kernels.cummin, takes="real")(partial(_extreme_so_far, how=_N.SCAN_MIN))


# ---- sorted orders


def _swapped(a: Tensor, d: int) -> Tensor:
    """With a dimension and the last exchanged, contiguous."""
    return rows(kernels.transpose(a, d, -1)) if a.dim() and d != a.dim() - 1 else rows(a)


def _flat(a: Tensor) -> Tensor:
    """All elements as one contiguous row."""
    return kernels.reshape(rows(a), (a.numel(),))


def order_of(x: Tensor, descending: bool) -> Tensor:
    """The stable order of the rows of a contiguous tensor: places, NaN being the largest."""
    order = empty(x.shape, x, dtypes.int64)
    count, length, _ = _row(x, x.dim() - 1)
    sizes, turned = (code(x), count, length), int(descending)
    runs = count * -(-length // _RUN)
    start("scans.cl", "sort_runs", runs, x, x, order, *sizes, _RUN, turned)
    width, other = _RUN, empty(x.shape if length > _RUN else (0,), order)
    while width < length:
        start("scans.cl", "merge_runs", x.numel(), x, x, order, other, *sizes, width, turned)
        order, other, width = other, order, 2 * width
    return order


def _sorted_part(
    a: Tensor, d: int, descending: bool, skipped: int, count: int, keep: bool = True
) -> Tensors:
    """(elements, places) of `count` of the order of a dimension, from place `skipped` on."""
    x = _swapped(a, d)
    shape = (*x.shape[:-1], count) if a.dim() else ()
    values, index = empty(shape, x), empty(shape, x, dtypes.int64)
    if index.numel():
        lines, length, _ = _row(x, x.dim() - 1)
        given = (x, order_of(x, descending), values, index)
        sizes = (code(x), lines, length, skipped, count)
        start("scans.cl", "take_order", index.numel(), x, *given, *sizes)
    return _back(values, index, d, keep)


def _back(values: Tensor, index: Tensor, d: int, keep: bool) -> Tensors:
    """Results along the last dimension, where the dimension was."""
    found = _swapped(values, d), _swapped(index, d)
    if keep or not values.dim():
        return found
    return tuple(kernels.squeeze(t, d) for t in found)


@there(kernels.sort, takes="real")
def sort(a: Tensor, dim: int, descending: bool, stable: bool | None) -> Tensors:
    d = _dimension(dim, a)
    if d is None:
        return NotImplemented
    return _sorted_part(a, d, bool(descending), 0, a.shape[d] if a.dim() else 1)


@there(kernels.topk, takes="int float")
def topk(a: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Tensors:
    d = _dimension(dim, a)
    if d is None or type(k) is not int or not 0 <= k <= (a.shape[d] if a.dim() else 1):
        return NotImplemented
    if not a.dim():
        k = 1
    return _sorted_part(a, d, bool(largest), 0, k)


@there(kernels.kthvalue, takes="int float")
def kthvalue(a: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Tensors:
    d = _dimension(dim, a)
    if d is None or type(k) is not int or not 1 <= k <= (a.shape[d] if a.dim() else 1):
        return NotImplemented
    return _sorted_part(a, d, False, k - 1, 1, bool(keepdim))


def _chosen(a: Tensor, dim: int = -1, keepdim: bool = False, *, median: int) -> Tensors:
    """(elements, places) chosen by the order of a dimension."""
    d = _dimension(dim, a)
    if d is None or (a.dim() and not a.shape[d]):
        return NotImplemented
    x = _swapped(a, d)
    shape = (*x.shape[:-1], 1) if a.dim() else ()
    values, index = empty(shape, x), empty(shape, x, dtypes.int64)
    if index.numel():
        lines, length, _ = _row(x, x.dim() - 1)
        given = (x, order_of(x, False), values, index, code(x), lines, length, median)
        start("scans.cl", "choose_of_order", lines, x, *given)
    return _back(values, index, d, bool(keepdim))


there(kernels.mode, takes="real")(partial(_chosen, median=0))


def _median(a: Tensor, dim: int, keepdim: bool = False, *, kind: int) -> Tensors:
    return _chosen(a, dim, keepdim, median=kind)


there(kernels.median, takes="int float")(partial(_median, kind=1))
there(kernels.nanmedian, takes="int float")(partial(_median, kind=2))


def _median_all(a: Tensor, kind: int) -> Tensor:
    if not a.numel():
        return NotImplemented
    found = _median(_flat(a), 0, False, kind=kind)
    return found if found is NotImplemented else found[0]


there(kernels.median_of_all, takes="int float")(partial(_median_all, kind=1))
there(kernels.nanmedian_of_all, takes="int float")(partial(_median_all, kind=2))


# ---- places in sorted rows, and distinct elements


def _sorted_row(a: Tensor) -> Tensor:
    """All elements of a tensor in order."""
    return _sorted_part(_flat(a), 0, False, 0, a.numel())[0]


@there(kernels.searchsorted, takes="int float same, sorter: real")
def search_sorted(
    bounds: Tensor, values: Tensor, right: bool, side: str | None, int32: bool, sorter: Any = None
) -> Tensor:
    if not bounds.dim() or side not in (None, "left", "right"):
        return NotImplemented
    if sorter is not None:
        if sorter.shape != bounds.shape or not sorter.is_contiguous():
            return NotImplemented
        bounds = kernels.gather(bounds, -1, sorter)
    if not (bounds.is_contiguous() and values.is_contiguous()) or (side == "left" and right):
        return NotImplemented  # the host warns, or refuses
    if bounds.dim() > 1 and values.shape[:-1] != bounds.shape[:-1]:
        return NotImplemented
    out = empty(values.shape, values, dtypes.int32 if int32 else dtypes.int64)
    items, after = out.numel(), int(bool(right) or side == "right")
    if items:
        each = items if bounds.dim() == 1 else values.shape[-1]
        sizes = (code(bounds), code(out), items, bounds.shape[-1], each, after)
        start("scans.cl", "search_sorted", items, bounds, bounds, values, out, *sizes)
    return out


@there(kernels.isin, takes="real same")
def is_in(elements: Tensor, among: Tensor, invert: bool) -> Tensor:
    if not among.numel():
        return NotImplemented
    out = empty(elements.shape, elements, dtypes.bool)
    if out.numel():
        x, sizes = _sorted_row(among), (out.numel(), among.numel(), int(bool(invert)))
        start("scans.cl", "is_in", out.numel(), x, x, rows(elements), out, code(x), *sizes)
    return out


@there(kernels.bincount, takes="int, weights: real")
def bincount(a: Tensor, weights: Any = None, minlength: int = 0) -> Tensor:
    if weights is not None or a.dim() != 1 or type(minlength) is not int:
        return NotImplemented
    if minlength < 0 or not a.numel():
        return NotImplemented
    x = _sorted_row(a)
    least, most = (int(kernels.select(x, 0, place).item()) for place in (0, -1))
    if least < 0 or most == 2**63 - 1:
        return NotImplemented
    out = empty((max(most + 1, minlength),), a, dtypes.int64)
    start("scans.cl", "count_values", out.numel(), x, x, out, code(x), out.numel(), x.numel())
    return out


def _moved(a: Tensor, at: int, to: int) -> Tensor:
    """With a dimension at another place, the others in their order."""
    dims = [d for d in range(a.dim()) if d != at]
    return kernels.permute(a, (*dims[:to], at, *dims[to:]))


def _order_of_slices(x: Tensor, consecutive: bool) -> Tensor:
    """The stable order of the slices of the first dimension of a contiguous tensor."""
    length = x.shape[0]
    if x.dim() == 1 and not consecutive:
        return order_of(x, False)
    order = empty((length,), x, dtypes.int64)
    start("scans.cl", "in_place", length, x, order, length)
    run, width, other = 1, x.numel() // length, empty((length,), order)
    while run < length and not consecutive:
        start("scans.cl", "merge_rows", length, x, x, order, other, code(x), length, width, run)
        order, other, run = other, order, 2 * run
    return order


@there(kernels.distinct, takes="real")
def distinct(
    a: Tensor, dim: int | None, consecutive: bool, numbered: bool = True, counted: bool = True
) -> Tensors:
    """(distinct elements or slices, the number of each one's, how many there are of each), all
    three whether asked for or not."""
    d = 0 if dim is None else _dimension(dim, a) if a.dim() else None
    if d is None:
        return NotImplemented
    x = _flat(a) if dim is None else rows(_moved(a, d, 0))
    length = x.shape[0]
    if length and not x.numel():
        return NotImplemented
    order = _order_of_slices(x, bool(consecutive)) if length else empty((0,), x, dtypes.int64)
    marks, count = empty((length,), x, dtypes.int64), 0
    if length:
        width = x.numel() // length
        start("scans.cl", "mark_new", length, x, x, order, marks, code(x), length, width)
        numbers = cumsum(marks, 0)
        count = int(kernels.select(numbers, 0, -1).item())
    inverse = empty(a.shape if dim is None else (length,), x, dtypes.int64)
    starts, firsts, counts = (empty((count,), x, dtypes.int64) for _ in range(3))
    if length:
        given = (order, numbers, starts, firsts, inverse, length)
        start("scans.cl", "collect_new", length, x, *given)
        start("scans.cl", "lengths_of", count, x, starts, counts, count, length)
    values = index_get(x, firsts, (0,), 0)
    return (values if dim is None else _moved(values, 0, d)), inverse, counts
