"""Averaged SGD (Polyak and Juditsky 1992)."""

from __future__ import annotations

from typing import Any

from rushlight import _root as rl
from rushlight._root import Tensor

from .._core import compute, read_number
from ._rules import (
    RuleOptimizer,
    State,
    dtype_of_numbers,
    move,
    number_of_state,
    options,
    real,
    scalar,
)
from .optimizer import Group


class ASGD(RuleOptimizer):
    """Gradient descent at a rate that falls as (1 + lambd * lr * step) ** -alpha; the average of
    the parameters since step `t0` is the state "ax".

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.ASGD([x], lr=0.1)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x
    tensor([0.5120, 1.0240], requires_grad=True)
    """

    _newer_options = RuleOptimizer._newer_options | {"capturable": False}
    _capturable_what = "params, mus, etas, and state_steps"

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, options(locals()), "lr weight_decay")

    def _start(self, p: Tensor, group: Group) -> State:
        eta, mu = number_of_state(scalar(group["lr"])), number_of_state(1.0)
        return {"eta": eta, "mu": mu, "ax": rl.zeros_like(p)}

    def _rule(self, p: Tensor, grad: Tensor, state: State, lr: Any, group: Group) -> None:
        count, eta, mu = (read_number(state[name]) for name in ("step", "eta", "mu"))
        lr = scalar(lr)
        p.mul_(1 - group["lambd"] * eta)
        move(p, eta, grad)
        average = real(state["ax"])
        if mu == 1:
            average.copy_(p)
        else:
            average.add_(p.sub(average).mul_(mu))
        eta = lr / (1 + group["lambd"] * lr * count) ** group["alpha"]
        _set(state["eta"], eta)
        new_mu = 1 / compute(max, 1, count - group["t0"])
        if new_mu != mu:
            _set(state["mu"], new_mu)


def _set(held: Tensor, value: float) -> None:
    """Sets a number of the state. It is rounded as a new one is, also where a loaded one has the
    parameter's type."""
    if held.dtype is dtype_of_numbers():
        held.zero_().add_(value)  # which replays of a captured step do, too
    else:
        held.copy_(number_of_state(value))
