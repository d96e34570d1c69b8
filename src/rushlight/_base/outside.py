"""Libraries that are imported when somebody asks for what is in them: NumPy and ml_dtypes.

Most programs of tensors never ask, and start sooner.

`np` is NumPy where it is used. Two names import nothing: `ufuncs` has the functions that statements
name, each found when it is called, and `np_types` the types for `isinstance`, which no object has
while NumPy is not imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from sys import modules
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .late import get_dotted

__all__ = ["lacking", "ml_dtypes", "np", "np_types", "stand_ins", "ufuncs"]

_MISSING = (
    "No module named '{0}'. An array of a tensor was asked for here, or an op that only NumPy "
    "computes. Install it: {1}"
)
_LOADED = 'await pyodide_js.loadPackage("{0}"), after `import pyodide_js`'

# Names of NumPy's while a definition is asked where there is none (refusing.py).
stand_ins: ContextVar[Mapping[str, Any] | None] = ContextVar("stand_ins", default=None)


def lacking(name: str) -> ModuleNotFoundError:
    """The error where a library is not installed, with how to install it here."""
    from .browser import IN_BROWSER

    how = _LOADED if IN_BROWSER else "pip install {0}"
    return ModuleNotFoundError(_MISSING.format(name, how.format(name)), name=name)


class _Outside(ModuleType):
    def __getattr__(self, name: str) -> Any:
        module: Any
        try:
            if self.__name__ == "numpy":
                import numpy as module
            else:
                import ml_dtypes as module
        except ModuleNotFoundError as error:
            if error.name not in (None, self.__name__):  # it is there, and lacks something itself
                raise
            if (known := (stand_ins.get() or {}).get(name)) is not None:
                return known
            raise lacking(self.__name__) from None
        vars(self).update(vars(module))  # from here on a name is found without this call
        return getattr(module, name)


class _Function:
    """A function of NumPy's that statements name: it is found at its first call."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return get_dotted(np, *self.path.split("."))(*args, **kwargs)

    def __getattr__(self, name: str) -> _Function:
        if name.startswith("_"):
            raise AttributeError(name)
        found = vars(self)[name] = _Function(f"{self.path}.{name}")
        return found


class _Type(type):
    def __instancecheck__(cls, instance: object) -> bool:
        numpy = modules.get("numpy")
        return numpy is not None and isinstance(instance, getattr(numpy, cls.__name__))


class _Functions:
    def __getattr__(self, name: str) -> _Function:
        found = vars(self)[name] = _Function(name)
        return found


class _Types:
    def __getattr__(self, name: str) -> type:
        found = vars(self)[name] = _Type(name, (), {})
        return found


if TYPE_CHECKING:
    import ml_dtypes as ml_dtypes
    import numpy as np
    import numpy as np_types
    import numpy as ufuncs
else:
    np, ml_dtypes = _Outside("numpy"), _Outside("ml_dtypes")
    np_types, ufuncs = _Types(), _Functions()
