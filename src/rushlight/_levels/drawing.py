"""Random numbers while levels run: under vmap an error, the same for all elements, or different
ones (`randomness=`). Different ones are drawn for the whole batch at once, so that they are
PyTorch's by seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._core import Tensor
from ..ops.layout.joining import stack
from .batching import wrap_all
from .running import maps, only, state
from .structure import at_level, batched_at, one_of, rows

if TYPE_CHECKING:
    from .batch import BatchLevel

__all__ = ["drawn"]


_ERROR = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
    "'different' randomness flags on vmap or perform the randomness operation out of vmap"
)
_ERROR_INSIDE = (  # of batched gradients
    "vmap: We do not yet support calling random operations inside of vmap. Please perform random "
    "operations outside of vmap as a workaround"
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


def drawn(draws: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """The result of a function that draws random numbers, under the running vmaps."""
    if draws.fills and (w := args[0]._wrapped) is not None and not w.level.maps:
        value, *tangents = w.parts()
        drawn(draws, function, (value, *args[1:]), kwargs)
        for t in tangents:
            t.zero_()
        return args[0]
    mapped = maps()
    if not mapped:
        return function(*args, **kwargs)
    if kwargs.get("out") is not None:
        raise RuntimeError(_OUT)
    refusing = [level for level in mapped if level.randomness == "error"]
    if refusing:
        raise RuntimeError(_ERROR_INSIDE if refusing[-1].inside else _ERROR)
    # There is no derivative of what is drawn.
    with only([level for level in state.stack if not level.maps]):
        return _drawn(draws, function, tuple(_value_of(a) for a in args), kwargs, mapped)


def _value_of(a: object) -> Any:
    """An argument without its tangents."""
    while isinstance(a, Tensor) and (w := a._wrapped) and not w.level.maps and w.level.active:
        a = w.value
    return a


def _drawn(
    draws: Any, function: Any, args: Sequence[Any], kwargs: dict[str, Any], levels: list[Any]
) -> Tensor:
    """Draws for the youngest of the levels, by drawing for the older levels."""
    if not levels:
        return function(*args, **kwargs)
    level, rest = levels[-1], levels[:-1]
    if draws.fills:
        return _filled(draws, function, args, kwargs, level, rest)
    args = tuple(_one_of(a, level) for a in args)
    batched = any(_value(a, level) is not None for a in args)
    if level.randomness == "same":
        if batched and draws.of_values:
            raise RuntimeError(_same_of_values(function.__name__))
        return _drawn(draws, function, args, kwargs, rest)
    if draws.one_by_one:
        elements = [
            _drawn(draws, function, tuple(_element(a, level, i) for a in args), kwargs, rest)
            for i in range(level.size)
        ]
        return level.wrap(stack(elements))
    if any(isinstance(a, Tensor) for a in args):
        args = _in_rows(args, level)
    else:
        args, kwargs = _with_size(draws, args, dict(kwargs), level.size)
    return wrap_all(_drawn(draws, function, args, kwargs, rest), level)


def _same_of_values(name: str) -> str:
    return (
        "Vmap does not currently support same randomness with a batched tensor input. What "
        f"{name} draws depends on values that differ from sample to sample."
    )


def _value(a: object, level: BatchLevel) -> Tensor | None:
    return batched_at(a, level) if isinstance(a, Tensor) else None


def _one_of(a: object, level: BatchLevel) -> Any:
    """An argument without a batch whose elements are all the same."""
    if isinstance(a, Tensor) and at_level(a, level) is not None:
        one = one_of(a)
        return a if one is None else one
    return a


def _element(a: object, level: BatchLevel, i: int) -> Any:
    value = _value(a, level)
    return a if value is None else value[i]


def _in_rows(args: Sequence[Any], level: BatchLevel) -> tuple[Any, ...]:
    """Tensors with the batch in front, and their own dimensions at the end of all; a size (of a
    mask) with the batch, too."""
    n = max(a.ndim for a in args if isinstance(a, Tensor))
    return tuple(
        _row(a, n, level)
        if isinstance(a, Tensor)
        else (level.size, *a)
        if isinstance(a, tuple)
        else a
        for a in args
    )


def _row(a: Tensor, ndim: int, level: BatchLevel) -> Tensor:
    whole = rows(a, level).contiguous()
    return whole.reshape(level.size, *(1,) * (ndim - a.ndim), *a.shape)


def _with_size(draws: Any, args: Sequence[Any], kwargs: dict[str, Any], n: int) -> tuple[Any, Any]:
    """The arguments of a function that makes a tensor of a size, for n tensors at once."""
    if "size" in kwargs:
        kwargs["size"] = (n, *kwargs["size"])
    elif draws.size_last:
        args = (*args[:-1], (n, *args[-1]))
    elif args and isinstance(args[0], (tuple, list)):
        args = ((n, *args[0]), *args[1:])
    else:
        args = (n, *args)
    return args, kwargs


def _filled(
    draws: object,
    function: object,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    level: BatchLevel,
    rest: list[Any],
) -> Tensor:
    """A tensor that is filled with random numbers, in place."""
    target, values = args[0], tuple(_one_of(a, level) for a in args[1:])
    value = _value(target, level)
    of_values = any(_value(a, level) is not None for a in values)
    if level.randomness == "same":
        if of_values:
            raise RuntimeError(_same_of_values("bernoulli_"))
        if value is None:
            return _drawn(draws, function, args, kwargs, rest)
        one = value[0].clone()
        _drawn(draws, function, (one, *values), kwargs, rest)
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
    if (w := target._wrapped) and w.level.maps:
        w.alike = False
    given = (
        _row(a, target.ndim, level).expand(value.shape).contiguous() if isinstance(a, Tensor) else a
        for a in values
    )
    _drawn(draws, function, (value, *given), kwargs, rest)
    return target
