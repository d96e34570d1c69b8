"""The F distribution."""

from __future__ import annotations

import math
from typing import ClassVar, Self

from rushlight import _root as rl
from rushlight._root import Size, Tensor

from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .utils import Shape, broadcast_all

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The ratio of two mean squares of df1 and df2 standard normal numbers.

    >>> torch.distributions.FisherSnedecor(1.0, 4.0).mean
    tensor(2.)
    """

    df1: Tensor
    df2: Tensor

    arg_constraints: ClassVar[constraints.ByName] = {
        "df1": constraints.positive,
        "df2": constraints.positive,
    }
    support = constraints.positive
    has_rsample = True

    def __init__(
        self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    def _expand_rest(self, new: Self, shape: Size) -> None:
        new._gamma1, new._gamma2 = self._gamma1.expand(shape), self._gamma2.expand(shape)

    @property
    def mean(self) -> Tensor:
        df2 = self.df2.masked_fill(self.df2 <= 2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Tensor:
        df2 = self.df2.masked_fill(self.df2 <= 4, math.nan)
        spread = self.df1 * (df2 - 2).pow(2) * (df2 - 4)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / spread

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        tiny = rl.finfo(self.df1.dtype).tiny
        above = self._gamma1.rsample(sample_shape)
        below = self._gamma2.rsample(sample_shape).clamp(min=tiny)
        return (above / below).clamp(min=tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        beta = a.lgamma() + b.lgamma() - (a + b).lgamma()
        density = a * ratio.log() + (a - 1) * value.log() - (a + b) * rl.log1p(ratio * value)
        return density - beta
