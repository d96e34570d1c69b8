"""index_select, index_add, index_copy, index_fill, index_reduce: whole slices of a dimension.

A vector names the slices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _core
from ..._base.outside import np, np_types
from ..._base.size import Size
from ..._core import Op
from ..elementwise.selection import expanded_warning, masked_fill
from ..layout.shape import expand
from ..making.creation import zeros_like
from ..table.arrays import Array, cell, dim_in, distinct, scalar_name
from ..table.kinds import composite, general, linear
from ..table.names import publish
from ..table.signature import Number, Tensor
from .scatter import (
    distinct_index,
    flat,
    is_int_array,
    reduce_gradients,
    reduce_into,
    refuse_reduction,
)
from .subscript import index_backward, index_op, index_zero

__all__: list[str] = []

_kernels = _core.kernels
_Tensor: Any = _core.Tensor

# ---- index_*: whole slices of a dimension


def _in_range(index: Array, size: int, complain: Callable[[Any], Exception]) -> None:
    index = distinct(index)
    if index.size and (index.min() < 0 or index.max() >= size):
        raise complain(index[(index < 0) | (index >= size)].flat[0])


def _select(x: Array, dim: int, index: Array) -> Any:
    dim = dim_in(dim, x.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if not is_int_array(index):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if x.ndim == 0:
        if index.size != 1:
            raise RuntimeError(
                f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)"
            )
        _in_range(index, 1, lambda _: IndexError("index out of range in self"))
        return x.copy()
    if index.size and x.shape[dim] == 0 and x.ndim > 1:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")

    def complain(bad: Any) -> Exception:
        if dim == 0 or x.ndim == 1:
            return IndexError("index out of range in self")
        return RuntimeError(
            f"INDICES element is out of DATA bounds, id={bad} axis_dim={x.shape[dim]}"
        )

    _in_range(index, x.shape[dim], complain)
    return _kernels.index_get(x, flat(index), (dim,), dim)


def _select_rule(g: Tensor, dim: int, index: Tensor, input_shape: Size) -> Tensor:
    if not input_shape:
        return g
    dim = dim_in(dim, len(input_shape))
    return index_backward(g, _vector(index), (dim,), dim, input_shape)


def _vector(index: Tensor) -> Tensor:
    return index.reshape(1) if index.ndim == 0 else index


def _rows_of(make: Any, below: int) -> Tensor:
    return make(2, low=0, high=below, kind="int")


index_select: Op = linear(
    "index_select(input: Tensor, dim: int, index: Tensor)",
    _select,
    native=_kernels.index_select,
    transpose={
        "input": lambda g, dim, index, input_shape: _select_rule(g, dim, index, input_shape)
    },
    overlap="never late",
    out="same",
    samples=lambda make: [(make(3, 4), 0, _rows_of(make, 3)), (make(3, 4), -1, _rows_of(make, 4))],
    keeps="rows",
    formula={"input": "g added up at index, 0 elsewhere"},
    stored="all",
    doc="The slices of a dimension that an index names.",
)


def _check_source(op: str, x: Array, dim: int, index: Array, source: Array) -> int:
    dim = dim_in(dim, x.ndim)
    if index.ndim > 1:
        raise IndexError(
            f"{op}(): Index is supposed to be a vector, but got dim: {index.ndim} with type: "
            f"{scalar_name(index)} and size: {list(index.shape)}"
        )
    if not is_int_array(index):
        raise RuntimeError(
            f"{op}(): Expected dtype int32/int64 for index but got: {scalar_name(index)}"
        )
    if x.dtype != source.dtype:
        raise RuntimeError(
            f"{op}(): self ({scalar_name(x)}) and source ({scalar_name(source)}) must have the "
            "same scalar type"
        )
    if dim and dim >= source.ndim:
        raise RuntimeError(
            f"{op}(): Indexing dim {dim} is out of bounds of the source tensor with dim "
            f"{source.ndim}"
        )
    if source.ndim == 0 and index.size != 1 and index.ndim:
        raise IndexError(
            f"Dimension specified as {dim} but tensor has no dimensions. The source of {op} is one "
            f"number, the index has {index.size}"
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


def _write_slices(x: Array, dim: int, index: Array, source: Array, accumulate: bool) -> None:
    _kernels.index_put(flat(x), flat(index).astype(np.int64), (dim,), dim, source, accumulate)


def _write_index_add(x: Array, dim: int, index: Array, source: Array, alpha: int) -> None:
    dim = _check_source("index_add_", x, dim, index, source)
    size = x.shape[dim] if x.ndim else 1
    _in_range(index, size, _out_of_bounds(0, size))
    if alpha != 1:
        source = np.asarray(source * cell(alpha, source.dtype)).astype(source.dtype)
    _write_slices(x, dim, index, source, True)


def _write_index_copy(x: Array, dim: int, index: Array, source: Array) -> None:
    dim = dim_in(dim, x.ndim)
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if source.ndim == 0 and index.size != 1:
        raise IndexError(
            "index_copy_(): When source is scalar, index should have one element "
            f"(got {index.size})"
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
    if want != have:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
            f"slice shape: {' '.join(map(str, want))} at dimension {dim} and source slice shape: "
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


def _write_index_fill(x: Array, dim: int, index: Array, value: Array | float) -> None:
    if isinstance(value, np_types.ndarray):
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
    size = x.shape[dim] if x.ndim else 1
    from_start = np.where(index < 0, index + size, index)
    _in_range(from_start, size, _out_of_bounds(dim, size, IndexError))
    _write_slices(x, dim, index, cell(value, x.dtype), False)


def _without(g: Tensor, dim: int, index: Tensor) -> Tensor:
    """g with zeros at the slices that were overwritten."""
    if g.ndim == 0:
        return g * 0
    dim = dim_in(dim, g.ndim)
    return index_zero(g, _vector(index), (dim,), dim)


def _slices(g: Tensor, dim: int, index: Tensor, source_shape: Size) -> Tensor:
    if g.ndim == 0:
        return g.reshape(source_shape)
    dim = dim_in(dim, g.ndim)
    return index_op(g, _vector(index), (dim,), dim).reshape(source_shape)


def _source_samples(make: Callable[..., Any]) -> Any:
    return [
        (make(3, 4), 0, distinct_index(make, 1, 3).reshape(3)[:2], make(2, 4)),
        (make(3, 4), 1, distinct_index(make, 1, 4).reshape(4), make(3, 4)),
    ]


index_add: Op = linear(
    "index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1)",
    write=_write_index_add,
    native=_kernels.index_add,
    overlap="never late",
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
    shared_write="name",
    formula={"source": "alpha · g[index]"},
    doc="The input with alpha * source added to the slices that an index names.",
)
index_copy: Op = linear(
    "index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor)",
    write=_write_index_copy,
    native=_kernels.index_copy,
    overlap="never",
    transpose={
        "input": lambda g, dim, index: _without(g, dim, index),
        "source": lambda g, dim, index, source_shape: _slices(g, dim, index, source_shape),
    },
    in_place=True,
    samples=_source_samples,
    formula={"input": "g, 0 at index", "source": "g[index]"},
    autocast="widest",
    doc="The input with source written to the slices that an index names.",
)
_index_fill_number: Op = general(
    "_index_fill_number(input: Tensor, dim: int, index: Tensor, value: Number)",
    write=_write_index_fill,
    native=_kernels.index_fill,
    overlap="self never",
    expanded=expanded_warning("index_fill_", "mask] = scalar"),
    vjp={"input": lambda g, dim, index: _without(g, dim, index)},
    in_place=True,
    method=False,
    node="IndexFillBackward0",
    samples=lambda make: [(make(3, 4), 0, _rows_of(make, 3), 1.5)],
    keeps="strides: input",
    aten="index_fill_.int_Scalar",
    shared_write="name",
    formula={"input": "g, 0 at index"},
    kernel_name="index_fill_cpu",
    subscript="index",
    doc="`index_fill` with a number.",
)
_index_fill_tensor: Op = linear(
    "_index_fill_tensor(input: Tensor, dim: int, index: Tensor, value: Tensor)",
    write=_write_index_fill,
    overlap="self never",
    expanded=expanded_warning("index_fill_", "mask] = scalar"),
    transpose={
        "input": lambda g, dim, index: _without(g, dim, index),
        "value": lambda g, dim, index: masked_fill(
            g, _index_fill_number(zeros_like(g), dim, index, 1) == 0, 0
        ).sum(),
    },
    in_place=True,
    method=False,
    node="IndexFillBackward1",
    samples=lambda make: [(make(3, 4), 0, _rows_of(make, 3), make())],
    keeps="strides: input",
    aten="index_fill_.int_Tensor",
    shared_write="name",
    formula={"input": "g, 0 at index", "value": "sum of g at index"},
    by_value="value",
    subscript="index",
    doc="`index_fill` with a tensor.",
)


@composite(
    samples=lambda make: [(make(3, 4), 0, _rows_of(make, 3), 1.5)],
    overloads=(
        "(input, dim, index: Tensor, value: Tensor)",
        "(input, dim, index: Tensor, value)",
    ),
)
def index_fill(input: Tensor, dim: int, index: Any, value: Number) -> Tensor:
    """The input with a number in the slices that an index names."""
    fill = _index_fill_tensor if isinstance(value, _Tensor) else _index_fill_number
    return fill(input, dim, index, value)


def index_fill_(input: Tensor, dim: int, index: Tensor, value: Number) -> Tensor:
    """In-place version of `index_fill`."""
    if isinstance(value, _Tensor):
        return _Tensor._index_fill_tensor_(input, dim, index, value)
    return _Tensor._index_fill_number_(input, dim, index, value)


publish("Tensor", "index_fill_", index_fill_)


def _write_index_reduce(
    x: Array, dim: int, index: Array, source: Array, reduce: str, include_self: bool
) -> None:
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    dim = _check_source("index_reduce_", x, dim, index, source)
    size = x.shape[dim] if x.ndim else 1
    _in_range(index, size, lambda _: IndexError("index out of range in self"))
    if not include_self and (x.dtype == np.bool_ or (x.dtype.kind == "c" and reduce[0] == "a")):
        raise NotImplementedError(
            f"\"index_reduce_func_exclude_input_init\" not implemented for '{scalar_name(x)}'"
        )
    refuse_reduction(x, reduce)
    full = np.broadcast_to(
        flat(index).reshape([-1 if d == dim else 1 for d in range(max(x.ndim, 1))]),
        flat(source).shape,
    )
    reduce_into(x, dim, full, source, reduce, bool(include_self))


def _index_reduce_rule(
    g: Tensor,
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    include_self: bool,
    out: Tensor,
) -> tuple[Tensor, ...]:
    if source.ndim:
        dim = dim_in(dim, source.ndim)
        index = _vector(index).reshape([-1 if d == dim else 1 for d in range(source.ndim)])
        index = expand(index, source.shape)
    else:
        index = index.reshape(())
    return reduce_gradients(g, input, dim, index, source, reduce, bool(include_self), out)


index_reduce: Op = general(
    "index_reduce(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, "
    "include_self: bool = True)",
    write=_write_index_reduce,
    native=_kernels.index_reduce,
    overlap="never late",
    vjp={
        "input, source": lambda g, input, dim, index, source, reduce, include_self, out: (
            _index_reduce_rule(g, input, dim, index, source, reduce, include_self, out)
        )
    },
    in_place=True,
    samples=lambda make: [
        (*args, how) for args in _source_samples(make) for how in ("prod", "mean", "amax", "amin")
    ],
    doc="The input reduced with source in the slices that an index names; reduce is 'prod', "
    "'mean', 'amax' or 'amin'.",
)
