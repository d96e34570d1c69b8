"""gather, scatter, scatter_add, scatter_reduce: along one dimension, by an index of all of them.

An op that writes names its writer (`write=`): the plain form is a copy that the writer has written,
the in-place form runs the writer on the tensor itself. A kernel has one answer to arguments that
are not in order, NotImplemented; the definition in Python then finds out what to say.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import _core
from ..._base.errors import warn
from ..._base.late import late
from ..._base.outside import np, np_types, ufuncs
from ..._base.size import Size
from ..._core import Op
from ..elementwise.selection import masked_fill
from ..layout.joining import cat
from ..layout.slices import slice_backward, slice_op
from ..making.creation import arange, full, ones_like, zeros_like
from ..reduction.reductions import divisible, products_of_others
from ..table.arrays import Array, cell, dim_in, scalar_name, unshared
from ..table.kinds import composite, general, linear, on_copy, variant
from ..table.names import publish
from ..table.signature import Number, Tensor

__all__: list[str] = []

_kernels = _core.kernels
_Tensor: Any = _core.Tensor
_SET, _ADD, _MUL, _MAX, _MIN = range(5)


def is_int_array(array: Any) -> bool:
    return bool(array.dtype == np.int64 or array.dtype == np.int32)


def flat(index: Array) -> Any:
    """An index of one dimension."""
    return index.reshape(1) if index.ndim == 0 else index


# ---- gather and scatter


def _check_picks(op: str, x: Array, dim: int, index: Array, src: Array | None = None) -> int:
    """The dimension made non-negative, once everything that torch refuses is refused."""
    if not isinstance(dim, int):
        raise TypeError(
            f"{op}(): argument 'dim' (position 1) must be int, not {type(dim).__name__}"
        )
    dim = dim_in(dim, x.ndim)
    if index.size and not is_int_array(index):
        raise RuntimeError(f"{op}(): Expected dtype int32/int64 for index")
    if src is not None and src.dtype != x.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if index.size == 0:
        return dim
    name = "input" if op == "gather" else "self"
    if max(index.ndim, 1) != max(x.ndim, 1):
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {name} tensor")
    if src is not None:
        if src.ndim:
            dim_in(dim, src.ndim)
        if max(index.ndim, 1) != max(src.ndim, 1):
            raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    fits = all(d == dim or n <= x.shape[d] for d, n in enumerate(index.shape) if d < x.ndim)
    if op == "gather":
        if not fits:
            at = next(d for d, n in enumerate(index.shape) if d != dim and n > x.shape[d])
            raise RuntimeError(
                f"Size does not match at dimension {at} expected index {list(index.shape)} to be "
                f"no larger than self {list(x.shape)} apart from dimension {dim}"
            )
    elif src is not None:
        if not fits or any(n > m for n, m in zip(flat(index).shape, flat(src).shape, strict=True)):
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(x.shape)} "
                f"apart from dimension {dim} and to be no larger size than src {list(src.shape)}"
            )
    elif not fits:
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than self {list(x.shape)} apart "
            f"from dimension {dim}"
        )
    return dim


def _picks(index: Any, dim: int) -> tuple[Any, ...]:
    """The index as NumPy's, for x[...]."""
    grid = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    grid[dim] = unshared(index)
    return tuple(grid)


def _gather(x: Array, dim: int, index: Array, sparse_grad: bool = False) -> Any:
    dim = _check_picks("gather", x, dim, index)
    if index.size == 0:
        return np.empty(index.shape, x.dtype)
    _check_range(x, dim, index)
    return flat(x)[_picks(flat(index), dim)].reshape(index.shape)


def _land(x: Array, dim: int, index: Array, src: Array, how: int) -> None:
    """Scatter into x, once everything but the range of the index has been checked."""
    if index.size == 0:
        return
    _check_range(x, dim, index)
    rows, picks = flat(x), flat(index)
    if _kernels.scatter(rows, dim, picks, src, how) is not NotImplemented:
        return
    values = src[tuple(slice(n) for n in picks.shape)].copy() if src.ndim else src.copy()
    picks = _picks(picks, dim)
    if how == _SET:
        rows[picks] = values
    else:
        _AT[how](rows, picks, values)


_AT = {
    _ADD: ufuncs.add.at,
    _MUL: ufuncs.multiply.at,
    _MAX: ufuncs.maximum.at,
    _MIN: ufuncs.minimum.at,
}


def _gather_back(g: Array, dim: int, index: Array, shape: tuple[int, ...]) -> Array:
    out = np.zeros(shape, g.dtype)
    _land(out, dim_in(dim, out.ndim), index, g, _ADD)
    return out


def _gather_samples(make: Callable[..., Any]) -> Any:
    return [
        (make(3, 4), 1, make(3, 2, low=0, high=4, kind="int")),
        (make(3, 4), 0, make(2, 4, low=0, high=3, kind="int")),
        (make(5), -1, make(7, low=0, high=5, kind="int")),
    ]


gather: Op = linear(
    "gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False)",
    _gather,
    native=_kernels.gather,
    transpose={
        "input": lambda g, dim, index, input_shape: _gather_backward(g, dim, index, input_shape)
    },
    backward=(_kernels.gather_backward, "g dim index input_shape"),
    overlap="never late",
    samples=_gather_samples,
    kernel_name="scatter_gather_tensor_cpu",
    doc="out[i][j] = input[index[i][j]][j] for dim 0, input[i][index[i][j]] for dim 1, ...",
)
_gather_sparse: Op = linear(
    "_gather_sparse(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False)",
    _gather,
    native=_kernels.gather,
    transpose={
        "input": lambda g, dim, index, input_shape: late.sparse_gathered(g, dim, index, input_shape)
    },
    node="GatherBackward0",
    overlap="never late",
    method=False,
    out=False,
    doc="`gather` whose gradient is sparse.",
)
variant(gather, "sparse_grad", "equals", _gather_sparse, True)
_gather_backward: Op = linear(
    "_gather_backward(input: Tensor, dim: int, index: Tensor, shape: Any)",
    _gather_back,
    native=_kernels.gather_backward,
    transpose={"input": lambda g, dim, index: gather(g, dim, index)},
    method=False,
    out=False,
    samples=lambda make: [
        (make(3, 2), 1, make(3, 2, low=0, high=4, kind="int"), (3, 4)),
    ],
    doc="Zeros of a shape with the input added where `gather` reads.",
    written="{input} added up at {index}, 0 elsewhere",
)


def _from_picks(g: Tensor, dim: int, index: Tensor, src_shape: Size) -> Tensor:
    """The gradient of src: what landed, and zeros for what lies outside the index's sizes."""
    found = gather(g, dim, index)
    for d, n in enumerate(src_shape):
        if found.shape[d] != n:
            shape = (*found.shape[:d], n, *found.shape[d + 1 :])
            found = slice_backward(found, shape, d, 0, found.shape[d], 1)
    return found.reshape(src_shape)


def _write_scatter(x: Array, dim: int, index: Array, src: Array) -> None:
    _land(x, _check_picks("scatter", x, dim, index, src), index, src, _SET)


def _write_value(x: Array, dim: int, index: Array, value: complex) -> None:
    _land(x, _check_picks("scatter", x, dim, index), index, cell(value, x.dtype), _SET)


def _write_add(x: Any, dim: int, index: Any, src: Any) -> None:
    _land(x, _check_picks("scatter_add", x, dim, index, src), index, src, _ADD)


def _scatter_samples(make: Callable[..., Any]) -> Any:
    return [
        (make(3, 4), 1, distinct_index(make, 3, 4), make(3, 4)),
        (make(5), 0, distinct_index(make, 1, 5).reshape(5), make(5)),
    ]


def distinct_index(make: Any, rows: int, n: int) -> Any:
    """An index without repetitions, for ops that overwrite."""
    return make(rows, n, kind="float64").argsort(1)


def _add_samples(make: Callable[..., Any]) -> Any:
    return [
        (make(3, 4), 1, make(3, 2, low=0, high=4, kind="int"), make(3, 2)),
        (make(5), 0, make(7, low=0, high=5, kind="int"), make(7)),
    ]


_scatter: Op = linear(
    "_scatter(input: Tensor, dim: int, index: Tensor, src: Tensor)",
    on_copy(_write_scatter),
    write=_kernels.scatter_set,
    native=_kernels.scatter_set_copy,
    overlap="never late",
    transpose={
        "input": lambda g, dim, index: _scatter_zero(g, dim, index),
        "src": lambda g, dim, index, src_shape: _from_picks(g, dim, index, src_shape),
    },
    in_place=True,
    method=False,
    node="ScatterBackward0",
    samples=_scatter_samples,
    aten="scatter_.src",
    formula={"src": "gather(g, dim, index)"},
    kernel_name="scatter_gather_tensor_cpu",
    doc="`scatter` of a tensor.",
)
_scatter_value: Op = general(
    "_scatter_value(input: Tensor, dim: int, index: Tensor, value: Number)",
    write=_write_value,
    native=_kernels.scatter_value,
    overlap="never late",
    vjp={"input": lambda g, dim, index: _scatter_zero(g, dim, index)},
    in_place=True,
    method=False,
    node="ScatterBackward1",
    samples=lambda make: [(make(3, 4), 1, make(3, 2, low=0, high=4, kind="int"), 1.5)],
    aten="scatter_.value",
    doc="`scatter` of a number.",
)
_scatter_zero: Op = linear(
    "_scatter_zero(input: Tensor, dim: int, index: Tensor)",
    write=lambda x, dim, index: _write_value(x, dim, index, 0),
    native=_kernels.scatter_zero,
    transpose={"input": lambda g, dim, index: _scatter_zero(g, dim, index)},
    method=False,
    out=False,
    samples=_gather_samples,
    doc="The input with zeros where `gather` reads.",
    written="{input}, 0 at {index}",
)
scatter_add: Op = linear(
    "scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor)",
    on_copy(_write_add),
    write=_kernels.scatter_add,
    native=_kernels.scatter_add_copy,
    overlap="never late",
    transpose={
        "input": lambda g: g,
        "src": lambda g, dim, index, src_shape: _from_picks(g, dim, index, src_shape),
    },
    in_place=True,
    samples=_add_samples,
    shared_write="name",
    formula={"src": "gather(g, dim, index)"},
    autocast="widest there",
    doc="The input with src added at the places of an index: "
    "input[index[i][j]][j] += src[i][j] for dim 0.",
)

# ---- scatter with a reduction

_REDUCTIONS = {"sum": _ADD, "prod": _MUL, "mean": _ADD, "amax": _MAX, "amin": _MIN}


def _start(reduce: str, dtype: Any) -> float:
    """The first value of a place whose own value does not count."""
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


def reduce_into(
    x: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool
) -> None:
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


def refuse_reduction(x: Array, reduce: str) -> None:
    if (x.dtype.kind == "c" and reduce in ("amax", "amin")) or (
        x.dtype == np.bool_ and reduce == "mean"
    ):
        raise NotImplementedError(
            f"\"scatter_gather_tensor_cpu_reduce_{reduce}\" not implemented for '{scalar_name(x)}'"
        )


def _write_reduce(
    x: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool
) -> None:
    if reduce not in _REDUCTIONS:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    dim = _check_picks("scatter", x, dim, index, src)
    refuse_reduction(x, reduce)
    reduce_into(x, dim, index, src, reduce, bool(include_self))


def _check_range(x: Array, dim: int, index: Array) -> None:
    """For reductions that write in several passes: the whole index first."""
    if index.size:
        size = x.shape[dim] if x.ndim else 1
        wrong = index[(index < 0) | (index >= size)]
        if wrong.size:
            raise RuntimeError(
                f"index {wrong[0]} is out of bounds for dimension {dim} with size {size}"
            )


def reduce_gradients(
    g: Tensor,
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    include_self: bool,
    out: Tensor,
) -> tuple[Tensor, ...]:
    """The gradients of input and src of `scatter_reduce`, src being of the index's sizes."""
    if reduce == "sum":
        to_input, to_src = g, gather(g, dim, index)
    elif reduce == "mean":
        counts = (ones_like(input) if include_self else zeros_like(input)).detach()
        counts = scatter_add(counts, dim, index, ones_like(src).detach())
        share = g / masked_fill(counts, counts == 0, 1)
        to_input, to_src = share, gather(share, dim, index)
    elif reduce == "prod":
        to_input, to_src = _prod_gradients(g, input, dim, index, src, include_self, out)
    else:
        chosen = src == gather(out, dim, index)
        own = input == out
        if not include_self:
            own = own & (_scatter_value(ones_like(input), dim, index, 0) != 0)
        hits = scatter_add(own.to(g.dtype), dim, index, chosen.to(g.dtype))
        share = g / masked_fill(hits, hits == 0, 1)
        to_input = masked_fill(share, ~own, 0)
        to_src = masked_fill(gather(share, dim, index), ~chosen, 0)
        return to_input, to_src
    if not include_self:
        to_input = _scatter_zero(to_input, dim, index)
    return to_input, to_src


def _prod_gradients(
    g: Tensor, input: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool, out: Tensor
) -> tuple[Tensor, ...]:
    picked = gather(out, dim, index)
    if divisible(src, picked) and (not include_self or divisible(input, out)):
        to_input = g * _conjugate(out / input) if include_self else g
        return to_input, gather(g, dim, index) * _conjugate(picked / src)
    # All factors side by side, those of a place together.
    places = arange(input.numel(), device=input.device).reshape(input.shape)
    factors, groups = src.reshape(-1), gather(places, dim, index).reshape(-1)
    if include_self:
        factors, groups = cat([input.reshape(-1), factors]), cat([places.reshape(-1), groups])
    order = groups.argsort()
    most = (index.shape[dim] if index.ndim else 1) + include_self
    products = products_of_others(factors.gather(0, order), groups.gather(0, order), most)
    products = _conjugate(products.gather(0, order.argsort()))
    of_input = input.numel() if include_self else 0
    to_src = gather(g, dim, index) * products.narrow(0, of_input, src.numel()).reshape(src.shape)
    return g * products.narrow(0, 0, of_input).reshape(g.shape) if include_self else g, to_src


def _conjugate(x: Tensor) -> Tensor:
    return x.conj() if x.dtype.is_complex else x


def _reduce_rule(
    g: Tensor,
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    include_self: bool,
    out: Tensor,
) -> tuple[Tensor, ...]:
    inner = src
    for d, n in enumerate(index.shape):
        if d < src.ndim and src.shape[d] != n:
            inner = slice_op(inner, d, 0, n, 1)
    if inner.shape != index.shape:
        inner = inner.reshape(index.shape)
    to_input, to_src = reduce_gradients(
        g, input, dim, index, inner, reduce, bool(include_self), out
    )
    for d, n in enumerate(src.shape):
        if to_src.ndim == src.ndim and to_src.shape[d] != n:
            shape = (*to_src.shape[:d], n, *to_src.shape[d + 1 :])
            to_src = slice_backward(to_src, shape, d, 0, to_src.shape[d], 1)
    return to_input, to_src.reshape(src.shape)


scatter_reduce: Op = general(
    "scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, "
    "include_self: bool = True)",
    write=_write_reduce,
    native=_kernels.scatter_reduce,
    overlap="never late",
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
    aten="scatter_reduce_.two",
    shared_write="name",
    doc="The input reduced with src at the places of an index; reduce is 'sum', 'prod', 'mean', "
    "'amax' or 'amin'.",
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
        input: Tensor,
        dim: int,
        index: Tensor,
        src: Tensor | Number | None = None,
        *,
        value: Number | None = None,
        reduce: Any = None,
        **out: Any,
    ) -> Tensor:
        if src is None and value is None:
            raise TypeError(f'{name}() missing 1 required positional arguments: "src"')
        if src is None:
            src = value.item() if isinstance(value, _Tensor) else value
        is_tensor = isinstance(src, _Tensor)
        if not is_tensor and not isinstance(src, (bool, int, float, complex, np_types.number)):
            raise TypeError(
                f"{name}(): argument 'src' (position 3) must be Tensor or a number, not "
                f"{type(src).__name__}"
            )
        if reduce is None:
            if is_tensor:
                return set_src(input, dim, index, src, **out)
            return set_value(input, dim, index, src, **out)
        if not isinstance(reduce, str):
            raise TypeError(f"{name}(): argument 'reduce' must be str, not {type(reduce).__name__}")
        if reduce not in ("add", "multiply"):
            raise RuntimeError("reduce argument must be either add or multiply.")
        if is_tensor:
            warn(_WITH_SRC)
        else:
            number: Any = src
            src = full(index.shape, number, dtype=input.dtype)
        if reduce == "add":
            return add(input, dim, index, src, **out)
        return combine(input, dim, index, src, "prod", **out)

    function.__name__ = name
    return function


scatter, scatter_ = _scatter_form(False), _scatter_form(True)
scatter.__doc__ = (
    "The input with src (a tensor or a number) written at the places of an index: "
    "input[index[i][j]][j] = src[i][j] for dim 0."
)
scatter = composite(
    name="scatter",
    overloads=(
        "(input, dim, index: Tensor, src: Tensor, *, out)",
        "(input, dim, index: Tensor, src: Tensor, *, reduce: str, out)",
        "(input, dim, index: Tensor, value: Number, *, out)",
        "(input, dim, index: Tensor, value: Number, *, reduce: str, out)",
    ),
    samples=lambda make: [
        *_scatter_samples(make),
        (make(3, 4), 1, make(3, 2, low=0, high=4, kind="int"), 1.5),
    ],
)(scatter)
scatter_.__doc__ = "In-place version of `scatter`."
publish("Tensor", "scatter_", scatter_)
