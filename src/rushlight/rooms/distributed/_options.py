"""The options of collectives: `Backend`, `ReduceOp`."""

from __future__ import annotations

import enum
from typing import Any, ClassVar


class Backend(str):
    """The name of a backend, in lower case.

    >>> torch.distributed.Backend("GLOO")
    'gloo'
    """

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    FAKE = "fake"
    backend_list: ClassVar[list[str]] = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    default_device_backend_map: ClassVar[dict[str, str]] = {"cpu": GLOO, "cuda": NCCL}

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return super().__new__(cls, name.lower())


class RedOpType(enum.IntEnum):
    """How the values of processes become one."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"


_Kind = RedOpType  # ReduceOp has a member of the same name


class ReduceOp:
    """How the values of processes become one; `ReduceOp.SUM` and the others are its kinds.

    >>> torch.distributed.ReduceOp(torch.distributed.ReduceOp.MAX) == torch.distributed.ReduceOp.MAX
    True
    """

    factor: Any

    RedOpType = RedOpType
    SUM = RedOpType.SUM
    AVG = RedOpType.AVG
    PRODUCT = RedOpType.PRODUCT
    MIN = RedOpType.MIN
    MAX = RedOpType.MAX
    BAND = RedOpType.BAND
    BOR = RedOpType.BOR
    BXOR = RedOpType.BXOR
    PREMUL_SUM = RedOpType.PREMUL_SUM

    def __init__(self, op: _Kind, factor: Any = None) -> None:
        self.op: Any = op
        self.factor = factor

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ReduceOp):
            return self.op == other.op and self.factor is other.factor
        return self.op == other if isinstance(other, _Kind) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.op)

    def __repr__(self) -> str:
        return repr(self.op)


def premul_sum(factor: object) -> ReduceOp:
    """The sum of the values, each times a factor."""
    return ReduceOp(RedOpType.PREMUL_SUM, factor)
