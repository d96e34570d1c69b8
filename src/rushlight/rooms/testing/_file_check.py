"""`FileCheck`: whether texts stand in a longer one, in order."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

__all__ = ["FileCheck"]


class _Check(NamedTuple):
    kind: str
    text: str
    times: int = 1
    exactly: bool = False


class FileCheck:
    """Checks a text: each method adds what must stand there, `run` looks.

    >>> torch.testing.FileCheck().check("first").check_next("second").run("first\\nsecond") is None
    True
    """

    def __init__(self) -> None:
        self._checks: list[_Check] = []

    def _add(self, *check: Any) -> FileCheck:
        self._checks.append(_Check(*check))
        return self

    def check(self, text: str) -> FileCheck:
        """The text stands behind what was found before."""
        return self._add("CHECK", text)

    def check_not(self, text: str) -> FileCheck:
        """It does not stand between what is found before and after."""
        return self._add("CHECK-NOT", text)

    def check_same(self, text: str) -> FileCheck:
        """It stands further on in the same line."""
        return self._add("CHECK-SAME", text)

    def check_next(self, text: str) -> FileCheck:
        """It stands in the next line."""
        return self._add("CHECK-NEXT", text)

    def check_count(self, text: str, count: int, exactly: bool = False) -> FileCheck:
        """It stands there so many times, one behind the other; exactly: and no more."""
        return self._add("CHECK-COUNT", text, count, exactly)

    def check_dag(self, text: str) -> FileCheck:
        """As `check`; several of these in a row may stand in any order."""
        return self._add("CHECK-DAG", text)

    def check_regex(self, text: str) -> FileCheck:
        """Something that the regular expression matches stands behind what was found before."""
        return self._add("CHECK-REGEX", text)

    def check_source_highlighted(self, text: str) -> FileCheck:
        """The text is marked by ~ in the line below."""
        return self._add("CHECK-SOURCE-HIGHLIGHTED", text)

    def run(self, test_file: object) -> None:
        """Raises RuntimeError with the first check that fails."""
        text, at = str(test_file), 0
        absent: list[_Check] = []
        group_end = group_start = -1
        for check in self._checks:
            if check.kind == "CHECK-NOT":
                absent.append(check)
                continue
            if check.kind == "CHECK-DAG":
                if group_start < 0:
                    group_start = group_end = at
                start = self._find(text, check, group_start)
                at = group_end = max(group_end, start + len(check.text))
                self._none(text, absent, group_start, start)
            else:
                group_start = -1
                start, end = self._place(text, check, at)
                self._none(text, absent, at, start)
                at = end
            absent = []
        self._none(text, absent, at, len(text))

    def _place(self, text: str, check: _Check, at: int) -> tuple[int, int]:
        if check.kind == "CHECK-REGEX":
            match = re.compile(check.text).search(text, at)
            if match is None:
                raise self._fail(text, check, at, "Expected to find regex")
            return match.span()
        start = self._find(text, check, at)
        end = start + len(check.text)
        if check.kind in ("CHECK-SAME", "CHECK-NEXT"):
            lines = text.count("\n", at, start)
            if lines != (check.kind == "CHECK-NEXT"):
                self._fail(text, check, start, "Expected to find it in another line:")
        if check.kind == "CHECK-COUNT":
            for _ in range(check.times - 1):
                end = self._find(text, check, end) + len(check.text)
            if check.exactly:
                self._none(text, [check], end, len(text))
        if check.kind == "CHECK-SOURCE-HIGHLIGHTED":
            self._marked(text, check, start)
        return start, end

    def _marked(self, text: str, check: _Check, start: int) -> None:
        line = text.rfind("\n", 0, start) + 1
        below = text.find("\n", start)
        marks = "" if below < 0 else text[below + 1 :].partition("\n")[0]
        column = start - line
        if marks[column : column + len(check.text)].strip("~^") or len(marks) <= column:
            self._fail(text, check, start, "Expected to find it highlighted:")

    def _find(self, text: str, check: _Check, at: int) -> int:
        found = text.find(check.text, at)
        if found < 0:
            self._fail(text, check, at, "Expected to find")
        return found

    def _none(self, text: str, absent: list[_Check], start: int, end: int) -> None:
        for check in absent:
            found = text.find(check.text, start, end)
            if found >= 0:
                said = f'Expected to not find "{check.text}" but found it\n'
                raise RuntimeError(f"{said}{_shown(text, found)}From {check.kind}: {check.text}\n")

    def _fail(self, text: str, check: _Check, at: int, what: str) -> Any:
        raise RuntimeError(
            f'{what} "{check.text}" but did not find it\nSearched string:\n{_shown(text, at)}'
            f"From {check.kind}: {check.text}\n"
        )


def _shown(text: str, at: int) -> str:
    """The text with a mark below a place."""
    line = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    rest = text[end + 1 :]
    return f"{text[:end]}\n{' ' * (at - line)}~ <--- HERE\n{rest}{chr(10) if rest else ''}"
