"""Parametrizations of weights: length and direction, spectral norm, orthogonal matrices."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from rushlight import _root as rl
from rushlight._root import Tensor

from ...ops import namespace as _namespace
from .. import functional as F
from ..modules.module import Module
from . import parametrize
from .spectral_norm import TRANSPOSED, iterate
from .weight_norm import scaled

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_linalg: Any = _namespace("linalg")


class _WeightNorm(Module):
    """Length and direction; `dim` is where each entry has its own length (None: one for all)."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return scaled(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The lengths of a weight, and the weight itself."""
        return rl.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Lets a weight be computed from lengths, of the entries along `dim`, and directions.

    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
    >>> [(name, tuple(p.shape)) for name, p in layer.named_parameters()][1:]
    [('parametrizations.weight.original0', (2, 1)), ('parametrizations.weight.original1', (2, 3))]
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def old_names(state_dict: dict[str, object], prefix: str, *rest: object) -> None:
        # Checkpoints of the hook `nn.utils.weight_norm`.
        for i, end in enumerate("gv"):
            key = f"{prefix}{name}_{end}"
            if key in state_dict:
                new = f"{prefix}parametrizations.{name}.original{i}"
                state_dict[new] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(old_names)
    return module


class _SpectralNorm(Module):
    """The weight over the estimate of its largest singular value."""

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        n = weight.dim()
        if not -n <= dim < n:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{n}, {n - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, "
                f"but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + n
        self.eps = eps
        if n > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight.detach())
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                start = matrix.new_empty(size).normal_(0, 1)
                self.register_buffer(name, F.normalize(start, dim=0, eps=eps))
            iterate(matrix, matrix.mH, self._u, self._v, 15, eps)

    def _matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            iterate(matrix, matrix.mH, self._u, self._v, self.n_power_iterations, self.eps)
        u, v = self._u.clone(), self._v.clone()  # a later call writes to the buffers
        return weight / u.vdot(matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value itself: it may have any norm."""
        return value


def _tensor_of(module: Module, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, rl.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divides a weight by its largest singular value, of the matrix of rows along `dim`.

    >>> layer = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2), n_power_iterations=50)
    >>> round(torch.linalg.matrix_norm(layer.weight, 2).item(), 4)
    1.0
    """
    weight = _tensor_of(module, name)
    if dim is None:
        dim = 1 if isinstance(module, TRANSPOSED) else 0
    norm = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return parametrize.register_parametrization(module, name, norm)


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


def _reflected(vectors: Tensor, scales: Tensor) -> Tensor:
    """The first columns of the product of the reflections 1 - scale v v^H.

    The vectors are the columns of `vectors` below the diagonal, which is 1.
    """
    n, k = vectors.shape[-2:]
    eye = rl.eye(n, k, dtype=vectors.dtype, device=vectors.device)
    columns = vectors.tril(-1) + eye
    out = eye.expand(*vectors.shape[:-2], n, k)
    for i in reversed(range(k)):
        v = columns[..., i : i + 1]
        out = out - (scales[..., i, None, None] * v) @ (v.mH @ out)
    return out


def _reflections(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Vectors (below the diagonal) and scales of the reflections that make a matrix triangular,
    which stands on and above it.
    """
    out = matrix.clone()
    n, k = matrix.shape[-2:]
    scales = matrix.new_zeros((*matrix.shape[:-2], k))
    for i in range(min(k, n - 1)):
        x = out[..., i:, i].clone()
        first = x[..., 0]
        length = _linalg["vector_norm"](x, dim=-1) * (1 - 2 * (first >= 0).to(x.dtype))
        length = rl.where((x[..., 1:] == 0).all(-1), first, length)
        below = first - length
        scale = -below / length.masked_fill(length == 0, 1.0)
        v = x / below.masked_fill(below == 0, 1.0)[..., None]
        v[..., 0] = 1.0
        rest = out[..., i:, i:]
        rest -= scale[..., None, None] * v[..., None] @ (v[..., None, :] @ rest)
        out[..., i + 1 :, i] = v[..., 1:]
        scales[..., i] = scale
    return out, scales


def _make_orthogonal(matrix: Tensor) -> Tensor:
    """The orthogonal factor of a matrix whose triangular one has a positive diagonal."""
    q, r = _linalg["qr"](matrix)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _is_orthogonal(q: Tensor) -> bool:
    eye = rl.eye(q.shape[-1], dtype=q.dtype, device=q.device)
    eps = 10 * q.shape[-2] * rl.finfo(q.dtype).eps
    return bool(((q.mH @ q - eye).abs() <= eps).all())


class _Orthogonal(Module):
    """A matrix with orthonormal columns, or rows where it has fewer."""

    base: Tensor | None

    def __init__(
        self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True
    ) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        n, k = X.shape[-2:]
        transposed = n < k
        if transposed:
            X, n, k = X.mT, k, n
        if self.orthogonal_map is _OrthMaps.householder:
            below = X.tril(-1)
            scales = 2.0 / (1.0 + (below * below).sum(-2))
            Q = _reflected(below, scales)
            Q = Q * X.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
        else:
            X = X.tril()
            if n != k:
                X = rl.cat([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], -1)
            skew = X - X.mH
            if self.orthogonal_map is _OrthMaps.matrix_exp:
                Q = rl.matrix_exp(skew)
            else:
                eye = rl.eye(n, dtype=skew.dtype, device=skew.device)
                Q = _linalg["solve"](eye - 0.5 * skew, eye + 0.5 * skew)
            Q = Q[..., :k]
        base = getattr(self, "base", None)
        if base is not None:
            Q = base @ Q
        return Q.mT if transposed else Q

    def right_inverse(self, Q: Tensor) -> Tensor:
        """A value whose parametrization is `Q`, made orthogonal if `Q` is not.

        With a base, `Q` becomes the base, and the trained matrix starts at the identity.
        """
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. "
                f"Got a tensor of shape {Q.shape}."
            )
        given = Q
        n, k = Q.shape[-2:]
        transposed = n < k
        if transposed:
            Q, n, k = Q.mT, k, n
        if not hasattr(self, "base"):
            if self.orthogonal_map is not _OrthMaps.householder:
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the "
                    "Cayley parametrizations when use_trivialization=False."
                )
            A, scales = _reflections(Q)
            diagonal = A.diagonal(dim1=-2, dim2=-1)
            diagonal.sign_()
            diagonal[scales == 0.0] *= -1
            return A.mT if transposed else A
        if n == k:
            Q = Q.clone() if _is_orthogonal(Q) else _make_orthogonal(Q)
        else:
            rest = rl.randn(*Q.shape[:-2], n, n - k, dtype=Q.dtype, device=Q.device)
            Q = _make_orthogonal(rl.cat([Q, rest], -1))
        self.base = Q
        start = rl.zeros_like(given)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Makes a weight a matrix with orthonormal columns, or rows where it has fewer.

    `orthogonal_map`: "matrix_exp", "cayley" or "householder"; None takes the first for square
    matrices, and the last for others. With `use_trivialization` a base is kept, the weight at the
    start, and what is trained is its change.

    >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(2, 2))
    >>> torch.allclose(layer.weight @ layer.weight.mT, torch.eye(2), atol=1e-5)
    True
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _OrthMaps.__members__:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}"
        )
    made = _Orthogonal(weight, _OrthMaps[orthogonal_map], use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)
