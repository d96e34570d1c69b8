"""Student's t distribution."""

from __future__ import annotations

import math
from typing import ClassVar, Self

from rushlight import _root as rl
from rushlight._root import Size, Tensor

from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import Shape, _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Standard normal numbers over the root of a mean of `df` squares of others; scaled, moved.

    >>> torch.distributions.StudentT(4.0).variance
    tensor(2.)
    """

    df: Tensor
    loc: Tensor
    scale: Tensor

    arg_constraints: ClassVar[constraints.ByName] = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    def __init__(
        self,
        df: Tensor | float,
        loc: Tensor | float = 0.0,
        scale: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.shape, validate_args=validate_args)

    def _expand_rest(self, new: Self, shape: Size) -> None:
        new._chi2 = self._chi2.expand(shape)

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        finite = self.df > 2
        df = self.df.masked_fill(~finite, 3.0)  # so that no gradient is NaN
        variance = (self.scale.pow(2) * df / (df - 2)).masked_fill(~finite, math.inf)
        return variance.masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        normal = _standard_normal(self._extended_shape(sample_shape), self.df.dtype, self.df.device)
        squares = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (normal * rl.rsqrt(squares / self.df))

    def _log_beta(self) -> Tensor:
        """log B(1 / 2, df / 2)."""
        half = rl.lgamma(0.5 * self.df) - rl.lgamma(0.5 * (self.df + 1.0))
        return half + 0.5 * math.log(math.pi)

    def log_prob(self, value: Tensor) -> Tensor:
        y = (self._checked(value) - self.loc) / self.scale
        norm = self.scale.log() + 0.5 * self.df.log() + self._log_beta()
        return -0.5 * (self.df + 1.0) * rl.log1p(y**2.0 / self.df) - norm

    def entropy(self) -> Tensor:
        above = 0.5 * (self.df + 1)
        spread = above * (rl.digamma(above) - rl.digamma(0.5 * self.df))
        return self.scale.log() + spread + 0.5 * self.df.log() + self._log_beta()
