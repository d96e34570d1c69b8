"""Modules that hold modules or parameters: `Sequential`, `ModuleList`, `ModuleDict`,
`ParameterList`, `ParameterDict`.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Self, overload

from rushlight import _root as rl

from ..._base.errors import warn
from ..._core import Tensor
from ..parameter import Parameter
from .module import Module, _indented


def _place(index: int, size: int) -> int:
    """`index` as a position from the start; IndexError outside."""
    index = operator.index(index)
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of range")
    return index % size


class _Numbered(Module):
    """The base of `Sequential` and `ModuleList`: children under the names "0", "1", ..."""

    def _renumber(self, modules: Iterable[object]) -> None:
        """Makes `modules` the children, in order."""
        members = {str(i): module for i, module in enumerate(modules)}
        self._modules.clear()
        self._modules.update(members)

    def _get_abs_string_index(self, idx: int) -> str:
        return str(_place(idx, len(self)))

    def _name(self, index: int) -> str:
        """The name of the child at a position (names need not be numbers in a Sequential)."""
        return list(self._modules)[_place(index, len(self))]

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._sliced(list(self._modules.items())[index])
        return self._modules[self._name(index)]

    def _sliced(self, items: list[tuple[str, object]]) -> object:
        return type(self)(module for _, module in items)

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name(index), module)

    def __delitem__(self, index: int) -> None:
        names = list(self._modules)
        chosen = names[index] if isinstance(index, slice) else [self._name(index)]
        for name in chosen:
            delattr(self, name)
        self._renumber(list(self._modules.values()))

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def insert(self, index: int, module: Module) -> Any:
        """Puts a module before position `index`."""
        modules = list(self._modules.values())
        if not -len(modules) <= index <= len(modules):
            raise IndexError(f"Index out of range: {index}")
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def pop(self, key: int) -> Module:
        """Takes out and returns the module at a position."""
        module = self[key]
        del self[key]
        return module


class Sequential(_Numbered):
    """Calls its modules one after another, each on the result of the one before.

    >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> net
    Sequential(
      (0): Linear(in_features=4, out_features=8, bias=True)
      (1): ReLU()
      (2): Linear(in_features=8, out_features=2, bias=True)
    )
    >>> net(torch.zeros(5, 4)).shape
    torch.Size([5, 2])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def forward(self, input: Tensor) -> Tensor:
        for module in self._modules.values():
            input = module(input)
        return input

    def _sliced(self, items: list[tuple[str, object]]) -> Sequential:
        return type(self)(OrderedDict(items))

    def append(self, module: Module) -> Self:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Puts a module before position `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        super().insert(index, module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Adds modules at the end."""
        for module in sequential:
            self.append(module)
        return self

    def _added(self, other: Sequential | int) -> list[Any]:
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects "
                f"of Sequential class, but {type(other)} is given."
            )
        return list(other)

    def _times(self, count: int) -> list[Any]:
        if not isinstance(count, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(count)}")
        if count <= 0:
            raise ValueError(f"Non-positive multiplication factor {count} for {type(self)}")
        return list(self) * count

    def __add__(self, other: Any) -> Sequential:
        return Sequential(*self, *self._added(other))

    def __iadd__(self, other: Any) -> Self:
        return self.extend(self._added(other))

    def __mul__(self, count: Any) -> Sequential:
        return Sequential(*self._times(count))

    def __rmul__(self, count: Any) -> Sequential:
        return Sequential(*self._times(count))

    def __imul__(self, count: Any) -> Self:
        return self.extend(self._times(count)[len(self) :])


class ModuleList(_Numbered):
    """A list of modules, registered under their positions.

    >>> layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))
    >>> len(list(layers.parameters())), layers[-1]
    (4, Linear(in_features=3, out_features=3, bias=True))
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def append(self, module: Module) -> Self:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Adds modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got "
                + type(modules).__name__
            )
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Puts a module before position `index` (as list.insert: clipped to the ends)."""
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._renumber(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __repr__(self) -> str:
        """Modules in a row that print alike become one line: `(0-2): 3 x ReLU()`."""
        runs: list[tuple[int, int, str]] = []
        for i, text in enumerate(repr(module) for module in self):
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], i, text)
            else:
                runs.append((i, i, text))
        if not runs:
            return f"{self._get_name()}()"
        lines = [
            f"({i}): {_indented(text)}" if i == j else f"({i}-{j}): {j - i + 1} x {_indented(text)}"
            for i, j, text in runs
        ]
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


def _pairs(kind: str, method: str, items: object) -> Iterator[tuple[Any, Any]]:
    """Key and value of a mapping or of an iterable of pairs, with the errors containers give."""
    if not isinstance(items, Iterable):
        raise TypeError(
            f"{method}.update should be called with an "
            "iterable of key/value pairs, but got " + type(items).__name__
        )
    if isinstance(items, (Mapping, ModuleDict, ParameterDict)):
        yield from items.items()
        return
    for j, pair in enumerate(items):
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"{kind} update sequence element #{j} should be Iterable; is{type(pair).__name__}"
            )
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(
                f"{kind} update sequence element #{j} has length {len(pair)}; 2 is required"
            )
        yield pair[0], pair[1]


class ModuleDict(Module):
    """A dict of modules, registered under their keys, in order of insertion.

    >>> heads = nn.ModuleDict({"cats": nn.Linear(4, 2), "dogs": nn.Linear(4, 3)})
    >>> heads["dogs"](torch.zeros(4)).shape
    torch.Size([3])
    >>> list(heads)
    ['cats', 'dogs']
    """

    def __init__(self, modules: object = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Takes all modules out."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Takes out and returns the module of a key."""
        return self._modules.pop(key)

    def keys(self) -> KeysView[str]:
        """The keys, in order of insertion."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Module]:
        """Key and module pairs."""
        return self._modules.items()

    def values(self) -> ValuesView[Module]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: object) -> None:
        """Adds or replaces modules from a mapping or from pairs."""
        for key, module in _pairs("ModuleDict", "ModuleDict", modules):
            self[key] = module


class _ParameterContainer(Module):
    """The base of parameter containers: tensors become Parameters, other values stay."""

    def _put(self, name: str, value: Tensor) -> None:
        if isinstance(value, rl.Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, name, value)

    def _line(self, name: str, value: object, kind: str) -> str:
        if not isinstance(value, rl.Tensor):
            return f"  ({name}): Object of type: {type(value).__name__}"
        label = "Parameter" if isinstance(value, Parameter) else "Tensor"
        size = "x".join(str(n) for n in value.size())
        where = "" if value.device.type == "cpu" else f" ({value.device})"
        return f"  ({name}): {label} containing: [{kind} of size {size}{where}]"

    def __call__(self, *args: object, **kwargs: object) -> Any:
        raise RuntimeError(f"{type(self).__name__} should not be called.")


class ParameterList(_ParameterContainer):
    """A list of parameters, registered under their positions.

    >>> params = nn.ParameterList([torch.ones(1), torch.zeros(2)])
    >>> len(params), params[0].requires_grad
    (2, True)
    """

    def __init__(self, values: Iterable[object] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(getattr(self, str(i)) for i in range(*index.indices(self._size)))
        return getattr(self, str(_place(index, self._size)))

    def __setitem__(self, index: int, value: Any) -> None:
        self._put(str(_place(index, self._size)), value)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[i] for i in range(self._size))

    def __iadd__(self, values: Iterable[object]) -> Self:
        return self.extend(values)

    def append(self, value: Any) -> Self:
        """Adds a value at the end."""
        self._put(str(self._size), value)
        self._size += 1
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Adds values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, rl.Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got "
                + type(values).__name__
            )
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(
            self._line(str(i), value, str(getattr(value, "dtype", "")))
            for i, value in enumerate(self)
        )


class ParameterDict(_ParameterContainer):
    """A dict of parameters, registered under their keys, in order of insertion.

    >>> params = nn.ParameterDict({"scale": torch.ones(1), "shift": torch.zeros(2)})
    >>> params["shift"]
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """

    def __init__(self, parameters: object = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _attribute(self, key: str) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is "
                f"not a string (type is '{type(key).__name__}'). Open an issue on "
                "github if you need non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._attribute(key))

    def __setitem__(self, key: str, value: Tensor) -> None:
        self._keys[self._attribute(key)] = None
        self._put(key, value)

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._attribute(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def keys(self) -> Iterable[str]:
        """The keys, in order of insertion."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Key and value pairs."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """The values."""
        return (self[key] for key in self._keys)

    def get(self, key: str, default: object = None) -> Any:
        """The value of a key, or the default."""
        return getattr(self, key) if key in self._keys else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a key, set to the default first where it is absent."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: str) -> Any:
        """Takes out and returns the value of a key."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Takes out and returns the last pair."""
        key = next(reversed(self))
        return key, self.pop(key)

    def clear(self) -> None:
        """Takes everything out."""
        for key in list(self._keys):
            del self[key]

    def copy(self) -> ParameterDict:
        """A new ParameterDict of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def fromkeys(self, keys: Iterable[str], default: object = None) -> ParameterDict:
        """A new ParameterDict with the given keys and one value."""
        return ParameterDict((key, default) for key in keys)

    def update(self, parameters: object) -> None:
        """Adds or replaces values from a mapping or from pairs.

        New keys of a plain dict come in sorted order, those of an OrderedDict, of a ParameterDict
        or of pairs in their own.
        """
        pairs = _pairs("ParameterDict", "ParametersDict", parameters)
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            pairs = iter(sorted(pairs, key=operator.itemgetter(0)))
        for key, value in pairs:
            self[key] = value

    def __or__(self, other: object) -> ParameterDict:
        merged = self.copy()
        merged.update(other)
        return merged

    def __ror__(self, other: Any) -> ParameterDict:
        merged: ParameterDict = other.copy()
        merged.update(self)
        return merged

    def __ior__(self, other: object) -> Self:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        return "\n".join(
            self._line(key, value, rl.typename(value) if isinstance(value, rl.Tensor) else "")
            for key, value in self.items()
        )


class Container(Module):
    """The old name of a module with children: `Container(name=child, ...)`.

    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> nn.Container(first=nn.Identity())
    Container(
      (first): Identity()
    )
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in "
            "`nn.Module`. Subclass that instead.",
            FutureWarning,
        )
        for name, child in kwargs.items():
            self.add_module(name, child)
