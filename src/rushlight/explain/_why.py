"""Why a tensor has no gradient."""

from __future__ import annotations

from .._core import Tensor

__all__ = ["why_no_grad"]


def why_no_grad(t: Tensor) -> str:
    """Why `t` has no gradient."""
    return ""
