"""Private functions of `torch` that libraries call, in terms of the public ones."""

from __future__ import annotations

from collections.abc import Callable

from . import _root as rl
from ._root import Tensor


def _shape_as_tensor(input: Tensor) -> Tensor:
    """The shape, as a tensor of integers."""
    return rl.tensor(list(input.shape), dtype=rl.int64)


def _convert_indices_from_coo_to_csr(
    input: Tensor, size: int, *, out_int32: bool = False
) -> Tensor:
    """Where each of `size` rows begins in sorted row numbers, and their count at the end."""
    if input.dim() > 1:
        raise RuntimeError(
            f"Input is supposed to be a vector, but got {input.dim()} dimensional tensor."
        )
    starts = rl.searchsorted(input, rl.arange(size + 1, dtype=input.dtype))
    return starts.to(rl.int32 if out_int32 else rl.int64)


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """The (2, n) coordinates of a compressed matrix's elements, from its two lists."""
    rows = rl.arange(crow_indices.shape[-1] - 1).repeat_interleave(crow_indices.diff())
    pair = [col_indices.long(), rows] if transpose else [rows, col_indices.long()]
    return rl.stack(pair).to(rl.int32 if out_int32 else rl.int64)


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
