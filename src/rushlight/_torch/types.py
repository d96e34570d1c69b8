"""`torch.types`: names for annotations."""

import os
from typing import IO, Any, TypeAlias

from .._base.device import device
from .._base.missing import missing_name as _missing_name
from .._base.size import Size
from .._core import Tensor
from ..storage import TypedStorage, UntypedStorage

__all__ = ["Device", "FileLike", "Number", "Size", "Storage", "Tensor"]

Number: TypeAlias = int | float | bool
Device: TypeAlias = device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
Storage: TypeAlias = TypedStorage | UntypedStorage
_int, _float, _bool, _complex = int, float, bool, complex
_device = device
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_TensorOrTensors: TypeAlias = Tensor | tuple[Tensor, ...]
_Any: TypeAlias = Any

__getattr__ = _missing_name(__name__)
