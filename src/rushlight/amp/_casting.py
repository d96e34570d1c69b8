"""Which calls autocast changes, and how: the mode that sees every public call while it is on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from .. import _core
from .. import _root as rl
from .._base import dtypes
from .._core import Tensor
from ..ops.table.names import namespace
from ..ops.table.statement import OPS, casts_of, row_of

__all__ = ["Caster", "lower", "state"]

# Beside what the table says (`autocast=`): functions without a row, and two operators (the division
# of a number is a reciprocal).
_MORE = {
    "low": "__rmatmul__",
    "float32 here": "grid_sampler",
    "float32 there": "__rtruediv__ native_layer_norm",
    "widest there": "index_put",
}

_Kind = Callable[[list[Tensor], str], dtypes.dtype]


class _State(threading.local):
    """The settings of autocast on this thread, by kind of device."""

    def __init__(self) -> None:
        self.enabled: dict[str, bool] = {}
        self.types: dict[str, dtypes.dtype] = {"cpu": dtypes.bfloat16}
        self.keeps = True  # whether the casts of leaves are kept until the outermost block ends
        self.nesting = 0
        self.entered = False  # whether the mode is among those of the thread
        self.kept: dict[tuple[int, dtypes.dtype], tuple[Tensor, Tensor]] = {}


state = _State()


def _told() -> Iterator[tuple[object, Mapping[str, str]]]:
    """Each function and method that autocast changes, with what the table says."""
    spaces = [namespace(name) for name in ("torch", "linalg", "fft", "nn")]
    for place in (*map(dict, spaces), vars(Tensor)):
        for name, f in place.items():
            in_place = name[:3] == "__i" or (name[-1] == "_" and name[:2] != "__")
            row = None if in_place else row_of(f)
            if row is None and isinstance(f, _core.Public) and not in_place:
                row = OPS.get(f.__name__)  # of torch's form of a function of nn
            if row is not None and row.autocast:
                yield f, row.autocast
        for words, names in _MORE.items():
            for name in names.split():
                if name in place:
                    yield place[name], casts_of(words, name)


class Caster:
    """The mode: it casts the arguments of the functions above, and leaves the calls inside others
    to be seen in turn."""

    told: ClassVar[dict[Any, Mapping[str, str]]] = {}

    def __init__(self) -> None:
        if not self.told:
            self.told.update(_told())

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        on = [kind for kind, enabled in state.enabled.items() if enabled]
        told = self.told.get(func)
        if not on or (told and told.get("here") == "none"):
            return _core.skip_one_hop(func, types, args, kwargs)
        wanted = None
        if told:
            tensors = _tensors((*args, *kwargs.values()))
            there = (t.device.type for t in tensors)
            where = on[0] if len(on) == 1 else next((d for d in there if d in on), on[0])
            wanted = _KINDS.get(told.get("here" if where == "cpu" else "there", ""))
        if wanted is not None and kwargs.get("out") is None:
            kind = wanted(tensors, where)
            args = tuple(_cast(a, kind, where) for a in args)
            kwargs = {name: _cast(a, kind, where) for name, a in kwargs.items()}
            return _core.skip_one_hop(func, types, args, kwargs)
        _core.enter_mode(self)  # while a mode answers it is not asked
        try:
            return _core.skip_one_hop(func, types, args, kwargs)
        finally:
            _core.leave_mode()


def lower(where: str) -> dtypes.dtype:
    """The lower precision of a kind of device."""
    return state.types.get(where, dtypes.float16)


def _eligible(t: Tensor, where: str) -> bool:
    return t.is_floating_point() and t.dtype is not dtypes.float64 and t.device.type == where


def _tensors(values: Any) -> list[Tensor]:
    found = []
    for v in values:
        if isinstance(v, Tensor):
            found.append(v)
        elif isinstance(v, (list, tuple)):
            found += _tensors(v)
    return found


def _widest(tensors: list[Tensor], where: str) -> dtypes.dtype:
    types = {t.dtype for t in tensors if _eligible(t, where)}
    return dtypes.float32 if dtypes.float32 in types else lower(where)


_KINDS: dict[str, _Kind] = {
    "low": lambda tensors, where: lower(where),
    "float32": lambda tensors, where: dtypes.float32,
    "widest": _widest,
}


def _cast(value: object, kind: dtypes.dtype, where: str) -> object:
    """An argument with its eligible tensors in a type."""
    if isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) for v in value):
        return type(value)(_cast(v, kind, where) for v in value)
    if not isinstance(value, Tensor) or not _eligible(value, where) or value.dtype is kind:
        return value
    leaf = value.is_leaf and value.requires_grad and not value._is_view()
    if not (leaf and state.keeps and kind is lower(where) and rl.is_grad_enabled()):
        return value.to(kind)
    key = id(value), kind
    if key not in state.kept:  # a weight used twice is cast once, and its gradients meet there
        state.kept[key] = value, value.to(kind)
    return state.kept[key][1]
