"""Parts that are captured where a whole function cannot be: the outermost modules that it calls,
and the steps of optimizers. They are captured while the function runs, and plain outside it."""

from __future__ import annotations

import sys
import types
import weakref
from types import CodeType, FrameType
from typing import Any

from ..nn.modules._calling import call_uncompiled
from ..nn.modules._hooks import ON_CALL
from ..nn.modules.module import Module
from ..optim.optimizer import Optimizer
from .calls import KEPT_OUT
from .run import Compiled
from .state import _VISITS

__all__ = ["Islands"]


class Islands:
    """The parts of a function. `running`: how many of its calls are under way."""

    def __init__(self) -> None:
        self.running = 0
        self.parts: weakref.WeakSet[Island] = weakref.WeakSet()

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
        sys.setprofile(profile)
        try:
            return function(*args, **kwargs)
        finally:
            sys.setprofile(before)
            for part in found.values():
                self._add(part)

    def _add(self, part: Any) -> None:
        if isinstance(part, Module) and part._compiled_call_impl is None:
            island = Island(part, types.MethodType(call_uncompiled, part), self)
            part.__dict__.update(_compiled_call_impl=island, _plain=False)
        elif isinstance(part, Optimizer) and "step" not in vars(part):
            island = Island(part, part.step, self)
            vars(part)["step"] = island
        else:
            return
        self.parts.add(island)

    def remove(self) -> None:
        """Leave all parts as they were."""
        for island in list(self.parts):
            island.remove()


class Island(Compiled):
    """A part, which is captured while the function that it belongs to runs."""

    quiet = True

    def __init__(self, of: Module | Optimizer, function: Any, group: Islands) -> None:
        self.of, self.group = of, group
        super().__init__(function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.group.running:
            return self.function(*args, **kwargs)
        if self.trouble is None:
            return super().__call__(*args, **kwargs)
        self.remove()  # its own parts take its place
        return self.group.find(self.function, args, kwargs)

    def remove(self) -> None:
        """Leave the module or the optimizer as it was."""
        self.group.parts.discard(self)
        attributes = self.of.__dict__
        if attributes.get("_compiled_call_impl") is self:
            del attributes["_compiled_call_impl"]
            if attributes.keys().isdisjoint(ON_CALL):
                attributes.pop("_plain", None)
        elif attributes.get("step") is self:
            del attributes["step"]


_VISITS[Island] = _VISITS[Compiled]
