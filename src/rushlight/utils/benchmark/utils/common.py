"""Measurements of time, and how they are told."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Iterable, Iterator
from typing import Any

from .... import _root as rl
from ...._base.missing import missing_name as _missing_name
from ...._base.outside import np

__all__ = [
    "Measurement",
    "TaskSpec",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "trim_sigfig",
    "unit_to_english",
]

_UNITS = {"ns": ("nanosecond", 1e-9), "us": ("microsecond", 1e-6), "ms": ("millisecond", 1e-3)}
_UNITS["s"] = ("second", 1)


def _indented(text: str) -> str:
    return "\n".join("  " + line if line.strip() else line for line in text.split("\n"))


@dataclasses.dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """The measured statement, with setup and labels."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The title of the measurement."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt + (f": {self.sub_label}" if self.sub_label else "")
        return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{_indented(self.stmt)}"

    def setup_str(self) -> str:
        """The setup, as it is told."""
        if self.setup == "pass" or not self.setup:
            return ""
        lines = "\n" in self.setup
        return f"setup:\n{_indented(self.setup)}" if lines else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and setup as lines of text."""
        parts = [self.title, self.description or "", self.setup_str()]
        return "\n".join(f"{p}\n" if "\n" in p else p for p in parts if p)


_TaskSpec_fields = tuple(f.name for f in dataclasses.fields(TaskSpec))


@dataclasses.dataclass(init=True, repr=False)
class Measurement:
    """Times of runs, in seconds: of each, that of `number_per_run` repetitions."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in _TaskSpec_fields:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def times(self) -> list[float]:
        """The times of one repetition."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        """The middle one of the times."""
        return float(np.median(self.times)) if self.raw_times else 0.0

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return float(np.mean(self.times)) if self.raw_times else 0.0

    def _quartiles(self) -> tuple[float, float]:
        if not self.raw_times:
            return 0.0, 0.0
        low, high = np.percentile(self.times, (25, 75))
        return float(low), float(high)

    @property
    def iqr(self) -> float:
        """The distance between the quartiles."""
        low, high = self._quartiles()
        return high - low

    @property
    def significant_figures(self) -> int:
        """How many figures of the median can be trusted, by a rough estimate."""
        times = sorted(self.times)
        count = len(times)
        middle = times[count // 4 : math.ceil(3 * count / 4)]
        error = max(1.645 * float(np.std(middle)) / math.sqrt(len(middle)), 25e-9)
        return min(max(math.floor(math.log10(self.median / error)), 1), 4)

    @property
    def has_warnings(self) -> bool:
        """Whether the times differ much."""
        return self.iqr / self.median > 0.1 if self.median else False

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Whether the quartiles are closer than a part of the median."""
        return self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        """The title of the measurement."""
        return self.task_spec.title

    @property
    def env(self) -> str:
        """Where it was taken, if told."""
        return "Unspecified env" if self.task_spec.env is None else self.task_spec.env

    @property
    def as_row_name(self) -> str:
        """The name of a row of a table."""
        spec = self.task_spec
        return spec.sub_label or spec.stmt or "[Unknown]"

    def __repr__(self) -> str:
        unit, scale = select_unit(self.median)
        count = len(self.raw_times)
        lines = [f"{object.__repr__(self)}", self.task_spec.summarize()]
        if count > 1:
            low, high = self._quartiles()
            lines.append(f"  Median: {self.median / scale:.2f} {unit}")
            shown = f"({low / scale:.2f} to {high / scale:.2f})"
            if count >= 4:
                lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} {shown}")
        else:
            lines.append(f"  {self.median / scale:.2f} {unit}")
        several, threads = count > 1, self.task_spec.num_threads
        lines.append(
            f"  {count} measurement{'s' if several else ''}, {self.number_per_run} runs "
            f"{'per measurement' if several else ''}, {threads} thread{'s' if threads > 1 else ''}"
        )
        part = self.iqr / self.median if self.median else 0.0
        if part > 0.1:
            gross = part > 0.25
            lines.append(
                f"  WARNING: Interquartile range is {part * 100:.1f}% of the median measurement."
            )
            suggests = "suggests significant environmental influence."
            may = "could indicate system fluctuation."
            lines.append(f"           This {suggests if gross else may}")
        return "\n".join(lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement of all those of the same thing."""
        groups: dict[TaskSpec, list[Measurement]] = {}
        for m in measurements:
            groups.setdefault(m.task_spec, []).append(m)
        return [
            Measurement(1, [t for m in ms for t in m.times], spec) for spec, ms in groups.items()
        ]


def select_unit(t: float) -> tuple[str, float]:
    """The unit that a time is told in, and how many seconds it has.

    >>> torch.utils.benchmark.select_unit(1e-5)
    ('us', 1e-06)
    """
    unit = {-3: "ns", -2: "us", -1: "ms"}.get(int(np.log10(t) // 3) if t > 0 else -3, "s")
    return unit, _UNITS[unit][1]


def unit_to_english(u: str) -> str:
    """The name of a unit."""
    return _UNITS[u][0]


def trim_sigfig(x: float, n: int) -> float:
    """A number with n figures."""
    if n != int(n):
        raise AssertionError("Number of significant figures must be an integer")
    scale = 10 ** (int(np.floor(np.log10(np.abs(x)))) + 1 - n)
    return float(np.round(x / scale) * scale)


def ordered_unique(elements: Iterable[object]) -> list[Any]:
    """The elements, each once, in order."""
    return list(dict.fromkeys(elements))


@contextlib.contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """In the block, a number of threads."""
    before = rl.get_num_threads()
    try:
        rl.set_num_threads(n)
        yield
    finally:
        rl.set_num_threads(before)


__getattr__ = _missing_name(__name__)
