"""Errors of a checkpoint of several processes."""

from __future__ import annotations

from traceback import StackSummary

from ..._base.missing import missing_name as _missing_name

Failures = dict[int, tuple[BaseException, StackSummary]]


class CheckpointException(BaseException):
    """Saving or loading failed on some ranks; `failures` has each one's exception and stack.

    All ranks of the group raise this error, even ranks on which nothing failed.
    """

    def __init__(self, msg: str, failures: Failures) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> Failures:
        """The exception and the stack of each rank that failed."""
        return self._failures

    def __str__(self) -> str:
        lines = [f"CheckpointException ranks:{self._failures.keys()}\n"]
        for rank, (error, stack) in self._failures.items():
            lines.append(f"Traceback (most recent call last): (RANK {rank})\n")
            lines += stack.format()
            lines.append(f"{type(error).__name__}: {error}\n")
        return "".join(lines)


__getattr__ = _missing_name(__name__)
