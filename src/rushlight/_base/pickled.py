"""Which library plain pickles name: rushlight, or torch where the program runs as torch.

PyTorch reads a file that names torch, too; a program reads such a file only where `import torch`
finds a package. `serialization` always writes torch's names, since it always reads them.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

from .late import get_dotted
from .missing import names_in, torch_has, torch_has_module, torch_spelling

OURS = "rushlight"
_ROOTS = [OURS]


def root() -> str:
    """The first part of the names that plain pickles are to hold."""
    return _ROOTS[-1]


def name_torch() -> None:
    """From now on, plain pickles name torch, and so do the classes that are there."""
    _ROOTS[:] = ["torch"]
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == OURS:
            name_module(module)


@cache
def _places(module: str) -> tuple[str, ...]:
    """PyTorch's modules of the name that a module of ours has there, and above."""
    place = torch_spelling(module)
    every = [place]
    while "." in place:
        place = place.rpartition(".")[0]
        every.append(place)
    return tuple(each for each in every if torch_has_module(each))


def public_place(module: str, name: str) -> str:
    """The module of PyTorch's in which what a module of ours calls so is found: the same, or one
    above where programs know the name."""
    outer = name.partition(".")[0]
    for place in _places(module):
        if torch_has(place, outer):
            return place
    return torch_spelling(module)


def name_module(module: ModuleType) -> None:
    """Gives the classes and functions of a module of ours the `__module__` that PyTorch's have,
    which is where pickles look for them."""
    for value in list(names_in(module).values()):
        if isinstance(value, (type, FunctionType)):
            own = value.__module__
            if own is not None and own.partition(".")[0] == OURS:
                value.__module__ = place = public_place(own, value.__qualname__)
                for part in list(vars(value).values()) if isinstance(value, type) else ():
                    function = part.__func__ if isinstance(part, staticmethod) else part
                    if isinstance(function, FunctionType) and function.__module__ == own:
                        function.__module__ = place


def import_dotted_name(name: str) -> Any:
    """The object of a full name, such as "torch.nn.Linear"."""
    first, *rest = name.split(".")
    return get_dotted(import_module(first), *rest)


import_dotted_name.__name__ = import_dotted_name.__qualname__ = "_import_dotted_name"
import_dotted_name.__module__ = "rushlight._utils"  # torch's place for the function


def dotted(path: str) -> tuple[Any, tuple[str]]:
    """The call in a pickle for an object that programs know by this name below the library's."""
    return import_dotted_name, (f"{root()}.{path}",)
