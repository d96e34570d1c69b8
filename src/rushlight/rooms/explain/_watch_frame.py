"""The live view of `watch` as lines: the losses with a chart, the groups with their norms, notes.

Read `frame`, then `_chart`.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .._base.outside import np
from ._watch import watch
from ._watch_data import Floats, Group, Loss, Series, in_columns, over_decades, printable, smoothed
from ._watch_table import group_cells, loss_cells, most_urgent, number

__all__ = ["frame"]

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Whole: TypeAlias = NDArray[np.int_]
else:
    Whole = Any  # annotations alone name it

_BLOCKS = " ▁▂▃▄▅▆▇█"
_LEVELS = " _.-:=+*#"
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")


def frame(seen: watch, width: int, height: int, plain: bool) -> list[str]:
    """The view as lines for a terminal, no more than `height`."""
    losses, groups = seen.losses, seen.groups
    notes = _notes([*losses, *groups], width)
    n_losses, n_groups, n_notes, chart = _room(len(losses), len(groups), len(notes), height)
    parts: list[Text | Table] = [_head(seen, width)]
    if losses:
        parts.append(_loss_rows(losses, most_urgent(losses, n_losses), width))
        if chart:
            lines = _chart(losses[: len(_COLOURS)], seen.clock, width, chart, plain)
            parts += [Text("\n").join(lines)] if lines else []
    if groups:
        chosen = [groups[i] for i in most_urgent(groups, n_groups)]
        parts.append(_group_rows(chosen, len(groups), seen.clock, width, plain))
    if n_notes:
        parts.append(Text("\n").join(notes[:n_notes]))
    out = io.StringIO()
    console = Console(
        file=out,
        force_terminal=True,
        width=width,
        height=height,
        legacy_windows=False,
        highlight=False,
        emoji=False,
        markup=False,
        safe_box=plain,
        force_jupyter=False,
    )
    for part in parts:
        console.print(part, no_wrap=True, overflow="crop", crop=True)
    text = out.getvalue()
    if plain:
        text = text.replace("─", "-").replace("·", "-").replace("…", "~").replace("×", "x")
        text = text.encode("ascii", "replace").decode()
    return text.splitlines()[:height]


def _room(losses: int, groups: int, notes: int, height: int) -> tuple[int, int, int, int]:
    """How many rows there are for losses, groups and notes, and lines for the chart."""
    free = height - 1 - min(notes, max(height // 6, 1))
    wanted = (losses + 1 if losses else 0) + (groups + 1 if groups else 0)
    chart = min(9, free - wanted - 1) if losses else 0
    if chart < 3:
        chart = 3 if losses and free >= 12 else 0
    free -= chart + 1 if chart else 0
    for_losses = min(losses, max(free // 3 - 1, 1))
    for_groups = min(groups, max(free - for_losses - 2, 1))
    for_losses = min(losses, max(free - for_groups - 2, 1))
    return for_losses, for_groups, min(notes, max(height // 6, 1)), chart


def _head(seen: watch, width: int) -> Text:
    right = f" {seen.progress()} "
    left = f"── {printable(seen.title) or 'rushlight watch'} "
    room = width - len(right) - 2
    if len(left) > room:
        left = left[: max(room - 1, 0)] + "…"
    line = Text(left, style="bold")
    line.append("─" * max(room - len(left), 0), style="dim")
    line.append(right, style="bold")
    line.append("──", style="dim")
    return line


def _grid(name: str, width: int, headers: Sequence[str], rest: int = 0) -> Table:
    """A table without lines: a name, numbers below their headers, and `rest` columns for more."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    made.add_column(Text(name), width=width, no_wrap=True, overflow="ellipsis")
    for header in headers:
        made.add_column(Text(header), width=9, justify="right", no_wrap=True, overflow="ellipsis")
    if rest > 0:
        made.add_column("", width=rest, no_wrap=True)
    return made


def _loss_rows(losses: list[Loss], chosen: list[int], width: int) -> Table:
    name = min(max([4, *(len(losses[i].name) for i in chosen)]), max(width // 3, 12))
    rows = _grid("loss", name, ("now", "smooth", "best", "at"))
    for i in chosen:
        loss = losses[i]
        now, *cells = loss_cells(loss)
        rows.add_row(
            Text(loss.name, style=_COLOURS[i % len(_COLOURS)] if i < len(_COLOURS) else ""),
            Text(now, style="bold"),
            *map(Text, cells),
        )
    if len(losses) > len(chosen):
        rows.add_row(Text(f"and {len(losses) - len(chosen)} more", style="dim"))
    return rows


def _group_rows(groups: list[Group], of: int, clock: int, width: int, plain: bool) -> Table:
    name = min(max([13, *(len(group.name) for group in groups)]), max(width // 4, 13))
    curve = max(width - name - 4 * 11 - 2, 0)
    rows = _grid("gradient norm", name, ("numbers", "now", "median", "lr"), curve)
    for group in groups:
        numbers, now, median, rate = group_cells(group)
        rows.add_row(
            Text(group.name),
            Text(numbers),
            Text(now, style="bold"),
            Text(median),
            Text(rate),
            _sparkline(group.norms, clock, curve, plain),
        )
    if of > len(groups):
        rows.add_row(Text(f"and {of - len(groups)} more", style="dim"))
    return rows


def _notes(of: Sequence[Loss | Group], width: int) -> list[Text]:
    """The faults, a line for each loss and group; first the lines with a fault of now."""
    lines: list[tuple[bool, Text]] = []
    for one in of:
        text = Text(f"{one.name}: ", style="")
        notes = one.notes()
        for i, note in enumerate(notes):
            text.append("; " if i else "")
            text.append(note.text, style="bold red" if note.now else "yellow")
        text.truncate(width, overflow="ellipsis")
        if notes:
            lines.append((not any(note.now for note in notes), text))
    return [text for _, text in sorted(lines, key=lambda line: line[0])]


def _scaled(values: Floats, low: float, high: float, log: bool) -> Floats:
    """Values as shares of the way from `low` to `high`."""
    with np.errstate(all="ignore"):
        if log:
            values, low, high = np.log(values), math.log(low), math.log(high)
        values, low, high = values / 2, low / 2, high / 2  # their range is a number too
        if high <= low:
            return np.where(np.isnan(values), values, 0.5)
        return np.clip((values - low) / (high - low), 0, 1)


def _sparkline(series: Series, clock: int, width: int, plain: bool) -> Text:
    """Norms in a line, on a logarithmic scale: the largest of each column."""
    if width < 1 or not series.at:
        return Text()
    steps = _LEVELS if plain else _BLOCKS
    first = series.at[0]
    _, high, _, bad = in_columns(series, first, clock, width)
    zero = high == 0
    high[zero] = math.nan
    shares = high
    if not np.isnan(high).all():
        shares = _scaled(high, float(np.nanmin(high)), float(np.nanmax(high)), True)
    marks: list[tuple[str, str]] = []
    before = " "
    there = np.flatnonzero(~np.isnan(high) | zero | bad)
    for i in range(there[-1] + 1 if len(there) else 0):
        if bad[i]:
            marks.append(("x" if plain else "×", "bold red"))
            continue
        if zero[i]:
            before = "0"
        elif not math.isnan(shares[i]):
            before = steps[1 + round(shares[i] * (len(steps) - 2))]
        marks.append((before, "red" if before == "0" else "green"))
    return _styled(marks)


def _styled(marks: Iterable[tuple[str, str]]) -> Text:
    """Characters with their styles as a text; neighbours of one style are one piece."""
    text = Text()
    for style, run in groupby(marks, key=lambda mark: mark[1]):
        text.append("".join(mark for mark, _ in run), style=style)
    return text


def _chart(losses: list[Loss], clock: int, width: int, height: int, plain: bool) -> list[Text]:
    """The losses over the clock: bright their course, dim the range that they had on the way."""
    kept = [(i, loss.values) for i, loss in enumerate(losses) if not _empty(loss.values)]
    if not kept:
        return []
    margin = 10
    across, down = max(width - margin - 1, 4), height
    n = across * (1 if plain else 2)
    tall = down * (1 if plain else 4)
    log = over_decades([values for _, values in kept])
    first = min(values.at[0] for _, values in kept)
    columns = [(i, *in_columns(values, first, clock, n)) for i, values in kept]
    low = min(float(np.nanmin(c[1])) for c in columns)
    high = max(float(np.nanmax(c[2])) for c in columns)
    cells = np.zeros((down, across), int)
    course = np.full((down, across), -1)
    ranges = np.full((down, across), -1)
    for i, lows, highs, ends, _ in columns:
        _mark(cells, ranges, i, lows, highs, low, high, log, tall, plain)
        smooth = smoothed(ends)
        _mark(cells, course, i, smooth, smooth, low, high, log, tall, plain)
    lines = []
    for row in range(down):
        label = number(high) if row == 0 else number(low) if row == down - 1 else ""
        marks = [(f"{label:>{margin - 1}} ", "dim"), ("|" if plain else "│", "dim")]
        for column in range(across):
            which = course[row, column]
            bright = which >= 0
            which = which if bright else ranges[row, column]
            colour = _COLOURS[which % len(_COLOURS)] if which >= 0 else ""
            dots = int(cells[row, column])
            if plain:
                mark = "#" if bright else ":" if dots else " "
            else:
                mark = chr(0x2800 + dots) if dots else " "
            marks.append((mark, colour if bright else f"dim {colour}"))
        lines.append(_styled(marks))
    last = f"{clock:,} passes" + (", log scale" if log else "")
    begin = f"{first:,}"
    gap = max(across - len(begin) - len(last), 1)
    lines.append(Text(" " * (margin + 1) + begin + " " * gap + last, style="dim"))
    return lines


def _empty(series: Series) -> bool:
    return math.isnan(series.largest[0])


def _joined(values: Floats) -> Floats:
    """The values, with straight lines over the columns between them that have none."""
    there = np.flatnonzero(~np.isnan(values))
    if len(there):
        between = np.arange(there[0], there[-1] + 1)
        values[between] = np.interp(between, there, values[there])
    return values


def _mark(
    cells: Whole,
    owner: Whole,
    which: int,
    lows: Floats,
    highs: Floats,
    low: float,
    high: float,
    log: bool,
    tall: int,
    plain: bool,
) -> None:
    """Set the dots from `lows` to `highs`, joined from column to column, and whose they are."""
    bottoms = _joined(_scaled(lows, low, high, log))
    tops = _joined(_scaled(highs, low, high, log))
    before: tuple[int, int] | None = None
    for x, (bottom, top) in enumerate(zip(bottoms.tolist(), tops.tolist(), strict=True)):
        if math.isnan(bottom):
            continue
        down, up = (round((1 - share) * (tall - 1)) for share in (bottom, top))
        begin, end = up, down
        if before is not None:
            if begin > before[1] + 1:
                begin = before[1] + 1
            if end < before[0] - 1:
                end = before[0] - 1
        before = (up, down)
        for y in range(begin, end + 1):
            cell = (y, x) if plain else (y // 4, x // 2)
            cells[cell] |= 1 if plain else _DOTS[y % 4][x % 2]
            owner[cell] = which
