"""Functions of rooms further right that rooms further left call.

A room imports from its left only. A function of its right that the room needs is declared here.
`_callbacks` names the function at the end of the import; its module is imported at the call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from sys import modules
from types import ModuleType
from typing import Any

__all__ = ["Late", "connect", "functions_named_as_modules", "get_dotted", "imported", "late"]


def get_dotted(found: object, *names: str) -> Any:
    """As `attrgetter`, which interns a name in place: Python 3.13 has no lock for that."""
    for name in names:
        found = getattr(found, name)
    return found


def imported(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that few programs use: it is imported when it is first called."""

    found = cache(lambda: getattr(import_module(module), name))
    return lambda *args, **kwargs: found()(*args, **kwargs)


def functions_named_as_modules(package: str, *names: str) -> None:
    """Let a package's functions be found that have the names of the modules they are in.

    The import of a module sets the name in the package to the module, which is not told here.
    """

    def member(name: str) -> property:
        def get(self: Any) -> Any:
            if name not in vars(self):
                vars(self)[name] = getattr(import_module(f"{package}.{name}"), name)
            return vars(self)[name]

        def put(self: Any, value: Any) -> None:
            if not isinstance(value, ModuleType):
                vars(self)[name] = value

        return property(get, put, lambda self: vars(self).pop(name))

    kind = type(modules[package])
    modules[package].__class__ = type(kind.__name__, (kind,), {n: member(n) for n in names})


class Late:
    """The functions, by the name under which rooms further left call them."""

    accelerator_between: Callable[..., None]  # linspace, written to a tensor on an accelerator
    accelerator_draw: Callable[..., None]  # random numbers, written to one
    accelerator_steps: Callable[..., None]  # arange, written to one
    accelerator_wait: Callable[..., None]
    add_model: Callable[..., None]  # to an error, where in the model it was raised
    cell_html: Callable[[object], str | None]  # a tensor or a module for a notebook
    compile: Callable[..., Any]
    define_torchvision: Callable[[], None]
    found: Callable[[str, str], Any]  # a rare name of a module; NotImplemented: there is none
    has_modules: Callable[[str], bool]  # whether a module has rare modules below it
    listed: Callable[[str], set[str]]  # the rare names of a module
    load: Callable[..., Any]
    make_wrapper_subclass: Callable[..., Any]
    package: Callable[[], Any]  # as programs see it
    of_aten: Callable[[str], Any]  # a function by its name in torch.ops.aten
    records_taken: Callable[..., Any]  # a block of which records are taken
    sparse_gathered: Callable[..., Any]  # the sparse gradient of gather
    sparse_gradcheck: Callable[..., Any]
    sparse_method: Callable[..., Any]  # a method of Tensor by its name
    sparse_refusal: Callable[..., None]  # of a sparse gradient on an accelerator
    spec_of: Callable[[str], Any]  # of a rare module, for the import system
    sparse_rows: Callable[..., Any]  # the rows of an embedding, with a sparse gradient
    world: Callable[[], Any]  # torch.distributed where a program has imported it; else None


late = Late()


def connect(**functions: Callable[..., Any]) -> None:
    """Say which functions these are. Every one is connected when the package is imported."""
    if unknown := functions.keys() - Late.__annotations__.keys():
        raise AssertionError(f"rushlight._base.late: {sorted(unknown)}")
    vars(late).update(functions)
