"""The metadata of `torch` for packaging tools, where rushlight stands for it: its name, version."""

from __future__ import annotations

import os
from importlib.metadata import Distribution
from pathlib import Path

from .._base import FOLDER
from .._base.version import TORCH_VERSION, __version__

METADATA = f"""\
Metadata-Version: 2.1
Name: torch
Version: {TORCH_VERSION}
Summary: rushlight {__version__} under PyTorch's name
"""


class TorchDistribution(Distribution):
    """The package `torch`, in no folder of its own."""

    def read_text(self, filename: str) -> str | None:
        return METADATA if filename == "METADATA" else None

    def locate_file(self, path: str | os.PathLike[str]) -> Path:
        return Path(FOLDER, path)
