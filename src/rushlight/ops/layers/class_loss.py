"""Losses of torch.nn.functional over classes: cross-entropy and its relatives.

`nll_loss` picks elements, so it is linear; the pair `_nll_loss`, `_nll_transpose` is closed under
differentiation. `cross_entropy` is `nll_loss` of `log_softmax`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import _core
from ..._base.dtypes import promote_types
from ..._base.errors import not_implemented_for
from ..._base.outside import np
from ..._core import Op, Reduction
from ..elementwise.selection import where
from ..table.arrays import Array, anywhere, listed, refuse, rounded, scalar_name, widened
from ..table.kinds import composite, general, linear, pointwise
from ..table.reference import wide
from ..table.signature import Flag, Tensor
from .activation import logsigmoid
from .loss import REDUCTIONS, reduce_loss, reduction_asked, share_of
from .softmax import log_softmax

_kernels = _core.kernels

_WEIGHT = ", w = 1 / n in a plain mean"  # of formulas
_NUMBERS = {how: getattr(Reduction, how.upper()) for how in REDUCTIONS}

# ---- classes


def _check_classes(x: Array, target: Array, weight: Array | None) -> None:
    if target.dtype.name not in ("int64", "uint8"):
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {scalar_name(target)}\n"
            "Class indices are integers: use `target.long()`, or give class probabilities of the "
            "input's shape."
        )
    n_classes = x.shape[0 if x.ndim == 1 else 1]
    if x.ndim > 2:
        wanted = (x.shape[0], *x.shape[2:])
        if target.shape != wanted:
            raise RuntimeError(f"Expected target size {listed(wanted)}, got {listed(target.shape)}")
    elif target.ndim > 1:
        raise RuntimeError(
            "0D or 1D target tensor expected, multi-target not supported\n"
            f"The input has the shape {listed(x.shape)}, the target {listed(target.shape)}."
        )
    if weight is not None:
        if weight.shape != (n_classes,):
            raise RuntimeError(
                f"weight tensor should be defined either for all {n_classes} classes or no classes "
                f"but got weight tensor of shape: {listed(weight.shape)}"
            )
        if weight.dtype != x.dtype:
            raise RuntimeError(
                f"expected scalar type {scalar_name(x)} but found {scalar_name(weight)}"
            )


def _places(target: Array, n_classes: int, ignore_index: int) -> tuple[Array, Array | None]:
    """Indices that are safe to take, and which targets are ignored (None where none is)."""
    t = target.astype(np.int64, copy=False)
    if t.size and (t.min() < 0 or t.max() >= n_classes or 0 <= ignore_index < n_classes):
        ignored = t == ignore_index
        t = np.where(ignored, 0, t)
        outside = (t < 0) | (t >= n_classes)
        if outside.any():
            first = np.argwhere(outside)[0].tolist()
            value, more = t[tuple(first)], np.count_nonzero(outside) - 1
            raise IndexError(
                f"Target {value} is out of bounds.\nThe input has {n_classes} classes, "
                f"so targets run from 0 to {n_classes - 1}"
                + (f"; {ignore_index} is ignored" if ignore_index < 0 else "")
                + f". target{first or ''} is {value}"
                + (f", and {more} more are out of range." if more else ".")
            )
        if ignored.any():
            return t, ignored
    return t, None


def _class_weights(
    t: Array, ignored: Array | None, weight: Array | None, dtype: Any
) -> Array | None:
    """The weight of each target; None where all are 1."""
    if weight is not None:
        w = widened(weight)[t]
        return w if ignored is None else np.where(ignored, 0, w).astype(w.dtype)
    return None if ignored is None else np.where(ignored, 0, 1).astype(dtype)


def _nll(
    input: Array, target: Array, weight: Array | None, ignore_index: int, reduction: int
) -> Array:
    refuse("nll_loss_out_frame", input, "biuc")
    _check_classes(input, target, weight)
    dim = 0 if input.ndim == 1 else 1
    t, ignored = _places(target, input.shape[dim], ignore_index)
    x = widened(input)
    picked = -np.take_along_axis(x, np.expand_dims(t, dim), dim).squeeze(dim)
    w = _class_weights(t, ignored, weight, x.dtype)
    if w is not None:
        picked = np.where(w == 0, picked.dtype.type(0), picked * w)
    if reduction == Reduction.NONE:
        return rounded(picked, input)
    total = picked.sum()
    if reduction == Reduction.MEAN:
        with np.errstate(invalid="ignore", divide="ignore"):
            total = np.divide(total, x.dtype.type(t.size) if w is None else w.sum())
    return rounded(np.asarray(total), input)


def _nll_gradient(
    g: Array,
    target: Array,
    weight: Array | None,
    ignore_index: int,
    reduction: int,
    shape: tuple[int, ...],
) -> Array:
    dim = 0 if len(shape) == 1 else 1
    t, ignored = _places(target, shape[dim], ignore_index)
    wide = widened(g)
    w = _class_weights(t, ignored, weight, wide.dtype)
    each = -wide if w is None else -wide * w
    if reduction == Reduction.MEAN:
        with np.errstate(invalid="ignore", divide="ignore"):
            each = each / (wide.dtype.type(t.size) if w is None else w.sum())
    if ignored is not None:
        each = np.where(ignored, 0, each)
    out = np.zeros(shape, wide.dtype)
    each = np.broadcast_to(each, t.shape)
    np.put_along_axis(out, np.expand_dims(t, dim), np.expand_dims(each, dim), dim)
    return rounded(out, g)


def _nll_samples(make: Callable[..., Any]) -> Any:
    t = make(3, kind="int", low=0, high=4)
    return [(make(3, 4), t, None, -100, how) for how in _NUMBERS.values()]


def _nll_op(name: str, node: str) -> Op:
    return linear(
        f"{name}(input: Tensor, target: Tensor, weight: Tensor | None = None, "
        "ignore_index: Any = -100, reduction: str = 1)",
        _nll,
        native=_kernels.nll_loss,
        transpose={
            "input": lambda g, target, weight, ignore_index, reduction, input_shape: _nll_transpose(
                g, target, weight, ignore_index, reduction, tuple(input_shape)
            )
        },
        backward=(_kernels.nll_loss_backward, "g target weight ignore_index reduction input_shape"),
        node=node,
        method=False,
        samples=_nll_samples,
        formula={"input": f"−w at each target, 0 elsewhere{_WEIGHT}"},
        doc="The negatives of the elements that the target picks, reduced (0 none, 1 mean, 2 sum).",
    )


_nll_loss = _nll_op("_nll_loss", "NllLossBackward0")
_nll_loss2d = _nll_op("_nll_loss2d", "NllLoss2DBackward0")
_nll_transpose = linear(
    "_nll_transpose(input: Tensor, target: Tensor, weight: Tensor | None = None, "
    "ignore_index: Any = -100, reduction: str = 1, shape: Any)",
    _nll_gradient,
    native=_kernels.nll_loss_backward,
    transpose={
        "input": lambda g, target, weight, ignore_index, reduction: _nll_loss(
            g, target, weight, ignore_index, reduction
        )
    },
    node="NllLossBackwardBackward0",
    method=False,
    doc="Where each class would be picked, the gradient of nll_loss.",
)


def _check_targets(input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    """torch's checks before anything is computed."""
    if input.ndim > 1 and target.ndim > 0 and len(input) != len(target):
        raise ValueError(
            f"Expected input batch_size ({input.shape[0]}) to match target batch_size "
            f"({target.shape[0]})."
        )
    if weight is not None:
        _check_classes(input._form, target._form, weight._form)


@composite(where="nn", said="nll_loss_nd", autocast="float32")
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Flag | None = None,
    ignore_index: int = -100,
    reduce: Flag | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean of -input[i, target[i]]: the negative log likelihood of logarithms of
    probabilities."""
    if reduction != "mean" or reduce is not None or size_average is not None:
        reduction = reduction_asked(size_average, reduce, reduction)
    if input.ndim == 0:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    _check_targets(input, target, weight)
    op = _nll_loss if input.ndim <= 2 else _nll_loss2d
    return op(input, target, weight, ignore_index, _NUMBERS[reduction])


def _check_float_target(target: Tensor) -> None:
    if not target.is_floating_point():
        raise RuntimeError(
            "Expected floating point type for target with class probabilities, "
            f"got {target.dtype.scalar_name}\nFor class indices the target has no dimension of "
            "classes."
        )


# Division by a number under the name that torch leaves in the graph here.
_divided: Op = linear(
    "_divided(input: Tensor, n: Any)",
    is_=lambda input, n: input / n,
    transpose={"input": lambda g, n: g / n},
    node="DivBackward1",
    method=False,
    samples=lambda make: [(make(2, 3), 3)],
    doc="input / n.",
    batch="trailing",
)


def _check_smoothing(label_smoothing: float) -> None:
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")


def _times_weight(x: Tensor, weight: Tensor | None, dim: int) -> Tensor:
    """x times the weights (or None) of the classes, which are along dim."""
    if weight is None:
        return x
    return x * weight.reshape([-1 if i == dim else 1 for i in range(x.ndim)])


def _probabilities_loss(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, smoothing: float
) -> Tensor:
    dim = 0 if input.ndim == 1 else 1
    n_classes = input.shape[dim]
    _check_float_target(target)
    logs = log_softmax(input, dim)
    if smoothing:
        target = target * (1 - smoothing) + smoothing / (n_classes or math.nan)
    product = _times_weight(logs * target, weight, dim)
    if reduction == "mean":
        # torch divides by the number of samples, in floating point where there is no class.
        n = max(input.numel() // n_classes, 1) if n_classes else math.nan
        return _divided(-product.sum(), n)
    if reduction == "sum":
        return -product.sum()
    return -product.sum(dim)


def _smoothed_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: str,
    ignore_index: int,
    smoothing: float,
) -> Tensor:
    dim = 0 if input.ndim == 1 else 1
    logs = log_softmax(input, dim)
    picked = nll_loss(logs, target, weight, None, ignore_index, None, reduction)
    spread = -_times_weight(logs, weight, dim).sum(dim)
    ignored = target == ignore_index
    spread = spread.masked_fill(ignored, 0.0)
    if reduction == "sum":
        spread = spread.sum()
    elif reduction == "mean":
        if weight is not None:
            weights = weight[target.masked_fill(ignored, 0)].masked_fill(ignored, 0.0)
            spread = spread.sum() / weights.sum()
        else:
            spread = spread.sum() / (~ignored).sum()
    return picked * (1 - smoothing) + spread * (smoothing / (input.shape[dim] or math.nan))


@composite(where="nn", said="cross_entropy_loss", autocast="float32")
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Flag | None = None,
    ignore_index: int = -100,
    reduce: Flag | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The negative log likelihood of logits; the target holds class indices, or probabilities of
    the input's shape."""
    if reduction != "mean" or reduce is not None or size_average is not None:
        reduction = reduction_asked(size_average, reduce, reduction)
    ndim = input.ndim
    if target.ndim == ndim and (target.shape == input.shape or ndim == 0):
        if ndim == 0:
            _check_float_target(target)
        _check_smoothing(label_smoothing)
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _probabilities_loss(input, target, weight, reduction, label_smoothing)
    if label_smoothing:
        _check_smoothing(label_smoothing)
        return _smoothed_loss(input, target, weight, reduction, ignore_index, label_smoothing)
    _check_targets(input, target, weight)
    op = _nll_loss if ndim <= 2 else _nll_loss2d
    logs = log_softmax(input, 0 if ndim == 1 else 1)
    return op(logs, target, weight, ignore_index, _NUMBERS[reduction])


# ---- two classes


def _check_probabilities(x: Tensor, name: str) -> None:
    if not x.numel():
        return
    low, high = x.aminmax()
    if anywhere(~((low >= 0) & (high <= 1))):
        found = "" if low._wrapped else f"They run from {low.item():g} to {high.item():g}. "
        raise RuntimeError(
            f"all elements of {name} should be between 0 and 1\n{found}"
            + ("For logits use binary_cross_entropy_with_logits." if name == "input" else "")
        )


def _cut(logarithm: Any) -> Any:
    return where(logarithm < -100.0, -100.0, logarithm)


_bce_slopes: dict[str, Callable[..., Any]] = {
    "input": lambda input, target: (input - target) / ((1 - input) * input).clamp_min(1e-12),
    "target": lambda input: _cut((-input).log1p()) - _cut(input.log()),
}
_bce_terms: Op = pointwise(
    "_binary_cross_entropy_terms(input: Tensor, target: Tensor)",
    forward=lambda input, target: where(
        (target >= 0) & (target <= 1),
        (target - 1) * _cut((-input).log1p()) - target * _cut(input.log()),
        math.nan,
    ),
    partials=_bce_slopes,
    method=False,
    in_place=False,
    samples=lambda make: [(make(2, 3, low=0.1, high=0.9), make(2, 3, low=0.1, high=0.9))],
    doc="The cross-entropy of each probability; NaN where one is none.",
)


def _bce(input: Tensor, target: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    for other in (target, weight):
        if other is not None and other.dtype is not input.dtype:
            raise RuntimeError(
                f"Found dtype {other.dtype.scalar_name} but expected {input.dtype.scalar_name}"
            )
    if not input.dtype.is_floating_point:
        not_implemented_for("binary_cross_entropy", input.dtype.scalar_name)
    x, t = wide(input), wide(target)
    terms = _bce_terms(x, t)
    loss = reduce_loss(terms if weight is None else terms * wide(weight), reduction)
    if anywhere(loss.isnan()):
        _check_probabilities(x, "input")
        _check_probabilities(t, "target")
    return loss.to(input.dtype)


def _weighted(g: Tensor, weight: Tensor | None, reduction: str, n: int) -> Tensor:
    g = share_of(g, reduction, n)
    return g if weight is None else g * weight


_binary_cross_entropy = general(
    "_binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, "
    "reduction: str = 'mean')",
    is_=_bce,
    vjp={
        "input": lambda g, input, target, weight, reduction: (
            _weighted(g, weight, reduction, input.numel()) * _bce_slopes["input"](input, target)
        ),
        "target": lambda g, input, weight, reduction: (
            _weighted(g, weight, reduction, input.numel()) * _bce_slopes["target"](input)
        ),
    },
    method=False,
    samples=lambda make: [
        (make(2, 3, low=0.1, high=0.9), make(2, 3, low=0.1, high=0.9), None, how)
        for how in REDUCTIONS
    ],
    formula={
        "input": f"w · (input − target) / (input · (1 − input)){_WEIGHT}",
        "target": f"w · (log(1 − input) − log(input)){_WEIGHT}",
    },
    doc="The cross-entropy of probabilities.",
)


@composite(where="nn", autocast="float32 here")
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Flag | None = None,
    reduce: Flag | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-(target * log(input) + (1 - target) * log(1 - input)), the logarithms not below -100."""
    reduction = reduction_asked(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}) "
            "is deprecated. Please ensure they have the same size."
        )
    if weight is not None and weight.shape != input.shape:
        weight = weight.expand(input.shape)
    return _binary_cross_entropy(input, target, weight, reduction)


def _bce_logits(
    input: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None, reduction: str
) -> Tensor:
    common = promote_types(input.dtype, target.dtype)
    if not (target.dtype.is_floating_point or target.dtype.is_complex):
        _core.refuse_cast(
            common.scalar_name,
            target.dtype.scalar_name,
            "\nThe target holds probabilities: use `target.float()`.",
        )
    if common.is_complex:
        not_implemented_for("log_sigmoid_cpu", common.scalar_name)
    x, t = wide(input.to(common)), wide(target.to(common))
    soft = -logsigmoid(x)
    if pos_weight is not None:
        soft = ((wide(pos_weight) - 1) * t + 1) * soft
    loss = (1 - t) * x + soft
    if weight is not None:
        loss = loss * wide(weight)
    return reduce_loss(loss, reduction).to(target.dtype)


def _bce_logits_input(
    g: Tensor,
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    pos_weight: Tensor | None,
    reduction: str,
) -> Tensor:
    probability = input.sigmoid()
    if pos_weight is None:
        slope = probability - target
    else:
        positive = pos_weight * target
        slope = (positive + 1 - target) * probability - positive
    return _weighted(g, weight, reduction, input.numel()) * slope


def _bce_logits_target(
    g: Tensor, input: Tensor, weight: Tensor | None, pos_weight: Tensor | None, reduction: str
) -> Tensor:
    slope = -input
    if pos_weight is not None:
        slope = logsigmoid(slope) - pos_weight * logsigmoid(input)
    return _weighted(g, weight, reduction, input.numel()) * slope


_binary_cross_entropy_with_logits = general(
    "_binary_cross_entropy_with_logits(input: Tensor, target: Tensor, "
    "weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: str = 'mean')",
    is_=_bce_logits,
    vjp={"input": _bce_logits_input, "target": _bce_logits_target},
    method=False,
    samples=lambda make: [
        (make(2, 3), make(2, 3, low=0.1, high=0.9), None, None, how) for how in REDUCTIONS
    ],
    formula={
        "input": f"w · (σ − target) without pos_weight, σ = sigmoid(input){_WEIGHT}",
        "target": f"−w · input{_WEIGHT}",
    },
    doc="The cross-entropy of logits.",
)


@composite(where="nn", autocast="float32")
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Flag | None = None,
    reduce: Flag | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of sigmoid(input), exact for large input; pos_weight weighs the
    positive targets."""
    reduction = reduction_asked(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(
            f"Target size ({target.size()}) must be the same as input size ({input.size()})"
        )
    if not (input.is_floating_point() or input.is_complex()):
        not_implemented_for("log_sigmoid_cpu", input.dtype.scalar_name)
    return _binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)
