"""Derivatives of beta numbers by their parameters.

They are computed in float64, as on the CPU; a device without it leaves them to the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .... import _core
from ...._base import dtypes
from ...._base.outside import np
from ...._core import Tensor
from ...._devices.accelerators import numbered
from ...._devices.launch import empty, rows, start, takes
from ...._devices.there import there
from ...random import families
from ..special import digamma

_views = _core.kernels


def in_double(*tensors: Any) -> bool:
    """Whether kernels can read all of these tensors on one device, and the device has float64."""
    return takes(*tensors) and numbered(tensors[0]._accelerator).facts.has_double


def brought(*tensors: Any) -> list[Any]:
    """The tensors; numbers that the host made tensors of are copied to the others' device."""
    device = next(t._accelerator for t in tensors if t._accelerator is not None)
    found = []
    for t in tensors:
        number = t._accelerator is None and not t._on_meta and not t.dim()
        found.append(_core.copy_to(t, device) if number else t)
    return found


def common_shape(*tensors: Tensor) -> tuple[int, ...] | None:
    """The shape that all are spread to; None where there is none: the host has the error."""
    try:
        return np.broadcast_shapes(*(tuple(t.shape) for t in tensors))
    except ValueError:
        return None


_tables: dict[tuple[str, int], Tensor] = {}


def _table(name: str, made: Callable[[], Any], like: Tensor) -> Tensor:
    """Numbers that a kernel reads, on the device of `like`."""
    device: Any = like._accelerator
    key = name, device
    if key not in _tables:
        _tables[key] = _core.copy_to(_core.wrap(np.ascontiguousarray(made())), device)
    return _tables[key]


def _nodes() -> Any:
    """The double exponential rule for half lines: nodes exp(pi / 2 sinh t), and their weights."""
    t, step = np.linspace(-3.6, 3.6, 145, retstep=True)
    nodes = np.exp(np.pi / 2 * np.sinh(t))
    return np.stack([nodes, step * np.pi / 2 * np.cosh(t) * nodes], -1)


def _spread_doubles(*tensors: Any) -> list[Tensor] | None:
    """Contiguous in float64 and of a common shape; None where a kernel does not take them."""
    if not in_double(*tensors) or any(t.dtype.itemsize < 4 for t in tensors):
        return None
    if not all(t.dtype.is_floating_point for t in tensors):
        return None
    shape = common_shape(*tensors)
    if shape is None:
        return None
    return [rows(_views.expand(rows(t.detach(), dtypes.float64), shape)) for t in tensors]


@there(families._dirichlet_grad)
def dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    spread = _spread_doubles(x, alpha, total)
    if spread is None or alpha.dtype is not x.dtype or total.dtype is not x.dtype:
        return NotImplemented
    wide, a, whole = spread
    b = whole - a
    table, out = _table("nodes", _nodes, wide), empty(wide.shape, wide)
    given = a, b, wide, digamma(a) - digamma(a + b), table, out, table.shape[0], wide.numel()
    start("special.cl", "beta_gradient", wide.numel(), wide, *given)
    return rows(out, x.dtype)
