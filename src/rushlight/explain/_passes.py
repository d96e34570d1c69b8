"""The backward passes of a program, told of before the engine runs them.

The engine is entered at one place for every spelling of backward (`_run` in autograd/_engine.py),
which is replaced while somebody follows. A backward inside a backward is part of the outer one;
what autograd.grad asks for is none.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

from .. import _core
from .._levels.running import carried
from ..autograd import _engine

__all__ = ["Pass", "follow", "unfollow"]


@dataclass(frozen=True)
class Pass:
    """A backward that is about to run. roots: what it was called on; gradients: for each of them,
    or None; frame: the line of the program."""

    roots: tuple[Any, ...]
    gradients: tuple[Any, ...]
    frame: FrameType


class _Thread(threading.local):
    def __init__(self) -> None:
        self.inside = False  # a backward runs


_thread = _Thread()
carried.append(_thread)
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_lock = threading.RLock()
_following: tuple[Callable[[Pass], None], ...] = ()
_plain = _engine._run


def follow(told: Callable[[Pass], None]) -> None:
    """Call `told` before each backward from now on, on the thread that runs it."""
    global _following
    with _lock:
        _following = (*_following, told)
        _engine._run = _run


def unfollow(told: Callable[[Pass], None]) -> None:
    """End what `follow` began."""
    global _following
    with _lock:
        _following = tuple(f for f in _following if f != told)
        if not _following:
            _engine._run = _plain


def _run(
    roots: tuple[Any, ...],
    gradients: tuple[Any, ...],
    retain: bool,
    create_graph: bool,
    inputs: Any,
    accumulate: bool = False,
) -> Any:
    """The core's `run_backward`, followed."""
    if _thread.inside:
        return _core.run_backward(roots, gradients, retain, create_graph, inputs, accumulate)
    _thread.inside = True
    try:
        if inputs is None or accumulate:
            told = Pass(roots, gradients, _program(sys._getframe(1)))
            for follower in _following:
                follower(told)
        return _core.run_backward(roots, gradients, retain, create_graph, inputs, accumulate)
    finally:
        _thread.inside = False


def _program(frame: FrameType) -> FrameType:
    """The innermost frame that is not the library's."""
    found: FrameType | None = frame
    while found is not None and found.f_code.co_filename.startswith(_PACKAGE):
        found = found.f_back
    return found or frame
