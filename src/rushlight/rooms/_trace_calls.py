"""The trace: a line for each call of an op, each node that a backward runs, and each hook in it.

    forward   mul           float32[4], float32[4] -> float32[4]  block function  1.2 us  prog.py:7
    backward  MulBackward0  float32[4] -> float32[4], float32[4]  traced program  0.9 us  prog.py:7
    hook        clip        float32[4] -> float32[4]              of a tensor     5.1 us  prog.py:8
    step        Adam.step                                         optimizer       8.0 us  prog.py:9
    sums        forward 1.2 us of 1, backward 6.0 us of 1, step 8.0 us of 1

`RUSHLIGHT_TRACE=1` and `rushlight run --trace` write to standard error, `RUSHLIGHT_TRACE=PATH`
appends to a file. The columns are: the direction; the op, the node or the hook; its arguments and
results, or the gradients that came in and went out; how they were computed, or the kind of hook;
the time without that of the trace itself (but in a hook or a step); the program's line: of a node
the forward call's, of a hook that of its registration.

The core (native/core/observe.cpp) tells of the start and the end of each call. Calls inside a call
are indented below it, so lines wait until the outermost call of their thread has ended.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Any

from . import _core, _records
from ._base import observers as _observers
from ._base.dtypes import dtype
from ._base.errors import program_frame
from ._base.hook_runs import Hook
from ._base.sources import cell
from ._levels.running import carried

__all__ = [
    "PATHS",
    "WAYS",
    "follow_environment",
    "follow_option",
    "short_path",
    "start",
    "stop",
    "traced",
]

_VARIABLE = "RUSHLIGHT_TRACE"
_Tensor, _Op = _core.Tensor, _core.Op
_Path, _Way, _Flag = _core.Path, _core.Way, _core.Flag
PATHS = {
    _Path.NONE: "-",
    _Path.BLOCK: "block function",
    _Path.MACHINE: "block machine",
    _Path.STRIDED: "strided loop",
    _Path.KERNEL: "kernel",
    _Path.NUMPY: "NumPy reference",
    _Path.FALLBACK: "NumPy fallback",
    _Path.STAND_INS: "shapes only",
    _Path.VIEW: "view",
    _Path.IN_PLACE: "in-place form",
    _Path.OUT: "copied to out",
    _Path.COMPOSITE: "composite",
    _Path.KEPT: "checkpoint",
}
WAYS = {
    _Way.FUSED: "fused kernel",
    _Way.FUSED_NUMPY: "fused NumPy",
    _Way.TRACED: "traced program",
    _Way.PASSED_ON: "passed on",
    _Way.RULE: "Python rule",
    _Way.FUNCTION: "Function",
    _Way.COPY_SLICES: "written view",
    _Way.STORED: "stored",
    _Way.COPIED: "copied",
    _Way.ADDED: "added",
    _Way.CAPTURED: "captured",
    _Way.HOOKS: "hooks",
}
_MOST = 4  # elements of a list that are shown
_LONG = 20  # and characters of a text
_PIPE = 4096  # a pipe takes so much in one piece (PIPE_BUF): lines of processes do not mix


# ---- turning it on and off


class _Target:
    """Where lines go; one for the process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.files: list[int | None] = []  # the innermost last; None: standard error
        self.process = os.getpid()
        self.ranges: _records.StepRanges | None = None


_target = _Target()


def start(path: str | None = None) -> None:
    """Trace all threads from now on: to standard error, or to the end of a file."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    file = None if path is None else os.open(path, flags, 0o666)
    with _target.lock:
        _target.files.append(file)
        _target.process = os.getpid()
        if len(_target.files) == 1:
            _observers.follow(_lines)
            _target.ranges = _records.StepRanges(_lines.enters, _lines.leaves)


def stop() -> None:
    """End what the last `start` began."""
    with _target.lock:
        file = _target.files.pop()
        if not _target.files:
            _observers.unfollow(_lines)
            if _target.ranges is not None:
                _target.ranges.remove()
    if file is not None:
        os.close(file)


@contextmanager
def traced(path: str | None = None) -> Iterator[None]:
    """`start` for a block."""
    start(path)
    try:
        yield
    finally:
        stop()


def follow_environment() -> None:
    """Do what RUSHLIGHT_TRACE says: nothing for "" and 0, 1 for standard error, else a file."""
    wanted = os.environ.get(_VARIABLE, "0")
    if wanted in ("", "0"):
        return
    try:
        start(None if wanted == "1" else wanted)
    except OSError as error:
        _write(f"rushlight: {_VARIABLE}: can't open file {wanted!r}: {error.strerror}\n", None)


def follow_option() -> None:
    """Do the same for `rushlight run --trace`; processes that the program starts do so too."""
    if os.environ.get(_VARIABLE, "0") in ("", "0"):
        os.environ[_VARIABLE] = "1"
        follow_environment()


# ---- what the core tells


class _Running:
    """The calls that run on a thread, and their lines. A backward that goes on in another thread
    shares it."""

    def __init__(self) -> None:
        self.depth = 0
        self.lines: list[_Line] = []
        self.sums: dict[str, list[int]] = {}  # since the last step: nanoseconds, and calls


class _Thread(threading.local):
    def __init__(self) -> None:
        self.running = _Running()


_thread = _Thread()
carried.append(_thread)


class _Line:
    """A call or a node; its columns are known bit by bit."""

    def __init__(self, what: Any, values: tuple[Any, ...], place: tuple[str, int] | None) -> None:
        self.running = _thread.running
        self.depth = self.running.depth
        self.backward = isinstance(what, _core.Node)
        self.direction = "backward" if self.backward else "forward"
        self.name: str = what if isinstance(what, str) else type(what).__name__
        self.took, self.way = 0, ""
        if isinstance(what, Hook):
            self.direction, self.name, self.way = "hook", *what
        if isinstance(what, _records.Phase):
            self.direction, self.way = "step", what.part
            self.name = what.name.partition("#")[2]
        if isinstance(what, _Op):
            self.name = what.__name__
            self.types = _arguments(what, values)
            self.level = _level(values)
        else:
            self.types = _several(values)
            self.level = _level(values[:1])
        self.place = "" if place is None else f"{short_path(place[0])}:{place[1]}"


class _Lines:
    """Writes the calls that the core reports as lines."""

    def starts(self, what: Any, values: tuple[Any, ...], place: tuple[str, int] | None) -> _Line:
        line = _Line(what, values, place)
        line.running.lines.append(line)
        line.running.depth += 1
        return line

    def ran(self, line: _Line, values: Any, error: Any, took: int) -> None:
        line.took = took
        if error is not None:
            line.types += f" -> {error.__name__}"
        elif line.backward and not values:
            line.types += " -> .grad"
        elif values is not None:
            given = values if isinstance(values, (tuple, list)) else (values,)
            line.types += f" -> {_several(given)}"

    def ends(self, line: _Line, path: int, ways: int) -> None:
        if not line.backward:
            line.way = line.way or line.level or PATHS[path]
        else:
            line.way = ", ".join(text for way, text in WAYS.items() if ways & way) or "-"
        running = line.running
        running.depth = line.depth
        if not line.depth:
            lines, running.lines = running.lines, []
            text = "".join(map(_text, lines))
            took, calls = running.sums.get(line.direction, (0, 0))
            running.sums[line.direction] = [took + line.took, calls + 1]
            if line.name.endswith(".step") and line.direction == "step":
                text += _sums(running.sums)
                running.sums = {}
            for file in _target.files[-1:]:  # none where the trace was turned off meanwhile
                _write(text, file)

    def enters(self, phase: _records.Phase) -> tuple[_Line, int]:
        """A step of an optimizer, or its `zero_grad`, begins."""
        frame = program_frame(sys._getframe())[0]
        place = None if frame is None else (frame.f_code.co_filename, frame.f_lineno)
        return self.starts(phase, (), place), perf_counter_ns()

    def leaves(self, began: tuple[_Line, int]) -> None:
        """It ends."""
        self.ran(began[0], None, None, perf_counter_ns() - began[1])
        self.ends(began[0], _Path.NONE, 0)


_lines = _Lines()


def _write(text: str, file: int | None) -> None:
    """Write lines, in pieces that stay whole; a program goes on where nobody can read them."""
    data = text.encode(errors="backslashreplace")
    try:
        if file is None:
            try:
                file = sys.stderr.fileno()
            except (AttributeError, OSError, ValueError):  # closed, or no file: a program's own
                sys.stderr.write(text)
                return
            sys.stderr.flush()
        while data:
            end = len(data) if len(data) <= _PIPE else data.rfind(b"\n", 0, _PIPE) + 1 or len(data)
            data = data[os.write(file, data[:end]) :]
    except (AttributeError, OSError, ValueError):
        pass


# ---- a line as text


def _text(line: _Line) -> str:
    name = "  " * line.depth + line.name
    text = (
        f"{line.direction:<8}  {name:<20}  {line.types:<50}  {line.way:<15}  {_time(line.took):>9}"
    )
    return f"{text}  {line.place}{_whose()}".rstrip() + "\n"


def _sums(sums: dict[str, list[int]]) -> str:
    said = ", ".join(f"{name} {_time(took)} of {calls}" for name, (took, calls) in sums.items())
    return f"{'sums':<8}  {said}\n"


def _time(ns: int) -> str:
    for unit, size in (("us", 1e3), ("ms", 1e6)):
        if ns < 999.5 * size:
            return f"{ns / size:.1f} {unit}"
    return f"{ns / 1e9:.2f} s"


def _whose() -> str:
    """Which process and thread, where it is not the first of each."""
    process, thread = os.getpid(), threading.get_native_id()
    if process != _target.process:
        return f"  process {process}" + (f" thread {thread}" if thread != process else "")
    main = threading.main_thread().native_id
    return f"  thread {thread}" if thread != main else ""


def short_path(path: str) -> str:
    """A file as `import` finds it, or below the current folder; or the cell of a notebook."""
    if name := cell(path):
        return name
    if not os.path.isabs(path):
        return path
    try:
        folders = [os.getcwd(), *sys.path]
    except OSError:
        folders = sys.path
    known = [f.rstrip(os.sep) + os.sep for f in folders if isinstance(f, str) and f]
    return path[max((len(f) for f in known if path.startswith(f)), default=0) :]


def _level(values: Iterable[object]) -> str:
    """Which transform answers a call: that of its youngest level; "" where none does."""
    found = None
    for value in values:
        for t in value if isinstance(value, (list, tuple)) else (value,):
            attached = t._attached if isinstance(t, _Tensor) else None
            if attached is not None and (found is None or attached.level.number > found.number):
                found = attached.level
    return "" if found is None else str(found.name)


def _arguments(op: Any, values: tuple[Any, ...]) -> str:
    """The arguments of a call; None stands for those that have their default."""
    found = []
    for name, value in zip((*op.params, "out"), values, strict=False):
        if value is None:
            continue
        first = value[0] if isinstance(value, (list, tuple)) and value else value
        bare = name in ("input", "other") or (isinstance(first, _Tensor) and name != "out")
        found.append(_value(value) if bare else f"{name}={_value(value)}")
    return ", ".join(found)


def _several(values: Sequence[object]) -> str:
    texts = [_value(v) for v in values[:_MOST]]
    more = len(values) - len(texts)
    return ", ".join([*texts, f"and {more} more"] if more else texts)


def _value(value: Any) -> str:
    """A value in short. Only what is of Python's own types is asked for its `repr`."""
    kind = type(value)
    if isinstance(value, _Tensor):
        return _tensor(value)
    if value is None or kind in (bool, float, complex, type(...)):
        return repr(value)
    if kind is int:
        return str(value) if -(10**30) < value < 10**30 else "int"
    if kind is str:
        return repr(value if len(value) <= _LONG else value[:_LONG] + "...")
    if kind is slice:
        parts = (value.start, value.stop, value.step)[: 2 if value.step is None else 3]
        return ":".join("" if part is None else _value(part) for part in parts)
    if isinstance(value, (tuple, list)):
        return f"[{_several(value)}]"
    if kind is dtype:
        return str(value.name)
    return kind.__name__


def _tensor(t: Any) -> str:
    flags = t._flags()
    words = "batched " if flags & _Flag.TRANSFORMED else "dual " if flags & _Flag.TANGENT else ""
    words += "meta " if t._on_meta else ""
    return f"{words}{t.dtype.name}{list(t.shape)}"
