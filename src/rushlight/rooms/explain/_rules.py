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
import re
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
    return _number(op.entry.name, argument, found)


def _below(file: str) -> str:
    return Path(os.path.relpath(file, FOLDER)).as_posix()


# ---- functions


@functools.cache
def _parsed(file: str) -> ast.Module | None:
    """The syntax of a file; None where it is not there."""
    source = _source(file)
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


def _number(op: str, argument: str, value: float) -> Rule | None:
    """A number of `partials`: where it stands in the op's statement, or where that begins."""
    statements = _statements(op)
    for file, statement in statements:
        for given in _given(statement, argument):
            if _value(given) == value:
                return Rule(_segment(file, given), _below(file), given.lineno)
    for file, statement in statements[:1]:
        return Rule(f"{value:g}", _below(file), statement.lineno)
    return None


_Call: TypeAlias = tuple[str, ast.Call]  # with its file


def _statements(op: str) -> list[_Call]:
    """The calls that say an op's name or signature, best first; without such calls, the calls whose
    text fits once its places are filled. Only files that have the name are parsed, if there are."""
    said = f'"{op}"', f'"{op}('
    found: list[_Call] = []
    for file in _files():
        if any(text in _source(file) for text in said):
            found += _calls(file)[0].get(op, ())
    if not found:
        loose = (call for file in _files() for call in _calls(file)[1])
        found = [(file, call) for pattern, file, call in loose if pattern.fullmatch(op)]
    # A signature says more than a name, and an op is assigned to its name.
    return sorted(found, key=lambda call: (not _is_signature(call[1]), _made(*call) != op))


@functools.cache
def _files() -> tuple[str, ...]:
    """The files of the table."""
    return tuple(map(str, sorted(Path(FOLDER, "ops").rglob("*.py"))))


def _source(file: str) -> str:
    return "".join(linecache.getlines(file))


@functools.cache
def _calls(file: str) -> tuple[dict[str, list[_Call]], list[tuple[re.Pattern[str], str, ast.Call]]]:
    """The calls of a file that begin with a text: by the name in it; and those of a text with
    places to fill, with a pattern of what they may be."""
    exact: dict[str, list[_Call]] = {}
    loose = []
    tree = _parsed(file)
    for node in ast.walk(tree) if tree is not None else ():
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
            continue
        match node.args[0]:
            case ast.Constant(value=str() as text) if node.func.id != "alias":
                exact.setdefault(text.partition("(")[0], []).append((file, node))
            case ast.JoinedStr(values=pieces):
                name = "".join(map(_pattern, pieces)).partition(r"\(")[0]
                if name != ".*":
                    loose.append((re.compile(name), file, node))
    return exact, loose


def _is_signature(call: ast.Call) -> bool:
    return isinstance(call.args[0], ast.Constant) and "(" in str(call.args[0].value)


def _pattern(piece: ast.expr) -> str:
    """The pattern of a piece of a text with places to fill."""
    return re.escape(str(piece.value)) if isinstance(piece, ast.Constant) else ".*"


def _made(file: str, call: ast.Call) -> str:
    """The name that a call of a file is assigned to."""
    for node in getattr(_parsed(file), "body", ()):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ) if value is call:
                return name
    return ""


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
