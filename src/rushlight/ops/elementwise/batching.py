"""vmap: rules of ops that write over a tensor, or go by the elements of two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import _core
from ..._core import Op, Tensor
from ..._levels.batching import batched, batching, inner, padded, pointwise, trailing
from .selection import _copied, _overwrite, fill, masked_fill
from .selection import _where as where

if TYPE_CHECKING:
    from ..._levels.batch import BatchLevel

__all__: list[str] = []

_call = _core.call_op


# ---- written over


@batching(fill, _overwrite, _copied)
def _written_over(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, value = args[0], args[1]
    if not isinstance(value, Tensor):
        return trailing(op, args, level)
    v = inner(value, level)
    if v is None:
        return level.wrap(_call(op, [batched(x, level), *args[1:]]))
    return level.wrap(
        padded(v, value.ndim, x.ndim).to(x.dtype).expand(level.size, *x.shape).clone()
    )


@batching(masked_fill)
def _masked_fill(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, mask, value = args
    if isinstance(value, Tensor) and inner(value, level) is not None and not value.ndim:
        return where(mask, value.to(x.dtype), x)
    return pointwise(op, args, level)
