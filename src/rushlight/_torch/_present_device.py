"""The answers of accelerators to programs: `torch.accelerator`, and `torch.cuda` where accelerators
stand for CUDA's devices.

There is one queue for each device, in which calls run one after the other: streams are names for
it, and an event is recorded when all before it is done.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from typing import Any, NoReturn

from .. import _core
from .._base.device import (
    OF_A_KIND,
    accelerated,
    accelerators,
    cuda_is_here,
    first,
    is_accelerator,
)
from .._base.device import device as Device
from .._core import Tensor
from .._devices import accelerator
from . import _absent_device, refused_without

__all__ = [
    "DeviceContext",
    "Properties",
    "Stream",
    "answers",
    "available",
    "count",
    "current_stream",
    "empty_cache",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_info",
    "memory_reserved",
    "memory_stats",
    "number_of",
    "reset_accumulated",
    "reset_peak",
    "set_current",
    "set_stream",
    "synchronize",
]


def count() -> int:
    """How many accelerators there are; 0 unless the program has named one."""
    if not accelerators.wanted and not cuda_is_here():
        return 0
    from .._devices.accelerators import count

    return count(accelerators.kind)


def available() -> bool:
    """Whether there is an accelerator, and the program has named one."""
    return count() > 0


def number_of(where: Any = None) -> int:
    """The number that a device, an int or None (the current one) means; an error where that is no
    accelerator, or not there."""
    if isinstance(where, (str, Device)):
        named = Device(where)
        if not is_accelerator(named.type):
            raise ValueError(
                f"{named.type} doesn't match the current accelerator {accelerators.kind}. It was "
                f"named as {named}."
            )
        where = named.index
    kind = accelerators.kind
    index = accelerators.current[kind] if where is None or where == -1 else int(where)
    if index < 0:
        raise RuntimeError(f"Device index must not be negative, but got {index}")
    accelerator(first(kind) + index)
    return first(kind) + index


def set_current(device: object) -> None:
    """Makes an accelerator the one that is meant by no number; negative numbers change nothing."""
    if isinstance(device, int) and device < 0:
        return
    accelerators.current[accelerators.kind] = number_of(device) % OF_A_KIND


def synchronize(device: object = None) -> None:
    """Waits until a device has done all that it was asked for."""
    accelerator(number_of(device)).synchronize()


def wait(device: object = None) -> None:
    """The same where there is an accelerator; else nothing."""
    if available():
        synchronize(device)


# ---- memory


def _counts(device: object) -> tuple[int, int, int, int, int]:
    found: tuple[int, int, int, int, int] = _core.accelerator_counts(number_of(device))
    return found


def memory_allocated(device: object = None) -> int:
    """The bytes that tensors have on a device."""
    return _counts(device)[0]


def max_memory_allocated(device: object = None) -> int:
    """The most bytes that tensors had on a device."""
    return _counts(device)[1]


def memory_reserved(device: object = None) -> int:
    """The bytes of the tensors on a device, and of the memory kept for later tensors."""
    return _counts(device)[2]


def max_memory_reserved(device: object = None) -> int:
    """The most bytes that tensors had or that were kept on a device."""
    return _counts(device)[3]


def memory_stats(device: object = None) -> OrderedDict[str, Any]:
    """The same numbers by PyTorch's names."""
    now, most, kept, most_kept, calls = _counts(device)
    return OrderedDict(
        {
            "allocated_bytes.all.current": now,
            "allocated_bytes.all.peak": most,
            "allocation.all.allocated": calls,
            "reserved_bytes.all.current": kept,
            "reserved_bytes.all.peak": most_kept,
        }
    )


def memory_info(device: object = None) -> tuple[int, int]:
    """The bytes of a device that are free, as far as this process knows, and all of them."""
    from .._devices.accelerators import numbered

    number = number_of(device)
    total = numbered(number).facts.total_memory
    return max(total - _core.accelerator_counts(number)[2], 0), total


def reset_peak(device: object = None) -> None:
    """The most so far is counted anew."""
    _core.accelerator_reset_most(number_of(device))


def reset_accumulated(device: object = None) -> None:
    """Accepted: no number grows for ever but that of allocations."""
    number_of(device)


def empty_cache() -> None:
    """Give the memory that is kept for later back to the devices."""
    for index in range(count()):
        _core.accelerator_give_back(number_of(index))


# ---- streams


class Stream(_absent_device.Stream):
    """A name for a device's queue."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        number = number_of(device)
        super().__init__(accelerated(number), priority)
        self.device_index, self.stream_id, self.cuda_stream = number, 0, 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.device_index == other.device_index

    def __hash__(self) -> int:
        return hash(self.device_index)


@cache
def _stream(number: int) -> Stream:
    return Stream(number)


def current_stream(device: object = None) -> Stream:
    """The stream of a device."""
    return _stream(number_of(device))


def set_stream(stream: Any) -> None:
    """Makes a stream's device the current one."""
    if stream is not None:
        set_current(stream.device)


class DeviceContext:
    """A block in which an accelerator is the current one; None and negative numbers change
    nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = device.get_device() if isinstance(device, Tensor) else device
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = accelerators.current[accelerators.kind]
        if self.idx is not None:
            set_current(self.idx)

    def __exit__(self, *exc: object) -> None:
        accelerators.current[accelerators.kind] = self.prev_idx


# ---- as CUDA's


class Properties:
    """The facts of a device. It has no compute capability: that is 0.0."""

    def __init__(self, number: int) -> None:
        from .._devices.accelerators import numbered

        facts = numbered(number).facts
        self.name, self.total_memory = facts.name, facts.total_memory
        self.major = self.minor = 0
        self.multi_processor_count = 1
        self.max_threads_per_block = facts.largest_group
        self.is_integrated = int(facts.is_cpu)

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major=0, minor=0, "
            f"total_memory={self.total_memory >> 20}MB)"
        )


def _name(device: object = None) -> str:
    return str(_properties(device).name)


def _properties(device: object = None) -> Properties:
    return Properties(number_of(device))


def _generator(device: object = None) -> Any:
    from .._devices.generator import place_of

    number = number_of(device)
    place_of(None, number)  # makes it
    from .._devices import generator as _generator

    return _generator._there[number]


def _generators() -> list[Any]:
    return [_generator(number) for number in range(count())]


def _seed_all(seed: int) -> None:
    for generator in _generators():
        generator.manual_seed(seed)


def _summary(device: object = None, abbreviated: bool = False) -> str:
    rows = [f"{name:30} {value:16,}" for name, value in memory_stats(device).items()]
    return "\n".join([f"memory of {accelerated(number_of(device))}, in bytes", *rows])


def _nothing(*args: object, **kwargs: object) -> None:
    return None


def _refused(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedError(
            f"torch.{accelerators.kind}.{name} is not there: the device is one of OpenCL."
        )

    return refuse


def answers() -> dict[str, Any]:
    """The functions of `torch.cuda` where accelerators stand for CUDA's devices, and of
    `torch.opencl`."""
    found: dict[str, Any] = {
        "is_available": available,
        "is_initialized": available,
        "is_bf16_supported": lambda including_emulation=True: available(),
        "is_current_stream_capturing": lambda: False,
        "init": _nothing,
        "device_count": count,
        "current_device": lambda: number_of(),
        "set_device": set_current,
        "get_device_name": _name,
        "get_device_properties": _properties,
        "get_device_capability": lambda device=None: (0, 0),
        "can_device_access_peer": lambda device, peer_device: False,
        "synchronize": synchronize,
        "memory_allocated": memory_allocated,
        "max_memory_allocated": max_memory_allocated,
        "memory_reserved": memory_reserved,
        "max_memory_reserved": max_memory_reserved,
        "memory_cached": memory_reserved,
        "max_memory_cached": max_memory_reserved,
        "memory_stats": memory_stats,
        "memory_summary": _summary,
        "mem_get_info": memory_info,
        "reset_peak_memory_stats": reset_peak,
        "reset_max_memory_allocated": reset_peak,
        "reset_max_memory_cached": reset_peak,
        "reset_accumulated_memory_stats": reset_accumulated,
        "empty_cache": empty_cache,
        "manual_seed": lambda seed: _generator().manual_seed(seed) and None,
        "manual_seed_all": _seed_all,
        "seed": lambda: _generator().seed() and None,
        "seed_all": lambda: _seed_all(_generator().seed()),
        "initial_seed": lambda: _generator().initial_seed(),
        "get_rng_state": lambda device=None: _generator(device).get_state(),
        "get_rng_state_all": lambda: [g.get_state() for g in _generators()],
        "set_rng_state": lambda new_state, device=None: (
            _generator(device).set_state(new_state) and None
        ),
        "set_rng_state_all": lambda new_states: (
            [g.set_state(s) for g, s in zip(_generators(), new_states, strict=True)] and None
        ),
        "current_stream": current_stream,
        "default_stream": current_stream,
        "set_stream": set_stream,
        "Stream": Stream,
        "device": DeviceContext,
        "device_of": DeviceContext,
    }
    for name in refused_without("cuda"):
        found.setdefault(name, _refused(name))
    return found
