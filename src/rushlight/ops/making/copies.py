"""The same elements: `alias`, copies, and the order in which elements lie in memory."""

from __future__ import annotations

from typing import Any

from ... import _core
from ..._base.device import channels_last, channels_last_3d, contiguous_format, preserve_format
from ..._base.outside import np
from ..._core import Op
from ..table.arrays import Array
from ..table.kinds import composed, linear

_kernels = _core.kernels

alias: Op = linear(
    "alias(input: Tensor)",
    lambda a: a,
    native=_core.kernels.alias,
    transpose={"input": lambda g: g},
    view=True,
    method=False,
    out=False,
    samples=lambda make: [(make(2, 3),)],
    where="",
    doc="A view of everything.",
    batch="trailing",
)

_ORDERS = {"channels_last": (0, 2, 3, 1), "channels_last_3d": (0, 2, 3, 4, 1)}


def format_order(memory_format: Any, ndim: int) -> tuple[int, ...] | None:
    """The order of dimensions in memory; None where it is that of the shape."""
    if memory_format is channels_last or memory_format is channels_last_3d:
        order = _ORDERS[memory_format._name]
        if ndim != len(order):
            raise RuntimeError(
                f"required rank {len(order)} tensor to use {memory_format._name} format. "
                f"This one has {ndim} dimensions."
            )
        return order
    return None


def format_strides(shape: tuple[int, ...], memory_format: Any) -> tuple[int, ...]:
    """The strides of a tensor that lies in memory in a format."""
    order = format_order(memory_format, len(shape))
    strides, step = [0] * len(shape), 1
    for dim in reversed(order or range(len(shape))):
        strides[dim] = step
        step *= shape[dim] if order else max(shape[dim], 1)
    return tuple(strides)


def suggested_format(t: Any) -> Any:
    """The format that a tensor lies in memory in, as its strides tell."""
    if _core.suggests_channels_last(t):
        return channels_last if t.ndim == 4 else channels_last_3d
    return contiguous_format


def like_strides(t: Any, memory_format: Any) -> tuple[int, ...] | None:
    """The strides of a new tensor like another, in a format; None where they are row-major."""
    if memory_format is None or memory_format is preserve_format:
        return _core.like_strides(t)
    if format_order(memory_format, t.ndim) is None:
        return None
    return format_strides(tuple(t.shape), memory_format)


def lay_out(t: Any, strides: tuple[int, ...] | None) -> Any:
    """A new tensor whose values do not matter or are all the same, with these dense strides."""
    if strides is not None:
        _core.take_place(t, _core.storage_of(t), t.shape, strides, 0)
    return t


def copied(a: Array, memory_format: Any) -> Any:
    """A copy in a memory format, or with the order of its strides."""
    if memory_format is None or memory_format is preserve_format:
        return a.copy(order="K")
    strides = format_strides(a.shape, memory_format)
    copy = lay_out(_core.wrap(np.empty(a.shape, a.dtype)), strides)
    copy._array[...] = a
    return copy


clone: Op = linear(
    "clone(input: Tensor, *, memory_format: memory_format | None = None)",
    copied,
    native=_kernels.clone,
    transpose={"input": lambda g: g},
    out=False,
    samples=lambda make: [(make(2, 3),), (make(),), (make(2, 3).t(),)],
    stored="all",
    leaves_inference=True,
    doc="A copy, which gradients flow through.",
    batch="trailing",
)

contiguous_copy: Op = linear(
    "_contiguous_copy(input: Tensor)",
    lambda a: a.copy(),
    native=_kernels.contiguous_copy,
    transpose={"input": lambda g: g},
    node="CloneBackward0",
    method=False,
    out=False,
    samples=lambda make: [(make(2, 3).t(),)],
    keeps="rows",
    stored="all",
    doc="A copy whose memory order is that of the shape.",
    batch="trailing",
)


contiguous = composed(
    "contiguous(input: Tensor, *, memory_format: memory_format = torch.contiguous_format)",
    _kernels.contiguous,
    where="Tensor",
    doc="The tensor itself when it is contiguous, else a contiguous copy.",
)
