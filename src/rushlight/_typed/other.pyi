"""The functions in torch that stand in no room of ops/. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import int as _int

from .._core import Tensor
from .._dtypes import dtype as _dtype

def is_complex(input: Tensor) -> _bool:
    """Whether a tensor's dtype is complex."""

def is_floating_point(input: Tensor) -> _bool:
    """Whether a tensor's dtype is a real floating type."""

def numel(input: Tensor) -> _int:
    """The number of elements."""

def result_type(tensor1: Tensor, tensor2: Tensor) -> _dtype:
    """The dtype of arithmetic between two tensors or numbers."""
