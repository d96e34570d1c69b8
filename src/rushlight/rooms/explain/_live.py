"""The live page of `watch`: the layers of a program that trains, the graphs of some steps, a file.

`Live` is told of each loss and each step. Layers are looked at in the first `_EACH` steps, then as
often as costs a twentieth of the time at most. Graphs are kept of the passes 1, 2, 4, 8 and so on,
of the first loss that is not finite, and of the pass after somebody asked for one.

_live_server.py gives the page to a browser, page/live.js draws, and at the end, and every while
before, all goes into one file. The run that the file held before is kept in the page, to compare.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from .._base.outside import np
from .._base.version import __version__
from .._core import Tensor
from ..optim.optimizer import Optimizer
from ._names import names_for
from ._page import live_html
from ._passes import Pass
from ._watch import _plain
from ._watch_data import Floats, Group, Loss, Series, in_columns, over_decades, printable

if TYPE_CHECKING:
    from ._live_server import Server
    from ._watch import watch

__all__ = ["Live"]

_EACH = 20
"""The first steps, whose layers are all looked at."""
_SHARE = 20
"""A look is followed by so many times its own time without one."""
_PAUSE = 0.25
"""Seconds between two looks at least."""
_DEAD = 10
"""A unit without gradient in so many looks, one after the other, is dead."""
_MOST = 256
"""How many layers are shown."""
_GRAPHS, _BYTES = 32, 64_000_000
"""How many graphs are kept, and how much of their text."""
_SAMPLE = 16_384
"""A histogram is of about so many numbers of a layer at most."""
_BINS = 32
_COLUMNS, _SMALL_COLUMNS = 300, 80
"""Points of a curve, and of one in the table."""
_OTHERS = {"Embedding", "EmbeddingBag"}
"""Kinds of layers whose rows are no units: a row has a gradient only where it is used."""


class Live:
    """The page of one `watch`."""

    def __init__(self, seen: watch, file: str) -> None:
        self.seen, self.name, self.path = seen, file, os.path.abspath(file)
        self.address = ""
        self.asked = False  # a graph of the next pass
        self.ended = False
        self.error = ""
        self._began = time.time()
        self._before = _earlier(self.path)
        self._layers: dict[str, _Layer] = {}
        self._met: WeakKeyDictionary[Optimizer, _Met] = WeakKeyDictionary()
        self._graphs: list[_Kept] = []
        self._next_graph, self._spent, self._bad = 1, 0.0, False
        self._server: Server | None = None
        self._write_at = time.perf_counter() + 2

    def open(self) -> None:
        """Serve the page, and say where."""
        from ._live_server import Server

        self._server = Server(self)
        self.address = self._server.address
        self._say(f"live at {self.address}")

    def _say(self, text: str) -> None:
        if self.seen._show:
            sys.stderr.write(f"rushlight watch: {printable(text, 4096)}\n")
            sys.stderr.flush()

    # --- told by the watch

    def loss(self, now: Pass, value: float | None) -> None:
        """A backward is about to run; of some the graph is kept."""
        clock, spent = self.seen.clock, self._spent
        bad = value is not None and not math.isfinite(value) and not self._bad
        due = clock >= self._next_graph and spent * _SHARE <= self.seen.seconds
        if not (bad or due or self.asked) or len(self._graphs) == _GRAPHS:
            return
        if sum(len(graph.text) for graph in self._graphs) > _BYTES:
            return
        self._bad, self.asked = self._bad or bad, False
        while self._next_graph <= clock:
            self._next_graph *= 2
        began = time.perf_counter()
        from ._page_data import page_data
        from ._scopes import reading

        with reading(now.roots) as graph:
            data = page_data(graph, now.gradients, program=self.seen.title, step=clock)
        self._graphs.append(_Kept(clock, now.frame.f_lineno, json.dumps(data)))
        if len(self._graphs) > 1:  # the first has to be there, and loads the modules
            self._spent += time.perf_counter() - began

    def step(self, optimizer: Optimizer) -> None:
        """An optimizer steps: its layers are looked at, where it is time for that."""
        met, began = self._met.get(optimizer), time.perf_counter()
        params = [p for group in optimizer.param_groups for p in group["params"]]
        if met is None or met.count != len(params):
            met = self._met[optimizer] = self._meet(params)
        if met.looks >= _EACH and began < met.next_look:
            return
        met.looks += 1
        for layer, of in met.layers:
            layer.look(self.seen.clock, of)
        now = time.perf_counter()
        met.next_look = now + max(_PAUSE, _SHARE * (now - began))

    def _meet(self, params: list[Tensor]) -> _Met:
        """The layers that the parameters of an optimizer belong to, by the program's names."""
        names = names_for()
        owners: dict[int, tuple[str, str, str]] = {}
        for label, module in names.modules.items():
            for name, part in module.named_modules():
                for own, p in part.named_parameters(recurse=False):
                    path = ".".join(filter(None, (label, name)))
                    owners.setdefault(id(p), (path, type(part).__name__, own))
        found: dict[str, tuple[_Layer, list[tuple[str, Tensor]]]] = {}
        for i, p in enumerate(params):
            name, kind, own = owners.get(id(p)) or (names.of(p) or f"parameter {i}", "", "")
            if name not in self._layers:
                if len(self._layers) == _MOST:
                    self.seen._trouble.add(f"more than {_MOST} layers: the first are shown")
                    break
                self._layers[name] = _Layer(name, kind)
            found.setdefault(name, (self._layers[name], []))[1].append((own, p))
        return _Met(list(found.values()), len(params))

    # --- shown

    @property
    def version(self) -> list[object]:
        """Changes when there is something new to show."""
        return [self.seen.clock, len(self._graphs), self.ended]

    @property
    def graphs(self) -> list[str]:
        """The data of the graphs, as JSON."""
        return [graph.text for graph in self._graphs]

    def state(self) -> dict[str, object]:
        """All that the page shows, without the graphs' own data."""
        seen, last = self.seen, max(self.seen.clock, 1)
        losses, groups = seen.losses, seen.groups
        return {
            "version": self.version,
            "title": printable(seen.title),
            "began": self._began,
            "ended": self.ended,
            "error": self.error,
            "file": printable(self.name),
            "clock": seen.clock,
            "progress": seen.progress(),
            "losses": [_row(loss, loss.values, last) for loss in losses],
            "lossesLog": _log([loss.values for loss in losses]),
            "groups": [_row(g, g.norms, last) | {"rate": _finite(g.rate)} for g in groups],
            "groupsLog": _log([group.norms for group in groups]),
            "layers": [layer.row(last) for layer in self._layers.values()],
            "graphs": [{"step": g.step, "line": g.line} for g in self._graphs],
            "more": len(self._graphs) < _GRAPHS and not self.ended,
        }

    def html(self, live: bool) -> str:
        """The page: it asks for more, or is complete."""
        data: dict[str, object] = {
            "live": live,
            "version": __version__,
            "run": self.state(),
            "before": self._before,
        }
        if not live:
            data["graphs"] = self.graphs
        return live_html(data, printable(self.seen.title), live)

    def write(self) -> None:
        """Write the file, as it is now; a reader never finds half of it."""
        half = f"{self.path}.{os.getpid()}.part"
        try:
            with open(half, "w", encoding="utf-8", newline="\n") as file:
                file.write(self.html(False))
            os.replace(half, self.path)
        finally:
            if os.path.exists(half):
                os.remove(half)

    def write_sometimes(self) -> None:
        """Write the file, where it is time for that: a program may be killed."""
        began = time.perf_counter()
        if began < self._write_at or self.ended:
            return
        self._write_at = math.inf  # a file that cannot be written is not tried again before the end
        self.write()
        now = time.perf_counter()
        self._write_at = now + max(10.0, 50 * (now - began))

    # --- the end

    def finish(self, error: BaseException | None) -> None:
        """Write the file, and give the browsers that look the last state."""
        if error is not None and not (isinstance(error, SystemExit) and not error.code):
            self.error = printable(f"{type(error).__name__}: {error}".removesuffix(": "))
        self.ended = True
        try:
            self.write()
            self._say(f"the page is in {self.name}")
        finally:
            if self._server is not None:
                self._server.finish()

    def forked(self) -> None:
        """A child process does not serve."""
        if self._server is not None:
            self._server.socket.close()


class _Kept(NamedTuple):
    """A graph: of which pass, of which line, and the data of a page, as JSON."""

    step: int
    line: int
    text: str


@dataclass
class _Met:
    """The layers of an optimizer with their parameters, and when to look at them again."""

    layers: list[tuple[_Layer, list[tuple[str, Tensor]]]]
    count: int
    looks: int = 0
    next_look: float = 0.0


class _Layer:
    """A module that has parameters of its own, or a parameter without a module."""

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind = name, kind
        self.elements = 0
        self.grads, self.weights = Series(), Series()
        self.shown: dict[str, object] = {}  # histograms, now and at the first look
        self.silent: Floats | None = None  # for each unit, in how many looks it had no gradient

    def look(self, clock: int, params: list[tuple[str, Tensor]]) -> None:
        """Take the norms, the histograms and the units without gradient."""
        arrays = [(own, _array(p), None if p.grad is None else _array(p.grad)) for own, p in params]
        self.elements = sum(weights.size for _, weights, _ in arrays)
        for series, what, every in (
            (self.weights, "weights", [w for _, w, _ in arrays]),
            (self.grads, "grads", [g for *_, g in arrays if g is not None]),
        ):
            if every:
                series.add(clock, math.sqrt(sum(float(np.vdot(a, a)) for a in every)))
                self.shown[what] = made = _histogram(every)
                self.shown.setdefault(f"{what}First", made)
        for own, weights, grad in arrays:
            whole = grad is None or grad.shape == weights.shape  # not of a sparse gradient
            if own == "weight" and weights.ndim > 1 and whole and self.kind not in _OTHERS:
                self._count(weights, grad)

    def _count(self, weights: Floats, grad: Floats | None) -> None:
        unit = 1 if "Transpose" in self.kind else 0
        sizes = np.zeros(weights.shape[unit])
        if grad is not None:
            sizes += np.abs(grad).sum(axis=tuple(d for d in range(grad.ndim) if d != unit))
        before = 0 if self.silent is None else self.silent
        self.silent = np.where(sizes == 0, before + 1, 0)

    def row(self, last: int) -> dict[str, object]:
        dead = () if self.silent is None else np.flatnonzero(self.silent >= _DEAD).tolist()
        return {
            "name": printable(self.name),
            "kind": printable(self.kind),
            "elements": self.elements,
            "units": 0 if self.silent is None else len(self.silent),
            "dead": len(dead),
            "which": dead[:12],
            "grads": _small(self.grads, last),
            "weights": _small(self.weights, last),
            **{f"{what}Shape": made for what, made in self.shown.items()},
        }


def _array(t: Tensor) -> Floats:
    """The numbers of a tensor: of complex numbers the sizes, of a sparse tensor its values."""
    t = _plain(t.detach()).cpu()
    made: Floats = (t.abs() if t.is_complex() else t).double().numpy()
    return made


def _histogram(arrays: list[Floats]) -> list[object] | None:
    """The least, the largest, and how many numbers are in each part between; None of nothing."""
    total = sum(a.size for a in arrays)
    values = np.concatenate([a.ravel()[:: total // _SAMPLE + 1] for a in arrays])
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    low, high = float(values.min()), float(values.max())
    if not high - low > abs(low) * 1e-9:  # no room for parts
        low, high = low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2
    counts, _ = np.histogram(values, bins=_BINS, range=(low, high))
    return [low, high, counts.tolist()]


def _row(of: Loss | Group, series: Series, last: int) -> dict[str, object]:
    return {
        "name": of.name,
        "now": _word(series.now) if series.count else "",
        "notes": [[note.text, note.now] for note in of.notes()],
        "curve": _curve(series, last),
    }


def _curve(series: Series, last: int) -> dict[str, object]:
    """A series in columns over the clock from 1 to `last`."""
    n = min(last, _COLUMNS)
    low, high, end, bad = in_columns(series, 1, last, n)
    parts = {"low": _numbers(low), "high": _numbers(high), "end": _numbers(end)}
    return {"last": last, **parts, "bad": np.flatnonzero(bad).tolist()}


def _small(series: Series, last: int) -> dict[str, object]:
    n = min(last, _SMALL_COLUMNS)
    *_, end, bad = in_columns(series, 1, last, n)
    now = _word(series.now) if series.count else ""
    return {"last": last, "end": _numbers(end), "bad": bool(bad.any()), "now": now}


def _log(series: list[Series]) -> bool:
    return bool(series) and over_decades(series)


def _finite(x: float) -> float | None:
    return float(f"{x:.5g}") if math.isfinite(x) else None


def _word(x: float) -> object:
    return _finite(x) if math.isfinite(x) else str(x)


def _numbers(values: Floats) -> list[float | None]:
    return [_finite(x) for x in values.tolist()]


def _earlier(path: str) -> dict[str, object] | None:
    """The run that a page in this file shows, without histograms; None where there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            found = re.search(r'json" id="data">(.*?)</script>', file.read())
        run = json.loads(found[1])["run"] if found else None
        keep = ("title", "began", "clock", "losses", "groups", "layers")
        kept = None if run is None else {key: run[key] for key in keep}
    except (OSError, ValueError, KeyError, TypeError):
        return None
    for layer in () if kept is None else kept["layers"]:
        for what in [key for key in layer if key.endswith("Shape")]:
            del layer[what]
    return kept
