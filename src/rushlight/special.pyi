"""`torch.special`. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from typing import TypeAlias

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
from .ops.elementwise.special import ndtr as ndtr

_Number: TypeAlias = _int | _float | _bool | _complex

def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind of order 0."""

def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind of order 1."""

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

def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """i0 divided by e ** |input|."""

def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of order 1."""

def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """i1 divided by e ** |input|."""

def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(ndtr(input)) without underflow."""

def multigammaln(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p."""

def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of ndtr."""

def psi(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of lgamma."""

def xlog1py(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """input * log1p(other), 0 where input is 0."""

def zeta(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The Hurwitz zeta function: the sum of (k + other) ** -input."""
