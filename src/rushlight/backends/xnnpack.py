"""torch.backends.xnnpack: not used here."""

from __future__ import annotations

from .._missing import missing_name as _missing_name

enabled = False

__getattr__ = _missing_name(__name__)
