"""DLPack: memory shared with other libraries' arrays. The capsules are native/core/dlpack.cpp's."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from .. import _core
from .._core import Tensor
from .device import DeviceLike, resolve
from .device import device as Device

__all__ = ["DLDeviceType", "dlpack", "dlpack_device", "from_dlpack", "to_dlpack"]


class DLDeviceType(IntEnum):
    """The numbers that DLPack has for kinds of devices.

    >>> torch.zeros(1).__dlpack_device__() == (torch.utils.dlpack.DLDeviceType.kDLCPU, 0)
    True
    """

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


_CPU = (DLDeviceType.kDLCPU, 0)


def dlpack_device(self: Any) -> tuple[DLDeviceType, int]:
    """The kind of the tensor's device as DLPack has it, and its number."""
    if self.device.type != "cpu":
        raise ValueError(f"Unknown device type {self.device.type} for Dlpack")
    return _CPU


def dlpack(
    self: Any,
    *,
    stream: int = -1,
    max_version: tuple[int, ...] | None = None,
    dl_device: Any = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule of the tensor's memory, for the `from_dlpack` of another library.

    `max_version` is what that library reads: (1, 0) or more gives the versioned form. `copy`: True
    exports a copy, False never does.

    >>> np.from_dlpack(torch.arange(3))
    array([0, 1, 2])
    """
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if self.is_conj():
        raise BufferError("Can't export tensors with the conjugate bit set")
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if self.device.type == "cpu" and stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    if dl_device is not None and tuple(dl_device) != _CPU:
        raise BufferError(
            f"Can't export to the DLPack device {tuple(dl_device)}: the tensor is in main memory, "
            f"{tuple(map(int, _CPU))}, and there is no other device here."
        )
    versioned = max_version is not None and max_version[0] >= 1
    return _core.to_dlpack(self.clone() if copy else self, versioned, bool(copy))


def to_dlpack(tensor: Any) -> Any:
    """A DLPack capsule of a tensor's memory, in the form of before version 1; it can be consumed
    once.

    >>> torch.from_dlpack(torch.utils.dlpack.to_dlpack(torch.arange(3)))
    tensor([0, 1, 2])
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(
            "_to_dlpack(): argument 'data' (position 1) must be Tensor, not "
            f"{type(tensor).__name__}"
        )
    return _core.to_dlpack(tensor, False, False)


def from_dlpack(
    ext_tensor: Any, *, device: DeviceLike | None = None, copy: bool | None = None
) -> Any:
    """A tensor on the memory of another library's array, or of a DLPack capsule.

    Memory that the other library says is read-only cannot be written in place here.

    >>> a = np.zeros(2)
    >>> t = torch.from_dlpack(a)
    >>> t[0] = 1
    >>> a
    array([1., 0.])
    """
    if not hasattr(ext_tensor, "__dlpack__"):
        if device is not None or copy is not None:
            raise AssertionError(
                "device and copy kwargs not supported when ext_tensor is already a DLPack capsule."
            )
        return _core.from_dlpack(ext_tensor)
    if device is not None:
        resolve(Device(device))
    options: dict[str, Any] = {"max_version": (1, 0)}
    if copy is not None:
        options["copy"] = copy
    # Producers of older versions do not know all of these.
    for unknown in ("max_version", "copy"):
        try:
            return _core.from_dlpack(ext_tensor.__dlpack__(**options))
        except TypeError:
            options.pop(unknown, None)
    made = _core.from_dlpack(ext_tensor.__dlpack__())
    return made.clone() if copy else made


def take_pytorchs(t: Any) -> Any:
    """A tensor on the memory of one of PyTorch's: what functions make of such an argument."""
    if t.requires_grad:
        if _core.is_grad_enabled():
            raise TypeError(
                "a tensor of PyTorch that requires grad: gradients do not pass from one library to "
                "the other. Give t.detach(), or rushlight.from_dlpack(t.detach())."
            )
        t = t.detach()
    if t.device.type == "cpu" and (t.is_conj() or t.is_neg()):
        t = t.resolve_conj().resolve_neg()
    try:
        return from_dlpack(t)
    except Exception as error:
        raise TypeError(
            f"a tensor of PyTorch ({t.device}, {t.dtype}, {t.layout}) that rushlight cannot take "
            f"by DLPack: {error}"
        ) from error
