"""Pipes of batches, and of the samples in batches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import DataChunk, IterDataPipe, Samples, Source, length
from ..utils.common import _check_unpickable_fn

__all__ = ["BatcherIterDataPipe", "GrouperIterDataPipe", "UnBatcherIterDataPipe"]


@functional_datapipe("batch")
class BatcherIterDataPipe(IterDataPipe[Any]):
    """Batches of a number of samples."""

    batch_size: int
    datapipe: Source
    drop_last: bool

    def __init__(
        self,
        datapipe: Source,
        batch_size: int,
        drop_last: bool = False,
        wrapper_class: Callable[[list[Any]], Any] = DataChunk,
    ) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last = datapipe, batch_size, drop_last
        self.wrapper_class = wrapper_class

    def __iter__(self) -> Samples:
        batch: list[object] = []
        for sample in self.datapipe:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self) -> int:
        whole, rest = divmod(length(self, self.datapipe), self.batch_size)
        return whole + (1 if rest and not self.drop_last else 0)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe[Any]):
    """The samples in batches, through some levels of batches; -1: through all."""

    datapipe: Source
    unbatch_level: int

    def __init__(self, datapipe: Source, unbatch_level: int = 1) -> None:
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self) -> Samples:
        for element in self.datapipe:
            yield from self._dive(element, self.unbatch_level)

    def _dive(self, element: object, level: int) -> Iterator[object]:
        if level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        if level == 0 or (level == -1 and not isinstance(element, (list, DataChunk))):
            yield element
            return
        if not isinstance(element, (list, DataChunk)):
            raise IndexError(
                f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe"
            )
        for item in element:
            yield from self._dive(item, level if level == -1 else level - 1)


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe[Any]):
    """Lists of samples for which a function gives the same key."""

    datapipe: Source
    group_key_fn: Callable[..., Any]
    group_size: int | None
    keep_key: bool
    max_buffer_size: int

    def __init__(
        self,
        datapipe: Source,
        group_key_fn: Callable[[Any], Any],
        *,
        keep_key: bool = False,
        buffer_size: int = 10000,
        group_size: int | None = None,
        guaranteed_group_size: int | None = None,
        drop_remaining: bool = False,
    ) -> None:
        _check_unpickable_fn(group_key_fn)
        self.datapipe, self.group_key_fn, self.keep_key = datapipe, group_key_fn, keep_key
        self.max_buffer_size, self.group_size = buffer_size, group_size
        self.guaranteed_group_size = guaranteed_group_size
        if group_size is not None and buffer_size is not None:
            if not 0 < group_size <= buffer_size:
                raise AssertionError("group_size must be > 0 and <= buffer_size")
            self.guaranteed_group_size = group_size
        if guaranteed_group_size is not None:
            if group_size is None or not 0 < guaranteed_group_size <= group_size:
                raise AssertionError("guaranteed_group_size must be > 0 and <= group_size")
            self.guaranteed_group_size = guaranteed_group_size
        self.drop_remaining = drop_remaining

    def _shown(self, key: object, group: list[object]) -> object:
        return (key, group) if self.keep_key else group

    def __iter__(self) -> Samples:
        groups: dict[object, list[object]] = defaultdict(list)
        held = 0
        for sample in self.datapipe:
            key = self.group_key_fn(sample)
            groups[key].append(sample)
            held += 1
            if self.group_size is not None and self.group_size == len(groups[key]):
                held -= self.group_size
                yield self._shown(key, groups.pop(key))
            if held == self.max_buffer_size:
                largest = max(groups, key=lambda k: len(groups[k]))
                size = len(groups[largest])
                if self.guaranteed_group_size is not None and size < self.guaranteed_group_size:
                    if not self.drop_remaining:
                        raise RuntimeError("Failed to group items", str(groups[largest]))
                    groups.pop(largest)
                    held -= size
                    continue
                held -= size
                yield self._shown(largest, groups.pop(largest))
        for key in list(groups):
            yield self._shown(key, groups.pop(key))
