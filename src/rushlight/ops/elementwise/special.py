"""Special functions (torch.special): gamma, log-odds, entropies, Bessel, the normal distribution.

The instructions are in native/kernels/isa/elementwise, special.h and series.h.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import _core
from ..._base.dtypes import bool as bool_dtype
from ..._base.dtypes import float64, get_default_dtype
from ..._base.outside import np
from ..._core import Op
from ..making.creation import arange
from ..table.arrays import Array, check_room
from ..table.formulas import Symbol, Untraceable
from ..table.kinds import composite, general, pointwise, variant
from ..table.reference import add_method, alias, wide
from ..table.samples import Make, Samples, one
from ..table.signature import Tensor
from .elementary import cos, erf, exp, log, log1p, sin
from .selection import unless, where

_PI = math.pi
_EITHER_A_NUMBER = (
    "(input: Tensor, other: Tensor, *, out)",
    "(self: Number, other: Tensor, *, out)",
    "(input: Tensor, other: Number, *, out)",
)


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


lgamma = _special(
    "lgamma(input: Tensor)",
    None,
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
    {"input": lambda input: _trigamma(input)},
    "digamma",
    "The derivative of lgamma.",
    method=True,
    in_place=True,
    where="torch special",
    domain=(0.5, 3.0),
    kernel_name="digamma",
)


def _derivative_of_digamma(signature: str, kernel: str, partial: object, **more: Any) -> Op:
    return pointwise(
        signature,
        kernel=kernel,
        dtype="float",
        partials={"input": partial},
        refuses={"complex": "trigamma"},
        node="PolygammaBackward0",
        method=False,
        in_place=True,
        domain=(0.5, 3.0),
        **more,
    )


_trigamma: Op = _derivative_of_digamma(
    "_trigamma(input: Tensor)",
    "trigamma",
    lambda input: _polygamma_op(input, 2),
    samples=one,
    doc="`polygamma` of order 1.",
    written="polygamma(1, {input})",
)
_polygamma_op: Op = _derivative_of_digamma(
    "_polygamma(input: Tensor, n: Number)",
    "polygamma",
    lambda input, n: _polygamma_op(input, n + 1),
    samples=lambda make: [(make(2, 3), 1), (make(3), 2)],
    doc="`polygamma` with the tensor first.",
    written="polygamma({n}, {input})",
)


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
    if n < 2:
        return _trigamma(input) if n else digamma(input)
    return _polygamma_op(input, _float_order(n))


def _polygamma_of(self: Tensor, n: int) -> Tensor:
    """The n-th derivative of digamma."""
    return polygamma(n, self)


def _polygamma_in_place(self: Tensor, n: int) -> Tensor:
    """In-place version of `polygamma`."""
    _check_order(n)
    if n < 2:
        return _trigamma_form(self) if n else _digamma_form(self)
    return _polygamma_form(self, _float_order(n))


def _float_order(n: int) -> int:
    """The order, or one that is odd where it is and that a float can hold, where n! cannot."""
    return n if n < 2**20 else 2**20 + n % 2


_digamma_form = _core.make_in_place(digamma, "polygamma_", "PolygammaBackward1")
_trigamma_form = _core.make_in_place(_trigamma, "polygamma_", "PolygammaBackward1")
_polygamma_form = _core.make_in_place(_polygamma_op, "polygamma_", "PolygammaBackward1")


add_method("polygamma", _polygamma_of)
add_method("polygamma_", _polygamma_in_place)


def _mvlgamma(input: Tensor, p: int) -> Tensor:
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if input.dtype is bool_dtype:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        input = input.to(get_default_dtype())
    total = lgamma(_lowered(wide(input), p)).sum(0) + p * (p - 1) / 4 * math.log(_PI)
    return total.to(input.dtype)


def _lowered(input: Tensor, p: int) -> Tensor:
    """input - i / 2 for i < p, along a first dimension."""
    check_room((p, *input.shape))
    halves = arange(p, dtype=input.dtype, device=input.device) / 2
    return input - halves.reshape(p, *[1] * input.dim())


mvlgamma = general(
    "mvlgamma(input: Tensor, p: int)",
    is_=_mvlgamma,
    vjp={"input": lambda g, input, p: g * digamma(_lowered(input, p)).sum(0)},
    in_place=True,
    out="cast",
    samples=lambda make: [(make(2, 3, low=2.0, high=4.0), 2)],
    formula={"input": "sum of digamma(input − i / 2) for i < p"},
    doc="The logarithm of the multivariate gamma function of dimension p.",
    batch="trailing",
)


zeta: Op = _special(
    "zeta(input: Tensor | Number, other: Tensor | Number)",
    None,
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
    halves=lambda a, b: where(b != b, b, where(a == 0, 0, a * log(b))),  # as torch computes it
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

# ---- Bessel functions


def _one_less(order: int) -> int:
    """An order below: those of -1 and 1 are the same function."""
    return abs(order - 1)


def _hidden(signature: str, partial: object, doc: str, written: str, **more: Any) -> Op:
    """An op that stands in derivatives only."""
    return pointwise(
        signature,
        dtype="float",
        partials={"input": partial},
        method=False,
        in_place=False,
        refuses={"complex": "i1_cpu"},
        doc=doc,
        written=written,
        **more,
    )


def _of_orders(make: Make) -> Samples:
    return [(make(2, 3), 1), (make(3), 2)]


# Of any order: the derivatives are sums of the neighbouring orders, where nothing cancels.
_bessel_i: Op = _hidden(
    "_bessel_i(input: Tensor, order: Number)",
    lambda input, order: 0.5 * (_bessel_i(input, _one_less(order)) + _bessel_i(input, order + 1)),
    "The modified Bessel function of a whole order.",
    "iv({order}, {input})",
    forward=lambda input, order: _bessel_ie(input, order) * exp(abs(input)),
    samples=_of_orders,
)
_bessel_ie: Op = _hidden(
    "_bessel_ie(input: Tensor, order: Number)",
    lambda input, order, out: (
        0.5 * (_bessel_ie(input, _one_less(order)) + _bessel_ie(input, order + 1))
        - input.sgn() * out
    ),
    "`_bessel_i` divided by e ** |input|.",
    "ive({order}, {input})",
    kernel="bessel_ie",
    samples=_of_orders,
)
# (i0 + i2) / 2, and the same of the scaled functions.
_i1_slope: Op = _hidden(
    "_i1_slope(input: Tensor)",
    lambda input: 0.75 * i1(input) + 0.25 * _bessel_i(input, 3),
    "The derivative of i1.",
    "(iv(0, {input}) + iv(2, {input})) / 2",
    kernel="i1_slope",
    samples=one,
)
_i1e_slope: Op = _hidden(
    "_i1e_slope(input: Tensor)",
    lambda input, out: 0.75 * i1e(input) + 0.25 * _bessel_ie(input, 3) - input.sgn() * out,
    "The derivative of i1 divided by e ** |input|.",
    "(ive(0, {input}) + ive(2, {input})) / 2",
    kernel="i1e_slope",
    samples=one,
)


def _bessel(name: str, partial: object, doc: str, **more: Any) -> Op:
    return _special(f"{name}(input: Tensor)", None, {"input": partial}, doc=doc, **more)


i0: Op = _bessel(
    "i0",
    lambda input: i1(input),
    "The modified Bessel function of order 0.",
    refusal="i0_vml_cpu",
    method=True,
    in_place="function",
    where="torch special",
)
i0e: Op = _bessel(
    "i0e",
    lambda input, out: i1e(input) - input.sgn() * out,
    "i0 divided by e ** |input|.",
    refusal="i0e_cpu",
    node="SpecialI0EBackward0",
)
i1: Op = _bessel(
    "i1",
    lambda input: _i1_slope(input),
    "The modified Bessel function of order 1.",
    refusal="i1_cpu",
    node="SpecialI1Backward0",
)
i1e: Op = _bessel(
    "i1e",
    lambda input, out: _i1e_slope(input) - input.sgn() * out,
    "i1 divided by e ** |input|.",
    refusal="i1e_cpu",
    node="SpecialI1EBackward0",
)

# ---- the normal distribution

_INV_SQRT_HALF_PI = math.sqrt(2.0 / _PI)


erfcx = _special(
    "erfcx(input: Tensor)",
    None,
    {"input": lambda input: _erfcx_slope(input)},
    "erfcx_cpu",
    "e ** input**2 * erfc(input).",
    halves=False,
    node="SpecialErfcxBackward0",
)


def _slope_of_erfcx(signature: str, partial: object, **more: Any) -> Op:
    return pointwise(
        signature,
        refuses={"complex": "erfcx_cpu"},
        partials={"input": partial},
        method=False,
        in_place=False,
        doc="A derivative of erfcx.",
        **more,
    )


_erfcx_slope: Op = _slope_of_erfcx(
    "_erfcx_slope(input: Tensor)",
    lambda input: _erfcx_derivative(input, 2),
    kernel="erfcx_slope",
    written="erfcx_derivative(1, {input})",
    samples=one,
)
_erfcx_derivative: Op = _slope_of_erfcx(
    "_erfcx_derivative(input: Tensor, order: Number)",
    lambda input, order: _erfcx_derivative(input, order + 1),
    kernel="erfcx_derivative",
    written="erfcx_derivative({order}, {input})",
    samples=_of_orders,
)


@composite(where="special", samples=one, out="cast")
def ndtr(input: Tensor) -> Tensor:
    """The distribution function of the normal distribution."""
    return erf(input * math.sqrt(0.5)).add_(1).mul_(0.5)


def _log_ndtr_slope(input: Tensor) -> Tensor:
    # Far out the slope is 0, and erfcx too large for a number.
    far = input > (37.5 if input.dtype is float64 else 13)
    return where(far, 0, _INV_SQRT_HALF_PI / erfcx(unless(far, input, 0) * -math.sqrt(0.5)))


log_ndtr = _special(
    "log_ndtr(input: Tensor)",
    None,
    {"input": lambda input: _log_ndtr_slope(input)},
    "log_ndtr_cpu",
    "log(ndtr(input)) without underflow.",
    halves=False,
    node="SpecialLogNdtrBackward0",
)
ndtri = _special(
    "ndtri(input: Tensor)",
    None,
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
