"""Lists and dicts that cannot be changed: what the arguments of a node are kept in."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from .._base import pytree as _pytree
from .._base.missing import missing_name as _missing_name

__all__ = ["immutable_dict", "immutable_list"]

_T = TypeVar("_T")
_K = TypeVar("_K")


def _refuse(self: object, *args: object, **kwargs: object) -> NoReturn:
    raise TypeError(
        f"{type(self).__name__!r} object does not support mutation. "
        "If you are attempting to modify the kwargs or args of a torch.fx.Node object,\n"
        "instead create a new copy of it and assign the copy to the node:\n\n"
        "    new_args = ...  # copy and mutate args\n"
        "    node.args = new_args"
    )


class immutable_list(list[_T]):
    """A list that raises TypeError where it would be changed.

    >>> torch.fx.immutable_collections.immutable_list([1, 2])[0]
    1
    """

    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return type(self), (tuple(self),)


class immutable_dict(dict[_K, _T]):
    """A dict that raises TypeError where it would be changed.

    >>> torch.fx.immutable_collections.immutable_dict(dim=1)
    {'dim': 1}
    """

    __delitem__ = __ior__ = __setitem__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return type(self), (tuple(self.items()),)


_pytree.register_pytree_node(
    immutable_list, lambda v: (list(v), None), lambda v, _: immutable_list(v)
)
_pytree.register_pytree_node(
    immutable_dict,
    lambda v: (list(v.values()), list(v)),
    lambda v, keys: immutable_dict(zip(keys, v, strict=True)),
)

__getattr__ = _missing_name(__name__)
