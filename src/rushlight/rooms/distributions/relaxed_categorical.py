"""The relaxed categorical distribution."""

from __future__ import annotations

import math
from typing import ClassVar, Self

from rushlight import _root as rl
from rushlight._root import Size, Tensor

from . import constraints
from ._categories import OfCategories
from .categorical import Categorical
from .transformed_distribution import OfBase, TransformedDistribution
from .transforms import ExpTransform
from .utils import Shape, broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OfCategories):
    """The logarithms of relaxed unit vectors (Maddison et al. 2016).

    >>> D = torch.distributions.relaxed_categorical
    >>> D.ExpRelaxedCategorical(torch.tensor(1.0), torch.tensor([0.5, 0.5])).event_shape
    torch.Size([2])
    """

    arg_constraints: ClassVar[constraints.ByName] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(*self._vector_shapes(), validate_args=validate_args)

    def _expand_rest(self, new: Self, shape: Size) -> None:
        super()._expand_rest(new, shape)
        new.temperature = self.temperature

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        u = rl.rand(
            self._extended_shape(sample_shape), dtype=self.logits.dtype, device=self.logits.device
        )
        scores = (self.logits - (-clamp_probs(u).log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        k = self._categorical._num_events
        logits, value = broadcast_all(self.logits, self._checked(value))
        score = logits - value * self.temperature
        score = (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1)
        return score + math.lgamma(k) + (k - 1) * self.temperature.log()


class RelaxedOneHotCategorical(TransformedDistribution):
    """Probabilities that lie the nearer to unit vectors the lower the `temperature` is.

    >>> d = torch.distributions.RelaxedOneHotCategorical(
    ...     torch.tensor(1.0), torch.tensor([0.5, 0.5])
    ... )
    >>> d.log_prob(torch.tensor([0.5, 0.5]))
    tensor(0.)
    """

    arg_constraints: ClassVar[constraints.ByName] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    support = constraints.simplex
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    temperature: OfBase = OfBase("temperature", "The temperature.")
    logits: OfBase = OfBase("logits", "Log probabilities over the last dimension.")
    probs: OfBase = OfBase("probs", "Probabilities over the last dimension.")
