"""Annotations of tensors with sizes."""

from __future__ import annotations

from typing import Any

from .._base.missing import missing_name as _missing_name

__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]


class TensorType:
    """The type of tensors of some sizes: `TensorType((1, 2, Dyn))`."""

    def __init__(self, dim: tuple[Any, ...]) -> None:
        self.__origin__ = TensorType
        self.__args__ = dim

    def __repr__(self) -> str:
        return f"TensorType[{self.__args__}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorType) and list(self.__args__) == list(other.__args__)

    def __hash__(self) -> int:
        return hash(self.__args__)

    @staticmethod
    def __class_getitem__(*args: object) -> TensorType:
        dims = args[0]
        return TensorType(tuple(dims) if isinstance(dims, (tuple, list)) else (dims,))


class _DynType:
    """The type of any value."""

    def __init__(self) -> None:
        self.__name__ = "_DynType"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _DynType)

    def __hash__(self) -> int:
        return hash(_DynType)

    def __repr__(self) -> str:
        return "Dyn"


Dyn: _DynType = _DynType()


def is_consistent(t1: object, t2: object) -> bool:
    """Whether a value may be of both types."""
    if Dyn in (t1, t2) or t1 == t2:
        return True
    if not (isinstance(t1, TensorType) and isinstance(t2, TensorType)):
        return False
    a, b = t1.__args__, t2.__args__
    return len(a) == len(b) and all(map(is_consistent, a, b))


def is_more_precise(t1: object, t2: object) -> bool:
    """Whether each value of the first type is one of the second."""
    if t1 == t2 or t2 == Dyn:
        return True
    if not (isinstance(t1, TensorType) and isinstance(t2, TensorType)):
        return False
    a, b = t1.__args__, t2.__args__
    return len(a) == len(b) and all(map(is_more_precise, a, b))


__getattr__ = _missing_name(__name__)
