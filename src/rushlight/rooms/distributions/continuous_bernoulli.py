"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import ClassVar, Self

from rushlight import _root as rl
from rushlight._root import Size, Tensor

from ..nn import functional as F
from . import constraints
from ._parameters import ByProbabilities
from .exp_family import ExponentialFamily
from .utils import Shape, broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ByProbabilities, ExponentialFamily):
    """The density C probs^x (1 - probs)^(1 - x) on [0, 1].

    Between the two numbers `lims`, where the closed forms cancel, Taylor series around 1/2 take
    their place.

    >>> torch.distributions.ContinuousBernoulli(torch.tensor(0.5)).mean
    tensor(0.5000)
    """

    arg_constraints: ClassVar[constraints.ByName] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._take(probs, logits)
        if probs is not None:
            inside = self.arg_constraints["probs"].check(self.probs)
            if validate_args is not None and not bool(inside.all()):
                raise ValueError("The parameter probs has invalid values")
            self.probs = self._param = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(self._param.size(), validate_args=validate_args)

    def _expand_rest(self, new: Self, shape: Size) -> None:
        super()._expand_rest(new, shape)
        new._lims = self._lims

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities, kept off 0 and 1."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside_unstable_region(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        """`probs` where the closed forms hold, elsewhere the lower limit."""
        low = self._lims[0] * rl.ones_like(self.probs)
        return rl.where(self._outside_unstable_region(), self.probs, low)

    def _choice(self, closed: Tensor, series: Tensor) -> Tensor:
        return rl.where(self._outside_unstable_region(), closed, series)

    def _cont_bern_log_norm(self) -> Tensor:
        """log C."""
        p = self._cut_probs()
        odds = rl.log1p(-p) - rl.log(p)
        norm = odds.abs().log() - rl.log1p(-2.0 * rl.minimum(p, 1.0 - p))
        x = (self.probs - 0.5).pow(2)
        return self._choice(norm, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Tensor:
        p = self._cut_probs()
        mean = p / (2.0 * p - 1.0) + 1.0 / (rl.log1p(-p) - rl.log(p))
        x = self.probs - 0.5
        return self._choice(mean, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def variance(self) -> Tensor:
        p = self._cut_probs()
        spread = p * (p - 1.0) / (1.0 - 2.0 * p).pow(2)
        variance = spread + 1.0 / (rl.log1p(-p) - rl.log(p)).pow(2)
        x = (self.probs - 0.5).pow(2)
        return self._choice(variance, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.icdf(
            rl.rand(
                self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device
            )
        )

    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, self._checked(value))
        loss = F.binary_cross_entropy_with_logits(logits, value, reduction="none")
        return self._cont_bern_log_norm() - loss

    def cdf(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        p = self._cut_probs()
        risen = p.pow(value) * (1.0 - p).pow(1.0 - value) + p - 1.0
        return self._choice(risen / (2.0 * p - 1.0), value).where(
            (value > 0.0) & (value < 1.0), (value >= 1.0).to(value.dtype)
        )

    def icdf(self, value: Tensor) -> Tensor:
        p = self._cut_probs()
        risen = rl.log1p(-p + value * (2.0 * p - 1.0)) - rl.log1p(-p)
        return self._choice(risen / (rl.log(p) - rl.log1p(-p)), value)

    def entropy(self) -> Tensor:
        log_miss = rl.log1p(-self.probs)
        return self.mean * (log_miss - self.probs.log()) - self._cont_bern_log_norm() - log_miss

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = rl.where(outside, x, (self._lims[0] - 0.5) * rl.ones_like(x))
        norm = rl.expm1(cut).abs().log() - cut.abs().log()
        return rl.where(outside, norm, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)
