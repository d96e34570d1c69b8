"""vmap: composites that are more than ops on their tensors.

A few read values of their arguments, which a batched tensor refuses (`autograd/_opaque_array.py`): those
named here then run once for each element. Those that make new tensors
like another one make one for each element, so that it can be written to.
"""

from __future__ import annotations

import functools
from typing import Any

from .. import _core
from .. import _root as base
from ..autograd import _levels as levels
from ..autograd._opaque_array import MEMORY, Unreadable
from ..autograd._levels import Batch, Dual, Level, batch
from ..autograd._running import running
from ..ops.table.statement import OPS, namespace
from ._batching import BY_ELEMENT, warn_of_loop
from ._pytree import tree_flatten, tree_map, tree_unflatten

__all__: list[str] = []

_Tensor = _core.Tensor


def _level(args: Any) -> Level | None:
    w = levels.youngest([a for a in args if isinstance(a, (_Tensor, list, tuple))])
    while w is not None and not isinstance(w, Batch):
        w = w.value._wrapped
    return None if w is None else w.level


def _by_element(function: Any) -> Any:
    """For functions that ask some of their arguments for values: one element after another then."""
    name = getattr(function, "__name__", repr(function))
    BY_ELEMENT.add(name)

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except RuntimeError as error:
            level = _level((*args, *kwargs.values()))
            asked = isinstance(error, Unreadable) or str(error) in (levels._ITEM, levels._FLOW)
            if level is None or not asked:
                raise
        warn_of_loop(name)

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


def _like(function: Any) -> Any:
    """zeros_like and its kind: of a batched tensor, batched."""

    @functools.wraps(function)
    def make(input: Any, *args: Any, **kwargs: Any) -> Any:
        w = input._wrapped if isinstance(input, _Tensor) else None
        while isinstance(w, Dual) and w.level.active:
            input, w = w.value, w.value._wrapped
        if isinstance(w, Batch) and w.level.active:
            return batch(w.level, make(w.value, *args, **kwargs), w.alike)
        return function(input, *args, **kwargs)

    return make


def _new(function: Any) -> Any:
    """x.new_zeros(size) and its kind: of a batched tensor, batched."""

    @functools.wraps(function)
    def make(self: Any, *size: Any, **kwargs: Any) -> Any:
        w = self._wrapped if isinstance(self, _Tensor) else None
        while isinstance(w, Dual) and w.level.active:
            self, w = w.value, w.value._wrapped
        if not isinstance(w, Batch) or not w.level.active:
            return function(self, *size, **kwargs)
        if "size" in kwargs:
            size = (kwargs.pop("size"), *size)
        n = w.level.size
        if size and isinstance(size[0], (tuple, list)):
            return batch(w.level, make(w.value, (n, *size[0]), *size[1:], **kwargs), w.alike)
        return batch(w.level, make(w.value, n, *size, **kwargs), w.alike)

    return make


def _refusing(text: str) -> Any:
    """For functions whose result is a Python value of its own: there is none for a batch."""

    def changed(function: Any) -> Any:
        @functools.wraps(function)
        def refuse(*args: Any, **kwargs: Any) -> Any:
            if running("batch") and any(
                isinstance(a, _Tensor) and _level((a,)) is not None for a in tree_flatten(args)[0]
            ):
                raise RuntimeError(text)
            return function(*args, **kwargs)

        return refuse

    return changed


def _replace(name: str, changed: Any = _by_element) -> None:
    entry = OPS.get(name)
    if entry is None or entry.kind != "composite":
        return
    entry.function = changed(entry.function)
    names = namespace(entry.namespace)
    before = names[name]
    names[name] = after = _in_place_of(before, changed)
    if vars(base).get(name) is before:
        setattr(base, name, after)
    if name in vars(_Tensor):
        _replace_method(name, changed)


def _in_place_of(public: Any, changed: Any) -> Any:
    """The changed function under the same gate."""
    return _core.changed_public(public, changed(public.__wrapped__))


def _replace_method(name: str, changed: Any) -> None:
    setattr(_Tensor, name, _in_place_of(vars(_Tensor)[name], changed))


for _name in "embedding_bag inv_ex lstsq repeat_interleave".split():
    _replace(_name)
for _name in "zeros_like ones_like empty_like full_like".split():
    _replace(_name, _like)
for _name in "new_zeros new_ones new_empty new_full".split():
    _replace_method(_name, _new)
_replace(
    "allclose",
    _refusing(
        "vmap over torch.allclose isn't supported yet. Please file an issue at "
        "https://github.com/pytorch/pytorch/issues if you need this feature."
    ),
)
_replace(
    "equal",
    _refusing("Batching rule not implemented for aten::equal. We could not generate a fallback."),
)
_replace("is_nonzero", _refusing(levels._FLOW))
_replace("tensor", _refusing(levels._ITEM))
for _name, _text in {
    "__format__": levels._ITEM,
    "__contains__": levels._ITEM,
    "tolist": MEMORY,
    "apply_": MEMORY,
    "map_": MEMORY,
}.items():
    _replace_method(_name, _refusing(_text))


def _no_storage(function: Any) -> Any:
    """For what hands out a tensor's memory as a whole: elements of a batch have none."""

    @functools.wraps(function)
    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        w = self._wrapped
        if w is not None and w.level.kind != "forward_ad":
            wrapper = "BatchedTensorImpl" if isinstance(w, Batch) else "TensorWrapper"
            raise NotImplementedError(
                f"Cannot access storage of {wrapper}. Inside a transform a tensor stands for "
                "others; return it from the transformed function and use the result."
            )
        return function(self, *args, **kwargs)

    return refuse


for _name in "__deepcopy__ __reduce_ex__ untyped_storage storage".split():
    _replace_method(_name, _no_storage)
_Tensor._typed_storage = _no_storage(_Tensor._typed_storage)
