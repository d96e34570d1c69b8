"""Calls that are one node here and several in PyTorch: the same in PyTorch's steps.

`unfold=in_steps(steps, shapes)` in a statement says what a recorded call of the op is when a
program looks at the graph (native/core/unfold.cpp): `steps(*arguments)` is the call in terms of
ops that each have a node of PyTorch's; it is given the saved arguments, and zeros of the right
shape for what was not saved because no gradient needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _core
from ..._base.dtypes import dtype
from ..._base.outside import np
from ..._base.size import Size
from ..._core import Tensor
from ..._devices import cpu, of

__all__ = ["in_steps"]


def in_steps(steps: Callable[..., Any], shapes: Callable[..., Any]) -> Callable[..., Any]:
    """The `unfold` of an op. `shapes(out, *known)`, given the result's shape and what is known of
    each argument's, gives all of these; None where the call is one node in PyTorch, too."""

    def unfold(
        out: Size,
        dtype: dtype,
        values: tuple[Tensor | None, ...],
        known: tuple[Size | None, ...],
        wants: tuple[bool, ...],
    ) -> Any:
        found = shapes(
            out,
            *(k if v is None else v.shape for k, v in zip(known, values, strict=True)),
        )
        if found is None:
            return None
        stand_ins: list[Any] = []
        where = next((of(v) for v in values if v is not None), cpu)
        for value, shape, want in zip(values, found, wants, strict=True):
            if value is None:
                if shape is None:
                    stand_ins.append(None)
                    continue
                zero = _core.made_of_numbers(where.tensor(np.zeros((), dtype.numpy)))
                value = zero.expand(shape)
            stand_ins.append(value.detach())
            stand_ins[-1].requires_grad = want
        return steps(*stand_ins), tuple(stand_ins)

    return unfold
