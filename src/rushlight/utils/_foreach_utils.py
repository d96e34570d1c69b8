"""`torch.utils._foreach_utils`: how optimizers outside of the library sort tensors into lists."""

from __future__ import annotations

from collections.abc import Sequence

from .. import _root as rl
from .._core import Tensor
from .._missing import missing_name as _missing_name

Lists = list[list[Tensor | None]]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The devices on which an operation over a list beats a loop: none here."""
    return []


_get_fused_kernels_supported_devices = _get_foreach_kernels_supported_devices


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Tensor | None]], with_indices: bool = False
) -> dict[tuple[rl.device, rl.dtype], tuple[Lists, list[int]]]:
    """Parallel lists in groups of one device and type, as the first list's tensors have them.

    Each group has the lists, and where with_indices the places that their items had.
    """
    groups: dict[tuple[rl.device, rl.dtype], tuple[Lists, list[int]]] = {}
    for place, items in enumerate(zip(*tensorlistlist, strict=True)):
        first = items[0]
        if first is None:
            raise RuntimeError("tensors of the first list must be defined")
        empty: Lists = [[] for _ in items]
        lists, places = groups.setdefault((first.device, first.dtype), (empty, []))
        for group, item in zip(lists, items, strict=True):
            group.append(item)
        if with_indices:
            places.append(place)
    return groups


def _device_has_foreach_support(device: rl.device) -> bool:
    """Whether a device has operations over lists: the CPU."""
    return device.type == "cpu"


def _has_foreach_support(tensors: Sequence[Tensor | None], device: rl.device) -> bool:
    """The same, of tensors on it."""
    return _device_has_foreach_support(device) and all(
        t is None or type(t) is Tensor for t in tensors
    )


__getattr__ = _missing_name(__name__)
