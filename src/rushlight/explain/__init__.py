"""rushlight.explain: the graph of a program as a person can read it.

As text: `tree`, `saved`, `why_no_grad`, `unused`. As pictures: `svg`, `dot`, and `graph`, which a
notebook shows. As a page to walk through: `page`, and the command `rushlight explain SCRIPT`.

Leaves and results have the names of the program's variables; `names=` takes a module, or a dict of
names to tensors, where these are to go first. Nothing here costs a program that does not use it.
"""

from __future__ import annotations

from typing import Any

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
    "graph",
    "recording",
]


def graph(y: Any, *, names: Any = None, recording: Recording | None = None) -> Graph:
    """The graph behind `y`, a tensor or several; a notebook shows it as a picture.

    >>> w = torch.tensor(3.0, requires_grad=True)
    >>> g = torch.explain.graph(w * 2 + w)
    >>> [(edge.source.title, edge.target.title) for edge in g.edges]
    [('add', 'mul'), ('add', 'w'), ('mul', 'w')]
    """
    return graph_of(y, names, recording)
