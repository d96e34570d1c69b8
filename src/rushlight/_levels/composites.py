"""Functions that do more than call ops, as levels run them (`running.answered`).

A few functions read values of the arguments, which a batched tensor refuses (`opaque_array.py`):
such a function runs once for each element. A function that makes a new tensor like another tensor
makes a new tensor for each element, for later writes.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from .._base.errors import warn
from .._base.pytree import tree_flatten, tree_map, tree_unflatten
from .._core import Tensor
from ..ops.layout.joining import stack
from .opaque_array import FLOW, ITEM, Unreadable
from .running import maps
from .structure import batched_at, youngest

__all__ = ["batch_level", "by_element", "like", "new", "no_value", "warn_of_loop"]


_warned: set[str] = set()


def warn_of_loop(name: str) -> None:
    """Say once that an op runs once for each element."""
    if name not in _warned:
        _warned.add(name)
        warn(
            "There is a performance drop because we have not yet implemented the batching rule "
            f"for {name}: it runs once for each element of the batch.",
        )


def batch_level(args: Sequence[Any]) -> Any:
    """The youngest level of a batch among arguments."""
    w = youngest([a for a in args if isinstance(a, (Tensor, list, tuple))])
    while w is not None and not w.level.maps:
        w = w.value._wrapped
    return None if w is None else w.level


def by_element(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Runs a function; again for each element where the function reads values of arguments."""
    try:
        return function(*args, **kwargs)
    except RuntimeError as error:
        level = batch_level((*args, *kwargs.values()))
        if level is None or not (isinstance(error, Unreadable) or str(error) in (ITEM, FLOW)):
            raise
    warn_of_loop(function.__name__)

    def element(a: Any, i: int) -> Any:
        value = batched_at(a, level) if isinstance(a, Tensor) else None
        return a if value is None else value[i]

    rows = []
    for i in range(level.size):
        at = functools.partial(element, i=i)
        rows.append(tree_flatten(by_element(function, tree_map(at, args), tree_map(at, kwargs))))
    columns = zip(*(leaves for leaves, _ in rows), strict=True)
    joined = [level.wrap(stack(list(c))) if isinstance(c[0], Tensor) else c[0] for c in columns]
    return tree_unflatten(joined, rows[0][1])


def _mapped(t: Tensor) -> tuple[Any, Any]:
    """A tensor without tangents, and the youngest batch of the tensor."""
    w = t._wrapped if isinstance(t, Tensor) else None
    while w is not None and w.level.active:
        if w.level.maps:
            return t, w
        t, w = w.value, w.value._wrapped
    return t, None


def like(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Tensor:
    """zeros_like and its kind: of a batched tensor, batched."""
    if not args:
        return function(**kwargs)
    input, w = _mapped(args[0])
    if w is None:
        return function(input, *args[1:], **kwargs)
    return w.level.wrap(like(function, (w.value, *args[1:]), kwargs), w.alike)


def new(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Tensor:
    """x.new_zeros(size) and its kind: of a batched tensor, batched."""
    (self, w), size = _mapped(args[0]), args[1:]
    if w is None:
        return function(self, *size, **kwargs)
    if "size" in kwargs:
        kwargs = dict(kwargs)
        size = (kwargs.pop("size"), *size)
    n = w.level.size
    in_one = size and isinstance(size[0], (tuple, list))
    size = ((n, *size[0]), *size[1:]) if in_one else (n, *size)
    return w.level.wrap(new(function, (w.value, *size), kwargs), w.alike)


def no_value(text: str, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A function whose result is a Python value of its own: there is none for a batch."""
    if maps() and any(
        isinstance(a, Tensor) and batch_level((a,)) is not None for a in tree_flatten(args)[0]
    ):
        raise RuntimeError(text)
    return function(*args, **kwargs)
