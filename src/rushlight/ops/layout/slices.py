"""Views of parts: one entry of a dimension, a slice, a diagonal, windows.

The gradient of each is what another op here writes into zeros at the view's place
(`_select_backward`): each is the other's transpose, so every order of derivative is there.
"""

from __future__ import annotations

from operator import index as as_int
from typing import Any

from ... import _core
from ..._base.outside import np
from ..._core import Op
from ..table.arrays import Array, dim_in, is_half
from ..table.kinds import composite, linear
from ..table.signature import Tensor

_kernels = _core.kernels

select: Op = linear(
    "select(input: Tensor, dim: int, index: int)",
    _kernels.select,
    transpose={
        "input": lambda g, input_shape, dim, index: _select_backward(g, input_shape, dim, index)
    },
    backward=(_kernels.select_backward, "g input_shape dim index"),
    view=True,
    out=False,
    samples=lambda make: [(make(2, 3), 0, 1), (make(2, 3, 4), -1, -2)],
    doc="One entry of a dimension, without it.",
)
_select_backward: Op = linear(
    "_select_backward(input: Tensor, shape: Any, dim: int, index: int)",
    _kernels.select_backward,
    transpose={"input": lambda g, dim, index: select(g, dim, index)},
    backward=(_kernels.select, "g dim index"),
    method=False,
    out=False,
    samples=lambda make: [(make(3), (2, 3), 0, 1)],
    stored="all",
    doc="Zeros of a shape, with the input where `select` finds it.",
    written="{input} at {index}, 0 elsewhere",
)

slice_op: Op = linear(
    "_slice(input: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1)",
    _kernels.slice,
    transpose={
        "input": lambda g, input_shape, dim, start, end, step: slice_backward(
            g, input_shape, dim, start, end, step
        )
    },
    backward=(_kernels.slice_backward, "g input_shape dim start end step"),
    view=True,
    method=False,
    out=False,
    samples=lambda make: [
        (make(5, 3), 0, 1, None, 2),
        (make(5, 3), 1, -2, 10, 1),
        (make(5), 0, 3, 1, 1),
    ],
    doc="Every step-th entry of a dimension from start to end, clamped as Python's slices.",
)
slice_backward: Op = linear(
    "_slice_backward(input: Tensor, shape: Any, dim: int, start: int, end: int, step: int)",
    _kernels.slice_backward,
    transpose={"input": lambda g, dim, start, end, step: slice_op(g, dim, start, end, step)},
    backward=(_kernels.slice, "g dim start end step"),
    method=False,
    out=False,
    samples=lambda make: [(make(2, 3), (5, 3), 0, 1, None, 2)],
    stored="all",
    doc="Zeros of a shape, with the input where `slice_op` finds it.",
    written="{input} at {start}:{end}:{step}, 0 elsewhere",
)


def narrowed(input: Tensor, dim: int, start: Any, length: int) -> tuple[int, int]:
    """Where `length` entries of a dimension from `start` on begin and end; torch's errors."""
    if input.ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    shape = input._form.shape
    size = shape[dim_in(dim, len(shape))]
    if isinstance(start, Tensor) and (
        start.ndim or start.is_floating_point() or start.is_complex()
    ):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    start = as_int(start)
    if not -size <= start <= size:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {start})"
        )
    if start < 0:
        start += size
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return start, start + length


@composite(
    samples=lambda make: [(make(5, 3), 0, 1, 2), (make(5, 3), -1, -2, 1)],
    overloads=("(input, dim, start: Tensor, length)", "(input, dim, start: int, length)"),
)
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """`length` entries of a dimension from `start` on."""
    return slice_op(input, dim, *narrowed(input, dim, start, length), 1)


diagonal: Op = linear(
    "diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1)",
    _kernels.diagonal,
    transpose={
        "input": lambda g, input_shape, offset, dim1, dim2: diagonal_backward(
            g, input_shape, offset, dim1, dim2
        )
    },
    backward=(_kernels.diagonal_backward, "g input_shape offset dim1 dim2"),
    view=True,
    out=False,
    samples=lambda make: [(make(3, 4),), (make(3, 4), 1), (make(2, 3, 4), -1, 0, 2)],
    doc="A diagonal of two dimensions, as a new last dimension.",
)
diagonal_backward: Op = linear(
    "_diagonal_backward(input: Tensor, shape: Any, offset: int, dim1: int, dim2: int)",
    _kernels.diagonal_backward,
    transpose={"input": lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2)},
    backward=(_kernels.diagonal, "g offset dim1 dim2"),
    method=False,
    out=False,
    samples=lambda make: [(make(3), (3, 4), 1, 0, 1)],
    doc="Zeros of a shape, with the input on a diagonal.",
    written="{input} on the diagonal, 0 elsewhere",
)


def _unfold_back(g: Array, shape: tuple[int, ...], dimension: int, size: int, step: int) -> Array:
    result = np.zeros(shape, np.float32 if is_half(g) else g.dtype)
    if result.ndim == 0:
        result += g.sum(dtype=result.dtype)
        return result.astype(g.dtype)
    dim = dimension % result.ndim
    windows = g.shape[dim]
    target = np.moveaxis(result, dim, -1)
    source = np.moveaxis(g, dim, -2)
    for k in range(size):
        target[..., k : k + step * windows : step][..., :windows] += source[..., k]
    return result.astype(g.dtype, copy=False)


unfold: Op = linear(
    "unfold(input: Tensor, dimension: int, size: int, step: int)",
    _kernels.unfold,
    transpose={
        "input": lambda g, input_shape, dimension, size, step: unfold_backward(
            g, input_shape, dimension, size, step
        )
    },
    view=True,
    out=False,
    samples=lambda make: [(make(7, 3), 0, 3, 2), (make(7), 0, 2, 1), (make(), 0, 1, 1)],
    where="Tensor",
    doc="Windows of a size along a dimension, every step, as a new last dimension.",
)
unfold_backward: Op = linear(
    "_unfold_backward(input: Tensor, shape: Any, dimension: int, size: int, step: int)",
    _unfold_back,
    native=_kernels.unfold_backward,
    transpose={"input": lambda g, dimension, size, step: unfold(g, dimension, size, step)},
    method=False,
    out=False,
    samples=lambda make: [(make(3, 3, 3), (7, 3), 0, 3, 2)],
    doc="The sum of windows, each at its place.",
    written="{input} added up at its windows",
)
