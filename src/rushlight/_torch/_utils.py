"""Private helpers of PyTorch that libraries build on: errors carried between threads and
processes, tensors laid end to end, what a tensor is rebuilt from."""

from __future__ import annotations

import sys
import traceback
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any

from .. import _core
from .. import _root as rl
from .._base.device import accelerators as _accelerators
from .._base.device import device as Device
from .._base.missing import missing_name as _missing_name
from .._base.pickled import import_dotted_name as _import_dotted_name
from .._root import Tensor
from .._tensor.rebuilding import (
    _rebuild_device_tensor_from_numpy as _rebuild_device_tensor_from_numpy,
)
from .._tensor.rebuilding import _rebuild_meta_tensor_no_storage as _rebuild_meta_tensor_no_storage
from .._tensor.rebuilding import _rebuild_tensor as _rebuild_tensor
from .._tensor.rebuilding import _rebuild_tensor_v2 as _rebuild_tensor_v2
from .._tensor.rebuilding import _rebuild_tensor_v3 as _rebuild_tensor_v3
from .._tensor.rebuilding import set_attributes as _set_obj_state  # noqa: F401  files name it
from ..nn.parameter import _rebuild_parameter as _rebuild_parameter
from ..nn.parameter import _rebuild_parameter_with_state as _rebuild_parameter_with_state


class DisableTorchFunctionSubclass:
    """Inside the block, no class of an argument takes a call over."""

    _most: Any = _core.Overrides.MODES

    def __enter__(self) -> None:
        self._before = _core.get_overrides()
        _core.set_overrides(max(self._before, self._most))

    __enter__ = _core.beginning(__enter__, lambda self: None)

    @_core.ending
    def __exit__(self, *exc: object) -> None:
        _core.set_overrides(self._before)


class KeyErrorMessage(str):
    """A text that KeyError shows with its line breaks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception on its way from another thread or process.

    exc_info: as from `sys.exc_info()`, the one that is being handled if not told.
    """

    def __init__(
        self,
        exc_info: tuple[type[BaseException], BaseException, TracebackType | None] | None = None,
        where: str = "in background",
    ) -> None:
        kind, error, place = exc_info or sys.exc_info()
        assert kind is not None
        self.exc_type, self.where = kind, where
        self.exc_msg = "".join(traceback.format_exception(kind, error, place))

    def reraise(self) -> None:
        """Raises an exception of the same type that carries the other side's traceback."""
        text = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            raise KeyError(KeyErrorMessage(text))
        try:
            error = self.exc_type(text)
        except Exception:
            raise RuntimeError(text) from None
        raise error


def _element_size(dtype: rl.dtype) -> int:
    """The bytes of an element of this type."""
    if not isinstance(dtype, rl.dtype):
        raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
    return dtype.itemsize


def _get_device_index(
    device: object, optional: bool = False, allow_cpu: bool = False
) -> int | None:
    """The number in a device: 3 for "cuda:3"; -1 for the CPU, where that is allowed."""
    if isinstance(device, str):
        device = Device(device)
    if isinstance(device, Device):
        if not allow_cpu and device.type == "cpu":
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        if device.type == "cpu":
            return -1
        device = device.index
    if isinstance(device, int):
        return device
    if device is None and optional:
        return None
    raise ValueError(
        f"Expected a torch.device with a specified index or an integer, but got: {device}"
    )


def _get_device_module(device_type: str) -> object:
    """The module of a kind of device: `torch.cuda` of "cuda"."""
    try:
        return _import_dotted_name(f"rushlight.{device_type}")
    except ImportError:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as "
            f"'torch.{device_type}'."
        ) from None


def _get_available_device_type() -> str | None:
    """The kind of accelerator that is here; None where the program has named none."""
    from ._present_device import general as _present

    return _accelerators.kind if _present.available() else None


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """The elements of several tensors one after the other, in one dimension."""
    return rl.cat([t.reshape(-1) for t in tensors]) if len(tensors) else rl.empty(0)


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of such a tensor with the shapes of these."""
    parts = flat.split([t.numel() for t in tensors])
    return tuple(part.view(t.shape) for part, t in zip(parts, tensors, strict=True))


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """The tensors in groups of one type, each of about `size_limit` bytes."""
    groups: dict[str, list[Tensor]] = defaultdict(list)
    sizes: dict[str, int] = defaultdict(int)
    for tensor in tensors:
        kind, size = tensor.type(), tensor.numel() * tensor.element_size()
        if groups[kind] and sizes[kind] + size > size_limit:
            yield groups.pop(kind)
            sizes[kind] = 0
        groups[kind].append(tensor)
        sizes[kind] += size
    yield from (group for group in groups.values() if group)


def _reorder_tensors_as(
    tensors: Iterable[Tensor], ordered_tensors: Iterable[Tensor]
) -> tuple[Tensor, ...]:
    """The tensors in the order of types that others have."""
    by_kind: dict[str, list[Tensor]] = defaultdict(list)
    for tensor in tensors:
        by_kind[tensor.type()].append(tensor)
    rest = {kind: iter(group) for kind, group in by_kind.items()}
    return tuple(next(rest[tensor.type()]) for tensor in ordered_tensors)


class classproperty:
    """A property of the class itself."""

    def __init__(self, func: Any) -> None:
        self._getter = func if isinstance(func, (classmethod, staticmethod)) else classmethod(func)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self._getter.__get__(instance, owner)()


__getattr__ = _missing_name(__name__, late={"_rebuild_sparse_tensor": "rushlight.sparse._making"})
