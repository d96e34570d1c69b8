"""Averages of a model's parameters over the steps of training: `torch.optim.swa_utils`
(stochastic weight averaging, Izmailov et al. 2018; exponential moving averages, Polyak 1992).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import TYPE_CHECKING, Any

from rushlight import _root as rl
from rushlight._root import Tensor

from .._base.missing import missing_name as _missing_name
from ..nn import Module
from ..nn.modules.batchnorm import _BatchNorm
from .lr_scheduler import LRScheduler
from .lr_scheduler._cyclic import between as _between
from .lr_scheduler._cyclic import check_annealing as _check_annealing
from .lr_scheduler._cyclic import per_group as _per_group
from .optimizer import Optimizer, State

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

_AverageOne = Callable[[Tensor, Tensor, Any], Tensor]
_AverageAll = Callable[[list[Tensor], list[Tensor], Any], None]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def get_ema_avg_fn(decay: float = 0.999) -> _AverageOne:
    """A function for `avg_fn=`: decay * average + (1 - decay) * present.

    >>> average = torch.optim.swa_utils.get_ema_avg_fn(0.75)
    >>> average(torch.tensor(0.0), torch.tensor(8.0), 1)
    tensor(2.)
    """
    _check_decay(decay)

    def ema_update(average: Tensor, present: Tensor, count: object) -> Tensor:
        with rl.no_grad():
            return decay * average + (1 - decay) * present

    return ema_update


def get_swa_avg_fn() -> _AverageOne:
    """A function for `avg_fn=`: the mean of all models so far.

    >>> average = torch.optim.swa_utils.get_swa_avg_fn()
    >>> average(torch.tensor(0.0), torch.tensor(8.0), 3)
    tensor(2.)
    """

    def swa_update(average: Tensor, present: Tensor, count: Any) -> Tensor:
        with rl.no_grad():
            return average + (present - average) / (count + 1)

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> _AverageAll:
    """A function for `multi_avg_fn=`, which writes decay * average + (1 - decay) * present into
    each average.

    >>> average = [torch.tensor(0.0)]
    >>> torch.optim.swa_utils.get_ema_multi_avg_fn(0.75)(average, [torch.tensor(8.0)], 1)
    >>> average
    [tensor(2.)]
    """
    _check_decay(decay)

    def ema_update(averages: list[Tensor], presents: list[Tensor], count: object) -> None:
        with rl.no_grad():
            for average, present in zip(averages, presents, strict=True):
                if average.is_floating_point() or average.is_complex():
                    average.lerp_(present, 1 - decay)
                else:
                    average.copy_(average * decay + present * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> _AverageAll:
    """A function for `multi_avg_fn=`, which writes the mean of all models so far into each average.

    >>> average = [torch.tensor(0.0)]
    >>> torch.optim.swa_utils.get_swa_multi_avg_fn()(average, [torch.tensor(8.0)], 3)
    >>> average
    [tensor(2.)]
    """

    def swa_update(averages: list[Tensor], presents: list[Tensor], count: Any) -> None:
        with rl.no_grad():
            for average, present in zip(averages, presents, strict=True):
                if average.is_floating_point() or average.is_complex():
                    average.lerp_(present, 1 / (int(count) + 1))
                else:  # raises: a mean of integers is none
                    average.addcdiv_(present - average, rl.full_like(average, int(count) + 1))

    return swa_update


class AveragedModel(Module):
    """A copy of a model, `module`, whose parameters are averages of those that the model had at
    each `update_parameters(model)`.

    `avg_fn(average, present, count)` gives the new average (default: the mean of all); or
    `multi_avg_fn(averages, presents, count)` writes all of them. Buffers are averaged with
    `use_buffers`, else taken from the model. `device`: where the copy lies.

    >>> model = nn.Linear(1, 1, bias=False)
    >>> averaged = torch.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 3.0):
    ...     _ = nn.init.constant_(model.weight, value)
    ...     averaged.update_parameters(model)
    >>> averaged(torch.ones(1))
    tensor([2.], grad_fn=<SqueezeBackward4>)
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: _AverageOne | None = None,
        multi_avg_fn: _AverageAll | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module: Module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", rl.tensor(0, dtype=rl.long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: object, **kwargs: object) -> Any:
        """Calls the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Takes the present parameters of the model into the averages."""
        averages, presents = ([p.detach() for p in self._values(m)] for m in (self.module, model))
        presents = [
            q if q.device is p.device else q.to(p.device)
            for p, q in zip(averages, presents, strict=True)
        ]
        if self.n_averaged == 0:
            for average, present in zip(averages, presents, strict=True):
                average.copy_(present)
        elif self.multi_avg_fn is not None:
            # The averages by type, as a function over many tensors may expect a common type.
            for dtype in dict.fromkeys(average.dtype for average in averages):
                mine = [i for i, average in enumerate(averages) if average.dtype == dtype]
                self.multi_avg_fn(
                    [averages[i] for i in mine], [presents[i] for i in mine], self.n_averaged
                )
        else:
            rule = self.avg_fn or get_swa_avg_fn()
            for average, present in zip(averages, presents, strict=True):
                average.copy_(rule(average, present, self.n_averaged))
        if not self.use_buffers:
            for mine_, theirs in zip(self.module.buffers(), model.buffers(), strict=True):
                mine_.detach().copy_(theirs.detach())
        self.n_averaged += 1

    def _values(self, model: Module) -> Iterable[Tensor]:
        return (
            chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters()
        )


def update_bn(loader: Iterable[Any], model: Module, device: object = None) -> None:
    """Computes the running means and variances of a model's batch norms anew, over the batches of
    `loader` (of tuples the first entry); `device`: where the batches are moved to.

    >>> model = nn.BatchNorm1d(1)
    >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]])], model)
    >>> model.running_mean
    tensor([2.])
    """
    with rl.no_grad():
        norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
        if not norms:
            return
        momenta = [norm.momentum for norm in norms]
        was_training = model.training
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None  # the plain mean over all batches
        model.train()
        for batch in loader:
            if isinstance(batch, (list, tuple)):
                batch = batch[0]
            model(batch if device is None else batch.to(device))
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """From the present rate to `swa_lr` in `anneal_epochs` epochs, then no further; for the epochs
    whose models are averaged.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> schedule = torch.optim.swa_utils.SWALR(
    ...     optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear"
    ... )
    >>> for epoch in range(4):
    ...     print(schedule.get_last_lr())
    ...     optimizer.step()
    ...     schedule.step()
    [1.0]
    [0.75]
    [0.5]
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for group, rate in zip(
            optimizer.param_groups, _per_group("swa_lr", optimizer, swa_lr), strict=True
        ):
            group["swa_lr"] = rate
        _check_annealing(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self._set_anneal_func()
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _linear_anneal(t: float) -> float:
        return _between("linear", 0, 1, t)

    @staticmethod
    def _cosine_anneal(t: float) -> float:
        return _between("cos", 0, 1, t)

    def _set_anneal_func(self) -> None:
        cosine = self._anneal_strategy == "cos"
        self.anneal_func: Callable[..., float] = (
            self._cosine_anneal if cosine else self._linear_anneal
        )

    def state_dict(self) -> State:
        """Everything but the optimizer and the function."""
        return {name: v for name, v in super().state_dict().items() if name != "anneal_func"}

    def load_state_dict(self, state_dict: State) -> None:
        """Takes over what `state_dict` returned."""
        super().load_state_dict(state_dict)
        self._set_anneal_func()

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        count = self._step_count - 1
        if self.anneal_epochs == 0:
            count = max(1, count)
        # The weight of `swa_lr` before this step and after it: from the former follows the rate
        # that another schedule has left.
        old, new = (
            self.anneal_func(max(0, min(1, n / max(1, self.anneal_epochs))))
            for n in (count - 1, count)
        )
        rates = []
        for group in self.optimizer.param_groups:
            end = group["swa_lr"]
            start = end if old == 1 else (group["lr"] - old * end) / (1 - old)
            rates.append(end * new + start * (1 - new))
        return rates


if not TYPE_CHECKING:  # to checkers a misspelt name is an error
    __getattr__ = _missing_name(__name__)
