"""ops/elementwise/: functions in torch, methods of Tensor. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from typing import Any, TypeAlias

from .._core import Tensor

_Number: TypeAlias = _int | _float | _bool | _complex

def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value."""

def abs_(self: Tensor) -> Tensor:
    """In-place version of `abs`."""

def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value."""

def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of that cosine."""

def acos_(input: Tensor) -> Tensor:
    """The angle of that cosine."""

def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of cosh."""

def acosh_(input: Tensor) -> Tensor:
    """The inverse of cosh."""

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

def arccos_(input: Tensor) -> Tensor:
    """The angle of that cosine."""

def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of cosh."""

def arccosh_(input: Tensor) -> Tensor:
    """The inverse of cosh."""

def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of that sine."""

def arcsin_(input: Tensor) -> Tensor:
    """The angle of that sine."""

def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of sinh."""

def arcsinh_(input: Tensor) -> Tensor:
    """The inverse of sinh."""

def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of that tangent."""

def arctan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point (other, input)."""

def arctan_(input: Tensor) -> Tensor:
    """The angle of that tangent."""

def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of tanh."""

def arctanh_(input: Tensor) -> Tensor:
    """The inverse of tanh."""

def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of that sine."""

def asin_(input: Tensor) -> Tensor:
    """The angle of that sine."""

def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of sinh."""

def asinh_(input: Tensor) -> Tensor:
    """The inverse of sinh."""

def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of that tangent."""

def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point (other, input)."""

def atan_(input: Tensor) -> Tensor:
    """The angle of that tangent."""

def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of tanh."""

def atanh_(input: Tensor) -> Tensor:
    """The inverse of tanh."""

def bitwise_and(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """The bits set in both."""

def bitwise_left_shift(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """input * 2**other; by more than the width, 0."""

def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every bit turned over; of bools, not."""

def bitwise_or(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """The bits set in either."""

def bitwise_right_shift(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """input divided by 2**other, rounded down."""

def bitwise_xor(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """The bits set in exactly one."""

def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest whole number not below."""

def ceil_(input: Tensor) -> Tensor:
    """The smallest whole number not below."""

def clamp(
    input: Tensor,
    min: Tensor | _Number | None = None,
    max: Tensor | _Number | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input, but at least min and at most max (numbers or tensors); where they cross, max."""

def clamp_(self: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """In-place version of `clamp`."""

def clamp_max(input: Tensor, max: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The smaller of input and max."""

def clamp_max_(input: Tensor, max: Tensor | _Number) -> Tensor:
    """The smaller of input and max."""

def clamp_min(input: Tensor, min: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The larger of input and min."""

def clamp_min_(input: Tensor, min: Tensor | _Number) -> Tensor:
    """The larger of input and min."""

def clip(
    input: Tensor,
    min: Tensor | _Number | None = None,
    max: Tensor | _Number | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input, but at least min and at most max (numbers or tensors); where they cross, max."""

def clip_(self: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """In-place version of `clamp`."""

def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """real + i * imag."""

def conj(input: Tensor) -> Tensor:
    """The complex conjugate, as a view; a real tensor itself."""

def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate."""

def conj_physical_(input: Tensor) -> Tensor:
    """The complex conjugate."""

def copysign(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """|input| with the sign of other."""

def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The cosine."""

def cos_(input: Tensor) -> Tensor:
    """The cosine."""

def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic cosine."""

def cosh_(input: Tensor) -> Tensor:
    """The hyperbolic cosine."""

def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Degrees as radians."""

def deg2rad_(input: Tensor) -> Tensor:
    """Degrees as radians."""

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

def erf_(input: Tensor) -> Tensor:
    """The error function."""

def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 - erf(input), exact for large input."""

def erfc_(input: Tensor) -> Tensor:
    """1 - erf(input), exact for large input."""

def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of erf."""

def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """e ** input."""

def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 ** input."""

def exp2_(input: Tensor) -> Tensor:
    """2 ** input."""

def exp_(input: Tensor) -> Tensor:
    """e ** input."""

def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """e ** input - 1, exact near 0."""

def expm1_(input: Tensor) -> Tensor:
    """e ** input - 1, exact near 0."""

def fill(input: Tensor, value: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """A tensor like input, every element `value`."""

def fill_(input: Tensor, value: Tensor | _Number) -> Tensor:
    """A tensor like input, every element `value`."""

def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Rounded towards zero."""

def fix_(input: Tensor) -> Tensor:
    """Rounded towards zero."""

def float_power(input: Tensor, exponent: Tensor | _Number) -> Tensor:
    """input ** exponent in double precision."""

def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest whole number not above."""

def floor_(input: Tensor) -> Tensor:
    """The largest whole number not above."""

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

def frac_(input: Tensor) -> Tensor:
    """What is behind the point."""

def frexp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Mantissa and exponent: input = mantissa * 2 ** exponent."""

def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The greatest common divisor."""

def gcd_(input: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor."""

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

def i0_(input: Tensor) -> Tensor:
    """The modified Bessel function of order 0."""

def imag(input: Tensor) -> Tensor:
    """The imaginary part, as a view."""

def is_conj(input: Tensor) -> _bool:
    """Whether the tensor shows the conjugate of what its memory holds."""

def is_inference(input: Tensor) -> _bool:
    """Whether the tensor was made in inference mode."""

def is_neg(input: Tensor) -> _bool:
    """Whether the tensor shows the negative of what its memory holds."""

def is_nonzero(input: Tensor) -> _bool:
    """Whether the one element is not zero."""

def isclose(
    input: Tensor,
    other: Tensor,
    rtol: _float = 1e-05,
    atol: _float = 1e-08,
    equal_nan: _bool = False,
) -> Tensor:
    """Whether |input - other| <= atol + rtol * |other|, element by element."""

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

def isreal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the imaginary part is 0."""

def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The least common multiple."""

def lcm_(input: Tensor, other: Tensor) -> Tensor:
    """The least common multiple."""

def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input * 2 ** other."""

def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """input * 2 ** other."""

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

def log10_(input: Tensor) -> Tensor:
    """The logarithm to base 10."""

def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(1 + input), exact near 0."""

def log1p_(input: Tensor) -> Tensor:
    """log(1 + input), exact near 0."""

def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 2."""

def log2_(input: Tensor) -> Tensor:
    """The logarithm to base 2."""

def log_(input: Tensor) -> Tensor:
    """The natural logarithm."""

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

def logit_(input: Tensor, eps: _Number | None = None) -> Tensor:
    """log(input / (1 - input)); with eps, of input kept eps away from 0 and 1."""

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

def nan_to_num(
    input: Tensor,
    nan: _float | None = None,
    posinf: _float | None = None,
    neginf: _float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """NaN replaced by `nan` (0), infinities by `posinf`, `neginf` (the largest finite numbers)."""

def nan_to_num_(
    self: Tensor,
    nan: _float | None = None,
    posinf: _float | None = None,
    neginf: _float | None = None,
) -> Tensor:
    """In-place version of `nan_to_num`."""

def ne(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether different, element by element."""

def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The negative."""

def neg_(input: Tensor) -> Tensor:
    """The negative."""

def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The negative."""

def negative_(input: Tensor) -> Tensor:
    """The negative."""

def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The next number after input towards other."""

def not_equal(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether different, element by element."""

def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex number of that absolute value and angle."""

def polygamma(n: _int, input: Tensor) -> Tensor:
    """The n-th derivative of digamma."""

def positive(input: Tensor) -> Tensor:
    """input itself."""

def pow(
    input: Tensor | _Number, exponent: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """input ** exponent."""

def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Radians as degrees."""

def rad2deg_(input: Tensor) -> Tensor:
    """Radians as degrees."""

def real(input: Tensor) -> Tensor:
    """The real part, as a view; a real tensor itself."""

def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / input."""

def reciprocal_(input: Tensor) -> Tensor:
    """1 / input."""

def remainder(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """What is left of dividing; it has the sign of `other`."""

def resolve_conj(input: Tensor) -> Tensor:
    """A copy in which a conjugate is worked out; where nothing was put off, the tensor itself."""

def resolve_neg(input: Tensor) -> Tensor:
    """A copy in which a negative is worked out; where nothing was put off, the tensor itself."""

def round(input: Tensor, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
    """To the nearest whole number, halves to the even one; or to `decimals` places."""

def round_(input: Tensor, *, decimals: _int = 0) -> Tensor:
    """To the nearest whole number, halves to the even one; or to `decimals` places."""

def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / sqrt(input)."""

def rsqrt_(input: Tensor) -> Tensor:
    """1 / sqrt(input)."""

def rsub(
    input: Tensor, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None
) -> Tensor:
    """Subtract the other way round: other - alpha * input."""

def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sign; of a complex number z / |z|."""

def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / (1 + exp(-input))."""

def sigmoid_(input: Tensor) -> Tensor:
    """1 / (1 + exp(-input))."""

def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1."""

def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the sign is minus, of -0.0 too."""

def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sine."""

def sin_(input: Tensor) -> Tensor:
    """The sine."""

def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(pi input) / (pi input), 1 at 0."""

def sinc_(input: Tensor) -> Tensor:
    """sin(pi input) / (pi input), 1 at 0."""

def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic sine."""

def sinh_(input: Tensor) -> Tensor:
    """The hyperbolic sine."""

def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The square root."""

def sqrt_(input: Tensor) -> Tensor:
    """The square root."""

def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input ** 2."""

def square_(input: Tensor) -> Tensor:
    """input ** 2."""

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

def tan_(input: Tensor) -> Tensor:
    """The tangent."""

def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic tangent."""

def tanh_(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""

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

def trunc_(input: Tensor) -> Tensor:
    """Rounded towards zero."""

def view_as_complex(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A real tensor whose last dimension has size 2 as a complex one."""

def view_as_real(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A complex tensor as a real one with a last dimension of size 2: real and imaginary parts."""

def where(
    condition: Any,
    input: Tensor | None = None,
    other: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input where the condition holds, else other; without them, the indices where it holds."""

def xlogy(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """input * log(other), 0 where input is 0."""

def xlogy_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """input * log(other), 0 where input is 0."""

def zero_(input: Tensor) -> Tensor:
    """Zeros in the place of input."""

class ElementwiseMethods:
    def abs(self, *, out: Tensor | None = None) -> Tensor: ...
    def abs_(self) -> Tensor: ...
    def absolute(self, *, out: Tensor | None = None) -> Tensor: ...
    def absolute_(self) -> Tensor: ...
    def acos(self, *, out: Tensor | None = None) -> Tensor: ...
    def acos_(self) -> Tensor: ...
    def acosh(self, *, out: Tensor | None = None) -> Tensor: ...
    def acosh_(self) -> Tensor: ...
    def add(
        self, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None
    ) -> Tensor: ...
    def add_(self, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor: ...
    def addcdiv(
        self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1, out: Tensor | None = None
    ) -> Tensor: ...
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1) -> Tensor: ...
    def addcmul(
        self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1, out: Tensor | None = None
    ) -> Tensor: ...
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1) -> Tensor: ...
    def allclose(
        self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False
    ) -> _bool: ...
    def angle(self, *, out: Tensor | None = None) -> Tensor: ...
    def arccos(self, *, out: Tensor | None = None) -> Tensor: ...
    def arccos_(self) -> Tensor: ...
    def arccosh(self, *, out: Tensor | None = None) -> Tensor: ...
    def arccosh_(self) -> Tensor: ...
    def arcsin(self, *, out: Tensor | None = None) -> Tensor: ...
    def arcsin_(self) -> Tensor: ...
    def arcsinh(self, *, out: Tensor | None = None) -> Tensor: ...
    def arcsinh_(self) -> Tensor: ...
    def arctan(self, *, out: Tensor | None = None) -> Tensor: ...
    def arctan2(self, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def arctan2_(self, other: Tensor) -> Tensor: ...
    def arctan_(self) -> Tensor: ...
    def arctanh(self, *, out: Tensor | None = None) -> Tensor: ...
    def arctanh_(self) -> Tensor: ...
    def asin(self, *, out: Tensor | None = None) -> Tensor: ...
    def asin_(self) -> Tensor: ...
    def asinh(self, *, out: Tensor | None = None) -> Tensor: ...
    def asinh_(self) -> Tensor: ...
    def atan(self, *, out: Tensor | None = None) -> Tensor: ...
    def atan2(self, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def atan2_(self, other: Tensor) -> Tensor: ...
    def atan_(self) -> Tensor: ...
    def atanh(self, *, out: Tensor | None = None) -> Tensor: ...
    def atanh_(self) -> Tensor: ...
    def bitwise_and(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def bitwise_and_(self, other: Tensor | _Number) -> Tensor: ...
    def bitwise_left_shift(
        self, other: Tensor | _Number, *, out: Tensor | None = None
    ) -> Tensor: ...
    def bitwise_left_shift_(self, other: Tensor | _Number) -> Tensor: ...
    def bitwise_not(self, *, out: Tensor | None = None) -> Tensor: ...
    def bitwise_not_(self) -> Tensor: ...
    def bitwise_or(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def bitwise_or_(self, other: Tensor | _Number) -> Tensor: ...
    def bitwise_right_shift(
        self, other: Tensor | _Number, *, out: Tensor | None = None
    ) -> Tensor: ...
    def bitwise_right_shift_(self, other: Tensor | _Number) -> Tensor: ...
    def bitwise_xor(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def bitwise_xor_(self, other: Tensor | _Number) -> Tensor: ...
    def ceil(self, *, out: Tensor | None = None) -> Tensor: ...
    def ceil_(self) -> Tensor: ...
    def clamp(
        self,
        min: Tensor | _Number | None = None,
        max: Tensor | _Number | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    def clamp_(self, min: Any = None, max: Any = None) -> Tensor: ...
    def clamp_max(self, max: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def clamp_max_(self, max: Tensor | _Number) -> Tensor: ...
    def clamp_min(self, min: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def clamp_min_(self, min: Tensor | _Number) -> Tensor: ...
    def clip(
        self,
        min: Tensor | _Number | None = None,
        max: Tensor | _Number | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    def clip_(self, min: Any = None, max: Any = None) -> Tensor: ...
    def conj(self) -> Tensor: ...
    def conj_physical(self, *, out: Tensor | None = None) -> Tensor: ...
    def conj_physical_(self) -> Tensor: ...
    def copy_(self, src: Tensor | _Number, non_blocking: Any = False) -> Tensor: ...
    def copysign(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def copysign_(self, other: Tensor | _Number) -> Tensor: ...
    def cos(self, *, out: Tensor | None = None) -> Tensor: ...
    def cos_(self) -> Tensor: ...
    def cosh(self, *, out: Tensor | None = None) -> Tensor: ...
    def cosh_(self) -> Tensor: ...
    def deg2rad(self, *, out: Tensor | None = None) -> Tensor: ...
    def deg2rad_(self) -> Tensor: ...
    def digamma(self, *, out: Tensor | None = None) -> Tensor: ...
    def digamma_(self) -> Tensor: ...
    def div(
        self,
        other: Tensor | _Number,
        *,
        rounding_mode: _str | None = None,
        out: Tensor | None = None,
    ) -> Tensor: ...
    def div_(self, other: Tensor | _Number, *, rounding_mode: _str | None = None) -> Tensor: ...
    def divide(
        self,
        other: Tensor | _Number,
        *,
        rounding_mode: _str | None = None,
        out: Tensor | None = None,
    ) -> Tensor: ...
    def divide_(self, other: Tensor | _Number, *, rounding_mode: _str | None = None) -> Tensor: ...
    def eq(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def eq_(self, other: Tensor | _Number) -> Tensor: ...
    def equal(self, other: Tensor) -> _bool: ...
    def erf(self, *, out: Tensor | None = None) -> Tensor: ...
    def erf_(self) -> Tensor: ...
    def erfc(self, *, out: Tensor | None = None) -> Tensor: ...
    def erfc_(self) -> Tensor: ...
    def erfinv(self, *, out: Tensor | None = None) -> Tensor: ...
    def erfinv_(self) -> Tensor: ...
    def exp(self, *, out: Tensor | None = None) -> Tensor: ...
    def exp2(self, *, out: Tensor | None = None) -> Tensor: ...
    def exp2_(self) -> Tensor: ...
    def exp_(self) -> Tensor: ...
    def expm1(self, *, out: Tensor | None = None) -> Tensor: ...
    def expm1_(self) -> Tensor: ...
    def fill_(self, value: Tensor | _Number) -> Tensor: ...
    def fix(self, *, out: Tensor | None = None) -> Tensor: ...
    def fix_(self) -> Tensor: ...
    def float_power(self, exponent: Tensor | _Number) -> Tensor: ...
    def floor(self, *, out: Tensor | None = None) -> Tensor: ...
    def floor_(self) -> Tensor: ...
    def floor_divide(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def floor_divide_(self, other: Tensor | _Number) -> Tensor: ...
    def fmax(self, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def fmin(self, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def fmod(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def fmod_(self, other: Tensor | _Number) -> Tensor: ...
    def frac(self, *, out: Tensor | None = None) -> Tensor: ...
    def frac_(self) -> Tensor: ...
    def frexp(self, *, out: Tensor | None = None) -> Tensor: ...
    def gcd(self, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def gcd_(self, other: Tensor) -> Tensor: ...
    def ge(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def ge_(self, other: Tensor | _Number) -> Tensor: ...
    def greater(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def greater_(self, other: Tensor | _Number) -> Tensor: ...
    def greater_equal(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def greater_equal_(self, other: Tensor | _Number) -> Tensor: ...
    def gt(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def gt_(self, other: Tensor | _Number) -> Tensor: ...
    def heaviside(self, values: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def heaviside_(self, values: Tensor) -> Tensor: ...
    def hypot(self, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def hypot_(self, other: Tensor) -> Tensor: ...
    def i0(self, *, out: Tensor | None = None) -> Tensor: ...
    def i0_(self) -> Tensor: ...
    def is_conj(self) -> _bool: ...
    def is_neg(self) -> _bool: ...
    def is_nonzero(self) -> _bool: ...
    def isclose(
        self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False
    ) -> Tensor: ...
    def isfinite(self, *, out: Tensor | None = None) -> Tensor: ...
    def isinf(self, *, out: Tensor | None = None) -> Tensor: ...
    def isnan(self, *, out: Tensor | None = None) -> Tensor: ...
    def isneginf(self, *, out: Tensor | None = None) -> Tensor: ...
    def isposinf(self, *, out: Tensor | None = None) -> Tensor: ...
    def isreal(self, *, out: Tensor | None = None) -> Tensor: ...
    def lcm(self, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def lcm_(self, other: Tensor) -> Tensor: ...
    def ldexp(self, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def ldexp_(self, other: Tensor) -> Tensor: ...
    def le(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def le_(self, other: Tensor | _Number) -> Tensor: ...
    def lerp(
        self, end: Tensor, weight: Tensor | _Number, *, out: Tensor | None = None
    ) -> Tensor: ...
    def lerp_(self, end: Tensor, weight: Tensor | _Number) -> Tensor: ...
    def less(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def less_(self, other: Tensor | _Number) -> Tensor: ...
    def less_equal(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def less_equal_(self, other: Tensor | _Number) -> Tensor: ...
    def lgamma(self, *, out: Tensor | None = None) -> Tensor: ...
    def lgamma_(self) -> Tensor: ...
    def log(self, *, out: Tensor | None = None) -> Tensor: ...
    def log10(self, *, out: Tensor | None = None) -> Tensor: ...
    def log10_(self) -> Tensor: ...
    def log1p(self, *, out: Tensor | None = None) -> Tensor: ...
    def log1p_(self) -> Tensor: ...
    def log2(self, *, out: Tensor | None = None) -> Tensor: ...
    def log2_(self) -> Tensor: ...
    def log_(self) -> Tensor: ...
    def logaddexp(self, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def logaddexp2(self, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def logical_and(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def logical_and_(self, other: Tensor | _Number) -> Tensor: ...
    def logical_not(self, *, out: Tensor | None = None) -> Tensor: ...
    def logical_not_(self) -> Tensor: ...
    def logical_or(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def logical_or_(self, other: Tensor | _Number) -> Tensor: ...
    def logical_xor(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def logical_xor_(self, other: Tensor | _Number) -> Tensor: ...
    def logit(self, eps: _Number | None = None, *, out: Tensor | None = None) -> Tensor: ...
    def logit_(self, eps: _Number | None = None) -> Tensor: ...
    def lt(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def lt_(self, other: Tensor | _Number) -> Tensor: ...
    def masked_fill(
        self, mask: Tensor, value: Tensor | _Number, *, out: Tensor | None = None
    ) -> Tensor: ...
    def masked_fill_(self, mask: Tensor, value: Tensor | _Number) -> Tensor: ...
    def maximum(self, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def minimum(self, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def mul(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def mul_(self, other: Tensor | _Number) -> Tensor: ...
    def multiply(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def multiply_(self, other: Tensor | _Number) -> Tensor: ...
    def mvlgamma(self, p: _int, *, out: Tensor | None = None) -> Tensor: ...
    def nan_to_num(
        self,
        nan: _float | None = None,
        posinf: _float | None = None,
        neginf: _float | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    def nan_to_num_(
        self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None
    ) -> Tensor: ...
    def ne(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def ne_(self, other: Tensor | _Number) -> Tensor: ...
    def neg(self, *, out: Tensor | None = None) -> Tensor: ...
    def neg_(self) -> Tensor: ...
    def negative(self, *, out: Tensor | None = None) -> Tensor: ...
    def negative_(self) -> Tensor: ...
    def nextafter(self, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def nextafter_(self, other: Tensor) -> Tensor: ...
    def not_equal(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def not_equal_(self, other: Tensor | _Number) -> Tensor: ...
    def polygamma(self, n: _int) -> Tensor: ...
    def polygamma_(self, n: _int) -> Tensor: ...
    def positive(self) -> Tensor: ...
    def pow(self, exponent: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def pow_(self, exponent: Tensor | _Number) -> Tensor: ...
    def rad2deg(self, *, out: Tensor | None = None) -> Tensor: ...
    def rad2deg_(self) -> Tensor: ...
    def reciprocal(self, *, out: Tensor | None = None) -> Tensor: ...
    def reciprocal_(self) -> Tensor: ...
    def remainder(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def remainder_(self, other: Tensor | _Number) -> Tensor: ...
    def resolve_conj(self) -> Tensor: ...
    def resolve_neg(self) -> Tensor: ...
    def round(self, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor: ...
    def round_(self, *, decimals: _int = 0) -> Tensor: ...
    def rsqrt(self, *, out: Tensor | None = None) -> Tensor: ...
    def rsqrt_(self) -> Tensor: ...
    def sgn(self, *, out: Tensor | None = None) -> Tensor: ...
    def sgn_(self) -> Tensor: ...
    def sigmoid(self, *, out: Tensor | None = None) -> Tensor: ...
    def sigmoid_(self) -> Tensor: ...
    def sign(self, *, out: Tensor | None = None) -> Tensor: ...
    def sign_(self) -> Tensor: ...
    def signbit(self, *, out: Tensor | None = None) -> Tensor: ...
    def sin(self, *, out: Tensor | None = None) -> Tensor: ...
    def sin_(self) -> Tensor: ...
    def sinc(self, *, out: Tensor | None = None) -> Tensor: ...
    def sinc_(self) -> Tensor: ...
    def sinh(self, *, out: Tensor | None = None) -> Tensor: ...
    def sinh_(self) -> Tensor: ...
    def sqrt(self, *, out: Tensor | None = None) -> Tensor: ...
    def sqrt_(self) -> Tensor: ...
    def square(self, *, out: Tensor | None = None) -> Tensor: ...
    def square_(self) -> Tensor: ...
    def sub(
        self, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None
    ) -> Tensor: ...
    def sub_(self, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor: ...
    def subtract(
        self, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None
    ) -> Tensor: ...
    def subtract_(self, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor: ...
    def tan(self, *, out: Tensor | None = None) -> Tensor: ...
    def tan_(self) -> Tensor: ...
    def tanh(self, *, out: Tensor | None = None) -> Tensor: ...
    def tanh_(self) -> Tensor: ...
    def true_divide(
        self,
        other: Tensor | _Number,
        *,
        rounding_mode: _str | None = None,
        out: Tensor | None = None,
    ) -> Tensor: ...
    def true_divide_(
        self, other: Tensor | _Number, *, rounding_mode: _str | None = None
    ) -> Tensor: ...
    def trunc(self, *, out: Tensor | None = None) -> Tensor: ...
    def trunc_(self) -> Tensor: ...
    def where(self, condition: Any, other: Any) -> Tensor: ...
    def xlogy(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
    def xlogy_(self, other: Tensor | _Number) -> Tensor: ...
    def zero_(self) -> Tensor: ...
