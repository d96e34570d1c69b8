"""Factorisations that tell of failure by a number: the functions `*_ex` of torch.linalg, LU taken
apart, and the LDL factorisation of symmetric matrices.

`info` is 0, or the number, from 1, of the first pivot or minor at which a matrix failed. Then the
other results hold the leavings of elimination: infinities and nan, or a part of a factor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import _core
from ..._base import dtypes
from ..._base.outside import np
from ..._core import Op
from ...return_types import named
from ..layout.joining import cat
from ..making.creation import eye
from ..table.arrays import Array, anywhere, listed, refuse, warn_once
from ..table.kinds import composite, constant, general
from ..table.outputs import written
from ..table.reference import add_method, alias
from ..table.signature import Tensor
from .decompositions import (
    lu_factor_op,
    lu_factor_result,
    lu_factor_vjp,
    lu_solve,
    lu_vjp,
    pivot_matrix,
)
from .products import matmul
from .solving import (
    CHOLESKY,
    batch_element,
    check_equation,
    check_matrices,
    cholesky_vjp,
    common_lead,
    failure,
    gradients_by,
    not_positive,
    positive_samples,
    refusals,
    regular,
    singular_inverse,
    singular_solve,
    square_samples,
)

_kernels = _core.kernels
alias("matmul", matmul, method=False, where="linalg")

# ---- inverses and solutions


def _inv_ex(A: Tensor, check_errors: bool) -> tuple[Tensor, Tensor]:
    check_matrices("inv", A._form, square=True)
    LU, pivots, info = lu_factor_ex(A)
    if check_errors and (failed := failure(info)):
        raise singular_inverse("inv_ex", A.ndim, *failed)
    return lu_solve(LU, pivots, eye(A.shape[-1], dtype=A.dtype, device=A.device)), info


inv_ex = general(
    "inv_ex(A: Tensor, *, check_errors: bool = False)",
    is_=_inv_ex,
    native=_kernels.inverse_ex,
    vjp={"A": lambda g, out: -matmul(out.mH, matmul(g, out.mH))},
    node="LinalgInvExBackward0",
    outputs=named("linalg_inv_ex", "inverse", "info"),
    first_only=True,
    where="linalg",
    said="linalg_inv_ex",
    samples=square_samples,
    keeps="columns: A",
    autocast="float32 here",
    doc="The inverse, and 0 or the number of the first zero pivot instead of an error.",
    batch="trailing",
)


def _solve_ex(A: Tensor, B: Tensor, left: bool, check_errors: bool) -> tuple[Tensor, Tensor]:
    vector = check_equation(A, B, left)
    LU, pivots, info = lu_factor_ex(A)
    if check_errors and (failed := failure(info)):
        raise singular_solve("solve_ex", A.ndim, failed[0])
    x = lu_solve(LU, pivots, B.unsqueeze(-1) if vector else B, left=left)
    return x.squeeze(-1) if vector else x, info


solve_ex: Any = general(
    "solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False)",
    is_=_solve_ex,
    native=_kernels.solve_ex,
    vjp={"A, B": gradients_by(lambda a, b, left: solve_ex(a, b, left=left)[0])},
    node="LinalgSolveExBackward0",
    outputs=named("linalg_solve_ex", "result", "info"),
    first_only=True,
    where="linalg",
    said="linalg_solve_ex",
    samples=lambda make: [
        (regular(make), make(3)),
        (regular(make, 2), make(2, 3, 2)),
        (regular(make), make(2, 3), {"left": False}),
    ],
    keeps="columns: A",
    formula={"A": "−solve(Aᵀ, g) · outᵀ", "B": "solve(Aᵀ, g)"},
    doc="The solution of A @ X = B, and 0 or the number of the first zero pivot of A.",
)

# ---- Cholesky


def _cholesky_ex(A: Tensor, upper: bool, check_errors: bool) -> tuple[Tensor, Tensor]:
    refuse("cholesky_cpu", A._form, "", halves=True)
    check_matrices("cholesky", A._form, square=True)
    L, info = cholesky_ex(A, upper=upper)
    if failed := failure(info):
        raise not_positive("linalg.cholesky_ex", A.ndim, *failed)
    return L, info


cholesky_ex: Op = general(
    "cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False)",
    is_=refusals(_kernels.cholesky_ex, _cholesky_ex),
    native=_kernels.cholesky_ex,
    vjp={"A": cholesky_vjp},
    node="LinalgCholeskyExBackward0",
    outputs=named("linalg_cholesky_ex", "L", "info"),
    first_only=True,
    where="linalg",
    said="linalg_cholesky_ex",
    samples=positive_samples,
    keeps="columns: A",
    traits="symmetric",
    formula={"A": CHOLESKY},
    autocast="float32 here",
    doc="The Cholesky factor, and 0 or the order of the first minor that is not positive-definite.",
    batch="trailing",
)

# ---- LU


def _lu_info(lu: Array) -> Array:
    zero = np.diagonal(lu, 0, -2, -1) == 0
    if not zero.shape[-1]:
        return np.zeros(zero.shape[:-1], np.int32)
    return np.where(zero.any(-1), zero.argmax(-1) + 1, 0).astype(np.int32)


_info: Op = constant(
    "_lu_info(LU: Tensor)",
    _lu_info,
    native=_kernels.lu_info,
    method=False,
    out=False,
    samples=lambda make: [(make(2, 3, 3),)],
    doc="The number, from 1, of the first 0 on the diagonal; 0 where there is none.",
    batch="trailing",
)


def _lu_checked(A: Tensor, pivot: bool) -> Any:
    if A.ndim < 2:
        raise RuntimeError(
            "torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: "
            f"{listed(A.shape)} instead"
        )
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    return lu_factor_op(A)


def _refuse_zero(info: Tensor, name: str) -> None:
    if (failed := failure(info)) is None:
        return
    at, number = failed
    raise RuntimeError(
        f"torch.linalg.{name}: {batch_element(info.ndim + 2, at)}U[{number},{number}] is zero and "
        "using it on lu_solve would result in a division by zero. If you still want to perform the "
        "factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
    )


def _lu_factor_ex(A: Tensor, pivot: bool, check_errors: bool) -> Any:
    LU, pivots = _lu_checked(A, pivot)
    info = _info(LU)
    if check_errors:
        _refuse_zero(info, "lu_factor_ex")
    return LU, pivots, info


def _lu_factor(A: Tensor, pivot: bool) -> Any:
    found = _lu_checked(A, pivot)
    _refuse_zero(_info(found[0]), "lu_factor")
    return tuple(found)


_lu_words: Any = {
    "vjp": {"A": lu_factor_vjp},
    "node": "LinalgLuFactorExBackward0",
    "first_only": True,
    "where": "linalg",
    "method": False,
    "samples": lambda make: [(make(3, 3),), (make(2, 3, 3),), (make(4, 2),), (make(2, 4),)],
    "keeps": "columns: A",
    "batch": "trailing",
}
lu_factor_ex: Op = general(
    "lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False)",
    is_=_lu_factor_ex,
    native=_kernels.lu_factor_ex,
    outputs=named("linalg_lu_factor_ex", "LU", "pivots", "info"),
    said="linalg_lu_factor_ex",
    doc="L and U in one matrix, the row exchanged at each step, and 0 or the number of the first "
    "zero pivot.",
    **_lu_words,
)
lu_factor = general(
    "lu_factor(A: Tensor, *, pivot: bool = True)",
    is_=_lu_factor,
    native=_kernels.lu_factor_regular,
    outputs=lu_factor_result,
    said="linalg_lu_factor",
    doc="L and U in one matrix, and the row exchanged at each step, from 1.",
    **_lu_words,
)


def _unpacked(LU: Tensor) -> tuple[Tensor, Tensor]:
    m, n = LU.shape[-2:]
    k = min(m, n)
    lower = LU.narrow(-1, 0, k).tril(-1) + eye(m, k, dtype=LU.dtype, device=LU.device)
    return lower, LU.narrow(-2, 0, k).triu()


def _padded(t: Tensor, dim: int, size: int) -> Tensor:
    shape = list(t.shape)
    shape[dim] = size - shape[dim]
    return cat([t, t.new_zeros(shape)], dim) if shape[dim] else t


def _packed(gs: tuple[Tensor | None, ...], shape: Sequence[int]) -> Tensor | None:
    """The gradient of L and U in one matrix of that shape."""
    m, n = shape[-2:]
    gl, gu = gs
    total = None if gl is None else _padded(gl.tril(-1), -1, n)
    if gu is not None:
        part = _padded(gu.triu(), -2, m)
        total = part if total is None else total + part
    return total


def _parts_vjp(gs: tuple[Tensor | None, ...], out: Tensor, out1: Tensor, pivots: Tensor) -> Tensor:
    m, n = out.shape[-2], out1.shape[-1]
    both = _padded(out.tril(-1), -1, n) + _padded(out1, -2, m)
    g = _packed(gs, both.shape)
    assert g is not None
    return lu_vjp(g, both, pivot_matrix(pivots, m).to(out.dtype))


# L and U of A, given its factors in one matrix: so that they alone are differentiable.
_lu_parts = general(
    "_lu_parts(A: Tensor, LU: Tensor, pivots: Tensor)",
    is_=lambda A, LU, pivots: _unpacked(LU),
    native=_kernels.lu_parts,
    vjp={"A": _parts_vjp},
    node="LinalgLuBackward0",
    method=False,
    out=False,
    keeps="rows",
    doc="The L and U of A from its factors in one matrix.",
    batch="trailing",
)
_lu_result = named("linalg_lu", "P", "L", "U")


@composite(
    where="linalg",
    out=["exact"],
    said="linalg_lu",
    samples=lambda make: [(make(3, 3),), (make(2, 3, 3),), (make(4, 2),), (make(2, 4),)],
)
def lu(A: Tensor, *, pivot: bool = True) -> Any:
    """A = P @ L @ U."""
    LU, pivots = _lu_checked(A.detach(), pivot)
    P = pivot_matrix(pivots, A.shape[-2]).to(A.dtype)
    return _lu_result((P, *_lu_parts(A, LU, pivots)))


_unpack_lu = general(
    "_unpack_lu(LU_data: Tensor)",
    is_=_unpacked,
    native=_kernels.lu_unpack,
    vjp={"LU_data": lambda gs, LU_data_shape: _packed(gs, LU_data_shape)},
    node="LuUnpackBackward0",
    method=False,
    out=False,
    keeps="rows",
    doc="L and U from one matrix.",
    batch="trailing",
)
_unpack_result = named("lu_unpack", "P", "L", "U")


@composite(
    method=False,
    out=["exact"],
    samples=lambda make: [
        (make(3, 3), make(3, low=3, high=4, kind="int").int()),
        (make(2, 4, 2), make(2, 2, low=2, high=5, kind="int").int()),
        (make(2, 4), make(2, low=1, high=3, kind="int").int()),
    ],
)
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """P, L and U from what `linalg.lu_factor` gives; an empty tensor for what is not unpacked."""
    if LU_data.ndim < 2:
        raise RuntimeError(
            "torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: "
            f"{listed(LU_data.shape)} instead"
        )
    P = _permuting(LU_data, LU_pivots) if unpack_pivots else LU_data.new_empty(0)
    if not unpack_data:
        return _unpack_result((P, LU_data.new_empty(0), LU_data.new_empty(0)))
    return _unpack_result((P, *_unpack_lu(LU_data)))


def _permuting(lu: Tensor, pivots: Tensor) -> Tensor:
    """The matrices P of factors, where the pivots fit them."""
    if pivots.dtype is not dtypes.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 "
            "dtype.\nNote: this function is intended to be used with the output produced by "
            "torch.linalg.lu_factor"
        )
    *lead, m, n = lu.shape
    try:
        if tuple(pivots.shape) == (*lead, min(m, n)):
            return pivot_matrix(pivots, m).to(lu.dtype)
    except RuntimeError:  # of a pivot that is no row
        pass
    raise RuntimeError(
        "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you "
        f"properly pass the result of lu_factor? For matrices of the shape {listed(lu.shape)} "
        f"they are of the shape {listed(pivots.shape)}."
    )


_with_info_result = named("_lu_with_info", "LU", "pivots", "info", out=False)


def _torch_lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: object = None) -> Any:
    """`linalg.lu_factor_ex` in torch's older form: (LU, pivots), or with get_infos also info."""
    warn_once(
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and "
        "will be removed in a future PyTorch release.\n"
        "LU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\n"
        "LU, pivots = torch.linalg.lu_factor(A, compute_pivots)\nand\n"
        "LU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\nshould be replaced with\n"
        "LU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)"
    )
    LU, pivots = _lu_checked(A, pivot)
    result = _with_info_result((LU, pivots, _info(LU))) if get_infos else (LU, pivots)
    return result if out is None else written(out, tuple(result), "lu")


alias("lu", _torch_lu, method=False)
add_method(
    "lu",
    lambda self, pivot=True, get_infos=False: tuple(_torch_lu(self, pivot, get_infos)),
    doc=_torch_lu.__doc__,
)
add_method(
    "lu_solve",
    lambda self, LU_data, LU_pivots: lu_solve(LU_data, LU_pivots, self),
    doc="`linalg.lu_solve` in torch's older form.",
)

# ---- LDL: A = L D L.mT of symmetric matrices (L.mH of Hermitian ones), by Bunch and Kaufman, with
# pivots and storage as LAPACK has them: a pivot below 0, twice, is that of a block of two.


def _ldl(name: str, A: Tensor, hermitian: bool) -> tuple[Tensor, ...]:
    check_matrices("ldl_factor_ex", A._form, square=True, of="torch.linalg", halves=True)
    refuse("ldl_factor_kernel_cpu", A._form, "", halves=True)
    found = ldl_factor_ex(A, hermitian=hermitian)
    if failed := failure(found[2]):
        raise zero_in_ldl(name, A.ndim, *failed)
    return tuple(found)


def zero_in_ldl(name: str, ndim: int, i: int, number: int) -> RuntimeError:
    """Matrix i of a stack has a zero on the diagonal of D."""
    return RuntimeError(
        f"torch.linalg.{name}: {batch_element(ndim, i)}D[{number},{number}] is zero and using it "
        "on ldl_solve would result in a division by zero."
    )


def _no_gradient(name: str) -> Callable[[Tensor], Any]:
    def refuse_gradient(g: Tensor) -> Any:
        raise RuntimeError(f"derivative for aten::linalg_{name} is not implemented")

    return refuse_gradient


ldl_factor_ex: Op = general(
    "ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False)",
    is_=refusals(
        _kernels.ldl_factor_ex,
        lambda A, hermitian, check_errors: _ldl("ldl_factor_ex", A, hermitian),
    ),
    native=_kernels.ldl_factor_ex,
    vjp={"A": _no_gradient("ldl_factor_ex")},
    node="NotImplemented",
    outputs=named("linalg_ldl_factor_ex", "LD", "pivots", "info"),
    first_only=True,
    where="linalg",
    said="linalg_ldl_factor_ex",
    samples=lambda make: [(make(3, 3),), (make(2, 4, 4), {"hermitian": True})],
    keeps="columns: A",
    traits="symmetric underived",
    doc="`ldl_factor`, and 0 or the number of the first zero on the diagonal of D.",
    batch="trailing",
)
ldl_factor = general(
    "ldl_factor(A: Tensor, *, hermitian: bool = False)",
    is_=lambda A, hermitian: _ldl("ldl_factor", A, hermitian)[:2],
    native=_kernels.ldl_factor,
    vjp={"A": _no_gradient("ldl_factor_ex")},
    node="NotImplemented",
    outputs=named("linalg_ldl_factor", "LD", "pivots"),
    first_only=True,
    where="linalg",
    said="linalg_ldl_factor",
    samples=lambda make: [(make(3, 3),), (make(2, 4, 4),)],
    keeps="columns: A",
    traits="symmetric underived",
    doc="A = L @ D @ L.mT (L.mH if hermitian) of symmetric matrices: L below, D on the diagonal.",
    batch="trailing",
)


def _ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, hermitian: bool) -> Tensor:
    name = "torch.linalg.ldl_solve"
    check_matrices("ldl_solve", LD._form, square=True, of="torch.linalg", halves=True)
    n = LD.shape[-1]
    if B.ndim < 2:
        raise IndexError(
            "Dimension out of range (expected to be in range of [-1, 0], but got -2). B must be "
            "of matrices: `B.unsqueeze(-1)`."
        )
    if B.shape[-2] != n:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {n} by {n} but each b matrix "
            f"is {B.shape[-2]} by {B.shape[-1]}"
        )
    if pivots.shape != LD.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with "
            f"shape {listed(pivots.shape)} instead"
        )
    if pivots._form.dtype.kind not in "iu":
        raise RuntimeError(
            f"{name}: Expected pivots to be integers. Got {pivots.dtype.scalar_name}"
        )
    if LD.dtype is not B.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {B.dtype.scalar_name} "
            f"and A of type {LD.dtype.scalar_name} instead."
        )
    refuse("ldl_solve_kernel_cpu", LD._form, "", halves=True)
    common_lead(LD.shape, B.shape)
    if pivots.dtype is not dtypes.int32 and not anywhere(pivots.abs() > n):
        return ldl_solve(LD, pivots.int(), B, hermitian=hermitian)
    raise RuntimeError(
        f"{name}: pivots must be between 1 and {n}, or between -{n} and -1 in pairs. Did you "
        "properly pass the result of ldl_factor?"
    )


def _ldl_samples(make: Any) -> Any:
    pivots = make(3, low=1, high=2, kind="int").int()
    return [(make(3, 3, low=1.0), pivots * 0 + 3, make(3, 2))]


ldl_solve: Op = general(
    "ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False)",
    is_=refusals(_kernels.ldl_solve, _ldl_solve),
    native=_kernels.ldl_solve,
    vjp={"LD, B": _no_gradient("ldl_solve")},
    node="NotImplemented",
    where="linalg",
    said="linalg_ldl_solve",
    samples=_ldl_samples,
    keeps="columns: B",
    traits="symmetric underived",
    doc="The solution of A @ X = B, given what `ldl_factor` gives of A.",
    batch="trailing",
)
