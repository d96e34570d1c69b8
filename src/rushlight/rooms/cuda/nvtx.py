"""torch.cuda.nvtx: ranges of a program, named for NVIDIA's profilers. With a device of CUDA they
are numbered, and no profiler is told; without any the names refuse, by their row of names.txt."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from .._base.device import cuda_is_here as _cuda_is_here
from .._torch import fill as _fill

_handles = count(1)
_thread = threading.local()


def _push(msg: str) -> int:
    """Begin a range inside those of this thread; the answer is how many are around the range."""
    depth: int = getattr(_thread, "depth", 0)
    _thread.depth = depth + 1
    return depth


def _pop() -> int:
    """End the range that began last; the answer is how many are around the range, -2 for none."""
    depth: int = getattr(_thread, "depth", 0) - 1
    _thread.depth = max(depth, 0)
    return depth if depth >= 0 else -2


@contextmanager
def _range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A block that is a range; the arguments are put into the text."""
    _push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        _pop()


if _cuda_is_here():
    range_push, range_pop, range = _push, _pop, _range
    range_start = lambda msg: next(_handles)
    mark = range_end = lambda msg: None
_fill("cuda.nvtx", globals())
