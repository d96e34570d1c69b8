"""vmap: `x[key]` and `x[key] = value` where an index tensor has a batch of its own.

Such an index means one thing for each element: the batch of x is indexed along with it, by an
arange. Everything else goes through `ops/indexing.py`, whose steps are ops.
"""

from __future__ import annotations

from typing import Any

from .. import _core
from ..autograd import levels
from ..autograd.levels import Batch, Level
from ..ops import indexing
from ..ops._op import namespace

__all__: list[str] = []

_Tensor = _core.Tensor
_T = namespace("torch")


def _batched_level(key: Any) -> Level | None:
    """The youngest level at which an index tensor of a key is batched."""
    w = levels.youngest(key if isinstance(key, tuple) else (key,))
    return w.level if isinstance(w, Batch) else None


def _get(x: Any, key: Any) -> Any:
    level = _batched_level(key)
    if level is None:
        return indexing.get_item(x, key)
    w = x._watched
    if w is not None and w.level.number > level.number:
        if isinstance(w, Batch):
            return levels.batch(w.level, _get(w.value, _behind(key)))
        return levels.dual(w.level, _get(w.value, key), _get(w.tangent, key))
    rows, indices, first, rest = _lined_up(x, key, level)
    found = indexing.get_item(rows, indices)
    result = levels.batch(level, found)
    return _moved(result, result.ndim - rest, first)


def _behind(key: Any) -> Any:
    return (slice(None), *(key if isinstance(key, tuple) else (key,)))


def _moved(t: Any, n: int, first: int) -> Any:
    """The indexed dimensions, which come first, where the program expects them."""
    return t if first == 0 else t.movedim(tuple(range(n)), tuple(range(first, first + n)))


def _lined_up(x: Any, key: Any, level: Level) -> tuple[Any, tuple[Any, ...], int, int]:
    """(values with the batch and the indexed dimensions in front, the index of those, where their
    result goes, how many dimensions are left)."""
    items = list(key) if isinstance(key, tuple) else [key]
    given = sum(1 for i in items if i is not None and i is not Ellipsis)
    if Ellipsis in [i for i in items if not isinstance(i, _Tensor)]:
        at = next(k for k, i in enumerate(items) if i is Ellipsis)
        items[at : at + 1] = [slice(None)] * (x.ndim - given)
    simple = tuple(slice(None) if isinstance(i, (_Tensor, list)) else i for i in items)
    view = indexing.get_item(x, simple)
    dims, tensors, dim = [], [], 0
    for i in items:
        if isinstance(i, (_Tensor, list)):
            t = i if isinstance(i, _Tensor) else _T["tensor"](i)
            if t.dtype.name == "bool":
                raise RuntimeError(
                    "vmap: We do not support batching operators that can support dynamic shape. "
                    "Attempting to batch over indexing with a boolean mask. "
                    "Use torch.where instead."
                )
            dims.append(dim)
            tensors.append(t)
        if not isinstance(i, int) or isinstance(i, bool):
            dim += 1
    adjacent = dims[-1] - dims[0] == len(dims) - 1
    front = view.movedim(tuple(dims), tuple(range(len(dims))))
    value = levels.batched_at(front, level)
    ndim = max(t.ndim for t in tensors)
    indices: list[Any] = []
    for t in tensors:
        inside = levels.batched_at(t, level)
        if inside is not None:
            t = inside.reshape(inside.shape[:1] + (1,) * (ndim - t.ndim) + inside.shape[1:])
        indices.append(t)
    if value is not None:
        indices.insert(0, _T["arange"](level.size).reshape(-1, *(1,) * ndim))
    rows = front if value is None else value
    return rows, tuple(indices), dims[0] if adjacent else 0, view.ndim - len(dims)


def _set(x: Any, key: Any, value: Any) -> None:
    level = _batched_level(key)
    if level is None:
        indexing.set_item(x, key, value)
        return
    w = x._watched
    if w is not None and w.level.number > level.number:
        raise RuntimeError("vmap: a write at batched indices through a younger transform")
    rows, indices, first, rest = _lined_up(x, key, level)
    if levels.batched_at(x, level) is None:
        raise RuntimeError(
            "vmap: index_put_(self, *extra_args) is not possible because there exists a Tensor "
            "`indices` in extra_args that has more elements than `self`. This happened due to "
            "`indices` being vmapped over but `self` not being vmapped over in a vmap. Please try "
            "to use out-of-place operators instead of index_put_. If said operator is being called "
            "inside the PyTorch framework, please file a bug report instead."
        )
    if isinstance(value, _Tensor):
        n = max(t.ndim for t in indices) - 1
        inside = levels.batched_at(value, level)
        if first and value.ndim > rest:
            raise RuntimeError("vmap: a write at batched indices behind other dimensions")
        if inside is not None:
            value = inside.reshape(
                inside.shape[:1] + (1,) * (n + rest - value.ndim) + inside.shape[1:]
            )
    indexing.set_item(rows, indices, value)


_core.register(callbacks={"getitem": _get, "setitem": _set})
