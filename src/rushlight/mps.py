"""`torch.mps`: there is no such device here."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from ._absent_device import DeviceEvent
from ._missing import missing_name as _missing_name

Event = DeviceEvent

__all__ = ["current_allocated_memory", "device_count", "driver_allocated_memory", "empty_cache"]
__all__ += ["get_rng_state", "is_available", "manual_seed", "recommended_max_memory", "seed"]
__all__ += ["set_per_process_memory_fraction", "set_rng_state", "synchronize"]


def is_available() -> bool:
    """False: there is no such device here.

    >>> torch.mps.is_available()
    False
    """
    return False


def device_count() -> int:
    """0: there is no such device here.

    >>> torch.mps.device_count()
    0
    """
    return 0


def manual_seed(seed: int) -> None:
    """Accepted: there is no such device here."""


def _refusing(called: str) -> Callable[..., NoReturn]:
    def refuse(*args: object) -> NoReturn:
        raise RuntimeError(f"Cannot execute {called}() without MPS backend.")

    return refuse


seed = _refusing("seed")
empty_cache = _refusing("emptyCache")
synchronize = _refusing("deviceSynchronize")
current_allocated_memory = _refusing("getCurrentAllocatedMemory")
driver_allocated_memory = _refusing("getDriverAllocatedMemory")
recommended_max_memory = _refusing("getRecommendedMaxMemory")
set_per_process_memory_fraction = _refusing("setMemoryFraction")
get_rng_state = _refusing("getRNGState")
set_rng_state = _refusing("setRNGState")

__getattr__ = _missing_name(__name__)
