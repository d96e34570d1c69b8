"""The memory of tensors, in bytes.

Freed memory is kept for the next tensor, as far as a program used it before: `reserved` counts it,
`allocated` does not. Memory that NumPy allocated (of `from_numpy`, for one) is in neither.

>>> import rushlight
>>> from rushlight import memory
>>> memory.reset_peak()
>>> before = memory.allocated()
>>> x = rushlight.empty(1 << 20).clone()
>>> memory.allocated() - before >= x.nbytes
True
>>> del x
>>> memory.peak() - before >= 4 << 20
True
"""

from __future__ import annotations

from . import _core

__all__ = ["allocated", "empty_cache", "peak", "reserved", "reset_peak"]


def allocated() -> int:
    """Bytes in use by tensors.

    >>> from rushlight import memory
    >>> memory.allocated() <= memory.peak()
    True
    """
    return _core.memory_stats()[0]


def reserved() -> int:
    """Bytes in use, or kept for the next tensor.

    >>> from rushlight import memory
    >>> memory.reserved() >= memory.allocated()
    True
    """
    return _core.memory_stats()[1]


def peak() -> int:
    """The most bytes in use at a time since the start, or since `reset_peak`.

    >>> from rushlight import memory
    >>> memory.peak() >= memory.allocated()
    True
    """
    return _core.memory_stats()[2]


def reset_peak() -> None:
    """Count the peak from now on.

    >>> from rushlight import memory
    >>> memory.reset_peak()
    >>> memory.peak() == memory.allocated()
    True
    """
    _core.memory_reset_peak()


def empty_cache() -> None:
    """Give kept memory, and free pages of `malloc`, to the system. Small blocks stay.

    >>> from rushlight import memory
    >>> memory.empty_cache()
    >>> memory.reserved() >= memory.allocated()
    True
    """
    _core.memory_empty_cache()
