"""Collectives that give their results, with gradients: each gradient is a collective too.

A function of several processes has the gradient of the sum of all processes' results, so the
backward pass of each collective is the one that carries values the other way.
"""

from __future__ import annotations

from typing import Any

from ... import _root as rl
from ..._base.errors import warn
from ..._base.missing import missing_name as _missing_name
from ..._core import Tensor
from ...autograd.function import Function
from .. import ReduceOp as ReduceOp
from .. import _collectives, get_rank, get_world_size
from .. import group as group
from .._collectives import all_gather_into_tensor
from .._functional_collectives import AllGather, AllReduce, AllToAll


def _deprecated(name: str, newer: str | None = None) -> None:
    warn(
        f"torch.distributed.nn.functional.{name} is deprecated, use "
        f"torch.distributed._functional_collectives.{newer or name} instead.",
        FutureWarning,
    )


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of rank `src`, on all; its gradient is the sum of theirs."""
    _deprecated("broadcast")
    return _tensor(_Broadcast.apply(src, group, tensor))


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all on rank `dst`; zeros on the others."""
    found: tuple[Tensor, ...] = _Gather.apply(dst, group, tensor)
    return found


def scatter(tensors: Any, src: int = 0, group: Any = None) -> Tensor:
    """The tensor at this rank's place in the list of rank `src`.

    The others' lists tell the shape, and get gradients of zeros.
    """
    return _tensor(_Scatter.apply(src, group, *tensors))


def reduce(tensor: Tensor, dst: int, op: object = ReduceOp.SUM, group: object = None) -> Tensor:
    """The reduction of all tensors on rank `dst`, whose gradient all get; elsewhere the tensor."""
    return _tensor(_Reduce.apply(dst, op, group, tensor))


def reduce_scatter(
    output: Tensor, input_list: Any, op: object = ReduceOp.SUM, group: Any = None
) -> Tensor:
    """The reduction of all tensors at this rank's place of the lists; output: the memory for it."""
    _deprecated("reduce_scatter", "reduce_scatter_single")
    return _tensor(_ReduceScatter.apply(op, group, output, *input_list))


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all; the gradient is the sum of those that all have for this rank's."""
    _deprecated("all_gather", "all_gather_single")
    found: tuple[Tensor, ...] = _AllGather.apply(group, tensor)
    return found


def _all_gather_base(output_tensor: Tensor, input_tensor: Tensor, group: object = None) -> Tensor:
    """The tensors of all in one; output_tensor: the memory for it."""
    return _tensor(AllGather.apply(input_tensor, group, output_tensor))


def all_to_all(
    output_tensor_list: object, input_tensor_list: Any, group: Any = None
) -> tuple[Tensor, ...]:
    """The tensors that all ranks have for this rank; output_tensor_list: the memory for them."""
    found: tuple[Tensor, ...] = _AllToAll.apply(group, output_tensor_list, *input_tensor_list)
    return found


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Any = None,
) -> Tensor:
    """The parts, along dimension 0, that each rank has for this one; output: the memory for it."""
    _deprecated("all_to_all_single")
    sizes = output_split_sizes, input_split_sizes
    return _tensor(AllToAll.apply(input, *sizes, group, output))


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: object = None) -> Tensor:
    """The reduction of all tensors, on all; the gradients are reduced in the same way."""
    _deprecated("all_reduce")
    return _tensor(AllReduce.apply(tensor, op, group, False))


def _tensor(found: Any) -> Tensor:
    result: Tensor = found
    return result


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        tensor = tensor.clone()
        _collectives.broadcast(tensor, src, group)
        return tensor

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        total = _Reduce.apply(ctx.src, ReduceOp.SUM, ctx.group, g)
        # Zeros that keep the graph of the reduction: its backward pass is a collective.
        return None, None, total if get_rank() == ctx.src else total.zero_()


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: Any, tensor: Tensor) -> tuple[Tensor, ...]:
        ctx.dst, ctx.group = dst, group
        tensor = tensor.contiguous()
        tensors = [rl.zeros_like(tensor) for _ in range(get_world_size(group))]
        _collectives.gather(tensor, tensors if get_rank() == dst else None, dst, group)
        return tuple(tensors)

    @staticmethod
    def backward(ctx: Any, *gs: Tensor) -> Any:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *gs)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        if not all(t.shape == tensors[0].shape for t in tensors):
            raise AssertionError
        output = rl.zeros_like(tensors[0])
        _collectives.scatter(output, list(tensors) if get_rank() == src else None, src, group)
        return output

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return None, None, *_Gather.apply(ctx.src, ctx.group, g)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: object, group: Any, tensor: Tensor) -> Tensor:
        ctx.dst, ctx.group = dst, group
        tensor = tensor.clone()
        _collectives.reduce(tensor, dst, op, group)
        return tensor

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, g)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: object, group: Any, output: Tensor, *tensors: Tensor) -> Tensor:
        ctx.group = group
        output = output.contiguous()
        _collectives.reduce_scatter(output, [t.contiguous() for t in tensors], op, group)
        return output

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return None, None, None, *_AllGather.apply(ctx.group, g)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Tensor) -> tuple[Tensor, ...]:
        ctx.group = group
        whole = rl.empty(
            get_world_size(group), *tensor.shape, dtype=tensor.dtype, device=tensor.device
        )
        all_gather_into_tensor(whole, tensor, group)
        return tuple(part.clone() for part in whole)

    @staticmethod
    def backward(ctx: Any, *gs: Tensor) -> Any:
        output = rl.empty_like(gs[0], memory_format=rl.contiguous_format)
        return None, _ReduceScatter.apply(ReduceOp.SUM, ctx.group, output, *gs)


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, outputs: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.group, ctx.shapes = group, [t.shape for t in tensors]
        _collectives.all_to_all(outputs, list(tensors), group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *gs: Tensor) -> Any:
        outputs = [gs[0].new_empty(shape) for shape in ctx.shapes]
        return None, None, *_AllToAll.apply(ctx.group, outputs, *gs)


__getattr__ = _missing_name(__name__)
