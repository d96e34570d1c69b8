"""take and put (a tensor as one row), take_along_dim, masked_select, masked_scatter, nonzero."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import _core
from ..._base import determinism as _determinism
from ..._base.outside import np
from ..._base.size import Size
from ..._core import Op
from ..elementwise.selection import fill_, masked_fill, where
from ..layout.shape import common_shape, expand
from ..layout.slices import diagonal, select, slice_backward, slice_op
from ..making.creation import zeros_like
from ..table.arrays import Array, anywhere, check_tensor, dim_in, distinct, scalar_name
from ..table.kinds import composite, constant, linear
from ..table.names import publish
from ..table.reference import add_method
from ..table.signature import Number, Tensor
from .scatter import distinct_index, flat, gather

__all__: list[str] = []

_kernels = _core.kernels

# ---- take and put: the tensor as one row


def _long(op: str, index: Array) -> None:
    if index.dtype != np.int64:
        raise RuntimeError(
            f"{op}(): Expected a long tensor for index, but got {scalar_name(index)}"
        )


def _in_row(index: Array, n: int) -> None:
    index = distinct(index)
    if index.size and (index.min() < -n or index.max() >= n):
        bad = index[(index < -n) | (index >= n)].flat[0]
        raise IndexError(f"out of range: tried to access index {bad} on a tensor of {n} elements.")


def _take(x: Array, index: Array) -> Array:
    _long("take", index)
    if index.size and x.size == 0:
        raise IndexError("take(): tried to take from an empty tensor")
    _in_row(index, x.size)
    return _kernels.index_get(flat(x), index, tuple(range(max(x.ndim, 1))), 0)


def _take_back(g: Array, index: Array, shape: tuple[int, ...]) -> Array:
    if not shape:
        return _kernels.index_backward(g, index, (0,), 0, (1,)).reshape(())
    return _kernels.index_backward(g, index, tuple(range(len(shape))), 0, shape)


take: Op = linear(
    "take(input: Tensor, index: Tensor)",
    _take,
    native=_kernels.take,
    transpose={"input": lambda g, index, input_shape: _take_backward(g, index, input_shape)},
    out="take(): self and out expected to have the same dtype, but got self.dtype = "
    "{want.scalar_name} and out.dtype = {got.scalar_name}",
    samples=lambda make: [(make(3, 4), make(2, 3, low=-12, high=12, kind="int"))],
    doc="The elements at an index into all of the input, row by row.",
)
_take_backward: Op = linear(
    "_take_backward(input: Tensor, index: Tensor, shape: Any)",
    _take_back,
    native=_kernels.take_backward,
    transpose={"input": lambda g, index: take(g, index)},
    method=False,
    out=False,
    samples=lambda make: [(make(2, 3), make(2, 3, low=-12, high=12, kind="int"), (3, 4))],
    doc="Zeros of a shape with the input added where `take` reads.",
    written="{input} added up at {index}, 0 elsewhere",
)


def _write_put(x: Array, index: Array, source: Array, accumulate: bool) -> None:
    if not accumulate:
        _determinism.alert("put_")
    _long("put_", index)
    if x.dtype != source.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{scalar_name(x)} and source.dtype = {scalar_name(source)}"
        )
    if index.size != source.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.size}, index.numel() = {index.size}"
        )
    if index.size and x.size == 0:
        raise IndexError("put_(): Tried to put elements into an empty tensor")
    _in_row(index, x.size)
    dims = tuple(range(max(x.ndim, 1)))
    _kernels.index_put(flat(x), index.reshape(-1), dims, 0, source.reshape(-1), bool(accumulate))


put: Op = linear(
    "put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False)",
    write=_write_put,
    native=_kernels.put,
    overlap="never late",
    transpose={
        "input": lambda g, index, accumulate: (
            g if accumulate else put(g, index, zeros_like(index).to(g.dtype))
        ),
        "source": lambda g, index, source_shape: take(g, index).reshape(source_shape),
    },
    in_place=True,
    keeps="strides: input",
    samples=lambda make: [
        (make(3, 4), distinct_index(make, 1, 12).reshape(12)[:3], make(3)),
        (make(3, 4), make(2, 3, low=0, high=12, kind="int"), make(2, 3), True),
    ],
    doc="The input with source written, or added, at an index into all of it, row by row.",
)


@composite(
    samples=lambda make: [(make(3, 4), make(3, 2, low=0, high=4, kind="int"), 1)], out="exact"
)
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """gather with broadcasting: the elements of a dimension at indices, as argsort gives them."""
    if indices.dtype.name != "int64":
        raise RuntimeError(
            "torch.take_along_dim(): dtype of indices should be Long but got "
            f"{indices.dtype.scalar_name}"
        )
    if dim is None:
        input, indices, dim = input.reshape(-1), indices.reshape(-1), 0
    else:
        if input.ndim != indices.ndim:
            raise RuntimeError(
                "torch.take_along_dim(): input and indices should have the same number of "
                f"dimensions, but got {input.ndim} dimensions for input, and {indices.ndim} "
                "dimensions for indices"
            )
        if input.ndim == 0:
            raise IndexError("Dimension specified as 0 but tensor has no dimensions")
        dim = dim_in(dim, input.ndim)
        have, want = list(input.shape), list(indices.shape)
        have[dim] = want[dim]
        common = common_shape([have, want])
        input = expand(input, [*common[:dim], input.shape[dim], *common[dim + 1 :]])
        indices = expand(indices, common)
    size = input.shape[dim] if input.ndim else 1
    negative = _kernels.any_negative(indices)
    if anywhere(indices < 0) if negative is NotImplemented else negative:
        indices = where(indices < 0, indices + size, indices)
    return gather(input, dim, indices)


# ---- masks


def _masked_select(x: Array, mask: Array) -> Array:
    if mask.dtype != np.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = common_shape([mask.shape, x.shape])
    if mask.shape != shape:
        mask = np.broadcast_to(mask, shape)
    if x.shape != shape:
        x = np.broadcast_to(x, shape)
    return x[mask]


def _spread(g: Array, mask: Array, shape: tuple[int, ...]) -> Array:
    shape = common_shape([mask.shape, shape])
    out = np.zeros(shape, g.dtype)
    out[np.broadcast_to(mask, shape)] = g
    return out


masked_select: Op = linear(
    "masked_select(input: Tensor, mask: Tensor)",
    _masked_select,
    native=_kernels.masked_select,
    transpose={"input": lambda g, mask, input_shape: _masked_select_backward(g, mask, input_shape)},
    out="same",
    samples=lambda make: [
        (make(3, 4), make(3, 4, kind="bool")),
        (make(3, 4), make(4, kind="bool")),
        (make(4), make(3, 4, kind="bool")),
    ],
    stored="all",
    by_values="masked_select",
    doc="The elements where a mask holds, as one row.",
)
_masked_select_backward: Op = linear(
    "_masked_select_backward(input: Tensor, mask: Tensor, shape: Any)",
    _spread,
    native=_kernels.masked_select_backward,
    transpose={
        "input": lambda g, mask: masked_select(g, mask),
    },
    method=False,
    out=False,
    stored="all",
    doc="Zeros with the input where a mask holds.",
    written="{input} where {mask}, 0 elsewhere",
)


def _write_masked(x: Array, mask: Array, source: Array) -> None:
    if mask.dtype != np.bool_:
        raise RuntimeError(
            "masked_scatter_ only supports boolean masks, but got mask with dtype "
            f"{scalar_name(mask)}"
        )
    if source.dtype != x.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got"
            f"{scalar_name(x)} and {scalar_name(source)}"
        )
    shape = common_shape([mask.shape, x.shape])
    if shape != x.shape:
        _core.refuse_shape(x.shape, shape)
    mask = np.broadcast_to(mask, shape)
    n = int(np.count_nonzero(mask))
    if source.size < n:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    x[mask] = source.reshape(-1)[:n]


def _masked_scatter(x: Array, mask: Array, source: Array) -> Array:
    out = np.broadcast_to(x, common_shape([mask.shape, x.shape])).copy()
    _write_masked(out, mask, source)
    return out


def _to_source(g: Tensor, mask: Tensor, source_shape: Size) -> Tensor:
    taken = masked_select(g, mask)
    n, size = taken.shape[0], math.prod(source_shape)
    if n != size:
        taken = slice_backward(taken, (size,), 0, 0, n, 1)
    return taken.reshape(source_shape)


masked_scatter: Op = linear(
    "masked_scatter(input: Tensor, mask: Tensor, source: Tensor)",
    _masked_scatter,
    native=_kernels.masked_scatter,
    write=_write_masked,
    overlap="arguments",
    transpose={
        "input": lambda g, mask: masked_fill(g, mask, 0),
        "source": lambda g, mask, source_shape: _to_source(g, mask, source_shape),
    },
    in_place=True,
    samples=lambda make: [(make(3, 4), make(3, 4, kind="bool"), make(3, 4))],
    formula={"input": "0 if mask else 1", "source": "g where mask"},
    doc="The input with the elements of source, in order, where a mask holds.",
)

# ---- where the zeros are not


def _nonzero(x: Array) -> Array:
    if x.ndim == 0:
        return np.zeros((int(bool(x != 0)), 0), np.int64)
    return np.argwhere(x)


_nonzero_rows = constant(
    "nonzero(input: Tensor)",
    _nonzero,
    native=_kernels.nonzero,
    out="nonzero: Expected out tensor to have scalar type {want.scalar_name} but got scalar "
    "type{got.scalar_name}",
    samples=lambda make: [(make(3, 4, kind="bool"),), (make(3),)],
    overloads=(
        "(input)",
        "(input, *, as_tuple: bool) -> Any",
    ),
    kernel_name="nonzero_count_cpu",
    by_values="nonzero",
    doc="The indices of the elements that are not zero, one a row.",
)
_nonzero_columns = constant(
    "_nonzero_columns(input: Tensor)",
    lambda x: tuple(np.ascontiguousarray(c) for c in np.nonzero(flat(x))),
    native=_kernels.nonzero_columns,
    method=False,
    out=False,
    by_values="nonzero",
    doc="The same, one tensor a dimension.",
)


def nonzero(input: Tensor, *, as_tuple: bool = False, **out: object) -> Any:
    """The indices of what is not zero: one a row, or (as_tuple) one tensor a dimension."""
    check_tensor("nonzero", input)
    if as_tuple:
        if out.get("out") is not None:
            raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
        return tuple(_nonzero_columns(input))
    return _nonzero_rows(input, **out)


add_method("nonzero", nonzero, function=True)


@composite
def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not zero, one a row."""
    return _nonzero_rows(input)


# ---- a part of the input replaced


def _sliced(a: Array, dim: int, start: int, end: int, step: int) -> Array:
    if a.ndim == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    return _kernels.slice(a, dim, start, end, step)


def _replaced(input: Array, src: Array, part: Callable[..., Any], name: str) -> Array:
    out = input.copy()
    target = part(out)
    if target.shape != src.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the {name} of self. src size = "
            f"{list(src.shape)}, {name} size = {list(target.shape)}"
        )
    with np.errstate(all="ignore"):
        target[...] = src
    return out


select_scatter: Op = linear(
    "select_scatter(input: Tensor, src: Tensor, dim: int, index: int)",
    lambda a, src, dim, index: _replaced(
        a, src, lambda out: _kernels.select(out, dim, index), "slice"
    ),
    native=_kernels.select_scatter,
    keeps="strides: input",
    transpose={
        "input": lambda g, dim, index, src_shape: select_scatter(
            g, zeros_like(select(g, dim, index)), dim, index
        ),
        "src": lambda g, dim, index: select(g, dim, index),
    },
    out=False,
    samples=lambda make: [(make(2, 3), make(3), 0, 1), (make(2, 3), make(2), 1, -1)],
    stored="all",
    doc="The input with src in the place of one entry of a dimension.",
)
slice_scatter: Op = linear(
    "slice_scatter(input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, "
    "end: int | None = None, step: int = 1)",
    lambda a, src, dim, start, end, step: _replaced(
        a, src, lambda out: _sliced(out, dim, start, end, step), "slice"
    ),
    native=_kernels.slice_scatter,
    keeps="strides: input",
    transpose={
        "input": lambda g, dim, start, end, step: slice_scatter(
            g, zeros_like(slice_op(g, dim, start, end, step)), dim, start, end, step
        ),
        "src": lambda g, dim, start, end, step: slice_op(g, dim, start, end, step),
    },
    out=False,
    samples=lambda make: [(make(4, 3), make(2, 3), 0, 1, 3), (make(2, 5), make(2, 2), 1, 0, 4, 2)],
    stored="all",
    doc="The input with src in the place of a slice.",
)
diagonal_scatter: Op = linear(
    "diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1)",
    lambda a, src, offset, dim1, dim2: _replaced(
        a, src, lambda out: _kernels.diagonal(out, offset, dim1, dim2), "slice"
    ),
    native=_kernels.diagonal_scatter,
    keeps="strides: input",
    transpose={
        "input": lambda g, offset, dim1, dim2: diagonal_scatter(
            g, zeros_like(diagonal(g, offset, dim1, dim2)), offset, dim1, dim2
        ),
        "src": lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2),
    },
    out=False,
    samples=lambda make: [(make(3, 3), make(3)), (make(3, 4), make(3), 1)],
    stored="all",
    doc="The input with src in the place of a diagonal.",
)


def fill_diagonal_(input: Tensor, fill_value: Number, wrap: bool = False) -> Tensor:
    """Write a number to the diagonal, in place; wrap goes on below it in tall matrices."""
    _core.check_captured(input, "fill_diagonal_", None)
    ndim, shape = input.ndim, input.shape
    if ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if ndim > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    strides, start, rows = input.stride(), input.storage_offset(), shape[0]
    # Where it wraps, the diagonal begins anew below a row that is left out.
    below = shape[1] + 1 if wrap and ndim == 2 and shape[1] else max(rows, 1)
    for row in range(0, rows, below):
        n = min(min(shape[1:]), rows - row)
        fill_(input.as_strided((n,), (sum(strides),), start + row * strides[0]), fill_value)
    return input


publish("Tensor", "fill_diagonal_", fill_diagonal_)
