"""How many threads there are: those of one call, and PyTorch's number of calls at the same time."""

from __future__ import annotations

import numbers
import os

from .. import _core


def _thread_count(function: str, n: object) -> int:
    """The number of threads that a program asks a function for."""
    if isinstance(n, bool) or not isinstance(n, numbers.Integral):
        of = type(n)
        name = f"numpy.{of.__name__}" if of.__module__ == "numpy" else of.__name__
        raise RuntimeError(f"{function} expects an int, but got {name}")
    count = int(n)
    if not -(2**31) <= count < 2**31:
        kind = "long" if -(2**63) <= count < 2**63 else "long long"
        raise ValueError(f"Overflow when unpacking {kind}\nIt was given {count}.")
    if count < 1:
        raise RuntimeError(f"{function} expects a positive integer\nIt was given {count}.")
    return count


def set_num_threads(n: int, /) -> None:
    """How many threads long kernels may use.

    At the start it is the number of cores that the process may use, or fewer where MKL_NUM_THREADS
    or else OMP_NUM_THREADS in the environment says so.

    >>> before = torch.get_num_threads()
    >>> torch.set_num_threads(1)
    >>> torch.get_num_threads()
    1
    >>> torch.set_num_threads(before)
    """
    _core.set_num_threads(_thread_count("set_num_threads", n))


def get_num_threads() -> int:
    """How many threads long kernels may use.

    >>> torch.get_num_threads() >= 1
    True
    """
    return _core.get_num_threads()


# How many calls of `torch.jit.fork` may run at the same time, by what a program says, and whether
# it is too late to say so.
_interop: int | None = None
_started = False


def start_interop() -> None:
    global _started
    _started = True


def set_num_interop_threads(n: int, /) -> None:
    """How many calls of `torch.jit.fork` run at the same time; accepted once, before the first of
    them. Here they run one after another.

    >>> torch.get_num_interop_threads() >= 1
    True
    """
    global _interop
    count = _thread_count("set_num_interop_threads", n)
    if _started:
        raise RuntimeError(
            "Error: cannot set number of interop threads after parallel work has started or "
            f"set_num_interop_threads called\nThe number is {get_num_interop_threads()}."
        )
    start_interop()
    _interop = count


def get_num_interop_threads() -> int:
    """The number that `set_num_interop_threads` was given, at the start that of the processors.

    >>> torch.get_num_interop_threads() >= 1
    True
    """
    return _interop or os.cpu_count() or 1
