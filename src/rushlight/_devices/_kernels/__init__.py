"""The kernels of accelerators.

Each is a function of the arguments of a call, attached by `there` to ops and to kernels of the CPU.
NotImplemented says that there is no kernel for the arguments: then the call goes by way of the
host.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from ... import _core
from ...ops.table.statement import OPS
from ..kernels import numbers_of, struct_of

__all__ = ["load", "named", "numbers_of", "of_complex", "own", "struct_of", "there"]

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])

own: dict[Any, Callable[..., Any]] = {}
"""The functions, by the op or kernel of the CPU: complex kernels are made of them."""

of_complex: dict[Any, Callable[..., Any]] = {}
"""The kernels of complex numbers."""


def there(
    *targets: object, complex: bool = False, writes: bool = False
) -> Callable[[_Kernel], _Kernel]:
    """Decorator: what computes calls of these ops and kernels of the CPU on accelerators.

    complex: of complex numbers, where the other function has nothing for a call. writes: writes the
    first argument, for the in-place form. A second one, and a target that is neither op nor kernel,
    is an error.
    """

    def attach(function: _Kernel) -> _Kernel:
        for target in targets:
            _core.accelerator_attach(target, function, complex, writes)
            if not writes:
                (of_complex if complex else own)[target] = function
        return function

    return attach


def named(*names: str) -> list[_core.Op]:
    """Ops that a loop of the table made, in this order; KeyError where there is no such op."""
    return [OPS[name].op for name in names]


def load() -> None:
    """For the core, before the first call: the import of this module attaches the kernels."""


for _module in sorted(Path(__file__).parent.glob("_[a-z]*.py")):
    if _module.stem != "_complex_parts":
        import_module(f"{__name__}.{_module.stem}")
import_module(f"{__name__}._complex_parts")  # made of all others
