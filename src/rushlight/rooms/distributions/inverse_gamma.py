"""The inverse gamma distribution."""

from __future__ import annotations

import math
from typing import ClassVar

from rushlight._root import Tensor

from . import constraints
from .gamma import Gamma
from .transformed_distribution import OfBase, TransformedDistribution
from .transforms import PowerTransform

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """The reciprocals of gamma numbers of shape `concentration` and inverse scale `rate`.

    >>> torch.distributions.InverseGamma(3.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints: ClassVar[constraints.ByName] = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.positive
    has_rsample = True

    def __init__(
        self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None
    ) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        reciprocal = PowerTransform(-base.rate.new_ones(()))
        super().__init__(base, reciprocal, validate_args=validate_args)

    concentration: OfBase = OfBase("concentration", "The shape.")
    rate: OfBase = OfBase("rate", "The scale: the inverse scale of the gamma numbers.")

    @property
    def mean(self) -> Tensor:
        mean = self.rate / (self.concentration - 1)
        return mean.masked_fill(~(self.concentration > 1), math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        variance = self.rate.square() / ((a - 1).square() * (a - 2))
        return variance.masked_fill(~(a > 2), math.inf)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
