"""Pipes in another order."""

from __future__ import annotations

import random
from typing import Any, Self

from rushlight import _root as rl

from ...sampler import Sampler, SequentialSampler
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe, Samples, Source, length

__all__ = ["SamplerIterDataPipe", "ShufflerIterDataPipe"]


def drawn_seed() -> int:
    """A seed from the default generator."""
    return int(rl.empty((), dtype=rl.int64).random_().item())


class SamplerIterDataPipe(IterDataPipe[Any]):
    """The samples at the indices that a sampler gives."""

    sampler_args: tuple[Any, ...] | tuple[()]
    sampler_kwargs: dict[str, Any]

    def __init__(
        self,
        datapipe: Source,
        sampler: type[Sampler[Any]] = SequentialSampler,
        sampler_args: tuple[Any, ...] | None = None,
        sampler_kwargs: dict[str, Any] | None = None,
    ) -> None:
        if not hasattr(type(datapipe), "__len__"):
            raise AssertionError("Sampler class requires input datapipe implemented `__len__`")
        self.datapipe = datapipe
        self.sampler_args, self.sampler_kwargs = sampler_args or (), sampler_kwargs or {}
        self.sampler: Sampler[Any] = sampler(
            *self.sampler_args, **{"data_source": datapipe, **self.sampler_kwargs}
        )

    def __iter__(self) -> Samples:
        return iter(self.sampler)

    def __len__(self) -> int:
        return len(self.sampler)  # type: ignore[arg-type]


class Shuffled(IterDataPipe[Any]):
    """A pipe whose order may be random."""

    _enabled = True
    _seed: int | None = None

    def set_shuffle(self, shuffle: bool = True) -> Self:
        """Let the order be random, or that of the source."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> Self:
        """The seed of the next iterator."""
        self._seed = seed
        return self


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(Shuffled):
    """The samples in random order, through a buffer of some size."""

    def __init__(self, datapipe: Any, *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        self._buffer: list[Any] = []
        self.datapipe: Any = datapipe if unbatch_level == 0 else datapipe.unbatch(unbatch_level)
        self.buffer_size = buffer_size
        self._rng = random.Random()

    def reset(self) -> None:
        """Begin anew."""
        self._buffer = []
        if self._enabled:
            self._rng.seed(drawn_seed() if self._seed is None else self._seed)
            self._seed = None

    def __iter__(self) -> Samples:
        if not self._enabled:
            yield from self.datapipe
            return
        buffer = self._buffer
        for sample in self.datapipe:
            if len(buffer) < self.buffer_size:
                buffer.append(sample)
            else:
                i = self._rng.randint(0, len(buffer) - 1)
                found, buffer[i] = buffer[i], sample
                yield found
        while buffer:
            yield buffer.pop(self._rng.randint(0, len(buffer) - 1))

    def __len__(self) -> int:
        return length(self, self.datapipe)
