"""`torch.special`. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from typing import TypeAlias, overload

from ._core import Tensor
from ._typed.elementwise import digamma as digamma
from ._typed.elementwise import erf as erf
from ._typed.elementwise import erfc as erfc
from ._typed.elementwise import erfinv as erfinv
from ._typed.elementwise import exp2 as exp2
from ._typed.elementwise import expm1 as expm1
from ._typed.elementwise import i0 as i0
from ._typed.elementwise import log1p as log1p
from ._typed.elementwise import logit as logit
from ._typed.elementwise import polygamma as polygamma
from ._typed.elementwise import round as round
from ._typed.elementwise import sinc as sinc
from ._typed.elementwise import xlogy as xlogy
from ._typed.layers import log_softmax as log_softmax
from ._typed.layers import softmax as softmax
from ._typed.reduction import logsumexp as logsumexp
from .ops.elementwise.special import ndtr as ndtr

_Number: TypeAlias = _int | _float | _bool | _complex

def airy_ai(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Airy function Ai."""

def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind of order 0."""

def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind of order 1."""

def bessel_y0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind of order 0."""

def bessel_y1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind of order 1."""

def chebyshev_polynomial_t(
    x: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """The Chebyshev polynomial of the first kind of degree n."""

def chebyshev_polynomial_u(
    x: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """The Chebyshev polynomial of the second kind of degree n."""

def chebyshev_polynomial_v(
    x: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """The Chebyshev polynomial of the third kind of degree n."""

def chebyshev_polynomial_w(
    x: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """The Chebyshev polynomial of the fourth kind of degree n."""

def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-input * log(input), 0 at 0, -inf below."""

def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """e ** input**2 * erfc(input)."""

def expit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / (1 + exp(-input))."""

def gammainc(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The integral of t**(input - 1) exp(-t) from 0 to other, over gamma(input)."""

def gammaincc(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The integral of t**(input - 1) exp(-t) from other on, over gamma(input)."""

def gammaln(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log |gamma(input)|."""

def hermite_polynomial_h(
    x: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """The physicists' Hermite polynomial of degree n."""

def hermite_polynomial_he(
    x: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """The probabilists' Hermite polynomial of degree n."""

def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """i0 divided by e ** |input|."""

def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of order 1."""

def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """i1 divided by e ** |input|."""

def laguerre_polynomial_l(
    x: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """The Laguerre polynomial of degree n."""

def legendre_polynomial_p(
    x: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """The Legendre polynomial of degree n."""

def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(ndtr(input)) without underflow."""

def modified_bessel_i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""

def modified_bessel_i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 1."""

def modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 0."""

def modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 1."""

def multigammaln(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p."""

def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of ndtr."""

def psi(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of lgamma."""

def scaled_modified_bessel_k0(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """modified_bessel_k0 times exp(x)."""

def scaled_modified_bessel_k1(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """modified_bessel_k1 times exp(x)."""

def shifted_chebyshev_polynomial_t(
    x: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """The Chebyshev polynomial of the first kind of degree n, of 2 x - 1: for x from 0 to 1."""

def shifted_chebyshev_polynomial_u(
    x: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """The Chebyshev polynomial of the second kind of degree n, of 2 x - 1: for x from 0 to 1."""

def shifted_chebyshev_polynomial_v(
    x: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """The Chebyshev polynomial of the third kind of degree n, of 2 x - 1: for x from 0 to 1."""

def shifted_chebyshev_polynomial_w(
    x: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """The Chebyshev polynomial of the fourth kind of degree n, of 2 x - 1: for x from 0 to 1."""

def spherical_bessel_j0(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(x) / x, the spherical Bessel function."""

@overload
def xlog1py(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input * log1p(other), 0 where input is 0."""

@overload
def xlog1py(self: _Number, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def xlog1py(input: Tensor, other: _Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def zeta(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Hurwitz zeta function: the sum of (k + other) ** -input."""

@overload
def zeta(self: _Number, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def zeta(input: Tensor, other: _Number, *, out: Tensor | None = None) -> Tensor: ...
