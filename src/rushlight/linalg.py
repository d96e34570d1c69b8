"""torch.linalg: the op table's functions of that namespace."""

from ._base.missing import missing_name as _missing_name
from .ops import namespace as _namespace

__all__ = _namespace("linalg").known()
__getattr__ = _missing_name(__name__, functions=_namespace("linalg"))
