"""What `test_edges.py` computes at the edges of functions of elements, and what is refused there.

A function is called with all combinations of EDGES for its arguments, and with each argument moved
a little, all in one tensor, so that a composition of derivatives is one computation. What is
expected never comes from a rule:

- a derivative lies between the one-sided differences of what it is the derivative of;
- what is computed lies between what it tends to on both sides;
- it is proportional where it leaves 0, and in single precision the same as in double precision,
  relative to its size.

Each where there is such a difference, limit or size.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np

import rushlight as torch

Array = np.ndarray
Function = Callable[..., Any]

NEAR = [0.0, 1e-10, -1e-10, 1e-4, -1e-4, 1.0, -1.0]
EDGES = {
    "float32": [*NEAR, 1.1754944e-38, 100.0, -100.0, np.inf, -np.inf],
    "float64": [*NEAR, 2.2250738585072014e-308, 800.0, -800.0, np.inf, -np.inf],
}
FEW = [0.0, 1e-10, 1.0, -1.0, 100.0, -np.inf]  # where there are three arguments
STEPS = {"float32": (3e-2, 3e-3), "float64": (1e-4, 1e-5)}
FAR = (1e8, 1e10)


def back(f: Function, i: int) -> Function:
    """The derivative of elements by argument i, in reverse mode."""

    def derivative(*args: Any) -> Any:
        value, pull = torch.func.vjp(lambda x: f(*args[:i], x, *args[i + 1 :]), args[i])
        return pull(torch.ones_like(value))[0]

    return derivative


def ahead(f: Function, i: int) -> Function:
    """The same in forward mode."""

    def derivative(*args: Any) -> Any:
        ones = torch.ones_like(args[i])
        return torch.func.jvp(lambda x: f(*args[:i], x, *args[i + 1 :]), (args[i],), (ones,))[1]

    return derivative


def fused(f: Function, i: int) -> Function:
    """The same as `backward` computes it, by kernels and traced programs."""

    def derivative(*args: Any) -> Any:
        leaves = [a.clone().requires_grad_(k == i) for k, a in enumerate(args)]
        f(*leaves).sum().backward()
        return leaves[i].grad

    return derivative


WAYS: dict[str, tuple[Any, ...]] = {
    "backward": (fused,),
    "reverse": (back,),
    "forward": (ahead,),
    "reverse twice": (back, back),
    "forward over reverse": (back, ahead),
    "forward twice": (ahead, ahead),
}


def compositions(f: Function, n: int) -> Iterator[tuple[str, str, int, Function]]:
    """Of f of n arguments: (name, name of what it is the derivative of, by which argument, it)."""
    yield "value", "", 0, f
    for way, (first, *second) in WAYS.items():
        for i, j in combinations_with_replacement(range(n), 2):
            if second:
                yield f"{way} by {i}, {j}", f"reverse by {i}", j, second[0](first(f, i), j)
            elif i == j:
                yield f"{way} by {i}", "value", i, first(f, i)


class Sweep:
    """All compositions of a function of n elements at its edges, in one precision."""

    def __init__(self, f: Function, n: int, dtype: str, edges: str = "") -> None:
        self.n = n
        chosen = EDGES[edges or dtype] if n < 3 else FEW
        base = [np.array(a, edges or dtype) for a in zip(*product(chosen, repeat=n), strict=True)]
        base = [a.astype(dtype) for a in base]
        if n > 1:  # beside what is tiny or infinite nothing that comes near it
            usual = [(a == 0) | ((np.abs(a) >= 1) & np.isfinite(a)) for a in base]
            extremes, ones = n - sum(map(np.int64, usual)), sum(np.abs(a) == 1 for a in base)
            base = [a[(extremes == 0) | ((extremes == 1) & (ones == n - 1))] for a in base]
        self._run(f, base, dtype)

    def _run(self, f: Function, base: list[Array], dtype: str) -> None:
        n, self.base = self.n, base
        self.moves = [(0, 0, 0), *product(range(n), (1, -1), (0, 1))]
        points = [
            [self._moved(a, i, dtype, move) for move in self.moves] for i, a in enumerate(base)
        ]
        self.at = np.array(points)  # argument, move, place
        flat = [torch.from_numpy(a.reshape(-1).copy()) for a in self.at]
        # Beside 0, where a border of the domain may be nearer than the neighbours.
        small = [(a != 0) & (np.abs(a) < 1e-3) for a in base]
        self.crowded = np.logical_or.reduce(small) if n == 1 else np.zeros(base[0].shape, bool)
        self.found: dict[str, Array] = {}
        self.sources: dict[str, tuple[str, int]] = {}
        for name, source, i, g in compositions(f, n):
            self.sources[name] = (source, i)
            value = g(*flat).detach()._array
            self.found[name] = value.reshape(self.at.shape[1:]).astype(np.float64)

    def _moved(self, a: Array, i: int, dtype: str, move: tuple[int, int, int]) -> Array:
        arg, side, which = move
        if arg != i or not side:
            return a
        far = np.sign(a) * FAR[which] * (2 + side)
        size = np.maximum(1, np.abs(a)) if self.n == 1 else np.where(a == 0, 1, np.abs(a))
        step = side * STEPS[dtype][which] * size
        return np.where(np.isinf(a), far, np.where(np.isinf(a), 0, a) + step).astype(dtype)

    def between(self, side: Callable[[int, int], tuple[Array, Array]], args: Any) -> Any:
        """For each argument that is moved, (low, high) of what tends to something there."""
        for j in args:
            low, high = np.full(self.at.shape[2:], np.inf), np.full(self.at.shape[2:], -np.inf)
            open_ = np.zeros(self.at.shape[2:], bool)
            for s in (1, -1):
                rough, close = side(j, s)
                tends = np.abs(rough - close) <= 0.02 * np.abs(close) + 2e-3
                low = np.where(tends, np.minimum(low, close), low)
                high = np.where(tends, np.maximum(high, close), high)
                open_ |= ~tends & (~np.isnan(close) | self.crowded)
            # Towards infinity there is one side, seen from two places.
            open_ |= np.isinf(self.at[j, 0]) & ~(high - low <= 0.02 * np.abs(high) + 2e-3)
            yield np.where(open_, np.nan, low), np.where(open_, np.nan, high)

    def quotients(self, source: str) -> Callable[[int, int], Any]:
        """The differences of a composition, of two steps by an argument to a side."""
        row, parent = {move: k for k, move in enumerate(self.moves)}, self.found[source]

        def quotient(j: int, s: int) -> Any:
            gaps = [np.float64(self.at[j, row[j, s, k]]) - self.at[j, 0] for k in (0, 1)]
            rises = [parent[row[j, s, k]] - parent[0] for k in (0, 1)]
            enough = 1e-7 * np.maximum(1, np.abs(parent[0]))
            return tuple(
                np.where(np.isfinite(gap) & (np.abs(gap) >= enough), rise / gap, np.nan)
                for rise, gap in zip(rises, gaps, strict=True)
            )

        return quotient

    def refused(self) -> Iterator[tuple[str, int, str]]:
        """(composition, place, why)."""
        row = {move: k for k, move in enumerate(self.moves)}
        steep: dict[str, Array] = {}  # where a slope is infinite, or jumps
        jumps: Any = np.zeros(self.at.shape[2:], bool)
        for name, found in self.found.items():
            source, i = self.sources[name]

            def limit(j: int, s: int, found: Array = found) -> tuple[Array, Array]:
                return found[row[j, s, 0]], found[row[j, s, 1]]

            hulls = list(self.between(limit, range(self.n)))
            outside, text = self._outside(found[0], hulls)
            if name == "value":
                beside = self.found["value"][1:]
                jumps = outside | np.isnan(beside).any(0)
                outside = outside & ~np.isfinite(found[0])
            elif "," not in name:
                outside = outside & ~jumps
                steep[name] = ~np.isfinite(found[0]) & ~outside
                for low, high in hulls:
                    steep[name] = steep[name] | (high - low > 1e-2 * (np.abs(high) + 1))
            else:
                outside = outside & ~jumps & ~(steep[source] & np.isfinite(found[0]))
                outside = outside & np.isfinite(self.found[source][0])
            for p in np.flatnonzero(outside):
                yield name, p, f"{found[0][p]:.6g}, but the limits are {text[p]}"
            if source and self.at.dtype == np.float64:
                outside, text = self._outside(found[0], self.between(self.quotients(source), [i]))
                outside = outside & np.isfinite(self.found[source][0])
                for p in np.flatnonzero(outside & ~jumps):
                    yield name, p, f"{found[0][p]:.6g}, but the differences are {text[p]}"
            if source and self.n == 1:
                yield from self._leaving_zero(name, source)

    def _outside(self, value: Array, hulls: Any) -> tuple[Array, Array]:
        """Where a value is in none of some intervals, and these as text."""
        known, fits = np.ones(value.shape, bool), np.zeros(value.shape, bool)
        text = np.full(value.shape, "", object)
        for low, high in hulls:
            here = (low <= high) & np.isfinite(low) & np.isfinite(high)
            slack = 0.05 * np.maximum(np.abs(low), np.abs(high)) + 1e-2
            fits |= here & (low - slack <= value) & (value <= high + slack)
            known &= here
            pairs = zip(low, high, strict=True)
            text = np.where(here, [f"{a:.4g} to {b:.4g}" for a, b in pairs], text)
        return known & ~fits, text

    def _leaving_zero(self, name: str, source: str) -> Any:
        """What is 0 at 0 and has a slope there, is the slope times the place beside it."""
        at, value, slope = self.at[0, 0].tolist(), self.found[source][0], self.found[name][0]
        zero = at.index(0)
        beside = [p for p, x in enumerate(at) if 0 < abs(x) < 2e-4]
        smooth = all(abs(slope[p] - slope[zero]) <= 1e-2 * abs(slope[zero]) + 1e-3 for p in beside)
        if not smooth or value[zero] != 0 or max(abs(value[p]) for p in beside) > 1e-2:
            return
        for p in beside:
            expected = slope[zero] * at[p]
            if abs(at[p]) < 1e-9 and not abs(value[p] - expected) <= 1e-4 * abs(
                expected
            ) + 1e-15 * (not expected):
                yield source, p, f"{value[p]:.6g}, but from 0 it rises to {expected:.6g}"

    def differing(self, wide: Sweep) -> Iterator[tuple[str, int, str]]:
        """Where single precision differs from double precision at the same places."""
        for name, found in self.found.items():
            a, b = found[0], wide.found[name][0]
            size = np.abs(b)
            # Of a curvature the absolute size counts: it is made of sums that may cancel.
            slack = 1e-4 * size if "," not in name else 1e-3 * size + 1e-6
            off = (size > 1e-16) & (size < 1e18) & ~(np.abs(a - b) <= slack)
            off |= (size <= 1e-16) & ~(np.abs(a) <= 1e-6)
            for p in np.flatnonzero(off):
                yield name, p, f"{a[p]:.6g}, but in double precision {b[p]:.6g}"


def sweep(f: Function, n: int) -> list[str]:
    """All that is refused of a function of n elements."""
    found = []
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        both = {dtype: Sweep(f, n, dtype) for dtype in EDGES}
        wide = Sweep(f, n, "float64", "float32")
        for dtype, s in both.items():
            every = list(s.refused())
            if dtype == "float32":
                every += s.differing(wide)
            for name, p, why in every:
                at = ", ".join(f"{a[p]:g}" for a in s.base)
                found.append(f"{dtype} {name} at ({at}): {why}")
    return found
