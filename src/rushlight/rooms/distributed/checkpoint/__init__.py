"""`torch.distributed.checkpoint`: state dicts in folders, by any number of processes.

The files are PyTorch's: each reads what the other wrote. Read `filesystem` (what lies in a folder),
`_flat` (nested dicts as one), `state_dict_saver` and `state_dict_loader`.
"""

from __future__ import annotations

from ..._base.missing import missing_name as _missing_name
from .api import CheckpointException
from .default_planner import DefaultLoadPlanner, DefaultSavePlanner
from .filesystem import FileSystemReader, FileSystemWriter
from .metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorStorageMetadata
from .state_dict_loader import load, load_state_dict
from .state_dict_saver import async_save, save, save_state_dict

__all__ = [
    "BytesStorageMetadata",
    "CheckpointException",
    "ChunkStorageMetadata",
    "DefaultLoadPlanner",
    "DefaultSavePlanner",
    "FileSystemReader",
    "FileSystemWriter",
    "Metadata",
    "TensorStorageMetadata",
    "async_save",
    "load",
    "load_state_dict",
    "save",
    "save_state_dict",
]

__getattr__ = _missing_name(
    __name__, late={n: n for n in ("state_dict", "stateful", "format_utils")}
)
