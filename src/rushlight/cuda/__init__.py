"""`torch.cuda` as programs probe it: there is no CUDA device here, and every call says so.

Where accelerators stand for CUDA's (RUSHLIGHT_CUDA=opencl) it is they that answer.
"""

from .. import _device
from .._absent_device import DeviceContext, answers
from .._errors import OutOfMemoryError as OutOfMemoryError
from .._missing import missing_name as _missing_name
from .._tensor import cuda_types as _cuda_types

globals().update(answers("cuda", "Torch not compiled with CUDA enabled"))
globals().update(_cuda_types())
device = device_of = DeviceContext
if _device.accelerators.kind == "cuda":
    from .._present_device import answers as _answers

    globals().update(_answers())
has_half = True
has_magma = False
_initialized = False

__getattr__ = _missing_name(
    __name__, {name: name for name in ("amp", "nvtx", "profiler", "random")}
)
