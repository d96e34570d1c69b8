"""vmap of every op against a loop: all tensor arguments mapped, only the first, only the second.

And per-sample gradients of every differentiable op against gradients taken one by one.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from cases import (
    DIFFERENTIABLE,
    OPS,
    RANDOM,
    READ_STRIDES,
    SAMPLED,
    Make,
    calls,
    is_inexact,
    samples_of,
    takes,
)

import rushlight as torch

SIZE = 3

# What their results are is a question of the values: shapes, or a check of them all at once.
_BY_VALUE = "nonzero argwhere masked_select unique unique_consecutive gaussian_nll_loss"
NAMES = [n for n in SAMPLED if n not in RANDOM | READ_STRIDES | frozenset(_BY_VALUE.split())]


def flat(result: Any) -> list[torch.Tensor]:
    return [result] if isinstance(result, torch.Tensor) else [r for r in result if r is not None]


def close(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return np.allclose(a._array, b._array, atol=1e-9, rtol=1e-7, equal_nan=True)


class Problem:
    """One sample drawn once for each element, and which of its arguments are mapped."""

    def __init__(self, name: str, rows: list[tuple[Any, ...]], mapped: list[int]) -> None:
        self.function = OPS[name].function
        self.rows, self.mapped = rows, mapped

    def call(self, *mapped: Any) -> Any:
        args = list(self.rows[0])
        for i, a in zip(self.mapped, mapped, strict=True):
            args[i] = a
        named = args.pop() if args and isinstance(args[-1], dict) else {}
        return self.function(*args, **named)

    def one(self, k: int) -> list[Any]:
        return [self.rows[k][i] for i in self.mapped]

    def stacked(self) -> list[Any]:
        return [
            torch.stack(list(column)) for column in zip(*map(self.one, range(SIZE)), strict=True)
        ]


def problems(name: str) -> list[Problem]:
    draws = [samples_of(name)(Make(seed, OPS[name].domain, "float64")) for seed in range(SIZE)]
    found = []
    for rows in zip(*draws, strict=True):
        tensors = [i for i, a in enumerate(rows[0]) if isinstance(a, torch.Tensor)]
        for mapped in [tensors] if len(tensors) < 2 else [tensors, tensors[:1], tensors[1:2]]:
            same = all(r[i].shape == rows[0][i].shape for r in rows for i in mapped)
            if mapped and same:
                found.append(Problem(name, list(rows), mapped))
    return found


def expected(p: Problem) -> list[torch.Tensor] | None:
    """The results one by one, stacked; None where the draws do not fit together."""
    try:
        rows = [flat(p.call(*p.one(k))) for k in range(SIZE)]
    except (RuntimeError, ValueError, IndexError):
        return None
    if any(a.shape != b.shape for r in rows for a, b in zip(r, rows[0], strict=True)):
        return None
    return [torch.stack(list(column)) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_vmap_is_a_loop(name: str) -> None:
    for p in problems(name):
        want = expected(p)
        if want is None:
            continue
        found = flat(torch.func.vmap(p.call)(*p.stacked()))
        assert len(found) == len(want)
        for a, b in zip(found, want, strict=True):
            assert close(a, b), f"{name}: mapped {a}, one by one {b}"


@pytest.mark.parametrize("name", [n for n in DIFFERENTIABLE if n in NAMES])
@pytest.mark.filterwarnings("ignore")
def test_gradient_of_each_element(name: str) -> None:
    for p in problems(name)[:4]:
        if expected(p) is None or not all(is_inexact(t) for t in p.one(0)):
            continue

        def loss(*args: torch.Tensor, p: Problem = p) -> torch.Tensor:
            outs = [o for o in flat(p.call(*args)) if o.is_floating_point()]
            return sum(((o * 0.7).sin().sum() for o in outs), torch.zeros((), dtype=torch.float64))

        gradient = torch.func.grad(loss, argnums=tuple(range(len(p.mapped))))
        try:
            rows = [gradient(*p.one(k)) for k in range(SIZE)]
        except NotImplementedError:  # by one of the arguments only, as in PyTorch: zeta's order
            continue
        found = torch.func.vmap(gradient)(*p.stacked())
        for a, column in zip(found, zip(*rows, strict=True), strict=True):
            want = torch.stack(list(column))
            assert close(a, want), f"{name}: mapped {a}, one by one {want}"


@pytest.mark.parametrize("name", [n for n in DIFFERENTIABLE if takes(n, "float64")])
@pytest.mark.filterwarnings("ignore")
def test_batched_gradients(name: str) -> None:
    """Many cotangents at once: every gradient rule under vmap."""
    if name in RANDOM:
        return
    for call in calls(name, "float64"):
        leaves = [call.tensors[i].detach().requires_grad_() for i in call.leaves]
        outs = [o for o in call.replaced(leaves).outputs() if o.requires_grad]
        if not outs:
            continue
        rng = np.random.default_rng(1)
        w = [torch.from_numpy(np.asarray(rng.standard_normal((SIZE, *o.shape)))) for o in outs]
        w = [g.to(o.dtype) for g, o in zip(w, outs, strict=True)]

        def pull(*gs: torch.Tensor, o: Any = outs, x: Any = leaves) -> Any:
            return torch.autograd.grad(
                o, x, list(gs), retain_graph=True, allow_unused=True, materialize_grads=True
            )

        rows = [pull(*(g[k] for g in w)) for k in range(SIZE)]
        found = torch.func.vmap(pull)(*w)
        for a, column in zip(found, zip(*rows, strict=True), strict=True):
            want = torch.stack(list(column))
            assert close(a, want), f"{call!r}: at once {a}, one by one {want}"


def test_loops_warn_once() -> None:
    from rushlight.func import _batching

    _batching._warned.clear()
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(2):
            torch.func.vmap(lambda a: torch.histc(a, 2, 0, 4))(x)
    assert ["performance drop" in str(w.message) for w in said] == [True]
    assert "histc" in torch.func.unbatched_ops()
