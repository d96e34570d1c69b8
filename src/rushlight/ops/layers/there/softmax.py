"""Softmax along a dimension, and its gradient.

A work item does a row. Long rows of neighbours have kernels of their own: on a GPU a group does
one, and on a processor vectors are computed.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

from .... import _core
from ...._core import Tensor, kernels
from ...._devices import choices
from ...._devices.accelerators import numbered
from ...._devices.launch import (
    GROUP,
    code,
    computed,
    empty,
    made,
    processors,
    rows,
    start,
    start_rows,
)
from ...._devices.there import there


def _softmax(name: str, a: Tensor, dim: int, dtype: object = None) -> Tensor:
    if dtype is not None:
        return NotImplemented
    out = made(name, a, dim)
    if isinstance(out, type(NotImplemented)) or not out.numel():
        return out
    length, inner = _row(out, dim)
    log = int(name == "log_softmax")
    items = out.numel() // length
    _start("softmax", (rows(a), out), items, length, inner, log)
    return out


def _start(
    name: str, tensors: tuple[Any, ...], items: int, length: int, inner: int, log: int
) -> None:
    file, out = "softmax.cl", tensors[-1]
    long = choices.row(out._accelerator).long_row
    if inner == 1 and processors(out):
        start_rows(file, f"{name}_warps", tensors[0], items, length, *tensors, ..., log)
    elif inner > 1 or length < long:
        given = *tensors, code(out), items, length, inner, log
        start(file, name, items, out, *given)
    elif numbered(out._accelerator).facts.is_cpu:
        wide = computed(out.dtype)
        to = out if out.dtype is wide else empty(out.shape, out, wide)
        given = *(rows(t, wide) for t in tensors[:-1]), to, items, length, log
        start(file, f"{name}_lines", items, out, *given, more="-DLINES")
        if to is not out:
            _core.copy_values(out, to)
    else:
        given = *tensors, code(out), length, log
        threads = items * GROUP
        start(file, f"{name}_groups", threads, out, *given, more="-DGROUPS")


def _row(t: Tensor, dim: int) -> tuple[int, int]:
    """How long the rows along a dimension are, and how far apart their elements."""
    if not t.dim():
        return 1, 1
    return t.shape[dim], prod(t.shape[dim % t.dim() + 1 :])


softmax = there(kernels.softmax, takes="float")(partial(_softmax, "softmax"))
log_softmax = there(kernels.log_softmax, takes="float")(partial(_softmax, "log_softmax"))


def _backward(name: str, g: Tensor, y: Tensor, dim: int) -> Tensor:
    out = made(name, g, y, dim)
    if isinstance(out, type(NotImplemented)) or not out.numel():
        return out
    length, inner = _row(y, dim)
    log, items = int(name == "log_softmax_backward"), out.numel() // length
    _start("softmax_backward", (rows(g), rows(y), out), items, length, inner, log)
    return out


there(kernels.softmax_backward, takes="float same")(partial(_backward, "softmax_backward"))
there(kernels.log_softmax_backward, takes="float same")(partial(_backward, "log_softmax_backward"))
