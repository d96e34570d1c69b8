"""The parts of a tensor for a checkpoint. No other file of this room looks inside tensors."""

from __future__ import annotations

from typing import Any, NamedTuple

from rushlight import _root as base
from rushlight import nn
from rushlight._base import dtypes
from rushlight._tensor import memory_of, with_bits
from rushlight.storage import UntypedStorage

from .._core import Tensor


class Parts(NamedTuple):
    """A tensor taken apart: its storage in main memory, and how it views that, counted in
    elements."""

    storage: UntypedStorage
    dtype: dtypes.dtype
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    requires_grad: bool
    is_parameter: bool = False
    conj: bool = False
    neg: bool = False
    on_meta: bool = False  # where there is no storage
    location: str = "cpu"


def tensor_type() -> type:
    return base.Tensor


def parameter_type() -> type:
    return nn.Parameter


def is_tensor(obj: object) -> bool:
    return isinstance(obj, base.Tensor)


def has_values(obj: object) -> bool:
    """Whether an object is a tensor, and not a lazy layer's that has no shape yet."""
    return is_tensor(obj) and not hasattr(type(obj), "cls_to_become")


def storage_here(storage: Any, copied: dict[int, tuple[Any, UntypedStorage]]) -> UntypedStorage:
    """The storage; of an accelerator's, the one copy in main memory."""
    if storage._accelerator is None:
        return storage
    if storage._cdata not in copied:
        copied[storage._cdata] = storage, storage.cpu()
    return copied[storage._cdata][1]


def tensor_parts(tensor: Tensor, copied: dict[int, tuple[Any, UntypedStorage]]) -> Parts:
    """copied: storages of accelerators that were copied, with their bytes."""
    parameter = isinstance(tensor, parameter_type())
    described = tensor.dtype, tensor.requires_grad, parameter
    strides = tensor.stride()
    if tensor.is_meta:
        layout = (tuple(tensor.shape), strides)
        parts = Parts(UntypedStorage(0), tensor.dtype, 0, *layout, *described[1:])
        return parts._replace(on_meta=True)
    if tensor._wrapped is not None or min(strides, default=0) < 0:
        plain = base._core.wrap(memory_of(tensor).copy())
        data, place = plain.untyped_storage(), (0, tuple(plain.shape), plain.stride())
        return Parts(data, tensor.dtype, *place, *described[1:])
    data = storage_here(tensor.untyped_storage(), copied)
    place = tensor.storage_offset(), tuple(tensor.shape), strides
    bits = tensor.is_conj(), tensor.is_neg()
    where = "cpu" if tensor.is_cpu else str(tensor.device)
    return Parts(data, tensor.dtype, *place, *described[1:], *bits, location=where)


def make_tensor(parts: Parts) -> Tensor:
    offset = 0 if 0 in parts.shape else parts.offset
    tensor = base._core.place(parts.storage, parts.dtype, parts.shape, parts.strides, offset)
    if parts.requires_grad:
        tensor = base._core.make_subclass(base.Tensor, tensor, True)
    return with_bits(tensor, parts.conj, parts.neg)


def make_meta_tensor(
    dtype: dtypes.dtype, shape: tuple[int, ...], strides: tuple[int, ...], requires_grad: bool
) -> Tensor:
    return base._core.empty_meta(shape, dtype.code, strides, requires_grad)


def make_parameter(data: Tensor, requires_grad: bool) -> Tensor:
    return parameter_type()(data, requires_grad=requires_grad)
