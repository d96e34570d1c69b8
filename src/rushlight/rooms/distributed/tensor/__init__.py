"""`torch.distributed.tensor`: tensors of which each process of a mesh has a part, or all."""

from __future__ import annotations

from ..._base.missing import missing_name as _missing_name
from ..device_mesh import DeviceMesh as DeviceMesh
from ..device_mesh import init_device_mesh as init_device_mesh
from ._dtensor import DTensor as DTensor
from ._dtensor import distribute_tensor as distribute_tensor
from ._placements import Partial as Partial
from ._placements import Placement as Placement
from ._placements import Replicate as Replicate
from ._placements import Shard as Shard

__getattr__ = _missing_name(__name__, late={"parallel": "parallel"})
