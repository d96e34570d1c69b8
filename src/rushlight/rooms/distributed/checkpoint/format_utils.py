"""From a checkpoint's folder to a file of `torch.save`, and back."""

from __future__ import annotations

import os
from typing import Any

from ... import _root as rl
from ... import serialization
from ..._base.missing import missing_name as _missing_name
from ._flat import nested
from ._together import Ranks
from .filesystem import FileSystemReader
from .metadata import TensorStorageMetadata
from .state_dict_loader import _fill
from .state_dict_saver import save

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(
    dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]
) -> None:
    """Write a checkpoint as one file, with whole tensors. One process calls it."""
    reader = FileSystemReader(dcp_checkpoint_dir)
    content = reader.read_metadata()
    values: dict[str, Any] = {
        name: rl.empty(kind.size, dtype=kind.properties.dtype)
        if isinstance(kind, TensorStorageMetadata)
        else None
        for name, kind in content.state_dict_metadata.items()
    }
    _fill(values, reader, None, Ranks(None, no_dist=True))
    serialization.save(nested(values, content.planner_data or {}), torch_save_path)


def torch_save_to_dcp(
    torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]
) -> None:
    """Write a file's state dict as a checkpoint. One process calls it.

    The file is unpickled, which can run any code: give only what you trust.
    """
    state = serialization.load(torch_save_path, weights_only=False)
    save(state, checkpoint_id=dcp_checkpoint_dir, no_dist=True)


__getattr__ = _missing_name(__name__)
