"""The negative binomial distribution."""

from __future__ import annotations

from typing import ClassVar

from rushlight import _root as rl
from rushlight._root import Tensor

from ..nn import functional as F
from . import constraints
from ._parameters import ByProbabilities
from .gamma import Gamma
from .utils import Shape, lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ByProbabilities):
    """The number of successes, each of probability `probs`, before `total_count` failures.

    >>> torch.distributions.NegativeBinomial(2.0, torch.tensor(0.5)).mean
    tensor(2.)
    """

    arg_constraints: ClassVar[constraints.ByName] = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: Tensor | float,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.total_count: Tensor = self._take_with(total_count, probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * rl.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / rl.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        return Gamma(self.total_count, rl.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with rl.no_grad():
            return rl.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        k, n = self._checked(value), self.total_count
        likely = n * F.logsigmoid(-self.logits) + k * F.logsigmoid(self.logits)
        ways = rl.lgamma(n + k) - rl.lgamma(1.0 + k) - rl.lgamma(n)
        return likely + ways.masked_fill(n + k == 0.0, 0.0)
