"""The schedules whose rate is the present or the starting one times a factor.

Most rules are chained: the next rate is computed from the present one, so that several schedules on
one optimizer multiply. `step(epoch)` (deprecated) uses the closed form in the starting rate
instead, where there is one.
"""

from __future__ import annotations

import math
import types
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from ..optimizer import Optimizer, State
from ._base import LRScheduler, rates_of

Lambda = Callable[[int], float]


class _Chained(LRScheduler):
    """A schedule that gives the next rate from the present one."""

    def _next(self, rate: Any, base: Any) -> Any:
        """The rate of `self.last_epoch`, `rate` being that of the epoch before, `base` the starting
        one.
        """
        raise NotImplementedError

    def get_lr(self) -> list[float]:
        if not self._get_lr_called_within_step:
            self._warn_outside_step()
        following, groups = self._next, self.optimizer.param_groups
        return [
            following(group["lr"], base) for group, base in zip(groups, self.base_lrs, strict=True)
        ]


class StepLR(_Chained):
    """Times `gamma` every `step_size` epochs.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for epoch in range(4):
    ...     print(schedule.get_last_lr())
    ...     optimizer.step()
    ...     schedule.step()
    [1.0]
    [1.0]
    [0.5]
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _next(self, rate: Any, base: object) -> object:
        due = self.last_epoch != 0 and self.last_epoch % self.step_size == 0
        return rate * self.gamma if due else rate

    def _get_closed_form_lr(self) -> list[object]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(_Chained):
    """Times `gamma` at each of the given epochs.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
    >>> for epoch in range(4):
    ...     print(schedule.get_last_lr())
    ...     optimizer.step()
    ...     schedule.step()
    [1.0]
    [0.5]
    [0.5]
    [0.25]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones: Counter[int] = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _next(self, rate: float, base: float) -> float:
        times = self.milestones.get(self.last_epoch)
        return rate if times is None else rate * self.gamma**times

    def _get_closed_form_lr(self) -> list[object]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ExponentialLR(_Chained):
    """Times `gamma` every epoch.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> for epoch in range(3):
    ...     print(schedule.get_last_lr())
    ...     optimizer.step()
    ...     schedule.step()
    [1.0]
    [0.5]
    [0.25]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _next(self, rate: float, base: float) -> float:
        return rate if self._is_initial else rate * self.gamma

    def _get_closed_form_lr(self) -> list[object]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class CosineAnnealingLR(_Chained):
    """From the starting rate down to `eta_min` in `T_max` epochs along half a cosine; up again.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    >>> for epoch in range(3):
    ...     print(round(optimizer.param_groups[0]["lr"], 6))
    ...     optimizer.step()
    ...     schedule.step()
    1.0
    0.5
    0.0
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def _next(self, rate: float, base: float) -> float:
        epoch, low = self.last_epoch, self.eta_min
        if self._is_initial:
            return rate
        if self._step_count == 1 and epoch > 0:
            return low + (base - low) * self._height(epoch) / 2
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # the ratio below would divide by 0
            return rate + (base - low) * (1 - math.cos(math.pi / self.T_max)) / 2
        return self._height(epoch) / self._height(epoch - 1) * (rate - low) + low

    def _get_closed_form_lr(self) -> list[object]:
        low = self.eta_min
        return [low + (base - low) * self._height(self.last_epoch) / 2 for base in self.base_lrs]


class LinearLR(_Chained):
    """The starting rate times a factor that goes straight from one value to another in
    `total_iters` epochs.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> for epoch in range(3):
    ...     print(schedule.get_last_lr())
    ...     optimizer.step()
    ...     schedule.step()
    [0.5]
    [0.75]
    [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 "
                "and less or equal to 1."
            )
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _next(self, rate: float, base: float) -> float:
        if self.last_epoch == 0:
            return rate * self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return rate
        slope = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * slope
        return rate * (1.0 + slope / before)

    def _get_closed_form_lr(self) -> list[object]:
        slope = self.end_factor - self.start_factor
        part = slope * min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (self.start_factor + part) for base in self.base_lrs]


class ConstantLR(_Chained):
    """The starting rate times `factor` for `total_iters` epochs, then the starting rate.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> for epoch in range(4):
    ...     print(schedule.get_last_lr())
    ...     optimizer.step()
    ...     schedule.step()
    [0.5]
    [0.5]
    [1.0]
    [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _next(self, rate: Any, base: object) -> object:
        if self.last_epoch == 0:
            return rate * self.factor
        return rate * (1.0 / self.factor) if self.last_epoch == self.total_iters else rate

    def _get_closed_form_lr(self) -> list[object]:
        factor = 1 if self.last_epoch >= self.total_iters else self.factor
        return [base * factor for base in self.base_lrs]


class PolynomialLR(_Chained):
    """The starting rate times (1 - epoch / total_iters) ** power, 0 after `total_iters` epochs.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=2)
    >>> for epoch in range(3):
    ...     print(schedule.get_last_lr())
    ...     optimizer.step()
    ...     schedule.step()
    [1.0]
    [0.5]
    [0.0]
    """

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _next(self, rate: object, base: object) -> object:
        epoch, end = self.last_epoch, self.total_iters
        if self._is_initial or epoch > end:
            return rate
        return rate * ((1 - epoch / end) / (1 - (epoch - 1) / end)) ** self.power

    def _get_closed_form_lr(self) -> list[object]:
        left = 1 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]


class _PerGroupFunctions(LRScheduler):
    """A schedule given as a function of the epoch, one for all groups or one each."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = optimizer
        count = len(optimizer.param_groups)
        self.lr_lambdas: list[Callable[[int], float]]
        if isinstance(lr_lambda, (list, tuple)):
            if len(lr_lambda) != count:
                raise ValueError(f"Expected {count} lr_lambdas, but got {len(lr_lambda)}")
            self.lr_lambdas = list(lr_lambda)
        else:
            self.lr_lambdas = [lr_lambda] * count
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> State:
        """Everything but the optimizer; of the functions, the attributes of callable objects."""
        state = super().state_dict()
        state["lr_lambdas"] = [
            None if isinstance(f, types.FunctionType) else f.__dict__.copy()
            for f in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: State) -> None:
        """Takes over what `state_dict` returned."""
        state = dict(state_dict)
        for f, attributes in zip(self.lr_lambdas, state.pop("lr_lambdas"), strict=True):
            if attributes is not None:
                f.__dict__.update(attributes)
        self.__dict__.update(state)


class LambdaLR(_PerGroupFunctions):
    """The starting rate times a function of the epoch.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
    >>> optimizer.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        return [
            base * f(self.last_epoch)
            for f, base in zip(self.lr_lambdas, self.base_lrs, strict=True)
        ]


class MultiplicativeLR(_PerGroupFunctions):
    """The present rate times a function of the epoch.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> optimizer.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        if self._is_initial:
            return rates_of(self.optimizer)
        return [
            group["lr"] * f(self.last_epoch)
            for f, group in zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)
        ]
