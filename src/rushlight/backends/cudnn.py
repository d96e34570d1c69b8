"""torch.backends.cudnn: its switches, kept and without effect; cuDNN is not here."""

from __future__ import annotations

from .._missing import missing_name as _missing_name

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True
benchmark_limit: int | None = 10


def is_available() -> bool:
    """False: cuDNN is not here.

    >>> torch.backends.cudnn.is_available() and torch.cuda.is_available()
    False
    """
    return False


def version() -> int | None:
    """None: cuDNN is not here.

    >>> torch.backends.cudnn.version() is None
    True
    """
    return None


__getattr__ = _missing_name(__name__)
