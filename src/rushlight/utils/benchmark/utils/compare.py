"""`Compare`: measurements as a table."""

from __future__ import annotations

import enum

from ...._base.missing import missing_name as _missing_name
from .common import Measurement, ordered_unique, select_unit, trim_sigfig, unit_to_english

__all__ = ["Colorize", "Compare"]


class Colorize(enum.Enum):
    """The cells among which colors mark the fastest."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """Measurements as a table: a row for each `sub_label`, a column for each `description`."""

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim, self._colorize, self._highlight = False, Colorize.NONE, False

    def extend_results(self, results: list[Measurement]) -> None:
        """Add measurements."""
        for r in results:
            if not isinstance(r, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(r)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Show only the figures that can be trusted."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Kept; tables have no colors here."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark the measurements whose times differ much."""
        self._highlight = True

    def print(self) -> None:
        """Print the table."""
        print(str(self))

    def __str__(self) -> str:
        groups: dict[object, list[Measurement]] = {}
        for m in Measurement.merge(self._results):
            groups.setdefault(m.task_spec.label, []).append(m)
        return "\n".join(self._table(ms) for ms in groups.values())

    def _table(self, results: list[Measurement]) -> str:
        unit, scale = select_unit(min(m.median for m in results))
        columns = ordered_unique(m.task_spec.description or "" for m in results)
        threads = ordered_unique(m.task_spec.num_threads for m in results)
        digits = max(m.significant_figures for m in results) if self._trim else 1

        def cell(row: list[Measurement], column: str) -> str:
            for m in row:
                if (m.task_spec.description or "") == column:
                    value = m.median / scale
                    if self._trim:
                        value = trim_sigfig(value, m.significant_figures)
                    places = max(digits - len(str(int(value))), 0) if self._trim else 1
                    mark = " (! )" if self._highlight and m.has_warnings else ""
                    return f"{value:.{places}f}{mark}"
            return ""

        rows: list[tuple[str, list[str]]] = []
        for count in threads:
            rows.append((f"{count} threads: ", []))
            here = [m for m in results if m.task_spec.num_threads == count]
            for name in ordered_unique(m.as_row_name for m in here):
                row = [m for m in here if m.as_row_name == name]
                rows.append((f"      {name}", [cell(row, c) for c in columns]))
        first = max(len(name) for name, cells in rows if cells) + 2
        widths = [
            max(len(c), *(len(cells[i]) for _, cells in rows if cells))
            for i, c in enumerate(columns)
        ]

        def line(name: str, cells: list[str]) -> str:
            shown = (f"|  {c:^{w}}  " for c, w in zip(cells, widths, strict=True))
            return f"{name:<{first}}{''.join(shown)}"[:-2]

        head = line("", columns)
        title = results[0].task_spec.label or results[0].title
        lines = [f"[{f' {title} ':-^{len(head) - 2}}]", head]
        lines += [line(n, cells) if cells else f"{n:-<{len(head)}}" for n, cells in rows]
        lines += ["", f"Times are in {unit_to_english(unit)}s ({unit}).", ""]
        return "\n".join(lines)


__getattr__ = _missing_name(__name__)
