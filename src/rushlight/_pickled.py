"""Which library plain pickles name: rushlight, or torch where the program runs as torch.

A file that names torch is one that PyTorch reads too, and one that a program can only read where
`import torch` finds something. `serialization` writes torch's names always, since it reads them
always.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

OURS = "rushlight"
_ROOTS = [OURS]


def root() -> str:
    """The first part of the names that plain pickles are to hold."""
    return _ROOTS[-1]


def name_torch() -> None:
    """From now on, plain pickles name torch."""
    _ROOTS[:] = ["torch"]


def import_dotted_name(name: str) -> Any:
    """The object of a full name, such as "torch.nn.Linear"."""
    first, *rest = name.split(".")
    found: Any = import_module(first)
    for part in rest:
        found = getattr(found, part)
    return found


import_dotted_name.__name__ = import_dotted_name.__qualname__ = "_import_dotted_name"
import_dotted_name.__module__ = "rushlight._utils"  # torch's place for the function


def dotted(path: str) -> tuple[Any, tuple[str]]:
    """What a pickle calls for an object that programs know by this name below the library's."""
    return import_dotted_name, (f"{root()}.{path}",)
