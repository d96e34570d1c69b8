"""The curves of `watch` as a picture: losses, gradient norms, and learning rates that change.

The figure has a canvas of its own and nothing of pyplot, so a program's figures are not disturbed;
nor do its styles change this one.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Sequence
from typing import Any

from .._base.outside import np
from ._watch import watch
from ._watch_data import Group, Loss, Series, over_decades, printable, smoothed
from ._watch_table import most_urgent, number

__all__ = ["png", "write"]

# Colours that are told apart also by those who see few (Okabe and Ito).
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_GREY = "#808080"
_CLEAR: Any = dict.fromkeys(
    ["axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"], _GREY
) | dict.fromkeys(
    ["figure.facecolor", "axes.facecolor", "savefig.facecolor", "legend.facecolor"], "none"
)
"""Settings for a background that is dark or light."""
_MOST = 8
"""Lines of a panel's legend."""
_PARTS = 4
"""How many parameters of a group are named there."""
_FEW = 200
"""A loss of more values is drawn pale, with its smoothed course on it."""


def write(seen: watch, path: str) -> None:
    """Draw the curves to a PNG file."""
    data = png(seen)
    with open(path, "wb") as file:
        file.write(data)


def png(seen: watch, dpi: int = 130, clear: bool = False) -> bytes:
    """The curves as the bytes of a PNG file; clear: for a background that is dark or light."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with warnings.catch_warnings(), matplotlib.rc_context():
        warnings.simplefilter("ignore")  # a letter that the font lacks
        matplotlib.rcdefaults()
        if clear:
            matplotlib.rcParams.update(_CLEAR)
        losses = [loss for loss in seen.losses if _drawn(loss.values)]
        groups = [group for group in seen.groups if _drawn(group.norms)]
        changing = [g for g in groups if _drawn(g.rates) and max(g.rates.high) > min(g.rates.low)]
        panels: list[tuple[Any, Any, float]] = [
            (draw, of, tall)
            for draw, of, tall in (
                (_losses, losses, 3.0),
                (_norms, groups, 2.4),
                (_rates, changing, 1.2),
            )
            if of
        ]
        lines = sum(min(len(of), _MOST) for _, of, _ in panels)
        height = 0.9 + sum(tall for *_, tall in panels) + 0.19 * lines
        figure = Figure(figsize=(9, height), layout="constrained")
        FigureCanvasAgg(figure)
        title = printable(seen.title or "rushlight watch")
        figure.suptitle(title, x=0.01, ha="left", fontsize=12, weight="bold", parse_math=False)
        soft = _GREY if clear else "#555555"
        figure.text(0.99, 0.995, seen.progress(), ha="right", va="top", fontsize=9, color=soft)
        if panels:
            axes = figure.subplots(
                len(panels), 1, sharex=True, squeeze=False, height_ratios=[p[2] for p in panels]
            )[:, 0]
            for axis, (draw, of, _) in zip(axes, panels, strict=True):
                draw(axis, of)
                axis.grid(alpha=0.25, linewidth=0.6)
                axis.spines[["top", "right"]].set_visible(False)
                axis.margins(x=0.01)
            axes[-1].set_xlabel("backward passes")
            axes[-1].xaxis.get_major_locator().set_params(integer=True)
        else:
            figure.text(0.5, 0.5, "no finite number to draw", ha="center")
        figure.align_ylabels()
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=dpi)
    return out.getvalue()


def _drawn(series: Series) -> bool:
    return not math.isnan(series.largest[0])


def _curve(axis: Any, series: Series, colour: str, band: bool) -> object:
    """A series with the range that its entries stand for; red marks where it was not finite."""
    at = np.array(series.at)
    pale = 0.35 if band else 1.0
    if series.width > 1:
        axis.fill_between(
            at, np.array(series.low), np.array(series.high), color=colour, alpha=0.25, linewidth=0
        )
    last = np.array(series.last)
    (line,) = axis.plot(at, last, color=colour, linewidth=0.9 if band else 1.3, alpha=pale)
    if len(at) == 1:
        line.set_marker("o")
    bad = np.array(series.bad) > 0
    if bad.any():
        axis.plot(
            at[bad],
            np.full(bad.sum(), 0.98),
            "x",
            color="#C00000",
            markersize=5,
            transform=axis.get_xaxis_transform(),
        )
    return line


def _losses(axis: Any, losses: list[Loss]) -> None:
    entries = []
    for i, loss in enumerate(losses):
        colour = _COLOURS[i % len(_COLOURS)]
        many = len(loss.values.at) > _FEW
        line = _curve(axis, loss.values, colour, many)
        if many:
            at, values = np.array(loss.values.at), np.array(loss.values.last)
            (line,) = axis.plot(at, smoothed(values), color=colour, linewidth=1.6)
        text = f"{loss.name}   now {number(loss.values.now)}   smooth {number(loss.smooth)}"
        text += f"   best {number(loss.best)} at {loss.best_at:,}"
        entries.append((line, _with_notes(text, loss), loss))
    axis.set_ylabel("loss")
    if over_decades([loss.values for loss in losses]):
        _logarithmic(axis)
    _legend(axis, entries)


def _norms(axis: Any, groups: list[Group]) -> None:
    entries = []
    for i, group in enumerate(groups):
        line = _curve(axis, group.norms, _COLOURS[i % len(_COLOURS)], False)
        text = f"{group.name}   now {number(group.norms.now)}   median {number(group.norms.median)}"
        if not math.isnan(group.rate):
            text += f"   lr {number(group.rate)}"
        parts = ", ".join(map(printable, group.parts[:_PARTS]))
        more = ", …" if group.tensors > _PARTS else ""
        text += f"   {group.elements:,} numbers: {parts}{more}"
        entries.append((line, _with_notes(text, group), group))
    axis.set_ylabel("gradient norm")
    if any(group.norms.largest[0] > 0 for group in groups):
        _logarithmic(axis)
    _legend(axis, entries)


def _rates(axis: Any, groups: list[Group]) -> None:
    entries = []
    for i, group in enumerate(groups):
        line = _curve(axis, group.rates, _COLOURS[i % len(_COLOURS)], False)
        entries.append((line, f"{group.name}   now {number(group.rate)}", group))
    axis.set_ylabel("learning rate")
    _legend(axis, entries)


def _with_notes(text: str, of: Loss | Group) -> str:
    return "   ".join([text, *(note.text for note in of.notes())])


def _logarithmic(axis: Any) -> None:
    """A logarithmic axis with plain numbers; on a short one also at 2 and 5 times a power of 10."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_yscale("log", nonpositive="mask")
    low, high = axis.get_ylim()
    plain = FuncFormatter(lambda value, _: f"{value:g}")
    axis.yaxis.set_major_formatter(plain)
    if high < 1000 * low:
        axis.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
        axis.yaxis.set_minor_formatter(plain)
    else:
        axis.yaxis.set_minor_formatter(NullFormatter())


def _legend(axis: Any, entries: Sequence[tuple[object, str, Loss | Group]]) -> None:
    """The curves' names and figures above a panel."""
    chosen = [entries[i] for i in most_urgent([of for *_, of in entries], _MOST)]
    texts = [text for _, text, _ in chosen]
    if len(entries) > len(chosen):
        texts[-1] += f"   (and {len(entries) - len(chosen)} more)"
    legend = axis.legend(
        [line for line, *_ in chosen],
        [" "] * len(texts),  # the names below: what begins with _ has no place in a legend
        loc="lower left",
        bbox_to_anchor=(0, 1),
        borderaxespad=0.1,
        frameon=False,
        fontsize=8,
        handlelength=1.5,
        labelspacing=0.25,
    )
    for shown, text in zip(legend.get_texts(), texts, strict=True):
        shown.set_parse_math(False)
        shown.set_text(text)
