"""vmap: rules of ops along dimensions that they name: each is one further behind the batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Op, Tensor
from .batching import batched, inner, normal, wrap_all

if TYPE_CHECKING:
    from .batch import BatchLevel

__all__ = ["DIMS", "along", "picked", "reduced", "shifted_dim"]

_call = _core.call_op


def shifted_dim(d: int, ndim: int) -> int:
    return normal(d, ndim) + 1


def reduced(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor | tuple[Tensor, ...]:
    """An op that reduces `dim`: an int, several, or all (None or ())."""
    values = list(args)
    x = args[0]
    value = inner(x, level)
    at = op.params.index("dim")
    d, n = args[at], x.ndim
    if n == 0:
        if d is not None and d != ():
            for one in d if isinstance(d, (tuple, list)) else (d,):
                normal(one, 0)
        value, d = value.unsqueeze(1), (1,) if isinstance(d, (tuple, list)) or d is None else 1
        if "keepdim" in op.params:
            values[op.params.index("keepdim")] = False
    elif d is None or d == ():
        d = tuple(range(1, n + 1))
    elif isinstance(d, (tuple, list)):
        d = tuple(shifted_dim(i, n) for i in d)
    else:
        d = shifted_dim(d, n)
    values[0], values[at] = value, d
    return wrap_all(_call(op, values), level)


def picked(op: Op, args: Sequence[Any], level: BatchLevel) -> Any:
    """An op that reduces one dimension, or (None) all of them as one row."""
    values = list(args)
    x = args[0]
    value = inner(x, level)
    at = op.params.index("dim")
    keep = op.params.index("keepdim") if "keepdim" in op.params else None
    n, keepdim = x.ndim, keep is not None and bool(args[keep])
    whole = args[at] is None
    if whole or n == 0:
        if not whole:
            normal(args[at], 0)
        value, d = value.reshape(level.size, -1 if level.size else math.prod(x.shape)), 1
        if keep is not None:
            values[keep] = False
    else:
        d = shifted_dim(args[at], n)
    values[0], values[at] = value, d
    out = _call(op, values)
    if whole and keepdim and n:
        out = _reshaped(out, (level.size, *(1,) * n))
    return wrap_all(out, level)


def _reshaped(out: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(out, Tensor):
        return out.reshape(shape)
    return type(out)(tuple(o.reshape(shape) for o in out))


DIMS = frozenset("dim dim0 dim1 dim2 dims dimension".split())


def along(op: Op, args: Sequence[Any], level: BatchLevel) -> Any:
    """An op along dimensions it names; every tensor argument has the batch in front."""
    values = list(args)
    tensors = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
    n = args[tensors[0]].ndim
    scalar = n == 0
    for i in tensors:
        v = batched(args[i], level)
        values[i] = v.unsqueeze(1) if scalar and v.ndim == 1 else v
    for i, name in enumerate(op.params):
        a = args[i]
        if name == "dims" and a is None:
            values[i] = (1, 2)
        elif name in DIMS and a is not None:
            if isinstance(a, (tuple, list)):
                values[i] = tuple(shifted_dim(d, n) for d in a)
            else:
                values[i] = shifted_dim(a, n)
        elif name == "shape" and a is not None:
            values[i] = (level.size, *a)
    out = _call(op, values)
    if scalar:
        outs = (out,) if isinstance(out, Tensor) else out
        squeezed = [o.squeeze(1) if o.ndim > 1 else o for o in outs]
        out = squeezed[0] if isinstance(out, Tensor) else type(out)(squeezed)
    return wrap_all(out, level)
