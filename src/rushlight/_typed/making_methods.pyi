"""ops/making/: methods of Tensor. Written by tools/public_stub.py."""

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

_Number: TypeAlias = _int | _float | _bool | _complex
_Ints: TypeAlias = _int | Sequence[_int]
_Device: TypeAlias = _device | _str | _int

class MakingMethods:
    def bfloat16(self, *, memory_format: _memory_format | None = None) -> Tensor: ...
    def bool(self, *, memory_format: _memory_format | None = None) -> Tensor: ...
    def byte(self, *, memory_format: _memory_format | None = None) -> Tensor: ...
    def cdouble(self, *, memory_format: _memory_format | None = None) -> Tensor: ...
    def cfloat(self, *, memory_format: _memory_format | None = None) -> Tensor: ...
    def chalf(self, *, memory_format: _memory_format | None = None) -> Tensor: ...
    def char(self, *, memory_format: _memory_format | None = None) -> Tensor: ...
    def clone(self, *, memory_format: _memory_format | None = None) -> Tensor: ...
    def contiguous(self, *, memory_format: _memory_format = ...) -> Tensor: ...
    def double(self, *, memory_format: _memory_format | None = None) -> Tensor: ...
    def float(self, *, memory_format: _memory_format | None = None) -> Tensor: ...
    def half(self, *, memory_format: _memory_format | None = None) -> Tensor: ...
    def int(self, *, memory_format: _memory_format | None = None) -> Tensor: ...
    def long(self, *, memory_format: _memory_format | None = None) -> Tensor: ...
    def new_empty(
        self,
        *size: _Ints,
        dtype: _dtype | None = None,
        layout: _layout | None = None,
        device: _Device | None = None,
        pin_memory: _bool | None = False,
        requires_grad: _bool = False,
    ) -> Tensor: ...
    def new_full(
        self,
        size: Sequence[_int],
        fill_value: _Number,
        *,
        dtype: _dtype | None = None,
        layout: _layout | None = None,
        device: _Device | None = None,
        pin_memory: _bool | None = False,
        requires_grad: _bool = False,
    ) -> Tensor: ...
    def new_ones(
        self,
        *size: _Ints,
        dtype: _dtype | None = None,
        layout: _layout | None = None,
        device: _Device | None = None,
        pin_memory: _bool | None = False,
        requires_grad: _bool = False,
    ) -> Tensor: ...
    def new_tensor(
        self,
        data: Any,
        *,
        dtype: _dtype | None = None,
        device: _Device | None = None,
        requires_grad: _bool = False,
    ) -> Tensor: ...
    def new_zeros(
        self,
        *size: _Ints,
        dtype: _dtype | None = None,
        layout: _layout | None = None,
        device: _Device | None = None,
        pin_memory: _bool | None = False,
        requires_grad: _bool = False,
    ) -> Tensor: ...
    def short(self, *, memory_format: _memory_format | None = None) -> Tensor: ...
    @overload
    def to(
        self,
        device: _Device | None = None,
        dtype: _dtype | None = None,
        non_blocking: _bool = False,
        copy: _bool = False,
        *,
        memory_format: _memory_format | None = None,
    ) -> Tensor: ...
    @overload
    def to(
        self,
        dtype: _dtype,
        non_blocking: _bool = False,
        copy: _bool = False,
        *,
        memory_format: _memory_format | None = None,
    ) -> Tensor: ...
    @overload
    def to(
        self,
        tensor: Tensor,
        non_blocking: _bool = False,
        copy: _bool = False,
        *,
        memory_format: _memory_format | None = None,
    ) -> Tensor: ...
    def type_as(self, other: Tensor) -> Tensor: ...
