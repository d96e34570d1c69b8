"""`torch.fft`. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import TypeAlias

from ._base.device import device as _device
from ._base.device import layout as _layout
from ._base.dtypes import dtype as _dtype
from ._core import Tensor
from .ops.spectral.fourier import fftshift as fftshift
from .ops.spectral.fourier import ifftshift as ifftshift

_Ints: TypeAlias = _int | Sequence[_int]
_Device: TypeAlias = _device | _str | _int

def fft(
    input: Tensor,
    n: _int | None = None,
    dim: _int = -1,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The discrete Fourier transform over one dimension."""

def fft2(
    input: Tensor,
    s: _Ints | None = None,
    dim: _Ints = (-2, -1),
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The discrete Fourier transform over two dimensions."""

def fftfreq(
    n: _int,
    d: _float = 1.0,
    *,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """The frequencies of `fft` over n samples at distance d: from 0 up, then the negative ones."""

def fftn(
    input: Tensor,
    s: _Ints | None = None,
    dim: _Ints | None = None,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The discrete Fourier transform over several dimensions (all)."""

def hfft(
    input: Tensor,
    n: _int | None = None,
    dim: _int = -1,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The real transform of a signal given by its first half over one dimension."""

def hfft2(
    input: Tensor,
    s: _Ints | None = None,
    dim: _Ints = (-2, -1),
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The real transform of a signal given by its first half over two dimensions."""

def hfftn(
    input: Tensor,
    s: _Ints | None = None,
    dim: _Ints | None = None,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The real transform of a signal given by its first half over several dimensions (all)."""

def ifft(
    input: Tensor,
    n: _int | None = None,
    dim: _int = -1,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of the discrete Fourier transform over one dimension."""

def ifft2(
    input: Tensor,
    s: _Ints | None = None,
    dim: _Ints = (-2, -1),
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of the discrete Fourier transform over two dimensions."""

def ifftn(
    input: Tensor,
    s: _Ints | None = None,
    dim: _Ints | None = None,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of the discrete Fourier transform over several dimensions (all)."""

def ihfft(
    input: Tensor,
    n: _int | None = None,
    dim: _int = -1,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The first half of the inverse transform of real numbers over one dimension."""

def ihfft2(
    input: Tensor,
    s: _Ints | None = None,
    dim: _Ints = (-2, -1),
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The first half of the inverse transform of real numbers over two dimensions."""

def ihfftn(
    input: Tensor,
    s: _Ints | None = None,
    dim: _Ints | None = None,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The first half of the inverse transform of real numbers over several dimensions (all)."""

def irfft(
    input: Tensor,
    n: _int | None = None,
    dim: _int = -1,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Real numbers from the first half of their transform over one dimension."""

def irfft2(
    input: Tensor,
    s: _Ints | None = None,
    dim: _Ints = (-2, -1),
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Real numbers from the first half of their transform over two dimensions."""

def irfftn(
    input: Tensor,
    s: _Ints | None = None,
    dim: _Ints | None = None,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Real numbers from the first half of their transform over several dimensions (all)."""

def rfft(
    input: Tensor,
    n: _int | None = None,
    dim: _int = -1,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The first half of the Fourier transform of real numbers over one dimension."""

def rfft2(
    input: Tensor,
    s: _Ints | None = None,
    dim: _Ints = (-2, -1),
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The first half of the Fourier transform of real numbers over two dimensions."""

def rfftfreq(
    n: _int,
    d: _float = 1.0,
    *,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """The frequencies of `rfft` over n samples at distance d: from 0 up."""

def rfftn(
    input: Tensor,
    s: _Ints | None = None,
    dim: _Ints | None = None,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The first half of the Fourier transform of real numbers over several dimensions (all)."""
