"""ops/elementwise/: functions in torch. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import Any, TypeAlias, overload

from .. import return_types
from .._core import Tensor
from ..ops.elementwise.arithmetic import positive as positive
from ..ops.elementwise.comparison import is_inference as is_inference
from ..ops.elementwise.comparison import isclose as isclose
from ..ops.elementwise.complex_numbers import conj as conj
from ..ops.elementwise.complex_numbers import is_conj as is_conj
from ..ops.elementwise.complex_numbers import is_neg as is_neg
from ..ops.elementwise.elementary import abs_ as abs_
from ..ops.elementwise.elementary import nan_to_num as nan_to_num
from ..ops.elementwise.elementary import nan_to_num_ as nan_to_num_
from ..ops.elementwise.selection import clamp_ as clamp_
from ..ops.elementwise.special import polygamma as polygamma

_Number: TypeAlias = _int | _float | _bool | _complex

def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value."""

def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value."""

def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of that cosine."""

def acos_(input: Tensor) -> Tensor: ...
def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of cosh."""

def acosh_(input: Tensor) -> Tensor: ...
def add(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """Add: input + alpha * other."""

def addcdiv(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """input + value * tensor1 / tensor2."""

def addcmul(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """input + value * tensor1 * tensor2."""

def allclose(
    input: Tensor,
    other: Tensor,
    rtol: _float = 1e-05,
    atol: _float = 1e-08,
    equal_nan: _bool = False,
) -> _bool:
    """Whether all elements are close, see `isclose`."""

def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle in the complex plane; of negative numbers pi."""

def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of that cosine."""

def arccos_(input: Tensor) -> Tensor: ...
def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of cosh."""

def arccosh_(input: Tensor) -> Tensor: ...
def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of that sine."""

def arcsin_(input: Tensor) -> Tensor: ...
def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of sinh."""

def arcsinh_(input: Tensor) -> Tensor: ...
def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of that tangent."""

def arctan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point (other, input)."""

def arctan_(input: Tensor) -> Tensor: ...
def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of tanh."""

def arctanh_(input: Tensor) -> Tensor: ...
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of that sine."""

def asin_(input: Tensor) -> Tensor: ...
def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of sinh."""

def asinh_(input: Tensor) -> Tensor: ...
def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of that tangent."""

def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point (other, input)."""

def atan_(input: Tensor) -> Tensor: ...
def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of tanh."""

def atanh_(input: Tensor) -> Tensor: ...
@overload
def bitwise_and(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The bits set in both."""

@overload
def bitwise_and(self: _Number, other: Tensor) -> Tensor: ...
@overload
def bitwise_and(input: Tensor, other: _Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def bitwise_left_shift(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input * 2**other; by more than the width, 0."""

@overload
def bitwise_left_shift(self: _Number, other: Tensor) -> Tensor: ...
@overload
def bitwise_left_shift(input: Tensor, other: _Number, *, out: Tensor | None = None) -> Tensor: ...
def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every bit turned over; of bools, not."""

@overload
def bitwise_or(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The bits set in either."""

@overload
def bitwise_or(self: _Number, other: Tensor) -> Tensor: ...
@overload
def bitwise_or(input: Tensor, other: _Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def bitwise_right_shift(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input divided by 2**other, rounded down."""

@overload
def bitwise_right_shift(self: _Number, other: Tensor) -> Tensor: ...
@overload
def bitwise_right_shift(input: Tensor, other: _Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def bitwise_xor(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The bits set in exactly one."""

@overload
def bitwise_xor(self: _Number, other: Tensor) -> Tensor: ...
@overload
def bitwise_xor(input: Tensor, other: _Number, *, out: Tensor | None = None) -> Tensor: ...
def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest whole number not below."""

def ceil_(input: Tensor) -> Tensor: ...
def clamp(
    input: Tensor,
    min: Tensor | _Number | None = None,
    max: Tensor | _Number | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input, but at least min and at most max (numbers or tensors); where they cross, max."""

def clamp_max(input: Tensor, max: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The smaller of input and max."""

def clamp_max_(input: Tensor, max: Tensor | _Number) -> Tensor: ...
def clamp_min(input: Tensor, min: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The larger of input and min."""

def clamp_min_(input: Tensor, min: Tensor | _Number) -> Tensor: ...
def clip(
    input: Tensor,
    min: Tensor | _Number | None = None,
    max: Tensor | _Number | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input, but at least min and at most max (numbers or tensors); where they cross, max."""

def clip_(input: Tensor, min: Any = None, max: Any = None) -> Tensor: ...
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """real + i * imag."""

def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate; a real tensor itself."""

def conj_physical_(input: Tensor) -> Tensor: ...
def copysign(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """|input| with the sign of other."""

def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The cosine."""

def cos_(input: Tensor) -> Tensor: ...
def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic cosine."""

def cosh_(input: Tensor) -> Tensor: ...
def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Degrees as radians."""

def deg2rad_(input: Tensor) -> Tensor: ...
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of lgamma."""

def div(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    rounding_mode: _str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Divide; rounding_mode 'trunc' or 'floor' rounds the quotient."""

def divide(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    rounding_mode: _str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Divide; rounding_mode 'trunc' or 'floor' rounds the quotient."""

def eq(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether equal, element by element."""

def equal(input: Tensor, other: Tensor) -> _bool:
    """Whether two tensors have one shape and the same elements."""

def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function."""

def erf_(input: Tensor) -> Tensor: ...
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 - erf(input), exact for large input."""

def erfc_(input: Tensor) -> Tensor: ...
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of erf."""

def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """e ** input."""

def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 ** input."""

def exp2_(input: Tensor) -> Tensor: ...
def exp_(input: Tensor) -> Tensor: ...
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """e ** input - 1, exact near 0."""

def expm1_(input: Tensor) -> Tensor: ...
def fill(input: Tensor, value: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """A tensor like input, every element `value`."""

def fill_(input: Tensor, value: Tensor | _Number) -> Tensor: ...
def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Rounded towards zero."""

def fix_(input: Tensor) -> Tensor: ...
@overload
def float_power(input: Tensor, exponent: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input ** exponent in double precision."""

@overload
def float_power(self: _Number, exponent: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def float_power(input: Tensor, exponent: _Number, *, out: Tensor | None = None) -> Tensor: ...
def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest whole number not above."""

def floor_(input: Tensor) -> Tensor: ...
def floor_divide(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """Divide and round down."""

def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The larger of two; of a number and NaN the number."""

def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smaller of two; of a number and NaN the number."""

def fmod(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """What is left of dividing; it has the sign of `input`."""

def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What is behind the point."""

def frac_(input: Tensor) -> Tensor: ...
def frexp(input: Tensor, *, out: Sequence[Tensor] | None = None) -> return_types.frexp:
    """Mantissa and exponent: input = mantissa * 2 ** exponent."""

def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The greatest common divisor."""

def gcd_(input: Tensor, other: Tensor) -> Tensor: ...
def ge(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """input >= other."""

def greater(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """input > other."""

def greater_equal(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """input >= other."""

def gt(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """input > other."""

def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """0 below zero, 1 above, `values` at zero."""

def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sqrt(input ** 2 + other ** 2) without overflow."""

def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of order 0."""

def i0_(input: Tensor) -> Tensor: ...
def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The integral of t**(input - 1) exp(-t) from 0 to other, over gamma(input)."""

def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The integral of t**(input - 1) exp(-t) from other on, over gamma(input)."""

def imag(input: Tensor) -> Tensor:
    """The imaginary part, as a view."""

def is_nonzero(input: Tensor) -> _bool:
    """Whether the one element is not zero."""

def isfinite(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether neither infinite nor NaN."""

def isinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether infinite."""

def isnan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether not a number."""

def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether -inf."""

def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether +inf."""

def isreal(input: Tensor) -> Tensor:
    """Whether the imaginary part is 0."""

def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The least common multiple."""

def lcm_(input: Tensor, other: Tensor) -> Tensor: ...
def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input * 2 ** other."""

def ldexp_(input: Tensor, other: Tensor) -> Tensor: ...
def le(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """input <= other."""

def lerp(
    input: Tensor, end: Tensor, weight: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """input + weight * (end - input)."""

def less(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """input < other."""

def less_equal(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """input <= other."""

def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log |gamma(input)|."""

def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The natural logarithm."""

def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 10."""

def log10_(input: Tensor) -> Tensor: ...
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(1 + input), exact near 0."""

def log1p_(input: Tensor) -> Tensor: ...
def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 2."""

def log2_(input: Tensor) -> Tensor: ...
def log_(input: Tensor) -> Tensor: ...
def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(e ** input + e ** other) without overflow."""

def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log2(2 ** input + 2 ** other) without overflow."""

def logical_and(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether both are nonzero."""

def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether zero."""

def logical_or(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether one is nonzero."""

def logical_xor(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether exactly one is nonzero."""

def logit(input: Tensor, eps: _Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """log(input / (1 - input)); with eps, of input kept eps away from 0 and 1."""

def logit_(input: Tensor, eps: _Number | None = None) -> Tensor: ...
def lt(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """input < other."""

def masked_fill(
    input: Tensor, mask: Tensor, value: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """input with `value` where the mask holds."""

def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The larger of two; NaN if one is NaN. Equal elements share the gradient."""

def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smaller of two; NaN if one is NaN. Equal elements share the gradient."""

def mul(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Multiply."""

def multiply(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """Multiply."""

def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p."""

def ne(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether different, element by element."""

def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The negative."""

def neg_(input: Tensor) -> Tensor: ...
def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The negative."""

def negative_(input: Tensor) -> Tensor: ...
def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The next number after input towards other."""

def not_equal(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether different, element by element."""

def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex number of that absolute value and angle."""

@overload
def pow(input: Tensor, exponent: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input ** exponent."""

@overload
def pow(self: _Number, exponent: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def pow(input: Tensor, exponent: _Number, *, out: Tensor | None = None) -> Tensor: ...
def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Radians as degrees."""

def rad2deg_(input: Tensor) -> Tensor: ...
def real(input: Tensor) -> Tensor:
    """The real part, as a view; a real tensor itself."""

def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / input."""

def reciprocal_(input: Tensor) -> Tensor: ...
@overload
def remainder(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What is left of dividing; it has the sign of `other`."""

@overload
def remainder(self: _Number, other: Tensor) -> Tensor: ...
@overload
def remainder(input: Tensor, other: _Number, *, out: Tensor | None = None) -> Tensor: ...
def resolve_conj(input: Tensor) -> Tensor:
    """A copy in which a conjugate is worked out; where nothing was put off, the tensor itself."""

def resolve_neg(input: Tensor) -> Tensor:
    """A copy in which a negative is worked out; where nothing was put off, the tensor itself."""

def round(input: Tensor, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
    """To the nearest whole number, halves to the even one; or to `decimals` places."""

def round_(input: Tensor, *, decimals: _int = 0) -> Tensor: ...
def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / sqrt(input)."""

def rsqrt_(input: Tensor) -> Tensor: ...
def rsub(
    input: Tensor, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None
) -> Tensor:
    """Subtract the other way round: other - alpha * input."""

def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sign; of a complex number z / |z|."""

def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / (1 + exp(-input))."""

def sigmoid_(input: Tensor) -> Tensor: ...
def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1."""

def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the sign is minus, of -0.0 too."""

def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sine."""

def sin_(input: Tensor) -> Tensor: ...
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(pi input) / (pi input), 1 at 0."""

def sinc_(input: Tensor) -> Tensor: ...
def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic sine."""

def sinh_(input: Tensor) -> Tensor: ...
def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The square root."""

def sqrt_(input: Tensor) -> Tensor: ...
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input ** 2."""

def square_(input: Tensor) -> Tensor: ...
def sub(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """Subtract: input - alpha * other."""

def subtract(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """Subtract: input - alpha * other."""

def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The tangent."""

def tan_(input: Tensor) -> Tensor: ...
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic tangent."""

def tanh_(input: Tensor) -> Tensor: ...
def true_divide(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    rounding_mode: _str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Divide; rounding_mode 'trunc' or 'floor' rounds the quotient."""

def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Rounded towards zero."""

def trunc_(input: Tensor) -> Tensor: ...
def view_as_complex(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A real tensor whose last dimension has size 2 as a complex one."""

def view_as_real(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A complex tensor as a real one with a last dimension of size 2: real and imaginary parts."""

def view_as_real_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def where(condition: Tensor) -> tuple[Tensor, ...]:
    """input where the condition holds, else other; without them, the indices where it holds."""

@overload
def where(
    condition: Tensor, input: Tensor, other: Tensor, *, out: Tensor | None = None
) -> Tensor: ...
@overload
def where(condition: Tensor, self: _Number, other: Tensor) -> Tensor: ...
@overload
def where(condition: Tensor, input: Tensor, other: _Number) -> Tensor: ...
@overload
def where(condition: Tensor, self: _Number, other: _Number) -> Tensor: ...
@overload
def xlogy(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input * log(other), 0 where input is 0."""

@overload
def xlogy(self: _Number, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def xlogy(input: Tensor, other: _Number, *, out: Tensor | None = None) -> Tensor: ...
def xlogy_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor: ...
def zero_(input: Tensor) -> Tensor: ...
