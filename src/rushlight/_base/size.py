"""`Size`: the shape of a tensor. A slice of a Size, or two joined, is a Size too.

The native core makes instances itself, element by element, and so skips the check in `__new__`:
`__slots__` is empty so that a Size is laid out exactly as a tuple.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex, cast, overload

__all__ = ["Size"]


if TYPE_CHECKING:
    _Lengths = tuple[int, ...]
else:  # no __orig_bases__, by which libraries of types tell a generic class
    _Lengths = tuple


class Size(_Lengths):
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

    @overload
    def __getitem__(self, key: SupportsIndex, /) -> int: ...
    @overload
    def __getitem__(self, key: slice, /) -> Size: ...
    def __getitem__(self, key: Any, /) -> int | Size:
        found = tuple.__getitem__(self, key)
        return tuple.__new__(Size, found) if type(key) is slice else found

    def __add__(self, other: object, /) -> Size:
        if not isinstance(other, tuple):
            # Another's __radd__ goes before the tuple's sum, and is asked here for what it answers.
            reflected = getattr(type(other), "__radd__", None)
            found = NotImplemented if reflected is None else reflected(other, self)
            if found is not NotImplemented:
                return cast("Size", found)
            name = type(other).__name__
            raise TypeError(f"can only concatenate tuple (not {name}) to torch.Size")
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: object, /) -> Size:
        if not isinstance(other, tuple):
            return NotImplemented
        return Size(tuple.__add__(other, self))

    def __mul__(self, times: SupportsIndex, /) -> Size:
        if not hasattr(times, "__index__"):
            name = "torch.Size" if isinstance(times, Size) else type(times).__name__
            raise TypeError(f"can't multiply sequence by non-int of type '{name}'")
        return tuple.__new__(Size, tuple.__mul__(self, times))

    __rmul__ = __mul__


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
