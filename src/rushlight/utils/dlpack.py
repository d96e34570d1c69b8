"""torch.utils.dlpack: tensors shared with other libraries by DLPack."""

from __future__ import annotations

from .._base.dlpack import DLDeviceType, from_dlpack, to_dlpack
from .._base.missing import missing_name as _missing_name

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]

__getattr__ = _missing_name(__name__)
