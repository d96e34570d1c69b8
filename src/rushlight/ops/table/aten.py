"""`torch.ops.aten.<name>.<overload>`: names of ops, for programs that list ops by them.

An op has one entry in the table where PyTorch has several overloads, so names are equal when their
first part is: `aten.add.Tensor == aten.add.default`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from ... import _core
from ..._base.late import late
from ..._core import Op, Tensor
from .names import namespace

__all__ = ["CUSTOM", "OpNamespace", "OpOverload", "aten", "name_of"]


# Where the functions of names are, and the prefixes of their names.
_PLACES = (("torch", ""), ("nn", ""), *((n, f"{n}_") for n in ("linalg", "special", "fft")))


class OpOverload:
    """The name of an op, `aten.mm.default`; calling it calls the op."""

    __slots__ = ("_name", "_overload")

    def __init__(self, name: str, overload: str = "default") -> None:
        self._name, self._overload = name, overload

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = None
        for where, prefix in _PLACES:
            name = self._name.removeprefix(prefix)
            if self._name.startswith(prefix) and name in namespace(where):
                found = namespace(where)[name]
                break
        if found is None:
            own = late.of_aten(self._name)
            found = own or getattr(Tensor, self._name, None)
        if found is None:
            raise NotImplementedError(
                f"torch.ops.{self} is not in rushlight: no public function or method has its name."
            )
        return found(*args, **kwargs)

    @property
    def __name__(self) -> str:
        return f"{self._name}.{self._overload}"

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

CUSTOM: dict[str, Any] = {}  # a program's own operators, by "namespace::name" (torch.library)


class _Custom:
    """`torch.ops.mylib.myop`: calls the operator; its overload is `default`."""

    def __init__(self, space: str, name: str) -> None:
        self.__name__ = self.__qualname__ = name
        self.__module__ = f"torch.ops.{space}"
        self._op: Any = CUSTOM[f"{space}::{name}"]
        self._qualified_op_name = f"{space}::{name}"

    @property
    def default(self) -> _Custom:
        """The one overload."""
        return self

    @property
    def _schema(self) -> str:
        return f"{self._qualified_op_name}{self._op._schema}"

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return ["default"]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._op(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Custom) and self._op is other._op

    def __hash__(self) -> int:
        return hash(self._qualified_op_name)

    def __str__(self) -> str:
        return self._qualified_op_name.replace("::", ".")

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


class OpNamespace:
    """`torch.ops.mylib`: the operators that a program made under that name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Any:
        if f"{self.name}::{name}" not in CUSTOM:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        return _Custom(self.name, name)

    def __dir__(self) -> list[str]:
        return [q.split("::")[1] for q in CUSTOM if q.startswith(f"{self.name}::")]


@cache
def _snake(node: str) -> str:
    """The op that a node's class is named for: "LogSoftmaxBackward0" -> "log_softmax"."""
    stem = re.sub(r"Backward\d*$", "", node)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", stem).lower()


def name_of(op: Op, result: Tensor) -> OpOverload:
    """The name of a call: by the node where there is a node, else by the op. The node tells the
    product of two matrices from that of a matrix and a vector."""
    first = (
        next((r for r in result if r is not None), None) if isinstance(result, tuple) else result
    )
    node = first.grad_fn if isinstance(first, _core.Tensor) else None
    return OpOverload(op.__name__ if node is None else _snake(type(node).__name__))
