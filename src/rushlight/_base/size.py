"""`Size`: the shape of a tensor. A slice of a Size, or two joined, is a Size too.

The native core makes instances itself, element by element, and so skips the check in `__new__`:
`__slots__` is empty so that a Size is laid out exactly as a tuple.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import index
from typing import SupportsIndex

from .._core import Lengths

__all__ = ["Size"]


class Size(Lengths):
    """The lengths of a tensor's dimensions.

    >>> size = torch.Size([2, 3])
    >>> size + (4,)
    torch.Size([2, 3, 4])
    >>> size.numel()
    6
    """

    __slots__ = ()
    __module__ = "rushlight"

    def __new__(cls, lengths: Iterable[SupportsIndex] = (), /) -> Size:
        return tuple.__new__(cls, _checked(tuple(lengths)))

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __reduce__(self) -> tuple[type[Size], tuple[tuple[int, ...]]]:
        return Size, (tuple(self),)

    def __mul__(self, times: SupportsIndex, /) -> Size:
        if not hasattr(times, "__index__"):
            name = "torch.Size" if isinstance(times, Size) else type(times).__name__
            raise TypeError(f"can't multiply sequence by non-int of type '{name}'")
        return tuple.__new__(Size, tuple.__mul__(self, times))

    def __rmul__(self, times: SupportsIndex, /) -> Size:
        return self * times


_INT = {int}


def _checked(lengths: tuple[SupportsIndex, ...]) -> tuple[int, ...]:
    """The lengths as Python ints; TypeError names the first that is none."""
    if _INT.issuperset(map(type, lengths)):
        return lengths  # type: ignore[return-value]
    result = []
    for position, each in enumerate(lengths):
        try:
            result.append(index(each))
        except TypeError:
            raise TypeError(
                "torch.Size() takes an iterable of 'int' "
                f"(item {position} is '{type(each).__name__}')"
            ) from None
    return tuple(result)
