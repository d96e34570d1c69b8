"""`torch.backends.quantized`: switches without effect."""

from .._missing import missing_name as _missing_name

engine = "none"
supported_engines = ["none"]

__getattr__ = _missing_name(__name__)
