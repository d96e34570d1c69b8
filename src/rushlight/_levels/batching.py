"""vmap: what an op does when dimension 0 of some arguments is a batch that the
program does not see.

A rule gets the op, its arguments as the program gave them (wrapped ones included) and the level.
Rules come in families, by what the op does with dimensions:

- pointwise: dimensions are aligned from the right, behind the batch.
- trailing: the op only looks at the last dimensions; the batch is one more leading one.
- folded: dimension 0 is a batch already; the two become one.
- along: the op names its dimensions by `dim`, `shape`, ...: each moves by one
  (`batching_dims.py`).
- composed: the result in terms of other ops on the wrapped tensors (`batching_products.py` and
  so on).

What has no rule runs once for each element, with a warning the first time; `unbatched_ops` lists
those ops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .. import _core
from ..ops.table.statement import OPS, namespace
from .composites import warn_of_loop

__all__ = ["batching", "batching_of", "inner", "normal", "spread", "unbatched_ops", "wrap_all"]

_Rule = TypeVar("_Rule", bound=Callable[[Any, Any, Any], Any])

_Tensor = _core.Tensor
_call = _core.call_op
_T = namespace("torch")


def batching(*ops: Any) -> Callable[[_Rule], _Rule]:
    """Decorator: the batching rule of these ops."""

    def attach(f: _Rule) -> _Rule:
        for op in ops:
            if OPS[op].batching is not None:
                raise TypeError(f"op '{op}' has a batching rule already")
            OPS[op].batching = f
        return f

    return attach


def batching_of(op: Any) -> Any:
    """The batching rule of an op."""
    entry = op.entry
    rule = entry.batching
    if rule is None:
        rule = entry.batching = pointwise if entry.kind == "pointwise" else looped
    return rule


# ---- what rules are made of


def inner(t: Any, level: Any) -> Any:
    """The batched value of a tensor of this level, else None."""
    if not isinstance(t, _Tensor):
        return None
    w = t._wrapped
    return w.value if w is not None and w.level is level else None


def spread(t: Any, level: Any) -> Any:
    """The value with the batch as dimension 0, expanded where it had none."""
    value = inner(t, level)
    return t.expand(level.size, *t.shape) if value is None else value


def wrap_all(out: Any, level: Any) -> Any:
    """A result (or several) whose dimension 0 is the batch."""
    if isinstance(out, _Tensor):
        return level.wrap(out)
    if out is None:
        return None
    wrapped = tuple(wrap_all(o, level) for o in out)
    return wrapped if type(out) in (tuple, list) else type(out)(wrapped)


def normal(dim: int, ndim: int) -> int:
    """A dimension the program named, counted from the front; torch's error where there is none."""
    n = max(ndim, 1)
    if not -n <= dim < n:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})"
        )
    return dim % n


# ---- pointwise


def pointwise(op: Any, slots: Any, level: Any) -> Any:
    values = list(slots)
    ndim = 0
    batched = []
    low = False
    for i, a in enumerate(slots):
        if isinstance(a, _Tensor):
            n = a.ndim
            if n > ndim:
                ndim = n
            w = a._wrapped
            if w is not None and w.level is level:
                batched.append(i)
                values[i] = w.value
                low = low or n == 0
    if low and len(values) > 1:
        _same_types(slots, values, batched)
    for i in batched:
        n = slots[i].ndim
        if n < ndim:
            v = values[i]
            values[i] = v.reshape(v.shape[:1] + (1,) * (ndim - n) + v.shape[1:])
    return level.wrap(_call(op, values))


def pointwise_results(op: Any, slots: Any, level: Any) -> Any:
    """An op of one tensor that is pointwise though it is not said to be;
    it may have several results."""
    values = [spread(a, level) if isinstance(a, _Tensor) else a for a in slots]
    return wrap_all(_call(op, values), level)


def _same_types(slots: Any, values: list[Any], batched: list[int]) -> None:
    """A batched number has a dimension, but is to count as a number when types are promoted."""
    tensors = [i for i, a in enumerate(slots) if isinstance(a, _Tensor)]
    numbers = [a for a in slots if type(a) in (int, float, complex)]
    if len(tensors) < 2 and not numbers:
        return
    wanted = _core.result_type(tuple(slots[i] for i in tensors) + tuple(numbers))
    if wanted is _core.result_type(tuple(values[i] for i in tensors) + tuple(numbers)):
        return
    for i in batched:
        v = values[i]
        if v.dtype is not wanted and v.dtype.category == wanted.category:
            values[i] = v.to(wanted)


# ---- trailing


def trailing(op: Any, slots: Any, level: Any) -> Any:
    """Every tensor has the batch in front; the op looks at the last dimensions only."""
    values = [spread(a, level) if isinstance(a, _Tensor) else a for a in slots]
    return wrap_all(_call(op, values), level)


_TRAILING = """
    alias clone _contiguous_copy _to_copy _to_device _conj _neg_view
    view_as_real view_as_complex complex polar
    tril triu inv det _linalg_slogdet _slogdet cholesky _cholesky _qr _eigh _eig _svd matrix_exp
    _lu_factor cholesky_solve constant_pad_nd _zeroed _overwrite_number solve_triangular
    _triangular_solve _pixel_shuffle _pixel_unshuffle mvlgamma pinv
"""

batching(*_TRAILING.split())(trailing)
batching("_divided", "frexp")(pointwise_results)


# ---- folded


def folded(op: Any, slots: Any, level: Any) -> Any:
    """Dimension 0 of the first argument is a batch already: both become one."""
    x = slots[0]
    value = spread(x, level)
    n = x.shape[0]
    values = [value.flatten(0, 1), *slots[1:]]
    for i, name in enumerate(op.params):
        if name == "shape" and i:
            values[i] = (level.size * slots[i][0], *slots[i][1:])
        elif i and isinstance(slots[i], _Tensor):
            values[i] = spread(slots[i], level).flatten(0, 1)
    out = _call(op, values)
    if isinstance(out, _Tensor):
        return wrap_all(out.unflatten(0, (level.size, n)), level)
    return wrap_all(tuple(o.unflatten(0, (level.size, n)) for o in out), level)


def folded_first(op: Any, slots: Any, level: Any) -> Any:
    """`folded` where the tensors after the first have no batch of their own."""
    x = slots[0]
    out = _call(op, [inner(x, level).flatten(0, 1), *slots[1:]])
    split = (level.size, x.shape[0])
    if isinstance(out, _Tensor):
        return wrap_all(out.unflatten(0, split), level)
    return wrap_all(tuple(o.unflatten(0, split) for o in out), level)


def _is_spatial(name: str) -> bool:
    return name.startswith(
        ("_max_pool", "_avg_pool", "_adaptive_", "_lp_pool", "_upsample_", "_reflect_pad",
         "_replicate_pad", "_circular_pad", "_im2col", "_col2im", "_pool_", "_channel_shuffle",
         "_to_format")
    )  # fmt: skip


batching(*filter(_is_spatial, OPS))(folded)


# ---- one by one


def looped(op: Any, slots: Any, level: Any) -> Any:
    """The last resort: the op once for each element."""
    name = op.entry.name
    warn_of_loop(name)
    if not level.size:
        raise RuntimeError(f"vmap: {name} cannot be mapped over a dimension of size 0")

    def element(a: Any, i: int) -> Any:
        if isinstance(a, (list, tuple)) and a and isinstance(a[0], _Tensor):
            return [element(x, i) for x in a]
        value = inner(a, level)
        return a if value is None else value[i]

    results = [_call(op, [element(a, i) for a in slots]) for i in range(level.size)]
    if isinstance(results[0], _Tensor):
        return wrap_all(_stacked(name, results), level)
    columns = [_stacked(name, list(c)) for c in zip(*results, strict=True)]
    kind = type(results[0])
    return wrap_all(tuple(columns) if kind in (tuple, list) else kind(tuple(columns)), level)


def _stacked(name: str, rows: list[Any]) -> Any:
    if any(r.shape != rows[0].shape for r in rows):
        k = next(k for k, r in enumerate(rows) if r.shape != rows[0].shape)
        raise RuntimeError(
            f"stack expects each tensor to be equal size, but got {list(rows[0].shape)} at entry "
            f"0 and {list(rows[k].shape)} at entry {k}. Under vmap the result of {name} must have "
            "one shape for all elements of the batch."
        )
    return _T["stack"](rows)


def unbatched_ops() -> list[str]:
    """The ops that vmap still runs once for each element of the batch, as PyTorch does too.

    Of the functions among them (those that are Python over other ops), only the calls that decide
    by values: `embedding_bag` with mode='max' or a padding_idx, `lstsq` with another driver.

    >>> "histc" in unbatched_ops()
    True
    """
    by_element = [n for n, e in OPS.items() if getattr(e.function, "hook", None) == "by_element"]
    kinds = ("composite", "pointwise")
    ops = [n for n, e in OPS.items() if e.kind not in kinds and e.batching in (None, looped)]
    return ops + sorted(by_element)
