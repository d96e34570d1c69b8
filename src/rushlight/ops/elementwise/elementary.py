"""Elementary functions: exponentials, logarithms, trigonometry, rounding, the error function."""

from __future__ import annotations

import builtins
import math
from typing import Any

from ... import _core
from ..._base.outside import np, ufuncs
from ..._core import Op
from ...return_types import named
from ..making.creation import zeros_like
from ..table.arrays import Array, rounded, widened
from ..table.formulas import Symbol
from ..table.kinds import composite, general, pointwise, variant
from ..table.reference import add_method, alias, wide
from ..table.samples import one, pair
from ..table.signature import Tensor
from .arithmetic import conj_of, no_derivative, reciprocal
from .comparison import isfinite, isnan
from .powers import rsqrt
from .selection import unless, where

_LN2, _LN10 = math.log(2.0), math.log(10.0)
_TWO_OVER_SQRT_PI = 2.0 / math.sqrt(math.pi)


def _unary(
    name: str,
    reference: Any,
    partial: Any,
    doc: str,
    domain: tuple[float, float] = (-2.0, 2.0),
    **more: Any,
) -> Op:
    """A function of one argument that makes floats of integers."""
    return pointwise(
        f"{name}(input: Tensor)",
        dtype="float",
        reference=reference,
        partials={"input": partial},
        domain=domain,
        samples=one,
        doc=doc,
        **{"in_place": "function", "kernel_name": f"{name}_vml_cpu", **more},
    )


_POSITIVE = (0.2, 3.0)
_INSIDE = (-0.9, 0.9)

# ---- exponentials and logarithms

exp = _unary("exp", ufuncs.exp, lambda out: out, "e ** input.", autocast="float32 there")
exp2 = _unary(
    "exp2",
    lambda a: np.exp2(a) if a.dtype.kind != "c" else np.exp(a * a.dtype.type(_LN2)),
    lambda out: out * _LN2,
    "2 ** input.",
    where="torch special",
    kernel_name="exp2",
)
expm1 = _unary(
    "expm1",
    ufuncs.expm1,
    lambda out: out + 1,
    "e ** input - 1, exact near 0.",
    where="torch special",
    autocast="float32 there",
)
log = _unary(
    "log",
    ufuncs.log,
    lambda g, input: g / conj_of(input),
    "The natural logarithm.",
    _POSITIVE,
    autocast="float32 there",
)
log2 = _unary(
    "log2",
    ufuncs.log2,
    lambda g, input: g / (conj_of(input) * _LN2),
    "The logarithm to base 2.",
    _POSITIVE,
    autocast="float32 there",
)
log10 = _unary(
    "log10",
    ufuncs.log10,
    lambda g, input: g / (conj_of(input) * _LN10),
    "The logarithm to base 10.",
    _POSITIVE,
    autocast="float32 there",
)


def _log1p(a: Array) -> Array:
    if a.dtype.kind != "c":
        return np.log1p(a)
    x, y = a.real, a.imag
    # Near 0 by the square of |1 + a| less 1; where that is too small for a number, a itself.
    small = np.abs(a) < 0.5
    excess = np.where(small, x * (2 + x) + y * y, 0)
    real = np.where(excess == 0, x, np.log1p(excess) / 2)
    found = np.empty_like(a)
    found.real = np.where(small, real, np.log(np.hypot(x + 1, y)))
    found.imag = np.arctan2(y, x + 1)
    return found


log1p = _unary(
    "log1p",
    _log1p,
    lambda g, input: g / conj_of(input + 1),
    "log(1 + input), exact near 0.",
    (-0.5, 3.0),
    node="Log1PBackward0",
    where="torch special",
    autocast="float32 there",
)


def _logaddexp_share(
    input: Tensor | Symbol, other: Tensor | Symbol, unit: float = 1.0
) -> Tensor | Symbol:
    both_infinite = (input == other) & (abs(input) == math.inf)
    apart = unless(both_infinite, input - other, 0)
    return sigmoid(apart if unit == 1 else apart * unit)


def log_add_exp(a: Array, b: Array) -> Array:
    if a.dtype.kind != "c":
        return np.logaddexp(a, b)
    below = a.real < b.real
    low, high = np.where(below, a, b), np.where(below, b, a)
    apart = _log1p(np.exp(low - high)) + high
    # Two infinities: of minus infinity the angle is of no account.
    even = np.where(high.real < 0, low, np.log(np.exp(low) + np.exp(high)))
    found = np.where(np.isinf(high.real) & (low.real == high.real), even, apart)
    return np.where(np.isnan(low) | np.isnan(high), complex(np.nan, np.nan), found)


logaddexp = pointwise(
    "logaddexp(input: Tensor, other: Tensor)",
    reference=log_add_exp,
    partials={
        "input": lambda input, other: _logaddexp_share(input, other),
        "other": lambda input, other: _logaddexp_share(other, input),
    },
    refuses={"bool int": "logaddexp_cpu"},
    in_place=False,
    samples=pair,
    doc="log(e ** input + e ** other) without overflow.",
)
logaddexp2 = pointwise(
    "logaddexp2(input: Tensor, other: Tensor)",
    reference=ufuncs.logaddexp2,
    partials={
        "input": lambda input, other: _logaddexp_share(input, other, _LN2),
        "other": lambda input, other: _logaddexp_share(other, input, _LN2),
    },
    refuses={"bool int complex": "logaddexp2_cpu"},
    in_place=False,
    samples=pair,
    doc="log2(2 ** input + 2 ** other) without overflow.",
)

# ---- trigonometric and hyperbolic functions


def finite(input: Tensor | Symbol) -> Tensor | Symbol:
    """A very large number for infinity, where derivatives of a rule may be computed: they would be
    0 * inf, or inf / inf, for 0."""
    if isinstance(input, Symbol) or not input.dtype.is_floating_point:
        return input
    large = _LARGEST.get(input.dtype.name, 1.7976931348623157e308) / 4
    return input.clamp(-large, large)


sin: Op = _unary("sin", ufuncs.sin, lambda input: cos(input), "The sine.")
cos: Op = _unary("cos", ufuncs.cos, lambda input: -sin(input), "The cosine.")
tan = _unary(
    "tan",
    ufuncs.tan,
    lambda out: 1 + out * out,
    "The tangent.",
    (-1.0, 1.0),
    autocast="float32 there",
)
asin = _unary(
    "asin",
    ufuncs.arcsin,
    lambda input: rsqrt(1 - input * input),
    "The angle of that sine.",
    _INSIDE,
    autocast="float32 there",
)
acos = _unary(
    "acos",
    ufuncs.arccos,
    lambda input: -rsqrt(1 - input * input),
    "The angle of that cosine.",
    _INSIDE,
    autocast="float32 there",
)
atan = _unary(
    "atan",
    ufuncs.arctan,
    lambda g, input: g / (conj_of(finite(input) ** 2) + 1),
    "The angle of that tangent.",
)
sinh = _unary(
    "sinh",
    ufuncs.sinh,
    lambda input: cosh(input),
    "The hyperbolic sine.",
    autocast="float32 there",
    kernel_name="sinh_cpu",
)
cosh: Op = _unary(
    "cosh",
    ufuncs.cosh,
    lambda input: sinh(input),
    "The hyperbolic cosine.",
    autocast="float32 there",
    kernel_name="cosh_cpu",
)
tanh = _unary("tanh", ufuncs.tanh, lambda out: 1 - out * out, "The hyperbolic tangent.")
asinh = _unary(
    "asinh",
    ufuncs.arcsinh,
    lambda input: rsqrt(finite(input) ** 2 + 1),
    "The inverse of sinh.",
    kernel_name="asinh_cpu",
)
acosh = _unary(
    "acosh",
    ufuncs.arccosh,
    lambda input: rsqrt(input - 1) * rsqrt(input + 1),
    "The inverse of cosh.",
    (1.2, 3.0),
    kernel_name="acosh_cpu",
)
atanh = _unary(
    "atanh",
    ufuncs.arctanh,
    lambda g, input: g / (1 - conj_of(input * input)),
    "The inverse of tanh.",
    _INSIDE,
    kernel_name="atanh_cpu",
)


for _op in (asin, acos, atan, asinh, acosh, atanh):
    alias(f"arc{_op.__name__[1:]}", _op)

atan2 = pointwise(
    "atan2(input: Tensor, other: Tensor)",
    dtype="float",
    reference=ufuncs.arctan2,
    partials={
        "input": lambda input, other: _over_square(other, input, other),
        "other": lambda input, other: _over_square(-input, input, other),
    },
    refuses={"complex": "atan2_cpu"},
    samples=lambda make: [(make(2, 3, low=0.2), make(2, 3)), (make(2, 3, low=0.2), make(3))],
    shared_write="shape",
    autocast="widest there",
    doc="The angle of the point (other, input).",
)
alias("arctan2", atan2)


def _over_square(value: Tensor | Symbol, y: Tensor | Symbol, x: Tensor | Symbol) -> Tensor:
    square = finite(y) ** 2 + finite(x) ** 2
    nothing = (square == 0) | (square == math.inf)
    return where(nothing, 0, value * reciprocal(unless(nothing, square, 1)))


def _hypot_slope(input: Tensor | Symbol, out: Tensor | Symbol) -> Tensor:
    no_quotient = (out == 0) | (abs(input) == math.inf)
    return where(no_quotient, sign(input), input / unless(no_quotient, out, 1))


hypot = pointwise(
    "hypot(input: Tensor, other: Tensor)",
    reference=ufuncs.hypot,
    partials={
        "input": lambda input, out: _hypot_slope(input, out),
        "other": lambda other, out: _hypot_slope(other, out),
    },
    refuses={"bool int complex": "hypot_cpu"},
    samples=pair,
    doc="sqrt(input ** 2 + other ** 2) without overflow.",
)

_DEGREES = math.pi / 180.0
deg2rad = pointwise(
    "deg2rad(input: Tensor)",
    in_place="function",
    dtype="float",
    forward=lambda input: input * _DEGREES,
    reference=lambda a: a * a.dtype.type(_DEGREES),
    partials={"input": _DEGREES},
    refuses={"complex": (RuntimeError, "deg2rad is not supported for complex tensors.")},
    node="Deg2RadBackward0",
    samples=one,
    doc="Degrees as radians.",
)
rad2deg = pointwise(
    "rad2deg(input: Tensor)",
    in_place="function",
    dtype="float",
    forward=lambda input: input * (1 / _DEGREES),
    reference=lambda a: a * a.dtype.type(1 / _DEGREES),
    partials={"input": 1 / _DEGREES},
    refuses={"complex": (RuntimeError, "rad2deg is not supported for complex tensors.")},
    node="Rad2DegBackward0",
    samples=one,
    doc="Radians as degrees.",
)

# ---- sign and magnitude


def _magnitude_rule(g: Tensor | Symbol, input: Tensor | Symbol) -> Tensor | Symbol:
    return g * sgn(input)


abs = pointwise(
    "abs(input: Tensor)",
    operator="abs",
    reference=ufuncs.absolute,
    partials={"input": _magnitude_rule},
    refuses={"bool": "abs_cpu"},
    reference_for="complex",
    by_ops=lambda input: hypot(input.real, input.imag),
    out="found",
    samples=one,
    stored="all",
    doc="The absolute value.",
)
_abs_in_place = _core.Tensor.abs_


def abs_(input: Tensor) -> Tensor:
    """In-place version of `abs`."""
    if isinstance(input, _core.Tensor) and input.dtype.is_complex:
        _core.check_in_place(input, input.requires_grad and _core.is_grad_enabled())
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    return _abs_in_place(input)


add_method("abs_", abs_, function=True)
alias("absolute", abs, in_place=False)
sign = pointwise(
    "sign(input: Tensor)",
    reference=ufuncs.sign,
    partials={"input": 0},
    refuses={
        "complex": "Unlike NumPy, torch.sign is not intended to support complex numbers. "
        "Please use torch.sgn instead."
    },
    out="found",
    samples=one,
    doc="-1, 0 or 1.",
)


def _sgn(a: Array) -> Array:
    if a.dtype.kind != "c":
        return np.sign(a) if a.dtype.kind != "b" else a.copy()
    size = np.abs(a)
    return np.where(size == 0, 0, a / np.where(size == 0, 1, size)).astype(a.dtype)


def _sgn_rule(g: Tensor | Symbol, input: Tensor | Symbol) -> Tensor | Symbol:
    if isinstance(input, Symbol) or not input.dtype.is_complex:
        return 0 * g if isinstance(g, Symbol) else zeros_like(g)
    size = abs(input)
    direction = sgn(input)
    across = g - (g * direction.conj()).real * direction
    return where(size == 0, 0, across / size)


sgn = pointwise(
    "sgn(input: Tensor)",
    kernel="sign",
    reference=_sgn,
    partials={"input": _sgn_rule},
    out="found",
    samples=one,
    stored="complex32",
    kernel_name="sign_cpu",
    doc="The sign; of a complex number z / |z|.",
    written="sign({input})",
)


def _copysign_partial(input: Tensor | Symbol, out: Tensor | Symbol) -> Tensor:
    return sign(input) * sign(out)


copysign = pointwise(
    "copysign(input: Tensor, other: Tensor | Number)",
    dtype="float",
    reference=ufuncs.copysign,
    partials={"input": _copysign_partial, "other": 0},
    refuses={"complex": "copysign_cpu"},
    samples=pair,
    overloads=(
        "(input, other: Tensor, *, out)",
        "(input, other: Number, *, out)",
    ),
    shared_write="shape",
    doc="|input| with the sign of other.",
)
_copysign_number = pointwise(
    "_copysign_number(input: Tensor, other: Tensor | Number)",
    dtype="float",
    kernel="copysign",
    reference=ufuncs.copysign,
    partials={"input": _copysign_partial},
    refuses={"complex": "copysign_cpu"},
    node="CopysignBackward1",
    method=False,
    in_place=False,
    samples=lambda make: [(make(2, 3), -1.0)],
    doc="`copysign` with a number.",
)
variant(copysign, "other", "scalar", _copysign_number)
nextafter = pointwise(
    "nextafter(input: Tensor, other: Tensor)",
    reference=ufuncs.nextafter,
    reference_for="half",
    partials={"input": lambda input, other: input != other, "other": 0},
    refuses={"bool int complex": "nextafter_cpu"},
    samples=pair,
    doc="The next number after input towards other.",
)
_HEAVISIDE = "heaviside is not yet implemented for tensors with different dtypes."
heaviside = pointwise(
    "heaviside(input: Tensor, values: Tensor)",
    reference=lambda a, b: np.where(a == 0, b, a > 0).astype(a.dtype),
    partials={"input": no_derivative("heaviside"), "values": no_derivative("heaviside")},
    refuses={"complex": (RuntimeError, "heaviside is not yet implemented for complex tensors.")},
    one_type=_HEAVISIDE,
    node="NotImplemented",
    out=_HEAVISIDE,
    samples=pair,
    traits="underived",
    doc="0 below zero, 1 above, `values` at zero.",
)

# ---- rounding


def _rounding(name: str, reference: Any, doc: str) -> Op:
    text = f"{name} is not supported for complex inputs"
    return pointwise(
        f"{name}(input: Tensor)",
        reference=lambda a: reference(a) if a.dtype.kind == "f" else a.copy(),
        partials={"input": 0},
        refuses={"bool": f"{name}_vml_cpu", "complex": text},
        out="found",
        in_place="function",
        samples=one,
        doc=doc,
    )


floor = _rounding("floor", ufuncs.floor, "The largest whole number not above.")
ceil = _rounding("ceil", ufuncs.ceil, "The smallest whole number not below.")
trunc = _rounding("trunc", ufuncs.trunc, "Rounded towards zero.")
alias("fix", trunc)


def _round_decimals(a: Array, decimals: int) -> Array:
    ten = np.float64(10) ** builtins.abs(decimals)
    ten = a.dtype.type(ten)
    return np.rint(a * ten) / ten if decimals >= 0 else np.rint(a / ten) * ten


def _rounded_to(input: Tensor, decimals: int) -> Tensor:
    ten = 10.0 ** builtins.abs(decimals) if builtins.abs(decimals) < 309 else math.inf
    whole = round(wide(input) * ten if decimals >= 0 else wide(input) / ten)
    return whole / ten if decimals >= 0 else whole * ten


round = pointwise(
    "round(input: Tensor, *, decimals: int = 0)",
    where="torch special",
    in_place="function",
    reference=lambda a, decimals: np.rint(a) if a.dtype.kind == "f" else a.copy(),
    partials={"input": 0},
    refuses={"bool complex": "round_vml_cpu"},
    out="found",
    samples=one,
    overloads=(
        "(input, *, out)",
        "(input, *, decimals: int, out)",
    ),
    doc="To the nearest whole number, halves to the even one; or to `decimals` places.",
)
_round_decimals_op = pointwise(
    "_round_decimals(input: Tensor, *, decimals: int = 0)",
    reference=_round_decimals,
    by_ops=_rounded_to,
    partials={"input": 0},
    refuses={"bool int complex": "round_cpu"},
    node="RoundBackward1",
    method=False,
    in_place=False,
    out="found",
    samples=lambda make: [(make(2, 3), {"decimals": 1})],
    doc="`round` to decimal places.",
)
variant(round, "decimals", "given", _round_decimals_op)
frac = pointwise(
    "frac(input: Tensor)",
    in_place="function",
    reference=lambda a: a - np.trunc(a),
    partials={"input": 1},
    refuses={"bool int complex": "frac_cpu"},
    out="found",
    samples=one,
    doc="What is behind the point.",
)


def _replaced(input: Any, nan: Any, above: Any, below: Any) -> Any:
    """With other numbers for NaN and the infinities, of complex numbers in each part."""
    if isinstance(input, Symbol):
        emit = input.trace.emit
        return emit("where_nan", input, nan, emit("with_ends", input, above, below))
    finite = where(input == math.inf, above, where(input == -math.inf, below, input))
    return where(isnan(input), nan, finite)


_finite_only = pointwise(
    "_nan_to_num(input: Tensor, nan: Number, posinf: Number, neginf: Number)",
    forward=_replaced,
    reference=lambda a, nan, posinf, neginf: (
        np.nan_to_num(a, nan=nan, posinf=posinf, neginf=neginf)
        if a.dtype.kind in "fc"
        else a.copy()
    ),
    partials={"input": lambda input: isfinite(input)},
    reference_for="bool int",
    by_ops=lambda input, nan, posinf, neginf: input,
    node="NanToNumBackward0",
    method=False,
    in_place=False,
    out="nan_to_num: dtype of out: {got.scalar_name} should be same as input: {want.scalar_name}",
    samples=lambda make: [(make(2, 3), 0.0, 1.0, -1.0)],
    keeps="strides: input",
    kernel_name="nan_to_num",
    doc="`nan_to_num` with all replacements given.",
)
_finite_only_in_place = _core.make_in_place(_finite_only, "nan_to_num_")
_finite_only_in_place.entry = _finite_only.entry
_within = pointwise(
    "_nan_to_within(input: Tensor, nan: Number, limit: Number)",
    kernel="finite",
    reference=lambda a, nan, limit: np.nan_to_num(a, nan=nan, posinf=limit, neginf=-limit),
    by_ops=lambda input, nan, limit: _finite_only(input, nan, limit, -limit),
    partials={"input": lambda input: isfinite(input)},
    node="NanToNumBackward0",
    method=False,
    in_place=False,
    out=False,
    samples=lambda make: [(make(2, 3), 0.0, 1.0)],
    keeps="strides: input",
    kernel_name="nan_to_num",
    doc="`nan_to_num` with one number in the place of both infinities.",
)


def _replacements(
    input: Tensor, nan: float | None, posinf: float | None, neginf: Any
) -> tuple[float, ...]:
    dtype = input.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        return 0.0, 0.0, 0.0
    largest = _LARGEST.get(dtype.name, 1.7976931348623157e308)
    return (
        0.0 if nan is None else nan,
        largest if posinf is None else posinf,
        -largest if neginf is None else neginf,
    )


_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38} | dict.fromkeys(
    ("float32", "complex64"), 3.4028234663852886e38
)


@composite(samples=one, elementwise=True, remembers=True)
def nan_to_num(
    input: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """NaN replaced by `nan` (0), infinities by `posinf`, `neginf` (the largest finite numbers)."""
    if out is None and not (input.dtype.is_floating_point or input.dtype.is_complex):
        return input.clone()
    given = _replacements(input, nan, posinf, neginf)
    if out is not None:
        return _finite_only(input, *given, out=out)
    if given[1] == -given[2] and input.dtype.is_floating_point:
        return _core.remember(_within, input, *given[:2])
    return _core.remember(_finite_only, input, *given)


def nan_to_num_(
    input: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    """In-place version of `nan_to_num`."""
    return _finite_only_in_place(input, *_replacements(input, nan, posinf, neginf))


add_method("nan_to_num_", nan_to_num_, function=True)


# ---- sigmoid and the error function

sigmoid = _unary(
    "sigmoid",
    lambda a: 1 / (1 + np.exp(-a)),
    lambda out: (1 - out) * out,
    "1 / (1 + exp(-input)).",
    kernel_name="sigmoid_cpu_reduced_float",
)
alias("expit", sigmoid, method=False, where="special")


def _from_libm(name: str) -> Any:
    f = getattr(math, name)
    return lambda a: np.vectorize(f, otypes=[np.float64])(a).astype(a.dtype)


erf = _unary(
    "erf",
    _from_libm("erf"),
    lambda input: _TWO_OVER_SQRT_PI * exp(-(finite(input) ** 2)),
    "The error function.",
    refuses={"complex": "erf_vml_cpu"},
    where="torch special",
)
erfc = _unary(
    "erfc",
    _from_libm("erfc"),
    lambda input: -_TWO_OVER_SQRT_PI * exp(-(finite(input) ** 2)),
    "1 - erf(input), exact for large input.",
    refuses={"complex": "erfc_vml_cpu"},
    where="torch special",
)
erfinv = _unary(
    "erfinv",
    None,
    lambda out: 0.5 * math.sqrt(math.pi) * exp(out * out),
    "The inverse of erf.",
    _INSIDE,
    refuses={"complex": "erfinv_vml_cpu"},
    where="torch special",
    in_place=True,
)


def _frexp(a: Array) -> Any:
    wide = widened(a)
    if wide.dtype.kind != "f":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    mantissa, exponent = np.frexp(wide)
    return rounded(mantissa, a), exponent


frexp: Op = general(
    "frexp(input: Tensor)",
    _frexp,
    native=_core.kernels.frexp,
    vjp={"input": lambda g, out1: g * exp2(-out1)},
    outputs=named("frexp", "mantissa", "exponent"),
    out="torch.frexp() expects mantissa to have dtype {want.c_name} but got {got.c_name} | "
    "torch.frexp() expects exponent to have int dtype but got {got.c_name}",
    first_only=True,
    samples=one,
    keeps="strides: input",
    doc="Mantissa and exponent: input = mantissa * 2 ** exponent.",
    batch="trailing",
)
