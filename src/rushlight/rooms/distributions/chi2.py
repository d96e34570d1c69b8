"""The chi-squared distribution."""

from __future__ import annotations

from typing import ClassVar, Self

from rushlight._root import Size, Tensor

from . import constraints
from .gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The sum of the squares of `df` standard normal numbers.

    >>> torch.distributions.Chi2(3.0).mean
    tensor(3.)
    """

    arg_constraints: ClassVar[constraints.ByName] = {"df": constraints.positive}

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.concentration * 2

    def _expand_rest(self, new: Self, shape: Size) -> None:
        new.concentration = self.concentration.expand(shape)
        new.rate = self.rate.expand(shape)
