"""Kullback-Leibler divergences between distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

from rushlight import _root as rl
from rushlight._root import Tensor

from ..nn import functional as F
from .bernoulli import Bernoulli
from .categorical import Categorical
from .distribution import Distribution
from .gamma import Gamma
from .independent import Independent
from .normal import Normal
from .uniform import Uniform
from .utils import sum_rightmost

__all__ = ["kl_divergence", "register_kl"]

_Rule = TypeVar("_Rule", bound=Callable[..., Tensor])
_KL_REGISTRY: dict[tuple[type, type], Callable[..., Tensor]] = {}


def register_kl(type_p: Any, type_q: Any) -> Callable[[_Rule], _Rule]:
    """A decorator that enters a function of p and q as their divergence."""
    for name, found in (("type_p", type_p), ("type_q", type_q)):
        if not (isinstance(found, type) and issubclass(found, Distribution)):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {found}")

    def enter(rule: _Rule) -> _Rule:
        _KL_REGISTRY[type_p, type_q] = rule
        return rule

    return enter


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The divergence of q from p, of their batch shape.

    >>> D = torch.distributions
    >>> D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 1.0))
    tensor(0.5000)
    """
    a, b = type(p).__mro__, type(q).__mro__
    known = [k for k in _KL_REGISTRY if k[0] in a and k[1] in b]
    if not known:
        raise NotImplementedError(
            "No KL(p || q) is implemented for p type "
            f"{type(p).__name__} and q type {type(q).__name__}"
        )
    return _KL_REGISTRY[min(known, key=lambda k: (a.index(k[0]), b.index(k[1])))](p, q)


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    one = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
    return one + (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    t = p.probs * (p.logits - q.logits)
    t = rl.where((q.probs == 0).expand_as(t), t.new_tensor(math.inf), t)
    return rl.where((p.probs == 0).expand_as(t), t.new_zeros(()), t).sum(-1)


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return rl.where((q.low > p.low) | (q.high < p.high), result.new_tensor(math.inf), result)


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    return (
        b * (p.rate / q.rate).log()
        + rl.lgamma(b)
        - rl.lgamma(a)
        + (a - b) * rl.digamma(a)
        + (q.rate - p.rate) * (a / p.rate)
    )


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
