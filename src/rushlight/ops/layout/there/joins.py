"""Tensors put together: cat and stack."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from .... import _core
from ...._core import Tensor, kernels
from ...._devices.launch import made
from ...._devices.there import there
from .rearranging import copied, movable


def _joined(name: str, tensors: Sequence[Tensor], dim: int) -> Tensor:
    given = list(tensors)
    if not given or not movable(*given):
        return NotImplemented
    out = made(name, given, dim)
    if not isinstance(out, Tensor):
        return out
    dim, at = dim % max(out.dim(), 1), 0
    for i, t in enumerate(given):
        if name == "stack":
            part = _core.kernels.select(out, dim, i)
        elif t.dim() == out.dim():
            part = _core.kernels.slice(out, dim, at, at + t.shape[dim], 1)
            at += t.shape[dim]
        else:
            continue  # an empty vector among matrices
        copied(part, t)
    return out


cat = there(kernels.cat)(partial(_joined, "cat"))
stack = there(kernels.stack)(partial(_joined, "stack"))
