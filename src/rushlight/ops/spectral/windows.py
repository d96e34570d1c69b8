"""Window functions of signal processing: hann_window and its like."""

from __future__ import annotations

from collections.abc import Callable
from math import tau
from typing import Any

from ... import _core
from ..._base.dtypes import float32, float64, get_default_dtype
from ..._core import Tensor
from ..._devices import cpu
from ..elementwise.selection import minimum
from ..elementwise.special import i0
from ..making.casts import to
from ..making.creation import arange, empty, ones
from ..making.factory import destination, torch_dtype
from ..making.from_data import tensor
from ..table.kinds import composite
from ..table.signature import Keywords


def _window(
    name: str,
    window_length: int,
    periodic: bool,
    shape: Callable[[Tensor], Tensor],
    how: dict[str, Any],
) -> Tensor:
    """`shape` of the distances from the nearer end, from 0 to 1/2 of the length: that of a period,
    or to the last place."""
    dtype = how.get("dtype")
    dtype = get_default_dtype() if dtype is None else torch_dtype(dtype, name)
    if not dtype.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype.scalar_name} dtype")
    if window_length < 0:
        raise RuntimeError(
            f"{name} requires non-negative window_length, got window_length={window_length}"
        )
    where = destination(how, name)
    if not where.has_memory or window_length < 2:
        return (ones if where.has_memory else empty)(window_length, **how)
    length = window_length - (not periodic)
    computed = float64 if dtype is float64 else float32
    places = _core.kernels.arange(window_length, dtype=computed, device="cpu")
    if places is NotImplemented:
        places = arange(window_length, dtype=computed, device="cpu")
    places = minimum(places, length - places).div_(length)
    made = shape(places)
    if where is not cpu or dtype is not computed:
        made = to(made, where.name, dtype)
    return made.requires_grad_() if how.get("requires_grad") else made


def _cosines(first: float, *factors: float) -> Callable[[Tensor], Tensor]:
    """The sum of factor k times cos(2 pi k x)."""

    def shape(x: Tensor) -> Tensor:
        waves = [(x * (tau * k)).cos_().mul_(factor) for k, factor in enumerate(factors, 1)]
        return sum(waves[1:], waves[0]).add_(first)

    return shape


@composite(method=False)
def hann_window(window_length: int, periodic: bool = True, **how: Keywords) -> Tensor:
    """0.5 - 0.5 * cos: one period of it, or (periodic=False) symmetric."""
    return _window("hann_window", window_length, periodic, _cosines(0.5, -0.5), how)


@composite(method=False)
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    **how: Keywords,
) -> Tensor:
    """alpha - beta * cos: one period of it, or (periodic=False) symmetric."""
    return _window("hamming_window", window_length, periodic, _cosines(alpha, -beta), how)


@composite(method=False)
def blackman_window(window_length: int, periodic: bool = True, **how: Keywords) -> Tensor:
    """0.42 - 0.5 * cos + 0.08 * cos of twice the angle: one period of it, or symmetric."""
    return _window("blackman_window", window_length, periodic, _cosines(0.42, -0.5, 0.08), how)


@composite(method=False)
def bartlett_window(window_length: int, periodic: bool = True, **how: Keywords) -> Tensor:
    """A triangle, from 0 to 1 to 0: without its end, or (periodic=False) symmetric."""
    return _window("bartlett_window", window_length, periodic, lambda x: 2 * x, how)


@composite(
    method=False,
    overloads=(
        "(window_length, *, ...)",
        "(window_length, periodic: bool, *, ...)",
        "(window_length, periodic: bool, beta: float, *, ...)",
    ),
)
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, **how: Keywords
) -> Tensor:
    """i0(beta * sqrt(1 - x * x)) / i0(beta) for x from -1 to 1: narrower with a larger beta."""

    def shape(x: Tensor) -> Tensor:
        inside = 4 * x * (1 - x)
        return i0(inside.sqrt_().mul_(beta)).div_(i0(tensor(beta, dtype=float64)))

    return _window("kaiser_window", window_length, periodic, shape, how)
