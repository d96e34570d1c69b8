"""`torch.profiler`: the profiler of the autograd room, with steps and a schedule of them."""

from __future__ import annotations

import enum
import json
import os
import time
from collections.abc import Callable, Iterable
from typing import Any

from ._base.missing import missing_name as _missing_name
from .autograd import profiler as _autograd_profiler
from .autograd.profiler import record_function

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerActivity(enum.Enum):
    """The devices whose calls a profile can name; those of the CPU are recorded.

    >>> torch.profiler.ProfilerActivity.CPU.name
    'CPU'
    """

    CPU = 0
    XPU = 1
    CUDA = 2
    MTIA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """The action of a schedule for a step.

    >>> torch.profiler.ProfilerAction.RECORD_AND_SAVE.value
    3
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> set[ProfilerActivity]:
    """The activities that can be recorded.

    >>> torch.profiler.ProfilerActivity.CPU in torch.profiler.supported_activities()
    True
    """
    return {ProfilerActivity.CPU}


def _default_schedule_fn(_: int) -> ProfilerAction:
    """The schedule by default: every step is recorded."""
    return ProfilerAction.RECORD


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """Steps to wait, to warm up and to record, again and again (`repeat` times, 0: always).

    >>> plan = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    assert wait >= 0
    assert warmup >= 0
    assert active > 0
    assert repeat >= 0
    assert skip_first >= 0, "Invalid profiler schedule arguments"

    def action(step: int) -> ProfilerAction:
        assert step >= 0
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:  # the first round does not wait
            step += wait
        length = wait + warmup + active
        if repeat and step >= repeat * length:
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(
    dir_name: str,
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[Any], None]:
    """An `on_trace_ready` that writes each trace into a folder, compressed with `use_gzip`.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ready = torch.profiler.tensorboard_trace_handler(folder)
    ...     with torch.profiler.profile(on_trace_ready=ready):
    ...         y = torch.ones(2) + 1
    ...     len(os.listdir(folder))
    1
    """

    def write(prof: Any) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"worker_{os.getpid()}"
        ending = ".gz" if use_gzip else ""
        name = f"{worker}.{time.time_ns()}.pt.trace.json{ending}"
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return write


class profile:
    """Inside the block, operations are timed, in the steps that `schedule` says.

    >>> x = torch.ones(3)
    >>> with torch.profiler.profile() as prof:
    ...     y = x.sin()
    >>> "aten::sin" in [e.key for e in prof.key_averages()]
    True
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: object = None,
        execution_trace_observer: object = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: object = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        self._plan = schedule
        self._ready = on_trace_ready
        self._options: dict[str, Any] = {
            "record_shapes": record_shapes,
            "profile_memory": profile_memory,
            "with_stack": with_stack,
        }
        self.step_num: int = 0
        self.profiler: Any = None
        self._open = False

    def _action(self) -> ProfilerAction:
        return ProfilerAction.RECORD if self._plan is None else self._plan(self.step_num)

    def start(self) -> None:
        """Begin, as entering the block does."""
        if self._action() in _RECORDING:
            self._begin()

    def _begin(self) -> None:
        self.profiler = _autograd_profiler.profile(**self._options)
        self.profiler.__enter__()
        self._open = True

    def _end(self) -> None:
        if self._open:
            self._open = False
            self.profiler.__exit__(None, None, None)
            if self._ready is not None:
                self._ready(self)

    def stop(self) -> None:
        """End, as leaving the block does."""
        self._end()

    def step(self) -> None:
        """The next step of the program begins."""
        before = self._action()
        self.step_num += 1
        after = self._action()
        if self._open and (before is ProfilerAction.RECORD_AND_SAVE or after not in _RECORDING):
            self._end()
        if not self._open and after in _RECORDING:
            self._begin()

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def _found(self) -> Any:
        if self.profiler is None:
            raise AssertionError("the profiler has recorded nothing: no step was active")
        return self.profiler

    def events(self) -> Any:
        """The events, in order."""
        return self._found()._events()

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> Any:
        """One entry for each operation."""
        return self._found().key_averages(group_by_input_shape, group_by_stack_n)

    def export_chrome_trace(self, path: str) -> None:
        """Write a trace file for chrome://tracing or Perfetto."""
        self._found().export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the times of stacks for `flamegraph.pl` and speedscope; needs `with_stack`."""
        self._found().export_stacks(path, metric)

    def export_memory_timeline(self, path: str, device: str | None = None) -> None:
        """Write the bytes in use over time as JSON: microseconds, and a list of bytes for each;
        needs `profile_memory`."""
        if not self._options["profile_memory"]:
            raise AssertionError("export_memory_timeline() requires profile_memory=True")
        ends = sorted((run.stop, run.allocated) for run in self._found().records.runs)
        with open(path, "w", encoding="utf-8") as file:
            json.dump([[stop / 1000 for stop, _ in ends], [[used] for _, used in ends]], file)


__getattr__ = _missing_name(__name__)
