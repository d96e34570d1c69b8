"""Getting the samples of one batch from a dataset, in the loader's own process or in a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .collate import default_collate
from .dataset import IterableDataset, Subset, TensorDataset

if TYPE_CHECKING:
    from collections.abc import Callable


def fetcher(
    dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool
) -> Callable[[Any], Any]:
    """A function from what the index sampler yields to a batch; raises StopIteration when a stream
    ends.
    """
    if isinstance(dataset, IterableDataset):
        return _StreamFetcher(dataset, auto_collation, collate_fn, drop_last)
    if not auto_collation:
        return lambda index: collate_fn(dataset[index])
    if collate_fn is default_collate and (rows := _row_fetcher(dataset)) is not None:
        return rows
    many = getattr(dataset, "__getitems__", None)
    if many is not None:
        return lambda indices: collate_fn(many(indices))
    return lambda indices: collate_fn([dataset[index] for index in indices])


def _row_fetcher(dataset: Any) -> Callable[[list[int]], list[Any]] | None:
    """For rows of plain tensors: one indexing a tensor instead of one a sample and a stack."""
    if type(dataset) is Subset:
        inner = _row_fetcher(dataset.dataset)
        if inner is None:
            return None
        places = dataset.indices
        return lambda indices: inner([places[i] for i in indices])
    if type(dataset) is not TensorDataset or any(t.requires_grad for t in dataset.tensors):
        return None
    tensors = dataset.tensors
    return lambda indices: [tensor[indices] for tensor in tensors]


class _StreamFetcher:
    def __init__(
        self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool
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
