"""Kullback-Leibler divergences between distributions.

A rule gives E_p[log p - log q]. Where q's support does not hold p's, the divergence is infinite:
for whole families by `_INFINITE`, for single parameters by `_outside`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

from rushlight import _root as rl
from rushlight import linalg
from rushlight._root import Tensor

from .. import autograd
from .._base.errors import warn
from ..nn import functional as F
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _batch_lowrank_mahalanobis,
    _scaled,
)
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis, half_log_det
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import euler_constant, sum_rightmost

__all__ = ["kl_divergence", "register_kl"]

_Rule = TypeVar("_Rule", bound=Callable[..., Tensor])
_KL_REGISTRY: dict[tuple[type, type], Callable[..., object]] = {}
_KL_MEMOIZE: dict[tuple[type, type], Any] = {}


def register_kl(type_p: Any, type_q: Any) -> Callable[[_Rule], _Rule]:
    """A decorator that enters a function of p and q as the divergence of two classes, and of their
    subclasses that have none of their own.

    >>> class Standard(torch.distributions.Normal):
    ...     pass
    >>> @torch.distributions.register_kl(Standard, Standard)
    ... def _(p, q):
    ...     return torch.zeros(p.batch_shape)
    >>> torch.distributions.kl_divergence(Standard(0.0, 1.0), Standard(0.0, 1.0))
    tensor(0.)
    """
    for found in (type_p, type_q):
        if not isinstance(found, type):
            raise TypeError(
                "issubclass() arg 1 must be a class. register_kl takes two classes of "
                f"distributions, not {found!r}"
            )

    def enter(rule: _Rule) -> _Rule:
        _KL_REGISTRY[type_p, type_q] = rule
        _KL_MEMOIZE.clear()
        return rule

    return enter


def _dispatch_kl(type_p: type, type_q: type) -> Any:
    """The rule of the nearest superclasses, or NotImplemented; p's count more where p's and q's
    disagree, with a warning."""
    a, b = type_p.__mro__, type_q.__mro__
    near = [(a.index(p), b.index(q)) for p, q in _KL_REGISTRY if p in a and q in b]
    if not near:
        return NotImplemented
    left, right = min(near), min(near, key=lambda pair: pair[::-1])
    rule = _KL_REGISTRY[a[left[0]], b[left[1]]]
    if rule is not _KL_REGISTRY[a[right[0]], b[right[1]]]:
        warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({a[left[0]].__name__}, {b[right[1]].__name__})",
            RuntimeWarning,
        )
    return rule


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The divergence of q from p, of their batch shape.

    >>> D = torch.distributions
    >>> D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 1.0))
    tensor(0.5000)
    """
    types = type(p), type(q)
    rule = _KL_MEMOIZE.get(types)
    if rule is None:
        rule = _KL_MEMOIZE[types] = _dispatch_kl(*types)
    if rule is NotImplemented:
        raise NotImplementedError(
            "No KL(p || q) is implemented for p type "
            f"{type(p).__name__} and q type {type(q).__name__}"
        )
    return rule(p, q)


def _outside(condition: Tensor, value: Tensor) -> Tensor:
    """The value, infinite where p has values that q has not."""
    return value.masked_fill(condition, math.inf)


def _x_log_x(x: Tensor) -> Tensor:
    return rl.xlogy(x, x)


def _log_gamma_norm(q: Gamma) -> Tensor:
    """The logarithm of the normalizing constant of a gamma distribution."""
    return q.concentration.lgamma() - q.concentration * q.rate.log()


def _log_normal_norm(q: Normal) -> Tensor:
    return q.scale.log() + 0.5 * math.log(2 * math.pi)


def _against_normal(entropy: Tensor, mean: Tensor, variance: Tensor, q: Normal) -> Tensor:
    """KL(p || normal q) from p's entropy and first moments."""
    square = variance + (mean - q.loc).pow(2)
    return _log_normal_norm(q) + square / (2 * q.scale.pow(2)) - entropy


# --- two of one family ---


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    one = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
    zero = (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))
    one = _outside(q.probs == 0, one).masked_fill(p.probs == 0, 0.0)
    return one + _outside(q.probs == 1, zero).masked_fill(p.probs == 1, 0.0)


@register_kl(Beta, Beta)
def _kl_beta_beta(p: Beta, q: Beta) -> Tensor:
    return _kl_dirichlet_dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p: Binomial, q: Binomial) -> Tensor:
    if bool((p.total_count < q.total_count).any()):
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    one = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return _outside(p.total_count > q.total_count, p.total_count * one)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p: Categorical, q: Categorical) -> Tensor:
    each = p.probs * (p.logits - q.logits)
    return _outside(q.probs == 0, each).masked_fill(p.probs == 0, 0.0).sum(-1)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    apart = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return apart.log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(
    p: ContinuousBernoulli, q: ContinuousBernoulli
) -> Tensor:
    norm = p._cont_bern_log_norm() + rl.log1p(-p.probs)
    return p.mean * (p.logits - q.logits) + norm - q._cont_bern_log_norm() - rl.log1p(-q.probs)


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    norm = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return norm + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed "
            "using Bregman divergences"
        )
    ours = [a.detach().requires_grad_() for a in p._natural_params]
    theirs = q._natural_params
    norm = p._log_normalizer(*ours)
    gradients = autograd.grad(norm.sum(), ours, create_graph=True)
    result = q._log_normalizer(*theirs) - norm
    for a, b, g in zip(ours, theirs, gradients, strict=True):
        result = result - sum_rightmost((b - a) * g, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    return (
        b * (p.rate / q.rate).log()
        + rl.lgamma(b)
        - rl.lgamma(a)
        + (a - b) * rl.digamma(a)
        + (q.rate - p.rate) * (a / p.rate)
    )


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - rl.log1p(-q.probs) / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc) / q.scale
    tail = rl.exp((1 + ratio).lgamma() - apart)
    return apart + tail - ratio.log() + ratio * euler_constant - (1 + euler_constant)


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _kl_independent_independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return apart / q.scale + ratio * rl.exp(-apart / p.scale) - ratio.log() - 1


@register_kl(Normal, Normal)
def _kl_normal_normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return _outside(p.scale < q.scale, result)


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p: Uniform, q: Uniform) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return _outside((q.low > p.low) | (q.high < p.high), result)


# --- normal vectors: 1/2 (log det ratio + trace(q^-1 p) + distance of the means - n) ---


def _check_events(p: Any, q: Any, of: str) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL-divergence between two {of} with different event shapes cannot be computed"
        )


def _squares(matrix: Tensor) -> Tensor:
    """The trace of a matrix times its own transpose."""
    return matrix.pow(2).sum((-2, -1))


def _traced(q: LowRankMultivariateNormal, factor: Tensor) -> Tensor:
    """The trace of q^-1 times factor factor'."""
    D = q._unbroadcasted_cov_diag
    scaled = _scaled(q._unbroadcasted_cov_factor, D)
    A = linalg.solve_triangular(q._capacitance_tril, scaled, upper=False)
    return _squares(factor * D.rsqrt().unsqueeze(-1)) - _squares(A.matmul(factor))


def _apart(p: Any, q: LowRankMultivariateNormal) -> Tensor:
    return _batch_lowrank_mahalanobis(
        q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, q.loc - p.loc, q._capacitance_tril
    )


_LOW_RANK = "(Low Rank) Multivariate Normals"


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrankmultivariatenormal_lowrankmultivariatenormal(
    p: LowRankMultivariateNormal, q: LowRankMultivariateNormal
) -> Tensor:
    _check_events(p, q, "Low Rank Multivariate Normals")
    diagonal = rl.diag_embed(p._unbroadcasted_cov_diag.sqrt())
    trace = _traced(q, p._unbroadcasted_cov_factor) + _traced(q, diagonal)
    return 0.5 * (q._log_det() - p._log_det() + trace + _apart(p, q) - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormal_lowrankmultivariatenormal(
    p: MultivariateNormal, q: LowRankMultivariateNormal
) -> Tensor:
    _check_events(p, q, _LOW_RANK)
    factor = p._unbroadcasted_scale_tril
    volume = q._log_det() - 2 * half_log_det(factor)
    return 0.5 * (volume + _traced(q, factor) + _apart(p, q) - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrankmultivariatenormal_multivariatenormal(
    p: LowRankMultivariateNormal, q: MultivariateNormal
) -> Tensor:
    _check_events(p, q, _LOW_RANK)
    factor = q._unbroadcasted_scale_tril
    diagonal = rl.diag_embed(p._unbroadcasted_cov_diag.sqrt())
    trace = _squares(_solved(factor, p._unbroadcasted_cov_factor))
    trace = trace + _squares(_solved(factor, diagonal))
    distance = _batch_mahalanobis(factor, q.loc - p.loc)
    volume = 2 * half_log_det(factor) - p._log_det()
    return 0.5 * (volume + trace + distance - p.event_shape[0])


def _solved(factor: Tensor, right: Tensor) -> Tensor:
    return linalg.solve_triangular(factor, right, upper=False)


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(
    p: MultivariateNormal, q: MultivariateNormal
) -> Tensor:
    _check_events(p, q, "Multivariate Normals")
    ours, theirs = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    distance = _batch_mahalanobis(theirs, q.loc - p.loc)
    trace = _squares(_solved(theirs, ours))
    volume = half_log_det(theirs) - half_log_det(ours)
    return volume + 0.5 * (trace + distance - p.event_shape[0])


# --- two families ---

# p, the parameter that gives the shape, and the families q that p's values lie outside of.
_INFINITE: list[tuple[type, str, tuple[type, ...]]] = [
    (Beta, "concentration1", (Pareto,)),
    (ContinuousBernoulli, "probs", (Pareto,)),
    (Exponential, "rate", (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gamma, "concentration", (Beta, ContinuousBernoulli, Pareto, Uniform)),
    *(
        (p, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform))
        for p in (Gumbel, Laplace, Normal)
    ),
    (Pareto, "scale", (Beta, ContinuousBernoulli, Uniform)),
    (Poisson, "rate", (Bernoulli, Binomial)),
]


def _enter_infinite(type_p: type, parameter: str, types_q: tuple[type, ...]) -> None:
    def _kl_infinity(p: Distribution, q: Distribution) -> Tensor:
        return rl.full_like(getattr(p, parameter), math.inf)

    for type_q in types_q:
        register_kl(type_p, type_q)(_kl_infinity)


for _entry in _INFINITE:
    _enter_infinite(*_entry)


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return q.rate - p.entropy() - p.probs * q.rate.log()


@register_kl(Beta, ContinuousBernoulli)
def _kl_beta_continuous_bernoulli(p: Beta, q: ContinuousBernoulli) -> Tensor:
    return -p.entropy() - p.mean * q.logits - rl.log1p(-q.probs) - q._cont_bern_log_norm()


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
@register_kl(Gamma, Exponential)
def _kl_positive_exponential(p: Distribution, q: Exponential) -> Tensor:
    return q.rate * p.mean - p.entropy() - q.rate.log()


@register_kl(Beta, Gamma)
def _kl_beta_gamma(p: Beta, q: Gamma) -> Tensor:
    a, b = p.concentration1, p.concentration0
    log_mean = a.digamma() - (a + b).digamma()
    return _log_gamma_norm(q) - (q.concentration - 1) * log_mean + q.rate * p.mean - p.entropy()


@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
@register_kl(Gumbel, Normal)
@register_kl(Laplace, Normal)
@register_kl(Uniform, Normal)
def _kl_any_normal(p: Distribution, q: Normal) -> Tensor:
    return _against_normal(p.entropy(), p.mean, p.variance, q)


@register_kl(Beta, Uniform)
def _kl_beta_uniform(p: Beta, q: Uniform) -> Tensor:
    result = (q.high - q.low).log() - p.entropy()
    return _outside((q.low > 0) | (q.high < 1), result)


@register_kl(ContinuousBernoulli, Uniform)
def _kl_continuous_bernoulli_uniform(p: ContinuousBernoulli, q: Uniform) -> Tensor:
    # Infinite for the unit interval itself, too, as in PyTorch.
    result = (q.high - q.low).log() - p.entropy()
    return _outside((q.low >= 0) | (q.high <= 1), result)


@register_kl(Exponential, Gamma)
def _kl_exponential_gamma(p: Exponential, q: Gamma) -> Tensor:
    ratio, a = q.rate / p.rate, q.concentration
    euler = (a - 1) * euler_constant
    return ratio - a * ratio.log() + a.lgamma() + euler - 1


@register_kl(Exponential, Gumbel)
def _kl_exponential_gumbel(p: Exponential, q: Gumbel) -> Tensor:
    product, place = p.rate * q.scale, q.loc / q.scale
    tail = rl.exp(place) * product / (product + 1)
    return product.log() - 1 - place + tail + product.reciprocal()


@register_kl(Gamma, Gumbel)
def _kl_gamma_gumbel(p: Gamma, q: Gumbel) -> Tensor:
    product, place, a = p.rate * q.scale, q.loc / q.scale, p.concentration
    tail = rl.exp(place) * (1 + product.reciprocal()).pow(-a)
    own = (a - 1) * a.digamma() - a.lgamma() - a
    return own + product.log() + a / product + tail - place


@register_kl(Normal, Gumbel)
def _kl_normal_gumbel(p: Normal, q: Gumbel) -> Tensor:
    square, apart = (p.scale / q.scale).pow(2), (p.loc - q.loc) / q.scale
    tail = rl.exp(0.5 * square - apart)
    return apart + tail - 0.5 * square.log() - 0.5 * (1 + math.log(2 * math.pi))


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p: Normal, q: Laplace) -> Tensor:
    apart = p.loc - q.loc
    z = apart / p.scale
    distance = math.sqrt(2 / math.pi) * p.scale * rl.exp(-0.5 * z.pow(2))
    distance = distance + apart * rl.erf(math.sqrt(0.5) * z)
    norm = 0.5 * (1 + math.log(0.5 * math.pi))
    return distance / q.scale - (p.scale / q.scale).log() - norm


@register_kl(Pareto, Exponential)
def _kl_pareto_exponential(p: Pareto, q: Exponential) -> Tensor:
    product = p.scale * q.rate
    mean = p.alpha * product / (p.alpha - 1)
    result = (p.alpha / product).log() - p.alpha.reciprocal() + mean - 1
    return _outside(p.alpha <= 1, result)


@register_kl(Pareto, Gamma)
def _kl_pareto_gamma(p: Pareto, q: Gamma) -> Tensor:
    log_mean = p.scale.log() + p.alpha.reciprocal()
    mean = p.alpha * p.scale / (p.alpha - 1)
    own = p.alpha.log() - log_mean - 1
    result = own + _log_gamma_norm(q) + (1 - q.concentration) * log_mean + q.rate * mean
    return _outside(p.alpha <= 1, result)


@register_kl(Pareto, Normal)
def _kl_pareto_normal(p: Pareto, q: Normal) -> Tensor:
    a, step = p.alpha, p.scale / (p.alpha - 1)
    result = _against_normal(p.entropy(), a * step, a * step.pow(2) / (a - 2), q)
    return _outside(a <= 2, result)


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p: Uniform, q: Beta) -> Tensor:
    a, b, width = q.concentration1, q.concentration0, p.high - p.low
    log_mean = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    log_rest = (_x_log_x(1 - p.low) - _x_log_x(1 - p.high) - width) / width
    norm = a.lgamma() + b.lgamma() - (a + b).lgamma()
    result = norm - width.log() - (a - 1) * log_mean - (b - 1) * log_rest
    return _outside((p.high > 1) | (p.low < 0), result)


@register_kl(Uniform, ContinuousBernoulli)
def _kl_uniform_continuous_bernoulli(p: Uniform, q: ContinuousBernoulli) -> Tensor:
    # Infinite for the unit interval itself, too, as in PyTorch.
    norm = rl.log1p(-q.probs) + q._cont_bern_log_norm()
    return _outside((p.high >= 1) | (p.low <= 0), -p.entropy() - p.mean * q.logits - norm)


@register_kl(Uniform, Exponential)
def _kl_uniform_exponetial(p: Uniform, q: Exponential) -> Tensor:
    result = q.rate * p.mean - ((p.high - p.low) * q.rate).log()
    return _outside(p.low < 0, result)


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p: Uniform, q: Gamma) -> Tensor:
    width = p.high - p.low
    log_mean = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    own = (1 - q.concentration) * log_mean + q.rate * p.mean
    return _outside(p.low < 0, own + _log_gamma_norm(q) - width.log())


@register_kl(Uniform, Gumbel)
def _kl_uniform_gumbel(p: Uniform, q: Gumbel) -> Tensor:
    share = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    tail = share * (rl.exp(-high) - rl.exp(-low))
    return share.log() + 0.5 * (high + low) - tail


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p: Uniform, q: Pareto) -> Tensor:
    width = p.high - p.low
    log_mean = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    norm = (q.alpha * q.scale.pow(q.alpha) * width).log()
    return _outside(p.low < q.scale, log_mean * (q.alpha + 1) - norm)
