"""Tensors of data: numbers, nested lists, NumPy arrays, buffers and other tensors."""

from __future__ import annotations

from typing import Any

from ... import _core
from ..._base import dtypes
from ..._base.dlpack import from_dlpack
from ..._base.errors import warn
from ..._base.outside import np, np_types
from ..._core import Tensor
from ..._devices import cpu, of, on, over
from ..._levels.opaque_array import ITEM
from ..._levels.running import answered
from ..table.arrays import Array, as_type, warn_once
from ..table.kinds import composite
from ..table.signature import device, dtype
from .casts import to
from .factory import type_of

__all__ = ["as_tensor", "asarray", "from_numpy", "frombuffer", "placed", "read", "tensor"]

_wrap_data, is_array = _core.wrap_data, _core.is_array


def placed(data: Tensor, where: Any, requires_grad: bool = False) -> Any:
    """Data of the program's own, which were read on the CPU, as a tensor on a device."""
    if where is not cpu:
        data = where.from_host(data)
    if requires_grad:
        _check_takes_gradients(data)
        data.requires_grad = True
    return data


def _check_takes_gradients(t: Tensor) -> None:
    if not t.dtype.is_differentiable:
        raise RuntimeError(
            "Only Tensors of floating point and complex dtype can require gradients. This one is "
            f"{t.dtype}."
        )


_NUMBERS = (float, int, bool, complex)
_numbers = _core.kernels.numbers


def of_storage(data: Any, dtype: dtype | None) -> Any:
    """All elements of a storage as a tensor in its memory; None where the data is no storage."""
    untyped = getattr(data, "_untyped_storage", data)
    if not isinstance(untyped, _core.UntypedStorage):
        return None
    own = dtypes.int64 if untyped is data else data.dtype
    wanted = dtype or own
    if untyped is not data and wanted is not own:
        raise RuntimeError(
            f"Expected a Storage of type {wanted.scalar_name} or an UntypedStorage, but got "
            f"{own.scalar_name}"
        )
    return _core.place(untyped, wanted, (untyped.nbytes() // wanted.itemsize,), None, 0)


def read(data: Any, dtype: dtype | None = None, copy: bool = True) -> Tensor:
    """Anything that `torch.tensor` accepts, as a tensor on the CPU."""
    if not is_array(data) and isinstance(data, (list, tuple, *_NUMBERS)):
        found = _numbers(data, dtype=dtype, device="cpu")
        return _by_element(data, dtype) if found is NotImplemented else found
    if type(data) is Tensor and data._wrapped is None and copy:
        values = _core.kernels.contiguous_copy(data.detach())
        return _as_data(values if dtype is None else _core.cast(values, dtype.code))
    return _wrap_data(_array_of(data, dtype, copy))


def _as_data(values: Tensor) -> Tensor:
    """The tensor as data of the program's own: a gradient that ends there can say so."""
    if values._on_meta:
        return values
    made = _numbers(0, dtype=values.dtype, device="cpu")
    if made is NotImplemented:  # stored types, and while calls are observed
        return _wrap_data(values._array)
    _core.take_place(made, _core.storage_of(values), values.shape, values.stride(), 0)
    return made


def _array_of(data: Any, dtype: dtype | None, copy: bool) -> Array:
    wanted = None if dtype is None else type_of(dtype).numpy
    if not is_array(data) and (stored := of_storage(data, dtype)) is not None:
        data = stored
    if isinstance(data, Tensor):
        array = data._array
    elif is_array(data):
        array = data
        check_strides(array)
        kind, size = array.dtype.kind, array.dtype.itemsize
        too_wide = (kind == "f" and size > 8) or (kind == "c" and size > 16)
        if too_wide or (kind in "OSUMmV" and array.dtype.name != "bfloat16"):
            raise TypeError(
                f"can't convert np.ndarray of type numpy.{array.dtype.type.__name__}. The only "
                "supported types are: float64, float32, float16, complex64, complex128, int64, "
                "int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
            )
        if not array.dtype.isnative:
            raise ValueError(
                "given numpy array has byte order different from the native byte order. "
                "Conversion between byte orders is currently not supported."
            )
        if not copy and not array.flags.writeable:
            warn_once(
                "The given NumPy array is not writable, and PyTorch does not support non-writable "
                "tensors. This means writing to this tensor will result in undefined behavior. You "
                "may want to copy the array to protect its data or make it writable before "
                "converting it to a tensor. This type of warning will be suppressed for the rest "
                "of this program."
            )
    elif isinstance(data, np_types.generic):
        array = np.asarray(data)
    elif hasattr(data, "__array__") and not isinstance(data, (str, bytes)):
        array = np.asarray(data)
        if array.dtype.kind in "OSUMm":
            raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    elif isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    elif hasattr(data, "__dlpack__"):
        array = from_dlpack(data).detach()._array
    elif hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, dict):
        try:
            data = [data[i] for i in range(len(data))]
        except Exception as error:
            raise ValueError(
                f"could not determine the shape of object type '{type(data).__name__}'"
            ) from error
        return read(data, dtype)._array
    else:
        try:
            memory = memoryview(data)
        except TypeError:
            raise RuntimeError(f"Could not infer dtype of {type(data).__name__}") from None
        array = np.asarray(memory)
    if wanted is not None and array.dtype != wanted:
        return as_type(array, wanted)
    if copy:
        return np.array(array, copy=True, order="C")
    # An array of its own: what the program sets of `data`, its shape for one, is not the tensor's.
    return array.view(np.ndarray)


_MOST_DIMS = 64  # NumPy's; a list may also contain itself


def _converted(array: Array, dtype: dtype) -> Array:
    """Numbers as elements of a type; torch's error for a number that the type cannot hold."""
    wanted = type_of(dtype).numpy
    if array.dtype == wanted:
        return array
    kind = array.dtype.kind
    if wanted.kind in "iu":
        if kind == "c":
            raise TypeError("'complex' object cannot be interpreted as an integer")
        if kind in "if" and array.size:
            limits = np.iinfo(wanted)
            # A negative number goes into an unsigned type as long as its size fits.
            low = limits.min if wanted.kind == "i" else -limits.max if kind != "f" else 0
            if not (low <= array.min() and array.max() <= limits.max):
                raise RuntimeError(
                    f"value cannot be converted to type {wanted.name} without overflow"
                )
    elif kind == "c" and dtype.is_floating_point:
        raise TypeError("must be real number, not complex")
    return as_type(array, wanted)  # beyond the type's range it is infinite


# ---- element by element: tensors, arrays and NumPy's numbers among the data, and what is wrong


def _is_sequence(data: object) -> bool:
    if isinstance(data, Tensor):
        return False
    return isinstance(data, (list, tuple, str, bytes)) or (
        hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, dict)
    )


def _sizes(data: Any) -> list[int]:
    """The shape that the first elements have."""
    sizes: list[int] = []
    while _is_sequence(data):
        sizes.append(len(data))
        if len(sizes) > _MOST_DIMS:
            while _is_sequence(data) and len(data) and len(sizes) <= 128:
                sizes, data = [*sizes, len(data)], data[0]
            if len(sizes) <= 128:  # PyTorch's limit
                raise RuntimeError("a tensor has at most 64 dimensions, and these lists have more")
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        if not sizes[-1]:
            break
        data = data[0]
    return sizes


def _type_of(data: Any) -> dtypes.dtype:
    """The type of an element; of a sequence what its elements are promoted to."""
    if isinstance(data, (np_types.ndarray, np_types.generic)):
        return dtypes.from_numpy_dtype(data.dtype)
    if isinstance(data, bool):
        return dtypes.bool
    if isinstance(data, float):
        return dtypes.get_default_dtype()
    if isinstance(data, int):
        return dtypes.int64
    if isinstance(data, complex):
        return dtypes.get_default_dtype().to_complex()
    if isinstance(data, Tensor):
        return data.dtype
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if not _is_sequence(data):
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    if not len(data):
        return dtypes.get_default_dtype()
    found = None
    for item in data:
        if item is data:
            raise TypeError("new(): self-referential lists are incompatible")
        kind = _type_of(item)
        found = kind if found is None else dtypes.promote_types(found, kind)
    assert found is not None
    return found


def _elements(data: Any, sizes: list[int], dim: int, into: list[Any]) -> None:
    if dim == len(sizes):
        into.append(data)
        return
    if not isinstance(data, (list, tuple)):
        try:
            data = list(data)
        except TypeError:
            raise TypeError("not a sequence") from None
    if len(data) != sizes[dim]:
        raise ValueError(f"expected sequence of length {sizes[dim]} at dim {dim} (got {len(data)})")
    for item in data:
        if is_array(item):
            warn_once(
                "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please "
                "consider converting the list to a single numpy.ndarray with numpy.array() before "
                "converting to a tensor.",
            )
        _elements(item, sizes, dim + 1, into)


def _number_of(value: Any, kind: str) -> Any:
    """A leaf of the data as a Python number, for a type of this kind."""
    if isinstance(value, Tensor):
        if value.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        if value.requires_grad:
            float(value)  # which warns
        value = value.item()
    elif is_array(value):
        value = value.item() if value.dtype.kind != "V" else float(value)
    elif isinstance(value, np_types.generic) and not (
        isinstance(value, np_types.bool_) and kind in "iu"
    ):
        value = value.item()
    if isinstance(value, (bool, int, float, complex)):
        if kind == "f" and isinstance(value, int):
            return float(value)
        return value
    name = _full_type_name(value)
    if kind in "iu":
        raise TypeError(f"'{name}' object cannot be interpreted as an integer")
    raise TypeError(f"must be real number, not {name}")


def _full_type_name(value: list[int]) -> str:
    cls = type(value)
    return cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"


def _by_element(data: Any, dtype: dtype | None) -> Tensor:
    """As torch reads nested sequences; the shape is that of the first elements."""
    sizes = _sizes(data)
    type_ = _type_of(data) if dtype is None else dtype
    leaves: list[Any] = []
    if 0 not in sizes:
        _elements(data, sizes, 0, leaves)
    kind = type_.kind
    values = [_number_of(leaf, kind) for leaf in leaves]
    found = _numbers(values, dtype=type_, device="cpu")
    if found is not NotImplemented:
        return found.view(sizes)
    if kind in "iu":
        unsigned = type_ is dtypes.uint64
        for value in values:
            if isinstance(value, int) and not -(2**63) <= value < 2**63 + 2**63 * unsigned:
                if unsigned:
                    raise OverflowError("int too big to convert")
                raise ValueError("Overflow when unpacking long long")
        if unsigned and any(isinstance(v, int) and v >= 2**63 for v in values):
            return _wrap_data(np.array(values, np.uint64).reshape(sizes))
    if kind == "c":
        values = [complex(v) for v in values]
    return _wrap_data(_converted(np.array(values).reshape(sizes), type_))


def warn_of_copy(data: Any, call: str) -> None:
    """The warning that a tensor is copied as data are, at the caller's caller."""
    if isinstance(data, Tensor):
        warn(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or sourceTensor.detach().clone().requires_grad_(True), "
            f"rather than {call}.",
        )


@composite(method=False, asks="modes", native=_core.kernels.tensor)
@answered("no_value", ITEM)
def tensor(
    data: Any,
    *,
    dtype: dtype | None = None,
    device: device | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new leaf tensor with a copy of `data`: numbers, nested lists, arrays or tensors.

    >>> torch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    where = of(data) if device is None and isinstance(data, Tensor) else on(device)
    warn_of_copy(data, "torch.tensor(sourceTensor)")
    if where.has_memory and isinstance(data, Tensor):
        data = of(data).to_host(data)
    return placed(read(data, dtype), where, requires_grad)


@composite(method=False, asks="modes")
def as_tensor(data: Any, *, dtype: dtype | None = None, device: device | None = None) -> Tensor:
    """Like `tensor`, but shares memory where it can; a tensor keeps its history."""
    if isinstance(data, Tensor):
        if dtype in (None, data.dtype) and (device is None or on(device) is of(data)):
            return data
        return to(data, device, data.dtype if dtype is None else dtype)
    return placed(read(data, dtype, copy=False), on(device))


@composite(method=False, asks="modes")
def asarray(
    obj: Any,
    *,
    dtype: dtype | None = None,
    device: device | None = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """A tensor of `obj` (a tensor, an array, a buffer or nested lists), sharing memory unless
    copy=True or a conversion is needed; copy=False refuses to copy."""
    if copy is False and isinstance(obj, np_types.generic):
        raise RuntimeError(
            "can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. "
        )
    found = _aliased(obj, dtype)
    where = of(obj) if device is None and isinstance(obj, Tensor) else on(device)
    if found is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return placed(read(obj, dtype), where, bool(requires_grad))
    if where is not of(found):
        if copy is False:
            raise ValueError(f"can't alias tensor from device '{found.device}' to '{where.name}'.")
        found = to(found, where.name)
    converts = dtype is not None and dtype is not found.dtype
    if copy is False and dtype is not None and dtype is not found.dtype:
        raise ValueError(
            f"can't alias tensor with dtype '{found.dtype.scalar_name}' into dtype "
            f"'{dtype.scalar_name}'."
        )
    if requires_grad is None:
        requires_grad = found.requires_grad
        if requires_grad:
            warn_once(
                "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad "
                "instead of False. Pass requires_grad=False explicitly to get the old behavior "
                "and silence this warning."
            )
    if converts:
        found = to(found, dtype)
    elif copy:
        found = found.clone()
    if not found.is_leaf and not requires_grad:
        return found.detach()
    if requires_grad:
        _check_takes_gradients(found)
    if found.is_leaf:
        # Not by requires_grad_(), which transformed functions may not call.
        found.requires_grad = requires_grad
    return found


def _aliased(obj: Any, dtype: Any) -> Any:
    """A tensor of the memory of data that can share it; None for other data."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, (np_types.ndarray, np_types.generic)):
        return read(obj, copy=False)
    if isinstance(obj, (list, tuple, str, *_NUMBERS, np_types.generic)):
        return None
    if hasattr(obj, "__dlpack__") or type(obj).__name__ == "PyCapsule":
        return from_dlpack(obj)
    try:
        memoryview(obj)
    except TypeError:
        return None
    return frombuffer(obj, dtype=dtype or dtypes.get_default_dtype())


def check_strides(array: Array) -> None:
    """torch's errors for an array that runs backwards, or not in whole elements."""
    if array.flags.c_contiguous:
        return
    if any(s % array.itemsize for s in array.strides if array.itemsize):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy "
            "array to reallocate the memory."
        )
    if any(s < 0 for s in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported. (You can probably work around this by making a "
            "copy of your array  with array.copy().) "
        )


@composite(method=False, asks="nobody", native=_core.wrap_plain)
def from_numpy(ndarray: Any) -> Tensor:
    """A tensor that shares the memory of a numpy.ndarray."""
    if not is_array(ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    return read(ndarray, copy=False)


@composite(method=False, asks="nobody")
def frombuffer(
    buffer: Any, *, dtype: dtype, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A 1-D tensor over an object that has the buffer interface."""
    try:
        memory = memoryview(buffer)
    except TypeError:
        raise ValueError(
            "object does not implement Python buffer protocol. It is of type "
            f"{type(buffer).__name__}."
        ) from None
    if not memory.c_contiguous:
        raise RuntimeError("could not retrieve buffer from object. Its bytes are not in a row.")
    if memory.readonly:
        warn_once(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. "
            "This means you can write to the underlying (supposedly non-writable) buffer using the "
            "tensor. You may want to copy the buffer to protect its data or make it writable "
            "before converting it to a tensor. This type of warning will be suppressed for the "
            "rest of this program."
        )
    size, item = memory.nbytes, dtype.itemsize
    if not size or not count:
        raise ValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({size} bytes) minus 1"
        )
    if count < 0 and (size - offset) % item:
        raise ValueError(
            f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a "
            f"multiple of element size ({item})"
        )
    count = (size - offset) // item if count < 0 else count
    if offset + count * item > size:
        raise ValueError(
            f"requested buffer length ({count} * {item} bytes) after offset ({offset} bytes) must "
            f"not be greater than actual buffer length ({size} bytes)"
        )
    if memory.readonly:
        return _wrap_data(np.frombuffer(memory, dtype.numpy, count, offset), requires_grad)
    return placed(_as_data(over(memory.cast("B")[offset:], dtype, (count,))), cpu, requires_grad)
