"""Streams and events of devices that are not here (torch.cuda, torch.xpu, torch.mps), and the CPU.

The rest that their modules have are rows of names.txt: what asks, or asks for nothing to be done,
answers; what needs the device raises as PyTorch built without it does. Streams and events exist and
do nothing, since on the CPU every call has ended when it returns.
"""

from __future__ import annotations

import os
import platform
import time
from typing import Any

from .. import _core
from .._base.device import accelerators
from .._base.late import late
from .._core import Tensor

__all__ = ["DeviceContext", "DeviceEvent", "Event", "Stream", "StreamContext"]


def _wait(device: object = None) -> None:
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


class DeviceContext:
    """A block in which a device would be the current one; with none it changes nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = device.get_device() if isinstance(device, Tensor) else device

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        return None


_current = Stream("cpu")


def _cpu_stream(device: object = None) -> Stream:
    """The one stream of the CPU."""
    return _current


def _cpu_capabilities() -> dict[str, object]:
    """The facts of the processor: its architecture, cores, the level of the kernels in use."""
    return {
        "architecture": platform.machine(),
        "num_logical_cores": os.cpu_count() or 1,
        "kernel_level": _core.isa(),
    }
