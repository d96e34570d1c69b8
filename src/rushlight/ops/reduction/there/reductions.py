"""Reductions: sums, products, extremes, norms, variances, and the gradients that only move values.

Errors for wrong arguments come from the host: such calls give NotImplemented.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf, prod
from typing import Any, NamedTuple

from .... import _core
from ...._base import dtypes
from ...._core import Tensor, kernels
from ...._devices.choices import row, wanted_groups
from ...._devices.launch import (
    WIDE_GROUP,
    Dims,
    Ints,
    Tensors,
    code,
    computed,
    empty,
    layout,
    number,
    power_of_2,
    processors,
    rows,
    start,
)
from ...._devices.there import named, numbers_of, there
from ...matrix import norms
from .. import extremes, reductions

_N = numbers_of("reductions.cl")
_DIMS = numbers_of("accelerator_call.h").DIMS
_ITEMS = 16384  # work items enough for any device
_LEAST_PART = 32  # elements


def axes_of(dim: Dims, ndim: int) -> tuple[int, ...] | None:
    """The dimensions meant, all for None and (); None where they are no dimensions."""
    if dim is None:
        return tuple(range(ndim))
    found: list[int] = []
    for d in dim if isinstance(dim, (tuple, list)) else (dim,):
        if type(d) is not int or not -max(ndim, 1) <= d < max(ndim, 1) or d % max(ndim, 1) in found:
            return None
        found.append(d % max(ndim, 1))
    return tuple(found) if found and ndim else tuple(range(ndim))


def reduced_shape(shape: Ints, axes: tuple[int, ...], keepdim: bool) -> tuple[int, ...]:
    """The shape after a reduction of these dimensions."""
    if keepdim:
        return tuple(1 if d in axes else n for d, n in enumerate(shape))
    return tuple(n for d, n in enumerate(shape) if d not in axes)


def _parts(results: int, length: int) -> int:
    """How many parts each result's elements are taken in."""
    groups = min(_ITEMS // (results * _N.GROUP_SIZE), length // (_LEAST_PART * _N.GROUP_SIZE))
    return groups * _N.GROUP_SIZE if groups else 1


def _layouts(a: Tensor, axes: tuple[int, ...], ordered: bool) -> Any:
    """(the tensor or a copy, layout of what is kept, layout of what is reduced).

    ordered: in the order of the elements' places; else in the order in which memory is read.
    """
    sizes, strides = a.shape, a.stride()
    kept = [d for d in range(len(sizes)) if d not in axes]
    gone = sorted(axes) if ordered else sorted(axes, key=strides.__getitem__, reverse=True)
    laid = [
        layout(a, [sizes[d] for d in dims], [strides[d] for d in dims]) for dims in (kept, gone)
    ]
    if None not in laid:
        return a, *laid
    return None if a.is_contiguous() else _layouts(rows(a), axes, ordered)


def reduce(
    a: Tensor,
    axes: tuple[int, ...],
    keepdim: bool,
    combine: int,
    dtype: dtypes.dtype,
    take: int = _N.TAKE_VALUE,
    finish: int = _N.FINISH_NONE,
    value: float = 0,
    shift: Tensor | None = None,
) -> Tensor:
    """A reduction of these dimensions as a tensor of a dtype.

    shift: for each result the number that its elements are relative to, in the computed type.
    """
    out = empty(reduced_shape(a.shape, axes, keepdim), a, dtype)
    results, length = out.numel(), prod(a.shape[d] for d in axes)
    if not results:
        return out
    laid = _layouts(a, axes, False)
    if laid is None:
        return NotImplemented
    a, kept, gone = laid
    if processors(a) and length:
        how = combine, take, finish, value
        if _by_warps(a, out, kept, gone, length, how, shift):
            return out
        device: Any = a._accelerator
        twice = row(device).least_twice
        if shift is None and a.numel() >= twice and bytes(gone)[0] > 1:
            inner = reduce(a, _innermost(a, axes), True, combine, computed(a.dtype), take)
            return reduce(inner, axes, keepdim, combine, dtype, _N.TAKE_VALUE, finish, value)
    given = number(value, a)

    def run(x: Tensor, kept: Any, gone: Any, to: Tensor, count: int, parts: int, *how: int) -> None:
        shown = (x, x if shift is None else shift, to, kept, gone, code(x), code(to))
        more = (results, count, parts, *how, given)
        start("reductions.cl", "reduce", results * parts, x, *shown, *more)

    parts = _parts(results, length)
    if parts == 1:
        run(a, kept, gone, out, length, 1, combine, take, finish)
        return out
    each = empty((results, parts), a, computed(a.dtype))
    run(a, kept, gone, each, length, parts, combine, take, _N.FINISH_NONE)
    lines, line = layout(each, (results,), (parts,)), layout(each, (parts,), (1,))
    run(each, lines, line, out, parts, 1, combine, _N.TAKE_VALUE, finish)
    return out


# ---- on devices with warps


class _Parts(NamedTuple):
    """How rows are cut: parts of how many elements, and the work items that do one."""

    parts: int
    span: int
    per: int


def _innermost(a: Tensor, axes: tuple[int, ...]) -> tuple[int, ...]:
    """Those dimensions whose elements are gone through in one step, the nearest neighbours'."""
    sizes, strides = a.shape, a.stride()
    axes = tuple(sorted((d for d in axes if sizes[d] != 1), key=strides.__getitem__, reverse=True))
    for n in range(len(axes) - 1):
        laid = layout(a, [sizes[d] for d in axes[n:]], [strides[d] for d in axes[n:]])
        if laid is not None and bytes(laid)[0] == 1:
            return axes[n:]
    return axes[-1:]


def _row_parts(x: Tensor, results: int, length: int) -> _Parts:
    each = max(1, 16 // x.element_size())
    pieces = -(-length // each)
    device: Any = x._accelerator
    if pieces <= row(device).row_pieces:
        per = power_of_2(pieces / _N.ROUNDS, 32)
        while per < min(32, pieces) and results * per < wanted_groups(x) * WIDE_GROUP:
            per *= 2
        return _Parts(1, length, per)
    return _Parts(*_cut(length, 2 * _N.ROUNDS * WIDE_GROUP * each, results, x), WIDE_GROUP)


def _cut(length: int, least: int, groups: int, x: Tensor) -> tuple[int, int]:
    """(parts, their length), so that a device has groups enough, and parts work enough."""
    wanted = min(wanted_groups(x) // max(groups, 1), length // least)
    span = length if wanted < 2 else -(-length // wanted // 1024) * 1024
    return -(-length // span), span


def _options(x: Tensor, combine: int, take: int) -> str:
    return f"-DWARPS -DX={code(x)} -DHOW={combine} -DTAKEN={take}"


def _by_warps(
    x: Tensor,
    out: Tensor,
    kept: bytes,
    gone: bytes,
    length: int,
    how: tuple[int, int, int, float],
    shift: Tensor | None,
) -> bool:
    """Whether the kernels for rows or for columns did a reduction."""
    laid, left = (memoryview(bytes(t)).cast("q") for t in (gone, kept))
    item, columns = x.element_size(), left[left[0]] if left[0] else 1
    if laid[0] == 0 or (laid[0] == 1 and laid[1 + _DIMS] == item):
        _reduce_rows(x, out, kept, length, how, shift)
    elif laid[0] == 1 and left[0] and left[left[0] + _DIMS] == item:
        _reduce_columns(x, out, kept, columns, laid[1 + _DIMS], length, how, shift)
    else:
        return False
    return True


def _reduce_rows(
    x: Tensor, out: Tensor, kept: Any, length: int, how: Any, shift: Tensor | None
) -> None:
    combine, take, finish, value = how
    cut, results = _row_parts(x, out.numel(), length), out.numel()
    again, given = cut.parts > 1, (x if shift is None else shift, number(value, x))
    to = empty((results, cut.parts), x, computed(x.dtype)) if again else out
    sizes = (code(to), results, length, *cut, _N.FINISH_NONE if again else finish)
    items = results * cut.parts * cut.per
    start(
        "reductions.cl", "reduce_rows", items, x, x, given[0], to, kept, *sizes, given[1],
        more=_options(x, combine, take), group=WIDE_GROUP,
    )  # fmt: skip
    if again:
        lines = layout(to, (results,), (cut.parts,))
        _reduce_rows(to, out, lines, cut.parts, (combine, _N.TAKE_VALUE, finish, value), shift)


def _reduce_columns(
    x: Tensor,
    out: Tensor,
    kept: Any,
    columns: int,
    down: int,
    length: int,
    how: Any,
    shift: Tensor | None,
) -> None:
    combine, take, finish, value = how
    results, each = out.numel(), max(1, 16 // x.element_size())
    across = power_of_2(columns / each, 32)
    stacks = -(-columns // (across * each)) * (results // columns)
    parts, span = _cut(length, 2 * _N.ROUNDS * WIDE_GROUP // across, stacks, x)
    again = parts > 1
    to = empty((parts, results), x, computed(x.dtype)) if again else out
    sizes = (columns, results, length, down, parts, span, across)
    start(
        "reductions.cl", "reduce_columns", stacks * parts * WIDE_GROUP, x,
        x, x if shift is None else shift, to, kept, code(to), *sizes,
        _N.FINISH_NONE if again else finish, number(value, x),
        more=_options(x, combine, take), group=WIDE_GROUP,
    )  # fmt: skip
    if again:
        line = layout(to, (results,), (1,))
        how = combine, _N.TAKE_VALUE, finish, value
        _reduce_columns(to, out, line, results, results * to.element_size(), parts, how, shift)


def _find_rows(x: Tensor, out: Tensor, kept: Any, length: int, smallest: int) -> None:
    results, cut = out.numel(), _row_parts(x, out.numel(), length)
    again = cut.parts > 1
    to = empty((results, cut.parts), x, dtypes.int64) if again else out
    more, sizes = _options(x, 0, 0), (results, length, *cut)

    def run(found: Tensor, to: Tensor, items: int, *sizes: int) -> None:
        given = (x, found, to, kept, *sizes, smallest)
        start("reductions.cl", "find_rows", items, x, *given, more=more, group=WIDE_GROUP)

    run(to, to, results * cut.parts * cut.per, *sizes, 0)
    if again:
        run(to, out, results * WIDE_GROUP, *sizes, 1)


def _cast(a: Tensor, dtype: dtypes.dtype | None) -> Any:
    """The tensor in a dtype; None where kernels do not read it."""
    if dtype is None or dtype is a.dtype:
        return a
    return rows(a, dtype) if dtype.code <= dtypes.float64.code else None


def _total(
    combine: int,
    a: Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    dtype: dtypes.dtype | None = None,
    take: int = _N.TAKE_VALUE,
) -> Tensor:
    if type(keepdim) is not bool:
        return NotImplemented
    axes, a = axes_of(dim, a.dim()), _cast(a, dtype)
    if axes is None or a is None:
        return NotImplemented
    wanted = a.dtype if dtype is not None or a.dtype.is_floating_point else dtypes.int64
    return reduce(a, axes, keepdim, combine, wanted, take)


sum_ = there(kernels.sum, takes="real")(partial(_total, _N.COMBINE_SUM))


@there(kernels.prod, reductions.prod, reductions._prod_dim, takes="real")
def prod_(a: Tensor, dim: int | None = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    if isinstance(dim, (tuple, list)):
        return NotImplemented
    return _total(_N.COMBINE_PROD, a, dim, keepdim, dtype)


@there(reductions.nansum, takes="real")
def nansum(a: Tensor, dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    if not a.dtype.is_floating_point:
        return sum_(a, dim, keepdim, dtype)
    return (
        _total(_N.COMBINE_SUM, a, dim, keepdim, None, _N.TAKE_NO_NAN)
        if dtype is None
        else NotImplemented
    )


@there(kernels.count_nonzero, takes="real")
def count_nonzero(a: Tensor, dim: int | None = None) -> Tensor:
    return _total(_N.COMBINE_SUM, rows(a, dtypes.bool), dim, False)


def _extreme(combine: int, a: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    axes = axes_of(dim, a.dim()) if type(keepdim) is bool else None
    if axes is None or not a.numel():
        return NotImplemented
    return reduce(a, axes, keepdim, combine, a.dtype)


amax = there(kernels.amax, takes="real")(partial(_extreme, _N.COMBINE_MAX))
amin = there(kernels.amin, takes="real")(partial(_extreme, _N.COMBINE_MIN))


@there(extremes.aminmax, takes="real")
def aminmax(a: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensors:
    found = amin(a, dim, keepdim)
    return found if found is NotImplemented else (found, amax(a, dim, keepdim))


def _truth(combine: int, a: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    axes = axes_of(dim, a.dim()) if type(keepdim) is bool else None
    if axes is None:
        return NotImplemented
    axes = () if dim in ((), []) else axes
    found = reduce(a, axes, keepdim, combine, dtypes.bool, _N.TAKE_NONZERO)
    if found is NotImplemented:
        return found
    return rows(found, dtypes.uint8) if a.dtype is dtypes.uint8 else found


there(kernels.any, reductions.any, takes="real")(partial(_truth, _N.COMBINE_SUM))
there(kernels.all, reductions.all, takes="real")(partial(_truth, _N.COMBINE_PROD))


@there(kernels.mean, takes="real")
def mean(a: Tensor, dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    if type(keepdim) is not bool:
        return NotImplemented
    axes, a = axes_of(dim, a.dim()), _cast(a, dtype)
    if axes is None or a is None or not a.dtype.is_floating_point:
        return NotImplemented
    return _mean(a, axes, keepdim, a.dtype)


def _mean(a: Tensor, axes: tuple[int, ...], keepdim: bool, dtype: dtypes.dtype) -> Tensor:
    count = prod(a.shape[d] for d in axes)
    return reduce(a, axes, keepdim, _N.COMBINE_SUM, dtype, _N.TAKE_VALUE, _N.FINISH_DIVIDE, count)


@there(kernels.norm2, takes="float")
def norm2(a: Any, dim: Any = None, keepdim: Any = False) -> Any:
    axes = axes_of(dim, a.dim()) if type(keepdim) is bool else None
    if axes is None:
        return NotImplemented
    return reduce(a, axes, keepdim, _N.COMBINE_SUM, a.dtype, _N.TAKE_SQUARE, _N.FINISH_ROOT)


@there(norms.vector_norm, norms._distance_norm, takes="float")
def vector_norm(a: Tensor, ord: float, dim: Dims, keepdim: bool, dtype: Any = None) -> Tensor:
    axes = axes_of(dim, a.dim()) if type(keepdim) is bool else None
    if axes is None or type(ord) not in (int, float) or dtype not in (None, a.dtype):
        return NotImplemented
    if (ord < 0 or ord == inf) and not a.numel():
        return NotImplemented
    if ord == 0:
        return reduce(rows(a, dtypes.bool), axes, keepdim, _N.COMBINE_SUM, a.dtype)
    if abs(ord) == inf:
        return reduce(
            a, axes, keepdim, _N.COMBINE_MAX if ord > 0 else _N.COMBINE_MIN, a.dtype, _N.TAKE_ABS
        )
    if ord == 1:
        return reduce(a, axes, keepdim, _N.COMBINE_SUM, a.dtype, _N.TAKE_ABS)
    if ord == 2:
        return reduce(a, axes, keepdim, _N.COMBINE_SUM, a.dtype, _N.TAKE_SQUARE, _N.FINISH_ROOT)
    return reduce(a, axes, keepdim, _N.COMBINE_SUM, a.dtype, _N.TAKE_POWER, _N.FINISH_POWER, ord)


def _spread(a: Tensor, dim: Dims, correction: float, keepdim: bool, finish: int) -> Tensors:
    """(the variance or its root, the mean)."""
    axes = axes_of(dim, a.dim()) if type(keepdim) is bool else None
    if axes is None or type(correction) not in (int, float):
        return NotImplemented
    middle = _mean(a, axes, keepdim, computed(a.dtype))
    if middle is NotImplemented:
        return middle
    free = max(prod(a.shape[d] for d in axes) - correction, 0)
    away = reduce(
        a, axes, keepdim, _N.COMBINE_SUM, a.dtype, _N.TAKE_SQUARE_AWAY, finish, free, middle
    )
    return away, rows(middle, a.dtype)


def _first(pair: Sequence[Tensor]) -> Tensor:
    return pair if pair is NotImplemented else pair[0]


@there(kernels.var, takes="float")
def var(a: Tensor, dim: Dims = None, correction: float = 1, keepdim: bool = False) -> Tensor:
    return _first(_spread(a, dim, correction, keepdim, _N.FINISH_DIVIDE))


@there(reductions._std_op, takes="float")
def std(a: Tensor, dim: Dims, correction: float, keepdim: bool) -> Tensor:
    return _first(_spread(a, dim, correction, keepdim, _N.FINISH_DIVIDE_ROOT))


there(reductions._var_mean_op, takes="float")(partial(_spread, finish=_N.FINISH_DIVIDE))
there(reductions._std_mean_op, takes="float")(partial(_spread, finish=_N.FINISH_DIVIDE_ROOT))


@there(kernels.logsumexp, takes="float")
def logsumexp(a: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    axes = axes_of(dim, a.dim()) if type(keepdim) is bool else None
    if axes is None or not a.numel():
        return NotImplemented
    most = reduce(a, axes, keepdim, _N.COMBINE_MAX, computed(a.dtype))
    if most is NotImplemented:
        return most
    return reduce(
        a, axes, keepdim, _N.COMBINE_SUM, a.dtype, _N.TAKE_EXP_AWAY, _N.FINISH_LOG, 0, most
    )


# ---- places


def _place(a: Tensor, dim: int | None = None, keepdim: bool = False, *, smallest: int) -> Tensor:
    good = type(keepdim) is bool and (dim is None or type(dim) is int)
    axes = axes_of(dim, a.dim()) if good else None
    if axes is None or not a.numel() or a.dtype is dtypes.bool:
        return NotImplemented
    return find(a, axes, keepdim, smallest)


def find(a: Tensor, axes: tuple[int, ...], keepdim: bool, smallest: int) -> Tensor:
    """The first place of the largest or smallest, a NaN being either, among these dimensions."""
    out = empty(reduced_shape(a.shape, axes, keepdim), a, dtypes.int64)
    laid = _layouts(a, axes, True)
    if laid is None:
        return NotImplemented
    a, kept, gone = laid
    results, length = out.numel(), prod(a.shape[d] for d in axes)
    row = memoryview(bytes(gone)).cast("q")
    if processors(a) and results and row[0] == 1 and row[1 + _DIMS] == a.element_size():
        _find_rows(a, out, kept, length, smallest)
        return out
    parts = _parts(results, length)
    given, sizes = (kept, gone, code(a)), (results, length, parts)
    each = out if parts == 1 else empty((results, parts), a, dtypes.int64)
    start("reductions.cl", "find", results * parts, a, a, each, each, *given, *sizes, 0, smallest)
    if parts > 1:
        start("reductions.cl", "find", results, a, a, each, out, *given, *sizes, 1, smallest)
    return out


there(kernels.argmax, extremes.argmax, takes="real")(partial(_place, smallest=0))
there(kernels.argmin, extremes.argmin, takes="real")(partial(_place, smallest=1))


def _extreme_and_place(a: Tensor, dim: int, keepdim: bool = False, *, smallest: int) -> Tensors:
    axes = axes_of(dim, a.dim()) if type(dim) is int and type(keepdim) is bool else None
    if axes is None or not a.numel():
        return NotImplemented
    if processors(a) and a.dim():  # all is read once
        places = find(a, axes, True, smallest)
        if places is NotImplemented:
            return places
        found = _core.kernels.gather(a, dim, places), places
        return found if keepdim else tuple(_core.kernels.squeeze(t, dim) for t in found)
    values = reduce(a, axes, keepdim, _N.COMBINE_MIN if smallest else _N.COMBINE_MAX, a.dtype)
    return values if values is NotImplemented else (values, find(a, axes, keepdim, smallest))


there(*named("_max_dim"), takes="real")(partial(_extreme_and_place, smallest=0))
there(*named("_min_dim"), takes="real")(partial(_extreme_and_place, smallest=1))


# ---- gradients


@there(kernels.sum_to, takes="float")
def sum_to(a: Tensor, shape: Ints) -> Tensor:
    if len(shape) > a.dim():
        return NotImplemented
    lead = a.dim() - len(shape)
    axes = [*range(lead)]
    for d, n in enumerate(shape, lead):
        if a.shape[d] != n:
            axes.append(d)
            if n != 1:
                return NotImplemented
    if not axes:
        return a
    total = reduce(a, tuple(axes), False, _N.COMBINE_SUM, a.dtype)
    return total if total is NotImplemented else _core.kernels.reshape(total, tuple(shape))


@there(kernels.mean_backward, takes="float")
def mean_backward(g: Tensor, shape: Ints, dim: Dims, keepdim: bool) -> Tensor:
    axes = axes_of(dim, len(shape)) if type(keepdim) is bool else None
    if axes is None:
        return NotImplemented
    count = prod(shape[d] for d in axes)
    part = reduce(g, (), False, _N.COMBINE_SUM, g.dtype, _N.TAKE_VALUE, _N.FINISH_DIVIDE, count)
    return part if part is NotImplemented else _core.kernels.spread(part, shape, dim, keepdim)


@there(extremes._has, takes="float, value: real")
def has(a: Tensor, value: Tensor, dim: Dims, keepdim: bool, nan: bool) -> Tensor:
    axes = axes_of(dim, a.dim())
    if axes is None:
        return NotImplemented
    out, take = empty(a.shape, a, dtypes.bool), _N.TAKE_SAME_OR_NAN if nan else _N.TAKE_SAME
    if not a.numel():
        return out
    value = rows(value, computed(a.dtype))
    laid = [layout(t) for t in (a, _core.kernels.spread(value, a.shape, axes, keepdim))]
    if None in laid:
        return NotImplemented
    given = (a, value, out, *laid, code(a), code(out), a.numel(), take)
    start("reductions.cl", "has", a.numel(), a, *given)
    return out
