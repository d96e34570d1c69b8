"""`torch.ao.nn`: layers that are fused."""

from ..._missing import missing_name as _missing_name

__getattr__ = _missing_name(__name__, late={"intrinsic": "intrinsic"})
