"""`torch.xpu`: there is no such device here."""

from ._absent_device import DeviceContext, answers
from ._missing import missing_name as _missing_name

globals().update(answers("xpu", "Torch not compiled with XPU enabled"))
device = device_of = DeviceContext

__getattr__ = _missing_name(__name__)
