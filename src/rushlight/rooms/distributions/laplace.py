"""The Laplace distribution."""

from __future__ import annotations

import math
from typing import ClassVar

from rushlight import _root as rl
from rushlight._root import Tensor

from . import constraints
from .distribution import Distribution
from .utils import Shape, broadcast_all

__all__ = ["Laplace"]


class Laplace(Distribution):
    """The density exp(-|x - loc| / scale) / (2 scale).

    >>> torch.distributions.Laplace(0.0, 1.0).cdf(torch.tensor(0.0))
    tensor(0.5000)
    """

    loc: Tensor
    scale: Tensor

    arg_constraints: ClassVar[constraints.ByName] = {
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    mode = mean

    @property
    def stddev(self) -> Tensor:
        return math.sqrt(2) * self.scale

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        info = rl.finfo(self.loc.dtype)
        u = self.loc.new_empty(shape).uniform_(info.eps - 1, 1)
        return self.loc - self.scale * u.sign() * rl.log1p(-u.abs())

    def log_prob(self, value: Tensor) -> Tensor:
        distance = rl.abs(self._checked(value) - self.loc)
        return -rl.log(2 * self.scale) - distance / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        z = self._checked(value) - self.loc
        return 0.5 - 0.5 * z.sign() * rl.expm1(-z.abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * rl.log1p(-2 * term.abs())

    def entropy(self) -> Tensor:
        return 1 + rl.log(2 * self.scale)
