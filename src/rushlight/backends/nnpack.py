"""torch.backends.nnpack: its switch, kept and without effect."""

from __future__ import annotations

from .._missing import missing_name as _missing_name
from ._switches import switches as _switches


def is_available() -> bool:
    """False: the kernels here are rushlight's own."""
    return False


enabled = False
flags, set_flags = _switches(globals(), enabled=False)

__getattr__ = _missing_name(__name__)
