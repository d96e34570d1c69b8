"""`torch.compile` of a function: eager calls at first, then one that is captured, then replays.

The first call is plain. The second is watched: it says which code runs, and so what is read. The
third is captured, and may change nothing of what it could have read (state.py). A replay needs the
state to be as it was; where it is not, the call is eager, or captured anew.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import threading
import time
import types
import weakref
from collections.abc import Callable
from typing import Any

from .. import _core
from .._base.errors import warn
from .._base.late import late
from .._base.pytree import tree_flatten, tree_unflatten
from .._core import Tensor
from .._devices.generator import default_generator
from .calls import Ran, observe, title_of
from .check import Checked
from .counters import Counter
from .islands import Islands
from .node import Arrivals, Graph, Start, Way
from .numbers import Loaded
from .state import _VISITS, State

__all__ = ["Compiled", "reset", "set_checks", "set_stance"]

LIMIT = 8  # variants of one function, as PyTorch has it
LEAST = 4  # steps of a call that gives back a graph
_TRIES = 2  # captures that may fail for what only a first call does
_CONSTANTS = (int, float, complex, str, bytes, bool, type(None), type(...))

_all: weakref.WeakSet[Compiled] = weakref.WeakSet()
_stance = _asked = "default"  # the second: without the calls that are watched
_watching = False


def set_stance(stance: str) -> str:
    """Set whether compiled functions are captured and replayed; gives the stance before."""
    global _stance, _asked
    before, _asked = _asked, stance
    if not _watching:
        _stance = stance
    return before


# The thread whose turn it is: one captures at a time. An interrupt may come between any two lines,
# so a thread that has the turn may take it again.
_turn: dict[str, int] = {}


def _takes_turn() -> bool:
    me = threading.get_ident()
    return _turn.setdefault("thread", me) == me


def _leave_turn() -> None:
    if _turn.get("thread") == threading.get_ident():  # a call within this one may have left it
        _turn.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_turn.clear)  # that thread may not be in this process


def reset() -> None:
    """Forget all captured runs."""
    for compiled in list(_all):
        compiled.reset()


class Variant:
    """A captured run: what has to be as it was, the program, and the tree of its results."""

    guards: Any
    state: Any
    program: Any
    function: Callable[..., Any]
    graph: Graph | None
    leaves_state = True  # whether a replay does what else the call does

    def __init__(
        self, function: Any, state: State, program: Any, leaves: list[Any], spec: Any, graph: Any
    ) -> None:
        self.guards, self.function, self.graph = state.guards, function, graph
        self.state, self.program, self.spec = state, program, spec
        # Of each leaf of the results: the number of an output, or a constant.
        self.leaves = leaves
        self.items: list[tuple[int, int]] = []  # leaves that are the number in an output
        self.seconds = 0.0  # that the capture took
        self.spent, self.timed = 0.0, 0  # seconds of calls that were timed, and how many
        self.read: set[str] = set()  # numbers of optimizers that replays read
        # replayed(args, kwargs): the result of a replay, or NotImplemented.
        self.replayed: Callable[[Any, Any], Any] = self._timed() if _timed else self._way()

    def _way(self) -> Callable[[Any, Any], Any]:
        """The shortest way to a result."""
        made: Any = self.result
        n = len(self.leaves)
        if self.spec.is_leaf() and self.leaves[0][0]:
            made = 0
        elif self.spec == _flat(n) and self.leaves == [(True, i) for i in range(n)]:
            made = None
        return functools.partial(self.program.call, self.guards, made)

    def times(self) -> str:
        """How long the capture and replays took."""
        count = self.program.replays()
        said = f"replayed {count} times" if self.graph is None else f"{count} replays of its parts"
        if self.timed:
            said += f", {1e6 * self.spent / self.timed:.1f} us a call"
        return f"captured in {1e3 * self.seconds:.1f} ms, {said}"

    def _timed(self) -> Callable[[Any, Any], Any]:
        replayed = self._way()

        def timed(args: Any, kwargs: Any) -> Any:
            began = time.perf_counter()
            made = replayed(args, kwargs)
            if made is not NotImplemented:
                self.spent += time.perf_counter() - began
                self.timed += 1
            return made

        return timed

    def surround(self, counters: list[Counter], schedules: list[Any]) -> None:
        """Have a replay count, and schedules take a step after it."""
        replayed = self.replayed

        def surrounded(args: Any, kwargs: Any) -> Any:
            for counter in counters:
                if not counter.fits():
                    return NotImplemented
            made = replayed(args, kwargs)
            if made is NotImplemented:
                return made
            for counter in counters if self.leaves_state else ():
                counter.add()
            for schedule in schedules if self.leaves_state else ():
                schedule.step()
            return made

        self.replayed = surrounded

    def result(self, outputs: tuple[Tensor, ...]) -> Any:
        leaves = [outputs[value] if is_output else value for is_output, value in self.leaves]
        for i, output in self.items:
            leaves[i] = outputs[output].item()
        return tree_unflatten(leaves, self.spec)


def _flat(n: int) -> Any:
    return tree_flatten((0,) * n)[1]


class CheckedVariant(Checked, Variant):
    """A captured run whose replays are compared with eager calls, which leave the state."""

    leaves_state = False


_variant: type[Variant] = Variant
_timed = False  # whether replays of what is captured from here on are timed


def set_checks(on: bool) -> None:
    """Set whether each replay of what is captured from here on is compared with an eager call."""
    global _variant
    _variant = CheckedVariant if on else Variant


class Compiled:
    """A function whose calls are captured and replayed where that gives the same."""

    quiet = False  # whether nothing is told to the program
    _islands: Islands | None = None  # parts that are captured where this cannot be (islands.py)

    def __init__(self, function: Callable[..., Any], *, fullgraph: bool = False) -> None:
        for name in functools.WRAPPER_ASSIGNMENTS:
            with contextlib.suppress(AttributeError):
                setattr(self, name, getattr(function, name))
        self.__wrapped__ = self._torchdynamo_orig_callable = function
        self.function, self.fullgraph = function, fullgraph
        self.reset()
        _all.add(self)

    def reset(self) -> None:
        """Forget the captured runs, and why there are none."""
        if self._islands is not None:
            self._islands.remove()
            self._islands = None
        self.variants: list[Variant] = []
        self.trouble: str | None = None  # why calls are eager for good
        self.why: str | None = None  # why the last capture failed
        self._ran: Ran | None = None
        self._calls = self._failed = 0
        self._counters: list[Counter] = []
        self._graphs = False  # whether results have a graph
        # How gradients of the results arrived: in the watched call, and since.
        self._arrivals: Arrivals | None = None
        self._way: Way | None = None
        self._learned = 0  # how often that was another way
        self._missed = 0  # calls like no captured run, when there are `LIMIT`
        self._replayed = 0  # replays by then

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for variant in self.variants if _stance != "force_eager" else ():
            made = variant.replayed(args, kwargs)
            if made is not NotImplemented:
                return made
        return self._run(args, kwargs)

    def __repr__(self) -> str:
        return f"<compiled {self.function!r}>"

    def explain(self) -> str:
        """What was captured, or why nothing was."""
        name = title_of(self.function)
        if self.trouble:
            parts = [] if self._islands is None else list(self._islands.parts)
            said = [f"in it: {part.explain()}" for part in parts if part.variants]
            return "\n".join([f"{name} runs eagerly: {_sentence(self.trouble)}", *said])
        if not self.variants:
            return f"{name} is not captured yet ({self._calls} calls)" + (
                f": {_sentence(self.why)}" if self.why else ""
            )
        lines = []
        for number, variant in enumerate(self.variants):
            steps, planned, made = variant.program.describe()
            lines.append(
                f"{name}, captured run {number + 1}: {len(steps)} steps, {planned:,} bytes of "
                f"memory (eager: {made:,})"
            )
            lines += [f"  guarded: {variant.state.told()}", f"  {variant.times()}"]
            if variant.read:
                lines.append(f"  read anew from the optimizer: {', '.join(sorted(variant.read))}")
            strips = 0  # steps that are left of a pass
            for step, site, count in steps:
                in_pass = " in one pass with these:" if count else " ." if strips else ""
                strips = max(count, strips) - 1 if count or strips else 0
                lines.append(f"  {step:30} {_line(site)}{in_pass}")
        return "\n".join(lines)

    # --- calls that are no replay ---

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(self.variants) >= LIMIT and self.trouble is None:
            self._miss()
        if (
            self.trouble is not None
            or _stance != "default"
            or len(self.variants) >= LIMIT
            or not _takes_turn()
        ):
            return self._plain(args, kwargs)
        try:
            _core.capture_stop()  # which an interrupt may have left
            self._calls += 1
            if self._calls == 1:
                return self.function(*args, **kwargs)
            if self._ran is None:
                self._ran = _observed(self.function, args, kwargs)
                result = self._take()
                if self._ran.trouble and self._ran.imports and self._failed < _TRIES:
                    self._ran, self._failed = None, self._failed + 1
                    return result
                if self._ran.trouble:
                    self._stop(self._ran.trouble)
                leaves = tree_flatten(result)[0]
                self._graphs = any(map(_core.has_graph, leaves))
                if self._graphs and self.trouble is None:
                    self._arrivals = Arrivals(leaves)
                return result
            return self._captured(args, kwargs)
        finally:
            _core.capture_stop()
            _leave_turn()

    def _plain(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call as the function is written, whose parts may be captured."""
        if self.trouble is None or _stance != "default" or _core.capturing():
            return self.function(*args, **kwargs)
        if self._islands is None:
            self._islands = Islands(Island)
            return self._islands.find(self.function, args, kwargs)
        return self._islands.call(self.function, args, kwargs)

    def _miss(self) -> None:
        """A call is like none of as many captured runs as there may be. Where most are, looking for
        a run costs more than replays save."""
        self._missed += 1
        if self._missed == 1 and not self.quiet:
            warn(
                f"torch.compile: {title_of(self.function)} was captured {LIMIT} times, and this "
                "call is like none of these: an argument, a value or an attribute that it reads is "
                "another each time. Such calls run eagerly from now on. Make it a tensor"
            )
        elif self._missed % 64 == 0:
            before = self._replayed
            self._replayed = sum(v.program.replays() for v in self.variants)
            if self._replayed - before < 64:
                self.variants, self.trouble = [], "is called in another way each time"

    def _take(self) -> Any:
        """The result of the watched run, which is not kept."""
        assert self._ran is not None
        result, self._ran.result = self._ran.result, None
        return result

    def _captured(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        assert self._ran is not None
        began = time.perf_counter()
        asked: dict[str, Any] = {"hooks": not self._graphs, "counters": self._counters}
        before = State(self.function, args, kwargs, self._ran, loaded=True, **asked)
        if before.trouble:
            self._stop(before.trouble)
            return self.function(*args, **kwargs)
        held = (*before.tensors, *before.inputs)
        start = Start(held, draws=True) if self._graphs else None
        interior = [(t, _core.version_of(t)) for t in held if t.grad_fn is not None]
        loaded = Loaded(before.loaded)
        _core.capture_begin(tuple(before.inputs), tuple(before.tensors))
        try:
            self._ran = _observed(self.function, args, kwargs, loaded.put_back)
        finally:
            loaded.put_back()
        result = self._take()
        leaves, spec = tree_flatten(result)
        outputs = list({id(leaf): leaf for leaf in leaves if isinstance(leaf, Tensor)}.values())
        counters = before.counters(self._ran)
        self.why = _why(self._ran, leaves, result) or loaded.trouble
        self.why = self.why or before.changed(self._ran, args, kwargs, counters)
        self._counters = counters
        items = _items(self._ran.values, leaves)
        if items is None:
            self.why = self.why or "gives back equal numbers, which cannot be told apart"
        outputs += [t for t, _ in self._ran.values]
        graph: Graph | None = None
        grads: list[Tensor] = []
        written: list[Tensor] = []
        if self.why is None and _core.captures() and any(map(_core.has_graph, outputs)):
            self.why = self._no_graph(start, items, interior)
            if self.why is None:
                written = _core.capture_writes()
                graph = Graph(self.function, outputs, before, written, self._way)
                grads, self.why = graph.record(outputs, before.inputs)
        program: Any = _core.capture_end((*outputs, *grads))
        self.why = self.why or self._refused(program, graph)
        if self.why is None:
            read = loaded.tell(program)
            if graph is not None:
                graph.take(program, functools.partial(self._learn, graph))
            made = self._made(before, program, graph, leaves, spec, outputs, items or [])
            self.variants.insert(0, made)
            made.seconds, made.read = time.perf_counter() - began, read
            self._failed = 0
        else:
            self._failed += 1
            if (self._ran.trouble and not self._ran.imports) or self._failed >= _TRIES:
                self._stop(self.why)
        if graph is None or start is None or not graph.spent:
            return result
        # The graph of the captured run is spent: the call is made once more, from the same start.
        del result, leaves, outputs
        start.put_back([*written, *before.inputs])
        return self.function(*args, **kwargs)

    def _no_graph(self, start: Start | None, items: Any, interior: Any) -> str | None:
        """Why a call whose results have a graph cannot be captured, before that is walked."""
        assert self._ran is not None
        if self._ran.schedules or self._counters:
            return "gives back a graph, and counts or steps a schedule"
        if items:
            return "gives back a number and a graph: return loss.detach() with it"
        if start is None:
            self._graphs = True
            return "gives back a graph for the first time"
        if any(_core.version_of(t) != version for t, version in interior):
            return "writes a tensor that has a history, and gives back a graph"
        if self._arrivals is not None:
            self._way, self._arrivals = self._arrivals.way(), None
        return None

    def _made(
        self,
        state: State,
        program: Any,
        graph: Graph | None,
        leaves: list[Any],
        spec: Any,
        outputs: list[Tensor],
        items: list[int],
    ) -> Variant:
        """The captured run. `items`: leaves of the result that are numbers of outputs, the last."""
        assert self._ran is not None
        number = {id(output): i for i, output in enumerate(outputs)}
        told = [(True, number[id(x)]) if isinstance(x, Tensor) else (False, x) for x in leaves]
        variant = _variant(self.function, state, program, told, spec, graph)
        first = len(outputs) - len(items)
        variant.items = [(at, first + i) for i, at in enumerate(items)]
        if self._ran.schedules or self._counters:
            variant.surround(self._counters, self._ran.schedules)
        return variant

    def _refused(self, program: Any, graph: Graph | None) -> str | None:
        """Why there is no program, or none that is worth a node."""
        if isinstance(program, tuple):
            return f"{program[0]}{_at(program[1])}"
        if graph is None or len(program.describe()[0]) >= LEAST:
            return None
        self._failed = _TRIES
        return (
            f"gives back a graph, and has fewer than {LEAST} steps: its node would cost more than "
            "replays save. Compile a function that calls backward() and the optimizer, too"
        )

    def _learn(self, graph: Graph, way: Way) -> None:
        """Gradients arrive in another way than in a captured run. Where they do so in most calls,
        one is captured anew."""
        # A replay of each part counts one, so in half of the calls they did.
        if way == graph.way or graph.program.replays() >= 3 * graph.others:
            return
        if self._learned < _TRIES:
            self._learned += 1
            self._way = way
            self.variants = [v for v in self.variants if v.graph is not graph]
        elif graph.others % 16 == 0:
            self.variants = []
            self._stop("gives back several tensors, and gradients come for others each time")

    def _stop(self, why: str) -> None:
        """Calls are eager from now on; the program is told why, once."""
        self.trouble = why
        name = title_of(self.function)
        said = f"torch.compile: {name} runs eagerly, as it is written: {_sentence(why)}"
        if self.fullgraph:
            raise late.package()._dynamo.exc.Unsupported(said)
        if not self.quiet:
            warn(said)


class Island(Compiled):
    """A part of a function, which is captured while that function runs."""

    quiet = True

    def __init__(self, of: Any, function: Callable[..., Any], group: Islands) -> None:
        self.of, self.group = of, group
        super().__init__(function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.group.running:
            return self.function(*args, **kwargs)
        if self.trouble is None:
            return super().__call__(*args, **kwargs)
        self.group.leave(self)  # its own parts take its place
        return self.group.find(self.function, args, kwargs)


def _observed(function: Callable[..., Any], *how: Any) -> Ran:
    """A run under observation, in which compiled functions are as they are without."""
    global _stance, _watching
    try:
        _watching, _stance = True, "force_eager"
        return observe(function, *how)
    finally:
        _watching, _stance = False, _asked


# In a walk a compiled function stands for the function that it was made of.
_VISITS[Compiled] = _VISITS[Island] = lambda state, compiled, path: state._visit(
    compiled.function, path
)


def _items(values: list[tuple[Tensor, Any]], leaves: list[Any]) -> list[int] | None:
    """Which leaf each of the values is; None where that is not certain."""
    if not values:
        return []
    told = [None if isinstance(x, Tensor) else (type(x), repr(x)) for x in leaves]
    read = [(type(x), repr(x)) for _, x in values]
    return [told.index(x) for x in read] if all(told.count(x) == 1 for x in read) else None


def _why(ran: Ran, leaves: list[Any], result: Any) -> str | None:
    """Why a run cannot be replayed, as far as Python knows; None where it can be."""
    other = next((x for x in leaves if not isinstance(x, (Tensor, *_CONSTANTS))), None)
    if other is not None:
        return f"gives back a {type(other).__qualname__}: tensors, numbers and text can be replayed"
    if _has_attributes(result):
        return "gives back a dict or a list with attributes, as state_dict() does"
    return ran.trouble


def _sentence(why: str) -> str:
    """A reason as a sentence; most reasons begin with a verb."""
    return f"it {why}" if re.match(r"[a-z]+s ", why) else why


def _has_attributes(o: Any) -> bool:
    """Whether a container in a result has more than its items."""
    parts = o.values() if isinstance(o, dict) else o if isinstance(o, (list, tuple)) else None
    if parts is None:
        return False
    return bool(getattr(o, "__dict__", None)) or any(map(_has_attributes, parts))


def _at(site: str) -> str:
    line = _line(site)
    return f" at {line}" if line else ""


def _line(site: str) -> str:
    """`train.py:31` of a site as text."""
    first = site.partition("\n")[0].strip().split(", ")
    if not first[0].startswith("File "):
        return first[0]  # the cell of a notebook, or nothing
    if len(first) < 2:
        return ""
    file = first[0].partition('"')[2].rstrip('"')
    return f"{os.path.basename(file)}:{first[1].removeprefix('line ')}"


_core.capture_generator(default_generator)
if os.environ.get("RUSHLIGHT_CAPTURE", "") == "check":
    set_checks(True)
