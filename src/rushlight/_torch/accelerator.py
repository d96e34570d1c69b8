"""`torch.accelerator`: the devices of CUDA where there are any; else the OpenCL device that a
program has named.

There is one of OpenCL only where the program has named it: by a tensor there,
`torch.device("opencl")` as the default device, or RUSHLIGHT_CUDA=opencl. Others go on computing on
the CPU.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .._base.device import accelerators as _accelerators
from .._base.device import device as _device
from .._base.dtypes import ALL as _ALL
from .._base.missing import missing_name as _missing_name
from . import _present_device

_present = _present_device.general

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "empty_host_cache",
    "get_device_capability",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def is_available() -> bool:
    """Whether there is an accelerator, and the program has named it.

    >>> torch.accelerator.is_available()
    False
    """
    return _present.available()


def device_count() -> int:
    """How many accelerators there are; 0 where the program has named none.

    >>> torch.accelerator.device_count()
    0
    """
    return _present.count()


def current_accelerator(check_available: bool = False) -> _device | None:
    """The kind of the accelerator; None where the program has named none.

    >>> torch.accelerator.current_accelerator() is None
    True
    """
    return _device(_accelerators.kind) if is_available() else None


def _needed() -> None:
    if not _present.available():
        raise RuntimeError("Cannot access accelerator device when none is available.")


def current_device_index() -> int:
    """The number of the accelerator that is meant by no number."""
    _needed()
    return _present.index_of()


def set_device_index(device: object, /) -> None:
    """Make an accelerator the one that is meant by no number; negative numbers change nothing."""
    _needed()
    _present.set_current(device)


current_device_idx, set_device_idx = current_device_index, set_device_index


class device_index(_present.DeviceContext):
    """A block in which an accelerator is the current one; None changes nothing."""

    def __init__(self, device: int | None, /) -> None:
        super().__init__(device)

    def __enter__(self) -> None:
        if self.idx is not None:
            _needed()
        super().__enter__()


def synchronize(device: object = None, /) -> None:
    """Wait until a device has done all that it was asked for."""
    _needed()
    _present.synchronize(device)


def current_stream(device: object = None, /) -> _present_device.Stream:
    """The stream of a device: its only queue."""
    _needed()
    return _present.current_stream(device)


def set_stream(stream: object) -> None:
    """Make a stream's device the current one."""
    _needed()
    _present.set_stream(stream)


def get_device_capability(device: object = None, /) -> dict[str, Any]:
    """The element types that a device has."""
    from .._devices.accelerators import numbered

    _needed()
    has_double = numbered(_present.number_of(device)).facts.has_double
    kinds = {d for d in _ALL if has_double or d.name not in ("float64", "complex128")}
    return {"supported_dtypes": kinds}


def empty_cache() -> None:
    """Give the memory that is kept for later back to the devices."""
    _needed()
    _present.empty_cache()


def empty_host_cache() -> None:
    """Accepted: no memory of the host is kept for a device."""
    _needed()


def get_memory_info(device_index: object = None, /) -> tuple[int, int]:
    """The bytes of a device that are free, as far as is known, and all of them."""
    _needed()
    return _present.memory_info(device_index)


def memory_stats(device_index: object = None, /) -> OrderedDict[str, Any]:
    """The counts of a device's memory, by PyTorch's names."""
    _needed()
    return _present.memory_stats(device_index)


def memory_allocated(device_index: object = None, /) -> int:
    """The bytes that tensors have on a device."""
    _needed()
    return _present.memory_allocated(device_index)


def max_memory_allocated(device_index: object = None, /) -> int:
    """The most bytes that tensors had on a device."""
    _needed()
    return _present.max_memory_allocated(device_index)


def memory_reserved(device_index: object = None, /) -> int:
    """The bytes of the tensors on a device, and of the memory kept for later tensors."""
    _needed()
    return _present.memory_reserved(device_index)


def max_memory_reserved(device_index: object = None, /) -> int:
    """The most bytes that tensors had or that were kept on a device."""
    _needed()
    return _present.max_memory_reserved(device_index)


def reset_accumulated_memory_stats(device_index: object = None, /) -> None:
    """Accepted: nothing is accumulated but the number of allocations."""
    _needed()
    _present.reset_accumulated(device_index)


def reset_peak_memory_stats(device_index: object = None, /) -> None:
    """The most so far is counted anew."""
    _needed()
    _present.reset_peak(device_index)


__getattr__ = _missing_name(__name__)
