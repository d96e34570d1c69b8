"""The tensors of a module by their full names: got, set, exchanged, removed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..._base.missing import missing_name as _missing_name
from ..._core import Tensor
from ..modules.module import Module

__all__ = ["NamedMemberAccessor", "set_tensor", "swap_tensor"]

_MISSING: Any = object()


def _check(module: Module, name: str, tensor: object, none: bool) -> None:
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if not isinstance(tensor, Tensor) and tensor is not _MISSING and not (none and tensor is None):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')


def _table(module: Module, name: str) -> dict[str, object] | None:
    return next((t for t in (module._parameters, module._buffers) if name in t), None)


def set_tensor(module: Module, name: str, tensor: Tensor | None) -> None:
    """Put a tensor into a module, as it is: a parameter's place may have another tensor."""
    _check(module, name, tensor, none=False)
    table = _table(module, name)
    if table is not None:
        table[name] = tensor
    else:
        setattr(module, name, tensor)


def swap_tensor(
    module: Module, name: str, tensor: Tensor | None, allow_missing: bool = False
) -> Any:
    """The same, and what was there before."""
    _check(module, name, tensor, none=True)
    table = _table(module, name)
    if table is not None:
        before = table[name]
        if tensor is _MISSING:
            del table[name]
        else:
            table[name] = tensor
        return before
    before = getattr(module, name, _MISSING)
    if before is _MISSING and not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    if before is not _MISSING and not isinstance(before, Tensor):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if tensor is not _MISSING:
        setattr(module, name, tensor)
    elif before is not _MISSING:
        delattr(module, name)
    return before


class NamedMemberAccessor:
    """A module's tensors by their full names ("encoder.0.weight")."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def _place(self, name: str) -> tuple[Module, str]:
        prefix, _, last = name.rpartition(".")
        return self.get_submodule(prefix), last

    def get_submodule(self, name: str) -> Module:
        """The submodule of a name; of "", the module."""
        return self.module.get_submodule(name)

    def get_tensor(self, name: str) -> Any:
        """The tensor of a name."""
        module, last = self._place(name)
        if not hasattr(module, last):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        tensor: object = getattr(module, last)
        if not isinstance(tensor, Tensor) and tensor is not None:
            raise TypeError(f"{tensor} is not an instance of torch.Tensor")
        return tensor

    def set_tensor(self, name: str, value: Tensor) -> None:
        """Put a tensor in its place."""
        set_tensor(*self._place(name), value)

    def del_tensor(self, name: str) -> None:
        """Remove a tensor."""
        swap_tensor(*self._place(name), _MISSING)

    def swap_tensor(self, name: str, value: Tensor | None, allow_missing: bool = False) -> Any:
        """Put a tensor in its place; what was there before."""
        return swap_tensor(*self._place(name), value, allow_missing)

    def get_tensors(self, names: Iterable[str]) -> list[Tensor]:
        """The tensors of several names."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Iterable[str], values: Iterable[Tensor]) -> None:
        """Put several tensors in their places."""
        for name, value in zip(list(names), list(values), strict=True):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors: dict[str, Tensor]) -> None:
        """The same of names with their tensors."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names: Iterable[str]) -> None:
        """Remove several tensors."""
        for name in names:
            self.del_tensor(name)


__getattr__ = _missing_name(__name__)
