"""Lines of the program as errors show them: the text of a line, also where Python keeps no file of
it, and the names of a notebook's cells."""

from __future__ import annotations

import linecache
import os
import sys
from types import CodeType

__all__ = ["cell", "line_of", "shell", "short_name"]


def shell() -> object:
    """The IPython that runs this program, or None; it is not imported for the question."""
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()


def cell(file: str) -> str:
    """IPython's name for the cell that it calls this file: `In[3]`; "" for no cell."""
    name = getattr(getattr(shell(), "compile", None), "format_code_name", lambda file: None)(file)
    return name[1] if name else ""


def short_name(file: str) -> str:
    """The file without its folders, or the cell."""
    return cell(file) or os.path.basename(file)


def line_of(code: CodeType, number: int) -> str:
    """A line of the source that `code` was compiled from; "" where nobody has it."""
    if text := linecache.getline(code.co_filename, number).strip():
        return text
    for source, mode in _told(code.co_filename):
        try:
            made = compile(source, code.co_filename, mode, dont_inherit=True)
        except (SyntaxError, ValueError):
            continue
        if _holds(made, code):
            return source.splitlines()[number - 1].strip()
    return ""


def _told(file: str) -> list[tuple[str, str]]:
    """Sources that may have that name: the program of `python -c`; what was typed, latest first."""
    given = sys.orig_argv
    if file == "<string>" and "-c" in given[:-1]:
        return [(given[given.index("-c") + 1], "exec")]
    if file != "<stdin>" or (readline := sys.modules.get("readline")) is None:
        return []
    last = readline.get_current_history_length()
    lines = [readline.get_history_item(n) or "" for n in range(max(last - 200, 1), last + 1)]
    blocks = []
    for n in range(len(lines) - 1, -1, -1):
        end = n + 1
        while end < len(lines) and lines[end][:1].isspace():  # what belongs to it is indented
            end += 1
        blocks.append(("\n".join(lines[n:end]) + "\n", "single"))
    return blocks


def _holds(made: CodeType, code: CodeType) -> bool:
    return made == code or any(isinstance(c, CodeType) and _holds(c, code) for c in made.co_consts)
