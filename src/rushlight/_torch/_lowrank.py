"""Singular values and principal components of large matrices, by random projections.

Halko, Martinsson, Tropp: Finding structure with randomness, 2009 (arXiv:0909.4061).
"""

from __future__ import annotations

import rushlight._root as rl
from rushlight._root import Tensor

from .. import linalg

__all__ = ["get_approximate_basis", "pca_lowrank", "svd_lowrank"]


def get_approximate_basis(
    A: Tensor, q: int, niter: int | None = 2, M: Tensor | None = None
) -> Tensor:
    """q orthonormal columns that nearly span the columns of A (of A - M)."""
    difference = A if M is None else A - M
    dtype = A.dtype if A.dtype.is_complex or A.dtype.is_floating_point else rl.float32
    basis = linalg.qr(difference @ rl.randn(A.shape[-1], q, dtype=dtype, device=A.device))[0]
    for _ in range(2 if niter is None else niter):
        back = linalg.qr(difference.mH @ basis)[0]
        basis = linalg.qr(difference @ back)[0]
    return basis


@rl.ops.overridable
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of the q largest singular values of A (of A - M), nearly.

    q: a little more than the rank. niter: steps that make it more exact.

    >>> U, S, V = torch.svd_lowrank(torch.outer(torch.tensor([3.0, 4.0]), torch.ones(4)), q=1)
    >>> S
    tensor([10.])
    """
    if A.ndim < 2:
        raise ValueError(f"not enough values to unpack (expected 2, got {A.ndim})")
    if M is not None:
        M = M.broadcast_to(A.shape)
    wide = A.shape[-2] < A.shape[-1]
    if wide:
        A, M = A.mH, None if M is None else M.mH
    basis = get_approximate_basis(A, 6 if q is None else q, niter, M)
    U, S, Vh = linalg.svd(basis.mH @ (A if M is None else A - M), False)
    U, V = basis @ U, Vh.mH
    return (V, S, U) if wide else (U, S, V)


@rl.ops.overridable
def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of the q first principal components of A: of its rows less their mean.

    The columns of V are the directions; S ** 2 / (rows - 1) are the variances along them.

    >>> x = torch.tensor([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> U, S, V = torch.pca_lowrank(x, q=1)
    >>> V.abs()
    tensor([[0.6000],
            [0.8000]])
    """
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, True) if center else A, q, niter)
