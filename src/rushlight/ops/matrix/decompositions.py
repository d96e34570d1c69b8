"""Factorisations of matrices: QR, eigenvalues, singular values, LU.

The gradients of factors that are only determined up to a sign or a phase assume, as everywhere,
that the loss does not depend on it.
"""

from __future__ import annotations

from typing import Any

from ... import _core
from ..._base import dtypes
from ..._base.outside import np, np_types
from ..._core import Op
from ...return_types import named
from ..layout.joining import cat
from ..making.creation import eye
from ..table.arrays import Array, listed, warn_once
from ..table.kinds import composite, constant, general
from ..table.outputs import written
from ..table.reference import alias
from ..table.signature import Tensor
from .products import matmul
from .solving import (
    LinAlgError,
    check_matrices,
    first_bad,
    is_recorded,
    no_convergence,
    positive_samples,
    raises,
    regular,
    solve,
    solve_triangular,
    stack_matrices,
)

_kernels = _core.kernels

# ---- QR

qr_result = named("linalg_qr", "Q", "R")
_old_qr_result = named("qr", "Q", "R")


def _qr(a: Array, mode: str) -> Any:
    check_matrices("qr", a)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', "
            "or 'complete'"
        )
    if mode == "r":
        return np.empty(0, a.dtype), np.linalg.qr(a, "r")
    q, r = np.linalg.qr(a, mode)  # type: ignore[call-overload]
    return q, r


def _upper_symmetric(t: Tensor) -> Tensor:
    """The upper triangle mirrored to the lower, with a real diagonal: what a triangular R leaves
    free."""
    above = t.triu(1)
    diagonal = t.diagonal(0, -2, -1)
    return above + above.mH + diagonal.real.to(t.dtype).diag_embed()


def _qr_vjp(gs: tuple[Tensor, ...], A: Tensor, out: Tensor, out1: Tensor, mode: str) -> Tensor:
    gq, gr = gs
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please "
            "use "
            "linalg.qr(A, mode='reduced') if you are going to require gradients."
        )
    m, n = A.shape[-2:]
    q, r = out, out1
    if mode == "complete" and m > n:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
        )
    if gq is None:
        gq = q * 0
    if gr is None:
        gr = r * 0
    if m >= n:
        return _tall_qr_vjp(gq, gr, q, r)
    # A wide A = [X Y]: Q and the square part of R come from X, the rest of R is Q.mH @ Y.
    y = A.narrow(-1, m, n - m)
    gr_x, gr_y = gr.narrow(-1, 0, m), gr.narrow(-1, m, n - m)
    gx = _tall_qr_vjp(gq + matmul(y, gr_y.mH), gr_x, q, r.narrow(-1, 0, m))
    return cat([gx, matmul(q, gr_y)], -1)


def _tall_qr_vjp(gq: Tensor, gr: Tensor, q: Tensor, r: Tensor) -> Tensor:
    inner = matmul(gr, r.mH) - matmul(q.mH, gq)
    right = gq + matmul(q, _upper_symmetric(inner))
    return solve_triangular(r.mH, right, upper=False, left=False)


linalg_qr = general(
    "_qr(A: Tensor, mode: str = 'reduced')",
    _qr,
    native=_kernels.qr,
    vjp={"A": _qr_vjp},
    node="LinalgQrBackward0",
    outputs=qr_result,
    method=False,
    samples=lambda make: [(make(4, 3),), (make(2, 3, 3),), (make(2, 4),)],
    keeps="columns: A",
    formula={
        "A": "(g + Q · (tril(M) + tril(M, −1)ᵀ)) · R⁻ᵀ, M = R · g1ᵀ − gᵀ · Q, Q = out, R = out1",
    },
    autocast="float32 here",
    doc="A = Q @ R with orthonormal columns in Q and an upper triangular R.",
    batch="trailing",
)
alias("qr", linalg_qr, method=False, where="linalg")


@composite(out=["exact"], autocast="float32 here")
def qr(input: Tensor, some: bool = True) -> Any:
    """`linalg.qr` in torch's older form."""
    warn_once(
        "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future "
        "PyTorch release.\n"
        "The boolean parameter 'some' has been replaced with a string parameter 'mode'.\n"
        "Q, R = torch.qr(A, some)\nshould be replaced with\n"
        "Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete')"
    )
    return _old_qr_result(linalg_qr(input, "reduced" if some else "complete"))


# ---- eigenvalues

eigh_result = named("linalg_eigh", "eigenvalues", "eigenvectors")
eig_result = named("linalg_eig", "eigenvalues", "eigenvectors")


def eigh_arrays(a: Array, UPLO: str) -> Any:
    if not isinstance(UPLO, str):
        kind = "Tensor" if isinstance(UPLO, np_types.ndarray) else type(UPLO).__name__
        raise TypeError(f"linalg_eigh(): argument 'UPLO' (position 2) must be str, not {kind}")
    check_matrices("eigh", a, square=True)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    uplo: Any = UPLO.upper()
    if not np.isfinite(read := np.tril(a) if uplo == "L" else np.triu(a)).all():
        raise no_convergence("eigh", read, lambda m: not np.isfinite(m).all())
    try:
        values, vectors = np.linalg.eigh(a, uplo)
    except np.linalg.LinAlgError:
        raise no_convergence("eigh", a, raises(lambda m: np.linalg.eigvalsh(m, uplo))) from None
    return values, vectors


def _gaps(values: Tensor) -> Tensor:
    """1 / (value j - value i), 0 on the diagonal."""
    gap = values.unsqueeze(-2) - values.unsqueeze(-1)
    same = eye(values.shape[-1], dtype=dtypes.bool, device=values.device)
    return gap.masked_fill(same, float("inf")).reciprocal()


def _eigh_vjp(gs: tuple[Tensor, ...], out: Tensor, out1: Tensor) -> Tensor:
    gl, gv = gs
    v = out1
    if gv is None:
        return matmul(v * gl.unsqueeze(-2), v.mH)
    # Of a symmetric argument only the antisymmetric part turns the eigenvectors.
    turn = matmul(v.mH, gv)
    inner = (turn - turn.mH) * 0.5 * _gaps(out)
    if gl is not None:
        inner = inner + gl.to(inner.dtype).diag_embed()
    return matmul(v, matmul(inner, v.mH))


linalg_eigh = general(
    "_eigh(A: Tensor, UPLO: str = 'L')",
    eigh_arrays,
    native=_kernels.eigh,
    vjp={"A": _eigh_vjp},
    node="LinalgEighBackward0",
    outputs=eigh_result,
    method=False,
    samples=positive_samples,
    keeps="columns: A",
    traits="symmetric phase",
    formula={
        "A": "V · (diag(g) + (Vᵀ · g1 − g1ᵀ · V) / 2 ⊙ F) · Vᵀ, V = out1, "
        "F = 1 / (λⱼ − λᵢ) off the diagonal",
    },
    autocast="float32 here",
    doc="The eigenvalues, rising, and the eigenvectors of symmetric (Hermitian) matrices.",
    batch="trailing",
)
alias("eigh", linalg_eigh, method=False, where="linalg")


_eigh_values: Op = constant(
    "_eigvalsh(A: Tensor, UPLO: str = 'L')",
    is_=lambda A, UPLO: linalg_eigh(A, UPLO)[0],
    native=_kernels.eigvalsh,
    method=False,
    out=False,
    samples=positive_samples,
    doc="`eigvalsh` without a history.",
    batch="trailing",
)


@composite(
    where="linalg", traits="symmetric", out="exact", said="linalg_eigvalsh", autocast="float32 here"
)
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of symmetric (Hermitian) matrices, rising."""
    return linalg_eigh(A, UPLO)[0] if is_recorded(A) else _eigh_values(A, UPLO)


def _eig(a: Array) -> tuple[Array, ...]:
    check_matrices("eig", a, square=True)
    if not np.isfinite(a).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    try:
        values, vectors = np.linalg.eig(a)
    except np.linalg.LinAlgError:
        raise no_convergence("eig", a, raises(np.linalg.eigvals)) from None
    complex_type = np.complex64 if a.dtype in (np.float32, np.complex64) else np.complex128
    return values.astype(complex_type), vectors.astype(complex_type)


def _eig_vjp(gs: tuple[Tensor | None, ...], A: Tensor, out: Tensor, out1: Tensor) -> Tensor:
    gl, gv = gs
    v = out1
    inner = None
    if gv is not None:
        vg = matmul(v.mH, gv)
        # Eigenvectors have length 1: their gradient has no part along them.
        along = matmul(v.mH, v) * vg.diagonal(0, -2, -1).real.to(v.dtype).unsqueeze(-2)
        inner = (vg - along) * _gaps(out).conj()
    if gl is not None:
        part = gl.diag_embed()
        inner = part if inner is None else inner + part
    result = solve(v.mH, matmul(inner, v.mH))
    return result if A.dtype.is_complex else result.real


linalg_eig = general(
    "_eig(A: Tensor)",
    _eig,
    native=_kernels.eig,
    vjp={"A": _eig_vjp},
    formula={"A": "out1⁻ᵀ · diag(g) · out1ᵀ, and what g1 adds"},
    node="LinalgEigBackward0",
    outputs=eig_result,
    method=False,
    out="cast",
    keeps="columns: A",
    traits="phase",
    autocast="float32 here",
    doc="The eigenvalues and the eigenvectors, complex, of square matrices.",
    batch="trailing",
)
alias("eig", linalg_eig, method=False, where="linalg")


_eig_values: Op = constant(
    "_eigvals(A: Tensor)",
    is_=lambda A: linalg_eig(A)[0],
    native=_kernels.eigvals,
    method=False,
    out=False,
    samples=lambda make: [(make(3, 3),), (make(2, 3, 3),)],
    doc="`eigvals` without a history.",
    batch="trailing",
)


@composite(
    where="linalg",
    said="linalg_eigvals",
    out=(
        "cast",
        RuntimeError,
        "torch.linalg.eigvals: Expected eigenvalues to be safely castable from {want.scalar_name} "
        "dtype, but got eigenvalues with dtype {got.scalar_name}",
    ),
    autocast="float32 here",
)
def eigvals(A: Tensor) -> Tensor:
    """The eigenvalues of square matrices."""
    return linalg_eig(A)[0] if is_recorded(A) else _eig_values(A)


# ---- singular values

svd_result = named("linalg_svd", "U", "S", "Vh")
_old_svd_result = named("svd", "U", "S", "V")


def _svd(a: Array, full_matrices: bool) -> Any:
    """The singular value decomposition of finite matrices; nan for those with an infinity, on some
    of which LAPACK never ends, and torch's error for nan."""
    check_matrices("svd", a)
    infinite: Array = np.asarray(np.isinf(a).any((-2, -1)))
    if np.isnan(a).any():
        where, _ = first_bad(a, lambda m: bool(np.isnan(m).any()))
        raise LinAlgError(
            f"linalg.svd: {where}The algorithm failed to converge because the input matrix "
            "contained non-finite values."
        )
    if infinite.any():
        a = np.where(infinite[..., None, None], a.dtype.type(0), a)
    try:
        f: Any = np.linalg.svd
        parts = f(a, full_matrices)
    except np.linalg.LinAlgError:
        raise no_convergence("svd", a, raises(np.linalg.svd)) from None
    if infinite.any():
        for part in parts:
            part[infinite] = np.nan
    return parts


def _svd_vjp(gs: Any, A: Tensor, out: Tensor, out1: Tensor, out2: Tensor) -> Tensor:
    gu, gs_, gvh = gs
    k = out1.shape[-1]
    u, s, vh = out.narrow(-1, 0, k), out1, out2.narrow(-2, 0, k)
    if gu is None and gvh is None:
        return matmul(u * gs_.unsqueeze(-2), vh)
    m, n = A.shape[-2:]
    # The part within the spaces of the singular vectors: 1 / (s_j^2 - s_i^2).
    gap = _gaps_squared(s)
    inner: Any = None
    if gu is not None:
        gu = gu.narrow(-1, 0, k)
        w = matmul(u.mH, gu) * gap
        inner = (w + w.mH) * s.unsqueeze(-2)
        if A.dtype.is_complex:
            inner = inner + _phase(matmul(u.mH, gu), s)
    if gvh is not None:
        gvh = gvh.narrow(-2, 0, k)
        w = matmul(vh, gvh.mH) * gap
        part = s.unsqueeze(-1) * (w + w.mH)
        inner = part if inner is None else inner + part
    if gs_ is not None:
        inner = inner + gs_.to(inner.dtype).diag_embed()
    result = matmul(u, matmul(inner, vh))
    over = s.reciprocal()
    if gu is not None and m > k:
        rest = gu - matmul(u, matmul(u.mH, gu))
        result = result + matmul(rest * over.unsqueeze(-2), vh)
    if gvh is not None and n > k:
        rest = gvh - matmul(matmul(gvh, vh.mH), vh)
        result = result + matmul(u, over.unsqueeze(-1) * rest)
    return result


def _gaps_squared(s: Tensor) -> Tensor:
    a, b = s.unsqueeze(-2), s.unsqueeze(-1)
    same = eye(s.shape[-1], dtype=dtypes.bool, device=s.device)
    # One after the other: the product of two large sums is infinite.
    return (a - b).masked_fill(same, float("inf")).reciprocal() / (a + b)


def _phase(t: Tensor, s: Tensor) -> Tensor:
    """The imaginary diagonal: the phases of complex singular vectors."""
    turn = t.diagonal(0, -2, -1).imag / s
    return (turn * 1j).diag_embed()


svd_op = general(
    "_svd(A: Tensor, full_matrices: bool = True)",
    _svd,
    native=_kernels.svd,
    vjp={"A": _svd_vjp},
    node="LinalgSvdBackward0",
    outputs=svd_result,
    where="linalg",
    method=False,
    samples=lambda make: [(make(3, 3), False), (make(4, 2), False), (make(2, 3), False)],
    keeps="columns: A",
    traits="phase",
    formula={"A": "out · diag(g1) · out2, and what g and g2 add"},
    autocast="float32 here",
    doc="A = U @ diag(S) @ Vh with orthonormal U and Vh, and S falling.",
    batch="trailing",
)


def _linalg_svd(
    A: Tensor, full_matrices: bool = True, *, driver: str | None = None, out: Tensor | None = None
) -> Tensor:
    return svd_op(A, full_matrices) if out is None else svd_op(A, full_matrices, out=out)


_linalg_svd.__name__, _linalg_svd.__doc__ = "svd", svd_op.entry.doc
_linalg_svd.entry = svd_op.entry  # type: ignore[attr-defined]
alias("svd", _linalg_svd, method=False, where="linalg")


@composite(traits="phase", out=["exact"], autocast="float32 here")
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """`linalg.svd` in torch's older form: gives V, not Vh."""
    u, s, vh = svd_op(input, not some)
    return _old_svd_result((u, s, vh.mH))


_svd_values: Op = constant(
    "_svdvals(A: Tensor)",
    is_=lambda A: svd_op(A, False)[1],
    native=_kernels.svdvals,
    method=False,
    out=False,
    samples=lambda make: [(make(3, 2),), (make(2, 3, 3),)],
    doc="`svdvals` without a history.",
    batch="trailing",
)


@composite(where="linalg", out="exact", said="linalg_svdvals", autocast="float32 here")
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values, falling."""
    return svd_op(A, False)[1] if is_recorded(A) else _svd_values(A)


# ---- LU

lu_factor_result = named("linalg_lu_factor", "LU", "pivots")


def lu_factor_arrays(a: Array) -> tuple[Array, ...]:
    """Gaussian elimination with row exchanges, over a stack of matrices at once."""
    check_matrices("lu_factor", a)
    m, n = a.shape[-2:]
    lu = stack_matrices(a).copy()
    stack = np.arange(lu.shape[0])
    pivots = np.empty((lu.shape[0], min(m, n)), np.int32)
    with np.errstate(all="ignore"):
        for k in range(min(m, n)):
            left = lu[:, k:, k]
            # BLAS measures a complex number by the sum of its parts.
            size = abs(left.real) + abs(left.imag) if lu.dtype.kind == "c" else abs(left)
            p = k + size.argmax(-1)
            pivots[:, k] = p + 1
            rows = lu[stack, p].copy()
            lu[stack, p] = lu[:, k]
            lu[:, k] = rows
            below = lu[:, k + 1 :, k]
            pivot = lu[:, k, k, None]
            np.divide(below, pivot, out=below, where=np.broadcast_to(pivot != 0, below.shape))
            lu[:, k + 1 :, k + 1 :] -= below[:, :, None] * lu[:, k, None, k + 1 :]
    return lu.reshape(a.shape), pivots.reshape(*a.shape[:-2], min(m, n))


def row_order(pivots: Array, m: int) -> Array:
    """The order of m rows that exchanges make, for each row of pivots."""
    out = np.tile(np.arange(m), (len(pivots), 1))
    stack = np.arange(len(pivots))
    for k in range(pivots.shape[-1]):
        p = pivots[:, k] - 1
        rows = out[:, k].copy()
        out[:, k] = out[stack, p]
        out[stack, p] = rows
    return out


def _permutation(pivots: Array, m: int) -> Array:
    """The matrices P of A = P @ L @ U."""
    flat = stack_matrices(pivots[..., None])[..., 0]
    for wrong, bound in (
        (flat < 1, "greater or equal to 1"),
        (flat > m, "smaller or equal to LU.size(-2)"),
    ):
        if wrong.any():
            raise RuntimeError(
                f"Pivots given to lu_solve must all be {bound}. Did you properly pass the result "
                f"of lu_factor? {flat[wrong][0]} is among them, for matrices of {m} rows."
            )
    return permutation(flat, m).reshape(*pivots.shape[:-1], m, m)


def permutation(pivots: Array, m: int) -> Array:
    """The matrices of booleans that rows of valid pivots stand for."""
    out = np.zeros((len(pivots), m, m), bool)
    out[np.arange(len(pivots))[:, None], row_order(pivots, m), np.arange(m)] = True
    return out


pivot_matrix: Op = constant(
    "_pivot_matrix(pivots: Tensor, m: Any)",
    _permutation,
    native=_kernels.pivot_matrix,
    method=False,
    out=False,
    samples=lambda make: [(make(2, 3, low=3, high=4, kind="int"), 3)],
    doc="The permutation, as a matrix of booleans, that exchanges of rows (counted from 1) make.",
    batch="trailing",
)


def lu_vjp(g: Tensor, out: Tensor, P: Tensor) -> Tensor:
    """From the gradient of L and U in one matrix, `out`; P as a matrix of the same type."""
    m, n = out.shape[-2:]
    k = min(m, n)
    head, g_head = out, g
    if m != n:
        head, g_head = (t.narrow(-2, 0, k).narrow(-1, 0, k) for t in (out, g))
    gl, gu = g_head.tril(-1), g_head.triu()
    rest = None
    if m < n:  # further columns: L @ U_rest
        rest = _lower_back(head, g.narrow(-1, m, n - m))
        gl = gl - matmul(rest, out.narrow(-1, m, n - m).mH)
    elif m > n:  # further rows: L_rest @ U
        rest = solve_triangular(head.mH, g.narrow(-2, n, m - n), upper=False, left=False)
        gu = gu - matmul(out.narrow(-2, n, m - n).mH, rest)
    # L has a diagonal of 1 that is not there.
    inner = (matmul(head.tril(-1).mH, gl) + gl).tril(-1) + matmul(gu, head.triu().mH).triu()
    inner = _lower_back(head, inner)
    inner = solve_triangular(head.mH, inner, upper=False, left=False)
    if rest is not None:
        inner = cat([inner, rest], -1 if m < n else -2)
    return matmul(P, inner)


def _lower_back(lu: Tensor, g: Tensor) -> Tensor:
    """The inverse of L.mH, times g."""
    return solve_triangular(lu.mH, g, upper=True, unitriangular=True)


def lu_factor_vjp(g: Tensor, out: Tensor, out1: Tensor) -> Tensor:
    return lu_vjp(g, out, pivot_matrix(out1, out.shape[-2]).to(out.dtype))


lu_factor_op = general(
    "_lu_factor(A: Tensor)",
    lu_factor_arrays,
    native=_kernels.lu_factor,
    vjp={"A": lu_factor_vjp},
    node="LinalgLuFactorExBackward0",
    outputs=lu_factor_result,
    first_only=True,
    method=False,
    samples=lambda make: [(make(3, 3),), (make(2, 3, 3),), (make(4, 2),), (make(2, 4),)],
    keeps="columns: A",
    doc="L below and U on and above the diagonal of one matrix, and the exchanges of rows.",
    batch="trailing",
)


def check_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, left: bool) -> None:
    name = "linalg.lu_solve"
    if not (LU.dtype.is_floating_point or LU.dtype.is_complex):
        raise RuntimeError(
            f"torch.{name}: Expected a floating point or complex tensor as input. Got "
            f"{LU.dtype.scalar_name}"
        )
    if LU.dtype is not B.dtype:
        raise RuntimeError(
            f"{name}: Expected LU and B to have the same dtype, but found LU of type "
            f"{LU.dtype.scalar_name} and B of type {B.dtype.scalar_name} instead"
        )
    if pivots.dtype is not dtypes.int32:
        raise RuntimeError(
            f"{name}: pivots should be a Tensor of scalar type torch.int32. They are of "
            f"{pivots.dtype}."
        )
    if LU.ndim < 2:
        raise RuntimeError(f"torch.{name}: The input tensor A must have at least 2 dimensions.")
    m, n = LU.shape[-2:]
    if m != n:
        raise RuntimeError(
            f"torch.{name}: A must be batches of square matrices, but they are {m} by {n} matrices"
        )
    if B.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor B must have at least 2 dimensions.")
    if B.shape[-2 if left else -1] != n:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'} ({m}x{n} and {B.shape[-2]}x{B.shape[-1]})"
        )
    if pivots.shape[-1:] != (n,):
        raise RuntimeError(
            f"{name}: Number of pivots per batch should be same as the dimension of the matrix. "
            f"The pivots are of shape {listed(pivots.shape)}, the matrices {n} by {n}."
        )
    if pivots.shape != LU.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with "
            f"shape {listed(pivots.shape)} instead"
        )


def _lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, left: bool, adjoint: bool) -> Tensor:
    check_lu_solve(LU, pivots, B, left)
    P = pivot_matrix(pivots, LU.shape[-1]).to(LU.dtype)
    if not left:
        return _lu_solve(LU, pivots, B.mH, True, not adjoint).mH.contiguous()
    if adjoint:
        half = solve_triangular(LU.mH, B, upper=False)
        x = matmul(P, solve_triangular(LU.mH, half, upper=True, unitriangular=True))
        return x.mT.contiguous().mT
    half = solve_triangular(LU, matmul(P.mT, B), upper=False, unitriangular=True)
    return solve_triangular(LU, half, upper=True)


def _lu_solve_vjp(
    g: Tensor,
    LU: Tensor,
    pivots: Tensor,
    out: Tensor,
    left: bool,
    adjoint: bool,
    needs: tuple[int, ...],
) -> tuple[Tensor | None, Tensor]:
    gb = lu_solve(LU, pivots, g, left=left, adjoint=not adjoint)
    if not needs[0]:
        return None, gb
    x, y = (out, gb) if left else (out.mH, gb.mH)
    if adjoint == left:
        x, y = y, x
    # The gradient of L @ U, which is P.mT @ A.
    through = -matmul(matmul(pivot_matrix(pivots, LU.shape[-1]).to(LU.dtype).mT, y), x.mH)
    lower, upper = LU.tril(-1), LU.triu()
    return matmul(through, upper.mH).tril(-1) + (through + matmul(lower.mH, through)).triu(), gb


def _lu_solve_samples(make: Any) -> Any:
    pivots = make(3, low=3, high=4, kind="int").int()
    return [
        (regular(make), pivots, make(*size), {"left": left, "adjoint": adjoint})
        for left, size in ((True, (3, 2)), (False, (2, 3)))
        for adjoint in (True, False)
    ]


lu_solve: Op = general(
    "lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False)",
    is_=_lu_solve,
    native=_kernels.lu_solve,
    vjp={"LU, B": _lu_solve_vjp},
    node="LinalgLuSolveBackward0",
    where="linalg",
    method=False,
    out="exact",
    said="linalg_lu_solve",
    samples=_lu_solve_samples,
    autocast="float32 here",
    doc="The solution of A @ X = B, given the LU factors of A.",
)


def _torch_lu_solve(
    input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """`linalg.lu_solve` in torch's older form."""
    warn_once(
        "torch.lu_solve is deprecated in favor of torch.linalg.lu_solve"
        "and will be removed in a future PyTorch release.\n"
        "Note that torch.linalg.lu_solve has its arguments reversed.\n"
        "X = torch.lu_solve(B, LU, pivots)\n"
        "should be replaced with\n"
        "X = torch.linalg.lu_solve(LU, pivots, B)"
    )
    result = lu_solve(LU_data, LU_pivots, input)
    return result if out is None else written(out, result, "lu_solve")


alias("lu_solve", _torch_lu_solve, method=False)
