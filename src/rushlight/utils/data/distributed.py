"""`torch.utils.data.distributed`: the part of a dataset that one process of several takes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from ... import _root as rl
from ...distributed import get_rank, get_world_size
from .dataset import Dataset
from .sampler import Sampler

__all__ = ["DistributedSampler"]

_T = TypeVar("_T", covariant=True)


class DistributedSampler(Sampler[_T]):
    """Indices of a dataset for one of several processes: every num_replicas-th, from rank on.

    The length is that of the dataset by the number of processes: rounded up, indices being taken
    twice, or with drop_last down. `set_epoch` before each epoch gives another order.

    >>> sampler = torch.utils.data.DistributedSampler(range(5), 2, rank=1, shuffle=False)
    >>> list(sampler)
    [1, 3, 0]
    """

    drop_last: bool
    num_replicas: int
    rank: int
    seed: int
    shuffle: bool

    dataset: Any

    def __init__(
        self,
        dataset: Dataset[_T] | Sequence[_T],
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        num_replicas = get_world_size() if num_replicas is None else num_replicas
        rank = get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset = dataset
        self.num_replicas, self.rank = num_replicas, rank
        self.epoch: int = 0
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        size = len(self.dataset)
        whole = drop_last and size % num_replicas
        self.num_samples: int = size // num_replicas if whole else math.ceil(size / num_replicas)
        self.total_size: int = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[_T]:
        size = len(self.dataset)
        if self.shuffle:
            generator = rl.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices: list[Any] = rl.randperm(size, generator=generator).tolist()
        else:
            indices = list(range(size))
        if self.total_size > size:
            times = math.ceil(self.total_size / max(size, 1))
            indices = (indices * times)[: self.total_size]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Give another order: call it before each epoch."""
        self.epoch = epoch
