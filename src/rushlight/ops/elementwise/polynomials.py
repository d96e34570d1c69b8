"""Orthogonal polynomials of degree n (torch.special): by their recurrences in n, in the type of the
argument; Chebyshev's between -1 and 1 by the cosine of an angle times n.

As in PyTorch a degree is cut to an integer, the polynomial of one below 0 is 0, and none is
differentiable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..table.arrays import Array
from ..table.kinds import pointwise
from ..table.samples import Make, Samples

_MOST = 100_000  # recurrences take a step for each degree

_Step = Callable[[Array, Array, Array, float], Array]


class _Family(NamedTuple):
    """The differences between kinds of polynomials."""

    name: str
    of: str  # for the docstring
    first: Callable[[Array], Array]  # that of degree 1
    step: _Step  # the next, of degree k + 1, from x, that of degree k and the one before, and k
    angle: Callable[[Array, Array], Array] | None = None  # from the degree and acos(x)
    ends: Callable[[Array, Array], Array] | None = None  # of the degree, where x is 1 or -1


def _chebyshev(x: Array, q: Array, p: Array, k: float) -> Array:
    return (x + x) * q - p


def _sign(x: Array, n: Array) -> Array:
    """x ** n where x is 1 or -1."""
    return np.where((x > 0) | (n % 2 == 0), 1.0, -1.0)


_FAMILIES = [
    _Family(
        "chebyshev_polynomial_t",
        "Chebyshev polynomial of the first kind",
        lambda x: x,
        _chebyshev,
        lambda n, a: np.cos(n * a),
        _sign,
    ),
    _Family(
        "chebyshev_polynomial_u",
        "Chebyshev polynomial of the second kind",
        lambda x: x + x,
        _chebyshev,
        lambda n, a: np.sin((n + 1) * a) / np.sin(a),
        lambda x, n: _sign(x, n) * (n + 1),
    ),
    _Family(
        "chebyshev_polynomial_v",
        "Chebyshev polynomial of the third kind",
        lambda x: x + x - 1,
        _chebyshev,
        lambda n, a: np.cos((n + 0.5) * a) / np.cos(a / 2),
        lambda x, n: np.where(x > 0, 1.0, _sign(x, n) * (n + n + 1)),
    ),
    _Family(
        "chebyshev_polynomial_w",
        "Chebyshev polynomial of the fourth kind",
        lambda x: x + x + 1,
        _chebyshev,
        lambda n, a: np.sin((n + 0.5) * a) / np.sin(a / 2),
        lambda x, n: np.where(x > 0, n + n + 1.0, _sign(x, n)),
    ),
    _Family(
        "hermite_polynomial_h",
        "physicists' Hermite polynomial",
        lambda x: x + x,
        lambda x, q, p, k: (x + x) * q - (k + k) * p,
    ),
    _Family(
        "hermite_polynomial_he",
        "probabilists' Hermite polynomial",
        lambda x: x,
        lambda x, q, p, k: x * q - k * p,
    ),
    _Family(
        "laguerre_polynomial_l",
        "Laguerre polynomial",
        lambda x: 1 - x,
        lambda x, q, p, k: ((k + k + 1 - x) * q - k * p) / (k + 1),
    ),
    _Family(
        "legendre_polynomial_p",
        "Legendre polynomial",
        lambda x: x,
        lambda x, q, p, k: ((k + k + 1) * x * q - k * p) / (k + 1),
        None,
        _sign,
    ),
]


def _by_steps(family: _Family, x: Array, n: Array) -> Array:
    """All degrees up to the largest, one after another."""
    p, q = np.ones_like(x), family.first(x)
    out = np.where(n == 0, p, q)
    last = int(n.max(initial=0))
    for k in range(1, last):
        if k > 64 and k % 64 == 0 and not np.isfinite(q[n > k]).any():
            break  # what is infinite or nan remains so
        if k > _MOST:
            raise RuntimeError(
                f"special_{family.name}(): a degree of {last} takes too many steps: at most "
                f"{_MOST} are taken"
            )
        p, q = q, family.step(x, q, p, x.dtype.type(k))
        out = np.where(n > k, q, out)
    return out


def _values(family: _Family) -> Callable[[Array, Array], Array]:
    def values(x: Array, degree: Array) -> Array:
        x, degree = np.broadcast_arrays(x, degree)
        dtype = x.dtype
        n = np.where(np.abs(degree) < 2.0**62, np.trunc(degree), -1.0).astype(np.int64)
        out = np.empty(x.shape, dtype)
        rest = n >= 0
        out[~rest] = 0
        if family.ends is not None:
            end = rest & (np.abs(x) == 1)
            out[end] = family.ends(x[end], n[end])
            rest &= ~end
        if family.angle is not None:
            inner = rest & (np.abs(x) < 1) & (n > 8)
            out[inner] = family.angle(n[inner].astype(dtype), np.arccos(x[inner]))
            rest &= ~inner
        out[rest] = _by_steps(family, x[rest], n[rest])
        return out

    return values


def _samples(make: Make) -> Samples:
    degrees = make(3, low=0, high=12, kind="int")
    return [(make(2, 3), degrees), (make(4), 5), (0.5, make(3, low=0.0, high=12.0))]


def _statement(name: str, doc: str, values: Callable[[Array, Array], Array]) -> None:
    pointwise(
        f"{name}(x: Tensor | Number, n: Tensor | Number)",
        dtype="float",
        reference=values,
        refuses={"half complex": f"{name}_cpu"},
        where="special",
        method=False,
        in_place=False,
        said=f"special_{name}",
        overloads=(
            "(x: Tensor, n: Tensor, *, out)",
            "(x: Number, n: Tensor, *, out)",
            "(x: Tensor, n: Number, *, out)",
        ),
        samples=_samples,
        traits="unrecorded",
        doc=doc,
    )


def _shifted(values: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda x, n: values(x + x - 1, n)


for _family in _FAMILIES:
    _of = _values(_family)
    _statement(_family.name, f"The {_family.of} of degree n.", _of)
    if _family.name.startswith("chebyshev"):
        _statement(
            f"shifted_{_family.name}",
            f"The {_family.of} of degree n, of 2 x - 1: for x from 0 to 1.",
            _shifted(_of),
        )
