"""The Weibull distribution."""

from __future__ import annotations

from typing import ClassVar, Self

from rushlight import _root as rl
from rushlight._root import Size, Tensor

from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """The distribution function 1 - exp(-(x / scale)^concentration) for x >= 0.

    >>> torch.distributions.Weibull(2.0, 1.0).mean
    tensor(2.)
    """

    concentration: Tensor
    scale: Tensor

    arg_constraints: ClassVar[constraints.ByName] = {
        "scale": constraints.positive,
        "concentration": constraints.positive,
    }
    support = constraints.positive

    def __init__(
        self,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal: Tensor = self.concentration.reciprocal()
        base = Exponential(rl.ones_like(self.scale), validate_args=validate_args)
        super().__init__(
            base,
            [
                PowerTransform(exponent=self.concentration_reciprocal),
                AffineTransform(loc=0, scale=self.scale),
            ],
            validate_args=validate_args,
        )

    def _expand_rest(self, new: Self, shape: Size) -> None:
        new.concentration_reciprocal = self.concentration_reciprocal.expand(shape)

    def _moment(self, n: int) -> Tensor:
        """The mean of (x / scale)^n."""
        return rl.exp(rl.lgamma(1 + n * self.concentration_reciprocal))

    @property
    def mean(self) -> Tensor:
        return self.scale * self._moment(1)

    @property
    def mode(self) -> Tensor:
        below = (self.concentration - 1) / self.concentration
        return self.scale * below**self.concentration_reciprocal

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (self._moment(2) - self._moment(1).pow(2))

    def entropy(self) -> Tensor:
        inverse = self.concentration_reciprocal
        return euler_constant * (1 - inverse) + rl.log(self.scale * inverse) + 1
