"""torch.backends.mps: Apple's GPU, which is not used here."""

from __future__ import annotations

from .._missing import missing_name as _missing_name


def is_available() -> bool:
    """False: everything is computed on the CPU.

    >>> torch.backends.mps.is_available()
    False
    """
    return False


def is_built() -> bool:
    """False: everything is computed on the CPU.

    >>> torch.backends.mps.is_built()
    False
    """
    return False


__getattr__ = _missing_name(__name__)
