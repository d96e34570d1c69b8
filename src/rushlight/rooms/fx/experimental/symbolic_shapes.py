"""Sizes as symbols: here sizes are numbers, and questions about them have their answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._base.missing import missing_name as _missing_name

__all__ = [
    "guard_int",
    "guard_or_false",
    "guard_or_true",
    "guard_size_oblivious",
    "has_free_symbols",
    "is_concrete_bool",
    "is_concrete_int",
    "statically_known_true",
    "sym_eq",
]


def guard_int(a: Any) -> int:
    """A size as a number."""
    return int(a)


def _known(a: object) -> bool:
    """Whether a statement about sizes holds."""
    return bool(a)


guard_bool: Callable[[object], bool] = _known
guard_or_false: Callable[[object], bool] = _known
guard_or_true: Callable[[object], bool] = _known
guard_size_oblivious: Callable[[object], bool] = _known
statically_known_true: Callable[[object], bool] = _known


def has_free_symbols(val: object) -> bool:
    """False: there are no symbols."""
    return False


def free_symbols(val: object) -> set[Any]:
    """No symbols."""
    return set()


free_unbacked_symbols = free_symbols
has_hint: Callable[[object], bool] = has_free_symbols
is_nested_int: Callable[[object], bool] = has_free_symbols


def is_concrete_int(a: object) -> bool:
    """True: sizes are numbers."""
    return True


is_concrete_bool = is_concrete_int


def sym_eq(x: object, y: object) -> bool:
    """Whether sizes are the same."""
    return bool(x == y)


class ShapeEnv:
    """An empty class: there are no symbols here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass


class GuardOnDataDependentSymNode(RuntimeError):
    """Never raised."""


class ConstraintViolationError(RuntimeError):
    """Never raised."""


__getattr__ = _missing_name(__name__)
