"""The board of a job: a small file in memory where each rank says which collective it is in.

A rank that waits too long reads there which ranks have not come; the supervisor (_launch.py) reads
there that a rank has given up waiting, and shows where the late ones are. The board
has a slot for each rank. Writing costs well under a microsecond: a few fields are
packed into the mapped file.

The variable RUSHLIGHT_BOARD names the file. Without it there is no board.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass

VARIABLE = "RUSHLIGHT_BOARD"

# The states of a slot.
OUTSIDE, INSIDE, TIMED_OUT = range(3)

# At the front: how many ranks there are, and how often the supervisor has told of late ones.
_HEADER = struct.Struct("qq")
_TOLD = 8  # where the second of them is
# A slot: state, sequence, group, since when, name. Whether a waiting rank has called it late, by
# another writer, stands behind, so that no write of the one meets the other's.
_ENTRY = struct.Struct("qqqd64s")
_ONE = struct.Struct("q")
_LATE = _ENTRY.size
_SLOT = 128
_FIRST = 64  # where the slots begin

# Set by the started process when the program has failed and what is left is to end: whoever ends
# with a collective (MPI_Finalize is one) must not do it then, since the others will not come.
failing = False


@dataclass(frozen=True)
class Entry:
    """The content of a slot. `since` is of time.monotonic(), which processes of a machine share."""

    rank: int
    state: int
    sequence: int
    group: int
    since: float
    name: str
    late: bool


class Board:
    """A mapped board. `rank` is the one whose slot `entered` and `left` write.

    >>> import tempfile
    >>> from rushlight.distributed._board import Board, create
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     create(folder + "/board", ranks=2)
    ...     zero, one = Board(folder + "/board", 0), Board(folder + "/board", 1)
    ...     zero.entered(1, "all_reduce")
    ...     zero.behind(1)
    [1]
    """

    def __init__(self, path: str, rank: int) -> None:
        with open(path, "r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 0)
        self.ranks, _ = _HEADER.unpack_from(self._memory)
        self._slot = self._place(rank)

    def _place(self, rank: int) -> int:
        if not 0 <= rank < self.ranks:
            raise ValueError(f"the board has ranks 0 to {self.ranks - 1}, not {rank}")
        return _FIRST + _SLOT * rank

    def entered(self, sequence: int, name: str, group: int = 0) -> None:
        """This rank is in its `sequence`-th collective of a group; sequences only grow."""
        since, text = time.monotonic(), name.encode()
        _ENTRY.pack_into(self._memory, self._slot, INSIDE, sequence, group, since, text)

    def left(self) -> None:
        """This rank is through with the collective that it entered last."""
        _ONE.pack_into(self._memory, self._slot, OUTSIDE)

    def entry(self, rank: int) -> Entry:
        """The content of a rank's slot; ValueError for a rank that is not on this board."""
        place = self._place(rank)
        state, sequence, group, since, text = _ENTRY.unpack_from(self._memory, place)
        (late,) = _ONE.unpack_from(self._memory, place + _LATE)
        name = text.rstrip(b"\0").decode(errors="replace")
        return Entry(rank, state, sequence, group, since, name, bool(late))

    def entries(self) -> list[Entry]:
        """The content of every slot."""
        return [self.entry(rank) for rank in range(self.ranks)]

    def behind(
        self, sequence: int, ranks: Sequence[int] | None = None, group: int = 0
    ) -> list[int]:
        """The ranks that have not come to a collective of a group.

        `ranks` are the group's members; without it, all. A rank that is busy in another group has
        not come.
        """
        asked = None if ranks is None else set(ranks)
        return [
            entry.rank
            for entry in self.entries()
            if (asked is None or entry.rank in asked)
            and (entry.group != group or entry.sequence < sequence)
        ]

    def timed_out(self, late: Sequence[int], wait: float = 5.0) -> None:
        """Say that this rank has waited too long for others, and let the supervisor tell of them.

        Returns when it has shown where they are, or after `wait` seconds; raise the error of the
        collective then. The supervisor ends the job soon after.
        """
        for rank in late:
            _ONE.pack_into(self._memory, self._place(rank) + _LATE, 1)
        _ONE.pack_into(self._memory, self._slot, TIMED_OUT)
        end = time.monotonic() + wait
        while not self._told() and time.monotonic() < end:
            time.sleep(0.01)

    def _told(self) -> int:
        (told,) = _ONE.unpack_from(self._memory, _TOLD)
        return int(told)

    def tell(self) -> None:
        """The supervisor's word that it has shown where the late ranks are."""
        _ONE.pack_into(self._memory, _TOLD, self._told() + 1)

    def close(self) -> None:
        """Give the memory back."""
        self._memory.close()


def create(path: str, ranks: int) -> None:
    """Make the file of a board of `ranks` ranks."""
    with open(path, "xb") as file:
        file.write(_HEADER.pack(ranks, 0).ljust(_FIRST, b"\0"))
        file.write(bytes(_SLOT * ranks))


def opened() -> Board | None:
    """This process's board, with its slot by RANK; None where nobody set one up."""
    path = os.environ.get(VARIABLE)
    if path is None or not os.path.exists(path):
        return None
    return Board(path, int(os.environ["RANK"]))
