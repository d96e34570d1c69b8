"""Gradients of wrapped tensors, from gradients of what they hold.

Reverse-mode needs no wrapper: the tape records what happens to the values inside. See
docs/design/0005-levels.md for why this is right.
"""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from ..ops.making.creation import ones
from .structure import alive, youngest

__all__ = ["run_backward"]


def run_backward(
    roots: tuple[Tensor, ...],
    gradients: tuple[Tensor | None, ...],
    retain: bool,
    create_graph: bool,
    inputs: tuple[Tensor, ...],
    accumulate: bool = False,
) -> Any:
    """`_core.run_backward` for tensors of any levels.

    The youngest level of the roots and inputs is taken off. A batch: the gradients of all samples
    are one backward of the batched values. A dual y + dy: the value of the gradient is the gradient
    of y, its tangent that of dy (and of y, where the given gradient has a tangent itself).
    """
    roots, gradients = tuple(map(alive, roots)), tuple(map(alive, gradients))
    inputs = None if inputs is None else tuple(map(alive, inputs))
    w = youngest(roots if inputs is None else (*roots, *inputs))
    if w is None:
        return _core.run_backward(roots, gradients, retain, create_graph, inputs, accumulate)
    if accumulate and inputs is not None:
        found = run_backward(roots, gradients, retain, create_graph, inputs)
        for target, g in zip(inputs, found, strict=True):
            if g is not None and isinstance(target, Tensor):
                target._grad = g if target._grad is None else target._grad + g
        return None
    gradients = tuple(_given(r, g) for r, g in zip(roots, gradients, strict=True))
    return w.level.backward(roots, gradients, retain, create_graph, inputs)


def _given(root: Tensor, gradient: Tensor | None) -> Tensor:
    if gradient is not None or not isinstance(root, Tensor):
        return gradient
    if root.numel() != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if not root.dtype.is_floating_point:
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {root.dtype}"
        )
    return ones(tuple(root.shape), dtype=root.dtype, device=root.device)
