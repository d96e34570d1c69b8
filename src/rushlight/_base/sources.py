"""Lines of the program as errors show them: the text of a line, also where Python keeps no file of
it, and the names of a notebook's cells."""

from __future__ import annotations

import ast
import linecache
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from inspect import CO_OPTIMIZED
from itertools import islice
from types import CodeType, FrameType

from . import FOLDER

__all__ = ["cell", "line_of", "locals_of", "shell", "short_name"]


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


def line_of(code: CodeType, number: int, at: int = -1) -> str:
    """A line of the source that `code` was compiled from; "" where nobody has it.

    at: the place of an instruction in the bytecode. Of several statements in the line the text is
    that of its statement; of a line without text, the columns.
    """
    text = _text_of(code, number)
    place = next(islice(code.co_positions(), at // 2, None), None) if at >= 0 else None
    first, last, left, right = place or (None,) * 4
    if first != number or left is None:
        return text.strip()
    if not text:
        return f"(columns {left + 1} to {right})" if first == last else ""
    return _statement(text, left) if ";" in text else text.strip()


def _text_of(code: CodeType, number: int) -> str:
    # By "<string>" Python 3.13 keeps the program of `python -c`, not that of an exec.
    if code.co_filename != "<string>" and (text := linecache.getline(code.co_filename, number)):
        return text
    for source, mode in _told(code.co_filename):
        try:
            made = compile(source, code.co_filename, mode, dont_inherit=True)
        except (SyntaxError, ValueError):
            continue
        if _holds(made, code):
            return source.splitlines()[number - 1]
    return ""


def _statement(text: str, left: int) -> str:
    """The innermost statement of a line that holds a column, which counts bytes."""
    shown = text.strip()
    column = left - len(text) + len(text.lstrip())
    try:
        found = [n for n in ast.walk(ast.parse(shown)) if isinstance(n, ast.stmt)]
    except SyntaxError:  # the line is a part of a longer statement
        return shown
    around = [n for n in found if n.col_offset <= column < (n.end_col_offset or 0)]
    inner = max(around, key=lambda n: n.col_offset, default=None)
    return shown if inner is None else ast.get_source_segment(shown, inner) or shown


def _told(file: str) -> Iterator[tuple[str, str]]:
    """Sources that may have that name: the program of `python -c`; what was typed, latest first;
    the texts in running functions, where a text given to exec may be."""
    given = sys.orig_argv
    if file == "<string>" and "-c" in given[:-1]:
        yield given[given.index("-c") + 1], "exec"
    readline = sys.modules.get("readline")
    if file == "<stdin>" and readline is not None:
        last = readline.get_current_history_length()
        lines = [readline.get_history_item(n) or "" for n in range(max(last - 200, 1), last + 1)]
        for n in range(len(lines) - 1, -1, -1):
            end = n + 1
            while end < len(lines) and lines[end][:1].isspace():  # what belongs to it is indented
                end += 1
            yield "\n".join(lines[n:end]) + "\n", "single"
    if file.startswith("<"):
        for text in islice(dict.fromkeys(_held_texts()), 100):
            for mode in ("exec", "single"):
                yield text, mode


def _held_texts() -> Iterator[str]:
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(FOLDER):
            for value in (*locals_of(frame).values(), *code.co_consts):
                if type(value) is str and len(value) > 3:
                    yield value
        frame = frame.f_back


def _holds(made: CodeType, code: CodeType) -> bool:
    return made == code or any(isinstance(c, CodeType) and _holds(c, code) for c in made.co_consts)


def locals_of(frame: FrameType) -> dict[str, object]:
    """A copy of a frame's own variables, of which nothing stays with the frame."""
    code = frame.f_code
    local = frame.f_locals
    known = dict(local)
    own_copy = type(local) is dict and code.co_flags & CO_OPTIMIZED
    if (
        own_copy
        and sys.getrefcount(local) == _UNSHARED
        and not (sys.gettrace() or sys.getprofile())
    ):
        # Before Python 3.13 this is a copy that stays with the frame. It would keep alive what the
        # program lets go of. A debugger writes it back, so that it must stay whole there.
        for name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
            local.pop(name, None)
    return known


_UNSHARED = 3
"""References to the copy of a frame's variables: the frame's, a variable, the question's own."""


class Source:
    """A file of the program, parsed. Python keeps the place in there of each instruction."""

    def __init__(self, file: str) -> None:
        self._tree, self._at = _parsed("".join(linecache.getlines(file)))

    def expression(self, code: CodeType, at: int) -> ast.AST | None:
        """The expression that an instruction computes. at: its place in the bytecode."""
        return self._at.get(next(islice(code.co_positions(), at // 2, None)))

    def value_before(self, line: int, name: str) -> ast.AST | None:
        """The expression that a variable has in a line: of the last statement before that sets the
        variable, where that is a plain assignment in the same block."""
        block: list[ast.stmt] = []
        for node in ast.walk(self._tree):
            for _, inner in ast.iter_fields(node):
                for at, s in enumerate(inner if isinstance(inner, list) else []):
                    if isinstance(s, ast.stmt) and s.lineno <= line <= (s.end_lineno or 0):
                        block = inner[:at]
        match [s for s in block if name in _set_by(s)][-1:]:
            case [ast.Assign(targets=[ast.Name()], value=made)]:
                return made
        return None


@lru_cache(4)
def _parsed(text: str) -> tuple[ast.Module, dict[tuple[int | None, ...], ast.AST]]:
    """A file's tree, and its expressions by their places."""
    try:
        tree = ast.parse(text)
    except SyntaxError:  # the file is another by now
        tree = ast.Module([], [])
    found = (n for n in ast.walk(tree) if isinstance(n, (ast.expr, ast.AugAssign)))
    return tree, {(n.lineno, n.end_lineno, n.col_offset, n.end_col_offset): n for n in found}


def _set_by(statement: ast.stmt) -> set[str]:
    """The variables that a statement sets, at any depth."""
    names = [part for part in ast.walk(statement) if isinstance(part, ast.Name)]
    return {name.id for name in names if not isinstance(name.ctx, ast.Load)}
