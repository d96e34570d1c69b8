"""Losses of torch.nn.functional that want a margin between a sample's classes and the others."""

from __future__ import annotations

from ... import _core
from ..._base.outside import np
from ..elementwise.selection import where
from ..table.arrays import Array, listed, refuse, scalar_name
from ..table.kinds import composite, general
from ..table.signature import Flag, Tensor
from .activation import logsigmoid
from .loss import (
    OVER_N,
    REDUCTIONS,
    loss_samples,
    operands,
    reduce_array,
    reduce_loss,
    reduction_asked,
    share_of,
)

_kernels = _core.kernels


def _soft_margin(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    x, y, common = operands(input, target, "soft_margin_loss")
    return reduce_loss(-logsigmoid(y * x), reduction).to(common)


_soft_margin_loss = general(
    "_soft_margin_loss(input: Tensor, target: Tensor, reduction: Any)",
    is_=_soft_margin,
    vjp={
        "input": lambda g, input, target, reduction: (
            share_of(g, reduction, input.numel()) * (-target * (-target * input).sigmoid())
        ),
        "target": lambda g, input, target, reduction: (
            share_of(g, reduction, input.numel()) * (-input * (-target * input).sigmoid())
        ),
    },
    method=False,
    samples=loss_samples,
    formula={
        "input": f"−target · sigmoid(−target · input){OVER_N}",
        "target": f"−input · sigmoid(−target · input){OVER_N}",
    },
    doc="log(1 + exp(-target * input)).",
)


@composite(where="nn", autocast="float32")
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Flag | None = None,
    reduce: Flag | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target * input)); targets are 1 and -1."""
    reduction = reduction_asked(size_average, reduce, reduction)
    return _soft_margin_loss(input, target, reduction)


def _check_samples(shape: tuple[int, ...]) -> None:
    if len(shape) > 2 or 0 in shape[-1:]:
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{listed(shape)}"
        )


def _samples(x: Tensor) -> Tensor:
    """One sample or a batch of them as a matrix, a row for each."""
    return x if x.ndim == 2 else x.reshape(1, x.numel())


def _multi_margin(
    input: Array, target: Array, weight: Array | None, p: int, margin: float, reduction: str
) -> Array:
    refuse("multi_margin_loss_cpu_kernel", input, "biuc", halves=True)
    _check_samples(input.shape)
    x, t = np.atleast_2d(input), target.reshape(target.size, 1)
    if target.ndim > 1 or len(t) != len(x):
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of "
            f"input samples (batch size). Expected target size [{len(x)}], but got "
            f"{listed(target.shape)}. Input has shape {listed(input.shape)}."
        )
    if target.dtype != np.int64:
        raise RuntimeError(f"expected scalar type Long but found {scalar_name(target)}")
    if weight is not None and weight.dtype != x.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_name(x)} but found {scalar_name(weight)}. The weights "
            "are numbers of the input's type"
        )
    if weight is not None and weight.shape != x.shape[1:]:
        raise RuntimeError(
            f"inconsistent weight size, expected {x.shape[1]} but got {listed(weight.shape)}"
        )
    if ((t < 0) | (t >= x.shape[1])).any():
        raise RuntimeError(f"target out of range. The classes are 0 to {x.shape[1] - 1}")
    excess = margin - np.take_along_axis(x, t, 1) + x
    excess = np.where(excess > 0, excess, 0) ** p
    if weight is not None:
        excess = excess * weight[t]
    np.put_along_axis(excess, t, 0, 1)
    loss = excess.sum(1) / x.shape[1]
    return reduce_array(loss if target.ndim else loss[0], reduction, input.dtype)


def _multi_margin_rule(
    g: Tensor,
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    p: int,
    margin: float,
    reduction: str,
) -> Tensor:
    x, t = _samples(input), target.reshape(target.numel(), 1)
    excess = margin - x.gather(1, t) + x
    slope = where(excess > 0, 1 if p == 1 else 2 * excess, 0).to(x.dtype)
    if weight is not None:
        slope = slope * weight[t]
    slope = slope.scatter(1, t, 0.0)
    slope = slope.scatter_add(1, t, -slope.sum(1, keepdim=True)) / x.shape[1]
    share = share_of(g, reduction, target.numel())
    return ((share.unsqueeze(-1) if share.ndim else share) * slope).reshape(input.shape)


_multi_margin_loss = general(
    "_multi_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, p: Any, "
    "margin: Any, reduction: Any)",
    _multi_margin,
    native=_kernels.multi_margin_loss,
    backward=(
        _kernels.multi_margin_loss_backward,
        "g input target weight p margin reduction",
    ),
    vjp={"input": _multi_margin_rule},
    method=False,
    samples=lambda make: [
        (make(3, 4), make(3, kind="int", low=0, high=4), None, 1, 1.0, "mean"),
        (make(3, 4), make(3, kind="int", low=0, high=4), make(4, kind="fixed"), 2, 0.5, "none"),
        (make(4), make(kind="int", low=0, high=4), None, 2, 1.0, "sum"),
    ],
    doc="By how much other classes come too near to the target's.",
)


@composite(where="nn", autocast="float32")
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: Flag | None = None,
    reduce: Flag | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The sum over the other classes of max(0, margin - input[target] + input[i]) ** p, over the
    number of classes."""
    reduction = reduction_asked(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError(f"weight must be one-dimensional: it has {weight.ndim} dimensions")
    if weight is not None and weight.requires_grad and _core.is_grad_enabled():
        raise RuntimeError(
            "The function 'multi_margin_loss' is not differentiable with respect to argument "
            "'weight'. This input cannot have requires_grad True."
        )
    return _multi_margin_loss(input, target, weight, p, margin, reduction)


def _labels(input: Tensor, target: Tensor) -> tuple[Tensor, ...]:
    """The samples, their labels (0 behind the last), and where a label meets another class."""
    x, t = _samples(input), _samples(target)
    labels = (t >= 0).cumprod(1).bool()  # those before the first -1
    safe = t.masked_fill(~labels, 0)
    is_label = ((x * 0).detach().scatter_add(1, safe, labels.to(x.dtype))) > 0
    return x, safe, labels.unsqueeze(2) & ~is_label.unsqueeze(1)


def _multilabel_margin(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    x, safe, kept = _labels(input, target)
    excess = (1 - x.gather(1, safe).unsqueeze(2) + x.unsqueeze(1)).relu()
    loss = excess.masked_fill(~kept, 0.0).sum((1, 2)) / x.shape[1]
    return reduce_loss(loss.squeeze(0) if target.ndim < 2 else loss, reduction)


def _multilabel_margin_rule(g: Tensor, input: Tensor, target: Tensor, reduction: str) -> Tensor:
    x, safe, kept = _labels(input, target)
    hits = (((1 - x.gather(1, safe).unsqueeze(2) + x.unsqueeze(1)) > 0) & kept).to(x.dtype)
    slope = hits.sum(1).scatter_add(1, safe, -hits.sum(2)) / x.shape[1]
    share = share_of(g, reduction, x.shape[0])
    return ((share.unsqueeze(-1) if share.ndim else share) * slope).reshape(input.shape)


_multilabel_margin_loss = general(
    "_multilabel_margin_loss(input: Tensor, target: Tensor, reduction: Any)",
    is_=_multilabel_margin,
    native=_kernels.multilabel_margin_loss,
    vjp={"input": _multilabel_margin_rule},
    backward=(_kernels.multilabel_margin_loss_backward, "g input target reduction"),
    node="MultilabelMarginLossBackward0",
    method=False,
    samples=lambda make: [
        (make(3, 4), make(3, 4, kind="int", low=-1, high=4), reduction)
        for reduction in ("mean", "none")
    ],
    doc="By how much other classes come too near to the labels.",
)


@composite(where="nn", autocast="float32")
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Flag | None = None,
    reduce: Flag | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The sum over a sample's labels t and its other classes i of max(0, 1 - input[t] + input[i]),
    over the number of classes."""
    reduction = reduction_asked(size_average, reduce, reduction)
    refuse("multilabel_margin_loss_forward_out_frame", input._form, "biuc", halves=True)
    _check_samples(input.shape)
    if target.numel() != input.numel() or (
        max(input.ndim, target.ndim) > 1 and (target.shape != input.shape)
    ):
        raise RuntimeError(
            f"inconsistent target size: {listed(target.shape)} for input of size: "
            f"{listed(input.shape)}"
        )
    x, t = _samples(input), _samples(target)
    if ((t < -1) | (t >= x.shape[1])).any():
        raise RuntimeError(
            "argument #2 'target' is out of range. "
            f"The labels are 0 to {x.shape[1] - 1}, and -1 ends a list of them"
        )
    if target._form.dtype.name != "int64":
        raise RuntimeError(f"expected scalar type Long but found {scalar_name(target._form)}")
    return _multilabel_margin_loss(input, target, reduction)


@composite(where="nn")
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Flag | None = None,
    reduce: Flag | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over the classes of the cross-entropy of each, as of a logit."""
    if size_average is not None or reduce is not None:
        reduction = reduction_asked(size_average, reduce, reduction)
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not valid")
    refuse("log_sigmoid_cpu", input._form, "biuc")
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return reduce_loss(loss.sum(-1) / input.size(-1), reduction)
