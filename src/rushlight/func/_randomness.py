"""vmap: random numbers, an error, the same for all elements, or different ones (`randomness=`).

Different ones are drawn for the whole batch at once, so that they are PyTorch's by seed.
"""

from __future__ import annotations

import functools
from typing import Any

from .. import _core
from ..autograd import _levels as levels
from ..autograd._levels import Dual, Level, batch
from ..autograd._running import running
from ..ops.table import statement as _op
from ..ops.table.statement import namespace
from ._batching import wrap

__all__: list[str] = []

_Tensor = _core.Tensor

_ERROR = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
    "'different' randomness flags on vmap or perform the randomness operation out of vmap"
)
_UNBATCHED = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear "
    "like same randomness. If this is necessary for your usage, please file an "
    "issue with functorch."
)
_OUT = (
    "vmap: We do not support calling out variants of random operations inside of vmap. Please use "
    "non-out variants as a workaround"
)


# What these draw depends on their arguments' values, not on shapes alone.
_OF_VALUES = frozenset(["bernoulli", "multinomial", "normal", "poisson"])
# What these draw has a size that is among their arguments: the first ones, or the last one.
_SIZE_FIRST = frozenset(["rand", "randn", "create"])
_SIZE_LAST = frozenset(["randint", "normal"])
# PyTorch draws these for one element after another, too.
_ONE_BY_ONE = frozenset(["multinomial", "poisson", "randperm"])


def _mapped_draw(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function that draws random numbers, as the running vmaps want it."""
    if function.__name__ == "_fill" and isinstance(w := args[0]._wrapped, Dual):
        _mapped_draw(function, (w.value, *args[1:]), kwargs)
        w.tangent.zero_()
        return args[0]
    maps = running("batch")
    if not maps:
        return function(*args, **kwargs)
    if kwargs.get("out") is not None:
        raise RuntimeError(_OUT)
    if any(level.randomness == "error" for level in maps):
        raise RuntimeError(_ERROR)
    # There is no derivative of what is drawn.
    return _drawn(function, tuple(_value_of(a) for a in args), kwargs, maps)


def _value_of(a: Any) -> Any:
    """An argument without its tangents."""
    while isinstance(a, _Tensor) and isinstance(w := a._wrapped, Dual) and w.level.active:
        a = w.value
    return a


def _drawn(function: Any, args: Any, kwargs: Any, running: list[Level]) -> Any:
    """For the youngest level; older ones are seen to for what that makes of it."""
    if not running:
        before, _op.mapped_draw = _op.mapped_draw, None
        try:
            return function(*args, **kwargs)
        finally:
            _op.mapped_draw = before
    level, rest = running[-1], running[:-1]
    if function.__name__ == "_fill":
        return _filled(function, args, kwargs, level, rest)
    args = tuple(_one_of(a, level) for a in args)
    batched = any(_value(a, level) is not None for a in args)
    if level.randomness == "same":
        if batched and function.__name__ in _OF_VALUES:
            raise RuntimeError(_same_of_values(function.__name__))
        return _drawn(function, args, kwargs, rest)
    if function.__name__ in _ONE_BY_ONE:
        rows = [
            _drawn(function, tuple(_element(a, level, i) for a in args), kwargs, rest)
            for i in range(level.size)
        ]
        return batch(level, namespace("torch")["stack"](rows))
    if any(isinstance(a, _Tensor) for a in args):
        args = _in_rows(args, level)
    else:
        args, kwargs = _with_size(function.__name__, args, dict(kwargs), level.size)
    return wrap(_drawn(function, args, kwargs, rest), level)


def _same_of_values(name: str) -> str:
    return (
        "Vmap does not currently support same randomness with a batched tensor input. What "
        f"{name} draws depends on values that differ from sample to sample."
    )


def _value(a: Any, level: Level) -> Any:
    return levels.batched_at(a, level) if isinstance(a, _Tensor) else None


def _one_of(a: Any, level: Level) -> Any:
    """An argument without a batch whose elements are all the same."""
    if isinstance(a, _Tensor) and levels.at_level(a, level) is not None:
        one = levels.one_of(a)
        return a if one is None else one
    return a


def _element(a: Any, level: Level, i: int) -> Any:
    value = _value(a, level)
    return a if value is None else value[i]


def _in_rows(args: Any, level: Level) -> tuple[Any, ...]:
    """Tensors with the batch in front, and their own dimensions at the end of all; a size (of a
    mask) with the batch, too."""
    n = max(a.ndim for a in args if isinstance(a, _Tensor))
    return tuple(
        _row(a, n, level)
        if isinstance(a, _Tensor)
        else (level.size, *a)
        if isinstance(a, tuple)
        else a
        for a in args
    )


def _row(a: Any, ndim: int, level: Level) -> Any:
    rows = levels.rows(a, level).contiguous()
    return rows.reshape(level.size, *(1,) * (ndim - a.ndim), *a.shape)


def _with_size(name: str, args: Any, kwargs: Any, n: int) -> tuple[Any, Any]:
    """The arguments of a function that makes a tensor of a size, for n of them in one."""
    if "size" in kwargs:
        kwargs["size"] = (n, *kwargs["size"])
    elif name in _SIZE_LAST:
        args = (*args[:-1], (n, *args[-1]))
    elif args and isinstance(args[0], (tuple, list)):
        args = ((n, *args[0]), *args[1:])
    else:
        args = (n, *args)
    return args, kwargs


def _filled(function: Any, args: Any, kwargs: Any, level: Level, rest: list[Level]) -> Any:
    """A tensor that is filled with random numbers, in place."""
    target, values = args[0], tuple(_one_of(a, level) for a in args[1:])
    value = _value(target, level)
    of_values = any(_value(a, level) is not None for a in values)
    if level.randomness == "same":
        if of_values:
            raise RuntimeError(_same_of_values("bernoulli_"))
        if value is None:
            return _drawn(function, args, kwargs, rest)
        one = value[0].clone()
        _drawn(function, (one, *values), kwargs, rest)
        value.copy_(one.expand(value.shape))
        return target
    if value is None:
        if not of_values:
            raise RuntimeError(_UNBATCHED)
        raise RuntimeError(
            "vmap: inplace bernoulli(self, *extra_args) is not possible because there exists a "
            "Tensor `other` in extra_args that has more elements than `self`. This happened due to "
            "`other` being vmapped over but `self` not being vmapped over in a vmap. Please try to "
            "use out-of-place operators instead of inplace bernoulli. If said operator is being "
            "called inside the PyTorch framework, please file a bug report instead."
        )
    if isinstance(w := target._wrapped, levels.Batch):
        w.alike = False
    given = (
        _row(a, target.ndim, level).expand(value.shape).contiguous()
        if isinstance(a, _Tensor)
        else a
        for a in values
    )
    _drawn(function, (value, *given), kwargs, rest)
    return target


def _by_probabilities(function: Any) -> Any:
    """`bernoulli_`, whose probabilities may be a tensor with a batch."""

    def _fill(self: Any, p: Any, **kwargs: Any) -> Any:
        return function(self, p, **kwargs)

    @functools.wraps(function)
    def fill(self: Any, p: Any = 0.5, **kwargs: Any) -> Any:
        if isinstance(p, _Tensor) and running("batch"):
            return _mapped_draw(_fill, (self, p), kwargs)
        return function(self, p, **kwargs)

    return fill


_own: Any = vars(_Tensor)["bernoulli_"]
_Tensor.bernoulli_ = _core.changed_public(  # type: ignore[method-assign]
    _own, _by_probabilities(_own.__wrapped__)
)
_op.mapped_draw = _mapped_draw
