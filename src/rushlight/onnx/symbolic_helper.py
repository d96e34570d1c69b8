"""Decorators of functions that an export would call: they leave them as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .._missing import missing_name as _missing_name

_F = TypeVar("_F", bound=Callable[..., Any])


def _decorator(*args: Any, **kwargs: Any) -> Callable[[_F], _F]:
    """A decorator that leaves a function as it is."""
    return lambda function: function


parse_args = quantized_args = _decorator

__getattr__ = _missing_name(__name__)
