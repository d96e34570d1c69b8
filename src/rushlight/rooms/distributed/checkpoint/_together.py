"""The steps that the ranks of a checkpoint take together: a failure on one is raised on all."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

from .._groups import ProcessGroup, is_initialized, member
from .._objects import all_gather_object
from .api import CheckpointException

T = TypeVar("T")


class Ranks:
    """The processes that save or load one checkpoint; one alone without a process group."""

    def __init__(self, group: ProcessGroup | None, no_dist: bool) -> None:
        self._group = None if no_dist or not is_initialized() else member(group)
        self.rank = 0 if self._group is None else self._group.rank()
        self.count = 1 if self._group is None else self._group.size()

    def step(self, name: str, work: Callable[[], T]) -> list[T]:
        """Do a piece of work; what it gave on each rank.

        Raises CheckpointException on all ranks when it failed on some.
        """
        try:
            mine: tuple[object, object] = (work(), None)
        except Exception as error:
            mine = (None, (_sendable(error), traceback.extract_tb(error.__traceback__)))
        every: list[Any] = [mine]
        if self.count > 1:
            every = [None] * self.count
            all_gather_object(every, mine, self._group)
        failures = {rank: failed for rank, (_, failed) in enumerate(every) if failed is not None}
        if failures:
            raise CheckpointException(name, failures)
        return [result for result, _ in every]


def _sendable(error: Exception) -> Exception:
    """An exception that other processes can be given."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
