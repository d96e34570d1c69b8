"""torch.backends.openmp: threads are rushlight's own."""

from __future__ import annotations

from .._missing import missing_name as _missing_name


def is_available() -> bool:
    """False: threads are rushlight's own."""
    return False


__getattr__ = _missing_name(__name__)
