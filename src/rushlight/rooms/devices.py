"""Calls on an accelerator: which run there, and which go by way of the host.

An accelerator is a device of OpenCL: `x.to("opencl")`. `torch.accelerator` answers programs that
ask about a device, such as about its memory. The CPU computes an op without a kernel there, on
copies of the arguments, and the result is copied back. That is right, and slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from . import _core

__all__ = ["fallbacks", "forget_fallbacks", "refuse_fallbacks"]


def fallbacks() -> dict[str, int]:
    """How many calls went by way of the host, by the name of the op or kernel.

    >>> from rushlight import devices
    >>> devices.forget_fallbacks()
    >>> devices.fallbacks()
    {}
    """
    found: dict[str, int] = _core.accelerator_fallbacks()
    return found


def forget_fallbacks() -> None:
    """Count them anew.

    >>> from rushlight import devices
    >>> devices.forget_fallbacks()
    >>> len(devices.fallbacks())
    0
    """
    _core.accelerator_forget_fallbacks()


@contextmanager
def refuse_fallbacks(refuse: bool = True) -> Iterator[None]:
    """A block in which a call that would go by way of the host raises NotImplementedError.

    >>> from rushlight import devices
    >>> with devices.refuse_fallbacks():
    ...     (torch.ones(2) + 1).sum()
    tensor(4.)
    """
    before = _core.accelerator_refuse_fallbacks(refuse)
    try:
        yield
    finally:
        _core.accelerator_refuse_fallbacks(before)
