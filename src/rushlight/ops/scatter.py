"""Reading and writing along one dimension: gather, scatter and their reductions, index_select, index_add and their kin,
take, put, masked_select, masked_scatter, nonzero.

Each op that writes names its writer (`write=`): checks first, then the kernel. The result of the plain form is a copy that
the writer has written; the in-place form runs the writer on the tensor itself.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core
from . import shape as _shape
from ._arrays import dim_in, scalar_name
from ._kinds import composite, constant, general, linear
from ._op import namespace
from .indexing import _index, _index_backward, _index_zero, scalar_array
from .indexing import _write as _write_places
from .selection import _core_size_error, masked_fill, where

__all__: list[str] = []

_kernels = _core.kernels
_Tensor = _core.Tensor
_SET, _ADD, _MUL, _MAX, _MIN = range(5)


def _copied(write: Callable[..., None]) -> Callable[..., Any]:
    """The forward of an op from its writer."""

    def forward(x: Any, *args: Any) -> Any:
        out = x.copy()
        write(out, *args)
        return out

    return forward


def _is_int(array: Any) -> bool:
    return bool(array.dtype == np.int64 or array.dtype == np.int32)


def _flat(index: Any) -> Any:
    """An index of one dimension."""
    return index.reshape(1) if index.ndim == 0 else index


# ---- gather and scatter


def _check_picks(op: str, x: Any, dim: int, index: Any, src: Any = None) -> int:
    """The dimension made non-negative, once everything that torch refuses is refused."""
    if not isinstance(dim, int):
        raise TypeError(
            f"{op}(): argument 'dim' (position 1) must be int, not {type(dim).__name__}"
        )
    dim = dim_in(dim, x.ndim)
    if index.size and not _is_int(index):
        raise RuntimeError(f"{op}(): Expected dtype int32/int64 for index")
    if src is not None and src.dtype != x.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if index.size == 0:
        return dim
    name = "input" if op == "gather" else "self"
    if max(index.ndim, 1) != max(x.ndim, 1):
        raise RuntimeError(
            f"Index tensor must have the same number of dimensions as {name} tensor"
        )
    if src is not None:
        if src.ndim:
            dim_in(dim, src.ndim)
        if max(index.ndim, 1) != max(src.ndim, 1):
            raise RuntimeError(
                "Index tensor must have the same number of dimensions as src tensor"
            )
    fits = all(d == dim or n <= x.shape[d] for d, n in enumerate(index.shape) if d < x.ndim)
    if op == "gather":
        if not fits:
            at = next(d for d, n in enumerate(index.shape) if d != dim and n > x.shape[d])
            raise RuntimeError(
                f"Size does not match at dimension {at} expected index {list(index.shape)} to be no "
                f"larger than self {list(x.shape)} apart from dimension {dim}"
            )
    elif src is not None and src.ndim:
        if not fits or any(n > m for n, m in zip(_flat(index).shape, src.shape, strict=True)):
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(x.shape)} apart "
                f"from dimension {dim} and to be no larger size than src {list(src.shape)}"
            )
    elif not fits:
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than self {list(x.shape)} apart from "
            f"dimension {dim}"
        )
    return dim


def _picks(index: Any, dim: int) -> tuple[Any, ...]:
    """The index as NumPy's, for x[...]."""
    grid = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    grid[dim] = index
    return tuple(grid)


def _gather(x: Any, dim: int, index: Any, sparse_grad: Any = False) -> Any:
    dim = _check_picks("gather", x, dim, index)
    if index.size == 0:
        return np.empty(index.shape, x.dtype)
    rows, picks = _flat(x), _flat(index)
    found = _kernels.gather(rows, dim, picks)
    if found is NotImplemented:
        found = rows[_picks(picks, dim)]
    return found.reshape(index.shape)


def _land(x: Any, dim: int, index: Any, src: Any, how: int) -> None:
    """Scatter into x; everything has been checked but the range of the index."""
    if index.size == 0:
        return
    if np.may_share_memory(x, src):
        src = src.copy()
    rows, picks = _flat(x), _flat(index)
    if _kernels.scatter(rows, dim, picks, src, how) is not NotImplemented:
        return
    picks = _picks(picks, dim)
    values = src[tuple(slice(n) for n in _flat(index).shape)] if src.ndim else src
    if how == _SET:
        rows[picks] = values
    else:
        _AT[how](rows, picks, values)


_AT = {_ADD: np.add.at, _MUL: np.multiply.at, _MAX: np.maximum.at, _MIN: np.minimum.at}


def _gather_back(g: Any, dim: int, index: Any, shape: Any) -> Any:
    out = np.zeros(shape, g.dtype)
    _land(out, dim_in(dim, out.ndim), index, g, _ADD)
    return out


def _gather_samples(make: Any) -> Any:
    return [
        (make(3, 4), 1, make(3, 2, low=0, high=4, kind="int")),
        (make(3, 4), 0, make(2, 4, low=0, high=3, kind="int")),
        (make(5), -1, make(7, low=0, high=5, kind="int")),
    ]


gather = linear(
    "gather(input, dim: int, index: Tensor, *, sparse_grad=False)",
    _gather,
    transpose={
        "input": lambda g, dim, index, input_shape: _gather_backward(g, dim, index, input_shape)
    },
    backward=(_gather_back, "g dim index input_shape"),
    samples=_gather_samples,
    doc="out[i][j] = input[index[i][j]][j] for dim 0, input[i][index[i][j]] for dim 1, ...",
)
_gather_backward = linear(
    "_gather_backward(input, dim: int, index: Tensor, shape: shape)",
    _gather_back,
    transpose={"input": lambda g, dim, index: gather(g, dim, index)},
    method=False,
    out=False,
    samples=lambda make: [
        (make(3, 2), 1, make(3, 2, low=0, high=4, kind="int"), (3, 4)),
    ],
    doc="Zeros of a shape with the input added where `gather` reads.",
)


def _from_picks(g: Any, dim: int, index: Any, src_shape: Any) -> Any:
    """The gradient of src: what landed, and zeros for what lies outside the index's sizes."""
    found = gather(g, dim, index)
    for d, n in enumerate(src_shape):
        if found.shape[d] != n:
            shape = (*found.shape[:d], n, *found.shape[d + 1 :])
            found = _shape._slice_backward(found, shape, d, 0, found.shape[d], 1)
    return found.reshape(src_shape)


def _write_scatter(x: Any, dim: int, index: Any, src: Any) -> None:
    _land(x, _check_picks("scatter", x, dim, index, src), index, src, _SET)


def _write_value(x: Any, dim: int, index: Any, value: Any) -> None:
    dim = _check_picks("scatter", x, dim, index)
    _land(x, dim, index, scalar_array(value, x.dtype), _SET)


def _write_nothing(x: Any, dim: int, index: Any) -> None:
    _write_value(x, dim, index, 0)


def _write_add(x: Any, dim: int, index: Any, src: Any) -> None:
    _land(x, _check_picks("scatter_add", x, dim, index, src), index, src, _ADD)


def _scatter_samples(make: Any) -> Any:
    return [
        (make(3, 4), 1, _permuted(make, 3, 4), make(3, 4)),
        (make(5), 0, _permuted(make, 1, 5).reshape(5), make(5)),
    ]


def _permuted(make: Any, rows: int, n: int) -> Any:
    """An index without repetitions, for ops that overwrite."""
    return make(rows, n).argsort(1)


def _add_samples(make: Any) -> Any:
    return [
        (make(3, 4), 1, make(3, 2, low=0, high=4, kind="int"), make(3, 2)),
        (make(5), 0, make(7, low=0, high=5, kind="int"), make(7)),
    ]


_scatter = linear(
    "_scatter(input, dim: int, index: Tensor, src: Tensor)",
    _copied(_write_scatter),
    write=_write_scatter,
    transpose={
        "input": lambda g, dim, index: _scatter_zero(g, dim, index),
        "src": lambda g, dim, index, src_shape: _from_picks(g, dim, index, src_shape),
    },
    in_place=True,
    method=False,
    node="ScatterBackward0",
    samples=_scatter_samples,
    doc="`scatter` of a tensor.",
)
_scatter_value = general(
    "_scatter_value(input, dim: int, index: Tensor, value: number)",
    _copied(_write_value),
    write=_write_value,
    vjp={"input": lambda g, dim, index: _scatter_zero(g, dim, index)},
    in_place=True,
    method=False,
    node="ScatterBackward1",
    samples=lambda make: [(make(3, 4), 1, make(3, 2, low=0, high=4, kind="int"), 1.5)],
    doc="`scatter` of a number.",
)
_scatter_zero = linear(
    "_scatter_zero(input, dim: int, index: Tensor)",
    _copied(_write_nothing),
    write=_write_nothing,
    transpose={"input": lambda g, dim, index: _scatter_zero(g, dim, index)},
    method=False,
    out=False,
    samples=_gather_samples,
    doc="The input with zeros where `gather` reads.",
)
scatter_add = linear(
    "scatter_add(input, dim: int, index: Tensor, src: Tensor)",
    _copied(_write_add),
    write=_write_add,
    transpose={
        "input": lambda g: g,
        "src": lambda g, dim, index, src_shape: _from_picks(g, dim, index, src_shape),
    },
    in_place=True,
    samples=_add_samples,
    doc="The input with src added at the places of an index: input[index[i][j]][j] += src[i][j] for dim 0.",
)

# ---- scatter with a reduction

_REDUCTIONS = {"sum": _ADD, "prod": _MUL, "mean": _ADD, "amax": _MAX, "amin": _MIN}


def _start(reduce: str, dtype: Any) -> Any:
    """What a place begins with when its own value does not count."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    low = reduce == "amax"
    if dtype == np.bool_:
        return not low
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if low else limits.max
    return -math.inf if low else math.inf


def _reduce_into(x: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool) -> None:
    if index.size == 0:
        return
    if not include_self:
        _land(x, dim, index, np.array(_start(reduce, x.dtype)).astype(x.dtype), _SET)
    _land(x, dim, index, src, _REDUCTIONS[reduce])
    if reduce != "mean":
        return
    counts = np.full(x.shape, 1 if include_self else 0, np.int64)
    _land(counts, dim, index, np.ones((), np.int64), _ADD)
    counts[counts == 0] = 1
    if x.dtype.kind in "iu":
        np.floor_divide(x, counts.astype(x.dtype), out=x)
    elif x.dtype.itemsize == 2:
        x[...] = (x.astype(np.float32) / counts).astype(x.dtype)
    else:
        np.divide(x, counts.astype(x.dtype), out=x)


def _refuse_reduction(x: Any, reduce: str) -> None:
    if (x.dtype.kind == "c" and reduce in ("amax", "amin")) or (
        x.dtype == np.bool_ and reduce == "mean"
    ):
        raise NotImplementedError(
            f'"scatter_gather_tensor_cpu_reduce_{reduce}" not implemented for \'{scalar_name(x)}\''
        )


def _write_reduce(x: Any, dim: int, index: Any, src: Any, reduce: str, include_self: Any) -> None:
    if reduce not in _REDUCTIONS:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    dim = _check_picks("scatter", x, dim, index, src)
    _refuse_reduction(x, reduce)
    _check_range(x, dim, index)
    _reduce_into(x, dim, index, src, reduce, bool(include_self))


def _check_range(x: Any, dim: int, index: Any) -> None:
    """For reductions that write in several passes: the whole index first."""
    if index.size:
        size = x.shape[dim] if x.ndim else 1
        wrong = index[(index < 0) | (index >= size)]
        if wrong.size:
            raise RuntimeError(
                f"index {wrong[0]} is out of bounds for dimension {dim} with size {size}"
            )


def _reduce_gradients(
    g: Any, input: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool, out: Any
) -> tuple[Any, Any]:
    """The gradients of input and src of `scatter_reduce`, src being of the index's sizes."""
    if reduce == "sum":
        to_input, to_src = g, gather(g, dim, index)
    elif reduce == "mean":
        counts = (_ones(input) if include_self else _zeros(input)).detach()
        counts = scatter_add(counts, dim, index, _ones(src).detach())
        share = g / masked_fill(counts, counts == 0, 1)
        to_input, to_src = share, gather(share, dim, index)
    elif reduce == "prod":
        to_input, to_src = _prod_gradients(g, input, dim, index, src, include_self, out)
    else:
        chosen = src == gather(out, dim, index)
        own = input == out
        if not include_self:
            own = own & (_scatter_value(_ones(input), dim, index, 0) != 0)
        hits = scatter_add(own.to(g.dtype), dim, index, chosen.to(g.dtype))
        share = g / masked_fill(hits, hits == 0, 1)
        to_input = masked_fill(share, ~own, 0)
        to_src = masked_fill(gather(share, dim, index), ~chosen, 0)
        return to_input, to_src
    if not include_self:
        to_input = _scatter_zero(to_input, dim, index)
    return to_input, to_src


def _prod_gradients(
    g: Any, input: Any, dim: int, index: Any, src: Any, include_self: bool, out: Any
) -> tuple[Any, Any]:
    # With a zero in a product, dividing it out is no way to the product of the others: a place with one
    # zero is computed again without it, one with more has the gradient 0.
    filled = masked_fill(input, input == 0, 1)
    without_own = scatter_reduce(filled, dim, index, src, "prod", include_self=include_self)
    to_input = g * without_own / filled
    zero = src == 0
    zeros = gather(scatter_add(_zeros(input), dim, index, zero.to(g.dtype)), dim, index)
    alone = zero & (zeros == 1)
    other = scatter_reduce(
        input, dim, index, masked_fill(src, alone, 1), "prod", include_self=include_self
    )
    to_src = where(
        alone,
        gather(g * other, dim, index),
        gather(g * out, dim, index) / masked_fill(src, zero, 1),
    )
    return to_input, to_src


def _ones(like: Any) -> Any:
    return _filled(like, 1)


def _zeros(like: Any) -> Any:
    return _filled(like, 0)


def _filled(like: Any, value: int) -> Any:
    return namespace("torch")["full_like"](like, value)


def _reduce_rule(
    g: Any, input: Any, dim: int, index: Any, src: Any, reduce: str, include_self: Any, out: Any
) -> tuple[Any, Any]:
    inner = src
    for d, n in enumerate(index.shape):
        if d < src.ndim and src.shape[d] != n:
            inner = _shape._slice(inner, d, 0, n, 1)
    if inner.shape != index.shape:
        inner = inner.reshape(index.shape)
    to_input, to_src = _reduce_gradients(
        g, input, dim, index, inner, reduce, bool(include_self), out
    )
    for d, n in enumerate(src.shape):
        if to_src.ndim == src.ndim and to_src.shape[d] != n:
            shape = (*to_src.shape[:d], n, *to_src.shape[d + 1 :])
            to_src = _shape._slice_backward(to_src, shape, d, 0, to_src.shape[d], 1)
    return to_input, to_src.reshape(src.shape)


scatter_reduce = general(
    "scatter_reduce(input, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self=True)",
    _copied(_write_reduce),
    write=_write_reduce,
    vjp={
        "input, src": lambda g, input, dim, index, src, reduce, include_self, out: _reduce_rule(
            g, input, dim, index, src, reduce, include_self, out
        )
    },
    in_place=True,
    samples=lambda make: [
        (*args, how)
        for args in _add_samples(make)
        for how in ("sum", "prod", "mean", "amax", "amin")
    ],
    doc="The input reduced with src at the places of an index: 'sum', 'prod', 'mean', 'amax' or 'amin'.",
)

_WITH_SRC = (
    "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a "
    "future PyTorch release. Use torch.scatter_reduce instead for more reduction options."
)


def _scatter_form(in_place: bool) -> Any:
    name = "scatter_" if in_place else "scatter"
    set_src = _Tensor._scatter_ if in_place else _scatter
    set_value = _Tensor._scatter_value_ if in_place else _scatter_value
    add = _Tensor.scatter_add_ if in_place else scatter_add
    combine = _Tensor.scatter_reduce_ if in_place else scatter_reduce

    def function(
        input: Any,
        dim: int,
        index: Any,
        src: Any = None,
        *,
        value: Any = None,
        reduce: Any = None,
        **out: Any,
    ) -> Any:
        if src is None and value is None:
            raise TypeError(f"{name}() missing 1 required positional arguments: \"src\"")
        if src is None:
            src = value.item() if isinstance(value, _Tensor) else value
        is_tensor = isinstance(src, _Tensor)
        if not is_tensor and not isinstance(src, (bool, int, float, complex, np.number)):
            raise TypeError(
                f"{name}(): argument 'src' (position 3) must be Tensor or a number, not "
                f"{type(src).__name__}"
            )
        if reduce is None:
            if is_tensor:
                return set_src(input, dim, index, src, **out)
            return set_value(input, dim, index, src, **out)
        if reduce not in ("add", "multiply"):
            raise RuntimeError("reduce argument must be either add or multiply.")
        if is_tensor:
            warnings.warn(_WITH_SRC, stacklevel=2)
        else:
            src = namespace("torch")["full"](index.shape, src, dtype=input.dtype)
        if reduce == "add":
            return add(input, dim, index, src, **out)
        return combine(input, dim, index, src, "prod", **out)

    function.__name__ = name
    return function


scatter, scatter_ = _scatter_form(False), _scatter_form(True)
scatter = composite(
    scatter,
    name="scatter",
    samples=lambda make: [
        *_scatter_samples(make),
        (make(3, 4), 1, make(3, 2, low=0, high=4, kind="int"), 1.5),
    ],
)
scatter.__doc__ = "The input with src written at the places of an index: input[index[i][j]][j] = src[i][j] for dim 0."
scatter_.__doc__ = "In-place version of `scatter`."
_Tensor.scatter_ = scatter_

# ---- index_*: whole slices of a dimension


def _in_range(index: Any, size: int, complain: Callable[[Any], Exception]) -> None:
    if index.size and (index.min() < 0 or index.max() >= size):
        raise complain(index[(index < 0) | (index >= size)].flat[0])


def _select(x: Any, dim: int, index: Any) -> Any:
    dim = dim_in(dim, x.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if not _is_int(index):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if x.ndim == 0:
        if index.size != 1:
            raise RuntimeError(
                f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)"
            )
        _in_range(index, 1, lambda _: IndexError("index out of range in self"))
        return x.copy()
    if index.size and x.shape[dim] == 0:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")

    def complain(bad: Any) -> Exception:
        if dim == 0 or x.ndim == 1:
            return IndexError("index out of range in self")
        return RuntimeError(
            f"INDICES element is out of DATA bounds, id={bad} axis_dim={x.shape[dim]}"
        )

    _in_range(index, x.shape[dim], complain)
    return _kernels.index_get(x, _flat(index), (dim,), dim)


def _select_rule(g: Any, dim: int, index: Any, input_shape: Any) -> Any:
    if not input_shape:
        return g
    dim = dim_in(dim, len(input_shape))
    return _index_backward(g, _vector(index), (dim,), dim, input_shape)


def _vector(index: Any) -> Any:
    return index.reshape(1) if index.ndim == 0 else index


def _rows_of(make: Any, below: int) -> Any:
    return make(2, low=0, high=below, kind="int")


index_select = linear(
    "index_select(input, dim: int, index: Tensor)",
    _select,
    transpose={
        "input": lambda g, dim, index, input_shape: _select_rule(g, dim, index, input_shape)
    },
    samples=lambda make: [(make(3, 4), 0, _rows_of(make, 3)), (make(3, 4), -1, _rows_of(make, 4))],
    doc="The slices of a dimension that an index names.",
)


def _check_source(op: str, x: Any, dim: int, index: Any, source: Any) -> int:
    dim = dim_in(dim, x.ndim)
    if index.ndim > 1:
        raise IndexError(
            f"{op}(): Index is supposed to be a vector, but got dim: {index.ndim} with type: "
            f"{scalar_name(index)} and size: {list(index.shape)}"
        )
    if not _is_int(index):
        raise RuntimeError(f"{op}(): Expected dtype int32/int64 for index but got: {scalar_name(index)}")
    if x.dtype != source.dtype:
        raise RuntimeError(
            f"{op}(): self ({scalar_name(x)}) and source ({scalar_name(source)}) must have the same "
            "scalar type"
        )
    if source.ndim == 0 and index.size != 1 and index.ndim:
        raise RuntimeError(
            f"{op}(): When source is scalar, index should have one element, got {index.size}"
        )
    n = source.shape[dim] if source.ndim > dim else 1
    if index.size != n:
        raise RuntimeError(
            f"{op}(): Number of indices ({index.size}) should be equal to source.size(dim): ({n}), "
            f"for dim: {dim}"
        )
    if x.ndim != source.ndim or any(
        d != dim and a != b for d, (a, b) in enumerate(zip(x.shape, source.shape, strict=True))
    ):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(x.shape)} source.shape = {list(source.shape)}"
        )
    return dim


def _out_of_bounds(dim: int, size: int, kind: type = RuntimeError) -> Callable[[Any], Exception]:
    return lambda bad: kind(f"index {bad} is out of bounds for dimension {dim} with size {size}")


def _write_slices(x: Any, dim: int, index: Any, source: Any, accumulate: bool) -> None:
    _write_places(_flat(x), _flat(index).astype(np.int64), (dim,), dim, source, accumulate)


def _write_index_add(x: Any, dim: int, index: Any, source: Any, alpha: Any) -> None:
    dim = _check_source("index_add_", x, dim, index, source)
    size = x.shape[dim] if x.ndim else 1
    _in_range(index, size, _out_of_bounds(0, size))
    if alpha != 1:
        source = (source * np.array(alpha).astype(source.dtype)).astype(source.dtype)
    _write_slices(x, dim, index, source, True)


def _write_index_copy(x: Any, dim: int, index: Any, source: Any) -> None:
    dim = dim_in(dim, x.ndim)
    if index.ndim > 1:
        raise IndexError(
            f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})"
        )
    if source.ndim == 0 and index.size != 1:
        raise IndexError(
            f"index_copy_(): When source is scalar, index should have one element (got {index.size})"
        )
    if source.ndim and x.ndim and source.ndim != x.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must "
            f"match. Source dimensionality ({source.ndim}), destination dimensionality ({x.ndim})"
        )
    if index.dtype != np.int64:
        raise RuntimeError(
            f"index_copy_(): Expected a long tensor for index, but got {scalar_name(index)}"
        )
    if x.dtype != source.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{scalar_name(x)} and (source) {scalar_name(source)}"
        )
    want = [n for d, n in enumerate(x.shape) if d != dim]
    have = [n for d, n in enumerate(source.shape) if d != dim]
    if source.ndim and want != have:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice "
            f"shape: {' '.join(map(str, want))} at dimension {dim} and source slice shape: "
            f"{' '.join(map(str, have))} at dimension 0."
        )
    if source.ndim and index.size != source.shape[dim]:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) "
            f"({source.shape[dim]})"
        )
    size = x.shape[dim] if x.ndim else 1
    _in_range(
        index,
        size,
        lambda bad: IndexError(
            f"index_copy_(): index {bad} is out of bounds for dimension {dim} with size {size}"
        ),
    )
    _write_slices(x, dim, index, source if x.ndim else source.reshape(1), False)


def _write_index_fill(x: Any, dim: int, index: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        if value.ndim:
            raise RuntimeError(
                "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{value.ndim} dimension(s)."
            )
        value = value.item() if value.dtype.kind != "V" else float(value)
    if index.dtype != np.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    dim = dim_in(dim, x.ndim)
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if isinstance(value, complex) and x.dtype.kind != "c":
        raise RuntimeError(
            "index_fill_(): Converting complex Scalar to non-complex type is not supported"
        )
    cell = scalar_array(value, x.dtype)
    size = x.shape[dim] if x.ndim else 1
    low = index + size
    _in_range(np.where(index < 0, low, index), size, _out_of_bounds(dim, size, IndexError))
    _write_slices(x, dim, index, cell, False)


def _without(g: Any, dim: int, index: Any) -> Any:
    """g with zeros at the slices that were overwritten."""
    if g.ndim == 0:
        return g * 0
    dim = dim_in(dim, g.ndim)
    return _index_zero(g, _vector(index), (dim,), dim)


def _slices(g: Any, dim: int, index: Any, source_shape: Any) -> Any:
    if g.ndim == 0:
        return g.reshape(source_shape)
    dim = dim_in(dim, g.ndim)
    return _index(g, _vector(index), (dim,), dim).reshape(source_shape)


def _source_samples(make: Any) -> Any:
    return [
        (make(3, 4), 0, _permuted(make, 1, 3).reshape(3)[:2], make(2, 4)),
        (make(3, 4), 1, _permuted(make, 1, 4).reshape(4), make(3, 4)),
    ]


index_add = linear(
    "index_add(input, dim: int, index: Tensor, source: Tensor, *, alpha=1)",
    _copied(_write_index_add),
    write=_write_index_add,
    transpose={
        "input": lambda g: g,
        "source": lambda g, dim, index, source_shape, alpha: (
            _slices(g, dim, index, source_shape)
            if alpha == 1
            else _slices(g, dim, index, source_shape) * alpha
        ),
    },
    in_place=True,
    samples=lambda make: [
        *_source_samples(make),
        (make(3, 4), 0, make(5, low=0, high=3, kind="int"), make(5, 4)),
    ],
    doc="The input with alpha * source added to the slices that an index names.",
)
index_copy = linear(
    "index_copy(input, dim: int, index: Tensor, source: Tensor)",
    _copied(_write_index_copy),
    write=_write_index_copy,
    transpose={
        "input": lambda g, dim, index: _without(g, dim, index),
        "source": lambda g, dim, index, source_shape: _slices(g, dim, index, source_shape),
    },
    in_place=True,
    samples=_source_samples,
    doc="The input with source written to the slices that an index names.",
)
_fill_number = general(
    "_fill_number(input, dim: int, index: Tensor, value: number)",
    _copied(_write_index_fill),
    write=_write_index_fill,
    vjp={"input": lambda g, dim, index: _without(g, dim, index)},
    in_place=True,
    method=False,
    node="IndexFillBackward0",
    samples=lambda make: [(make(3, 4), 0, _rows_of(make, 3), 1.5)],
    doc="`index_fill` with a number.",
)
_fill_tensor = linear(
    "_fill_tensor(input, dim: int, index: Tensor, value: Tensor)",
    _copied(_write_index_fill),
    write=_write_index_fill,
    transpose={
        "input": lambda g, dim, index: _without(g, dim, index),
        "value": lambda g, dim, index: index_select(g, dim, index % _size_of(g, dim)).sum(),
    },
    in_place=True,
    method=False,
    node="IndexFillBackward1",
    samples=lambda make: [(make(3, 4), 0, _rows_of(make, 3), make())],
    doc="`index_fill` with a tensor.",
)


def _size_of(x: Any, dim: int) -> int:
    return x.shape[dim] if x.ndim else 1


@composite(samples=lambda make: [(make(3, 4), 0, _rows_of(make, 3), 1.5)])
def index_fill(input: Any, dim: int, index: Any, value: Any) -> Any:
    """The input with a number in the slices that an index names."""
    fill = _fill_tensor if isinstance(value, _Tensor) else _fill_number
    return fill(input, dim, index, value)


def index_fill_(input: Any, dim: int, index: Any, value: Any) -> Any:
    """In-place version of `index_fill`."""
    fill = _Tensor._fill_tensor_ if isinstance(value, _Tensor) else _Tensor._fill_number_
    return fill(input, dim, index, value)


_Tensor.index_fill_ = index_fill_


def _write_index_reduce(
    x: Any, dim: int, index: Any, source: Any, reduce: str, include_self: Any
) -> None:
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    dim = _check_source("index_reduce_", x, dim, index, source)
    size = x.shape[dim] if x.ndim else 1
    _in_range(index, size, lambda _: IndexError("index out of range in self"))
    _refuse_reduction(x, reduce)
    full = np.broadcast_to(
        _flat(index).reshape([-1 if d == dim else 1 for d in range(max(x.ndim, 1))]),
        _flat(source).shape,
    )
    _reduce_into(x, dim, full, source, reduce, bool(include_self))


def _index_reduce_rule(
    g: Any, input: Any, dim: int, index: Any, source: Any, reduce: str, include_self: Any, out: Any
) -> tuple[Any, Any]:
    if source.ndim:
        dim = dim_in(dim, source.ndim)
        index = _vector(index).reshape([-1 if d == dim else 1 for d in range(source.ndim)])
        index = _shape.expand(index, source.shape)
    else:
        index = index.reshape(())
    return _reduce_gradients(g, input, dim, index, source, reduce, bool(include_self), out)


index_reduce = general(
    "index_reduce(input, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self=True)",
    _copied(_write_index_reduce),
    write=_write_index_reduce,
    vjp={
        "input, source": lambda g, input, dim, index, source, reduce, include_self, out: (
            _index_reduce_rule(g, input, dim, index, source, reduce, include_self, out)
        )
    },
    in_place=True,
    samples=lambda make: [
        (*args, how) for args in _source_samples(make) for how in ("prod", "mean", "amax", "amin")
    ],
    doc="The input reduced with source in the slices that an index names: 'prod', 'mean', 'amax' or 'amin'.",
)

# ---- take and put: the tensor as one row


def _long(op: str, index: Any) -> None:
    if index.dtype != np.int64:
        raise RuntimeError(f"{op}(): Expected a long tensor for index, but got {scalar_name(index)}")


def _in_row(index: Any, n: int) -> None:
    if index.size and (index.min() < -n or index.max() >= n):
        bad = index[(index < -n) | (index >= n)].flat[0]
        raise IndexError(
            f"out of range: tried to access index {bad} on a tensor of {n} elements."
        )


def _take(x: Any, index: Any) -> Any:
    _long("take", index)
    if index.size and x.size == 0:
        raise IndexError("take(): tried to take from an empty tensor")
    _in_row(index, x.size)
    return _kernels.index_get(_flat(x), index, tuple(range(max(x.ndim, 1))), 0)


def _take_back(g: Any, index: Any, shape: Any) -> Any:
    if not shape:
        return _kernels.index_backward(g, index, (0,), 0, (1,)).reshape(())
    return _kernels.index_backward(g, index, tuple(range(len(shape))), 0, shape)


take = linear(
    "take(input, index: Tensor)",
    _take,
    transpose={"input": lambda g, index, input_shape: _take_backward(g, index, input_shape)},
    samples=lambda make: [(make(3, 4), make(2, 3, low=-12, high=12, kind="int"))],
    doc="The elements at an index into all of the input, row by row.",
)
_take_backward = linear(
    "_take_backward(input, index: Tensor, shape: shape)",
    _take_back,
    transpose={"input": lambda g, index: take(g, index)},
    method=False,
    out=False,
    samples=lambda make: [(make(2, 3), make(2, 3, low=-12, high=12, kind="int"), (3, 4))],
    doc="Zeros of a shape with the input added where `take` reads.",
)


def _write_put(x: Any, index: Any, source: Any, accumulate: Any) -> None:
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
    _write_places(_flat(x), index.reshape(-1), dims, 0, source.reshape(-1), bool(accumulate))


put = linear(
    "put(input, index: Tensor, source: Tensor, accumulate=False)",
    _copied(_write_put),
    write=_write_put,
    transpose={
        "input": lambda g, index, accumulate: g if accumulate else put(g, index, _zeros(index).to(g.dtype)),
        "source": lambda g, index, source_shape: take(g, index).reshape(source_shape),
    },
    in_place=True,
    samples=lambda make: [
        (make(3, 4), _permuted(make, 1, 12).reshape(12)[:3], make(3)),
        (make(3, 4), make(2, 3, low=0, high=12, kind="int"), make(2, 3), True),
    ],
    doc="The input with source written, or added, at an index into all of it, row by row.",
)


@composite(samples=lambda make: [(make(3, 4), make(3, 2, low=0, high=4, kind="int"), 1)])
def take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Any:
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
                "torch.take_along_dim(): input and indices should have the same number of dimensions, "
                f"but got {input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
            )
        dim = dim_in(dim, input.ndim)
        have, want = list(input.shape), list(indices.shape)
        if input.ndim:
            have[dim] = want[dim] = 1
        common = list(_shape.broadcast_shapes(have, want))
        if input.ndim:
            n, m = input.shape[dim], indices.shape[dim]
            input = _shape.expand(input, [*common[:dim], n, *common[dim + 1 :]])
            indices = _shape.expand(indices, [*common[:dim], m, *common[dim + 1 :]])
    size = input.shape[dim] if input.ndim else 1
    if indices.numel() and int(indices._array.min()) < 0:
        indices = where(indices < 0, indices + size, indices)
    return gather(input, dim, indices)


# ---- masks


def _common(a: Any, b: Any) -> Any:
    if a == b:
        return a
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        raise _core_size_error(a, b) from None


def _masked_select(x: Any, mask: Any) -> Any:
    if mask.dtype != np.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = _common(mask.shape, x.shape)
    if mask.shape != shape:
        mask = np.broadcast_to(mask, shape)
    if x.shape != shape:
        x = np.broadcast_to(x, shape)
    return x[mask]


def _spread(g: Any, mask: Any, shape: Any) -> Any:
    shape = _common(mask.shape, tuple(shape))
    out = np.zeros(shape, g.dtype)
    out[np.broadcast_to(mask, shape)] = g
    return out


masked_select = linear(
    "masked_select(input, mask: Tensor)",
    _masked_select,
    transpose={"input": lambda g, mask, input_shape: _masked_select_backward(g, mask, input_shape)},
    samples=lambda make: [
        (make(3, 4), make(3, 4, kind="bool")),
        (make(3, 4), make(4, kind="bool")),
        (make(4), make(3, 4, kind="bool")),
    ],
    doc="The elements where a mask holds, as one row.",
)
_masked_select_backward = linear(
    "_masked_select_backward(input, mask: Tensor, shape: shape)",
    _spread,
    transpose={
        "input": lambda g, mask: masked_select(g, mask),
    },
    method=False,
    out=False,
    doc="Zeros with the input where a mask holds.",
)


def _write_masked(x: Any, mask: Any, source: Any) -> None:
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
    shape = _common(mask.shape, x.shape)
    if shape != x.shape:
        raise RuntimeError(
            f"output with shape {list(x.shape)} doesn't match the broadcast shape {list(shape)}"
        )
    mask = np.broadcast_to(mask, shape)
    n = int(np.count_nonzero(mask))
    if source.size < n:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    x[mask] = source.reshape(-1)[:n]


def _masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    out = np.broadcast_to(x, _common(mask.shape, x.shape)).copy()
    _write_masked(out, mask, source)
    return out


def _to_source(g: Any, mask: Any, source_shape: Any) -> Any:
    taken = masked_select(g, mask)
    n, size = taken.shape[0], math.prod(source_shape)
    if n != size:
        taken = _shape._slice_backward(taken, (size,), 0, 0, n, 1)
    return taken.reshape(source_shape)


masked_scatter = linear(
    "masked_scatter(input, mask: Tensor, source: Tensor)",
    _masked_scatter,
    write=_write_masked,
    transpose={
        "input": lambda g, mask: masked_fill(g, mask, 0),
        "source": lambda g, mask, source_shape: _to_source(g, mask, source_shape),
    },
    in_place=True,
    samples=lambda make: [(make(3, 4), make(3, 4, kind="bool"), make(3, 4))],
    doc="The input with the elements of source, in order, where a mask holds.",
)

# ---- where the zeros are not


def _nonzero(x: Any) -> Any:
    if x.ndim == 0:
        return np.zeros((int(bool(x != 0)), 0), np.int64)
    return np.argwhere(x)


_nonzero_rows = constant(
    "nonzero(input)",
    _nonzero,
    samples=lambda make: [(make(3, 4, kind="bool"),), (make(3),)],
    doc="The indices of the elements that are not zero, one a row.",
)
_nonzero_columns = constant(
    "_nonzero_columns(input)",
    lambda x: tuple(np.ascontiguousarray(c) for c in np.nonzero(_flat(x))),
    method=False,
    out=False,
    doc="The same, one tensor a dimension.",
)


def nonzero(input: Any, *, as_tuple: bool = False, **out: Any) -> Any:
    """The indices of the elements that are not zero: one a row, or (as_tuple) one tensor a dimension."""
    if not isinstance(input, _Tensor):
        raise TypeError(
            f"nonzero(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    if as_tuple:
        return tuple(_nonzero_columns(input))
    return _nonzero_rows(input, **out)


namespace("torch")["nonzero"] = _Tensor.nonzero = nonzero


@composite
def argwhere(input: Any) -> Any:
    """The indices of the elements that are not zero, one a row."""
    return _nonzero_rows(input)
