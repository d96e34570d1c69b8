"""`LRScheduler`, the base of the schedules."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from rushlight._root import Tensor

from ..._base.errors import warn
from ..optimizer import Optimizer, State

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being "
    "deprecated where possible. Please use `scheduler.step()` to step the "
    "scheduler. During the deprecation, if epoch is different from None, the "
    "closed form is used instead of the new chainable form, where available. "
    "Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)
_SEE = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


def rates_of(optimizer: Optimizer, key: str = "lr") -> list[Any]:
    """The groups' rates; tensors are copied."""
    return [_copied(group[key]) for group in optimizer.param_groups]


def _copied(rate: Any) -> Any:
    return rate.clone() if isinstance(rate, Tensor) else rate


def set_rate(group: dict[str, object], rate: float) -> None:
    """Sets a group's rate; a tensor keeps its identity."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(rate.item() if isinstance(rate, Tensor) else rate)
    else:
        group["lr"] = rate


class LRScheduler:
    """Base of the schedules: a subclass gives `get_lr()`, the rates for `self.last_epoch`.

    >>> class Halving(torch.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [lr / 2**self.last_epoch for lr in self.base_lrs]
    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> schedule = Halving(optimizer)
    >>> optimizer.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, rates_of(optimizer), strict=True):
                group.setdefault("initial_lr", rate)
        for i, group in enumerate(optimizer.param_groups):
            if "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming "
                    "scheduler with last_epoch >= 0.\n"
                    "This typically happens when:\n"
                    "1. You're trying to resume training from a checkpoint but haven't properly "
                    "loaded the optimizer state\n"
                    "2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
                )
        self.base_lrs: list[float] = rates_of(optimizer, "initial_lr")
        self.last_epoch: int = last_epoch
        _note_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Sets the rates of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> State:
        """Everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: State) -> None:
        """Takes over what `state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[float]:
        """The rates that were set last, one a group."""
        return self._last_lr

    def get_lr(self) -> list[float]:
        """The rates for `self.last_epoch`; called by `step`."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Moves to the next epoch: call it after the optimizer's `step`."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warn(
                    "Seems like `optimizer.step()` has been overridden after learning rate "
                    "scheduler initialization. Please, make sure to call `optimizer.step()` "
                    f"before `lr_scheduler.step()`. {_SEE}"
                )
            elif not getattr(self.optimizer, "_opt_called", False):
                warn(
                    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. "
                    "In PyTorch 1.1.0 and later, you should call them in the opposite order: "
                    "`optimizer.step()` before `lr_scheduler.step()`.  Failure to do this "
                    "will result in PyTorch skipping the first value of the learning rate "
                    f"schedule. {_SEE}"
                )
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        rule = self.get_lr
        if epoch is None:
            epoch = self.last_epoch + 1
        else:
            rule = getattr(self, "_get_closed_form_lr", rule)
        self._set_epoch(epoch, rule)

    def _set_epoch(self, epoch: int, rule: Callable[[], list[float]]) -> None:
        """Sets the rates that `rule` gives for the epoch."""
        self.last_epoch = epoch
        self._get_lr_called_within_step = True
        try:
            rates = rule()
        finally:
            self._get_lr_called_within_step = False
        last = []
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_rate(group, rate)
            last.append(_copied(group["lr"]))
        self._last_lr = last

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warn(
                "To get the last learning rate computed by the scheduler, "
                "please use `get_last_lr()`."
            )


class _LRScheduler(LRScheduler):
    """Old name of `LRScheduler`."""


def _note_steps(optimizer: Any) -> None:
    """Lets the optimizer note that it was stepped, for the warning about the order of the two
    `step` calls.
    """
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    own = vars(optimizer).get("step")
    owner = weakref.ref(optimizer)  # else the optimizer would own a function that owns it

    def step(*args: object, **kwargs: object) -> object:
        target: Any = owner()
        target._opt_called = True
        if own is not None:
            return own(*args, **kwargs)
        return type(target).step(target, *args, **kwargs)  # which may have changed meanwhile

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = step
