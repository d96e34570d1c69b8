"""The multinomial distribution."""

from __future__ import annotations

import math
from typing import ClassVar, Self

from rushlight import _root as rl
from rushlight._root import Size, Tensor

from . import constraints
from ._categories import OfCategories
from .binomial import Binomial
from .categorical import Categorical
from .utils import Shape, broadcast_all

__all__ = ["Multinomial"]


class Multinomial(OfCategories):
    """How often each category comes in `total_count` draws.

    >>> d = torch.distributions.Multinomial(2, torch.tensor([0.5, 0.5]))
    >>> d.log_prob(torch.tensor([1.0, 1.0])).exp()
    tensor(0.5000)
    """

    arg_constraints: ClassVar[constraints.ByName] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(*self._vector_shapes(), validate_args=validate_args)

    def _expand_rest(self, new: Self, shape: Size) -> None:
        super()._expand_rest(new, shape)
        new.total_count = self.total_count
        new._binomial = self._binomial.expand(new._categorical.param_shape)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> constraints.Constraint:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add_(-1, drawn, rl.ones_like(drawn)).type_as(self.probs)

    def entropy(self) -> Tensor:
        n = self.total_count
        counts = self._binomial.enumerate_support(expand=False)[1:]
        weights = rl.exp(self._binomial.log_prob(counts)) * rl.lgamma(counts + 1)
        own = n * self._categorical.entropy() - math.lgamma(n + 1)
        return own + weights.sum([0, -1])

    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, self._checked(value))
        ways = rl.lgamma(value.sum(-1) + 1) - rl.lgamma(value + 1).sum(-1)
        impossible = (value == 0) & (logits == -math.inf)  # which 0 draws do not need
        return ways + (logits.masked_fill(impossible, 0.0) * value).sum(-1)
