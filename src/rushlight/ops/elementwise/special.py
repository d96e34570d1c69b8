"""Special functions (torch.special): gamma, log-odds, entropies, Bessel, the normal distribution.

Where there is no kernel the values are computed in float64, by the means named at each function.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import _core
from ..._base.dtypes import float64, get_default_dtype
from ..._core import Op
from ..._devices import of
from ..table.arrays import Array, check_room
from ..table.formulas import Symbol, Untraceable
from ..table.kinds import composite, general, pointwise, variant
from ..table.reference import add_method, alias, wide
from ..table.samples import one
from ..table.signature import Tensor
from .elementary import cos, erf, erfc, exp, log, log1p, sin
from .selection import unless, where

_PI = math.pi
_EITHER_A_NUMBER = (
    "(input: Tensor, other: Tensor, *, out)",
    "(self: Number, other: Tensor, *, out)",
    "(input: Tensor, other: Number, *, out)",
)


def _kernel(op: Callable[..., Any], a: object) -> Array:
    """The values of a library op on an ndarray."""
    return op(_core.wrap(np.asarray(a)))._array


def in_double(f: Any) -> Any:
    """f, which wants float64, on any float array."""

    def reference(*args: Array) -> Any:
        dtype = args[0].dtype
        return f(*[np.asarray(a, np.float64) for a in args]).astype(dtype)

    return reference


def no_derivative(name: str) -> Callable[..., Any]:
    """The partial of an argument that torch has no derivative for; `name` as its error has it."""

    def partial(input: Tensor | Symbol | int) -> Any:
        if isinstance(input, Symbol):
            raise Untraceable("no derivative")
        raise NotImplementedError(
            f"the derivative for '{name}' is not implemented. Detach `input`: only `other` has one."
        )

    return partial


def _special(
    signature: str,
    reference: object,
    partials: dict[str, Any],
    refusal: str,
    doc: str,
    **more: object,
) -> Op:
    halves = more.pop("halves", True)  # whether it takes them, or a definition on them
    half = {} if halves else {"half": refusal}
    if (
        reference
        and "forward" not in more
        and "kernel" not in more
        and _core.kernel_arity(signature.partition("(")[0]) < 0
    ):
        reference = in_double(reference)
    options: dict[str, Any] = {"in_place": False, "method": False, "samples": one}
    options |= {"where": "special"} | ({"halves": halves} if callable(halves) else {}) | more
    return pointwise(
        signature,
        dtype="float",
        reference=reference,
        partials=partials,
        refuses={"complex": refusal} | half,
        doc=doc,
        **options,
    )


# ---- the gamma function


def _hurwitz(s: Any, q: Array, sign: Array | float = 0.0, other: Array | float = 1.0) -> Any:
    """zeta(s, q) + sign * zeta(s, other), both above 0, by Euler and Maclaurin: ten terms, the
    integral and its corrections. Term by term, for the first terms may cancel."""

    def both(f: Any) -> Array:
        found = f(q) + sign * f(other)
        return np.where(np.isnan(found), f(q), found)

    total = both(lambda y: y**-s)
    for k in range(1, 10):
        total = total + both(lambda y, k=k: (y + k) ** -s)
    total = total + both(lambda y: (y + 10) ** (1 - s) / (s - 1) + 0.5 * (y + 10) ** -s)
    factor = s
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        correction = bernoulli * factor * both(lambda y, k=k: (y + 10) ** (1 - s - 2 * k))
        # An infinite correction is left out: its power is nothing beside the first terms.
        total = total + np.where(np.isfinite(correction), correction, 0)
        factor = factor * ((s + 2 * k - 1) * (s + 2 * k))
    return total


# B(2k) / (2k)!
_BERNOULLI = [
    b / math.factorial(2 * k)
    for k, b in enumerate(
        [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798], 1
    )
]


def _zeta(x: Any, q: Array) -> Array:
    with np.errstate(all="ignore"):
        whole = np.floor(q) == q
        # Below 0 the terms (q + k) ** -x are, but for their sign, those of q's other end: from its
        # fraction up to -q. So they need not be added one by one.
        steps = np.ceil(np.maximum(-q, 0))
        fraction = np.where(q < 0, -q - steps + 1, 1)
        sign = np.where(np.fmod(x, 2) == 0, 1.0, -1.0)
        below = q < 0
        value = _hurwitz(
            x, np.where(below, 1 - fraction, np.where(q > 0, q, 1)), sign * below, fraction
        )
        value = value - np.where(below, sign * _hurwitz(x, np.where(below, 1 - q, 1)), 0)
        value = np.where((q < 0) & (np.floor(x) != x), np.nan, value)
        value = np.where((q <= 0) & whole, np.inf, value)
        value = np.where(np.isposinf(q), 0, value)
        value = np.where((x < 1) | np.isnan(q) | np.isnan(x), np.nan, value)
    return np.where(x == 1, np.inf, value)


def _trigamma(a: Array) -> Array:
    low = a < 0.5
    sine = np.sin(_PI * a)
    reflected = (_PI / np.where(low, sine, 1)) ** 2
    q = np.where(low, 1 - a, a)
    value = np.where(np.isposinf(q), 0, _hurwitz(2.0, q))
    return np.where(low, reflected - value, value)


def _polygamma(a: Array, n: int, dtype: Any) -> Array:
    """As torch computes it, in this type: the factor and zeta may each leave its range."""
    if n == 1:
        return _trigamma(a)
    sign = 1.0 if n % 2 else -1.0
    if n >= 2**31:  # n! outgrows whatever zeta is, which no float tells from 0
        return np.where(np.isnan(a), math.nan, sign * math.inf).astype(dtype)
    with np.errstate(all="ignore"):
        factor = dtype.type(math.factorial(n) if n <= 170 else math.inf)
        return sign * factor * _zeta(np.float64(n + 1), a).astype(dtype)


lgamma = _special(
    "lgamma(input: Tensor)",
    np.vectorize(math.lgamma, otypes=[np.float64]),
    {"input": lambda input: digamma(input)},
    "lgamma_vml_cpu",
    "log |gamma(input)|.",
    method=True,
    in_place=True,
    where="torch",
    domain=(0.5, 3.0),
)
digamma: Op = _special(
    "digamma(input: Tensor)",
    None,
    {"input": lambda input: _polygamma_op(input, 1)},
    "digamma",
    "The derivative of lgamma.",
    method=True,
    in_place=True,
    where="torch special",
    domain=(0.5, 3.0),
    kernel_name="digamma",
)


def _polygamma_values(a: Array, n: int) -> Array:
    dtype = np.dtype(np.float64 if a.dtype == np.float64 else np.float32)
    return _polygamma(a.astype(np.float64), n, dtype).astype(a.dtype)


_polygamma_op: Op = pointwise(
    "_polygamma(input: Tensor, n: Any)",
    dtype="float",
    reference=_polygamma_values,
    partials={"input": lambda input, n: _next_polygamma(input, n)},
    refuses={"complex": "trigamma"},
    node="PolygammaBackward0",
    method=False,
    in_place=True,
    domain=(0.5, 3.0),
    samples=lambda make: [(make(2, 3), 1), (make(3), 2)],
    doc="`polygamma` with the tensor first.",
    written="polygamma({n}, {input})",
)


def _next_polygamma(input: Tensor | Symbol, n: Symbol | int) -> Tensor:
    if isinstance(input, Symbol):
        raise Untraceable("the order is no number yet")
    return _polygamma_op(input, n + 1)


def _check_order(n: int) -> None:
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n >= 2**63:
        raise ValueError(f"Overflow when unpacking long long. The order is {n}.")


@composite(
    where="torch special", method=False, samples=lambda make: [(1, make(2, 3, low=0.5))], out="cast"
)
def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of digamma."""
    _check_order(n)
    return digamma(input) if n == 0 else _polygamma_op(input, n)


def _polygamma_of(self: Tensor, n: int) -> Tensor:
    """The n-th derivative of digamma."""
    return polygamma(n, self)


def _polygamma_in_place(self: Tensor, n: int) -> Tensor:
    """In-place version of `polygamma`."""
    _check_order(n)
    return _digamma_form(self) if n == 0 else _polygamma_form(self, n)


_digamma_form = _core.make_in_place(digamma, "polygamma_", "PolygammaBackward1")
_polygamma_form = _core.make_in_place(_polygamma_op, "polygamma_", "PolygammaBackward1")


add_method("polygamma", _polygamma_of)
add_method("polygamma_", _polygamma_in_place)


def _mvlgamma(input: Tensor, p: int) -> Tensor:
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        input = input.to(get_default_dtype())
    total = lgamma(_lowered(wide(input), p)).sum(-1) + p * (p - 1) / 4 * math.log(_PI)
    return total.to(input.dtype)


def _lowered(input: Tensor, p: int) -> Tensor:
    """input - i / 2 for i < p, along a last dimension."""
    check_room((*input.shape, p))
    halves = of(input).tensor((np.arange(p) / 2).astype(input._form.dtype))
    return input.unsqueeze(-1) - halves


mvlgamma = general(
    "mvlgamma(input: Tensor, p: int)",
    is_=_mvlgamma,
    vjp={"input": lambda g, input, p: g * digamma(_lowered(input, p)).sum(-1)},
    in_place=True,
    out="cast",
    samples=lambda make: [(make(2, 3, low=2.0, high=4.0), 2)],
    formula={"input": "sum of digamma(input − i / 2) for i < p"},
    doc="The logarithm of the multivariate gamma function of dimension p.",
    batch="trailing",
)


zeta: Op = _special(
    "zeta(input: Tensor | Number, other: Tensor | Number)",
    _zeta,
    {"input": no_derivative("zeta"), "other": lambda input, other: -input * zeta(input + 1, other)},
    "zeta_cpu",
    "The Hurwitz zeta function: the sum of (k + other) ** -input.",
    halves=False,
    node="SpecialZetaBackward0",
    samples=lambda make: [(make(2, 3, low=1.5, high=4.0, kind="fixed"), make(2, 3, low=0.5))],
    overloads=_EITHER_A_NUMBER,
)

# ---- products with logarithms


def _quotient(a: Tensor | Symbol, b: Tensor | Symbol) -> Tensor:
    """a / b, 0 where both are."""
    neither = (a == 0) & (b == 0)
    return where(neither, 0, a / unless(neither, b, 1))


def _xlogy_values(a: Array, b: Array) -> Array:
    return np.where(np.isnan(b), b, np.where(a == 0, 0, a * np.log(b)))


def _xlog1py_values(a: Array, b: Array) -> Array:
    return np.where(np.isnan(b), b, np.where(a == 0, 0, a * np.log1p(b)))


def _log_product(
    name: str,
    node: str,
    reference: object,
    first: object,
    second: object,
    refusal: str,
    doc: str,
    **more: object,
) -> Op:
    """A product with a logarithm, and its overloads for numbers."""
    signature = "{}(input: Tensor | Number, other: Tensor | Number)"
    op = _special(
        signature.format(name),
        reference,
        {"input": first, "other": second},
        refusal,
        doc,
        node=f"{node}0",
        samples=lambda make: [(make(2, 3), make(2, 3, low=0.5)), (make(3), make(2, 1, low=0.5))],
        overloads=_EITHER_A_NUMBER,
        **more,
    )
    hidden = {k: v for k, v in more.items() if k in ("forward", "kernel", "halves")}
    for at, param, rule, partner in ((1, "input", second, "other"), (2, "other", first, "input")):
        number = _special(
            signature.format(f"_{name}_number{at}"),
            reference,
            {partner: rule},
            refusal,
            f"`{name}` with a number.",
            node=f"{node}{at}",
            samples=lambda make, at=at: [
                (1.5, make(2, 3, low=0.5)) if at == 1 else (make(2, 3), 1.5)
            ],
            **hidden,
        )
        variant(op, param, "scalar", number)
    return op


xlogy: Any = _log_product(
    "xlogy",
    "XlogyBackward",
    _xlogy_values,
    lambda g, input, other: where((input == 0) & (other <= 0), 0, xlogy(g, other)),
    lambda input, other: _quotient(input, other),
    "xlogy_cpu",
    "input * log(other), 0 where input is 0.",
    kernel="xlogy",
    halves=_xlogy_values,  # as torch: the logarithm is rounded before the product
    where="torch special",
    method=True,
    in_place="function",
    aten="xlogy_.Tensor | xlogy_.Scalar_Other",
)
xlog1py: Any = _log_product(
    "xlog1py",
    "SpecialXlog1PyBackward",
    _xlog1py_values,
    lambda g, input, other: where((input == 0) & (other <= -1), 0, xlog1py(g, other)),
    lambda input, other: _quotient(input, other + 1),
    "xlog1py_cpu",
    "input * log1p(other), 0 where input is 0.",
    forward=lambda input, other: where(
        other != other, other, where(input == 0, 0, input * log1p(other))
    ),
)
entr = _special(
    "entr(input: Tensor)",
    None,
    {
        "input": lambda input: where(
            input > 0, -log(input) - 1, where(input == 0, math.inf, math.nan)
        )
    },
    "entr_cpu",
    "-input * log(input), 0 at 0, -inf below.",
    forward=lambda input: where(
        input != input,
        input,
        where(input > 0, -input * log(input), where(input == 0, 0, -math.inf)),
    ),
    node="SpecialEntrBackward0",
    domain=(0.2, 3.0),
)

# ---- log-odds and sinc


def _clamped_logit_backward(g: Any, input: Tensor | Symbol, eps: Any) -> Tensor:
    outside = (input < eps) | (input > 1 - eps)
    inside = unless(outside, input, 0.5)
    return where(outside, 0, g / (inside * (1 - inside)))


def _logit_slope(input: Tensor | Symbol) -> Tensor:
    return where((input < 0) | (input > 1), math.nan, 1 / (input * (1 - input)))


logit = _special(
    "logit(input: Tensor, eps: Number | None = None)",
    None,
    {"input": lambda input: _logit_slope(input)},
    "logit_cpu",
    "log(input / (1 - input)); with eps, of input kept eps away from 0 and 1.",
    forward=lambda input: log(input / (1 - input)),
    method=True,
    in_place="function",
    where="torch special",
    domain=(0.1, 0.9),
)
_logit_clamped = _special(
    "_logit_clamped(input: Tensor, eps: Number | None = None)",
    None,
    {"input": lambda g, input, eps: _clamped_logit_backward(g, input, eps)},
    "logit_cpu",
    "`logit` with eps.",
    forward=lambda input, eps: _odds(
        where(input < eps, eps, where(input > 1 - eps, 1 - eps, input))
    ),
    node="LogitBackward0",
    samples=lambda make: [(make(2, 3, low=0.0, high=1.0), 0.1)],
)
variant(logit, "eps", "given", _logit_clamped)


def _odds(p: Any) -> Any:
    return log(p / (1 - p))


# sin(z) / z has the slope z times this polynomial of z * z, enough for |z| < 1, where the formula
# subtracts equal numbers.
_SINC_SLOPE = [(-1) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(9, 0, -1)]


def _sinc_slope(input: Tensor | Symbol) -> Tensor:
    angle = input * _PI
    near = abs(angle) < 1
    small, large = where(near, angle, 0), where(near, 1, angle)
    square, series = small * small, _SINC_SLOPE[0]
    for coefficient in _SINC_SLOPE[1:]:
        series = series * square + coefficient
    return _PI * where(near, small * series, (cos(large) - sin(large) / large) / large)


def _sinc_values(a: Array) -> Array:
    return np.where(a == 0, 1, np.sin(a * _PI) / (a * _PI)).astype(a.dtype)


sinc = pointwise(
    "sinc(input: Tensor)",
    where="torch special",
    in_place="function",
    dtype="float",
    forward=lambda input: where(input == 0, 1, sin(input * _PI) / (input * _PI)),
    reference=_sinc_values,
    partials={"input": lambda input: _sinc_slope(input)},
    samples=one,
    doc="sin(pi input) / (pi input), 1 at 0.",
)

# ---- Bessel functions: the integral (1/pi) of e**(x cos t) cos(n t), by the trapezoidal rule,
# which converges like the function's Fourier series; far out the asymptotic series.


def _from_zero(x: Array, order: int, sign: int) -> Array:
    """J (sign -1) or I (1) of an order, of x from 0 to 1, by their power series: relative to their
    size, which the integrals are not."""
    term = (x / 2) ** order / math.factorial(order)
    total = term
    for k in range(1, 10):
        term = term * (sign * x * x / 4) / (k * (k + order))
        total = total + term
    return total


@functools.cache
def scaled_bessel_i(order: int) -> Any:
    nodes = (np.arange(96) + 0.5) * (_PI / 96)
    cosines, weights = np.cos(nodes), np.cos(order * nodes) / 96

    def values(a: Array) -> Array:
        x = np.abs(a)
        near = np.minimum(x, 60.0)[..., None]
        value = (np.exp(near * (cosines - 1)) * weights).sum(-1)
        far = np.maximum(x, 60.0)
        term, series = np.ones_like(far), np.ones_like(far)
        for k in range(1, 14):
            term = term * ((2 * k - 1) ** 2 - 4 * order * order) / (8 * k * far)
            series = series + term
        value = np.where(x > 60, series / (math.sqrt(2 * _PI) * np.sqrt(far)), value)
        if order:
            close = np.minimum(x, 1.0)
            value = np.where(x < 1, _from_zero(close, order, 1) * np.exp(-close), value)
        return np.where(np.isnan(a), a, value * np.sign(a) if order % 2 else value)

    return values


_i0e, _i1e = scaled_bessel_i(0), scaled_bessel_i(1)


def _bessel_i_values(a: Array, order: int) -> Array:
    wide = a.astype(np.float64)
    return (scaled_bessel_i(order)(wide) * np.exp(np.abs(wide))).astype(a.dtype)


def _one_less(order: int) -> int:
    """An order below: those of -1 and 1 are the same function."""
    return abs(order - 1)


def _hidden_bessel(name: str, values: object, partial: object, doc: str, written: str) -> Op:
    """Of any order, for derivatives: sums of the neighbouring orders, where nothing cancels."""
    return pointwise(
        f"{name}(input: Tensor, order: Any)",
        dtype="float",
        reference=values,
        partials={"input": partial},
        method=False,
        in_place=False,
        refuses={"complex": "i1_cpu"},
        samples=lambda make: [(make(2, 3), 1), (make(3), 2)],
        doc=doc,
        written=written,
    )


_bessel_i: Op = _hidden_bessel(
    "_bessel_i",
    _bessel_i_values,
    lambda input, order: 0.5 * (_bessel_i(input, _one_less(order)) + _bessel_i(input, order + 1)),
    "The modified Bessel function of a whole order.",
    "iv({order}, {input})",
)
_bessel_ie: Op = _hidden_bessel(
    "_bessel_ie",
    lambda a, order: scaled_bessel_i(order)(a.astype(np.float64)).astype(a.dtype),
    lambda input, order, out: (
        0.5 * (_bessel_ie(input, _one_less(order)) + _bessel_ie(input, order + 1))
        - input.sgn() * out
    ),
    "`_bessel_i` divided by e ** |input|.",
    "ive({order}, {input})",
)
i0 = _special(
    "i0(input: Tensor)",
    lambda a: _i0e(a) * np.exp(np.abs(a)),
    {"input": lambda input: i1(input)},
    "i0_vml_cpu",
    "The modified Bessel function of order 0.",
    method=True,
    in_place="function",
    where="torch special",
)
i0e = _special(
    "i0e(input: Tensor)",
    _i0e,
    {"input": lambda input, out: i1e(input) - input.sgn() * out},
    "i0e_cpu",
    "i0 divided by e ** |input|.",
    node="SpecialI0EBackward0",
)
i1: Op = _special(
    "i1(input: Tensor)",
    lambda a: _i1e(a) * np.exp(np.abs(a)),
    {"input": lambda input: 0.5 * (i0(input) + _bessel_i(input, 2))},
    "i1_cpu",
    "The modified Bessel function of order 1.",
    node="SpecialI1Backward0",
)


i1e: Op = _special(
    "i1e(input: Tensor)",
    _i1e,
    {"input": lambda input, out: 0.5 * (i0e(input) + _bessel_ie(input, 2)) - input.sgn() * out},
    "i1e_cpu",
    "i1 divided by e ** |input|.",
    node="SpecialI1EBackward0",
)


def far_bessel(x: Array, order: int, second: bool = False) -> Array:
    """The functions of the first or second kind, of x from 25 on, by the asymptotic series."""
    p, q, term = np.ones_like(x), np.zeros_like(x), np.ones_like(x)
    for k in range(1, 13):
        term = term * (4 * order * order - (2 * k - 1) ** 2) / (8 * k * x)
        if k % 2:
            q = q + term * (1 if k % 4 == 1 else -1)
        else:
            p = p + term * (1 if k % 4 == 0 else -1)
    phase = x - order * _PI / 2 - _PI / 4
    sine, cosine = np.sin(phase), np.cos(phase)
    scale = math.sqrt(2 / _PI) / np.sqrt(x)
    return np.asarray(scale * (p * sine + q * cosine if second else p * cosine - q * sine))


def _bessel_j(order: int) -> Any:
    def values(a: Array) -> Array:
        x = np.abs(a)
        near = np.minimum(x, 40.0)
        nodes = (np.arange(64) + 0.5) * (_PI / 64)
        value = np.cos(order * nodes - near[..., None] * np.sin(nodes)).mean(-1)
        value = np.where(x > 25, far_bessel(np.maximum(x, 25.0), order), value)
        value = np.where(np.isinf(x), np.nan, value)
        if order:
            value = np.where(x < 1, _from_zero(np.minimum(x, 1.0), order, -1), value)
        return np.where(np.isnan(a), a, value * np.sign(a) if order else value)

    return values


for _order in (0, 1):
    _special(
        f"bessel_j{_order}(input: Tensor)",
        _bessel_j(_order),
        {},
        f"bessel_j{_order}_cpu",
        f"The Bessel function of the first kind of order {_order}.",
        halves=False,
        traits="unrecorded",
    )

# ---- the normal distribution

_INV_SQRT_HALF_PI = math.sqrt(2.0 / _PI)


def _laplace(x: Array) -> Array:
    """The term added to x in Laplace's continued fraction, from its tail."""
    fraction = np.zeros_like(x)
    for k in range(60, 0, -1):
        fraction = (k / 2) / (x + fraction)
    return fraction


def _erfcx_values(a: Any) -> Array:
    near = np.clip(a, -27.0, 5.0)
    value = np.exp(near * near) * _kernel(erfc, near)
    far = np.maximum(a, 5.0)
    value = np.where(a > 5, 1 / (far + _laplace(far)) / math.sqrt(_PI), value)
    return np.where(a < -26.7, np.inf, np.where(np.isnan(a), a, value))


erfcx = _special(
    "erfcx(input: Tensor)",
    _erfcx_values,
    {"input": lambda input: _erfcx_slope(input, 1)},
    "erfcx_cpu",
    "e ** input**2 * erfc(input).",
    halves=False,
    node="SpecialErfcxBackward0",
)


def _erfcx_derivative(a: Array, order: int) -> Array:
    """By y' = 2 x y - 2 / sqrt(pi), far out by what Laplace's fraction adds to x."""
    x = a.astype(np.float64)
    before, value = _erfcx_values(x), 2 * x * _erfcx_values(x) - 2 / math.sqrt(_PI)
    far, rest = np.maximum(x, 5.0), _laplace(np.maximum(x, 5.0))
    value = np.where(x > 5, -2 / math.sqrt(_PI) * rest / (far + rest), value)
    for k in range(1, order):
        before, value = value, 2 * x * value + 2 * k * before
    return np.where(np.isposinf(x), 0, value).astype(a.dtype)


_erfcx_slope: Op = pointwise(
    "_erfcx_slope(input: Tensor, order: Any)",
    reference=_erfcx_derivative,
    refuses={"complex": "erfcx_cpu"},
    partials={"input": lambda input, order: _erfcx_slope(input, order + 1)},
    method=False,
    in_place=False,
    samples=lambda make: [(make(2, 3), 1), (make(3), 2)],
    doc="A derivative of erfcx.",
)


@composite(where="special", samples=one, out="cast")
def ndtr(input: Tensor) -> Tensor:
    """The distribution function of the normal distribution."""
    return (erf(input * math.sqrt(0.5)) + 1) * 0.5


def _log_ndtr_values(a: Any) -> Array:
    x = a * math.sqrt(0.5)
    low = np.minimum(x, -0.5)
    return np.where(
        a < -1,
        np.log(_erfcx_values(-low) / 2) - low * low,
        np.log1p(-_kernel(erfc, np.maximum(x, -1.0)) / 2),
    )


def _log_ndtr_slope(input: Tensor) -> Tensor:
    # Far out the slope is 0, and erfcx too large for a number.
    far = input > (37.5 if input.dtype is float64 else 13)
    return where(far, 0, _INV_SQRT_HALF_PI / erfcx(unless(far, input, 0) * -math.sqrt(0.5)))


log_ndtr = _special(
    "log_ndtr(input: Tensor)",
    _log_ndtr_values,
    {"input": lambda input: _log_ndtr_slope(input)},
    "log_ndtr_cpu",
    "log(ndtr(input)) without underflow.",
    halves=False,
    node="SpecialLogNdtrBackward0",
)


def _ndtri_values(p: Array) -> Array:
    """Newton's method on log(ndtr), from the tail's first approximation."""
    tail = np.clip(np.minimum(p, 1 - p), 1e-320, 0.5)
    goal = np.log(tail)
    x = -np.sqrt(np.maximum(-2 * goal - np.log(np.maximum(-4 * _PI * goal, 1.0)), 0.0))
    for _ in range(12):
        step = (_log_ndtr_values(x) - goal) * _erfcx_values(-x * math.sqrt(0.5)) / _INV_SQRT_HALF_PI
        x = x - step
    x = np.where(p > 0.5, -x, x)
    x = np.where(p == 0.5, 0.0, x)
    x = np.where(p == 0, -np.inf, np.where(p == 1, np.inf, x))
    return np.where((p < 0) | (p > 1) | np.isnan(p), np.nan, x)


ndtri = _special(
    "ndtri(input: Tensor)",
    _ndtri_values,
    {"input": lambda out: math.sqrt(2 * _PI) * exp(0.5 * (out * out))},
    "ndtri_cpu",
    "The inverse of ndtr.",
    halves=False,
    node="SpecialNdtriBackward0",
    domain=(0.1, 0.9),
)

alias("gammaln", lgamma, method=False, where="special")
alias("psi", digamma, method=False, where="special")
alias("multigammaln", mvlgamma, method=False, where="special")
