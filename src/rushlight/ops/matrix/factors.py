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
from ..table.arrays import (
    Array,
    anywhere,
    elements,
    listed,
    refuse,
    scalar_name,
    unwarned,
    warn_once,
)
from ..table.kinds import composite, constant, general
from ..table.outputs import written
from ..table.reference import add_method, alias
from ..table.signature import Tensor
from .decompositions import (
    lu_factor_arrays,
    lu_factor_op,
    lu_factor_result,
    lu_factor_vjp,
    lu_solve,
    lu_vjp,
    pivot_matrix,
    row_order,
)
from .products import matmul
from .solving import (
    CHOLESKY,
    LinAlgError,
    batch_element,
    check_matrices,
    cholesky_factor,
    cholesky_failure,
    cholesky_vjp,
    gradients_by,
    inv_arrays,
    is_vector,
    minor_that_fails,
    positive_samples,
    regular,
    solve_arrays,
    square_samples,
    stack_matrices,
    substitute,
)

_kernels = _core.kernels
alias("matmul", matmul, method=False, where="linalg")

# ---- inverses and solutions


def _eliminated(a: Array, b: Array) -> tuple[Array, Array]:
    """The x of a @ x = b and info, singular matrices included."""
    lu, pivots = lu_factor_arrays(a)
    n = a.shape[-1]
    info = _lu_info(lu)
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    order = row_order(pivots.reshape(-1, n), n).reshape(*pivots.shape[:-1], n, 1)
    x = np.take_along_axis(
        np.broadcast_to(b, (*lead, *b.shape[-2:])), np.broadcast_to(order, (*lead, n, 1)), -2
    ).copy()
    lower = np.tril(lu, -1) + np.eye(n, dtype=lu.dtype)
    with np.errstate(all="ignore"):
        substitute(lower, x, False, 0, n)
        substitute(np.triu(lu), x, True, 0, n)
    return x, info


def _inv_ex(a: Array, check_errors: bool) -> tuple[Array, Array]:
    try:
        return inv_arrays("inv_ex")(a), np.zeros(a.shape[:-2], np.int32)
    except LinAlgError:
        if check_errors:
            raise
    return _eliminated(a, np.eye(a.shape[-1], dtype=a.dtype))


inv_ex = general(
    "inv_ex(A: Tensor, *, check_errors: bool = False)",
    _inv_ex,
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


def _solve_ex(a: Array, b: Array, left: bool, check_errors: bool) -> tuple[Array, Array]:
    try:
        return solve_arrays(a, b, left, "solve_ex"), np.zeros(a.shape[:-2], np.int32)
    except LinAlgError:
        if check_errors:
            raise
    if not left:
        x, info = _eliminated(a.swapaxes(-1, -2), b.swapaxes(-1, -2))
        return np.ascontiguousarray(x.swapaxes(-1, -2)), info
    if is_vector(a.shape, b.shape):
        x, info = _eliminated(a, b[..., None])
        return np.ascontiguousarray(x[..., 0]), info
    return _eliminated(a, b)


solve_ex: Any = general(
    "solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False)",
    _solve_ex,
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


def _part_of_factor(a: Array) -> Array:
    """The columns of the Cholesky factor up to the first that fails, before those of a itself."""
    m = np.tril(a)
    for j in range(len(m)):
        pivot = m[j, j].real - (np.abs(m[j, :j]) ** 2).sum()
        m[j, j] = pivot
        if not pivot > 0:
            break
        m[j, j] = np.sqrt(pivot)
        m[j + 1 :, j] = (m[j + 1 :, j] - m[j + 1 :, :j] @ m[j, :j].conj()) / m[j, j]
    return m


def _cholesky_ex(a: Array, upper: bool, check_errors: bool) -> tuple[Array, Array]:
    refuse("cholesky_cpu", a, "", halves=True)
    lower = a.swapaxes(-1, -2).conj() if upper else a
    factor, info = cholesky_factor(lower), np.zeros(a.shape[:-2], np.int32)
    if factor is None:
        if check_errors:
            raise cholesky_failure("linalg.cholesky_ex", lower)
        stack = stack_matrices(lower)
        fails = [minor_that_fails(m) for m in stack]
        info = np.reshape(fails, info.shape).astype(np.int32)
        factor = np.reshape([_part_of_factor(m) for m in stack], a.shape)
    return np.ascontiguousarray(factor.swapaxes(-1, -2).conj() if upper else factor), info


cholesky_ex = general(
    "cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False)",
    _cholesky_ex,
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
    if not anywhere(info != 0):
        return
    found = elements(info).reshape(-1)
    at = int((found != 0).argmax())
    where = f"(Batch element {at}): " if info.ndim else ""
    raise RuntimeError(
        f"torch.linalg.{name}: {where}U[{found[at]},{found[at]}] is zero and using it on lu_solve "
        "would result in a division by zero. If you still want to perform the factorization, "
        "consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
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
lu_factor_ex = general(
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


def _unpacked(lu: Array) -> tuple[Array, Array]:
    m, n = lu.shape[-2:]
    k = min(m, n)
    lower = np.tril(lu[..., :k], -1)
    lower[..., np.arange(k), np.arange(k)] = 1
    return lower, np.triu(lu[..., :k, :])


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
    lambda a, lu, pivots: _unpacked(lu),
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
    _unpacked,
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

_ALPHA = (1 + 17**0.5) / 8  # keeps the growth of elements smallest


def _size(a: Array) -> Array:
    return np.abs(a.real) + np.abs(a.imag)


def _pivot(m: Array, k: int) -> tuple[int, int]:
    """Which row goes to k, and how many columns are eliminated; (-1, 1) where all is 0."""
    n = len(m)
    here = float(_size(m[k, k]))
    column = _size(m[k + 1 :, k])
    largest = float(column.max()) if k + 1 < n else 0.0
    if not max(here, largest) > 0 or np.isnan(here):
        return -1, 1
    if here >= _ALPHA * largest:
        return k, 1
    i = k + 1 + int(column.argmax())
    row = max([*_size(m[i, k:i]), *_size(m[i + 1 :, i])])
    if here >= _ALPHA * largest * (largest / row):
        return k, 1
    return (i, 1) if float(_size(m[i, i])) >= _ALPHA * row else (i, 2)


def _exchange(m: Array, a: int, b: int, k: int, turned: Callable[[Array], Array]) -> None:
    """Rows and columns a < b of the lower triangle, of which k and on are still to eliminate."""
    m[b + 1 :, [a, b]] = m[b + 1 :, [b, a]]
    inner = m[a + 1 : b, a].copy()
    m[a + 1 : b, a] = turned(m[b, a + 1 : b])
    m[b, a + 1 : b] = turned(inner)
    m[b, a] = turned(m[b, a])
    m[[a, b], [a, b]] = m[[b, a], [b, a]]
    m[[a, b], k:a] = m[[b, a], k:a]


@unwarned
def _ldl(a: Array, hermitian: bool) -> tuple[Array, Array, int]:
    m, n = np.tril(a), len(a)
    pivots, info, k = np.empty(n, np.int32), 0, 0
    turned: Callable[[Array], Array] = np.conj if hermitian else np.asarray
    if hermitian:
        m[np.arange(n), np.arange(n)] = m.diagonal().real
    while k < n:
        found, steps = _pivot(m, k)
        if found < 0:
            info, pivots[k] = info or k + 1, k + 1
            k += 1
            continue
        last = k + steps - 1
        if found != last:
            _exchange(m, last, found, k, turned)
        pivots[k : last + 1] = found + 1 if steps == 1 else -(found + 1)
        rest = m[last + 1 :, k : last + 1].copy()
        if len(rest):
            block = m[k : last + 1, k : last + 1].copy()
            if steps == 2:
                block[0, 1] = turned(block[1, 0])
            scaled = np.linalg.solve(block.T, rest.T).T if steps == 2 else rest / block
            m[last + 1 :, last + 1 :] -= np.tril(scaled @ turned(rest).T)
            m[last + 1 :, k : last + 1] = scaled
        k += steps
    return m, pivots, info


def _ldl_factor_ex(a: Array, hermitian: bool, check_errors: bool) -> tuple[Array, ...]:
    return _ldl_stack(a, hermitian, "ldl_factor_ex", check_errors)


def _ldl_stack(a: Array, hermitian: bool, name: str, check: bool) -> tuple[Array, ...]:
    check_matrices("ldl_factor_ex", a, square=True, of="torch.linalg", halves=True)
    refuse("ldl_factor_kernel_cpu", a, "", halves=True)
    found = [_ldl(m, hermitian and a.dtype.kind == "c") for m in stack_matrices(a)]
    info = np.reshape([f[2] for f in found], a.shape[:-2]).astype(np.int32)
    if check and info.any():
        at = next(i for i, f in enumerate(found) if f[2])
        raise zero_in_ldl(name, a.ndim, at, found[at][2])
    return (
        np.reshape([f[0] for f in found], a.shape).astype(a.dtype),
        np.reshape([f[1] for f in found], a.shape[:-1]).astype(np.int32),
        info,
    )


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


ldl_factor_ex = general(
    "ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False)",
    _ldl_factor_ex,
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
    lambda a, hermitian: _ldl_stack(a, hermitian, "ldl_factor", True)[:2],
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


@unwarned
def _ldl_solved(m: Array, pivots: Array, x: Array, hermitian: bool) -> None:
    """Solve for one matrix, in x."""
    n = len(m)
    turned: Callable[[Array], Array] = np.conj if hermitian else np.asarray
    blocks = []
    k = 0
    while k < n:
        steps = 1 if pivots[k] > 0 or k + 1 == n else 2
        blocks.append((k, steps, abs(int(pivots[k])) - 1))
        k += steps
    for k, steps, p in blocks:
        last, rows = k + steps - 1, slice(k, k + steps)
        x[[last, p]] = x[[p, last]]
        x[last + 1 :] -= m[last + 1 :, rows] @ x[rows]
        block = m[rows, rows].copy()
        if steps == 2:
            block[0, 1] = turned(block[1, 0])
            x[rows] = np.linalg.inv(block) @ x[rows]
        else:
            x[rows] /= block
    for k, steps, p in reversed(blocks):
        last, rows = k + steps - 1, slice(k, k + steps)
        x[rows] -= turned(m[last + 1 :, rows]).T @ x[last + 1 :]
        x[[last, p]] = x[[p, last]]


def _check_ldl_solve(ld: Array, pivots: Array, b: Array) -> None:
    name = "torch.linalg.ldl_solve"
    check_matrices("ldl_solve", ld, square=True, of="torch.linalg", halves=True)
    n = ld.shape[-1]
    if b.ndim < 2:
        raise IndexError(
            "Dimension out of range (expected to be in range of [-1, 0], but got -2). B must be "
            "of matrices: `B.unsqueeze(-1)`."
        )
    if b.shape[-2] != n:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {n} by {n} but each b matrix "
            f"is {b.shape[-2]} by {b.shape[-1]}"
        )
    if pivots.shape != ld.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with "
            f"shape {listed(pivots.shape)} instead"
        )
    if pivots.dtype.kind not in "iu":
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {scalar_name(pivots)}")
    if ld.dtype != b.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {scalar_name(b)} and A "
            f"of type {scalar_name(ld)} instead."
        )
    refuse("ldl_solve_kernel_cpu", ld, "", halves=True)
    size = np.abs(pivots.astype(np.int64))
    if ((size < 1) | (size > n)).any():
        raise RuntimeError(
            f"{name}: pivots must be between 1 and {n}, or between -{n} and -1. Did you properly "
            "pass the result of ldl_factor?"
        )


def _common_lead(a: Array, b: Array) -> tuple[int, ...]:
    """The batch of both."""
    first, second = a.shape[:-2], b.shape[:-2]
    longest = max(len(first), len(second))
    for at in range(1, longest + 1):
        m, n = (s[-at] if at <= len(s) else 1 for s in (first, second))
        if m != n and 1 not in (m, n):
            raise RuntimeError(
                f"The size of tensor a ({n}) must match the size of tensor b ({m}) at "
                f"non-singleton dimension {longest - at}"
            )
    return np.broadcast_shapes(first, second)


def _ldl_solve(ld: Array, pivots: Array, b: Array, hermitian: bool) -> Array:
    _check_ldl_solve(ld, pivots, b)
    lead = _common_lead(ld, b)
    x = np.array(np.broadcast_to(b, (*lead, *b.shape[-2:])))
    wide = np.broadcast_to(ld, (*lead, *ld.shape[-2:]))
    rows = np.broadcast_to(pivots, (*lead, pivots.shape[-1]))
    for i in np.ndindex(*lead):
        _ldl_solved(wide[i], rows[i], x[i], hermitian and ld.dtype.kind == "c")
    return x


def _ldl_samples(make: Any) -> Any:
    pivots = make(3, low=1, high=2, kind="int").int()
    return [(make(3, 3, low=1.0), pivots * 0 + 3, make(3, 2))]


ldl_solve = general(
    "ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False)",
    _ldl_solve,
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
