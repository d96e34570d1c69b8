"""torch.backends.quantized: no engine for quantised tensors is here."""

from __future__ import annotations

from .._missing import missing_name as _missing_name

engine = "none"
supported_engines = ["none"]

__getattr__ = _missing_name(__name__)
