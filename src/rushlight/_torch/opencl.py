"""`torch.opencl`: devices of OpenCL, with the functions that torch.cuda has for CUDA's.

>>> torch.opencl.is_available() == (torch.opencl.device_count() > 0)
True
"""

from .._base.missing import missing_name as _missing_name
from ._present_device import answers as _answers


def device_count() -> int:
    """How many devices of OpenCL there are, whether the program has named one or not.

    >>> torch.opencl.device_count() >= 0
    True
    """
    from .._devices.accelerators import count

    return count("opencl")


def is_available() -> bool:
    """Whether there is a device of OpenCL.

    >>> isinstance(torch.opencl.is_available(), bool)
    True
    """
    return device_count() > 0


globals().update({name: answer for name, answer in _answers().items() if name not in globals()})

__getattr__ = _missing_name(__name__)
