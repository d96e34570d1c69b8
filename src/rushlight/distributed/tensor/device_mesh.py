"""Another place of `torch.distributed.device_mesh`."""

from ..._missing import missing_name as _missing_name
from ..device_mesh import DeviceMesh as DeviceMesh
from ..device_mesh import init_device_mesh as init_device_mesh

__getattr__ = _missing_name(__name__)
