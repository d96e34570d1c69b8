"""The geometric distribution."""

from __future__ import annotations

from typing import ClassVar

from rushlight import _root as rl
from rushlight._root import Tensor

from ..nn import functional as F
from . import constraints
from ._parameters import ByProbabilities
from .utils import Shape, broadcast_all

__all__ = ["Geometric"]


class Geometric(ByProbabilities):
    """The number of failures before the first success.

    >>> torch.distributions.Geometric(0.25).mean
    tensor(3.)
    """

    arg_constraints: ClassVar[constraints.ByName] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._take(probs, logits)
        super().__init__(vars(self).pop("_param").size(), validate_args=validate_args)
        if self._validate_args and probs is not None and not bool((self.probs > 0).all()):
            value = self.probs.data[~(self.probs > 0)]
            raise ValueError(
                f"Expected parameter probs ({type(self.probs).__name__} of shape "
                f"{tuple(self.probs.shape)}) of distribution {self!r} to be positive but found "
                f"invalid values:\n{value}"
            )

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return rl.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with rl.no_grad():
            u = self.probs.new_empty(shape).uniform_(rl.finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        value, probs = broadcast_all(self._checked(value), self.probs)
        probs = probs.clone()
        probs[(probs == 1) & (value == 0)] = 0  # log1p(-1) times 0 is 0 here
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return (
            F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
            / self.probs
        )
