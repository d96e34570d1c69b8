"""`torch.multiprocessing`: the standard library's, with tensors in shared memory, and `spawn`."""

from __future__ import annotations

import multiprocessing as _mp
import multiprocessing.connection as _connection
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from typing import Any, NoReturn

from ._base import shared as reductions
from ._base.browser import IN_BROWSER as _IN_BROWSER
from ._base.browser import not_in_browser as _not_in_browser
from ._base.missing import missing_name as _missing_name

__all__ = [
    *_mp.__all__,
    "ProcessContext",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "reductions",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]


def _refusing(name: str) -> Callable[..., None]:
    instead = "call the function itself."
    return lambda *args, **more: _not_in_browser(f"multiprocessing.{name}()", instead)


if _IN_BROWSER:
    _STARTING = ("JoinableQueue", "Manager", "Pipe", "Pool", "Process", "Queue", "SimpleQueue")
    globals().update({name: _refusing(name) for name in _STARTING})

_STRATEGIES = {"file_descriptor"}


def get_all_sharing_strategies() -> set[str]:
    """How memory is shared between processes: by file descriptors."""
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """How memory is shared between processes.

    >>> torch.multiprocessing.get_sharing_strategy()
    'file_descriptor'
    """
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepted: there is one strategy, and a program of the other one needs nothing else."""
    if new_strategy not in _STRATEGIES | {"file_system"}:
        raise AssertionError(f"unknown sharing strategy {new_strategy!r}")


class _ProcessError(Exception):
    """A started process failed."""

    error_index: int
    error_pid: int
    msg: str

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(_ProcessError):
    """A started process raised an exception; the text has its traceback."""


class ProcessExitedException(_ProcessError):
    """A started process ended by a signal or an exit code."""

    exit_code: int
    signal_name: str | None

    def __init__(
        self,
        msg: str,
        error_index: int,
        error_pid: int,
        exit_code: int,
        signal_name: str | None = None,
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        told = (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)
        return type(self), told


def _run(fn: Callable[..., Any], i: int, args: tuple[Any, ...], error_file: str) -> None:
    """The body of a started process; its traceback goes to a file."""
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass  # the parent tells
    except Exception:
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        board = sys.modules.get("rushlight.distributed._board")
        if board is not None:
            vars(board)["failing"] = True  # to end without the other processes
        sys.exit(1)


class ProcessContext:
    """The processes that `start_processes` started."""

    error_files: list[str]
    processes: list[Any]

    def __init__(self, processes: list[Any], error_files: list[str]) -> None:
        self.processes, self.error_files = processes, error_files
        self.sentinels: dict[Any, int] = {p.sentinel: i for i, p in enumerate(processes)}

    def pids(self) -> list[int]:
        """The process numbers."""
        return [int(p.pid) for p in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one fails or all have ended; True when all have ended.

        timeout: in seconds. Where one fails the others are ended, after the grace period, and its
        error is raised: ProcessRaisedException or ProcessExitedException.
        """
        if not self.sentinels:
            return True
        ready = _connection.wait(self.sentinels.keys(), timeout=timeout)
        failed = None
        for sentinel in ready:
            index = self.sentinels.pop(sentinel)
            process = self.processes[index]
            process.join()
            if process.exitcode != 0:
                failed = index
                break
        if failed is None:
            return not self.sentinels
        if grace_period is not None:
            _connection.wait(self.sentinels.keys(), timeout=grace_period)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        end = time.monotonic() + 30
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()
        self._raise(failed)

    def _raise(self, index: int) -> NoReturn:
        process, file = self.processes[index], self.error_files[index]
        if os.path.getsize(file):
            with open(file, "rb") as stream:
                text = pickle.load(stream)
            raise ProcessRaisedException(
                f"\n\n-- Process {index} terminated with the following error:\n{text}",
                index,
                process.pid,
            )
        code = process.exitcode
        if code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"<Unknown signal {-code}>"
            raise ProcessExitedException(
                f"process {index} terminated with signal {name}", index, process.pid, code, name
            )
        raise ProcessExitedException(
            f"process {index} terminated with exit code {code}", index, process.pid, code
        )

    def __del__(self) -> None:
        for file in self.error_files:
            if os.path.exists(file):
                os.unlink(file)


class SpawnContext(ProcessContext):
    """The processes that `spawn` started."""


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Start processes that call `fn(i, *args)`, i being 0 to nprocs - 1, and wait for them.

    join: whether to wait; else the context is given back, whose `join` waits. start_method:
    "spawn", "fork" or "forkserver". Errors: see `ProcessContext.join`.
    """
    _not_in_browser("spawn()", "call the function itself, with 0 as its first argument.")
    context: Any = _mp.get_context(start_method)
    processes, files = [], []
    for i in range(nprocs):
        number, file = tempfile.mkstemp(prefix="rushlight-", suffix=".error")
        os.close(number)
        process = context.Process(target=_run, args=(fn, i, args, file), daemon=daemon)
        process.start()
        processes.append(process)
        files.append(file)
    started = (SpawnContext if start_method == "spawn" else ProcessContext)(processes, files)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """`start_processes`, by default with the start method "spawn"."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)


__getattr__ = _missing_name(__name__)
