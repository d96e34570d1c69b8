"""Tests of the kernels against the plain definitions beside them (native/kernels/isa/*.py)."""

import importlib.util
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parents[2] / "native" / "kernels" / "isa"


def definition(name: str) -> ModuleType:
    """The module native/kernels/isa/{name}.py."""
    spec = importlib.util.spec_from_file_location(f"plain_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
