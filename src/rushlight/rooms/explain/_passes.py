"""The backward passes of a program, told of before the engine runs them.

The engine is entered at one place for every spelling of backward (`_run` in autograd/_engine.py),
which is replaced while somebody follows. A backward inside a backward is part of the outer one;
what autograd.grad asks for is none. The replacement shows in tracebacks: who follows a program
calls `without_own_frames` on the error that ends it.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FrameType, TracebackType
from typing import Any

from .. import _core
from .._base import FOLDER
from .._levels.running import carried
from ..autograd import _engine

__all__ = ["Pass", "follow", "unfollow", "without_own_frames"]


@dataclass(frozen=True)
class Pass:
    """A backward that is about to run. roots: what it was called on; gradients: for each of them,
    or None; frame: the line of the program; retain, create_graph: as they were asked for."""

    roots: tuple[Any, ...]
    gradients: tuple[Any, ...]
    frame: FrameType
    retain: bool
    create_graph: bool


class _Thread(threading.local):
    def __init__(self) -> None:
        self.inside = False  # a backward runs


_thread = _Thread()
carried.append(_thread)
_lock = threading.RLock()
_following: tuple[Callable[[Pass], None], ...] = ()
_plain = _engine._run


def _in_child() -> None:
    """The thread that held the lock may not be in a child process."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


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
    roots: tuple[object, ...],
    gradients: tuple[object, ...],
    retain: bool,
    create_graph: bool,
    inputs: object,
    at_inputs: int = 0,
) -> object:
    """The core's `run_backward`, followed."""
    if _thread.inside:
        return _core.run_backward(roots, gradients, retain, create_graph, inputs, at_inputs)
    _thread.inside = True
    try:
        if inputs is None or at_inputs == 1:
            told = Pass(roots, gradients, _program(sys._getframe(1)), retain, create_graph)
            for follower in _following:
                follower(told)
        return _core.run_backward(roots, gradients, retain, create_graph, inputs, at_inputs)
    finally:
        _thread.inside = False


def _program(frame: FrameType) -> FrameType:
    """The innermost frame that is not the library's."""
    found: FrameType | None = frame
    while found is not None and found.f_code.co_filename.startswith(FOLDER):
        found = found.f_back
    return found or frame


def without_own_frames(error: BaseException, own: frozenset[CodeType] = frozenset()) -> None:
    """Take the frames of the one who follows out of the tracebacks of an error and its causes.

    own: further code that the one who follows has put between the program and the library.
    """
    own |= {_run.__code__}
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        waiting += [one.__cause__, one.__context__]
        frames = list(_frames(one.__traceback__))
        if any(f.tb_frame.f_code in own for f in frames):
            kept: TracebackType | None = None
            for f in reversed(frames):
                if f.tb_frame.f_code not in own:
                    kept = TracebackType(kept, f.tb_frame, f.tb_lasti, f.tb_lineno)
            one.__traceback__ = kept


def _frames(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next
