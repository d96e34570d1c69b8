"""`torch.opencl`: devices of OpenCL, with the functions that torch.cuda has for CUDA's.

>>> torch.opencl.is_available() == (torch.opencl.device_count() > 0)
True
"""

from .._base.missing import missing_name as _missing_name
from ._present_device import answers as _answers

globals().update(_answers("opencl"))

__getattr__ = _missing_name(__name__)
