"""The named tuples of ops with several results: `torch.return_types.max(values=, indices=)`.

A call with `out=` gives another class with the same fields, `torch.return_types.max_out`: made at
its first use.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ._base import pytree as _pytree
from ._base.missing import missing_name as _missing_name
from ._base.pickled import OURS, public_place, root

__all__: list[str] = ["pytree_register_structseq"]
_missing = _missing_name(__name__)
__all__.append("all_return_types")  # made when it is asked for


if TYPE_CHECKING:
    _Fields = tuple[Any, ...]
else:  # no __orig_bases__, by which libraries of types tell a generic class
    _Fields = tuple


class _Named(_Fields):
    """A tuple whose items have names."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()
    n_fields = n_sequence_fields = n_unnamed_fields = 0

    def __new__(cls, items: Iterable[Any], dict: Any = None) -> _Named:
        self = tuple.__new__(cls, items)
        if len(self) != len(cls._fields):
            raise TypeError(
                f"torch.return_types.{cls.__name__}() takes a {len(cls._fields)}-sequence "
                f"({len(self)}-sequence given)"
            )
        return self

    def __repr__(self) -> str:
        items = ",\n".join([f"{n}={v!r}" for n, v in zip(self._fields, self, strict=True)])
        return f"torch.return_types.{type(self).__name__}(\n{items})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self), {})


def named(name: str, *fields: str, out: bool = True) -> type[_Named]:
    """The tuple class of an op's results, entered in this module under the op's name; `out`: there
    is one for calls with `out=`, too."""
    made = globals().get(name)
    if isinstance(made, type) and issubclass(made, _Named):
        return made
    body: dict[str, Any] = {
        "__slots__": (),
        "__module__": __name__ if root() == OURS else public_place(__name__, name),
        "_fields": fields,
        "__match_args__": fields,
        "n_fields": len(fields),
        "n_sequence_fields": len(fields),
        "__doc__": f"What `{name}` gives: ({', '.join(fields)}).",
    }
    for i, field in enumerate(fields):
        body[field] = property(itemgetter(i))
    made = type(name, (_Named,), body)
    globals()[name] = made
    if not (name[0] == "_" or name.endswith("_out")):
        own = [name, f"{name}_out"] if out else [name]
        __all__.extend(n for n in own if n not in __all__)
    return made


def named_out(made: type[tuple[Any, ...]]) -> type[tuple[Any, ...]]:
    """The class of the same results in the tensors of `out=`; of a plain tuple, that itself."""
    if not issubclass(made, _Named) or made.__name__.endswith("_out"):
        return made
    return named(f"{made.__name__}_out", *made._fields)


def expect(files: dict[str, str]) -> None:
    """Classes by name, and the file that makes each: it is imported when the class is asked for."""
    _files.update(files)
    __all__.extend(files)


_files: dict[str, str] = {}


def __getattr__(name: str) -> Any:
    if name == "all_return_types":
        return [globals().get(n) or __getattr__(n) for n in sorted(__all__[2:])]
    if name in _files:
        import_module(_files[name])
        if name in globals():
            return globals()[name]
    if name in __all__:
        return named_out(globals()[name.removesuffix("_out")])
    return _missing(name)


def pytree_register_structseq(cls: type[tuple[Any, ...]]) -> None:
    """Let `torch.utils._pytree` look into tuples of a class; ValueError for a class that it knows,
    such as all classes of this module."""
    if issubclass(cls, _Named):
        raise ValueError(f"{cls} is already registered as pytree node.")
    _pytree.register_pytree_node(cls, lambda t: (list(t), None), lambda items, _: cls(items))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
