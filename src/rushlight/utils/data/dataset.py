"""Datasets: anything with `__getitem__` and `__len__`, or (iterable datasets) with `__iter__`."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

from rushlight import _root as rl
from rushlight._root import Generator, Tensor

from ..._base.errors import warn

T_co = TypeVar("T_co", covariant=True)
_T = TypeVar("_T")


class Dataset(Generic[T_co]):
    """Samples by index: a subclass defines `__getitem__`, and usually `__len__`.

    With `__getitems__(indices)` it may fetch a batch at once.

    >>> class Squares(torch.utils.data.Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, i):
    ...         return torch.tensor(float(i)), i * i
    >>> next(iter(torch.utils.data.DataLoader(Squares(), batch_size=4)))
    [tensor([0., 1., 2., 3.]), tensor([0, 1, 4, 9])]
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """Samples from a stream: a subclass defines `__iter__`.

    Every worker process iterates over its own copy: split the work with `get_worker_info`.

    >>> class Lines(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return map(float, "1 2 3".split())
    >>> list(torch.utils.data.DataLoader(Lines(), batch_size=2))
    [tensor([1., 2.], dtype=torch.float64), tensor([3.], dtype=torch.float64)]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other: Dataset[T_co]) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Rows of tensors of the same length: sample i is `(t1[i], t2[i], ...)`.

    >>> data = torch.utils.data.TensorDataset(torch.eye(2), torch.tensor([7, 8]))
    >>> data[1]
    (tensor([0., 1.]), tensor(8))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


def _several(dataset: Any, indices: list[int]) -> list[object]:
    """The samples of these indices, fetched at once where the dataset can."""
    many = getattr(dataset, "__getitems__", None)
    if many is None:
        return [dataset[i] for i in indices]
    found: list[object] = many(indices)
    if len(found) != len(indices):
        raise ValueError(
            f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(found)}"
        )
    return found


class StackDataset(Dataset[Any]):
    """Datasets side by side: sample i is a tuple (by keyword: a dict) of their samples i.

    >>> pairs = torch.utils.data.StackDataset(["a", "b"], [1, 2])
    >>> pairs[1], len(pairs)
    (('b', 2), 2)
    >>> torch.utils.data.StackDataset(text=["a", "b"], label=[1, 2])[0]
    {'text': 'a', 'label': 1}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or"
                "``dict``- (via ``kwargs``) like input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        lengths = [len(dataset) for dataset in args or kwargs.values()]
        if any(length != lengths[0] for length in lengths):
            raise ValueError("Size mismatch between datasets")
        self._length = lengths[0]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {key: dataset[index] for key, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: list[int]) -> list[Any]:
        if type(self).__getitem__ is not StackDataset.__getitem__:
            return [self[i] for i in indices]  # a subclass changes what a sample is
        if isinstance(self.datasets, dict):
            names, columns = list(self.datasets), self.datasets.values()
            rows = zip(*[_several(d, indices) for d in columns], strict=True)
            return [dict(zip(names, row, strict=True)) for row in rows]
        return list(zip(*[_several(d, indices) for d in self.datasets], strict=True))

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T_co]):
    """Datasets one after another.

    >>> both = torch.utils.data.ConcatDataset([["a", "b"], ["c"]])
    >>> len(both), both[2], both[-3]
    (3, 'c', 'a')
    """

    datasets: list[Dataset[T_co]]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Where each dataset of a sequence ends."""
        return list(accumulate(map(len, sequence)))

    def __init__(self, datasets: Iterable[Dataset[T_co]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @property
    def cummulative_sizes(self) -> list[int]:
        """An older name, misspelt, of `cumulative_sizes`."""
        warn("`cummulative_sizes` attribute is renamed to `cumulative_sizes`", FutureWarning)
        return self.cumulative_sizes

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> T_co:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        place = bisect_right(self.cumulative_sizes, index)
        start = self.cumulative_sizes[place - 1] if place else 0
        return self.datasets[place][index - start]


class ChainDataset(IterableDataset[Any]):
    """Iterable datasets one after another.

    >>> class Count(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(3))
    >>> list(torch.utils.data.ChainDataset([Count(), Count()]))
    [0, 1, 2, 0, 1, 2]
    """

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = datasets

    def _checked(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._checked():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._checked())


class Subset(Dataset[T_co]):
    """The samples of a dataset at given indices.

    >>> some = torch.utils.data.Subset(["a", "b", "c", "d"], [3, 1])
    >>> len(some), some[0]
    (2, 'd')
    """

    dataset: Dataset[T_co]
    indices: Sequence[int]

    def __init__(self, dataset: Dataset[T_co] | Sequence[T_co], indices: Sequence[int]) -> None:
        self.dataset = dataset  # type: ignore[assignment]
        self.indices = indices

    def __getitem__(self, index: Any) -> T_co:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        if type(self).__getitem__ is not Subset.__getitem__:
            return [self[i] for i in indices]  # a subclass changes what a sample is
        chosen = [self.indices[i] for i in indices]
        many = getattr(self.dataset, "__getitems__", None)
        if many is not None:
            return many(chosen)
        return [self.dataset[i] for i in chosen]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[_T] | Sequence[_T],
    lengths: Sequence[int | float],
    generator: Generator | None = None,
) -> list[Subset[_T]]:
    """Splits a dataset at random into parts of the given lengths, or fractions that sum to 1.

    >>> g = torch.Generator().manual_seed(0)
    >>> train, test = torch.utils.data.random_split(range(10), [0.7, 0.3], generator=g)
    >>> len(train), list(test)
    (7, [8, 6, 2])
    """
    size = len(dataset)  # type: ignore[arg-type]
    sizes: list[Any] = list(lengths)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, fraction in enumerate(lengths):
            if fraction < 0 or fraction > 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        sizes = [math.floor(size * fraction) for fraction in lengths]
        for i in range(size - sum(sizes)):
            sizes[i % len(sizes)] += 1
        for i, length in enumerate(sizes):
            if length == 0:
                warn(f"Length of split at index {i} is 0. This might result in an empty dataset.")
    if sum(sizes) != size:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = rl.randperm(size, generator=generator).tolist()
    ends = list(accumulate(sizes))
    return [
        Subset(dataset, order[end - length : end]) for end, length in zip(ends, sizes, strict=True)
    ]
