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
of_complex: dict[str, Callable[..., Any]] = {}  # asked where the table has nothing for a call


def kernel(
    *names: str, complex: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Put a function into the table under these names; complex: into the one of complex numbers."""
    chosen = of_complex if complex else table

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            assert name not in chosen, name
            chosen[name] = function
        return function

    return enter


def tables() -> tuple[dict[str, Callable[..., Any]], ...]:
    """For the core: where it looks for the function of a call, in this order."""
    return table, of_complex


for _module in sorted(Path(__file__).parent.glob("_*.py")):
    if _module.stem != "__init__":
        import_module(f"{__name__}.{_module.stem}")
