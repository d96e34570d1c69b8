"""vmap: what an op does when dimension 0 of some arguments is a batch that the
program does not see.

A rule gets the op, its arguments as the program gave them (wrapped ones included) and the level.
Most ops belong to a family, by what they do with dimensions: their statement says so (`BATCH` in
ops/table/words.py), or it follows from their kind and parameters (`batching_rule.py`). The others
have a rule in one of the files `batching_*.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .. import _core

__all__ = ["batching", "folded", "inner", "normal", "pointwise", "spread", "trailing", "wrap_all"]

_Rule = TypeVar("_Rule", bound=Callable[[Any, Any, Any], Any])

_Tensor = _core.Tensor
_call = _core.call_op


def batching(*ops: Any) -> Callable[[_Rule], _Rule]:
    """Decorator: the batching rule of these ops."""
    for op in ops:
        if not isinstance(op, _core.Op) or op.entry.batching is not None:
            raise TypeError(f"{op!r} is no op, or has a batching rule already")

    def attach(f: _Rule) -> _Rule:
        for op in ops:
            op.entry.batching = f
        return f

    return attach


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
