"""Ends the docstring of each function of the table with its example from examples.txt.

There the examples stand together, so that a statement stays a statement. tests/test_docstrings.py
runs them, on PyTorch too where it is installed.
"""

from __future__ import annotations

import os

from ._op import namespace

__all__ = ["attach"]

_NAMESPACES = {
    "torch": "torch",
    "torch.nn.functional": "nn",
    "torch.linalg": "linalg",
    "torch.special": "special",
    "torch.fft": "fft",
}


def attach() -> None:
    """Read the file and end the docstrings; once, when every op is in the table."""
    path = os.path.join(os.path.dirname(__file__), "examples.txt")
    with open(path, encoding="utf-8") as file:
        blocks = file.read().rstrip().split("\n\n")
    for block in blocks[1:]:  # the first says what the file is
        name, _, example = block.partition("\n")
        where, _, last = name.rpartition(".")
        function = namespace(_NAMESPACES[where])[last]
        function.__doc__ = f"{function.__doc__}\n\n{example}"
