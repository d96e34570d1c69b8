"""A picture of a graph as text for Graphviz."""

from __future__ import annotations

from ._graph import Graph
from ._sketch import Shape, Sketch, sketch
from ._svg_text import clean

__all__ = ["dot"]

_STYLE = {
    "leaf": 'shape=box, style="rounded,dashed", color="#0f766e", fontcolor="#0f766e"',
    "op": 'shape=box, style="rounded,filled", fillcolor="#5546c8", fontcolor=white',
    "function": 'shape=box, style="rounded,filled", fillcolor="#9d2f8f", fontcolor=white',
    "constant": 'shape=plaintext, fontsize=10, fontcolor="#667085"',
    "module": 'shape=box, style=filled, fillcolor="#f2f4f7"',
    "backward": 'shape=box, style=filled, fillcolor="#fedf89"',
    "accumulate": 'shape=box, style="filled,dashed", fillcolor="#fedf89"',
}


def dot(graph: Graph, view: str = "forward", **how: bool | None) -> str:
    """The picture as text for Graphviz, with modules as clusters. how: as of `sketch`."""
    drawn = sketch("dot", graph, view, **how)
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
    shapes, arrows = drawn.half(view)
    lines: list[str] = []
    inside: tuple[str, ...] = ()
    clusters = 0
    for number, shape in sorted(shapes, key=lambda item: item[1].scope):
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
    for _, arrow in arrows:
        text = " ".join(piece for _, piece in arrow.texts(view))
        ends = f"{mark}{arrow.source} -> {mark}{arrow.target}"
        words = [f"label={_quoted(text)}"] if text else []
        # The results stand below in both graphs, as in the picture of both.
        words += ["dir=back"] if backward else []
        lines.append(ends + (f" [{', '.join(words)}]" if words else "") + ";")
    return lines


def _dot_shape(shape: Shape, name: str, view: str) -> str:
    if view == "backward":
        lines = shape.backward_lines
        style = _STYLE["accumulate" if shape.kind == "leaf" else "backward"]
    else:
        lines = [*shape.lines, *filter(None, ["".join(shape.beside)])]
        style = _STYLE[shape.kind]
    text = "\n".join(lines)
    return f"{name} [label={_quoted(text)}, {style}];"


def _quoted(text: str) -> str:
    """A string of the DOT language: backslash and quote are escaped, lines end with \\n."""
    text = clean(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'
