"""What PyTorch has and rushlight never will: a call of it raises one sentence that says so.

Programs import such names, and decorate with them, far more often than they call them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

__all__ = ["PyTorchFileReader", "refusing"]


def refusing(name: str, reason: str) -> Callable[..., NoReturn]:
    """A function of that name ("torch.jit.save"): it raises NotImplementedError with the reason."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{name} is not in rushlight: {reason}")

    refuse.__name__ = refuse.__qualname__ = name.rpartition(".")[2]
    refuse.__module__ = name.rpartition(".")[0].replace("torch", "rushlight", 1)
    refuse.__doc__ = f"Refused: {reason}"
    return refuse


class PyTorchFileReader:
    """Refused: `torch.load` reads files."""

    __init__ = refusing("torch.PyTorchFileReader", "torch.load reads files.")
