"""`torch.cuda`: the answers of CUDA's devices, or of OpenCL's that stand for them
(RUSHLIGHT_CUDA=opencl); without any its row of names.txt answers.
"""

from .._base import device as _device
from .._base.errors import OutOfMemoryError as OutOfMemoryError
from .._base.missing import missing_name as _missing_name
from .._tensor import cuda_types as _cuda_types
from .._torch import fill as _fill

globals().update(_cuda_types())
if _device.cuda_is_here():
    from .._torch._present_device import answers as _answers

    globals().update(_answers("cuda"))
    if _device.first("cuda"):  # by CUDA's driver
        from .._torch._cuda_graphs import CUDAGraph as CUDAGraph
        from .._torch._cuda_graphs import graph as graph
        from .._torch._cuda_graphs import graph_pool_handle as graph_pool_handle
        from .._torch._cuda_graphs import make_graphed_callables as make_graphed_callables
has_half = True
has_magma = False
_initialized = False
_fill("cuda", globals())

__getattr__ = _missing_name(__name__, {"amp": "amp"})
