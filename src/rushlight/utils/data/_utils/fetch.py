"""Fetchers: they give the samples of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight._base.missing import missing_name as _missing_name

from .._fetch import fetcher


class _BaseDatasetFetcher:
    """Gives the batch of a list of indices: `fetch(indices)`."""

    _stream = False

    def __init__(
        self, dataset: Any, auto_collation: bool, collate_fn: Callable[..., object], drop_last: bool
    ) -> None:
        self.dataset, self.auto_collation = dataset, auto_collation
        self.collate_fn, self.drop_last = collate_fn, drop_last
        self._fetch = fetcher(self._stream, dataset, auto_collation, collate_fn, drop_last)

    def fetch(self, possibly_batched_index: object) -> object:
        """One batch."""
        return self._fetch(possibly_batched_index)


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    _stream = True


class _MapDatasetFetcher(_BaseDatasetFetcher):
    pass


__getattr__ = _missing_name(__name__)
