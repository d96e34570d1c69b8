"""torch's root namespace without the rooms built on it. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from typing import Any

from . import autograd as autograd
from . import ops as ops
from . import random as random
from ._base.device import device as device
from ._base.device import get_default_device as get_default_device
from ._base.device import layout as _layout
from ._base.device import layout as layout
from ._base.device import memory_format as _memory_format
from ._base.device import memory_format as memory_format
from ._base.device import set_default_device as set_default_device
from ._base.dtypes import can_cast as can_cast
from ._base.dtypes import dtype as _dtype
from ._base.dtypes import dtype as dtype
from ._base.dtypes import finfo as finfo
from ._base.dtypes import get_default_dtype as get_default_dtype
from ._base.dtypes import iinfo as iinfo
from ._base.dtypes import promote_types as promote_types
from ._base.errors import AcceleratorError as AcceleratorError
from ._base.errors import OutOfMemoryError as OutOfMemoryError
from ._base.size import Size as Size
from ._core import Tensor as Tensor
from ._core import UntypedStorage as UntypedStorage
from ._devices.generator import Generator as Generator
from ._devices.generator import Generator as _Generator
from ._typed.elementwise import *  # noqa: F403
from ._typed.indexing import *  # noqa: F403
from ._typed.layers import *  # noqa: F403
from ._typed.layout import *  # noqa: F403
from ._typed.making import *  # noqa: F403
from ._typed.matrix import *  # noqa: F403
from ._typed.other import *  # noqa: F403
from ._typed.random import *  # noqa: F403
from ._typed.reduction import *  # noqa: F403
from ._typed.spectral import *  # noqa: F403
from .autograd import enable_grad as enable_grad
from .autograd import inference_mode as inference_mode
from .autograd import no_grad as no_grad
from .autograd import set_grad_enabled as set_grad_enabled
from .random import get_rng_state as get_rng_state
from .random import initial_seed as initial_seed
from .random import manual_seed as manual_seed
from .random import seed as seed
from .random import set_rng_state as set_rng_state

BFloat16Tensor: Any
BoolTensor: Any
ByteTensor: Any
CharTensor: Any
DoubleTensor: Any
FloatTensor: Any
HalfTensor: Any
IntTensor: Any
LongTensor: Any
ShortTensor: Any
bfloat16: _dtype
bit: _dtype
bits16: _dtype
bits1x8: _dtype
bits2x4: _dtype
bits4x2: _dtype
bits8: _dtype
bool: _dtype
cdouble: _dtype
cfloat: _dtype
chalf: _dtype
channels_last: _memory_format
channels_last_3d: _memory_format
complex128: _dtype
complex32: _dtype
complex64: _dtype
contiguous_format: _memory_format
default_generator: _Generator
double: _dtype
e: _float
float: _dtype
float16: _dtype
float32: _dtype
float4_e2m1fn_x2: _dtype
float64: _dtype
float8_e4m3fn: _dtype
float8_e4m3fnuz: _dtype
float8_e5m2: _dtype
float8_e5m2fnuz: _dtype
float8_e8m0fnu: _dtype
half: _dtype
inf: _float
int: _dtype
int1: _dtype
int16: _dtype
int2: _dtype
int3: _dtype
int32: _dtype
int4: _dtype
int5: _dtype
int6: _dtype
int64: _dtype
int7: _dtype
int8: _dtype
legacy_contiguous_format: _memory_format
long: _dtype
nan: _float
newaxis: None
pi: _float
preserve_format: _memory_format
qint32: _dtype
qint8: _dtype
quint2x4: _dtype
quint4x2: _dtype
quint8: _dtype
short: _dtype
sparse_bsc: _layout
sparse_bsr: _layout
sparse_coo: _layout
sparse_csc: _layout
sparse_csr: _layout
strided: _layout
uint1: _dtype
uint16: _dtype
uint2: _dtype
uint3: _dtype
uint32: _dtype
uint4: _dtype
uint5: _dtype
uint6: _dtype
uint64: _dtype
uint7: _dtype
uint8: _dtype
_nn: Any

def __getattr__(name: _str) -> Any: ...
def are_deterministic_algorithms_enabled() -> _bool:
    """The setting of `use_deterministic_algorithms`; every kernel here is deterministic anyway."""

def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: _bool | None = None) -> Tensor:
    """A tensor on the memory of another library's array, or of a DLPack capsule."""

def get_deterministic_debug_mode() -> Any:
    """The setting of `set_deterministic_debug_mode`, as a number."""

def get_float32_matmul_precision() -> _str:
    """As it was set; 'highest' at first."""

def get_num_interop_threads() -> _int:
    """The number that `set_num_interop_threads` was given, at the start that of the processors."""

def get_num_threads() -> _int:
    """How many threads long kernels may use."""

def is_deterministic_algorithms_warn_only_enabled() -> _bool:
    """Whether `use_deterministic_algorithms` was told to warn only."""

def is_grad_enabled() -> _bool:
    """Whether ops on this thread are recorded."""

def is_inference_mode_enabled() -> _bool:
    """Whether this thread is in inference mode."""

def is_storage(obj: Any) -> _bool:
    """Whether an object is a storage."""

def is_tensor(obj: Any) -> _bool:
    """Whether an object is a tensor."""

def is_warn_always_enabled() -> _bool:
    """The setting of `set_warn_always`."""

def set_default_dtype(d: _dtype) -> None:
    """Set the dtype that Python floats become."""

def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype by a legacy tensor type (deprecated)."""

def set_deterministic_debug_mode(debug_mode: Any) -> None: ...
def set_float32_matmul_precision(precision: _str) -> None: ...
def set_flush_denormal(mode: _bool) -> _bool:
    """False: numbers too small for full precision are kept here."""

def set_num_interop_threads(n: _int) -> None: ...
def set_num_threads(n: _int) -> None:
    """How many threads long kernels may use."""

def set_printoptions(
    precision: _int | None = None,
    threshold: _float | None = None,
    edgeitems: _int | None = None,
    linewidth: _float | None = None,
    profile: _str | None = None,
    sci_mode: _bool | None = None,
) -> None:
    """Changes how tensors are printed; what is left out stays as it is, but for `sci_mode`."""

def set_warn_always(b: _bool) -> None:
    """Whether warnings that are given once come each time."""

def to_dlpack(tensor: Any) -> Tensor: ...
def typename(obj: Any) -> _str:
    """The name of an object's type, with the module it lives in."""

def use_deterministic_algorithms(mode: _bool, *, warn_only: _bool = False) -> None:
    """Refuse what PyTorch calls not deterministic, and fill the memory of `torch.empty`."""
