"""Losses: of pairs of elements, and of classes; each with its sum or mean.

A work item does a loss; they are summed in parts, in order. A target that is no class gives a NaN
and is reported to the host, which raises when it next waits; a probability outside 0 and 1 gives a
NaN alone.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

from .... import _core
from ...._base.outside import np
from ...._core import Tensor, kernels
from ...._devices.launch import (
    Ints,
    code,
    computed,
    empty,
    number,
    processors,
    rows,
    start,
    told,
)
from ...._devices.there import numbers_of, there
from ...layout.there.rearranging import zeros
from .. import class_loss, loss, margin_loss

_N, _SUM = numbers_of("losses.cl"), numbers_of("reductions.cl").COMBINE_SUM
_FILE = "losses.cl"
WIDE_GROUP = numbers_of("vectors.cl").WIDE_GROUP
_NONE, _MEAN = 0, 1  # of Reduction
_PARTS, _SHORTEST = 1024, 256  # parts at most that are summed alone, and elements of one at least


def _number(like: Tensor) -> Tensor:
    """A 0-dim result."""
    return empty((), like)


def _summed(values: Tensor) -> Tensor:
    """Sums of parts of the elements."""
    n = values.numel()
    if processors(values):
        parts = -(-n // _N.AT_ONCE)
        if parts <= 1:
            return values
        sums = empty((parts,), values)
        items = parts * WIDE_GROUP
        start(_FILE, "add_up_all", items, values, values, sums, n, more="-DWARPS", group=WIDE_GROUP)
        return _summed(sums)
    if n <= _N.CHUNK:
        return values
    parts = max(1, min(_PARTS, n // _SHORTEST))
    sums = empty((parts,), values)
    start(_FILE, "add_up", parts, values, values, sums, n, parts)
    return sums


def _reduced(values: Tensor, out: Tensor, mean: bool, weights: Tensor | None = None) -> Tensor:
    """The sum of values into `out`; their mean, which weights are divided by where there are."""
    sums = _summed(values)
    totals = None if weights is None else _summed(weights)
    sizes = code(out), sums.numel(), int(mean), values.numel()
    if processors(values):
        arguments = sums, totals, out, *sizes
        start(_FILE, "reduced_all", 1, values, *arguments, more="-DWARPS", group=WIDE_GROUP)
    else:
        start(_FILE, "reduced", 1, values, sums, totals, out, *sizes)
    return out


# ---- pairs of elements


def _spread(t: Tensor | None, shape: tuple[int, ...]) -> Tensor | None:
    """Contiguous, and of a shape."""
    if t is None or tuple(t.shape) == shape:
        return None if t is None else rows(t)
    made = empty(shape, t)
    _core.copy_values(made, t)
    return made


def _pairs(
    kind: int,
    x: Tensor,
    y: Tensor,
    reduction: str,
    limit: float = 0,
    weight: Tensor | None = None,
    positive: Tensor | None = None,
) -> Tensor:
    if kind not in (_N.PROBABILITY, _N.LOGIT) and not y.dtype.is_floating_point:
        y = rows(y, x.dtype)
    given = [t for t in (x, y, weight, positive) if t is not None]
    if any(t.dtype is not x.dtype for t in given) or reduction not in ("none", "mean", "sum"):
        return NotImplemented
    try:
        shape = np.broadcast_shapes(*(tuple(t.shape) for t in given))
    except ValueError:
        return NotImplemented  # the CPU's error
    each = reduction == "none"
    out = empty(shape, x, x.dtype if each else computed(x.dtype))
    parts = [_spread(t, shape) for t in (x, y, weight, positive)]
    sizes = code(x), code(out), out.numel(), kind, number(limit, x)
    start(_FILE, "pair_loss", out.numel(), x, *parts, out, *sizes)
    return out if each else _reduced(out, _number(x), reduction == "mean")


_PAIR = "float, y: real"
there(kernels.mse_loss, takes=_PAIR)(partial(_pairs, _N.SQUARED))


@there(kernels.mse_loss_backward, takes="float same")
def mse_loss_backward(g: Any, x: Any, y: Any, reduction: str, needs: Any) -> Any:
    if x.shape != y.shape or g.numel() != (x.numel() if reduction == "none" else 1):
        return NotImplemented
    factor = 2 / x.numel() if reduction == "mean" and x.numel() else 2
    sizes = code(x), x.numel(), int(reduction == "none"), number(factor, x)
    g, x, y = rows(g), rows(x), rows(y)
    found = []
    for a, b, need in ((x, y, needs[0]), (y, x, needs[1])):
        found.append(empty(x.shape, x) if need else None)
        if need:
            start(_FILE, "squares_gradient", x.numel(), x, g, a, b, found[-1], *sizes)
    return tuple(found)


there(loss._smooth_l1_loss, takes=_PAIR)(partial(_pairs, _N.SMOOTH))
there(loss._huber_loss, takes=_PAIR)(partial(_pairs, _N.HUBER))
there(margin_loss._soft_margin_loss, takes=_PAIR)(partial(_pairs, _N.MARGIN))


@there(class_loss._binary_cross_entropy, takes="float same")
def binary_cross_entropy(
    x: Tensor, y: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    return _pairs(_N.PROBABILITY, x, y, reduction, weight=weight)


@there(class_loss._binary_cross_entropy_with_logits, takes="float same")
def binary_cross_entropy_with_logits(
    x: Tensor,
    y: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    return _pairs(_N.LOGIT, x, y, reduction, weight=weight, positive=pos_weight)


# ---- classes


def _classes(shape: Ints) -> tuple[int, int]:
    """How many classes there are, and how far apart those of a sample lie."""
    return (shape[0], 1) if len(shape) == 1 else (shape[1], prod(shape[2:]))


def _fits(shape: Ints, target: Tensor, weight: Tensor | None) -> bool:
    """Whether scores or gradients of a shape go with these targets and weights."""
    if not shape or (weight is not None and weight.shape != (_classes(shape)[0],)):
        return False
    return tuple(target.shape) == (() if len(shape) == 1 else (shape[0], *shape[2:]))


def _picked(
    x: Tensor,
    scores: Tensor | None,
    target: Tensor,
    weight: Tensor | None,
    losses: Tensor | None,
    sizes: tuple[int, int, int],
) -> Tensor:
    """Losses of each target where scores are given, and its weight."""
    weights = empty((target.numel(),), x, computed(x.dtype))
    types = code(x), 0 if losses is None else code(losses)
    given = scores, target, weight, losses, weights, *types, target.numel(), *sizes
    start(_FILE, "class_loss", target.numel(), x, *given, *told(x, "target"))
    return weights


_CLASSES = "float same, target: int64"


@there(kernels.nll_loss, takes=_CLASSES)
def nll_loss(
    x: Tensor, target: Tensor, weight: Tensor | None = None, ignored: int = -100, how: int = 1
) -> Tensor:
    if not _fits(x.shape, target, weight):
        return NotImplemented
    weight = None if weight is None else rows(weight)
    losses = empty(target.shape, x, x.dtype if how == _NONE else computed(x.dtype))
    sizes = (*_classes(x.shape), ignored)
    weights = _picked(x, rows(x), rows(target), weight, losses, sizes)
    if how == _NONE:
        return losses
    return _reduced(losses, _number(x), how == _MEAN, weights if how == _MEAN else None)


@there(kernels.nll_loss_backward, takes=_CLASSES)
def nll_loss_backward(
    g: Tensor, target: Tensor, weight: Tensor | None, ignored: int, how: int, shape: Any
) -> Tensor:
    shape = tuple(shape)
    if not _fits(shape, target, weight):
        return NotImplemented
    if g.numel() != (target.numel() if how == _NONE else 1):
        return NotImplemented
    target, weight = rows(target), None if weight is None else rows(weight)
    out, sizes, total = zeros(shape, g), (*_classes(shape), ignored), None
    if how == _MEAN:
        total = empty((), g, computed(g.dtype))
        _reduced(_picked(g, None, target, weight, None, sizes), total, False)
    numbers = code(g), target.numel(), *sizes, int(how == _NONE)
    start(_FILE, "class_gradient", target.numel(), g, rows(g), target, weight, total, out, *numbers)
    return out


def _as_row(target: Tensor) -> Tensor:
    return target if target.dim() else _core.kernels.reshape(target, (1,))


@there(
    margin_loss._multi_margin_loss,
    kernels.multi_margin_loss,
    takes="float32 float64 same, target: int64",
)
def multi_margin_loss(
    x: Tensor, target: Tensor, weight: Tensor | None, p: int, margin: float, reduction: str
) -> Tensor:
    if x.dim() > 2 or target.dim() > 1:
        return NotImplemented
    n, classes = target.numel(), x.shape[-1] if x.dim() else 1
    if x.numel() != n * classes or not _fits((n, classes), _as_row(target), weight):
        return NotImplemented
    if not classes or p not in (1, 2):
        return NotImplemented
    out = empty(target.shape, x)
    given = rows(x), rows(target), None if weight is None else rows(weight), out
    sizes = code(x), code(out), n, classes, int(p == 2), number(margin, x)
    start(_FILE, "margin_loss", n, x, *given, *sizes, *told(x, "target"))
    return out if reduction == "none" else _reduced(out, _number(x), reduction == "mean")


@there(class_loss._divided, takes="real")
def divided(x: Tensor, n: float) -> Tensor:
    return x.detach() / n
