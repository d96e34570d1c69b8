"""Sample arguments of ops, for the generic tests. A sampler takes `make(*shape, low=, high=,
kind=)`, which draws a tensor, and gives a list of argument tuples; a dict at a tuple's end holds
keyword arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., Any]
Samples = list[tuple[Any, ...]]

__all__ = ["matrices", "one", "pair", "scalars_too", "three"]


def one(make: Make) -> Samples:
    """One tensor of several shapes."""
    return [(make(2, 3),), (make(),), (make(4),), (make(2, 1, 3),)]


def pair(make: Make) -> Samples:
    """Two tensors: same shape, broadcast both ways, 0-dim."""
    return [
        (make(2, 3), make(2, 3)),
        (make(2, 3), make(3)),
        (make(3, 1), make(1, 4)),
        (make(), make(2, 2)),
    ]


def scalars_too(make: Make) -> Samples:
    """Two tensors, or a tensor and a number."""
    return [*pair(make), (make(2, 3), 1.5)]


def three(make: Make) -> Samples:
    """Three tensors, broadcasting."""
    return [(make(2, 3), make(2, 3), make(2, 3)), (make(2, 3), make(3), make(2, 1))]


def matrices(make: Make) -> Samples:
    """Two tensors for a matrix product, with and without batches and vectors."""
    return [
        (make(2, 3), make(3, 4)),
        (make(3), make(3, 4)),
        (make(2, 3), make(3)),
        (make(3), make(3)),
        (make(5, 2, 3), make(3, 4)),
        (make(5, 2, 3), make(5, 3, 4)),
        (make(2, 1, 2, 3), make(4, 3, 2)),
    ]
