"""Learning-rate schedules in cycles, with or without momentum in the opposite direction."""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable
from typing import Any

from ..._core import Tensor
from ..optimizer import Group, Optimizer, State
from ._base import LRScheduler, set_rate


def per_group(name: str, optimizer: Optimizer, value: object) -> list[Any]:
    """An option, one for all groups or one each, as a list; tensors are copied."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        value = [value] * count
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. "
            f"{name} has {len(value)} values, param_groups has {count}."
        )
    return [v.clone() if isinstance(v, Tensor) else v for v in value]


def between(how: str, start: float, end: float, part: float) -> float:
    """From `start` (part 0) to `end` (part 1) along half a cosine ("cos") or a line ("linear")."""
    if how == "cos":
        return end + (start - end) / 2.0 * (1 + math.cos(math.pi * part))
    return (end - start) * part + start


def check_annealing(how: str) -> None:
    """Raises for a word that `between` does not know."""
    if how not in ("cos", "linear"):
        raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {how}")


def _checked(optimizer: object) -> Optimizer:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


class _MomentumCycle(LRScheduler):
    """A schedule that may move the momentum, too: between two values that each group holds."""

    use_beta1: bool

    def _take_momenta(self, low: object, high: Any, start: bool) -> tuple[list[Any], list[object]]:
        """Notes the momenta in the groups; the groups start from the higher one."""
        if "momentum" not in self.optimizer.defaults and "betas" not in self.optimizer.defaults:
            raise ValueError(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
            )
        self.use_beta1 = "betas" in self.optimizer.defaults
        lows = per_group("base_momentum", self.optimizer, low)
        highs = per_group("max_momentum", self.optimizer, high)
        if start:
            for group, low, high in zip(self.optimizer.param_groups, lows, highs, strict=True):
                self._set_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low
        return lows, highs

    def _set_momentum(self, group: Group, momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_MomentumCycle):
    """From `base_lr` straight up to `max_lr` in `step_size_up` steps and down again, and so on
    (Smith 2017); step it after every batch.

    `mode`: the height of the cycles: "triangular", always the same; "triangular2", half as high
    each time; "exp_range", times `gamma` every step. `scale_fn` gives it as a function of the
    number of the cycle or (`scale_mode="iterations"`) of the step. `cycle_momentum` moves the
    momentum the other way, from `max_momentum` to `base_momentum`.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0, momentum=0.9)
    >>> schedule = torch.optim.lr_scheduler.CyclicLR(optimizer, 1.0, 2.0, step_size_up=2)
    >>> for batch in range(5):
    ...     print(schedule.get_last_lr())
    ...     optimizer.step()
    ...     schedule.step()
    [1.0]
    [1.5]
    [2.0]
    [1.5]
    [1.0]
    """

    base_momentums: list[Any]
    max_momentums: list[object]

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer: Optimizer = _checked(optimizer)
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs, strict=True):
                set_rate(group, lr)
        self.max_lrs: list[Any] = per_group("max_lr", optimizer, max_lr)
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size: float = float(step_size_up) + float(down)
        self.step_ratio: float = float(step_size_up) / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode: str = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._take_momenta(
                base_momentum, max_momentum, last_epoch == -1
            )
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of cycle `x`, or at step `x`."""
        return (self._scale_fn_custom or self._scale_fn_ref)(x)

    def _init_scale_fn(self) -> None:
        exponential = functools.partial(self._exp_range_scale_fn, self.gamma)
        named = {"triangular": self._triangular_scale_fn, "triangular2": self._triangular2_scale_fn}
        if self._scale_fn_custom is None:
            self._scale_fn_ref = named.get(self.mode, exponential)

    @staticmethod
    def _triangular_scale_fn(x: float) -> float:
        return 1.0

    @staticmethod
    def _triangular2_scale_fn(x: float) -> float:
        return 1 / (2.0 ** (x - 1))

    @staticmethod
    def _exp_range_scale_fn(gamma: float, x: float) -> float:
        return gamma**x

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        up = x <= self.step_ratio
        height = x / self.step_ratio if up else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(
                self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True
            ):
                self._set_momentum(group, high - (high - low) * height * scale)
        return [
            low + (high - low) * height * scale
            for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]

    def state_dict(self) -> State:
        """Everything but the optimizer; of `scale_fn`, the attributes of a callable object."""
        state = super().state_dict()
        state.pop("_scale_fn_ref", None)
        scale = state["_scale_fn_custom"]
        if scale is not None:
            function = isinstance(scale, types.FunctionType)
            state["_scale_fn_custom"] = None if function else scale.__dict__.copy()
        return state

    def load_state_dict(self, state_dict: State) -> None:
        """Takes over what `state_dict` returned."""
        state = dict(state_dict)
        attributes = state.pop("_scale_fn_custom")
        if attributes is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(attributes)
        super().load_state_dict(state)
        self._init_scale_fn()


class CosineAnnealingWarmRestarts(LRScheduler):
    """From the starting rate down to `eta_min` along half a cosine in `T_0` epochs, then anew, each
    time `T_mult` times as long (Loshchilov and Hutter 2017). `step(epoch)` may be given fractions.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> for epoch in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 6))
    ...     optimizer.step()
    ...     schedule.step()
    1.0
    0.5
    1.0
    0.5
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}"
            )
        self.T_0 = T_0
        self.T_i: int = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Moves to the next epoch, or to the given one, which may lie between two."""
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            epoch = 0 if epoch is None else epoch
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            times = 0
            begin: float = 0
            if self.T_mult == 1:
                begin = epoch // self.T_0 * self.T_0
            elif epoch >= self.T_0:
                growth = self.T_mult - 1
                times = int(math.log(epoch / self.T_0 * growth + 1, self.T_mult))
                begin = self.T_0 * (self.T_mult**times - 1) / growth
            self.T_cur = epoch - begin
            self.T_i = self.T_0 * self.T_mult**times
        self._set_epoch(math.floor(epoch), self.get_lr)


class OneCycleLR(_MomentumCycle):
    """Up from `max_lr / div_factor` to `max_lr`, then down to a rate far below the first (Smith and
    Topin 2018); step it after every batch.

    `total_steps`, or `epochs` times `steps_per_epoch`: the length; beyond it a step raises
    ValueError. `pct_start`: the part that goes up. `three_phase`: down to the first rate as fast as
    up, then on. `cycle_momentum` moves the momentum the other way, from `max_momentum` to
    `base_momentum` and back.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0, momentum=0.9)
    >>> schedule = torch.optim.lr_scheduler.OneCycleLR(
    ...     optimizer, 1.0, total_steps=5, pct_start=0.6, anneal_strategy="linear", div_factor=2.0
    ... )
    >>> for batch in range(4):
    ...     print(round(schedule.get_last_lr()[0], 4))
    ...     optimizer.step()
    ...     schedule.step()
    0.5
    0.75
    1.0
    0.5
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer: Optimizer = _checked(optimizer)
        if total_steps is not None:
            self.total_steps: int = _positive("total_steps", total_steps)
        elif epochs is not None and steps_per_epoch is not None:
            _positive("epochs", epochs)
            self.total_steps = epochs * _positive("steps_per_epoch", steps_per_epoch)
        else:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        if not 0 <= pct_start <= 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        check_annealing(anneal_strategy)
        self._anneal_func_type = anneal_strategy
        highest = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, high in zip(optimizer.param_groups, highest, strict=True):
                group["initial_lr"] = high / div_factor
                group["max_lr"] = high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._take_momenta(base_momentum, max_momentum, last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        count, how = self.last_epoch, self._anneal_func_type
        if count > self.total_steps:
            raise ValueError(
                f"Tried to step {count} times. "
                f"The specified number of total steps is {self.total_steps}"
            )
        begin = 0.0
        for phase in self._schedule_phases[:-1]:
            if count <= phase["end_step"]:
                break
            begin = phase["end_step"]
        else:
            phase = self._schedule_phases[-1]
        part = (count - begin) / (phase["end_step"] - begin)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(between(how, group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                start, end = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, between(how, start, end, part))
        return rates


def _positive(name: str, value: int) -> int:
    if value <= 0 or not isinstance(value, int):
        raise ValueError(f"Expected positive integer {name}, but got {value}")
    return value


def _phases(total: int, part: float, three: bool) -> list[State]:
    """Where each phase ends, and the options of a group that it goes from and to."""
    top = float(part * total) - 1
    rates = ["initial_lr", "max_lr", "min_lr"]
    momenta = ["max_momentum", "base_momentum", "max_momentum"]
    ends: list[float] = [top, total - 1]
    if three:
        rates.insert(2, "initial_lr")
        momenta.append("max_momentum")
        ends.insert(1, 2 * float(part * total) - 2)
    return [
        {
            "end_step": end,
            "start_lr": rates[i],
            "end_lr": rates[i + 1],
            "start_momentum": momenta[i],
            "end_momentum": momenta[i + 1],
        }
        for i, end in enumerate(ends)
    ]
