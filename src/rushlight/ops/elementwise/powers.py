"""Powers and roots. An everyday exponent given as a number has an overload of its own."""

from __future__ import annotations

import math
from typing import Any

from ..._base.dtypes import complex128, float64
from ..._base.outside import np, ufuncs
from ..._core import Op
from ..making.casts import to
from ..making.creation import zeros_like
from ..table.arrays import Array
from ..table.formulas import Symbol
from ..table.kinds import composite, pointwise, variant
from ..table.names import set_operator
from ..table.reference import add_method
from ..table.samples import one, pair
from ..table.signature import Tensor
from .arithmetic import conj_of
from .selection import unless, where


def _power(a: Array, b: Array | int) -> Array:
    whole = isinstance(b, int) or np.asarray(b).dtype.kind in "iu"
    if whole and a.dtype.kind in "iub" and (b < 0 if isinstance(b, int) else np.any(b < 0)):
        _refuse_negative()
    return np.power(a, b)


def _refuse_negative(*_: object) -> None:
    raise RuntimeError("Integers to negative integer powers are not allowed.")


def _of_base(g: Any, input: Tensor | Symbol, exponent: Tensor | Symbol) -> Tensor:
    # Not wherever the exponent is 0: its own derivative of the slope is not 0 there.
    ratio = g / input
    nothing = (exponent == 0) & (ratio - ratio != 0)  # of numbers that are not all finite, or of 0
    slope = exponent * pow(unless(nothing, input, 1), exponent - 1)
    return where(nothing, 0, g * conj_of(slope))


def _of_exponent(input: Tensor, exponent: Tensor | Symbol, out: Tensor) -> Tensor:
    if isinstance(out, Tensor) and out.dtype.is_complex:  # the logarithm of -2 is complex too
        input = input.to(out.dtype) if isinstance(input, Tensor) else complex(input)
    nothing = ((input == 0) & _not_negative(exponent)) | (out == 0)
    if isinstance(input, (Tensor, Symbol)):
        input = unless(nothing, input, 1)
    return where(nothing, 0, out * log_of(input))


def _not_negative(exponent: Tensor | Symbol) -> Tensor | Symbol:
    if isinstance(exponent, Tensor) and exponent.dtype.is_complex:
        return (exponent.imag == 0) & (exponent.real >= 0)
    return exponent >= 0


def log_of(value: Any) -> Any:
    """The logarithm, of numbers too."""
    if isinstance(value, (Tensor, Symbol)):
        return value.log()
    if isinstance(value, complex):
        import cmath

        return cmath.log(value) if value else complex(-math.inf)
    return math.log(value) if value > 0 else -math.inf if value == 0 else math.nan


_POW = {"bool": "pow"}

pow = pointwise(
    "pow(input: Tensor | Number, exponent: Tensor | Number)",
    operator="pow",
    numbers_round=True,
    reference=_power,
    partials={"input": _of_base, "exponent": _of_exponent},
    refuses=_POW,
    node="PowBackward1",
    domain=(0.5, 2.0),
    samples=pair,
    overloads=(
        "(input: Tensor, exponent: Tensor, *, out)",
        "(self: Number, exponent: Tensor, *, out)",
        "(input: Tensor, exponent: Number, *, out)",
    ),
    autocast="float32 there",
    doc="input ** exponent.",
)


def _of_base_to_number(g: object, input: Tensor | Symbol, exponent: Symbol | complex) -> Any:
    if isinstance(exponent, Symbol):
        return _of_base(g, input, exponent)
    return zeros_like(g) if exponent == 0 else g * conj_of(exponent * pow(input, exponent - 1))


def _pow_of_number(signature: str, **more: object) -> Op:
    options: dict[str, Any] = {
        "partials": {"input": _of_base_to_number},
        "node": "PowBackward0",
        "method": False,
        "in_place": False,
        "domain": (0.5, 2.0),
        "doc": "`pow` with a number for the exponent.",
    } | more
    return pointwise(signature, **options)


_pow_number = _pow_of_number(
    "_pow_number(input: Tensor, exponent: Tensor | Number)",
    kernel="pow",
    reference=_power,
    refuses=_POW,
    integer_power=True,
    numbers_round=True,
    samples=lambda make: [(make(2, 3), 2.5), (make(3), 3), (make(2), -1.0)],
)
_pow_two = _pow_of_number(
    "_pow_two(input: Tensor, exponent: Tensor | Number)",
    forward=lambda input, exponent: input * input,
    reference=lambda a, exponent: np.square(a) if a.dtype.kind != "b" else a.astype(np.int64),
    reference_for="bool",
    by_ops=lambda input, exponent: input.long(),
    partials={"input": lambda input, exponent: exponent * input},
    samples=lambda make: [(make(2, 3), 2)],
)
_pow_three = _pow_of_number(
    "_pow_three(input: Tensor, exponent: Tensor | Number)",
    forward=lambda input, exponent: input * input * input,
    reference=lambda a, exponent: a * a * a,
    partials={"input": lambda input, exponent: exponent * (input * input)},
    samples=lambda make: [(make(2, 3), 3)],
)
_pow_half = _pow_of_number(
    "_pow_half(input: Tensor, exponent: Tensor | Number)",
    forward=lambda input, exponent: input.sqrt(),
    reference=lambda a, exponent: np.sqrt(a),
    partials={"input": lambda input, exponent: exponent * rsqrt(input)},
    samples=lambda make: [(make(2, 3), 0.5)],
)
_pow_minus_half = _pow_of_number(
    "_pow_minus_half(input: Tensor, exponent: Tensor | Number)",
    forward=lambda input, exponent: input.rsqrt(),
    reference=lambda a, exponent: 1 / np.sqrt(a),
    partials={"input": lambda input, exponent: exponent * rsqrt(input) / input},
    samples=lambda make: [(make(2, 3), -0.5)],
)
_pow_minus_one = _pow_of_number(
    "_pow_minus_one(input: Tensor, exponent: Tensor | Number)",
    forward=lambda input, exponent: 1 / input,
    reference=lambda a, exponent: np.reciprocal(a) if a.dtype.kind in "fc" else _power(a, -1),
    partials={"input": lambda input, exponent: exponent / input / input},
    reference_for="bool int",
    by_ops=_refuse_negative,
    samples=lambda make: [(make(2, 3), -1)],
)
_pow_base = pointwise(
    "_pow_base(input: Tensor | Number, exponent: Tensor)",
    kernel="pow",
    numbers_round=True,
    reference=_power,
    partials={"exponent": _of_exponent},
    refuses=_POW,
    node="PowBackward2",
    method=False,
    in_place=False,
    samples=lambda make: [(1.5, make(2, 3))],
    doc="`pow` of a number.",
)
variant(pow, "input", "scalar", _pow_base)
variant(pow, "exponent", "scalar", _pow_number)
for _value, _special in (
    (2, _pow_two),
    (2.0, _pow_two),
    (3, _pow_three),
    (3.0, _pow_three),
    (0.5, _pow_half),
    (-0.5, _pow_minus_half),
    (-1, _pow_minus_one),
    (-1.0, _pow_minus_one),
):
    variant(_pow_number, "exponent", "equals", _special, _value)
set_operator("rpow", lambda self, other: _pow_base(other, self), pow.entry)

square = pointwise(
    "square(input: Tensor)",
    in_place="function",
    reference=lambda a: np.square(a) if a.dtype.kind != "b" else a.astype(np.int64),
    reference_for="bool",
    by_ops=lambda input: input.long(),
    partials={"input": lambda input: 2 * input},
    node="PowBackward0",
    samples=one,
    doc="input ** 2.",
)
sqrt = pointwise(
    "sqrt(input: Tensor)",
    in_place="function",
    dtype="float",
    reference=ufuncs.sqrt,
    partials={"input": lambda g, out: g / (2 * conj_of(out))},
    domain=(0.2, 3.0),
    samples=one,
    kernel_name="sqrt_vml_cpu",
    doc="The square root.",
)
rsqrt: Op = pointwise(
    "rsqrt(input: Tensor)",
    in_place="function",
    dtype="float",
    reference=lambda a: 1 / np.sqrt(a),
    partials={"input": lambda out: -0.5 * (out * out * out)},
    domain=(0.2, 3.0),
    samples=one,
    autocast="float32 there",
    doc="1 / sqrt(input).",
)


@composite(
    samples=lambda make: [(make(2, 3, low=0.5), 2.5)],
    overloads=(
        "(input, exponent: Tensor, *, out)",
        "(self: Number, exponent: Tensor, *, out)",
        "(input, exponent: Number, *, out)",
    ),
    out="the output given to float_power has dtype {got.scalar_name} but the operation's result "
    "requires dtype {want.scalar_name}",
)
def float_power(input: Tensor, exponent: Any) -> Tensor:
    """input ** exponent in double precision."""

    def widen(value: Tensor | float) -> Tensor | float:
        if not isinstance(value, Tensor):
            return value
        wide = value.dtype.is_complex or isinstance(input, complex)
        return to(value, complex128) if wide else value.double()

    if not isinstance(exponent, Tensor) and not isinstance(exponent, complex):
        exponent = float(exponent)
    return pow(widen(input), widen(exponent))


def _float_power_(self: Tensor, exponent: Any) -> Tensor:
    """In-place version of `float_power`: the tensor must be double, or complex double."""
    wide = self.dtype.is_complex or isinstance(exponent, complex)
    wide = wide or (isinstance(exponent, Tensor) and exponent.dtype.is_complex)
    want = complex128 if wide else float64
    if self.dtype is not want:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype.scalar_name} but the "
            f"operation's result requires dtype {want.scalar_name}"
        )
    if isinstance(exponent, Tensor):
        return self.pow_(to(exponent, want))
    return self.pow_(exponent if isinstance(exponent, complex) else float(exponent))


add_method("float_power_", _float_power_)

ldexp = pointwise(
    "ldexp(input: Tensor, other: Tensor)",
    in_place="function",
    dtype="float",
    forward=lambda input, other: input * 2.0**other,
    reference=lambda a, b: a * 2**b,
    partials={"input": lambda other: 2.0**other, "other": lambda out: out * math.log(2.0)},
    samples=lambda make: [*pair(make), (make(2, 3), make(2, 3, kind="int"))],
    doc="input * 2 ** other.",
)
