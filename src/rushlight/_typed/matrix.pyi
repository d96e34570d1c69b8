"""ops/matrix/: functions in torch, methods of Tensor. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import Any, TypeAlias

from .. import return_types
from .._core import Tensor
from .._dtypes import dtype as _dtype

_Number: TypeAlias = _int | _float | _bool | _complex
_Ints: TypeAlias = _int | Sequence[_int]

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

def cdist(
    x1: Tensor,
    x2: Tensor,
    p: _float = 2.0,
    compute_mode: _str = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """The distance of each point (row) of x1 from each of x2."""

def chain_matmul(*matrices: Any) -> _int:
    """The product of several matrices in the cheapest order."""

def cholesky(input: Tensor, upper: _bool = False) -> Tensor:
    """`linalg.cholesky` in torch's older form."""

def cholesky_inverse(input: Tensor, upper: _bool = False) -> Tensor:
    """The inverse of A, given its Cholesky factor."""

def cholesky_solve(
    input: Tensor, L: Tensor, upper: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The solution of A @ X = input, given the Cholesky factor of A."""

def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08) -> Tensor:
    """The cosine of the angle between vectors along dim; norms are not below eps."""

def cross(input: Tensor, other: Tensor, dim: _int | None = None) -> Tensor:
    """The vector product along `dim`; without it, along the first dimension of size 3."""

def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinants of square matrices."""

def dist(input: Tensor, other: Tensor, p: _Number = 2, *, out: Tensor | None = None) -> Tensor:
    """The p-norm of input - other."""

def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two vectors, without conjugation."""

def einsum(*args: Any) -> Tensor:
    """The sum of products that the equation's subscripts describe: einsum('bij,bjk->bik', x, y)."""

def ger(input: Tensor, vec2: Tensor) -> Tensor:
    """Another name of `outer`."""

def inner(input: Tensor, other: Tensor) -> Tensor:
    """The sums of products over the last dimensions of both tensors."""

def inverse(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices."""

def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: every element of input times all of other."""

def logdet(input: Tensor) -> Tensor:
    """The logarithm of determinants; nan where one is negative."""

def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The solution of A @ X = B, given the LU factors of A."""

def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def matrix_exp(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The exponential of square matrices."""

def matrix_power(A: Tensor, n: _int) -> Tensor:
    """A multiplied by itself n times; of its inverse for a negative n."""

def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices."""

def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix and a vector."""

def norm(
    input: Tensor,
    p: Any = "fro",
    dim: _Ints | None = None,
    keepdim: _bool = False,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
) -> Tensor:
    """The p-norm along dim ('fro', the default, is the 2-norm; 'nuc' is of matrices)."""

def norm_except_dim(v: Any, pow: _float = 2, dim: _int = 0) -> Tensor:
    """The p-norm over all dimensions but one, kept as 1; over all of them where dim is -1."""

def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The matrix of all products of the elements of two vectors."""

def pairwise_distance(
    x1: Tensor, x2: Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False
) -> Tensor:
    """The p-norms of x1 - x2 + eps along the last dimension."""

def pdist(input: Tensor, p: _float = 2.0) -> Tensor:
    """The distances of all pairs of rows."""

def pinverse(input: Tensor, rcond: _float = 1e-15) -> Tensor:
    """The pseudo-inverse."""

def qr(input: Tensor, some: _bool = True) -> return_types.qr:
    """`linalg.qr` in torch's older form."""

def renorm(
    input: Tensor, p: _Number, dim: _int, maxnorm: _Number, *, out: Tensor | None = None
) -> Tensor:
    """input with the p-norm of each slice along dim brought down to maxnorm."""

def slogdet(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sign and the logarithm of the absolute value of determinants."""

def svd(input: Tensor, some: _bool = True, compute_uv: _bool = True) -> return_types.svd:
    """`linalg.svd` in torch's older form: gives V, not Vh."""

def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor: ...
def trace(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of a matrix's diagonal."""

def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: _bool = True,
    transpose: _bool = False,
    unitriangular: _bool = False,
) -> return_types.triangular_solve:
    """`linalg.solve_triangular` in torch's older form."""

def vander(x: Tensor, N: _int | None = None, increasing: _bool = False) -> Tensor: ...
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product of two vectors; the first is conjugated."""

class MatrixMethods:
    def addbmm(
        self,
        batch1: Tensor,
        batch2: Tensor,
        *,
        beta: _Number = 1,
        alpha: _Number = 1,
        out: Tensor | None = None,
    ) -> Tensor: ...
    def addbmm_(
        self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1
    ) -> Tensor: ...
    def addmm(
        self,
        mat1: Tensor,
        mat2: Tensor,
        *,
        beta: _Number = 1,
        alpha: _Number = 1,
        out: Tensor | None = None,
    ) -> Tensor: ...
    def addmm_(
        self, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1, alpha: _Number = 1
    ) -> Tensor: ...
    def addmv(
        self,
        mat: Tensor,
        vec: Tensor,
        *,
        beta: _Number = 1,
        alpha: _Number = 1,
        out: Tensor | None = None,
    ) -> Tensor: ...
    def addmv_(
        self, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1
    ) -> Tensor: ...
    def addr(
        self,
        vec1: Tensor,
        vec2: Tensor,
        *,
        beta: _Number = 1,
        alpha: _Number = 1,
        out: Tensor | None = None,
    ) -> Tensor: ...
    def addr_(
        self, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1
    ) -> Tensor: ...
    def baddbmm(
        self,
        batch1: Tensor,
        batch2: Tensor,
        *,
        beta: _Number = 1,
        alpha: _Number = 1,
        out: Tensor | None = None,
    ) -> Tensor: ...
    def baddbmm_(
        self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1
    ) -> Tensor: ...
    def bmm(self, mat2: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def cholesky(self, upper: _bool = False) -> Tensor: ...
    def cholesky_inverse(self, upper: _bool = False) -> Tensor: ...
    def cholesky_solve(
        self, L: Tensor, upper: _bool = False, *, out: Tensor | None = None
    ) -> Tensor: ...
    def cross(self, other: Tensor, dim: _int | None = None) -> Tensor: ...
    def det(self, *, out: Tensor | None = None) -> Tensor: ...
    def dist(self, other: Tensor, p: _Number = 2, *, out: Tensor | None = None) -> Tensor: ...
    def dot(self, tensor: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def ger(self, vec2: Tensor) -> Tensor: ...
    def inner(self, other: Tensor) -> Tensor: ...
    def inverse(self, *, out: Tensor | None = None) -> Tensor: ...
    def kron(self, other: Tensor) -> Tensor: ...
    def logdet(self) -> Tensor: ...
    def matmul(self, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def matrix_exp(self, *, out: Tensor | None = None) -> Tensor: ...
    def matrix_power(self, n: _int) -> Tensor: ...
    def mm(self, mat2: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def mv(self, vec: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def norm(
        self,
        p: Any = "fro",
        dim: _Ints | None = None,
        keepdim: _bool = False,
        out: Tensor | None = None,
        dtype: _dtype | None = None,
    ) -> Tensor: ...
    def outer(self, vec2: Tensor) -> Tensor: ...
    def pinverse(self, rcond: _float = 1e-15) -> Tensor: ...
    def qr(self, some: _bool = True) -> return_types.qr: ...
    def renorm(
        self, p: _Number, dim: _int, maxnorm: _Number, *, out: Tensor | None = None
    ) -> Tensor: ...
    def renorm_(self, p: _Number, dim: _int, maxnorm: _Number) -> Tensor: ...
    def slogdet(self, *, out: Tensor | None = None) -> Tensor: ...
    def svd(self, some: _bool = True, compute_uv: _bool = True) -> return_types.svd: ...
    def trace(self, *, out: Tensor | None = None) -> Tensor: ...
    def triangular_solve(
        self, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False
    ) -> return_types.triangular_solve: ...
    def vdot(self, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
