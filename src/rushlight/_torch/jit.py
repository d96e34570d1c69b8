"""`torch.jit`: programs run as the Python that they are.

Decorators and conversions give back what they are given, and the questions are answered: nothing is
being scripted or traced. There is no TorchScript to save or load.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar, overload

from .._base.missing import missing_name as _missing_name
from .._base.threads import start_interop as _start_interop
from ..nn.modules.module import Module
from . import find as _find
from .futures import Future

__all__ = [
    "Attribute",
    "Final",
    "Future",
    "ScriptModule",
    "TracerWarning",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "trace",
    "trace_module",
    "unused",
    "wait",
]


_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])


class ScriptModule(Module):
    """A module that runs as Python does. The result of `script` is no ScriptModule.

    >>> isinstance(nn.Linear(1, 1), torch.jit.ScriptModule)
    False
    """

    def save(self, f: object, **kwargs: object) -> None:
        """Refused: there is no TorchScript."""
        _find("jit", "save")()


class TracerWarning(Warning):
    """The class of PyTorch's warnings while it traces; nothing gives such a warning here."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Nothing to do: there are none."""


class Attribute(NamedTuple):
    """A value and the type that it has in TorchScript."""

    value: Any
    type: Any


# ---- conversions: they give back what they are given


def script(
    obj: _T,
    optimize: None = None,
    _frames_up: int = 0,
    _rcb: object = None,
    example_inputs: object = None,
) -> _T:
    """A function, module or class as it is: programs run as Python. Also a decorator.

    >>> @torch.jit.script
    ... def twice(x: torch.Tensor):
    ...     return 2 * x
    >>> twice(torch.ones(2))
    tensor([2., 2.])
    """
    return obj


def trace(func: _T, example_inputs: object = None, *args: object, **kwargs: object) -> _T:
    """A function or module as it is, for other inputs than the example too.

    >>> torch.jit.trace(torch.sin, (torch.ones(1),))(torch.zeros(2))
    tensor([0., 0.])
    """
    return func


def trace_module(mod: _T, inputs: object, *args: object, **kwargs: object) -> _T:
    """A module as it is.

    >>> layer = nn.Identity()
    >>> torch.jit.trace_module(layer, {"forward": torch.ones(1)})(torch.zeros(1))
    tensor([0.])
    """
    return mod


def freeze(
    mod: _T,
    preserved_attrs: list[str] | None = None,
    optimize_numerics: bool = True,
) -> _T:
    """A module as it is."""
    return mod


def optimize_for_inference(mod: _T, other_methods: list[str] | None = None) -> _T:
    """A module as it is."""
    return mod


def script_if_tracing(fn: _F) -> _F:
    """A function as it is.

    >>> torch.jit.script_if_tracing(torch.sin)(torch.zeros(1))
    tensor([0.])
    """
    return fn


# ---- decorators


def export(fn: _F) -> _F:
    """A method as it is."""
    return fn


def script_method(fn: _F) -> _F:
    """A method as it is."""
    return fn


def interface(obj: _T) -> _T:
    """A class as it is."""
    return obj


def unused(fn: _F) -> _F:
    """A method as it is."""
    return fn


@overload
def ignore(drop: _F, **kwargs: object) -> _F: ...
@overload
def ignore(drop: bool = False, **kwargs: object) -> Callable[[_F], _F]: ...
def ignore(drop: Any = False, **kwargs: object) -> Any:
    """A method as it is; also called with options first.

    >>> @torch.jit.ignore
    ... def shown(x):
    ...     print(x)
    >>> shown(3)
    3
    """
    return drop if callable(drop) else _as_it_is


def _as_it_is(fn: _F) -> _F:
    return fn


# ---- questions and settings


def is_scripting() -> bool:
    """False: nothing is scripted.

    >>> torch.jit.is_scripting()
    False
    """
    return False


def is_tracing() -> bool:
    """False: nothing is traced.

    >>> torch.jit.is_tracing()
    False
    """
    return False


def annotate(the_type: object, the_value: _T) -> _T:
    """The value.

    >>> torch.jit.annotate(list[int], [])
    []
    """
    return the_value


def isinstance(obj: object, target_type: Any) -> bool:
    """Whether a value has a type, or one of several; of `List[int]` and the like, its elements too.

    >>> from typing import Dict, List
    >>> torch.jit.isinstance([1, 2], List[int]), torch.jit.isinstance([1, "2"], List[int])
    (True, False)
    """
    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, t) for t in target_type)
    origin = getattr(target_type, "__origin__", None)
    inner: tuple[object, ...] = getattr(target_type, "__args__", ())
    if origin is None:
        return builtins.isinstance(obj, target_type)
    if not builtins.isinstance(origin, type):  # a union
        return any(isinstance(obj, t) for t in inner)
    if not builtins.isinstance(obj, origin):
        return False
    if builtins.isinstance(obj, dict):
        return all(isinstance(k, inner[0]) and isinstance(v, inner[1]) for k, v in obj.items())
    if builtins.isinstance(obj, tuple):
        parts = list(zip(obj, inner, strict=False))
        return len(obj) == len(inner) and all(isinstance(v, t) for v, t in parts)
    elements: Any = obj
    return all(isinstance(v, inner[0]) for v in elements)


_fusion: list[tuple[str, int]] = [("STATIC", 20), ("DYNAMIC", 0)]
_onednn = False


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Keep the setting and give the one before; nothing is fused."""
    global _fusion
    before, _fusion = _fusion, strategy
    return before


def enable_onednn_fusion(enabled: bool) -> None:
    """Keep the setting; nothing is fused."""
    global _onednn
    _onednn = enabled


def onednn_fusion_enabled() -> bool:
    """The setting of `enable_onednn_fusion`.

    >>> torch.jit.onednn_fusion_enabled()
    False
    """
    return _onednn


def fork(func: Callable[..., _T], *args: object, **kwargs: object) -> Future[_T]:
    """A future with the result of a call, which runs at once.

    >>> torch.jit.wait(torch.jit.fork(torch.add, torch.ones(1), 2))
    tensor([3.])
    """
    _start_interop()
    future: Future[_T] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[_T]) -> _T:
    """The result of `fork`."""
    return future.wait()


# PyTorch's private names that libraries decorate with.
_script_if_tracing = script_if_tracing
_overload = _overload_method = export

__getattr__ = _missing_name(__name__)
