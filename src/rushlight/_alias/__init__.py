"""`import torch` that finds rushlight: the finder behind `rushlight run` and `install_as_torch`.

The finder answers every `torch.X` with the very module that `rushlight.X` is. Putting rushlight
into sys.modules under torch's name would not do: `import torch.nn` would then load rushlight/nn a
second time under another name, with second classes that `isinstance` takes for strangers. `torch`
itself is a module of its own with the names of `rushlight`: its `__name__` and its `__version__`
are PyTorch's. The finder also answers `importlib.metadata.version("torch")`.

`rushlight run` also wants it in the Python processes that a script starts (multiprocessing's spawn
imports the script again, DataLoader workers, subprocesses): see `inherit_in_children` and the
folder `_child`.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, cast

from rushlight._base.late import late
from rushlight._base.missing import missing_name as _missing_name
from rushlight._base.missing import names_in, not_yet, torch_has
from rushlight._base.pickled import name_module, name_torch
from rushlight._base.version import TORCH_VERSION

if TYPE_CHECKING:
    from importlib.abc import Loader  # not at run time: they are slow to import
    from importlib.metadata import Distribution, DistributionFinder

# The packages of PyTorch, and ours.
NAMES = {"torch": "rushlight", "functorch": "rushlight._functorch.deprecated"}
# Set by `rushlight run` to its interpreter's sys.prefix; read by _child/sitecustomize.py.
CHILD_VARIABLE = "RUSHLIGHT_AS_TORCH"


class TorchFinder:
    """Finds `torch` and `functorch` with their submodules in rushlight."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        first, *rest = fullname.split(".")
        if first == "rushlight":
            return _named_as_torch(fullname, path, target)
        if first not in NAMES:
            return None
        if fullname == "torch":
            loader = cast("Loader", _Root())
            return ModuleSpec(fullname, loader, origin=late.package().__file__, is_package=True)
        ours = ".".join([NAMES[first], *rest])
        try:
            module = importlib.import_module(ours)
        except ModuleNotFoundError as error:
            if error.name != ours:
                raise  # the module is here, and something that it needs is not
        else:
            if not hasattr(module, "__getattr__"):
                module.__getattr__ = _missing_name(ours)  # type: ignore[method-assign]
            loader = cast("Loader", _Alias(module))  # its shape is all the import system asks for
            return ModuleSpec(fullname, loader, is_package=hasattr(module, "__path__"))
        # An import shall say what is missing; importlib.util.find_spec asks politely and gets None.
        caller = sys._getframe(1).f_back
        parent, _, name = fullname.rpartition(".")
        if caller is not None and caller.f_code.co_name == "_find_and_load_unlocked":
            note = f" {not_yet(fullname)}" if torch_has(parent, name) else ""
            text = f"No module named {fullname!r}{note}"
            raise ModuleNotFoundError(text, name=fullname)
        return None

    def find_distributions(self, context: DistributionFinder.Context) -> Iterator[Distribution]:
        """PyTorch as an installed package, for `importlib.metadata`."""
        from rushlight._alias.metadata import TorchDistribution

        if context.name is None or context.name.lower() == "torch":
            yield TorchDistribution()


def _named_as_torch(
    fullname: str, path: Sequence[str] | None, target: ModuleType | None
) -> ModuleSpec | None:
    """A module of ours, whose classes are to say that they are torch's."""
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec(fullname, path, target) or late.spec_of(fullname)
    if spec is not None and spec.loader is not None:
        spec.loader = cast("Loader", _Naming(spec.loader))
    return spec


class _Naming:
    """Loads a module as another loader does, which takes its place, and names the classes."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        module.__loader__ = self.loader
        self.loader.exec_module(module)
        name_module(module)

    def __getattr__(self, name: str) -> object:
        return getattr(self.loader, name)


class _Root:
    """Makes `torch`: the names of rushlight, and the version of PyTorch."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        from rushlight._torch.torch_version import TorchVersion

        ours, module = late.package(), ModuleType("torch")
        own = {n: v for n, v in names_in(ours).items() if n not in _OWN}
        names = names_in(module)
        names.update(own, __version__=TorchVersion(TORCH_VERSION), __path__=ours.__path__)
        missing = _missing_name("rushlight", ours._LATE, names, ours._functions)
        names.update(__file__=ours.__file__, __getattr__=missing, torch=module)
        module.__class__ = type(ours)
        return module

    def exec_module(self, module: ModuleType) -> None:
        _share_names("rushlight", "torch")


# Names that a module has for itself.
_OWN = {"__name__", "__spec__", "__loader__", "__package__", "__getattr__"}


class _Alias:
    """Hands out a module that is loaded already, and leaves it unchanged."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.spec = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def get_code(self, name: str) -> object:
        """The code of the module, for `python -m`."""
        return self.spec.loader.get_code(self.spec.name) if self.spec else None  # type: ignore[union-attr]

    def exec_module(self, module: ModuleType) -> None:
        alias = module.__spec__.name if module.__spec__ else "torch"
        module.__spec__ = self.spec  # the import system has just put torch's there
        _share_names(module.__name__, alias)


def _share_names(module: str, alias: str) -> None:
    """Put what a module has imported under torch's name too, as it would be there.

    An import of it later would set the parent's attribute of that name to the module: and
    `torch.autograd.gradcheck` is the function, not the module.
    """
    ours = f"{module}."
    for name, part in list(sys.modules.items()):
        if name.startswith(ours) and not name.startswith("rushlight._torch."):  # second names
            sys.modules.setdefault(f"{alias}.{name.removeprefix(ours)}", part)


def install_as_torch() -> None:
    """Make `import torch` mean rushlight in this process, submodules included.

    Raises RuntimeError if PyTorch itself has been imported already. A second call does nothing.

    >>> import rushlight
    >>> rushlight.install_as_torch()
    >>> import torch.nn.functional as F
    >>> F is rushlight.nn.functional
    True
    """
    present = sys.modules.get("torch")
    if present is not None and vars(present).get("Tensor") is not late.package().Tensor:
        raise RuntimeError(
            "install_as_torch: PyTorch itself is imported already "
            f"({getattr(present, '__file__', None) or 'module torch'}). "
            "Call rushlight.install_as_torch() before the first `import torch`."
        )
    if not any(isinstance(finder, TorchFinder) for finder in sys.meta_path):
        # First, since the ordinary finder would find torch.nn in rushlight's folder and load it
        # again.
        sys.meta_path.insert(0, TorchFinder())
    importlib.import_module("torch")
    name_torch()


def stand_in(name: str = "torch") -> None:
    """Called by a package `torch` or `functorch` on disk (`rushlight as-torch`): become rushlight
    instead."""
    half_done = sys.modules.pop(name)
    install_as_torch()
    importlib.import_module(name)
    if name == "torch":
        sys.modules[name].__spec__ = half_done.__spec__


def inherit_in_children() -> None:
    """Let the Python processes started from here on, of this interpreter, find rushlight as torch
    too.

    A Python imports `sitecustomize` as it starts; a folder with one goes in front of PYTHONPATH.
    """
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "child")
    others = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and p != folder]
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, *others])
    os.environ[CHILD_VARIABLE] = sys.prefix
