"""The code around a job's program: a process says where it is when asked, and ends when it fails.

A program that fails must not wait for the others as it ends: they will not come. So it ends at
once, after its traceback and the functions of atexit, with its exit code.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import os
import signal
import sys
from collections.abc import Callable

# The signal by which the supervisor asks a process where it is.
ASK = signal.SIGUSR2


def watch(asked: str | None = None) -> None:
    """A crash shows its Python traceback, and ASK writes the traceback of all threads to a file."""
    if not faulthandler.is_enabled():
        faulthandler.enable(sys.__stderr__ or 2)
    if asked is not None:
        # Open for as long as the process runs.
        file = os.open(asked, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        faulthandler.register(ASK, file, all_threads=True)


def run(program: Callable[[], None], failed: Callable[[int], None]) -> None:
    """Run a program. Where it ends with another exit code than 0, say so and end the process."""
    try:
        program()
    except SystemExit as left:
        code = _exit_code(left)
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    else:
        return
    if code == 0:
        raise SystemExit(0)
    _flush()
    failed(code)
    board = sys.modules.get("rushlight.distributed._board")
    if board is not None:
        vars(board)["failing"] = True
    atexit._run_exitfuncs()
    _flush()
    os._exit(code)


def _exit_code(left: SystemExit) -> int:
    """The exit code that Python would make of it; a text is shown."""
    if left.code is None:
        return 0
    if isinstance(left.code, int):
        return left.code & 0xFF
    print(left.code, file=sys.stderr)
    return 1


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()  # it may be closed, and nobody may read it


def abort(code: int) -> None:
    """End the other processes of an MPI job too, where MPI runs in this one."""
    atexit.register(_abort, code)


def _abort(code: int) -> None:
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is not None and mpi.Is_initialized() and not mpi.Is_finalized():
        _flush()
        mpi.COMM_WORLD.Abort(code)
