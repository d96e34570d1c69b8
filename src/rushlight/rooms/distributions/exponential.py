"""The exponential distribution."""

from __future__ import annotations

from typing import ClassVar

from rushlight import _root as rl
from rushlight._root import Tensor

from . import constraints
from .exp_family import ExponentialFamily
from .utils import Shape, broadcast_all

__all__ = ["Exponential"]


class Exponential(ExponentialFamily):
    """The density rate exp(-rate x) for x >= 0.

    >>> torch.distributions.Exponential(2.0).mean
    tensor(0.5000)
    """

    rate: Tensor

    arg_constraints: ClassVar[constraints.ByName] = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate.reciprocal()

    stddev = mean

    @property
    def mode(self) -> Tensor:
        return rl.zeros_like(self.rate)

    @property
    def variance(self) -> Tensor:
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.rate.new_empty(self._extended_shape(sample_shape)).exponential_() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        return self.rate.log() - self.rate * self._checked(value)

    def cdf(self, value: Tensor) -> Tensor:
        return 1 - rl.exp(-self.rate * self._checked(value))

    def icdf(self, value: Tensor) -> Tensor:
        return -rl.log1p(-value) / self.rate

    def entropy(self) -> Tensor:
        return 1 - rl.log(self.rate)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (-self.rate,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return -rl.log(-x)
