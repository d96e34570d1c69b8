"""The normal distribution of vectors whose covariance is of low rank but for its diagonal."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

from rushlight import _root as rl
from rushlight import linalg
from rushlight._root import Size, Tensor

from . import constraints
from .distribution import Distribution
from .multivariate_normal import _batch_mahalanobis, _batch_mv, half_log_det
from .utils import Shape, _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


# The inverse and the determinant of W W' + diag(D) follow from those of the small matrix
# I + W' D^-1 W, the capacitance (Woodbury).
def _scaled(W: Tensor, D: Tensor) -> Tensor:
    """W' D^-1."""
    return W.mT / D.unsqueeze(-2)


def _plus_identity(matrix: Tensor) -> Tensor:
    return matrix + rl.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)


def _batch_capacitance_tril(W: Tensor, D: Tensor) -> Tensor:
    return linalg.cholesky(_plus_identity(rl.matmul(_scaled(W, D), W)))


def _batch_lowrank_logdet(W: Tensor, D: Tensor, capacitance_tril: Tensor) -> Tensor:
    return 2 * half_log_det(capacitance_tril) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W: Tensor, D: Tensor, x: Tensor, capacitance_tril: Tensor) -> Tensor:
    inner = _batch_mahalanobis(capacitance_tril, _batch_mv(_scaled(W, D), x))
    return (x.pow(2) / D).sum(-1) - inner


class LowRankMultivariateNormal(Distribution):
    """Normal vectors of mean `loc` and covariance cov_factor cov_factor' + diag(cov_diag).

    >>> d = torch.distributions.LowRankMultivariateNormal(
    ...     torch.zeros(2), torch.zeros(2, 1), torch.ones(2)
    ... )
    >>> d.log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    cov_diag: Any
    cov_factor: Any
    loc: Any

    arg_constraints: ClassVar[constraints.ByName] = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(
                f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m"
            )
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        columns = loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1)
        try:
            column, self.cov_factor, diagonal = rl.broadcast_tensors(*columns)
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                f"cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_diag = column[..., 0], diagonal[..., 0]
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(self.loc.shape[:-1], event_shape, validate_args=validate_args)

    def _expand_rest(self, new: Self, shape: Size) -> None:
        new._unbroadcasted_cov_factor = self._unbroadcasted_cov_factor
        new._unbroadcasted_cov_diag = self._unbroadcasted_cov_diag
        new._capacitance_tril = self._capacitance_tril

    @property
    def mean(self) -> Tensor:
        return self.loc

    mode = mean

    @lazy_property
    def variance(self) -> Tensor:
        """The diagonal of the covariance."""
        squares = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return squares.expand(self._batch_shape + self._event_shape)

    def _matrix(self, matrix: Tensor) -> Tensor:
        return matrix.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower triangular factor of the covariance."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        rows = self._unbroadcasted_cov_factor / root
        return self._matrix(root * linalg.cholesky(_plus_identity(rl.matmul(rows, rows.mT))))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        product = rl.matmul(factor, factor.mT)
        return self._matrix(product + rl.diag_embed(self._unbroadcasted_cov_diag))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        D = self._unbroadcasted_cov_diag
        scaled = _scaled(self._unbroadcasted_cov_factor, D)
        A = linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._matrix(rl.diag_embed(D.reciprocal()) - A.mT @ A)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        rank = self.cov_factor.shape[-1:]
        of_factor = _standard_normal(shape[:-1] + rank, self.loc.dtype, self.loc.device)
        of_diagonal = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return (
            self.loc
            + _batch_mv(self._unbroadcasted_cov_factor, of_factor)
            + self._unbroadcasted_cov_diag.sqrt() * of_diagonal
        )

    def _log_det(self) -> Tensor:
        return _batch_lowrank_logdet(
            self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril
        )

    def log_prob(self, value: Tensor) -> Tensor:
        distance = _batch_lowrank_mahalanobis(
            self._unbroadcasted_cov_factor,
            self._unbroadcasted_cov_diag,
            self._checked(value) - self.loc,
            self._capacitance_tril,
        )
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + distance)

    def entropy(self) -> Tensor:
        entropy = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_det())
        return entropy.expand(self._batch_shape)
