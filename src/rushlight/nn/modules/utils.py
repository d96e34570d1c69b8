"""Sizes given as one number or as a tuple."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]

Size = int | tuple[int, ...]


def _ntuple(x: int | tuple[int, ...], n: int) -> tuple[int, ...]:
    """`x` as a tuple: as it is where it is iterable, repeated n times where it is one value."""
    return tuple(x) if isinstance(x, Iterable) else (x,) * n


def _single(x: Size) -> tuple[int, ...]:
    return _ntuple(x, 1)


def _pair(x: Size) -> tuple[int, ...]:
    return _ntuple(x, 2)


def _triple(x: Size) -> tuple[int, ...]:
    return _ntuple(x, 3)


def _quadruple(x: Size) -> tuple[int, ...]:
    return _ntuple(x, 4)


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Takes a prefix off the keys that have it, in place: as of a state that DataParallel saved.

    >>> state = {"module.weight": 1}
    >>> nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'weight': 1}
    """
    for mapping in (state_dict, getattr(state_dict, "_metadata", {})):
        for key in list(mapping):
            if not key:
                continue
            if mapping is not state_dict and key == prefix.replace(".", ""):
                mapping[""] = mapping.pop(key)
            elif key.startswith(prefix):
                mapping[key.removeprefix(prefix)] = mapping.pop(key)
