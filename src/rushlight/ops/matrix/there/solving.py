"""Systems of linear equations and least squares, inverses, determinants, exponentials.

One work item solves for one column of the right-hand side.
"""

from __future__ import annotations

from functools import partial
from math import isfinite, nan, prod
from typing import Any

from .... import _core
from ...._base import dtypes
from ...._base.dtypes import finfo
from ...._base.outside import np
from ...._core import Tensor
from ...._devices.accelerators import numbered
from ...._devices.launch import Ints, empty, number, rows, start
from ...._devices.there import named, there
from ...layout.there.rearranging import filled, zeros
from ...table.arrays import elements
from .. import decompositions, factors, matrix_functions, solving
from ..matrix_functions import exp_halvings, exp_quotient
from ..solving import is_vector, singular_inverse, singular_solve
from .factors import (
    FILE,
    MATRICES,
    MIRRORED,
    ONE,
    SAME,
    ZERO,
    by_columns,
    first_failure,
    lu_factored,
    part,
    stack_of,
    stacked,
    zero_pivots,
)
from .products import matrices

_NONE, _LOWER, _UPPER, _UNIT, _TURNED = 0, 1, 2, 4, 8  # as in linalg.cl


def _common(*stacks: Ints) -> tuple[int, ...] | None:
    """The sizes that all are spread to."""
    try:
        return np.broadcast_shapes(*map(tuple, stacks))
    except ValueError:
        return None


def _solved(
    a: Tensor,
    x: Tensor,
    first: int,
    second: int = _NONE,
    pivots: Tensor | None = None,
    left: bool = True,
) -> bool:
    """Solve for all of x, in place. a is spread to x's stack; left: x @ a otherwise."""
    lead, n = x.shape[:-2], a.shape[-1]
    m, to = matrices(a, lead), matrices(x)
    if not left:
        m, to = m.turned, to.turned
        first, second = (how ^ _UPPER if how else how for how in (first, second))
    there, here = stack_of(m, lead), stack_of(to, lead)
    order = there if pivots is None else stack_of(matrices(pivots, lead, "r"), lead)
    if there is None or here is None or order is None:
        return False
    columns = x.shape[-1 if left else -2]
    count, steps = prod(lead) * columns, 0 if pivots is None else n
    given = a, pivots, x, there, order, here, n, columns, count, steps, first, second
    start(FILE, "solve", count, a, *given)
    return True


def _spread(b: Tensor, lead: Ints) -> Tensor | None:
    """The matrices b spread to a stack of these sizes, as new ones."""
    x = by_columns((*lead, *b.shape[-2:]), b)
    return x if part(b, x, SAME, SAME, SAME) else None


# ---- triangular systems


@there(solving.solve_triangular, solving._triangular_solve, takes=MATRICES)
def solve_triangular(a: Tensor, b: Tensor, upper: bool, left: bool, unitriangular: bool) -> Tensor:
    if not stacked(b) or not stacked(a, square=True) or b.shape[-2 if left else -1] != a.shape[-1]:
        return NotImplemented
    lead = _common(a.shape[:-2], b.shape[:-2])
    x = None if lead is None else _spread(b, lead)
    how = (_UPPER if upper else _LOWER) | (_UNIT if unitriangular else 0)
    return x if x is not None and _solved(a, x, how, left=left) else NotImplemented


@there(solving.cholesky_solve, takes=MATRICES)
def cholesky_solve(b: Tensor, factor: Tensor, upper: bool) -> Tensor:
    if not stacked(factor, b) or factor.shape[-1] != factor.shape[-2]:
        return NotImplemented
    lead = _common(factor.shape[:-2], b.shape[:-2])
    if lead is None or b.shape[-2] != factor.shape[-1]:
        return NotImplemented
    x = _spread(b, lead)
    both = (_LOWER | _TURNED, _UPPER) if upper else (_LOWER, _UPPER | _TURNED)
    return x if x is not None and _solved(factor, x, *both) else NotImplemented


# ---- by LU


def _by_lu(a: Tensor, x: Tensor | None, left: bool = True) -> Tensor | None:
    """Solve for all of x, in place; what `zero_pivots` says of a."""
    found = None if x is None else lu_factored(a if left else a.transpose(-1, -2))
    if x is None or found is None:
        return None
    lu, pivots = found
    to = x if left else x.transpose(-1, -2)
    return zero_pivots(lu) if _solved(lu, to, _LOWER | _UNIT, _UPPER, pivots) else None


def _inverse(name: str, a: Tensor, check: bool) -> Any:

    if not stacked(a, square=True):
        return NotImplemented
    x = by_columns(a.shape, a)
    part(x, x, ZERO, ONE, ZERO)
    info = _by_lu(a.detach(), x)
    if info is None:
        return NotImplemented
    failed = first_failure(info) if check else None
    if failed is not None:
        raise singular_inverse(name, a.dim(), *failed)
    return x, info


@there(solving.inv, takes=MATRICES)
def inv(a: Tensor) -> Tensor:
    found = _inverse("inv", a, True)
    return found if found is NotImplemented else found[0]


there(factors.inv_ex, takes=MATRICES)(partial(_inverse, "inv_ex"))


def _solution(name: str, a: Tensor, b: Tensor, left: bool, check: bool) -> Any:

    if not stacked(a, square=True) or not b.dim():
        return NotImplemented
    vector = is_vector(tuple(a.shape), tuple(b.shape))
    b = b.detach().unsqueeze(-1) if vector else b
    lead = _common(a.shape[:-2], b.shape[:-2])
    if lead is None or b.shape[-2 if left else -1] != a.shape[-1] or (vector and not left):
        return NotImplemented
    x = _spread(b, lead)
    info = _by_lu(a.detach(), x, left)
    if x is None or info is None:
        return NotImplemented
    failed = first_failure(info) if check else None
    if failed is not None:
        raise singular_solve(name, a.dim(), failed[0])
    return x.squeeze(-1) if vector else x, info


@there(solving.solve, takes=MATRICES)
def solve(a: Tensor, b: Tensor, left: bool) -> Tensor:
    found = _solution("solve", a, b, left, True)
    return found if found is NotImplemented else found[0]


there(factors.solve_ex, takes=MATRICES)(partial(_solution, "solve_ex"))


@there(factors.ldl_solve, takes="float32 float64 same, pivots: int")
def ldl_solve(ld: Tensor, pivots: Tensor, b: Tensor, hermitian: bool) -> Tensor:
    if not stacked(ld, b) or ld.shape[-1] != ld.shape[-2]:
        return NotImplemented
    lead, n = _common(ld.shape[:-2], b.shape[:-2]), ld.shape[-1]
    if lead is None or pivots.shape != ld.shape[:-1] or b.shape[-2] != n:
        return NotImplemented
    sizes = abs(elements(pivots).astype(np.int64))
    if ((sizes < 1) | (sizes > n)).any():
        return NotImplemented
    x, order = _spread(b, lead), rows(pivots, dtypes.int32)
    there, here = stack_of(matrices(ld, lead), lead), stack_of(matrices(order, lead, "r"), lead)
    if x is None or there is None or here is None:
        return NotImplemented
    to, count = stack_of(matrices(x), lead), prod(lead) * x.shape[-1]
    start(FILE, "ldl_solve", count, x, ld, order, x, there, here, to, n, x.shape[-1], count)
    return x


# ---- determinants


def _determinants(a: Tensor, logarithm: bool) -> Any:
    """The determinants, or their signs and the logarithms of their sizes."""
    found = lu_factored(a) if stacked(a, square=True) else None
    if found is None:
        return NotImplemented
    lu, pivots = found
    lead = a.shape[:-2]
    out, logarithms = empty(lead, a), empty(lead, a) if logarithm else None
    operands = lu, pivots, out, logarithms, stack_of(matrices(lu), lead)
    start(FILE, "determinant", out.numel(), a, *operands, a.shape[-1], out.numel(), int(logarithm))
    return (out, logarithms) if logarithm else out


there(matrix_functions.det, takes=MATRICES)(partial(_determinants, logarithm=False))
there(*named("_slogdet"), matrix_functions._linalg_slogdet, takes=MATRICES)(
    partial(_determinants, logarithm=True)
)


# ---- exponentials


def _wide(a: Tensor) -> dtypes.dtype:
    """float64 where the device has it: what the CPU computes in."""
    device: Any = a._accelerator
    return dtypes.float64 if numbered(device).facts.has_double else dtypes.float32


@there(matrix_functions.matrix_exp, takes="float")
def matrix_exp(a: Tensor) -> Tensor:

    if not stacked(a, square=True):
        return NotImplemented
    if not a.numel():
        return empty(a.shape, a)
    x = rows(a.detach(), _wide(a))
    size = float(elements(x.abs().sum(-2).amax()))
    if not isfinite(size):
        return rows(x * nan, a.dtype)
    halvings, eye = exp_halvings(size), empty(a.shape[-2:], x)
    part(eye, eye, ZERO, ONE, ZERO)
    found = _solution("solve", *exp_quotient(x / 2.0**halvings, eye), True, False)
    if found is NotImplemented:
        return found
    result = found[0]
    for _ in range(halvings):
        result = result @ result
    return rows(result, a.dtype)


# ---- singular values: only what does not depend on the signs of vectors, which LAPACK chooses

_SWEEPS = 40  # ten are many


def _orthogonal(a: Tensor, symmetric: bool) -> tuple[Tensor, Tensor, Tensor] | None:
    """(W, V, s): W = a @ V with orthogonal columns, of lengths s; V is orthogonal. Of a.mT where
    that has fewer columns. None where an element is not finite, no end is found, or there are too
    many dimensions.

    symmetric: only the lower triangle is read.
    """
    if symmetric:
        a, given = empty(a.shape, a), a
        if not part(given, a, MIRRORED, SAME, SAME):
            return None
    elif a.shape[-1] > a.shape[-2]:
        a = a.transpose(-1, -2)
    *lead, m, n = a.shape
    w = by_columns(a.shape, a, _wide(a))
    _core.copy_values(w, a)
    v, moved = by_columns((*lead, n, n), w), empty((1,), w, dtypes.int32)
    part(v, v, ZERO, ONE, ZERO)
    places = stack_of(matrices(w), lead), stack_of(matrices(v), lead)
    pairs = (n + 1) // 2
    count, least = prod(lead) * pairs, number(finfo(w.dtype).eps, w)
    for _ in range(_SWEEPS):
        filled(moved)
        for turn in range(2 * pairs - 1):
            sizes = m, n, pairs, count, turn
            start(FILE, "jacobi", count, w, w, v, moved, *places, *sizes, least)
        if not elements(moved)[0]:
            s = (w * w).sum(-2).sqrt()
            return (w, v, s) if elements(s.isfinite().all()) else None
    return None


def _threshold(s: Tensor, a: Tensor, atol: Any, rtol: float | None) -> Tensor:
    """Singular values that count are larger; the bounds are numbers, or tensors of one for each
    matrix."""

    def bound(value: Any) -> Any:
        return value.unsqueeze(-1) if isinstance(value, Tensor) else value

    absolute = bound(0.0 if atol is None else atol)
    if rtol is None:
        relative = (absolute <= 0) * (max(a.shape[-2:]) * finfo(a.dtype).eps)
    else:
        relative = bound(rtol)
    smallest: Tensor = (s.amax(-1, keepdim=True) * relative).maximum(s.new_zeros(1) + absolute)
    return smallest


_BOUNDED = "float32 float64, {0}: real, atol: real, rtol: real"


@there(matrix_functions._rank_op, takes=_BOUNDED.format("tol"))
def matrix_rank(a: Tensor, tol: Any, atol: Any, rtol: float | None, hermitian: bool) -> Any:
    if not stacked(a, square=bool(hermitian)):
        return NotImplemented
    if not a.numel():
        return zeros(a.shape[:-2], a, dtypes.int64)
    found = _orthogonal(a.detach(), bool(hermitian))
    if found is None:
        return NotImplemented
    if tol is not None:
        atol, rtol = tol, 0.0
    return (found[2] > _threshold(found[2], a, atol, rtol)).sum(-1)


def _inverted(a: Tensor, atol: object, rtol: float | None, hermitian: bool) -> Tensor:
    if not stacked(a, square=hermitian):
        return NotImplemented
    *lead, m, n = a.shape
    if not a.numel():
        return empty((*lead, n, m), a)
    found = _orthogonal(a.detach(), hermitian)
    if found is None:
        return NotImplemented
    w, v, s = found
    inverse = s.reciprocal().masked_fill(s <= _threshold(s, a, atol, rtol), 0).unsqueeze(-2)
    w, v = w * inverse, v * inverse
    result = v @ w.mT if hermitian or m >= n else w @ v.mT
    return rows(result, a.dtype)


@there(matrix_functions.pinv, takes=_BOUNDED.format("rcond"))
def pinv(a: Tensor, rcond: Any, atol: Any, rtol: float | None, hermitian: bool) -> Tensor:
    return _inverted(a, atol, rtol if rcond is None else rcond, bool(hermitian))


@there(matrix_functions._least_squares_op, takes=MATRICES)
def least_squares(a: Any, b: Any, rcond: Any, driver: Any) -> Any:
    if not stacked(a, b) or a.shape[:-1] != b.shape[:-1]:
        return NotImplemented
    inverse = _inverted(a, None, rcond, False)
    if inverse is NotImplemented:
        return inverse
    m, n = a.shape[-2:]
    x = inverse @ b.detach()
    left = values = empty((0,), a)
    gels = driver == "gels"
    rank = zeros((0,), a, dtypes.int64) if gels else matrix_rank(a, None, None, rcond, False)
    if m > n and driver != "gelsy" and (gels or (elements(rank) == n).all()):
        left = (a.detach() @ x - b.detach()).square().sum(-2)
    if driver in ("gelsd", "gelss"):
        values = decompositions.svdvals(a.detach())
    return x, left, rank, values
