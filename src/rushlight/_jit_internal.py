"""Private names of PyTorch's compiler of Python code: programs run as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ._missing import missing_name as _missing_name
from .jit import Final as Final
from .jit import export, ignore, is_scripting, unused

_F = TypeVar("_F", bound=Callable[..., Any])

__all__ = ["export", "ignore", "is_scripting", "unused"]


def _copy_to_script_wrapper(fn: _F) -> _F:
    """The function as it is."""
    return fn


_overload = _overload_method = _copy_to_script_wrapper


def is_ignored_fn(fn: object) -> bool:
    """False: nothing is compiled, so nothing is left out."""
    return False


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str | None = None,
    func_name: str | None = None,
) -> Callable[..., Any]:
    """A function that is one of two, as an argument of it says."""

    def choose(*args: Any, **kwargs: Any) -> Any:
        given = args[arg_index] if arg_index < len(args) else kwargs.get(arg_name, default)
        return (if_true if given else if_false)(*args, **kwargs)

    choose.__doc__ = if_true.__doc__ or if_false.__doc__
    choose.__name__ = func_name or choose.__name__
    choose.__module__ = module_name or choose.__module__
    return choose


__getattr__ = _missing_name(__name__)
