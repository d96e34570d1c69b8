"""Transforms by the constraint that their values satisfy: `biject_to` and `transform_to`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from . import constraints, transforms
from .constraints import Constraint
from .transforms import Transform

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

_Factory = TypeVar("_Factory", bound=Callable[[Any], Any])


class ConstraintRegistry:
    """Makes the transform from unconstrained numbers to those of a constraint.

    >>> torch.distributions.transform_to(torch.distributions.constraints.unit_interval)
    SigmoidTransform()
    """

    def __init__(self) -> None:
        self._registry: dict[type[Constraint], Callable[[Any], Any]] = {}

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Registers the function that makes the transform of a constraint (a class or an object); a
        decorator where no function is given."""
        if factory is None:
            return lambda later: self.register(constraint, later)
        if isinstance(constraint, Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, Constraint):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, but got "
                f"{constraint}"
            )
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to: ConstraintRegistry = ConstraintRegistry()
transform_to: ConstraintRegistry = ConstraintRegistry()


def _enter(registries: Any, *known: object) -> Callable[[_Factory], _Factory]:
    def enter(factory: _Factory) -> _Factory:
        for registry in registries:
            for constraint in known:
                registry.register(constraint, factory)
        return factory

    return enter


_both = (biject_to, transform_to)


@_enter(_both, constraints.real)
def _to_real(constraint: object) -> Transform:
    return transforms.identity_transform


@_enter(_both, constraints.greater_than, constraints.greater_than_eq)
def _to_greater_than(constraint: Any) -> Transform:
    exp = transforms.ExpTransform()
    return transforms.ComposeTransform([exp, transforms.AffineTransform(constraint.lower_bound, 1)])


@_enter(_both, constraints.less_than)
def _to_less_than(constraint: Any) -> Transform:
    exp = transforms.ExpTransform()
    upper = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([exp, upper])


def _is_number(bound: object, value: int) -> bool:
    return isinstance(bound, (int, float)) and bound == value


@_enter(_both, constraints.interval, constraints.half_open_interval)
def _to_interval(constraint: Any) -> Transform:
    sigmoid = transforms.SigmoidTransform()
    low, high = constraint.lower_bound, constraint.upper_bound
    if _is_number(low, 0) and _is_number(high, 1):
        return sigmoid
    return transforms.ComposeTransform([sigmoid, transforms.AffineTransform(low, high - low)])


biject_to.register(constraints.simplex, lambda _: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda _: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda _: transforms.LowerCholeskyTransform())


@_enter([transform_to], constraints.positive_definite, constraints.positive_semidefinite)
def _to_positive_definite(constraint: object) -> Transform:
    return transforms.PositiveDefiniteTransform()


@_enter(_both, constraints.corr_cholesky)
def _to_corr_cholesky(constraint: object) -> Transform:
    return transforms.CorrCholeskyTransform()


def _enter_combined(registry: ConstraintRegistry) -> None:
    """The constraints that are made of others."""

    @_enter([registry], constraints.independent)
    def _independent(constraint: Any) -> Transform:
        base = registry(constraint.base_constraint)
        return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)

    @_enter([registry], constraints.cat)
    def _cat(constraint: Any) -> Transform:
        parts = [registry(c) for c in constraint.cseq]
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    @_enter([registry], constraints.stack)
    def _stack(constraint: Any) -> Transform:
        return transforms.StackTransform([registry(c) for c in constraint.cseq], constraint.dim)


for _registry in _both:
    _enter_combined(_registry)
