"""Where the time of a program goes: by part of the training step, by module, by line and by op.

The figures are sums over the spots of `_records`, of the time that a spot took itself: each
nanosecond of a thread is counted once. The parts are those of the program's own thread and add up
to the wall clock; the other tables have all threads, without time outside of all spots, which is
the rest: Python, and libraries that are none of ours.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from .. import _core, _records
from .._records import Phase, Records, Spot
from .._trace_calls import PATHS, WAYS, short_path
from ._names import script_modules
from ._text import Shown

__all__ = ["Row", "profile"]

PARTS = ("data", "forward", "backward", "optimizer", "rest")
_MOST_RUNS = 200_000
_MOST_ROWS = 12
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


class profile(Shown):
    """A block whose time is added up: by part of the step, by module, by line and by op.

    When the block has ended, `parts`, `modules`, `lines` and `ops` are the figures, and `str` is
    the report. `page` writes a page with a flame graph, and `trace` a file for Perfetto, with the
    shapes of arguments where `shapes` asks for them. So does `rushlight profile SCRIPT`.

    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh())
    >>> with torch.explain.profile() as seen:
    ...     net(torch.ones(1, 2)).sum().backward()
    >>> [row.calls for part, row in seen.parts.items() if part in ("forward", "backward")]
    [1, 1]
    >>> sum(row.ns for row in seen.parts.values()) == seen.wall_ns
    True
    """

    def __init__(self, *, title: str = "", shapes: bool = False) -> None:
        self.title = title
        self._taken = _records.taken(_MOST_RUNS, shapes)

    def __enter__(self) -> Self:
        if _records.taken.running():
            raise RuntimeError("a profile is being taken already: one inside of it cannot be")
        self._taken.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._taken.__exit__(*exc)
        if self._taken.records is None:  # a child of the process that began
            return
        variables = {id(module): name for name, module in script_modules().items()}
        _records.name_modules(self.records.spots, variables)

    @cached_property
    def parts(self) -> dict[str, Row]:
        """The parts of a training step, in the thread that began the block."""
        own = [spot for spot in self.records.spots if spot.thread is self.records.root.thread]
        found = {part: Row(part) for part in PARTS}
        return found | {row.name: row for row in _rows(own, part_of, _begins)}

    @cached_property
    def modules(self) -> list[Row]:
        """The modules of a program, in all threads."""
        return _rows(self._inside, lambda s: s.module, lambda s: s.is_module)

    @cached_property
    def lines(self) -> list[Row]:
        """The program's lines, in all threads."""
        return _rows(self._inside, place_of)

    @cached_property
    def ops(self) -> list[Row]:
        """The ops, in all threads."""
        return _rows(self._inside, lambda s: title_of(s) if s.kind != _records.RANGE else "")

    @property
    def _inside(self) -> Iterable[Spot]:
        return (spot for spot in self.records.spots if spot.parent is not None)

    @property
    def records(self) -> Records:
        """The records of the block, which has ended."""
        if self._taken.records is None:
            raise RuntimeError("the profile has not ended: its figures are there after the block")
        return self._taken.records

    @property
    def wall_ns(self) -> int:
        """How long it took."""
        return max(self.records.stop - self.records.start, 1)

    @property
    def summary(self) -> str:
        """How long it took, and how much memory."""
        said, at = f"{time_text(self.wall_ns)} in all", self.records.peak_at
        if at is not None:
            said += f"; at most {size_text(self.records.peak)} of tensors, after {title_of(at)}"
            said += f" at {place_of(at)}" * bool(at.file)
        others = sum(spot.ns for spot in self.records.spots[1:] if spot.parent is None)
        if others:
            said += f"; {time_text(others)} in other threads, which all tables but the first have"
        return said

    def tables(self) -> list[list[list[str]]]:
        """The tables as text, a row of titles first."""
        total = self.wall_ns
        named = {"part of the step": list(self.parts.values()), "module": self.modules}
        named |= {"line": self.lines, "op": self.ops}
        return [_cells(title, rows, total) for title, rows in named.items()]

    def __str__(self) -> str:
        if self._taken.records is None:
            return "<profile, not ended>"
        blocks = [_block(cells) for cells in self.tables() if len(cells) > 1]
        return "\n\n".join([f"{self.title or 'the block'}: {self.summary}", *blocks]) + "\n"

    def page(self, file: str | os.PathLike[str]) -> None:
        """Write a page with the tables and a flame graph: one file, without network."""
        from ._profile_page import page

        Path(file).write_text(page(self), encoding="utf-8", newline="\n")

    def trace(self, file: str | os.PathLike[str]) -> None:
        """Write a trace that Perfetto and chrome://tracing show, of the first runs one by one."""
        self.records.write_trace(file)


def _begins(spot: Spot) -> bool:
    """Whether a part of the step begins with the spot; `zero_grad` is no step, and neither is what
    a step calls, as that of the class above."""
    if isinstance(phase := spot.what, Phase):
        above = (s.what for s in spot.above() if s is not spot and isinstance(s.what, Phase))
        return "zero_grad" not in phase.name and all(s.part != phase.part for s in above)
    return spot.is_module and len(spot.path) == 1


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


def _cells(title: str, rows: list[Row], total: int) -> list[list[str]]:
    cells = [[title, "time", "%", "memory", "calls", ""]]
    for row in rows:
        if row.name:
            grown = size_text(row.bytes) if row.bytes else ""
            share = f"{100 * row.ns / total:.1f}"
            cells.append(
                [row.name, time_text(row.ns), share, grown, str(row.calls or ""), row.slow]
            )
    return cells


def _block(rows: list[list[str]]) -> str:
    cells, left = rows[: _MOST_ROWS + 1], len(rows) - _MOST_ROWS - 1
    wide = [max(len(line[n]) for line in cells) for n in range(6)]
    text = [
        "  ".join(
            cell.ljust(wide[n]) if n in (0, 5) else cell.rjust(wide[n])
            for n, cell in enumerate(line)
        ).rstrip()
        for line in cells
    ]
    return "\n".join([*text, *([f"and {left} more"] if left > 0 else [])])


def time_text(ns: int) -> str:
    """A time with a unit that fits."""
    for unit, size in (("us", 1e3), ("ms", 1e6)):
        if abs(ns) < 999.5 * size:
            return f"{ns / size:.1f} {unit}"
    return f"{ns / 1e9:.2f} s"


def size_text(count: int) -> str:
    """Bytes with a unit that fits."""
    for unit, size in (("B", 1), ("kB", 1000), ("MB", 1000**2)):
        if abs(count) < 999.5 * size:
            return f"{count / size:.0f} {unit}" if size == 1 else f"{count / size:.1f} {unit}"
    return f"{count / 1e9:.2f} GB"
