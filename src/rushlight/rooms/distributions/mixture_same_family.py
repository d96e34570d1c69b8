"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import ClassVar, Self

from rushlight import _root as rl
from rushlight._root import Size, Tensor

from . import constraints
from .categorical import Categorical
from .constraints import MixtureSameFamilyConstraint
from .distribution import Distribution
from .utils import Shape

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """One of the components along the last batch dimension, chosen by a categorical distribution.

    >>> D = torch.distributions
    >>> ways = D.Categorical(torch.tensor([0.5, 0.5]))
    >>> D.MixtureSameFamily(ways, D.Normal(torch.tensor([-1.0, 3.0]), 1.0)).mean
    tensor(1.)
    """

    arg_constraints: ClassVar[constraints.ByName] = {}
    has_rsample = False

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of "
                "torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of "
                "torch.distributions.Distribution"
            )
        of_mixture = mixture_distribution.batch_shape
        batch = component_distribution.batch_shape[:-1]
        for a, b in zip(reversed(of_mixture), reversed(batch), strict=False):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({of_mixture}) is not compatible with "
                    f"`component_distribution.batch_shape`({batch})"
                )
        count = mixture_distribution.logits.shape[-1]
        components = component_distribution.batch_shape[-1]
        if count != components:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({components})"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = count
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(batch, event_shape, validate_args=validate_args)

    def _expand_rest(self, new: Self, shape: Size) -> None:
        components = (*shape, self._num_component)
        new._component_distribution = self._component_distribution.expand(components)
        new._mixture_distribution = self._mixture_distribution.expand(shape)
        new._num_component = self._num_component
        new._event_ndims = self._event_ndims

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution over the components."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components, along the last batch dimension."""
        return self._component_distribution

    @property
    def mean(self) -> Tensor:
        return self._averaged(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        apart = (self.component_distribution.mean - self._pad(self.mean)).pow(2.0)
        return self._averaged(self.component_distribution.variance) + self._averaged(apart)

    def cdf(self, x: Tensor) -> Tensor:
        each = self.component_distribution.cdf(self._pad(x))
        return (each * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        each = self.component_distribution.log_prob(self._pad(self._checked(x)))
        weights = rl.log_softmax(self.mixture_distribution.logits, dim=-1)
        return rl.logsumexp(each + weights, dim=-1)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with rl.no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            values = self.component_distribution.sample(sample_shape)
            index = chosen.reshape((*chosen.shape, *(1,) * (self._event_ndims + 1)))
            index = index.expand((*chosen.shape, 1, *self.event_shape))
            return values.gather(dim, index).squeeze(dim)

    def _pad(self, value: Tensor) -> Tensor:
        return value.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x: Tensor) -> Tensor:
        of_mixture = len(self.mixture_distribution.batch_shape)
        more = 0 if of_mixture == 1 else len(self.batch_shape) - of_mixture
        ones = (1,) * more
        return x.reshape((*x.shape[:-1], *ones, *x.shape[-1:], *(1,) * self._event_ndims))

    def _averaged(self, values: Tensor) -> Tensor:
        """The mean over the components."""
        probs = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        return (probs * values).sum(-1 - self._event_ndims)

    def __repr__(self) -> str:
        inner = f"\n  {self.mixture_distribution},\n  {self.component_distribution}"
        return f"MixtureSameFamily({inner})"
