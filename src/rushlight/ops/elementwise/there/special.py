"""Special functions: gamma's relatives, Bessel's, Airy's, those of the normal distribution.

All are computed in float64, as on the CPU; a device without it leaves them to the host.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial, inf
from typing import Any

import numpy as np

from .... import _core
from ...._base import dtypes
from ...._core import Tensor
from ...._devices.launch import Ints, code, empty, layout, rows, start, takes
from ...._devices.opencl import numbered
from ...._devices.there import named, numbers_of, there
from ...random import families
from .. import special
from ..bessel import _airy_table
from ..special import digamma

_N = numbers_of("special.cl")
_FILE = "special.cl"
_views = _core.kernels


# By name: the function, its order, and whether it is scaled by an exponential.
_OF_ONE = {
    "i0": (_N.BESSEL_I, 0, 0),
    "i0e": (_N.BESSEL_I, 0, 1),
    "i1": (_N.BESSEL_I, 1, 0),
    "i1e": (_N.BESSEL_I, 1, 1),
    "spherical_bessel_j0": (_N.SPHERICAL, 0, 0),
    "airy_ai": (_N.AIRY, 0, 0),
    "erfcx": (_N.ERFCX, 0, 0),
    "log_ndtr": (_N.LOG_NDTR, 0, 0),
    "ndtri": (_N.NDTRI, 0, 0),
}
for _n in (0, 1):
    _OF_ONE |= {
        f"bessel_j{_n}": (_N.BESSEL_J, _n, 0),
        f"bessel_y{_n}": (_N.BESSEL_Y, _n, 0),
        f"modified_bessel_i{_n}": (_N.MODIFIED_I, _n, 0),
        f"modified_bessel_k{_n}": (_N.BESSEL_K, _n, 0),
        f"scaled_modified_bessel_k{_n}": (_N.BESSEL_K, _n, 1),
    }
# By name: the function of a tensor and an order, and whether it is scaled.
_OF_ORDER = {
    "_bessel_i": (_N.BESSEL_I, 0),
    "_bessel_ie": (_N.BESSEL_I, 1),
    "_erfcx_slope": (_N.ERFCX_SLOPE, 0),
}
_OF_TWO = {"zeta": _N.ZETA, "igamma": _N.LOWER_GAMMA, "igammac": _N.UPPER_GAMMA}


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


def spread_layout(t: Tensor, shape: Ints) -> bytes | None:
    """Where the elements of a tensor lie that is spread to a shape."""
    more = len(shape) - t.dim()
    own = zip(t.stride(), t.shape, strict=True)
    return layout(t, shape, [0] * more + [0 if size == 1 else stride for stride, size in own])


_tables: dict[tuple[str, int], Tensor] = {}


def _table(name: str, made: Callable[[], Any], like: Tensor) -> Tensor:
    """Numbers that a kernel reads, on the device of `like`."""
    device: Any = like._accelerator
    key = name, device
    if key not in _tables:
        _tables[key] = _core.copy_to(_core.wrap(np.ascontiguousarray(made())), device)
    return _tables[key]


def _computed(
    which: int,
    *given: Tensor,
    order: int = 0,
    scaled: int = 0,
    factor: float = 1,
    table: Tensor | None = None,
) -> Tensor:
    """A function of one tensor or of two, of one float type, spread to a common shape."""
    if not in_double(*given) or not given[0].dtype.is_floating_point:
        return NotImplemented
    if any(t.dtype is not given[0].dtype for t in given):
        return NotImplemented
    shape = common_shape(*given)
    laid = [None if shape is None else spread_layout(t, shape) for t in given]
    if shape is None or None in laid:
        return NotImplemented
    a, b = given[0], given[1] if len(given) == 2 else None
    out = empty(shape, a)
    numbers = code(a), out.numel(), which, order, scaled, np.float64(factor)
    arguments = a, b, table, out, laid[0], laid[-1], *numbers
    start(_FILE, "special", out.numel(), a, *arguments, computes="float64")
    return out


def _of_one(name: str) -> None:
    which, order, scaled = _OF_ONE[name]

    @there(*named(name))
    def function(a: Tensor) -> Tensor:
        table = _table("airy", _airy_points, a) if name == "airy_ai" and in_double(a) else None
        return _computed(which, a, order=order, scaled=scaled, table=table)


def _of_order(name: str) -> None:
    which, scaled = _OF_ORDER[name]

    @there(*named(name))
    def function(a: Tensor, order: int) -> Tensor:
        return _computed(which, a, order=order, scaled=scaled)


def _of_two(name: str) -> None:
    @there(*named(name))
    def function(a: Tensor, b: Tensor) -> Tensor:
        return _computed(_OF_TWO[name], *brought(a, b))


for _name in _OF_ONE:
    _of_one(_name)
for _name in _OF_ORDER:
    _of_order(_name)
for _name in _OF_TWO:
    _of_two(_name)


def _airy_points() -> Any:
    return np.stack(_airy_table(), -1)


@there(special._polygamma_op)
def polygamma(a: Tensor, n: int) -> Tensor:
    if not isinstance(n, int) or not 1 <= n < 2**31:
        return NotImplemented
    wide = np.float64 if takes(a) and a.dtype is dtypes.float64 else np.float32
    with np.errstate(over="ignore"):
        factor = float(wide(factorial(n) if n <= 170 else inf))
    return _computed(_N.POLYGAMMA, a, order=n, factor=factor if n % 2 else -factor)


# ---- derivatives of gamma and beta numbers


def _nodes() -> Any:
    """The double exponential rule for half lines: nodes exp(pi / 2 sinh t), and their weights."""
    t, step = np.linspace(-3.6, 3.6, 145, retstep=True)
    nodes = np.exp(np.pi / 2 * np.sinh(t))
    return np.stack([nodes, step * np.pi / 2 * np.cosh(t) * nodes], -1)


def _gradient(a: Tensor, b: Tensor | None, x: Tensor, psi: Tensor, dtype: dtypes.dtype) -> Tensor:
    table, out = _table("nodes", _nodes, x), empty(x.shape, x)
    given = a, b, x, psi, table, out, table.shape[0], x.numel()
    start(_FILE, "number_gradient", x.numel(), x, *given)
    return rows(out, dtype)


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


@there(families._standard_gamma_grad)
def standard_gamma_grad(alpha: Tensor, x: Tensor) -> Tensor:
    spread = _spread_doubles(alpha, x)
    if spread is None:
        return NotImplemented
    return _gradient(spread[0], None, spread[1], digamma(spread[0]), x.dtype)


@there(families._dirichlet_grad)
def dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    spread = _spread_doubles(x, alpha, total)
    if spread is None or alpha.dtype is not x.dtype or total.dtype is not x.dtype:
        return NotImplemented
    wide, a, whole = spread
    b = whole - a
    return _gradient(a, b, wide, digamma(a) - digamma(a + b), x.dtype)
