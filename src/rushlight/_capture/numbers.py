"""The numbers of optimizers in a captured run, which replays read anew."""

from __future__ import annotations

from typing import Any

__all__ = ["Loaded"]


class _Number(float):
    """A number of an optimizer while a run is captured. Passed on to a kernel as it is, it is read
    anew in each replay; after any other use it has to stay the same."""

    used = False
    minus: _Number | None = None  # the same of minus the number

    def __neg__(self) -> _Number:
        if self.minus is None:
            self.minus = _Number(-float.__float__(self))
        return self.minus

    def is_used(self) -> bool:
        minus = self.minus
        return self.used or (minus is not None and (minus.used or minus.minus is not None))


def _noting(name: str) -> Any:
    method = getattr(float, name)

    def noting(self: _Number, *args: Any) -> Any:
        self.used = True
        return method(self, *args)

    return noting


for _name in vars(float):
    if callable(getattr(float, _name)) and _name not in (
        *(
            "__new__",
            "__neg__",
            "__getattribute__",
            "__getformat__",
            "__init_subclass__",
            "__subclasshook__",
        ),
        *("__class__", "__doc__", "fromhex"),
    ):
        setattr(_Number, _name, _noting(_name))


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

    def tell(self, program: Any) -> None:
        """Tell a program which of its arguments to read where, and what has to be the same."""
        for (d, key, value), numbers in zip(self.before, self.numbers, strict=True):
            at = range(len(numbers)) if type(value) is tuple else [-1]
            if any(type(n) is not _Number or n.is_used() for n in numbers) or not all(
                [_is_loaded(program, d, key, i, n) for i, n in zip(at, numbers, strict=True)]
            ):
                program.fix(d, key, value)


def _is_loaded(program: Any, d: dict[str, Any], key: str, item: int, number: _Number) -> bool:
    """Have a program read a number anew in each replay; whether that is all the run did with it."""
    found = program.load(d, key, item, number, False)
    if number.minus is None:
        return found > 0
    return program.load(d, key, item, number.minus, True) > 0
