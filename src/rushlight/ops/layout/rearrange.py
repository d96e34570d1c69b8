"""Copies that rearrange elements: turned, rolled, repeated, triangles, diagonals; and grids."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from ... import _core
from ..._base.dtypes import bool as bool_
from ..._base.dtypes import int64
from ..._base.outside import np
from ..._core import Op, Tensor
from ..._devices import of
from ..._levels.running import answered
from ..making.creation import arange, zeros
from ..making.factory import allocate
from ..table.arrays import (
    Array,
    check_room,
    check_tensors,
    common_type,
    dim_in,
    dims_in,
    elements,
    listed,
    scalar_name,
)
from ..table.kinds import composed, composite, linear
from ..table.signature import Ints
from .joining import CAST, stack
from .shape import reshape
from .slices import diagonal, diagonal_backward

_wrap, _kernels = _core.wrap, _core.kernels

# ---- turned and rolled


def _flip(a: Array, dims: tuple[int, ...]) -> Array:
    axes = dims_in(dims, a.ndim)
    if a.ndim == 0:
        return a.copy()
    result = np.empty_like(a)
    result[...] = np.flip(a, axes)
    return result


flip: Op = linear(
    "flip(input: Tensor, *dims: int)",
    _flip,
    native=_kernels.flip,
    transpose={"input": lambda g, dims: flip(g, dims)},
    out=False,
    samples=lambda make: [(make(2, 3), 0), (make(2, 3), (0, -1)), (make(), ())],
    keeps="strides: input",
    stored="all",
    doc="The order of entries reversed along dimensions.",
)


@composite(samples=lambda make: [(make(2, 3),)])
def fliplr(input: Tensor) -> Tensor:
    """Columns in reverse order."""
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


@composite(samples=lambda make: [(make(2, 3),)])
def flipud(input: Tensor) -> Tensor:
    """Rows in reverse order."""
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


def _as_tuple(value: int | tuple[int, ...]) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _roll(a: Array, shifts: int | tuple[int, ...], dims: int | tuple[int, ...]) -> Array:
    by, along = _as_tuple(shifts), _as_tuple(() if dims is None else dims)
    if not by:
        raise RuntimeError("`shifts` required")
    if not along and len(by) == 1:
        return np.roll(a.ravel(), by[0]).reshape(a.shape)
    if len(by) != len(along):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(by)}, dims:{len(along)}"
        )
    if a.ndim == 0:
        for d in along:
            dim_in(d, 0)
        return a.copy()
    return np.ascontiguousarray(np.roll(a, by, tuple([dim_in(d, a.ndim) for d in along])))


roll: Op = linear(
    "roll(input: Tensor, shifts: Ints, dims: Ints | None = ())",
    _roll,
    native=_kernels.roll,
    transpose={
        "input": lambda g, shifts, dims: roll(g, tuple([-s for s in _as_tuple(shifts)]), dims)
    },
    out=False,
    samples=lambda make: [(make(2, 3), 1), (make(2, 3), (1, -2), (0, 1)), (make(4), -1, 0)],
    keeps="format: input",
    formula={"input": "roll(g, −shifts, dims)"},
    stored="all",
    doc="Entries moved along dimensions; what falls off the end comes in at the beginning.",
)


def _rot90(input: Tensor, k: int, dims: Sequence[int]) -> Tensor:
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    first, second = dim_in(dims[0], input.ndim), dim_in(dims[1], input.ndim)
    if first == second:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    # As torch: the memory order of the turned-over copy, seen with the dimensions changed over.
    turned = flip(input, ((), (second,), (first, second), (first,))[k % 4])
    return turned.transpose(first, second) if k % 2 else turned


rot90: Op = linear(
    "rot90(input: Tensor, k: int = 1, dims: Sizes = (0, 1))",
    is_=_rot90,
    batch="along",
    transpose={"input": lambda g, k, dims: rot90(g, -k, dims)},
    node="Rot90Backward0",
    out=False,
    samples=lambda make: [(make(2, 3),), (make(2, 3), 2), (make(2, 3, 4), 3, (2, 0))],
    doc="Turned by quarter turns in the plane of two dimensions (the first two).",
)

# ---- repeated


def _repeat(a: Array, repeats: Sequence[int]) -> Array:
    if len(repeats) < a.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    sizes = (*([1] * (len(repeats) - a.ndim)), *a.shape)
    shape = tuple([n * size for n, size in zip(repeats, sizes, strict=True)])
    if repeats and min(repeats) < 0:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(shape)}: {listed(shape)}"
        )
    result: Array = allocate(shape, a.dtype)
    if not result.size:
        return result
    # A dimension that is repeated is seen as two, its copies and what is copied.
    copies: list[int] = []
    once: list[int] = []
    for n, size in zip(repeats, sizes, strict=True):
        copies += (n, size) if n != 1 else (size,)
        once += (1, size) if n != 1 else (size,)
    result.reshape(copies)[...] = a.reshape(once)
    return result


def _repeat_grad(g: Tensor, shape: Sequence[int], repeats: Sequence[int]) -> Any:
    """Each element's gradient is the sum over its copies."""
    lead = len(repeats) - len(shape)
    if 0 in repeats:
        return zeros(tuple(shape), dtype=g.dtype, device=g.device)
    sizes: list[int] = list(repeats[:lead])
    dims = list(range(lead))
    for n, size in zip(repeats[lead:], shape, strict=True):
        if n != 1:
            dims.append(len(sizes))
            sizes.append(n)
        sizes.append(size)
    return reshape(g, sizes).sum(dims) if dims else reshape(g, sizes)


repeat: Op = linear(
    "repeat(input: Tensor, *repeats: int)",
    _repeat,
    native=_kernels.repeat,
    transpose={"input": lambda g, input_shape, repeats: _repeat_grad(g, input_shape, repeats)},
    out=False,
    samples=lambda make: [(make(2, 3), 2, 1), (make(2, 3), (2, 1, 3)), (make(), 2), (make(3), 4)],
    where="Tensor",
    formula={"input": "g summed over the copies"},
    stored="all",
    doc="Copies side by side, so many along each dimension.",
)


tile = composed(
    "tile(input: Tensor, *dims: Ints)",
    lambda input, dims: repeat(input, (*([1] * (input.ndim - len(dims))), *dims)),
    samples=lambda make: [(make(2, 3), (2,)), (make(3), (2, 2))],
    doc="`repeat` with missing leading counts taken as 1.",
)


def _repeated_places(counts: Array, output_size: int | None) -> Array:
    """0, 1, ... each as often as `counts` says."""
    if counts.dtype.name not in ("int32", "int64"):
        raise NotImplementedError(
            f"\"repeat_interleave_cpu\" not implemented for '{scalar_name(counts)}'"
        )
    if counts.size and counts.min() < 0:
        raise RuntimeError("repeats can not be negative")
    total = counts.sum(dtype=np.float64)
    if total < 2**53 and output_size is not None and output_size != total:
        raise RuntimeError(
            f"allocated size does not match required size. output_size is {output_size}, the "
            f"repeats make {int(total)}."
        )
    allocate((int(total),), np.int64)
    return np.repeat(np.arange(counts.size, dtype=np.int64), np.asarray(counts, np.intp))


def _repeated_index(repeats: Any, counts: Array, output_size: Any) -> Any:
    where = of(repeats)
    if where.has_memory:
        return where.tensor(_repeated_places(counts, output_size))
    if output_size is None:
        raise RuntimeError("cannot repeat_interleave a meta tensor without output_size")
    return where.made((output_size,), int64)


@composite(
    samples=lambda make: [(make(2, 3), 2), (make(2, 3), 3, 1)],
    overloads=(
        "(input, repeats: Tensor, dim, *, output_size: int | None = None)",
        "(repeats: Tensor, *, output_size: int | None = None)",
        "(input, repeats: int, dim, *, output_size: int | None = None)",
    ),
)
@answered("by_element")
def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: Ints | None = None
) -> Tensor:
    """Each entry repeated as often as `repeats` says; over all elements where dim is None."""
    if repeats is None:
        if input.ndim != 1:
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
        return _repeated_index(input, elements(input), output_size)
    if dim is None:
        input, dim = reshape(input, -1), 0
    dim = dim_in(dim, input.ndim)
    if isinstance(repeats, Tensor):
        if repeats.ndim > 1:
            raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
        counts = repeats._seen if repeats._on_meta else elements(repeats)
        if counts.size == 1:
            counts = np.broadcast_to(counts.reshape(1), (input.shape[dim],))
        if counts.size != input.shape[dim]:
            raise RuntimeError(
                "repeats must have the same size as input along dim, but got "
                f"repeats.size(0) = {counts.size} and input.size({dim}) = {input.shape[dim]}"
            )
        index = _repeated_index(repeats, counts, output_size)
        return input.index_select(dim, index)
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    shape = input.shape
    if output_size is not None and output_size != shape[dim] * repeats:
        raise RuntimeError(
            f"repeat_interleave: Invalid output_size, expected {shape[dim] * repeats} but got "
            f"{output_size}"
        )
    return _kernels.repeat_each(input, repeats, dim)


# ---- triangles and diagonals


def _triangle(name: str) -> Op:
    def forward(a: Array, diagonal: int) -> Array:  # the kernels take all others
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")

    op: Op = linear(
        f"{name}(input: Tensor, diagonal: int = 0)",
        forward,
        native=getattr(_kernels, name),
        transpose={"input": lambda g, diagonal: op(g, diagonal)},
        in_place=True,
        samples=lambda make: [(make(3, 4),), (make(2, 3, 3), 1), (make(3, 2), -1)],
        keeps="rows",
        batch="trailing",
        kernel_name=name,
        doc=f"The {'lower' if name == 'tril' else 'upper'} triangle, zeros elsewhere.",
    )
    return op


tril, triu = _triangle("tril"), _triangle("triu")

diag_embed: Op = linear(
    "diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1)",
    native=_kernels.diag_embed,
    is_=lambda input, offset, dim1, dim2: _embedded(input, offset, dim1, dim2),
    transpose={"input": lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2)},
    out=False,
    samples=lambda make: [(make(3),), (make(2, 3), 1), (make(2, 3), -1, 0, 2)],
    stored="all",
    doc="The last dimension laid on the diagonal of two dimensions of zeros.",
)


def _embedded(input: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    ndim = input.ndim + 1
    first, second = dim_in(dim1, ndim), dim_in(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if input.ndim == 0:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got -2)")
    size = input.shape[-1] + abs(offset)
    shape = list(input.shape[:-1])
    for d in sorted((first, second)):
        shape.insert(d, size)
    check_room(shape)
    return diagonal_backward(input, tuple(shape), offset, first, second)


_diagonal_copy: Op = linear(
    "_diagonal_copy(input: Tensor, offset: int = 0)",
    is_=lambda input, offset: diagonal(input, offset, 0, 1).clone(),
    transpose={
        "input": lambda g, input_shape, offset: diagonal_backward(g, input_shape, offset, 0, 1)
    },
    node="DiagonalBackward0_copy",
    method=False,
    out=False,
    samples=lambda make: [(make(3, 4),), (make(3, 4), -1)],
    stored="all",
    doc="A matrix's diagonal, copied.",
)


@composite(samples=lambda make: [(make(3),), (make(3, 4), 1)], out="exact")
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A vector as a diagonal matrix; a matrix's diagonal as a vector."""
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    rows, columns = input.shape  # beyond the corners every diagonal is empty
    return _diagonal_copy(input, max(-rows, min(diagonal, columns)))


@composite(samples=lambda make: [(make(2, 2),)])
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """All elements as a diagonal matrix."""
    return diag_embed(reshape(input, -1), offset)


def _blocks(tensors: list[Array]) -> Array:
    for i, a in enumerate(tensors):
        if a.ndim > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. "
                f"Input {i} has {a.ndim} dimensions"
            )
    blocks = [a.reshape((1,) * (2 - a.ndim) + a.shape) for a in tensors]
    dtype = common_type(*tensors)
    result = np.zeros((sum([b.shape[0] for b in blocks]), sum([b.shape[1] for b in blocks])), dtype)
    row = column = 0
    for b in blocks:
        result[row : row + b.shape[0], column : column + b.shape[1]] = b
        row, column = row + b.shape[0], column + b.shape[1]
    return result


def _unblocked(g: Tensor, shapes: Sequence[Sequence[int]]) -> list[Any]:
    pieces, row, column = [], 0, 0
    for shape in shapes:
        rows, columns = (1, 1, *shape)[-2:]
        piece = g.narrow(0, row, rows).narrow(1, column, columns)
        pieces.append(reshape(piece, shape))
        row, column = row + rows, column + columns
    return pieces


_block_diag: Op = linear(
    "_block_diag(tensors: Sequence[Tensor])",
    _blocks,
    native=_kernels.block_diag,
    transpose={"tensors": lambda g, tensors_shape: _unblocked(g, tensors_shape)},
    method=False,
    out=False,
    samples=lambda make: [([make(2, 3), make(3), make(), make(1, 2)],)],
    formula={"tensors": "this tensor's block of g"},
    stored="all",
    doc="Matrices along the diagonal of a matrix of zeros.",
)


@composite(method=False)
def block_diag(*tensors: object) -> Tensor:
    """Matrices along the diagonal of a matrix of zeros."""
    if not tensors:
        return _wrap(np.zeros((1, 0), np.float32))
    return _block_diag(list(tensors))


# ---- grids


meshgrid = composed(
    "meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Any, ...]",
    _kernels.meshgrid,
    method=False,
    doc="The grid of several vectors: each expanded along the others' dimensions.",
)


@composite(method=False)
def cartesian_prod(*tensors: Any) -> Tensor:
    """Every choice of one element of each vector, as rows."""
    for x in tensors:
        if x.ndim != 1:
            raise RuntimeError("Expect a 1D vector, but got shape " + listed(x.shape))
    if len(tensors) == 1:
        return tensors[0]
    return stack([reshape(x, -1) for x in meshgrid(*tensors, indexing="ij")], 1)


@composite(samples=lambda make: [(make(4),), (make(3), 3), (make(3), 2, True)])
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Every choice of r elements of a vector, in order, as rows."""
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {listed(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return of(input).made((0,), input._form.dtype)
    n = input.numel()
    if n < 2:  # one row at the most
        rows = input.narrow(0, 0, n if with_replacement or r == 1 else 0)
        return stack([rows], 1).expand(-1, r).clone()
    if r * math.log2(n) >= 63:
        raise RuntimeError(
            f"numel: integer multiplication overflow. {n} elements to the power of {r}"
        )
    mask = of(input).made((n,) * r, bool_, True)
    places = [arange(n, device=input.device).view(-1, *[1] * (r - 1 - d)) for d in range(r)]
    for low, high in itertools.pairwise(places):
        mask &= low <= high if with_replacement else low < high
    grids = meshgrid(*[input] * r, indexing="ij")
    return stack([grid.masked_select(mask) for grid in grids], 1)


# ---- at least so many dimensions


def _at_least(name: str) -> None:
    ndim = int(name[8])

    @composite(
        method=False,
        name=name,
        signature=f"{name}(*tensors: Tensor) -> Any",
        doc=f"Tensors with at least {ndim} dimension{'s' * (ndim > 1)}.",
    )
    def function(*tensors: Any) -> Any:
        one = len(tensors) == 1
        given = tensors[0] if one and isinstance(tensors[0], (tuple, list)) else tensors
        check_tensors(given)
        made = tuple([_kernels.at_least(x, ndim) for x in given])
        return made[0] if given is tensors and one else made


for _name in ("atleast_1d", "atleast_2d", "atleast_3d"):
    _at_least(_name)
for _name, _doc in {
    "hstack": "Joined column by column (vectors end to end).",
    "vstack": "Joined row by row.",
    "row_stack": "Joined row by row.",
    "dstack": "Joined along the third dimension.",
    "column_stack": "Vectors as columns, joined with matrices.",
}.items():
    composed(
        f"{_name}(tensors: Sequence[Tensor])",
        getattr(_kernels, _name),
        method=False,
        out=("cast", TypeError, CAST),
        stored="all",
        doc=_doc,
    )
