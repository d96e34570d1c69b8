"""`torch._dynamo`, as far as programs name it: nothing is compiled."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from .._missing import missing_name as _missing_name
from ..compiler import (
    OptimizedModule,
    _as_it_is,
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    list_backends,
    reset,
    set_stance,
    substitute_in_graph,
)
from . import config

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "disallow_in_graph",
    "error_on_graph_break",
    "forbid_in_graph",
    "graph_break",
    "is_compiling",
    "is_dynamo_supported",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "optimize",
    "reset",
    "run",
    "set_stance",
    "substitute_in_graph",
]


def is_dynamo_supported() -> bool:
    """False: there is no compiler here."""
    return False


def optimize(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """A decorator that gives back what it is given."""
    return _as_it_is


run = disallow_in_graph = forbid_in_graph = _as_it_is


def graph_break(msg: str = "") -> None:
    """Nothing to break: there is no compiled graph."""


def _unmarked(t: Any, index: Any = None, **bounds: Any) -> None:
    """Nothing is noted: there is no compiled graph."""


mark_dynamic = maybe_mark_dynamic = mark_static = mark_static_address = _unmarked


@contextlib.contextmanager
def error_on_graph_break(error_on_graph_break: bool) -> Iterator[None]:
    """A context that changes nothing."""
    yield


__getattr__ = _missing_name(__name__, late={"eval_frame": "eval_frame", "exc": "exc"})
