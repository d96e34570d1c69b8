"""ops/layers/: methods of Tensor. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from typing import TypeAlias

from .._base.dtypes import dtype as _dtype
from .._core import Tensor

_Number: TypeAlias = _int | _float | _bool | _complex

class LayersMethods:
    def hardshrink(self, lambd: _Number = 0.5) -> Tensor: ...
    def log_softmax(self, dim: _int, dtype: _dtype | None = None) -> Tensor: ...
    def prelu(self, weight: Tensor) -> Tensor: ...
    def relu(self, inplace: _bool = False) -> Tensor: ...
    def relu_(self) -> Tensor: ...
    def softmax(self, dim: _int, dtype: _dtype | None = None) -> Tensor: ...
