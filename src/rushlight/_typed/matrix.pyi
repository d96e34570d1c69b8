"""ops/matrix/: functions in torch. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any, TypeAlias, overload

from .. import return_types
from .._core import Tensor
from ..ops.matrix.fused_products import cross as cross
from ..ops.matrix.fused_products import inner as inner
from ..ops.matrix.fused_products import tensordot as tensordot
from ..ops.matrix.matrix_functions import logdet as logdet
from ..ops.matrix.matrix_functions import matrix_power as matrix_power
from ..ops.matrix.matrix_functions import pinverse as pinverse
from ..ops.matrix.norms import cdist as cdist
from ..ops.matrix.norms import cosine_similarity as cosine_similarity
from ..ops.matrix.norms import norm as norm
from ..ops.matrix.norms import pairwise_distance as pairwise_distance
from ..ops.matrix.norms import pdist as pdist
from ..ops.matrix.products import ger as ger
from ..ops.matrix.products import outer as outer
from ..ops.matrix.removed import frobenius_norm as frobenius_norm

_Number: TypeAlias = _int | _float | _bool | _complex

def addbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: _Number = 1,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """beta * input + alpha * the sum of the products of a stack."""

def addmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: _Number = 1,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2)."""

def addmv(
    input: Tensor,
    mat: Tensor,
    vec: Tensor,
    *,
    beta: _Number = 1,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """beta * input + alpha * (mat @ vec)."""

def addr(
    input: Tensor,
    vec1: Tensor,
    vec2: Tensor,
    *,
    beta: _Number = 1,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """beta * input + alpha * outer(vec1, vec2)."""

def baddbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: _Number = 1,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """beta * input + alpha * bmm(batch1, batch2)."""

def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """y[..., k] = input1 @ weight[k] @ input2 + bias[k], over any leading dimensions."""

def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of two stacks of matrices."""

def chain_matmul(*matrices: Any, out: Tensor | None = None) -> Tensor:
    """The product of several matrices in the cheapest order."""

def cholesky(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """`linalg.cholesky` in torch's older form."""

def cholesky_inverse(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of A, given its Cholesky factor."""

def cholesky_solve(
    input: Tensor, L: Tensor, upper: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The solution of A @ X = input, given the Cholesky factor of A."""

def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinants of square matrices."""

def dist(input: Tensor, other: Tensor, p: _Number = 2, *, out: Tensor | None = None) -> Tensor:
    """The p-norm of input - other."""

def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two vectors, without conjugation."""

def eig(input: Any, A: Any = None, upper: Any = None) -> Any:
    """Removed: `torch.linalg.eig` takes its place."""

def einsum(*args: Any) -> Tensor:
    """The sum of products that the equation's subscripts describe: einsum('bij,bjk->bik', x, y)."""

def geqrf(input: Tensor, *, out: Sequence[Tensor] | None = None) -> return_types.geqrf:
    """The QR factorisation as LAPACK keeps it: R, below it the reflections, and their factors."""

def inverse(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices."""

def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: every element of input times all of other."""

def lstsq(input: Any, A: Any = None, upper: Any = None) -> Any:
    """Removed: `torch.linalg.lstsq` takes its place."""

def lu(
    A: Tensor, pivot: _bool = True, get_infos: _bool = False, out: Any = None
) -> tuple[Tensor, Tensor]:
    """A = P @ L @ U."""

def lu_solve(
    input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """The solution of A @ X = B, given the LU factors of A."""

def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: _bool = True,
    unpack_pivots: _bool = True,
    *,
    out: Sequence[Tensor] | None = None,
) -> Tensor:
    """P, L and U from what `linalg.lu_factor` gives; an empty tensor for what is not unpacked."""

def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def matrix_exp(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The exponential of square matrices."""

def matrix_rank(input: Any, A: Any = None, upper: Any = None) -> Any:
    """Removed: `torch.linalg.matrix_rank` takes its place."""

def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices."""

def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix and a vector."""

def norm_except_dim(v: Any, pow: _float = 2, dim: _int = 0) -> Tensor:
    """The p-norm over all dimensions but one, kept as 1; over all of them where dim is -1."""

@overload
def nuclear_norm(
    input: Tensor, dim: Sequence[_int], keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The sum of the singular values of matrices."""

@overload
def nuclear_norm(input: Tensor, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor: ...
def orgqr(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of the product of reflections: the Q that `geqrf` keeps."""

def ormqr(
    input: Tensor,
    input2: Tensor,
    input3: Tensor,
    left: _bool = True,
    transpose: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def qr(
    input: Tensor, some: _bool = True, *, out: Sequence[Tensor] | None = None
) -> return_types.qr:
    """`linalg.qr` in torch's older form."""

def renorm(
    input: Tensor, p: _Number, dim: _int, maxnorm: _Number, *, out: Tensor | None = None
) -> Tensor:
    """input with the p-norm of each slice along dim brought down to maxnorm."""

def slogdet(A: Tensor, *, out: Sequence[Tensor] | None = None) -> return_types.slogdet:
    """The sign and the logarithm of the absolute value of determinants."""

def solve(input: Any, A: Any = None, upper: Any = None) -> Any:
    """Removed: `torch.linalg.solve` takes its place."""

def svd(
    input: Tensor,
    some: _bool = True,
    compute_uv: _bool = True,
    *,
    out: Sequence[Tensor] | None = None,
) -> return_types.svd:
    """`linalg.svd` in torch's older form: gives V, not Vh."""

def symeig(input: Any, A: Any = None, upper: Any = None) -> Any:
    """Removed: `torch.linalg.eigh` takes its place."""

def trace(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of a matrix's diagonal."""

def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: _bool = True,
    transpose: _bool = False,
    unitriangular: _bool = False,
    *,
    out: Sequence[Tensor] | None = None,
) -> return_types.triangular_solve:
    """`linalg.solve_triangular` in torch's older form."""

def vander(x: Tensor, N: _int | None = None, increasing: _bool = False) -> Tensor: ...
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product of two vectors; the first is conjugated."""
