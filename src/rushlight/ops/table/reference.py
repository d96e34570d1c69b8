"""For reference implementations: halves are computed in float32, NumPy's warnings silenced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _core
from ..._base.dtypes import float32
from ..._base.outside import np, np_types
from ..._core import Tensor
from .arrays import Array, is_half
from .names import namespace, publish

__all__ = ["add_method", "alias", "is_float", "wide", "widened"]


def wide(tensor: Tensor) -> Tensor:
    """The tensor for a definition that rounds once: halves as float32."""
    half = tensor.dtype.is_floating_point and tensor.dtype.itemsize == 2
    return tensor.to(float32) if half else tensor


def is_float(array: Array) -> bool:
    """Whether the elements are real floating-point numbers."""
    return array.dtype.kind == "f" or is_half(array)  # bfloat16 is among NumPy's void types


def _is_half_array(value: object) -> bool:
    return isinstance(value, np_types.ndarray) and is_half(value)


def widened(definition: Callable[..., Any], takes_halves: bool = False) -> Callable[..., Any]:
    """`definition`, given halves as float32 arrays, its float32 result rounded back."""

    def reference(*args: Any) -> Any:
        half = None
        for a in args:
            if _is_half_array(a):
                half = a.dtype
                break
        with np.errstate(all="ignore"):
            if half is None or takes_halves:
                return definition(*args)
            wide = [a.astype(np.float32) if _is_half_array(a) else a for a in args]
            result = definition(*wide)
            return result.astype(half) if getattr(result, "dtype", None) == np.float32 else result

    vars(reference)["__wrapped__"] = definition  # for `inspect.unwrap`
    return reference


def add_method(name: str, member: Any, doc: str | None = None, *, function: bool = False) -> None:
    """Put a function or a property among Tensor's members; `function`: in torch, too."""
    if doc is not None:
        member.__doc__ = doc
    publish("Tensor", name, member)
    if function:
        publish("torch", name, member)


def alias(
    name: str, function: Any, *, method: bool = True, where: str = "torch", in_place: bool = True
) -> None:
    """Another public name of an op, and of its in-place variant if there is a variant. in_place:
    also of torch's function for the variant. where: namespaces, as in a statement."""
    for space in where.split(" "):
        publish(space, name, function)
    if not method:
        return
    add_method(name, _core.make_public(function, True))
    form = getattr(_core.Tensor, f"{function.__name__}_", None)
    if form is not None:
        publish("Tensor", f"{name}_", form)
        if in_place and f"{function.__name__}_" in namespace("torch"):
            publish("torch", f"{name}_", form)
