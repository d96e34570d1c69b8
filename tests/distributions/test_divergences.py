"""Divergences: all of PyTorch's pairs against PyTorch, and closed forms against integrals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import rushlight as rl

D = rl.distributions
SHAPE: dict[str, list[Any]] = {
    "Bernoulli": [[[0.25, 0.75, 0.0, 1.0, 0.5]], [[0.5, 0.3, 0.2, 1.0, 0.0]]],
    "Beta": [[[0.5, 3.0], [1.5, 2.0]], [[2.5, 1.0], [1.0, 4.0]]],
    "Binomial": [[[5.0, 4.0], [0.25, 0.75]], [[5.0, 3.0], [0.5, 0.3]]],
    "Categorical": [[[[0.2, 0.5, 0.3], [0.0, 0.5, 0.5]]], [[[0.5, 0.5, 0.0], [0.2, 0.4, 0.4]]]],
    "Cauchy": [[[0.5, -1.0], [1.0, 2.0]], [[0.0, 3.0], [2.0, 0.5]]],
    "ContinuousBernoulli": [[[0.1, 0.5, 0.8]], [[0.4, 0.2, 0.5]]],
    "Dirichlet": [[[0.5, 3.0, 2.0]], [[1.5, 1.0, 4.0]]],
    "Exponential": [[[0.5, 3.0]], [[1.5, 1.0]]],
    "Gamma": [[[0.5, 3.0], [1.0, 2.0]], [[2.0, 1.0], [0.5, 1.5]]],
    "Geometric": [[[0.25, 0.75]], [[0.5, 0.3]]],
    "Gumbel": [[[0.5, -1.0], [1.0, 2.0]], [[0.0, 2.0], [0.5, 1.5]]],
    "HalfNormal": [[[0.5, 3.0]], [[1.5, 1.0]]],
    "Laplace": [[[0.5, -1.0], [1.0, 2.0]], [[0.0, 2.0], [0.5, 1.5]]],
    "LowRankMultivariateNormal": [
        [[0.5, 1.0], [[0.3], [-0.5]], [1.0, 2.0]],
        [[[0.0, 1.0], [2.0, 1.0]], [[0.6, 0.1], [0.2, 0.3]], [0.5, 1.5]],
    ],
    "MultivariateNormal": [
        [[0.5, 1.0], [[2.0, 0.5], [0.5, 1.0]]],
        [[[0.0, 1.0], [2.0, 1.0]], [[1.0, 0.2], [0.2, 3.0]]],
    ],
    "Normal": [[[0.5, -1.0], [1.0, 2.0]], [[0.0, 2.0], [0.5, 1.5]]],
    "OneHotCategorical": [[[0.2, 0.5, 0.3]], [[0.5, 0.1, 0.4]]],
    "Pareto": [[[0.5, 2.0, 1.0], [1.5, 3.0, 0.7]], [[0.3, 3.0, 1.0], [0.5, 1.0, 2.0]]],
    "Poisson": [[[0.5, 3.0]], [[1.5, 1.0]]],
    "Uniform": [[[0.0, 0.2, 1.5], [1.0, 0.9, 2.0]], [[-1.0, 0.2, 0.0], [3.0, 0.8, 5.0]]],
    "Wishart": [[3.5, [[2.0, 0.5], [0.5, 1.0]]], [4.0, [[1.0, 0.2], [0.2, 3.0]]]],
}


def _made(library: Any, name: str, which: int) -> tuple[Any, list[Any]]:
    leaves = [
        library.tensor(p, dtype=library.float64, requires_grad=True) for p in SHAPE[name][which]
    ]
    return getattr(library.distributions, name)(*leaves), leaves


def _divergence(library: Any, p: str, q: str) -> Any:
    (ours, a), (theirs, b) = _made(library, p, 0), _made(library, q, 1)
    if p != q and "Multivariate" not in p:  # of one batch shape
        ours, theirs = (
            getattr(library.distributions, n)(*[v[..., :2] for v in leaves])
            for n, leaves in ((p, a), (q, b))
        )
    value = library.distributions.kl_divergence(ours, theirs)
    if not value.requires_grad:
        return value, []
    finite = value[value.isfinite()].sum()
    return value, library.autograd.grad(finite, [*a, *b], allow_unused=True)


NAMES = [(p.__name__, q.__name__) for p, q in D.kl._KL_REGISTRY]
PAIRS = [pair for pair in NAMES if set(pair) <= set(SHAPE)] + [("Wishart", "Wishart")]


@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_values_and_gradients_are_those_of_torch(p: str, q: str) -> None:
    torch = pytest.importorskip("torch")
    (ours, g), (theirs, h) = _divergence(rl, p, q), _divergence(torch, p, q)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), 1e-9, 1e-11)
    for a, b in zip(g, h, strict=bool(g) and bool(h)):
        if b is not None and not bool(b.isnan().any()):
            found = np.zeros(b.shape) if a is None else a.numpy()
            np.testing.assert_allclose(found, b.numpy(), 3e-8, 1e-8)


def test_the_registry_holds_torchs_pairs() -> None:
    torch = pytest.importorskip("torch")

    def named(library: Any) -> set[tuple[str, str]]:
        return {(p.__name__, q.__name__) for p, q in library.distributions.kl._KL_REGISTRY}

    assert named(rl) == named(torch)


# Continuous pairs whose divergence is an integral over the line.
INTEGRALS = [
    ("Beta", "Normal"),
    ("Beta", "Gamma"),
    ("Beta", "Exponential"),
    ("ContinuousBernoulli", "Normal"),
    ("ContinuousBernoulli", "ContinuousBernoulli"),
    ("Exponential", "Gumbel"),
    ("Exponential", "Gamma"),
    ("Gamma", "Normal"),
    ("Gamma", "Gumbel"),
    ("Gumbel", "Normal"),
    ("Laplace", "Normal"),
    ("Normal", "Gumbel"),
    ("Normal", "Laplace"),
    ("Uniform", "Normal"),
    ("Uniform", "Gumbel"),
    ("Cauchy", "Cauchy"),
    ("Gumbel", "Gumbel"),
    ("Laplace", "Laplace"),
]


@pytest.mark.parametrize(("p", "q"), INTEGRALS)
def test_divergences_are_their_integrals(p: str, q: str) -> None:
    integrate = pytest.importorskip("scipy.integrate")
    a, b = ([v[-1] for v in SHAPE[p][0]], [v[-1] for v in SHAPE[q][1]])
    ours, theirs = (
        getattr(D, n)(*rl.tensor(v, dtype=rl.float64), validate_args=False)
        for n, v in ((p, a), (q, b))
    )

    def part(x: float) -> float:
        value = rl.tensor(x, dtype=rl.float64)
        log = ours.log_prob(value)
        return float(log.exp() * (log - theirs.log_prob(value)))

    low, high = {
        "Beta": (0, 1),
        "ContinuousBernoulli": (0, 1),
        "Uniform": (a[0], a[-1]),
        "Exponential": (0, 40),
        "Gamma": (0, 40),
    }.get(p, (-np.inf, np.inf) if p == "Cauchy" else (-60, 60))
    expected, _ = integrate.quad(part, low, high, limit=400)
    assert float(D.kl_divergence(ours, theirs)) == pytest.approx(expected, rel=1e-5)


def test_values_outside_of_the_support_cost_infinitely_much() -> None:
    assert D.kl_divergence(D.Uniform(0.0, 2.0), D.Uniform(0.0, 1.0)) == math.inf
    assert D.kl_divergence(D.Normal(0.0, 1.0), D.Exponential(1.0)) == math.inf
    assert D.kl_divergence(D.Bernoulli(0.5), D.Bernoulli(0.0)) == math.inf
    assert D.kl_divergence(D.Poisson(1.0), D.Binomial(3, rl.tensor(0.5))) == math.inf


def test_transformed_and_independent_distributions_take_that_of_their_bases() -> None:
    p, q = D.LogNormal(0.0, 1.0), D.LogNormal(1.0, 2.0)
    base = D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 2.0))
    assert rl.equal(D.kl_divergence(p, q), base)
    with pytest.raises(NotImplementedError):
        D.kl_divergence(p, D.TransformedDistribution(D.Normal(0.0, 1.0), [D.TanhTransform()]))
    rows = [D.Independent(D.Normal(rl.zeros(3), s), 1) for s in (1.0, 2.0)]
    one = D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(0.0, 2.0))
    assert float(D.kl_divergence(*rows)) == pytest.approx(3 * float(one))
    with pytest.raises(NotImplementedError):
        D.kl_divergence(rows[0], D.Independent(D.Normal(rl.zeros(2, 3), 1.0), 2))


def test_subclasses_take_the_nearest_rule_and_ambiguity_is_told() -> None:
    class P(D.Normal):
        pass

    class Q(D.Normal):
        pass

    registry = dict(D.kl._KL_REGISTRY)
    try:
        assert D.kl_divergence(P(0.0, 1.0), Q(0.0, 1.0)) == 0
        D.register_kl(P, D.Normal)(lambda p, q: rl.tensor(1.0))
        assert D.kl_divergence(P(0.0, 1.0), Q(0.0, 1.0)) == 1
        D.register_kl(D.Normal, Q)(lambda p, q: rl.tensor(2.0))
        with pytest.warns(RuntimeWarning, match=r"Ambiguous kl_divergence\(P, Q\)"):
            assert D.kl_divergence(P(0.0, 1.0), Q(0.0, 1.0)) == 1
    finally:
        D.kl._KL_REGISTRY.clear()
        D.kl._KL_REGISTRY.update(registry)
        D.kl._KL_MEMOIZE.clear()


def test_what_has_no_divergence_is_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"No KL\(p \|\| q\) is implemented for p type"):
        D.kl_divergence(D.Cauchy(0.0, 1.0), D.Normal(0.0, 1.0))
    with pytest.raises(NotImplementedError, match=r"q\.total_count > p\.total_count"):
        D.kl_divergence(D.Binomial(2, rl.tensor(0.5)), D.Binomial(3, rl.tensor(0.5)))
    with pytest.raises(ValueError, match="different event shapes cannot be computed"):
        D.kl_divergence(
            D.MultivariateNormal(rl.zeros(2), rl.eye(2)),
            D.MultivariateNormal(rl.zeros(3), rl.eye(3)),
        )
    with pytest.raises(NotImplementedError, match="different exponential families"):
        D.kl_divergence(D.Poisson(1.0), D.Dirichlet(rl.ones(2)))
    with pytest.raises(TypeError, match="arg 1 must be a class"):
        D.register_kl(3, D.Normal)
