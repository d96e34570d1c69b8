"""The plain text of `watch`: the table at the end, and the cells of its rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ._text import in_columns
from ._watch import watch
from ._watch_data import Group, Loss, Series, printable

__all__ = ["group_cells", "loss_cells", "most_urgent", "number", "table"]

_ROWS = 16
"""Lines for losses, and for groups."""


def number(value: float) -> str:
    """A number in at most 9 characters."""
    if math.isnan(value):
        return "NaN"
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.4g}"
    return f"{value:.3g}"


def most_urgent(rows: Sequence[Loss | Group], n: int) -> list[int]:
    """Which rows to show in `n` lines, of which the last says how many there are more: those that
    something is wrong with now, then the first."""
    every = range(len(rows))
    if len(rows) <= n:
        return list(every)
    urgent = sorted(every, key=lambda i: not any(note.now for note in rows[i].notes()))
    return sorted(urgent[: max(n - 1, 1)])


def table(seen: watch) -> str:
    """All that was seen, as plain text."""
    lines = [printable(f"{seen.title}, " if seen.title else "") + seen.progress()]
    losses, groups = seen.losses, seen.groups
    rows: list[tuple[str, ...]] = [("loss", "now", "smooth", "best", "at", "passes", "")]
    for i in most_urgent(losses, _ROWS):
        loss = losses[i]
        rows.append((loss.name, *loss_cells(loss), f"{loss.values.count:,}", _text(loss)))
    lines += _aligned(rows, len(losses))
    rows = [("gradient norm", "numbers", "now", "median", "largest", "at", "lr", "")]
    for i in most_urgent(groups, _ROWS):
        group = groups[i]
        numbers, now, median, rate = group_cells(group)
        largest, at = group.norms.largest
        where = ("", "") if math.isnan(largest) else (number(largest), f"{at:,}")
        rows.append((group.name, numbers, now, median, *where, rate, _text(group)))
    lines += _aligned(rows, len(groups))
    return "\n".join(lines)


def loss_cells(loss: Loss) -> tuple[str, str, str, str]:
    """The last number, the smoothed one, the best and its clock."""
    best = "" if math.isnan(loss.best) else f"{loss.best_at:,}"
    return _now(loss.values), number(loss.smooth), number(loss.best), best


def group_cells(group: Group) -> tuple[str, str, str, str]:
    """How many numbers it has, the last norm, the median and the learning rate."""
    median, rate = ("" if math.isnan(v) else number(v) for v in (group.norms.median, group.rate))
    n = group.elements
    return f"{n:,}" if n < 10**7 else f"{n / 1e6:,.1f}M", _now(group.norms), median, rate


def _now(series: Series) -> str:
    return number(series.now) if series.count else ""


def _text(of: Loss | Group) -> str:
    return "; ".join(note.text for note in of.notes())


def _aligned(rows: list[tuple[str, ...]], of: int) -> list[str]:
    """Rows below their headers, as lines; nothing where there is nothing."""
    if not of:
        return []
    lines = [f"  {line}" for line in in_columns(rows, range(1, len(rows[0]) - 1))]
    if of > len(rows) - 1:
        lines.append(f"  and {of - len(rows) + 1} more")
    return lines
