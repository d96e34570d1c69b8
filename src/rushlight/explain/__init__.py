"""rushlight.explain: the graph of a program as a person can read it.

As text: `tree`, `saved`, `why_no_grad`, `unused`. As pictures: `svg`, `dot`, and `graph`, which a
notebook shows. As a page to walk through: `page`, and the command `rushlight explain SCRIPT`.

Leaves and results have the names of the program's variables; `names=` takes a module, or a dict of
names to tensors, where these are to go first. Nothing here costs a program that does not use it.
"""

from __future__ import annotations

from typing import Any

from . import _drawing
from ._graph import Constant, Edge, Graph, Node, Place, Saved, graph_of
from ._scopes import Recording, recording

__all__ = [
    "Constant",
    "Edge",
    "Graph",
    "Node",
    "Place",
    "Recording",
    "Saved",
    "dot",
    "graph",
    "recording",
    "svg",
]


def graph(y: Any, *, names: Any = None, recording: Recording | None = None) -> Graph:
    """The graph behind `y`, a tensor or several; a notebook shows it as a picture.

    >>> w = torch.tensor(3.0, requires_grad=True)
    >>> g = torch.explain.graph(w * 2 + w)
    >>> [(edge.source.title, edge.target.title) for edge in g.edges]
    [('add', 'mul'), ('add', 'w'), ('mul', 'w')]
    """
    return graph_of(y, names, recording)


def svg(
    y: Any,
    *,
    names: Any = None,
    view: str = "forward",
    numbers: bool = True,
    fold: bool | None = None,
    recording: Recording | None = None,
) -> str:
    """The graph behind `y` as a picture: the text of an SVG file, which needs nothing else.

    Leaves are dashed boxes, operators are round, named results stand beside them; along each arrow
    stands the local gradient, as a formula and, where it is small, as a number. view: "forward",
    "backward" or "both". fold: whether the calls of a module are one box; None: where the graph is
    too large to be read otherwise.

    >>> w, x = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0)
    >>> picture = torch.explain.svg(w * x)
    >>> picture[:35], "<title>The graph of mul</title>" in picture
    ('<svg xmlns="http://www.w3.org/2000/s', True)
    """
    return _drawing.svg(graph_of(y, names, recording), view, numbers=numbers, fold=fold)


def dot(
    y: Any,
    *,
    names: Any = None,
    view: str = "forward",
    numbers: bool = True,
    fold: bool | None = None,
    recording: Recording | None = None,
) -> str:
    """The graph behind `y` in the language of Graphviz, with what `svg` shows; modules are clusters.

    >>> w = torch.tensor(2.0, requires_grad=True)
    >>> print(torch.explain.dot(w.exp()).splitlines()[-2])
      n0 -> n1 [label="exp(w)"];
    """
    return _drawing.dot(graph_of(y, names, recording), view, numbers=numbers, fold=fold)
