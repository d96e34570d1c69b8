"""`torch.distributed.tensor`: tensors of which each process of a mesh has a part, or all."""

from __future__ import annotations

from ..._errors import refused as _refused
from ..._missing import missing_name as _missing_name
from ..device_mesh import DeviceMesh as DeviceMesh
from ..device_mesh import init_device_mesh as init_device_mesh
from ._dtensor import DTensor as DTensor
from ._dtensor import distribute_tensor as distribute_tensor
from ._placements import Partial as Partial
from ._placements import Placement as Placement
from ._placements import Replicate as Replicate
from ._placements import Shard as Shard

_WHY = "distribute_tensor and DTensor.from_local make tensors over several processes."

distribute_module = _refused("torch.distributed.tensor.distribute_module", _WHY)

zeros, ones, empty, full, rand, randn = (
    _refused(f"torch.distributed.tensor.{name}", _WHY)
    for name in ("zeros", "ones", "empty", "full", "rand", "randn")
)

__getattr__ = _missing_name(
    __name__, late={n: n for n in ("device_mesh", "parallel", "placement_types")}
)
