"""Records of a run, the one source of the profiler's events and of the report of a profile.

The core takes them (native/core/record.cpp): a tree of spots, each of them a call, a node or a
range that ran from one line inside of another spot, with sums; and the first of the runs one by
one. The ranges are told from here, while records are taken: calls of modules, backward passes,
steps of optimizers and their `zero_grad`, batches of loaders; `record_function` tells of its own.
"""

from __future__ import annotations

import os
import threading
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, wraps
from time import monotonic_ns
from typing import Any, NamedTuple

from . import _core
from .autograd import _engine
from .nn import Module
from .optim import Optimizer

__all__ = ["Phase", "Records", "Run", "Spot", "StepRanges", "name_modules", "taken"]

THREAD, OP, WORK, NODE, RANGE = range(5)
"""The kinds of spots, as the core numbers them."""


_PYTORCHS = {
    "_convolution": "convolution _convolution",
    "_convolution_input": "convolution_backward",
    "_convolution_weight": "convolution_backward",
    "_max_pool2d": "max_pool2d max_pool2d_with_indices",
    "_adaptive_avg_pool2d_transpose": "_adaptive_avg_pool2d_backward",
    "_embedding": "embedding",
    "_embedding_transpose": "embedding_backward embedding_dense_backward",
    "_native_batch_norm": "batch_norm _batch_norm_impl_index native_batch_norm",
    "_native_layer_norm": "layer_norm native_layer_norm",
    "_nll_loss": "nll_loss_nd nll_loss nll_loss_forward",
    "_gru_layer": "gru",
    "_split": "split",
    "_contiguous_copy": "contiguous clone",
}
"""The names of PyTorch's calls, the outermost first, for ops that no program calls by name."""


class Phase(NamedTuple):
    """A range that the library runs: its part of a training step, and PyTorch's name for it."""

    part: str
    name: str


@dataclass(eq=False)
class Spot:
    """All runs of a thing from a line inside of another spot; times in nanoseconds."""

    parent: Spot | None
    kind: int
    what: Any
    file: str
    line: int
    maker: Spot | None  # of a node: the call that made it
    runs: int
    ns: int
    bytes: int
    most: int
    paths: int
    ways: int
    thread: threading.Thread | None = None
    children: list[Spot] = field(default_factory=list)
    path: tuple[str, ...] = ()  # the names of the modules around, and its own

    @property
    def module(self) -> str:
        """The innermost module around, as `net.blocks.0`: a name in the outermost."""
        return ".".join(self.path if len(self.path) < 2 else (self.path[0], self.path[-1]))

    @property
    def self_ns(self) -> int:
        """Without the spots inside."""
        return self.ns - sum(child.ns for child in self.children)

    @property
    def self_bytes(self) -> int:
        """The growth of memory, without that of the spots inside."""
        return self.bytes - sum(child.bytes for child in self.children)

    @property
    def is_module(self) -> bool:
        """Whether it is calls of a module."""
        return isinstance(self.what, Module)

    @property
    def name(self) -> str:
        """As PyTorch's profiler names it."""
        if self.kind in (OP, WORK):
            return self.names[0]
        if self.kind == NODE:
            leaf = issubclass(self.what, _core.AccumulateGrad)
            return f"{'torch::autograd::' * leaf}{self.what.__name__}"
        if isinstance(self.what, Module):
            return f"nn.Module: {type(self.what).__name__}"
        return self.what.name if isinstance(self.what, Phase) else str(self.what)

    @property
    def names(self) -> list[str]:
        """Of a call, the names of the calls that PyTorch makes for it, the outermost first."""
        name = str(self.what.__name__ if self.kind == OP else self.what)
        if name == "_convolution_input" and all(spot.kind != NODE for spot in self.above()):
            name = "_convolution"  # the forward of a transposed one
        return [f"aten::{each}" for each in _PYTORCHS.get(name, name).split()]

    @property
    def stack(self) -> tuple[str, ...]:
        """The program's lines that led to it, and the modules, the innermost first."""
        found: list[str] = []
        for spot in self.above():
            found += [spot.name] * spot.is_module
            place = f"{spot.file}({spot.line})"
            if spot.file and place not in found[-1:]:
                found.append(place)
        return tuple(found)

    def above(self) -> Iterator[Spot]:
        """The spot itself and those around it."""
        spot: Spot | None = self
        while spot is not None:
            yield spot
            spot = spot.parent


class Run(NamedTuple):
    """One run: from when to when, the growth of memory, and the number of the node made, or run."""

    spot: Spot
    arguments: str
    start: int
    stop: int
    bytes: int
    number: int
    allocated: int


@dataclass
class Records:
    """All that was recorded between `start` and `stop`."""

    start: int
    stop: int
    spots: list[Spot]
    runs: list[Run]
    peak: int
    peak_at: Spot | None

    @property
    def root(self) -> Spot:
        """The spot of the thread that took the records."""
        return self.spots[0]

    def events(self) -> Iterator[tuple[str, Run, int]]:
        """The events of PyTorch's profiler: a name, a run and its thread. Of a node there are two,
        the engine's work for it and its own; of a call as many as PyTorch has."""
        for run in self.runs:
            spot = run.spot
            if spot.is_module or spot.what is _BACKWARD:
                continue
            thread = thread_of(spot)
            names = spot.names if spot.kind in (OP, WORK) else [spot.name]
            if spot.kind == NODE:
                names.insert(0, f"autograd::engine::evaluate_function: {spot.name}")
            elif names[0] == "aten::convolution" and run.arguments:
                transposed = "_transpose" * (spot.what.__name__ == "_convolution_input")
                dimensions = run.arguments.partition("]")[0].count(",") - 1
                names.insert(0, f"aten::conv{transposed}{dimensions}d")
            for name in names:
                yield name, run, thread

    def write_trace(self, file: str | os.PathLike[str]) -> None:
        """Write the runs as a trace that Perfetto and chrome://tracing show, with arrows from calls
        to the nodes that they made; compressed where the name ends in .gz."""
        _write_trace(self, file)


# ---- the ranges


@cache
def _phase(part: str, name: str, kind: str) -> Phase:
    return Phase(part, name.format(kind))


_BACKWARD = Phase("backward", "backward")

_Enter = Callable[[Any], Any]
_Leave = Callable[[Any], object]
_Named = Callable[[Any], object]


def _step_of(optimizer: object) -> Phase:
    return _phase("optimizer", "Optimizer.step#{0}.step", type(optimizer).__name__)


def _zero_grad_of(optimizer: object) -> Phase:
    return _phase("optimizer", "Optimizer.zero_grad#{0}.zero_grad", type(optimizer).__name__)


def _batch_of(loader: object) -> Phase:
    return _phase("data", "enumerate(DataLoader)#{0}.__next__", type(loader).__name__)


class StepRanges:
    """The ranges of optimizers: `enter` is called at the begin of each step and each `zero_grad`,
    and `leave` at the end with the answer of `enter`."""

    def __init__(self, enter: _Enter, leave: _Leave) -> None:
        self._enter, self._leave = enter, leave
        self._before: list[tuple[Any, str, Any]] = []
        self._surround(Optimizer, "zero_grad", _zero_grad_of)
        classes = [Optimizer]
        for kind in classes:
            classes += kind.__subclasses__()
            self._surround_step(kind)
        plain = Optimizer.__init__

        @wraps(plain)
        def met(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
            for kind in type(optimizer).__mro__:  # a class that is younger than the ranges
                self._surround_step(kind)
            plain(optimizer, *args, **kwargs)

        self._before.append((Optimizer, "__init__", plain))
        setattr(Optimizer, "__init__", met)  # noqa: B010  mypy allows no assignment

    def _surround_step(self, kind: type) -> None:
        known = any(owner is kind and name == "step" for owner, name, _ in self._before)
        own = issubclass(kind, Optimizer) and kind is not Optimizer and "step" in vars(kind)
        if own and not known:
            self._surround(kind, "step", _step_of)

    def _surround(self, owner: Any, name: str, named: _Named | None) -> None:
        plain = vars(owner)[name]
        self._before.append((owner, name, plain))
        setattr(owner, name, self._around(plain, named))

    def _around(self, plain: Callable[..., Any], named: Any) -> Callable[..., Any]:
        @wraps(plain)
        def ranged(first: Any, *args: Any, **kwargs: Any) -> Any:
            token = self._enter(named(first))
            try:
                return plain(first, *args, **kwargs)
            finally:
                self._leave(token)

        return ranged

    def remove(self) -> None:
        """Leave everything as it was."""
        for owner, name, plain in self._before:
            setattr(owner, name, plain)


class _Ranges(StepRanges):
    """All ranges that the library runs, told to the core without a frame of Python."""

    def __init__(self) -> None:
        from .utils.data import _fetch, _worker, dataloader  # noqa: F401  here alone

        super().__init__(_core.record_enter, _core.record_leave)
        self._surround(Module, "__call__", None)
        self._surround(_engine, "_run", lambda _: _BACKWARD)
        for kind in _fetch.BaseDataLoaderIter.__subclasses__():
            self._surround(kind, "__next__", _batch_of)

    def _around(self, plain: Callable[..., Any], named: Any) -> Callable[..., Any]:
        return _core.record_ranged(plain, named)


# ---- taking records


_taking: list[taken] = []
_ranges: list[_Ranges] = []
_lock = threading.RLock()


class taken:
    """A block of which records are taken: `records` has them when it has ended.

    most_runs: of so many runs each is kept; the sums are of all. arguments: whether the shapes that
    a call gets are kept with it. Inside of another such block, the sums begin with the outer
    block; the runs are of this block alone.
    """

    def __init__(self, most_runs: int, arguments: bool) -> None:
        self._options = most_runs, arguments
        self.records: Records | None = None

    @staticmethod
    def running() -> bool:
        """Whether records are being taken."""
        return bool(_taking)

    def __enter__(self) -> taken:
        self._process = os.getpid()
        with _lock:
            if not _taking:
                _ranges.append(_Ranges())
            _taking.append(self)
            _core.record_start(*self._options, threading.current_thread)
        self._start = monotonic_ns()
        return self

    def __exit__(self, *_: object) -> None:
        stop = monotonic_ns()
        with _lock:
            if self not in _taking:
                return
            _taking.remove(self)
            if not _taking:
                _ranges.pop().remove()
            found = _core.record_stop(not _taking)
        if os.getpid() == self._process:
            self.records = _read(self._start, stop, *found)


def _read(
    start: int,
    stop: int,
    rows: list[tuple[Any, ...]],
    runs: bytes,
    texts: list[str],
    peak: tuple[int, int],
) -> Records:
    """The core's records as objects."""
    spots: list[Spot] = []
    for parent, kind, what, file, line, maker, *numbers in rows:
        around = spots[parent] if parent >= 0 else None
        made = spots[maker] if maker >= 0 else None
        spot = Spot(around, kind, what, file or "", line, made, *numbers)
        spot.thread = what if around is None else around.thread
        if around is not None:
            around.children.append(spot)
        spots.append(spot)
    spots[0].ns, spots[0].runs = stop - start, 1
    for spot in reversed(spots[1:]):  # a thread, and what has not ended in one
        spot.ns = max(spot.ns, sum(child.ns for child in spot.children))
    name_modules(spots, {})
    whole, halves = array("q", runs), array("I", runs)
    found = (
        Run(
            spots[halves[12 * n]],
            texts[at] if (at := halves[12 * n + 1]) < len(texts) else "",
            *whole[6 * n + 1 : 6 * n + 6],
        )
        for n in range(len(whole) // 6)
    )
    ordered = sorted(
        (run for run in found if run.start >= start), key=lambda run: (run.start, -run.stop)
    )
    peak_at = spots[peak[1]] if peak[0] else None
    return Records(start, stop, spots, ordered, peak[0], peak_at)


def name_modules(spots: list[Spot], variables: Mapping[int, str]) -> None:
    """Set `path` of all: the outermost module's variable, or its class (a second one of a class is
    `Net#2`), and names in the outermost module. variables: their names by the id of a module."""
    names: dict[int, dict[int, str]] = {}
    outermost: dict[int, Module] = {}
    classes: Counter[str] = Counter()
    for spot in spots:  # a parent, and a maker, comes first
        above = spot.parent if spot.kind != NODE or spot.maker is None else spot.maker
        if above is not None:
            spot.path = above.path
        outer = outermost.get(id(above))
        if spot.is_module:
            outer = outer or spot.what
            if id(outer) not in names:
                kind = type(outer).__name__
                classes[kind] += id(outer) not in variables
                nth = f"#{classes[kind]}" * (classes[kind] > 1)
                first = variables.get(id(outer), f"{kind}{nth}")
                names[id(outer)] = {id(m): n or first for n, m in outer.named_modules()}
            name = names[id(outer)].get(id(spot.what)) or type(spot.what).__name__
            inside = spot.path.index(name) if name in spot.path else len(spot.path)  # run once more
            spot.path = (*spot.path[:inside], name)
        if outer is not None:
            outermost[id(spot)] = outer


# ---- as a trace


def _write_trace(records: Records, file: str | os.PathLike[str]) -> None:
    import gzip  # here alone: not part of what every program imports
    import json

    process = os.getpid()
    found: list[dict[str, Any]] = [_about("process_name", process, 0, "rushlight")]
    for spot in records.spots:
        if spot.kind == THREAD:
            name = "a thread" if spot.thread is None else spot.thread.name
            found.append(_about("thread_name", process, thread_of(spot), name))
    made: dict[int, Run] = {}
    for run in records.runs:
        thread = thread_of(run.spot)
        found.append(_event(run, process, thread))
        if run.number < 0:
            continue
        if run.spot.kind != NODE:
            made.setdefault(run.number, run)  # the outermost of them, which begins first
        elif (maker := made.get(run.number)) is not None:
            found += _arrow(maker, run, process)
    text = json.dumps({"traceEvents": found, "displayTimeUnit": "ms"})
    with (gzip.open if str(file).endswith(".gz") else open)(file, "wt", encoding="utf-8") as opened:
        opened.write(text)


def _about(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}


def thread_of(spot: Spot) -> int:
    """The number of the spot's thread."""
    return 0 if spot.thread is None else spot.thread.ident or 0


def _event(run: Run, process: int, thread: int) -> dict[str, Any]:
    spot = run.spot
    args: dict[str, Any] = {"Bytes": run.bytes}
    if run.number >= 0:
        args["Sequence number"] = run.number
    if run.arguments:
        args["Input Dims"] = run.arguments
    if spot.file:
        args["Line"] = f"{spot.file}:{spot.line}"
    if spot.path:
        args["Module"] = spot.module
    category = "cpu_op" if spot.kind != RANGE else "user_annotation"
    return {
        "ph": "X",
        "cat": category,
        "name": spot.name,
        "pid": process,
        "tid": thread,
        "ts": run.start / 1000,
        "dur": (run.stop - run.start) / 1000,
        "args": args,
    }


def _arrow(maker: Run, node: Run, process: int) -> Iterator[dict[str, Any]]:
    """From the call that made a node to the node's run."""
    for run, ends in ((maker, {"ph": "s"}), (node, {"ph": "f", "bp": "e"})):
        yield {
            **ends,
            "id": node.number,
            "name": "fwdbwd",
            "cat": "fwdbwd",
            "pid": process,
            "tid": thread_of(run.spot),
            "ts": run.start / 1000,
        }
