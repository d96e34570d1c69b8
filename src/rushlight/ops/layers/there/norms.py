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
from ...._devices.launch import Ints, Tensors, code, computed, empty, number, rows, start
from ...._devices.there import there

_FILE = "norms.cl"
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
    of = norm.of
    parts = _vectors(of.rows * of.parts, x)
    start(_FILE, "moments", of.rows * of.parts, x, x, *parts, code(x), *of.numbers)
    found = _vectors(of.rows, x)
    moved = [None if t is None else rows(t) for t in running]
    types = [0 if t is None else code(t) for t in running]
    sizes = of.rows, of.parts, of.count, number(eps, x), number(momentum, x)
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
    start(
        _FILE, "normalized", x.numel(), x, x, *found, *parts, y, code(x), x.numel(), *norm.numbers
    )
    return y


def _sums(
    g: Tensor, x: Tensor, norm: _Norm, over: _Rows, found: Sequence[Tensor], weight: Tensor | None
) -> list[Any]:
    """Over the elements of rows: the sums of g, and of g times the normalized x."""
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
        start(_FILE, "norm_gradient", x.numel(), x, g, x, *found, weight, *own, gx, code(x), *sizes)
    gw, gb = (sums[1], sums[0]) if sums is not None else (None, None)
    return gx, gw if needs[1] else None, gb if needs[2] else None


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
    found = _measured(x, norm, eps)
    y = _normalized(x, norm, found, weight, bias)
    shape = (*x.shape[: x.dim() - n], *(1,) * n)
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
    found = _measured(x, norm, eps or 0) if again else [_vector(t, x) for t in (mean, rstd)]
    gx, gw, gb = _gradients(g, x, norm, found, weight, needs)
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
    gx, gw, gb = (None,) * 3 if g is None else _gradients(g, x, norm, found, weight, needs)
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
