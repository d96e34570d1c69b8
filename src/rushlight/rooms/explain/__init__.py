"""rushlight.explain: the graph of a program as a person can read it.

As text: `tree`, `saved`, `why_no_grad`, `unused`. As pictures: `svg`, `dot`, and `graph`, which a
notebook shows. As a page to walk through: `page`, and the command `rushlight explain SCRIPT`. A
training run as it goes: `watch`, and `rushlight run --watch SCRIPT`. Where its time goes:
`profile`, and the command `rushlight profile SCRIPT`. A program that shows pictures and numbers
while it runs, on a page of the site, too: `show` and `live`.

Leaves and results have the names of the program's variables; `names=` takes a module, or a dict of
names to tensors, where these are to go first. Nothing here costs a program that does not use it.
"""

from __future__ import annotations

import os

from ._definitions import op
from ._graph import Constant, Edge, Graph, Node, Place, Saved
from ._names import shown_name
from ._profile import profile
from ._saved import SavedRow, SavedTable, saved
from ._scopes import Recording, graph_of, recording
from ._shown import live, show
from ._text import Markup, Shown, Text, tree
from ._watch import watch
from ._why import Unused, UnusedRow, unused, why_no_grad

__all__ = [
    "Constant",
    "Edge",
    "Graph",
    "Node",
    "Place",
    "Recording",
    "Saved",
    "SavedRow",
    "SavedTable",
    "Text",
    "Unused",
    "UnusedRow",
    "dot",
    "graph",
    "live",
    "op",
    "page",
    "profile",
    "recording",
    "saved",
    "show",
    "shown_name",
    "svg",
    "tree",
    "unused",
    "watch",
    "why_no_grad",
]


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]


def graph(
    y: object,
    *,
    names: object = None,
    fold: bool | None = None,
    height: int = 600,
    recording: Recording | None = None,
) -> Graph:
    """The graph behind `y`, a tensor or several; a notebook shows it as a picture.

    fold: as of `svg`. height: of more pixels the picture scrolls in its cell.

    >>> w = torch.tensor(3.0, requires_grad=True)
    >>> g = torch.explain.graph(w * 2 + w)
    >>> [(edge.source.title, edge.target.title) for edge in g.edges]
    [('add', 'mul'), ('add', 'w'), ('mul', 'w')]
    """
    found = graph_of(y, names, recording)
    found.fold, found.height = fold, height
    return found


def svg(
    y: object,
    *,
    names: object = None,
    view: str = "forward",
    numbers: bool = True,
    derivatives: bool = False,
    fold: bool | None = None,
    recording: Recording | None = None,
) -> str:
    """The graph behind `y` as a picture: the text of an SVG file, which needs nothing else.

    Leaves are dashed boxes, operators are round, named results stand beside them; along each arrow
    stands the local gradient, as a formula and, where it is small, as a number. view: "forward",
    "backward" or "both". derivatives: whether `∂b/∂w =` stands before a formula. fold: True makes
    each outermost module one box; None folds as much as is needed for the graph to be read.

    >>> w, x = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0)
    >>> picture = torch.explain.svg(w * x)
    >>> picture[:4], "<title>The graph of mul</title>" in picture
    ('<svg', True)
    """
    from . import _drawing

    picture = _drawing.svg(
        graph_of(y, names, recording), view, numbers=numbers, derivatives=derivatives, fold=fold
    )
    return Markup(picture)


def dot(
    y: object,
    *,
    names: object = None,
    view: str = "forward",
    numbers: bool = True,
    derivatives: bool = False,
    fold: bool | None = None,
    recording: Recording | None = None,
) -> str:
    """The graph behind `y` in the language of Graphviz, as `svg` shows it, modules as clusters.

    >>> w = torch.tensor(2.0, requires_grad=True)
    >>> print(torch.explain.dot(w.exp()).splitlines()[-2])
      n0 -> n1 [label="exp(w) = 7.389"];
    """
    from . import _drawing

    picture = _drawing.dot(
        graph_of(y, names, recording), view, numbers=numbers, derivatives=derivatives, fold=fold
    )
    return Markup(picture)


def page(
    y: object,
    file: str | os.PathLike[str] | None = None,
    *,
    names: object = None,
    gradient: object = None,
    recording: Recording | None = None,
    program: str | None = None,
    step: int | None = None,
    height: int = 600,
) -> Shown | None:
    """Write a page, one file without network, to walk through the graph of `y` in a browser; or,
    without a file, give the page back, which a notebook's cell shows in so many pixels of height.

    Its numbers come from a backward that is run once more, hooks included; `.grad` and the graph
    stay as they are. gradient: of `y`, where that is no scalar. program, step: what the page says
    about where the graph is from.

    >>> import os, tempfile
    >>> w = torch.tensor(3.0, requires_grad=True)
    >>> loss = (w * 2 - 1) ** 2
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     torch.explain.page(loss, os.path.join(folder, "graph.html"))
    ...     os.listdir(folder)
    ['graph.html']
    """
    from ._cells import Framed
    from ._page import page_html, write_page
    from ._page_data import page_data

    data = page_data(graph_of(y, names, recording), gradient, program=program, step=step)
    if file is None:
        return Framed(page_html(data), height)
    write_page(data, file)
    return None
