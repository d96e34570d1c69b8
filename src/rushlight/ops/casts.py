"""The same values with another element type."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core, dtypes
from ..device import device as device_class
from ..device import resolve
from ._arrays import none_left
from ._kinds import composite, linear
from ._op import namespace

__all__ = ["fit_dtype", "to", "type_as"]

Tensor = _core.Tensor


def _cast(a: Any, dtype: Any) -> Any:
    with np.errstate(all="ignore"):
        if a.dtype.kind == "c" and not dtype.is_complex:
            a = a.real
        return a.astype(dtype.numpy)  # keeps the memory order


_to_copy = linear(
    "_to_copy(input, dtype: dtype)",
    _cast,
    transpose={"input": lambda g, input_dtype: fit_dtype(g, input_dtype)},
    node="ToCopyBackward0",
    method=False,
    out=False,
    samples=lambda make: [(make(2, 3), dtypes.float64)],
    doc="The same values with another element type.",
)


def fit_dtype(g: Any, dtype: Any) -> Any:
    """A gradient with the dtype of what it is the gradient of: real parts for real tensors."""
    if g.dtype.is_complex and not dtype.is_complex:
        g = g.real
    return g if g.dtype is dtype else _to_copy(g, dtype)


_PYTHON_DTYPES = {float: dtypes.float64, int: dtypes.int64, bool: dtypes.bool}


def _parse_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, bool, Any]:
    dtype, copy = kwargs.pop("dtype", None), kwargs.pop("copy", False)
    memory_format = kwargs.pop("memory_format", None)
    device = kwargs.pop("device", None)
    other = kwargs.pop("other", None)
    kwargs.pop("non_blocking", None)
    none_left("to", kwargs)
    rest = list(args)
    if rest:
        first = rest.pop(0)
        if isinstance(first, dtypes.dtype):
            dtype = first
        elif first in _PYTHON_DTYPES if isinstance(first, type) else False:
            dtype = _PYTHON_DTYPES[first]
        elif isinstance(first, Tensor):
            other = first
        elif first is None or isinstance(first, (str, int, device_class)):
            device = first
            if rest and (rest[0] is None or isinstance(rest[0], (dtypes.dtype, type))):
                second = rest.pop(0)
                dtype = _PYTHON_DTYPES.get(second, second)
        else:
            raise TypeError(
                "to() received an invalid combination of arguments - got "
                f"({type(first).__name__}), but expected a dtype, a device or a tensor"
            )
        if rest:
            rest.pop(0)  # non_blocking
        if rest:
            copy = rest.pop(0)
    if other is not None:
        dtype = other.dtype
    if device is not None:
        resolve(device, "to")
    return dtype, copy, memory_format


@composite(name="to")
def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The tensor with another dtype or device; itself when nothing changes and copy is False."""
    if len(args) == 1 and not kwargs and type(args[0]) is dtypes.dtype:
        return self if args[0] is self.dtype else _to_copy(self, args[0])
    dtype, copy, memory_format = _parse_to(args, kwargs)
    if dtype is None or dtype is self.dtype:
        if memory_format is not None and not copy:
            return self.contiguous(memory_format=memory_format)
        return self.clone() if copy else self
    return _to_copy(self, dtype)


def _cast_method(name: str, dtype: Any) -> None:
    @composite(name=name, doc=f"The tensor as {dtype}.")
    def method(self: Any, memory_format: Any = None) -> Any:
        return self if self.dtype is dtype else _to_copy(self, dtype)


for _name, _dtype in {
    "float": dtypes.float32,
    "double": dtypes.float64,
    "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16,
    "long": dtypes.int64,
    "int": dtypes.int32,
    "short": dtypes.int16,
    "char": dtypes.int8,
    "byte": dtypes.uint8,
    "bool": dtypes.bool,
    "cfloat": dtypes.complex64,
    "cdouble": dtypes.complex128,
}.items():
    _cast_method(_name, _dtype)
    # `torch.float` is a dtype, not this function.
    namespace("torch").pop(_name, None)


@composite
def type_as(self: Any, other: Any) -> Any:
    """The tensor with another tensor's dtype."""
    return self if self.dtype is other.dtype else _to_copy(self, other.dtype)


_core.register(callbacks={"fit_dtype": fit_dtype})
