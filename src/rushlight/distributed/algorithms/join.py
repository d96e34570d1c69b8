"""`Join`: processes with different numbers of batches; there is one."""

from __future__ import annotations

from typing import Any

from ..._missing import missing_name as _missing_name


class JoinHook:
    """What a process does while it waits for others."""

    def main_hook(self) -> None:
        """Nothing."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Nothing."""


class Joinable:
    """What takes part in a `Join`."""

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What it does while it waits."""
        return JoinHook()


class Join:
    """A block like any other: there is nobody to wait for."""

    def __init__(
        self,
        joinables: Any,
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass

    @staticmethod
    def notify_join_context(joinable: Any) -> None:
        """Nobody to notify."""


__getattr__ = _missing_name(__name__)
