"""The supervisor's report of failures: which rank failed and how, and where late ranks are."""

from __future__ import annotations

import json
import linecache
import os
import re
import shutil
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from .._base import FOLDER
from . import _board, _process
from ._streams import write_all

ERROR_FILE = "error.json"
# The file, in a process's folder, for the traceback of a process that is asked where it is.
ASKED = "asked"
# How many late ranks are shown with their tracebacks.
_SHOWN = 4
# Our files whose frames stand in front of a program's.
_OURS = "_cli/__init__.py", "_cli/_program.py", "_rank.py", "_process.py"


@dataclass
class Failure:
    """A rank that failed. `code`: its exit code, or the number of the signal, negative."""

    rank: int
    pid: int
    code: int
    error_file: str
    time: float
    what: str = ""  # said in place of an exit code
    host: str = field(default_factory=socket.gethostname)

    def message(self) -> str:
        """The message of the error file; empty without a file."""
        try:
            with open(self.error_file, encoding="utf-8") as file:
                message = json.load(file)["message"]
            return str(message if isinstance(message, str) else message["message"])
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def exit_code(self) -> int:
        """The exit code of a command that this ends; that of a shell for a signal."""
        return self.code if self.code >= 0 else 128 - self.code

    def reason(self) -> str:
        """The end of the rank, in words."""
        if self.what:
            return self.what
        if self.code >= 0:
            return f"ended with exit code {self.code}"
        return f"was ended by signal {-self.code} ({_signal(-self.code)})"


class Process(Protocol):
    """A started process, as far as it is asked where it is."""

    pid: int

    def send(self, number: int) -> bool:
        """Send a signal; False where the process has ended."""

    def alive(self) -> bool:
        """Whether the process runs still."""


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


def write(descriptor: int, text: str) -> None:
    """Write a text to standard output or error, at once."""
    write_all(descriptor, text.encode(errors="backslashreplace"))


def state(pid: int) -> str:
    """The letter that Linux has for a process's state; empty where it is not known."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def tell_failures(name: str, failures: Sequence[Failure], count: int, restarts: int) -> None:
    """Say on standard error which ranks failed, in their order, and whether there is a restart."""
    if not failures:
        return
    rule = "-" * 72
    lines = [rule, f"{_shown(name)} failed: rank {failures[0].rank} {failures[0].reason()}"]
    for failure in failures:
        when = time.strftime("%Y-%m-%d_%H:%M:%S", time.localtime(failure.time))
        code = f"{failure.code}"
        if failure.code < 0:
            code += f" ({_signal(-failure.code)})"
        lines += [
            f"  time      : {when}",
            f"  host      : {failure.host}",
            f"  rank      : {failure.rank} (local_rank: {failure.rank})",
            f"  exitcode  : {code} (pid: {failure.pid})",
            f"  error_file: {failure.error_file or '<N/A>'}",
        ]
        if message := failure.message():
            lines.append(f"  message   : {_shown(message)}")
    if count < restarts:
        lines.append(
            f"All ranks were ended and are started again: restart {count + 1} of {restarts}."
        )
    else:
        lines.append("All other ranks were ended.")
    write(2, "\n".join([*lines, rule, ""]))


def _shown(text: str) -> str:
    """A text in one line that no control character leaves."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def hand_on(failure: Failure) -> None:
    """Copy the error file to the place that the supervisor itself was given for one."""
    place = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if place and failure.error_file:
        shutil.copyfile(failure.error_file, place)


# --- late ranks


def tell_late(
    entries: Sequence[_board.Entry],
    started: Mapping[int, Process],
    own: Callable[..., str],
) -> Failure:
    """Show where the ranks are that others have given up waiting for; the first of them failed."""
    waiting = [entry for entry in entries if entry.state == _board.TIMED_OUT]
    late = [entry.rank for entry in entries if entry.late]
    first = waiting[0]
    seconds = time.monotonic() - first.since
    collective = f"{_shown(first.name)} (collective {first.sequence})"
    who = ", ".join(str(entry.rank) for entry in waiting)
    wait = f"{'rank' if len(waiting) == 1 else 'ranks'} {who} waited {seconds:.1f} s"
    if not late:  # all have come, and MPI does not end
        what = f"waited {seconds:.1f} s in {collective}, to which all ranks have come"
        pid = started[first.rank].pid if first.rank in started else 0
        return Failure(first.rank, pid, 1, "", time.time(), what)
    for rank in late[:_SHOWN]:
        write(2, f"rank {rank} has not come to {collective}; {wait}. ")
        write(2, _where(rank, started.get(rank), own(rank, ASKED)))
    if late[_SHOWN:]:
        others = ", ".join(map(str, late[_SHOWN:]))
        write(2, f"Nor have these ranks come, which are not shown: {others}.\n")
    pid = started[late[0]].pid if late[0] in started else 0
    what = f"has not come to {collective}"
    return Failure(late[0], pid, 1, "", time.time(), what)


def _where(rank: int, process: Process | None, path: str) -> str:
    """A sentence that says where a process is, with its traceback."""
    if process is None:
        return "It has not started.\n"
    name = f"It (pid {process.pid})"
    if not process.alive():
        return f"{name} has ended.\n"
    text = _ask(process, path)
    if text:
        return f"{name} is here:\n{_in_order(text)}"
    reason = {"T": "it is stopped", "D": "it waits for a device"}.get(state(process.pid), "")
    return f"{name} gives no traceback{': ' if reason else ''}{reason}.\n"


def _ask(process: Process, path: str, seconds: float = 1.0) -> str:
    """Let a process write where it is, and read the text when it is whole; "" without a text."""
    if not os.path.exists(path):
        return ""  # it has not come so far: the signal would end it
    os.truncate(path, 0)
    process.send(_process.ASK)
    end, size = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        time.sleep(0.05)
        if size and os.path.getsize(path) == size:
            break
        size = os.path.getsize(path)
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _in_order(text: str) -> str:
    """faulthandler's traceback as Python's: the last call last, with lines, without our frames."""
    found = []
    for block in re.split(r"\n\n|\n(?=Current thread|Thread 0x)", text.strip()):
        head, *calls = block.splitlines()
        frames = [re.match(r'  File "(.*)", line (\d+) in (.*)', call) for call in calls]
        lines: list[str] = []
        for frame in reversed(frames):
            if frame is None or (not lines and _is_ours(frame[1])):
                continue
            lines.append(f'  File "{_shown(frame[1])}", line {frame[2]}, in {frame[3]}')
            if source := linecache.getline(frame[1], int(frame[2])).strip():
                lines.append(f"    {_shown(source)}")
        title = "Traceback (most recent call last)"
        if not head.startswith("Current thread"):
            title += f", {head.split(' (')[0]}"
        found.append((not head.startswith("Current thread"), "\n".join([f"{title}:", *lines, ""])))
    return "".join(block for _, block in sorted(found, key=lambda item: item[0]))


def _is_ours(path: str) -> bool:
    return path.startswith((FOLDER, "<frozen runpy")) and path.endswith((*_OURS, "runpy>"))
