"""ops/spectral/: functions in torch. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from typing import TypeAlias

from .._base.device import device as _device
from .._base.device import layout as _layout
from .._base.dtypes import dtype as _dtype
from .._core import Tensor
from ..ops.spectral.short_time import istft as istft
from ..ops.spectral.short_time import stft as stft

_Device: TypeAlias = _device | _str | _int

def bartlett_window(
    window_length: _int,
    periodic: _bool = True,
    *,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """A triangle, from 0 to 1 to 0: without its end, or (periodic=False) symmetric."""

def blackman_window(
    window_length: _int,
    periodic: _bool = True,
    *,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """0.42 - 0.5 * cos + 0.08 * cos of twice the angle: one period of it, or symmetric."""

def hamming_window(
    window_length: _int,
    periodic: _bool = True,
    alpha: _float = 0.54,
    beta: _float = 0.46,
    *,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """alpha - beta * cos: one period of it, or (periodic=False) symmetric."""

def hann_window(
    window_length: _int,
    periodic: _bool = True,
    *,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """0.5 - 0.5 * cos: one period of it, or (periodic=False) symmetric."""

def kaiser_window(
    window_length: _int,
    periodic: _bool = True,
    beta: _float = 12.0,
    *,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """i0(beta * sqrt(1 - x * x)) / i0(beta) for x from -1 to 1: narrower with a larger beta."""
