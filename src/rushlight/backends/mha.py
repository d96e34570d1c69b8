"""torch.backends.mha: the switch of attention's fast path, kept and without effect."""

from __future__ import annotations

from .._missing import missing_name as _missing_name

_is_fastpath_enabled = True


def get_fastpath_enabled() -> bool:
    """The switch as it was set; True at first."""
    return _is_fastpath_enabled


def set_fastpath_enabled(value: bool) -> None:
    """Set the switch. The results are the same either way."""
    global _is_fastpath_enabled
    _is_fastpath_enabled = value


__getattr__ = _missing_name(__name__)
