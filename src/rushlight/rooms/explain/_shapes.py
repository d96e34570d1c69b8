"""One shape of a picture: its size, the places where lines meet it, and its SVG."""

from __future__ import annotations

from ._layout import Box
from ._sketch import Shape
from ._svg_text import coordinate as _n
from ._svg_text import width as _width
from ._svg_text import xml as _xml

__all__ = ["drawn", "outline", "room"]

_SIZE, _SMALL = 14.0, 12.0
_HIGH = 30.0


def room(shape: Shape, view: str) -> Box:
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
        half = _width(shape.lines[0], _SMALL) / 2 + 6
        return Box(half, half, 20.0)
    if shape.kind in ("leaf", "module"):
        lines = shape.lines
        half = max(_width(line, _SIZE) for line in lines) / 2 + 11
        return Box(half, half, _HIGH if len(lines) == 1 else 44.0)
    half = _op_half(shape)
    beside = _beside_width(shape)
    return Box(half, half + (5 + beside if beside else 0), _HIGH)


def _backward_size(shape: Shape) -> Box:
    if shape.kind == "constant":
        return Box(0.0, 0.0, 0.0)
    lines = shape.backward_lines
    half = max(_width(line, _SMALL) for line in lines) / 2 + 9
    return Box(half, half, _HIGH if len(lines) == 1 else 40.0)


def outline(shape: Shape, view: str) -> tuple[float, float, float]:
    """Of the outline of a shape: half its height, how far from the axis it is flat, and how far
    lines may reach."""
    size = _forward_size(shape) if view == "forward" else _backward_size(shape)
    half = size.height / 2
    if view == "forward" and shape.kind in ("op", "function"):
        flat = _op_half(shape) - half
        return half, flat, flat + 0.85 * half
    return half, size.left - 8, size.left - 8


def _op_half(shape: Shape) -> float:
    text = shape.lines[0]
    return _HIGH / 2 if len(text) == 1 else max(_HIGH / 2, _width(text, _SIZE) / 2 + 12)


def _beside_width(shape: Shape) -> float:
    name, value = shape.beside
    return _width(name + value, _SIZE if name else _SMALL) + 10 if name or value else 0.0


def drawn(shape: Shape, x: float, y: float, view: str) -> str:
    """The SVG of a shape at its place."""
    if view == "backward":
        kind = "accumulate backward" if shape.kind == "leaf" else "backward"
        body = _framed(shape.backward_lines, x, y, _backward_size(shape))
    elif shape.kind in ("op", "function"):
        kind, body = shape.kind, _operator(shape, x, y)
    else:
        kind, body = shape.kind, _framed(shape.lines, x, y, _forward_size(shape))
    kind += " root" if shape.root else ""
    tip = f"<title>{_xml(shape.tip)}</title>" if shape.tip else ""
    return f'<g class="{kind}">{tip}{body}</g>'


def _framed(lines: list[str], x: float, y: float, size: Box) -> str:
    """Lines of text in a box; what follows the first sign of equality is no name."""
    frame = _rect("", x - size.left, y, size.left + size.right, size.height, 5)
    if len(lines) == 2:
        name = _text("name", x, y - 8, _xml(lines[0]))
        return frame + name + _text("soft small", x, y + 10, _xml(lines[1]))
    name, sign, value = lines[0].partition(" = ")
    return frame + _text("", x, y, _named(name, sign + value))


def _operator(shape: Shape, x: float, y: float) -> str:
    half = _op_half(shape)
    sign = shape.lines[0]
    body = _rect("body", x - half, y, 2 * half, _HIGH, _HIGH / 2)
    body += _text("sign big" if len(sign) == 1 else "sign", x, y, _xml(sign))
    name, value = shape.beside
    wide = _beside_width(shape)
    start = x + half + 5
    if name:
        body += _rect("result", start, y, wide, 22, 4)
        body += _text("", start + wide / 2, y, _named(name, value))
    elif value:
        body += _text("soft small", start + wide / 2, y, _xml(value))
    return body


def _named(name: str, value: str) -> str:
    rest = f'<tspan class="soft">{_xml(value)}</tspan>' if value else ""
    return f'<tspan class="name">{_xml(name)}</tspan>{rest}'


def _rect(kind: str, left: float, middle: float, wide: float, high: float, corner: float) -> str:
    mark = f' class="{kind}"' if kind else ""
    return (
        f'<rect{mark} x="{_n(left)}" y="{_n(middle - high / 2)}" width="{_n(wide)}" '
        f'height="{_n(high)}" rx="{_n(corner)}"/>'
    )


def _text(kind: str, x: float, y: float, inner: str) -> str:
    mark = f' class="{kind}"' if kind else ""
    return f'<text{mark} x="{_n(x)}" y="{_n(y)}" dy=".35em">{inner}</text>'
