"""Joining tensors (cat, stack and their kin), taking them apart (split, chunk, unbind), and grids.

The two halves are each other's rules: the gradient of `cat` is the pieces of a gradient, that of
`split` the pieces joined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import _core
from ..._base.outside import np
from ..._core import Op, Tensor
from ..._devices import of
from ..making.factory import room_for
from ..table.arrays import Array, as_type, common_type, dim_in
from ..table.kinds import composed, composite, linear
from .slices import slice_op

_kernels = _core.kernels
_wrap = _core.wrap

# ---- joining


def _promoted(join: Any) -> Any:
    """A forward for calls that the kernels leave: arrays of several types, in their common type."""

    def forward(tensors: list[Array], dim: int) -> Array:
        dtype = common_type(*tensors)
        joined: Array = join([a if a.dtype == dtype else as_type(a, dtype) for a in tensors], dim)
        return joined

    return forward


def _some(make: Callable[..., Any]) -> list[Any]:
    return [([make(2, 3), make(1, 3)],), ([make(2, 3), make(2, 1), make(2, 3)], 1), ([make(3)],)]


def _alike(make: Callable[..., Any]) -> list[Any]:
    return [([make(2, 3), make(2, 3)],), ([make(2, 3)] * 3, -1), ([make(), make()],)]


CAST = "torch.cat(): input types can't be cast to the desired output type {got.scalar_name}"

cat: Op = linear(
    "cat(tensors: Sequence[Tensor], dim: int = 0)",
    _promoted(_kernels.cat),
    native=_kernels.cat,
    transpose={"tensors": lambda g, dim, tensors_shape: _taken_apart(g, dim, tensors_shape)},
    backward=(_kernels.cat_backward, "g dim tensors_shape"),
    method=False,
    overlap="never",
    out=("cast", TypeError, CAST),
    samples=_some,
    formula={"tensors": "this tensor's part of g"},
    stored="all",
    autocast="widest",
    doc="Tensors one after the other along a dimension.",
)

stack: Op = linear(
    "stack(tensors: Sequence[Tensor], dim: int = 0)",
    _promoted(_kernels.stack),
    native=_kernels.stack,
    transpose={"tensors": lambda g, dim: unbind(g, dim)},
    backward=(_kernels.unbind, "g dim"),
    method=False,
    overlap="never",
    out=("cast", TypeError, CAST),
    samples=_alike,
    formula={"tensors": "this tensor's entry of g"},
    stored="all",
    autocast="widest",
    doc="Tensors of one shape as the entries of a new dimension.",
)


def _taken_apart(g: Tensor, dim: int, shapes: Sequence[Sequence[int]]) -> list[Any]:
    """The piece of g that belongs to each joined tensor; a skipped empty vector has none."""
    pieces: list[Any] = []
    if all(tuple(shape) == (0,) for shape in shapes):
        return [g] * len(shapes)
    at = 0
    for shape in shapes:
        if len(shape) != g.ndim:
            pieces.append(None)
            continue
        pieces.append(slice_op(g, dim, at, at + shape[dim], 1))
        at += shape[dim]
    return pieces


# ---- taking apart


def _joined(gs: Sequence[Any], shapes: list[tuple[int, ...]], join: Op, dim: int) -> Any:
    """The pieces' gradients put together, zeros where there is none."""
    given = next(g for g in gs if g is not None)
    zero: dict[tuple[int, ...], Any] = {}
    pieces = []
    for g, shape in zip(gs, shapes, strict=True):
        if g is None:
            if shape not in zero:
                made = of(given).tensor(np.zeros(shape, given.dtype.numpy))
                zero[shape] = _core.made_of_numbers(made)
            g = zero[shape]
        pieces.append(g)
    return join(pieces, dim)


def _sized(shape: Sequence[int], dim: int, sizes: Sequence[int]) -> list[tuple[int, ...]]:
    dim = dim % len(shape)
    return [(*shape[:dim], n, *shape[dim + 1 :]) for n in sizes]


def _unsplit(gs: Sequence[Any], shape: Sequence[int], each: int, dim: int) -> Any:
    total = shape[dim]
    sizes = [min(each, total - at) for at in range(0, total, each)] if total else [0]
    return _joined(gs, _sized(shape, dim, sizes), cat, dim)


_split: Callable[..., tuple[Tensor, ...]] = linear(  # type: ignore[assignment]
    "_split(input: Tensor, split_size: int, dim: int = 0)",
    _kernels.split,
    transpose={
        "input": lambda gs, input_shape, split_size, dim: _unsplit(gs, input_shape, split_size, dim)
    },
    node="SplitBackward0",
    view=True,
    multi_view=True,
    method=False,
    out=False,
    samples=lambda make: [(make(5, 3), 2), (make(5, 3), 2, 1)],
    formula={"input": "cat(gs, dim)"},
    doc="Pieces of one size along a dimension.",
)

split_with_sizes: Callable[..., tuple[Tensor, ...]] = linear(  # type: ignore[assignment]
    "split_with_sizes(input: Tensor, split_sizes: Sizes, dim: int = 0) -> tuple[Tensor, ...]",
    _kernels.split,
    transpose={
        "input": lambda gs, input_shape, split_sizes, dim: _joined(
            gs, _sized(input_shape, dim, split_sizes), cat, dim
        )
    },
    view=True,
    multi_view=True,
    out=False,
    samples=lambda make: [(make(5, 3), [1, 4]), (make(5, 3), (1, 0, 2), 1)],
    formula={"input": "cat(gs, dim)"},
    doc="Pieces of the given sizes along a dimension.",
)


@composite(samples=lambda make: [(make(5, 3), 2), (make(5, 3), [2, 3])])
def split(
    tensor: Any, split_size_or_sections: Any = None, dim: int = 0, *, split_size: Any = None
) -> tuple[Tensor, ...]:
    """Pieces along a dimension: of one size, or of the sizes given."""
    size = split_size_or_sections if split_size is None else split_size
    if size is None:
        raise TypeError("Tensor.split() missing 1 required positional argument: 'split_size'")
    if isinstance(size, (tuple, list)):
        return split_with_sizes(tensor, size, dim)
    if not hasattr(size, "__index__"):
        raise TypeError(
            "split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, not "
            f"{type(size).__name__}"
        )
    return _split(tensor, size, dim)


def chunk_size(input: Tensor, chunks: int, dim: int) -> int:
    """How long a piece is where a dimension is cut into so many; torch's errors."""
    shape = input._form.shape
    if not shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    return -(-shape[dim_in(dim, len(shape))] // chunks)


@composite(samples=lambda make: [(make(5, 3), 2), (make(5, 3), 2, 1)])
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of one size along a dimension."""
    size = chunk_size(input, chunks, dim)
    if size == 0:
        room_for(chunks)
        return split_with_sizes(input, [0] * chunks, dim)
    return _split(input, size, dim)


tensor_split = composed(
    "tensor_split(input: Tensor, sections: Tensor | Ints, dim: int = 0) -> tuple[Tensor, ...]",
    _kernels.tensor_split,
    samples=lambda make: [(make(5, 3), 2), (make(5, 3), (1, 3)), (make(5, 3), 4, 1)],
    overloads=(
        "(input, indices: Sizes, dim) -> tuple[Tensor, ...]",
        "(input, tensor_indices_or_sections: Tensor, dim) -> tuple[Tensor, ...]",
        "(input, sections: int, dim) -> tuple[Tensor, ...]",
    ),
    doc="Pieces along a dimension: so many, sizes differing by at most one, or cut at the indices.",
)
for _name in ("hsplit", "vsplit", "dsplit"):
    composed(
        f"{_name}(input: Tensor, sections: Ints) -> tuple[Tensor, ...]",
        getattr(_kernels, _name),
        overloads=(
            "(input, sections: int) -> tuple[Tensor, ...]",
            "(input, indices: Sizes) -> tuple[Tensor, ...]",
        ),
        doc=f"`tensor_split` as numpy.{_name} does it.",
    )


def _unbound(gs: Sequence[Any], shape: Sequence[int], dim: int) -> Any:
    dim = dim % len(shape)
    piece = (*shape[:dim], *shape[dim + 1 :])
    return _joined(gs, [piece] * len(gs), stack, dim)


unbind: Callable[..., tuple[Tensor, ...]] = linear(  # type: ignore[assignment]
    "unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]",
    _kernels.unbind,
    transpose={"input": lambda gs, input_shape, dim: _unbound(gs, input_shape, dim)},
    view=True,
    multi_view=True,
    out=False,
    samples=lambda make: [(make(2, 3),), (make(2, 3), -1)],
    formula={"input": "stack(gs, dim)"},
    doc="The entries of a dimension, as a tuple.",
)


# ---- the same under other names


def _cat_again(name: str) -> None:
    @composite(method=False, name=name, autocast="widest", doc="`cat` under another name.")
    def function(
        tensors: Sequence[Tensor],
        dim: int = 0,
        *,
        axis: int | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        dim = dim if axis is None else axis
        return cat(tensors, dim) if out is None else cat(tensors, dim, out=out)


_cat_again("concat")
_cat_again("concatenate")
