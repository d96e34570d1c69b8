"""What a write to a tensor is refused with that a transformed function was not given."""

from __future__ import annotations

from typing import Any

from .. import _core
from .running import transforms
from .structure import plain_parts

__all__ = ["check_captured", "public_name", "refuse_captured", "refuse_requires_grad"]

_Tensor = _core.Tensor


_BY_OTHER = frozenset(
    "bitwise_and_ bitwise_left_shift_ bitwise_or_ bitwise_right_shift_ bitwise_xor_ copysign_ eq_ "
    "fill_ fmod_ ge_ gt_ le_ lerp_ lt_ masked_fill_ ne_ pow_ remainder_".split()
)
_OVERLOADS = {
    **dict.fromkeys("add_ div_ floor_divide_ mul_ sub_".split(), (".Tensor", ".Tensor")),
    **dict.fromkeys(_BY_OTHER, (".Tensor", ".Scalar")),
    **dict.fromkeys("clamp_ clamp_max_ clamp_min_".split(), (".Tensor", "")),
    "xlogy_": (".Tensor", ".Scalar_Other"),
    "_scatter_": (".src", ".src"),
    "_scatter_value_": (".value", ".value"),
    "_fill_tensor_": (".int_Tensor", ".int_Tensor"),
    "_fill_number_": (".int_Scalar", ".int_Scalar"),
    "bernoulli_": (".Tensor", ".float"),
    "randint_": (".from", ".from"),
}


_NAMES = {
    "_fill_tensor_": "index_fill_",
    "_fill_number_": "index_fill_",
    "_scatter_value_": "scatter_",
    "randint_": "random_",
}


def public_name(name: str) -> str:
    """The name that programs know the in-place form of an op by."""
    return _NAMES.get(name) or name.lstrip("_")


def refuse_captured(t: Any, name: str, value: Any) -> None:
    """What a write to a tensor is answered with that the transformed function was not given."""
    overload = _OVERLOADS.get(name, ("", ""))[not isinstance(value, _Tensor)]
    name = public_name(name) + overload
    raise RuntimeError(
        "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call "
        f"in-place operation (aten::{name}) that would mutate a captured Tensor. This is not "
        "supported; please rewrite the function being transformed to explicitly accept the mutated "
        "Tensor(s) as inputs."
    )


def check_captured(t: Any, op: Any, slots: Any) -> None:
    """Raise where a transformed function may not write what a tensor stands for."""
    value = next((a for a in reversed(slots[1:]) if a is not None), None)
    for part in plain_parts(t):
        _core.check_captured(part, op.__name__, value)


def refuse_requires_grad() -> None:
    """What requires_grad_() is answered with inside of a transform."""
    if any(not level.inside for level in transforms()):
        raise RuntimeError(
            "You are attempting to call Tensor.requires_grad_() (or perhaps using "
            "torch.autograd.functional.* APIs) inside of a function being transformed by a "
            "functorch transform. This is unsupported, please attempt to use the functorch "
            "transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside "
            "of a function being transformed instead."
        )
