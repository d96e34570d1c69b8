"""`torch._higher_order_ops`: functions of functions, run as Python runs them."""

from .._control_flow import cond, while_loop
from .._missing import missing_name as _missing_name
from .associative_scan import associative_scan

__all__ = ["associative_scan", "cond", "while_loop"]

__getattr__ = _missing_name(__name__)
