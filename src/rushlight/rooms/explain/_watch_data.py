"""The data that `watch` keeps of a program: losses, parameter groups, and what is wrong with them.

Memory is bounded. A full series is halved: each of its entries then stands for twice as many values
and keeps the smallest, the largest and the last of them.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from .._base.outside import np
from .._trace_calls import short_path
from ._names import escaped

__all__ = [
    "Floats",
    "Group",
    "Loss",
    "Note",
    "Optimizer",
    "Series",
    "in_columns",
    "over_decades",
    "printable",
    "smoothed",
]

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Truths: TypeAlias = NDArray[np.bool_]
else:
    Floats = Truths = Any  # annotations alone name it

_CAPACITY = 4096
"""Entries of a series; even."""
_FADING = 0.98
"""How much of a smoothed loss is left at the next: it is a mean over the last 50 or so."""
_EXPLODING = 100
"""A norm so many times its median is marked."""
_ENOUGH = 10
"""Fewer norms than these have no median to compare with."""
_LONG = 40
"""Characters of a name."""


# ---- numbers


class Series:
    """Numbers over the clock, in a bounded number of entries.

    An entry stands for `width` numbers that came one after the other: the smallest, the largest and
    the last finite one of them (NaN for none), and how many were not finite.
    """

    __slots__ = (
        "at",
        "bad",
        "count",
        "first_bad",
        "high",
        "in_last",
        "last",
        "low",
        "now",
        "width",
    )

    def __init__(self) -> None:
        self.at = array("q")  # the clock at the entry's first number
        self.low, self.high, self.last = array("d"), array("d"), array("d")
        self.bad = array("q")
        self.width = 1
        self.in_last = 0  # numbers in the last entry
        self.count = 0
        self.now = math.nan
        self.first_bad: int | None = None  # the clock at the first that was not finite

    def add(self, at: int, value: float) -> None:
        self.count += 1
        self.now = value
        finite = math.isfinite(value)
        if not finite and self.first_bad is None:
            self.first_bad = at
        if self.in_last in (0, self.width):
            if len(self.at) == _CAPACITY:
                self._halve()
            kept = value if finite else math.nan
            self.at.append(at)
            self.low.append(kept)
            self.high.append(kept)
            self.last.append(kept)
            self.bad.append(not finite)
            self.in_last = 1
            return
        self.in_last += 1
        if not finite:
            self.bad[-1] += 1
            return
        if not self.low[-1] <= value:  # also where it is NaN yet
            self.low[-1] = value
        if not self.high[-1] >= value:
            self.high[-1] = value
        self.last[-1] = value

    def _halve(self) -> None:
        def pairs(values: Sequence[float]) -> Floats:
            return np.array(values).reshape(-1, 2).T

        first, second = pairs(self.last)
        self.at = array("q", pairs(self.at)[0].tolist())
        self.low = array("d", np.fmin(*pairs(self.low)).tolist())
        self.high = array("d", np.fmax(*pairs(self.high)).tolist())
        self.last = array("d", np.where(np.isnan(second), first, second).tolist())
        self.bad = array("q", pairs(self.bad).sum(0).tolist())
        self.width *= 2

    @property
    def not_finite(self) -> int:
        """How many of the numbers were NaN or infinite."""
        return sum(self.bad)

    @property
    def median(self) -> float:
        """Of the entries' last numbers; NaN where there are none."""
        values = np.array(self.last)
        return _median(values[~np.isnan(values)])

    @property
    def largest(self) -> tuple[float, int]:
        """The largest finite number and the clock of its entry; NaN where there is none."""
        if not any(map(math.isfinite, self.high)):
            return math.nan, 0
        where = int(np.nanargmax(np.array(self.high)))
        return self.high[where], self.at[where]

    @property
    def leap(self) -> tuple[float, int]:
        """How many times the median before it the number is that stands out most, and its clock."""
        last, high = np.array(self.last), np.array(self.high)
        there = ~np.isnan(last)
        last, high, at = last[there], high[there], np.array(self.at)[there]
        if len(last) <= _ENOUGH:
            return 0.0, 0
        with np.errstate(all="ignore"):
            jumps = np.nan_to_num(high[_ENOUGH:] / last[_ENOUGH - 1 : -1])
        found = (0.0, 0)
        for i in (_ENOUGH + int(np.argmax(high[_ENOUGH:])), _ENOUGH + int(np.argmax(jumps))):
            before = _median(last[:i])
            if before > 0:
                found = max(found, (float(high[i]) / before, int(at[i])))
        return found


def _median(values: Floats) -> float:
    """The upper one, where there are two; NaN for nothing."""
    return (
        float(np.partition(values, len(values) // 2)[len(values) // 2]) if len(values) else math.nan
    )


def over_decades(values: Sequence[Series]) -> bool:
    """Whether a logarithmic axis shows them better: all positive, and a range of more than 100."""
    low = np.concatenate([np.array(series.low) for series in values])
    high = np.concatenate([np.array(series.high) for series in values])
    if np.isnan(low).all():
        return False
    return bool(np.nanmin(low) > 0 and np.nanmax(high) > 100 * np.nanmin(low))


def smoothed(values: Floats) -> Floats:
    """A mean of each value and those around it, over a fiftieth of the curve; NaN for none."""
    window = np.hanning(max(len(values) // 50, 3) + 2)
    there = ~np.isnan(values)
    extra = len(window) // 2
    sums, weights = (
        np.convolve(np.pad(v, extra), window, "same")[extra : len(values) + extra]
        for v in (np.where(there, values, 0.0), there.astype(float))
    )
    with np.errstate(all="ignore"):
        return np.where(there, sums / weights, np.nan)


def in_columns(
    series: Series, first: int, last: int, n: int
) -> tuple[Floats, Floats, Floats, Truths]:
    """The series in `n` columns of the clock: smallest, largest and last number of each (NaN for
    none), and whether there were any that are not finite."""
    low, high, end = (np.full(n, math.nan) for _ in range(3))
    bad = np.zeros(n, bool)
    if len(series.at):
        at = np.array(series.at)
        where = np.clip((at - first) * n // max(last - first + 1, 1), 0, n - 1)
        np.fmin.at(low, where, np.array(series.low))
        np.fmax.at(high, where, np.array(series.high))
        finite = ~np.isnan(np.array(series.last))
        end[where[finite]] = np.array(series.last)[finite]
        bad[where[np.array(series.bad) > 0]] = True
    return low, high, end, bad


# ---- what has them


class Note(NamedTuple):
    """Something that is wrong: now, or earlier on."""

    text: str
    now: bool


class Loss:
    """The losses of one line of the program that calls `backward`.

    file, line: the line. values: the numbers, a `Series`. best: the smallest number, and best_at
    the clock then. without_value: how many passes began at something other than a single number.
    """

    __slots__ = (
        "_weight",
        "_weighted",
        "best",
        "best_at",
        "file",
        "line",
        "values",
        "without_value",
    )

    def __init__(self, file: str, line: int) -> None:
        self.file, self.line = file, line
        self.values = Series()
        self.best, self.best_at = math.nan, 0
        self.without_value = 0
        self._weighted = self._weight = 0.0

    def add(self, at: int, value: float | None) -> None:
        if value is None:
            self.without_value += 1
            return
        self.values.add(at, value)
        if math.isfinite(value):
            self._weighted = _FADING * self._weighted + (1 - _FADING) * value
            self._weight = _FADING * self._weight + (1 - _FADING)
            if not self.best <= value:
                self.best, self.best_at = value, at

    @property
    def smooth(self) -> float:
        """The mean of the last 50 or so, the later ones counting more."""
        return self._weighted / self._weight if self._weight else math.nan

    @property
    def name(self) -> str:
        """The line as `train.py:31`."""
        path = short_path(self.file)
        cut = "…" if len(path) > _LONG else ""
        return f"{cut}{printable(path[-_LONG:])}:{self.line}"

    def notes(self) -> list[Note]:
        """The faults of the values."""
        return _not_finite(self.values)


class Group:
    """A parameter group of an optimizer.

    norms: the Euclidean norms of its gradients, a `Series`; rates: the learning rates. tensors,
    elements: how many parameters it has, and numbers in them; without: how many of the parameters
    had no gradient at the last step.
    """

    def __init__(self, optimizer: Optimizer, number: int) -> None:
        self.optimizer, self.number = optimizer, number
        self.given: str | None = None
        self.norms, self.rates = Series(), Series()
        self.tensors = self.elements = self.without = 0
        self.parts: list[str] = []  # of the first parameters: name or shape

    def look(self, group: dict[str, Any]) -> None:
        """Take over what the optimizer says of it."""
        params = group["params"]
        name = group.get("name")
        self.given = name if isinstance(name, str) else None
        if len(params) == self.tensors:
            return
        self.tensors = len(params)
        self.elements = sum(p.numel() for p in params)
        names = group.get("param_names") or [""] * len(params)
        self.parts = [
            f"{name} {shape}".strip()
            for name, p in zip(names[:8], params, strict=False)
            for shape in ("×".join(map(str, p.shape)) or "scalar",)
        ]

    @property
    def name(self) -> str:
        """The program's own, `group["name"]`; or the optimizer's, with the number of the group."""
        if self.given:
            return printable(self.given, _LONG)
        which = f"[{self.number}]" if len(self.optimizer.groups) > 1 else ""
        return printable(self.optimizer.name, _LONG) + which

    @property
    def rate(self) -> float:
        """The learning rate at the last step; NaN where the group has none."""
        return self.rates.now

    def notes(self) -> list[Note]:
        """The faults of the group's gradients."""
        norms = self.norms
        found: list[Note] = []
        if self.tensors and self.without == self.tensors:
            found.append(Note("no gradient", True))
        elif self.without:
            found.append(Note(f"{self.without} of {self.tensors} without gradient", False))
        if norms.now == 0:
            found.append(Note("zero", True))
        found += _not_finite(norms)
        median = norms.median
        if norms.count > _ENOUGH and norms.now > _EXPLODING * median > 0 and norms.now < math.inf:
            found.append(Note(f"exploding: {_times(norms.now / median)} its median", True))
        else:
            times, at = norms.leap
            if times > _EXPLODING:
                found.append(Note(f"{_times(times)} the median before it at {at:,}", False))
        return found


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}×" if ratio < 1e6 else f"{ratio:.1e}×"


def _not_finite(series: Series) -> list[Note]:
    found = []
    if series.count and not math.isfinite(series.now):
        found.append(Note("NaN" if math.isnan(series.now) else "inf", True))
    if series.first_bad is not None:
        n = series.not_finite
        if n > 1 or not found:
            found.append(Note(f"{n:,} not finite, first at {series.first_bad:,}", False))
    return found


class Optimizer:
    """An optimizer that has stepped: the class, the groups and the number of steps."""

    def __init__(self, kind: str, shapes: list[int], alike: list[Optimizer]) -> None:
        self.kind = kind
        self.alike = alike  # those of its class, itself included
        alike.append(self)
        self.shapes = shapes  # tensors of each group when it was first seen
        self.groups: list[Group] = []
        self.steps = 0
        self.seen_at = 0  # the clock at its last step

    @property
    def name(self) -> str:
        if len(self.alike) == 1:
            return self.kind
        return f"{self.kind} #{self.alike.index(self) + 1}"


# ---- names


def printable(text: str, most: int = 300) -> str:
    """A program's text without what a terminal would obey, and not too long."""
    return escaped(text[:most]) + ("…" if len(text) > most else "")
