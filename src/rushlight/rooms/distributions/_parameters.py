"""Distributions that are given by `probs` or by `logits`."""

from __future__ import annotations

from typing import Any, Self

from rushlight._root import Size, Tensor

from .distribution import Distribution
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["ByProbabilities"]


class ByProbabilities(Distribution):
    """Has `probs` or `logits`, and makes the other from it.

    `_binary`: the logits are log odds; else log probabilities over the last dimension.
    """

    _binary: bool = True

    def _take(self, probs: Any, logits: Any) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        name, given = ("probs", probs) if logits is None else ("logits", logits)
        if self._binary:
            (given,) = broadcast_all(given)
        else:
            if given.dim() < 1:
                raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
            if name == "probs":
                given = given / given.sum(-1, keepdim=True)
            else:
                given = given - given.logsumexp(dim=-1, keepdim=True)
        setattr(self, name, given)
        self._param = given

    def _take_with(self, count: Any, probs: object, logits: object) -> Tensor:
        """The same with a count, broadcast together; gives the count."""
        if (probs is None) != (logits is None):
            given = probs if logits is None else logits
            count, given = broadcast_all(count, given)
            probs, logits = (given, None) if logits is None else (None, given)
        self._take(probs, logits)
        return count.type_as(self._param)

    @lazy_property
    def logits(self) -> Tensor:
        """Log odds, or log probabilities over the last dimension."""
        return probs_to_logits(self.probs, self._binary)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities."""
        return logits_to_probs(self.logits, self._binary)

    @property
    def param_shape(self) -> Size:
        """The shape of `probs` and `logits`."""
        return self._param.size()

    def _new(self, *args: object, **kwargs: object) -> Tensor:
        return self._param.new(*args, **kwargs)

    def _expand_rest(self, new: Self, shape: Size) -> None:
        new._param = new.__dict__["probs" if "probs" in self.__dict__ else "logits"]
