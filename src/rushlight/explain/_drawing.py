"""Pictures of a graph that need no browser: SVG, the HTML that a notebook shows, Graphviz text.

Leaves are dashed boxes, operators are filled and round, results have the program's names beside
them, and what needs no gradient is small and grey. Along each arrow stands the local gradient. In
the backward graph the boxes are the recorded rules and the arrows show the way of the gradient.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

from ._graph import Graph
from ._layout import Arrangement, Box, Link, arrange
from ._numbers import local_values
from ._sketch import Arrow, Shape, Sketch, sketch

__all__ = ["VIEWS", "dot", "html", "svg"]

VIEWS = ("forward", "backward", "both")


def svg(
    graph: Graph,
    view: str = "forward",
    *,
    numbers: bool = True,
    derivatives: bool = False,
    fold: bool | None = None,
) -> str:
    """The picture as SVG."""
    _check_view("svg", view)
    drawn = sketch(graph, local_values(graph) if numbers else {}, fold, derivatives)
    if drawn.message:
        return _message(drawn)
    return _picture(drawn, view)


def _check_view(function: str, view: str) -> None:
    if view not in VIEWS:
        known = ", ".join(map(repr, VIEWS))
        raise ValueError(f"explain.{function}: view must be one of {known}, got {view!r}.")


def html(graph: Graph) -> str:
    """The picture as a notebook shows it: it scrolls where it is too wide."""
    return f'<div style="overflow: auto; max-width: 100%">{svg(graph)}</div>'


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
  --paper: #ffffff; --ink: #1b2330; --soft: #667085; --line: #98a2b3; --op: #5546c8; --own: #9d2f8f; --on: #ffffff;
  --leaf: #0f766e; --leafpaper: #f0fdfa; --name: #1d4ed8; --namepaper: #eff6ff; --grad: #b54708;
  --back: #fedf89; --onback: #4e1d09; --backline: #dc9a1f; --module: #f2f4f7; }
@media (prefers-color-scheme: dark) { .rl {
  --paper: #11151c; --ink: #e6e9ef; --soft: #98a2b3; --line: #667085; --op: #8b7cf6; --own: #e879d9; --on: #0d0b1f;
  --leaf: #5eead4; --leafpaper: #0d2320; --name: #93c5fd; --namepaper: #14213a; --grad: #fdb022;
  --back: #6b4a0b; --onback: #fef0c7; --backline: #b98518; --module: #1d2430; } }
.rl .paper { fill: var(--paper) }
.rl text { fill: var(--ink); text-anchor: middle; dominant-baseline: central }
.rl .soft { fill: var(--soft) } .rl .small { font-size: 12px }
.rl .edge { fill: none; stroke: var(--line); stroke-width: 1.4 }
.rl .head { fill: var(--line) } .rl .faint { stroke-dasharray: 2 3; stroke-width: 1 }
.rl .grad { fill: var(--grad); font-size: 13px; text-anchor: start }
.rl .grad { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round }
.rl .before { text-anchor: end } .rl .grad .number { fill: var(--soft) }
.rl .grad .from { fill: var(--name); font-size: 12px }
.rl .leaf rect { fill: var(--leafpaper); stroke: var(--leaf); stroke-dasharray: 4 3; stroke-width: 1.4 }
.rl .leaf .name { fill: var(--leaf); font-weight: 600 }
.rl .op .body { fill: var(--op) } .rl .op .sign { fill: var(--on); font-weight: 600 }
.rl .op .big { font-size: 19px; font-weight: 400 }
.rl .function .body { fill: var(--own) }
.rl .function .sign { fill: var(--on); font-weight: 600 }
.rl .result { fill: var(--namepaper); stroke: var(--name) } .rl .name { fill: var(--name); font-weight: 600 }
.rl .root .result { stroke-width: 2.5 }
.rl .constant text { fill: var(--soft); font-size: 12px }
.rl .constant rect { fill: none; stroke: var(--line); stroke-width: 0.8 }
.rl .module rect { fill: var(--module); stroke: var(--soft); stroke-width: 1.2 }
.rl .backward rect { fill: var(--back); stroke: var(--backline) } .rl .backward text { fill: var(--onback); font-size: 12px }
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
        for at, one in ((_MARGIN, "forward"), (other, "backward")):
            parts += _half(drawn, placed, _Place(at, top, placed.height, False), one)
        width += placed.width + _APART
    else:
        place = _Place(_MARGIN, top, placed.height, view == "backward")
        parts += _half(drawn, placed, place, view)
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


@dataclass(frozen=True, slots=True)
class _Place:
    """Where one graph is drawn. turned: its results stand above."""

    left: float
    top: float
    height: float
    turned: bool

    def of(self, x: float, y: float) -> tuple[float, float]:
        """A point of the arrangement as one of the picture."""
        return self.left + x, self.top + (self.height - y if self.turned else y)


def _half(drawn: Sketch, placed: Arrangement, place: _Place, view: str) -> list[str]:
    """One graph at its place, the lines below the boxes."""
    parts: list[str] = []
    backward = view == "backward"
    ports = _ports(drawn, placed, view)
    for number, arrow in enumerate(drawn.arrows):
        source, target = drawn.shapes[arrow.source], drawn.shapes[arrow.target]
        if source.kind == "constant" and backward:
            continue
        curve = _Curve(_points(drawn, placed, view, number, *ports[number]))
        line = _line(arrow, curve, place, backward, source.kind == "constant")
        label = placed.labels[number]
        if label is not None:
            line += _beside_line(arrow, curve, label[1], placed.before[number], place, view)
        tip = f"<title>{_xml(arrow.tip)}</title>" if arrow.tip else ""
        parts.append(f'<g class="arrow">{tip}{line}</g>')
    for shape, point in zip(drawn.shapes, placed.boxes, strict=True):
        if shape.kind != "constant" or not backward:
            parts.append(_drawn(shape, *place.of(*point), view))
    return parts


# ---- boxes


def _box(shape: Shape, view: str) -> Box:
    """How much room a shape needs; for both views, room for either of them."""
    sizes = []
    if view != "backward":
        sizes.append(_forward_size(shape))
    if view != "forward":
        sizes.append(_backward_size(shape))
    return Box(
        max(s.left for s in sizes), max(s.right for s in sizes), max(s.height for s in sizes)
    )


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
    return Box(half, half + (5 + _beside_width(shape) if beside else 0), _HIGH)


def _backward_size(shape: Shape) -> Box:
    if shape.kind == "constant":
        return Box(0.0, 0.0, 0.0)
    lines = _backward_lines(shape)
    half = max(_width(line, _SMALL) for line in lines) / 2 + 9
    return Box(half, half, _HIGH if len(lines) == 1 else 40.0)


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


def _beside_width(shape: Shape) -> float:
    return _width(_beside(shape), _SIZE if shape.name else _SMALL) + 10


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


def _framed(lines: list[str], x: float, y: float, size: Box, corner: float, first: str = "") -> str:
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
        wide = _beside_width(shape)
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
            out.append(
                f'<text class="soft small" x="{_n(middle)}" y="{_n(y)}">{_xml(beside)}</text>'
            )
    return "".join(out)


# ---- arrows

_LONGEST = 30
"""A longer formula is shown when the pointer rests on the arrow."""


def _texts(arrow: Arrow, view: str) -> list[tuple[str, str]]:
    """What stands beside an arrow, in pieces: (class, text)."""
    formula = arrow.formula if view == "forward" else arrow.sent
    if len(formula) > _LONGEST:
        formula = ""
    pieces = [("from", _short(arrow.result, 12)), ("", formula)]
    if view == "forward" and arrow.number:
        pieces.append(("number", f"= {arrow.number}" if formula else arrow.number))
    return [(kind, text) for kind, text in pieces if text]


def _label_size(arrow: Arrow, view: str) -> tuple[float, float] | None:
    views = ("forward", "backward") if view == "both" else (view,)
    texts = [" ".join(text for _, text in _texts(arrow, one)) for one in views]
    width = max(_width(text, _GRAD) for text in texts)
    return (width + 14, _TEXT + 2) if width else None


_Point: TypeAlias = tuple[float, float]
_HEAD = 8.0
_TEXT = 16.0
"""The height of a text beside an arrow."""
_CLEAR = 5.0
_STEEP = 1.6


class _Curve:
    """A smooth line from one shape down to another through the points of a route: x as a function
    of y, which turns back nowhere."""

    def __init__(self, points: list[tuple[float, float]]) -> None:
        self.points = points
        steps = [
            (b[0] - a[0]) / (b[1] - a[1]) if b[1] > a[1] else 0.0
            for a, b in zip(points, points[1:], strict=False)
        ]
        inner = [
            2 * a * b / (a + b) if a * b > 0 else 0.0
            for a, b in zip(steps, steps[1:], strict=False)
        ]
        # Where a text may stand, the line is rather steep.
        inner = [max(-_STEEP, min(_STEEP, slope)) for slope in inner]
        self.slopes = [steps[0] * 0.7, *inner, steps[-1] * 0.7]

    def path(self, place: _Place) -> str:
        """As an SVG path."""
        x, y = self.points[0]
        parts = [f"M{_point(place, x, y)}"]
        for at in range(1, len(self.points)):
            to_x, to_y = self.points[at]
            third = (to_y - y) / 3
            a, b = x + self.slopes[at - 1] * third, to_x - self.slopes[at] * third
            ways = (a, y + third), (b, to_y - third), (to_x, to_y)
            parts.append("C" + " ".join(_point(place, *way) for way in ways))
            x, y = to_x, to_y
        return "".join(parts)

    def at(self, y: float) -> float:
        """x at a height."""
        for at in range(1, len(self.points)):
            (x0, y0), (x1, y1) = self.points[at - 1], self.points[at]
            if y <= y1 or at == len(self.points) - 1:
                h = y1 - y0
                t = min(1.0, max(0.0, (y - y0) / h)) if h else 1.0
                u = 1 - t
                start, end = self.slopes[at - 1] * h, self.slopes[at] * h
                return (
                    u * u * (1 + 2 * t) * x0
                    + t * t * (3 - 2 * t) * x1
                    + t * u * (u * start - t * end)
                )
        return self.points[0][0]


def _ports(
    drawn: Sketch, placed: Arrangement, view: str
) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Where each arrow leaves its upper shape and meets its lower one: in the direction in which it
    goes on, but apart from its neighbours."""
    found = [[(0.0, 0.0), (0.0, 0.0)] for _ in drawn.arrows]
    meeting: dict[tuple[int, int], list[tuple[float, int, tuple[float, float]]]] = {}
    for at, arrow in enumerate(drawn.arrows):
        route = placed.routes[at]
        start, end = placed.boxes[arrow.source], placed.boxes[arrow.target]
        for which, shape, axis, near in (
            (0, arrow.source, start, (route or [end])[0]),
            (1, arrow.target, end, (route or [start])[-1]),
        ):
            slope = (near[0] - axis[0]) / max(1.0, abs(near[1] - axis[1]))
            meeting.setdefault((shape, which), []).append((slope, at, near))
    for (number, which), ends in meeting.items():
        shape, (x, y) = drawn.shapes[number], placed.boxes[number]
        half, flat, reach = _outline(shape, view)
        round_off = half if flat < reach else 0.0
        ends.sort(key=lambda e: (e[0], e[1]))
        wanted = [half * slope / math.hypot(1, slope if round_off else 0) for slope, *_ in ends]
        for (_, at, near), offset in zip(ends, _spread(wanted, reach), strict=True):
            over = max(0.0, abs(offset) - flat)
            height = math.sqrt(max(0.0, half * half - over * over)) if round_off else half
            tip = x + offset, y + (height if which == 0 else -height)
            found[at][which] = tip
    return [(a, b) for a, b in found]


def _points(
    drawn: Sketch, placed: Arrangement, view: str, number: int, start: _Point, end: _Point
) -> list[_Point]:
    """The points of an arrow. Beside its own shape it stays out of the row, where neighbours are."""
    arrow = drawn.arrows[number]
    points = [start, *placed.routes[number], end]
    out = _outside(drawn, placed, view, arrow.source, 1, start, points[1])
    into = _outside(drawn, placed, view, arrow.target, 0, end, points[-2])
    return [start, *out, *placed.routes[number], *into, end]


def _outside(
    drawn: Sketch, placed: Arrangement, view: str, at: int, side: int, port: _Point, near: _Point
) -> list[_Point]:
    """The point at which a line has to come into a row, where it would come in too far off."""
    edge = placed.bands[at][side]
    half, flat, _ = _outline(drawn.shapes[at], view)
    axis, middle = placed.boxes[at]
    if abs(edge - middle) < half + 3 or abs(near[1] - port[1]) < abs(edge - port[1]) + 3:
        return []
    share = (edge - port[1]) / (near[1] - port[1])
    x = port[0] + share * (near[0] - port[0])
    held = max(axis - flat - half - 6, min(axis + flat + half + 6, x))
    return [] if held == x else [(held, edge)]


def _outline(shape: Shape, view: str) -> tuple[float, float, float]:
    """Of the outline of a shape: half its height, how far from the axis it is flat, and how far
    lines may reach."""
    size = _forward_size(shape) if view == "forward" else _backward_size(shape)
    half = size.height / 2
    if view == "forward" and shape.kind in ("op", "function"):
        flat = _op_half(shape) - half
        return half, flat, flat + 0.85 * half
    return half, size.left - 8, size.left - 8


def _spread(wanted: list[float], reach: float) -> list[float]:
    """Sorted places, at least a little apart and within reach."""
    if len(wanted) == 1:
        return [max(-reach, min(reach, wanted[0]))]
    apart = min(10.0, 2 * reach / (len(wanted) - 1))
    last = len(wanted) - 1
    low = -reach
    found = []
    for at, want in enumerate(wanted):
        found.append(min(max(want, low), reach - (last - at) * apart))
        low = found[-1] + apart
    # So far neighbours are only pushed to the right. An upright line is to stay upright; else all
    # move back by the mean.
    off = [f - max(-reach, min(reach, w)) for f, w in zip(found, wanted, strict=True)]
    upright = [f for f, w in zip(found, wanted, strict=True) if abs(w) < 0.5]
    excess = upright[0] if upright else sum(off) / len(off)
    shift = max(-reach - found[0], min(reach - found[-1], -excess))
    return [f + shift for f in found]


def _line(arrow: Arrow, curve: _Curve, place: _Place, up: bool, faint: bool) -> str:
    """The line of an arrow and its head, at the lower end or, where the gradient flows, the upper."""
    x, y = curve.points[0 if up else -1]
    slope = curve.slopes[0 if up else -1]
    length = math.hypot(slope, 1) / (_HEAD if up else -_HEAD)
    along, across = (slope / length, 1 / length), (0.5 / length, -0.5 * slope / length)
    head = [
        (x, y),
        (x + along[0] + across[0], y + along[1] + across[1]),
        (x + along[0] - across[0], y + along[1] - across[1]),
    ]
    corners = "L".join(_point(place, *corner) for corner in head)
    kind = "edge faint" if faint else "edge"
    return f'<path class="{kind}" d="{curve.path(place)}"/><path class="head" d="M{corners}Z"/>'


def _beside_line(
    arrow: Arrow, curve: _Curve, y: float, before: bool, place: _Place, view: str
) -> str:
    """The text of an arrow, clear of its line."""
    text = " ".join(
        f'<tspan class="{kind}">{_xml(piece)}</tspan>' if kind else _xml(piece)
        for kind, piece in _texts(arrow, view)
    )
    if not text:
        return ""
    xs = [curve.at(y + d) for d in (-_TEXT / 2, 0, _TEXT / 2)]
    x, y = place.of(min(xs) - _CLEAR if before else max(xs) + _CLEAR, y)
    kind = "grad before" if before else "grad"
    return f'<text class="{kind}" x="{_n(x)}" y="{_n(y)}">{text}</text>'


def _point(place: _Place, x: float, y: float) -> str:
    x, y = place.of(x, y)
    return f"{_n(x)} {_n(y)}"


def _n(value: float) -> str:
    """A coordinate."""
    return f"{value:.1f}".removesuffix(".0")


# ---- Graphviz

_DOT_STYLE = {
    "leaf": 'shape=box, style="rounded,dashed", color="#0f766e", fontcolor="#0f766e"',
    "op": 'shape=box, style="rounded,filled", fillcolor="#5546c8", fontcolor=white',
    "function": 'shape=box, style="rounded,filled", fillcolor="#9d2f8f", fontcolor=white',
    "constant": 'shape=plaintext, fontsize=10, fontcolor="#667085"',
    "module": 'shape=box, style=filled, fillcolor="#f2f4f7"',
    "backward": 'shape=box, style=filled, fillcolor="#fedf89"',
    "accumulate": 'shape=box, style="filled,dashed", fillcolor="#fedf89"',
}


def dot(
    graph: Graph,
    view: str = "forward",
    *,
    numbers: bool = True,
    derivatives: bool = False,
    fold: bool | None = None,
) -> str:
    """The picture as text for Graphviz, with modules as clusters."""
    _check_view("dot", view)
    drawn = sketch(graph, local_values(graph) if numbers else {}, fold, derivatives)
    lines = ["digraph {", f"  label={_quoted(drawn.title)};", '  node [fontname="sans-serif"];']
    lines.append('  edge [fontname="sans-serif", fontsize=10, fontcolor="#b54708"];')
    if drawn.message:
        lines.append(f"  message [shape=plaintext, label={_quoted(drawn.message)}];")
    both = view == "both"
    for one in ("forward", "backward") if both else (view,):
        indent = "    " if both else "  "
        if both:
            lines += [f"  subgraph cluster_{one} {{", f"    label={one};"]
        lines += [indent + line for line in _dot_half(drawn, one)]
        if both:
            lines.append("  }")
    return "\n".join([*lines, "}", ""])


def _dot_half(drawn: Sketch, view: str) -> list[str]:
    """The statements of one graph."""
    backward = view == "backward"
    mark = "b" if backward else "n"
    shown = [n for n, s in enumerate(drawn.shapes) if not (backward and s.kind == "constant")]
    lines: list[str] = []
    inside: tuple[str, ...] = ()
    clusters = 0
    for number in sorted(shown, key=lambda n: drawn.shapes[n].scope):
        shape = drawn.shapes[number]
        scope = shape.scope[:-1] if shape.kind == "module" else shape.scope
        common = 0
        while common < min(len(scope), len(inside)) and scope[common] == inside[common]:
            common += 1
        lines += ["  " * at + "}" for at in reversed(range(common, len(inside)))]
        for at in range(common, len(scope)):
            name = f"cluster_{mark}{clusters}"
            lines.append("  " * at + f"subgraph {name} {{ label={_quoted(scope[at])};")
            clusters += 1
        inside = scope
        lines.append("  " * len(inside) + _dot_shape(shape, f"{mark}{number}", view))
    lines += ["  " * at + "}" for at in reversed(range(len(inside)))]
    for arrow in drawn.arrows:
        if backward and drawn.shapes[arrow.source].kind == "constant":
            continue
        text = " ".join(piece for _, piece in _texts(arrow, view))
        ends = f"{mark}{arrow.source} -> {mark}{arrow.target}"
        words = [f"label={_quoted(text)}"] if text else []
        # The results stand below in both graphs, as in the picture of both.
        words += ["dir=back"] if backward else []
        lines.append(ends + (f" [{', '.join(words)}]" if words else "") + ";")
    return lines


def _dot_shape(shape: Shape, name: str, view: str) -> str:
    if view == "backward":
        text = "\n".join(_backward_lines(shape))
        style = _DOT_STYLE["accumulate" if shape.kind == "leaf" else "backward"]
    else:
        style = _DOT_STYLE[shape.kind]
        if shape.kind == "constant":
            text = _constant_text(shape)
        elif shape.kind in ("leaf", "module"):
            text = "\n".join(_leaf_lines(shape))
        else:
            text = "\n".join(filter(None, (_short(shape.text), _beside(shape))))
    return f"{name} [label={_quoted(text)}, {style}];"


def _quoted(text: str) -> str:
    """A string of the DOT language: backslash and quote are escaped, lines end with \\n."""
    text = _clean(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'
