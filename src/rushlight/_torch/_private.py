"""Private functions of `torch` that libraries call, and of `torch.ops.aten`, in terms of the
public ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .. import _root as rl
from .._root import Tensor
from ..ops.layers.interpolation import resampled
from ..ops.layers.pooling import pool_scatter
from ..ops.table.arrays import dim_in


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


def _scaled_mm(
    input: Tensor,
    mat2: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Tensor | None = None,
    scale_result: Tensor | None = None,
    out_dtype: rl.dtype | None = None,
    use_fast_accum: bool = False,
) -> Tensor:
    """The product of float8 matrices times their scales, one each or one of each row and column."""
    for m, name in ((input, "mat_a"), (mat2, "mat_b")):
        if m.dim() != 2:
            raise RuntimeError(f"{name} must be a matrix, but has {m.dim()} dimensions")
    (rows, inner), (have, columns) = input.shape, mat2.shape
    if inner != have:
        raise RuntimeError(
            f"mat_a and mat_b shapes cannot be multiplied ({rows}x{inner} and {have}x{columns})"
        )
    of_all = scale_a.numel() == scale_b.numel() == 1
    of_rows = (tuple(scale_a.shape), tuple(scale_b.shape)) == ((rows, 1), (1, columns))
    eights = (rl.float8_e4m3fn, rl.float8_e5m2)
    float8 = input.dtype in eights and mat2.dtype in eights
    if not float8 or {scale_a.dtype, scale_b.dtype} != {rl.float32} or not (of_all or of_rows):
        raise ValueError(
            "Invalid scaling configuration. The matrices must be float8, and the scales float32: "
            f"one for each matrix, or of the sizes ({rows}, 1) and (1, {columns})."
        )
    if of_all:
        scale_a, scale_b = scale_a.reshape(()), scale_b.reshape(())
    result = input.float().mm(mat2.float()) * scale_a * scale_b
    if bias is not None:
        result = result + bias.float()
    wanted = input.dtype if out_dtype is None else out_dtype
    if wanted in eights:  # the largest number for what is larger
        result = result.clamp(-rl.finfo(wanted).max, rl.finfo(wanted).max)
    return result.to(wanted)


def _cast(dtype: rl.dtype) -> Callable[[Tensor, bool], Tensor]:
    def cast(input: Tensor, non_blocking: bool = False) -> Tensor:
        return input.to(dtype, non_blocking=non_blocking)

    return cast


_cast_Byte, _cast_Char, _cast_Short = _cast(rl.uint8), _cast(rl.int8), _cast(rl.int16)
_cast_Int, _cast_Long = _cast(rl.int32), _cast(rl.int64)
_cast_Half, _cast_Float, _cast_Double = _cast(rl.float16), _cast(rl.float32), _cast(rl.float64)


def _chunk_cat(tensors: Sequence[Tensor], dim: int, num_chunks: int) -> Tensor:
    """Each tensor cut along a dimension into chunks of one size (zeros at the end fill the last),
    and the flattened chunks of the same number side by side."""
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if num_chunks < 1:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    first = tensors[0]
    dim = dim_in(dim, first.ndim)
    rows = []
    for tensor in tensors:
        if tensor.dtype is not first.dtype:
            raise RuntimeError("_chunk_cat expects all input tensors with the same dtype")
        if not tensor.numel():
            raise RuntimeError("_chunk_cat expects non-empty tensor")
        if tensor.ndim <= dim or tensor.shape[:dim] != first.shape[:dim]:
            raise RuntimeError(
                "_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors"
            )
        lead, (size, *rest) = tensor.shape[:dim], tensor.shape[dim:]
        missing = -size % num_chunks
        if missing:
            tensor = rl.cat([tensor, tensor.new_zeros(*lead, missing, *rest)], dim)
        each = (size + missing) // num_chunks * math.prod(rest)
        rows.append(tensor.reshape(*lead, num_chunks, each))
    return rl.cat(rows, dim + 1)


def _clamped(input: Tensor, indices: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """An index of the nearest places that the tensor has."""
    found = []
    for i, index in enumerate(indices):
        if not isinstance(index, Tensor):
            got = type(index).__name__
            raise TypeError(f"expected Tensor as element {i} in argument 2, but got {got}")
        if index.dtype not in (rl.int64, rl.int32):
            kind = index.dtype.scalar_name
            raise RuntimeError(f"_unsafe_masked_index found unexpected index type {kind}")
        size = input.shape[i]
        found.append(index.long().clamp(-size, size - 1))
    return tuple(found)


def _unsafe_masked_index(
    input: Tensor, mask: Tensor, indices: Sequence[Tensor], fill: complex
) -> Tensor:
    """input[indices] where the mask is true, else `fill`; indices may lie outside there."""
    taken = input[_clamped(input, indices)]
    return taken.masked_fill(mask.logical_not(), fill)


def _unsafe_masked_index_put_accumulate(
    input: Tensor, mask: Tensor, indices: Sequence[Tensor], values: Tensor
) -> Tensor:
    """The tensor with the values added at input[indices] where the mask is true."""
    place = _clamped(input, indices)
    kept = values.masked_fill(mask.logical_not(), 0)
    return rl.index_put(input, place, kept, accumulate=True)


def _safe_softmax(input: Tensor, dim: int, dtype: rl.dtype | None = None) -> Tensor:
    """`softmax`, with zeros where all of a row is -inf."""
    if not input.is_floating_point():
        return rl.softmax(input, dim, dtype)
    empty = (input == -math.inf).all(dim, keepdim=True)
    return rl.softmax(input.masked_fill(empty, 0), dim, dtype).masked_fill(empty, 0)


def _native_batch_norm_legit(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, *rest: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """`native_batch_norm`; the running statistics, if it has any, stand before `training`."""
    if len(rest) == 3:
        rest = (None, None, *rest)
    return rl.native_batch_norm(input, weight, bias, *rest)


# Functions of torch.ops.aten alone.


def _batch_norm(training: bool) -> Callable[..., tuple[Tensor, ...]]:
    def batch_norm(
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        momentum: float,
        eps: float,
    ) -> tuple[Tensor, ...]:
        parts = weight, bias, running_mean, running_var, training, momentum, eps
        kept = rl.empty(0, dtype=rl.uint8)  # what other devices keep for the gradient
        return *rl.native_batch_norm(input, *parts), kept

    return batch_norm


def _native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    """The gradient of the argument of a dropout."""
    return grad_output * mask.to(grad_output.dtype) * scale


def _slice(
    input: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """input[..., start:end:step] in a dimension, as a view."""
    if not input.ndim:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    at = dim_in(dim, input.ndim)
    if step < 1:
        raise RuntimeError("slice step must be positive")
    return input[(*[slice(None)] * at, slice(start, end, step))]


def _max_pool2d_with_indices_backward(
    grad_output: Tensor,
    input: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    indices: Tensor,
) -> Tensor:
    """The gradient of the planes that a pooling took the largest elements of."""
    if indices.dtype is not rl.int64:
        raise RuntimeError(f"expected scalar type Long but found {indices.dtype.scalar_name}")
    for part in (grad_output, indices):
        if part.shape != grad_output.shape or part.shape[:-2] != input.shape[:-2]:
            raise RuntimeError(
                f"Expected indices and gradients of one shape for planes of {tuple(input.shape)}, "
                f"but got {tuple(indices.shape)} and {tuple(grad_output.shape)}"
            )
    size = input.shape[-1] * input.shape[-2]
    if indices.numel() and not bool(((indices >= 0) & (indices < size)).all()):
        raise RuntimeError(f"an index lies outside the plane of {size} elements")
    result = pool_scatter(grad_output, indices, tuple(input.shape), 2)
    if input.requires_grad:  # its gradient is zero, and not none
        return rl.where(rl.tensor(False), input, result)
    return result


def _upsample(mode: str) -> Callable[..., Tensor]:
    def upsample(
        input: Tensor,
        output_size: Sequence[int] | None,
        align_corners: bool,
        scales_h: float | Sequence[float] | None = None,
        scales_w: float | None = None,
        *,
        scale_factors: Sequence[float] | None = None,
    ) -> Tensor:
        if isinstance(scales_h, (tuple, list)):
            scale_factors = scales_h
        factors: Any = scale_factors or (scales_h, scales_w)
        if output_size is None:
            if scale_factors is None:
                raise RuntimeError("Must specify exactly one of output_size and scale_factors")
            output_size = [
                int(size * by) for size, by in zip(input.shape[2:], scale_factors, strict=True)
            ]
        return resampled(input, mode, output_size, factors, align_corners, True)

    return upsample


def _index(input: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """input[indices], where None takes all of a dimension."""
    return input[tuple(slice(None) if i is None else i for i in indices)]


def _to_copy(input: Tensor, **how: Any) -> Tensor:
    """A copy of another type, or elsewhere."""
    return input.to(how.get("device"), how.get("dtype"), copy=True)


_ATEN: dict[str, Callable[..., object]] = {
    "_local_scalar_dense": lambda input: input.item(),
    "_pin_memory": lambda input, device=None: input.pin_memory(),
    "_to_copy": _to_copy,
    "index": _index,
    "_batch_norm_no_update": _batch_norm(False),
    "_batch_norm_with_update": _batch_norm(True),
    "_upsample_bicubic2d_aa": _upsample("bicubic"),
    "_upsample_bilinear2d_aa": _upsample("bilinear"),
    "max_pool2d_with_indices_backward": _max_pool2d_with_indices_backward,
    "native_dropout_backward": _native_dropout_backward,
    "slice": _slice,
}


_TORCH = (
    "_chunk_cat",
    "_log_softmax_backward_data",
    "_native_batch_norm_legit",
    "_safe_softmax",
    "_shape_as_tensor",
    "_softmax_backward_data",
    "_unsafe_masked_index",
    "_unsafe_masked_index_put_accumulate",
)


def of_aten(name: str) -> Callable[..., Any] | None:
    """The function of this name in `torch.ops.aten` that has no public name."""
    found: Callable[..., Any] | None = globals()[name] if name in _TORCH else _ATEN.get(name)
    return found


# Conditions that raise an error of a kind, with a message made late.

Message = Callable[[], str] | None
_UNSAID = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please "
    "report an enhancement request to PyTorch.)"
)


def _fail(error: type[Exception], message: Message) -> None:
    if message is None:
        raise error(_UNSAID)
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error(str(message()))


def _check_with(error_type: type[Exception], cond: bool, message: Message) -> None:
    """Raise an error of that type unless a condition holds; `message` gives its text."""
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if not cond:
        _fail(error_type, message)


def _checking(error: type[Exception], name: str) -> Callable[..., None]:
    """The check that raises this kind of error."""

    def check(cond: bool, message: Message = None) -> None:
        _check_with(error, cond, message)

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"Raise {error.__name__} unless a condition holds; `message` gives its text."
    return check


_check = _checking(RuntimeError, "_check")
_check_index = _checking(IndexError, "_check_index")
_check_value = _checking(ValueError, "_check_value")
_check_type = _checking(TypeError, "_check_type")
_check_not_implemented = _checking(NotImplementedError, "_check_not_implemented")


def _check_is_size(i: int, message: Message = None, *, max: int | None = None) -> None:
    """Raise RuntimeError unless a number is at least 0, and at most `max`."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(
    error_type: type[Exception], cond: Tensor, message: Message = None
) -> None:
    """Raise an error of that type unless every element of a tensor of booleans is True."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype != rl.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all().item()), message)


def _check_tensor_all(cond: Tensor, message: Message = None) -> None:
    """Raise RuntimeError unless every element of a tensor of booleans is True."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _assert_async(input: Tensor, assert_msg: str = "") -> None:
    """Raise RuntimeError where a tensor of one element is zero."""
    if not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _assert(condition: object, message: object) -> object:
    """AssertionError with the message unless the condition holds; over traced values, a call."""
    if not isinstance(condition, Tensor) and _core.has_torch_function_unary(condition):
        return _core.handle_torch_function(_assert, (condition,), (condition, message), {})
    assert condition, message
    return None


_assert.__module__ = "rushlight"
