"""Window functions of signal processing: hann_window and its like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._base.outside import np
from ..._core import Tensor
from ..table.arrays import Array
from ..table.kinds import composite
from ..table.signature import Keywords
from .factory import destination, finished, numpy_of


def _window(
    name: str,
    window_length: int,
    periodic: bool,
    shape: Callable[[Array], Array],
    how: dict[str, Any],
) -> Tensor:
    """`shape` of the places from 0 to 1: to just before 1, if periodic."""
    dtype = how.get("dtype")
    if dtype is not None and not dtype.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype.scalar_name} dtype")
    if window_length < 0:
        raise RuntimeError(
            f"{name} requires non-negative window_length, got window_length={window_length}"
        )
    numpy_dtype = numpy_of(dtype, name)
    where = destination(how, name)
    array = where.allocate((window_length,), numpy_dtype)  # refuses what no memory could hold
    if where.has_memory and window_length == 1:
        array[...] = 1
    elif where.has_memory:
        n = np.arange(window_length, dtype=np.float64)
        places = n / max(window_length - (not periodic), 1)
        array[...] = shape(places)
    return finished(array, how, where=where, function=name)


def _cosines(*factors: float) -> Callable[[Array], Array]:
    """The sum of factor k times cos(2 pi k x)."""
    return lambda x: np.asarray(sum(f * np.cos(2 * np.pi * k * x) for k, f in enumerate(factors)))


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
    return _window("bartlett_window", window_length, periodic, lambda x: 1 - np.abs(2 * x - 1), how)


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

    def shape(x: Array) -> Array:
        inside = np.maximum(1 - (2 * x - 1) ** 2, 0)
        return np.asarray(np.i0(beta * np.sqrt(inside)) / np.i0(beta))

    return _window("kaiser_window", window_length, periodic, shape, how)
