"""vmap: rules of ops along dimensions that they name: each is one further behind the batch."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from ..ops.table.statement import OPS, namespace
from .batching import batching, inner, normal, spread, wrap_all

__all__: list[str] = []

_Tensor = _core.Tensor
_call = _core.call_op
_T = namespace("torch")


def _shifted_dim(d: Any, ndim: int) -> Any:
    return normal(d, ndim) + 1


def _reduction(full: str | None = None, dim: str = "dim") -> Any:
    """An op that reduces `dim`: an int, several, or all (None or ())."""

    def reduce(op: Any, slots: Any, level: Any) -> Any:
        values = list(slots)
        x = slots[0]
        value = inner(x, level)
        at = op.params.index(dim)
        d, n = slots[at], x.ndim
        if n == 0:
            if d is not None and d != ():
                for one in d if isinstance(d, (tuple, list)) else (d,):
                    normal(one, 0)
            value, d = value.unsqueeze(1), (1,) if isinstance(d, (tuple, list)) or d is None else 1
            if "keepdim" in op.params:
                values[op.params.index("keepdim")] = False
        elif d is None or d == ():
            d = tuple(range(1, n + 1))
        elif isinstance(d, (tuple, list)):
            d = tuple(_shifted_dim(i, n) for i in d)
        else:
            d = _shifted_dim(d, n)
        values[0], values[at] = value, d
        return wrap_all(_call(OPS[full].function if full else op, values), level)

    return reduce


batching("sum", "_sum_dims")(_reduction("_sum_dims"))
batching("mean", "_mean_dims")(_reduction("_mean_dims"))
batching(
    *"nansum _var _std _var_mean _std_mean amax amin logsumexp _vector_norm _distance_norm".split(),
    *"any all count_nonzero".split(),
)(_reduction())


def _one_dim(reduce_all: str | None = None) -> Any:
    """An op that reduces one dimension, or (None) all of them as one row."""

    def reduce(op: Any, slots: Any, level: Any) -> Any:
        values = list(slots)
        x = slots[0]
        value = inner(x, level)
        at = op.params.index("dim")
        keep = op.params.index("keepdim") if "keepdim" in op.params else None
        n, keepdim = x.ndim, keep is not None and bool(slots[keep])
        whole = slots[at] is None
        if whole or n == 0:
            if not whole:
                normal(slots[at], 0)
            value, d = value.reshape(level.size, -1 if level.size else math.prod(x.shape)), 1
            if keep is not None:
                values[keep] = False
        else:
            d = _shifted_dim(slots[at], n)
        values[0], values[at] = value, d
        target = OPS[reduce_all].function if reduce_all else op
        out = _call(target, values)
        if whole and keepdim and n:
            out = _reshaped(out, (level.size, *(1,) * n))
        return wrap_all(out, level)

    return reduce


def _reshaped(out: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(out, _Tensor):
        return out.reshape(shape)
    return type(out)(tuple(o.reshape(shape) for o in out))


batching(
    *"argmax argmin kthvalue mode _max_dim _min_dim _median_dim _nanmedian_dim aminmax".split()
)(_one_dim())
batching("prod", "_prod_dim")(_one_dim("_prod_dim"))


def _all_as_row(target: str, pick: int | None = None) -> Any:
    """An op of all elements: the op `target` along one row for each element of the batch."""

    def reduce(op: Any, slots: Any, level: Any) -> Any:
        value = inner(slots[0], level)
        out = OPS[target].function(value.reshape(level.size, math.prod(slots[0].shape)), 1)
        return wrap_all(out if pick is None else out[pick], level)

    return reduce


batching("_max_all")(_all_as_row("amax"))
batching("_min_all")(_all_as_row("amin"))
batching("_median_all")(_all_as_row("_median_dim", 0))
batching("_nanmedian_all")(_all_as_row("_nanmedian_dim", 0))

_DIMS = frozenset("dim dim0 dim1 dim2 dims dimension".split())


_SHAPES = frozenset(["shape"])


def along(op: Any, slots: Any, level: Any) -> Any:
    """An op along dimensions it names; every tensor argument has the batch in front."""
    values = list(slots)
    tensors = [i for i, a in enumerate(slots) if isinstance(a, _Tensor)]
    n = slots[tensors[0]].ndim
    scalar = n == 0
    for i in tensors:
        v = spread(slots[i], level)
        values[i] = v.unsqueeze(1) if scalar and v.ndim == 1 else v
    for i, name in enumerate(op.params):
        a = slots[i]
        if name == "dims" and a is None:
            values[i] = (1, 2)
        elif name in _DIMS and a is not None:
            if isinstance(a, (tuple, list)):
                values[i] = tuple(_shifted_dim(d, n) for d in a)
            else:
                values[i] = _shifted_dim(a, n)
        elif name in _SHAPES and a is not None:
            values[i] = (level.size, *a)
    out = _call(op, values)
    if scalar:
        squeezed = [o.squeeze(1) for o in (out if not isinstance(out, _Tensor) else (out,))]
        out = squeezed[0] if isinstance(out, _Tensor) else type(out)(squeezed)
    return wrap_all(out, level)


_ALONG = """
    softmax log_softmax _softmax_as _log_softmax_as glu cumsum cumprod cummax cummin logcumsumexp
    _sort _stable_sort topk gather _scatter _scatter_zero _scatter_value scatter_add scatter_reduce
    flip rot90 select_scatter slice_scatter diagonal_scatter transpose _slice _split
    split_with_sizes unfold
    _transpose_in_place _squeeze_dims _squeeze_dim _squeeze_dim_in_place _squeeze_dims_in_place
"""

batching(*_ALONG.split())(along)


_ALONG_SHAPED = "_gather_backward _slice_backward _select_backward _unfold_backward"


@batching(*_ALONG_SHAPED.split())
def _into_zeros(op: Any, slots: Any, level: Any) -> Any:
    """Ops that write into zeros of a shape: their dimensions are those of the shape."""
    values = list(slots)
    n = len(slots[op.params.index("shape")])
    for i, name in enumerate(op.params):
        a = slots[i]
        if isinstance(a, _Tensor):
            values[i] = spread(a, level)
        elif name in _DIMS:
            values[i] = _shifted_dim(a, n)
        elif name == "shape":
            values[i] = (level.size, *a)
    return wrap_all(_call(op, values), level)


@batching("select", "unbind")
def _select(op: Any, slots: Any, level: Any) -> Any:
    at = op.params.index("dim")
    n = slots[0].ndim
    values = [inner(slots[0], level), *slots[1:]]
    if n == 0:
        return _call(op, [_T["zeros"](()), *slots[1:]])  # raises
    values[at] = _shifted_dim(slots[at], n)
    return wrap_all(_call(op, values), level)


@batching("diagonal", "_diagonal_backward")
def _diagonal(op: Any, slots: Any, level: Any) -> Any:
    values = list(slots)
    values[0] = inner(slots[0], level)
    n = slots[0].ndim
    if "shape" in op.params:
        at = op.params.index("shape")
        n, values[at] = len(slots[at]), (level.size, *slots[at])
    for name in ("dim1", "dim2"):
        at = op.params.index(name)
        values[at] = _shifted_dim(slots[at], n)
    return wrap_all(_call(op, values), level)


@batching("diag_embed")
def _diag_embed(op: Any, slots: Any, level: Any) -> Any:
    values = [inner(slots[0], level), *slots[1:]]
    n = slots[0].ndim + 1
    for at in (2, 3):
        values[at] = _shifted_dim(slots[at], n)
    return wrap_all(_call(op, values), level)


@batching("unsqueeze", "_unsqueeze_in_place")
def _unsqueeze(op: Any, slots: Any, level: Any) -> Any:
    n = slots[0].ndim + 1
    return wrap_all(_call(op, [inner(slots[0], level), _shifted_dim(slots[1], n)]), level)


@batching("_squeeze", "_squeeze_in_place")
def _squeeze(op: Any, slots: Any, level: Any) -> Any:
    dims = tuple(i + 1 for i, n in enumerate(slots[0].shape) if n == 1)
    return wrap_all(OPS["_squeeze_dims"].function(inner(slots[0], level), dims), level)


@batching("_set_away")
def _set_away(op: Any, slots: Any, level: Any) -> Any:
    values = [spread(t, level) for t in slots[:2]]
    return wrap_all(_call(op, [*values, (level.size, *slots[2])]), level)


@batching("t", "_t_in_place")
def _t(op: Any, slots: Any, level: Any) -> Any:
    value, n = inner(slots[0], level), slots[0].ndim
    if n > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {n}D")
    return wrap_all(value.transpose(1, 2) if n == 2 else OPS["alias"].function(value), level)


@batching("permute", "_permute_back")
def _permute(op: Any, slots: Any, level: Any) -> Any:
    x, dims = slots
    if len(dims) != x.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {x.ndim} is not "
            f"equal to len(dims) = {len(dims)}"
        )
    return wrap_all(
        _call(op, [inner(x, level), (0, *(_shifted_dim(d, x.ndim) for d in dims))]), level
    )


@batching("view", "_unsafe_view", "_reshape_alias")
def _view(op: Any, slots: Any, level: Any) -> Any:
    x, size = slots
    value = inner(x, level)
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    if len(size) == 1 and not isinstance(size[0], int):
        return wrap_all(_call(op, [value, size]), level)  # another dtype
    return wrap_all(_call(op, [value, (level.size, *_sizes(x, size))]), level)


def _sizes(x: Any, size: Any) -> tuple[int, ...]:
    """The sizes with -1 worked out; torch's error where they do not fit."""
    known = 1
    unknown = -1
    for i, n in enumerate(size):
        if n == -1:
            if unknown >= 0:
                raise RuntimeError("only one dimension can be inferred")
            unknown = i
        else:
            known *= n
    total = math.prod(x.shape)
    fits = known == total if unknown < 0 else known and total % known == 0
    if not fits:
        raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {total}")
    if unknown < 0:
        return tuple(size)
    return (*size[:unknown], total // known, *size[unknown + 1 :])


@batching("expand")
def _expand(op: Any, slots: Any, level: Any) -> Any:
    x, size = slots[0], slots[1]
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = size[0]
    value, more = inner(x, level), len(size) - x.ndim
    if more > 0:
        value = value.reshape(value.shape[:1] + (1,) * more + value.shape[1:])
    return wrap_all(_call(op, [value, (level.size, *size), *slots[2:]]), level)


@batching("sum_to")
def _sum_to(op: Any, slots: Any, level: Any) -> Any:
    x, shape = slots
    value, more = inner(x, level), x.ndim - len(shape)
    if more > 0:
        value = value.sum(tuple(range(1, more + 1)))
    return wrap_all(_call(op, [value, (level.size, *shape)]), level)


@batching("repeat")
def _repeat(op: Any, slots: Any, level: Any) -> Any:
    x, times = slots
    if len(times) == 1 and isinstance(times[0], (tuple, list)):
        times = times[0]
    value, more = inner(x, level), len(times) - x.ndim
    if more > 0:
        value = value.reshape(value.shape[:1] + (1,) * more + value.shape[1:])
    return wrap_all(_call(op, [value, (1, *times)]), level)


@batching("roll")
def _roll(op: Any, slots: Any, level: Any) -> Any:
    x, shifts, dims = slots
    value = inner(x, level)
    if dims is None or dims == ():
        flat = value.reshape(level.size, math.prod(x.shape))
        return wrap_all(_call(op, [flat, shifts, 1]).reshape(value.shape), level)
    one = isinstance(dims, int)
    moved = _shifted_dim(dims, x.ndim) if one else tuple(_shifted_dim(d, x.ndim) for d in dims)
    return wrap_all(_call(op, [value, shifts, moved]), level)


@batching("_spread")
def _spread_rule(op: Any, slots: Any, level: Any) -> Any:
    x, shape, dim, keepdim = slots
    value, n = inner(x, level), len(shape)
    dims = range(n) if dim is None or dim == () else (dim,) if isinstance(dim, int) else dim
    lost = sorted(d % n for d in dims) if n else []
    if not keepdim:
        for d in lost:
            value = value.unsqueeze(d + 1)
    return wrap_all(value.expand(level.size, *shape), level)


@batching("cat")
def _cat(op: Any, slots: Any, level: Any) -> Any:
    tensors, dim = slots
    # torch lets old empty tensors of one dimension be joined with anything.
    kept = [t for t in tensors if t.shape != (0,)] or list(tensors)
    n = kept[0].ndim
    return wrap_all(_call(op, [[spread(t, level) for t in kept], _shifted_dim(dim, n)]), level)


@batching("stack")
def _stack(op: Any, slots: Any, level: Any) -> Any:
    tensors, dim = slots
    moved = _shifted_dim(dim, tensors[0].ndim + 1)
    return wrap_all(_call(op, [[spread(t, level) for t in tensors], moved]), level)
