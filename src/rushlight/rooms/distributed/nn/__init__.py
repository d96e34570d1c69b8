"""`torch.distributed.nn`: collectives with gradients."""

from ..._base.missing import missing_name as _missing_name
from . import functional as functional

__getattr__ = _missing_name(__name__)
