"""Debug mode: before each collective the processes compare what they are about to do, and where.

TORCH_DISTRIBUTED_DEBUG=DETAIL turns it on. A collective that differs on some ranks is then told, on
all of them, in place of a hang or of wrong numbers. It costs a small all-gather each time.
"""

from __future__ import annotations

import enum
import os
import sys
from typing import Any

from .. import _root as rl
from .._base.errors import program_frame
from .._base.pytree import tree_leaves
from ._work import Work

_BYTES = 1024  # of a rank's message
# Collectives whose tensors have other shapes on each rank, or stand on one rank alone.
_UNEVEN = {"gather", "scatter", "all_to_all", "all_to_all_single"}


class DebugLevel(enum.IntEnum):
    """How much the processes check: TORCH_DISTRIBUTED_DEBUG."""

    OFF = 0
    INFO = 1
    DETAIL = 2


DebugLevel.__module__ = "rushlight.distributed"

_level = DebugLevel.OFF


def get_debug_level() -> DebugLevel:
    """How much the processes check.

    >>> torch.distributed.get_debug_level().name
    'OFF'
    """
    return _level


def set_debug_level(level: DebugLevel) -> None:
    """Set how much the processes check; the same on all."""
    global _level
    _level = DebugLevel(level)


def set_debug_level_from_env() -> None:
    """Take the level from TORCH_DISTRIBUTED_DEBUG; RuntimeError for what is no level."""
    told = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF")
    if told.upper() not in DebugLevel.__members__:
        raise RuntimeError(
            f"The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL; it is {told!r}."
        )
    set_debug_level(DebugLevel[told.upper()])


set_debug_level_from_env()


def _site() -> str:
    """The line of the program that the call came from."""
    frame, _ = program_frame(sys._getframe())
    return "no line of Python" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _facts(name: str, number: int, result: object) -> dict[str, str]:
    """The facts of a call that must be the same on all ranks, by aspect."""
    tensors = [leaf for leaf in tree_leaves(result) if isinstance(leaf, rl.Tensor)]
    facts = {"SequenceNumber": str(number), "OpType": name.upper()}
    if name not in _UNEVEN:
        facts["TensorShape"] = ", ".join(str(list(t.shape)) for t in tensors)
        facts["TensorDtypes"] = ", ".join(str(t.dtype).removeprefix("torch.") for t in tensors)
    return facts


def check(group: Any, name: str, number: int, result: object) -> None:
    """Compare with the group's other ranks what each is about to do.

    Raises RuntimeError where they differ, with what and where of this rank and of the first other.
    """
    facts = _facts(name, number, result)
    print_ = ", ".join(f"{aspect}={value}" for aspect, value in facts.items())
    own = f"CollectiveFingerPrint({print_})"[: _BYTES // 2]
    words = f"{own}\n{_site()}".encode()[:_BYTES].ljust(_BYTES, b"\0")
    mine = rl.frombuffer(bytearray(words), dtype=rl.uint8)
    every = rl.empty(group.size() * _BYTES, dtype=rl.uint8, device="cpu")
    Work(
        f"{name} (the comparison of debug mode)",
        [group._communicator.all_gather(every, mine)],
        kept=(every, mine),
        limit=group._limit,
        late=None if group._board is None else lambda: group._late(number),
    ).wait()
    said = [
        part.numpy().tobytes().rstrip(b"\0").decode(errors="replace").partition("\n")
        for part in every.split(_BYTES)
    ]
    rank = group.rank()
    for other, (their, _, their_site) in enumerate(said):
        if their != own:
            here, there = group._ranks[rank], group._ranks[other]
            raise RuntimeError(
                f"Detected mismatch between collectives on ranks. Rank {here} is running "
                f"collective: {own}, but Rank {there} is running collective: {their}. "
                f"Rank {here} is at {said[rank][2]}, rank {there} at {their_site}: all ranks of a "
                "group call the same collectives, in the same order, with the same shapes and "
                "dtypes."
            )
