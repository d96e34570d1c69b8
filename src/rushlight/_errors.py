"""Errors that several rooms raise: torch's sentence first, then what happened here."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["AcceleratorError", "OutOfMemoryError", "dim_out_of_range", "not_implemented_for"]


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
