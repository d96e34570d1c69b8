"""Systems of linear equations, and what is made of their solutions: inverses, determinants,
exponentials.

One work item solves for one column of the right-hand side.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ... import _core
from ... import _dtypes as dtypes
from ..._core import Tensor
from ...ops.table.arrays import elements
from ..opencl import numbered
from . import kernel
from ._factors import (
    FILE,
    ONE,
    SAME,
    ZERO,
    by_columns,
    first_failure,
    lu_factored,
    part,
    real,
    stack_of,
    zero_pivots,
)
from ._launch import empty, rows, start, takes
from ._products import Matrices, matrices

_NONE, _LOWER, _UPPER, _UNIT, _TURNED = 0, 1, 2, 4, 8  # as in linalg.cl


def _common(*stacks: Sequence[int]) -> tuple[int, ...] | None:
    """The sizes that all are spread to."""
    try:
        return np.broadcast_shapes(*map(tuple, stacks))
    except ValueError:
        return None


def _solved(
    a: Tensor, x: Tensor, first: int, second: int = _NONE, pivots: Any = None, left: bool = True
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


def _spread(b: Tensor, lead: Sequence[int], make: Any = by_columns) -> Tensor | None:
    """The matrices b spread to a stack of these sizes, as new ones."""
    x: Tensor = make((*lead, *b.shape[-2:]), b)
    return x if part(b, x, SAME, SAME, SAME) else None


# ---- triangular systems


@kernel("solve_triangular", "_triangular_solve")
def solve_triangular(a: Any, b: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    if not real(a, b) or a.shape[-1] != a.shape[-2] or b.shape[-2 if left else -1] != a.shape[-1]:
        return NotImplemented
    lead = _common(a.shape[:-2], b.shape[:-2])
    x = None if lead is None else _spread(b, lead, empty)
    how = (_UPPER if upper else _LOWER) | (_UNIT if unitriangular else 0)
    return x if x is not None and _solved(a, x, how, left=left) else NotImplemented


@kernel("cholesky_solve")
def cholesky_solve(b: Any, factor: Any, upper: bool) -> Any:
    if not real(factor, b) or factor.shape[-1] != factor.shape[-2]:
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


def _inverse(a: Any, name: str, check: bool) -> Any:
    from ...ops.matrix.solving import singular_inverse

    if not real(a, square=True):
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


@kernel("inv")
def inv(a: Any) -> Any:
    found = _inverse(a, "inv", True)
    return found if found is NotImplemented else found[0]


@kernel("inv_ex")
def inv_ex(a: Any, check_errors: bool) -> Any:
    return _inverse(a, "inv_ex", check_errors)


def _solution(a: Any, b: Any, left: bool, name: str, check: bool) -> Any:
    from ...ops.matrix.solving import is_vector, singular_solve

    if not real(a, square=True) or not takes(a, b) or a.dtype is not b.dtype or not b.dim():
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


@kernel("solve")
def solve(a: Any, b: Any, left: bool) -> Any:
    found = _solution(a, b, left, "solve", True)
    return found if found is NotImplemented else found[0]


@kernel("solve_ex")
def solve_ex(a: Any, b: Any, left: bool, check_errors: bool) -> Any:
    return _solution(a, b, left, "solve_ex", check_errors)


@kernel("ldl_solve")
def ldl_solve(ld: Any, pivots: Any, b: Any, hermitian: bool) -> Any:
    if not real(ld, b) or ld.shape[-1] != ld.shape[-2] or not takes(ld, pivots):
        return NotImplemented
    lead, n = _common(ld.shape[:-2], b.shape[:-2]), ld.shape[-1]
    integers = not pivots.dtype.is_floating_point and pivots.dtype is not dtypes.bool
    if lead is None or not integers or pivots.shape != ld.shape[:-1] or b.shape[-2] != n:
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


def _determinants(a: Any, logarithm: bool) -> Any:
    """The determinants, or their signs and the logarithms of their sizes."""
    found = lu_factored(a) if real(a, square=True) else None
    if found is None:
        return NotImplemented
    lu, pivots = found
    lead = a.shape[:-2]
    out, logarithms = empty(lead, a), empty(lead, a) if logarithm else None
    operands = lu, pivots, out, logarithms, stack_of(matrices(lu), lead)
    start(FILE, "determinant", out.numel(), a, *operands, a.shape[-1], out.numel(), int(logarithm))
    return (out, logarithms) if logarithm else out


@kernel("det")
def det(a: Any) -> Any:
    return _determinants(a, False)


@kernel("_slogdet", "_linalg_slogdet")
def slogdet(a: Any) -> Any:
    return _determinants(a, True)
