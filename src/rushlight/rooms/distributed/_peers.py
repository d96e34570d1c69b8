"""Whether the other processes live, where no launcher ends all when one dies. One machine.

A process that waits long asks here, and then says who is gone in place of waiting on.
"""

from __future__ import annotations

import os
import select
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class _Peer:
    pid: int
    handle: int | None  # of the process: no other can take its number; None: the system has none

    def gone(self) -> bool:
        """Whether it has ended; one that nobody has waited for has, too."""
        if self.handle is None:
            return not os.path.exists(f"/proc/{self.pid}") and os.path.exists("/proc/self")
        poll = select.poll()
        poll.register(self.handle, select.POLLIN)
        return bool(poll.poll(0))


_peers: dict[int, _Peer] = {}


def watch(pids: dict[int, int]) -> None:
    """From now on `lost` knows these processes: the number of each by its rank."""
    for rank, pid in pids.items():
        try:
            handle = os.pidfd_open(pid)
        except (AttributeError, OSError):
            handle = None
        _peers[rank] = _Peer(pid, handle)


def watched() -> bool:
    """Whether this process has to look itself whether the others live."""
    return bool(_peers)


def lost(ranks: Iterable[int] | None = None) -> str:
    """Which processes have ended, as an error says it; "" where none has. ranks: all if None.

    >>> import subprocess, sys
    >>> from rushlight.distributed import _peers
    >>> child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    >>> _peers.watch({7: child.pid})
    >>> _peers.lost([7])
    ''
    >>> child.kill()
    >>> _ = child.wait()
    >>> _peers.lost([3, 7]) == f"Connection closed by peer: rank 7 (pid {child.pid}) has ended."
    True
    >>> _peers._peers.clear()
    """
    asked = _peers if ranks is None else [rank for rank in ranks if rank in _peers]
    gone = [f"rank {r} (pid {_peers[r].pid})" for r in asked if _peers[r].gone()]
    if not gone:
        return ""
    return f"Connection closed by peer: {', '.join(gone)} {'have' if gone[1:] else 'has'} ended."
