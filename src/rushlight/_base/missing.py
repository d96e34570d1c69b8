"""The errors of a program that asks for a torch name that is not here.

Every public module ends with

    __getattr__ = missing_name(__name__)

so that `torch.foo` fails with torch's own sentence and, where torch does have `foo`, says that
rushlight does not have it yet. The exceptions are those that programs probe for: AttributeError
(`hasattr(torch, "foo")`), ImportError (`from torch import foo`), ModuleNotFoundError (`import
torch.foo`).

This module knows only names, from torch_names.txt (tools/torch_names.py writes it), read at the
first miss. The names that are here and that few programs use stand in `_torch`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from rushlight._base.version import __version__

from . import FOLDER
from .late import late as _to_the_right


@cache
def _import_from() -> int:
    """The number of the instruction that `from torch import foo` runs for foo."""
    from opcode import opmap  # a few milliseconds, which programs without a miss need not pay

    return opmap["IMPORT_FROM"]


@cache
def _torch_names() -> dict[str, frozenset[str]]:
    """torch's public names by namespace ("torch.nn"), and under "modules" all its modules."""
    path = os.path.join(FOLDER, "_torch", "torch_names.txt")
    with open(path, encoding="utf-8") as file:
        return {words[0]: frozenset(words[1:]) for words in map(str.split, file)}


def torch_has(namespace: str, name: str) -> bool:
    """Whether PyTorch has `name` in `namespace` ("torch", "torch.nn", "torch.Tensor")."""
    names = _torch_names()
    return name in names.get(namespace, ()) or f"{namespace}.{name}" in names["modules"]


def torch_has_module(name: str) -> bool:
    """Whether PyTorch has a module of that full name."""
    names = _torch_names()
    return name in names or name in names["modules"]


def not_yet(name: str) -> str:
    """The half sentence that says what rushlight lacks: `not_yet("torch.foo")`."""
    return f"(rushlight {__version__} does not have {name} yet)"


# Modules of PyTorch's whose names look like Python's own.
_PRIVATE = ("__config__", "__future__")
_NO_PRIVATE = f"(rushlight {__version__} does not have PyTorch's private names)"


_IMPORT_SYSTEM = "<frozen importlib._bootstrap>"  # the file of its frames


def torch_spelling(module: str) -> str:
    """The name that a PyTorch program knows a module of ours by: "rushlight.nn" is "torch.nn"."""
    return "torch" + module.removeprefix("rushlight")


def missing_attribute(owner: str, name: str, namespace: str) -> AttributeError:
    """The error for `name` missing in `owner`, which the sentence names as Python does.

    >>> missing_attribute("'Tensor' object", "foo", "torch.Tensor")
    AttributeError("'Tensor' object has no attribute 'foo'")
    """
    sentence = f"{owner} has no attribute {name!r}"
    if not torch_has(namespace, name):
        return AttributeError(sentence)
    # With its name set, Python does not guess at a misspelling: the name is right, only not here.
    return AttributeError(f"{sentence} {not_yet(f'{namespace}.{name}')}", name=name)


class ByRow:
    """The last of `sys.meta_path`: finds the modules that `_torch` has."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if not fullname.startswith("rushlight."):
            return None
        return _to_the_right.spec_of(fullname)


names_in: Callable[[ModuleType], dict[str, Any]] = vars(ModuleType)["__dict__"].__get__
"""The names of a module, as far as they are imported."""


class _Whole(ModuleType):
    def __dir__(self) -> list[str]:
        return names_in(self)["__dir__"]()  # the base's looks into `__dict__`

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        names = names_in(self)
        reloads = sys._getframe(1).f_code.co_filename.startswith("<frozen importlib.")
        for name in () if reloads else names["__all__"]:  # a reload has no paths yet
            getattr(self, name)
        return names


def show_whole(module: str) -> None:
    """Let the names of `__all__` be imported when a program goes through `__dict__` of a module:
    libraries look there for the classes of `torch.optim`."""
    sys.modules[module].__class__ = _Whole


def _public(names: dict[str, Any]) -> set[str]:
    """What a module shows to `dir()`: its public names, and what every module has; of a module with
    `__all__` nothing that it imports beside."""
    own = names["__name__"], torch_spelling(names["__name__"])
    shown = {n for n in names if n[0] != "_" or n[:2] == "__"}
    if "__all__" not in names:
        return shown
    stated = {n for n in shown if n[0] == "_" or getattr(names[n], "__module__", "") in own}
    return stated.union(names["__all__"])


def missing_name(
    module: str,
    late: Mapping[str, str] = {},
    keep: dict[str, Any] | None = None,
    functions: Any = None,
) -> Callable[[str], Any]:
    """A module-level `__getattr__` for the module of that name.

    late: names that are imported when they are first asked for, since most programs never use them.
    Each name has a place: the submodule of that name, or a submodule or full module that has the
    name. keep: the dict that gets a name then; the module's names, if not told. functions: a
    namespace of the op table that is the module's, too, and that `__dict__` shows (`show_whole`).
    """
    namespace = torch_spelling(module)
    known: Callable[[], list[str]] = list if functions is None else functions.known
    if keep is None:  # what is not imported yet is shown too, to completion for one
        names = names_in(sys.modules[module])
        names.setdefault("__dir__", lambda: sorted(_public(names).union(late, known(), rare())))
        if functions is not None:
            show_whole(module)

    def rare() -> set[str]:
        return _to_the_right.listed(namespace.removeprefix("torch."))

    def kept() -> dict[str, Any]:
        return names_in(sys.modules[module]) if keep is None else keep

    def __getattr__(name: str) -> Any:
        if name in late:
            where = late[name]
            found = import_module(where if where.startswith("rushlight.") else f"{module}.{where}")
            value = found if name == where else getattr(found, name)
            kept()[name] = value
            return value
        if functions is not None and name in functions:
            found = kept()[name] = functions[name]
            return found
        caller = sys._getframe(1)
        if name[:2] != "__" or name in _PRIVATE:
            own = namespace.removeprefix("torch.")
            value = _to_the_right.found(own, name)
            if value is not NotImplemented:
                kept()[name] = value
                return value
        elif (
            name == "__path__"
            and caller.f_code.co_filename == _IMPORT_SYSTEM
            and _to_the_right.has_modules(namespace.removeprefix("torch."))
        ):
            return []  # of a module with a file of its own: its submodules have rows
        probed = name.startswith("__") and name not in _PRIVATE  # inspect does
        if probed or caller.f_code.co_filename == _IMPORT_SYSTEM:  # which looks for a module next
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        known = torch_has(namespace, name)
        private = name.startswith("_")
        said = namespace if known or private or "torch" in sys.modules else module
        note = f" {not_yet(f'{namespace}.{name}')}" if known else ""
        if private and not known:
            note = f" {_NO_PRIVATE}"
        # `from torch import foo` would drop an AttributeError and word its own error: there, as
        # the caller's instruction shows, the ImportError is raised at once.
        if caller.f_code.co_code[caller.f_lasti] == _import_from():
            text = f"cannot import name {name!r} from {said!r}{note}"
            raise ImportError(text, name=said)
        if private and not known:
            raise AttributeError(f"module {said!r} has no attribute {name!r}{note}", name=name)
        raise missing_attribute(f"module {said!r}", name, namespace)

    return __getattr__
