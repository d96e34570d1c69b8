"""`torch.utils.cpp_extension`: extensions in C++ use PyTorch's headers, which are not here."""

from __future__ import annotations

import shutil
import sys
from typing import Any

from .._base.errors import refused as _refused
from .._base.missing import missing_name as _missing_name

__all__ = [
    "BuildExtension",
    "CUDAExtension",
    "CppExtension",
    "get_default_build_root",
    "include_paths",
    "is_ninja_available",
    "load",
    "load_inline",
    "verify_ninja_availability",
]

CUDA_HOME = ROCM_HOME = HIP_HOME = CUDNN_HOME = SYCL_HOME = ROCM_VERSION = None
IS_HIP_EXTENSION = False
IS_WINDOWS, IS_MACOS = sys.platform == "win32", sys.platform == "darwin"
IS_LINUX = sys.platform.startswith("linux")

_NO_HEADERS = "extensions in C++ use PyTorch's headers and library, which are not here."


def _headers(name: str) -> Any:
    return _refused(f"torch.utils.cpp_extension.{name}", _NO_HEADERS)


load: Any = _headers("load")
load_inline: Any = _headers("load_inline")
CppExtension: Any = _headers("CppExtension")
CUDAExtension: Any = _headers("CUDAExtension")
SyclExtension: Any = _headers("SyclExtension")
include_paths: Any = _headers("include_paths")
library_paths: Any = _headers("library_paths")


class BuildExtension:
    """Refused: a command of setuptools that builds extensions in C++."""

    __init__ = _headers("BuildExtension")

    @classmethod
    def with_options(cls, **options: object) -> type[BuildExtension]:
        """The class itself: it refuses when it is used."""
        return cls


def is_ninja_available() -> bool:
    """Whether the command ninja is there."""
    return shutil.which("ninja") is not None


def verify_ninja_availability() -> None:
    """RuntimeError unless the command ninja is there."""
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it)")


def get_default_build_root() -> str:
    """Where PyTorch puts what it builds."""
    import os

    return os.path.realpath(os.path.join(os.path.expanduser("~"), ".cache", "torch_extensions"))


__getattr__ = _missing_name(__name__)
