"""Tensors of data: numbers, nested lists, NumPy arrays, buffers and other tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core, dtypes
from ..device import resolve
from ._factory import numpy_of
from ._kinds import composite
from .casts import to

__all__ = ["array_of", "as_tensor", "asarray", "from_numpy", "frombuffer", "tensor"]

Tensor = _core.Tensor
_wrap_data = _core.wrap_data

_SCALARS = (float, int, bool, complex, np.generic)


def _plain(data: Any) -> Any:
    """Nested data with every tensor in it replaced by numbers."""
    if isinstance(data, Tensor):
        return data.tolist()
    if isinstance(data, (list, tuple)):
        return [_plain(d) for d in data]
    return data


def _first(data: Any) -> Any:
    depth = 0
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
        depth += 1
        if depth > 64:  # NumPy's limit; a list may also contain itself
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
    return data


def _ragged(data: Any) -> str:
    def walk(level: Any, depth: int) -> str | None:
        if not isinstance(level, (list, tuple)) or not level:
            return None
        sizes = [len(x) if isinstance(x, (list, tuple)) else -1 for x in level]
        for size, x in zip(sizes, level, strict=True):
            if size != sizes[0]:
                if sizes[0] < 0:
                    raise TypeError(
                        f"'{type(x).__name__}' object cannot be interpreted as an integer"
                    )
                if size < 0:
                    raise TypeError("not a sequence")
                return f"expected sequence of length {sizes[0]} at dim {depth + 1} (got {size})"
        return next((found for x in level if (found := walk(x, depth + 1))), None)

    return walk(data, 0) or "could not make a tensor of this data"


def array_of(data: Any, dtype: Any = None, copy: bool = True) -> Any:
    """The ndarray of anything that `torch.tensor` accepts."""
    wanted = None if dtype is None else numpy_of(dtype)
    if type(data) is float and (wanted is None or wanted.kind not in "iu"):
        found = wanted or dtypes.get_default_dtype().numpy
        if -65504.0 <= data <= 65504.0:
            return np.array(data, found)
        with np.errstate(over="ignore"):  # beyond the type's range it is infinite
            return np.array(data, found)
    if isinstance(data, Tensor):
        array = data._array
    elif isinstance(data, np.ndarray):
        array = data
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
    elif isinstance(data, np.generic):
        array = np.asarray(data)
    elif isinstance(data, (list, tuple, *_SCALARS)):
        return _array_of_sequence(data, wanted)
    elif hasattr(data, "__array__") and not isinstance(data, (str, bytes)):
        array = np.asarray(data)
        if array.dtype.kind in "OSUMm":
            raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    elif isinstance(data, (str, bytes)):
        raise TypeError("new(): invalid data type 'str'")
    elif hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, dict):
        return _array_of_sequence([data[i] for i in range(len(data))], wanted)
    else:
        try:
            memory = memoryview(data)
        except TypeError:
            raise RuntimeError(f"Could not infer dtype of {type(data).__name__}") from None
        array = np.asarray(memory)
    if wanted is not None and array.dtype != wanted:
        with np.errstate(all="ignore"):
            if array.dtype.kind == "c" and wanted.kind != "c":
                array = array.real
            return array.astype(wanted)
    if copy:
        return np.array(array, copy=True, order="C")
    # An array of its own: what the program sets of `data`, its shape for one, is not the tensor's.
    return array.view(np.ndarray)


def _as_type(array: Any, wanted: Any) -> Any:
    with np.errstate(over="ignore"):  # beyond the type's range it is infinite
        return array.astype(wanted)


def _array_of_sequence(data: Any, wanted: Any) -> Any:
    first = _first(data)
    if isinstance(first, Tensor) or (
        isinstance(first, np.ndarray) and not isinstance(data, np.ndarray)
    ):
        if wanted is None and isinstance(first, Tensor):
            wanted = first.dtype.numpy if first.dim() == 0 or first.numel() else None
            flat = _flat_tensors(data)
            if flat:
                wanted = _core.result_type(
                    [t.reshape(-1)[:1] if t.dim() else t for t in flat]
                ).numpy
        elif wanted is None:
            wanted = first.dtype
        data = _plain(data)
    try:
        array = np.array(data)
    except ValueError:
        data = _plain(data)
        try:
            array = np.array(data)
        except ValueError:
            raise ValueError(_ragged(data)) from None
    kind = array.dtype.kind
    if kind == "O":
        plain = _plain(data)
        array = np.array(plain)
        kind = array.dtype.kind
        if kind == "O":
            leaf = _odd_leaf(plain)
            if isinstance(leaf, int):
                raise ValueError("Overflow when unpacking long long")
            raise RuntimeError(f"Could not infer dtype of {type(leaf).__name__}")
    if kind in "SU":
        depth = array.ndim
        if depth:
            raise ValueError(f"too many dimensions '{type(first).__name__}'")
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if wanted is not None:
        if kind in "iuf" and wanted.kind in "iu" and array.size:
            limits = np.iinfo(wanted)
            # A negative number goes into an unsigned type as long as its size fits.
            low = limits.min if wanted.kind == "i" else -limits.max if kind != "f" else 0
            if not (low <= array.min() and array.max() <= limits.max):
                raise RuntimeError(
                    f"value cannot be converted to type {wanted.name} without overflow"
                )
        if kind == "c" and wanted.kind != "c":
            raise TypeError("must be real number, not complex")
        if kind == "f" and array.size and wanted.kind in "iu":
            return np.trunc(array).astype(wanted)
        return _as_type(array, wanted)
    if kind == "f":
        if not isinstance(first, np.generic) or array.size == 0:
            return _as_type(array, dtypes.get_default_dtype().numpy)
        return array
    if kind == "c" and not isinstance(first, np.generic):
        return _as_type(array, dtypes.get_default_dtype().to_complex().numpy)
    if kind == "u" and not isinstance(first, np.generic):
        raise ValueError("Overflow when unpacking long long")
    if array.size == 0:
        return array.astype(dtypes.get_default_dtype().numpy)
    return array


def _flat_tensors(data: Any) -> list[Any]:
    if isinstance(data, Tensor):
        return [data]
    if isinstance(data, (list, tuple)):
        return [t for d in data for t in _flat_tensors(d)]
    return []


def _odd_leaf(data: Any) -> Any:
    if isinstance(data, (list, tuple)):
        for d in data:
            leaf = _odd_leaf(d)
            if leaf is not None:
                return leaf
        return None
    return (
        None
        if isinstance(data, (float, bool, complex))
        or (isinstance(data, int) and -(2**63) <= data < 2**63)
        else data
    )


@composite(method=False, asks="modes")
def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A new leaf tensor with a copy of `data`: numbers, nested lists, arrays or tensors.

    >>> torch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    if device is not None:
        resolve(device)
    if isinstance(data, Tensor):
        import warnings

        warnings.warn(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or sourceTensor.detach().clone().requires_grad_(True), "
            "rather than torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
    return _wrap_data(array_of(data, dtype), requires_grad)


@composite(method=False, asks="modes")
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """Like `tensor`, but shares memory where it can; a tensor keeps its history."""
    if device is not None:
        resolve(device)
    if isinstance(data, Tensor):
        return data if dtype is None or dtype is data.dtype else to(data, dtype)
    return _wrap_data(array_of(data, dtype, copy=False))


@composite(method=False, asks="modes")
def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Any:
    """A tensor of `obj`, sharing memory unless copy=True or a conversion is needed."""
    if device is not None:
        resolve(device)
    if isinstance(obj, Tensor):
        result = obj if dtype is None or dtype is obj.dtype else to(obj, dtype)
        if copy and result is obj:
            result = obj.clone()
        return result
    array = array_of(obj, dtype, copy=bool(copy))
    return _wrap_data(array, requires_grad)


@composite(method=False, asks="nobody")
def from_numpy(ndarray: Any) -> Any:
    """A tensor that shares the memory of a numpy.ndarray."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if not ndarray.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. "
            "Conversion between byte orders is currently not supported."
        )
    if any(s < 0 for s in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported. (You can probably work around this by making a "
            "copy of your array with array.copy().) "
        )
    array = array_of(ndarray, copy=False)
    if not ndarray.flags.writeable:
        import warnings

        warnings.warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable "
            "tensors. This means writing to this tensor will result in undefined behavior. You "
            "may want to copy the array to protect its data or make it writable before converting "
            "it to a tensor. This type of warning will be suppressed for the rest of this program.",
            UserWarning,
            stacklevel=2,
        )
    return _wrap_data(array)


@composite(method=False, asks="nobody")
def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Any:
    """A 1-D tensor over an object that has the buffer interface."""
    return _wrap_data(np.frombuffer(buffer, numpy_of(dtype), count, offset), requires_grad)


_core.register(callbacks={"as_tensor": as_tensor})
