"""Which module of the program a node belongs to.

While `recording()` runs, each call of an `nn.Module` notes the numbers of the first and the last
node of the call, which is exact. Without a recording the modules that the program's variables hold
are placed by their parameters: a module reaches from the first to the last node that uses a
parameter of the module or of its children.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

from .. import _core
from .._base import observers as _observers
from .._base.errors import program_frame
from .._core import Tensor
from ._graph import Constant, Graph, Node, Place
from ._names import is_container, names_for, quiet

__all__ = ["Recording", "graph_of", "reading", "recording"]

_SMALL = 64
"""Results of at most so many elements are kept, to be shown."""
_OWN = {"Embedding": ("embedding",), "Linear": ("linear", "addmm", "matmul")}
"""The ops with which modules use a weight that they may share with others."""


class _Span(NamedTuple):
    """The nodes with the numbers first to last were made in one call of the module that `path`
    names. place: the line of the call; root: the outermost module, where `path` has its class."""

    first: int
    last: int
    path: tuple[str, ...]
    place: Place | None = None
    root: weakref.ref[object] | None = None


class _Running(threading.local):
    """The modules that run on a thread, the outermost first, each with the number of the youngest
    node before the call and with the line of the call."""

    def __init__(self) -> None:
        self.modules: list[tuple[int, Any, Place | None]] = []


class Recording:
    """The notes of `recording`: which modules made which nodes, and small results."""

    def __init__(self) -> None:
        self.spans: list[_Span] = []
        self.first: int = _core.last_number() + 1
        self.last: int | None = None  # while it runs
        # By the numbers of nodes: the nodes would keep what they saved alive.
        self.values: dict[tuple[int, int], Tensor] = {}
        self.arguments: dict[int, list[tuple[str, Any]]] = {}
        self.kinds: dict[str, str] = {}
        self._running = _Running()
        self._names: dict[int, tuple[Any, dict[int, str]]] = {}

    def saw(self, number: int) -> bool:
        """Whether the node of that number was made while it ran."""
        return self.first <= number and (self.last is None or number <= self.last)

    # -- told by the modules

    def enter(self, module: object, given: object) -> None:
        """A module is called."""
        frame, _ = program_frame(sys._getframe(1))
        code = None if frame is None else frame.f_code
        place = code and Place(code.co_filename, frame.f_lineno, code.co_qualname)  # type: ignore
        self._running.modules.append((_core.last_number(), module, place))

    def leave(self, module: object, _: object, result: object) -> None:
        """The module has given its result, or raised an error: close it, and all below it."""
        modules = self._running.modules
        while modules:
            if modules[-1][1] is module:
                self.spans.append(self.running()[-1])
                modules.pop()
                return
            modules.pop()

    def running(self) -> list[_Span]:
        """Where the modules reach to by now that run on this thread, the outermost first."""
        path: tuple[str, ...] = ()
        found = []
        for before, module, place in self._running.modules:
            path = (*path, self._name(module))
            root = weakref.ref(self._running.modules[0][1])
            found.append(_Span(before + 1, _core.last_number(), path, place, root))
        return found

    def end(self) -> None:
        """It is over: no module is kept for it."""
        self.last = _core.last_number()
        self._running = _Running()
        self._names.clear()

    def _name(self, module: object) -> str:
        """Its name below the outermost module that runs; of that one the class."""
        outer = self._running.modules[0][1]
        if outer is module:
            return type(module).__name__
        known = self._names.get(id(outer))
        if known is None:
            known = outer, {id(m): name for name, m in outer.named_modules()}
            self._names[id(outer)] = known
        name = known[1].get(id(module)) or type(module).__name__
        self.kinds[name] = type(module).__name__
        return name

    # -- told by the core

    def starts(self, what: object, values: tuple[object, ...], place: object) -> Any:
        """A call begins."""
        return (what, values) if isinstance(what, _core.Op) else None

    def ran(self, began: Any, values: object, error: object, took: int) -> None:
        """A call has given its results: small ones are kept, with the arguments that have no
        gradient, by the node that made them."""
        if values is None or began is None:
            return
        for value in values if isinstance(values, (tuple, list)) else (values,):
            if not (isinstance(value, Tensor) and value.requires_grad):
                continue
            edge = _core.gradient_edge(value)
            if edge is None or isinstance(edge[0], _core.AccumulateGrad):
                continue
            number = edge[0]._sequence_nr()
            if value.numel() <= _SMALL:
                self.values[number, edge[1]] = value.detach().clone()
            op, given = began
            self.arguments.setdefault(
                number, [(name, v) for name, v in zip(op.params, given, strict=False) if _shown(v)]
            )

    def ends(self, what: object, path: int, ways: int) -> None:
        """A call is over."""


_latest: Recording | None = None


@contextmanager
def recording() -> Iterator[Recording]:
    """Inside the block, note for pictures which module makes which nodes, and small results.

    Without it `explain` places modules by their parameters, and shows the results that variables
    or nodes hold. Costs some microseconds a call.

    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh())
    >>> with torch.explain.recording():
    ...     y = net(torch.ones(1, 2)).sum()
    >>> [(node.title, node.scope) for node in torch.explain.graph(y).nodes[:2]]
    [('sum', ()), ('tanh', ('net', '1'))]
    """
    from ..nn.modules import module as nn_module

    global _latest
    _latest = made = Recording()
    before = nn_module.register_module_forward_pre_hook(made.enter)
    after = nn_module.register_module_forward_hook(made.leave, always_call=True)
    _observers.follow(made)
    try:
        yield made
    finally:
        _observers.unfollow(made)
        before.remove()
        after.remove()
        made.end()


def graph_of(results: object, names: object = None, recorded: Recording | None = None) -> Graph:
    """The graph behind `results`, with names from `names` or from the calling program, and modules
    from a recording or from parameters; a Graph is given back as it is."""
    if isinstance(results, Graph):
        return results
    with quiet():
        graph = Graph(results, names_for(names))
        _find_scopes(graph, recorded)
    return graph


@contextmanager
def reading(
    results: object, names: object = None, recorded: Recording | None = None
) -> Iterator[Graph]:
    """The graph behind `results` for the time of a block, in which nobody is told what is asked of
    tensors; nothing of it stays."""
    graph = graph_of(results, names, recorded)
    try:
        with quiet():
            yield graph
    finally:
        if graph is not results:
            graph.forget()


def _shown(argument: object) -> bool:
    """Whether an argument is one that pictures show: a number, or a small tensor."""
    if isinstance(argument, Tensor):
        return argument.numel() <= _SMALL and not argument.requires_grad
    return isinstance(argument, (int, float, complex)) and not isinstance(argument, bool)


def _find_scopes(graph: Graph, recorded: Recording | None = None) -> None:
    """Set `scope` of all nodes of a graph."""
    recorded = recorded or _latest
    if recorded is not None:
        for node in graph.nodes:
            for nr in range(len(node.outputs)):
                value = recorded.values.get((node.sequence, nr))
                if value is not None:
                    node.values.setdefault(nr, value)
            known = {edge.argument for edge in node.edges} | {c.argument for c in node.constants}
            for argument, given in recorded.arguments.get(node.sequence, ()):
                if argument not in known:
                    label = graph.names.of(given) if isinstance(given, Tensor) else ""
                    node.constants.append(Constant(argument, given, label))
    calls = sorted((n for n in graph.nodes if n.kind != "leaf"), key=lambda n: n.sequence)
    noted = [n for n in calls if recorded is not None and recorded.saw(n.sequence)]
    if recorded is not None:
        graph.kinds.update(recorded.kinds)
        _place(noted, _with_names([*recorded.spans, *recorded.running()], graph))
    if len(noted) < len(calls):
        _place([n for n in calls if n not in set(noted)], _by_parameters(graph))
    for leaf in graph.leaves:
        leaf.scope = _common([edge.source.scope for edge in leaf.received])


def _place(calls: list[Node], spans: list[_Span]) -> None:
    """Give each node, in the order of creation, the innermost span around it."""
    waiting = sorted(spans, key=lambda s: (s.first, -s.last, len(s.path)))
    around: list[_Span] = []
    at = 0
    for node in calls:
        number = node.sequence
        while at < len(waiting) and waiting[at].first <= number:
            around.append(waiting[at])
            at += 1
        around = [s for s in around if s.last >= number]
        if around:
            path = max(around, key=lambda s: (len(s.path), s.first)).path
            inner = {s.path: (s.first, s.place) for s in around}  # the innermost call of each
            node.scope = path
            node.calls = tuple(inner.get(path[:n], (0, None)) for n in range(1, len(path) + 1))


def _with_names(spans: list[_Span], graph: Graph) -> list[_Span]:
    """Recorded spans, with the program's name for each outermost module in the place of its class:
    the variable that holds the module, or `blocks.0` of a module that another one holds."""
    known: dict[int, str] = {}
    for label, module in graph.names.modules.items():
        for name, part in module.named_modules():
            where = ".".join(filter(None, (label, name)))
            if where and where != "self":
                known.setdefault(id(part), where)
    found = []
    for span in spans:
        root = None if span.root is None else span.root()
        name = known.get(id(root), span.path[0])
        graph.kinds.setdefault(name, span.path[0])
        found.append(span._replace(path=(name, *span.path[1:])))
    return found


def _by_parameters(graph: Graph) -> list[_Span]:
    """Where modules with known names are, as far as their parameters tell."""
    used = {
        id(leaf.variable): [edge.source for edge in leaf.received]
        for leaf in graph.leaves
        if leaf.variable is not None
    }
    every = {id(m): m for outer in graph.names.modules.values() for m in outer.modules()}
    owners = Counter(id(p) for m in every.values() for p in m._parameters.values())
    spans: list[_Span] = []
    for label, module in graph.names.modules.items():
        inner = dict(module.named_modules())
        reach = {
            name: _calls(_uses(part, used, owners))
            for name, part in inner.items()
            if not is_container(part)
        }
        reach = {name: calls for name, calls in reach.items() if calls}
        root = label if label not in ("", "self") else type(module).__name__
        for name, calls in reach.items():
            path = _steps(name, reach)
            if "" in reach:
                path = [root, *path]
            elif label:
                inside = [step.removeprefix(f"{path[0]}.") for step in path[1:]]
                path = [f"{label}.{path[0]}", *inside]
            graph.kinds[path[-1]] = type(inner[name]).__name__
            spans += [_Span(first, last, tuple(path)) for first, last in calls]
    return spans


def _uses(part: Any, used: dict[int, list[Node]], owners: Counter[int]) -> list[list[int]]:
    """By parameter, the numbers of the nodes with which a module uses it. A parameter that other
    modules have too, as tied weights, is used by a module with the module's own op."""
    found: dict[int, set[int]] = {}
    for module in part.modules():
        own = _OWN.get(type(module).__name__, ())
        for key in map(id, module._parameters.values()):
            nodes = used.get(key, [])
            mine = [node for node in nodes if node.title in own]
            if owners[key] == 1 and not (mine and module is part):
                mine = nodes
            found.setdefault(key, set()).update(node.sequence for node in mine)
    return [list(numbers) for numbers in found.values() if numbers]


def _calls(uses: list[list[int]]) -> list[tuple[int, int]]:
    """The first and the last node of each call of a module. uses: by parameter, the numbers of the
    nodes that use the parameter. Calls that overlap count as one."""
    if not uses:
        return []
    calls = [(min(each), max(each)) for each in zip(*map(sorted, uses), strict=False)]
    apart = all(a[1] < b[0] for a, b in pairwise(calls))
    if apart and len({len(numbers) for numbers in uses}) == 1:
        return calls
    return [(min(map(min, uses)), max(map(max, uses)))]


def _steps(name: str, reach: dict[str, Any]) -> list[str]:
    """`blocks.0.attn` as the names of the modules around it: blocks, blocks.0, blocks.0.attn."""
    parts = name.split(".") if name else []
    whole = [".".join(parts[: n + 1]) for n in range(len(parts))]
    return [step for step in whole if step in reach]


def _common(scopes: list[tuple[str, ...]]) -> tuple[str, ...]:
    """The beginning that several scopes share."""
    if not scopes:
        return ()
    shortest = min(scopes, key=len)
    length: Callable[[tuple[str, ...]], int] = lambda other: next(
        (n for n, (a, b) in enumerate(zip(shortest, other, strict=False)) if a != b), len(shortest)
    )
    return shortest[: min(map(length, scopes))]
