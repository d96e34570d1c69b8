"""`torch.cuda.nvtx`: marks for NVIDIA's profiler, which is not here."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NoReturn

from .._missing import missing_name as _missing_name

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _refuse(*args: object, **kwargs: object) -> NoReturn:
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


mark = range_push = range_pop = range_start = range_end = _refuse


@contextlib.contextmanager
def range(msg: str, *args: object, **kwargs: object) -> Iterator[None]:
    """Raises RuntimeError: there is no CUDA here."""
    _refuse()
    yield


__getattr__ = _missing_name(__name__)
