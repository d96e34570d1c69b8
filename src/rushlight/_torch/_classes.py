"""`torch.classes`: classes that C++ libraries register; none can be here."""

from __future__ import annotations

import types
from typing import NoReturn

from ..ops import load_library


class _Classes(types.ModuleType):
    """torch.classes: a namespace for each name, with no class in it."""

    loaded_libraries: frozenset[str] = frozenset()

    def __getattr__(self, name: str) -> _Namespace:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Namespace(name)

    def load_library(self, path: str) -> None:
        """Raises OSError: PyTorch's C++ libraries cannot be loaded."""
        load_library(path)


class _Namespace:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> NoReturn:
        raise RuntimeError(
            f"Tried to instantiate class '{self._name}.{name}', but it does not exist! "
            "Ensure that it is registered via torch::class_"
        )


classes = _Classes("torch.classes")
