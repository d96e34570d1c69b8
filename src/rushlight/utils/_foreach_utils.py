"""`torch.utils._foreach_utils`: how optimizers outside of the library sort tensors into lists."""

from __future__ import annotations

from collections.abc import Sequence

from .. import _root as rl
from .._base.missing import missing_name as _missing_name
from .._core import Tensor
from ..optim.optimizer import (
    _group_tensors_by_device_and_dtype as _group_tensors_by_device_and_dtype,
)


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The devices on which an operation over a list beats a loop: none here."""
    return []


_get_fused_kernels_supported_devices = _get_foreach_kernels_supported_devices


def _device_has_foreach_support(device: rl.device) -> bool:
    """Whether a device has operations over lists: the CPU."""
    return device.type == "cpu"


def _has_foreach_support(tensors: Sequence[Tensor | None], device: rl.device) -> bool:
    """The same, of tensors on it."""
    return _device_has_foreach_support(device) and all(
        t is None or type(t) is Tensor for t in tensors
    )


__getattr__ = _missing_name(__name__)
