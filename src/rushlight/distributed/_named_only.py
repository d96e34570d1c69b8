"""Modules of torch.distributed that are here by name only, so that programs can import them.

named_only.txt lists them, each with its names: a class or function that refuses when it is called;
`Name=A,B`, an enumeration; `@name`, a decorator that gives back what it is given. A line that
begins with spaces goes on with the one before.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Sequence
from functools import cache
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from .._elsewhere import refusing
from .._missing import missing_name

if TYPE_CHECKING:
    from importlib.abc import Loader  # not at run time: it is slow to import

_PACKAGE = "rushlight.distributed."
_WHY = "it computes in one process."


@cache
def _table() -> dict[str, list[str]]:
    """The words of each module."""
    path = os.path.join(os.path.dirname(__file__), "named_only.txt")
    with open(path, encoding="utf-8") as file:
        lines = file.read().replace("\n    ", " ").splitlines()
    return {words[0]: words[1:] for words in map(str.split, lines)}


def _is_available() -> bool:
    """False: processes do not talk to each other here."""
    return False


def _as_it_is(function: Any) -> Any:
    """What it is given."""
    return function


@cache
def _made(word: str, module: str) -> Any:
    """What a word of the table stands for, as the module that has it first tells."""
    name, _, members = word.partition("=")
    full = f"torch.distributed.{module}.{name}"
    if name.startswith("@"):
        return _as_it_is
    if name == "is_available":
        return _is_available
    if members:
        return enum.Enum(name, members.split(","), module=_PACKAGE + module)
    if name.lstrip("_")[:1].isupper():
        names = {"__init__": refusing(full, _WHY), "__module__": _PACKAGE + module}
        return type(name, (), {**names, "__doc__": f"Refused: {_WHY}"})
    return refusing(full, _WHY)


class NamedOnly:
    """The last of `sys.meta_path`: finds these modules, and makes them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(_PACKAGE) or fullname.removeprefix(_PACKAGE) not in _table():
            return None
        loader = cast("Loader", self)
        return ModuleSpec(fullname, loader, origin=__file__, is_package=True)

    def create_module(self, spec: ModuleSpec) -> None:
        """None: an ordinary module."""

    def exec_module(self, module: ModuleType) -> None:
        own = module.__name__.removeprefix(_PACKAGE)
        shared: dict[str, str] = {}  # the module that has a word first, so that classes are one
        for name, words in _table().items():
            for word in words:
                shared.setdefault(word, name)
        for word in _table()[own]:
            name = word.partition("=")[0].removeprefix("@")
            setattr(module, name, _made(word, shared[word]))
        module.__doc__ = f"`torch.distributed.{own}`, by name only: {_WHY}"
        module.__getattr__ = missing_name(module.__name__)  # type: ignore[method-assign]
