"""ops/making/: functions in torch. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import Any, TypeAlias, overload

from .._base.device import device as _device
from .._base.device import layout as _layout
from .._base.device import memory_format as _memory_format
from .._base.dtypes import dtype as _dtype
from .._core import Tensor
from ..ops.making.from_data import from_numpy as from_numpy
from ..ops.making.from_data import frombuffer as frombuffer

_Number: TypeAlias = _int | _float | _bool | _complex
_Ints: TypeAlias = _int | Sequence[_int]
_Device: TypeAlias = _device | _str | _int

def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A view of everything, in memory of its own."""

@overload
def arange(
    end: _Number,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """The numbers from `start` (0) up to, not including, `end`."""

@overload
def arange(
    start: _Number,
    end: _Number,
    *,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor: ...
@overload
def arange(
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
) -> Tensor: ...
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
def clone(input: Tensor, *, memory_format: _memory_format | None = None) -> Tensor:
    """A copy, which gradients flow through."""

def empty(
    *size: _Ints,
    out: Tensor | None = None,
    memory_format: _memory_format | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor of the given size whose elements are not set."""

def empty_like(
    input: Tensor,
    *,
    memory_format: _memory_format | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor of another's size and dtype whose elements are not set."""

def empty_permuted(
    size: Sequence[_int],
    physical_layout: Sequence[_int],
    *,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor: ...
def empty_strided(
    size: Sequence[_int],
    stride: Sequence[_int],
    *,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor of the given size and strides whose elements are not set."""

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

def full(
    size: Sequence[_int],
    fill_value: _Number,
    *,
    out: Tensor | None = None,
    names: Any = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor of the given size filled with one value."""

def full_like(
    input: Tensor,
    fill_value: _Number,
    *,
    memory_format: _memory_format | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor of another's size and dtype filled with one value."""

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
    memory_format: _memory_format | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor of another's size and dtype filled with 1."""

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

def scalar_tensor(
    s: _Number,
    *,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """A number as a tensor without dimensions, of the default dtype unless told."""

def tensor(
    data: Any,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """A new leaf tensor with a copy of `data`: numbers, nested lists, arrays or tensors."""

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
    memory_format: _memory_format | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _Device | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor of another's size and dtype filled with 0."""
