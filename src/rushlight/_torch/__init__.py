"""Names of PyTorch that few programs use: by their rows of names.txt, and the files beside it.

A row has a module and its names; a file of this folder has what a module has with a body. A module
`torch.X` is made of its row, of `_torch/X.py`, or of both: the file runs as `rushlight.X`, so its
classes and functions say that they are from there, and then gets the names of the row. Of a module
whose file is elsewhere the row has names that `_missing.missing_name` asks for.

A line of names.txt that begins with spaces goes on with the line before. The words:

    name Name       a function, a class: it can be named, and refuses when it is called
    name!word       the same; the reason has the word in place of {}
    Name=A,B        an enumeration; Name=0:A,B one whose numbers begin with 0
    Name<Base       an empty class, of a base of Python's or of a name of this package
    name<!          a class that refuses, though the name has no capital
    Name|           a block that changes nothing, and a decorator that gives back the function
    name:value      a constant, as Python writes it
    name~value      a switch, which `flags` and `set_flags` of its module set; behind another ~
                    the default of `flags`
    name~           `patch` of a module of settings
    name()value     a function with this result; name(a,b=1)value has these parameters
    @name           a decorator that changes nothing
    @name()         a function that gives such a decorator
    name/place      the object of this name in the module of that place; .nn is in this package
    name/place/own  the same, under its own name there; with `own` a dot, the module
    */place         every other name that the module of that place has
    &module         the words of another row

In a row that begins with `module/place` words are names, or `name/own`, of that place.

A line `!key` says why the names below it refuse. The first line of a key has the reason behind the
key: half a sentence, or the type of an error and its text, in which {name} {module} {MODULE} are
the name, the module and the module in capitals.
"""

from __future__ import annotations

import ast
import builtins
import enum
import os
from collections.abc import Callable
from contextlib import ContextDecorator, suppress
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from itertools import accumulate, count
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, cast

from .._base import switches
from .._base.errors import refused
from .._base.late import get_dotted
from .._base.missing import missing_name
from .._base.pickled import root

if TYPE_CHECKING:
    from importlib.abc import Loader  # not at run time: it is slow to import

__all__ = ["fill", "find", "has_modules", "listed", "refused_without", "spec_of"]

_PACKAGE = "rushlight."
_HERE = os.path.dirname(__file__)
if not TYPE_CHECKING:
    __path__ = []  # the files are found by `spec_of`, under the names that they run as


@cache
def _read() -> tuple[dict[str, dict[str, tuple[str, str]]], dict[str, str]]:
    """By module and name the word and the key of the reason; and the reasons."""
    with open(os.path.join(_HERE, "names.txt"), encoding="utf-8") as file:
        lines = file.read().replace("\n    ", " ").splitlines()
    table: dict[str, dict[str, tuple[str, str]]] = {}
    reasons: dict[str, str] = {}
    why = ""
    for first, *words in map(str.split, lines):
        if first.startswith("!"):
            why = first[1:]
            if words:
                reasons[why] = " ".join(words)
            continue
        module, _, place = first.partition("/")
        row = table.setdefault(module, {})
        for word in words:
            if place:
                name, *own = word.split("/")
                word = "/".join([name, place, *own])
            if word[0] == "&":
                row.update(table[word[1:]])
            else:
                row[_name(word)] = word, why
    return table, reasons


def _table() -> dict[str, dict[str, tuple[str, str]]]:
    return _read()[0]


def _name(word: str) -> str:
    """The name that a word is of."""
    name = word.removeprefix("@")
    for sign in "!=<|:(/~":
        name = name.partition(sign)[0]
    return name


def _as_it_is(function: object, *args: object, **kwargs: object) -> Any:
    """The function, as it is."""
    return function


def _settings_first(*args: object, **kwargs: object) -> Any:
    """A decorator that changes nothing."""
    return _as_it_is


class _Block(ContextDecorator):
    """A block that changes nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


def _closed(text: str) -> tuple[str, str]:
    """The text up to the bracket that closes one before the text, and the text behind."""
    depth = accumulate((char == "(") - (char == ")") for char in text)
    end = next(i for i, deep in enumerate(depth) if deep < 0)
    return text[:end], text[end + 1 :]


def _answering(parameters: str, text: str) -> Callable[..., object]:
    """A function of these parameters that always answers so: with lists and dicts of its own each
    time."""
    value = ast.literal_eval(text)
    changes = "[" in text or "{" in text
    names = {"answer": lambda: ast.literal_eval(text) if changes else value}
    made: Callable[..., Any] = eval(f"lambda {parameters or '*args, **kwargs'}: answer()", names)
    return made


def _home(module: str) -> str:
    """Where pickles look for the names of a module."""
    return root() if module == "torch" else f"{root()}.{module}"


def _from(place: str, name: str, module: str) -> Any:
    """A name of another module; with the name ".", the module."""
    found = import_module(place if place[0] != "." else f"rushlight{place}".rstrip("."))
    value = found if name == "." else get_dotted(found, *name.split("."))
    theirs = place == "._rare" and isinstance(value, (type, FunctionType))
    if theirs and value.__module__.partition(".")[0] in ("rushlight", "torch"):
        value.__module__ = _home(module)
    return value


def _members(text: str) -> list[Any]:
    """The members of an enumeration, numbered from the number that stands before them."""
    first, numbered, names = text.rpartition(":")
    return list(zip(names.split(","), count(int(first)))) if numbered else names.split(",")


@cache
def _made(word: str, why: str, module: str) -> Any:
    """The object of a word of the table, as its first module has it."""
    name = _name(word)
    full = name if module == "torch" else f"{module}.{name}"
    home = _home(module)
    reason = _read()[1].get(why, "")
    if word[0] == "@":
        return _settings_first if word.endswith("()") else _as_it_is
    sign, rest = word[len(name) : len(name) + 1], word[len(name) + 1 :]
    if sign == "=":
        return enum.Enum(name, _members(rest), module=home)
    if sign == "<" and rest != "!":
        base = getattr(builtins, rest, None) or _from(*rest.rpartition(".")[::2], module)
        return type(name, (base,), {"__module__": home, "__doc__": f"Empty: {reason}"})
    if sign == "|":
        return type(name, (_Block,), {"__module__": home, "__doc__": _Block.__doc__})
    if sign == ":":
        return ast.literal_eval(rest)
    if sign == "/":
        place, _, other = rest.partition("/")
        return _from(place, other or name, module)
    if sign == "(":
        parameters, answer = _closed(rest)
        function = _answering(parameters, answer)
        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"{answer}: {reason}"
        function.__module__ = home
        return function
    said = {"name": name, "module": module, "MODULE": module.upper()}
    is_class = sign == "<" or name.lstrip("_")[:1].isupper()
    made = refused(f"torch.{full}", reason.format(rest or name, **said), is_class)
    made.__module__ = home
    return made


@cache
def _first() -> dict[tuple[str, str], str]:
    """The module that has a word first, so that classes are one."""
    found: dict[tuple[str, str], str] = {}
    for module, row in _table().items():
        for word in row.values():
            found.setdefault(word, module)
    return found


def _of_row(module: str, word: tuple[str, str]) -> Any:
    """The object of a word of a row. All modules share a class, unless its reason names the
    module."""
    shared = _name(word[0]).lstrip("_")[:1].isupper()
    shared = shared and "{module}" not in _read()[1].get(word[1], "")
    return _made(*word, _first()[word] if shared else module)


def find(module: str, name: str) -> Any:
    """The object of a name in the row of a module ("hub", "torch"), or NotImplemented."""
    table = _table()
    row = table.get(module, {})
    if name in row:
        return _of_row(module, row[name])
    full = name if module == "torch" else f"{module}.{name}"
    if full in table or _file(full):  # a module, which PyTorch imports at the start
        return import_module(_PACKAGE + full)
    if "*" not in row:
        return NotImplemented
    with suppress(AttributeError):
        return _from(row["*"][0].partition("/")[2], name, module)
    return NotImplemented


def listed(module: str) -> set[str]:
    """The names that a module has here, its modules among them."""
    parent = "" if module == "torch" else module
    parts = [name.rpartition(".") for name in _table()]
    found = {last for above, _, last in parts if above == parent} | {*_table().get(module, {})}
    with suppress(OSError):
        found |= {name.removesuffix(".py") for name in os.listdir(os.path.join(_HERE, parent))}
    return {
        name
        for name in found
        if name.isidentifier() and name not in ("torch", "__init__", "__pycache__")
    }


@cache
def _parents() -> frozenset[str]:
    return frozenset(module.rpartition(".")[0] for module in _table())


def has_modules(module: str) -> bool:
    """Whether modules below this one have rows."""
    return module in _parents()


def refused_without(module: str) -> list[str]:
    """The names of a row that refuse."""
    return [name for name, (word, _) in _table()[module].items() if word == name.lower()]


def fill(module: str, names: dict[str, Any]) -> None:
    """Give a module the missing names of its row. Names from other modules stay out: a module is
    imported when such a name is asked for."""
    row = _table().get(module, {})
    defaults: dict[str, Any] = {}
    for name, word in row.items():
        _, switch, told = word[0].partition("~")
        if not switch and "/" not in word[0]:
            names.setdefault(name, _of_row(module, word))
        elif told:
            names[name], *default = map(ast.literal_eval, told.split("~"))
            defaults[name] = default[0] if default else names[name]
        elif switch:
            names[name] = switches.patcher(names)
    if defaults:
        names["flags"], names["set_flags"] = switches.switches(names, **defaults)
    public = [name for name in row if name[0] not in "_*"]
    if "*" in row:
        place = _from(row["*"][0].partition("/")[2], ".", module)
        others = getattr(place, "__all__", None) or [
            n for n, v in vars(place).items() if n[0] != "_" and not isinstance(v, ModuleType)
        ]
        public += [n for n in others if n not in row]
        names.update({n: getattr(place, n) for n in others if n not in names})
    names.setdefault("__dir__", lambda: sorted({*names, *public, *listed(module)}))
    if "__all__" in names:
        names["__all__"] += [name for name in public if name not in names["__all__"]]


@cache
def _file(module: str) -> str | None:
    """The path of the file of this folder that is a module."""
    if not module:
        return None
    path = os.path.join(_HERE, *module.split("."))
    for file in (f"{path}.py", os.path.join(path, "__init__.py")):
        if os.path.exists(file):
            return file
    return None


class _Spec(ModuleSpec):
    """Of a module whose file is here: what the file imports by dots is told from its place."""

    @property
    def parent(self) -> str:
        whole = f"rushlight._torch.{self.name.removeprefix(_PACKAGE)}"
        return whole if str(self.origin).endswith("__init__.py") else whole.rpartition(".")[0]


class _Loader(SourceFileLoader):
    """Makes a module of its row, and of its file if there is a file."""

    def create_module(self, spec: ModuleSpec) -> None:
        """None: an ordinary module."""

    def exec_module(self, module: ModuleType) -> None:
        own = module.__name__.removeprefix(_PACKAGE)
        names = vars(module)
        if self.path:
            super().exec_module(module)
        else:
            names["__doc__"] = f"`torch.{own}`, by its row of names.txt."
            names["__all__"] = []
        fill(own, names)
        names.setdefault("__getattr__", missing_name(module.__name__))


class _Alias:
    """Hands out the module `rushlight.X` under the name of its file."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(spec.name.replace("._torch.", ".", 1))
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the import system has just put the alias's there


def spec_of(fullname: str) -> ModuleSpec | None:
    """The spec of a module that has a row or a file here, for the import system."""
    name = fullname.removeprefix(_PACKAGE)
    if name.startswith("_torch."):
        inner = name.removeprefix("_torch.")
        if not _file(inner) and inner not in _table():
            return None
        return ModuleSpec(fullname, cast("Loader", _Alias()), is_package=True)
    path = _file(name)
    if path is None and name not in _table():
        return None
    spec = _Spec(fullname, _Loader(fullname, path or ""), origin=path or __file__)
    if path is not None:
        spec.has_location = True
    if path is None or path.endswith("__init__.py") or has_modules(name):
        spec.submodule_search_locations = []
    return spec
