"""`torch.ops.aten.<name>.<overload>`: names of ops, for programs that list ops by them.

An op has one entry in the table where PyTorch has several overloads, so names are equal when their
first part is: `aten.add.Tensor == aten.add.default`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from ... import _core
from ..._core import Op, Tensor
from .statement import namespace

__all__ = ["OpOverload", "aten", "name_of"]


class OpOverload:
    """The name of an op, `aten.mm.default`; calling it calls the op."""

    __slots__ = ("_name", "_overload")

    def __init__(self, name: str, overload: str = "default") -> None:
        self._name, self._overload = name, overload

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return namespace("torch")[self._name](*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpOverload) and self._name == other._name

    def __hash__(self) -> int:
        return hash(self._name)

    def __repr__(self) -> str:
        return f"<OpOverload(op='aten.{self._name}', overload='{self._overload}')>"

    def __str__(self) -> str:
        return f"aten.{self._name}.{self._overload}"

    def name(self) -> str:
        """`aten::mm`."""
        return f"aten::{self._name}"


class _Packet:
    """`torch.ops.aten.mm`: its attributes are the overloads."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, overload: str) -> OpOverload:
        if overload.startswith("__"):
            raise AttributeError(overload)
        return OpOverload(self._name, overload)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return OpOverload(self._name)(*args, **kwargs)

    def __str__(self) -> str:
        return f"aten.{self._name}"


class _Aten:
    """`torch.ops.aten`."""

    def __getattr__(self, name: str) -> _Packet:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Packet(name)


aten = _Aten()


@cache
def _snake(node: str) -> str:
    """The op that a node's class is named for: "LogSoftmaxBackward0" -> "log_softmax"."""
    stem = re.sub(r"Backward\d*$", "", node)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", stem).lower()


def name_of(op: Op, result: Tensor) -> OpOverload:
    """The name of a call: by the node it made, which tells a product of matrices from one with a
    vector, else by the op."""
    first = (
        next((r for r in result if r is not None), None) if isinstance(result, tuple) else result
    )
    node = first.grad_fn if isinstance(first, _core.Tensor) else None
    return OpOverload(op.__name__ if node is None else _snake(type(node).__name__))
