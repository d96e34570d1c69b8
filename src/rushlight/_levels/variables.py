"""Tensors as variables of a transform of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core import Tensor
from ..ops.making.creation import zeros_like
from .running import maps
from .settling import settled
from .structure import alias

if TYPE_CHECKING:
    from .batch import BatchLevel

__all__ = ["variable", "zero_leaf"]


def zero_leaf(t: Tensor) -> Tensor:
    """A variable of zeros, of the structure of a tensor."""
    for level in _batches(t):
        t = _batched_throughout(t, level)
    return _zero_leaf(t)


def _zero_leaf(t: Tensor) -> Tensor:
    w = t._wrapped
    if w is None:
        return zeros_like(t, requires_grad=True)
    return w.over(_zero_leaf) if w.level.maps else _zero_leaf(w.value)


def _batches(t: Tensor) -> list[Any]:
    """The batch levels within a tensor, oldest first."""
    w = t._wrapped
    if w is None:
        return []
    found = {level for part in w.parts() for level in _batches(part)}
    if w.level.maps:
        found.add(w.level)
    return sorted(found, key=lambda level: level.number)


def _batched_throughout(t: Tensor, level: BatchLevel) -> Tensor:
    """The tensor with the batch of a level in every part, also in values beside tangents."""
    w = settled(t)
    if w is None or w.level.number < level.number:
        return level.wrap(t.expand(level.size, *t.shape), True)
    if w.level is level:
        return t
    return w.over(lambda part: _batched_throughout(part, level))


def variable(t: Tensor) -> Tensor:
    """`alias`, with the batch of every running vmap: each sample is to have its own gradient."""
    for level in maps():
        t = _batched_throughout(t, level)
    return alias(t)
