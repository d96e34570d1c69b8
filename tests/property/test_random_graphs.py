"""Random graphs: gradients by finite differences always, and against PyTorch where installed.

A program is a list of instructions over a growing list of values, so that results are reused,
ignored, broadcast, viewed, reduced and written in place; it runs on either library.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _subject import torch

BOUNDED = settings(max_examples=100, deadline=None, derandomize=True, database=None)

# Smooth functions with bounded growth, so that finite differences mean something.
UNARY = {
    "tanh": lambda t, a: t.tanh(a),
    "sin": lambda t, a: t.sin(a),
    "sigmoid": lambda t, a: t.sigmoid(a),
    "square": lambda t, a: t.tanh(a) * a,
    "logistic": lambda t, a: t.log(1 + t.exp(-t.abs(t.tanh(a)) - 0.5)),
    "softmax": lambda t, a: t.softmax(a, -1),
    "scaled": lambda t, a: a * 0.7 - 0.1,
    "reciprocal": lambda t, a: 1 / (2 + t.cos(a)),
    "root": lambda t, a: (a * a + 1).sqrt(),
    "cumsum": lambda t, a: t.cumsum(a, 0) * 0.3,
    "turned": lambda t, a: a.t(),
    "flipped": lambda t, a: a.flip(0),
    "row": lambda t, a: a[1:2],
    "columns": lambda t, a: a[:, [0, 2, 1]],
    "mean": lambda t, a: a.mean(0, keepdim=True),
    "total": lambda t, a: a.sum() * 0.1,
    "spread": lambda t, a: a.std(1, keepdim=True, unbiased=False),
    "reshaped": lambda t, a: a.reshape(-1)[: a.numel()].view(a.shape),
    "detached": lambda t, a: a.detach() * a,
    "written": lambda t, a: _written(t, a),
    "stacked": lambda t, a: t.stack([a, a * 2]).sum(0),
    "split": lambda t, a: t.cat(list(a.split(1, 0))[::-1], 0),
    "where": lambda t, a: t.where(t.ones(3, 3) > 0, a, a * 2),
}
BINARY = {
    "add": lambda t, a, b: a + b,
    "sub": lambda t, a, b: a - 0.5 * b,
    "mul": lambda t, a, b: t.tanh(a) * b,
    "div": lambda t, a, b: a / (2 + t.sin(b)),
    "matmul": lambda t, a, b: a @ b * 0.3,
    "hypot": lambda t, a, b: (a * a + b * b + 0.1).sqrt(),
    "addmm": lambda t, a, b: t.addmm(a, a, b, alpha=0.2),
    "outer": lambda t, a, b: a[:, 0].outer(b[0]),
    "einsum": lambda t, a, b: t.einsum("ij,kj->ik", a, b) * 0.3,
}


def _written(t, a):
    """Part of a copy overwritten through a view, the rest kept."""
    copy = a * 1.5
    copy[0] = t.tanh(a[1])
    copy[1:].mul_(0.5)
    return copy


def square(t, value):
    """Any result as 3x3 again, so that all instructions fit all values."""
    return value + t.zeros(3, 3, dtype=value.dtype)


INSTRUCTIONS = st.lists(
    st.tuples(
        st.sampled_from(sorted(UNARY) + sorted(BINARY)), st.integers(0, 50), st.integers(0, 50)
    ),
    min_size=1,
    max_size=10,
)


def execute(t, program, leaves):
    """The program's scalar result."""
    pool = list(leaves)
    for name, first, second in program:
        a, b = pool[first % len(pool)], pool[second % len(pool)]
        result = UNARY[name](t, a) if name in UNARY else BINARY[name](t, a, b)
        pool.append(square(t, result))
    return sum((p * (i + 1)).mean() for i, p in enumerate(pool[-3:]))


def arrays():
    rng = np.random.default_rng(11)
    return [rng.normal(size=(3, 3)) for _ in range(3)]


def leaves_of(t, source):
    return [t.from_numpy(a.copy()).requires_grad_() for a in source]


def gradients(t, program, source):
    leaves = leaves_of(t, source)
    loss = execute(t, program, leaves)
    loss.backward()
    return loss.item(), [None if x.grad is None else x.grad.numpy() for x in leaves]


@BOUNDED
@given(INSTRUCTIONS)
def test_gradients_like_torch(program):
    oracle = pytest.importorskip("torch")
    want, theirs = gradients(oracle, program, arrays())
    have, mine = gradients(torch, program, arrays())
    np.testing.assert_allclose(have, want, rtol=1e-10, atol=1e-12)
    for a, b in zip(mine, theirs, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)


@BOUNDED
@given(INSTRUCTIONS)
def test_gradients_by_finite_differences(program):
    # `detach` stops the gradient but not the difference, so it is left out here.
    program = [step for step in program if step[0] != "detached"]
    source = arrays()
    _, mine = gradients(torch, program, source)
    rng = np.random.default_rng(5)
    directions = [rng.normal(size=(3, 3)) for _ in source]
    slope = sum(0 if g is None else (g * d).sum() for g, d in zip(mine, directions, strict=True))
    eps = 1e-6
    ends = []
    for sign in (1, -1):
        moved = [torch.from_numpy(a + sign * eps * d)
                 for a, d in zip(source, directions, strict=True)]  # fmt: skip
        with torch.no_grad():
            ends.append(execute(torch, program, moved).item())
    numeric = (ends[0] - ends[1]) / (2 * eps)
    np.testing.assert_allclose(slope, numeric, rtol=1e-5, atol=1e-7)


@settings(BOUNDED, max_examples=60)
@given(INSTRUCTIONS)
def test_second_order_like_torch(program):
    oracle = pytest.importorskip("torch")
    found = []
    for t in (torch, oracle):
        leaves = leaves_of(t, arrays())
        loss = execute(t, program, leaves)
        first = t.autograd.grad(loss, leaves, create_graph=True, allow_unused=True)
        penalty = sum((g * g).sum() for g in first if g is not None)
        if not penalty.requires_grad:
            found.append([None] * 3)
            continue
        second = t.autograd.grad(penalty, leaves, allow_unused=True)
        found.append([None if g is None else g.numpy() for g in second])
    for a, b in zip(*found, strict=True):
        # A gradient that is absent on one side may be zeros on the other: both say nothing.
        a, b = (np.zeros((3, 3)) if g is None else g for g in (a, b))
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)


@settings(BOUNDED, max_examples=60)
@given(INSTRUCTIONS)
def test_the_same_twice(program):
    """One program run again gives bit for bit the same, and leaves its inputs alone."""
    source = arrays()
    first = gradients(torch, program, source)
    second = gradients(torch, program, source)
    assert first[0] == second[0]
    for a, b in zip(first[1], second[1], strict=True):
        assert (a is None and b is None) or np.array_equal(a, b)
    assert all(np.array_equal(a, b) for a, b in zip(source, arrays(), strict=True))
