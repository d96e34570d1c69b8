"""The samples of the op table at other sizes, and what computes a call of them.

A sample's extents are changed by a rule that maps equal extents to equal ones, so that arguments
go on to fit together: all of them grow (`whole`), or those of one dimension (`first`, `last`,
`planes`). `scaled` gives the calls of an op of about so many elements, by the first rule that its
arguments allow; `paths` runs a call and tells how each op in it was computed. tests/table/
test_paths.py and benchmarks/ops.py go through them.
"""

from __future__ import annotations

import math
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from cases import OPS, Call, Make, samples_of, tensors_in

from rushlight import _core
from rushlight._base import observers

MOST = 16  # results may have so many times the elements that were asked for
Shape = tuple[int, ...]
Rule = Callable[[Shape, Shape, float], Shape]


def whole(shape: Shape, first: Shape, grow: float) -> Shape:
    """Every extent but 0 and 1, by the same factor."""
    factor = grow ** (1 / max(1, sum(n > 1 for n in first)))
    return tuple(int(n * factor) if n > 1 else n for n in shape)


def _at(place: int) -> Rule:
    def rule(shape: Shape, first: Shape, grow: float) -> Shape:
        fits = len(shape) == len(first) and shape[place] == first[place]
        if not fits:
            return shape
        changed = list(shape)
        changed[place] = int(shape[place] * grow)
        return tuple(changed)

    return rule


def leading(shape: Shape, first: Shape, grow: float) -> Shape:
    """The first extent of every tensor that begins like the first one."""
    return (int(shape[0] * grow), *shape[1:]) if shape[:1] == first[:1] else shape


def planes(shape: Shape, first: Shape, grow: float) -> Shape:
    """The two last extents, of tensors of as many dimensions as the first one."""
    if len(shape) != len(first) or len(first) < 3:
        return shape
    factor = grow**0.5
    return (*shape[:-2], *(int(n * factor) for n in shape[-2:]))


RULES: dict[str, Rule] = {
    "whole": whole,
    "leading": leading,
    "first": _at(0),
    "planes": planes,
    "last": _at(-1),
}


class _Scaled(Make):
    """Draws the tensors of a sample in the shapes that a rule makes of its own."""

    rule: Rule | None = None
    first: Shape = ()
    grow = 1.0

    def __call__(self, *shape: Any, **how: Any) -> Any:
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = tuple(shape[0])
        if self.rule and shape:
            larger = self.rule(shape, self.first, self.grow)
            if math.prod(larger) <= MOST * self.grow * math.prod(self.first):
                shape = larger  # that of another sample may be far too large
        return super().__call__(*shape, **how)


def _drawn(name: str, dtype: str, rule: Rule | None, first: Shape, grow: float) -> list[Call]:
    make = _Scaled(zlib.crc32(name.encode()), OPS[name].domain, dtype)
    make.rule, make.first, make.grow = rule, first, grow
    found = []
    for args in samples_of(name)(make):  # type: ignore[misc]
        kwargs = {}
        if args and isinstance(args[-1], dict):
            args, kwargs = args[:-1], args[-1]
        call = Call(name, tuple(args), dict(kwargs))
        fixed = [i for i, t in enumerate(call.tensors) if any(t is f for f in make.fixed)]
        found.append(Call(name, call.args, call.kwargs, frozenset(fixed)))
    return found


def _elements(call: Call) -> int:
    return max((t.numel() for t in call.tensors), default=0)


def _fits(call: Call, elements: int) -> bool:
    """Whether the call works, and neither its arguments nor its results are far from the size."""
    if not call.tensors or not elements / 8 <= _elements(call) <= elements * MOST:
        return False
    try:
        with warnings.catch_warnings(action="ignore"):
            results = call.outputs()
    except Exception:
        return False
    return all(t.numel() <= elements * MOST for t in results)


def scaled(name: str, dtype: str, elements: int, most: int = 3) -> Iterator[tuple[int, str, Call]]:
    """Of the first samples that can be made so large: the number, the rule, and the call."""
    try:
        plain = _drawn(name, dtype, None, (), 1.0)
    except Exception:  # it has no such element type
        return
    drawn: dict[Any, list[Call]] = {}
    for number, sample in enumerate(plain):
        first = max((tuple(t.shape) for t in sample.tensors), key=math.prod, default=())
        if math.prod(first) < 2:
            continue
        for rule, change in RULES.items():
            if (rule, first) not in drawn:
                try:
                    grow = elements / math.prod(first)
                    drawn[rule, first] = _drawn(name, dtype, change, first, grow)
                except Exception:  # what the sampler computes of the tensors needs their own shapes
                    drawn[rule, first] = []
            if number < len(drawn[rule, first]) and _fits(drawn[rule, first][number], elements):
                yield number, rule, drawn[rule, first][number]
                most -= 1
                break
        if not most:
            return


class _Paths:
    """Counts the calls that the core tells of, by op and path."""

    def __init__(self) -> None:
        self.found: Counter[tuple[str, int]] = Counter()

    def starts(self, what: Any, values: tuple[Any, ...], place: tuple[str, int] | None) -> str:
        return getattr(what, "__name__", "") if isinstance(what, _core.Op) else str(what)

    def ran(self, began: str, values: Any, error: Any, took: int) -> None:
        pass

    def ends(self, began: str, path: int, ways: int) -> None:
        self.found[began, path] += 1


@contextmanager
def followed() -> Iterator[Counter[tuple[str, int]]]:
    """The calls of the block: how often each op was computed in which way."""
    watching = _Paths()
    observers.follow(watching)
    try:
        yield watching.found
    finally:
        observers.unfollow(watching)


def paths(call: Call) -> Counter[tuple[str, int]]:
    with followed() as found, warnings.catch_warnings(action="ignore"):
        call.run()
    return found


__all__ = ["RULES", "followed", "paths", "scaled", "tensors_in"]
