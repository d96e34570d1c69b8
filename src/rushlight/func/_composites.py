"""vmap: the few composites that read values of their arguments run once for each element."""

from __future__ import annotations

import functools
from typing import Any

from .. import _core, base
from ..autograd import levels
from ..autograd.levels import Batch, Level, batch
from ..ops._op import OPS, namespace
from ._pytree import tree_flatten, tree_map, tree_unflatten

__all__: list[str] = []

_Tensor = _core.Tensor


def _level(args: Any) -> Level | None:
    w = levels.youngest([a for a in args if isinstance(a, (_Tensor, list, tuple))])
    while w is not None and not isinstance(w, Batch):
        w = w.value._watched
    return None if w is None else w.level


def _by_element(function: Any) -> Any:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        level = _level((*args, *kwargs.values()))
        if level is None:
            return function(*args, **kwargs)

        def element(a: Any, i: int) -> Any:
            value = levels.batched_at(a, level) if isinstance(a, _Tensor) else None
            return a if value is None else value[i]

        rows = []
        for i in range(level.size):
            at = functools.partial(element, i=i)
            rows.append(tree_flatten(run(*tree_map(at, args), **tree_map(at, kwargs))))
        stack = namespace("torch")["stack"]
        columns = zip(*(leaves for leaves, _ in rows), strict=True)
        joined = [
            batch(level, stack(list(c))) if isinstance(c[0], _Tensor) else c[0] for c in columns
        ]
        return tree_unflatten(joined, rows[0][1])

    return run


def _replace(name: str) -> None:
    entry = OPS.get(name)
    if entry is None or entry.kind != "composite":
        return
    old = entry.function
    new = _by_element(old)
    entry.function = new
    names = namespace(entry.namespace)
    for key in [k for k, v in names.items() if v is old]:
        names[key] = new
        if vars(base).get(key) is old:
            setattr(base, key, new)
    if vars(_Tensor).get(name) is old:
        setattr(_Tensor, name, new)


for _name in "embedding_bag grid_sample lu quantile nanquantile".split():
    _replace(_name)
