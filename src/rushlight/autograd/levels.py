"""Tensors that stand for others while a transform runs: levels,
and what happens to calls that meet them.

A watched tensor is an ordinary Tensor with an object attached (`_watched`): a `Dual` (a value and
its tangent) or a `Batch` (a value whose dimension 0 the program does not see). The array behind it
(`_seen`) has the shape and dtype that the program is to see; `_array` of a batch gives those only
and refuses to be read (`hidden.py`). Values and tangents may be watched themselves, by older
levels: the younger level is always outside.

Every op that is given a watched tensor comes to `_watched_call`. The youngest level among the
arguments answers (`Dual.call`, `Batch.call`, set by the room `func`) with ops on the values within,
and those find the next level. That is all of nesting: no level knows of another, so tangents of two
derivatives cannot be mixed up.

Reverse-mode needs no wrapper: the tape records what happens to the values inside. `run_backward`
here gives the gradient of watched tensors from gradients of what they hold; see the design note
docs/design/0005-levels.md for why that is right.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core
from ..ops._op import LAZY, OPS, namespace
from .hidden import MEMORY, Hidden
from .running import running, state

__all__ = ["Batch", "Dual", "Level", "at_level", "batch", "dual", "is_watched"]

_Tensor = _core.Tensor
_watch = _core.watch
_TANGENT, _TRANSFORMED = 256, 512
_LAZY = sum(LAZY.values())  # the bits of a conjugate or a negative that was put off
_numbers = itertools.count(1)


class Level:
    """One running transform; younger ones have greater numbers."""

    __slots__ = ("active", "depth", "kind", "number", "randomness", "size")

    def __init__(self, kind: str, size: int = 0, randomness: str = "error") -> None:
        self.kind, self.size, self.randomness = kind, size, randomness
        self.number = next(_numbers)
        self.active = False
        self.depth = 0

    def __enter__(self) -> Level:
        stack = state.stack
        stack.append(self)
        self.depth = len(stack)
        self.active = True
        return self

    def __exit__(self, *exception: object) -> None:
        self.active = False
        if self in state.stack:  # a level of forward_ad may end in another thread
            state.stack.remove(self)


class Dual:
    """A value and its tangent."""

    __slots__ = ("level", "origin", "shows", "tangent", "value")
    call: Callable[..., Any]
    in_place: Callable[..., Any]

    def __init__(self, level: Level, value: Any, tangent: Any) -> None:
        self.level, self.value, self.tangent = level, value, tangent
        self.shows: Any = None  # of a view: (op, arguments, which result)
        self.origin = 0  # where the memory began before the tensor became a dual


class Batch:
    """A value whose dimension 0 is the batch."""

    __slots__ = ("level", "shows", "value")
    call: Callable[..., Any]
    in_place: Callable[..., Any]

    def __init__(self, level: Level, value: Any) -> None:
        self.level, self.value = level, value
        self.shows: Any = None


def dual(level: Level, value: Any, tangent: Any) -> Any:
    """The watched tensor of a value and a tangent; the value itself where there is no tangent."""
    if tangent is None:
        return value
    tangent = put_off_alike(tangent, value)
    t = _watch(value, _TANGENT, Dual(level, value, tangent))
    if tangent.requires_grad:
        t._set_flag(1, True)
    return t


def put_off_alike(tangent: Any, value: Any) -> Any:
    """The tangent with the bits of its value, so that what is a view of one is one of the other."""
    if not (value._flags() ^ tangent._flags()) & _LAZY:
        return tangent

    def turned(t: Any) -> Any:
        t = t.conj() if value.is_conj() else t
        return namespace("torch")["_neg_view"](t) if value.is_neg() else t

    return turned(turned(tangent).clone())


def batch(level: Level, value: Any) -> Any:
    """The watched tensor that shows one element of dimension 0 of a value."""
    array = value._seen
    seen = array[0, ...] if len(array) else np.empty(array.shape[1:], array.dtype)
    return _watch(value, _TRANSFORMED, Batch(level, value), seen)


def show(t: Any, value: Any) -> None:
    """Let a watched tensor have the memory of another value than before."""
    t._array = value._seen
    t._set_flag(_LAZY, False)
    t._set_flag(value._flags() & _LAZY, True)


def is_watched(t: Any) -> bool:
    """Whether a tensor stands for others."""
    return t._watched is not None


def at_level(t: Any, level: Level) -> Any:
    """What a tensor has at exactly this level, as its outermost: a Dual, a Batch, or None."""
    w = t._watched
    return w if w is not None and w.level is level else None


def youngest(tensors: Any) -> Any:
    """The attached object with the greatest level among tensors and lists of them, or None."""
    found, number = None, 0
    for t in tensors:
        if isinstance(t, _Tensor):
            w = t._watched
            if w is not None and w.level.number > number:
                found, number = w, w.level.number
        elif type(t) is list or type(t) is tuple:
            w = youngest(t)
            if w is not None and w.level.number > number:
                found, number = w, w.level.number
    return found


# ---- calls


def _watched_call(op: Any, slots: tuple[Any, ...]) -> Any:
    w = youngest(slots)
    if w is None:
        return NotImplemented
    if not w.level.active:
        return _core.call_op(op, [_alive(a) for a in slots])
    if w.level.kind == "forward_ad" and _core.is_inference():
        return _core.call_op(op, [_without(a, w.level) for a in slots])
    result = w.call(op, slots, w.level)
    if op.view:
        _note_view(result, op, slots)
    return result


def _note_view(result: Any, op: Any, slots: tuple[Any, ...]) -> None:
    """Keep how a view was made: what is written to it with a tangent gives the whole one too."""
    if isinstance(result, _Tensor):
        if result._watched is not None and result is not slots[0]:
            result._watched.shows = (op, slots, None)
        return
    for i, r in enumerate(result):
        if r._watched is not None:
            r._watched.shows = (op, slots, i)


def _watched_in_place(op: Any, slots: tuple[Any, ...]) -> Any:
    w = youngest(slots)
    if w is None:
        return NotImplemented
    if not w.level.active:
        return _core.call_op(op, [_alive(a) for a in slots])
    return w.in_place(op, slots, w.level)


def _without(a: Any, level: Level) -> Any:
    """An argument without its tangent: inference mode has no forward-mode derivatives."""
    if isinstance(a, (list, tuple)):
        return [_without(x, level) for x in a]
    return parts_at(a, level)[0] if isinstance(a, _Tensor) else a


def _alive(a: Any) -> Any:
    """An argument without levels that ended: what a dual has then is its value."""
    if isinstance(a, (list, tuple)):
        return [_alive(x) for x in a]
    if isinstance(a, _Tensor):
        w = a._watched
        while w is not None and not w.level.active:
            if isinstance(w, Batch):
                raise RuntimeError(
                    "a tensor of a vmap that has ended is used: return it from the mapped function"
                )
            a = w.value
            w = a._watched
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


def _watched_item(t: Any) -> Any:
    w = t._watched
    if isinstance(w, Batch):
        raise RuntimeError(_ITEM)
    return w.value.item()


def _watched_bool(t: Any) -> bool:
    w = t._watched
    if isinstance(w, Batch):
        raise RuntimeError(_FLOW)
    return bool(w.value)


def has_batch(t: Any) -> bool:
    """Whether a tensor stands for the elements of a batch, at any level."""
    w = t._watched
    while w is not None:
        if isinstance(w, Batch):
            return True
        w = w.value._watched
    return False


def _watched_array(t: Any) -> Any:
    """`_array` of a watched tensor."""
    return Hidden(t._seen) if has_batch(t) else t._watched.value._array


def _watched_memory(t: Any) -> Any:
    """The tensor whose memory may leave in the place of a watched one's."""
    w = t._watched
    if has_batch(t) or (w.level.kind == "dual" and w.level.active):
        raise RuntimeError(MEMORY)
    return w.value


def _watched_data(t: Any) -> Any:
    """`t.data`: of a dual its value; refused under vmap, where nothing could be done with it."""
    w = t._watched
    if has_batch(t) and w.level.active:
        raise RuntimeError(
            "accessing `data` under vmap transform is not allowed. Use detach() to cut a tensor "
            "off its history."
        )
    return w.value.data


def _watched_set_data(t: Any, new: Any) -> None:
    """`t.data = new`."""
    for x in (t, new):
        w = x._watched
        if w is None or w.level.kind == "forward_ad" or not w.level.active:
            continue
        where = "under vmap" if has_batch(x) else "inside functorch"
        raise RuntimeError(
            f"mutating directly with `.data` {where} transform is not allowed. Write in place "
            "(copy_), or make a new tensor."
        )
    w = t._watched
    if w is not None:  # a dual of forward_ad keeps its tangent
        w.value.data = new
        show(t, w.value)
    else:
        t.data = new.data


def _watched_requires_grad(t: Any, on: bool) -> None:
    """The variable is the value within."""
    t._watched.value.requires_grad_(on)


def _watched_detach(t: Any) -> Any:
    w = t._watched
    if isinstance(w, Batch):
        return batch(w.level, w.value.detach())
    return w.value.detach()


# ---- one level taken out of, or put into, the middle of several


def parts_at(t: Any, level: Level) -> tuple[Any, Any]:
    """(value, tangent or None) of a tensor at a dual level,
    whatever younger levels are around it."""
    w = t._watched
    if w is None or w.level.number < level.number:
        return t, None
    if w.level is level:
        return w.value, w.tangent
    if isinstance(w, Batch):
        value, tangent = parts_at(w.value, level)
        return batch(w.level, value), None if tangent is None else batch(w.level, tangent)
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
    w = t._watched
    if w is None or w.level.number < level.number:
        return None
    if w.level is level:
        return w.value
    if isinstance(w, Batch):
        inner = batched_at(w.value, level)  # (level, this batch, ...)
        return None if inner is None else batch(w.level, inner.transpose(0, 1))
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
    w = t._watched
    if w is None or w.level.number < level.number:
        return batch(level, t)
    if isinstance(w, Batch):
        return batch(w.level, with_batch(w.value.transpose(0, 1), level))
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
        return batch(w.level, with_tangent(inner[0]._watched.value, inner[1]._watched.value, level))
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
    w = t._watched
    if w is None:
        return t.detach()
    if isinstance(w, Batch):
        return batch(w.level, detach(w.value))
    return dual(w.level, detach(w.value), detach(w.tangent))


def alias(t: Any) -> Any:
    """The same value as a variable of its own, connected to what it was computed from."""
    w = t._watched
    if w is None:
        return OPS["alias"].function(t) if t.requires_grad else t.detach().requires_grad_()
    if isinstance(w, Batch):
        return batch(w.level, alias(w.value))
    return dual(w.level, alias(w.value), w.tangent)


def zero_leaf(t: Any) -> Any:
    """A variable of zeros, of the structure of a tensor."""
    for level in _batches(t):
        t = _batched_throughout(t, level)
    return _zero_leaf(t)


def _zero_leaf(t: Any) -> Any:
    w = t._watched
    if w is None:
        return OPS["zeros_like"].function(t, requires_grad=True)
    if isinstance(w, Batch):
        return batch(w.level, _zero_leaf(w.value))
    return _zero_leaf(w.value)


def _batches(t: Any) -> list[Level]:
    """The batch levels within a tensor, oldest first."""
    w = t._watched
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
    w = t._watched
    if w is not None and w.level is level:
        return t
    value = batched_at(t, level)
    if value is None:
        value = t.expand(level.size, *t.shape)
    return with_batch(value, level)


def batched_throughout(t: Any, level: Level) -> Any:
    """A fresh tensor with the batch of every running vmap that is older than a level: what is
    written to it later may have any of them."""
    for older in running("batch"):
        if older.number < level.number and batched_at(t, older) is None:
            t = _batched_throughout(t, older).clone()
    return t


def variable(t: Any) -> Any:
    """`alias`, with the batch of every running vmap: each sample is to have its own gradient."""
    for level in running("batch"):
        t = _batched_throughout(t, level)
    return alias(t)


def plain_parts(t: Any) -> list[Any]:
    """The unwatched tensors within."""
    w = t._watched
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
    return tuple(
        g if g is None or v is None else with_batch(g, level)
        for g, v in zip(found, values, strict=True)
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
    w = t._watched
    return t.requires_grad if w is None else any(p.requires_grad for p in plain_parts(t))


_core.register(
    callbacks={
        "watched_call": _watched_call,
        "watched_in_place": _watched_in_place,
        "watched_item": _watched_item,
        "watched_memory": _watched_memory,
        "watched_array": _watched_array,
        "watched_data": _watched_data,
        "watched_set_data": _watched_set_data,
        "watched_requires_grad": _watched_requires_grad,
        "watched_bool": _watched_bool,
        "watched_detach": _watched_detach,
        "watched_backward": run_backward,
    }
)
