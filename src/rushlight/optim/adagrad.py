"""Adagrad (Duchi, Hazan and Singer 2011)."""

from __future__ import annotations

from typing import Any

from rushlight import _root as rl
from rushlight._root import Tensor

from .optimizer import (
    FusedOptimizer,
    Group,
    check_fused,
    check_lr,
    check_not_negative,
    decayed,
    move,
    new_count,
    real,
    scalar,
)


class Adagrad(FusedOptimizer):
    """p -= lr' * g / (sqrt(sum of g squared) + eps), lr' = lr / (1 + (step - 1) * lr_decay).

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.Adagrad([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    _newer_options = FusedOptimizer._newer_options | {"fused": None}

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_not_negative(lr_decay=lr_decay, weight_decay=weight_decay)
        check_not_negative(initial_accumulator_value=initial_accumulator_value, epsilon=eps)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                state["step"] = new_count()
                start: Any = initial_accumulator_value
                state["sum"] = rl.full_like(p, complex(start, start) if p.is_complex() else start)

    def share_memory(self) -> None:
        """Moves the accumulators to shared memory."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def _update(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        differentiable = group["differentiable"]
        lr = scalar(group["lr"], differentiable)
        decay = scalar(group["weight_decay"], differentiable)
        with rl.set_grad_enabled(differentiable):
            for p, grad in zip(params, grads, strict=True):
                state = self.state[p]
                state["step"] += 1
                count = state["step"].item()
                rate = lr / (1 + (count - 1) * group["lr_decay"])
                if group["maximize"]:
                    grad = -grad
                grad, total = real(decayed(grad, p, decay)), real(state["sum"])
                total.addcmul_(grad, grad, value=1)
                spread = total.sqrt()
                # The root's derivative needs its result, which then may not be written.
                spread = spread + group["eps"] if differentiable else spread.add_(group["eps"])
                move(real(p), rate, grad, spread)
