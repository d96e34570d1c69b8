"""Factorisations of stacks of matrices: Cholesky, LU, QR, LDL.

The kernels of the steps are started one after another, for all matrices of a stack at once.
"""

from __future__ import annotations

from math import prod
from typing import Any

from .... import _core
from ...._base import dtypes
from ...._core import Tensor
from ...._devices.launch import Ints, Tensors, empty, layout, rows, start
from ...._devices.there import numbers_of, struct_of, there
from ...layout.there.rearranging import zeros
from ...table.arrays import elements
from .. import decompositions, factors, reflections, solving
from ..factors import zero_in_ldl
from ..solving import not_positive
from .products import Matrices, matrices

_N = numbers_of("linalg.cl")
_STACK = struct_of("linalg.cl", "Stack")
ZERO, ONE, SAME, MIRRORED = _N.PART_ZERO, _N.PART_ONE, _N.PART_SAME, _N.PART_MIRRORED
__all__ = [
    "FILE",
    "MATRICES",
    "MIRRORED",
    "ONE",
    "SAME",
    "ZERO",
    "by_columns",
    "first_failure",
    "lu_factored",
    "part",
    "stack_of",
    "stacked",
    "zero_pivots",
]

FILE = "linalg.cl"


MATRICES = "float32 float64 same"  # what these kernels take


def stacked(*tensors: Tensor, square: bool = False) -> bool:
    """Whether all are stacks of matrices."""
    return all(t.dim() >= 2 and (not square or t.shape[-1] == t.shape[-2]) for t in tensors)


def stack_of(m: Matrices, lead: Ints) -> bytes | None:
    """A Stack: where the matrices of a stack of these sizes lie. None for too many dimensions."""
    places = layout(m.tensor, lead, m.lead)
    return None if places is None else _STACK.pack(places=places, row=m.row, column=m.column)


def by_columns(shape: Ints, like: Tensor, dtype: dtypes.dtype | None = None) -> Tensor:
    """Matrices that nobody wrote, each column after column."""
    *lead, m, n = shape
    strides = [max(m, 1) * max(n, 1), 1, max(m, 1)]
    for size in reversed(lead[1:]):
        strides.insert(0, strides[0] * max(size, 1))
    device: Any = like._accelerator
    wanted = like.dtype if dtype is None else dtype
    return _core.empty_accelerated(device, tuple(shape), wanted.code, tuple(strides[-len(shape) :]))


def part(x: Tensor, out: Tensor, above: int, on: int, below: int) -> bool:
    """Elements of each matrix of x, or of its mirror image, 0 or 1 into `out`; whether the layouts
    are ones that kernels take."""
    lead, (m, n) = out.shape[:-2], out.shape[-2:]
    there, here = (stack_of(matrices(t, lead), lead) for t in (x, out))
    if there is None or here is None:
        return False
    start(FILE, "parts", out.numel(), x, x, out, there, here, m, n, out.numel(), above, on, below)
    return True


def _whole(m: Matrices) -> bytes:
    """The Stack of a tensor whose matrices lie one after another."""
    found = stack_of(m, m.tensor.shape[:-2])
    assert found is not None
    return found


def first_failure(info: Tensor) -> tuple[int, int] | None:
    """The first matrix of a stack that failed, and its number; waits for the device."""
    numbers = elements(info).reshape(-1)
    failed = numbers.nonzero()[0]
    return (int(failed[0]), int(numbers[failed[0]])) if len(failed) else None


# ---- Cholesky


def _cholesky(a: Tensor, upper: bool) -> Tensors:
    if not stacked(a, square=True):
        return NotImplemented
    out, info = by_columns(a.shape, a), empty(a.shape[:-2], a, dtypes.int32)
    if not part(a, out, *((SAME, SAME, ZERO) if upper else (ZERO, SAME, SAME))):
        return NotImplemented
    m = matrices(out)
    of = _whole(m.turned if upper else m)
    count, n = info.numel(), a.shape[-1]
    stopped = zeros(info.shape, info)
    for k in range(n):
        operands = out, stopped, of, n, count * (n - k), k
        start(FILE, "cholesky_sums", count * (n - k), a, *operands)
        start(FILE, "cholesky_column", count * (n - k), a, *operands)
    start(FILE, "cholesky_roots", count, a, out, info, of, n, count)
    return out, info


def _cholesky_of(name: str) -> Any:
    def function(a: Tensor, upper: bool) -> Tensor:

        found = _cholesky(a, upper)
        if found is NotImplemented:
            return found
        failed = first_failure(found[1])
        if failed is not None:
            raise not_positive(name, a.dim(), *failed)
        return found[0]

    return function


there(solving.cholesky, takes=MATRICES)(_cholesky_of("linalg.cholesky"))
there(solving._old_cholesky, takes=MATRICES)(_cholesky_of("cholesky"))


@there(factors.cholesky_ex, takes=MATRICES)
def cholesky_ex(a: Tensor, upper: bool, check_errors: bool) -> Tensors:

    found = _cholesky(a, upper)
    if found is NotImplemented or not check_errors:
        return found
    failed = first_failure(found[1])
    if failed is not None:
        raise not_positive("linalg.cholesky_ex", a.dim(), *failed)
    return found


# ---- LU


def lu_factored(a: Tensor) -> tuple[Tensor, Tensor] | None:
    """L and U in one matrix, and the row exchanged at each step, from 1."""
    *lead, m, n = a.shape
    out, pivots = by_columns(a.shape, a), empty((*lead, min(m, n)), a, dtypes.int32)
    if not part(a, out, SAME, SAME, SAME):
        return None
    of, count, steps = _whole(matrices(out)), prod(lead), min(m, n)
    for k in range(steps):
        start(FILE, "lu_pivot", count, a, out, pivots, of, m, steps, count, k)
        start(FILE, "lu_exchange", count * n, a, out, pivots, of, n, steps, count * n, k)
        pieces, right = -(-(m - k - 1) // _N.LU_PIECE), n - k - 1
        items = count * right * pieces
        start(FILE, "lu_eliminate", items, a, out, of, m, right, pieces, items, k)
    return out, pivots


@there(decompositions.lu_factor_op, takes=MATRICES)
def _lu_factor(a: Tensor) -> Tensors:
    found = lu_factored(a) if stacked(a) else None
    return NotImplemented if found is None else found


def zero_pivots(lu: Tensor) -> Tensor | None:
    """The number, from 1, of the first zero on each diagonal, or 0."""
    lead = lu.shape[:-2]
    of = stack_of(matrices(lu), lead)
    if of is None:
        return None
    info = empty(lead, lu, dtypes.int32)
    steps = min(lu.shape[-2:])
    start(FILE, "zero_pivot", info.numel(), lu, lu, info, of, steps, info.numel())
    return info


@there(factors._info, takes=MATRICES)
def _lu_info(lu: Tensor) -> Tensor:
    found = zero_pivots(lu) if stacked(lu) else None
    return NotImplemented if found is None else found


@there(factors._unpack_lu, takes=MATRICES)
def _unpack_lu(lu: Tensor) -> Tensors:
    if not stacked(lu):
        return NotImplemented
    *lead, m, n = lu.shape
    k = min(m, n)
    lower, upper = empty((*lead, m, k), lu), empty((*lead, k, n), lu)
    done = part(lu, lower, ZERO, ONE, SAME) and part(lu, upper, SAME, SAME, ZERO)
    return (lower, upper) if done else NotImplemented


@there(factors._lu_parts, takes="float32 float64 same, pivots: real")
def _lu_parts(a: Tensor, lu: Tensor, pivots: Tensor) -> Tensors:
    return _unpack_lu(lu)


@there(decompositions.pivot_matrix, takes="int32")
def _pivot_matrix(pivots: Tensor, m: int) -> Tensor:
    if not pivots.dim():
        return NotImplemented
    *lead, steps = pivots.shape
    numbers = elements(pivots)
    if steps > m or ((numbers < 1) | (numbers > m)).any():
        return NotImplemented
    out = empty((*lead, m, m), pivots, dtypes.bool)
    count = prod(lead) * m
    # T is only what the rest of the text computes in.
    given = rows(pivots), out, steps, m, count
    start(FILE, "permutation", count, pivots, *given, computes="float32")
    return out


# ---- QR


def _reflections(a: Tensor) -> tuple[Tensor, Tensor] | None:
    """R and below it the vectors of reflections, and their factors."""
    *lead, m, n = a.shape
    out, taus = by_columns(a.shape, a), empty((*lead, min(m, n)), a)
    if not part(a, out, SAME, SAME, SAME):
        return None
    of, count, steps = _whole(matrices(out)), prod(lead), min(m, n)
    for k in range(steps):
        start(FILE, "reflection", count, a, out, taus, of, m, steps, count, k)
        right = n - k - 1
        items = count * right
        start(FILE, "reflect_rest", items, a, out, taus, of, m, right, steps, items, k)
    return out, taus


def _reflect(a: Tensor, taus: Tensor, x: Matrices, columns: int, turned: bool) -> bool:
    """Apply reflections to matrices, in place; x: all of a tensor, maybe each transposed."""
    lead, (m, _) = a.shape[:-2], a.shape[-2:]
    there = stack_of(matrices(a, lead), lead)
    if there is None:
        return False
    count, steps = prod(lead) * columns, taus.shape[-1]
    operands = a, rows(taus), x.tensor, there, _whole(x)
    start(FILE, "reflect", count, a, *operands, m, columns, count, steps, int(turned))
    return True


@there(reflections.geqrf, takes=MATRICES)
def geqrf(a: Tensor) -> Tensors:
    found = _reflections(a) if stacked(a) else None
    return NotImplemented if found is None else found


@there(decompositions.linalg_qr, takes=MATRICES)
def _qr(a: Tensor, mode: str) -> Tensors:
    found = _reflections(a) if stacked(a) and mode in ("reduced", "complete", "r") else None
    if found is None:
        return NotImplemented
    turned, taus = found
    *lead, m, n = a.shape
    k = m if mode == "complete" else min(m, n)
    q, r = by_columns((*lead, m, k), a), by_columns((*lead, k, n), a)
    part(turned, r, SAME, SAME, ZERO)
    if mode == "r":
        return empty((0,), a), r
    part(q, q, ZERO, ONE, ZERO)
    _reflect(turned, taus, matrices(q), k, False)
    return q, r


@there(reflections.householder_product, takes=MATRICES)
def householder_product(a: Tensor, taus: Tensor) -> Tensor:
    if not stacked(a) or taus.dim() != a.dim() - 1:
        return NotImplemented
    m, n = a.shape[-2:]
    if m < n or taus.shape[-1] > n or taus.shape[:-1] != a.shape[:-2]:
        return NotImplemented
    out = by_columns(a.shape, a)
    part(out, out, ZERO, ONE, ZERO)
    return out if _reflect(a, taus, matrices(out), n, False) else NotImplemented


@there(reflections.ormqr, takes=MATRICES)
def ormqr(a: Tensor, taus: Tensor, c: Tensor, left: bool, transpose: bool) -> Tensor:
    if not stacked(a, c):
        return NotImplemented
    m, n = a.shape[-2:]
    rows_of_c = c.shape[-2 if left else -1]
    if a.dim() != c.dim() or taus.dim() != a.dim() - 1 or rows_of_c != m:
        return NotImplemented
    if taus.shape[-1] != min(m, n) or not taus.shape[:-1] == a.shape[:-2] == c.shape[:-2]:
        return NotImplemented
    out = by_columns(c.shape, c)
    if not part(c, out, SAME, SAME, SAME):
        return NotImplemented
    x = matrices(out) if left else matrices(out).turned
    done = _reflect(a, taus, x, c.shape[-1 if left else -2], bool(transpose) == bool(left))
    return out if done else NotImplemented


# ---- LDL


def _ldl(name: str, a: Tensor, check: bool) -> Any:

    if not stacked(a, square=True):
        return NotImplemented
    out, info = by_columns(a.shape, a), empty(a.shape[:-2], a, dtypes.int32)
    pivots = empty(a.shape[:-1], a, dtypes.int32)
    if not part(a, out, ZERO, SAME, SAME):
        return NotImplemented
    n, count, of = a.shape[-1], info.numel(), _whole(matrices(out))
    state = empty((count, 2), info)
    for k in range(n + 1):
        start(FILE, "ldl_pivot", count, a, out, pivots, state, info, of, n, count, int(k == 0))
        start(FILE, "ldl_rest", count * n, a, out, state, of, n, count * n)
    failed = first_failure(info) if check else None
    if failed is not None:
        raise zero_in_ldl(name, a.dim(), *failed)
    return out, pivots, info


@there(factors.ldl_factor_ex, takes=MATRICES)
def ldl_factor_ex(a: Tensor, hermitian: bool, check_errors: bool) -> Any:
    return _ldl("ldl_factor_ex", a, check_errors)


@there(factors.ldl_factor, takes=MATRICES)
def ldl_factor(a: Tensor, hermitian: bool) -> Tensors:
    found = _ldl("ldl_factor", a, True)
    return found if found is NotImplemented else found[:2]
