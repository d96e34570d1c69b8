"""The LKJ distribution of Cholesky factors of correlation matrices."""

from __future__ import annotations

import math
from typing import ClassVar, Self

from rushlight import _root as rl
from rushlight._root import Size, Tensor

from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import Shape, broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices of density det^(concentration - 1).

    The rows are drawn as points on spheres after the "onion method" (Lewandowski, Kurowicka and
    Joe 2009); they are PyTorch's numbers, whose lengths from the third row on are longer than that
    method's.

    >>> torch.distributions.LKJCholesky(2, 1.0).log_prob(torch.eye(2))
    tensor(-0.6931)
    """

    concentration: Tensor

    arg_constraints: ClassVar[constraints.ByName] = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(
        self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        row = rl.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        row = rl.cat([row.new_zeros((1,)), row])
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(row + 0.5, marginal.unsqueeze(-1) - 0.5 * row)
        super().__init__(self.concentration.size(), (dim, dim), validate_args)

    def _expand_rest(self, new: Self, shape: Size) -> None:
        new.dim = self.dim
        new._beta = self._beta.expand((*shape, self.dim))

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with rl.no_grad():
            square = self._beta.sample(sample_shape).unsqueeze(-1)
            shape = self._extended_shape(sample_shape)
            normal = rl.randn(shape, dtype=square.dtype, device=square.device).tril(-1)
            direction = normal / normal.norm(dim=-1, keepdim=True)
            direction[..., 0, :] = 0.0
            below = square.sqrt() * direction
            rest = 1 - (below**2).sum(-1)
            diagonal = rest.clamp(min=rl.finfo(below.dtype).tiny).sqrt()
            return below + rl.diag_embed(diagonal)

    def log_prob(self, value: Tensor) -> Tensor:
        diagonal = self._checked(value).diagonal(dim1=-1, dim2=-2)[..., 1:]
        power = self.dim - rl.arange(2, self.dim + 1, device=diagonal.device)
        power = 2 * (self.concentration - 1).unsqueeze(-1) + power
        density = (power * diagonal.log()).sum(-1)
        n = self.dim - 1
        alpha = self.concentration + 0.5 * n
        norm = 0.5 * n * math.log(math.pi) + rl.mvlgamma(alpha - 0.5, n) - rl.lgamma(alpha) * n
        return density - norm
