"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from typing import ClassVar

from rushlight import _root as rl
from rushlight._root import Tensor

from . import constraints
from .distribution import Distribution
from .utils import Shape, broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The excesses over `loc`; the tail is a power for concentrations above 0, exponential at 0,
    and ends for those below.

    >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.5).cdf(torch.tensor(2.0))
    tensor(0.7500)
    """

    concentration: Tensor
    loc: Tensor
    scale: Tensor

    arg_constraints: ClassVar[constraints.ByName] = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _tail(self) -> tuple[Tensor, Tensor]:
        """Where the concentration is 0, and the concentration with 1 there."""
        zero = rl.isclose(self.concentration, rl.zeros_like(self.concentration))
        return zero, self.concentration.masked_fill(zero, 1.0)

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.icdf(
            rl.rand(
                self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device
            )
        )

    def log_prob(self, value: Tensor) -> Tensor:
        z = self._z(self._checked(value))
        zero, c = self._tail()
        power = 1 / c + rl.ones_like(z)
        fall = rl.where(power == 0, power, power * rl.log1p(c * z))
        return -self.scale.log() - rl.where(zero, z, fall)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of values above `value`."""
        z = self._z(self._checked(value))
        zero, c = self._tail()
        return rl.where(zero, -z, -rl.log1p(c * z) / c)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of `cdf`."""
        return rl.log1p(-rl.exp(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        return rl.exp(self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        zero, c = self._tail()
        log_rest = rl.log1p(-value)
        risen = self.scale / c * rl.expm1(-c * log_rest)
        return self.loc + rl.where(zero, -self.scale * log_rest, risen)

    @property
    def mean(self) -> Tensor:
        exists = self.concentration < 1
        c = self.concentration.masked_fill(~exists, 0.5)
        return (self.loc + self.scale / (1 - c)).masked_fill(~exists, math.nan)

    @property
    def variance(self) -> Tensor:
        exists = self.concentration < 0.5
        c = self.concentration.masked_fill(~exists, 0.25)
        variance = self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c))
        return variance.masked_fill(~exists, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    def entropy(self) -> Tensor:
        return (self.scale.log() + self.concentration + 1).expand(self._batch_shape)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        end = self.loc - self.scale / self.concentration
        return constraints.interval(
            self.loc, rl.where(self.concentration < 0, end, end.new_tensor(math.inf))
        )
