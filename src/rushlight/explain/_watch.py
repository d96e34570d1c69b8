"""Watching a program train: its losses, and the gradient norms of its optimizers.

What is observed, and how:

- A loss is what `backward` is called on; those of one line of the program are one series. The
  engine is entered at one place for every spelling of backward (`_run` in autograd/_engine.py),
  which is replaced while somebody watches. A backward inside a backward is part of the outer one.
- A gradient norm is that of a parameter group, taken by the hooks for the steps of all optimizers:
  before a step, or after it where the step computes the gradients itself, by a closure.
- The clock is the number of backward passes so far: losses and norms are drawn over it, however
  many passes a step takes and whoever makes it. A step without a new pass counts as one.

Memory is bounded: a series that is full is halved, so that each of its entries stands for twice as
many values, of which it keeps the smallest, the largest and the last.

_watch_view.py shows all this in a terminal, _watch_figure.py as a picture. Read `Series`, then
`watch`.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from array import array
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self
from weakref import WeakKeyDictionary

import numpy as np

from .. import _core
from .._levels.running import carried
from .._root import Tensor
from .._trace_calls import _short_path
from ..autograd import _engine
from ..nn.utils import get_total_norm
from ..optim import optimizer as _optimizer

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Group", "Loss", "Note", "Series", "View", "printable", "shell", "watch"]

_CAPACITY = 4096
"""Entries of a series; even."""
_MOST = 64
"""How many losses, and how many groups, have a series; a program that makes more is told so."""
_FADING = 0.98
"""How much of a smoothed loss is left at the next: it is a mean over the last 50 or so."""
_EXPLODING = 100
"""A norm so many times its median is marked."""
_ENOUGH = 10
"""Fewer norms than these have no median to compare with."""
_LONG = 40
"""Characters of a name."""
_RATE_OVER = 5.0
"""Seconds over which the steps per second are taken."""
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


# ---- what is kept


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
        def pairs(values: array[Any]) -> Any:
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


def _median(values: Any) -> float:
    """The upper one, where there are two; NaN for nothing."""
    return (
        float(np.partition(values, len(values) // 2)[len(values) // 2]) if len(values) else math.nan
    )


class Note(NamedTuple):
    """Something that is wrong: now, or earlier on."""

    text: str
    now: bool


class Loss:
    """What one line of the program calls `backward` on.

    file, line: the line. values: the numbers, a `Series`. best: the smallest of them, and best_at
    the clock then. without_value: how many passes began at what is no single number.
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
        path = _cell(self.file) or _short_path(self.file)
        cut = "…" if len(path) > _LONG else ""
        return f"{cut}{printable(path[-_LONG:])}:{self.line}"

    def notes(self) -> list[Note]:
        """What is wrong with it."""
        return _not_finite(self.values)


class Group:
    """A parameter group of an optimizer.

    norms: the Euclidean norms of its gradients, a `Series`; rates: the learning rates. tensors,
    elements: how many parameters it has, and numbers in them; without: how many of the parameters
    had no gradient at the last step.
    """

    def __init__(self, optimizer: _Optimizer, number: int) -> None:
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
        """What is wrong with its gradients."""
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


def shell() -> Any:
    """The IPython that runs this program, or None; it is not imported for the question."""
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()


def _cell(file: str) -> str:
    """The name that IPython gives the cell which it calls this file: `In[3]`; "" for none."""
    name = getattr(getattr(shell(), "compile", None), "format_code_name", lambda file: None)(file)
    return name[1] if name else ""


def printable(text: str, most: int = 300) -> str:
    """A program's text without what a terminal would obey, and not too long."""
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:most])
    return shown if len(text) <= most else shown + "…"


class _Optimizer:
    """What is known of an optimizer that has stepped."""

    def __init__(self, kind: str, shapes: list[int], alike: list[_Optimizer]) -> None:
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


# ---- what is replaced while somebody watches


class _Thread(threading.local):
    def __init__(self) -> None:
        self.inside = False  # a backward runs


_thread = _Thread()
carried.append(_thread)
_watching: list[watch] = []
_lock = threading.RLock()
_undo: list[Any] = []


def _run(
    roots: tuple[Any, ...],
    gradients: tuple[Any, ...],
    retain: bool,
    create_graph: bool,
    inputs: Any,
    accumulate: bool = False,
) -> Any:
    """The core's `run_backward`, watched."""
    if _thread.inside:
        return _core.run_backward(roots, gradients, retain, create_graph, inputs, accumulate)
    _thread.inside = True
    try:
        # What autograd.grad asks for is no training: it has inputs and accumulates nothing.
        if inputs is None or accumulate:
            frame = _program(sys._getframe(1))
            for each in _watching:
                each._guarded(each._passes, roots, frame)
        return _core.run_backward(roots, gradients, retain, create_graph, inputs, accumulate)
    finally:
        _thread.inside = False


def _program(frame: FrameType) -> FrameType:
    """The innermost frame that is not the library's."""
    found: FrameType | None = frame
    while found is not None and found.f_code.co_filename.startswith(_PACKAGE):
        found = found.f_back
    return found or frame


def _closure(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[0] if args else kwargs.get("closure")


def _before_step(optimizer: Any, args: Any, kwargs: Any) -> None:
    if _closure(args, kwargs) is None:
        for each in _watching:
            each._guarded(each._steps, optimizer)


def _after_step(optimizer: Any, args: Any, kwargs: Any) -> None:
    if _closure(args, kwargs) is not None:
        for each in _watching:
            each._guarded(each._steps, optimizer)


def _begin(one: watch) -> None:
    with _lock:
        if not _watching:
            before = _engine._run
            _engine._run = _run
            hooks = (
                _optimizer.register_optimizer_step_pre_hook(_before_step),
                _optimizer.register_optimizer_step_post_hook(_after_step),
            )
            _undo[:] = [lambda: setattr(_engine, "_run", before), *(h.remove for h in hooks)]
        _watching.append(one)


def _end(one: watch) -> None:
    with _lock:
        if one in _watching:
            _watching.remove(one)
        if not _watching:
            while _undo:
                _undo.pop()()


def _in_child() -> None:
    """A child process is not watched, and writes as it would."""
    global _lock
    _lock = threading.RLock()
    for one in list(_watching):
        if one._view is not None:
            one._view.forked()
        _end(one)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def _without_own_frames(error: BaseException) -> None:
    """The tracebacks of an error, and of those behind it, as they are when nobody watches."""
    own = {_run.__code__, *_hooked_steps()}
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        waiting += [one.__cause__, one.__context__]
        frames = list(_frames(one.__traceback__))
        if any(f.tb_frame.f_code in own for f in frames):
            kept: TracebackType | None = None
            for f in reversed(frames):
                if f.tb_frame.f_code not in own:
                    kept = TracebackType(kept, f.tb_frame, f.tb_lasti, f.tb_lineno)
            one.__traceback__ = kept


def _hooked_steps() -> Iterator[Any]:
    """The code of the function through which an optimizer with hooks steps."""
    for constant in _optimizer.Optimizer._hook_step.__code__.co_consts:
        if hasattr(constant, "co_code"):
            yield constant


def _frames(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


# ---- watching


class View(Protocol):
    """Where a program is shown while it runs."""

    def update(self) -> float:
        """Show the present state; when to do so next, by `time.perf_counter`."""

    def finish(self) -> None:
        """Show the last state, and leave everything as it was."""

    def forked(self) -> None:
        """Leave everything as it was, in a child process: nothing is shown."""


class watch:
    """A block whose losses and gradient norms are shown while it runs; so does `rushlight run
    --watch` for a program.

    In a terminal a view is kept up to date below what the program prints (it needs `pip install
    rushlight[watch]`), in a notebook a figure in the cell. Elsewhere nothing is shown before the
    end, when a short table goes to standard error; so it does after an exception. show=False: no
    view and no table, the object alone has the figures, and its `str` is the table. png: a file
    that the curves are drawn to at the end. title: what is written above them.

    A loss is what `backward` is called on, one series for each line that calls it; a norm is that
    of the gradients of a parameter group as the optimizer gets them. `losses` and `groups` have
    them, over the number of backward passes. Other processes are not watched.

    >>> x = torch.tensor([3.0, 4.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([x], lr=0.25)
    >>> with torch.explain.watch(show=False) as seen:
    ...     for _ in range(3):
    ...         optimizer.zero_grad()
    ...         (x * x).sum().backward()
    ...         optimizer.step()
    >>> list(seen.losses[0].values.last)
    [25.0, 6.25, 1.5625]
    >>> [(group.name, group.rate, list(group.norms.last)) for group in seen.groups]
    [('SGD', 0.25, [10.0, 5.0, 2.5])]
    """

    def __init__(
        self, *, show: bool = True, png: str | os.PathLike[str] | None = None, title: str = ""
    ) -> None:
        self.title = title
        self.clock = 0
        self.steps = 0
        self._show = show
        self._png = None if png is None else os.fspath(png)
        self._png_file = None if self._png is None else os.path.abspath(self._png)
        self._losses: dict[tuple[str, int], Loss] = {}
        self._optimizers: list[_Optimizer] = []
        self._known: WeakKeyDictionary[Any, _Optimizer] = WeakKeyDictionary()
        self._trouble: set[str] = set()
        self._begun = self._ended = time.perf_counter()
        self._running = False
        self._rates: list[tuple[float, int]] = []
        self._process = os.getpid()
        self._view: View | None = None
        self._next_view = math.inf
        if show:
            from ._watch_view import check

            check()

    # --- what was seen

    @property
    def losses(self) -> list[Loss]:
        """The lines that called backward, in the order of their first call."""
        return list(self._losses.values())

    @property
    def groups(self) -> list[Group]:
        """The parameter groups of all optimizers that stepped."""
        return [group for optimizer in list(self._optimizers) for group in optimizer.groups]

    @property
    def seconds(self) -> float:
        """How long it has been watching."""
        return (time.perf_counter() if self._running else self._ended) - self._begun

    @property
    def per_second(self) -> float:
        """Steps per second: of the last seconds while it runs, of all of them afterwards."""
        now, count = time.perf_counter(), self._count()
        if not self._running:
            return count / self.seconds if self.seconds else 0.0
        rates = self._rates
        if not rates or now - rates[-1][0] > _RATE_OVER / 20:
            rates.append((now, count))
        while len(rates) > 1 and now - rates[1][0] > _RATE_OVER:
            rates.pop(0)
        since, before = rates[0] if len(rates) > 1 else (self._begun, 0)
        return (count - before) / (now - since) if now > since else 0.0

    def _count(self) -> int:
        """Steps; passes, where the program has no optimizer."""
        return self.steps or self.clock

    def progress(self) -> str:
        """How far the program is, as a line."""
        seconds = int(self.seconds)
        took = f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        what = "step" if self.steps else "pass"
        rate = self.per_second
        each = f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2g}/s"
        passes = f" · {self.clock:,} passes" if self.steps and self.clock > self.steps + 1 else ""
        return f"{what} {self._count():,}{passes} · {each} · {took}"

    def __str__(self) -> str:
        from ._watch_view import table

        return table(self)

    # --- while it runs

    def __enter__(self) -> Self:
        self._begun = time.perf_counter()
        self._running = True
        if self._show:
            from ._watch_view import open_view

            self._view = open_view(self)
            if self._view is not None:
                self._next_view = 0.0
        _begin(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        if os.getpid() != self._process:
            return
        _end(self)
        self._running, self._ended = False, time.perf_counter()
        if error is not None:
            _without_own_frames(error)
        from ._watch_view import conclude

        conclude(self)

    def _guarded(self, look: Any, *arguments: Any) -> None:
        """Look at something. What fails here is said at the end; the program goes on."""
        try:
            before = _core.set_overrides(_core.Overrides.NONE)  # no code of the program's is asked
            try:
                with _lock:
                    look(*arguments)
                    if time.perf_counter() >= self._next_view and self._view is not None:
                        self._next_view = math.inf  # a view that fails is not tried again
                        self._next_view = self._view.update()
            finally:
                _core.set_overrides(before)
        except Exception as error:
            self._trouble.add(f"{type(error).__name__}: {error}")

    def _passes(self, roots: tuple[Any, ...], frame: FrameType) -> None:
        self.clock += 1
        place = (frame.f_code.co_filename, frame.f_lineno)
        loss = self._losses.get(place)
        if loss is None:
            if len(self._losses) == _MOST:
                self._trouble.add(f"more than {_MOST} lines call backward: the first are shown")
                return
            loss = self._losses[place] = Loss(*place)
        loss.add(self.clock, _value(roots))

    def _steps(self, optimizer: Any) -> None:
        known = self._known.get(optimizer)
        if known is None:
            known = self._meet(optimizer)
            if known is None:
                return
        if self.clock == known.seen_at:
            self.clock += 1
        known.seen_at = self.clock
        known.steps += 1
        self.steps = max(self.steps, known.steps)
        for i, options in enumerate(optimizer.param_groups):
            if i == len(known.groups):
                if sum(len(o.groups) for o in self._optimizers) >= _MOST:
                    self._trouble.add(f"more than {_MOST} parameter groups: the first are shown")
                    return
                known.groups.append(Group(known, i))
            group = known.groups[i]
            group.look(options)
            grads = [g for p in options["params"] if (g := p.grad) is not None]
            group.without = group.tensors - len(grads)
            if grads:
                group.norms.add(self.clock, _norm(grads))
            rate = options.get("lr")
            if rate is not None:
                group.rates.add(self.clock, float(rate))

    def _meet(self, optimizer: Any) -> _Optimizer | None:
        """An optimizer that has not stepped before; it goes on where one like it ended that is no
        more, as those of a loop do that makes one each time."""
        kind = type(optimizer).__name__
        shapes = [len(group["params"]) for group in optimizer.param_groups]
        alive = list(self._known.values())
        for known in self._optimizers:
            if known.kind == kind and known.shapes == shapes and known not in alive:
                break
        else:
            if len(self._optimizers) == _MOST:
                self._trouble.add(f"more than {_MOST} optimizers: the first are shown")
                return None
            alike = next((o.alike for o in self._optimizers if o.kind == kind), [])
            known = _Optimizer(kind, shapes, alike)
            self._optimizers.append(known)
        self._known[optimizer] = known
        return known


def _value(roots: tuple[Any, ...]) -> float | None:
    """The sum of the roots, which is what has the gradients; None unless all are single numbers."""
    total = 0.0
    for root in roots:
        if not isinstance(root, Tensor) or root.numel() != 1 or root.is_complex():
            return None
        total += root.item()
    return total


def _norm(grads: list[Any]) -> float:
    return get_total_norm([_plain(g) for g in grads]).item()


def _plain(grad: Any) -> Any:
    """A gradient without history; of a sparse one the values, once for each index."""
    if grad._wrapped is not None and not grad._wrapped.strided:
        before = _core.set_overrides(_core.Overrides.ALL)  # a class answers for sparse tensors
        try:
            grad = grad.coalesce().values()
        finally:
            _core.set_overrides(before)
    return grad.detach() if grad.requires_grad else grad
