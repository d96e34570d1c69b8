"""Pictures of a graph that need no browser: SVG, the HTML that a notebook shows, Graphviz text.

Leaves are dashed boxes, operators are filled and round, results have the program's names beside
them, and what needs no gradient is small and grey. Along each arrow stands the local gradient. In
the backward graph the boxes are the recorded rules and the arrows show the way of the gradient.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from typing import Any

from ._graph import Edge, Graph
from ._layout import Arrangement, Box, Link, arrange
from ._sketch import Arrow, Shape, Sketch, sketch

__all__ = ["VIEWS", "dot", "html", "svg"]

VIEWS = ("forward", "backward", "both")


def svg(
    graph: Graph, view: str = "forward", *, numbers: bool = True, fold: bool | None = None
) -> str:
    """The picture as SVG."""
    if view not in VIEWS:
        raise ValueError(f"explain.svg: view must be one of {', '.join(VIEWS)}, got {view!r}.")
    drawn = sketch(graph, _numbers(graph) if numbers else {}, fold)
    if drawn.message:
        return _message(drawn)
    return _picture(drawn, view)


def html(graph: Graph) -> str:
    """The picture as a notebook shows it: it scrolls where it is too wide."""
    return f'<div style="overflow: auto; max-width: 100%">{svg(graph)}</div>'


def _numbers(graph: Graph) -> Mapping[Edge, Any]:
    return {}


# ---- text

_UNDRAWABLE = re.compile(
    "[^\t\n\u0020-\u007e\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u202a-\u202e\u2066-\u2069]"
)
"""What XML has no place for, and marks that turn the direction of the text after them."""
_MOST = 32


def _clean(text: str) -> str:
    """Text without control characters."""
    return _UNDRAWABLE.sub("", text)


def _xml(text: str) -> str:
    return escape(_clean(text))


def _short(text: str, most: int = _MOST) -> str:
    """Text on one line that is not too long; the middle of a long one is left out."""
    text = " ".join(_clean(text).split())
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-(most // 2 - 1) :]}"


_WIDTHS = {
    **dict.fromkeys("ijl'|", 0.28),
    **dict.fromkeys("ftrI.,:;!/\\()[] -", 0.39),
    **dict.fromkeys("ABCDEFGHKLNOPQRSTUVXYZ&", 0.71),
    **dict.fromkeys("mwMW%@", 0.96),
    **dict.fromkeys("+=<>−×÷~·", 0.8),
}


def _width(text: str, size: float) -> float:
    """About how wide a text is, in a font that is rather wide. The signs of other scripts may be
    as wide as they are high."""
    return size * sum(_WIDTHS.get(c, 0.62 if c < "\u2e80" else 1.05) for c in text)


# ---- the picture

_STYLE = """
.rl { font: 14px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  --paper: #ffffff; --ink: #1b2330; --soft: #667085; --line: #98a2b3; --op: #5546c8; --on: #ffffff;
  --leaf: #0f766e; --leafpaper: #f0fdfa; --name: #1d4ed8; --namepaper: #eff6ff; --grad: #b54708;
  --back: #fedf89; --onback: #4e1d09; --backline: #dc9a1f; --module: #f2f4f7; }
@media (prefers-color-scheme: dark) { .rl {
  --paper: #11151c; --ink: #e6e9ef; --soft: #98a2b3; --line: #667085; --op: #8b7cf6; --on: #0d0b1f;
  --leaf: #5eead4; --leafpaper: #0d2320; --name: #93c5fd; --namepaper: #14213a; --grad: #fdb022;
  --back: #6b4a0b; --onback: #fef0c7; --backline: #b98518; --module: #1d2430; } }
.rl .paper { fill: var(--paper) }
.rl text { fill: var(--ink); text-anchor: middle; dominant-baseline: central }
.rl .soft { fill: var(--soft) } .rl .small { font-size: 12px }
.rl .edge { fill: none; stroke: var(--line); stroke-width: 1.4 }
.rl .head { fill: var(--line) } .rl .faint { stroke-dasharray: 2 3; stroke-width: 1 }
.rl .grad { fill: var(--grad); font-size: 13px; text-anchor: start }
.rl .grad .number { fill: var(--soft) }
.rl .leaf rect { fill: var(--leafpaper); stroke: var(--leaf); stroke-dasharray: 4 3; stroke-width: 1.4 }
.rl .leaf .name { fill: var(--leaf); font-weight: 600 }
.rl .op .body { fill: var(--op) } .rl .op .sign { fill: var(--on); font-weight: 600 }
.rl .op .big { font-size: 19px; font-weight: 400 }
.rl .function .body { fill: var(--op); stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 1 2 }
.rl .function .sign { fill: var(--on); font-weight: 600 }
.rl .result { fill: var(--namepaper); stroke: var(--name) } .rl .name { fill: var(--name); font-weight: 600 }
.rl .root .result { stroke-width: 2.5 }
.rl .constant text { fill: var(--soft); font-size: 12px }
.rl .constant rect { fill: none; stroke: var(--line); stroke-width: 0.8 }
.rl .module rect { fill: var(--module); stroke: var(--soft); stroke-width: 1.2 }
.rl .backward rect { fill: var(--back); stroke: var(--backline) } .rl .backward text { fill: var(--onback) }
.rl .accumulate rect { stroke-dasharray: 4 3 }
.rl .heading { fill: var(--soft); font-size: 13px; font-weight: 600; letter-spacing: 0.04em }
"""

_SIZE, _SMALL, _GRAD = 14.0, 12.0, 13.0
_HIGH = 30.0
_MARGIN = 18.0
_APART = 60.0


def _picture(drawn: Sketch, view: str) -> str:
    boxes = [_box(shape, view) for shape in drawn.shapes]
    links = [Link(a.source, a.target, _label_size(a, view)) for a in drawn.arrows]
    placed = arrange(boxes, links)
    parts: list[str] = []
    top = _MARGIN + (28 if view == "both" else 0)
    width = placed.width + 2 * _MARGIN
    if view == "both":
        other = placed.width + _APART + _MARGIN
        parts.append(_heading("forward", _MARGIN + placed.width / 2))
        parts.append(_heading("backward", other + placed.width / 2))
        parts += _half(drawn, placed, _MARGIN, top, "forward", False)
        parts += _half(drawn, placed, other, top, "backward", False)
        width += placed.width + _APART
    else:
        parts += _half(drawn, placed, _MARGIN, top, view, view == "backward")
    return _document(drawn, view, width, placed.height + top + _MARGIN, parts)


def _document(drawn: Sketch, view: str, width: float, height: float, parts: list[str]) -> str:
    calls = sum(s.kind in ("op", "function") for s in drawn.shapes)
    leaves = sum(s.kind == "leaf" for s in drawn.shapes)
    about = drawn.message or f"{view}: {calls} calls and {leaves} leaves, with local gradients"
    w, h = _n(width), _n(height)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="rl" role="img" width="{w}" height="{h}" '
            f'viewBox="0 0 {w} {h}">',
            f"<title>{_xml(drawn.title)}</title>",
            f"<desc>{_xml(about)}</desc>",
            f"<style>{escape(_STYLE, quote=False)}</style>",
            f'<rect class="paper" width="{w}" height="{h}" rx="6"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _message(drawn: Sketch) -> str:
    """A sentence where a picture would not be read."""
    lines = [line for line in re.split(r"(?<=\.) ", drawn.message) if line]
    width = max(_width(line, _SIZE) for line in lines) + 2 * _MARGIN
    parts = [
        f'<text x="{_n(width / 2)}" y="{30 + 24 * at}">{_xml(line)}</text>'
        for at, line in enumerate(lines)
    ]
    return _document(drawn, "forward", width, 36 + 24.0 * len(lines), parts)


def _heading(text: str, x: float) -> str:
    return f'<text class="heading" x="{_n(x)}" y="{_n(_MARGIN + 6)}">{text}</text>'


def _half(
    drawn: Sketch, placed: Arrangement, left: float, top: float, view: str, upside_down: bool
) -> list[str]:
    """One graph at its place. upside_down: the results stand above."""

    def at(point: tuple[float, float]) -> tuple[float, float]:
        y = placed.height - point[1] if upside_down else point[1]
        return left + point[0], top + y

    parts: list[str] = []
    for number, arrow in enumerate(drawn.arrows):
        constant = drawn.shapes[arrow.source].kind == "constant"
        if constant and view == "backward":
            continue
        route = [at(p) for p in placed.routes[number]]
        if view == "backward":
            route.reverse()
        label = placed.labels[number]
        text = "" if label is None else _edge_text(arrow, view, *at(label), placed.before[number])
        parts.append(_edge(route, arrow, constant, text))
    for shape, place in zip(drawn.shapes, placed.boxes, strict=True):
        if shape.kind != "constant" or view != "backward":
            parts.append(_drawn(shape, *at(place), view))
    return parts


# ---- boxes


def _box(shape: Shape, view: str) -> Box:
    """How much room a shape needs; for both views, room for either of them."""
    sizes = []
    if view != "backward":
        sizes.append(_forward_size(shape))
    if view != "forward":
        sizes.append(_backward_size(shape))
    return Box(max(s.left for s in sizes), max(s.right for s in sizes), max(s.height for s in sizes))


def _forward_size(shape: Shape) -> Box:
    if shape.kind == "constant":
        half = _width(_constant_text(shape), _SMALL) / 2 + 6
        return Box(half, half, 20.0)
    if shape.kind in ("leaf", "module"):
        lines = _leaf_lines(shape)
        half = max(_width(line, _SIZE) for line in lines) / 2 + 11
        return Box(half, half, _HIGH if len(lines) == 1 else 44.0)
    half = _op_half(shape)
    beside = _beside(shape)
    right = half + (6 + _width(beside, _SIZE) + 14 if beside else 0)
    return Box(half, right, _HIGH)


def _backward_size(shape: Shape) -> Box:
    if shape.kind == "constant":
        return Box(0.0, 0.0, 0.0)
    lines = _backward_lines(shape)
    half = max(_width(line, _SIZE) for line in lines) / 2 + 11
    return Box(half, half, _HIGH if len(lines) == 1 else 44.0)


def _leaf_lines(shape: Shape) -> list[str]:
    """`w = 2` on one line, a name with a shape on two."""
    text = _short(shape.text)
    if shape.kind == "leaf" and shape.value and not shape.value.startswith("("):
        return [f"{text} = {shape.value}"]
    return [text, shape.value] if shape.value else [text]


def _backward_lines(shape: Shape) -> list[str]:
    if shape.kind == "leaf":
        return [shape.backward, f"{_short(shape.text)}.grad"]
    if shape.kind == "module":
        return [_short(shape.text), shape.value]
    return [_short(shape.backward)]


def _constant_text(shape: Shape) -> str:
    text, value = _short(shape.text), shape.value
    if not text or not value:
        return text or value
    return f"{text} {value}" if value.startswith("(") else f"{text} = {value}"


def _op_half(shape: Shape) -> float:
    text = _short(shape.text)
    return _HIGH / 2 if len(text) == 1 else max(_HIGH / 2, _width(text, _SIZE) / 2 + 12)


def _beside(shape: Shape) -> str:
    """The name and the value of a result, or its value alone."""
    name, value = _short(shape.name), shape.value
    if not name or not value:
        return name or value
    return f"{name} {value}" if value.startswith("(") else f"{name} = {value}"


def _drawn(shape: Shape, x: float, y: float, view: str) -> str:
    backward = view == "backward"
    if backward:
        kind = "accumulate backward" if shape.kind == "leaf" else "backward"
        body = _framed(_backward_lines(shape), x, y, _backward_size(shape), 5)
    elif shape.kind == "constant":
        kind = "constant"
        body = _framed([_constant_text(shape)], x, y, _forward_size(shape), 3)
    elif shape.kind in ("leaf", "module"):
        kind = shape.kind
        body = _framed(_leaf_lines(shape), x, y, _forward_size(shape), 5, "name")
    else:
        kind, body = shape.kind, _operator(shape, x, y)
    kind += " root" if shape.root else ""
    tip = f"<title>{_xml(shape.tip)}</title>" if shape.tip else ""
    return f'<g class="{kind}">{tip}{body}</g>'


def _framed(
    lines: list[str], x: float, y: float, size: Box, corner: float, first: str = ""
) -> str:
    """Lines of text in a box."""
    out = [
        f'<rect x="{_n(x - size.left)}" y="{_n(y - size.height / 2)}" '
        f'width="{_n(size.left + size.right)}" height="{_n(size.height)}" rx="{_n(corner)}"/>'
    ]
    if len(lines) == 1:
        name, sign, value = lines[0].partition(" = ") if first else (lines[0], "", "")
        rest = f'<tspan class="soft">{sign}{_xml(value)}</tspan>' if sign else ""
        head = f'<tspan class="{first}">{_xml(name)}</tspan>' if first else _xml(name)
        out.append(f'<text x="{_n(x)}" y="{_n(y)}">{head}{rest}</text>')
    else:
        mark = f' class="{first}"' if first else ""
        out.append(f'<text x="{_n(x)}" y="{_n(y - 8)}"{mark}>{_xml(lines[0])}</text>')
        out.append(f'<text x="{_n(x)}" y="{_n(y + 10)}" class="soft small">{_xml(lines[1])}</text>')
    return "".join(out)


def _operator(shape: Shape, x: float, y: float) -> str:
    half = _op_half(shape)
    text = _short(shape.text)
    sign = "sign big" if len(text) == 1 else "sign"
    out = [
        f'<rect class="body" x="{_n(x - half)}" y="{_n(y - _HIGH / 2)}" width="{_n(2 * half)}" '
        f'height="{_n(_HIGH)}" rx="{_n(_HIGH / 2)}"/>',
        f'<text class="{sign}" x="{_n(x)}" y="{_n(y)}">{_xml(text)}</text>',
    ]
    beside = _beside(shape)
    if beside:
        wide = _width(beside, _SIZE) + 10
        start = x + half + 5
        middle = start + wide / 2
        name = _short(shape.name)
        if name:
            out.append(
                f'<rect class="result" x="{_n(start)}" y="{_n(y - 11)}" width="{_n(wide)}" '
                f'height="22" rx="4"/>'
            )
            rest = f'<tspan class="soft">{_xml(beside[len(name) :])}</tspan>'
            out.append(
                f'<text x="{_n(middle)}" y="{_n(y)}"><tspan class="name">{_xml(name)}</tspan>'
                f"{rest}</text>"
            )
        else:
            out.append(f'<text class="soft small" x="{_n(middle)}" y="{_n(y)}">{_xml(beside)}</text>')
    return "".join(out)


# ---- arrows

_LONGEST = 30
"""A longer formula is shown when the pointer rests on the arrow."""


def _texts(arrow: Arrow, view: str) -> tuple[str, str]:
    """The formula and the number beside an arrow."""
    formula = arrow.formula if view == "forward" else arrow.sent
    number = arrow.number if view == "forward" else ""
    if len(formula) > _LONGEST:
        formula = ""
    return formula, number


def _label_size(arrow: Arrow, view: str) -> tuple[float, float] | None:
    views = ("forward", "backward") if view == "both" else (view,)
    widths = []
    for one in views:
        formula, number = _texts(arrow, one)
        text = " = ".join(filter(None, (formula, number)))
        if text:
            widths.append(_width(text, _GRAD))
    return (max(widths), 18.0) if widths else None


def _edge_text(arrow: Arrow, view: str, x: float, y: float, before: bool) -> str:
    formula, number = _texts(arrow, view)
    text = _xml(formula)
    if number:
        text += f'<tspan class="number">{" = " if formula else ""}{_xml(number)}</tspan>'
    if not text:
        return ""
    if before:
        size = _label_size(arrow, view)
        assert size is not None
    return f'<text class="grad" x="{_n(x)}" y="{_n(y)}">{text}</text>'


_HEAD = 8.0


def _edge(route: list[tuple[float, float]], arrow: Arrow, constant: bool, text: str) -> str:
    """A smooth line through the points of a route, upright at each of them, and its head."""
    (x, y), (end_x, end_y) = route[0], route[-1]
    down = 1 if end_y > y else -1
    route = [*route[:-1], (end_x, end_y - down * (_HEAD - 1))]
    path = [f"M{_n(x)} {_n(y)}"]
    for to_x, to_y in route[1:]:
        if abs(to_x - x) < 0.6:
            path.append(f"L{_n(to_x)} {_n(to_y)}")
        else:
            half = (y + to_y) / 2
            path.append(f"C{_n(x)} {_n(half)} {_n(to_x)} {_n(half)} {_n(to_x)} {_n(to_y)}")
        x, y = to_x, to_y
    tip = f"<title>{_xml(arrow.tip)}</title>" if arrow.tip else ""
    faint = " faint" if constant else ""
    back = _n(end_y - down * _HEAD)
    head = f"M{_n(end_x)} {_n(end_y)}L{_n(end_x - 4)} {back}L{_n(end_x + 4)} {back}Z"
    return (
        f'<g class="arrow">{tip}<path class="edge{faint}" d="{"".join(path)}"/>'
        f'<path class="head" d="{head}"/>{text}</g>'
    )


def _n(value: float) -> str:
    """A coordinate."""
    return f"{value:.1f}".removesuffix(".0")


# ---- Graphviz


def dot(graph: Graph, view: str = "forward") -> str:
    """The picture as text for Graphviz."""
    return ""
