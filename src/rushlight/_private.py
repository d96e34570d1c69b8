"""Private functions of `torch` that libraries call, in terms of the public ones."""

from __future__ import annotations

from collections.abc import Callable

from . import _root as rl
from ._root import Tensor


def _shape_as_tensor(input: Tensor) -> Tensor:
    """The shape, as a tensor of integers."""
    return rl.tensor(list(input.shape), dtype=rl.int64)


def _softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: rl.dtype
) -> Tensor:
    """The gradient of softmax's argument, from that of its result and the result."""
    weighted = grad_output * output
    return (weighted - output * weighted.sum(dim, keepdim=True)).to(input_dtype)


def _log_softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: rl.dtype
) -> Tensor:
    """The same of log_softmax."""
    total = grad_output.sum(dim, keepdim=True)
    return (grad_output - output.exp() * total).to(input_dtype)


def _cast(dtype: rl.dtype) -> Callable[[Tensor, bool], Tensor]:
    def cast(input: Tensor, non_blocking: bool = False) -> Tensor:
        return input.to(dtype, non_blocking=non_blocking)

    return cast


_cast_Byte, _cast_Char, _cast_Short = _cast(rl.uint8), _cast(rl.int8), _cast(rl.int16)
_cast_Int, _cast_Long = _cast(rl.int32), _cast(rl.int64)
_cast_Half, _cast_Float, _cast_Double = _cast(rl.float16), _cast(rl.float32), _cast(rl.float64)
