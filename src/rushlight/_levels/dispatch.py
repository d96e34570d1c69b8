"""Answers to the native core about wrapped tensors: methods of `wrapped`, called by name
(native/core/wrapped.cpp)."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Op, Tensor
from ..ops.table.arrays import Array
from . import captured
from .backward import run_backward
from .opaque_array import FLOW, ITEM, MEMORY, OpaqueArray
from .running import state
from .settling import settle_all, settled, show
from .structure import alive, plain_parts, youngest

__all__ = ["wrapped"]

_call = _core.call_op


class _Wrapped:
    __slots__ = ()

    settle = staticmethod(settled)
    backward = staticmethod(run_backward)
    refuse_captured = staticmethod(captured.refuse_captured)
    refuse_requires_grad = staticmethod(captured.refuse_requires_grad)

    def call(self, op: Op, args: tuple[Any, ...]) -> Any:
        """The result of an op; NotImplemented where no argument is wrapped after all."""
        settle_all(args)
        w = youngest(args)
        if w is None:
            return NotImplemented
        level = w.level
        if not level.active:
            return _call(op, [alive(a) for a in args])
        return level.call(op, args)

    def in_place(self, op: Op, args: tuple[Any, ...]) -> Tensor:
        """The same of an op's in-place variant."""
        settle_all(args)
        if any(level.differentiates for level in state.stack):
            captured.check_captured(args[0], op, args)
        if _core.is_grad_enabled():
            for part in plain_parts(args[0]):
                _core.renew_history(part)
        w = youngest(args)
        if w is None:
            return NotImplemented
        level = w.level
        if not level.active:
            return _call(op, [alive(a) for a in args])
        return level.in_place(op, args)

    def item(self, t: Tensor) -> float:
        """`t.item()`."""
        return t._wrapped.level.item(t, ITEM).item()

    def truth(self, t: Tensor) -> bool:
        """`bool(t)`."""
        return bool(t._wrapped.level.item(t, FLOW))

    def array(self, t: Tensor) -> OpaqueArray | Array:
        """`t._array`."""
        return t._wrapped.level.array(t)

    def memory(self, t: Tensor) -> Tensor:
        """The tensor whose memory may leave in the place of t's."""
        w = t._wrapped
        if w.opaque() or (w.level.active and not w.level.by_hand):
            raise RuntimeError(MEMORY)
        return w.value

    def data(self, t: Tensor) -> Tensor:
        """`t.data`."""
        w = t._wrapped
        return w.level.data(w)

    def set_data(self, t: Tensor, new: Tensor) -> None:
        """`t.data = new`."""
        for x in (t, new):
            w = x._wrapped
            if w is None or w.level.by_hand or not w.level.active:
                continue
            where = "under vmap" if w.opaque() else "inside functorch"
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

    def set_requires_grad(self, t: Tensor, on: bool) -> None:
        """`t.requires_grad = on`."""
        w = t._wrapped
        w.level.set_requires_grad(w, on)

    def version(self, t: Tensor) -> int:
        """`t._version`."""
        return t._wrapped.value._version

    def grad_fn(self, t: Tensor) -> Any:
        """`t.grad_fn`."""
        return t._wrapped.level.grad_fn(t)

    def detach(self, t: Tensor) -> Tensor:
        """`t.detach()`."""
        w = t._wrapped
        return w.level.detach(w)


wrapped = _Wrapped()
