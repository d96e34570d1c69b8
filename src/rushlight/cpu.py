"""`torch.cpu`: the device that is here, as the other devices' modules are asked."""

from __future__ import annotations

import os
import platform
from typing import Any

from . import _core
from ._absent_device import DeviceEvent as Event
from ._absent_device import Stream, StreamContext
from ._missing import missing_name as _missing_name

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "device_count",
    "get_capabilities",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]

stream = StreamContext
_current = Stream("cpu")


def is_available() -> bool:
    """True.

    >>> torch.cpu.is_available()
    True
    """
    return True


def is_initialized() -> bool:
    """True.

    >>> torch.cpu.is_initialized()
    True
    """
    return True


def device_count() -> int:
    """1.

    >>> torch.cpu.device_count()
    1
    """
    return 1


def current_device() -> str:
    """ "cpu".

    >>> torch.cpu.current_device()
    'cpu'
    """
    return "cpu"


def set_device(device: Any) -> None:
    """Accepted: there is one."""


def synchronize(device: Any = None) -> None:
    """Nothing to wait for: each call has ended when it returns."""


def current_stream(device: Any = None) -> Stream:
    """The one stream."""
    return _current


def get_capabilities() -> dict[str, Any]:
    """What is known of the processor: its architecture, cores, the level of the kernels in use."""
    return {
        "architecture": platform.machine(),
        "num_logical_cores": os.cpu_count() or 1,
        "kernel_level": _core.isa(),
    }


__getattr__ = _missing_name(__name__)
