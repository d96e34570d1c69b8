"""From a list of samples to a batch: the same structure, its tensors one dimension more."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

from rushlight import _root as rl
from rushlight._base.errors import taking_pytorchs
from rushlight._root import Tensor

from ..._base.outside import np, np_types

_CANNOT = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)

Map = dict[Any, Callable[..., Any]]  # a type, or several, and how its samples are joined


def _tensors(batch: Any, *, collate_fn_map: object = None) -> Tensor:
    return rl.stack(list(batch), 0)


def _arrays(batch: Any, *, collate_fn_map: Any = None) -> object:
    if batch[0].dtype.kind in "SUO":
        raise TypeError(_CANNOT.format(batch[0].dtype))
    kinds = {(type(array), array.dtype, array.shape) for array in batch}
    if (
        len(kinds) == 1
        and type(batch[0]) is np.ndarray
        and collate_fn_map is default_collate_fn_map
    ):
        return rl.from_numpy(np.stack(batch))
    return collate([rl.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def _numpy_scalars(batch: object, *, collate_fn_map: object = None) -> Tensor:
    return rl.as_tensor(np.asarray(batch))


def _floats(batch: object, *, collate_fn_map: object = None) -> Tensor:
    return rl.tensor(batch, dtype=rl.float64)


def _ints(batch: object, *, collate_fn_map: object = None) -> Tensor:
    return rl.tensor(batch)


def _unchanged(batch: object, *, collate_fn_map: object = None) -> object:
    return batch


default_collate_fn_map: Map = {
    rl.Tensor: _tensors,
    np_types.ndarray: _arrays,
    (np_types.bool_, np_types.number, np_types.object_): _numpy_scalars,
    float: _floats,
    int: _ints,
    str: _unchanged,
    bytes: _unchanged,
}


def collate(batch: Any, *, collate_fn_map: Map | None = None) -> Any:
    """Batches samples of any nesting; `collate_fn_map` says what to do with which type of leaf."""
    first = batch[0]
    kind = type(first)
    leaves = collate_fn_map or {}
    if kind in leaves:
        return leaves[kind](batch, collate_fn_map=collate_fn_map)
    for leaf, function in leaves.items():
        if isinstance(first, leaf):
            return function(batch, collate_fn_map=collate_fn_map)

    def inner(samples: object) -> object:
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        merged = {key: inner([sample[key] for sample in batch]) for key in first}
        return _like(first, merged, lambda clone: clone.update(merged), MutableMapping)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(inner(column) for column in zip(*batch, strict=True)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [inner(column) for column in zip(*batch, strict=True)]
        if isinstance(first, tuple):
            return columns

        def fill(clone: Any) -> None:
            for i, column in enumerate(columns):
                clone[i] = column

        return _like(first, columns, fill, MutableSequence)
    raise TypeError(_CANNOT.format(kind) + taking_pytorchs(first))


def _like(first: Any, content: object, fill: Callable[[Any], None], mutable: type) -> object:
    """`content` in a container of the type of `first`, where that type can be made; as it is
    elsewhere.
    """
    if type(first) is type(content):
        return content
    try:
        if isinstance(first, mutable):  # a copy keeps what else the container carries
            clone = copy.copy(first)
            fill(clone)
            return clone
        return type(first)(content)
    except TypeError:
        return content


def default_collate(batch: object) -> Any:
    """Batches samples: tensors, arrays and numbers become tensors; dicts, lists and tuples keep
    their form.

    >>> torch.utils.data.default_collate([(1, "a"), (2, "b")])
    [tensor([1, 2]), ('a', 'b')]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def default_convert(data: object) -> Any:
    """One sample with its NumPy arrays made tensors: what a loader does when it does not batch.

    >>> torch.utils.data.default_convert({"x": np.array([1.0, 2.0]), "name": "a"})
    {'x': tensor([1., 2.], dtype=torch.float64), 'name': 'a'}
    """
    if isinstance(data, rl.Tensor):
        return data
    if isinstance(data, (np_types.ndarray, np_types.bool_, np_types.number)):
        kind = data.dtype.kind
        return data if kind in "SUO" else rl.as_tensor(data)
    if isinstance(data, Mapping):
        converted = {key: default_convert(value) for key, value in data.items()}
        return _like(data, converted, lambda clone: clone.update(converted), MutableMapping)
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(value) for value in data))
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        values = [default_convert(value) for value in data]

        def fill(clone: Any) -> None:
            for i, value in enumerate(values):
                clone[i] = value

        return _like(data, values, fill, MutableSequence)
    return data
