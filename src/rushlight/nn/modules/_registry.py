"""Where a module keeps its parameters, buffers and children so that reading one is a plain lookup.

Note: mirrored registries
    A module keeps three dicts, `_parameters`, `_buffers` and `_modules`, and they are the truth:
    iteration, `state_dict`, `to` read nothing else. PyTorch finds `self.weight` in them through
    `__getattr__`, which costs half a microsecond an access. Here each entry is also written into
    the instance `__dict__` (the mirror), so that `self.weight` is an ordinary attribute. A
    `Registry` is a dict that writes its changes through to the mirror of its owner, so
    `module._parameters["weight"] = p` and `del module._buffers["mean"]` stay coherent. The owner is
    held weakly: a module that goes out of use is freed at once, without the garbage collector.
    `Module.__getattr__` still looks into the registries, for entries that code outside took out of
    the mirror.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import weakref
    from collections.abc import Callable

    from .module import Module

_ABSENT: Any = object()


class Registry(dict[str, Any]):
    """A dict of named members that mirrors them into the `__dict__` of the module that owns it."""

    __slots__ = ("_owner",)

    _owner: Callable[[], Module | None]

    @classmethod
    def of(cls, owner: weakref.ref[Module], members: dict[str, Any]) -> Registry:
        """A registry with the given members, already mirrored into its owner."""
        self = cls(members)
        self._owner = owner
        module = owner()
        if module is not None and members:
            module.__dict__.update(members)
        return self

    def _mirror(self) -> dict[str, Any]:
        module = self._owner()
        return {} if module is None else module.__dict__

    def __setitem__(self, name: str, value: Any) -> None:
        dict.__setitem__(self, name, value)
        self._mirror()[name] = value

    def __delitem__(self, name: str) -> None:
        value = dict.pop(self, name)  # KeyError where absent
        mirror = self._mirror()
        if mirror.get(name, _ABSENT) is value:
            del mirror[name]

    def pop(self, name: str, default: Any = _ABSENT) -> Any:
        if name not in self and default is not _ABSENT:
            return default
        value = self[name]
        del self[name]
        return value

    def popitem(self) -> tuple[str, Any]:
        name, value = dict.popitem(self)
        mirror = self._mirror()
        if mirror.get(name, _ABSENT) is value:
            del mirror[name]
        return name, value

    def clear(self) -> None:
        for name in list(self):
            del self[name]

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self[name] = default
        return self[name]

    def update(self, *args: Any, **kwargs: Any) -> None:
        for name, value in dict(*args, **kwargs).items():
            self[name] = value

    def __ior__(self, other: Any) -> Registry:  # type: ignore[override,misc]
        self.update(other)
        return self

    def __reduce__(self) -> Any:
        # Copied and pickled as a plain dict; Module.__setstate__ makes a registry of it again.
        return dict, (), None, None, iter(self.items())

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()


class LazyHooks:
    """A mapping of hooks that comes into being when it is first asked for.

    Most modules never have a hook, so they carry none of these dicts. `on_call` marks the kinds
    that `Module.__call__` must run: once such a mapping exists, its module leaves the plain path.
    """

    __slots__ = ("name", "on_call")

    def __init__(self, *, on_call: bool = False) -> None:
        self.on_call = on_call

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, module: Any, owner: type) -> Any:
        if module is None:
            return self
        hooks: OrderedDict[int, Any] = OrderedDict()
        attributes = module.__dict__
        attributes[self.name] = hooks
        if self.on_call:
            attributes["_plain"] = False
        return hooks
