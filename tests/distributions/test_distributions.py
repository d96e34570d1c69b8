"""Distributions against PyTorch: equal seeds give equal samples, and equal values and gradients."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

CASES: dict[str, tuple[str, list[Any], Any]] = {
    "Normal": ("Normal", [[0.5, -1.0], [1.0, 2.0]], [0.3, 0.4]),
    "Laplace": ("Laplace", [[0.5, -1.0], [1.0, 2.0]], [0.3, 0.4]),
    "Cauchy": ("Cauchy", [[0.5, -1.0], [1.0, 2.0]], [0.3, 0.4]),
    "Uniform": ("Uniform", [[0.0, -1.0], [1.0, 2.0]], [0.3, 0.4]),
    "Exponential": ("Exponential", [[0.5, 3.0]], [0.3, 0.4]),
    "Gamma": ("Gamma", [[0.5, 3.0], [1.0, 2.0]], [0.3, 0.4]),
    "Chi2": ("Chi2", [[0.5, 3.0]], [0.3, 0.4]),
    "Beta": ("Beta", [[0.5, 3.0], [1.5, 2.0]], [0.3, 0.4]),
    "Dirichlet": ("Dirichlet", [[0.5, 3.0, 2.0]], [0.3, 0.4, 0.3]),
    "Bernoulli": ("Bernoulli", [[0.25, 0.75]], [1.0, 0.0]),
    "Geometric": ("Geometric", [[0.25, 0.75]], [1.0, 4.0]),
    "Categorical": ("Categorical", [[0.25, 0.5, 0.25]], 2.0),
    "MultivariateNormal": (
        "MultivariateNormal",
        [[0.5, 1.0], [[2.0, 0.5], [0.5, 1.0]]],
        [0.3, 0.4],
    ),
}


def _made(library: Any, case: str) -> tuple[Any, list[Any], Any]:
    name, parameters, value = CASES[case]
    double = {"dtype": library.float64}
    leaves = [library.tensor(p, requires_grad=True, **double) for p in parameters]
    return getattr(library.distributions, name)(*leaves), leaves, library.tensor(value, **double)


def _close(ours: Any, theirs: Any, rtol: float = 1e-10) -> None:
    expected = theirs.detach().numpy()
    assert tuple(ours.shape) == expected.shape
    assert ours.detach().numpy() == pytest.approx(expected, rel=rtol, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("case", CASES)
def test_samples_and_values_are_those_of_torch(case: str) -> None:
    (ours, _, value), (theirs, _, torch_value) = _made(rl, case), _made(torch, case)
    assert repr(ours) == repr(theirs)
    rl.manual_seed(3)
    torch.manual_seed(3)
    for shape in ((), (40,), (2, 3)):
        _close(ours.sample(shape), theirs.sample(shape))
    _close(ours.mean, theirs.mean)
    _close(ours.variance, theirs.variance)
    _close(ours.mode, theirs.mode)
    _close(ours.entropy(), theirs.entropy())
    _close(ours.log_prob(value), theirs.log_prob(torch_value))
    batch = (3, *theirs.batch_shape)
    _close(ours.expand(batch).log_prob(value), theirs.expand(batch).log_prob(torch_value))


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_those_of_torch(case: str) -> None:
    (ours, leaves, value), (theirs, torch_leaves, torch_value) = (
        _made(rl, case),
        _made(torch, case),
    )
    ours.log_prob(value).sum().backward()
    theirs.log_prob(torch_value).sum().backward()
    for a, b in zip(leaves, torch_leaves, strict=True):
        _close(a.grad, b.grad)
    if not theirs.has_rsample:
        return
    rl.manual_seed(5)
    torch.manual_seed(5)
    (x, leaves, _), (y, torch_leaves, _) = _made(rl, case), _made(torch, case)
    x.rsample((5,)).pow(2).sum().backward()
    y.rsample((5,)).pow(2).sum().backward()
    for a, b in zip(leaves, torch_leaves, strict=True):
        # PyTorch's gradients of gamma numbers are approximations.
        _close(a.grad, b.grad, 2e-3 if case in ("Gamma", "Chi2", "Beta", "Dirichlet") else 1e-10)


def test_a_wrong_parameter_is_refused_in_torchs_words() -> None:
    with pytest.raises(ValueError, match="Expected parameter scale") as ours:
        rl.distributions.Normal(0.0, -1.0)
    with pytest.raises(ValueError, match="Expected parameter scale") as theirs:
        torch.distributions.Normal(0.0, -1.0)
    assert str(ours.value) == str(theirs.value)


def test_a_transformed_distribution_and_a_divergence() -> None:
    made = []
    for library in (rl, torch):
        D = library.distributions
        d = D.TransformedDistribution(D.Normal(0.0, 1.0), [D.TanhTransform()])
        value = library.tensor([0.2, -0.5])
        divergence = D.kl_divergence(D.Gamma(2.0, 1.0), D.Gamma(3.0, 2.0))
        made.append((d.log_prob(value), d.cdf(value), divergence))
    for a, b in zip(*made, strict=True):
        _close(a, b, 1e-5)
