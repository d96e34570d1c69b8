"""The arrows of a picture: smooth lines between shapes, and the texts beside them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from ._layout import Arrangement
from ._shapes import outline
from ._sketch import Arrow, Sketch
from ._svg_text import coordinate as _n
from ._svg_text import width as _width
from ._svg_text import xml as _xml

__all__ = ["Place", "arrows", "label_size"]

_Point: TypeAlias = tuple[float, float]
_HEAD = 8.0
_GRAD = 13.0
_TEXT = 16.0
"""The height of a text beside an arrow."""
_CLEAR = 5.0
_STEEP = 1.6


@dataclass(frozen=True, slots=True)
class Place:
    """Where one graph is drawn. turned: its results stand above."""

    left: float
    top: float
    height: float
    turned: bool

    def of(self, x: float, y: float) -> tuple[float, float]:
        """A point of the arrangement as one of the picture."""
        return self.left + x, self.top + (self.height - y if self.turned else y)


def label_size(arrow: Arrow, view: str) -> tuple[float, float] | None:
    views = ("forward", "backward") if view == "both" else (view,)
    texts = [" ".join(text for _, text in arrow.texts(one)) for one in views]
    width = max(_width(text, _GRAD) for text in texts)
    return (width + 14, _TEXT + 2) if width else None


def arrows(drawn: Sketch, placed: Arrangement, place: Place, view: str) -> list[str]:
    """All arrows of one graph."""
    backward = view == "backward"
    ports = _ports(drawn, placed, view)
    parts: list[str] = []
    for number, arrow in drawn.half(view)[1]:
        constant = drawn.shapes[arrow.source].kind == "constant"
        curve = _Curve(_points(drawn, placed, view, number, *ports[number]))
        line = _line(curve, place, backward, constant)
        label = placed.labels[number]
        if label is not None:
            line += _beside(arrow, curve, label[1], placed.before[number], place, view)
        tip = f"<title>{_xml(arrow.tip)}</title>" if arrow.tip else ""
        parts.append(f'<g class="arrow">{tip}{line}</g>')
    return parts


class _Curve:
    """A smooth line from one shape down to another through the points of a route: x as a function
    of y, which turns back nowhere."""

    def __init__(self, points: list[tuple[float, float]]) -> None:
        self.points = points
        steps = [(b[0] - a[0]) / (b[1] - a[1]) if b[1] > a[1] else 0.0 for a, b in pairwise(points)]
        inner = [2 * a * b / (a + b) if a * b > 0 else 0.0 for a, b in pairwise(steps)]
        # Where a text may stand, the line is rather steep.
        inner = [max(-_STEEP, min(_STEEP, slope)) for slope in inner]
        self.slopes = [steps[0] * 0.7, *inner, steps[-1] * 0.7]

    def path(self, place: Place) -> str:
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
    """Where each arrow leaves its upper shape and meets its lower shape: in the direction of its
    way, but apart from its neighbours."""
    found = [[(0.0, 0.0), (0.0, 0.0)] for _ in drawn.arrows]
    meeting: dict[tuple[int, int], list[tuple[float, int]]] = {}
    for at, arrow in enumerate(drawn.arrows):
        route = placed.routes[at]
        start, end = placed.boxes[arrow.source], placed.boxes[arrow.target]
        for which, number, axis, near in (
            (0, arrow.source, start, (route or [end])[0]),
            (1, arrow.target, end, (route or [start])[-1]),
        ):
            slope = (near[0] - axis[0]) / max(1.0, abs(near[1] - axis[1]))
            meeting.setdefault((number, which), []).append((slope, at))
    for (number, which), ends in meeting.items():
        shape, (x, y) = drawn.shapes[number], placed.boxes[number]
        half, flat, reach = outline(shape, view)
        round_off = half if flat < reach else 0.0
        ends.sort()
        wanted = [half * slope / math.hypot(1, slope if round_off else 0) for slope, _ in ends]
        for (_, at), offset in zip(ends, _spread(wanted, reach), strict=True):
            over = max(0.0, abs(offset) - flat)
            height = math.sqrt(max(0.0, half * half - over * over)) if round_off else half
            tip = x + offset, y + (height if which == 0 else -height)
            found[at][which] = tip
    return [(a, b) for a, b in found]


def _points(
    drawn: Sketch, placed: Arrangement, view: str, number: int, start: _Point, end: _Point
) -> list[_Point]:
    """The points of an arrow. Into a row with high neighbours it comes near its own shape."""
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
    half, flat, _ = outline(drawn.shapes[at], view)
    axis = placed.boxes[at][0]
    way = near[1] - port[1]
    if abs(way) < abs(edge - port[1]) + 3:
        return []
    x = port[0] + (edge - port[1]) / way * (near[0] - port[0])
    reach = flat + half + 8
    if abs(x - axis) < reach + 10:
        return []
    return [(axis + math.copysign(reach, x - axis), edge)]


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


def _line(curve: _Curve, place: Place, up: bool, faint: bool) -> str:
    """The line of an arrow and its head, at its lower end or, `up`, at the upper one."""
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


def _beside(arrow: Arrow, curve: _Curve, y: float, before: bool, place: Place, view: str) -> str:
    """The text of an arrow, clear of its line."""
    text = " ".join(
        f'<tspan class="{kind}">{_xml(piece)}</tspan>' if kind != "formula" else _xml(piece)
        for kind, piece in arrow.texts(view)
    )
    if not text:
        return ""
    xs = [curve.at(y + d) for d in (-_TEXT / 2, 0, _TEXT / 2)]
    x, y = place.of(min(xs) - _CLEAR if before else max(xs) + _CLEAR, y)
    kind = "grad before" if before else "grad"
    return f'<text class="{kind}" x="{_n(x)}" y="{_n(y)}" dy=".35em">{text}</text>'


def _point(place: Place, x: float, y: float) -> str:
    x, y = place.of(x, y)
    return f"{_n(x)} {_n(y)}"
