"""The numbers of optimizers in a captured run, which replays read anew."""

from __future__ import annotations

import operator
from typing import Any

from .. import _core

__all__ = ["Loaded"]


class _Number(float):
    """A number of an optimizer while a run is captured, or what is computed of such numbers. Passed
    on to a kernel as it is, it is read or computed anew in each replay, and a truth about it is
    compared; after any other use it has to stay the same."""

    used = False  # of one that was read from a dict


def _note_use(number: object) -> None:
    if type(number) is _Number and not _core.capture_used(number):
        number.used = True


def _computing(method: Any, function: Any, swapped: bool) -> Any:
    """A method of float that is computed again in replays, by a function of `operator`."""

    def computing(self: _Number, *args: Any) -> Any:
        made = method(self, *args)
        if made is NotImplemented:
            return made
        if type(made) in (float, bool) and all(type(a) in (int, float, _Number) for a in args):
            made = _Number(made) if type(made) is float else made
            _core.capture_number(made, function, *((*args, self) if swapped else (self, *args)))
        else:
            _note_use(self)
            for a in args:
                _note_use(a)
        return made

    return computing


def _noting(method: Any) -> Any:
    def noting(self: _Number, *args: Any) -> Any:
        _note_use(self)
        for a in args:
            _note_use(a)
        return method(self, *args)

    return noting


_SILENT = (
    "__new__ __class__ __doc__ __getattribute__ __getformat__ __init_subclass__ "
    "__subclasshook__ fromhex"
).split()
_COMPUTED = "add sub mul truediv pow neg lt le gt ge eq ne".split()
for _name in vars(float):
    _method, _plain = getattr(float, _name), _name.strip("_")
    if _plain in _COMPUTED:
        setattr(_Number, _name, _computing(_method, getattr(operator, _plain), False))
    elif _plain == "bool":
        setattr(_Number, _name, _computing(_method, operator.truth, False))
    elif _plain[:1] == "r" and _plain[1:] in _COMPUTED:
        setattr(_Number, _name, _computing(_method, getattr(operator, _plain[1:]), True))
    elif callable(_method) and _name not in _SILENT:
        setattr(_Number, _name, _noting(_method))


def computed(function: Any, *args: Any) -> Any:
    """The result of a function of numbers, which replays compute again."""
    made = function(*[float.__float__(a) if type(a) is _Number else a for a in args])
    if type(made) is not float:
        return function(*args)
    number = _Number(made)
    _core.capture_number(number, function, *args)
    return number


_core.capture_numbers(_Number, computed)


class Loaded:
    """The numbers of optimizers, in whose places a run finds `_Number`s."""

    def __init__(self, places: list[tuple[dict[str, Any], str]]) -> None:
        self.before = [(d, key, d[key]) for d, key in places]
        self.numbers: list[Any] = []
        self.placed: list[tuple[dict[str, Any], str, Any, Any]] = []
        self.trouble: str | None = None
        for d, key, value in self.before:
            several = type(value) is tuple
            numbers = [
                _Number(v) if type(v) is float else v for v in (value if several else [value])
            ]
            self.numbers.append(numbers)
            d[key] = tuple(numbers) if several else numbers[0]
            self.placed.append((d, key, value, d[key]))

    def put_back(self, groups: list[Any] | None = None) -> None:
        """Leave the numbers, of these groups or of all, as they were."""
        placed, self.placed = self.placed, []
        for d, key, value, number in placed:
            if groups is not None and not any(d is group for group in groups):
                self.placed.append((d, key, value, number))
            elif d.get(key) is number:
                d[key] = value
            else:
                self.trouble = f"changes {key!r} of an optimizer"

    def tell(self, program: Any) -> set[str]:
        """Tell a program which arguments to read where, and which numbers have to be the same. The
        names of the numbers that are read."""
        read = set()
        for (d, key, value), numbers in zip(self.before, self.numbers, strict=True):
            at = range(len(numbers)) if type(value) is tuple else [-1]
            loaded = [type(n) is _Number and not n.used for n in numbers]
            if not all(loaded) or not all(
                [program.load(d, key, i, n) for i, n in zip(at, numbers, strict=True)]
            ):
                program.fix(d, key, value)
            else:
                read.add(key)
        return read
