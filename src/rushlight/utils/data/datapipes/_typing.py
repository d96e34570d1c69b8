"""Metaclasses of pipes: here pipes have none."""

from __future__ import annotations

import typing
from typing import Any

GenericMeta = _DataPipeMeta = _IterDataPipeMeta = type


def issubtype(left: object, right: object, recursive: bool = True) -> bool:
    """Whether a type is one of another."""
    left, right = (typing.get_origin(t) or t for t in (left, right))
    if right is Any or left is right:
        return True
    return isinstance(left, type) and isinstance(right, type) and issubclass(left, right)


def issubinstance(data: object, data_type: object) -> bool:
    """Whether a value is of a type."""
    return issubtype(type(data), data_type)
