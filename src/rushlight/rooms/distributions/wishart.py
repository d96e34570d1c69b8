"""The Wishart distribution."""

from __future__ import annotations

import math
from typing import Any, Self

from rushlight import _root as rl
from rushlight import linalg
from rushlight._root import Size, Tensor

from .._base.errors import warn
from . import constraints
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import WithFactor, factor_of, given_matrix, half_log_det
from .utils import Shape, lazy_property

__all__ = ["Wishart"]

_log_2 = math.log(2)


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The derivative of `mvlgamma`."""
    if not bool(x.gt((p - 1) / 2).all()):
        raise AssertionError("Wrong domain for multivariate digamma function.")
    return rl.digamma(x.unsqueeze(-1) - rl.arange(p, dtype=x.dtype, device=x.device) / 2).sum(-1)


class Wishart(WithFactor, ExponentialFamily):
    """Sums of `df` products x x' of normal vectors; one of the three matrices gives their
    covariance.

    >>> torch.distributions.Wishart(torch.tensor(3.0), torch.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _batch_dims: list[int]
    _dist_chi2: Chi2
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Tensor | float,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = given_matrix(
            AssertionError,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        if isinstance(df, Tensor):
            batch = rl.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df: Tensor = df.expand(batch)
        else:
            batch = matrix.shape[:-2]
            self.df = rl.tensor(df, dtype=matrix.dtype, device=matrix.device)
        event_shape = matrix.shape[-2:]
        n = event_shape[-1]
        if bool(self.df.le(n - 1).any()):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        setattr(self, name, matrix.expand((*batch, -1, -1)))
        if bool(self.df.lt(n).any()):
            warn(
                "Low df values detected. Singular samples are highly likely to occur for "
                "ndim - 1 < df < ndim."
            )
        super().__init__(batch, event_shape, validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)
        self._finish(self)

    def _finish(self, made: Any) -> None:
        """Sets the chi-squared distributions from which `made` draws samples."""
        made._batch_dims = [-(x + 1) for x in range(made.df.dim())]
        steps = rl.arange(
            self._event_shape[-1],
            dtype=self._unbroadcasted_scale_tril.dtype,
            device=self._unbroadcasted_scale_tril.device,
        )
        made._dist_chi2 = Chi2(made.df.unsqueeze(-1) - steps)

    def _expand_rest(self, new: Self, shape: Size) -> None:
        factor = self._unbroadcasted_scale_tril
        new._unbroadcasted_scale_tril = factor.expand((*shape, *self._event_shape))
        self._finish(new)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance of the vectors."""
        factor = self._unbroadcasted_scale_tril
        identity = rl.eye(self._event_shape[-1], dtype=factor.dtype, device=factor.device)
        return self._matrix(rl.cholesky_solve(identity, factor))

    def _per_matrix(self, number: Tensor) -> Tensor:
        return number.view((*self._batch_shape, 1, 1))

    @property
    def mean(self) -> Tensor:
        return self._per_matrix(self.df) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._event_shape[-1] - 1
        factor = factor.masked_fill(factor <= 0, math.nan)
        return self._per_matrix(factor) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._per_matrix(self.df) * (covariance.pow(2) + products)

    def _bartlett_sampling(self, sample_shape: Shape = ()) -> Tensor:
        p = self._event_shape[-1]
        roots = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = roots.clamp(min=rl.finfo(roots.dtype).eps).diag_embed(dim1=-2, dim2=-1)
        rows, columns = rl.tril_indices(p, p, offset=-1, device=noise.device)
        shape = (*sample_shape, *self._batch_shape, p * (p - 1) // 2)
        noise[..., rows, columns] = rl.randn(shape, dtype=noise.dtype, device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def _any_of_batch(self, condition: Tensor) -> Tensor:
        return condition.amax(self._batch_dims) if self._batch_shape else condition

    def rsample(self, sample_shape: Shape = (), max_try_correction: int | None = None) -> Tensor:
        tries = 10 if max_try_correction is None else max_try_correction
        sample_shape = Size(sample_shape)
        sample = self._bartlett_sampling(sample_shape)
        # PyTorch takes the first samples that are *not* singular for singular, and draws them
        # again; so do we, since equal seeds give equal numbers.
        again = self._any_of_batch(self.support.check(sample))
        if bool(again.any()):
            warn("Singular sample detected.")
            for _ in range(tries):
                new = self._bartlett_sampling(again[again].shape)
                sample[again] = new
                singular = self._any_of_batch(~self.support.check(new))
                again[again.clone()] = singular
                if not bool(again.any()):
                    break
        return sample

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        nu, p, factor = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        trace = rl.cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (
            (nu - p - 1) / 2 * linalg.slogdet(value).logabsdet
            - trace / 2
            - nu * (p * _log_2 / 2 + half_log_det(factor))
            - rl.mvlgamma(nu / 2, p=p)
        )

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        return (
            (p + 1) * (p * _log_2 / 2 + half_log_det(self._unbroadcasted_scale_tril))
            + rl.mvlgamma(nu / 2, p=p)
            - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p=p)
            + nu * p / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        log_det = linalg.slogdet(-2 * x).logabsdet
        return half * (_log_2 * p - log_det) + rl.mvlgamma(half, p=p)
