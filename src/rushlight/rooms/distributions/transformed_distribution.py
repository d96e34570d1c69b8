"""The distribution of a function of a random value."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from rushlight import _root as rl
from rushlight._root import Size, Tensor

from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import Shape, sum_rightmost

__all__ = ["TransformedDistribution"]


class OfBase(property):
    """A property that is the base distribution's."""

    def __init__(self, name: str, doc: str | None = None) -> None:
        super().__init__(attrgetter(f"base_dist.{name}"), doc=doc)

    if TYPE_CHECKING:

        def __get__(  # type: ignore[override]
            self, made: object, owner: type | None = None, /
        ) -> Tensor: ...


class TransformedDistribution(Distribution):
    """The distribution of t(x), for x of another distribution and one transform or several.

    >>> D = torch.distributions
    >>> d = D.TransformedDistribution(D.Normal(0.0, 1.0), [D.ExpTransform()])
    >>> d.log_prob(torch.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints: ClassVar[constraints.ByName] = {}
    base_dist: Any

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | list[Transform],
        validate_args: bool | None = None,
    ) -> None:
        if isinstance(transforms, Transform):
            transforms = [transforms]
        elif not isinstance(transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        elif not all(isinstance(t, Transform) for t in transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        self.transforms = transforms
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        base_event_dim = len(base_distribution.event_shape)
        transform = ComposeTransform(self.transforms)
        if len(base_shape) < transform.domain.event_dim:
            raise ValueError(
                "base_distribution needs to have shape with size at least "
                f"{transform.domain.event_dim}, but got {base_shape}."
            )
        forward = transform.forward_shape(base_shape)
        expanded = Size(transform.inverse_shape(forward))
        if base_shape != expanded:
            batch = expanded[: len(expanded) - base_event_dim]
            base_distribution = base_distribution.expand(batch)
        more = transform.domain.event_dim - base_event_dim
        self.base_dist = Independent(base_distribution, more) if more > 0 else base_distribution
        event_dim = transform.codomain.event_dim + max(-more, 0)
        cut = len(forward) - event_dim
        super().__init__(forward[:cut], forward[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(self._expands_as(), _instance)
        new.transforms = self.transforms
        shape: Shape = Size((*batch_shape, *self.event_shape))
        for t in reversed(self.transforms):
            shape = t.inverse_shape(shape)
        base_batch = shape[: len(shape) - len(self.base_dist.event_shape)]
        new.base_dist = self.base_dist.expand(base_batch)
        self._expand_parameters(new, Size(batch_shape))
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> constraints.Constraint:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self.event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    def _through(self, x: Tensor) -> Tensor:
        for t in self.transforms:
            x = t(x)
        return x

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with rl.no_grad():
            return self._through(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self._through(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        y = self._checked(value)
        event_dim = len(self.event_shape)
        total: Any = 0.0
        for t in reversed(self.transforms):
            x = t.inv(y)
            event_dim += t.domain.event_dim - t.codomain.event_dim
            jacobian = t.log_abs_det_jacobian(x, y)
            total = total - sum_rightmost(jacobian, event_dim - t.domain.event_dim)
            y = x
        rest = event_dim - len(self.base_dist.event_shape)
        return total + sum_rightmost(self.base_dist.log_prob(y), rest)

    def _rising(self, value: Tensor) -> Tensor:
        """cdf values where the transforms rise, 1 - them where they fall."""
        sign: Any = 1
        for t in self.transforms:
            sign = sign * t.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for t in self.transforms[::-1]:
            value = t.inv(value)
        return self._rising(self.base_dist.cdf(self._checked_base(value)))

    def _checked_base(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return value

    def icdf(self, value: Tensor) -> Tensor:
        return self._through(self.base_dist.icdf(self._rising(value)))
