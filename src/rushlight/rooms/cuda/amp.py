"""`torch.cuda.amp`: older names of `torch.amp` for CUDA; without a device they do nothing. Those of
`torch.cpu.amp`, a row of _torch/names.txt, are at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from .. import amp
from .._base import dtypes
from .._base.errors import warn
from .._base.missing import missing_name as _missing_name

__all__ = [
    "GradScaler",
    "amp_definitely_not_available",
    "autocast",
    "custom_bwd",
    "custom_fwd",
]


def _warn(name: str, device: str) -> None:
    warn(
        f"`torch.{device}.amp.{name}(args...)` is deprecated. Please use "
        f"`torch.amp.{name}('{device}', args...)` instead.",
        FutureWarning,
    )


class autocast(amp.autocast):
    """Deprecated: `torch.amp.autocast("cuda", ...)`."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: dtypes.dtype = dtypes.float16,
        cache_enabled: bool = True,
    ) -> None:
        _warn("autocast", "cuda")
        super().__init__("cuda", dtype, enabled, cache_enabled)


class _Scaler(amp.GradScaler):
    """Deprecated: `torch.amp.GradScaler(device, ...)`, of the device that a subclass names."""

    _for: ClassVar[str]

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _warn("GradScaler", self._for)
        settings = init_scale, growth_factor, backoff_factor, growth_interval, enabled
        super().__init__(self._for, *settings)


class GradScaler(_Scaler):
    """Deprecated: `torch.amp.GradScaler("cuda", ...)`."""

    _for = "cuda"


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, cast_inputs: dtypes.dtype | None = None
) -> Callable[..., Any]:
    """Deprecated: `torch.amp.custom_fwd(device_type="cuda")`."""
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """Decorator of a `Function`'s backward: it runs with autocast as its forward did.

    >>> torch.cuda.amp.custom_bwd(len).__name__
    'len'
    """
    return amp.custom_bwd(bwd, device_type="cuda")


def amp_definitely_not_available() -> bool:
    """Whether there is no CUDA device here.

    >>> torch.cuda.amp.amp_definitely_not_available()
    True
    """
    return not amp.is_autocast_available("cuda")


class _CpuAutocast(amp.autocast):
    """Deprecated: `torch.amp.autocast("cpu", ...)`."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: dtypes.dtype = dtypes.bfloat16,
        cache_enabled: bool = True,
    ) -> None:
        _warn("autocast", "cpu")
        super().__init__("cpu", dtype, enabled, cache_enabled)


class _CpuGradScaler(_Scaler):
    """Deprecated: `torch.amp.GradScaler("cpu", ...)`."""

    _for = "cpu"


_CpuAutocast.__name__ = "autocast"
_CpuGradScaler.__name__ = "GradScaler"
__getattr__ = _missing_name(__name__)
