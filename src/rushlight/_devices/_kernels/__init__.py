"""What accelerators compute by kernels of their own, by the name of the op or of the CPU's kernel.

A function gets the arguments of the call, and returns NotImplemented where it has no kernel for
them; the call goes by way of the host then.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

table: dict[str, Callable[..., Any]] = {}


def kernel(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Put a function into the table under these names."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            assert name not in table, name
            table[name] = function
        return function

    return enter


for _module in sorted(Path(__file__).parent.glob("_*.py")):
    if _module.stem != "__init__":
        import_module(f"{__name__}.{_module.stem}")
