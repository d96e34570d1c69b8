"""One pipe of several, and several of one."""

from __future__ import annotations

import copy
import sys
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from ....._base.errors import warn
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe, Samples, Source, length
from ..utils.common import StreamWrapper, _check_unpickable_fn

__all__ = [
    "ConcaterIterDataPipe",
    "DemultiplexerIterDataPipe",
    "ForkerIterDataPipe",
    "MultiplexerIterDataPipe",
    "ZipperIterDataPipe",
]


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe[Any]):
    """The samples of one pipe after those of another."""

    def __init__(self, *datapipes: Source) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all(isinstance(p, IterDataPipe) for p in datapipes):
            raise TypeError("Expected all inputs to be `IterDataPipe`")
        self.datapipes = datapipes

    def __iter__(self) -> Samples:
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        return sum(length(self, p) for p in self.datapipes)


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe[Any]):
    """Tuples of a sample of each pipe, until one ends."""

    def __init__(self, *datapipes: Source) -> None:
        if not all(isinstance(p, IterDataPipe) for p in datapipes):
            raise TypeError("All inputs are required to be `IterDataPipe` for `ZipIterDataPipe`.")
        self.datapipes = datapipes

    def __iter__(self) -> Samples:
        yield from zip(*[iter(p) for p in self.datapipes], strict=False)

    def __len__(self) -> int:
        return min(length(self, p) for p in self.datapipes)


@functional_datapipe("mux")
class MultiplexerIterDataPipe(IterDataPipe[Any]):
    """A sample of each pipe in turn, until one ends."""

    def __init__(self, *datapipes: Source) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Samples:
        for samples in zip(*[iter(p) for p in self.datapipes], strict=False):
            yield from samples

    def __len__(self) -> int:
        return min(length(self, p) for p in self.datapipes) * len(self.datapipes)


class _Shared:
    """A pipe that several others read, each at its own pace: unread samples wait in its queue."""

    def __init__(self, datapipe: Source, count: int, buffer_size: int, put: Any, what: str) -> None:
        if count > sys.maxsize:
            raise OverflowError("cannot fit 'int' into an index-sized integer")
        self.main_datapipe, self.num_instances = datapipe, count
        self.buffer_size, self.put, self.what = buffer_size, put, what
        self.begin()

    def begin(self) -> None:
        """Begin anew."""
        self.queues: list[deque[Any]] = [deque() for _ in range(self.num_instances)]
        self.source: Any = None
        self.started: set[int] = set()

    def read(self, instance: int) -> Iterator[object]:
        """The samples of one of the pipes."""
        queue = self.queues[instance]
        while True:
            if queue:
                yield queue.popleft()
                continue
            if self.source is None:
                self.source = iter(self.main_datapipe)
            try:
                sample = next(self.source)
            except StopIteration:
                return
            self.put(self, sample)
            if 0 <= self.buffer_size < max(len(q) for q in self.queues):
                raise BufferError(
                    f"{self.what} buffer overflow,buffer size {self.buffer_size} is insufficient."
                )


class _ChildDataPipe(IterDataPipe[Any]):
    """One of the pipes that read another."""

    _is_child_datapipe = True

    def __init__(self, main_datapipe: Any, instance_id: int) -> None:
        self.main_datapipe, self.instance_id = main_datapipe, instance_id

    def reset(self) -> None:
        """Begin anew: the others too, if this one had begun already."""
        shared = self.main_datapipe
        if self.instance_id in shared.started:
            if len(shared.started) > 1:
                warn(
                    "Some child DataPipes are not exhausted when __iter__ is called. We are "
                    "resetting the buffer and each child DataPipe will read from the start again."
                )
            shared.begin()
        shared.started.add(self.instance_id)

    def __iter__(self) -> Iterator[object]:
        yield from self.main_datapipe.read(self.instance_id)

    def __len__(self) -> int:
        return len(self.main_datapipe.main_datapipe)


_COPIES = {None: lambda x: x, "shallow": copy.copy, "deep": copy.deepcopy}


def _check_count(num_instances: int) -> None:
    if num_instances < 1:
        raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe[Any]):
    """A list of pipes that each have all samples."""

    def __new__(
        cls, datapipe: Source, num_instances: int, buffer_size: int = 1000, copy: str | None = None
    ) -> Any:
        _check_count(num_instances)
        if copy not in _COPIES:
            raise ValueError(
                f"Unknown copy method `{copy}` requested, choose one of None, `shallow` or `deep`."
            )
        if num_instances == 1:
            return datapipe
        copied = _COPIES[copy]

        def put(shared: _Shared, sample: object) -> None:
            for queue in shared.queues:
                queue.append(copied(sample))

        shared = _Shared(datapipe, num_instances, buffer_size, put, "ForkerIterDataPipe")
        return [_ChildDataPipe(shared, i) for i in range(num_instances)]


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe[Any]):
    """A list of pipes: a function gives the number of the one that a sample goes to."""

    def __new__(
        cls,
        datapipe: Source,
        num_instances: int,
        classifier_fn: Callable[[Any], int | None],
        drop_none: bool = False,
        buffer_size: int = 1000,
    ) -> Any:
        _check_count(num_instances)
        _check_unpickable_fn(classifier_fn)
        if buffer_size < 0:
            warn("Unlimited buffer size is set for `demux`, please be aware of OOM risks")

        def put(shared: _Shared, sample: object) -> None:
            number = classifier_fn(sample)
            if number is None and drop_none:
                if isinstance(sample, StreamWrapper):
                    sample.close()
                return
            if number is None or not 0 <= number < num_instances:
                raise ValueError(
                    f"Output of the classification fn should be between 0 and {num_instances - 1}. "
                    f"{number} is returned."
                )
            shared.queues[number].append(sample)

        shared = _Shared(datapipe, num_instances, buffer_size, put, "DemultiplexerIterDataPipe")
        return [_ChildDataPipe(shared, i) for i in range(num_instances)]
