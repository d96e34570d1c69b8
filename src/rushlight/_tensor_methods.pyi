"""What the table and _tensor.py give Tensor. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, overload

from . import return_types
from ._core import Tensor
from ._device import device as _device
from ._device import layout as _layout
from ._device import memory_format as _memory_format
from ._dtypes import dtype as _dtype
from ._generator import Generator as _Generator

_Number: TypeAlias = _int | _float | _bool | _complex
_Ints: TypeAlias = _int | Sequence[_int]
_Device: TypeAlias = _device | _str | _int

class TensorMethods:
    @property
    def H(self) -> Tensor: ...
    @property
    def T(self) -> Tensor: ...
    def abs(self, *, out: Tensor | None = None) -> Tensor:
        """The absolute value."""

    def abs_(self) -> Tensor:
        """In-place version of `abs`."""

    def absolute(self, *, out: Tensor | None = None) -> Tensor:
        """The absolute value."""

    def absolute_(self) -> Tensor:
        """In-place version of `abs`."""

    def acos(self, *, out: Tensor | None = None) -> Tensor:
        """The angle of that cosine."""

    def acos_(self) -> Tensor:
        """The angle of that cosine."""

    def acosh(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse of cosh."""

    def acosh_(self) -> Tensor:
        """The inverse of cosh."""

    def add(
        self, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None
    ) -> Tensor:
        """Add: input + alpha * other."""

    def add_(self, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor:
        """Add: input + alpha * other."""

    def addbmm(
        self,
        batch1: Tensor,
        batch2: Tensor,
        *,
        beta: _Number = 1,
        alpha: _Number = 1,
        out: Tensor | None = None,
    ) -> Tensor:
        """beta * input + alpha * the sum of the products of a stack."""

    def addbmm_(
        self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1
    ) -> Tensor:
        """beta * input + alpha * the sum of the products of a stack."""

    def addcdiv(
        self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1, out: Tensor | None = None
    ) -> Tensor:
        """input + value * tensor1 / tensor2."""

    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1) -> Tensor:
        """input + value * tensor1 / tensor2."""

    def addcmul(
        self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1, out: Tensor | None = None
    ) -> Tensor:
        """input + value * tensor1 * tensor2."""

    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1) -> Tensor:
        """input + value * tensor1 * tensor2."""

    def addmm(
        self,
        mat1: Tensor,
        mat2: Tensor,
        *,
        beta: _Number = 1,
        alpha: _Number = 1,
        out: Tensor | None = None,
    ) -> Tensor:
        """beta * input + alpha * (mat1 @ mat2)."""

    def addmm_(
        self, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1, alpha: _Number = 1
    ) -> Tensor:
        """beta * input + alpha * (mat1 @ mat2)."""

    def addmv(
        self,
        mat: Tensor,
        vec: Tensor,
        *,
        beta: _Number = 1,
        alpha: _Number = 1,
        out: Tensor | None = None,
    ) -> Tensor:
        """beta * input + alpha * (mat @ vec)."""

    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """beta * input + alpha * (mat @ vec)."""

    def addr(
        self,
        vec1: Tensor,
        vec2: Tensor,
        *,
        beta: _Number = 1,
        alpha: _Number = 1,
        out: Tensor | None = None,
    ) -> Tensor:
        """beta * input + alpha * outer(vec1, vec2)."""

    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """beta * input + alpha * outer(vec1, vec2)."""

    def adjoint(self) -> Tensor:
        """The conjugate transpose of the last two dimensions."""

    def all(
        self, dim: _Ints | None = None, keepdim: _bool = False, *, out: Tensor | None = None
    ) -> Tensor:
        """Whether all element is not zero."""

    def allclose(
        self,
        other: Tensor | _Number,
        rtol: _float = 1e-05,
        atol: _float = 1e-08,
        equal_nan: _bool = False,
    ) -> _bool:
        """Whether all elements are close, see `isclose`."""

    def amax(self, dim: _Ints = (), keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The largest element, of all or along dimensions; ties share the gradient."""

    def amin(self, dim: _Ints = (), keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The smallest element, of all or along dimensions; ties share the gradient."""

    def aminmax(
        self, *, dim: _int | None = None, keepdim: _bool = False, out: Tensor | None = None
    ) -> return_types.aminmax:
        """The smallest and the largest element."""

    def angle(self, *, out: Tensor | None = None) -> Tensor:
        """The angle in the complex plane; of negative numbers pi."""

    def any(
        self, dim: _Ints | None = None, keepdim: _bool = False, *, out: Tensor | None = None
    ) -> Tensor:
        """Whether any element is not zero."""

    def apply_(self, *args: Any) -> Tensor:
        """Replace every element by function(element)."""

    def arccos(self, *, out: Tensor | None = None) -> Tensor:
        """The angle of that cosine."""

    def arccos_(self) -> Tensor:
        """The angle of that cosine."""

    def arccosh(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse of cosh."""

    def arccosh_(self) -> Tensor:
        """The inverse of cosh."""

    def arcsin(self, *, out: Tensor | None = None) -> Tensor:
        """The angle of that sine."""

    def arcsin_(self) -> Tensor:
        """The angle of that sine."""

    def arcsinh(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse of sinh."""

    def arcsinh_(self) -> Tensor:
        """The inverse of sinh."""

    def arctan(self, *, out: Tensor | None = None) -> Tensor:
        """The angle of that tangent."""

    def arctan2(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The angle of the point (other, input)."""

    def arctan2_(self, other: Tensor) -> Tensor:
        """The angle of the point (other, input)."""

    def arctan_(self) -> Tensor:
        """The angle of that tangent."""

    def arctanh(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse of tanh."""

    def arctanh_(self) -> Tensor:
        """The inverse of tanh."""

    def argmax(
        self, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None
    ) -> Tensor:
        """The index of the largest element; the first of several."""

    def argmin(
        self, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None
    ) -> Tensor:
        """The index of the smallest element; the first of several."""

    def argsort(self, dim: _int = -1, descending: _bool = False, stable: _bool = False) -> Tensor:
        """Where each entry of the sorted dimension was."""

    def argwhere(self) -> Tensor:
        """The indices of the elements that are not zero, one a row."""

    def as_strided(self, size: _Ints, stride: _Ints, storage_offset: _int | None = None) -> Tensor:
        """Any view of the storage; the offset counts from the storage's first element."""

    def as_strided_(self, size: _Ints, stride: _Ints, storage_offset: _int | None = None) -> Tensor:
        """In-place version of `as_strided`."""

    def as_strided_scatter(
        self, src: Tensor, size: _Ints, stride: _Ints, storage_offset: _int | None = None
    ) -> Tensor:
        """A copy of the tensor with `src` at the place of `as_strided`."""

    def asin(self, *, out: Tensor | None = None) -> Tensor:
        """The angle of that sine."""

    def asin_(self) -> Tensor:
        """The angle of that sine."""

    def asinh(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse of sinh."""

    def asinh_(self) -> Tensor:
        """The inverse of sinh."""

    def atan(self, *, out: Tensor | None = None) -> Tensor:
        """The angle of that tangent."""

    def atan2(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The angle of the point (other, input)."""

    def atan2_(self, other: Tensor) -> Tensor:
        """The angle of the point (other, input)."""

    def atan_(self) -> Tensor:
        """The angle of that tangent."""

    def atanh(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse of tanh."""

    def atanh_(self) -> Tensor:
        """The inverse of tanh."""

    def backward(
        self,
        gradient: Any = None,
        retain_graph: _bool | None = None,
        create_graph: _bool = False,
        inputs: Any = None,
    ) -> None:
        """Add the gradients of this tensor to the `.grad` of the leaves it was computed from."""

    def baddbmm(
        self,
        batch1: Tensor,
        batch2: Tensor,
        *,
        beta: _Number = 1,
        alpha: _Number = 1,
        out: Tensor | None = None,
    ) -> Tensor:
        """beta * input + alpha * bmm(batch1, batch2)."""

    def baddbmm_(
        self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1
    ) -> Tensor:
        """beta * input + alpha * bmm(batch1, batch2)."""

    def bernoulli(
        self, p: Any = None, *, generator: _Generator | None = None, out: Tensor | None = None
    ) -> Tensor:
        """1 by the probability each element gives, else 0."""

    def bernoulli_(self, p: _float = 0.5, *, generator: _Generator | None = None) -> Tensor:
        """Fill with 1 by probability p (a number or a tensor), else 0."""

    def bfloat16(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.bfloat16."""

    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """How often each of 0, 1, 2, ... occurs; with weights, the sum of theirs."""

    def bitwise_and(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """The bits set in both."""

    def bitwise_and_(self, other: Tensor | _Number) -> Tensor:
        """The bits set in both."""

    def bitwise_left_shift(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """input * 2**other; by more than the width, 0."""

    def bitwise_left_shift_(self, other: Tensor | _Number) -> Tensor:
        """input * 2**other; by more than the width, 0."""

    def bitwise_not(self, *, out: Tensor | None = None) -> Tensor:
        """Every bit turned over; of bools, not."""

    def bitwise_not_(self) -> Tensor:
        """Every bit turned over; of bools, not."""

    def bitwise_or(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """The bits set in either."""

    def bitwise_or_(self, other: Tensor | _Number) -> Tensor:
        """The bits set in either."""

    def bitwise_right_shift(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """input divided by 2**other, rounded down."""

    def bitwise_right_shift_(self, other: Tensor | _Number) -> Tensor:
        """input divided by 2**other, rounded down."""

    def bitwise_xor(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """The bits set in exactly one."""

    def bitwise_xor_(self, other: Tensor | _Number) -> Tensor:
        """The bits set in exactly one."""

    def bmm(self, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The products of two stacks of matrices."""

    def bool(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.bool."""

    def broadcast_to(self, *size: _Ints) -> Tensor:
        """`expand` to a shape."""

    def byte(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.uint8."""

    def cauchy_(
        self, median: _float = 0.0, sigma: _float = 1.0, *, generator: _Generator | None = None
    ) -> Tensor:
        """Fill from a Cauchy distribution."""

    def cdouble(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.complex128."""

    def ceil(self, *, out: Tensor | None = None) -> Tensor:
        """The smallest whole number not below."""

    def ceil_(self) -> Tensor:
        """The smallest whole number not below."""

    def cfloat(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.complex64."""

    def char(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.int8."""

    def cholesky(self, upper: _bool = False) -> Tensor:
        """`linalg.cholesky` in torch's older form."""

    def cholesky_inverse(self, upper: _bool = False) -> Tensor:
        """The inverse of A, given its Cholesky factor."""

    def cholesky_solve(
        self, L: Tensor, upper: _bool = False, *, out: Tensor | None = None
    ) -> Tensor:
        """The solution of A @ X = input, given the Cholesky factor of A."""

    def chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """At most `chunks` pieces of one size along a dimension."""

    def clamp(
        self,
        min: Tensor | _Number | None = None,
        max: Tensor | _Number | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """input, but at least min and at most max (numbers or tensors); where they cross, max."""

    def clamp_(
        self, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None
    ) -> Tensor:
        """In-place version of `clamp`."""

    def clamp_max(self, max: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """The smaller of input and max."""

    def clamp_max_(self, max: Tensor | _Number) -> Tensor:
        """The smaller of input and max."""

    def clamp_min(self, min: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """The larger of input and min."""

    def clamp_min_(self, min: Tensor | _Number) -> Tensor:
        """The larger of input and min."""

    def clip(
        self,
        min: Tensor | _Number | None = None,
        max: Tensor | _Number | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """input, but at least min and at most max (numbers or tensors); where they cross, max."""

    def clip_(
        self, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None
    ) -> Tensor:
        """In-place version of `clamp`."""

    def clone(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """A copy, which gradients flow through."""

    def combinations(self, r: _int = 2, with_replacement: _bool = False) -> Tensor:
        """Every choice of r elements of a vector, in order, as rows."""

    def conj(self) -> Tensor:
        """The complex conjugate, as a view; a real tensor itself."""

    def conj_physical(self, *, out: Tensor | None = None) -> Tensor:
        """The complex conjugate."""

    def conj_physical_(self) -> Tensor:
        """The complex conjugate."""

    def contiguous(self, memory_format: _memory_format = ...) -> Tensor:
        """The tensor itself when it is contiguous, else a contiguous copy."""

    def copy_(self, src: Tensor | _Number, non_blocking: _bool = False) -> Tensor:
        """src in the place of input."""

    def copysign(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """|input| with the sign of other."""

    def copysign_(self, other: Tensor | _Number) -> Tensor:
        """|input| with the sign of other."""

    def cos(self, *, out: Tensor | None = None) -> Tensor:
        """The cosine."""

    def cos_(self) -> Tensor:
        """The cosine."""

    def cosh(self, *, out: Tensor | None = None) -> Tensor:
        """The hyperbolic cosine."""

    def cosh_(self) -> Tensor:
        """The hyperbolic cosine."""

    def count_nonzero(self, dim: _Ints | None = None, *, out: Tensor | None = None) -> Tensor:
        """How many elements are not zero."""

    def cpu(self, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor in main memory: itself where it is there."""

    def cross(self, other: Tensor | _Number, dim: _int | None = None) -> Tensor:
        """The vector product along `dim`; without it, along the first dimension of size 3."""

    def cuda(self, *args: Any, **kwargs: Any) -> Tensor:
        """Refused: there is no CUDA device here."""

    def cummax(self, dim: _int, *, out: Tensor | None = None) -> return_types.cummax:
        """The largest entry so far along a dimension, and its index."""

    def cummin(self, dim: _int, *, out: Tensor | None = None) -> return_types.cummin:
        """The smallest entry so far along a dimension, and its index."""

    def cumprod(
        self, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None
    ) -> Tensor:
        """The product of all entries so far, along a dimension."""

    def cumprod_(self, dim: _int, *, dtype: _dtype | None = None) -> Tensor:
        """The product of all entries so far, along a dimension."""

    def cumsum(
        self, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None
    ) -> Tensor:
        """The sum of all entries so far, along a dimension."""

    def cumsum_(self, dim: _int, *, dtype: _dtype | None = None) -> Tensor:
        """The sum of all entries so far, along a dimension."""

    def deg2rad(self, *, out: Tensor | None = None) -> Tensor:
        """Degrees as radians."""

    def deg2rad_(self) -> Tensor:
        """Degrees as radians."""

    def det(self, *, out: Tensor | None = None) -> Tensor:
        """The determinants of square matrices."""

    def detach_(self) -> Tensor:
        """Cut the tensor off its history, in place; nothing happens in inference mode."""

    @property
    def device(self) -> _device: ...
    def diag(self, diagonal: _int = 0) -> Tensor:
        """A vector as a diagonal matrix; a matrix's diagonal as a vector."""

    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """The last dimension laid on the diagonal of two dimensions of zeros."""

    def diagflat(self, offset: _int = 0) -> Tensor:
        """All elements as a diagonal matrix."""

    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """A diagonal of two dimensions, as a new last dimension."""

    def diagonal_scatter(
        self, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1
    ) -> Tensor:
        """The input with src in the place of a diagonal."""

    def diff(
        self,
        n: _int = 1,
        dim: _int = -1,
        prepend: Tensor | None = None,
        append: Tensor | None = None,
    ) -> Tensor:
        """The differences of neighbours along a dimension, n times over."""

    def digamma(self, *, out: Tensor | None = None) -> Tensor:
        """The derivative of lgamma."""

    def digamma_(self) -> Tensor:
        """The derivative of lgamma."""

    def dist(self, other: Tensor, p: _Number = 2, *, out: Tensor | None = None) -> Tensor:
        """The p-norm of input - other."""

    def div(
        self,
        other: Tensor | _Number,
        *,
        rounding_mode: _str | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """Divide; rounding_mode 'trunc' or 'floor' rounds the quotient."""

    def div_(self, other: Tensor | _Number, *, rounding_mode: _str | None = None) -> Tensor:
        """Divide; rounding_mode 'trunc' or 'floor' rounds the quotient."""

    def divide(
        self,
        other: Tensor | _Number,
        *,
        rounding_mode: _str | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """Divide; rounding_mode 'trunc' or 'floor' rounds the quotient."""

    def divide_(self, other: Tensor | _Number, *, rounding_mode: _str | None = None) -> Tensor:
        """Divide; rounding_mode 'trunc' or 'floor' rounds the quotient."""

    def dot(self, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The product of two vectors, without conjugation."""

    def double(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.float64."""

    def dsplit(self, indices_or_sections: Tensor | _Ints | None = None) -> tuple[Tensor, ...]:
        """`tensor_split` as numpy.dsplit does it."""

    def eq(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """Whether equal, element by element."""

    def eq_(self, other: Tensor | _Number) -> Tensor:
        """Whether equal, element by element."""

    def equal(self, other: Tensor | _Number) -> _bool:
        """Whether two tensors have one shape and the same elements."""

    def erf(self, *, out: Tensor | None = None) -> Tensor:
        """The error function."""

    def erf_(self) -> Tensor:
        """The error function."""

    def erfc(self, *, out: Tensor | None = None) -> Tensor:
        """1 - erf(input), exact for large input."""

    def erfc_(self) -> Tensor:
        """1 - erf(input), exact for large input."""

    def erfinv(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse of erf."""

    def erfinv_(self) -> Tensor:
        """The inverse of erf."""

    def exp(self, *, out: Tensor | None = None) -> Tensor:
        """e ** input."""

    def exp2(self, *, out: Tensor | None = None) -> Tensor:
        """2 ** input."""

    def exp2_(self) -> Tensor:
        """2 ** input."""

    def exp_(self) -> Tensor:
        """e ** input."""

    def expand(self, *size: _Ints, implicit: _bool = False) -> Tensor: ...
    def expand_as(self, other: Tensor | _Number) -> Tensor:
        """`expand` to the shape of another tensor."""

    def expm1(self, *, out: Tensor | None = None) -> Tensor:
        """e ** input - 1, exact near 0."""

    def expm1_(self) -> Tensor:
        """e ** input - 1, exact near 0."""

    def exponential_(self, value: _float = 1.0, *, generator: _Generator | None = None) -> Tensor:
        """Fill from an exponential distribution."""

    def fill_(self, value: Tensor | _Number) -> Tensor:
        """A tensor like input, every element `value`."""

    def fill_diagonal_(self, fill_value: _Number, wrap: _bool = False) -> Tensor:
        """Write a number to the diagonal, in place; wrap goes on below it in tall matrices."""

    def fix(self, *, out: Tensor | None = None) -> Tensor:
        """Rounded towards zero."""

    def fix_(self) -> Tensor:
        """Rounded towards zero."""

    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """Dimensions start_dim to end_dim as one."""

    def flip(self, *dims: _Ints, out: Tensor | None = None) -> Tensor:
        """The order of entries reversed along dimensions."""

    def fliplr(self) -> Tensor:
        """Columns in reverse order."""

    def flipud(self) -> Tensor:
        """Rows in reverse order."""

    def float(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.float32."""

    def float_power(self, exponent: Tensor | _Number) -> Tensor:
        """input ** exponent in double precision."""

    def floor(self, *, out: Tensor | None = None) -> Tensor:
        """The largest whole number not above."""

    def floor_(self) -> Tensor:
        """The largest whole number not above."""

    def floor_divide(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """Divide and round down."""

    def floor_divide_(self, other: Tensor | _Number) -> Tensor:
        """Divide and round down."""

    def fmax(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The larger of two; of a number and NaN the number."""

    def fmin(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The smaller of two; of a number and NaN the number."""

    def fmod(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """What is left of dividing; it has the sign of `input`."""

    def fmod_(self, other: Tensor | _Number) -> Tensor:
        """What is left of dividing; it has the sign of `input`."""

    def frac(self, *, out: Tensor | None = None) -> Tensor:
        """What is behind the point."""

    def frac_(self) -> Tensor:
        """What is behind the point."""

    def frexp(self, *, out: Tensor | None = None) -> return_types.frexp:
        """Mantissa and exponent: input = mantissa * 2 ** exponent."""

    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = False) -> Tensor:
        """out[i][j] = input[index[i][j]][j] for dim 0, input[i][index[i][j]] for dim 1, ..."""

    def gcd(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The greatest common divisor."""

    def gcd_(self, other: Tensor) -> Tensor:
        """The greatest common divisor."""

    def ge(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """input >= other."""

    def ge_(self, other: Tensor | _Number) -> Tensor:
        """input >= other."""

    def geometric_(
        self, value: _float | None = None, *, generator: _Generator | None = None
    ) -> Tensor:
        """Fill from a geometric distribution."""

    def ger(self, vec2: Tensor) -> Tensor:
        """Another name of `outer`."""

    def get_device(self) -> _int:
        """The number of the tensor's GPU; -1 in main memory."""

    def greater(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """input > other."""

    def greater_(self, other: Tensor | _Number) -> Tensor:
        """input > other."""

    def greater_equal(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """input >= other."""

    def greater_equal_(self, other: Tensor | _Number) -> Tensor:
        """input >= other."""

    def gt(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """input > other."""

    def gt_(self, other: Tensor | _Number) -> Tensor:
        """input > other."""

    def half(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.float16."""

    def hardshrink(self, lambd: _Number = 0.5, *, out: Tensor | None = None) -> Tensor:
        """input outside of [-lambd, lambd], 0 inside."""

    def has_names(self) -> _bool:
        """Whether dimensions have names: never."""

    def heaviside(self, values: Tensor, *, out: Tensor | None = None) -> Tensor:
        """0 below zero, 1 above, `values` at zero."""

    def heaviside_(self, values: Tensor) -> Tensor:
        """0 below zero, 1 above, `values` at zero."""

    def histc(
        self, bins: _int = 100, min: _Number = 0, max: _Number = 0, *, out: Tensor | None = None
    ) -> Tensor:
        """How many elements fall in each of `bins` equal intervals from min to max."""

    def hsplit(self, indices_or_sections: Tensor | _Ints | None = None) -> tuple[Tensor, ...]:
        """`tensor_split` as numpy.hsplit does it."""

    def hypot(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """sqrt(input ** 2 + other ** 2) without overflow."""

    def hypot_(self, other: Tensor) -> Tensor:
        """sqrt(input ** 2 + other ** 2) without overflow."""

    def i0(self, *, out: Tensor | None = None) -> Tensor:
        """The modified Bessel function of order 0."""

    def i0_(self) -> Tensor:
        """The modified Bessel function of order 0."""

    @property
    def imag(self) -> Tensor: ...
    def index_add(
        self,
        dim: _int,
        index: Tensor,
        source: Tensor,
        *,
        alpha: _Number = 1,
        out: Tensor | None = None,
    ) -> Tensor:
        """The input with alpha * source added to the slices that an index names."""

    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: _Number = 1) -> Tensor:
        """The input with alpha * source added to the slices that an index names."""

    def index_copy(
        self, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = None
    ) -> Tensor:
        """The input with source written to the slices that an index names."""

    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """The input with source written to the slices that an index names."""

    def index_fill(self, dim: _int, index: Tensor, value: _Number) -> Tensor:
        """The input with a number in the slices that an index names."""

    def index_fill_(self, dim: _int, index: Tensor, value: _Number) -> Tensor:
        """In-place version of `index_fill`."""

    def index_put(self, indices: Sequence[Any], values: Any, accumulate: _bool = False) -> Tensor:
        """The input with values written (or added, if accumulate) where the index tensors point."""

    def index_put_(self, indices: Sequence[Any], values: Any, accumulate: _bool = False) -> Tensor:
        """In-place version of `index_put`."""

    def index_reduce(
        self,
        dim: _int,
        index: Tensor,
        source: Tensor,
        reduce: _str,
        *,
        include_self: _bool = True,
        out: Tensor | None = None,
    ) -> Tensor: ...
    def index_reduce_(
        self, dim: _int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = True
    ) -> Tensor: ...
    def index_select(self, dim: _int, index: Tensor) -> Tensor:
        """The slices of a dimension that an index names."""

    def inner(self, other: Tensor | _Number) -> Tensor:
        """The sums of products over the last dimensions of both tensors."""

    def int(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.int32."""

    def inverse(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse of square matrices."""

    def is_complex(self) -> _bool:
        """Whether the dtype is complex."""

    def is_conj(self) -> _bool:
        """Whether the tensor shows the conjugate of what its memory holds."""

    def is_contiguous(self, memory_format: _memory_format = ...) -> _bool:
        """Whether the elements lie in memory in the order of the shape (or of a memory format)."""

    @property
    def is_cpu(self) -> _bool: ...
    @property
    def is_cuda(self) -> _bool: ...
    def is_floating_point(self) -> _bool:
        """Whether the dtype is a real floating type."""

    @property
    def is_meta(self) -> _bool: ...
    @property
    def is_mkldnn(self) -> _bool: ...
    @property
    def is_mps(self) -> _bool: ...
    def is_neg(self) -> _bool:
        """Whether the tensor shows the negative of what its memory holds."""

    @property
    def is_nested(self) -> _bool: ...
    def is_nonzero(self) -> _bool:
        """Whether the one element is not zero."""

    def is_pinned(self) -> _bool:
        """Whether the memory is page-locked: never here."""

    @property
    def is_quantized(self) -> _bool: ...
    def is_set_to(self, tensor: Tensor) -> _bool:
        """Whether both tensors are the same place: storage, offset, sizes and strides."""

    def is_shared(self) -> _bool:
        """Whether processes share the memory."""

    def is_signed(self) -> _bool:
        """Whether the dtype has negative numbers."""

    @property
    def is_sparse(self) -> _bool: ...
    @property
    def is_sparse_csr(self) -> _bool: ...
    @property
    def is_xpu(self) -> _bool: ...
    def isclose(
        self,
        other: Tensor | _Number,
        rtol: _float = 1e-05,
        atol: _float = 1e-08,
        equal_nan: _bool = False,
    ) -> Tensor:
        """Whether |input - other| <= atol + rtol * |other|, element by element."""

    def isfinite(self, *, out: Tensor | None = None) -> Tensor:
        """Whether neither infinite nor NaN."""

    def isinf(self, *, out: Tensor | None = None) -> Tensor:
        """Whether infinite."""

    def isnan(self, *, out: Tensor | None = None) -> Tensor:
        """Whether not a number."""

    def isneginf(self, *, out: Tensor | None = None) -> Tensor:
        """Whether -inf."""

    def isposinf(self, *, out: Tensor | None = None) -> Tensor:
        """Whether +inf."""

    def isreal(self, *, out: Tensor | None = None) -> Tensor:
        """Whether the imaginary part is 0."""

    @property
    def itemsize(self) -> _int: ...
    def kron(self, other: Tensor | _Number) -> Tensor:
        """The Kronecker product: every element of input times all of other."""

    def kthvalue(
        self, k: _int, dim: _int = -1, keepdim: _bool = False, *, out: Tensor | None = None
    ) -> return_types.kthvalue:
        """The k-th smallest entry of a dimension, and where it was."""

    @property
    def layout(self) -> _layout: ...
    def lcm(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The least common multiple."""

    def lcm_(self, other: Tensor) -> Tensor:
        """The least common multiple."""

    def ldexp(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """input * 2 ** other."""

    def ldexp_(self, other: Tensor) -> Tensor:
        """input * 2 ** other."""

    def le(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """input <= other."""

    def le_(self, other: Tensor | _Number) -> Tensor:
        """input <= other."""

    def lerp(self, end: Tensor, weight: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """input + weight * (end - input)."""

    def lerp_(self, end: Tensor, weight: Tensor | _Number) -> Tensor:
        """input + weight * (end - input)."""

    def less(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """input < other."""

    def less_(self, other: Tensor | _Number) -> Tensor:
        """input < other."""

    def less_equal(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """input <= other."""

    def less_equal_(self, other: Tensor | _Number) -> Tensor:
        """input <= other."""

    def lgamma(self, *, out: Tensor | None = None) -> Tensor:
        """log |gamma(input)|."""

    def lgamma_(self) -> Tensor:
        """log |gamma(input)|."""

    def log(self, *, out: Tensor | None = None) -> Tensor:
        """The natural logarithm."""

    def log10(self, *, out: Tensor | None = None) -> Tensor:
        """The logarithm to base 10."""

    def log10_(self) -> Tensor:
        """The logarithm to base 10."""

    def log1p(self, *, out: Tensor | None = None) -> Tensor:
        """log(1 + input), exact near 0."""

    def log1p_(self) -> Tensor:
        """log(1 + input), exact near 0."""

    def log2(self, *, out: Tensor | None = None) -> Tensor:
        """The logarithm to base 2."""

    def log2_(self) -> Tensor:
        """The logarithm to base 2."""

    def log_(self) -> Tensor:
        """The natural logarithm."""

    def log_normal_(
        self, mean: _float = 1.0, std: _float = 2.0, *, generator: _Generator | None = None
    ) -> Tensor:
        """Fill with exponentials of normal numbers."""

    def log_softmax(
        self, dim: _int, dtype: _dtype | None = None, *, out: Tensor | None = None
    ) -> Tensor:
        """The logarithm of softmax, exact where softmax is small."""

    def logaddexp(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """log(e ** input + e ** other) without overflow."""

    def logaddexp2(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """log2(2 ** input + 2 ** other) without overflow."""

    def logcumsumexp(self, dim: _int, *, out: Tensor | None = None) -> Tensor:
        """log(cumsum(exp(input))) along a dimension, without overflow."""

    def logdet(self) -> Tensor:
        """The logarithm of determinants; nan where one is negative."""

    def logical_and(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """Whether both are nonzero."""

    def logical_and_(self, other: Tensor | _Number) -> Tensor:
        """Whether both are nonzero."""

    def logical_not(self, *, out: Tensor | None = None) -> Tensor:
        """Whether zero."""

    def logical_not_(self) -> Tensor:
        """Whether zero."""

    def logical_or(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """Whether one is nonzero."""

    def logical_or_(self, other: Tensor | _Number) -> Tensor:
        """Whether one is nonzero."""

    def logical_xor(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """Whether exactly one is nonzero."""

    def logical_xor_(self, other: Tensor | _Number) -> Tensor:
        """Whether exactly one is nonzero."""

    def logit(self, eps: _Number | None = None, *, out: Tensor | None = None) -> Tensor:
        """log(input / (1 - input)); with eps, of input kept eps away from 0 and 1."""

    def logit_(self, eps: _Number | None = None) -> Tensor:
        """log(input / (1 - input)); with eps, of input kept eps away from 0 and 1."""

    def logsumexp(self, dim: _Ints, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """log(sum(exp(input))) along dimensions, without overflow."""

    def long(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.int64."""

    def lt(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """input < other."""

    def lt_(self, other: Tensor | _Number) -> Tensor:
        """input < other."""

    @property
    def mH(self) -> Tensor: ...
    @property
    def mT(self) -> Tensor: ...
    def map2_(self, *args: Any) -> Tensor:
        """Replace every element by function(element, x's element, y's element)."""

    def map_(self, *args: Any) -> Tensor:
        """Replace every element by function(element, other's element)."""

    def masked_fill(
        self, mask: Tensor, value: Tensor | _Number, *, out: Tensor | None = None
    ) -> Tensor:
        """input with `value` where the mask holds."""

    def masked_fill_(self, mask: Tensor, value: Tensor | _Number) -> Tensor:
        """input with `value` where the mask holds."""

    def masked_scatter(self, mask: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The input with the elements of source, in order, where a mask holds."""

    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """The input with the elements of source, in order, where a mask holds."""

    def masked_select(self, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The elements where a mask holds, as one row."""

    def matmul(self, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def matrix_exp(self, *, out: Tensor | None = None) -> Tensor:
        """The exponential of square matrices."""

    def matrix_power(self, n: _int) -> Tensor:
        """A multiplied by itself n times; of its inverse for a negative n."""

    @overload
    def max(self, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def max(self, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def max(
        self, dim: _int, keepdim: _bool = ..., *, out: Sequence[Tensor] | None = None
    ) -> return_types.max: ...
    def maximum(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The larger of two; NaN if one is NaN. Equal elements share the gradient."""

    def mean(
        self,
        dim: _Ints | None = None,
        keepdim: _bool = False,
        *,
        dtype: _dtype | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """The mean of all elements, or along dimensions."""

    @overload
    def median(self) -> Tensor: ...
    @overload
    def median(
        self, dim: _int, keepdim: _bool = ..., *, out: Sequence[Tensor] | None = None
    ) -> return_types.median: ...
    @overload
    def min(self, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def min(self, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def min(
        self, dim: _int, keepdim: _bool = ..., *, out: Sequence[Tensor] | None = None
    ) -> return_types.min: ...
    def minimum(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The smaller of two; NaN if one is NaN. Equal elements share the gradient."""

    def mm(self, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The product of two matrices."""

    def mode(
        self, dim: _int = -1, keepdim: _bool = False, *, out: Tensor | None = None
    ) -> return_types.mode:
        """The most frequent entry of a dimension, and where it was last."""

    def moveaxis(self, source: _Ints, destination: _Ints) -> Tensor:
        """`movedim` under NumPy's name."""

    def movedim(self, source: _Ints, destination: _Ints) -> Tensor:
        """Dimensions moved to other places, the rest in their order."""

    def msort(self) -> Tensor:
        """Sorted along the first dimension."""

    def mul(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """Multiply."""

    def mul_(self, other: Tensor | _Number) -> Tensor:
        """Multiply."""

    def multinomial(
        self,
        num_samples: _int,
        replacement: _bool = False,
        *,
        generator: _Generator | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """Indices drawn by the weights in each row."""

    def multiply(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """Multiply."""

    def multiply_(self, other: Tensor | _Number) -> Tensor:
        """Multiply."""

    def mv(self, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The product of a matrix and a vector."""

    def mvlgamma(self, p: _int, *, out: Tensor | None = None) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension p."""

    @property
    def name(self) -> None: ...
    @property
    def names(self) -> Any: ...
    def nan_to_num(
        self,
        nan: _float | None = None,
        posinf: _float | None = None,
        neginf: _float | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    def nan_to_num_(
        self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None
    ) -> Tensor:
        """In-place version of `nan_to_num`."""

    def nanmean(
        self, dim: _Ints | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None
    ) -> Tensor:
        """`mean` of what is not NaN."""

    @overload
    def nanmedian(self) -> Tensor: ...
    @overload
    def nanmedian(
        self, dim: _int, keepdim: _bool = ..., *, out: Sequence[Tensor] | None = None
    ) -> return_types.nanmedian: ...
    def nanquantile(
        self,
        q: Tensor | _Number,
        dim: _int | None = None,
        keepdim: _bool = False,
        *,
        interpolation: _str = "linear",
    ) -> Tensor:
        """`quantile` with NaN left out."""

    def nansum(
        self,
        dim: _Ints | None = None,
        keepdim: _bool = False,
        *,
        dtype: _dtype | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """`sum` with NaN counted as zero."""

    def narrow(self, dim: _int, start: Tensor | _Number, length: _int) -> Tensor:
        """`length` entries of a dimension from `start` on."""

    @property
    def nbytes(self) -> _int: ...
    def ne(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """Whether different, element by element."""

    def ne_(self, other: Tensor | _Number) -> Tensor:
        """Whether different, element by element."""

    def neg(self, *, out: Tensor | None = None) -> Tensor:
        """The negative."""

    def neg_(self) -> Tensor:
        """The negative."""

    def negative(self, *, out: Tensor | None = None) -> Tensor:
        """The negative."""

    def negative_(self) -> Tensor:
        """The negative."""

    def new(self, *args: Any, **kwargs: Any) -> Tensor:
        """A tensor of this one's dtype from sizes or data."""

    def new_empty(
        self, *size: _Ints, dtype: _dtype | None = None, device: _Device | None = None, **more: Any
    ) -> Tensor:
        """A tensor of the given size and this tensor's dtype whose elements are not set."""

    def new_full(
        self, size: _Ints, fill_value: _Number, *, dtype: _dtype | None = None, **more: Any
    ) -> Tensor:
        """A tensor of the given size, filled, of this tensor's dtype."""

    def new_ones(
        self, *size: _Ints, dtype: _dtype | None = None, device: _Device | None = None, **more: Any
    ) -> Tensor:
        """A tensor of the given size and this tensor's dtype filled with 1."""

    def new_tensor(
        self,
        data: Any,
        *,
        dtype: _dtype | None = None,
        device: _Device | None = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """A tensor of a copy of `data`, of this tensor's dtype."""

    def new_zeros(
        self, *size: _Ints, dtype: _dtype | None = None, device: _Device | None = None, **more: Any
    ) -> Tensor:
        """A tensor of the given size and this tensor's dtype filled with 0."""

    def nextafter(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The next number after input towards other."""

    def nextafter_(self, other: Tensor) -> Tensor:
        """The next number after input towards other."""

    def nonzero(self, *, as_tuple: _bool = False, **out: Tensor) -> Any:
        """The indices of the elements that are not zero, one a row."""

    def norm(
        self,
        p: _str = "fro",
        dim: _Ints | None = None,
        keepdim: _bool = False,
        out: Tensor | None = None,
        dtype: _dtype | None = None,
    ) -> Tensor:
        """The p-norm along dim ('fro', the default, is the 2-norm; 'nuc' is of matrices)."""

    def normal_(
        self, mean: _float = 0.0, std: _float = 1.0, *, generator: _Generator | None = None
    ) -> Tensor:
        """Fill with numbers of a normal distribution."""

    def not_equal(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """Whether different, element by element."""

    def not_equal_(self, other: Tensor | _Number) -> Tensor:
        """Whether different, element by element."""

    def outer(self, vec2: Tensor) -> Tensor:
        """The matrix of all products of the elements of two vectors."""

    def permute(self, *dims: _Ints) -> Tensor:
        """The dimensions in the order given."""

    def pin_memory(self) -> Tensor:
        """The tensor: no device needs its pages locked."""

    def pinverse(self, rcond: _float = 1e-15) -> Tensor:
        """The pseudo-inverse."""

    def poisson(self, generator: _Generator | None = None) -> Tensor:
        """Counts of a Poisson distribution with the rates that each element gives."""

    def polygamma(self, n: Any) -> Tensor:
        """The n-th derivative of digamma."""

    def polygamma_(self, n: Any) -> Tensor:
        """In-place version of `polygamma`."""

    def positive(self) -> Tensor:
        """input itself."""

    def pow(self, exponent: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """input ** exponent."""

    def pow_(self, exponent: Tensor | _Number) -> Tensor:
        """input ** exponent."""

    def prelu(self, weight: Tensor) -> Tensor:
        """input above 0, weight * input below; one weight, or one a channel (dimension 1)."""

    def prod(
        self,
        dim: _int | None = None,
        keepdim: _bool = False,
        *,
        dtype: _dtype | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """The product of all elements, or along a dimension."""

    def put(
        self, index: Tensor, source: Tensor, accumulate: _bool = False, *, out: Tensor | None = None
    ) -> Tensor:
        """The input with source written, or added, at an index into all of it, row by row."""

    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """The input with source written, or added, at an index into all of it, row by row."""

    def qr(self, some: _bool = True) -> return_types.qr:
        """`linalg.qr` in torch's older form."""

    def quantile(
        self,
        q: Tensor | _Number,
        dim: _int | None = None,
        keepdim: _bool = False,
        *,
        interpolation: _str = "linear",
    ) -> Tensor:
        """The q-th quantiles, of all elements or along a dimension."""

    def rad2deg(self, *, out: Tensor | None = None) -> Tensor:
        """Radians as degrees."""

    def rad2deg_(self) -> Tensor:
        """Radians as degrees."""

    def random_(
        self, from_: _int | None = None, to: _Number = ..., *, generator: _Generator | None = None
    ) -> Tensor: ...
    def ravel(self) -> Tensor:
        """All elements in one dimension."""

    @property
    def real(self) -> Tensor: ...
    def reciprocal(self, *, out: Tensor | None = None) -> Tensor:
        """1 / input."""

    def reciprocal_(self) -> Tensor:
        """1 / input."""

    def register_hook(self, hook: Callable[[Any], Any]) -> Any:
        """Call `hook(grad)` when the gradient of `tensor` is known; it may return a replacement."""

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], None]) -> Any:
        """Call `hook(tensor)` after a gradient was added to the `.grad` of a leaf."""

    def relu(self, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """max(input, 0)."""

    def relu_(self) -> Tensor:
        """max(input, 0)."""

    def remainder(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """What is left of dividing; it has the sign of `other`."""

    def remainder_(self, other: Tensor | _Number) -> Tensor:
        """What is left of dividing; it has the sign of `other`."""

    def renorm(
        self, p: _Number, dim: _int, maxnorm: _Number, *, out: Tensor | None = None
    ) -> Tensor:
        """input with the p-norm of each slice along dim brought down to maxnorm."""

    def renorm_(self, p: _Number, dim: _int, maxnorm: _Number) -> Tensor:
        """input with the p-norm of each slice along dim brought down to maxnorm."""

    def repeat(self, *repeats: _Ints) -> Tensor:
        """Copies side by side, so many along each dimension."""

    def repeat_interleave(
        self,
        repeats: Tensor | _Ints | None = None,
        dim: _int | None = None,
        *,
        output_size: _Ints | None = None,
    ) -> Tensor:
        """Each entry repeated as often as `repeats` says; over all elements where dim is None."""

    def reshape(self, *size: _Ints, shape: _Ints | None = None) -> Tensor:
        """The same elements in another shape: a view where the strides allow it, else a copy."""

    def reshape_as(self, other: Tensor | _Number) -> Tensor:
        """`reshape` to the shape of another tensor."""

    def resize_(self, *size: _Ints, memory_format: _memory_format | None = None) -> Tensor:
        """Another size, elements kept in storage order; new ones are unset."""

    def resize_as_(
        self, the_template: Any, *, memory_format: _memory_format | None = None
    ) -> Tensor:
        """`resize_` to the size of another tensor."""

    def resolve_conj(self) -> Tensor: ...
    def resolve_neg(self) -> Tensor: ...
    def retain_grad(self) -> None:
        """Fill `.grad` of a non-leaf too; no effect on leaves."""

    def roll(self, shifts: _Ints, dims: _Ints = ()) -> Tensor:
        """Entries moved along dimensions; what falls off the end comes in at the beginning."""

    def rot90(self, k: _int = 1, dims: _Ints = (0, 1)) -> Tensor:
        """Turned by quarter turns in the plane of two dimensions (the first two)."""

    def round(self, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
        """To the nearest whole number, halves to the even one; or to `decimals` places."""

    def round_(self, *, decimals: _int = 0) -> Tensor:
        """To the nearest whole number, halves to the even one; or to `decimals` places."""

    def rsqrt(self, *, out: Tensor | None = None) -> Tensor:
        """1 / sqrt(input)."""

    def rsqrt_(self) -> Tensor:
        """1 / sqrt(input)."""

    def scatter(
        self,
        dim: _int,
        index: Tensor,
        src: Tensor | None = None,
        *,
        value: _Number | None = None,
        reduce: Any = None,
        **out: Tensor,
    ) -> Tensor: ...
    def scatter_(
        self,
        dim: _int,
        index: Tensor,
        src: Tensor | None = None,
        *,
        value: _Number | None = None,
        reduce: Any = None,
    ) -> Tensor:
        """In-place version of `scatter`."""

    def scatter_add(self, dim: _int, index: Tensor, src: Tensor) -> Tensor: ...
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Tensor: ...
    def scatter_reduce(
        self, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = True
    ) -> Tensor: ...
    def scatter_reduce_(
        self, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = True
    ) -> Tensor: ...
    def select(self, dim: _int, index: _int) -> Tensor:
        """One entry of a dimension, without it."""

    def select_scatter(self, src: Tensor, dim: _int, index: _int) -> Tensor:
        """The input with src in the place of one entry of a dimension."""

    def set_(
        self,
        source: Tensor | None = None,
        storage_offset: Any = None,
        size: _Ints | None = None,
        stride: _Ints | None = None,
    ) -> Tensor: ...
    def sgn(self, *, out: Tensor | None = None) -> Tensor:
        """The sign; of a complex number z / |z|."""

    def sgn_(self) -> Tensor:
        """The sign; of a complex number z / |z|."""

    def share_memory_(self) -> Tensor:
        """Move the storage to memory that processes share."""

    def short(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.int16."""

    def sigmoid(self, *, out: Tensor | None = None) -> Tensor:
        """1 / (1 + exp(-input))."""

    def sigmoid_(self) -> Tensor:
        """1 / (1 + exp(-input))."""

    def sign(self, *, out: Tensor | None = None) -> Tensor:
        """-1, 0 or 1."""

    def sign_(self) -> Tensor:
        """-1, 0 or 1."""

    def signbit(self, *, out: Tensor | None = None) -> Tensor:
        """Whether the sign is minus, of -0.0 too."""

    def sin(self, *, out: Tensor | None = None) -> Tensor:
        """The sine."""

    def sin_(self) -> Tensor:
        """The sine."""

    def sinc(self, *, out: Tensor | None = None) -> Tensor:
        """sin(pi input) / (pi input), 1 at 0."""

    def sinc_(self) -> Tensor:
        """sin(pi input) / (pi input), 1 at 0."""

    def sinh(self, *, out: Tensor | None = None) -> Tensor:
        """The hyperbolic sine."""

    def sinh_(self) -> Tensor:
        """The hyperbolic sine."""

    def slice_scatter(
        self,
        src: Tensor,
        dim: _int = 0,
        start: _int | None = None,
        end: _int | None = None,
        step: _int = 1,
    ) -> Tensor:
        """The input with src in the place of a slice."""

    def slogdet(self, *, out: Tensor | None = None) -> return_types.slogdet:
        """The sign and the logarithm of the absolute value of determinants."""

    def softmax(
        self, dim: _int, dtype: _dtype | None = None, *, out: Tensor | None = None
    ) -> Tensor:
        """exp(input), divided by its sum along dim."""

    def sort(
        self,
        dim: _int = -1,
        descending: _bool = False,
        stable: _bool | None = None,
        *,
        out: Tensor | None = None,
    ) -> return_types.sort:
        """The entries of a dimension in order, and where each was."""

    def split(
        self,
        split_size_or_sections: _Ints | None = None,
        dim: _int = 0,
        *,
        split_size: _Ints | None = None,
    ) -> tuple[Tensor, ...]:
        """Pieces along a dimension: of one size, or of the sizes given."""

    def split_with_sizes(self, split_sizes: _Ints, dim: _int = 0) -> tuple[Tensor, ...]:
        """Pieces of the given sizes along a dimension."""

    def sqrt(self, *, out: Tensor | None = None) -> Tensor:
        """The square root."""

    def sqrt_(self) -> Tensor:
        """The square root."""

    def square(self, *, out: Tensor | None = None) -> Tensor:
        """input ** 2."""

    def square_(self) -> Tensor:
        """input ** 2."""

    def squeeze(self, dim: _Ints | None = None) -> Tensor:
        """Without dimensions of size 1: all of them, or those named."""

    def squeeze_(self, dim: _int | None = None) -> Tensor:
        """In-place version of `squeeze`."""

    def std(
        self,
        dim: _Ints | None = None,
        unbiased: _bool | None = None,
        keepdim: _bool = False,
        *,
        correction: _Number | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """The standard deviation, of all elements or along dimensions."""

    def storage(self) -> Any:
        """The memory that the tensor and its views share, as elements (deprecated)."""

    def storage_offset(self) -> _int:
        """How many elements of the storage come before the first."""

    def sub(
        self, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None
    ) -> Tensor:
        """Subtract: input - alpha * other."""

    def sub_(self, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor:
        """Subtract: input - alpha * other."""

    def subtract(
        self, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None
    ) -> Tensor:
        """Subtract: input - alpha * other."""

    def subtract_(self, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor:
        """Subtract: input - alpha * other."""

    def sum(
        self,
        dim: _Ints | None = None,
        keepdim: _bool = False,
        *,
        dtype: _dtype | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """The sum of all elements, or along dimensions."""

    def sum_to_size(self, *size: _Ints) -> Tensor:
        """The sum that undoes broadcasting from `size`."""

    def svd(self, some: _bool = True, compute_uv: _bool = True) -> return_types.svd:
        """`linalg.svd` in torch's older form: gives V, not Vh."""

    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """`transpose` under NumPy's name."""

    def swapaxes_(self, axis0: _int, axis1: _int) -> Tensor:
        """In-place version of `swapaxes`."""

    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """`transpose` under another name."""

    def swapdims_(self, axis0: _int, axis1: _int) -> Tensor:
        """In-place version of `swapaxes`."""

    def t(self) -> Tensor:
        """A matrix's transpose; a vector or a number as it is."""

    def t_(self) -> Tensor:
        """In-place version of `t`."""

    def take(self, index: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The elements at an index into all of the input, row by row."""

    def take_along_dim(self, indices: Any, dim: _int | None = None) -> Tensor: ...
    def tan(self, *, out: Tensor | None = None) -> Tensor:
        """The tangent."""

    def tan_(self) -> Tensor:
        """The tangent."""

    def tanh(self, *, out: Tensor | None = None) -> Tensor:
        """The hyperbolic tangent."""

    def tanh_(self) -> Tensor:
        """The hyperbolic tangent."""

    def tensor_split(
        self, indices_or_sections: Tensor | _Ints | None = None, dim: _int = 0
    ) -> tuple[Tensor, ...]: ...
    def tile(self, *sizes: Any, dims: _Ints | None = None) -> Tensor:
        """`repeat` with missing leading counts taken as 1."""

    def to(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def tolist(self) -> Any:
        """The elements as nested lists; the number itself for 0 dimensions."""

    def topk(
        self,
        k: _int,
        dim: _int = -1,
        largest: _bool = True,
        sorted: _bool = True,
        *,
        out: Tensor | None = None,
    ) -> return_types.topk:
        """The k largest (or smallest) entries of a dimension in order, and where each was."""

    def trace(self, *, out: Tensor | None = None) -> Tensor:
        """The sum of a matrix's diagonal."""

    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """Two dimensions changed over."""

    def transpose_(self, dim0: _int, dim1: _int) -> Tensor:
        """In-place version of `transpose`."""

    def triangular_solve(
        self, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False
    ) -> return_types.triangular_solve:
        """`linalg.solve_triangular` in torch's older form."""

    def tril(self, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
        """The lower triangle, zeros elsewhere."""

    def tril_(self, diagonal: _int = 0) -> Tensor:
        """The lower triangle, zeros elsewhere."""

    def triu(self, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
        """The upper triangle, zeros elsewhere."""

    def triu_(self, diagonal: _int = 0) -> Tensor:
        """The upper triangle, zeros elsewhere."""

    def true_divide(
        self,
        other: Tensor | _Number,
        *,
        rounding_mode: _str | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """Divide; rounding_mode 'trunc' or 'floor' rounds the quotient."""

    def true_divide_(self, other: Tensor | _Number, *, rounding_mode: _str | None = None) -> Tensor:
        """Divide; rounding_mode 'trunc' or 'floor' rounds the quotient."""

    def trunc(self, *, out: Tensor | None = None) -> Tensor:
        """Rounded towards zero."""

    def trunc_(self) -> Tensor:
        """Rounded towards zero."""

    def type(self, dtype: _dtype | None = None, non_blocking: _bool = False) -> Any:
        """The name of the legacy tensor type, or the tensor converted to a type."""

    def type_as(self, other: Tensor | _Number) -> Tensor:
        """The tensor with another tensor's dtype."""

    def unbind(self, dim: _int = 0) -> tuple[Tensor, ...]:
        """The entries of a dimension, as a tuple."""

    def unflatten(self, dim: _int, sizes: Any) -> Tensor:
        """One dimension as several of the given sizes."""

    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """Windows of a size along a dimension, every step, as a new last dimension."""

    def uniform_(
        self, from_: _float = 0.0, to: _float = 1.0, *, generator: _Generator | None = None
    ) -> Tensor:
        """Fill with numbers drawn evenly from [from, to)."""

    def unique(
        self,
        sorted: _bool = True,
        return_inverse: _bool = False,
        return_counts: _bool = False,
        dim: _int | None = None,
    ) -> Any:
        """The distinct elements (or slices along dim) in order."""

    def unique_consecutive(
        self, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None
    ) -> Any:
        """The elements (or slices along dim) without repeats of the one before."""

    def unsqueeze(self, dim: _int) -> Tensor:
        """With one more dimension of size 1, at position dim."""

    def unsqueeze_(self, dim: _int) -> Tensor:
        """In-place version of `unsqueeze`."""

    def untyped_storage(self) -> Any:
        """The memory that the tensor and its views share, as bytes."""

    def var(
        self,
        dim: _Ints | None = None,
        unbiased: _bool | None = None,
        keepdim: _bool = False,
        *,
        correction: _Number | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """The variance, of all elements or along dimensions."""

    def vdot(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The inner product of two vectors; the first is conjugated."""

    def view(self, *size: _Ints) -> Tensor: ...
    def view_as(self, other: Tensor | _Number) -> Tensor:
        """`view` in the shape of another tensor."""

    @property
    def volatile(self) -> _bool: ...
    def vsplit(self, indices_or_sections: Tensor | _Ints | None = None) -> tuple[Tensor, ...]:
        """`tensor_split` as numpy.vsplit does it."""

    def where(self, condition: Tensor, other: Tensor | _Number) -> Tensor:
        """input where the condition holds, else other; without them, the indices where it holds."""

    def xlogy(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """input * log(other), 0 where input is 0."""

    def xlogy_(self, other: Tensor | _Number) -> Tensor:
        """input * log(other), 0 where input is 0."""

    def zero_(self) -> Tensor:
        """Zeros in the place of input."""
