"""The numbers of a backward: what each node receives and sends, and the local gradients.

`run(graph)` lets the engine walk the graph once more, hooks included, and notes each node in the
order in which it really runs. The graph is kept, and no `.grad` changes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from .._base import observers as _observers
from .._core import OpKind, Tensor
from ..autograd.graph import GradientEdge
from ..ops import quietly
from ..ops.layout.shape import sum_to
from ..ops.making.casts import fit_dtype
from ..ops.making.creation import ones, zeros
from ._graph import Edge, Graph, Node

__all__ = [
    "SMALL",
    "Step",
    "Summary",
    "along",
    "code_of_program",
    "local_values",
    "run",
    "starting_gradients",
    "summary",
    "written_out",
]

SMALL = 16
"""Tensors of at most so many elements are written out."""
_MANY = 1000
_SMALL_OF_MANY = 4
"""In a graph of more than `_MANY` nodes only smaller ones are, or a page would be too large."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A tensor in short. values: all of them where there are few, else None; a complex
    number is two of them. norm is NaN where an element is; least and greatest are of the finite
    elements."""

    shape: tuple[int, ...]
    dtype: str
    size: int
    norm: float
    least: float
    greatest: float
    zeros: int
    nan: int
    inf: int
    values: Any


@dataclass(slots=True)
class Step:
    """A node that ran. incoming: for each result the gradient that had come; sent: what went along
    each edge; before, after: of a leaf, its `.grad`."""

    node: Node
    incoming: list[Summary | None]
    sent: dict[Edge, Summary | None] = field(default_factory=dict)
    before: Summary | None = None
    after: Summary | None = None


def written_out(graph: Graph) -> int:
    """Of how many elements the tensors of a graph may be to be written out."""
    return SMALL if len(graph.nodes) <= _MANY else _SMALL_OF_MANY


@quietly
def summary(t: Tensor, most: int = SMALL) -> Summary:
    """A tensor in short."""
    shape, name = tuple(t.shape), t.dtype.name
    size = math.prod(shape)
    if t._on_meta or t._wrapped is not None:
        return Summary(shape, name, size, math.nan, math.nan, math.nan, 0, 0, 0, None)
    if size == 1 and not t.dtype.is_complex:
        x = float(t.item())
        finite = math.isfinite(x)
        values: object = x
        for _ in shape:
            values = [values]
        y = x if finite else math.nan
        return Summary(
            shape, name, 1, abs(x), y, y, int(x == 0), int(x != x), int(math.isinf(x)), values
        )
    t = t.detach().resolve_conj().resolve_neg().cpu()
    if not t.dtype.is_complex and (t.dtype.itemsize < 4 or not t.dtype.is_floating_point):
        t = t.float() if t.dtype.is_floating_point else t.double()
    values = t.tolist() if size <= most else None
    if not size:
        return Summary(shape, name, 0, 0.0, math.nan, math.nan, 0, 0, 0, values)
    flat = (t.abs() if t.dtype.is_complex else t).reshape(-1)
    norm = math.sqrt(flat.dot(flat).item())
    nan = inf = 0
    if not math.isfinite(norm):  # bad elements, or squares that are too large
        nan = int(flat.isnan().sum().item())
        inf = int(flat.isinf().sum().item())
        flat = flat[flat.isfinite()].double()
        norm = math.nan if nan else math.inf
        if not nan and not inf:
            peak = flat.abs().max().item()
            norm = peak * (flat / peak).norm().item()
    least, greatest = math.nan, math.nan
    if flat.numel():
        least, greatest = flat.min().item(), flat.max().item()
    zero = size - int(t.count_nonzero().item())
    return Summary(shape, name, size, norm, least, greatest, zero, nan, inf, values)


class _Watching:
    """Notes what the engine does with the nodes of one graph."""

    def __init__(self, graph: Graph) -> None:
        self.known = {node.node: node for node in graph.nodes}
        self.most = written_out(graph)
        self.steps: list[Step] = []

    def starts(self, what: object, values: tuple[Any, ...], place: object) -> Step | None:
        node = self.known.get(what) if isinstance(what, _core.Node) else None
        if node is None:
            return None
        step = Step(node, [None if v is None else summary(v, self.most) for v in values])
        self.steps.append(step)
        return step

    def ran(self, step: Step | None, values: object, error: object, took: int) -> None:
        if step is None or not isinstance(values, tuple):
            return
        for edge in step.node.edges:
            gradient = values[edge.index] if edge.index < len(values) else None
            step.sent[edge] = (
                None if gradient is None else summary(_fitted(gradient, edge), self.most)
            )

    def ends(self, step: Step | None, path: int, ways: int) -> None:
        pass


@quietly
def _fitted(gradient: Tensor, edge: Edge) -> Tensor:
    """A gradient as it arrives: with the shape and type of the argument."""
    shape, dtype = edge.target.outputs[edge.nr]
    if tuple(gradient.shape) != tuple(shape):
        gradient = sum_to(gradient, shape)
    return fit_dtype(gradient, dtype)


def starting_gradients(graph: Graph, given: object) -> list[Tensor] | None:
    """The gradients of the results; None where one is no scalar and none was given for it."""
    gradients: Sequence[object] = given if isinstance(given, (list, tuple)) else [given]
    if len(gradients) != len(graph.roots):
        gradients = [*gradients, *[None] * len(graph.roots)][: len(graph.roots)]
    found = []
    for (node, nr), gradient in zip(graph.roots, gradients, strict=True):
        shape, dtype = node.outputs[nr]
        if gradient is None:
            if math.prod(shape) != 1:
                return None
            gradient = ones(shape, dtype=dtype)
        elif not isinstance(gradient, Tensor):
            raise TypeError(
                f"explain: gradient= takes a tensor for each result, got {type(gradient).__name__}."
            )
        elif tuple(gradient.shape) != tuple(shape):
            raise RuntimeError(
                f"explain: gradient= has shape {list(gradient.shape)}, and the result "
                f"{list(shape)}. Give one of the result's shape."
            )
        found.append(gradient)
    return found


@quietly
def run(graph: Graph, gradients: Sequence[Tensor]) -> list[Step]:
    """The gradients that each node of the graph receives and sends, in the engine's order."""
    watching = _Watching(graph)
    leaves = graph.leaves
    roots = tuple(GradientEdge(node.node, nr) for node, nr in graph.roots)
    if not leaves:
        return []
    _observers.follow(watching)
    try:
        arrived = _core.run_backward(
            roots,
            tuple(gradients),
            True,
            False,
            tuple(GradientEdge(leaf.node, 0) for leaf in leaves),
        )
    finally:
        _observers.unfollow(watching)
    whole = dict(zip(leaves, arrived, strict=True))
    for step in watching.steps:
        if step.node.kind == "leaf":
            gradient = whole[step.node]
            variable = step.node.variable
            before = None if variable is None else variable._grad
            if gradient is not None:
                step.incoming = [summary(gradient)]
                after = gradient if before is None else before.detach() + gradient
                step.before = None if before is None else summary(before)
                step.after = summary(after)
    return watching.steps


def code_of_program(graph: Graph) -> str:
    """The part of the program that a backward runs besides ops, in words: a hook, a Function or a
    checkpoint; "" where there is none, so that one more backward changes nothing."""
    for node in graph.nodes:
        marks = [mark for mark in node.marks if node.kind != "write" or "in place" not in mark]
        if marks:
            return marks[0]
        owners = [owner for owner in (node.node, node.variable) if owner is not None]
        if any(owner._hooks is not None and owner._hooks.functions for owner in owners):
            return "a hook"
        if any(saved.state in ("packed", "recomputed") for saved in node.saved):
            return "a saved-tensor hook"
    return ""


def _alone(node: Node) -> bool:
    """Whether the node's rule may be run by itself: nothing freed, changed, or behind a hook."""
    return (
        node.kind in ("op", "function")
        and not node.released
        and not any(saved.state for saved in node.saved)
    )


def _sends(node: Node, gradients: Sequence[Tensor | None]) -> tuple[Tensor | None, ...] | None:
    """The gradients that a node's rule gives for gradients of its results; None where the rule
    raises, as the backward of a program's own Function may."""
    try:
        sent = node.node(*gradients)
    except Exception:
        return None
    return sent if isinstance(sent, tuple) else (sent,)


@quietly
def along(edge: Edge, gradient: Tensor, nr: int) -> Tensor | None:
    """The gradient that an edge's source sends along it when `gradient` comes to result `nr`, and
    none to the other results; None where the rule of the source cannot be run alone."""
    node = edge.source
    if not _alone(node):
        return None
    gradients: list[Tensor | None] = [None] * len(node.outputs)
    gradients[nr] = gradient
    sent = _sends(node, gradients)
    found = sent[edge.index] if sent is not None and edge.index < len(sent) else None
    return None if found is None else _fitted(found, edge)


@quietly
def local_values(graph: Graph) -> dict[Edge, Tensor]:
    """The local gradient of each edge, where it is small: of a scalar by a scalar, and element by
    element of pointwise ops on few elements."""
    small = written_out(graph)
    found: dict[Edge, Tensor] = {}
    for node in graph.nodes:
        if len(node.outputs) != 1 or not _alone(node):
            continue
        shape, dtype = node.outputs[0]
        size = math.prod(shape)
        pointwise = node.kind == "op" and node.op.kind == OpKind.POINTWISE
        if size > (small if pointwise else 1) or not size or dtype.is_complex:
            continue
        wanted = [
            edge
            for edge in node.edges
            if tuple(edge.target.outputs[edge.nr][0]) == tuple(shape)
            or math.prod(edge.target.outputs[edge.nr][0]) == size == 1
        ]
        if not wanted:
            continue
        sent = _sends(node, [ones(shape, dtype=dtype)])
        if sent is None:
            continue
        for edge in wanted:
            value = sent[edge.index]
            target = edge.target.outputs[edge.nr]
            found[edge] = zeros(*target[:1], dtype=dtype) if value is None else _fitted(value, edge)
    return found
