"""Values whose dimension 0 is a batch that the program does not see: vmap."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Flag, Op, Tensor
from ..ops.table.statement import Entry
from . import places
from .backward import run_backward
from .batching import batched, inner
from .captured import in_place_name
from .level import Level, Wrapper
from .settling import made_since, show_history, take_part
from .structure import (
    alias,
    all_alike,
    at_level,
    batched_at,
    has_tensors,
    needs_grad,
    note_alike,
    note_alike_by,
    one_of,
    parts_at,
    with_batch,
    with_tangent,
)

if TYPE_CHECKING:
    from .dual import DualLevel

__all__ = ["Batch", "BatchLevel"]

_call = _core.call_op
_wrapper, _TRANSFORMED = _core.wrapper, Flag.TRANSFORMED


class Batch(Wrapper):
    """A value whose dimension 0 is the batch.

    `alike`: all elements are the same, as it was computed from tensors that the mapped function
    was not given a batch of. Reverse-mode gives those a batch, so that each element has a gradient
    of its own (`variable`); to the program they are tensors without one.
    """

    __slots__ = ("alike", "shown_at")
    level: BatchLevel

    def __init__(self, level: BatchLevel, value: Tensor, alike: bool = False) -> None:
        self.level, self.value, self.alike = level, value, alike
        self.shows: Any = None
        self.origin = 0
        self.shown_at: int | None = None  # of what the program gave: where it had the batch

    def over(self, f: Any) -> Tensor:
        return self.level.wrap(f(self.value), self.alike)

    def opaque(self) -> bool:
        return True

    def alias(self) -> Tensor:
        return self.over(alias)

    def parts_at(self, t: Tensor, level: DualLevel) -> tuple[Any, Any]:
        value, tangent = parts_at(self.value, level)
        outer_tangent = None if tangent is None else self.level.wrap(tangent)
        return self.level.wrap(value, self.alike), outer_tangent

    def batched_at(self, level: BatchLevel) -> Tensor | None:
        within = batched_at(self.value, level)  # (level, this batch, ...)
        return None if within is None else self.level.wrap(within.transpose(0, 1), self.alike)

    def with_batch(self, level: BatchLevel) -> Tensor:
        return self.over(lambda value: with_batch(value.transpose(0, 1), level))

    def with_tangent(self, t: Tensor, tangent: Tensor, level: DualLevel) -> Tensor:
        own = self.level
        value, along = (
            w.value if (w := at_level(x, own)) else x.expand(own.size, *x.shape)
            for x in (t, tangent)
        )
        return own.wrap(with_tangent(value, along, level))


@functools.cache
def _rules() -> Callable[[Any], Any]:
    """The function that finds the rule of an op. The first call inside a vmap imports the rules:
    most programs have no vmap."""
    from .batching_rule import batching_of

    return batching_of


class BatchLevel(Level):
    """`func.vmap`: `size` elements, which share random numbers or not (`randomness`)."""

    __slots__ = ("randomness", "size")
    name = "vmap"
    differentiates = False
    maps = True
    wrapper_name = "BatchedTensorImpl"

    def __init__(self, size: int, randomness: str = "error", inside: bool = False) -> None:
        super().__init__(inside)
        self.size, self.randomness = size, randomness

    def wrap(self, value: Tensor, alike: bool = False) -> Tensor:
        """The tensor that shows one element of dimension 0 of a value."""
        return _wrapper(value, _TRANSFORMED, Batch(self, value, alike), True)

    def after(self, w: Any) -> Tensor:
        raise RuntimeError(
            "a tensor of a vmap that has ended is used: return it from the mapped function"
        )

    def give_back(self, t: Tensor) -> None:
        self.after(None)

    # ---- calls

    def call(self, op: Op, args: Sequence[Any]) -> Any:
        rule = op.entry.batching or _rules()(op)
        result = rule(op, args, self)
        if all_alike(args, self):
            note_alike(result, self)
        if op.view:
            self.view(result, op, args)
        return result

    def in_place(self, op: Op, args: Sequence[Any]) -> Tensor:
        self_ = args[0]
        value = inner(self_, self)
        if value is None:
            if not all_alike(args, self):
                _refuse_write(op, args, self)
            if not made_since(self_, self):
                _call(op, [self._one_of(a) for a in args])
                return self_
            self._take(self_)
            value = inner(self_, self)
        self_._wrapped.alike = self_._wrapped.alike and all_alike(args, self)
        if (
            _core.is_grad_enabled()
            and _reads_itself(op.base.entry)
            and any(isinstance(a, Tensor) and needs_grad(a) for a in args)
        ):
            # A rule saves the values that are about to be overwritten.
            args = [self.wrap(value.clone()), *args[1:]]
        result = _call(op.base, args)
        if result._form.shape != self_._form.shape:
            _core.refuse_shape(self_.shape, result.shape)
        if not _core.can_cast(result.dtype.code, self_.dtype.code):
            _core.refuse_cast(result.dtype.scalar_name, self_.dtype.scalar_name)
        value.copy_(batched(result, self))
        show_history(self_, value.requires_grad)
        return self_

    def function(self, cls: Any, args: Sequence[Any]) -> Tensor:
        return cls._under_batch(args, self)

    def _one_of(self, a: Any) -> Any:
        """An argument as it is outside, of which the elements are the same for all."""
        if has_tensors(a):
            return [self._one_of(x) for x in a]
        return a if inner(a, self) is None else one_of(a)

    def _take(self, t: Tensor) -> None:
        """A tensor that was made inside gets a batch of the same elements."""
        if t._wrapped is None:
            _core.check_in_place(t, _core.is_grad_enabled() and t.requires_grad)
        take_part(t, self, lambda inside: self.wrap(places.copies(inside, self.size), True))

    # ---- what a program asks for

    def item(self, t: Tensor, refusal: str) -> Tensor:
        one = one_of(t)
        if one is None:
            raise RuntimeError(refusal)
        return one

    def detach(self, w: Batch) -> Tensor:
        return self.wrap(w.value.detach(), w.alike)

    def set_requires_grad(self, w: Batch, on: bool) -> None:
        if w.shown_at is None:  # else it is the caller's tensor, which is not to know
            super().set_requires_grad(w, on)

    # ---- backward

    def backward(
        self,
        roots: tuple[Tensor, ...],
        gradients: tuple[Tensor, ...],
        retain: bool,
        create_graph: bool,
        inputs: tuple[Tensor, ...],
    ) -> tuple[Tensor | None, ...]:
        outs, gs = [], []
        for root, g in zip(roots, gradients, strict=True):
            value = batched_at(root, self)
            if value is None:
                outs.append(root)
                gs.append(g)
                continue
            given = batched_at(g, self)
            outs.append(value)
            gs.append(g.expand(self.size, *g.shape) if given is None else given)
        if inputs is None:
            return run_backward(tuple(outs), tuple(gs), retain, create_graph, None)
        values = [batched_at(i, self) if isinstance(i, Tensor) else None for i in inputs]
        wanted = tuple(i if v is None else v for i, v in zip(inputs, values, strict=True))
        found = run_backward(tuple(outs), tuple(gs), retain, create_graph, wanted)
        if any(o is not r for o, r in zip(outs, roots, strict=True)):
            _refuse_shared(found, values)
        result = tuple(
            g if g is None or v is None else with_batch(g, self)
            for g, v in zip(found, values, strict=True)
        )
        if all_alike(roots, self):
            for g in result:
                note_alike_by(g, gradients, self)
        return result


def _refuse_shared(found: tuple[Tensor | None, ...], values: list[Tensor]) -> None:
    """Refuses inputs that all samples share: the gradient there would be the sum over samples."""
    for i, (g, v) in enumerate(zip(found, values, strict=True)):
        if g is not None and v is None:
            raise RuntimeError(
                "element 0 of tensors does not require grad and does not have a grad_fn. Under "
                f"vmap, input {i} of grad() is one tensor that all samples share, and their "
                "gradients meet in it as a sum. For a gradient of each sample, differentiate "
                "with func.grad (or func.vjp) inside the mapped function; for the sum, call "
                "grad() outside of vmap."
            )


def _reads_itself(entry: Entry) -> bool:
    """Whether a gradient rule of an op asks for its first argument."""
    return any(source == (0, 0) for rule in entry.rules for source in rule.sources)


def _refuse_write(op: Op, args: Sequence[Any], level: BatchLevel) -> None:
    """Raises PyTorch's error for a write of a batch to a tensor that all elements share."""
    said, name = op.base.entry.shared_write, in_place_name(op, None).partition(".")[0]
    if said == "shape":
        shape = list(args[0].shape)
        _core.refuse_shape(
            shape,
            [level.size, *shape],
            ". Under vmap the written tensor is one that all elements share: make it from one that "
            f"differs (zeros_like), or use {name[:-1]} in place of {name}.",
        )
    what = name if said == "name" else f"aten::{name}"
    if said == "arithmetic" or (said == "number" and not isinstance(args[-1], Tensor)):
        what = "inplace arithmetic"
    raise RuntimeError(
        f"vmap: {what}(self, *extra_args) is not possible because there exists a Tensor `other` in "
        "extra_args that has more elements than `self`. This happened due to `other` being vmapped "
        "over but `self` not being vmapped over in a vmap. Please try to use out-of-place "
        f"operators instead of {what}. If said operator is being called inside the PyTorch "
        "framework, please file a bug report instead."
    )
