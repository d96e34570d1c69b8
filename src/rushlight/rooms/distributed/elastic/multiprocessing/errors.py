"""Errors of processes that are started together: told by files, raised in the parent."""

from __future__ import annotations

import functools
import json
import os
import signal
import time
import traceback
from collections.abc import Callable
from typing import Any, TypeVar, cast

from ...._base.missing import missing_name as _missing_name

__all__ = ["ChildFailedError", "ErrorHandler", "ProcessFailure", "get_error_handler", "record"]

_F = TypeVar("_F", bound=Callable[..., Any])


class ProcessFailure:
    """A process that failed: the local rank, the process's number, the exit code (of a signal
    negative) and the content of the error file.

    >>> errors = torch.distributed.elastic.multiprocessing.errors
    >>> errors.ProcessFailure(1, 4711, -9, "").signal_name()
    'SIGKILL'
    """

    exitcode: int
    local_rank: int
    pid: int

    def __init__(self, local_rank: int, pid: int, exitcode: int, error_file: str) -> None:
        self.local_rank, self.pid = local_rank, pid
        self.exitcode, self.error_file = exitcode, error_file
        self.error_file_data: dict[str, Any] = {}
        self.message, self.timestamp = "", int(time.time())
        try:
            with open(error_file, encoding="utf-8") as file:
                self.error_file_data = json.load(file)
            message = self.error_file_data["message"]
            if isinstance(message, str):
                self.message = message
            else:
                self.message = message["extraInfo"]["py_callstack"]
                self.timestamp = int(message["extraInfo"]["timestamp"])
        except (OSError, ValueError, KeyError, TypeError):
            self.error_file = "<N/A>"
            if exitcode < 0:
                self.message = f"Signal {-exitcode} ({self.signal_name()}) received by PID {pid}"

    def signal_name(self) -> str:
        """The name of the signal that ended it, or "<N/A>"."""
        try:
            return signal.Signals(-self.exitcode).name if self.exitcode < 0 else "<N/A>"
        except ValueError:
            return "<Unknown>"

    def timestamp_isoformat(self) -> str:
        """When it failed, as a date and a time."""
        return time.strftime("%Y-%m-%d_%H:%M:%S", time.localtime(self.timestamp))


class ChildFailedError(Exception):
    """Started processes have failed: `failures` by rank, the first one first."""

    failures: dict[int, ProcessFailure]
    name: str

    def __init__(self, name: str, failures: dict[int, ProcessFailure]) -> None:
        if not failures:
            raise ValueError(f"ChildFailedError of {name!r} needs the failure of at least one rank")
        self.name, self.failures = name, failures
        lines = [
            f"  rank {rank} (pid: {failure.pid}): exitcode {failure.exitcode}; {failure.message}"
            for rank, failure in failures.items()
        ]
        super().__init__("\n".join([f"{name} FAILED", *lines]))

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """The rank that failed first, and its failure."""
        return min(self.failures.items(), key=lambda item: item[1].timestamp)


class ErrorHandler:
    """Writes what a process raised to the file that TORCHELASTIC_ERROR_FILE names."""

    def initialize(self) -> None:
        """Nothing: crashes show their traceback already."""

    def record_exception(self, e: BaseException) -> None:
        """Write an exception with its traceback; nothing where no file is named."""
        path = os.environ.get("TORCHELASTIC_ERROR_FILE")
        if not path:
            return
        stack = "".join(traceback.format_exception(e))
        extra = {"py_callstack": stack, "timestamp": str(int(time.time()))}
        message = {"message": f"{type(e).__name__}: {e}", "extraInfo": extra}
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"message": message}, file)


def get_error_handler() -> ErrorHandler:
    """The handler that writes errors to files."""
    return ErrorHandler()


def record(fn: _F, error_handler: ErrorHandler | None = None) -> _F:
    """A decorator of a main function: what it raises is written to a file, and raised on.

    >>> errors = torch.distributed.elastic.multiprocessing.errors
    >>> @errors.record
    ... def main():
    ...     return 3
    >>> main()
    3
    """
    handler = error_handler or get_error_handler()

    @functools.wraps(fn)
    def recorded(*args: object, **kwargs: object) -> Any:
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit:
            raise
        except Exception as error:
            handler.record_exception(error)
            raise

    return cast("_F", recorded)


__getattr__ = _missing_name(__name__)
