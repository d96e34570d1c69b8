"""The incomplete gamma functions, by their series and continued fraction, in float64.

Formulas: Abramowitz and Stegun 6.5.4, 6.5.29 and 6.5.31; Stirling's series 6.1.41.
"""

from __future__ import annotations

import math

import numpy as np

from ..._core import Op
from ..table.arrays import Array
from ..table.formulas import Symbol
from ..table.kinds import pointwise
from ..table.reference import alias
from ..table.samples import Make, Samples
from ..table.signature import Tensor
from .elementary import exp, log
from .selection import where
from .special import in_double, lgamma, no_derivative

_lgamma = np.vectorize(math.lgamma, otypes=[np.float64])
_STEPS = 200_000  # enough for both where x is near a = 1e9


def _power_over_gamma(a: Array, x: Array) -> Array:
    """x**a exp(-x) / gamma(a + 1); from 20 on by Stirling's series: no large terms cancel."""
    large = np.maximum(a, 20.0)
    apart = (x - large) / large
    log_ratio = np.where(apart < -0.5, np.log(x / large), np.log1p(apart))
    stirling = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / large**2) / large**2) / large**2) / large
    above = np.exp(large * (log_ratio - apart) - stirling) / np.sqrt(2 * np.pi * large)
    result: Array = np.where(a < 20, np.exp(a * np.log(x) - x - _lgamma(a + 1)), above)
    return result


def _series(a: Array, x: Array) -> Array:
    """The lower function over `_power_over_gamma`: the sum of x**n / ((a + 1) ... (a + n))."""
    term = np.ones_like(x)
    total = term.copy()
    for n in range(1, _STEPS):
        term = term * x / (a + n)
        total += term
        if not (term > total * 1e-17).any():
            break
    return total


def _fraction(a: Array, x: Array) -> Array:
    """The upper function over `_power_over_gamma`: a continued fraction, by Lentz's method."""
    b = x + 1 - a
    c, d = np.full_like(x, 1e300), 1 / b
    value = d.copy()
    for n in range(1, _STEPS):
        b, step = b + 2, n * (a - n)
        d, c = 1 / (step * d + b), b + step / c
        factor = c * d
        moving = abs(factor - 1) > 1e-15  # what has settled stays, or its rounding would add up
        if not moving.any():
            break
        np.multiply(value, factor, out=value, where=moving)
    return a * value


def _upper_near_0(a: Array, x: Array) -> Array:
    """The upper function for x up to 1, where 1 minus the lower one loses digits if a is small."""
    term, total = -x, -x / (a + 1)
    for n in range(2, 30):
        term = term * -x / n
        total += term / (a + n)
    power = a * np.log(x) - _lgamma(a + 1)
    result: Array = -np.expm1(power) - a * np.exp(power) * total
    return result


def _both(a: Array, x: Array) -> tuple[Array, Array]:
    """The lower and the upper regularized function; not a number where either is below 0."""
    a, x = np.broadcast_arrays(a, x)
    plain = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    lower = np.where((x > a) | (a == 0) & (x > 0), 1.0, 0.0)  # at the ends, 0 and infinity
    undefined = ~((a >= 0) & (x >= 0)) | (a == 0) & (x == 0) | np.isinf(a) & np.isinf(x)
    found = np.where(undefined, np.nan, (lower, 1 - lower))
    lower, upper = found[0, ...], found[1, ...]
    by_series = plain & ((x <= 1) | (x <= a))
    near_0 = by_series & (x <= 1) & (a < 1)
    for places, method, first, second in (
        (by_series, _series, lower, upper),
        (plain & ~by_series, _fraction, upper, lower),
    ):
        if places.any():
            at, of = a[places], x[places]
            first[places] = np.minimum(_power_over_gamma(at, of) * method(at, of), 1)
            second[places] = 1 - first[places]
    if near_0.any():
        upper[near_0] = _upper_near_0(a[near_0], x[near_0])
    return lower, upper


def _density(input: Tensor | Symbol, other: Tensor | Symbol) -> Tensor:
    x = where(other == math.inf, 1, other)
    return where(other == math.inf, 0, exp((input - 1) * log(x) - x - lgamma(input)))


def _statement(name: str, which: int, sign: int, doc: str) -> Op:
    return pointwise(
        f"{name}(input: Tensor, other: Tensor)",
        reference=in_double(lambda a, x: _both(a, x)[which]),
        partials={
            "input": no_derivative(f"{name}: input"),
            "other": lambda input, other: sign * _density(input, other),
        },
        refuses={"bool int complex": f"{name}_cpu"},
        samples=_samples,
        doc=doc,
    )


def _samples(make: Make) -> Samples:
    return [(make(2, 3, low=0.5, high=4.0, kind="fixed"), make(2, 3, low=0.5, high=4.0))]


igamma = _statement(
    "igamma", 0, 1, "The integral of t**(input - 1) exp(-t) from 0 to other, over gamma(input)."
)
igammac = _statement(
    "igammac", 1, -1, "The integral of t**(input - 1) exp(-t) from other on, over gamma(input)."
)
alias("gammainc", igamma, method=False, where="special")
alias("gammaincc", igammac, method=False, where="special")
