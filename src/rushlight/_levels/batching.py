"""vmap: what an op does when dimension 0 of some arguments is a batch that the
program does not see.

A rule gets the op, its arguments as the program gave them (wrapped ones included) and the level.
Most ops belong to a family, by what they do with dimensions: their statement says so (`BATCH` in
ops/table/words.py), or it follows from their kind and parameters (`batching_rule.py`). The others
have a rule beside their statement, in ops/SUBJECT/batching.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .. import _core
from .._core import Op, Tensor

if TYPE_CHECKING:
    from .batch import BatchLevel

__all__ = [
    "all_batched",
    "batched",
    "batching",
    "folded",
    "inner",
    "normal",
    "padded",
    "pointwise",
    "solved",
    "trailing",
    "wrap_all",
]

_Rule = TypeVar("_Rule", bound=Callable[[Any, Any, Any], Any])

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


def inner(t: Any, level: BatchLevel) -> Any:
    """The batched value of a tensor of this level, else None."""
    if not isinstance(t, Tensor):
        return None
    w = t._wrapped
    return w.value if w is not None and w.level is level else None


def batched(t: Any, level: BatchLevel) -> Any:
    """The value with the batch as dimension 0, expanded where it had none."""
    value = inner(t, level)
    return t.expand(level.size, *t.shape) if value is None else value


def all_batched(args: Sequence[Any], level: BatchLevel) -> list[Any]:
    """The arguments of an op with `batched` tensors."""
    return [batched(a, level) if isinstance(a, Tensor) else a for a in args]


def padded(v: Tensor, have: int, want: int) -> Tensor:
    """A batched value with dimensions of size 1 behind the batch."""
    if have >= want:
        return v
    return v.reshape(v.shape[:1] + (1,) * (want - have) + v.shape[1:])


def wrap_all(out: Tensor | tuple[Tensor, ...], level: BatchLevel) -> Any:
    """A result (or several) whose dimension 0 is the batch."""
    if isinstance(out, Tensor):
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


def pointwise(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor:
    values = list(args)
    ndim = 0
    at = []
    low = False
    for i, a in enumerate(args):
        if isinstance(a, Tensor):
            n = a.ndim
            if n > ndim:
                ndim = n
            w = a._wrapped
            if w is not None and w.level is level:
                at.append(i)
                values[i] = w.value
                low = low or n == 0
    if low and len(values) > 1:
        _same_types(args, values, at)
    for i in at:
        n = args[i].ndim
        if n < ndim:
            v = values[i]
            values[i] = v.reshape(v.shape[:1] + (1,) * (ndim - n) + v.shape[1:])
    return level.wrap(_call(op, values))


def _same_types(args: Sequence[Any], values: list[Any], at: list[int]) -> None:
    """A batched number has a dimension, but is to count as a number when types are promoted."""
    tensors = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
    numbers = [a for a in args if type(a) in (int, float, complex)]
    if len(tensors) < 2 and not numbers:
        return
    wanted = _core.result_type(tuple(args[i] for i in tensors) + tuple(numbers))
    if wanted is _core.result_type(tuple(values[i] for i in tensors) + tuple(numbers)):
        return
    for i in at:
        v = values[i]
        if v.dtype is not wanted and v.dtype.category == wanted.category:
            values[i] = v.to(wanted)


# ---- trailing


def trailing(op: Op, args: Sequence[Any], level: BatchLevel) -> Any:
    """Every tensor has the batch in front; the op looks at the last dimensions only."""
    return wrap_all(_call(op, all_batched(args, level)), level)


def solved(op: Op, args: Sequence[Any], level: BatchLevel) -> Any:
    """`trailing` of matrices, and pivots that belong to them, whose other dimensions broadcast."""
    free = [
        a.ndim - 1 - (a.is_floating_point() or a.is_complex()) if isinstance(a, Tensor) else 0
        for a in args
    ]
    values = [
        padded(v, n, max(free)) if isinstance(v, Tensor) else v
        for v, n in zip(all_batched(args, level), free, strict=True)
    ]
    return wrap_all(_call(op, values), level)


# ---- folded


def folded(op: Op, args: Sequence[Any], level: BatchLevel) -> Tensor | tuple[Tensor, ...]:
    """Dimension 0 of the first argument is a batch already: both become one."""
    x = args[0]
    values = [batched(x, level).flatten(0, 1), *args[1:]]
    for i, name in enumerate(op.params):
        if name == "shape" and i:
            values[i] = (level.size * args[i][0], *args[i][1:])
        elif i and isinstance(args[i], Tensor):
            values[i] = batched(args[i], level).flatten(0, 1)
    return _unfolded(_call(op, values), x.shape[0], level)


def folded_first(op: Op, args: Sequence[Any], level: BatchLevel) -> tuple[Tensor, ...]:
    """`folded` where the tensors after the first have no batch of their own."""
    x = args[0]
    return _unfolded(_call(op, [inner(x, level).flatten(0, 1), *args[1:]]), x.shape[0], level)


def _unfolded(out: Any, n: int, level: BatchLevel) -> Any:
    split = (level.size, n)
    if isinstance(out, Tensor):
        return wrap_all(out.unflatten(0, split), level)
    return wrap_all(tuple(o.unflatten(0, split) for o in out), level)
