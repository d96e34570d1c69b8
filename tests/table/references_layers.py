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


def conv_tbc(a: Array, weight: Array, bias: Array, pad: int = 0) -> Array:
    """A convolution over dimension 0 of (time, batch, channels)."""
    padded = np.pad(a, ((pad, pad), (0, 0), (0, 0)))
    taps = len(weight)
    times = range(len(padded) - taps + 1)
    return np.stack([sum(padded[t + k] @ weight[k] for k in range(taps)) + bias for t in times])


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


# ---- windows


def windows(
    a: Array, kernel: Any, stride: Any, padding: Any, dilation: Any, fill: float, ceil: bool = False
) -> tuple[Array, Array]:
    """The windows over the last dimensions, one at each place, and how many there are."""
    n = len(kernel)
    lead = [(0, 0)] * (a.ndim - n)
    # What a last window that hangs over in ceil mode reads beyond the padding.
    room = [(k - 1) * d + s for k, d, s in zip(kernel, dilation, stride, strict=True)]
    wide = [(p, p + (r if ceil else 0)) for p, r in zip(padding, room, strict=True)]
    padded = np.pad(a, lead + wide, constant_values=fill)
    counts = []
    for i in range(n):
        size, p, s = a.shape[a.ndim - n + i], padding[i], stride[i]
        last = size + 2 * p - (kernel[i] - 1) * dilation[i] - 1
        count = (-(-last // s) if ceil else last // s) + 1
        # The last window must start within the input or the padding before it.
        counts.append(count - (ceil and (count - 1) * s >= size + p))
    out = np.empty((*a.shape[: a.ndim - n], *counts, *kernel), a.dtype)
    for place in np.ndindex(*counts):
        for tap in np.ndindex(*kernel):
            at = tuple(
                o * s + k * d for o, s, k, d in zip(place, stride, tap, dilation, strict=True)
            )
            out[(..., *place, *tap)] = padded[(..., *at)]
    return out, np.array(counts)


def convolution(
    x: Array, weight: Array, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Array:
    n = weight.ndim - 2
    single = x.ndim == n + 1
    x = x[None] if single else x
    seen, _ = windows(x, weight.shape[2:], stride, padding, dilation, 0.0)
    per_group = x.shape[1] // groups
    outs = weight.shape[0] // groups
    pieces = []
    for g in range(groups):
        part = seen[:, g * per_group : (g + 1) * per_group]
        kernel = weight[g * outs : (g + 1) * outs]
        axes = [1, *range(2 + n, 2 + 2 * n)]
        product = np.tensordot(part, kernel, (axes, list(range(1, n + 2))))
        pieces.append(np.moveaxis(product, -1, 1))
    out = np.concatenate(pieces, 1)
    if bias is not None:
        out = out + bias.reshape(-1, *[1] * n)
    return out[0] if single else out


def max_pool(a: Array, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool) -> Any:
    seen, _ = windows(a, kernel, stride, padding, dilation, -np.inf, ceil)
    return seen.max(tuple(range(-len(kernel), 0))), None


def avg_pool(
    a: Array, kernel: Any, stride: Any, padding: Any, ceil: bool, include: bool, divisor: Any
) -> Array:
    n = len(kernel)
    ones = (1,) * n
    axes = tuple(range(-n, 0))
    total = windows(a, kernel, stride, padding, ones, 0.0, ceil)[0].sum(axes)
    if divisor is not None:
        return total / divisor
    inside = np.ones_like(a)
    if include:
        lead = [(0, 0)] * (a.ndim - n)
        inside = np.pad(inside, lead + [(p, p) for p in padding], constant_values=1.0)
        padding = (0,) * n
    # Elements of a window beyond the padding never count.
    count = windows(inside, kernel, stride, padding, ones, 0.0, ceil)[0].sum(axes)
    return total / count[tuple(slice(s) for s in total.shape)]


def adaptive(f: Callable[..., Any]) -> Callable[..., Any]:
    """Window i of n covers floor(i * size / n) to ceil((i + 1) * size / n)."""

    def pool(a: Array, output_size: Any) -> Any:
        n = len(output_size)
        out = np.empty((*a.shape[: a.ndim - n], *output_size), a.dtype)
        for place in np.ndindex(*output_size):
            spans = []
            for i, count, size in zip(place, output_size, a.shape[-n:], strict=True):
                spans.append(slice(i * size // count, -(-(i + 1) * size // count)))
            out[(..., *place)] = f(a[(..., *spans)], tuple(range(-n, 0)))
        return out

    return pool


# ---- norms and distances


def standardised(a: Array, axes: Any, eps: float) -> Array:
    mean, var = a.mean(axes, keepdims=True), a.var(axes, keepdims=True)
    return (a - mean) / np.sqrt(var + eps)


def scaled(a: Array, weight: Any, bias: Any) -> Array:
    a = a if weight is None else a * weight
    return a if bias is None else a + bias


def layer_norm(a: Array, n: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    out = scaled(standardised(a, tuple(range(-n, 0)), eps), weight, bias)
    return out, None, None


def by_channel(a: Array, values: Any) -> Any:
    return None if values is None else values.reshape(-1, *[1] * (a.ndim - 2))


def batch_norm(
    a: Array,
    weight: Any = None,
    bias: Any = None,
    mean: Any = None,
    var: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    if training:
        out = standardised(a, (0, *range(2, a.ndim)), eps)
    else:
        out = (a - by_channel(a, mean)) / np.sqrt(by_channel(a, var) + eps)
    return scaled(out, by_channel(a, weight), by_channel(a, bias)), None, None


def group_norm(
    a: Array, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    out = standardised(a.reshape(a.shape[0], groups, -1), -1, eps).reshape(a.shape)
    return scaled(out, by_channel(a, weight), by_channel(a, bias)), None, None


def vector_norm(
    a: Array, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    size = np.abs(a)
    dims = tuple(range(a.ndim)) if dim is None else dim
    if ord == np.inf or ord == -np.inf:
        return (size.max if ord > 0 else size.min)(axis=dims, keepdims=keepdim)
    if ord == 0:
        return (size != 0).sum(axis=dims, keepdims=keepdim) * 1.0
    return (size**ord).sum(axis=dims, keepdims=keepdim) ** (1 / ord)


def cdist(a: Array, b: Array, p: float = 2.0) -> Array:
    return vector_norm(a[..., :, None, :] - b[..., None, :, :], p, -1)


def pixel_shuffle(a: Array, r: int) -> Array:
    *lead, c, h, w = a.shape
    a = a.reshape(*lead, c // r**2, r, r, h, w)
    n = len(lead)
    a = np.transpose(a, [*range(n), n, n + 3, n + 1, n + 4, n + 2])
    return a.reshape(*lead, c // r**2, h * r, w * r)


def pixel_unshuffle(a: Array, r: int) -> Array:
    *lead, c, h, w = a.shape
    a = a.reshape(*lead, c, h // r, r, w // r, r)
    n = len(lead)
    a = np.transpose(a, [*range(n), n, n + 2, n + 4, n + 1, n + 3])
    return a.reshape(*lead, c * r**2, h // r, w // r)


def channel_shuffle(a: Array, groups: int) -> Array:
    return np.stack(np.split(a, groups, 1), 2).reshape(a.shape)


NN: dict[str, Callable[..., Any]] = {
    # activations
    "relu": lambda a, inplace=False: a * (a > 0),
    "relu6": lambda a, inplace=False: np.clip(a, 0, 6),
    "hardtanh": lambda a, min_val=-1.0, max_val=1.0, inplace=False: np.clip(a, min_val, max_val),
    "threshold": lambda a, threshold, value, inplace=False: np.where(
        a > threshold, a, value
    ).astype(a.dtype),
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
    "_soft_margin_loss": lambda a, b, reduction: reduced(np.log1p(np.exp(-a * b)), reduction),
    # layers
    "_convolution": convolution,
    "_max_pool1d": max_pool,
    "_max_pool2d": max_pool,
    "_max_pool3d": max_pool,
    "_avg_pool1d": avg_pool,
    "_avg_pool2d": avg_pool,
    "_avg_pool3d": avg_pool,
    "_adaptive_avg_pool1d": adaptive(np.mean),
    "_adaptive_avg_pool2d": adaptive(np.mean),
    "_adaptive_avg_pool3d": adaptive(np.mean),
    "_adaptive_max_pool1d": lambda a, size: (adaptive(np.max)(a, size), None),
    "_adaptive_max_pool2d": lambda a, size: (adaptive(np.max)(a, size), None),
    "_adaptive_max_pool3d": lambda a, size: (adaptive(np.max)(a, size), None),
    "_native_layer_norm": layer_norm,
    "_native_batch_norm": batch_norm,
    "_native_group_norm": group_norm,
    "_vector_norm": vector_norm,
    "_cdist": cdist,
    "_embedding": lambda weight, indices, padding_idx: weight[indices],
    "pixel_shuffle": pixel_shuffle,
    "pixel_unshuffle": pixel_unshuffle,
    "channel_shuffle": channel_shuffle,
    # losses as programs call them
    "mse_loss": lambda a, b, *, reduction="mean": reduced((a - b) ** 2, reduction),
    "l1_loss": lambda a, b, *, reduction="mean": reduced(np.abs(a - b), reduction),
    "smooth_l1_loss": lambda a, b, *, reduction="mean", beta=1.0: smooth_l1(a, b, reduction, beta),
    "huber_loss": lambda a, b, *, reduction="mean", delta=1.0: huber(a, b, reduction, delta),
    "nll_loss": nll,
    "binary_cross_entropy": bce,
    "binary_cross_entropy_with_logits": bce_with_logits,
    "soft_margin_loss": lambda a, b: np.mean(np.log1p(np.exp(-a * b))),
    "layer_norm": lambda a, shape, weight=None, bias=None: layer_norm(a, len(shape), weight, bias)[
        0
    ],
    "group_norm": lambda *args: group_norm(*args)[0],
    "cosine_similarity": lambda a, b: (
        (a * b).sum(1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))
    ),
    "embedding": lambda ids, weight, *_: weight[ids],
    "conv_tbc": conv_tbc,
    "native_dropout": lambda a, p, train: (a, np.ones(a.shape, bool)),  # sampled without training
    "native_channel_shuffle": channel_shuffle,
    "fake_quantize_per_tensor_affine": lambda a, scale, zero, low, high: (
        (np.clip(np.rint(a / a.dtype.type(scale)) + zero, low, high) - zero) * a.dtype.type(scale)
    ),
}
