"""Classes with `__torch_dispatch__`: tensors that hold others, and say what an op does with them.

`Tensor._make_wrapper_subclass` makes such a tensor, which has a shape and a type and no values. A
call with the tensor reaches the class as the name of an op (`torch.ops.aten.cat.default`), below
the class's `__torch_function__`. A function that PyTorch splits into several ops arrives in parts
where `_PARTS` has it, and whole otherwise. No gradient is recorded of such a tensor: making a
tensor that wants a gradient raises an error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from .. import _core
from .. import _root as rl
from .._core import Tensor
from ..ops.table.aten import OpOverload
from ..ops.table.signature import read

__all__ = ["make_wrapper_subclass"]

_plain = _core._disabled_torch_function_impl


def make_wrapper_subclass(
    cls: object,
    size: Any,
    strides: Any = None,
    storage_offset: int | None = None,
    memory_format: object = None,
    dtype: object = None,
    layout: object = rl.strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    **rest: object,
) -> Any:
    """A tensor of the class with this shape and type, and no values: the class holds them."""
    name = getattr(cls, "__name__", cls)
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(f"cls must be a type deriving from torch.Tensor, got {name}")
    if not hasattr(cls, "__torch_dispatch__"):
        raise TypeError(f"_make_wrapper_subclass: {name} has no __torch_dispatch__")
    if requires_grad:
        raise NotImplementedError(
            f"{name} is a class with __torch_dispatch__, of which rushlight records no gradient: "
            "make it with requires_grad=False, or define __torch_function__ instead."
        )
    if layout is not None and layout is not rl.strided:
        raise NotImplementedError(
            f"{name}: a class with __torch_dispatch__ is strided in rushlight, not {layout}."
        )
    how: dict[str, Any] = {"dtype": dtype or rl.get_default_dtype(), "device": "meta"}
    shape = rl.Size(size)
    within = rl.empty(shape, **how) if strides is None else rl.empty_strided(shape, strides, **how)
    if storage_offset:
        within = within.as_strided(within.size(), within.stride(), storage_offset)
    _prepare(cls)
    made = Tensor._make_subclass(cls, within)
    made.__dict__["_dispatch_device"] = rl.device(device or rl.get_default_device())
    return made


def _prepare(cls: Any) -> None:
    """Let the class take calls over, unless its own `__torch_function__` stands above."""
    owner = next(c for c in cls.__mro__ if "__torch_function__" in vars(c))
    own = vars(owner)["__torch_function__"]
    if owner is Tensor or getattr(own, "__func__", own) is _plain:
        cls.__torch_function__ = classmethod(_answer)


def _answer(cls: Any, func: Any, types: object, args: Any = (), kwargs: Any = None) -> object:
    """The result of a call; of an op, the answer of the class."""
    kwargs = kwargs or {}
    if func.__name__ in ("__get__", "__set__", "__delete__"):
        return _attribute(func, types, args, kwargs)
    parts = _PARTS.get(func.__name__)
    if parts is not None:
        return parts(*args, **kwargs)
    entry = getattr(_OPERATORS.get(func.__name__, func), "entry", None)
    if entry is None and type(func) is _core.Public:  # Python in terms of ops
        return _core.skip_one_hop(func, types, args, kwargs)
    if entry is None:
        result = _plain(func, types, args, kwargs)
        if isinstance(result, Tensor):
            raise NotImplementedError(f"{func.__name__} of a {cls.__name__}: it has no values.")
        return result
    given = _rest(entry.signature, len(args))
    if given < len(args) and not isinstance(args[given], (list, tuple)):
        args = (*args[:given], list(args[given:]))  # sizes and dimensions are a list there
    of_two = entry.kind == "pointwise" and len(args) > 1
    name = func.__name__.strip("_") if func.__name__ in _OPERATORS else func.__name__
    return call(OpOverload(name, "Tensor" if of_two else "default"), *args, **kwargs)


@cache
def _rest(signature: str, count: int) -> int:
    """From which argument on there is a list of what the call spells out; count: there is none."""
    parts = read(signature).params
    return next((i for i, part in enumerate(parts) if part.variable), count)


def _attribute(func: Any, types: object, args: Any, kwargs: object) -> object:
    name = func.__self__.__name__
    if func.__name__ == "__get__":
        if name == "device":
            return args[0].__dict__["_dispatch_device"]
        if name == "data":
            return call(OpOverload("detach"), args[0])
        if name in ("T", "mT") and args[0].dim() == 2:
            return call(OpOverload("t"), args[0])
    return _plain(func, types, args, kwargs)


def _takers(value: object, found: dict[object, None]) -> dict[Any, None]:
    """The classes among arguments, and in lists of them, that are asked."""
    if isinstance(value, Tensor):
        if hasattr(type(value), "__torch_dispatch__"):
            found[type(value)] = None
    elif isinstance(value, (list, tuple)):
        for each in value:
            _takers(each, found)
    return found


def call(op: OpOverload, *args: object, **kwargs: object) -> Any:
    """An op, as the classes of its arguments say; the op itself where none is asked."""
    classes = tuple(_takers([*args, *kwargs.values()], {}))
    for cls in sorted(classes, key=lambda c: -len(c.__mro__)):
        result = cls.__torch_dispatch__(op, classes, args, kwargs)
        if result is not NotImplemented:
            return result
    if not classes:
        return op(*args, **kwargs)
    raise TypeError(
        f"Multiple dispatch failed for 'torch.ops.{op}'; all __torch_dispatch__ handlers returned "
        f"NotImplemented: {', '.join(c.__name__ for c in classes)}"
    )


# ---- calls that are other ops, or several


def _item(x: Any, index: Any) -> Any:
    """x[index]: a selection, a slice or an index of each part."""
    parts = list(index) if isinstance(index, tuple) else [index]
    parts = [rl.tensor(p) if isinstance(p, (list, bool)) else p for p in parts]
    taken = sum(
        p.dim() if isinstance(p, Tensor) and p.dtype is rl.bool else p is not None
        for p in parts
        if p is not Ellipsis
    )
    dim, lists = 0, {}
    for p in parts:
        if p is Ellipsis:
            dim += x.dim() - taken
            continue
        if isinstance(p, Tensor):
            lists[dim] = p
            dim += p.dim() if p.dtype is rl.bool else 1
            continue
        if p is None:
            x = call(OpOverload("unsqueeze"), x, dim)
        elif not isinstance(p, slice):
            x = call(OpOverload("select", "int"), x, dim, int(p))
            taken -= 1
            continue
        elif p != slice(None):
            step = 1 if p.step is None else p.step
            x = call(OpOverload("slice", "Tensor"), x, dim, p.start, p.stop, step)
        dim += 1
        taken += p is None
    if lists:
        index = [lists.get(d) for d in range(max(lists) + 1)]
        return call(OpOverload("index", "Tensor"), x, index)
    return call(OpOverload("alias"), x) if all(p == slice(None) for p in parts) else x


def _set_item(x: Any, index: object, value: object) -> None:
    """x[index] = value: a copy into the part, or into what lists of indices name."""
    parts = list(index) if isinstance(index, tuple) else [index]
    value = value if isinstance(value, Tensor) else rl.tensor(value, dtype=x.dtype)
    if not any(isinstance(p, (Tensor, list)) for p in parts):
        call(OpOverload("copy_"), _item(x, index), value)
        return
    if not all(isinstance(p, (Tensor, list)) or p == slice(None) for p in parts):
        raise NotImplementedError("x[index] = value of a class with __torch_dispatch__: one kind")
    lists = [None if isinstance(p, slice) else rl.as_tensor(p) for p in parts]
    call(OpOverload("index_put_"), x, lists, value)


def _narrow(x: object, dim: int, start: int, length: int) -> object:
    return call(OpOverload("slice", "Tensor"), x, dim, start, start + length)


def _to(x: Any, *args: Any, **kwargs: object) -> Any:
    other = args[0] if args and isinstance(args[0], Tensor) else None
    wanted = {k: v for k, v in kwargs.items() if k in ("dtype", "device") and v is not None}
    for value in (other.device, other.dtype) if other is not None else args[:2]:
        if isinstance(value, rl.dtype):
            wanted["dtype"] = value
        elif not isinstance(value, bool) and value is not None:
            wanted["device"] = rl.device(value)
    now = {"dtype": x.dtype, "device": x.device}
    if not kwargs.get("copy") and all(now[k] == v for k, v in wanted.items()):
        return x
    return call(OpOverload("_to_copy"), x, **wanted)


def _cast(dtype: object) -> Callable[..., Any]:
    return lambda x, **kwargs: _to(x, dtype)


def _matmul(x: Any, y: Any) -> Any:
    name = {(2, 2): "mm", (2, 1): "mv", (3, 3): "bmm", (1, 1): "dot"}.get((x.dim(), y.dim()))
    return call(OpOverload(name or "matmul"), x, y)


def _rmatmul(x: object, y: object) -> object:
    return _matmul(y, x)


_OPERATORS: dict[str, object] = {
    f"__{n}__": getattr(rl, n) for n in "eq ne lt le gt ge neg".split()
}
_PARTS: dict[str, Callable[..., object]] = {
    "__getitem__": _item,
    "__setitem__": _set_item,
    "narrow": _narrow,
    "detach": lambda x: call(OpOverload("detach"), x),
    "to": _to,
    "type_as": _to,
    "cpu": lambda x, **kwargs: _to(x, "cpu"),
    "matmul": _matmul,
    "__matmul__": _matmul,
    "__rmatmul__": _rmatmul,
    "pin_memory": lambda x, *args: call(OpOverload("_pin_memory"), x),
    "item": lambda x: call(OpOverload("_local_scalar_dense"), x),
    **{
        name: _cast(getattr(rl, kind))
        for name, kind in (
            *(("int", "int32"), ("long", "int64"), ("short", "int16"), ("char", "int8")),
            *(("byte", "uint8"), ("bool", "bool"), ("half", "float16"), ("float", "float32")),
            *(("double", "float64"), ("bfloat16", "bfloat16")),
        )
    },
}
