"""Batches whose tensors are pinned."""

from rushlight._base.missing import missing_name as _missing_name

from .._fetch import pin_memory as pin_memory

__getattr__ = _missing_name(__name__)
