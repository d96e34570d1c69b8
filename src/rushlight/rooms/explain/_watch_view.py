"""Where and how `watch` is shown: the view that fits where the program runs, and what is said at
the end.

A terminal has a live view (_watch_terminal.py), a notebook a figure in the cell, all else the table
(_watch_table.py).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .._base.sources import shell
from ._watch import View, watch
from ._watch_data import printable
from ._watch_table import table
from ._watch_terminal import SHARE, Stream, Terminal, is_terminal

__all__ = ["check", "conclude", "open_view"]

_NEEDS_RICH = (
    "the live view needs the package rich, which is not installed here: "
    "pip install rushlight[watch]"
)


def check() -> None:
    """Fail where a live view is wanted that cannot be."""
    if _notebook() is None and is_terminal(sys.stdout):
        try:
            import rich  # noqa: F401
        except ImportError:
            raise ImportError(_NEEDS_RICH) from None


def open_view(seen: watch) -> View | None:
    """The view that fits where the program runs; None where there is nobody to look at it."""
    display = _notebook()
    if display is not None:
        return _Cell(seen, display)
    if isinstance(sys.stdout, Stream) or not is_terminal(sys.stdout):
        return None
    return Terminal(seen)


def conclude(seen: watch, error: BaseException | None = None) -> None:
    """The end: the last view, or the table, and the picture; what fails here is a sentence."""
    view = seen._view
    if view is not None:
        try:
            view.finish()
        except Exception as trouble:
            seen._trouble.add(f"{type(trouble).__name__}: {trouble}")
    said: list[str] = []
    failed: list[str] = []
    if not (seen.losses or seen.groups):
        said.append("the program called no backward and no optimizer's step: nothing to show")
    else:
        if view is None:
            said.append(table(seen))
        if seen._png is not None:
            why = _write_picture(seen)
            if why:
                failed.append(f"{seen._png} was not written: {why}")
            else:
                said.append(f"the curves are in {seen._png}")
    if seen._live is not None:
        try:
            seen._live.finish(error)
        except Exception as trouble:
            why = getattr(trouble, "strerror", None) or f"{type(trouble).__name__}: {trouble}"
            failed.append(f"{seen._live.name} was not written: {why}")
    for loss in seen.losses:
        if loss.without_value:
            said.append(
                f"{loss.name}: {loss.without_value:,} times backward began at what is no single "
                "number, so there is no loss to show"
            )
    said += [printable(trouble) for trouble in sorted(seen._trouble)]
    if not seen._show:
        said.clear()
    with suppress(AttributeError, OSError, ValueError):  # closed: the program ends as it would
        sys.stderr.write("".join(f"rushlight watch: {text}\n" for text in [*said, *failed]))


def _write_picture(seen: watch) -> str:
    """Draw the curves to the file; why that failed, or ""."""
    try:
        from ._watch_figure import write

        write(seen, str(seen._png_file))
    except ImportError:
        return "matplotlib is missing (pip install rushlight[watch])"
    except (Exception, KeyboardInterrupt) as error:
        return getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
    return ""


# ---- the notebook


def _notebook() -> Callable[..., object] | None:
    """IPython's `display`, where a notebook runs."""
    if getattr(shell(), "kernel", None) is None:
        return None
    from IPython.display import display

    show: Callable[..., object] = display
    return show


class _Cell:
    """The figure in a notebook's cell: one display, which is updated. Without matplotlib the table
    is shown."""

    def __init__(self, seen: watch, display: Callable[..., object]) -> None:
        self._seen, self._display = seen, display
        self._handle: Any = None

    def update(self) -> float:
        started = time.perf_counter()
        self._show()
        now = time.perf_counter()
        return now + max(1.0, SHARE * (now - started))

    def _show(self) -> None:
        if not (self._seen.losses or self._seen.groups):
            return
        shown = {"text/plain": table(self._seen)}
        data: dict[str, object] = dict(shown)
        try:
            from ._watch_figure import png

            data["image/png"] = png(self._seen, dpi=80, clear=True)
        except ImportError:
            pass
        if self._handle is None:
            self._handle = self._display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)

    def finish(self) -> None:
        self._show()

    def forked(self) -> None:
        pass
