"""Distances of points, vector products, slices whose norm is brought down."""

from __future__ import annotations

from math import inf

import numpy as np

from ... import _core
from ... import _dtypes as dtypes
from ..._core import Tensor
from ...ops.elementwise.selection import where
from ...ops.layout.rearrange import roll
from ...ops.matrix import fused_products, norms
from ...ops.matrix.norms import vector_norm
from . import numbers_of, there
from ._elements import is_float, laid_in, order_of, widened
from ._launch import code, empty, number, rows, start, takes
from ._special import common_shape

_N = numbers_of("elements.cl")


@there(norms._cdist_op)
def cdist(x: Tensor, y: Tensor, p: float) -> Tensor:
    if not is_float(x) or not takes(x, y) or y.dtype is not x.dtype or x.dtype.itemsize == 2:
        return NotImplemented
    rows_, columns, size = x.shape[-2], y.shape[-2], x.shape[-1]
    try:
        batch = np.broadcast_shapes(tuple(x.shape[:-2]), tuple(y.shape[:-2]))
    except ValueError:
        return NotImplemented  # the host has the error
    spread_x = _core.kernels.expand(x, (*batch, rows_, size))
    spread_y = _core.kernels.expand(y, (*batch, columns, size))
    x, y = rows(spread_x), rows(spread_y)
    out = empty((*batch, rows_, columns), x)
    norm = {0: _N.COUNT, 1: _N.SUM, 2: _N.ROOT, inf: _N.MOST}.get(p, _N.POWER)
    root = number(1 / p if norm == _N.POWER else 1, x)
    sizes = code(x), out.numel(), rows_, columns, size, norm, number(p, x), root
    start("elements.cl", "distances", out.numel(), x, x, y, out, *sizes)
    # As the differences of all points lie, without their last dimension.
    *of_x, last_x = spread_x.stride()
    *of_y, second, last_y = spread_y.stride()
    shape = *out.shape, size
    order = order_of(shape, (*of_x, 0, last_x), (*of_y, 0, second, last_y))
    return laid_in(out, [d for d in order if d < out.dim()])


@there(norms.dist)
def dist(a: Tensor, b: Tensor, p: float) -> Tensor:
    if not takes(a, b) or isinstance(p, complex) or common_shape(a, b) is None:
        return NotImplemented
    if not a.dtype.is_floating_point and not b.dtype.is_floating_point:
        return NotImplemented
    return vector_norm(a.detach() - b.detach(), p)


@there(norms.renorm)
def renorm(a: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    if not is_float(a) or isinstance(p, complex) or p <= 0 or maxnorm < 0:
        return NotImplemented
    if a.dim() < 2 or not -a.dim() <= dim < a.dim():
        return NotImplemented
    others = [d for d in range(a.dim()) if d != dim % a.dim()]
    sizes = widened(vector_norm(a.detach(), p, others, True))
    factor = where(sizes > maxnorm, maxnorm / (sizes + 1e-7), 1)
    return rows(widened(a) * factor, a.dtype)


@there(fused_products.linalg_cross)
def cross(a: Tensor, b: Tensor, dim: int) -> Tensor:
    if not takes(a, b) or a.dim() != b.dim() or not -a.dim() <= dim < a.dim():
        return NotImplemented
    if common_shape(a, b) is None:
        return NotImplemented
    if a.shape[dim] != 3 or b.shape[dim] != 3:
        return NotImplemented
    kind = _core.result_type([a, b])
    if kind is dtypes.bool:
        return NotImplemented
    wide = dtypes.float32 if kind.itemsize == 2 and kind.is_floating_point else kind
    x, y = rows(a.detach(), wide), rows(b.detach(), wide)
    ahead = roll(x, -1, dim) * roll(y, -2, dim)
    return rows(ahead - roll(x, -2, dim) * roll(y, -1, dim), kind)
