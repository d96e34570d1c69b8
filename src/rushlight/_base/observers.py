"""Who is told of each call of an op, of each node that a backward runs, and of each hook in it.

The trace (`_trace_calls`) and `rushlight.explain` follow them. As long as nobody does, the core
tests one word and calls nothing.
"""

from __future__ import annotations

import threading
from typing import Any, Protocol

from .. import _core
from . import handles as _handles
from .hook_runs import HookRuns

__all__ = ["Observer", "follow", "unfollow"]


class Observer(Protocol):
    """Hears of a call or a node three times; its first answer is handed to it the other times."""

    def starts(self, what: Any, values: tuple[Any, ...], place: tuple[str, int] | None) -> Any:
        """An op, a text, a node or a `Hook` is run on arguments, or on gradients that came in."""

    def ran(self, began: Any, values: Any, error: Any, took: int) -> None:
        """It gave `values` after so many nanoseconds, or raised an error of that type."""

    def ends(self, began: Any, path: int, ways: int) -> None:
        """It is over; how it was computed: a `_core.Path`, bits of `_core.Way`."""


_lock = threading.Lock()
_following: tuple[Observer, ...] = ()


def follow(observer: Observer) -> None:
    """Tell `observer` of everything from now on, on all threads."""
    global _following
    with _lock:
        _following = (*_following, observer)
        _handles.runs = _handles.runs or HookRuns(_starts, _ran, _ends)
        _core.observe(_core.Observed.TRACE, True)


def unfollow(observer: Observer) -> None:
    """End what `follow` began."""
    global _following
    with _lock:
        _following = tuple(o for o in _following if o is not observer)
        if not _following:
            _handles.runs = None
            _core.observe(_core.Observed.TRACE, False)


def _starts(what: object, values: tuple[Any, ...], place: tuple[str, int] | None) -> Any:
    return [(observer, observer.starts(what, values, place)) for observer in _following]


def _ran(began: list[tuple[Observer, Any]], values: object, error: object, took: int) -> None:
    for observer, answer in began:
        observer.ran(answer, values, error, took)


def _ends(began: list[tuple[Observer, Any]], path: int, ways: int) -> None:
    for observer, answer in began:
        observer.ends(answer, path, ways)
