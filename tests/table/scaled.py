"""The samples of the op table at other sizes, and what computes a call of them.

A sample's extents are changed by a rule that maps equal extents to equal ones, so that arguments
go on to fit together: all of them grow (`whole`), or those of one dimension (`first`, `last`,
`planes`). `scaled` gives the calls of an op of about so many elements, by the first rule that its
arguments allow; `paths` runs a call and tells how each op in it was computed. tests/table/
test_computed_by_the_core.py and benchmarks/ops.py go through them.
"""

from __future__ import annotations

import math
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from cases import OPS, Call, Make, samples_of

import rushlight as torch
from rushlight import _core
from rushlight._base import observers

MOST = 16  # results may have so many times the elements that were asked for
STEP = 16
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


def _drawn(name: str, dtype: str, rule: str, first: Shape, elements: int) -> list[Call]:
    make = _Scaled(zlib.crc32(name.encode()), OPS[name].domain, dtype)
    if rule:
        make.rule, make.first, make.grow = RULES[rule], first, elements / math.prod(first)
    found = []
    for args in samples_of(name)(make):  # type: ignore[misc]
        kwargs = {}
        if args and isinstance(args[-1], dict):
            args, kwargs = args[:-1], args[-1]
        call = Call(name, tuple(args), dict(kwargs))
        fixed = [i for i, t in enumerate(call.tensors) if any(t is f for f in make.fixed)]
        found.append(Call(name, call.args, call.kwargs, frozenset(fixed)))
    return found


def _first(sample: Call) -> Shape:
    """The shape of its largest tensor, which a rule goes by."""
    return max((tuple(t.shape) for t in sample.tensors), key=math.prod, default=())


def one(name: str, dtype: str, elements: int, number: int, rule: str) -> Call:
    """The call that `scaled` gives for a sample with this rule."""
    first = _first(_drawn(name, dtype, "", (), 0)[number])
    return _drawn(name, dtype, rule, first, elements)[number]


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
        samples = _drawn(name, dtype, "", (), 0)
    except Exception:  # it has no such element type
        return
    drawn: dict[Any, list[Call]] = {}
    for number, sample in enumerate(samples):
        first = _first(sample)
        if math.prod(first) < 2:
            continue
        # By steps: a result may have as many elements as all arguments have together, multiplied.
        sizes = [s for s in (STEP**k for k in range(1, 20)) if 2 * math.prod(first) < s < elements]
        for rule in RULES:
            call = sample
            for size in (*sizes, elements):
                if (rule, first, size) not in drawn:
                    try:
                        drawn[rule, first, size] = _drawn(name, dtype, rule, first, size)
                    except Exception:  # the sampler computes something of its own shapes
                        drawn[rule, first, size] = []
                calls = drawn[rule, first, size]
                if number >= len(calls) or not _fits(calls[number], size):
                    break
                call = calls[number]
            else:
                yield number, rule, call
                most -= 1
                break
        if not most:
            return


class _Paths:
    """Counts the calls and nodes that the core tells of, by name, path and ways."""

    def __init__(self) -> None:
        self.found: Counter[tuple[str, int, int]] = Counter()

    def starts(self, what: Any, values: tuple[Any, ...], place: tuple[str, int] | None) -> str:
        return what.__name__ if isinstance(what, _core.Op) else type(what).__name__

    def ran(self, began: str, values: Any, error: Any, took: int) -> None:
        pass

    def ends(self, began: str, path: int, ways: int) -> None:
        self.found[began, path, ways] += 1


def paths(call: Call) -> Counter[tuple[str, int, int]]:
    """How often each op and node of the call and of its backward was computed in which way."""
    watching = _Paths()
    observers.follow(watching)
    try:
        with warnings.catch_warnings(action="ignore"):
            leaves = [call.tensors[i].requires_grad_() for i in call.leaves]
            try:
                outputs = [t for t in call.outputs() if t.requires_grad]
                if leaves and outputs:
                    seeds = [torch.ones_like(t) for t in outputs]
                    torch.autograd.grad(outputs, leaves, seeds, allow_unused=True)
            except (NotImplementedError, RuntimeError) as error:
                if "the derivative" not in str(error) and "derivative for" not in str(error):
                    raise
                for leaf in leaves:
                    leaf.requires_grad_(False)
                call.run()
    finally:
        observers.unfollow(watching)
    return watching.found
