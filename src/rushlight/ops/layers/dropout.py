"""Dropout: elements or channels set to zero at random while training.

On the CPU the masks are drawn from the default generator as PyTorch draws them, so a seed gives the
same ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import _core
from ..._base.errors import warn
from ..._devices import of
from ..._devices.generator import fill
from ..._levels.running import draws
from ..making.creation import empty_like
from ..table.arrays import refuse
from ..table.kinds import composite
from ..table.reference import alias
from ..table.signature import Flag, Tensor, dtype

_kernels = _core.kernels


def _check(p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def check_float(input: Tensor) -> None:
    if input.is_complex():
        refuse("bernoulli_scalar_cpu_", input._form, "c")
    if not input.is_floating_point():
        advice = "\nDropout scales what it keeps: use `input.float()`."
        _core.refuse_cast("Float", input.dtype.scalar_name, advice)


def _apply(input: Tensor, noise: Tensor, inplace: bool) -> Tensor:
    return input.mul_(noise) if inplace else input * noise


@draws()
def drawn_mask(input: Tensor, shape: Any, p: float, kind: dtype | None = None) -> Tensor:
    """A mask of `shape` (None: that of input, and its layout), of a type or of that of input."""
    like = shape is None
    if like:
        made = _kernels.bernoulli_like(input, 1.0 - p, dtype=kind)
        if made is not NotImplemented:
            return made
    mask = empty_like(input, dtype=kind) if like else of(input).made(shape, input._form.dtype)
    fill("bernoulli_", None, mask, 1.0 - p)
    return mask


def dropped(input: Tensor, shape: tuple[int, ...] | None, p: float, inplace: bool) -> Tensor:
    """input times a mask of `shape` (None: its own) scaled to keep the mean."""
    if p == 1.0:
        return _apply(input, of(input).made((), input._form.dtype, 0), inplace)
    check_float(input)
    mask = drawn_mask(input, shape, p).div_(1.0 - p)
    return _apply(input, mask, inplace)


@composite(where="nn", traits="random")
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: Flag = False) -> Tensor:
    """Sets each element to 0 with probability p while training, and scales the others by 1 / (1 -
    p)."""
    if not 0.0 <= p <= 1.0:
        _check(p)
    if not training or p == 0.0 or not input.numel():
        return input
    return dropped(input, None, p, inplace)


def by_channel(input: Tensor) -> tuple[int, ...]:
    if input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return (*input.shape[:2], *(1,) * (input.ndim - 2))


def _feature(name: str, n: int) -> None:
    @composite(
        where="nn",
        name=name,
        doc="Sets each channel to 0 with probability p while training, "
        "and scales the others by 1 / (1 - p).",
        traits="random",
    )
    def f(input: Tensor, p: float = 0.5, training: bool = True, inplace: Flag = False) -> Tensor:
        _check(p)
        ndim = input.ndim
        if n == 1 and ndim not in (2, 3):
            raise RuntimeError(
                f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input. Note that "
                "dropout1d exists to "
                "provide channel-wise dropout on inputs with 1 spatial dimension, a channel "
                "dimension, and an "
                "optional batch dimension (i.e. 2D or 3D inputs)."
            )
        if n > 1 and ndim not in (n + 1, n + 2):
            warn(
                f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result "
                "in an error in a "
                "future release. To retain the behavior and silence this warning, please use "
                "dropout instead. Note "
                f"that {name} exists to provide channel-wise dropout on inputs with {n} spatial "
                "dimensions, a channel "
                f"dimension, and an optional batch dimension (i.e. {n + 1}D or {n + 2}D inputs).",
            )
        if n == 2 and ndim == 3:
            warn(
                "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D "
                "dropout behavior is "
                "desired - input is interpreted as shape (N, C, L), where C is the channel dim. "
                "This behavior will "
                "change in a future release to interpret the input as one without a batch "
                "dimension, i.e. shape "
                "(C, H, W). To maintain the 1D channel-wise dropout behavior, please switch to "
                "using dropout1d "
                "instead.",
            )
        if not training or p == 0.0 or not input.numel():
            return input
        alone = n != 2 and ndim != n + 2
        x = (input.unsqueeze_(0) if inplace else input.unsqueeze(0)) if alone else input
        result = dropped(x, by_channel(x), p, inplace)
        if alone:
            result = result.squeeze_(0) if inplace else result.squeeze(0)
        return result


for _n in (1, 2, 3):
    _feature(f"dropout{_n}d", _n)

_ALPHA = 1.7580993408473766  # of SELU: scale * alpha


def _alpha(
    input: Tensor, shape: Callable[[Any], Any], p: float, training: bool, inplace: bool
) -> Tensor:
    _check(p)
    if not training or p == 0.0 or not input.numel():
        return input
    if p == 1.0:
        return _apply(input, of(input).made((), input._form.dtype, 0), inplace)
    check_float(input)
    return alpha_dropped(input, shape(input), p, inplace)


def alpha_dropped(input: Tensor, wanted: tuple[int, ...] | None, p: float, inplace: bool) -> Tensor:
    mask = drawn_mask(input, wanted, p)
    scale = 1.0 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    shift = (mask - 1) * (_ALPHA * scale) + _ALPHA * scale * p
    result = _apply(input, mask.mul_(scale), inplace)
    return result.add_(shift) if inplace else result + shift


@composite(where="nn", traits="random")
def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: Flag = False
) -> Tensor:
    """Dropout to SELU's lowest value that keeps mean and variance."""
    return _alpha(input, lambda t: None, p, training, inplace)


@composite(where="nn", traits="random")
def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: Flag = False
) -> Tensor:
    """`alpha_dropout` of whole channels."""
    return _alpha(input, by_channel, p, training, inplace)


def _torch_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout while `train` is true."""
    return dropout(input, p, train)


def _torch_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout in place while `train` is true."""
    return dropout(input, p, train, True)


alias("dropout", _torch_dropout, method=False)
alias("dropout_", _torch_dropout_, method=False)

__all__ = ["alpha_dropout", "dropout", "feature_alpha_dropout"]
