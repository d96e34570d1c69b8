"""Watching a program train: its losses, and the gradient norms of its optimizers.

The observations:

- A loss is a tensor that `backward` is called on, by any spelling (_passes.py); the losses of one
  line of the program are one series.
- A gradient norm is of a parameter group. Hooks for the steps of all optimizers take the norm
  before a step, or after a step that computes the gradients itself, by a closure.
- The clock is the number of backward passes so far: losses and norms are drawn over it, however
  many passes a step takes and whoever makes it. A step without a new pass counts as one.

_watch_data.py keeps what was seen, in bounded memory; _watch_view.py chooses how it is shown: in a
terminal, in a notebook, as a table or as a picture. Read `watch`.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Iterator
from types import CodeType
from typing import TYPE_CHECKING, Any, Protocol, Self
from weakref import WeakKeyDictionary

from .. import _core
from .._root import Tensor
from ..nn.utils import get_total_norm
from ..optim import optimizer as _optimizer
from ._passes import Pass, follow, unfollow, without_own_frames
from ._watch_data import Group, Loss, Optimizer

if TYPE_CHECKING:
    from ._live import Live

__all__ = ["View", "watch"]

_MOST = 64
"""How many losses, and how many groups, have a series; a program that makes more is told so."""
_RATE_OVER = 5.0
"""Seconds over which the steps per second are taken."""


# ---- who watches


_watching: list[watch] = []
_lock = threading.RLock()
_undo: list[Any] = []


def _closure(args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    return args[0] if args else kwargs.get("closure")


def _before_step(optimizer: object, args: Any, kwargs: Any) -> None:
    if _closure(args, kwargs) is None:
        for each in _watching:
            each._steps(optimizer)


def _after_step(optimizer: object, args: Any, kwargs: Any) -> None:
    if _closure(args, kwargs) is not None:
        for each in _watching:
            each._steps(optimizer)


def _begin(one: watch) -> None:
    with _lock:
        if not _watching:
            hooks = (
                _optimizer.register_optimizer_step_pre_hook(_before_step),
                _optimizer.register_optimizer_step_post_hook(_after_step),
            )
            _undo[:] = [h.remove for h in hooks]
        _watching.append(one)
    follow(one._passes)


def _end(one: watch) -> None:
    unfollow(one._passes)
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
        for shown in (one._view, one._live):
            if shown is not None:
                shown.forked()
        _end(one)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def _hooked_steps() -> Iterator[CodeType]:
    """The code of the function through which an optimizer with hooks steps."""
    for constant in _optimizer.Optimizer._hook_step.__code__.co_consts:
        if isinstance(constant, CodeType):
            yield constant


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
    that the curves are drawn to at the end. title: what is written above them. serve: an HTML file;
    a page at `address`, for browsers on this machine, shows curves, layers and the graphs of some
    steps while the program runs, and is written to the file. Numbers of a graph come from its
    backward, run once more; none are taken where that would run hooks or other code of the program.

    A loss is a tensor that `backward` is called on; each line that calls it has a series. A norm is
    of the gradients of a parameter group, as the optimizer gets them. `losses` and `groups` have
    the series, over the number of backward passes. Other processes are not watched.

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
        self,
        *,
        show: bool = True,
        png: str | os.PathLike[str] | None = None,
        serve: str | os.PathLike[str] | None = None,
        title: str = "",
    ) -> None:
        self.title = title
        self.clock: int = 0
        self.steps: int = 0
        self._show = show
        self._png = None if png is None else os.fspath(png)
        self._png_file = None if self._png is None else os.path.abspath(self._png)
        self._losses: dict[tuple[str, int], Loss] = {}
        self._optimizers: list[Optimizer] = []
        self._known: WeakKeyDictionary[Any, Optimizer] = WeakKeyDictionary()
        self._trouble: set[str] = set()
        self._begun = self._ended = time.perf_counter()
        self._running = False
        self._rates: list[tuple[float, int]] = []
        self._process = os.getpid()
        self._view: View | None = None
        self._next_view = math.inf
        self._live: Live | None = None
        if serve is not None:
            from ._live import Live

            self._live = Live(self, os.fspath(serve))
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
    def address(self) -> str:
        """Where the live page is, with the token that opens it; "" without one."""
        return self._live.address if self._live is not None else ""

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
        from ._watch_table import table

        return table(self)

    # --- while it runs

    def __enter__(self) -> Self:
        self._begun = time.perf_counter()
        self._running = True
        if self._live is not None:
            self._live.open()
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
            without_own_frames(error, frozenset(_hooked_steps()))
        from ._watch_view import conclude

        conclude(self, error)

    def _guarded(self, look: Any, *arguments: Any) -> None:
        """Look at something. An error here is reported at the end; the program goes on."""
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

    def _passes(self, now: Pass) -> None:
        """A backward is about to run."""
        self._guarded(self._look_at_loss, now)

    def _look_at_loss(self, now: Pass) -> None:
        self.clock += 1
        place = (now.frame.f_code.co_filename, now.frame.f_lineno)
        loss = self._losses.get(place)
        if loss is None:
            if len(self._losses) == _MOST:
                self._trouble.add(f"more than {_MOST} lines call backward: the first are shown")
                return
            loss = self._losses[place] = Loss(*place)
        value = _value(now.roots)
        loss.add(self.clock, value)
        if self._live is not None:
            self._live.loss(now, loss.name, value)

    def _steps(self, optimizer: object) -> None:
        """An optimizer steps."""
        self._guarded(self._look_at_step, optimizer)

    def _look_at_step(self, optimizer: Any) -> None:
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
        if self._live is not None:
            self._live.step(optimizer)

    def _meet(self, optimizer: Any) -> Optimizer | None:
        """The series of an optimizer at its first step; None if there are too many. A loop may make
        an optimizer each round: the new goes on with the series of a dead one of its kind."""
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
            known = Optimizer(kind, shapes, alike)
            self._optimizers.append(known)
        self._known[optimizer] = known
        return known


def _value(roots: tuple[object, ...]) -> float | None:
    """The sum of the roots, which is what has the gradients; None unless all are single numbers."""
    total = 0.0
    for root in roots:
        if not isinstance(root, Tensor) or root.numel() != 1 or root.is_complex():
            return None
        total += root.item()
    return total


def _norm(grads: list[object]) -> float:
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
