"""torch.backends.miopen: AMD's library, not used here; its switch is kept."""

from __future__ import annotations

from .._missing import missing_name as _missing_name
from ._switches import switches as _switches

immediate = False
flags, set_flags = _switches(globals(), immediate=False)

__getattr__ = _missing_name(__name__)
