"""torch.special: the op table's functions of that namespace."""

from ._missing import missing_name
from .ops import namespace

globals().update(namespace("special"))
__all__ = list(namespace("special"))
__getattr__ = missing_name(__name__)
