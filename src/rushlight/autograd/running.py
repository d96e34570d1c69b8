"""Which function transforms run in this thread, oldest first.

Apart from `levels.py`, so that the engine can ask without the ops that levels are made of.
"""

from __future__ import annotations

import threading
from typing import Any

__all__ = ["refuse_backward", "running"]


class _State(threading.local):
    def __init__(self) -> None:
        self.stack: list[Any] = []


state = _State()


def running(*kinds: str) -> list[Any]:
    """The running transforms of these kinds ('dual', 'batch', 'grad'), oldest first."""
    return [level for level in state.stack if level.kind in kinds]


def refuse_backward() -> None:
    """Raise what `backward()` is answered with inside a transform: `.grad` belongs to the world
    outside, which is to see one gradient and not that of each sample or tangent."""
    if running("dual", "batch", "grad"):
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use "
            "functorch.grad or functorch.vjp instead or call backward() outside of functorch "
            "transforms."
        )
