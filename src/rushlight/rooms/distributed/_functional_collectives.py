"""Collectives that leave their input as it is and give a new tensor, with gradients.

The result is there when a call returns: `wait_tensor` gives its tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _root as rl
from .._base.errors import warn
from .._base.missing import missing_name as _missing_name
from .._core import Tensor
from ..autograd.function import Function
from . import _collectives, _groups
from ._groups import ProcessGroup
from ._options import RedOpType, ReduceOp


class AsyncCollectiveTensor(Tensor):
    """A result that is not there yet: no tensor is one here."""


# ---- which group is meant, which reduction


def _resolve_group(group: object, tag: str = "") -> ProcessGroup:
    """A group of: itself, its name, a mesh of one dimension, (mesh, dimension), or its ranks."""
    from .device_mesh import DeviceMesh

    if isinstance(group, ProcessGroup):
        return _groups.member(group)
    if isinstance(group, str):
        found = _first(lambda other: other.group_name == group)
        if found is None:
            raise RuntimeError(
                f"Could not resolve the process group registered under the name {group!r}"
            )
        return found
    if isinstance(group, DeviceMesh):
        if group.ndim != 1:
            raise AssertionError(
                "Only 1D mesh is supported, pass in (DeviceMesh, int) together if mesh > 1D"
            )
        return _groups.member(group.get_group(0))
    if isinstance(group, tuple):
        if len(group) != 2 or not isinstance(group[0], DeviceMesh) or not isinstance(group[1], int):
            kinds = tuple(type(part) for part in group)
            raise ValueError(
                f"Invalid tuple for group must be (DeviceMesh, int). Instead got {kinds}"
            )
        return _groups.member(group[0].get_group(group[1]))
    if isinstance(group, list):
        warn(
            "The combination of ranks + tag as process group identifier has been deprecated. "
            "Please switch to using ProcessGroup, DeviceMesh, or group name instead.",
            FutureWarning,
        )
        found = _first(lambda other: other._ranks == group)
        if found is None:
            raise ValueError(
                f"No process group of this process has the ranks {group}: make it with new_group."
            )
        return found
    raise ValueError(f"Unsupported group type: {type(group)}, {group}")


def _first(fits: Callable[[ProcessGroup], bool]) -> ProcessGroup | None:
    return next(filter(fits, _groups._World.groups), None)


def _reduction(name: str) -> RedOpType:
    """The reduction of a name such as "sum"."""
    found = RedOpType.__members__.get(name.upper())
    if found is None or found == RedOpType.PREMUL_SUM:
        raise RuntimeError(f"Unrecognized reduce_op: {name}")
    return found


def _check_sum(collective: str, op: RedOpType) -> None:
    """Other reductions than sums have no gradient here."""
    if op != RedOpType.SUM:
        raise RuntimeError(
            f"{collective} backward only supports 'sum' reduction, got '{op.name.lower()}'"
        )


# ---- the collectives and their backward passes


class AllReduce(Function):
    """sums: whether only sums have a gradient."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, op: object, group: Any, sums: bool = True) -> Tensor:
        ctx.op, ctx.group, ctx.sums = op, group, sums
        found = tensor.clone(memory_format=rl.contiguous_format)
        _collectives.all_reduce(found, op, group)
        return found

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        if ctx.sums:
            _check_sum("all_reduce", ctx.op)
        return AllReduce.apply(g, ctx.op, ctx.group, ctx.sums), None, None, None


class AllGather(Function):
    """found: the memory for the result."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, group: Any, found: Tensor | None = None) -> Tensor:
        ctx.group, ctx.shape = group, tensor.shape
        if found is None:
            rows = tensor.shape[0] if tensor.dim() else 1
            found = tensor.new_empty([rows * _groups.get_world_size(group), *tensor.shape[1:]])
        _collectives.all_gather_into_tensor(found, tensor, group)
        return found

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        part = _ReduceScatter.apply(g, ReduceOp.SUM, ctx.group, g.new_empty(ctx.shape))
        return part, None, None


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, op: RedOpType, group: Any, found: Tensor) -> Tensor:
        ctx.op, ctx.group, ctx.shape = op, group, tensor.shape
        _collectives.reduce_scatter_tensor(found, tensor, op, group)
        return found

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        _check_sum("reduce_scatter_tensor", ctx.op)
        return AllGather.apply(g, ctx.group, g.new_empty(ctx.shape)), None, None, None


class AllToAll(Function):
    """found: the memory for the result; outputs, inputs: the sizes of the parts."""

    @staticmethod
    def forward(
        ctx: Any, tensor: Tensor, outputs: Any, inputs: Any, group: Any, found: Tensor
    ) -> Tensor:
        ctx.sizes, ctx.group, ctx.shape = (inputs, outputs), group, tensor.shape
        _collectives.all_to_all_single(found, tensor, outputs, inputs, group)
        return found

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        back = AllToAll.apply(g, *ctx.sizes, ctx.group, g.new_empty(ctx.shape))
        return back, None, None, None, None


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor: it is there."""
    return tensor


def broadcast(self: Tensor, src: int, group: object, tag: str = "") -> Tensor:
    """The tensor of rank `src`, on all.

    Its gradient is that of a copy, as in PyTorch: each rank's stays its own.
    `torch.distributed.nn.broadcast` adds them up.
    """
    found = self.clone(memory_format=rl.contiguous_format)
    _collectives.broadcast(found.detach(), src, _resolve_group(group, tag))
    return found


def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:
    """The reduction ("sum", "avg", "max", ...) of all tensors, on all."""
    found: Tensor = AllReduce.apply(self, _reduction(reduceOp), _resolve_group(group, tag))
    return found


def all_gather_single(self: Tensor, gather_dim: int, group: object, tag: str = "") -> Tensor:
    """The tensors of all, joined along a dimension."""
    own = _resolve_group(group, tag)
    found: Tensor = AllGather.apply(self, own)
    if gather_dim != 0:
        found = rl.cat(found.chunk(own.size()), gather_dim)
    return found


def reduce_scatter_single(
    self: Tensor, reduceOp: str, scatter_dim: int, group: object, tag: str = ""
) -> Tensor:
    """This rank's part, along a dimension, of the reduction of all tensors."""
    own = _resolve_group(group, tag)
    if self.size(scatter_dim) % own.size():
        raise AssertionError(
            f"input dimension {scatter_dim} ({self.size(scatter_dim)}) must be a multiple of "
            f"group_size {own.size()}"
        )
    if scatter_dim != 0:
        self = rl.cat(self.chunk(own.size(), scatter_dim))
    part = self.new_empty([self.shape[0] // own.size(), *self.shape[1:]])
    found: Tensor = _ReduceScatter.apply(self, _reduction(reduceOp), own, part)
    return found


def all_to_all_single(
    self: Tensor,
    output_split_sizes: list[int] | None,
    input_split_sizes: list[int] | None,
    group: Any,
    tag: str = "",
) -> Tensor:
    """The parts, along dimension 0, that each rank has for this one; equal parts if not told."""
    for name, sizes in (
        ("output_split_sizes", output_split_sizes),
        ("input_split_sizes", input_split_sizes),
    ):
        if sizes is not None and not all(isinstance(size, int) for size in sizes):
            raise AssertionError(f"All {name} must be int or SymInt, got {sizes}")
    own = _resolve_group(group, tag)
    if output_split_sizes is None or input_split_sizes is None:
        if output_split_sizes is not None or input_split_sizes is not None:
            raise AssertionError(
                "output_split_sizes and input_split_sizes must either be specified together or "
                "both set to None"
            )
        output_split_sizes = input_split_sizes = [self.shape[0] // own.size()] * own.size()
    found = self.new_empty([sum(output_split_sizes), *self.shape[1:]])
    result: Tensor = AllToAll.apply(self, output_split_sizes, input_split_sizes, own, found)
    return result


def permute_tensor(self: Tensor, src_dst: list[int], group: object, tag: str = "") -> Tensor:
    """The tensor of the rank that sends to this one; src_dst: to which each rank sends."""
    own = _resolve_group(group, tag)
    outputs, inputs = [0] * own.size(), [0] * own.size()
    for src, dst in enumerate(src_dst):
        if src == own.rank():
            inputs[dst] = self.shape[0]
        if dst == own.rank():
            outputs[src] = self.shape[0]
    return all_to_all_single(self, outputs, inputs, own)


def all_reduce_coalesced(
    self: list[Tensor], reduceOp: str, group: object, tag: str = ""
) -> list[Tensor]:
    """`all_reduce` of each tensor."""
    own = _resolve_group(group, tag)
    return [all_reduce(tensor, reduceOp, own) for tensor in self]


def all_gather_single_coalesced(self: list[Tensor], group: object, tag: str = "") -> list[Tensor]:
    """`all_gather_single` of each tensor, along dimension 0."""
    own = _resolve_group(group, tag)
    return [all_gather_single(tensor, 0, own) for tensor in self]


def reduce_scatter_single_coalesced(
    inputs: list[Tensor], reduceOp: str, scatter_dim: list[int], group: object, tag: str = ""
) -> list[Tensor]:
    """`reduce_scatter_single` of each tensor."""
    own = _resolve_group(group, tag)
    pairs = zip(inputs, scatter_dim, strict=True)
    return [reduce_scatter_single(tensor, reduceOp, dim, own) for tensor, dim in pairs]


all_gather_single_autograd = all_gather_single
reduce_scatter_single_autograd = reduce_scatter_single
all_to_all_single_autograd = all_to_all_single


def _older_name(name: str, function: Callable[..., Any]) -> Callable[..., object]:
    """A function under the name it had, which warns."""
    path = "torch.distributed._functional_collectives"
    newer = name.replace("into_tensor", "single").replace("_tensor", "_single")

    def older(*args: object, **kwargs: object) -> Any:
        warn(
            f"`{path}.{name}` is deprecated. Please use `{path}.{newer}` instead.",
            FutureWarning,
        )
        return function(*args, **kwargs)

    older.__name__ = older.__qualname__ = name
    older.__doc__ = function.__doc__
    return older


all_gather_tensor = _older_name("all_gather_tensor", all_gather_single)
all_gather_tensor_autograd = _older_name("all_gather_tensor_autograd", all_gather_single)
reduce_scatter_tensor = _older_name("reduce_scatter_tensor", reduce_scatter_single)
reduce_scatter_tensor_autograd = _older_name(
    "reduce_scatter_tensor_autograd", reduce_scatter_single
)
all_gather_into_tensor_coalesced = _older_name(
    "all_gather_into_tensor_coalesced", all_gather_single_coalesced
)
reduce_scatter_tensor_coalesced = _older_name(
    "reduce_scatter_tensor_coalesced", reduce_scatter_single_coalesced
)

__getattr__ = _missing_name(__name__)
