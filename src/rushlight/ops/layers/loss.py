"""Losses of torch.nn.functional over numbers and vectors; class_loss.py and margin_loss.py have
those over classes.

A public loss is a small Python function that checks its arguments as torch does and calls an op
(`_mse_loss`, ...) or writes the loss in terms of other functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import _core
from ..._base.dtypes import dtype, promote_types
from ..._base.errors import not_implemented_for, warn
from ..._base.outside import np
from ..elementwise.selection import unless, where
from ..table.arrays import Array, anywhere
from ..table.kinds import composite, general
from ..table.reference import wide
from ..table.signature import Flag, Tensor

_kernels = _core.kernels
REDUCTIONS = ("mean", "sum", "none")
OVER_N = " / n, n = 1 unless averaged"  # of formulas

# ---- reductions


def reduction_asked(size_average: Flag | None, reduce: Flag | None, reduction: str) -> str:
    """The reduction asked for, checked; the two deprecated arguments mean one too."""
    if size_average is None and reduce is None:
        _check_reduction(reduction)
        return reduction
    average = True if size_average is None else size_average
    how = ("mean" if average else "sum") if reduce is None or reduce else "none"
    warn(f"size_average and reduce args will be deprecated, please use reduction='{how}' instead.")
    return how


def _check_reduction(reduction: str) -> None:
    if reduction not in REDUCTIONS:
        raise ValueError(
            f"{reduction} is not a valid value for reduction\nUse 'mean', 'sum' or 'none'."
        )


def reduce_array(loss: Array, reduction: str, dtype: Any) -> Array:
    """Reduce an array of losses and bring it to an element type."""
    if reduction == "mean":
        with np.errstate(invalid="ignore", divide="ignore"):
            loss = np.divide(loss.sum(), loss.dtype.type(loss.size))
    elif reduction == "sum":
        loss = loss.sum()
    return np.asarray(loss).astype(dtype, copy=False)


def reduce_loss(loss: Any, reduction: str) -> Any:
    """The same for a tensor."""
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    _check_reduction(reduction)
    return loss


def share_of(g: Tensor, reduction: str, n: int) -> Tensor:
    """The gradient that each of n losses gets."""
    return g * (1.0 / n) if reduction == "mean" and n else g


def _warn_of_sizes(input: Tensor, target: Tensor) -> None:
    warn(
        f"Using a target size ({target.size()}) that is different to the input size "
        f"({input.size()}). "
        "This will likely lead to incorrect results due to broadcasting. "
        "Please ensure they have the same size."
    )


def _check_weight(weight: Tensor, input: Tensor) -> None:
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")


def _reduce_weighted(loss: Any, weight: Tensor, reduction: str) -> Any:
    """The mean is over the weights."""
    if reduction == "mean":
        return (loss * weight).sum() / weight.sum()
    return reduce_loss(loss * weight, reduction)


def operands(a: Tensor, b: Tensor, name: str) -> tuple[Tensor, Tensor, dtype]:
    """Two tensors in their common type (halves as float32), and that type; `name` is what torch
    calls its kernel."""
    common = promote_types(a.dtype, b.dtype)
    if not common.is_floating_point:
        not_implemented_for(name, common.scalar_name)
    return wide(a.to(common)), wide(b.to(common)), common


# ---- mean squared error and its relatives


def loss_samples(make: Callable[..., Any]) -> Any:
    return [
        (make(2, 3), make(2, 3), "mean"),
        (make(2, 3), make(2, 3), "sum"),
        (make(2, 3), make(2, 3), "none"),
    ]


def _mse(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    x, y, common = operands(input, target, "mse_cpu")
    d = x - y
    return reduce_loss(d * d, reduction).to(common)


def _mse_vjp(
    g: Tensor, input: Tensor, target: Tensor, reduction: str, needs: tuple[int, ...]
) -> tuple[Tensor | None, ...]:
    d = input - target
    d = d * (g * (2.0 / d.numel() if reduction == "mean" and d.numel() else 2.0))
    return (d if needs[0] else None), (-d if needs[1] else None)


_mse_loss = general(
    "_mse_loss(input: Tensor, target: Tensor, reduction: Any)",
    is_=_mse,
    native=_kernels.mse_loss,
    vjp={"input, target": _mse_vjp},
    backward=(_kernels.mse_loss_backward, "g input target reduction needs"),
    method=False,
    samples=loss_samples,
    formula={"input": f"2 · (input − target){OVER_N}", "target": f"2 · (target − input){OVER_N}"},
    kernel_name="mse_cpu",
    doc="(input - target) ** 2, reduced.",
)


@composite(where="nn", autocast="float32")
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: Flag | None = None,
    reduce: Flag | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean of (input - target) ** 2."""
    if input.shape != target.shape:
        _warn_of_sizes(input, target)
    if reduction != "mean" or reduce is not None or size_average is not None:
        reduction = reduction_asked(size_average, reduce, reduction)
    if weight is None:
        return _mse_loss(input, target, reduction)
    _check_weight(weight, input)
    return _reduce_weighted((input - target) ** 2, weight, reduction)


@composite(where="nn", autocast="float32")
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Flag | None = None,
    reduce: Flag | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean of |input - target|."""
    if input.shape != target.shape:
        _warn_of_sizes(input, target)
    reduction = reduction_asked(size_average, reduce, reduction)
    loss = (input - target).abs()
    if weight is None:
        return reduce_loss(loss, reduction)
    _check_weight(weight, input)
    return _reduce_weighted(loss, weight, reduction)


def _smooth_l1(input: Tensor, target: Tensor, reduction: str, beta: float) -> Tensor:
    x, y, common = operands(input, target, "smooth_l1_cpu")
    d = (x - y).abs()
    loss = where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta)
    return reduce_loss(loss, reduction).to(common)


def _clamped_vjp(
    g: Tensor,
    input: Tensor,
    target: Tensor,
    reduction: str,
    needs: tuple[int, ...],
    limit: float,
    scale: float,
) -> tuple[Tensor | None, ...]:
    d = input - target
    d = d.clamp(-limit, limit) * share_of(g, reduction, d.numel())
    if scale != 1:
        d = d * scale
    return (d if needs[0] else None), (-d if needs[1] else None)


_smooth_l1_loss = general(
    "_smooth_l1_loss(input: Tensor, target: Tensor, reduction: Any, beta: Any)",
    is_=_smooth_l1,
    native=_kernels.smooth_l1_loss,
    backward=(_kernels.smooth_l1_loss_backward, "g input target reduction beta needs"),
    vjp={
        "input, target": lambda g, input, target, reduction, beta, needs: _clamped_vjp(
            g, input, target, reduction, needs, beta, 1.0 / beta
        )
    },
    node="SmoothL1LossBackward0",
    method=False,
    samples=lambda make: [(*a, 0.7) for a in loss_samples(make)],
    formula={
        "input": f"clamp((input − target) / beta, −1, 1){OVER_N}",
        "target": f"clamp((target − input) / beta, −1, 1){OVER_N}",
    },
    doc="Squared below beta, absolute above.",
)


@composite(where="nn", autocast="float32")
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Flag | None = None,
    reduce: Flag | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Half the square of the difference over beta where it is below beta, else |difference| - beta
    / 2."""
    if input.shape != target.shape:
        _warn_of_sizes(input, target)
    reduction = reduction_asked(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError(
            f"smooth_l1_loss does not support negative values for beta.\nbeta is {beta}."
        )
    if beta == 0:
        return reduce_loss((input - target).abs(), reduction)
    return _smooth_l1_loss(input, target, reduction, float(beta))


def _huber(input: Tensor, target: Tensor, reduction: str, delta: float) -> Tensor:
    x, y, common = operands(input, target, "huber_cpu")
    d = (x - y).abs()
    loss = where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta))
    return reduce_loss(loss, reduction).to(common)


_huber_loss = general(
    "_huber_loss(input: Tensor, target: Tensor, reduction: Any, delta: Any)",
    is_=_huber,
    native=_kernels.huber_loss,
    backward=(_kernels.huber_loss_backward, "g input target reduction delta needs"),
    vjp={
        "input, target": lambda g, input, target, reduction, delta, needs: _clamped_vjp(
            g, input, target, reduction, needs, delta, 1.0
        )
    },
    method=False,
    samples=lambda make: [(*a, 0.7) for a in loss_samples(make)],
    formula={
        "input": f"clamp(input − target, −delta, delta){OVER_N}",
        "target": f"clamp(target − input, −delta, delta){OVER_N}",
    },
    doc="Squared below delta, absolute above.",
)


@composite(where="nn", autocast="float32")
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Half the squared difference where it is at most delta, else delta * (|difference| - delta /
    2)."""
    if input.shape != target.shape:
        _warn_of_sizes(input, target)
    _check_reduction(reduction)
    if delta <= 0:
        raise RuntimeError(
            f"huber_loss does not support non-positive values for delta.\ndelta is {delta}."
        )
    if target.is_floating_point() and not input.is_floating_point():
        _core.refuse_cast(target.dtype.scalar_name, input.dtype.scalar_name)
    target = target.to(input.dtype) if target.is_floating_point() else target
    if weight is None:
        return _huber_loss(input, target, reduction, float(delta))
    _check_weight(weight, input)
    return reduce_loss(_huber_loss(input, target, "none", float(delta)) * weight, reduction)


# ---- distances between distributions and between embeddings


@composite(where="nn", autocast="float32")
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Flag | None = None,
    reduce: Flag | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence target * (log(target) - input); input holds logarithms."""
    if size_average is not None or reduce is not None:
        reduction = reduction_asked(size_average, reduce, reduction)
    elif reduction == "mean":
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release."
        )
    if input.is_complex() or target.is_complex():
        raise RuntimeError("kl_div: Complex inputs not supported.")
    if not (input.is_floating_point() and target.is_floating_point()):
        raise RuntimeError("kl_div: Integral inputs not supported.")
    loss = target.exp() * (target - input) if log_target else target.xlogy(target) - target * input
    if reduction == "batchmean":
        return loss.sum() / input.shape[0] if input.ndim else loss.sum()
    return reduce_loss(loss, reduction)


@composite(where="nn", autocast="float32")
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Flag | None = None,
    reduce: Flag | None = None,
    reduction: str = "mean",
) -> Tensor:
    """input where the target is 1, max(0, margin - input) where it is -1."""
    reduction = reduction_asked(size_average, reduce, reduction)
    if reduction == "mean" and not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or "
            "complex dtype. "
            f"Got: {input.dtype.scalar_name}"
        )
    far = (margin - input).clamp_min(0).masked_fill(target == 1, 0.0)
    near = input.masked_fill(target == -1, 0.0)
    return reduce_loss(far + near, reduction)


@composite(where="nn", autocast="float32")
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Flag | None = None,
    reduce: Flag | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin)."""
    reduction = reduction_asked(size_average, reduce, reduction)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    apart = input1 - input2
    return reduce_loss((-target * apart + float(margin)).clamp_min(0), reduction)


@composite(where="nn", autocast="float32")
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Flag | None = None,
    reduce: Flag | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cosine where the target is 1, max(0, cosine - margin) where it is -1."""
    reduction = reduction_asked(size_average, reduce, reduction)
    if target.ndim not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if not input1.ndim == input2.ndim == target.ndim + 1:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found "
            f"inputs with sizes {list(input1.shape)} and {list(input2.shape)}."
        )
    eps = 1e-12
    product = (input1 * input2).sum(-1)
    sizes = ((input1 * input1).sum(-1) + eps) * ((input2 * input2).sum(-1) + eps)
    cosine = product / sizes.sqrt()
    near = (1 - cosine).masked_fill(target != 1, 0.0)
    far = (cosine - margin).clamp_min(0).masked_fill(target != -1, 0.0)
    return reduce_loss(near + far, reduction)


@composite(where="nn", autocast="float32")
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Flag | None = None,
    reduce: Flag | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, distance(anchor, positive) - distance(anchor, negative) + margin)."""
    from ..matrix.norms import pairwise_distance

    reduction = reduction_asked(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            "dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D "
            "inputs"
        )
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return reduce_loss((margin + near - far).clamp_min(0), reduction)


@composite(where="nn")
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Any = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with a distance of the caller's."""
    from ..matrix.norms import pairwise_distance

    distance = distance_function or pairwise_distance
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduce_loss((margin + near - far).clamp_min(0), reduction)


# ---- likelihoods


@composite(where="nn", autocast="float32")
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: Flag | None = None,
    eps: float = 1e-8,
    reduce: Flag | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood of a Poisson distribution; full adds Stirling's term."""
    reduction = reduction_asked(size_average, reduce, reduction)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        few = target <= 1
        many = unless(few, target, 1)
        stirling = many * many.log() - many + 0.5 * (2 * math.pi * many).log()
        loss = loss + unless(few, stirling, 0)
    return reduce_loss(loss, reduction)


@composite(where="nn")
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Any,
    full: Flag = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood of a normal distribution of mean input and variance var."""
    if not isinstance(var, _core.Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = input.detach() * 0 + var
    elif anywhere(var < 0):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if tuple(input.shape[:-1]) == tuple(var.shape):
            var = var.unsqueeze(-1)
        elif not (tuple(input.shape[:-1]) == tuple(var.shape[:-1]) and var.shape[-1] == 1):
            raise ValueError("var is of incorrect size")
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not valid")
    if not (var.is_floating_point() or var.is_complex()):
        _core.refuse_cast("Float", var.dtype.c_name)
    # The floor under the variance has no gradient of its own.
    floored = var + (eps - var.detach()).clamp_min(0)
    loss = 0.5 * (floored.log() + (input - target) ** 2 / floored)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduce_loss(loss, reduction)
