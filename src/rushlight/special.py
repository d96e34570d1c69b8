"""torch.special: the op table's functions of that namespace."""

from ._base.missing import missing_name as _missing_name
from .ops import namespace as _namespace

globals().update(_namespace("special"))
__all__ = list(_namespace("special"))
__getattr__ = _missing_name(__name__)
