"""Getting the samples of one batch from a dataset, in the loader's own process or in a worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rushlight._root import Generator

from ..._base.device import accelerators, cuda_is_here
from ..._base.errors import warn
from ..._core import Tensor
from ._collate import default_collate
from .dataset import Subset, TensorDataset
from .sampler import draw_seed


def _is_integer(kind: type) -> bool:
    return kind is int or (kind.__module__ == "numpy" and kind.__name__ in ("int64", "int32"))


def seed_pipes(loader: Any) -> None:
    """Give the pipes of a loader's dataset the seeds of a pass; nothing where it is no pipe."""
    if hasattr(loader.dataset, "_number_of_samples_yielded"):
        from .graph_settings import apply_random_seed

        generator = Generator()
        generator.manual_seed(draw_seed(loader.generator))
        apply_random_seed(loader.dataset, generator)


class BaseDataLoaderIter:
    """One pass over a loader's batches, in this process or by workers."""

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


def pin_memory(data: Any, device: object = None) -> Any:
    """The data with every tensor pinned: those in mappings and sequences, too, and those of objects
    that have a `pin_memory` method. Tuples become lists, unless they are named."""
    if isinstance(data, Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return _like(data, {key: pin_memory(value, device) for key, value in data.items()})
    if not isinstance(data, Sequence):
        return data
    pinned = [pin_memory(value, device) for value in data]
    if hasattr(data, "_fields"):
        return type(data)(*pinned)
    return pinned if isinstance(data, tuple) else _like(data, pinned)


def _like(data: Any, pinned: Any) -> Any:
    """In a container of the same type, where that can be made of another."""
    try:
        return type(data)(pinned)
    except TypeError:
        return pinned


def pinning(loader: Any) -> Callable[[Any], Any]:
    """The last step of a loader with a batch: pinning, where an accelerator is used."""
    pins = getattr(loader, "pin_memory", False) and (accelerators.wanted or cuda_is_here())
    return pin_memory if pins else lambda batch: batch


def fetcher(
    stream: int,
    dataset: Any,
    auto_collation: bool,
    collate_fn: Callable[[object], object],
    drop_last: bool,
) -> Callable[[Any], Any]:
    """A function from what the index sampler yields to a batch; raises StopIteration when a stream
    ends.

    stream: whether the dataset is one, as its loader says: that may be no `DataLoader`.
    """
    if stream:
        return _StreamFetcher(dataset, auto_collation, collate_fn, drop_last)
    if not auto_collation:
        return lambda index: collate_fn(dataset[index])
    many = getattr(dataset, "__getitems__", None)

    def fetch(indices: Any) -> object:
        return collate_fn([dataset[i] for i in indices] if many is None else many(indices))

    rows = _row_fetcher(dataset) if collate_fn is default_collate else None
    if rows is None:
        return fetch

    def fetch_rows(indices: Any) -> object:
        indices = list(indices)
        batch = rows(indices)
        return fetch(indices) if batch is None else batch

    return fetch_rows


def _row_fetcher(dataset: object) -> Callable[[list[Any]], list[object] | None] | None:
    """For rows of plain tensors: one indexing a tensor instead of one a sample and a stack.

    The function gives None for indices that are not all integers: the list of them would mean
    something else to a tensor than each of them does.
    """
    if type(dataset) is Subset:
        inner = _row_fetcher(dataset.dataset)
        if inner is None:
            return None
        places = dataset.indices
        return lambda indices: inner([places[i] for i in indices])
    if type(dataset) is not TensorDataset or any(t.requires_grad for t in dataset.tensors):
        return None
    tensors = dataset.tensors

    def rows(indices: list[object]) -> list[object] | None:
        if not indices or not all(map(_is_integer, set(map(type, indices)))):
            return None
        return [tensor[indices] for tensor in tensors]

    return rows


class _StreamFetcher:
    def __init__(
        self,
        dataset: Any,
        auto_collation: bool,
        collate_fn: Callable[[object], object],
        drop_last: bool,
    ) -> None:
        self.samples = iter(dataset)
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.ended = False

    def __call__(self, places: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.samples))
        batch = []
        for _ in places:
            try:
                batch.append(next(self.samples))
            except StopIteration:
                self.ended = True
                break
        if not batch or (self.drop_last and len(batch) < len(places)):
            raise StopIteration
        return self.collate_fn(batch)


class LengthCheck:
    """Warns where a stream yields more samples than its `__len__` told."""

    def __init__(self, loader: Any) -> None:
        self.dataset = loader.dataset
        self.told = loader._IterableDataset_len_called
        self.workers = loader.num_workers
        self.yielded = 0

    def count(self) -> None:
        """Notes one more item."""
        self.yielded += 1
        if self.told is None or self.yielded <= self.told:
            return
        text = (
            f"Length of IterableDataset {self.dataset} was reported to be {self.told}"
            f"(when accessing len(dataloader)), but {self.yielded} samples have been fetched. "
        )
        if self.workers > 0:
            text += (
                "For multiprocessing data-loading, this could be caused by not properly "
                "configuring the IterableDataset replica at each worker. Please see "
                "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset "
                "for examples."
            )
        warn(text)
