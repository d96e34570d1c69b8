"""`make_tensor`: tensors of random values for tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _dtypes as dtypes
from .. import _root as rl
from .._core import Tensor
from .._device import DeviceLike, memory_format

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
    if dtype is dtypes.bool:
        low, high = 0 if low is None else low, 2 if high is None else high
    elif continuous:
        low, high = -9 if low is None else low, 9 if high is None else high
    else:
        low = (0 if dtype is dtypes.uint8 else -9) if low is None else low
        high = 10 if high is None else high
    if low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    spaced = noncontiguous and math.prod(sizes) > 1
    drawn = [*sizes[:-1], 2 * sizes[-1]] if spaced else sizes
    if dtype.is_complex:
        parts = rl.empty(*drawn, 2, dtype=dtype.to_real(), device=device).uniform_(low, high)
        made = rl.view_as_complex(parts)
    elif continuous:
        made = rl.empty(drawn, dtype=dtype, device=device).uniform_(low, high)
    else:
        made = rl.randint(int(low), int(high), drawn, device=device, dtype=dtype)
    if spaced:
        made = made[..., 1::2]
    if exclude_zero:
        made[made == 0] = rl.finfo(dtype).tiny if continuous else 1
    if memory_format is not None:
        made = made.clone(memory_format=memory_format)
    return made.requires_grad_(requires_grad)
