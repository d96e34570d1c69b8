"""The op table: every tensor function, one statement each. See README.md in this folder."""

# Each room imports from those before it only; table/names.py says when a room is read.
from .._base.late import late
from .table.aten import OpNamespace as _OpNamespace
from .table.aten import aten
from .table.documentation import install as install_documentation
from .table.names import namespace
from .table.statement import OPS, overridable, quietly

__all__ = [
    "OPS",
    "aten",
    "install_documentation",
    "load_library",
    "namespace",
    "overridable",
    "quietly",
]


def __getattr__(name: str) -> _OpNamespace:
    """`torch.ops.mylib`: programs' own operators by their namespaces."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _OpNamespace(name)


def load_library(path: str) -> None:
    """Load operators: those of torchvision's library that are written here in terms of other ops.

    Raises OSError for any other library, since it needs PyTorch's C++ core.
    """
    parts = str(path).replace("\\", "/").split("/")
    if parts[-2:-1] == ["torchvision"] and parts[-1].startswith(("_C.", "_C_stable.")):
        late.define_torchvision()
    else:
        raise OSError(f"Could not load this library: {path}\nit needs PyTorch's C++ core")
