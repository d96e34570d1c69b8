"""Values with tangents: forward mode, of `func.jvp` and of `forward_ad`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Flag, Op, Tensor
from ..ops.making.creation import zeros_like
from . import places
from .backward import run_backward
from .level import Level, Wrapper
from .running import state
from .settling import address, settled, show_history, take_part
from .structure import (
    alias,
    alive,
    batched_at,
    given,
    has_tensors,
    needs_grad,
    parts_at,
    with_batch,
    with_tangent,
)
from .tangents import has_history, tangent_of

if TYPE_CHECKING:
    from .batch import BatchLevel

__all__ = ["Dual", "DualLevel", "ForwardLevel", "let_have_tangent"]

_call = _core.call_op
_wrapper = _core.wrapper
_TANGENT, _REQUIRES_GRAD = Flag.TANGENT, Flag.REQUIRES_GRAD


class Dual(Wrapper):
    """A value and its tangent."""

    __slots__ = ("tangent",)
    level: DualLevel

    def __init__(self, level: DualLevel, value: Tensor, tangent: Tensor) -> None:
        self.level, self.value, self.tangent = level, value, tangent
        self.shows: Any = None
        self.origin = 0

    def parts(self) -> tuple[Tensor, ...]:
        return self.value, self.tangent

    def over(self, f: Any) -> Tensor:
        return self.level.wrap(f(self.value), f(self.tangent))

    def opaque(self) -> bool:
        w = self.value._wrapped
        return w is not None and w.opaque()

    def alias(self) -> Tensor:
        return self.level.wrap(alias(self.value), given(self.tangent))

    def parts_at(self, t: Any, level: DualLevel) -> tuple[Any, Any]:
        value, tangent = parts_at(self.value, level)
        outer, outer_tangent = parts_at(self.tangent, level)
        if tangent is None and outer_tangent is None:
            return t, None
        zeros = zeros_like
        return self.level.wrap(value, outer), self.level.wrap(
            zeros(value) if tangent is None else tangent,
            zeros(outer) if outer_tangent is None else outer_tangent,
        )

    def batched_at(self, level: BatchLevel) -> Any:
        found = [batched_at(part, level) for part in self.parts()]
        if found[0] is None and found[1] is None:
            return None
        return self.level.wrap(
            *(
                part.expand(level.size, *part.shape) if b is None else b
                for part, b in zip(self.parts(), found, strict=True)
            )
        )

    def with_batch(self, level: BatchLevel) -> Any:
        return self.over(lambda part: with_batch(part, level))

    def with_tangent(self, t: Any, tangent: Any, level: DualLevel) -> Any:
        pairs = [parts_at(x, self.level) for x in (t, tangent)]
        (value, _), (value_tangent, _) = pairs
        outer, outer_tangent = (zeros_like(value) if dx is None else dx for _, dx in pairs)
        value = with_tangent(value, value_tangent, level)
        return self.level.wrap(value, with_tangent(outer, outer_tangent, level))


class DualLevel(Level):
    """`func.jvp`: tensors with tangents."""

    __slots__ = ("in_inference",)
    name = "jvp"

    def __init__(self, inside: bool = False) -> None:
        super().__init__(inside)
        self.in_inference = _core.is_inference()

    def wrap(self, value: Tensor, tangent: Tensor) -> Tensor:
        """The tensor of a value and a tangent; the value itself where there is no tangent."""
        if tangent is None:
            return value
        tangent = places.put_off_alike(tangent, value)
        t = _wrapper(value, _TANGENT, Dual(self, value, tangent))
        if tangent.requires_grad:
            t._set_flag(_REQUIRES_GRAD, True)
        return t

    def ended(self) -> None:
        for one in self.taken:
            t = one()
            w = None if t is None else t._attached
            if w is not None and w.level is self:
                self.give_back(t)

    def give_back(self, t: Tensor) -> None:
        if t._base is not None:
            t._wrapped = (0, None)
            return
        inside = t._attached.value
        settled(inside)
        _core.rejoin(t, alive(inside))
        self.lead(inside, t)  # views that were made since are views of that

    def lead(self, t: Tensor, to: Tensor) -> None:
        """Let a tensor be another one from now on, as this level has ended."""
        w = Dual(self, to, to)
        w.origin = address(t)
        t._wrapped = (_TANGENT, w)

    # ---- calls

    def computes_tangents(self) -> bool:
        """Whether ops compute tangents in this thread; in inference mode only for a transform that
        began in inference mode."""
        return state.forward and (self.in_inference or not _core.is_inference())

    def call(self, op: Op, args: Sequence[Any]) -> Any:
        if _core.is_inference() and not self.in_inference:
            return _call(op, [self._value(a) for a in args])
        values, tangents = self._split(args)
        out = _call(op, values)
        if op.differentiable and state.forward:
            out = self._join(op, out, tangent_of(op, values, tangents, out), tangents.values())
        if op.view:
            self.view(out, op, args)
        return out

    def in_place(self, op: Op, args: Sequence[Any]) -> Tensor:
        self_ = args[0]
        values, tangents = self._split(args)
        computes = self.computes_tangents()
        if 0 not in tangents:
            if not op.base.differentiable or not self_.dtype.is_differentiable or not computes:
                _call(op, values)
                return self_
            let_have_tangent(self_, self)
            values, tangents = self._split(args)
        w = self_._wrapped
        if not computes:
            _call(op, values)
            return self_
        if _core.is_grad_enabled() and any(has_history(v) for v in values):
            # On a copy, as the tangent's rule may save the values that are about to be overwritten.
            before = [values[0].clone(), *values[1:]]
            result = _call(op.base, self._rejoined(before, {**tangents, 0: w.tangent.clone()}))
        else:
            result = _call(op.base, args)
        _, tangent = parts_at(result, self)
        _call(op, values)
        if tangent is None:
            w.tangent.zero_()
        else:
            places.let_have_batches(w.tangent, tangent)
            w.tangent.copy_(tangent)
        show_history(self_, w.value.requires_grad or w.tangent.requires_grad)
        return self_

    def function(self, cls: Any, args: Sequence[Any]) -> Tensor:
        return cls._under_dual(args, self)

    def _value(self, a: Any) -> Any:
        """An argument without its tangent: inference mode has no forward-mode derivatives."""
        if has_tensors(a):
            return [self._value(x) for x in a]
        return parts_at(a, self)[0] if isinstance(a, Tensor) else a

    def _split(self, args: Sequence[Any]) -> tuple[list[Any], dict[int, Any]]:
        """The arguments without tangents, and the tangents by position."""
        values: list[Any] = []
        tangents: dict[int, Any] = {}
        for i, a in enumerate(args):
            if isinstance(a, Tensor):
                w = a._wrapped
                if w is not None and w.level is self:
                    tangents[i] = w.tangent
                    a = w.value
            elif (type(a) is list or type(a) is tuple) and a and isinstance(a[0], Tensor):
                parts = [parts_at(x, self) for x in a]
                if any(t is not None for _, t in parts):
                    tangents[i] = [t for _, t in parts]
                    a = [v for v, _ in parts]
            values.append(a)
        return values, tangents

    def _rejoined(self, values: list[Any], tangents: dict[int, Any]) -> list[Any]:
        joined = list(values)
        for at, t in tangents.items():
            if isinstance(t, list):
                joined[at] = [self.wrap(v, x) for v, x in zip(values[at], t, strict=True)]
            else:
                joined[at] = self.wrap(values[at], t)
        return joined

    def _join(
        self, op: Op, out: Any, tangent: Tensor | tuple[Tensor | None, ...] | None, given: Any
    ) -> Any:
        if isinstance(out, Tensor):
            return self._joined(op, out, tangent, given)
        if tangent is None:
            return out
        joined = tuple(self._joined(op, o, t, given) for o, t in zip(out, tangent, strict=True))
        return joined if type(out) is tuple else type(out)(joined)

    def _joined(self, op: Op, out: Tensor, tangent: Any, given: Any) -> Tensor:
        """A result with a tangent; except of views, the memory is separate, for separate writes."""
        if tangent is None or out is None or not out.dtype.is_differentiable:
            return out
        tangent = places.as_tangent(tangent, out)
        if not op.view:
            if tangent.stride() != out.stride():
                tangent = places.laid_out(tangent, out)
            elif _is_borrowed(tangent, given):
                tangent = tangent.clone()
        return self.wrap(out, tangent)

    # ---- what a program asks for

    def item(self, t: Tensor, refusal: str) -> Tensor:
        return t._wrapped.value

    def detach(self, w: Dual) -> Tensor:
        return w.value.detach()

    # ---- backward

    def backward(
        self,
        roots: tuple[Tensor, ...],
        gradients: tuple[Tensor, ...],
        retain: bool,
        create_graph: bool,
        inputs: tuple[Tensor, ...],
    ) -> Any:
        outs, gs, more_outs, more_gs = [], [], [], []
        for root, g in zip(roots, gradients, strict=True):
            value, tangent = parts_at(root, self) if isinstance(root, Tensor) else (root, None)
            g_value, g_tangent = parts_at(g, self)
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
        wanted = tuple(parts_at(i, self)[0] if isinstance(i, Tensor) else i for i in inputs)
        values = _run(outs, gs, True, create_graph, wanted)
        tangents = _run(more_outs, more_gs, retain, create_graph, wanted)
        return tuple(
            None
            if v is None and t is None
            else with_tangent(zeros_like(t) if v is None else v, t, self)
            for v, t in zip(values, tangents, strict=True)
        )


class ForwardLevel(DualLevel):
    """`forward_ad`: a level that the program enters and leaves."""

    __slots__ = ()
    name = "forward AD"
    by_hand = True
    differentiates = False

    def __init__(self) -> None:
        super().__init__()
        self.in_inference = False

    def refuse_storage(self) -> None:
        """A program that is in no transform may have a tensor's memory."""


def _run(
    outs: list[Tensor],
    gs: list[Tensor],
    retain: bool,
    create_graph: bool,
    wanted: tuple[Tensor, ...],
) -> tuple[Tensor | None, ...]:
    """run_backward of those roots that have a history."""
    pairs = [(o, g) for o, g in zip(outs, gs, strict=True) if needs_grad(o)]
    if not pairs:
        return None if wanted is None else (None,) * len(wanted)
    roots, given = zip(*pairs, strict=True)
    return run_backward(roots, given, retain, create_graph, wanted)


def _is_borrowed(tangent: Tensor, given: Any) -> bool:
    """Whether a tangent that an op should have made is (or shows) another tensor."""
    w = tangent._wrapped
    if w is None:
        if tangent._base is not None:
            return True
    elif any(_is_borrowed(part, ()) for part in w.parts()):
        return True
    return any(any(tangent is x for x in t) if type(t) is list else tangent is t for t in given)


def let_have_tangent(t: Tensor, level: DualLevel) -> None:
    """Before a write with a dual: a tensor without a tangent gets one of zeros."""
    if t._wrapped is None:
        _core.check_in_place(t, _core.is_grad_enabled() and t.requires_grad)
    take_part(t, level, lambda inside: level.wrap(inside, places.zeros_laid_out(inside, level)))
