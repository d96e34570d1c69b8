"""`torch.linalg`. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import Any, TypeAlias

from . import return_types
from ._base.dtypes import dtype as _dtype
from ._core import Tensor
from ._typed.matrix import det as det
from ._typed.matrix import matmul as matmul
from ._typed.matrix import matrix_exp as matrix_exp
from ._typed.matrix import matrix_power as matrix_power
from .ops.matrix.decompositions import eigvals as eigvals
from .ops.matrix.decompositions import eigvalsh as eigvalsh
from .ops.matrix.decompositions import svdvals as svdvals
from .ops.matrix.fused_products import multi_dot as multi_dot
from .ops.matrix.fused_products import vecdot as vecdot
from .ops.matrix.matrix_functions import tensorinv as tensorinv
from .ops.matrix.matrix_functions import tensorsolve as tensorsolve
from .ops.matrix.matrix_functions import vander as vander

_Number: TypeAlias = _int | _float | _bool | _complex
_Ints: TypeAlias = _int | Sequence[_int]

class LinAlgError(RuntimeError): ...

def cholesky(A: Tensor, *, upper: _bool = False, out: Tensor | None = None) -> Tensor:
    """The lower triangular L (the upper with upper=True) for which A = L @ L.mH."""

def cholesky_ex(
    A: Tensor,
    *,
    upper: _bool = False,
    check_errors: _bool = False,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_cholesky_ex:
    """The Cholesky factor, and 0 or the order of the first minor that is not positive-definite."""

def cond(A: Tensor, p: _Number | _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The condition number: a norm of A times that of its inverse."""

def cross(input: Tensor, other: Tensor, *, dim: _int = -1, out: Tensor | None = None) -> Tensor:
    """The vector product along a dimension of size 3."""

def diagonal(A: Tensor, *, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """The diagonals of matrices."""

def eig(A: Tensor, *, out: Sequence[Tensor] | None = None) -> return_types.linalg_eig:
    """The eigenvalues and the eigenvectors, complex, of square matrices."""

def eigh(
    A: Tensor, UPLO: _str = ..., *, out: Sequence[Tensor] | None = None
) -> return_types.linalg_eigh:
    """The eigenvalues, rising, and the eigenvectors of symmetric (Hermitian) matrices."""

def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of the product of reflections: the Q that `geqrf` keeps."""

def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices."""

def inv_ex(
    A: Tensor, *, check_errors: _bool = False, out: Sequence[Tensor] | None = None
) -> return_types.linalg_inv_ex:
    """The inverse, and 0 or the number of the first zero pivot instead of an error."""

def ldl_factor(
    A: Tensor, *, hermitian: _bool = False, out: Sequence[Tensor] | None = None
) -> return_types.linalg_ldl_factor:
    """A = L @ D @ L.mT (L.mH if hermitian) of symmetric matrices: L below, D on the diagonal."""

def ldl_factor_ex(
    A: Tensor,
    *,
    hermitian: _bool = False,
    check_errors: _bool = False,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_ldl_factor_ex:
    """`ldl_factor`, and 0 or the number of the first zero on the diagonal of D."""

def ldl_solve(
    LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: _bool = False, out: Tensor | None = None
) -> Tensor:
    """The solution of A @ X = B, given what `ldl_factor` gives of A."""

def lstsq(
    A: Tensor,
    B: Tensor,
    rcond: Any = None,
    *,
    driver: _str | None = None,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_lstsq: ...
def lu(
    A: Tensor, *, pivot: _bool = True, out: Sequence[Tensor] | None = None
) -> return_types.linalg_lu:
    """A = P @ L @ U."""

def lu_factor(
    A: Tensor, *, pivot: _bool = True, out: Sequence[Tensor] | None = None
) -> return_types.linalg_lu_factor:
    """L and U in one matrix, and the row exchanged at each step, from 1."""

def lu_factor_ex(
    A: Tensor,
    *,
    pivot: _bool = True,
    check_errors: _bool = False,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_lu_factor_ex: ...
def lu_solve(
    LU: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    left: _bool = True,
    adjoint: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The solution of A @ X = B, given the LU factors of A."""

def matrix_norm(
    A: Tensor,
    ord: _Number | _str = "fro",
    dim: _Ints = (-2, -1),
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """A norm of matrices: 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2."""

def matrix_rank(
    A: Tensor,
    tol: Tensor | _float | None = None,
    hermitian: _bool = False,
    *,
    atol: Tensor | _float | None = None,
    rtol: Tensor | _float | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The number of singular values above a threshold."""

def norm(
    A: Tensor,
    ord: _Number | _str | None = None,
    dim: _Ints | None = None,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
) -> Tensor:
    """A norm of vectors or matrices, by ord and dim as torch.linalg.norm reads them."""

def pinv(
    A: Tensor,
    rcond: Any = None,
    *,
    atol: Any = None,
    rtol: Any = None,
    hermitian: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The Moore-Penrose pseudo-inverse."""

def qr(
    A: Tensor, mode: _str = ..., *, out: Sequence[Tensor] | None = None
) -> return_types.linalg_qr:
    """A = Q @ R with orthonormal columns in Q and an upper triangular R."""

def slogdet(A: Tensor, *, out: Sequence[Tensor] | None = None) -> return_types.linalg_slogdet:
    """The sign and the logarithm of the absolute value of determinants."""

def solve(A: Tensor, B: Tensor, *, left: _bool = True, out: Tensor | None = None) -> Tensor:
    """The solution X of A @ X = B (of X @ A = B with left=False)."""

def solve_ex(
    A: Tensor,
    B: Tensor,
    *,
    left: _bool = True,
    check_errors: _bool = False,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_solve_ex:
    """The solution of A @ X = B, and 0 or the number of the first zero pivot of A."""

def solve_triangular(
    A: Tensor,
    B: Tensor,
    *,
    upper: _bool,
    left: _bool = True,
    unitriangular: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The solution X of A @ X = B for a triangular A."""

def svd(A: Tensor, full_matrices: _bool = True) -> return_types.linalg_svd:
    """A = U @ diag(S) @ Vh with orthonormal U and Vh, and S falling."""

def vector_norm(
    input: Tensor,
    ord: Any = 2,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """(the sum of |input| ** ord) ** (1 / ord) along dim."""
