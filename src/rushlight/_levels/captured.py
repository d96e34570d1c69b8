"""Refusals of writes to tensors that a transformed function was not given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Op, Tensor
from ..ops.table.documentation import signatures
from .running import transforms
from .structure import plain_parts

__all__ = ["check_captured", "in_place_name", "refuse_captured", "refuse_requires_grad"]


def in_place_name(op: Op, value: object) -> str:
    """PyTorch's name of an in-place op whose last argument is `value`, with the overload."""
    said: list[str] = op.base.entry.aten.split(" | ")
    name: str = op.__name__.lstrip("_")
    if said == [""]:
        return name + _overload(signatures(op.base), isinstance(value, Tensor))
    return said[0] if isinstance(value, Tensor) else said[-1]


def _overload(listed: Any, tensor: bool) -> str:
    """The overload that PyTorch takes for a tensor or a number as the last argument. An op without
    an `out` for numbers, or with a common signature, makes a tensor of the number."""
    takes_out: dict[str, bool] = {}
    for signature in listed:
        first, *more = [p for p in signature.params if not p.keyword_only]
        if more and "Tensor" in first.types:
            for kind in more[-1].types:
                takes_out.setdefault(kind, any(p.name == "out" for p in signature.params))
    if takes_out.keys() < {"Tensor", "Number"}:
        return ""
    if len(listed) == 1:
        return ".Tensor" if len(more) == 1 and "Number" in first.types else ""
    return ".Tensor" if tensor or takes_out["Tensor"] != takes_out["Number"] else ".Scalar"


def refuse_captured(t: Tensor, written: Any, value: object) -> None:
    """Raise what a write is answered with to a tensor that the transformed function was not given.
    `written`: the in-place op, or PyTorch's name of it; `value`: its last argument."""
    name = written if isinstance(written, str) else in_place_name(written, value)
    raise RuntimeError(
        "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call "
        f"in-place operation (aten::{name}) that would mutate a captured Tensor. This is not "
        "supported; please rewrite the function being transformed to explicitly accept the mutated "
        "Tensor(s) as inputs."
    )


def check_captured(t: Tensor, op: Op, args: Sequence[Any]) -> None:
    """Raise where a transformed function may not write what a tensor stands for."""
    value = next((a for a in reversed(args[1:]) if a is not None), None)
    for part in plain_parts(t):
        _core.check_captured(part, op, value)


def refuse_requires_grad() -> None:
    """Raises torch's error for requires_grad_() inside of a transform."""
    if any(not level.inside for level in transforms()):
        raise RuntimeError(
            "You are attempting to call Tensor.requires_grad_() (or perhaps using "
            "torch.autograd.functional.* APIs) inside of a function being transformed by a "
            "functorch transform. This is unsupported, please attempt to use the functorch "
            "transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside "
            "of a function being transformed instead."
        )
