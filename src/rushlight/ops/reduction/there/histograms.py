"""How many elements fall in each interval, and the exclusive or of all elements' bits."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, prod

from .... import _core
from ...._base import dtypes
from ...._core import Tensor
from ...._devices.launch import Ints, empty, layout, rows, start
from ...._devices.there import there
from ...elementwise.selection import where
from ...elementwise.there.special import in_double
from ...layout.there.rearranging import filled, zeros
from ...making.from_data import tensor
from .. import reductions
from .reductions import _layouts, _parts, aminmax, axes_of, reduced_shape


@there(_core.kernels.histc, takes="float")
def histc(a: Tensor, bins: int, low: float, high: float) -> Tensor:
    if bins <= 0 or low > high:
        return NotImplemented
    a = rows(a.detach())
    if low == high and a.numel():
        low, high = (float(t.item()) for t in aminmax(a))
    if not (isfinite(low) and isfinite(high)):
        return NotImplemented
    if low == high:
        low, high = low - 1, high + 1
    first, last, many, width = _rounded(low, high, bins, a.dtype)
    # Each step is rounded to the type of the input.
    place = rows((a - first) * many / width, dtypes.int64)
    place = where((a >= first) & (a <= last), where(place < bins, place, bins - 1), bins)
    counts = zeros((bins + 1,), a, dtypes.int64)
    ones = filled(empty((a.numel(),), a, dtypes.int64), 1)
    counts = counts.scatter_add(0, _core.kernels.reshape(place, (a.numel(),)), ones)
    return rows(counts[:bins], a.dtype)


@there(_core.kernels.bin_counts, takes="float")
def bin_counts(x: Tensor, edges: Sequence[Tensor], weights: Tensor | None = None) -> Tensor:
    inside = filled(empty((x.shape[0],), x, dtypes.bool), True)
    place = filled(empty((x.shape[0],), x, dtypes.int64), 0)
    for column, edge in zip(map(rows, x.unbind(1)), edges, strict=True):
        bins = edge.numel() - 1
        at = _core.kernels.searchsorted(edge, column, True, None, False) - 1
        place = place * bins + where(at < bins, at, bins - 1)
        inside = inside & (column >= edge[0]) & (column <= edge[bins])
    shape = tuple(edge.numel() - 1 for edge in edges)
    place = where(inside, place, prod(shape))
    values = filled(empty(place.shape, x, dtypes.int64), 1) if weights is None else weights
    counts = zeros((prod(shape) + 1,), x, values.dtype)
    counts = counts.scatter_add(0, place, _core.kernels.reshape(values, place.shape))
    return rows(_core.kernels.reshape(counts[: prod(shape)], shape), x.dtype)


def _rounded(low: float, high: float, bins: int, dtype: dtypes.dtype) -> list[float]:
    """The ends, the number of intervals and the range, each rounded to a dtype."""
    ends = tensor([low, high, bins], dtype=dtype)
    first, last, many = ends.unbind()
    return [float(t.item()) for t in (first, last, many, last - first)]


@there(reductions.hash_tensor, takes="real")
def hash_tensor(a: Tensor, dim: int | Ints, keepdim: bool, mode: int) -> Tensor:
    if mode != 0 or (a.dtype.is_floating_point and not in_double(a)):
        return NotImplemented
    axes = axes_of(dim, a.dim())
    if axes is None or any(not a.shape[d] for d in axes) or (not axes and not a.numel()):
        return NotImplemented
    words = rows(a, dtypes.float64 if a.dtype.is_floating_point else dtypes.int64)
    out = empty(reduced_shape(a.shape, axes, keepdim), a, dtypes.uint64)
    laid = _layouts(words, axes, False)
    if laid is None:
        return NotImplemented
    words, kept, gone = laid
    results, length = out.numel(), prod(a.shape[d] for d in axes)
    parts = _parts(results, length) if results else 1
    each = out if parts == 1 else empty((results, parts), a, dtypes.uint64)
    _combine(words, each, kept, gone, length, parts)
    if parts > 1:
        lines, line = layout(each, (results,), (parts,)), layout(each, (parts,), (1,))
        _combine(each, out, lines, line, parts, 1)
    return out


def _combine(
    words: Tensor, out: Tensor, kept: object, gone: object, length: int, parts: int
) -> None:
    sizes = out.numel(), length, parts
    start("elements.cl", "exclusive_or", out.numel(), out, words, out, kept, gone, *sizes)
