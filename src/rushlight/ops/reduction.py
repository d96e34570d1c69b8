"""Reductions: many elements to one, over all dimensions or some.

`dim` is None (all), an int or several; where a reduction takes several, `()` means all too. `keepdim` keeps each reduced
dimension with size 1. Sums of integers and bools are int64, as torch's. The gradient of a reduction comes back through
`_spread`, which shows it in the shape that was reduced without copying; its transpose is `sum`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from ._arrays import is_half, rounded, scalar_name, widened
from ._kinds import composite, constant, general, linear, variant

_kernels = _core.kernels
Tensor = _core.Tensor
Array = np.ndarray[Any, Any]

# ---- what they share


def _axes(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions meant, non-negative; all for None and ()."""
    if dim is None:
        return tuple(range(ndim))
    n = ndim or 1
    dims = dim if isinstance(dim, (tuple, list)) else (dim,)
    result = []
    for given in dims:
        d = given.__index__()
        if not -n <= d < n:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})"
            )
        d %= n
        if d in result:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
        result.append(d)
    if not result or ndim == 0:
        return tuple(range(ndim))
    return tuple(result)


def _count(shape: Sequence[int], dim: Any) -> int:
    """How many elements each result of a reduction has."""
    n = 1
    for d in _axes(dim, len(shape)):
        n *= shape[d]
    return n


_spread = linear(
    "_spread(input, shape: shape, dim: dims, keepdim: bool)",
    _kernels.spread,
    transpose={"input": lambda g, dim, keepdim: sum(g, dim, keepdim)},
    node="ExpandBackward0",
    view=True,
    method=False,
    out=False,
    samples=lambda make: [(make(2), (2, 3), 1, False), (make(2, 1), (2, 3), 1, True), (make(), (2, 3), None, False)],
    doc="A reduced tensor seen in the shape that was reduced.",
)

# ---- sums and means


def _sum(a: Array, dim: Any, keepdim: bool, dtype: Any) -> Array:
    if dtype is not None:
        with np.errstate(all="ignore"):
            a = a.astype(dtype.numpy, copy=False)
        like = a
    elif a.dtype.kind in "bui":
        like = np.empty(0, np.int64)
    else:
        like = a
    axes = _axes(dim, a.ndim)
    with np.errstate(all="ignore"):
        if is_half(like):
            return rounded(a.sum(axes, dtype=np.float32, keepdims=bool(keepdim)), like)
        return a.sum(axes, dtype=like.dtype, keepdims=bool(keepdim))


def _summing(name: str, node: str, **more: Any) -> Any:
    return linear(
        f"{name}(input, dim=None, keepdim=False, *, dtype=None)",
        _sum,
        native=_kernels.sum,
        transpose={
            "input": lambda g, input_shape, dim, keepdim: _spread(g, input_shape, dim, keepdim)
        },
        backward=(_kernels.spread, "g input_shape dim keepdim"),
        node=node,
        doc="The sum of all elements, or along dimensions.",
        **more,
    )


def _reduced(make: Any) -> list[Any]:
    return [(make(2, 3), 0), (make(2, 3), (0, 1), True), (make(2, 3, 4), (-1, 0)), (make(), 0)]


sum = _summing(
    "sum", "SumBackward0", samples=lambda make: [(make(2, 3),), (make(),), *_reduced(make)]
)
_sum_dims = _summing("_sum_dims", "SumBackward1", method=False, samples=_reduced)
variant(sum, "dim", "given", _sum_dims)


def _mean(a: Array, dim: Any, keepdim: bool, dtype: Any) -> Array:
    if dtype is not None:
        if dtype.category < 2:
            raise RuntimeError(_no_mean("Optional dtype", dtype.scalar_name))
        with np.errstate(all="ignore"):
            a = a.astype(dtype.numpy, copy=False)
    elif a.dtype.kind in "bui":
        raise RuntimeError(_no_mean("Input dtype", scalar_name(a)))
    with np.errstate(all="ignore"):
        total = widened(a).sum(_axes(dim, a.ndim), keepdims=bool(keepdim))
        return rounded(np.true_divide(total, _count(a.shape, dim), dtype=total.dtype), a)


def _no_mean(what: str, got: str) -> str:
    return (
        f"mean(): could not infer output dtype. {what} must be either a floating point or complex "
        f"dtype. Got: {got}. Convert first, for instance with .float()."
    )


def _averaging(name: str, node: str, **more: Any) -> Any:
    return linear(
        f"{name}(input, dim=None, keepdim=False, *, dtype=None)",
        _mean,
        native=_kernels.mean,
        transpose={
            "input": lambda g, input_shape, dim, keepdim: _spread(
                g / _count(input_shape, dim), input_shape, dim, keepdim
            )
        },
        backward=(_kernels.mean_backward, "g input_shape dim keepdim"),
        node=node,
        doc="The mean of all elements, or along dimensions.",
        **more,
    )


mean = _averaging(
    "mean", "MeanBackward0", samples=lambda make: [(make(2, 3),), (make(),), *_reduced(make)]
)
_mean_dims = _averaging("_mean_dims", "MeanBackward1", method=False, samples=_reduced)
variant(mean, "dim", "given", _mean_dims)
