"""The devices that tensors live on: the CPU, accelerators, and meta, which has shapes and types.

`Device` is all that the rest of the package asks of a device: making memory, going to and from the
host, running NumPy code, waiting. No other code asks which device it has. `on` is the one place
where a `device` argument becomes a device.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol

from .._base import device as _device
from .._core import Tensor
from .cpu import Cpu, over
from .meta import Meta

__all__ = ["Device", "accelerator", "cpu", "meta", "of", "on", "open_accelerator", "over"]


class Device(Protocol):
    """The members that the rest of the package asks of a device."""

    name: Any
    """The `torch.device` that its tensors say they are on."""
    has_memory: bool
    """Whether elements can be written and read."""
    makes: bool
    """Whether tensors are filled there, by `draw` and `fill_steps`, and not by the host."""

    def made(self, shape: tuple[int, ...], dtype: Any, fill: Any = None) -> Any:
        """A tensor of a dtype, filled where asked with a number that the dtype holds."""

    def tensor(self, array: Any) -> Any:
        """The tensor of an ndarray's values."""

    def from_host(self, tensor: Any) -> Any:
        """A CPU tensor's copy here, without history."""

    def to_host(self, tensor: Tensor) -> Any:
        """The copy of a tensor on the CPU, without history; NotImplementedError where there is
        none."""

    def check_values(self, op: str) -> None:
        """torch's error for an op whose result's shape depends on values, where there are none."""

    def synchronize(self) -> None:
        """Waits until all that was asked for is done."""

    def draw(self, kernel: str, place: Any, tensor: Any, *args: Any) -> None:
        """Fills a tensor with random numbers, where the device `makes` tensors. place: that of a
        generator, which moves on."""

    def fill_steps(self, tensor: Any, *numbers: float) -> None:
        """Fills a tensor, where the device `makes` tensors: from the first number in steps, or from
        the first to the last number in steps."""


cpu: Device = Cpu()
meta = Meta()
_ON_META = meta.name


def of(tensor: Tensor) -> Device:
    """The device of a tensor."""
    if tensor._on_meta:
        return meta
    number = tensor._accelerator
    return cpu if number is None else accelerator(number)


@cache
def accelerator(number: int) -> Device:
    """The accelerator of a number; RuntimeError where there is none."""
    from .accelerators import numbered

    return numbered(number)


def on(value: Any, function: str = "tensor") -> Device:
    """The device that a `device` argument means; None is the default device."""
    found = _device.resolve(value, function)
    if found is _device.cpu:
        return cpu
    return meta if found is _ON_META else accelerator(found._accelerator)


def open_accelerator(found: Any) -> Any:
    """A device that `resolve` gave, for the core: an accelerator is opened before it is named."""
    if found is not _device.cpu and found is not _ON_META:
        accelerator(found._accelerator)
    return found
