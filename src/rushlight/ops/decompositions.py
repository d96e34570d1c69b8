"""Inverses, determinants, solutions and factorisations of matrices: torch.linalg.

The factorisations are LAPACK's, reached through NumPy, over stacks of matrices. Their gradients are rules in terms of other
functions, so they can be differentiated again; those of factors that are only determined up to a sign or a phase assume, as
everywhere, that the loss does not depend on it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core
from ..return_types import named
from ._arrays import Array, common_type, listed, scalar_name
from ._kinds import composite, general
from ._op import namespace
from .linalg import matmul, multiply

_linalg = namespace("linalg")
_torch = namespace("torch")


class _LinAlgError(RuntimeError):
    """Raised where a matrix has no inverse, no factorisation, ...; a RuntimeError, as torch's."""

    __module__ = "rushlight.linalg"


LinAlgError = _LinAlgError
_linalg["LinAlgError"] = LinAlgError

# ---- checks


def _check(
    name: str, a: Array, *, square: bool = False, letter: str = "A", halves: bool = False
) -> None:
    if a.ndim < 2:
        raise RuntimeError(
            f"linalg.{name}: The input tensor {letter} must have at least 2 dimensions."
        )
    if square and a.shape[-1] != a.shape[-2]:
        raise RuntimeError(
            f"linalg.{name}: A must be batches of square matrices, "
            f"but they are {a.shape[-2]} by {a.shape[-1]} matrices"
        )
    if a.dtype.kind in "biu":
        raise RuntimeError(
            f"linalg.{name}: Expected a floating point or complex tensor as input. Got {scalar_name(a)}\n"
            "Convert first: `A.float()`."
        )
    if a.dtype.itemsize == 2 and not halves:
        raise RuntimeError(
            f"linalg.{name}: Low precision dtypes not supported. Got {scalar_name(a)}\n"
            "Compute in float32: `A.float()`."
        )


def _first_bad(a: Array, failed: Callable[[Array], bool]) -> tuple[str, Array]:
    """'(Batch element 2): ' and the matrix, of the first one for which `failed` holds; the prefix is empty without a stack."""
    if a.ndim == 2:
        return "", a
    stack = a.reshape(-1, *a.shape[-2:])
    i = next((i for i, m in enumerate(stack) if failed(m)), 0)
    return f"(Batch element {i}): ", stack[i]


def _raises(f: Callable[[Array], Any]) -> Callable[[Array], bool]:
    def test(m: Array) -> bool:
        try:
            f(m)
        except np.linalg.LinAlgError:
            return True
        return False

    return test


def _zero_pivot(a: Array) -> int:
    """The number, from 1, of the first pivot of Gaussian elimination that is 0."""
    m = np.array(a, dtype=np.complex128 if a.dtype.kind == "c" else np.float64)
    n = m.shape[0]
    for i in range(n):
        p = i + int(np.abs(m[i:, i]).argmax())
        if m[p, i] == 0:
            return i + 1
        m[[i, p]] = m[[p, i]]
        m[i + 1 :] -= np.outer(m[i + 1 :, i] / m[i, i], m[i])
    return n


def _no_convergence(name: str) -> LinAlgError:
    return LinAlgError(
        f"linalg.{name}: The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
        "repeated eigenvalues (error code: 1).\nLook for NaN or infinity in the input."
    )


# ---- inverse and solve


def _inv_of(name: str) -> Callable[[Array], Array]:
    def inv(a: Array) -> Array:
        _check("inv", a, square=True)
        try:
            return np.linalg.inv(a)
        except np.linalg.LinAlgError:
            where, bad = _first_bad(a, _raises(np.linalg.inv))
            raise LinAlgError(
                f"linalg.{name}: {where}The diagonal element {_zero_pivot(bad)} is zero, the inversion could not be "
                "completed because the input matrix is singular."
            ) from None

    return inv


def _regular(make: Any, *lead: int) -> Any:
    """A matrix that is safely invertible."""
    return make(*lead, 3, 3) * 0.2 + _core.wrap(np.eye(3)).to(make(1).dtype)


def _some_squares(make: Any) -> Any:
    return [(_regular(make),), (_regular(make, 2),)]


inv = general(
    "inv(A)",
    _inv_of("inv"),
    vjp={"A": lambda g, out: -matmul(out.mH, matmul(g, out.mH))},
    node="LinalgInvExBackward0",
    where="linalg",
    method=False,
    samples=_some_squares,
    doc="The inverse of square matrices.",
)
_torch["inverse"] = inv
_core.Tensor.inverse = inv

inv_ex_result = named("linalg_inv_ex", "inverse", "info")


@composite(where="linalg", method=False)
def inv_ex(A: Any, *, check_errors: bool = False) -> Any:
    """The inverse, and 0 or the number of the first zero pivot instead of an error."""
    if check_errors:
        return inv_ex_result((inv(A), _core.wrap(np.zeros(A.shape[:-2], np.int32))))
    try:
        return inv_ex_result((inv(A), _core.wrap(np.zeros(A.shape[:-2], np.int32))))
    except LinAlgError:
        stack = A._array.reshape(-1, *A.shape[-2:])
        failed = _raises(np.linalg.inv)
        info = [_zero_pivot(m) if failed(m) else 0 for m in stack]
        values = [np.full_like(m, np.nan) if i else np.linalg.inv(m) for m, i in zip(stack, info, strict=True)]
        return inv_ex_result((
            _core.wrap(np.reshape(values, A.shape).astype(stack.dtype)),
            _core.wrap(np.reshape(info, A.shape[:-2]).astype(np.int32)),
        ))


def _is_vector(a_shape: Any, b_shape: Any) -> bool:
    """Whether the right-hand side is a vector, or a stack of them, as torch and NumPy 1 decide."""
    return len(b_shape) == 1 or tuple(b_shape) == tuple(a_shape[:-1])


def _solve(a: Array, b: Array, left: bool) -> Array:
    _check("solve", a, square=True)
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"linalg.solve: Expected A and B to have the same dtype, but found A of type {scalar_name(a)} and B of "
            f"type {scalar_name(b)} instead"
        )
    vector = _is_vector(a.shape, b.shape)
    x = b[..., None] if vector else b
    n = a.shape[-1]
    if x.shape[-2 if left else -1] != n or (vector and not left):
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({a.shape[-2]}x{n} and {x.shape[-2]}x{x.shape[-1]})"
        )
    try:
        if left:
            result = np.linalg.solve(a, x)
        else:
            result = np.linalg.solve(a.swapaxes(-1, -2), x.swapaxes(-1, -2)).swapaxes(-1, -2)
    except np.linalg.LinAlgError:
        where, _ = _first_bad(a, _raises(np.linalg.inv))
        raise LinAlgError(
            f"torch.linalg.solve: {where}The solver failed because the input matrix is singular."
        ) from None
    return np.ascontiguousarray(result[..., 0] if vector else result)


def _solve_right(g: Any, A: Any, B_shape: Any, left: bool) -> Any:
    if left and _is_vector(A.shape, B_shape):
        return solve(A.mH, g.unsqueeze(-1)).squeeze(-1)
    return solve(A.mH, g, left=left)


def _solve_matrix(g: Any, A: Any, out: Any, B_shape: Any, left: bool) -> Any:
    g = _solve_right(g, A, B_shape, left)
    if left and _is_vector(A.shape, B_shape):
        return -(g.unsqueeze(-1) * out.conj().unsqueeze(-2))
    return -matmul(g, out.mH) if left else -matmul(out.mH, g)


solve = general(
    "solve(A, B, *, left=True)",
    _solve,
    vjp={
        "A": _solve_matrix,
        "B": _solve_right,
    },
    node="LinalgSolveExBackward0",
    where="linalg",
    method=False,
    samples=lambda make: [
        (_regular(make), make(3)),
        (_regular(make), make(3, 2)),
        (_regular(make, 2), make(2, 3, 2)),
        (_regular(make), make(2, 3), {"left": False}),
    ],
    doc="The solution X of A @ X = B (of X @ A = B with left=False).",
)


def _solve_triangular(a: Array, b: Array, upper: bool, left: bool, unitriangular: bool) -> Array:
    _check("solve_triangular", a, square=True)
    if b.ndim < 2:
        _check("solve_triangular", b, letter="B")
    n = a.shape[-1]
    if b.shape[-2 if left else -1] != n:
        raise RuntimeError(
            f"linalg.solve_triangular: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'} ({a.shape[-2]}x{n} and {b.shape[-2]}x{b.shape[-1]})"
        )
    m = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        m[..., np.arange(n), np.arange(n)] = 1
    x = b if left else b.swapaxes(-1, -2)
    if not left:
        m, upper = m.swapaxes(-1, -2), not upper
    lead = np.broadcast_shapes(m.shape[:-2], x.shape[:-2])
    x = np.array(np.broadcast_to(x, (*lead, *x.shape[-2:])), dtype=common_type(a, b))
    with np.errstate(all="ignore"):
        for i in reversed(range(n)) if upper else range(n):
            known = slice(i + 1, None) if upper else slice(None, i)
            row = x[..., i, :] - (m[..., i : i + 1, known] @ x[..., known, :])[..., 0, :]
            x[..., i, :] = row / m[..., i, i, None]
    return np.ascontiguousarray(x if left else x.swapaxes(-1, -2))


def _triangle(t: Any, upper: bool, unit: bool) -> Any:
    return t.triu(1 if unit else 0) if upper else t.tril(-1 if unit else 0)


def _triangular_right(g: Any, A: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    return solve_triangular(A.mH, g, upper=not upper, left=left, unitriangular=unitriangular)


def _triangular_matrix(
    g: Any, A: Any, out: Any, upper: bool, left: bool, unitriangular: bool
) -> Any:
    g = _triangular_right(g, A, upper, left, unitriangular)
    full = -matmul(g, out.mH) if left else -matmul(out.mH, g)
    return _triangle(full, upper, unitriangular)


def _triangular_op(name: str, node: str, **more: Any) -> Any:
    return general(
        f"{name}(A, B, *, upper: plain, left=True, unitriangular=False)",
        _solve_triangular,
        vjp={"A": _triangular_matrix, "B": _triangular_right},
        node=node,
        method=False,
        samples=lambda make: [
            (_regular(make), make(3, 2), {"upper": True}),
            (_regular(make), make(2, 3), {"upper": False, "left": False}),
        ],
        doc="The solution X of A @ X = B for a triangular A.",
        **more,
    )


solve_triangular = _triangular_op(
    "solve_triangular", "LinalgSolveTriangularBackward0", where="linalg"
)
_triangular_solve = _triangular_op("_triangular_solve", "TriangularSolveBackward0")
_triangular_result = named("triangular_solve", "solution", "cloned_coefficient")


@composite
def triangular_solve(
    input: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """`linalg.solve_triangular` in torch's older form."""
    m = A.mT if transpose else A
    x = _triangular_solve(m, input, upper=upper != transpose, unitriangular=unitriangular)
    return _triangular_result((x, A.clone()))


# ---- determinants


def _quiet(f: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(f)
    def run(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return f(*args)

    return run


@_quiet
def _det(a: Array) -> Any:
    _check("det", a, square=True)
    return np.linalg.det(a)


def _adjugate_conj(A: Any, out: Any) -> Any:
    """conj(det(A) inv(A)).mT: the gradient of the determinant, of singular matrices too."""
    if bool((out != 0).all()):
        return out.conj().unsqueeze(-1).unsqueeze(-1) * inv(A).mH
    # Through the singular values: the product of all but one exists where the inverse does not.
    u, s, vh = svd(A, full_matrices=False)
    n = s.shape[-1]
    others = s.unsqueeze(-2).expand(*s.shape, n).masked_fill(
        _core.wrap(np.eye(n, dtype=bool)), 1.0
    )
    phase = det(u) * det(vh)
    product = u * others.prod(-1).unsqueeze(-2)
    return phase.unsqueeze(-1).unsqueeze(-1) * matmul(product, vh)


det = general(
    "det(A)",
    _det,
    vjp={"A": lambda g, A, out: g.unsqueeze(-1).unsqueeze(-1) * _adjugate_conj(A, out)},
    node="LinalgDetBackward0",
    where="linalg",
    method=False,
    samples=_some_squares,
    doc="The determinants of square matrices.",
)
_torch["det"] = det
_core.Tensor.det = det



@_quiet
def _slogdet(a: Array) -> Any:
    _check("slogdet", a, square=True)
    sign, logabsdet = np.linalg.slogdet(a)
    return np.asarray(sign), np.asarray(logabsdet).astype(a.real.dtype, copy=False)


def _slogdet_vjp(g1: Any, g2: Any, A: Any, out: Any) -> Any:
    back = inv(A).mH
    total = None
    if g2 is not None:
        total = g2.unsqueeze(-1).unsqueeze(-1) * back
    if g1 is not None and A.dtype.is_complex:
        # The sign turns by the imaginary part of the trace of inv(A) dA.
        turn = (g1.conj() * out).imag
        part = (turn * -1j).unsqueeze(-1).unsqueeze(-1) * back
        total = part if total is None else total + part
    return total


def _slogdet_op(name: str) -> Any:
    return general(
        f"_{name}(A)",
        _slogdet,
        vjp={"A": lambda gs, A, out: _slogdet_vjp(gs[0], gs[1], A, out)},
        node="LinalgSlogdetBackward0",
        outputs=named(name, "sign", "logabsdet"),
        method=False,
        samples=_some_squares,
        doc="The sign and the logarithm of the absolute value of determinants.",
    )


_linalg["slogdet"] = _slogdet_op("linalg_slogdet")
_torch["slogdet"] = _core.Tensor.slogdet = _slogdet_op("slogdet")


@composite
def logdet(input: Any) -> Any:
    """The logarithm of determinants; nan where one is negative."""
    _check("slogdet", input._array, square=True)
    sign, size = _linalg["slogdet"](input)
    if input.dtype.is_complex:
        return sign.log() + size
    return _torch["where"](sign == -1, float("nan"), size)


# ---- Cholesky


def _cholesky_of(name: str) -> Callable[[Array, bool], Array]:
    def cholesky(a: Array, upper: bool) -> Array:
        _check("cholesky", a, square=True)
        lower = a.swapaxes(-1, -2).conj() if upper else a
        try:
            factor = np.linalg.cholesky(lower)
        except np.linalg.LinAlgError:
            where, bad = _first_bad(lower, _raises(np.linalg.cholesky))
            fails = _raises(np.linalg.cholesky)
            order = next(
                (k for k in range(1, bad.shape[0] + 1) if fails(bad[:k, :k])), bad.shape[0]
            )
            raise LinAlgError(
                f"{name}: {where}The factorization could not be completed because the input is not positive-definite "
                f"(the leading minor of order {order} is not positive-definite)."
            ) from None
        return np.ascontiguousarray(factor.swapaxes(-1, -2).conj() if upper else factor)

    return cholesky


def _cholesky_vjp(g: Any, out: Any, upper: bool) -> Any:
    L = out.mH if upper else out
    g = g.mH if upper else g
    # The symmetric part, for the argument is symmetric, of what a triangular L leaves free.
    low = matmul(L.mH, g).tril()
    inner = (low + low.tril(-1).mH) * 0.5
    x = solve_triangular(L.mH, inner, upper=True)
    return solve_triangular(L, x, upper=False, left=False)


def _positive(make: Any) -> Any:
    out = []
    for lead in ((), (2,)):
        m = make(*lead, 3, 3)
        out.append((matmul(m, m.mT) + _core.wrap(np.eye(3)).to(m.dtype),))
    return out


cholesky = general(
    "cholesky(A, *, upper=False)",
    _cholesky_of("linalg.cholesky"),
    vjp={"A": _cholesky_vjp},
    node="LinalgCholeskyExBackward0",
    where="linalg",
    method=False,
    samples=_positive,
    doc="The lower triangular L (the upper with upper=True) for which A = L @ L.mH.",
)
_old_cholesky = general(
    "_cholesky(input, upper=False)",
    _cholesky_of("cholesky"),
    vjp={"input": _cholesky_vjp},
    node="CholeskyBackward0",
    method=False,
    doc="`linalg.cholesky` in torch's older form.",
)
_torch["cholesky"] = _old_cholesky
_core.Tensor.cholesky = _old_cholesky


@composite
def cholesky_solve(input: Any, L: Any, upper: bool = False) -> Any:
    """The solution of A @ X = input, given the Cholesky factor of A."""
    lower = L.mH if upper else L
    half = solve_triangular(lower, input, upper=False)
    return solve_triangular(lower.mH, half, upper=True)


@composite
def cholesky_inverse(input: Any, upper: bool = False) -> Any:
    """The inverse of A, given its Cholesky factor."""
    n = input.shape[-1]
    return cholesky_solve(_core.wrap(np.eye(n, dtype=input.dtype.numpy)), input, upper)


# ---- QR

qr_result = named("linalg_qr", "Q", "R")
_old_qr_result = named("qr", "Q", "R")


def _qr(a: Array, mode: str) -> Any:
    _check("qr", a)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    if mode == "r":
        return np.empty(0, a.dtype), np.linalg.qr(a, "r")
    q, r = np.linalg.qr(a, mode)
    return q, r


def _upper_symmetric(t: Any) -> Any:
    """The upper triangle mirrored to the lower, with a real diagonal: what a triangular R leaves free."""
    above = t.triu(1)
    diagonal = t.diagonal(0, -2, -1)
    return above + above.mH + diagonal.real.to(t.dtype).diag_embed()


def _qr_vjp(gs: Any, A: Any, out: Any, out1: Any, mode: str) -> Any:
    gq, gr = gs
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
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
    return _cat([gx, matmul(q, gr_y)], -1)


def _tall_qr_vjp(gq: Any, gr: Any, q: Any, r: Any) -> Any:
    inner = matmul(gr, r.mH) - matmul(q.mH, gq)
    right = gq + matmul(q, _upper_symmetric(inner))
    return solve_triangular(r.mH, right, upper=False, left=False)


def _cat(parts: list[Any], dim: int) -> Any:
    return _torch["cat"](parts, dim)


_qr_op = general(
    "_qr(A, mode='reduced')",
    _qr,
    vjp={"A": _qr_vjp},
    node="LinalgQrBackward0",
    outputs=qr_result,
    method=False,
    samples=lambda make: [(make(4, 3),), (make(2, 3, 3),), (make(2, 4),)],
    doc="A = Q @ R with orthonormal columns in Q and an upper triangular R.",
)
_linalg["qr"] = _qr_op


@composite
def qr(input: Any, some: bool = True) -> Any:
    """`linalg.qr` in torch's older form."""
    return _old_qr_result(_qr_op(input, "reduced" if some else "complete"))


# ---- eigenvalues

eigh_result = named("linalg_eigh", "eigenvalues", "eigenvectors")
eig_result = named("linalg_eig", "eigenvalues", "eigenvectors")


def _eigh(a: Array, UPLO: str) -> Any:
    _check("eigh", a, square=True)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    try:
        values, vectors = np.linalg.eigh(a, UPLO.upper())
    except np.linalg.LinAlgError:
        raise _no_convergence("eigh") from None
    return values, vectors


def _gaps(values: Any) -> Any:
    """1 / (value j - value i), 0 on the diagonal."""
    gap = values.unsqueeze(-2) - values.unsqueeze(-1)
    eye = _core.wrap(np.eye(values.shape[-1], dtype=bool))
    return gap.masked_fill(eye, float("inf")).reciprocal()


def _eigh_vjp(gs: Any, out: Any, out1: Any) -> Any:
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


_eigh_op = general(
    "_eigh(A, UPLO='L')",
    _eigh,
    vjp={"A": _eigh_vjp},
    node="LinalgEighBackward0",
    outputs=eigh_result,
    method=False,
    samples=_positive,
    doc="The eigenvalues, rising, and the eigenvectors of symmetric (Hermitian) matrices.",
)
_linalg["eigh"] = _eigh_op


@composite(where="linalg", method=False)
def eigvalsh(A: Any, UPLO: str = "L") -> Any:
    """The eigenvalues of symmetric (Hermitian) matrices, rising."""
    return _eigh_op(A, UPLO)[0]


def _eig(a: Array) -> Any:
    _check("eig", a, square=True)
    try:
        values, vectors = np.linalg.eig(a)
    except np.linalg.LinAlgError:
        raise _no_convergence("eig") from None
    complex_type = np.complex64 if a.dtype in (np.float32, np.complex64) else np.complex128
    return values.astype(complex_type), vectors.astype(complex_type)


def _eig_vjp(gs: Any, A: Any, out: Any, out1: Any) -> Any:
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


_eig_op = general(
    "_eig(A)",
    _eig,
    vjp={"A": _eig_vjp},
    node="LinalgEigBackward0",
    outputs=eig_result,
    method=False,
    doc="The eigenvalues and the eigenvectors, complex, of square matrices.",
)
_linalg["eig"] = _eig_op


@composite(where="linalg", method=False)
def eigvals(A: Any) -> Any:
    """The eigenvalues of square matrices."""
    return _eig_op(A)[0]


# ---- singular values

svd_result = named("linalg_svd", "U", "S", "Vh")
_old_svd_result = named("svd", "U", "S", "V")


def _svd(a: Array, full_matrices: bool) -> Any:
    _check("svd", a)
    try:
        return np.linalg.svd(a, full_matrices=full_matrices)
    except np.linalg.LinAlgError:
        raise _no_convergence("svd") from None


def _svd_vjp(gs: Any, A: Any, out: Any, out1: Any, out2: Any) -> Any:
    gu, gs_, gvh = gs
    k = out1.shape[-1]
    u, s, vh = out.narrow(-1, 0, k), out1, out2.narrow(-2, 0, k)
    if gu is None and gvh is None:
        return matmul(u * gs_.unsqueeze(-2), vh)
    m, n = A.shape[-2:]
    # The part within the spaces of the singular vectors: 1 / (s_j^2 - s_i^2).
    gap = _gaps_squared(s)
    inner = None
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


def _gaps_squared(s: Any) -> Any:
    a, b = s.unsqueeze(-2), s.unsqueeze(-1)
    eye = _core.wrap(np.eye(s.shape[-1], dtype=bool))
    return ((a - b) * (a + b)).masked_fill(eye, float("inf")).reciprocal()


def _phase(t: Any, s: Any) -> Any:
    """The imaginary diagonal: the phases of complex singular vectors."""
    turn = t.diagonal(0, -2, -1).imag / s
    return (turn * 1j).diag_embed()


_svd_op = general(
    "_svd(A, full_matrices=True)",
    _svd,
    vjp={"A": _svd_vjp},
    node="LinalgSvdBackward0",
    outputs=svd_result,
    method=False,
    samples=lambda make: [(make(3, 3), False), (make(4, 2), False), (make(2, 3), False)],
    doc="A = U @ diag(S) @ Vh with orthonormal U and Vh, and S falling.",
)
_linalg["svd"] = lambda A, full_matrices=True, *, driver=None, out=None: _svd_op(A, full_matrices)
_linalg["svd"].__name__ = "svd"
_linalg["svd"].__doc__ = _svd_op.__doc__


@composite
def svd(input: Any, some: bool = True, compute_uv: bool = True, full_matrices: Any = None) -> Any:
    """`linalg.svd` in torch's older form: gives V, not Vh."""
    if full_matrices is not None:
        return _svd_op(input, full_matrices)
    u, s, vh = _svd_op(input, not some)
    return _old_svd_result((u, s, vh.mH))


@composite(where="linalg", method=False)
def svdvals(A: Any, *, driver: Any = None) -> Any:
    """The singular values, falling."""
    return _svd_op(A, False)[1]


@composite(where="linalg", method=False)
def cond(A: Any, p: Any = None) -> Any:
    """The condition number: a norm of A times that of its inverse."""
    if p is None or p in (2, -2):
        s = svdvals(A)
        return s.amax(-1) / s.amin(-1) if p != -2 else s.amin(-1) / s.amax(-1)
    return _linalg["matrix_norm"](A, p) * _linalg["matrix_norm"](inv(A), p)


def _threshold(s: Array, shape: Any, atol: Any, rtol: Any) -> Array:
    largest = s.max(-1, keepdims=True) if s.shape[-1] else s.sum(-1, keepdims=True)
    eps = np.finfo(s.dtype).eps
    relative = max(shape[-2:]) * eps if rtol is None and atol is None else (rtol or 0.0)
    return np.maximum(atol or 0.0, relative * largest)


def _matrix_rank(a: Array, tol: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    _check("matrix_rank", a)
    s = np.abs(np.linalg.eigvalsh(a)) if hermitian else np.linalg.svd(a, compute_uv=False)
    if tol is not None:
        atol, rtol = tol, 0.0
    return np.asarray((s > _threshold(s, a.shape, atol, rtol)).sum(-1))


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, _core.Tensor) else value


@composite(where="linalg", method=False)
def matrix_rank(
    A: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Any:
    """The number of singular values above a threshold."""
    rank = _matrix_rank(A._array, _plain(tol), _plain(atol), _plain(rtol), hermitian)
    return _core.wrap(rank.astype(np.int64))


def _pinv(a: Array, rcond: Any, atol: Any, rtol: Any, hermitian: bool) -> Array:
    if a.ndim < 2 or a.dtype.kind in "biu" or a.dtype.itemsize == 2:
        raise RuntimeError(
            f"linalg.pinv({scalar_name(a)}{{{listed(a.shape)}}}): expected a tensor with 2 or more dimensions of float, "
            "double, cfloat or cdouble types"
        )
    if rcond is not None:
        rtol = rcond
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    keep = s > _threshold(s, a.shape, atol, rtol)
    with np.errstate(divide="ignore"):
        inverse = np.where(keep, 1 / s, 0).astype(s.dtype)
    return np.ascontiguousarray(
        multiply(vh.swapaxes(-1, -2).conj() * inverse[..., None, :], u.swapaxes(-1, -2).conj())
    )


def _pinv_vjp(g: Any, A: Any, out: Any) -> Any:
    # The derivative of the pseudo-inverse at constant rank.
    p, gh = out, g.mH
    ph = p.mH
    result = -matmul(ph, matmul(g, ph))
    left = matmul(gh, p)  # rows of A
    result = result + matmul(left - matmul(A, matmul(p, left)), ph).reshape(A.shape)
    right = matmul(p, gh)
    return result + matmul(ph, right - matmul(right, matmul(p, A).mH).reshape(right.shape))


pinv = general(
    "pinv(A, rcond=None, *, atol=None, rtol=None, hermitian=False)",
    lambda a, rcond, atol, rtol, hermitian: _pinv(a, rcond, atol, rtol, hermitian),
    vjp={"A": lambda g, A, out: _pinv_vjp(g, A, out)},
    node="LinalgPinvBackward0",
    where="linalg",
    method=False,
    samples=lambda make: [(make(4, 3),), (make(2, 3),)],
    doc="The Moore-Penrose pseudo-inverse.",
)


@composite
def pinverse(input: Any, rcond: float = 1e-15) -> Any:
    """The pseudo-inverse."""
    return pinv(input, rcond)


lstsq_result = named("linalg_lstsq", "solution", "residuals", "rank", "singular_values")


@composite(where="linalg", method=False)
def lstsq(A: Any, B: Any, rcond: Any = None, *, driver: Any = None) -> Any:
    """The X that makes A @ X - B smallest, the sums of squares that remain, rank and singular values."""
    _check("lstsq", A._array)
    vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and tuple(B.shape) == tuple(A.shape[:-1]))
    b = B.unsqueeze(-1) if vector else B
    if A.shape[-2] != b.shape[-2]:
        raise RuntimeError("torch.linalg.lstsq: input.size(-2) should match other.size(-2)")
    m, n = A.shape[-2:]
    x = matmul(pinv(A, rcond), b)
    rank = matrix_rank(A)
    empty = _core.wrap(np.empty(0, A.dtype.numpy))
    residuals = empty
    if driver not in (None, "gelsy") and m > n and bool((rank == n).all()):
        rest = matmul(A, x) - b
        residuals = (rest.abs() ** 2).sum(-2)
    values = svdvals(A.detach()) if driver in ("gelsd", "gelss") else empty
    if driver == "gels":
        rank = _core.wrap(np.empty(0, np.int64))
    return lstsq_result((x.squeeze(-1) if vector else x, residuals, rank, values))


# ---- powers and exponentials


@composite(where="linalg", method=False)
def matrix_power(A: Any, n: int) -> Any:
    """A multiplied by itself n times; of its inverse for a negative n."""
    _check_square("matrix_power", A)
    if n == 0:
        eye = np.broadcast_to(np.eye(A.shape[-1], dtype=A.dtype.numpy), A.shape)
        return _core.wrap(eye.copy())
    if n < 0:
        A, n = inv(A), -n
    if n == 1:
        return A.clone()
    result, square = None, A
    while n:
        if n & 1:
            result = square if result is None else matmul(result, square)
        n >>= 1
        if n:
            square = matmul(square, square)
    return result


def _check_square(name: str, A: Any) -> None:
    if A.ndim < 2:
        raise RuntimeError(f"linalg.{name}: The input tensor A must have at least 2 dimensions.")
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"linalg.{name}: A must be batches of square matrices, "
            f"but they are {A.shape[-2]} by {A.shape[-1]} matrices"
        )


_torch["matrix_power"] = matrix_power
_core.Tensor.matrix_power = matrix_power

_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip


def _matrix_exp(a: Array) -> Array:
    """By scaling, a quotient of polynomials of degree 13, and squaring."""
    _check("matrix_exp", a, square=True, halves=True)
    if not a.size:
        return a.copy()
    wide = a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)
    size = float(np.abs(wide).sum(-2).max())
    if not math.isfinite(size):
        return np.full_like(a, np.nan)
    halvings = max(0, math.ceil(math.log2(size / 5.37))) if size > 5.37 else 0
    x = wide / 2.0**halvings
    eye = np.eye(a.shape[-1])
    b = _PADE
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x2 @ x4
    odd = x @ (
        x6 @ (b[13] * x6 + b[11] * x4 + b[9] * x2) + b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * eye
    )
    even = (
        x6 @ (b[12] * x6 + b[10] * x4 + b[8] * x2) + b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * eye
    )
    result = np.linalg.solve(even - odd, even + odd)
    for _ in range(halvings):
        result = result @ result
    return result.astype(a.dtype)


def _matrix_exp_vjp(g: Any, A: Any) -> Any:
    # The corner of the exponential of [[A^H, g], [0, A^H]] is the derivative along g.
    n = A.shape[-1]
    top = _cat([A.mH, g], -1)
    bottom = _cat([g * 0, A.mH], -1)
    return matrix_exp(_cat([top, bottom], -2)).narrow(-2, 0, n).narrow(-1, n, n)


matrix_exp = general(
    "matrix_exp(A)",
    _matrix_exp,
    vjp={"A": _matrix_exp_vjp},
    node="LinalgMatrixExpBackward0",
    where="linalg",
    method=False,
    samples=_some_squares,
    doc="The exponential of square matrices.",
)
_torch["matrix_exp"] = matrix_exp
_core.Tensor.matrix_exp = matrix_exp

# ---- LU

lu_result = named("linalg_lu", "P", "L", "U")
lu_factor_result = named("linalg_lu_factor", "LU", "pivots")


def _lu_factor(a: Array) -> Any:
    """Gaussian elimination with row exchanges, over a stack of matrices at once."""
    _check("lu_factor", a)
    m, n = a.shape[-2:]
    lu = a.reshape(-1, m, n).copy()
    stack = np.arange(lu.shape[0])
    pivots = np.empty((lu.shape[0], min(m, n)), np.int32)
    with np.errstate(all="ignore"):
        for k in range(min(m, n)):
            p = k + np.abs(lu[:, k:, k]).argmax(-1)
            pivots[:, k] = p + 1
            rows = lu[stack, p].copy()
            lu[stack, p] = lu[:, k]
            lu[:, k] = rows
            below = lu[:, k + 1 :, k]
            pivot = lu[:, k, k, None]
            np.divide(below, pivot, out=below, where=np.broadcast_to(pivot != 0, below.shape))
            lu[:, k + 1 :, k + 1 :] -= below[:, :, None] * lu[:, k, None, k + 1 :]
    return lu.reshape(a.shape), pivots.reshape(*a.shape[:-2], -1)


def _permutation(pivots: Array, m: int) -> Array:
    """The matrices P of A = P @ L @ U."""
    flat = pivots.reshape(-1, pivots.shape[-1])
    out = np.zeros((flat.shape[0], m, m), bool)
    for i, row in enumerate(flat):
        order = np.arange(m)
        for k, p in enumerate(row):
            order[[k, p - 1]] = order[[p - 1, k]]
        out[i, order, np.arange(m)] = True
    return out.reshape(*pivots.shape[:-1], m, m)


def _lu_vjp(g: Any, A: Any, out: Any, out1: Any) -> Any:
    m, n = A.shape[-2:]
    if m != n:
        raise NotImplementedError(
            "rushlight: the derivative of lu_factor is there for square matrices only"
        )
    P = _core.wrap(_permutation(out1._array, m).astype(A.dtype.numpy))
    eye = _core.wrap(np.eye(n, dtype=A.dtype.numpy))
    L, U = out.tril(-1) + eye, out.triu()
    inner = matmul(L.mH, g.tril(-1)).tril(-1) + matmul(g.triu(), U.mH).triu()
    inner = solve_triangular(L.mH, inner, upper=True)
    inner = solve_triangular(U.mH, inner, upper=False, left=False)
    return matmul(P, inner)


_lu_factor_op = general(
    "_lu_factor(A)",
    _lu_factor,
    vjp={"A": _lu_vjp},
    node="LinalgLuFactorExBackward0",
    outputs=lu_factor_result,
    first_only=True,
    method=False,
    samples=lambda make: [(make(3, 3),), (make(2, 3, 3),)],
    doc="L below and U on and above the diagonal of one matrix, and the exchanges of rows.",
)


@composite(where="linalg", method=False)
def lu_factor(A: Any, *, pivot: bool = True) -> Any:
    """L and U in one matrix, and the row exchanged at each step, from 1."""
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    return _lu_factor_op(A)


@composite(where="linalg", method=False)
def lu(A: Any, *, pivot: bool = True) -> Any:
    """A = P @ L @ U."""
    if not pivot:
        raise RuntimeError("linalg.lu: LU without pivoting is not implemented on the CPU")
    both, pivots = _lu_factor_op(A)
    m, n = A.shape[-2:]
    k = min(m, n)
    dtype = A.dtype.numpy
    P = _core.wrap(_permutation(pivots._array, m).astype(dtype))
    L = both.narrow(-1, 0, k).tril(-1) + _core.wrap(np.eye(m, k, dtype=dtype))
    return lu_result((P, L, both.narrow(-2, 0, k).triu()))


@composite(where="linalg", method=False)
def lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    """The solution of A @ X = B, given the LU factors of A."""
    n = LU.shape[-1]
    P = _core.wrap(_permutation(pivots._array, n).astype(LU.dtype.numpy))
    if not left:
        return lu_solve(LU, pivots, B.mH, adjoint=not adjoint).mH
    if adjoint:
        half = solve_triangular(LU.mH, B, upper=False)
        return matmul(P, solve_triangular(LU.mH, half, upper=True, unitriangular=True))
    half = solve_triangular(LU, matmul(P.mT, B), upper=False, unitriangular=True)
    return solve_triangular(LU, half, upper=True)


_torch["lu_solve"] = lambda b, LU_data, LU_pivots: lu_solve(LU_data, LU_pivots, b)

# ---- the rest


@composite(where="linalg", method=False)
def vander(x: Any, N: int | None = None) -> Any:
    """The matrix of the powers 0 to N - 1 of each element."""
    n = x.shape[-1] if N is None else N
    powers = _core.wrap(np.arange(n).astype(x.dtype.numpy))
    return x.unsqueeze(-1).pow(powers)


@composite(where="linalg", method=False)
def tensorinv(A: Any, ind: int = 2) -> Any:
    """The inverse of A for tensordot over its first `ind` dimensions."""
    first, rest = A.shape[:ind], A.shape[ind:]
    n = math.prod(rest)
    if math.prod(first) != n:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), "
            f"but got {n} != {math.prod(first)}"
        )
    return inv(A.reshape(n, n)).reshape(*rest, *first)


@composite(where="linalg", method=False)
def tensorsolve(A: Any, B: Any, dims: Any = None) -> Any:
    """The X for which tensordot(A, X, X.ndim) = B."""
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
    shape = A.shape[B.ndim :]
    n = math.prod(shape)
    return solve(A.reshape(n, n), B.reshape(n)).reshape(shape)


@composite(where="linalg", method=False, name="diagonal")
def _diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonals of matrices."""
    return A.diagonal(offset, dim1, dim2)


__all__ = ["LinAlgError"]
