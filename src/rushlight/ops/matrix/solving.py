"""Inverses, solutions, determinants and Cholesky factors of square matrices: torch.linalg.

The kernels (native/bindings/matrix/lapack.cpp) factorise and solve. The definitions here have the
words of the errors, for the number by which a kernel tells where a matrix has no solution.
Gradients are rules in terms of other functions, so they can be differentiated again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ... import _core
from ..._base.outside import np
from ..._base.size import Size
from ..._core import Op, is_grad_enabled
from ...return_types import named
from ..making.creation import eye
from ..table.arrays import Array, anywhere, common_type, refuse, scalar_name, warn_once
from ..table.kinds import composite, general
from ..table.reference import alias
from ..table.signature import Tensor
from .products import matmul

_kernels = _core.kernels
_Function = Callable[..., object]


class _LinAlgError(RuntimeError):
    """Raised where a matrix has no inverse, no factorisation, ...; a RuntimeError, as torch's.

    >>> try:
    ...     torch.linalg.inv(torch.zeros(2, 2))
    ... except torch.linalg.LinAlgError:
    ...     print("it has no inverse")
    it has no inverse
    """

    __module__ = "rushlight.linalg"


LinAlgError = _LinAlgError
alias("LinAlgError", LinAlgError, method=False, where="linalg")

# ---- checks

# PyTorch's kernels that refuse halves themselves.
_KERNELS = {"cholesky": "cholesky_cpu", "solve": "lu_cpu", "lu_factor": "lu_cpu"}


def check_matrices(
    name: str,
    a: Array,
    *,
    square: bool = False,
    letter: str = "A",
    halves: bool = False,
    of: str = "linalg",
) -> None:
    if a.ndim < 2:
        raise RuntimeError(
            f"{of}.{name}: The input tensor {letter} must have at least 2 dimensions."
        )
    if square and a.shape[-1] != a.shape[-2]:
        raise RuntimeError(
            f"{of}.{name}: A must be batches of square matrices, "
            f"but they are {a.shape[-2]} by {a.shape[-1]} matrices"
        )
    if a.dtype.kind in "biu":
        raise RuntimeError(
            f"{of}.{name}: Expected a floating point or complex tensor as input. Got "
            f"{scalar_name(a)}\n"
            "Convert first: `A.float()`."
        )
    if a.dtype.itemsize == 2 and name in _KERNELS:
        refuse(_KERNELS[name], a, "", halves=True)
    if a.dtype.itemsize == 2 and not halves:
        raise RuntimeError(
            f"{of}.{name}: Low precision dtypes not supported. Got {scalar_name(a)}\n"
            "Compute in float32: `A.float()`."
        )


def stack_matrices(a: Array) -> Array:
    """The matrices of all batches one after another."""
    return a.reshape(math.prod(a.shape[:-2]), *a.shape[-2:])


def batch_element(ndim: int, i: int) -> str:
    """'(Batch element 2): ', in which errors say where; empty without a stack."""
    return "" if ndim == 2 else f"(Batch element {i}): "


def first_bad(a: Array, failed: Callable[[Array], bool]) -> tuple[str, Array]:
    """An error's words for the place of the first matrix for which `failed` holds; the matrix."""
    stack = stack_matrices(a)
    i = next((i for i, m in enumerate(stack) if a.ndim == 2 or failed(m)), 0)
    return batch_element(a.ndim, i), stack[i]


def raises(f: Callable[[Array], Any]) -> Callable[[Array], bool]:
    def test(m: Array) -> bool:
        try:
            f(m)
        except np.linalg.LinAlgError:
            return True
        return False

    return test


def failure(info: Tensor) -> tuple[int, int] | None:
    """The place of the first matrix that failed, from 0 in the stack, and the `info` there."""
    if not anywhere(info != 0):
        return None
    return next((i, n) for i, n in enumerate(info.reshape(-1).tolist()) if n)


def _known_failure(info: Tensor) -> tuple[int, int]:
    """The same where a kernel found no result: if no matrix failed, there was no memory."""
    found = failure(info)
    if found is None:
        raise MemoryError
    return found


def refusals(kernel: _Function, definition: _Function) -> _Function:
    """A definition that has the words of a kernel's errors and no results. The kernel goes first:
    on an accelerator, where nothing else computes the op, by way of the host."""

    @wraps(definition)
    def refused(*given: object) -> object:
        found = kernel(*given)
        return definition(*given) if found is NotImplemented else found

    return refused


def no_convergence(name: str, a: Array, failed: Callable[[Array], bool]) -> LinAlgError:
    where, bad = first_bad(a, failed)
    values = "singular values" if name == "svd" else "eigenvalues"
    return LinAlgError(
        f"linalg.{name}: {where}The algorithm failed to converge because the input matrix is "
        f"ill-conditioned or has too many repeated {values} (error code: {bad.shape[-1] - 1}).\n"
        "Look for NaN or infinity in the input."
    )


# ---- inverse and solve


def _inv(A: Tensor) -> Tensor:
    check_matrices("inv", A._form, square=True)
    info = _kernels.lu_factor_ex(A, True, False)[2]
    raise singular_inverse("inv", A.ndim, *_known_failure(info))


def singular_inverse(name: str, ndim: int, i: int, pivot: int) -> LinAlgError:
    """Matrix i of a stack has a zero pivot."""
    return LinAlgError(
        f"linalg.{name}: {batch_element(ndim, i)}The diagonal element {pivot} is zero, the "
        "inversion could not be "
        "completed because the input matrix is singular."
    )


def singular_solve(name: str, ndim: int, i: int) -> LinAlgError:
    """Matrix i of a stack has a zero pivot."""
    return LinAlgError(
        f"torch.linalg.{name}: {batch_element(ndim, i)}The solver failed because the input matrix "
        "is singular."
    )


def regular(make: Any, *lead: int) -> Any:
    """A matrix that is safely invertible."""
    return make(*lead, 3, 3) * 0.2 + eye(3, dtype=make(1).dtype)


def square_samples(make: Any) -> Any:
    return [(regular(make),), (regular(make, 2),)]


inv = general(
    "inv(A: Tensor)",
    is_=refusals(_kernels.inverse, _inv),
    native=_kernels.inverse,
    vjp={"A": lambda g, out: -matmul(out.mH, matmul(g, out.mH))},
    node="LinalgInvExBackward0",
    where="linalg",
    samples=square_samples,
    keeps="columns: A",
    autocast="float32 here",
    doc="The inverse of square matrices.",
    batch="trailing",
)
alias("inverse", inv)


def is_vector(a_shape: tuple[int, ...], b_shape: tuple[int, ...]) -> bool:
    """Whether the right-hand side is a vector, or a stack of them, as torch and NumPy 1 decide."""
    return len(b_shape) == 1 or tuple(b_shape) == tuple(a_shape[:-1])


def check_equation(A: Tensor, B: Tensor, left: bool) -> bool:
    """The errors of an equation of matrices, by types and sizes; whether B is a vector."""
    check_matrices("solve", A._form, square=True)
    if A.dtype is not B.dtype:
        raise RuntimeError(
            "linalg.solve: Expected A and B to have the same dtype, but found A of type "
            f"{A.dtype.scalar_name} and B of "
            f"type {B.dtype.scalar_name} instead"
        )
    vector = is_vector(A.shape, B.shape)
    x, n = (*B.shape, 1) if vector else tuple(B.shape), A.shape[-1]
    if len(x) < 2 or x[-2 if left else -1] != n or (vector and not left):
        raise RuntimeError(
            "linalg.solve: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'} "
            f"({A.shape[-2]}x{n} and {'x'.join(map(str, x[-2:]))})"
        )
    common_lead(A.shape, x)
    return vector


def common_lead(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """The batch of matrices of two shapes."""
    first, second = tuple(a[:-2]), tuple(b[:-2])
    longest = max(len(first), len(second))
    sizes = list((1,) * (longest - len(first)) + first)
    for at, n in enumerate((1,) * (longest - len(second)) + second):
        if sizes[at] != n and 1 not in (sizes[at], n):
            raise RuntimeError(
                f"The size of tensor a ({n}) must match the size of tensor b ({sizes[at]}) at "
                f"non-singleton dimension {at}"
            )
        sizes[at] = n if sizes[at] == 1 else sizes[at]
    return tuple(sizes)


def _solve(A: Tensor, B: Tensor, left: bool) -> Tensor:
    check_equation(A, B, left)
    info = _kernels.lu_factor_ex(A, True, False)[2]
    raise singular_solve("solve", A.ndim, _known_failure(info)[0])


def gradients_by(solution: Callable[..., Tensor]) -> Callable[..., Any]:
    """The rule for A and B of a solution of A @ X = B, which solves once."""

    def rule(
        g: Tensor, A: Tensor, out: Tensor, B_shape: Size, left: bool, needs: tuple[int, ...]
    ) -> tuple[Tensor | None, Tensor]:
        if left and is_vector(A.shape, B_shape):
            right = solution(A.mH, g.unsqueeze(-1), True).squeeze(-1)
            matrix = -(right.unsqueeze(-1) * out.conj().unsqueeze(-2)) if needs[0] else None
            return matrix, right
        right = solution(A.mH, g, left)
        if not needs[0]:
            return None, right
        return matmul(-right, out.mH) if left else matmul(out.mH, -right), right

    return rule


solve: Op = general(
    "solve(A: Tensor, B: Tensor, *, left: bool = True)",
    is_=refusals(_kernels.solve, _solve),
    native=_kernels.solve,
    vjp={"A, B": gradients_by(lambda a, b, left: solve(a, b, left=left))},
    node="LinalgSolveExBackward0",
    where="linalg",
    samples=lambda make: [
        (regular(make), make(3)),
        (regular(make), make(3, 2)),
        (regular(make, 2), make(2, 3, 2)),
        (regular(make), make(2, 3), {"left": False}),
    ],
    keeps="columns: A",
    formula={"A": "−solve(Aᵀ, g) · outᵀ", "B": "solve(Aᵀ, g)"},
    autocast="float32 here",
    doc="The solution X of A @ X = B (of X @ A = B with left=False).",
)


def substitute(m: Array, x: Array, upper: bool, start: int, stop: int) -> None:
    """Solve rows start to stop of a triangular system, in place: one half, which is then taken out
    of the other, so that most of the work is products of blocks."""
    if stop - start <= 16:
        for i in reversed(range(start, stop)) if upper else range(start, stop):
            known = slice(i + 1, stop) if upper else slice(start, i)
            row = x[..., i, :] - (m[..., i : i + 1, known] @ x[..., known, :])[..., 0, :]
            x[..., i, :] = row / m[..., i, i, None]
        return
    middle = (start + stop) // 2
    low, high = (start, middle), (middle, stop)
    first, second = (high, low) if upper else (low, high)
    substitute(m, x, upper, *first)
    a, b = slice(*first), slice(*second)
    x[..., b, :] -= m[..., b, a] @ x[..., a, :]
    substitute(m, x, upper, *second)


def _solve_triangular(a: Array, b: Array, upper: bool, left: bool, unitriangular: bool) -> Array:
    check_matrices("solve_triangular", a, square=True)
    if b.ndim < 2:
        check_matrices("solve_triangular", b, letter="B")
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
    # As in PyTorch of A's type, but for a real A with complex numbers.
    dtype = common_type(a, b) if b.dtype.kind == "c" else a.dtype
    x = np.array(np.broadcast_to(x, (*lead, *x.shape[-2:])), dtype=dtype)
    with np.errstate(all="ignore"):
        substitute(m, x, upper, 0, n)
    return np.ascontiguousarray(x if left else x.swapaxes(-1, -2))


def _triangle(t: Tensor, upper: bool, unit: bool) -> Tensor:
    return t.triu(1 if unit else 0) if upper else t.tril(-1 if unit else 0)


def _triangular_vjp(
    g: Tensor,
    A: Tensor,
    out: Tensor,
    upper: bool,
    left: bool,
    unitriangular: bool,
    needs: tuple[int, ...],
) -> tuple[Tensor | None, Tensor]:
    b = solve_triangular(A.mH, g, upper=not upper, left=left, unitriangular=unitriangular)
    if not needs[0]:
        return None, b
    full = matmul(-b, out.mH) if left else matmul(out.mH, -b)
    return _triangle(full, upper, unitriangular), b


def _triangular_op(name: str, node: str, **more: Any) -> Op:
    return general(
        f"{name}(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, "
        "unitriangular: bool = False)",
        _solve_triangular,
        native=_kernels.solve_triangular,
        vjp={"A, B": _triangular_vjp},
        batch="solved",
        formula={
            "A": "the triangle of −solve_triangular(Aᵀ, g) · outᵀ",
            "B": "solve_triangular(Aᵀ, g)",
        },
        node=node,
        method=False,
        samples=lambda make: [
            (regular(make), make(3, 2), {"upper": True}),
            (regular(make), make(2, 3), {"upper": False, "left": False}),
        ],
        doc="The solution X of A @ X = B for a triangular A.",
        **more,
    )


solve_triangular = _triangular_op(
    "solve_triangular", "LinalgSolveTriangularBackward0", where="linalg"
)
_triangular_solve = _triangular_op("_triangular_solve", "TriangularSolveBackward0")
_triangular_result = named("triangular_solve", "solution", "cloned_coefficient")


@composite(out=["exact"], autocast="float32 here")
def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> Any:
    """`linalg.solve_triangular` in torch's older form."""
    warn_once(
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangular"
        "and will be removed in a future PyTorch release.\n"
        "torch.linalg.solve_triangular has its arguments reversed and does not return a copy of "
        "one of the inputs.\n"
        "X = torch.triangular_solve(B, A).solution\nshould be replaced with\n"
        "X = torch.linalg.solve_triangular(A, B)."
    )
    if input.dtype is not A.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type "
            f"{input.dtype.scalar_name} and A of type {A.dtype.scalar_name} instead."
        )
    m = A.mT if transpose else A
    x = _triangular_solve(m, input, upper=upper != transpose, unitriangular=unitriangular)
    return _triangular_result((x, A.clone()))


# ---- Cholesky


def not_positive(name: str, ndim: int, i: int, order: int) -> LinAlgError:
    """Matrix i of a stack has a leading minor that is not positive-definite."""
    return LinAlgError(
        f"{name}: {batch_element(ndim, i)}The factorization could not be completed because the "
        "input is not positive-definite "
        f"(the leading minor of order {order} is not positive-definite)."
    )


def _cholesky_of(name: str) -> Callable[[Tensor, bool], Tensor]:
    def cholesky(A: Tensor, upper: bool) -> Tensor:
        check_matrices("cholesky", A._form, square=True)
        info = _kernels.cholesky_ex(A, upper, False)[1]
        raise not_positive(name, A.ndim, *_known_failure(info))

    return cholesky


def cholesky_vjp(g: Tensor, out: Tensor, upper: bool) -> Any:
    L = out.mH if upper else out
    g = g.mH if upper else g
    # The symmetric part, for the argument is symmetric, of what a triangular L leaves free.
    low = matmul(L.mH, g).tril()
    inner = (low + low.tril(-1).mH) * 0.5
    x = solve_triangular(L.mH, inner, upper=True)
    return solve_triangular(L, x, upper=False, left=False)


CHOLESKY = "L⁻ᵀ · (T + tril(T, −1)ᵀ) / 2 · L⁻¹, T = tril(Lᵀ · g), L = out"  # as a formula


def positive_samples(make: Any) -> Any:
    out = []
    for lead in ((), (2,)):
        m = make(*lead, 3, 3)
        out.append((matmul(m, m.mH) + eye(3, dtype=m.dtype),))
    return out


cholesky = general(
    "cholesky(A: Tensor, *, upper: bool = False)",
    is_=refusals(_kernels.cholesky, _cholesky_of("linalg.cholesky")),
    native=_kernels.cholesky,
    vjp={"A": cholesky_vjp},
    node="LinalgCholeskyExBackward0",
    where="linalg",
    samples=positive_samples,
    keeps="columns: A",
    traits="symmetric",
    formula={"A": CHOLESKY},
    autocast="float32 here",
    doc="The lower triangular L (the upper with upper=True) for which A = L @ L.mH.",
    batch="trailing",
)
_old_cholesky = general(
    "_cholesky(input: Tensor, upper: bool = False)",
    is_=refusals(_kernels.cholesky, _cholesky_of("cholesky")),
    native=_kernels.cholesky,
    vjp={"input": cholesky_vjp},
    formula={"input": CHOLESKY},
    node="CholeskyBackward0",
    method=False,
    keeps="columns: input",
    traits="symmetric",
    doc="`linalg.cholesky` in torch's older form.",
    batch="trailing",
)


@composite(
    method=False,
    out=(
        "cast",
        RuntimeError,
        "cholesky: Expected result to be safely castable from {want.scalar_name} dtype, but "
        "got result with dtype {got.scalar_name}",
    ),
    autocast="float32 here",
)
def _torch_cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """`linalg.cholesky` in torch's older form."""
    warn_once(
        "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a "
        "future PyTorch "
        "release.\nL = torch.cholesky(A)\nshould be replaced with\nL = "
        "torch.linalg.cholesky(A)\nand\n"
        "U = torch.cholesky(A, upper=True)\nshould be replaced with\nU = "
        "torch.linalg.cholesky(A).mH\n"
        "This transform will produce equivalent results for all valid (symmetric positive "
        "definite) inputs."
    )
    return _old_cholesky(input, upper)


alias("cholesky", _torch_cholesky)


def _cholesky_solve(b: Array, factor: Array, upper: bool) -> Array:
    if b.dtype != factor.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {scalar_name(b)} and A "
            f"of type {scalar_name(factor)} instead."
        )
    check_matrices("cholesky_solve", factor, square=True)
    lower = factor.swapaxes(-1, -2).conj() if upper else factor
    half = _solve_triangular(lower, b, False, True, False)
    return _solve_triangular(lower.swapaxes(-1, -2).conj(), half, True, True, False)


def _cholesky_solve_vjp(
    g: Tensor, L: Tensor, out: Tensor, upper: bool, needs: tuple[int, ...]
) -> tuple[Tensor, Tensor | None]:
    b = cholesky_solve(g, L, upper)
    if not needs[1]:
        return b, None
    # A = L @ L.mH changes by both of its factors.
    product = matmul(-b, out.mH)
    both = product + product.mH
    return b, matmul(L, both) if upper else matmul(both, L)  # also in the triangle that is not read


cholesky_solve: Op = general(
    "cholesky_solve(input: Tensor, L: Tensor, upper: bool = False)",
    _cholesky_solve,
    native=_kernels.cholesky_solve,
    vjp={"input, L": _cholesky_solve_vjp},
    out="cast",
    samples=lambda make: [(make(3, 2), regular(make).tril())],
    keeps="columns: input",
    traits="factor",
    formula={"L": "−(C + Cᵀ) · L, C = cholesky_solve(g, L) · outᵀ"},
    autocast="float32 here",
    doc="The solution of A @ X = input, given the Cholesky factor of A.",
    batch="solved",
)


def _cholesky_inverse(input: Tensor, upper: bool) -> Tensor:
    identity = eye(input.shape[-1], dtype=input.dtype, device=input.device)
    return cholesky_solve(identity, input, upper)


def _cholesky_inverse_vjp(g: Tensor, input: Tensor, out: Tensor, upper: bool) -> Tensor:
    both = matmul(out, matmul(g + g.mH, out))
    return -matmul(input, both) if upper else -matmul(both, input)


cholesky_inverse = general(
    "cholesky_inverse(input: Tensor, upper: bool = False)",
    is_=_cholesky_inverse,
    native=_kernels.cholesky_inverse,
    vjp={"input": _cholesky_inverse_vjp},
    traits="factor",
    keeps="columns: input",
    out=(
        "cast",
        RuntimeError,
        "cholesky_inverse: Expected result to be safely castable from {want.scalar_name} dtype, "
        "but got result with dtype {got.scalar_name}",
    ),
    # A diagonal that is real, as LAPACK takes it.
    samples=lambda make: [
        (make(*lead, 3, 3).tril(-1) + eye(3, dtype=make(1).dtype),) for lead in ((), (2,))
    ],
    formula={"input": "−C · input, C = out · (g + gᵀ) · out"},
    autocast="float32 here",
    doc="The inverse of A, given its Cholesky factor.",
    batch="trailing",
)


def is_recorded(A: Tensor) -> bool:
    """Whether a call's result has a history, or stands for another in a transform."""
    return A._wrapped is not None or (A.requires_grad and is_grad_enabled())
