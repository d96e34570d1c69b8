"""The backward graph as data: nodes, the edges between them, what each node keeps, and names.

`Graph(y)` reads what the core recorded and changes nothing: no hook runs, no node is unfolded, no
gradient is computed. Text, pictures and the page are made from it.

A node stands for a recorded call and for its result: `nodes` are in the order in which backward
would run them, the youngest first. An edge leads from a node to the node of an argument, as the
gradient flows; in the forward direction it is read from its end.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from .._base.dtypes import dtype
from .._base.sources import cell
from .._core import Tensor
from ..autograd.graph import GradientEdge
from ._names import Names, inside

__all__ = ["Constant", "Edge", "Graph", "Node", "Place", "Saved", "add_users", "read_node"]

_RESULT = re.compile(r"out\d*")
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
"""Where a word of a class name ends."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the program."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.short}:{self.line}"

    @property
    def short(self) -> str:
        """The file below the current folder, else its name; `In[3]` for a notebook's cell."""
        if name := cell(self.file):
            return name
        try:
            inside = os.path.relpath(self.file)
        except (OSError, ValueError):  # another drive, or the folder is gone
            return os.path.basename(self.file)
        return os.path.basename(self.file) if inside.startswith("..") else inside

    @property
    def code(self) -> str:
        """The text of the line; "" where there is none."""
        import linecache

        return linecache.getline(self.file, self.line).strip()


@dataclass(frozen=True, slots=True)
class Saved:
    """A tensor that a node keeps for its rule.

    what: the argument's name, "out" (or "out1", ...) for the result, "" of a custom Function's.
    state: "" as it was saved, "changed": written in place since, which backward refuses, "packed":
    `value` is what a saved-tensor hook made of it; "recomputed": a checkpoint computes it again.
    """

    what: str
    value: Any
    state: str

    @property
    def tensor(self) -> Tensor | None:
        """The tensor; None where a hook put something else in its place."""
        return self.value if isinstance(self.value, Tensor) else None

    @property
    def bytes(self) -> int:
        """The size of its elements; of a sparse tensor, that of its parts."""
        t = self.tensor
        if t is None:
            return 0
        stands_for = t._wrapped
        if stands_for is not None and not stands_for.strided:
            parts = (*stands_for.indices, stands_for.value)
            return sum(part.numel() * part.dtype.itemsize for part in parts)
        return t.numel() * t.dtype.itemsize

    @property
    def memory(self) -> tuple[int, int]:
        """(address, bytes) of the whole memory that it keeps alive; (0, 0) where it has none of
        its own."""
        found = None if self.tensor is None else _core.memory_of(self.tensor)
        return (0, 0) if found is None else found[:2]


@dataclass(frozen=True, slots=True)
class Constant:
    """An argument of a call that needs no gradient, as far as it was saved."""

    argument: str
    value: Any
    label: str


@dataclass(eq=False, slots=True)
class Edge:
    """An argument of a recorded call that a gradient goes to: it leads from `source` to `target`.

    index: its place among the edges of the source; nr: which result of the target the argument is;
    argument: the parameter's name, "" of a custom Function's.
    """

    source: Node
    target: Node
    index: int
    nr: int
    argument: str


@dataclass(eq=False, slots=True)
class Node:
    """A recorded call, or a leaf.

    number: its place in `Graph.nodes`. kind: "op", "leaf", "function" (a custom Function) or
    "write" (a write through a view, whose own node is `write` until it is freed). label: the
    program's name for its result, "" where there is none. labels: the same for each result, by its
    number. scope: the modules around the call; calls: which call of each of these modules made the
    node, as the number of the call's first node and the line that called the module.
    """

    number: int
    node: Any
    name: str
    kind: str
    outputs: tuple[tuple[tuple[int, ...], dtype], ...]
    place: Place | None
    freed: Place | None
    released: bool
    edges: list[Edge] = field(default_factory=list)
    received: list[Edge] = field(default_factory=list)
    saved: list[Saved] = field(default_factory=list)
    plain: dict[str, Any] = field(default_factory=dict)
    constants: list[Constant] = field(default_factory=list)
    labels: dict[int, str] = field(default_factory=dict)
    values: dict[int, Tensor] = field(default_factory=dict)
    scope: tuple[str, ...] = ()
    calls: tuple[tuple[int, Place | None], ...] = ()
    write: Any = None

    @property
    def op(self) -> Any:
        """The op of the table that was called; None of a leaf or a custom Function."""
        return self.node._op

    @property
    def title(self) -> str:
        """The node's name in pictures: `mul`, `MyFunction`; a leaf's label."""
        if self.kind == "leaf":
            return self.label or "leaf"
        if self.kind == "write" and self.write is not None:
            return f"{_title(self.write)}_"
        return _title(self.node)

    @property
    def marks(self) -> list[str]:
        """Facts that change what backward does here: a checkpoint, a Function's class, hooks, a
        write through a view; with the lines of the program."""
        made_by = type(self.node)._forward_cls if self.kind == "function" else None
        found = []
        if any(s.state == "recomputed" for s in self.saved) or hasattr(made_by, "recomputed"):
            found.append("recomputed in backward")
        if made_by is not None and not _ours(made_by):
            found.append(f"class {made_by.__qualname__}{_defined(made_by)}")
        if self.kind == "write":
            found.append("written in place through a view")
        for owner in (self.node, self.variable):
            hooks = None if owner is None else owner._hooks
            for hook in [] if hooks is None else _hooks_of_program(hooks.functions):
                name = getattr(hook, "__qualname__", type(hook).__qualname__)
                found.append(f"hook {name.rpartition('.')[2]}{_defined(hook)}")
        return found

    @property
    def label(self) -> str:
        """The program's name for the leaf, or for the first result that has one."""
        return next(iter(self.labels.values()), "")

    @property
    def sequence(self) -> int:
        """Its place in the order of creation; leaves have the greatest."""
        return int(self.node._sequence_nr())

    @property
    def variable(self) -> Tensor | None:
        """The leaf itself."""
        return self.node.variable if self.kind == "leaf" else None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first result; () where there is none."""
        return self.outputs[0][0] if self.outputs else ()

    @property
    def dtype(self) -> dtype | None:
        """The element type of the first result."""
        return self.outputs[0][1] if self.outputs else None


class Graph:
    """The graph behind one or several results: `rushlight.explain.graph`.

    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> y = x * x + 1
    >>> g = torch.explain.graph(y)
    >>> [node.title for node in g.nodes], g.leaves[0].label
    (['add', 'mul', 'x'], 'x')
    """

    def __init__(self, results: object, names: Names) -> None:
        self.names = names
        self.nodes: list[Node] = []
        self.roots: list[tuple[Node, int]] = []
        self.fold: bool | None = None  # of the picture that a notebook shows
        self.height = 600  # from which on that picture scrolls, in pixels
        self.kinds: dict[str, str] = {}  # by the names in scopes: the classes of the modules
        self.results: tuple[Any, ...] = tuple(_several(results))
        found: dict[object, Node] = {}
        starts = [_start(result) for result in self.results]
        self._read([node for node, _ in starts], found)
        self.roots = [(found[node], nr) for node, nr in starts]
        self._label(found)

    @property
    def leaves(self) -> list[Node]:
        """The leaves, in the order of `nodes`."""
        return [node for node in self.nodes if node.kind == "leaf"]

    @property
    def edges(self) -> Iterator[Edge]:
        """All edges."""
        for node in self.nodes:
            yield from node.edges

    @property
    def freed(self) -> Node | None:
        """A node whose saved values are gone; None where backward can run."""
        return next((node for node in self.nodes if node.released), None)

    def node_of(self, tensor: Tensor) -> Node | None:
        """The node of a leaf or of a result; None where it is not part of the graph."""
        edge = _core.maker_of(tensor)
        return None if edge is None else self._found.get(edge[0])

    def forget(self) -> None:
        """Let go of all it refers to. Nodes refer to each other, so what they keep would else stay
        until Python next looks for cycles."""
        for node in self.nodes:
            node.edges.clear()
            node.received.clear()

    def _repr_html_(self) -> str:
        """The picture that a notebook shows."""
        from . import _drawing

        return _drawing.html(self)

    def _repr_svg_(self) -> str:
        from . import _drawing

        return _drawing.svg(self, fold=self.fold)

    # ---- reading

    def _read(self, starts: list[object], found: dict[object, Node]) -> None:
        arrows: list[tuple[Node, list[tuple[object, int, int, str]]]] = []
        waiting = list(reversed(starts))
        while waiting:
            raw = waiting.pop()
            if raw in found:
                continue
            node, to = read_node(raw)
            found[raw] = node
            arrows.append((node, to))
            waiting.extend(target for target, *_ in reversed(to))
        for node, to in arrows:
            for target, index, nr, argument in to:
                edge = Edge(node, found[target], index, nr, argument)
                node.edges.append(edge)
                found[target].received.append(edge)
        self.nodes = list(_as_backward_runs([found[start] for start in starts]))
        for number, node in enumerate(self.nodes):
            node.number = number
        self._found = found

    def _label(self, found: dict[object, Node]) -> None:
        """Give leaves, results and constants the program's names, and results their values."""
        for (raw, nr), (label, tensor) in self.names.results().items():
            node = found.get(raw)
            if node is not None and node.kind != "leaf":
                node.labels.setdefault(nr, label)
                node.values.setdefault(nr, tensor)
        for node in self.nodes:
            leaf = node.variable
            if leaf is not None:
                node.values[0] = leaf
                label = self.names.of(leaf)
                if label:
                    node.labels[0] = label
            known = {edge.argument for edge in node.edges}
            for saved in node.saved:
                t = saved.tensor
                if t is None or saved.state:
                    continue
                if _RESULT.fullmatch(saved.what) and saved.what not in known:
                    node.values.setdefault(int(saved.what[3:] or 0), t)
                    continue
                edge_to = _core.maker_of(t)
                if not t.requires_grad:
                    node.constants.append(Constant(saved.what, t, self.names.of(t)))
                elif edge_to is not None and edge_to[0] in found:
                    found[edge_to[0]].values.setdefault(edge_to[1], t)
            for argument, value in node.plain.items():
                if isinstance(value, (int, float, complex)) and not isinstance(value, bool):
                    node.constants.append(Constant(argument, value, ""))


def _as_backward_runs(starts: list[Node]) -> Iterator[Node]:
    """The nodes in the order of the engine: of those whose gradient is whole the youngest, leaves
    before all others. Leaves that are ready at once are equal, and the engine may take another
    first."""
    waits_for: dict[Node, int] = {}
    ready: list[tuple[int, int, Node]] = []
    arrived = itertools.count()
    for start in dict.fromkeys(starts):
        if not start.received:
            heapq.heappush(ready, (-start.sequence, next(arrived), start))
    while ready:
        node = heapq.heappop(ready)[-1]
        yield node
        for edge in node.edges:
            target = edge.target
            left = waits_for.get(target, len(target.received)) - 1
            waits_for[target] = left
            if not left:
                heapq.heappush(ready, (-target.sequence, next(arrived), target))


def add_users(node: Node, found: set[Node]) -> None:
    """Add to `found` every node that was computed from a node, through those not yet in it."""
    waiting = [node]
    while waiting:
        for edge in waiting.pop().received:
            if edge.source not in found:
                found.add(edge.source)
                waiting.append(edge.source)


def _ours(what: object) -> bool:
    """Whether a function or a class is the library's own."""
    return str(getattr(what, "__module__", "")).startswith(f"{__name__.partition('.')[0]}.")


def _hooks_of_program(hooks: Iterable[object]) -> Iterator[object]:
    """The functions of the program among hooks, and those that a module's own hooks call."""
    for hook in hooks:
        while isinstance(hook, functools.partial):
            hook = hook.func
        if not _ours(hook):
            yield hook
        else:
            yield from getattr(getattr(hook, "__self__", None), "functions", ())


def _defined(what: Any) -> str:
    """Where a function or a class was written, `, train.py:3`; "" where Python does not know."""
    import inspect

    code = getattr(what, "__code__", None)
    try:
        if code is not None:
            return f", {Place(code.co_filename, code.co_firstlineno, '')}"
        file = inspect.getsourcefile(what)
        return f", {Place(file, inspect.getsourcelines(what)[1], '')}" if file else ""
    except (OSError, TypeError):
        return ""


def _several(results: object) -> Iterable[object]:
    if isinstance(results, (list, tuple)) and not isinstance(results, GradientEdge):
        if not results:
            raise ValueError("explain: an empty list has no graph. Give it the loss.")
        return results
    return (results,)


def _start(result: object) -> tuple[object, int]:
    """The node that a result's gradient goes to, and the number of the result among the node's."""
    if isinstance(result, GradientEdge):
        return result.node, result.output_nr
    if isinstance(result, _core.Node):
        return result, 0
    if not isinstance(result, Tensor):
        raise TypeError(
            f"explain: expected a tensor with a graph, got {type(result).__name__}. "
            "Give it the loss, or any tensor that was computed from one that requires grad."
        )
    edge = _core.gradient_edge(inside(result))
    if edge is None:
        from ._why import why_no_grad

        raise ValueError(f"explain: there is no graph to show. {why_no_grad(result)}")
    return edge


def _kind(raw: Any) -> str:
    if isinstance(raw, _core.AccumulateGrad):
        return "leaf"
    if isinstance(raw, _core.FunctionNode):
        return "function"
    return "write" if raw._op is None else "op"


def _title(raw: Any) -> str:
    """The name of a call: the op's, or the node class's where the op has no public name."""
    name = type(raw).__name__
    if _kind(raw) == "function" and name.endswith("Backward"):
        return name.removesuffix("Backward")
    if raw._op is not None:
        op = str(raw._op.entry.variant_of or raw._op.__name__)
        if not op.startswith("_"):
            return op
    name = re.sub(r"(\d)D", r"\1d", re.sub(r"Backwards?\d*$", "", name))
    return _WORDS.sub("_", name).lower()


def read_node(raw: Any) -> tuple[Node, list[tuple[Any, int, int, str]]]:
    """A node of the core as data, and where its gradients go: to which node, the numbers of the
    argument and of that node's output, the argument's name."""
    edges, saved, made, freed, released, write = _core.node_facts(raw)
    node = Node(
        number=-1,
        node=raw,
        name=type(raw).__name__,
        kind=_kind(raw),
        outputs=tuple((shape, dtype) for shape, dtype, _ in raw._output_metas),
        place=None if made is None else Place(*made),
        freed=None if freed is None else Place(*freed),
        released=released,
        write=write,
    )
    for what, value, state in saved:
        if state == "packed" and getattr(type(value), "recomputed", False):
            state = "recomputed"
        if isinstance(value, Tensor) or state in ("packed", "recomputed"):
            node.saved.append(Saved(what, value, state))
        elif isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) for v in value):
            node.saved.extend(Saved(what, v, state) for v in value if isinstance(v, Tensor))
        else:
            node.plain[what] = value
    to = [
        (target, index, nr, argument or "")
        for index, (target, nr, argument) in enumerate(edges)
        if target is not None
    ]
    return node, to
