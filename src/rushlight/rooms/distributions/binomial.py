"""The binomial distribution."""

from __future__ import annotations

from typing import ClassVar

from rushlight import _root as rl
from rushlight._root import Tensor

from ..nn import functional as F
from . import constraints
from ._parameters import ByProbabilities
from .utils import Shape

__all__ = ["Binomial"]


class Binomial(ByProbabilities):
    """The number of successes in `total_count` trials, each of probability `probs`.

    >>> torch.distributions.Binomial(4, torch.tensor(0.5)).log_prob(torch.tensor(2.0)).exp()
    tensor(0.3750)
    """

    arg_constraints: ClassVar[constraints.ByName] = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(
        self,
        total_count: Tensor | int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.total_count: Tensor = self._take_with(total_count, probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        most = ((self.total_count + 1) * self.probs).floor()
        return rl.minimum(most, self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with rl.no_grad():
            return rl.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        k, n = self._checked(value), self.total_count
        ways = rl.lgamma(n + 1) - rl.lgamma(k + 1) - rl.lgamma(n - k + 1)
        return k * self.logits + n * F.logsigmoid(-self.logits) + ways

    def _one_count(self, method: str) -> int:
        count = int(self.total_count.max())
        if not bool(self.total_count.min() == count):
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{method}`.")
        return count

    def entropy(self) -> Tensor:
        self._one_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._one_count("enumerate_support")
        return self._enumerated(
            rl.arange(1 + count, dtype=self._param.dtype, device=self._param.device), expand
        )
