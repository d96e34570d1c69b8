"""`Join`: processes with different numbers of batches; who is done keeps the others company.

A process that has left the loop takes part in the others' collectives (`JoinHook.main_hook`) until
all have left it; then each runs `JoinHook.post_hook`. In each iteration a sum over the processes
says how many still have batches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, NamedTuple

from ... import _root as rl
from ..._base.errors import warn
from ..._base.missing import missing_name as _missing_name
from .. import _collectives

__all__ = ["Join", "JoinHook", "Joinable"]

_MANY = 1000  # iterations that others may be ahead before a warning


class JoinHook:
    """The actions of a process that waits for the others."""

    def main_hook(self) -> None:
        """Takes part in the collectives of one iteration of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Runs when all are done; is_last_joiner: whether this one was among the last."""


class _JoinConfig(NamedTuple):
    """The settings that a `Join` gives to each of its joinables."""

    enable: bool
    throw_on_early_termination: bool
    is_first_joinable: bool


DISABLED = _JoinConfig(False, False, False)


class Joinable(ABC):
    """An object that takes part in a `Join`: it has collectives in each iteration."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = DISABLED

    @abstractmethod
    def join_hook(self, **kwargs: object) -> JoinHook:
        """The actions of a process that waits."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """Where its collectives have their tensors."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The group of its collectives."""


class Join:
    """A block in which processes may have different numbers of batches.

    joinables: DistributedDataParallel modules and others, of one group. Keyword arguments go to
    their `join_hook`. throw_on_early_termination: RuntimeError in all when one has no more.
    """

    def __init__(
        self,
        joinables: list[Any],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables = joinables
        self._join_hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        self._enable, self._throw = enable, throw_on_early_termination
        for i, joinable in enumerate(joinables):
            joinable._join_config = _JoinConfig(enable, throw_on_early_termination, i == 0)
        groups = {id(joinable.join_process_group) for joinable in joinables}
        if len(groups) > 1:
            raise ValueError("Using join context manager with multiple process groups")
        self._group = joinables[0].join_process_group
        self._device = joinables[0].join_device

    def __enter__(self) -> None:
        """The block begins."""

    def __exit__(
        self,
        type: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Keep the others company until all are here."""
        if not self._enable or type is not None:
            return
        last, rounds = True, 0
        while self._others() > 0:
            if self._throw:
                _sum(1, self._group)
                rank = self._group.rank()
                raise RuntimeError(f"Rank {rank} exhausted all inputs.")
            rounds += 1
            if rounds == _MANY:
                warn(
                    "Detected uneven input skew of greater than "
                    f"{_MANY}. This means that rank {self._group.rank()} has at least {_MANY} "
                    "fewer inputs than other currently-active ranks. This level of skew could "
                    "lead to performance degradation during training.",
                )
            last = False
            for hook in self._join_hooks:
                hook.main_hook()
        for hook in self._join_hooks:
            hook.post_hook(last)

    def _others(self) -> int:
        """How many processes still have batches."""
        return _sum(0, self._group)

    @staticmethod
    def notify_join_context(joinable: Any) -> Any:
        """Tell the processes that are done of a new iteration; the work of telling, or None.

        A joinable calls it before its first collective of an iteration.
        """
        config = getattr(joinable, "_join_config", None)
        if config is None:
            raise AssertionError(
                f"Check that the {type(joinable)} constructor calls the ``Joinable`` constructor"
            )
        if not config.is_first_joinable or not config.enable:
            return None
        group = joinable.join_process_group
        ones = rl.ones(1, device=joinable.join_device)
        work = _collectives.all_reduce(ones, group=group, async_op=True)
        if config.throw_on_early_termination and _sum(0, group):
            raise RuntimeError(
                "Detected at least one rank that exhausted inputs. Throwing across all ranks."
            )
        return work


def _sum(number: int, group: Any) -> int:
    """The sum of the processes' numbers."""
    found = rl.tensor([float(number)])
    _collectives.all_reduce(found, group=group)
    return int(found)


__getattr__ = _missing_name(__name__)
