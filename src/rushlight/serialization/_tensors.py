"""The parts of a tensor for a checkpoint. No other file of this room looks inside tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from rushlight import _root as base
from rushlight import nn
from rushlight._base import dtypes
from rushlight._tensor import memory_of, with_bits
from rushlight.storage import bytes_of

from .._base.outside import np, np_types
from .._core import Tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

Bytes: TypeAlias = "NDArray[np.uint8]"


class Parts(NamedTuple):
    """A tensor taken apart: its storage as bytes, and how it views them, counted in elements."""

    storage: Bytes
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


def storage_bytes(storage: Any, copied: dict[int, tuple[Any, Bytes]]) -> Bytes:
    """The bytes of a storage; of an accelerator's, those of one copy in main memory."""
    if storage._accelerator is None:
        return bytes_of(storage)._seen
    if storage._cdata not in copied:
        copied[storage._cdata] = storage, bytes_of(storage)._seen
    return copied[storage._cdata][1]


def tensor_parts(tensor: Tensor, copied: dict[int, tuple[Any, Bytes]]) -> Parts:
    """copied: storages of accelerators that were copied, with their bytes."""
    parameter = isinstance(tensor, parameter_type())
    described = tensor.dtype, tensor.requires_grad, parameter
    strides = tensor.stride()
    if tensor.is_meta:
        layout = (tuple(tensor.shape), strides)
        parts = Parts(np.empty(0, np.uint8), tensor.dtype, 0, *layout, *described[1:])
        return parts._replace(on_meta=True)
    if tensor._wrapped is not None or min(strides, default=0) < 0:
        return array_parts(memory_of(tensor), *described)
    data = storage_bytes(tensor.untyped_storage(), copied)
    place = tensor.storage_offset(), tuple(tensor.shape), strides
    bits = tensor.is_conj(), tensor.is_neg()
    where = "cpu" if tensor.is_cpu else str(tensor.device)
    return Parts(data, tensor.dtype, *place, *described[1:], *bits, location=where)


def make_tensor(parts: Parts) -> Tensor:
    tensor = base._core.wrap(parts_array(parts), parts.requires_grad)
    return with_bits(tensor, parts.conj, parts.neg)


def make_placed_tensor(storage: object, parts: Parts) -> Tensor:
    """The tensor that views a storage of an accelerator."""
    place = parts.shape, parts.strides, parts.offset
    tensor: Any = base._core.place(storage, parts.dtype, *place)
    return with_bits(tensor.requires_grad_(parts.requires_grad), parts.conj, parts.neg)


def make_meta_tensor(
    dtype: dtypes.dtype, shape: tuple[int, ...], strides: tuple[int, ...], requires_grad: bool
) -> Tensor:
    return base._core.empty_meta(shape, dtype.code, strides, requires_grad)


def make_parameter(data: Tensor, requires_grad: bool) -> Tensor:
    return parameter_type()(data, requires_grad=requires_grad)


def array_parts(
    array: NDArray[Any],
    dtype: dtypes.dtype,
    requires_grad: bool = False,
    is_parameter: bool = False,
) -> Parts:
    """The parts of a tensor that holds `array`; the storage is the whole array under the view."""
    root = array
    while isinstance(root.base, np_types.ndarray):
        root = root.base
    itemsize = array.itemsize
    start = array.ctypes.data - root.ctypes.data
    shares = root.flags.forc and not any(n % itemsize or n < 0 for n in (start, *array.strides))
    if not shares or root.nbytes % itemsize:  # no view that a file can describe: save a copy
        root = array = np.ascontiguousarray(array).reshape(array.shape)
        start = 0
    storage = root.reshape(-1, order="A").view(np.uint8)
    strides = tuple(step // itemsize for step in array.strides)
    return Parts(
        storage, dtype, start // itemsize, array.shape, strides, requires_grad, is_parameter
    )


def parts_array(parts: Parts) -> NDArray[Any]:
    """The array that views the storage as `parts` says, sharing its memory."""
    itemsize = parts.dtype.itemsize
    strides = [step * itemsize for step in parts.strides]
    offset = 0 if 0 in parts.shape else parts.offset * itemsize
    return np.ndarray(parts.shape, parts.dtype.numpy, parts.storage, offset, strides)
