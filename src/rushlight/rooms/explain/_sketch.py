"""The shapes of a picture of a graph, the arrows between them, and the texts on both.

A graph that is too large to be read box by box is folded: calls of the same module that follow each
other become one box. `_drawing.py` draws a sketch as SVG, `_dot.py` writes it as text for Graphviz.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from .._core import Tensor
from ._boxes import Box, boxes_of
from ._graph import Constant, Edge, Graph, Node
from ._labels import arguments, derivative, local_formula, number_text, sent_on, shape_text, sign
from ._names import shown_name
from ._numbers import local_values

__all__ = ["Arrow", "Shape", "Sketch", "sketch", "too_large"]

_VIEWS = ("forward", "backward", "both")
READABLE = 150
"""A picture with more boxes is folded, or is none."""
_FOLDED = 60
"""Modules are opened as far as so many boxes show the whole graph."""
_LONGEST = 36
"""A formula of so many letters still fits beside an arrow."""


@dataclass(slots=True)
class Shape:
    """A box. kind: "leaf", "op", "constant", "module" or "function".

    text: the name or sign in it. value: the result's number, `= 4`, or its shape. name: the
    program's name of an op's result. backward: the node in the backward graph, and the `grad` or
    `grad_fn` that the node is. tip: all that is known, in lines.
    """

    kind: str
    text: str
    value: str = ""
    name: str = ""
    backward: tuple[str, str] = ("", "")
    tip: str = ""
    root: bool = False
    scope: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """The text of a box: `w = 2` on one line, a name with a shape on two."""
        text, value = _short(self.text), self.value
        if self.kind in ("leaf", "module"):
            if self.kind == "leaf" and value and not value.startswith("("):
                return [f"{text} = {value}"]
            return [text, value] if value else [text]
        return [_with_value(text, value)] if self.kind == "constant" else [text]

    @property
    def beside(self) -> tuple[str, str]:
        """The texts beside an operator: the name of its result, and the value after the name."""
        if self.kind in ("leaf", "module", "constant"):
            return "", ""
        name = _short(self.name)
        return name, _with_value(name, self.value)[len(name) :]

    @property
    def backward_lines(self) -> list[str]:
        """The text of its box in the backward graph."""
        return [_short(line) for line in self.backward if line]


@dataclass(slots=True)
class Arrow:
    """An argument on its way into a call, from shape `source` to shape `target`.

    result: which of several results of the source it is. formula: the local gradient; sent: the
    gradient that comes back along it; number: the local gradient's value.
    """

    source: int
    target: int
    result: str = ""
    formula: str = ""
    sent: str = ""
    number: str = ""
    tip: str = ""

    def texts(self, view: str) -> list[tuple[str, str]]:
        """The text beside an arrow, in pieces: (kind, text), where kind is "from", "formula" or
        "number". A long formula is only in the tip."""
        formula = self.formula if view == "forward" else self.sent
        if len(formula) > _LONGEST:
            formula = ""
        pieces = [("from", _short(self.result, 12)), ("formula", formula)]
        if view == "forward" and self.number:
            pieces.append(("number", f"= {self.number}" if formula else self.number))
        return [(kind, text) for kind, text in pieces if text]


@dataclass(slots=True)
class Sketch:
    """The shapes and the arrows of a picture; a message instead where there are too many."""

    title: str
    shapes: list[Shape] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    message: str = ""

    def half(self, view: str) -> tuple[list[tuple[int, Shape]], list[tuple[int, Arrow]]]:
        """The shapes and the arrows of one graph with their numbers: constants have no backward."""
        gone = {n for n, s in enumerate(self.shapes) if s.kind == "constant"}
        gone = gone if view == "backward" else set()
        arrows = [(n, a) for n, a in enumerate(self.arrows) if a.source not in gone]
        return [(n, s) for n, s in enumerate(self.shapes) if n not in gone], arrows


def too_large(graph: Graph) -> str:
    """The sentence in the place of a picture that nobody could read."""
    return (
        f"This graph has {len(graph.nodes):,} nodes, more than a picture can show. "
        "explain.page writes a page on which it can be searched and opened part by part."
    )


def _short(text: str, most: int = 32) -> str:
    return shown_name(text, most)


def _with_value(name: str, value: str) -> str:
    if not name or not value:
        return name or value
    return f"{name} {value}" if value.startswith("(") else f"{name} = {value}"


def sketch(
    function: str,
    graph: Graph,
    view: str,
    numbers: bool | None = True,
    derivatives: bool | None = False,
    fold: bool | None = None,
) -> Sketch:
    """The picture that `explain`'s function draws. numbers: whether local gradients are evaluated.
    fold: None folds a large graph, as little as possible; True folds all modules.
    derivatives: whether a formula begins with `∂b/∂w1 =`."""
    if view not in _VIEWS:
        known = ", ".join(map(repr, _VIEWS))
        raise ValueError(f"explain.{function}: view must be one of {known}, got {view!r}.")
    made = Sketch(_title(graph))
    large = len(graph.nodes) > READABLE
    closed = _closed(graph, 0 if fold else _FOLDED) if fold or (fold is None and large) else {}
    if fold is not False and len(graph.nodes) - len(closed) + len(set(closed.values())) > READABLE:
        made.message = too_large(graph)
        return made
    index: dict[Node, int] = {}
    of_box: dict[Box, int] = {}
    for node in reversed(graph.nodes):
        box = closed.get(node)
        if box is None:
            index[node] = len(made.shapes)
            made.shapes.append(_shape(node))
        else:
            if box not in of_box:
                of_box[box] = len(made.shapes)
                made.shapes.append(_folded(box, sum(b is box for b in closed.values())))
            index[node] = of_box[box]
    for node, _ in graph.roots:
        made.shapes[index[node]].root = True
    _arrows(graph, index, made, local_values(graph) if numbers else {}, derivatives)
    return made


def _arrows(
    graph: Graph,
    index: Mapping[Node, int],
    made: Sketch,
    numbers: Mapping[Edge, object],
    derivatives: bool | None,
) -> None:
    """The arrows to each shape, in the order in which the call is written. Between a folded box and
    another shape there is one arrow."""
    seen: set[tuple[int, int]] = set()
    for node in reversed(graph.nodes):
        at = index[node]
        folded = made.shapes[at].kind == "module"
        for argument in arguments(node):
            if isinstance(argument, Constant):
                if not folded:
                    made.arrows.append(Arrow(len(made.shapes), at))
                    made.shapes.append(_constant(argument))
                continue
            source = index[argument.target]
            if not folded and made.shapes[source].kind != "module":
                made.arrows.append(_arrow(argument, source, at, numbers, derivatives))
            elif source != at and (source, at) not in seen:
                seen.add((source, at))
                made.arrows.append(Arrow(source, at))


def _title(graph: Graph) -> str:
    names = [node.labels.get(nr) or node.title for node, nr in graph.roots]
    return f"The graph of {', '.join(names)}"


def _shape(node: Node) -> Shape:
    names = [node.labels[nr] for nr in sorted(node.labels)]
    known = [number_text(node.values.get(nr)) for nr in sorted(node.labels)]
    value = known[0] if names else number_text(node.values.get(0))
    if len(names) > 1:
        value = ""
        if all(known):
            names = [f"{n} = {k}" for n, k in zip(names, known, strict=True)]
    tip = [node.title if node.kind == "leaf" else node.name]
    if node.outputs:
        tip.append(f"{node.dtype}"[6:] + (f" {shape_text(node.shape)}" if node.shape else ""))
    tip += [f"{k} = {v!r:.60}" for k, v in node.plain.items()]
    tip += node.marks
    if node.scope:
        tip.append("in " + ".".join(node.scope))
    if node.place is not None:
        tip += [str(node.place), node.place.code]
    leaf = node.kind == "leaf"
    return Shape(
        kind={"leaf": "leaf", "function": "function"}.get(node.kind, "op"),
        text=node.title if leaf else sign(node),
        value=value or _shape_of(node),
        name="" if leaf else ", ".join(names),
        backward=(node.name, _whose(node)),
        tip="\n".join(filter(None, tip)),
        scope=node.scope,
    )


def _whose(node: Node) -> str:
    if node.kind == "leaf":
        return f"{shown_name(node.title, 27)}.grad"
    return f"{shown_name(node.label, 24)}.grad_fn" if len(node.labels) == 1 else ""


def _shape_of(node: Node) -> str:
    """The shape of the only result that is used; a number has none to speak of."""
    several = len(node.outputs) > 1 and (len(node.labels) > 1 or any(e.nr for e in node.received))
    return "" if several or math.prod(node.shape) == 1 else shape_text(node.shape)


def _arrow(
    edge: Edge, source: int, target: int, numbers: Mapping[Edge, object], derivatives: bool | None
) -> Arrow:
    formula = local_formula(edge)
    whole = derivative(edge)
    number = number_text(numbers.get(edge))
    text = formula.text
    if (derivatives and formula.is_factor) or (number and not text):
        text = " = ".join(filter(None, (whole, text)))
    tip = " = ".join(filter(None, (whole, formula.text, number)))
    several = len(edge.target.outputs) > 1 and any(e.nr for e in edge.target.received)
    return Arrow(
        source,
        target,
        formula=text,
        sent=sent_on(formula),
        number="" if number == formula.text else number,
        result=(edge.target.labels.get(edge.nr) or f"[{edge.nr}]") if several else "",
        tip=tip,
    )


def _constant(constant: Constant) -> Shape:
    """An operand without gradient, as a shape of its own."""
    text, note = constant.label, number_text(constant.value)
    if isinstance(constant.value, Tensor):
        note = note or shape_text(tuple(constant.value.shape))
        text = text or constant.argument
    return Shape("constant", text, note, tip=f"{constant.argument}, needs no gradient")


# ---- folding


def _closed(graph: Graph, most: int) -> dict[Node, Box]:
    """For the nodes that are folded away the box that is drawn. Modules and the runs of calls in
    them are opened, level by level, as long as there are at most so many boxes."""
    boxes, place = boxes_of(graph, "")
    opened = {boxes[0]}
    count = len(boxes[0].inside)
    levels: dict[tuple[int, bool, int], list[Box]] = {}
    for box in boxes[1:]:
        levels.setdefault((len(box.path), box.kind == "run", _depth(box)), []).append(box)
    for _, level in sorted(levels.items(), key=lambda item: item[0]):
        more = [box for box in level if box.parent in opened]
        count += sum(len(box.inside) - 1 for box in more)
        if count > most:
            break
        opened.update(more)
    found: dict[Node, Box] = {}
    for node, box in place.items():
        outermost = None
        around: Box | None = box
        while around is not None:
            if around not in opened:
                outermost = around
            around = around.parent
        if outermost is not None:
            found[node] = outermost
    return found


def _depth(box: Box) -> int:
    depth = 0
    while box.parent is not None:
        box, depth = box.parent, depth + 1
    return depth


def _folded(box: Box, nodes: int) -> Shape:
    calls = len(box.calls)
    return Shape(
        "module",
        box.title,
        f"{nodes} nodes",
        backward=(box.title, f"{nodes} nodes"),
        tip=f"{'.'.join(box.path)}: {calls} calls, {nodes - calls} leaves",
        scope=box.path,
    )
