"""From a checkpoint's folder to a file of `torch.save`, and back."""

from __future__ import annotations

import os
import shutil
from typing import Any

from ..._missing import missing_name as _missing_name
from . import _file


def dcp_to_torch_save(dcp_checkpoint_dir: Any, torch_save_path: Any) -> None:
    """Write a checkpoint as one file."""
    shutil.copyfile(_file(dcp_checkpoint_dir, None), torch_save_path)


def torch_save_to_dcp(torch_save_path: Any, dcp_checkpoint_dir: Any) -> None:
    """Write a file as a checkpoint."""
    os.makedirs(dcp_checkpoint_dir, exist_ok=True)
    shutil.copyfile(torch_save_path, _file(dcp_checkpoint_dir, None))


__getattr__ = _missing_name(__name__)
