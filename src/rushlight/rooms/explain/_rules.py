"""Where a derivative rule of the op table is written, and its text.

A rule is a function, found by the places in its code, or a number, found by the statement of its
op. Files are read when something is asked, and only once. Without the sources there is nothing to
find.
"""

from __future__ import annotations

import ast
import functools
import linecache
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TypeAlias

from .. import _core
from .._base import FOLDER

__all__ = ["Function", "Rule", "node_of", "rule", "stated"]

Function: TypeAlias = ast.Lambda | ast.FunctionDef


@dataclass(frozen=True)
class Rule:
    """A derivative rule as the op table has it: `file` is a path below the package.

    >>> torch.explain._formulas.rule(torch.tanh, "input").text
    'lambda out: 1 - out * out'
    """

    text: str
    file: str
    line: int


def stated(op: _core.Op, argument: str) -> Any:
    """The statement's derivative for an argument: a number or a function; None where the statement
    has none."""
    entry = getattr(op, "entry", None)
    if entry is None:  # no op of the table
        return None
    for made, targets in zip(entry.rules, entry.targets, strict=True):
        if argument in (entry.function.params[i] for i in targets):
            return made.function if made.partial is None else made.partial
    return None


def rule(op: _core.Op, argument: str) -> Rule | None:
    """The derivative rule of an argument as written in the op's statement: None where there is no
    rule, or no source file."""
    found = stated(op, argument)
    if isinstance(found, FunctionType):
        node = node_of(found)
        if node is None:
            return None
        text = _segment(found.__code__.co_filename, node)
        return Rule(text, _below(found.__code__.co_filename), node.lineno)
    if found is None:
        return None
    return _number(op.entry, argument, found)


def _below(file: str) -> str:
    return Path(os.path.relpath(file, FOLDER)).as_posix()


# ---- functions


@functools.cache
def _parsed(file: str) -> ast.Module | None:
    """The syntax of a file; None where it is not there."""
    source = "".join(linecache.getlines(file))
    try:
        return ast.parse(source) if source else None
    except SyntaxError:
        return None


@functools.cache
def _functions(file: str) -> dict[int, list[Function]]:
    """The functions of a file by the line that their code begins with."""
    tree = _parsed(file)
    found: dict[int, list[Function]] = {}
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Lambda):
            found.setdefault(node.lineno, []).append(node)
        elif isinstance(node, ast.FunctionDef):
            decorated = [d.lineno for d in node.decorator_list]
            found.setdefault(min([node.lineno, *decorated]), []).append(node)
    return found


def node_of(function: FunctionType) -> Function | None:
    """The syntax of a function, where its source file is there."""
    code = function.__code__
    found = _functions(code.co_filename).get(code.co_firstlineno, [])
    found = [node for node in found if _same(node, code)]
    if len(found) > 1:  # lambdas of one line, perhaps one within another
        first, last = _extent(code)
        around = [(n, *_ends(n.body)) for n in found if isinstance(n, ast.Lambda)]
        inner = [(start, n) for n, start, end in around if start <= first and last <= end]
        return max(inner, key=lambda item: item[0])[1] if inner else None
    return found[0] if found else None


def _same(node: Function, code: CodeType) -> bool:
    """Whether name and parameters are the same: the file may not be the one that was imported."""
    name = node.name if isinstance(node, ast.FunctionDef) else "<lambda>"
    arguments = [*node.args.posonlyargs, *node.args.args]
    names = code.co_varnames[: code.co_argcount]
    return name == code.co_name and names == tuple(a.arg for a in arguments)


_Place: TypeAlias = tuple[int, int]  # line and column


def _ends(node: ast.expr) -> tuple[_Place, _Place]:
    last = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    return (node.lineno, node.col_offset), last


def _extent(code: CodeType) -> tuple[_Place, _Place]:
    """Where the code of a function begins and ends. Nowhere, if Python was told to forget it."""
    first, last = [], []
    for line, end_line, column, end_column in code.co_positions():
        if line and end_line and end_column:
            first.append((line, column or 0))
            last.append((end_line, end_column))
    return (min(first), max(last)) if first else ((0, 0), (0, 0))


def _segment(file: str, node: Function | ast.expr) -> str:
    """The text of a syntax node, less its indentation."""
    lines = linecache.getlines(file)[node.lineno - 1 : node.end_lineno]
    # Columns count bytes.
    lines[-1] = lines[-1].encode()[: node.end_col_offset].decode()
    first = lines[0].encode()
    lines[0] = first[node.col_offset :].decode()
    indent = len(first) - len(first.lstrip())
    return "".join([lines[0], *(line[min(indent, _indent(line)) :] for line in lines[1:])])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


# ---- numbers


def _number(entry: Any, argument: str, value: float) -> Rule | None:
    """A number of `partials`: where it stands in the op's statement, or where that begins."""
    file, line = entry.place
    tree = _parsed(file)
    if tree is None:
        return None
    for statement in ast.walk(tree):
        if isinstance(statement, ast.Call) and statement.lineno == line:
            for given in _given(statement, argument):
                if _value(given) == value:
                    return Rule(_segment(file, given), _below(file), given.lineno)
    return Rule(f"{value:g}", _below(file), line)


def _given(statement: ast.Call, argument: str) -> Iterator[ast.expr]:
    """The values of an argument in the dicts of a statement."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == argument:
                    yield value


def _value(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None
