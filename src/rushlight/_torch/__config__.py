"""`torch.__config__`: how the library was built, as text."""

import sys

from .. import _core
from .._base.version import __version__
from .._root import get_num_interop_threads, get_num_threads


def show() -> str:
    """The build in words.

    >>> print(torch.__config__.show().split("\\n")[0])
    PyTorch built with:
    """
    lines = [f"rushlight {__version__}", "C++ Version: 202002", f"Python {sys.version.split()[0]}"]
    lines += ["OpenBLAS (scipy-openblas32)", f"CPU capability: {_core.isa()}"]
    return "PyTorch built with:\n" + "".join(f"  - {line}\n" for line in lines)


def _cxx_flags() -> str:
    """The compiler's flags of the build."""
    return " -O3 -DNDEBUG"


def parallel_info() -> str:
    """How many threads calls run on.

    >>> "get_num_threads" in torch.__config__.parallel_info()
    True
    """
    return (
        f"ATen/Parallel:\n\tat::get_num_threads() : {get_num_threads()}\n"
        f"\tat::get_num_interop_threads() : {get_num_interop_threads()}\n"
    )
