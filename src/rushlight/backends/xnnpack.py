"""`torch.backends.xnnpack`: switches without effect."""

from .._missing import missing_name as _missing_name

enabled = False

__getattr__ = _missing_name(__name__)
