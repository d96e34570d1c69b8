"""The older place of `torch.distributed.tensor`."""

from ..._missing import missing_name as _missing_name
from ..tensor import DeviceMesh as DeviceMesh
from ..tensor import DTensor as DTensor
from ..tensor import Partial as Partial
from ..tensor import Placement as Placement
from ..tensor import Replicate as Replicate
from ..tensor import Shard as Shard
from ..tensor import distribute_module as distribute_module
from ..tensor import distribute_tensor as distribute_tensor
from ..tensor import init_device_mesh as init_device_mesh

__getattr__ = _missing_name(__name__)
