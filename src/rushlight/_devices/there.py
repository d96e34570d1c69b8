"""The kernels of accelerators.

Each is a function of the arguments of a call, attached by `there` to ops and to kernels of the CPU.
NotImplemented says that there is no kernel for the arguments: then the call goes by way of the
host.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

from .. import _core
from .._base import FOLDER, dtypes
from ..ops.table.statement import OPS
from .texts import numbers_of, struct_of

__all__ = ["load", "named", "numbers_of", "of_complex", "own", "struct_of", "there"]

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])

own: dict[Any, Callable[..., Any]] = {}
"""The functions, by the op or kernel of the CPU: complex kernels are made of them."""

of_complex: dict[Any, Callable[..., Any]] = {}
"""The kernels of complex numbers."""


def there(
    *targets: object, takes: str = "", complex: bool = False, writes: bool = False
) -> Callable[[_Kernel], _Kernel]:
    """Decorator: what computes calls of these ops and kernels of the CPU on accelerators.

    takes: the element types of the tensors, which are asked for before the function: words of
    `TYPES`, "same" for that of the first tensor; "float, index: int64" with another rule for an
    argument. complex: of complex numbers, where the other function has nothing for a call. writes:
    writes the first argument, for the in-place form. A second one, and a target that is neither op
    nor kernel, is an error.
    """

    def attach(function: _Kernel) -> _Kernel:
        types = _taken(takes, function)
        asked = _asked(function, types)
        for target in targets:
            _core.accelerator_attach(target, function, complex, writes, types)
            if not writes:
                (of_complex if complex else own)[target] = asked
        return function

    return attach


_ALL = {t.name: 1 << t.code for t in dtypes.ALL if t.code <= dtypes.float64.code}
TYPES = {
    **_ALL,
    "int": sum(bit for name, bit in _ALL.items() if "int" in name),
    "float": sum(bit for name, bit in _ALL.items() if "float" in name),
    "real": sum(_ALL.values()),
    "same": 1 << 31,
    "any": 0,
}
"""Element types that kernels read, as bits by the words of `takes=`; "same" is that of the first
tensor, and of "any" nothing is asked, nor where the tensor is."""


def _taken(takes: str, function: Callable[..., Any]) -> tuple[int, ...]:
    """For each parameter, and for all further arguments, the bits of the types."""
    if not takes:
        return ()
    rules = dict(rule.rpartition(": ")[::2] for rule in takes.split(", "))
    bits = {name: sum(TYPES[word] for word in words.split()) for name, words in rules.items()}
    usual = bits.pop("", TYPES["real"])
    names = list(signature(function).parameters)
    if not bits.keys() <= set(names):
        raise TypeError(f"{function!r} has not all of these parameters: {', '.join(bits)}")
    return (*(bits.get(name, usual) for name in names), usual)


def _asked(function: Callable[..., Any], types: tuple[int, ...]) -> Callable[..., Any]:
    """The function for calls from other kernels, asked as the core asks."""
    if not types:
        return function

    @wraps(function)
    def asked(*args: object) -> Any:
        return function(*args) if _core.accelerator_fits(types, args) else NotImplemented

    return asked


def named(*names: str) -> list[_core.Op]:
    """Ops that a loop of the table made, in this order; KeyError where there is no such op."""
    return [OPS[name].op for name in names]


def load() -> None:
    """For the core, before the first call: import what attaches the kernels."""
    subjects = sorted(Path(FOLDER).glob("**/*there/[a-z]*.py"))
    shared = (Path(FOLDER, "_devices", f"{name}.py") for name in ("complex", "complex_parts"))
    for path in (*subjects, *shared):  # parts of complex numbers are made of all others
        name = ".".join(path.relative_to(FOLDER).with_suffix("").parts)
        import_module(f"rushlight.{name}")
