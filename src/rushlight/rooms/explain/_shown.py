"""`show` and `live`: what a program shows of itself while it runs, wherever that is.

A page of the documentation's site runs programs in the browser; there the module rushlight_page
stands beside the program, and takes all that is shown. Everywhere else a picture goes into a
notebook's cell or a file; numbers go nowhere.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._base.sources import shell
from .._core import Tensor
from ._cells import Framed
from ._graph import Graph
from ._scopes import graph_of

__all__ = ["live", "show"]

_written: set[str] = set()


def show(value: object = None) -> None:
    """Show a picture (the text of an SVG, a graph) or a page of `explain`; of others the text.
    Without a value: the graph of the program's last variable that has a history.

    On a page of the site it appears below the program, in a notebook in the cell; elsewhere it goes
    into a file, whose name is printed once. A picture whose `<svg>` has an `id` takes the place of
    an earlier one with the same `id`, the name of the file: so pictures are drawn anew.

    >>> torch.explain.show(torch.tensor(2.0))
    tensor(2.)
    """
    if value is None and (value := _latest()) is None:
        return
    to_page = _of_page("show")
    if to_page is not None:
        to_page(value)
        return
    if isinstance(value, Graph):
        value = value._repr_svg_()
    if isinstance(value, Framed):
        kind, text = "html", value.text
    elif isinstance(value, str) and value.lstrip().startswith("<svg"):
        kind, text = "svg", str.__str__(value)
    else:
        print(repr(value))
        return
    if shell() is not None:
        from IPython import display

        notebook: Any = display
        notebook.display(value if isinstance(value, Framed) else notebook.SVG(text))
        return
    named = re.match(r"\s*<svg[^>]*?\sid=[\"']([\w-]+)", text)
    file = f"{named[1] if named else 'shown'}.{kind}"
    Path(file).write_text(text, encoding="utf-8")
    if file not in _written:
        _written.add(file)
        print(f"a picture: {file}" if kind == "svg" else f"a page: {file}")


def _latest() -> Graph | None:
    """The graph of the program's last variable that has a history."""
    for value in reversed(vars(sys.modules["__main__"]).values()):
        if isinstance(value, Tensor) and value.grad_fn is not None:
            return graph_of(value, None, None)
    return None


def live(**numbers: float) -> None:
    """Tell numbers of this moment: `live(step=i, loss=loss)`. A page of the site draws their curves
    over `step`, or over the calls. Elsewhere nothing happens: see `watch`, which needs no call.

    >>> for step in range(3):
    ...     loss = torch.tensor(1 / (step + 1))
    ...     torch.explain.live(step=step, loss=loss)
    >>> loss
    tensor(0.3333)
    """
    to_page = _of_page("live")
    if to_page is not None:
        to_page(**{name: _number(value) for name, value in numbers.items()})


def _of_page(name: str) -> Callable[..., object] | None:
    """A function of the page that runs the program, or None."""
    found: Callable[..., object] | None = getattr(sys.modules.get("rushlight_page"), name, None)
    return found


def _number(value: float) -> float:
    return float(value.detach() if isinstance(value, Tensor) else value)
