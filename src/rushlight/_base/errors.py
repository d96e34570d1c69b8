"""Errors that several rooms raise: torch's sentence first, then what happened here."""

from __future__ import annotations

import builtins
import contextlib
import functools
import sys
import warnings
from types import FrameType
from typing import Any, NoReturn

from . import FOLDER

__all__ = [
    "AcceleratorError",
    "OutOfMemoryError",
    "dim_out_of_range",
    "is_pytorchs",
    "not_implemented_for",
    "program_frame",
    "refused",
    "taking_pytorchs",
    "warn",
]

# Python's own files that stand between the program and the library.
_BETWEEN = (contextlib.__file__, functools.__file__)


class OutOfMemoryError(RuntimeError):
    """Raised when an array does not fit in memory; a RuntimeError, as torch's.

    >>> issubclass(torch.OutOfMemoryError, RuntimeError)
    True
    """


class AcceleratorError(RuntimeError):
    """Raised when a device has met an error, such as an index beyond the end; a RuntimeError.

    >>> issubclass(torch.AcceleratorError, RuntimeError)
    True
    """


def dim_out_of_range(dim: int, ndim: int) -> NoReturn:
    """Raise torch's IndexError for a dimension that a tensor of `ndim` dimensions does not have."""
    n = max(ndim, 1)
    raise IndexError(
        f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})"
    )


def not_implemented_for(op: str, scalar_name: str) -> NoReturn:
    """Raise torch's NotImplementedError for an op that has no definition for an element type."""
    raise NotImplementedError(f"\"{op}\" not implemented for '{scalar_name}'")


def is_pytorchs(value: object) -> bool:
    """Whether an object is a tensor of PyTorch, which is in the same process."""
    return any(f"{c.__module__}.{c.__name__}" == "torch._C.TensorBase" for c in type(value).__mro__)


def taking_pytorchs(value: object) -> str:
    """The end of an error about a tensor of PyTorch, whose type has the name of ours; else ""."""
    if not is_pytorchs(value):
        return ""
    return (
        ". That is a tensor of PyTorch; rushlight.from_dlpack(t) or rushlight.tensor(t) makes one "
        "of rushlight"
    )


def program_frame(frame: FrameType | None) -> tuple[FrameType | None, int]:
    """The first frame from this frame outward that is not the library's, and its number; this frame
    is 1."""
    level = 1
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(FOLDER) and name not in _BETWEEN:
            break
        frame = frame.f_back
        level += 1
    return frame, level


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """A warning at the line of the program: the last one that is not of this library."""
    warnings.warn(message, category, stacklevel=program_frame(sys._getframe())[1])


def refused(name: str, reason: str, is_class: bool = False) -> Any:
    """A function or a class that PyTorch has and rushlight never will ("torch.jit.save"). Programs
    can name it, and derive from a class; a call raises NotImplementedError with the reason.

    reason: half a sentence; or another error's type and its text, "RuntimeError: ...".
    """
    home, _, last = name.replace("torch", "rushlight", 1).rpartition(".")
    kind, other, text = reason.partition("Error: ")
    error = getattr(builtins, f"{kind}Error") if other else NotImplementedError
    said = text if other else f"{name} is not in rushlight: {reason}"

    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise error(said)

    doc = f"Refused: {reason}"
    if is_class:
        return type(last, (), {"__init__": refuse, "__module__": home, "__doc__": doc})
    refuse.__name__ = refuse.__qualname__ = last
    refuse.__module__, refuse.__doc__ = home, doc
    return refuse
