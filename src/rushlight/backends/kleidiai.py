"""torch.backends.kleidiai: Arm's kernels, which are not used here."""

from __future__ import annotations

from .._missing import missing_name as _missing_name


def is_available() -> bool:
    """False: the kernels here are rushlight's own."""
    return False


__getattr__ = _missing_name(__name__)
