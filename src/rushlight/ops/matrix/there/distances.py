"""Distances of points, vector products, slices whose norm is brought down."""

from __future__ import annotations

from math import inf

from .... import _core
from ...._base.outside import np
from ...._core import Tensor
from ...._devices.launch import code, empty, number, rows, start
from ...._devices.there import numbers_of, there
from .. import norms

_N = numbers_of("elements.cl")


@there(norms._cdist_op, _core.kernels.cdist, takes="float32 float64 same")
def cdist(x: Tensor, y: Tensor, p: float, by_products: bool = False) -> Tensor:
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
    return out
