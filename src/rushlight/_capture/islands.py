"""Parts that are captured where a whole function cannot be: the outermost modules that it calls,
and the steps of optimizers. They are captured while the function runs, and plain outside it."""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from ..nn.modules._calling import call_uncompiled
from ..nn.modules._hooks import ON_CALL
from ..nn.modules.module import Module
from ..optim.optimizer import Optimizer
from .calls import KEPT_OUT

__all__ = ["Islands"]


class Islands:
    """The parts of a function. `running`: how many of its calls are under way; `make`: gives the
    island of an object and of the function that it stands for."""

    def __init__(self, make: Callable[[Any, Any, Islands], Any]) -> None:
        self.running, self.make = 0, make
        self.parts: weakref.WeakSet[Any] = weakref.WeakSet()

    def call(self, function: Any, args: Any, kwargs: Any) -> Any:
        """A call in which the parts are captured."""
        self.running += 1
        try:
            return function(*args, **kwargs)
        finally:
            self.running -= 1

    def find(self, function: Any, args: Any, kwargs: Any) -> Any:
        """A call that tells what the parts are."""
        found: dict[int, Any] = {}
        depth = 0  # of parts in parts

        def part_of(frame: FrameType) -> Any:
            code: CodeType = frame.f_code
            if code is Module.__call__.__code__:
                return frame.f_locals.get("self")
            if code.co_name == "step" and isinstance(frame.f_locals.get("self"), Optimizer):
                return frame.f_locals["self"]
            return code if code in KEPT_OUT else None

        def profile(frame: FrameType, event: str, arg: Any) -> None:
            nonlocal depth
            if event not in ("call", "return"):
                return
            part = part_of(frame)
            if part is None or part is function or part is getattr(function, "__self__", None):
                return
            if event == "call" and not depth:
                found[id(part)] = part
            depth += 1 if event == "call" else -1

        before = sys.getprofile()
        try:  # an interrupt comes after a call
            sys.setprofile(profile)
            return function(*args, **kwargs)
        finally:
            sys.setprofile(before)
            for part in found.values():
                self._add(part)

    def _add(self, part: Any) -> None:
        if isinstance(part, Module) and part._compiled_call_impl is None:
            island = self.make(part, types.MethodType(call_uncompiled, part), self)
            part.__dict__.update(_compiled_call_impl=island, _plain=False)
        elif isinstance(part, Optimizer) and "step" not in vars(part):
            island = self.make(part, part.step, self)
            vars(part)["step"] = island
        else:
            return
        self.parts.add(island)

    def leave(self, island: Any) -> None:
        """Leave a module or an optimizer as it was."""
        self.parts.discard(island)
        attributes = island.of.__dict__
        if attributes.get("_compiled_call_impl") is island:
            del attributes["_compiled_call_impl"]
            if attributes.keys().isdisjoint(ON_CALL):
                attributes.pop("_plain", None)
        elif attributes.get("step") is island:
            del attributes["step"]

    def remove(self) -> None:
        """Leave all parts as they were."""
        for island in list(self.parts):
            self.leave(island)
