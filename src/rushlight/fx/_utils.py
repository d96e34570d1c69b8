"""Programs reach the helpers of traced code here."""

from .._missing import missing_name as _missing_name
from .graph import _format_target as _format_target

__getattr__ = _missing_name(__name__)
