"""Distributions of the exponential family."""

from __future__ import annotations

from rushlight import _root as rl
from rushlight._root import Tensor

from .. import autograd
from .distribution import Distribution
from .utils import sum_rightmost

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Densities exp(t(x) . natural parameters - log normaliser + k(x)).

    A subclass gives `_natural_params`, `_log_normalizer` and `_mean_carrier_measure`; the entropy
    follows from the gradients of the log normaliser.

    >>> isinstance(torch.distributions.Normal(0.0, 1.0), torch.distributions.ExponentialFamily)
    True
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float | Tensor:
        raise NotImplementedError

    def _normalizer_and_gradients(
        self, create_graph: bool
    ) -> tuple[list[Tensor], Tensor, list[Tensor]]:
        parameters = [p.detach().requires_grad_() for p in self._natural_params]
        with rl.enable_grad():
            normalizer = self._log_normalizer(*parameters)
        gradients = autograd.grad(normalizer.sum(), parameters, create_graph=create_graph)
        return parameters, normalizer, list(gradients)

    def entropy(self) -> Tensor:
        parameters, normalizer, gradients = self._normalizer_and_gradients(True)
        carrier = self._mean_carrier_measure
        result = normalizer - carrier
        for parameter, gradient in zip(parameters, gradients, strict=True):
            term = parameter * gradient
            result = result - sum_rightmost(term.reshape((*self._batch_shape, -1)), 1)
        return result
