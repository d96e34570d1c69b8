"""torch's root namespace without the rooms built on it. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import Any, TypeAlias, overload

from . import autograd as autograd
from . import ops as ops
from . import random as random
from . import return_types
from ._core import Tensor as Tensor
from ._core import UntypedStorage as UntypedStorage
from ._device import device as _device
from ._device import device as device
from ._device import get_default_device as get_default_device
from ._device import layout as _layout
from ._device import layout as layout
from ._device import memory_format as _memory_format
from ._device import memory_format as memory_format
from ._device import set_default_device as set_default_device
from ._dtypes import can_cast as can_cast
from ._dtypes import dtype as _dtype
from ._dtypes import dtype as dtype
from ._dtypes import finfo as finfo
from ._dtypes import get_default_dtype as get_default_dtype
from ._dtypes import iinfo as iinfo
from ._dtypes import promote_types as promote_types
from ._errors import OutOfMemoryError as OutOfMemoryError
from ._generator import Generator as Generator
from ._generator import Generator as _Generator
from ._size import Size as Size
from ._size import Size as _Size
from .autograd import enable_grad as enable_grad
from .autograd import inference_mode as inference_mode
from .autograd import is_grad_enabled as is_grad_enabled
from .autograd import is_inference_mode_enabled as is_inference_mode_enabled
from .autograd import no_grad as no_grad
from .autograd import set_grad_enabled as set_grad_enabled
from .random import fork_rng as fork_rng
from .random import get_rng_state as get_rng_state
from .random import initial_seed as initial_seed
from .random import manual_seed as manual_seed
from .random import seed as seed
from .random import set_rng_state as set_rng_state

_Number: TypeAlias = _int | _float | _bool | _complex
_Ints: TypeAlias = _int | Sequence[_int]
_Device: TypeAlias = _device | _str | _int

BFloat16Tensor: Any
BoolTensor: Any
ByteTensor: Any
CharTensor: Any
ComplexDoubleTensor: Any
ComplexFloatTensor: Any
DoubleTensor: Any
FloatTensor: Any
HalfTensor: Any
IntTensor: Any
LongTensor: Any
ShortTensor: Any
bfloat16: _dtype
bool: _dtype
cdouble: _dtype
cfloat: _dtype
channels_last: _memory_format
channels_last_3d: _memory_format
complex128: _dtype
complex64: _dtype
contiguous_format: _memory_format
default_generator: _Generator
double: _dtype
e: _float
float: _dtype
float16: _dtype
float32: _dtype
float64: _dtype
half: _dtype
inf: _float
int: _dtype
int16: _dtype
int32: _dtype
int64: _dtype
int8: _dtype
legacy_contiguous_format: _memory_format
long: _dtype
nan: _float
newaxis: None
pi: _float
preserve_format: _memory_format
short: _dtype
sparse_bsc: _layout
sparse_bsr: _layout
sparse_coo: _layout
sparse_csc: _layout
sparse_csr: _layout
strided: _layout
uint16: _dtype
uint32: _dtype
uint64: _dtype
uint8: _dtype
_nn: Any

def __getattr__(name: _str) -> Any: ...
def are_deterministic_algorithms_enabled() -> _bool:
    """What `use_deterministic_algorithms` has set; every kernel here is deterministic anyway."""

def compile(model: Any = None, **options: Any) -> _int:
    """Accepted: gives the model back as it is, or a decorator that does."""

def from_dlpack(
    ext_tensor: Any, *, device: _Device | None = None, copy: _bool | None = None
) -> Tensor:
    """A tensor on the memory of another library's array, or of a DLPack capsule."""

def get_float32_matmul_precision() -> _str:
    """'highest': products are computed in the tensors' own type."""

def get_num_interop_threads() -> _int:
    """1: there is one pool only."""

def get_num_threads() -> _int:
    """How many threads long kernels may use."""

def is_anomaly_check_nan_enabled() -> _bool:
    """Whether anomaly mode looks for NaN in gradients."""

def is_anomaly_enabled() -> _bool:
    """Whether anomaly mode is on."""

def is_storage(obj: Any) -> _bool:
    """Whether an object is a storage."""

def set_anomaly_enabled(mode: _bool, check_nan: _bool = True) -> None:
    """Turn anomaly mode on or off."""

def set_default_dtype(d: Any) -> None:
    """Set the dtype that Python floats become."""

def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype by a legacy tensor type (deprecated)."""

def set_float32_matmul_precision(precision: _str) -> None:
    """Accepted: products are computed in the tensors' own type."""

def set_num_interop_threads(n: _int) -> None:
    """Accepted; there is one pool only."""

def set_num_threads(n: _int) -> None:
    """How many threads long kernels may use."""

def set_printoptions(**options: Any) -> None:
    """How tensors print: precision, threshold, edgeitems, linewidth, profile, sci_mode."""

def to_dlpack(tensor: Tensor) -> Any: ...
def use_deterministic_algorithms(mode: _bool, *, warn_only: _bool = False) -> None:
    """Accepted: every kernel here is deterministic."""

def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value."""

def abs_(self: Tensor) -> Tensor:
    """In-place version of `abs`."""

def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value."""

def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of that cosine."""

def acos_(input: Tensor) -> Tensor:
    """The angle of that cosine."""

def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of cosh."""

def acosh_(input: Tensor) -> Tensor:
    """The inverse of cosh."""

def adaptive_avg_pool1d(input: Tensor, output_size: _int | Sequence[_int | None]) -> Tensor:
    """The means of windows of 1 dimension(s) that cut the input into output_size parts."""

def adaptive_max_pool1d(
    input: Tensor, output_size: _int | Sequence[_int | None], return_indices: _bool = True
) -> tuple[Tensor, Tensor]:
    """Largest elements and their places."""

def add(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """Add: input + alpha * other."""

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

def addcdiv(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """input + value * tensor1 / tensor2."""

def addcmul(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """input + value * tensor1 * tensor2."""

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

def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose of the last two dimensions."""

def all(
    input: Tensor, dim: _Ints | None = None, keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Whether all element is not zero."""

def allclose(
    input: Tensor,
    other: Tensor | _Number,
    rtol: _float = 1e-05,
    atol: _float = 1e-08,
    equal_nan: _bool = False,
) -> _bool:
    """Whether all elements are close, see `isclose`."""

def alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Dropout to SELU's lowest value that keeps mean and variance."""

def amax(
    input: Tensor, dim: _Ints = (), keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The largest element, of all or along dimensions; ties share the gradient."""

def amin(
    input: Tensor, dim: _Ints = (), keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The smallest element, of all or along dimensions; ties share the gradient."""

def aminmax(
    input: Tensor, *, dim: _int | None = None, keepdim: _bool = False, out: Tensor | None = None
) -> return_types.aminmax:
    """The smallest and the largest element."""

def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle in the complex plane; of negative numbers pi."""

def any(
    input: Tensor, dim: _Ints | None = None, keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Whether any element is not zero."""

def arange(
    start: Tensor | _Number | None = None,
    end: Tensor | _Number | None = None,
    step: _Number = 1,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """The numbers from `start` (0) up to, not including, `end`."""

def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of that cosine."""

def arccos_(input: Tensor) -> Tensor:
    """The angle of that cosine."""

def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of cosh."""

def arccosh_(input: Tensor) -> Tensor:
    """The inverse of cosh."""

def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of that sine."""

def arcsin_(input: Tensor) -> Tensor:
    """The angle of that sine."""

def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of sinh."""

def arcsinh_(input: Tensor) -> Tensor:
    """The inverse of sinh."""

def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of that tangent."""

def arctan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point (other, input)."""

def arctan_(input: Tensor) -> Tensor:
    """The angle of that tangent."""

def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of tanh."""

def arctanh_(input: Tensor) -> Tensor:
    """The inverse of tanh."""

def argmax(
    input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The index of the largest element; the first of several."""

def argmin(
    input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The index of the smallest element; the first of several."""

def argsort(
    input: Tensor, dim: _int = -1, descending: _bool = False, stable: _bool = False
) -> Tensor:
    """Where each entry of the sorted dimension was."""

def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not zero, one a row."""

def as_strided(
    input: Tensor, size: _Ints, stride: _Ints, storage_offset: _int | None = None
) -> Tensor:
    """Any view of the storage; the offset counts from the storage's first element."""

def as_strided_scatter(
    input: Tensor, src: Tensor, size: _Ints, stride: _Ints, storage_offset: _int | None = None
) -> Tensor:
    """A copy of the tensor with `src` at the place of `as_strided`."""

def as_tensor(data: Any, *, dtype: _dtype | None = None, device: _Device | None = None) -> Tensor:
    """Like `tensor`, but shares memory where it can; a tensor keeps its history."""

def asarray(
    obj: Any,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    copy: _bool | None = None,
    requires_grad: _bool | None = None,
) -> Tensor: ...
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of that sine."""

def asin_(input: Tensor) -> Tensor:
    """The angle of that sine."""

def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of sinh."""

def asinh_(input: Tensor) -> Tensor:
    """The inverse of sinh."""

def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of that tangent."""

def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point (other, input)."""

def atan_(input: Tensor) -> Tensor:
    """The angle of that tangent."""

def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of tanh."""

def atanh_(input: Tensor) -> Tensor:
    """The inverse of tanh."""

def atleast_1d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """Tensors with at least 1 dimension."""

def atleast_2d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """Tensors with at least 2 dimensions."""

def atleast_3d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """Tensors with at least 3 dimensions."""

def avg_pool1d(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    ceil_mode: _bool = False,
    count_include_pad: _bool = True,
) -> Tensor:
    """The mean of each window of 1 dimension(s)."""

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

def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: _bool,
    momentum: _float,
    eps: _float,
    cudnn_enabled: _bool = True,
) -> Tensor: ...
def bernoulli(
    input: Tensor, p: Any = None, *, generator: _Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """1 by the probability each element gives, else 0."""

def bernoulli_(self: Tensor, p: _float = 0.5, *, generator: _Generator | None = None) -> Tensor:
    """Fill with 1 by probability p (a number or a tensor), else 0."""

def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """y[..., k] = input1 @ weight[k] @ input2 + bias[k], over any leading dimensions."""

def bincount(input: Tensor, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
    """How often each of 0, 1, 2, ... occurs; with weights, the sum of theirs."""

def bitwise_and(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """The bits set in both."""

def bitwise_left_shift(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """input * 2**other; by more than the width, 0."""

def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every bit turned over; of bools, not."""

def bitwise_or(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """The bits set in either."""

def bitwise_right_shift(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """input divided by 2**other, rounded down."""

def bitwise_xor(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """The bits set in exactly one."""

def block_diag(*tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """Matrices along the diagonal of a matrix of zeros."""

def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of two stacks of matrices."""

def broadcast_shapes(*shapes: Any) -> _Size:
    """The shape that tensors of these shapes broadcast to."""

def broadcast_tensors(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """All tensors expanded to their common shape."""

def broadcast_to(input: Tensor, *size: _Ints) -> Tensor:
    """`expand` to a shape."""

def bucketize(
    input: Tensor,
    boundaries: Tensor,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Which of the intervals between boundaries each value lies in."""

def cartesian_prod(*tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """Every choice of one element of each vector, as rows."""

def cat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors one after the other along a dimension."""

def cauchy_(
    self: Tensor, median: _float = 0.0, sigma: _float = 1.0, *, generator: _Generator | None = None
) -> Tensor:
    """Fill from a Cauchy distribution."""

def cdist(
    x1: Tensor,
    x2: Tensor,
    p: _float = 2.0,
    compute_mode: _str = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """The distance of each point (row) of x1 from each of x2."""

def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest whole number not below."""

def ceil_(input: Tensor) -> Tensor:
    """The smallest whole number not below."""

def celu(
    input: Tensor, alpha: _Number = 1.0, inplace: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """input above 0, alpha * (e ** (input / alpha) - 1) below."""

def celu_(input: Tensor, alpha: _Number = 1.0) -> Tensor:
    """input above 0, alpha * (e ** (input / alpha) - 1) below."""

def chain_matmul(*matrices: Tensor | Sequence[Tensor]) -> Tensor:
    """The product of several matrices in the cheapest order."""

def channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """The channels dealt out from groups, one of each in turn."""

def cholesky(input: Tensor, upper: _bool = False) -> Tensor:
    """`linalg.cholesky` in torch's older form."""

def cholesky_inverse(input: Tensor, upper: _bool = False) -> Tensor:
    """The inverse of A, given its Cholesky factor."""

def cholesky_solve(
    input: Tensor, L: Tensor, upper: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The solution of A @ X = input, given the Cholesky factor of A."""

def chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of one size along a dimension."""

def clamp(
    input: Tensor,
    min: Tensor | _Number | None = None,
    max: Tensor | _Number | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input, but at least min and at most max (numbers or tensors); where they cross, max."""

def clamp_(
    self: Tensor, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None
) -> Tensor:
    """In-place version of `clamp`."""

def clamp_max(input: Tensor, max: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The smaller of input and max."""

def clamp_max_(input: Tensor, max: Tensor | _Number) -> Tensor:
    """The smaller of input and max."""

def clamp_min(input: Tensor, min: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The larger of input and min."""

def clamp_min_(input: Tensor, min: Tensor | _Number) -> Tensor:
    """The larger of input and min."""

def clip(
    input: Tensor,
    min: Tensor | _Number | None = None,
    max: Tensor | _Number | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input, but at least min and at most max (numbers or tensors); where they cross, max."""

def clip_(
    self: Tensor, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None
) -> Tensor:
    """In-place version of `clamp`."""

def clone(input: Tensor, *, memory_format: _memory_format | None = None) -> Tensor:
    """A copy, which gradients flow through."""

def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Vectors as columns, joined with matrices."""

def combinations(input: Tensor, r: _int = 2, with_replacement: _bool = False) -> Tensor:
    """Every choice of r elements of a vector, in order, as rows."""

def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """real + i * imag."""

def concat(
    tensors: Sequence[Tensor], dim: _int = 0, *, axis: _int | None = None, out: Tensor | None = None
) -> Tensor:
    """`cat` under another name."""

def concatenate(
    tensors: Sequence[Tensor], dim: _int = 0, *, axis: _int | None = None, out: Tensor | None = None
) -> Tensor:
    """`cat` under another name."""

def conj(input: Tensor) -> Tensor:
    """The complex conjugate, as a view; a real tensor itself."""

def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate."""

def conj_physical_(input: Tensor) -> Tensor:
    """The complex conjugate."""

def constant_pad_nd(
    input: Tensor, pad: _Ints, value: _Number = 0, *, out: Tensor | None = None
) -> Tensor:
    """The tensor with a border of a constant; a negative width cuts."""

def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Ints = 1,
    padding: _Ints = 0,
    dilation: _Ints = 1,
    groups: _int = 1,
) -> Tensor:
    """A convolution over 1 dimension(s)."""

def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Ints = 1,
    padding: _Ints = 0,
    dilation: _Ints = 1,
    groups: _int = 1,
) -> Tensor:
    """A convolution over 2 dimension(s)."""

def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Ints = 1,
    padding: _Ints = 0,
    dilation: _Ints = 1,
    groups: _int = 1,
) -> Tensor:
    """A convolution over 3 dimension(s)."""

def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Ints = 1,
    padding: _Ints = 0,
    output_padding: _Ints = 0,
    groups: _int = 1,
    dilation: _Ints = 1,
) -> Tensor:
    """The transpose of a convolution over 1 dimension(s)."""

def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Ints = 1,
    padding: _Ints = 0,
    output_padding: _Ints = 0,
    groups: _int = 1,
    dilation: _Ints = 1,
) -> Tensor:
    """The transpose of a convolution over 2 dimension(s)."""

def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Ints = 1,
    padding: _Ints = 0,
    output_padding: _Ints = 0,
    groups: _int = 1,
    dilation: _Ints = 1,
) -> Tensor:
    """The transpose of a convolution over 3 dimension(s)."""

def copysign(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """|input| with the sign of other."""

def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The cosine."""

def cos_(input: Tensor) -> Tensor:
    """The cosine."""

def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic cosine."""

def cosh_(input: Tensor) -> Tensor:
    """The hyperbolic cosine."""

def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08) -> Tensor:
    """The cosine of the angle between vectors along dim; norms are not below eps."""

def count_nonzero(input: Tensor, dim: _Ints | None = None, *, out: Tensor | None = None) -> Tensor:
    """How many elements are not zero."""

def cross(input: Tensor, other: Tensor | _Number, dim: _int | None = None) -> Tensor:
    """The vector product along `dim`; without it, along the first dimension of size 3."""

def cummax(input: Tensor, dim: _int, *, out: Tensor | None = None) -> return_types.cummax:
    """The largest entry so far along a dimension, and its index."""

def cummin(input: Tensor, dim: _int, *, out: Tensor | None = None) -> return_types.cummin:
    """The smallest entry so far along a dimension, and its index."""

def cumprod(
    input: Tensor, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None
) -> Tensor:
    """The product of all entries so far, along a dimension."""

def cumsum(
    input: Tensor, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None
) -> Tensor:
    """The sum of all entries so far, along a dimension."""

def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: _Number = 1.0, dim: _int = -1
) -> Tensor:
    """The integral up to each entry of a dimension by the trapezoidal rule."""

def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Degrees as radians."""

def deg2rad_(input: Tensor) -> Tensor:
    """Degrees as radians."""

def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinants of square matrices."""

def diag(input: Tensor, diagonal: _int = 0) -> Tensor:
    """A vector as a diagonal matrix; a matrix's diagonal as a vector."""

def diag_embed(input: Tensor, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """The last dimension laid on the diagonal of two dimensions of zeros."""

def diagflat(input: Tensor, offset: _int = 0) -> Tensor:
    """All elements as a diagonal matrix."""

def diagonal(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """A diagonal of two dimensions, as a new last dimension."""

def diagonal_scatter(
    input: Tensor, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1
) -> Tensor:
    """The input with src in the place of a diagonal."""

def diff(
    input: Tensor,
    n: _int = 1,
    dim: _int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """The differences of neighbours along a dimension, n times over."""

def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of lgamma."""

def dist(input: Tensor, other: Tensor, p: _Number = 2, *, out: Tensor | None = None) -> Tensor:
    """The p-norm of input - other."""

def div(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    rounding_mode: _str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Divide; rounding_mode 'trunc' or 'floor' rounds the quotient."""

def divide(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    rounding_mode: _str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Divide; rounding_mode 'trunc' or 'floor' rounds the quotient."""

def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two vectors, without conjugation."""

def dropout(input: Tensor, p: _float, train: _bool) -> Tensor: ...
def dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Dropout in place while `train` is true."""

def dsplit(input: Tensor, indices_or_sections: Tensor | _Ints | None = None) -> tuple[Tensor, ...]:
    """`tensor_split` as numpy.dsplit does it."""

def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Joined along the third dimension."""

def einsum(*args: Any) -> Tensor:
    """The sum of products that the equation's subscripts describe: einsum('bij,bjk->bik', x, y)."""

def embedding(
    weight: Tensor,
    indices: Any,
    padding_idx: _int = -1,
    scale_grad_by_freq: _bool = False,
    sparse: _bool = False,
) -> Tensor:
    """The rows of weight that input names; row padding_idx gets no gradient."""

def empty(
    *size: _Ints,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
    memory_format: _memory_format | None = None,
) -> Tensor:
    """A tensor of the given size whose elements are not set."""

def empty_like(
    input: Tensor,
    *,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    memory_format: _memory_format | None = None,
    pin_memory: _bool | None = False,
) -> Tensor:
    """A tensor of another's size and dtype whose elements are not set."""

def empty_strided(
    size: _Ints,
    stride: _Ints,
    *,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = False,
) -> Tensor:
    """A tensor of the given size and strides whose elements are not set."""

def eq(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether equal, element by element."""

def equal(input: Tensor, other: Tensor | _Number) -> _bool:
    """Whether two tensors have one shape and the same elements."""

def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function."""

def erf_(input: Tensor) -> Tensor:
    """The error function."""

def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 - erf(input), exact for large input."""

def erfc_(input: Tensor) -> Tensor:
    """1 - erf(input), exact for large input."""

def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of erf."""

def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """e ** input."""

def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 ** input."""

def exp2_(input: Tensor) -> Tensor:
    """2 ** input."""

def exp_(input: Tensor) -> Tensor:
    """e ** input."""

def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """e ** input - 1, exact near 0."""

def expm1_(input: Tensor) -> Tensor:
    """e ** input - 1, exact near 0."""

def exponential_(
    self: Tensor, value: _float = 1.0, *, generator: _Generator | None = None
) -> Tensor:
    """Fill from an exponential distribution."""

def eye(
    n: _int,
    m: _int | None = None,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """The identity matrix of n rows and m columns (default n)."""

def fill(input: Tensor, value: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """A tensor like input, every element `value`."""

def fill_(input: Tensor, value: Tensor | _Number) -> Tensor:
    """A tensor like input, every element `value`."""

def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Rounded towards zero."""

def fix_(input: Tensor) -> Tensor:
    """Rounded towards zero."""

def flatten(input: Tensor, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
    """Dimensions start_dim to end_dim as one."""

def flip(input: Tensor, *dims: _Ints, out: Tensor | None = None) -> Tensor:
    """The order of entries reversed along dimensions."""

def fliplr(input: Tensor) -> Tensor:
    """Columns in reverse order."""

def flipud(input: Tensor) -> Tensor:
    """Rows in reverse order."""

def float_power(input: Tensor, exponent: Tensor | _Number) -> Tensor:
    """input ** exponent in double precision."""

def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest whole number not above."""

def floor_(input: Tensor) -> Tensor:
    """The largest whole number not above."""

def floor_divide(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """Divide and round down."""

def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The larger of two; of a number and NaN the number."""

def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smaller of two; of a number and NaN the number."""

def fmod(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """What is left of dividing; it has the sign of `input`."""

def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What is behind the point."""

def frac_(input: Tensor) -> Tensor:
    """What is behind the point."""

def frexp(input: Tensor, *, out: Tensor | None = None) -> return_types.frexp:
    """Mantissa and exponent: input = mantissa * 2 ** exponent."""

def from_numpy(ndarray: Any) -> Tensor:
    """A tensor that shares the memory of a numpy.ndarray."""

def frombuffer(
    buffer: Any, *, dtype: _dtype, count: _int = -1, offset: _int = 0, requires_grad: _bool = False
) -> Tensor:
    """A 1-D tensor over an object that has the buffer interface."""

def full(
    size: _Ints,
    fill_value: _Number,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
    names: Any = None,
) -> Tensor:
    """A tensor of the given size filled with one value."""

def full_like(
    input: Tensor,
    fill_value: _Number,
    *,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    memory_format: _memory_format | None = None,
    pin_memory: _bool | None = False,
) -> Tensor:
    """A tensor of another's size and dtype filled with one value."""

def gather(input: Tensor, dim: _int, index: Tensor, *, sparse_grad: _bool = False) -> Tensor:
    """out[i][j] = input[index[i][j]][j] for dim 0, input[i][index[i][j]] for dim 1, ..."""

def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The greatest common divisor."""

def gcd_(input: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor."""

def ge(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """input >= other."""

def geometric_(
    self: Tensor, value: _float | None = None, *, generator: _Generator | None = None
) -> Tensor:
    """Fill from a geometric distribution."""

def ger(input: Tensor, vec2: Tensor) -> Tensor:
    """Another name of `outer`."""

def greater(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """input > other."""

def greater_equal(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """input >= other."""

def group_norm(
    input: Tensor,
    num_groups: _int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
) -> Tensor:
    """Mean 0 and variance 1 over each of num_groups groups of channels, then weight and bias."""

def gt(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """input > other."""

def hamming_window(
    window_length: _int,
    periodic: _bool = True,
    alpha: _float = 0.54,
    beta: _float = 0.46,
    **more: Any,
) -> Tensor:
    """alpha - beta * cos: one period of it, or (periodic=False) symmetric."""

def hann_window(window_length: _int, periodic: _bool = True, **more: Any) -> Tensor:
    """0.5 - 0.5 * cos: one period of it, or (periodic=False) symmetric."""

def hardshrink(input: Tensor, lambd: _Number = 0.5, *, out: Tensor | None = None) -> Tensor:
    """input outside of [-lambd, lambd], 0 inside."""

def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """0 below zero, 1 above, `values` at zero."""

def histc(
    input: Tensor,
    bins: _int = 100,
    min: _Number = 0,
    max: _Number = 0,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """How many elements fall in each of `bins` equal intervals from min to max."""

def hsplit(input: Tensor, indices_or_sections: Tensor | _Ints | None = None) -> tuple[Tensor, ...]:
    """`tensor_split` as numpy.hsplit does it."""

def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Joined column by column (vectors end to end)."""

def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sqrt(input ** 2 + other ** 2) without overflow."""

def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of order 0."""

def i0_(input: Tensor) -> Tensor:
    """The modified Bessel function of order 0."""

def imag(input: Tensor) -> Tensor:
    """The imaginary part, as a view."""

def index_add(
    input: Tensor,
    dim: _int,
    index: Tensor,
    source: Tensor,
    *,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """The input with alpha * source added to the slices that an index names."""

def index_copy(
    input: Tensor, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """The input with source written to the slices that an index names."""

def index_fill(input: Tensor, dim: _int, index: Tensor, value: _Number) -> Tensor:
    """The input with a number in the slices that an index names."""

def index_put(
    input: Tensor, indices: Sequence[Any], values: Any, accumulate: _bool = False
) -> Tensor:
    """The input with values written (or added, if accumulate) where the index tensors point."""

def index_put_(
    input: Tensor, indices: Sequence[Any], values: Any, accumulate: _bool = False
) -> Tensor:
    """In-place version of `index_put`."""

def index_reduce(
    input: Tensor,
    dim: _int,
    index: Tensor,
    source: Tensor,
    reduce: _str,
    *,
    include_self: _bool = True,
    out: Tensor | None = None,
) -> Tensor: ...
def index_select(input: Tensor, dim: _int, index: Tensor) -> Tensor:
    """The slices of a dimension that an index names."""

def inner(input: Tensor, other: Tensor | _Number) -> Tensor:
    """The sums of products over the last dimensions of both tensors."""

def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: _bool = True,
    momentum: _float = 0.1,
    eps: _float = 1e-05,
) -> Tensor:
    """Mean 0 and variance 1 over each channel of each sample, then weight and bias."""

def inverse(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices."""

def is_complex(input: Tensor) -> _bool:
    """Whether a tensor's dtype is complex."""

def is_conj(input: Tensor) -> _bool:
    """Whether the tensor shows the conjugate of what its memory holds."""

def is_floating_point(input: Tensor) -> _bool:
    """Whether a tensor's dtype is a real floating type."""

def is_inference(input: Tensor) -> _bool:
    """Whether the tensor was made in inference mode."""

def is_neg(input: Tensor) -> _bool:
    """Whether the tensor shows the negative of what its memory holds."""

def is_nonzero(input: Tensor) -> _bool:
    """Whether the one element is not zero."""

def is_tensor(obj: Any) -> _bool:
    """Whether an object is a tensor."""

def isclose(
    input: Tensor,
    other: Tensor | _Number,
    rtol: _float = 1e-05,
    atol: _float = 1e-08,
    equal_nan: _bool = False,
) -> Tensor:
    """Whether |input - other| <= atol + rtol * |other|, element by element."""

def isfinite(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether neither infinite nor NaN."""

def isin(
    elements: Tensor, test_elements: Tensor, *, assume_unique: _bool = False, invert: _bool = False
) -> Tensor:
    """Whether each element is among the test elements."""

def isinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether infinite."""

def isnan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether not a number."""

def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether -inf."""

def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether +inf."""

def isreal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the imaginary part is 0."""

def kron(input: Tensor, other: Tensor | _Number) -> Tensor:
    """The Kronecker product: every element of input times all of other."""

def kthvalue(
    input: Tensor, k: _int, dim: _int = -1, keepdim: _bool = False, *, out: Tensor | None = None
) -> return_types.kthvalue:
    """The k-th smallest entry of a dimension, and where it was."""

def layer_norm(
    input: Tensor,
    normalized_shape: _Ints,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
    cudnn_enable: _bool = True,
) -> Tensor:
    """Mean 0 and variance 1 over the last dimensions, then weight and bias."""

def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The least common multiple."""

def lcm_(input: Tensor, other: Tensor) -> Tensor:
    """The least common multiple."""

def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input * 2 ** other."""

def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """input * 2 ** other."""

def le(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """input <= other."""

def lerp(
    input: Tensor, end: Tensor, weight: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """input + weight * (end - input)."""

def less(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """input < other."""

def less_equal(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """input <= other."""

def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log |gamma(input)|."""

def linspace(
    start: Tensor | _Number,
    end: Tensor | _Number,
    steps: _int,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """`steps` evenly spaced numbers from `start` to `end`, both included."""

def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The natural logarithm."""

def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 10."""

def log10_(input: Tensor) -> Tensor:
    """The logarithm to base 10."""

def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(1 + input), exact near 0."""

def log1p_(input: Tensor) -> Tensor:
    """log(1 + input), exact near 0."""

def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 2."""

def log2_(input: Tensor) -> Tensor:
    """The logarithm to base 2."""

def log_(input: Tensor) -> Tensor:
    """The natural logarithm."""

def log_normal_(
    self: Tensor, mean: _float = 1.0, std: _float = 2.0, *, generator: _Generator | None = None
) -> Tensor:
    """Fill with exponentials of normal numbers."""

def log_softmax(
    input: Tensor, dim: _int, dtype: _dtype | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The logarithm of softmax, exact where softmax is small."""

def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(e ** input + e ** other) without overflow."""

def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log2(2 ** input + 2 ** other) without overflow."""

def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor:
    """log(cumsum(exp(input))) along a dimension, without overflow."""

def logdet(input: Tensor) -> Tensor:
    """The logarithm of determinants; nan where one is negative."""

def logical_and(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether both are nonzero."""

def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether zero."""

def logical_or(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether one is nonzero."""

def logical_xor(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether exactly one is nonzero."""

def logit(input: Tensor, eps: _Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """log(input / (1 - input)); with eps, of input kept eps away from 0 and 1."""

def logit_(input: Tensor, eps: _Number | None = None) -> Tensor:
    """log(input / (1 - input)); with eps, of input kept eps away from 0 and 1."""

def logspace(
    start: Tensor | _Number,
    end: Tensor | _Number,
    steps: _int,
    base: _float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """`steps` numbers from base**start to base**end, evenly spaced in the exponent."""

def logsumexp(
    input: Tensor, dim: _Ints, keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """log(sum(exp(input))) along dimensions, without overflow."""

def lt(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """input < other."""

def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The solution of A @ X = B, given the LU factors of A."""

def masked_fill(
    input: Tensor, mask: Tensor, value: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """input with `value` where the mask holds."""

def masked_scatter(
    input: Tensor, mask: Tensor, source: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """The input with the elements of source, in order, where a mask holds."""

def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements where a mask holds, as one row."""

def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def matrix_exp(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The exponential of square matrices."""

def matrix_power(A: Tensor, n: _int) -> Tensor:
    """A multiplied by itself n times; of its inverse for a negative n."""

@overload
def max(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def max(
    input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Sequence[Tensor] | None = None
) -> return_types.max: ...
def max_pool1d(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    dilation: _Ints = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = False,
) -> Tensor:
    """The largest element of each window of 1 dimension(s)."""

def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    dilation: _Ints = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = True,
) -> tuple[Tensor, Tensor]:
    """The largest elements of windows and their places."""

def max_pool2d(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    dilation: _Ints = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = False,
) -> Tensor:
    """The largest element of each window of 2 dimension(s)."""

def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    dilation: _Ints = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = True,
) -> tuple[Tensor, Tensor]:
    """The largest elements of windows and their places."""

def max_pool3d(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    dilation: _Ints = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = False,
) -> Tensor:
    """The largest element of each window of 3 dimension(s)."""

def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    dilation: _Ints = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = True,
) -> tuple[Tensor, Tensor]:
    """The largest elements of windows and their places."""

def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The larger of two; NaN if one is NaN. Equal elements share the gradient."""

def mean(
    input: Tensor,
    dim: _Ints | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of all elements, or along dimensions."""

@overload
def median(input: Tensor) -> Tensor: ...
@overload
def median(
    input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Sequence[Tensor] | None = None
) -> return_types.median: ...
def meshgrid(
    *tensors: Tensor | Sequence[Tensor], indexing: _str | None = None
) -> tuple[Tensor, ...]:
    """The grid of several vectors: each expanded along the others' dimensions."""

@overload
def min(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def min(
    input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Sequence[Tensor] | None = None
) -> return_types.min: ...
def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smaller of two; NaN if one is NaN. Equal elements share the gradient."""

def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices."""

def mode(
    input: Tensor, dim: _int = -1, keepdim: _bool = False, *, out: Tensor | None = None
) -> return_types.mode:
    """The most frequent entry of a dimension, and where it was last."""

def moveaxis(input: Tensor, source: _Ints, destination: _Ints) -> Tensor:
    """`movedim` under NumPy's name."""

def movedim(input: Tensor, source: _Ints, destination: _Ints) -> Tensor:
    """Dimensions moved to other places, the rest in their order."""

def msort(input: Tensor) -> Tensor:
    """Sorted along the first dimension."""

def mul(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Multiply."""

def multinomial(
    input: Tensor,
    num_samples: _int,
    replacement: _bool = False,
    *,
    generator: _Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Indices drawn by the weights in each row."""

def multiply(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """Multiply."""

def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix and a vector."""

def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p."""

def nan_to_num(
    input: Tensor,
    nan: _float | None = None,
    posinf: _float | None = None,
    neginf: _float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """NaN replaced by `nan` (0), infinities by `posinf`, `neginf` (the largest finite numbers)."""

def nan_to_num_(
    self: Tensor,
    nan: _float | None = None,
    posinf: _float | None = None,
    neginf: _float | None = None,
) -> Tensor:
    """In-place version of `nan_to_num`."""

def nanmean(
    input: Tensor, dim: _Ints | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None
) -> Tensor:
    """`mean` of what is not NaN."""

@overload
def nanmedian(input: Tensor) -> Tensor: ...
@overload
def nanmedian(
    input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Sequence[Tensor] | None = None
) -> return_types.nanmedian: ...
def nanquantile(
    input: Tensor,
    q: Tensor | _Number,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    interpolation: _str = "linear",
) -> Tensor:
    """`quantile` with NaN left out."""

def nansum(
    input: Tensor,
    dim: _Ints | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """`sum` with NaN counted as zero."""

def narrow(input: Tensor, dim: _int, start: Tensor | _Number, length: _int) -> Tensor:
    """`length` entries of a dimension from `start` on."""

def native_layer_norm(
    input: Tensor, normalized_shape: _Ints, weight: Tensor | None, bias: Tensor | None, eps: _float
) -> tuple[Tensor, Tensor, Tensor]:
    """`layer_norm` with the means and one over the deviations."""

def ne(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether different, element by element."""

def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The negative."""

def neg_(input: Tensor) -> Tensor:
    """The negative."""

def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The negative."""

def negative_(input: Tensor) -> Tensor:
    """The negative."""

def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The next number after input towards other."""

def nonzero(input: Tensor, *, as_tuple: _bool = False, **out: Tensor) -> Any:
    """The indices of the elements that are not zero, one a row."""

def norm(
    input: Tensor,
    p: _str = "fro",
    dim: _Ints | None = None,
    keepdim: _bool = False,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
) -> Tensor:
    """The p-norm along dim ('fro', the default, is the 2-norm; 'nuc' is of matrices)."""

def norm_except_dim(v: Tensor, pow: _float = 2, dim: _int = 0) -> Tensor:
    """The p-norm over all dimensions but one, kept as 1; over all of them where dim is -1."""

def normal(
    mean: Tensor | _float,
    std: Tensor | _float = 1.0,
    size: _Ints | None = None,
    *,
    generator: _Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Normal numbers; mean and std are numbers (with a size) or tensors."""

def normal_(
    self: Tensor, mean: _float = 0.0, std: _float = 1.0, *, generator: _Generator | None = None
) -> Tensor:
    """Fill with numbers of a normal distribution."""

def not_equal(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether different, element by element."""

def numel(input: Tensor) -> _int:
    """The number of elements."""

def ones(
    *size: _Ints,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor of the given size filled with 1."""

def ones_like(
    input: Tensor,
    *,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    memory_format: _memory_format | None = None,
    pin_memory: _bool | None = False,
) -> Tensor:
    """A tensor of another's size and dtype filled with 1."""

def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The matrix of all products of the elements of two vectors."""

def pairwise_distance(
    x1: Tensor, x2: Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False
) -> Tensor:
    """The p-norms of x1 - x2 + eps along the last dimension."""

def pdist(input: Tensor, p: _float = 2.0) -> Tensor:
    """The distances of all pairs of rows."""

def permute(input: Tensor, *dims: _Ints, out: Tensor | None = None) -> Tensor:
    """The dimensions in the order given."""

def pinverse(input: Tensor, rcond: _float = 1e-15) -> Tensor:
    """The pseudo-inverse."""

def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor:
    """(..., channels * r * r, height, width) as (..., channels, height * r, width * r)."""

def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor:
    """The inverse of `pixel_shuffle`."""

def poisson(input: Tensor, generator: _Generator | None = None) -> Tensor:
    """Counts of a Poisson distribution with the rates that each element gives."""

def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex number of that absolute value and angle."""

def polygamma(n: _int, input: Tensor) -> Tensor:
    """The n-th derivative of digamma."""

def positive(input: Tensor) -> Tensor:
    """input itself."""

def pow(
    input: Tensor | _Number, exponent: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """input ** exponent."""

def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """input above 0, weight * input below; one weight, or one a channel (dimension 1)."""

def prod(
    input: Tensor,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The product of all elements, or along a dimension."""

def put(
    input: Tensor,
    index: Tensor,
    source: Tensor,
    accumulate: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The input with source written, or added, at an index into all of it, row by row."""

def qr(input: Tensor, some: _bool = True) -> return_types.qr:
    """`linalg.qr` in torch's older form."""

def quantile(
    input: Tensor,
    q: Tensor | _Number,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    interpolation: _str = "linear",
) -> Tensor:
    """The q-th quantiles, of all elements or along a dimension."""

def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Radians as degrees."""

def rad2deg_(input: Tensor) -> Tensor:
    """Radians as degrees."""

def rand(
    *size: _Ints,
    generator: _Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """A tensor of the given size with numbers drawn evenly from [0, 1)."""

def rand_like(
    input: Tensor,
    *,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    memory_format: _memory_format | None = None,
    pin_memory: _bool = False,
    generator: _Generator | None = None,
) -> Tensor:
    """A tensor of another's size and dtype with numbers drawn evenly from [0, 1)."""

def randint(
    low: Tensor | _Number = 0,
    high: Tensor | _Number | None = None,
    size: _Ints | None = None,
    *,
    generator: _Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """A tensor of integers drawn evenly from [low, high)."""

def randint_like(
    input: Tensor,
    low: Tensor | _Number = 0,
    high: Tensor | _Number | None = None,
    *,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    memory_format: _memory_format | None = None,
    pin_memory: _bool = False,
    generator: _Generator | None = None,
) -> Tensor:
    """A tensor of another's size with integers drawn evenly from [low, high)."""

def randn(
    *size: _Ints,
    generator: _Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """A tensor of the given size with numbers of the standard normal distribution."""

def randn_like(
    input: Tensor,
    *,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    memory_format: _memory_format | None = None,
    pin_memory: _bool = False,
    generator: _Generator | None = None,
) -> Tensor:
    """A tensor of another's size and dtype with numbers of the standard normal distribution."""

def random_(
    self: Tensor,
    from_: _int | None = None,
    to: _Number = ...,
    *,
    generator: _Generator | None = None,
) -> Tensor: ...
def randperm(
    n: _int,
    *,
    generator: _Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """The numbers 0 to n - 1 in random order."""

def range(
    start: _Number,
    end: _Number,
    step: _Number = 1,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """The numbers from `start` to `end`, which is included (deprecated: use `arange`)."""

def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension."""

def real(input: Tensor) -> Tensor:
    """The real part, as a view; a real tensor itself."""

def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / input."""

def reciprocal_(input: Tensor) -> Tensor:
    """1 / input."""

def relu(input: Tensor, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """max(input, 0)."""

def relu_(input: Tensor) -> Tensor:
    """max(input, 0)."""

def remainder(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """What is left of dividing; it has the sign of `other`."""

def renorm(
    input: Tensor, p: _Number, dim: _int, maxnorm: _Number, *, out: Tensor | None = None
) -> Tensor:
    """input with the p-norm of each slice along dim brought down to maxnorm."""

def repeat_interleave(
    input: Tensor,
    repeats: Tensor | _Ints | None = None,
    dim: _int | None = None,
    *,
    output_size: _Ints | None = None,
) -> Tensor:
    """Each entry repeated as often as `repeats` says; over all elements where dim is None."""

def reshape(input: Tensor, *size: _Ints, shape: _Ints | None = None) -> Tensor:
    """The same elements in another shape: a view where the strides allow it, else a copy."""

def resolve_conj(input: Tensor) -> Tensor:
    """A copy in which a conjugate is worked out; where nothing was put off, the tensor itself."""

def resolve_neg(input: Tensor) -> Tensor:
    """A copy in which a negative is worked out; where nothing was put off, the tensor itself."""

def result_type(tensor1: Tensor, tensor2: Tensor) -> _dtype:
    """The dtype of arithmetic between two tensors or numbers."""

def rms_norm(
    input: Tensor, normalized_shape: _Ints, weight: Tensor | None = None, eps: _float | None = None
) -> Tensor:
    """input over the root of the mean of its squares over the last dimensions, times weight."""

def roll(input: Tensor, shifts: _Ints, dims: _Ints = ()) -> Tensor:
    """Entries moved along dimensions; what falls off the end comes in at the beginning."""

def rot90(input: Tensor, k: _int = 1, dims: _Ints = (0, 1)) -> Tensor:
    """Turned by quarter turns in the plane of two dimensions (the first two)."""

def round(input: Tensor, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
    """To the nearest whole number, halves to the even one; or to `decimals` places."""

def round_(input: Tensor, *, decimals: _int = 0) -> Tensor:
    """To the nearest whole number, halves to the even one; or to `decimals` places."""

def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Joined row by row."""

def rrelu(
    input: Tensor,
    lower: _Number = 0.125,
    upper: _Number = 0.3333333333333333,
    training: _bool = False,
    inplace: _bool = False,
) -> Tensor:
    """`leaky_relu` with slopes drawn from [lower, upper]; their middle when not training."""

def rrelu_(
    input: Tensor,
    lower: _Number = 0.125,
    upper: _Number = 0.3333333333333333,
    training: _bool = False,
) -> Tensor:
    """In-place version of `rrelu`."""

def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / sqrt(input)."""

def rsqrt_(input: Tensor) -> Tensor:
    """1 / sqrt(input)."""

def rsub(
    input: Tensor, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None
) -> Tensor:
    """Subtract the other way round: other - alpha * input."""

def scatter(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Tensor | None = None,
    *,
    value: _Number | None = None,
    reduce: Any = None,
    **out: Tensor,
) -> Tensor: ...
def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor) -> Tensor: ...
def scatter_reduce(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Tensor,
    reduce: _str,
    *,
    include_self: _bool = True,
) -> Tensor: ...
def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    side: _str | None = None,
    sorter: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Where values would be inserted to keep each row of a sorted sequence sorted."""

def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """One entry of a dimension, without it."""

def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int) -> Tensor:
    """The input with src in the place of one entry of a dimension."""

def selu(input: Tensor, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """`elu`, scaled so that mean 0 and variance 1 are kept from layer to layer."""

def selu_(input: Tensor) -> Tensor:
    """`elu`, scaled so that mean 0 and variance 1 are kept from layer to layer."""

def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sign; of a complex number z / |z|."""

def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / (1 + exp(-input))."""

def sigmoid_(input: Tensor) -> Tensor:
    """1 / (1 + exp(-input))."""

def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1."""

def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the sign is minus, of -0.0 too."""

def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sine."""

def sin_(input: Tensor) -> Tensor:
    """The sine."""

def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(pi input) / (pi input), 1 at 0."""

def sinc_(input: Tensor) -> Tensor:
    """sin(pi input) / (pi input), 1 at 0."""

def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic sine."""

def sinh_(input: Tensor) -> Tensor:
    """The hyperbolic sine."""

def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: _int = 0,
    start: _int | None = None,
    end: _int | None = None,
    step: _int = 1,
) -> Tensor:
    """The input with src in the place of a slice."""

def slogdet(A: Tensor, *, out: Tensor | None = None) -> return_types.slogdet:
    """The sign and the logarithm of the absolute value of determinants."""

def softmax(
    input: Tensor, dim: _int, dtype: _dtype | None = None, *, out: Tensor | None = None
) -> Tensor:
    """exp(input), divided by its sum along dim."""

def sort(
    input: Tensor,
    dim: _int = -1,
    descending: _bool = False,
    stable: _bool | None = None,
    *,
    out: Tensor | None = None,
) -> return_types.sort:
    """The entries of a dimension in order, and where each was."""

def split(
    tensor: Tensor,
    split_size_or_sections: _Ints | None = None,
    dim: _int = 0,
    *,
    split_size: _Ints | None = None,
) -> tuple[Tensor, ...]:
    """Pieces along a dimension: of one size, or of the sizes given."""

def split_with_sizes(input: Tensor, split_sizes: _Ints, dim: _int = 0) -> tuple[Tensor, ...]:
    """Pieces of the given sizes along a dimension."""

def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The square root."""

def sqrt_(input: Tensor) -> Tensor:
    """The square root."""

def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input ** 2."""

def square_(input: Tensor) -> Tensor:
    """input ** 2."""

def squeeze(input: Tensor, dim: _Ints | None = None) -> Tensor:
    """Without dimensions of size 1: all of them, or those named."""

def stack(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors of one shape as the entries of a new dimension."""

def std(
    input: Tensor,
    dim: _Ints | None = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _Number | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The standard deviation, of all elements or along dimensions."""

def std_mean(
    input: Tensor,
    dim: _Ints | None = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _Number | None = None,
    out: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """(standard deviation, mean)."""

def sub(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """Subtract: input - alpha * other."""

def subtract(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """Subtract: input - alpha * other."""

def sum(
    input: Tensor,
    dim: _Ints | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The sum of all elements, or along dimensions."""

def svd(input: Tensor, some: _bool = True, compute_uv: _bool = True) -> return_types.svd:
    """`linalg.svd` in torch's older form: gives V, not Vh."""

def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor:
    """`transpose` under NumPy's name."""

def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """`transpose` under another name."""

def t(input: Tensor) -> Tensor:
    """A matrix's transpose; a vector or a number as it is."""

def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements at an index into all of the input, row by row."""

def take_along_dim(input: Tensor, indices: Any, dim: _int | None = None) -> Tensor:
    """gather with broadcasting: the elements of a dimension at indices, as argsort gives them."""

def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The tangent."""

def tan_(input: Tensor) -> Tensor:
    """The tangent."""

def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic tangent."""

def tanh_(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""

def tensor(
    data: Any,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """A new leaf tensor with a copy of `data`: numbers, nested lists, arrays or tensors."""

def tensor_split(
    input: Tensor, indices_or_sections: Tensor | _Ints | None = None, dim: _int = 0
) -> tuple[Tensor, ...]:
    """Pieces along a dimension: so many, sizes differing by at most one, or cut at the indices."""

def tensordot(a: Tensor, b: Tensor, dims: _Ints = 2) -> Tensor: ...
def threshold(
    input: Tensor,
    threshold: _Number,
    value: _Number,
    inplace: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input where it is above the threshold, else `value`."""

def threshold_(input: Tensor, threshold: _Number, value: _Number) -> Tensor:
    """input where it is above the threshold, else `value`."""

def tile(input: Tensor, *sizes: Any, dims: _Ints | None = None) -> Tensor:
    """`repeat` with missing leading counts taken as 1."""

def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor with another dtype or device; itself when nothing changes and copy is False."""

def topk(
    input: Tensor,
    k: _int,
    dim: _int = -1,
    largest: _bool = True,
    sorted: _bool = True,
    *,
    out: Tensor | None = None,
) -> return_types.topk:
    """The k largest (or smallest) entries of a dimension in order, and where each was."""

def trace(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of a matrix's diagonal."""

def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Two dimensions changed over."""

def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: _Number = 1.0, dim: _int = -1) -> Tensor:
    """The integral along a dimension by the trapezoidal rule."""

def trapz(y: Tensor, x: Tensor | None = None, *, dx: _Number = 1.0, dim: _int = -1) -> Tensor:
    """`trapezoid` under its older name."""

def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: _bool = True,
    transpose: _bool = False,
    unitriangular: _bool = False,
) -> return_types.triangular_solve:
    """`linalg.solve_triangular` in torch's older form."""

def tril(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The lower triangle, zeros elsewhere."""

def tril_indices(
    row: _int,
    col: _int,
    offset: _int = 0,
    *,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """The row and column numbers of a matrix's lower triangle, as a 2 x n tensor."""

def triu(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The upper triangle, zeros elsewhere."""

def triu_indices(
    row: _int,
    col: _int,
    offset: _int = 0,
    *,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """The row and column numbers of a matrix's upper triangle, as a 2 x n tensor."""

def true_divide(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    rounding_mode: _str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Divide; rounding_mode 'trunc' or 'floor' rounds the quotient."""

def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Rounded towards zero."""

def trunc_(input: Tensor) -> Tensor:
    """Rounded towards zero."""

def type_as(self: Tensor, other: Tensor | _Number) -> Tensor:
    """The tensor with another tensor's dtype."""

def typename(obj: Any) -> _str:
    """The name of an object's type, with the module it lives in."""

def unbind(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]:
    """The entries of a dimension, as a tuple."""

def unflatten(input: Tensor, dim: _int, sizes: Any) -> Tensor:
    """One dimension as several of the given sizes."""

def uniform_(
    self: Tensor, from_: _float = 0.0, to: _float = 1.0, *, generator: _Generator | None = None
) -> Tensor:
    """Fill with numbers drawn evenly from [from, to)."""

def unique(
    input: Tensor,
    sorted: _bool = True,
    return_inverse: _bool = False,
    return_counts: _bool = False,
    dim: _int | None = None,
) -> Any:
    """The distinct elements (or slices along dim) in order."""

def unique_consecutive(
    input: Tensor,
    return_inverse: _bool = False,
    return_counts: _bool = False,
    dim: _int | None = None,
) -> Any:
    """The elements (or slices along dim) without repeats of the one before."""

def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """With one more dimension of size 1, at position dim."""

def vander(x: Tensor, N: _int | None = None, increasing: _bool = False) -> Tensor: ...
def var(
    input: Tensor,
    dim: _Ints | None = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _Number | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The variance, of all elements or along dimensions."""

def var_mean(
    input: Tensor,
    dim: _Ints | None = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _Number | None = None,
    out: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """(variance, mean)."""

def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product of two vectors; the first is conjugated."""

def view_as_complex(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A real tensor whose last dimension has size 2 as a complex one."""

def view_as_real(input: Tensor) -> Tensor:
    """A complex tensor as a real one with a last dimension of size 2: real and imaginary parts."""

def vsplit(input: Tensor, indices_or_sections: Tensor | _Ints | None = None) -> tuple[Tensor, ...]:
    """`tensor_split` as numpy.vsplit does it."""

def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Joined row by row."""

@overload
def where(condition: Tensor) -> tuple[Tensor, Tensor]: ...
@overload
def where(
    condition: Tensor, input: Tensor, other: Tensor, *, out: Tensor | None = None
) -> Tensor: ...
@overload
def where(condition: Tensor, self: _Number, other: Tensor) -> Tensor: ...
@overload
def where(condition: Tensor, input: Tensor, other: _Number) -> Tensor: ...
@overload
def where(condition: Tensor, self: _Number, other: _Number) -> Tensor: ...
def xlogy(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """input * log(other), 0 where input is 0."""

def xlogy_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """input * log(other), 0 where input is 0."""

def zero_(input: Tensor) -> Tensor:
    """Zeros in the place of input."""

def zeros(
    *size: _Ints,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor of the given size filled with 0."""

def zeros_like(
    input: Tensor,
    *,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    memory_format: _memory_format | None = None,
    pin_memory: _bool | None = False,
) -> Tensor:
    """A tensor of another's size and dtype filled with 0."""
