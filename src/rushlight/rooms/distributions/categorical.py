"""The categorical distribution."""

from __future__ import annotations

import math
from typing import ClassVar, Self

from rushlight import _root as rl
from rushlight._root import Size, Tensor

from . import constraints
from ._parameters import ByProbabilities
from .utils import Shape

__all__ = ["Categorical"]


class Categorical(ByProbabilities):
    """Indices 0 to K - 1 with the probabilities along the last dimension.

    >>> torch.distributions.Categorical(torch.tensor([1.0, 3.0])).probs
    tensor([0.2500, 0.7500])
    """

    arg_constraints: ClassVar[constraints.ByName] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    has_enumerate_support = True
    _binary = False

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._take(probs, logits)
        self._num_events = self._param.size()[-1]
        super().__init__(self._param.size()[:-1], validate_args=validate_args)

    def _expand_rest(self, new: Self, shape: Size) -> None:
        super()._expand_rest(new, shape)
        new._num_events = self._num_events

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        return rl.full(
            self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device
        )

    variance = mean

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        probs = self.probs.reshape((-1, self._num_events))
        drawn = rl.multinomial(probs, Size(sample_shape).numel(), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        index = self._checked(value).long().unsqueeze(-1)
        index, logits = rl.broadcast_tensors(index, self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = rl.clamp(self.logits, min=rl.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(rl.arange(self._num_events, device=self._param.device), expand)
