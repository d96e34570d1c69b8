"""torch.cuda as programs probe it: there is no CUDA device here, and every call says so.

What asks, or asks for nothing to be done, answers (`is_available`, `device_count`, `manual_seed`,
`empty_cache`, ...); what needs a device raises as PyTorch without CUDA does.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ._device import DeviceLike
from ._missing import missing_name as _missing_name

__all__ = [
    "current_device",
    "device",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "init",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "seed",
    "seed_all",
    "set_device",
    "synchronize",
]


def _no_device(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused: there is no CUDA device here.

    >>> torch.cuda.current_device()
    Traceback (most recent call last):
        ...
    AssertionError: Torch not compiled with CUDA enabled...
    """
    raise AssertionError(
        "Torch not compiled with CUDA enabled. rushlight computes on the CPU only: ask "
        "torch.cuda.is_available() first."
    )


current_device = get_device_name = get_device_properties = get_device_capability = _no_device
init = set_device = synchronize = _no_device


def is_available() -> bool:
    """False: there is no CUDA device here.

    >>> torch.cuda.is_available()
    False
    >>> device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    >>> device
    device(type='cpu')
    """
    return False


def is_initialized() -> bool:
    """False: there is nothing to initialize.

    >>> torch.cuda.is_initialized()
    False
    """
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: there is no CUDA device here.

    >>> torch.cuda.is_bf16_supported()
    False
    """
    return False


def device_count() -> int:
    """0: there is no CUDA device here.

    >>> torch.cuda.device_count()
    0
    """
    return 0


def manual_seed(seed: int) -> None:
    """Accepted: there is no generator of a device to seed.

    >>> torch.cuda.manual_seed(0) is None
    True
    """


def manual_seed_all(seed: int) -> None:
    """Accepted: there are no generators of devices to seed.

    >>> torch.cuda.manual_seed_all(0) is None
    True
    """


def seed() -> None:
    """Accepted: there is no generator of a device to seed.

    >>> torch.cuda.seed() is None
    True
    """


def seed_all() -> None:
    """Accepted: there are no generators of devices to seed.

    >>> torch.cuda.seed_all() is None
    True
    """


def empty_cache() -> None:
    """Accepted: there is no device memory.

    >>> torch.cuda.empty_cache() is None
    True
    """


def ipc_collect() -> None:
    """Accepted: there is no device memory.

    >>> torch.cuda.ipc_collect() is None
    True
    """


def memory_allocated(device: DeviceLike | None = None) -> int:
    """0: there is no device memory.

    >>> torch.cuda.memory_allocated()
    0
    """
    return 0


def max_memory_allocated(device: DeviceLike | None = None) -> int:
    """0: there is no device memory.

    >>> torch.cuda.max_memory_allocated()
    0
    """
    return 0


def memory_reserved(device: DeviceLike | None = None) -> int:
    """0: there is no device memory.

    >>> torch.cuda.memory_reserved()
    0
    """
    return 0


def max_memory_reserved(device: DeviceLike | None = None) -> int:
    """0: there is no device memory.

    >>> torch.cuda.max_memory_reserved()
    0
    """
    return 0


class device:
    """A block in which a device would be the current one; with none it changes nothing.

    >>> with torch.cuda.device(-1):
    ...     torch.zeros(1).device
    device(type='cpu')
    """

    def __init__(self, device: DeviceLike | None) -> None:
        self.idx = device

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: Any) -> None:
        return None


__getattr__ = _missing_name(__name__)
