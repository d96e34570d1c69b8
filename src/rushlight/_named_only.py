"""Names of PyTorch that are here by a row of named_only.txt, so that programs can import them.

A row has a module and its names. A module without a file is made when it is imported; of one with
a file these are names that few programs use (`_missing.missing_name` asks for them). A line that
begins with spaces goes on with the one before. What a word stands for:

    name Name       a function, a class: it can be named, and refuses when it is called
    Name=A,B        an enumeration
    Name<Base       an empty class, of a base of Python's or of a name of this package
    name:value      a constant, as Python writes it
    name()value     a function that answers so
    @name           a decorator that gives back what it is given
    name/place      what the module of that place has under the name; .nn is one of this package
    name/place/own  the same, where it has another name there; with `own` a dot, the module
    */place         every other name that the module of that place has

A line `!key` says why what follows refuses: a key of `_WHY`.
"""

from __future__ import annotations

import ast
import builtins
import enum
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec
from operator import attrgetter
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from ._elsewhere import refusing, refusing_class
from ._missing import missing_name

if TYPE_CHECKING:
    from importlib.abc import Loader  # not at run time: it is slow to import

__all__ = ["find", "spec_of"]

_PACKAGE = "rushlight."
_WHY = {
    "one-process": "it computes in one process.",
    "no-compiler": "nothing is compiled or traced here: functions run as Python runs them.",
    "no-dispatcher": "there is no dispatcher with kernels by keys.",
    "no-onnx": "programs are not exported to ONNX.",
    "no-quantizer": "quantized tensors are not computed with.",
    "no-dims": "dimensions are named by numbers.",
    "no-itt": "ITT functions are not linked in.",
    "no-jagged": "nested tensors are not computed with.",
}


@cache
def _table() -> dict[str, dict[str, tuple[str, str]]]:
    """By module and name: the word, and the key of the reason."""
    path = os.path.join(os.path.dirname(__file__), "named_only.txt")
    with open(path, encoding="utf-8") as file:
        lines = file.read().replace("\n    ", " ").splitlines()
    table: dict[str, dict[str, tuple[str, str]]] = {}
    why = ""
    for module, *words in map(str.split, lines):
        if module.startswith("!"):
            why = module[1:]
            continue
        row = table.setdefault(module, {})
        for word in words:
            row[_name(word)] = word, why
    return table


def _name(word: str) -> str:
    """The name that a word is of."""
    name = word.removeprefix("@")
    for sign in "=<:(/":
        name = name.partition(sign)[0]
    return name


def _as_it_is(function: Any, *args: Any, **kwargs: Any) -> Any:
    """What it is given."""
    return function


def _answering(value: Any) -> Callable[..., Any]:
    """A function that always answers so."""
    return lambda *args, **kwargs: value


def _from(place: str, name: str) -> Any:
    """A name of another module; with the name ".", the module."""
    module = import_module(place if place[0] != "." else _PACKAGE + place[1:])
    return module if name == "." else attrgetter(name)(module)


@cache
def _made(word: str, why: str, module: str) -> Any:
    """What a word of the table stands for, as the module that has it first tells."""
    name = _name(word)
    sign, rest = word[len(name) : len(name) + 1], word[len(name) + 1 :]
    full = f"torch.{module}.{name}" if module != "torch" else f"torch.{name}"
    if word[0] == "@":
        return _as_it_is
    if sign == "=":
        return enum.Enum(name, rest.split(","), module=_PACKAGE + module)
    if sign == "<":
        base = getattr(builtins, rest, None) or _from(*rest.rpartition(".")[::2])
        return type(name, (base,), {"__module__": _PACKAGE + module})
    if sign == ":":
        return ast.literal_eval(rest)
    if sign == "(":
        return _answering(ast.literal_eval(rest[1:]))
    if sign == "/":
        place, _, other = rest.partition("/")
        return _from(place, other or name)
    kind = refusing_class if name.lstrip("_")[:1].isupper() else refusing
    return kind(full, _WHY[why])


@cache
def _first() -> dict[tuple[str, str], str]:
    """The module that has a word first, so that classes are one."""
    found: dict[tuple[str, str], str] = {}
    for module, row in _table().items():
        for word in row.values():
            found.setdefault(word, module)
    return found


def find(module: str, name: str) -> Any:
    """What the row of a module ("hub", "torch") has under a name, or NotImplemented."""
    table = _table()
    row = table.get(module, {})
    if name in row:
        word = row[name]
        return _made(*word, _first()[word])
    full = name if module == "torch" else f"{module}.{name}"
    if full in table:  # a module, which PyTorch imports at the start
        return import_module(_PACKAGE + full)
    if "*" not in row:
        return NotImplemented
    with suppress(AttributeError):
        return _from(row["*"][0].partition("/")[2], name)
    return NotImplemented


@cache
def _parents() -> frozenset[str]:
    return frozenset(module.rpartition(".")[0] for module in _table())


def has_modules(module: str) -> bool:
    """Whether modules below this one have rows."""
    return module in _parents()


class _Loader:
    """Makes a module of its row."""

    def create_module(self, spec: ModuleSpec) -> None:
        """None: an ordinary module."""

    def exec_module(self, module: ModuleType) -> None:
        own = module.__name__.removeprefix(_PACKAGE)
        row = _table()[own]
        for name, (word, _) in row.items():
            if "/" not in word:  # those of other modules are imported when they are asked for
                setattr(module, name, find(own, name))
        module.__doc__ = f"`torch.{own}`, by its row of named_only.txt."
        module.__all__ = [name for name in row if name[0] not in "_*"]  # type: ignore[attr-defined]
        module.__getattr__ = missing_name(module.__name__)  # type: ignore[method-assign]


def spec_of(fullname: str) -> ModuleSpec | None:
    """The spec of a module that has a row, for the import system."""
    if fullname.removeprefix(_PACKAGE) not in _table():
        return None
    return ModuleSpec(fullname, cast("Loader", _Loader()), origin=__file__, is_package=True)
