"""`torch.mtia`: there is no such device here."""

from ._absent_device import DeviceContext, answers
from ._missing import missing_name as _missing_name

globals().update(answers("mtia", "Torch not compiled with MTIA enabled"))
device = DeviceContext

__getattr__ = _missing_name(__name__)
