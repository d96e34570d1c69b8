"""torch.backends.opt_einsum: its switches, kept; einsum orders its products itself."""

from __future__ import annotations

from .._missing import missing_name as _missing_name
from ._switches import switches as _switches

enabled = True
strategy: str | None = "auto"


def is_available() -> bool:
    """False: einsum orders its products itself."""
    return False


def get_opt_einsum() -> None:
    """None: the package is not used."""


flags, set_flags = _switches(globals(), enabled=None, strategy=None)
__getattr__ = _missing_name(__name__)
