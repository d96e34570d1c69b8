"""Runs of hooks in a backward, as those are told who follow the calls (`observers`)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from time import perf_counter_ns
from typing import Any, NamedTuple

from .. import _core
from . import FOLDER
from .errors import program_frame

__all__ = ["Hook", "HookRuns"]


class Hook(NamedTuple):
    """A hook that runs: its name, and its kind, such as "of a tensor"."""

    name: str
    kind: str


class HookRuns:
    """Reports runs of hooks by the three functions that report calls."""

    def __init__(self, *functions: Callable[..., Any]) -> None:
        self.starts, self.ran, self.ends = functions
        self.places: dict[int, tuple[str, int]] = {}  # by the number of a hook's handle

    def registered(self, number: int) -> None:
        """A hook was registered: note where."""
        frame = program_frame(sys._getframe())[0]
        if frame is not None:
            self.places[number] = frame.f_code.co_filename, frame.f_lineno

    def run(self, kind: str, number: int, hook: Callable[..., object], *values: object) -> object:
        """The result of a hook.

        The place is where the hook was registered, or where its function begins if nobody followed
        then. The library's own hooks, which run those of modules, have no report.
        """
        function: Any = hook
        while isinstance(function, partial):
            function = function.func
        function = getattr(function, "__func__", function)
        code = getattr(function, "__code__", None)
        if code is not None and code.co_filename.startswith(FOLDER):
            return hook(*values)
        place = self.places.get(number) or (code and (code.co_filename, code.co_firstlineno))
        name = getattr(function, "__name__", type(function).__name__)
        shown = values[-1] if isinstance(values[-1], tuple) else values
        began = self.starts(Hook(name, kind), shown, place)
        given = error = None
        start = perf_counter_ns()
        try:
            given = hook(*values)
        except BaseException as raised:
            error = type(raised)
            raise
        finally:
            self.ran(began, given, error, perf_counter_ns() - start)
            self.ends(began, _core.Path.NONE, 0)
        return given
