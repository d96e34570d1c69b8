"""`torch.distributed.tensor`: names of tensors over several processes; there is one here."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..._core import Tensor
from ..._elsewhere import refusing as _refusing
from ..._missing import missing_name as _missing_name
from ..device_mesh import DeviceMesh as DeviceMesh
from ..device_mesh import init_device_mesh as init_device_mesh

_WHY = "processes do not talk to each other here."


class DTensor(Tensor):
    """A tensor over several processes: no tensor is one here."""

    from_local = staticmethod(_refusing("torch.distributed.tensor.DTensor.from_local", _WHY))

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"torch.distributed.tensor.DTensor is not in rushlight: {_WHY}")


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
class Replicate(Placement):
    """Each process has all of it."""


@dataclasses.dataclass(frozen=True)
class Partial(Placement):
    """The processes' tensors are to be added up, or so."""

    reduce_op: str = "sum"


distribute_tensor = _refusing("torch.distributed.tensor.distribute_tensor", _WHY)
distribute_module = _refusing("torch.distributed.tensor.distribute_module", _WHY)

zeros, ones, empty, full, rand, randn = (
    _refusing(f"torch.distributed.tensor.{name}", _WHY)
    for name in ("zeros", "ones", "empty", "full", "rand", "randn")
)

__getattr__ = _missing_name(
    __name__, late={n: n for n in ("device_mesh", "parallel", "placement_types")}
)
