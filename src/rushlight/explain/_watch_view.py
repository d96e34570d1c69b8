"""What `watch` shows: the live view of a terminal or a notebook, the table at the end.

The view of a terminal is the last lines on it. What the program prints goes above it: `sys.stdout`
and `sys.stderr` are streams of this file meanwhile, which take the view away, write the program's
text as it is, and put the view back. An unfinished line (a progress bar) is shown above the view
until it ends. There is no thread: the view is drawn by the passes and steps that it shows, at most
`_FRAMES` times a second. Read `Terminal`, then `_frame`.
"""

from __future__ import annotations

import io
import math
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any

import numpy as np

from ._watch import Group, Loss, Series, View, printable, shell, watch

__all__ = [
    "check",
    "conclude",
    "most_urgent",
    "number",
    "open_view",
    "over_decades",
    "smoothed",
    "table",
]

_FRAMES = 8
_ROWS = 16
"""Lines for losses, and for groups, in the table."""
_SHARE = 20
"""A frame is followed by at least so many times its own time without one."""
_NEEDS_RICH = (
    "the live view needs the package rich, which is not installed here: "
    "pip install rushlight[watch]"
)
_DRAWS = re.compile(r"\x1b(?:\[[\d;]*[ABEFHJSTfsu]|\[\?[\d;]+[hl]|[78])")
"""How a program draws on a terminal by itself: moves of the cursor, erased screens."""
_ESCAPES = re.compile(r"\x1b(?:\[[\d;?]*[ -/]*[@-~]|\][^\x07]*\x07|.)")


def check() -> None:
    """Fail where a live view is wanted that cannot be."""
    if _notebook() is None and _is_terminal(sys.stdout):
        try:
            import rich  # noqa: F401
        except ImportError:
            raise ImportError(_NEEDS_RICH) from None


def open_view(seen: watch) -> View | None:
    """The view that fits where the program runs; None where there is nobody to look at it."""
    display = _notebook()
    if display is not None:
        return _Cell(seen, display)
    if isinstance(sys.stdout, _Stream) or not _is_terminal(sys.stdout):
        return None
    return Terminal(seen)


def conclude(seen: watch) -> None:
    """The end: the last view, or the table, and the picture; what fails here is a sentence."""
    view = seen._view
    if view is not None:
        try:
            view.finish()
        except Exception as error:
            seen._trouble.add(f"{type(error).__name__}: {error}")
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


# ---- numbers


def number(value: float) -> str:
    """A number in at most 9 characters."""
    if math.isnan(value):
        return "NaN"
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.4g}"
    return f"{value:.3g}"


def over_decades(values: Sequence[Series]) -> bool:
    """Whether a logarithmic axis shows them better: all positive, and a range of more than 100."""
    low = np.concatenate([np.array(series.low) for series in values])
    high = np.concatenate([np.array(series.high) for series in values])
    if np.isnan(low).all():
        return False
    return bool(np.nanmin(low) > 0 and np.nanmax(high) > 100 * np.nanmin(low))


def smoothed(values: Any) -> Any:
    """A mean of each value and those around it, over a fiftieth of the curve; NaN for none."""
    window = np.hanning(max(len(values) // 50, 3) + 2)
    there = ~np.isnan(values)
    extra = len(window) // 2
    sums, weights = (
        np.convolve(np.pad(v, extra), window, "same")[extra : len(values) + extra]
        for v in (np.where(there, values, 0.0), there.astype(float))
    )
    with np.errstate(all="ignore"):
        return np.where(there, sums / weights, np.nan)


def _columns(series: Series, first: int, last: int, n: int) -> tuple[Any, Any, Any, Any]:
    """The series in `n` columns of the clock: smallest, largest and last number of each (NaN for
    none), and whether there were any that are not finite."""
    low, high, end = (np.full(n, math.nan) for _ in range(3))
    bad = np.zeros(n, bool)
    if len(series.at):
        at = np.array(series.at)
        where = np.clip((at - first) * n // max(last - first + 1, 1), 0, n - 1)
        np.fmin.at(low, where, np.array(series.low))
        np.fmax.at(high, where, np.array(series.high))
        finite = ~np.isnan(np.array(series.last))
        end[where[finite]] = np.array(series.last)[finite]
        bad[where[np.array(series.bad) > 0]] = True
    return low, high, end, bad


# ---- the table


def table(seen: watch) -> str:
    """What was seen, as plain text."""
    lines = [printable(f"{seen.title}, " if seen.title else "") + seen.progress()]
    losses, groups = seen.losses, seen.groups
    rows: list[tuple[str, ...]] = [("loss", "now", "smooth", "best", "at", "passes", "")]
    for i in most_urgent(losses, _ROWS):
        loss = losses[i]
        rows.append((loss.name, *_loss_cells(loss), f"{loss.values.count:,}", _text(loss)))
    lines += _aligned(rows, len(losses))
    rows = [("gradient norm", "numbers", "now", "median", "largest", "at", "lr", "")]
    for i in most_urgent(groups, _ROWS):
        group = groups[i]
        numbers, now, median, rate = _group_cells(group)
        largest, at = group.norms.largest
        where = ("", "") if math.isnan(largest) else (number(largest), f"{at:,}")
        rows.append((group.name, numbers, now, median, *where, rate, _text(group)))
    lines += _aligned(rows, len(groups))
    return "\n".join(lines)


def _loss_cells(loss: Loss) -> tuple[str, str, str, str]:
    best = "" if math.isnan(loss.best) else f"{loss.best_at:,}"
    return _now(loss.values), number(loss.smooth), number(loss.best), best


def _group_cells(group: Group) -> tuple[str, str, str, str]:
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
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for name, *cells, note in rows:
        shown = "".join(f"  {c:>{w}}" for c, w in zip(cells, widths[1:], strict=False))
        lines.append(f"  {name:<{widths[0]}}{shown}  {note}".rstrip())
    if of > len(rows) - 1:
        lines.append(f"  and {of - len(rows) + 1} more")
    return lines


# ---- the terminal


def _is_terminal(stream: Any) -> bool:
    if os.environ.get("TERM") == "dumb":
        return False
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def _same_terminal(a: Any, b: Any) -> bool:
    try:
        return _is_terminal(a) and os.fstat(a.fileno()).st_rdev == os.fstat(b.fileno()).st_rdev
    except (AttributeError, OSError, ValueError):
        return False


class _Stream:
    """`sys.stdout` or `sys.stderr` while the view is shown, and the real one afterwards."""

    def __init__(self, terminal: Terminal, real: Any) -> None:
        self._terminal = terminal
        self._real = real
        self._unfinished = ""

    def write(self, text: str) -> int:
        if not self._terminal.open or not isinstance(text, str):
            written: int = self._real.write(text)
            return written
        self._terminal.write(self, text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if self._terminal.open:
            self._terminal.redraw()
        else:
            self._real.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __iter__(self) -> Any:
        return iter(self._real)


class Terminal:
    """The live view of a terminal."""

    def __init__(self, seen: watch) -> None:
        self._seen = seen
        self._out: Any = sys.stdout
        self._lock = threading.RLock()
        self._lines: list[str] = []  # of the view
        self._height = 0  # how many lines above the cursor are ours
        self.open = True
        self._streams: dict[str, _Stream] = {}
        for name in ("stdout", "stderr"):
            real = getattr(sys, name)
            if real is self._out or _same_terminal(real, self._out):
                self._streams[name] = _Stream(self, real)
                setattr(sys, name, self._streams[name])
        try:
            "⣿█·×".encode(getattr(self._out, "encoding", None) or "ascii")
            self._plain = False
        except (LookupError, UnicodeEncodeError):
            self._plain = True

    # --- what the program writes

    def write(self, stream: _Stream, text: str) -> None:
        with self._lock:
            text = stream._unfinished + text
            if _DRAWS.search(text):
                stream._unfinished = ""
                self._give_up()
                stream._real.write(text)
                return
            end = text.rfind("\n") + 1
            stream._unfinished = text[end:]
            if stream._unfinished.count("\r") > 1:  # of a progress bar only the last is seen
                *_, last, rest = stream._unfinished.split("\r")
                stream._unfinished = f"{last}\r{rest}" if not rest else f"\r{rest}"
            if end:
                self._draw(stream._real, text[:end])

    def redraw(self) -> None:
        """The view anew, with the unfinished lines as they are."""
        with self._lock:
            self._draw()

    def _give_up(self) -> None:
        """The program draws on the terminal itself: the view ends, to be back at the end."""
        self._clear()
        self._release()
        self._seen._trouble.add(
            "the program draws on the terminal itself, so the live view ended there"
        )

    # --- the view

    def update(self) -> float:
        started = time.perf_counter()
        if not self.open:
            return math.inf
        with self._lock:
            columns, rows = shutil.get_terminal_size()
            self._lines = _frame(self._seen, max(columns - 1, 20), max(rows - 2, 1), self._plain)
            self._draw()
        now = time.perf_counter()
        return now + max(1 / _FRAMES, _SHARE * (now - started))

    def _draw(self, real: Any = None, text: str = "") -> None:
        """Put the program's text and the view in the place of the view."""
        up = self._up()
        if text:
            self._out.write(f"{up}\x1b[J")
            if real is not self._out:
                self._out.flush()
            real.write(text)
            real.flush()
            up = ""
        unfinished = [self._unfinished_line(s) for s in self._streams.values() if s._unfinished]
        rows = shutil.get_terminal_size().lines
        lines = [*unfinished, *self._lines][: max(rows - 1, 1)]
        self._out.write(up + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J")
        self._out.flush()
        self._height = len(lines)

    def _up(self) -> str:
        """How the cursor gets to where the view begins, which is drawn no more then."""
        height, self._height = self._height, 0
        return f"\x1b[{height}A\r" if height else "\r"

    def _unfinished_line(self, stream: _Stream) -> str:
        parts = [part for part in _ESCAPES.sub("", stream._unfinished).split("\r") if part]
        width = max(shutil.get_terminal_size().columns - 1, 20)
        return printable((parts or [""])[-1].expandtabs(), width)[:width]

    def _clear(self) -> None:
        if self._height:
            self._out.write(f"{self._up()}\x1b[J")
            self._out.flush()

    def _release(self) -> None:
        """Give the streams back. Who kept one writes to the real one from now on."""
        self.open = False
        for name, stream in self._streams.items():
            if getattr(sys, name) is stream:
                setattr(sys, name, stream._real)
            if stream._unfinished:
                stream._real.write(stream._unfinished)
                stream._unfinished = ""

    def finish(self) -> None:
        with self._lock:
            columns, rows = shutil.get_terminal_size()
            was_open = self.open
            if was_open:
                self._clear()
                unfinished = any(s._unfinished for s in self._streams.values())
                self._release()
                if unfinished:
                    self._out.write("\n")
            if self._seen.clock:
                lines = _frame(self._seen, max(columns - 1, 20), max(rows - 2, 1), self._plain)
                self._out.write("".join(f"{line}\n" for line in lines))
                self._out.flush()

    def forked(self) -> None:
        self._lock = threading.RLock()
        self._height = 0
        for stream in self._streams.values():
            stream._unfinished = ""  # the parent has it
        self._release()


# ---- a frame


_BLOCKS = " ▁▂▃▄▅▆▇█"
_LEVELS = " _.-:=+*#"
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")


def _frame(seen: watch, width: int, height: int, plain: bool) -> list[str]:
    """The view as lines for a terminal, no more than `height`."""
    from rich.console import Console
    from rich.text import Text

    losses, groups = seen.losses, seen.groups
    notes = _notes([*losses, *groups], width)
    n_losses, n_groups, n_notes, chart = _room(len(losses), len(groups), len(notes), height)
    parts: list[Any] = [_head(seen, width)]
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


def most_urgent(rows: Sequence[Loss | Group], n: int) -> list[int]:
    """Which rows to show in `n` lines, of which the last says how many there are more: those that
    something is wrong with now, then the first."""
    every = range(len(rows))
    if len(rows) <= n:
        return list(every)
    urgent = sorted(every, key=lambda i: not any(note.now for note in rows[i].notes()))
    return sorted(urgent[: max(n - 1, 1)])


def _head(seen: watch, width: int) -> Any:
    from rich.text import Text

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


def _grid(name: str, width: int, headers: Sequence[str], rest: int = 0) -> Any:
    """A table without lines: a name, numbers below their headers, and `rest` columns for more."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    made.add_column(Text(name), width=width, no_wrap=True, overflow="ellipsis")
    for header in headers:
        made.add_column(Text(header), width=9, justify="right", no_wrap=True, overflow="ellipsis")
    if rest > 0:
        made.add_column("", width=rest, no_wrap=True)
    return made


def _loss_rows(losses: list[Loss], chosen: list[int], width: int) -> Any:
    from rich.text import Text

    name = min(max([4, *(len(losses[i].name) for i in chosen)]), max(width // 3, 12))
    rows = _grid("loss", name, ("now", "smooth", "best", "at"))
    for i in chosen:
        loss = losses[i]
        now, *cells = _loss_cells(loss)
        rows.add_row(
            Text(loss.name, style=_COLOURS[i % len(_COLOURS)] if i < len(_COLOURS) else ""),
            Text(now, style="bold"),
            *map(Text, cells),
        )
    if len(losses) > len(chosen):
        rows.add_row(Text(f"and {len(losses) - len(chosen)} more", style="dim"))
    return rows


def _group_rows(groups: list[Group], of: int, clock: int, width: int, plain: bool) -> Any:
    from rich.text import Text

    name = min(max([13, *(len(group.name) for group in groups)]), max(width // 4, 13))
    curve = max(width - name - 4 * 11 - 2, 0)
    rows = _grid("gradient norm", name, ("numbers", "now", "median", "lr"), curve)
    for group in groups:
        numbers, now, median, rate = _group_cells(group)
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


def _notes(of: Sequence[Loss | Group], width: int) -> list[Any]:
    """What is wrong, a line for each loss and group; first where it is so now."""
    from rich.text import Text

    lines: list[tuple[bool, Any]] = []
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


def _scaled(values: Any, low: float, high: float, log: bool) -> Any:
    """Values as shares of the way from `low` to `high`."""
    with np.errstate(all="ignore"):
        if log:
            values, low, high = np.log(values), math.log(low), math.log(high)
        values, low, high = values / 2, low / 2, high / 2  # their range is a number too
        if high <= low:
            return np.where(np.isnan(values), values, 0.5)
        return np.clip((values - low) / (high - low), 0, 1)


def _sparkline(series: Series, clock: int, width: int, plain: bool) -> Any:
    """Norms in a line, on a logarithmic scale: the largest of each column."""
    from rich.text import Text

    if width < 1 or not series.at:
        return Text()
    steps = _LEVELS if plain else _BLOCKS
    first = series.at[0]
    _, high, _, bad = _columns(series, first, clock, width)
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


def _styled(marks: Iterable[tuple[str, str]]) -> Any:
    """Characters with their styles as a text, those of one style in one piece."""
    from rich.text import Text

    text = Text()
    for style, run in groupby(marks, key=lambda mark: mark[1]):
        text.append("".join(mark for mark, _ in run), style=style)
    return text


def _chart(losses: list[Loss], clock: int, width: int, height: int, plain: bool) -> list[Any]:
    """The losses over the clock: bright their course, dim the range that they had on the way."""
    from rich.text import Text

    kept = [(i, loss.values) for i, loss in enumerate(losses) if not _empty(loss.values)]
    if not kept:
        return []
    margin = 10
    across, down = max(width - margin - 1, 4), height
    n = across * (1 if plain else 2)
    tall = down * (1 if plain else 4)
    log = over_decades([values for _, values in kept])
    first = min(values.at[0] for _, values in kept)
    columns = [(i, *_columns(values, first, clock, n)) for i, values in kept]
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


def _joined(values: Any) -> Any:
    """The values, with straight lines over the columns between them that have none."""
    there = np.flatnonzero(~np.isnan(values))
    if len(there):
        between = np.arange(there[0], there[-1] + 1)
        values[between] = np.interp(between, there, values[there])
    return values


def _mark(
    cells: Any,
    owner: Any,
    which: int,
    lows: Any,
    highs: Any,
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


# ---- the notebook


def _notebook() -> Callable[..., Any] | None:
    """IPython's `display`, where a notebook runs."""
    if getattr(shell(), "kernel", None) is None:
        return None
    from IPython.display import display

    show: Callable[..., Any] = display
    return show


class _Cell:
    """The figure in a notebook's cell: one display, which is updated. Without matplotlib the table
    is shown."""

    def __init__(self, seen: watch, display: Callable[..., Any]) -> None:
        self._seen, self._display = seen, display
        self._handle: Any = None

    def update(self) -> float:
        started = time.perf_counter()
        self._show()
        now = time.perf_counter()
        return now + max(1.0, _SHARE * (now - started))

    def _show(self) -> None:
        if not (self._seen.losses or self._seen.groups):
            return
        shown = {"text/plain": table(self._seen)}
        data: dict[str, Any] = dict(shown)
        try:
            from ._watch_figure import png

            data["image/png"] = png(self._seen, dpi=80)
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
