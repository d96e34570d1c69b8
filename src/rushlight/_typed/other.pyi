"""The functions in torch that stand in no room of ops/. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any, TypeAlias, overload

from .._base.dtypes import dtype as _dtype
from .._core import Tensor

_Number: TypeAlias = _int | _float | _bool | _complex

def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor: ...
def as_strided_(
    input: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None
) -> Tensor: ...
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Vectors as columns, joined with matrices."""

def dequantize(tensor: Any) -> Tensor:
    """A tensor as float32: it is not quantized. Of several tensors all must be."""

def detach(input: Tensor) -> Tensor:
    """The tensor without its history, in the same memory."""

def detach_(input: Tensor) -> Tensor: ...
@overload
def dsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]:
    """`tensor_split` as numpy.dsplit does it."""

@overload
def dsplit(input: Tensor, indices: Sequence[_int]) -> tuple[Tensor, ...]: ...
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Joined along the third dimension."""

def get_device(input: Tensor) -> _int:
    """The number of a tensor's GPU; -1 in main memory."""

@overload
def hsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]:
    """`tensor_split` as numpy.hsplit does it."""

@overload
def hsplit(input: Tensor, indices: Sequence[_int]) -> tuple[Tensor, ...]: ...
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Joined column by column (vectors end to end)."""

def is_complex(input: Tensor) -> _bool:
    """Whether a tensor's dtype is complex."""

def is_distributed(input: Tensor) -> _bool:
    """Whether a tensor is spread over machines: never."""

def is_floating_point(input: Tensor) -> _bool:
    """Whether a tensor's dtype is a real floating type."""

def is_same_size(input: Tensor, other: Tensor) -> _bool:
    """Whether two tensors have the same shape."""

def is_signed(input: Tensor) -> _bool:
    """Whether a tensor's dtype has negative numbers."""

def numel(input: Tensor) -> _int:
    """The number of elements."""

def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor: ...
@overload
def result_type(tensor: Tensor, other: Tensor) -> _dtype:
    """The dtype of arithmetic between two tensors or numbers."""

@overload
def result_type(scalar: _Number, tensor: Tensor) -> _dtype: ...
@overload
def result_type(tensor: Tensor, other: _Number) -> _dtype: ...
@overload
def result_type(scalar1: _Number, scalar2: _Number) -> _dtype: ...
def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Joined row by row."""

@overload
def vsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]:
    """`tensor_split` as numpy.vsplit does it."""

@overload
def vsplit(input: Tensor, indices: Sequence[_int]) -> tuple[Tensor, ...]: ...
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Joined row by row."""
