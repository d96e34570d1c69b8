"""Where programs find the functions of the table, and when the files are read that have them.

`index.txt` beside says which file has which names; tools/ops_index.py writes the index, and
tests/test_first_touch.py checks it. A file is imported when one of its names is asked for: a
function of a namespace, a member of Tensor or Node, an operator of Python's, a row of `OPS`. Two
threads may ask at once, as for any import: no two files import each other, so that neither thread
waits for the other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib import import_module
from types import FunctionType
from typing import Any

from ... import _core
from ..._core import Asks
from ...return_types import expect

__all__ = ["OPERATORS", "Names", "namespace", "publish", "set_operator"]

_FILES: dict[str, dict[str, str]] = {}  # by the kind of a name, as in the index, and the name
_ORDER: dict[str, None] = {}  # each once
with open(os.path.join(os.path.dirname(__file__), "index.txt"), encoding="utf-8") as _index:
    for _line in _index:
        _file, _kind, *_names = _line.split()
        _FILES.setdefault(_kind, {}).update(dict.fromkeys(_names, f"rushlight.{_file}"))
        _ORDER[f"rushlight.{_file}"] = None
expect(_FILES.get("return_types", {}))


class Names(dict[str, Any]):
    """The names of one kind. Whoever looks through all of them reads every file."""

    def __init__(self, kind: str) -> None:
        self.kind, self._files = kind, _FILES.get(kind, {})

    def __missing__(self, name: str) -> Any:
        import_module(self._files[name])
        if not dict.__contains__(self, name):  # asked for by the file itself, while it is read
            raise KeyError(name)
        return dict.__getitem__(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self._files or dict.__contains__(self, name)

    def get(self, name: str, default: Any = None) -> Any:
        if name in self:
            return self[name]
        return default

    def _read(self) -> dict[str, Any]:
        for file in _ORDER:
            import_module(file)
        return {name: dict.__getitem__(self, name) for name in self.known()}

    def __len__(self) -> int:
        return len(self._read())

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def keys(self) -> Any:
        return self._read().keys()

    def values(self) -> Any:
        return self._read().values()

    def items(self) -> Any:
        return self._read().items()

    def known(self) -> list[str]:
        """The names without their files being read."""
        return list(dict.fromkeys([*self._files, *dict.keys(self)]))


_NAMESPACES = {name: Names(name) for name in ("torch", "nn", "linalg", "fft", "special")}
_NAMESPACES |= {"": Names("-"), "Tensor": Names("-")}  # for the library alone; methods alone


def namespace(name: str) -> Names:
    """The public functions of a namespace: 'torch', 'nn' (nn.functional), 'linalg', ..."""
    return _NAMESPACES[name]


class _Member:
    """A member of a class whose file is not read yet."""

    __slots__ = ("cls", "file", "name")

    def __init__(self, cls: type, name: str, file: str) -> None:
        self.cls, self.name, self.file = cls, name, file

    def _read(self) -> None:
        import_module(self.file)
        if vars(self.cls).get(self.name) is self:  # asked for by the file itself
            raise AttributeError(f"{self.cls.__name__!r} object has no attribute {self.name!r}")

    def __get__(self, tensor: Any, owner: Any = None) -> Any:
        self._read()
        return getattr(owner if tensor is None else tensor, self.name)

    def __set__(self, tensor: Any, value: Any) -> None:
        self._read()
        setattr(tensor, self.name, value)

    def __delete__(self, tensor: Any) -> None:
        self._read()
        delattr(tensor, self.name)


_CLASSES: dict[str, type] = {"Tensor": _core.Tensor, "Node": _core.Node}
_UNREAD = {
    (where, name): _Member(cls, name, file)
    for where, cls in _CLASSES.items()
    for name, file in _FILES.get(where, {}).items()
}
for (_, _name), _member in _UNREAD.items():
    setattr(_member.cls, _name, _member)


def publish(where: str, name: str, member: Any, plain: bool = False) -> None:
    """Let programs find a function in a namespace, or a member of Tensor or Node.

    What is written in Python asks its arguments for `__torch_function__` first. A function has the
    name that programs know it by. An op whose dimensions may stand one by one is called so as a
    method only. plain: a TypeError of the function is its own, and not the table's of a call.
    """
    cls = _CLASSES.get(where)
    members: Any = _NAMESPACES[where] if cls is None else vars(cls)
    if unread := _UNREAD.get((where, name)):
        if members.get(name) is not unread:
            return  # a file further right, or a program, has put its own there
        del _UNREAD[where, name]
    if where == "Node":
        pass
    elif type(member) is property:
        member = _core.Attribute(name, member.fget, member.fset, member.fdel, member.__doc__)
    elif type(member) is FunctionType:  # by `type()`: a Public has its function's `__class__`
        if member.__name__ not in members:  # a `__torch_function__` may read it
            member.__name__ = member.__qualname__ = name
        how = cls is not None, Asks.ALL, getattr(member, "native", None)
        member = _core.overridable(member) if plain else _core.make_public(member, *how)
    elif type(member) is _core.Op and cls is None and member.has_var_args:
        member = _core.make_public(member, False)
    if cls is None:
        members[name] = member
    else:
        setattr(cls, name, member)


OPERATORS = Names("operator")
"""The rows of Python's operators, by names such as 'add' and 'radd'."""
_called: dict[str, Callable[..., Any]] = {}


def set_operator(name: str, function: Callable[..., Any], row: Any) -> None:
    """Let a function, of this row, be what Python calls for an operator of tensors."""
    _called[name] = function
    OPERATORS[name] = row
    _core.set_operator(name, function)


def _read_and_call(name: str, file: str) -> Callable[..., Any]:
    def operator(*args: Any) -> Any:
        import_module(file)
        return _called[name](*args)

    return operator


for _name, _file in _FILES.get("operator", {}).items():
    _core.set_operator(_name, _read_and_call(_name, _file))
