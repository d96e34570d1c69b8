"""The types that PyTorch's TorchScript gives values: `torch.IntType.get()`, `torch.ListType(...)`.

Programs compare and print them; nothing here compiles, so nothing here gives one to a value.
"""

from __future__ import annotations

from typing import Any

__all__ = ["TYPES"]


class Type:
    """A type of TorchScript: its name, and the types inside it."""

    _said = ""  # how it prints; {} stands for what it contains
    _parts: tuple[Type, ...] = ()

    def kind(self) -> str:
        """The name of its class."""
        return type(self).__name__

    def str(self) -> str:
        """How TorchScript writes it."""
        return self._said.format(", ".join(part.str() for part in self._parts))

    @property
    def annotation_str(self) -> Any:
        """How an annotation in Python writes it."""
        return self.str()

    def containedTypes(self) -> list[Type]:
        """The types that it is made of."""
        return list(self._parts)

    def isSubtypeOf(self, other: Type) -> bool:
        """Whether each of its values is one of the other type."""
        either = other._parts if type(other).__name__ in ("OptionalType", "UnionType") else (other,)
        return any(self == t or type(t).__name__ == "AnyType" for t in either)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash((type(self), self._parts))

    __repr__ = __str__ = str


def _simple(name: str, said: str) -> type[Type]:
    """A type without parts; there is one, which `get` gives."""
    cls: Any = type(name, (Type,), {"_said": said, "__doc__": f"TorchScript's type {said}."})
    one = cls()
    cls.get = staticmethod(lambda: one)
    return cls


def _made_of(name: str, said: str, takes: int) -> type[Type]:
    """A type made of `takes` others, or of a list of them (0)."""

    def __init__(self: Any, *types: Any) -> None:
        parts = tuple(types[0]) if not takes and len(types) == 1 else types
        if (takes and len(parts) != takes) or not all(isinstance(t, Type) for t in parts):
            wanted = f"{takes} types" if takes else "a list of types"
            raise TypeError(f"torch.{name} takes {wanted}, and got {types}")
        self._parts = parts

    doc = f"TorchScript's type {said.format('...')}."
    cls: Any = type(name, (Type,), {"_said": said, "__init__": __init__, "__doc__": doc})
    if takes == 1:
        cls.getElementType = lambda self: self._parts[0]
    return cls


_SIMPLE = """Any:Any Bool:bool Complex:complex DeviceObj:Device Float:float Int:int None:NoneType
Number:number PyObject:PyObject StreamObj:Stream String:str SymBool:bool SymInt:int Tensor:Tensor"""
_MADE_OF = (
    *(("List", "List[{}]", 1), ("Optional", "Optional[{}]", 1), ("Future", "Future[{}]", 1)),
    *(("Await", "Await[{}]", 1), ("RRef", "RRef[{}]", 1), ("Dict", "Dict[{}]", 2)),
    *(("Tuple", "Tuple[{}]", 0), ("Union", "Union[{}]", 0)),
)
TYPES: dict[str, Any] = {"Type": Type}
for _row in _SIMPLE.split():
    _name, _, _text = _row.partition(":")
    TYPES[f"{_name}Type"] = _simple(f"{_name}Type", _text)
for _name, _text, _count in _MADE_OF:
    TYPES[f"{_name}Type"] = _made_of(f"{_name}Type", _text, _count)
for _name, _cls in TYPES.items():
    _cls.__module__ = "rushlight"
for _name in ("Int", "Float", "Bool", "Tensor", "Complex"):
    for _whole in ("List", "Optional"):
        _one = TYPES[f"{_whole}Type"](TYPES[f"{_name}Type"].get())
        setattr(
            TYPES[f"{_whole}Type"],
            f"of{_name}s" if _whole == "List" else f"of{_name}",
            staticmethod(lambda one=_one: one),
        )
globals().update(TYPES)
