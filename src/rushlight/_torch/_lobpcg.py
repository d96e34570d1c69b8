"""A few extreme eigenvalues of a symmetric matrix, without its factorisation.

Knyazev's locally optimal block preconditioned conjugate gradients: the best vectors of the span of
the present ones, their residuals and the last steps, again and again. The span gets an orthonormal
basis each time, without the directions that add nothing: so the method stays stable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight._root as rl
from rushlight._root import Tensor

from .. import linalg
from ..autograd import no_grad

__all__ = ["LOBPCG", "lobpcg"]

_MOST = 100_000  # steps where niter says without a limit


class LOBPCG:
    """The state of an iteration, which a tracker may look at, and end by bvars["force_stop"]."""

    def __init__(
        self, A: Tensor, B: Tensor | None, X: Tensor, iK: Tensor | None, how: dict[str, Any]
    ) -> None:
        self.A, self.B, self.iK = A, B, iK
        self.iparams = {name: how[name] for name in ("m", "n", "k", "niter")}
        self.fparams = {"tol": how["tol"]}
        self.bparams = {"largest": how["largest"]}
        self.method, self.tracker = how["method"], how["tracker"]
        self.ivars = {"istep": 0, "converged_count": 0}
        self.bvars = {"force_stop": False}
        self.fvars: dict[str, float] = {}
        self.tvars: dict[str, Tensor] = {}
        self.P: Tensor | None = None
        self.X, self.E = self._best(X, X.shape[-1])[:2]

    def _times(self, M: Tensor | None, x: Tensor) -> Tensor:
        return x if M is None else M @ x

    def _basis(self, S: Tensor) -> Tensor:
        """The columns made orthonormal in the product by B, twice; those in the span of others
        left out."""
        eps = rl.finfo(S.dtype).eps
        for _ in range(2):
            S = S / linalg.vector_norm(S, 2, 0, True).clamp(min=rl.finfo(S.dtype).tiny)
            sizes, turn = linalg.eigh(S.mT @ self._times(self.B, S))
            kept = sizes > eps * S.shape[0] * sizes[-1].abs()
            S = (S @ turn[:, kept]) / sizes[kept].sqrt()
        return S

    def _best(self, S: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The n best vectors of a span, their values, the basis and the vectors in it."""
        basis = self._basis(S)
        values, vectors = linalg.eigh(basis.mT @ (self.A @ basis))
        if self.bparams["largest"]:
            values, vectors = values.flip(0), vectors.flip(1)
        return basis @ vectors[:, :n], values[:n], basis, vectors[:, :n]

    def _residual(self) -> int:
        """How many of the first vectors are exact enough."""
        ax, bx = self.A @ self.X, self._times(self.B, self.X)
        self.R = ax - bx * self.E
        size = float(linalg.vector_norm(self.X))
        scale = (
            float(linalg.vector_norm(ax)) + self.E.abs() * float(linalg.vector_norm(bx))
        ) / size
        rerr = linalg.vector_norm(self.R, 2, 0) / (scale * size)
        self.tvars["rerr"] = rerr
        count = 0
        for error in rerr.tolist():
            if not error <= self.fparams["tol"]:
                break
            count += 1
        self.ivars["converged_count"] = count
        return count

    def run(self) -> None:
        """Iterate until the wanted vectors are exact enough, or niter steps are done."""
        n, limit = self.iparams["n"], self.iparams["niter"]
        for step in range(_MOST if limit < 0 else limit + 1):
            self.ivars["istep"] = step
            done = self._residual() >= self.iparams["k"]
            if self.tracker is not None:
                self.tracker(self)
            if done or self.bvars["force_stop"] or step == limit:
                return
            span = [self.X, self._times(self.iK, self.R)]
            before = self.X
            X, E, *_ = self._best(rl.cat(span if self.P is None else [*span, self.P], 1), n)
            if X.shape[1] < n:
                return
            self.P = X - before @ (before.mT @ self._times(self.B, X))
            self.X, self.E = X, E


def _differentiable(A: Tensor, B: Tensor | None, E: Tensor, X: Tensor) -> tuple[Tensor, Tensor]:
    """The same values and vectors, as functions of A and B to the first order: what a change of
    them adds is a step of perturbation theory, 0 now."""
    E, X = E.detach(), X.detach()
    A = (A + A.mT) / 2
    bx = X if B is None else (B + B.mT) / 2 @ X
    change = A @ X - bx * E
    values = E + (X * change).sum(0)
    other = rl.eye(len(X), dtype=X.dtype, device=X.device) if B is None else B.detach()
    columns = []
    for i in range(X.shape[1]):
        x = X[:, i : i + 1]
        inverse = linalg.pinv(A.detach() - E[i] * other, hermitian=True, rtol=_SMALL[X.dtype])
        across = change[:, i : i + 1]
        across = across - other @ x * (x.mT @ across)
        step = -(inverse @ across)
        along = x.mT @ (other @ step) + ((x * bx[:, i : i + 1]).sum() - 1) / 2
        columns.append(x + step - x * along)
    return values, rl.cat(columns, 1)


_SMALL = {rl.float32: 1e-4, rl.float64: 1e-9}


@rl.ops.overridable
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[[LOBPCG], Any] | None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) eigenvalues of A @ x = E * B @ x, and their vectors.

    A and B are symmetric, B positive definite. X: the vectors to begin with, n of them (random);
    iK: a preconditioner, about the inverse of A; niter: at most so many steps (1000; below 0
    without a limit); tol: of the residual, relative. Both methods are the orthogonal one.

    >>> E, X = torch.lobpcg(torch.diag(torch.arange(1.0, 10.0)), k=2)
    >>> E
    tensor([9.0000, 8.0000])
    """
    m = A.shape[-1]
    if A.shape[-2] != m:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if B is not None and A.shape != B.shape:
        raise AssertionError(f"A and B must have same shape, got {A.shape} vs {B.shape}")
    if A.dtype not in _SMALL:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {A.dtype.c_name} != float. "
            "lobpcg takes float32 and float64."
        )
    if k is None:
        k = 1 if X is None else X.shape[-1]
    n = X.shape[-1] if X is not None else k if n is None else n
    if m < 3 * n:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than "
            f"3 x the number of requested eigenpairs (={n})"
        )
    if X is not None and X.shape != (*A.shape[:-1], n):
        raise AssertionError(f"X shape mismatch: got {X.shape}, expected {(m, n)}")
    if not A.isfinite().all() or (B is not None and not B.isfinite().all()):
        raise linalg.LinAlgError(
            "linalg.eigh: The algorithm failed to converge because the input matrix is "
            "ill-conditioned or has too many repeated eigenvalues. A or B is not finite."
        )
    how = {
        "m": m,
        "n": n,
        "k": k,
        "niter": 1000 if niter is None else niter,
        "tol": rl.finfo(A.dtype).eps ** 0.5 if tol is None else tol,
        "largest": True if largest is None else largest,
        "method": "ortho" if method is None else method,
        "tracker": tracker,
    }

    def one(A: Tensor, B: Tensor | None, X: Tensor | None) -> tuple[Tensor, Tensor]:
        with no_grad():
            start = rl.randn((m, n), dtype=A.dtype, device=A.device) if X is None else X
            worker = LOBPCG(A, B, start, iK, how)
            worker.run()
            E, V = worker.E[:k], worker.X[:, :k]
        if rl.is_grad_enabled() and (A.requires_grad or (B is not None and B.requires_grad)):
            return _differentiable(A, B, E, V)
        return E, V

    if A.ndim == 2:
        return one(A, B, X)
    flat = A.reshape(-1, m, m)
    others = [None if t is None else t.reshape(-1, *t.shape[-2:]) for t in (B, X)]
    pairs = [one(flat[i], *[None if t is None else t[i] for t in others]) for i in range(len(flat))]
    E, V = (rl.stack(part) for part in zip(*pairs, strict=True))
    lead = A.shape[:-2]
    return E.reshape(*lead, k), V.reshape(*lead, m, k)
