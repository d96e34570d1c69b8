"""Pipes of what Python can walk."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from ....._base.errors import warn
from ..datapipe import IterDataPipe, Samples

__all__ = ["IterableWrapperIterDataPipe"]


class IterableWrapperIterDataPipe(IterDataPipe[Any]):
    """The items of something that can be walked; of a copy of it, if not told otherwise."""

    deepcopy: bool
    iterable: Iterable[Any]

    def __init__(self, iterable: Iterable[Any], deepcopy: bool = True) -> None:
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self) -> Samples:
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(self.iterable)
            except TypeError:
                warn(
                    "The input iterable can not be deepcopied, please be aware of in-place "
                    "modification would affect source data."
                )
        yield from source

    def __len__(self) -> int:
        return len(self.iterable)  # type: ignore[arg-type]
