"""torch.backends.mkldnn: its switches, kept and without effect;
the kernels here are rushlight's own."""

from __future__ import annotations

from .._missing import missing_name as _missing_name

enabled = False
deterministic = False


def is_available() -> bool:
    """False: the kernels here are rushlight's own.

    >>> isinstance(torch.backends.mkldnn.is_available(), bool)
    True
    """
    return False


__getattr__ = _missing_name(__name__)
