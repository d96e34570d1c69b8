"""Functions of matrices made of factorisations: rank, pseudo-inverse, least squares, powers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ... import _core
from ..._base import dtypes
from ..._base.outside import np
from ..._core import Category, Op
from ..._devices import of
from ..._levels.running import answered
from ...return_types import named
from ..elementwise.selection import maximum, where
from ..layout.joining import cat
from ..making.creation import eye
from ..table.arrays import Array, anywhere, listed, unwarned
from ..table.kinds import composite, constant, general
from ..table.reference import alias
from ..table.signature import Sizes, Tensor
from .decompositions import eigvalsh, linalg_eigh, svd_op, svdvals
from .factors import inv_ex
from .norms import matrix_norm
from .products import matmul
from .solving import LinAlgError, check_matrices, inv, solve, square_samples

_TOLERANCES = tuple(
    f"(input: Tensor, *, atol: {t} | None = None, rtol: {t} | None = None, hermitian, out)"
    for t in ("Tensor", "float")
)


# ---- of the singular values


@composite(
    where="linalg",
    overloads=(
        "(input: Tensor, p: Number | None = None, *, out)",
        "(input: Tensor, p: str, *, out)",
    ),
    out=(
        "cast",
        RuntimeError,
        "linalg.cond: Expected result to be safely castable from {want.scalar_name} dtype, but "
        "got result with dtype {got.scalar_name}",
    ),
    autocast="float32 here",
)
def cond(A: Tensor, p: Any = None) -> Tensor:
    """The condition number: a norm of A times that of its inverse."""
    by_values = p is None or p in (2, -2)
    if not A.numel() and (by_values or p in (1, -1, math.inf, -math.inf)):
        return of(A).made(A.shape[:-2], A._form.dtype.to_real(), 0)
    if not by_values and A.ndim >= 2 and A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"linalg.cond(ord={p}): A must be batches of square matrices, but they are "
            f"{A.shape[-2]} by {A.shape[-1]} matrices"
        )
    if by_values or p == "nuc":
        s = svdvals(A)
        if p == "nuc":
            return s.sum(-1) * s.reciprocal().sum(-1)
        return s.amax(-1) / s.amin(-1) if p != -2 else s.amin(-1) / s.amax(-1)
    inverse, info = inv_ex(A)
    return matrix_norm(A, p) * matrix_norm(inverse, p).masked_fill(info > 0, math.inf)


def _above(s: Tensor, shape: Sequence[int], atol: Any, rtol: Any) -> Tensor:
    """Which singular values, falling or of any order, count. The bounds are numbers, or tensors of
    one for each matrix of a stack."""
    size = s.abs()
    if not s.shape[-1]:
        return size > 0
    largest = size.amax(-1, True)
    usual = max(shape[-2:]) * float(dtypes.finfo(s._form.dtype).eps)
    if isinstance(atol, Tensor):
        absolute: Any = atol.unsqueeze(-1)
        default: Any = where(absolute > 0, 0.0, usual)
    else:
        absolute = 0.0 if atol is None else float(atol)
        default = 0.0 if absolute > 0 else usual
    relative = rtol.unsqueeze(-1) if isinstance(rtol, Tensor) else default if rtol is None else rtol
    bound = largest * relative
    if isinstance(absolute, Tensor):
        bound = maximum(bound, absolute.to(bound.dtype))
    elif absolute > 0:
        bound = bound.clamp_min(absolute)
    return size > bound


def _matrix_rank(A: Tensor, tol: Any, atol: Any, rtol: Any, hermitian: bool) -> Tensor:
    check_matrices("matrix_rank", A._form)
    values = eigvalsh(A) if hermitian and A.numel() else svdvals(A)
    if tol is not None:
        atol, rtol = tol, 0.0
    return _above(values, A.shape, atol, rtol).sum(-1)


_rank_op: Op = constant(
    "_matrix_rank(A: Tensor, tol: Any, atol: Any, rtol: Any, hermitian: Any)",
    is_=_matrix_rank,
    method=False,
    out=False,
    samples=lambda make: [(make(2, 3, 3), None, 0.5, 0.1, False)],
    doc="`matrix_rank` with thresholds that are numbers.",
    batch="trailing",
)


@composite(
    where="linalg",
    overloads=(
        *_TOLERANCES,
        "(input: Tensor, tol: Tensor, hermitian, *, out)",
        "(input: Tensor, tol: float, hermitian, *, out)",
    ),
    out=(
        "cast",
        RuntimeError,
        "linalg.matrix_rank: Expected result to be safely castable from {want.scalar_name} dtype, "
        "but got result with dtype {got.scalar_name}",
    ),
    autocast="float32 here",
)
def matrix_rank(
    A: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    """The number of singular values above a threshold."""
    return _rank_op(A, tol, atol, rtol, hermitian)


def _pinv(A: Tensor, rcond: Any, atol: Any, rtol: Any, hermitian: bool) -> Tensor:
    if A.ndim < 2 or A.dtype.category <= Category.INTEGER or A.dtype.itemsize == 2:
        raise RuntimeError(
            f"linalg.pinv({A.dtype.scalar_name}{{{listed(A.shape)}}}): expected a tensor with 2 or "
            "more dimensions of float, double, cfloat or cdouble types"
        )
    if hermitian and A.numel():
        s, right = linalg_eigh(A)
        left = right.mH
    else:
        u, s, vh = svd_op(A, False)
        right, left = vh.mH, u.mH
    keep = _above(s, A.shape, atol, rtol if rcond is None else rcond)
    return matmul(right * where(keep, s.reciprocal(), 0.0).unsqueeze(-2), left)


def _pinv_vjp(g: Tensor, A: Tensor, out: Tensor) -> Tensor:
    # The derivative of the pseudo-inverse at constant rank.
    p, gh = out, g.mH
    ph = p.mH
    result = -matmul(ph, matmul(g, ph))
    left = matmul(gh, p)  # rows of A
    result = result + matmul(left - matmul(A, matmul(p, left)), ph).reshape(A.shape)
    right = matmul(p, gh)
    return result + matmul(ph, right - matmul(right, matmul(p, A)).reshape(right.shape))


pinv = general(
    "pinv(A: Tensor, rcond: Any = None, *, atol: Any = None, rtol: Any = None, "
    "hermitian: bool = False)",
    is_=_pinv,
    vjp={"A": lambda g, A, out: _pinv_vjp(g, A, out)},
    node="LinalgPinvBackward0",
    where="linalg",
    out=(
        "cast",
        RuntimeError,
        "linalg.pinv: Expected result to be safely castable from {want.scalar_name} dtype, but "
        "got result with dtype {got.scalar_name}",
    ),
    samples=lambda make: [(make(4, 3),), (make(2, 3),)],
    overloads=(
        *_TOLERANCES,
        "(input: Tensor, rcond: Tensor, hermitian, *, out)",
        "(input: Tensor, rcond: float, hermitian, *, out)",
    ),
    doc="The Moore-Penrose pseudo-inverse.",
    batch="trailing",
)


@composite(autocast="float32 here")
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudo-inverse."""
    return pinv(input, rcond)


lstsq_result = named("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
_DRIVERS = ("gels", "gelsd", "gelss", "gelsy")


def _least_squares(A: Tensor, B: Tensor, rcond: Any, driver: str) -> tuple[Tensor, ...]:
    """The solution, the sums of squares that remain where each matrix has full rank, the ranks and
    the singular values."""
    of(A).check_values("linalg_lstsq.out")
    m, n = A.shape[-2:]
    x = matmul(pinv(A, rcond), B)
    none = of(A).made((0,), A._form.dtype.to_real())
    rank = _rank_op(A, None, None, rcond, False)
    left = none
    if m > n and driver != "gelsy" and (driver == "gels" or not anywhere(rank != n)):
        rest = matmul(A, x) - B
        left = (rest * rest.conj()).real.sum(-2)
    if driver == "gels":
        rank = of(A).made((0,), dtypes.int64)
    return x, left, rank, svdvals(A) if driver in ("gelsd", "gelss") else none


def _least_squares_vjp(
    gs: tuple[Tensor | None, ...], A: Tensor, B: Tensor, out: Tensor
) -> tuple[Any, Any]:
    gx, gleft = gs[:2]
    ga = gb = None
    if gx is not None:
        p = pinv(A)
        ga = _pinv_vjp(matmul(gx, B.mH), A, p)
        gb = matmul(p.mH, gx)
    if gleft is not None and gleft.numel():
        rest = (matmul(A, out) - B) * (2 * gleft.unsqueeze(-2))
        towards = matmul(rest, out.mH)
        ga = towards if ga is None else ga + towards
        gb = -rest if gb is None else gb - rest
    if gs[3] is not None and gs[3].numel():
        u, _, vh = svd_op(A, False)
        by_values = matmul(u * gs[3].to(A.dtype).unsqueeze(-2), vh)
        ga = by_values if ga is None else ga + by_values
    return ga, gb


_least_squares_op = general(
    "_least_squares(A: Tensor, B: Tensor, rcond: Any, driver: Any)",
    is_=_least_squares,
    native=_core.kernels.lstsq,
    vjp={"A, B": _least_squares_vjp},
    node="LinalgLstsqBackward0",
    method=False,
    out=False,
    samples=lambda make: [
        (make(4, 2), make(4, 3), None, "gelsd"),
        (make(2, 3), make(2, 2), None, "gelsy"),
        (make(2, 3, 3), make(2, 3, 1), None, "gels"),
    ],
    keeps="columns: A",
    doc="The solution of least squares, and the sums of squares that remain.",
)


@composite(where="linalg", out=["cast"], autocast="float32 here")
@answered("by_element")
def lstsq(A: Tensor, B: Tensor, rcond: Any = None, *, driver: str | None = None) -> Any:
    """The X that makes A @ X - B smallest, the sums of squares that remain, rank and singular
    values."""
    if A.ndim < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    check_matrices("lstsq", A._form)
    driver = "gelsy" if driver is None else driver
    if driver not in _DRIVERS:
        raise RuntimeError(
            "torch.linalg.lstsq: parameter `driver` should be one of "
            f"(gels, gelsy, gelsd, gelss). Got {driver!r}."
        )
    vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and tuple(B.shape) == tuple(A.shape[:-1]))
    b = B.unsqueeze(-1) if vector else B
    if b.ndim < 2:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if A.shape[-2] != b.shape[-2]:
        raise RuntimeError("torch.linalg.lstsq: input.size(-2) should match other.size(-2)")
    if A.dtype is not B.dtype:
        raise RuntimeError(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's "
            f"dtype {A.dtype.scalar_name} and other's dtype {B.dtype.scalar_name}"
        )
    x, residuals, rank, values = _least_squares_op(A, b, rcond, driver)
    return lstsq_result((x.squeeze(-1) if vector else x, residuals, rank, values.detach()))


# ---- determinants


@unwarned
def _det(a: Array) -> Any:
    check_matrices("det", a, square=True)
    return np.linalg.det(a)


def _adjugate_conj(A: Tensor, out: Tensor) -> Tensor:
    """conj(det(A) inv(A)).mT: the gradient of the determinant, of singular matrices too."""
    if anywhere(bad := out == 0):
        return _by_parts(A, out, bad)
    inverse = inv(A)
    if A.numel():
        # Nearly singular ones have a gradient still, but determinant and inverse are both rounding.
        size = A.detach().abs().amax((-2, -1)) * inverse.detach().abs().amax((-2, -1))
        if anywhere(bad := size * _resolution(A) > 1):
            return _by_parts(A, out, bad)
    return (out.unsqueeze(-1).unsqueeze(-1) * inverse).mH


def _by_parts(A: Tensor, out: Tensor, bad: Tensor) -> Tensor:
    """The same of a batch, of which some are singular, or nearly so."""
    if A.ndim == 2 or A._wrapped is not None or not anywhere(~bad):
        return _by_singular_part(A)
    each, bad = A.flatten(0, -3), bad.flatten()
    singular, others = bad.nonzero().squeeze(1), (~bad).nonzero().squeeze(1)
    made = each.new_zeros(each.shape).index_copy(0, singular, _by_singular_part(each[singular]))
    rest = _adjugate_conj(each[others], out.flatten()[others])
    return made.index_copy(0, others, rest).view(A.shape)


def _resolution(A: Tensor) -> float:
    return math.sqrt(dtypes.finfo(A._form.dtype).eps)


def _by_singular_part(A: Tensor) -> Tensor:
    """The same as a polynomial in the nearly singular part: exact, and all of its derivatives.

    In the bases of the singular vectors, which are taken as constant, A is a matrix P whose last
    k rows and columns are small. det(P) = det(F) det(S): F, all but these, is inverted safely;
    S, its Schur complement, has a determinant and adjugate without division (Faddeev, LeVerrier).
    """
    u, s, vh = (x.detach() for x in svd_op(A.detach(), False))
    n, k = s.shape[-1], 1
    floor = s.narrow(-1, 0, 1) * _resolution(A)
    while k < n and anywhere(s.narrow(-1, n - 1 - k, 1) <= floor):
        k += 1
    part = matmul(matmul(u.mH, A), vh.mH)
    first, right, below, small = (
        x for rows in part.split([n - k, k], -2) for x in rows.split([n - k, k], -1)
    )
    inverse = inv(first)
    left, up = matmul(below, inverse), matmul(inverse, right)
    small = small - matmul(below, up)
    identity = eye(k, dtype=A.dtype, device=A.device)
    adjugate = identity.expand(small.shape)
    for i in range(1, k):
        adjugate = matmul(small, adjugate)
        adjugate = adjugate - _trace(adjugate) / i * identity
    rest = _trace(matmul(small, adjugate)) / k
    across = matmul(up, adjugate)
    rows = (
        cat([rest * inverse + matmul(across, left), -across], -1),
        cat([-matmul(adjugate, left), adjugate], -1),
    )
    factor = (-1) ** (k - 1) * (det(u) * det(first) * det(vh)).unsqueeze(-1).unsqueeze(-1)
    return matmul(matmul(u, (factor * cat(rows, -2)).mH), vh)


def _trace(x: Tensor) -> Tensor:
    return x.diagonal(0, -2, -1).sum(-1).unsqueeze(-1).unsqueeze(-1)


det: Op = general(
    "det(A: Tensor)",
    _det,
    native=_core.kernels.det,
    vjp={"A": lambda g, A, out: g.unsqueeze(-1).unsqueeze(-1) * _adjugate_conj(A, out)},
    node="LinalgDetBackward0",
    where="linalg torch",
    samples=square_samples,
    formula={"A": "out · A⁻ᵀ"},
    doc="The determinants of square matrices.",
    batch="trailing",
)


@unwarned
def _slogdet(a: Array) -> tuple[Array, ...]:
    check_matrices("slogdet", a, square=True)
    sign, logabsdet = np.linalg.slogdet(a)
    if a.dtype.kind == "f":
        sign = np.where(np.isnan(logabsdet), sign.dtype.type(0), sign)  # nan has no sign
    return np.asarray(sign), np.asarray(logabsdet).astype(a.real.dtype, copy=False)


def _slogdet_vjp(g1: Tensor | None, g2: Tensor, A: Tensor, out: Tensor) -> Tensor:
    try:
        back = inv(A).mH
    except LinAlgError:
        raise LinAlgError(
            "slogdet: the logarithm has no derivative at a singular matrix, where the determinant "
            "is 0. That of the determinant itself exists: `torch.linalg.det`."
        ) from None
    total = None
    if g2 is not None:
        total = g2.unsqueeze(-1).unsqueeze(-1) * back
    if g1 is not None and A.dtype.is_complex:
        # The sign turns by the imaginary part of the trace of inv(A) dA.
        turn = (g1.conj() * out).imag
        part = (turn * -1j).unsqueeze(-1).unsqueeze(-1) * back
        total = part if total is None else total + part
    return total


def _slogdet_op(name: str) -> Op:
    return general(
        f"_{name}(A: Tensor)",
        _slogdet,
        native=_core.kernels.slogdet,
        vjp={"A": lambda gs, A, out: _slogdet_vjp(gs[0], gs[1], A, out)},
        batch="trailing",
        node="LinalgSlogdetBackward0",
        outputs=named(name, "sign", "logabsdet"),
        method=False,
        samples=square_samples,
        formula={"A": "g1 · A⁻ᵀ"},
        doc="The sign and the logarithm of the absolute value of determinants.",
    )


_linalg_slogdet = _slogdet_op("linalg_slogdet")
alias("slogdet", _linalg_slogdet, method=False, where="linalg")
alias("slogdet", _slogdet_op("slogdet"))


@composite
def logdet(input: Tensor) -> Tensor:
    """The logarithm of determinants; nan where one is negative."""
    check_matrices("slogdet", input._form, square=True)
    sign, size = _linalg_slogdet(input)
    if input.dtype.is_complex:
        return sign.log() + size
    return where(sign == -1, float("nan"), size)


# ---- powers and exponentials


@composite(
    where="linalg torch",
    out=(
        "cast",
        RuntimeError,
        "matrix_power: Expected result to be safely castable from {want.scalar_name} dtype, but "
        "got result with dtype {got.scalar_name}",
    ),
)
def matrix_power(A: Tensor, n: int) -> Tensor:
    """A multiplied by itself n times; of its inverse for a negative n."""
    _check_square("matrix_power", A)
    if n == 0:
        return A.clone().copy_(eye(A.shape[-1], dtype=A.dtype, device=A.device))
    if n < 0:
        A, n = inv(A), -n
        if n == 1:
            return A
    if n == 1:
        return A.clone()
    if n == 3:
        return matmul(matmul(A, A), A)
    while n % 2 == 0:
        A, n = matmul(A, A), n // 2
    result = A
    while n := n // 2:
        A = matmul(A, A)
        if n % 2:
            result = matmul(result, A)
    return result


def _check_square(name: str, A: Tensor) -> None:
    if A.ndim < 2:
        raise RuntimeError(f"linalg.{name}: The input tensor A must have at least 2 dimensions.")
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"linalg.{name}: A must be batches of square matrices, "
            f"but they are {A.shape[-2]} by {A.shape[-1]} matrices"
        )


_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
    129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0,
    960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip


def _matrix_exp(A: Tensor) -> Tensor:
    """By scaling, a quotient of polynomials, and squaring."""
    check_matrices("matrix_exp", A._form, square=True, halves=True)
    if A.dtype.itemsize == 2:
        return _matrix_exp(A.float()).to(A.dtype)
    if A._on_meta or not A.numel():
        return A.new_empty(A.shape)
    size = float(matrix_norm(A, 1).max().item())
    if not math.isfinite(size):
        return A.new_full(A.shape, complex(math.nan, math.nan) if A.is_complex() else math.nan)
    single = A._form.dtype.to_real().name == "float32"
    halvings = exp_halvings(size, _SHORT_SIZE) if single else exp_halvings(size)
    identity = eye(A.shape[-1], dtype=A.dtype, device=A.device)
    x = A * 0.5**halvings if halvings else A
    result = solve(*(_short_quotient(x, identity) if single else exp_quotient(x, identity)))
    for _ in range(halvings):
        result = matmul(result, result)
    return result.contiguous()


def exp_halvings(size: float, most: float = 5.37) -> int:
    """How often a matrix of a norm is halved before its exponential is taken."""
    return max(0, math.ceil(math.log2(size / most))) if size > most else 0


# The quotient of degree 7 has single precision up to this norm.
_SHORT_PADE = (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0)
_SHORT_SIZE = 3.92


def _short_quotient(x: Tensor, eye: Tensor) -> tuple[Tensor, Tensor]:
    b = _SHORT_PADE
    x2 = matmul(x, x)
    x4 = matmul(x2, x2)
    x6 = matmul(x4, x2)
    odd = matmul(x, b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * eye)
    even = b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * eye
    return even - odd, even + odd


def exp_quotient(x: Any, eye: Any) -> tuple[Any, Any]:
    """The A and B of which the exponential of small matrices is the X of A @ X = B."""
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
    return even - odd, even + odd


def _matrix_exp_vjp(g: Tensor, A: Tensor) -> Tensor:
    # The corner of the exponential of [[A^H, g], [0, A^H]] is the derivative along g.
    n = A.shape[-1]
    top = cat([A.mH, g], -1)
    bottom = cat([g * 0, A.mH], -1)
    return matrix_exp(cat([top, bottom], -2)).narrow(-2, 0, n).narrow(-1, n, n)


matrix_exp = general(
    "matrix_exp(A: Tensor)",
    is_=_matrix_exp,
    vjp={"A": _matrix_exp_vjp},
    node="LinalgMatrixExpBackward0",
    where="linalg torch",
    samples=square_samples,
    formula={"A": "the upper right block of matrix_exp([[Aᵀ, g], [0, Aᵀ]])"},
    doc="The exponential of square matrices.",
    batch="trailing",
)

# ---- the rest


@composite(where="linalg")
def vander(x: Tensor, N: int | None = None) -> Tensor:
    """The matrix of the powers 0 to N - 1 of each element."""
    if (x.dtype.itemsize == 2 and x.is_floating_point()) or x.dtype.name == "bool":
        raise RuntimeError(
            "linalg.vander supports floating point, complex, and integer tensors, "
            f"but got {x.dtype.scalar_name}"
        )
    if x.ndim == 0:
        x = x.unsqueeze(0)
    n = x.shape[-1] if N is None else N
    if n <= 1:
        raise RuntimeError("N must be greater than 1.")
    return _rising_powers(x, n)


def _rising_powers(x: Tensor, n: int) -> Tensor:
    return cat([x.new_ones((*x.shape, 1)), x.unsqueeze(-1).expand(*x.shape, n - 1).cumprod(-1)], -1)


@composite(
    where="linalg",
    out=(
        "cast",
        RuntimeError,
        "tensorinv: Expected result to be safely castable from {want.scalar_name} dtype, but "
        "got result with dtype {got.scalar_name}",
    ),
    autocast="float32 here",
)
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of A for tensordot over its first `ind` dimensions."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    first, rest = A.shape[:ind], A.shape[ind:]
    n = math.prod(rest)
    if math.prod(first) != n:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            "prod(self.shape[:ind]), "
            f"but got {n} != {math.prod(first)}"
        )
    return inv(A.reshape(n, n)).reshape(*rest, *first)


@composite(
    where="linalg",
    out=(
        "cast",
        RuntimeError,
        "tensorsolve: Expected result to be safely castable from {want.scalar_name} dtype, but "
        "got result with dtype {got.scalar_name}",
    ),
    autocast="float32 here",
)
def tensorsolve(A: Tensor, B: Tensor, dims: Sizes | None = None) -> Tensor:
    """The X for which tensordot(A, X, X.ndim) = B."""
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
    shape = A.shape[B.ndim :]
    n = math.prod(shape)
    return solve(A.reshape(n, n), B.reshape(n)).reshape(shape)


@composite(method=False)
def _linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices."""
    return A.diagonal(offset, dim1, dim2)


alias("diagonal", _linalg_diagonal, method=False, where="linalg")


@composite(method=False, name="vander", samples=lambda make: [(make(4),), (make(3), 2, True)])
def _vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The matrix of powers of x: its columns x ** (N - 1) down to x ** 0,
    or the other way round."""
    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = x.shape[0] if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    if x.dtype is dtypes.bool:
        x = x.to(dtypes.int64)
    powers = _rising_powers(x, n) if n else x.unsqueeze(-1).expand(x.shape[0], 0).clone()
    return powers if increasing else powers.flip(-1)
