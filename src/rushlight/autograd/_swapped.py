"""torch.utils.swap_tensors: two tensors that take each other's place."""

from __future__ import annotations

import copyreg
import gc
import weakref
from typing import Any

from .. import _core
from .._core import Tensor
from .graph import Node, get_gradient_edge

_UNSET = object()


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Swaps what two tensors are, with their classes and attributes, wherever a program holds them.

    Refused with a RuntimeError where weak references, views or a graph's saved values are of one.

    >>> a, b = torch.ones(2), torch.zeros(3)
    >>> torch.utils.swap_tensors(a, b)
    >>> a
    tensor([0., 0., 0.])
    """
    both = (("t1", t1), ("t2", t2))
    for name, t in both:
        if weakref.getweakrefs(t):
            raise RuntimeError(
                f"Cannot swap {name} because it has weakref associated with it. "
                "Drop the weak references first."
            )
    slots, others = (set(copyreg._slotnames(type(t))) for _, t in both)  # type: ignore[attr-defined]
    if slots != others:
        raise RuntimeError(
            "Cannot swap t1 and t2 if they have different slots. "
            f"Those of t1 are {sorted(slots)}, those of t2 {sorted(others)}."
        )
    accumulators = [_accumulator_of(name, t) for name, t in both]
    t1.__class__, t2.__class__ = type(t2), type(t1)  # refused where the layouts differ
    for slot in slots:
        values = [getattr(t, slot, _UNSET) for _, t in both]
        for (_, t), value in zip(both, reversed(values), strict=True):
            if value is not _UNSET:
                setattr(t, slot, value)
            elif hasattr(t, slot):
                delattr(t, slot)
    _core.swap_contents(t1, t2)
    for node in accumulators:
        if node is not None:
            node.register_prehook(_poisoned)


def _accumulator_of(name: str, t: Tensor) -> Any:
    """The tensor's AccumulateGrad or None; nobody may run this node after the swap. Refuses a
    tensor that any other node or tensor holds.
    """
    holders: list[object] = [o for o in gc.get_referrers(t) if isinstance(o, Tensor | Node)]
    if not holders:
        return None
    leaf = get_gradient_edge(t).node if t.requires_grad and t.is_leaf else None
    if len(holders) > 1 or holders[0] is not leaf:
        held = sum(o is t for o in gc.get_referents(*holders))
        raise RuntimeError(
            f"Expected use_count of {name} to be 1 or 2 with an AccumulateGrad node but got "
            f"{held + 1} make sure you are not holding references to the tensor in other places. "
            "Views, saved values and gradients count as such."
        )
    return leaf


def _poisoned(_gradients: object) -> Any:
    raise RuntimeError(
        "Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can happen "
        "when you try to run backward on a tensor that was swapped. Convert a module before its "
        "forward, or after its backward."
    )
