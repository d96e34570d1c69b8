"""Errors of processes that are started together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ...._elsewhere import refusing_class as _refusing_class
from ...._missing import missing_name as _missing_name

_F = TypeVar("_F", bound=Callable[..., Any])
ProcessFailure = _refusing_class(
    "torch.distributed.elastic.multiprocessing.errors.ProcessFailure", "there is one process."
)


class ChildFailedError(Exception):
    """What a process's end raises in its parent: never raised."""


def record(fn: _F, error_handler: Any = None) -> _F:
    """A decorator that leaves a function as it is: its errors are shown by Python."""
    return fn


__getattr__ = _missing_name(__name__)
