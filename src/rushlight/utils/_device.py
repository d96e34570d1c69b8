"""Default devices as contexts and decorators."""

from __future__ import annotations

from typing import Any

from .._base.device import device as _device
from .._base.missing import missing_name as _missing_name
from ..overrides import TorchFunctionMode
from ._contextlib import context_decorator

CURRENT_DEVICE = None


class DeviceContext(TorchFunctionMode):
    """Inside the block, new tensors are on a device."""

    def __init__(self, device: Any) -> None:
        super().__init__()
        self.device = _device(device)

    def __enter__(self) -> DeviceContext:
        self.device.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self.device.__exit__(*exc)

    def __torch_function__(
        self, func: Any, types: object, args: Any = (), kwargs: Any = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


def device_decorator(device: object, func: object) -> Any:
    """A function whose new tensors are on a device."""
    return context_decorator(lambda: device, func)


def set_device(device: Any) -> Any:
    """A decorator: new tensors of the function are on a device."""
    return lambda func: device_decorator(_device(device), func)


__getattr__ = _missing_name(__name__)
