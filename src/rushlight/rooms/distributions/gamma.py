"""The gamma distribution."""

from __future__ import annotations

from typing import ClassVar

from rushlight import _root as rl
from rushlight import special
from rushlight._root import Tensor

from . import constraints
from .exp_family import ExponentialFamily
from .utils import Shape, broadcast_all

__all__ = ["Gamma"]


def _standard_gamma(concentration: Tensor) -> Tensor:
    return rl._standard_gamma(concentration)


class Gamma(ExponentialFamily):
    """The gamma distribution of shape `concentration` and inverse scale `rate`.

    >>> torch.distributions.Gamma(2.0, 4.0).mean
    tensor(0.5000)
    """

    concentration: Tensor
    rate: Tensor

    arg_constraints: ClassVar[constraints.ByName] = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = _standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=rl.finfo(value.dtype).tiny)  # no zeros
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        value = rl.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        self._checked(value)
        return (
            rl.xlogy(self.concentration, self.rate)
            + rl.xlogy(self.concentration - 1, value)
            - self.rate * value
            - rl.lgamma(self.concentration)
        )

    def cdf(self, value: Tensor) -> Tensor:
        return special.gammainc(self.concentration, self.rate * self._checked(value))

    def entropy(self) -> Tensor:
        return (
            self.concentration
            - rl.log(self.rate)
            + rl.lgamma(self.concentration)
            + (1.0 - self.concentration) * rl.digamma(self.concentration)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return rl.lgamma(x + 1) + (x + 1) * rl.log(-y.reciprocal())
