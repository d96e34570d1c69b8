"""Pipes that call a function on each sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._collate import default_collate
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe, Samples, Source, length
from ..utils.common import _check_unpickable_fn, validate_input_col

__all__ = ["CollatorIterDataPipe", "MapperIterDataPipe"]


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe[Any]):
    """fn of each sample: of the columns `input_col`, its result put into `output_col`."""

    datapipe: Source
    fn: Callable[..., Any]
    input_col: Any

    def __init__(
        self,
        datapipe: Source,
        fn: Callable[..., Any],
        input_col: Any = None,
        output_col: Any = None,
    ) -> None:
        _check_unpickable_fn(fn)
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        self.datapipe, self.fn = datapipe, fn
        self.input_col, self.output_col = input_col, output_col
        validate_input_col(fn, input_col)

    def _apply_fn(self, data: Any) -> Any:
        columns = self.input_col
        if columns is None and self.output_col is None:
            return self.fn(data)
        several = isinstance(columns, (list, tuple))
        given = [data[c] for c in columns] if several else [data[columns]]
        result = self.fn(*given)
        changed = list(data) if isinstance(data, tuple) else data
        if self.output_col == -1:
            changed.append(result)
        elif self.output_col is not None:
            changed[self.output_col] = result
        elif several:
            changed[columns[0]] = result
            for index in sorted(columns[1:], reverse=True):
                del changed[index]
        else:
            changed[columns] = result
        return tuple(changed) if isinstance(data, tuple) else changed

    def __iter__(self) -> Samples:
        for data in self.datapipe:
            yield self._apply_fn(data)

    def __len__(self) -> int:
        return length(self, self.datapipe)


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Batches of samples as tensors."""

    def __init__(
        self,
        datapipe: Source,
        conversion: Any = default_collate,
        collate_fn: Callable[..., object] | None = None,
    ) -> None:
        super().__init__(datapipe, fn=collate_fn if collate_fn is not None else conversion)
