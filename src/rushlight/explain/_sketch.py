"""What a picture of a graph shows: shapes, arrows between them, and the texts on both.

A graph that is too large to be read box by box is folded: calls of the same module that follow each
other become one box. The sketch is drawn by `_drawing.py`, as SVG and as text for Graphviz.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._core import Tensor
from ._graph import Edge, Graph, Node
from ._labels import (
    arguments,
    derivative,
    local_formula,
    number_text,
    operands,
    sent_on,
    shape_text,
    sign,
)

__all__ = ["Arrow", "Shape", "Sketch", "sketch"]

READABLE = 150
"""A picture with more boxes is folded, or is none."""
_FOLDED = 60
"""Modules are opened as far as so many boxes show the whole graph."""


@dataclass(slots=True)
class Shape:
    """A box. kind: "leaf", "op", "constant", "module" or "function".

    text: the name or sign in it. value: what the result is, `= 4` or its shape. name: the program's
    name of an op's result. backward: what stands for it in the backward graph. tip: all that is
    known, in lines.
    """

    kind: str
    text: str
    value: str = ""
    name: str = ""
    backward: str = ""
    tip: str = ""
    root: bool = False
    scope: tuple[str, ...] = ()


@dataclass(slots=True)
class Arrow:
    """An argument on its way into a call, from shape `source` to shape `target`.

    formula: the local gradient; sent: the gradient that comes back along it; number: its value.
    """

    source: int
    target: int
    formula: str = ""
    sent: str = ""
    number: str = ""
    tip: str = ""


@dataclass(slots=True)
class Sketch:
    """The shapes and the arrows of a picture; a message instead where there are too many."""

    shapes: list[Shape] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    title: str = ""
    message: str = ""


def sketch(graph: Graph, numbers: Mapping[Edge, Any], fold: bool | None) -> Sketch:
    """What to draw. numbers: the local gradients that are known. fold: None folds what is large."""
    made = Sketch(title=_title(graph))
    if fold is None:
        fold = len(graph.nodes) > READABLE
    groups = _groups(graph) if fold else {}
    count = len(graph.nodes) - len(groups) + len(set(groups.values()))
    if count > READABLE and fold:
        made.message = (
            f"This graph has {len(graph.nodes):,} nodes, more than a picture can show. "
            "explain.page writes a page on which it can be searched and opened part by part."
        )
        return made
    index: dict[int, int] = {}
    boxes: dict[int, int] = {}
    for node in reversed(graph.nodes):
        group = groups.get(node.number)
        if group is None:
            index[node.number] = len(made.shapes)
            made.shapes.append(_shape(node))
        else:
            if group not in boxes:
                boxes[group] = len(made.shapes)
                made.shapes.append(Shape("module", ".".join(node.scope), scope=node.scope))
            index[node.number] = boxes[group]
    _name_groups(graph, groups, boxes, made)
    for node, _ in graph.roots:
        made.shapes[index[node.number]].root = True
    seen: set[tuple[int, int]] = set()
    for node in reversed(graph.nodes):
        at = index[node.number]
        for edge in arguments(node):
            source = index[edge.target.number]
            if source == at:
                continue
            if made.shapes[at].kind == "module" or made.shapes[source].kind == "module":
                if (source, at) not in seen:
                    seen.add((source, at))
                    made.arrows.append(Arrow(source, at))
            else:
                made.arrows.append(_arrow(edge, source, at, numbers))
        if made.shapes[at].kind != "module":
            _constants(node, at, made)
    return made


def _title(graph: Graph) -> str:
    names = [node.labels.get(nr) or node.title for node, nr in graph.roots]
    return f"The graph of {', '.join(names)}"


def _shape(node: Node) -> Shape:
    value = node.values.get(0)
    shown = "" if value is None else number_text(value)
    tip = [node.title if node.kind == "leaf" else node.name]
    if node.outputs:
        tip.append(f"{node.dtype}"[6:] + (f" {shape_text(node.shape)}" if node.shape else ""))
    tip += [f"{k} = {v!r:.60}" for k, v in node.plain.items()]
    if node.scope:
        tip.append("in " + ".".join(node.scope))
    if node.place is not None:
        tip += [str(node.place), node.place.code]
    leaf = node.kind == "leaf"
    name = "" if leaf else ", ".join(node.labels[nr] for nr in sorted(node.labels))
    return Shape(
        kind="leaf" if leaf else "op" if node.kind == "op" else "function",
        text=node.title if leaf else sign(node),
        value=shown or shape_text(node.shape) if len(node.outputs) < 2 else "",
        name=name,
        backward=node.name,
        tip="\n".join(filter(None, tip)),
        scope=node.scope,
    )


def _arrow(edge: Edge, source: int, target: int, numbers: Mapping[Edge, Any]) -> Arrow:
    formula = local_formula(edge)
    number = number_text(numbers.get(edge))
    tip = " = ".join(filter(None, (derivative(edge), formula.text, number)))
    if len(edge.target.outputs) > 1:
        tip = f"result {edge.nr} of {edge.target.title}\n{tip}"
    return Arrow(
        source,
        target,
        formula=formula.text,
        sent=sent_on(formula),
        number="" if number == formula.text else number,
        tip=tip,
    )


def _constants(node: Node, at: int, made: Sketch) -> None:
    """The operands without gradient, as shapes of their own, where they stand in the call."""
    for constant in operands(node):
        value = constant.value
        text, note = constant.label, number_text(value)
        if isinstance(value, Tensor):
            note = note or shape_text(tuple(value.shape))
            text = text or constant.argument
        shape = Shape("constant", text, note, tip=f"{constant.argument}, needs no gradient")
        made.arrows.append(Arrow(len(made.shapes), at))
        made.shapes.append(shape)


# ---- folding


def _groups(graph: Graph) -> dict[int, int]:
    """By the number of a node the number of its group: as many modules open as can be read."""
    depth = max((len(node.scope) for node in graph.nodes), default=0)
    found: dict[int, int] = {}
    while depth > 0:
        found = _folded(graph, depth)
        if len(graph.nodes) - len(found) + len(set(found.values())) <= _FOLDED:
            break
        depth -= 1
    return found


def _folded(graph: Graph, depth: int) -> dict[int, int]:
    """Fold modules at this depth of nesting. A group is a run in the order of the calls, so that
    no arrow leads back; a leaf belongs to the only group that uses it."""
    found: dict[int, int] = {}
    current: tuple[str, ...] = ()
    group = -1
    for node in sorted((n for n in graph.nodes if n.kind != "leaf"), key=lambda n: n.sequence):
        scope = node.scope[:depth]
        if len(node.scope) < depth:
            current = ()
            continue
        if scope != current:
            group, current = group + 1, scope
        found[node.number] = group
    for leaf in graph.leaves:
        users = {found.get(edge.source.number) for edge in leaf.received}
        (only, *more) = users or {None}
        if only is not None and not more:
            found[leaf.number] = only
    return found


def _name_groups(
    graph: Graph, groups: dict[int, int], boxes: dict[int, int], made: Sketch
) -> None:
    members: dict[int, list[Node]] = {}
    for node in graph.nodes:
        if node.number in groups:
            members.setdefault(groups[node.number], []).append(node)
    for group, nodes in members.items():
        calls = [n for n in nodes if n.kind != "leaf"]
        shape = made.shapes[boxes[group]]
        scope = calls[0].scope
        for call in calls:
            scope = tuple(
                a for a, b in zip(scope, call.scope, strict=False) if a == b
            )
        shape.scope = scope
        shape.text = scope[-1] if scope else "module"
        shape.value = f"{len(nodes)} nodes"
        shape.backward = shape.text
        shape.tip = f"{'.'.join(scope)}: {len(calls)} calls, {len(nodes) - len(calls)} leaves"
