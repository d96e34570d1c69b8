"""References of the functions of neural networks; see `references.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

Array = np.ndarray


def floating(a: Array) -> Array:
    """Integers as float64."""
    return np.asarray(a) * 1.0 if np.asarray(a).dtype.kind in "biu" else np.asarray(a)


def reduced(values: Array, reduction: str | int, weight: Any = None) -> Any:
    if isinstance(reduction, int):
        reduction = ("none", "mean", "sum")[reduction]
    if reduction == "none":
        return values
    if reduction == "sum":
        return values.sum()
    return values.mean() if weight is None else values.sum() / weight.sum()


# ---- losses


def smooth_l1(a: Array, b: Array, reduction: str, beta: float) -> Any:
    d = np.abs(a - b)
    return reduced(np.where(d < beta, d * d / 2 / beta, d - beta / 2), reduction)


def huber(a: Array, b: Array, reduction: str, delta: float) -> Any:
    return reduced(scipy.special.huber(delta, floating(a - b)), reduction)


def nll(
    a: Array, target: Array, weight: Any = None, ignore_index: int = -100, reduction: Any = "mean"
) -> Any:
    a = np.moveaxis(a, 1, -1) if a.ndim > 1 else a
    weight = np.ones(a.shape[-1]) if weight is None else weight
    used = target != ignore_index
    index = np.where(used, target, 0)
    each = np.where(used, weight[index], 0)
    values = -each * np.take_along_axis(a, index[..., None], -1)[..., 0]
    return reduced(values, reduction, each)


def bce(a: Array, b: Array, weight: Any = None, reduction: str = "mean") -> Any:
    values = -(scipy.special.xlogy(b, a) + scipy.special.xlog1py(1 - b, -a))
    return reduced(values if weight is None else values * weight, reduction)


def bce_with_logits(
    a: Array, b: Array, weight: Any = None, pos_weight: Any = None, reduction: str = "mean"
) -> Any:
    a = floating(a)
    yes, no = scipy.special.log_expit(a), scipy.special.log_expit(-a)
    values = -(b * yes * (1 if pos_weight is None else pos_weight) + (1 - b) * no)
    return reduced(values if weight is None else values * weight, reduction)


# ---- activations


def gelu(a: Array, *, approximate: str = "none") -> Array:
    if approximate == "none":
        return a * scipy.special.ndtr(a)
    return a * (1 + np.tanh(np.sqrt(2 / np.pi) * (a + 0.044715 * a**3))) / 2


def softplus(a: Array, beta: float = 1.0, threshold: float = 20.0) -> Array:
    return np.where(a * beta > threshold, a, np.logaddexp(0, beta * a) / beta)


def elu(a: Array, alpha: float = 1.0, inplace: bool = False) -> Array:
    return np.where(a > 0, a, alpha * np.expm1(np.minimum(a, 0)))


def selu(a: Array, inplace: bool = False) -> Array:
    # The constants of self-normalizing networks: mean 0 and variance 1 are a fixed point.
    return 1.0507009873554805 * elu(a, 1.6732632423543772)


def leaky_relu(a: Array, negative_slope: float = 0.01, inplace: bool = False) -> Array:
    return np.where(a > 0, a, negative_slope * a)


def prelu(a: Array, weight: Array) -> Array:
    if weight.size > 1:
        weight = weight.reshape(-1, *[1] * (a.ndim - 2))
    return np.where(a > 0, a, weight * a)


def softshrink(a: Array, lambd: float = 0.5) -> Array:
    return np.sign(a) * np.maximum(np.abs(a) - lambd, 0)


def hardsigmoid(a: Array, inplace: bool = False) -> Array:
    return np.clip(a / 6 + 0.5, 0, 1)


def glu(a: Array, dim: int = -1) -> Array:
    value, gate = np.split(a, 2, dim)
    return value * scipy.special.expit(gate)


NN: dict[str, Callable[..., Any]] = {
    # activations
    "relu": lambda a, inplace=False: a * (a > 0),
    "relu6": lambda a, inplace=False: np.clip(a, 0, 6),
    "hardtanh": lambda a, min_val=-1.0, max_val=1.0, inplace=False: np.clip(a, min_val, max_val),
    "threshold": lambda a, threshold, value, inplace=False: np.where(a > threshold, a, value),
    "leaky_relu": leaky_relu,
    "prelu": prelu,
    "rrelu": lambda a, *_: leaky_relu(a, (1 / 8 + 1 / 3) / 2),
    "elu": elu,
    "selu": selu,
    "celu": lambda a, alpha=1.0, inplace=False: np.where(a > 0, a, alpha * np.expm1(a / alpha)),
    "gelu": gelu,
    "_gelu_by_tanh": lambda a, **_: gelu(a, approximate="tanh"),
    "silu": lambda a, inplace=False: a / (1 + np.exp(-a)),
    "mish": lambda a, inplace=False: a * np.tanh(softplus(a)),
    "softplus": softplus,
    "logsigmoid": lambda a: -np.logaddexp(0, -a),
    "softsign": lambda a: a / (1 + np.abs(a)),
    "tanhshrink": lambda a: a - np.tanh(a),
    "softshrink": softshrink,
    "hardshrink": lambda a, lambd=0.5: np.where(np.abs(a) > lambd, a, 0),
    "hardsigmoid": hardsigmoid,
    "hardswish": lambda a, inplace=False: a * hardsigmoid(a),
    "glu": glu,
    # losses
    "_mse_loss": lambda a, b, reduction: reduced((a - b) ** 2, reduction),
    "_smooth_l1_loss": smooth_l1,
    "_huber_loss": huber,
    "_nll_loss": nll,
    "_nll_loss2d": nll,
    "_binary_cross_entropy": bce,
    "_binary_cross_entropy_with_logits": bce_with_logits,
    "_soft_margin_loss": lambda a, b, reduction: reduced(np.logaddexp(0, -a * b), reduction),
}
