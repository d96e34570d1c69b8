"""How long each operation takes: `profile`, `record_function`, and a table of averages.

Events are the runs that `_records` has, under PyTorch's names. An event's children are the events
that ran inside it; "self" time, and memory, is without theirs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import wraps
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from .. import _core
from .._base.late import late
from .._base.missing import missing_name as _missing_name

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "profile", "record_function"]

_MOST = 10**8  # runs: all
_active: list[profile] = []


class _Times:
    """The base of events and of averages of events: times as text, and zeros for numbers that are
    not measured here (other devices)."""

    device_time: float
    device_time_total: float
    self_device_time_total: float

    cpu_time: float
    cpu_time_total: float
    self_cpu_time_total: float
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0
    device_time = device_time_total = self_device_time_total = 0.0
    is_async = is_remote = is_legacy = False
    flops = 0

    @property
    def cpu_time_str(self) -> str:
        """`cpu_time` with its unit."""
        return _time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        """`cpu_time_total` with its unit."""
        return _time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """`self_cpu_time_total` with its unit."""
        return _time(self.self_cpu_time_total)


def _of_device(name: str) -> str:
    """Times by their older names: those of "cuda" are of any device."""
    return name.replace("cuda", "device")


class Interval:
    """From when to when, in microseconds."""

    end: float
    start: float

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """How long."""
        return self.end - self.start


class FunctionEvent(_Times):
    """A call: name, times (microseconds), thread and shapes.

    >>> with torch.autograd.profiler.profile() as prof:
    ...     y = torch.ones(3).exp()
    >>> event = next(e for e in prof.function_events if e.name == "aten::exp")
    >>> event.cpu_time_total > 0
    True
    """

    input_shapes: list[Any]
    key: str
    start_ns: int
    stop_ns: int
    thread: int

    count = 1
    id = 0

    def __init__(
        self,
        name: str,
        start: int,
        stop: int,
        thread: int,
        shapes: list[Any],
        stack: tuple[str, ...] = (),
        memory: int = 0,
        number: int = -1,
    ) -> None:
        self.name = self.key = name
        self.start_ns, self.stop_ns = start, stop
        self.thread, self.input_shapes = thread, shapes
        self.stack: list[str] = list(stack)
        self.cpu_memory_usage = memory
        self.sequence_nr: int = number
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []

    @property
    def time_range(self) -> Interval:
        """When it ran."""
        return Interval(self.start_ns / 1000, self.stop_ns / 1000)

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """Microseconds, with the events inside."""
        return (self.stop_ns - self.start_ns) / 1000

    cpu_time = cpu_time_total

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """Microseconds, without the events inside."""
        return self.cpu_time_total - sum(c.cpu_time_total for c in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:  # type: ignore[override]
        """Bytes by which memory grew, without the events inside."""
        return self.cpu_memory_usage - sum(c.cpu_memory_usage for c in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent {self.name} cpu_time={_time(self.cpu_time_total)} "
            f"thread={self.thread}>"
        )


class FunctionEventAvg(_Times):
    """All events of one name together.

    >>> with torch.autograd.profiler.profile() as prof:
    ...     y = torch.ones(3).exp().exp()
    >>> average = next(e for e in prof.key_averages() if e.key == "aten::exp")
    >>> average.count, average.cpu_time_total >= average.cpu_time
    (2, True)
    """

    count: int
    cpu_time_total: float
    key: str
    self_cpu_time_total: float

    def __init__(self, key: str) -> None:
        self.key, self.count = key, 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.input_shapes: Any = None
        self.stack: list[str] = []

    def add(self, event: FunctionEvent) -> None:
        """Count one more event."""
        self.count += 1
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total
        self.cpu_memory_usage += event.cpu_memory_usage
        self.self_cpu_memory_usage += event.self_cpu_memory_usage

    @property
    def cpu_time(self) -> float:  # type: ignore[override]
        """Microseconds a call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={_time(self.self_cpu_time_total)} "
            f"cpu_time={_time(self.cpu_time)} >"
        )


def _time(us: float) -> str:
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    if us >= 1e3:
        return f"{us / 1e3:.3f}ms"
    return f"{us:.3f}us"


def _size(count: int) -> str:
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(count) >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} B"


def _formatter(unit: str | None) -> Callable[[float], str]:
    if unit is None:
        return _time
    sizes = {"s": 1e6, "ms": 1e3, "us": 1.0}
    if unit not in sizes:
        raise AssertionError(f"Unsupported time_unit: {unit!r}, expected one of {sorted(sizes)}")
    return lambda us: f"{us / sizes[unit]:.3f}{unit}"


if TYPE_CHECKING:
    _Events = list[Any]
else:  # no __orig_bases__, by which libraries of types tell a generic class
    _Events = list


class EventList(_Events):
    """Events, or averages of events, and their table.

    >>> with torch.autograd.profiler.profile() as prof:
    ...     y = torch.ones(3).exp().exp()
    >>> [(e.key, e.count) for e in prof.key_averages() if e.key == "aten::exp"]
    [('aten::exp', 2)]
    """

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of all self times, in microseconds."""
        return float(sum(e.self_cpu_time_total for e in self))

    def total_average(self) -> FunctionEventAvg:
        """All events as one."""
        total = FunctionEventAvg("Total")
        for e in self:
            total.add(e)
        return total

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """One entry for each name (and input shapes, and innermost places, when asked for)."""
        found: dict[Any, FunctionEventAvg] = {}
        for e in self:
            stack = e.stack[:group_by_stack_n]
            key = (e.name, str(e.input_shapes) if group_by_input_shapes else "", *stack)
            if key not in found:
                found[key] = FunctionEventAvg(e.name)
                found[key].input_shapes = e.input_shapes if group_by_input_shapes else None
                found[key].stack = stack
            found[key].add(e)
        return EventList(found.values())

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as text, sorted by an attribute such as "self_cpu_time_total" or "count".

        time_unit: "s", "ms" or "us", for all times alike.
        """
        _time = _formatter(time_unit)
        rows: list[Any] = list(self)
        if top_level_events_only:
            rows = [e for e in rows if getattr(e, "cpu_parent", None) is None]
        if sort_by is not None:
            rows.sort(key=attrgetter(_of_device(sort_by)), reverse=True)
        total = sum(e.self_cpu_time_total for e in rows) or 1.0
        everything = sum(e.cpu_time_total for e in rows if getattr(e, "cpu_parent", None) is None)
        everything = everything if rows and isinstance(rows[0], FunctionEvent) else total
        titles = "Name|Self CPU %|Self CPU|CPU total %|CPU total|CPU time avg|# of Calls".split("|")
        lines = [
            [
                e.key
                if len(e.key) <= max_name_column_width
                else e.key[: max_name_column_width - 3] + "...",
                f"{100 * e.self_cpu_time_total / total:.2f}%",
                _time(e.self_cpu_time_total),
                f"{100 * e.cpu_time_total / (everything or 1.0):.2f}%",
                _time(e.cpu_time_total),
                _time(e.cpu_time),
                str(e.count),
            ]
            for e in rows[: row_limit if row_limit >= 0 else None]
        ]
        if any(e.cpu_memory_usage for e in rows):
            titles += ["CPU Mem", "Self CPU Mem"]
            for line, e in zip(lines, rows, strict=False):
                line += [_size(e.cpu_memory_usage), _size(e.self_cpu_memory_usage)]
        if any(e.stack for e in rows):
            titles.append("Source Location")
            for line, e in zip(lines, rows, strict=False):
                line.append((e.stack or [""])[0][-max_src_column_width:])
        if any(e.input_shapes for e in rows):
            titles.append("Input Shapes")
            for line, e in zip(lines, rows, strict=False):
                line.append(str(e.input_shapes or [])[:max_shapes_column_width])
        widths = [max(len(r[i]) for r in [titles, *lines]) for i in range(len(titles))]
        rule = "  ".join("-" * w for w in widths)
        text = [*([header] if header else []), rule]
        text += ["  ".join(c.rjust(w) for c, w in zip(titles, widths, strict=True)), rule]
        text += ["  ".join(c.rjust(w) for c, w in zip(line, widths, strict=True)) for line in lines]
        return "\n".join(
            [*text, rule, f"Self CPU time total: {_time(self.self_cpu_time_total)}", ""]
        )

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as a trace that chrome://tracing and Perfetto show."""
        events = [
            {
                "name": e.name,
                "ph": "X",
                "cat": "cpu_op",
                "ts": e.start_ns / 1000,
                "dur": e.cpu_time_total,
                "tid": e.thread,
                "pid": "CPU functions",
                "args": {},
            }
            for e in self
        ]
        import gzip  # here alone: not part of what every program imports

        text = json.dumps({"traceEvents": events})
        with (gzip.open if str(path).endswith(".gz") else open)(
            path, "wt", encoding="utf-8"
        ) as file:
            file.write(text)

    def __str__(self) -> str:
        return self.table()


def _arrange(events: list[FunctionEvent]) -> EventList:
    """Orders by start and sets the parent: the innermost event around, in the same thread."""
    ordered = sorted(events, key=lambda e: (e.start_ns, -e.stop_ns))
    stacks: dict[int, list[FunctionEvent]] = {}
    for e in ordered:
        stack = stacks.setdefault(e.thread, [])
        while stack and stack[-1].stop_ns < e.stop_ns:
            stack.pop()
        if stack:
            e.cpu_parent = stack[-1]
            stack[-1].cpu_children.append(e)
        stack.append(e)
    for number, e in enumerate(ordered):
        e.id = number
    return EventList(ordered)


class profile:
    """Inside the block, every operation is timed.

    >>> x = torch.ones(3)
    >>> with torch.autograd.profiler.profile() as prof:
    ...     y = x.sin().sum()
    >>> {"aten::sin", "aten::sum"} <= {e.key for e in prof.key_averages()}
    True
    """

    enabled: bool
    record_shapes: bool

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Any = None,
        post_processing_timeout_s: float | None = None,
        activity_filters: object = None,
    ) -> None:
        self.enabled, self.record_shapes = enabled, record_shapes
        self.profile_memory: bool = profile_memory
        self.with_stack: bool = with_stack
        self.records: Any = None  # what the events are made of
        self.function_events: EventList | None = None
        self.entered: bool = False

    def __enter__(self) -> profile:
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        if self.enabled:
            _active.append(self)
            self._taken = late.records_taken(_MOST, True)
            self._taken.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        if not self.enabled:
            return
        if self in _active:  # `_disable_profiler` may have ended it
            _active.remove(self)
        self._taken.__exit__(*exc)
        self.records = records = self._taken.records
        self.function_events = _arrange(
            [
                FunctionEvent(
                    name,
                    run.start,
                    run.stop,
                    thread,
                    json.loads(f"[{run.arguments}]") if self.record_shapes else [],
                    run.spot.stack if self.with_stack else (),
                    run.bytes if self.profile_memory else 0,
                    run.number,
                )
                for name, run, thread in (records.events() if records is not None else ())
            ]
        )

    def _events(self) -> EventList:
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self.function_events

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """One entry for each operation."""
        return self._events().key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> FunctionEventAvg:
        """All events as one."""
        return self._events().total_average()

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """The events, one line each."""
        options = {name: value for name, value in locals().items() if name != "self"}
        return self._events().table(**options)

    def export_chrome_trace(
        self, path: str, metadata: Any = None, use_python_export: bool = False
    ) -> None:
        """Write a trace file for chrome://tracing or Perfetto."""
        self._events()
        self.records.write_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the times of stacks, for `flamegraph.pl` and speedscope; needs `with_stack`.

        >>> with torch.autograd.profiler.profile(with_stack=True) as prof:
        ...     y = torch.ones(3).exp()
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     prof.export_stacks(os.path.join(folder, "stacks.txt"))
        ...     os.listdir(folder)
        ['stacks.txt']
        """
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        sums: Counter[str] = Counter()
        for event in self._events():
            if event.stack:
                sums[";".join(reversed(event.stack))] += int(getattr(event, _of_device(metric)))
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{stack} {total}\n" for stack, total in sums.items() if total > 0)

    @property
    def self_cpu_time_total(self) -> float:
        """The time spent in operations, in microseconds."""
        return self._events().self_cpu_time_total

    def __repr__(self) -> str:
        return (
            "<unfinished torch.autograd.profile>"
            if self.function_events is None
            else repr(self._events())
        )

    def __str__(self) -> str:
        return repr(self) if self.function_events is None else str(self._events())


class record_function:
    """A named range in the profile: a context manager or a decorator.

    >>> with torch.autograd.profiler.profile() as prof:
    ...     with torch.autograd.profiler.record_function("my part"):
    ...         y = torch.ones(3).exp()
    >>> "my part" in [e.key for e in prof.key_averages()]
    True
    """

    args: str | None
    name: str

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args

    def __enter__(self) -> record_function:
        self._start = _core.record_enter(self.name)
        return self

    def __exit__(self, *exc: object) -> None:
        _core.record_leave(self._start)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def wrapper(*args: object, **kwargs: object) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return wrapper


def _profiler_enabled() -> bool:
    """Whether a `profile` is active."""
    return bool(_active)


def _disable_profiler() -> None:
    """End every `profile` that is active."""
    for active in reversed(list(_active)):
        active.__exit__(None, None, None)


__getattr__ = _missing_name(__name__)
