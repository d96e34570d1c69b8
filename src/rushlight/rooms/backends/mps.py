"""torch.backends.mps: Apple's GPU, which is not used here."""

from __future__ import annotations

from .._base.missing import missing_name as _missing_name


def is_available() -> bool:
    """False: Apple's GPU is not used here.

    >>> torch.backends.mps.is_available()
    False
    """
    return False


def is_built() -> bool:
    """False: Apple's GPU is not used here.

    >>> torch.backends.mps.is_built()
    False
    """
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether Apple's GPU is here and the system is at least of that release: False.

    >>> torch.backends.mps.is_macos_or_newer(14, 0)
    False
    """
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Whether Apple's GPU is here and the system is at least of release 13: False.

    >>> torch.backends.mps.is_macos13_or_newer()
    False
    """
    return False


__getattr__ = _missing_name(__name__)
