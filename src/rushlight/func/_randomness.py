"""vmap: random numbers, an error, the same for all elements, or different ones (`randomness=`)."""

from __future__ import annotations

from typing import Any

from .. import _core
from ..autograd import levels
from ..autograd.levels import Dual, Level, batch
from ..autograd.running import running
from ..ops import _op
from ..ops._op import namespace

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


# What these draw depends on their arguments' values, not on shapes alone.
_OF_VALUES = frozenset(["bernoulli", "multinomial", "normal", "poisson"])


def _mapped_draw(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function that draws random numbers, as the running vmaps want it."""
    if function.__name__ == "_fill" and isinstance(w := args[0]._watched, Dual):
        _mapped_draw(function, (w.value, *args[1:]), kwargs)
        w.tangent.zero_()
        return args[0]
    maps = running("batch")
    if not maps:
        return function(*args, **kwargs)
    if any(level.randomness == "error" for level in maps):
        raise RuntimeError(_ERROR)
    return _drawn(function, args, kwargs, maps)


def _drawn(function: Any, args: Any, kwargs: Any, running: list[Level]) -> Any:
    """For the youngest level; older ones are seen to for each of its elements."""
    if not running:
        before, _op.mapped_draw = _op.mapped_draw, None
        try:
            return function(*args, **kwargs)
        finally:
            _op.mapped_draw = before
    level, rest = running[-1], running[:-1]
    in_place = function.__name__ == "_fill"
    batched = any(_value(a, level) is not None for a in args)
    if level.randomness == "same" and batched and function.__name__ in _OF_VALUES:
        raise RuntimeError(
            "Vmap does not currently support same randomness with a batched tensor input. What "
            f"{function.__name__} draws depends on values that differ from sample to sample."
        )
    if level.randomness == "same" and not (in_place and batched):
        return _drawn(function, args, kwargs, rest)
    if in_place:
        return _filled(function, args, kwargs, level, rest)
    rows = [
        _drawn(function, tuple(_element(a, level, i) for a in args), kwargs, rest)
        for i in range(level.size)
    ]
    return batch(level, namespace("torch")["stack"](rows))


def _value(a: Any, level: Level) -> Any:
    return levels.batched_at(a, level) if isinstance(a, _Tensor) else None


def _element(a: Any, level: Level, i: int) -> Any:
    value = _value(a, level)
    return a if value is None else value[i]


def _filled(function: Any, args: Any, kwargs: Any, level: Level, rest: list[Level]) -> Any:
    target = args[0]
    value = _value(target, level)
    if value is None:
        raise RuntimeError(_UNBATCHED)
    if level.randomness == "same":
        one = value[0].clone()
        _drawn(function, (one, *args[1:]), kwargs, rest)
        value.copy_(one.expand(value.shape))
    else:
        _drawn(function, (value, *args[1:]), kwargs, rest)
    return target


_op.mapped_draw = _mapped_draw
