"""Bessel functions of the second kind, the modified ones, Airy's: torch.special. None of these is
differentiable in PyTorch.

The means: power series near 0, asymptotic series far out, between them Neumann's series in Bessel
functions of the first kind (Miller's recurrence downwards), Taylor series along Airy's equation,
and for the modified functions the integral of exp(-x cosh t) cosh(order t), by the trapezoidal
rule, which converges exponentially.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..table.arrays import Array
from ..table.kinds import pointwise
from ..table.samples import Make, Samples
from .special import far_bessel, in_double, scaled_bessel_i

_EULER = 0.5772156649015329


def _low_orders(x: Array, count: int) -> Array:
    """J of the orders below `count`, of x from 0 to 2, by their power series."""
    quarter, half = -(x * x) / 4, x / 2
    out, lead = [], np.ones_like(x)
    for n in range(count):
        term, total = lead, lead
        for k in range(1, 13):
            term = term * quarter / (k * (k + n))
            total = total + term
        out.append(total)
        lead = lead * half / (n + 1)
    return np.array(out)


def _orders(x: Array) -> Array:
    """J of the orders below 76, of x from 2 to 25: downwards from where they are nothing, scaled so
    that J0 + 2 J2 + 2 J4 + ... is 1."""
    out = np.zeros((92, *x.shape))
    out[-2] = 1e-290
    for n in range(90, 0, -1):
        out[n - 1] = 2 * n / x * out[n] - out[n + 1]
    return out[:76] / (out[0] + 2 * out[2::2].sum(0))


def _bessel_y(order: int) -> Callable[[Array], Array]:
    def neumann(x: Array, j: Array) -> Array:
        log = np.log(x / 2) + _EULER
        if order == 0:
            total = log * j[0]
            for k in range(1, len(j) // 2):
                total = total - 2 * (-1) ** k * j[2 * k] / k
            return total * (2 / math.pi)
        total = log * j[1] - j[0] / x
        for k in range(1, len(j) // 2 - 1):
            total = total + (-1) ** k * (j[2 * k - 1] - j[2 * k + 1]) / k
        return total * (2 / math.pi)

    def values(x: Array) -> Array:
        out = np.full(x.shape, np.nan)
        out[x == 0] = -np.inf
        for low, high, orders in ((0, 2, lambda v: _low_orders(v, 24)), (2, 25, _orders)):
            at = (x > low) & (x <= high)
            out[at] = neumann(x[at], orders(x[at]))
        at = (x > 25) & np.isfinite(x)
        out[at] = far_bessel(x[at], order, second=True)
        return out

    return values


def _modified_k(order: float, scaled: bool) -> Callable[[Array], Array]:
    """The second kind; scaled: times exp(x)."""

    def integral(x: Array) -> Array:
        """That of exp(-x (cosh t - 1)) cosh(order t), whose step fits the width of the peak."""
        step = 0.25 * np.minimum(1, 2 / np.sqrt(x))
        t = step * np.arange(60)[(...,) + (None,) * x.ndim]
        growth = -2 * x * np.sinh(t / 2) ** 2
        part = np.exp(growth) * np.cosh(order * t)
        return step * (part.sum(0) - part[0] / 2)

    def values(x: Array) -> Array:
        out = np.full(x.shape, np.nan)
        out[x == 0] = np.inf
        out[np.isposinf(x)] = 0
        small = (x > 0) & (x < 1e-3)
        s = x[small]
        log, square = -np.log(s / 2) - _EULER, s * s / 4
        if order == 0:
            near = log * (1 + square) + square
        else:
            near = 1 / s - s / 2 * (log * (1 + square / 2) + 0.5 + square * 0.625)
        out[small] = near * np.exp(s) if scaled else near
        at = (x >= 1e-3) & np.isfinite(x)
        out[at] = integral(x[at]) * (1 if scaled else np.exp(-x[at]))
        return out

    return values


def _modified_i(order: int) -> Callable[[Array], Array]:
    scaled = scaled_bessel_i(order)

    def values(x: Array) -> Array:
        found = scaled(x) * np.exp(np.abs(x))
        return np.where(
            np.isinf(x),
            np.nan,
            np.where(np.abs(x) > 714, np.copysign(np.inf, x) if order else np.inf, found),
        )

    return values


# ---- Airy's function: y'' = x y

_REACH, _GRID = 30.0, 0.5


def _taylor(x0: Any, y: Any, slope: Any, h: Any) -> tuple[Any, Any]:
    """The solution and its derivative at x0 + h."""
    before, now, after = 0.0, y, slope  # coefficients n - 1, n and n + 1
    value, rate, power = y + slope * h, slope, h
    for n in range(34):
        before, now, after = now, after, (x0 * now + before) / ((n + 1) * (n + 2))
        rate = rate + (n + 2) * after * power
        power = power * h
        value = value + after * power
    return value, rate


@functools.cache
def _airy_table() -> tuple[Array, Array, Array]:
    """Ai and its derivative at the points of a grid from 2 down."""
    y, slope = 0.355028053887817239260, -0.258819403792806798405
    up: list[tuple[float, float, float]] = []
    down = [(0.0, y, slope)]
    for rows, step, end in ((up, _GRID, 2.0), (down, -_GRID, -_REACH)):
        x0, v, s = 0.0, y, slope
        while abs(x0) < abs(end):
            v, s = _taylor(x0, v, s, step)
            x0 += step
            rows.append((x0, v, s))
    points = np.array([*reversed(down), *up])
    return points[:, 0], points[:, 1], points[:, 2]


def _airy_ai(x: Array) -> Array:
    out = np.full(x.shape, np.nan)
    out[(x > 103.892) & np.isfinite(x)] = 0
    near = (x >= -_REACH) & (x <= 1.5)
    grid, values, slopes = _airy_table()
    at = np.rint((x[near] - grid[0]) / _GRID).astype(np.int64)
    out[near] = _taylor(grid[at], values[at], slopes[at], x[near] - grid[at])[0]
    right = (x > 1.5) & (x <= 103.892)
    r = x[right]
    zeta = r * np.sqrt(r) * (2 / 3)
    out[right] = np.sqrt(r / 3) / math.pi * _modified_k(1 / 3, False)(zeta)
    left = (x < -_REACH) & np.isfinite(x)
    s = -x[left]
    zeta = s * np.sqrt(s) * (2 / 3)
    even, odd, term = np.ones_like(s), np.zeros_like(s), np.ones_like(s)
    for k in range(1, 12):
        term = term * ((6 * k - 5) * (6 * k - 3) * (6 * k - 1)) / (216 * k * (2 * k - 1) * zeta)
        if k % 2:
            odd = odd + (term if k % 4 == 1 else -term)
        else:
            even = even + (term if k % 4 == 0 else -term)
    phase = zeta + math.pi / 4
    out[left] = (np.sin(phase) * even - np.cos(phase) * odd) / (math.sqrt(math.pi) * s**0.25)
    return out


def _spherical_j0(x: Array) -> Array:
    return np.where(np.isinf(x), 0.0, np.where(np.abs(x) < 1e-8, 1.0, np.sin(x) / x))


def _samples(make: Make) -> Samples:
    return [(make(2, 3),), (make(),), (make(3, 2),)]


def _statement(
    name: str, param: str, values: Callable[[Array], Array], doc: str, low: float, high: float
) -> None:
    pointwise(
        f"{name}({param}: Tensor)",
        dtype="float",
        reference=in_double(values),
        refuses={"half complex": f"{name}_cpu"},
        where="special",
        method=False,
        in_place=False,
        said=f"special_{name}",
        samples=_samples,
        domain=(low, high),
        traits="unrecorded",
        doc=doc,
    )


for _n in (0, 1):
    _statement(
        f"bessel_y{_n}",
        "input",
        _bessel_y(_n),
        f"The Bessel function of the second kind of order {_n}.",
        *(0.1, 40.0),
    )
    _statement(
        f"modified_bessel_i{_n}",
        "input",
        _modified_i(_n),
        f"The modified Bessel function of the first kind of order {_n}.",
        *(-20.0, 20.0),
    )
    _statement(
        f"modified_bessel_k{_n}",
        "input",
        _modified_k(_n, False),
        f"The modified Bessel function of the second kind of order {_n}.",
        *(0.01, 20.0),
    )
    _statement(
        f"scaled_modified_bessel_k{_n}",
        "x",
        _modified_k(_n, True),
        f"modified_bessel_k{_n} times exp(x).",
        *(0.01, 40.0),
    )
_statement("airy_ai", "x", _airy_ai, "The Airy function Ai.", -30.0, 10.0)
_statement(
    "spherical_bessel_j0",
    "x",
    _spherical_j0,
    "sin(x) / x, the spherical Bessel function.",
    -9.0,
    9.0,
)
