"""Which function transforms run in this thread, oldest first.

Apart from `levels.py`, so that the engine can ask without the ops that levels are made of.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["below", "carried", "only", "refuse_backward", "running", "without_tangents"]


class _State(threading.local):
    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.forward = True  # whether ops compute tangents


state = _State()

# What a thread has to itself and must find again where its backward goes on in another one.
carried: list[threading.local] = [state]


def _thread_state() -> list[dict[str, Any]]:
    return [
        {name: list(v) if isinstance(v, list) else v for name, v in vars(local).items()}
        for local in carried
    ]


def _set_thread_state(values: list[dict[str, Any]]) -> None:
    for local, value in zip(carried, values, strict=False):
        vars(local).update(value)


def running(*kinds: str) -> list[Any]:
    """The running transforms of these kinds ('dual', 'batch', 'grad'), oldest first."""
    return [level for level in state.stack if level.kind in kinds]


@contextmanager
def only(levels: list[Any]) -> Iterator[None]:
    """For a block, these levels run and no other: code that one of them calls is outside of it."""
    before = state.stack
    state.stack = list(levels)
    try:
        yield
    finally:
        state.stack = before


@contextmanager
def without_tangents() -> Iterator[None]:
    """For a block, ops compute no tangents: those of a custom Function are its `jvp`'s to give."""
    before, state.forward = state.forward, False
    try:
        yield
    finally:
        state.forward = before


def below(level: Any) -> list[Any]:
    """The levels that run and are older than one."""
    return [other for other in state.stack if other.number < level.number]


def refuse_backward() -> None:
    """Raise what `backward()` is answered with inside a transform: `.grad` belongs to the world
    outside, which is to see one gradient and not that of each sample or tangent."""
    if running("dual", "batch", "grad"):
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use "
            "functorch.grad or functorch.vjp instead or call backward() outside of functorch "
            "transforms."
        )
