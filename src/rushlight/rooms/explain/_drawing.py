"""Pictures of a graph that need no browser: SVG, the HTML that a notebook shows, Graphviz text.

Leaves are dashed boxes, operators are filled and round, results have the program's names beside
them, and what needs no gradient is small and grey. Along each arrow stands the local gradient. In
the backward graph the boxes are the recorded rules and the arrows show the way of the gradient.
"""

from __future__ import annotations

import re
from html import escape

from ._arrows import Place, arrows, label_size
from ._dot import dot
from ._graph import Graph
from ._layout import Arrangement, Link, arrange, points
from ._shapes import drawn as _shape
from ._shapes import room
from ._sketch import Sketch, sketch, too_large
from ._svg_text import coordinate as _n
from ._svg_text import width as _width
from ._svg_text import xml as _xml

__all__ = ["DARK", "LIGHT", "dot", "html", "svg", "themed"]


def svg(graph: Graph, view: str = "forward", **how: bool | None) -> str:
    """The picture as SVG. how: as of `sketch`."""
    drawn = sketch("svg", graph, view, **how)
    if not drawn.message:
        boxes = [room(shape, view) for shape in drawn.shapes]
        links = [Link(a.source, a.target, label_size(a, view)) for a in drawn.arrows]
        if points(len(boxes), links) <= _MOST:
            return _picture(drawn, arrange(boxes, links), view)
        drawn.message = too_large(graph)
    return _message(drawn)


def html(graph: Graph) -> str:
    """The picture as a notebook shows it: it scrolls where it is too large, and is dark where the
    notebook is."""
    frame = f"overflow: auto; max-width: 100%; max-height: {graph.height}px"
    theme = themed(".rl", LIGHT, DARK)
    return f'{theme}<div style="{frame}">{svg(graph, fold=graph.fold)}</div>'


_THEMES = """[data-jp-theme-light="{0}"] {1}, body.vscode-{2} {1}, html[theme="{2}"] {1}"""


def themed(element: str, light: str, dark: str) -> str:
    """A style for an element in a notebook of JupyterLab, VS Code or Colab, by the theme there."""
    rules = zip(("true", "false"), ("light", "dark"), (light, dark), strict=True)
    lines = [f"{_THEMES.format(jupyter, element, name)} {{ {to} }}" for jupyter, name, to in rules]
    return f"<style>{' '.join(lines)}</style>"


# ---- the picture

LIGHT = """
  --paper: #ffffff; --ink: #1b2330; --soft: #667085; --line: #98a2b3; --module: #f2f4f7;
  --op: #5546c8; --own: #9d2f8f; --on: #ffffff; --leaf: #0f766e; --leafpaper: #f0fdfa;
  --name: #1d4ed8; --namepaper: #eff6ff; --grad: #b54708;
  --back: #fedf89; --onback: #4e1d09; --backline: #dc9a1f"""
DARK = """
  --paper: #11151c; --ink: #e6e9ef; --soft: #98a2b3; --line: #667085; --module: #1d2430;
  --op: #8b7cf6; --own: #e879d9; --on: #0d0b1f; --leaf: #5eead4; --leafpaper: #0d2320;
  --name: #93c5fd; --namepaper: #14213a; --grad: #fdb022;
  --back: #6b4a0b; --onback: #fef0c7; --backline: #b98518"""
_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
_STYLE = f"""
.rl {{ font: 14px {_FONT};{LIGHT} }}
@media (prefers-color-scheme: dark) {{ .rl {{{DARK} }} }}
"""
_STYLE += """\
.rl .paper { fill: var(--paper) }
.rl text { fill: var(--ink); text-anchor: middle }
.rl .name { fill: var(--name); font-weight: 600 }
.rl .soft { fill: var(--soft) }
.rl .small { font-size: 12px }
.rl .heading { fill: var(--soft); font-size: 13px; font-weight: 600 }
.rl .edge { fill: none; stroke: var(--line); stroke-width: 1.4 }
.rl .faint { stroke-dasharray: 2 3; stroke-width: 1 }
.rl .head { fill: var(--line) }
.rl .grad { fill: var(--grad); font-size: 13px; text-anchor: start;
  paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round }
.rl .before { text-anchor: end }
.rl .grad .number { fill: var(--soft) }
.rl .grad .from { fill: var(--name); font-size: 12px }
.rl .leaf rect { fill: var(--leafpaper); stroke: var(--leaf); stroke-dasharray: 4 3;
  stroke-width: 1.4 }
.rl .leaf .name { fill: var(--leaf) }
.rl .body { fill: var(--op) }
.rl .function .body { fill: var(--own) }
.rl .sign { fill: var(--on); font-weight: 600 }
.rl .big { font-size: 19px; font-weight: 400 }
.rl .result { fill: var(--namepaper); stroke: var(--name) }
.rl .root .result { stroke-width: 2.5 }
.rl .constant rect { fill: none; stroke: var(--line); stroke-width: 0.8 }
.rl .constant text, .rl .constant tspan { fill: var(--soft); font-size: 12px; font-weight: 400 }
.rl .module rect { fill: var(--module); stroke: var(--soft); stroke-width: 1.2 }
.rl .backward rect { fill: var(--back); stroke: var(--backline) }
.rl .backward text, .rl .backward tspan { fill: var(--onback); font-size: 12px; font-weight: 400 }
.rl .accumulate rect { stroke-dasharray: 4 3 }
"""

_MOST = 10_000
"""With more points a picture is a tangle."""
_MARGIN = 18.0
_APART = 60.0
_SIZE = 14.0


def _picture(drawn: Sketch, placed: Arrangement, view: str) -> str:
    parts: list[str] = []
    top = _MARGIN + (28 if view == "both" else 0)
    width = placed.width + 2 * _MARGIN
    if view == "both":
        other = placed.width + _APART + _MARGIN
        parts.append(_heading("forward", _MARGIN + placed.width / 2))
        parts.append(_heading("backward", other + placed.width / 2))
        for at, one in ((_MARGIN, "forward"), (other, "backward")):
            parts += _half(drawn, placed, Place(at, top, placed.height, False), one)
        width += placed.width + _APART
    else:
        place = Place(_MARGIN, top, placed.height, view == "backward")
        parts += _half(drawn, placed, place, view)
    return _document(drawn, view, width, placed.height + top + _MARGIN, parts)


def _document(drawn: Sketch, view: str, width: float, height: float, parts: list[str]) -> str:
    calls = sum(s.kind in ("op", "function") for s in drawn.shapes)
    leaves = sum(s.kind == "leaf" for s in drawn.shapes)
    about = drawn.message or f"{view}: {calls} calls and {leaves} leaves, with local gradients"
    w, h = _n(width), _n(height)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="rl" role="img" width="{w}" '
            f'height="{h}" viewBox="0 0 {w} {h}">',
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
        f'<text x="{_n(width / 2)}" y="{35 + 24 * at}">{_xml(line)}</text>'
        for at, line in enumerate(lines)
    ]
    return _document(drawn, "forward", width, 36 + 24.0 * len(lines), parts)


def _heading(text: str, x: float) -> str:
    return f'<text class="heading" x="{_n(x)}" y="{_n(_MARGIN + 11)}">{text}</text>'


def _half(drawn: Sketch, placed: Arrangement, place: Place, view: str) -> list[str]:
    """One graph at its place, the lines below the boxes."""
    parts = arrows(drawn, placed, place, view)
    shapes, _ = drawn.half(view)
    return parts + [_shape(shape, *place.of(*placed.boxes[n]), view) for n, shape in shapes]
