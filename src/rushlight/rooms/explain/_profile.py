"""Where the time of a program goes: by part of the training step, by module, by line and by op.

The figures are sums over the spots of `_records`, of the time that a spot took itself: each
nanosecond of the program's own thread is counted once, so that each table adds up to the wall
clock. Time outside of all spots is the rest: Python, and libraries that are none of ours.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from .. import _core, _records
from .._records import Phase, Records, Spot
from .._trace_calls import PATHS, WAYS, short_path
from ._text import Shown

__all__ = ["Profile", "Row", "profile"]

PARTS = ("data", "forward", "backward", "optimizer", "rest")
_MOST_RUNS = 200_000
_SLOW = {_core.Path.NUMPY, _core.Path.FALLBACK}
_SLOW_WAYS = _core.Way.FUSED_NUMPY


@dataclass
class Row:
    """A line of a table: its time and the growth of memory without those of others, and its calls.

    slow: how an op was computed, where there is no kernel for its arguments.
    """

    name: str
    ns: int = 0
    bytes: int = 0
    calls: int = 0
    slow: str = ""


@dataclass(repr=False)
class Profile(Shown):
    """The figures of a profile; `str` is the report."""

    records: Records
    title: str = ""
    parts: dict[str, Row] = field(init=False)
    modules: list[Row] = field(init=False)
    lines: list[Row] = field(init=False)
    ops: list[Row] = field(init=False)

    def __post_init__(self) -> None:
        root = self.records.root
        own = [spot for spot in self.records.spots if _thread(spot) is root]
        self.parts = {part: Row(part) for part in PARTS}
        for row in _rows(own, part_of):
            self.parts[row.name] = row
        self.parts["forward"].calls = sum(s.runs for s in own if s.is_module and len(s.path) == 1)
        for part in PARTS[2:4]:
            self.parts[part].calls = sum(s.runs for s in own if _begins(s, part))
        self.parts["data"].calls = sum(s.runs for s in own if _begins(s, "data"))
        self.parts["rest"].calls = 0
        inside = [spot for spot in own if spot is not root]
        self.modules = _rows(inside, lambda s: s.module, lambda s: s.is_module)
        self.lines = _rows(inside, place_of)
        self.ops = _rows(inside, lambda s: title_of(s) if s.kind != _records.RANGE else "")

    @property
    def wall_ns(self) -> int:
        """How long it took."""
        return self.records.stop - self.records.start

    def table(self, most: int = 12) -> str:
        """The report as text, of each table the rows with the most time."""
        total = max(self.wall_ns, 1)
        blocks = [_block("part of the step", list(self.parts.values()), total)]
        for title, rows in (("module", self.modules), ("line", self.lines), ("op", self.ops)):
            named = sorted((r for r in rows if r.name), key=lambda r: -r.ns)
            if named:
                blocks.append(_block(title, named[:most], total, len(named) - most))
        head = f"{self.title or 'the block'}: {_time(total)} in all"
        return "\n\n".join([head + self._peak(), *blocks]) + "\n"

    def _peak(self) -> str:
        at = self.records.peak_at
        if at is None:
            return ""
        where = place_of(at)
        return f"; at most {_size(self.records.peak)} of tensors, after {title_of(at)}" + (
            f" at {where}" if where else ""
        )

    def __str__(self) -> str:
        return self.table()

    def page(self, file: str | os.PathLike[str]) -> None:
        """Write a page with the tables and a flame graph: one file, without network."""
        from ._profile_page import page

        Path(file).write_text(page(self), encoding="utf-8", newline="\n")

    def trace(self, file: str | os.PathLike[str]) -> None:
        """Write a trace that Perfetto and chrome://tracing show, of the first runs one by one."""
        _records.write_trace(self.records, file)


def _thread(spot: Spot) -> Spot:
    *_, last = spot.above()
    return last


def _begins(spot: Spot, part: str) -> bool:
    """Whether the part begins with the spot; `zero_grad` is no step."""
    what = spot.what
    return isinstance(what, Phase) and what.part == part and "zero_grad" not in what.name


def part_of(spot: Spot) -> str:
    """The part of a training step that the spot's own time belongs to."""
    for s in spot.above():
        if isinstance(s.what, Phase):
            return str(s.what.part)
    calls = (s for s in spot.above() if s.kind in (_records.OP, _records.WORK) or s.is_module)
    return "forward" if next(calls, None) is not None else "rest"


def title_of(spot: Spot) -> str:
    """The name of a call or a node, without PyTorch's namespaces."""
    return spot.name.rpartition("::")[2]


def place_of(spot: Spot) -> str:
    """The program's line: of a node that of the forward call."""
    return f"{short_path(spot.file)}:{spot.line}" if spot.file else ""


def _rows(
    spots: Iterable[Spot],
    key: Callable[[Spot], Hashable],
    counts: Callable[[Spot], object] = lambda _: True,
) -> list[Row]:
    """The sums of what spots took themselves, by a key, the slowest first. counts: whether the runs
    of a spot are calls."""
    found: dict[Any, Row] = {}
    for spot in spots:
        name: Any = key(spot)
        row = found.setdefault(name, Row(name))
        row.ns += spot.self_ns
        row.bytes += spot.self_bytes
        row.calls += spot.runs if counts(spot) else 0
        row.slow = row.slow or slow_path(spot)
    return sorted(found.values(), key=lambda row: -row.ns)


def slow_path(spot: Spot) -> str:
    """How a call was computed, where that was without a kernel; "" where it was with one."""
    if spot.kind == _records.NODE:
        return str(WAYS[_SLOW_WAYS]) if spot.ways & _SLOW_WAYS else ""
    return next((str(PATHS[path]) for path in _SLOW if spot.paths >> path & 1), "")


# ---- as text


def _block(title: str, rows: list[Row], total: int, left: int = 0) -> str:
    cells = [[title, "time", "%", "memory", "calls", ""]]
    for row in rows:
        percent = f"{100 * row.ns / total:.1f}"
        grown = _size(row.bytes) if row.bytes else ""
        cells.append([row.name, _time(row.ns), percent, grown, str(row.calls or ""), row.slow])
    wide = [max(len(line[n]) for line in cells) for n in range(6)]
    text = [
        "  ".join(
            cell.ljust(wide[n]) if n in (0, 5) else cell.rjust(wide[n])
            for n, cell in enumerate(line)
        ).rstrip()
        for line in cells
    ]
    return "\n".join([*text, *([f"and {left} more"] if left > 0 else [])])


def _time(ns: int) -> str:
    for unit, size in (("us", 1e3), ("ms", 1e6)):
        if abs(ns) < 999.5 * size:
            return f"{ns / size:.1f} {unit}"
    return f"{ns / 1e9:.2f} s"


def _size(count: int) -> str:
    for unit, size in (("B", 1), ("kB", 1000), ("MB", 1000**2)):
        if abs(count) < 999.5 * size:
            return f"{count / size:.0f} {unit}" if size == 1 else f"{count / size:.1f} {unit}"
    return f"{count / 1e9:.2f} GB"


# ---- taking a profile


class profile:
    """A block whose time is added up: by part of the step, by module, by line and by op.

    When the block has ended, `result` has the figures, and `str` of it is the report. `page` writes
    a page with a flame graph, `trace` a file for Perfetto. So does `rushlight profile SCRIPT`.

    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh())
    >>> with torch.explain.profile() as seen:
    ...     net(torch.ones(1, 2)).sum().backward()
    >>> [row.calls for part, row in seen.result.parts.items() if part in ("forward", "backward")]
    [1, 1]
    >>> sum(row.ns for row in seen.result.parts.values()) == seen.result.wall_ns
    True
    """

    def __init__(self, *, title: str = "") -> None:
        self._title = title
        self._taken = _records.taken(_MOST_RUNS, arguments=True)
        self._result: Profile | None = None

    def __enter__(self) -> Self:
        if _records.taken.running():
            raise RuntimeError("a profile is being taken already: one inside of it cannot be")
        self._taken.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._taken.__exit__(*exc)
        if self._taken.records is not None:
            self._result = Profile(self._taken.records, self._title)

    @property
    def result(self) -> Profile:
        """The figures of the block, which has ended."""
        if self._result is None:
            raise RuntimeError("the profile has not ended: its figures are there after the block")
        return self._result

    def __str__(self) -> str:
        return str(self.result)

    def page(self, file: str | os.PathLike[str]) -> None:
        """Write the page of the result."""
        self.result.page(file)

    def trace(self, file: str | os.PathLike[str]) -> None:
        """Write the trace of the result."""
        self.result.trace(file)
