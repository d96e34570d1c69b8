"""Samplers: in which order a loader visits the samples. They draw the random numbers that PyTorch's
draw.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any, Generic, TypeVar

from rushlight import _root as rl
from rushlight._root import Generator, Tensor

T_co = TypeVar("T_co", covariant=True)


def draw_seed(generator: Generator | None = None) -> int:
    """One random 64-bit integer, as loaders and samplers take it from a generator."""
    return int(rl.empty((), dtype=rl.int64).random_(generator=generator).item())


class Sampler(Generic[T_co]):
    """An iterable of indices (or of lists of them): a subclass defines `__iter__`.

    >>> class Backwards(torch.utils.data.Sampler):
    ...     def __init__(self, data):
    ...         self.data = data
    ...     def __iter__(self):
    ...         return iter(range(len(self.data) - 1, -1, -1))
    >>> data = ["a", "b", "c"]
    >>> list(torch.utils.data.DataLoader(data, sampler=Backwards(data), batch_size=None))
    ['c', 'b', 'a']
    """

    def __init__(self, data_source: Any = None) -> None:
        super().__init__()

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """0, 1, 2, ...

    >>> list(torch.utils.data.SequentialSampler(["a", "b", "c"]))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """A random permutation, anew in every pass; with `replacement`, independent draws.

    >>> g = torch.Generator().manual_seed(0)
    >>> list(torch.utils.data.RandomSampler(range(5), generator=g))
    [4, 0, 1, 3, 2]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got {replacement=}")
        count = self.num_samples
        if not isinstance(count, int) or count <= 0:
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={count}"
            )

    @property
    def num_samples(self) -> int:
        """How many indices a pass has."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        size = len(self.data_source)
        generator = self.generator
        wanted = end = self.num_samples
        step = 4096
        if generator is None:
            generator = rl.Generator()
            generator.manual_seed(draw_seed())
        else:  # a program sees when PyTorch draws: few at a time, and once more at the end
            step, end = 32, wanted + 1
        if self.replacement:
            for start in range(0, end, step):
                shape = (min(step, wanted - start),)
                draws = rl.randint(high=size, size=shape, dtype=rl.int64, generator=generator)
                yield from draws.tolist()
        else:
            for start in range(0, end, size):
                yield from rl.randperm(size, generator=generator).tolist()[: wanted - start]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """A random permutation of given indices.

    >>> sorted(torch.utils.data.SubsetRandomSampler([2, 4, 6]))
    [2, 4, 6]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        how: Any = {} if self.generator is None else {"generator": self.generator}
        indices, order = self.indices, rl.randperm(len(self.indices), **how)
        for i in order.tolist():
            yield indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Independent draws (or draws without replacement) with given, unnormalised probabilities.

    >>> list(torch.utils.data.WeightedRandomSampler([0.0, 5.0], num_samples=3))
    [1, 1, 1]
    """

    weights: Tensor

    def __init__(
        self,
        weights: Sequence[float] | Tensor,
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={num_samples}"
            )
        if not isinstance(replacement, bool):
            raise ValueError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        self.weights = rl.as_tensor(weights, dtype=rl.double)
        if self.weights.dim() != 1:
            raise ValueError(
                "weights should be a 1d sequence but given "
                f"weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        draws = rl.multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from draws.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` indices of another sampler; the last may be shorter, or is dropped.

    >>> list(torch.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler: Any = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)
        return (count if self.drop_last else count + self.batch_size - 1) // self.batch_size
