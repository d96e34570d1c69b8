"""Products of Householder reflections, as QR factorisations keep their Q: H = I - tau v v.mH, with
v in the columns of a matrix, below its diagonal, where it is 1.

Their gradients come from the product of all of them in one formula.
"""

from __future__ import annotations

from typing import Any

from ... import _core
from ..._base.outside import np
from ..._core import Op
from ...return_types import named
from ..layout.joining import cat
from ..table.arrays import Array, listed, refuse, scalar_name
from ..table.kinds import general
from ..table.reference import alias
from ..table.signature import Tensor
from .products import matmul
from .solving import solve_triangular

_kernels = _core.kernels

# ---- the factorisation


def _geqrf(a: Array) -> tuple[Array, Array]:
    if a.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    refuse("geqrf_cpu", a, "biu", halves=True)
    if not a.size:
        return a.copy(), np.zeros((*a.shape[:-2], min(a.shape[-2:])), a.dtype)
    turned, tau = np.linalg.qr(a, mode="raw")
    return np.asarray(turned.swapaxes(-1, -2)), np.asarray(tau)


def _no_geqrf(gs: tuple[Tensor | None, ...]) -> Any:
    raise NotImplementedError(
        "the derivative for 'geqrf' is not implemented. Use `linalg.qr`, which has one."
    )


geqrf = general(
    "geqrf(input: Tensor)",
    _geqrf,
    native=_kernels.geqrf,
    vjp={"input": _no_geqrf},
    outputs=named("geqrf", "a", "tau"),
    out="cast",
    samples=lambda make: [(make(4, 3),), (make(2, 2, 3),)],
    keeps="columns: input",
    traits="underived",
    autocast="float32 here",
    doc="The QR factorisation as LAPACK keeps it: R, below it the reflections, and their factors.",
    batch="trailing",
)

# ---- the products


def _vectors(a: Array, count: int) -> Array:
    v = np.tril(a[..., :count], -1)
    v[..., np.arange(count), np.arange(count)] = 1
    return v


def _reflected(a: Array, tau: Array, x: Array, adjoint: bool) -> Array:
    """H1 @ H2 @ ... @ x; the adjoint of that product, times x."""
    count = tau.shape[-1]
    v, x = _vectors(a, count), np.array(x)
    for i in range(count) if adjoint else reversed(range(count)):
        factor = tau[..., i, None, None].conj() if adjoint else tau[..., i, None, None]
        one = v[..., :, i : i + 1]
        x -= (factor * one) @ (one.swapaxes(-1, -2).conj() @ x)
    return x


def _reflected_vjp(g: Tensor, A: Tensor, tau: Tensor, x: Tensor, adjoint: bool) -> Any:
    """The gradients for A, tau and x of `_reflected`.

    The product of all reflections is I - V T V.mH, with the vectors in the columns of V, and
    T = D inv(I + N D) of D = diag(tau) and N, what lies above the diagonal of V.mH V.
    """
    count = tau.shape[-1]
    below = A.narrow(-1, 0, count).tril(-1)
    v = below + _eye_like(below)
    n = matmul(v.mH, v).triu(1)
    factors = tau.unsqueeze(-2)
    m = n * factors  # with a diagonal of 1 that is not there
    t = _unit_right(m, tau.diag_embed())
    inner = matmul(v.mH, x)
    g_inner = -matmul(v.mH, g)
    if adjoint:
        z, g_t, back = matmul(t.mH, inner), matmul(inner, g_inner.mH), matmul(t, g_inner)
    else:
        z, g_t, back = matmul(t, inner), matmul(g_inner, inner.mH), matmul(t.mH, g_inner)
    g_d = _unit_right(m.mH, g_t, upper=False)
    g_m = -matmul(t.mH, g_d).triu(1)
    g_tau = g_d.diagonal(0, -2, -1) + (n.conj() * g_m).sum(-2)
    g_n = g_m * factors.conj()
    g_v = matmul(x, back.mH) - matmul(g, z.mH) + matmul(v, g_n + g_n.mH)
    rest = A.shape[-1] - count
    g_a = g_v.tril(-1)
    if rest:
        g_a = cat([g_a, A.new_zeros(*A.shape[:-1], rest)], -1)
    return g_a, g_tau, g + matmul(v, back)


def _unit_right(m: Tensor, b: Tensor, upper: bool = True) -> Tensor:
    """The x of x @ m = b, for a triangular m with a diagonal of 1."""
    return solve_triangular(m, b, upper=upper, left=False, unitriangular=True)


def _check_product(a: Array, tau: Array) -> None:
    name = "torch.linalg.householder_product"
    if a.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if a.shape[-2] < a.shape[-1]:
        raise RuntimeError(
            f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]"
        )
    if tau.ndim and a.shape[-1] < tau.shape[-1]:
        raise RuntimeError(
            f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]"
        )
    if a.ndim - tau.ndim != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal "
            f"to {tau.ndim} and input.ndim is equal to {a.ndim}"
        )
    if tau.shape[:-1] != a.shape[:-2]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
            f"{listed(tau.shape[:-1])}"
        )
    if tau.dtype != a.dtype:
        raise RuntimeError(
            f"{name}: tau dtype {scalar_name(tau)} does not match input dtype {scalar_name(a)}"
        )
    refuse("orgqr_cpu", a, "biu", halves=True)


def _householder_product(a: Array, tau: Array) -> Array:
    _check_product(a, tau)
    first = np.broadcast_to(np.eye(*a.shape[-2:], dtype=a.dtype), a.shape)
    return _reflected(a, tau, first, False)


def _householder_vjp(g: Tensor, input: Tensor, tau: Tensor) -> Any:
    return _reflected_vjp(g, input, tau, _eye_like(input), False)[:2]


def _eye_like(A: Tensor) -> Tensor:
    """The first columns of the identity, of A's shape."""
    ones = A.new_ones(*A.shape[:-2], A.shape[-1])
    top = ones.diag_embed()
    m, n = A.shape[-2:]
    return cat([top, A.new_zeros(*A.shape[:-2], m - n, n)], -2)


def _product_samples(make: Any) -> Any:
    return [(make(4, 3), make(3)), (make(2, 3, 3), make(2, 2))]


householder_product: Op = general(
    "householder_product(input: Tensor, tau: Tensor)",
    _householder_product,
    native=_kernels.householder_product,
    vjp={"input, tau": _householder_vjp},
    node="LinalgHouseholderProductBackward0",
    where="linalg",
    out="cast",
    samples=_product_samples,
    keeps="columns: input",
    autocast="float32 here",
    doc="The first columns of the product of reflections: the Q that `geqrf` keeps.",
    batch="trailing",
)


def _check_ormqr(a: Array, tau: Array, c: Array, left: bool) -> None:
    for what, array in (("input", a), ("other", c)):
        if array.ndim < 2:
            raise RuntimeError(f"torch.ormqr: {what} must have at least 2 dimensions.")
    where = -2 if left else -1
    if c.shape[where] != a.shape[-2]:
        raise RuntimeError(f"torch.ormqr: other.shape[{where}] must be equal to input.shape[-2]")
    if tau.ndim and tau.shape[-1] != min(c.shape[where], a.shape[-1]):
        raise RuntimeError(
            f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{where}], "
            "input.shape[-1])"
        )
    if a.ndim - tau.ndim != 1:
        raise RuntimeError(
            "torch.ormqr: Expected tau to have one dimension less than input, but got tau.ndim "
            f"equal to {tau.ndim} and input.ndim is equal to {a.ndim}"
        )
    if a.ndim != c.ndim:
        raise RuntimeError(
            "torch.ormqr: Expected other to have the same number of dimensions as input, but got "
            f"other.ndim equal to {c.ndim} and input.ndim is equal to {a.ndim}"
        )
    for what, shape in (("tau", tau.shape[:-1]), ("other", c.shape[:-2])):
        if shape != a.shape[:-2]:
            raise RuntimeError(
                f"torch.ormqr: Expected batch dimensions of {what} to be equal to "
                f"input.shape[:-2], but got {listed(shape)}"
            )
    for what, array in (("tau", tau), ("other", c)):
        if array.dtype != a.dtype:
            raise RuntimeError(
                f"torch.ormqr: Expected input and {what} to have the same dtype, but input has "
                f"dtype{scalar_name(a)} and {what} has dtype {scalar_name(array)}"
            )
    refuse("ormqr_cpu", a, "biu", halves=True)


def _ormqr(a: Array, tau: Array, c: Array, left: bool, transpose: bool) -> Array:
    _check_ormqr(a, tau, c, left)
    if left:
        return _reflected(a, tau, c, transpose)
    turned = c.swapaxes(-1, -2).conj()
    return np.ascontiguousarray(_reflected(a, tau, turned, not transpose).swapaxes(-1, -2).conj())


def _ormqr_vjp(
    g: Tensor, input: Tensor, input2: Tensor, input3: Tensor, left: bool, transpose: bool
) -> Any:
    if left:
        return _reflected_vjp(g, input, input2, input3, transpose)
    ga, gtau, gc = _reflected_vjp(g.mH, input, input2, input3.mH, not transpose)
    return ga, gtau, gc.mH


ormqr: Op = general(
    "ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: bool = True, "
    "transpose: bool = False)",
    _ormqr,
    native=_kernels.ormqr,
    vjp={"input, input2, input3": _ormqr_vjp},
    out="torch.ormqr: Expected input and result to have the same dtype, but input has "
    "dtype{want.scalar_name} and result has dtype {got.scalar_name}",
    samples=lambda make: [
        (make(4, 3), make(3), make(4, 2)),
        (make(3, 2), make(2), make(4, 3), False, True),
        (make(2, 3, 3), make(2, 3), make(2, 3, 1), True, True),
    ],
    keeps="columns: input3",
    autocast="float32 here",
    doc="The product of all reflections of `input` and their factors input2 (their adjoint with "
    "transpose) times input3; input3 times it with left=False.",
    batch="trailing",
)
alias("orgqr", householder_product)
