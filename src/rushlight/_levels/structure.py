"""Levels within each other: one of them taken out of, or put into, the middle of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Flag, Tensor
from ..ops.making.copies import alias as _alias
from ..ops.table.arrays import anywhere
from .settling import settled

if TYPE_CHECKING:
    from .batch import BatchLevel
    from .dual import DualLevel
    from .level import Level

__all__ = ["alive", "at_level", "batched_at", "parts_at", "rows", "with_batch", "with_tangent"]


def at_level(t: Tensor, level: Level) -> Any:
    """The outermost attachment if the level is this level: a Dual, a Batch; else None."""
    w = t._wrapped
    return w if w is not None and w.level is level else None


def youngest(tensors: Any) -> Any:
    """The attached object with the greatest level among tensors and lists of them, or None."""
    found, number = None, 0
    for t in tensors:
        if isinstance(t, Tensor):
            w = t._wrapped
            if w is not None and w.level.number > number:
                found, number = w, w.level.number
        elif type(t) is list or type(t) is tuple:
            w = youngest(t)
            if w is not None and w.level.number > number:
                found, number = w, w.level.number
    return found


def has_tensors(a: Any) -> bool:
    """Whether an argument is a list of tensors (or several)."""
    return (type(a) is list or type(a) is tuple) and bool(a) and isinstance(a[0], Tensor)


def alive(a: Any) -> Any:
    """An argument without ended levels: the value within takes their place."""
    if has_tensors(a):
        return [alive(x) for x in a]
    if isinstance(a, Tensor):
        w = a._wrapped
        while w is not None and not w.level.active:
            a = w.level.after(w)
            w = a._wrapped
    return a


def plain_parts(t: Tensor) -> list[Tensor]:
    """The tensors within that are not wrapped."""
    w = t._wrapped
    return [t] if w is None else [p for part in w.parts() for p in plain_parts(part)]


def needs_grad(t: Tensor) -> bool:
    """Whether any tensor within has a history."""
    if not isinstance(t, Tensor):
        return True
    w = t._wrapped
    return t.requires_grad if w is None else any(p.requires_grad for p in plain_parts(t))


def parts_at(t: Tensor, level: DualLevel) -> tuple[Any, Any]:
    """(value, tangent or None) of a tensor at a dual level,
    whatever younger levels are around it."""
    w = settled(t)
    if w is None or w.level.number < level.number:
        return t, None
    return (w.value, w.tangent) if w.level is level else w.parts_at(t, level)


def batched_at(t: Tensor, level: BatchLevel) -> Any:
    """A tensor with the batch of a level as its dimension 0, or None where it has none."""
    w = settled(t)
    if w is None or w.level.number < level.number:
        return None
    return w.value if w.level is level else w.batched_at(level)


def rows(t: Tensor, level: BatchLevel) -> Tensor:
    """`batched_at`, expanded where a tensor has no batch: all elements are the same."""
    value = batched_at(t, level)
    return t.expand(level.size, *t.shape) if value is None else value


def with_batch(t: Tensor, level: BatchLevel) -> Tensor:
    """The other way: dimension 0 of a tensor becomes the batch of a level, inside younger ones."""
    w = t._wrapped
    return level.wrap(t) if w is None or w.level.number < level.number else w.with_batch(level)


def with_tangent(t: Tensor, tangent: Tensor | None, level: DualLevel) -> Tensor:
    """A dual of a level, inside the younger levels of value and tangent."""
    if tangent is None:
        return t
    w = youngest((t, tangent))
    if w is None or w.level.number < level.number:
        return level.wrap(t, tangent)
    return w.with_tangent(t, tangent, level)


def detach(t: Tensor) -> Tensor:
    """A tensor cut off its history, with its batches and tangents."""
    w = t._wrapped
    return t.detach() if w is None else w.over(detach)


def alias(t: Tensor) -> Tensor:
    """The same value as another variable, connected to the history."""
    w = t._wrapped
    if w is not None:
        return w.alias()
    t = given(t)
    if not t.requires_grad:
        t._set_flag(Flag.REQUIRES_GRAD, True)
    return t


def given(t: Tensor) -> Tensor:
    """Another tensor with the same memory and history, which belongs to the transforms that run
    now: an argument of a transformed function."""
    w = settled(t)
    if w is None:
        return _core.give(_alias(t) if t.requires_grad else t.detach())
    return w.over(given)


def all_alike(args: Sequence[Any], level: BatchLevel) -> bool:
    """Whether all batches of a level among arguments have the same elements."""
    for a in args:
        if isinstance(a, Tensor):
            w = a._attached
            if w is not None and w.level is level and not w.alike:
                return False
        elif (type(a) is list or type(a) is tuple) and not all_alike(a, level):
            return False
    return True


def note_alike(result: object, level: BatchLevel) -> None:
    """Keep that the elements of a result are the same."""
    if isinstance(result, Tensor):
        w = result._attached
        if w is not None and w.level is level:
            w.alike = True
    elif type(result) is list or isinstance(result, tuple):
        for r in result:
            note_alike(r, level)


def one_of(t: Tensor) -> Tensor | None:
    """The element of a batch of equal elements; None where the elements differ."""
    w = t._wrapped
    value = w.value
    if not w.alike or not len(value):
        return None
    one = value[:1]
    other = value != one
    if value.dtype.is_differentiable:
        other &= (value == value) | (one == one)
    return None if anywhere(other) else value[0]


def note_alike_by(t: Tensor, sources: Sequence[Tensor], level: BatchLevel) -> None:
    """Notes the parts of a tensor that have equal elements. The tensor is linear in the sources: a
    part has equal elements if no same part of a source has a batch of unequal elements."""
    w = None if t is None else t._wrapped
    if w is None:
        return
    if w.level is level:
        w.alike = not any(_has_batch_of(s, level) for s in sources)
        return
    inner = [s._wrapped for s in sources if s is not None and at_level(s, w.level)]
    others = [s for s in sources if s is not None and not at_level(s, w.level)]
    value, *tangents = w.parts()
    note_alike_by(value, [i.value for i in inner] + others, level)
    for t in tangents:
        note_alike_by(t, [p for i in inner for p in i.parts()] + others, level)


def _has_batch_of(t: Tensor, level: BatchLevel) -> bool:
    """Whether a tensor has a batch of a level whose elements are not the same."""
    w = None if t is None else t._wrapped
    if w is None:
        return False
    return not w.alike if w.level is level else any(_has_batch_of(p, level) for p in w.parts())
