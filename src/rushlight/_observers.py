"""Who is told of each call of an op, of each node that a backward runs, and of each hook in it.

The trace (`_trace_calls`) and `rushlight.explain` follow them. As long as nobody does, the core
tests one word and calls nothing.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from time import perf_counter_ns
from typing import Any, NamedTuple, Protocol

from . import _core
from ._errors import program_frame

__all__ = ["Hook", "Observer", "follow", "registered", "run_hook", "unfollow"]


class Observer(Protocol):
    """Hears of a call or a node three times; its first answer is handed to it the other times."""

    def starts(self, what: Any, values: tuple[Any, ...], place: tuple[str, int] | None) -> Any:
        """An op, a text, a node or a `Hook` is run on arguments, or on gradients that came in."""

    def ran(self, began: Any, values: Any, error: Any, took: int) -> None:
        """It gave `values` after so many nanoseconds, or raised an error of that type."""

    def ends(self, began: Any, path: int, ways: int) -> None:
        """It is over; how it was computed: a `_core.Path`, bits of `_core.Way`."""


_HERE = os.path.dirname(__file__) + os.sep
_lock = threading.Lock()
_following: tuple[Observer, ...] = ()


def follow(observer: Observer) -> None:
    """Tell `observer` of everything from now on, on all threads."""
    global _following
    with _lock:
        _following = (*_following, observer)
        _core.observe(_core.Observed.TRACE, True)


def unfollow(observer: Observer) -> None:
    """End what `follow` began."""
    global _following
    with _lock:
        _following = tuple(o for o in _following if o is not observer)
        if not _following:
            _core.observe(_core.Observed.TRACE, False)


def _starts(what: object, values: tuple[Any, ...], place: tuple[str, int] | None) -> Any:
    return [(observer, observer.starts(what, values, place)) for observer in _following]


def _ran(began: list[tuple[Observer, Any]], values: object, error: object, took: int) -> None:
    for observer, answer in began:
        observer.ran(answer, values, error, took)


def _ends(began: list[tuple[Observer, Any]], path: int, ways: int) -> None:
    for observer, answer in began:
        observer.ends(answer, path, ways)


# ---- hooks


class Hook(NamedTuple):
    """A hook that runs in a backward: its name, and what it is a hook of."""

    name: str
    of: str


_registered: dict[int, tuple[str, int]] = {}  # by the number of the handle, while anybody follows


def registered(number: int) -> None:
    """A hook was registered: note where, if anybody follows."""
    if _following:
        frame = program_frame(sys._getframe())[0]
        if frame is not None:
            _registered[number] = frame.f_code.co_filename, frame.f_lineno


def run_hook(of: str, number: int, hook: Callable[..., Any], *values: object) -> Any:
    """What a hook of that number gives for `values`; who follows is told of its run.

    The place is where the hook was registered, or where its function begins if nobody followed
    then. The library's own hooks, which run those of modules, have no report.
    """
    if not _following:
        return hook(*values)
    function: Any = hook
    while isinstance(function, partial):
        function = function.func
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is not None and code.co_filename.startswith(_HERE):
        return hook(*values)
    place = _registered.get(number) or (code and (code.co_filename, code.co_firstlineno))
    name = getattr(function, "__name__", type(function).__name__)
    shown = values[-1] if isinstance(values[-1], tuple) else values
    began = _starts(Hook(name, of), shown, place)
    given = error = None
    start = perf_counter_ns()
    try:
        given = hook(*values)
    except BaseException as raised:
        error = type(raised)
        raise
    finally:
        _ran(began, given, error, perf_counter_ns() - start)
        _ends(began, _core.Path.NONE, 0)
    return given
