"""The answers of accelerators to programs: `torch.accelerator`, `torch.opencl`, and `torch.cuda`
where there are devices of CUDA, or OpenCL's stand for them.

There is one queue for each device, in which calls run one after the other. Streams are names for
the queue, and work of one stream never overtakes work of another. An event of CUDA's is a mark in
the queue; one of OpenCL's waits for all before.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count as numbers_from
from typing import Any, ClassVar, NoReturn

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
    "Answers",
    "DeviceContext",
    "Event",
    "Properties",
    "Stream",
    "StreamContext",
    "answers",
    "general",
    "of_kind",
    "wait",
]


class _Current(threading.local):
    """The streams that a thread has chosen, by the numbers of their devices."""

    def __init__(self) -> None:
        self.streams: dict[int, Stream] = {}


_current = _Current()


class Answers:
    """The answers of the accelerators of a kind. None is the kind that is meant where none is
    named: OpenCL's devices are of that only once the program has named one."""

    stream_type: type[Stream]
    event_type: type[_absent_device.Event]
    device_context: type[DeviceContext]
    stream_context: type[StreamContext]

    def __init__(self, kind: str | None) -> None:
        self._kind = kind
        self._default_streams: dict[int, Stream] = {}
        self._sync_mode: int | str = 0
        own = {"_of": self}
        self.stream_type = type("Stream", (Stream,), own)
        self.device_context = type("DeviceContext", (DeviceContext,), own)
        self.stream_context = type("StreamContext", (StreamContext,), own)
        of_driver = kind == "cuda" and first("cuda") > 0
        self.event_type = type("Event", (Event if of_driver else _WaitingEvent,), own)

    @property
    def kind(self) -> str:
        """The kind that is meant: "opencl" or "cuda"."""
        return self._kind or accelerators.kind

    # ---- devices

    def count(self) -> int:
        """How many there are."""
        if self._kind is None and not accelerators.wanted and not cuda_is_here():
            return 0
        from .._devices.accelerators import count

        return count(self.kind)

    def available(self) -> bool:
        """Whether there is one."""
        return self.count() > 0

    def initialized(self) -> bool:
        """Whether the driver's library is in use."""
        from .._devices.accelerators import in_use

        return first(self.kind) in in_use

    def number_of(self, where: Any = None) -> int:
        """The core's number of what a device, an int or None (the current one) means; an error
        where that is no accelerator of the kind, or not there."""
        kind = self.kind
        if isinstance(where, DeviceContext):
            where = where.idx
        if isinstance(where, (str, Device)):
            named = Device(where)
            if not is_accelerator(named.type) or first(named.type) != first(kind):
                raise ValueError(
                    f"{named.type} doesn't match the current accelerator {kind}. It was named as "
                    f"{named}."
                    if self._kind is None
                    else f"Expected a {kind} device, but got: {named}"
                )
            where = named.index
        index = accelerators.current[kind] if where is None or where == -1 else int(where)
        if index < 0:
            raise RuntimeError(f"Device index must not be negative, but got {index}")
        accelerator(first(kind) + index)
        return first(kind) + index

    def index_of(self, where: Any = None) -> int:
        """The same as programs count: among the devices of the kind."""
        return self.number_of(where) % OF_A_KIND

    def set_current(self, device: object) -> None:
        """Makes one the device that is meant by no number; negative numbers change nothing."""
        if isinstance(device, int) and device < 0:
            return
        accelerators.current[self.kind] = self.index_of(device)

    def synchronize(self, device: object = None) -> None:
        """Waits until a device has done all that it was asked for."""
        accelerator(self.number_of(device)).synchronize()

    def _facts(self, device: object = None) -> Any:
        from .._devices.accelerators import numbered

        return numbered(self.number_of(device)).facts

    def name(self, device: object = None) -> str:
        """The name that the driver gives a device."""
        return str(self._facts(device).name)

    def properties(self, device: object = None) -> Properties:
        """The facts of a device."""
        return Properties(self.number_of(device))

    def capability(self, device: object = None) -> tuple[int, int]:
        """The version of a device's instructions; (0, 0) of OpenCL's."""
        found: tuple[int, int] = self._facts(device).capability
        return found

    def architectures(self) -> list[str]:
        """The architectures that kernels are compiled for: those of the devices that are here."""
        found = {self.capability(index) for index in range(self.count())}
        return [f"sm_{major}{minor}" for major, minor in sorted(found) if major]

    def has_bfloat16(self, including_emulation: bool = True) -> bool:
        """Whether a device has bfloat16: as instructions, or as a type of elements."""
        return self.available() and (including_emulation or self.capability() >= (8, 0))

    def has_tf32(self) -> bool:
        """Whether a device has products of TF32."""
        return self.available() and self.capability() >= (8, 0)

    def is_capturing(self) -> bool:
        """Whether the current device's calls go into a graph."""
        return _core.accelerator_is_capturing(first(self.kind) + accelerators.current[self.kind])

    # ---- memory

    def _counts(self, device: object) -> tuple[int, ...]:
        found: tuple[int, ...] = _core.accelerator_counts(self.number_of(device))
        return found

    def memory_allocated(self, device: object = None) -> int:
        """The bytes that tensors have on a device."""
        return self._counts(device)[0]

    def max_memory_allocated(self, device: object = None) -> int:
        """The most bytes that tensors had on a device."""
        return self._counts(device)[1]

    def memory_reserved(self, device: object = None) -> int:
        """The bytes of the tensors on a device, and of the memory kept for later tensors."""
        return self._counts(device)[2]

    def max_memory_reserved(self, device: object = None) -> int:
        """The most bytes that tensors had or that were kept on a device."""
        return self._counts(device)[3]

    def memory_stats(self, device: object = None) -> OrderedDict[str, Any]:
        """The same numbers by PyTorch's names."""
        now, most, kept, most_kept, calls, again, lacks = self._counts(device)
        return OrderedDict(
            {
                "active_bytes.all.current": now,
                "active_bytes.all.peak": most,
                "allocated_bytes.all.current": now,
                "allocated_bytes.all.peak": most,
                "allocation.all.allocated": calls,
                "reserved_bytes.all.current": kept,
                "reserved_bytes.all.peak": most_kept,
                "num_alloc_retries": again,
                "num_ooms": lacks,
            }
        )

    def memory_info(self, device: object = None) -> tuple[int, int]:
        """The bytes of a device that are free, as far as the driver or this process knows, and all
        of them."""
        number = self.number_of(device)
        return _core.accelerator_free_memory(number), self._facts(device).total_memory

    def memory_summary(self, device: object = None, abbreviated: bool = False) -> str:
        """The same numbers as a text."""
        rows = [f"{name:30} {value:16,}" for name, value in self.memory_stats(device).items()]
        return "\n".join([f"memory of {accelerated(self.number_of(device))}, in bytes", *rows])

    def reset_peak(self, device: object = None) -> None:
        """The most so far is counted anew."""
        _core.accelerator_reset_most(self.number_of(device))

    def reset_accumulated(self, device: object = None) -> None:
        """Accepted: no number grows for ever but that of allocations."""
        self.number_of(device)

    def empty_cache(self) -> None:
        """Give the memory that is kept for later back to the devices in use."""
        if self.initialized():
            for index in range(self.count()):
                _core.accelerator_give_back(self.number_of(index))

    # ---- random numbers

    def _generator(self, device: object = None) -> Any:
        from .._devices.generator import default_there

        return default_there(self.number_of(device))

    def _generators(self) -> list[Any]:
        return [self._generator(index) for index in range(self.count())]

    def manual_seed(self, seed: int) -> None:
        """Seeds the generator of the current device."""
        self._generator().manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        """Seeds the generators of all devices."""
        for generator in self._generators():
            generator.manual_seed(seed)

    def seed(self) -> None:
        """Seeds the generator of the current device with a number of the system's entropy."""
        self._generator().seed()

    def seed_all(self) -> None:
        """Seeds the generators of all devices with one such number."""
        self.manual_seed_all(self._generator().seed())

    def initial_seed(self) -> int:
        """The seed of the current device's generator."""
        return int(self._generator().initial_seed())

    def rng_state(self, device: object = None) -> Tensor:
        """The state of a device's generator."""
        state: Tensor = self._generator(device).get_state()
        return state

    def rng_states(self) -> list[Tensor]:
        """The states of all devices' generators."""
        return [generator.get_state() for generator in self._generators()]

    def set_rng_state(self, new_state: Tensor, device: object = None) -> None:
        """A device's generator goes on from a state."""
        self._generator(device).set_state(new_state)

    def set_rng_states(self, new_states: list[Tensor]) -> None:
        """All devices' generators go on from these states."""
        for generator, state in zip(self._generators(), new_states, strict=True):
            generator.set_state(state)

    # ---- streams

    def default_stream(self, device: object = None) -> Stream:
        """The stream that a device has before a program makes one."""
        number = self.number_of(device)
        if number not in self._default_streams:
            self._default_streams[number] = self.stream_type(number % OF_A_KIND, stream_id=0)
        return self._default_streams[number]

    def current_stream(self, device: object = None) -> Stream:
        """The stream of a device that this thread has chosen, or the device's own."""
        return _current.streams.get(self.number_of(device)) or self.default_stream(device)

    def set_stream(self, stream: Any) -> None:
        """Makes a stream this thread's of its device, and the device the current one."""
        if stream is not None:
            self.set_current(stream.device)
            _current.streams[self.number_of(stream.device)] = stream

    def sync_mode(self) -> int | str:
        """The mode that `set_sync_debug_mode` has set."""
        return self._sync_mode

    def set_sync_mode(self, debug_mode: int | str) -> None:
        """Kept, without effect: nobody is told of calls that wait for the device."""
        self._sync_mode = {"default": 0, "warn": 1, "error": 2}.get(str(debug_mode), debug_mode)


_ids = numbers_from(1)


class Stream(_absent_device.Stream):
    """A name for a device's queue: what is asked for on it is done behind all that was before."""

    _of: ClassVar[Answers]

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        number = self._of.number_of(device)
        super().__init__(accelerated(number), priority)
        self.device_index: int = number % OF_A_KIND
        self.stream_id: int = kwargs["stream_id"] if "stream_id" in kwargs else next(_ids)
        self.cuda_stream = self.stream_id

    def synchronize(self) -> None:
        """Waits until all that was asked for is done."""
        self._of.synchronize(self.device)

    def query(self) -> bool:
        """Whether all that was asked for is done; OpenCL's devices are waited for."""
        number = self._of.number_of(self.device)
        return _core.accelerator_is_idle(number) if number >= OF_A_KIND else super().query()

    def wait_stream(self, stream: Any) -> None:
        """Nothing to wait for, but where the other stream is another device's."""
        if stream.device != self.device:
            stream.synchronize()

    def wait_event(self, event: Any) -> None:
        """Nothing to wait for, but where the event is another device's."""
        event.wait(self)

    def record_event(self, event: Any = None) -> Any:
        """An event behind all that was asked for."""
        event = self._of.event_type() if event is None else event
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        self._inside = [*getattr(self, "_inside", ()), self._of.stream_context(self)]
        self._inside[-1].__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._inside.pop().__exit__(*exc)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.device, self.stream_id) == (
            other.device,
            other.stream_id,
        )

    def __hash__(self) -> int:
        return hash((self.device, self.stream_id))

    def __repr__(self) -> str:
        return (
            f"<torch.{self._of.kind}.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"
        )


class StreamContext:
    """A block whose calls are on a stream; None changes nothing."""

    _of: ClassVar[Answers]

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self._before: list[Stream] = []

    def __enter__(self) -> None:
        if self.stream is not None:
            self._before = [self._of.current_stream(d) for d in (self.stream.device, None)]
            self._of.set_stream(self.stream)

    def __exit__(self, *exc: object) -> None:
        for stream in self._before:
            self._of.set_stream(stream)


class DeviceContext:
    """A block in which an accelerator is the current one; None and negative numbers change
    nothing."""

    _of: ClassVar[Answers]

    def __init__(self, device: Any) -> None:
        self.idx = device.get_device() if isinstance(device, Tensor) else device
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = accelerators.current[self._of.kind]
        if self.idx is not None:
            self._of.set_current(self.idx)

    def __exit__(self, *exc: object) -> None:
        accelerators.current[self._of.kind] = self.prev_idx


# ---- events


class _WaitingEvent(_absent_device.DeviceEvent):
    """A point in time; recording it waits for the device."""

    _of: ClassVar[Answers]

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        super().__init__(enable_timing, blocking, interprocess)
        self.device = Device(self._of.kind)


class Event(_absent_device.Event):
    """A mark in the queue of a device of CUDA's, made when it is first recorded."""

    _of: ClassVar[Answers]

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        super().__init__(enable_timing=enable_timing)
        self._timed = bool(enable_timing)
        self._mark: Any = None

    def record(self, stream: Any = None) -> None:
        """Put the mark behind all that the device was asked for."""
        number = self._of.number_of(None if stream is None else stream.device)
        where = accelerated(number)
        if self._mark is None:
            self._mark, self.device = _core.accelerator_event(number, self._timed), where
        elif self.device != where:
            raise RuntimeError(
                f"Event device {self.device.index} does not match recording stream's device "
                f"{where.index}."
            )
        _core.accelerator_event_record(self._mark)

    def wait(self, stream: Any = None) -> None:
        """Nothing to wait for, but where the stream is another device's."""
        device = accelerated(self._of.number_of()) if stream is None else stream.device
        if device != self.device:
            self.synchronize()

    def synchronize(self) -> None:
        """Wait until the device has come to the mark."""
        if self._mark is not None:
            _core.accelerator_event_wait(self._mark)

    def query(self) -> bool:
        """Whether the device has come to the mark; True for an event that nobody recorded."""
        return self._mark is None or _core.accelerator_event_is_done(self._mark)

    def elapsed_time(self, end_event: Any) -> float:
        """The milliseconds that the device took from this mark to another.

        Raises where one of the two measures no time, was not recorded, or is not reached.
        """
        if not (self._timed and end_event._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._mark is None or end_event._mark is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (self.query() and end_event.query()):
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        return _core.accelerator_event_milliseconds(self._mark, end_event._mark)

    @property
    def cuda_event(self) -> int:
        """The driver's handle; 0 for an event that nobody recorded."""
        return 0 if self._mark is None else _core.accelerator_event_address(self._mark)

    def __repr__(self) -> str:
        address = self.cuda_event
        return f"<torch.cuda.Event {hex(address) if address else 'uninitialized'}>"


# ---- as CUDA's

_ATTRIBUTES = {
    "shared_memory_per_block": 8,
    "clock_rate": 13,
    "is_integrated": 18,
    "pci_bus_id": 33,
    "pci_device_id": 34,
    "memory_clock_rate": 36,
    "memory_bus_width": 37,
    "L2_cache_size": 38,
    "max_threads_per_multi_processor": 39,
    "pci_domain_id": 50,
    "shared_memory_per_multiprocessor": 81,
    "regs_per_multiprocessor": 82,
    "is_multi_gpu_board": 84,
    "shared_memory_per_block_optin": 97,
}
"""The driver's numbers of what it tells about a device (CU_DEVICE_ATTRIBUTE_...)."""


class Properties:
    """The facts of a device. One of OpenCL's has no compute capability: that is 0.0."""

    def __init__(self, number: int) -> None:
        from .._devices.accelerators import numbered

        facts = numbered(number).facts
        self.name, self.total_memory = facts.name, facts.total_memory
        self.major, self.minor = facts.capability
        self.multi_processor_count = facts.processors
        self.max_threads_per_block = facts.largest_group
        self.warp_size = facts.warp
        self.is_integrated = int(facts.is_cpu)
        self._number = number if number >= OF_A_KIND else None

    def __getattr__(self, name: str) -> int:
        if name not in _ATTRIBUTES or self._number is None:
            raise AttributeError(f"the device's properties have no {name!r}")
        return _core.accelerator_attribute(self._number, _ATTRIBUTES[name])

    def __repr__(self) -> str:
        parts = [
            f"name='{self.name}'",
            f"major={self.major}",
            f"minor={self.minor}",
            f"total_memory={self.total_memory >> 20}MB",
            f"multi_processor_count={self.multi_processor_count}",
        ]
        if self._number is not None:
            parts += [f"{name}={getattr(self, name)}" for name in _ATTRIBUTES if "pci" in name]
            parts.append(f"L2_cache_size={self.L2_cache_size >> 20}MB")
        return f"_CudaDeviceProperties({', '.join(parts)})"


def _refused(kind: str, name: str) -> Callable[..., NoReturn]:
    asked = "CUDA's driver" if first(kind) else "OpenCL"
    reason = f"torch.{kind}.{name} is not there: {asked} is not asked for it."

    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedError(reason)

    return refuse


class Generators(Sequence[Any]):
    """`default_generators`: one of each device of a kind."""

    def __init__(self, of: Answers) -> None:
        self._of = of

    def __len__(self) -> int:
        return self._of.count()

    def __getitem__(self, index: Any) -> Any:
        return self._of._generators()[index]


general: Answers = Answers(None)
of_kind: Callable[[str], Answers] = cache(Answers)


def wait(device: Any = None) -> None:
    """Waits for the device that is meant, where there is one; else does nothing."""
    kind = None if device is None else Device(device).type
    of = of_kind(kind) if kind in ("opencl", "cuda") else general
    if of.available():
        of.synchronize(device)


def answers(kind: str) -> dict[str, Any]:
    """The functions of `torch.cuda` or `torch.opencl`, where there are such devices."""
    of = of_kind(kind)
    found: dict[str, Any] = {
        "is_available": of.available,
        "is_initialized": of.initialized,
        "is_bf16_supported": of.has_bfloat16,
        "is_tf32_supported": of.has_tf32,
        "is_current_stream_capturing": of.is_capturing,
        "init": lambda: of.number_of() and None,
        "device_count": of.count,
        "current_device": lambda: of.index_of(),
        "set_device": of.set_current,
        "get_arch_list": of.architectures,
        "get_device_name": of.name,
        "get_device_properties": of.properties,
        "get_device_capability": of.capability,
        "can_device_access_peer": lambda device, peer_device: False,
        "synchronize": of.synchronize,
        "memory_allocated": of.memory_allocated,
        "max_memory_allocated": of.max_memory_allocated,
        "memory_reserved": of.memory_reserved,
        "max_memory_reserved": of.max_memory_reserved,
        "memory_cached": of.memory_reserved,
        "max_memory_cached": of.max_memory_reserved,
        "memory_stats": of.memory_stats,
        "memory_summary": of.memory_summary,
        "mem_get_info": of.memory_info,
        "reset_peak_memory_stats": of.reset_peak,
        "reset_max_memory_allocated": of.reset_peak,
        "reset_max_memory_cached": of.reset_peak,
        "reset_accumulated_memory_stats": of.reset_accumulated,
        "empty_cache": of.empty_cache,
        "manual_seed": of.manual_seed,
        "manual_seed_all": of.manual_seed_all,
        "seed": of.seed,
        "seed_all": of.seed_all,
        "initial_seed": of.initial_seed,
        "get_rng_state": of.rng_state,
        "get_rng_state_all": of.rng_states,
        "set_rng_state": of.set_rng_state,
        "set_rng_state_all": of.set_rng_states,
        "current_stream": of.current_stream,
        "default_stream": of.default_stream,
        "set_stream": of.set_stream,
        "default_generators": Generators(of),
        "get_sync_debug_mode": of.sync_mode,
        "set_sync_debug_mode": of.set_sync_mode,
        "Stream": of.stream_type,
        "Event": of.event_type,
        "stream": of.stream_context,
        "StreamContext": of.stream_context,
        "device": of.device_context,
        "device_of": of.device_context,
    }
    for name in refused_without("cuda"):
        found.setdefault(name, _refused(kind, name))
    return found
