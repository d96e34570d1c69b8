"""Tensors that stand for others while a transform runs: levels,
and what happens to calls that meet them.

A wrapped tensor is an ordinary Tensor with an object attached (`_wrapped`): a `Dual` (a value and
its tangent) or a `Batch` (a value whose dimension 0 the program does not see). The array behind it
(`_seen`) has the shape and dtype that the program is to see; `_array` of a batch gives those only
and refuses to be read (`opaque_array.py`). Values and tangents may be wrapped themselves, by older
levels: the younger level is always outside.

Every op that is given a wrapped tensor comes to `_wrapped_call`. The youngest level among the
arguments answers (`Dual.call`, `Batch.call`, set by the room `func`) with ops on the values within,
and those find the next level. That is all of nesting: no level knows of another, so tangents of two
derivatives cannot be mixed up.

A tensor that was made without a level can come to have one: when a dual is written into it. What it
was then goes to a tensor inside (`take_part`), and views of it that were made before follow when
they are next used (`settled`).

Reverse-mode needs no wrapper: the tape records what happens to the values inside. `run_backward`
here gives the gradient of wrapped tensors from gradients of what they hold; see the design note
docs/design/0005-levels.md for why that is right.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core
from .._core import Flag
from ..ops.table.arrays import anywhere
from ..ops.table.statement import LAZY, OPS, namespace
from ._opaque_array import MEMORY, OpaqueArray
from ._running import running, state

__all__ = ["Batch", "Dual", "Level", "at_level", "batch", "dual", "is_wrapped"]

_Tensor = _core.Tensor
_wrapper = _core.wrapper
_TANGENT, _TRANSFORMED = Flag.TANGENT, Flag.TRANSFORMED
_WRAPPED, _REQUIRES_GRAD = Flag.WRAPPED, Flag.REQUIRES_GRAD
_LAZY = Flag.LAZY  # the bits of a conjugate or a negative that was put off
_numbers = itertools.count(1)


class Level:
    """One running transform; younger ones have greater numbers.

    `inside`: it is part of how a function of the library works, and the program that it calls is
    not to be told that it runs in a transform.
    """

    __slots__ = (
        "active",
        "before",
        "depth",
        "in_inference",
        "inside",
        "kind",
        "number",
        "randomness",
        "size",
        "taken",
    )

    def __init__(
        self, kind: str, size: int = 0, randomness: str = "error", inside: bool = False
    ) -> None:
        self.kind, self.size, self.randomness, self.inside = kind, size, randomness, inside
        self.number = next(_numbers)
        self.active = False
        self.depth = 0
        self.in_inference = kind == "dual" and _core.is_inference()
        self.before: Any = None  # which transforms ran when it began
        self.taken: list[Any] = []  # tensors that were made without it and came to have it

    def __enter__(self) -> Level:
        stack = state.stack
        stack.append(self)
        self.depth = sum(level.kind != "forward_ad" for level in stack)
        self.active = True
        if self.kind != "forward_ad":
            derivative = self.kind != "batch" and not self.inside
            self.before = _core.set_transforms(self.number, derivative)
        return self

    def __exit__(self, *exception: object) -> None:
        self.active = False
        if self in state.stack:  # a level of forward_ad may end in another thread
            state.stack.remove(self)
        if self.before is not None:
            _core.reset_transforms(*self.before)
        for one in self.taken:
            t = one()
            w = None if t is None else t._attached
            if w is not None and w.level is self and isinstance(w, Dual):
                self.give_back(t)

    def give_back(self, t: Any) -> None:
        """Let a tensor be again what it was before it came to have this level, which has ended."""
        w = t._attached
        if isinstance(w, Batch):
            _alive(t)  # raises
        if t._base is not None:
            t._wrapped = (0, None)
            return
        inside = w.value
        settled(inside)
        _core.rejoin(t, _alive(inside))
        _forward(inside, t, self)  # views that were made since are views of that


class Dual:
    """A value and its tangent."""

    __slots__ = ("level", "origin", "shows", "tangent", "value")
    call: Callable[..., Any]
    in_place: Callable[..., Any]

    def __init__(self, level: Level, value: Any, tangent: Any) -> None:
        self.level, self.value, self.tangent = level, value, tangent
        self.shows: Any = None  # of a view: (op, arguments, which result, place of the first)
        self.origin = 0  # of a tensor that was plain before: where its memory began


class Batch:
    """A value whose dimension 0 is the batch.

    `alike`: all elements are the same, as it was computed from tensors that the mapped function
    was not given a batch of. Reverse-mode gives those a batch, so that each element has a gradient
    of its own (`variable`); to the program they are tensors without one.
    """

    __slots__ = ("alike", "level", "origin", "shown_at", "shows", "value")
    call: Callable[..., Any]
    in_place: Callable[..., Any]

    def __init__(self, level: Level, value: Any, alike: bool = False) -> None:
        self.level, self.value, self.alike = level, value, alike
        self.shows: Any = None
        self.origin = 0
        self.shown_at: int | None = None  # of what the program gave: where it had the batch


def dual(level: Level, value: Any, tangent: Any) -> Any:
    """The wrapped tensor of a value and a tangent; the value itself where there is no tangent."""
    if tangent is None:
        return value
    tangent = put_off_alike(tangent, value)
    t = _wrapper(value, _TANGENT, Dual(level, value, tangent))
    if tangent.requires_grad:
        t._set_flag(_REQUIRES_GRAD, True)
    return t


def put_off_alike(tangent: Any, value: Any) -> Any:
    """The tangent with the bits of its value, so that what is a view of one is one of the other."""
    if not (value._flags() ^ tangent._flags()) & _LAZY:
        return tangent
    turned = _turned(tangent, value)
    turned = turned.clone() if tangent._seen.flags.c_contiguous else laid_out(turned, tangent)
    return _turned(turned, value)


def _turned(t: Any, value: Any) -> Any:
    """A view of a tensor with those bits changed over that a value has."""
    bits = value._flags()
    t = t.conj() if bits & LAZY["conj"] else t
    return namespace("torch")["_neg_view"](t) if bits & LAZY["neg"] else t


def batch(level: Level, value: Any, alike: bool = False) -> Any:
    """The wrapped tensor that shows one element of dimension 0 of a value."""
    array = value._seen
    seen = array[0, ...] if len(array) else np.empty(array.shape[1:], array.dtype)
    return _wrapper(value, _TRANSFORMED, Batch(level, value, alike), seen)


def show(t: Any, value: Any) -> None:
    """Let a wrapped tensor have the memory of another value than before."""
    t._array = value._seen
    t._set_flag(_LAZY, False)
    t._set_flag(value._flags() & _LAZY, True)


def is_wrapped(t: Any) -> bool:
    """Whether a tensor stands for others."""
    return t._wrapped is not None


def at_level(t: Any, level: Level) -> Any:
    """What a tensor has at exactly this level, as its outermost: a Dual, a Batch, or None."""
    w = t._wrapped
    return w if w is not None and w.level is level else None


def youngest(tensors: Any) -> Any:
    """The attached object with the greatest level among tensors and lists of them, or None."""
    found, number = None, 0
    for t in tensors:
        if isinstance(t, _Tensor):
            w = t._wrapped
            if w is not None and w.level.number > number:
                found, number = w, w.level.number
        elif type(t) is list or type(t) is tuple:
            w = youngest(t)
            if w is not None and w.level.number > number:
                found, number = w, w.level.number
    return found


# ---- tensors that come to have a level, and their views


def settled(t: Any) -> Any:
    """What a tensor stands for, or None. A view that was made before the tensor it shows came to
    stand for others stands for its part of them from now on."""
    w = t._attached
    if w is None:
        base = t._base
        if base is not None and settled(base) is not None:
            view = _plain_view(base, t)
            if view is not None:
                _adopt(t, view)
        return t._attached
    if w.shows is not None:
        op, slots, i, place = w.shows
        shown = _as_it_was(slots[0], place)
        whole = settled(shown)
        if whole is not None and whole.level.number > w.level.number:
            found = _as_made(w.value, op, [shown, *slots[1:]])
            _adopt(t, found if i is None else found[i])
            return t._attached
    return w


def _place(t: Any) -> Any:
    """How a tensor lies in its memory."""
    return t._seen.shape, t._seen.strides


def _as_it_was(t: Any, place: Any) -> Any:
    """A tensor with the shape that it had, before it was given another one in place."""
    before = t
    while _place(before) != place:
        w = before._attached
        if w is None or w.shows is None:
            return t
        before = w.shows[1][0]
    return before


def settle_all(slots: Any) -> None:
    """`settled`, of all tensors among the arguments of an op."""
    for a in slots:
        if isinstance(a, _Tensor):
            settled(a)
        elif type(a) is list or type(a) is tuple:
            settle_all(a)


def _adopt(t: Any, wrapped: Any) -> None:
    """Let a tensor stand for what another one does."""
    if wrapped._wrapped is None:  # the level has ended
        _forward(t, wrapped, settled(t._base).level)
        return
    show(t, wrapped)
    t._wrapped = (wrapped._flags() & _WRAPPED, wrapped._wrapped)
    show_history(t, wrapped.requires_grad)
    t._wrapped.level.taken.append(weakref.ref(t))


def show_history(t: Any, needs: bool) -> None:
    """Let a wrapped tensor say that it requires grad; a view says it by the tensor it shows."""
    if needs and t._base is None:
        t._set_flag(_REQUIRES_GRAD, True)


def zeros_laid_out(value: Any, level: Level) -> Any:
    """Zeros in the same places of memory, as views count in them, for a tangent of a level: with
    the batch of every running vmap that is older, as what is written to it later may have any."""
    if value._seen.flags.c_contiguous:
        zeros = _with_batches(namespace("torch")["zeros_like"](value), level)
    else:
        zeros = _in_place_of(value, _with_batches(value.new_zeros(_extent(value)), level))
    return _turned(zeros, value)


def fitted(tangent: Any, value: Any) -> Any:
    """A tangent that the program gave, with the layout of its value and as much memory: it itself
    where it has them."""
    if tangent.dtype.is_complex and not value.dtype.is_complex:
        tangent = tangent.real.clone()
    a, b = tangent._seen, value._seen
    if tangent._wrapped is None and value._wrapped is None:
        if a.strides == b.strides and _storage(tangent) == _storage(value):
            return tangent
        if 0 not in b.strides:
            start, size = _storage(value)
            memory = namespace("torch")["zeros"](size, dtype=tangent.dtype)
            place = (b.shape, value.stride(), start)
            return OPS["strided_view"].function(memory, *place).copy_(tangent)
    return tangent if a.strides == b.strides else laid_out(tangent, value)


def _storage(t: Any) -> tuple[int, int]:
    """Where a plain tensor begins in its storage, and how many elements that has."""
    size = t.untyped_storage().nbytes() // t.element_size()
    return t.storage_offset(), size


def laid_out(tangent: Any, value: Any) -> Any:
    """A tangent in the same places of memory as its value, as views count in them."""
    if 0 in value._seen.strides:  # nothing can be written there
        return tangent.clone()
    found = _in_place_of(value, tangent.new_zeros(_extent(value)))
    return found.copy_(tangent)


def copies(value: Any, n: int) -> Any:
    """A tensor n times, each in the same places of memory and with the same bits as itself."""
    recording = _core.set_grad_enabled(True)
    try:
        rows = _turned(value, value).expand(n, *value.shape)
        if value._seen.flags.c_contiguous:
            made = namespace("torch")["zeros_like"](rows)
        else:
            room = value.new_zeros(n, _extent(value))
            place = (rows._seen.shape, (_extent(value), *value.stride()), 0)
            made = OPS["strided_view"].function(room, *place)
        return _turned(made.copy_(rows), value)
    finally:
        _core.set_grad_enabled(recording)


def made_since(t: Any, level: Level) -> bool:
    """Whether a tensor was made after a transform began; of a view, the tensor it shows."""
    w = settled(t)
    while w is not None and w.shows is not None:
        t = w.shows[1][0]
        w = settled(t)
    return _core.made_in(t) >= level.number


def _extent(value: Any) -> int:
    """How many elements a tensor reaches over in memory."""
    shape, strides = value._seen.shape, value.stride()
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if all(shape) else 0


def _in_place_of(value: Any, memory: Any) -> Any:
    """Memory seen as a value is."""
    return OPS["strided_view"].function(memory, value._seen.shape, value.stride(), 0)


def _with_batches(t: Any, level: Level) -> Any:
    for older in running("batch"):
        if older.number < level.number and batched_at(t, older) is None:
            t = with_batch(t.expand(older.size, *t.shape).clone(), older)
            _note_alike_by(t, (), older)
    return t


def _forward(t: Any, to: Any, level: Level) -> None:
    """Let a tensor be another one from now on: the value of a dual whose level has ended."""
    w = Dual(level, to, to)
    w.origin = address(t)
    t._wrapped = (_TANGENT, w)


def address(t: Any) -> int:
    """Where a tensor's memory begins."""
    return int(t._seen.__array_interface__["data"][0])


_COMPLEX_AND_REAL = ({"complex64", "float32"}, {"complex128", "float64"})
_UNRECORDED = Flag.NO_GRAD_VIEW | Flag.INFERENCE_VIEW
_SPECIAL_VIEW = Flag.SPECIAL_VIEW  # of views whose history may not be rewritten


def _as_made(view: Any, make: Any, args: Any) -> Any:
    """What `make`, an op or a function, gives: recorded, unless the view that it is to replace was
    made without."""
    while view._attached is not None:
        view = view._attached.value
    recording = _core.set_grad_enabled(not view._flags() & _UNRECORDED)
    try:
        return _core.call_op(make, args) if isinstance(make, _core.Op) else make(*args)
    finally:
        _core.set_grad_enabled(recording)


def _plain_view(base: Any, view: Any) -> Any:
    """A plain view of what is wrapped now, taken again; None where it is one of other numbers."""
    if view.dtype is not base.dtype and {view.dtype.name, base.dtype.name} not in _COMPLEX_AND_REAL:
        return None
    again = _as_made(view, _core.shown, [view, base, base._wrapped.origin])
    special = view._flags() & _SPECIAL_VIEW
    inside = again
    while inside._wrapped is not None:
        inside = inside._wrapped.value
    inside._set_flag(special, True)
    return again


def take_part(t: Any, level: Level, make: Callable[[Any], Any]) -> None:
    """Let a tensor have a level, by what `make` makes of the tensor that it was; of a view, the
    tensor that it shows as well."""
    w = settled(t)
    whole = t._base if w is None else None if w.shows is None else w.shows[1][0]
    if whole is not None:
        known = settled(whole)
        if known is None or known.level.number < level.number:
            take_part(whole, level, make)
        if at_level(t, level) or settled(t) is not w:
            return
    made = make(_core.split(t))
    made._wrapped.origin = w.origin if w is not None and w.origin else address(t)
    _adopt(t, made)


def let_have_batches(t: Any, source: Any) -> None:
    """Before a tangent is written with another one: it gets the batches that only that one has."""
    for level in running("batch"):
        if batched_at(source, level) is not None and batched_at(t, level) is None:
            _let_have_batch(t, level)


def _let_have_batch(t: Any, level: Level) -> None:
    w = settled(t)
    if w is None or w.level.number < level.number:
        take_part(t, level, lambda inside: batch(level, copies(inside, level.size), True))
    elif w.level is not level:
        _let_have_batch(w.value, level)
        if isinstance(w, Dual):
            _let_have_batch(w.tangent, level)


def let_have_tangent(t: Any, level: Level) -> None:
    """Before a write with a dual: a tensor without a tangent gets one of zeros."""
    if t._wrapped is None:
        _core.check_in_place(t, _core.is_grad_enabled() and t.requires_grad)
    take_part(t, level, lambda inside: dual(level, inside, zeros_laid_out(inside, level)))


# ---- calls


def _wrapped_call(op: Any, slots: tuple[Any, ...]) -> Any:
    settle_all(slots)
    w = youngest(slots)
    if w is None:
        return NotImplemented
    if not w.level.active:
        return _core.call_op(op, [_alive(a) for a in slots])
    if type(w) is Dual and _core.is_inference() and not w.level.in_inference:
        return _core.call_op(op, [_without(a, w.level) for a in slots])
    result = w.call(op, slots, w.level)
    if type(w) is Batch and w.alike and all_alike(slots, w.level):
        note_alike(result, w.level)
    if op.view:
        _note_view(result, op, slots)
    return result


def all_alike(slots: Any, level: Level) -> bool:
    """Whether all batches of a level among arguments have the same elements."""
    for a in slots:
        if isinstance(a, _Tensor):
            w = a._attached
            if w is not None and w.level is level and not w.alike:
                return False
        elif (type(a) is list or type(a) is tuple) and not all_alike(a, level):
            return False
    return True


def note_alike(result: Any, level: Level) -> None:
    """Keep that the elements of a result are the same."""
    if isinstance(result, _Tensor):
        w = result._attached
        if w is not None and w.level is level:
            w.alike = True
    elif type(result) is list or isinstance(result, tuple):
        for r in result:
            note_alike(r, level)


def one_of(t: Any) -> Any:
    """The one element that a batch of the same elements stands for; None where they differ."""
    w = t._wrapped
    value = w.value
    if not w.alike or not len(value):
        return None
    one = value[:1]
    other = value != one
    if value.dtype.is_differentiable:
        other &= (value == value) | (one == one)
    return None if anywhere(other) else value[0]


def _note_view(result: Any, op: Any, slots: tuple[Any, ...]) -> None:
    """Keep how a view was made: what is written to it with a tangent gives the whole one too."""
    place = _place(slots[0])
    if isinstance(result, _Tensor):
        if result._wrapped is not None and result is not slots[0]:
            result._wrapped.shows = (op, slots, None, place)
        return
    for i, r in enumerate(result):
        if r._wrapped is not None:
            r._wrapped.shows = (op, slots, i, place)


def check_captured(t: Any, op: Any, slots: Any) -> None:
    """Raise where a transformed function may not write what a tensor stands for."""
    value = next((a for a in reversed(slots[1:]) if a is not None), None)
    for part in plain_parts(t):
        _core.check_captured(part, op.__name__, value)


def _wrapped_in_place(op: Any, slots: tuple[Any, ...]) -> Any:
    settle_all(slots)
    if running("grad", "dual"):
        check_captured(slots[0], op, slots)
    if _core.is_grad_enabled():
        for part in plain_parts(slots[0]):
            _core.renew_history(part)
    w = youngest(slots)
    if w is None:
        return NotImplemented
    if not w.level.active:
        return _core.call_op(op, [_alive(a) for a in slots])
    return w.in_place(op, slots, w.level)


def _without(a: Any, level: Level) -> Any:
    """An argument without its tangent: inference mode has no forward-mode derivatives."""
    if has_tensors(a):
        return [_without(x, level) for x in a]
    return parts_at(a, level)[0] if isinstance(a, _Tensor) else a


def has_tensors(a: Any) -> bool:
    """Whether an argument is a list of tensors (or several)."""
    return (type(a) is list or type(a) is tuple) and bool(a) and isinstance(a[0], _Tensor)


def _alive(a: Any) -> Any:
    """An argument without levels that ended: what a dual has then is its value."""
    if has_tensors(a):
        return [_alive(x) for x in a]
    if isinstance(a, _Tensor):
        w = a._wrapped
        while w is not None and not w.level.active:
            if isinstance(w, Batch):
                raise RuntimeError(
                    "a tensor of a vmap that has ended is used: return it from the mapped function"
                )
            a = w.value
            w = a._wrapped
    return a


_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling "
    ".item() on a Tensor, please try to rewrite what you're doing with other operations. If error "
    "is occurring somewhere inside PyTorch internals, please file a bug report."
)
_FLOW = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We "
    "don't support that yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
)


def _wrapped_item(t: Any) -> Any:
    return _element(t, _ITEM).item()


def _wrapped_bool(t: Any) -> bool:
    return bool(_element(t, _FLOW))


def _element(t: Any, refusal: str) -> Any:
    """The tensor that is asked for its value in the place of a wrapped one."""
    w = t._wrapped
    if not isinstance(w, Batch):
        return w.value
    one = one_of(t)
    if one is None:
        raise RuntimeError(refusal)
    return one


def has_batch(t: Any) -> bool:
    """Whether a tensor stands for the elements of a batch, at any level."""
    w = t._wrapped
    while w is not None:
        if isinstance(w, Batch):
            return True
        w = w.value._wrapped
    return False


def _wrapped_array(t: Any) -> Any:
    """`_array` of a wrapped tensor."""
    return OpaqueArray(t._seen) if has_batch(t) else t._wrapped.value._array


def _wrapped_memory(t: Any) -> Any:
    """The tensor whose memory may leave in the place of a wrapped one's."""
    w = t._wrapped
    if has_batch(t) or (w.level.kind == "dual" and w.level.active):
        raise RuntimeError(MEMORY)
    return w.value


def _wrapped_data(t: Any) -> Any:
    """`t.data`: of a dual its value; refused under vmap, where nothing could be done with it."""
    w = t._wrapped
    if has_batch(t) and w.level.active:
        raise RuntimeError(
            "accessing `data` under vmap transform is not allowed. Use detach() to cut a tensor "
            "off its history."
        )
    return w.value.data


def _wrapped_set_data(t: Any, new: Any) -> None:
    """`t.data = new`."""
    for x in (t, new):
        w = x._wrapped
        if w is None or w.level.kind == "forward_ad" or not w.level.active:
            continue
        where = "under vmap" if has_batch(x) else "inside functorch"
        raise RuntimeError(
            f"mutating directly with `.data` {where} transform is not allowed. Write in place "
            "(copy_), or make a new tensor."
        )
    w = t._wrapped
    if w is not None:  # a dual of forward_ad keeps its tangent
        w.value.data = new
        show(t, w.value)
    else:
        t.data = new.data


def _wrapped_requires_grad(t: Any, on: bool) -> None:
    """The variable is the value within."""
    w = t._wrapped
    if isinstance(w, Batch) and w.shown_at is not None:
        return  # the caller's tensor is not to know
    if w.value.requires_grad != on:
        w.value.requires_grad = on


def _wrapped_version(t: Any) -> int:
    return t._wrapped.value._version  # type: ignore[no-any-return]


def _wrapped_grad_fn(t: Any) -> Any:
    """The node of what is recorded within, for those who are to know of it: under vmap or jvp alone
    a program sees no history."""
    w = t._wrapped
    if w.level.kind == "forward_ad" or not w.level.active or running("grad"):
        return w.value.grad_fn
    return None


def _wrapped_detach(t: Any) -> Any:
    w = t._wrapped
    if isinstance(w, Batch):
        return batch(w.level, w.value.detach(), w.alike)
    return w.value.detach()


# ---- one level taken out of, or put into, the middle of several


def parts_at(t: Any, level: Level) -> tuple[Any, Any]:
    """(value, tangent or None) of a tensor at a dual level,
    whatever younger levels are around it."""
    w = settled(t)
    if w is None or w.level.number < level.number:
        return t, None
    if w.level is level:
        return w.value, w.tangent
    if isinstance(w, Batch):
        value, tangent = parts_at(w.value, level)
        outer_tangent = None if tangent is None else batch(w.level, tangent)
        return batch(w.level, value, w.alike), outer_tangent
    value, tangent = parts_at(w.value, level)
    outer, outer_tangent = parts_at(w.tangent, level)
    if tangent is None and outer_tangent is None:
        return t, None
    zero = namespace("torch")["zeros_like"]
    return dual(w.level, value, outer), dual(
        w.level,
        zero(value) if tangent is None else tangent,
        zero(outer) if outer_tangent is None else outer_tangent,
    )


def batched_at(t: Any, level: Level) -> Any:
    """A tensor with the batch of a level as its dimension 0, or None where it has none."""
    w = settled(t)
    if w is None or w.level.number < level.number:
        return None
    if w.level is level:
        return w.value
    if isinstance(w, Batch):
        inner = batched_at(w.value, level)  # (level, this batch, ...)
        return None if inner is None else batch(w.level, inner.transpose(0, 1), w.alike)
    value, tangent = batched_at(w.value, level), batched_at(w.tangent, level)
    if value is None and tangent is None:
        return None
    if value is None:
        value = w.value.expand(level.size, *w.value.shape)
    if tangent is None:
        tangent = w.tangent.expand(level.size, *w.tangent.shape)
    return dual(w.level, value, tangent)


def rows(t: Any, level: Level) -> Any:
    """`batched_at`, expanded where a tensor has no batch: all elements are the same."""
    value = batched_at(t, level)
    return t.expand(level.size, *t.shape) if value is None else value


def with_batch(t: Any, level: Level) -> Any:
    """The other way: dimension 0 of a tensor becomes the batch of a level, inside younger ones."""
    w = t._wrapped
    if w is None or w.level.number < level.number:
        return batch(level, t)
    if isinstance(w, Batch):
        return batch(w.level, with_batch(w.value.transpose(0, 1), level), w.alike)
    return dual(w.level, with_batch(w.value, level), with_batch(w.tangent, level))


def with_tangent(t: Any, tangent: Any, level: Level) -> Any:
    """A dual of a level inside the younger levels that its value and tangent have."""
    if tangent is None:
        return t
    w = youngest((t, tangent))
    if w is None or w.level.number < level.number:
        return dual(level, t, tangent)
    if isinstance(w, Batch):
        inner = [x if at_level(x, w.level) else _spread(x, w.level) for x in (t, tangent)]
        return batch(w.level, with_tangent(inner[0]._wrapped.value, inner[1]._wrapped.value, level))
    value, outer = parts_at(t, w.level)
    tangent_value, tangent_outer = parts_at(tangent, w.level)
    zero = namespace("torch")["zeros_like"]
    return dual(
        w.level,
        with_tangent(value, tangent_value, level),
        with_tangent(
            zero(value) if outer is None else outer,
            zero(value) if tangent_outer is None else tangent_outer,
            level,
        ),
    )


def _spread(t: Any, level: Level) -> Any:
    return batch(level, t.expand(level.size, *t.shape))


# ---- leaves


def detach(t: Any) -> Any:
    """A tensor cut off its history, with its batches and tangents."""
    w = t._wrapped
    if w is None:
        return t.detach()
    if isinstance(w, Batch):
        return batch(w.level, detach(w.value), w.alike)
    return dual(w.level, detach(w.value), detach(w.tangent))


def alias(t: Any) -> Any:
    """The same value as a variable of its own, connected to what it was computed from."""
    w = t._wrapped
    if w is None:
        t = given(t)
        if not t.requires_grad:
            t._set_flag(_REQUIRES_GRAD, True)
        return t
    if isinstance(w, Batch):
        return batch(w.level, alias(w.value), w.alike)
    return dual(w.level, alias(w.value), given(w.tangent))


def given(t: Any) -> Any:
    """The same memory and history as a tensor of its own, which belongs to the transforms that run
    now: what a transformed function is given."""
    w = settled(t)
    if w is None:
        return _core.give(OPS["alias"].function(t) if t.requires_grad else t.detach())
    if isinstance(w, Batch):
        return batch(w.level, given(w.value), w.alike)
    return dual(w.level, given(w.value), given(w.tangent))


def zero_leaf(t: Any) -> Any:
    """A variable of zeros, of the structure of a tensor."""
    for level in _batches(t):
        t = _batched_throughout(t, level)
    return _zero_leaf(t)


def _zero_leaf(t: Any) -> Any:
    w = t._wrapped
    if w is None:
        return OPS["zeros_like"].function(t, requires_grad=True)
    if isinstance(w, Batch):
        return batch(w.level, _zero_leaf(w.value), w.alike)
    return _zero_leaf(w.value)


def _batches(t: Any) -> list[Level]:
    """The batch levels within a tensor, oldest first."""
    w = t._wrapped
    if w is None:
        return []
    if isinstance(w, Batch):
        return [*_batches(w.value), w.level]
    found = _batches(w.value)
    found += [level for level in _batches(w.tangent) if level not in found]
    return sorted(found, key=lambda level: level.number)


def _batched_throughout(t: Any, level: Level) -> Any:
    """The tensor with the batch of a level in every part:
    a dual may have it in its tangent only."""
    w = settled(t)
    if w is None or w.level.number < level.number:
        return batch(level, t.expand(level.size, *t.shape), True)
    if w.level is level:
        return t
    if isinstance(w, Batch):
        return batch(w.level, _batched_throughout(w.value, level), w.alike)
    return dual(w.level, _batched_throughout(w.value, level), _batched_throughout(w.tangent, level))


def variable(t: Any) -> Any:
    """`alias`, with the batch of every running vmap: each sample is to have its own gradient."""
    for level in running("batch"):
        t = _batched_throughout(t, level)
    return alias(t)


def plain_parts(t: Any) -> list[Any]:
    """The unwrapped tensors within."""
    w = t._wrapped
    if w is None:
        return [t]
    if isinstance(w, Batch):
        return plain_parts(w.value)
    return plain_parts(w.value) + plain_parts(w.tangent)


# ---- backward


def run_backward(
    roots: tuple[Any, ...],
    gradients: tuple[Any, ...],
    retain: bool,
    create_graph: bool,
    inputs: tuple[Any, ...] | None,
    accumulate: bool = False,
) -> Any:
    """`_core.run_backward` for tensors of any levels.

    The youngest level of the roots and inputs is taken off. A batch: the gradients of all samples
    are one backward of the batched values. A dual y + dy: the value of the gradient is the gradient
    of y, its tangent that of dy (and of y, where the given gradient has a tangent itself).
    """
    roots, gradients = tuple(map(_alive, roots)), tuple(map(_alive, gradients))
    inputs = None if inputs is None else tuple(map(_alive, inputs))
    w = youngest(roots if inputs is None else (*roots, *inputs))
    if w is None:
        return _core.run_backward(roots, gradients, retain, create_graph, inputs, accumulate)
    if accumulate and inputs is not None:
        found = run_backward(roots, gradients, retain, create_graph, inputs)
        for target, g in zip(inputs, found, strict=True):
            if g is not None and isinstance(target, _Tensor):
                target._grad = g if target._grad is None else target._grad + g
        return None
    gradients = tuple(_given(r, g) for r, g in zip(roots, gradients, strict=True))
    level = w.level
    if isinstance(w, Batch):
        return _backward_batch(roots, gradients, retain, create_graph, inputs, level)
    return _backward_dual(roots, gradients, retain, create_graph, inputs, level)


def _given(root: Any, gradient: Any) -> Any:
    if gradient is not None or not isinstance(root, _Tensor):
        return gradient
    if root.numel() != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if not root.dtype.is_floating_point:
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {root.dtype}"
        )
    return namespace("torch")["ones"](tuple(root.shape), dtype=root.dtype)


def _backward_batch(
    roots: Any, gradients: Any, retain: bool, create_graph: bool, inputs: Any, level: Level
) -> Any:
    outs, gs = [], []
    for root, g in zip(roots, gradients, strict=True):
        value = batched_at(root, level)
        if value is None:
            outs.append(root)
            gs.append(g)
            continue
        given = batched_at(g, level)
        outs.append(value)
        gs.append(g.expand(level.size, *g.shape) if given is None else given)
    if inputs is None:
        return run_backward(tuple(outs), tuple(gs), retain, create_graph, None)
    values = [batched_at(i, level) if isinstance(i, _Tensor) else None for i in inputs]
    wanted = tuple(i if v is None else v for i, v in zip(inputs, values, strict=True))
    found = run_backward(tuple(outs), tuple(gs), retain, create_graph, wanted)
    if any(o is not r for o, r in zip(outs, roots, strict=True)):
        _refuse_shared(found, values)
    result = tuple(
        g if g is None or v is None else with_batch(g, level)
        for g, v in zip(found, values, strict=True)
    )
    if all_alike(roots, level):
        for g in result:
            _note_alike_by(g, gradients, level)
    return result


def _note_alike_by(t: Any, sources: Any, level: Level) -> None:
    """Keep which parts of a tensor have the same elements: those to which the same parts of the
    sources, which it is linear in, brought no batch of a level with other ones."""
    w = None if t is None else t._wrapped
    if w is None:
        return
    if w.level is level:
        w.alike = not any(_has_batch_of(s, level) for s in sources)
        return
    inner = [s if s is None or not at_level(s, w.level) else s._wrapped for s in sources]
    values = [s.value if isinstance(s, (Batch, Dual)) else s for s in inner]
    _note_alike_by(w.value, values, level)
    if isinstance(w, Dual):
        tangents = [s.tangent for s in inner if isinstance(s, Dual)]
        _note_alike_by(w.tangent, values + tangents, level)


def _has_batch_of(t: Any, level: Level) -> bool:
    """Whether a tensor has a batch of a level whose elements are not the same."""
    w = None if t is None else t._wrapped
    if w is None:
        return False
    if w.level is level:
        return not w.alike
    return _has_batch_of(w.value, level) or (
        isinstance(w, Dual) and _has_batch_of(w.tangent, level)
    )


def _refuse_shared(found: Any, values: Any) -> None:
    """A tensor that all samples share has one place in the graph: what comes there is the sum."""
    for i, (g, v) in enumerate(zip(found, values, strict=True)):
        if g is not None and v is None:
            raise RuntimeError(
                "element 0 of tensors does not require grad and does not have a grad_fn. Under "
                f"vmap, input {i} of grad() is one tensor that all samples share, and their "
                "gradients meet in it as a sum. For a gradient of each sample, differentiate "
                "with func.grad (or func.vjp) inside the mapped function; for the sum, call "
                "grad() outside of vmap."
            )


def _backward_dual(
    roots: Any, gradients: Any, retain: bool, create_graph: bool, inputs: Any, level: Level
) -> Any:
    outs, gs, more_outs, more_gs = [], [], [], []
    for root, g in zip(roots, gradients, strict=True):
        value, tangent = parts_at(root, level) if isinstance(root, _Tensor) else (root, None)
        g_value, g_tangent = parts_at(g, level)
        outs.append(value)
        gs.append(g_value)
        if tangent is not None:
            more_outs.append(tangent)
            more_gs.append(g_value)
        if g_tangent is not None:
            more_outs.append(value)
            more_gs.append(g_tangent)
    if inputs is None:
        return _run(outs, gs, retain, create_graph, None)
    wanted = tuple(parts_at(i, level)[0] if isinstance(i, _Tensor) else i for i in inputs)
    values = _run(outs, gs, True, create_graph, wanted)
    tangents = _run(more_outs, more_gs, retain, create_graph, wanted)
    return tuple(
        None if v is None and t is None else _joined(v, t, level)
        for v, t in zip(values, tangents, strict=True)
    )


def _joined(value: Any, tangent: Any, level: Level) -> Any:
    if value is None:
        value = namespace("torch")["zeros_like"](tangent)
    return with_tangent(value, tangent, level)


def _run(outs: Any, gs: Any, retain: bool, create_graph: bool, wanted: Any) -> Any:
    """run_backward of those roots that have a history."""
    pairs = [(o, g) for o, g in zip(outs, gs, strict=True) if needs_grad(o)]
    if not pairs:
        return None if wanted is None else (None,) * len(wanted)
    roots, given = zip(*pairs, strict=True)
    return run_backward(roots, given, retain, create_graph, wanted)


def needs_grad(t: Any) -> bool:
    """Whether any tensor within has a history."""
    if not isinstance(t, _Tensor):
        return True
    w = t._wrapped
    return t.requires_grad if w is None else any(p.requires_grad for p in plain_parts(t))


_BY_OTHER = frozenset(
    "bitwise_and_ bitwise_left_shift_ bitwise_or_ bitwise_right_shift_ bitwise_xor_ copysign_ eq_ "
    "fill_ fmod_ ge_ gt_ le_ lerp_ lt_ masked_fill_ ne_ pow_ remainder_".split()
)
_OVERLOADS = {
    **dict.fromkeys("add_ div_ floor_divide_ mul_ sub_".split(), (".Tensor", ".Tensor")),
    **dict.fromkeys(_BY_OTHER, (".Tensor", ".Scalar")),
    **dict.fromkeys("clamp_ clamp_max_ clamp_min_".split(), (".Tensor", "")),
    "xlogy_": (".Tensor", ".Scalar_Other"),
    "_scatter_": (".src", ".src"),
    "_scatter_value_": (".value", ".value"),
    "_fill_tensor_": (".int_Tensor", ".int_Tensor"),
    "_fill_number_": (".int_Scalar", ".int_Scalar"),
    "bernoulli_": (".Tensor", ".float"),
    "randint_": (".from", ".from"),
}
_NAMES = {
    "_fill_tensor_": "index_fill_",
    "_fill_number_": "index_fill_",
    "_scatter_value_": "scatter_",
    "randint_": "random_",
}


def public_name(name: str) -> str:
    """The name that programs know the in-place form of an op by."""
    return _NAMES.get(name) or name.lstrip("_")


def _refuse_captured(t: Any, name: str, value: Any) -> None:
    """What a write to a tensor is answered with that the transformed function was not given."""
    overload = _OVERLOADS.get(name, ("", ""))[not isinstance(value, _Tensor)]
    name = public_name(name) + overload
    raise RuntimeError(
        "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call "
        f"in-place operation (aten::{name}) that would mutate a captured Tensor. This is not "
        "supported; please rewrite the function being transformed to explicitly accept the mutated "
        "Tensor(s) as inputs."
    )


def _refuse_requires_grad() -> None:
    """What requires_grad_() is answered with inside of a transform."""
    if any(not level.inside for level in running("grad", "dual", "batch")):
        raise RuntimeError(
            "You are attempting to call Tensor.requires_grad_() (or perhaps using "
            "torch.autograd.functional.* APIs) inside of a function being transformed by a "
            "functorch transform. This is unsupported, please attempt to use the functorch "
            "transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside "
            "of a function being transformed instead."
        )
