"""vmap of every op against a loop: all tensor arguments mapped, only the first, only the second,
two maps inside each other, and the batch as the last dimension.

And per-sample gradients and tangents of every differentiable op against those taken one by one.
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
    SAMPLED,
    Call,
    Make,
    calls,
    is_inexact,
    samples_of,
    takes,
)

import rushlight as torch
from rushlight._levels import batching, batching_rule

SIZE = 3

# What their results are is a question of the values: shapes, or a check of them all at once.
_BY_VALUE = "nonzero argwhere unique unique_consecutive"
NAMES = [n for n in SAMPLED if n not in RANDOM | frozenset(_BY_VALUE.split())]


def flat(result: Any) -> list[torch.Tensor]:
    return [result] if isinstance(result, torch.Tensor) else [r for r in result if r is not None]


def close(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return np.allclose(a._array, b._array, atol=1e-9, rtol=1e-7, equal_nan=True)


def compose(f: Any, g: Any) -> Any:
    return lambda *args: f(g(*args))


class Problem:
    """One sample drawn once for each element, and which of its tensors are mapped."""

    def __init__(self, rows: list[Call], numbers: list[int]) -> None:
        self.rows, self.numbers = rows, numbers

    def call(self, *mapped: Any) -> Any:
        tensors = self.rows[0].tensors
        for i, a in zip(self.numbers, mapped, strict=True):
            tensors[i] = a
        return self.rows[0].having(tensors).run()

    def one(self, k: int) -> list[Any]:
        return [self.rows[k].tensors[i] for i in self.numbers]

    def stacked(self, dim: int = 0) -> list[Any]:
        columns = zip(*map(self.one, range(SIZE)), strict=True)
        if dim == 0:
            return [torch.stack(list(column)) for column in columns]
        # The batch last, and not last in memory either.
        return [torch.stack(list(column)).contiguous().movedim(0, -1) for column in columns]


def problems(name: str) -> list[Problem]:
    """Its tensors are contiguous, as the rows of what is stacked are: `as_strided` sees it."""
    draws = []
    for seed in range(SIZE):
        found = []
        for args in samples_of(name)(Make(seed, OPS[name].domain, "float64")):
            kwargs = {}
            if args and isinstance(args[-1], dict):
                args, kwargs = args[:-1], args[-1]
            found.append(Call(name, tuple(args), dict(kwargs)).copied())
        draws.append(found)
    made = []
    for rows in zip(*draws, strict=True):
        tensors = list(range(len(rows[0].tensors)))
        for numbers in [tensors] if len(tensors) < 2 else [tensors, tensors[:1], tensors[1:2]]:
            same = all(
                r.tensors[i].shape == rows[0].tensors[i].shape for r in rows for i in numbers
            )
            if numbers and same:
                made.append(Problem(list(rows), numbers))
    return made


def expected(p: Problem) -> list[torch.Tensor] | None:
    """The results one by one, stacked; None where the draws do not fit together."""
    try:
        rows = [flat(p.call(*p.one(k))) for k in range(SIZE)]
    except (RuntimeError, ValueError, IndexError):
        return None
    if any(a.shape != b.shape for r in rows for a, b in zip(r, rows[0], strict=True)):
        return None
    return [torch.stack(list(column)) for column in zip(*rows, strict=True)]


def by_mask(p: Problem, error: Exception) -> bool:
    """Whether how much is selected differs from element to element."""
    return p.rows[0].name == "masked_select" and "vmap over `mask`" in str(error)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore", "error:NotImplemented")
def test_vmap_is_a_loop(name: str) -> None:
    for p in problems(name):
        want = expected(p)
        if want is None:
            continue
        try:
            found = flat(torch.func.vmap(p.call)(*p.stacked()))
        except RuntimeError as error:
            assert by_mask(p, error), error
            continue
        assert len(found) == len(want)
        for a, b in zip(found, want, strict=True):
            assert close(a, b), f"{name}: mapped {a}, one by one {b}"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore", "error:NotImplemented")
def test_vmap_of_the_last_dimension(name: str) -> None:
    for p in problems(name)[:2]:
        want = expected(p)
        if want is None or name in ("masked_select", "strided_view", "as_strided"):
            continue  # those two are a question of strides
        found = flat(torch.func.vmap(p.call, in_dims=-1)(*p.stacked(-1)))
        for a, b in zip(found, want, strict=True):
            assert close(a, b), f"{name}: mapped {a}, one by one {b}"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore", "error:NotImplemented")
def test_vmap_of_vmap(name: str) -> None:
    """The first tensor mapped by the outer one, all others by the inner one."""
    for p in problems(name):
        tensors = p.rows[0].tensors
        if p.numbers != list(range(len(tensors))) or expected(p) is None:
            continue
        first, *rest = range(len(tensors))

        def call(a: Any, *others: Any, p: Problem = p) -> Any:
            return p.call(a, *others)

        try:
            want = [
                [flat(p.call(p.one(i)[first], *(p.one(k)[r] for r in rest))) for k in range(SIZE)]
                for i in range(SIZE)
            ]
        except (RuntimeError, ValueError, IndexError):
            continue
        first_column, *columns = p.stacked()
        if rest:
            inner = torch.func.vmap(call, in_dims=(None, *(0 for _ in rest)))
            outer = torch.func.vmap(inner, in_dims=(0, *(None for _ in rest)))
        else:
            outer = torch.func.vmap(torch.func.vmap(call))
            first_column = torch.stack([first_column] * SIZE, 1)
        try:
            found = flat(outer(first_column, *columns))
        except RuntimeError as error:
            assert by_mask(p, error) or not same_shapes(want), error
            continue
        for n, a in enumerate(found):
            b = torch.stack([torch.stack([row[n] for row in rows]) for rows in want])
            assert close(a, b), f"{name}: mapped {a}, one by one {b}"


def same_shapes(grid: list[list[list[torch.Tensor]]]) -> bool:
    return len({tuple(tuple(t.shape) for t in outs) for rows in grid for outs in rows}) == 1


@pytest.mark.parametrize("name", [n for n in DIFFERENTIABLE if n in NAMES])
@pytest.mark.filterwarnings("ignore", "error:NotImplemented")
def test_tangent_of_each_element(name: str) -> None:
    for p in problems(name)[:4]:
        if expected(p) is None or not all(is_inexact(t) for t in p.one(0)):
            continue
        rng = np.random.default_rng(2)

        def push(*args: torch.Tensor, p: Problem = p) -> Any:
            primals, tangents = args[: len(args) // 2], args[len(args) // 2 :]
            out = torch.func.jvp(compose(flat, p.call), primals, tangents)[1]
            return tuple(t for t in out if t.is_floating_point() or t.is_complex())

        along = [
            [torch.from_numpy(np.asarray(rng.standard_normal(t.shape))) for t in p.one(k)]
            for k in range(SIZE)
        ]
        try:
            rows = [push(*p.one(k), *along[k]) for k in range(SIZE)]
        except NotImplementedError:  # by one of the arguments only, as in PyTorch: zeta's order
            continue
        tangents = [torch.stack(list(c)) for c in zip(*along, strict=True)]
        try:
            found = torch.func.vmap(push)(*p.stacked(), *tangents)
        except RuntimeError as error:
            assert by_mask(p, error), error
            continue
        for a, column in zip(found, zip(*rows, strict=True), strict=True):
            want = torch.stack(list(column))
            assert close(a, want), f"{name}: mapped {a}, one by one {want}"


@pytest.mark.parametrize("name", [n for n in DIFFERENTIABLE if n in NAMES])
@pytest.mark.filterwarnings("ignore", "error:NotImplemented")
def test_gradient_of_each_element(name: str) -> None:
    for p in problems(name)[:4]:
        if expected(p) is None or not all(is_inexact(t) for t in p.one(0)):
            continue

        def loss(*args: torch.Tensor, p: Problem = p) -> torch.Tensor:
            outs = [o for o in flat(p.call(*args)) if o.is_floating_point()]
            return sum(((o * 0.7).sin().sum() for o in outs), torch.zeros((), dtype=torch.float64))

        gradient = torch.func.grad(loss, argnums=tuple(range(len(p.numbers))))
        try:
            rows = [gradient(*p.one(k)) for k in range(SIZE)]
        except NotImplementedError:  # by one of the arguments only, as in PyTorch: zeta's order
            continue
        found = torch.func.vmap(gradient)(*p.stacked())
        for a, column in zip(found, zip(*rows, strict=True), strict=True):
            want = torch.stack(list(column))
            assert close(a, want), f"{name}: mapped {a}, one by one {want}"


@pytest.mark.parametrize("name", [n for n in DIFFERENTIABLE if takes(n, "float64")])
@pytest.mark.filterwarnings("ignore", "error:NotImplemented")
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
    from rushlight._levels import composites

    composites._warned.clear()
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(2):
            torch.func.vmap(lambda a: torch.histc(a, 2, 0, 4))(x)
    assert ["performance drop" in str(w.message) for w in said] == [True]


def test_what_still_runs_once_for_each_element() -> None:
    """PyTorch has no rule for these either. A new op here needs one (batching_rule.py)."""
    assert sorted(batching_rule.unbatched_ops()) == [
        "_ctc_loss_backward",
        "_ctc_losses",
        "_fractional_max_pool2d",
        "_fractional_max_pool3d",
        "_segment_reduce",
        "bincount",
        "ctc_loss",
        "embedding_bag",
        "histc",
        "histogram",
        "histogramdd",
        "lstsq",
        "nonzero_static",
        "repeat_interleave",
        "segment_reduce",
    ]


def test_rules_are_of_ops_that_exist() -> None:
    """A rule of something else would never be asked for."""
    with pytest.raises(TypeError, match="is no op"):
        batching.batching(len)
