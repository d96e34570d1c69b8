"""Nested state dicts as one dict: `{"a": {"b": 1}}` is `{"a.b": 1}`.

Dicts are taken apart, lists only where a tensor or a dict is in them, tuples never: what is not
taken apart is one value. Empty dicts leave nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple

from ..._core import Tensor

Path = tuple[Any, ...]  # keys of dicts and places in lists


def is_distributed(value: object) -> bool:
    """Whether a value is a part of a tensor that lies over the processes of a mesh (DTensor)."""
    return hasattr(type(value), "to_local") and hasattr(value, "placements")


def is_tensor(value: object) -> bool:
    """Whether a value is stored as a tensor."""
    return isinstance(value, Tensor) or is_distributed(value)


def _is_taken_apart(value: object) -> bool:
    if isinstance(value, Mapping):
        return True
    return isinstance(value, list) and any(is_tensor(v) or _is_taken_apart(v) for v in value)


class Flat(NamedTuple):
    """A state dict's values by name, the keys that lead to each, and those keys as files have them:
    a dict's as text, a list's as numbers."""

    values: dict[str, Any]
    keys: dict[str, Path]
    paths: dict[str, Path]


def _walk(value: Any, keys: Path, path: Path) -> Iterator[tuple[Path, Path, object]]:
    if path and not _is_taken_apart(value):
        yield keys, path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _walk(inner, (*keys, key), (*path, str(key)))
    else:
        for place, inner in enumerate(value):
            yield from _walk(inner, (*keys, place), (*path, place))


def flatten(state_dict: Mapping[Any, object]) -> Flat:
    """A state dict as one dict. Raises ValueError where two values have the same name."""
    flat = Flat({}, {}, {})
    for keys, path, value in _walk(state_dict, (), ()):
        name = ".".join(map(str, path))
        if name in flat.values:
            raise ValueError(f"duplicated flatten key {name}")
        flat.values[name], flat.keys[name], flat.paths[name] = value, keys, path
    return flat


def set_at(state: Any, path: Path, value: Any) -> None:
    """Put a value at its path in a nested state dict that has the path."""
    for key in path[:-1]:
        state = state[key]
    state[path[-1]] = value


def nested(values: Mapping[str, object], paths: Mapping[str, Path]) -> dict[str, Any]:
    """The nested state dict of values by name: what is taken apart by numbers is a list."""
    root: dict[Any, object] = {}
    for name, value in values.items():
        inner: MutableMapping[Any, Any] = root
        *above, last = paths.get(name, (name,))
        for key in above:
            inner = inner.setdefault(key, {})
        inner[last] = value
    return {key: _with_lists(value) for key, value in root.items()}


def _with_lists(value: object) -> object:
    if type(value) is not dict or not value:
        return value
    inner = {key: _with_lists(each) for key, each in value.items()}
    if all(type(key) is int for key in inner):
        return [inner.get(place) for place in range(max(inner) + 1)]
    return inner
