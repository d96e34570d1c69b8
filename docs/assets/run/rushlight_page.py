"""Beside a page's worker: runs the blocks of the page one after the other, as a notebook does.

What a block prints, shows and ends in goes to the page as events, each a dict with a `type`:

- text: `text` for the stream `to`, "out" or "err";
- value: the text of the final expression;
- svg, page: a picture; a page of HTML with its `height` in pixels;
- live: `rows`, a list of dicts of numbers, as `live` got them;
- error: the traceback, its lines named as those of the page's program.

A program may call two of the names here:

    from rushlight_page import live, show
"""

from __future__ import annotations

import ast
import builtins
import io
import linecache
import os
import sys
import time
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rushlight

__all__ = ["live", "show"]

MOST_TEXT = 200_000
"""How many characters of a run the page gets."""
MOST_ROWS = 2_000
"""How many rows wait for the next message; of more every second one is left out."""
MESSAGES = 40
"""How many messages a second go out at once; what comes after those waits, and goes together."""
SHOWN = {".svg": "svg", ".html": "page"}
"""Files that a run shows where it writes them, by the ends of their names."""


class Events:
    """The events of a run, in order."""

    def __init__(self, post: Callable[[dict[str, Any]], object]) -> None:
        self._post = post
        self._waiting: list[dict[str, Any]] = []
        self._second = self._messages = 0
        self._room, self._dropped = MOST_TEXT, 0

    def text(self, text: str, to: str) -> None:
        """A piece of printed text."""
        taken = text[: self._room]
        self._room -= len(taken)
        self._dropped += len(text) - len(taken)
        if taken:
            last = self._last("text")
            if last is not None and last["to"] == to:
                last["parts"].append(taken)
            else:
                self._waiting.append({"type": "text", "to": to, "parts": [taken]})
            self._sometimes()

    def row(self, row: dict[str, Any]) -> None:
        """A row of live data."""
        last = self._last("live")
        if last is None:
            last = {"type": "live", "rows": []}
            self._waiting.append(last)
        last["rows"].append(row)
        if len(last["rows"]) > MOST_ROWS:
            del last["rows"][:-1:2]
        self._sometimes()

    def event(self, **event: Any) -> None:
        """Any other event, at once."""
        self._waiting.append(event)
        self._send()

    def end(self) -> None:
        """What still waits; and how much the page did not get."""
        if self._dropped:
            more = f"\n… {self._dropped:,} more characters, which the page leaves out\n"
            self._waiting.append({"type": "text", "to": "err", "parts": [more]})
        self._room, self._dropped = MOST_TEXT, 0
        self._send()

    def _last(self, kind: str) -> dict[str, Any] | None:
        return self._waiting[-1] if self._waiting and self._waiting[-1]["type"] == kind else None

    def _sometimes(self) -> None:
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._messages = second, 0
        if self._messages < MESSAGES:
            self._messages += 1
            self._send()

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, []
        for event in waiting:
            if event["type"] == "text":
                event["text"] = "".join(event.pop("parts"))
            self._post(event)


class Stream(io.TextIOBase):
    """Standard output, or the errors' stream, of a program of the page."""

    encoding = "utf-8"  # type: ignore[assignment]

    def __init__(self, to: str) -> None:
        self._to = to

    def writable(self) -> bool:
        """A text can be written."""
        return True

    def write(self, text: str) -> int:
        """Send a text to the page."""
        events.text(text, self._to)
        return len(text)


events: Events
names: dict[str, Any]


def connect(post: Callable[[dict[str, Any]], object]) -> None:
    """Send all that programs print and show by `post`."""
    global events
    events = Events(post)
    sys.stdout, sys.stderr = Stream("out"), Stream("err")
    builtins.input = ask
    os.environ["COLUMNS"] = "100"
    fresh()


def fresh() -> None:
    """A new program: no variables, no lines, and the settings that programs begin with."""
    global names
    rushlight.set_default_dtype(rushlight.float32)
    rushlight.set_grad_enabled(True)
    main = types.ModuleType("__main__")  # what pickle and others look up
    sys.modules["__main__"] = main
    names = vars(main)
    linecache.clearcache()


def ask(prompt: object = "") -> str:
    """In place of `input`."""
    raise RuntimeError(
        "input() has nobody to ask: a program on this page runs by itself. "
        "Write the answer into the program, as text in quotes"
    )


def show(value: object) -> None:
    """Show a value on the page, below what was printed so far: a picture (the text of an SVG, a
    graph), a page of rushlight.explain, a file with such a thing, or the value's text."""
    if isinstance(value, os.PathLike) and (kind := SHOWN.get(Path(value).suffix)):
        events.event(type=kind, text=Path(value).read_text(encoding="utf-8"))
    elif isinstance(value, str) and value.lstrip().startswith("<svg"):
        events.event(type="svg", text=str.__str__(value))
    elif hasattr(value, "_repr_svg_"):
        events.event(type="svg", text=value._repr_svg_())
    elif type(value).__name__ == "Framed":
        events.event(type="page", text=value.text, height=value.height)  # type: ignore[attr-defined]
    else:
        events.event(type="value", text=repr(value))


def live(**row: float) -> None:
    """Send numbers of this moment to the page: `live(step=i, loss=loss)`; a tensor is one too."""
    events.row({name: float(value) for name, value in row.items()})


def run(code: str, name: str, line: int = 0, check: str | None = None) -> dict[str, str] | None:
    """Run a block of the page's program; None, or the kind of its error and what that says.

    name: of the program in errors. line: how many lines of the program stand before the block.
    check: statements that run after the block, with its variables; both then work on a copy of the
    program's. Where one of these fails the page hears only that, as the key `check` says.
    """
    before = written()
    variables = names if check is None else dict(names)
    try:
        compute(code, name, line, variables)
        if check is not None:
            return failing(check, variables)
    except KeyboardInterrupt:
        events.event(type="error", text="KeyboardInterrupt: stopped\n")
        return {"kind": "KeyboardInterrupt", "message": ""}
    except SystemExit as error:
        if error.code:
            events.text(f"SystemExit: {error.code}\n", "err")
    except BaseException as error:
        events.event(type="error", text=told(error, name))
        return {"kind": type(error).__name__, "message": str(error)}
    finally:
        events.end()
    for path, time_written in written().items():
        if before.get(path) != time_written:
            show(path)
    return None


def failing(check: str, variables: dict[str, Any]) -> dict[str, str] | None:
    """What a check of an answer complains about."""
    try:
        exec(compile(check, "the check", "exec"), variables)
    except Exception as error:
        return {"kind": type(error).__name__, "message": str(error), "check": "yes"}
    return None


def compute(code: str, name: str, line: int, variables: dict[str, Any]) -> None:
    """Run the code, and show the value of a final expression."""
    lines = list(linecache.cache.get(name, (0, None, [], name))[2])
    lines[line:] = [""] * (line - len(lines)) + code.splitlines(keepends=True)
    linecache.cache[name] = (sum(map(len, lines)), None, lines, name)
    tree = ast.parse("\n" * line + code, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), variables)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), name, "eval"), variables)
        if value is not None and not code.rstrip().endswith(";"):
            show(value)


def told(error: BaseException, name: str) -> str:
    """The traceback, from the page's program on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != name:
        trace = trace.tb_next
    return "".join(traceback.format_exception(error.with_traceback(trace)))


def written() -> dict[Path, int]:
    """The files of the current folder that a page can show, with the times of their writing."""
    return {p: p.stat().st_mtime_ns for p in Path().iterdir() if p.suffix in SHOWN}
