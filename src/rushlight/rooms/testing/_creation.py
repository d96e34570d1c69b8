"""`make_tensor`: tensors of random values for tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _root as rl
from .._base import dtypes
from .._base.device import DeviceLike, memory_format
from .._base.errors import warn
from .._core import Tensor

__all__ = ["make_tensor"]


def make_tensor(
    *shape: int | Sequence[int],
    dtype: dtypes.dtype,
    device: DeviceLike,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: memory_format | None = None,
) -> Tensor:
    """A tensor of values drawn evenly from [low, high).

    Without low and high: [-9, 9) for floating and complex types, [-9, 10) for integers, [0, 10) for
    uint8, [0, 2) for bool. noncontiguous: every other element of a larger tensor. exclude_zero: no
    element is 0.

    >>> torch.testing.make_tensor(2, 3, dtype=torch.float32, device="cpu").shape
    torch.Size([2, 3])
    """
    sizes: list[Any] = list(shape)
    if len(sizes) == 1 and isinstance(sizes[0], Sequence):
        sizes = list(sizes[0])
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous!r} and memory_format={memory_format!r}"
        )
    continuous = dtype.is_floating_point or dtype.is_complex
    low, high = _interval(low, high, dtype)
    spaced = noncontiguous and math.prod(sizes) > 1
    drawn = [*sizes[:-1], 2 * sizes[-1]] if spaced else sizes
    if dtype.is_complex:
        parts = rl.empty(*drawn, 2, dtype=dtype.to_real(), device=device)
        made = rl.view_as_complex(_drawn(parts, low, high))
    elif continuous:
        made = _drawn(rl.empty(drawn, dtype=dtype, device=device), low, high)
    else:
        made = rl.randint(math.ceil(low), math.ceil(high), drawn, device=device, dtype=dtype)
    if spaced:
        made = made[..., 1::2]
    if exclude_zero:
        made[made == 0] = rl.finfo(dtype).tiny if continuous else 1
    if memory_format is not None:
        made = made.clone(memory_format=memory_format)
    return made.requires_grad_(requires_grad)


def _interval(low: float | None, high: float | None, dtype: dtypes.dtype) -> tuple[float, float]:
    """The interval to draw from: what is asked for, as far as the type has it."""
    continuous = dtype.is_floating_point or dtype.is_complex
    least: float
    most: float
    if dtype is dtypes.bool:
        (least, most), default = (0, 2), (0, 2)
    elif continuous:
        limits = rl.finfo(dtype)
        (least, most), default = (limits.min, limits.max), (-9, 9)
    else:
        info = rl.iinfo(dtype)
        (least, most), default = (info.min, info.max + 1), (max(-9, info.min), 10)
    low, high = default[0] if low is None else low, default[1] if high is None else high
    if low != low or high != high:
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and continuous:
        warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is "
            "deprecated since 2.1 and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= most:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} "
            f"only supports [{least}, {most})"
        )
    return max(low, least), min(high, most)


def _drawn(made: Any, low: float, high: float) -> Any:
    """Elements drawn evenly; the width of the interval may be more than the type has."""
    return made.uniform_(low / 2, high / 2).mul_(2)
