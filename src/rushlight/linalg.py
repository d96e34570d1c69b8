"""torch.linalg: the op table's functions of that namespace."""

from ._missing import missing_name
from .ops import namespace

globals().update(namespace("linalg"))
__all__ = list(namespace("linalg"))
__getattr__ = missing_name(__name__)
