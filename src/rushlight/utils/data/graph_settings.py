"""Settings of all pipes that a pipe is built of: order, seeds, parts of workers."""

from __future__ import annotations

import inspect
from typing import Any

from rushlight import _root as rl

from ..._base.errors import warn
from .datapipes.iter.sharding import SHARDING_PRIORITIES
from .graph import Graph, traverse_dps

__all__ = [
    "apply_random_seed",
    "apply_sharding",
    "apply_shuffle_seed",
    "apply_shuffle_settings",
    "get_all_graph_pipes",
]


def get_all_graph_pipes(graph: Graph) -> list[Any]:
    """The pipes of a tree."""
    found: dict[int, object] = {}

    def walk(tree: Graph) -> None:
        for number, (pipe, below) in tree.items():
            found.setdefault(number, pipe)
            walk(below)

    walk(graph)
    return list(found.values())


def _pipes(datapipe: object) -> list[Any]:
    return get_all_graph_pipes(traverse_dps(datapipe))


def _has(pipe: object, name: str) -> bool:
    return inspect.ismethod(getattr(pipe, name, None))


def apply_sharding(
    datapipe: Any,
    num_of_instances: int,
    instance_id: int,
    sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT,
) -> Any:
    """Let each `sharding_filter` give the part of one of several."""
    for pipe in _pipes(datapipe):
        if _has(pipe, "apply_sharding"):
            takes = len(inspect.signature(pipe.apply_sharding).parameters)
            pipe.apply_sharding(*(num_of_instances, instance_id, sharding_group)[:takes])
    return datapipe


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Let each `shuffle` give a random order or not; add one where it is wanted and none is."""
    if shuffle is None:
        return datapipe
    found = [p for p in _pipes(datapipe) if _has(p, "set_shuffle") and _has(p, "set_seed")]
    if shuffle and not found:
        warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at "
            "the end. Be aware that the default buffer size might not be sufficient for your task."
        )
        datapipe = datapipe.shuffle()
        found = [datapipe]
    for pipe in found:
        pipe.set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe: object, rng: Any) -> Any:
    """Give each pipe that takes a seed one from a generator."""
    for pipe in _pipes(datapipe):
        if _has(pipe, "set_seed"):
            pipe.set_seed(int(rl.empty((), dtype=rl.int64).random_(generator=rng).item()))
    return datapipe


apply_shuffle_seed = apply_random_seed
