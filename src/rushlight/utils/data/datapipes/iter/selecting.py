"""Pipes of some of the samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight._core import Tensor

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe, Samples, Source
from ..utils.common import _check_unpickable_fn, validate_input_col

__all__ = ["FilterIterDataPipe"]


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe[Any]):
    """The samples for which a function gives True."""

    datapipe: Source
    filter_fn: Callable[..., Any]
    input_col: Any

    def __init__(
        self, datapipe: Source, filter_fn: Callable[..., Any], input_col: Any = None
    ) -> None:
        _check_unpickable_fn(filter_fn)
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col
        validate_input_col(filter_fn, input_col)

    def _keeps(self, data: Any) -> bool:
        columns = self.input_col
        if columns is None:
            given = [data]
        else:
            several = isinstance(columns, (list, tuple))
            given = [data[c] for c in columns] if several else [data[columns]]
        answer = self.filter_fn(*given)
        if not isinstance(answer, (bool, Tensor)) and type(answer).__name__ not in (
            "bool_",
            "bool",
        ):
            raise ValueError(
                "Boolean output is required for `filter_fn` of FilterIterDataPipe, got",
                type(answer),
            )
        return bool(answer)

    def __iter__(self) -> Samples:
        for data in self.datapipe:
            if self._keeps(data):
                yield data
