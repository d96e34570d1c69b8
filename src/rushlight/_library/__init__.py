"""`torch._library`: names that libraries import."""

from .._missing import missing_name as _missing_name
from ..library import triton_op as triton_op
from ..library import wrap_triton as wrap_triton

capture_triton = wrap_triton

__getattr__ = _missing_name(__name__)
