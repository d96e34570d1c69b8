"""`DataLoader`: batches of a dataset, in order or shuffled, made here or in worker processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from rushlight._root import Generator

from ..._base.device import accelerators, cuda_is_here
from ..._base.errors import warn
from ..._base.missing import missing_name as _missing_name
from ._collate import default_collate, default_convert
from ._fetch import BaseDataLoaderIter, LengthCheck, fetcher, pinning, seed_pipes
from .dataset import Dataset, IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, draw_seed

T_co = TypeVar("T_co", covariant=True)

_collate_fn_t = Callable[[list[Any]], Any]

_FIXED = frozenset(
    ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
)


class _InfiniteConstantSampler(Sampler[None]):
    """None for ever: what an iterable dataset is asked for."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class _DatasetKind:
    """Which kind of dataset a loader has."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(
        kind: int, dataset: object, auto_collation: bool, collate_fn: Any, drop_last: bool
    ) -> object:
        """The fetcher that gives the batch of a list of indices."""
        from ._utils.fetch import _IterableDatasetFetcher, _MapDatasetFetcher

        fetch = _IterableDatasetFetcher if kind else _MapDatasetFetcher
        return fetch(dataset, auto_collation, collate_fn, drop_last)


class DataLoader(Generic[T_co]):
    """Iterates over batches of a dataset.

    Args:
        dataset: with `__getitem__` and `__len__`, or an `IterableDataset`.
        batch_size: samples a batch; None yields single samples.
        shuffle: a new random order in every pass.
        sampler, batch_sampler: the order, instead of `shuffle`.
        num_workers: processes that make batches ahead; 0 makes them here.
        collate_fn: from a list of samples to a batch.
        drop_last: leave out a last batch that is not full.
        timeout: seconds to wait for a worker, 0 for ever.
        worker_init_fn: called with the worker's number when it starts.
        generator: where the order (and the workers' seeds) are drawn from.
        prefetch_factor: batches made ahead by each worker.
        persistent_workers: keep the workers from pass to pass.
        in_order: yield batches in order even where a later one is ready first.

    >>> data = torch.utils.data.TensorDataset(torch.arange(5))
    >>> for (batch,) in torch.utils.data.DataLoader(data, batch_size=2):
    ...     print(batch)
    tensor([0, 1])
    tensor([2, 3])
    tensor([4])
    """

    __initialized = False
    dataset: Dataset[T_co]
    sampler: Any
    batch_sampler: Any

    def __init__(
        self,
        dataset: Dataset[T_co] | Sequence[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        data: Any = dataset
        if num_workers < 0:
            raise ValueError(
                "num_workers option should be non-negative; "
                "use num_workers=0 to disable multiprocessing."
            )
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing."
                "let num_workers > 0 to enable multiprocessing, "
                "otherwise set prefetch_factor to None."
            )
        if num_workers > 0:
            from ..._base.browser import not_in_browser

            not_in_browser(f"a DataLoader with num_workers={num_workers}", "use num_workers=0.")
        if num_workers > 0 and prefetch_factor is None:
            prefetch_factor = 2
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        if multiprocessing_context is not None and num_workers == 0:
            raise ValueError(
                "multiprocessing_context can only be used with "
                "multi-process loading (num_workers > 0), but got "
                f"num_workers={num_workers}"
            )
        if shuffle is not None and hasattr(data, "_number_of_samples_yielded"):  # a pipe
            from .graph_settings import apply_shuffle_settings

            data, shuffle = apply_shuffle_settings(data, shuffle), None
        self._dataset_kind = int(isinstance(data, IterableDataset))
        if self._dataset_kind == _DatasetKind.Iterable:
            for name, value in (
                ("shuffle", shuffle),
                ("sampler", sampler),
                ("batch_sampler", batch_sampler),
            ):
                if value is not None and value is not False:
                    raise ValueError(
                        "DataLoader with IterableDataset: expected unspecified "
                        f"{name} option, but got {name}={value}"
                    )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive "
                    "with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching "
                "and is mutually exclusive with drop_last"
            )
        if sampler is None:
            if self._dataset_kind == _DatasetKind.Iterable:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(data, generator=generator)
            else:
                sampler = SequentialSampler(data)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)

        self.dataset = data
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.__multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self._IterableDataset_len_called: int | None = None
        self._iterator: Any = None
        self.__initialized = True
        self.check_worker_number_rationality()

    def __setattr__(self, name: str, value: object) -> None:
        if self.__initialized and name in _FIXED:
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self) -> Any:
        """How workers are started: a method's name, a context, or None."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, multiprocessing_context: object) -> None:
        self.__multiprocessing_context = multiprocessing_context

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is not None:
            full, rest = divmod(length, self.batch_size)
            length = full + (1 if rest and not self.drop_last else 0)
        return length

    def __iter__(self) -> Iterator[Any]:
        if self.pin_memory and not accelerators.wanted and not cuda_is_here():
            warn(
                "'pin_memory' argument is set as true but no accelerator is found, "
                "then device pinned memory won't be used."
            )
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        from ._worker import WorkerIterator  # multiprocessing is only imported where it is used

        if self._iterator is not None and self._iterator.has_workers():
            self._iterator.restart(self)
            return self._iterator
        self.check_worker_number_rationality()
        workers = WorkerIterator(self)
        if self.persistent_workers:
            self._iterator = workers
        return workers

    def _get_iterator(self) -> Iterator[object]:
        return iter(self)

    def check_worker_number_rationality(self) -> None:
        """Warns where there are more workers than processors that this process may use."""
        if not self.num_workers:
            return
        bound = hasattr(os, "sched_getaffinity")
        processors = len(os.sched_getaffinity(0)) if bound else os.cpu_count()
        if processors is None:
            advice = (
                "DataLoader is not able to compute a suggested max number of worker in "
                "current system."
            )
        elif self.num_workers > processors:
            advice = (
                f"Our suggested max number of worker in current system is {processors}"
                f"{'' if bound else ' (`cpuset` is not taken into account)'}, which is smaller "
                "than what this DataLoader is going to create."
            )
        else:
            return
        warn(
            f"This DataLoader will create {self.num_workers} worker processes in total. {advice} "
            "Please be aware that excessive worker creation might get DataLoader running slow or "
            "even freeze, lower the worker number to avoid potential slowness/freeze if necessary."
        )


# PyTorch's private names, which libraries subclass.
_BaseDataLoaderIter = BaseDataLoaderIter


class _SingleProcessDataLoaderIter(BaseDataLoaderIter):
    """One pass over the batches, made in this process."""

    def __init__(self, loader: DataLoader[object]) -> None:
        if loader.timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._sampler = loader._index_sampler
        self._places = iter(self._sampler)
        seed_pipes(loader)
        # PyTorch draws the workers' seed in every pass, workers or not: so the streams agree.
        self._base_seed = draw_seed(loader.generator)
        how = (loader._auto_collation, loader.collate_fn, loader.drop_last)
        self._fetch = fetcher(loader._dataset_kind, loader.dataset, *how)
        self._check = LengthCheck(loader) if loader._dataset_kind else None
        self._finish = pinning(loader)

    def __iter__(self) -> Iterator[object]:
        return self

    def __next__(self) -> object:
        batch = self._fetch(next(self._places))
        if self._check is not None:
            self._check.count()
        return self._finish(batch)

    def __len__(self) -> int:
        return len(self._sampler)


__getattr__ = _missing_name(
    __name__, {"_MultiProcessingDataLoaderIter": "rushlight.utils.data._worker"}
)
