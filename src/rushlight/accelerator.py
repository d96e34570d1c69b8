"""`torch.accelerator`: there is none here."""

from __future__ import annotations

from typing import Any, NoReturn

from ._missing import missing_name as _missing_name

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
    """False: there is no accelerator here.

    >>> torch.accelerator.is_available()
    False
    """
    return False


def device_count() -> int:
    """0: there is no accelerator here.

    >>> torch.accelerator.device_count()
    0
    """
    return 0


def current_accelerator(check_available: bool = False) -> None:
    """None: there is no accelerator here.

    >>> torch.accelerator.current_accelerator() is None
    True
    """


class device_index:
    """A block in which an accelerator would be the current one; None changes nothing."""

    def __init__(self, device: int | None, /) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            _refused()

    def __exit__(self, *exc: object) -> None:
        pass


def _refused(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused: there is no accelerator here."""
    raise RuntimeError("Cannot access accelerator device when none is available.")


current_device_idx = current_device_index = current_stream = get_device_capability = _refused
empty_cache = empty_host_cache = get_memory_info = max_memory_allocated = _refused
max_memory_reserved = memory_allocated = memory_reserved = memory_stats = _refused
reset_accumulated_memory_stats = reset_peak_memory_stats = set_device_idx = _refused
set_device_index = set_stream = synchronize = _refused

__getattr__ = _missing_name(__name__)
