"""Dictionaries that hold their keys weakly and tell them apart by identity, not by `==`."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from .._base.missing import missing_name as _missing_name

__all__ = [
    "TensorWeakRef",
    "WeakIdKeyDictionary",
    "WeakIdRef",
    "WeakTensorKeyDictionary",
    "WeakTensorRefKey",
]


class WeakIdRef(weakref.ref[Any]):
    """A weak reference that is equal to one of the same object."""

    __slots__ = ("_id",)

    def __init__(self, key: object, callback: Callable[[Any], object] | None = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, theirs = self(), other() if isinstance(other, weakref.ref) else None
        if mine is not None and theirs is not None:
            return mine is theirs
        return self is other

    def __ne__(self, other: object) -> bool:
        return not self == other


class TensorWeakRef:
    """A weak reference to a tensor."""

    def __init__(self, tensor: object) -> None:
        self.ref: weakref.ref[Any] = weakref.ref(tensor)

    def __call__(self) -> Any:
        return self.ref()


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary of objects that go with their entry when nothing else has them."""

    def __init__(self, dict: Any = None, ref_type: Any = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        mine = weakref.ref(self)

        def remove(key: object) -> None:
            here = mine()
            if here is not None:
                here.data.pop(key, None)

        self._remove = remove
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: object, value: object) -> None:
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key: object) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # it cannot be referred to weakly
            return False

    def __iter__(self) -> Iterator[Any]:
        for ref in list(self.data):
            key = ref()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def copy(self) -> WeakIdKeyDictionary:
        """Another one with the same entries."""
        made = WeakIdKeyDictionary()
        made.update(self)
        return made

    __copy__ = copy

    def keyrefs(self) -> list[Any]:
        """The references to the keys."""
        return list(self.data)


WeakTensorKeyDictionary: type[WeakIdKeyDictionary] = WeakIdKeyDictionary
WeakTensorRefKey: type[WeakIdRef] = WeakIdRef

__getattr__ = _missing_name(__name__)
