"""Distributions over vectors that are given by a categorical distribution."""

from __future__ import annotations

from typing import Self

from rushlight._root import Size, Tensor

from .categorical import Categorical
from .distribution import Distribution

__all__ = ["OfCategories"]


class OfCategories(Distribution):
    """Has the probabilities of `_categorical`; its values are vectors over the categories."""

    _categorical: Categorical

    def _vector_shapes(self) -> tuple[Size, Size]:
        return self._categorical.batch_shape, self._categorical.param_shape[-1:]

    def _expand_rest(self, new: Self, shape: Size) -> None:
        new._categorical = self._categorical.expand(shape)

    def _new(self, *args: object, **kwargs: object) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        """Probabilities over the last dimension."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Log probabilities over the last dimension."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        """The shape of `probs` and `logits`."""
        return self._categorical.param_shape
