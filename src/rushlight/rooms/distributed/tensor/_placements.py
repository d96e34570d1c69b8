"""How a tensor lies in a dimension of a mesh of processes."""

from __future__ import annotations

import dataclasses

from .._options import RedOpType


class Placement:
    """How a tensor lies in a dimension of a mesh."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each process has a part, of that dimension if one is told."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether each process has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether the processes' tensors are to be added up, or so."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclasses.dataclass(frozen=True)
class Shard(Placement):
    """Each process has a part of a dimension."""

    dim: int


@dataclasses.dataclass(frozen=True)
class _StridedShard(Shard):
    """Each process has every so many parts of a dimension. Libraries ask for it by isinstance."""

    split_factor: int


@dataclasses.dataclass(frozen=True)
class Replicate(Placement):
    """Each process has all of it."""


@dataclasses.dataclass(frozen=True)
class Partial(Placement):
    """The processes' tensors are to be added up, or so."""

    reduce_op: str = "sum"

    def op(self) -> RedOpType:
        """The reduction."""
        return RedOpType[self.reduce_op.upper()]


for _kind in (Placement, Shard, Replicate, Partial):
    _kind.__module__ = "rushlight.distributed.tensor"
_StridedShard.__module__ = "rushlight.distributed.tensor.placement_types"
