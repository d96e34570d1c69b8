"""Reductions of segments of a dimension; where the entries are that are not zero, padded; indices
into a flattened tensor as indices of its dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ... import _core
from ..._base import dtypes
from ..._base.outside import np, ufuncs
from ..._devices import of
from ..._levels.running import answered
from ..elementwise.selection import unless, where
from ..making.factory import allocate
from ..reduction.reductions import divisible, products_of_others
from ..table.arrays import Array, anywhere, dim_in, elements, refuse, rounded, widened
from ..table.kinds import composite, constant, general
from ..table.signature import Number, Tensor

# ---- segments

_UFUNCS: dict[str, Any] = {
    "sum": (ufuncs.add, 0.0),
    "mean": (ufuncs.add, 0.0),
    "prod": (ufuncs.multiply, 1.0),
    "max": (ufuncs.maximum, -math.inf),
    "min": (ufuncs.minimum, math.inf),
}
_SAME = {"amax": "max", "amin": "min"}


def _segment_reduce(
    data: Array, lengths: Array, reduce: str, axis: int, initial: float | None
) -> Array:
    refuse("_segment_reduce_cpu", data, "biuc")
    ufunc, neutral = _UFUNCS[reduce]
    wide = widened(data)
    lead, tail = data.shape[:axis], data.shape[axis + 1 :]
    x = wide.reshape(math.prod(lead), data.shape[axis], *tail)
    counts = lengths.reshape(len(x), lengths.shape[-1])
    out = np.full((*counts.shape, *tail), neutral if initial is None else initial, wide.dtype)
    with np.errstate(all="ignore"):
        for row, sizes, found in zip(x, counts, out, strict=True):
            some = sizes > 0
            if some.any():
                starts = (np.cumsum(sizes) - sizes)[some]
                found[some] = ufunc(found[some], ufunc.reduceat(row[: sizes.sum()], starts, 0))
        if reduce == "mean":
            size = counts.reshape(*counts.shape, *(1,) * len(tail))
            empty = np.nan if initial is None else initial
            out = np.where(size > 0, out / np.maximum(size, 1), empty).astype(wide.dtype)
    return rounded(out.reshape(*lead, counts.shape[-1], *tail), data)


def _by_kernel(data: Tensor, lengths: Array, *how: Any) -> Any:
    sizes = np.ascontiguousarray(lengths, np.int64)
    return _core.kernels.segment_reduce(data, _core.wrap(sizes), *how)


def _owners(lengths: Array, size: int) -> tuple[Array, Array]:
    """The segment of each of `size` places, and whether the place has a segment."""
    rows = lengths.reshape(-1, lengths.shape[-1])
    ids = np.zeros((len(rows), size), np.int64)
    for row, sizes in zip(ids, rows, strict=True):
        owner = np.repeat(np.arange(len(sizes)), np.asarray(sizes, np.intp))
        row[: len(owner)] = owner
    inside = np.arange(size) < rows.sum(-1, keepdims=True)
    shape = (*lengths.shape[:-1], size)
    return ids.reshape(shape), inside.reshape(shape)


def _segment_vjp(
    g: Tensor,
    data: Tensor,
    out: Tensor,
    lengths: Array,
    reduce: str,
    axis: int,
    initial: float | None,
) -> Tensor:
    if not out.numel():
        return data * 0
    size = data.shape[axis]
    ids, inside = _owners(lengths, size)
    tail = (1,) * (data.ndim - axis - 1)
    at = of(data).tensor(ids.reshape(*ids.shape, *tail)).expand(data.shape)
    kept = of(data).tensor(inside.reshape(*inside.shape, *tail))

    def spread(t: Tensor) -> Tensor:
        return t.gather(axis, at)

    def summed(t: Tensor) -> Tensor:
        return segment_op(t, lengths, "sum", axis, None)

    whole = spread(g).masked_fill(~kept, 0)
    if reduce == "sum":
        return whole
    if reduce == "mean":
        sizes = of(data).tensor(np.maximum(lengths, 1).reshape(*lengths.shape, *tail))
        return whole / spread(sizes.expand(out.shape)).to(data.dtype)
    if reduce in ("max", "min"):
        best = spread(out)
        same = (data == best) | ((data != data) & (best != best))
        return where(same, whole / spread(summed(same.to(data.dtype))).clamp(min=1), 0)
    products = spread(out)
    if divisible(data, products) and not anywhere(data != data):
        return whole * products / data
    first = 1.0 if initial is None else initial
    groups = unless(~kept, at, -1).movedim(axis, -1)
    others = products_of_others(data.movedim(axis, -1), groups, int(lengths.max()))
    return whole * others.movedim(-1, axis) * first


segment_op: Any = general(
    "_segment_reduce(data: Tensor, lengths: Any, reduce: str, axis: int, initial: Any)",
    _segment_reduce,
    native=_by_kernel,
    vjp={"data": _segment_vjp},
    node="SegmentReduceBackward0",
    method=False,
    out=False,
    samples=lambda make: (
        [
            (make(6), np.array([3, 1, 2]), how, 0, first)
            for how, first in (
                ("sum", 1),
                ("mean", None),
                ("prod", 2),
                ("max", -1.0),
                ("min", None),
            )
        ]
        + [(make(2, 4, 2), np.array([[1, 3], [2, 2]]), "prod", 1, None)]
    ),
    doc="Sums, means, products or extremes of segments of one dimension.",
)


@composite(method=False)
@answered("by_element")
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Number | None = None,
) -> Tensor:
    """The sum, mean, prod, max or min of each segment of a dimension, given by lengths or offsets.

    The lengths have data's dimensions before axis, and those of the segments. initial: what each
    segment begins with.
    """
    if reduce not in ("sum", "prod", "mean", "max", "min", "amax", "amin"):
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    axis = dim_in(axis, data.ndim)
    if lengths is None and offsets is None:
        if indices is not None:
            raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    what = "lengths" if lengths is not None else "offsets"
    given: Any = lengths if lengths is not None else offsets
    if given.ndim - 1 != axis:
        raise RuntimeError(
            f"segment_reduce(): Expected axis to be the last dimension of {what} but got {axis}."
        )
    if given.dtype.name not in ("int32", "int64"):
        raise NotImplementedError(
            f'"_segment_reduce_{what}_cpu_kernel1" not implemented for '
            f"'{given.dtype.scalar_name}'"
        )
    counts = given if lengths is not None else given.diff(dim=-1)
    if anywhere(counts < 0):
        raise RuntimeError(f"{what} contains negative value!")
    if tuple(given.shape[:-1]) != tuple(data.shape[:axis]):
        raise RuntimeError(
            f"segment_reduce(): Expected {what} to have data's dimensions before axis, but they "
            f"are of the shape {list(given.shape)}, data of {list(data.shape)}"
        )
    total = counts.sum(-1)
    if lengths is not None and not unsafe and anywhere(total != data.shape[axis]):
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to "
            "data.size(lengths.dim()-1) when !unsafe."
        )
    if anywhere(total > data.shape[axis]) or anywhere(counts > data.shape[axis]):
        raise RuntimeError(
            f"segment_reduce(): the segments are longer than the {data.shape[axis]} values"
        )
    start: Any = None if initial is None else float(initial)  # type: ignore[arg-type]
    return segment_op(data, elements(counts), _SAME.get(reduce, reduce), axis, start)


# ---- places


def _nonzero_static(a: Array, size: int, fill_value: int) -> Array:
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    out = allocate((size, a.ndim), np.dtype(np.int64))
    out[...] = fill_value
    if a.ndim:
        found = np.argwhere(a)[:size]
        out[: len(found)] = found
    return out


nonzero_static = constant(
    "nonzero_static(input: Tensor, *, size: int, fill_value: int = -1)",
    _nonzero_static,
    native=_core.kernels.nonzero_static,
    samples=lambda make: [(make(2, 3, kind="int"), {"size": 4})],
    doc="The indices of the first `size` entries that are not 0, filled up with fill_value.",
)


@composite(method=False)
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """For indices into a flattened tensor of that shape, the index of each dimension."""
    if indices.dtype.is_floating_point or indices.dtype.is_complex or indices.dtype.name == "bool":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if isinstance(shape, int):
        shape = (shape,)
    if not isinstance(shape, Sequence):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    for n in shape:
        if not isinstance(n, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(n)}")
    if any(n < 0 for n in shape):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(shape)}")
    indices = indices.to(dtypes.int64)
    found, step = [], 1
    for n in reversed(shape):
        found.append((indices // step if step > 1 else indices) % n)
        step *= n
    return tuple(reversed(found))
