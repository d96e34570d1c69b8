"""`torch.cuda` as programs probe it: no CUDA device is here, which its row of names.txt says.

Where accelerators stand for CUDA's (RUSHLIGHT_CUDA=opencl) it is they that answer.
"""

from .._base import device as _device
from .._base.errors import OutOfMemoryError as OutOfMemoryError
from .._base.missing import missing_name as _missing_name
from .._tensor import cuda_types as _cuda_types
from .._torch import fill as _fill

globals().update(_cuda_types())
if _device.cuda_is_here():
    from .._torch._present_device import answers as _answers

    globals().update(_answers())
has_half = True
has_magma = False
_initialized = False
_fill("cuda", globals())

__getattr__ = _missing_name(__name__, {"amp": "amp"})
