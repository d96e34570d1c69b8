"""Layers that are a function of `nn.functional` with settings: declared, not written out.

    @layer(F.leaky_relu)
    class LeakyReLU(WithSettings):
        negative_slope: float = 1e-2
        inplace: bool = False

The annotated names are the settings: the parameters of `__init__`, in this order, and the
attributes. An `InitVar` is a parameter only, for the base. A class without annotated names has the
settings of its base. A class may write `__init__` itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import InitVar
from functools import cache, partial
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, dataclass_transform

from rushlight._root import Tensor

from .module import Module

_L = TypeVar("_L", bound=type[Module])
Place = tuple[dict[str, Any], int]


@dataclass_transform(eq_default=False)
def layer(
    function: Callable[..., object] | None = None,
    passes: str | None = None,
    takes: str = "input",
    *,
    kw_only: bool = False,
) -> Callable[[_L], _L]:
    """Make the `__init__` and, of a function, the `forward` of a class.

    `__init__` hands to the base what the base's `__init__` takes, and sets the rest. `forward`
    calls the function with the inputs named in `takes` and the attributes named in `passes`, or all
    settings; `a=` passes one by name.
    """
    return partial(_declare, _place(), function, passes, takes.replace(" ", ", "), kw_only)


def calling(
    function: Callable[..., object], passes: str | None = None, takes: str = "input"
) -> Callable[[_L], _L]:
    """`layer` for a class with the `__init__` of its base: to checkers of types no dataclass."""
    return partial(_declare, _place(), function, passes, takes.replace(" ", ", "), False)


def _place() -> Place:
    """The place of the declaration, which tracebacks show."""
    frame = sys._getframe(2)
    return frame.f_globals, frame.f_lineno


def _declare(
    place: Place, function: object, passes: str | None, inputs: str, kw_only: bool, cls: _L
) -> _L:
    hints = vars(cls).get("__annotations__", {})
    own = [name for name in hints if name[0] != "_" and "__init__" not in vars(cls)]
    if own:
        defaults = {name: vars(cls)[name] for name in own if name in vars(cls)}
        for name in defaults:
            delattr(cls, name)
        base: Any = cls.__base__
        known = base.__init__.__code__
        names = known.co_varnames[1 : known.co_argcount]
        handed = [name for name in names if name in own]
        by = "{0}" if handed == list(names[: len(handed)]) else "{0}={0}"
        calls = f"super(made_for, self).__init__({', '.join(map(by.format, handed))})"
        sets = [f"self.{name} = {name}" for name in own if name not in handed]
        head = f"__init__(self, {'*, ' * kw_only}{', '.join(own)})"
        init = _member(head, "; ".join([calls, *sets]), cls, place)
        init.__kwdefaults__ = defaults if kw_only else None
        init.__defaults__ = None if kw_only else tuple(defaults.values())
        init.__annotations__ = {name: getattr(hints[name], "type", hints[name]) for name in own}
        init.__annotations__["return"] = None
        for name in [name for name in own if type(hints[name]) is InitVar]:
            del hints[name]
        cls._settings = tuple(name for name in own if name in hints)  # type: ignore[attr-defined]
    if function is not None:
        passed = getattr(cls, "_settings", ()) if passes is None else passes.split()
        given = [f"{p}self.{p[:-1]}" if p[-1] == "=" else f"self.{p}" for p in passed]
        result = f"return made_for({', '.join([inputs, *given])})"
        forward = _member(f"forward(self, {inputs})", result, cls, place, function)
        forward.__annotations__ = dict.fromkeys([*inputs.split(", "), "return"], Tensor)
    return cls


def _member(head: str, body: str, cls: type, place: Place, made_for: object = None) -> FunctionType:
    """Give `cls` a method, whose code has the place of the declaration."""
    where, line = place
    made: dict[str, Any] = {}
    source = f"def make(made_for):\n def {head}: {body}\n return {head.partition('(')[0]}"
    exec(_code(source), where, made)
    method: FunctionType = made["make"](made_for or cls)
    method.__code__ = method.__code__.replace(co_firstlineno=line, co_filename=where["__file__"])
    method.__qualname__ = f"{cls.__qualname__}.{method.__name__}"
    setattr(cls, method.__name__, method)
    return method


@cache
def _code(source: str) -> CodeType:
    return compile(source, "", "exec")


class WithSettings(Module):
    """A layer that prints its settings by name; `inplace` only where it is set."""

    _settings: ClassVar[tuple[str, ...]] = ()

    if TYPE_CHECKING:

        def forward(self, input: Tensor) -> Tensor: ...

    def extra_repr(self) -> str:
        shown = [name for name in self._settings if name != "inplace" or self.inplace]
        return ", ".join(f"{name}={getattr(self, name)}" for name in shown)
