"""Learning-rate schedules made of others."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from ..optimizer import Optimizer, State
from ._base import LRScheduler, rates_of, set_rate
from ._plateau import ReduceLROnPlateau


class _Composed(LRScheduler):
    """Base: holds the schedules, which must be of one optimizer, and saves their states."""

    _schedulers: list[LRScheduler]

    def _check(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer) -> None:
        mine = type(self).__name__
        for i, schedule in enumerate(schedulers):
            if not hasattr(schedule, "optimizer"):
                raise TypeError(f"{mine} at index {i} should have `optimizer` as its attribute.")
            if isinstance(schedule, ReduceLROnPlateau):
                raise ValueError(
                    f"{mine} does not support `ReduceLROnPlateau` scheduler as it requires "
                    "additional kwargs to be specified when calling `step`, "
                    f"but got one at index {i} in the given schedulers sequence."
                )
            if schedule.optimizer is not optimizer:
                raise ValueError(
                    f"{mine} expects all schedulers to belong to the same optimizer, but got "
                    f"scheduler {type(schedule).__name__} at index {i} has {schedule.optimizer}, "
                    f"which is different from {type(optimizer).__name__}."
                )

    def state_dict(self) -> State:
        """Everything but the optimizer, with the states of the schedules."""
        state = super().state_dict()
        state["_schedulers"] = [schedule.state_dict() for schedule in self._schedulers]
        return state

    def load_state_dict(self, state_dict: State) -> None:
        """Takes over what `state_dict` returned."""
        state = dict(state_dict)
        for schedule, saved in zip(self._schedulers, state.pop("_schedulers"), strict=True):
            schedule.load_state_dict(saved)
        super().load_state_dict(state)


class SequentialLR(_Composed):
    """One schedule after the other: the next begins at each of the milestones.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> warm_up = torch.optim.lr_scheduler.LinearLR(optimizer, 0.5, total_iters=2)
    >>> fall = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> schedule = torch.optim.lr_scheduler.SequentialLR(optimizer, [warm_up, fall], [2])
    >>> for epoch in range(4):
    ...     print(schedule.get_last_lr())
    ...     optimizer.step()
    ...     schedule.step()
    [0.5]
    [0.75]
    [1.0]
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError("SequentialLR expects at least one scheduler, but got no scheduler.")
        self._check(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than "
                "the number of milestone points, but got number of schedulers "
                f"{len(schedulers)} and the number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch: int = last_epoch + 1
        self.optimizer = optimizer
        # Each schedule has set the rates when it was made; only the first one may.
        for group in optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        _undo(self._schedulers)
        first = self._schedulers[0]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        """Moves to the next epoch: call it after the optimizer's `step`."""
        self.last_epoch += 1
        number = bisect_right(self._milestones, self.last_epoch)
        schedule = self._schedulers[number]
        if number > 0 and self._milestones[number - 1] == self.last_epoch:
            schedule._update_lr(0)
        else:
            schedule.step()
        self._last_lr = schedule.get_last_lr()


def _undo(schedulers: Sequence[LRScheduler]) -> None:
    """Takes back the first step of schedules; of composed ones that of their parts, while their own
    epoch stays, as in PyTorch.
    """
    for schedule in schedulers:
        if isinstance(schedule, _Composed):
            _undo(schedule._schedulers)
        elif hasattr(schedule, "last_epoch"):
            schedule.last_epoch -= 1


class ChainedScheduler(_Composed):
    """Several schedules at once, stepped in this order: their factors multiply.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> start = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=1)
    >>> fall = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> schedule = torch.optim.lr_scheduler.ChainedScheduler([start, fall])
    >>> optimizer.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError(
                "ChainedScheduler expects at least one scheduler to be chained, "
                "but got no scheduler."
            )
        optimizer = optimizer or schedulers[0].optimizer
        self._check(schedulers, optimizer)
        self._schedulers = list(schedulers)
        self.optimizer = optimizer
        self._last_lr = rates_of(optimizer)

    def step(self) -> None:  # type: ignore[override]
        """Moves all schedules to the next epoch: call it after the optimizer's `step`."""
        for schedule in self._schedulers:
            schedule.step()
        self._last_lr = rates_of(self.optimizer)
