"""What PyTorch does not have is private by name: `hasattr(torch, "errors")` is as in PyTorch."""

from __future__ import annotations

import importlib.util
import pkgutil
from types import ModuleType

import pytest

import rushlight
from rushlight import _torch

pytorch = pytest.importorskip("torch")

# rushlight's own: the way to be found as torch, what the memory of tensors takes, the graph as a
# person reads it, and what runs on an accelerator.
MODULES = {"memory", "explain", "devices", "opencl"}
OURS = {"": {"install_as_torch", *MODULES}}
# Facades: every public name there is PyTorch's. Other modules have __all__ for `import *`.
FACADES = ["", "nn", "optim", "autograd", "func", "utils", "linalg", "special", "nn.functional"]
FACADES += ["nn.utils"]


def test_every_public_module_is_one_of_pytorchs() -> None:
    files = {m.name for m in pkgutil.iter_modules(rushlight.__path__)}
    found = {name for name in files | _torch.listed("torch") if name[0] != "_"}
    others = {name for name in found if not hasattr(pytorch, name)}
    assert {name for name in others if not importlib.util.find_spec(f"torch.{name}")} == MODULES


def is_module_there(value: object) -> bool:
    """A module that PyTorch has at that place, though it may take its name away after importing."""
    if not isinstance(value, ModuleType):
        return False
    name = value.__name__.replace("rushlight", "torch", 1)
    return importlib.util.find_spec(name) is not None


@pytest.mark.parametrize("where", FACADES)
def test_every_public_name_is_one_of_pytorchs(where: str) -> None:
    ours = importlib.import_module(f"rushlight.{where}".rstrip("."))
    theirs = importlib.import_module(f"torch.{where}".rstrip("."))
    known = OURS.get(where, set()) | {"annotations"}
    public = {n for n in vars(ours) if not n.startswith("_")} - known
    others = {n for n in public if not hasattr(theirs, n)}
    assert sorted(n for n in others if not is_module_there(getattr(ours, n))) == []
