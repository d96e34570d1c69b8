"""Assertions that a traced program keeps: `torch._assert`."""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import Tensor


def _assert(condition: Any, message: Any) -> Any:
    """AssertionError with the message unless the condition holds; over traced values, a call."""
    if not isinstance(condition, Tensor) and _core.has_torch_function_unary(condition):
        return _core.handle_torch_function(_assert, (condition,), (condition, message), {})
    assert condition, message
    return None


_assert.__module__ = "rushlight"
