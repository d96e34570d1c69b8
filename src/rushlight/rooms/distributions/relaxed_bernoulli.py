"""The relaxed Bernoulli distribution."""

from __future__ import annotations

from typing import ClassVar, Self

from rushlight import _root as rl
from rushlight._root import Size, Tensor

from . import constraints
from ._parameters import ByProbabilities
from .transformed_distribution import OfBase, TransformedDistribution
from .transforms import SigmoidTransform
from .utils import Shape, broadcast_all, clamp_probs

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(ByProbabilities):
    """The log odds of relaxed Bernoulli numbers (Maddison et al. 2016).

    >>> D = torch.distributions.relaxed_bernoulli
    >>> D.LogitRelaxedBernoulli(torch.tensor(1.0), torch.tensor(0.5)).log_prob(torch.tensor(0.0))
    tensor(-1.3863)
    """

    arg_constraints: ClassVar[constraints.ByName] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.real

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._take(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def _expand_rest(self, new: Self, shape: Size) -> None:
        super()._expand_rest(new, shape)
        new.temperature = self.temperature

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(rl.rand(shape, dtype=probs.dtype, device=probs.device))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, self._checked(value))
        apart = logits - value * self.temperature
        return self.temperature.log() + apart - 2 * apart.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Numbers in (0, 1) that lie the nearer to 0 or 1 the lower the `temperature` is.

    >>> d = torch.distributions.RelaxedBernoulli(torch.tensor(1.0), torch.tensor(0.5))
    >>> d.log_prob(torch.tensor(0.5))
    tensor(0.)
    """

    arg_constraints: ClassVar[constraints.ByName] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    temperature: OfBase = OfBase("temperature", "The temperature.")
    logits: OfBase = OfBase("logits", "Log odds.")
    probs: OfBase = OfBase("probs", "Probabilities.")
