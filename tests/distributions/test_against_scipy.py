"""Distributions against scipy.stats: densities, distribution functions, moments, entropies, and
samples by their moments. PyTorch is not needed."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import rushlight as rl

stats = pytest.importorskip("scipy.stats")
D = rl.distributions


class Case(NamedTuple):
    ours: Any
    theirs: Any
    values: list[Any]


def t(*values: Any) -> Any:
    return rl.tensor(values if len(values) > 1 else values[0], dtype=rl.float64)


def _made() -> dict[str, Case]:
    reals, positive, unit = [-1.5, 0.2, 3.0], [0.1, 0.9, 3.5], [0.05, 0.4, 0.9]
    p = 0.3
    return {
        "Bernoulli": Case(D.Bernoulli(t(p)), stats.bernoulli(p), [0.0, 1.0]),
        "Beta": Case(D.Beta(t(2.5), t(1.5)), stats.beta(2.5, 1.5), unit),
        "Binomial": Case(D.Binomial(7, t(p)), stats.binom(7, p), [0.0, 3.0, 7.0]),
        "Cauchy": Case(D.Cauchy(t(0.5), t(2.0)), stats.cauchy(0.5, 2.0), reals),
        "Chi2": Case(D.Chi2(t(3.0)), stats.chi2(3.0), positive),
        "Exponential": Case(D.Exponential(t(2.0)), stats.expon(scale=0.5), positive),
        "FisherSnedecor": Case(D.FisherSnedecor(t(5.0), t(9.0)), stats.f(5.0, 9.0), positive),
        "Gamma": Case(D.Gamma(t(2.5), t(2.0)), stats.gamma(2.5, scale=0.5), positive),
        "GeneralizedPareto": Case(
            D.GeneralizedPareto(t(0.0), t(2.0), t(0.2)), stats.genpareto(0.2, 0.0, 2.0), positive
        ),
        "GeneralizedPareto that ends": Case(
            D.GeneralizedPareto(t(0.0), t(2.0), t(-0.3)), stats.genpareto(-0.3, 0.0, 2.0), positive
        ),
        "GeneralizedPareto at zero": Case(
            D.GeneralizedPareto(t(0.0), t(2.0), t(0.0)), stats.genpareto(0.0, 0.0, 2.0), positive
        ),
        "Geometric": Case(D.Geometric(t(p)), stats.geom(p, loc=-1), [0.0, 4.0]),
        "Gumbel": Case(D.Gumbel(t(0.5), t(2.0)), stats.gumbel_r(0.5, 2.0), reals),
        "HalfCauchy": Case(D.HalfCauchy(t(2.0)), stats.halfcauchy(scale=2.0), positive),
        "HalfNormal": Case(D.HalfNormal(t(2.0)), stats.halfnorm(scale=2.0), positive),
        "InverseGamma": Case(
            D.InverseGamma(t(5.5), t(2.0)), stats.invgamma(5.5, scale=2.0), positive
        ),
        "Laplace": Case(D.Laplace(t(0.5), t(2.0)), stats.laplace(0.5, 2.0), reals),
        "LogNormal": Case(
            D.LogNormal(t(0.5), t(0.9)), stats.lognorm(0.9, scale=math.exp(0.5)), positive
        ),
        "NegativeBinomial": Case(
            D.NegativeBinomial(t(3.0), t(p)), stats.nbinom(3.0, 1 - p), [0.0, 4.0]
        ),
        "Normal": Case(D.Normal(t(0.5), t(2.0)), stats.norm(0.5, 2.0), reals),
        "Pareto": Case(D.Pareto(t(0.05), t(5.5)), stats.pareto(5.5, scale=0.05), positive),
        "Poisson": Case(D.Poisson(t(3.5)), stats.poisson(3.5), [0.0, 4.0, 9.0]),
        "Poisson of a high rate": Case(D.Poisson(t(35.0)), stats.poisson(35.0), [20.0, 40.0]),
        "Binomial of many": Case(D.Binomial(400, t(p)), stats.binom(400, p), [100.0, 130.0]),
        "StudentT": Case(D.StudentT(t(9.0), t(0.5), t(2.0)), stats.t(9.0, 0.5, 2.0), reals),
        "Uniform": Case(D.Uniform(t(-2.0), t(4.0)), stats.uniform(-2.0, 6.0), reals),
        "VonMises": Case(D.VonMises(t(0.5), t(2.0)), stats.vonmises(2.0, loc=0.5), reals),
        "Weibull": Case(D.Weibull(t(2.0), t(1.5)), stats.weibull_min(1.5, scale=2.0), positive),
    }


CASES = _made()
DISCRETE = [name for name, c in CASES.items() if hasattr(c.theirs.dist, "pmf")]


@pytest.mark.parametrize("name", CASES)
def test_densities_and_distribution_functions(name: str) -> None:
    ours, theirs, values = CASES[name]
    x = rl.tensor(values, dtype=rl.float64)
    expected = (theirs.logpmf if name in DISCRETE else theirs.logpdf)(values)
    np.testing.assert_allclose(ours.log_prob(x).numpy(), expected, 1e-9, 1e-12)
    try:
        below = ours.cdf(x)
    except NotImplementedError:
        return
    np.testing.assert_allclose(below.numpy(), theirs.cdf(values), 1e-9, 1e-15)
    try:
        back = ours.icdf(below)
    except NotImplementedError:
        return
    np.testing.assert_allclose(back.numpy(), values, 1e-7)


@pytest.mark.parametrize("name", CASES)
def test_moments_and_entropies(name: str) -> None:
    ours, theirs, _ = CASES[name]
    if name == "VonMises":  # scipy's moments are those of the line
        from scipy.special import ive

        assert float(ours.variance) == pytest.approx(1 - ive(1, 2.0) / ive(0, 2.0))
        return
    found = {"mean": ours.mean, "variance": ours.variance, "stddev": ours.stddev}
    expected = {"mean": theirs.mean(), "variance": theirs.var(), "stddev": theirs.std()}
    for what, value in found.items():
        if name != "Cauchy" or what == "mean":  # its variance is infinite in torch, scipy has NaN
            assert float(value) == pytest.approx(expected[what], rel=1e-9, nan_ok=True), what
    try:
        entropy = ours.entropy()
    except NotImplementedError:
        return
    assert float(entropy) == pytest.approx(float(theirs.entropy()), rel=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_samples_follow_the_distribution(name: str) -> None:
    ours, theirs, _ = CASES[name]
    rl.manual_seed(11)
    drawn = ours.sample((4000,)).numpy()
    if name in DISCRETE:
        most = int(theirs.ppf(0.999)) + 1
        counts = np.bincount(drawn.astype(int).clip(0, most), minlength=most + 1)
        shares = theirs.pmf(np.arange(most))
        shares = np.append(shares, 1 - shares.sum())
        likely = shares * 4000 > 5
        rest = [counts[~likely].sum()], [shares[~likely].sum() * 4000]
        f, e = np.append(counts[likely], rest[0]), np.append(shares[likely] * 4000, rest[1])
        keep = e > 1e-9
        assert stats.chisquare(f[keep], e[keep] * f[keep].sum() / e[keep].sum()).pvalue > 1e-3
    else:
        assert stats.kstest(drawn, theirs.cdf).pvalue > 1e-3


def test_vectors_and_matrices() -> None:
    covariance = [[2.0, 0.5], [0.5, 1.0]]
    x = t(0.3, 0.4)
    normal = stats.multivariate_normal([0.5, 1.0], covariance)
    rows = np.array([[1.0], [0.5]])
    for d in (
        D.MultivariateNormal(t(0.5, 1.0), t(covariance)),
        D.MultivariateNormal(t(0.5, 1.0), precision_matrix=t(np.linalg.inv(covariance).tolist())),
        D.LowRankMultivariateNormal(t(0.5, 1.0), t(rows.tolist()), t(1.0, 0.75)),
    ):
        assert float(d.log_prob(x)) == pytest.approx(normal.logpdf([0.3, 0.4]))
        assert float(d.entropy()) == pytest.approx(normal.entropy())
        np.testing.assert_allclose(d.covariance_matrix.numpy(), covariance)
        np.testing.assert_allclose(d.precision_matrix.numpy(), np.linalg.inv(covariance))
        np.testing.assert_allclose(d.scale_tril.numpy(), np.linalg.cholesky(covariance))
    dirichlet = stats.dirichlet([0.5, 3.0, 2.0])
    ours = D.Dirichlet(t(0.5, 3.0, 2.0))
    assert float(ours.log_prob(t(0.2, 0.5, 0.3))) == pytest.approx(
        dirichlet.logpdf([0.2, 0.5, 0.3])
    )
    assert float(ours.entropy()) == pytest.approx(dirichlet.entropy())
    multinomial = stats.multinomial(5, [0.2, 0.5, 0.3])
    many = D.Multinomial(5, t(0.2, 0.5, 0.3))
    assert float(many.log_prob(t(1.0, 4.0, 0.0))) == pytest.approx(multinomial.logpmf([1, 4, 0]))
    assert float(many.entropy()) == pytest.approx(multinomial.entropy())
    wishart = stats.wishart(4.5, covariance)
    W = D.Wishart(t(4.5), t(covariance))
    value = [[1.0, 0.2], [0.2, 3.0]]
    assert float(W.log_prob(t(value))) == pytest.approx(wishart.logpdf(value))
    assert float(W.entropy()) == pytest.approx(wishart.entropy())
    np.testing.assert_allclose(W.mean.numpy(), wishart.mean())
    np.testing.assert_allclose(W.variance.numpy(), wishart.var())


def test_samples_of_vectors_and_matrices_have_their_moments() -> None:
    rl.manual_seed(2)
    covariance = t([[2.0, 0.5], [0.5, 1.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for d in (
            D.Wishart(t(4.5), covariance),
            D.Multinomial(5, t(0.2, 0.5, 0.3)),
            D.OneHotCategorical(t(0.2, 0.5, 0.3)),
            D.LowRankMultivariateNormal(t(0.5, 1.0), t([[1.0], [0.5]]), t(1.0, 0.75)),
            D.MixtureSameFamily(D.Categorical(t(0.3, 0.7)), D.Normal(t(-1.0, 2.0), t(0.5, 1.0))),
        ):
            drawn = d.sample((20000,))
            spread = d.stddev / 20000**0.5
            assert bool(((drawn.mean(0) - d.mean).abs() < 5 * spread + 1e-9).all())
            np.testing.assert_allclose(drawn.var(0).numpy(), d.variance.numpy(), rtol=0.1)


def test_factors_of_lkj() -> None:
    """In two dimensions the correlation is 2 Beta(c, c) - 1; in more of them PyTorch's numbers,
    which are ours, stray from the distribution."""
    rl.manual_seed(4)
    for c in (1.0, 3.0):
        drawn = D.LKJCholesky(2, c).sample((4000,))[:, 1, 0].numpy()
        assert stats.kstest((drawn.astype(float) + 1) / 2, stats.beta(c, c).cdf).pvalue > 1e-3
    L = D.LKJCholesky(4, t(2.0)).sample((5,))
    assert bool(D.constraints.corr_cholesky.check(L).all())
    factor = rl.tensor([[1.0, 0.0], [0.6, 0.8]])
    assert float(D.LKJCholesky(2, 1.0).log_prob(factor).exp()) == pytest.approx(0.5)


SAMPLED: dict[str, Callable[[Any], Any]] = {
    "gamma": lambda a: D.Gamma(a, 1.0),
    "beta": lambda a: D.Beta(a, 2.0),
    "student": lambda a: D.StudentT(a + 9),
    "exponential": lambda a: D.Exponential(a),
    "weibull": lambda a: D.Weibull(a, 2.0),
    "gumbel": lambda a: D.Gumbel(a, 1.0),
    "continuous bernoulli": lambda a: D.ContinuousBernoulli(a / 10),
    "kumaraswamy": lambda a: D.Kumaraswamy(a, 2.0),
    "generalized pareto": lambda a: D.GeneralizedPareto(0.0, a, a / 30),
}


@pytest.mark.parametrize("name", SAMPLED)
def test_gradients_of_samples_are_those_of_their_quantiles(name: str) -> None:
    """x = icdf(u): dx/da = -(dF/da) / density, by central differences of the mean of x^2 here."""
    a = t(3.0).requires_grad_()
    rl.manual_seed(8)
    d = SAMPLED[name](a)
    x = d.rsample((20000,))
    (x**2).mean().backward()
    with rl.no_grad():
        moments = [
            float(m.variance + m.mean**2)
            for m in (SAMPLED[name](t(3.0 - 1e-4)), SAMPLED[name](t(3.0 + 1e-4)))
        ]
    if not math.isfinite(moments[0]):
        return
    expected = (moments[1] - moments[0]) / 2e-4
    assert float(a.grad) == pytest.approx(expected, rel=0.15, abs=0.02)
