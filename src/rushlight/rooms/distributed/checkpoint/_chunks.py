"""Which block of a whole tensor this process has, and how blocks overlap."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..._base.size import Size
from ..._core import Tensor
from ._flat import is_distributed


class Block(NamedTuple):
    """A tensor's part from `offsets` on; `size` is the whole tensor's."""

    tensor: Tensor
    offsets: Size
    size: Size


def block(value: Any) -> Block | None:
    """This process's block of a tensor: all of it, or a DTensor's local part.

    None on a process outside of the DTensor's mesh.

    Raises NotImplementedError for placements that are neither Shard nor Replicate.
    """
    if not is_distributed(value):
        tensor = value.detach()
        return Block(tensor, Size([0] * tensor.dim()), tensor.shape)
    local = value.to_local().detach()
    size = Size(value.shape)
    begins, lengths = [0] * len(size), list(size)
    mesh = value.device_mesh
    coordinate = mesh.get_coordinate()
    if coordinate is None:
        return None
    for mesh_dim, place in enumerate(coordinate):
        placement = value.placements[mesh_dim]
        if placement.is_replicate():
            continue
        # Subclasses of Shard lay the blocks otherwise.
        if not placement.is_shard() or type(placement).__name__ != "Shard":
            raise NotImplementedError(
                f"A checkpoint cannot have a tensor that lies as {placement}: "
                "redistribute it to Shard or Replicate placements before."
            )
        dim = placement.dim
        each = -(-lengths[dim] // mesh.size(mesh_dim))
        begin = min(each * place, lengths[dim])
        begins[dim] += begin
        lengths[dim] = min(each, lengths[dim] - begin)
    if tuple(local.shape) != tuple(lengths):
        raise ValueError(
            f"The local part of a tensor of {size} has {local.shape}, where its placements "
            f"{tuple(value.placements)} make it {Size(lengths)}."
        )
    return Block(local, Size(begins), size)


def overlap(
    begins: tuple[int, ...],
    lengths: tuple[int, ...],
    other_begins: tuple[int, ...],
    other_lengths: tuple[int, ...],
) -> tuple[tuple[slice, ...], tuple[slice, ...]] | None:
    """The part that two blocks share, as indices into each block; None where they share none."""
    mine, others = [], []
    for begin, length, other, extent in zip(
        begins, lengths, other_begins, other_lengths, strict=True
    ):
        first, last = max(begin, other), min(begin + length, other + extent)
        if first >= last:
            return None
        mine.append(slice(first - begin, last - begin))
        others.append(slice(first - other, last - other))
    return tuple(mine), tuple(others)
