"""What `test_edges_of_arrays.py` computes at the edges of functions of arrays, and what is refused.

An op's sample becomes functions of one number t: some elements of an argument are t, or t times
what they were; the others are what the sample has, or all the same number. Each of these lines at
each of EDGES is one place of a `Sweep` of `edges.py`, all in one `vmap`.

Refused is what is not a finite number where the limit is one, and a derivative that is outside of
x
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from cases import REFUSALS, Call, is_inexact, plain, tensors_in
from edges import Array, Sweep, back

import rushlight as torch

EDGES = {
    "float32": [0.0, 1e-10, 1.0, -1.0, 1.1754944e-38, 100.0, -100.0, np.inf, -np.inf],
    "float64": [0.0, 1e-10, 1.0, -1.0, 2.2250738585072014e-308, 800.0, -800.0, np.inf, -np.inf],
}

Leaf = tuple[Array, Array, Array]  # what is t, times what, and what stands elsewhere


def lines(leaves: list[Array], few: bool) -> dict[str, list[Leaf]]:
    """The functions of t by their names; few: those that leave most of an argument alone."""
    found: dict[str, list[Leaf]] = {}

    def add(
        name: str, moving: dict[int, Any], fill: Any = None, filled: Any = (), scaled: bool = False
    ) -> None:
        found[name] = []
        for i, a in enumerate(leaves):
            mask = np.zeros(a.size, bool)
            mask[moving.get(i, slice(0))] = True
            factor, rest = a if scaled else np.ones_like(a), a if i not in filled else a * 0 + fill
            found[name].append((mask.reshape(a.shape), factor, rest))

    whole = slice(None)
    for i, a in enumerate(leaves):
        of = f" of {i}" if i else ""
        add(f"one{of}", {i: 0})
        if a.size > 1:
            add(f"last{of}", {i: a.size - 1})
            add(f"two{of}", {i: slice(2)})
        if a.size > 1 and not few:
            add(f"all{of}", {i: whole})
            add(f"scaled{of}", {i: whole}, scaled=True)
            for c in (0.0, 1.0, 800.0):
                add(f"one{of} of {c}", {i: 0}, c, [i])
    if len(leaves) > 1 and not few:
        every = range(len(leaves))
        for c in (0.0, 1.0):
            add(f"one among {c} everywhere", {0: 0}, c, every)
        add("the same everywhere", dict.fromkeys(every, whole))
        add("scaled everywhere", dict.fromkeys(every, whole), scaled=True)
    return found


class Lines(Sweep):
    """All compositions of the functions of t of one call of an op, in one precision."""

    def __init__(self, call: Call, chosen: dict[str, list[Leaf]], dtype: str, finite: bool) -> None:
        edges = [x for x in EDGES[dtype] if np.isfinite(x) or not finite]
        self.names, self.edges = list(chosen), edges
        self.call, self.chosen, self.n = call, list(chosen.values()), 1
        results = call.mapped(lambda x: x.detach().requires_grad_() if is_inexact(x) else x)
        self.outputs = [k for k, x in enumerate(results.outputs()) if x.requires_grad]
        self.places = np.array(edges * len(chosen), dtype)

    def run(self) -> None:
        self._run(self._function, [self.places], str(self.places.dtype))

    def slope(self) -> Any:
        return back(self._function, 0)(torch.from_numpy(self.places))

    def _function(self, t: Any) -> Any:
        call, dtype = self.call, t.dtype
        which = np.arange(len(t)) % (len(self.edges) * len(self.chosen)) // len(self.edges)
        parts = [
            [torch.from_numpy(np.stack(part)[which]) for part in zip(*leaf, strict=True)]
            for leaf in zip(*self.chosen, strict=True)
        ]
        parts = [[mask, factor.to(dtype), rest.to(dtype)] for mask, factor, rest in parts]
        others = [x.to(dtype) if is_inexact(x) else x for x in call.tensors]

        def one(t: Any, parts: Any) -> Any:
            given = list(others)
            for i, (mask, factor, rest) in zip(call.leaves, parts, strict=True):
                given[i] = torch.where(mask, t * factor, rest)
            results, total = tensors_in(plain(call.having(given).run())), 0
            for k in self.outputs:
                flat = results[k].reshape(-1)
                # Of two extremes the largest with a minus: both are concave then.
                weights = (-1) ** k + np.cos(np.arange(flat.shape[0]) * 1.7 + 0.3) / 2
                total = total + (flat * torch.from_numpy(weights).to(dtype)).sum()
            return total

        return torch.func.vmap(one)(t, parts)

    def refused(self) -> Iterator[tuple[str, int, str]]:
        """(composition, place, why)."""
        row = {move: k for k, move in enumerate(self.moves)}
        at, each = self.at[0, 0], len(self.edges)
        # Of several equal numbers that move apart another may be chosen on each side.
        parting = np.repeat([n.startswith("scaled") for n in self.names], each) & (
            np.abs(at) < 1e-9
        )
        alone = np.repeat([n in ("one", "last", "all") for n in self.names], each)
        known = np.isfinite(self.found["value"][0]) & (alone | np.isfinite(at))
        for name, found in self.found.items():
            source, _ = self.sources[name]

            def limit(j: int, s: int, found: Array = found) -> tuple[Array, Array]:
                return found[row[j, s, 0]], found[row[j, s, 1]]

            value, finite = found[0], np.isfinite(found[0])
            outside, text = self._outside(value, self.between(limit, [0]))
            if not source:
                outside, jumps = outside & ~finite & np.isfinite(at), outside & finite
                known = known & ~jumps
            else:
                steep = np.isinf(value) & (np.abs(at) < 1e-3)
                outside = outside & ~finite & ~steep & known
            for p in np.flatnonzero(outside):
                yield name, p, f"{value[p]:.6g}, but the limits are {text[p]}"
            if source and self.at.dtype == np.float64:
                outside, text = self._outside(value, self.between(self.quotients(source), [0]))
                outside = outside & np.isfinite(self.found[source][0]) & known
                for p in np.flatnonzero(outside & ~(parting & finite)):
                    yield name, p, f"{value[p]:.6g}, but the differences are {text[p]}"


def straight(call: Call) -> bool:
    """Whether each argument enters straight, so that there is no edge."""
    rng = np.random.default_rng(0)
    for i in call.leaves:

        def values(a: Array, i: int = i) -> Array:
            tensors = call.tensors
            tensors[i] = torch.from_numpy(a)
            found = [t._array.reshape(-1) for t in call.having(tensors).outputs() if is_inexact(t)]
            return np.concatenate(found) if found else np.zeros(1)

        a = call.tensors[i]._array
        step = rng.uniform(-3, 3, a.shape)
        try:
            ends, middle = values(a - step) + values(a + step), values(a)
            if not (
                np.allclose(ends, 2 * middle)
                and np.allclose(values(-a) + middle, 2 * values(np.zeros_like(a)))
            ):
                return False
        except REFUSALS:
            return False
    return True


def sweep(call: Call, few: bool = False) -> list[str]:
    """All that is refused of a call; few: see `lines`."""
    found = []
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        chosen = lines([call.tensors[i]._array for i in call.leaves], few)
        for finite, part in _taken(call, chosen, few):
            for dtype in EDGES:
                s = Lines(call, part, dtype, finite)
                s.run()
                for name, p, why in s.refused():
                    line, at = s.names[p // len(s.edges)], s.edges[p % len(s.edges)]
                    found.append(f"{dtype} {name}, {line} at {at:g}: {why}")
    return found


def _taken(
    call: Call, chosen: dict[str, list[Leaf]], finite: bool
) -> Iterator[tuple[bool, dict[str, list[Leaf]]]]:
    """(whether without infinity, lines): those that the op does not refuse."""

    def takes(part: dict[str, list[Leaf]], finite: bool) -> bool:
        try:
            Lines(call, part, "float64", finite).slope()
        except REFUSALS:
            return False
        return True

    if takes(chosen, finite):
        yield finite, chosen
        return
    singles = {name: {name: line} for name, line in chosen.items()}
    for without in (False, True) if not finite else (True,):
        taken = {name: chosen[name] for name in chosen if takes(singles[name], without)}
        chosen = {name: line for name, line in chosen.items() if name not in taken}
        if taken:
            yield without, taken
