"""Sizes given as one number or as a tuple."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def _ntuple(x: int | tuple[int, ...], n: int) -> tuple[int, ...]:
    """`x` as a tuple: as it is where it is iterable, repeated n times where it is one value."""
    return tuple(x) if isinstance(x, Iterable) else (x,) * n


def _single(x: Any) -> tuple[Any, ...]:
    return _ntuple(x, 1)


def _pair(x: Any) -> tuple[Any, ...]:
    return _ntuple(x, 2)


def _triple(x: Any) -> tuple[Any, ...]:
    return _ntuple(x, 3)


def _quadruple(x: Any) -> tuple[Any, ...]:
    return _ntuple(x, 4)
