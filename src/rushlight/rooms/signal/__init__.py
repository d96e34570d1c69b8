"""torch.signal: window functions, in `torch.signal.windows`."""

from .._base.missing import missing_name as _missing_name
from . import windows as windows

__all__ = ["windows"]
__getattr__ = _missing_name(__name__)
