"""Ends the docstring of each function of the table with its example from an examples.txt.

There the examples of a room stand together, so that a statement stays a statement; those of members
of Tensor that are written elsewhere stand in ops/examples.txt. tests/test_docstrings.py runs them,
on PyTorch too where it is installed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from ... import _core
from .statement import namespace

__all__ = ["attach"]

_NAMESPACES: dict[str, Mapping[str, Any]] = {
    "torch": namespace("torch"),
    "torch.Tensor": vars(_core.Tensor),
    "torch.nn.functional": namespace("nn"),
    "torch.linalg": namespace("linalg"),
    "torch.special": namespace("special"),
    "torch.fft": namespace("fft"),
}


def attach() -> None:
    """Read the file and end the docstrings; once, when every op is in the table."""
    if sys.flags.optimize > 1:
        return  # -OO: there are no docstrings
    here = os.path.dirname(os.path.dirname(__file__))
    for folder in (here, *(entry.path for entry in os.scandir(here) if entry.is_dir())):
        path = os.path.join(folder, "examples.txt")
        if os.path.exists(path):
            _attach(path)


def _attach(path: str) -> None:
    with open(path, encoding="utf-8") as file:
        blocks = file.read().rstrip().split("\n\n")
    for block in blocks[1:]:  # the first says what the file is
        name, _, example = block.partition("\n")
        where, _, last = name.rpartition(".")
        function = _NAMESPACES[where][last]
        function.__doc__ = f"{function.__doc__}\n\n{example}"
