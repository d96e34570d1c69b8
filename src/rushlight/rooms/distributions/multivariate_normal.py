"""The normal distribution of vectors."""

from __future__ import annotations

import math
from typing import ClassVar, Self

from rushlight import _root as rl
from rushlight import linalg
from rushlight._root import Size, Tensor

from . import constraints
from .distribution import Distribution
from .utils import Shape, _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    """Matrices times vectors."""
    return rl.matmul(bmat, bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(factor: Tensor, x: Tensor) -> Tensor:
    """The squares of the lengths of factor^-1 x, for a lower triangular factor."""
    if factor.dim() == 2:  # one system with many right-hand sides
        columns = x.reshape(-1, x.shape[-1]).mT
        solved = linalg.solve_triangular(factor, columns, upper=False)
        return solved.pow(2).sum(-2).reshape(x.shape[:-1])
    solved = linalg.solve_triangular(factor, x.unsqueeze(-1), upper=False)
    return solved.squeeze(-1).pow(2).sum(-1)


def half_log_det(factor: Tensor) -> Tensor:
    """The logarithm of the determinant of a triangular matrix."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse of a matrix."""
    reversed_factor = linalg.cholesky(rl.flip(precision, (-2, -1)))
    inverse = rl.transpose(rl.flip(reversed_factor, (-2, -1)), -2, -1)
    identity = rl.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return linalg.solve_triangular(inverse, identity, upper=False)


def given_matrix(error: type[Exception], **given: Tensor | None) -> tuple[str, Tensor]:
    """The name and the value of the only matrix that is given."""
    matrices = [(name, matrix) for name, matrix in given.items() if matrix is not None]
    if len(matrices) != 1:
        raise error(
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
        )
    return matrices[0]


def factor_of(name: str, matrix: Tensor) -> Tensor:
    """The lower triangular factor of the covariance that a matrix says."""
    if name == "scale_tril":
        return matrix
    covariance = name == "covariance_matrix"
    return linalg.cholesky(matrix) if covariance else _precision_to_scale_tril(matrix)


class WithFactor(Distribution):
    """A distribution with the lower triangular factor of a covariance."""

    _unbroadcasted_scale_tril: Tensor

    def _matrix(self, matrix: Tensor) -> Tensor:
        return matrix.expand((*self._batch_shape, *matrix.shape[-2:]))

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower triangular factor of the covariance."""
        return self._matrix(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_scale_tril
        return self._matrix(factor @ factor.mT)


class MultivariateNormal(WithFactor):
    """Normal vectors of mean `loc`; one of the three matrices gives their covariance.

    >>> d = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    >>> d.log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints: ClassVar[constraints.ByName] = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = given_matrix(
            ValueError,
            covariance_matrix=covariance_matrix,
            scale_tril=scale_tril,
            precision_matrix=precision_matrix,
        )
        if matrix.dim() < 2:
            raise ValueError(
                f"{name} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch = rl.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch, -1, -1)))
        self.loc: Tensor = loc.expand((*batch, -1))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)

    def _expand_rest(self, new: Self, shape: Size) -> None:
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._matrix(rl.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.loc

    mode = mean

    @property
    def variance(self) -> Tensor:
        squares = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return squares.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        noise = _standard_normal(
            self._extended_shape(sample_shape), self.loc.dtype, self.loc.device
        )
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Tensor) -> Tensor:
        distance = _batch_mahalanobis(
            self._unbroadcasted_scale_tril, self._checked(value) - self.loc
        )
        log_det = half_log_det(self._unbroadcasted_scale_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - log_det

    def entropy(self) -> Tensor:
        n = self._event_shape[0]
        entropy = 0.5 * n * (1.0 + math.log(2 * math.pi)) + half_log_det(
            self._unbroadcasted_scale_tril
        )
        return entropy.expand(self._batch_shape)
