"""Adamax (Kingma and Ba 2015)."""

from __future__ import annotations

from rushlight import _root as rl
from rushlight._root import Tensor

from .._core import read_number
from ._rules import RuleOptimizer, State, move, options, real
from .optimizer import Group


class Adamax(RuleOptimizer):
    """p -= lr * m / u, where m is a running mean of the gradient, corrected for having started at
    0, and u its largest size so far, which decays with `betas[1]`.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.Adamax([x], lr=0.1)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x
    tensor([0.7155, 1.7076], requires_grad=True)
    """

    _newer_options = RuleOptimizer._newer_options | {"capturable": False}

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, options(locals()), "lr eps betas weight_decay")

    def _start(self, p: Tensor, group: Group) -> State:
        return {"exp_avg": rl.zeros_like(p), "exp_inf": rl.zeros_like(p)}

    def _rule(self, p: Tensor, grad: Tensor, state: State, lr: object, group: Group) -> None:
        beta1, beta2 = group["betas"]
        mean, largest = real(state["exp_avg"]), real(state["exp_inf"])
        mean.lerp_(grad, 1 - beta1)
        size = rl.maximum(largest * beta2, grad.abs().add_(group["eps"]))
        largest.copy_(size)
        count = state["step"] if group["capturable"] else read_number(state["step"])
        move(p, lr / (1 - beta1**count), mean, size)
