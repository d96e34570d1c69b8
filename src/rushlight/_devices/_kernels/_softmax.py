"""Softmax along a dimension, and its gradient: a work item does a row."""

from __future__ import annotations

from math import prod
from typing import Any

from . import kernel
from ._launch import code, made, rows, start, takes


def _softmax(name: str, a: Any, dim: int, dtype: Any = None) -> Any:
    if not takes(a) or dtype is not None or not a.dtype.is_floating_point:
        return NotImplemented
    out = made(name, a, dim)
    if isinstance(out, type(NotImplemented)) or not out.numel():
        return out
    length, inner = _row(out, dim)
    log = int(name == "log_softmax")
    items = out.numel() // length
    start("softmax.cl", "softmax", items, a, rows(a), out, code(a), items, length, inner, log)
    return out


def _row(t: Any, dim: int) -> tuple[int, int]:
    """How long the rows along a dimension are, and how far apart their elements."""
    if not t.dim():
        return 1, 1
    return t.shape[dim], prod(t.shape[dim % t.dim() + 1 :])


@kernel("softmax")
def softmax(a: Any, dim: int, dtype: Any = None) -> Any:
    return _softmax("softmax", a, dim, dtype)


@kernel("log_softmax")
def log_softmax(a: Any, dim: int, dtype: Any = None) -> Any:
    return _softmax("log_softmax", a, dim, dtype)


def _backward(name: str, g: Any, y: Any, dim: int) -> Any:
    if not takes(g, y) or g.dtype is not y.dtype or not y.dtype.is_floating_point:
        return NotImplemented
    out = made(name, g, y, dim)
    if isinstance(out, type(NotImplemented)) or not out.numel():
        return out
    length, inner = _row(y, dim)
    log, items = int(name == "log_softmax_backward"), out.numel() // length
    given = rows(g), rows(y), out, code(y), items, length, inner, log
    start("softmax.cl", "softmax_backward", items, y, *given)
    return out


@kernel("softmax_backward")
def softmax_backward(g: Any, y: Any, dim: int) -> Any:
    return _backward("softmax_backward", g, y, dim)


@kernel("log_softmax_backward")
def log_softmax_backward(g: Any, y: Any, dim: int) -> Any:
    return _backward("log_softmax_backward", g, y, dim)
