"""What every public op computes, said a second time: by NumPy, SciPy, or a few plain lines.

`REFERENCES[name]` takes the op's arguments with ndarrays for tensors (floating-point ones as float64
or complex128) and gives an array, a number or a tuple of them; None in a tuple is not compared.
Nothing here may use the library. A function that NumPy or `scipy.special` has by the same name, with
the same number of arguments, needs no row: `reference` finds it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special

Array = np.ndarray


def reference(name: str, n_numbers: int) -> Callable[..., Any] | None:
    """The reference of an op; n_numbers: of a pointwise op how many arguments it has, else 0."""
    if name in REFERENCES:
        return REFERENCES[name]
    for module in (np, scipy.special):
        found = getattr(module, name, None)
        if isinstance(found, np.ufunc) and found.nin == n_numbers and found.nout == 1:
            return found
    return None


# ---- helpers


def floating(a: Array) -> Array:
    """Integers as float64."""
    return np.asarray(a) * 1.0 if np.asarray(a).dtype.kind in "biu" else np.asarray(a)


def dims_of(dim: Any, ndim: int) -> tuple[int, ...]:
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    return tuple(d % max(ndim, 1) for d in (dim if isinstance(dim, (tuple, list)) else (dim,)))


def reducing(f: Callable[..., Any], floats: bool = False) -> Callable[..., Any]:
    """A reduction f(array, axis=, keepdims=) with torch's arguments."""

    def reduce(a: Array, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        a = floating(a) if floats else a
        axes = dims_of(dim, a.ndim) if a.ndim else ()
        return f(a, axis=axes, keepdims=keepdim)

    return reduce


def one_dim(f: Callable[[Array, int], Any]) -> Callable[..., Any]:
    """f(array, axis) of torch's (input, dim), with 0-d arrays as if of one dimension."""

    def along(a: Array, dim: int, *_: Any, **__: Any) -> Any:
        return f(a, dim) if a.ndim else f(a.reshape(1), 0).reshape(())

    return along


def sizes(*size: Any) -> tuple[int, ...]:
    """`(2, 3)` and `((2, 3),)` as one tuple."""
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size


def sign(a: Array) -> Array:
    if a.dtype.kind != "c":
        return np.sign(a)
    size = np.abs(a)
    return np.where(size == 0, 0, a / np.where(size == 0, 1, size))


def reduced(values: Array, reduction: str, weight: Any = None) -> Any:
    if reduction == "none":
        return values
    if reduction == "sum":
        return values.sum()
    return values.mean() if weight is None else values.sum() / weight.sum()


# ---- arithmetic


def add(a: Any, b: Any, *, alpha: float = 1) -> Any:
    return np.add(a, np.multiply(alpha, b)) if np.ndim(a) + np.ndim(b) >= 0 else None


def subtract(a: Any, b: Any, *, alpha: float = 1) -> Any:
    return np.subtract(a, np.multiply(alpha, b))


def divide(a: Any, b: Any, *, rounding_mode: str | None = None) -> Any:
    quotient = np.true_divide(a, b)
    if rounding_mode is None:
        return quotient
    return np.floor(quotient) if rounding_mode == "floor" else np.trunc(quotient)


def clamp(a: Array, min: Any = None, max: Any = None) -> Array:
    a = a if min is None else np.maximum(a, min)
    return a if max is None else np.minimum(a, max)


def round_(a: Array, *, decimals: int = 0) -> Array:
    return np.round(a, decimals)


def lerp(a: Array, end: Array, weight: Any) -> Array:
    return (1 - weight) * a + weight * end


def addcmul(a: Array, b: Array, c: Array, *, value: float = 1) -> Array:
    return a + value * (b * c)


def addcdiv(a: Array, b: Array, c: Array, *, value: float = 1) -> Array:
    return a + value * (b / c)


def nan_to_num(a: Array, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Array:
    return np.nan_to_num(a, nan=nan or 0.0, posinf=posinf, neginf=neginf)


# ---- products of matrices


def addmm(c: Array, a: Array, b: Array, *, beta: float = 1, alpha: float = 1) -> Array:
    return beta * c + alpha * (a @ b)


def addr(c: Array, a: Array, b: Array, *, beta: float = 1, alpha: float = 1) -> Array:
    return beta * c + alpha * np.outer(a, b)


def addbmm(c: Array, a: Array, b: Array, *, beta: float = 1, alpha: float = 1) -> Array:
    return beta * c + alpha * (a @ b).sum(0)


def linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    y = np.einsum("...i,oi->...o", x, weight) if weight.ndim > 1 else x @ weight
    return y if bias is None else y + bias


def cross(a: Array, b: Array, *, dim: int = -1) -> Array:
    a, b = np.broadcast_arrays(a, b)
    return np.cross(a, b, axis=dim)


# ---- shapes


def expand(a: Array, *size: Any, implicit: bool = False) -> Array:
    wanted = list(sizes(*size))
    new = len(wanted) - a.ndim
    shape = [a.shape[i - new] if s == -1 else s for i, s in enumerate(wanted)]
    return np.broadcast_to(a, shape)


def squeeze(a: Array, dim: Any = None) -> Array:
    dims = dims_of(dim, a.ndim) if a.ndim else ()
    return a.squeeze(tuple(d for d in dims if a.shape[d] == 1))


def slice_(a: Array, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Array:
    return np.moveaxis(np.moveaxis(a, dim, 0)[start:end:step], 0, dim)


def narrow(a: Array, dim: int, start: Any, length: int) -> Array:
    return np.take(a, range(int(start), int(start) + length), dim)


def diagonal(a: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    return np.diagonal(a, offset, dim1, dim2)


def unfold(a: Array, dimension: int, size: int, step: int) -> Array:
    if not a.ndim:
        return a.reshape(1)
    windows = np.lib.stride_tricks.sliding_window_view(a, size, dimension)
    return np.take(windows, range(0, a.shape[dimension] - size + 1, step), dimension)


def split(a: Array, split_size: Any, dim: int = 0) -> tuple[Array, ...]:
    n = a.shape[dim]
    if isinstance(split_size, int):
        at = list(range(split_size, n, split_size)) if split_size else []
    else:
        at = list(np.cumsum(split_size)[:-1])
    return tuple(np.split(a, at, dim))


def chunk(a: Array, chunks: int, dim: int = 0) -> tuple[Array, ...]:
    return split(a, -(-a.shape[dim] // chunks), dim)


def tensor_split(a: Array, parts: Any, dim: int = 0) -> tuple[Array, ...]:
    parts = parts if isinstance(parts, int) else list(np.asarray(parts))
    return tuple(np.array_split(a, parts, dim))


def unbind(a: Array, dim: int = 0) -> tuple[Array, ...]:
    return tuple(np.moveaxis(a, dim, 0))


def flatten(a: Array, start_dim: int = 0, end_dim: int = -1) -> Array:
    if not a.ndim:
        return a.reshape(1)
    first, last = start_dim % a.ndim, end_dim % a.ndim
    return a.reshape(*a.shape[:first], -1, *a.shape[last + 1 :])


def unflatten(a: Array, dim: int, sizes: Any) -> Array:
    d = dim % a.ndim
    return a.reshape(*a.shape[:d], *sizes, *a.shape[d + 1 :])


def sum_to(a: Array, shape: Any) -> Array:
    lead = a.ndim - len(shape)
    a = a.sum(tuple(range(lead)))
    return a.sum(tuple(i for i, s in enumerate(shape) if s == 1 and a.shape[i] != 1), keepdims=True)


def as_strided(a: Array, size: Any, stride: Any, storage_offset: int = 0, *_: Any) -> Array:
    flat = a.reshape(-1)
    at = storage_offset + sum(i * s for i, s in zip(np.indices(size), stride, strict=True))
    return flat[np.asarray(at, int)]


def as_strided_scatter(
    a: Array, src: Array, size: Any, stride: Any, offset: int = 0, *_: Any
) -> Array:
    where = as_strided(np.arange(a.size), size, stride, offset)
    flat = a.reshape(-1).copy()
    flat[where] = src
    return flat.reshape(a.shape)


# ---- losses


def smooth_l1(a: Array, b: Array, reduction: str, beta: float) -> Any:
    d = np.abs(a - b)
    return reduced(np.where(d < beta, d * d / 2 / beta, d - beta / 2), reduction)


def huber(a: Array, b: Array, reduction: str, delta: float) -> Any:
    return reduced(scipy.special.huber(delta, floating(a - b)), reduction)


def nll(
    a: Array, target: Array, weight: Any = None, reduction: str = "mean", ignore_index: int = -100
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


REFERENCES: dict[str, Callable[..., Any]] = {
    # arithmetic
    "add": add,
    "sub": subtract,
    "rsub": lambda a, b, *, alpha=1: subtract(b, a, alpha=alpha),
    "mul": np.multiply,
    "div": divide,
    "neg": np.negative,
    "abs": np.abs,
    "sgn": sign,
    "positive": np.positive,
    "square": lambda a: a * a,
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "reciprocal": lambda a: 1 / floating(a),
    "pow": lambda a, b: np.power(a, b),
    "float_power": lambda a, b: np.power(floating(a), b),
    "floor_divide": np.floor_divide,
    "clamp": clamp,
    "clamp_min": np.maximum,
    "clamp_max": np.minimum,
    "clip": clamp,
    "round": round_,
    "frac": lambda a: a - np.trunc(a),
    "lerp": lerp,
    "addcmul": addcmul,
    "addcdiv": addcdiv,
    "nan_to_num": nan_to_num,
    "ldexp": lambda a, b: a * 2.0**b,
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "deg2rad": lambda a: a * (math.pi / 180),
    "rad2deg": lambda a: a * (180 / math.pi),
    "isreal": lambda a: np.imag(a) == 0,
    "isposinf": lambda a: a == np.inf,
    "isneginf": lambda a: a == -np.inf,
    "where": np.where,
    "masked_fill": lambda a, mask, value: np.where(mask, value, a),
    "relu": lambda a: a * (a > 0),
    # elementary functions under torch's names
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
    "logical_not": np.logical_not,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    # products of matrices
    "matmul": np.matmul,
    "mm": np.dot,
    "bmm": lambda a, b: np.einsum("bij,bjk->bik", a, b),
    "mv": np.dot,
    "dot": np.dot,
    "vdot": np.vdot,
    "addmm": addmm,
    "addmv": addmm,
    "addr": addr,
    "baddbmm": addmm,
    "addbmm": addbmm,
    "linear": linear,
    "_linear_bias": linear,
    "_linalg_cross": cross,
    "trace": np.trace,
    # softmax
    "softmax": one_dim(scipy.special.softmax),
    "log_softmax": one_dim(scipy.special.log_softmax),
    "logsumexp": lambda a, dim, keepdim=False: scipy.special.logsumexp(a, dim, keepdims=keepdim),
    # shapes
    "view": lambda a, *size: a.reshape(sizes(*size)),
    "reshape": lambda a, *size: a.reshape(sizes(*size)),
    "flatten": flatten,
    "unflatten": unflatten,
    "ravel": lambda a: a.ravel(),
    "squeeze": squeeze,
    "unsqueeze": lambda a, dim: np.expand_dims(a, dim),
    "transpose": lambda a, i, j: np.swapaxes(a, i, j) if a.ndim else a,
    "t": np.transpose,
    "adjoint": lambda a: np.conj(np.swapaxes(a, -1, -2)),
    "permute": lambda a, *dims: np.transpose(a, sizes(*dims)),
    "movedim": np.moveaxis,
    "expand": expand,
    "broadcast_to": lambda a, size: np.broadcast_to(a, size),
    "sum_to": sum_to,
    "select": lambda a, dim, index: np.take(a, index, dim),
    "_slice": slice_,
    "narrow": narrow,
    "diagonal": diagonal,
    "unfold": unfold,
    "alias": lambda a: a,
    "clone": lambda a, **_: a,
    "cat": lambda arrays, dim=0: np.concatenate(arrays, dim),
    "stack": lambda arrays, dim=0: np.stack(arrays, dim),
    "split": split,
    "_split": split,
    "split_with_sizes": split,
    "chunk": chunk,
    "tensor_split": tensor_split,
    "unbind": unbind,
    "as_strided": as_strided,
    "strided_view": as_strided,
    "as_strided_scatter": as_strided_scatter,
    "view_scatter": as_strided_scatter,
    # reductions
    "sum": reducing(np.sum),
    "mean": reducing(np.mean),
    "fill": lambda a, value: np.full_like(a, value),
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
