"""Tensors that come to have a level after they were made, and their views.

A tensor that was made without a level can come to have one: when a dual is written into it. What it
was then goes to a tensor inside (`take_part`), and views of it that were made before follow when
they are next used (`settled`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Flag, Op, Tensor

if TYPE_CHECKING:
    from .level import Level

__all__ = ["address", "made_since", "note_view", "settle_all", "settled", "show", "take_part"]

_WRAPPED, _REQUIRES_GRAD, _LAZY = Flag.WRAPPED, Flag.REQUIRES_GRAD, Flag.LAZY
_COMPLEX_AND_REAL = ({"complex64", "float32"}, {"complex128", "float64"})
_UNRECORDED = Flag.NO_GRAD_VIEW | Flag.INFERENCE_VIEW
_SPECIAL_VIEW = Flag.SPECIAL_VIEW  # of views whose history may not be rewritten


def settled(t: Tensor) -> Any:
    """The attachment of a tensor, or None. A view that is older than the attachment of its base
    gets the attachment for its own part."""
    w = t._attached
    if w is None:
        base = t._base
        if base is not None and settled(base) is not None:
            view = _plain_view(base, t)
            if view is not None:
                _adopt(t, view)
        return t._attached
    if w.shows is not None:
        op, args, i, place = w.shows
        shown = _as_it_was(args[0], place)
        whole = settled(shown)
        if whole is not None and whole.level.number > w.level.number:
            found = _as_made(w.value, op, [shown, *args[1:]])
            _adopt(t, found if i is None else found[i])
            return t._attached
    return w


def _place(t: Tensor) -> Any:
    """How a tensor lies in its memory."""
    return t._form.shape, t.stride()


def _as_it_was(t: Tensor, place: object) -> Tensor:
    """A tensor with the shape before an op in place gave another shape."""
    before = t
    while _place(before) != place:
        w = before._attached
        if w is None or w.shows is None:
            return t
        before = w.shows[1][0]
    return before


def settle_all(args: Sequence[Any]) -> None:
    """`settled`, of all tensors among the arguments of an op."""
    for a in args:
        if isinstance(a, Tensor):
            settled(a)
        elif type(a) is list or type(a) is tuple:
            settle_all(a)


def _adopt(t: Any, wrapped: Tensor) -> None:
    """Let a tensor stand for what another one does."""
    if wrapped._wrapped is None:  # the level has ended
        settled(t._base).level.lead(t, wrapped)
        return
    show(t, wrapped)
    t._wrapped = (wrapped._flags() & _WRAPPED, wrapped._wrapped)
    show_history(t, wrapped.requires_grad)
    t._wrapped.level.taken.append(weakref.ref(t))


def show(t: Tensor, value: Tensor) -> None:
    """Let a wrapped tensor have the memory of another value than before."""
    memory: Any = value._seen if value._accelerator is None else value
    t._array = memory
    t._set_flag(_LAZY, False)
    t._set_flag(value._flags() & _LAZY, True)


def show_history(t: Tensor, needs: bool) -> None:
    """Marks a wrapped tensor as requiring grad; a view asks the base instead."""
    if needs and t._base is None:
        t._set_flag(_REQUIRES_GRAD, True)


def _as_made(view: Tensor, make: Any, args: Sequence[Any]) -> Tensor:
    """The result of `make`, an op or a function: recorded, unless the replaced view was made
    without a record."""
    while view._attached is not None:
        view = view._attached.value
    recording = _core.set_grad_enabled(not view._flags() & _UNRECORDED)
    try:
        return _core.call_op(make, args) if isinstance(make, _core.Op) else make(*args)
    finally:
        _core.set_grad_enabled(recording)


def _plain_view(base: Tensor, view: Tensor) -> Any:
    """The plain view of a base that is wrapped now, taken again; None for other types of
    numbers."""
    if view.dtype is not base.dtype and {view.dtype.name, base.dtype.name} not in _COMPLEX_AND_REAL:
        return None
    again = _as_made(view, _core.shown, [view, base, base._wrapped.origin])
    special = view._flags() & _SPECIAL_VIEW
    inside = again
    while inside._wrapped is not None:
        inside = inside._wrapped.value
    inside._set_flag(special, True)
    return again


def take_part(t: Tensor, level: Level, make: Callable[[Any], Any]) -> None:
    """Gives a tensor a level: `make` wraps the tensor as it was. The base of a view gets the level
    as well."""
    w = settled(t)
    whole = t._base if w is None else None if w.shows is None else w.shows[1][0]
    if whole is not None:
        known = settled(whole)
        if known is None or known.level.number < level.number:
            take_part(whole, level, make)
        now = settled(t)
        if now is not w or (now is not None and now.level is level):
            return
    made = make(_core.split(t))
    made._wrapped.origin = w.origin if w is not None and w.origin else address(t)
    _adopt(t, made)


def note_view(result: Tensor | tuple[Tensor, ...], op: Op, args: Sequence[Any]) -> None:
    """Notes how a view was made: a write with a tangent gives the base a tangent too."""
    place = _place(args[0])
    if isinstance(result, Tensor):
        if result._wrapped is not None and result is not args[0]:
            result._wrapped.shows = (op, args, None, place)
        return
    for i, r in enumerate(result):
        if r._wrapped is not None:
            r._wrapped.shows = (op, args, i, place)


def made_since(t: Tensor, level: Level) -> bool:
    """Whether a tensor was made after a transform began; of a view, the tensor it shows."""
    w = settled(t)
    while w is not None and w.shows is not None:
        t = w.shows[1][0]
        w = settled(t)
    return bool(_core.made_in(t) >= level.number)


def address(t: Tensor) -> int:
    """Where a tensor's memory begins."""
    if t._accelerator is not None:
        storage: Any = _core.storage_of(t)
        return int(storage.data_ptr()) + t.storage_offset() * t.element_size()
    return int(t._seen.__array_interface__["data"][0])
