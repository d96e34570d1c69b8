"""`torch._functorch.apis`: the transforms, and `vmap` in a number of chunks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...func import _vmap
from ...func import grad as grad
from ...func import grad_and_value as grad_and_value
from ...func import vmap as vmap

__all__ = ["chunk_vmap", "grad", "grad_and_value", "vmap"]


def chunk_vmap(
    func: Callable[..., object],
    in_dims: Any = 0,
    out_dims: object = 0,
    randomness: str = "error",
    chunks: int = 2,
) -> Callable[..., Any]:
    """`vmap` of that many groups of elements, one after the other."""
    if chunks < 1:
        raise ValueError(f"chunk_vmap: chunks should be greater than 0. (got {chunks})")

    @functools.wraps(func)
    def wrapped(*args: object, **kwargs: object) -> Any:
        size, *_ = _vmap._process_batched_inputs(in_dims, args, func)
        at_once = -(-size // chunks) or None
        return vmap(func, in_dims, out_dims, randomness, chunk_size=at_once)(*args, **kwargs)

    return wrapped
