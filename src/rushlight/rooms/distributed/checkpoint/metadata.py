"""A checkpoint's `.metadata`: its tensors, their chunks, and where each chunk lies.

The names and fields are PyTorch's, so that each reads the other's file.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ... import _root as rl
from ..._base.missing import missing_name as _missing_name
from ..._base.size import Size

__all__ = [
    "BytesStorageMetadata",
    "ChunkStorageMetadata",
    "Metadata",
    "MetadataIndex",
    "StorageMeta",
    "TensorProperties",
    "TensorStorageMetadata",
]


@dataclass
class ChunkStorageMetadata:
    """A block of a tensor: where it begins in each dimension, and its lengths."""

    offsets: Size
    sizes: Size


class _MEM_FORMAT_ENCODING(enum.Enum):
    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), (self.value,)  # Python 3.11.0 to 3.11.3 pickle it by getattr


_FORMATS = {
    _MEM_FORMAT_ENCODING.TORCH_CONTIGUOUS_FORMAT: rl.contiguous_format,
    _MEM_FORMAT_ENCODING.TORCH_CHANNELS_LAST: rl.channels_last,
    _MEM_FORMAT_ENCODING.TORCH_PRESERVE_FORMAT: rl.preserve_format,
}


@dataclass
class TensorProperties:
    """A tensor's dtype; the other fields are kept for older readers."""

    dtype: Any = field(default_factory=rl.get_default_dtype)
    layout: Any = rl.strided
    requires_grad: bool = False
    memory_format: Any = rl.contiguous_format
    pin_memory: bool = False

    def __getstate__(self) -> tuple[Any, ...]:
        code = next(code for code, kind in _FORMATS.items() if kind == self.memory_format)
        return self.dtype, self.layout, self.requires_grad, code, self.pin_memory

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.dtype, self.layout, self.requires_grad, code, self.pin_memory = state
        self.memory_format = _FORMATS[code]

    @staticmethod
    def create_from_tensor(tensor: Any) -> TensorProperties:
        """The properties of a tensor."""
        return TensorProperties(tensor.dtype, requires_grad=tensor.requires_grad)


@dataclass
class TensorStorageMetadata:
    """A tensor of a checkpoint: the dtype, the whole size and the chunks."""

    properties: TensorProperties
    size: Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """A value of a checkpoint that is no tensor."""


@dataclass
class StorageMeta:
    """Which save wrote a checkpoint."""

    checkpoint_id: str | os.PathLike[str] | None = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """A checkpoint's table of contents.

    `planner_data` has the path of each name in the nested state dict, `storage_data` the place in
    a file of each chunk and value.
    """

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True)
class MetadataIndex:
    """Names a value, or the chunk of a tensor that begins at an offset."""

    fqn: str
    offset: Size | None = None
    index: int | None = field(hash=False, compare=False, default=None)

    def __init__(
        self, fqn: str, offset: Sequence[int] | None = None, index: int | None = None
    ) -> None:
        object.__setattr__(self, "fqn", fqn)
        object.__setattr__(self, "offset", None if offset is None else Size(offset))
        object.__setattr__(self, "index", index)


__getattr__ = _missing_name(__name__)
