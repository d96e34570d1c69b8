"""The live page of `watch`: the layers of a program that trains, the graphs of some steps, a file.

`Live` is told of each loss and each step. Layers are looked at in the first `_EACH` steps, then as
often as costs a twentieth of the time at most. Graphs are kept of each loss: of the first pass, and
the first from the passes 2, 4, 8 and so on; of the first loss that is not finite, and of the pass
after somebody asked for one.

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
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

from .._base.outside import np
from .._core import Tensor
from ..optim.optimizer import Optimizer
from ._names import names_for
from ._page import live_html
from ._passes import Pass
from ._watch import _plain, watch
from ._watch_data import Floats, Group, Loss, Series, in_columns, over_decades, printable
from ._watch_table import number

if TYPE_CHECKING:
    from ._live_server import Server

__all__ = ["Live"]

_EACH = 20
"""The first steps, whose layers are all looked at."""
_SHARE = 20
"""A look is followed by so many times its own time without one."""
_PAUSE = 0.5
"""Seconds between two looks at least."""
_DEAD = 10
"""A unit without gradient in so many looks, one after the other, is dead."""
_MOST = 256
"""How many layers are shown."""
_GRAPHS, _BYTES = 32, 64_000_000
"""How many graphs are kept, and how much of their text."""
_SAMPLE, _BINS = 16_384, 32
"""A histogram is of about so many numbers of a layer at most, and has so many parts."""
_TINY = 1e-300
"""Numbers of such a range have no parts."""
_COLUMNS, _SMALL_COLUMNS = 300, 80
"""Points of a curve, and of one in the table."""
_OTHERS = {"Embedding", "EmbeddingBag"}
"""Kinds of layers whose rows are no units: a row has a gradient only where it is used."""


class Live:
    """The page of one `watch`."""

    def __init__(self, seen: watch, file: str) -> None:
        self.seen, self.name, self.path = seen, file, os.path.abspath(file)
        self.address = self.error = ""
        self.asked = False  # a graph of the next pass
        self.ended = False
        self.graphs: list[str] = []  # the data of their pages, as JSON
        self._kept: list[dict[str, object]] = []  # of which pass each graph is, and of which loss
        self._began = time.time()
        self._before = _earlier(self.path)
        self._layers: list[_Layer] = []
        self._met: WeakKeyDictionary[Optimizer, _Met] = WeakKeyDictionary()
        self._next_graph: dict[str, int] = {}  # by the loss
        self._spent, self._bad = 0.0, False
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

    def loss(self, now: Pass, name: str, value: float | None) -> None:
        """A backward is about to run; of some the graph is kept."""
        clock = self.seen.clock
        bad = value is not None and not math.isfinite(value) and not self._bad
        due = clock >= self._next_graph.get(name, 1) and self._spent * _SHARE <= self.seen.seconds
        if not (bad or due or self.asked) or not self._room():
            return
        self._bad, self.asked = self._bad or bad, False
        self._next_graph[name] = 1 << clock.bit_length()
        began = time.perf_counter()
        from ._page_data import page_data
        from ._scopes import reading

        with reading(now.roots) as graph:
            data = page_data(
                graph, now.gradients, program=self.seen.title, step=clock, goes_on=True
            )
        self.graphs.append(json.dumps(data))
        self._kept.append({"step": clock, "line": now.frame.f_lineno, "loss": name})
        if len(self.graphs) > 1:  # the first has to be there, and loads the modules
            self._spent += time.perf_counter() - began

    def _room(self) -> bool:
        return len(self.graphs) < _GRAPHS and sum(map(len, self.graphs)) < _BYTES

    def step(self, optimizer: Optimizer) -> None:
        """An optimizer steps: its layers are looked at, where it is time for that."""
        met, began = self._met.get(optimizer), time.perf_counter()
        if met is not None and met.looks >= _EACH and began < met.next_look:
            return
        params = [p for group in optimizer.param_groups for p in group["params"]]
        if met is None or met.count != len(params):
            met = self._met[optimizer] = _Met(self._layers_of(params), len(params))
        met.looks += 1
        for layer, of in met.layers:
            try:
                layer.look(self.seen.clock, of)
            except Exception as error:  # the other layers are looked at all the same
                self.seen._trouble.add(f"{layer.name}: {type(error).__name__}: {error}")
        now = time.perf_counter()
        met.next_look = now + max(_PAUSE, _SHARE * (now - began))

    def _layers_of(self, params: list[Tensor]) -> list[tuple[_Layer, list[_Named]]]:
        """The layers that the parameters of an optimizer belong to, by the program's names."""
        names = names_for()
        owners: dict[int, tuple[str, str, str]] = {}
        for label, module in names.modules.items():
            for path, part in module.named_modules(prefix=label):
                for own, p in part.named_parameters(recurse=False):
                    owners.setdefault(id(p), (path, type(part).__name__, own))
        found: dict[tuple[str, str], list[_Named]] = {}
        for i, p in enumerate(params):
            path, kind, own = owners.get(id(p)) or (names.of(p) or f"parameter {i}", "", "")
            found.setdefault((path, kind), []).append((own, p))
        layers = ((self._layer(*which, of), of) for which, of in found.items())
        return [(layer, of) for layer, of in layers if layer is not None]

    def _layer(self, path: str, kind: str, of: list[_Named]) -> _Layer | None:
        """The row of these parameters; a new one, with a number where another has the name."""
        alike = [layer for layer in self._layers if layer.path == path]
        for layer in alike:
            if any(known() is p for known in layer.params for _, p in of):
                break
        else:
            if len(self._layers) == _MOST:
                self.seen._trouble.add(f"more than {_MOST} layers: the first are shown")
                return None
            layer = _Layer(path, kind, len(alike) + 1)
            self._layers.append(layer)
        layer.params = [ref(p) for _, p in of]
        return layer

    # --- shown

    @property
    def version(self) -> list[object]:
        """Changes when there is something new to show."""
        return [self.seen.clock, len(self._kept), len(self.seen._trouble), self.ended]

    def state(self) -> dict[str, object]:
        """All that the page shows, without the graphs' own data."""
        seen, last = self.seen, max(self.seen.clock, 1)
        losses = [_row(loss, loss.values, last) for loss in seen.losses]
        norms = [_row(group, group.norms, last) for group in seen.groups]
        return {
            "version": self.version,
            "title": printable(seen.title),
            "began": self._began,
            "ended": self.ended,
            "error": self.error,
            "clock": seen.clock,
            "progress": seen.progress(),
            "charts": [
                _chart("Loss", losses, [loss.values for loss in seen.losses]),
                _chart("Gradient norm", norms, [group.norms for group in seen.groups]),
            ],
            "layers": [layer.row(last) for layer in self._layers],
            "trouble": [printable(text) for text in sorted(seen._trouble)],
            "graphs": list(self._kept),
            "more": self._room() and not self.ended,
        }

    def html(self, live: bool) -> str:
        """The page: it asks for more, or is complete."""
        data = {"live": live, "run": self.state(), "before": self._before}
        whole = {} if live else {"graphs": self.graphs}
        return live_html(data | whole, printable(self.seen.title), live)

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


_Named = tuple[str, Tensor]
"""A parameter with its name in its layer."""


@dataclass
class _Met:
    """The layers of an optimizer with their parameters, and when to look at them again."""

    layers: list[tuple[_Layer, list[_Named]]]
    count: int
    looks: int = 0
    next_look: float = 0.0


class _Numbers:
    """The gradients of a layer, or its weights: norms, and histograms, now and at first."""

    def __init__(self) -> None:
        self.norms = Series()
        self.shape: list[object] | None = None
        self.first: list[object] | None = None

    def look(self, clock: int, arrays: list[Floats]) -> None:
        if arrays:
            with np.errstate(all="ignore"):  # not by BLAS, whose threads a program pays for
                squares = sum(float(np.square(a).sum()) for a in arrays)
            self.norms.add(clock, math.sqrt(squares))
            self.shape = _histogram(arrays)
            self.first = self.first or self.shape

    def row(self, last: int) -> dict[str, object]:
        curve = _curve(self.norms, last, _SMALL_COLUMNS)
        return {"curve": curve, "shape": self.shape, "first": self.first}


class _Layer:
    """A module that has parameters of its own, or a parameter without a module."""

    def __init__(self, path: str, kind: str, number: int) -> None:
        self.path, self.kind = path, kind
        self.name = path if number == 1 else f"{path} #{number}"
        self.params: list[ref[Tensor]] = []
        self.elements = self.looked = 0  # looked: the clock then
        self.gradients, self.weights = _Numbers(), _Numbers()
        self.silent: Any = None  # for each unit, in how many looks its gradient was zero
        self.without = ""  # why the units are not counted: what the layer has for a gradient

    def look(self, clock: int, params: list[_Named]) -> None:
        """Take the norms, the histograms and the units without gradient."""
        arrays = [(own, _array(p), None if p.grad is None else _array(p.grad)) for own, p in params]
        self.elements = sum(weights.size for _, weights, _ in arrays)
        self.looked = clock
        self.weights.look(clock, [weights for _, weights, _ in arrays])
        found = [grad for *_, grad in arrays if grad is not None]
        frozen = not any(p.requires_grad for _, p in params)
        self.without = "frozen" if frozen else "" if found else "no gradient"
        self.gradients.look(clock, found)
        if not self.without and not math.isfinite(self.gradients.norms.now):
            self.without = "not finite"
        unit = 1 if "Transpose" in self.kind else 0
        for own, weights, grad in arrays:
            if grad is None or grad.shape != weights.shape:  # a sparse gradient
                continue
            if own == "weight" and grad.ndim > 1 and self.kind not in _OTHERS:
                with np.errstate(all="ignore"):
                    sums = np.abs(grad).sum(tuple(d for d in range(grad.ndim) if d != unit))
                before = np.zeros(len(sums)) if self.silent is None else self.silent
                self.silent = np.where(sums > 0, 0, before + (sums == 0))  # NaN says nothing

    def row(self, last: int) -> dict[str, object]:
        dead = () if self.silent is None else np.flatnonzero(self.silent >= _DEAD).tolist()
        return {
            "name": printable(self.name),
            "kind": printable(self.kind),
            "elements": self.elements,
            "looked": self.looked,
            "units": 0 if self.silent is None else len(self.silent),
            "without": self.without,
            "dead": len(dead),
            "which": dead[:12],
            "gradients": self.gradients.row(last),
            "weights": self.weights.row(last),
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
    if not high - low > max(abs(low) * 1e-9, _TINY):  # no room for parts
        room = (abs(low) if abs(low) > _TINY else 1) / 2
        low, high = low - room, high + room
    if not math.isfinite(high - low):
        return None
    counts, _ = np.histogram(values, bins=_BINS, range=(low, high))
    return [low, high, counts.tolist()]


def _chart(title: str, rows: list[dict[str, object]], series: list[Series]) -> dict[str, object]:
    return {"title": title, "rows": rows, "log": bool(series) and over_decades(series)}


def _row(of: Loss | Group, series: Series, last: int) -> dict[str, object]:
    notes: list[tuple[str, bool]] = [*of.notes()]
    if isinstance(of, Group) and of.rates.count:
        notes.insert(0, (f"lr {number(of.rate)}", False))
    return {"name": of.name, "notes": notes, "curve": _curve(series, last, _COLUMNS)}


def _curve(series: Series, last: int, columns: int) -> dict[str, object]:
    """A series in columns over the clock from 1 to `last`; a wide one with the range of each."""
    low, high, end, bad = in_columns(series, 1, last, min(last, columns))
    now = series.now if math.isfinite(series.now) else str(series.now)
    wide = {"low": _short(low), "high": _short(high)} if columns == _COLUMNS else {}
    return {
        "last": last,
        "now": now if series.count else "",
        "end": _short(end),
        "bad": np.flatnonzero(bad).tolist(),
        **wide,
    }


def _short(values: Floats) -> list[float | None]:
    return [float(f"{x:.5g}") if math.isfinite(x) else None for x in values.tolist()]


def _earlier(path: str) -> dict[str, Any] | None:
    """The run that a page in this file shows; None where there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            found = re.search(r'json" id="data">(.*?)</script>', file.read())
        run = json.loads(found[1])["run"] if found else None
        return run if run and "charts" in run else None
    except (OSError, ValueError, LookupError, TypeError):
        return None
