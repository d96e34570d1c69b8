"""How kernels are started: what the functions of this folder share.

What a kernel gets: for a tensor BUFFER(p), its memory and its place in bytes; for an int an i64;
for `number(x)` a T; for a `layout` a Layout. Tensors that a kernel reads as OF(type, p) are
contiguous: see `rows`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import _core
from ... import _dtypes as dtypes
from ..._core import Tensor
from ..opencl import LIMITS, kernel

__all__ = [
    "code",
    "computed",
    "empty",
    "layout",
    "made",
    "number",
    "rows",
    "start",
    "takes",
    "told",
]

_DIMS, _GROUP = LIMITS["DIMS"], LIMITS["GROUP"]


def start(
    file: str,
    name: str,
    items: int,
    like: Tensor,
    *arguments: Any,
    more: str = "",
    computes: str | None = None,
) -> None:
    """Start a kernel of a file on `items` work items, on the device of `like` and in its type.

    T is the type that elements of `like` are computed in: float for the halves, i64 for integers.
    more: other options of the compiler, such as "-DWIDTH=4". computes: the name of another dtype
    for T.
    """
    device = like._accelerator
    number = kernel(device, file, name, computes or computed(like.dtype), more)
    _core.accelerator_launch(number, items, _GROUP, arguments)


def computed(dtype: Any) -> str:
    """The name of the dtype that elements of a dtype are computed in."""
    if dtype.is_floating_point:
        return "float64" if dtype is dtypes.float64 else "float32"
    return "int64"


def takes(*tensors: Any) -> bool:
    """Whether all are tensors on one accelerator, of element types that kernels read."""
    device = tensors[0]._accelerator if isinstance(tensors[0], Tensor) else None
    return device is not None and all(
        isinstance(t, Tensor) and t._accelerator == device and t.dtype.code <= dtypes.float64.code
        for t in tensors
    )


def code(tensor: Tensor) -> int:
    """The number of its element type, for `load` and `store`."""
    return int(tensor.dtype.code)


def number(value: float, like: Tensor) -> Any:
    """A number in the type that elements of `like` are computed in."""
    return getattr(np, computed(like.dtype))(value)


def told(like: Tensor, what: str) -> tuple[Tensor, int]:
    """What a kernel's TELLS are: it reports a number of this kind ("index") that it cannot use."""
    device: Any = like._accelerator
    return _core.accelerator_report(device, what)


def empty(shape: Sequence[int], like: Tensor, dtype: Any = None) -> Tensor:
    """A contiguous tensor that nobody wrote, on the device of `like`."""
    wanted = like.dtype if dtype is None else dtype
    device: Any = like._accelerator
    return _core.empty_accelerated(device, tuple(shape), wanted.code)


def made(name: str, *args: Any) -> Any:
    """New tensors on the device for the results of a kernel of the CPU, and its errors.

    The kernel is called with tensors on meta of the same layouts, so it looks at its arguments and
    computes nothing. NotImplemented, or None among the results, is passed on.
    """
    like = next(a for a in _flat(args) if isinstance(a, Tensor))
    return _there(getattr(_core.kernels, name)(*map(_on_meta, args)), like._accelerator)


def _flat(args: Any) -> Any:
    for a in args:
        if isinstance(a, (list, tuple)):
            yield from _flat(a)
        else:
            yield a


def _on_meta(value: Any) -> Any:
    if isinstance(value, Tensor):
        return _core.empty_meta(tuple(value.shape), value.dtype.code, value.stride())
    if isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) for v in value):
        return type(value)(map(_on_meta, value))
    return value


def _there(value: Any, device: Any) -> Any:
    if isinstance(value, Tensor):
        shape, code, strides = tuple(value.shape), value.dtype.code, value.stride()
        return _core.empty_accelerated(device, shape, code, strides)
    if isinstance(value, tuple):
        return tuple(_there(v, device) for v in value)
    return value


def rows(tensor: Tensor, dtype: Any = None) -> Tensor:
    """The tensor itself, or a copy: contiguous, and of a dtype where one is given."""
    if tensor.is_contiguous() and (dtype is None or tensor.dtype is dtype):
        return tensor
    made = empty(tensor.shape, tensor, dtype)
    _core.copy_values(made, tensor)
    return made


def layout(tensor: Tensor, sizes: Sequence[int] | None = None, strides: Any = None) -> bytes | None:
    """Where its elements lie, or where those of other sizes and strides (in elements) do.

    Neighbouring dimensions that are gone through in one step are joined; None where more than six
    are left.
    """
    sizes = tensor.shape if sizes is None else sizes
    strides = tensor.stride() if strides is None else strides
    joined: list[tuple[int, int]] = []
    for size, stride in zip(sizes, strides, strict=True):
        if size == 1:
            continue
        if joined and joined[-1][1] == stride * size:
            joined[-1] = joined[-1][0] * size, stride
        else:
            joined.append((size, stride))
    if len(joined) > _DIMS:
        return None
    item, rest = tensor.element_size(), [0] * (_DIMS - len(joined))
    sizes = [size for size, _ in joined] + rest
    steps = [stride * item for _, stride in joined] + rest
    return struct.pack("13q", len(joined), *sizes, *steps)
