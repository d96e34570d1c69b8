"""The base of levels, and of the objects that levels attach to tensors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Op, Tensor
from . import composites
from .drawing import drawn
from .opaque_array import OpaqueArray
from .running import asked, running, state
from .settling import note_view

if TYPE_CHECKING:
    from .batch import BatchLevel
    from .dual import DualLevel

__all__ = ["GradLevel", "Level", "Wrapper"]

_numbers = itertools.count(1)


class Wrapper:
    """The attachment of a tensor that stands for others: the level, and the value within."""

    strided = True  # whether it lies in memory as the value does
    __slots__ = ("level", "origin", "shows", "value")

    def __init__(self, level: Level, value: Any) -> None:
        self.level, self.value = level, value
        self.shows: Any = None  # of a view: (op, arguments, which result, place of the first)
        self.origin = 0  # of a tensor that was plain before: where its memory began

    def parts(self) -> tuple[Tensor, ...]:
        """The tensors within."""
        return (self.value,)

    def opaque(self) -> bool:
        """Whether the tensor has no values to read, as an element of a batch."""
        raise NotImplementedError

    def over(self, f: Any) -> Any:
        """The wrapped tensor of what `f` makes of each part."""
        raise NotImplementedError

    def parts_at(self, t: Any, level: DualLevel) -> tuple[Any, Any]:
        """(value, tangent or None) of a tensor with this wrapper, at an older dual level."""
        raise NotImplementedError

    def batched_at(self, level: BatchLevel) -> Any:
        """The tensor with the batch of an older level as its dimension 0; None without one."""
        raise NotImplementedError

    def with_batch(self, level: BatchLevel) -> Any:
        """The tensor whose dimension 0 became the batch of an older level."""
        raise NotImplementedError

    def with_tangent(self, t: Any, tangent: Any, level: DualLevel) -> Any:
        """The dual of an older level of two tensors, the younger of which has this wrapper."""
        raise NotImplementedError

    def alias(self) -> Any:
        """See `structure.alias`."""
        raise NotImplementedError


class Level:
    """One running transform; younger ones have greater numbers.

    `inside`: the transform is the library's own work, and code of the program inside is not to see
    a transform.
    """

    __slots__ = ("active", "before", "depth", "inside", "number", "taken")
    name = ""  # of the transform, as programs know it
    by_hand = False  # entered and left by the program, which is in no transform: forward_ad's
    maps = False  # a tensor of the level stands for all elements of a batch
    differentiates = True  # what it did not make and was not given may not be written

    def __init__(self, inside: bool = False) -> None:
        self.inside = inside
        self.number = next(_numbers)
        self.active = False
        self.depth = 0
        self.before: Any = None  # which transforms ran when it began
        self.taken: list[Any] = []  # tensors that were made without it and came to have it

    def __enter__(self) -> Any:
        stack = state.stack
        stack.append(self)
        self.depth = sum(not level.by_hand for level in stack)
        self.active = True
        if not self.by_hand:
            derivative = self.differentiates and not self.inside
            self.before = _core.set_transforms(self.number, derivative)
        return self

    def __exit__(self, *exception: object) -> None:
        self.active = False
        if self in state.stack:  # a level of forward_ad may end in another thread
            state.stack.remove(self)
        if self.before is not None:
            _core.reset_transforms(*self.before)
        self.ended()

    def ended(self) -> None:
        """Called when the level is over."""

    __enter__ = _core.beginning(__enter__, __exit__)
    __exit__ = _core.ending(__exit__)

    # ---- calls; this level is the youngest among the arguments

    def call(self, op: Op, args: Sequence[Any]) -> Any:
        """The result of an op."""
        raise NotImplementedError

    def in_place(self, op: Op, args: Sequence[Any]) -> Any:
        """The first argument, which an op's in-place variant has written."""
        raise NotImplementedError

    def function(self, cls: Any, args: Sequence[Any]) -> Any:
        """The result of a custom Function."""
        raise NotImplementedError

    def backward(
        self, roots: Any, gradients: Any, retain: bool, create_graph: bool, inputs: Any
    ) -> Any:
        """`backward.run_backward` of roots and inputs, in terms of tensors without this level."""
        raise NotImplementedError

    def view(self, result: Tensor | tuple[Tensor, ...], op: Op, args: Sequence[Any]) -> None:
        """Told of each view that `call` gave."""
        note_view(result, op, args)

    # ---- what a program asks a tensor for; `w` is its wrapper, of this level

    def array(self, t: Any) -> Any:
        """`t._array`, which code of the library reads."""
        w = t._wrapped
        return OpaqueArray(t._seen) if w.opaque() else w.value._host_array

    def item(self, t: Any, refusal: str) -> Any:
        """The tensor within t whose value is asked for; raises `refusal` where elements differ."""
        raise NotImplementedError

    def data(self, w: Any) -> Tensor:
        """`t.data`: refused under vmap, where nothing could be done with it."""
        if w.opaque() and self.active:
            raise RuntimeError(
                "accessing `data` under vmap transform is not allowed. Use detach() to cut a "
                "tensor off its history."
            )
        return w.value.data

    def detach(self, w: Any) -> Any:
        """`t.detach()`."""
        raise NotImplementedError

    def grad_fn(self, t: Any) -> Any:
        """`t.grad_fn`: the node of the value within. Under vmap or jvp alone a program sees no
        history."""
        if self.by_hand or not self.active or running(GradLevel):
            return t._wrapped.value.grad_fn
        return None

    def set_requires_grad(self, w: Any, on: bool) -> None:
        """`t.requires_grad = on`: the variable is the value within."""
        if w.value.requires_grad != on:
            w.value.requires_grad = on

    def refuse_storage(self) -> None:
        """Raise what is said where a tensor's memory is asked for as a whole."""
        raise NotImplementedError(
            f"Cannot access storage of {self.wrapper_name}. Inside a transform a tensor stands for "
            "others; return it from the transformed function and use the result."
        )

    wrapper_name = "TensorWrapper"

    # ---- tensors that came to have the level, and what is left when it has ended

    def after(self, w: Any) -> Tensor:
        """The tensor that replaces a tensor that still has the ended level."""
        return w.value

    def give_back(self, t: Tensor) -> None:
        """Takes this level, which has ended, off a tensor."""
        raise NotImplementedError

    # ---- functions that are more than the ops in them (`running.answered`); asked of the youngest
    # level that runs, whatever the arguments have

    draw = staticmethod(drawn)
    like = staticmethod(composites.like)
    new = staticmethod(composites.new)
    by_element = staticmethod(composites.by_element)
    no_value = staticmethod(composites.no_value)


for _hook in asked:
    if not hasattr(Level, _hook):
        raise TypeError(f"@answered({_hook!r}): no level has a method of this name")


class GradLevel(Level):
    """A derivative by reverse mode: the tape records what happens, nothing is wrapped."""

    __slots__ = ()
    name = "grad"
