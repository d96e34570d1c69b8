"""`torch.quantization`: the older place of `torch.ao.quantization`."""

from .._missing import missing_name as _missing_name
from ..ao import quantization as _quantization

globals().update({n: v for n, v in vars(_quantization).items() if not n.startswith("_")})

__getattr__ = _missing_name(__name__)
