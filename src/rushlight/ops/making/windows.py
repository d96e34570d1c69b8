"""Window functions of signal processing: hann_window, hamming_window."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core import Tensor
from ..table.kinds import composite
from ..table.signature import Keywords
from .factory import destination, finished, numpy_of


def _cosines(
    name: str, window_length: int, periodic: bool, alpha: float, beta: float, how: dict[str, Any]
) -> Tensor:
    dtype = how.get("dtype")
    if dtype is not None and not dtype.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype.scalar_name} dtype")
    if window_length < 0:
        raise RuntimeError(
            f"{name} requires non-negative window_length, got window_length={window_length}"
        )
    numpy_dtype = numpy_of(dtype, name)
    where = destination(how, name)
    if not where.has_memory:
        array = where.allocate((window_length,), numpy_dtype)
    elif window_length == 1:
        array = np.ones(1, numpy_dtype)
    else:
        n = np.arange(window_length, dtype=np.float64)
        turns = n * (2 * np.pi / max(window_length - (not periodic), 1))
        array = (alpha - beta * np.cos(turns)).astype(numpy_dtype)
    return finished(array, how, where=where, function=name)


@composite(method=False)
def hann_window(window_length: int, periodic: bool = True, **how: Keywords) -> Tensor:
    """0.5 - 0.5 * cos: one period of it, or (periodic=False) symmetric."""
    return _cosines("hann_window", window_length, periodic, 0.5, 0.5, how)


@composite(method=False)
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    **how: Keywords,
) -> Tensor:
    """alpha - beta * cos: one period of it, or (periodic=False) symmetric."""
    return _cosines("hamming_window", window_length, periodic, alpha, beta, how)
