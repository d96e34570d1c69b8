"""Arithmetic, comparison and elementary functions: one element in, one element out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _core
from ._kinds import composite, pointwise, variant
from ._samples import one, pair, scalars_too, three

_LN2, _LN10 = math.log(2.0), math.log(10.0)
_TWO_OVER_SQRT_PI = 2.0 / math.sqrt(math.pi)

# ---- arithmetic

add = pointwise(
    "add(input, other, *, alpha=1)",
    operator="add",
    reflected="radd",
    portable=lambda a, b, alpha: a + b,
    partials={"input": 1, "other": 1},
    samples=scalars_too,
    doc="Add: input + alpha * other.",
)
_add_scaled = pointwise(
    "_add_scaled(input, other, *, alpha=1)",
    forward=lambda input, other, alpha: input + other * alpha,
    portable=lambda a, b, alpha: a + b * a.dtype.type(alpha),
    partials={"input": 1, "other": lambda alpha: alpha},
    node="AddBackward0",
    method=False,
    in_place=False,
    samples=pair,
    doc="`add` with alpha.",
)
variant(add, "alpha", "given", _add_scaled)

sub = pointwise(
    "sub(input, other, *, alpha=1)",
    operator="sub",
    portable=lambda a, b, alpha: _not_bool_subtract(a) - b,
    partials={"input": 1, "other": -1},
    samples=scalars_too,
    doc="Subtract: input - alpha * other.",
)
_sub_scaled = pointwise(
    "_sub_scaled(input, other, *, alpha=1)",
    forward=lambda input, other, alpha: input - other * alpha,
    portable=lambda a, b, alpha: a - b * a.dtype.type(alpha),
    partials={"input": 1, "other": lambda alpha: -alpha},
    node="SubBackward0",
    method=False,
    in_place=False,
    samples=pair,
    doc="`sub` with alpha.",
)
variant(sub, "alpha", "given", _sub_scaled)


def _not_bool_subtract(a: Any) -> Any:
    if a.dtype == np.bool_:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. "
            "Use the `^` or `logical_xor()` operator instead."
        )
    return a


rsub = pointwise(
    "rsub(input, other, *, alpha=1)",
    forward=lambda input, other: other - input,
    portable=lambda a, b, alpha: b - a * a.dtype.type(alpha),
    partials={"input": -1, "other": 1},
    method=False,
    in_place=False,
    samples=scalars_too,
    doc="Subtract the other way round: other - alpha * input.",
)
_rsub_scalar = pointwise(
    "_rsub_scalar(input, other, *, alpha=1)",
    operator="rsub",
    forward=lambda input, other: other - input,
    portable=lambda a, b, alpha: b - a * a.dtype.type(alpha),
    partials={"input": -1},
    node="RsubBackward1",
    method=False,
    in_place=False,
    doc="`rsub` of a number.",
)
_rsub_scaled = pointwise(
    "_rsub_scaled(input, other, *, alpha=1)",
    forward=lambda input, other, alpha: other - input * alpha,
    portable=lambda a, b, alpha: b - a * a.dtype.type(alpha),
    partials={"input": lambda alpha: -alpha, "other": 1},
    node="RsubBackward0",
    method=False,
    in_place=False,
    doc="`rsub` with alpha.",
)
variant(rsub, "alpha", "given", _rsub_scaled)
variant(rsub, "other", "scalar", _rsub_scalar)

mul = pointwise(
    "mul(input, other)",
    operator="mul",
    reflected="rmul",
    portable=np.multiply,
    partials={"input": lambda other: other, "other": lambda input: input},
    samples=scalars_too,
    doc="Multiply.",
)

div = pointwise(
    "div(input, other, *, rounding_mode: str = None)",
    operator="truediv",
    dtype="float",
    portable=lambda a, b, rounding_mode: np.true_divide(a, b),
    partials={
        "input": lambda other: 1 / other,
        "other": lambda input, other: -input / (other * other),
    },
    domain=(0.5, 2.0),
    samples=scalars_too,
    doc="Divide; rounding_mode 'trunc' or 'floor' rounds the quotient.",
)

neg = pointwise(
    "neg(input)",
    operator="neg",
    portable=lambda a: np.negative(_negatable(a)),
    partials={"input": -1},
    samples=one,
    doc="The negative.",
)


def _negatable(a: Any) -> Any:
    if a.dtype == np.bool_:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. "
            "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )
    return a


reciprocal = pointwise(
    "reciprocal(input)",
    dtype="float",
    portable=np.reciprocal,
    partials={"input": lambda out: -(out * out)},
    domain=(0.5, 2.0),
    samples=one,
    doc="1 / input.",
)
abs = pointwise(
    "abs(input)",
    operator="abs",
    portable=np.absolute,
    partials={"input": lambda input: sgn(input)},
    samples=one,
    doc="The absolute value.",
)
sign = pointwise(
    "sign(input)", portable=np.sign, partials={"input": 0}, samples=one, doc="-1, 0 or 1."
)
sgn = pointwise(
    "sgn(input)",
    kernel="sign",
    portable=lambda a: np.where(a == 0, a.dtype.type(0), a / np.where(a == 0, 1, np.abs(a))).astype(a.dtype),
    partials={"input": lambda input: _sgn_partial(input)},
    samples=one,
    doc="The sign; of a complex number z / |z|.",
)


def _sgn_partial(input: Any) -> Any:
    return 0


square = pointwise(
    "square(input)",
    portable=np.square,
    partials={"input": lambda input: 2 * input},
    node="PowBackward0",
    samples=one,
    doc="input ** 2.",
)
sqrt = pointwise(
    "sqrt(input)",
    dtype="float",
    portable=np.sqrt,
    partials={"input": lambda out: 0.5 / out},
    domain=(0.2, 3.0),
    samples=one,
    doc="The square root.",
)
rsqrt = pointwise(
    "rsqrt(input)",
    dtype="float",
    portable=lambda a: 1 / np.sqrt(a),
    partials={"input": lambda out: -0.5 * (out * out * out)},
    domain=(0.2, 3.0),
    samples=one,
    doc="1 / sqrt(input).",
)

# ---- exponentials and logarithms

exp = pointwise(
    "exp(input)",
    dtype="float",
    portable=np.exp,
    partials={"input": lambda out: out},
    samples=one,
    doc="e ** input.",
)
exp2 = pointwise(
    "exp2(input)",
    dtype="float",
    portable=np.exp2,
    partials={"input": lambda out: out * _LN2},
    samples=one,
    doc="2 ** input.",
)
expm1 = pointwise(
    "expm1(input)",
    dtype="float",
    portable=np.expm1,
    partials={"input": lambda out: out + 1},
    samples=one,
    doc="e ** input - 1, exact near 0.",
)
log = pointwise(
    "log(input)",
    dtype="float",
    portable=np.log,
    partials={"input": lambda input: 1 / input},
    domain=(0.2, 3.0),
    samples=one,
    doc="The natural logarithm.",
)
log2 = pointwise(
    "log2(input)",
    dtype="float",
    portable=np.log2,
    partials={"input": lambda input: 1 / (input * _LN2)},
    domain=(0.2, 3.0),
    samples=one,
    doc="The logarithm to base 2.",
)
log10 = pointwise(
    "log10(input)",
    dtype="float",
    portable=np.log10,
    partials={"input": lambda input: 1 / (input * _LN10)},
    domain=(0.2, 3.0),
    samples=one,
    doc="The logarithm to base 10.",
)
log1p = pointwise(
    "log1p(input)",
    dtype="float",
    portable=np.log1p,
    partials={"input": lambda input: 1 / (input + 1)},
    domain=(-0.5, 3.0),
    node="Log1PBackward0",
    samples=one,
    doc="log(1 + input), exact near 0.",
)

# ---- trigonometry

sin = pointwise(
    "sin(input)",
    dtype="float",
    portable=np.sin,
    partials={"input": lambda input: cos(input)},
    samples=one,
    doc="The sine.",
)
cos = pointwise(
    "cos(input)",
    dtype="float",
    portable=np.cos,
    partials={"input": lambda input: -sin(input)},
    samples=one,
    doc="The cosine.",
)
tanh = pointwise(
    "tanh(input)",
    dtype="float",
    portable=np.tanh,
    partials={"input": lambda out: 1 - out * out},
    samples=one,
    doc="The hyperbolic tangent.",
)
sigmoid = pointwise(
    "sigmoid(input)",
    dtype="float",
    portable=lambda a: 1 / (1 + np.exp(-a)),
    partials={"input": lambda out: out * (1 - out)},
    samples=one,
    doc="1 / (1 + exp(-input)).",
)
relu = pointwise(
    "relu(input)",
    portable=lambda a: np.maximum(a, a.dtype.type(0)),
    partials={"input": lambda out: out > 0},
    samples=one,
    doc="max(input, 0).",
)
