"""Pipes with a sample for each index."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

from ....._base.errors import warn
from .._decorator import functional_datapipe
from ..datapipe import DataChunk, MapDataPipe, Samples
from ..iter.combinatorics import Shuffled, drawn_seed
from ..utils.common import _check_unpickable_fn


def default_fn(data: object) -> Any:
    """The sample as it is."""
    return data


@functional_datapipe("map")
class MapperMapDataPipe(MapDataPipe[Any]):
    """fn of each sample."""

    datapipe: Any
    fn: Callable[..., Any]

    def __init__(self, datapipe: Any, fn: Callable[[Any], Any] = default_fn) -> None:
        _check_unpickable_fn(fn)
        self.datapipe, self.fn = datapipe, fn

    def __len__(self) -> int:
        return len(self.datapipe)

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])


class ShufflerIterDataPipe(Shuffled):
    """The samples in random order: an IterDataPipe."""

    def __init__(self, datapipe: Any, *, indices: list[Any] | None = None) -> None:
        self.datapipe = datapipe
        self.indices: list[int] | list[Any] = (
            list(range(len(datapipe))) if indices is None else indices
        )
        self._rng = random.Random()
        self._shuffled_indices: list[Any] = self.indices

    def reset(self) -> None:
        """Begin anew."""
        if self._enabled and self._seed is None:
            self._seed = drawn_seed()
        self._rng.seed(self._seed)
        self._seed = None
        self._shuffled_indices = self._rng.sample(self.indices, len(self.indices))

    def __iter__(self) -> Samples:
        if not self._enabled:
            for index in self.indices:
                yield self.datapipe[index]
        while self._enabled and self._shuffled_indices:
            yield self.datapipe[self._shuffled_indices.pop()]

    def __len__(self) -> int:
        return len(self.datapipe)


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)


@functional_datapipe("concat")
class ConcaterMapDataPipe(MapDataPipe[Any]):
    """The samples of one pipe after those of another."""

    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all(isinstance(p, MapDataPipe) for p in datapipes):
            raise TypeError("Expected all inputs to be `MapDataPipe`")
        if not all(hasattr(type(p), "__len__") for p in datapipes):
            raise TypeError("Expected all inputs to be `Sized`")
        self.datapipes = datapipes

    def __getitem__(self, index: Any) -> Any:
        offset = 0
        for pipe in self.datapipes:
            if index - offset < len(pipe):
                return pipe[index - offset]
            offset += len(pipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(len(p) for p in self.datapipes)


@functional_datapipe("zip")
class ZipperMapDataPipe(MapDataPipe[Any]):
    """Tuples of a sample of each pipe."""

    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all(isinstance(p, MapDataPipe) for p in datapipes):
            raise TypeError("Expected all inputs to be `MapDataPipe`")
        if not all(hasattr(type(p), "__len__") for p in datapipes):
            raise TypeError("Expected all inputs to be `Sized`")
        self.datapipes = datapipes

    def __getitem__(self, index: Any) -> Any:
        found = []
        for pipe in self.datapipes:
            try:
                found.append(pipe[index])
            except IndexError as error:
                raise IndexError(
                    f"Index {index} is out of range for one of the input MapDataPipes {pipe}."
                ) from error
        return tuple(found)

    def __len__(self) -> int:
        return min(len(p) for p in self.datapipes)


@functional_datapipe("batch")
class BatcherMapDataPipe(MapDataPipe[Any]):
    """Batches of a number of samples."""

    batch_size: int
    datapipe: Any
    drop_last: bool

    def __init__(
        self,
        datapipe: Any,
        batch_size: int,
        drop_last: bool = False,
        wrapper_class: Callable[[list[Any]], Any] = DataChunk,
    ) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last = datapipe, batch_size, drop_last
        self.wrapper_class = wrapper_class

    def __getitem__(self, index: Any) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(f"Index {index} is out of bound.")
        first = index * self.batch_size
        last = min(first + self.batch_size, len(self.datapipe))
        return self.wrapper_class([self.datapipe[i] for i in range(first, last)])

    def __len__(self) -> int:
        whole, rest = divmod(len(self.datapipe), self.batch_size)
        return whole + (1 if rest and not self.drop_last else 0)


class SequenceWrapperMapDataPipe(MapDataPipe[Any]):
    """The items of a sequence or mapping; of a copy of it, if not told otherwise."""

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        self.sequence: Any = sequence
        if deepcopy:
            try:
                self.sequence = copy.deepcopy(sequence)
            except TypeError:
                warn(
                    "The input sequence can not be deepcopied, please be aware of in-place "
                    "modification would affect source data"
                )

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


# Where PyTorch has them, and its files look for them.
for _place, _pipe in (
    ("callable", MapperMapDataPipe),
    ("combinatorics", ShufflerIterDataPipe),
    ("combining", ConcaterMapDataPipe),
    ("combining", ZipperMapDataPipe),
    ("grouping", BatcherMapDataPipe),
    ("utils", SequenceWrapperMapDataPipe),
):
    _pipe.__module__ = f"{__package__}.{_place}"
