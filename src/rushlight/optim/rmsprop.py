"""RMSprop (Tieleman and Hinton 2012)."""

from __future__ import annotations

from typing import Any

from rushlight import _root as rl
from rushlight._root import Tensor

from .optimizer import (
    FusedOptimizer,
    Group,
    check_capturable,
    check_lr,
    check_not_negative,
    decayed,
    move,
    new_count,
    real,
    scalar,
)


class RMSprop(FusedOptimizer):
    """p -= lr * g / (sqrt(v) + eps), v a running mean of g squared with decay `alpha`, through
    momentum.

    `centered` takes the variance instead: v minus the square of the running mean of g.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.RMSprop([x], lr=0.01)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    _newer_options = FusedOptimizer._newer_options | {
        "momentum": 0,
        "centered": False,
        "capturable": False,
    }

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative(epsilon=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        alpha, momentum, differentiable = group["alpha"], group["momentum"], group["differentiable"]
        lr = scalar(group["lr"], differentiable)
        decay = scalar(group["weight_decay"], differentiable)
        if group["capturable"]:
            check_capturable(group)
        with rl.set_grad_enabled(differentiable):
            for p, grad in zip(params, grads, strict=True):
                state = self.state[p]
                if not state:
                    state["step"] = new_count()
                    state["square_avg"] = rl.zeros_like(p)
                    if momentum > 0:
                        state["momentum_buffer"] = rl.zeros_like(p)
                    if group["centered"]:
                        state["grad_avg"] = rl.zeros_like(p)
                state["step"] += 1
                if group["maximize"]:
                    grad = -grad
                grad, square = real(decayed(grad, p, decay)), real(state["square_avg"])
                square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
                if group["centered"]:
                    mean = real(state["grad_avg"])
                    mean.lerp_(grad, 1 - alpha)
                    if differentiable:
                        mean = mean.clone()  # the next step writes what this one's derivative needs
                    spread = square.addcmul(mean, mean, value=-1).sqrt_()
                else:
                    spread = square.sqrt()
                # The root's derivative needs its result, which then may not be written.
                spread = spread + group["eps"] if differentiable else spread.add_(group["eps"])
                if momentum > 0:
                    buffer = real(state["momentum_buffer"])
                    buffer.mul_(momentum).addcdiv_(grad, spread)
                    move(real(p), lr, buffer)
                else:
                    move(real(p), lr, grad, spread)
