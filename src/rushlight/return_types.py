"""The named tuples of ops with several results: `torch.return_types.max(values=, indices=)`."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any

from ._missing import missing_name as _missing_name

__all__: list[str] = []


class _Named(tuple[Any, ...]):
    """A tuple whose items have names."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()
    n_fields = n_sequence_fields = n_unnamed_fields = 0

    def __new__(cls, items: Iterable[Any]) -> _Named:
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
        return type(self), (tuple(self),)


def named(name: str, *fields: str) -> type[_Named]:
    """The tuple class of an op's results, entered in this module under the op's name."""
    made = globals().get(name)
    if isinstance(made, type) and issubclass(made, _Named):
        return made
    body: dict[str, Any] = {
        "__slots__": (),
        "__module__": __name__,
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
    __all__.append(name)
    return made


__getattr__ = _missing_name(__name__)
