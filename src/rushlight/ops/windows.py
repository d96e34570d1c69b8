"""Window functions, and the Vandermonde matrix in torch's old order."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ._arrays import none_left
from ._factory import destination, finished, numpy_of
from ._kinds import composite
from .matrix_functions import _rising_powers


def _cosines(
    name: str, window_length: int, periodic: bool, alpha: float, beta: float, more: dict[str, Any]
) -> Any:
    dtype = more.pop("dtype", None)
    requires_grad, device = more.pop("requires_grad", False), more.pop("device", None)
    more.pop("layout", None), more.pop("pin_memory", None)
    none_left(name, more)
    if dtype is not None and not dtype.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype.scalar_name} dtype")
    if window_length < 0:
        raise RuntimeError(
            f"{name} requires non-negative window_length, got window_length={window_length}"
        )
    numpy_dtype = numpy_of(dtype, name)
    where = destination(device, name)
    if not where.has_memory:
        array = where.allocate((window_length,), numpy_dtype)
    elif window_length == 1:
        array = np.ones(1, numpy_dtype)
    else:
        n = np.arange(window_length, dtype=np.float64)
        turns = n * (2 * np.pi / max(window_length - (not periodic), 1))
        array = (alpha - beta * np.cos(turns)).astype(numpy_dtype)
    return finished(array, requires_grad, where=where, function=name)


@composite(method=False)
def hann_window(window_length: int, periodic: bool = True, **more: Any) -> Any:
    """0.5 - 0.5 * cos: one period of it, or (periodic=False) symmetric."""
    return _cosines("hann_window", window_length, periodic, 0.5, 0.5, more)


@composite(method=False)
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    **more: Any,
) -> Any:
    """alpha - beta * cos: one period of it, or (periodic=False) symmetric."""
    return _cosines("hamming_window", window_length, periodic, alpha, beta, more)


@composite(method=False, samples=lambda make: [(make(4),), (make(3), 2, True)])
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The matrix of powers of x: its columns x ** (N - 1) down to x ** 0,
    or the other way round."""
    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = x.shape[0] if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    if x.dtype is dtypes.bool:
        x = x.to(dtypes.int64)
    powers = _rising_powers(x, n) if n else x.unsqueeze(-1).expand(x.shape[0], 0).clone()
    return powers if increasing else powers.flip(-1)
