"""vmap: rules of searches and extremes, whose results or sizes go by a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import _core
from ..._core import Op, Tensor
from ..._levels.batching import batched, batching, inner, normal, wrap_all
from ..indexing.batching import dynamic
from .extremes import _has as has
from .extremes import _put_along
from .extremes import take_entries as take_along
from .reductions import spread_dims
from .sorting import _isin as isin
from .sorting import _searchsorted as searchsorted
from .sorting import _unique_all, _unique_dim, _unique_runs

if TYPE_CHECKING:
    from ..._levels.batch import BatchLevel

__all__: list[str] = []

_call = _core.call_op


@batching(spread_dims)
def _spread_rule(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, shape, dim, keepdim = args
    value, n = inner(x, level), len(shape)
    dims = range(n) if dim is None or dim == () else (dim,) if isinstance(dim, int) else dim
    lost = sorted(d % n for d in dims) if n else []
    if not keepdim:
        for d in lost:
            value = value.unsqueeze(d + 1)
    return wrap_all(value.expand(level.size, *shape), level)


@batching(take_along, _put_along)
def _take_along(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    values = list(args)
    put = "shape" in op.params
    at = op.params.index("dim")
    n = len(args[2]) if put else args[0].ndim
    if n == 0:
        # A number has one place: there it is.
        return level.wrap(batched(args[0], level).clone())
    values[0], values[1] = batched(args[0], level), batched(args[1], level)
    if put:
        values[2] = (level.size, *args[2])
    values[at] = normal(args[at], n) + 1
    return level.wrap(_call(op, values))


@batching(searchsorted)
def _searchsorted(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    values, x = args[0], args[1]
    if values.ndim == 1 and inner(values, level) is None and inner(args[5], level) is None:
        return level.wrap(_call(op, [values, inner(x, level), *args[2:]]))
    number = x.ndim == 0
    rest = [args[2], args[3], args[4], None if args[5] is None else batched(args[5], level)]
    v, found = batched(values, level), batched(x, level)
    if number:
        found = found.unsqueeze(1)
    elif values.ndim == 1 and x.ndim > 1:
        found = found.reshape(level.size, -1)
    out = _call(op, [v.contiguous(), found.contiguous(), *rest])
    return level.wrap(out.reshape(level.size, *x.shape))


@batching(isin)
def _isin(op: Op, args: Sequence[Any], level: BatchLevel) -> Any:
    elements, wanted, invert = args
    found = (elements.unsqueeze(-1) == wanted.reshape(-1)).any(-1)
    return ~found if invert else found


@batching(has)
def _has(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    x, value, dim, keepdim, nan = args
    dims = range(x.ndim) if dim is None or dim == () else (dim,) if isinstance(dim, int) else dim
    if not x.ndim:
        rows = batched(x, level).unsqueeze(1)
        return level.wrap(_call(op, [rows, batched(value, level), (1,), False, nan]).squeeze(1))
    moved = tuple(normal(d, x.ndim) + 1 for d in dims)
    return level.wrap(_call(op, [batched(x, level), batched(value, level), moved, keepdim, nan]))


batching(_unique_all)(dynamic("_unique2"))


batching(_unique_dim)(dynamic("unique_dim"))


batching(_unique_runs)(dynamic("unique_consecutive"))
