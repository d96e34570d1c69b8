"""`Timer`: the time that a statement takes."""

from __future__ import annotations

import enum
import textwrap
import timeit
from collections.abc import Callable
from typing import Any

from ...._base.errors import refused as _refused
from ...._base.late import late
from ...._base.missing import missing_name as _missing_name
from .common import Measurement, TaskSpec, set_torch_threads

__all__ = ["Language", "Timer", "timer"]

timer: Callable[[], float] = timeit.default_timer


class Language(enum.Enum):
    """The language of a statement: Python is the one that there is."""

    PYTHON = 0
    CPP = 1


class Timer:
    """Measures the time of a statement, on one thread if not told otherwise.

    >>> timer = torch.utils.benchmark.Timer("x + 1", globals={"x": torch.ones(1)})
    >>> timer.timeit(10).number_per_run
    10
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language in (Language.CPP, "c++", "C++", "cpp"):
            raise NotImplementedError("Timer measures statements of Python, not of C++.")
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply "
                "be moved to `setup`."
            )
        stmt, setup = textwrap.dedent(stmt).strip(), textwrap.dedent(setup).strip()
        names = dict(globals or {})
        names.setdefault("torch", late.package())
        self._globals, self._clock = names, timer
        self._timer = timeit.Timer(stmt=stmt, setup=setup, timer=timer, globals=names)
        self._task_spec = TaskSpec(
            stmt, setup, global_setup, label, sub_label, description, env, num_threads
        )

    def _run(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)

    def timeit(self, number: int = 1000000) -> Measurement:
        """The time of a number of runs, after some to get warm."""
        with set_torch_threads(self._task_spec.num_threads):
            self._run(max(int(number // 100), 2))
            return self._measured(number, [self._run(number)])

    def _measured(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number_per_run=number, raw_times=times, task_spec=self._task_spec)

    repeat: Any = _refused("torch.utils.benchmark.Timer.repeat", "PyTorch has no repeat either.")
    autorange: Any = _refused(
        "torch.utils.benchmark.Timer.autorange", "See `Timer.blocked_autorange.`"
    )

    def _block(self, min_run_time: float) -> int:
        """How many runs take long enough for the clock's own time not to matter."""
        overhead = min(self._overhead() for _ in range(5))
        number = 1
        while True:
            taken = self._run(number)
            if overhead / taken <= 1e-4 and taken >= min_run_time / 1000:
                return number
            if taken > min_run_time:
                return number
            number *= 10

    def _overhead(self) -> float:
        return timeit.Timer("pass", timer=self._clock).timeit(1)

    def _times(self, number: int, callback: Any, stop: Callable[[float], bool]) -> list[float]:
        times: list[float] = []
        total = 0.0
        while not times or not stop(total):
            taken = self._run(number)
            if callback is not None:
                callback(number, taken)
            times.append(taken)
            total += taken
        return times

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """The times of blocks of runs, as many as fit into a time (seconds)."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block(min_run_time)
            times = self._times(number, callback, lambda total: total >= min_run_time)
            return self._measured(number, times)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], object] | None = None,
    ) -> Measurement:
        """The times of blocks of runs, until the quartiles are closer than a part of the median."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block(0.05)
            times: list[float] = []
            while True:
                times += self._times(number, callback, lambda total: total >= min_run_time)
                found = self._measured(number, times)
                if len(times) > 3 and found.meets_confidence(threshold):
                    return found
                if sum(times) >= max_run_time:
                    return found

    collect_callgrind: Any = _refused(
        "torch.utils.benchmark.Timer.collect_callgrind", "there is no Callgrind here."
    )


__getattr__ = _missing_name(__name__)
