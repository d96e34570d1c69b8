"""torch.backends.cusparselt: NVIDIA's library of sparse products, which is not used here."""

from __future__ import annotations

from .._missing import missing_name as _missing_name


def is_available() -> bool:
    """False: there is no CUDA device here."""
    return False


def version() -> int | None:
    """None: it is not here."""
    return None


def get_max_alg_id() -> int | None:
    """None: it is not here."""
    return None


__getattr__ = _missing_name(__name__)
