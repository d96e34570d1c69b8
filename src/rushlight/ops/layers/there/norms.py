"""Normalisation of layers, channels and groups, and its gradient.

All three are one thing with other rows: see kernels/norms.cl. A row is cut into parts where there
are few rows, so that a device has work enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from .... import _core
from ...._core import Tensor, kernels
from ...._devices.choices import wanted_groups
from ...._devices.launch import (
    WIDE_GROUP,
    Ints,
    Tensors,
    code,
    computed,
    empty,
    number,
    power_of_2,
    processors,
    rows,
    start,
    start_rows,
)
from ...._devices.there import numbers_of, there
from ...reduction.there.reductions import reduce

_FILE = "norms.cl"
_R = numbers_of("reductions.cl")
_MOST_PARTS, _HELD_BYTES = 64, 16 * 8 * WIDE_GROUP  # on devices with warps
_ITEMS, _SHORTEST = 4096, 256  # work items that are wanted, and the elements that are worth one


@dataclass
class _Rows:
    """The rows of a contiguous tensor: how many, how long, and where their elements lie."""

    rows: int
    count: int
    inner: int
    step: int

    @property
    def parts(self) -> int:
        return max(1, min(_ITEMS // max(self.rows, 1), self.count // _SHORTEST))

    @property
    def numbers(self) -> tuple[int, ...]:
        return self.rows, self.parts, self.count, max(self.inner, 1), self.step


@dataclass
class _Norm:
    """A normalisation: the rows of the statistics, and the rows of the weights."""

    of: _Rows
    weights: _Rows

    @property
    def numbers(self) -> tuple[int, ...]:
        """Of an element, which row and which weight."""
        w = self.weights
        return max(self.of.inner, 1), max(self.of.rows, 1), max(w.inner, 1), max(w.rows, 1)


def _vector(t: Tensor | None, like: Tensor) -> Tensor | None:
    """Values as kernels take them: contiguous, and of the type that is computed in."""
    return None if t is None else rows(t, computed(like.dtype))


def _vectors(n: int, like: Tensor, count: int = 2) -> list[Any]:
    return [empty((n,), like, computed(like.dtype)) for _ in range(count)]


def _measured(
    x: Tensor, norm: _Norm, eps: float, running: tuple[Any, Any] = (None, None), momentum: float = 0
) -> list[Any]:
    """Mean and one over the deviation of each row; the running statistics move."""
    of, unit = norm.of, 1
    if processors(x) and x.numel():
        parts, unit = _moments_by_warps(x, of)
    else:
        parts = _vectors(of.rows * of.parts, x)
        start(_FILE, "moments", of.rows * of.parts, x, x, *parts, code(x), *of.numbers)
    found = _vectors(of.rows, x)
    moved = [None if t is None else rows(t) for t in running]
    types = [0 if t is None else code(t) for t in running]
    cut = parts[0].numel() // max(of.rows, 1)
    sizes = of.rows, cut, of.count, unit, number(eps, x), number(momentum, x)
    start(_FILE, "statistics", of.rows, x, *parts, *found, *moved, *sizes, *types)
    for t, values in zip(running, moved, strict=True):
        if t is not values:
            _copy(t, values)
    return found


def _copy(to: Tensor, values: Any) -> None:

    _core.copy_values(to, values)


def _normalized(
    x: Tensor, norm: _Norm, found: Sequence[Tensor], weight: Tensor | None, bias: Tensor | None
) -> Tensor:
    y = empty(x.shape, x)
    parts = _vector(weight, x), _vector(bias, x)
    if processors(x):
        _few("normalized_few", x, norm, x, *found, *parts, y, x.numel())
        return y
    start(
        _FILE, "normalized", x.numel(), x, x, *found, *parts, y, code(x), x.numel(), *norm.numbers
    )
    return y


def _sums(
    g: Tensor, x: Tensor, norm: _Norm, over: _Rows, found: Sequence[Tensor], weight: Tensor | None
) -> list[Any]:
    """Over the elements of rows: the sums of g, and of g times the normalized x."""
    if processors(x) and weight is None and x.numel():
        return _sums_by_warps(g, x, norm, over, found)
    parts = _vectors(over.rows * over.parts, x)
    items, numbers = over.rows * over.parts, (*over.numbers, *norm.numbers)
    start(_FILE, "products", items, x, g, x, *found, weight, *parts, code(x), *numbers)
    if over.parts == 1:
        return parts
    sums = _vectors(over.rows, x)
    start(_FILE, "merged", over.rows, x, *parts, *sums, over.rows, over.parts)
    return sums


def _gradients(
    g: Tensor,
    x: Tensor,
    norm: _Norm,
    found: Any,
    weight: Tensor | None,
    needs: Ints,
    given: bool = False,
) -> tuple[Any, Any, Any]:
    """The gradients of x, weight and bias; given: the statistics do not depend on x."""
    g, weight = rows(g), _vector(weight, x)
    same = norm.of == norm.weights
    sums = _sums(g, x, norm, norm.weights, found, None) if needs[1] or needs[2] else None
    gx = None
    if needs[0]:
        gx = empty(x.shape, x)
        own: Any = (None, None)
        if not given:
            plain = same or weight is None
            if not plain:
                own = _sums(g, x, norm, norm.of, found, weight)
            elif same and sums is not None:
                own = sums
            else:
                own = _sums(g, x, norm, norm.of, found, None)
        sizes = x.numel(), 0 if given else norm.of.count, int(same), *norm.numbers
        if processors(x):
            _few("gradient_few", x, norm, g, x, *found, weight, *own, gx, *sizes[:3])
        else:
            whole = g, x, *found, weight, *own, gx, code(x), *sizes
            start(_FILE, "norm_gradient", x.numel(), x, *whole)
    gw, gb = (sums[1], sums[0]) if sums is not None else (None, None)
    return gx, gw if needs[1] else None, gb if needs[2] else None


# ---- on devices with warps


def _few(name: str, x: Tensor, norm: _Norm, *arguments: Any) -> None:
    """Start a kernel that goes through all elements, neighbours at a time where that can be."""
    n, numbers = 16 // x.element_size(), norm.numbers
    n = 1 if numbers[0] % n or numbers[2] % n else n
    items, more = -(-x.numel() // (4 * n)), f"-DWARPS -DX={code(x)} -DAT_ONCE={n}"
    start(_FILE, name, items, x, *arguments, *numbers, more=more, group=WIDE_GROUP)


def _spans(x: Tensor, of: _Rows) -> tuple[int, int, str]:
    """(parts of each row, neighbours that are read at once, options of the compiler)."""
    n = 16 // x.element_size()
    n = n if of.inner % n == 0 else 1
    parts = max(1, min(_MOST_PARTS, wanted_groups(x) // of.rows, of.count // (4 * WIDE_GROUP * n)))
    return parts, n, f"-DWARPS -DX={code(x)} -DAT_ONCE={n}"


def _moments_by_warps(x: Tensor, of: _Rows) -> tuple[list[Tensor], int]:
    """Means of parts of rows and sums of squares about those, and the unit of the parts."""
    if of.inner == 1:
        matrix, wide = x.detach().view(of.count, of.rows), computed(x.dtype)
        total, square = _R.COMBINE_SUM, _R.TAKE_SQUARE_AWAY
        value, divide = _R.TAKE_VALUE, _R.FINISH_DIVIDE
        mean = reduce(matrix, (0,), False, total, wide, value, divide, of.count)
        return [mean, reduce(matrix, (0,), False, total, wide, square, shift=mean)], 1
    parts, n, more = _spans(x, of)
    found = _vectors(of.rows * parts, x)
    sizes = of.rows, parts, of.count, of.inner, of.step
    items = of.rows * parts * WIDE_GROUP
    start(_FILE, "span_moments", items, x, x, *found, *sizes, more=more, group=WIDE_GROUP)
    return found, n


def _sums_by_warps(
    g: Tensor, x: Tensor, norm: _Norm, over: _Rows, found: Sequence[Tensor]
) -> list[Any]:
    """`_sums` without weights."""
    if over.inner == 1 and (norm.of == over or norm.of.inner == over.rows):
        n = 16 // x.element_size()
        across = power_of_2(over.rows / n, 32)
        tiles, lines = -(-over.rows // (n * across)), 4 * WIDE_GROUP // across
        parts = max(1, min(wanted_groups(x) // tiles, over.count // lines))
        each = [empty((parts, over.rows), x, computed(x.dtype)) for _ in range(2)]
        sizes = over.count, over.rows, parts, across, int(norm.of == over)
        whole = (g, x, *found, *each, *sizes)
        more, items = f"-DWARPS -DX={code(x)}", tiles * parts * WIDE_GROUP
        start(_FILE, "column_products", items, x, *whole, more=more, group=WIDE_GROUP)
        return [reduce(t, (0,), False, _R.COMBINE_SUM, t.dtype) for t in each]
    parts, _, more = _spans(x, over)
    each = _vectors(over.rows * parts, x)
    numbers = over.rows, parts, over.count, over.inner, over.step, *norm.numbers[:2]
    given = (g, x, *found, *each, *numbers)
    items = over.rows * parts * WIDE_GROUP
    start(_FILE, "span_products", items, x, *given, more=more, group=WIDE_GROUP)
    if parts == 1:
        return each
    sums = _vectors(over.rows, x)
    start(_FILE, "merged", over.rows, x, *each, *sums, over.rows, parts)
    return sums


def _by_rows(x: Tensor, of: _Rows) -> bool:
    """Whether the kernels for whole rows are worth calling."""
    enough = of.rows >= 2 * processors(x) or of.count * x.element_size() <= _HELD_BYTES
    return bool(processors(x)) and of.count > 0 and enough


def _own_weights(x: Tensor, *given: Tensor | None) -> tuple[list[Tensor | None], str]:
    """Weights in a type of their own, and the option for that."""
    there = [t for t in given if t is not None]
    wide = computed(x.dtype) if len({t.dtype for t in there}) > 1 else None
    found = [None if t is None else rows(t, wide) for t in given]
    kind = next((t for t in found if t is not None), x)
    return found, f"-DW={code(kind)}"


def _row_gradients(
    g: Tensor,
    x: Tensor,
    norm: _Norm,
    found: Any,
    shared: tuple[int, int],
    weight: Any,
    needs: Ints,
    eps: float,
) -> tuple[Any, Any, Any]:
    """`_gradients` where rows lie one after the other; found: None where they are to be measured
    again."""
    if not _by_rows(x, norm.of):
        found = _measured(x, norm, eps) if found is None else found
        return _gradients(g, x, norm, found, weight, needs)
    g, gx, sums = rows(g), None, [None, None]
    if needs[0] or found is None:
        kept = _vectors(norm.of.rows, x) if found is None else found
        gx = _rows_gradient(g, x, norm.of, shared, weight, kept, eps if found is None else None)
        found = kept
    if needs[1] or needs[2]:
        sums = _sums(g, x, norm, norm.weights, found, None)
    return gx if needs[0] else None, sums[1] if needs[1] else None, sums[0] if needs[2] else None


def _norm_rows(
    x: Tensor, of: _Rows, shared: tuple[int, int], weight: Any, bias: Any, eps: float
) -> tuple[Tensor, ...]:
    """(the normalized elements, means, one over the deviations); shared: see weights_of."""
    y, mean, rstd = empty(x.shape, x), empty((of.rows,), x), empty((of.rows,), x)
    parts, more = _own_weights(x, weight, bias)
    given = (x, *parts, mean, rstd, y, ..., *shared, number(eps, x))
    start_rows(_FILE, "norm_rows", x, of.rows, of.count, *given, more=more)
    return y, mean, rstd


def _rows_gradient(
    g: Tensor, x: Tensor, of: _Rows, shared: tuple[int, int], weight: Any, found: Any, eps: Any
) -> Tensor:
    """The gradient of x; eps: where the statistics are to be measured again, into `found`."""
    out = empty(x.shape, x)
    [own], more = _own_weights(x, weight)
    again = int(eps is not None), number(eps or 0, x)
    given = (g, x, own, *found, out, ..., *shared, *again)
    start_rows(_FILE, "norm_rows_gradient", x, of.rows, of.count, *given, more=more)
    return out


# ---- layers: the last dimensions


def _layers(x: Tensor, n: int) -> _Norm:
    length = prod(x.shape[x.dim() - n :])
    count = prod(x.shape[: x.dim() - n])
    return _Norm(_Rows(count, length, length, 0), _Rows(length, count, 1, length))


@there(kernels.layer_norm, takes="float")
def layer_norm(
    x: Tensor, n: int, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensors:
    if not 0 < n <= x.dim():
        return NotImplemented
    norm = _layers(x, n)
    if any(t is not None and t.numel() != norm.weights.rows for t in (weight, bias)):
        return NotImplemented
    x = rows(x)
    shape = (*x.shape[: x.dim() - n], *(1,) * n)
    if _by_rows(x, norm.of):
        y, *found = _norm_rows(x, norm.of, (0, 1), weight, bias, eps)
        return y, *(t.view(shape) for t in found)
    found = _measured(x, norm, eps)
    y = _normalized(x, norm, found, weight, bias)
    return y, *(rows(t, x.dtype).view(shape) for t in found)


@there(kernels.layer_norm_backward, takes="float")
def layer_norm_backward(
    g: Tensor,
    x: Tensor,
    n: int,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    needs: Ints,
    eps: float | None = None,
) -> tuple[Tensor | None, ...]:
    if (
        mean is None
        or rstd is None
        or g.dtype is not x.dtype
        or g.shape != x.shape
        or not 0 < n <= x.dim()
    ):
        return NotImplemented
    norm = _layers(x, n)
    x = rows(x)
    again = x.dtype.itemsize == 2 and eps is not None  # what was rounded is measured again
    kept = None if again else [_vector(t, x) for t in (mean, rstd)]
    gx, gw, gb = _row_gradients(g, x, norm, kept, (0, 1), weight, needs, eps or 0)
    shape = x.shape[x.dim() - n :]
    return gx, *(None if t is None else t.view(shape) for t in (gw, gb))


# ---- batches: the channels


def _channels(x: Tensor) -> _Norm:
    n, channels, inner = x.shape[0], x.shape[1], prod(x.shape[2:])
    of = _Rows(channels, n * inner, inner, channels * inner)
    return _Norm(of, of)


@there(kernels.batch_norm, takes="float")
def batch_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float | None,
    eps: float,
) -> Tensors:
    running = running_mean, running_var
    if x.dim() < 2:
        return NotImplemented
    if any(t is not None and t.numel() != x.shape[1] for t in (weight, bias, *running)):
        return NotImplemented
    norm, x = _channels(x), rows(x)
    if training:
        moved = running if momentum is not None else (None, None)
        found = _measured(x, norm, eps, moved, momentum or 0)
    else:
        if running_mean is None or running_var is None:
            return NotImplemented
        [rstd] = _vectors(x.shape[1], x, 1)
        variance = _vector(running_var, x)
        start(_FILE, "deviations", x.shape[1], x, variance, rstd, x.shape[1], number(eps, x))
        mean = empty(running_mean.shape, x, computed(x.dtype))
        _copy(mean, running_mean)
        found = [mean, rstd]
    return _normalized(x, norm, found, weight, bias), *found


@there(kernels.batch_norm_backward, takes="float")
def batch_norm_backward(
    g: Any, x: Any, weight: Any, mean: Tensor, rstd: Tensor, training: bool, needs: Any
) -> tuple[Tensor | None, ...]:
    if mean is None or rstd is None or x.dim() < 2:
        return NotImplemented
    if g.dtype is not x.dtype or g.shape != x.shape:
        return NotImplemented
    found = [_vector(t, x) for t in (mean, rstd)]
    return _gradients(g, rows(x), _channels(x), found, weight, needs, not training)


# ---- groups of an image's channels


def _shared(x: Tensor, groups: int) -> tuple[int, int]:
    """How many neighbours share a weight, and after how many rows the weights begin again."""
    return max(prod(x.shape[2:]), 1), groups


def _groups(x: Tensor, groups: int) -> _Norm:
    n, channels, inner = x.shape[0], x.shape[1], prod(x.shape[2:])
    length = channels // groups * inner
    of = _Rows(n * groups, length, length, 0)
    return _Norm(of, _Rows(channels, n * inner, inner, channels * inner))


@there(kernels.group_norm, takes="float")
def group_norm(
    x: Tensor, groups: int, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensors:
    if x.dim() < 2 or groups <= 0 or x.shape[1] % groups:
        return NotImplemented
    if any(t is not None and t.numel() != x.shape[1] for t in (weight, bias)):
        return NotImplemented
    norm, x = _groups(x, groups), rows(x)
    if _by_rows(x, norm.of):
        y, *found = _norm_rows(x, norm.of, _shared(x, groups), weight, bias, eps)
        return y, *(t.view((x.shape[0], groups)) for t in found)
    found = _measured(x, norm, eps)
    y = _normalized(x, norm, found, weight, bias)
    return y, *(rows(t, x.dtype).view((x.shape[0], groups)) for t in found)


@there(kernels.group_norm_backward, takes="float")
def group_norm_backward(
    g: Any,
    of_mean: Any,
    of_rstd: Any,
    x: Any,
    groups: int,
    mean: Tensor,
    rstd: Tensor,
    weight: Any,
    eps: float,
    needs: Any,
) -> tuple[Tensor | None, ...]:
    given = [t for t in (g, of_mean, of_rstd) if t is not None]
    if any(t.dtype is not x.dtype for t in given):
        return NotImplemented
    if g is not None and g.shape != x.shape:
        return NotImplemented
    norm, x = _groups(x, groups), rows(x)
    again = x.dtype.itemsize == 2  # what was rounded is measured again
    found = _measured(x, norm, eps) if again else [_vector(t, x) for t in (mean, rstd)]
    gx, gw, gb = None, None, None
    if g is not None:
        gx, gw, gb = _row_gradients(g, x, norm, found, _shared(x, groups), weight, needs, eps)
    if needs[0] and not (of_mean is None and of_rstd is None):
        gx = _through_statistics(gx, x, norm.of, found, of_mean, of_rstd)
    return gx, gw, gb


def _through_statistics(
    gx: Any, x: Tensor, of: _Rows, found: Any, of_mean: Any, of_rstd: Any
) -> Tensor:
    """gx, or None, with what comes from the gradients of means and of one over the deviations."""
    mean, rstd = (t.detach().view(of.rows, 1) for t in found)
    wide = rows(x, mean.dtype).detach().view(of.rows, of.count)
    parts = [] if gx is None else [rows(gx, mean.dtype).view(of.rows, of.count)]
    if of_mean is not None:
        part = rows(of_mean, mean.dtype).detach().view(of.rows, 1) / of.count
        parts.append(part.expand(of.rows, of.count))
    if of_rstd is not None:
        slope = rows(of_rstd, mean.dtype).detach().view(of.rows, 1) / -of.count
        parts.append((wide - mean) * (rstd * rstd * rstd * slope))
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return rows(total, x.dtype).view(x.shape)
