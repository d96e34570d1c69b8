"""The devices that tensors live on: the CPU, and meta, which keeps shapes and types alone.

What the rest of the package asks of a device is `Device`, and nobody else asks which one it is:
making memory, going to and from the host, running NumPy code, waiting. `on` is the one place where
a `device` argument becomes a device.
"""

from __future__ import annotations

from typing import Any, Protocol

from .. import _device as _device
from .._core import Tensor
from .cpu import Cpu
from .meta import Meta

__all__ = ["Device", "cpu", "meta", "of", "on"]


class Device(Protocol):
    """What a device gives."""

    name: Any
    """The `torch.device` that its tensors say they are on."""
    has_memory: bool
    """Whether elements can be written and read."""

    def allocate(self, shape: tuple[int, ...], dtype: Any, fill: complex | None = None) -> Any:
        """An ndarray for values of a tensor to be made, of a NumPy dtype; filled where asked."""

    def tensor(self, array: Any, requires_grad: bool = False) -> Any:
        """The tensor of such an ndarray."""

    def from_host(self, tensor: Any) -> Any:
        """A CPU tensor's copy here, without history."""

    def to_host(self, tensor: Tensor) -> Any:
        """The copy of a tensor on the CPU, without history; NotImplementedError where there is
        none."""

    def check_values(self, op: str) -> None:
        """torch's error for an op whose result's shape depends on values, where there are none."""

    def run(self, op: str, function: Any, args: tuple[Any, ...]) -> Any:
        """What an op's NumPy definition gives for arguments here; NotImplementedError where that
        cannot be told."""

    def synchronize(self) -> None:
        """Waits until all that was asked for is done."""

    def random_state(self, generator: Any) -> Any:
        """The state that draws here advance; None where nothing is drawn."""


cpu: Device = Cpu()
meta: Device = Meta()
_ON_META = meta.name


def of(tensor: Tensor) -> Device:
    """The device of a tensor."""
    return meta if tensor._meta else cpu


def on(value: Any, function: str = "tensor") -> Device:
    """The device that a `device` argument means; None is the default device."""
    return meta if _device.resolve(value, function) is _ON_META else cpu
