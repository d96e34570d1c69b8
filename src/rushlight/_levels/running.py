"""Which levels run in this thread, oldest first.

It imports nothing of the package, so that ops and the engine can ask.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from .level import Level

__all__ = [
    "answered",
    "below",
    "carried",
    "draws",
    "maps",
    "only",
    "running",
    "transforms",
]


class _State(threading.local):
    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.forward = True  # whether ops compute tangents


state = _State()

# State of the thread that goes along where a backward continues in another thread.
carried: list[threading.local] = [state]


def thread_state() -> list[dict[str, Any]]:
    """The state of this thread, for `set_thread_state` in another thread."""
    return [
        {name: list(v) if isinstance(v, list) else v for name, v in vars(local).items()}
        for local in carried
    ]


def set_thread_state(values: list[dict[str, Any]]) -> None:
    """Takes over the state of another thread."""
    for local, value in zip(carried, values, strict=False):
        vars(local).update(value)


def running(*kinds: type) -> list[Any]:
    """The running levels of these classes, oldest first."""
    return [level for level in state.stack if isinstance(level, kinds)]


def maps() -> list[Any]:
    """The running levels in which a tensor stands for the elements of a batch."""
    return [level for level in state.stack if level.maps]


def transforms() -> list[Any]:
    """The running levels that are transforms of functions: all but forward_ad's."""
    return [level for level in state.stack if not level.by_hand]


@contextmanager
def only(levels: list[Any]) -> Iterator[None]:
    """For a block, these levels run and no others: a level's own code runs outside of the level."""
    before = state.stack
    state.stack = list(levels)
    try:
        yield
    finally:
        state.stack = before


def below(level: Level) -> list[Any]:
    """The levels that run and are older than one."""
    return [other for other in state.stack if other.number < level.number]


def refuse_backward() -> None:
    """Raises torch's error for `backward()` inside a transform: `.grad` belongs to the world
    outside, and must not get a gradient for each sample or tangent."""
    if transforms():
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use "
            "functorch.grad or functorch.vjp instead or call backward() outside of functorch "
            "transforms."
        )


asked: set[str] = set()
"""The hooks of `answered`; `level.py` checks that levels have them."""

_F = TypeVar("_F", bound=Callable[..., Any])


def answered(hook: str, *said: Draws | str) -> Callable[[_F], _F]:
    """Decorator of functions that do more than their ops: while levels run, the method `hook` of
    the youngest level answers, with `said` in front of the arguments.

    The methods of this kind, and what they are told, are in `level.py`.
    """

    asked.add(hook)

    def decorate(function: Any) -> Any:
        @wraps(function)
        def ask(*args: object, **kwargs: object) -> Any:
            stack = state.stack
            if not stack:
                return function(*args, **kwargs)
            return getattr(stack[-1], hook)(*said, function, args, kwargs)

        ask.hook = hook  # type: ignore[attr-defined]
        return ask

    return decorate


class Draws(NamedTuple):
    """How a function draws random numbers, for `drawing.py`."""

    fills: bool = False  # its first argument, in place
    of_values: bool = False  # what is drawn depends on values of arguments, not on shapes alone
    size_last: bool = False  # its last argument is a size; else its first ones are
    one_by_one: bool = False  # PyTorch draws for one element after another, too


def draws(**how: bool) -> Callable[[_F], _F]:
    """Decorator of functions that draw random numbers: vmap decides whether elements share them."""
    return answered("draw", Draws(**how))
