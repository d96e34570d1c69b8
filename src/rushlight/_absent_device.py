"""The modules of devices that are not here (torch.cuda, torch.xpu, torch.mps): one set of answers.

What asks, or asks for nothing to be done, answers: not available, no devices, 0 bytes. What needs
the device raises as PyTorch built without it does. Streams and events exist and do nothing, since
on the CPU every call has ended when it returns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NoReturn

from ._core import Tensor
from ._device import accelerators
from ._late import late

__all__ = ["REFUSED", "DeviceContext", "DeviceEvent", "Event", "Stream", "StreamContext", "answers"]


def _wait(device: Any = None) -> None:
    """Waits for an accelerator, where one is used."""
    if accelerators.wanted and getattr(device, "type", "") != "cpu" and device != "cpu":
        late.accelerator_wait(device)


class Stream:
    """An order of calls; on the CPU each call has ended when it returns. Accelerators have one."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        self.device, self.priority = device, priority

    def synchronize(self) -> None:
        """Waits until all that was asked for is done."""
        _wait(self.device)

    def query(self) -> bool:
        """True, when everything has ended."""
        self.synchronize()
        return True

    def wait_stream(self, stream: Any) -> None:
        """Nothing to wait for."""

    def wait_event(self, event: Any) -> None:
        """Nothing to wait for."""

    def record_event(self, event: Event | None = None) -> Event:
        """An event of now."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        pass


class Event:
    """A point in time.

    >>> torch.Event(enable_timing=True).query()
    True
    """

    def __init__(
        self,
        device: Any = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> None:
        self.device = device
        self._time: float | None = None

    def record(self, stream: Any = None) -> None:
        """Note the time at which all before has ended."""
        _wait(self.device if stream is None else stream.device)
        self._time = time.perf_counter()

    def wait(self, stream: Any = None) -> None:
        """Nothing to wait for."""

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def query(self) -> bool:
        """True: everything has ended."""
        return True

    def elapsed_time(self, end_event: Event) -> float:
        """The milliseconds to another event.

        Raises ValueError where one of the two was not recorded.
        """
        if self._time is None or end_event._time is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event._time - self._time) * 1e3


class DeviceEvent(Event):
    """A point in time, as the module of one device makes it."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        super().__init__(enable_timing=enable_timing)


class StreamContext:
    """A block whose calls would be on a stream."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


# The names by their answer.
_FALSE = """is_available is_initialized is_tf32_supported is_bf16_supported
is_current_stream_capturing""".split()
_ZERO = """device_count memory_allocated max_memory_allocated memory_reserved max_memory_reserved
memory_cached max_memory_cached host_memory_allocated""".split()
_NOTHING = """manual_seed manual_seed_all seed seed_all empty_cache ipc_collect set_stream
reset_peak_memory_stats reset_accumulated_memory_stats reset_max_memory_allocated
reset_max_memory_cached set_rng_state_all set_sync_debug_mode""".split()
_EMPTY: dict[str, Callable[[], Any]] = {
    "get_arch_list": list,
    "get_rng_state_all": list,
    "memory_stats": dict,
    "memory_stats_as_nested_dict": dict,
    "memory_snapshot": list,
}
REFUSED = """current_device current_stream default_stream get_device_name get_device_capability
get_device_properties init set_device synchronize get_rng_state set_rng_state initial_seed
mem_get_info memory_summary utilization can_device_access_peer set_per_process_memory_fraction
get_sync_debug_mode get_stream_from_external current_blas_handle memory_usage temperature power_draw
clock_rate graph_pool_handle make_graphed_callables cudart list_gpu_processes""".split()


def answers(module: str, refusal: str) -> dict[str, Any]:
    """The functions of the module of a device that is not here ("cuda").

    refusal: what a call that needs the device says.
    """

    def named(name: str, function: Callable[..., Any], doc: str) -> None:
        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"{doc}: there is no such device here."
        found[name] = function

    def giving(make: Callable[[], Any]) -> Callable[..., Any]:
        return lambda *args, **kwargs: make()

    def refusing() -> Callable[..., NoReturn]:
        def refuse(*args: Any, **kwargs: Any) -> NoReturn:
            raise AssertionError(
                f"{refusal}. rushlight computes on the CPU only: ask torch.{module}.is_available() "
                "first."
            )

        return refuse

    found: dict[str, Any] = {"Stream": Stream, "Event": DeviceEvent, "StreamContext": StreamContext}
    for name in _FALSE:
        named(name, giving(lambda: False), "False")
    for name in _ZERO:
        named(name, giving(lambda: 0), "0")
    for name in _NOTHING:
        named(name, giving(lambda: None), "Accepted")
    for name, make in _EMPTY.items():
        named(name, giving(make), "Empty")
    for name in REFUSED:
        named(name, refusing(), "Refused")
    for name in ("CUDAGraph", "MemPool", "graph", "ExternalStream"):  # also in annotations
        doc = "Refused: there is no such device here."
        found[name] = type(name, (), {"__init__": refusing(), "__doc__": doc})
    found["stream"] = StreamContext
    found["default_generators"] = ()
    return found


class DeviceContext:
    """A block in which a device would be the current one; with none it changes nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = device.get_device() if isinstance(device, Tensor) else device

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        return None
