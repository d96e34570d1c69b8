"""The Bernoulli distribution."""

from __future__ import annotations

import math
from typing import ClassVar

from rushlight import _root as rl
from rushlight._root import Tensor

from ..nn import functional as F
from . import constraints
from ._parameters import ByProbabilities
from .exp_family import ExponentialFamily
from .utils import Shape, broadcast_all

__all__ = ["Bernoulli"]


class Bernoulli(ByProbabilities, ExponentialFamily):
    """1 with probability `probs`, else 0; `logits` are the log odds.

    >>> torch.distributions.Bernoulli(probs=0.25).log_prob(torch.tensor(0.0)).exp()
    tensor(0.7500)
    """

    arg_constraints: ClassVar[constraints.ByName] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._take(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = math.nan
        return mode

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with rl.no_grad():
            return rl.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, self._checked(value))
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(
            rl.arange(2, dtype=self._param.dtype, device=self._param.device), expand
        )

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (rl.logit(self.probs),)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return rl.log1p(rl.exp(x))
