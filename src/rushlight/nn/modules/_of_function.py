"""Layers that call a function of `nn.functional` with settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from .module import Module


class OfFunction(Module):
    """A layer whose forward calls one function with the layer's attributes as settings."""

    # Called by way of the class, where no function is a method: `staticmethod` would have every
    # docstring made at import.
    _function: ClassVar[Callable[..., Any]]
    # Attributes that are passed on, by the names of the function's parameters.
    _passed: ClassVar[tuple[str, ...]] = ()
    # Attributes that are printed, by name.
    _shown: ClassVar[tuple[str, ...]] = ()

    if not TYPE_CHECKING:  # layers of two inputs have parameters of their own

        def forward(self, input: Any) -> Any:
            return self._result(input)

    def _result(self, *inputs: object) -> Any:
        """The function's result for these inputs and the layer's settings."""
        settings = {name: getattr(self, name) for name in self._passed}
        return type(self)._function(*inputs, **settings)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)}" for name in self._shown)
