"""`torch.special`. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from typing import TypeAlias

from ._core import Tensor
from ._dtypes import dtype as _dtype

_Number: TypeAlias = _int | _float | _bool | _complex

def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind of order 0."""

def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind of order 1."""

def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of lgamma."""

def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-input * log(input), 0 at 0, -inf below."""

def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function."""

def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 - erf(input), exact for large input."""

def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """e ** input**2 * erfc(input)."""

def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of erf."""

def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 ** input."""

def expit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / (1 + exp(-input))."""

def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """e ** input - 1, exact near 0."""

def gammaln(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log |gamma(input)|."""

def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of order 0."""

def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """i0 divided by e ** |input|."""

def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of order 1."""

def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """i1 divided by e ** |input|."""

def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(1 + input), exact near 0."""

def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(ndtr(input)) without underflow."""

def log_softmax(
    input: Tensor, dim: _int, dtype: _dtype | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The logarithm of softmax, exact where softmax is small."""

def logit(input: Tensor, eps: _Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """log(input / (1 - input)); with eps, of input kept eps away from 0 and 1."""

def multigammaln(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p."""

def ndtr(input: Tensor) -> Tensor:
    """The distribution function of the normal distribution."""

def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of ndtr."""

def polygamma(n: _int, input: Tensor) -> Tensor:
    """The n-th derivative of digamma."""

def psi(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of lgamma."""

def round(input: Tensor, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
    """To the nearest whole number, halves to the even one; or to `decimals` places."""

def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(pi input) / (pi input), 1 at 0."""

def softmax(
    input: Tensor, dim: _int, dtype: _dtype | None = None, *, out: Tensor | None = None
) -> Tensor:
    """exp(input), divided by its sum along dim."""

def xlog1py(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """input * log1p(other), 0 where input is 0."""

def xlogy(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """input * log(other), 0 where input is 0."""

def zeta(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The Hurwitz zeta function: the sum of (k + other) ** -input."""
