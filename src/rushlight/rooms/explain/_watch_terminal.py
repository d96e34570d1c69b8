"""The live view of a terminal: the last lines on it.

The program's output goes above the view: `sys.stdout` and `sys.stderr` are streams of this file
meanwhile, which take the view away, write the program's text as it is, and put the view back. An
unfinished line (a progress bar) is shown above the view until it ends. There is no thread: the view
is drawn by the passes and steps that it shows, at most `_FRAMES` times a second.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

from ._watch import watch
from ._watch_data import printable

__all__ = ["SHARE", "Stream", "Terminal", "is_terminal"]

SHARE = 20
"""A view is followed by at least so many times its own time without one."""
_FRAMES = 8
_DRAWS = re.compile(r"\x1b(?:\[[\d;]*[ABEFHJSTfsu]|\[\?[\d;]+[hl]|[78])")
"""How a program draws on a terminal by itself: moves of the cursor, erased screens."""
_ESCAPES = re.compile(r"\x1b(?:\[[\d;?]*[ -/]*[@-~]|\][^\x07]*\x07|.)")


def is_terminal(stream: Any) -> bool:
    """Whether a live view can be drawn on it."""
    if os.environ.get("TERM") == "dumb":
        return False
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def _same_terminal(a: Any, b: Any) -> bool:
    try:
        return is_terminal(a) and os.fstat(a.fileno()).st_rdev == os.fstat(b.fileno()).st_rdev
    except (AttributeError, OSError, ValueError):
        return False


class Stream:
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

    def __getattr__(self, name: str) -> object:
        return getattr(self._real, name)

    def __iter__(self) -> Iterator[str]:
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
        self._streams: dict[str, Stream] = {}
        for name in ("stdout", "stderr"):
            real = getattr(sys, name)
            if real is self._out or _same_terminal(real, self._out):
                self._streams[name] = Stream(self, real)
                setattr(sys, name, self._streams[name])
        try:
            "⣿█·×".encode(getattr(self._out, "encoding", None) or "ascii")
            self._plain = False
        except (LookupError, UnicodeEncodeError):
            self._plain = True

    # --- what the program writes

    def write(self, stream: Stream, text: str) -> None:
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
            self._lines = self._frame()
            self._draw()
        now = time.perf_counter()
        return now + max(1 / _FRAMES, SHARE * (now - started))

    def _frame(self) -> list[str]:
        from ._watch_frame import frame  # with rich, which a program without a view may lack

        columns, rows = shutil.get_terminal_size()
        return frame(self._seen, max(columns - 1, 20), max(rows - 2, 1), self._plain)

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

    def _unfinished_line(self, stream: Stream) -> str:
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
            was_open = self.open
            if was_open:
                self._clear()
                unfinished = any(s._unfinished for s in self._streams.values())
                self._release()
                if unfinished:
                    self._out.write("\n")
            if self._seen.clock:
                self._out.write("".join(f"{line}\n" for line in self._frame()))
                self._out.flush()

    def forked(self) -> None:
        self._lock = threading.RLock()
        self._height = 0
        for stream in self._streams.values():
            stream._unfinished = ""  # the parent has it
        self._release()
