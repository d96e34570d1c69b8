"""vmap: rules of ops along dimensions that they name: each is one further behind the batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Op, Tensor
from ..ops.indexing.scatter import _gather_backward
from ..ops.layout.joining import cat, stack, unbind
from ..ops.layout.rearrange import repeat, roll
from ..ops.layout.shape import (
    _reshape_alias,
    _squeeze_dims,
    expand,
    sum_to,
    unsafe_view,
    unsqueeze,
    view,
)
from ..ops.layout.shape import _squeeze as squeeze
from ..ops.layout.slices import (
    _select_backward,
    diagonal,
    diagonal_backward,
    select,
    slice_backward,
    unfold_backward,
)
from ..ops.layout.strided import _set_away as set_away
from ..ops.layout.strided import _squeeze_in_place, _t_in_place, _unsqueeze_in_place
from ..ops.layout.transposes import _permute_back, permute, t
from ..ops.making.copies import alias
from ..ops.making.creation import zeros
from ..ops.reduction.reductions import spread_dims
from .batching import all_batched, batched, batching, inner, normal, padded, wrap_all

if TYPE_CHECKING:
    from .batch import BatchLevel

__all__ = ["DIMS", "along", "picked", "reduced"]

_call = _core.call_op


def _shifted_dim(d: int, ndim: int) -> int:
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
        d = tuple(_shifted_dim(i, n) for i in d)
    else:
        d = _shifted_dim(d, n)
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
        d = _shifted_dim(args[at], n)
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
                values[i] = tuple(_shifted_dim(d, n) for d in a)
            else:
                values[i] = _shifted_dim(a, n)
        elif name == "shape" and a is not None:
            values[i] = (level.size, *a)
    out = _call(op, values)
    if scalar:
        outs = (out,) if isinstance(out, Tensor) else out
        squeezed = [o.squeeze(1) if o.ndim > 1 else o for o in outs]
        out = squeezed[0] if isinstance(out, Tensor) else type(out)(squeezed)
    return wrap_all(out, level)


@batching(_gather_backward, slice_backward, _select_backward, unfold_backward)
def _into_zeros(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    """Ops that write into zeros of a shape: their dimensions are those of the shape."""
    values = all_batched(args, level)
    n = len(args[op.params.index("shape")])
    for i, name in enumerate(op.params):
        if name in DIMS:
            values[i] = _shifted_dim(args[i], n)
        elif name == "shape":
            values[i] = (level.size, *args[i])
    return wrap_all(_call(op, values), level)


@batching(select, unbind)
def _select(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor | tuple[Tensor, ...]:
    at = op.params.index("dim")
    n = args[0].ndim
    values = [inner(args[0], level), *args[1:]]
    if n == 0:
        return _call(op, [zeros(()), *args[1:]])  # raises
    values[at] = _shifted_dim(args[at], n)
    return wrap_all(_call(op, values), level)


@batching(diagonal, diagonal_backward)
def _diagonal(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    values = list(args)
    values[0] = inner(args[0], level)
    n = args[0].ndim
    if "shape" in op.params:
        at = op.params.index("shape")
        n, values[at] = len(args[at]), (level.size, *args[at])
    for name in ("dim1", "dim2"):
        at = op.params.index(name)
        values[at] = _shifted_dim(args[at], n)
    return wrap_all(_call(op, values), level)


@batching(unsqueeze, _unsqueeze_in_place)
def _unsqueeze(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    n = args[0].ndim + 1
    return wrap_all(_call(op, [inner(args[0], level), _shifted_dim(args[1], n)]), level)


@batching(squeeze, _squeeze_in_place)
def _squeeze(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    dims = tuple(i + 1 for i, n in enumerate(args[0].shape) if n == 1)
    return wrap_all(_squeeze_dims(inner(args[0], level), dims), level)


@batching(set_away)
def _set_away(op: Op, args: Sequence[Any], level: BatchLevel) -> Any:
    values = [batched(t, level) for t in args[:2]]
    return wrap_all(_call(op, [*values, (level.size, *args[2])]), level)


@batching(t, _t_in_place)
def _t(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    value, n = inner(args[0], level), args[0].ndim
    if n > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {n}D")
    return wrap_all(value.transpose(1, 2) if n == 2 else alias(value), level)


@batching(permute, _permute_back)
def _permute(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, dims = args
    if len(dims) != x.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {x.ndim} is not "
            f"equal to len(dims) = {len(dims)}"
        )
    return wrap_all(
        _call(op, [inner(x, level), (0, *(_shifted_dim(d, x.ndim) for d in dims))]), level
    )


@batching(view, unsafe_view, _reshape_alias)
def _view(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, size = args
    value = inner(x, level)
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    if len(size) == 1 and not isinstance(size[0], int):
        return wrap_all(_call(op, [value, size]), level)  # another dtype
    return wrap_all(_call(op, [value, (level.size, *_sizes(x, size))]), level)


def _sizes(x: Tensor, size: Sequence[int]) -> tuple[int, ...]:
    """The sizes with -1 worked out; torch's error where they do not fit."""
    known = 1
    unknown = -1
    for i, n in enumerate(size):
        if n == -1:
            if unknown >= 0:
                raise RuntimeError("only one dimension can be inferred")
            unknown = i
        else:
            known *= n
    total = math.prod(x.shape)
    fits = known == total if unknown < 0 else known and total % known == 0
    if not fits:
        raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {total}")
    if unknown < 0:
        return tuple(size)
    return (*size[:unknown], total // known, *size[unknown + 1 :])


@batching(expand)
def _expand(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, size = args[0], args[1]
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = size[0]
    value = padded(inner(x, level), x.ndim, len(size))
    return wrap_all(_call(op, [value, (level.size, *size), *args[2:]]), level)


@batching(sum_to)
def _sum_to(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, shape = args
    value, more = inner(x, level), x.ndim - len(shape)
    if more > 0:
        value = value.sum(tuple(range(1, more + 1)))
    return wrap_all(_call(op, [value, (level.size, *shape)]), level)


@batching(repeat)
def _repeat(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, times = args
    if len(times) == 1 and isinstance(times[0], (tuple, list)):
        times = times[0]
    value = padded(inner(x, level), x.ndim, len(times))
    return wrap_all(_call(op, [value, (1, *times)]), level)


@batching(roll)
def _roll(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, shifts, dims = args
    value = inner(x, level)
    if dims is None or dims == ():
        flat = value.reshape(level.size, math.prod(x.shape))
        return wrap_all(_call(op, [flat, shifts, 1]).reshape(value.shape), level)
    one = isinstance(dims, int)
    moved = _shifted_dim(dims, x.ndim) if one else tuple(_shifted_dim(d, x.ndim) for d in dims)
    return wrap_all(_call(op, [value, shifts, moved]), level)


@batching(spread_dims)
def _spread_rule(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, shape, dim, keepdim = args
    value, n = inner(x, level), len(shape)
    dims = range(n) if dim is None or dim == () else (dim,) if isinstance(dim, int) else dim
    lost = sorted(d % n for d in dims) if n else []
    if not keepdim:
        for d in lost:
            value = value.unsqueeze(d + 1)
    return wrap_all(value.expand(level.size, *shape), level)


@batching(cat)
def _cat(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    tensors, dim = args
    # torch lets old empty tensors of one dimension be joined with anything.
    kept = [t for t in tensors if t.shape != (0,)] or list(tensors)
    n = kept[0].ndim
    return wrap_all(_call(op, [[batched(t, level) for t in kept], _shifted_dim(dim, n)]), level)


@batching(stack)
def _stack(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    tensors, dim = args
    moved = _shifted_dim(dim, tensors[0].ndim + 1)
    return wrap_all(_call(op, [[batched(t, level) for t in tensors], moved]), level)
