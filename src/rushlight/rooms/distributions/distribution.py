"""The base class of all distributions."""

from __future__ import annotations

from typing import Any, ClassVar, Self, TypeVar

from rushlight import _root as rl
from rushlight._root import Size, Tensor

from .._base.errors import taking_pytorchs, warn
from ..ops.table.arrays import anywhere
from . import constraints
from .constraints import Constraint
from .utils import Shape, lazy_property

__all__ = ["Distribution"]

_Self = TypeVar("_Self", bound="Distribution")


_OWN = ("rushlight.distributions.", "torch.distributions.")


class Distribution:
    """A distribution over values of shape `event_shape`, one for each index of `batch_shape`.

    >>> d = torch.distributions.Normal(torch.zeros(3), 1.0)
    >>> d.batch_shape, d.event_shape, d.sample((2,)).shape
    (torch.Size([3]), torch.Size([]), torch.Size([2, 3]))
    """

    has_rsample: bool = False
    has_enumerate_support: bool = False
    _validate_args: bool = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Turn the checks of arguments on or off for all distributions."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None
    ) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        try:
            known = self.arg_constraints
        except NotImplementedError:
            known = {}
            warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = "
                "{}` or initialize the distribution with `validate_args=False` to turn off "
                "validation."
            )
        for name, constraint in known.items():
            if constraints.is_dependent(constraint):
                continue
            value = self.__dict__.get(name)
            if value is None:
                if isinstance(getattr(type(self), name, None), lazy_property):
                    continue
                value = getattr(self, name)
            if anywhere(~constraint.check(value)):  # of any element under vmap
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) of distribution {self!r} to satisfy the constraint "
                    f"{constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self: _Self, batch_shape: Any, _instance: Any = None) -> _Self:
        """The distribution with its parameters expanded to `batch_shape`."""
        new: Any = self._get_checked_instance(self._expands_as(), _instance)
        shape = Size(batch_shape)
        self._expand_parameters(new, shape)
        Distribution.__init__(new, shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _expands_as(self) -> type[Distribution]:
        """The class of this package that this one is or extends."""
        return next(c for c in type(self).__mro__ if c.__module__.startswith(_OWN))

    def _expand_parameters(self, new: Self, shape: Size) -> None:
        # Those of this package's class: a subclass may have other parameters, and others' names.
        known: Any = self._expands_as().arg_constraints
        if isinstance(known, property):
            assert known.fget is not None
            known = known.fget(self)
        for name in known:
            value = self.__dict__.get(name)
            if isinstance(value, Tensor):
                kept = value.dim() - known[name].event_dim
                setattr(new, name, value.expand((*shape, *value.shape[kept:])))
        self._expand_rest(new, shape)

    def _expand_rest(self, new: Self, shape: Size) -> None:
        """Expand what a distribution has besides its parameters."""

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one value."""
        return self._event_shape

    arg_constraints: ClassVar[Any] = property(
        lambda self: self._missing(), doc="The constraint of each parameter, by name."
    )
    support: Any = property(lambda self: self._missing(), doc="The constraint that values satisfy.")

    def _missing(self) -> object:
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The value of the highest density."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Values of shape `sample_shape + batch_shape + event_shape`, without a gradient."""
        with rl.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Values whose gradients go to the parameters; where `has_rsample`."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """`sample((n,))`, PyTorch's older name."""
        warn("sample_n(n) will be deprecated. Use .sample((n,)) instead.", FutureWarning)
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density or probability at `value`."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to `value`."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of `cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values along a new first dimension; of the whole batch shape if `expand`."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy, of shape `batch_shape`."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """exp(entropy)."""
        return rl.exp(self.entropy())

    def _enumerated(self, values: Tensor, expand: bool) -> Tensor:
        """Values of one dimension, along a new first dimension before the batch."""
        values = values.view((-1, *(1,) * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values

    def _extended_shape(self, sample_shape: Shape = ()) -> Size:
        """The shape of a sample."""
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: object) -> None:
        """Refuse what `log_prob`, `cdf` and `icdf` cannot take."""
        if not isinstance(value, Tensor):
            raise ValueError(
                f"The value argument to log_prob must be a Tensor{taking_pytorchs(value)}"
            )
        events = value.dim() - len(self._event_shape)
        if value.shape[max(events, 0) :] != self._event_shape:
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{value.size()} vs {self._event_shape}."
            )
        expected = self._extended_shape()
        for i, j in zip(reversed(value.size()), reversed(expected), strict=False):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape: "
                    f"{value.size()} vs {expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warn(
                f"{type(self)} does not define `support` to enable sample validation. Please "
                "initialize the distribution with `validate_args=False` to turn off validation."
            )
            return
        assert isinstance(support, Constraint)
        if anywhere(~support.check(value)):
            raise ValueError(
                "Expected value argument "
                f"({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({support!r}) "
                f"of the distribution {self!r}, "
                f"but found invalid values:\n{value}"
            )

    def _checked(self, value: Tensor) -> Tensor:
        """The value, validated if this distribution validates."""
        if self._validate_args:
            self._validate_sample(value)
        return value

    def _get_checked_instance(self, cls: type[object], _instance: object = None) -> Any:
        if _instance is None and type(self).__init__ is not cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ "
                "method must also define a custom .expand() method."
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    def __repr__(self) -> str:
        shown = []
        for name in self.arg_constraints:
            if name in self.__dict__:
                value = self.__dict__[name]
                shown.append(f"{name}: {value if value.numel() == 1 else value.size()}")
        return f"{type(self).__name__}({', '.join(shown)})"
