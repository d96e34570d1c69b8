"""The pipes that a pipe is built of."""

from __future__ import annotations

from typing import Any

from .datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]

Graph = dict[int, Any]  # by the id of a pipe, the pipe and the graph below it


def _inside(value: object, seen: set[int]) -> list[object]:
    """The pipes that a value is or holds."""
    if isinstance(value, (IterDataPipe, MapDataPipe)):
        return [value]
    if id(value) in seen:
        return []
    seen.add(id(value))
    parts: Any = ()
    if isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, (list, tuple)):
        parts = value
    elif hasattr(value, "main_datapipe"):
        parts = [value.main_datapipe]
    return [pipe for part in parts for pipe in _inside(part, seen)]


def traverse_dps(datapipe: object, _seen: set[int] | None = None) -> Graph:
    """A tree of pipes: by each pipe's id the pipe, and the tree of the pipes that it reads."""
    seen = _seen if _seen is not None else set()
    if id(datapipe) in seen:
        return {}
    seen.add(id(datapipe))
    below: dict[int, object] = {}
    for value in vars(datapipe).values():
        for pipe in _inside(value, set()):
            below.update(traverse_dps(pipe, seen))
    return {id(datapipe): (datapipe, below)}


def traverse(datapipe: object, only_datapipe: bool | None = None) -> Graph:
    """`traverse_dps` under its older name."""
    return traverse_dps(datapipe)
