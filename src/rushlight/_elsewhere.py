"""What PyTorch has and rushlight never will: a call of it raises one sentence that says so.

Programs import such names, and decorate with them, far more often than they call them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

__all__ = ["PyTorchFileReader", "refuse_all", "refusing", "refusing_class"]


def refusing(name: str, reason: str) -> Callable[..., NoReturn]:
    """A function of that name ("torch.jit.save"): it raises NotImplementedError with the reason."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{name} is not in rushlight: {reason}")

    refuse.__name__ = refuse.__qualname__ = name.rpartition(".")[2]
    refuse.__module__ = name.rpartition(".")[0].replace("torch", "rushlight", 1)
    refuse.__doc__ = f"Refused: {reason}"
    return refuse


def refusing_class(name: str, reason: str) -> type[Any]:
    """A class of that name: it may be named, derived from and asked for, not made."""

    def make(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{name} is not in rushlight: {reason}")

    module = name.rpartition(".")[0].replace("torch", "rushlight", 1)
    members = {"__init__": make, "__module__": module, "__doc__": f"Refused: {reason}"}
    return type(name.rpartition(".")[2], (), members)


def refuse_all(module: str, names: str, reason: str) -> dict[str, Any]:
    """For a module, what it has only to be imported: names in capitals are classes."""
    return {
        name: (refusing_class if name[0].isupper() else refusing)(f"{module}.{name}", reason)
        for name in names.split()
    }


class PyTorchFileReader:
    """Refused: `torch.load` reads files."""

    __init__ = refusing("torch.PyTorchFileReader", "torch.load reads files.")
