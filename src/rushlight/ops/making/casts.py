"""The same values with another element type."""

from __future__ import annotations

from typing import Any

from ... import _core
from ..._base import dtypes
from ..._base.device import channels_last, preserve_format
from ..._base.device import device as device_class
from ..._base.device import memory_format as memory_format_class
from ..._base.dtypes import dtype
from ..._core import Tensor
from ..._devices import cpu, of, on
from ..table.arrays import Array, as_type, none_left
from ..table.kinds import composite, linear
from ..table.signature import memory_format
from .copies import format_order, format_strides, lay_out, suggested_format
from .factory import torch_dtype

__all__ = ["fit_dtype", "to", "to_copy", "type_as"]


def _cast(a: Array, dtype: dtype) -> Array:
    return as_type(a, dtype.numpy)


to_copy = linear(
    "_to_copy(input: Tensor, dtype: dtype)",
    _cast,
    native=_core.kernels.to_copy,
    transpose={"input": lambda g, input_dtype: fit_dtype(g, input_dtype)},
    node="ToCopyBackward0",
    method=False,
    out=False,
    samples=lambda make: [(make(2, 3), dtypes.float64)],
    keeps="strides: input",
    stored="all",
    leaves_inference=True,
    doc="The same values with another element type.",
    batch="trailing",
)


def _in_format(input: Tensor, dtype: dtype, memory_format: Any) -> Tensor:
    made = of(input).made(tuple(input.shape), dtype)
    lay_out(made, format_strides(tuple(input.shape), memory_format))
    _core.copy_values(made, to_copy(input, dtype))
    return made


_to_format = linear(
    "_to_format(input: Tensor, dtype: dtype, memory_format: Any)",
    is_=_in_format,
    transpose={"input": lambda g, input_dtype: fit_dtype(g, input_dtype)},
    node="ToCopyBackward0",
    method=False,
    out=False,
    samples=lambda make: [(make(2, 3, 4, 5), dtypes.float64, channels_last)],
    stored="all",
    doc="The same values with another element type, in a memory format.",
    batch="folded",
)


_to_device: Any = linear(
    "_to_device(input: Tensor, *, where: Any = None, back: Any = None)",
    is_=lambda input, where, back: where.from_host(input if back is cpu else back.to_host(input)),
    transpose={"input": lambda g, where, back: _to_device(g, where=back, back=where)},
    node="ToCopyBackward0",
    method=False,
    out=False,
    samples=None,
    formula={"input": "1"},
    stored="all",
    doc="A tensor on another device. back: the one it is on.",
    batch="trailing",
)


def fit_dtype(g: Any, dtype: dtype) -> Any:
    """A gradient with the dtype of what it is the gradient of: real parts for real tensors."""
    if g.dtype.is_complex and not dtype.is_complex:
        g = g.real
    return g if g.dtype is dtype else to_copy(g, dtype)


_TO = ("device", "dtype", "non_blocking", "copy")
_TO_KNOWN = frozenset((*_TO, "tensor", "memory_format"))


def _parse_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool, Any]:
    """The targets of a call of `to`: (device, dtype, copy, memory format). The first argument is a
    device, behind which a dtype may stand, or a dtype, or a tensor that has both."""
    names: tuple[str, ...] = _TO
    if "tensor" in kwargs or (args and isinstance(args[0], Tensor)):
        names = ("tensor", *_TO[2:])
    elif args and isinstance(args[0], (dtypes.dtype, type)):
        names = _TO[1:]
    given = dict(zip(names, args, strict=False))
    if len(args) > len(names) or not given.keys().isdisjoint(kwargs):
        raise TypeError("to() was given too many arguments")
    given |= kwargs
    if not _TO_KNOWN.issuperset(given):
        none_left("to", {k: v for k, v in given.items() if k not in _TO_KNOWN})
    where, dtype = given.get("device"), given.get("dtype")
    for flag in _TO[2:]:
        if flag in given and not isinstance(given[flag], bool):
            raise TypeError(f"to(): argument '{flag}' must be bool")
    layout = given.get("memory_format")
    if layout is not None and not isinstance(layout, memory_format_class):
        raise TypeError("to(): argument 'memory_format' must be torch.memory_format")
    if where is not None:
        if not isinstance(where, (str, int, device_class)):
            raise TypeError("to(): argument 'device' must be torch.device")
        where = on(where, "to")
    if "tensor" in given:
        where, dtype = of(given["tensor"]), given["tensor"].dtype
    elif dtype is not None:
        dtype = torch_dtype(dtype, "to")
    return where, dtype, given.get("copy", False), layout


_TO_MORE = (
    "non_blocking: bool = False, copy: bool = False, *, memory_format: memory_format | None = None"
)


@composite(
    name="to",
    where="Tensor",
    native=_core.kernels.to,
    overloads=(
        f"(self, device: device | None = None, dtype: dtype | None = None, {_TO_MORE})",
        f"(self, dtype: dtype, {_TO_MORE})",
        f"(self, tensor: Tensor, {_TO_MORE})",
    ),
)
def to(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    """The tensor with another dtype or device; itself when nothing changes and copy is False."""
    where, dtype, copy, memory_format = _parse_to(args, kwargs)
    if where is not None and where is not of(self):
        here = of(self)
        moved = _to_device(self, where=where, back=here) if here.has_memory else here.to_host(self)
        return moved if dtype is None or dtype is moved.dtype else to_copy(moved, dtype)
    return _converted(self, self.dtype if dtype is None else dtype, copy, memory_format)


def _converted(t: Tensor, dtype: dtype, copy: bool, memory_format: object) -> Tensor:
    """The tensor with a type and in a format; itself where it is so already."""
    if memory_format is not None:
        format_order(memory_format, t.ndim)
    if memory_format is None or memory_format is preserve_format or not t.ndim:
        if dtype is not t.dtype:
            return to_copy(t, dtype)
        return t.clone() if copy else t
    if dtype is t.dtype and not copy and suggested_format(t) is memory_format:
        return t
    return _to_format(t, dtype, memory_format)


def _cast_method(name: str, dtype: dtype) -> None:
    @composite(name=name, where="Tensor", doc=f"The tensor as {dtype}.")  # `torch.float` is a dtype
    def method(self: Tensor, *, memory_format: memory_format | None = None) -> Any:
        if memory_format is not None:
            return _converted(self, dtype, False, memory_format)
        return self if self.dtype is dtype else to_copy(self, dtype)


# Of the methods that convert, and of a storage's.
CASTS = {
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
}
_COMPLEX = {"chalf": dtypes.complex32, "cfloat": dtypes.complex64, "cdouble": dtypes.complex128}
for _name, _dtype in (CASTS | _COMPLEX).items():
    _cast_method(_name, _dtype)


@composite(where="Tensor")
def type_as(self: Tensor, other: Tensor) -> Any:
    """The tensor with another tensor's dtype."""
    return self if self.dtype is other.dtype else to_copy(self, other.dtype)
